"""Curves: their expressions, worked out in plain Python, give what `predict` gives."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exported import bits, rows_without_answer
from exported_curves import CURVES, LINES, curve_model_of, hard_curve_scores

import fastbin as fb
from fastbin.export.form import OPERATIONS, Curve, Expression, Name, Number, curve_of, written


def divided(x: float, y: float) -> float:
    """As in IEEE 754, where Python raises; branches that are not taken may do this."""
    return x / y if y else math.nan if x == 0.0 or x != x else math.copysign(math.inf, x) * math.copysign(1.0, y)


WORDS: dict[str, Callable[..., Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": divided,
    "least": min,
    "greatest": max,
    "exp": math.exp,
    "log": math.log,
    "<": lambda x, y: x < y,
    "=": lambda x, y: x == y,
}


def worked_out(expression: Expression, names: dict[str, float]) -> Any:
    if isinstance(expression, Number):
        assert math.isfinite(expression.number)
        return expression.number
    if isinstance(expression, Name):
        return names[expression.name]
    arguments = expression.arguments
    if expression.word == "choose":
        return worked_out(arguments[1 if worked_out(arguments[0], names) else 2], names)
    return WORDS[expression.word](*(worked_out(each, names) for each in arguments))


def scored(curve: Curve, score: float) -> float:
    if not curve.low <= score <= curve.high:
        return math.nan
    names = {"score": score if curve.clip is None else min(max(score, curve.clip[0]), curve.clip[1])}
    late = {"chance", "complement", "z", "x", "a", "b"}
    ends = score_of_ends(curve.value, names["score"])
    if ends is not None:  # 0 and 1 are chosen before any logarithm is taken
        return ends
    for name, expression in curve.before:
        assert name in late
        names[name] = worked_out(expression, names)
    if curve.pieces is not None:
        piece = bisect_right(curve.pieces.edges.tolist(), names[curve.pieces.at.name])
        names |= {name: float(column[piece]) for name, column in curve.pieces.columns.items()}
    for name, expression in curve.after:
        assert name in late
        names[name] = worked_out(expression, names)
    value: float = worked_out(curve.value, names)
    return value


def score_of_ends(value: Expression, score: float) -> float | None:
    while not isinstance(value, (Number, Name)) and value.word == "choose":
        condition, chosen, rest = value.arguments
        if isinstance(condition, (Number, Name)) or condition.word != "=":
            return None
        assert condition.arguments[0] == Name("score")
        assert isinstance(chosen, Number)
        if score == worked_out(condition.arguments[1], {}):
            return chosen.number
        value = rest
    return None


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_what_predict_gives(name: str) -> None:
    model = curve_model_of(name)
    curve = curve_of(model)
    scores = hard_curve_scores(model, 3000)
    got = np.array([scored(curve, score) for score in scores.tolist()])
    # Python and C take the logarithm and the exponential of one library, so smooth ones are equal, too.
    np.testing.assert_array_equal(bits(got), bits(model.predict(scores)))
    assert all(math.isnan(scored(curve, score)) for score in rows_without_answer(model).tolist())


@pytest.mark.parametrize("name", LINES)
def test_lines_need_no_condition_and_no_function(name: str) -> None:
    curve = curve_of(curve_model_of(name))
    text = written(curve.value, {word: word + " ({}) " * n for word, n in OPERATIONS.items()}, repr)
    assert curve.before == curve.after == ()
    assert not any(word in text for word in ("exp", "log", "choose", "<", "="))
    assert ("half" in text) == ("overflow" in name)


def test_written_in_the_words_of_a_target() -> None:
    curve = curve_of(fb.BinnedModel.from_parts(edges=[], values=[], kind="smooth", map="logistic", map_parameters=(2.0, -0.5)))
    words = {**{word: "({} " + word + " {})" for word in "+-*/<="}, "exp": "exp({})", "choose": "({} ? {} : {})"}
    assert [written(each.expression, words, repr) for each in curve.before] == ["((2.0 * score) + -0.5)"]
    assert written(curve.value, words, repr, {"x": "y"}) == (
        "((y < -709.782712893384) ? 0.0 : ((40.0 < y) ? 1.0 : (1.0 / (1.0 + exp((0.0 - y))))))"
    )


def test_tables_of_steps_are_no_curves() -> None:
    model = fb.FixedWidthBinning(2).fit([0.1, 0.9], [0, 1]).model_
    with pytest.raises(fb.InputError, match="of kind 'step'"):
        curve_of(model)
