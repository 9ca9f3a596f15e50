"""Tests compare the fields of an error: its class, the argument and the position. The words of errors are listed once."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fastbin._base.errors import ArgumentError

# One line for each: the problem, and the remedy; * stands for what NumPy says.
LISTED = Path(__file__).with_name("wordings.txt").read_text(encoding="utf8").splitlines()
WORDINGS = re.compile("|".join(".*".join(map(re.escape, line.split("*"))) for line in LISTED))


def refuses(told: str, call: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """The call raises this error, such as "InputError scores[41]", in words that are listed."""
    with pytest.raises(ArgumentError) as caught:
        call(*arguments, **options)
    error = caught.value
    assert f"{type(error).__name__} {error.place}".rstrip() == told, str(error)
    words = error.rendered("")
    assert WORDINGS.fullmatch(words), f"{words!r} is not among the wordings in tests/wordings.txt"
    assert str(error) == f"{error.place} {words}".lstrip()


def refused(error: type[Exception], match: str, call: Callable[..., object], /, *arguments: Any, **options: Any) -> None:
    """The call raises this error, in words that match."""
    with pytest.raises(error, match=match):
        call(*arguments, **options)
