"""The packages: the source distribution builds and tests without the repository; the wheel holds what runs, and no more."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

import fastbin as fb

ROOT = Path(__file__).resolve().parent.parent.parent
PACKED = ("fastbin", "csrc", "tests", "bench", "docs")


def is_left_behind(path: Path) -> bool:
    """Whether a build, a run or the site made this file, and not a person."""
    made = {"__pycache__", "build", "_c", ".hypothesis", ".pytest_cache", ".benchmarks"}
    of_site = path.parts[:2] in (("docs", "about"), ("docs", "reference"))
    return bool(made & set(path.parts)) or of_site or path.suffix in (".so", ".pyd", ".o", ".a", ".pyc")


def tree(*suffixes: str, below: Iterable[str] = PACKED) -> set[str]:
    """The files of the repository with these suffixes, relative to its root."""
    paths = (path.relative_to(ROOT) for folder in below for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if path.suffix in suffixes and not is_left_behind(path)}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree to build in, so that nothing is left in the one under test."""
    pytest.importorskip("Cython", reason="Cython builds the extensions")
    pytest.importorskip("setuptools", reason="setuptools builds the package")
    target = tmp_path_factory.mktemp("packaging") / "tree"
    target.mkdir()
    for folder in PACKED:
        if (ROOT / folder).is_dir():
            shutil.copytree(
                ROOT / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.o", "_c", "build")
            )
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, target)
    return target


def build(copy: Path, kind: str, suffix: str) -> Path:
    """``setup.py`` in the environment at hand: the same files as by ``python -m build``, without an index to ask."""
    command = [sys.executable, "-W", "ignore", "setup.py", "-q", kind, "--dist-dir", "made"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(command, cwd=copy, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    (made,) = (copy / "made").glob(f"*{suffix}")
    return made


@pytest.fixture(scope="module")
def sdist(copy: Path) -> set[str]:
    with tarfile.open(build(copy, "sdist", ".tar.gz")) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.fixture(scope="module")
def wheel(copy: Path) -> set[str]:
    with zipfile.ZipFile(build(copy, "bdist_wheel", ".whl")) as archive:
        return set(archive.namelist())


def test_sdist_holds_all_sources(sdist: set[str]) -> None:
    wanted = tree(
        ".py",
        ".pyi",
        ".pyx",
        ".pxi",
        ".pxd",
        ".c",
        ".h",
        ".cpp",
        ".sh",
        ".md",
        ".svg",
        ".png",
        ".in",
        ".txt",
        ".cmake",
        ".json",
        ".gz",
    )
    assert len(wanted) > 80
    assert not wanted - sdist, f"not in the source distribution: {sorted(wanted - sdist)}"
    for name in (
        "setup.py",
        "pyproject.toml",
        "Makefile",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ):
        assert name in sdist
    assert {"csrc/Makefile", "csrc/CMakeLists.txt", "fastbin/py.typed", "tests/vectors/vectors.txt"} <= sdist


def test_sdist_holds_nothing_built(sdist: set[str]) -> None:
    assert not {name for name in sdist if is_left_behind(Path(name))}
    generated = {name for name in sdist if name.endswith((".c", ".cpp")) and name.startswith("fastbin/")}
    assert not generated


wheels_take_long = pytest.mark.slow  # compiling everything anew


@wheels_take_long
def test_wheel_holds_the_package(wheel: set[str]) -> None:
    assert not tree(".py", ".pyi", ".pxd", below=["fastbin"]) - wheel
    assert "fastbin/py.typed" in wheel
    for source in (ROOT / "fastbin/_core").glob("*.pyx"):
        compiled = [
            name for name in wheel if name.startswith(f"fastbin/_core/{source.stem}.") and name.endswith((".so", ".pyd"))
        ]
        assert len(compiled) == 1


@wheels_take_long
def test_wheel_holds_what_c_programs_need(wheel: set[str]) -> None:
    assert "fastbin/_c/include/fastbin.h" in wheel
    libraries = {name for name in wheel if name.startswith("fastbin/_c/lib/")}
    assert len(libraries) == 1
    assert libraries <= {"fastbin/_c/lib/libfastbin.a", "fastbin/_c/lib/fastbin.lib"}


@wheels_take_long
def test_wheel_holds_nothing_else(wheel: set[str]) -> None:
    assert not {name for name in wheel if name.endswith((".c", ".cpp", ".pyx", ".pxi", ".o"))}
    assert {name.split("/")[0] for name in wheel} == {"fastbin", f"fastbin_calibration-{fb.__version__}.dist-info"}
    assert not {name for name in wheel if "__pycache__" in name}


@wheels_take_long
def test_wheel_names_licence_and_command(wheel: set[str]) -> None:
    folder = f"fastbin_calibration-{fb.__version__}.dist-info"
    assert {f"{folder}/METADATA", f"{folder}/entry_points.txt", f"{folder}/licenses/LICENSE"} <= wheel


def test_the_header_that_is_shipped_is_the_header() -> None:
    shipped = Path(fb.__file__).parent / "_c/include/fastbin.h"
    assert shipped.read_bytes() == (ROOT / "csrc/include/fastbin.h").read_bytes(), "rebuild: the header has changed"


@pytest.mark.skipif(sys.platform == "win32", reason="setuptools looks for Microsoft's compiler itself")
def test_without_a_compiler_the_build_says_what_to_install(copy: Path, tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "-q", "build_clib", "--build-temp", str(tmp_path)]
    environment = {**os.environ, "CC": "no-such-compiler"}
    answer = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert "its C compiler 'no-such-compiler' is not found; install one (Debian: apt install gcc; " in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="DLLs export what is marked, and nothing is")
def test_extensions_keep_the_library_to_themselves() -> None:
    """A symbol that is exported can be replaced by a library that was loaded before: each extension uses its own copy."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm is not on the path (binutils, which come with every C compiler)")
    extensions = [path for path in (Path(fb.__file__).parent / "_core").iterdir() if path.suffix == ".so"]
    assert len(extensions) == len(list((ROOT / "fastbin/_core").glob("*.pyx")))
    for extension in extensions:
        printed = subprocess.run([nm, "-D", "--defined-only", extension], capture_output=True, text=True, check=True).stdout
        exported = {line.split()[-1] for line in printed.splitlines()}
        assert f"PyInit_{extension.name.partition('.')[0]}" in exported
        assert not {name for name in exported if name.startswith("fastbin_")}, extension.name
