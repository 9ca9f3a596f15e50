"""The group of all commands: finds them, and turns whatever they raise into one line and an exit code."""

from __future__ import annotations

import errno
import pkgutil
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from fastbin._dependencies import install_command
from fastbin._errors import FastbinError
from fastbin._native.owner import library_version
from fastbin.cli._console import discard

__all__ = ["CommandLine"]

REFUSED, USAGE, INTERRUPTED = 1, 2, 130

# The order in which one meets them; a command that is not listed comes after these.
ORDER = ("demo", "fit", "predict", "inspect", "assess", "report", "bins", "adapt", "monitor")

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
  0    all went well, or whoever read the output had seen enough
  1    the input was refused: one line on standard error says why, and no
       output file is left behind
  2    the command was not understood
  3    with --exit-code: assess found the certificate contradicted, or the
       alarm of monitor is on
  130  interrupted

\b
C programs:
  cc main.c $(fastbin --cflags --libs)
"""


class CommandLine(click.Group):
    """The command ``fastbin``."""

    def __init__(self) -> None:
        super().__init__(
            "fastbin", help=HELP, epilog=EPILOG, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]}
        )
        self.params.append(
            click.Option(
                ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
            )
        )

    # ------------------------------------------------------------------ finding commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        found = [
            module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if not module.name.startswith("_")
        ]
        return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"fastbin.cli.{name}").command
        return command

    # ------------------------------------------------------------------ running them

    def main(self, args: Sequence[str] | None = None, *_: Any, **options: Any) -> Any:
        """Run and leave the process (click's own entry, which its test runner calls)."""
        sys.exit(self.run(list(sys.argv[1:] if args is None else args)))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # before click turns it into a failure: whoever read the output has seen enough
            discard(sys.stdout)
            return 0

    def run(self, arguments: list[str]) -> int:
        """Run a command; returns the exit code, having told every error in one line."""
        try:
            if not arguments:
                click.echo(self.get_help(click.Context(self, info_name="fastbin")))
                return USAGE
            result = super().main(arguments, prog_name="fastbin", standalone_mode=False)
            code = result if isinstance(result, int) else 0
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            code = _tell_error(error)
        return _flush(code)


def _flush(code: int) -> int:
    """Bring the output on its way while an error can still be told."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
    except OSError as error:  # of a disk that is full, perhaps
        discard(sys.stdout)
        return code or _tell_error(error)
    return code


def _tell_error(error: BaseException) -> int:
    """Tell what a command raised; returns the exit code."""
    code, message = REFUSED, str(error)
    if isinstance(error, SystemExit):  # click's answer to a pipe that was closed while it wrote help
        return 0
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        code, message = INTERRUPTED, "interrupted"
    elif isinstance(error, click.UsageError):
        return _tell_usage(error)
    elif isinstance(error, click.ClickException):
        message = error.format_message()
    elif isinstance(error, FastbinError):
        pass
    elif isinstance(error, ModuleNotFoundError):
        if error.name is None or error.name.startswith("fastbin"):
            raise error
        message = f"this needs {error.name}, which is not installed; {install_command('cli')}"
    elif isinstance(error, OSError):
        message = _os_error(error)
    elif isinstance(error, MemoryError):
        message = f"not enough memory: {error}" if str(error) else "not enough memory"
    else:
        raise error
    _tell(message)
    return code


def _os_error(error: OSError) -> str:
    if error.filename is None and error.errno == errno.EBADF:
        return "standard output is closed"
    place = f"{error.filename}: " if error.filename is not None else ""
    return f"{place}{error.strerror or error}"


def _tell(message: str) -> None:
    """One line on standard error, in the words of the command line.

    Bytes of a file name that are no text are shown as escapes, and a closed standard error is nobody to tell.
    """
    line = "error: " + " ".join(message.split())
    try:
        click.echo(line.encode("utf8", errors="backslashreplace").decode("utf8"), err=True)
    except OSError:
        discard(sys.stderr)


def _tell_usage(error: click.UsageError) -> int:
    _tell(error.format_message())
    if error.ctx is not None:
        click.echo(f"Try '{error.ctx.command_path} --help'.", err=True)
    return USAGE


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"fastbin {library_version()}")
        ctx.exit()
