"""Parameter texts that several functions share stand in one docstring, and are filled into the others at import.

A line that holds nothing but ``{name}`` stands for what another docstring says under that name: an entry of its Parameters
(or Attributes, Raises) with its text, or, with the title of a section, the whole section.

>>> @shared_docs('''
... Parameters
... ----------
... alpha : float
...     Failure probability.
... ''')
... def interval(counts, alpha):
...     '''An interval.
...
...     Parameters
...     ----------
...     counts : array of int
...         Samples in each bin.
...     {alpha}
...     '''
>>> print(inspect.getdoc(interval).partition("counts")[2])
 : array of int
    Samples in each bin.
alpha : float
    Failure probability.
"""

from __future__ import annotations

import inspect  # NumPy imports it too, so it costs nothing here
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

_Documented = TypeVar("_Documented")


def shared_docs(*sources: str | None) -> Callable[[_Documented], _Documented]:
    """A decorator that fills ``{name}`` lines of a docstring with the texts of `sources`, docstrings of other objects.

    A name that no source has is a KeyError. Where docstrings are stripped (``python -OO``), nothing is done.
    """
    texts: dict[str, list[str]] = {}
    for source in sources:
        texts.update(_texts(inspect.cleandoc(source).splitlines()) if source is not None else {})

    def fill(documented: _Documented) -> _Documented:
        if documented.__doc__ is not None:
            lines = (_filled(line, texts) for line in documented.__doc__.split("\n"))
            documented.__doc__ = "\n".join(lines)
        return documented

    return fill


def _filled(line: str, texts: dict[str, list[str]]) -> str:
    content = line.strip()
    if not (content.startswith("{") and content.endswith("}")):
        return line
    indent = line[: line.index("{")]
    return "\n".join(indent + text if text else "" for text in texts[content[1:-1]])


def _texts(lines: list[str]) -> dict[str, list[str]]:
    """The sections by title, and the entries, lines with indented lines below, by what is left of their colon."""
    titles = [number for number, line in enumerate(lines[1:]) if line and not line.strip("-")]
    texts = {}
    for start, end in pairwise([*titles, len(lines)]):
        texts[lines[start]] = "\n".join(lines[start:end]).rstrip().split("\n")
    for start, line in enumerate(lines):
        end = start + 1
        while end < len(lines) and lines[end].startswith(" "):
            end += 1
        if end > start + 1 and not line.startswith(" "):
            texts[line.partition(" : ")[0]] = lines[start:end]
    return texts
