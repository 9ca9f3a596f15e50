"""The tests of given predictions: against plain references, R, statsmodels, and published numbers; hard inputs; the table."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from wordings import refused

import fastbin as fb
from fastbin.assess import calibration_tests, label_sums, population_stability
from fastbin.assess.calibration_tests import tests_of_cells as of_cells
from fastbin.assess.catalogue import CATALOGUE
from fastbin.assess.cell_curves import Blocks, critical_range, draw, largest_p, range_p
from fastbin.assess.cell_tests import deciles, hosmer_lemeshow, vasicek
from fastbin.assess.label_sums import tails_of_ones
from fastbin.assess.prediction_cells import CellCounts
from fastbin.assess.verdict import NEW_ROWS
from reference import calibration_tests as plain
from reference.label_sums import poisson_binomial

# Others than those in the repository: `.ci/thorough independent` makes them anew.
DATA = Path(os.environ.get("FASTBIN_FIGURES") or Path(__file__).resolve().parents[2] / "data")
R = json.loads((DATA / "calibration_tests.json").read_text(encoding="utf8"))
PYTHON = json.loads((DATA / "calibration_tests_python.json").read_text(encoding="utf8"))
NEAR = {"rel": 1e-6, "abs": 1e-6}


def cell(p: float, n: int, ones: int) -> CellCounts:
    return CellCounts(np.array([p]), np.array([n]), np.array([ones]))


# ------------------------------------------------------------------------------------------------- independent figures


def compared(row: dict[str, Any], expected: Any) -> None:
    """A row against a number, or against its statistic, ends and p-value."""
    parts = expected if isinstance(expected, dict) else {"statistic": expected}
    assert row["statistic"] == pytest.approx(parts["statistic"], **NEAR)
    if "ends" in parts:
        assert [row["low"], row["high"]] == pytest.approx(parts["ends"], **NEAR)
    if "p" in parts:
        assert row["p_value"] == pytest.approx(parts["p"], **NEAR)
    if "df" in parts:
        assert row["df"] == parts["df"]


@pytest.mark.parametrize("at", range(len(R["cases"])))
def test_figures_of_r_and_of_python(at: int) -> None:
    p, y, theirs = (R["cases"][at][name] for name in ("p", "y", "figures"))
    tests = calibration_tests(p, y)
    law = "poisson_binomial"
    assert tests[law]["p_value"] == pytest.approx(theirs["exact"], **NEAR)
    assert tests[f"{law}_upper"]["p_value"] == pytest.approx(theirs["exact_upper"], **NEAR)
    assert tests["mid_p"]["p_value"] == pytest.approx(theirs["mid_p"], **NEAR)
    assert tests["jeffreys"]["p_value"] == pytest.approx(theirs["jeffreys"], **NEAR)
    assert [tests["jeffreys"]["low"], tests["jeffreys"]["high"]] == pytest.approx(theirs["jeffreys_ends"], **NEAR)
    named = [name for name in theirs if name in CATALOGUE and name not in ("mid_p", "jeffreys")]
    assert len(named) == 16
    for name in named:
        compared(tests[name], theirs[name])
    compared(tests["hosmer_lemeshow_deciles"], theirs["hosmer_lemeshow"])
    assert tests["calibration_slope"]["statistic"] == pytest.approx(theirs["val_prob"]["slope"], **NEAR)
    path = theirs["kuiper"]
    compared(tests["ecce"], {"statistic": path["range"], "p": plain.range_p(path["range"] / path["sigma"])})
    compared(tests["ecce_max"], {"statistic": path["largest"], "p": plain.largest_p(path["largest"] / path["sigma"])})
    own = PYTHON["cases"][at]
    assert tests[law]["p_value"] == pytest.approx(own["exact"], **NEAR)
    assert tests[f"{law}_upper"]["p_value"] == pytest.approx(own["exact_upper"], **NEAR)
    for name in set(own) & set(CATALOGUE):
        compared(tests[name], own[name])
    assert tests["smooth_ece"]["statistic"] == pytest.approx(own["smooth_ece_to_3_places"], abs=2e-3)


def test_grades_of_one_prediction_in_r() -> None:
    """Where every decile is one of the four predictions, groups between deciles are the grades."""
    case = next(case for case in R["cases"] if case["name"] == "four grades")
    grades = [str(value) for value in case["p"]]
    compared(calibration_tests(case["p"], case["y"], grades)["hosmer_lemeshow_grades"], case["figures"]["hosmer_lemeshow"])


@pytest.mark.parametrize("case", R["one_prediction"])
def test_one_prediction_in_r(case: dict[str, Any]) -> None:
    k, n, p = case["k"], case["n"], case["p"]
    tests = calibration_tests([p] * n, np.arange(n) < k)
    assert tests["binomial_upper"]["p_value"] == pytest.approx(case["upper"], **NEAR)
    assert tests["binomial"]["p_value"] == pytest.approx(min(1.0, 2 * min(case["upper"], case["lower"])), **NEAR)
    assert [tests["binomial"]["low"], tests["binomial"]["high"]] == pytest.approx(case["ends"], **NEAR)
    assert tests["jeffreys"]["p_value"] == pytest.approx(case["jeffreys"], **NEAR)


@pytest.mark.parametrize("case", R["vasicek"])
def test_correlated_defaults_in_r(case: dict[str, Any]) -> None:
    own = vasicek(cell(case["p"], case["n"], case["k"]), case["rho"])
    assert own.p_value == pytest.approx(case["chance"], rel=1e-8)


# ------------------------------------------------------------------------------------------------- published numbers


def test_jeffreys_of_twelve_in_four_hundred() -> None:
    """The European Central Bank's formula at 12 defaults of 400 and a PD of 2 %, in a grade and in the portfolio."""
    tests = calibration_tests([0.02] * 400, [1] * 12 + [0] * 388, ["A"] * 400)
    assert round(tests["jeffreys"]["p_value"], 5) == round(tests["jeffreys", "A"]["p_value"], 5) == 0.08307


@pytest.mark.parametrize(("p", "z"), [((0.2, 0.2), 1.06), ((0.4, 0.5), 1.22)])
def test_spiegelhalter_of_rufibach(p: tuple[float, float], z: float) -> None:
    """Table 1 of Rufibach 2010, Journal of Clinical Epidemiology 63."""
    assert round(calibration_tests(p, [1, 0])["spiegelhalter"]["statistic"], 2) == z


def test_hosmer_lemeshow_of_the_manual() -> None:
    """The example of hoslem.test in the R package ResourceSelection: 4.5227, and 0.8072 with two degrees of freedom less."""
    example = R["hoslem_example"]
    row = calibration_tests(example["p"], example["y"])["hosmer_lemeshow_deciles"]
    assert (round(row["statistic"], 4), row["df"]) == (4.5227, 10)
    assert round(example["figures"]["p_fitted"], 4) == 0.8072
    assert row["p_value"] == pytest.approx(example["figures"]["p"], **NEAR)


def test_delong_of_proc() -> None:
    """The example of pROC, on S100B after a subarachnoid haemorrhage: 0.7314, from 0.6301 to 0.8326 (Robin et al. 2011)."""
    data = R["aSAH"]
    row = calibration_tests(np.array(data["s100b"]) / 4.0, data["poor"])["auc"]
    assert [round(row[name], 4) for name in ("low", "statistic", "high")] == [0.6301, 0.7314, 0.8326]
    assert [row["low"], row["statistic"], row["high"]] == pytest.approx(data["auc"], **NEAR)


@pytest.mark.parametrize(
    ("n", "bounds"),
    [(800, [0.0015, 0.0040, 0.0086, 0.0131, 0.0265, 0.0529]), (300, [0.0037, 0.0092, 0.0189, 0.0278, 0.0530, 0.0984])],
)
def test_correlated_defaults_of_pluto_and_tasche(n: int, bounds: list[float]) -> None:
    """Upper bounds of a PD at confidence 50 to 99.9 % where no obligor defaults, asset correlation 12 % (2005).

    Printed in hundredths of a percent, the last of which are not always rounded.
    """
    for confidence, bound in zip((0.5, 0.75, 0.9, 0.95, 0.99, 0.999), bounds, strict=True):
        ends = [vasicek(cell(bound + move, n, 1), 0.12).p_value for move in (-0.0001, 0.0001)]
        assert ends[0] <= confidence <= ends[1]


def test_correlated_defaults_of_a_calculator() -> None:
    """35 defaults of 9,810, asset correlation 15 %: 3.34 % at confidence 95 % (Windridge, Pluto-Tasche calculator)."""
    bound = [vasicek(cell(0.0334 + move, 9810, 36), 0.15).p_value for move in (-0.00005, 0.0, 0.00005)]
    assert bound[0] < 0.95 < bound[2]
    assert bound[1] == pytest.approx(0.95, abs=1e-4)


def test_the_range_of_a_brownian_motion() -> None:
    """Feller 1951: its mean is 2 sqrt(2 / pi), its variance 4 log 2 - 8 / pi."""
    integrate = pytest.importorskip("scipy.integrate")
    mean = integrate.quad(range_p, 0.0, 12.0, limit=200)[0]
    square = integrate.quad(lambda x: 2.0 * x * range_p(x), 0.0, 12.0, limit=200)[0]
    assert mean == pytest.approx(1.595769, abs=1e-6)
    assert square - mean**2 == pytest.approx(4.0 * math.log(2.0) - 8.0 / math.pi, abs=1e-8)
    assert largest_p(2.2414) == pytest.approx(0.05, abs=1e-4)  # the square root of the 95 % point of sup |B|, Erdos & Kac 1946


def test_stability_of_kascore() -> None:
    """The example of psi in the R package KAscore."""
    example = R["psi_example"]
    moved = population_stability(example["reference"], example["new"], kind="counts")
    assert round(moved.index, 7) == 0.3404592
    assert moved.index == pytest.approx(example["index"], rel=1e-12)


# ------------------------------------------------------------------------------------------------- plain references

VALUES = [0.01, 0.05, 0.2, 0.3, 0.5, 0.75, 0.9]
ROWS = st.lists(st.tuples(st.sampled_from(VALUES), st.integers(0, 1)), min_size=1, max_size=30)


@settings(max_examples=25, deadline=None)
@given(ROWS)
def test_figures_are_those_of_the_reference(rows: list[tuple[float, int]]) -> None:
    p, y = ([row[at] for row in rows] for at in (0, 1))
    tests = calibration_tests(p, y)
    upper, lower, _ = plain.exact_tails(p, y)
    law = "poisson_binomial" if len(set(p)) > 1 else "binomial"
    close = {"rel": 1e-8, "abs": 1e-9}
    assert tests[law]["p_value"] == pytest.approx(plain.two_sided(upper, lower), **close)
    assert tests[f"{law}_upper"]["p_value"] == pytest.approx(float(upper), **close)
    assert tests["mid_p"]["p_value"] == pytest.approx(plain.mid_p(p, y), **close)
    assert tests["jeffreys"]["p_value"] == pytest.approx(plain.jeffreys(p, y), **close)
    groups = plain.deciles(p, y)
    if len(groups) > 1:
        statistic, p_value, df = plain.hosmer_lemeshow(groups)
        compared(tests["hosmer_lemeshow_deciles"], {"statistic": statistic, "p": p_value, "df": df})
    else:
        assert "1 group" in tests["hosmer_lemeshow_deciles"]["undefined"]
    if any(value != 0.5 for value in p):
        compared(tests["spiegelhalter"], dict(zip(("statistic", "p"), plain.spiegelhalter(p, y), strict=True)))
    spread, largest, deviation = plain.cumulative(p, y)
    compared(tests["ecce"], {"statistic": spread, "p": plain.range_p(spread / deviation) if spread / deviation > 0.3 else 1.0})
    compared(tests["ecce_max"], {"statistic": largest, "p": plain.largest_p(largest / deviation)})
    for score, name in ((plain.brier, "brier"), (plain.log_score, "log")):
        for part, expected in zip(("mcb", "dsc", "unc"), plain.parts(p, y, score), strict=True):
            assert tests[f"{part}_{name}"]["statistic"] == pytest.approx(expected, **close)
    gaps = plain.gaps(p, y)
    assert tests["ici"]["statistic"] == pytest.approx(sum(gaps) / len(gaps), **close)
    assert tests["e50"]["statistic"] == pytest.approx(plain.quantile(gaps, 0.5), **close)
    assert tests["e90"]["statistic"] == pytest.approx(plain.quantile(gaps, 0.9), **close)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6))
def test_fits_and_ranks_are_those_of_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(2.0, 3.0, 40), 2) * 0.96 + 0.02
    y = (rng.random(40) < p**1.3).astype(int)
    tests = calibration_tests(p, y)
    area, variance = plain.auc(p.tolist(), y.tolist())
    assert tests["auc"]["statistic"] == pytest.approx(area, abs=1e-12)
    assert (tests["auc"]["low"], tests["auc"]["high"]) == pytest.approx(
        (max(0.0, area - 1.959963985 * variance**0.5), min(1.0, area + 1.959963985 * variance**0.5)), abs=1e-8
    )
    alone, intercept, slope = plain.likeliest(p.tolist(), y.tolist())
    for name, expected in zip(("in_the_large", "intercept", "slope"), (alone, intercept, slope), strict=True):
        assert tests[f"calibration_{name}"]["statistic"] == pytest.approx(expected, abs=2e-6)
    _, *errors = plain.standard_errors(p.tolist(), intercept, slope)
    for name, error in zip(("intercept", "slope"), errors, strict=True):
        row = tests[f"calibration_{name}"]
        assert row["high"] - row["low"] == pytest.approx(2 * 1.959963985 * error, rel=1e-4)
    gain = 2 * (plain.log_likelihood(p, y, intercept, slope) - plain.log_likelihood(p, y, 0.0, 1.0))
    assert tests["cox"]["statistic"] == pytest.approx(gain, abs=1e-6)


@pytest.mark.parametrize(("n", "power"), [(6, 1.0), (12, 1.6)])
def test_the_smoothed_error_is_that_of_the_definition(n: int, power: float) -> None:
    rng = np.random.default_rng(n)
    p = rng.random(n)
    y = (rng.random(n) < p**power).astype(int)
    expected = plain.smooth_ece(p.tolist(), y.tolist(), knots=1000)
    assert calibration_tests(p, y)["smooth_ece"]["statistic"] == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("n_draws", [0, 999])
def test_chances_are_those_over_all_labels(n_draws: int) -> None:
    """By the law of the 576 tallies, and by draws where one more prediction is apart."""
    p = [0.1, 0.1, 0.2, 0.35, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9] if n_draws == 0 else [0.1, 0.15, *np.arange(0.2, 1.0, 0.1)]
    y = [0, 1, 1, 0, 1, 0, 1, 0, 1, 1]
    tests = calibration_tests(p, y)
    miscalibration = plain.chance_of_all_labels(p, y, lambda labels: plain.parts(p, labels, plain.brier)[0])
    strays = plain.chance_of_all_labels(p, y, lambda labels: plain.cumulative(p, labels)[0])
    assert tests.n_draws == n_draws
    for name, expected in (("mcb_brier", miscalibration), ("ecce_simulated", strays)):
        error = 4 * math.sqrt(expected * (1 - expected) / n_draws) if n_draws else 1e-12
        assert tests[name]["p_value"] == pytest.approx(expected, abs=error)


@pytest.mark.parametrize(
    ("cells", "name", "level"),
    [
        ({0.05: 12, 0.2: 12}, "mcb_brier", 0.05),
        ({0.1: 33}, "mcb_brier", 0.01),
        ({0.1: 24}, "mcb_brier", 0.005),
        ({0.05: 80}, "ecce_simulated", 0.002),
        ({0.007: 78, 0.0214: 122}, "ecce_simulated", 0.05),
        ({0.0038: 41, 0.0089: 54}, "ecce_simulated", 0.01),
        ({0.000268: 3124}, "mcb_brier", 0.05),
    ],
)
def test_few_tallies_keep_every_level(cells: dict[float, int], name: str, level: float) -> None:
    """Over all tallies with their chances; the least likely count as refused.

    Where few are likely and each had one set of draws, these were .0588, .0141, .0075, .0051, .0597, .0137 and .0529. The other
    figures of a table are left out, but for the likely tallies.
    """
    of_draws = {"mcb_brier": "miscalibration", "ecce_simulated": "kuiper"}[name]
    predictions, counts, chance = np.array(list(cells)), np.array(list(cells.values())), 0.0
    laws = [binom.pmf(range(n + 1), n, p).tolist() for p, n in cells.items()]
    for ones in itertools.product(*(range(n + 1) for n in cells.values())):
        own = math.prod(law[k] for k, law in zip(ones, laws, strict=True))
        if own < 1e-6:
            chance += own
        else:
            tally = CellCounts(predictions, counts, np.array(ones))
            p_value = getattr(draw(tally, Blocks.of(counts, tally.ones), 0.05), of_draws)
            chance += own * (p_value <= level)
        if own > 0.02:
            labels = np.concatenate([np.arange(n) < k for k, n in zip(ones, counts, strict=True)])
            assert calibration_tests(np.repeat(predictions, counts), labels)[name]["p_value"] == p_value
    assert level / 10 < chance <= level


@pytest.mark.parametrize("n", [2**31 - 1, 2**31 + 10, 3 * 10**9])
def test_likely_tallies_of_many_rows(n: int) -> None:
    """From 2**31 rows on binomial functions of SciPy are NaN, which read as a p-value of 1."""
    p = 10.0 / n
    for ones in (5, 12, 40):
        tests = calibration_tests([p, p], [0, 1], sample_weight=[n - ones, ones])
        assert tests.n_draws == 0
        for name in ("mcb_brier", "ecce_simulated"):
            far = binom(n, p)
            expected = far.sf(ones - 1) + far.cdf(20 - ones) if ones > 10 else far.cdf(ones) + far.sf(19 - ones)
            assert tests[name]["p_value"] == pytest.approx(expected, abs=2e-9, rel=1e-6)


def test_the_band_of_few_tallies_is_that_of_their_law() -> None:
    """One prediction: the band of its rate has the binomial quantiles, outside which lies no more than half of the level."""
    for n, p, level in ((33, 0.1, 0.05), (80, 0.5, 0.1), (5, 0.9, 0.02)):
        _, rate, low, high = calibration_tests([p] * n, np.arange(n) < 2, test_level=level).curve[0]
        assert rate == 2 / n
        assert (low, high) == tuple(binom.ppf([level / 2, 1 - level / 2], n, p) / n)


@pytest.mark.parametrize("x", [0.31, 0.7, 1.0, 1.4, 2.5, 4.0])
def test_laws_of_paths(x: float) -> None:
    assert range_p(x) == pytest.approx(plain.range_p(x), abs=1e-10)
    assert largest_p(x) == pytest.approx(plain.largest_p(x), abs=1e-10)
    assert range_p(critical_range(0.05)) == pytest.approx(0.05, abs=1e-12)


@pytest.mark.parametrize(("p", "ones"), [([0.02] * 30, 2), ([0.01, 0.02, 0.1, 0.3] * 5, 5), ([0.5] * 5, 5)])
def test_correlated_defaults_are_the_reference(p: list[float], ones: int) -> None:
    counts = CellCounts.of_samples(fb.assess.samples.check_samples(p, np.arange(len(p)) < ones))
    for correlation in (0.0, 0.04, 0.24):
        expected = float(plain.vasicek(p, ones, correlation)) if correlation else None
        own = vasicek(counts, correlation).p_value
        if expected is None:
            expected = float(plain.exact_tails(p, [1] * ones + [0] * (len(p) - ones))[0])
        same = len(set(p)) == 1
        assert own == pytest.approx(expected, abs=1e-9 if same else 0.02)
        assert same or own != expected


def test_the_limit_of_many_correlated_obligors() -> None:
    for rate in (0.005, 0.02, 0.1):
        n = 10**9
        own = vasicek(cell(0.02, n, round(rate * n)), 0.12).p_value
        assert own == pytest.approx(plain.vasicek_limit(0.02, rate, 0.12), abs=1e-6)


# ------------------------------------------------------------------------------------------------- cells, not rows

OPTIONS: dict[str, Any] = {"whole": False, "asset_correlation": 0.12, "test_level": 0.05}


def test_bits_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(5)
    p, by = np.round(rng.beta(1, 5, 3000), 3), rng.choice(["A", "B", "C"], 3000)
    y, times = rng.random(3000) < p, rng.integers(1, 4, 3000)
    first = calibration_tests(p, y, by, asset_correlation=0.1, sample_weight=times).to_dict()
    order = rng.permutation(3000)
    again = calibration_tests(p[order], y[order], by[order], asset_correlation=0.1, sample_weight=times[order]).to_dict()
    assert json.dumps(again) == json.dumps(first)
    rows = np.repeat(np.arange(3000), times)
    repeated = calibration_tests(p[rows], y[rows], by[rows], asset_correlation=0.1).to_dict()
    assert json.dumps(repeated) == json.dumps(first)


def test_cells_of_grades_pool_to_those_of_all() -> None:
    rng = np.random.default_rng(6)
    p, by = rng.choice([0.0, -0.0, 0.1, 0.3], 500), rng.choice(["A", "B"], 500)
    y = rng.random(500) < p
    check = fb.assess.samples.check_samples
    parts = [CellCounts.of_samples(check(p[by == name], y[by == name])) for name in ("A", "B")]
    pooled = CellCounts.pooled(parts[::-1])
    for own, other in zip(pooled, CellCounts.of_samples(check(p, y)), strict=True):
        np.testing.assert_array_equal(own, other)
    tests = of_cells(pooled, [("A", parts[0]), ("B", parts[1])], whole=True, asset_correlation=None, test_level=0.05)
    assert tests.to_dict() == calibration_tests(p, y, by).to_dict()


def test_means_of_grades_alone() -> None:
    grades = [("A", cell(0.02, 400, 12)), ("B", cell(0.1, 200, 34))]
    tests = of_cells(CellCounts.pooled(own for _, own in grades), grades, **OPTIONS)
    assert {row["test"] for row in tests if row["scope"] == "all"} == {"jeffreys", "vasicek", "hosmer_lemeshow_grades"}
    assert {"poisson_binomial", "spiegelhalter", "calibration_slope", "ici", "auc", "ecce", "smooth_ece", "mcb_brier"} <= set(
        tests.left_out
    )
    assert tests["binomial", "A"]["kind"] == "approximate"
    assert "has its mean" not in tests["binomial", "A"]["warning"]
    assert "if all rows of the grade have its mean prediction" in tests["binomial", "A"]["warning"]
    rows = two_grades()
    for key in ("jeffreys", "hosmer_lemeshow_grades", ("binomial", "B"), ("jeffreys", "A")):
        assert tests[key]["p_value"] == rows[key]["p_value"]
    assert (len(tests.curve), tests.n_draws) == (0, 0)
    assert "exact p" not in str(tests).splitlines()[0]


def test_laws_of_many_rows_in_few_cells() -> None:
    """From counts by Fourier inversion, and row by row by convolution: one law."""
    cells = CellCounts(np.array([0.01, 0.2, 0.7]), np.array([3000, 500, 40]), np.array([20, 90, 30]))
    first, law = poisson_binomial(np.repeat(cells.predictions, cells.counts))
    tails = tails_of_ones(cells)
    at = cells.n_ones - first
    assert tails == pytest.approx((law[at:].sum(), law[at + 1 :].sum(), law[: at + 1].sum(), law[:at].sum()), abs=1e-10)
    billion = CellCounts(np.array([0.01, 0.02]), np.array([10**9, 10**9]), np.array([10**7 + 4000, 2 * 10**7]))
    assert 0.2 < tails_of_ones(billion).at_least < 0.25
    vast = CellCounts(np.array([0.3, 0.5]), np.array([10**10, 10**10]), np.array([3 * 10**9 + 20_000, 5 * 10**9]))
    n, ones = 10**10, 3 * 10**9 + 20_000
    own = label_sums._vast_tails(cell(0.3, n, ones))
    # Exact, by the ratios of neighbouring chances: the incomplete beta function of SciPy 1.12 has seven digits at such counts.
    numbers = np.arange(3 * 10**9 - 600_000, 3 * 10**9 + 600_000)
    steps = np.log((n - numbers[:-1]) * 0.3) - np.log((numbers[1:]) * 0.7)
    chances = np.exp(np.cumsum(np.append(0.0, steps)) - np.cumsum(np.append(0.0, steps)).max())
    at = ones - int(numbers[0])
    parts = [part.sum() / chances.sum() for part in (chances[at:], chances[at + 1 :], chances[: at + 1], chances[:at])]
    assert tuple(own) == pytest.approx(parts, abs=1e-9)
    assert sum(tails_of_ones(vast)[::3]) == pytest.approx(1.0, abs=1e-12)
    assert tails_of_ones(vast).at_least == pytest.approx(0.38, abs=0.01)


def exact_tails(p: list[float], ones: int) -> tuple[Fraction, Fraction]:
    """The chances of so many ones or more, and of so many or fewer, in fractions."""
    law, whole = [1], 1  # whole numbers of this many parts, as fractions would be reduced at each step
    for chance in map(Fraction, p):
        whole *= chance.denominator
        zero, one = [*law, 0], [0, *law]
        rest = chance.denominator - chance.numerator
        law = [rest * without + chance.numerator * with_it for without, with_it in zip(zero, one, strict=True)]
    return Fraction(sum(law[ones:]), whole), Fraction(sum(law[: ones + 1]), whole)


@pytest.mark.parametrize(
    ("p", "ones"),
    [
        ([1e-17, 0.5], 2),
        ([1e-5, 2e-5, 3e-5], 3),
        ([1e-300, 1e-3], 1),
        (np.random.default_rng(0).random(40).round(4).tolist(), 40),
        ([0.0, 0.0, 1e-9, 2e-9, 0.25, 1.0], 4),
        ([0.0, 0.5, 0.5, 1.0, 1.0], 1),  # fewer than can be
        ([0.0, 0.25, 1.0], 3),  # more
        ([0.01 * (1 + i % 3) for i in range(120)], 25),
    ],
)
def test_far_tails_have_their_own_digits(p: list[float], ones: int) -> None:
    """And their mirror images."""
    for chances, seen in ((p, ones), ([1.0 - each for each in p], len(p) - ones)):
        values, counts = np.unique(chances, return_counts=True)
        first = np.minimum(counts, np.maximum(seen - (np.cumsum(counts) - counts), 0))
        tails = tails_of_ones(CellCounts(values, counts, first))
        at_least, at_most = exact_tails(chances, seen)
        assert tails.at_least == pytest.approx(float(at_least), rel=1e-9, abs=0.0)
        assert tails.at_most == pytest.approx(float(at_most), rel=1e-9, abs=0.0)


def test_groups_between_deciles() -> None:
    rng = np.random.default_rng(8)
    for n in (1, 2, 9, 57, 1000):
        p = np.round(rng.random(n), 1 if n < 100 else 3)
        y = (rng.random(n) < p).astype(int)
        counts, ones, expected = deciles(CellCounts.of_samples(fb.assess.samples.check_samples(p, y)))
        groups = plain.deciles(p.tolist(), y.tolist())
        assert counts.tolist() == [len(group) for group in groups]
        assert ones.tolist() == [sum(label for _, label in group) for group in groups]
        np.testing.assert_allclose(expected, [sum(value for value, _ in group) for group in groups], rtol=1e-12)


# ------------------------------------------------------------------------------------------------- hard inputs


HARD: list[tuple[list[float], list[int]]] = [
    ([0.0], [0]), ([0.0], [1]), ([1.0], [0]), ([0.5], [1]), ([0, 1], [0, 1]), ([0, 1], [1, 0]), ([0.2, 0.3], [0, 0]),
    ([1e-300, 0.5], [1, 0]), ([1e-300, 1e-200, 0.5, 0.6], [1, 0, 1, 0]), ([5e-324, 1 - 1e-16], [1, 0]),
    ([0.5] * 4, [0, 1, 1, 0]), ([0.1, 0.2, 0.3], [1, 1, 1]), ([0, 0, 0.5, 0.5, 1, 1], [0, 0, 1, 0, 1, 1]),
    ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]), ([0.3] * 20, [0] * 19 + [1]), ([0.2, 0.4, 0.4], [0, 1, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("p", "y"), HARD)
def test_every_figure_is_a_number_or_has_a_reason(p: list[float], y: list[int]) -> None:
    """Warnings are errors in these tests, so nothing divides by 0 on the way."""
    tests = calibration_tests(p, y, [7] * len(p), asset_correlation=0.15)
    content = json.dumps(tests.to_dict(), allow_nan=False)
    assert json.loads(content)["n_samples"] == len(p)
    for row in tests:
        assert (row["statistic"] is None) <= bool(row["undefined"])
        assert row["p_value"] is None or 0.0 <= row["p_value"] <= 1.0
        assert (row["low"] is None) == (row["high"] is None)
    assert str(tests)
    assert "nan" not in str(tests).lower()
    assert tests._repr_html_()


def test_reasons() -> None:
    separated = calibration_tests([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    assert "separates the labels" in separated["calibration_slope"]["undefined"]
    assert separated["calibration_in_the_large"]["statistic"] is not None
    assert "no width" in separated["auc"]["warning"]
    touching = calibration_tests([0.2, 0.4, 0.4], [0, 1, 0])
    assert "separates the labels" in touching["calibration_slope"]["undefined"]
    certain = calibration_tests([0.0, 0.3, 0.6], [1, 0, 1])
    assert "no logit" in certain["cox"]["undefined"]
    assert "infinite" in certain["mcb_log"]["undefined"]
    assert certain["dsc_log"]["statistic"] is not None
    wrong = hosmer_lemeshow(np.array([3, 4]), np.array([1, 0]), np.array([0.0, 1.0]))
    assert wrong.reason.startswith("all predictions of a group")
    assert calibration_tests([0.0] * 5, [0, 0, 0, 0, 1])["binomial"]["p_value"] == 0.0
    assert "every label is 1" in calibration_tests([0.1, 0.2], [1, 1])["auc"]["undefined"]


def test_warnings_name_the_exact_test() -> None:
    few = calibration_tests([0.001, 0.002] * 50, [1] + [0] * 98 + [1])
    for name in ("mid_p", "mean_difference"):
        assert few[name]["warning"].endswith("exact: poisson_binomial")
    for name in ("hosmer_lemeshow_deciles", "spiegelhalter", "calibration_slope", "cox", "ecce"):
        assert few[name]["warning"].endswith("exact: mcb_brier, ecce_simulated")
    rng = np.random.default_rng(0)
    p = rng.random(5000)
    many = calibration_tests(p, rng.random(5000) < p)
    assert {row["warning"] for row in many} == {""}
    assert {row["kind"] for row in many} == {"exact", "approximate", "estimate"}


# ------------------------------------------------------------------------------------------------- the table


TWO_GRADES = [0.02] * 400 + [0.1] * 200, [1] * 12 + [0] * 388 + [1] * 34 + [0] * 166, ["A"] * 400 + ["B"] * 200


def two_grades(**options: Any) -> Any:
    return calibration_tests(*TWO_GRADES, **options)


def test_verdict_and_holm() -> None:
    tests = two_grades(asset_correlation=0.12)
    assert (tests.verdict, tests.n_grades, tests.n_samples, tests.label_sum) == ("contradicted", 2, 600, 46)
    assert str(tests).startswith("Calibration is contradicted by 600 new rows, with 46 ones where 28.0 are expected")
    assert "of 2 grades in B after Holm's adjustment" in str(tests)
    assert NEW_ROWS in str(tests)
    for name in ("binomial", "binomial_upper", "mid_p", "jeffreys", "vasicek"):
        own = sorted(tests[name, grade]["p_value"] for grade in "AB")
        adjusted = sorted(tests[name, grade]["holm"] for grade in "AB")
        assert adjusted == pytest.approx([min(1.0, 2 * own[0]), max(2 * own[0], own[1])])
        if name not in ("binomial", "binomial_upper"):
            assert tests[name]["holm"] is None
    fine = two_grades(test_level=0.001)
    assert fine.verdict == "not contradicted"
    assert "in none after Holm" in str(fine)
    check = fb.assess.check_predictions(*TWO_GRADES)
    keys = [("binomial", "A"), ("binomial", "B"), "poisson_binomial"]
    assert [tests[key]["p_value"] for key in keys] == check.p_values.tolist()


def test_forms_of_the_table() -> None:
    tests = two_grades()
    frame = tests.to_pandas()
    assert frame.columns.tolist() == [
        "scope", "test", "side", "statistic", "p_value", "holm", "low", "high", "df", "kind", "warning", "undefined",
        "reference",
    ]  # fmt: skip
    assert len(frame) == len(list(tests)) == len(tests.figures)
    assert set(frame.test) <= set(CATALOGUE)
    page = tests._repr_html_()
    assert "badge" in page
    assert page.count("<tr>") == len(frame) + 1
    text = str(tests)
    assert "...\n" not in text
    assert "(1) p (1 - p) adds up to 7.84, below 10; exact: binomial" in text
    with pytest.raises(KeyError, match="no test 'hosmer' of all samples; there are: poisson_binomial"):
        tests["hosmer"]
    with pytest.raises(KeyError, match="'C'"):
        tests["binomial", "C"]
    assert tests["auc", "all"] == tests["auc"]
    with pytest.raises(KeyError, match="there are: tests of 'A', 'B', and of all samples"):
        tests["auc", "none"]


def test_the_curve_and_its_band() -> None:
    rng = np.random.default_rng(3)
    p = rng.random(2000)
    tests = calibration_tests(p, rng.random(2000) < p)
    assert tests.curve.shape == (100, 4)
    assert (np.diff(tests.curve, axis=0) >= 0.0).all()
    assert (tests.curve[:, 2] <= tests.curve[:, 3]).all()
    inside = (tests.curve[:, 1] >= tests.curve[:, 2]) & (tests.curve[:, 1] <= tests.curve[:, 3])
    assert inside.mean() > 0.8
    wrong = calibration_tests(p, rng.random(2000) < p**3)
    assert ((wrong.curve[:, 1] < wrong.curve[:, 2]) | (wrong.curve[:, 1] > wrong.curve[:, 3])).mean() > 0.5
    few = two_grades()
    assert few.curve[:, 0].tolist() == [0.02, 0.1]
    assert few.curve[:, 1].tolist() == [0.03, 0.17]
    cells = cell(0.02, 400, 12)
    band = draw(cells, Blocks.of(cells.counts, cells.ones), 0.05).curve[0, 2:]
    binom = pytest.importorskip("scipy.stats").binom(400, 0.02)
    assert abs(band * 400 - binom.ppf([0.025, 0.975])).max() <= 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"p": [0.1, 1.5], "y": [0, 1]}, r"p\[1\] is 1.5"),
        ({"p": [0.1, float("nan")], "y": [0, 1]}, r"p\[1\]"),
        ({"p": [0.1, 0.2], "y": [0, 2]}, r"y\[1\]"),
        ({"p": [0.1, 0.2], "y": [0, 1], "by": ["a", None]}, r"by\[1\]"),
        ({"p": [0.1, 0.2], "y": [0, 1], "asset_correlation": 1.0}, "asset_correlation"),
        ({"p": [0.1, 0.2], "y": [0, 1], "asset_correlation": -0.1}, "asset_correlation"),
        ({"p": [0.1, 0.2], "y": [0, 1], "test_level": 0.9}, "test_level"),
        ({"p": [], "y": []}, "no sample"),
    ],
)
def test_bad_input_is_named(call: dict[str, Any], message: str) -> None:
    refused((fb.InputError, fb.InputTypeError), message, calibration_tests, **call)
    refused(fb.GuaranteeError, "real weights", calibration_tests, [0.1], [0], sample_weight=[0.5])


# ------------------------------------------------------------------------------------------------- population stability


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12))
def test_stability_is_the_reference(counts: list[tuple[int, int]]) -> None:
    reference, new = ([pair[at] for pair in counts] for at in (0, 1))
    if not sum(reference) or not sum(new):
        name = "new" if sum(reference) else "reference"
        refused(fb.InputError, f"{name} holds no row", population_stability, reference, new, kind="counts")
        return
    moved = population_stability(reference, new, kind="counts")
    expected = plain.stability(reference, new)
    assert moved.index == pytest.approx(expected, abs=1e-12)
    assert moved.smoothed == pytest.approx(plain.stability([x + 0.5 for x in reference], [x + 0.5 for x in new]), abs=1e-12)
    assert math.isfinite(moved.smoothed)
    assert ("is infinite" in str(moved)) == math.isinf(expected)
    assert json.dumps(moved.to_dict(), allow_nan=False)


def test_one_bin_says_nothing_of_stability() -> None:
    for moved in (
        population_stability([0.5] * 1000, [0.9] * 1000),
        population_stability(np.arange(50) / 50, np.arange(50) / 70, n_bins=1),
        population_stability([10], [20], kind="counts"),
    ):
        assert (moved.index, len(moved.reference)) == (0.0, 1)
        assert "says nothing: all are in one bin" in str(moved)
        assert "shift" not in str(moved)


def test_stability_of_scores() -> None:
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=5000), rng.normal(0.5, 1.0, 3000)
    moved = population_stability(old, new)
    assert moved.reference.tolist() == [500] * 10
    edges = moved.edges
    expected = [int(((new >= low) & (new < high)).sum()) for low, high in zip([-np.inf, *edges], [*edges, np.inf], strict=True)]
    assert moved.new.tolist() == expected
    assert moved.index == pytest.approx(plain.stability(moved.reference.tolist(), expected))
    assert ("a major shift" in str(moved), moved.p_value < 1e-10) == (moved.index >= 0.25, True)
    same = population_stability(old, old)
    assert (same.index, same.p_value) == (0.0, 1.0)
    tied = population_stability([1.0] * 90 + [2.0] * 10, [1.0, 2.0, 3.0])
    assert (tied.reference.tolist(), tied.new.tolist()) == ([90, 10], [1, 2])
    assert tied.to_pandas()["from"].isna().tolist() == [True, False]
    one = population_stability([1.0, 1.0], [2.0])
    assert (one.index, math.isnan(one.p_value), len(one.new)) == (0.0, True, 1)


def test_scores_of_two_float_types_are_compared_in_the_narrower() -> None:
    scores = np.tile(np.arange(1, 10) / 10, 300)
    narrow = scores.astype(np.float32)
    assert (narrow != scores).any()
    for reference, new in ((narrow, scores), (scores, narrow)):
        assert population_stability(reference, new, n_bins=4).index == 0.0
    assert population_stability(scores, scores - 1e-12, n_bins=4).index > 0.0  # in float64 both, they are different scores


def test_moves_between_few_scores_are_told() -> None:
    pd = np.repeat([0.002, 0.006, 0.015, 0.04, 0.12], 100)
    found = population_stability(pd, 2.4 * pd)
    assert found.n_values == 5
    assert "The reference has 5 different scores; moves between two of them are not seen" in str(found)
    assert "different scores" not in str(population_stability(np.arange(50.0), np.arange(50.0) + 1.0))


def test_stability_by_chance() -> None:
    """Two samples of one law: the mean of the index, and how often the p-value is below 0.05."""
    rng = np.random.default_rng(1)
    found = [population_stability(rng.random(2000), rng.random(1000)) for _ in range(400)]
    assert np.mean([own.index for own in found]) == pytest.approx(found[0].expected, rel=0.1)
    assert 0.02 <= np.mean([own.p_value <= 0.05 for own in found]) <= 0.09


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"reference": [1.0, float("nan")], "new": [1.0]}, r"reference\[1\]"),
        ({"reference": [1, 2], "new": [1], "kind": "counts"}, "lengths differ: reference has 2, new has 1"),
        ({"reference": [1, -2], "new": [1, 1], "kind": "counts"}, r"reference\[1\] is -2"),
        ({"reference": [1.5, 2.0], "new": [1, 1], "kind": "counts"}, "reference must be integers"),
        ({"reference": [1, 2], "new": [3, 4]}, "reference and new are 2 integers each, which may be scores or counts"),
        ({"reference": [1.0], "new": [1.0], "kind": "rows"}, "kind is 'rows'"),
        ({"reference": [1.0], "new": [], "kind": "scores"}, "new holds no row"),
        ({"reference": [1.0], "new": [1.0], "n_bins": 0}, "n_bins"),
    ],
)
def test_bad_samples_are_named(call: dict[str, Any], message: str) -> None:
    refused((fb.InputError, fb.InputTypeError), message, population_stability, **call)


FIELDS: dict[str, Callable[[Any], Any]] = {"asks": str, "assumes": str, "reference": str}


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_the_catalogue_is_complete(name: str) -> None:
    entry = CATALOGUE[name]
    assert all(getattr(entry, field) for field in FIELDS)
    assert entry.kind in ("exact", "approximate", "estimate")
    assert {word.strip() for word in entry.instead.split(",")} - {""} <= set(CATALOGUE)
