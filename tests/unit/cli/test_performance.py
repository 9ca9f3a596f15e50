"""``fastbin performance`` on files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import fastbin as fb
from fastbin.decide import performance

pytest.importorskip("click")
pytest.importorskip("rich")
pytest.importorskip("pyarrow")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> fb.BinnedModel:
    """A fitted model, saved as m.fbm in the working directory, beside a batch of scores."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    scores = rng.random(1000)
    fitted = fb.CertifiedCalibration().fit(scores, rng.random(1000) < scores).model_
    fitted.save("m.fbm")
    Path("batch.csv").write_text("id,p\n" + "\n".join(f"{row},{score!r}" for row, score in enumerate(batch())) + "\n")
    return fitted


def batch() -> list[float]:
    return np.random.default_rng(1).random(400).tolist()


def run(*arguments: str) -> int:
    from fastbin.cli import command_line

    return command_line.run(["performance", *arguments])


def test_it_says_what_python_says(model: fb.BinnedModel, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("m.fbm", "batch.csv", "--threshold", "0.3", "--cost", "1,5", "--about", "labels", "--alpha", "0.2") == 0
    found = performance(model, batch(), 0.3, cost=(1, 5), about="labels", alpha=0.2)
    told = capsys.readouterr().out
    assert found.to_dict()["sentence"] in told
    for name, (lower, upper) in found.intervals.items():
        low, high = math.floor(1e4 * lower) / 1e4, math.ceil(1e4 * upper) / 1e4
        assert f"{name}     {found.estimates[name]:.4f}   {low:.4f}   {high:.4f}" in told
    assert f"The threshold divides slices with {found.n_divided} rows" in told


def test_json(model: fb.BinnedModel, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("m.fbm", "batch.csv", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "model": "m.fbm",
        "file": "batch.csv",
        **performance(model, batch()).to_dict(),
    }


def test_rows_that_a_key_decides(model: fb.BinnedModel, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 5, 500) / 4
    tied = fb.UniformMassBinning(4, ties="random", monotone=True).fit(scores, rng.random(500) < scores).model_
    tied.save("tied.fbm")
    keys, rows = rng.integers(0, 2**63, 300, np.uint64).tolist(), (rng.integers(0, 5, 300) / 4).tolist()
    Path("keys.csv").write_text("p,key\n" + "\n".join(f"{row},{key}" for row, key in zip(rows, keys, strict=True)) + "\n")
    threshold = float(tied.values[-1])
    assert run("tied.fbm", "keys.csv", "--tie-key", "key", "--threshold", repr(threshold), "--json") == 0
    expected = performance(tied, rows, threshold, tie_keys=np.array(keys, np.uint64))
    assert json.loads(capsys.readouterr().out)["metrics"] == expected.to_dict()["metrics"]
    assert run("tied.fbm", "keys.csv", "--threshold", repr(threshold), "--json", "--seed", "3") == 0
    first = capsys.readouterr().out
    assert run("tied.fbm", "keys.csv", "--threshold", repr(threshold), "--json", "--seed", "3") == 0
    assert capsys.readouterr().out == first


def test_rows_at_cuts_are_told(model: fb.BinnedModel, capsys: pytest.CaptureFixture[str]) -> None:
    Path("cut.csv").write_text("p\n" + "\n".join(map(repr, [*batch(), float(model.slice_cuts[2])])) + "\n")
    assert run("m.fbm", "cut.csv") == 0
    assert "1 rows lie where no calibration sample tells anything" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--threshold", "1.5"), 1, "--threshold is 1.5; it must be in [0, 1]"),
        (("--cost", "3"), 2, "'3' is not a pair such as 1,5"),
        (("--cost", "3,-1"), 1, "cost[1] is -1.0; costs are finite, and not negative"),
        (("--score", "q"), 1, "no column 'q'"),
        (("--about", "rows"), 2, "'rows' is not one of"),
    ],
)
def test_what_is_refused(
    arguments: tuple[str, ...], code: int, words: str, model: fb.BinnedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("m.fbm", "batch.csv", *arguments) == code
    assert words in capsys.readouterr().err


def test_a_score_that_is_missing(model: fb.BinnedModel, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.csv").write_text("p\n0.2\n\n0.4\nx\n")
    assert run("m.fbm", "bad.csv") == 1
    assert "bad.csv, line 5, column p" in capsys.readouterr().err
