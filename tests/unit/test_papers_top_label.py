"""The experiment on top labels at a small size: the protocol is run, and every number is made."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from oracle import REPOSITORY

pytest.importorskip("scipy")
pytest.importorskip("sklearn")

SCRIPT = REPOSITORY / "bench" / "papers" / "cifar10_top_label.py"


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cifar10_top_label", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_logits(folder: Path) -> None:
    """Overconfident logits of four classes: the truth is drawn at half of them."""
    rng = np.random.default_rng(1)
    columns = {}
    for part, n in (("calibration", 2000), ("test", 4000)):
        logits = rng.normal(0.0, 3.0, (n, 4)).astype(np.float32)
        chances = np.exp(logits / 2.0)
        labels = (rng.random((n, 1)) > np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
        columns |= {f"{part}_logits": logits, f"{part}_labels": np.minimum(labels, 3).astype(np.uint8)}
    np.savez(folder / "cifar10_resnet50.npz", **columns)


def test_every_method_is_measured(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_logits(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--data", str(tmp_path), "--bootstrap", "2"])
    script.main()
    printed = capsys.readouterr().out
    table = {line[:28].strip(): line[28:].split() for line in printed.split("\n\n")[1].splitlines()[1:]}
    assert {"softmax", "temperature scaling", *script.OURS} <= set(table)
    errors = {name: float(row[0]) for name, row in table.items()}
    for name in ("TopLabelBinning", "TopLabelBinning, certified", "temperature scaling"):
        assert errors[name] < 0.7 * errors["softmax"], name
    assert float(table["softmax"][1]) > 0.0
    assert {len(row) for row in table.values()} <= {7, 9, 10}
    assert printed.count("With probability at least 90 % over the 2,000 calibration samples") == 6
    assert "normalized probabilities have no certificate" in printed


def test_temperature_scaling_finds_the_temperature(script: ModuleType, tmp_path: Path) -> None:
    write_logits(tmp_path)
    calibration, test = script.read_rows(tmp_path / script.FILE)
    truth = np.exp(test.logits / 2.0)
    truth /= truth.sum(axis=1, keepdims=True)
    assert np.abs(script.temperature(calibration, test).matrix - truth).max() < 0.05


def test_without_data_it_says_so(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(script.DATA_VARIABLE, raising=False)
    for arguments, said in (
        ([], "skipped: no data folder"),
        (["--data", str(tmp_path)], "skipped: cifar10_resnet50.npz is not in"),
    ):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
        script.main()
        assert said in capsys.readouterr().out
