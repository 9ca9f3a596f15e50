"""Labels of any two values: `positive` says which of them counts as 1, and without it the message shows the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fastbin as fb
from fastbin._validation import check_labels, compare_labels

RNG = np.random.default_rng(3)
SCORES = RNG.random(400)
ONES = RNG.random(400) < SCORES

CALIBRATORS = [
    fb.UniformMassBinning(5),
    fb.UniformMassBinning(5, scheme="ums"),
    fb.FixedWidthBinning(5),
    fb.ExplicitBinning([0.5]),
    fb.IsotonicCalibration(),
    fb.ScalingBinning(5),
    fb.VennAbers(),
    fb.PlattScaling(),
    fb.TemperatureScaling(),
    fb.BetaScaling(),
    fb.QuadraticScaling(),
    fb.SplineScaling(),
]


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
def test_every_fit_takes_labels_of_two_words(calibrator: Any) -> None:
    expected = calibrator.fit(SCORES, ONES).model_
    words = np.where(ONES, "yes", "no")
    assert calibrator.fit(SCORES, words, positive="yes").model_ == expected
    assert calibrator.fit(SCORES, words.astype(object), positive="yes").model_ == expected
    with pytest.raises(fb.InputError, match="positive is 'Yes', which is none of the labels: they are 'no' and 'yes'"):
        calibrator.fit(SCORES, ["no", "yes"] * 200, positive="Yes")
    with pytest.raises(fb.InputTypeError, match=r"labels\[0\] is .* pass labels == 'yes' \(a fit also takes positive='yes'\)"):
        calibrator.fit(SCORES, words)


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
        (["yes", "no", "maybe"], r"labels\[2\] is 'maybe', neither 'yes' nor 'no'; labels have two values"),
        (["no", "no"], "positive is 'yes', which is none of the labels: they are 'no'$"),
        (["a", "b", "c"], "which is none of the labels: they are 'a' and 'b', ..."),
        ([1, 0], "positive is 'yes', which is none of the labels: they are 1 and 0"),
        (["yes", None], r"labels\[1\] is None; remove rows without a label"),
        (["yes", float("nan")], r"labels\[1\] is nan; remove rows without a label"),
        (pd.Series(["yes", pd.NA], dtype="string"), r"labels\[1\] is <NA>; remove rows without a label"),
    ],
)
def test_labels_that_do_not_go_with_the_positive_one(labels: Any, message: str) -> None:
    with pytest.raises(fb.InputError, match=message):
        compare_labels(labels, "yes")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            np.array(["0", "1"], object),
            r"labels\[0\] is '0'; .* these are '0' and '1'; pass labels == '1' .*",
        ),
        (["no", "yes"], r"labels\[0\] is 'no'; .* pass labels == 'yes'"),
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
    with pytest.raises(fb.InputError, match=r"labels\[1\] is 2; .* these are 1 and 2; pass labels == 2 .*positive=2"):
        check_labels([1, 2])
    with pytest.raises(fb.InputError, match=r"labels\[0\] is -1; for labels -1 and 1 pass \(labels > 0\)"):
        check_labels([-1, 1])
    with pytest.raises(fb.InputError, match=r"labels\[1\] is None, not a number; remove or fill missing rows first"):
        check_labels([0, None])
