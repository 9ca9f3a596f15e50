"""Right inputs in every dress are taken, give the same answer, and are left as they were."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from wordings import refuses

import fastbin as fb
import strategies

N = 300


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Scores that float16 holds exactly, with many ties, so that keys take part."""
    rng = Random(5)
    scores = [rng.randrange(129) / 128 for _ in range(N)]
    return np.array(scores), np.array([int(rng.random() < score) for score in scores], np.uint8)


def arrow(column: np.ndarray) -> Any:
    return pytest.importorskip("pyarrow").array(column)


def chunked(column: np.ndarray) -> Any:
    return pytest.importorskip("pyarrow").chunked_array([column[:100], column[100:]])


class OnlyArray:
    """Not a sequence, but has the array protocol, as columns of other libraries do."""

    def __init__(self, column: np.ndarray) -> None:
        self.column = column

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.column if dtype is None else self.column.astype(dtype)


CONTAINERS: dict[str, Callable[[np.ndarray], Any]] = {
    **strategies.LAYOUTS,
    "tuple": lambda column: tuple(column.tolist()),
    "objects": lambda column: np.array(column.tolist(), object),
    "masked, none of them": lambda column: np.ma.array(column, mask=False),
    "memoryview": lambda column: memoryview(column),
    "pandas": lambda column: pd.Series(column, index=np.arange(len(column))[::-1]),
    "pandas, nullable": lambda column: pd.Series(column).convert_dtypes(),
    "pandas, one column": lambda column: pd.DataFrame({"p": column}),
    "polars": lambda column: pl.Series(column),
    "polars, one column": lambda column: pl.DataFrame({"p": column}),
    "arrow": arrow,
    "arrow, chunked": chunked,
    "array protocol": OnlyArray,
}
containers = pytest.mark.parametrize("container", list(CONTAINERS.values()), ids=list(CONTAINERS))

# NumPy dtypes that hold the scores exactly, and the labels.
SCORE_DTYPES = ("float16", "float32", "float64", ">f4", ">f8", "<f8", "longdouble")
LABEL_DTYPES = ("bool", "int8", "uint8", "int16", ">i4", "int64", "uint64", "float16", "float32", "float64", ">f8")


def fitted(scores: Any, labels: Any, ties: str = "random", **options: Any) -> fb.BinnedModel:
    """A model of 7 bins; ties are ordered by keys, so that keys take part."""
    return fb.UniformMassBinning(n_bins=7, ties=ties).fit(scores, labels, **options).model_


def answers(model: fb.BinnedModel, scores: Any) -> list[list[float]]:
    """In the type of the scores, of which test_frames.py speaks; here as lists."""
    intervals = np.asarray(model.predict_interval(scores, seed=4))
    one_by_one = [model.predict(scores, seed=4), model.assign(scores, seed=4), intervals[:, 0]]
    return [np.asarray(column).tolist() for column in one_by_one]


@containers
def test_containers_of_scores(container: Callable[[np.ndarray], Any]) -> None:
    scores, labels = rows()
    expected = fitted(scores, labels)
    assert fitted(container(scores), labels) == expected
    assert answers(expected, container(scores)) == answers(expected, scores)


@containers
def test_containers_of_labels(container: Callable[[np.ndarray], Any]) -> None:
    scores, labels = rows()
    assert fitted(scores, container(labels)) == fitted(scores, labels)


@pytest.mark.parametrize("container", [CONTAINERS[name] for name in ("pandas", "polars", "arrow", "list", "strided")])
def test_containers_of_weights_and_keys(container: Callable[[np.ndarray], Any]) -> None:
    scores, labels = rows()
    for weights in (np.arange(N) % 4, np.arange(N) % 4 / 3):
        for ties in ("random", "whole"):
            expected = fitted(scores, labels, ties, sample_weight=weights)
            assert fitted(scores, labels, ties, sample_weight=container(weights)) == expected
        as_objects = np.array(weights.tolist(), object)  # whole numbers are frequencies as objects, too
        assert fitted(scores, labels, sample_weight=container(as_objects)) == fitted(scores, labels, sample_weight=weights)
        as_decimals = np.array([Decimal(weight) for weight in weights.tolist()], object)  # and as decimals without places
        assert fitted(scores, labels, sample_weight=container(as_decimals)) == fitted(scores, labels, sample_weight=weights)
    keys = np.arange(N, dtype=np.uint64) * np.uint64(12345 << 32)
    expected = fitted(scores, labels, tie_keys=keys)
    assert fitted(scores, labels, tie_keys=container(keys)) == expected
    assert expected.predict(scores, tie_keys=container(keys)).tolist() == expected.predict(scores, tie_keys=keys).tolist()


@pytest.mark.parametrize("container", [CONTAINERS["strided"], np.asarray], ids=["strided", "array"])
def test_long_long_where_a_long_has_64_bits_too(container: Callable[[np.ndarray], Any]) -> None:
    """The two are types of their own in NumPy; sums of uint64 and int were of the second one before NumPy 2."""
    scores, labels = rows()
    keys = np.arange(N, dtype=np.uint64) * np.uint64(12345 << 32)
    expected = fitted(scores, labels, tie_keys=keys)
    longs = container(keys.astype(np.ulonglong))
    assert fitted(scores, container(labels.astype(np.longlong)), tie_keys=longs) == expected
    assert expected.predict(scores, tie_keys=longs).tolist() == expected.predict(scores, tie_keys=keys).tolist()
    weights = container((np.arange(N) % 4).astype(np.longlong))
    assert fitted(scores, labels, sample_weight=weights) == fitted(scores, labels, sample_weight=np.arange(N) % 4)


@pytest.mark.parametrize("dtype", SCORE_DTYPES)
def test_dtypes_of_scores(dtype: str) -> None:
    scores, labels = rows()
    expected = fitted(scores, labels)
    assert fitted(scores.astype(dtype), labels) == expected
    assert answers(expected, scores.astype(dtype)) == answers(expected, scores)


@pytest.mark.parametrize("dtype", LABEL_DTYPES)
def test_dtypes_of_labels(dtype: str) -> None:
    scores, labels = rows()
    assert fitted(scores, labels.astype(dtype)) == fitted(scores, labels)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64"])
@pytest.mark.filterwarnings("ignore:all scores are exactly 0 or 1:fastbin.FastbinWarning")
def test_whole_numbers_are_scores(dtype: str) -> None:
    scores = np.arange(N) % 2
    model = fitted(scores.astype(dtype), np.arange(N) % 3 == 0)
    assert model == fitted(scores.astype(float), np.arange(N) % 3 == 0)
    assert model.predict(scores.astype(dtype), seed=1).tolist() == model.predict(scores.astype(float), seed=1).tolist()


def test_float32_scores_are_compared_as_doubles() -> None:
    """A score that float32 cannot hold falls where its rounded value falls, and edges are not rounded at all."""
    edges = np.array([0.1, 0.2, 1 / 3, 0.7, 0.9])
    model = fb.BinnedModel.from_parts(edges=edges, values=np.arange(6) / 5)
    for neighbour in (edges, np.nextafter(np.float32(edges), np.float32(0)), np.nextafter(np.float32(edges), np.float32(1))):
        single = np.float32(neighbour)
        assert model.assign(single).tolist() == model.assign(single.astype(np.float64)).tolist()
        assert model.assign(single).tolist() == [int(sum(float(score) >= edges)) for score in single]


def test_keys_as_floats_are_shares_of_the_key_range() -> None:
    scores, labels = rows()
    model = fitted(scores, labels)
    shares = np.arange(N) / N
    keys = np.array([int(share * 2**64) for share in shares.tolist()], np.uint64)
    assert model.predict(scores, tie_keys=shares).tolist() == model.predict(scores, tie_keys=keys).tolist()
    half = model.predict([model.edges[0]], tie_keys=[0.5])
    assert half.tolist() == [model.predict_one(model.edges[0], tie_key=2**63)]


# ------------------------------------------------------------------------------------------------- nothing is written


def frozen(column: np.ndarray) -> np.ndarray:
    copy = column.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.sampled
@pytest.mark.parametrize("n", [200, 140_000], ids=["short", "long"])
@pytest.mark.parametrize("scheme", ["umd", "ze", "ums", "umb"])
@pytest.mark.parametrize("weighting", ["none", "integer", "float"])
def test_nothing_writes_its_input(scheme: str, weighting: str, n: int) -> None:
    data = strategies.make("hundredths", "follow the rank", n, 3, weighting).arrays()
    before = {name: column.copy() for name, column in data.items()}
    cal = fb.UniformMassBinning(n_bins=5, scheme=scheme)
    model = cal.fit(**data).model_
    keys = fb.hash_keys(range(n), "s")
    kept = keys.copy()
    for _ in range(2):
        predicted = model.predict(data["scores"], tie_keys=keys)
        model.assign(data["scores"], tie_keys=keys)
        model.predict(data["scores"].astype(np.float32), tie_keys=keys)
    assert all(np.array_equal(data[name], before[name]) for name in data)
    assert np.array_equal(keys, kept)
    assert cal.fit(**{name: frozen(column) for name, column in data.items()}).model_ == model
    assert np.array_equal(model.predict(frozen(data["scores"]), tie_keys=frozen(keys)), predicted)


def test_a_fit_keeps_nothing_of_its_input() -> None:
    """Changing the arrays afterwards does not change the model."""
    scores, labels = rows()
    model = fitted(scores, labels)
    before = model.to_bytes()
    scores[:], labels[:] = 0.0, 0
    assert model.to_bytes() == before


# ------------------------------------------------------------------------------------------------- out=


def test_out_is_filled_and_returned() -> None:
    scores, labels = rows()
    model = fitted(scores, labels)
    out, bins = np.full(N, np.nan), np.full(N, -9, np.int32)
    assert model.predict(scores, seed=2, out=out) is out
    assert np.array_equal(out, model.predict(scores, seed=2))
    assert model.assign(scores, seed=2, out=bins) is bins
    assert np.array_equal(bins, model.assign(scores, seed=2))


@pytest.mark.parametrize("n", [10, 5000])
def test_out_may_be_the_scores(n: int) -> None:
    scores, labels = rows()
    model = fitted(scores, labels)
    column = np.resize(scores, n)
    expected = model.predict(column, seed=2)
    assert np.array_equal(model.predict(column, seed=2, out=column), expected)


@pytest.mark.parametrize("n", [10, 5000])
@pytest.mark.parametrize("hold", [np.asarray, pl.Series, pa.array, lambda column: pd.Series(column, copy=False)])
def test_out_that_overlaps_what_is_read_is_refused(hold: Callable[[np.ndarray], Any], n: int) -> None:
    """Unless it is the scores: others would be overwritten before they are read."""
    scores, labels = rows()
    model = fitted(scores, labels)
    models, cells = fb.ModelSet({0: model, 1: model}), np.arange(n) % 2
    kept = np.resize(scores, n)
    expected = model.predict(kept, seed=2)
    for predict in (model.predict, partial(models.predict, cells=cells)):
        for first, out in ((0, 1), (1, 0), (0, n - 1)):
            memory = np.zeros(2 * n)
            memory[first : first + n] = kept
            told = "InputError out: overlaps the scores"
            refuses(told, predict, hold(memory[first : first + n]), seed=2, out=memory[out : out + n])
            assert np.array_equal(memory[first : first + n], kept)
        for first in (0, n):
            memory = np.concatenate([kept, kept])
            predict(hold(memory[:n]), seed=2, out=memory[first : first + n])
            assert np.array_equal(memory[first : first + n], expected)


def test_out_among_strided_scores_and_keys() -> None:
    scores, labels = rows()
    model = fitted(scores, labels)
    memory = np.resize(scores, 2 * N)
    refuses("InputError out: overlaps the scores", model.predict, memory[::2], seed=2, out=memory[:N])
    refuses("InputError out: overlaps the scores", model.predict, memory[:N][::-1], seed=2, out=memory[:N])
    refuses("InputError out: overlaps the scores", model.predict, memory[N + 2 : 2 : -1], seed=2, out=memory[2 : N + 2])
    singles = np.zeros(N, np.float32)
    refuses("InputError out: overlaps the scores", model.assign, singles, seed=2, out=singles.view(np.int32))
    keys = fb.hash_keys(range(N), "s")
    refuses("InputError out: overlaps tie_keys", model.predict, scores, tie_keys=keys, out=keys.view(np.float64))
    matrix = np.resize(scores, (2, 5))
    expected = model.predict(matrix[:, 0].copy(), seed=2)
    assert model.predict(matrix[:, 0], seed=2, out=matrix[0, 1:3]).tolist() == expected.tolist()  # between them


@pytest.mark.parametrize(
    "out",
    [
        pytest.param(lambda: np.empty(N - 1), id="too short"),
        pytest.param(lambda: np.empty(N + 1), id="too long"),
        pytest.param(lambda: np.empty((N, 1)), id="two dimensions"),
        pytest.param(lambda: np.empty(N, np.float32), id="float32"),
        pytest.param(lambda: np.empty(N, ">f8"), id="big-endian"),
        pytest.param(lambda: np.empty(2 * N)[::2], id="strided"),
        pytest.param(lambda: frozen(np.empty(N)), id="read-only"),
        pytest.param(lambda: strategies.LAYOUTS["unaligned"](np.empty(N)), id="unaligned"),
        pytest.param(lambda: [0.0] * N, id="list"),
    ],
)
def test_out_that_does_not_fit(out: Callable[[], Any]) -> None:
    scores, labels = rows()
    refuses(
        "InputError: out must be a writeable, contiguous float64 array of shape (300,)",
        fitted(scores, labels).predict,
        scores,
        out=out(),
    )


# ------------------------------------------------------------------------------------------------- NaN, keys, seeds


def test_nan_propagates_on_request() -> None:
    scores, labels = rows()
    model = fitted(scores, labels)
    holes = scores.copy()
    holes[::3] = np.nan
    for column in (holes, holes.astype(np.float32), holes[::-1], holes.astype(">f8")):
        missing = np.isnan(column.astype(np.float64))
        predicted, bins = model.predict(column, seed=6, nan="propagate"), model.assign(column, seed=6, nan="propagate")
        assert np.array_equal(np.isnan(predicted), missing)
        assert np.array_equal(bins == -1, missing)
        assert np.array_equal(predicted[~missing], model.values[bins[~missing]])
        assert np.array_equal(np.isnan(model.predict_interval(column, nan="propagate")).all(axis=1), missing)
    refuses("InputError scores[4]: is inf", model.predict, [0.1, np.nan, np.nan, 0.2, np.inf], nan="propagate")


def test_a_seed_is_a_key_for_each_row() -> None:
    """Row i has the same key in every call, wherever the rows before it came from."""
    scores, labels = rows()
    model = fitted(scores, labels)
    tied = np.full(1000, model.edges[2])
    first, second = model.predict(tied, seed=1), model.predict(tied, seed=2)
    assert len(set(first.tolist())) == 2, "a tied score is split between two bins"
    assert np.array_equal(first, model.predict(tied, seed=1))
    assert not np.array_equal(first, second)
    assert np.array_equal(model.predict(tied[:10], seed=1), first[:10])


def test_without_keys_and_seed_ties_are_drawn_afresh() -> None:
    scores, labels = rows()
    model = fitted(scores, labels)
    tied = np.full(1000, model.edges[2])
    draws = {tuple(model.predict(tied).tolist()) for _ in range(5)}
    assert len(draws) == 5
    assert len({model.predict_one(model.edges[2]) for _ in range(200)}) == 2
    assert len({model.assign_one(model.edges[2]) for _ in range(200)}) == 2


def test_keys_decide_ties_alone() -> None:
    scores, labels = rows()
    model = fitted(scores, labels)
    off_edge = np.linspace(0.001, 0.999, 50)
    lowest, highest = np.zeros(50, np.uint64), np.full(50, 2**64 - 2, np.uint64)
    assert not np.isin(off_edge, model.edges).any()
    assert np.array_equal(model.predict(off_edge, tie_keys=lowest), model.predict(off_edge, tie_keys=highest))
    assert model.assign_one(model.edges[2], tie_key=0) < model.assign_one(model.edges[2], tie_key=2**64 - 2)


def test_no_scores_give_no_answers() -> None:
    scores, labels = rows()
    model = fitted(scores, labels)
    for empty in ([], np.empty(0), np.empty(0, np.float32), pd.Series([], dtype=float)):
        assert model.predict(empty).shape == model.assign(empty).shape == (0,)
        assert model.predict_interval(empty).shape == (0, 2)
