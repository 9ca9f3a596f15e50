"""Named columns of one length as records, data frames, aligned text and HTML: what every table of results can do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from fastbin._base import html
from fastbin._base.dependencies import needed_for
from fastbin._base.html import escape
from fastbin._base.shown import outwards_as, printable

Columns = Mapping[str, Sequence[Any]]
"""Plain Python values by the name of their column; a pair of numbers is an interval."""

MOST_ROWS = 24  # that are shown at once; of more, the first and the last
KEYS = {"cell", "class", "predicted"}  # columns of keys, which may be called like anything, a verdict too
LONG = 1_000  # rows of which words are made, where all are shown and where a few are
SENTENCE = 60  # letters, from which on a column is read from the left, on several lines


def as_records(columns: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Columns of one length as one dict per row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def flat(columns: Columns) -> dict[str, list[Any]]:
    """The columns, with those of intervals as two, ``_lower`` and ``_upper``."""
    single: dict[str, list[Any]] = {}
    for name, column in columns.items():
        if column and isinstance(column[0], (list, tuple)):
            single[f"{name}_lower"], single[f"{name}_upper"] = map(list, zip(*column, strict=True))
        else:
            single[name] = list(column)
    return single


def to_pandas(columns: Columns) -> Any:
    """The columns as a pandas DataFrame; MissingDependencyError without pandas."""
    with needed_for("pandas data frames", package="pandas"):
        import pandas
    data = flat(columns)
    for name, column in data.items():
        values = list(column)
        if None in values and all(value is None or isinstance(value, int) for value in values) and any(values):
            data = {**data, name: pandas.array(values, dtype="Int64")}  # floats would not hold all digits of a key
    return pandas.DataFrame(data)


def to_polars(columns: Columns) -> Any:
    """The columns as a Polars DataFrame; MissingDependencyError without Polars."""
    with needed_for("Polars data frames", package="polars"):
        import polars
    return polars.DataFrame(flat(columns))


def number_format(values: Iterable[float]) -> str:
    """The format of probabilities: four decimal places, or four digits if one is below 0.001.

    >>> number_format([0.25, 0.0]), number_format([0.25, 1e-5])
    ('.4f', '.3e')
    """
    smallest = min((value for value in values if value > 0.0), default=1.0)
    return ".4f" if smallest >= 1e-3 else ".3e"


def in_words(column: Sequence[Any]) -> list[str]:
    """The entries of a column as they are shown, all in one format.

    >>> in_words([0.5, 0.25]), in_words([1000, None]), in_words([(0.1, 0.25), (math.nan, math.nan)])
    (['0.5000', '0.2500'], ['1,000', ''], ['0.1000 to 0.2500', ''])
    """
    numbers = [entry[-1] if isinstance(entry, (list, tuple)) else entry for entry in column]  # a lower end may be next to 0
    form = number_format(number for number in numbers if isinstance(number, float) and math.isfinite(number))

    def shown(entry: Any) -> str:
        if isinstance(entry, (list, tuple)):
            low, high = entry
            if isinstance(low, float) and isinstance(high, float) and low == low and high == high:
                return outwards_as(form, low, high)
            return " to ".join(ends) if any(ends := [shown(end) for end in entry]) else ""
        if entry is None or entry != entry:
            return ""
        if isinstance(entry, float):
            return f"{entry:{form}}" if math.isfinite(entry) else str(entry)
        return f"{entry:,}" if isinstance(entry, int) and not isinstance(entry, bool) else str(entry)

    return [shown(entry) for entry in column]


def first_and_last(rows: Sequence[Sequence[str]], most: int | None = MOST_ROWS, dots: str = "...") -> list[Sequence[str]]:
    """The rows; of more than `most`, the first and the last of them with a row of dots between."""
    if most is None or len(rows) <= most:
        return list(rows)
    half = most // 2
    return [*rows[:half], [dots] * len(rows[0]), *rows[len(rows) - half :]]


def as_text(words: Mapping[str, Sequence[str]], *, n_text: int = 0, most: int | None = MOST_ROWS) -> str:
    """A table of words in aligned columns, the first `n_text` of them to the left and the others to the right.

    >>> print(as_text({"bin": ["0", "1"], "value": ["0.25", "0.5"]}))
    bin  value
      0   0.25
      1    0.5
    """
    head = [printable(title) for title in words]
    rows = [[printable(word) for word in row] for row in first_and_last(list(zip(*words.values(), strict=True)), most)]
    columns = list(zip_longest(head, *rows))
    widths = [max(map(len, column)) for column in columns]
    form = "  ".join(f"{{:{'<' if at < n_text else '>'}{width}}}" for at, width in enumerate(widths))
    return "\n".join(form.format(*row).rstrip() for row in [head, *rows])


def as_html(words: Mapping[str, Sequence[str]], *, n_text: int = 0, most: int | None = MOST_ROWS) -> str:
    """A table of words, which are escaped; verdicts are shown as such."""
    shown = [
        [html.verdict(word) if title not in KEYS and word in html.VERDICTS else escape(word) for word in column]
        for title, column in words.items()
    ]
    cells = first_and_last(list(zip(*shown, strict=True)), most, "&#8942;")
    longest = [max(map(len, column), default=0) for column in words.values()]
    told = [at for at in range(n_text, len(longest)) if longest[at] >= SENTENCE]
    return html.table([escape(title) for title in words], cells, n_text=n_text, sentences=told)


def without_middle(column: Sequence[Any]) -> Sequence[Any]:
    """A long column without the middle, which is not shown: words for a million rows take a minute."""
    return column if len(column) <= LONG else [*column[: LONG // 2], *column[len(column) - LONG // 2 :]]


class Table:
    """The base of tables of results: they can be iterated over, printed, shown in a notebook and turned into data frames.

    A subclass says what its columns are, and what they are about. Iterating gives one dict per row, so that data frames of any
    kind can be made of a table; intervals are two columns there.
    """

    def _columns(self) -> Columns:
        """Plain values by column, in the order in which they are shown."""
        raise NotImplementedError

    def _about(self) -> str:
        """One sentence without its full stop: what the rows are."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(as_records(flat(self._columns())))

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame; an interval is two columns, ``interval_lower`` and ``interval_upper``."""
        return to_pandas(self._columns())

    def to_polars(self) -> Any:
        """The rows as a Polars DataFrame; an interval is two columns, ``interval_lower`` and ``interval_upper``."""
        return to_polars(self._columns())

    def _words(self) -> tuple[dict[str, list[str]], int]:
        """The shown words by title, and how many of the first columns hold text."""
        given = {name: without_middle(column) for name, column in self._columns().items()}
        columns = {name: in_words(column) for name, column in given.items()}
        for name in KEYS & columns.keys():  # as they are, without commas in integers; the pool of a set has none
            columns[name] = ["pool" if key is None else str(key) for key in given[name]]
        entries = [name in KEYS or isinstance(next(iter(column), None), str) for name, column in given.items()]
        return {name.replace("_", " "): words for name, words in columns.items()}, (*entries, False).index(False)

    def __str__(self) -> str:
        words, n_text = self._words()
        return f"{printable(self._about())}\n\n{as_text(words, n_text=n_text)}"

    def _repr_html_(self) -> str:
        words, n_text = self._words()
        return html.notebook(html.paragraph(f"{self._about()}."), as_html(words, n_text=n_text))
