"""The C header keeps its promises: it compiles alone in C and C++, its numbers are pinned, and Python's words for them agree.

The header is compiled and run, not only parsed, so that what is compared is what a C program sees.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import fastbin as fb
from fastbin import model_set
from fastbin._core import schemes
from fastbin._core.score import status_text
from fastbin.vector_model import VECTOR_KIND

ROOT = Path(__file__).resolve().parent.parent
HEADER = ROOT / "csrc/include/fastbin.h"
TEXT = HEADER.read_text(encoding="utf8")
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]

# Numbers that saved models and compiled programs hold. They may be added to; none may ever change.
PINNED = {
    "fastbin_status": {
        "FASTBIN_OK": 0, "FASTBIN_ERROR_ARGUMENT": 10, "FASTBIN_ERROR_STRUCT_SIZE": 11, "FASTBIN_ERROR_MEMORY": 20,
        "FASTBIN_ERROR_BUFFER": 21, "FASTBIN_ERROR_SCORE_NAN": 30, "FASTBIN_ERROR_SCORE_RANGE": 31, "FASTBIN_ERROR_CELL": 32,
        "FASTBIN_ERROR_EDGES": 40, "FASTBIN_ERROR_VALUES": 41, "FASTBIN_ERROR_TALLY": 42, "FASTBIN_ERROR_WEIGHTS": 43,
        "FASTBIN_ERROR_RANGE": 44, "FASTBIN_ERROR_MAP": 45, "FASTBIN_ERROR_ORIGIN": 46, "FASTBIN_ERROR_SET": 47,
        "FASTBIN_ERROR_MAGIC": 60, "FASTBIN_ERROR_FORMAT_VERSION": 61, "FASTBIN_ERROR_LENGTH": 62, "FASTBIN_ERROR_CHECKSUM": 63,
        "FASTBIN_ERROR_CONTENT": 64, "FASTBIN_ERROR_OPEN": 80, "FASTBIN_ERROR_READ": 81, "FASTBIN_ERROR_WRITE": 82,
    },
    "fastbin_rate": {"FASTBIN_RATE_NONE": 0, "FASTBIN_RATE_GIVEN": 1, "FASTBIN_RATE_COUNTED": 2, "FASTBIN_RATE_ESTIMATED": 3},
    "fastbin_out_of_range": {"FASTBIN_OUT_OF_RANGE_REFUSE": 0, "FASTBIN_OUT_OF_RANGE_CLIP": 1},
    "fastbin_weights": {"FASTBIN_WEIGHTS_GIVEN": 0, "FASTBIN_WEIGHTS_ESTIMATED": 1},
    "fastbin_kind": {"FASTBIN_STEP": 0, "FASTBIN_LINEAR": 1, "FASTBIN_SMOOTH": 2},
    "fastbin_map": {
        "FASTBIN_MAP_NONE": 0, "FASTBIN_MAP_LOGISTIC": 1, "FASTBIN_MAP_BETA": 2, "FASTBIN_MAP_QUADRATIC": 3,
        "FASTBIN_MAP_SPLINE": 4,
    },
    "fastbin_scheme": {
        "FASTBIN_SCHEME_OTHER": 0, "FASTBIN_SCHEME_UMD": 1, "FASTBIN_SCHEME_ZE": 2, "FASTBIN_SCHEME_UMS": 3,
        "FASTBIN_SCHEME_UMB": 4, "FASTBIN_SCHEME_FIXED_WIDTH": 10, "FASTBIN_SCHEME_EXPLICIT": 11,
        "FASTBIN_SCHEME_SCALING_BINNING": 20, "FASTBIN_SCHEME_CERTIFIED": 21, "FASTBIN_SCHEME_CERTIFIED_FINE": 22,
        "FASTBIN_SCHEME_ISOTONIC": 30, "FASTBIN_SCHEME_PLATT": 40, "FASTBIN_SCHEME_TEMPERATURE": 41,
        "FASTBIN_SCHEME_BETA": 42, "FASTBIN_SCHEME_QUADRATIC": 43, "FASTBIN_SCHEME_SPLINE": 44,
    },
    "fastbin_ties": {
        "FASTBIN_TIES_NONE": 0, "FASTBIN_TIES_RANDOM": 1, "FASTBIN_TIES_UPPER": 2, "FASTBIN_TIES_LOWER": 3,
        "FASTBIN_TIES_ISOLATE": 4, "FASTBIN_TIES_WHOLE": 5,
    },
    "fastbin_type": {"FASTBIN_FLOAT64": 0, "FASTBIN_FLOAT32": 1},
    "fastbin_set_kind": {
        "FASTBIN_SET_GIVEN": 0, "FASTBIN_SET_SEGMENTS": 1, "FASTBIN_SET_TOP_LABEL": 2, "FASTBIN_SET_CLASS_WISE": 3,
        "FASTBIN_SET_VECTOR": 4,
    },
    "fastbin_key_type": {"FASTBIN_KEYS_INT": 0, "FASTBIN_KEYS_TEXT": 1},
    "fastbin_unknown": {"FASTBIN_UNKNOWN_REFUSE": 0, "FASTBIN_UNKNOWN_POOL": 1},
    "fastbin_nan": {"FASTBIN_NAN_ERROR": 0, "FASTBIN_NAN_PROPAGATE": 1},
}  # fmt: skip


def enumerators(name: str) -> dict[str, int]:
    """The enumerators of one enum of the header, comments left out."""
    body = re.search(rf"typedef enum {name} \{{(.*?)\}} {name};", re.sub(r"/\*.*?\*/", "", TEXT, flags=re.DOTALL), re.DOTALL)
    assert body is not None, f"fastbin.h has no enum {name}"
    return {key: int(value) for key, value in re.findall(r"(\w+)\s*=\s*(\d+)", body[1])}


def compiler(*names: str) -> str:
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no compiler: none of {', '.join(names)} is on the path")
    return found


def compile_and_run(tmp_path: Path, program: str, *sources: Path) -> str:
    """The output of a C program that was compiled against the header and these sources."""
    cc = compiler("cc", "gcc", "clang")
    (tmp_path / "program.c").write_text(program)
    command = [cc, "-std=c11", *STRICT, f"-I{HEADER.parent}", "program.c", *map(str, sources), "-o", "program", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    return subprocess.run([tmp_path / "program"], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize(("language", "standard"), [("c", "c11"), ("c", "c17"), ("c++", "c++17")])
def test_header_compiles_alone(tmp_path: Path, language: str, standard: str, twice: bool) -> None:
    found = compiler(*(("c++", "g++", "clang++") if language == "c++" else ("cc", "gcc", "clang")))
    source = tmp_path / "alone.txt"
    source.write_text('#include "fastbin.h"\n' * (1 + twice) + "int nothing(void);\nint nothing(void) { return FASTBIN_OK; }\n")
    command = [found, "-x", language, f"-std={standard}", *STRICT, "-fsyntax-only", f"-I{HEADER.parent}", str(source)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_versions_agree() -> None:
    numbers = dict(re.findall(r"#define FASTBIN_VERSION_(MAJOR|MINOR|PATCH) (\d+)", TEXT))
    (text,) = re.findall(r'#define FASTBIN_VERSION_STRING "([^"]+)"', TEXT)
    assert text == f"{numbers['MAJOR']}.{numbers['MINOR']}.{numbers['PATCH']}"
    assert fb.__version__ == text


def test_the_version_is_stated_once() -> None:
    """In no other file that is built from: a second statement is a second truth."""
    built_from = [ROOT / "pyproject.toml", ROOT / "setup.py", *sorted((ROOT / "csrc").rglob("CMakeLists.txt"))]
    in_c = (path for folder in ("src", "fit") for path in sorted((ROOT / "csrc" / folder).iterdir()))
    for path in (*built_from, *in_c, *sorted((ROOT / "fastbin").rglob("*.py"))):
        assert f'"{fb.__version__}"' not in path.read_text(encoding="utf8"), f"{path} states the version again"


def test_the_header_has_the_enums_that_are_pinned() -> None:
    assert set(re.findall(r"typedef enum (\w+)", TEXT)) == set(PINNED)


@pytest.mark.parametrize("enum", list(PINNED))
def test_enumerators_are_pinned(enum: str) -> None:
    assert enumerators(enum) == PINNED[enum]


def test_c_sees_the_pinned_numbers(tmp_path: Path) -> None:
    pinned = {name: value for enum in PINNED.values() for name, value in enum.items()}
    lines = "\n".join(f'  printf("{name} %d\\n", (int){name});' for name in pinned)
    printed = compile_and_run(
        tmp_path, f'#include "fastbin.h"\n#include <stdio.h>\nint main(void) {{\n{lines}\n  return 0;\n}}\n'
    )
    assert {name: int(value) for name, value in map(str.split, printed.splitlines())} == pinned


def words_of(enum: str, prefix: str) -> dict[int, str]:
    """The enumerators as Python's words: without the prefix, in small letters, with hyphens."""
    return {value: name.removeprefix(prefix).lower().replace("_", "-") for name, value in enumerators(enum).items()}


@pytest.mark.parametrize(
    ("table", "enum", "prefix"),
    [
        pytest.param(schemes.KINDS, "fastbin_kind", "FASTBIN_", id="kinds"),
        pytest.param(schemes.MAPS, "fastbin_map", "FASTBIN_MAP_", id="maps"),
        pytest.param(schemes.TIES, "fastbin_ties", "FASTBIN_TIES_", id="ties"),
        pytest.param(schemes.SCHEME_WORDS, "fastbin_scheme", "FASTBIN_SCHEME_", id="schemes"),
        pytest.param(schemes.RATE_ORIGINS, "fastbin_rate", "FASTBIN_RATE_", id="rates"),
        pytest.param(schemes.OUT_OF_RANGE, "fastbin_out_of_range", "FASTBIN_OUT_OF_RANGE_", id="out of range"),
        pytest.param(schemes.WEIGHTS, "fastbin_weights", "FASTBIN_WEIGHTS_", id="weights"),
        pytest.param(
            {**dict(enumerate(model_set.SET_KINDS)), VECTOR_KIND: "vector"}, "fastbin_set_kind", "FASTBIN_SET_", id="sets"
        ),
        pytest.param(dict(enumerate(model_set.UNKNOWN)), "fastbin_unknown", "FASTBIN_UNKNOWN_", id="unknown keys"),
    ],
)
def test_words_are_the_enumerators(table: dict[int, str], enum: str, prefix: str) -> None:
    assert table == words_of(enum, prefix)


def test_every_status_has_its_own_text() -> None:
    codes = enumerators("fastbin_status").values()
    texts = [status_text(code) for code in codes]
    assert len(set(texts)) == len(texts)
    assert status_text(-1) == status_text(12345) == "an unknown status code"
    assert "an unknown status code" not in texts
    for text in texts:
        assert text.isascii()
        assert not text.endswith(".")


def test_every_function_is_explained() -> None:
    """Each declaration stands below a comment, its own or that of the group that it directly follows."""
    lines = TEXT.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("FASTBIN_API"):
            continue
        above = lines[number - 1].strip()
        assert above.endswith("*/") or above.startswith("FASTBIN_API"), f"fastbin.h:{number + 1} has no comment"


def test_the_header_is_mostly_manual() -> None:
    comments = re.findall(r"/\*.*?\*/", TEXT, re.DOTALL)
    with_comment = sum(comment.count("\n") + 1 for comment in comments)
    lines = [line for line in TEXT.splitlines() if line.strip()]
    assert 0.45 <= with_comment / len(lines) <= 0.8
