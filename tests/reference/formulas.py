"""The closed formulas that the papers print, with what their proofs give where the two differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def umd_conditional(n: int, n_bins: int, alpha: float, delta: float = 0.0) -> float:
    """Theorem 3, equation (8), and with delta the second radius of Theorem 4, equation (11)."""
    return math.sqrt(math.log(2.0 * n_bins / alpha) / (2.0 * (n // n_bins - 1))) + delta


def ze_conditional(n: int, n_bins: int, alpha: float) -> float:
    """Corollary 1, equation (10)."""
    return umd_conditional(n, n_bins, alpha) + 1.0 / (n // n_bins)


def umd_marginal(n: int, n_bins: int, alpha: float, delta: float = 0.0) -> float:
    """Theorem 4, the first radius of equation (11). Needs distinct values, or conditioning on the bin."""
    return math.sqrt(math.log(2.0 / alpha) / (2.0 * (n // n_bins - 1))) + delta


def expected_ece(n: int, n_bins: int, delta: float = 0.0) -> float:
    """Theorem 4(b): E[l_p ECE] <= sqrt(B / (2 n)) + delta for p in [1, 2]."""
    return math.sqrt(n_bins / (2.0 * n)) + delta


def running_variance(labels: Sequence[int]) -> Fraction:
    """sum (Y_i - mean of the labels before)^2, equation (20) before it is clipped at 1. The mean of no labels, which the
    paper leaves open, is 1/2."""
    total, label_sum = Fraction(0), 0
    for t, label in enumerate(labels):
        mean_before = Fraction(label_sum, t) if t > 0 else Fraction(1, 2)
        total += (label - mean_before) ** 2
        label_sum += label
    return total


def theorem_6_radius(variance: float, n: int, n_bins: int, alpha: float) -> float:
    """Theorem 6, equation (21), at the clipped variance V+ >= 1."""
    return (7.0 * math.sqrt(variance * math.log(1.0 + math.log(variance))) + 5.3 * math.log(6.3 * n_bins / alpha)) / n


def stitched_radius(variance: float, n: int, n_bins: int, alpha: float) -> float:
    """The boundary behind Theorem 6 (Howard, Ramdas, McAuliffe & Sekhon 2021), about half of (21).

    u(V) = sqrt(k1^2 V l + k2^2 l^2) + k2 l with l = 1.4 ln ln(e V) + ln(2 zeta(1.4) B / alpha). The paper prints k2 with a
    division by sqrt 2 instead of 2: safe, and wider.
    """
    k1 = (math.exp(0.25) + math.exp(-0.25)) / math.sqrt(2.0)
    k2 = (math.sqrt(math.e) + 1.0) / 2.0
    level = 1.4 * math.log(math.log(math.e * variance)) + math.log(2.0 * zeta(1.4) * n_bins / alpha)
    return (math.sqrt(k1**2 * variance * level + k2**2 * level**2) + k2 * level) / n


def zeta(s: float) -> float:
    """Riemann's zeta for s > 1, by Euler and Maclaurin: the first terms, the integral of the others, three corrections."""
    m = 1000
    head = math.fsum(i**-s for i in range(1, m))
    return head + m ** (1.0 - s) / (s - 1.0) + 0.5 * m**-s + s * m ** (-s - 1.0) / 12.0


def smallest_bin_bound(n2: int, n_bins: int, alpha: float) -> float:
    """Theorem 5: with probability 1 - alpha every bin of a split sample holds this many of the n2 samples, or says nothing
    where this is negative."""
    return n2 / (2.0 * n_bins) - math.sqrt(n2 * math.log(2.0 * n_bins / alpha) / 2.0)


def recalibration_risk_bound(n: int, n_bins: int, delta: float, smoothness: float | None = None) -> tuple[float, float]:
    """Theorem 1: bounds on (R_cal, R_sha) that hold with probability 1 - delta. R_sha is at most 2 / B, or 8 K^2 / B^2 where
    the K of assumption (A3) is known."""
    per_bin = n // n_bins
    calibration = (math.sqrt(math.log(4.0 * n_bins / delta) / (2.0 * (per_bin - 1))) + 1.0 / per_bin) ** 2
    sharpness = 2.0 / n_bins if smoothness is None else 8.0 * smoothness**2 / n_bins**2
    return calibration, sharpness


def best_n_bins(n: int, delta: float, smoothness: float) -> tuple[int, float]:
    """(B, bound): the number of bins from 1 to n / 2 that minimises the sum of the two bounds of Theorem 1."""
    return min(
        ((n_bins, sum(recalibration_risk_bound(n, n_bins, delta, smoothness))) for n_bins in range(1, n // 2 + 1)),
        key=lambda pair: pair[1],
    )
