"""The rest of the reference against cases computed elsewhere and examples: binnings, isotonic maps, sets, bounds, keys."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import oracle
import reference
from oracle import Case, close, number
from reference import assess, bounds, formulas, isotonic, keys, sets
from reference.keys import MAX_KEY, bits, fmix, key_from_float

# Methods with cases that the reference does not compute: each is tested where it is built.
ELSEWHERE = {
    "the joint bound on the ECE, not built": "agrawal_t ece_joint_kl",
    "label shift": "bbse g_shift label_shift_weights mlls sun_eq18 sun_thm2",
    "covariate shift": "bet_grid_ci thm7 thm10 ulsif weighted_bin weighted_bin_47 weighted_ci_hoeffding",
    "the published code, with which fastbin does not agree on purpose": "authors_code",
    "needs quadrature": "gauss_injective_risk gauss_step_risk",
    "the online monitor": "monitor onesided_mixture",
    "a smooth map": "platt platt_logit",
    "the largest of several intervals": "cor3",
}
# Methods of more than one formula: tested below, and those of uniform mass in test_reference.py.
TESTED = {
    "umd_cuts", "umd", "umd_original", "umd_error", "umd_tieaware", "umb", "ums", "fixed_width", "fixed_width_error",
    "isotonic", "split_conformal", "validity_and_ece", "ece_population",
}  # fmt: skip


def numbers(texts: list[Any]) -> list[Fraction]:
    return [number(text) for text in texts]


def pair(names: str, values: Any) -> dict[str, Any]:
    return dict(zip(names.split(), values, strict=True))


def fixed_diagram(pred: list[float], labels: list[int], B: int) -> dict[str, Any]:
    bins, ece = assess.reliability_diagram(pred, labels, B)
    return {"rows": [[row.index + 1, row.count, row.mean_label, row.mean_prediction] for row in bins], "ece": ece}


def risks(masses: list[Any], eta: list[Any], h: list[Any]) -> dict[str, Any]:
    risk = assess.risk_decomposition(numbers(masses), numbers(eta), numbers(h))
    return {
        "R": risk.risk, "Rcal": risk.calibration_risk, "Rsha": risk.sharpness_risk, "VarY": risk.label_variance,
        "sharpness": risk.sharpness, "MSE": risk.mean_squared_error,
    }  # fmt: skip


def gupta_and_ramdas(n: int, B: int, alpha: float, delta: float = 0.0) -> dict[str, Any]:
    return {
        "eq8": formulas.umd_conditional(n, B, alpha), "eq10": formulas.ze_conditional(n, B, alpha),
        "eps1": formulas.umd_marginal(n, B, alpha, delta), "eps2": formulas.umd_conditional(n, B, alpha, delta),
        "e_ece": formulas.expected_ece(n, B, delta),
    }  # fmt: skip


def ivap(scores: list[float], labels: list[int], query: float) -> dict[str, Any]:
    p0, p1 = isotonic.ivap(scores, labels, query)
    assert p0 <= p1
    return {"p0": p0, "p1": p1, "merged": isotonic.ivap_merged(p0, p1)}


# For each method of the cases: its outputs, from its inputs.
FORMULAS: dict[str, Callable[..., dict[str, Any]]] = {
    "scaling_binning_dd": lambda scores, B: {"means": reference.scaling_binning(scores, B)[2]},
    "scaling_binning_split": lambda g2, g3, B: pair("q counts means", reference.scaling_binning_split(g2, g3, B)),
    "venn_binned": lambda ones, count: pair("p0 p1", isotonic.venn(ones, count)),
    "ivap": ivap,
    "linf_isotonic": lambda values: {"values": isotonic.monotone_values(numbers(values))},
    "ci_from_calibration": lambda z, eps: {"ci": sets.interval_from_calibrated(number(z), number(eps))},
    "midpoint": lambda cis: pair("midpoints eps", sets.calibrated_from_intervals([tuple(numbers(ends)) for ends in cis])),
    "ps_from_ci": lambda **ends: {"set": sorted(sets.set_from_interval(number(ends["l"]), number(ends["u"])))},
    "reliability_fixed": fixed_diagram,
    "risk_decomposition": risks,
    "sidak": lambda alpha, B: {"per_bin": bounds.sidak(alpha, B)},
    "intervals": lambda x, n, alpha: {
        "cp": bounds.clopper_pearson(x, n, alpha), "betabinomial_cs_half": bounds.mixture_interval(x, n, alpha),
    },
    "exact_radius": lambda N, alpha: {"eps": bounds.exact_radius(N, alpha)},
    "certificate": lambda x, N, values, a: {"radii": bounds.certificate_radii(x, N, numbers(values), a)},
    "mass_upper": lambda N, n, a: {"p": bounds.mass_upper_bound(N, n, a)},
    "ece_mcdiarmid": lambda N, n, alpha: {"bound": bounds.ece_bound(N, n, alpha, lambda count: 0.5 / math.sqrt(count))},
    "thm4_radius": lambda ones, N, B, alpha: {"radius": bounds.empirical_bernstein_radius(ones, N, alpha / B)},
    "umd_bounds": gupta_and_ramdas,
    "umd_bounds_delta": gupta_and_ramdas,
    "thm5": lambda n2, B, alpha: {"Nmin": formulas.smallest_bin_bound(n2, B, alpha)},
    "running_variance": lambda labels: {
        "unclipped": formulas.running_variance(labels), "V_plus": max(formulas.running_variance(labels), Fraction(1)),
    },
    "thm6_radius": lambda V, N, B, alpha: {
        "eq21": formulas.theorem_6_radius(V, N, B, alpha), "stitched_howard_k2": formulas.stitched_radius(V, N, B, alpha),
    },
    "sun_thm1": lambda n, B, delta, K: pair("Rcal Rsha", formulas.recalibration_risk_bound(n, B, delta, K)),
    "sun_best_B": lambda n, delta, K: pair("B_thm1 bound_thm1", formulas.best_n_bins(n, delta, K)),
}  # fmt: skip
# Outputs of the cases that the reference does not compute.
LEFT_OUT = {
    "intervals": {"kl"}, "umd_bounds": {"eq8_from_proof", "e_ece_from_proof"}, "thm6_radius": {"stitched_paper_k2"},
    "sun_best_B": {"B_zeta", "zeta"},
}  # fmt: skip


def test_every_oracle_method_is_accounted_for() -> None:
    assert oracle.methods() == {*TESTED, *FORMULAS, *" ".join(ELSEWHERE.values()).split()}


@oracle.cases(*FORMULAS)
def test_formulas(case: Case) -> None:
    computed = FORMULAS[case.method](**case.inputs)
    assert set(case.expected) - set(computed) == LEFT_OUT.get(case.method, set())
    for name in set(case.expected) & set(computed):
        if name in ("q", "set", "B_thm1"):
            assert computed[name] == case.expected[name]
        else:
            assert close(computed[name], case.expected[name], case.tolerance), name


@oracle.cases("fixed_width")
def test_fixed_width(case: Case) -> None:
    given = case.inputs
    model = reference.fixed_width(given["scores"], given["labels"], given["B"])
    assert [b + 1 for b in model.assign(given["scores"])] == case.expected["bins"]
    assert model.counts == case.expected["counts"]
    means = [value if count else None for value, count in zip(model.exact_values, model.counts, strict=True)]
    assert close(means, case.expected["means"], case.tolerance)


@oracle.cases("fixed_width_error")
def test_fixed_width_refuses_scores_above_one(case: Case) -> None:
    model = reference.fixed_width([0.5], [1], case.inputs["B"])
    with pytest.raises(ValueError, match="outside"):
        model.predict([case.inputs["score"]])
    with pytest.raises(ValueError, match=r"scores\[0\]"):
        reference.fixed_width([case.inputs["score"]], [1], case.inputs["B"])


def test_fixed_width_compares_with_quotients() -> None:
    model = reference.fixed_width([0.5], [1], 100)
    assert model.assign([0.29, 0.57, 0.58]) == [29, 57, 58]
    assert [math.floor(score * 100) for score in (0.29, 0.57, 0.58)] == [28, 56, 57]
    assert reference.fixed_width([0.5], [1], 10).assign([0.1 + 0.2, 1.0]) == [3, 9]


def test_scaling_binning_example() -> None:
    scores = [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97]
    edges, counts, values = reference.scaling_binning(scores, 3)
    assert [edge for edge, _ in edges] == [0.33, 0.74]
    assert counts == [3, 3, 2]
    assert close(values, [0.37 / 3, 0.55, 0.93], 1e-15)
    _, _, doubled = reference.scaling_binning(scores, 3, scaler=lambda score: score / 2)
    assert doubled == [value / 2 for value in values]


@oracle.cases("isotonic")
def test_isotonic(case: Case) -> None:
    given = case.inputs
    knots, values = isotonic.isotonic(given["scores"], given["labels"], given["weights"])
    assert knots == case.expected["knots"]
    assert close(values, case.expected["values"], case.tolerance)
    predicted = [isotonic.isotonic_predict(knots, values, query) for query in given["queries"]]
    assert close(predicted, case.expected["query_values"], case.tolerance)


@pytest.mark.parametrize("seed", range(30))
def test_isotonic_is_the_max_min_formula(seed: int) -> None:
    """value_i = max over a <= i of min over b >= i of the mean of knots a ... b (Barlow et al. 1972)."""
    rng = random.Random(seed)
    scores = [rng.randrange(6) / 6 for _ in range(12)]
    labels = [rng.randrange(2) for _ in scores]
    weights = [rng.randrange(1, 5) for _ in scores]
    knots, values = isotonic.isotonic(scores, labels, weights)

    def mean(low: float, high: float) -> Fraction:
        inside = [i for i, score in enumerate(scores) if low <= score <= high]
        return Fraction(sum(weights[i] * labels[i] for i in inside), sum(weights[i] for i in inside))

    for i, knot in enumerate(knots):
        assert values[i] == max(min(mean(low, high) for high in knots[i:]) for low in knots[: i + 1])
        assert values[i] == isotonic.isotonic_predict(knots, values, knot)


@pytest.mark.parametrize("seed", range(20))
def test_monotone_values_move_no_more_than_they_must(seed: int) -> None:
    """Any non-decreasing values must split the largest drop between two bins, at best in halves."""
    rng = random.Random(seed)
    values = [Fraction(rng.randrange(20), 20) for _ in range(7)]
    moved = isotonic.monotone_values(values)
    largest_drop = max(values[i] - values[j] for j in range(7) for i in range(j + 1))
    assert moved == sorted(moved)
    assert max(abs(old - new) for old, new in zip(values, moved, strict=True)) == largest_drop / 2


@oracle.cases("split_conformal")
def test_split_conformal(case: Case) -> None:
    given = case.inputs
    # The case reads its scores as doubles, so the reference does too; alpha is exact.
    rank, threshold = sets.conformal_threshold(given["scores"], given["labels"], number(given["alpha"]))
    assert rank == case.expected["rank"]
    assert close(threshold, case.expected["threshold"], case.tolerance)
    assert [sorted(sets.conformal_set(query, threshold)) for query in given["queries"]] == case.expected["sets"]


def test_conformal_rank_is_exact() -> None:
    """(9 + 1) * (1 - 1/10) is 9, but 10 * (1 - 0.7) is 3.0000000000000004 in doubles."""
    scores, labels = [0.1 * i for i in range(1, 10)], [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert sets.conformal_threshold(scores, labels, Fraction(7, 10))[0] == 3
    assert math.ceil(10 * (1 - 0.7)) == 4


@oracle.cases("validity_and_ece")
def test_validity_and_ece(case: Case) -> None:
    given, expected = case.inputs, case.expected
    table = assess.value_table(given["pred"], given["labels"])
    assert close([row.value for row in table], expected["values"], case.tolerance)
    assert [row.count for row in table] == expected["counts"]
    assert close([row.mean_label for row in table], expected["cond_means"], case.tolerance)
    assert close([assess.validity(table, epsilon) for epsilon in given["eps"]], expected["V"], case.tolerance)
    assert [int(assess.conditionally_valid(table, epsilon)) for epsilon in given["eps"]] == expected["condV"]
    assert close([assess.ece(table, p) for p in (1, 2, 3)], [expected[name] for name in ("l1", "l2", "l3")], case.tolerance)
    assert close(assess.auc_of_validity(table), expected["auc"], case.tolerance)
    assert float(1 - assess.auc_of_validity(table)) == assess.ece(table)


@oracle.cases("ece_population")
def test_population_ece(case: Case) -> None:
    """The population is a table with exact masses: ten samples of it, one a tenth of the mass."""
    given, expected = case.inputs, case.expected
    columns = zip(given["values"], given["masses"], given["cond_means"], strict=True)
    table = [assess.ValueRow(number(value), int(number(mass) * 10), number(mean)) for value, mass, mean in columns]
    assert close([assess.ece(table, 1), assess.ece(table, 2)], [expected["l1"], expected["l2"]], case.tolerance)
    assert close(assess.validity(table, Fraction(1, 10)), expected["marginal_V_at_0_1"], case.tolerance)
    smallest = number(expected["conditional_eps"])
    assert assess.conditionally_valid(table, smallest)
    assert not assess.conditionally_valid(table, smallest - Fraction(1, 10**9))


def test_risk_decomposition_adds_up() -> None:
    """Proposition 1 of Sun, Song & Hero 2023, and the example with four atoms, two of which share a value."""
    eta, values = [number(x) for x in (0.1, 0.3, 0.5, 0.9)], [number(x) for x in (0.2, 0.2, 0.6, 0.8)]
    risk = assess.risk_decomposition([Fraction(1, 4)] * 4, eta, values)
    assert (risk.risk, risk.calibration_risk, risk.sharpness_risk) == (Fraction(1, 100), Fraction(1, 200), Fraction(1, 200))
    assert (risk.label_variance, risk.sharpness) == (Fraction(99, 400), Fraction(33, 400))
    assert risk.mean_squared_error == Fraction(17, 100)
    assert risk.risk == risk.calibration_risk + risk.sharpness_risk
    assert risk.mean_squared_error == risk.label_variance - risk.sharpness + risk.calibration_risk


def test_sharpness_is_centred() -> None:
    assert assess.sharpness(assess.value_table([0.2] * 10, [0, 1] * 5)) == 0
    assert assess.sharpness(assess.value_table([0.2] * 5 + [0.8] * 5, [0] * 5 + [1] * 5)) == Fraction(1, 4)


def test_exact_radius_is_what_it_says() -> None:
    """On a grid of pi the coverage is at least the claimed infimum, and close to it somewhere."""
    n, epsilon = 20, Fraction(1, 5)
    worst = bounds.coverage_of_radius(n, epsilon)
    covered = []
    for i in range(1, 2000):
        pi = Fraction(i, 2000) + Fraction(1, 10**7)
        low, high = math.ceil(n * (pi - epsilon)), math.floor(n * (pi + epsilon))
        below = bounds.binomial_cdf(low - 1, n, pi) if low > 0 else Fraction(0)
        covered.append(bounds.binomial_cdf(min(high, n), n, pi) - below)
    assert min(covered) >= worst
    assert min(covered) - worst < Fraction(1, 10**5)


def test_how_many_labels_a_tenth_takes() -> None:
    """Gupta & Ramdas 2021 says n = 1500 gives 0.1 with 10 bins at alpha = 0.1; it takes 1510."""
    assert formulas.umd_marginal(1500, 10, 0.1) > 0.1
    assert min(n for n in range(1000, 2000) if formulas.umd_marginal(n, 10, 0.1) <= 0.1) == 1510


def test_running_variance_example() -> None:
    assert formulas.running_variance([0, 1, 1, 0, 1, 0, 0, 1, 1, 1]) == Fraction(1420309, 396900)


# ------------------------------------------------------------------------------------------------- keys


def test_the_mix_is_the_finaliser_of_splitmix64() -> None:
    # The published first outputs of SplitMix64 from the state 1234567.
    outputs = [fmix(1234567 + (i + 1) * 0x9E3779B97F4A7C15) for i in range(3)]
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_keys_are_pinned() -> None:
    """Written down once from a C program: a change of these numbers changes every model that was ever fitted."""
    assert reference.row_key(0, 0) == 0xFAA2702D3A581CDC
    assert reference.row_key(2**64 - 1, 12345) == 0x9A71874B14B17B96
    assert reference.group_key(0, 0.5, 0) == 0x8192E57C903FCCDF
    assert reference.group_key(42, 0.5, 7) == 0x10C8AE74C8D9D09B
    assert reference.split_key(0, 0.5, 0) == 0x7D9366347F4775FB
    assert reference.value_randomiser(0xFAA2702D3A581CDC) == float.fromhex("0x1.43bf9d51316p-1")


def test_digests_are_pinned() -> None:
    """The example of csrc/FORMAT.md, "What seeds the keys of a fit"."""
    assert keys.digest([1, 2, 3]) == 0xA55BDF37C08724B5
    groups = [(0.25, 0, 0, 600, 30), (0.5, 600, 30, 400, 200)]
    assert reference.group_digest(42, groups) == 0xA340E26CA33DD6D4
    assert reference.group_key(0xA340E26CA33DD6D4, 0.5, 1) == 0x0D90D6C888844640
    rows = [(0.5, 1, 1.0), (0.5, 0, 1.0), (-0.0, 0, 2.5)]
    for order in itertools.permutations(rows):
        assert reference.rows_digest(42, order) == 0x5E5EB823F7977DF7
    assert reference.split_key(0x5E5EB823F7977DF7, 0.5, 1) == 0xAC4E6BF04A99ED2D


def test_digests_change_with_every_word() -> None:
    group, row = (0.5, 600, 30, 400, 200), (0.5, 1, 1.0)
    digests = {reference.group_digest(seed, [group]) for seed in (0, 1)} | {reference.group_digest(0, [])}
    digests |= {reference.group_digest(0, [(*group[:i], group[i] + 1, *group[i + 1 :])]) for i in range(5)}
    digests |= {reference.group_digest(0, [group, (0.75, 1000, 230, 5, 1)]), reference.group_digest(0, [group, group])}
    digests |= {reference.rows_digest(seed, [row]) for seed in (0, 1)} | {reference.rows_digest(0, [row, row])}
    digests |= {reference.rows_digest(0, [other]) for other in ((0.25, 1, 1.0), (0.5, 0, 1.0), (0.5, 1, 2.0))}
    assert len(digests) == 16


def test_stream_constants_are_square_roots() -> None:
    constants = {2: keys.FIT, 3: keys.PREDICT, 5: keys.SPLIT, 7: keys.VALUE, 11: keys.ROWS}
    for prime, constant in constants.items():
        assert constant == math.isqrt(prime << 128) % 2**64


def test_negative_zero_is_zero() -> None:
    assert bits(-0.0) == bits(0.0) == 0
    assert reference.group_key(7, -0.0, 3) == reference.group_key(7, 0.0, 3)


def test_streams_are_separated() -> None:
    drawn = {
        stream(seed, 0.5, j) for stream in (reference.group_key, reference.split_key) for seed in range(20) for j in range(50)
    }
    drawn |= {reference.row_key(seed, row) for seed in range(20) for row in range(50)}
    assert len(drawn) == 3 * 20 * 50
    assert max(drawn) <= MAX_KEY


def test_keys_and_value_randomisers_are_uniform() -> None:
    drawn = [reference.group_key(3, 0.25, j) for j in range(4000)]
    for draws in ([key / 2**64 for key in drawn], [reference.value_randomiser(key) for key in drawn]):
        assert all(0.0 <= draw < 1.0 for draw in draws)
        distance = max(abs((i + 1) / len(draws) - draw) for i, draw in enumerate(sorted(draws)))
        assert distance < 1.63 / math.sqrt(len(draws))  # Kolmogorov and Smirnov at 1 %


def test_key_from_float_scales_exactly() -> None:
    assert key_from_float(0.0) == 0
    assert key_from_float(0.5) == 2**63
    assert key_from_float(math.nextafter(1.0, 0.0)) == 2**64 - 2**11
    assert key_from_float(1e-30) == 0
    for u in (1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="not in"):
            key_from_float(u)
