"""Curves, whose expressions worked out in plain Python give what `predict` gives; the rows that exports are compared on."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exported import bits, model_of, rows_without_answer
from exported_curves import CURVES, LINES, curve_model_of, hard_curve_scores

import fastbin as fb
from fastbin.export.form import OPERATIONS, Curve, Expression, Name, Number, curve_of, written
from fastbin.export.verify import answers, given_rows, hard_rows


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


@pytest.mark.sampled
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


POOLED = fb.ModelSet(
    {"north": model_of("10 bins, keys"), "clips": model_of("clips")}, pool=model_of("10 bins"), pooled_cells=["far"],
    unknown="pool",
)  # fmt: skip
REFUSING = fb.ModelSet({3: model_of("10 bins"), -5: model_of("2 bins, keys"), 2**60: model_of("logits")})


@pytest.mark.parametrize("name", ["10 bins, keys", "subnormal edges", "logits", "clips at keys", "1 bins"])
def test_hard_rows_are_hard(name: str) -> None:
    model = model_of(name)
    rows = hard_rows(model)
    scores = set(rows.scores.tolist())
    for edge in model.edges.tolist():
        assert {edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf)} <= scores
    for end in model.score_range or ():
        assert {end, np.nextafter(end, -np.inf), np.nextafter(end, np.inf)} <= scores
    assert {0.0, 5e-324, -5e-324, math.inf, -math.inf} <= scores
    assert np.isnan(rows.scores).any()
    assert np.signbit(rows.scores[rows.scores == 0.0]).any()
    if not model.needs_key:
        assert rows.keys is None
        return
    assert rows.keys is not None
    pairs = set(zip(rows.scores.tolist(), rows.keys.tolist(), strict=True))
    for edge, key in zip(model.edges.tolist(), model.edge_keys.tolist(), strict=True):
        assert {(edge, min(each, 2**64 - 2)) for each in (key, max(key - 1, 0), 0)} <= pairs


def test_answers_of_sets() -> None:
    rows = given_rows(POOLED, [0.5, 0.5, 7.0, 7.0, math.nan], None, ["far", "nowhere", "clips", "north", "far"])
    found = answers(POOLED, rows, ("value", "bin", "lower", "upper"), None)
    assert found["bin"][1] == -1
    assert found["value"][1] == found["value"][0] == POOLED.pool.predict_one(0.5)
    assert (found["lower"][1], found["upper"][1]) == (0.0, 1.0)
    assert found["value"][2] == POOLED["clips"].predict_one(1.0)
    assert np.isnan(found["value"]).tolist() == [False, False, False, True, True]
    refusing = answers(REFUSING, given_rows(REFUSING, [0.5, 0.5], None, [3, 4]), ("value", "bin"), None)
    assert np.isnan(refusing["value"]).tolist() == [False, True]
    assert refusing["bin"].tolist() == [REFUSING[3].assign_one(0.5), -1]


@pytest.mark.parametrize("models", [POOLED, REFUSING], ids=["pooled", "refusing"])
def test_hard_rows_of_sets(models: fb.ModelSet) -> None:
    """All edges in a cell of their own, and cells that the set does not know."""
    rows = hard_rows(models)
    assert rows.keys is not None
    assert rows.cells is not None
    pairs = set(zip(rows.scores.tolist(), rows.cells.tolist(), strict=True))
    for key in models:
        for edge in models[key].edges.tolist():
            assert {(edge, key), (np.nextafter(edge, -np.inf), key)} <= pairs
    assert set(rows.cells.tolist()) > set(models)


def test_large_sets_have_few_rows_of_each_model() -> None:
    models = fb.ModelSet(dict.fromkeys(range(1500), model_of("2 bins")))
    assert len(hard_rows(models)) < 250 * len(models)
