"""Failure probabilities and counts at the ends of what is accepted: finite, valid, and refused in words beyond."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy

import fastbin as fb
from fastbin import guarantees, intervals, theory
from fastbin.guarantees.words import sureness
from fastbin.intervals.binomial import beta_quantile

SMALLEST = 1e-100


# ---------------------------------------------------------------------------------------------- intervals, in rationals


def tail_above(x: int, n: int, p: float) -> Fraction:
    """P(X >= x) for X ~ Binomial(n, p), exactly."""
    exact = Fraction(p)
    return sum((math.comb(n, k) * exact**k * (1 - exact) ** (n - k) for k in range(x, n + 1)), Fraction(0))


def inwards(end: float, towards: float) -> float:
    """A little on: ends are computed by way of their complements, so to the digits of numbers near 1."""
    return end + 2.5e-16 if towards > end else end - 2.5e-16


@pytest.mark.parametrize("alpha", [0.5, 0.1, 1e-3, 1e-12, 1e-50, SMALLEST, 1e-110])
@pytest.mark.parametrize(("x", "n"), [(0, 1), (1, 5), (2, 5), (4, 5), (3, 40), (20, 40), (39, 40), (60, 200), (200, 200)])
def test_clopper_pearson_is_valid_and_tight_at_any_level(x: int, n: int, alpha: float) -> None:
    (lower, upper) = intervals.clopper_pearson([x], [n], alpha)[0].tolist()
    half, slack = Fraction(alpha) / 2, Fraction(1, 10**5)
    assert 0.0 <= lower <= x / n <= upper <= 1.0
    if x > 0:
        assert tail_above(x, n, lower) <= half * (1 + slack)
        assert tail_above(x, n, inwards(lower, 1)) > half * (1 - slack)
    else:
        assert lower == 0.0
    if x < n:
        assert 1 - tail_above(x + 1, n, upper) <= half * (1 + slack)
        assert 1 - tail_above(x + 1, n, inwards(upper, 0)) > half * (1 - slack)
    else:
        assert upper == 1.0


def normal_tail(a: float, b: float, p: float, upper: bool) -> float:
    """The tail of the beta law by Temme's uniform expansion (1982) to its second term: another way than the library's."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 60
        first, second, point = Decimal(a), Decimal(b), Decimal(p)
        total, centre = first + second, first / (first + second)
        distance = centre * (centre / point).ln() + (1 - centre) * ((1 - centre) / (1 - point)).ln()
        eta = (2 * distance).sqrt() * (1 if point > centre else -1)
        z, extra = (
            float(eta * total.sqrt()),
            float((1 / eta - (centre * (1 - centre)).sqrt() / (point - centre)) / total.sqrt()),
        )
    density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    sign = 1.0 if upper else -1.0
    return 0.5 * math.erfc(sign * z / math.sqrt(2.0)) - sign * density * extra


@pytest.mark.parametrize("tail", [0.05, 0.005, 1e-6, 1e-12, 5e-101])
@pytest.mark.parametrize(
    ("a", "b"),
    [(1e6, 7e6), (1e6, 9e15), (1e10, 7e10), (9e10, 1.1e11), (1e12, 7e12), (1e14, 7e14), (1e15, 7e15), (4.5e15, 4.5e15)],
)
@pytest.mark.parametrize("upper", [False, True])
def test_quantiles_of_large_counts(a: float, b: float, tail: float, upper: bool) -> None:
    """SciPy 1.12 knows its own functions to four or five digits there, and errs outwards; later ones to six."""
    (point,) = beta_quantile(np.array([a]), np.array([b]), tail, upper=upper)
    outwards = 2e-5 if scipy.__version__.startswith("1.12.") else 3e-6
    assert tail * (1 - outwards) <= normal_tail(a, b, float(point), upper) <= tail * (1 + 3e-6)


def test_intervals_shrink_with_the_count_up_to_the_largest() -> None:
    for share in (0.5, 0.125, 1e-9):
        counts = np.array([10**k for k in range(11, 16)] + [2**53])
        ends = intervals.clopper_pearson((counts * share).astype(np.int64), counts, 0.01)
        assert (np.diff(ends[:, 1] - ends[:, 0]) < 0.0).all()
        standard = np.sqrt(share * (1 - share) / counts)
        np.testing.assert_allclose((ends[:, 1] - ends[:, 0]) / standard, 2 * 2.5758, rtol=0.05 if share < 1e-6 else 1e-3)


@pytest.mark.parametrize(
    "method",
    [intervals.clopper_pearson, intervals.hoeffding, intervals.empirical_bernstein, intervals.wilson, intervals.beta_binomial],
)
@pytest.mark.parametrize("count", [2**53 + 1, 10**16, 2**62])
def test_larger_counts_are_refused(method: Callable[..., Any], count: int) -> None:
    with pytest.raises(fb.InputError, match=rf"counts\[1\] is {count}; above 2\*\*53 = 9007199254740992"):
        method([1, count // 2], [5, count], 0.1)
    with pytest.raises(fb.InputError, match=r"counts\[0\] is 18446744073709551615; above 2\*\*53"):
        method(np.array([1], np.uint64), np.array([2**64 - 1], np.uint64), 0.1)


# ---------------------------------------------------------------------------------------------- the smallest level

SCORES = np.random.default_rng(8).random(600)
LABELS = (np.random.default_rng(9).random(600) < SCORES).astype(np.uint8)
MODEL = fb.UniformMassBinning(n_bins=6).fit(SCORES, LABELS).model_
TALLY = ([3, 40], [10, 80])
PAIRS = ([0.5, 1.5] * 40, [1, 0] * 40)

OF_A_BIN: dict[str, Callable[[float], Any]] = {
    "clopper_pearson": lambda alpha: intervals.clopper_pearson(*TALLY, alpha),
    "hoeffding": lambda alpha: intervals.hoeffding(*TALLY, alpha),
    "empirical_bernstein": lambda alpha: intervals.empirical_bernstein(*TALLY, alpha),
    "wilson": lambda alpha: intervals.wilson(*TALLY, alpha),
    "beta_binomial": lambda alpha: intervals.beta_binomial(*TALLY, alpha),
    "stitched": lambda alpha: intervals.stitched(*TALLY, [2.0, 20.0], alpha),
    "theorem6": lambda alpha: theory.theorem6(*TALLY, [2.0, 20.0], alpha),
    "self_normalised_hoeffding": lambda alpha: intervals.self_normalised_hoeffding([190.0], [300.0], [300], alpha, 1.5),
    "theorem7": lambda alpha: theory.theorem7([190.0], [300.0], [300], alpha, 0.5, 1.5),
    "theorem10": lambda alpha: theory.theorem10(*PAIRS, alpha, 1.5, 1.0),
    "weighted_empirical_bernstein": lambda alpha: intervals.weighted_empirical_bernstein(*PAIRS, alpha, 1.5),
    "betting": lambda alpha: intervals.betting(*PAIRS, alpha, 1.5),
    "betting_in_order": lambda alpha: intervals.betting_in_order(*PAIRS, alpha, 1.5),
    "exact_radius": lambda alpha: guarantees.exact_radius(30, alpha),
    "mass_upper": lambda alpha: theory.mass_upper([99], 1000, alpha),
    "sidak": lambda alpha: intervals.sidak(alpha, 10),
    "bonferroni": lambda alpha: intervals.bonferroni(alpha, 10),
}
OF_ALL_BINS: dict[str, Callable[[float], Any]] = {
    **{f"interval {method}": (lambda alpha, m=method: MODEL.interval(alpha, m)) for method in ("clopper-pearson", "hoeffding")},
    **{
        f"{kind} {bound}": (lambda alpha, k=kind, b=bound: MODEL.certificate(alpha, k, b).epsilon)
        for kind, found in {
            "conditional": ("clopper-pearson", "a-priori"),
            "marginal": ("clopper-pearson",),
            "ece": ("data",),
        }.items()
        for bound in found
    },
    "epsilon": lambda alpha: fb.epsilon(600, 6, alpha),
    "epsilon ece": lambda alpha: fb.epsilon(600, 6, alpha, "ece"),
    "reliability_table": lambda alpha: fb.assess.reliability_table(SCORES, LABELS, alpha=alpha).intervals,
    "monitor": lambda alpha: fb.online.CalibrationMonitor(MODEL, alpha).report().bins[0].interval,
}


@pytest.mark.parametrize("name", [*OF_A_BIN, *OF_ALL_BINS])
def test_answers_are_finite_down_to_the_smallest_level_and_refused_below(name: str) -> None:
    call, smallest = (OF_A_BIN[name], 1e-110) if name in OF_A_BIN else (OF_ALL_BINS[name], SMALLEST)
    at_it, before = (np.asarray(call(alpha), dtype=np.float64) for alpha in (smallest, 1e-3))
    assert np.isfinite(at_it).all()
    assert ((at_it >= 0.0) & (at_it <= 1.0)).all()
    if at_it.shape[-1:] == (2,):  # never narrower than at a larger level
        ends, wider = before.reshape(-1, 2), at_it.reshape(-1, 2)
        assert (wider[:, 0] <= ends[:, 0] + 1e-12).all()
        assert (wider[:, 1] >= ends[:, 1] - 1e-12).all()
    with pytest.raises(fb.InputError, match=rf"alpha is 1e-200; the smallest accepted is {smallest:g}"):
        call(1e-200)


def test_levels_shared_among_many_bins_are_accepted() -> None:
    n = 5000
    cal = fb.FixedWidthBinning(n_bins=n).fit((np.arange(2 * n) // 2 + 0.5) / n, np.arange(2 * n) % 2)
    assert np.isfinite(cal.model_.interval(SMALLEST)).all()
    assert cal.certificate(SMALLEST).epsilon <= 1.0


# ---------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize("alpha", [SMALLEST, 1e-20, 1e-16, 3e-9, 9.9e-7])
def test_a_promise_never_claims_certainty(alpha: float) -> None:
    told = str(MODEL.certificate(alpha))
    assert told.startswith(f"With probability at least 1 - {alpha:.6g} over the 600")
    assert "100 %" not in told


def test_percentages_are_rounded_down() -> None:
    told = {0.1: "90 %", 0.05: "95 %", 0.01: "99 %", 0.07: "93 %", 0.5: "50 %", 1e-6: "99.9999 %", 1 / 3: "66.6666 %"}
    assert {alpha: sureness(alpha) for alpha in told} == told
    for alpha in np.random.default_rng(1).random(500) / 2:
        shown = re.fullmatch(r"([\d.]+) %", sureness(float(alpha)))
        assert shown
        assert 0 <= 1 - Fraction(float(alpha)) - Fraction(shown[1]) / 100 < Fraction(1, 10**6) + Fraction(1, 10**15)


# ----------------------------------------------------------------------------------------- swapped for a level of confidence


@pytest.mark.parametrize(
    ("alpha", "meant"),
    [
        (90, "0.1"),
        (95.0, "0.05"),
        (99.9, "0.001"),
        (10, "0.1"),
        (5, "0.05"),
        (1, "0.01"),
        (0.95, "0.05"),
        (0.9, "0.1"),
        (0.51, "0.49"),
    ],
)
def test_a_level_of_confidence_is_no_alpha(alpha: float, meant: str) -> None:
    told = re.escape(f"alpha is {float(alpha)!r}; alpha is the chance that the promise fails; did you mean {meant}?")
    calls: list[Callable[[], Any]] = [
        lambda: MODEL.interval(alpha),
        lambda: MODEL.certificate(alpha),
        lambda: MODEL.predict_interval([0.5], alpha=alpha),
        lambda: MODEL.predict_set([0.5], alpha=alpha),
        lambda: fb.epsilon(1000, 10, alpha),
        lambda: fb.choose_n_bins(1000, alpha),
        lambda: intervals.clopper_pearson([1], [5], alpha),
        lambda: intervals.sidak(alpha, 3),
        lambda: intervals.betting(*PAIRS, alpha, 1.5),
        lambda: theory.conformal_sets(SCORES, LABELS, SCORES, alpha),
        lambda: guarantees.bin_sets(MODEL, alpha),
        lambda: fb.assess.squared_ece(SCORES, LABELS, alpha=alpha),
        lambda: fb.assess.check_certificate(MODEL, SCORES, LABELS, alpha=alpha),
        lambda: fb.online.CalibrationMonitor(MODEL, alpha),
    ]
    for call in calls:
        with pytest.raises(fb.InputError, match=f"^{told}$"):
            call()


def test_the_command_line_says_the_same(tmp_path: Any) -> None:
    from click.testing import CliRunner

    from fastbin.cli import command_line

    MODEL.save(tmp_path / "m.fbm")
    for alpha, meant in (("90", "0.1"), ("0.95", "0.05")):
        result = CliRunner().invoke(command_line, ["inspect", str(tmp_path / "m.fbm"), "--alpha", alpha])
        assert result.exit_code != 0
        assert f"did you mean {meant}?" in " ".join(result.output.split())


def test_a_half_is_the_largest() -> None:
    assert MODEL.interval(0.5).shape == (6, 2)
    assert theory.conformal_rank(9, 0.7) == 3  # a rank is not yet a promise
