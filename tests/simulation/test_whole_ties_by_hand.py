"""The slow twin of whole ties and of fine values over coarse evidence, on cases small enough to be checked by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from scipy.special import betaincinv

from reference.bounds import binomial_cdf, clopper_pearson, exact_radius, sidak
from reference.hull import epsilon, intervals, one_sided_radius, three_parts
from reference.two_resolutions import beta_quantile, bin_candidates, edge_bound, fine_edges, fine_ranks, inside, step_counts
from reference.uniform_mass import boundary_ranks, uniform_mass
from reference.whole_ties import SCHEMES, WholeBin, WholeTies, chosen_by, is_too_thin, whole_ties

ALPHA = 0.1


def fitted(counts: list[int], ones: list[int], n_bins: int, scheme: str = "umd", draw_seed: int = 0) -> WholeTies:
    """Counts and ones of the scores 0, 1/k, ..., (k - 1)/k."""
    scores = [i / len(counts) for i, count in enumerate(counts) for _ in range(count)]
    labels = [int(j < one) for count, one in zip(counts, ones, strict=True) for j in range(count)]
    return whole_ties(scores, labels, n_bins, scheme, draw=chosen_by(draw_seed))


# ------------------------------------------------------------------------------------------------- the cuts


def test_one_fit_by_hand() -> None:
    # n = 19, ranks 5, 10, 15. Rank 15 stands in the group at .5, samples 12 to 16, and takes four of them; 11 are left. A bin
    # from rank 10 would hold two of them, less than 3/4 of five. Rank 5 stands at .25, samples 5 to 11, and takes one.
    fit = fitted([4, 7, 5, 3], [1, 3, 4, 3], 4)
    assert boundary_ranks(19, 4) == [5, 10, 15]
    assert fit.edges == [0.25, 0.5]
    assert [(b.T, b.x, b.C, b.r) for b in fit.bins] == [(4, 1, 0, 0), (7, 3, 7, 1), (8, 7, 5, 4)]
    assert fit.counts == [4, 6, 7]
    assert fit.label_sums == [1, 3 - fit.bins[1].y, 7 - fit.bins[2].y]
    assert fit.bins[1].f == fit.bins[1].y
    assert 3 <= fit.bins[2].f <= 4  # of five labels, four of them 1, four are chosen
    assert fit.n_tied == 7 + 5
    # Mirrored, ranks 4, 9, 14: the groups up to samples 4 and 11, of which ranks from the top take one and three. Rank 14 would
    # leave three of five.
    fit = fitted([4, 7, 5, 3], [1, 3, 4, 3], 4, "umb")
    assert fit.edges == [0.0, 0.25]
    assert [(b.T, b.x, b.C, b.r) for b in fit.bins] == [(4, 1, 4, 1), (7, 3, 7, 3), (8, 7, 0, 0)]
    assert fit.counts == [4, 7, 8]
    assert fit.n_tied == 4 + 7 + 5


def test_the_lowest_group_may_hold_a_cut() -> None:
    # All scores are equal: rank 15 of 19 takes 15 samples, and no sample lies below. Its bin is the only one, and keeps r.
    for scheme, taken in (("umd", 15), ("umb", 16)):
        fit = fitted([19], [8], 4, scheme)
        assert (fit.edges, [(b.T, b.x, b.C, b.r) for b in fit.bins]) == ([], [(19, 8, 19, taken)])
    # Rank 15 stands at .5 and leaves ten samples, one of them from rank 10 on; rank 5 stands at 0 and takes five of ten.
    fit = fitted([10, 9], [1, 6], 4)
    assert fit.edges == [0.5]
    assert [(b.T, b.r) for b in fit.bins] == [(10, 5), (9, 5)]


def test_three_quarters_are_enough() -> None:
    assert not is_too_thin(below=12, rank=10, next_rank=14)  # 3 of 4
    assert is_too_thin(below=11, rank=10, next_rank=14)
    assert is_too_thin(below=9, rank=10, next_rank=14)
    assert not is_too_thin(below=13, rank=10, next_rank=15)  # 4 of 5
    assert is_too_thin(below=12, rank=10, next_rank=15)


def test_without_ties_the_ranks_are_those_of_the_paper() -> None:
    for n, n_bins in product(range(1, 160), range(1, 30)):
        for scheme in SCHEMES:
            if n >= (n_bins if scheme == "umb" else 2 * n_bins - 1):
                ranks = [n * b // n_bins for b in range(1, n_bins)] if scheme == "umb" else boundary_ranks(n, n_bins)
                top = [n + 1 - k for k in reversed(ranks)] if scheme == "umb" else ranks
                below = n
                for rank, after in reversed(list(zip(top, [*top, n + 1][1:], strict=True))):
                    assert not is_too_thin(below, rank, after)
                    below = rank - 1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_without_ties_the_fit_is_that_of_the_paper(scheme: str) -> None:
    for n, n_bins, seed in ((19, 4, 0), (40, 7, 1), (39, 20, 2), (20, 1, 3)):
        rng = Random(seed)
        scores = [i / n for i in rng.sample(range(n), n)]
        labels = [int(rng.random() < 0.4) for _ in scores]
        fit = whole_ties(scores, labels, n_bins, scheme, draw=chosen_by(seed))
        twin = uniform_mass(scores, labels, n_bins, scheme, "lower" if scheme == "umb" else "upper")
        assert (fit.edges, fit.counts, fit.label_sums) == (twin.edges, twin.counts, twin.label_sums)
        assert fit.values == twin.exact_values
        assert fit.n_tied == twin.n_tied == 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_pattern_of_ties_leaves_samples_in_every_bin(scheme: str) -> None:
    for n in range(1, 10):
        for breaks in product((0, 1), repeat=n - 1):
            level = np.concatenate([[0], np.cumsum(breaks)]) / n
            for n_bins in range(1, (n if scheme == "umb" else (n + 1) // 2) + 1):
                fit = whole_ties(level.tolist(), [i % 2 for i in range(n)], n_bins, scheme, draw=chosen_by(n))
                assert sum(b.T for b in fit.bins) == n
                assert min(fit.counts) >= 1
                for b in fit.bins:
                    assert 0 <= b.r <= b.C <= b.T
                    assert 0 <= b.y <= 1
                    assert b.y <= b.f <= min(b.r, b.x)
                    if scheme == "umd" and b.r > 0:
                        assert b.T >= 2
                        assert b.T - b.r >= 1
                assert [fit.bin_of(s) for s in sorted(set(fit.edges))] == (
                    list(range(len(fit.edges))) if scheme == "umb" else list(range(1, fit.n_bins))
                )


def test_frequencies_are_repeated_rows() -> None:
    scores, labels, weights = [0.1, 0.4, 0.4, 0.9, -0.0, 0.0], [0, 1, 0, 1, 0, 1], [3, 2, 4, 5, 1, 1]
    rows = [(s, y) for s, y, w in zip(scores, labels, weights, strict=True) for _ in range(w)]
    for scheme in SCHEMES:
        fits = [
            whole_ties(scores, labels, 3, scheme, draw=chosen_by(1), weights=weights),
            whole_ties([s for s, _ in rows], [y for _, y in rows], 3, scheme, draw=chosen_by(1)),
        ]
        assert fits[0] == fits[1]
        assert fits[0].n_samples == 16


# ------------------------------------------------------------------------------------------------- the certificate


def by_scipy(b: WholeBin, level: float) -> tuple[float, float]:
    """The hull of both intervals; where r is an eighth of T, at less than the level, and cut by that of three parts."""
    share = (b.r / (b.T + 1)) ** 2 if b.r >= 2 and b.r >= b.T / 8 else 0.0
    tail = (1 - share) * level / 2
    ends = [
        (betaincinv(x, n - x + 1, tail) if x else 0.0, betaincinv(x + 1, n - x, 1 - tail) if x < n else 1.0)
        for x, n in ((b.x, b.T), (b.x - b.f, b.T - b.r))
    ]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    parts = three_parts(b, share * level) if share else (0.0, 1.0)
    return max(low, parts[0]), min(high, parts[1])


def test_the_hull_holds_both_intervals_and_meets_scipy() -> None:
    fit = fitted([4, 7, 5, 3], [1, 3, 4, 3], 4)
    level = 1 - 0.9 ** (0.95 / 3)  # .05 of alpha is for a rest, though there is none
    for b, (low, high) in zip(fit.bins, intervals(fit, ALPHA), strict=True):
        assert (low, high) == pytest.approx(by_scipy(b, level), abs=1e-12)
    values = [float(value) for value in fit.values]
    widest = max(max(high - value, value - low) for value, (low, high) in zip(values, intervals(fit, ALPHA), strict=True))
    assert epsilon(fit, ALPHA) == epsilon(fit, ALPHA, "ece") == widest
    assert epsilon(fit, ALPHA, "marginal") < widest


def test_without_ties_the_certificate_is_that_of_the_paper() -> None:
    fit = fitted([1] * 39, [i % 3 == 0 for i in range(39)], 2)
    level = sidak(ALPHA, 2)
    tally = list(zip(fit.label_sums, fit.counts, strict=True))
    assert intervals(fit, ALPHA) == [clopper_pearson(x, n, level) for x, n in tally]
    assert epsilon(fit, ALPHA, bound="a-priori") == exact_radius(19, level)
    with_boundary = fitted([1] * 39, [i % 3 == 0 for i in range(39)], 2, "umb")
    assert epsilon(with_boundary, ALPHA, bound="a-priori") == exact_radius(18, level) + 1 / 19


def test_the_one_sided_radius_keeps_each_tail() -> None:
    level = 0.2
    for n in (1, 5, 12):
        radius = one_sided_radius(n, level)
        for x in range(1, n + 1):
            for rate in (Fraction(i, 400) for i in range(401)):
                if x / n - rate > radius + 1e-9:
                    assert 1 - binomial_cdf(x - 1, n, rate) <= level / 2 + 1e-9
        assert radius >= exact_radius(n, level) - 1e-12 or n == 1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_promised_before_the_labels_holds_for_all_labels(scheme: str) -> None:
    for ones in product(range(4), range(6), range(4)):
        fit = fitted([3, 5, 3], list(ones), 3, scheme)
        before = [epsilon(fit, 0.2, bound=bound) for bound in ("a-priori", "hoeffding")]
        for (low, high), value in zip(intervals(fit, 0.2), fit.values, strict=True):
            assert low <= value <= high
        assert epsilon(fit, 0.2) <= before[0] + 1e-12 <= before[1] + 1e-9


# ------------------------------------------------------------------------------------------------- fine edges


def test_fine_ranks_depend_on_sizes_alone() -> None:
    assert fine_ranks(39, 2, 3) == [7, 13, 20, 26, 33]
    assert fine_ranks(39, 2) == list(range(2, 39))  # a step for each of 19 samples in both bins
    assert fine_ranks(3, 2) == [2]  # a sample in each bin
    for n, n_bins in ((1000, 10), (10_000, 20), (100_000, 10), (977, 7)):
        ranks = fine_ranks(n, n_bins)
        assert len(ranks) + 1 <= 1000
        assert set(boundary_ranks(n, n_bins)) <= set(ranks)
        assert min(np.diff(ranks)) >= max(1, n // n_bins // (1000 // n_bins) - 1)


def test_the_beta_quantile_meets_scipy() -> None:
    for n, rank, level in ((19, 7, 0.001), (19, 13, 0.999), (39, 1, 0.3), (39, 39, 1e-5)):
        assert beta_quantile(level, rank, n) == pytest.approx(betaincinv(rank, n + 1 - rank, level), abs=1e-12)
    assert (beta_quantile(0.1, 0, 5), beta_quantile(0.1, 6, 5)) == (0.0, 1.0)


def test_the_edge_bound_without_ties() -> None:
    labels = [0] * 15 + [1] * 4 + [0] + [0] * 6 + [1] * 13
    fit = whole_ties([i / 39 for i in range(39)], labels, 2, draw=chosen_by(0))
    assert list(zip(fit.label_sums, fit.counts, strict=True)) == [(4, 19), (13, 19)]
    ranks = fine_ranks(39, 2, 3)
    assert [[edge.rank for edge in fine_edges(fit, b, ranks)] for b in (0, 1)] == [[7, 13], [26, 33]]
    assert [step_counts(fit, b, fine_edges(fit, b, ranks)) for b in (0, 1)] == [[6, 6, 7], [6, 7, 7]]
    first, second = edge_bound(fit, [[0.1, 0.2, 0.35], [0.55, 0.7, 0.8]], ranks, ALPHA)
    assert np.round(first.shares, 6).tolist() == [[0.095375, 0.678578], [0.321422, 0.904625]]
    assert np.round(first.interval, 6).tolist() == [0.059074, 0.459576]
    assert np.round(first.served, 6).tolist() == [0.146448, 0.292249]
    assert round(first.epsilon, 6) == 0.313128
    assert np.round(second.shares, 6).tolist() == [[0.068480, 0.629845], [0.321422, 0.904625]]
    assert np.round(second.interval, 6).tolist() == [0.430727, 0.876436]
    assert np.round(second.served, 6).tolist() == [0.615061, 0.757586]
    assert round(second.epsilon, 6) == 0.326859


# 59 samples: how many have the scores 0, .05, ..., .95, and how many of these have label 1.
COUNTS = [3, 1, 6, 1, 1, 5, 2, 4, 9, 1, 1, 1, 7, 2, 1, 1, 8, 1, 3, 1]
ONES = [1, 0, 2, 0, 1, 2, 0, 1, 4, 1, 0, 1, 3, 1, 1, 0, 5, 1, 2, 1]


def of_a_vector(digest: int, score: float, count: int, ones: int, taken: int) -> tuple[int, int]:
    assert (count, ones, taken) == {0.35: (4, 1, 1), 0.6: (7, 3, 5)}[score]
    return {0.35: (0, 0), 0.6: (2, 1)}[score]


def test_the_edge_bound_with_ties() -> None:
    scores = [i / 20 for i, count in enumerate(COUNTS) for _ in range(count)]
    labels = [int(j < one) for count, one in zip(COUNTS, ONES, strict=True) for j in range(count)]
    fit = whole_ties(scores, labels, 3, draw=of_a_vector)
    ranks = fine_ranks(59, 3, 4)
    assert ranks == [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55]
    assert fit.edges == [0.35, 0.6]
    assert [(b.T, b.x, b.r, b.f, b.y) for b in fit.bins] == [(19, 6, 0, 0, 0), (16, 7, 1, 0, 0), (24, 14, 5, 2, 1)]
    assert [bin_candidates(fit, b, ranks) for b in range(3)] == [[5, 10, 15], [25, 30, 35], [45, 50, 55]]
    edges = [fine_edges(fit, b, ranks) for b in range(3)]
    assert [[edge.score for edge in of_bin] for of_bin in edges] == [[0.1, 0.25], [0.4, 0.55], [0.7, 0.8, 0.85]]
    assert [[(edge.rank, edge.below, edge.lower_rank) for edge in of_bin] for of_bin in edges] == [
        [(5, 4, 0), (15, 12, 10)],  # 5 and 10 stand at .1
        [(25, 23, 0), (35, 34, 30)],  # 25 and 30 at .4
        [(45, 44, 0), (50, 46, 45), (55, 54, 50)],
    ]
    assert [step_counts(fit, b, of_bin) for b, of_bin in enumerate(edges)] == [[4, 8, 7], [4, 11, 1], [9, 2, 8, 5]]
    values = [[0.2, 0.3, 0.4], [0.3, 0.5, 0.45], [0.4, 0.5, 0.7, 0.8]]
    bounds = edge_bound(fit, values, ranks, ALPHA)

    # The same by SciPy, from the ranks among the T samples of each bin.
    level = 1 - 0.9 ** (0.95 / 3)
    gamma = 0.1 * level / 3
    places = [[(5, 0), (15, 10)], [(6, 0), (16, 11)], [(10, 0), (15, 10), (20, 15)]]
    for b, of_bin, found, served in zip(fit.bins, places, bounds, values, strict=True):
        shares = [
            (
                betaincinv(low - b.r, b.T + 1 - low, gamma / 2) if low > b.r else 0.0,
                betaincinv(own, b.T + 1 - own, 1 - gamma / 2),
            )
            for own, low in of_bin
        ]
        assert np.array(found.shares) == pytest.approx(np.array(shares), abs=1e-12)
        steps = np.diff(served)
        means = [served[-1] - sum(d * u for d, u in zip(steps, us, strict=True)) for us in product(*shares)]
        assert found.served == pytest.approx((min(means), max(means)), abs=1e-12)
        assert found.interval == pytest.approx(by_scipy(b, 0.9 * level), abs=1e-12)
    assert [np.round(found.interval, 6).tolist() for found in bounds] == [
        [0.112097, 0.58955],
        [0.178809, 0.756415],
        [0.344556, 0.85397],
    ]
    assert [np.round(found.served, 6).tolist() for found in bounds] == [
        [0.243242, 0.382431],
        [0.315528, 0.499998],
        [0.457902, 0.774953],
    ]
    assert [round(found.epsilon, 6) for found in bounds] == [0.346308, 0.440888, 0.430397]


def test_scores_without_labels_narrow_the_edges() -> None:
    rng = Random(5)
    scores = [rng.random() for _ in range(200)]
    pooled = whole_ties(scores, [0] * 200, 2, draw=lambda *_: (0, 0))
    labels = [int(rng.random() < score) for score in scores[:60]]
    tally = inside(pooled, scores[:60], labels)
    cut = pooled.edges[0]
    assert [n for _, n in tally] == [sum(s < cut for s in scores[:60]), sum(s > cut for s in scores[:60])]
    assert sum(x for x, _ in tally) == sum(y for s, y in zip(scores[:60], labels, strict=True) if s != cut)
    ranks = fine_ranks(200, 2, 4)
    values = [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.8, 0.9]]
    alone = whole_ties(scores[:60], labels, 2, draw=chosen_by(0))
    wide, narrow = (
        edge_bound(alone, values, fine_ranks(60, 2, 4), ALPHA),
        edge_bound(pooled, values, ranks, ALPHA, labelled=tally),
    )
    for one, other, (x, n) in zip(wide, narrow, tally, strict=True):
        assert other.served[1] - other.served[0] < one.served[1] - one.served[0]
        assert other.interval == clopper_pearson(x, n, 0.9 * sidak(ALPHA, 2))
