"""``fastbin predict``, ``bins`` and ``demo``: what Python gives, to the last bit, beside columns that stay as they were."""

from __future__ import annotations

import csv
import gzip
import hashlib
import hmac
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from commands import refusal, run

import fastbin as fb
from fastbin import guarantees, theory
from fastbin._core.fit import row_keys

N = 3000
RNG = np.random.default_rng(1)
SCORES = RNG.random(N).round(2)
LABELS = (RNG.random(N) < SCORES).astype(int)
TEXT = ['say "x"', "a,b", "", "line\nbreak", "plain", "007", "ü"]
KEYS = RNG.integers(0, 2**64 - 1, N, np.uint64)
MODEL = fb.UniformMassBinning(ties="random", seed=5).fit(SCORES, LABELS).model_


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    MODEL.save("m.fbm")
    columns = {
        "id": [f"customer {i}" for i in range(N)],
        "p": SCORES,
        "note": [TEXT[i % len(TEXT)] for i in range(N)],
        "key": KEYS,
        "number": range(N),
    }
    pa.csv.write_csv(pa.table(columns), "new.csv")
    pq.write_table(pa.table(columns), "new.parquet", row_group_size=700)


def read(path: str) -> dict[str, list[Any]]:
    """A CSV file by Python's own reader, or a Parquet file."""
    if path.endswith(".parquet"):
        return pq.read_table(path).to_pydict()
    content = Path(path).read_bytes()
    text = (gzip.decompress(content) if path.endswith(".gz") else content).decode()
    names, *rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if path.endswith(".tsv") else ",")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


# ---------------------------------------------------------------------- values


@pytest.mark.parametrize("source", ["new.csv", "new.parquet"])
@pytest.mark.parametrize("target", ["out.csv", "out.parquet", "out.tsv", "out.csv.gz", "out.txt", "without_suffix"])
def test_values_are_those_of_python_bit_for_bit(source: str, target: str) -> None:
    run("predict", "m.fbm", source, "--seed", "9", "-o", target)
    if target == "without_suffix":  # has the format of what was read
        target = str(Path(target).rename("out" + Path(source).suffix))
    values = np.array(read(target)["calibrated"], np.float64)
    assert np.array_equal(values, MODEL.predict(SCORES, seed=9))


@pytest.mark.parametrize("source", ["new.csv", "new.parquet"])
def test_other_columns_stay_as_they_were(source: str) -> None:
    run("predict", "m.fbm", source, "--seed", "9", "-o", "out.csv")
    before, after = read("new.csv"), read("out.csv")
    assert list(after) == [*before, "calibrated"]
    assert {name: after[name] for name in before} == before
    run("predict", "m.fbm", source, "--seed", "9", "-o", "out.parquet")
    stored = pq.read_table("out.parquet")
    assert stored.column_names == list(after)
    if source == "new.parquet":
        assert stored.drop_columns("calibrated").equals(pq.read_table(source))
    assert stored["p"].type == stored["calibrated"].type == pa.float64()
    assert stored["note"].to_pylist() == before["note"]


def test_float32_scores_stay_float32() -> None:
    scores = SCORES.astype(np.float32)
    pq.write_table(pa.table({"p": scores}), "f.parquet")
    run("predict", "m.fbm", "f.parquet", "--seed", "9", "-o", "out.parquet")
    stored = pq.read_table("out.parquet")
    assert stored["p"].type == pa.float32()
    assert np.array_equal(stored["calibrated"].to_numpy(), MODEL.predict(scores, seed=9))


def test_intervals_are_those_of_the_bins() -> None:
    run("predict", "m.fbm", "new.csv", "--interval", "0.05", "--seed", "9", "-o", "out.csv")
    after = read("out.csv")
    expected = MODEL.predict_interval(SCORES, alpha=0.05, seed=9)
    assert np.array_equal(np.array([after["calibrated_lower"], after["calibrated_upper"]], np.float64).T, expected)
    lower, upper = expected.T
    assert ((lower <= MODEL.predict(SCORES, seed=9)) & (MODEL.predict(SCORES, seed=9) <= upper)).all()


def test_standard_output_and_input_are_the_files() -> None:
    run("predict", "m.fbm", "new.csv", "--seed", "9", "-o", "out.csv")
    expected = Path("out.csv").read_bytes()
    assert run("predict", "m.fbm", "new.csv", "--seed", "9").stdout_bytes == expected
    assert run("predict", "m.fbm", "-", "--seed", "9", "-o", "-", input=Path("new.csv").read_bytes()).stdout_bytes == expected


def test_many_chunks_are_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    scores = rng.random(150_000).round(3)
    Path("big.csv").write_text("p\n" + "\n".join(map(str, scores.tolist())) + "\n")
    run("predict", "m.fbm", "big.csv", "--seed", "3", "-o", "out.csv")
    assert np.array_equal(np.array(read("out.csv")["calibrated"], np.float64), MODEL.predict(scores, seed=3))
    assert np.array_equal(row_keys(3, 150_000)[70_000:], row_keys(3, 80_000, 70_000))


# ---------------------------------------------------------------------- ties


def test_keys_of_a_column_break_ties() -> None:
    for source in ("new.csv", "new.parquet"):
        run("predict", "m.fbm", source, "--tie-key", "key", "-o", "out.csv")
        assert np.array_equal(np.array(read("out.csv")["calibrated"], np.float64), MODEL.predict(SCORES, tie_keys=KEYS))


def test_ids_are_hashed_with_a_salt() -> None:
    def key_of(text: str) -> int:
        return int.from_bytes(hmac.new(b"pepper", text.encode(), hashlib.sha256).digest()[:8], "big")

    ids = read("new.csv")["id"]
    expected = MODEL.predict(SCORES, tie_keys=np.array([key_of(name) for name in ids], np.uint64))
    for source in ("new.csv", "new.parquet"):
        run("predict", "m.fbm", source, "--tie-key", "id", "--salt", "pepper", "-o", "out.csv")
        assert np.array_equal(np.array(read("out.csv")["calibrated"], np.float64), expected)
    run("predict", "m.fbm", "new.parquet", "--tie-key", "number", "--salt", "pepper", "-o", "out.csv")
    numbered = MODEL.predict(SCORES, tie_keys=np.array([key_of(str(i)) for i in range(N)], np.uint64))
    assert np.array_equal(np.array(read("out.csv")["calibrated"], np.float64), numbered)
    assert fb.hash_keys(["customer 1", 17], "pepper").tolist() == [key_of("customer 1"), key_of("17")]


def test_the_salt_need_not_be_seen_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of processes shows arguments; a file and the environment it does not show."""
    run("predict", "m.fbm", "new.csv", "--tie-key", "id", "--salt", "pepper ü", "-o", "out.csv")
    expected = Path("out.csv").read_bytes()
    for content in ("pepper ü", "pepper ü\n", "pepper ü\r\n"):
        Path("salt.txt").write_bytes(content.encode())
        run("predict", "m.fbm", "new.csv", "--tie-key", "id", "--salt-file", "salt.txt", "-o", "out.csv")
        assert Path("out.csv").read_bytes() == expected
    monkeypatch.setenv("FASTBIN_SALT", "pepper ü")
    run("predict", "m.fbm", "new.csv", "--tie-key", "id", "-o", "out.csv")
    assert Path("out.csv").read_bytes() == expected
    run("predict", "m.fbm", "new.csv", "--seed", "1", "-o", "out.csv")  # no key, so that there is nothing to hash
    Path("salt.txt").write_text("other")
    run("predict", "m.fbm", "new.csv", "--tie-key", "id", "--salt-file", "salt.txt", "-o", "out.csv")
    assert Path("out.csv").read_bytes() != expected
    Path("salt.txt").write_text("\n")
    refused = refusal("predict", "m.fbm", "new.csv", "--tie-key", "id", "--salt-file", "salt.txt")
    assert refused == "salt.txt is empty; a salt is a secret that others cannot guess"
    both = ("--tie-key", "id", "--salt", "a", "--salt-file", "salt.txt")
    assert refusal("predict", "m.fbm", "new.csv", *both, code=2).startswith("--salt and --salt-file exclude each other")
    assert "give that too" in refusal("predict", "m.fbm", "new.csv", "--salt-file", "salt.txt", code=2)
    monkeypatch.setenv("FASTBIN_SALT", "")
    assert refusal("predict", "m.fbm", "new.csv", "--tie-key", "id").startswith("FASTBIN_SALT is empty")


def test_the_same_entity_gets_the_same_answer_anywhere() -> None:
    """Row order and file do not matter; another salt does."""
    run("predict", "m.fbm", "new.csv", "--tie-key", "id", "--salt", "a", "-o", "out.csv")
    forward = read("out.csv")
    table = pq.read_table("new.parquet")
    pq.write_table(table.take(np.arange(N)[::-1]), "reversed.parquet")
    run("predict", "m.fbm", "reversed.parquet", "--tie-key", "id", "--salt", "a", "-o", "out.csv")
    backward = read("out.csv")
    assert backward["calibrated"] == forward["calibrated"][::-1]
    run("predict", "m.fbm", "new.csv", "--tie-key", "id", "--salt", "b", "-o", "out.csv")
    assert read("out.csv")["calibrated"] != forward["calibrated"]


def test_randomised_values_use_the_key_of_every_row() -> None:
    model = fb.UniformMassBinning(delta=0.1).fit(SCORES, LABELS).model_
    model.save("d.fbm")
    run("predict", "d.fbm", "new.csv", "--tie-key", "id", "--salt", "s", "-o", "out.csv")
    keys = fb.hash_keys(read("new.csv")["id"], "s")
    assert np.array_equal(np.array(read("out.csv")["calibrated"], np.float64), model.predict(SCORES, tie_keys=keys))


def test_without_key_and_seed_chance_is_told() -> None:
    told = run("predict", "m.fbm", "new.csv", "-o", "out.csv").stderr
    tied = int(np.isin(SCORES, MODEL.edges).sum())
    assert (
        told == f"note: {tied:,} rows got their probability by a random key; --seed N or --tie-key COLUMN makes it repeatable\n"
    )
    assert run("predict", "m.fbm", "new.csv", "--seed", "1", "-o", "out.csv").stderr == ""
    fb.UniformMassBinning(ties="upper").fit(SCORES, LABELS).model_.save("u.fbm")
    assert run("predict", "u.fbm", "new.csv", "-o", "out.csv").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--tie-key", "id"],
            "new.csv, line 2, column id: 'customer 0' is not an integer from 0 to 2**64 - 2; give --salt-file",
        ),
        (["--tie-key", "number"], "new.csv, line 3429, column number: 2999 and all before are below 2**32, so these are ids"),
        (["--tie-key", "note", "--salt", "s"], "new.csv, line 4, column note: the value is missing"),
        (["--tie-key", "absent"], "new.csv has no column 'absent'"),
    ],
)
def test_columns_that_are_no_keys(arguments: list[str], message: str) -> None:
    assert refusal("predict", "m.fbm", "new.csv", *arguments, "-o", "out.csv").startswith(message)


def test_the_reserved_key_and_floats() -> None:
    Path("k.csv").write_text(f"p,k\n0.5,{2**63}\n0.5,{2**64 - 1}\n")
    assert "line 3, column k: 2**64 - 1 is reserved" in refusal("predict", "m.fbm", "k.csv", "--tie-key", "k", "-o", "out.csv")
    pq.write_table(pa.table({"p": [0.5], "k": [0.25]}), "k.parquet")
    assert "keys are integers, ids are integers or text" in refusal(
        "predict", "m.fbm", "k.parquet", "--tie-key", "k", "-o", "o.csv"
    )


# ---------------------------------------------------------------------- missing and refused


def test_missing_scores_propagate_on_request() -> None:
    Path("gaps.csv").write_text("p,t\n0.5,a\n,b\nNA,c\n0.25,d\n")
    pq.write_table(pa.table({"p": [0.5, None, float("nan"), 0.25], "t": list("abcd")}), "gaps.parquet")
    for source in ("gaps.csv", "gaps.parquet"):
        told = refusal("predict", "m.fbm", source, "-o", "out.csv")
        assert "column p: the value is" in told
        assert "give --nan propagate to fastbin predict" in told
        run("predict", "m.fbm", source, "--nan", "propagate", "--interval", "0.1", "--seed", "1", "-o", "out.csv")
        after = read("out.csv")
        for name in ("calibrated", "calibrated_lower", "calibrated_upper"):
            assert [value == "" for value in after[name]] == [False, True, True, False]
        run("predict", "m.fbm", source, "--nan", "propagate", "-o", "out.parquet")
        assert [value is None for value in read("out.parquet")["calibrated"]] == [False, True, True, False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m.fbm", "absent.csv", "-o", "out.csv"], "absent.csv: No such file"),
        (["absent.fbm", "new.csv", "-o", "out.csv"], "absent.fbm: No such file"),
        (["new.csv", "new.csv", "-o", "out.csv"], "new.csv: not a fastbin model"),
        (["m.fbm", "m.fbm", "-o", "out.csv"], "m.fbm is neither CSV nor Parquet"),
        (["m.fbm", "new.csv", "-o", "new.csv"], "new.csv is the file that is read"),
        (["m.fbm", "new.csv", "-o", "m.fbm"], "m.fbm is the file that is read"),
        (["m.fbm", "new.csv", "-o", "out.xlsx"], "out.xlsx would have an unknown format"),
        (["m.fbm", "new.csv", "-o", "absent/out.csv"], "absent is not a folder"),
        (["m.fbm", "new.csv", "--score", "q", "-o", "out.csv"], "new.csv has no column 'q'"),
        (["m.fbm", "new.csv", "--score", "note", "-o", "out.csv"], "new.csv, line 2, column note: 'say \"x\"' is neither"),
        (
            ["m.fbm", "new.csv", "--score", "number", "-o", "out.csv"],
            "new.csv, line 4, column number: the value is 2.0, outside",
        ),
        (["m.fbm", "new.csv", "--score", "p", "--tie-key", "p", "--salt", "s"], "the column 'p' is both score and tie key"),
        (["m.fbm", "new.csv", "--column", "note", "-o", "out.csv"], "new.csv has a column 'note' already"),
    ],
)
def test_refusals(arguments: list[str], message: str) -> None:
    assert refusal("predict", *arguments).startswith(message)


def test_an_interval_that_the_method_does_not_have() -> None:
    fb.PlattScaling().fit(SCORES.clip(0.01, 0.99), LABELS).model_.save("platt.fbm")
    assert "Theorem 3" in refusal("predict", "platt.fbm", "new.csv", "--interval", "0.1", "-o", "out.csv")


def test_usage_errors() -> None:
    assert refusal("predict", "m.fbm", "new.csv", "--salt", "x", code=2).startswith("--salt is for the ids")
    assert refusal("predict", "m.fbm", "new.csv", "--tie-key", "id", "--seed", "1", code=2).startswith(
        "--seed and --tie-key exclude"
    )
    assert refusal("predict", "m.fbm", "new.csv", "--interval", "95", code=2).startswith("Invalid value for '--interval'")
    assert refusal("predict", "m.fbm", code=2).startswith("Missing argument 'FILE'")


def test_a_late_error_leaves_the_old_output() -> None:
    Path("out.csv").write_text("old")
    lines = Path("new.csv").read_text()
    Path("late.csv").write_text(lines + '"x",1.25,"y",1,1\n')
    message = refusal("predict", "m.fbm", "late.csv", "-o", "out.csv")
    n_lines = lines.count("\n") + 1
    assert message.startswith(f"late.csv, line {n_lines}, column p: the value is 1.25, outside [0, 1]")
    assert Path("out.csv").read_text() == "old"


def test_texts_that_a_spreadsheet_takes_as_formulas_stay_as_they_are() -> None:
    """docs/files.md says so, and what to do."""
    texts = ["=1+1", "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\ttab", '=HYPERLINK("http://x")']
    table = pa.table({"p": [0.5] * len(texts), "note": texts})
    pa.csv.write_csv(table, "formulas.csv")
    run("predict", "m.fbm", "formulas.csv", "--seed", "1", "-o", "out.csv")
    run("predict", "m.fbm", "formulas.csv", "--seed", "1", "-o", "out.parquet")
    assert pa.csv.read_csv("out.csv")["note"].to_pylist() == texts
    assert pq.read_table("out.parquet")["note"].to_pylist() == texts


def test_a_file_without_rows_stays_one() -> None:
    Path("t.csv").write_text("p,y\n")
    run("predict", "m.fbm", "t.csv", "-o", "out.csv")
    assert Path("out.csv").read_text() == "p,y,calibrated\n"


# ---------------------------------------------------------------------- bins and demo


def test_bins_prints_the_trade_off() -> None:
    told = run("bins", "--n", "5000", "--alpha", "0.1").output
    rows = {int(match[1]): match[0].split() for match in re.finditer(r"^ *(\d+)  .*$", told, re.MULTILINE)}
    for row in theory.trade_off(5000, 0.1):
        shown = rows[row.n_bins]
        assert shown[1] == f"{row.samples_per_bin:,}"
        for text, value in zip(
            shown[2:6], (row.conditional, row.marginal, row.conditional_hoeffding, row.expected_ece), strict=True
        ):
            assert value <= float(text) + 1e-9 < value + 1.1e-4  # never rounded below what is promised
    assert [n_bins for n_bins, shown in rows.items() if shown[-1] == "auto"] == [guarantees.auto_n_bins(5000)]


def test_bins_within_a_distance_and_as_json() -> None:
    wanted = guarantees.choose_n_bins(5000, 0.05, 0.08)
    assert f"up to {wanted} bins." in run("bins", "--n", "5000", "--alpha", "0.05", "--epsilon", "0.08").output
    told = json.loads(run("bins", "--n", "5000", "--epsilon", "0.05", "--n-bins", "7", "--n-bins", "3", "--json").output)
    assert [row["n_bins"] for row in told["rows"]] == [3, 7]
    assert told["rows"][1] == theory.trade_off(5000, 0.1, [7])[0]._asdict()
    assert told["n_bins_within_epsilon"] == guarantees.choose_n_bins(5000, 0.1, 0.05)


def test_bins_refuses_what_cannot_be() -> None:
    assert "promise no more than" in refusal("bins", "--n", "50", "--epsilon", "0.01")
    assert "leaves a bin without a sample of its own" in refusal("bins", "--n", "50", "--n-bins", "40")
    assert refusal("bins", code=2) == "Missing option '--n'."


def test_demo_tells_a_true_story_and_writes_its_model() -> None:
    told = run("demo", "--seed", "3", "-o", "d.fbm").output
    model = fb.load("d.fbm")
    assert (model.n_samples, model.n_bins, model.seed) == (10_000, 10, 3)
    assert str(model.certificate()) in told
    before, after = (float(number) for number in re.findall(r"(0\.\d+) (?:before|after)", told))
    assert after < 0.2 * before
    assert before == pytest.approx(0.1, abs=0.02)
    assert model.scheme == "certified"
    assert "epsilon" in told
    assert "fastbin predict d.fbm new.csv" in told
    assert run("demo", "--seed", "3", "-o", "d.fbm").output == told


def test_demo_writes_nothing_unless_asked() -> None:
    before = sorted(Path().iterdir())
    told = run("demo").output
    assert sorted(Path().iterdir()) == before
    assert "fastbin fit scores.csv" in told
    assert "The model is in" not in told


def test_the_diagram_of_the_demo_has_each_bin_where_it_is() -> None:
    told = run("demo", "--seed", "3", "-o", "d.fbm").output.splitlines()
    head = next(row for row, line in enumerate(told) if re.fullmatch("bin  0 +0.5 +1", line))
    lines = [line[5:] for line in told[head + 1 : head + 11]]
    assert told[head + 11] == ""
    assert len(told[head]) == 5 + 71
    model = fb.load("d.fbm")
    for line, (low, high) in zip(lines, model.interval(0.1), strict=True):
        assert set(line) <= set(" x[-o]")
        for mark, probability in (("[", low), ("]", high)):
            assert mark in line or {"x", "o"} & {line[round(70 * probability)]}
            assert mark not in line or line.index(mark) == round(70 * probability)
        assert round(70 * low) <= line.index("o") <= round(70 * high)
    # The classifier is too sure at both ends.
    assert lines[0].index("x") < lines[0].index("o")
    assert lines[9].index("x") > lines[9].index("o")


def test_the_classifier_of_the_demo_is_off_as_told() -> None:
    """Where it says 90 %, log-odds of log(9) are twice what they should be: the odds are sqrt(9) = 3 to 1."""
    from fastbin.cli.demo import _draw

    scores, labels = _draw(np.random.default_rng(0), 2_000_000)
    near = np.abs(scores - 0.9) < 0.005
    assert labels[near].mean() == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / near.sum()))
