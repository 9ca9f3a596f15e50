"""Rows that cannot be fitted to: how many of each kind, and the one error that says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn

from fastbin._base.checks import SAY_POSITIVE, ScoreRange
from fastbin._base.errors import InputError, InputTypeError, Words, joined

# What can be wrong with a value; OUTSIDE and the labels are completed by `outside` and `strange_label`.
MISSING, NAN, INFINITE, NEGATIVE = "NULL", "NaN", "infinite", "negative"

_FILTER = "leave such rows out of the table first"
_RANGE = "pass a calibrator with score_range=None where scores are not probabilities"
_LABEL: Words = "where labels are two other values, ", SAY_POSITIVE


class Fault(NamedTuple):
    """One kind of fault in one column."""

    column: str
    what: str  # such as "NULL"
    n_rows: int
    example: Any = None  # a value that has it, where one is known


def outside(score_range: ScoreRange) -> str:
    """What is said of finite scores beyond the range."""
    low, high = score_range or (float("-inf"), float("inf"))
    return f"outside [{low:g}, {high:g}]"


def strange_label(positive: Any = None, other: Any = None) -> str:
    """What is said of labels that are none of the two."""
    if positive is None:
        return "neither 0 nor 1"
    return f"neither {positive!r} nor {other!r}"


def refuse(faults: Iterable[Fault], n_rows: int) -> NoReturn:
    """Raise for rows that are bad.

    Parameters
    ----------
    faults : iterable of Fault
        Of which at least one has rows.
    n_rows : int
        All rows of the table.
    """
    found = [fault for fault in faults if fault.n_rows]
    assert found, "rows were refused, and none is bad"
    told = [f"{fault.column} is {fault.what} in {fault.n_rows:,}{_shown(fault)}" for fault in found]
    remedies = dict.fromkeys(_remedy(fault.what) for fault in found)
    raise InputError(f"of {n_rows:,} rows, {', '.join(told)}", joined(*remedies))


def _shown(fault: Fault) -> str:
    return "" if fault.example is None else f" (such as {fault.example!r})"


def _remedy(what: str) -> Words:
    if what.startswith("outside"):
        return _RANGE
    return _LABEL if what == strange_label() else _FILTER


def real_weights(name: str, kind: object) -> InputTypeError:
    """The error of weights that are no counts."""
    return InputTypeError(
        f"{name} holds {kind}, real weights, and here weights are counts of equal rows: cast whole numbers to BIGINT; for "
        "importance weights read the columns, and pass sample_weight= in memory"
    )


def needs_rows(who: str, why: str) -> InputError:
    """The error of a calibrator that counts do not decide; `why` is what it says of itself."""
    return InputError(f"{who} asked for counts alone: {why}")


def no_samples(name: str | None) -> InputError:
    """The error of weights that are all 0."""
    return InputError(f"weight is {name!r}, which is 0 for every row; a calibrator needs samples")
