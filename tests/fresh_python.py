"""A fresh interpreter that sees the fastbin of this process, be it installed or in the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fastbin as fb

PLACE = Path(fb.__file__).parent.parent


def environment() -> dict[str, str]:
    """The environment of this process; with its fastbin on the path, where that is not installed."""
    if PLACE.name in ("site-packages", "dist-packages"):
        return dict(os.environ)
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(PLACE), os.environ.get("PYTHONPATH")]))}


def run_python(*arguments: str, timeout: float = 300.0, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments, and with these environment variables besides its own.

    From this folder: ``-c`` and ``-m`` look in the current one first, and in the root of the repository there may be a fastbin
    that was not compiled.
    """
    command = [sys.executable, *arguments]
    folder = Path(__file__).parent
    return subprocess.run(command, capture_output=True, text=True, env=environment() | variables, cwd=folder, timeout=timeout)
