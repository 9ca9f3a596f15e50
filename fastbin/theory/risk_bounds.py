"""Bounds on the recalibration risk of uniform-mass binning (Sun, Song & Hero 2023), and the smallest bin of a split sample."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import check_alpha, check_choice, check_count
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError
from fastbin.guarantees.radius import last_where


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
    value = float(smoothness)
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
    n, n_bins, alpha = check_count(n, "n"), check_count(n_bins, "n_bins"), check_alpha(alpha)
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
    n, n_bins = check_count(n, "n"), check_count(n_bins, "n_bins")
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
    n, alpha, smoothness = check_count(n, "n", minimum=2), check_alpha(alpha), _smoothness(smoothness)
    bound = check_choice(bound, "bound", ("theorem1", "zeta"))

    def totals(n_bins: Int64s) -> Float64s:
        if bound == "zeta":
            return np.asarray(_zeta(n, n_bins, alpha, smoothness))
        return np.asarray(_calibration(n, n_bins, alpha) + 8.0 * smoothness**2 / n_bins.astype(np.float64) ** 2)

    # log(4 B / alpha) B / (2 n) is below the calibration part of either bound and grows with B: above the first B where
    # it exceeds the total of some other B there is no minimiser.
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
    n, n_bins, alpha = check_count(n, "n"), check_count(n_bins, "n_bins"), check_alpha(alpha)
    return n / (2.0 * n_bins) - math.sqrt(n * math.log(2.0 * n_bins / alpha) / 2.0)
