"""How good predictions are on test samples: the numbers and tables of one predictor, and what was left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin import assess
from fastbin._errors import InputError
from fastbin._typing import Array, Bools, Float64s, Int64s
from fastbin.assess.samples import Samples

BRIER_PARTS = ("calibration", "sharpness", "uncertainty")


@dataclass(frozen=True, eq=False)
class Scorecard:
    """How good predictions are on test samples; part of an `Assessment`.

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
    """

    name: str
    n_values: int
    table: assess.ReliabilityTable
    curve: assess.ValidityCurve
    ece: float
    max_gap: float
    gap_90: float
    squared_ece: assess.SquaredEce | None
    brier: assess.BrierDecomposition
    log_loss: float
    roc_auc: float
    ece_by_bin: float | None = None

    @classmethod
    def of(
        cls, name: str, predictions: Any, samples: Samples, alpha: float, n_bins: int, evidence_bins: Int64s | None = None
    ) -> Scorecard:
        """The numbers on one predictor; `evidence_bins` are those of the samples in a model of two resolutions."""
        labels, weights = samples.labels, {"sample_weight": samples.weights}
        options: dict[str, Any] = {"n_bins": n_bins, **weights}
        table = assess.reliability_table(predictions, labels, alpha=alpha, **options)
        # The many values of a model of two resolutions have few samples each: compared one by one, they would show noise.
        grouping = "auto" if evidence_bins is None else "uniform-mass"
        curve = assess.validity_curve(predictions, labels, grouping=grouping, **options)
        try:
            squared = assess.squared_ece(predictions, labels, alpha=alpha, **options)
        except InputError:  # the input is valid, as the table shows, so every bin holds a single sample
            squared = None
        return cls(
            name=name,
            n_values=len(np.unique(np.asarray(predictions))),
            table=table,
            curve=curve,
            ece=table.ece(),
            max_gap=table.ece(math.inf),
            gap_90=curve.epsilon_at(0.9),
            squared_ece=squared,
            brier=assess.brier_decomposition(predictions, labels, **options),
            log_loss=assess.log_loss(predictions, labels, **weights),
            roc_auc=assess.roc_auc(predictions, labels, **weights),
            ece_by_bin=None if evidence_bins is None else _error_by_bin(evidence_bins, predictions, samples),
        )

    def numbers(self) -> dict[str, str]:
        """What to print: the numbers that matter, by name, rounded."""
        squared = interval = "unknown"
        if self.squared_ece is not None:
            squared = f"{self.squared_ece.estimate:.5f}"
            interval = "{:.5f} to {:.5f}".format(*self.squared_ece.interval)
        errors = {"expected calibration error": f"{self.ece:.4f}"}
        if self.ece_by_bin is not None:
            errors = {
                "expected calibration error by evidence bin (certified)": f"{self.ece_by_bin:.4f}",
                "expected calibration error in bins of the values (not certified)": f"{self.ece:.4f}",
            }
        return {
            **errors,
            "90 % of the samples have a gap up to": f"{self.gap_90:.4f}",
            "largest gap of a bin": f"{self.max_gap:.4f}",
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
            **({} if self.ece_by_bin is None else {"ece_by_bin": self.ece_by_bin}),
            "max_gap": self.max_gap,
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


def _error_by_bin(bins: Int64s, predictions: Float64s, samples: Samples) -> float:
    """The share of each bin times the distance of its average prediction and its rate, summed."""
    weights = samples.row_weights
    gaps = np.bincount(bins, weights * (predictions - samples.labels))
    return float(np.abs(gaps).sum() / weights.sum())


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
