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
    """A finder notes who asks for scikit-learn, and refuses it, as it takes a second to import."""
    program = """
import sys
asked = []
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] == "sklearn":
            asked.append(name)
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Finder)
import fastbin as fb
fb.UniformMassBinning(2).fit([0.1, 0.2, 0.6, 0.9], [0, 1, 1, 1]).predict([0.5])
assert not asked
try:
    import fastbin.sklearn
except ImportError:
    assert asked
"""
    result = run_python("-c", program)
    assert result.returncode == 0, result.stderr
