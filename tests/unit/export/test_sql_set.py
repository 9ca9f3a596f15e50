"""Sets of models as SQL: a table and its query give every bit of `ModelSet.predict`."""

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


@dialects
@pytest.mark.parametrize("unknown", ["refuse", "pool"])
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("kind", [int, str])
def test_sets_give_all_bits(engine: Any, kind: type, keyed: bool, unknown: str) -> None:
    keys = INTEGERS if kind is int else AWKWARD + WITH_NUL
    check_set(engine, mixed_set(keys, keyed=keyed, unknown=unknown), 4000)


@dialects
@pytest.mark.parametrize("lookup", ["range", "seek"])
@pytest.mark.parametrize("kind", [int, str])
def test_queries_of_other_engines(engine: Any, kind: type, lookup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The joins of Spark, BigQuery and Snowflake, and the subquery of PostgreSQL and SQLite, where they can be run here."""
    monkeypatch.setitem(DIALECTS, engine.dialect, replace(DIALECTS[engine.dialect], lookup=lookup))
    keys = INTEGERS if kind is int else AWKWARD
    check_set(engine, mixed_set(keys, keyed=True, unknown="pool"), 1000)
    for name in ("10 bins", "keys at zero", "clips at keys"):
        assert n_differing(engine, model_of(name), 1000, style="join") == 0


@pytest.mark.slow
@dialects
@pytest.mark.parametrize("keyed", [False, True])
def test_sets_give_all_bits_of_a_million(engine: Any, keyed: bool) -> None:
    check_set(engine, mixed_set(AWKWARD + WITH_NUL, keyed=keyed, unknown="pool"), 1_000_000)


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


def test_what_is_refused() -> None:
    models = mixed_set([1, 2, 3, 4], keyed=False, unknown="pool")
    keyed = mixed_set([*range(12)], keyed=True, unknown="refuse")
    with pytest.raises(fb.InputTypeError, match=r"models is one model; use sql, which writes one expression"):
        fb.export.sql_set(models[1], cell="cell", dialect="duckdb")
    with pytest.raises(fb.InputError, match=r"cell is ''; pass an SQL expression"):
        fb.export.sql_set(models, cell="", dialect="duckdb")
    with pytest.raises(fb.InputError, match=r"key is missing"):
        fb.export.sql_set(keyed, cell="cell", dialect="duckdb")
    with pytest.raises(fb.InputError, match=r"key is 'k', but the model compares no keys"):
        fb.export.sql_set(models, cell="cell", key="k", dialect="duckdb")
    with pytest.raises(fb.InputError, match=r"dialect is 'polars', which has no tables that last; score its"):
        fb.export.sql_set(models, cell="cell", dialect="polars")
    with pytest.raises(fb.InputError, match=r"dialect is 'oracle'; choose one of"):
        fb.export.sql_set(models, cell="cell", dialect="oracle")
    with pytest.raises(fb.InputError, match=r"table is 'a b'; pass a name"):
        fb.export.sql_set(models, cell="cell", dialect="duckdb", table="a b")
    with pytest.raises(fb.InputError, match=r"models has the cell 'a\\x00b', and a text of PostgreSQL holds no NUL"):
        fb.export.sql_set(fb.ModelSet({"a\0b": models[1]}), cell="cell", dialect="postgresql")
    smooth = fb.PlattScaling().fit([0.1, 0.9] * 30, [0, 1] * 15 + [1, 0] * 15)
    with pytest.raises(fb.InputError, match=r"model is of kind 'smooth'"):
        fb.export.sql_set(fb.ModelSet({1: smooth}), cell="cell", dialect="duckdb")
