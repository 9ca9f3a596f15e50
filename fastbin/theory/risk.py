"""The recalibration risk of Sun, Song & Hero 2023: the parts due to miscalibration and to the coarseness of bins.

With scores Z, labels Y, eta(Z) = E[Y | Z] and a calibrator h: the risk R = E[(h - eta)^2] is the sum of the calibration risk
R_cal = E[(h - E[Y | h])^2] and the sharpness risk R_sha = E[(E[Y | h] - eta)^2] (Proposition 1); and the mean squared error is
E[(Y - h)^2] = Var Y - Var E[Y | h] + R_cal (equation (2)). Conditioning is on the *value* of h: bins that share one are one
event.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import (
    check_alpha,
    check_choice,
    check_count,
    check_n_samples,
    check_number,
    check_same_length,
    check_scores,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin._base.frames import check_same_index
from fastbin.assess.metrics import PairSums
from fastbin.assess.samples import Groups, Samples, check_samples, group_samples
from fastbin.assess.validity import validity_curve
from fastbin.guarantees.intervals import move_odds
from fastbin.guarantees.law import last_where
from fastbin.shift.rates import check_rate


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
        if check_number(mean_eta_squared, "mean_eta_squared") > 1.0 + 1e-9:
            raise InputError(None, "it must be in [0, 1]", argument="mean_eta_squared", value=mean_eta_squared)
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


# ------------------------------------------------------------------------------------------------- bounds


class RiskBound(NamedTuple):
    """Bounds that hold together with the probability asked of `risk_bound`.

    Attributes
    ----------
    calibration : float
        On the calibration risk, E[(h - E[Y | h])^2].
    sharpness : float
        On the sharpness risk, E[(E[Y | h] - E[Y | score])^2].
    """

    calibration: float
    sharpness: float

    @property
    def total(self) -> float:
        """The bound on the recalibration risk: calibration + sharpness."""
        return self.calibration + self.sharpness


def _smoothness(smoothness: Any) -> float:
    value = check_number(smoothness, "smoothness")
    if not (value > 0.0 and math.isfinite(value)):
        remedy = "it is the constant K of Sun, Song & Hero 2023, (A3), so positive and finite"
        raise InputError(None, remedy, argument="smoothness", value=value)
    return value


def _calibration(n: int, n_bins: Any, alpha: float) -> Any:
    per_bin = n // n_bins
    return (np.sqrt(np.log(4.0 * n_bins / alpha) / (2.0 * (per_bin - 1))) + 1.0 / per_bin) ** 2


def risk_bound(n: int, n_bins: int, alpha: float = 0.1, smoothness: float | None = None) -> RiskBound:
    """Bounds on the two parts of the recalibration risk of uniform-mass binning (Sun, Song & Hero 2023, Theorem 1).

    The risk E[(h - E[Y | score])^2] is the calibration risk E[(h - E[Y | h])^2] plus the sharpness risk, what the bins blur.

    Parameters
    ----------
    n : int
        Number of calibration samples, at least 2 n_bins.
    n_bins : int
        Number of bins.
    alpha : float
        Failure probability of both bounds together, from 1e-100 to 1/2 (delta in the paper).
    smoothness : float, optional
        K of assumption (A3): the most by which E[Y | score] rises per unit of probability mass of the score. None: only
        the bound 2 / n_bins is used. K is infinite for some plain distributions, the paper's Gaussian example among them.

    Returns
    -------
    RiskBound
        (calibration, sharpness). The second one also needs n >= c n_bins ln(2 n_bins / alpha) with a constant that the paper
        leaves open (2420 is enough), and E[Y | score] that does not fall.

    Raises
    ------
    GuaranteeError
        When n < 2 n_bins.
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Examples
    --------
    >>> calibration, sharpness = risk_bound(1000, 10, alpha=0.1, smoothness=2)
    >>> round(calibration, 4), round(sharpness, 2)
    (0.0338, 0.32)
    """
    n, n_bins, alpha = check_n_samples(n, "n"), check_count(n_bins, "n_bins"), check_alpha(alpha)
    if n < 2 * n_bins:
        raise GuaranteeError(
            f"n is {n} for {n_bins} bins, and Sun, Song & Hero 2023, Lemma 4 needs n >= 2 n_bins; take at most "
            f"{max(1, n // 2)} bins"
        )
    sharpness = 2.0 / n_bins if smoothness is None else 8.0 * _smoothness(smoothness) ** 2 / n_bins**2
    return RiskBound(float(_calibration(n, n_bins, alpha)), sharpness)


def _zeta(n: int, n_bins: Any, alpha: float, smoothness: float) -> Any:
    return 4.0 * n_bins / n * np.log(4.0 * n_bins / alpha) + 8.0 * smoothness**2 / n_bins**2


@shared_docs(risk_bound.__doc__)
def zeta(n: int, n_bins: int, alpha: float, smoothness: float) -> float:
    """The simplified risk bound of Sun, Song & Hero 2023, section 4.2: (4 B / n) ln(4 B / alpha) + 8 K^2 / B^2.

    Parameters
    ----------
    n, n_bins : int
        Samples and bins; the simplification assumes that n_bins divides n.
    alpha : float
        Failure probability, from 1e-100 to 1/2.
    smoothness : float
        K of assumption (A3), positive.

    Returns
    -------
    float
        An upper bound on ``risk_bound(...).total``.

    Raises
    ------
    {InputError, InputTypeError}

    Examples
    --------
    >>> round(zeta(1000, 8, alpha=0.1, smoothness=1), 4)
    0.3096
    """
    n, n_bins = check_n_samples(n, "n"), check_count(n_bins, "n_bins")
    return float(_zeta(n, n_bins, check_alpha(alpha), _smoothness(smoothness)))


@shared_docs(zeta.__doc__)
def risk_n_bins(n: int, alpha: float, smoothness: float, bound: str = "theorem1") -> int:
    """The number of bins that minimises the risk bound of Sun, Song & Hero 2023.

    It grows like (4 K^2 n / ln(4 B / alpha))^(1/3), equation (10) with its constant. Minimising a bound is not a promise, and
    the bound is far from the risk: about twice as many bins as the risk itself would take in the paper's example.

    Parameters
    ----------
    n : int
        Number of calibration samples, at least 2.
    {alpha}
    {smoothness}
    bound : {"theorem1", "zeta"}
        Minimise ``risk_bound(...).total`` or `zeta`.

    Returns
    -------
    int
        Between 1 and n // 2; the smallest minimiser.

    {Raises}

    Notes
    -----
    Exact: every number of bins is tried for which the calibration part alone does not exceed a bound already reached.
    O(n^(1/3)) time and memory for a fixed K.

    Examples
    --------
    >>> risk_n_bins(1000, 0.1, 1.0), risk_n_bins(1000, 0.1, 1.0, bound="zeta")
    (15, 8)
    """
    n, alpha, smoothness = check_n_samples(n, "n", minimum=2), check_alpha(alpha), _smoothness(smoothness)
    bound = check_choice(bound, "bound", ("theorem1", "zeta"))

    def totals(n_bins: Int64s) -> Float64s:
        if bound == "zeta":
            return np.asarray(_zeta(n, n_bins, alpha, smoothness))
        return np.asarray(_calibration(n, n_bins, alpha) + 8.0 * smoothness**2 / n_bins.astype(np.float64) ** 2)

    # log(4 B / alpha) B / (2 n) is below the calibration part of either bound and grows with B: above the first B where
    # it exceeds the total of some other B no B minimises it.
    guess = min(n // 2, max(1, round((4.0 * smoothness**2 * n / math.log(4.0 / alpha)) ** (1.0 / 3.0))))
    reached = float(totals(np.array([guess]))[0])
    most = last_where(lambda b: math.log(4.0 * b / alpha) * b / (2.0 * n) <= reached, guess, n // 2 + 1)
    candidates = np.arange(1, most + 1, dtype=np.int64)
    return int(candidates[np.argmin(totals(candidates))])


@shared_docs(zeta.__doc__)
def smallest_bin(n: int, n_bins: int, alpha: float = 0.1) -> float:
    """A lower bound on the smallest count when edges come from one part of the data and counts from n samples of another.

    Gupta, Podkopaev & Ramdas 2020, Theorem 5: n / (2 B) - sqrt(n ln(2 B / alpha) / 2), for edges that are quantiles of at least
    c B ln(2 B / alpha) other samples. The constant c is not given (2420 is enough). A negative bound says nothing; it is
    negative unless n > 2 B^2 ln(2 B / alpha). Scheme "umd" needs no such bound: its counts are known in advance.

    Parameters
    ----------
    n : int
        Samples that are counted.
    n_bins : int
        Number of bins.
    {alpha}

    Returns
    -------
    float
        The bound; negative where it says nothing.

    {Raises}

    Examples
    --------
    >>> round(smallest_bin(7840, 10, alpha=0.1), 1), round(smallest_bin(500, 10, alpha=0.1), 1)
    (247.9, -11.4)
    """
    n, n_bins, alpha = check_n_samples(n, "n"), check_count(n_bins, "n_bins"), check_alpha(alpha)
    return n / (2.0 * n_bins) - math.sqrt(n * math.log(2.0 * n_bins / alpha) / 2.0)


# ------------------------------------------------------------------------------------------------- label shift


def shift_probabilities(probabilities: Any, *, source_rate: float, target_rate: float) -> Float64s:
    """Probabilities calibrated at one class rate, as they are at another (Sun, Song & Hero 2023, equation (13)).

    g(z) = w1 z / (w1 z + w0 (1 - z)) with w1 = target_rate / source_rate and w0 = (1 - target_rate) / (1 - source_rate): the
    odds of every value are multiplied by w1 / w0. Correct under label shift only.

    Parameters
    ----------
    probabilities : array-like of float in [0, 1], shape (n,)
        P_source(Y = 1 | score). NaN is refused.
    source_rate, target_rate : float in (0, 1)
        P(Y = 1) at the source and at the target.

    Returns
    -------
    float64 (n,)
        In [0, 1]; 0 and 1 are unchanged.

    Raises
    ------
    InputError, InputTypeError
        When a probability is outside [0, 1], or a rate is not strictly between 0 and 1.

    Examples
    --------
    >>> shift_probabilities([0.0, 0.5, 1.0], source_rate=0.5, target_rate=0.1)
    array([0. , 0.1, 1. ])
    """
    values = check_scores(probabilities, name="probabilities").astype(np.float64)
    p, q = check_rate(source_rate, "source_rate"), check_rate(target_rate, "target_rate")
    return move_odds(values, p, q)


class ShiftRisk(NamedTuple):
    """The two parts of a bound on the target risk E[(h - E[Y | score])^2].

    Attributes
    ----------
    rates : float
        What the estimated class rates cost.
    recalibration : float
        What the source's recalibration costs.
    """

    rates: float
    recalibration: float

    @property
    def total(self) -> float:
        """The bound: the sum of the two."""
        return self.rates + self.recalibration


def label_shift_risk(
    source_risk: float,
    *,
    source_rate: float,
    target_rate: float,
    estimated_source_rate: float | None = None,
    estimated_target_rate: float | None = None,
) -> ShiftRisk:
    """The risk at the target of a recalibration of known risk at the source (Sun, Song & Hero 2023, equation (18)).

    2 {((rho0 - rho1) / (rho0 + rho1))^2 + (w_max^3 / w_min^2) R_source}, where w_k = P_target(k) / P_source(k), rho_k is the
    estimated w_k over the true one, and w_max and w_min are the larger and the smaller of the true w_k.

    Parameters
    ----------
    source_risk : float
        R_source, not negative.
    source_rate, target_rate : float in (0, 1)
        The true P(Y = 1).
    estimated_source_rate, estimated_target_rate : float in (0, 1), optional
        The rates that the map used; by default the true ones, and then the first term is 0.

    Returns
    -------
    ShiftRisk
        (rates, recalibration). Above 1 it says nothing, as a risk is at most 1 anyway.

    Raises
    ------
    InputError, InputTypeError
        When a rate is not strictly between 0 and 1, or the risk negative.

    Examples
    --------
    >>> risk = label_shift_risk(0.001, source_rate=0.5, target_rate=0.1, estimated_target_rate=0.12)
    >>> round(risk.rates, 4), round(risk.recalibration, 4)
    (0.0208, 0.2916)
    """
    if not (check_number(source_risk, "source_risk") >= 0.0 and math.isfinite(source_risk)):
        raise InputError(None, "a risk is finite and not negative", argument="source_risk", value=source_risk)
    p, q = check_rate(source_rate, "source_rate"), check_rate(target_rate, "target_rate")
    p_used = p if estimated_source_rate is None else check_rate(estimated_source_rate, "estimated_source_rate")
    q_used = q if estimated_target_rate is None else check_rate(estimated_target_rate, "estimated_target_rate")
    rho1, rho0 = (q_used / p_used) / (q / p), ((1.0 - q_used) / (1.0 - p_used)) / ((1.0 - q) / (1.0 - p))
    return ShiftRisk(2.0 * ((rho0 - rho1) / (rho0 + rho1)) ** 2, 2.0 * _spread(p, q) * source_risk)


def label_shift_risk_bound(
    n_source: int,
    n_target: int,
    n_bins: int,
    *,
    source_rate: float,
    target_rate: float,
    alpha: float = 0.1,
    smoothness: float | None = None,
) -> ShiftRisk:
    """A bound on the risk of the composite estimator before data are seen (Sun, Song & Hero 2023, Theorem 2, equation (19)).

    2 (w_max^3 / w_min^2) {risk bound of Theorem 1 at alpha / 2} + 54 max(1 / (p_min n_source), 1 / (q_min n_target))
    ln(16 / alpha), where p_min and q_min are the rates of the rarer label at source and target.

    Parameters
    ----------
    n_source, n_target : int
        Labelled samples of either population.
    n_bins : int
        Bins of the source model (scheme "umb").
    source_rate, target_rate : float in (0, 1)
        The true P(Y = 1).
    alpha : float
        Failure probability, from 1e-100 to 1/2 (delta in the paper).
    smoothness : float, optional
        K of assumption (A3), as in `risk_bound`.

    Returns
    -------
    ShiftRisk
        (rates, recalibration). Usually above 1, which says nothing; it shows how the risk falls with the sample sizes.

    Raises
    ------
    GuaranteeError
        When n_source < (27 / p_min) n_bins ln(4 n_bins / alpha) or n_target < (27 / q_min) ln(16 / alpha). The theorem also
        needs n_source >= c n_bins ln(4 n_bins / alpha) with a constant that it leaves open (2420 is enough).
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Examples
    --------
    >>> bound = label_shift_risk_bound(100_000, 10_000, 46, source_rate=0.5, target_rate=0.1, smoothness=2)
    >>> round(bound.recalibration, 3), round(bound.rates, 3)
    (4.973, 0.274)
    """
    n_source, n_target = check_n_samples(n_source, "n_source"), check_n_samples(n_target, "n_target")
    n_bins, alpha = check_count(n_bins, "n_bins"), check_alpha(alpha)
    p, q = check_rate(source_rate, "source_rate"), check_rate(target_rate, "target_rate")
    p_min, q_min = min(p, 1.0 - p), min(q, 1.0 - q)
    needed = {
        "n_source": (n_source, 27.0 / p_min * n_bins * math.log(4.0 * n_bins / alpha)),
        "n_target": (n_target, 27.0 / q_min * math.log(16.0 / alpha)),
    }
    for name, (given, least) in needed.items():
        if given < least:
            raise GuaranteeError(
                f"{name} is {given}, and Sun, Song & Hero 2023, Theorem 2 needs at least {math.ceil(least)} here; take more "
                "samples" + (" or fewer bins" if name == "n_source" else "")
            )
    rates = 54.0 * max(1.0 / (p_min * n_source), 1.0 / (q_min * n_target)) * math.log(16.0 / alpha)
    source = risk_bound(n_source, n_bins, alpha / 2.0, smoothness)
    return ShiftRisk(rates, 2.0 * _spread(p, q) * source.total)


def _spread(source_rate: float, target_rate: float) -> float:
    """w_max^3 / w_min^2."""
    weights = target_rate / source_rate, (1.0 - target_rate) / (1.0 - source_rate)
    return float(max(weights) ** 3 / min(weights) ** 2)
