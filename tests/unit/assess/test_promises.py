"""Which promise a check tests, at which level, of which rows: models without a tally, empty bins, and rows of the fit."""

from __future__ import annotations

import numpy as np
import pytest
from checked import model_of, samples_of

import fastbin as fb
from fastbin import assess
from fastbin.assess.bin_tests import Frequency, average_power
from fastbin.assess.bin_tests import tests_of_averages as averages_of
from fastbin.assess.verdict import p_is, shown_p


def test_few_rows_that_have_the_same_counts_are_not_those_of_the_fit() -> None:
    scores, labels = np.linspace(0.0, 1.0, 20), np.arange(20) % 2
    model = fb.UniformMassBinning(2).fit(scores, labels).model_
    others = np.where(scores == model.edges[0], scores, scores**1.001)
    steps = model.assign(others).tolist()
    assert steps == model.assign(scores).tolist()
    assert model.fingerprint
    assert not assess.check_certificate(model, others, labels, epsilon=0.4).is_calibration_set


def test_a_model_without_a_tally_can_be_checked() -> None:
    model, (scores, labels) = model_of([0.2, 0.6]), samples_of([0.2, 0.6], 2000)
    bare = fb.BinnedModel.from_parts(edges=model.edges, values=model.values, scheme="explicit")
    assert bare.n_samples == 0
    of_bare, of_model = (
        assess.check_certificate(each, scores, labels, certificate=model.certificate()) for each in (bare, model)
    )
    np.testing.assert_array_equal(of_bare.p_values, of_model.p_values)


def test_a_p_value_of_one_in_ten_thousand_is_written_out() -> None:
    assert (shown_p(1e-4), p_is(1e-4)) == ("0.0001", "= 0.0001")
    assert shown_p(9.9e-5) == p_is(9.9e-5) == "below 0.0001"


def test_bins_without_test_rows_have_no_share_of_the_level() -> None:
    check = assess.check_certificate(model_of([0.2, 0.5, 0.8]), *samples_of([0.35, 0.65], [100, 60]), epsilon=0.1)
    seen = check.counts > 0
    assert 0 < seen.sum() < 3
    assert check.interval_alpha == 0.05 / seen.sum()
    assert check.p_value == seen.sum() * check.p_values.min() < 1.0


def test_samples_of_wide_claims_are_enough_though_counts_vary() -> None:
    """One sample in each bin would do, and now and then a bin has none."""
    size = int(assess.samples_to_check(model_of([0.5] * 10), epsilon=0.5))
    confirming = Frequency(0.0, 1.0, 0.5).confirming(0.05 / 20)
    assert confirming is not None
    assert average_power(confirming, 0.1, size) >= 0.9**0.1 > average_power(confirming, 0.1, size - 1)


def test_steps_that_no_sample_had_do_not_spread_a_bin() -> None:
    model = fb.BinnedModel.from_parts(
        edges=[0.2, 0.5], values=[0.5, 0.9, 0.4], first_step=[0, 2], step_counts=[0, 50, 50], counts=[50, 50],
        label_sums=[45, 20], scheme="certified", ties="upper", n_bins_asked=2,
    )  # fmt: skip
    (mixed, _) = averages_of(model, np.array([0.1, 0.1]), "both")
    assert mixed.deviation == pytest.approx(0.3)  # type: ignore[union-attr]
