"""The files of vectors: their doubles, and how a program writes one or checks it."""

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
