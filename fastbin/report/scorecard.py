"""One predictor on the test set, in numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastbin._errors import InputError
from fastbin.assess import (
    BrierDecomposition,
    ReliabilityTable,
    SquaredEce,
    ValidityCurve,
    brier_decomposition,
    log_loss,
    reliability_table,
    roc_auc,
    squared_ece,
    validity_curve,
)


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
    """

    name: str
    n_values: int
    table: ReliabilityTable
    curve: ValidityCurve
    ece: float
    max_gap: float
    gap_90: float
    squared_ece: SquaredEce | None
    brier: BrierDecomposition
    log_loss: float
    roc_auc: float

    def numbers(self) -> dict[str, str]:
        """What to print: the numbers that matter, by name, rounded."""
        squared = interval = "unknown"
        if self.squared_ece is not None:
            squared = f"{self.squared_ece.estimate:.5f}"
            interval = "{:.5f} to {:.5f}".format(*self.squared_ece.interval)
        return {
            "expected calibration error": f"{self.ece:.4f}",
            "90 % of the samples have a gap up to": f"{self.gap_90:.4f}",
            "largest gap of a bin": f"{self.max_gap:.4f}",
            "debiased squared error": squared,
            "- approximate interval": interval,
            "Brier score": f"{self.brier.score:.4f}",
            "- calibration": f"{self.brier.calibration:.4f}",
            "- sharpness": f"{self.brier.sharpness:.4f}",
            "- uncertainty": f"{self.brier.uncertainty:.4f}",
            "log loss": "infinite" if math.isinf(self.log_loss) else f"{self.log_loss:.4f}",
            "AUC": "unknown" if math.isnan(self.roc_auc) else f"{self.roc_auc:.4f}",
            "distinct values": f"{self.n_values:,}",
        }

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain dicts, lists, strings and numbers, ready for JSON; what is not finite is None."""
        squared = self.squared_ece
        numbers = {
            "ece": self.ece,
            "max_gap": self.max_gap,
            "gap_90": self.gap_90,
            "debiased_squared_ece": None if squared is None else squared.estimate,
            "debiased_squared_ece_interval": None if squared is None else list(squared.interval),
            "brier_score": self.brier.score,
            "brier_calibration": self.brier.calibration,
            "brier_sharpness": self.brier.sharpness,
            "brier_uncertainty": self.brier.uncertainty,
            "log_loss": self.log_loss if math.isfinite(self.log_loss) else None,
            "roc_auc": self.roc_auc if math.isfinite(self.roc_auc) else None,
        }
        return {"name": self.name, "n_values": self.n_values, **numbers, "reliability": self.table.to_dict()}


def score_predictions(name: str, predictions: Any, labels: Any, alpha: float, **options: Any) -> Scorecard:
    """The numbers on one predictor's probabilities; the options are `n_bins` and `sample_weight` of `reliability_table`."""
    weights = {"sample_weight": options["sample_weight"]}
    table = reliability_table(predictions, labels, alpha=alpha, **options)
    curve = validity_curve(predictions, labels, **options)
    try:
        squared = squared_ece(predictions, labels, alpha=alpha, **options)
    except InputError:  # the input itself has passed just now, so every bin holds a single sample
        squared = None
    return Scorecard(
        name=name,
        n_values=len(np.unique(np.asarray(predictions))),
        table=table,
        curve=curve,
        ece=table.ece(),
        max_gap=table.ece(math.inf),
        gap_90=curve.epsilon_at(0.9),
        squared_ece=squared,
        brier=brier_decomposition(predictions, labels, **options),
        log_loss=log_loss(predictions, labels, **weights),
        roc_auc=roc_auc(predictions, labels, **weights),
    )
