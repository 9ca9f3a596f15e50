"""The errors that fastbin raises, each also one of Python's own kinds, and its warnings."""

from __future__ import annotations

__all__ = [
    "FastbinError",
    "FastbinWarning",
    "FormatError",
    "GuaranteeError",
    "InputError",
    "InputTypeError",
    "MissingDependencyError",
    "NotFittedError",
]


class FastbinError(Exception):
    """Anything that fastbin refuses to do."""


class FastbinWarning(UserWarning):
    """Something that fastbin did, and that may not be what was wanted; the message names what to look at."""


class InputError(FastbinError, ValueError):
    """A value that cannot be used: the message names the argument, the first bad position, the value and the remedy."""


class InputTypeError(FastbinError, TypeError):
    """An argument of the wrong type or shape."""


class NotFittedError(FastbinError, ValueError, AttributeError):
    """A calibrator was asked for something that only a fitted one has."""


class FormatError(FastbinError, ValueError):
    """Bytes that are not a model: foreign, damaged, truncated, or of a newer version."""


class GuaranteeError(FastbinError, ValueError):
    """A guarantee was asked for that the method, or the data, does not support; the message cites the theorem."""


class MissingDependencyError(FastbinError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""
