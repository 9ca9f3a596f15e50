"""Shared parameter texts: what is filled in, where, and how deep."""

from __future__ import annotations

import inspect

import pytest

from fastbin._base.docstrings import shared_docs

SOURCE = """A source.

    Parameters
    ----------
    alpha : float
        Failure probability.
        From 0 to 1/2.
    low, high : int

    Raises
    ------
    InputError, InputTypeError
        When an argument is out of range.
    """


def test_entries_and_sections_are_filled_in_at_the_depth_of_their_line() -> None:
    @shared_docs(SOURCE)
    class Interval:
        """An interval.

        Parameters
        ----------
        n : int
            Of {alpha, beta}.
        {alpha}

        {Raises}
        """

    expected = """An interval.

Parameters
----------
n : int
    Of {alpha, beta}.
alpha : float
    Failure probability.
    From 0 to 1/2.

Raises
------
InputError, InputTypeError
    When an argument is out of range."""
    assert inspect.getdoc(Interval) == expected


def test_a_name_that_no_source_has_is_refused() -> None:
    with pytest.raises(KeyError, match="gamma"):

        @shared_docs(SOURCE, "Another.")
        def function() -> None:
            """Does nothing.

            {gamma}
            """


def test_stripped_docstrings_stay_stripped() -> None:
    def function() -> None: ...

    assert shared_docs(None)(function).__doc__ is None
