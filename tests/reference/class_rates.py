"""The class rate of a target without labels: the twin of fastbin.guarantees.class_rates, by a scan of rates (Theorem F23)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reference.plans import clopper_pearson


def is_kept(q: float, above: tuple[int, int, int], sizes: tuple[int, int, int], level: float) -> bool:
    """Whether a cut does not contradict the rate q. `above`, `sizes`: source samples of label 1, of label 0, target samples."""
    each = 1 - (1 - 0.1 * level) ** (1 / 3)
    variances = []
    for x, n in zip(above, sizes, strict=True):
        low, high = clopper_pearson(x, n, each)
        variances.append(max([low * (1 - low), high * (1 - high)] + [0.25] * (low <= 0.5 <= high)))
    (t, f, u), (n_ones, n_zeros, n_target) = (x / n for x, n in zip(above, sizes, strict=True)), sizes
    variance = variances[2] / n_target + q**2 * variances[0] / n_ones + (1 - q) ** 2 * variances[1] / n_zeros
    largest = max(1 / n_target, q / n_ones, (1 - q) / n_zeros)
    logarithm = math.log(2 / (0.9 * level))
    return abs(u - q * t - (1 - q) * f) <= math.sqrt(2 * variance * logarithm) + largest * logarithm / 3


def kept_rates(
    ones: Sequence[int], zeros: Sequence[int], target: Sequence[int], alpha: float, places: int = 2000
) -> np.ndarray:
    """The rates, of a grid, that no cut contradicts; the last entry of each argument is the number of all samples."""
    sizes, level = (ones[-1], zeros[-1], target[-1]), alpha / (len(ones) - 1)
    cuts = list(zip(ones[:-1], zeros[:-1], target[:-1], strict=True))
    return np.array([q for q in np.linspace(0, 1, places + 1) if all(is_kept(q, cut, sizes, level) for cut in cuts)])


def moved_odds(p: float, source: float, target: float) -> float:
    """Equation (13) of Sun, Song & Hero 2023, in odds."""
    if p in (0.0, 1.0):
        return p
    odds = p / (1 - p) * target / (1 - target) * (1 - source) / source
    return odds / (1 + odds)


def parts(alpha: float, variances: list[float]) -> list[float]:
    """alpha in proportion to standard errors."""
    errors = [variance**0.5 for variance in variances]
    return [alpha * error / sum(errors) for error in errors]
