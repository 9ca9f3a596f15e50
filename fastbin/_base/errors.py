"""The errors that fastbin raises, each also of a built-in kind, and its warning.

Messages have names and values from files, tables and models in them. So they are printed, also in tracebacks and logs, with
control characters as escapes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

from fastbin._base.shown import printable

if TYPE_CHECKING:
    from typing_extensions import Self


class FastbinError(Exception):
    """The base of all errors that fastbin raises."""

    def __str__(self) -> str:
        return printable(super().__str__(), keep="\n\t")


class FastbinWarning(UserWarning):
    """A result that may not be the intended one; the message names what to check."""

    def __init__(self, message: str = "", *, of_convergence: bool = False) -> None:
        super().__init__(message)
        self.of_convergence = of_convergence  # whether an iteration ended before it had converged

    def __str__(self) -> str:
        return printable(super().__str__(), keep="\n\t")


_is_quiet: ContextVar[bool] = ContextVar("_is_quiet", default=False)


def warn(message: str | FastbinWarning, stacklevel: int) -> None:
    """Warn as if the function that calls this did, or one further up."""
    if not _is_quiet.get():
        warnings.warn(message, FastbinWarning, stacklevel=stacklevel + 1)


@contextmanager
def without_warnings() -> Iterator[None]:
    """No warning by `warn`, in this thread: filters of the standard library are of the process, and threads mix them up."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


class Wording(NamedTuple):
    """A phrase for users of Python, and the same for users of the command line."""

    python: str
    shell: str


# A text, or pieces of one.
Words = str | Wording | tuple[str | Wording, ...]


def by_name(argument: str, value: Any) -> Wording:
    """An argument with its value.

    >>> by_name("n_bins", 10)
    Wording(python='n_bins=10', shell='--n-bins 10')
    """
    return Wording(f"{argument}={value!r}", f"--{argument.replace('_', '-')} {value}")


def _said(words: Words, in_shell: bool = False) -> str:
    if isinstance(words, Wording):
        return words.shell if in_shell else words.python
    return words if isinstance(words, str) else "".join(_said(piece, in_shell) for piece in words)


def joined(*remedies: Words) -> Wording:
    """Several remedies as one; those that are empty are left out."""
    return Wording(*("; ".join(_said(each, in_shell) for each in remedies if each) for in_shell in (False, True)))


class ArgumentError(FastbinError):
    """A fault of an argument, in fields; the message is made of them.

    Attributes
    ----------
    problem : str
        A predicate, such as "is NaN"; by default that the argument is this value. Without an argument, a sentence.
    remedy : str
        What to do; may be empty.
    argument : str or None
        The name of the argument.
    at : int, tuple or None
        The first bad position. In a matrix a pair, (row, ``None``) for a whole row.
    value : object
        The bad value: a number, or text; the repr of anything else. ``None`` where the problem says all.
    """

    def __init__(
        self, problem: Words | None = None, remedy: Words = "", *,
        argument: str | None = None, at: int | tuple[int, int | None] | None = None, value: Any = None,
    ) -> None:  # fmt: skip
        self._words = f"is {value!r}" if problem is None else problem, remedy
        self.problem, self.remedy = map(_said, self._words)
        self.argument, self.at = argument, at
        # An error outlives its call, and travels between processes: it holds no arrays and no tables.
        self.value = value if value is None or isinstance(value, (Number, str, bytes)) else repr(value)
        super().__init__(self.rendered(self.place))

    @property
    def place(self) -> str:
        """The argument, and the position in it."""
        if self.at is None or self.argument is None:
            return self.argument or ""
        if not isinstance(self.at, tuple):
            return f"{self.argument}[{self.at}]"
        row, column = self.at
        return f"row {row} of {self.argument}" if column is None else f"{self.argument}[{row}, {column}]"

    def about(self, argument: str) -> Self:
        """The same error, where the caller knows the argument by another name."""
        return type(self)(*self._words, argument=argument, at=self.at, value=self.value)

    def at_row(self, row: int, whose: Wording) -> Self:
        """The same error at this row of all, where some were looked at; `whose` ends the problem."""
        problem, remedy = self._words
        pieces = problem if type(problem) is tuple else (problem,)
        return type(self)((*pieces, whose), remedy, argument=self.argument, at=row, value=self.value)

    def within(self, part: str) -> Self:
        """The same error, where rows of this part alone were looked at."""
        return self.at_place(f"{part}: {self.place}{' ' * bool(self.place)}")

    def at_place(self, place: str) -> Self:
        """The same error about this place, as the beginning of the message, in place of an argument."""
        problem, remedy = self._words
        pieces = problem if type(problem) is tuple else (problem,)
        return type(self)((place, *pieces), remedy)

    def rendered(self, subject: str, *, in_shell: bool = False) -> str:
        """The message about what is called so."""
        problem, remedy = (_said(words, in_shell) for words in self._words)
        return f"{subject}{' ' * bool(subject)}{problem}{'; ' * bool(remedy)}{remedy}"


class InputError(ArgumentError, ValueError):
    """A value that cannot be used: the message names the argument, the first bad position, the value and the remedy.

    Attributes
    ----------
    argument, at, value, problem, remedy
        The parts of the message: which argument, where in it, the bad value, what is wrong, and what to do. Those that a
        message does not have are ``None``, or empty.
    """


class InputTypeError(ArgumentError, TypeError):
    """An argument of the wrong type or shape; its fields are those of an `InputError`."""


class MemoryLimitError(ArgumentError, MemoryError):
    """The memory that a user allows is too little."""


class NotFittedError(FastbinError, ValueError, AttributeError):
    """The calibrator has no model yet; call its fit first."""


class FormatError(FastbinError, ValueError):
    """Bytes that cannot be read as a model: foreign, damaged, truncated, or of a newer version."""


class GuaranteeError(FastbinError, ValueError):
    """A guarantee that the method, or the data, does not support; the message cites the theorem."""


class MissingDependencyError(FastbinError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""
