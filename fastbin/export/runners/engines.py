"""SQL and ONNX: the engines that are Python packages here."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np

from fastbin._typing import Array
from fastbin.export.rows import Rows
from fastbin.export.runners.ran import CannotRun, Failed, Names, Ran


def run_sql(text: str, rows: Rows, names: Names) -> Ran:
    """The expression over a table whose columns have the names that the text uses."""
    runners: dict[str, Callable[[str, dict[str, Array]], Ran]] = {
        "duckdb": _in_duckdb, "sqlite": _in_sqlite, "polars": _in_polars,
    }  # fmt: skip
    if names.dialect is None:
        raise CannotRun("the text of SQL does not say its dialect; give it as dialect")
    if names.dialect not in runners:
        raise CannotRun(f"no engine for {names.dialect} runs here; {', '.join(runners)} do")
    columns: dict[str, Array] = {_plain(names.score): rows.scores}
    if rows.keys is not None:
        if names.key is None:
            raise CannotRun("the model compares keys; say by key how the text calls the column")
        columns[_plain(names.key)] = np.array([f"{key:016x}" for key in rows.keys.tolist()], object)
    ran = runners[names.dialect](text, columns)
    dtype = np.int32 if names.what == "bin" else np.float64
    return Ran(ran.engine, {names.what: ran.columns[""].astype(dtype)})


def _plain(name: str) -> str:
    """A column without its quotes."""
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] and name[0] in '"`' else name


def _filled(answers: list[Any]) -> Array:
    """NULL as NaN, and in a column of integers as -1."""
    is_whole = any(type(answer) is int for answer in answers)
    return np.array([(-1 if is_whole else np.nan) if answer is None else answer for answer in answers])


def _in_duckdb(text: str, columns: dict[str, Array]) -> Ran:
    try:
        import duckdb
        import pyarrow as pa
    except ImportError as error:
        raise CannotRun(f"{error.name} is not installed") from None
    table = pa.table({name: pa.array(column, from_pandas=False) for name, column in columns.items()})
    with duckdb.connect() as connection:
        connection.register("fastbin_rows", table)
        try:
            (answers,) = connection.sql(f"SELECT {text} AS answer FROM fastbin_rows").fetchnumpy().values()
        except duckdb.Error as error:
            raise Failed(f"DuckDB says: {error}") from None
    return Ran(f"DuckDB {duckdb.__version__}", {"": answers.filled(-1 if answers.dtype.kind == "i" else np.nan)})


def _in_sqlite(text: str, columns: dict[str, Array]) -> Ran:
    names = ", ".join(f'"{name}"' for name in columns)
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE TABLE fastbin_rows ({names})")
        marks = ", ".join("?" * len(columns))
        connection.executemany(
            f"INSERT INTO fastbin_rows VALUES ({marks})", zip(*(column.tolist() for column in columns.values()), strict=True)
        )
        answers = [answer for (answer,) in connection.execute(f"SELECT {text} FROM fastbin_rows ORDER BY rowid")]
    except sqlite3.Error as error:
        raise Failed(f"SQLite says: {error}") from None
    finally:
        connection.close()
    return Ran(f"SQLite {sqlite3.sqlite_version}", {"": _filled(answers)})


def _in_polars(text: str, columns: dict[str, Array]) -> Ran:
    try:
        import polars as pl
    except ImportError:
        raise CannotRun("polars is not installed") from None
    frame = pl.DataFrame({name: column.tolist() if column.dtype == object else column for name, column in columns.items()})
    try:
        answers = frame.select(pl.sql_expr(text).alias("answer"))["answer"]
    except pl.exceptions.PolarsError as error:
        raise Failed(f"Polars says: {error}") from None
    filled = answers.fill_null(-1 if answers.dtype.is_integer() else np.nan).to_numpy()
    return Ran(f"Polars {pl.__version__}", {"": np.asarray(filled)})


def run_onnx(graph: bytes, rows: Rows, names: Names) -> Ran:
    """The graph of a model, or of a set, alone."""
    try:
        import onnxruntime
    except ImportError:
        raise CannotRun("onnxruntime is not installed") from None
    try:
        session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own, which have no common base
        raise Failed(f"onnxruntime says: {error}") from None
    given = {"score": rows.scores, "key": rows.keys, "cell": rows.cells}
    inputs = {each.name: each for each in session.get_inputs()}
    if not set(inputs) <= set(given) or "score" not in inputs:
        raise CannotRun(f"the graph takes {', '.join(inputs)}: it stands behind a classifier; compare with onnx_scores there")
    feeds = {}
    for name, each in inputs.items():
        column = given[name]
        if column is None:
            raise Failed(f"the graph asks for {name}, which the model does not need")
        feeds[name] = column.reshape(-1, 1) if len(each.shape) == 2 else column
    properties = session.get_modelmeta().custom_metadata_map
    prefix = "fastbin.output."
    tensors = {name.removeprefix(prefix): tensor for name, tensor in properties.items() if name.startswith(prefix)}
    answers = session.run(list(tensors.values()), feeds)
    return Ran(
        f"onnxruntime {onnxruntime.__version__}",
        {output: np.asarray(column).reshape(-1) for output, column in zip(tensors, answers, strict=True)},
    )
