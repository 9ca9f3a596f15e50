"""Labels drawn for whole ties: bit by bit those of the reference, and of the hypergeometric law."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from scipy import stats
from wordings import refuses

from fastbin._core.fit import draw_labels
from reference import keys as reference

N_DRAWS = 20_000

# count, ones, chosen: all small cases that have more than one answer, and some larger ones of every shape.
SMALL = [(c, k, r) for c in range(2, 7) for k in range(1, c) for r in range(1, c)]
LARGER = [(20, 3, 11), (40, 20, 20), (50, 49, 25), (100, 1, 30), (1000, 500, 7), (2000, 40, 1000), (10**9, 3, 10**8)]


def hypergeometric(count: int, ones: int, chosen: int) -> dict[int, Fraction]:
    """The chance of each number of ones among the chosen."""
    support = range(max(0, chosen - (count - ones)), min(chosen, ones) + 1)
    ways = math.comb(count, chosen) if count < 10**6 else None
    if ways is not None:
        return {f: Fraction(math.comb(ones, f) * math.comb(count - ones, chosen - f), ways) for f in support}
    # For few ones: each is among the chosen in turn.
    chances = {0: Fraction(1)}
    for i in range(ones):
        after: dict[int, Fraction] = {}
        for f, chance in chances.items():
            among = Fraction(chosen - f, count - i)
            after[f] = after.get(f, Fraction(0)) + chance * (1 - among)
            after[f + 1] = after.get(f + 1, Fraction(0)) + chance * among
        chances = after
    return chances


def draws(count: int, ones: int, chosen: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """f and y for `n` pairs of a digest and a score, a hundred scores for each digest."""
    columns = [np.arange(100) / 100, *(np.full(100, number) for number in (count, ones, chosen))]
    pairs = [draw_labels(reference.digest([seed]), *columns) for seed in range(n // 100)]
    return np.concatenate([f for f, _ in pairs]), np.concatenate([y for _, y in pairs])


@pytest.mark.parametrize(("count", "ones", "chosen"), [*SMALL, *LARGER])
def test_the_law(count: int, ones: int, chosen: int) -> None:
    """Chi-square over f, cells of fewer than five expected draws joined; and y given f is a fair draw of the chosen."""
    f, y = draws(count, ones, chosen, N_DRAWS)
    chances = hypergeometric(count, ones, chosen)
    assert set(f.tolist()) <= set(chances)
    observed, expected = [0.0], [0.0]
    for value, chance in sorted(chances.items()):
        if expected[-1] >= 5:
            observed.append(0.0)
            expected.append(0.0)
        observed[-1] += float((f == value).sum())
        expected[-1] += N_DRAWS * float(chance)
    if len(expected) > 1 and expected[-1] < 5:
        observed[-2:], expected[-2:] = [sum(observed[-2:])], [sum(expected[-2:])]
    n_tests = 2 * (len(SMALL) + len(LARGER))
    if len(expected) > 1:
        scaled = [share * N_DRAWS / sum(expected) for share in expected]
        assert stats.chisquare(observed, scaled).pvalue > 0.01 / n_tests
    # y is 1 with probability f / chosen: a sum of independent variables of known means.
    share = f / chosen
    spread = math.sqrt(float((share * (1 - share)).sum()))
    assert abs(float(y.sum() - share.sum())) <= stats.norm.isf(0.005 / n_tests) * spread + 1e-9


@pytest.mark.parametrize("count", [1000, 10**6, 10**9, 10**12])
def test_the_spread_of_large_groups(count: int) -> None:
    """Mean and variance of f, by their exact values; the two shapes are half and half, and one of a hundred."""
    for ones, chosen in ((count // 2, count // 3), (count // 100, count // 2)):
        n = 700 if count < 10**9 else 300 if count < 10**12 else 100
        f, _ = draws(count, ones, chosen, n)
        mean = chosen * ones / count
        variance = mean * (1 - ones / count) * (count - chosen) / (count - 1)
        assert abs(f.mean() - mean) < 4 * math.sqrt(variance / n)
        assert abs(f.var() / variance - 1) < 4 * math.sqrt(2 / n)


def test_the_reference_bit_by_bit() -> None:
    rng = Random("draw labels")
    for _ in range(5000):
        count = rng.randint(1, rng.choice([1, 2, 5, 30, 1000, 100_000]))
        ones, chosen = rng.randint(0, count), rng.randint(0, count)
        digest, score = rng.randrange(2**64), rng.choice([0.0, -0.0, 5e-324, rng.random(), -rng.expovariate(0.1)])
        f, y = draw_labels(digest, [score], [count], [ones], [chosen])
        assert (int(f[0]), int(y[0])) == reference.draw_labels(digest, score, count, ones, chosen)


@pytest.mark.parametrize(("ones", "chosen", "least", "most"), [
    (2**53 - 1, 2**53 - 1, 2**53 - 2, 2**53 - 1), (2**53 - 5, 2**52, 2**52 - 5, 2**52), (3, 2**52 + 1, 0, 3),
    (2**53, 2**52 - 1, 2**52 - 1, 2**52 - 1), (2**52, 1, 0, 1), (2**53 - 3, 2**53, 2**53 - 3, 2**53 - 3),
])  # fmt: skip
def test_the_support_at_the_largest_count(ones: int, chosen: int, least: int, most: int) -> None:
    for seed in range(50):
        f, y = draw_labels(seed, [0.5], [2**53], [ones], [chosen])
        assert least <= f[0] <= most
        assert max(0, 1 - (chosen - f[0])) <= y[0] <= min(1, f[0])
        assert (int(f[0]), int(y[0])) == reference.draw_labels(seed, 0.5, 2**53, ones, chosen)


def test_groups_are_drawn_one_by_one() -> None:
    """The draw of a group depends on its own score and counts alone; 0.0 and -0.0 are one score."""
    scores, counts, ones, chosen = [0.0, 0.25, 0.5], [10, 20, 30], [4, 10, 15], [5, 0, 20]
    f, y = draw_labels(7, scores, counts, ones, chosen)
    assert f.dtype == y.dtype == np.int64
    alone = [draw_labels(7, *([given] for given in group)) for group in zip(scores, counts, ones, chosen, strict=True)]
    assert f.tolist() == [int(first[0]) for first, _ in alone]
    assert y.tolist() == [int(second[0]) for _, second in alone]
    assert (f[1], y[1]) == (0, 0)
    assert draw_labels(7, [-0.0], [10], [4], [5])[0][0] == f[0]
    assert [column.shape for column in draw_labels(7, [], [], [], [])] == [(0,), (0,)]


@pytest.mark.parametrize(("score", "count", "ones", "chosen"), [
    (math.nan, 2, 1, 1), (math.inf, 2, 1, 1), (0.5, -1, 0, 0), (0.5, 2, 3, 1), (0.5, 2, 1, 3), (0.5, 2, -1, 1),
    (0.5, 2, 1, -1), (0.5, 2**53 + 1, 1, 1),
])  # fmt: skip
def test_impossible_groups(score: float, count: int, ones: int, chosen: int) -> None:
    refuses(
        "InputError: group 1 with score * cannot be drawn; ", draw_labels, 0, [0.5, score], [2, count], [1, ones], [1, chosen]
    )
    refuses("InputError: counts, ones and chosen have", draw_labels, 0, [0.5], [2, 2], [1, 1], [1, 1])
