"""The steps of a small sample: one around every calibration score, and more between them at places known in advance.

An edge stands at the middle between neighbouring scores, at each place, and at each edge of an evidence bin. A step that holds
a calibration score is represented by it, any other by its middle; the two outermost steps, of which nobody knows how far they
go, by the doubles next to their edges. With n samples and B bins there are n + 193 + B - 1 steps at most: while these are no
more than 1,000, which n and B alone decide, a model has such steps.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import pairwise

from reference.value_maps import identity_range

ScoreRange = tuple[float, float] | None


def has_fine_steps(n: int, n_bins: int) -> bool:
    return n + 193 + n_bins - 1 <= 1000


def logit_place(k: int) -> float:
    """Place k of 0..192: the probability whose logit is -12 + k / 8, of six digits below 1/2, and mirrored above."""
    if k > 96:
        return 1.0 - logit_place(192 - k)
    return float(f"{1.0 / (1.0 + math.exp(12.0 - k / 8)):.6g}")


def places(scores: Sequence[float], score_range: ScoreRange) -> list[float]:
    """For probabilities equal in the logit; else equal in the score, from half a range below the scores to half above."""
    if identity_range(score_range):
        return [logit_place(k) for k in range(193)]
    low, high = min(scores), max(scores)
    return [low * (1.0 - (k / 96 - 0.5)) + high * (k / 96 - 0.5) for k in range(193)]


def middle(a: float, b: float) -> float:
    """The middle of two doubles, each half rounded; the upper one where they have nothing between them."""
    found = 0.5 * a + 0.5 * b
    return found if found > a else b


def step_edges(scores: Sequence[float], bin_edges: Sequence[float], score_range: ScoreRange) -> list[float]:
    """The edges of all steps, ascending; -0.0 is 0.0."""
    distinct = sorted(set(scores))
    low, high = (-sys.float_info.max, sys.float_info.max) if score_range is None else score_range
    found = {middle(a, b) for a, b in pairwise(distinct)}
    found |= set(places(scores, score_range)) | set(bin_edges)
    return sorted(edge + 0.0 for edge in found if low < edge <= high)


def standing_for(scores: Sequence[float], edges: Sequence[float]) -> list[float]:
    """The score that stands for each step."""
    ends = [-math.inf, *edges, math.inf]
    found = []
    for low, high in pairwise(ends):
        inside = {score for score in scores if low <= score < high}
        if inside:
            (only,) = inside
            found.append(only)
        elif math.isinf(low):
            found.append(math.nextafter(high, -math.inf))
        elif math.isinf(high):
            found.append(low)
        else:
            between = 0.5 * low + 0.5 * high
            found.append(between if low < between < high else low)
    return found


def count_steps(scores: Sequence[float], labels: Sequence[int], edges: Sequence[float]) -> tuple[list[int], list[int]]:
    """The samples of each step, and those with label 1."""
    spans = list(pairwise([-math.inf, *edges, math.inf]))
    rows = list(zip(scores, labels, strict=True))
    counts = [sum(low <= score < high for score, _ in rows) for low, high in spans]
    return counts, [sum(label for score, label in rows if low <= score < high) for low, high in spans]
