"""The recalibration risk of Sun, Song & Hero 2023: the parts due to miscalibration and to the coarseness of bins.

With scores Z, labels Y, eta(Z) = E[Y | Z] and a calibrator h: the risk R = E[(h - eta)^2] is the sum of the calibration risk
R_cal = E[(h - E[Y | h])^2] and the sharpness risk R_sha = E[(E[Y | h] - eta)^2] (Proposition 1); and the mean squared error is
E[(Y - h)^2] = Var Y - Var E[Y | h] + R_cal (equation (2)). Conditioning is on the *value* of h: bins that share one are one
event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastbin._base.checks import check_count, check_same_length, check_scores
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.frames import check_same_index
from fastbin.assess.samples import Groups, Samples, check_samples, group_samples
from fastbin.assess.squared_error import PairSums
from fastbin.assess.validity import validity_curve


@dataclass(frozen=True)
class RiskDecomposition:
    """A risk and its parts.

    ``risk == calibration_risk + sharpness_risk`` and
    ``mean_squared_error == label_variance - sharpness + calibration_risk``, up to rounding.

    Attributes
    ----------
    risk, calibration_risk, sharpness_risk : float
        R, R_cal and R_sha: distances of h from E[Y | Z], of h from E[Y | h], and of E[Y | h] from E[Y | Z].
    label_variance : float
        Var Y.
    sharpness : float
        Var E[Y | h].
    mean_squared_error : float
        E[(Y - h)^2].
    """

    risk: float
    calibration_risk: float
    sharpness_risk: float
    label_variance: float
    sharpness: float
    mean_squared_error: float


def population_risk(values: Any, masses: Any, label_means: Any, mean_eta_squared: float | None = None) -> RiskDecomposition:
    """The risk of a step function in a known population.

    Parameters
    ----------
    values : array-like of shape (n_bins,)
        h on each bin.
    masses : array-like of shape (n_bins,)
        P(Z in bin); they add up to 1.
    label_means : array-like of shape (n_bins,)
        E[Y | Z in bin]; any number in [0, 1] for a bin of mass 0.
    mean_eta_squared : float, optional
        E[eta(Z)^2], such as a quadrature gives for a known family. By default eta is taken as constant on each bin: the bins
        are the atoms of Z.

    Returns
    -------
    RiskDecomposition

    Raises
    ------
    InputError, InputTypeError
        When a number is outside [0, 1], lengths differ, masses do not add up to 1, or mean_eta_squared is below what the bins
        themselves have.

    Examples
    --------
    >>> risk = population_risk([0.2, 0.2, 0.6, 0.8], [0.25] * 4, [0.1, 0.3, 0.5, 0.9])
    >>> round(risk.risk, 6), round(risk.calibration_risk, 6), round(risk.sharpness_risk, 6)
    (0.01, 0.005, 0.005)
    """
    columns = {"values": values, "masses": masses, "label_means": label_means}
    for name, column in columns.items():
        if np.ndim(column) != 1:  # `check_scores` takes a table of one column, too
            raise InputTypeError(f"must be one-dimensional, got shape {np.shape(column)}", argument=name)
    h, mass, eta = (check_scores(column, name=name).astype(np.float64) for name, column in columns.items())
    check_same_length(values=h, masses=mass, label_means=eta)
    if not abs(float(mass.sum()) - 1.0) <= 1e-9:
        raise InputError(f"masses add up to {float(mass.sum())!r}", "they must add up to 1")
    # Computed from differences, so that no digits cancel where the risk is small.
    levels, level_of = np.unique(h, return_inverse=True)
    level_mass = np.bincount(level_of, mass, len(levels))
    has_mass = level_mass > 0.0
    means = np.divide(np.bincount(level_of, mass * eta, len(levels)), level_mass, out=np.zeros(len(levels)), where=has_mass)
    base = float(np.dot(mass, eta))
    calibration = float(np.dot(level_mass, (levels - means) ** 2))
    sharpness_risk = float(np.dot(mass, (means[level_of] - eta) ** 2))
    if mean_eta_squared is not None:
        of_means = float(np.dot(mass, eta**2))
        within = float(mean_eta_squared) - of_means
        if not within >= -1e-9:
            problem = f"is {mean_eta_squared!r}, below the {of_means!r} that the bins' means have"
            remedy = "it is E[eta^2] over the whole population"
            raise InputError(problem, remedy, argument="mean_eta_squared", value=mean_eta_squared)
        sharpness_risk += max(0.0, within)
    sharp = float(np.dot(level_mass, (means - base) ** 2))
    variance = base * (1.0 - base)
    return RiskDecomposition(
        risk=calibration + sharpness_risk,
        calibration_risk=calibration,
        sharpness_risk=sharpness_risk,
        label_variance=variance,
        sharpness=sharp,
        mean_squared_error=variance - sharp + calibration,
    )


@dataclass(frozen=True)
class RiskEstimate:
    """The parts of the risk as test samples show them, made by `estimate_risk`.

    Attributes
    ----------
    plug_in : RiskDecomposition
        With rates in place of means; risks are biased upwards by the noise of the rates.
    calibration_risk, sharpness_risk : float
        With that bias taken out; either can be negative where the truth is near 0.
    n_cells : int
        Cells of samples with one predicted value and neighbouring scores, which stand in for E[Y | Z].
    mass_left_out : float
        Share of the weight in cells and bins of a single sample, which count as zero in the debiased parts.
    """

    plug_in: RiskDecomposition
    calibration_risk: float
    sharpness_risk: float
    n_cells: int
    mass_left_out: float

    @property
    def risk(self) -> float:
        """Debiased: the sum of both parts."""
        return self.calibration_risk + self.sharpness_risk


@shared_docs(validity_curve.__doc__)
def estimate_risk(predictions: Any, labels: Any, scores: Any, *, n_cells: int = 50, sample_weight: Any = None) -> RiskEstimate:
    """Estimate the recalibration risk of a binning, and its parts, from test samples.

    E[Y | Z] is not known; it is replaced by the positive rates of fine cells, each of equal mass in the scores and within one
    predicted value. So what varies inside a cell is missed, and the sharpness risk is, but for noise, a lower bound.

    Parameters
    ----------
    predictions : array-like of shape (n,)
        Of a binning: few distinct values in [0, 1].
    {labels}
    scores : array-like of shape (n,)
        The scores that were calibrated; any finite numbers.
    n_cells : int
        Cells of equal mass over the scores, before they are cut by the predictions. More cells miss less and are noisier.
    sample_weight : array-like of shape (n,), optional
        As in `reliability_table`.

    Returns
    -------
    RiskEstimate

    {Raises}

    Notes
    -----
    The noise of a rate adds its variance to a square; it is subtracted as in Kumar, Liang & Ma 2019, section 5, on both levels.
    O(n log n) time, O(n) memory.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(20000)
    >>> risk = estimate_risk(np.where(scores < 0.5, 0.25, 0.75), rng.random(20000) < scores, scores)
    >>> round(risk.sharpness_risk, 3)  # the variance of a uniform on half of [0, 1] is 1 / 48
    0.021
    """
    n_cells = check_count(n_cells, "n_cells", maximum=2**24)
    check_same_index(predictions=predictions, labels=labels, scores=scores, sample_weight=sample_weight)
    score_column = check_scores(scores, None).astype(np.float64, copy=False)
    samples = check_samples(predictions, labels, sample_weight)
    if sample_weight is not None and len(sample_weight) == len(score_column):
        score_column = score_column[np.asarray(sample_weight) > 0]
    check_same_length(predictions=samples.predictions, scores=score_column)
    by_value = group_samples(samples, "values", 1)
    by_score = group_samples(Samples(score_column, samples.labels, samples.weights), "uniform-mass", n_cells)
    pairs = by_value.bins.astype(np.int64) * by_score.n_bins + by_score.bins
    distinct, cells = np.unique(pairs, return_inverse=True)
    level_of = distinct // by_score.n_bins

    cell_groups = Groups("values", cells.astype(np.int32), np.empty(len(distinct) - 1), None)
    labels_as_terms = samples.labels.astype(np.float64)
    fine = PairSums.of(samples, cell_groups, labels_as_terms)
    coarse = PairSums.of(samples, by_value, labels_as_terms)
    errors = PairSums.of(samples, by_value, samples.labels - samples.predictions)
    masses = fine.weights / fine.weights.sum()
    assert by_value.values is not None
    plug_in = population_risk(by_value.values[level_of], masses, np.minimum(fine.terms / fine.weights, 1.0))
    rise = np.where(fine.is_known, fine.mean_products() - coarse.mean_products()[level_of], 0.0)
    return RiskEstimate(
        plug_in=plug_in,
        calibration_risk=float(np.dot(errors.weights, errors.mean_products()) / errors.weights.sum()),
        sharpness_risk=float(np.dot(masses, rise)),
        n_cells=len(distinct),
        mass_left_out=float(masses[~fine.is_known].sum()),
    )
