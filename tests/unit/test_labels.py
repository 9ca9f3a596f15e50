"""Labels of any two values: `positive` says which of them counts as 1, and without it the message shows the way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._base.checks import check_labels, compare_labels

RNG = np.random.default_rng(3)
SCORES = RNG.random(400)
ONES = RNG.random(400) < SCORES

CALIBRATORS = [
    fb.UniformMassBinning(5), fb.UniformMassBinning(5, scheme="ums"), fb.FixedWidthBinning(5), fb.ExplicitBinning([0.5]),
    fb.IsotonicCalibration(), fb.ScalingBinning(5), fb.VennAbers(), fb.PlattScaling(), fb.TemperatureScaling(),
    fb.BetaScaling(), fb.QuadraticScaling(), fb.SplineScaling(),
]  # fmt: skip


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
def test_every_fit_takes_labels_of_two_words(calibrator: Any) -> None:
    expected = calibrator.fit(SCORES, ONES).model_
    words = np.where(ONES, "yes", "no")
    assert calibrator.fit(SCORES, words, positive="yes").model_ == expected._replace(event="yes")
    assert calibrator.fit(SCORES, words.astype(object), positive="yes").model_ == expected._replace(event="yes")
    refuses("InputError positive: is 'Yes'", calibrator.fit, SCORES, ["no", "yes"] * 200, positive="Yes")
    refuses("InputTypeError labels[0]", calibrator.fit, SCORES, words)


def _stream() -> fb.online.StreamingBinning:
    return fb.online.StreamingBinning([0.5])


MODEL = fb.UniformMassBinning(5).fit(RNG.random(400), RNG.random(400) < 0.5).model_
WEIGHTS = RNG.random(400) + 0.5
# Everything else that compares labels with scores: what it makes of labels and `positive`.
TAKES_LABELS: dict[str, Callable[..., Any]] = {
    **{
        name: partial(getattr(fb.assess, name), SCORES)
        for name in (
            "ece", "brier_score", "log_loss", "roc_auc", "sharpness", "brier_decomposition", "squared_ece", "reliability_table",
            "validity_curve",
        )
    },
    "group_table": lambda labels, **options: fb.assess.group_table(SCORES, labels, SCORES > 0.3, **options).to_dict(),
    "check_certificate": lambda labels, **options: fb.assess.check_certificate(MODEL, SCORES, labels, **options).to_dict(),
    "check_certificate of a set": lambda labels, **options: fb.assess.check_certificate(
        fb.ModelSet({1: MODEL}), SCORES, labels, cells=[1] * 400, **options
    ).to_dict(),
    "audit_groups": lambda labels, **options: fb.assess.audit_groups(MODEL, SCORES, labels, SCORES > 0.3, **options).to_dict(),
    "assess_model": lambda labels, **options: fb.report.assess_model(MODEL, SCORES, labels, **options).to_dict(),
    "assess_model of a set": lambda labels, **options: fb.report.assess_model(
        fb.ModelSet({1: MODEL}), SCORES, labels, cells=[1] * 400, **options
    ).to_dict(),
    "rate_from_labels": fb.shift.rate_from_labels,
    "LabelShift": lambda labels, **options: fb.shift.LabelShift(MODEL).fit(SCORES, labels, **options).model_,
    "ImportanceWeightedBinning": lambda labels, **options: (
        fb.shift.ImportanceWeightedBinning(3).fit(SCORES, labels, WEIGHTS, **options).model_
    ),
    "StreamingBinning": lambda labels, **options: (stream := _stream()).update(SCORES, labels, **options) or stream.to_bytes(),
    "CalibrationMonitor": lambda labels, **options: (
        (monitor := fb.online.CalibrationMonitor(MODEL)).update(SCORES, labels, **options),
        monitor.to_bytes(),
    ),
    "SegmentedBinning": lambda labels, **options: (
        fb.multi.SegmentedBinning(fb.UniformMassBinning(2)).fit(SCORES, labels, (SCORES > 0.5).astype(int), **options).model_
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", list(TAKES_LABELS.values()), ids=list(TAKES_LABELS))
def test_whatever_takes_labels_takes_two_words(call: Callable[..., Any]) -> None:
    words = np.where(ONES, "yes", "no")
    assert repr(call(words, positive="yes")) == repr(call(ONES))
    refuses("InputTypeError labels[0]: is *; pass positive= with the value", call, words)
    refuses(
        "InputError labels[399]: is 'perhaps', neither 'yes' nor 'no'",
        call,
        np.array([*words[:399], "perhaps"]),
        positive="yes",
    )


def test_a_batch_of_a_stream_may_hold_one_label_alone() -> None:
    plain, words = _stream(), _stream()
    for labels in ([0, 0], [1, 1], [1, 0]):
        plain.update([0.2, 0.7], labels)
        words.update([0.2, 0.7], np.where(np.array(labels) == 1, "yes", "no"), positive="yes")
    assert words.to_bytes() == plain.to_bytes()


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (["a", "b", "b"], "b"),
        ([1, 2, 2], 2),
        (np.array([-1.0, 1.0, 1.0]), 1),
        ([0, 1, 1], 1),
        ([False, True, True], True),
        ([1, 0, 0], 0),
        (pd.Series(["a", "b", "b"], dtype="category"), "b"),
        (pa.array(["a", "b", "b"]), "b"),
        (np.array([b"a", b"b", b"b"]), b"b"),
        ([None.__class__, int, int], int),
    ],
)
def test_labels_that_equal_the_positive_one(labels: Any, positive: Any) -> None:
    assert check_labels(compare_labels(labels, positive)).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["yes", "no", "maybe"], "InputError labels[2]"),
        (["no", "no"], "InputError positive: is *: they are 'no'"),
        (["a", "b", "c"], "InputError positive: is *: they are 'a' and 'b', ..."),
        ([1, 0], "InputError positive: is *: they are 1 and 0"),
        (["yes", None], "InputError labels[1]: is None;"),
        (["yes", float("nan")], "InputError labels[1]: is nan;"),
        (pd.Series(["yes", pd.NA], dtype="string"), "InputError labels[1]: is <NA>;"),
    ],
)
def test_labels_that_do_not_go_with_the_positive_one(labels: Any, message: str) -> None:
    refuses(message, compare_labels, labels, "yes")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array(["0", "1"], object), r"labels\[0\] is '0'; .* these are '0' and '1'; pass positive= with the value"),
        (["no", "yes"], r"labels\[0\] is 'no'; .* these are 'no' and 'yes'; pass positive= with the value"),
        (["only"], r"labels\[0\] is 'only'; .* these are 'only'; "),
        (["a", "b", "c", "d"], r"these are 'a', 'b', 'c', ...; pass \(labels == one of them\)"),
        (np.array([0, "1"], object), r"labels\[1\] is '1'"),
    ],
)
def test_without_positive_the_message_shows_what_is_there(labels: Any, message: str) -> None:
    with pytest.raises(fb.InputTypeError, match=message) as caught:
        check_labels(labels)
    assert "missing" not in str(caught.value)


def test_two_numbers_without_positive() -> None:
    refuses("InputError labels[1]: is 2; *these are 1 and 2; pass positive=", check_labels, [1, 2])
    refuses("InputError labels[0]: is -1; *these are -1 and 1; pass positive=", check_labels, [-1, 1])
    refuses("InputError labels[1]: is None, not a number", check_labels, [0, None])
