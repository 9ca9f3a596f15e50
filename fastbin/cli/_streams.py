"""Standard streams and files on the command line: "-", closed streams, and who may read or write what."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from fastbin._errors import FormatError, InputError
from fastbin._files import is_replaceable, replace_file

if TYPE_CHECKING:
    from fastbin.model import BinnedModel

__all__ = ["check_inputs", "check_output", "load_model", "told_name", "told_output", "write_output"]

STDIN_NAMES = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def told_name(path: str) -> str:
    """The path, or "standard input"."""
    return "standard input" if path == "-" else path


def told_output(path: str) -> str:
    """The path, or "standard output"."""
    return "standard output" if path == "-" else path


def check_inputs(**paths: str | tuple[str, ...] | None) -> None:
    """Refuse two uses of the standard input, which can be read only once."""
    each = {name: (value,) if isinstance(value, str) else value or () for name, value in paths.items()}
    using = [name for name, values in each.items() for path in values if path in STDIN_NAMES]
    if len(using) > 1:
        told = " and ".join(dict.fromkeys(name.replace("_", "-") for name in using))
        raise click.UsageError(f"standard input can be read only once, and {told} would each read it; name a file")


def check_output(path: str, *, overwrites: tuple[str, ...] = (), is_text: bool = False) -> None:
    """Refuse, before any work is done, a path to which nothing can be written.

    Parameters
    ----------
    path
        "-" for the standard output.
    overwrites
        Files, or folders of files, that are read and must stay.
    is_text
        Whether what is written may go to a terminal.
    """
    if path == "-":
        if not is_text and sys.stdout.isatty():
            raise InputError("standard output is a terminal, which a binary file would upset; send it to a file or a pipe")
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"{path} is a folder; name a file")
    if not is_replaceable(path):
        return
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"{folder if target.name != Path(path).name else Path(path).parent} is no folder; make it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{folder} cannot be written to")
    for other in overwrites:
        if other == "-" or not os.path.exists(other):
            continue
        if os.path.isdir(other) and os.path.samefile(other, folder):
            raise InputError(f"{path} is in the folder that is read; write to another one")
        if target.exists() and target.samefile(other):
            raise InputError(f"{path} is the file that is read; write to another one")


def write_output(path: str, write: Callable[[Any], object]) -> None:
    """Let `write` fill a binary file: the standard output, or one that `replace_file` makes."""
    if path != "-":
        sys.stdout.flush()  # a path may mean the same stream
        replace_file(path, write)
        return
    sys.stdout.flush()
    out: BinaryIO = sys.stdout.buffer
    write(out)
    out.flush()


def load_model(path: str) -> BinnedModel:
    """The model in a file, or on the standard input."""
    from fastbin._load import load
    from fastbin.model import BinnedModel

    if path != "-":
        return load(path)
    if sys.stdin is None:
        raise InputError("standard input is closed; name a model file")
    try:
        return BinnedModel.from_bytes(sys.stdin.buffer.read())
    except FormatError as error:
        raise FormatError(f"standard input: {error}") from None
