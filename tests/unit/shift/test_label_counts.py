"""Label shift from counts of the target: what the rows would have told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin.shift import LabelShift, rate_by_confusion, rate_by_likelihood


def populations(calibrator: Any) -> tuple[fb.BinnedModel, np.ndarray, np.ndarray]:
    """A source model, and scores and labels of a target where label 1 is rarer."""
    rng = np.random.default_rng(0)
    labels, target_labels = rng.random(3000) < 0.5, rng.random(2000) < 0.15
    scores, target = (1.0 / (1.0 + np.exp(-rng.normal(2.0 * y - 1.0))) for y in (labels, target_labels))
    return calibrator.fit(scores, labels).model_, target, target_labels


SOURCES = [fb.UniformMassBinning(8), fb.CertifiedCalibration(), fb.FixedWidthBinning(8)]


@pytest.mark.parametrize("calibrator", SOURCES)
@pytest.mark.parametrize("estimate", [rate_by_likelihood, rate_by_confusion])
def test_rates_from_counts_are_those_from_scores(calibrator: Any, estimate: Any) -> None:
    model, target, _ = populations(calibrator)
    counts = np.bincount(model.assign(target), minlength=model.n_bins)
    assert estimate(model, counts=counts, seed=3) == estimate(model, target, seed=3)


@pytest.mark.parametrize("calibrator", SOURCES)
@pytest.mark.parametrize("method", ["labels", "likelihood", "confusion"])
def test_a_model_moved_by_counts_is_that_moved_by_rows(calibrator: Any, method: str) -> None:
    model, target, labels = populations(calibrator)
    bins = model.assign(target)
    counts, ones = (np.bincount(rows, minlength=model.n_bins) for rows in (bins, bins[labels]))
    by_counts = LabelShift(model, method=method).fit_counts(counts, ones if method == "labels" else None)
    rows = {"labels": labels} if method == "labels" else {"scores": target}
    by_rows = LabelShift(model, method=method).fit(**rows)
    assert by_counts.model_.to_bytes() == by_rows.model_.to_bytes()
    assert by_counts.rate_ == by_rows.rate_


def test_counts_that_tell_nothing_are_refused() -> None:
    model, target, _ = populations(fb.UniformMassBinning(4))
    with pytest.raises(fb.InputError, match="label_sums is missing, and method is 'labels'"):
        LabelShift(model).fit_counts([1, 2, 3, 4])
    with pytest.raises(fb.InputError, match="label_sums is given, and method is 'likelihood'"):
        LabelShift(model, method="likelihood").fit_counts([1, 2, 3, 4], [0, 1, 1, 2])
    with pytest.raises(fb.InputError, match="method is 'known', which counts no rows"):
        LabelShift(model, method="known", target_rate=0.2).fit_counts([1, 2, 3, 4])
    with pytest.raises(fb.InputError, match="counts are all 0"):
        LabelShift(model).fit_counts([0] * 4, [0] * 4)
    with pytest.raises(fb.InputError, match="counts are all 0"):
        rate_by_likelihood(model, counts=[0] * 4)
    with pytest.raises(fb.InputError, match="counts has shape"):
        rate_by_likelihood(model, counts=[1, 2])
    with pytest.raises(fb.InputError, match="counts is given, and scores too"):
        rate_by_likelihood(model, target, counts=[1, 2, 3, 4])
    with pytest.raises(fb.InputError, match="counts is given, and keys too"):
        rate_by_likelihood(model, counts=[1, 2, 3, 4], keys=[1])
