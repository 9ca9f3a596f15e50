"""Theorem F21 by simulation with known truth: how often a threshold breaks its promise, and how much it accepts.

`pytest tests/simulation/test_decisions.py -m slow -rP` prints the tables at full size.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from simulation.deciding import DELTA, DESIGNS, simulate

SMALL = ["linear .8, n = 1,000", "knife edge .8, n = 1,000", "wave .55, n = 1,000", "tenths .8, n = 1,000"]


def most(runs: int) -> float:
    """A chance of DELTA, and three standard errors."""
    return DELTA + 3.0 * math.sqrt(DELTA * (1.0 - DELTA) / runs)


@pytest.mark.parametrize("name", SMALL)
def test_a_threshold_keeps_its_promise(name: str) -> None:
    design = DESIGNS[name]
    outcome = simulate(design, 120, precision=design.target)
    assert max(outcome[1:]) <= most(120), outcome
    if name.startswith("linear"):
        assert outcome.accepted > 0.3, outcome  # of .4 that a precision of .8 allows


@pytest.mark.parametrize(
    "goal", [{"precision": 0.8, "npv": 0.8}, {"cost": (1.0, 1.0)}, {"precision": 0.8, "thresholds": "given"}]
)
def test_both_bands_and_costs_keep_their_promise(goal: dict[str, Any]) -> None:
    if "thresholds" in goal:
        goal = {**goal, "thresholds": [0.2, 0.4, 0.59, 0.61, 0.8]}
    assert max(simulate(DESIGNS[SMALL[0]], 100, **goal)[1:]) <= most(100)


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_thresholds_at_full_size(name: str) -> None:
    design, runs = DESIGNS[name], 10_000
    outcome = simulate(design, runs, precision=design.target)
    print(f"{name}: " + ", ".join(f"{field} {value:.4f}" for field, value in outcome._asdict().items()))
    assert max(outcome[1:]) <= most(runs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linear .8, n = 1,000", "wave .55, n = 1,000", "tenths .8, n = 1,000"])
@pytest.mark.parametrize(
    "goal", [{"precision": 0.7, "npv": 0.7}, {"cost": (2.0, 1.0)}, {"precision": 0.55, "thresholds": [0.1, 0.3, 0.5, 0.7, 0.9]}]
)
def test_both_bands_costs_and_given_thresholds_at_full_size(name: str, goal: dict[str, Any]) -> None:
    outcome = simulate(DESIGNS[name], 5_000, **goal)
    print(f"{name} {goal}: " + ", ".join(f"{field} {value:.4f}" for field, value in outcome._asdict().items()))
    assert max(outcome[1:]) <= most(5_000)
