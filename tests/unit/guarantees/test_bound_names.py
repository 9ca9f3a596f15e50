"""One name per bound, everywhere: a word means the same computation wherever it is accepted, and an old word names the new."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin import guarantees

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
    [("conditional", "clopper-pearson"), ("marginal", "clopper-pearson"), ("ece", "data"), ("expected-ece", "a-priori")],
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
        with pytest.raises(fb.InputError, match=told):
            call()


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
        assert STREAM.certificate(method=method).bound == method


def test_values_that_are_no_means_are_told_which_bound_is_about_them() -> None:
    jagged = fb.UniformMassBinning(n_bins=40).fit(SCORES, LABELS).model_
    risen = fb.monotone_model(jagged)
    for kind, remedy in (
        ("conditional", "bound='clopper-pearson'"),
        ("marginal", "bound='clopper-pearson'"),
        ("ece", "bound='data'"),
    ):
        with pytest.raises(fb.GuaranteeError, match=f"{remedy} certifies the values as they are"):
            risen.certificate(kind=kind, bound="a-priori")
        assert risen.certificate(kind=kind).epsilon < 1.0
    with pytest.raises(fb.GuaranteeError, match="kind='ece' with bound='data' certifies the values as they are"):
        risen.certificate(kind="expected-ece")
