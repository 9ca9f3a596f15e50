"""``fastbin decide`` on files."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from commands import run

from fastbin.decide import Decision, accept_threshold

pytest.importorskip("pyarrow")

decide = partial(run, "decide")


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels, also as scores.csv in the working directory, with labels in words in words.csv."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    labels = rng.random(3000) < scores
    pairs = list(zip(scores.tolist(), labels.tolist(), strict=True))
    Path("scores.csv").write_text("p,y\n" + "".join(f"{p!r},{int(y)}\n" for p, y in pairs))
    Path("words.csv").write_text("p,y\n" + "".join(f"{p!r},{'bad' if y else 'good'}\n" for p, y in pairs))
    return scores, labels


def test_the_sentence_the_table_and_the_file(rows: tuple[np.ndarray, np.ndarray]) -> None:
    told = decide("scores.csv", "--precision", "0.8", "--delta", "0.05", "-o", "decision.json").stdout
    expected = accept_threshold(*rows, precision=0.8, delta=0.05)
    assert Decision.from_json(Path("decision.json").read_text()) == expected
    assert str(expected) in " ".join(told.split())
    assert "Theorem F21" in told
    assert f"{expected.sequence[0].n:,}" in told


def test_json(rows: tuple[np.ndarray, np.ndarray]) -> None:
    told = json.loads(decide("scores.csv", "--precision", "0.8", "--npv", "0.7", "--seed", "3", "--json").stdout)
    expected = accept_threshold(*rows, precision=0.8, npv=0.7, seed=3)
    assert told == {"file": "scores.csv", **json.loads(json.dumps(expected.to_dict()))}
    assert (told["accept_above"], told["reject_below"]) == (expected.accept_above, expected.reject_below)


def test_costs_thresholds_and_labels_in_words(rows: tuple[np.ndarray, np.ndarray]) -> None:
    made = decide("words.csv", "--positive", "bad", "--cost", "2,1", "-o", "-")
    assert Decision.from_json(made.stdout) == accept_threshold(
        rows[0], np.where(rows[1], "bad", "good"), cost=(2, 1), positive="bad"
    )
    assert "accept scores above" in " ".join(made.stderr.lower().split())
    told = decide("scores.csv", "--precision", "0.8", "--thresholds", "0.5,0.7,0.9", "--json").stdout
    assert json.loads(told)["accept_above"] == 0.7


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ([], 1, "no target is given; say --precision, --npv or both, or --cost"),
        (["--precision", "0.8", "--cost", "1,1"], 1, "--cost stands for targets of precision and npv"),
        (["--cost", "1"], 2, "for '--cost': '1' is not a pair such as 1,5"),
        (["--cost", "1,x"], 2, "for '--cost': '1,x' is not a pair such as 1,5"),
        (["--precision", "0.8", "--thresholds", "0.5,x"], 2, "for '--thresholds': '0.5,x' is not numbers such as 0.1,0.5"),
        (["--precision", "95"], 2, "95"),
        (["--precision", "0.8", "--delta", "0"], 2, "delta is 0.0; a failure probability"),
        (["--precision", "0.8", "--delta", "0.9"], 2, "did you mean 0.1?"),
        (["--precision", "0.99999"], 1, "takes 230,258 rows beyond a threshold, all decided rightly, and 2,700 are tested"),
        (["--precision", "0.8", "--thresholds", "nan"], 1, "error: --thresholds[0] is nan; thresholds are finite numbers"),
        (["--precision", "0.8", "--weights", "w"], 2, "No such option"),
        (["--precision", "0.8", "-o", "scores.csv"], 1, "is the file that is read"),
        (["--precision", "0.8", "-o", "-", "--json"], 2, "--json and a result at - would both write to standard output"),
    ],
)
def test_mistakes(rows: tuple[np.ndarray, np.ndarray], arguments: list[str], code: int, told: str) -> None:
    assert told in decide("scores.csv", *arguments, code=code).stderr


def test_a_bad_row_is_named_by_its_line(rows: tuple[np.ndarray, np.ndarray]) -> None:
    lines = Path("scores.csv").read_text().splitlines()
    lines[41] = "nan,1"
    Path("scores.csv").write_text("\n".join(lines) + "\n")
    assert "scores.csv, line 42, column p" in decide("scores.csv", "--precision", "0.8", code=1).stderr
