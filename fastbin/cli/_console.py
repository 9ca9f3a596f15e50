"""Output: results on standard output, notes and progress on standard error.

Rich leaves out colours if the output is not a terminal or NO_COLOR is set. Lines are wrapped on terminals only, so that a
program that reads them finds each sentence on one line.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource

from fastbin._base.shown import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table as TextTable
    from rich.text import Text

    from fastbin.io import Table

# No progress bar below this size: bytes of text, or 16 times the rows of another file.
SHOW_BAR_FROM = 2**24
WIDTH_WITHOUT_TERMINAL = 250


def console(*, stderr: bool = False) -> Console:
    """A console on the present standard output or standard error."""
    made = _console_class()(file=sys.stderr if stderr else sys.stdout, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width, made.soft_wrap = WIDTH_WITHOUT_TERMINAL, True
    return made


@cache
def _console_class() -> type[Console]:
    from rich.console import Console

    class OwnConsole(Console):
        """Shows control characters of names and values as escapes, so that those it writes are its own.

        Writes nothing more after a broken pipe, and raises no error: the reader has seen enough, but work may be left.
        """

        def render_str(self, text: str, **how: Any) -> Text:
            return super().render_str(printable(text, keep="\n\t"), **how)

        def on_broken_pipe(self) -> None:
            self.quiet = True
            discard(self.file)  # type: ignore[arg-type]

    return OwnConsole


def is_typed(option: str) -> bool:
    """Whether an option of the command that is running was given, by the name of its argument; others have their default."""
    return click.get_current_context().get_parameter_source(option) not in (None, ParameterSource.DEFAULT)


def option_of(argument: str) -> str:
    """The option that becomes this argument of a command, as it is typed."""
    return f"--{argument.replace('_', '-')}"


def say(text: str) -> None:
    """Print text for programs, without wrapping or styles; control characters as escapes."""
    try:
        sys.stdout.write(printable(text, keep="\n\t") + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def say_json(content: Mapping[str, Any]) -> None:
    """Print JSON; a number that JSON does not have is an error."""
    say(json_text(content))


def json_text(content: Mapping[str, Any]) -> str:
    """The same as text, without control characters."""
    return json.dumps(content, indent=2, allow_nan=False).replace("\x7f", r"\u007f")  # the one that JSON lets stand


def show(result: Any, as_json: bool, in_words: Callable[[Any], object], **about: Any) -> None:
    """Print a result: in words, or its ``to_dict`` as JSON after the members that say what it is about."""
    if as_json:
        say_json({**about, **result.to_dict()})
    else:
        in_words(result)


def discard(stream: TextIO) -> None:
    """Send what is still written to a stream, and what it has buffered, to the null device; Python flushes it at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # a stream without a descriptor, or no stream
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def note(message: str) -> None:
    """Print a remark that is not part of the result."""
    console(stderr=True).print(f"note: {message}")


def working(what: str) -> contextlib.AbstractContextManager[object]:
    """Show a spinner with these words while the block runs."""
    shown = console(stderr=True)
    return shown.status(shown.render_str(what)) if shown.is_terminal else contextlib.nullcontext()


@contextlib.contextmanager
def reading(table: Table, what: str) -> Iterator[Callable[[Iterable[Any]], Iterable[Any]]]:
    """Show a progress bar while the block reads a table; pass the batches through the function that this yields."""
    small = table.total is not None and table.total < (SHOW_BAR_FROM if table.is_text else SHOW_BAR_FROM // 16)
    if small or not (shown := console(stderr=True)).is_terminal:  # a console is an import that a small table need not wait for
        yield lambda batches: batches
        return
    from rich.progress import TaskProgressColumn, TimeRemainingColumn

    with _progress(shown, TaskProgressColumn(), TimeRemainingColumn()) as progress:
        task = progress.add_task(printable(what), total=table.total)

        def watched(batches: Iterable[Any]) -> Iterator[Any]:
            for batch in batches:
                yield batch
                progress.update(task, completed=table.done)

        yield watched


@contextlib.contextmanager
def counting_passes(what: str, n_rows: int | None) -> Iterator[Callable[[int, int], object] | None]:
    """Show how far a fit is that goes over so many rows several times; it calls what this yields with its pass and its rows."""
    shown = console(stderr=True)
    if not shown.is_terminal:
        yield None
        return
    from rich.progress import TextColumn, TimeElapsedColumn

    with _progress(shown, TextColumn("{task.completed:,} rows"), TimeElapsedColumn()) as progress:
        task = progress.add_task(what, total=n_rows)
        yield lambda n_passes, done: progress.update(task, description=f"{what}, pass {n_passes}", completed=done)


def _progress(shown: Console, *columns: Any) -> Progress:
    """A bar between its words and these columns. The words of the usual one would read [words] in brackets as styles."""
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(TextColumn("{task.description}", markup=False), BarColumn(), *columns, console=shown, transient=True)


def text_table(titles: Sequence[str], rows: Sequence[Sequence[str]], max_rows: int | None = None) -> TextTable:
    """A table of right-aligned cells; of more than `max_rows` rows, those in the middle become one row of dots."""
    from rich import box
    from rich.table import Column, Table

    from fastbin._base.table import first_and_last

    columns = (Column(printable(title), justify="right", no_wrap=True) for title in titles)
    table = Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for row in first_and_last(rows, max_rows):
        table.add_row(*map(printable, row))
    return table
