"""The hand-written stubs of the compiled modules agree with what is in the compiled modules.

The only exceptions are names that Cython itself puts into modules. Names that only a stub has start with an underscore, and
classes that own C memory say so with ``disjoint_base``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fastbin as fb

ROOT = Path(__file__).resolve().parent.parent
# The types of other modules would take nearly all of the time. Names, arguments and defaults are compared without them; mypy
# reads the stubs with them in `make lint`, and overloads that differ in types of arrays alone look the same here.
CONFIGURATION = "[mypy]\nfollow_imports = skip\nfollow_imports_for_stubs = True\ndisable_error_code = overload-cannot-match\n"
CYTHON_NAMES = r"fastbin\._core\.\w+\.__(test|pyx_capi|reduce_cython|setstate_cython)__"
NATIVE = sorted(path.stem for path in (ROOT / "fastbin/_core").glob("*.pyx"))


def test_every_compiled_module_has_a_stub() -> None:
    assert {path.stem for path in (ROOT / "fastbin/_core").glob("*.pyi")} == set(NATIVE)


def test_stubs_agree_with_the_compiled_modules(tmp_path: Path) -> None:
    environment = os.environ | {"MYPY_CACHE_DIR": str(tmp_path / "cache")}
    place = Path(fb.__file__).parent.parent
    if place.name not in ("site-packages", "dist-packages"):  # run from a source tree
        environment |= {"MYPYPATH": str(place), "PYTHONPATH": str(place)}
    allowed = tmp_path / "cython_names.txt"
    allowed.write_text(CYTHON_NAMES)
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    options = ["--concise", "--allowlist", str(allowed), "--mypy-config-file", "mypy.ini"]
    modules = [f"fastbin._core.{name}" for name in NATIVE]
    command = [sys.executable, "-m", "mypy.stubtest", *options, *modules]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
