"""One binary calibrator for each cell: which cells are thin, what the pool is fitted to, and the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin._calibrator import Calibrator
from fastbin._cells import Key
from fastbin._errors import FastbinError, InputError, InputTypeError
from fastbin._fit.tally import squares_of
from fastbin._frames import check_same_index
from fastbin._scalars import check_count
from fastbin._typing import Array, Int64s, UInt8s
from fastbin._validation import (
    UNIT,
    as_scores,
    check_labels,
    check_same_length,
    check_sample_weight,
    check_scores,
    compare_labels,
)
from fastbin.binning.uniform_mass import UniformMassBinning
from fastbin.model import BinnedModel


class Samples(NamedTuple):
    """Rows whose values are checked, with their positions, so that the fit of a cell meets none to refuse."""

    scores: Array
    labels: UInt8s
    weights: Array | None

    @classmethod
    def of(
        cls, scores: Any, labels: Any, weights: Any, calibrator: Calibrator, *, positive: Any = None, **others: Array
    ) -> Samples:
        """The rows as `calibrator` takes them; `others` are columns that must have their length."""
        check_same_index(scores=scores, labels=labels, sample_weight=weights)
        score_array = as_scores(scores)
        label_array = check_labels(compare_labels(labels, positive))
        weight_array = check_sample_weight(weights)
        if check_same_length(scores=score_array, labels=label_array, **others, sample_weight=weight_array) == 0:
            raise InputError("scores is empty; a calibrator needs samples")
        if weight_array is not None and weight_array.dtype.kind == "f":
            squares_of(weight_array)
        return cls(check_scores(score_array, getattr(calibrator, "score_range", UNIT)), label_array, weight_array)

    def take(self, at: Any) -> Samples:
        return Samples(self.scores[at], self.labels[at], None if self.weights is None else self.weights[at])

    def counts(self, cells: Int64s, n_cells: int) -> Int64s:
        """How many samples each cell has: rows, or the sums of their frequencies."""
        if self.weights is None or self.weights.dtype.kind == "f":
            return np.bincount(cells, minlength=n_cells)
        counts = np.zeros(n_cells, np.int64)
        np.add.at(counts, cells, self.weights)
        return counts


@dataclass(frozen=True)
class BinaryMethod:
    """The calibrator of every cell, or uniform-mass bins whose number follows from the samples of a cell.

    Parameters
    ----------
    calibrator : Calibrator
        As it is configured for cells that are not thin.
    points_per_bin : int or None
        With it, a cell of n samples gets n // points_per_bin bins, at least one.
    """

    calibrator: Calibrator
    points_per_bin: int | None = None

    @property
    def least(self) -> int:
        """The samples that a cell needs for what was asked."""
        return self.calibrator._least_samples() if self.points_per_bin is None else 1

    def of(self, n_samples: int) -> Calibrator:
        """The calibrator of a cell: with what was asked where there are samples enough, else as many bins as they allow."""
        if self.points_per_bin is not None:
            return _copy(self.calibrator, n_bins=max(1, min(n_samples // self.points_per_bin, (n_samples + 1) // 2)))
        if n_samples >= self.least:
            return _copy(self.calibrator)
        low, high = 1, self.calibrator.get_params()["n_bins"]
        while low < high:  # the most bins for which they are enough
            middle = (low + high + 1) // 2
            enough = _copy(self.calibrator, n_bins=middle)._least_samples() <= n_samples
            low, high = (middle, high) if enough else (low, middle - 1)
        return _copy(self.calibrator, n_bins=low)


def _copy(calibrator: Calibrator, **changes: Any) -> Calibrator:
    return type(calibrator)(**{**calibrator.get_params(), **changes})


def binary_method(calibrator: Any, *, n_bins: Any = None, points_per_bin: Any = None) -> BinaryMethod:
    """What a user asked for, checked: a calibrator, or a number of bins, or else points per bin where there is such a rule."""
    if calibrator is not None:
        if not isinstance(calibrator, Calibrator):
            what = (
                f"the class {calibrator.__name__}" if isinstance(calibrator, type) else f"of type {type(calibrator).__name__}"
            )
            raise InputTypeError(f"calibrator is {what}; pass a binary calibrator such as UniformMassBinning(10)")
        if n_bins is not None:
            raise InputError(f"n_bins is {n_bins!r}, and calibrator has its own; give one of the two")
        return BinaryMethod(calibrator)
    if n_bins is not None or points_per_bin is None:
        return BinaryMethod(UniformMassBinning() if n_bins is None else UniformMassBinning(n_bins))
    return BinaryMethod(UniformMassBinning(1), check_count(points_per_bin, "points_per_bin"))


class ThinCells(NamedTuple):
    """Which cells have too few samples for a model of their own, and what is done about them."""

    policy: str  # "pool" or "refuse"
    least: int
    word: str  # what a cell is called in messages

    def find(self, keys: Sequence[Key], counts: Int64s) -> Array:
        """bool (cells,): the cells that go to the pool."""
        thin: Array = counts < self.least
        if self.policy == "refuse" and thin.any():
            first = int(np.argmax(thin))
            raise InputError(
                f"{self.word} {keys[first]!r} has {counts[first]} samples, and a model of its own needs {self.least}; give it "
                "more, take fewer bins or a smaller min_points, or pass thin='pool' for one model of all such cells"
            )
        return thin


class CellModels(NamedTuple):
    """The models of all cells, and what their fits had to say."""

    models: dict[Key, BinnedModel]
    pooled_keys: list[Key]
    pool: BinnedModel | None
    told: list[tuple[str, str]]  # which fit, and its warning

    @property
    def warning(self) -> str | None:
        """The warnings in one."""
        if not self.told:
            return None
        n_fits = len(self.models) + (self.pool is not None)
        first, text = self.told[0]
        return f"{len({name for name, _ in self.told})} of {n_fits} models, the first that of {first}: {text}"


def fit_cells(
    method: BinaryMethod, samples: Samples, cells: Int64s, keys: Sequence[Key], is_pooled: Array, word: str
) -> CellModels:
    """A model for each cell, and one for all samples of those that are pooled.

    Parameters
    ----------
    method : BinaryMethod
    samples : Samples
    cells : int64 (n,)
        The number of the cell of each row, a position in `keys`.
    keys : sequence of keys
    is_pooled : bool (cells,)
    word : str
        What a cell is called in messages.

    Returns
    -------
    CellModels

    Notes
    -----
    O(n log n), and the fits.
    """
    order = np.argsort(cells, kind="stable")
    ends = np.cumsum(np.bincount(cells, minlength=len(keys)))
    counts = samples.counts(cells, len(keys))
    told: list[tuple[str, str]] = []
    models = {}
    for number in np.flatnonzero(~is_pooled).tolist():
        at = order[0 if number == 0 else ends[number - 1] : ends[number]]
        name = f"{word} {keys[number]!r}"
        models[keys[number]] = fit_named(method.of(int(counts[number])), samples.take(at), name, told)
    pooled = np.flatnonzero(is_pooled)
    pool = None
    if len(pooled):
        n_samples = int(counts[pooled].sum())
        calibrator, name = method.of(n_samples), f"the pool of {len(pooled)} cells"
        rows = samples.take(is_pooled[cells])
        pool = fit_named(calibrator, rows, name, told) if n_samples else _without_samples(calibrator)
    return CellModels(models, [keys[number] for number in pooled.tolist()], pool, told)


def fit_named(calibrator: Calibrator, samples: Samples, name: str, told: list[tuple[str, str]]) -> BinnedModel:
    """The model of one fit; its errors say whose it was, and its warnings are kept in `told`."""
    calibrator._told = []
    weights = {} if samples.weights is None else {"sample_weight": samples.weights}
    try:
        model = calibrator.fit(samples.scores, samples.labels, **weights).model_
    except FastbinError as error:
        raise type(error)(f"{name}: {error}") from error
    told += [(name, text) for text in calibrator._told]
    return model


def _without_samples(calibrator: Calibrator) -> BinnedModel:
    """One bin that nothing is known of."""
    return BinnedModel.from_parts(
        edges=[], values=[0.5], counts=[0], label_sums=[0], scheme="explicit",
        score_range=getattr(calibrator, "score_range", UNIT), out_of_range=getattr(calibrator, "out_of_range", "refuse"),
    )  # fmt: skip
