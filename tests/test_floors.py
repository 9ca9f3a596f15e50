"""The oldest versions that CI installs are those that pyproject.toml declares."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf8")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def floors(*sections: str) -> dict[str, str]:
    """The least version of each package that these arrays of pyproject.toml ask for."""
    arrays = [re.search(rf"^{section} = \[(.*?)\]$", PROJECT, re.MULTILINE | re.DOTALL) for section in sections]
    asked = [text for array in arrays if array for text in re.findall(r'"([^"]+)"', array.group(1))]
    asked = [text for text in asked if not text.startswith("fastbin-calibration[")]
    found = [re.fullmatch(r"([\w.-]+)>=([\d.]+)", text) for text in asked]
    assert all(found), f"without a floor, or with more than one: {asked}"
    return {normal(match.group(1)): match.group(2) for match in found if match}


def pinned(name: str) -> dict[str, str]:
    """The versions of a file of .ci, up to its second heading, below which are those of other projects' dependencies."""
    text = (ROOT / ".ci" / name).read_text(encoding="utf8").partition("\n\n")[0]
    return {normal(package): version for package, version in re.findall(r"^([\w.-]+)==([\d.]+)$", text, re.MULTILINE)}


def numbers(version: str) -> tuple[int, ...]:
    """1.4 and 1.4.0 are one version."""
    parts = [int(part) for part in version.split(".")]
    return tuple(parts + [0] * (4 - len(parts)))


@pytest.mark.parametrize(
    ("name", "sections"),
    [
        ("oldest.txt", ("dependencies", "fit", "cli", "engines", "onnx", "plots", "sklearn", "test")),
        ("oldest-build.txt", ("requires",)),
    ],
)
def test_the_oldest_versions_are_the_declared_ones(name: str, sections: tuple[str, ...]) -> None:
    if not (ROOT / ".ci").is_dir():
        pytest.skip("the source distribution has no CI")
    declared, installed = floors(*sections), pinned(name)
    assert set(installed) == set(declared)
    for package, floor in declared.items():
        # 77 is met first by 77.0.1, and 8.2 by 8.2.0: a floor may leave out what its first release has.
        assert installed[package].startswith(floor) or numbers(installed[package]) == numbers(floor), package
