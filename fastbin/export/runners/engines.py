"""SQL and ONNX: the engines that are Python packages here."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array
from fastbin._base.dependencies import needed_for
from fastbin.export.onnx import ALPHA_KEY, OUTPUT_KEY
from fastbin.export.rows import RowsToScore
from fastbin.export.runners.ran import CannotRun, Failed, Ran, SqlNames

SOURCES = re.compile(r'[A-Za-z_]\w*|"(?:[^"]|"")+"')
ROW, ANSWER = "fastbin_row", "fastbin_answer"


class _Sql(NamedTuple):
    """What is run: statements first, then a query that has the answers in the column of this name, in any order."""

    statements: list[str]
    query: str
    answer: str
    source: str
    columns: dict[str, Array]


def run_sql(text: str, rows: RowsToScore, names: SqlNames) -> Ran:
    """An expression, or tables and a query, over a table whose columns have the names that the text uses."""
    runners = {"duckdb": _in_duckdb, "sqlite": _in_sqlite, "polars": _in_polars}
    if names.dialect is None:
        raise CannotRun("the text of SQL does not say its dialect; give it as dialect")
    if names.dialect not in runners:
        raise CannotRun(f"no engine for {names.dialect} runs here; {', '.join(runners)} do")
    if not SOURCES.fullmatch(names.source):
        raise CannotRun(f"the table of scores is {names.source}; only plain names are tried here")
    columns: dict[str, Array] = {_plain(names.score): rows.scores}
    for name, column, what in ((names.key, rows.keys, "key"), (names.cell, rows.cells, "cell")):
        if column is None:
            continue
        if name is None:
            raise CannotRun(f"the rows have a {what}; say by {what} how the text calls its column")
        columns[_plain(name)] = np.array([f"{key:016x}" for key in column.tolist()], object) if what == "key" else column
    columns[ROW] = np.arange(len(rows))
    *statements, last = _statements(text)
    is_script = bool(statements)
    query = last if is_script else f"SELECT {ROW}, {text} AS {ANSWER} FROM {names.source} AS s"
    answer = names.answer or names.what if is_script else ANSWER
    ran = runners[names.dialect](_Sql(statements, query, answer, names.source, columns))
    try:
        column = ran.columns[answer].astype(np.int32 if names.what == "bin" else np.float64)
    except (TypeError, ValueError):
        raise Failed(f"it gives {ran.columns[answer].dtype} for {names.what}, and numbers are expected") from None
    return Ran(ran.engine, {names.what: column})


def _sqlite() -> Any:
    """Python's own module, which some builds of Python leave out."""
    try:
        import sqlite3
    except ImportError:
        raise CannotRun("this Python has no sqlite3") from None
    return sqlite3


def _statements(text: str) -> list[str]:
    """The statements of a script; SQLite knows where one ends, whatever comments and texts hold."""
    sqlite3, found, lines = _sqlite(), [], ""
    for line in text.splitlines(keepends=True):
        lines += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(lines):
            found.append(lines)
            lines = ""
    return [*found, lines] if lines.strip() else found


def _plain(name: str) -> str:
    """A name without its quotes, of which two stand for one within."""
    if len(name) > 1 and name[0] == name[-1] and name[0] in '"`':
        return name[1:-1].replace(2 * name[0], name[0])
    return name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _in_order(at: Any, answers: list[Any]) -> Array:
    """Answers in the order of their rows: NULL as NaN, and in a column of integers as -1."""
    is_whole = any(type(answer) is int for answer in answers)
    column = np.array([(-1 if is_whole else np.nan) if answer is None else answer for answer in answers])
    order = np.argsort(np.asarray(at, np.int64), kind="stable")
    if not np.array_equal(np.asarray(at)[order], np.arange(len(column))):
        raise Failed("the query does not give each row once")
    return column[order]


def _in_duckdb(sql: _Sql) -> Ran:
    with needed_for("runs in DuckDB", extra="engines"):
        import duckdb
        import pyarrow as pa
    table = pa.table({name: pa.array(column, from_pandas=False) for name, column in sql.columns.items()})
    with duckdb.connect() as connection:
        connection.register(_plain(sql.source), table)
        # The text may come from others: it computes, and opens no files, extensions or databases.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        try:
            for statement in sql.statements:
                connection.execute(statement)
            given = connection.execute(f"SELECT {ROW}, {sql.answer} FROM ({sql.query.rstrip().rstrip(';')})").fetchnumpy()
        except duckdb.Error as error:
            raise Failed(f"DuckDB says: {error}") from None
    answers = np.ma.filled(given[sql.answer], -1 if given[sql.answer].dtype.kind == "i" else np.nan)
    return Ran(f"DuckDB {duckdb.__version__}", {sql.answer: _in_order(given[ROW], answers.tolist())})


def _in_sqlite(sql: _Sql) -> Ran:
    sqlite3, names = _sqlite(), ", ".join(map(_quoted, sql.columns))
    refused = sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_PRAGMA
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE TABLE {sql.source} ({names})")
        marks = ", ".join("?" * len(sql.columns))
        columns = (column.tolist() for column in sql.columns.values())
        connection.executemany(f"INSERT INTO {sql.source} VALUES ({marks})", zip(*columns, strict=True))
        # As in DuckDB. To write a database to a file (VACUUM INTO), SQLite attaches it.
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action in refused else sqlite3.SQLITE_OK)
        for statement in sql.statements:
            connection.execute(statement)
        query = f"SELECT {ROW}, {sql.answer} FROM ({sql.query.rstrip().rstrip(';')})"
        given = connection.execute(query).fetchall()
    except sqlite3.Error as error:
        raise Failed(f"SQLite says: {error}") from None
    finally:
        connection.close()
    return Ran(
        f"SQLite {sqlite3.sqlite_version}", {sql.answer: _in_order([row[0] for row in given], [row[1] for row in given])}
    )


def _in_polars(sql: _Sql) -> Ran:
    with needed_for("runs in Polars", package="polars"):
        import polars as pl
    if sql.statements:
        raise CannotRun("Polars has no tables that last")
    columns = {name: column.tolist() if column.dtype == object else column for name, column in sql.columns.items()}
    try:
        given = pl.SQLContext({_plain(sql.source): pl.DataFrame(columns)}).execute(sql.query, eager=True)
    except pl.exceptions.PolarsError as error:
        raise Failed(f"Polars says: {error}") from None
    return Ran(f"Polars {pl.__version__}", {sql.answer: _in_order(given[ROW], given[sql.answer].to_list())})


def run_onnx(graph: bytes, rows: RowsToScore, names: SqlNames) -> Ran:
    """The graph of a model, or of a set, alone."""
    with needed_for("runs of ONNX graphs", extra="onnx"):
        import onnxruntime
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
    tensors = {name.removeprefix(OUTPUT_KEY): tensor for name, tensor in properties.items() if name.startswith(OUTPUT_KEY)}
    if not tensors:
        raise Failed(f"the graph has no property {OUTPUT_KEY}value or the like, which says what its outputs are")
    try:
        answers = session.run(list(tensors.values()), feeds)
    except Exception as error:  # as above; an input of another type, an output that it does not have
        raise Failed(f"onnxruntime says: {error}") from None
    columns = {output: np.asarray(column).reshape(-1) for output, column in zip(tensors, answers, strict=True)}
    alpha = properties.get(ALPHA_KEY)
    return Ran(f"onnxruntime {onnxruntime.__version__}", columns, None if alpha is None else float(alpha))
