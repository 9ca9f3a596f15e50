"""Probabilities and class rates in words, rounded so that they never claim too much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from fastbin._base.shown import first_few, printable
from fastbin._core.schemes import ClassRate, ClassRates

# Significant digits of a percentage; below an alpha of 1e-6 more would be needed to tell it from 100.
_DIGITS = 6


def sureness(alpha: float) -> str:
    """The probability 1 - alpha, rounded down: "90 %", and "1 - 1e-20" where a percentage would read as 100.

    >>> sureness(0.1), sureness(1e-5), sureness(1e-20)
    ('90 %', '99.999 %', '1 - 1e-20')
    """
    if alpha < 1e-6:
        return f"1 - {alpha:.6g}"
    percent = 100 * (1 - Decimal(repr(float(alpha))))
    return f"{Context(prec=_DIGITS, rounding=ROUND_FLOOR).plus(percent).normalize():f} %"


def event_words(event: str) -> str:
    """The event that values are the probability of, as texts name it.

    >>> event_words("default"), event_words("")
    ("'default'", 'label 1')
    """
    return f"'{printable(event)}'" if event else "label 1"


def label_words(event: str) -> str:
    """The label of the samples that show the event.

    >>> label_words("default"), label_words("")
    ("the label 'default'", 'label 1')
    """
    return f"the label {event_words(event)}" if event else event_words(event)


def rounded_up(epsilon: float) -> str:
    """A distance with four decimal places that is still a bound.

    >>> rounded_up(0.12341), rounded_up(0.1234)
    ('0.1235', '0.1234')
    """
    return f"{math.ceil(epsilon * 1e4 - 1e-9) / 1e4:.4f}"


def moved_by(odds_ratio: float, rates: ClassRates | None) -> str:
    """How label shift moved a model, and how the class rates are known: the middle of a sentence.

    Files of fastbin 0.1.0 do not hold the rates: then they are None.

    >>> from fastbin._core.schemes import ClassRate, ClassRates
    >>> rates = ClassRates(ClassRate("counted", 0.5, 2000, 1000), ClassRate("given", 0.1))
    >>> for part in moved_by(1 / 9, rates).split("; "):
    ...     print(part)
    the odds of every value were multiplied by 0.111111
    the source rate 0.5 was counted on 2,000 labels, 1,000 of them 1
    the target rate 0.1 was given, and is taken as exact
    """
    odds = f"the odds of every value were multiplied by {odds_ratio:.6g}"
    if rates is None:
        return f"{odds}; the file does not say how the class rates are known (fastbin 0.1.0), so intervals do not exist"
    return f"{odds}; the source rate {_known(rates.source)}; the target rate {_known(rates.target)}"


def _known(rate: ClassRate) -> str:
    value = f"{rate.rate:.6g} was"
    if rate.origin == "given":
        return f"{value} given, and is taken as exact"
    if rate.origin == "estimated":
        return f"{value} estimated from {rate.n_samples:,} scores without labels, so intervals do not exist"
    labels = f"{rate.n_samples:,} labels" if rate.n_samples != 1 else "1 label"
    is_smoothed = abs(rate.rate - rate.n_positive / rate.n_samples) > 1e-12
    smoothed = ", with half a sample more of either label" if is_smoothed else ""
    return f"{value} counted on {labels}, {rate.n_positive:,} of them 1{smoothed}"


def name_bins(bins: Sequence[int], limit: int = 8) -> str:
    """The bins in words: "bin 3", "bins 0, 1, 2", the first few of many."""
    return f"{'bin' if len(bins) == 1 else 'bins'} {first_few(bins, limit)}"


def name_cell(name: Any) -> str:
    """A cell of a set in words: its key, or "the pool" for the one that has none."""
    return "the pool" if name is None else repr(name)


def name_cells(names: Sequence[Any], limit: int = 8) -> str:
    """Cells of a set in words, the first few of many.

    >>> name_cells(["north", 3, None])
    "'north', 3, the pool"
    """
    return first_few(names, limit, name_cell)
