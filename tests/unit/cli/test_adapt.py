"""``fastbin adapt`` on files."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from commands import run

import fastbin as fb
from fastbin import shift
from fastbin._base.shown import outwards_as

pytest.importorskip("pyarrow")

adapt = partial(run, "adapt")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> fb.BinnedModel:
    """A fitted model, saved as source.fbm in the working directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    labels = rng.random(2000) < 0.5
    fitted = fb.UniformMassBinning(6).fit(1 / (1 + np.exp(-rng.normal(2.0 * labels - 1))), labels).model_
    fitted.save("source.fbm")
    return fitted


def write(name: str, **columns: object) -> None:
    rows = zip(*columns.values(), strict=True)  # type: ignore[call-overload]
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n")


OUTCOMES = [1] * 10 + [0] * 90


def test_target_labels(model: fb.BinnedModel) -> None:
    write("t.csv", outcome=OUTCOMES, other=range(100))
    told = adapt("source.fbm", "--target-labels", "t.csv", "--label", "outcome", "-o", "new.fbm").stdout
    expected = shift.LabelShift(model).fit(labels=OUTCOMES)
    assert fb.load("new.fbm") == expected.model_
    rate = expected.rate_
    interval = outwards_as(".4g", rate.lower, rate.upper)
    assert f"to 0.1 as the rate of label 1, from 100 outcomes; exact 90 % interval {interval}" in told
    assert str(expected.certificate(0.1)) in told
    ends = expected.interval(0.1)
    assert f"{ends[2, 0]:.3e} to {ends[2, 1]:.3e}" in told  # the least value is below 0.001


@pytest.mark.parametrize("method", ["likelihood", "confusion"])
def test_target_scores(method: str, model: fb.BinnedModel) -> None:
    scores = np.random.default_rng(1).beta(1, 2, 300)
    write("t.csv", p=scores.tolist())
    told = adapt("source.fbm", "--target-scores", "t.csv", "--method", method, "--n-bootstrap", "50", "-o", "new.fbm").stdout
    expected = shift.LabelShift(model, method=method, n_bootstrap=50).fit(scores)
    assert fb.load("new.fbm") == expected.model_
    assert "No certificate: the target rate was estimated from 300 scores" in told


def test_source_rows_give_the_rate_an_exact_interval(model: fb.BinnedModel) -> None:
    rng = np.random.default_rng(5)
    labels, target = rng.random(1500) < 0.5, rng.random(900) < 0.2
    scores, new = (1 / (1 + np.exp(-rng.normal(2.0 * each - 1))) for each in (labels, target))
    write("t.csv", p=new.tolist())
    write("s.csv", p=scores.tolist(), y=labels.astype(int).tolist())
    given = ["source.fbm", "--target-scores", "t.csv", "--source-rows", "s.csv", "--n-bootstrap", "5", "-o", "new.fbm"]
    for cuts in (None, (0.3, 0.7)):
        told = " ".join(adapt(*given, *([] if cuts is None else ["--cuts", "0.3,0.7"])).stdout.split())
        mover = shift.LabelShift(model, method="likelihood", n_bootstrap=5, cuts=cuts)
        expected = mover.fit(new, source_scores=scores, source_labels=labels)
        assert fb.load("new.fbm") == expected.model_
        rate = expected.rate_
        assert f"900 scores by maximum likelihood; exact 90 % interval {outwards_as('.4g', rate.lower, rate.upper)}" in told
        assert f"is bounded by their shares above {9 if cuts is None else 2} cuts" in told
        assert str(expected.certificate(0.1)) in told


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--target-rate", "0.1", "--source-rows", "s.csv"), 2, "--source-rows are for the interval of a rate"),
        (("--target-scores", "t.csv", "--cuts", "0.5"), 2, "--cuts are scores at which --source-rows"),
        (("--target-scores", "t.csv", "--source-rows", "s.csv"), 1, "s.csv, line 3, column p"),
        (("--target-scores", "t.csv", "--source-rows", "s.csv", "--cuts", "a"), 2, "'a' is not numbers such as 0.1,0.5"),
        (("--target-scores", "t.csv", "--source-rows", "good.csv", "--cuts", "0.5,0.2"), 1, "error: --cuts[1] is 0.2, not"),
        (("--target-scores", "wide.csv", "--source-rows", "good.csv"), 1, "label shift is refuted at level alpha=0.1"),
    ],
)
def test_source_rows_that_are_refused(arguments: tuple[str, ...], code: int, words: str, model: fb.BinnedModel) -> None:
    rng = np.random.default_rng(5)
    labels = rng.random(3000) < 0.5
    write("t.csv", p=[0.2, 0.7, 0.4])
    write("s.csv", p=[0.2, 1.7], y=[0, 1])
    write("good.csv", p=(1 / (1 + np.exp(-rng.normal(2.0 * labels - 1)))).tolist(), y=labels.astype(int).tolist())
    write("wide.csv", p=(1 / (1 + np.exp(-rng.normal(0.0, 4.0, 4000)))).tolist())
    assert words in adapt("source.fbm", *arguments, "-o", "new.fbm", code=code).stderr
    assert not Path("new.fbm").exists()


@pytest.mark.parametrize("given", [["--target-labels", "t.csv"], ["--target-scores", "t.csv", "--source-rows", "t.csv"]])
def test_labels_of_another_event_are_refused(given: list[str], model: fb.BinnedModel) -> None:
    words = ["no", "yes"]
    fb.UniformMassBinning(2).fit([0.1, 0.2, 0.7, 0.9], [*words, *words], positive="yes").model_.save("yes.fbm")
    write("t.csv", p=[0.2, 0.7], y=words)
    told = adapt("yes.fbm", *given, "--positive", "no", "-o", "new.fbm", code=1).stderr
    assert "is 'no', and the model gives the probability of 'yes'; pass --positive yes" in told
    assert not Path("new.fbm").exists()


def test_known_rates_from_a_quiet_command(model: fb.BinnedModel) -> None:
    quiet = adapt("source.fbm", "--target-rate", "0.02", "--source-rate", "0.5", "-o", "new.fbm", "-q")
    expected = shift.LabelShift(model, method="known", target_rate=0.02, source_rate=0.5).fit()
    assert fb.load("new.fbm") == expected.model_
    assert (quiet.stdout, quiet.stderr) == ("", "")


def test_many_bins_are_shortened(model: fb.BinnedModel) -> None:
    wide = fb.UniformMassBinning(100, score_range=None).fit(np.arange(1000.0), np.arange(1000) % 2)
    wide.model_.save("wide.fbm")
    told = adapt("wide.fbm", "--target-rate", "0.1", "-o", "new.fbm").stdout
    assert "..." in told
    assert len(told.splitlines()) < 50


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["source.fbm"], 2, "give one of --target-labels, --target-scores and --target-rate"),
        (["source.fbm", "--target-rate", "0.1", "--target-labels", "t.csv"], 2, "give one of"),
        (["source.fbm", "--target-rate", "0.1", "--label", "y"], 2, "--label is about rows that are not read here"),
        (["source.fbm", "--target-rate", "0.1", "--method", "confusion"], 2, "--method is about rows that are"),
        (["source.fbm", "--target-labels", "zero.csv", "--score", "p"], 2, "--score is about rows that are"),
        (["source.fbm", "--target-rate", "0.1", "--positive", "yes"], 2, "--positive is about rows that are"),
        (["source.fbm", "--target-labels", "zero.csv", "--n-bootstrap", "9"], 2, "--n-bootstrap is about rows that are"),
        (["source.fbm", "--target-rate", "1"], 2, "1 is not strictly between 0 and 1"),
        (["source.fbm", "--target-rate", "x"], 2, "'x' is not a number"),
        (["source.fbm", "--target-labels", "none.csv"], 1, "none.csv"),
        (["source.fbm", "--target-labels", "bad.csv"], 1, "bad.csv, line 4, column y: the value is 2"),
        (["source.fbm", "--target-labels", "zero.csv"], 1, "zero.csv: the target rate is 0 among 3 samples"),
        (["source.fbm", "--target-labels", "zero.csv"], 1, "give --target-rate, or --smoothing add-half"),
        (["source.fbm", "--target-scores", "zero.csv", "--score", "p"], 1, "has no column 'p'"),
        (["source.fbm", "--target-labels", "empty.csv"], 1, "empty.csv has no rows"),
        (["moved.fbm", "--target-rate", "0.1"], 1, "was moved already"),
        (["bad.csv", "--target-rate", "0.1"], 1, "bad.csv"),
    ],
)
def test_refusals(arguments: list[str], code: int, message: str, model: fb.BinnedModel) -> None:
    write("bad.csv", y=[0, 1, 2])
    write("zero.csv", y=[0, 0, 0])
    Path("empty.csv").write_text("y\n")
    shift.LabelShift(model, method="known", target_rate=0.3).fit().model_.save("moved.fbm")
    assert message in adapt(*arguments, "-o", "new.fbm", code=code).stderr
    assert not Path("new.fbm").exists()


def test_the_source_stays(model: fb.BinnedModel) -> None:
    assert "write to another one" in adapt("source.fbm", "--target-rate", "0.1", "-o", "source.fbm", code=1).stderr
    assert fb.load("source.fbm") == model
