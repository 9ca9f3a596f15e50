"""ModelSet: keys, the pool, scoring by cell, promises, bytes, and what is refused."""

from __future__ import annotations

import copy
import gc
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._fit.calibrator import changed

RNG = np.random.default_rng(12)


def fitted(n: int = 400, power: float = 1.0, **options: Any) -> fb.BinnedModel:
    scores = RNG.random(n)
    return fb.UniformMassBinning(**{"n_bins": 4, **options}).fit(scores, RNG.random(n) < scores**power).model_


NORTH, SOUTH, REST = fitted(), fitted(n_bins=7, power=2.0), fitted(n_bins=2)
FINE = fb.CertifiedCalibration(n_bins=3).fit(s := RNG.random(500), RNG.random(500) < s).model_
TEXT = fb.ModelSet({"south": SOUTH, "north": NORTH, "fine": FINE})
POOLED = fb.ModelSet({7: NORTH, -3: SOUTH}, pool=REST, pooled_cells=[12, -20], unknown="pool")
SCORES = RNG.random(1000)


def test_keys_and_models() -> None:
    assert TEXT.cells == tuple(TEXT) == ("fine", "north", "south")
    assert len(TEXT) == TEXT.n_models == 3
    assert (TEXT.kind, TEXT.unknown, TEXT.pool, TEXT.pooled_cells, TEXT.columns) == ("given", "refuse", None, (), None)
    assert TEXT.models == {"fine": FINE, "north": NORTH, "south": SOUTH}
    assert TEXT["south"] == SOUTH
    assert TEXT.n_bins == 3 + 4 + 7
    assert TEXT.first_bin.tolist() == [0, 3, 7, 14]
    assert TEXT.n_samples == 1300
    assert "north" in TEXT
    assert "east" not in TEXT
    assert 3 not in TEXT
    assert TEXT.get("east") is None
    with pytest.raises(KeyError, match="east"):
        TEXT["east"]


def test_a_model_reads_as_a_set_of_one_without_a_key() -> None:
    assert NORTH.numbered == [(None, NORTH)]
    assert (NORTH.is_set, TEXT.is_set) == (False, True)


def test_the_pool_is_the_last_model() -> None:
    assert POOLED.cells == (-20, -3, 7, 12)
    assert POOLED.pooled_cells == (-20, 12)
    assert POOLED.pool == POOLED[12] == POOLED[-20] == REST
    assert POOLED.numbered == [(-3, SOUTH), (7, NORTH), (None, REST)]
    assert POOLED.models == {-3: SOUTH, 7: NORTH}
    assert changed(POOLED, lambda model: model) == POOLED
    refusing, pooling = (fb.ModelSet({7: NORTH}, pool=REST, pooled_cells=[12], unknown=word) for word in ("refuse", "pool"))
    assert not refusing.same_map(pooling)
    P = np.column_stack([SCORES, 1.0 - SCORES])
    of_classes = fb.multi.ClassWiseBinning(n_bins=2, classes=["b", "a"]).fit(P, np.where(SCORES > 0.5, "b", "a")).model_
    assert changed(of_classes, lambda model: model) == of_classes
    assert (POOLED.n_models, len(POOLED), POOLED.unknown) == (3, 4, "pool")
    assert True not in POOLED


def test_models_keep_their_set_alive() -> None:
    model = fb.ModelSet({1: NORTH})[1]
    gc.collect(1)
    assert model == NORTH
    assert np.array_equal(model.predict(SCORES), NORTH.predict(SCORES))


def test_calibrators_stand_for_their_models() -> None:
    calibrator = fb.UniformMassBinning(n_bins=2).fit(SCORES, SCORES > 0.5)
    assert fb.ModelSet({1: calibrator})[1] == calibrator.model_


@pytest.mark.parametrize("order", ["random", "sorted", "one cell"])
def test_every_row_is_scored_by_its_own_model(order: str) -> None:
    cells = RNG.choice(["fine", "north", "south"], 1000)
    if order == "sorted":
        cells.sort()
    elif order == "one cell":
        cells[:] = "fine"
    models = [TEXT[cell] for cell in cells]
    one_by_one = [model.predict_one(score) for model, score in zip(models, SCORES, strict=True)]
    bins = [model.assign_one(score) for model, score in zip(models, SCORES, strict=True)]
    assert TEXT.predict(SCORES, cells).tolist() == one_by_one
    assert TEXT.predict(SCORES.astype(np.float32)[::2], cells[::2]).shape == (500,)
    assert TEXT.assign(SCORES, cells).tolist() == bins
    numbers = TEXT.find(cells)
    assert TEXT.assign_all(SCORES, cells).tolist() == (TEXT.first_bin[numbers] + bins).tolist()
    assert [TEXT.predict_one(score, cell) for score, cell in zip(SCORES, cells, strict=True)] == one_by_one
    out = np.empty(1000)
    assert TEXT.predict(SCORES, cells, out=out) is out
    assert out.tolist() == one_by_one


def test_unknown_cells() -> None:
    cells = [7, 99, 12]
    assert POOLED.find(cells).tolist() == [1, -1, 2]
    assert POOLED.predict([0.5] * 3, cells).tolist() == [model.predict_one(0.5) for model in (NORTH, REST, REST)]
    assert POOLED.predict_one(0.5, 99) == REST.predict_one(0.5)
    assert POOLED.assign([0.5] * 3, cells)[1] == POOLED.assign_all([0.5] * 3, cells)[1] == -1
    assert POOLED.predict_interval([0.5] * 3, cells)[1].tolist() == [0.0, 1.0]
    assert POOLED.predict_set([0.5] * 3, cells)[1].all()
    refuses("InputError cells[1]: is 'east', which is none of the 3 keys", TEXT.predict, [0.5, 0.5], ["north", "east"])
    refuses("InputError: cell is 'east', which is none of the 3 keys", TEXT.predict_one, 0.5, "east")


def test_errors_name_the_row() -> None:
    refuses("InputError scores[2]", TEXT.predict, [0.5, 0.5, 1.5], ["north", "south", "south"])
    refuses("InputError scores[1]", TEXT.predict, [0.5, np.nan, 1.5], ["north", "south", "south"])
    refuses("InputError score", TEXT.predict_one, 2.0, "north")
    refuses("InputError: lengths differ: scores has 3, cells has 2", TEXT.predict, [0.5, 0.5, 0.5], ["north", "south"])


def test_missing_scores_may_propagate() -> None:
    cells = ["north", "south"]
    assert np.isnan(TEXT.predict([np.nan, 0.5], cells, nan="propagate")).tolist() == [True, False]
    ends = TEXT.predict_interval([np.nan, 0.5], cells, nan="propagate")
    assert np.isnan(ends).tolist() == [[True, True], [False, False]]
    assert TEXT.assign([np.nan, 0.5], cells, nan="propagate")[0] == -1


def test_tie_keys_belong_to_rows() -> None:
    scores = np.full(400, 0.5)
    model = fb.UniformMassBinning(n_bins=2, ties="random").fit(scores, np.arange(400) % 4 == 0).model_
    models = fb.ModelSet({"a": model, "b": model})
    cells = np.array(["a", "b"])[np.arange(400) // 3 % 2]
    keys = RNG.integers(0, 2**64 - 1, 400, np.uint64)
    assert np.array_equal(models.predict(scores, cells, tie_keys=keys), model.predict(scores, tie_keys=keys))
    assert np.array_equal(models.predict(scores, cells, seed=3), model.predict(scores, seed=3))
    assert models.predict_one(0.5, "a", 17) == model.predict_one(0.5, 17)
    assert len(np.unique(models.predict(scores, cells))) == 2
    refuses("InputError: tie_keys and seed are both given,", models.predict, scores, cells, tie_keys=keys, seed=3)


def test_intervals_of_rows_are_those_of_their_bins() -> None:
    cells = RNG.choice([-3, 7, 12], 1000)
    ends = np.concatenate(POOLED.interval(0.2))
    assert np.array_equal(POOLED.predict_interval(SCORES, cells, alpha=0.2), ends[POOLED.assign_all(SCORES, cells)])
    alone = POOLED.interval(0.2, which=7)
    assert np.array_equal(alone, NORTH.interval(0.2))
    joint = POOLED.interval(0.2)[1]
    assert (joint[:, 0] <= alone[:, 0]).all()
    assert (joint[:, 1] >= alone[:, 1]).all()
    for alpha, simultaneous in ((0.1, True), (0.1, False), (0.2, True), (0.2, True)):  # what was asked last is kept
        rows = POOLED.predict_interval([0.5], [7], alpha=alpha, simultaneous=simultaneous)
        bins = POOLED.interval(alpha, simultaneous=simultaneous)[1]
        assert rows[0].tolist() == bins[NORTH.assign_one(0.5)].tolist()
    each = POOLED.interval(0.2, simultaneous=False)[1]
    assert np.array_equal(each, NORTH.interval(0.2, simultaneous=False))


def test_sets_of_rows_are_those_of_their_models() -> None:
    cells = RNG.choice([-3, 7, 12], 1000)
    for cell in (-3, 7, 12):
        mine = cells == cell
        assert np.array_equal(POOLED.predict_set(SCORES, cells)[mine], POOLED[cell].predict_set(SCORES[mine]))


def test_certificates() -> None:
    joint = POOLED.certificate(0.1)
    assert joint.epsilon >= max(POOLED.certificate(0.1, which=key).epsilon for key in (-3, 7))
    assert POOLED.certificate(0.1, which=7) == NORTH.certificate(0.1)


@pytest.mark.parametrize("kind", ["conditional", "marginal", "ratio", "expected-ece", "ece", "mean-error"])
@pytest.mark.parametrize("side", ["both", "upper"])
def test_the_certificate_of_a_pooled_key_says_that_it_is_about_the_pool(kind: str, side: str) -> None:
    """A promise about the mix of a pool holds of none of its cells by itself."""
    if side == "upper" and kind not in ("conditional", "ratio"):
        return
    told, alone = POOLED.certificate(0.1, kind, which=12, side=side), REST.certificate(0.1, kind, side=side)
    assert " the pool (as mixed in calibration)" in str(told)
    assert "each of the pool" not in str(told)
    assert replace(told, assumptions=alone.assumptions, pooled="") == alone
    assert told.assumptions[-1].startswith("the cells of the pool have the shares of its population")
    assert told.to_dict()["pooled"] == "cells"
    assert "pooled" not in alone.to_dict()


def test_a_pool_of_all_keys_is_told_as_one_model() -> None:
    models = fb.ModelSet({}, pool=fitted(n_bins=1), pooled_cells=["a", "b"])
    for told in (models.certificate(), models.certificate(which="a")):
        assert "in the only bin of the pool (as mixed in calibration), the predicted" in str(told)
        assert "shares of its population" not in "".join(told.assumptions)


@pytest.mark.parametrize("models", [TEXT, POOLED, fb.ModelSet({}, pool=REST, pooled_cells=["a", "b"])])
def test_bytes_and_copies(models: fb.ModelSet, tmp_path: Path) -> None:
    path = tmp_path / "cells.fbm"
    models.save(path)
    loaded = fb.load(path)
    assert isinstance(loaded, fb.ModelSet)
    for again in (loaded, fb.ModelSet.from_bytes(models.to_bytes()), pickle.loads(pickle.dumps(models)), copy.deepcopy(models)):
        assert again == models
        assert hash(again) == hash(models)
        assert again.to_bytes() == models.to_bytes() == path.read_bytes()
        assert again.numbered == models.numbered
        assert (again.cells, again.pooled_cells, again.unknown) == (models.cells, models.pooled_cells, models.unknown)
    assert repr(loaded) == repr(models)


def test_order_of_the_mapping_does_not_matter() -> None:
    assert fb.ModelSet({"north": NORTH, "fine": FINE, "south": SOUTH}) == TEXT
    assert fb.ModelSet({-3: SOUTH, 7: NORTH}, pool=REST, pooled_cells=[-20, 12], unknown="pool") == POOLED
    assert TEXT != POOLED
    assert TEXT != NORTH


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([NORTH],), {}, "InputTypeError models"),
        (({},), {}, "InputError models"),
        (({1: NORTH, "a": SOUTH},), {}, "InputError cells[1]"),
        (({True: NORTH},), {}, "InputTypeError a key of models: is True;"),
        (({1.5: NORTH},), {}, "InputTypeError a key of models: is 1.5;"),
        (({"": NORTH},), {}, "InputError a key of models"),
        (({1: 3},), {}, "InputTypeError: models[1] is of type"),
        (({1: NORTH},), {"pool": REST}, "InputError pool"),
        (({1: NORTH},), {"pooled_cells": [2]}, "InputError: pooled_cells and unknown='pool'"),
        (({1: NORTH},), {"unknown": "pool"}, "InputError: pooled_cells and unknown='pool'"),
        (({1: NORTH},), {"unknown": "ignore"}, "InputError unknown"),
        (({1: NORTH},), {"pool": REST, "pooled_cells": [1]}, "InputError cells"),
        (({1: NORTH},), {"pool": "a.fbm", "pooled_cells": [2]}, "InputTypeError: pool is the path 'a.fbm'"),
    ],
)
def test_impossible_sets_are_refused(arguments: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    refuses(message, fb.ModelSet, *arguments, **options)


def test_a_model_is_not_a_set_and_a_set_not_a_model() -> None:
    with pytest.raises(fb.FormatError, match="set"):
        fb.BinnedModel.from_bytes(TEXT.to_bytes())
    with pytest.raises(fb.FormatError):
        fb.ModelSet.from_bytes(NORTH.to_bytes())
    with pytest.raises(fb.FormatError, match=r"no bytes|empty"):
        fb.ModelSet.from_bytes(b"")
