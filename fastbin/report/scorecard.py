"""How good predictions are on test samples: the numbers and tables of one predictor, and what was left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin import assess
from fastbin._base.array_types import Array, Bools, Float64s, Int64s
from fastbin._base.errors import InputError
from fastbin.assess.metrics import brier_parts_of, squared_ece_of
from fastbin.assess.reliability import table_of
from fastbin.assess.samples import N_BINS, ChanceLevel, Groups, Samples, group_samples
from fastbin.assess.validity import curve_of

CHANCE = "by chance, if calibrated (95 % point)"
BRIER_PARTS = ("calibration", "sharpness", "uncertainty")


@dataclass(frozen=True, eq=False)
class Scorecard:
    """How good predictions are on test samples; part of an `Assessment`.

    All predictors of an assessment are compared in the same bins of samples: those of the calibrated probabilities, divided as
    `reliability_table` does with grouping "auto".

    Attributes
    ----------
    name : str
    n_values : int
        Distinct predictions.
    table : ReliabilityTable
    curve : ValidityCurve
    ece : float
        Plug-in l_1 calibration error of the table.
    max_gap : float
        The largest distance of a bin's prediction and rate.
    chance_level : ChanceLevel or None
        Both for a perfectly calibrated predictor with these predictions, by chance.
    gap_90 : float
        90 % of the samples lie in bins with a gap of at most this.
    squared_ece : SquaredEce or None
        Debiased; None where every bin holds a single sample.
    brier : BrierDecomposition
    log_loss, roc_auc : float
    ece_by_bin : float or None
        Where the model has two resolutions: the plug-in calibration error on its evidence bins, the mean distance of the
        average prediction and the rate in a bin. It is what the certificate of kind "ece" bounds; `ece`, on bins of the
        values, is not certified.
    chance_by_bin : ChanceLevel or None
        Beside `ece_by_bin`.
    """

    name: str
    n_values: int
    table: assess.ReliabilityTable
    curve: assess.ValidityCurve
    ece: float
    max_gap: float
    chance_level: ChanceLevel | None
    gap_90: float
    squared_ece: assess.SquaredEce | None
    brier: assess.BrierDecomposition
    log_loss: float
    roc_auc: float
    ece_by_bin: float | None = None
    chance_by_bin: ChanceLevel | None = None

    @classmethod
    def of(
        cls, name: str, predictions: Float64s, samples: Samples, alpha: float, bins: ComparedBins, own: bool = False
    ) -> Scorecard:
        """The numbers on one predictor, in the bins of all; `own` for the predictor that these bins are made of."""
        scored = Samples(predictions, samples.labels, samples.weights)
        groups, weights = bins.groups if own else bins.groups.shared(), {"sample_weight": samples.weights}
        table, by_bin = table_of(scored, groups, bins.n_bins, alpha=alpha), None
        if bins.evidence is not None:
            by_bin = table_of(
                scored, Groups("shared", bins.evidence.astype(np.int32), np.empty(int(bins.evidence.max())), None), bins.n_bins
            )
        try:
            squared = squared_ece_of(scored, groups, alpha)
        except InputError:  # the input is valid, as the table shows, so every bin holds a single sample
            squared = None
        curve = curve_of(table)
        return cls(
            name=name,
            n_values=len(np.unique(predictions)),
            table=table,
            curve=curve,
            ece=table.ece(),
            max_gap=table.ece(math.inf),
            chance_level=table.chance_level,
            gap_90=curve.epsilon_at(0.9),
            squared_ece=squared,
            brier=brier_parts_of(scored, groups),
            log_loss=assess.log_loss(predictions, samples.labels, **weights),
            roc_auc=assess.roc_auc(predictions, samples.labels, **weights),
            ece_by_bin=None if by_bin is None else by_bin.ece(),
            chance_by_bin=None if by_bin is None else by_bin.chance_level,
        )

    def numbers(self) -> dict[str, str]:
        """What to print: the numbers that matter, by name, rounded."""
        squared = interval = "unknown"
        if self.squared_ece is not None:
            squared = f"{self.squared_ece.estimate:.5f}"
            interval = "{:.5f} to {:.5f}".format(*self.squared_ece.interval)
        level, by_bin = self.chance_level, self.chance_by_bin
        errors = {"expected calibration error": f"{self.ece:.4f}"}
        if self.ece_by_bin is not None:
            errors = {
                "expected calibration error by evidence bin (certified)": f"{self.ece_by_bin:.4f}",
                f"- by evidence bin, {CHANCE}": _both(by_bin and (by_bin.ece, by_bin.ece_95)),
                "expected calibration error in bins of the values (not certified)": f"{self.ece:.4f}",
            }
        return {
            **errors,
            f"- {CHANCE}": _both(level and (level.ece, level.ece_95)),
            "90 % of the samples have a gap up to": f"{self.gap_90:.4f}",
            "largest gap of a bin": f"{self.max_gap:.4f}",
            f"- largest gap, {CHANCE}": _both(level and (level.max_gap, level.max_gap_95)),
            "debiased squared error": squared,
            "- approximate interval": interval,
            "Brier score": f"{self.brier.score:.4f}",
            **{f"- {part}": f"{getattr(self.brier, part):.4f}" for part in BRIER_PARTS},
            "log loss": "infinite" if math.isinf(self.log_loss) else f"{self.log_loss:.4f}",
            "AUC": "unknown" if math.isnan(self.roc_auc) else f"{self.roc_auc:.4f}",
            "distinct values": f"{self.n_values:,}",
        }

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain dicts, lists, strings and numbers, ready for JSON; what is not finite is None."""
        squared = self.squared_ece
        numbers = {
            "ece": self.ece,
            **_of_chance("ece", self.chance_level and self.chance_level[:2]),
            **({} if self.ece_by_bin is None else {"ece_by_bin": self.ece_by_bin}),
            **({} if self.ece_by_bin is None else _of_chance("ece_by_bin", self.chance_by_bin and self.chance_by_bin[:2])),
            "max_gap": self.max_gap,
            **_of_chance("max_gap", self.chance_level and self.chance_level[2:]),
            "gap_90": self.gap_90,
            "debiased_squared_ece": None if squared is None else squared.estimate,
            "debiased_squared_ece_interval": None if squared is None else list(squared.interval),
            "brier_score": self.brier.score,
            **{f"brier_{part}": getattr(self.brier, part) for part in BRIER_PARTS},
            "log_loss": self.log_loss if math.isfinite(self.log_loss) else None,
            "roc_auc": self.roc_auc if math.isfinite(self.roc_auc) else None,
        }
        return {"name": self.name, "n_values": self.n_values, **numbers, "reliability": self.table.to_dict()}


class LeftOut(NamedTuple):
    """Test rows that cannot be assessed, by reason."""

    missing: int
    """Rows without a score."""
    outside: int
    """Rows whose score is infinite or outside the range that the model accepts."""

    @property
    def total(self) -> int:
        """How many rows were left out, for either reason."""
        return self.missing + self.outside


class ComparedBins(NamedTuple):
    """The bins in which all predictors of an assessment are compared."""

    groups: Groups  # of the calibrated probabilities
    n_bins: int  # asked for, where values are too many to be bins
    evidence: Int64s | None  # of a model of two resolutions: the evidence bin of each sample

    @classmethod
    def of(cls, calibrated: Float64s, samples: Samples, n_bins: int | None, evidence: Int64s | None = None) -> ComparedBins:
        """Bins of the calibrated probabilities. O(n log n)."""
        asked = N_BINS if n_bins is None else n_bins
        return cls(group_samples(Samples(calibrated, samples.labels, samples.weights), "auto", asked), asked, evidence)


def _both(level: tuple[float, float] | None) -> str:
    """The expectation and the 95 % point of an error, in words."""
    return "unknown" if level is None else f"{level[0]:.4f} ({level[1]:.4f})"


def _of_chance(name: str, level: tuple[float, float] | None) -> dict[str, float | None]:
    """The two numbers as members of JSON."""
    mean, point = (None, None) if level is None else level
    return {f"{name}_by_chance": mean, f"{name}_by_chance_95": point}


def rows_kept(scores: Array, low: Any, high: Any) -> tuple[Bools, LeftOut]:
    """Which rows can be scored: those with a finite score between the ends of their model's range; and how many cannot."""
    missing = np.isnan(scores)
    kept = (scores >= low) & (scores <= high) & np.isfinite(scores)
    left_out = LeftOut(int(missing.sum()), int((~kept & ~missing).sum()))
    if not kept.any():
        reasons = f"{left_out.missing} scores are missing, {left_out.outside} outside the range"
        raise InputError(f"no row is left to assess: {reasons}")
    return kept, left_out


def predictions_given(predictions: Any, kept: Bools, name: str) -> Float64s:
    """The predictions of another method, given for all rows, of those that were kept."""
    array = np.asarray(predictions, dtype=np.float64)
    if array.shape != kept.shape:
        raise InputError(f"others[{name!r}] has shape {array.shape}; it must hold one prediction for each of {len(kept)} rows")
    return array[kept]


def n_positive(samples: Samples) -> int:
    """Samples with label 1, repetitions included."""
    return int(np.bincount(samples.labels, samples.frequencies, 2)[1])
