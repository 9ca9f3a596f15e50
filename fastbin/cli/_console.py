"""What is written to a terminal: results on standard output, what goes on meanwhile on standard error.

Rich leaves out colours where the output is no terminal or NO_COLOR is set. Lines are wrapped for terminals alone, so that a
program that reads them finds each sentence on one line.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from fastbin.io import Table

__all__ = ["console", "discard", "note", "reading", "say", "working"]

# Files that are read faster than a bar could be looked at.
SHOW_BAR_FROM = 2**24
WIDTH_WITHOUT_TERMINAL = 250


def console(*, stderr: bool = False) -> Console:
    """A console on a standard stream, as it is now."""
    file = sys.stderr if stderr else sys.stdout
    made = _console_class()(file=file, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made = _console_class()(
            file=file, highlight=False, markup=False, emoji=False, width=WIDTH_WITHOUT_TERMINAL, soft_wrap=True
        )
    return made


@cache
def _console_class() -> type[Console]:
    from rich.console import Console

    class Patient(Console):
        """Goes on in silence when nobody reads any more: whoever reads has seen enough, and there may be work left to do."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            discard(self.file)  # type: ignore[arg-type]

    return Patient


def say(text: str) -> None:
    """Text for programs, to the byte."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def discard(stream: TextIO) -> None:
    """Send what else is written to a stream nowhere, also what it still holds: else Python would complain at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # no stream of the system's, or none at all
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def note(message: str) -> None:
    """Something worth knowing that is no result."""
    console(stderr=True).print(f"note: {message}")


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner beside these words while the block runs."""
    shown = console(stderr=True)
    if not shown.is_terminal:
        yield
        return
    with shown.status(what):
        yield


@contextmanager
def reading(table: Table, what: str) -> Iterator[Callable[..., Any]]:
    """A bar for the reading of a table; call what it yields after each chunk, with other words if need be."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    shown = console(stderr=True)
    small = table.total is not None and table.total < (SHOW_BAR_FROM if table.is_text else SHOW_BAR_FROM // 16)
    if small or not shown.is_terminal:
        yield lambda *_: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*columns, console=shown, transient=True) as progress:
        task = progress.add_task(what, total=table.total)

        def update(words: str | None = None) -> None:
            progress.update(task, completed=table.done, description=words or what)

        yield update
