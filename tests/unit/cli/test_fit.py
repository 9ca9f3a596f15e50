"""``fastbin fit`` and ``fastbin inspect``: the model is the one that Python fits, and what is printed is true of it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from commands import refusal, run

import fastbin as fb
from fastbin._base.shown import outwards_as
from fastbin.binning.uniform_mass import UniformMassBinning
from fastbin.cli import command_line, fit
from fastbin.cli._methods import METHODS, make_calibrator

N = 2000
RNG = np.random.default_rng(0)
SCORES = RNG.random(N).round(2).clip(0.01, 0.99)
LABELS = (RNG.random(N) < SCORES).astype(int)
FREQUENCIES = RNG.integers(0, 4, N)
WEIGHTS = RNG.random(N)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": range(N), "p": SCORES, "y": LABELS, "k": FREQUENCIES, "w": WEIGHTS})
    pa.csv.write_csv(table, "s.csv")
    pq.write_table(table, "s.parquet")


# ---------------------------------------------------------------------- the model


@pytest.mark.sampled
@pytest.mark.parametrize("file", ["s.csv", "s.parquet"])
@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(
    ("options", "configuration"),
    [
        ([], {}),
        (["--n-bins", "25", "--seed", "7"], {"n_bins": 25, "seed": 7}),
        (["--n-bins", "auto"], {"n_bins": "auto"}),
        (["--ties", "random"], {"ties": "random"}),
        (["--ties", "whole", "--edges-share", "0.25"], {"ties": "whole", "edges_share": 0.25}),
        (["--ties", "upper", "--method", "ze"], {"ties": "upper", "scheme": "ze"}),
        (["--method", "umb", "--ties", "whole", "--delta", "0.01"], {"scheme": "umb", "delta": 0.01}),
        (["--method", "ums", "--split", "0.3"], {"scheme": "ums", "split": 0.3}),
        (["--method", "ums", "--cuts", "expected-positives"], {"scheme": "ums", "cuts": "expected-positives"}),
        (["--score-range", "any"], {"score_range": None}),
        (["--score-range", "-1,2", "--threads", "2"], {"score_range": (-1, 2)}),
    ],
)
@pytest.mark.filterwarnings("ignore:ties='whole' left")
def test_the_model_is_that_of_python(
    file: str, in_memory: bool, options: list[str], configuration: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_memory:
        monkeypatch.setattr(fit, "ROWS_AS_ARRAYS", 500)
    run("fit", file, "--method", "umd", *options, "-o", "m.fbm")
    assert fb.load("m.fbm") == fb.UniformMassBinning(**configuration).fit(SCORES, LABELS).model_


@pytest.mark.parametrize("file", ["s.csv", "s.parquet"])
@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(("column", "weights"), [("k", FREQUENCIES), ("w", WEIGHTS)])
def test_weights_are_frequencies_or_importance_weights(
    file: str, in_memory: bool, column: str, weights: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_memory:
        monkeypatch.setattr(fit, "ROWS_AS_ARRAYS", 500)
    run("fit", file, "--method", "umd", "--weights", column, "-o", "m.fbm")
    assert fb.load("m.fbm") == fb.UniformMassBinning().fit(SCORES, LABELS, weights).model_


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_batch_of_known_size(in_memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_memory:
        monkeypatch.setattr(fit, "ROWS_AS_ARRAYS", 5)
    drawn = slice(None, None, 4)
    rows = zip(SCORES[drawn].tolist(), LABELS[drawn].tolist(), strict=True)
    Path("drawn.csv").write_text("p,y\n" + "".join(f"{score!r},{int(label)}\n" for score, label in rows))
    done = run("fit", "drawn.csv", "--method", "umd", "--n-bins", "5", "--population", "s.csv", "-o", "m.fbm")
    expected = fb.UniformMassBinning(n_bins=5).fit(SCORES[drawn], LABELS[drawn], population=SCORES).model_
    assert fb.load("m.fbm") == expected
    assert "among all rows of the batch" in done.output
    about = f"the intervals are about the {len(SCORES):,} rows of the batch that MODEL was fitted to"
    assert about in " ".join(run("predict", "m.fbm", "drawn.csv", "--interval", "0.1", "-o", "out.csv").output.split())
    assert about not in " ".join(run("predict", "m.fbm", "drawn.csv", "-o", "out.csv").output.split())
    said = refusal("fit", "s.csv", "--method", "umd", "--population", "drawn.csv", "-o", "m.fbm")
    assert said.startswith("s.csv, line ")
    assert "which population holds" in said
    Path("bad.csv").write_text("p\n0.5\n1.5\n")
    said = refusal("fit", "drawn.csv", "--method", "umd", "--population", "bad.csv")
    assert said.startswith("bad.csv, line 3, column p: the value is 1.5, outside [0, 1]")


def test_files_beyond_memory_are_fitted_in_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "ROWS_AS_ARRAYS", 500)
    monkeypatch.setattr(UniformMassBinning, "fit", None)
    run("fit", "s.csv", "--method", "umd", "-o", "m.fbm")


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_fits_predicts_and_is_inspected(method: str) -> None:
    run("fit", "s.csv", "--method", method, "-o", "m.fbm")
    model = make_calibrator(method, {}).fit(SCORES, LABELS).model_
    assert fb.load("m.fbm") == model
    run("predict", "m.fbm", "s.csv", "--seed", "1", "-o", "out.csv")
    assert np.array_equal(pa.csv.read_csv("out.csv")["calibrated"].to_numpy(), model.predict(SCORES, seed=1))
    told = run("inspect", "m.fbm").output
    assert ("No certificate:" in told) == (method in ("isotonic", "platt", "temperature", "beta", "quadratic", "spline"))


@pytest.mark.parametrize(
    ("options", "calibrator"),
    [
        (["--method", "scaling-binning", "--scaler", "beta", "--threads", "2"], lambda: fb.ScalingBinning(scaler="beta")),
        (["--method", "scaling-binning", "--split", "2,1,1"], lambda: fb.ScalingBinning(scheme="split", split=(2, 1, 1))),
        (["--method", "fixed-width", "--monotone"], lambda: fb.FixedWidthBinning(monotone=True)),
        (["--method", "isotonic", "--interpolate"], lambda: fb.IsotonicCalibration(interpolate=True)),
        (["--method", "platt", "--feature", "logit"], lambda: fb.PlattScaling(feature="logit")),
        (["--method", "beta", "--parameters", "am"], lambda: fb.BetaScaling(parameters="am")),
    ],
)
def test_options_of_single_methods(options: list[str], calibrator: Any) -> None:
    run("fit", "s.csv", "--method", "umd", *options, "-o", "m.fbm")
    assert fb.load("m.fbm") == calibrator().fit(SCORES, LABELS).model_


def test_float32_scores_stay_float32() -> None:
    scores = RNG.random(500, dtype=np.float32)
    labels = RNG.random(500) < scores
    pq.write_table(pa.table({"p": scores, "y": labels}), "f.parquet")
    run("fit", "f.parquet", "--method", "umd", "-o", "m.fbm")
    assert fb.load("m.fbm") == fb.UniformMassBinning().fit(scores, labels).model_


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    run("fit", "-", "--method", "umd", "-o", "m.fbm", input=Path("s.csv").read_bytes())
    assert fb.load("m.fbm") == fb.UniformMassBinning().fit(SCORES, LABELS).model_


# ---------------------------------------------------------------------- which columns


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        ("p,y", True),
        ("y_prob,y_true", True),
        ("score,whatever", True),
        ("anything,label", True),
        ("Probability,Target", True),
        ("a,b", False),
        ("score,p", False),
    ],
)
def test_columns_are_found_where_only_one_choice_is_plausible(header: str, chosen: bool) -> None:
    Path("t.csv").write_text(header + "\n" + "0.1,0\n0.9,1\n" * 20)
    if chosen:
        run("fit", "t.csv", "--method", "umd", "--n-bins", "1", "-o", "m.fbm")
        assert fb.load("m.fbm").n_positive == 20
    else:
        told = refusal("fit", "t.csv", "-o", "m.fbm")
        assert "say --score COLUMN" in told
        assert told.endswith(f"it has {header.replace(',', ', ')}")


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "index", "", "row number"])
def test_what_numbers_rows_is_not_taken_for_labels_or_scores(name: str) -> None:
    """Beside a known column the other one of two is guessed, unless it is the name of rows."""
    for known, option in (("p", "--label"), ("y", "--score")):
        Path("t.csv").write_text(f"{name},{known}\n" + "1,0\n0,1\n" * 20)
        assert f"say {option} COLUMN; no column has a usual name" in refusal("fit", "t.csv", "-o", "m.fbm")
        assert not Path("m.fbm").exists()


def test_two_plausible_columns_are_one_too_many() -> None:
    Path("t.csv").write_text("p,pred,y\n0.1,0.2,0\n")
    assert "both p and pred could be meant" in refusal("fit", "t.csv", "-o", "m.fbm")
    Path("t.csv").write_text("p,y,label\n0.1,0.2,0\n")
    assert "say --label COLUMN; both y and label could be meant" in refusal("fit", "t.csv", "-o", "m.fbm")


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "7,1.5,1,1,1",
            "bad.csv, line 7, column p: the value is 1.5, outside [0, 1]; pass probabilities, or --score-range any",
        ),
        ("7,0.5,2,1,1", "bad.csv, line 7, column y: the value is 2.0; labels are 0 and 1"),
        ("7,0.5,-1,1,1", "bad.csv, line 7, column y: the value is -1.0; labels are 0 and 1, or False and True"),
        ("7,,1,1,1", "bad.csv, line 7, column p: the value is missing"),
        ("7,nan,1,1,1", "bad.csv, line 7, column p: the value is missing"),
        ("7,inf,1,1,1", "bad.csv, line 7, column p: the value is inf"),
        ("7,0.5,yes,1,1", "bad.csv, line 7, column y: 'yes' is neither a number nor true or false"),
        ("7,0.5", "bad.csv, line 7: expected 5 columns, got 2"),
        ("7,0.5,1,1,-0.5", "bad.csv, line 7, column w: the value is -0.5; weights must be finite and not negative"),
    ],
)
@pytest.mark.parametrize("in_memory", [True, False])
def test_bad_rows_are_told_by_their_line(line: str, message: str, in_memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_memory:
        monkeypatch.setattr(fit, "ROWS_AS_ARRAYS", 500)
    lines = Path("s.csv").read_text().splitlines()
    lines[6] = line
    Path("bad.csv").write_text("\n".join(lines))
    assert refusal("fit", "bad.csv", "--weights", "w", "-o", "m.fbm").startswith(message)


def test_three_labels_are_made_a_column() -> None:
    """No value of --positive could serve."""
    Path("three.csv").write_text("p,y\n0.1,yes\n0.2,no\n0.3,maybe\n")
    told = refusal("fit", "three.csv", "--score", "p", "--label", "y", "-o", "m.fbm")
    assert told.startswith("three.csv, line 2, column y: 'yes' is neither a number nor true or false")
    assert told.endswith(
        "the labels are 'yes' and 'no' and 'maybe': make a column of 0 and 1 of them, one class against others"
    )


def test_bad_rows_of_parquet_are_told_by_their_number() -> None:
    scores = SCORES.copy()
    scores[41] = -0.25
    pq.write_table(pa.table({"p": scores, "y": LABELS}), "bad.parquet")
    assert refusal("fit", "bad.parquet", "-o", "m.fbm").startswith("bad.parquet, row 42, column p: the value is -0.25, outside")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.csv", "-o", "m.fbm"], "absent.csv: No such file"),
        (["empty", "-o", "m.fbm"], "empty is a folder without tables"),
        (["s.csv", "-o", "absent/m.fbm"], "absent is not a folder"),
        (["s.csv", "-o", "."], ". is a folder"),
        (["s.csv", "-o", "s.csv"], "s.csv is the file that is read"),
        (["s.csv", "-o", "m.fbm", "--score", "q"], "s.csv has no column 'q'; it has id, p, y, k, w"),
        (["s.csv", "-o", "m.fbm", "--weights", "q"], "s.csv has no column 'q'"),
        (["s.csv", "--score", "p", "--label", "p"], "the column 'p' is both score and label; name another column for one"),
        (["s.csv", "--weights", "p"], "the column 'p' is both score and weight"),
        (["s.csv", "--weights", "y"], "the column 'y' is both label and weight"),
        (["s.csv", "--segment", "y"], "the column 'y' is both label and segment"),
        (["s.csv", "--score", "p", "--label", "y", "--cluster", "y"], "the column 'y' is both label and cluster"),
        (["s.csv", "--method", "ums", "--split", "1,1,1"], "--split must be a real number, got (1.0, 1.0, 1.0)"),
        (["s.csv", "--method", "umd", "--n-bins", "1001"], "s.csv: 2,000 samples are too few for --n-bins 1001"),
        (["s.csv", "-o", "m.fbm", "--n-bins", "0"], "--n-bins is 0; it must be at least 1"),
        (["s.csv", "--method", "umb", "--ties", "upper"], "s.csv: ties is 'upper', which scheme 'umb' does not have"),
        (
            ["s.csv", "--method", "umd", "--edges-share", "0.001"],
            "s.csv: --edges-share 0.001 leaves 2 of 2000 samples to place the edges",
        ),
        (["-", "-o", "m.fbm", "--weights", "w"], "standard input is empty"),
    ],
)
def test_refusals(arguments: list[str], message: str) -> None:
    Path("empty").mkdir()
    assert refusal("fit", *arguments).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'FILE'"),
        (["s.csv", "-o", "m.fbm", "--method", "umx"], "Invalid value for '--method'"),
        (["s.csv", "-o", "m.fbm", "--n-bins", "ten"], "Invalid value for '--n-bins': 'ten' is not a number of bins or 'auto'"),
        (["s.csv", "-o", "m.fbm", "--alpha", "10"], "Invalid value for '--alpha': alpha is 10.0; alpha is the chance"),
        (["s.csv", "-o", "m.fbm", "--seed", "-1"], "Invalid value for '--seed': seed is -1"),
        (["s.csv", "-o", "m.fbm", "--score-range", "0"], "Invalid value for '--score-range'"),
        (["s.csv", "-o", "m.fbm", "--delimiter", "ab"], "Invalid value for '--delimiter': 'ab' is not one character"),
        (
            ["s.csv", "-o", "m.fbm", "--split", "0.5"],
            "--method certified does not support --split; supported by ums, scaling-binning",
        ),
        (
            ["s.csv", "-o", "m.fbm", "--method", "umd", "--cuts", "expected-positives"],
            "--method umd does not support --cuts; supported by ums",
        ),
        (
            ["s.csv", "-o", "m.fbm", "--method", "isotonic", "--threads", "2"],
            "--method isotonic does not support --threads; supported by certified, umd, ze, ums, umb, scaling-binning",
        ),
        (
            ["s.csv", "-o", "m.fbm", "--population", "s.csv"],
            "--method certified does not support --population; supported by umd",
        ),
        (
            ["s.csv", "-o", "m.fbm", "--segment", "p", "--population", "s.csv"],
            "--population does not go with --segment and --classes",
        ),
        (
            ["s.csv", "-o", "m.fbm", "--method", "platt", "--n-bins", "5"],
            "--method platt does not support --n-bins; supported by",
        ),
    ],
)
def test_usage_errors(arguments: list[str], message: str) -> None:
    assert refusal("fit", *arguments, code=2).startswith(message)


def test_a_file_without_rows() -> None:
    Path("t.csv").write_text("p,y\n")
    assert refusal("fit", "t.csv", "-o", "m.fbm") == "t.csv has no rows; a calibrator needs samples"


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(("column", "weights"), [("k", FREQUENCIES), ("w", WEIGHTS)])
def test_weights_from_a_pipe(column: str, weights: np.ndarray, in_memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_memory:
        monkeypatch.setattr(fit, "ROWS_AS_ARRAYS", 500)
    run("fit", "-", "--method", "umd", "--weights", column, "-o", "m.fbm", input=Path("s.csv").read_bytes())
    assert fb.load("m.fbm") == fb.UniformMassBinning().fit(SCORES, LABELS, weights).model_


def test_a_failed_fit_keeps_the_old_model() -> None:
    run("fit", "s.csv", "--method", "umd", "-o", "m.fbm")
    before = Path("m.fbm").read_bytes()
    refusal("fit", "s.csv", "--label", "k", "-o", "m.fbm")
    assert Path("m.fbm").read_bytes() == before


def test_a_method_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "platt", METHODS["platt"].__class__("fastbin.scaling", "Nothing", ""))
    assert refusal("fit", "s.csv", "--method", "platt", "-o", "m.fbm") == "method 'platt' is not in this version of fastbin"


# ---------------------------------------------------------------------- what is printed


def test_fit_and_inspect_print_the_bins_and_the_certificate() -> None:
    fitted = run("fit", "s.csv", "--method", "umd", "-o", "m.fbm", "--alpha", "0.05").output
    inspected = run("inspect", "m.fbm", "--alpha", "0.05").output
    told = inspected.splitlines()[1:]
    assert [line for line in told if not line.startswith("Made by")] == fitted.splitlines()[1:]
    assert fitted.startswith(
        "m.fbm: uniform-mass binning without sample splitting (umd), 10 bins, from 2,000 samples of which "
    )
    assert "(scores from p, labels from y)" in fitted
    model = fb.load("m.fbm")
    assert str(model.certificate(0.05)) in inspected
    interval = outwards_as(".4f", *model.interval(0.05)[3])
    row = next(line.split() for line in inspected.splitlines() if line.strip().startswith("3 "))
    assert row == ["3", f"{model.edges[2]:.6g}", f"{model.edges[3]:.6g}", f"{model.counts[3]}", f"{model.label_sums[3]}",
                   f"{model.values[3]:.4f}", *interval.split()]  # fmt: skip


def test_quiet_prints_nothing() -> None:
    assert run("fit", "s.csv", "--method", "umd", "-q", "-o", "m.fbm").output == ""


def test_inspect_tells_what_a_user_must_know() -> None:
    run("fit", "s.csv", "--method", "umd", "-o", "m.fbm")
    assert "Same score, same probability, always." in run("inspect", "m.fbm").output
    assert "each group lies in one bin" in run("inspect", "m.fbm").output
    run("fit", "s.csv", "--method", "umd", "--ties", "random", "-o", "m.fbm")
    assert (
        "share the score of a boundary with others and got their bin by a random key (seed 0)" in run("inspect", "m.fbm").output
    )
    run("fit", "s.csv", "--method", "umd", "--ties", "upper", "--n-bins", "400", "-o", "m.fbm")
    told = run("inspect", "m.fbm").output
    assert "400 bins were asked for; ties left" in told
    assert "all of them go to the bin above it" in told
    assert "No certificate: " in told
    run("fit", "s.csv", "--method", "umd", "--weights", "w", "-o", "m.fbm")
    assert "Values are weighted means (importance weights)." in run("inspect", "m.fbm").output
    run("fit", "s.csv", "--method", "umd", "--delta", "0.125", "--score-range", "any", "-o", "m.fbm")
    told = run("inspect", "m.fbm").output
    assert "delta = 0.125" in told
    assert "Same score, same bin, always." in told  # values are drawn
    assert "Scores may be any finite number." in told
    Path("gap.csv").write_text("p,y\n" + "0.05,0\n0.95,1\n" * 10)
    run("fit", "gap.csv", "--method", "fixed-width", "-o", "m.fbm")
    assert "Empty: 8 bins without samples (1, 2, 3, 4, 5, 6, 7, 8)" in run("inspect", "m.fbm").output
    run("fit", "s.csv", "--method", "platt", "-o", "m.fbm")
    assert "Map: log-odds = " in run("inspect", "m.fbm").output


def test_inspect_as_json_holds_everything_unrounded() -> None:
    run("fit", "s.csv", "--method", "umd", "-o", "m.fbm")
    model = fb.load("m.fbm")
    told = json.loads(run("inspect", "m.fbm", "--json").output)
    assert [entry["value"] for entry in told["bins"]] == model.values.tolist()
    assert [entry["count"] for entry in told["bins"]] == model.counts.tolist()
    assert [entry["label_sum"] for entry in told["bins"]] == model.label_sums.tolist()
    assert [[entry["lower"], entry["upper"]] for entry in told["bins"]] == model.interval(0.1).tolist()
    assert [entry["from"] for entry in told["bins"][1:]] == model.edges.tolist()
    assert [entry["from_key"] for entry in told["bins"][1:]] == model.edge_keys.tolist()
    assert [entry["to"] for entry in told["bins"]] == [*model.edges.tolist(), 1.0]
    assert told["certificate"]["epsilon"] == model.certificate().epsilon
    assert told["certificate"]["sentence"] == str(model.certificate())
    assert told["why_no_certificate"] is None
    assert told["randomised_mass"] == model.randomised_mass
    for name in ("scheme", "ties", "n_bins", "n_samples", "n_positive", "n_tied", "seed", "delta"):
        assert told[name] == getattr(model, name)


@pytest.mark.parametrize("method", list(METHODS))
def test_json_is_valid_for_every_method(method: str) -> None:
    run("fit", "s.csv", "--method", method, "-o", "m.fbm")
    told = json.loads(run("inspect", "m.fbm", "--json").output, parse_constant=lambda word: pytest.fail(word))
    assert (told["certificate"] is None) == (told["why_no_certificate"] is not None)


def test_many_bins_are_cut_short_after_a_fit_and_shown_by_inspect() -> None:
    fitted = run("fit", "s.csv", "--method", "umd", "--n-bins", "100", "--ties", "random", "-o", "m.fbm").output
    assert "..." in fitted
    assert len(fitted.splitlines()) < 45
    assert len(run("inspect", "m.fbm").output.splitlines()) > 100


def test_tiny_probabilities_keep_their_digits() -> None:
    Path("rare.csv").write_text("p,y\n" + "".join(f"{i * 1e-6},{int(i % 5000 == 7)}\n" for i in range(20_000)))
    run("fit", "rare.csv", "--method", "umd", "--n-bins", "2", "-o", "m.fbm")
    assert f"{fb.load('m.fbm').values[0]:.3e}" in run("inspect", "m.fbm").output


def test_a_terminal_gets_wrapped_lines_and_a_program_whole_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    run("fit", "s.csv", "--method", "umd", "-q", "-o", "m.fbm")

    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    for width in ("80", "120"):
        shown = Terminal()
        with monkeypatch.context() as patch:
            for name, value in {"COLUMNS": width, "TERM": "xterm", "NO_COLOR": "1"}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdout", shown)
            assert command_line.run(["inspect", "m.fbm"]) == 0
        assert max(map(len, shown.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines())) <= int(width)
        assert "\x1b[3" not in shown.getvalue()  # no colours
