"""The words of each engine's SQL for numbers, texts, casts, tables and comments, and the expressions that users give.

Every dialect writes doubles so that its engine reads back all 64 bits, and compares texts by their bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fastbin._base.array_types import Array
from fastbin._base.cells import MOST_BYTES
from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.rows import GREATEST

# The parts of the name of a table, which stands in statements as it is; a project of BigQuery may have dashes.
PART = "[A-Za-z_][A-Za-z0-9_]*"
PART_WITH_DASH = "[A-Za-z_][A-Za-z0-9_-]*"

# A power of two that all engines hold as an integer of 64 bits.
SHIFT = 62


# ------------------------------------------------------------------------------------------------- doubles


def scientific(value: float) -> str:
    """17 significant digits, which name one double; never a shorter form, which some engines take for a decimal."""
    return f"{value:.16e}"


def quotient(value: float) -> str:
    """A double as an integer times or over powers of two, none of which rounds.

    SQLite reads decimals with the arithmetic at hand, and misses the last bits of some below 1e-290.
    """
    significand, exponent = math.frexp(value)
    integer, exponent = int(significand * 2**53), exponent - 53
    zeros = (integer & -integer).bit_length() - 1 if integer else 0
    integer, exponent = integer >> zeros, exponent + zeros if integer else 0
    whole, rest = divmod(abs(exponent), SHIFT)
    factors = [2**SHIFT] * whole + [2**rest] * (rest > 0)
    operator = "/" if exponent < 0 else "*"
    return f"({integer}.0{''.join(f'{operator}{factor}' for factor in factors)})"


# ------------------------------------------------------------------------------------------------- texts


def quoted(text: str) -> str:
    """A text in single quotes, those within doubled, as the standard has it; a backslash means itself."""
    return "'" + text.replace("'", "''") + "'"


def standard_text(text: str, engine: str = "standard SQL") -> str:
    """No way to write a NUL is everywhere alike."""
    if "\0" in text:
        problem = f"has the cell {text!r}, and a text of {engine} holds no NUL"
        raise InputError(problem, "give this cell another key", argument="models")
    return quoted(text)


def duckdb_text(text: str) -> str:
    """A literal ends at a NUL."""
    return "||chr(0)||".join(map(quoted, text.split("\0")))


def sqlite_text(text: str) -> str:
    """A statement ends at a NUL."""
    return f"CAST(x'{text.encode().hex()}' AS TEXT)" if "\0" in text else quoted(text)


def postgresql_text(text: str) -> str:
    """With backslashes in the form that both settings of standard_conforming_strings read alike."""
    plain = standard_text(text, "PostgreSQL")
    return "E" + plain.replace("\\", "\\\\") if "\\" in text else plain


def spark_text(text: str) -> str:
    """Quotes, backslashes, controls and $ by their numbers: a setting says what \\ means, and ${x} is replaced in any SQL."""
    pieces = re.split(r"([\\'$\x00-\x1f\x7f])", text)
    parts = [f"char({ord(piece)})" if i % 2 else f"'{piece}'" for i, piece in enumerate(pieces) if piece]
    return parts[0] if len(parts) == 1 else f"concat({', '.join(parts)})" if parts else "''"


def bigquery_bytes(text: str) -> str:
    """The bytes of a text, which have no collation."""
    plain = re.compile("[A-Za-z0-9 _-]")
    return "b'" + "".join(chr(byte) if plain.match(chr(byte)) else f"\\x{byte:02x}" for byte in text.encode()) + "'"


def mysql_text(text: str) -> str:
    """Bytes in hexadecimal unless all are letters and digits, as settings say what a backslash means, and in which encoding."""
    return f"'{text}'" if re.fullmatch("[A-Za-z0-9]*", text) else f"x'{text.encode().hex()}'"


def clickhouse_text(text: str) -> str:
    """Backslashes and controls as escapes of bytes; texts are bytes there."""
    return quoted(re.sub(r"[\\\x00-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", text))


def snowflake_text(text: str) -> str:
    """Backslashes, controls, and what clients take for a variable or a template, as escapes."""
    return quoted(re.sub(r"[\\&<\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", text))


# ------------------------------------------------------------------------------------------------- the engines


@dataclass(frozen=True)
class Dialect:
    """The words of one engine."""

    name: str
    number: Callable[[float], str]  # a double, to the bit
    text: Callable[[str], str]
    double: str  # the types: a score is cast to the first
    integer: str = "BIGINT"
    string: str = "VARCHAR"
    bytewise: str = "{}"  # a text that is compared by its bytes, whatever the collation of its column
    as_text: str = "CAST({} AS VARCHAR)"  # a cell that may be of another type
    is_number: str = ""  # what a score, or a cell that is an integer, must be before it is compared
    as_double: str = "CAST({} AS {})"
    # A text has the form of a key: its length, and without the digits {1} at its start, nothing is left, {2}.
    key_form: str = "length({0}) = {3} AND ltrim({0}, {1}) = {2}"
    table_name: str = PART
    table_options: str = ""  # what follows the columns of a table
    array: str = ""  # how one expression finds the place of a score in a literal array: by a function, or by "cells"
    lookup: str = ""  # how a row finds its step in a table, if there are tables
    most_rows: int = 4096  # of one INSERT
    broadcast: str = ""  # what asks the engine, in a SELECT, to send a small table to where the rows are

    def cast(self, score: str) -> str:
        """The score as a double: a column of floats or integers is not compared in its own type."""
        return self.as_double.format(score, self.double)

    def literals(self, column: Array) -> list[str]:
        """The entries of a column of doubles or integers."""
        return list(map(str if column.dtype.kind == "i" else self.number, column.tolist()))


_ALL = (
    Dialect("duckdb", scientific, duckdb_text, "DOUBLE", bytewise='{} COLLATE "C"', array="cells", lookup="asof"),
    Dialect(
        "postgresql", lambda value: f"float8 '{scientific(value)}'", postgresql_text, "float8", "bigint", 'text COLLATE "C"',
        bytewise='{} COLLATE "C"', as_text="CAST({} AS text)", array="width_bucket", lookup="seek",
    ),
    # A column of texts would be compared as texts, and a cast makes 0.0 of any other text. SQLite compares each constant
    # expression of a statement with all before it: 4,096 rows take 30 times as long as by 128.
    Dialect(
        "sqlite", quotient, sqlite_text, "REAL", "INTEGER", "TEXT",
        bytewise="{} COLLATE BINARY", as_text="CAST({} AS TEXT)", is_number="typeof({}) IN ('real', 'integer')",
        table_options=" WITHOUT ROWID", lookup="seek", most_rows=128,
    ),
    Dialect(
        "spark", lambda value: f"{scientific(value)}D", spark_text, "DOUBLE", "BIGINT", "STRING",
        as_text="CAST({} AS STRING)", key_form="length({0}) = {3} AND trim(LEADING {1} FROM {0}) = {2}",
        lookup="range", broadcast="/*+ BROADCAST({}) */ ",
    ),
    Dialect(
        "bigquery", scientific, bigquery_bytes, "FLOAT64", "INT64", "BYTES",
        bytewise="CAST({} AS BYTES)", as_text="CAST({} AS STRING)", table_name=PART_WITH_DASH, lookup="range",
    ),
    # A bare number would be a decimal of 38 digits.
    Dialect(
        "snowflake", lambda value: f"CAST('{scientific(value)}' AS DOUBLE)", snowflake_text,
        "DOUBLE", "BIGINT", "VARCHAR COLLATE 'utf8'",
        bytewise="COLLATE({}, 'utf8')", lookup="range",
    ),
    # Texts are compared as bytes of UTF-8, whatever the encodings of columns and of the connection. To trim takes off one text
    # there and no set of characters; digits in pairs, as bytes and back, are the same text.
    Dialect(
        "mysql", scientific, mysql_text, "DOUBLE", string=f"VARBINARY({MOST_BYTES})",
        bytewise="CAST(CONVERT({} USING utf8mb4) AS BINARY)", as_text="CAST({} AS CHAR CHARACTER SET utf8mb4)",
        key_form="length({0}) = {3} AND lower(hex(unhex({0}))) = {0}", lookup="seek",
    ),
    # A type without Nullable refuses NULL in a cast, and what a join does not find would be 0.
    Dialect(
        "clickhouse", scientific, clickhouse_text, "Nullable(Float64)", "Nullable(Int64)", "Nullable(String)",
        as_text="CAST({} AS Nullable(String))", table_options=" ENGINE = MergeTree ORDER BY tuple()", lookup="range",
    ),
    # A comparison puts -0.0 below 0.0.
    Dialect("datafusion", scientific, duckdb_text, "DOUBLE", as_double="(CAST({} AS {}) + 0.0)", lookup="range"),
    # A trim of several characters is of 2023, as are LEAST and GREATEST.
    Dialect(
        "ansi", scientific, standard_text, "DOUBLE PRECISION", string="VARCHAR(4000)", as_text="CAST({} AS VARCHAR(4000))",
        key_form="CHAR_LENGTH({0}) = {3} AND LTRIM({0}, {1}) = {2}", lookup="range",
    ),
    Dialect("polars", scientific, quoted, "DOUBLE"),
)  # fmt: skip
DIALECTS = {dialect.name: dialect for dialect in _ALL}


def said_of_output(dialect: Dialect, what: str, column: str = "") -> str:
    """The last line of a comment, which `verify` reads."""
    return f"dialect {dialect.name}, gives {what}" + (f" as {column}" if column else "")


def comment(lines: Sequence[str]) -> str:
    """A comment that ends where it should: no mark that an engine, a driver or a template would read as its own."""

    def plain(line: str) -> str:
        ascii_line = "".join(each if each.isascii() else f"(U+{ord(each):04X})" for each in line.replace(" %", " percent"))
        return re.sub(r"[^A-Za-z0-9 .,:()=_<>+-]", " ", ascii_line.replace("'", ""))

    return "/* " + "\n   ".join(map(plain, lines)) + " */"


# ------------------------------------------------------------------------------------------------- the expressions of users

KEY_DIGITS = 16

# A tree of more steps is refused: engines compile, or walk, all of it.
MOST_STEPS = 1000


def check_expression(text: object, name: str) -> str:
    """An SQL expression as it stands in a longer one."""
    if not isinstance(text, str):
        remedy = "pass the text of an SQL expression, such as the name of a column"
        raise InputTypeError(None, remedy, argument=name, value=text)
    if not text.strip():
        raise InputError(None, "pass an SQL expression, such as the name of a column", argument=name, value=text)
    text = text.strip()
    return text if text.isidentifier() else f"({text})"


# A name of an identifier's parts, plain or in quotes; what a query may hold between its parentheses: texts and names in quotes,
# and anything else but semicolons and the marks of comments.
QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`"""
PART_OF_NAME = r"""(?:[^\W\d][\w$]*(?:-[\w$]+)*|"(?:[^"]|"")+"|`[^`]+`)"""
NAME_OF_TABLE = re.compile(rf"{PART_OF_NAME}(?:\.{PART_OF_NAME})*")
PIECE_OF_QUERY = re.compile(rf"{QUOTED}|[()]|(?!--|/\*)[^'\"`;()]")


def check_source(source: object) -> str:
    """The rows of the user as they stand after FROM: the name of a table, or one query in parentheses."""
    if isinstance(source, str):
        text = source.strip()
        if NAME_OF_TABLE.fullmatch(text) or _is_one_query(text):
            return text
    remedy = "pass the name of the table that holds the scores, or a query in parentheses, without comments and semicolons"
    raise InputError(None, remedy, argument="source", value=source)


def _is_one_query(text: str) -> bool:
    """Whether the parenthesis that a text begins with ends with it, all of it in pieces that belong to one query."""
    at = depth = 0
    while piece := PIECE_OF_QUERY.match(text, at):
        depth += {"(": 1, ")": -1}.get(piece.group(), 0)
        at = piece.end()
        if depth <= 0:
            break
    return at == len(text) > 0 and text[0] == "(" and depth == 0


def check_key_expression(key: object, *, needs_key: bool) -> str | None:
    """The key's expression, where and only where the model compares keys."""
    if key is None:
        if needs_key:
            raise InputError(
                f"tie_key is missing, and the model splits ties by key: pass an expression for the key as {KEY_DIGITS} "
                'lower-case hexadecimal digits, or fit with ties="whole", which needs no key'
            )
        return None
    if not needs_key:
        raise InputError(f"is {key!r}, but the model compares no keys", "leave it out", argument="tie_key", value=key)
    return check_expression(key, "tie_key")


def hex_digits(key: int) -> str:
    """A key as text: of one width, so that texts order as their numbers."""
    return f"{key:0{KEY_DIGITS}x}"


def is_answered(score: str, key: str | None, low: float, high: float, dialect: Dialect) -> str:
    """Which rows have an answer: not NULL, NaN, infinite or out of range, nor without a key of the right form."""
    return " AND ".join([*_has_form(score, key, dialect), *_is_within(score, low, high, dialect)])


def moved(number: str, low: str, high: str) -> str:
    """A number moved between two others."""
    return f"CASE WHEN {number} < {low} THEN {low} WHEN {number} > {high} THEN {high} ELSE {number} END"


def sought(score: str, key: str | None, limits: Sequence[str] | None, dialect: Dialect) -> str:
    """The expression to look up in a table: the score as a double, moved between the limits; NULL for rows of another form.

    Without limits infinite scores, and NaN, need no guard, as no step reaches so far.
    """
    number, conditions = dialect.cast(score), _has_form(score, key, dialect)
    if limits is not None:
        conditions += _is_within(score, -GREATEST, GREATEST, dialect)
        number = moved(number, *limits)
    return f"CASE WHEN {' AND '.join(conditions)} THEN {number} END" if conditions else number


def _has_form(score: str, key: str | None, dialect: Dialect) -> list[str]:
    conditions = [dialect.is_number.format(score)] if dialect.is_number else []
    if key is not None:
        conditions.append(is_key(key, dialect))
    return conditions


def is_key(key: str, dialect: Dialect) -> str:
    """The condition that a text has the form of a key."""
    return dialect.key_form.format(dialect.bytewise.format(key), dialect.text("0123456789abcdef"), dialect.text(""), KEY_DIGITS)


def _is_within(score: str, low: float, high: float, dialect: Dialect) -> list[str]:
    number = dialect.cast(score)
    return [f"{number} >= {dialect.number(low)}", f"{number} <= {dialect.number(high)}"]


def tree(answers: Sequence[str], is_reached: Callable[[int], str]) -> str:
    """Balanced CASE: the answer at the number of edges that are reached; a row meets the logarithm of their number.

    `is_reached` gives the condition of an edge. A row that reaches one reaches all before it.
    """

    def among(first: int, last: int) -> str:
        if first == last:
            return answers[first]
        middle = (first + last) // 2
        return f"CASE WHEN {is_reached(middle)} THEN {among(middle + 1, last)} ELSE {among(first, middle)} END"

    return among(0, len(answers) - 1)
