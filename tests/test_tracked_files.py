"""The repository holds what the map lists, and nothing that a test, a build or an example left there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

AT_THE_ROOT = {
    ".gitignore", "CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "Makefile",
    "README.md", "RELEASING.md", "SECURITY.md", "pyproject.toml", "setup.py",
}  # fmt: skip

# What each folder may hold, by the ends of names. Below the folders of saved bytes any name is one of a case.
ENDS = {
    ".ci": "python_of run source thorough wheels .txt",
    ".github": ".yml",
    "bench": ".py .pyx .c .md .txt .json .png .gz",
    "csrc": ".c .h .cpp .md .txt .in .py .sh Makefile",
    "docs": ".md .png .svg conf.py site.css",
    "examples": ".py",
    "fastbin": ".py .pyi .pyx .pxi .pxd py.typed",
    "tests": ".py .md .json .txt .gz .R",
}
BYTES = ("csrc/fuzz/corpus/", "tests/golden/", "tests/vectors/")


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("a source distribution, and no clone; or Git is not here")
    result = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in result.stdout.split("\0") if name]


def test_every_tracked_file_is_of_a_kind_that_its_folder_holds(tracked: list[str]) -> None:
    assert len(tracked) > 500
    strange = []
    for name in tracked:
        folder, _, rest = name.partition("/")
        if not rest:
            is_known = name in AT_THE_ROOT
        else:
            is_known = name.startswith(BYTES) or name.endswith(tuple(ENDS.get(folder, "").split()) or ("\0",))
        if not is_known:
            strange.append(name)
    assert not strange, "nobody knows what this is; remove it, or say it in tests/test_tracked_files.py: " + ", ".join(strange)


def test_no_tracked_file_is_ignored(tracked: list[str]) -> None:
    """An ignored name that is tracked was added by force, and changes unseen."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--ignored", "--exclude-standard"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert tracked
    assert result.stdout == ""


def test_the_map_names_every_folder(tracked: list[str]) -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")
    folders = {name.partition("/")[0] for name in tracked if "/" in name}
    assert {folder for folder in folders if not re.search(rf"\b{re.escape(folder.lstrip('.'))}/", page)} == set()
    assert folders == set(ENDS)
