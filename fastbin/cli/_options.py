"""Options that mean the same in every command."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from fastbin._errors import FastbinError
from fastbin._scalars import check_alpha, check_seed

__all__ = [
    "ALPHA",
    "N_BINS",
    "SCORE_RANGE",
    "SEED",
    "SPLIT",
    "alpha_option",
    "assessment_options",
    "examples",
    "json_option",
    "key_options",
    "label_option",
    "n_bins_option",
    "quiet_option",
    "score_option",
    "table_options",
    "weights_option",
]


class _Checked(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A value that the library checks, so that an error says the same here and there."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.parse(value)
        except (ValueError, FastbinError) as error:
            self.fail(str(error) if isinstance(error, FastbinError) else f"{value!r} is not {self.name}", param, ctx)

    def parse(self, value: Any) -> Any:
        raise NotImplementedError


class _Alpha(_Checked):
    name = "a number"

    def parse(self, value: Any) -> float:
        return check_alpha(float(value))


class _Seed(_Checked):
    name = "an integer"

    def parse(self, value: Any) -> int:
        return check_seed(int(value))


class _NBins(_Checked):
    name = "a number of bins or 'auto'"

    def parse(self, value: Any) -> int | str:
        return "auto" if value == "auto" else int(value)


class _ScoreRange(_Checked):
    name = "'any' or a pair such as 0,1"

    def parse(self, value: Any) -> Any:
        if value == "any" or value is None:
            return None
        low, high = (float(end) for end in value.split(","))
        return low, high


class _Split(_Checked):
    name = "a share such as 0.5, or three parts such as 1,1,1"

    def parse(self, value: Any) -> float | tuple[float, ...]:
        parts = tuple(float(part) for part in value.split(","))
        return parts[0] if len(parts) == 1 else parts


class _Delimiter(_Checked):
    name = "one character"

    def parse(self, value: Any) -> str:
        value = {"\\t": "\t", "tab": "\t"}.get(value, value)
        if len(value) != 1:
            raise ValueError
        return str(value)


ALPHA, SEED, N_BINS, SCORE_RANGE, SPLIT, DELIMITER = _Alpha(), _Seed(), _NBins(), _ScoreRange(), _Split(), _Delimiter()

score_option = click.option(
    "--score", metavar="COLUMN", help="The column of scores. Default: the only one with a usual name, such as p or score."
)
n_bins_option = click.option(
    "--n-bins", type=N_BINS, default=10, show_default=True, metavar="N|auto", help="The number of bins."
)
alpha_option = click.option(
    "--alpha", type=ALPHA, default=0.1, show_default=True, metavar="A", help="The chance that the stated guarantee fails."
)
weights_option = click.option(
    "--weights", metavar="COLUMN", help="Sample weights. Whole numbers are frequencies, others importance weights."
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def label_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The column of labels, and what they look like."""
    named = click.option(
        "--label",
        metavar="COLUMN",
        help="The column of outcomes, 0 and 1 (or true and false). Default: the only one with a usual name, such as label.",
    )
    positive = click.option(
        "--positive",
        metavar="VALUE",
        help="The outcome that counts as 1, such as yes, where outcomes are not 0 and 1.",
    )
    return named(positive(command))


def key_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where tie keys come from; `KeyOptions.take` reads them."""
    for option in (
        click.option(
            "--salt-file",
            type=click.Path(),
            metavar="FILE",
            help="A file that holds the secret. Default: what the environment variable FASTBIN_SALT holds, if anything.",
        ),
        click.option(
            "--salt",
            metavar="TEXT",
            help="The secret that the ids in the --key column are hashed with. Others on this machine can see it in the list "
            "of processes; rather use --salt-file.",
        ),
        click.option(
            "--key",
            metavar="COLUMN",
            help="What identifies a row, so that its ties are broken the same way each time: 64-bit keys, or with a salt any "
            "ids (their key is fb.hash_keys).",
        ),
    ):
        command = option(command)
    return command


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How tables are read; the command gets these as one argument, `csv_format`, which is for `open_input`."""

    @wraps(command)
    def wrapped(*, delimiter: str | None, decimal: str, encoding: str, **others: Any) -> Any:
        if delimiter == decimal:
            raise click.UsageError(f"--delimiter and --decimal are both {decimal!r}; one character cannot be both")
        return command(csv_format={"delimiter": delimiter, "decimal": decimal, "encoding": encoding}, **others)

    decorated: Callable[..., Any] = wrapped
    for option in (
        click.option(
            "--encoding",
            default="utf-8",
            show_default=True,
            metavar="NAME",
            help="Of CSV files, such as latin-1; what is written is UTF-8.",
        ),
        click.option(
            "--decimal", type=click.Choice([".", ","]), default=".", show_default=True, help="The decimal mark in CSV files."
        ),
        click.option(
            "--delimiter",
            type=DELIMITER,
            metavar="CHAR",
            help="Between the columns of CSV files. Default: as in the header.",
        ),
    ):
        decorated = option(decorated)
    return decorated


def assessment_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is to be assessed and how: the options that `assess` and `report` share."""
    for option in (
        click.option(
            "--seed", type=SEED, default=0, show_default=True, metavar="N", help="Break ties by row number and this seed."
        ),
        click.option(
            "--level",
            type=ALPHA,
            default=0.05,
            show_default=True,
            metavar="L",
            help="Of the test whether the certificate holds.",
        ),
        alpha_option,
        click.option(
            "--against-column", multiple=True, metavar="COLUMN", help="Compare with the predictions in this column; repeatable."
        ),
        click.option(
            "--against", multiple=True, type=click.Path(), metavar="MODEL", help="Compare with this model too; repeatable."
        ),
        weights_option,
        label_option,
        score_option,
    ):
        command = option(command)
    return command


def examples(*lines: str) -> str:
    """An epilog that shows commands as they are typed."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
