"""Exports on the command line: what each target takes, which one a file name means, and what a file says of itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from fastbin._base.dependencies import needed_for
from fastbin._base.errors import FormatError, InputError
from fastbin.cli._streams import display_name, named, read_file
from fastbin.export import dialects

if TYPE_CHECKING:
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet

# The options of each target.
TARGETS = {
    "sql": ("dialect", "score", "key", "cell", "style", "table", "source", "column", "outputs", "alpha"),
    "onnx": ("outputs", "alpha", "opset"),
    "c": ("outputs", "alpha", "name"),
    "java": ("outputs", "alpha", "name", "package"),
    "js": ("outputs", "alpha"),
    "json": (),
}
WORDS = {
    "sql": "text of SQL", "onnx": "graph of ONNX", "c": "header of C", "java": "class of Java", "js": "module of JavaScript",
}  # fmt: skip
DIALECTS = tuple(dialects.DIALECTS)


def choose_target(target: str | None, path: str) -> str:
    """The target that is named, or that the suffix of a file means."""
    from fastbin.export.verify import SUFFIXES

    suffix = Path(path).suffix.lower()
    if target is None and suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if target is None:
        where = "standard output" if path == "-" else path
        raise click.UsageError(f"say --to; the name of {where} does not tell ({', '.join(SUFFIXES)} do)")
    return target


class Exported(NamedTuple):
    """What an exported file that is not the model itself says of the model."""

    target: str
    sha256: str
    facts: dict[str, str]  # of a graph, its metadata


def load_whole(path: str, remedy: str) -> BinnedModel | ModelSet:
    """The model or the set in a file, also of JSON; another export is refused with a remedy."""
    loaded = load_or_describe(path)
    if isinstance(loaded, Exported):
        what = WORDS[loaded.target]
        raise InputError(f"{display_name(path)} is a {what} and does not hold the whole model; {remedy} its file or JSON")
    return loaded


def load_or_describe(path: str) -> BinnedModel | ModelSet | Exported:
    """The model or the set in a file, also of JSON; of another export, what it says of the model."""
    from fastbin.model_set import read

    data = read_file(path)
    found = _described(path, data)
    return named(path, read, data) if found is None else found


def _described(path: str, data: bytes) -> BinnedModel | ModelSet | Exported | None:
    from fastbin.export import from_json
    from fastbin.export.verify import digest_in, target_of

    target = None if data.startswith(b"\x89FB") else target_of(data, path)
    if target is None:
        return None
    if target == "json":
        return named(path, from_json, data)
    sha256 = digest_in(data if target == "onnx" else data.decode("utf8", "replace"), target)
    if not sha256:
        return None
    return Exported(target, sha256, named(path, _metadata, data) if target == "onnx" else _version(data))


def _metadata(graph: bytes) -> dict[str, str]:
    """What a graph says of its model beside the digest."""
    with needed_for("reading an ONNX graph", extra="onnx"):
        import onnx
        from google.protobuf.message import DecodeError

    from fastbin.export.onnx import SHA256_KEY

    try:
        properties = onnx.load_model_from_string(graph).metadata_props
    except DecodeError as error:
        raise FormatError(f"no ONNX graph that can be read, perhaps it was cut off: {error}") from None
    return {each.key: each.value for each in properties if each.key.startswith("fastbin.") and each.key != SHA256_KEY}


def _version(text: bytes) -> dict[str, str]:
    found = re.search(rb"\bfastbin ([0-9.]+), model sha256 ", text)
    return {} if found is None else {"fastbin.version": found[1].decode()}
