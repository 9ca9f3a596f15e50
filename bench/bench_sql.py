"""SQL in engines of this process, on one thread, beside `predict` on an array, and beside a Python function in the same engine.

A query gives the sum of all values, so that no rows have to be fetched; its answers are checked before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import cases
import export_cases
import numpy as np
import pytest
from cases import rows
from figures import Quantity
from measure import Contestant, paired

import fastbin as fb

N_FIT = 200_000

# What one would write in Python: a function that an engine calls with batches of scores, or with one score at a time. Both
# call fastbin here, so this is the cost of leaving the engine; it is a gain where scores go in batches and Python is there.
FUNCTION_TO_EXPORT = {kind: Quantity(f"a Python function of {kind} / export") for kind in ("batches", "rows")}


@dataclass(frozen=True)
class SqlCase:
    """Uniform scores in a table of the engine, on one thread."""

    engine: str
    style: str
    n_bins: int
    n_rows: int = 10**6
    is_short: bool = False

    @property
    def name(self) -> str:
        return f"{self.engine} {self.style}, B = {self.n_bins}"


SQL = [
    SqlCase("DuckDB", "tree", 10, is_short=True), SqlCase("DuckDB", "tree", 100, is_short=True),
    SqlCase("DuckDB", "tree", 1000), SqlCase("DuckDB", "auto", 100), SqlCase("DuckDB", "auto", 1000, is_short=True),
    SqlCase("DuckDB", "join", 100), SqlCase("DuckDB", "join", 1000, is_short=True),
    SqlCase("Polars", "tree", 10), SqlCase("Polars", "tree", 100, is_short=True),
    SqlCase("SQLite", "tree", 100, n_rows=10**5, is_short=True), SqlCase("SQLite", "join", 1000, n_rows=10**5),
]  # fmt: skip


class Built(NamedTuple):
    """What is timed, the values that it gives, and how others would do it."""

    score: Contestant
    values: Callable[[], np.ndarray]
    functions: dict[str, Contestant]


class Task(NamedTuple):
    model: fb.BinnedModel
    made: str | fb.export.SqlTables
    scores: np.ndarray

    @property
    def statements(self) -> tuple[str, ...]:
        return () if isinstance(self.made, str) else self.made.table

    @property
    def query(self) -> str:
        return f"SELECT i, {self.made} AS fastbin_value FROM scores" if isinstance(self.made, str) else self.made.query


@contextmanager
def _duckdb(task: Task) -> Iterator[Built]:
    import duckdb
    import pyarrow as pa

    def of_batch(scores: Any) -> Any:
        return pa.array(task.model.predict(scores.to_numpy()))

    with duckdb.connect(config={"threads": 1}) as connection:
        given = pa.table({"i": np.arange(len(task.scores)), "p": task.scores})  # noqa: F841 - read by name
        connection.execute("CREATE TABLE scores AS SELECT * FROM given")
        for statement in task.statements:
            connection.execute(statement)
        connection.create_function("of_batch", of_batch, ["DOUBLE"], "DOUBLE", type="arrow")
        connection.create_function("of_row", lambda score: task.model.predict_one(score), ["DOUBLE"], "DOUBLE")

        def ask(query: str) -> Any:
            return connection.execute(query).fetchall()

        yield Built(
            partial(ask, f"SELECT sum(fastbin_value) FROM ({task.query})"),
            lambda: connection.execute(f"SELECT fastbin_value FROM ({task.query}) ORDER BY i").fetchnumpy()["fastbin_value"],
            {
                "batches": partial(ask, "SELECT sum(of_batch(p)) FROM scores"),
                "rows": partial(ask, "SELECT sum(of_row(p)) FROM scores"),
            },
        )


@contextmanager
def _sqlite(task: Task) -> Iterator[Built]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE scores (i INTEGER PRIMARY KEY, p REAL)")
    connection.executemany("INSERT INTO scores VALUES (?, ?)", enumerate(task.scores.tolist()))
    for statement in task.statements:
        connection.execute(statement)
    connection.create_function("of_row", 1, task.model.predict_one, deterministic=True)

    def ask(query: str) -> Any:
        return connection.execute(query).fetchall()

    yield Built(
        partial(ask, f"SELECT sum(fastbin_value) FROM ({task.query})"),
        lambda: np.array(ask(f"SELECT fastbin_value FROM ({task.query}) ORDER BY i"))[:, 0],
        {"rows": partial(ask, "SELECT sum(of_row(p)) FROM scores")},
    )
    connection.close()


@contextmanager
def _polars(task: Task) -> Iterator[Built]:
    import polars as pl

    frame = pl.DataFrame({"p": task.scores})
    expression = pl.sql_expr(str(task.made))
    function = pl.col("p").map_batches(lambda scores: pl.Series(task.model.predict(scores.to_numpy())), return_dtype=pl.Float64)
    yield Built(
        partial(frame.select, expression.sum()),
        lambda: frame.select(expression).to_series().to_numpy(),
        {"batches": partial(frame.select, function.sum())},
    )


ENGINES = {"DuckDB": _duckdb, "SQLite": _sqlite, "Polars": _polars}


@pytest.mark.parametrize("case", SQL, ids=lambda case: case.name)
def bench_sql(case: SqlCase, is_long: bool, benchmark, report) -> None:
    if not is_long and not case.is_short:
        pytest.skip("only with --long")
    model = fb.UniformMassBinning(case.n_bins).fit(*rows("uniform", N_FIT)).model_
    scores = np.random.default_rng(12).random(case.n_rows)
    made = fb.export.sql(model, dialect=case.engine.lower(), style=case.style)
    with ENGINES[case.engine](Task(model, made, scores)) as built:
        expected, out = model.predict(scores), np.empty(case.n_rows)
        assert np.array_equal(np.asarray(built.values()).view(np.uint64), expected.view(np.uint64))
        for call in built.functions.values():
            call()
        predict = partial(model.predict, scores, out=out)
        timed = paired({"predict": predict, "export": built.score, **built.functions}, seconds=6 if is_long else 1.5)
        report(case.name, cases.SCORE_NS, 1e9 * timed.seconds("export") / case.n_rows)
        report(case.name, export_cases.EXPORT_TO_PREDICT, timed.ratio("export", to="predict"))
        for kind in built.functions:
            report(case.name, FUNCTION_TO_EXPORT[kind], timed.ratio(kind, to="export"))
        benchmark.pedantic(built.score, rounds=2)
