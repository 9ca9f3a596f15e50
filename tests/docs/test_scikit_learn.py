"""docs/scikit-learn.md and examples/: the recipes run where their packages are installed, and the scripts do what they say."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

import sklearn
from sklearn.datasets import make_classification

import fastbin as fb
from oracle import REPOSITORY

PAGE = (REPOSITORY / "docs" / "scikit-learn.md").read_text(encoding="utf8")
SECTIONS = dict(section.split("\n", 1) for section in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:])
RECIPES = {title: "".join(re.findall(r"^```py\n(.*?)^```", text, re.MULTILINE | re.DOTALL)) for title, text in SECTIONS.items()}


def test_every_recipe_is_found() -> None:
    assert list(RECIPES) == ["LightGBM", "XGBoost", "CatBoost", "PyTorch"]
    assert PAGE.count("```py\n") == len(RECIPES)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", list(RECIPES))
@pytest.mark.filterwarnings("default")  # the packages have their own
def test_recipes(name: str, folder: Path) -> None:
    pytest.importorskip({"PyTorch": "torch"}.get(name, name.lower()))
    X, y = make_classification(3000, flip_y=0.2, random_state=0)
    session = {"fb": fb, "np": np, "X_train": X[:1500], "y_train": y[:1500], "X_calibration": X[1500:2500]}
    session |= {"y_calibration": y[1500:2500], "X_new": X[2500:]}
    exec(RECIPES[name], session)
    probabilities = session["probabilities"]
    assert probabilities.shape == (500,)
    assert np.mean((probabilities > 0.5) == y[2500:]) > 0.75
    (saved,) = folder.glob("*.fbm")
    assert fb.load(saved).certificate().n_samples == 1000


@pytest.fixture
def printed(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Runs a script of examples/ on the CREDIT data, and gives what it prints."""

    def run(script: str) -> str:
        path = str(REPOSITORY / "examples" / f"{script}.py")
        monkeypatch.setattr(sys, "argv", [path, str(REPOSITORY / "tests" / "data" / "credit.csv.gz")])
        runpy.run_path(path)
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize(("script", "name", "n"), [("credit", "credit", 5625), ("breast_cancer", "tumours", 170)])
def test_scripts(script: str, name: str, n: int, printed: Callable[[str], str]) -> None:
    pytest.importorskip("matplotlib")
    path = REPOSITORY / "examples" / f"{script}.py"
    lines = path.read_text(encoding="utf8").partition('"""\n')[2].partition('"""\n')[2].splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 17, "imports included"
    told = printed(script)
    assert "With probability at least 90 %" in told
    certificate = fb.load(f"{name}.fbm").certificate(0.1)
    assert str(certificate) in told
    assert certificate.n_samples == n
    assert "</html>" in Path(f"{name}.html").read_text(encoding="utf8")


def test_the_worked_case_of_a_validation(printed: Callable[[str], str]) -> None:
    """examples/validation.py finds what docs/validation.md says of it, the figures with the version of trees that it names."""
    told = printed("validation")
    first, second = (line for line in told.splitlines() if line.startswith("Calibration is"))
    assert "predictions are too low in A, B, C and too high in E, F, H" in first
    assert second.startswith("Calibration is not contradicted by 7,500 new rows")
    page = (REPOSITORY / "docs" / "validation.md").read_text(encoding="utf8")
    rows = re.findall(r"^([A-H])  +([a-z ]+?)  +([0-9,]+) +([0-9,]+) .*$", told, re.MULTILINE)
    assert [row[0] for row in rows] == [*"ABCDEFGH"] * 2
    (version,) = re.findall(r"figures of scikit-learn (1\.\d+)", page)
    if sklearn.__version__.startswith(f"{version}."):
        for (grade, first_verdict, n, ones), (_, second_verdict, *_) in zip(rows[:8], rows[8:], strict=True):
            assert re.search(rf"\| {grade} \| {n} \| {ones} \| .* \| {first_verdict} \| .* \| {second_verdict} \|", page)
    assert len(Path("validated.csv").read_text().splitlines()) == 7501
