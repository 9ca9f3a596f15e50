"""docs/scikit-learn.md and examples/: the recipes run where their packages are installed, and the scripts do what they say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

import sklearn
from sklearn.datasets import make_classification

import fastbin as fb
from fresh_python import run_python
from oracle import REPOSITORY

PAGE = (REPOSITORY / "docs" / "scikit-learn.md").read_text(encoding="utf8")
SECTIONS = dict(section.split("\n", 1) for section in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:])
RECIPES = {title: "".join(re.findall(r"^```py\n(.*?)^```", text, re.MULTILINE | re.DOTALL)) for title, text in SECTIONS.items()}


def test_every_recipe_is_found() -> None:
    assert list(RECIPES) == ["LightGBM", "XGBoost", "CatBoost", "PyTorch"]
    assert PAGE.count("```py\n") == len(RECIPES)


@pytest.mark.parametrize("name", list(RECIPES))
@pytest.mark.filterwarnings("default")  # the packages have their own
def test_recipes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip({"PyTorch": "torch"}.get(name, name.lower()))
    monkeypatch.chdir(tmp_path)
    X, y = make_classification(3000, flip_y=0.2, random_state=0)
    session = {"fb": fb, "np": np, "X_train": X[:1500], "y_train": y[:1500], "X_calibration": X[1500:2500]}
    session |= {"y_calibration": y[1500:2500], "X_new": X[2500:]}
    exec(RECIPES[name], session)
    probabilities = session["probabilities"]
    assert probabilities.shape == (500,)
    assert np.mean((probabilities > 0.5) == y[2500:]) > 0.75
    (saved,) = tmp_path.glob("*.fbm")
    assert fb.load(saved).certificate().n_samples == 1000


@pytest.mark.parametrize(
    ("script", "arguments", "names"),
    [
        ("credit", [str(REPOSITORY / "tests" / "data" / "credit.csv.gz")], ("credit.fbm", "credit.html")),
        ("breast_cancer", [], ("tumours.fbm", "tumours.html")),
    ],
)
def test_scripts(script: str, arguments: list[str], names: tuple[str, str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = REPOSITORY / "examples" / f"{script}.py"
    lines = path.read_text(encoding="utf8").partition('"""\n')[2].partition('"""\n')[2].splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 17, "imports included"
    start = f"import os, runpy, sys; os.chdir({str(tmp_path)!r}); sys.argv = {[str(path), *arguments]!r}; "
    result = run_python("-c", start + f"runpy.run_path({str(path)!r})", MPLBACKEND="agg")
    assert result.returncode == 0, result.stderr
    assert "With probability at least 90 %" in result.stdout
    model, page = (tmp_path / name for name in names)
    certificate = fb.load(model).certificate(0.1)
    assert str(certificate) in result.stdout
    assert certificate.n_samples == (5625 if script == "credit" else 170)
    assert "</html>" in page.read_text(encoding="utf8")


def test_the_worked_case_of_a_validation(tmp_path: Path) -> None:
    """examples/validation.py finds what docs/validation.md says of it, the figures with the version of trees that it names."""
    path, data = REPOSITORY / "examples" / "validation.py", REPOSITORY / "tests" / "data" / "credit.csv.gz"
    start = f"import os, runpy, sys; os.chdir({str(tmp_path)!r}); sys.argv = {[str(path), str(data)]!r}; "
    result = run_python("-c", start + f"runpy.run_path({str(path)!r})")
    assert result.returncode == 0, result.stderr
    first, second = (line for line in result.stdout.splitlines() if line.startswith("Calibration is"))
    assert "predictions are too low in A, B, C and too high in E, F, H" in first
    assert second.startswith("Calibration is not contradicted by 7,500 new rows")
    page = (REPOSITORY / "docs" / "validation.md").read_text(encoding="utf8")
    rows = re.findall(r"^([A-H])  +([a-z ]+?)  +([0-9,]+) +([0-9,]+) .*$", result.stdout, re.MULTILINE)
    assert [row[0] for row in rows] == [*"ABCDEFGH"] * 2
    (version,) = re.findall(r"figures of scikit-learn (1\.\d+)", page)
    if sklearn.__version__.startswith(f"{version}."):
        for (grade, first_verdict, n, ones), (_, second_verdict, *_) in zip(rows[:8], rows[8:], strict=True):
            assert re.search(rf"\| {grade} \| {n} \| {ones} \| .* \| {first_verdict} \| .* \| {second_verdict} \|", page)
    assert len((tmp_path / "validated.csv").read_text().splitlines()) == 7501
