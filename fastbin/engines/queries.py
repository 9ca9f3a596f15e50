"""SQL over the tables of DuckDB and Spark: names in quotes, scores and keys as the expressions of exports take them."""

from __future__ import annotations

from typing import Any

from fastbin._errors import InputTypeError
from fastbin.engines.scoring import KEY_DIGITS

DUCKDB_FLOATS = ("DOUBLE", "FLOAT", "REAL", "DECIMAL")
DUCKDB_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
SPARK_NUMBERS = ("double", "float", "decimal", "tinyint", "smallint", "int", "bigint")


def in_quotes(name: str, engine: str) -> str:
    """A name of a column, whatever is in it."""
    mark = "`" if engine == "spark" else '"'
    return f"{mark}{name.replace(mark, 2 * mark)}{mark}"


def type_names(table: Any, engine: str) -> dict[str, str]:
    """The types of all columns in the engine's words."""
    if engine == "spark":
        return {field.name: field.dataType.simpleString() for field in table.schema.fields}
    return dict(zip(table.columns, map(str, table.types), strict=True))


def score_expression(table: Any, score: str, engine: str) -> str:
    """The score as an expression; a column of texts is refused, which an engine would convert, or compare as texts."""
    kind = type_names(table, engine)[score].partition("(")[0]
    if kind not in (SPARK_NUMBERS if engine == "spark" else DUCKDB_FLOATS + DUCKDB_INTEGERS):
        raise InputTypeError(f"score is {score!r}, a column of type {kind}; scores are numbers")
    return in_quotes(score, engine)


def key_expression(table: Any, key: str, engine: str) -> str:
    """The key as a text of 16 hexadecimal digits."""
    kind, column = type_names(table, engine)[key], in_quotes(key, engine)
    if kind in ("VARCHAR", "string"):
        return column
    if engine == "duckdb" and kind in DUCKDB_INTEGERS and kind.startswith("U") and kind != "UHUGEINT":
        return f"lpad(lower(to_hex({column})), {KEY_DIGITS}, '0')"
    unsigned = "unsigned integers below 2**64 - 1, or " if engine == "duckdb" else ""
    raise InputTypeError(
        f"key is {key!r}, a column of type {kind}; keys are {unsigned}texts of {KEY_DIGITS} lower-case hexadecimal digits: "
        "format(key, '016x')"
    )


def with_column(table: Any, expression: str, name: str, engine: str) -> Any:
    """The table with one more column, the last."""
    if engine == "spark":
        return table.select("*", spark_functions(table).expr(expression).alias(name))
    return table.project(f"*, {expression} AS {in_quotes(name, engine)}")


def spark_functions(frame: Any) -> Any:
    """The functions of Spark for a frame, classic or Connect."""
    if ".connect." in type(frame).__module__:
        from pyspark.sql.connect import functions
    else:
        from pyspark.sql import functions
    return functions
