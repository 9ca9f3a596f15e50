"""Fits that ties leave fewer bins than asked for: told where the promise suffers, and only there."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import fastbin as fb
from fastbin._fit.edges import ties_cost_bins

FITS: dict[str, Callable[..., object]] = {
    "uniform mass": lambda s, y, n_bins: fb.UniformMassBinning(n_bins).fit(s, y),
    "certified": lambda s, y, n_bins: fb.CertifiedCalibration(n_bins).fit(s, y),
    "batches": lambda s, y, n_bins: fb.UniformMassBinning(n_bins).fit_batches([(s, y)]),
    "certified in batches": lambda s, y, n_bins: fb.CertifiedCalibration(n_bins).fit_batches([(s, y)]),
    "segments": lambda s, y, n_bins: fb.multi.SegmentedBinning(fb.UniformMassBinning(n_bins)).fit(s, y, ["a"] * len(s)),
    "weights": lambda s, y, n_bins: fb.shift.ImportanceWeightedBinning(n_bins).fit(s, y, sample_weight=np.ones(len(s))),
}
WAYS = pytest.mark.parametrize("way", FITS)


def sample(kind: str, n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """The votes of 100 trees, most of which agree; or one score that 70 or 30 % of the rows have."""
    rng = np.random.default_rng(1)
    votes = np.round(rng.beta(0.3, 0.6, n), 2)
    scores = {"forest": votes, "70 %": np.where(rng.random(n) < 0.7, 0.0, rng.random(n))}
    scores["30 %"] = np.where(rng.random(n) < 0.3, 0.0, rng.random(n))
    return scores[kind], (rng.random(n) < 0.1 + 0.8 * scores[kind]).astype(int)


def told_of(way: str, kind: str, n_bins: int = 10) -> list[str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        FITS[way](*sample(kind), n_bins)
    return [str(warning.message) for warning in told]


@WAYS
def test_votes_of_a_forest_are_fitted_without_a_word(way: str) -> None:
    """Fewer bins than asked for, and a certificate about as narrow as that of scores without ties."""
    assert told_of(way, "forest") == []
    scores, labels = sample("forest")
    model = fb.CertifiedCalibration(10).fit(scores, labels).model_
    assert model.n_bins < model.n_bins_asked == 10
    apart = np.clip(scores + np.random.default_rng(2).uniform(-1e-6, 1e-6, len(scores)), 0.0, 1.0)
    assert model.certificate().epsilon < 1.1 * fb.CertifiedCalibration(10).fit(apart, labels).certificate().epsilon


@WAYS
@pytest.mark.parametrize("kind", ["70 %", "30 %"])
def test_one_heavy_score_is_told_of(way: str, kind: str) -> None:
    if kind == "30 %":  # 7 bins are left, and all samples count in the lowest
        assert told_of(way, kind) == []
        return
    (text,) = told_of(way, kind)
    assert "left " in text
    assert "of the 10 " in text


def test_a_heavy_score_widens_the_certificate_unless_its_samples_are_counted() -> None:
    """Where its rate is another than that of the scores beside it: told of, also where most bins are left."""
    scores, labels = sample("30 %")
    scores = np.where(scores == 0.0, 0.45, scores)
    labels = np.where(scores == 0.45, 0, labels)
    with pytest.warns(fb.FastbinWarning, match="left 7 of the 10 bins"):
        model = fb.UniformMassBinning(10).fit(scores, labels).model_
    apart = np.clip(scores + np.random.default_rng(2).uniform(0, 1e-6, len(scores)), 0.0, 1.0)
    without_ties = fb.UniformMassBinning(10).fit(apart, labels).certificate().epsilon
    assert model._replace(atom_counts=None).certificate().epsilon > 1.5 * without_ties
    assert model.certificate().epsilon < 1.1 * without_ties


@pytest.mark.parametrize(
    ("counts", "r", "asked", "expected"),
    [
        ([100] * 10, [90] * 10, 10, False),  # all that was asked for
        ([100] * 6, None, 10, False),
        ([120] * 5, None, 10, True),  # half of the bins
        ([100] * 9, [50] * 9, 10, False),
        ([100] * 9, [0] * 8 + [51], 10, True),  # more than half of a bin lies at its edge
        ([100] * 9, [99] + [0] * 8, 10, False),  # in the lowest bin all samples count
        ([106] * 9 + [49], None, 11, False),
        ([110] * 9 + [50], None, 11, False),
        ([115] * 9 + [48], None, 11, True),  # under half of 1083 / 11
    ],
)
def test_sizes_decide(counts: list[int], r: list[int] | None, asked: int, expected: bool) -> None:
    ties = None if r is None else np.array([[each, 0, 0] for each in r])
    assert ties_cost_bins(np.array(counts), ties, asked) is expected


def test_in_the_highest_bin_all_samples_count_where_edges_belong_to_the_bin_below() -> None:
    counts, ties = np.full(9, 100), np.array([[0, 0, 0]] * 8 + [[99, 0, 0]])
    assert not ties_cost_bins(counts, ties, 10, "umb")
    assert ties_cost_bins(counts, ties[::-1], 10, "umb")


def test_labels_are_not_looked_at() -> None:
    for kind in ("forest", "70 %"):
        scores, labels = sample(kind)
        told = []
        for given in (labels, np.random.default_rng(3).permutation(labels)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fb.UniformMassBinning(10).fit(scores, given)
            told.append([str(each.message) for each in caught if "left" in str(each.message)])
        assert told[0] == told[1]
