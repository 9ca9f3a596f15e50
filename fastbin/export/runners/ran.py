"""What a runner is given and what it gives back."""

from __future__ import annotations

from typing import NamedTuple

from fastbin._base.array_types import Array


class SqlNames(NamedTuple):
    """What SQL is run with: what its text says of itself, and what it calls the columns of the rows."""

    dialect: str | None = None
    what: str = "value"
    score: str = "p"
    key: str | None = None
    cell: str | None = None
    source: str = "scores"
    answer: str = ""  # the column with the answers, where the text says it


class Ran(NamedTuple):
    """The answers of an export to all rows: NaN, and bin -1, where it gives none."""

    engine: str  # what ran it, with its version
    columns: dict[str, Array]  # float64, and int32 for "bin"
    alpha: float | None = None  # of the intervals, where the export says it


class CannotRun(Exception):
    """The export cannot be run here; says why."""


class Failed(Exception):
    """The export was to be run, and is no program that can be; says what its engine says."""
