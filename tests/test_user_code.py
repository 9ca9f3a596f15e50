"""Pyright accepts a page of ordinary user code, and sees in it what is wrong. Mypy reads the page in `make lint`."""

from __future__ import annotations

import json
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


def pyright() -> list[str]:
    command = shutil.which("pyright", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if command is None:
        pytest.skip("pyright is not installed: pip install pyright (it needs node); .ci/run does")
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    if version.returncode:
        pytest.skip("pyright is installed, and cannot bring what it runs on")
    return [command, "--pythonpath", sys.executable]


def test_a_checker_finds_a_page_right_and_sees_what_is_wrong(tmp_path: Path) -> None:
    """Pyright, asked once in a folder without configuration, about the package of this checkout."""
    shutil.copy(PAGE, tmp_path)
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf8")
    command = [*pyright(), "--outputjson", PAGE.name, "wrong.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    answer = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    found = json.loads(answer.stdout)
    assert found["summary"]["filesAnalyzed"] == 2
    errors = (each for each in found["generalDiagnostics"] if each["severity"] == "error")
    places = {(Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in errors}
    assert places == {("wrong.py", 5), ("wrong.py", 6)}, answer.stdout + answer.stderr
