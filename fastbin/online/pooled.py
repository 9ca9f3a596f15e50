"""Evidence that is pooled over bins, and evidence that begins again: the faster half of a monitor (fastbin, Theorem F26).

Both are products of factors over labels. For an alternative q of a bin with tolerated interval [l, u],

    f(y) = (q / near)^y ((1 - q) / (1 - near))^(1 - y),      near = u if q > u, l if q < l,      f = 1 in between,

whose expectation is at most 1 under every tolerated rate. The pooled half moves all bins together: q = sigmoid(a logit h + c)
for the served values h and pairs (a, c) of a grid. Its logarithms are rounded down to multiples of a power of two, so that sums
of them are exact: evidence depends neither on the order of labels nor on batches, to the last bit. Smaller factors are valid.

The evidence of a later start looks at the outcomes from there on. Each bin's own evidence is then the mean of such products
over a fixed table of alternatives, which costs a tenth of the integral that the first start keeps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fastbin._base.array_types import Float64s, Int32s, Int64s
from fastbin._base.dependencies import needed_for
from fastbin._core.score import evidence_in_counts, evidence_of_starts, follow_starts

# Slopes and shifts of the log odds: over- and underconfidence, and rates that move together.
GRID = np.array(
    [(a, 0.0) for a in (0.5, 0.7, 0.85, 1.18, 1.43, 2.0)] + [(1.0, c) for c in (-1.0, -0.5, -0.25, -0.12, 0.12, 0.25, 0.5, 1.0)]
)

# Sums of multiples of this are exact in doubles up to 2^33. At most so much evidence is lost with a label.
QUANTUM = 2.0**-20

# Evidence beyond e^600 counts as e^600: any alarm comes long before, and sums do not overflow.
MOST_LOG_E = 600.0

# Alternatives of a bin on either side of what it tolerates, for later starts.
N_ALTERNATIVES = 12

# Outcomes between two starts, and how many later ones are kept.
SPACING = 1000
MOST_STARTS = 8

# The share of the first start. That at outcome 1000 j has 1 / (2 (j + 1) (j + 2)), j = 1, 2, ...: a quarter in all. With a half
# for the first, drift that is there from the beginning would be found a tenth later.
FIRST_SHARE = 0.75


def share_left(at: int) -> float:
    """The share of the starts after outcome `at`, which is not spent yet: the sum of 1 / (2 (j + 1) (j + 2)) over them."""
    return 2.0 * (1.0 - FIRST_SHARE) / (at // SPACING + 2)


def until_next(number: int) -> int:
    """The outcomes after `number` until the evidence begins again."""
    return SPACING - number % SPACING


class Factors:
    """The logarithms of all factors of a monitor.

    Parameters
    ----------
    tolerated : float64 (n_bins, 2)
    served : float64 (n_bins,)
        What the bins serve, or the average of it.
    grid : float64 (n_pairs, 2)
    class_bins : int64 (n_classes,)
        How many bins are pooled together, one class after the other. An outcome counts once in each class.
    """

    def __init__(self, tolerated: Float64s, served: Float64s, grid: Float64s, class_bins: Int64s) -> None:
        self.grid, self.class_bins = grid, class_bins
        self.class_of_bin = np.repeat(np.arange(len(class_bins), dtype=np.int32), class_bins)
        self.own = _own_factors(tolerated)
        self.pooled = _pooled_factors(tolerated, served, grid)

    @property
    def n_classes(self) -> int:
        return len(self.class_bins)

    def log_pooled(self, ones: Int64s, zeros: Int64s) -> Float64s:
        """(n_starts, n_classes n_pairs): ln of each pair's product over the labels counted in (n_starts, n_bins). Exact."""
        products = ones[..., np.newaxis] * self.pooled[:, 1] + zeros[..., np.newaxis] * self.pooled[:, 0]
        sums: Float64s = np.add.reduceat(products, np.cumsum(self.class_bins) - self.class_bins, axis=1)
        return sums.reshape(len(ones), -1)


def _log_ratios(log_q: Float64s, log_rest: Float64s, near: Float64s) -> Float64s:
    """(n_bins, 2, n): the logarithms of the factors of label 0 and of label 1, for limits in (0, 1)."""
    return np.stack([log_rest - np.log1p(-near), log_q - np.log(near)], axis=1)


def _own_factors(tolerated: Float64s) -> Float64s:
    """(n_bins, 2, 2 N_ALTERNATIVES): alternatives on both sides; where one side has none, those of the other twice.

    With q = sin(t)^2 Jeffreys' prior is uniform in t; squares of even steps put more of the alternatives next to the limit.
    """
    steps = ((np.arange(N_ALTERNATIVES) + 0.5) / N_ALTERNATIVES) ** 2
    sides = []
    for limit, is_above in ((tolerated[:, 0], False), (tolerated[:, 1], True)):
        near = np.where((limit > 0.0) & (limit < 1.0), limit, 0.5)[:, np.newaxis]
        # The angle of the limit from the end that the alternatives reach to.
        room = np.arctan2(np.sqrt(1.0 - near), np.sqrt(near)) if is_above else np.arctan2(np.sqrt(near), np.sqrt(1.0 - near))
        left = room * (1.0 - steps)
        log_sine, log_cosine = 2.0 * np.log(np.sin(left)), 2.0 * np.log(np.cos(left))
        sides.append(_log_ratios(log_cosine, log_sine, near) if is_above else _log_ratios(log_sine, log_cosine, near))
    has_below, has_above = (((limit > 0.0) & (limit < 1.0))[:, np.newaxis, np.newaxis] for limit in tolerated.T)
    below, above = sides
    one_side = np.where(has_above, above, np.where(has_below, below, 0.0))
    factors = np.concatenate([np.where(has_below, below, one_side), np.where(has_above, above, one_side)], axis=2)
    return np.ascontiguousarray(factors)


def _pooled_factors(tolerated: Float64s, served: Float64s, grid: Float64s) -> Float64s:
    """(n_bins, 2, n_pairs), in multiples of QUANTUM; bins that serve 0 or 1 cannot move, and have factors of 1."""
    with needed_for("monitors", extra="fit"):
        from scipy.special import expit, log_expit, logit
    can_move = ((served > 0.0) & (served < 1.0))[:, np.newaxis]
    log_odds = grid[:, 0] * logit(np.where(can_move, served[:, np.newaxis], 0.5)) + grid[:, 1]
    q, low, high = expit(log_odds), tolerated[:, :1], tolerated[:, 1:]
    near = np.where(q > high, high, low)
    has_factor = can_move & ((q > high) | (q < low)) & (near > 0.0) & (near < 1.0)
    ratios = _log_ratios(log_expit(log_odds), log_expit(-log_odds), np.where(has_factor, near, 0.5))
    has_factor &= (ratios[:, 1] > 0.0) == (q > high)  # else q has underflown, and lies elsewhere
    return np.ascontiguousarray(np.where(has_factor[:, np.newaxis], np.floor(ratios / QUANTUM) * QUANTUM, 0.0))


@dataclass
class Starts:
    """The starts of the evidence: what was counted before each later one, and what they show now.

    The first start is outcome 0. `pooled` has it in its first row, the other arrays have the later ones alone.
    """

    factors: Factors
    at: Int64s  # outcomes before each
    weights: Float64s
    counts: Int64s  # (n_starts, n_bins), before each
    ones: Int64s
    own: Float64s  # (n_starts, n_bins): each bin's evidence since each later start
    log_pooled: Float64s  # (1 + n_starts, n_classes n_pairs)

    @classmethod
    def over(
        cls, factors: Factors, counts: Int64s, ones: Int64s, at: Int64s, weights: Float64s, before: Int64s, ones_before: Int64s
    ) -> Starts:
        """The starts `at` these outcomes, after what has been counted by now."""
        starts = cls(factors, at, weights, before, ones_before, np.empty((0, 0)), np.empty((0, 0)))
        starts.look_at_counts(counts, ones)
        return starts

    @classmethod
    def first(cls, factors: Factors) -> Starts:
        """The first start alone, before any outcome."""
        nothing = np.zeros(len(factors.own), np.int64)
        none = np.zeros((0, len(nothing)), np.int64)
        return cls.over(factors, nothing, nothing, np.zeros(0, np.int64), np.zeros(0), none, none)

    def look_at_counts(self, counts: Int64s, ones: Int64s) -> None:
        """Compute all evidence from what has been counted by now."""
        since, ones_since = counts - self.counts, ones - self.ones
        self.own = evidence_in_counts(self.factors.own, since, ones_since)
        all_ones, all_since = np.vstack([ones, ones_since]), np.vstack([counts, since])
        self.log_pooled = self.factors.log_pooled(all_ones, all_since - all_ones)

    def follow(self, bins: Int32s, labels: Int64s, counts: Int64s, ones: Int64s) -> Float64s:
        """The evidence after each outcome of a block within which nothing begins, but for the bins' own of the first start.

        `counts` and `ones` are those before the block. O(rows (n_bins + n_pairs) n_starts), some five nanoseconds each.
        """
        own, log_pooled = self.own.copy(), self.log_pooled.copy()
        found = follow_starts(
            bins, labels, self.factors.own, self.factors.pooled, self.factors.class_of_bin, self.factors.n_classes,
            counts - self.counts, ones - self.ones, own, log_pooled, self._halves,
        )  # fmt: skip
        self.own, self.log_pooled = own, log_pooled
        return found

    def log_total(self, log_means: Float64s, others: Float64s | None = None) -> Float64s:
        """ln of all evidence, given that of the bins' own since the first start, and what `follow` has found; else: now."""
        if others is None:
            # One after the other, as `follow` adds them.
            others = np.cumsum(self._halves * evidence_of_starts(self.own, self.log_pooled))[-1:]
        first = self._halves[0] * np.exp(np.minimum(log_means, MOST_LOG_E))
        beyond = log_means + math.log(self._halves[0])  # of which a double may hold the logarithm alone
        return np.where(log_means > MOST_LOG_E, beyond, np.log(self._left + first + others))

    @property
    def _halves(self) -> Float64s:
        """Half the share of each start, the first among them: the weight of the bins' own evidence, and of the pooled."""
        return 0.5 * np.append(FIRST_SHARE, self.weights)

    @property
    def _left(self) -> float:
        """The share that waits for the starts to come."""
        return share_left(int(self.at[-1]) if len(self.at) else 0)

    def log_each(self, log_mean: float) -> Float64s:
        """(1 + n_starts,): ln of the share of each start times its evidence; `log_mean` is as in `log_total`."""
        with np.errstate(divide="ignore"):  # evidence that doubles do not hold is 0
            each = np.log(evidence_of_starts(self.own, self.log_pooled))
        each[0] = np.logaddexp(each[0], log_mean)
        return each + np.log(self._halves)

    def best(self, log_mean: float, n_outcomes: int) -> tuple[int, float, float]:
        """The start that has most of the evidence now: its number, 0 for the first; its share of alpha; ln of its evidence.

        The later starts together have one alpha for what is said of them, besides that for the first: by their shares. One that
        has seen no outcome yet has no evidence.
        """
        each = self.log_each(log_mean)
        each[1:][self.at == n_outcomes] = -math.inf
        best = int(np.argmax(each))
        share = 2.0 * float(self._halves[best])
        return best, 1.0 if best == 0 else share / (1.0 - FIRST_SHARE), float(each[best]) - math.log(share)

    def begin_again(self, counts: Int64s, ones: Int64s, number: int) -> None:
        """Begin at outcome `number` if a multiple of SPACING has been reached since the last start; the weakest makes place."""
        last = int(self.at[-1]) if len(self.at) else 0
        if number // SPACING == last // SPACING:
            return
        kept = np.ones(len(self.at), np.bool_)
        if len(self.at) >= MOST_STARTS:
            kept[np.argmin(self.log_each(0.0)[1:])] = False
        self.at = np.append(self.at[kept], number)
        self.weights = np.append(self.weights[kept], share_left(last) - share_left(number))
        self.counts, self.ones = np.vstack([self.counts[kept], counts]), np.vstack([self.ones[kept], ones])
        self.own = np.vstack([self.own[kept], np.ones(len(counts))])
        again = np.zeros((1, self.log_pooled.shape[1]))
        self.log_pooled = np.vstack([self.log_pooled[:1], self.log_pooled[1:][kept], again])
