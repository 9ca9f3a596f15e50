"""Tables named on the command line: which columns they offer, and where an error stands in them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fastbin._errors import InputError
from fastbin.cli._streams import told_name

if TYPE_CHECKING:
    from fastbin.io import Table

__all__ = ["choose_column", "choose_columns", "in_words_of", "open_input"]

# Usual names of the two columns, in lower case.
SCORE_NAMES = (
    "score", "scores", "p", "prob", "proba", "probability", "pred", "prediction", "predicted", "phat", "p_hat", "y_prob",
    "y_proba", "y_score", "y_pred", "yhat", "y_hat", "predict_proba",
)  # fmt: skip
LABEL_NAMES = ("label", "labels", "y", "y_true", "target", "outcome", "truth", "class", "actual")

# Places of an error in arrays: "scores[16] is ..."
PLACE = re.compile(r"\b(scores|labels|sample_weight|keys)\[(\d+)\]")
POSITIVE = re.compile(r"pass labels == .* \(a fit also takes positive=(.*)\)")
OPTION_WORDS = {
    "score_range=None at fit": "--score-range any at fit",
    "n_bins=": "--n-bins ",
    "n_bins is": "--n-bins is",
    "sample_weight": "--weights",
    "feature='score'": "--feature score",
    "keys": "--key",
    "pass (labels > 0)": "give --positive 1",
}


def open_input(path: str, csv_format: Mapping[str, Any], watch: Callable[[bytes], object] | None = None) -> Table:
    """A table that is named on the command line; `csv_format` is what `table_options` collects."""
    from fastbin.io import open_table
    from fastbin.io.base import arrow

    if os.name == "posix":
        # Signals end the process at once; PyArrow would take them for itself while it reads.
        arrow().enable_signal_handlers(False)
    return open_table(path, **csv_format, watch=watch)


def choose_columns(table: Table, score: str | None, label: str | None) -> tuple[str, str]:
    """The columns of scores and labels: those named, or the only ones that they can be."""
    if score is None and label is None and len(table.names) == 2:
        # Two columns: knowing one of them is enough.
        for known, is_known_score in ((SCORE_NAMES, True), (LABEL_NAMES, False)):
            found = _usual(table, known)
            if len(found) == 1:
                other = next(name for name in table.names if name != found[0])
                return (found[0], other) if is_known_score else (other, found[0])
    score = choose_column(table, score, "--score", SCORE_NAMES)
    return score, choose_column(table, label, "--label", LABEL_NAMES)


def choose_column(table: Table, name: str | None, option: str, usual: tuple[str, ...] = SCORE_NAMES) -> str:
    """The column of this name, or the only one with a usual name."""
    if name is not None:
        return table.check_column(name)
    found = _usual(table, usual)
    if len(found) == 1:
        return found[0]
    why = f"both {' and '.join(found)} could be meant" if found else "no column has a usual name"
    raise InputError(f"{told_name(table.path)}: say {option} COLUMN; {why}; it has {table.told_names()}")


def _usual(table: Table, usual: tuple[str, ...]) -> list[str]:
    return [name for name in table.names if name.strip().lower() in usual]


@contextmanager
def in_words_of(table: Table, columns: Mapping[str, str], first_row: int = 0) -> Iterator[None]:
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
        message = str(error)
        found = PLACE.search(message)
        if found is not None and found[1] in columns:
            place = f"{table.place(first_row + int(found[2]))}, column {columns[found[1]]}:"
            message = f"{place} the value{message[found.end() :]}" if found.start() == 0 else f"{place} {message}"
        else:
            message = f"{told_name(table.path)}: {message}"
        for word, option in OPTION_WORDS.items():
            message = message.replace(word, option)
        raise InputError(POSITIVE.sub(r"give --positive \1", message)) from error
