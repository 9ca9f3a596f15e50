"""Vectors in engines: the bits of `predict` where rows stream, its values but for the last bits in SQL, and refusals."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from unit.engines.test_predicting import ENGINES, EVERY_ENGINE
from wordings import refused, refuses

import fastbin as fb

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

Array = npt.NDArray[Any]

# Ties leave fewer bins than asked for, and of every set its fit says so.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

# Names that break what does not quote them.
SCORES = ['the "cat", 1', "select", "o'cow`s"]
CLASSES = ["cat", "dog's", 'a "cow"']
IN_SQL = ("duckdb",)
CLOSE = 1e-12


@cache
def fitted(keep_top: bool = False) -> fb.multi.VectorCalibration:
    rng = np.random.default_rng(0)
    P = rng.dirichlet([0.5, 0.5, 0.5], 800)
    truth = ((P + 0.2).cumsum(axis=1) > 1.6 * rng.random((800, 1))).argmax(axis=1)
    calibrator = fb.UniformMassBinning(10)
    cal = fb.multi.VectorCalibration(keep_top=keep_top, calibrator=calibrator, classes=CLASSES)
    return cal.fit(P, np.array(CLASSES)[truth])


def rows_of(n: int = 2000) -> Array:
    P = np.random.default_rng(1).dirichlet([0.4, 0.4, 0.4], n)
    P[0], P[1:4] = 1.0 / 3.0, np.eye(3)
    return P


def columns_of(P: Array) -> dict[str, Any]:
    return dict(zip(SCORES, P.T, strict=True))


def predicted(engine: str, columns: dict[str, Any], model: Any, **options: Any) -> Array:
    """float64 (n, k): the new columns in the order of the rows; NaN where a row has no answer."""
    names = [f"{options.get('output', 'probability')}_{name}" for name in CLASSES]
    n_rows = len(next(iter(columns.values())))
    table = ENGINES[engine].make(pa.table({**columns, "row": np.arange(n_rows, dtype=float)}))
    found = fb.engines.predict(table, model, score=SCORES, **options)
    return np.stack(ENGINES[engine].read(found, *names), axis=1)


@EVERY_ENGINE
@pytest.mark.parametrize("keep_top", [False, True])
def test_vectors_are_those_of_the_model(engine: str, keep_top: bool) -> None:
    P, model = rows_of(), fitted(keep_top).model_
    values = predicted(engine, columns_of(P), model, output="q")
    if engine in IN_SQL:
        np.testing.assert_allclose(values, model.predict(P), rtol=CLOSE, atol=0.0)
    else:
        np.testing.assert_array_equal(values, model.predict(P))


@EVERY_ENGINE
def test_rows_without_an_answer_get_none(engine: str) -> None:
    rows = [[0.5, 0.25, 0.25], [np.nan, 0.5, 0.5], [-0.125, 0.625, 0.5], [0.5, 0.5, 0.125], [0.5, 0.5, 2e-6], [0.5, 0.5, 5e-7]]
    P = np.array([*rows, [1.125, -0.125, 0.0], [np.inf, 0.0, 0.0], [0.0, 0.0, 0.0]])
    columns = {name: pa.array(column, from_pandas=True) for name, column in columns_of(P).items()}
    values = predicted(engine, columns, fitted())
    answered = [True, False, False, False, False, True, False, False, False]
    np.testing.assert_array_equal(~np.isnan(values).all(axis=1), answered)
    np.testing.assert_array_equal(~np.isnan(values).any(axis=1), answered)
    np.testing.assert_allclose(values[0], fitted().model_.predict_one(P[0]), rtol=CLOSE)


@EVERY_ENGINE
def test_rows_of_float32_need_not_sum_as_exactly(engine: str) -> None:
    P = np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25005], [0.5, 0.25, 0.2503]], np.float32)
    values = predicted(engine, columns_of(P), fitted())
    np.testing.assert_array_equal(np.isnan(values).any(axis=1), [False, False, True])
    np.testing.assert_allclose(values[:2], fitted().model_.predict(P[:2]), rtol=CLOSE)
    mixed = {name: column.astype(float) if name == SCORES[0] else column for name, column in columns_of(P).items()}
    np.testing.assert_array_equal(np.isnan(predicted(engine, mixed, fitted())).any(axis=1), [False, True, True])


def test_a_stream_gives_a_stream() -> None:
    table = pa.table(columns_of(rows_of(100)))
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=30))
    found = fb.engines.predict(reader, fitted(), score=SCORES)
    assert isinstance(found, pa.RecordBatchReader)
    batches = list(found)
    assert [len(batch) for batch in batches] == [30, 30, 30, 10]
    assert batches[0].schema.names == [*SCORES, *(f"probability_{name}" for name in CLASSES)]


@pytest.mark.parametrize("engine", ["duckdb", "polars", "pandas", "arrow"])
def test_refusals(engine: str) -> None:
    table = ENGINES[engine].make(pa.table({**columns_of(rows_of(5)), "word": list("abcde"), "z_cat": np.ones(5)}))

    def predict(score: Any = SCORES, model: Any = None, **options: Any) -> None:
        fb.engines.predict(table, model or fitted(), score=score, **options)

    refuses("InputTypeError score", predict, SCORES[0])
    refuses("InputTypeError score", predict, {*SCORES})
    refuses("InputError score", predict, SCORES[:2])
    refuses("InputError score[2]", predict, [*SCORES[:2], "select"])
    refuses("InputTypeError score[1]", predict, [SCORES[0], 3, SCORES[2]])
    absent = [SCORES[0], "absent", "select"]
    refused(fb.InputError, r"^score\[1\] is 'absent', which is not a column of the table", predict, absent)
    refused(fb.InputTypeError, "word|holds", predict, [*SCORES[:2], "word"])
    refused(fb.InputError, "^cell is 'select', and model maps whole rows", predict, cell="select")
    refused(fb.InputError, "^tie_key is 'select', and model maps whole rows", predict, tie_key="select")
    refused(fb.InputError, "^output is 'z', and the table has a column 'z_cat' already", predict, output="z")
    refused(fb.InputTypeError, "^output is ''", predict, output="")


def test_names_that_are_the_classes_stand_in_their_order() -> None:
    P = rows_of(50)
    table = pd.DataFrame(P, columns=CLASSES)
    found = fb.engines.predict(table, fitted(), score=table.columns)
    np.testing.assert_array_equal(found.iloc[:, 3:], fitted().model_.predict(P))
    refuses("InputError score", fb.engines.predict, table, fitted(), score=[CLASSES[1], CLASSES[0], CLASSES[2]])


def test_classes_that_differ_in_case_alone() -> None:
    """Names of columns of DuckDB have no case."""
    P, rng = rows_of(300), np.random.default_rng(2)
    names = np.array(["a", "A", "b"])
    cal = fb.multi.VectorCalibration(calibrator=fb.UniformMassBinning(4), classes=list(names))
    cal.fit(P, names[rng.integers(0, 3, 300)])
    table = pa.table(columns_of(P))
    assert fb.engines.predict(table, cal, score=SCORES).column_names[3:] == ["probability_a", "probability_A", "probability_b"]
    relation = duckdb.cursor().from_arrow(table)
    refused(fb.InputError, "differ in their case alone", fb.engines.predict, relation, cal, score=SCORES)


def test_sql_has_fifty_classes_at_most() -> None:
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(51, 0.5), 600)
    truth = np.append(np.arange(51), rng.integers(0, 51, 549))
    cal = fb.multi.VectorCalibration(calibrator=fb.UniformMassBinning(2)).fit(P, truth)
    names = [f"p{at}" for at in range(51)]
    table = pa.table(dict(zip(names, P.T, strict=True)))
    relation = duckdb.cursor().from_arrow(table)
    refused(fb.InputError, "has 51 classes, and SQL has at most 50", fb.engines.predict, relation, cal, score=names)
    found = fb.engines.predict(relation.to_arrow_reader(), cal, score=names).read_all()
    np.testing.assert_array_equal(np.stack(found.columns[51:], axis=1), cal.model_.predict(P))


def test_other_functions_refuse_vectors() -> None:
    table = pd.DataFrame({**columns_of(rows_of(5)), "y": 1})
    for function, options in ((fb.engines.count, {}), (fb.engines.assess, {"label": "y"})):
        refused(fb.InputTypeError, "^model is of type Vector", function, table, fitted(), score="select", **options)
    calibrator = fb.multi.VectorCalibration()
    told = "calibrator is of type VectorCalibration, which takes all rows in memory"
    refused(fb.InputTypeError, told, fb.engines.fit, table, score="select", label="y", calibrator=calibrator)
