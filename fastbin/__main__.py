"""The entry point of ``fastbin`` and of ``python -m fastbin``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from fastbin._dependencies import install_command

__all__ = ["build_flags", "main"]


def build_flags(wanted: Sequence[str]) -> str:
    """The compiler flags (``--cflags``) and linker flags (``--libs``) for C programs that use the library in this package."""
    root = Path(__file__).resolve().parent / "_c"
    flags = {
        "--cflags": ["-I" + str(root / "include")],
        "--libs": ["-L" + str(root / "lib"), "-lfastbin", *([] if sys.platform == "win32" else ["-lm"])],
    }
    return shlex.join(flag for name in flags if name in wanted for flag in flags[name])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns its exit code.

    ``fastbin --cflags --libs`` needs NumPy alone, everything else the extra "cli".
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and {"--cflags", "--libs"}.issuperset(arguments):
        print(build_flags(arguments))
        return 0
    try:
        import click
        import rich
    except ImportError as error:
        print(f"error: the command line needs {error.name}, which is not installed; {install_command('cli')}", file=sys.stderr)
        return 1
    del click, rich
    from fastbin.cli import INTERRUPTED, command_line

    code = command_line.run(list(arguments))
    if code == INTERRUPTED:
        # A thread of PyArrow may still wait for input; to end the interpreter under it would abort the process.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
