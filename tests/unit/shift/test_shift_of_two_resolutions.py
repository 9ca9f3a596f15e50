"""Shifted populations, with models of two resolutions and with whole groups of equal scores at edges."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import for_target, two_normals

import fastbin as fb
from fastbin import shift
from fastbin.shift import ImportanceWeightedBinning

pytestmark = pytest.mark.filterwarnings("ignore:ties left", "ignore:ties='whole' left")


def test_whole_ties_give_one_probability_and_say_what_they_cost() -> None:
    scores, labels, weights = for_target(decimals=1)
    with pytest.warns(fb.FastbinWarning, match="ties='whole' left 2 of the 7 bins that were asked for"):
        ImportanceWeightedBinning(7).fit(np.round(scores), labels, weights)
    cal = ImportanceWeightedBinning(7).fit(scores, labels, weights)
    assert cal.model_.n_bins == 5
    bins = cal.model_.assign(scores)
    means = [np.average(labels[bins == b], weights=weights[bins == b]) for b in range(5)]  # no sample is left out
    np.testing.assert_allclose(cal.predict(scores), np.array(means)[bins], rtol=1e-12)
    assert cal.model_.counts.sum() == scores.size
    assert (cal.model_.ties, cal.model_.needs_key) == ("whole", False)
    assert fb.BinnedModel.from_bytes(cal.model_.to_bytes()) == cal.model_
    for promise in (cal.interval, cal.certificate):
        with pytest.raises(fb.GuaranteeError, match="scheme='ums' or ties='random'"):
            promise(weight_bound=2.0)
    split = ImportanceWeightedBinning(3, scheme="ums").fit(scores, labels, weights)  # its edges saw other samples
    assert split.model_.n_tied > 0
    assert not split.model_.needs_key
    assert split.certificate(weight_bound=2.0).epsilon < 1.0


def test_evidence_bins_of_two_resolutions() -> None:
    scores, labels, weights = for_target()
    model = fb.CertifiedCalibration(4).fit(scores[:200], labels[:200]).model_
    cal = ImportanceWeightedBinning(partition=model).fit(scores[200:], labels[200:], weights[200:])
    np.testing.assert_array_equal(cal.model_.edges, model.bin_edges)
    np.testing.assert_array_equal(cal.model_.counts, np.bincount(model.assign(scores[200:]), minlength=4))
    assert not cal.model_.has_steps
    assert cal.interval(weight_bound=2.0).shape == (4, 2)


def test_a_weighted_model_of_two_resolutions_has_intervals_of_its_bins() -> None:
    scores, labels, weights = for_target(900)
    model = fb.CertifiedCalibration(4).fit(scores, labels, sample_weight=weights).model_
    assert model.has_steps
    plain = fb.UniformMassBinning(4).fit(scores, labels, sample_weight=weights).model_
    np.testing.assert_array_equal(shift.weighted_interval(model, 2.0), shift.weighted_interval(plain, 2.0))
    np.testing.assert_array_equal(shift.effective_sample_sizes(model), shift.effective_sample_sizes(plain))


@pytest.mark.parametrize("decimals", [None, 1])
def test_two_resolutions_are_moved_step_by_step_and_keep_their_evidence(decimals: int | None) -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    labels = rng.random(3000) < scores
    source = fb.CertifiedCalibration(5).fit(scores if decimals is None else scores.round(decimals), labels).model_
    moved = fb.shift.LabelShift(source).fit(labels=[1] * 30 + [0] * 170).model_
    p, q = source.n_positive / source.n_samples, 0.15
    ones, zeros = source.values * q / p, (1 - source.values) * (1 - q) / (1 - p)
    np.testing.assert_allclose(moved.values, ones / (ones + zeros), rtol=1e-12)
    for name in ("edges", "first_step", "step_counts", "counts", "label_sums", "tie_counts", "ties", "n_tied", "scheme"):
        np.testing.assert_array_equal(getattr(moved, name), getattr(source, name), err_msg=name)
    assert fb.BinnedModel.from_bytes(moved.to_bytes()) == moved
    # The interval is that of the bin's rate, so it does not depend on the values.
    plain = fb.UniformMassBinning(5).fit(scores if decimals is None else scores.round(decimals), labels).model_
    if decimals is None:
        np.testing.assert_array_equal(moved.interval(), fb.shift.LabelShift(plain).fit(labels=[1] * 30 + [0] * 170).interval())


def test_the_certificate_of_two_resolutions_allows_for_any_mix_at_the_target() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    source = fb.CertifiedCalibration(5).fit(scores, rng.random(3000) < scores)
    moved = fb.shift.LabelShift(source).fit(labels=[1] * 30 + [0] * 170).model_
    certificate, ends = moved.certificate(0.1), moved.interval(0.1)
    for b, radius in enumerate(certificate.radii):
        own = moved.values[moved.first_step[b] : [*moved.first_step, moved.n_steps][b + 1]]
        assert radius == max(ends[b, 1] - own.min(), own.max() - ends[b, 0])
    assert certificate.epsilon == max(certificate.radii)
    assert certificate.n_steps == moved.n_steps
    assert "the average of what is served is within" in str(certificate)
    assert "between its least and its greatest value" in certificate.theorem
    with pytest.raises(fb.GuaranteeError, match="only kind='conditional'"):
        moved.certificate(0.1, "marginal")


def test_rates_are_estimated_over_evidence_bins() -> None:
    scores, labels = two_normals(6000)
    fine = fb.CertifiedCalibration(8).fit(scores, labels).model_
    coarse = fb.UniformMassBinning(8).fit(scores, labels).model_
    target, _ = two_normals(3000, 0.2, seed=1)
    likelihood = [fb.shift.rate_by_likelihood(model, target, n_bootstrap=50) for model in (fine, coarse)]
    assert likelihood[0] == likelihood[1]  # the values are not looked at
    confusion = fb.shift.rate_by_confusion(fine, target, threshold=0.5, n_bootstrap=50)
    assert confusion.rate == fb.shift.rate_by_confusion(coarse, target, threshold=0.5, n_bootstrap=50).rate
    assert abs(confusion.rate - 0.2) < 0.05
