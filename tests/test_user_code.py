"""Pyright accepts a page of ordinary user code, and sees in it what is wrong. Mypy reads the page in `make lint`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "tests" / "typing" / "user_code.py"
WRONG = """
import fastbin as fb

model = fb.BinnedModel.load("m.fbm")
model.predict([0.1], "north")
number: int = model.predict([0.1])
"""


def checked(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The answer of pyright, asked in a folder without configuration, about the package of this checkout."""
    copy = folder / page.name
    shutil.copy(page, copy)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([*pyright(), str(copy)], capture_output=True, text=True, cwd=folder, env=environment, check=False)


def pyright() -> list[str]:
    command = shutil.which("pyright", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if command is None:
        pytest.skip("pyright is not installed: pip install pyright (it needs node); .ci/run does")
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    if version.returncode:
        pytest.skip("pyright is installed, and cannot bring what it runs on")
    return [command, "--pythonpath", sys.executable]


def test_a_page_of_user_code_passes(tmp_path: Path) -> None:
    answer = checked(PAGE, tmp_path)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_a_checker_sees_what_is_wrong(tmp_path: Path) -> None:
    """So that the test above can fail."""
    page = tmp_path / "wrong.py"
    page.write_text(WRONG, encoding="utf8")
    (tmp_path / "asked").mkdir()
    answer = checked(page, tmp_path / "asked")
    assert answer.returncode == 1
    assert "wrong.py:5" in answer.stdout
    assert "wrong.py:6" in answer.stdout
