"""Scripts of shells as the pages have them, in a folder with `fastbin` on the path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fresh_python import environment


def need(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on the path")


def run(script: str, folder: Path) -> str:
    """The output of a script that must succeed."""
    command = folder / "bin" / "fastbin"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fastbin "$@"\n')
    command.chmod(0o755)
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    own = environment() | {"HOME": str(folder / "home"), "PATH": path}
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True, env=own, check=False
    )
    assert result.returncode == 0, f"{script}\n{result.stdout}\n{result.stderr}"
    return result.stdout
