"""Mistakes that others have made are answered in words that say what was meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from wordings import refuses

import fastbin as fb

RNG = np.random.default_rng(1)
SCORES = RNG.random(300)
LABELS = (RNG.random(300) < SCORES).astype(int)
CELLS = np.arange(300) % 2
P = np.column_stack([1 - SCORES, SCORES])
CAL = fb.UniformMassBinning(3).fit(SCORES, LABELS)
SEGMENTED = fb.multi.SegmentedBinning(fb.UniformMassBinning(2)).fit(SCORES, LABELS, CELLS)


@pytest.mark.parametrize(
    ("call", "columns", "n"),
    [
        (CAL.predict_interval, (SCORES,), "1 argument"),
        (CAL.model_.predict_interval, (SCORES,), "1 argument"),
        (SEGMENTED.predict_interval, (SCORES, CELLS), "2 arguments"),
        (SEGMENTED.model_.predict_interval, (SCORES, CELLS), "2 arguments"),
        (fb.multi.TopLabelBinning(n_bins=1).fit(P, LABELS).predict_interval, (P,), "1 argument"),
        (fb.multi.ClassWiseBinning(n_bins=1).fit(P, LABELS).predict_interval, (P,), "1 argument"),
    ],
)
def test_alpha_is_named(call: Any, columns: Any, n: str) -> None:
    told = f"predict_interval takes {n} by position, and 0.9 comes after; name it: alpha= is the chance to miss, .1 for 90 %"
    refuses(f"InputTypeError: {told}", call, *columns, 0.9)
    assert np.shape(call(*columns, alpha=0.1))[0] == 300


TEXTS = ["0.1", "0.9"]


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        (TEXTS, "InputTypeError"), (np.array(TEXTS), "InputTypeError"), (np.array(TEXTS, object), "InputError"),
        (pd.Series(TEXTS), "InputError"), (pl.Series(TEXTS), "InputError"),
    ],
    ids=["list", "array", "objects", "pandas", "polars"],
)  # fmt: skip
def test_texts_are_told_what_they_are(texts: Any, error: str) -> None:
    for call in (lambda: CAL.predict(texts), lambda: fb.UniformMassBinning(1).fit(texts, [0, 1])):
        refuses(f"{error} scores[0]: is '0.1', a text; scores are numbers: convert", call)


def test_a_text_among_numbers_and_what_is_missing() -> None:
    refuses("InputError scores[1]: is 'n/a', a text", CAL.predict, [0.5, "n/a"])
    refuses("InputError scores[1]: is None, not a number", CAL.predict, [0.5, None])


def test_percentages_are_told_what_they_are() -> None:
    message = "InputError scores[0]: is *, outside [0, 1]; these look like percentages: divide by 100"
    for call in (
        lambda: fb.CertifiedCalibration().fit(100 * SCORES, LABELS),
        lambda: fb.PlattScaling().fit(100 * SCORES, LABELS),
        lambda: CAL.predict(100 * SCORES),
    ):
        refuses(message, call)
    refuses("InputError score: is 45.0, outside [0, 1]; these look like percentages", CAL.model_.predict_one, 45.0)
    fb.CertifiedCalibration(score_range=(0, 100)).fit(100 * SCORES, LABELS)
    for others in (8 * SCORES - 4, 9 * SCORES, 150 * SCORES, -100 * SCORES):
        at = int(np.argmax((others < 0) | (others > 1)))
        told = f"InputError scores[{at}]: is *; pass probabilities, or score_range=None at fit"
        refuses(told, fb.CertifiedCalibration().fit, others, LABELS)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("isotonic", "calibrator=fastbin.IsotonicCalibration(interpolate=True)"),
        ("sigmoid", "calibrator=fastbin.PlattScaling()"),
        ("temperature", "calibrator=fastbin.TemperatureScaling()"),
    ],
)
def test_a_method_of_scikit_learn_is_a_calibrator(method: str, said: str) -> None:
    pytest.importorskip("sklearn", minversion="1.6")
    classifier: Any = fb.sklearn.CalibratedClassifier
    refuses(f"InputTypeError method: is '{method}'; a calibrator is an object here: pass {said}", classifier, method=method)
    with pytest.raises(TypeError, match="unexpected keyword argument 'methods'"):
        classifier(methods=method)
