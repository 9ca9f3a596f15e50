"""Columns of pandas, Polars and Arrow: read as they are stored, answered in their type, never matched by a wrong index."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._base.checks import as_score_pieces
from fitting import bare
from fresh_python import run_python

pa = pytest.importorskip("pyarrow")

N = 240
ENDS = (0, 7, 7, 100, 101, N)  # of chunks; one is empty
INDEX = pd.Index([f"row {i}" for i in range(N)])


def rows(n: int = N) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores with many ties, labels, and cells."""
    rng = Random(13)
    scores = [rng.randrange(65) / 64 for _ in range(n)]
    labels = [int(rng.random() < score) for score in scores]
    return np.array(scores), np.array(labels, np.uint8), np.array([rng.choice(["north", "south"]) for _ in range(n)], object)


SCORES, LABELS, CELLS = rows()
MODEL = fb.UniformMassBinning(6, ties="random").fit(SCORES, LABELS).model_
SOUTH = fb.UniformMassBinning(3, ties="random").fit(SCORES, 1 - LABELS)
POOL = fb.UniformMassBinning(2).fit(1 - SCORES, LABELS)
SET = fb.ModelSet({"north": MODEL, "south": SOUTH}, unknown="pool", pool=POOL)


# ------------------------------------------------------------------------------------------------- types out are types in


class Frame(NamedTuple):
    """A way to hold a column; and the series, and the table, that results about it come in."""

    hold: Callable[[np.ndarray], Any]
    series: type
    table: type
    name: str | None = None
    has_index: bool = False
    chunks: tuple[int, ...] | None = None


def chunked(column: np.ndarray, ends: tuple[int, ...] = ENDS) -> Any:
    """Chunks that begin anywhere in longer arrays, so that each has an offset."""
    padded = [pa.array(np.concatenate([column[:1], column[a:b], column[:1]])) for a, b in pairwise(ends)]
    return pa.chunked_array([array.slice(1, len(array) - 2) for array in padded])


def polars_chunks(column: np.ndarray) -> pl.Series:
    whole = pl.Series("p", column)
    joined = pl.concat([whole[a:b] for a, b in pairwise(ENDS)], rechunk=False)
    assert joined.n_chunks() > 1
    return joined


SIZES = tuple(b - a for a, b in pairwise(ENDS))
FRAMES = {
    "pandas": Frame(lambda c: pd.Series(c, INDEX[: len(c)], name="p"), pd.Series, pd.DataFrame, "p", True),
    "pandas without a name": Frame(lambda c: pd.Series(c, INDEX[: len(c)]), pd.Series, pd.DataFrame, None, True),
    "pandas frame": Frame(lambda c: pd.DataFrame({"q": c}, INDEX[: len(c)]), pd.Series, pd.DataFrame, "q", True),
    "pandas, nullable": Frame(
        lambda c: pd.Series(c, INDEX[: len(c)], name="p").convert_dtypes(), pd.Series, pd.DataFrame, "p", True,
    ),
    "pandas of Arrow": Frame(
        lambda c: pd.Series(pd.array(c, pd.ArrowDtype(pa.from_numpy_dtype(c.dtype))), INDEX[: len(c)], name="p"),
        pd.Series, pd.DataFrame, "p", True,
    ),
    "Polars": Frame(lambda c: pl.Series("p", c), pl.Series, pl.DataFrame, "p"),
    "Polars in chunks": Frame(polars_chunks, pl.Series, pl.DataFrame, "p"),
    "Polars frame": Frame(lambda c: pl.DataFrame({"q": c}), pl.Series, pl.DataFrame, "q"),
    "Arrow": Frame(pa.array, pa.Array, pa.Table),
    "Arrow in chunks": Frame(chunked, pa.ChunkedArray, pa.Table, chunks=SIZES),
    "Arrow table": Frame(lambda c: pa.table({"q": chunked(c)}), pa.ChunkedArray, pa.Table, chunks=SIZES),
    "Arrow batch": Frame(lambda c: pa.record_batch({"q": pa.array(c)}), pa.Array, pa.Table),
}  # fmt: skip
frames = pytest.mark.parametrize("frame", list(FRAMES.values()), ids=list(FRAMES))


CALIBRATORS = (fb.IsotonicCalibration(), fb.PlattScaling(), fb.ScalingBinning(3), fb.FixedWidthBinning(4))
SEGMENTS = fb.multi.SegmentedBinning(fb.UniformMassBinning(4, ties="random"), min_points=10).fit(SCORES, LABELS, CELLS)
# For each call that answers row by row: the call, the names of the columns of a table, and the dtype.
ROW_BY_ROW: dict[str, tuple[Callable[[Any], Any], tuple[str, ...], type]] = {
    "predict": (lambda s: MODEL.predict(s, seed=3), (), np.float64),
    "assign": (lambda s: MODEL.assign(s, seed=3), (), np.int32),
    "step": (lambda s: MODEL.step(s, seed=3), (), np.int32),
    "predict_interval": (lambda s: MODEL.predict_interval(s, seed=3), ("lower", "upper"), np.float64),
    "predict_set": (lambda s: MODEL.predict_set(s, seed=3), ("0", "1"), np.bool_),
    "set.predict": (lambda s: SET.predict(s, CELLS, seed=3), (), np.float64),
    "set.assign": (lambda s: SET.assign(s, CELLS, seed=3), (), np.int32),
    "set.assign_all": (lambda s: SET.assign_all(s, CELLS, seed=3), (), np.int64),
    "set.predict_interval": (lambda s: SET.predict_interval(s, CELLS, seed=3), ("lower", "upper"), np.float64),
    "set.predict_set": (lambda s: SET.predict_set(s, CELLS, seed=3), ("0", "1"), np.bool_),
    "segments.predict": (lambda s: SEGMENTS.predict(s, CELLS, seed=3), (), np.float64),
    "segments.predict_interval": (lambda s: SEGMENTS.predict_interval(s, CELLS, seed=3), ("lower", "upper"), np.float64),
    "segments.predict_set": (lambda s: SEGMENTS.predict_set(s, CELLS, seed=3), ("0", "1"), np.bool_),
    **{
        f"{type(method).__name__}.predict": (partial(method.fit(SCORES, LABELS).predict, seed=3), (), np.float64)
        for method in CALIBRATORS
    },
}
row_by_row = pytest.mark.parametrize("answer", list(ROW_BY_ROW.values()), ids=list(ROW_BY_ROW))


@frames
@row_by_row
def test_results_are_of_the_type_of_the_rows(frame: Frame, answer: tuple[Callable[[Any], Any], tuple[str, ...], type]) -> None:
    call, names, dtype = answer
    expected, given = call(SCORES), frame.hold(SCORES)
    result = call(given)
    assert type(expected) is np.ndarray
    assert expected.dtype == dtype
    assert isinstance(result, frame.table if names else frame.series)
    columns = {name: column(result, name) for name in names} if names else {"": result}
    for at, each in enumerate(columns.values()):
        values = np.asarray(each)
        assert values.dtype == dtype
        assert np.array_equal(values, expected[:, at] if names else expected)
        if frame.chunks is not None:
            assert tuple(map(len, each.chunks)) == frame.chunks
    if names:
        assert column_names(result) == list(names)
    elif frame.series in (pd.Series, pl.Series):
        assert result.name == (frame.name if frame.series is pd.Series else frame.name or "")
    if frame.has_index:
        assert result.index is given.index or result.index.equals(given.index)


def column(table: Any, name: str) -> Any:
    return table.column(name) if isinstance(table, pa.Table) else table[name]


def column_names(table: Any) -> list[str]:
    return list(table.column_names if isinstance(table, pa.Table) else table.columns)


@frames
def test_out_wins(frame: Frame) -> None:
    out = np.empty(N)
    assert MODEL.predict(frame.hold(SCORES), seed=3, out=out) is out
    assert np.array_equal(out, MODEL.predict(SCORES, seed=3))
    assert SET.predict(frame.hold(SCORES), CELLS, seed=3, out=out) is out
    assert np.array_equal(out, SET.predict(SCORES, CELLS, seed=3))


P = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]] * 80)
CLASSES = ["a", "b", "c"]
TRUTH = np.array([Random(i).choice(CLASSES) for i in range(len(P))])
TABLES = {
    "pandas": lambda p: pd.DataFrame(p, INDEX[: len(p)], columns=["x", "y", "z"]),
    "Polars": lambda p: pl.DataFrame(p, schema=["x", "y", "z"]),
    "Arrow": lambda p: pa.table({name: pa.array(p[:, at]) for at, name in enumerate(["x", "y", "z"])}),
}


@pytest.mark.parametrize("kind", TABLES)
def test_results_about_tables_of_classes(kind: str) -> None:
    table = TABLES[kind](P)
    frame = FRAMES[kind]
    top = fb.multi.TopLabelBinning(n_bins=1, classes=CLASSES).fit(table, TRUTH)
    assert top.model_ == fb.multi.TopLabelBinning(n_bins=1, classes=CLASSES).fit(P, TRUTH).model_
    for result, expected in zip(top.predict(table, seed=1), top.predict(P, seed=1), strict=True):
        assert isinstance(result, pa.ChunkedArray if kind == "Arrow" else frame.series)
        assert np.asarray(result).tolist() == expected.tolist()
    assert column_names(top.predict_interval(table, seed=1)) == ["lower", "upper"]
    each = fb.multi.ClassWiseBinning(n_bins=1, classes=CLASSES).fit(table, TRUTH)
    for normalize in (False, True):
        each.normalize = normalize
        result = each.predict(table, seed=1)
        assert isinstance(result, frame.table)
        assert column_names(result) == ["x", "y", "z"]
        assert np.array_equal(np.asarray(result), each.predict(P, seed=1))
    if kind == "pandas":
        assert top.predict(table)[1].index.equals(table.index)
        assert each.predict(table).index.equals(table.index)


# ------------------------------------------------------------------------------------------------- in pieces


@pytest.mark.parametrize("seed", range(20))
def test_chunks_give_what_one_array_gives(seed: int) -> None:
    """Bit for bit, wherever the cuts are: the key of a row is that of its number in the whole column."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5000))
    ends = tuple(sorted([0, n, *rng.integers(0, n + 1, int(rng.integers(0, 9))).tolist()]))
    scores = rng.choice([*MODEL.edges, *rng.random(20)], n).astype(rng.choice(["float32", "float64"]))
    cells = rng.choice(["north", "south", "elsewhere"], n).astype(object)
    keys = rng.integers(0, 2**64 - 1, n, dtype=np.uint64)
    for given in ({"seed": seed}, {"tie_keys": keys}):
        in_chunks = {name: chunked(value, ends) if name == "keys" else value for name, value in given.items()}
        for how in ("predict", "assign"):
            plain = getattr(MODEL, how)(scores, **given)
            assert np.array_equal(np.asarray(getattr(MODEL, how)(chunked(scores, ends), **in_chunks)), plain)
            plain = getattr(SET, how)(scores, cells, **given)
            assert np.array_equal(
                np.asarray(getattr(SET, how)(chunked(scores, ends), chunked(cells, ends), **in_chunks)), plain
            )


def test_ties_are_drawn_afresh_for_all_chunks_at_once() -> None:
    tied = np.full(400, MODEL.edges[2])
    whole = chunked(tied, (0, 100, 200, 300, 400))
    first, *others = np.split(np.asarray(MODEL.predict(whole)), 4)
    assert not all(np.array_equal(first, other) for other in others), "each chunk would have the keys of the first"
    assert not np.array_equal(np.asarray(MODEL.predict(whole)), np.asarray(MODEL.predict(whole)))


def test_pieces_are_the_memory_of_the_chunks() -> None:
    whole = chunked(SCORES)
    _, pieces = as_score_pieces(whole)
    for (piece, _), chunk in zip(pieces, whole.chunks, strict=True):
        assert len(piece) == len(chunk)
        assert len(chunk) == 0 or piece.ctypes.data == chunk.buffers()[1].address + 8 * chunk.offset


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_chunks_are_not_put_together(dtype: str) -> None:
    """Converted or not, one chunk at a time is in memory."""
    n, n_chunks = 10**6, 20
    whole = chunked((np.arange(n) % 2).astype(dtype), tuple(range(0, n + 1, n // n_chunks)))
    out = np.empty(n)
    MODEL.predict(whole, seed=1, out=out)
    tracemalloc.start()
    MODEL.predict(whole, seed=1, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n / n_chunks * 2.5


def test_no_chunks_and_no_rows() -> None:
    for empty in (pa.chunked_array([], pa.float64()), pa.array([], pa.float64()), pl.Series([], dtype=pl.Float64)):
        for result in (MODEL.predict(empty), SET.predict(empty, [])):
            assert type(result) is type(empty)
            assert len(result) == 0
    refuses("InputError scores", fb.UniformMassBinning(1).fit, pa.chunked_array([], pa.float64()), [])


def test_a_bad_score_is_named_by_its_row() -> None:
    bad = SCORES.copy()
    bad[150] = 1.5
    for call in (MODEL.predict, MODEL.predict_interval, lambda s: SET.predict(s, CELLS), lambda s: SET.predict_set(s, CELLS)):
        refuses("InputError scores[150]", call, chunked(bad))
    refuses("InputError scores[150]", fb.UniformMassBinning(2).fit, chunked(bad), LABELS)


# ------------------------------------------------------------------------------------------------- nulls

WITH_NULL: dict[str, Callable[[list[Any]], Any]] = {
    "pandas, nullable": lambda items: pd.Series(items, dtype=f"{'Int64' if isinstance(items[0], int) else 'Float64'}"),
    "pandas of Arrow": lambda items: pd.Series(items, dtype=pd.ArrowDtype(pa.array(items).type)),
    "Polars": pl.Series,
    "Arrow": pa.array,
    "Arrow in chunks": lambda items: pa.chunked_array([items[:1], items[1:]]),
}
with_null = pytest.mark.parametrize("hold", list(WITH_NULL.values()), ids=list(WITH_NULL))


@with_null
def test_nulls_are_refused_by_their_row(hold: Callable[[list[Any]], Any]) -> None:
    scores, labels = hold([0.1, 0.6, None, 0.9]), hold([0, 1, None, 1])
    plain = [0.1, 0.6, 0.7, 0.9]
    fit = fb.UniformMassBinning(1).fit
    for call in (
        lambda: MODEL.predict(scores), lambda: MODEL.predict_interval(scores), lambda: SET.predict(scores, ["north"] * 4),
        lambda: fit(scores, [0, 1, 0, 1]),
    ):  # fmt: skip
        refuses("InputError scores[2]", call)
    refuses("InputError labels[2]", fit, plain, labels)
    refuses("InputError labels[2]", fb.assess.ece, plain, labels)
    refuses("InputError sample_weight[2]", fit, plain, [0, 1, 0, 1], labels)
    refuses("InputError tie_keys[2]", MODEL.predict, plain, tie_keys=labels)
    refuses("InputError cells[2]", fb.ModelSet({0: MODEL, 1: MODEL}).predict, plain, labels)


@with_null
def test_nulls_become_nan_on_request(hold: Callable[[list[Any]], Any]) -> None:
    scores = hold([0.1, 0.6, None, 0.9])
    plain = [0.1, 0.6, np.nan, 0.9]
    for call in (
        lambda s: MODEL.predict(s, seed=1, nan="propagate"), lambda s: MODEL.assign(s, seed=1, nan="propagate"),
        lambda s: MODEL.predict_interval(s, seed=1, nan="propagate"),
        lambda s: SET.predict(s, ["north"] * 4, seed=1, nan="propagate"),
    ):  # fmt: skip
        assert np.array_equal(np.asarray(call(scores)), call(plain), equal_nan=True)


def test_integers_with_nulls_become_nan_on_request() -> None:
    for hold in WITH_NULL.values():
        assert np.isnan(np.asarray(MODEL.predict(hold([0, 1, None]), nan="propagate"))).tolist() == [False, False, True]


# ------------------------------------------------------------------------------------------------- other libraries


class Stream:
    """Something that speaks the Arrow C interface and nothing else."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._column.__arrow_c_stream__(requested_schema)


class OneArray:
    def __init__(self, column: Any) -> None:
        self._column = column

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._column.__arrow_c_array__(requested_schema)


@pytest.mark.parametrize(
    "given",
    [Stream(chunked(SCORES)), OneArray(pa.array(SCORES)), Stream(pa.table({"p": chunked(SCORES)})),
     OneArray(pa.record_batch({"p": SCORES}))],
    ids=["stream", "array", "table", "batch"],
)  # fmt: skip
def test_whatever_speaks_arrow_is_read(given: Any) -> None:
    result = MODEL.predict(given, seed=3)
    assert type(result) is np.ndarray
    assert np.array_equal(result, MODEL.predict(SCORES, seed=3))
    assert fb.UniformMassBinning(4).fit(given, LABELS).model_ == fb.UniformMassBinning(4).fit(SCORES, LABELS).model_


def test_tables_of_several_columns_are_no_scores() -> None:
    for table in (*(hold(P) for hold in TABLES.values()), Stream(TABLES["Arrow"](P))):
        told = "InputTypeError: Stream has 3 columns" if isinstance(table, Stream) else "InputTypeError scores: must be one"
        refuses(told, MODEL.predict, table)


def test_what_is_lazy_is_refused() -> None:
    lazy = pl.DataFrame({"p": SCORES}).lazy()
    for call in (lambda: MODEL.predict(lazy), lambda: fb.UniformMassBinning(1).fit(lazy, LABELS)):
        refuses("InputTypeError scores", call)


def test_cells_and_labels_in_any_frame() -> None:
    for values in (CELLS, (CELLS == "north").astype(np.int64)):
        models = dict.fromkeys(set(values.tolist()), MODEL)
        expected = fb.ModelSet(models).find(values)
        for name, frame in FRAMES.items():
            if name != "pandas of Arrow" or values.dtype != object:
                assert np.array_equal(fb.ModelSet(models).find(frame.hold(values)), expected), name
    series = pd.Series(CELLS)
    for categorical in (
        series.astype("category"), series.astype("category").array, series.astype("string"),
        series.astype(pd.ArrowDtype(pa.string())),
        pl.Series(CELLS.tolist(), dtype=pl.Categorical), pl.Series(CELLS.tolist(), dtype=pl.Enum(["south", "north"])),
        pa.array(CELLS).dictionary_encode(), chunked(CELLS).dictionary_encode(),
    ):  # fmt: skip
        assert np.array_equal(SET.find(categorical), SET.find(CELLS))
    words = np.where(LABELS == 1, "yes", "no").astype(object)
    for name in ("pandas", "pandas frame", "Polars", "Polars in chunks", "Arrow", "Arrow in chunks"):
        fitted = fb.UniformMassBinning(4).fit(SCORES, FRAMES[name].hold(words), positive="yes")
        assert fitted.model_.event == "yes"
        assert bare(fitted.model_) == bare(fb.UniformMassBinning(4).fit(SCORES, LABELS).model_)


@pytest.mark.parametrize(
    "program",
    [
        "import pandas as pd; result = model.predict(pd.Series([.1, .9], ['a', 'b'])); assert list(result.index) == ['a', 'b']",
        "import polars as pl; assert model.predict(pl.Series([.1, .9])).to_list() == model.predict([.1, .9]).tolist()",
        "import polars as pl; assert model.predict_interval(pl.DataFrame({'p': [.1, None]}), nan='propagate').shape == (2, 2)",
        "assert model.predict([.1, .9]).shape == (2,) and not {'pandas', 'polars', 'pyarrow'} & set(sys.modules) - {'pyarrow'}",
    ],
    ids=["pandas", "Polars", "Polars with nulls", "none"],
)
def test_one_library_is_enough(program: str) -> None:
    """Without PyArrow, and without an import of what was not given."""
    head = "import sys; sys.modules['pyarrow'] = None; import fastbin as fb"
    result = run_python("-c", f"{head}\nmodel = fb.BinnedModel.from_bytes({MODEL.to_bytes()!r})\n{program}")
    assert result.returncode == 0, result.stderr


# ------------------------------------------------------------------------------------------------- integers of 128 bits


@pytest.mark.parametrize("name", ["Int128", "UInt128"])
def test_integers_of_128_bits_are_integers(name: str) -> None:
    """NumPy has none, so Polars makes no array of them; ids of this width are the usual way to hold a UUID."""
    if not hasattr(pl, name):
        pytest.skip(f"Polars has no {name}")
    labels, weights, cells = (pl.Series(column).cast(getattr(pl, name)) for column in (LABELS, LABELS + 1, LABELS))
    fit = fb.UniformMassBinning(4).fit
    assert fit(SCORES, labels, weights).model_ == fit(SCORES, LABELS, LABELS + 1).model_
    assert MODEL.predict(labels).to_list() == MODEL.predict(LABELS.astype(float)).tolist()
    fit_cells = fb.multi.SegmentedBinning(fb.UniformMassBinning(1)).fit
    assert fit_cells(SCORES, LABELS, cells).model_ == fit_cells(SCORES, LABELS, LABELS).model_
    refuses("InputError labels[1]: is null", fit, SCORES[:2], pl.Series([0, None]).cast(getattr(pl, name)))
    ids = [2**100 + 1, 17]
    assert fb.hash_keys(pl.Series(ids, dtype=getattr(pl, name)), "salt").tolist() == fb.hash_keys(ids, "salt").tolist()
