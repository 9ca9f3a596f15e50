"""The fit of a set of models: which cells are thin, what the pool is fitted to, and how each model comes about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Int64s
from fastbin._base.cells import Key
from fastbin._base.checks import UNIT, check_same_length
from fastbin._base.errors import InputError, Wording, by_name
from fastbin._base.suspicions import FALLS, HARD_LABELS, LEVEL, are_hard_labels, on_falling
from fastbin._fit.calibrator import Calibrator
from fastbin._fit.rows import check_rows
from fastbin._fit.segments import CellRows, fit_segments
from fastbin._fit.whole import on_fewer_bins, ties_cost_bins
from fastbin.model import BinnedModel
from fastbin.model_set import SET_KINDS, UNKNOWN, ModelSet
from fastbin.multi.binary import BinaryMethod, Given, Told, check_values, count_samples, fit_named


class CellKind(NamedTuple):
    """What the cells of a set are, and what becomes of those with few samples."""

    kind: str  # of the set
    word: str  # what a cell is called in messages
    column: str  # and the argument that says it of each row
    thin: str = "pool"
    unknown: str = "refuse"
    pool_all: bool = False
    event: str = ""
    provenance: bytes = b""

    def fall_level(self, n_models: int) -> float | None:
        """Of each model's test for scores of the other class, none where the score is how sure a classifier is."""
        return None if self.kind == "top-label" else LEVEL / n_models

    def find_thin(self, keys: Sequence[Key], counts: Int64s, needed: int) -> Bools:
        """The cells that go to the pool."""
        thin: Bools = np.full(len(counts), self.pool_all) | (counts < needed)
        if self.thin == "refuse" and thin.any():
            first = int(np.argmax(thin))
            raise InputError(
                f"{self.word} {keys[first]!r} has {counts[first]} samples, and a model of its own needs {needed}",
                (
                    "give it more, take fewer bins or a smaller ",
                    Wording("min_points", "--min-points"),
                    ", or pass ",
                    by_name("thin", "pool"),
                    " for one model of all such cells",
                ),
            )
        return thin


class FittedSet(NamedTuple):
    """A set, and what the fits of its models had to say."""

    models: ModelSet
    told: Told

    @property
    def warnings(self) -> list[str]:
        """The warnings, those of one kind in one."""
        found = []
        of_kind: dict[str, Told] = {FALLS: [], HARD_LABELS: [], "": []}
        for name, text in self.told:
            of_kind[next(start for start in of_kind if text.startswith(start))].append((name, text))
        for told in filter(None, of_kind.values()):
            first, text = told[0]
            n_fits = len({name for name, _ in told})
            found.append(f"{n_fits} of {self.models.n_models} models, the first that of {first}: {text}")
        return found


def fit_set(
    method: BinaryMethod, given: Given, keys: Sequence[Key], cells: CellRows, kind: CellKind, columns: Int64s | None = None
) -> FittedSet:
    """A model for each cell that is not thin, and one for all rows of those that are.

    Parameters
    ----------
    method : BinaryMethod
    given : Given
    keys : sequence of keys
        Ascending.
    cells : CellRows
        The cell of each row, by its position in `keys`.
    kind : CellKind
    columns : int64 (cells,), optional
        The column of a matrix that belongs to each key.

    Raises
    ------
    InputError
        For the first bad row, and for the first thin cell where these are refused.

    Notes
    -----
    Uniform-mass bins with whole ties, of scores from 0 on without weights, are made for all cells in one call, in time
    O(n log m) for cells of m rows; other fits one by one.
    """
    if method.rule is not None and given.sample_weight is None:
        fitted = _fit_together(method, given, keys, cells, kind, columns)
        if fitted is not None:
            return fitted
    checked = check_values(given, method.calibrator, **{kind.column: cells.codes})
    numbers = cells.numbers()
    parts = parts_of(method, keys, count_samples(checked, numbers, len(keys)), kind)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(cells.row_counts)
    told: Told = []
    models = []
    for part in parts:
        if part.is_pool:
            rows = np.flatnonzero(np.isin(numbers, part.numbers))
        else:
            number = part.numbers[0]
            rows = order[ends[number] - cells.row_counts[number] : ends[number]]
        models.append(
            fit_named(part.calibrator, checked.take(rows), part.name, told, kind.fall_level(len(parts)), kind.event)
            if part.n_samples
            else part.without_samples(kind.event)
        )
    return FittedSet(set_of(parts, models, keys, kind, columns), told)


class CellPart(NamedTuple):
    """One model of a set, and what it is to be fitted to."""

    calibrator: Calibrator
    numbers: list[int]  # of the cells whose rows these are
    n_samples: int
    name: str
    is_pool: bool

    def without_samples(self, event: str) -> BinnedModel:
        """One bin that nothing is known of."""
        return BinnedModel.from_parts(
            edges=[], values=[0.5], counts=[0], label_sums=[0], scheme="explicit",
            score_range=getattr(self.calibrator, "score_range", UNIT),
            out_of_range=getattr(self.calibrator, "out_of_range", "refuse"), event=event,
        )  # fmt: skip


def parts_of(method: BinaryMethod, keys: Sequence[Key], counts: Int64s, kind: CellKind) -> list[CellPart]:
    """The models of a set of cells with so many samples: those of cells that are not thin, then the pool, if any is."""
    is_pooled = kind.find_thin(keys, counts, method.needed)
    parts = [
        CellPart(method.of(int(counts[number])), [number], int(counts[number]), f"{kind.word} {keys[number]!r}", False)
        for number in np.flatnonzero(~is_pooled).tolist()
    ]
    pooled = np.flatnonzero(is_pooled).tolist()
    if pooled:
        n_samples = int(counts[pooled].sum())
        parts.append(CellPart(method.of(n_samples), pooled, n_samples, _pool_name(len(pooled)), True))
    return parts


def set_of(
    parts: Sequence[CellPart], models: Sequence[BinnedModel], keys: Sequence[Key], kind: CellKind, columns: Int64s | None = None
) -> ModelSet:
    """The set of the fitted models."""
    own = {keys[part.numbers[0]]: model for part, model in zip(parts, models, strict=True) if not part.is_pool}
    pool = next(((part, model) for part, model in zip(parts, models, strict=True) if part.is_pool), None)
    return ModelSet._of(
        own, kind=kind.kind, unknown=kind.unknown if pool else "refuse", pool=pool and pool[1],
        pooled_keys=[keys[number] for number in pool[0].numbers] if pool else [],
        columns=None if columns is None else [keys[at] for at in np.argsort(columns)], provenance=kind.provenance,
    )  # fmt: skip


def _fit_together(
    method: BinaryMethod, given: Given, keys: Sequence[Key], cells: CellRows, kind: CellKind, columns: Int64s | None
) -> FittedSet | None:
    """All models in one call; ``None`` where the pool has no row to be fitted to."""
    assert method.rule is not None
    rows = check_rows(given.scores, given.labels, None, method.rule.score_range, positive=given.positive)
    check_same_length(scores=rows.scores, labels=rows.labels, **{kind.column: cells.codes})
    is_pooled = kind.find_thin(keys, cells.row_counts, method.needed)
    own, n_pooled = np.flatnonzero(~is_pooled), int(np.count_nonzero(is_pooled))
    counts = cells.row_counts[own]
    if n_pooled:
        counts = np.append(counts, len(rows) - counts.sum())
        if counts[-1] == 0:
            return None
    asked = method.bins_for(counts)
    parts = fit_segments(rows, cells, is_pooled, asked, method.rule)
    n_bins = parts.pop("n_bins_each")
    model_of_key = np.full(len(keys), len(own), np.int32)
    model_of_key[own] = np.arange(len(own))
    made = ModelSet._create_flat(
        [*map(str, keys)] if isinstance(keys[0], str) else np.array(keys, np.int64), model_of_key, n_bins, **parts,
        kind=list(SET_KINDS).index(kind.kind), unknown=UNKNOWN.index(kind.unknown if n_pooled else "refuse"),
        pool=len(own) if n_pooled else -1, columns=None if columns is None else columns.astype(np.int32),
        event=kind.event.encode(), provenance=kind.provenance,
    )  # fmt: skip
    names = [f"{kind.word} {keys[number]!r}" for number in own.tolist()] + ([_pool_name(n_pooled)] if n_pooled else [])
    told, ends, tie_ends = [], np.cumsum(n_bins), np.cumsum(np.where(parts["n_tied"] > 0, n_bins, 0))
    for number in np.flatnonzero(n_bins < asked).tolist():
        left, wanted, is_tied = int(n_bins[number]), int(asked[number]), bool(parts["n_tied"][number])
        counts = parts["counts"][ends[number] - left : ends[number]]
        tie_counts = parts["tie_counts"][tie_ends[number] - left : tie_ends[number]] if is_tied else None
        if ties_cost_bins(counts, tie_counts, wanted):
            told.append((names[number], on_fewer_bins(left, wanted, may_share=is_tied)))
    if are_hard_labels(rows.scores):
        told += [(name, HARD_LABELS) for name in names]
    elif method.calibrator._expects_rise() and (level := kind.fall_level(len(n_bins))) is not None:
        for name, start, end in zip(names, [0, *ends[:-1].tolist()], ends.tolist(), strict=False):
            falling = on_falling(parts["counts"][start:end], parts["label_sums"][start:end], level)
            if falling is not None:
                told.append((name, falling))
    return FittedSet(made, told)


def _pool_name(n_cells: int) -> str:
    return f"the pool of {n_cells} cell{'s' * (n_cells != 1)}"
