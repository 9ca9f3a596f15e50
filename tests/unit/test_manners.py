"""Calibrators stand for their models, errors of mistakes say what was meant, and a fit tells of its values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
from fastbin import guarantees, online, shift, theory

RNG = np.random.default_rng(11)
SCORES = RNG.random(800)
LABELS = (RNG.random(800) < SCORES).astype(np.uint8)
CAL = fb.UniformMassBinning(n_bins=6).fit(SCORES, LABELS)
WEIGHTED = fb.UniformMassBinning(n_bins=3).fit(SCORES, LABELS, sample_weight=0.5 + SCORES)

TAKES_A_MODEL: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "predict_venn": (lambda m: fb.predict_venn(m, [0.4]), CAL),
    "monotone_model": (lambda m: fb.monotone_model(m).values, CAL),
    "certify": (lambda m: guarantees.certify(m).epsilon, CAL),
    "interval": (lambda m: guarantees.interval(m), CAL),
    "interval wilson": (lambda m: guarantees.interval(m, bound="wilson"), CAL),
    "bin_sets": (lambda m: guarantees.bin_sets(m), CAL),
    "bin_set_chances": (lambda m: theory.bin_set_chances(m), CAL),
    "rate_by_likelihood": (lambda m: shift.rate_by_likelihood(m, SCORES, n_bootstrap=5).rate, CAL),
    "rate_by_confusion": (lambda m: shift.rate_by_confusion(m, SCORES, n_bootstrap=5).rate, CAL),
    "weighted_interval": (lambda m: shift.weighted_interval(m, 1.5), WEIGHTED),
    "effective_sample_sizes": (lambda m: shift.effective_sample_sizes(m), WEIGHTED),
    "LabelShift": (lambda m: shift.LabelShift(m, target_rate=0.2, method="known").fit().model_.values, CAL),
    "CalibrationMonitor": (lambda m: online.CalibrationMonitor(m).tolerated, CAL),
    "StreamingBinning": (lambda m: online.StreamingBinning(m).partition.edges, CAL),
    "check_certificate": (lambda m: fb.assess.check_certificate(m, SCORES, LABELS).p_value, CAL),
    "samples_to_check": (lambda m: fb.assess.samples_to_check(m), CAL),
}


@pytest.mark.parametrize("name", list(TAKES_A_MODEL))
def test_a_fitted_calibrator_stands_for_its_model(name: str) -> None:
    call, calibrator = TAKES_A_MODEL[name]
    np.testing.assert_array_equal(call(calibrator), call(calibrator.model_))


@pytest.mark.parametrize("name", [name for name in TAKES_A_MODEL if name != "StreamingBinning"])
def test_what_is_no_model_is_named(name: str) -> None:
    call, _ = TAKES_A_MODEL[name]
    for wrong, told in ((None, "of type NoneType"), ([0.1, 0.5], "of type list"), (object(), "of type object")):
        argument = "source" if name == "LabelShift" else "model"
        refuses(f"InputTypeError: {argument} is {told}; pass a BinnedModel * or a fitted calibrator", call, wrong)
    with pytest.raises(fb.NotFittedError, match="this UniformMassBinning is not fitted yet"):
        call(fb.UniformMassBinning())


def test_a_path_is_no_model() -> None:
    refuses("InputTypeError: model is the path 'credit.fbm';", fb.monotone_model, "credit.fbm")


def test_one_score_of_another_type() -> None:
    for score, told in (
        ([0.5], "of type list; pass one number, or several scores to predict"),
        (np.array([0.5, 0.6]), "of type ndarray; pass one number, or several scores to predict"),
        (None, "None; pass one number"),
        ("0.5", "'0.5'; pass one number"),
        (1j, "of type complex; pass one number"),
    ):
        for call in (CAL.predict_one, CAL.model_.predict_one, CAL.model_.assign_one):
            refuses(f"InputTypeError score: is {told}", call, score)
    for score in (np.float64(0.5), np.float32(0.5), np.array(0.5)):
        assert CAL.predict_one(score) == CAL.predict([0.5])[0]
    assert CAL.predict_one(1) == CAL.predict([1.0])[0]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (None, "None; pass a list or an array of numbers"),
        ({0.1, 0.2}, "of type set; pass a list or an array, whose order tells which rows belong together"),
        ({0.1: 1}, "of type dict; pass a list or an array, whose order tells which rows belong together"),
        ((x / 10 for x in range(3)), "of type generator; pass a list or an array, such as list(...) of it"),
        ("0.5", "'0.5'; pass a list or an array of numbers"),
        (object(), "of type object; pass a list or an array of numbers"),
    ],
)
def test_columns_of_another_type(values: Any, told: str) -> None:
    refuses(f"InputTypeError scores: is {told}", CAL.predict, values)
    refuses(f"InputTypeError labels: is {told}", fb.UniformMassBinning().fit, SCORES, values)
    refuses(f"InputTypeError predictions: is {told}", fb.assess.ece, values, LABELS)


class Exported:
    """An array of another library, which is handed over by DLPack alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Elsewhere(Exported):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the array is on a device that NumPy cannot read")


def test_arrays_by_dlpack() -> None:
    np.testing.assert_array_equal(CAL.predict(Exported(SCORES), seed=1), CAL.predict(SCORES, seed=1))
    fitted = fb.UniformMassBinning(n_bins=6).fit(Exported(SCORES), Exported(LABELS))
    assert fitted.model_ == CAL.model_
    refuses("InputTypeError scores", CAL.predict, Elsewhere(SCORES))


def test_a_mistyped_attribute_of_a_fitted_calibrator() -> None:
    for calibrator, there in (
        (CAL, "model_"),
        (fb.ScalingBinning(n_bins=3).fit(SCORES, LABELS), "model_, scaler_"),
        (fb.ExplicitBinning([0.5]).fit(SCORES, LABELS), "empty_bins_, model_"),
    ):
        with pytest.raises(AttributeError) as caught:
            calibrator.modle_  # noqa: B018
        assert not isinstance(caught.value, fb.NotFittedError)
        assert (
            str(caught.value) == f"{type(calibrator).__name__!r} object has no attribute 'modle_'; what fit has set is {there}"
        )
    with pytest.raises(fb.NotFittedError):
        fb.UniformMassBinning().model_  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'modle'$"):
        CAL.modle  # noqa: B018


SWAPPED = "InputError labels[0]: is 0.*; labels are 0 and 1, or False and True, and come second, after the scores"


@pytest.mark.parametrize(
    "name", ["ece", "squared_ece", "brier_score", "log_loss", "reliability_table", "roc_auc", "validity_curve"]
)
def test_swapped_arguments_of_a_metric(name: str) -> None:
    refuses(SWAPPED, getattr(fb.assess, name), [0, 1, 1], [0.0109, 0.7, 0.9])


def test_swapped_arguments_of_a_fit() -> None:
    for calibrator in (fb.UniformMassBinning(n_bins=2), fb.PlattScaling(), fb.ExplicitBinning([0.5])):
        refuses(SWAPPED, calibrator.fit, LABELS, SCORES)
    fit = fb.UniformMassBinning(n_bins=2).fit
    refuses("InputError labels[1]: is 2.0; labels are 0 and 1, or False and True", fit, [0.1, 0.2, 0.3], [0.0, 2.0, 1.0])


def test_empty_bins_are_told_of() -> None:
    scores, labels = [0.05, 0.1, 0.9], [0, 0, 1]
    with pytest.warns(fb.FastbinWarning) as caught:
        cal = fb.FixedWidthBinning(n_bins=5).fit(scores, labels)
    (warning,) = caught
    assert str(warning.message).startswith(
        "bins 1, 2, 3 of 5 (from 0) hold no sample and serve 0.5, a value that stands for not knowing: no interval"
    )
    assert warning.filename == __file__
    assert cal.empty_bins_.tolist() == [1, 2, 3]
    assert cal.predict([0.3, 0.5, 0.7]).tolist() == [0.5] * 3
    with pytest.warns(fb.FastbinWarning, match=r"^bin 1 of 3 \(from 0\) holds no sample and serves 0\.5,"):
        fb.ExplicitBinning([0.3, 0.5]).fit(scores, labels)
    with pytest.warns(fb.FastbinWarning, match="serves 0.5, a value between those of their neighbours"):
        fb.ExplicitBinning([0.3, 0.5], monotone=True).fit(scores, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fb.ExplicitBinning([0.5]).fit(scores, labels)


def test_a_fit_that_falls_says_so() -> None:
    from fastbin.cli import _show

    scores, labels = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9], [0, 1, 1, 1, 0, 1, 1, 1]
    falling, rising = (fb.ExplicitBinning([0.25, 0.5], monotone=m).fit(scores, labels).model_ for m in (False, True))
    assert falling.falls.tolist() == [1]
    assert rising.falls.tolist() == []
    told = "Values fall after bin 1 though scores rise; monotone=True (--monotone) fits values that do not."
    assert told in _show.facts(falling)
    assert not any("fall" in sentence for sentence in _show.facts(rising))
    assert _show.as_json(falling, 0.1)["falls_after_bins"] == [1]
    twice = fb.BinnedModel.from_parts(edges=[0.2, 0.4, 0.6], values=[0.5, 0.2, 0.4, 0.3])
    assert any(sentence.startswith("Values fall in 2 places (after bins 0, 2)") for sentence in _show.facts(twice))
    assert "falls" in (fb.UniformMassBinning.__doc__ or "")
    assert fb.PlattScaling().fit(SCORES, LABELS).model_.falls.tolist() == []
