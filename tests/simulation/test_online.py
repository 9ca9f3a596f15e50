"""Streams cover the truth at every look, and the monitor cries wolf at most as often as it says, yet finds drift soon."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from simulation.failures import ALPHA, assert_at_most, sizes
from simulation.monitoring import DRIFTS, EDGES, PAGE, VALUES, alarms, half_widths
from simulation.pages import cells, table

import fastbin as fb
from fastbin.online import CalibrationMonitor, StreamingBinning
from fastbin.online.evidence import TwoSidedMixture

# ------------------------------------------------------------------------------------------------- streams

# Bins of masses from 0.5 to 0.02, one with a rare label; rates within a bin are not constant.
UNEQUAL = [0.5, 0.75, 0.9, 0.98]


def rate(scores: np.ndarray) -> np.ndarray:
    """Label 1 is rare below 1/2, then rises steeply."""
    return np.where(scores < 0.5, 0.01 * scores, scores**2)


def true_rates(edges: np.ndarray) -> np.ndarray:
    """Means of `rate` under uniform scores over the bins between edges: differences of its integral."""
    ends = np.array([0.0, *edges, 1.0])
    integral = np.where(ends < 0.5, 0.005 * ends**2, 0.00125 + (ends**3 - 0.125) / 3.0)
    return np.diff(integral) / np.diff(ends)


def test_true_rates_are_means() -> None:
    scores = (np.arange(10**5) + 0.5) / 10**5
    for edges in ([0.2, 0.7], UNEQUAL):
        bins = np.searchsorted(edges, scores, side="right")
        means = np.bincount(bins, rate(scores)) / np.bincount(bins)
        assert true_rates(np.array(edges)) == pytest.approx(means, abs=1e-4)


RUNS = sizes((40, 400), (1000, 5000))


def misses(stream: StreamingBinning, rng: np.random.Generator, n: int, method: Any, *, running: bool = False) -> bool:
    """Whether an interval missed at any look; looks come after random batches, often in the beginning."""
    truth, kept, size = true_rates(stream.partition.edges), None, 1
    while n > 0:
        size = min(n, 1 + int(rng.integers(4 * size)))
        scores = rng.random(size)
        stream.update(scores, rng.random(size) < rate(scores))
        n -= size
        try:
            kept = stream.interval(ALPHA, method, within=kept if running else None)
        except fb.GuaranteeError:  # an empty intersection: one of the two has missed
            return True
        if ((kept[:, 0] > truth) | (kept[:, 1] < truth)).any():
            return True
    return False


@pytest.mark.parametrize(("runs", "n"), RUNS)
@pytest.mark.parametrize("method", ["beta-binomial", "stitched", "theorem6"])
def test_all_bins_are_covered_at_all_looks(method: str, runs: int, n: int) -> None:
    rng = np.random.default_rng(51)
    assert_at_most(sum(misses(StreamingBinning(UNEQUAL), rng, n, method) for _ in range(runs)), runs)


@pytest.mark.parametrize(("runs", "n"), RUNS)
def test_running_intersections_cover(runs: int, n: int) -> None:
    rng = np.random.default_rng(52)
    assert_at_most(sum(misses(StreamingBinning(UNEQUAL), rng, n, "beta-binomial", running=True) for _ in range(runs)), runs)


@pytest.mark.parametrize(("runs", "n"), RUNS)
def test_bins_of_a_first_block_are_covered(runs: int, n: int) -> None:
    rng = np.random.default_rng(53)
    streams = (StreamingBinning.from_scores(rng.random(50), n_bins=4) for _ in range(runs))
    assert_at_most(sum(misses(stream, rng, n, "beta-binomial") for stream in streams), runs)


@pytest.mark.parametrize(("runs", "n"), RUNS)
def test_going_on_from_a_fit_covers(runs: int, n: int) -> None:
    """The fit's own labels count; its boundaries were chosen among its scores, which they must survive."""
    rng, missed = np.random.default_rng(54), 0
    for _ in range(runs):
        scores = rng.random(150)
        cal = fb.UniformMassBinning(n_bins=4).fit(scores, rng.random(150) < rate(scores))
        missed += misses(StreamingBinning(cal, continue_fit=True), rng, n, "beta-binomial")
    assert_at_most(missed, runs)


# ------------------------------------------------------------------------------------------------- the monitor


@pytest.mark.parametrize("tolerated", [(0.3, 0.3), (0.2, 0.4), (0.0, 0.05), (0.9, 1.0), (0.5, 0.5), (1e-6, 1e-3), (0.0, 1.0)])
def test_no_label_raises_the_expected_evidence(tolerated: tuple[float, float]) -> None:
    """The supermartingale itself, label by label and to rounding: p E(x + 1, z) + (1 - p) E(x, z + 1) <= E(x, z)."""
    mixture = TwoSidedMixture(np.array([tolerated]))
    ones, zeros = (axis.ravel() for axis in np.meshgrid(np.arange(80), np.arange(80)))

    def evidence(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.exp(mixture.log_e_values(np.zeros(x.size, np.int32), x, z))

    now, after_one, after_zero = evidence(ones, zeros), evidence(ones + 1, zeros), evidence(ones, zeros + 1)
    assert now[0] == pytest.approx(1.0, abs=1e-12)
    low, high = tolerated
    for p in (low, high, (low + high) / 2.0, 0.9 * low + 0.1 * high):
        # Labels of probability 0 may be seen as often as one likes.
        expected = (p * after_one if p > 0.0 else 0.0) + ((1.0 - p) * after_zero if p < 1.0 else 0.0)
        possible = np.isfinite(now) & ((ones == 0) | (p > 0.0)) & ((zeros == 0) | (p < 1.0))
        assert (expected[possible] <= now[possible] * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("p", [0.001, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("n", [1, 20, 300])
def test_the_expected_evidence_is_at_most_one(n: int, p: float) -> None:
    ones = np.arange(n + 1)
    for low, high in ((p, p), (0.9 * p, p), (p, 1.0 - 0.9 * (1.0 - p))):
        log_e = TwoSidedMixture(np.array([[low, high]])).log_e_values(np.zeros(n + 1, np.int32), ones, n - ones)
        assert np.exp(binom.logpmf(ones, n, p) + log_e).sum() <= 1.0 + 1e-9


MONITORED = sizes((60, 1500), (2000, 20_000))


@pytest.mark.parametrize(("runs", "n"), MONITORED)
@pytest.mark.parametrize("tolerance", [0.0, 0.03])
def test_false_alarms_are_rare_at_the_edge_of_what_is_tolerated(tolerance: float, runs: int, n: int) -> None:
    """Every true rate is at the end of its tolerated interval, where false alarms are likeliest, for ever looked at."""
    found = alarms(VALUES + tolerance, tolerance, runs, n, seed=61)
    assert_at_most(sum(at is not None for at in found), runs, 0.05)


@pytest.mark.parametrize(("runs", "n"), MONITORED)
def test_false_alarms_are_rare_with_rare_labels_and_unequal_bins(runs: int, n: int) -> None:
    truth = true_rates(np.array(UNEQUAL))
    model = fb.BinnedModel.from_parts(edges=UNEQUAL, values=truth, scheme="explicit")
    rng, raised, named = np.random.default_rng(62), 0, 0
    for _ in range(runs):
        monitor = CalibrationMonitor(model, alpha=ALPHA)
        scores = rng.random(n)
        raised += monitor.update(scores, rng.random(n) < rate(scores))
        named += bool(monitor.report().named)
    assert_at_most(raised, runs)
    assert_at_most(named, runs)


@pytest.mark.parametrize(("runs", "n"), MONITORED)
def test_a_model_is_not_accused_of_being_an_estimate(runs: int, n: int) -> None:
    """With its own intervals tolerated, a fitted model and its unchanged population raise few alarms; with none, many."""
    rng = np.random.default_rng(63)
    raised, accused = 0, 0
    for _ in range(runs):
        scores = rng.random(300)
        cal = fb.UniformMassBinning(n_bins=4).fit(scores, rng.random(300) < rate(scores))
        later = rng.random(n)
        labels = rng.random(n) < rate(later)
        raised += CalibrationMonitor(cal, alpha=0.05, interval_alpha=0.05).update(later, labels)
        accused += CalibrationMonitor(cal, alpha=0.05).update(later, labels)
    assert_at_most(raised, runs, 0.1)
    assert accused > raised


@pytest.mark.parametrize(("runs", "days", "most"), sizes((120, 8, 3000), (2000, 60, 10**6)))
def test_false_alarms_are_rare_where_counts_are_looked_at_once_a_day(runs: int, days: int, most: int) -> None:
    """Days of any size, with all rates at an end of what is tolerated; and drift of a bin is found, and named."""
    model = fb.BinnedModel.from_parts(edges=EDGES, values=VALUES, scheme="explicit")
    rng, raised, named = np.random.default_rng(66), 0, 0
    for _ in range(runs):
        monitor = CalibrationMonitor(model, tolerance=0.03)
        for size in np.exp(rng.uniform(0.0, math.log(most), days)).astype(int).tolist():
            counts = rng.multinomial(size, [0.1] * 10)
            monitor.update_counts(counts, rng.binomial(counts, VALUES + 0.03))
        raised += monitor.alarm
        named += bool(monitor.report().named)
    assert_at_most(raised, runs, 0.05)
    assert_at_most(named, runs, 0.05)
    drifted = CalibrationMonitor(model, tolerance=0.03)
    counts = np.full(10, 2000)
    assert drifted.update_counts(counts, rng.binomial(counts, DRIFTS["one bin by 0.20"](VALUES)))
    assert [b.bin for b in drifted.report().named] == [4]


@pytest.mark.parametrize(("runs", "n"), sizes((25, 500), (1000, 10_000)))
def test_false_alarms_are_rare_in_a_class_wise_set(runs: int, n: int) -> None:
    """The rows of an outcome depend on one another; rates are those that are served, and nothing else is tolerated."""
    edges = np.array([0.3, 0.5])
    models = [fb.BinnedModel.from_parts(edges=edges, values=[0.2, 0.4, 0.6], scheme="explicit") for _ in range(3)]
    watched = fb.ModelSet._of(dict(enumerate(models)), kind="class-wise", columns=[0, 1, 2])
    rng, raised, named = np.random.default_rng(67), 0, 0
    # Whichever class has the largest probability is right with it, and the two others share the rest.
    profile = np.array([0.6, 0.2, 0.2])
    for _ in range(runs):
        monitor = CalibrationMonitor(watched)
        top = rng.integers(0, 3, n)
        order = (np.arange(3) - top[:, np.newaxis]) % 3
        truth = (top + rng.choice(3, n, p=profile)) % 3
        rows = profile[order].ravel(), (truth[:, np.newaxis] == np.arange(3)).ravel()
        monitor.update(*rows, cells=np.tile([0, 1, 2], n))
        raised += monitor.alarm
        named += bool(monitor.report().named)
    assert_at_most(raised, runs, 0.05)
    assert_at_most(named, runs, 0.05)


def upwards(by: float) -> Any:
    return lambda values: np.minimum(values + by, 1.0)


# The medians, at tolerances 0 and 0.03, of a study with an integral for every start, half of it pooled and no later starts.
DELAYS = {
    "one bin by 0.10": (DRIFTS["one bin by 0.10"], 3946, 8756), "one bin by 0.20": (DRIFTS["one bin by 0.20"], 896, 1370),
    "up by 0.05": (upwards(0.05), 702, 3800), "up by 0.10": (upwards(0.10), 182, 538),
    "log odds by 0.25": (DRIFTS["all log odds by 0.25"], 975, 6043),
    "log odds times 0.7": (DRIFTS["all log odds times 0.7"], 348, 1324),
}  # fmt: skip


def median_of(found: list[int | None]) -> float:
    return float(np.median([math.inf if at is None else at for at in found]))


@pytest.mark.slow
@pytest.mark.parametrize("drift", list(DELAYS))
@pytest.mark.parametrize("tolerance", [0.0, 0.03])
def test_delays_are_those_of_the_study_and_the_price_of_later_starts(drift: str, tolerance: float) -> None:
    """A quarter of the evidence waits for later starts, which costs ln(4/3) and up to 15 % more outcomes; the rest is noise."""
    rates, *medians = DELAYS[drift]
    found = median_of(alarms(rates(VALUES), tolerance, 500, 20_000, seed=73))
    assert 0.9 < found / medians[tolerance > 0.0] < 1.25


@pytest.mark.parametrize(
    ("before", "median", "runs"),
    [
        (3000, 1600, 7),
        *(pytest.param(*row, 300, marks=pytest.mark.slow) for row in ((0, 875), (10_000, 1540), (30_000, 1750))),
    ],
)
def test_drift_after_a_long_good_time_is_found_soon(before: int, median: int, runs: int) -> None:
    found = [
        at for at in alarms(DRIFTS["one bin by 0.20"](VALUES), 0.0, runs, 9000, seed=74, before=before) if at is None or at > 0
    ]
    assert median_of(found) < (1.2 if runs > 100 else 1.5) * median


@pytest.mark.parametrize(("drift", "within"), [("one bin by 0.20", 1600), ("all bins by 0.10", 400)])
def test_drift_is_found_soon(drift: str, within: int) -> None:
    """In the median; docs/online.md has the table."""
    found = alarms(DRIFTS[drift](VALUES), 0.0, 21, 6000, seed=64)
    assert np.median([math.inf if at is None else at for at in found]) < within


def test_the_bin_that_drifted_is_the_one_that_is_named() -> None:
    model = fb.BinnedModel.from_parts(edges=EDGES, values=VALUES, scheme="explicit")
    rng = np.random.default_rng(65)
    rates = DRIFTS["one bin by 0.20"](VALUES)
    for _ in range(5):
        monitor = CalibrationMonitor(model)
        scores = rng.random(6000)
        monitor.update(scores, rng.random(6000) < rates[np.searchsorted(EDGES, scores, side="right")])
        assert [b.bin for b in monitor.report().named] == np.flatnonzero(rates != VALUES).tolist()


# ------------------------------------------------------------------------------------------------- docs/online.md


def numbers(rows: list[list[str]]) -> list[float]:
    return [float(number) for row in rows for cell in row[1:] for number in re.findall(r"0\.\d+", cell)]


def test_the_widths_of_the_page_come_out_again() -> None:
    told = cells(table(PAGE, "half-widths"))
    assert numbers(told) == pytest.approx(numbers(cells(half_widths(every=20))), abs=0.0011)
    for row in told:
        theorem6, stitched, beta_binomial, intersected, one_look = (float(cell.split()[0]) for cell in row[1:])
        assert theorem6 > stitched > beta_binomial > intersected > one_look


def test_the_delays_of_the_page_come_out_again() -> None:
    rows = {(row[0], float(row[1])): row for row in cells(table(PAGE, "delays"))}
    assert len(rows) == 2 * len(DRIFTS)
    for tolerance in (0.0, 0.03):
        assert float(rows["none", tolerance][2]) <= 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / 1000)
    for name in ("one bin by 0.20", "all bins by 0.10"):
        told = float(rows[name, 0.0][3].replace(",", ""))
        found = alarms(DRIFTS[name](VALUES), 0.0, 41, 5000, seed=70)
        assert np.median([math.inf if at is None else at for at in found]) == pytest.approx(told, rel=0.35)


# What the monitor says of a rate that changes: what it is in each part of the stream.
CHANGING = {
    "never": [0.3], "once": [0.3, 0.6], "from rare to common": [0.05, 0.9], "there and back": [0.2, 0.8] * 10,
    "slowly": np.linspace(0.01, 0.4, 50).tolist(),
}  # fmt: skip


@pytest.mark.parametrize(("runs", "n"), sizes((400, 2000), (5000, 4000)))
@pytest.mark.parametrize("change", list(CHANGING))
def test_the_interval_of_a_bin_is_about_its_average_rate(change: str, runs: int, n: int) -> None:
    rates = np.repeat(CHANGING[change], n // len(CHANGING[change]))
    seen = np.arange(1, n + 1)
    sums, averages = np.cumsum(np.random.default_rng(71).random((runs, n)) < rates, axis=1), np.cumsum(rates) / seen
    missed = np.zeros(runs, np.bool_)
    for look in np.unique(np.geomspace(5, n, 40).astype(int)) - 1:
        ends = fb.intervals.beta_binomial(sums[:, look], np.full(runs, look + 1), ALPHA)
        missed |= (averages[look] < ends[:, 0]) | (averages[look] > ends[:, 1])
    assert_at_most(int(missed.sum()), runs)
    if change == "once":  # the present rate is another thing
        assert not ((ends[:, 0] <= rates[-1]) & (rates[-1] <= ends[:, 1])).any()


def test_the_report_speaks_of_the_average() -> None:
    model = fb.BinnedModel.from_parts(edges=[0.5], values=[0.3, 0.5], scheme="explicit")
    monitor, rng = CalibrationMonitor(model, alpha=0.05), np.random.default_rng(72)
    monitor.update(np.full(4000, 0.2), rng.random(4000) < np.repeat([0.3, 0.6], 2000))
    (told,) = monitor.report().named
    assert told.interval[0] < 0.45 < told.interval[1] < 0.5
    low, high = math.floor(1e3 * told.interval[0]) / 1e3, math.ceil(1e3 * told.interval[1]) / 1e3
    assert str(told).endswith(f"its true rate was on average between {low:.3f} and {high:.3f}")
    assert "What a rate is now may differ from its average." in str(monitor)
