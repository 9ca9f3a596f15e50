"""The files of vectors: their doubles, how a program writes one or checks it, and how tests read it."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def hexed(number: float) -> str:
    """The double in hexadecimal, without the zeros at its end: 0x1.8p+0."""
    return re.sub(r"\.?0+p", "p", number.hex()) if "." in number.hex() else number.hex()


def write(file: Path, text: str) -> int:
    """Write the file; with --check, fail if it is not what would be written."""
    if "--check" not in sys.argv[1:]:
        file.write_text(text, encoding="ascii", newline="\n")
    elif file.read_text(encoding="ascii") != text:
        print(f"{file.name} is not what {Path(sys.argv[0]).name} writes", file=sys.stderr)
        return 1
    return 0


def doubles(words: list[str]) -> list[float]:
    return list(map(float.fromhex, words))


def read(file: Path, title: str, begins: str) -> dict[str, dict[str, list[list[str]]]]:
    """By name, the words of the lines below each line that begins so, by their first; those before all are under ""."""
    first, *lines = file.read_text(encoding="ascii").splitlines()
    assert first == title
    current: dict[str, list[list[str]]] = {}
    found = {"": current}
    for keyword, *words in map(str.split, filter(None, lines)):
        if keyword == begins:
            current = found.setdefault(words[0], {})
        else:
            current.setdefault(keyword, []).append(words)
    return found
