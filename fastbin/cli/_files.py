"""Files and standard streams: which can be read and written, and the models and exports that they hold."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fastbin._base.dependencies import needed_for
from fastbin._base.errors import FormatError, InputError
from fastbin._base.files import is_replaceable, read_saved, replace_file
from fastbin._base.shown import how_many, printable
from fastbin.cli._console import console

if TYPE_CHECKING:
    from rich.console import Console
    from typing_extensions import TypeIs

    from fastbin.io import Table
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet
    from fastbin.vector_model import VectorModel

READ_BYTES = 2**20
STDIN_NAMES = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")

# The kinds of export in words, but for JSON, which holds the whole model.
WORDS = {
    "sql": "text of SQL", "onnx": "graph of ONNX", "c": "header of C", "java": "class of Java", "js": "module of JavaScript",
}  # fmt: skip


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


# ---------------------------------------------------------------------- what is written


class Output:
    """Where a command writes its result, checked before any work is done.

    Parameters
    ----------
    path
        "-" for the standard output, ``None`` for a result that is not written.
    reads
        Files, folders and patterns of files that are read and must stay.
    is_text
        Whether the result may go to a terminal.
    is_model
        Whether it is a model or a set, which the suffix of an export would misname.
    beside
        The other results of the command, each of which is written to a place of its own.
    """

    def __init__(
        self, path: str | None, *, reads: tuple[str, ...] = (), is_text: bool = False, is_model: bool = False,
        beside: Iterable[Output] = (),
    ) -> None:  # fmt: skip
        self._path = path
        self.name = "standard output" if path == "-" else path
        if path == "-" and not is_text and sys.stdout.isatty():
            raise InputError("standard output is a terminal, which cannot show a binary file; send it to a file or a pipe")
        if path not in (None, "-"):
            check_target(path, reads)
            if is_model:
                _refuse_suffix_of_export(path)
        if any(self._is_at(other) for other in beside):
            raise InputError(f"{self.name} is where another result of this command is written; write to two places")

    def _is_at(self, other: Output) -> bool:
        """Whether one would be written over the other, or after it into one stream. A device, such as /dev/null, takes both."""
        own, its = self._path, other._path
        if own is None or its is None or "-" in (own, its):
            return own is not None and own == its
        is_one = os.path.realpath(own) == os.path.realpath(its) or (
            os.path.exists(own) and os.path.exists(its) and os.path.samefile(own, its)
        )
        return is_one and is_replaceable(own)

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


def check_one_printed(as_json: bool, *paths: str | None) -> None:
    """Refuse --json beside an output that goes to the standard output as well."""
    if as_json and "-" in paths:
        raise click.UsageError("--json and a result at - would both write to standard output; name a file")


def _refuse_suffix_of_export(path: str) -> None:
    if Path(path).suffix in ("", ".fbm"):  # the usual case, without the import
        return
    from fastbin.export.verify import SUFFIXES

    if Path(path).suffix.lower() in SUFFIXES:
        made = Path(path).with_suffix(".fbm")
        raise InputError(
            f"{path}: a model file is written here, and not an export; take -o {made}, then: fastbin export {made} -o {path}"
        )


def check_target(path: str, reads: tuple[str, ...] = ()) -> None:
    """Refuse a path that cannot be written, or that is one of those that are read."""
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
    """Why this path must not be written while another name is read, if there is a reason."""
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


# ---------------------------------------------------------------------- what is read


class FileDigests:
    """The SHA-256 of files before they are read, and of what comes through a pipe, which must not change meanwhile."""

    def __init__(self) -> None:
        self._before: dict[str, os.stat_result] = {}
        self._of_table: dict[str, str] = {}
        self._piped = hashlib.sha256()

    def watch(self, data: bytes) -> None:
        """Take bytes of a pipe as they are read."""
        self._piped.update(data)

    def of_file(self, path: str) -> bytes:
        """The digest of a file."""
        self._before[path] = os.stat(path)
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while data := file.read(READ_BYTES):
                digest.update(data)
        return digest.digest()

    def begin(self, table: Table) -> dict[str, str]:
        """Before a table is read: the digests of its files, in hexadecimal, by their names below the folder of all of them."""
        if table.can_be_read_again:
            folder = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in table.files])
            self._of_table = {os.path.relpath(path, folder): self.of_file(path).hex() for path in table.files}
        return self._of_table

    def end(self, name: str) -> dict[str, str]:
        """After its last row: the same, which have not changed; or that of the pipe of this name."""
        self.check_unchanged()
        return self._of_table or {display_name(name): self._piped.hexdigest()}

    def end_listed(self, name: str) -> list[dict[str, str]]:
        """The same as JSON has them."""
        return [{"name": file, "sha256": digest} for file, digest in self.end(name).items()]

    def check_unchanged(self) -> None:
        """Refuse if a file has changed since its digest was computed."""
        for path, before in self._before.items():
            now = os.stat(path)
            if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
                raise InputError(f"{path} was changed while it was read; run this again when it is complete")


# ---------------------------------------------------------------------- models and exports


class Exported(NamedTuple):
    """An exported file that does not hold the whole model: what it says of the model."""

    target: str
    sha256: str
    facts: dict[str, str]  # of a graph, its metadata


def _read(path: str) -> bytes:
    """A file that is to be a model or an export, or the standard input; only the beginning if the file can be neither."""
    if path != "-":
        return bytes(read_saved(path, is_other=_is_export))
    if sys.stdin is None:
        raise InputError("standard input is closed; name a model file")
    return bytes(read_saved(sys.stdin.buffer, is_other=_is_export))


def _is_export(head: bytes) -> bool:
    """Whether a file begins as an export. Called for files other than models, so that exports are not imported for these."""
    from fastbin.export.verify import is_export

    return is_export(head)


def _named(path: str, read: Callable[[bytes], Any], data: bytes) -> Any:
    """The model or set in these bytes; a refusal names the path."""
    try:
        return read(data)
    except FormatError as error:
        raise FormatError(f"{display_name(path)}: {error}") from None


def load_any(path: str) -> BinnedModel | ModelSet:
    """The model or the set in a file, or on the standard input."""
    return without_vectors(load_with_vectors(path), path)


def load_with_vectors(path: str) -> BinnedModel | ModelSet | VectorModel:
    """The same, or a vector model."""
    from fastbin.model_set import read

    data = _read(path)
    if not (data.lstrip().startswith(b"{") and re.search(rb'"fastbin"\s*:\s*"(model|set|vector)"', data)):
        loaded: BinnedModel | ModelSet | VectorModel = _named(path, read, data)
        return loaded
    made = "model.fbm" if path == "-" else Path(path).with_suffix(".fbm")
    raise FormatError(
        f"{display_name(path)} is a model in JSON, and its file is needed here; make it: fastbin export {path} -o {made}"
    )


def load_model(path: str) -> BinnedModel:
    """The same where one model is needed."""
    loaded = load_any(path)
    if loaded.is_set:
        raise InputError(f"{display_name(path)} is a set of {how_many(len(loaded), 'model')}, and one model is needed here")
    return loaded


def is_vector(model: Any) -> TypeIs[VectorModel]:
    """Whether a model maps rows of probabilities of all classes."""
    from fastbin.vector_model import VectorModel

    return isinstance(model, VectorModel)


def without_vectors(loaded: Any, path: str) -> BinnedModel | ModelSet:
    """The same, and not a vector model."""
    if is_vector(loaded):
        raise InputError(
            f"{display_name(path)} is a vector model, and this command takes models and sets of models; predict, assess, "
            "report, export and inspect take vector models"
        )
    others: BinnedModel | ModelSet = loaded
    return others


def load_whole(path: str, remedy: str) -> BinnedModel | ModelSet | VectorModel:
    """The model, the set or the vector model in a file, also of JSON; another export is refused with a remedy."""
    loaded = load_or_describe(path)
    if isinstance(loaded, Exported):
        what = WORDS[loaded.target]
        raise InputError(f"{display_name(path)} is a {what} and does not hold the whole model; {remedy} its file or JSON")
    return loaded


def load_or_describe(path: str) -> BinnedModel | ModelSet | VectorModel | Exported:
    """The model, the set or the vector model in a file, also of JSON; of another export, what it says of the model."""
    from fastbin.export import from_json
    from fastbin.export.verify import digest_in, target_of
    from fastbin.model_set import read

    data = _read(path)
    target = None if data.startswith(b"\x89FB") else target_of(data, path)
    if target == "json":
        return _named(path, from_json, data)
    sha256 = target and digest_in(data if target == "onnx" else data.decode("utf8", "replace"), target)
    if not target or not sha256:
        return _named(path, read, data)
    if target == "onnx":
        return Exported(target, sha256, _named(path, _metadata, data))
    version = re.search(rb"\bfastbin ([0-9.]+), model sha256 ", data)
    made_by = re.search(rb"^\W*made by (.+)$", data, re.MULTILINE)
    found = {"fastbin.version": version, "fastbin.provenance": made_by}
    return Exported(target, sha256, {name: each[1].decode("utf8", "replace").strip() for name, each in found.items() if each})


def _metadata(graph: bytes) -> dict[str, str]:
    """The properties of a graph about its model, beside the digest."""
    with needed_for("reading an ONNX graph", extra="onnx"):
        import onnx
        from google.protobuf.message import DecodeError

    from fastbin.export.onnx import SHA256_KEY

    try:
        properties = onnx.load_model_from_string(graph).metadata_props
    except DecodeError as error:
        raise FormatError(f"no ONNX graph that can be read, perhaps it was cut off: {error}") from None
    return {each.key: each.value for each in properties if each.key.startswith("fastbin.") and each.key != SHA256_KEY}
