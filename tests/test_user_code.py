"""Type checkers accept a page of ordinary user code, and see in it what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
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


@pytest.fixture(scope="module", autouse=True)
def one_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For both tests of mypy, which reads the package once then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPY_CACHE_DIR", str(tmp_path_factory.mktemp("mypy")))
        yield


def checked(command: list[str], page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The answer of a checker, asked in a folder without configuration, about the package of this checkout."""
    copy = folder / page.name
    shutil.copy(page, copy)
    environment = {**os.environ, "MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}
    return subprocess.run([*command, str(copy)], capture_output=True, text=True, cwd=folder, env=environment, check=False)


def checker(name: str) -> list[str]:
    if name == "mypy":
        # Errors in the package itself are those of `make lint`.
        return [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    command = shutil.which("pyright", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if command is None:
        pytest.skip("pyright is not installed: pip install pyright (it needs node); .ci/run does")
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    if version.returncode:
        pytest.skip("pyright is installed, and cannot bring what it runs on")
    return [command, "--pythonpath", sys.executable]


@pytest.mark.parametrize("name", ["mypy", "pyright"])
def test_a_page_of_user_code_passes(name: str, tmp_path: Path) -> None:
    answer = checked(checker(name), PAGE, tmp_path)
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize("name", ["mypy", "pyright"])
def test_a_checker_sees_what_is_wrong(name: str, tmp_path: Path) -> None:
    """So that the test above can fail."""
    page = tmp_path / "wrong.py"
    page.write_text(WRONG, encoding="utf8")
    (tmp_path / "asked").mkdir()
    answer = checked(checker(name), page, tmp_path / "asked")
    assert answer.returncode == 1
    assert "wrong.py:5" in answer.stdout
    assert "wrong.py:6" in answer.stdout
