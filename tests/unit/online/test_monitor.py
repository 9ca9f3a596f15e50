"""The monitor's evidence against integration and exact cases, its state, its words, and what it refuses."""

from __future__ import annotations

import json
import math
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
import oracle
from fastbin import intervals
from fastbin.online import CalibrationMonitor
from fastbin.online.evidence import TwoSidedMixture
from monitored import EDGES, VALUES, outcomes, refuses, run, served
from reference.keys import KEY_ABOVE
from reference.monitor import Monitor, mixture_above, mixture_below, tolerated_interval, two_sided_mixture


def log_e(ones: int, zeros: int, lower: float, upper: float) -> float:
    mixture = TwoSidedMixture(np.array([[lower, upper]]))
    return float(mixture.log_e_values(np.zeros(1, np.int32), np.array([ones]), np.array([zeros]))[0])


# ------------------------------------------------------------------------------------------------- evidence


@oracle.cases("onesided_mixture")
def test_one_side_meets_the_exact_cases(case: oracle.Case) -> None:
    ones, count, limit = (case.inputs[name] for name in ("x", "t", "u"))
    # With a lower limit of 0 there are no alternatives below, so all the weight is above.
    assert log_e(ones, count - ones, 0.0, limit) == pytest.approx(case.expected["log_e"], abs=case.tolerance)
    assert log_e(count - ones, ones, 1.0 - limit, 1.0) == pytest.approx(case.expected["log_e"], abs=1e-9)


@oracle.cases("monitor")
def test_the_mean_over_bins_meets_the_exact_cases(case: oracle.Case) -> None:
    each = [
        math.exp(log_e(x, t - x, low, high))
        for x, t, low, high in zip(*(case.inputs[name] for name in ("x", "t", "lo", "hi")), strict=True)
    ]
    assert math.log(sum(each) / len(each)) == pytest.approx(case.expected["log_e"], abs=case.tolerance)


@settings(max_examples=25, deadline=None)
@given(
    ones=st.integers(0, 100),
    zeros=st.integers(0, 100),
    limits=st.tuples(st.floats(0.02, 0.98), st.floats(0.02, 0.98)).map(sorted),
)
def test_evidence_is_the_integral(ones: int, zeros: int, limits: list[float]) -> None:
    assert math.exp(log_e(ones, zeros, *limits)) == pytest.approx(two_sided_mixture(ones, zeros, *limits), rel=1e-6)


@pytest.mark.parametrize("limit", [0.0, 1e-12, 0.3, 1.0 - 1e-12, 1.0])
@pytest.mark.parametrize(("ones", "zeros"), [(0, 0), (0, 7), (7, 0), (3, 4)])
def test_evidence_at_the_ends_of_the_unit_interval(ones: int, zeros: int, limit: float) -> None:
    sides = [mixture_above(ones, zeros, limit)] if limit < 1.0 else []
    sides += [mixture_below(ones, zeros, limit)] if limit > 0.0 else []
    expected = sum(sides) / len(sides)
    found = log_e(ones, zeros, limit, limit)
    assert math.inf == found if math.isinf(expected) else math.exp(found) == pytest.approx(expected, rel=1e-5)


def test_everything_tolerated_is_no_evidence() -> None:
    assert log_e(1000, 3, 0.0, 1.0) == 0.0


@pytest.mark.parametrize(("ones", "zeros"), [(10, 990), (3000, 10**6), (2, 10**8), (10**8, 10**8)])
@pytest.mark.parametrize("limit", [0.3, 0.6, 0.999])
def test_evidence_far_from_the_limit_neither_underflows_nor_jumps(ones: int, zeros: int, limit: float) -> None:
    """Where all labels speak for the tolerated rates, E falls like one over the count: the integrand decays exponentially
    from its value at the limit, with the slope of the logarithm there."""
    if ones / (ones + zeros) > limit:
        limit = 0.7
    slope = zeros / (1.0 - limit) - ones / limit
    at_limit = 1.0 / (math.pi * math.sqrt(limit * (1.0 - limit)))  # density of Beta(1/2, 1/2)
    mass = 1.0 - 2.0 / math.pi * math.asin(math.sqrt(limit))
    assert log_e(ones, zeros, 0.0, limit) == pytest.approx(math.log(at_limit / mass / slope), abs=0.01)


# ------------------------------------------------------------------------------------------------- the monitor


@pytest.mark.parametrize(("tolerance", "rates"), [(0.0, [0.9, 0.4, 0.6, 0.9]), (0.05, [0.1, 0.95, 0.05, 0.9]), (0.1, VALUES)])
def test_the_monitor_is_its_reference(tolerance: float, rates: list[float]) -> None:
    scores, labels = outcomes(60, rates)
    monitor = CalibrationMonitor(served(), alpha=0.1, tolerance=tolerance)
    tolerated = [tolerated_interval(value, tolerance) for value in VALUES]
    expected = Monitor([(edge, KEY_ABOVE) for edge in EDGES], tolerated, alpha=0.1)
    for i in range(60):
        monitor.update(scores[i : i + 1], labels[i : i + 1])
        expected.update_one(scores[i], int(labels[i]))
        assert monitor.e_value == pytest.approx(expected.path[-1], rel=1e-6)
    assert monitor.max_e_value == pytest.approx(max(1.0, *expected.path), rel=1e-6)
    assert monitor.alarm_at == expected.alarm_at
    report = monitor.report()
    assert [b.named_at for b in report.bins] == expected.since
    assert [b.e_value for b in report.bins] == pytest.approx(expected.e_values, rel=1e-6)
    assert [(b.count, b.label_sum) for b in report.bins] == [
        (x + z, x) for x, z in zip(expected.ones, expected.zeros, strict=True)
    ]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 400), drift=st.sampled_from([0.0, 0.1, 0.4]))
def test_batches_do_not_matter(seed: int, n: int, drift: float) -> None:
    rng = Random(seed)
    scores, labels = outcomes(n, [min(1.0, value + drift) for value in VALUES], seed)
    at_once, cut = CalibrationMonitor(served(), tolerance=0.01), CalibrationMonitor(served(), tolerance=0.01)
    assert at_once.update(scores, labels) == at_once.alarm
    ends = sorted(rng.randrange(n + 1) for _ in range(5))
    for start, end in zip([0, *ends], [*ends, n], strict=True):
        cut.update(scores[start:end], labels[start:end])
        if rng.random() < 0.3:
            cut = CalibrationMonitor.from_bytes(cut.to_bytes())
    assert cut.to_bytes() == at_once.to_bytes()


def test_blocks_within_a_batch_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, labels = outcomes(1000, [0.2, 0.4, 0.6, 0.9])
    expected = run(served(), scores, labels)
    monkeypatch.setattr("fastbin.online.monitor.BLOCK_ENTRIES", 28)  # seven rows at a time
    assert run(served(), scores, labels) == expected
    assert expected.alarm


def test_the_alarm_stays_on_and_the_largest_evidence_is_kept() -> None:
    monitor = run(served(), *outcomes(800, [0.3, 0.4, 0.6, 0.9]))
    assert monitor.alarm
    at, largest = monitor.alarm_at, monitor.max_e_value
    assert monitor.update(*outcomes(20_000, [0.02, 0.4, 0.6, 0.9], seed=1)) is True  # and back, beyond the value
    assert monitor.alarm_at == at
    assert monitor.max_e_value >= largest


def test_tied_scores_are_looked_at_in_the_bins_that_their_keys_say() -> None:
    model = served(edge_keys=np.array([2**63] * 3, np.uint64), seed=4)
    scores, labels = np.full(200, 0.5), np.arange(200) % 3 == 0
    keys = np.random.default_rng(0).integers(0, 2**63, 200).astype(np.uint64) * 2
    monitor = CalibrationMonitor(model)
    monitor.update(scores, labels, keys=keys)
    assert [b.count for b in monitor.report().bins] == np.bincount(model.assign(scores, keys=keys), minlength=4).tolist()
    by_seed, by_default = CalibrationMonitor(model), CalibrationMonitor(model)
    by_seed.update(scores, labels, seed=4)
    by_default.update(scores, labels)
    assert by_seed == by_default != monitor


# ------------------------------------------------------------------------------------------------- what is tolerated


def test_what_is_tolerated() -> None:
    assert CalibrationMonitor(served()).tolerated.tolist() == [[v, v] for v in VALUES]
    assert CalibrationMonitor(served(), tolerance=0.2).tolerated.tolist() == [list(tolerated_interval(v, 0.2)) for v in VALUES]
    each = CalibrationMonitor(served(), tolerance=[0.0, 0.1, 0.2, 0.05]).tolerated
    assert each.tolist() == [list(tolerated_interval(v, t)) for v, t in zip(VALUES, [0.0, 0.1, 0.2, 0.05], strict=True)]
    randomised = CalibrationMonitor(served(delta=0.125), tolerance=0.125).tolerated
    assert randomised.tolist() == [list(tolerated_interval(v, 0.25)) for v in VALUES]
    with pytest.raises(ValueError, match="read-only"):
        each[0] = 0.5


def test_the_models_own_intervals_can_be_tolerated() -> None:
    cal = fb.UniformMassBinning(n_bins=4).fit(*outcomes(400))
    monitor = CalibrationMonitor(cal, alpha=0.05, interval_alpha=0.1)
    assert np.array_equal(monitor.tolerated, cal.model_.interval(0.1))
    wider = CalibrationMonitor(cal, tolerance=0.01, interval_alpha=0.1)
    assert np.allclose(np.diff(wider.tolerated), np.diff(monitor.tolerated) + 0.02)
    assert monitor.report().false_alarm_probability == pytest.approx(0.15)
    assert "at most 15 %" in str(monitor)


def test_a_bin_that_serves_certainty_is_refuted_by_one_outcome() -> None:
    monitor = CalibrationMonitor(served([0.0, 1.0]))
    assert not monitor.update([0.1, 0.9], [0, 1])
    assert monitor.update([0.1], [1])
    assert monitor.alarm_at == 3
    assert monitor.max_e_value == sys.float_info.max
    assert CalibrationMonitor.from_bytes(monitor.to_bytes()) == monitor
    json.dumps(monitor.report().to_dict(), allow_nan=False)


# ------------------------------------------------------------------------------------------------- words


def test_no_alarm_in_words() -> None:
    monitor = run(served(), *outcomes(1000), tolerance=0.05)
    assert re.fullmatch(
        r"No alarm after 1,000 outcomes: evidence [\d.e-]+, at most [\d.]+ so far, of the 20 that an alarm needs; the chance "
        r"of ever raising a false alarm is at most 5 %\.",
        str(monitor),
    )
    assert repr(monitor) == "CalibrationMonitor(alpha=0.05, 4 bins, 1000 outcomes, no alarm)"
    assert (monitor.alarm, monitor.alarm_at, monitor.n_samples) == (False, None, 1000)
    assert monitor.report().named == ()


def test_an_alarm_in_words_and_numbers() -> None:
    monitor = run(served(), *outcomes(2000, [0.1, 0.4, 0.4, 0.6]), tolerance=0.02)
    report = monitor.report()
    assert [b.bin for b in report.named] == [3, 2]
    worst, other = report.named
    assert worst.named_at < other.named_at
    assert worst.interval[0] < 0.6 < worst.interval[1] < 0.88 == pytest.approx(worst.tolerated[0])
    text = str(report)
    assert text.startswith(f"Alarm at outcome {monitor.alarm_at} of 2,000: some true rate has been outside its tolerated")
    assert "Drifted: bin 3 serves 0.900, and since the monitor began its true rate was on average between" in text
    assert text.endswith("What a rate is now may differ from its average.")
    assert f"(established at outcome {worst.named_at})" in text
    counts, sums = np.array([b.count for b in report.bins]), np.array([b.label_sum for b in report.bins])
    expected = intervals.beta_binomial(sums, counts, intervals.sidak(0.05, 4))
    assert [b.interval for b in report.bins] == [tuple(row) for row in expected.tolist()]
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content["named"] == [3, 2]
    assert content["alarm"] is True
    assert content["bins"][3]["interval"] == list(worst.interval)
    assert content["false_alarm_probability"] == 0.05


def test_an_alarm_that_names_no_bin_says_where_the_evidence_is() -> None:
    rates = [value + 0.08 for value in VALUES]
    for seed in range(20):
        monitor = CalibrationMonitor(served())
        scores, labels = outcomes(3000, rates, seed)
        while not monitor.alarm:
            n = monitor.n_samples
            monitor.update(scores[n : n + 1], labels[n : n + 1])
        if not monitor.report().named:
            break
    strongest = max(monitor.report().bins, key=lambda b: b.max_e_value)
    assert f"No bin is established on its own; the most evidence is against one: bin {strongest.bin} serves" in str(monitor)


# ------------------------------------------------------------------------------------------------- refusals


def test_configurations_are_checked() -> None:
    refuses(
        fb.InputError,
        "alpha is 5.0; alpha is the chance that the promise fails; did you mean 0.05?",
        CalibrationMonitor,
        served(),
        5.0,
    )
    refuses(fb.InputError, "interval_alpha is 0.0; a failure probability", CalibrationMonitor, served(), interval_alpha=0.0)
    refuses(fb.InputError, "tolerance is -0.1; it must be in [0, 1]", CalibrationMonitor, served(), tolerance=-0.1)
    refuses(fb.InputError, "tolerance is nan", CalibrationMonitor, served(), tolerance=float("nan"))
    refuses(fb.InputError, "tolerance[2] is 2.0", CalibrationMonitor, served(), tolerance=[0, 0, 2, 0])
    refuses(
        fb.InputError, "tolerance has shape (3,); give one number, or one", CalibrationMonitor, served(), tolerance=[0, 0, 0]
    )
    refuses(fb.InputTypeError, "model is of type list; pass a BinnedModel", CalibrationMonitor, [0.5])
    refuses(fb.NotFittedError, "not fitted yet", CalibrationMonitor, fb.UniformMassBinning())
    smooth = fb.PlattScaling().fit(*outcomes(100))
    refuses(fb.InputError, "model is a 'smooth' model, which has no bins to test", CalibrationMonitor, smooth)
    refuses(fb.GuaranteeError, "tally", CalibrationMonitor, served(), interval_alpha=0.1)


def test_bad_outcomes_are_refused_whole() -> None:
    monitor = run(served(), *outcomes(50))
    before = monitor.to_bytes()
    refuses(fb.InputError, "scores[1] is NaN", monitor.update, [0.5, float("nan")], [0, 1])
    refuses(fb.InputError, "labels[0] is 2", monitor.update, [0.5, 0.5], [2, 1])
    refuses(fb.InputError, "lengths differ", monitor.update, [0.5, 0.5], [1])
    assert monitor.to_bytes() == before


def test_threads_share_a_monitor() -> None:
    monitor = CalibrationMonitor(served(), tolerance=0.02)
    scores, labels = outcomes(8000)

    def look(number: int) -> None:
        for start in range(1000 * number, 1000 * number + 1000, 50):
            monitor.update(scores[start : start + 50], labels[start : start + 50])
            monitor.report()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(look, range(8)))
    alone = run(served(), scores, labels, tolerance=0.02)
    assert monitor.n_samples == 8000
    assert [b.label_sum for b in monitor.report().bins] == [b.label_sum for b in alone.report().bins]
    assert monitor.e_value == alone.e_value  # the evidence now is a function of the tally
