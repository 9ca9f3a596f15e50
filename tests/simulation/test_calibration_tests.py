"""The levels of the tests of given predictions: exact ones are kept, and docs/validation.md shows those of the others.

`python -m simulation.calibration_levels --write`, in `tests`, measures the tables anew.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulation.calibration_levels import (
    EXACT_RUNS,
    LEVEL,
    PAGE,
    RATES,
    SIZES,
    by_draws,
    catalogue,
    many_predictions,
    of_cells,
    of_counts,
    one_prediction,
    rejected,
)
from simulation.pages import cells, table

from fastbin.assess import cell_curves
from fastbin.assess.catalogue import CATALOGUE, EXACT
from fastbin.assess.cell_curves import cumulative
from fastbin.assess.prediction_cells import CellCounts


def kept(share: float, runs: int) -> bool:
    """At most the level, but for three standard errors."""
    return share <= LEVEL + 3.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / runs)


def exact_shares(n: int, rate: float, runs: int) -> dict[str, float]:
    """The levels of the exact tests of the number of ones, in a grade and in a portfolio."""
    found = {}
    for scope in (one_prediction, many_predictions):
        shares = rejected(scope(n, rate), of_counts, runs, seed=1)
        found |= {name: share for name, (share, _) in shares.items() if is_exact(name)}
    assert len(found) == 4
    return found


def is_exact(name: str) -> bool:
    return CATALOGUE[name].kind == EXACT


@pytest.mark.parametrize(("n", "rate"), [(20, 0.1), (300, 0.01)])
def test_exact_tests_keep_their_level(n: int, rate: float) -> None:
    for name, share in exact_shares(n, rate, 2000).items():
        assert kept(share, 2000), name


@pytest.mark.slow
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("n", SIZES)
def test_exact_tests_keep_their_level_at_full_size(n: int, rate: float) -> None:
    shares = exact_shares(n, rate, EXACT_RUNS)
    print(n, rate, shares)
    for name, share in shares.items():
        assert kept(share, EXACT_RUNS), name


def test_tests_by_draws_keep_their_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_curves, "MOST_DRAWS", 19)
    for name, (share, _) in rejected(many_predictions(25, 0.2), by_draws, 600).items():
        assert kept(share, 600), name
        assert share > 0.01, name


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rate"), [(20, 0.01), (100, 0.1), (1000, 0.01)])
def test_tests_by_draws_keep_their_level_at_full_size(n: int, rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_curves, "MOST_DRAWS", 99)
    for name, (share, _) in rejected(many_predictions(n, rate), by_draws, EXACT_RUNS, seed=1).items():
        print(n, rate, name, share)
        assert kept(share, EXACT_RUNS), name


@pytest.mark.parametrize("shift", [1.0, -1.0])
def test_detectable_differences_are_detected(shift: float) -> None:
    """Every prediction is off by as much as `ecce_detectable`: its chance of a small p-value is 0.8 at least."""
    rng, n, runs = np.random.default_rng(0), 2000, 300
    claimed = CellCounts(np.linspace(0.3, 0.7, n), np.ones(n, np.int64), np.zeros(n, np.int64))
    size = cumulative(claimed, LEVEL).detectable.statistic
    assert size is not None
    seen = 0
    for _ in range(runs):
        ones = rng.binomial(1, claimed.predictions + shift * size)
        found = cumulative(claimed._replace(ones=ones), LEVEL).kuiper.p_value
        seen += found is not None and found <= LEVEL
    assert seen / runs >= 0.8 - 3.0 * np.sqrt(0.8 * 0.2 / runs)


def test_the_table_of_tests_is_up_to_date() -> None:
    assert table(PAGE, "tests") == catalogue()


def test_the_tables_of_levels() -> None:
    """Exact tests keep the level everywhere; approximate ones keep about it where no warning stands (in italics)."""
    of_one = {row[0].strip("`"): row[1:] for row in cells(table(PAGE, "levels of counts"))}
    by_draw = {row[0].strip("`"): row[1:] for row in cells(table(PAGE, "levels by draws"))}
    of_many = {row[0].strip("`"): row[1:] for row in cells(table(PAGE, "levels of cells"))}
    for name, row in [*of_one.items(), *by_draw.items()]:
        assert not is_exact(name) or all(kept(float(share.strip("*")), 1000) for share in row), name
    assert {"binomial", "binomial_upper"} <= set(of_one)
    assert set(by_draw) == {"mcb_brier", "ecce_simulated"}
    for name, row in [*of_one.items(), *of_many.items()]:
        plain = [float(share) for share in row if not share.startswith("*")]
        assert plain, name
        assert max(plain) <= 0.08, name
    assert max(float(share.strip("*")) for share in of_one["mean_difference"]) > 0.06


def test_levels_come_out_again() -> None:
    row = next(row for row in cells(table(PAGE, "levels of cells")) if row[0] == "`spiegelhalter`")
    at = [(n, rate) for n in SIZES for rate in RATES].index((100, 0.5))
    share, _ = rejected(many_predictions(100, 0.5), of_cells, 400, seed=2)["spiegelhalter"]
    assert float(row[1 + at].strip("*")) == pytest.approx(share, abs=4 * np.sqrt(0.05 * 0.95 / 400))
