"""Checks of single arguments: levels, shares, counts, seeds, words and ranges."""

from __future__ import annotations

import math
import numbers
import secrets
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from fastbin._errors import InputError, InputTypeError
from fastbin._keys import GREATEST_KEY

P = ParamSpec("P")
R = TypeVar("R")
ScoreRange = tuple[float, float] | None


# Tails of the beta law are computed as doubles, which end at 1e-308. A level shared among the most bins that a model can have
# (2**24), with parts for the two tails and for masses, stays above the second number.
SMALLEST_ALPHA, SMALLEST_LEVEL = 1e-100, 1e-110


def check_alpha(alpha: Any, name: str = "alpha", *, smallest: float = SMALLEST_ALPHA, large: bool = False) -> float:
    """A failure probability: from `smallest` to 1/2; with `large`, where only ranks depend on it, to any number below 1."""
    value = _real(alpha, name)
    if not 0.0 < value < 100.0:
        raise InputError(None, "a failure probability lies strictly between 0 and 1", argument=name, value=value)
    if value >= 1.0 or (value > 0.5 and not large):  # a confidence level, or a percentage
        share = value / 100.0 if value >= 1.0 else value
        meant = min(share, 1.0 - share)
        remedy = f"{name} is the chance that the promise fails; did you mean {meant:.12g}?"
        raise InputError(None, remedy, argument=name, value=value)
    if value < smallest:
        remedy = f"the smallest accepted is {smallest:g}, below which doubles cannot tell tails apart"
        raise InputError(None, remedy, argument=name, value=value)
    return value


def alpha_by_name(method: Callable[P, R]) -> Callable[P, R]:
    """A method whose alpha is given by name, and which says so where it comes by position."""
    n_columns = method.__code__.co_argcount

    @wraps(method)
    def ask(*arguments: P.args, **options: P.kwargs) -> R:
        if len(arguments) > n_columns:
            raise InputTypeError(
                f"{method.__name__} takes {n_columns - 1} argument{'s' * (n_columns > 2)} by position, and "
                f"{arguments[n_columns]!r} comes after",
                "name it: alpha= is the chance to miss, .1 for 90 %",
            )
        return method(*arguments, **options)

    return ask


def check_level(alpha: Any, name: str = "alpha") -> float:
    """The failure probability of one bin, which may be a small part of that of all."""
    return check_alpha(alpha, name, smallest=SMALLEST_LEVEL)


def check_power(power: Any, name: str = "power") -> float:
    """The chance of finding what is there: strictly between 0 and 1."""
    value = _real(power, name)
    if not 0.0 < value < 1.0:
        raise InputError(None, "a chance of success lies strictly between 0 and 1", argument=name, value=value)
    return value


def check_unit_interval(value: Any, name: str, *, open_left: bool = False, open_right: bool = False) -> float:
    """A number in [0, 1], with either end left out on request."""
    number = _real(value, name)
    low, high = "(" if open_left else "[", ")" if open_right else "]"
    if not (0.0 <= number <= 1.0) or (open_left and number == 0.0) or (open_right and number == 1.0):
        raise InputError(None, f"it must be in {low}0, 1{high}", argument=name, value=number)
    return number


def _real(value: Any, name: str) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number)):
        raise InputTypeError(f"must be a number, got {value!r}", argument=name, value=value)
    return float(value)


def check_count(value: Any, name: str, minimum: int = 1, maximum: int | None = None) -> int:
    """An integer of at least `minimum`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Integral, np.integer)):
        raise InputTypeError(f"must be an integer, got {value!r}", argument=name, value=value)
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        upper = "" if maximum is None else f" and at most {maximum}"
        raise InputError(None, f"it must be at least {minimum}{upper}", argument=name, value=number)
    return number


# More bins than samples are of no use to anybody, and ranks times bins must fit into 64 bits.
MOST_BINS = 2**24


def check_n_bins(n_bins: Any) -> int | str:
    """A number of bins, or "auto"."""
    return check_choice(n_bins, "n_bins", ("auto",)) if isinstance(n_bins, str) else check_count(n_bins, "n_bins", 1, MOST_BINS)


def check_seed(seed: Any, name: str = "seed") -> int:
    """A seed in [0, 2**64); ``None`` draws one from the operating system."""
    if seed is None:
        return secrets.randbits(64)
    return check_count(seed, name, minimum=0, maximum=2**64 - 1)


def check_key(key: Any, name: str = "key") -> int:
    """One tie key, an integer in [0, 2**64 - 2]."""
    if isinstance(key, (bool, np.bool_)) or not isinstance(key, (int, np.integer)) or not 0 <= key <= GREATEST_KEY:
        raise InputError(None, "it must be an integer in [0, 2**64 - 2]", argument=name, value=key)
    return int(key)


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(None, f"choose one of {', '.join(map(repr, choices))}", argument=name, value=value)
    return value


# What a file holds of the name of an event.
MOST_EVENT_BYTES = 256


def check_event(event: Any, name: str = "event") -> bytes:
    """The name of an event in UTF-8; empty where it is not known."""
    if not isinstance(event, str):
        raise InputTypeError(f"must be text, got {event!r}", argument=name, value=event)
    try:
        text = event.encode()
    except UnicodeEncodeError:
        raise InputError(f"is {event[:40]!r}, which holds half of a surrogate pair, no character", argument=name) from None
    if len(text) > MOST_EVENT_BYTES:
        remedy = f"a model names its event in at most {MOST_EVENT_BYTES}: give that label a shorter name"
        raise InputError(f"is {event[:40]!r}..., {len(text)} bytes in UTF-8", remedy, argument=name)
    return text


def event_of(positive: Any) -> str:
    """The name of the event that a positive label stands for; empty where none is said."""
    if positive is None:
        return ""
    event = str(positive.item() if isinstance(positive, np.generic) else positive)
    check_event(event, "positive")
    return event


def check_score_range(score_range: Any) -> ScoreRange:
    """``None`` for any finite score, else a pair (low, high)."""
    if score_range is None:
        return None
    try:
        low, high = (float(end) for end in score_range)
    except (TypeError, ValueError) as error:
        problem = f"must be None or a pair (low, high), got {score_range!r}"
        raise InputTypeError(problem, argument="score_range", value=score_range) from error
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"is ({low!r}, {high!r})", "it must be finite with low below high", argument="score_range")
    return low, high
