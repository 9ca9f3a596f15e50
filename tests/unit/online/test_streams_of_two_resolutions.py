"""Streams and monitors over models of two resolutions: outcomes are counted, and watched, by evidence bin."""

from __future__ import annotations

import numpy as np
import pytest

import fastbin as fb
from fastbin.online import CalibrationMonitor, StreamingBinning

pytestmark = pytest.mark.filterwarnings("ignore:ties left", "ignore:ties='whole' left")


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, (rng.random(n) < scores).astype(np.uint8)


def two_resolutions(decimals: int | None = None) -> fb.BinnedModel:
    rng = np.random.default_rng(2)
    scores = rng.random(800)
    labels = rng.random(800) < scores
    return fb.CertifiedCalibration(4).fit(scores if decimals is None else scores.round(decimals), labels).model_


@pytest.mark.parametrize("decimals", [None, 1])
def test_outcomes_of_two_resolutions_are_counted_in_evidence_bins(decimals: int | None) -> None:
    model = two_resolutions(decimals)
    stream, (scores, labels) = StreamingBinning(model), rows(500)
    stream.update(scores, labels)
    bins = model.assign(scores)
    np.testing.assert_array_equal(stream.counts, np.bincount(bins, minlength=model.n_bins))
    np.testing.assert_array_equal(stream.label_sums, np.bincount(bins, labels, model.n_bins))
    counted = stream.model()
    np.testing.assert_array_equal(counted.edges, model.bin_edges)
    np.testing.assert_array_equal(counted.values, stream.label_sums / stream.counts)
    assert not counted.has_steps
    assert stream.partition == model
    assert stream.interval().shape == (model.n_bins, 2)
    certificate = stream.certificate()
    assert certificate.n_steps == 0  # a promise about the means that the stream serves
    assert certificate.radii is not None
    again = StreamingBinning.from_bytes(stream.to_bytes())
    assert (again == stream, again.partition == model) == (True, True)
    other = StreamingBinning(model)
    other.update(scores[:7], labels[:7])
    assert other.merge(stream).counts.sum() == 507


def test_going_on_from_a_fit_of_two_resolutions() -> None:
    model, (scores, labels) = two_resolutions(), rows(300)
    stream = StreamingBinning(model, continue_fit=True)
    stream.update(scores, labels)
    bins = model.assign(scores)
    np.testing.assert_array_equal(stream.counts, model.counts + np.bincount(bins, minlength=model.n_bins))
    with pytest.raises(fb.GuaranteeError, match="share a score with an edge"):
        StreamingBinning(two_resolutions(1), continue_fit=True)
    scores = np.repeat([0.2, 0.5, 0.7], 100)
    split = fb.UniformMassBinning(3, scheme="ums").fit(scores, np.arange(300) % 2)
    assert StreamingBinning(split, continue_fit=True).counts.sum() == 150  # its edges saw the other samples alone


def fine(decimals: int | None = None, seed: int = 0) -> fb.BinnedModel:
    rng = np.random.default_rng(seed)
    scores = rng.random(2000)
    labels = rng.random(2000) < scores
    return fb.CertifiedCalibration(5).fit(scores if decimals is None else scores.round(decimals), labels).model_


@pytest.mark.parametrize("decimals", [None, 1])
def test_the_evidence_bins_of_two_resolutions_are_watched(decimals: int | None) -> None:
    model = fine(decimals)
    monitor = CalibrationMonitor(model, tolerance=0.02)
    ends = np.clip(np.stack([model.bin_values - 0.02, model.bin_values + 0.02], axis=1), 0.0, 1.0)
    np.testing.assert_array_equal(monitor.tolerated, ends)
    np.testing.assert_array_equal(CalibrationMonitor(model, interval_alpha=0.1).tolerated, model.interval(0.1))
    rng = np.random.default_rng(1)
    scores = rng.random(3000)
    scores = scores if decimals is None else scores.round(decimals)
    assert not monitor.update(scores, rng.random(3000) < model.predict(scores))
    report = monitor.report()
    assert [b.value for b in report.bins] == model.bin_values.tolist()
    assert report.n_steps == model.n_steps
    assert f"not the {model.n_steps:,} values inside them" in str(report)
    assert "is not seen" in str(report)
    assert CalibrationMonitor.from_bytes(monitor.to_bytes()) == monitor
    assert monitor.update(scores, rng.random(3000) < 0.7 * model.predict(scores))
    assert "is not seen" in str(monitor)


def test_after_label_shift_all_that_a_bin_serves_is_tolerated() -> None:
    moved = fb.shift.LabelShift(fine()).fit(labels=[1] * 20 + [0] * 180).model_
    tolerated = CalibrationMonitor(moved, tolerance=0.0).tolerated
    for b, (low, high) in enumerate(tolerated.tolist()):
        own = moved.values[np.searchsorted(moved.first_step, np.arange(moved.n_steps), "right") - 1 == b]
        assert (low, high) == (own.min(), own.max())


def test_one_resolution_says_nothing_of_steps() -> None:
    report = CalibrationMonitor(fb.ExplicitBinning([0.5]).fit([0.2, 0.8], [0, 1])).report()
    assert report.n_steps == 0
    assert "steps" not in str(report)
    assert "is not seen" not in str(report)
