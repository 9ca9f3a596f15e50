"""Where an optional dependency is missing, fastbin's own error names the command that installs it."""

from __future__ import annotations

import ast
import importlib.metadata
import re
from pathlib import Path

import pytest

import fastbin as fb
from fastbin._base.dependencies import DISTRIBUTION, install_command, needed_for
from fresh_python import run_python

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = Path(fb.__file__).parent
OPTIONAL = {"numba", "scipy", "sklearn", "pandas", "polars", "pyarrow", "matplotlib", "click", "rich"}

BLOCKED = """
import sys

class Block:
    missing = {{"scipy", "numba", "matplotlib", "pyarrow"}}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.missing:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Block())
import numpy as np
import fastbin as fb
import fastbin.tables.table

model = fb.BinnedModel.from_parts(edges=[0.5], values=[0.2, 0.7], counts=[500, 500], label_sums=[100, 350], scheme="umd")
scores = np.linspace(0.001, 0.999, 1000)
labels = (7.0 * scores % 1.0 < scores).astype(int)
for name, call in {calls}:
    Block.missing = {{name}}
    try:
        print(call, eval(call))
    except fb.MissingDependencyError as error:
        print(isinstance(error, ImportError), error.name.partition(".")[0], error)
"""

CALLS = {
    "scipy": (
        "fit", "model.interval()", "model.predict_interval([0.3])", "model.certificate()", "fb.epsilon(1000, n_bins=10)",
        "fb.choose_n_bins(1000, epsilon=0.1)", "fb.intervals.wilson([3], [10], alpha=0.1)",
        "fb.intervals.beta_binomial([3], [10], alpha=0.1)", "fb.PlattScaling().fit(scores, labels)",
        "fb.TemperatureScaling().fit(scores, labels)", "fb.BetaScaling().fit(scores, labels)",
        "fb.online.CalibrationMonitor(model).update(scores, labels)", "fb.assess.squared_ece(scores.round(1), labels)",
        "fb.assess.check_certificate(model, scores, labels)",
    ),
    "numba": (
        "fit",
        "fb.UniformMassBinning().fit(np.tile(scores, 200), np.tile(labels, 200))",
        "fb.UniformMassBinning().fit_batches([(scores, labels)])",
    ),
    "matplotlib": (
        "plots",
        "fb.plots.step_plot(model)",
        "fb.report.render_report(fb.report.assess_model(model, scores, labels))",
    ),
    "pyarrow": ("cli", "fb.tables.table.arrow()"),
}  # fmt: skip


def test_what_is_missing_is_told_with_the_command_that_brings_it() -> None:
    calls = [(name, extra, call) for name, (extra, *of_name) in CALLS.items() for call in of_name]
    result = run_python("-c", BLOCKED.format(calls=[(name, call) for name, _, call in calls]))
    assert result.returncode == 0, result.stderr
    for (name, extra, call), line in zip(calls, result.stdout.splitlines(), strict=True):
        assert line.startswith(f"True {name} "), f"{call}: {line}"
        assert line.endswith(f" need {name}, which is not installed; {install_command(extra)}")


def test_the_command_names_the_packages_and_works_from_a_clone_and_from_an_index() -> None:
    """By their names and floors in pyproject.toml: an index need not have this package."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf8")
    extras = {
        name: re.findall(r'"([^"]+)"', listed) for name, listed in re.findall(r"^(\w+) = (\[\"[^\n]+\])$", text, re.MULTILINE)
    }
    assert {"fit", "cli", "engines", "onnx", "plots", "sklearn"} <= set(extras)
    for extra in ("fit", "cli", "engines", "onnx", "plots", "sklearn"):
        own = [package for package in extras[extra] if not package.startswith(DISTRIBUTION)]
        packages = own if extra == "fit" else extras["fit"] + own
        expected = f'extra "{extra}" of {DISTRIBUTION}: pip install ' + " ".join(f'"{package}"' for package in packages)
        assert install_command(extra) == expected
        assert install_command(extra, upgrade=True) == expected.replace("pip install", "pip install --upgrade")


def test_without_metadata_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", absent)
    assert install_command("fit") == "pip install 'fastbin-calibration[fit]'"


def test_what_is_too_old_is_told_as_such() -> None:
    cannot = r"cannot be imported here .*no_such_function.*; " + re.escape(install_command("fit"))
    with pytest.raises(fb.MissingDependencyError, match=cannot), needed_for("intervals", extra="fit"):
        from scipy.special import no_such_function  # type: ignore[import-untyped]  # noqa: F401
    with pytest.raises(KeyError), needed_for("intervals", extra="fit"):
        raise KeyError("no import at all")


def guarded_and_not(tree: ast.AST, guarded: bool = False) -> list[tuple[str, int, bool]]:
    """The optional packages imported at run time: (package, line, whether inside ``with needed_for(...)``)."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.expr):
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [(name.partition(".")[0], node.lineno, guarded) for name in names if name.partition(".")[0] in OPTIONAL]
        opens = isinstance(node, ast.With) and any("needed_for(" in ast.unparse(item) for item in node.items)
        found += guarded_and_not(node, guarded or opens)
    return found


def test_no_optional_import_is_bare() -> None:
    """The command line apart, whose entry point looks for click and rich before anything else, and fastbin.sklearn likewise."""
    bare, n_guarded = [], 0
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        for name, line, guarded in guarded_and_not(ast.parse(path.read_text(encoding="utf8"))):
            n_guarded += guarded
            looked_for = ("click", "rich") if place.parts[0] in ("cli", "__main__.py") else place.parts[:1]
            if not guarded and name not in looked_for:
                bare.append(f"fastbin/{place}:{line}: {name}")
    assert n_guarded >= 15
    assert not bare, "not inside `with needed_for(...)`: " + ", ".join(bare)


@pytest.mark.parametrize("suffix", ["*.py", "*.md", "*.toml"])
def test_nobody_is_sent_to_the_other_package(suffix: str) -> None:
    """`pip install fastbin` would install somebody else's project."""
    folders = [PACKAGE, *(ROOT / name for name in ("docs", "bench", "csrc"))]
    files = [path for folder in folders for path in folder.rglob(suffix)] + list(ROOT.glob(suffix))
    wrong = [f"{path}: {word}" for path in files for word in ("install fastbin", "install 'fastbin[", '"fastbin[')
             if word in path.read_text(encoding="utf8").replace("install fastbin-calibration", "")]  # fmt: skip
    assert not wrong


def test_the_name_is_that_of_the_project() -> None:
    assert f'\nname = "{DISTRIBUTION}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf8")
