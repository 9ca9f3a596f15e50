"""SQL that cannot be run here, for BigQuery and Snowflake, by the rules of their documents; literals of other dialects.

That the structure is right is tested where it runs: these texts differ from those of DuckDB in the words of `Dialect` alone,
and their joins are run in `test_sql_set.py`. Nothing here shows that BigQuery or Snowflake accept them.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from exported import model_of
from sql_engines import AWKWARD, WITH_NUL, mixed_set

import fastbin as fb
from fastbin.export.dialects import DIALECTS, bigquery_bytes, clickhouse_text, mysql_text, snowflake_text

DOUBLE = r"-?\d\.\d{16}e[+-]\d{2,3}"
NOT_RUN = ("bigquery", "snowflake")


def in_words_of_duckdb(text: str, dialect: str) -> str:
    """An expression with the words of DuckDB in place of those of its own dialect."""
    if dialect == "snowflake":
        text = re.sub(rf"CAST\('({DOUBLE})' AS DOUBLE\)", r"\1", text)
        return re.sub(r"COLLATE\((\w+), 'utf8'\)", r'\1 COLLATE "C"', text)
    text = re.sub(r"CAST\((\w+) AS BYTES\)", r'\1 COLLATE "C"', text.replace(" AS FLOAT64)", " AS DOUBLE)"))
    return re.sub(r"b('[0-9a-f]*')", r"\1", text)


@pytest.mark.parametrize("dialect", NOT_RUN)
@pytest.mark.parametrize("name", ["1 bins", "10 bins", "100 bins, keys", "subnormal edges", "two resolutions", "clips at keys"])
@pytest.mark.parametrize("what", ["value", "bin"])
def test_expressions_are_those_of_duckdb_in_other_words(dialect: str, name: str, what: str) -> None:
    model = model_of(name)
    key = "k" if model.needs_key else None
    expression = fb.export.sql(model, tie_key=key, dialect=dialect, what=what, style="tree")
    about, _, expression = expression.partition(" */\n")
    assert about.endswith(f"dialect {dialect}, gives {what}")
    of_duckdb = fb.export.sql(model, tie_key=key, dialect="duckdb", what=what, style="tree").partition(" */\n")[2]
    assert in_words_of_duckdb(expression, dialect) == of_duckdb


def test_doubles_of_bigquery_are_float64() -> None:
    """A literal with a point or an exponent is a FLOAT64 there; NUMERIC needs a word before it."""
    assert re.fullmatch(DOUBLE, DIALECTS["bigquery"].number(0.1))
    assert "CAST(p AS FLOAT64)" in fb.export.sql(model_of("10 bins"), dialect="bigquery")


def test_doubles_of_snowflake_are_cast_from_texts() -> None:
    """A bare literal is a fixed-point number of at most 38 digits there, which is another number."""
    expression = fb.export.sql(model_of("subnormal edges"), dialect="snowflake").partition("*/")[2]
    assert re.search(r"CAST\('\d\.\d{16}e-31\d' AS DOUBLE\)", expression)
    assert not re.search(r"(?<!')" + DOUBLE, expression)


def read_bigquery(literal: str) -> str:
    """The value of a bytes literal: printable characters as they are, others as a backslash, x, and two digits."""
    assert re.fullmatch(r"b'([A-Za-z0-9 _-]|\\x[0-9a-f]{2})*'", literal)
    return re.sub(rb"\\x(..)", lambda found: bytes([int(found[1], 16)]), literal[2:-1].encode()).decode()


def read_snowflake(literal: str) -> str:
    """The value of a text in single quotes: two quotes are one, and a backslash begins an escape."""
    inner = literal[1:-1]
    assert literal[0] == literal[-1] == "'"
    assert re.fullmatch(r"([^'\\\x00-\x1f\x7f]|''|\\u[0-9a-f]{4})*", inner)
    return re.sub(r"\\u(....)|''", lambda found: chr(int(found[1], 16)) if found[1] else "'", inner)


def read_clickhouse(literal: str) -> str:
    """As that of Snowflake, with escapes of two digits."""
    return read_snowflake(re.sub(r"\\x(..)", r"\\u00\1", literal))


def read_mysql(literal: str) -> str:
    """Letters and digits in quotes, or the digits of bytes."""
    found = re.fullmatch(r"'([A-Za-z0-9]*)'|x'((?:[0-9a-f]{2})+)'", literal)
    assert found is not None
    return found[1] if found[2] is None else bytes.fromhex(found[2]).decode()


@pytest.mark.parametrize("text", [*AWKWARD, *WITH_NUL, "\x7f", "\u2028"])
def test_texts_are_read_back(text: str) -> None:
    assert read_bigquery(bigquery_bytes(text)) == text
    assert read_snowflake(snowflake_text(text)) == text
    assert read_clickhouse(clickhouse_text(text)) == text
    assert read_mysql(mysql_text(text)) == text


def test_spark_has_nothing_to_replace() -> None:
    """It puts the value of a setting in the place of ${name}, in texts, too."""
    models = fb.ModelSet(dict.fromkeys(["${spark.master}", "a${b}", "$"], model_of("2 bins")))
    made = fb.export.sql_set(models, cell="c", dialect="spark")
    text = "\n".join([*made.table, made.query])
    assert "char(36)" in text
    assert "$" not in text


@pytest.mark.parametrize("dialect", NOT_RUN)
def test_sets_in_their_types(dialect: str) -> None:
    models = mixed_set(AWKWARD, keyed=True, unknown="pool")
    made = fb.export.sql_set(models, "p", cell="cell", tie_key="k", dialect=dialect, table="data.fastbin", source="`my`.scores")
    created = [statement.partition("CREATE TABLE ")[2] for statement in made.table if "CREATE TABLE" in statement]
    number, whole, text = {
        "bigquery": ("FLOAT64", "INT64", "BYTES"), "snowflake": ("DOUBLE", "BIGINT", "VARCHAR COLLATE 'utf8'")
    }[dialect]  # fmt: skip
    assert created == [
        f"data.fastbin_steps (fastbin_model {whole}, fastbin_lower {number}, fastbin_lower_key {text}, fastbin_upper {number}, "
        f"fastbin_upper_key {text}, fastbin_answer {number})",
        f"data.fastbin_cells (fastbin_cell {text}, fastbin_model {whole}, fastbin_low {number}, fastbin_high {number})",
    ]
    assert "FROM `my`.scores AS s\nLEFT JOIN data.fastbin_cells AS c ON c.fastbin_cell = " in made.query
    # An equality of columns of both sides comes first: BigQuery has no other outer joins.
    condition = made.query.partition("LEFT JOIN data.fastbin_steps AS t ON ")[2]
    assert condition.startswith("t.fastbin_model = CASE WHEN ")
    assert "COALESCE(c.fastbin_model, " in condition
    assert max(map(len, made.table)) < 2**20  # both take a megabyte


@pytest.mark.parametrize("dialect", NOT_RUN)
def test_tables_of_one_model_join_by_a_column(dialect: str) -> None:
    query = fb.export.sql(model_of("10 bins"), dialect=dialect, style="join").query
    assert "t.fastbin_model = CASE WHEN CAST(p AS " in query
    assert np.all([word not in query for word in ("ASOF", "LATERAL", "ROW(")])


def test_arrays_of_postgresql() -> None:
    expression = fb.export.sql(model_of("10 bins"), dialect="postgresql")
    found = re.search(r"\(ARRAY\[(.*?)\]\)\[width_bucket\(CAST\(p AS float8\), ARRAY\[(.*?)\]\) \+ 1\]", expression)
    assert found is not None
    assert (found[1].count("float8 '"), found[2].count("float8 '")) == (10, 9)
    assert "width_bucket" not in fb.export.sql(model_of("10 bins, keys"), tie_key="k", dialect="postgresql")
    assert "width_bucket" not in fb.export.sql(model_of("10 bins"), dialect="postgresql", style="tree")
