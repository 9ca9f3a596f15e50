"""The rest of the reference: other binnings, isotonic regression, sets, assessment, against cases and examples."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

import oracle
import reference
from oracle import Case, close, number
from reference import assess, isotonic, sets

# Methods with cases that the reference does not compute: each is tested where it is built.
ELSEWHERE = {
    "authors_code": "the published code, with which fastbin does not agree on purpose",
    "agrawal_t": "the joint bound on the ECE, not built",
    "ece_joint_kl": "the joint bound on the ECE, not built",
    "bbse": "label shift",
    "g_shift": "label shift",
    "label_shift_weights": "label shift",
    "mlls": "label shift",
    "sun_eq18": "label shift",
    "sun_thm2": "label shift",
    "bet_grid_ci": "covariate shift",
    "thm7": "covariate shift",
    "thm10": "covariate shift",
    "ulsif": "covariate shift",
    "weighted_bin": "covariate shift",
    "weighted_bin_47": "covariate shift",
    "weighted_ci_hoeffding": "covariate shift",
    "gauss_injective_risk": "needs quadrature",
    "gauss_step_risk": "needs quadrature",
    "monitor": "the online monitor",
    "onesided_mixture": "the online monitor",
    "platt": "a smooth map",
    "platt_logit": "a smooth map",
}

COVERED = {
    "umd_cuts", "umd", "umd_original", "umd_error", "umd_tieaware", "umb", "ums", "fixed_width", "fixed_width_error",
    "scaling_binning_dd", "scaling_binning_split", "isotonic", "venn_binned", "ivap", "linf_isotonic", "split_conformal",
    "ci_from_calibration", "midpoint", "ps_from_ci", "validity_and_ece", "reliability_fixed", "ece_population",
    "risk_decomposition", "sidak", "intervals", "exact_radius", "certificate", "mass_upper", "ece_mcdiarmid", "umd_bounds",
    "umd_bounds_delta", "thm4_radius", "cor3", "thm5", "thm6_radius", "running_variance", "sun_thm1", "sun_best_B",
}  # fmt: skip


def test_every_oracle_method_is_accounted_for() -> None:
    assert oracle.methods() == COVERED | set(ELSEWHERE)


# ------------------------------------------------------------------------------------------------- other partitions


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


@oracle.cases("scaling_binning_dd")
def test_scaling_binning(case: Case) -> None:
    _, _, values = reference.scaling_binning(case.inputs["scores"], case.inputs["B"])
    assert close(values, case.expected["means"], case.tolerance)


@oracle.cases("scaling_binning_split")
def test_scaling_binning_in_three_parts(case: Case) -> None:
    edges, _, values = reference.scaling_binning_split(case.inputs["g2"], case.inputs["g3"], case.inputs["B"])
    assert edges == case.expected["q"]
    assert close(values, case.expected["means"], case.tolerance)


def test_scaling_binning_example() -> None:
    scores = [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97]
    edges, counts, values = reference.scaling_binning(scores, 3)
    assert [edge for edge, _ in edges] == [0.33, 0.74]
    assert counts == [3, 3, 2]
    assert close(values, [0.37 / 3, 0.55, 0.93], 1e-15)
    _, _, doubled = reference.scaling_binning(scores, 3, scaler=lambda score: score / 2)
    assert doubled == [value / 2 for value in values]


# ------------------------------------------------------------------------------------------------- isotonic and Venn


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


@oracle.cases("venn_binned")
def test_venn(case: Case) -> None:
    pair = isotonic.venn(case.inputs["ones"], case.inputs["count"])
    assert close(pair, [case.expected["p0"], case.expected["p1"]], case.tolerance)


@oracle.cases("ivap")
def test_ivap(case: Case) -> None:
    p0, p1 = isotonic.ivap(case.inputs["scores"], case.inputs["labels"], case.inputs["query"])
    assert close([p0, p1], [case.expected["p0"], case.expected["p1"]], case.tolerance)
    assert close(isotonic.ivap_merged(p0, p1), case.expected["merged"], case.tolerance)
    assert p0 <= p1


@oracle.cases("linf_isotonic")
def test_monotone_values(case: Case) -> None:
    values = isotonic.monotone_values([number(value) for value in case.inputs["values"]])
    assert close(values, case.expected["values"], case.tolerance)


@pytest.mark.parametrize("seed", range(20))
def test_monotone_values_move_no_more_than_they_must(seed: int) -> None:
    """Any non-decreasing values must split the largest drop between two bins, at best in halves."""
    rng = random.Random(seed)
    values = [Fraction(rng.randrange(20), 20) for _ in range(7)]
    moved = isotonic.monotone_values(values)
    largest_drop = max(values[i] - values[j] for j in range(7) for i in range(j + 1))
    assert moved == sorted(moved)
    assert max(abs(old - new) for old, new in zip(values, moved, strict=True)) == largest_drop / 2


# ------------------------------------------------------------------------------------------------- sets and conversions


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


@oracle.cases("ci_from_calibration")
def test_interval_from_calibrated(case: Case) -> None:
    interval = sets.interval_from_calibrated(number(case.inputs["z"]), number(case.inputs["eps"]))
    assert close(interval, case.expected["ci"], case.tolerance)


@oracle.cases("midpoint")
def test_calibrated_from_intervals(case: Case) -> None:
    midpoints, epsilon = sets.calibrated_from_intervals([(number(low), number(high)) for low, high in case.inputs["cis"]])
    assert close(midpoints, case.expected["midpoints"], case.tolerance)
    assert close(epsilon, case.expected["eps"], case.tolerance)


@oracle.cases("ps_from_ci")
def test_set_from_interval(case: Case) -> None:
    assert sorted(sets.set_from_interval(number(case.inputs["l"]), number(case.inputs["u"]))) == case.expected["set"]


# ------------------------------------------------------------------------------------------------- assessment


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


@oracle.cases("reliability_fixed")
def test_reliability_diagram(case: Case) -> None:
    bins, ece = assess.reliability_diagram(case.inputs["pred"], case.inputs["labels"], case.inputs["B"])
    rows = [[row.index + 1, row.count, row.mean_label, row.mean_prediction] for row in bins]
    assert close(rows, case.expected["rows"], case.tolerance)
    assert close(ece, case.expected["ece"], case.tolerance)


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


@oracle.cases("risk_decomposition")
def test_risk_decomposition(case: Case) -> None:
    risk = assess.risk_decomposition(*([number(item) for item in case.inputs[name]] for name in ("masses", "eta", "h")))
    computed = {
        "R": risk.risk,
        "Rcal": risk.calibration_risk,
        "Rsha": risk.sharpness_risk,
        "VarY": risk.label_variance,
        "sharpness": risk.sharpness,
        "MSE": risk.mean_squared_error,
    }
    for name, value in case.expected.items():
        assert close(computed[name], value, case.tolerance), name


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
