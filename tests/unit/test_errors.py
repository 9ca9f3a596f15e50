"""Errors about arguments are made of fields, and the message of the fields."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin._base.errors import Wording, by_name

InputError = fb.InputError
FULL: dict[str, Any] = {"argument": "scores", "at": 3, "value": 1.5}
REMEDY = ("pass ", Wording("score_range=None", "--score-range any"), " at fit")

TOLD = "scores[3] is 1.5, outside [0, 1]; pass score_range=None at fit"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (InputError("lengths differ"), "lengths differ"),
        (InputError("lengths differ", "give equal ones"), "lengths differ; give equal ones"),
        (InputError(argument="alpha", value=2), "alpha is 2"),
        (InputError(argument="ends", value="keep"), "ends is 'keep'"),
        (InputError("is NaN", "remove such rows", argument="scores", at=0), "scores[0] is NaN; remove such rows"),
        (InputError("is 1.5, outside [0, 1]", REMEDY, **FULL), TOLD),
        (InputError(argument="P", at=(3, 1), value=2.0), "P[3, 1] is 2.0"),
        (InputError("sums to 0.5", argument="P", at=(3, None)), "row 3 of P sums to 0.5"),
        (InputError(("needs ", by_name("n_bins", 3)), argument="split"), "split needs n_bins=3"),
        (InputError("is '\x1b'", argument="name"), "name is '\\x1b'"),
    ],
)
def test_the_message_is_made_of_the_fields(error: fb.InputError, told: str) -> None:
    assert str(error) == told


def test_fields_are_plain_text() -> None:
    error = InputError("is 1.5, outside [0, 1]", REMEDY, **FULL)
    fields = error.argument, error.at, error.value, error.problem, error.remedy
    assert fields == ("scores", 3, 1.5, "is 1.5, outside [0, 1]", "pass score_range=None at fit")
    bare = InputError("lengths differ")
    assert (bare.argument, bare.at, bare.value, bare.problem, bare.remedy) == (None, None, None, "lengths differ", "")


def test_a_shell_has_its_own_words_and_names() -> None:
    error = InputError("is 1.5, outside [0, 1]", REMEDY, **FULL)
    assert error.rendered("the value", in_shell=True) == "the value is 1.5, outside [0, 1]; pass --score-range any at fit"
    assert InputError(by_name("edges_share", 0.5)).rendered("", in_shell=True) == "--edges-share 0.5"


def test_an_error_about_a_part_keeps_both_wordings() -> None:
    error = InputError(("needs ", by_name("n_bins", 3)), "give more", argument="scores").within("segment 'a'")
    assert str(error) == "segment 'a': scores needs n_bins=3; give more"
    assert error.rendered("", in_shell=True) == "segment 'a': scores needs --n-bins 3; give more"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("kind", [fb.InputError, fb.InputTypeError])
def test_errors_pickle_and_copy(kind: type[fb.InputError], again: Callable[[Any], Any]) -> None:
    error = kind("is 1.5, outside [0, 1]", REMEDY, **FULL)
    other = again(error)
    assert type(other) is kind
    assert (str(other), other.args, vars(other)) == (str(error), error.args, vars(error))
    assert other.rendered("it", in_shell=True) == error.rendered("it", in_shell=True)


@pytest.mark.parametrize(("value", "kept"), [(2, 2), ("a", "a"), (np.float64(0.5), 0.5), ([1], "[1]"), (None, None)])
def test_errors_hold_no_arrays(value: Any, kept: Any) -> None:
    assert InputError(argument="alpha", value=value).value == kept
