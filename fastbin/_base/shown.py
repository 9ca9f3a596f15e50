"""How texts and numbers are printed.

Nothing in a text of files, tables and models can move the cursor or hide other text. A small number is not printed as 0, and an
interval that is rounded still holds.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any


def printable(text: str, *, keep: str = "") -> str:
    r"""The text with each character that is not printed as a sign of its own, or as a space, as its escape.

    Such are the control characters (C0, DEL, C1), formats (of direction, of zero width), separators of lines and paragraphs,
    halves of surrogate pairs, characters for private use and unassigned ones. Letters, marks, digits, signs and spaces of all
    scripts stay, and so does a backslash. A message keeps its own ends of lines by `keep`; a name has none.

    >>> print(printable("caf\u00e9 \x1b]0;owned\x07"))
    café \x1b]0;owned\x07
    >>> print(printable("a\u202eb\nc"), printable("a\nb", keep="\n") == "a\nb")
    a\u202eb\nc True
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character in keep or unicodedata.category(character) == "Zs"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def named(name: Any) -> str:
    """A name of a class, a cell or a column: it has no ends of lines."""
    return printable(str(name))


def first_few(items: Sequence[Any], limit: int = 8, say: Callable[[Any], str] = named) -> str:
    """A list in words, the first few of many.

    >>> first_few(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(map(say, items[:limit])) + (f" and {len(items) - limit:,} more" if len(items) > limit else "")


def how_many(number: int, noun: str, *verbs: str) -> str:
    """A number and what it counts, and what that does: the verb of one, and of more.

    >>> how_many(1, "bin"), how_many(1200, "sample"), how_many(1, "row", "differs", "differ")
    ('1 bin', '1,200 samples', '1 row differs')
    """
    counted = f"{number:,} {noun}" + ("" if number == 1 else "s")
    return f"{counted} {verbs[number != 1]}" if verbs else counted


NOISE = 1e-12  # what is smaller may be the rounding of sums, and is shown as 0
DIGITS = 13  # that tell a number from another; those behind them are the rounding of sums
ANY_LENGTH = Context(prec=400)  # of its own, as a program may set that of its threads


def rounded(number: float, places: int = 4, direction: str = "") -> str:
    """A number with so many decimal places; with two digits that count, where it is small.

    >>> rounded(0.12345), rounded(0.00012345), rounded(0.0), rounded(0.12341, direction=ROUND_CEILING)
    ('0.1235', '0.00012', '0.0000', '0.1235')
    """
    if not math.isfinite(number):
        return str(number)
    if abs(number) < NOISE:
        number = 0.0
    else:
        places = max(places, 1 - math.floor(math.log10(abs(number))))
    if not direction:
        return f"{number:.{places}f}"
    return f"{_with_places(number, places, direction):f}"


def _with_places(number: float, places: int, direction: str) -> Decimal:
    told = Decimal(f"{number:.{DIGITS - 1}e}")  # 0.1 is not above 0.1, and 0.1 + 0.2 not above 0.3
    return told.quantize(Decimal((0, (1,), -places)), direction, ANY_LENGTH)


def rounded_down(number: float, places: int = 4) -> str:
    """A number as `rounded`, which is still a lower bound.

    >>> rounded_down(0.12349), rounded_down(0.3 - 0.1)
    ('0.1234', '0.2000')
    """
    return rounded(number, places, ROUND_FLOOR)


def rounded_up(distance: float, places: int = 4) -> str:
    """A distance as `rounded`, which is still a bound.

    >>> rounded_up(0.12341), rounded_up(0.1234), rounded_up(0.0000123)
    ('0.1235', '0.1234', '0.000013')
    """
    return rounded(distance, places, ROUND_CEILING)


def outwards(low: float, high: float, places: int = 4, word: str = "to") -> str:
    """An interval in words: its ends as `rounded`, the lower one down and the upper one up, so that it still holds.

    >>> outwards(0.1, 0.12341), outwards(0.0, 4.96e-5, 3), outwards(0.99995, 1.0, 3)
    ('0.1000 to 0.1235', '0.000 to 0.000050', '0.999 to 1.000')
    """
    return f"{rounded_down(low, places)} {word} {rounded_up(high, places)}"


def outwards_as(form: str, low: float, high: float) -> str:
    """The same in a column of numbers of one format, such as ".4f", ".3e" or ".3g".

    >>> outwards_as(".4f", 0.00018, 0.12341), outwards_as(".3e", 1.23456e-5, 0.25), outwards_as(".3g", 1.2345, 20.01)
    ('0.0001 to 0.1235', '1.234e-05 to 2.500e-01', '1.23 to 20.1')
    """
    return f"{_end_as(form, low, ROUND_FLOOR)} to {_end_as(form, high, ROUND_CEILING)}"


def _end_as(form: str, number: float, direction: str) -> str:
    if abs(number) < NOISE:
        number = 0.0
    if number == 0.0 or not math.isfinite(number):
        return f"{number:{form}}"
    places = int(form[1:-1])
    if form[-1] != "f":  # digits that count
        places -= math.floor(math.log10(abs(number))) + (form[-1] == "g")
    return f"{float(_with_places(number, places, direction)):{form}}"
