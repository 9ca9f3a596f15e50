"""How many failures of a promise, among many repetitions, refute it; and how many repetitions there are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom, norm

ALPHA = 0.1  # of the promises, where nothing else is said


def assert_at_most(failures: int, trials: int, alpha: float = ALPHA) -> None:
    """Fails if so many failures would be a one-in-a-million event at failure probability alpha."""
    assert binom.sf(failures - 1, trials, alpha) > 1e-6, f"{failures} of {trials} failed, promised {alpha:g}"


def assert_mean_at_most(values: npt.NDArray[np.float64], limit: float) -> None:
    """Fails if the mean of the repetitions lies above the limit by more than five standard errors."""
    assert values.mean() - 5.0 * values.std() / math.sqrt(len(values)) <= limit, (
        f"mean {values.mean():.5f}, promised {limit:.5f}"
    )


def assert_rate_is(rate: float, ones: int, trials: int) -> None:
    """Fails if so many ones, or so few, would be a one-in-a-million event at this rate."""
    chance = min(binom.sf(ones - 1, trials, rate), binom.cdf(ones, trials, rate))
    assert chance > 5e-7, f"{ones} of {trials} are 1, promised {rate:g}"


def limit(repetitions: int, cells: int, alpha: float = ALPHA) -> float:
    """alpha and three standard errors of so many repetitions, the three corrected (Bonferroni) for the number of cells."""
    return alpha + float(norm.isf(norm.sf(3.0) / cells)) * math.sqrt(alpha * (1.0 - alpha) / repetitions)


def sizes(fast: object, full: object) -> list[Any]:
    """The parameters of a quick test, and of the same test at full size, which is slow."""
    few, many = (size if isinstance(size, tuple) else (size,) for size in (fast, full))
    return [pytest.param(*few, id="fast"), pytest.param(*many, id="full", marks=pytest.mark.slow)]
