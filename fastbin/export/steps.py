"""What every export is made of: the steps of a model, or of the models of a set, as plain columns.

A target needs a guard, an ascending list of edges and, for each thing that is asked for, one entry a step. All of that is
decided here, so that a target has nothing to do but write it down: which scores have an answer, whether keys are compared, and
which bin, and so which interval, a step belongs to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s, UInt64s
from fastbin._base.checks import check_alpha
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.tie_keys import ABOVE_EVERY_KEY
from fastbin._core.score import library_version
from fastbin._model.provenance import in_words
from fastbin._model.view import promise
from fastbin.guarantees.certificate import event_words
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

OUTPUTS = ("value", "bin", "lower", "upper")
ENDS = ("lower", "upper")

# What rows of unknown cells get beside the value of the pool's model.
OF_UNKNOWN = {"bin": -1, "lower": 0.0, "upper": 1.0}

# What the ends of an interval are made with where alpha is not given.
ALPHA = 0.1

GREATEST = float(np.finfo(np.float64).max)


class Steps(NamedTuple):
    """The steps of one model.

    A score s with key k lies at or above edge i where ``s > edges[i]``, or ``s == edges[i]`` and ``k >= edge_keys[i]``; without
    keys, which are all 0 then, where ``s >= edges[i]``. The number of such edges is its step, and the entry of a column at this
    step its answer.
    """

    edges: Float64s  # (E,), ascending; 0.0 for -0.0; infinite where no score lies above
    edge_keys: UInt64s  # (E,), ascending where edges are equal
    columns: dict[str, Array]  # (E + 1,) for each output that was asked for: float64, and int32 for "bin"
    low: float  # a score outside [low, high] has no answer, nor has NaN; both are finite
    high: float
    clip: tuple[float, float] | None  # a score that has an answer is moved into this range first
    needs_key: bool


class SetSteps(NamedTuple):
    """The steps of the models of a set, by their numbers, and the keys of its cells."""

    keys: tuple[int | str, ...]  # of one type, ascending; text by its bytes in UTF-8
    model_of_key: Int64s
    models: tuple[Steps, ...]
    # What a row of another key gets: nothing, or the value of the pool's model of this number, bin -1 and the interval [0, 1].
    unknown: int | None

    @property
    def needs_key(self) -> bool:
        return any(model.needs_key for model in self.models)


def steps_of(model: BinnedModel, outputs: Sequence[str] = ("value",), alpha: float | None = None) -> Steps:
    """The steps of a model with these outputs; `alpha` of the intervals of all bins at once."""
    outputs = check_outputs(outputs, alpha)
    ends = model.interval(ALPHA if alpha is None else alpha) if set(ENDS) & set(outputs) else None
    return _with_columns(model, outputs, ends)


def set_steps_of(models: ModelSet, outputs: Sequence[str] = ("value",), alpha: float | None = None) -> SetSteps:
    """The same for the models of a set; `alpha` of the intervals of all bins of all models at once."""
    outputs = check_outputs(outputs, alpha)
    named = [model for _, model in models.numbered]
    asks_ends = bool(set(ENDS) & set(outputs))
    ends = models.interval(ALPHA if alpha is None else alpha) if asks_ends else [None] * len(named)
    unknown = len(named) - 1 if models.unknown == "pool" else None
    steps = tuple(_with_columns(model, outputs, each) for model, each in zip(named, ends, strict=True))
    return SetSteps(models.keys, np.asarray(models.find(list(models.keys)), np.int64), steps, unknown)


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


def digest_of(model: BinnedModel | ModelSet) -> str:
    """The SHA-256 of the bytes of the model's file, in hexadecimal."""
    return hashlib.sha256(model.to_bytes()).hexdigest()


def description_of(model: BinnedModel | ModelSet, outputs: Sequence[str] = (), alpha: float | None = None) -> tuple[str, ...]:
    """What every export says about itself, line by line: the version, the digest, the model with the alpha of the ends of its
    intervals if these are among the outputs, what it promises, of which event p is the probability, and how it came about."""
    about = f"{len(model)} cells, {model.n_models} models, " if model.is_set else f"scheme {model.scheme}, "
    ends = f", intervals at alpha {float(ALPHA if alpha is None else alpha)!r}" if set(ENDS) & set(outputs) else ""
    return (
        f"fastbin {library_version()}, model sha256 {digest_of(model)}",
        f"{about}{model.n_bins} bins, {model.n_samples} samples{ends}",
        promise_of(model),
        f"p is the probability of {event_words(model.event)}",
        *((f"made by {made_by}",) if (made_by := in_words(model)) else ()),
    )


def promise_of(model: BinnedModel | ModelSet) -> str:
    """The certificate in one sentence, or why there is none."""
    certificate, sentence = promise(model, ALPHA)
    return sentence if certificate is not None else " ".join(sentence.split())


def _with_columns(model: BinnedModel, outputs: Sequence[str], ends: Float64s | None) -> Steps:
    require_steps(model)
    bins = np.repeat(np.arange(model.n_bins), np.diff(model.first_step, append=model.n_steps))
    columns: dict[str, Array] = {}
    for name in outputs:
        if name == "value":
            columns[name] = model.values
        elif name == "bin":
            columns[name] = bins.astype(np.int32)
        else:
            assert ends is not None
            columns[name] = np.ascontiguousarray(ends[bins, ENDS.index(name)])
    edges, keys = _edges_of(model)
    return Steps(edges, keys, columns, *limits_of(model), bool(model.needs_key))


def limits_of(model: BinnedModel) -> tuple[float, float, tuple[float, float] | None]:
    """The least and the greatest score that has an answer, and the range that such a score is moved into, if it is."""
    low, high = (-GREATEST, GREATEST) if model.score_range is None else model.score_range
    limits = max(low, -GREATEST) + 0.0, min(high, GREATEST) + 0.0
    if model.out_of_range == "clip" and model.score_range is not None:
        return -GREATEST, GREATEST, limits
    return *limits, None


def _edges_of(model: BinnedModel) -> tuple[Float64s, UInt64s]:
    """The edges and their keys, where one that no key reaches is the next double, which every key reaches.

    No row has the greatest key (fastbin.h), and where keys are not compared, all rows have the key 0.
    """
    is_below = model.edge_keys == ABOVE_EVERY_KEY if model.needs_key else model.edge_keys != 0
    with np.errstate(over="ignore"):
        edges = np.where(is_below, np.nextafter(model.edges, np.inf), model.edges) + 0.0
    return edges, np.where(is_below, np.uint64(0), model.edge_keys)
