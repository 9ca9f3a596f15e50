"""The fit of a set of models: which cells are thin, what the pool is fitted to, and how each model comes about."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Bools, Int64s
from fastbin._base.cells import Key
from fastbin._base.checks import (
    as_scores,
    check_labels,
    check_n_samples,
    check_same_length,
    check_sample_weight,
    check_score_range,
    check_scores,
    check_seed,
    no_samples,
)
from fastbin._base.errors import ArgumentError, FastbinError, GuaranteeError, InputError, Wording, by_name
from fastbin._base.shown import how_many
from fastbin._base.suspicions import FALLS, HARD_LABELS, LEVEL, on_falling
from fastbin._core.fit import lower_half
from fastbin._fit.calibrator import Calibrator, Estimator, check_binary
from fastbin._fit.edges import on_fewer_bins, ties_cost_bins
from fastbin._fit.quantiles import Source
from fastbin._fit.rows import Rows, check_rows
from fastbin._fit.segments import CellRows, SortedRuns, fit_segments, sort_into_runs
from fastbin._model.provenance import of_estimator
from fastbin.binning.certified import CertifiedCalibration
from fastbin.binning.uniform_mass import UniformMassBinning
from fastbin.model import BinnedModel
from fastbin.model_set import SET_KINDS, UNKNOWN, ModelSet

# With per_class="auto" all bins of all models are to keep epsilon = 0.15 at this alpha. The first number is the radius that the
# mean labels of all bins keep at once, whatever the rates are. It is below 0.15 by as much as Clopper & Pearson's ends add, and
# by far more where values are finer than bins, as the certificate then also has to know their average. The second number says
# of how many bins each model has the samples: values that are means need two to tell scores apart, and the average of many
# values is known worst where one bin holds all of them. tests/simulation/test_cells.py shows that these numbers are enough.
ALPHA_OF_CLASSES = 0.1
BINS_OF_CLASSES = {UniformMassBinning: (0.145, 2.0), CertifiedCalibration: (0.07, 1.5)}


class CellKind(NamedTuple):
    """The kind of the cells of a set, and the policy for those with few samples."""

    kind: str  # of the set
    word: str  # what a cell is called in messages
    column: str  # and the argument that says it of each row
    thin: str = "pool"
    unknown: str = "refuse"
    pool_all: bool = False
    least_pool: int = 1  # samples, where the pool has any
    event: str = ""
    provenance: bytes = b""

    def fall_level(self, n_models: int) -> float | None:
        """The level of each model's test for scores of the other class; none where scores say how sure a classifier is."""
        return None if self.kind == "top-label" else LEVEL / n_models

    def find_thin(self, keys: Sequence[Key], numbers: Int64s, counts: Int64s, needed: int) -> Bools:
        """Which of the cells of these numbers go to the pool."""
        thin: Bools = np.full(len(counts), self.pool_all) | (counts < needed)
        if self.thin == "refuse" and thin.any():
            first = int(np.argmax(thin))
            samples = how_many(int(counts[first]), "sample")
            raise InputError(
                f"{self.word} {keys[numbers[first]]!r} has {samples}, and a model of its own needs {needed}",
                (
                    "give it more, take fewer bins or a smaller ",
                    Wording("min_points", "--min-points"),
                    ", or pass ",
                    by_name("thin", "pool"),
                    " for one model of all such cells",
                ),
            )
        if 0 < counts[thin].sum() < self.least_pool and not thin.all():
            thin[np.where(thin, counts.max() + 1, counts).argmin()] = True
        return thin


Told = list[tuple[str, str]]  # which fit, and its warning
FittedSet = tuple[ModelSet, Told]  # and what the fits of its models had to say


def warnings_of(told: Told, n_models: int) -> list[str]:
    """The warnings of the fits of so many models, those of one kind in one."""
    found = []
    of_kind: dict[str, Told] = {FALLS: [], HARD_LABELS: [], "": []}
    for name, text in told:
        of_kind[next(start for start in of_kind if text.startswith(start))].append((name, text))
    for of_one in filter(None, of_kind.values()):
        first, text = of_one[0]
        n_fits = len({name for name, _ in of_one})
        found.append(f"{n_fits} of {n_models} models, the first that of {first}: {text}")
    return found


def fit_set(
    method: BinaryMethod, given: Given, keys: Sequence[Key], cells: CellRows, kind: CellKind, columns: Int64s | None = None
) -> FittedSet:
    """A model for each cell that is not thin, and one for all rows of those that are.

    `keys` ascend, and `cells` number them; `columns` are the columns of a matrix that belong to them. Rows without weights are
    sorted for all cells at once, in time O(n log m) for cells of m rows, where the calibrator takes sorted rows; for others,
    the rows of each are gathered, and fitted as they are.
    """
    if method.takes_sorted_rows and given.sample_weight is None:
        fitted = _fit_sorted(method, given, keys, cells, kind, columns)
        if fitted is not None:
            return fitted
    checked = check_values(given, method.calibrator, **{kind.column: cells.codes})
    numbers = cells.numbers()
    # Numbers of 16 bits are sorted in linear time.
    order = np.argsort(numbers.astype(np.uint16) if len(keys) <= 2**16 else numbers, kind="stable")
    in_cells = checked.take(order)
    counts = count_samples(checked, numbers, len(keys))
    if not counts.any():
        raise no_samples()
    shape, ends = SetShape.of(keys, counts, method.needed, kind, columns), np.cumsum(cells.row_counts)

    def rows_of(part: CellPart) -> Rows:
        if len(part.numbers) > 1:
            return checked.take(np.flatnonzero(np.isin(numbers, part.numbers)))
        (number,) = part.numbers
        return in_cells.take(slice(ends[number] - cells.row_counts[number], ends[number]))

    parts = shape.parts(method, counts)
    return shape.fitted(parts, map(rows_of, parts))


class CellPart(NamedTuple):
    """One model of a set, and what it is to be fitted to."""

    calibrator: Calibrator
    numbers: list[int]  # of the cells whose rows these are
    n_samples: int
    name: str

    def without_samples(self, event: str) -> BinnedModel:
        """One bin that nothing is known of."""
        return BinnedModel.from_parts(
            edges=[], values=[0.5], counts=[0], label_sums=[0], scheme="explicit",
            score_range=self.calibrator._checked_range(),
            out_of_range=getattr(self.calibrator, "out_of_range", "refuse"), event=event,
        )  # fmt: skip


class SetShape(NamedTuple):
    """The cells of the models of a set."""

    cells_of: Sequence[list[int]]  # of each model, by their numbers in `keys`
    has_pool: bool  # the last one; others have one cell each
    keys: Sequence[Key]
    kind: CellKind
    columns: Int64s | None = None  # of a matrix that belong to the keys

    @classmethod
    def of(
        cls, keys: Sequence[Key], counts: Int64s, needed: int, kind: CellKind, columns: Int64s | None = None
    ) -> SetShape:  # fmt: skip
        """Cells with so many samples: a model for each that is not thin, then the pool, if any is.

        A class without samples is one of the set, and has a model; a segment whose rows all have a frequency of 0 was not seen.
        """
        numbers = np.arange(len(counts)) if kind.kind != "segments" else np.flatnonzero(counts)
        is_pooled = kind.find_thin(keys, numbers, counts[numbers], needed)
        own, pooled = [[number] for number in numbers[~is_pooled].tolist()], numbers[is_pooled].tolist()
        return cls([*own, pooled] if pooled else own, bool(pooled), keys, kind, columns)

    def names(self) -> list[str]:
        """How each model is called in messages."""
        own = self.cells_of[:-1] if self.has_pool else self.cells_of
        names = [f"{self.kind.word} {self.keys[number]!r}" for [number] in own]
        n_pooled = len(self.cells_of[-1])
        return [*names, f"the pool of {how_many(n_pooled, 'cell')}"] if self.has_pool else names

    def parts(self, method: BinaryMethod, counts: Int64s) -> list[CellPart]:
        """The samples and the calibrator of each model; `counts` are the samples of the cells."""
        of_cell = counts.tolist()
        sizes = [sum(of_cell[number] for number in numbers) for numbers in self.cells_of]
        own = zip(self.cells_of, sizes, self.names(), strict=True)
        return [CellPart(method.of(n_samples), numbers, n_samples, name) for numbers, n_samples, name in own]

    def fitted(self, parts: Sequence[CellPart], rows: Iterable[Rows | Source]) -> FittedSet:
        """The set of the models, each fitted to its own of these rows."""
        told: Told = []
        level, event = self.kind.fall_level(len(parts)), self.kind.event
        models = [
            fit_named(part.calibrator, own, part.name, told, level, event) if part.n_samples else part.without_samples(event)
            for part, own in zip(parts, rows, strict=True)
        ]
        return self.set_of(models), told

    def set_of(self, models: Sequence[BinnedModel]) -> ModelSet:
        """The set of the fitted models."""
        n_own, keys, columns = len(models) - self.has_pool, self.keys, self.columns
        return ModelSet._of(
            {keys[number]: model for [number], model in zip(self.cells_of[:n_own], models[:n_own], strict=True)},
            kind=self.kind.kind, unknown=self.kind.unknown if self.has_pool else "refuse",
            pool=models[-1] if self.has_pool else None,
            pooled_cells=[keys[number] for number in self.cells_of[-1]] if self.has_pool else [],
            columns=None if columns is None else [keys[at] for at in np.argsort(columns)], provenance=self.kind.provenance,
        )  # fmt: skip

    def set_of_arrays(self, parts: dict[str, Any]) -> ModelSet:
        """The same of models whose arrays follow each other in those of all, as `fit_segments` makes them."""
        cells_of, has_pool, keys, kind, columns = self
        model_of_key = np.empty(len(keys), np.int32)
        model_of_key[np.concatenate(cells_of)] = np.repeat(np.arange(len(cells_of)), [len(numbers) for numbers in cells_of])
        return ModelSet._create_flat(
            [*map(str, keys)] if isinstance(keys[0], str) else np.array(keys, np.int64), model_of_key, **parts,
            kind=list(SET_KINDS).index(kind.kind), unknown=UNKNOWN.index(kind.unknown if has_pool else "refuse"),
            pool=len(cells_of) - 1 if has_pool else -1, columns=None if columns is None else columns.astype(np.int32),
            event=kind.event.encode(), provenance=kind.provenance,
        )  # fmt: skip


def _fit_sorted(
    method: BinaryMethod, given: Given, keys: Sequence[Key], cells: CellRows, kind: CellKind, columns: Int64s | None
) -> FittedSet | None:
    """All models, from rows that are sorted in their cells; ``None`` where the pool has no row to be fitted to."""
    calibrator = method.calibrator
    score_range = calibrator._checked_range()
    rows = check_rows(given.scores, given.labels, None, score_range, positive=given.positive)
    check_same_length(scores=rows.scores, labels=rows.labels, **{kind.column: cells.codes})
    shape = SetShape.of(keys, cells.row_counts, method.needed, kind, columns)
    is_pooled, counts = np.zeros(len(keys), np.bool_), cells.row_counts
    if shape.has_pool:
        is_pooled[shape.cells_of[-1]] = True
        counts = np.append(counts[~is_pooled], counts[is_pooled].sum())
        if counts[-1] == 0:
            return None
    asked, runs = method.bins_for(counts), sort_into_runs(rows, cells, is_pooled)
    if not isinstance(calibrator, CertifiedCalibration):
        return _bins_of_runs(calibrator, runs, rows.limits, asked, shape)
    told: Told = []
    checked, models = calibrator._check(), []
    level = kind.fall_level(len(shape.cells_of))
    for name, run, n_bins in zip(shape.names(), runs.each(), asked.tolist(), strict=True):
        with _named_fit(calibrator, name, told, level, kind.event):
            models.append(calibrator._model_of_sorted(checked, run, n_bins))
    return shape.set_of(models), told


def _bins_of_runs(calibrator: Any, runs: SortedRuns, limits: tuple[float, float], asked: Int64s, shape: SetShape) -> FittedSet:
    """The uniform-mass bins of all models in one call, and what the fit of each would have told."""
    parts = fit_segments(
        runs, limits, asked, scheme=calibrator.scheme, seed=check_seed(calibrator.seed),
        out_of_range=calibrator.out_of_range, monotone=calibrator.monotone,
    )  # fmt: skip
    made, names, are_hard = shape.set_of_arrays(parts), shape.names(), runs.are_hard_labels()
    told = list(_about_fewer_bins(calibrator.scheme, names, asked, parts))
    told += [(names[number], HARD_LABELS) for number in np.flatnonzero(are_hard).tolist()]
    level = shape.kind.fall_level(len(names)) if calibrator._expects_rise() else None
    if level is not None:
        told += _about_falls(names, np.flatnonzero(~are_hard).tolist(), parts, level)
    return made, told


def _about_fewer_bins(scheme: str, names: list[str], asked: Int64s, parts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The models that have fewer bins than were asked for, where ties did it."""
    n_bins, n_tied = parts["n_bins_each"], parts["n_tied"]
    ends, tie_ends = np.cumsum(n_bins), np.cumsum(np.where(n_tied > 0, n_bins, 0))  # models without ties have no counts of them
    for number in np.flatnonzero(n_bins < asked).tolist():
        left, wanted, is_tied = int(n_bins[number]), int(asked[number]), bool(n_tied[number])
        counts = parts["counts"][ends[number] - left : ends[number]]
        tie_counts = parts["tie_counts"][tie_ends[number] - left : tie_ends[number]] if is_tied else None
        if ties_cost_bins(counts, tie_counts, wanted, scheme):
            yield names[number], on_fewer_bins(left, wanted, may_share=is_tied)


def _about_falls(names: list[str], numbers: list[int], parts: dict[str, Any], level: float) -> Iterator[tuple[str, str]]:
    """Those of these models whose labels fall as scores rise."""
    n_bins = parts["n_bins_each"]
    ends = np.cumsum(n_bins)
    for number in numbers:
        bins = slice(ends[number] - n_bins[number], ends[number])
        falling = on_falling(*lower_half(parts["counts"][bins], parts["label_sums"][bins]), level)
        if falling is not None:
            yield names[number], falling


# ------------------------------------------------------------------ the calibrator of a cell


class Given(NamedTuple):
    """The rows as they were given to `fit`."""

    scores: Any
    labels: Any
    sample_weight: Any = None
    positive: Any = None


def check_values(given: Given, calibrator: Calibrator, **others: Array) -> Rows:
    """The rows as `calibrator` takes them, with their values checked, so that the fit of a cell meets none to refuse.

    `others` are columns that must have their length.
    """
    score_array = as_scores(given.scores)
    label_array = check_labels(given.labels, positive=given.positive)
    weights = check_sample_weight(given.sample_weight)
    if check_same_length(scores=score_array, labels=label_array, **others, sample_weight=weights) == 0:
        raise InputError("scores is empty; a calibrator needs samples")
    score_range = calibrator._checked_range()
    if weights is None or weights.dtype.kind != "f":
        return Rows(check_scores(score_array, score_range), label_array, weights, score_range)
    return Rows(check_scores(score_array, score_range), label_array, None, score_range, weights)


def count_samples(rows: Rows, cells: Int64s, n_cells: int) -> Int64s:
    """How many samples each cell has: rows, or the sums of their frequencies."""
    if rows.frequencies is None:
        return np.bincount(cells, minlength=n_cells)
    counts = np.zeros(n_cells, np.int64)
    np.add.at(counts, cells, rows.frequencies)
    return counts


@dataclass(frozen=True)
class BinaryMethod:
    """The calibrator of every cell, or uniform-mass bins whose number follows from the samples of a cell."""

    calibrator: Calibrator  # as it is configured for cells that are not thin
    points_per_bin: int | None = None  # with it, a cell of n samples gets n // points_per_bin bins, at least one
    # What a cell must have for all bins that were asked for. A pool that has less gets bins in proportion: bins of a few
    # samples would widen the promise about all cells, as that is about the widest.
    min_points: int = 1
    fewest_per_bin: int = 1  # above 1, bins that have less are fewer than asked

    @cached_property
    def least(self) -> int:
        """The samples that a cell needs for what was asked."""
        return self.calibrator._least_samples() if self.points_per_bin is None and self.fewest_per_bin == 1 else 1

    @property
    def needed(self) -> int:
        """The samples with which a cell gets what was asked."""
        return max(self.min_points, self.least)

    def within_epsilon(self, n_samples: int) -> tuple[BinaryMethod, int]:
        """The same with bins so large that all bins of all cells, which have so many samples together, keep one epsilon.

        And the samples that every model must have. A method whose bins do not hold equally many samples stays, with 1.
        """
        radius, bins_of_model = BINS_OF_CLASSES.get(type(self.calibrator), (0.0, 0.0))
        if n_samples == 0 or radius == 0.0 or getattr(self.calibrator, "scheme", "umd") == "ums":
            return self, 1
        from fastbin.guarantees import choose_n_bins  # needs SciPy

        self.calibrator._least_samples()  # refuses what cannot be used
        try:
            most = choose_n_bins(n_samples, ALPHA_OF_CLASSES, radius)
        except GuaranteeError:  # not even one bin
            most = 1
        fewest = -(-n_samples // most)
        needed = math.ceil(bins_of_model * fewest)
        return replace(self, fewest_per_bin=fewest, min_points=max(self.min_points, needed)), needed

    @property
    def takes_sorted_rows(self) -> bool:
        """Whether rows that are sorted, without weights, are enough for the calibrator."""
        given = self.calibrator
        if type(given) is CertifiedCalibration:
            return given._check().takes_sorted_rows
        if type(given) is not UniformMassBinning or given.scheme not in ("umd", "ze") or given.ties != "whole":
            return False
        score_range = check_score_range(given.score_range)
        return (
            given.delta == 0.0
            and given.edges_share == given.sampling_rate == 1.0
            and score_range is not None
            and score_range[0] >= 0.0
        )

    def bins_for(self, n_samples: Int64s) -> Int64s:
        """The bins of cells of so many samples where the calibrator takes sorted rows; as `of` gives them."""
        if self.points_per_bin is not None:
            points = max(self.points_per_bin, self.fewest_per_bin)
            return np.maximum(1, np.minimum(n_samples // points, (n_samples + 1) // 2))
        asked = self._asked()
        if self.fewest_per_bin > 1 or isinstance(asked, str):
            sizes, of_size = np.unique(n_samples, return_inverse=True)
            return np.array([self._n_bins(asked, n) for n in sizes.tolist()], np.int64)[of_size]
        share = np.maximum(1, asked * np.minimum(n_samples, self.needed) // self.needed)
        return np.minimum(share, (n_samples + 1) // 2)

    def of(self, n_samples: int) -> Calibrator:
        """The calibrator of a cell: with what was asked where there are samples enough, else with bins in proportion."""
        if self.points_per_bin is not None:
            return _copy(self.calibrator, n_bins=int(self.bins_for(np.array([n_samples]))[0]))
        asked = self._asked()
        if self.fewest_per_bin > 1:
            return _copy(self.calibrator, n_bins=self._n_bins(asked, n_samples))
        if n_samples >= self.needed or not isinstance(asked, int):
            return _copy(self.calibrator)
        more = range(2, asked * n_samples // self.needed + 1)  # of which those are left for which the samples are enough
        n_enough = bisect(more, n_samples, key=lambda n_bins: _copy(self.calibrator, n_bins=n_bins)._least_samples())
        return _copy(self.calibrator, n_bins=1 + n_enough)

    def _asked(self) -> Any:
        """The bins that were asked for: a number, "auto", or ``None`` where there are none to ask for."""
        asked = self.calibrator.get_params().get("n_bins")
        return int(asked) if isinstance(asked, np.integer) else asked

    def _n_bins(self, asked: Any, n_samples: int) -> int:
        """The bins of a cell of so many samples, where each has its fewest."""
        if isinstance(asked, str):
            asked = self.calibrator._check().n_bins_for(max(1, n_samples))
        return max(1, min(asked, n_samples // self.fewest_per_bin))


def _copy(calibrator: Calibrator, **changes: Any) -> Calibrator:
    return type(calibrator)(**{**calibrator.get_params(), **changes})


def binary_method(
    calibrator: Any, *, n_bins: Any = None, points_per_bin: Any = None, min_points: Any = 1, of_classes: bool = False
) -> BinaryMethod:
    """The checked wish of a user: a calibrator, or a number of bins, or else points per bin where there is such a rule."""
    min_points = check_n_samples(min_points, "min_points")
    if calibrator is not None:
        check_binary(calibrator)
        if n_bins is not None:
            problem = f"is {n_bins!r}, and calibrator has its own"
            raise InputError(problem, "give one of the two", argument="n_bins", value=n_bins)
        if of_classes and getattr(calibrator, "sampling_rate", 1.0) != 1.0:
            problem = "has a sampling_rate, and label 0 of a class against others stands for several classes"
            raise InputError(problem, "leave it out", argument="calibrator")
        drawn = {"seed": check_seed(None)} if calibrator.get_params().get("seed", 0) is None else {}
        return BinaryMethod(_copy(calibrator, **drawn), min_points=min_points)
    if n_bins is not None or points_per_bin is None:
        return BinaryMethod(CertifiedCalibration() if n_bins is None else UniformMassBinning(n_bins), min_points=min_points)
    return BinaryMethod(UniformMassBinning(1), check_n_samples(points_per_bin, "points_per_bin"), min_points)


def provenance_of(estimator: Estimator[ModelSet], method: BinaryMethod, **said: Any) -> bytes:
    """The provenance of a set: the configuration of the estimator, with the calibrator, and what is `said`, as it was used."""
    return of_estimator(estimator, calibrator=None if method.points_per_bin is not None else method.calibrator, **said)


def fit_named(
    calibrator: Calibrator, rows: Rows | Source, name: str, told: Told, fall_level: float | None = LEVEL, event: str = ""
) -> BinnedModel:
    """The model of one fit; its errors say whose it was, and its warnings are kept in `told`. The set has the provenance.

    `fall_level` is that of the test for scores of the other class.
    """
    with _named_fit(calibrator, name, told, fall_level, event):
        if isinstance(rows, Source):
            calibrator._fit_source(rows)
        else:
            given = rows.frequencies if rows.weights is None else rows.weights
            calibrator.fit(rows.scores, rows.labels, **({} if given is None else {"sample_weight": given}))
    return calibrator.model_


@contextmanager
def _named_fit(calibrator: Calibrator, name: str, told: Told, fall_level: float | None, event: str) -> Iterator[None]:
    """A fit of `calibrator` inside is one of several: its errors name it, and its warnings are kept in `told`."""
    said: list[str] = []
    asked = {"_told": said, "_fall_level": fall_level, "_event": event, "_in_set": True}
    vars(calibrator).update(asked)
    try:
        yield
    except FastbinError as error:
        raise (error.within(name) if isinstance(error, ArgumentError) else type(error)(f"{name}: {error}")) from error
    finally:  # whoever fits this calibrator again has a model of its own
        for attribute in asked:
            delattr(calibrator, attribute)
    told += [(name, text) for text in said]
