"""Options that mean the same in every command."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from fastbin._errors import FastbinError, InputError
from fastbin._scalars import check_alpha, check_seed
from fastbin.cli._files import TableOptions
from fastbin.cli._key_column import KeyOptions

Command = Callable[..., Any]


class _Checked(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A value that a function converts. The library's own checks are used, so that its messages are those of the command."""

    def __init__(self, name: str, convert: Callable[[str], Any]) -> None:
        self.name, self._convert = name, convert

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._convert(value)
        except (ValueError, FastbinError) as error:
            self.fail(str(error) if isinstance(error, FastbinError) else f"{value!r} is not {self.name}", param, ctx)


def _score_range(value: str) -> tuple[float, float] | None:
    if value == "any":
        return None
    low, high = map(float, value.split(","))
    return low, high


def _split(value: str) -> float | tuple[float, ...]:
    parts = tuple(map(float, value.split(",")))
    return parts[0] if len(parts) == 1 else parts


def _rate(value: str) -> float:
    rate = float(value)
    if not 0.0 < rate < 1.0:
        raise InputError(f"{value} is not strictly between 0 and 1")
    return rate


def _delimiter(value: str) -> str:
    value = {"\\t": "\t", "tab": "\t"}.get(value, value)
    if len(value) != 1:
        raise ValueError
    return value


ALPHA = _Checked("a number", lambda value: check_alpha(float(value)))
RATE = _Checked("a number", _rate)
SEED = _Checked("an integer", lambda value: check_seed(int(value)))
N_BINS = _Checked("a number of bins or 'auto'", lambda value: "auto" if value == "auto" else int(value))
SCORE_RANGE = _Checked("'any' or a pair such as 0,1", _score_range)
SPLIT = _Checked("a share such as 0.5, or three parts such as 1,1,1", _split)
DELIMITER = _Checked("one character", _delimiter)


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order of the help."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def collected(argument: str, make: Callable[..., Any], *names: str) -> Callable[[Command], Command]:
    """A decorator of a command: the values of these options, those it has, become one argument, `make(**values)`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def wrapped(**values: Any) -> Any:
            taken = {name: values.pop(name) for name in names if name in values}
            return command(**{argument: make(**taken)}, **values)

        return wrapped

    return decorate


model_argument = click.argument("model", type=click.Path())
file_argument = click.argument("file", type=click.Path())
output_model_option = click.option(
    "-o", "--output", required=True, type=click.Path(), metavar="MODEL", help="The model file to write; - prints it."
)
score_option = click.option(
    "--score", metavar="COLUMN", help="The column of scores. Default: the only one with a usual name, such as p or score."
)
label_option = together(
    click.option(
        "--label",
        metavar="COLUMN",
        help="The column of outcomes, 0 and 1 (or true and false). Default: the only one with a usual name, such as label.",
    ),
    click.option("--positive", metavar="VALUE", help="The outcome that counts as 1, such as yes, if outcomes are not 0 and 1."),
)
weights_option = click.option(
    "--weights", metavar="COLUMN", help="Sample weights. Whole numbers are frequencies, others importance weights."
)
alpha_option = click.option(
    "--alpha", type=ALPHA, default=0.1, show_default=True, metavar="A", help="The probability that the stated guarantee fails."
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")

# How tables are read. With the columns that a command has options for, this becomes its argument `rows`, a `TableOptions`.
table_options = together(
    click.option(
        "--delimiter", type=DELIMITER, metavar="CHAR", help="Between the columns of CSV files. Default: as in the header."
    ),
    click.option(
        "--decimal", type=click.Choice([".", ","]), default=".", show_default=True, help="The decimal mark in CSV files."
    ),
    click.option(
        "--encoding",
        default="utf-8",
        show_default=True,
        metavar="NAME",
        help="Of CSV files, such as latin-1. Output is always UTF-8.",
    ),
    collected("rows", TableOptions.take, *TableOptions.__dataclass_fields__),
)

# Where tie keys come from. With the command's own --seed, this becomes its argument `keys`, a `KeyOptions`.
key_options = together(
    click.option(
        "--key",
        metavar="COLUMN",
        help="What identifies a row, so that its ties are broken the same way each time: 64-bit keys, or with a salt any "
        "ids (their key is fb.hash_keys).",
    ),
    click.option(
        "--salt",
        metavar="TEXT",
        help="The secret that the ids in the --key column are hashed with. The list of processes shows it to other users of "
        "this machine; --salt-file does not.",
    ),
    click.option(
        "--salt-file",
        type=click.Path(),
        metavar="FILE",
        help="A file that holds the secret. Default: the value of the environment variable FASTBIN_SALT, if it is set.",
    ),
    collected("keys", KeyOptions.take, "key", "salt", "salt_file", "seed"),
)

# What is assessed and how: the options that `assess` and `report` share.
assessment_options = together(
    model_argument,
    file_argument,
    score_option,
    label_option,
    weights_option,
    click.option(
        "--against", multiple=True, type=click.Path(), metavar="MODEL", help="Compare with this model too; repeatable."
    ),
    click.option(
        "--against-column", multiple=True, metavar="COLUMN", help="Compare with the predictions in this column; repeatable."
    ),
    alpha_option,
    click.option(
        "--level", type=ALPHA, default=0.05, show_default=True, metavar="L", help="Of the test whether the certificate holds."
    ),
    click.option(
        "--seed", type=SEED, default=0, show_default=True, metavar="N", help="Break ties by row number and this seed."
    ),
)


def exit_code_option(code: int, when: str) -> Callable[[Command], Command]:
    """The option that lets a result decide about the exit code."""
    return click.option("--exit-code", is_flag=True, help=f"Exit with {code} if {when}.")


def examples(*lines: str) -> str:
    """An epilog that shows commands as they are typed."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
