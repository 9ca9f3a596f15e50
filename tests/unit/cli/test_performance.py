"""``fastbin performance`` on files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from commands import run

import fastbin as fb
from fastbin.decide import performance

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


def test_it_says_what_python_says(model: fb.BinnedModel) -> None:
    options = ["--threshold", "0.3", "--cost", "1,5", "--about", "labels", "--alpha", "0.2"]
    told = run("performance", "m.fbm", "batch.csv", *options).stdout
    found = performance(model, batch(), 0.3, cost=(1, 5), about="labels", alpha=0.2)
    assert found.to_dict()["sentence"] in told
    for name, (lower, upper) in found.intervals.items():
        low, high = math.floor(1e4 * lower) / 1e4, math.ceil(1e4 * upper) / 1e4
        assert f"{name}     {found.estimates[name]:.4f}   {low:.4f}   {high:.4f}" in told
    assert f"The threshold divides slices with {found.n_divided} rows" in told


def test_json(model: fb.BinnedModel) -> None:
    assert json.loads(run("performance", "m.fbm", "batch.csv", "--json").stdout) == {
        "model": "m.fbm",
        "file": "batch.csv",
        **performance(model, batch()).to_dict(),
    }


def test_rows_that_a_key_decides(model: fb.BinnedModel) -> None:
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 5, 500) / 4
    tied = fb.UniformMassBinning(4, ties="random", monotone=True).fit(scores, rng.random(500) < scores).model_
    tied.save("tied.fbm")
    keys, rows = rng.integers(0, 2**63, 300, np.uint64).tolist(), (rng.integers(0, 5, 300) / 4).tolist()
    Path("keys.csv").write_text("p,key\n" + "\n".join(f"{row},{key}" for row, key in zip(rows, keys, strict=True)) + "\n")
    threshold = float(tied.values[-1])
    tied_rows = ["performance", "tied.fbm", "keys.csv", "--threshold", repr(threshold), "--json"]
    told = json.loads(run(*tied_rows, "--tie-key", "key").stdout)
    expected = performance(tied, rows, threshold, tie_keys=np.array(keys, np.uint64))
    assert told["metrics"] == expected.to_dict()["metrics"]
    first, second = (run(*tied_rows, "--seed", "3").stdout for _ in range(2))
    assert first == second


def test_rows_at_cuts_are_told(model: fb.BinnedModel) -> None:
    Path("cut.csv").write_text("p\n" + "\n".join(map(repr, [*batch(), float(model.slice_cuts[2])])) + "\n")
    assert "1 row lies where no calibration sample tells anything" in run("performance", "m.fbm", "cut.csv").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--threshold", "1.5"), 1, "--threshold is 1.5; it must be in [0, 1]"),
        (("--cost", "3"), 2, "'3' is not a pair such as 1,5"),
        (("--cost", "3,-1"), 1, "error: --cost[1] is -1.0; costs are finite, and not negative"),
        (("--score", "q"), 1, "no column 'q'"),
        (("--about", "rows"), 2, "'rows' is not one of"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, words: str, model: fb.BinnedModel) -> None:
    assert words in run("performance", "m.fbm", "batch.csv", *arguments, code=code).stderr


def test_a_score_that_is_missing(model: fb.BinnedModel) -> None:
    Path("bad.csv").write_text("p\n0.2\n\n0.4\nx\n")
    assert "bad.csv, line 5, column p" in run("performance", "m.fbm", "bad.csv", code=1).stderr
