"""Rows to compare an export with its model on, and what the model says to them: nothing where an export gives nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Bools, Float64s, Int64s, UInt64s
from fastbin._base.cells import TextCells, as_cells
from fastbin._base.checks import as_key_array, as_scores
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.tie_keys import GREATEST_KEY
from fastbin.export.steps import ALPHA, ENDS, GREATEST, limits_of
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

# Scores that no edge is near, of all models of a set together.
MOST_SPREAD = 1000

ZEROS = (0.0, 5e-324, 1e-310, float(np.finfo(np.float64).tiny), GREATEST)


@dataclass(frozen=True)
class RowsToScore:
    """Columns of one length."""

    scores: Float64s
    keys: UInt64s | None = None  # of models that split ties by key
    cells: Array | None = None  # of sets: int64, or texts as objects

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def columns(self) -> tuple[Float64s, UInt64s | None, Array | None]:
        return self.scores, self.keys, self.cells

    def take(self, at: Any) -> RowsToScore:
        """Some of the rows."""
        return RowsToScore(*(None if column is None else column[at] for column in self.columns))  # type: ignore[arg-type]

    def within(self, cell: int | str) -> RowsToScore:
        """The same rows, all in one cell."""
        return RowsToScore(self.scores, self.keys, _cells(cell, len(self)))


def given_rows(model: BinnedModel | ModelSet, scores: Any, keys: Any, cells: Any) -> RowsToScore:
    """Columns of a user: keys that are missing are drawn, and cells that are missing are those of the set in turn."""
    if isinstance(scores, Number):
        raise InputTypeError(None, "pass a list or an array of numbers", argument="scores", value=scores)
    column = as_scores(scores).astype(np.float64)
    n = len(column)
    if keys is not None and not needs_keys(model):
        raise InputError("are given, and the model compares none", "leave them out", argument="keys")
    own_keys = None
    if needs_keys(model):
        own_keys = random_keys(n) if keys is None else as_key_array(keys, n)
    if not model.is_set:
        if cells is not None:
            raise InputError("are given, and the model is no set", "leave them out", argument="cells")
        return RowsToScore(column, own_keys)
    if cells is None:
        cells = [model.keys[i % len(model)] for i in range(n)]
    own = as_cells(cells)
    own_cells = np.array(own.texts, object)[own.codes] if isinstance(own, TextCells) else own
    if n and (own_cells.dtype == object) != isinstance(model.keys[0], str):
        problem = f"is {own_cells[:1].tolist()[0]!r}, and the keys of the set are such as {model.keys[0]!r}"
        raise InputError(problem, argument="cells", at=0)
    if len(own_cells) != n:
        raise InputError(f"has {len(own_cells)} rows for {n} scores", "every row needs one cell", argument="cells")
    return RowsToScore(column, own_keys, own_cells if n else _cells(model.keys[0], 0))


def needs_keys(model: BinnedModel | ModelSet) -> bool:
    """Whether any answer depends on a key."""
    return any(own.needs_key for _, own in model.numbered)


def joined(parts: Sequence[RowsToScore]) -> RowsToScore:
    """All rows, one part after another."""
    columns = zip(*(part.columns for part in parts), strict=True)
    return RowsToScore(*(None if column[0] is None else np.concatenate(column) for column in columns))  # type: ignore[arg-type]


def hard_rows(model: BinnedModel | ModelSet) -> RowsToScore:
    """Rows where a wrong export shows: at each edge and the four doubles on both sides, with the key of the edge and those next
    to it, at zeros, subnormals, infinities and NaN, beyond the range, and in cells that a set does not know."""
    if not model.is_set:
        return _hard_rows_of(model, model.needs_key, MOST_SPREAD)
    n_spread = MOST_SPREAD // model.n_models
    of_models = [_hard_rows_of(each, needs_keys(model), n_spread) for _, each in model.numbered]
    key_of_model = dict(zip(numbers_of(model, model.keys), model.keys, strict=True))  # none for a pool of unknown cells alone
    parts = [of_models[number].within(key) for number, key in key_of_model.items()]
    few = of_models[-1].take(slice(0, 40))
    strangers: list[int | str] = (
        ["no such cell", " ", "\ufeff", "\U0001f642"] if isinstance(model.keys[0], str) else [-(2**63), 2**63 - 1, 0]
    )
    strangers += [key[:200] + "!" if isinstance(key, str) else max(key - 1, -(2**63)) for key in model.keys[-2:]]
    return joined([*parts, *(few.within(key) for key in [*strangers, *model.keys[:1000]])])


def _cells(key: int | str, n: int) -> Array:
    return np.full(n, key, np.int64 if isinstance(key, int) else object)


def _hard_rows_of(model: BinnedModel, needs_key: bool, n_spread: int) -> RowsToScore:
    """With so many scores between the hard ones; of large sets, without zeros and subnormals in each model."""
    low, high = (-1.0, 1.0) if model.score_range is None else model.score_range
    knots = np.zeros(0) if model.knots is None else model.knots[:, 0]
    zeros = ZEROS if n_spread else ZEROS[:1]
    places = [model.edges, zeros, np.negative(zeros), [low, high, 0.5, 1.0, model.clip, 1.0 - model.clip]]
    with np.errstate(over="ignore"):
        centres = np.unique(np.concatenate([*places, 1.0 / (1.0 + np.exp(-knots))]))
        beside = [centres]
        for end in (-np.inf, np.inf):
            moved = centres
            for _ in range(4):
                moved = np.nextafter(moved, end)
                beside.append(moved)
    rng = np.random.default_rng(0)
    spread = rng.uniform(max(low, -1e300), min(high, 1e300), n_spread)
    scores = np.concatenate([*beside, spread, [-0.0, np.nan, np.inf, -np.inf]])
    if not needs_key:
        return RowsToScore(scores)
    rows = RowsToScore(scores, random_keys(len(scores)))
    one = np.uint64(1)
    keys = model.edge_keys
    near = [keys, keys - one, keys + one, np.zeros_like(keys), np.full_like(keys, GREATEST_KEY)]
    return joined([rows, *(RowsToScore(model.edges, np.minimum(each, np.uint64(GREATEST_KEY))) for each in near)])


def random_keys(n: int) -> UInt64s:
    """The same keys each time."""
    return np.random.default_rng(0).integers(0, GREATEST_KEY, n, dtype=np.uint64, endpoint=True)


def numbers_of(models: ModelSet, cells: Any) -> list[int]:
    """The number of the model of each cell; -1 for one that the set does not know, also where its pool scores it."""
    known = dict(zip(models.keys, models.find(list(models.keys)).tolist(), strict=True))
    return [known.get(cell, -1) for cell in cells]


def answers(model: BinnedModel | ModelSet, rows: RowsToScore, outputs: Sequence[str], alpha: float | None) -> dict[str, Array]:
    """What the model says to each row: NaN, and bin -1, where it has no answer."""
    alpha = ALPHA if alpha is None else alpha
    has_answer = _have_answers(model, rows)
    asked = rows.take(has_answer)
    found: dict[str, Array] = {}
    for name in outputs:
        filled = np.full(len(rows), -1 if name == "bin" else np.nan, np.int32 if name == "bin" else np.float64)
        filled[has_answer] = _answer(model, asked, name, alpha)
        found[name] = filled
    return found


def _have_answers(model: BinnedModel | ModelSet, rows: RowsToScore) -> Bools:
    if not model.is_set:
        low, high, _ = limits_of(model)
        return (rows.scores >= low) & (rows.scores <= high)
    assert rows.cells is not None
    limits = np.array([limits_of(each)[:2] for _, each in model.numbered])
    numbers: Int64s = np.array(numbers_of(model, rows.cells.tolist()), np.int64)
    low, high = limits[numbers].T  # -1: of the last model, which is the pool where unknown cells have an answer
    return (rows.scores >= low) & (rows.scores <= high) & ((numbers >= 0) | (model.unknown == "pool"))


def _answer(model: BinnedModel | ModelSet, rows: RowsToScore, name: str, alpha: float) -> Array:
    of_row: tuple[Any, ...] = (rows.scores, rows.cells) if model.is_set else (rows.scores,)
    if name in ENDS:
        return np.asarray(model.predict_interval(*of_row, alpha=alpha, keys=rows.keys))[:, ENDS.index(name)]
    return np.asarray((model.assign if name == "bin" else model.predict)(*of_row, keys=rows.keys))
