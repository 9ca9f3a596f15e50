"""What may stand after FROM in the query of a set, and in that of one model: one table, or one query."""

from __future__ import annotations

import pytest

import fastbin as fb

MODELS = fb.ModelSet({"north": fb.BinnedModel.from_parts(edges=[0.5], values=[0.25, 0.75])})

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
    made = fb.export.sql_set(MODELS, cell="region", dialect="duckdb", source=source)
    assert f"FROM {source.strip()} AS s" in made.query


@pytest.mark.parametrize("source", OTHERS)
def test_anything_else_is_refused(source: object) -> None:
    with pytest.raises(fb.InputError, match=r"source is .*; pass the name of the table that holds the scores, or a qu"):
        fb.export.sql_set(MODELS, cell="region", dialect="duckdb", source=source)  # type: ignore[arg-type]
    with pytest.raises(fb.InputError, match=r"source is .*; pass the name of the table that holds the scores, or a qu"):
        fb.export.sql(MODELS["north"], dialect="duckdb", style="join", source=source)  # type: ignore[call-overload]
