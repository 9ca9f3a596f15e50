"""``fastbin verify``: exit codes, what it prints, and where its rows come from."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from commands import run

import fastbin as fb
from fastbin.export.form import digest_of

RNG = np.random.default_rng(2)
N = 1500
SCORES = RNG.random(N)
LABELS = RNG.random(N) < SCORES
MODEL = fb.UniformMassBinning(6).fit(SCORES, LABELS).model_
TIED = fb.UniformMassBinning(6, ties="random").fit(SCORES.round(1), LABELS).model_
SET = fb.ModelSet({"north": MODEL, "south": TIED})
KEYS = RNG.integers(0, 2**64 - 1, N, np.uint64)
COLUMNS = {
    "p": SCORES.round(1), "label": LABELS.astype(int), "k": [f"{key:016x}" for key in KEYS.tolist()], "key": KEYS,
    "region": [("north", "south")[i % 2] for i in range(N)], "id": [f"row {i}" for i in range(N)],
}  # fmt: skip


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, model in (("credit", MODEL), ("tied", TIED), ("set", SET)):
        model.save(f"{name}.fbm")
    pq.write_table(pa.table(COLUMNS), "new.parquet", row_group_size=400)
    pa.csv.write_csv(pa.table(COLUMNS), "new.csv")


def verified(*arguments: str, code: int = 0) -> dict[str, Any]:
    return json.loads(run("verify", *arguments, "--run", "--json", code=code).stdout)


@pytest.mark.parametrize("file", ["credit.json", "credit.onnx", "credit.h", "credit.mjs"])
def test_files_that_say_what_their_model_says(file: str) -> None:
    program = {"h": "cc", "mjs": "node"}.get(file.partition(".")[2])
    if program is not None and shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    run("export", "credit.fbm", "-o", file)
    shown = run("verify", "credit.fbm", "--against", file, "--run", "--scores", "new.parquet").stdout.splitlines()
    assert shown[0] == f"{file}, of credit.fbm:"
    assert shown[1] == f"The digest is that of the model: {digest_of(MODEL)}."
    assert "(1,500 given, " in shown[2]
    assert shown[2].endswith(": 0 differ.")
    told = verified("credit.fbm", "--against", file)
    assert (told["is_same"], told["n_given"], told["path"]) == (True, 0, file)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "polars"])
def test_sql(dialect: str) -> None:
    words = ["--dialect", dialect]
    run("export", "tied.fbm", *words, "--tie-key", "k", "--outputs", "bin", "-o", "tied.sql")
    told = verified(
        "tied.fbm", "--against", "tied.sql", *words, "--outputs", "bin", "--scores", "new.parquet", "--tie-key", "k"
    )
    assert (told["is_same"], told["n_given"], told["outputs"]) == (True, N, ["bin"])


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no names of open files")
def test_a_pipe_is_read_once() -> None:
    out, into = os.pipe()
    with open(out, "rb"), open(into, "wb") as pipe:
        pipe.write(fb.export.sql(MODEL, dialect="duckdb").encode())
        pipe.close()
        assert verified("credit.fbm", "--against", f"/dev/fd/{out}", "--to", "sql")["is_same"]


@pytest.mark.sampled
@pytest.mark.parametrize("scores", ["new.csv", "new.parquet"])
@pytest.mark.parametrize(
    "keys", [["--tie-key", "k"], ["--tie-key", "key"], ["--tie-key", "id", "--salt", "s"], ["--seed", "3"]]
)
def test_where_keys_come_from(scores: str, keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    checked = fb.export.verify

    def watched(*arguments: Any, **words: Any) -> Any:
        given.append(words["tie_keys"])
        return checked(*arguments, **words)

    monkeypatch.setattr(fb.export, "verify", watched)
    run("export", "tied.fbm", "-o", "tied.json")
    assert verified("tied.fbm", "--against", "tied.json", "--scores", scores, *keys)["is_same"]
    expected = {
        "k": KEYS, "key": KEYS, "id": fb.hash_keys(COLUMNS["id"], "s"),
    }.get(keys[1])  # fmt: skip
    if expected is not None:
        assert np.array_equal(given[0], expected)
    assert len(given[0]) == N


def test_sets() -> None:
    run("export", "set.fbm", "--dialect", "duckdb", "--cell", "region", "--tie-key", "k", "-o", "set.sql")
    words = ["--dialect", "duckdb", "--cell", "region", "--tie-key", "k"]
    told = verified("set.fbm", "--against", "set.sql", *words, "--scores", "new.csv")
    assert (told["is_same"], told["n_given"]) == (True, N)
    assert verified("set.fbm", "--against", "set.sql", *words)["is_same"]
    run("export", "set.fbm", "-o", "set.onnx")
    assert verified("set.fbm", "--against", "set.onnx", "--cell", "region", "--scores", "new.csv")["is_same"]
    assert "say --cell COLUMN" in run("verify", "set.fbm", "--against", "set.onnx", "--scores", "new.csv", code=2).stderr


def test_missing_scores_are_compared_too() -> None:
    pq.write_table(pa.table({"p": pa.array([0.5, None, 0.25])}), "holes.parquet")
    run("export", "credit.fbm", "--to", "sql", "--dialect", "sqlite", "-o", "credit.sql")
    told = verified("credit.fbm", "--against", "credit.sql", "--dialect", "sqlite", "--scores", "holes.parquet")
    assert (told["is_same"], told["n_given"]) == (True, 3)


def test_a_difference_is_shown_and_ends_with_1() -> None:
    text = fb.export.sql(MODEL, dialect="sqlite")
    wrong = fb.export.sql(MODEL.with_out_of_range("clip"), dialect="sqlite")
    body = wrong.partition("*/")[2]
    Path("wrong.sql").write_text(text.partition("*/")[0] + "*/" + body, encoding="utf8")
    pq.write_table(pa.table({"p": [0.5, 2.0]}), "scores.parquet")
    words = ["--dialect", "sqlite", "--scores", "scores.parquet"]
    shown = run("verify", "credit.fbm", "--against", "wrong.sql", *words, code=1).stdout.splitlines()
    assert shown[1].startswith("The digest is that of the model")
    assert shown[2].endswith(": differences.")
    assert " rows differ; the first is row 1: score 2.0 gives " in shown[3]
    assert shown[3].endswith(", and nan by the model")


def test_another_model_ends_with_1() -> None:
    run("export", "tied.fbm", "-o", "tied.json")
    shown = run("verify", "credit.fbm", "--against", "tied.json", code=1).stdout
    assert f"It is of another model: its digest is {digest_of(TIED)}, and that of the model {digest_of(MODEL)}." in shown


def test_what_cannot_be_run_ends_with_4() -> None:
    run("export", "credit.fbm", "--dialect", "snowflake", "-o", "credit.sql")
    shown = run("verify", "credit.fbm", "--against", "credit.sql", "--dialect", "snowflake", code=4).stdout
    assert f"The digest is that of the model: {digest_of(MODEL)}.\nNot run: no engine for snowflake runs here" in shown
    told = verified("tied.fbm", "--against", "credit.sql", "--dialect", "snowflake", code=1)  # of another model
    assert told["engine"] == ""


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "polars"])
def test_a_column_that_the_sql_does_not_read_is_refused(dialect: str) -> None:
    run("export", "credit.fbm", "--to", "sql", "--dialect", dialect, "--score", "chance", "-o", "chance.sql")
    words = ["credit.fbm", "--against", "chance.sql", "--scores", "new.csv"]
    told = run("verify", *words, code=2).stderr
    assert "and the SQL reads no such column" in told
    assert "--score" in told
    assert "--score" in run("verify", *words[:3], code=2).stderr  # the hard scores alone, in a column p
    assert verified(*words[:3], "--score", "chance")["is_same"]


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_sql_says_what_it_is(dialect: str) -> None:
    """By the last line of its comment; then neither option is needed, and a wrong one is refused."""
    text = fb.export.sql(MODEL, dialect=dialect, what="upper")
    about, _, rest = text.partition(" */")
    lines = [line for line in about.split("\n") if not line.strip().startswith("dialect ")]
    Path("said.sql").write_text("\n".join([*lines, f"   dialect {dialect}, gives upper */{rest}"]), encoding="utf8")
    told = verified("credit.fbm", "--against", "said.sql", "--scores", "new.csv")
    assert (told["is_same"], told["outputs"]) == (True, ["upper"])
    wrong = run("verify", "credit.fbm", "--against", "said.sql", "--outputs", "bin", code=2).stderr
    assert "what is 'bin', and the export says that its own is 'upper'" in wrong


def test_tables_say_the_name_of_their_column() -> None:
    run("export", "set.fbm", "--dialect", "sqlite", "--cell", "region", "--tie-key", "k", "--column", "chance", "-o", "set.sql")
    told = verified("set.fbm", "--against", "set.sql", "--cell", "region", "--tie-key", "k", "--scores", "new.csv")
    assert (told["is_same"], told["n_given"], told["outputs"]) == (True, N, ["value"])


def test_models_in_json() -> None:
    for name in ("credit", "set"):
        run("export", f"{name}.fbm", "-o", f"{name}.json")
        run("export", f"{name}.fbm", "-o", f"{name}.onnx")
        assert verified(f"{name}.json", "--against", f"{name}.onnx")["is_same"]
    told = run("verify", "credit.onnx", "--against", "credit.json", code=2).stderr
    assert "credit.onnx is a graph of ONNX and does not hold the whole model; compare with its file or JSON" in told


def test_mistakes() -> None:
    """All end with 2, as 1 says that the answers differ."""
    text = fb.export.sql(MODEL, dialect="duckdb")
    about, _, rest = text.partition(" */")
    lines = [line for line in about.split("\n") if not line.strip().startswith("dialect ")]
    Path("credit.sql").write_text("\n".join(lines) + " */" + rest, encoding="utf8")
    Path("empty.sql").write_text("")
    for arguments, message in (
        (["credit.sql"], "say --dialect of the SQL: duckdb"),
        (["new.csv"], "say --to; the name of new.csv does not tell"),
        (["none.json"], "none.json: No such file or directory"),
        (["none.sql"], "none.sql: No such file or directory"),
        (["empty.sql"], "export is empty; give what `fastbin export` wrote"),
        (["empty.sql", "--dialect", "duckdb"], "export is empty; give what `fastbin export` wrote"),
        (["credit.sql", "--dialect", "duckdb", "--scores", "new.csv", "--score", "q"], "new.csv has no column"),
    ):
        assert message in run("verify", "credit.fbm", "--against", *arguments, code=2).stderr
    assert "none.fbm: No such file" in run("verify", "none.fbm", "--against", "credit.sql", code=2).stderr


@pytest.mark.parametrize(
    ("model", "file", "arguments", "message"),
    [
        ("credit", "c.json", ["--outputs", "bin"], "--outputs is not for json; it is for sql"),
        ("credit", "c.h", ["--source", "x"], "--source is not for c; it is for sql"),
        ("credit", "c.mjs", ["--dialect", "duckdb"], "--dialect is not for js; it is for sql"),
        ("credit", "c.json", ["--alpha", "0.1"], "--alpha is not for json"),
        ("credit", "c.h", ["--cell", "region"], "--cell is for a set of models, and MODEL is one"),
        ("credit", "c.h", ["--tie-key", "kk"], "--tie-key is for models that split ties by key, and MODEL compares none"),
        ("tied", "c.h", ["--tie-key", "kk"], "--tie-key names a column; give --scores FILE too"),
        ("credit", "c.h", ["--score", "p"], "--score names a column; give --scores FILE too"),
        ("set", "c.h", ["--cell", "region"], "--cell names a column; give --scores FILE too"),
        ("tied", "c.sql", ["--seed", "3"], "--seed breaks the ties of --scores FILE"),
        ("credit", "c.sql", ["--delimiter", ";"], "--delimiter, --decimal, --encoding and --memory-limit are for --scores"),
    ],
)
def test_options_that_say_nothing(model: str, file: str, arguments: list[str], message: str) -> None:
    Path(file).write_text("not read", encoding="utf8")
    assert message in run("verify", f"{model}.fbm", "--against", file, *arguments, code=2).stderr
