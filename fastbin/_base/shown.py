"""How text that comes from files, tables and models is printed: nothing of it can move the cursor or hide other text."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
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


def first_few(items: Sequence[Any], limit: int, say: Callable[[Any], str] = str) -> str:
    """A list in words, the first few of many.

    >>> first_few(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(map(say, items[:limit])) + (f" and {len(items) - limit} more" if len(items) > limit else "")
