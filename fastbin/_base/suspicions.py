"""Rows that can be fitted and are probably not what was meant: told in words, and fitted as they are.

Scores of the other class are looked for by Fisher's exact test of the two halves of the fit's own tally, against labels that
fall as scores rise: so a fit to scores that say nothing warns with probability at most `LEVEL`, whatever the number of samples.
"""

from __future__ import annotations

import math

import numpy as np

from fastbin._base.array_types import Array, Bools, Int64s
from fastbin._base.shown import how_many

LEVEL = 0.01
FALLS = "labels fall as scores rise"
HARD_LABELS = (
    "all scores are exactly 0 or 1: these look like predicted labels, which say nothing of how sure the classifier is; pass "
    "probabilities, such as column 1 of predict_proba"
)
# Fewer scores may be 0 and 1 by chance, or in an example.
MANY = 50
# Up to here the logarithm of a factorial is good to 1e-5.
MOST_EXACT = 2**30


def are_hard_labels(scores: Array) -> bool:
    """Whether there are many scores, and all are exactly 0 or 1. O(1) for most columns of probabilities."""
    return len(scores) >= MANY and are_zeros_and_ones(scores)


def are_zeros_and_ones(scores: Array) -> bool:
    """Whether all of these scores, of which there is one at least, are exactly 0 or 1."""
    if scores[0] not in (0.0, 1.0) or scores[-1] not in (0.0, 1.0):
        return False
    return bool(((scores == 0.0) | (scores == 1.0)).all())


def on_falling(n_lower: int, ones_lower: int, n: int, n_ones: int, level: float = LEVEL) -> str | None:
    """A warning where labels fall from the lower to the upper half of the samples; ``None`` where the test sees nothing.

    Given are the samples of the lower half and those with label 1, and both of all samples.
    """
    n_upper, ones_upper = n - n_lower, n_ones - ones_lower
    if ones_lower * n_upper <= ones_upper * n_lower:  # where one half is empty, too
        return None
    p = fisher_p(n_lower, ones_lower, n, n_ones)
    if p > level:
        return None
    return (
        f"{FALLS}: the share of label 1 is {ones_lower / n_lower:.3g} among the {how_many(n_lower, 'lower score')} and "
        f"{ones_upper / n_upper:.3g} among the {n_upper:,} upper ones (Fisher's exact test, one-sided: p = {p:.2g}); these "
        "look like the scores of the other class: pass the column of predict_proba that stands where the event stands in "
        "classes_, or 1 - scores; fastbin never flips scores"
    )


def fisher_p(n_lower: int, ones_lower: int, n: int, n_ones: int) -> float:
    """The chance that a draw of `n_lower` of n samples, `n_ones` of them with label 1, has at least `ones_lower` of these.

    The exact hypergeometric tail, above the mean of the draw; of more than 2**30 samples Hoeffding's bound on it, by relative
    entropy (W. Hoeffding, 1963, Theorem 1 and section 6). O(sqrt(n)).
    """
    if n > MOST_EXACT:
        share, mean = ones_lower / n_lower, n_ones / n
        gain = share * math.log(share / mean) + (math.log((1.0 - share) / (1.0 - mean)) * (1.0 - share) if share < 1.0 else 0.0)
        return min(1.0, math.exp(-n_lower * max(gain, 0.0)))
    n_zeros = n - n_ones
    term = math.exp(log_choices(n_ones, ones_lower) + log_choices(n_zeros, n_lower - ones_lower) - log_choices(n, n_lower))
    total, k = 0.0, ones_lower
    while term > total * 1e-17:
        total += term
        term *= (n_ones - k) * (n_lower - k) / ((k + 1) * (n_zeros - n_lower + k + 1))
        k += 1
    return min(1.0, total)


def log_choices(n: int, k: int) -> float:
    """The logarithm of the number of ways to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def around_the_median(scores: Array, is_one: Bools, frequencies: Int64s | None = None) -> tuple[Int64s, Int64s]:
    """Counts and ones of the samples below the median score, at it, and above it: bins for a test of halves. O(n)."""
    if frequencies is None:
        middle = np.partition(scores, len(scores) // 2)[len(scores) // 2]
    else:
        order = np.argsort(scores, kind="stable")
        sums = np.cumsum(frequencies[order])
        middle = scores[order][np.searchsorted(sums, sums[-1] // 2, side="right") if sums[-1] else 0]
    bins = (scores >= middle).astype(np.int64) + (scores > middle)
    cells = 2 * bins + is_one
    if frequencies is None:
        table = np.bincount(cells, minlength=6)
    else:
        table = np.zeros(6, np.int64)
        np.add.at(table, cells, frequencies)
    return table[0::2] + table[1::2], table[1::2].copy()
