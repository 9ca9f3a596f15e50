"""Columns of pandas that are of the same rows in another order are refused, wherever two columns of rows meet."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from wordings import refuses

import fastbin as fb

N = 240
INDEX = pd.Index([f"row {i}" for i in range(N)])
RNG = Random(13)
SCORES = np.array([RNG.randrange(65) / 64 for _ in range(N)])
LABELS = np.array([int(RNG.random() < score) for score in SCORES.tolist()], np.uint8)
CELLS = np.array([RNG.choice(["north", "south"]) for _ in range(N)], object)
MODEL = fb.UniformMassBinning(6, ties="random").fit(SCORES, LABELS).model_
SOUTH = fb.UniformMassBinning(3, ties="random").fit(SCORES, 1 - LABELS)
SET = fb.ModelSet({"north": MODEL, "south": SOUTH})
KEYS = np.arange(N, dtype=np.uint64) << np.uint64(50)
WEIGHTS = np.arange(N) % 3 + 1
P = np.stack([SCORES, 1 - SCORES], axis=1)
STREAM, MONITOR = fb.online.StreamingBinning([0.5]), fb.online.CalibrationMonitor(MODEL)
# For each call that takes columns of the same rows: the call and the columns.
SAME_ROWS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "fit": (fb.UniformMassBinning(3).fit, {"scores": SCORES, "labels": LABELS, "sample_weight": WEIGHTS}),
    "fit with keys": (fb.UniformMassBinning(3, ties="random").fit, {"scores": SCORES, "labels": LABELS, "tie_keys": KEYS}),
    "fit of a map": (fb.PlattScaling().fit, {"scores": SCORES, "labels": LABELS, "sample_weight": WEIGHTS}),
    "fit of segments": (
        fb.multi.SegmentedBinning(fb.UniformMassBinning(1)).fit,
        {"scores": SCORES, "labels": LABELS, "segments": CELLS, "sample_weight": WEIGHTS},
    ),
    "fit of a top label": (
        fb.multi.TopLabelBinning(n_bins=1).fit_top, {"scores": SCORES, "predicted": LABELS, "labels": LABELS},
    ),
    "fit to a matrix": (fb.multi.TopLabelBinning(n_bins=1).fit, {"P": P, "labels": LABELS, "sample_weight": WEIGHTS}),
    "fit class-wise": (fb.multi.ClassWiseBinning(n_bins=1).fit, {"P": P, "labels": LABELS, "sample_weight": WEIGHTS}),
    "fit with importance weights": (
        fb.shift.ImportanceWeightedBinning(2).fit, {"scores": SCORES, "labels": LABELS, "sample_weight": WEIGHTS},
    ),
    "fit to a target": (fb.shift.LabelShift(MODEL).fit, {"scores": SCORES, "labels": LABELS}),
    "predict": (MODEL.predict, {"scores": SCORES, "tie_keys": KEYS}),
    "predict_interval": (MODEL.predict_interval, {"scores": SCORES, "tie_keys": KEYS}),
    "set.predict": (SET.predict, {"scores": SCORES, "cells": CELLS, "tie_keys": KEYS}),
    "set.predict_set": (SET.predict_set, {"scores": SCORES, "cells": CELLS, "tie_keys": KEYS}),
    "ece": (fb.assess.ece, {"predictions": SCORES, "labels": LABELS, "sample_weight": WEIGHTS}),
    "class_wise_ece": (fb.assess.class_wise_ece, {"probabilities": P, "labels": LABELS, "sample_weight": WEIGHTS}),
    "group_table": (fb.assess.group_table, {"predictions": SCORES, "labels": LABELS, "groups": CELLS}),
    "check_certificate": (
        lambda **columns: fb.assess.check_certificate(MODEL, certificate=MODEL.certificate(), **columns),
        {"scores": SCORES, "labels": LABELS, "tie_keys": KEYS},
    ),
    "check_certificate of a set": (
        lambda **columns: fb.assess.check_certificate(SET, epsilon=0.5, **columns),
        {"scores": SCORES, "labels": LABELS, "cells": CELLS, "tie_keys": KEYS},
    ),
    "assess_model": (
        lambda **columns: fb.report.assess_model(MODEL, **columns),
        {"scores": SCORES, "labels": LABELS, "sample_weight": WEIGHTS, "tie_keys": KEYS},
    ),
    "monitor": (MONITOR.update, {"scores": SCORES, "labels": LABELS, "tie_keys": KEYS}),
    "stream": (STREAM.update, {"scores": SCORES, "labels": LABELS, "tie_keys": KEYS}),
    "rate": (lambda **columns: fb.shift.rate_by_likelihood(MODEL, **columns), {"scores": SCORES, "tie_keys": KEYS}),
}  # fmt: skip
SHUFFLED = INDEX[[3, 1, 2, 0, *range(4, N)]]


def pairs() -> list[Any]:
    return [
        pytest.param(call, columns, first, second, id=f"{name}: {first} and {second}")
        for name, (call, columns) in SAME_ROWS.items()
        for at, first in enumerate(columns)
        for second in list(columns)[at + 1 :]
    ]


@pytest.mark.parametrize(("call", "columns", "first", "second"), pairs())
def test_two_indices_must_agree(call: Callable[..., Any], columns: dict[str, Any], first: str, second: str) -> None:
    def given(**index: Any) -> dict[str, Any]:
        return columns | {
            name: (pd.Series if columns[name].ndim == 1 else pd.DataFrame)(columns[name], own) for name, own in index.items()
        }

    for first_index, second_index in ((INDEX, INDEX), (None, INDEX), (SHUFFLED, None), (None, None), (INDEX, INDEX.copy())):
        call(**given(**{first: first_index, second: second_index}))
    told = f"has the label 'row 3' in its index at row 0, and {first} has 'row 0'; *{second}.to_numpy() to fit"
    refuses(f"InputError {second}: {told}", call, **given(**{first: INDEX, second: SHUFFLED}))


@pytest.mark.parametrize(("call", "columns", "first", "second"), pairs())
def test_shuffled_rows_do_not_meet_the_default_index(
    call: Callable[..., Any], columns: dict[str, Any], first: str, second: str
) -> None:
    """The labels of shuffled rows are those of the default index: rows of one order are not given in another by position."""
    order = np.array([2, 0, 1, *range(3, N)])

    def given(name: str, order: Any = None) -> Any:
        column = (pd.Series if columns[name].ndim == 1 else pd.DataFrame)(columns[name])
        return column if order is None else column.iloc[order]

    for plain, shuffled in ((first, second), (second, first)):
        told = f"has the label 2 in its index at row 0, and {plain} has 0; *{shuffled}.to_numpy() to fit"
        refuses(f"InputError {shuffled}: {told}", call, **{**columns, plain: given(plain), shuffled: given(shuffled, order)})
    call(**{**columns, first: given(first), second: given(second, order).to_numpy()})


@pytest.mark.parametrize(
    "index",
    [
        pytest.param(pd.Index([0, 1, 2, 3]), id="in order, but no RangeIndex"),
        pytest.param(pd.Index([1, 2, 3, 4]), id="another start"),
        pytest.param(pd.Index([0, 0, 2, 3]), id="a label twice"),
        pytest.param(pd.Index([9, 0, 5, 2]), id="rows of a larger frame"),
        pytest.param(pd.Index([1.0, 0.0, 2.0, 3.0]), id="floats"),
        pytest.param(pd.Index(["1", "0", "2", "3"]), id="texts"),
    ],
)
def test_other_indices_meet_the_default_one_by_position(index: pd.Index) -> None:
    scores, labels = pd.Series([0.1, 0.2, 0.3, 0.4]), pd.Series([0, 1, 0, 1])
    fitted = fb.UniformMassBinning(1).fit(scores, labels.set_axis(index)).model_
    assert fitted == fb.UniformMassBinning(1).fit(scores.set_axis(index), labels).model_
    assert fitted == fb.UniformMassBinning(1).fit(scores, labels).model_


def test_a_range_that_falls_is_a_shuffle() -> None:
    scores, labels = pd.Series([0.1, 0.2, 0.3]), pd.Series([0, 1, 1])
    refuses("InputError labels: has the label 2", fb.UniformMassBinning(1).fit, scores, labels[::-1])


@pytest.mark.parametrize(
    ("index", "other", "told"),
    [
        pytest.param([3, 1, 2, 0], [3, 1, 0, 2], "label 0 in its index at row 2, and scores has 2", id="integers"),
        pytest.param([0, 1, 2, 3], [1, 0, 2, 3], "label 1 in its index at row 0, and scores has 0", id="unlike RangeIndex"),
        pytest.param(pd.RangeIndex(4, 8), pd.RangeIndex(0, 8, 2), "label 0 in its index at row 0, and scores has 4", id="by 2"),
        pytest.param([np.nan, 1, 2, 3], [np.nan, 1, 2, 5], "label 5.0 in its index at row 3, and scores has 3.0", id="missing"),
        pytest.param([("a", 1), ("a", 2), ("b", 1), ("b", 2)], [("a", 1), ("b", 1), ("a", 2), ("b", 2)],
                     "label ('b', 1) in its index at row 1, and scores has ('a', 2)", id="several levels"),
    ],
)  # fmt: skip
def test_the_first_label_that_differs_is_named(index: Any, other: Any, told: str) -> None:
    def indexed(labels: Any) -> pd.Index:
        if isinstance(labels, pd.Index):
            return labels
        return pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else pd.Index(labels)

    scores = pd.Series([0.1, 0.2, 0.3, 0.4], indexed(index))
    labels = pd.DataFrame({"y": [0, 1, 0, 1]}, indexed(other))
    with pytest.raises(fb.InputError) as caught:
        fb.UniformMassBinning(1).fit(scores, labels)
    assert told in str(caught.value)


def test_lengths_are_compared_before_indices() -> None:
    refuses(
        "InputError: lengths differ: scores has 240, labels has 239",
        fb.UniformMassBinning(1).fit,
        pd.Series(SCORES, INDEX),
        pd.Series(LABELS[1:], INDEX[1:]),
    )
