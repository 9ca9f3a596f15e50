"""Validations of given predictions with known truth: how often calibrated ones are contradicted, what is seen of others."""

from __future__ import annotations

import numpy as np
import pytest

from fastbin.assess import Validation, assess, assess_counts, validation

ROWS = 400
GRADES, SEGMENTS = np.arange(ROWS) % 4, np.arange(ROWS) % 2
RNG = np.random.default_rng(1)
# Rare, mixed, and one prediction a grade.
PREDICTIONS = {
    "rare": RNG.beta(0.5, 60.0, ROWS),
    "mixed": RNG.beta(0.5, 1.0, ROWS),
    "grades": np.array([0.005, 0.02, 0.1, 0.4])[GRADES],
}


@pytest.fixture(autouse=True)
def _without_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the further tests, which draw labels, and on which no verdict rests."""
    monkeypatch.setattr(validation, "MOST_TESTED", 0)


def of_means(found: Validation) -> Validation:
    """The same where only the mean predictions of the cells are known."""
    cells = found.tables["cells"]
    names = ("segment", "grade", "mean_prediction", "n", "ones")
    options = found.options._asdict()
    return assess_counts({name: [row[name] for row in cells] for name in names}, **options)


def contradicted(p: np.ndarray, runs: int, side: str, level: float, seed: int) -> tuple[float, float]:
    """How often calibrated predictions are contradicted in any table: by the exact tests, and where only means are known."""
    rng, counts = np.random.default_rng(seed), np.zeros(2)
    for _ in range(runs):
        found = assess(p, rng.random(ROWS) < p, GRADES, SEGMENTS, side=side, test_level=level)
        counts += [each.verdict != "not contradicted" for each in (found, of_means(found))]
    share = counts / runs
    return float(share[0]), float(share[1])


def seen(runs: int, seed: int) -> list[float]:
    """How often the verdict on a grade is "too low" if its frequencies differ by what is called detectable, spread unevenly."""
    rng, p = np.random.default_rng(seed), PREDICTIONS["grades"]
    found = assess(p, rng.random(ROWS) < p, GRADES, side="upper")
    shares = []
    for at, row in enumerate(found.tables["grades"]):
        own = np.flatnonzero(at == GRADES)
        spread = 0.5 * min(row["detectable"], 1.0 - p[own[0]] - row["detectable"]) * (-1.0) ** np.arange(len(own))
        truth = p.copy()
        truth[own] += row["detectable"] + spread - spread.mean()
        verdicts = [
            assess(p, rng.random(ROWS) < truth, GRADES, side="upper").tables["grades"][at]["verdict"] for _ in range(runs)
        ]
        shares.append(verdicts.count("too low") / runs)
    return shares


@pytest.mark.parametrize("case", PREDICTIONS)
def test_the_level_is_kept_in_small(case: str) -> None:
    exact, means = contradicted(PREDICTIONS[case], 40, "both", 0.2, 0)
    assert means <= exact <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / 40)


def test_the_power_is_reached_in_small() -> None:
    assert min(seen(25, 0)) >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / 25)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "side"), [("mixed", "both"), ("grades", "lower"), ("rare", "upper")])
def test_the_level_is_kept(case: str, side: str) -> None:
    """4,000 portfolios of 400 rows in four grades and two segments, 14 rows of tables: with level .05."""
    exact, means = contradicted(PREDICTIONS[case], 4_000, side, 0.05, 2)
    print(f"{case}, {side}: contradicted {exact:.4f}, by means {means:.4f}")
    assert means <= exact <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4_000)


@pytest.mark.slow
def test_the_power_is_reached() -> None:
    shares = seen(2_000, 3)
    print("seen:", shares)
    assert min(shares) >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / 2_000)
