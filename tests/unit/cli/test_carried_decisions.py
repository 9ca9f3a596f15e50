"""Commands show, export and compare the decision that a model carries."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from commands import run

import fastbin as fb

SCORES = np.random.default_rng(2).random(1000)
LABELS = np.random.default_rng(3).random(1000) < SCORES
MODEL = fb.UniformMassBinning(4).fit(SCORES, LABELS).model_
DECISION = fb.decide.accept_threshold(SCORES, LABELS, precision=0.75, npv=0.75)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    MODEL.save("plain.fbm")
    MODEL.with_decision(DECISION).save("decided.fbm")


def test_a_decision_survives_its_file() -> None:
    assert fb.load("decided.fbm").decision == DECISION
    assert fb.load("plain.fbm").decision is None
    assert fb.load("decided.fbm").decide(SCORES).tolist() == DECISION.decide(SCORES).tolist()


def test_inspect_shows_it() -> None:
    shown = " ".join(run("inspect", "decided.fbm").output.split())
    assert f"Decision: {DECISION}" in shown
    assert "Decision" not in run("inspect", "plain.fbm").output
    content = json.loads(run("inspect", "decided.fbm", "--json").output)["decision"]
    assert (content["accept_above"], content["reject_below"]) == (DECISION.accept_above, DECISION.reject_below)
    assert fb.decide.Decision.from_json(content["record"]) == DECISION
    assert json.loads(run("inspect", "plain.fbm", "--json").output)["decision"] is None


def test_inspect_of_a_record_that_it_does_not_know() -> None:
    other = SimpleNamespace(accept_above=0.75, reject_below=0.25, to_json=lambda: '{"fastbin": "decision", "version": 9}')
    MODEL.with_decision(other).save("later.fbm")
    shown = " ".join(run("inspect", "later.fbm").output.split())
    assert "accepts scores above 0.75 and rejects scores below 0.25; its record cannot be read" in shown
    with pytest.raises(fb.FormatError, match="update it"):
        _ = fb.load("later.fbm").decision


def test_a_record_that_contradicts_the_thresholds_is_refused() -> None:
    other = SimpleNamespace(accept_above=0.99, reject_below=0.01, to_json=DECISION.to_json)
    with pytest.raises(fb.FormatError, match=r"accepts above 0\.99 and rejects below 0\.01, and its record says others"):
        _ = MODEL.with_decision(other).decision


def test_it_is_exported_and_verified() -> None:
    run("export", "decided.fbm", "-o", "decided.sql", "--dialect", "sqlite", "--outputs", "decision")
    assert Path("decided.sql").read_text().rstrip() == fb.export.sql(fb.load("decided.fbm"), dialect="sqlite", what="decision")
    assert "0 differ" in run("verify", "decided.fbm", "--against", "decided.sql").output
    told = run("export", "plain.fbm", "--to", "sql", "--outputs", "decision", code=1)
    assert "carries no decision" in told.stderr
