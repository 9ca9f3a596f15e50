"""The command line: one module per command, imported when it is needed; any error becomes one line and an exit code.

A module whose name does not start with an underscore and that holds a click command named ``command`` is a command of that
name; nothing has to be registered. Modules import nothing slow at their top, so that ``fastbin --help`` answers at once.
"""

from __future__ import annotations

import errno
import os
import pkgutil
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from fastbin._base.dependencies import install_command
from fastbin._base.errors import ArgumentError, FastbinError
from fastbin._base.shown import printable
from fastbin._core.score import library_version
from fastbin.cli._console import discard

REFUSED, USAGE, INTERRUPTED = 1, 2, 130

# Commands that compare end with 1 where there is a difference, and with 2 where input is refused, as cmp and diff do.
COMPARING = ("verify",)

# By this variable a shell asks click for the script that completes commands, or for what completes a line.
COMPLETION = "_FASTBIN_COMPLETE"

# The order of use; a command that is not listed comes after these.
ORDER = (
    "demo", "fit", "predict", "inspect", "assess", "decide", "performance", "report", "export", "verify", "verify-data", "bins",
    "plan", "adapt", "monitor",
)  # fmt: skip

HELP = """Turn a classifier's scores into probabilities that carry a finite-sample, distribution-free guarantee.

Give it scores with known outcomes that the classifier was not trained on (fit), then score new data (predict).
"""

EPILOG = """\b
Start here:
  fastbin demo                     see it work, on made-up data
  fastbin fit scores.csv --score p --label y -o credit.fbm
  fastbin inspect credit.fbm       what was fitted, and what it promises
  fastbin predict credit.fbm new.csv -o out.csv

\b
Exit codes:
  0    success, also if the reader of the output closed it early
  1    the input was refused: one line on standard error says why, and no
       output file is left behind; verify: the answers differ
  2    the command was not understood; verify: or the input was refused
  3    with --exit-code: assess found the certificate contradicted, or the
       alarm of monitor is on; verify-data: the rows give other bytes;
       report --check: a figure differs
  4    verify cannot run the exported file here
  130  interrupted

\b
C programs:
  cc main.c $(fastbin --cflags --libs)

\b
Completion, in ~/.bashrc (zsh_source, fish_source: other shells):
  eval "$(_FASTBIN_COMPLETE=bash_source fastbin)"
"""


class CommandLine(click.Group):
    """The command ``fastbin``."""

    def __init__(self) -> None:
        names = {"help_option_names": ["-h", "--help"]}
        super().__init__("fastbin", help=HELP, epilog=EPILOG, no_args_is_help=True, context_settings=names)
        click.version_option(library_version(), message="fastbin %(version)s", help="Show the version.")(self)

    def list_commands(self, ctx: click.Context) -> list[str]:
        modules = pkgutil.iter_modules([str(Path(__file__).parent)])
        names = [module.name.replace("_", "-") for module in modules if not module.name.startswith("_")]
        return sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        module = f"fastbin.cli.{name.replace('-', '_')}"
        return import_module(module).command if name in self.list_commands(ctx) else None

    def main(self, args: Sequence[str] | None = None, *_: Any, **options: Any) -> Any:
        """Run and leave the process (click's own entry, which its test runner calls)."""
        sys.exit(self.run(list(sys.argv[1:] if args is None else args)))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # before click turns it into a failure: the reader has seen enough
            discard(sys.stdout)
            return 0

    def run(self, arguments: list[str]) -> int:
        """Run a command; returns the exit code. An error is printed in one line."""
        try:
            if not arguments and not os.environ.get(COMPLETION):
                click.echo(self.get_help(click.Context(self, info_name="fastbin", **self.context_settings)))
                return USAGE
            result = super().main(arguments, prog_name="fastbin", standalone_mode=False)
            code = result if isinstance(result, int) else 0
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            code = _print_error(error, USAGE if arguments and arguments[0] in COMPARING else REFUSED)
        return _flush(code)


def _flush(code: int) -> int:
    """Flush the output while an error can still be printed."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
    except OSError as error:  # such as a full disk
        discard(sys.stdout)
        return code or _print_error(error)
    return code


def _print_error(error: BaseException, refused: int = REFUSED) -> int:
    """Print what a command raised; returns the exit code, that for what is refused being given."""
    code, message = refused, _message_of(error)
    if isinstance(error, SystemExit):  # click's answer to a shell, or to a pipe that was closed while it wrote help
        if error.code and os.environ.get(COMPLETION):
            _print_line(f"{COMPLETION} is {os.environ[COMPLETION]!r}; give bash_source, zsh_source or fish_source")
            return USAGE
        return 0
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        code, message = INTERRUPTED, "interrupted"
    elif isinstance(error, click.ClickException):
        code, message = error.exit_code, error.format_message()
        if message.startswith("Got unexpected extra argument"):
            message += "; a pattern of files goes in quotes, such as 'data/*.parquet', or the shell replaces it by their names"
    elif isinstance(error, ModuleNotFoundError) and not isinstance(error, FastbinError):
        if error.name is None or error.name.startswith("fastbin"):
            raise error
        message = f"this needs {error.name}, which is not installed; {install_command('cli')}"
    elif isinstance(error, OSError):
        place = "" if error.filename is None else f"{error.filename}: "
        is_closed = error.filename is None and error.errno == errno.EBADF
        message = "standard output is closed" if is_closed else f"{place}{error.strerror or error}"
    elif isinstance(error, MemoryError):
        message = f"not enough memory: {message}" if message else "not enough memory"
    elif not isinstance(error, FastbinError):
        raise error
    _print_line(message)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(f"Try '{error.ctx.command_path} --help'.", err=True)
    return code


def _message_of(error: BaseException) -> str:
    """The message, with the options that its remedy needs."""
    return error.rendered(error.place, in_shell=True) if isinstance(error, ArgumentError) else str(error)


def _print_line(message: str) -> None:
    """One line on standard error, if it is open. Control characters, and bytes that are not text, are shown as escapes."""
    line = "error: " + " ".join(printable(message, keep="\n\t").split())
    try:
        click.echo(line, err=True)
    except OSError:
        discard(sys.stderr)


command_line = CommandLine()
