"""Text from files, tables and models is printed without what a terminal, a page or a log would take as a command."""

from __future__ import annotations

import decimal
import math
import traceback
import unicodedata
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastbin as fb
from fastbin._base.shown import outwards, outwards_as, printable, rounded, rounded_down, rounded_up

COMMANDS = {
    "\x1b]0;owned\x07": r"\x1b]0;owned\x07",
    "\x9b31m": r"\x9b31m",  # C1: the same as ESC [
    "\x7f\x08": r"\x7f\x08",
    "a\rb\nc\td": r"a\rb\nc\td",
    "\u202egnp.exe": r"\u202egnp.exe",
    "\u2066\u200b\u2028\ufeff": r"\u2066\u200b\u2028\ufeff",
    "\udcff": r"\udcff",
    "\U000e0041": r"\U000e0041",  # a tag, which nobody sees
    "\0": r"\x00",
}


@pytest.mark.parametrize("text", COMMANDS)
def test_commands_are_shown_as_escapes(text: str) -> None:
    assert printable(text) == COMMANDS[text]


@pytest.mark.parametrize(
    "text", ["", "plain", "Größe", "名前\u3000x", "a\xa0b", "नमस्ते", "e\u0301", "🏦 €", "[bold]$x$", r"C:\new"]
)
def test_what_people_write_stays(text: str) -> None:
    assert printable(text) == text


@given(st.text(st.characters(codec=None)))
def test_nothing_but_signs_and_spaces_is_left(text: str) -> None:
    shown = printable(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for character in shown)
    assert printable(shown) == shown
    assert printable(text, keep="\n").count("\n") == text.count("\n")


def test_errors_and_warnings_are_printed_so() -> None:
    hostile = "\x1b]0;owned\x07\u202e"
    for kind in (fb.FastbinError, fb.FastbinWarning, *fb.FastbinError.__subclasses__()):
        assert str(kind(f"column {hostile}\nof a file")) == "column \\x1b]0;owned\\x07\\u202e\nof a file"
    try:
        raise fb.InputError(hostile)
    except fb.InputError:
        assert "\x1b" not in traceback.format_exc()
    shown = warnings.formatwarning(fb.FastbinWarning(hostile), fb.FastbinWarning, __file__, 1, "")
    assert "\x1b" not in shown
    assert r"\x1b]0;" in shown


def test_numbers_that_differ_by_the_rounding_of_sums() -> None:
    assert (rounded_up(0.1 + 0.2), outwards(0.3 - 0.1, 0.4)) == ("0.3000", "0.2000 to 0.4000")
    assert (rounded_up(1e-13), outwards(-1e-13, 1e-13), rounded(-0.0)) == ("0.0000", "0.0000 to 0.0000", "0.0000")
    assert (rounded_up(0.99990001), rounded_down(-0.00012345)) == ("1.0000", "-0.00013")
    assert rounded_up(1e300).startswith("1" + "0" * 20)
    assert (rounded_up(math.inf), rounded(math.nan)) == ("inf", "nan")


def test_the_decimal_context_of_a_program_changes_nothing() -> None:
    with decimal.localcontext() as context:
        context.prec, context.traps[decimal.Inexact] = 2, True
        assert (rounded_up(0.123456), outwards(0.123456, 123.456789)) == ("0.1235", "0.1234 to 123.4568")


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.sampled_from([".4f", ".3e", ".3g"]))
def test_intervals_in_tables_still_hold_and_are_narrow(one: float, other: float, form: str) -> None:
    low, high = sorted((one, other))
    shown_low, shown_high = map(float, outwards_as(form, low, high).split(" to "))
    slack = 1e-12  # below which nothing is told
    assert shown_low <= low + slack
    assert shown_high >= high - slack
    for number, shown in ((low, shown_low), (high, shown_high)):
        unit = 1e-4 if form == ".4f" else number * (1e-2 if form == ".3g" else 1e-3)
        assert abs(number - shown) <= unit * (1.0 + 1e-9) + slack


@given(st.floats(-1e6, 1e6), st.integers(0, 8))
def test_what_is_rounded_still_holds(number: float, places: int) -> None:
    slack = 1e-12 + 1e-12 * abs(number)
    assert float(rounded_down(number, places)) - slack <= number <= float(rounded_up(number, places)) + slack
