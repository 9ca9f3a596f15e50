"""Bins of equal expected positives: cuts where the scores of a random part of the rows add up to equal shares of their sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from wordings import refused

import fastbin as fb

EQUAL = fb.UniformMassBinning(10, scheme="ums", cuts="expected-positives")


def clicks(n: int, seed: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    scores = np.minimum(0.01 * rng.lognormal(-0.5, 1.0, n), 1.0)
    return scores, (rng.random(n) < scores).astype(np.uint8)


def test_bins_hold_equal_sums_of_scores() -> None:
    scores, labels = clicks(200_000)
    cal = clone(EQUAL).fit(scores, labels)
    sums = np.bincount(cal.model_.assign(scores), weights=scores)
    assert sums == pytest.approx(np.full(10, scores.sum() / 10), rel=0.1)  # the cuts are those of a tenth
    assert cal.model_.counts.sum() == 180_000
    assert cal.model_.counts[0] > 20 * cal.model_.counts[-1]
    halves = clone(EQUAL).set_params(split=0.5).fit(scores, labels).model_
    assert halves.counts.sum() == 100_000
    equal_mass = fb.UniformMassBinning(10, scheme="ums", split=0.1).fit(scores, labels)
    assert cal.certificate(kind="ratio").epsilon < 0.8 * equal_mass.certificate(kind="ratio").epsilon


def test_a_constant_score_gives_the_cuts_of_equal_mass() -> None:
    """Then sums are counts."""
    scores, labels = np.full(1000, 0.25), clicks(1000)[1]
    for ties in ("random", "upper"):
        models = [
            fb.UniformMassBinning(4, scheme="ums", ties=ties, cuts=cuts, split=0.4).fit(scores, labels).model_
            for cuts in ("equal-mass", "expected-positives")
        ]
        assert models[0].same_map(models[1])
        assert models[0].provenance != models[1].provenance


def test_one_heavy_score_takes_bins_away() -> None:
    scores, labels = clicks(1000)
    scores[:200] = 1.0
    with pytest.warns(fb.FastbinWarning, match="left 2 of the 10 bins"):
        model = clone(EQUAL).fit(scores, labels).model_
    assert model.edges.tolist() == [1.0]
    assert model.n_bins_asked == 10


@pytest.mark.parametrize("ties", ["whole", "random", "upper"])
def test_the_order_of_rows_does_not_matter_and_frequencies_repeat_them(ties: str) -> None:
    scores, labels = clicks(3000)
    scores = scores.round(3)
    cal = clone(EQUAL).set_params(ties=ties, n_bins=4)
    model = cal.fit(scores, labels).model_
    order = np.random.default_rng(1).permutation(3000)
    assert cal.fit(scores[order], labels[order]).model_.to_bytes() == model.to_bytes()
    frequencies = np.arange(3000) % 3
    by_frequency = cal.fit(scores, labels, frequencies).model_
    repeated = cal.fit(np.repeat(scores, frequencies), np.repeat(labels, frequencies)).model_
    assert by_frequency.to_bytes() == repeated.to_bytes()
    assert by_frequency != model


def test_the_configuration_travels() -> None:
    assert repr(EQUAL) == "UniformMassBinning(scheme='ums', cuts='expected-positives')"
    assert clone(EQUAL).get_params() == EQUAL.get_params()
    rows = clicks(20_000)
    made_by = clone(EQUAL).fit(*rows).model_.provenance["made_by"]
    assert made_by[0]["configuration"]["cuts"] == "expected-positives"
    segments = fb.multi.SegmentedBinning(clone(EQUAL).set_params(n_bins=3)).fit(*rows, np.arange(20_000) % 2).model_
    alone = clone(EQUAL).set_params(n_bins=3).fit(*(column[::2] for column in rows)).model_
    assert segments[0].same_map(alone)
    features = np.stack([np.log(rows[0]), np.arange(20_000) % 7], axis=1)
    classifier = fb.sklearn.CalibratedClassifier(LogisticRegression(), calibrator=clone(EQUAL).set_params(n_bins=3))
    assert classifier.fit(features, rows[1]).certificate(kind="ratio").epsilon < 3.0


def test_rows_that_are_not_all_at_hand_are_refused() -> None:
    refused(fb.InputError, "scheme 'ums' splits .* use fit, or fit fastbin.ExplicitBinning", EQUAL.fit_batches, [clicks(100)])
    older, newer = clicks(20_000, 1), clicks(20_000, 2)
    edges = clone(EQUAL).fit(*older).model_.edges
    table = pa.table({"score": newer[0], "label": newer[1]})
    streamed = fb.engines.fit(table, score="score", label="label", calibrator=fb.ExplicitBinning(edges))
    assert streamed == fb.ExplicitBinning(edges).fit(*newer).model_
