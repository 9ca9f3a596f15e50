"""Certificates from the evidence of a model: what they say, what they need, what they refuse."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation.evidence import Fitted, fitted, uniform_mass
from wordings import refused

import fastbin as fb
from fastbin import GuaranteeError, InputError, guarantees, intervals
from fastbin._fit.tally import linf_isotonic
from fastbin.guarantees.certificate import radii_of, sentences
from fastbin.guarantees.evidence import atoms_of, has_edges_of_others, require_interior
from oracle import Case, cases, close, number
from reference import bounds as reference
from reference import formulas
from strategies import examples

# ---------------------------------------------------------------------------------------------- the exact certificate


@cases("certificate")
def test_radii_oracle(case: Case) -> None:
    inputs = case.inputs
    n_bins = len(inputs["N"])
    alpha = -math.expm1(n_bins * math.log1p(-inputs["a"]))
    model = fitted(inputs["x"], inputs["N"], values=np.array([float(number(v)) for v in inputs["values"]]))
    certificate = guarantees.certify(model, alpha, bound="clopper-pearson")
    assert close(certificate.radii, case.expected["radii"], case.tolerance)
    assert certificate.epsilon == max(certificate.radii or ())


@st.composite
def models(draw: st.DrawFn) -> Fitted:
    counts = draw(st.lists(st.integers(0, 40), min_size=1, max_size=6).filter(any))
    sums = [draw(st.integers(0, count)) for count in counts]
    values = [draw(st.integers(0, 64)) / 64 for _ in counts]
    return fitted(sums, counts, values=np.array(values))


@settings(max_examples=examples(50), deadline=None)
@given(models(), st.floats(0.01, 0.5), st.sampled_from(["conditional", "marginal"]))
def test_exact_radii_equal_the_reference_for_any_values(model: Fitted, alpha: float, kind: str) -> None:
    certificate = guarantees.certify(model, alpha, kind, "clopper-pearson")
    held = int(np.count_nonzero(model.counts))
    level = alpha if kind == "marginal" else reference.sidak(alpha, held)
    values = [Fraction(float(value)) for value in model.values]
    expected = reference.certificate_radii(model.label_sums.tolist(), model.counts.tolist(), values, level)
    assert certificate.uncovered_bins == tuple(np.flatnonzero(model.counts == 0).tolist())
    assert certificate.radii is not None
    for b, radius in enumerate(certificate.radii):
        assert radius == (1.0 if b in certificate.uncovered_bins else pytest.approx(expected[b], abs=1e-12))
    assert certificate.epsilon == max(r for b, r in enumerate(certificate.radii) if b not in certificate.uncovered_bins)


def test_delta_is_added_to_every_radius() -> None:
    plain, randomised = guarantees.certify(uniform_mass()), guarantees.certify(uniform_mass(delta=0.01))
    assert randomised.epsilon == pytest.approx(plain.epsilon + 0.01)
    assert any("randomised" in sentence for sentence in randomised.assumptions)


def test_marginal_pays_no_multiplicity() -> None:
    model = uniform_mass()
    marginal, conditional = guarantees.certify(model, kind="marginal"), guarantees.certify(model)
    assert marginal.epsilon < conditional.epsilon
    x, n, v = model.label_sums[5], model.counts[5], model.values[5]
    low, high = reference.clopper_pearson(int(x), int(n), 0.1)
    assert marginal.radii is not None
    assert marginal.radii[5] == pytest.approx(max(high - v, v - low))
    assert any("share one value" in sentence for sentence in marginal.assumptions)


# ---------------------------------------------------------------------------------------------- known before the labels


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
@pytest.mark.parametrize("kind", ["conditional", "marginal", "expected-ece", "ece"])
@pytest.mark.parametrize(("n", "n_bins"), [(1000, 10), (1003, 7), (60, 1), (503, 11)])
def test_a_priori_certificates_equal_epsilon(scheme: str, kind: str, n: int, n_bins: int) -> None:
    model = uniform_mass(n, n_bins, scheme)
    certificate = guarantees.certify(model, 0.1, kind, "a-priori")
    expected = guarantees.epsilon(n, n_bins, 0.1, kind, scheme=scheme)
    assert certificate.epsilon == pytest.approx(expected, rel=1e-12)
    if kind == "ece":
        # The bound with labels may be a few per cent larger, where all frequencies are near one half.
        assert guarantees.certify(model, 0.1, kind).epsilon <= 1.04 * expected
    assert certificate.radii is None
    assert certificate.alpha == (None if kind == "expected-ece" else 0.1)


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
@pytest.mark.parametrize("kind", ["conditional", "marginal", "ece"])
def test_hoeffding_certificates_equal_the_formulas(scheme: str, kind: str) -> None:
    certificate = guarantees.certify(uniform_mass(1003, 7, scheme, delta=0.001), 0.05, kind, "hoeffding")
    radius = (formulas.umd_marginal if kind == "marginal" else formulas.umd_conditional)(1003, 7, 0.05, 0.001)
    assert certificate.epsilon == pytest.approx(radius + (0.0 if scheme == "umd" else 1 / 143), rel=1e-12)


@pytest.mark.parametrize("scheme", ["ums", "fixed-width", "explicit"])
def test_other_partitions_are_promised_what_their_counts_allow(scheme: str) -> None:
    model = fitted([3, 0, 40, 90], [50, 0, 81, 100], scheme=scheme, n_samples=231, ties="none")
    level = intervals.sidak(0.1, 3)
    prior = guarantees.certify(model, 0.1, bound="a-priori")
    assert prior.epsilon == max(guarantees.exact_radius(n, level) for n in (50, 81, 100))
    assert prior.uncovered_bins == (1,)
    hoeffding = guarantees.certify(model, 0.1, bound="hoeffding")
    assert hoeffding.epsilon == pytest.approx(math.sqrt(math.log(60) / 100))
    marginal = guarantees.certify(model, 0.1, "marginal", "hoeffding")
    assert marginal.epsilon == pytest.approx(math.sqrt(math.log(20) / 100))
    mean = guarantees.certify(model, 0.1, "expected-ece")
    assert mean.epsilon == pytest.approx(reference.largest_mean_deviation(50), rel=1e-9)
    assert "Appendix B" in hoeffding.theorem


def test_isolated_values_use_the_counts_that_are() -> None:
    model = fitted([3, 40, 10], [50, 200, 20], ties="isolate", n_tied=0, n_samples=272, n_bins_asked=10)
    certificate = guarantees.certify(model, 0.1, bound="hoeffding")
    assert certificate.epsilon == pytest.approx(math.sqrt(math.log(60) / 40))
    assert guarantees.certify(model).epsilon > 0
    refused(GuaranteeError, "isolate tied scores have no known law of their mass", guarantees.certify, model, kind="ece")


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("kind", ["conditional", "marginal", "ece"])
@pytest.mark.parametrize("bound", [None, "a-priori", "hoeffding"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheme": "platt"}, "Theorem 3.*put bins behind it"),
        ({"scheme": "temperature"}, "temperature scaling has no distribution-free guarantee"),
        ({"scheme": "beta", "counts": None}, "Theorem 3"),
        ({"scheme": "isotonic"}, "chooses its blocks by looking at the labels.*Theorem 4.*monotone values"),
        ({"scheme": "other"}, "does not say how its edges were chosen"),
        ({"counts": None}, "carries no tally"),
        ({"is_weighted": True}, "real weights.*Theorem 3.*fb.shift.weighted_interval"),
        ({"ties": "upper", "n_tied": 3}, "3 samples share a score with an edge.*ties='random'"),
        ({"ties": "lower", "n_tied": 3}, "Theorem 3 assumes distinct scores"),
        ({"odds_ratio": 2.0}, "odds ratio 2"),
    ],
)
def test_without_a_guarantee_it_raises_and_says_why(
    options: dict[str, Any], message: str, kind: str, bound: str | None
) -> None:
    refused(GuaranteeError, message, guarantees.certify, replace(uniform_mass(), **options), 0.1, kind, bound)


@pytest.mark.parametrize("bound", ["a-priori", "hoeffding"])
def test_bounds_about_means_refuse_other_values(bound: str) -> None:
    model = uniform_mass()
    values = model.values.copy()
    values[3] = np.nextafter(values[3], 1)
    changed = replace(model, values=values)
    with pytest.raises(
        GuaranteeError, match=r"value of bin 3 is 0\..*bound='clopper-pearson' certifies the values as they are"
    ):
        guarantees.certify(changed, bound=bound)
    assert guarantees.certify(changed).epsilon > 0
    with pytest.raises(GuaranteeError, match="kind='ece' with bound='data' certifies the values as they are"):
        guarantees.certify(changed, kind="expected-ece")


def test_theorems_that_need_two_samples_per_bin_say_so() -> None:
    model = uniform_mass(19, 10)
    assert guarantees.certify(model).n_samples == 19
    refused(GuaranteeError, "need n >= 2 n_bins; take at most 9 bins", guarantees.certify, model, bound="hoeffding")


def test_theorem_4b_is_about_umd() -> None:
    with pytest.raises(GuaranteeError, match=r"Theorem 4.*scheme 'umd' .*, not 'ze' .*; bound='a-priori' covers any partition"):
        guarantees.certify(uniform_mass(scheme="ze"), kind="expected-ece", bound="hoeffding")
    with pytest.raises(GuaranteeError, match=r"scheme 'umd' .*, not 'explicit' .*; bound='a-priori' covers any partition"):
        guarantees.certify(fitted([1], [2], scheme="explicit", n_samples=2), kind="expected-ece", bound="hoeffding")


def test_ties_at_the_edges_are_harmless_where_the_edges_come_from_other_samples() -> None:
    model = fitted([5, 10], [50, 50], scheme="ums", ties="upper", n_tied=40, n_samples=200)
    assert guarantees.certify(model).epsilon > 0
    told = "no score at an edge has a positive probability of its own; no two samples share one there"
    assert told not in guarantees.certify(model).assumptions
    for scheme, ties in (("umd", "upper"), ("ze", "upper"), ("umb", "lower")):
        assert told in guarantees.certify(uniform_mass(scheme=scheme, ties=ties)).assumptions
    for ties in ("random", "isolate"):
        assert sentences("keys")[0] in guarantees.certify(uniform_mass(ties=ties)).assumptions


def test_collapsed_bins_with_boundary_labels_are_refused() -> None:
    with pytest.raises(GuaranteeError, match="asked for 12 bins and has 10: which bins hold boundary labels cannot be known"):
        guarantees.certify(uniform_mass(scheme="ze", n_bins_asked=12))


def test_boundary_labels_of_full_and_empty_bins() -> None:
    model = fitted([10, 0, 0, 3], [10, 10, 0, 9], scheme="ze", n_samples=29)
    of_nine = intervals.clopper_pearson([9, 0], [9, 9], intervals.sidak(0.1, 3))
    found = guarantees.interval(model, 0.1)
    np.testing.assert_array_equal(found[:3], [of_nine[0], of_nine[1], [0.0, 1.0]])
    assert guarantees.certify(model).uncovered_bins == (2,)
    for reading in require_interior(model).readings:
        assert ((reading.label_sums >= 0) & (reading.label_sums <= reading.counts)).all()


def test_radii_end_where_the_scale_does() -> None:
    ends, high, delta = np.array([[0.5, 1.0]]), np.array([0.9]), 0.3
    assert radii_of(ends, high, high, delta, np.array([True]), "ratio").tolist() == [2.0]
    assert radii_of(np.array([[0.0, 1.0]]), high, high, delta, np.array([True])).tolist() == [1.0]


def test_an_empty_bin_may_be_as_wrong_as_its_value_allows() -> None:
    """So the calibration error of values of 0.1 and 0.9 in it has one bound, and that of one half a smaller one."""
    tally = {"scheme": "fixed-width", "n_samples": 800, "ties": "none"}
    models = [fitted([100, 0, 300], [400, 0, 400], values=np.array([0.25, value, 0.75]), **tally) for value in (0.1, 0.9, 0.5)]
    for bound in ("data", "a-priori"):
        low, high, half = (guarantees.certify(model, kind="ece", bound=bound).epsilon for model in models)
        assert low == high > half
    assert guarantees.certify(models[0], kind="ece", bound="hoeffding").uncovered_bins == (1,)
    assert guarantees.certify(models[0], kind="ece").uncovered_bins == ()


def test_samples_that_placed_edges_are_not_of_the_masses() -> None:
    found = {
        guarantees.certify(fitted([50] * 20, [100] * 20, scheme=scheme, ties="none", n_samples=n), kind="ece").epsilon
        for scheme, n in (("ums", 2500), ("fixed-width", 2000))
    }
    assert len(found) == 1


def test_a_radius_that_random_counts_choose_has_less_of_alpha() -> None:
    """Two bins of three that were asked for: their counts were not known before the data."""
    for asked, alpha in ((2, 0.1), (3, 0.09)):
        found = guarantees.certify(uniform_mass(399, 2, n_bins_asked=asked), kind="ece", bound="a-priori").epsilon
        assert found == guarantees.exact_radius(199, intervals.sidak(alpha, 2))


def test_edges_have_samples_of_their_own_where_each_bin_leaves_one_out() -> None:
    for left_out, of_others in ((1, False), (2, True)):
        model = fitted([5, 9], [20, 20], scheme="scaling-binning", n_samples=40 + left_out)
        assert has_edges_of_others(model) == of_others


def test_an_eighth_of_a_bin_at_its_edge_is_counted_apart() -> None:
    for sure, count, is_parted in ((5, 40, True), (5, 41, False), (1, 2, False), (2, 16, True)):
        ties, atoms = np.array([[0, 0, 0], [sure, 1, 0]]), np.array([[0, 0], [sure + 1, 1]])
        plain = vars(fitted([9, 1], [50, count - 1], ties="whole", scheme="umd"))
        found = atoms_of(SimpleNamespace(**plain, edges_share=1.0, tie_counts=ties, atom_counts=atoms))  # type: ignore[arg-type]
        assert (found is not None and found.sure.tolist() == [0, sure]) == is_parted


def test_nothing_to_certify_and_bad_words() -> None:
    with pytest.raises(GuaranteeError, match="no bin holds a sample of its own"):
        guarantees.certify(fitted([0, 0], [0, 0], scheme="fixed-width"))
    refused(InputError, "kind is 'joint'", guarantees.certify, uniform_mass(), kind="joint")
    refused(InputError, "bound is 'wilson'", guarantees.certify, uniform_mass(), bound="wilson")
    refused(InputError, "alpha is 10", guarantees.certify, uniform_mass(), alpha=10)


# ---------------------------------------------------------------------------------------------- what it says


def test_a_certificate_is_one_sentence_that_stays_true_when_rounded() -> None:
    certificate = guarantees.certify(uniform_mass(3000, 10), 0.1)
    text = str(certificate)
    assert text.startswith(
        "With probability at least 90 % over the 3,000 calibration samples, in each of the 10 bins at once, the predicted "
        "probability is within 0.0"
    )
    printed = float(text.split("within ")[1].split(" ")[0])
    assert certificate.epsilon <= printed < certificate.epsilon + 1e-4
    assert text.count(". ") == 0
    assert text.endswith("label 1.")


def test_a_certificate_explains_itself() -> None:
    certificate = guarantees.certify(uniform_mass(3000, 10), 0.1, bound="clopper-pearson")
    theorem, heading, *assumptions = certificate.explain().splitlines()
    assert theorem == f"Theorem: {certificate.theorem}."
    assert "Sidak" in theorem
    assert "Gupta & Ramdas 2021, Lemma 2" in theorem
    assert heading == "Assumptions:"
    assert assumptions == [f"- {assumption}" for assumption in certificate.assumptions]


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("marginal", "With probability at least 95 % over the 1,000 calibration samples and the next sample, the predicted"),
        ("ece", "With probability at least 95 % over the 1,000 calibration samples, the expected calibration error is at most"),
        (
            "expected-ece",
            "Averaged over sets of 1,000 calibration samples with the same counts in the bins, the expected",
        ),
    ],
)
def test_each_kind_has_its_sentence(kind: str, start: str) -> None:
    assert str(guarantees.certify(uniform_mass(), 0.05, kind)).startswith(start)


def test_a_value_next_to_0_has_no_factor() -> None:
    parts = {"edges": [0.5], "counts": [3, 4], "label_sums": [1, 1], "scheme": "fixed-width"}
    refused(fb.GuaranteeError, "factor", fb.BinnedModel.from_parts(values=[5e-324, 0.25], **parts).certificate, kind="ratio")


def test_uncovered_bins_are_named_in_the_sentence() -> None:
    one = fitted([1, 0, 2], [3, 0, 4], scheme="fixed-width", ties="none", n_samples=7)
    assert "leaving out bin 1, which holds no sample of its own" in str(guarantees.certify(one))
    counts = [1] + [0] * 12
    many = fitted([0] * 13, counts, scheme="fixed-width", ties="none", n_samples=1)
    assert "leaving out bins 1, 2, 3, 4, 5, 6, 7, 8 and 4 more, which hold no samples of their own" in str(
        guarantees.certify(many)
    )
    assert "in the only bin" in str(guarantees.certify(fitted([1], [3], scheme="explicit", n_samples=3)))


def test_a_certificate_is_plain_frozen_data() -> None:
    certificate = guarantees.certify(uniform_mass())
    content = json.loads(json.dumps(certificate.to_dict()))
    assert content["epsilon"] == certificate.epsilon
    assert content["radii"] == list(certificate.radii or ())
    assert content["assumptions"] == list(certificate.assumptions)
    assert content["uncovered_bins"] == []
    assert guarantees.Certificate(**{k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}) == certificate
    with pytest.raises(FrozenInstanceError):
        certificate.epsilon = 0.0  # type: ignore[misc]


# ---------------------------------------------------------------------------------------------- fitted models


def test_a_fitted_model_is_evidence() -> None:
    rng = np.random.default_rng(4)
    scores = rng.random(2000)
    labels = rng.random(2000) < scores
    for scheme in ("umd", "ze", "umb", "ums"):
        model = fb.UniformMassBinning(n_bins=10, scheme=scheme, seed=1).fit(scores, labels).model_
        certificate = guarantees.certify(model)
        assert certificate.scheme == scheme
        assert certificate == model.certificate()
        assert certificate.epsilon < guarantees.certify(model, bound="hoeffding").epsilon
        assert guarantees.interval(model).tolist() == model.interval().tolist()


def test_monotone_values_cost_at_most_the_shift() -> None:
    model = fitted([30, 20, 45, 60], [99, 99, 99, 99])
    values = linf_isotonic(model.values)
    shift = float(np.abs(values - model.values).max())
    plain, monotone = guarantees.certify(model), guarantees.certify(replace(model, values=values))
    assert shift > 0
    assert plain.epsilon <= monotone.epsilon <= plain.epsilon + shift


# ------------------------------------------------------------------------------------------------- one name per bound


RNG = np.random.default_rng(5)
SCORES = RNG.random(2000)
LABELS = (RNG.random(2000) < SCORES).astype(np.uint8)
CAL = fb.UniformMassBinning(n_bins=10).fit(SCORES, LABELS)
STREAM = fb.online.StreamingBinning(fb.ExplicitBinning([0.5]).fit([0.1, 0.9], [0, 1]).model_)
STREAM.update(SCORES, LABELS)

KINDS = ("conditional", "marginal", "ece", "expected-ece")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bound", ["a-priori", "hoeffding"])
def test_a_word_means_the_same_before_and_after_the_labels(kind: str, bound: str) -> None:
    before, after = fb.epsilon(2000, 10, 0.1, kind, bound), CAL.certificate(0.1, kind, bound)
    assert after.bound == bound
    assert after.epsilon == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "default"),
    [("conditional", "common"), ("marginal", "clopper-pearson"), ("ece", "data"), ("expected-ece", "a-priori")],
)
def test_the_default_follows_the_kind(kind: str, default: str) -> None:
    for certificate in (
        CAL.certificate(kind=kind),
        CAL.model_.certificate(kind=kind),
        guarantees.certify(CAL.model_, kind=kind),
    ):
        assert certificate.bound == default
        assert certificate == CAL.certificate(kind=kind, bound=default)
    assert fb.epsilon(2000, 10) == fb.epsilon(2000, 10, bound="a-priori")
    assert fb.choose_n_bins(2000) == fb.choose_n_bins(2000, bound="a-priori")


NEW_WORD = {"conditional": "clopper-pearson", "marginal": "clopper-pearson", "ece": "data", "expected-ece": "a-priori"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_old_word_is_refused_and_names_the_new_one(kind: str) -> None:
    told = f"bound is 'exact', which meant several things; here, for kind='{kind}', it is called '{{}}'"
    for call in (CAL.certificate, CAL.model_.certificate):
        with pytest.raises(fb.InputError) as caught:
            call(kind=kind, bound="exact")
        assert str(caught.value) == told.format(NEW_WORD[kind])
    with pytest.raises(fb.InputError) as caught:
        fb.epsilon(2000, 10, kind=kind, bound="exact")
    assert str(caught.value) == told.format("a-priori")


def test_the_old_word_elsewhere() -> None:
    calls: list[tuple[Any, str]] = [
        (lambda: fb.choose_n_bins(2000, bound="exact"), "it is called 'a-priori'"),
        (lambda: fb.assess.promised_validity(0.1, 2000, 10, bound="exact"), "it is called 'a-priori'"),
        (lambda: fb.plots.epsilon_plot([1000], bound="exact"), "it is called 'a-priori'"),
        (
            lambda: fb.shift.LabelShift(CAL, target_rate=0.5, method="known").fit().certificate(bound="exact"),
            "it is called 'clopper-pearson'",
        ),
    ]
    for call, told in calls:
        refused(fb.InputError, told, call)


def test_a_word_of_another_kind_is_refused_with_a_hint() -> None:
    for kind in ("ece", "expected-ece"):
        with pytest.raises(fb.InputError, match=r"choose one of .*it is about the interval of each bin"):
            CAL.certificate(kind=kind, bound="clopper-pearson")
    for kind in ("conditional", "marginal", "expected-ece"):
        with pytest.raises(fb.InputError, match=r"choose one of .*'data': it is about the kind 'ece' alone"):
            CAL.certificate(kind=kind, bound="data")
    with pytest.raises(fb.InputError, match=r"bound is 'data'.*choose one of 'a-priori', 'hoeffding'"):
        fb.epsilon(2000, 10, kind="ece", bound="data")
    with pytest.raises(fb.InputError, match=r"bound is 3; for kind='ece' choose one of 'data', 'a-priori', 'hoeffding'"):
        CAL.certificate(kind="ece", bound=3)


def test_shifted_and_streamed_certificates_name_theirs() -> None:
    assert fb.shift.LabelShift(CAL, target_rate=0.5, method="known").fit().certificate().bound == "clopper-pearson"
    for method in ("beta-binomial", "stitched", "theorem6"):
        assert STREAM.certificate(bound=method).bound == method


def test_values_that_are_no_means_are_told_which_bound_is_about_them() -> None:
    jagged = fb.UniformMassBinning(n_bins=40).fit(SCORES, LABELS).model_
    risen = fb.monotone_model(jagged)
    for kind, remedy in (
        ("conditional", "bound='clopper-pearson'"),
        ("marginal", "bound='clopper-pearson'"),
        ("ece", "bound='data'"),
    ):
        refused(fb.GuaranteeError, f"{remedy} certifies the values as they are", risen.certificate, kind=kind, bound="a-priori")
        assert risen.certificate(kind=kind).epsilon < 1.0
    with pytest.raises(fb.GuaranteeError, match="kind='ece' with bound='data' certifies the values as they are"):
        risen.certificate(kind="expected-ece")
