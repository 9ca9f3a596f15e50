"""Performance without labels: the twin of fastbin.decide.performance, cell by cell, from the statement of Theorem F22.

Cells are given as lists, the lowest first. Ends of Chernoff's bound are roots found by SciPy, and those of each metric the
least and the greatest over a grid of numbers of true positives and false negatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from scipy.optimize import brentq

Ends = tuple[float, float]


def divergence(mean: float, p: float) -> float:
    """KL(mean || p)."""
    terms = ((mean, p), (1 - mean, 1 - p))
    return sum(part * math.log(part / of) for part, of in terms if part > 0)


def chernoff(mean: float, size: float, logarithm: float) -> Ends:
    """All p with size KL(mean || p) <= logarithm."""

    def excess(p: float) -> float:
        return size * divergence(mean, p) - logarithm

    tiny = 1e-15
    lower = brentq(excess, tiny, mean, xtol=1e-14) if mean > tiny and excess(tiny) > 0 else 0.0
    upper = brentq(excess, mean, 1 - tiny, xtol=1e-14) if mean < 1 - tiny and excess(1 - tiny) > 0 else 1.0
    return lower, upper


def ones_among(
    rows: Sequence[int],
    samples: Sequence[int],
    least: Sequence[float],
    most: Sequence[float],
    tails: int,
    alpha: float,
    about: str,
) -> Ends:
    """Bounds for the number of label 1 among the rows of some cells; the mean label of each lies between `least` and `most`."""
    known = [cell for cell, n in enumerate(samples) if n > 0 and rows[cell] > 0]
    total = sum(rows[cell] for cell in known)
    unknown = sum(rows) - total
    if total == 0:
        return 0.0, float(unknown)
    weights = {cell: rows[cell] / total for cell in known}
    low, high = sum(weights[cell] * least[cell] for cell in known), sum(weights[cell] * most[cell] for cell in known)
    size = min(samples[cell] / weights[cell] for cell in known)
    squares = sum(weights[cell] ** 2 / samples[cell] for cell in known)
    share = alpha if about == "rates" else 0.1 * alpha
    logarithm = math.log(tails / share)
    hoeffding = math.sqrt(logarithm * squares / 2)
    lower = max(chernoff(low, size, logarithm)[0], low - hoeffding)
    upper = min(chernoff(high, size, logarithm)[1], high + hoeffding)
    if about == "labels":
        logarithm = math.log(tails / (0.9 * alpha))
        variance = max(p * (1 - p) for p in [lower, upper, *([0.5] if lower <= 0.5 <= upper else [])])
        bernstein = math.sqrt(2 * logarithm * variance * (1 / size + 1 / total)) + logarithm / 3 * max(1 / size, 1 / total)
        slack = min(bernstein, math.sqrt(logarithm * (squares + 1 / total) / 2))
        lower, upper = max(0.0, low - slack), min(1.0, high + slack)
    return lower * total, upper * total + unknown


def performance(
    below: Sequence[int], above: Sequence[int], samples: Sequence[int], least: Sequence[float], most: Sequence[float],
    alpha: float, about: str, cost: tuple[float, float], steps: int = 60,
) -> dict[str, Ends]:  # fmt: skip
    """The ends of each metric: `below` and `above` are rows on either side of the threshold, by cell."""
    cells, rows = range(len(samples)), [low + high for low, high in zip(below, above, strict=True)]
    occupied = sum(n > 0 and m > 0 for n, m in zip(samples, rows, strict=True))
    tails = 2 * max(1, 2 * occupied - 1)

    def among(chosen: list[bool]) -> Ends:
        own = [m if take else 0 for m, take in zip(rows, chosen, strict=True)]
        return ones_among(own, samples, least, most, tails, alpha, about)

    first_above = min((cell for cell in cells if above[cell] > 0), default=len(samples))
    last_below = max((cell for cell in cells if below[cell] > 0), default=-1)
    n_low = sum(below[cell] for cell in cells if cell >= first_above)
    n_high = sum(above[cell] for cell in cells if cell <= last_below)
    high, high_and_divided = among([cell > last_below for cell in cells]), among([cell >= first_above for cell in cells])
    low, low_and_divided = among([cell < first_above for cell in cells]), among([cell <= last_below for cell in cells])
    hits = max(high[0], high_and_divided[0] - n_low), min(high_and_divided[1], high[1] + n_high)
    misses = max(low[0], low_and_divided[0] - n_high), min(low_and_divided[1], low[1] + n_low)
    ones, n, n_positive = among([True for _ in cells]), sum(rows), sum(above)
    found: dict[str, list[float]] = {name: [] for name in ("prevalence", "accuracy", "precision", "recall", "f1", "cost")}
    for one, other in product(range(steps + 1), repeat=2):
        a = hits[0] + (hits[1] - hits[0]) * one / steps
        c = misses[0] + (misses[1] - misses[0]) * other / steps
        found["prevalence"].append(min(max((a + c) / n, ones[0] / n), ones[1] / n))
        found["accuracy"].append((a + n - n_positive - c) / n)
        if n_positive:
            found["precision"].append(a / n_positive)
            found["f1"].append(2 * a / (n_positive + a + c))
        if a + c > 0:
            found["recall"].append(a / (a + c))
        found["cost"].append((cost[0] * (n_positive - a) + cost[1] * c) / n)
    return {name: (min(values), max(values)) if values else (math.nan, math.nan) for name, values in found.items()}
