"""Errors of the library in the words of the command line: options instead of arguments."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

import fastbin as fb
from fastbin._base.errors import by_name
from fastbin.cli import _message_of, command_line
from fastbin.cli._tables import subject_of

CONTEXT = click.Context(command_line)
COMMANDS = [command for name in command_line.list_commands(CONTEXT) if (command := command_line.get_command(CONTEXT, name))]
OPTIONS = {option for command in COMMANDS for parameter in command.params for option in parameter.opts}


def test_every_option_that_an_error_names_exists() -> None:
    source = "\n".join(path.read_text(encoding="utf8") for path in Path(fb.__file__).parent.rglob("*.py"))
    pairs = re.findall(r'\bWording\(\s*(?:"[^"]*"|f"[^"]*"),\s*f?"([^"]*)"', source)
    named = {option for shell in pairs for option in re.findall(r"--[a-z-]+", shell)}
    named |= {by_name(argument, 0).shell.split()[0] for argument in re.findall(r'\bby_name\("(\w+)"', source)}
    assert len(named) > 12
    assert named <= OPTIONS, named - OPTIONS


@pytest.mark.parametrize(
    ("argument", "at", "subject"),
    [
        ("n_bins", None, "--n-bins"),
        ("sample_weight", None, "--weights"),
        ("sample_weight", 3, "sample_weight[3]"),
        ("classes", None, "--class-labels"),
        ("scores", None, "scores"),
        ("file", None, "file"),
        (None, None, ""),
    ],
)
def test_an_argument_is_the_option_of_the_command(argument: str | None, at: int | None, subject: str) -> None:
    error = fb.InputError("is wrong", argument=argument, at=at)
    fit = command_line.get_command(CONTEXT, "fit")
    assert fit is not None
    with click.Context(fit):
        assert subject_of(error) == subject
    assert subject_of(error) == error.place, "no command is running"


def test_other_errors_say_the_same_everywhere() -> None:
    assert _message_of(ValueError("a")) == "a"
    assert _message_of(fb.InputError("is 2", "pass 1", argument="n_bins")) == "n_bins is 2; pass 1"
