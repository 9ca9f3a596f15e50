"""Monitors and streams that are told counts: what they know is what the outcomes would have told them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from exported import MODELS, hard_rows, model_of
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
from fastbin.online import CalibrationMonitor, StreamingBinning
from fastbin.online.evidence import TwoSidedMixture
from fastbin.online.monitor import MOST_OUTCOMES
from fastbin.online.streaming import row_of_each_bin
from monitored import VALUES, outcomes, refuses, served
from strategies import examples


def tallied(model: Any, scores: np.ndarray, labels: np.ndarray, tie_keys: Any = None) -> tuple[np.ndarray, np.ndarray]:
    bins = model.assign(scores, tie_keys=tie_keys)
    return np.bincount(bins, minlength=model.n_bins), np.bincount(bins[labels == 1], minlength=model.n_bins)


# ------------------------------------------------------------------------------------------------- monitors


@settings(max_examples=examples(40), deadline=None)
@given(
    days=st.lists(st.integers(0, 190), min_size=1, max_size=5), seed=st.integers(0, 2**32), shift=st.floats(-0.1, 0.1),
    tolerance=st.sampled_from([0.0, 0.05]),
)  # fmt: skip
def test_the_evidence_after_a_batch_is_that_after_its_last_outcome(
    days: list[int], seed: int, shift: float, tolerance: float
) -> None:
    model, rates = served(), np.clip(np.array(VALUES) + shift, 0.0, 1.0).tolist()
    scores, labels = outcomes(sum(days), rates, seed)
    one_by_one, by_day = (CalibrationMonitor(model, tolerance=tolerance) for _ in range(2))
    end = 0
    for size in days:
        start, end = end, end + size
        one_by_one.update(scores[start:end], labels[start:end])
        by_day.update_counts(*tallied(model, scores[start:end], labels[start:end]))
        assert by_day.e_value == one_by_one.e_value
        assert [b.e_value for b in by_day.report().bins] == [b.e_value for b in one_by_one.report().bins]
        assert by_day.n_samples == one_by_one.n_samples
        assert by_day.max_e_value <= one_by_one.max_e_value
    if by_day.alarm:  # never before the outcome at which the evidence sufficed
        assert one_by_one.alarm_at is not None
        assert by_day.alarm_at is not None
        assert one_by_one.alarm_at <= by_day.alarm_at
        assert by_day.alarm_at in np.cumsum(days)


def test_days_that_end_where_the_evidence_begins_again_are_the_outcomes_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastbin.online.pooled.SPACING", 50)
    scores, labels = outcomes(1200, seed=5)
    one_by_one, by_day = (CalibrationMonitor(served(), tolerance=0.05) for _ in range(2))
    for start in range(0, 1200, 25):
        day = slice(start, start + 25)
        one_by_one.update(scores[day], labels[day])
        by_day.update_counts(*tallied(served(), scores[day], labels[day]))
        assert by_day.e_value == one_by_one.e_value
    mine, theirs = by_day._state.starts, one_by_one._state.starts
    assert mine is not None
    assert theirs is not None
    for name in ("at", "weights", "counts", "ones"):
        assert np.array_equal(getattr(mine, name), getattr(theirs, name))


def test_a_day_of_several_starts_has_their_shares_at_its_end() -> None:
    monitor = CalibrationMonitor(served())
    for n in (300, 3900, 500):
        monitor.update_counts([n, 0, 0, 0], [n // 10, 0, 0, 0])
    starts = monitor._state.starts
    assert starts is not None
    assert starts.at.tolist() == [4200]
    assert starts.weights.tolist() == pytest.approx([sum(1 / (2 * (j + 1) * (j + 2)) for j in range(1, 5))])
    assert CalibrationMonitor.from_bytes(monitor.to_bytes()) == monitor


def test_an_alarm_within_a_day_is_seen_at_its_end() -> None:
    model = served()
    scores, labels = outcomes(3000, [0.3, 0.4, 0.6, 0.9])
    one_by_one, by_day = (CalibrationMonitor(model, tolerance=0.05) for _ in range(2))
    assert one_by_one.update(scores, labels)
    assert by_day.update_counts(*tallied(model, scores, labels))
    assert one_by_one.alarm_at is not None
    assert one_by_one.alarm_at < by_day.alarm_at == 3000
    assert [b.bin for b in by_day.report().named] == [0]
    assert by_day.report().named[0].named_at == 3000


@pytest.mark.parametrize(("ones", "is_named"), [(23, False), (24, True)])
def test_a_bin_is_named_where_its_evidence_pays_for_the_choice_among_all(ones: int, is_named: bool) -> None:
    monitor = CalibrationMonitor(served(), alpha=0.05)
    monitor.update_counts([100, 0, 0, 0], [ones, 0, 0, 0])
    log_e = float(monitor._state.log_e[0])
    assert math.log(1 / 0.05) <= log_e
    assert (math.log(4 / 0.05) <= log_e) == is_named == bool(monitor.report().named)


def test_counts_and_outcomes_can_be_mixed_and_the_state_is_kept() -> None:
    model = served()
    scores, labels = outcomes(900)
    monitor, other = (CalibrationMonitor(model) for _ in range(2))
    monitor.update(scores[:300], labels[:300])
    monitor.update_counts(*tallied(model, scores[300:600], labels[300:600]))
    monitor = CalibrationMonitor.from_bytes(monitor.to_bytes())
    monitor.update(scores[600:], labels[600:])
    other.update(scores, labels)
    assert monitor.e_value == other.e_value
    assert monitor.n_samples == 900


def test_the_bins_of_a_set_are_told_in_its_order() -> None:
    models = fb.ModelSet({"a": served(), "b": served([0.2, 0.7])})
    rng = np.random.default_rng(0)
    scores, labels, cells = rng.random(1000), rng.integers(0, 2, 1000), rng.choice(["a", "b"], 1000).tolist()
    bins = models.assign_all(scores, cells)
    one_by_one, at_once = CalibrationMonitor(models), CalibrationMonitor(models)
    one_by_one.update(scores, labels, cells=cells)
    at_once.update_counts(np.bincount(bins, minlength=6), np.bincount(bins[labels == 1], minlength=6))
    assert at_once.e_value == one_by_one.e_value


@pytest.mark.parametrize(
    ("limit", "ones", "above", "below"),
    [
        (0.3, 329853488333, -14.3214162477, -13.7849513762), (0.3, 329854929886, -9.12962699419, -15.1995298009),
        (0.09336, 102649795432, -15.6516709801, -10.4906399646), (0.7, 769660542033, -0.591783012496, -16.1932679687),
    ],
)  # fmt: skip
def test_evidence_of_most_outcomes_is_right_to_a_hundredth(limit: float, ones: int, above: float, below: float) -> None:
    """The integrals of the module's first lines by quadrature with 60 digits, in mpmath."""
    mixture = TwoSidedMixture(np.array([[limit, limit]]))
    found = mixture.log_e_values(np.zeros(1, np.int32), np.array([ones]), np.array([MOST_OUTCOMES - ones]))
    assert found[0] == pytest.approx(np.logaddexp(above, below) - np.log(2.0), abs=0.01)


def test_more_outcomes_than_evidence_is_right_for_are_refused() -> None:
    """With 5e15 outcomes in each of five bins at their rates, the evidence was 7.9e3."""
    rates = [0.09336, 0.3333333, 0.5, 0.7, 0.9066]
    monitor = CalibrationMonitor(fb.BinnedModel.from_parts(edges=[0.2, 0.4, 0.6, 0.8], values=rates, scheme="explicit"))
    day = [MOST_OUTCOMES // 5] * 5, [round(MOST_OUTCOMES // 5 * rate) for rate in rates]
    assert not monitor.update_counts(*day)
    assert monitor.e_value < 1.0
    before = monitor.to_bytes()
    for count in (lambda: monitor.update_counts(*day), lambda: monitor.update([0.1] * 2, [0, 1])):
        refuses(fb.InputError, "outcomes in the monitor, and rounding spoils evidence of more than 2**40; begin a new", count)
    assert monitor.to_bytes() == before
    assert "No alarm after 1,099,511,627,775 outcomes" in str(monitor)


@pytest.mark.filterwarnings("error")
def test_evidence_that_doubles_do_not_hold_is_none() -> None:
    model = fb.BinnedModel.from_parts(edges=[0.5], values=[0.3, 0.7], scheme="explicit")
    monitor = CalibrationMonitor(model)
    for _ in range(10):  # the later starts have none either, and the weakest of them makes place
        assert not monitor.update_counts([500_000] * 2, [150_000, 350_000])
    assert "No alarm after 10,000,000 outcomes" in str(monitor)
    assert monitor.report().best_start == 0


def test_a_billion_outcomes_a_day_are_no_work() -> None:
    monitor = CalibrationMonitor(served(), tolerance=0.01)
    assert not monitor.update_counts([10**9] * 4, [10**8, 4 * 10**8, 6 * 10**8, 9 * 10**8])
    assert monitor.n_samples == 4 * 10**9
    assert monitor.update_counts([10**9] * 4, [2 * 10**8, 4 * 10**8, 6 * 10**8, 9 * 10**8])


@pytest.mark.parametrize("make", [lambda: CalibrationMonitor(served()), lambda: StreamingBinning(served())])
def test_what_no_counts_are_is_refused_and_nothing_is_counted(make: Any) -> None:
    state = make()
    refuses(fb.InputError, "counts has shape (2,); give one number for each of the 4 bins", state.update_counts, [1, 2], [0, 0])
    refuses(fb.InputTypeError, "counts has dtype float64; counts are integers", state.update_counts, [1.0] * 4, [0] * 4)
    refuses(fb.InputError, "counts[1] is -1; counts are not negative", state.update_counts, [1, -1, 1, 1], [0] * 4)
    refuses(fb.InputError, "label_sums[2] is 2, and counts[2] only 1", state.update_counts, [1] * 4, [0, 1, 2, 0])
    refuses(fb.InputError, "counts adds up to more than 2**53 samples", state.update_counts, [2**53, 1, 0, 0], [0] * 4)
    assert state.n_samples == 0


# ------------------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("name", list(MODELS))
def test_a_stream_of_counts_has_the_tally_of_the_samples(name: str) -> None:
    model = model_of(name)
    rows = hard_rows(model, 5000)
    keys = None if rows.keys is None else np.minimum(rows.keys, np.uint64(2**64 - 2))
    labels = np.random.default_rng(0).integers(0, 2, 5000).astype(np.uint8)
    one_by_one, at_once = StreamingBinning(model), StreamingBinning(model)
    one_by_one.update(rows.scores, labels, tie_keys=keys)
    at_once.update_counts(*tallied(model, rows.scores, labels, keys))
    for mine, other in zip(at_once.tally()[:2], one_by_one.tally()[:2], strict=True):
        assert np.array_equal(mine, other)
    assert at_once.running_variances is None or at_once.counts.max() == 1
    assert np.array_equal(at_once.interval(), one_by_one.interval())
    again = StreamingBinning.from_bytes(at_once.to_bytes())
    again.update_counts(one_by_one.counts, one_by_one.label_sums)
    assert np.array_equal(again.counts, 2 * one_by_one.counts)


@pytest.mark.parametrize("name", list(MODELS))
def test_the_row_of_a_bin_lies_in_it_if_any_does(name: str) -> None:
    model = model_of(name)
    scores, keys = row_of_each_bin(model)
    rows = hard_rows(model, 20_000)
    held = np.unique(model.assign(rows.scores, tie_keys=rows.keys))
    assert np.array_equal(model.assign(scores, tie_keys=keys)[held], held)


def test_a_bin_that_holds_no_score_counts_none() -> None:
    stream = StreamingBinning(
        fb.BinnedModel.from_parts(edges=[0.5, np.nextafter(0.5, 1)], edge_keys=[2**64 - 1, 0], values=[0.1, 0.2, 0.3])
    )
    stream.update_counts([1, 0, 1], [0, 0, 1])
    refuses(fb.InputError, "counts[1] is 2, and no score lies in bin 1", stream.update_counts, [0, 2, 0], [0, 0, 0])


@pytest.mark.parametrize(
    ("edges", "edge_keys", "score_range", "score", "key"),
    [
        ([0.5, np.nextafter(0.5, 1)], [2**64 - 1, 2**63], (0, 1), np.nextafter(0.5, 1), 5),
        ([0.0, 0.5], [7, 0], (0, 1), 0.0, 6),
        ([-np.finfo(float).max], [9], None, -np.finfo(float).max, 8),
        ([np.finfo(float).max], [9], None, np.finfo(float).max, 10),
        ([-5.0], [0], (-6.0, 1.0), -6.0, 0),
        ([], [], (-3.0, -2.0), -2.0, 0),
    ],
)
def test_a_bin_of_scores_at_an_edge_alone_counts_them(
    edges: list[float], edge_keys: list[int], score_range: Any, score: float, key: int
) -> None:
    values = np.linspace(0.1, 0.9, len(edges) + 1)
    model = fb.BinnedModel.from_parts(edges=edges, edge_keys=edge_keys, values=values, score_range=score_range)
    stream, expected = StreamingBinning(model), StreamingBinning(model)
    counts = np.zeros(len(values), np.int64)
    counts[expected.update_one(score, 1, tie_key=key)] = 1
    stream.update_counts(counts, counts)
    assert stream.counts.tolist() == expected.counts.tolist()


def test_a_stream_that_goes_on_from_a_fit_takes_counts() -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(500)
    model = fb.UniformMassBinning(5).fit(scores, rng.random(500) < scores).model_
    stream = StreamingBinning(model, continue_fit=True)
    stream.update_counts([3] * 5, [1] * 5)
    assert np.array_equal(stream.counts, model.counts + 3)
    assert np.array_equal(stream.label_sums, model.label_sums + 1)
