"""Models without steps as arithmetic: interpolated and smooth ones, in the order of operations of `csrc/src/predict_one.c`.

A curve is a few named expressions over the score. Where a model has knots, it first finds the piece of the curve, as a step is
found among edges, and goes on with the numbers of this piece. Every operation is that of binary64, rounded once: a target that
fuses a product and a sum into one rounding, or rearranges, does not give the same bits. Then an interpolated model is equal to
the last bit, and a smooth one as equal as the logarithm and the exponential of the target.

What C does at infinite logits is decided here: where 0 or 1 has no finite logit, its value is in the expression, and no target
takes the logarithm of 0 on the way to an answer. Branches and names that do not count for it may still become anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.errors import InputError
from fastbin.export.steps import SetSteps, Steps, check_outputs, limits_of, require_steps, set_steps_of, steps_of
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

# The operations, and the places of their arguments. "<" and "=" are conditions, the first argument of "choose".
OPERATIONS = {
    "+": 2, "-": 2, "*": 2, "/": 2, "least": 2, "greatest": 2, "exp": 1, "log": 1, "<": 2, "=": 2, "choose": 3,
}  # fmt: skip

# Of csrc/src/predict_one.c: below, the exponential overflows; above, it is lost beside 1.
LOGISTIC_LOW = -709.78271289338397
LOGISTIC_HIGH = 40.0


class Number(NamedTuple):
    """A finite double."""

    number: float


class Name(NamedTuple):
    """The score, an expression that was named before, or the entry of a column of the pieces."""

    name: str


class Operation(NamedTuple):
    """An operation of `OPERATIONS`."""

    word: str
    arguments: tuple[Expression, ...]


Expression = Number | Name | Operation


class Named(NamedTuple):
    """An expression that those after it know by a name."""

    name: str
    expression: Expression


class Pieces(NamedTuple):
    """The number of the piece is how many edges lie at or below `at`; its numbers are the entries of the columns there."""

    at: Name
    edges: Float64s  # (E,), ascending, 0.0 for -0.0
    columns: dict[str, Float64s]  # (E + 1,)


class Curve(NamedTuple):
    """The value of a model that has no steps.

    To score: refuse what lies outside [low, high] and what is not a number, move the rest into `clip`, work out `before`, find
    the piece, then work out `after` and `value`.
    """

    low: float
    high: float
    clip: tuple[float, float] | None
    before: tuple[Named, ...]
    pieces: Pieces | None
    after: tuple[Named, ...]
    value: Expression


SCORE = Name("score")


def curve_of(model: BinnedModel) -> Curve:
    """The curve of a model of kind "linear" or "smooth"."""
    if model.kind == "step":
        raise InputError("is of kind 'step', which is a table and no curve", argument="model")
    low, high, clip = limits_of(model)
    return Curve(low, high, clip, *(_straight_lines(model) if model.kind == "linear" else _smooth(model)))


def form_of(model: BinnedModel | ModelSet, outputs: Sequence[str], alpha: float | None) -> Steps | SetSteps | Curve:
    """The form that an export is written from: the steps of a model or of a set, or the curve of a model without steps."""
    if model.is_set:
        return set_steps_of(model, outputs, alpha)
    if model.kind == "step":
        return steps_of(model, outputs, alpha)
    if check_outputs(outputs, alpha) != ("value",):
        require_steps(model)
    return curve_of(model)


def written(
    expression: Expression, words: Mapping[str, str], number: Callable[[float], str], names: Mapping[str, str] | None = None
) -> str:
    """An expression as text.

    Parameters
    ----------
    words : mapping of str to str
        What each operation looks like, with a pair of braces for each argument: ``{"+": "({} + {})", "exp": "exp({})"}``. They
        bring their own parentheses.
    number : callable
        The text of a double.
    names : mapping of str to str, optional
        The text of names that are not written as they are: numbers for the columns of one piece, say.
    """
    if isinstance(expression, Number):
        return number(expression.number)
    if isinstance(expression, Name):
        return expression.name if names is None else names.get(expression.name, expression.name)
    return words[expression.word].format(*(written(each, words, number, names) for each in expression.arguments))


# --------------------------------------------------------------------- interpolated models

Parts = tuple[tuple[Named, ...], Pieces | None, tuple[Named, ...], Expression]


def _straight_lines(model: BinnedModel) -> Parts:
    """Straight lines between knots, level outside, as lines of slope 0.

    No condition is left: an interval whose length overflows is halved by a column, and what keeps the line within its ends
    becomes a least and a greatest value, of which C looks at one, as the other is never passed.
    """
    knots, values = model.edges + 0.0, model.values
    left, right = np.append(values[:1], values), np.append(values, values[-1:])
    with np.errstate(over="ignore"):
        halves = np.where(np.isfinite(np.diff(knots)), 1.0, 0.5)
    level = np.ones(1)
    half = np.concatenate([level, halves, level])
    start = np.concatenate([0.0 * level, halves * knots[:-1], 0.0 * level])
    width = np.concatenate([level, halves * knots[1:] - halves * knots[:-1], level])
    columns = {"left": left, "rise": right - left, "start": start, "width": width}
    score: Expression = SCORE
    if (half != 1.0).any():
        columns["half"] = half
        score = _operate("*", Name("half"), SCORE)
    columns |= {"bottom": np.minimum(left, right), "top": np.maximum(left, right)}
    share = _operate("/", _operate("-", score, Name("start")), Name("width"))
    line = _operate("+", Name("left"), _operate("*", Name("rise"), share))
    value = _operate("least", _operate("greatest", line, Name("bottom")), Name("top"))
    return (), Pieces(SCORE, knots, columns), (), value


# --------------------------------------------------------------------- smooth maps


def _smooth(model: BinnedModel) -> Parts:
    word, parameters = model.map
    p = [Number(parameter) for parameter in (*parameters, 0.0, 0.0, 0.0, 0.0)]
    if word == "logistic":
        exponent = _operate("+", _operate("*", p[0], SCORE), p[1])
        return (Named("x", exponent),), None, (), _logistic(Name("x"))
    complement = _operate("-", Number(1.0), SCORE)
    chances = Named("chance", _kept_inside(SCORE, model.clip)), Named("complement", _kept_inside(complement, model.clip))
    logs = _operate("log", Name("chance")), _operate("log", Name("complement"))
    if word == "beta":
        slopes = _operate("-", _sloped(p[0], logs[0]), _sloped(p[1], logs[1]))
        exponents = (Named("x", _operate("+", slopes, p[2])),)
        return (*chances, *exponents), None, (), _with_ends(model, _logistic(Name("x")))
    before = (*chances, Named("z", _operate("-", *logs)))
    z = Name("z")
    if word == "quadratic":
        slope = _operate("+", p[1], _operate("*", z, p[2]))
        exponent = _operate("+", p[0], _operate("*", z, slope))
        return (*before, Named("x", exponent)), None, (), _with_ends(model, _logistic(Name("x")))
    pieces, after = _spline(model, z)
    return before, pieces, after, _with_ends(model, _logistic(Name("x")))


def _kept_inside(x: Expression, clip: float) -> Expression:
    if clip == 0.0:
        return x
    return _operate("least", _operate("greatest", x, Number(clip)), Number(1.0 - clip))


def _sloped(slope: Number, logarithm: Expression) -> Expression:
    """A term whose coefficient is 0 is 0."""
    return Number(0.0) if slope.number == 0.0 else _operate("*", slope, logarithm)


def _logistic(x: Name) -> Expression:
    grown = _operate("exp", _operate("-", Number(0.0), x))
    inner = _operate("/", Number(1.0), _operate("+", Number(1.0), grown))
    below_high = _operate("choose", _operate("<", Number(LOGISTIC_HIGH), x), Number(1.0), inner)
    return _operate("choose", _operate("<", x, Number(LOGISTIC_LOW)), Number(0.0), below_high)


def _with_ends(model: BinnedModel, value: Expression) -> Expression:
    """The values of 0 and 1 by themselves where their logits are infinite."""
    for end in (1.0, 0.0) if model.clip == 0.0 else ():
        low, high, clip = limits_of(model)
        low, high = clip or (low, high)
        if low <= end <= high:
            value = _operate("choose", _operate("=", SCORE, Number(end)), Number(model.predict_one(end)), value)
    return value


def _spline(model: BinnedModel, z: Name) -> tuple[Pieces, tuple[Named, ...]]:
    """The cubic between two knots at each inner piece, and straight lines beyond the first and the last knot."""
    assert model.knots is not None
    x, y, bend = (np.ascontiguousarray(column) + 0.0 for column in model.knots.T)
    width = np.diff(x)
    columns = {
        "left": x[:-1], "right": x[1:], "width": width, "square": width * width, "left_value": y[:-1], "right_value": y[1:],
        "left_bend": bend[:-1], "right_bend": bend[1:],
    }  # fmt: skip
    with np.errstate(over="ignore"):
        slopes = (y[1:] - y[:-1]) / width
        slope_low = float(slopes[0] - width[0] * bend[1] / 6.0)
        slope_high = float(slopes[-1] + width[-1] * bend[-2] / 6.0)
    a, b = Name("a"), Name("b")
    cubes = [_operate("-", _operate("*", _operate("*", each, each), each), each) for each in (a, b)]
    bends = _operate("+", _operate("*", cubes[0], Name("left_bend")), _operate("*", cubes[1], Name("right_bend")))
    curved = _operate("/", _operate("*", bends, Name("square")), Number(6.0))
    chord = _operate("+", _operate("*", a, Name("left_value")), _operate("*", b, Name("right_value")))
    inside = _operate("+", chord, curved)
    first, last = float(x[0]), float(x[-1])
    above = _line(last, float(y[-1]), slope_high, z, 1.0)
    below = _line(first, float(y[0]), slope_low, z, -1.0)
    or_above = _operate("choose", _operate("<", Number(last), z), above, inside)
    after = (
        Named("a", _operate("/", _operate("-", Name("right"), z), Name("width"))),
        Named("b", _operate("/", _operate("-", z, Name("left")), Name("width"))),
        Named("x", _operate("choose", _operate("<", z, Number(first)), below, or_above)),
    )
    return Pieces(z, x[1:-1], columns), after


def _line(x: float, y: float, slope: float, z: Name, side: float) -> Expression:
    """The line of this slope through (x, y) on one side of it; where the slope overflows, what it carries the logistic to."""
    if not math.isfinite(slope):
        return Number(math.copysign(1000.0, slope * side))
    if slope == 0.0:
        return Number(y)
    return _operate("+", Number(y), _operate("*", Number(slope), _operate("-", z, Number(x))))


def _operate(word: str, *arguments: Expression) -> Operation:
    assert len(arguments) == OPERATIONS[word]
    return Operation(word, arguments)
