"""The options of commands: how one is written, and those that mean the same in every command."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

import click

from fastbin._base.checks import check_alpha, check_seed
from fastbin._base.errors import ArgumentError, FastbinError, InputError
from fastbin.cli._files import display_name
from fastbin.cli._predictions import PredictionOptions
from fastbin.cli._tables import KeyOptions, RowOptions

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]

# Below, DuckDB could not decode a row group of usual size.
LEAST_MEMORY = 64 * 10**6


# ---------------------------------------------------------------------- types


class _Checked(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A value that a function converts. The library's own checks are used, so that its messages are those of the command."""

    def __init__(self, name: str, convert: Callable[[str], Any]) -> None:
        self.name, self._convert = name, convert

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._convert(value)
        except (ValueError, FastbinError) as error:
            self.fail(str(error) if isinstance(error, FastbinError) else f"{value!r} is not {self.name}", param, ctx)


class _Count(click.IntRange):
    """An integer, which may be written as 1e6."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if re.fullmatch(r"\d+(\.\d+)?[eE]\+?\d+", str(value)) and float(value).is_integer():
            value = int(float(value))
        return super().convert(value, param, ctx)


def _score_range(value: str) -> tuple[float, float] | None:
    if value == "any":
        return None
    low, high = map(float, value.split(","))
    return low, high


def _split(value: str) -> float | tuple[float, ...]:
    parts = tuple(map(float, value.split(",")))
    return parts[0] if len(parts) == 1 else parts


def _costs(value: str) -> tuple[float, float]:
    false_positive, false_negative = map(float, value.split(","))
    return false_positive, false_negative


def _rate(value: str) -> float:
    rate = float(value)
    if not 0.0 < rate < 1.0:
        raise InputError(f"{value} is not strictly between 0 and 1")
    return rate


def _date(value: str) -> datetime.date:
    return datetime.date.fromisoformat(value)


def _delimiter(value: str) -> str:
    value = {"\\t": "\t", "tab": "\t"}.get(value, value)
    if len(value) != 1:
        raise ValueError
    return value


def _size(value: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kmgt]?)(i?)b?", value.strip().lower())
    if found is None:
        raise ValueError
    number, prefix, binary = found.groups()
    size = int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix or " "))
    if size < LEAST_MEMORY:
        raise InputError(f"{value} is too little; give {LEAST_MEMORY // 10**6}MB or more")
    return size


PATH, COUNT, SAMPLES = click.Path(), _Count(1), _Count(2)
ALPHA = _Checked("a number", lambda value: check_alpha(float(value)))
DELTA = _Checked("a number", lambda value: check_alpha(float(value), "delta"))
TEST_LEVEL = _Checked("a number", lambda value: check_alpha(float(value), "test_level"))
RATE = _Checked("a number", _rate)
SEED = _Checked("an integer", lambda value: check_seed(int(value)))
N_BINS = _Checked("a number of bins or 'auto'", lambda value: "auto" if value == "auto" else int(value))
SCORE_RANGE = _Checked("'any' or a pair such as 0,1", _score_range)
CUTS = _Checked("numbers such as 0.1,0.5", lambda value: tuple(map(float, value.split(","))))
COSTS = _Checked("a pair such as 1,5", _costs)
SPLIT = _Checked("a share such as 0.5, or three parts such as 1,1,1", _split)
DATE = _Checked("a date such as 2026-01-31", _date)
DELIMITER = _Checked("one character", _delimiter)
SIZE = _Checked("a size such as 500MB or 2GB", _size)

# By the word for the value in the help.
TYPES = {
    "FILE": PATH, "MODEL": PATH, "PAGE": PATH, "A": ALPHA, "L": ALPHA, "ALPHA": ALPHA, "P": RATE, "Q": RATE,
    "CHAR": DELIMITER, "DATE": DATE, "SIZE": SIZE,
}  # fmt: skip

# ---------------------------------------------------------------------- how they are written


def option(usage: str, text: str, kind: Any = None, default: Any = None, **more: Any) -> Decorator:
    """An option as the help shows it: "-o --output FILE", "--thin pool|refuse", or a flag such as "--run" and "--top/--all".

    The word for the value tells its type, unless `kind` does. The help shows the default, if there is one. A name without
    hyphens and in small letters is that of the argument.
    """
    *names, value = usage.split()
    if value.islower() and "|" not in value:
        is_pair = "/" in value
        return click.option(*names, value, is_flag=True, default=None if is_pair else False, help=text, **more)
    if kind is None and "|" in value:
        kind, metavar = click.Choice(value.split("|")), None
    else:
        kind, metavar = kind or TYPES.get(value), value
    if default is not None:  # one of None would count as a value of an option that is required
        more["default"] = default
    return click.option(*names, metavar=metavar, type=kind, show_default=True, help=text, **more)


def choice(usage: str, text: str) -> Decorator:
    """An option with a few values, of which the first is the default."""
    return option(usage, text, default=usage.split()[-1].partition("|")[0])


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator, in the order of the help."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


def collected(argument: str, make: Callable[..., Any], *names: str) -> Decorator:
    """A decorator of a command: the values of these options, those it has, become one argument, `make(**values)`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def wrapped(**values: Any) -> Any:
            taken = {name: values.pop(name) for name in names if name in values}
            return command(**{argument: make(**taken)}, **values)

        return wrapped

    return decorate


def examples(*lines: str) -> str:
    """An epilog that shows commands as they are typed."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


# ---------------------------------------------------------------------- of several commands


def _in_errors(command: Command) -> Command:
    """The same, with the name of MODEL in errors about it: the library knows it as `model`, and as the `source` of a move."""

    @wraps(command)
    def wrapped(**values: Any) -> Any:
        try:
            return command(**values)
        except ArgumentError as error:
            known_as = {"model", "source"} - (values.keys() - {"model"})  # --source of some commands is a table
            if error.argument not in known_as or error.at is not None or values["model"] is None:
                raise
            raise error.about(display_name(values["model"])) from error

    return wrapped


def model(command: Command, *, required: bool = True) -> Command:
    """The argument MODEL."""
    return click.argument("model", type=PATH, required=required)(_in_errors(command))


file = click.argument("file", type=PATH)
score = option("--score COLUMN", "The column of scores. Default: the only one with a usual name, such as p or score.")
label = together(
    option(
        "--label COLUMN",
        "The column of outcomes, 0 and 1 (or true and false). Default: the only one with a usual name, such as label, "
        "or beside that of scores if there are two columns.",
    ),
    option("--positive VALUE", "The outcome that counts as 1, such as yes, if outcomes are not 0 and 1."),
)
weights = option(
    "--weights COLUMN", "Sample weights. A column of integers has frequencies, one with decimals, also 1.0, importance weights."
)
alpha = option("--alpha A", "The probability that the stated guarantee fails.", default=0.1)
side = option(
    "--side both|upper|lower",
    "The side of the promise: no true frequency above its value by more than epsilon (upper), none below it (lower), or both.",
    default="both",
)
quiet = option("-q --quiet", "Print nothing but errors.")
as_json = option("--json as_json", "Print JSON, for programs.")

# Which column says what belongs to which model of a set.
cell_columns = together(
    option("--segment COLUMN", "For a set of models: the column that says which of them a row belongs to."),
    option(
        "--classes COLUMNS",
        "For several classes: the columns of their probabilities, such as p_cat,p_dog,p_cow, in the order of the fit.",
    ),
)
cells = together(cell_columns, choice("--inputs probabilities|logits", "What the columns of --classes hold."))

# Predictions in a column, without a model. This becomes the argument `asked` of a command, a `PredictionOptions`.
predictions = together(
    option("--predictions COLUMN", "Without MODEL: are the probabilities in this column of FILE calibrated? Exact tests."),
    option("--by COLUMN", "Of --predictions: the column of grades, which share the level by Holm. --segment names segments."),
    option("--day COLUMN", "Of --predictions: the column of days, for a table by day."),
    option(
        "--cluster COLUMN",
        "Of --predictions: what rows that belong together share, such as the obligor. One row of each is tested, chosen by "
        "--seed, or without it by a seed that is drawn.",
    ),
    option(
        "--side both|upper|lower",
        "Of --predictions, and of the certificate of MODEL: true frequencies above what is served (upper), below it, or both. "
        "Default: both.",
    ),
    option(
        "--asset-correlation R",
        "Of --predictions: also Vasicek's test of defaults that share a factor, with this correlation.",
        float,
    ),
    collected("asked", PredictionOptions, *PredictionOptions._fields),
)

# How tables are read. With the columns that a command has options for, this becomes its argument `rows`, a `RowOptions`.
tables = together(
    option("--delimiter CHAR", "Between the columns of CSV files. Default: as in the header."),
    choice("--decimal .|,", "The decimal mark in CSV files."),
    option("--encoding NAME", "The encoding of CSV files, such as latin-1. Output is always UTF-8.", default="utf-8"),
    option(
        "--memory-limit SIZE",
        "The most memory for rows, such as 500MB: half for the buffers of DuckDB, which reads Parquet, half for rows that are "
        "kept. The program itself takes about 300 MB more.",
    ),
    collected("rows", RowOptions, *RowOptions.__dataclass_fields__),
)

# Where tie keys come from. With the command's own --seed, this becomes its argument `keys`, a `KeyOptions`.
keys = together(
    option(
        "--tie-key COLUMN",
        "What identifies a row, so that its ties are broken the same way each time: 64-bit keys, or with a salt any ids (their "
        "key is fb.hash_keys).",
    ),
    option(
        "--salt TEXT",
        "The secret that the ids in the --tie-key column are hashed with. The list of processes shows it to other users of "
        "this machine; --salt-file does not.",
    ),
    option(
        "--salt-file FILE",
        "A file that holds the secret. Default: the value of the environment variable FASTBIN_SALT, if it is set.",
    ),
    collected("keys", KeyOptions.take, "tie_key", "salt", "salt_file", "seed"),
)

# What is assessed and how: the options that `assess` and `report` share.
assessment = together(
    score,
    label,
    weights,
    cells,
    option("--against MODEL", "Compare with this model too; repeatable.", multiple=True),
    option("--against-column COLUMN", "Compare with the predictions in this column; repeatable.", multiple=True),
    alpha,
    option("--test-level L", "The level of the test whether the certificate holds.", TEST_LEVEL, 0.05),
    option("--seed N", "Break ties by row number and this seed.", SEED, 0),
)

# Who files a page, and when: options of `report`, which say what the lines to sign say.
filing = together(
    option("--prepared-by NAME", "Who files it, for the lines to sign."),
    option("--role ROLE", "The role of who files it."),
    option("--date DATE", "The date of it, such as 2026-01-31. Default: none, so that the same files give the same bytes."),
)


def exit_code(code: int, when: str) -> Decorator:
    """The option that lets a result decide about the exit code."""
    return option("--exit-code", f"Exit with {code} if {when}.")
