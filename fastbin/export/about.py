"""What an export says of itself: which kind of export it is, the digest of its model, its alpha, and of SQL what it gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

SUFFIXES = {
    ".sql": "sql", ".onnx": "onnx", ".h": "c", ".hpp": "c", ".java": "java", ".js": "js", ".mjs": "js", ".json": "json",
}  # fmt: skip
SIGNS = {
    "json": r"\s*\{", "c": r"(?s).*^#ifndef FASTBIN_EXPORT_", "java": r"(?s).*^public final class ", "js": r"(?s).*^export ",
    "sql": r"\s*/\* fastbin ",
}  # fmt: skip
DIGEST = re.compile(r"\bsha256 ([0-9a-f]{64})\b")
ALPHA = re.compile(r"\bintervals at alpha ([0-9.e-]+)$", re.MULTILINE)

# The first bytes of a graph in protobuf: the version of its format, and the field after it.
GRAPH = re.compile(rb"\x08[\x01-\x7f][\x12\x1a\x22\x28\x32\x3a\x42\x72\xa2\xca]")

# The last line of the comment of SQL. A query has the answers in a column of its own, which is named.
GIVES = re.compile(r"^ *dialect (?P<dialect>\w+), gives (?P<what>\w+)(?: as (?P<answer>\w+))?$", re.MULTILINE)


class Gives(NamedTuple):
    """What the text of SQL says that it gives."""

    dialect: str
    what: str
    answer: str  # the name of the column; "" for an expression


def target_of(text: str | bytes, path: str = "") -> str | None:
    """What kind of export this is, by the suffix of its file or by its content; None where neither tells."""
    suffix = Path(path).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if isinstance(text, bytes):
        try:
            text = text.decode("utf8")
        except UnicodeDecodeError:
            return "onnx"
        if "\0" in text:
            return "onnx"
    return next((target for target, sign in SIGNS.items() if re.match(sign, text, re.MULTILINE)), None)


def is_export(start: bytes) -> bool:
    """Whether a file that begins so may be an export, and is worth reading: JSON, a text that names its maker, or a graph."""
    return start.lstrip()[:1] == b"{" or b"fastbin" in start.lower() or GRAPH.match(start) is not None


def digest_in(content: str | bytes, target: str) -> str:
    """The digest that an export has, or ""."""
    if target == "json":
        found = re.search(r'"sha256": *"([0-9a-f]{64})"', str(content))
    elif isinstance(content, str):
        found = DIGEST.search(content)
    else:  # in the bytes of a graph: key and value of an entry of metadata_props, each with its length before it
        at = re.search(rb"fastbin\.sha256\x12\x40([0-9a-f]{64})", content)
        return "" if at is None else at[1].decode()
    return "" if found is None else found[1]


def alpha_in(content: str | bytes) -> float | None:
    """The alpha that the comment of an export says its intervals have."""
    found = ALPHA.search(content) if isinstance(content, str) else None
    return None if found is None else float(found[1])


def gives_in(text: str) -> Gives | None:
    """What the comment at the top of SQL says that it gives."""
    found = GIVES.search(_top(text))
    return None if found is None else Gives(found["dialect"], found["what"], found["answer"] or "")


def _top(text: str) -> str:
    """The comment that a text begins with, with neither its marks nor what follows."""
    top = re.match(r"\s*/\*(.*?)\s*\*/", text, re.DOTALL)
    return "" if top is None else top[1]
