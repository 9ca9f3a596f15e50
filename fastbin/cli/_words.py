"""The words of the library's errors as those of the command line: an argument of a function is an option."""

from __future__ import annotations

import click

from fastbin._base.errors import ArgumentError

# Arguments whose options are called otherwise.
CALLED = {"sample_weight": "weights", "classes": "class_labels"}


def subject_of(error: ArgumentError) -> str:
    """What an error is about: the option of the command that is running, if the argument has one, or else the argument."""
    context = click.get_current_context(silent=True)
    name = CALLED.get(error.argument or "", error.argument)
    for parameter in context.command.params if context and error.at is None else ():
        if parameter.name == name and isinstance(parameter, click.Option):
            return parameter.opts[-1]
    return error.place


def message_of(error: BaseException) -> str:
    """The message of any error, with the options that its remedy needs."""
    return error.rendered(error.place, in_shell=True) if isinstance(error, ArgumentError) else str(error)
