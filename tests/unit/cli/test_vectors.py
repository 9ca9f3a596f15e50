"""Vector models on the command line: shown, written as JSON and back, and refused by what needs one value."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import fastbin as fb
from fastbin.cli import command_line
from fastbin.vector_model import VectorMap, VectorModel

RNG = np.random.default_rng(2)


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(command_line, list(arguments))
    assert result.exit_code == code, result.output
    return result


def model_of(has_evidence: bool = True) -> VectorModel:
    scores = RNG.random(300)
    one = fb.CertifiedCalibration().fit(scores, RNG.random(300) < scores).model_
    counts = np.tile([[200, 40], [100, 60]], (4, 1, 1))
    evidence = (np.full((4, 1), 0.25), counts, np.tile([0.25, 0.5], (4, 1))) if has_evidence else ()
    own = VectorMap(0.5, 0.01, 1e-9, True, np.ones(3), np.zeros(3), np.full(3, 1 / 3), np.eye(3), *evidence)
    return VectorModel._of({"cow": one, "ant\x1b[31m": one, "bee": one}, own, provenance=b"{}")


@pytest.fixture
def path(tmp_path: Path) -> str:
    model_of().save(tmp_path / "animals.fbm")
    return str(tmp_path / "animals.fbm")


def test_inspect(path: str) -> None:
    shown = run("inspect", path).output
    assert "A vector model of 3 classes, 2 bins for each class and the top label, from 300 samples." in shown
    assert "The largest entry of a row stays the largest." in shown
    assert "by a matrix" in shown
    assert "top label" in shown
    assert "0.25" in shown
    assert "\x1b" not in shown
    assert str(fb.load(path).certificate(0.05)) in " ".join(run("inspect", path, "--alpha", "0.05").output.split())


def test_inspect_as_json(path: str) -> None:
    model = fb.load(path)
    told = json.loads(run("inspect", path, "--json").stdout)
    assert (told["kind"], told["classes"], told["n_samples"]) == ("vector", list(model.classes), 300)
    assert told["map"]["counts"] == model.vector.counts.tolist()
    assert told["map"]["unlabelled"] is None
    assert told["certificate"]["epsilon"] == model.certificate().epsilon
    assert told["why_no_certificate"] is None
    assert [each["cell"] for each in told["models"]] == list(model.classes)
    assert told["models"][0]["n_samples"] == 300


def test_inspect_one_class(path: str) -> None:
    assert "from 300 samples" in run("inspect", path, "--cell", "bee").output
    assert json.loads(run("inspect", path, "--cell", "bee", "--json").stdout)["cell"] == "bee"
    assert "has no cell 'cat'" in run("inspect", path, "--cell", "cat", code=1).output


def test_inspect_without_evidence(tmp_path: Path) -> None:
    path = str(tmp_path / "plain.fbm")
    model_of(has_evidence=False).save(path)
    shown = run("inspect", path).output
    assert "3 classes, no bins of evidence, from 300 samples" in shown
    assert "No certificate: the model has no evidence bins" in shown
    told = json.loads(run("inspect", path, "--json").stdout)
    assert told["certificate"] is None
    assert "evidence bins" in told["why_no_certificate"]


def test_json_and_back(path: str, tmp_path: Path) -> None:
    text, back = str(tmp_path / "animals.json"), str(tmp_path / "back.fbm")
    run("export", path, "-o", text)
    assert run("inspect", text).output.splitlines()[1:] == run("inspect", path).output.splitlines()[1:]
    run("export", text, "-o", back)
    assert Path(back).read_bytes() == Path(path).read_bytes()


def test_commands_that_need_one_value(path: str, tmp_path: Path) -> None:
    table, back = str(tmp_path / "rows.csv"), str(tmp_path / "back.fbm")
    Path(table).write_text("p,y\n0.5,1\n0.25,0\n")
    assert "is a vector model; --to json writes it" in run("export", path, "--to", "sql", code=1).output
    adapted = ("adapt", path, "--target-rate", "0.2", "-o", back)
    for arguments in (("predict", path, table), ("assess", path, table), ("monitor", path, table), adapted):
        told = " ".join(run(*arguments, code=1).output.split())
        assert "is a vector model, and this command takes models and sets of models; score rows by fastbin.load" in told, told
    Path(tmp_path / "rows.sql").write_text("SELECT 1")
    assert "is a vector model" in " ".join(run("verify", path, "--against", str(tmp_path / "rows.sql"), code=2).output.split())
