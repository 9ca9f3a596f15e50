"""The errors that fastbin raises, each also of a built-in kind, and its warning.

Messages have names and values from files, tables and models in them. So they are printed, also in tracebacks and logs, with
control characters as escapes.
"""

from __future__ import annotations

from fastbin._shown import printable


class FastbinError(Exception):
    """The base of all errors that fastbin raises."""

    def __str__(self) -> str:
        return printable(super().__str__(), keep="\n\t")


class FastbinWarning(UserWarning):
    """A result that may not be the intended one; the message names what to check."""

    def __str__(self) -> str:
        return printable(super().__str__(), keep="\n\t")


class InputError(FastbinError, ValueError):
    """A value that cannot be used: the message names the argument, the first bad position, the value and the remedy."""


class InputTypeError(FastbinError, TypeError):
    """An argument of the wrong type or shape."""


class NotFittedError(FastbinError, ValueError, AttributeError):
    """The calibrator has no model yet; call its fit first."""


class FormatError(FastbinError, ValueError):
    """Bytes that cannot be read as a model: foreign, damaged, truncated, or of a newer version."""


class GuaranteeError(FastbinError, ValueError):
    """A guarantee that the method, or the data, does not support; the message cites the theorem."""


class MissingDependencyError(FastbinError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""
