"""Sets of models as SQL: a table and its query give every bit of `ModelSet.predict`; the names that may stand after FROM."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from exported import model_of
from sql_engines import AWKWARD, INTEGERS, WITH_NUL, answers_of, check_set, mixed_set, n_differing

import fastbin as fb
from fastbin.export.dialects import DIALECTS
from fastbin.export.form import digest_of

dialects = pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])


@pytest.mark.sampled
@dialects
@pytest.mark.parametrize("unknown", ["refuse", "pool"])
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("kind", [int, str])
def test_sets_give_all_bits(engine: Any, kind: type, keyed: bool, unknown: str) -> None:
    keys = INTEGERS if kind is int else AWKWARD + WITH_NUL
    check_set(engine, mixed_set(keys, keyed=keyed, unknown=unknown), 4000)


@pytest.mark.slow
@dialects
@pytest.mark.parametrize("keyed", [False, True])
def test_sets_give_all_bits_of_a_million(engine: Any, keyed: bool) -> None:
    check_set(engine, mixed_set(AWKWARD + WITH_NUL, keyed=keyed, unknown="pool"), 1_000_000)


@pytest.mark.sampled
@dialects
@pytest.mark.parametrize("lookup", ["range", "seek"])
@pytest.mark.parametrize("kind", [int, str])
def test_queries_of_other_engines(engine: Any, kind: type, lookup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The joins of Spark, BigQuery and Snowflake, and the subquery of PostgreSQL and SQLite, where they can be run here."""
    monkeypatch.setitem(DIALECTS, engine.dialect, replace(DIALECTS[engine.dialect], lookup=lookup, table_options=""))
    keys = INTEGERS if kind is int else AWKWARD
    check_set(engine, mixed_set(keys, keyed=True, unknown="pool"), 1000)
    for name in ("10 bins", "keys at zero", "clips at keys"):
        assert n_differing(engine, model_of(name), 1000, style="join") == 0


@dialects
def test_columns_of_our_tables_do_not_hide_those_of_users(engine: Any) -> None:
    """Names without a table before them mean the user's columns, whatever these are called."""
    models = mixed_set(["a", "b", "c", "d"], keyed=False, unknown="pool")
    names = ("value", "model", "lower", "upper", "cells", "answer")
    for name in names:
        engine.load({name: [0.25, 0.5], "cell": ["a", "z"]})
        made = fb.export.sql_set(models, name, cell="cell", dialect=engine.dialect, what="bin")
        bins = models.assign([0.25, 0.5], ["a", "z"])
        assert answers_of(engine, made, "bin") == bins.tolist() == [bins[0], -1]


@dialects
@pytest.mark.parametrize("kind", ["INTEGER", "REAL", "NUMERIC(4, 0)", "VARCHAR"])
def test_cells_of_another_type_are_found_once(engine: Any, kind: str) -> None:
    """In SQLite a column of integers would make an integer of each text that it is compared with: '01' is 1 then."""
    keys = ["1", "01", "1.0", "2"]
    models = mixed_set([*keys, "others", "more"], keyed=False, unknown="refuse")
    made = fb.export.sql_set(models, cell="cell", dialect=engine.dialect)
    engine.connection.execute(f"CREATE TABLE scores (i INTEGER, p DOUBLE, cell {kind})")
    engine.connection.execute("INSERT INTO scores VALUES (0, 0.25, 1), (1, 0.75, 2), (2, 0.75, 3), (3, 0.75, NULL)")
    found = answers_of(engine, made)
    assert len(found) == 4
    one, two = ("1.0", None) if kind == "REAL" else ("1", "2")
    assert found[0] == models[one].predict([0.25])[0]
    assert found[1] == (None if two is None else models[two].predict([0.75])[0])
    assert found[2:] == [None, None]


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_texts_are_no_cells_that_are_integers(engine: Any) -> None:
    models = mixed_set([1, 2, 3, 4], keyed=False, unknown="refuse")
    made = fb.export.sql_set(models, cell="cell", dialect="sqlite")
    engine.connection.execute("CREATE TABLE scores (i INTEGER, p REAL, cell)")
    engine.connection.execute("INSERT INTO scores VALUES (0, 0.25, 1), (1, 0.25, '01'), (2, 0.25, ' 1'), (3, 0.25, 1.0)")
    value = models[1].predict([0.25])[0]
    assert answers_of(engine, made) == [value, None, None, value]


@dialects
@pytest.mark.parametrize("n_models", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_models(engine: Any, n_models: int) -> None:
    """Statements stay small, and rows find their model among all others."""
    rng = np.random.default_rng(1)
    edges = np.sort(rng.random((n_models, 4)), axis=1)
    values = rng.random((n_models, 5))
    models = fb.ModelSet({
        number: fb.BinnedModel.from_parts(
            edges=edges[number], values=values[number], counts=[9] * 5, label_sums=[4] * 5, scheme="umd", n_samples=49
        )
        for number in range(n_models)
    })  # fmt: skip
    made = fb.export.sql_set(models, cell="cell", dialect=engine.dialect)
    assert max(map(len, made.table)) < 600_000
    assert len(made.table) <= 4 + 6 * n_models / (4096 if engine.dialect == "duckdb" else 128)
    cells, scores = rng.integers(0, n_models, 3000), rng.random(3000)
    engine.load({"p": scores, "cell": cells})
    assert answers_of(engine, made) == models.predict(scores, cells).tolist()


@dialects
def test_steps_of_one_answer_are_one_row(engine: Any) -> None:
    model = model_of("two resolutions")
    made = fb.export.sql_set(fb.ModelSet({1: model}), cell="cell", dialect=engine.dialect, what="bin")
    engine.run(made.table)
    ((rows,),) = engine.connection.execute(f"SELECT count(*) FROM {made.filled[0].name}").fetchall()
    assert rows <= model.n_bins < model.n_steps


def test_sets_tell_their_model() -> None:
    models = mixed_set([1, 2, 3, 4], keyed=False, unknown="pool")
    made = fb.export.sql_set(models, cell="cell", dialect="duckdb", table="main.risk")
    for text in (made.table[0], made.query):
        assert re.match(rf"/\* fastbin \S+, model sha256 {digest_of(models)}\n   4 cells, 3 models, ", text)
    assert all("main.risk_" in text for text in made.table)
    assert "main.risk_steps AS t" in made.query


UNKEYED = mixed_set([1, 2, 3, 4], keyed=False, unknown="pool")
SMOOTH = fb.BinnedModel.from_parts(edges=[], values=[], kind="smooth", map="logistic", map_parameters=(2.0, -0.5))


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        (UNKEYED[1], {}, r"models is one model; use sql, which writes one expression"),
        (UNKEYED, {"cell": ""}, r"cell is ''; pass an SQL expression"),
        (mixed_set([*range(12)], keyed=True, unknown="refuse"), {}, r"tie_key is missing"),
        (UNKEYED, {"tie_key": "k"}, r"tie_key is 'k', but the model compares no keys"),
        (UNKEYED, {"dialect": "polars"}, r"dialect is 'polars', which has no tables that last; score its"),
        (UNKEYED, {"dialect": "oracle"}, r"dialect is 'oracle'; choose one of"),
        (UNKEYED, {"table": "a b"}, r"table is 'a b'; pass a name"),
        (
            fb.ModelSet({"a\0b": UNKEYED[1]}), {"dialect": "postgresql"},
            r"models has the cell 'a\\x00b', and a text of PostgreSQL holds no NUL",
        ),
        (
            fb.ModelSet({"a\0b": UNKEYED[1]}), {"dialect": "ansi"},
            r"models has the cell 'a\\x00b', and a text of standard SQL holds no NUL",
        ),
        (fb.ModelSet({1: SMOOTH}), {}, r"model is of kind 'smooth'"),
    ],
)  # fmt: skip
def test_what_is_refused(models: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match=message):
        fb.export.sql_set(models, **{"cell": "cell", "dialect": "duckdb", **options})


NORTH = fb.ModelSet({"north": fb.BinnedModel.from_parts(edges=[0.5], values=[0.25, 0.75])})

TABLES = [
    "scores", "schema.scores", "catalog.schema.scores", "größen", "my-project.data.scores", '"two words"', '"a""b".c',
    "`my`.scores", "  scores\n", "a$1",
]  # fmt: skip
QUERIES = [
    "(SELECT * FROM scores)", "(SELECT ';' AS a, p FROM scores)", "(SELECT p FROM (SELECT 1 AS p) AS q WHERE (p) > 0)",
    "(SELECT 'it''s -- no comment /* here' AS a FROM \"odd;name\")", " (VALUES (1)) ", "(SELECT p - 1 FROM a WHERE p / 2 > 0)",
    "(SELECT * FROM read_parquet('scores.parquet'))",
]  # fmt: skip
OTHERS = [
    "", " ", "scores; DROP TABLE scores", "scores AS s, secrets", "scores--", "scores -- all", "two words", "1st", "a.", ".a",
    '""', "(SELECT 1); DROP TABLE a",
    "(SELECT 1; SELECT 2)", "(SELECT 1) AS a, (SELECT 2)", "(SELECT 1", "SELECT 1", "()) (", ")(",
    "(SELECT 1 -- ignored\n)", "(SELECT 1 /* ) */)", "(SELECT 'open)", '(SELECT "open)', "(SELECT 1))", "`open", "scores'",
    "a;b", 5, b"scores",
]  # fmt: skip


@pytest.mark.parametrize("source", [*TABLES, *QUERIES])
def test_one_table_or_one_query(source: str) -> None:
    made = fb.export.sql_set(NORTH, cell="region", dialect="duckdb", source=source)
    assert f"FROM {source.strip()} AS s" in made.query


@pytest.mark.parametrize("source", OTHERS)
def test_other_sources_are_refused(source: object) -> None:
    with pytest.raises(fb.InputError, match=r"source is .*; pass the name of the table that holds the scores, or a qu"):
        fb.export.sql_set(NORTH, cell="region", dialect="duckdb", source=source)  # type: ignore[arg-type]
    with pytest.raises(fb.InputError, match=r"source is .*; pass the name of the table that holds the scores, or a qu"):
        fb.export.sql(NORTH["north"], dialect="duckdb", style="join", source=source)  # type: ignore[call-overload]
