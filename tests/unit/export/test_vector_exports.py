"""Vector models as SQL and ONNX: the vectors of `predict` but for the last bits, the largest entry kept, and refusals."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx_graphs import properties, session_of
from sql_engines import EMBEDDED, Engine, Polars
from wordings import refused, refuses

import fastbin as fb
import fastbin.export

Array = npt.NDArray[Any]

# Ties leave fewer bins than asked for, and of every set its fit says so.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

# What the differences of the exponential and the logarithm of engines may come to, relative to a value.
CLOSE = 1e-12

CALIBRATORS = {"steps": fb.UniformMassBinning(40), "curves": fb.PlattScaling()}
CASES = [(2, True, "steps"), (3, True, "curves"), (4, False, "steps"), (7, True, "steps")]

cases = pytest.mark.parametrize(("k", "keep_top", "kind"), CASES)
dialects = pytest.mark.parametrize("dialect", EMBEDDED)


@cache
def fitted(k: int, keep_top: bool, kind: str = "steps") -> fb.multi.VectorCalibration:
    """Fitted to rows whose true chances favour the first class, so that the map changes the order of many rows."""
    rng = np.random.default_rng(k)
    P = rng.dirichlet(np.full(k, 0.5), 1000)
    chances = P + np.where(np.arange(k) == 0, 1.0, 0.1)
    truth = ((chances / chances.sum(axis=1, keepdims=True)).cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1)
    return fb.multi.VectorCalibration(keep_top=keep_top, calibrator=CALIBRATORS[kind]).fit(P, truth)


def rows_of(model: fb.multi.VectorModel, n: int = 300) -> Array:
    """Rows that are even, sure, at edges of the models, and any."""
    k = len(model.classes)
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.full(k, 0.4), n)
    P[0], P[1 : k + 1] = 1.0 / k, np.eye(k)
    for column, each in enumerate(model.models.values()):
        for at, edge in enumerate(each.edges[:20].tolist()):
            row = k + 1 + 20 * column + at
            P[row] = (1.0 - edge) / (k - 1)
            P[row, column] = edge
    return P


@pytest.mark.parametrize("written", ["{0}", '"{0}"', "`{0}`", 's."{0}"', " rows.{0} "])
def test_names_that_are_the_classes_stand_in_their_order(written: str) -> None:
    rng = np.random.default_rng(0)
    P, classes = rng.dirichlet(np.ones(3), 300), ["cat", "cow", "dog"]
    model = fb.multi.VectorCalibration(classes=classes, calibrator=fb.UniformMassBinning(4)).fit(P, rng.choice(classes, 300))
    fb.export.sql(model, [written.format(name) for name in classes], dialect="duckdb")
    fb.export.sql(model, ["z", "y", "x"], dialect="duckdb")  # which need not be the classes
    for prefix in ("", "p_"):
        moved = [written.format(prefix + name) for name in ("dog", "cat", "cow")]
        refuses("InputError score", fb.export.sql, model, moved, dialect="duckdb")


def columns_of(P: Array) -> dict[str, list[float]]:
    return {f"p{at}": column.tolist() for at, column in enumerate(P.T)}


def ask(engine: Any, query: str, k: int) -> Array:
    """The values of the query, which names its columns in its comment; NaN for NULL."""
    names = re.findall(r"(fastbin_value_\w+) is the probability", query)
    assert len(names) == k
    if isinstance(engine, Polars):
        return engine.context.execute(query).sort("i").select(names).to_numpy()
    return np.array(engine.execute(f"SELECT {', '.join(names)} FROM ({query}) ORDER BY i").fetchall(), np.float64)


def assert_are_vectors(values: Array, cal: fb.multi.VectorCalibration, P: Array, kind: str) -> None:
    np.testing.assert_allclose(values, cal.predict(P), rtol=CLOSE, atol=0.0)
    if not cal.keep_top or kind != "steps":
        return
    # The map without `keep_top` would move the largest entry of some rows, or the test would not see that it is kept.
    free = fitted(P.shape[1], False).predict(P)
    assert (free.argmax(axis=1) != P.argmax(axis=1)).mean() > 0.05
    np.testing.assert_array_equal(values.argmax(axis=1), P.argmax(axis=1))


@dialects
@cases
def test_sql_gives_the_vectors(engine: Engine, k: int, keep_top: bool, kind: str) -> None:
    cal = fitted(k, keep_top, kind)
    P = rows_of(cal.model_)
    engine.load(columns_of(P))
    values = ask(engine, fb.export.sql(cal, list(columns_of(P)), dialect=engine.dialect), k)
    assert_are_vectors(values, cal, P, kind)


@cases
@pytest.mark.parametrize("opset", [13, 18])
def test_onnx_gives_the_vectors(k: int, keep_top: bool, kind: str, opset: int) -> None:
    cal = fitted(k, keep_top, kind)
    P = rows_of(cal.model_)
    graph = fb.export.onnx(cal, opset=opset)
    (values,) = session_of(graph).run(["probability"], {"score": P})
    assert_are_vectors(values, cal, P, kind)
    found = properties(graph)
    assert (found["fastbin.kind"], found["fastbin.classes"]) == ("vector", str(list(range(k))))


@cache
def fifty_classes_and_one_more() -> tuple[Array, fb.multi.VectorCalibration, fb.multi.VectorCalibration]:
    """Rows of fifty classes, what was fitted to them, and to one class more."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(51, 0.5), 600)
    truth = np.append(np.arange(51), rng.integers(0, 51, 549))
    many = fb.multi.VectorCalibration(calibrator=fb.UniformMassBinning(4)).fit(P, truth)
    P, truth = P[:, :50] / P[:, :50].sum(axis=1, keepdims=True), np.minimum(truth, 49)
    most = fb.multi.VectorCalibration(keep_top=True, calibrator=fb.UniformMassBinning(4)).fit(P, truth)
    return P, most, many


@pytest.mark.parametrize("dialect", [name for name in EMBEDDED if name != "ansi"])  # which DuckDB runs as well, in a second
def test_fifty_classes_and_no_more(engine: Engine) -> None:
    P, most, many = fifty_classes_and_one_more()
    refuses("InputError model", fb.export.sql, many, [f"p{at}" for at in range(51)], dialect=engine.dialect)
    engine.load(columns_of(P[:20]))
    values = ask(engine, fb.export.sql(most, list(columns_of(P)), dialect=engine.dialect), 50)
    np.testing.assert_allclose(values, most.predict(P[:20]), rtol=CLOSE, atol=0.0)


@dialects
def test_rows_without_an_answer(engine: Engine) -> None:
    cal = fitted(4, False)
    P = np.full((5, 4), 0.25)
    P[1, 2], P[2, 0], P[3, 3] = np.nan, -1e-9, 1.0 + 1e-9
    columns = {name: [None if np.isnan(p) else p for p in column] for name, column in columns_of(P).items()}
    engine.load(columns)
    values = ask(engine, fb.export.sql(cal, list(columns), dialect=engine.dialect), 4)
    np.testing.assert_array_equal(np.isnan(values).all(axis=1), [False, True, True, True, False])
    np.testing.assert_array_equal(np.isnan(values).any(axis=1), [False, True, True, True, False])


@pytest.mark.parametrize("keep_top", [False, True])
def test_rows_without_an_answer_in_onnx(keep_top: bool) -> None:
    P = np.full((5, 7), 1.0 / 7.0)
    P[1, 2], P[2, 0], P[3, 3] = np.nan, -1e-9, np.inf
    (values,) = session_of(fb.export.onnx(fitted(7, keep_top))).run(["probability"], {"score": P})
    np.testing.assert_array_equal(np.isnan(values).all(axis=1), [False, True, True, True, False])
    np.testing.assert_array_equal(np.isnan(values).any(axis=1), [False, True, True, True, False])


def test_types_and_shapes_of_onnx() -> None:
    cal = fitted(4, False)
    P = rows_of(cal.model_)[:6].astype(np.float32)
    session = session_of(fb.export.onnx(cal, dtype="float32", shape=(2, "n")))
    (values,) = session.run(["probability"], {"score": P.reshape(2, 3, 4)})
    np.testing.assert_allclose(values.reshape(6, 4), cal.predict(P), rtol=CLOSE, atol=0.0)


def test_names_of_columns_rows_and_classes() -> None:
    """All columns of the source come along; classes that would share a name get numbers."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 300)

    def names(classes: list[str], **options: Any) -> list[str]:
        truth = np.array(classes)[np.append(np.arange(3), rng.integers(0, 3, 297))]
        cal = fb.multi.VectorCalibration(classes=classes).fit(P, truth)
        query = fb.export.sql(cal, ["0.5", "q", "q"], dialect="sqlite", source="(SELECT 7 AS id, 0.25 AS q)", **options)
        with closing(sqlite3.connect(":memory:")) as database:
            described = database.execute(query)
            row = described.fetchone()
        found = [each[0] for each in described.description]
        assert (found[0], row[0]) == ("id", 7)
        assert sum(row[-3:]) == pytest.approx(1.0)
        return found[-3:]

    assert names(["a", "b c", "Ü"]) == ["fastbin_value_a", "fastbin_value_b_c", "fastbin_value__"]
    assert names(["a", "b c", "b d"], output="y") == ["y_a", "y_b_c", "y_b_d"]
    assert names(["a", "b c", "b_C"], output="y") == ["y_1", "y_2", "y_3"]


def test_refusals() -> None:
    cal = fitted(2, True)

    def sql(score: Any = ("p", "q"), **options: Any) -> None:
        fb.export.sql(cal, score, dialect="duckdb", **options)

    refuses("InputTypeError score", sql, "p")
    refuses("InputError score", sql, ["p"])
    refused(fb.InputTypeError, r"^score\[1\] is 3", sql, ["p", 3])
    refuses("InputError what", sql, what="bin")
    refuses("InputError style", sql, style="join")
    refuses("InputError table", sql, table="t")
    refused(fb.InputError, "^tie_key is 'k'", sql, tie_key="k")
    refused(fb.InputError, r"^alpha is 0\.1", sql, alpha=0.1)
    refuses("InputError outputs[1]", fb.export.onnx, cal, outputs=("value", "bin"))


@pytest.mark.parametrize("is_fitted", [False, True])
def test_other_exports_refuse_vector_models(is_fitted: bool) -> None:
    model = fitted(2, True) if is_fitted else fitted(2, True).model_
    for export, options in (("java", {"name": "A"}), ("c_source", {"name": "a"}), ("javascript", {})):
        refuses("InputTypeError model: is a VectorModel", getattr(fb.export, export), model, **options)
    refuses("InputTypeError model: is a VectorModel", fb.export.append_onnx, b"", model)
    refuses("InputTypeError models: is a VectorModel", fb.export.sql_set, model, cell="c", dialect="duckdb")


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_two_models_run_one_over_the_answer_of_the_other(dialect: str) -> None:
    """As champion and challenger do; the second one read the results of the steps of the first."""
    first, second = fitted(3, True, "curves"), fitted(3, True, "steps")
    P = rows_of(first.model_, 50)
    columns = list(columns_of(P))
    connection = pytest.importorskip("duckdb").connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
    with closing(connection):
        connection.execute(f"CREATE TABLE scores ({', '.join(f'{name} DOUBLE PRECISION' for name in columns)})")
        connection.executemany("INSERT INTO scores VALUES (?, ?, ?)", P.tolist())
        connection.execute(f"CREATE TABLE scored AS {fb.export.sql(first, columns, dialect=dialect)}")
        query = fb.export.sql(second, columns, dialect=dialect, source="scored", output="second")
        found = connection.execute(f"SELECT p0, p1, p2, second_0, second_1, second_2 FROM ({query}) AS q").fetchall()
    rows, values = np.hsplit(np.array(found, np.float64), 2)
    np.testing.assert_allclose(values, second.predict(rows), rtol=CLOSE, atol=0.0)
    assert abs(values - first.predict(rows)).max() > 0.01
