"""Standard streams and files on the command line: "-", closed streams, and which paths can be read and written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fastbin._base.errors import FormatError, InputError
from fastbin._base.files import is_replaceable, read_saved, replace_file
from fastbin._base.shown import printable
from fastbin.cli._console import console

if TYPE_CHECKING:
    from rich.console import Console

    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet

STDIN_NAMES = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def display_name(path: str) -> str:
    """The path as it is shown, or "standard input"."""
    return "standard input" if path == "-" else printable(path)


def check_inputs(**paths: str | tuple[str, ...] | None) -> None:
    """Refuse two uses of the standard input, which can be read only once."""
    each = {name: (value,) if isinstance(value, str) else value or () for name, value in paths.items()}
    using = [name.replace("_", "-") for name, values in each.items() for path in values if path in STDIN_NAMES]
    if len(using) > 1:
        names = " and ".join(dict.fromkeys(using))
        raise click.UsageError(f"standard input can be read only once, and {names} would each read it; name a file")


class Output:
    """Where a command writes its result, checked before any work is done.

    Parameters
    ----------
    path
        "-" for the standard output, ``None`` for a result that is not written.
    reads
        Files, folders and patterns of files that are read and must stay.
    is_text
        Whether what is written may go to a terminal.
    """

    def __init__(self, path: str | None, *, reads: tuple[str, ...] = (), is_text: bool = False) -> None:
        self._path = path
        self.name = "standard output" if path == "-" else path
        if path == "-" and not is_text and sys.stdout.isatty():
            raise InputError("standard output is a terminal, which cannot show a binary file; send it to a file or a pipe")
        if path not in (None, "-"):
            _check_target(path, reads)

    def write(self, content: bytes | Callable[[Any], object]) -> None:
        """Write bytes, or let a function fill a binary file: the standard output, or one that `replace_file` makes."""
        fill = content if callable(content) else lambda file: file.write(content)
        sys.stdout.flush()  # a path may mean the same stream
        if self._path == "-":
            fill(sys.stdout.buffer)
            sys.stdout.buffer.flush()
        elif self._path is not None:
            replace_file(self._path, fill)

    def messages(self) -> Console:
        """The console for what is shown beside the result."""
        return console(stderr=self._path == "-")


def _check_target(path: str, reads: tuple[str, ...]) -> None:
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"{path} is a folder; name a file")
    if not is_replaceable(path):
        return
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"{folder if target.name != Path(path).name else Path(path).parent} is not a folder; make it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{folder} cannot be written to")
    for other in reads:
        if other != "-" and (complaint := _why_it_is_read(path, target, other)) is not None:
            raise InputError(f"{path} {complaint}; write to another one")


def _why_it_is_read(path: str, target: Path, other: str) -> str | None:
    """What is wrong with writing to this path while another name is read, if anything is."""
    from fastbin.tables.folders import is_part_of, is_pattern, list_files

    if os.path.isdir(other) and any(os.path.samefile(other, each) for each in target.parents):
        return "is in the folder that is read"
    with suppress(InputError):  # which is told when the table is opened
        files = list_files(other)
        if target.exists() and any(os.path.exists(file) and target.samefile(file) for file in files or [other]):
            return "is the file that is read" if files is None else "is a file that is read"
    if is_pattern(other) and any(is_part_of(name, other) for name in (path, str(target))):
        return f"has a name that the pattern {other!r} stands for"
    return None


def read_file(path: str) -> bytes:
    """A file that is to be a model or an export, or the standard input. Of a file that can be neither only the beginning."""
    from fastbin.export.verify import is_export

    if path != "-":
        return bytes(read_saved(path, is_other=is_export))
    if sys.stdin is None:
        raise InputError("standard input is closed; name a model file")
    return bytes(read_saved(sys.stdin.buffer, is_other=is_export))


def load_any(path: str) -> BinnedModel | ModelSet:
    """The model or the set in a file, or on the standard input."""
    from fastbin.model_set import read

    data = read_file(path)
    if not (data.lstrip().startswith(b"{") and b'"fastbin"' in data):
        return named(path, read, data)
    made = "model.fbm" if path == "-" else Path(path).with_suffix(".fbm")
    raise FormatError(
        f"{display_name(path)} is a model in JSON, and its file is needed here; make it: fastbin export {path} -o {made}"
    )


def named(path: str, read: Callable[[bytes], Any], data: bytes) -> Any:
    """What is read of these bytes; a refusal names the path."""
    try:
        return read(data)
    except FormatError as error:
        raise FormatError(f"{display_name(path)}: {error}") from None


def load_model(path: str) -> BinnedModel:
    """The same where one model is needed."""
    from fastbin.model import BinnedModel

    loaded = load_any(path)
    if not isinstance(loaded, BinnedModel):
        raise InputError(f"{display_name(path)} is a set of {len(loaded):,} models, and one model is needed here")
    return loaded
