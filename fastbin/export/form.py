"""The form that every export is written from: steps as plain columns, or, for models without steps, arithmetic.

A target needs a guard, an ascending list of edges and, for each thing that is asked for, one entry a step. All of that is
decided here, so that a target has nothing to do but write it down: which scores have an answer, whether keys are compared, and
which bin, and so which interval, a step belongs to.

Models without steps are a few named expressions over the score, in the order of operations of `csrc/src/predict_one.c`. Where a
model has knots, it first finds the piece of the curve, as a step is found among edges, and goes on with the numbers of this
piece. Every operation is that of binary64, rounded once: a target that fuses a product and a sum into one rounding, or
rearranges, does not give the same bits. Then an interpolated model is equal to the last bit, and a smooth one as equal as the
logarithm and the exponential of the target. Where 0 or 1 has no finite logit, its value is in the expression, and no target
takes the logarithm of 0 on the way to an answer. Branches and names that do not count for it may still become anything.
"""

from __future__ import annotations

import ast
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int32s, Int64s, UInt64s
from fastbin._base.checks import check_alpha
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.shown import how_many
from fastbin._base.tie_keys import ABOVE_EVERY_KEY
from fastbin._core.score import library_version
from fastbin._fit.calibrator import as_model_or_set
from fastbin._fit.rows import GREATEST, limits_of
from fastbin._model.parts import NAMES_OF_ENDS
from fastbin._model.provenance import in_words
from fastbin._model.view import promise
from fastbin.guarantees.certificate import event_words
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.vector_model import VectorModel, as_vector_model

# The ends of intervals: what each interval is about, and which end of it.
ENDS = {name: (at, end) for at, names in NAMES_OF_ENDS.items() for end, name in enumerate(names)}
OF_STEPS = ("value", "bin", *ENDS)  # of every model of steps
OUTPUTS = (*OF_STEPS, "decision")

# The outputs that are integers, and what rows without an answer get: bin -1; and nothing is decided about them.
INTEGERS = {"bin": -1, "decision": 0}

DECISION_ALONE = ("decision",)

# What rows of unknown cells get beside the value of the pool's model.
OF_UNKNOWN = {"bin": -1, **{name: float(end) for name, (_, end) in ENDS.items()}}

# What the ends of an interval are made with where alpha is not given.
ALPHA = 0.1

# ------------------------------------------------------------------------------------------------- steps


class Steps(NamedTuple):
    """The steps of one model.

    A score s with key k lies at or above edge i where ``s > edges[i]``, or ``s == edges[i]`` and ``k >= edge_keys[i]``; without
    keys, which are all 0 then, where ``s >= edges[i]``. The number of such edges is its step, and the entry of a column at this
    step its answer.
    """

    edges: Float64s  # (E,), ascending; 0.0 for -0.0; infinite where no score lies above
    edge_keys: UInt64s  # (E,), ascending where edges are equal
    columns: dict[str, Array]  # (E + 1,) for each output that was asked for: float64, and int32 for `INTEGERS`
    low: float  # a score outside [low, high] has no answer, nor has NaN; both are finite
    high: float
    clip: tuple[float, float] | None  # a score that has an answer is moved into this range first
    needs_key: bool


class PartSteps(NamedTuple):
    """The steps of a model, or of the models of a set by their numbers, and the keys of the set's cells."""

    keys: tuple[int | str, ...]  # none of one model; of one type, ascending; text by its bytes in UTF-8
    model_of_key: Int64s
    models: tuple[Steps, ...]
    # What a row of another key gets: nothing, or the value of the pool's model of this number, bin -1 and the interval [0, 1].
    unknown: int | None

    @property
    def needs_key(self) -> bool:
        return any(model.needs_key for model in self.models)

    @property
    def has_texts(self) -> bool:
        return isinstance(self.keys[0], str)


def as_exported(model: Any, name: str = "model") -> BinnedModel | ModelSet:
    """A model or a set as by `as_model_or_set`, for exports that write no vector models."""
    if as_vector_model(model) is not None:
        remedy = "use fb.export.sql or fb.export.onnx, or serve its file by fastbin_vector_predict of the C library"
        raise InputTypeError("is a VectorModel, which this export does not write", remedy, argument=name)
    return as_model_or_set(model, name)


def steps_of(model: BinnedModel | ModelSet, outputs: Sequence[str] = ("value",), alpha: float | None = None) -> PartSteps:
    """The steps with these outputs; `alpha` of the intervals of all bins of all models at once."""
    outputs = check_outputs(outputs, alpha)
    if model.is_set and "decision" in outputs:
        remedy = "the models of a set keep their own decisions: export them one by one"
        raise InputError("is a set, which decides nothing as a whole", remedy, argument="model")
    named = [own for _, own in model.numbered]
    ends: list[dict[str, Float64s]] = [{} for _ in named]
    for at in {ENDS[name][0] for name in outputs if name in ENDS}:
        given = model.interval(ALPHA if alpha is None else alpha, at=at)
        for own, intervals in zip(ends, given if model.is_set else [given], strict=True):
            own[at] = intervals
    models = tuple(_with_columns(own, outputs, each) for own, each in zip(named, ends, strict=True))
    if not model.is_set:
        return PartSteps((), np.zeros(0, np.int64), models, None)
    numbers = np.asarray(model.find(list(model.cells)), np.int64)
    return PartSteps(model.cells, numbers, models, len(named) - 1 if model.unknown == "pool" else None)


def check_outputs(outputs: Sequence[str], alpha: float | None) -> tuple[str, ...]:
    """The outputs, each of which must be known and stand once; `alpha` goes with the ends of intervals alone."""
    if isinstance(outputs, str) or not isinstance(outputs, (tuple, list)):
        raise InputTypeError(None, f"pass a list of names out of {', '.join(OUTPUTS)}", argument="outputs", value=outputs)
    for position, name in enumerate(outputs):
        if name not in OUTPUTS:
            raise InputError(None, f"choose out of {', '.join(OUTPUTS)}", argument="outputs", at=position, value=name)
        if name in outputs[:position]:
            remedy = "name each output once"
            raise InputError(f"is {name!r} for the second time", remedy, argument="outputs", at=position, value=name)
    if not outputs:
        raise InputError("is empty", f"choose out of {', '.join(OUTPUTS)}", argument="outputs")
    if alpha is not None:
        if not set(ENDS) & set(outputs):
            remedy = "leave it out, or ask for 'lower'"
            raise InputError(f"is {alpha!r}, but no end of an interval is asked for", remedy, argument="alpha", value=alpha)
        check_alpha(alpha)
    return tuple(outputs)


def require_steps(model: BinnedModel) -> None:
    """Refuse what has no steps, or does not give the same answer to the same row."""
    if model.kind != "step":
        raise InputError(f"is of kind {model.kind!r}, which has values alone and no bins", argument="model")
    if model.delta > 0.0:
        raise InputError(f"model randomises its values (delta={model.delta!r}), which no export does", "fit with delta=0")


def needs_keys(model: BinnedModel | ModelSet) -> bool:
    """Whether any answer of a model, or of one of a set, depends on a key."""
    return any(own.needs_key for _, own in model.numbered)


def answered_range(model: BinnedModel) -> tuple[float, float, tuple[float, float] | None]:
    """The least and the greatest score that has an answer, and the range that such a score is moved into, if it is."""
    low, high = limits_of(model.score_range)
    limits = max(low, -GREATEST) + 0.0, min(high, GREATEST) + 0.0
    if model.out_of_range == "clip" and model.score_range is not None:
        return -GREATEST, GREATEST, limits
    return *limits, None


def _with_columns(model: BinnedModel, outputs: Sequence[str], ends: dict[str, Float64s]) -> Steps:
    if tuple(outputs) == DECISION_ALONE:  # of any model: no edge and no key of its own is compared
        edges, decisions = _decided(model)
        keys = np.zeros(len(edges), np.uint64)
        return Steps(edges, keys, {"decision": decisions}, *answered_range(model), needs_key=False)
    require_steps(model)
    bins = np.repeat(np.arange(model.n_bins), np.diff(model.first_step, append=model.n_steps))
    columns: dict[str, Array] = {}
    for name in outputs:
        if name == "value":
            columns[name] = model.values
        elif name == "bin":
            columns[name] = bins.astype(np.int32)
        elif name in ENDS:
            at, end = ENDS[name]
            column = ends[at][:, end]
            columns[name] = np.ascontiguousarray(column[bins] if at == "bin" else column)
    edges, keys = _edges_of(model)
    if "decision" in outputs:
        edges, keys, columns = _with_decision(model, edges, keys, columns)
    return Steps(edges, keys, columns, *answered_range(model), bool(model.needs_key))


def _decided(model: BinnedModel) -> tuple[Float64s, Int32s]:
    """The edges at which the decision changes, which no key decides about, and the decision on each of their steps."""
    above, below, record = model._decision
    if not record:
        remedy = "give it one by with_decision"
        raise InputError("carries no decision", remedy, argument="model")
    sides = [(below, 0)] * (below > -np.inf) + [(math.nextafter(above, math.inf), 1)] * (above < np.inf)
    first = -1 if below > -np.inf else 0
    return np.array([edge for edge, _ in sides]) + 0.0, np.array([first, *(decision for _, decision in sides)], np.int32)


def _with_decision(
    model: BinnedModel, edges: Float64s, keys: UInt64s, columns: dict[str, Array]
) -> tuple[Float64s, UInt64s, dict[str, Array]]:
    """The same steps, cut once more where the decision changes, with the column of the decision."""
    cuts, decisions = _decided(model)
    is_cut = np.append(np.zeros(len(edges), np.bool_), np.ones(len(cuts), np.bool_))
    edges, keys = np.append(edges, cuts), np.append(keys, np.zeros(len(cuts), np.uint64))
    order = np.lexsort((keys, edges))
    reached = np.append(0, np.cumsum(is_cut[order]))
    own = np.append(0, np.cumsum(~is_cut[order]))
    columns = {name: column[own] for name, column in columns.items()}
    return edges[order], keys[order], {**columns, "decision": decisions[reached]}


def _edges_of(model: BinnedModel) -> tuple[Float64s, UInt64s]:
    """The edges and their keys, where one that no key reaches is the next double, which every key reaches.

    No row has the greatest key (fastbin.h), and where keys are not compared, all rows have the key 0.
    """
    is_below = model.edge_keys == ABOVE_EVERY_KEY if model.needs_key else model.edge_keys != 0
    with np.errstate(over="ignore"):
        edges = np.where(is_below, np.nextafter(model.edges, np.inf), model.edges) + 0.0
    return edges, np.where(is_below, np.uint64(0), model.edge_keys)


# ------------------------------------------------------------------------------------------------- what an export says


def digest_of(model: BinnedModel | ModelSet | VectorModel) -> str:
    """The SHA-256 of the bytes of the model's file, in hexadecimal."""
    return hashlib.sha256(model.to_bytes()).hexdigest()


def description_of(
    model: BinnedModel | ModelSet | VectorModel, outputs: Sequence[str] = (), alpha: float | None = None
) -> tuple[str, ...]:
    """The facts that every export states, line by line: the version, the digest, the model with the alpha of the ends of its
    intervals if these are among the outputs, what it promises, of which event p is the probability, and how it came about."""
    if isinstance(model, VectorModel):
        about, event = f"{len(model.classes)} classes", "the class of each column"
    else:
        about = (
            f"{how_many(len(model), 'cell')}, {how_many(model.n_models, 'model')}" if model.is_set else f"scheme {model.scheme}"
        )
        about, event = f"{about}, {how_many(model.n_bins, 'bin')}", event_words(model.event)
    ends = f", intervals at alpha {float(ALPHA if alpha is None else alpha)!r}" if set(ENDS) & set(outputs) else ""
    return (
        f"fastbin {library_version()}, model sha256 {digest_of(model)}",
        f"{about}, {how_many(model.n_samples, 'sample')}{ends}",
        promise_of(model),
        f"p is the probability of {event}",
        *((f"made by {made_by}",) if (made_by := in_words(model)) else ()),
    )


def promise_of(model: BinnedModel | ModelSet | VectorModel) -> str:
    """The certificate in one sentence, or why there is none."""
    certificate, sentence = promise(model, ALPHA)
    return sentence if certificate is not None else " ".join(sentence.split())


# ------------------------------------------------------------------------------------------------- expressions


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

# The operations, and the places of their arguments. "<" and "=" are conditions, the first argument of "choose".
OPERATIONS = {
    "+": 2, "-": 2, "*": 2, "/": 2, "least": 2, "greatest": 2, "exp": 1, "log": 1, "<": 2, "=": 2, "choose": 3,
}  # fmt: skip
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def formula(text: str, **numbers: float) -> Expression:
    """An expression as Python writes it, in this very order of operations, with numbers for some of its names."""

    def parsed(node: Any) -> Expression:
        if isinstance(node, ast.Constant):
            assert isinstance(node.value, float)
            return Number(node.value)
        if isinstance(node, ast.Name):
            return Number(numbers[node.id]) if node.id in numbers else Name(node.id)
        if isinstance(node, ast.BinOp):
            return Operation(SIGNS[type(node.op)], (parsed(node.left), parsed(node.right)))
        if isinstance(node, ast.Compare):
            return Operation("<", (parsed(node.left), parsed(node.comparators[0])))
        if isinstance(node, ast.IfExp):
            return Operation("choose", (parsed(node.test), parsed(node.body), parsed(node.orelse)))
        return Operation(node.func.id, tuple(map(parsed, node.args)))

    return parsed(_syntax(text))


@cache  # there are a score of texts
def _syntax(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def parts_of(expression: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of."""
    yield expression
    for argument in expression.arguments if isinstance(expression, Operation) else ():
        yield from parts_of(argument)


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


# ------------------------------------------------------------------------------------------------- curves


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
# As csrc/src/predict_one.c: below the first limit the exponential overflows; above the second it is lost beside 1.
LOGISTIC = formula("0.0 if x < low else 1.0 if high < x else 1.0 / (1.0 + exp(0.0 - x))", low=-709.78271289338397, high=40.0)


def curve_of(model: BinnedModel) -> Curve:
    """The curve of a model of kind "linear" or "smooth"."""
    if model.kind == "step":
        raise InputError("is of kind 'step', which is a table and no curve", argument="model")
    low, high, clip = answered_range(model)
    if model.kind == "linear":
        pieces, value = _straight_lines(model)
        return Curve(low, high, clip, (), pieces, (), value)
    before, pieces_or_none, after = _smooth(model)
    value = LOGISTIC
    # The values of 0 and 1 by themselves where their logits are infinite.
    for end in (1.0, 0.0) if model.clip == 0.0 and model.map[0] != "logistic" else ():
        least, most = clip or (low, high)
        if least <= end <= most:
            value = Operation("choose", (Operation("=", (SCORE, Number(end))), Number(model.predict_one(end)), value))
    return Curve(low, high, clip, before, pieces_or_none, after, value)


def form_of(model: BinnedModel | ModelSet, outputs: Sequence[str], alpha: float | None) -> PartSteps | Curve:
    """The form that an export is written from: the steps of a model or of a set, or the curve of a model without steps."""
    if model.is_set or model.kind == "step" or tuple(outputs) == DECISION_ALONE:
        return steps_of(model, outputs, alpha)
    if "decision" in check_outputs(outputs, alpha):
        problem = f"is of kind {model.kind!r}, whose value comes from a curve"
        raise InputError(problem, "export its decision by itself, outputs=['decision']", argument="model")
    if tuple(outputs) != ("value",):
        require_steps(model)
    return curve_of(model)


def _straight_lines(model: BinnedModel) -> tuple[Pieces, Expression]:
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
    halved = bool((half != 1.0).any())
    if halved:
        columns["half"] = half
    columns |= {"bottom": np.minimum(left, right), "top": np.maximum(left, right)}
    score = "half * score" if halved else "score"
    line = f"left + rise * (({score} - start) / width)"
    return Pieces(SCORE, knots, columns), formula(f"least(greatest({line}, bottom), top)")


def _smooth(model: BinnedModel) -> tuple[tuple[Named, ...], Pieces | None, tuple[Named, ...]]:
    """The names that the logit x is worked out with, before and after the piece is known."""
    word, given = model.map
    p = dict(zip(("p0", "p1", "p2"), (*given, 0.0, 0.0, 0.0), strict=False))
    if word == "logistic":
        return (Named("x", formula("p0 * score + p1", **p)),), None, ()
    inside = "least(greatest({}, clip), most)" if model.clip else "{}"
    chances = tuple(
        Named(name, formula(inside.format(text), clip=model.clip, most=1.0 - model.clip))
        for name, text in (("chance", "score"), ("complement", "1.0 - score"))
    )
    if word == "beta":  # a term whose coefficient is 0 is 0
        terms = [f"p{i} * log({each.name})" if p[f"p{i}"] else "0.0" for i, each in enumerate(chances)]
        return (*chances, Named("x", formula(f"{terms[0]} - {terms[1]} + p2", **p))), None, ()
    before = (*chances, Named("z", formula("log(chance) - log(complement)")))
    if word == "quadratic":
        return (*before, Named("x", formula("p0 + z * (p1 + z * p2)", **p))), None, ()
    return before, *_spline(model)


def _spline(model: BinnedModel) -> tuple[Pieces, tuple[Named, ...]]:
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
    first, last = float(x[0]), float(x[-1])
    below, above = _line(first, float(y[0]), slope_low, -1.0), _line(last, float(y[-1]), slope_high, 1.0)
    inside = formula(
        "a * left_value + b * right_value + ((a * a * a - a) * left_bend + (b * b * b - b) * right_bend) * square / 6.0"
    )
    or_above = Operation("choose", (formula("last < z", last=last), above, inside))
    after = (
        Named("a", formula("(right - z) / width")),
        Named("b", formula("(z - left) / width")),
        Named("x", Operation("choose", (formula("z < first", first=first), below, or_above))),
    )
    return Pieces(Name("z"), x[1:-1], columns), after


def _line(x: float, y: float, slope: float, side: float) -> Expression:
    """The line of this slope through (x, y) on one side of it; where the slope overflows, what it carries the logistic to."""
    if not math.isfinite(slope):
        return Number(math.copysign(1000.0, slope * side))
    return Number(y) if slope == 0.0 else formula("y + slope * (z - x)", x=x, y=y, slope=slope)
