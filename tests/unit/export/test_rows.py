"""The rows that exports are compared on: hard ones, and what a model says to each."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exported import model_of

import fastbin as fb
from fastbin.export.verify import answers, given_rows, hard_rows

POOLED = fb.ModelSet(
    {"north": model_of("10 bins, keys"), "clips": model_of("clips")}, pool=model_of("10 bins"), pooled_keys=["far"],
    unknown="pool",
)  # fmt: skip
REFUSING = fb.ModelSet({3: model_of("10 bins"), -5: model_of("2 bins, keys"), 2**60: model_of("logits")})


@pytest.mark.parametrize("name", ["10 bins, keys", "subnormal edges", "logits", "clips at keys", "1 bins"])
def test_hard_rows_are_hard(name: str) -> None:
    model = model_of(name)
    rows = hard_rows(model)
    scores = set(rows.scores.tolist())
    for edge in model.edges.tolist():
        assert {edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf)} <= scores
    for end in model.score_range or ():
        assert {end, np.nextafter(end, -np.inf), np.nextafter(end, np.inf)} <= scores
    assert {0.0, 5e-324, -5e-324, math.inf, -math.inf} <= scores
    assert np.isnan(rows.scores).any()
    assert np.signbit(rows.scores[rows.scores == 0.0]).any()
    if not model.needs_key:
        assert rows.keys is None
        return
    assert rows.keys is not None
    pairs = set(zip(rows.scores.tolist(), rows.keys.tolist(), strict=True))
    for edge, key in zip(model.edges.tolist(), model.edge_keys.tolist(), strict=True):
        assert {(edge, min(each, 2**64 - 2)) for each in (key, max(key - 1, 0), 0)} <= pairs


def test_answers_of_sets() -> None:
    rows = given_rows(POOLED, [0.5, 0.5, 7.0, 7.0, math.nan], None, ["far", "nowhere", "clips", "north", "far"])
    found = answers(POOLED, rows, ("value", "bin", "lower", "upper"), None)
    assert found["bin"][1] == -1
    assert found["value"][1] == found["value"][0] == POOLED.pool.predict_one(0.5)
    assert (found["lower"][1], found["upper"][1]) == (0.0, 1.0)
    assert found["value"][2] == POOLED["clips"].predict_one(1.0)
    assert np.isnan(found["value"]).tolist() == [False, False, False, True, True]
    refusing = answers(REFUSING, given_rows(REFUSING, [0.5, 0.5], None, [3, 4]), ("value", "bin"), None)
    assert np.isnan(refusing["value"]).tolist() == [False, True]
    assert refusing["bin"].tolist() == [REFUSING[3].assign_one(0.5), -1]


@pytest.mark.parametrize("models", [POOLED, REFUSING], ids=["pooled", "refusing"])
def test_hard_rows_of_sets(models: fb.ModelSet) -> None:
    """All edges in a cell of their own, and cells that the set does not know."""
    rows = hard_rows(models)
    assert rows.keys is not None
    assert rows.cells is not None
    pairs = set(zip(rows.scores.tolist(), rows.cells.tolist(), strict=True))
    for key in models:
        for edge in models[key].edges.tolist():
            assert {(edge, key), (np.nextafter(edge, -np.inf), key)} <= pairs
    assert set(rows.cells.tolist()) > set(models)


def test_large_sets_have_few_rows_of_each_model() -> None:
    models = fb.ModelSet(dict.fromkeys(range(1500), model_of("2 bins")))
    assert len(hard_rows(models)) < 250 * len(models)
