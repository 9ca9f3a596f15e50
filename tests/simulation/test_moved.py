"""A model that label shift moved keeps its promise through its file and the command line, with class rates that were counted.

Intervals that take the counted rates as exact, as those of 0.1.0 did, are simulated beside it: the same draws see them fail.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, norm
from simulation.failures import sizes
from simulation.moved import ALPHA, N_SOURCE, PAGE, TARGETS, Draw, as_exact, draw_outcomes, draws, is_missed, misses
from simulation.pages import cells, table

import fastbin as fb
from fastbin.online import CalibrationMonitor

CELLS = [(n_source, target) for n_source in N_SOURCE for target in TARGETS]
FAST = [(1000, (0.1, 100)), (10_000, (0.01, 100)), (1000, (0.001, 300))]

# For 100 target labels at a rate of 0.1, and at 0.01: the least share of repetitions in which intervals with exact rates miss.
EXACT_MISSES = {(1000, (0.1, 100)): 0.3, (10_000, (0.1, 100)): 0.6, (1000, (0.01, 100)): 0.9, (10_000, (0.01, 100)): 0.95}


def assert_within(failures: int, repetitions: int, alpha: float, n_cells: int) -> None:
    """At most alpha and three standard errors: the chance of more, of 0.00135, shared among the cells of the simulation."""
    limit = binom.isf(norm.sf(3.0) / n_cells, repetitions, alpha)
    assert failures <= limit, f"{failures} of {repetitions} failed, promised {alpha:g}"


def check_coverage(n_source: int, target: tuple[float, int], repetitions: int, n_cells: int) -> None:
    found, exact, without = misses(n_source, target, repetitions)
    assert_within(found, repetitions, ALPHA, n_cells)
    if target == (0.01, 100):  # 0.366 of the samples hold no label 1, and are not left out
        assert abs(without / repetitions - 0.99**100) < 5 * (0.99**100 / repetitions) ** 0.5
    if (n_source, target) in EXACT_MISSES:
        assert exact >= EXACT_MISSES[n_source, target] * repetitions


@pytest.mark.parametrize(("n_source", "target"), FAST)
def test_intervals_of_the_file_cover(n_source: int, target: tuple[float, int]) -> None:
    check_coverage(n_source, target, 200, len(FAST))


@pytest.mark.slow
@pytest.mark.parametrize(("n_source", "target"), CELLS)
def test_intervals_of_the_file_cover_at_length(n_source: int, target: tuple[float, int]) -> None:
    check_coverage(n_source, target, 3000, len(CELLS))


def test_the_certificate_of_the_file_holds_where_its_intervals_do() -> None:
    missed = 0
    for draw in draws(1000, (0.01, 100), 100):
        model = fb.BinnedModel.from_bytes(draw.move().model_.to_bytes())
        held = (np.abs(model.values - draw.truth) <= np.array(model.certificate(ALPHA).radii) + 1e-12).all()
        assert held or is_missed(model.interval(ALPHA), draw.truth)
        missed += not held
    assert_within(missed, 100, ALPHA, 1)


REPETITIONS = sizes(10, 300)


def interval_by_command(draw: Draw, folder: Path, capsys: pytest.CaptureFixture[str]) -> np.ndarray:
    """The output of `fastbin inspect` for the file that `fastbin adapt` wrote."""
    from fastbin.cli import command_line

    source, labels, moved = folder / "source.fbm", folder / "t.csv", folder / "moved.fbm"
    draw.source.save(source)
    labels.write_text("y\n" + "\n".join(map(str, draw.labels.tolist())) + "\n")
    adapt = ["adapt", str(source), "--target-labels", str(labels), "--smoothing", "add-half", "-o", str(moved), "-q"]
    assert command_line.run(adapt) == 0
    assert command_line.run(["inspect", str(moved), "--alpha", str(ALPHA), "--json"]) == 0
    return np.array([[told["lower"], told["upper"]] for told in json.loads(capsys.readouterr().out)["bins"]])


@pytest.mark.parametrize("repetitions", REPETITIONS)
@pytest.mark.parametrize("target", [(0.1, 100), (0.01, 100), (0.001, 300)])
def test_intervals_of_the_command_line_cover(
    target: tuple[float, int], repetitions: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("click", "rich"):
        pytest.importorskip(module)
    found = sum(is_missed(interval_by_command(draw, tmp_path, capsys), draw.truth) for draw in draws(1000, target, repetitions))
    assert_within(found, repetitions, ALPHA, 3)


def false_alarms(target: tuple[float, int], repetitions: int, n_outcomes: int, exact: bool) -> int:
    """The number of alarms that monitors raise on outcomes of the target: of the file's model, or one with exact rates."""
    alarms = 0
    for repetition, draw in enumerate(draws(10_000, target, repetitions)):
        cal = draw.move()
        model = as_exact(cal) if exact else fb.BinnedModel.from_bytes(cal.model_.to_bytes())
        monitor = CalibrationMonitor(model, alpha=0.05, interval_alpha=0.05)
        alarms += monitor.update(*draw_outcomes(target[0], n_outcomes, np.random.default_rng([41, repetition])))
    return alarms


MONITORED = sizes((25, 4000), (400, 20_000))


@pytest.mark.parametrize(("repetitions", "n_outcomes"), MONITORED)
@pytest.mark.parametrize("target", [(0.1, 100), (0.01, 100)])
def test_a_monitor_of_the_file_seldom_raises_a_false_alarm(
    target: tuple[float, int], repetitions: int, n_outcomes: int
) -> None:
    assert_within(false_alarms(target, repetitions, n_outcomes, exact=False), repetitions, 0.1, 2)


@pytest.mark.slow
def test_with_rates_as_exact_it_raised_more_than_promised() -> None:
    assert binom.sf(false_alarms((0.1, 100), 400, 20_000, exact=True) - 1, 400, 0.1) < 1e-6


def test_outcomes_are_the_targets() -> None:
    """Scores in [0.6, 0.7]: the rate is 0.65 at the source, and moved at the target."""
    scores, labels = draw_outcomes(0.1, 400_000, np.random.default_rng(0))
    inside = (scores > 0.6) & (scores < 0.7)
    expected = 0.65 * 0.2 / (0.65 * 0.2 + 0.35 * 1.8)
    assert abs(labels[inside].mean() - expected) < 4 * (expected / inside.sum()) ** 0.5


def documented() -> dict[tuple[int, tuple[float, int]], tuple[float, float]]:
    told = {}
    for row in cells(table(PAGE, "moved")):
        rate, n_target, *coverages = (float(cell.replace(",", "")) for cell in row)
        for at, n_source in enumerate(N_SOURCE):
            told[n_source, (rate, int(n_target))] = coverages[2 * at], coverages[2 * at + 1]
    return told


def test_the_table_keeps_what_the_page_says() -> None:
    told = documented()
    assert set(told) == set(CELLS)
    assert min(counted for counted, _ in told.values()) >= 0.9
    for cell, least in EXACT_MISSES.items():
        assert told[cell][1] <= 1.0 - least


@pytest.mark.parametrize("cell", FAST)
def test_the_table_comes_out_again(cell: tuple[int, tuple[float, int]]) -> None:
    """Three hundred of its repetitions."""
    for missed, coverage in zip(misses(*cell, 300)[:2], documented()[cell], strict=True):
        assert abs(1.0 - missed / 300 - coverage) <= 4.5 * (max(coverage * (1.0 - coverage), 0.003) / 300) ** 0.5
