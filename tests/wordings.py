"""Tests compare the fields of an error: its class, the argument and the position. The words of errors are listed once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fastbin._base.errors import ArgumentError

# One line for each: the problem, and the remedy; * stands for a value, or for words of NumPy.
LISTED = Path(__file__).with_name("wordings.txt").read_text(encoding="utf8").splitlines()


def _pattern(text: str) -> str:
    return ".*".join(map(re.escape, text.split("*")))


WORDINGS = re.compile("|".join(map(_pattern, LISTED)))


def refuses(told: str, call: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """The call raises this error, such as "InputError scores[41]", in words that are listed.

    Where they tell cases of one argument apart, or the error is about none, the words begin with those behind a colon.
    """
    expected, _, start = told.partition(": ")
    with pytest.raises(ArgumentError) as caught:
        call(*arguments, **options)
    error = caught.value
    assert f"{type(error).__name__} {error.place}".rstrip() == expected, str(error)
    words = error.rendered("")
    assert re.match(_pattern(start), words), str(error)
    assert WORDINGS.fullmatch(words), f"{words!r} is not among the wordings in tests/wordings.txt"
    assert str(error) == f"{error.place} {words}".lstrip()


def refused(error: type[Exception], match: str, call: Callable[..., object], /, *arguments: Any, **options: Any) -> None:
    """The call raises this error, in words that match."""
    with pytest.raises(error, match=match):
        call(*arguments, **options)
