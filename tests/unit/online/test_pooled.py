"""Evidence that is pooled over bins and begins again: against plain products, its factors, its state, class-wise sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
from fastbin._core.score import evidence_in_counts, read_monitor, write_monitor
from fastbin.online import CalibrationMonitor, StreamingBinning
from fastbin.online.pooled import GRID, Factors
from monitored import EDGES, VALUES, of_earlier_version, outcomes, refuses, run, served
from reference.monitor import PAIRS, PooledMonitor, alternatives, factor, moved, tolerated_interval

ONE = np.array([1], np.int64)


def factors_of(value: float, low: float, high: float, grid: np.ndarray = GRID) -> Factors:
    return Factors(np.array([[low, high]]), np.array([value]), grid, ONE)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start every seven outcomes, of which three are kept."""
    monkeypatch.setattr("fastbin.online.pooled.SPACING", 7)
    monkeypatch.setattr("fastbin.online.pooled.MOST_STARTS", 3)


# ------------------------------------------------------------------------------------------------- factors


def test_the_grid_is_that_of_the_page() -> None:
    assert list(map(tuple, GRID.tolist())) == PAIRS


def test_the_factors_of_one_pair_in_numbers() -> None:
    """Served 0.35, tolerated 0.3 to 0.4, log odds moved up by a half."""
    found = np.exp(factors_of(0.35, 0.3, 0.4, np.array([[1.0, 0.5]])).pooled[0, :, 0])
    assert found.tolist() == pytest.approx([0.882875, 1.175688], abs=2e-6)
    assert moved(0.35, 1.0, 0.5) == pytest.approx(0.470275, abs=5e-7)


RATES = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 5e-324, 1e-12, 1.0 - 1e-12, 0.5]))


@given(st.lists(RATES, min_size=3, max_size=3).map(sorted))
def test_no_factor_is_expected_above_one(ordered: list[float]) -> None:
    """Under any tolerated rate; it is linear in the rate, so that the ends suffice."""
    low, value, high = ordered
    factors = factors_of(value, low, high)
    assert np.isfinite(factors.own).all()
    assert np.isfinite(factors.pooled).all()
    for table in (factors.own[0], factors.pooled[0]):
        for p in (low, high):
            logs = [math.log1p(-p) if p < 1.0 else -math.inf, math.log(p) if p > 0.0 else -math.inf]
            expected = np.exp(np.array(logs)[:, np.newaxis] + table).sum(axis=0)
            assert (expected <= 1.0 + 1e-12).all()


@pytest.mark.parametrize("ends", [(0.3, 0.4), (0.5, 0.5), (0.0, 0.2), (0.9, 1.0), (0.0, 1.0), (1e-9, 0.01)])
def test_factors_are_their_reference(ends: tuple[float, float]) -> None:
    value = (ends[0] + ends[1]) / 2.0
    factors, rates = factors_of(value, *ends), alternatives(*ends)
    for label in (0, 1):
        own = sorted({round(float(x), 9) for x in np.exp(factors.own[0, label])})
        assert own == pytest.approx(sorted({round(factor(label, q, *ends), 9) for q in rates} or {1.0}), abs=2e-9)
        pooled = [factor(label, moved(value, a, c), *ends) if 0.0 < value < 1.0 else 1.0 for a, c in PAIRS]
        assert np.exp(factors.pooled[0, label]).tolist() == pytest.approx(pooled, rel=2e-6)


def test_sums_of_pooled_logarithms_are_exact() -> None:
    table = factors_of(0.37, 0.36, 0.38).pooled
    steps = table * 2.0**20
    assert np.array_equal(steps, np.round(steps))


# ------------------------------------------------------------------------------------------------- against plain products


@pytest.mark.parametrize(("tolerance", "rates"), [(0.0, [0.9, 0.4, 0.6, 0.9]), (0.05, [0.1, 0.9, 0.1, 0.9]), (0.3, VALUES)])
def test_the_monitor_is_its_reference(short: None, tolerance: float, rates: list[float]) -> None:
    scores, labels = outcomes(36, rates)  # of five starts two have gone
    monitor = CalibrationMonitor(served(), alpha=0.1, tolerance=tolerance)
    tolerated = [tolerated_interval(value, tolerance) for value in VALUES]
    expected = PooledMonitor(VALUES, tolerated, [0] * 4, spacing=7, most=3)
    for i, b in enumerate(np.searchsorted(EDGES, scores, side="right").tolist()):
        monitor.update(scores[i : i + 1], labels[i : i + 1])
        expected.update_one([(b, int(labels[i]))])
        assert monitor.e_value == pytest.approx(expected.evidence(), rel=6e-5)  # a millionth is lost with a label
    assert monitor.max_e_value == pytest.approx(max(1.0, *expected.path), rel=6e-5)
    starts = monitor._state.starts
    assert starts is not None
    assert starts.at.tolist() == [start.at for start in expected.starts[1:]]
    assert starts.weights.tolist() == pytest.approx([start.share for start in expected.starts[1:]])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 150), drift=st.sampled_from([0.0, 0.1, 0.4]))
def test_batches_and_states_do_not_matter(seed: int, n: int, drift: float) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = outcomes(n, [min(1.0, value + drift) for value in VALUES], seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastbin.online.pooled.SPACING", 7)
        patch.setattr("fastbin.online.pooled.MOST_STARTS", 3)
        at_once, cut = (CalibrationMonitor(served(), tolerance=0.01) for _ in range(2))
        at_once.update(scores, labels)
        for rows in np.array_split(np.arange(n), np.sort(rng.integers(0, n + 1, 5))):
            cut.update(scores[rows], labels[rows])
            cut = CalibrationMonitor.from_bytes(cut.to_bytes())
        assert cut.to_bytes() == at_once.to_bytes()
        assert cut.report() == at_once.report()


def test_a_start_changes_no_evidence_and_a_place_that_is_made_takes_some() -> None:
    monitor = run(served(), *outcomes(8999))
    assert monitor._state.starts is not None
    starts, (counts, ones, _) = monitor._state.starts, monitor._state.stream.tally()
    assert len(starts.at) == 8
    log_means = np.zeros(1)
    before, weakest = starts.log_total(log_means), np.exp(np.min(starts.log_each(0.0)[1:]))
    starts.begin_again(counts, ones, 9000)
    assert len(starts.at) == 8
    assert np.exp(starts.log_total(log_means)) == pytest.approx(np.exp(before) - weakest, rel=1e-12)
    early = CalibrationMonitor(served())._state.starts
    assert early is not None
    before = early.log_total(log_means)
    for number in (1000, 2000, 5500):
        early.begin_again(counts, ones, number)
    assert early.log_total(log_means) == pytest.approx(before, abs=1e-15)
    assert before[0] == 0.0
    assert early.log_total(np.array([700.0])) == pytest.approx(700.0 + math.log(0.375), abs=1e-12)  # beyond what is added up


def test_late_drift_is_found_by_a_late_start() -> None:
    scores, labels = outcomes(10_000, seed=1)
    moved_scores, moved_labels = outcomes(3000, [0.1, 0.4, 0.6, 0.75], seed=2)
    monitor, earlier = CalibrationMonitor(served()), of_earlier_version(served())
    for one in (monitor, earlier):
        assert not one.update(scores, labels)
        one.update(moved_scores, moved_labels)
    report = monitor.report()
    assert report.alarm_at is not None
    assert report.best_start in (10_000, 11_000)
    assert earlier.alarm_at is None or report.alarm_at < earlier.alarm_at
    bin_3 = report.bins[3]
    assert bin_3.interval_since[0] < 0.75 < bin_3.interval_since[1] < bin_3.interval[1]
    assert bin_3.count_since < bin_3.count
    text = str(report)
    assert f"Most of the evidence has come since outcome {report.best_start:,}." in text
    low, high = bin_3.interval_since
    assert f", and since outcome {report.best_start:,} between {low:.3f} and {high:.3f}" in text
    assert report.to_dict()["best_start"] == report.best_start


def test_a_start_without_an_outcome_shows_nothing() -> None:
    """Once 20 ones have raised an alarm and all outcomes together agree, a start of this moment would have most evidence."""
    model = fb.FixedWidthBinning(1).fit(np.full(4000, 0.5), np.arange(4000) % 10 < 3).model_
    monitor = CalibrationMonitor(model, interval_alpha=0.1)
    labels = np.append(np.ones(20, int), np.arange(980) * 2 % 7 < 2)
    monitor.update(np.full(1000, 0.5), labels)
    report = monitor.report()
    assert report.alarm_at is not None
    assert report.best_start == 0
    assert "Most of the evidence" not in str(report)


# ------------------------------------------------------------------------------------------------- the state


def test_states_of_earlier_versions_go_on_as_they_were() -> None:
    """With the evidence of their bins since the beginning: changing to another would spend alpha twice."""
    scores, labels = outcomes(3000, [0.2, 0.4, 0.6, 0.9])
    whole = of_earlier_version(served(), tolerance=0.02)
    whole.update(scores, labels)
    part = of_earlier_version(served(), tolerance=0.02)
    part.update(scores[:1500], labels[:1500])
    data = part.to_bytes()
    assert b"GRID" not in data
    assert b"STRT" not in data
    read = CalibrationMonitor.from_bytes(data)
    read.update(scores[1500:], labels[1500:])
    assert read == whole
    assert (read.report().best_start, read.report().best_e_value) == (0, read.e_value)


def parts(n: int = 3000) -> dict[str, Any]:
    return read_monitor(run(served(), *outcomes(n)).to_bytes())


def written(changed: dict[str, Any]) -> bytes:
    return write_monitor(StreamingBinning.from_bytes(changed.pop("stream")), **changed)


def test_the_state_holds_the_grid_and_the_starts() -> None:
    told = parts()
    assert np.array_equal(told["grid"], GRID)
    assert told["class_bins"].tolist() == [4]
    assert told["start_at"].tolist() == [1000, 2000, 3000]
    assert told["start_counts"].sum(axis=1).tolist() == [1000, 2000, 3000]
    assert told["start_weights"].tolist() == pytest.approx([1 / 12, 1 / 24, 1 / 40])
    data = written(parts())
    assert CalibrationMonitor.from_bytes(data) == run(served(), *outcomes(3000))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("start_at", lambda at: at[::-1].copy()),
        ("start_at", lambda at: at + 500),
        ("start_at", lambda at: at * 0),
        ("start_weights", lambda weights: weights + 0.3),
        ("start_weights", lambda weights: weights * 0.0),
        ("start_weights", lambda weights: weights * np.nan),
        ("start_counts", lambda counts: counts[::-1].copy()),
        ("start_counts", lambda counts: counts + 1),
        ("start_ones", lambda ones: ones - 10_000),
        ("start_ones", lambda ones: ones[::-1].copy()),
        ("grid", lambda grid: grid + np.inf),
        ("grid", lambda grid: grid[:0]),
        ("class_bins", lambda bins: bins - 1),
        ("class_bins", lambda bins: np.array([2, 2])),
        ("class_bins", lambda bins: np.array([4, 0])),
        ("class_bins", lambda bins: bins[:0]),
    ],
)
def test_states_that_cannot_be_are_refused(name: str, change: Any) -> None:
    told = parts()
    told[name] = change(told[name])
    with pytest.raises(fb.FormatError, match="contradicts itself"):
        written(told)


def test_the_evidence_of_a_start_stays_a_double() -> None:
    many = np.array([[10**6]])
    assert evidence_in_counts(np.ones((1, 2, 3)), many, many) == pytest.approx(math.exp(600.0))


def test_evidence_of_starts_that_is_above_the_largest_is_refused() -> None:
    scores, labels = outcomes(400, [0.2, 0.4, 0.6, 0.9], seed=3)
    drifted = read_monitor(run(served(), scores, labels).to_bytes())
    assert drifted["max_log_mean"] > 0.1
    drifted["max_log_mean"], drifted["alarm_at"] = 0.0, 0
    message = "the largest evidence is below that of the outcomes counted"
    refuses(fb.FormatError, message, CalibrationMonitor.from_bytes, written(drifted))


# ------------------------------------------------------------------------------------------------- class-wise sets


RNG = np.random.default_rng(8)
CLASSES = ["cat", "dog", "owl"]
P = RNG.dirichlet([1.0, 1.0, 1.0], 3000)
TRUTH = (RNG.random((3000, 1)) > np.cumsum(P, axis=1)).sum(axis=1)
WISE = fb.multi.ClassWiseBinning(n_bins=3, classes=CLASSES).fit(P[:1500], np.array(CLASSES)[TRUTH[:1500]]).model_


def rows_of(matrix: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """A row for each outcome and class."""
    return {
        "scores": matrix.ravel(), "labels": (truth[:, np.newaxis] == np.arange(3)).ravel().astype(int),
        "cells": np.tile(CLASSES, len(matrix)),
    }  # fmt: skip


def test_a_class_wise_set_is_its_reference(short: None) -> None:
    monitor = CalibrationMonitor(WISE, tolerance=0.02)
    values = np.concatenate([model.bin_values for _, model in WISE.numbered])
    expected = PooledMonitor(values, list(map(tuple, monitor.tolerated)), np.repeat([0, 1, 2], 3), spacing=7, most=3)
    for i in range(30):
        own = rows_of(P[i : i + 1], TRUTH[i : i + 1])
        bins = WISE.assign_all(own["scores"], own["cells"])
        monitor.update(**own)
        expected.update_one(list(zip(bins.tolist(), own["labels"].tolist(), strict=True)))
        assert monitor.e_value == pytest.approx(expected.evidence(), rel=6e-5)
    assert monitor.n_samples == 30
    assert monitor._state.starts is not None
    assert monitor._state.starts.at.tolist() == [start.at for start in expected.starts[1:]]


def test_a_class_wise_set_in_batches_and_states() -> None:
    whole, cut = CalibrationMonitor(WISE, tolerance=0.03), CalibrationMonitor(WISE, tolerance=0.03)
    drifted = np.where(RNG.random(1500) < 0.15, 0, TRUTH[1500:])
    assert whole.update(**rows_of(P[1500:], drifted))
    for rows in np.array_split(np.arange(1500), [1, 400, 999, 1000, 1001]):
        cut.update(**rows_of(P[1500:][rows], drifted[rows]))
        cut = CalibrationMonitor.from_bytes(cut.to_bytes()).attach(WISE)
    assert cut.to_bytes() == whole.to_bytes()
    report = whole.report()
    assert report.n_samples == 1500
    assert report.alarm_at is not None
    assert report.alarm_at <= 1500
    assert {b.cell for b in report.bins} == set(CLASSES)
    ends = [fb.intervals.beta_binomial([b.label_sum], [b.count], 0.05 / 9)[0].tolist() for b in report.bins]
    assert [list(b.interval) for b in report.bins] == ends  # by Bonferroni: the classes of an outcome are not independent
    own = WISE.assign_all(**{name: rows_of(P[1500:], drifted)[name] for name in ("scores", "cells")})
    counts, is_one = np.bincount(own, minlength=9), rows_of(P[1500:], drifted)["labels"] == 1
    by_counts = CalibrationMonitor(WISE, tolerance=0.03)
    by_counts.update_counts(counts, np.bincount(own[is_one], minlength=9))
    assert by_counts.n_samples == 1500
    assert [b.e_value for b in by_counts.report().bins] == [b.e_value for b in report.bins]


def test_a_key_is_that_of_the_outcome_in_all_classes() -> None:
    tied = np.repeat([[0.25, 0.25, 0.5]], 800, axis=0)
    truth = RNG.integers(0, 3, 800)
    binning = fb.UniformMassBinning(n_bins=2, ties="random")
    models = fb.multi.ClassWiseBinning(calibrator=binning, classes=CLASSES).fit(tied, np.array(CLASSES)[truth]).model_
    whole, parts = CalibrationMonitor(models), CalibrationMonitor(models)
    whole.update(**rows_of(tied, truth), seed=4)
    for rows in np.array_split(np.arange(800), 5):
        parts.update(**rows_of(tied[rows], truth[rows]), seed=4)
    assert parts == whole
    counts = np.array([b.count for b in whole.report().bins]).reshape(3, 2)
    assert counts.sum(axis=1).tolist() == [800] * 3
    assigned = models["cat"].assign(tied[:, 0], seed=4)
    assert counts[0].tolist() == np.bincount(assigned, minlength=2).tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [0.2, 0.8], "labels": [0, 1], "cells": ["cat", "dog"]}, "cells has 2 rows, and an outcome has 3; give"),
        ({"cells": ["cat", "cat", "owl"]}, "cells[0] begins an outcome whose rows are of 'cat', 'cat', 'owl'; give the 3"),
        ({"labels": [1, 1, 0]}, "labels[0] begins an outcome that is of 2 classes; the label is 1 in the row of the"),
        ({"labels": [0, 0, 0]}, "labels[0] begins an outcome that is of 0 classes"),
        ({"cells": None}, "cells is missing"),
    ],
)
def test_rows_that_are_no_outcomes_are_refused(change: dict[str, Any], message: str) -> None:
    monitor = CalibrationMonitor(WISE)
    good = {"scores": [0.2, 0.3, 0.5], "labels": [0, 1, 0], "cells": CLASSES}
    refuses(fb.InputError, message, monitor.update, **{**good, **change})
    monitor.update(**good)
    other = CalibrationMonitor(WISE)
    other.update(**{name: column[::-1] for name, column in good.items()})  # the rows of an outcome may have any order
    assert monitor.report() == other.report()
    assert monitor.n_samples == 1


def test_counts_of_classes_that_do_not_add_up_are_refused() -> None:
    monitor = CalibrationMonitor(WISE)
    message = "counts has 5 outcomes of 'dog', and 4 of 'cat'; every outcome counts once in each class"
    refuses(fb.InputError, message, monitor.update_counts, [4, 0, 0, 5, 0, 0, 4, 0, 0], [0] * 9)
    assert monitor.n_samples == 0
