"""Packages that `fastbin.sklearn` needs."""

from __future__ import annotations

import pytest

from fastbin._base.dependencies import install_command
from fresh_python import run_python

FAKE = """
import sys, types
if {version!r} is None:
    sys.modules["sklearn"] = None
else:
    sys.modules["sklearn"] = types.ModuleType("sklearn")
    sys.modules["sklearn"].__version__ = {version!r}
import fastbin as fb
try:
    fb.sklearn
except fb.MissingDependencyError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, f"calibrated classifiers need sklearn, which is not installed; {install_command('sklearn')}"),
        (
            "1.5.2",
            f"needs scikit-learn 1.6 or newer, and 1.5.2 is installed; {install_command('sklearn', upgrade=True)}",
        ),
    ],
)
def test_what_is_missing_or_too_old_is_named(version: str | None, message: str) -> None:
    result = run_python("-c", FAKE.format(version=version))
    assert result.returncode == 0, result.stderr
    assert message in result.stdout


def test_fastbin_and_its_calibrators_do_without() -> None:
    program = """
import sys
import fastbin as fb
fb.UniformMassBinning(2).fit([0.1, 0.2, 0.6, 0.9], [0, 1, 1, 1]).predict([0.5])
assert not any(name.split(".")[0] == "sklearn" for name in sys.modules)
import fastbin.sklearn
assert "sklearn" in sys.modules
"""
    pytest.importorskip("sklearn", minversion="1.6")
    result = run_python("-c", program)
    assert result.returncode == 0, result.stderr
