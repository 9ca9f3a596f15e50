"""Tables named on the command line: how they are opened, which of their columns are read, and where an error is in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import click

from fastbin._base.errors import InputError
from fastbin.cli._streams import display_name
from fastbin.cli._words import subject_of
from fastbin.io import Table, open_table
from fastbin.tables.table import arrow

# Usual names of the two columns, in lower case.
SCORE_NAMES = (
    "score", "scores", "p", "prob", "proba", "probability", "pred", "prediction", "predicted", "phat", "p_hat", "y_prob",
    "y_proba", "y_score", "y_pred", "yhat", "y_hat", "predict_proba",
)  # fmt: skip
LABEL_NAMES = ("label", "labels", "y", "y_true", "target", "outcome", "truth", "class", "actual")


@dataclass(frozen=True)
class TableOptions:
    """What the options of a command say about its tables: the columns that are read, and how text is to be understood."""

    score: str | None = None
    label: str | None = None
    positive: str | None = None
    weights: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    memory_limit: int | None = None

    def __post_init__(self) -> None:
        if self.delimiter == self.decimal:
            raise click.UsageError(f"--delimiter and --decimal are both {self.decimal!r}; one character cannot be both")

    def open(self, path: str, watch: Callable[[bytes], object] | None = None) -> Table:
        """The table of this name; `watch` as in `open_table`."""
        if os.name == "posix":
            # Signals end the process at once; PyArrow would handle them itself while it reads.
            arrow().enable_signal_handlers(False)
        text = {"decimal": self.decimal, "encoding": self.encoding}
        return open_table(path, self.delimiter, **text, watch=watch, memory_limit=self.memory_limit)

    def columns(self, table: Table) -> dict[str, str]:
        """The columns of scores, labels and weights, by the argument of a fit that each becomes."""
        score, label = self._scores_and_labels(table)
        columns = {"scores": score, "labels": label}
        return columns if self.weights is None else columns | {"sample_weight": table.check_column(self.weights)}

    def _scores_and_labels(self, table: Table) -> tuple[str, str]:
        if self.score is None and self.label is None and len(table.names) == 2:
            # Two columns: knowing one of them is enough.
            for usual, is_score in ((SCORE_NAMES, True), (LABEL_NAMES, False)):
                known = _with_usual_name(table, usual)
                if len(known) == 1:
                    other = next(name for name in table.names if name != known[0])
                    return (known[0], other) if is_score else (other, known[0])
        return self.score_column(table), self.label_column(table)

    def score_column(self, table: Table) -> str:
        """The column of scores: the one that is named, or the only one with a usual name."""
        return _choose(table, self.score, "--score", SCORE_NAMES)

    def label_column(self, table: Table) -> str:
        """The same for labels."""
        return _choose(table, self.label, "--label", LABEL_NAMES)


def _choose(table: Table, name: str | None, option: str, usual: tuple[str, ...]) -> str:
    if name is not None:
        return table.check_column(name)
    possible = _with_usual_name(table, usual)
    if len(possible) == 1:
        return possible[0]
    why = f"both {' and '.join(possible)} could be meant" if possible else "no column has a usual name"
    has = f"it has {table.list_names()}"
    if len(table.names) == 1 and any(mark in table.names[0] for mark in ",;\t|"):
        has = f"it has one column, {table.names[0]!r}; say what is between columns by --delimiter"
    raise InputError(f"{display_name(table.path)}: say {option} COLUMN; {why}; {has}")


def _with_usual_name(table: Table, usual: tuple[str, ...]) -> list[str]:
    return [name for name in table.names if name.strip().lower() in usual]


class TooManyRows(InputError):
    """All rows are needed at once, and they take more than the memory that a user allows."""


def check_held(table: Table, n_bytes: int) -> None:
    """Refuse so many bytes of rows, all of which a command needs at once, if there is a limit: joined, they take them twice."""
    if table.memory_limit is not None and 2 * n_bytes > table.memory_limit:
        raise TooManyRows(
            f"{display_name(table.path)}: its rows take more than --memory-limit allows, and here all of them are needed at "
            "once; raise it"
        )


@contextmanager
def errors_in(table: Table, columns: Mapping[str, str], first_row: int = 0) -> Iterator[None]:
    """Errors about arrays, raised inside, as errors about a file.

    Parameters
    ----------
    table
        Where the arrays come from.
    columns
        The column behind each argument: {"scores": "p", ...}.
    first_row
        The row of the file at which the arrays start.
    """
    try:
        yield
    except InputError as error:
        place, subject = display_name(table.path), subject_of(error)
        row, number = error.at if isinstance(error.at, tuple) else (error.at, None)
        column = columns.get(f"{error.argument}" if number is None else f"{error.argument}[{number}]")
        if row is not None and column is not None:
            place, subject = f"{table.place(first_row + row)}, column {column}", "the value"
        elif row is not None and isinstance(error.at, tuple):
            place, subject = table.place(first_row + row), "it"
        raise InputError(f"{place}: {error.rendered(subject, in_shell=True)}") from error
