"""The binary calibrator behind every cell: how many samples and bins, and one fit of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Int64s
from fastbin._base.checks import (
    UNIT,
    as_scores,
    check_count,
    check_labels,
    check_same_length,
    check_sample_weight,
    check_score_range,
    check_scores,
    check_seed,
    compare_labels,
)
from fastbin._base.errors import ArgumentError, FastbinError, InputError, InputTypeError
from fastbin._base.suspicions import LEVEL
from fastbin._fit.calibrator import Calibrator, Estimator
from fastbin._fit.rows import Rows
from fastbin._fit.segments import SegmentRule
from fastbin._fit.tally import squares_of
from fastbin._model.provenance import of_estimator
from fastbin.binning.certified import CertifiedCalibration
from fastbin.binning.uniform_mass import UniformMassBinning
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

Told = list[tuple[str, str]]  # which fit, and its warning


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
    label_array = check_labels(compare_labels(given.labels, given.positive))
    weights = check_sample_weight(given.sample_weight)
    if check_same_length(scores=score_array, labels=label_array, **others, sample_weight=weights) == 0:
        raise InputError("scores is empty; a calibrator needs samples")
    score_range = getattr(calibrator, "score_range", UNIT)
    if weights is None or weights.dtype.kind != "f":
        return Rows(check_scores(score_array, score_range), label_array, weights, score_range)
    squares_of(weights)
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
    """The calibrator of every cell, or uniform-mass bins whose number follows from the samples of a cell.

    Parameters
    ----------
    calibrator : Calibrator
        As it is configured for cells that are not thin.
    points_per_bin : int or None
        With it, a cell of n samples gets n // points_per_bin bins, at least one.
    min_points : int
        What a cell must have for all bins that were asked for. A pool that has less gets bins in proportion: bins of a few
        samples would widen the promise about all cells, as that is about the widest.
    """

    calibrator: Calibrator
    points_per_bin: int | None = None
    min_points: int = 1

    @property
    def least(self) -> int:
        """The samples that a cell needs for what was asked."""
        return self.calibrator._least_samples() if self.points_per_bin is None else 1

    @property
    def needed(self) -> int:
        """The samples with which a cell gets what was asked."""
        return max(self.min_points, self.least)

    @cached_property
    def rule(self) -> SegmentRule | None:
        """How all cells are fitted in one call, where they can be."""
        given = self.calibrator
        if type(given) is not UniformMassBinning or given.scheme not in ("umd", "ze") or given.ties != "whole":
            return None
        score_range = check_score_range(given.score_range)
        if given.delta > 0.0 or given.edges_share < 1.0 or score_range is None or score_range[0] < 0.0:
            return None
        seed = check_seed(given.seed)
        return SegmentRule(given.n_bins, given.scheme, seed, score_range, given.out_of_range, given.monotone)

    def bins_for(self, n_samples: Int64s) -> Int64s:
        """The bins of cells of so many samples under `rule`; as `of` gives them."""
        assert self.rule is not None
        if self.points_per_bin is None:
            return self.rule.bins_for(n_samples, self.needed)
        return np.maximum(1, np.minimum(n_samples // self.points_per_bin, (n_samples + 1) // 2))

    def of(self, n_samples: int) -> Calibrator:
        """The calibrator of a cell: with what was asked where there are samples enough, else with bins in proportion."""
        if self.points_per_bin is not None:
            return _copy(self.calibrator, n_bins=int(self.bins_for(np.array([n_samples]))[0]))
        asked = self.calibrator.get_params().get("n_bins")
        if n_samples >= self.needed or not isinstance(asked, int):
            return _copy(self.calibrator)
        low, high = 1, max(1, asked * n_samples // self.needed)
        while low < high:  # and for which they are enough
            middle = (low + high + 1) // 2
            enough = _copy(self.calibrator, n_bins=middle)._least_samples() <= n_samples
            low, high = (middle, high) if enough else (low, middle - 1)
        return _copy(self.calibrator, n_bins=low)


def _copy(calibrator: Calibrator, **changes: Any) -> Calibrator:
    return type(calibrator)(**{**calibrator.get_params(), **changes})


def binary_method(calibrator: Any, *, n_bins: Any = None, points_per_bin: Any = None, min_points: Any = 1) -> BinaryMethod:
    """What a user asked for, checked: a calibrator, or a number of bins, or else points per bin where there is such a rule."""
    min_points = check_count(min_points, "min_points")
    if calibrator is not None:
        if not isinstance(calibrator, Calibrator):
            what = (
                f"the class {calibrator.__name__}" if isinstance(calibrator, type) else f"of type {type(calibrator).__name__}"
            )
            raise InputTypeError(f"calibrator is {what}; pass a binary calibrator such as UniformMassBinning(10)")
        if n_bins is not None:
            problem = f"is {n_bins!r}, and calibrator has its own"
            raise InputError(problem, "give one of the two", argument="n_bins", value=n_bins)
        calibrator._least_samples()  # refuses what cannot be used
        drawn = {"seed": check_seed(None)} if calibrator.get_params().get("seed", 0) is None else {}
        return BinaryMethod(_copy(calibrator, **drawn), min_points=min_points)
    if n_bins is not None or points_per_bin is None:
        return BinaryMethod(CertifiedCalibration() if n_bins is None else UniformMassBinning(n_bins), min_points=min_points)
    return BinaryMethod(UniformMassBinning(1), check_count(points_per_bin, "points_per_bin"), min_points)


def provenance_of(estimator: Estimator[ModelSet], method: BinaryMethod) -> bytes:
    """The provenance of a set: the configuration of the estimator, with the calibrator that was used."""
    return of_estimator(estimator, calibrator=None if method.points_per_bin is not None else method.calibrator)


def fit_named(
    calibrator: Calibrator, rows: Rows, name: str, told: Told, fall_level: float | None = LEVEL, event: str = ""
) -> BinnedModel:
    """The model of one fit; its errors say whose it was, and its warnings are kept in `told`. The set has the provenance.

    `fall_level` is that of the test for scores of the other class.
    """
    given = rows.frequencies if rows.weights is None else rows.weights
    weights = {} if given is None else {"sample_weight": given}

    def fit() -> BinnedModel:
        return calibrator.fit(rows.scores, rows.labels, **weights).model_

    return named(calibrator, fit, name, told, fall_level, event)


def named(
    calibrator: Calibrator, fit: Callable[[], BinnedModel], name: str, told: Told, fall_level: float | None = LEVEL,
    event: str = "",
) -> BinnedModel:  # fmt: skip
    """The same for any way to fit this calibrator."""
    calibrator._told, calibrator._fall_level = [], fall_level
    calibrator._event, calibrator._in_set = event, True
    try:
        model = fit()
    except FastbinError as error:
        raise (error.within(name) if isinstance(error, ArgumentError) else type(error)(f"{name}: {error}")) from error
    told += [(name, text) for text in calibrator._told]
    return model
