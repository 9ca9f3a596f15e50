"""How methods may be called, where Python alone would take less care."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from fastbin._base.errors import InputTypeError

P = ParamSpec("P")
R = TypeVar("R")


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
