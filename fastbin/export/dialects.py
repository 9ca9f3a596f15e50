"""What the SQL of one engine calls numbers, texts, casts and comments.

Every dialect writes doubles so that its engine reads back all 64 bits, and compares keys by their bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# A power of two that all engines hold as an integer of 64 bits.
SHIFT = 62


@dataclass(frozen=True)
class Dialect:
    """The words of one engine."""

    name: str
    number: Callable[[float], str]  # a double, to the bit
    double: str  # the type of 64 bits that a score is cast to
    text: Callable[[str], str]
    bytewise: str = "{}"  # a text that is compared by its bytes, whatever the collation of its column
    is_score: str = ""  # what a score must be before it is compared with its range

    def cast(self, score: str) -> str:
        """The score as a double: a column of floats or integers is not compared in its own type."""
        return f"CAST({score} AS {self.double})"


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


def quoted(text: str) -> str:
    """A text in single quotes, those within doubled, as the standard has it; backslashes mean themselves."""
    return "'" + text.replace("'", "''") + "'"


DUCKDB = Dialect("duckdb", scientific, "DOUBLE", quoted, bytewise='{} COLLATE "C"')
# A column of texts would be compared as texts, and a cast makes 0.0 of what is no number.
SQLITE = Dialect("sqlite", quotient, "REAL", quoted, "{} COLLATE BINARY", "typeof({}) IN ('real', 'integer')")
POLARS = Dialect("polars", scientific, "DOUBLE", quoted)

DIALECTS = {dialect.name: dialect for dialect in (DUCKDB, SQLITE, POLARS)}


def comment(lines: Sequence[str]) -> str:
    """A comment that ends where it should: no mark that an engine, a driver or a template would read as its own."""
    plain = (re.sub(r"[^A-Za-z0-9 .,:()=_<>+-]", " ", line.replace(" %", " percent")) for line in lines)
    return "/* " + "\n   ".join(plain) + " */"
