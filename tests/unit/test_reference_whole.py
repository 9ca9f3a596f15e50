"""The reference of whole ties as a fit has them: that of the theorem, edges of a share, and of a split."""

from __future__ import annotations

import random

import pytest

from reference import uniform_mass
from reference.keys import draw_labels
from reference.samples import in_fit_order
from reference.whole_ties import whole_ties


def tied_sample(seed: int, n: int, n_levels: int) -> tuple[list[float], list[int]]:
    rng = random.Random(seed)
    scores = [rng.randrange(n_levels) / n_levels for _ in range(n)]
    return scores, [int(rng.random() < score) for score in scores]


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
def test_whole_ties_are_those_of_the_theorem(scheme: str) -> None:
    """The model says what `reference.whole_ties` says, which works on counts alone."""
    n_tied = 0
    for seed in range(30):
        scores, labels = tied_sample(seed, 60, 5 + 10 * seed)
        model = uniform_mass(scores, labels, 4, scheme, "whole", seed=seed)
        expected = whole_ties(scores, labels, 4, scheme, draw=draw_labels, seed=seed)
        assert (model.edges, model.counts, model.label_sums) == (expected.edges, expected.counts, expected.label_sums)
        assert (model.exact_values, model.n_tied) == (expected.values, expected.n_tied)
        assert model.tie_counts == (expected.tie_counts if expected.n_tied else None)
        assert model.ties == ("whole" if expected.n_tied else "lower" if scheme == "umb" else "upper")
        queries = [i / 400 for i in range(401)]
        assert model.assign(queries) == [expected.bin_of(score) for score in queries]
        n_tied += expected.n_tied > 0
    assert 10 < n_tied < 30


def test_edges_of_a_share_by_hand() -> None:
    """Nine samples of two scores. Which five place the edge is drawn; all nine are averaged."""
    scores, labels = [0.25] * 5 + [0.75] * 4, [1, 0, 0, 0, 0, 1, 1, 1, 0]
    seen = set()
    for seed in range(60):
        model = uniform_mass(scores, labels, 2, "umd", "whole", seed=seed, edges_share=5 / 9)
        chosen = sorted(in_fit_order(scores, labels, seed), key=lambda sample: sample.split_key)[:5]
        low = sum(sample.score == 0.25 for sample in chosen)
        # The boundary has the rank 3 of 5, of which at least one is low.
        at = [sample.label for sample in chosen if sample.score == (0.25 if low >= 3 else 0.75)]
        r = 3 if low >= 3 else 3 - low
        (_, f, y) = model.tie_counts[-1]
        assert model.tie_counts[-1][0] == r
        assert max(0, r - at.count(0)) <= f <= min(r, sum(at))
        assert y == 0 or f > 0
        assert y == 1 or f < r
        if low >= 3:
            assert model.edges == []
            assert (model.counts, model.label_sums) == ([8], [4 - y])
        else:
            assert model.edges == [0.75]
            assert (model.counts, model.label_sums) == ([5, 3], [1, 3 - y])
        seen.add(low)
    assert seen == {1, 2, 3, 4}


def test_whole_ties_of_a_split_have_no_empty_bin() -> None:
    n_merged = 0
    for seed in range(40):
        scores, labels = tied_sample(seed, 12, 8)
        model, upper = (uniform_mass(scores, labels, 5, "ums", ties, seed=seed) for ties in ("whole", "upper"))
        assert model.ties == "upper"
        assert min(model.counts) > 0
        assert model.counts == [count for count in upper.counts if count]
        assert model.label_sums == [ones for ones, count in zip(upper.label_sums, upper.counts, strict=True) if count]
        assert set(model.edges) <= set(upper.edges)
        n_merged += model.n_bins < upper.n_bins
    assert n_merged > 10
