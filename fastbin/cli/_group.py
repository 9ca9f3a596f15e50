"""The group of all commands: finds them, and turns whatever they raise into one line and an exit code."""

from __future__ import annotations

import os
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

__all__ = ["INTERRUPTED", "CommandLine"]

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
  0    all went well
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

    def run(self, arguments: list[str]) -> int:
        """Run a command; returns the exit code, having told every error in one line."""
        if not arguments:
            click.echo(self.get_help(click.Context(self, info_name="fastbin")))
            return USAGE
        try:
            result = super().main(arguments, prog_name="fastbin", standalone_mode=False)
            sys.stdout.flush()  # so that a closed pipe shows here
        except (click.Abort, KeyboardInterrupt):
            _tell("interrupted")
            return INTERRUPTED
        except click.UsageError as error:
            return _tell_usage(error)
        except click.ClickException as error:
            _tell(error.format_message())
            return REFUSED
        except BrokenPipeError:  # whoever read the output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return REFUSED
        except FastbinError as error:
            _tell(str(error))
            return REFUSED
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("fastbin"):
                raise
            _tell(f"this needs {error.name}, which is not installed; {install_command('cli')}")
            return REFUSED
        except OSError as error:
            place = f"{error.filename}: " if error.filename is not None else ""
            _tell(f"{place}{error.strerror or error}")
            return REFUSED
        except MemoryError as error:
            _tell(f"not enough memory: {error}" if str(error) else "not enough memory")
            return REFUSED
        return result if isinstance(result, int) else 0


def _tell(message: str) -> None:
    """One line on standard error, in the words of the command line."""
    click.echo("error: " + " ".join(message.split()), err=True)


def _tell_usage(error: click.UsageError) -> int:
    _tell(error.format_message())
    if error.ctx is not None:
        click.echo(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help'.", err=True)
    return USAGE


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"fastbin {library_version()}")
        ctx.exit()
