"""The monitor of a model or a set: evidence against integration and exact cases, words, refusals, and its state."""

from __future__ import annotations

import base64
import json
import math
import pickle
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
import oracle
from fastbin import intervals
from fastbin.online import CalibrationMonitor
from fastbin.online.evidence import TwoSidedMixture
from monitored import EDGES, VALUES, of_earlier_version, outcomes, refuses, run, served
from reference.keys import KEY_ABOVE
from reference.monitor import Monitor, mixture_above, mixture_below, tolerated_interval, two_sided_mixture
from strategies import examples

SMOOTH = fb.BinnedModel.from_parts(
    edges=[], values=[], scheme="platt", kind="smooth", map="logistic", map_parameters=(1.0, 0.0)
)


def log_e(ones: int, zeros: int, lower: float, upper: float) -> float:
    mixture = TwoSidedMixture(np.array([[lower, upper]]))
    return float(mixture.log_e_values(np.zeros(1, np.int32), np.array([ones]), np.array([zeros]))[0])


# ------------------------------------------------------------------------------------------------- evidence


@oracle.cases("onesided_mixture")
def test_one_side_meets_the_exact_cases(case: oracle.Case) -> None:
    ones, count, limit = (case.inputs[name] for name in ("x", "t", "u"))
    # With a lower limit of 0 alternatives below do not exist, so all the weight is above.
    assert log_e(ones, count - ones, 0.0, limit) == pytest.approx(case.expected["log_e"], abs=case.tolerance)
    assert log_e(count - ones, ones, 1.0 - limit, 1.0) == pytest.approx(case.expected["log_e"], abs=1e-9)


@oracle.cases("monitor")
def test_the_mean_over_bins_meets_the_exact_cases(case: oracle.Case) -> None:
    each = [
        math.exp(log_e(x, t - x, low, high))
        for x, t, low, high in zip(*(case.inputs[name] for name in ("x", "t", "lo", "hi")), strict=True)
    ]
    assert math.log(sum(each) / len(each)) == pytest.approx(case.expected["log_e"], abs=case.tolerance)


@settings(max_examples=examples(25), deadline=None)
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
def test_evidence_of_earlier_versions_is_its_reference(tolerance: float, rates: list[float]) -> None:
    scores, labels = outcomes(60, rates)
    monitor = of_earlier_version(served(), alpha=0.1, tolerance=tolerance)
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


@settings(max_examples=examples(40), deadline=None)
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
    monkeypatch.setattr("fastbin.online.evidence.BLOCK_ENTRIES", 28)  # seven rows at a time
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
    monitor.update(scores, labels, tie_keys=keys)
    assert [b.count for b in monitor.report().bins] == np.bincount(model.assign(scores, tie_keys=keys), minlength=4).tolist()
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


def test_the_chance_of_a_false_alarm_is_rounded_up() -> None:
    monitor = CalibrationMonitor(served(), alpha=0.12341)
    assert "of ever raising a false alarm is at most 12.35 %." in str(monitor)


def test_no_alarm_in_words() -> None:
    monitor = run(served(), *outcomes(1000), tolerance=0.05)
    assert re.fullmatch(
        r"No alarm after 1,000 outcomes: evidence [\d.e-]+, at most [\d.]+ so far, of the 20 that an alarm needs; the chance "
        r"of ever raising a false alarm is at most 5 %\.",
        str(monitor),
    )
    assert repr(monitor) == "CalibrationMonitor(alpha=0.05, 4 bins, 1,000 outcomes, no alarm)"
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


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (fb.InputError, "alpha is 5.0; alpha is the chance that the promise fails; did you mean 0.05?", {"alpha": 5.0}),
        (fb.InputError, "interval_alpha is 0.0; a failure probability", {"interval_alpha": 0.0}),
        (fb.InputError, "tolerance is -0.1; it must be in [0, 1]", {"tolerance": -0.1}),
        (fb.InputError, "tolerance is nan", {"tolerance": float("nan")}),
        (fb.InputError, "tolerance[2] is 2.0", {"tolerance": [0, 0, 2, 0]}),
        (fb.InputError, "tolerance has shape (3,); give one number, or one", {"tolerance": [0, 0, 0]}),
        (fb.InputTypeError, "model is of type list; pass a BinnedModel", {"model": [0.5]}),
        (fb.NotFittedError, "not fitted yet", {"model": fb.UniformMassBinning()}),
        (fb.InputError, "model is a 'smooth' model, which has no bins to test", {"model": SMOOTH}),
        (fb.GuaranteeError, "tally", {"interval_alpha": 0.1}),
    ],
)
def test_configurations_are_checked(error: type[Exception], message: str, options: dict[str, Any]) -> None:
    refuses(error, message, CalibrationMonitor, **{"model": served(), **options})


TWO_BINS = fb.BinnedModel.from_parts(edges=[0.5], values=[0.3, 0.5], scheme="explicit")


@pytest.mark.parametrize("direction", [1, -1])
def test_a_batch_that_is_sorted_by_label_is_refused(direction: int) -> None:
    """100 calibrated rows, sorted by label, raised an alarm in each of 2,000 samples."""
    rng = np.random.default_rng(3)
    scores = rng.random(100)
    labels = (rng.random(100) < np.where(scores > 0.5, 0.5, 0.3)).astype(int)
    order = np.argsort(direction * labels, kind="stable")
    monitor = fb.online.CalibrationMonitor(TWO_BINS, tolerance=0.05)
    for rows in (order, np.roll(order, 1), np.roll(order, 30)):
        with pytest.raises(fb.InputError, match=r"labels are sorted: in every bin .* together; .* or use update_counts"):
            monitor.update(scores[rows], labels[rows])
    assert monitor.n_samples == 0
    bins = TWO_BINS.assign(scores)
    assert not monitor.update_counts(np.bincount(bins), np.bincount(bins, labels).astype(int))
    assert not monitor.update(scores, labels)


def test_outcomes_that_all_changed_at_once_can_be_counted() -> None:
    scores, labels = np.tile([0.2, 0.8], 500), np.repeat([0, 1], 500)
    monitor = fb.online.CalibrationMonitor(TWO_BINS, tolerance=0.05)
    with pytest.raises(fb.InputError, match="if all rates did change at once, count the rows before that and"):
        monitor.update(scores, labels)
    monitor.update(scores[:500], labels[:500])
    assert monitor.update(scores[500:], labels[500:])


def test_a_batch_that_is_sorted_by_the_true_class_is_refused() -> None:
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.ones(3), 300)
    truth = (rng.random((300, 1)) > P.cumsum(axis=1)[:, :2]).sum(axis=1)
    models = fb.multi.ClassWiseBinning(calibrator=fb.UniformMassBinning(2)).fit(P, truth).model_
    for order, is_refused in ((np.arange(300), False), (np.argsort(truth, kind="stable"), True)):
        labels = (np.arange(3) == truth[order, np.newaxis]).ravel()
        monitor = fb.online.CalibrationMonitor(models, tolerance=0.1)
        if is_refused:
            with pytest.raises(fb.InputError, match="labels are sorted"):
                monitor.update(P[order].ravel(), labels, cells=np.tile(models.cells, 300))
        else:
            assert not monitor.update(P[order].ravel(), labels, cells=np.tile(models.cells, 300))


def test_what_chance_leaves_sorted_is_taken() -> None:
    """Few labels, one label alone, and bins of which one is not sorted."""
    scores = np.repeat([0.25, 0.75], 40)
    half = np.repeat([0, 1], 20)
    for labels in ([*half, *np.tile([0, 1], 20)], [0] * 80, [1] * 80, [0] * 79 + [1]):
        monitor = fb.online.CalibrationMonitor(TWO_BINS, tolerance=0.05)
        monitor.update(scores, labels)
        assert monitor.n_samples == 80
    few = fb.online.CalibrationMonitor(TWO_BINS, tolerance=0.05)
    few.update(scores[20:60], np.tile(np.repeat([0, 1], 10), 2))  # one of 184,756 orders, in each bin
    assert few.n_samples == 40
    with pytest.raises(fb.InputError, match="labels are sorted"):
        few.update(scores, [*half, *half])
    for score, label in zip(scores, [*half, *half], strict=True):  # an order that nobody sees is not refused
        few.update([score], [label])


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
    # Starts lie at other counts; the evidence since the beginning is a function of the tally.
    assert [b.e_value for b in monitor.report().bins] == [b.e_value for b in alone.report().bins]


# ------------------------------------------------------------------------------------------------- sets


RNG = np.random.default_rng(3)


def fitted(n: int = 600, **options: Any) -> fb.BinnedModel:
    scores = RNG.random(n)
    return fb.UniformMassBinning(**{"n_bins": 4, **options}).fit(scores, RNG.random(n) < scores).model_


SET = fb.ModelSet({"north": fitted(), "south": fitted(n_bins=3)}, pool=fitted(n_bins=2), pooled_cells=["isle", "rock"])
N = 4000
SCORES, CELLS = RNG.random(N), RNG.choice(["north", "south", "isle", "rock"], N)
LABELS = RNG.random(N) < SCORES
DRIFTED = RNG.random(N) < np.where(CELLS == "south", 0.5 * SCORES, SCORES)


def monitor_of(labels: Any = LABELS, **options: Any) -> CalibrationMonitor:
    monitor = CalibrationMonitor(SET, **{"tolerance": 0.06, **options})
    monitor.update(SCORES, labels, cells=CELLS)
    return monitor


def test_it_is_the_monitor_of_the_running_bins() -> None:
    """The same evidence, number by number, as for one model whose bins are all bins of the set."""
    bins = SET.assign_all(SCORES, CELLS, seed=0)
    values = np.concatenate([model.bin_values for _, model in SET.numbered])
    flat = fb.BinnedModel.from_parts(edges=np.arange(1.0, 9.0), values=values, score_range=(0.0, 9.0))
    alone = CalibrationMonitor(flat, tolerance=0.06)
    alone.update(bins + 0.25, DRIFTED)
    monitor = monitor_of(DRIFTED)
    mine, theirs = monitor.report(), alone.report()
    assert monitor.alarm
    assert (mine.alarm_at, mine.e_value, mine.max_e_value) == (theirs.alarm_at, theirs.e_value, theirs.max_e_value)
    assert [b.named_at for b in mine.bins] == [b.named_at for b in theirs.bins]
    assert [b.count for b in mine.bins] == np.bincount(bins, minlength=9).tolist()
    assert [(b.cell, b.bin) for b in mine.bins] == [
        *(("north", b) for b in range(4)), *(("south", b) for b in range(3)), *((None, b) for b in range(2)),
    ]  # fmt: skip


def test_reports_name_cell_and_bin() -> None:
    monitor = monitor_of(DRIFTED)
    report = monitor.report()
    assert {b.cell for b in report.named} == {"south"}
    assert "Drifted: bin 2 of 'south' serves" in str(monitor)
    content = json.loads(json.dumps(report.to_dict()))
    assert content["named"][0] == {"cell": "south", "bin": 2}
    assert content["bins"][-1]["cell"] is None
    quiet = monitor_of()
    assert not quiet.alarm
    assert str(quiet).startswith("No alarm after 4,000 outcomes")
    lone = CalibrationMonitor(SET["north"], tolerance=0.06)
    lone.update([0.5], [1])
    assert "cell" not in lone.report().to_dict()["bins"][0]


def test_batches_and_states_do_not_matter(tmp_path: Path) -> None:
    whole, path = monitor_of(DRIFTED), tmp_path / "set.mon"
    parts = CalibrationMonitor(SET, tolerance=0.06)
    for rows in np.array_split(np.arange(N), [1, 7, 1000, 1001]):
        parts.update(SCORES[rows], DRIFTED[rows], cells=CELLS[rows])
        parts.save(path)
        parts = CalibrationMonitor.load(path).attach(SET)
    assert parts == whole
    assert parts.to_bytes() == whole.to_bytes()
    assert str(parts) == str(whole)
    copied = pickle.loads(pickle.dumps(whole))
    assert copied.model == SET
    assert copied.report() == whole.report()


def test_tied_scores_get_the_keys_of_their_outcome() -> None:
    tied = RNG.integers(0, 4, 900) / 4
    model = fb.UniformMassBinning(n_bins=5, ties="random").fit(tied, RNG.random(900) < tied).model_
    models = fb.ModelSet({1: model, 2: model})
    scores, cells, labels = RNG.integers(0, 4, 500) / 4, RNG.integers(1, 3, 500), RNG.integers(0, 2, 500)
    whole, parts = (CalibrationMonitor(models) for _ in range(2))
    whole.update(scores, labels, cells=cells, seed=5)
    for rows in np.array_split(np.arange(500), 7):
        parts.update(scores[rows], labels[rows], cells=cells[rows], seed=5)
    assert parts == whole
    bins = models.assign_all(scores, cells, seed=5)
    assert [b.count for b in whole.report().bins] == np.bincount(bins, minlength=models.n_bins).tolist()


def test_intervals_of_the_set_are_tolerated() -> None:
    monitor = CalibrationMonitor(SET, interval_alpha=0.1)
    assert np.array_equal(monitor.tolerated, np.concatenate(SET.interval(0.1)))
    assert CalibrationMonitor(SET, tolerance=np.full(9, 0.2)).tolerated.shape == (9, 2)


def test_evidence_bins_of_two_resolutions_are_watched() -> None:
    scores = RNG.random(2000)
    fine = fb.CertifiedCalibration(n_bins=3).fit(scores, RNG.random(2000) < scores).model_
    monitor = CalibrationMonitor(fb.ModelSet({"fine": fine, "coarse": SET["north"]}), tolerance=0.05)
    monitor.update([0.5, 0.5], [1, 0], cells=["fine", "coarse"])
    report = monitor.report()
    assert len(report.bins) == 7
    assert report.n_steps == fine.n_steps + 4
    assert [b.value for b in report.bins if b.cell == "fine"] == fine.bin_values.tolist()


def test_a_state_goes_on_with_its_own_set_alone() -> None:
    state = CalibrationMonitor.from_bytes(monitor_of().to_bytes())
    for use in (state.report, lambda: state.model, lambda: state.update([0.5], [1], cells=["north"])):
        with pytest.raises(fb.InputError, match=r"give the set to attach\(\) first"):
            use()
    assert "9 bins" in repr(state)
    for shown in (str(state), state._repr_html_()):
        assert "give this to attach() to see the bins." in shown
        assert repr(state) in shown
    other = fb.ModelSet({"north": SET["north"]})
    with pytest.raises(fb.InputError, match="is not what this monitor was begun with"):
        state.attach(other)
    with pytest.raises(fb.InputError, match="is not what this monitor was begun with"):
        CalibrationMonitor(SET["north"]).attach(SET)
    assert state.attach(SET).report() == monitor_of().report()


def test_what_cannot_be_watched_is_refused() -> None:
    monitor = CalibrationMonitor(SET)
    before = monitor.to_bytes()
    bad: list[tuple[Any, Any, Any, str]] = [
        ([0.5], [1], None, "cells is missing"),
        ([0.5, 0.5], [1, 0], ["north"], "cells has 1"),
        ([0.5], [1, 0], ["north"], "scores has 1, labels has 2"),
        ([0.5, 2.0], [1, 0], ["north", "north"], r"scores\[1\] is 2.0"),
        ([0.5, 0.5], [1, 2], ["north", "north"], r"labels\[1\] is 2"),
        ([0.5, 0.5], [1, 0], ["north", "west"], r"cells\[1\] is 'west'"),
    ]
    for scores, labels, cells, message in bad:
        with pytest.raises(fb.InputError, match=message):
            monitor.update(scores, labels, cells=cells)
    assert monitor.to_bytes() == before
    pooled = fb.ModelSet({"a": SET["north"]}, pool=SET["south"], unknown="pool")
    unbinned = fb.ModelSet({"a": SET["north"], "b": SMOOTH})
    for model, options, cell, message in (
        (SET["north"], {}, "north", "watches one model and no set"),
        (pooled, {}, "b", r"cells\[0\] is 'b', which is none of the 1 keys .* leave them out"),
        (unbinned, {}, "a", "the model of 'b' is a 'smooth' model"),
        (SET, {"tolerance": [0.1, 0.2]}, "north", "one for each of the 9 bins"),
    ):
        with pytest.raises(fb.InputError, match=message):
            CalibrationMonitor(model, **options).update([0.5], [1], cells=[cell])


# ------------------------------------------------------------------------------------------------- the state


def test_monitors_are_saved_loaded_and_pickled(tmp_path: Path) -> None:
    monitor = run(served(), *outcomes(500, [0.3, 0.4, 0.6, 0.9]), tolerance=[0.0, 0.01, 0.02, 0.03])
    monitor.save(tmp_path / "m.json")
    loaded = CalibrationMonitor.load(tmp_path / "m.json")
    assert loaded == monitor == pickle.loads(pickle.dumps(monitor))
    assert loaded.report() == monitor.report()
    assert loaded.model == monitor.model
    for one in (monitor, loaded):
        one.update(*outcomes(500, seed=3))
    assert loaded == monitor
    assert monitor != "monitor"
    with pytest.raises(TypeError):
        hash(monitor)


RATES = st.one_of(
    st.floats(0.0, 1.0),
    st.floats(-330.0, 0.0).map(lambda exponent: 10.0**exponent),
    st.floats(-17.0, 0.0).map(lambda exponent: 1.0 - 10.0**exponent),
)


@given(
    st.lists(RATES, min_size=2, max_size=2).map(sorted),
    st.one_of(st.just(0.0), RATES),
    st.sampled_from([0.5, 0.05, 1e-100]),
    st.lists(st.tuples(st.sampled_from([0, 1, 3, 50, 2000]), st.sampled_from([0.0, 0.01, 0.5, 1.0])), max_size=3),
)
def test_every_monitor_that_can_be_made_can_be_saved(
    values: list[float], tolerance: float, alpha: float, blocks: list[tuple[int, float]]
) -> None:
    """Tolerated rates far below 1e-50 among them, whose tails and scales are computed in different ways."""
    model = fb.BinnedModel.from_parts(edges=[0.5], values=values)
    monitor = CalibrationMonitor(model, alpha, tolerance)
    rng = np.random.default_rng(7)
    for n, rate in [(0, 0.0), *blocks]:
        if n:
            scores = rng.random(n) / rng.choice([1.0, 2.0])  # also the lower bin alone
            monitor.update(scores, (rng.random(n) < rate).astype(np.int64))
        data = monitor.to_bytes()
        assert CalibrationMonitor.from_bytes(data) == monitor
        assert CalibrationMonitor.from_bytes(data).to_bytes() == data


@pytest.mark.parametrize("low", [1e-43, 2e-121, 5e-324])
def test_tiny_tolerated_rates_are_saved(low: float) -> None:
    monitor = CalibrationMonitor(fb.BinnedModel.from_parts(edges=[0.5], values=[low, 7e-61]))
    for labels in ([], [0, 0, 1]):
        if labels:
            monitor.update([0.75] * 3, labels)
        assert CalibrationMonitor.from_bytes(monitor.to_bytes()) == monitor


def of_version_0(monitor: CalibrationMonitor, **changes: Any) -> bytes:
    """The state as fastbin 0.1.0 wrote it, with some entries changed."""
    report = monitor.report()
    state = {
        "format": "fastbin-monitor",
        "version": 1,
        "alpha": monitor.alpha.hex(),
        "interval_alpha": None if monitor.interval_alpha is None else monitor.interval_alpha.hex(),
        "tolerated": [[low.hex(), high.hex()] for low, high in monitor.tolerated.tolist()],
        "alarm_at": monitor.alarm_at or 0,
        "max_log_mean": monitor._state.max_log_mean.hex(),
        "named_at": [b.named_at or 0 for b in report.bins],
        "max_log_e": [log_e.hex() for log_e in monitor._state.max_log_e.tolist()],
        "stream": base64.b64encode(monitor._state.stream.to_bytes()).decode(),
    }
    return json.dumps({**state, **changes}).encode()


def changed(**entries: Any) -> bytes:
    monitor = of_earlier_version(served())
    monitor.update(*outcomes(50))
    return of_version_0(monitor, **entries)


def test_states_are_no_models_and_are_named(tmp_path: Path) -> None:
    stream = fb.online.StreamingBinning(served())
    models = fb.ModelSet({"a": served(), "b": served()})
    for state, kind, reader in (
        (stream, "stream", "StreamingBinning.load reads it"),
        (CalibrationMonitor(served()), "monitor", "CalibrationMonitor.load and `fastbin monitor --state` read it"),
    ):  # fmt: skip
        path = tmp_path / "state"
        state.save(path)
        told = f"{path}: the state of a {kind}, and not a single model: fastbin.online.{reader}"
        refuses(fb.FormatError, told, fb.load, path)
        refuses(fb.FormatError, f"the state of a {kind}, and not a set of models", fb.ModelSet.load, path)
        for other in (models, served()):
            refuses(fb.FormatError, f"and not the state of a {kind}: ", type(state).from_bytes, other.to_bytes())
    for short in (b"\x89F?", b"\x89FBQ", b"\x89FBX" * 10):
        refuses(fb.FormatError, "not a fastbin model", fb.BinnedModel.from_bytes, short)


def test_states_of_version_0_are_read() -> None:
    drifted, quiet, untouched = (of_earlier_version(served(), tolerance=0.02) for _ in range(3))
    quiet.update(*outcomes(50))
    assert drifted.update(*outcomes(4000, [0.3, 0.4, 0.6, 0.9]))
    for monitor in (drifted, quiet, untouched):
        read = CalibrationMonitor.from_bytes(of_version_0(monitor))
        assert read == monitor
        assert read.report() == monitor.report()
    certain = of_earlier_version(served([0.0, 0.4]))
    signed = of_version_0(certain, tolerated=[["-0x0p+0", "-0x0p+0"], ["0x1.999999999999ap-2"] * 2])
    assert CalibrationMonitor.from_bytes(signed) == certain


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no bytes: an empty file is not a monitor"),
        (b"score,label\n0.5,1\n", "not a fastbin monitor"),
        (b"[]", "not a fastbin monitor"),
        (b"{}", "not a fastbin monitor: in JSON only those of version 1 are read"),
        (b"{", "not a fastbin monitor, or damaged"),
        (served().to_bytes(), "a single model, and not the state of a monitor"),
        (b'{"alpha":' + b"[" * 10**5, "not a fastbin monitor, or damaged"),
        (changed(version=2), "not a fastbin monitor: in JSON only those of version 1 are read, which fastbin 0.1.0 wrote"),
        (changed(alpha="0x1p+1"), "not a fastbin monitor, or damaged: alpha is 2.0"),
        (changed(stream="AAAA"), "not a fastbin stream"),
        (changed(stream="&"), "not a fastbin monitor, or damaged"),
        (changed(named_at=[0]), "different numbers of bins"),
        (changed(tolerated=[["0x1p-1", "0x1p-2"]] * 4), "contradicts itself"),
        (changed(max_log_e=None), "not a fastbin monitor, or damaged"),
        (changed(alarm_at=-5), "contradicts itself"),  # switched the alarm of 0.1.0 off for ever
        (changed(alarm_at=7), "contradicts itself"),
        (
            of_version_0(run(served(), *outcomes(12, [0.5] * 4)), max_log_e=["0x0p+0"] * 4),
            "the largest evidence is below that of the outcomes counted",
        ),
    ],
)
def test_foreign_and_damaged_states_are_refused(data: bytes, message: str, tmp_path: Path) -> None:
    refuses(fb.FormatError, message, CalibrationMonitor.from_bytes, data)
    path = tmp_path / "m.mon"
    path.write_bytes(data)
    refuses(fb.FormatError, f"{path}: ", CalibrationMonitor.load, path)


@pytest.mark.parametrize("n", [1000, 10**8, 2**39])
def test_states_are_read_where_logarithms_end_in_other_bits(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fb.BinnedModel.from_parts(edges=[0.5], values=[0.25, 0.75], scheme="explicit")
    monitor = CalibrationMonitor(model)
    above = int(1.2 * n**0.5)
    monitor.update_counts([n, n], [n // 4 + 3 * above, 3 * n // 4 + 3 * above])
    data = monitor.to_bytes()
    with monkeypatch.context() as elsewhere:
        exact = scipy.special.betaln
        elsewhere.setattr(scipy.special, "betaln", lambda a, b: np.nextafter(exact(a, b), np.inf))
        assert CalibrationMonitor.from_bytes(data).to_bytes() == data
    monitor._state.max_log_e -= 0.1
    refuses(fb.FormatError, "contradicts itself", CalibrationMonitor.from_bytes, monitor.to_bytes())


def test_every_flipped_bit_of_a_state_is_refused() -> None:
    monitor = run(served(), *outcomes(300))
    monitor.mark_seen(bytes(range(32)))
    data = monitor.to_bytes()
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(fb.FormatError):
            CalibrationMonitor.from_bytes(flipped)


def test_digests_of_what_was_counted_are_kept() -> None:
    monitor = CalibrationMonitor(served())
    digests = [bytes([number]) * 32 for number in (3, 1, 2)]
    for digest in (*digests, digests[0]):
        monitor.mark_seen(digest)
    assert monitor.seen == tuple(digests)
    assert CalibrationMonitor.from_bytes(monitor.to_bytes()).seen == tuple(digests)
    for wrong in (b"", b"x" * 31, "x" * 32):
        refuses(fb.InputError, "the 32 bytes of a SHA-256 are needed", monitor.mark_seen, wrong)


def test_an_interrupted_update_leaves_the_state_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = run(served(), *outcomes(100))
    before, calls = monitor.to_bytes(), []

    def interrupted(*arguments: Any) -> Any:
        calls.append(arguments)
        raise KeyboardInterrupt

    for name in ("latest_rows", "first_at_least", "running_tally"):
        with monkeypatch.context() as patch:
            patch.setattr(f"fastbin.online.evidence.{name}", interrupted)
            with pytest.raises(KeyboardInterrupt):
                monitor.update(*outcomes(5000, [0.9, 0.1, 0.1, 0.1]))
        assert monitor.to_bytes() == before
    assert len(calls) == 3
    assert monitor.update(*outcomes(5000, [0.9, 0.1, 0.1, 0.1]))


def test_a_report_is_a_table_of_its_bins() -> None:
    monitor = CalibrationMonitor(fb.FixedWidthBinning(n_bins=2).fit([0.1, 0.2, 0.7, 0.9], [0, 1, 1, 1]), tolerance=0.1)
    monitor.update([0.3, 0.4], [1, 0])
    rows = list(monitor.report())
    assert [row["rate"] for row in rows] == [0.5, None]
    assert (rows[0]["tolerated_lower"], rows[0]["tolerated_upper"]) == monitor.report().bins[0].tolerated
    assert "cell" not in rows[0]
    assert str(monitor.report().bins[0]).startswith("bin 0 serves 0.500, and since the monitor began its true rate was")
    page = monitor._repr_html_()
    assert str(monitor.report()) in page
    assert page.count("<tr>") == 3
    assert list(pytest.importorskip("pandas").DataFrame(rows)["count"]) == [2, 0]
