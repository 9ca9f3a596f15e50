"""``fastbin export``: what it writes is what Python gives, in every target, and mistakes are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import refusal, run

import fastbin as fb

RNG = np.random.default_rng(1)
SCORES = RNG.random(2000)
LABELS = RNG.random(2000) < SCORES
MODEL = fb.UniformMassBinning(6).fit(SCORES, LABELS).model_
TIED = fb.UniformMassBinning(6, ties="random").fit(SCORES.round(1), LABELS).model_
SET = fb.ModelSet({"north": MODEL, "south": TIED})


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    MODEL.save("credit.fbm")
    TIED.save("tied.fbm")
    SET.save("set.fbm")


def exported(*arguments: str, file: str) -> str:
    """The text that is written to a file, and printed."""
    run("export", *arguments, "-o", file)
    return Path(file).read_bytes().decode()


EXPORTS = {
    "credit.h": (["credit.fbm"], lambda: fb.export.c_source(MODEL, "credit")),
    "named.h": (
        ["credit.fbm", "--name", "score", "--outputs", "bin, upper", "--alpha", "0.05"],
        lambda: fb.export.c_source(MODEL, "score", outputs=("bin", "upper"), alpha=0.05),
    ),
    "Credit.java": (["credit.fbm"], lambda: fb.export.java(MODEL, "Credit")),
    "Tied.java": (
        ["tied.fbm", "--package", "org.example", "--outputs", "lower"],
        lambda: fb.export.java(TIED, "Tied", package="org.example", outputs=("lower",)),
    ),
    "set.mjs": (["set.fbm"], lambda: fb.export.javascript(SET)),
    "credit.js": (["credit.fbm", "--outputs", "value,bin"], lambda: fb.export.javascript(MODEL, outputs=("value", "bin"))),
    "credit.json": (["credit.fbm"], lambda: fb.export.json(MODEL)),
    "set.JSON": (["set.fbm"], lambda: fb.export.json(SET)),
    "credit.sql": (["credit.fbm", "--dialect", "duckdb"], lambda: fb.export.sql(MODEL, dialect="duckdb") + "\n"),
    "tied.sql": (
        [
            "tied.fbm",
            "--dialect",
            "spark",
            "--score",
            "s.p",
            "--tie-key",
            "k",
            "--outputs",
            "upper",
            "--alpha",
            "0.2",
            "--style",
            "tree",
        ],
        lambda: fb.export.sql(TIED, "s.p", tie_key="k", dialect="spark", what="upper", alpha=0.2, style="tree") + "\n",
    ),
    "join.sql": (
        ["credit.fbm", "--dialect", "sqlite", "--style", "join", "--table", "t", "--source", "rows", "--column", "q"],
        lambda: fb.export.sql(MODEL, dialect="sqlite", style="join", table="t", source="rows", output="q").script,
    ),
    "set.sql": (
        ["set.fbm", "--dialect", "postgresql", "--cell", "region", "--tie-key", "k"],
        lambda: fb.export.sql_set(SET, "p", cell="region", tie_key="k", dialect="postgresql").script,
    ),
}


@pytest.mark.parametrize("file", EXPORTS)
def test_files_are_what_python_gives(file: str) -> None:
    arguments, expected = EXPORTS[file]
    assert exported(*arguments, file=file) == expected()


def test_a_graph() -> None:
    arguments = ["credit.fbm", "--outputs", "value,lower", "--alpha", "0.05", "--opset", "15"]
    run("export", *arguments, "-o", "credit.onnx")
    expected = fb.export.onnx(MODEL, outputs=("value", "lower"), alpha=0.05, opset=15).SerializeToString()
    assert Path("credit.onnx").read_bytes() == expected
    assert run("export", *arguments, "--to", "onnx").stdout_bytes == expected
    assert "12 is not in the range x>=13" in run("export", "credit.fbm", "-o", "x.onnx", "--opset", "12", code=2).stderr
    usual, stated = (run("export", "credit.fbm", "--to", "onnx", *more).stdout_bytes for more in ([], ["--opset", "18"]))
    assert usual == stated
    assert "Default: 18. [x>=13]" in " ".join(run("export", "--help").stdout.split())


def test_a_graph_for_batches() -> None:
    run("export", "credit.fbm", "-o", "credit.onnx", "--shape", "n, 1", "--dtype", "float32")
    assert Path("credit.onnx").read_bytes() == fb.export.onnx(MODEL, shape=("n", 1), dtype="float32").SerializeToString()
    assert ": 0 differ." in run("verify", "credit.fbm", "--against", "credit.onnx").stdout


def test_sql_is_for_duckdb_unless_said_otherwise() -> None:
    result = run("export", "credit.fbm", "-o", "x.sql")
    assert Path("x.sql").read_text() == fb.export.sql(MODEL, "p", dialect="duckdb") + "\n"
    assert result.stderr.startswith("note: this SQL is for duckdb; --dialect names another engine: duckdb, postgresql, sqlite")
    assert run("export", "credit.fbm", "-o", "x.sql", "--dialect", "duckdb").stderr == ""
    run("verify", "credit.fbm", "--against", "x.sql")


@pytest.mark.parametrize(
    ("target", "more"), [("json", []), ("js", []), ("c", ["--name", "f"]), ("sql", ["--dialect", "sqlite"])]
)
def test_printed_and_from_standard_input(target: str, more: list[str]) -> None:
    file = {"c": "f.h"}.get(target, f"f.{target}")
    arguments = ["--to", target, *more]
    text = exported("credit.fbm", *arguments, file=file)
    assert run("export", "credit.fbm", *arguments).stdout == text
    assert run("export", "-", *arguments, input=MODEL.to_bytes()).stdout == text


def test_other_suffixes_need_a_target() -> None:
    assert refusal("export", "credit.fbm", "-o", "credit.txt", code=2) == (
        "say --to; the name of credit.txt does not tell (.sql, .onnx, .h, .hpp, .java, .js, .mjs, .json do)"
    )
    assert refusal("export", "credit.fbm", code=2).startswith("say --to; the name of standard output does not tell")
    run("export", "credit.fbm", "--to", "json", "-o", "credit.txt")
    assert fb.export.from_json(Path("credit.txt").read_text()) == MODEL


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["credit.fbm", "--to", "json", "--alpha", "0.1"], "--alpha is not for json; it is for sql, onnx, c, java, js", 2),
        (["credit.fbm", "-o", "x.h", "--dialect", "duckdb"], "--dialect is not for c; it is for sql", 2),
        (["credit.fbm", "-o", "x.onnx", "--tie-key", "k"], "--tie-key is not for onnx; it is for sql", 2),
        (["credit.fbm", "-o", "x.onnx", "--shape", "n,0"], "shape[1] is 0; it must be at least 1", 1),
        (["credit.fbm", "-o", "x.h", "--dtype", "float32"], "--dtype is not for c; it is for onnx", 2),
        (["credit.fbm", "--to", "c"], "say --name NAME of the header of C, or -o FILE, which it is called by", 2),
        (
            ["credit.fbm", "-o", "my-model.h"],
            "my-model.h is not a valid name of a header of C; pass --name NAME",
            2,
        ),
        (["credit.fbm", "-o", "x.sql", "--dialect", "duckdb", "--outputs", "value,bin"], "--outputs names 2 outputs; SQL", 2),
        (["credit.fbm", "-o", "x.sql", "--dialect", "duckdb", "--cell", "c"], "credit.fbm is one model and no set", 2),
        (["set.fbm", "-o", "x.sql", "--dialect", "duckdb"], "set.fbm is a set of models; say --cell EXPRESSION", 2),
        (["set.fbm", "-o", "x.sql", "--dialect", "duckdb", "--cell", "c", "--style", "tree"], "--style is for one model", 2),
        (["credit.fbm", "-o", "x.sql", "--dialect", "sqlite", "--table", "t"], "--table is for SQL that makes tables; give", 2),
        (
            ["credit.fbm", "-o", "x.sql", "--dialect", "sqlite", "--source", "s"],
            "--source is for SQL that makes tables; give",
            2,
        ),
        (
            ["credit.fbm", "-o", "x.sql", "--dialect", "sqlite", "--column", "s"],
            "--column is for SQL that makes tables; give",
            2,
        ),
        (["credit.fbm", "-o", "Foo.java", "--name", "Bar"], "--name is Bar, and javac wants this class in Bar.java: write", 2),
        (["credit.fbm", "-o", "x.h", "--outputs", "values"], "outputs[0] is 'values'; choose out of value, bin", 1),
        (["credit.fbm", "-o", "9.h"], "9.h is not a valid name of a header of C; pass --name NAME", 2),
        (["credit.fbm", "-o", "int.h"], "name is 'int'", 1),
        (["tied.fbm", "-o", "x.sql", "--dialect", "duckdb"], "tie_key is missing, and the model splits ties by key", 1),
        (
            ["credit.fbm", "-o", "x.sql", "--dialect", "duckdb", "--tie-key", "k"],
            "tie_key is 'k', but the model compares no keys",
            1,
        ),
        (["none.fbm", "-o", "x.json"], "none.fbm: No such file or directory", 1),
        (["credit.fbm", "-o", "credit.fbm", "--to", "json"], "credit.fbm is the file that is read; write to another one", 1),
    ],
)
def test_mistakes(arguments: list[str], message: str, code: int) -> None:
    assert refusal("export", *arguments, code=code).startswith(message)


# --------------------------------------------------------------------- inspect


def test_inspect_shows_the_whole_model_of_json() -> None:
    for name, model in (("credit", MODEL), ("set", SET)):
        text = exported(f"{name}.fbm", file=f"{name}.json")
        shown = run("inspect", f"{name}.fbm").stdout
        assert run("inspect", f"{name}.json").stdout == shown.replace(".fbm:", ".json:")
        assert run("inspect", "-", input=text).stdout == shown.replace(f"{name}.fbm:", "standard input:")
        assert fb.export.form.digest_of(model) in run("inspect", f"{name}.json", "--json").stdout


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("m.onnx", "a graph of ONNX"),
        ("m.h", "a header of C"),
        ("M.java", "a class of Java"),
        ("m.js", "a module of JavaScript"),
    ],
)
def test_inspect_shows_the_digest_of_exports(file: str, words: str) -> None:
    run("export", "credit.fbm", "-o", file)
    digest = fb.export.form.digest_of(MODEL)
    first, *facts = run("inspect", file).stdout.splitlines()
    assert first == f"{file}: {words}, exported from the model whose file has the SHA-256 {digest}."
    assert facts[0] == f"version: {fb.__version__}"
    assert run("inspect", "-", input=Path(file).read_bytes()).stdout.splitlines()[0] == first.replace(file, "standard input", 1)
    assert f'"sha256": "{digest}"' in run("inspect", file, "--json").stdout
    if file == "m.onnx":
        assert f"promise: {MODEL.certificate()}" in facts


def test_inspect_tells_the_digest_once() -> None:
    digest = fb.export.form.digest_of(MODEL)
    run("export", "credit.fbm", "-o", "m.onnx")
    assert run("inspect", "m.onnx").stdout.count(digest) == 1
    assert run("inspect", "m.onnx", "--json").stdout.count(digest) == 1


@pytest.mark.parametrize("option", ["--cell", "--alpha"])
def test_inspect_of_exports_has_no_options(option: str) -> None:
    run("export", "credit.fbm", "-o", "m.h")
    told = refusal("inspect", "m.h", option, "0.1")
    assert told == f"m.h is a header of C, of which the digest is shown; leave out {option}"


def test_inspect_of_a_graph_that_was_cut_off() -> None:
    graph = fb.export.onnx(MODEL).SerializeToString()
    Path("cut.onnx").write_bytes(graph[:-40])
    assert refusal("inspect", "cut.onnx").startswith("cut.onnx: no ONNX graph that can be read, perhaps it was cut off")


def test_classes_to_the_standard_output_have_any_name() -> None:
    assert "public final class Bar {" in run("export", "credit.fbm", "--to", "java", "--name", "Bar").stdout
    run("export", "credit.fbm", "-o", "Bar.java", "--name", "Bar")


def test_commands_that_need_the_file_name_the_way_from_json() -> None:
    run("export", "credit.fbm", "-o", "credit.json")
    Path("new.csv").write_text("p\n0.5\n")
    told = refusal("predict", "credit.json", "new.csv")
    assert told == (
        "credit.json is a model in JSON, and its file is needed here; make it: fastbin export credit.json -o credit.fbm"
    )
    piped = run("predict", "-", "new.csv", input=Path("credit.json").read_bytes(), code=1).stderr
    assert "make it: fastbin export - -o model.fbm" in piped
    for other in ('{"a": 1}', '{"fastbin": "0.2.0", "accept_above": 0.7}'):
        Path("other.json").write_text(other)
        assert "fastbin export" not in refusal("predict", "other.json", "new.csv")


def test_inspect_refuses_what_it_refused() -> None:
    for name, content in (("a.sql", b"SELECT 1"), ("b.json", b'{"a": 1}'), ("c.onnx", b"\0\1"), ("d", b"\x89FBM"), ("e", b"")):
        Path(name).write_bytes(content)
        assert refusal("inspect", name).startswith(f"{name}: no" if name != "d" else "d: ")


def test_json_is_a_model_and_the_way_back() -> None:
    for model, name in ((MODEL, "credit"), (SET, "set")):
        run("export", f"{name}.fbm", "-o", f"{name}.json")
        run("export", f"{name}.json", "-o", "again.fbm")
        assert Path("again.fbm").read_bytes() == model.to_bytes()
    run("export", "credit.json", "-o", "credit.h")
    assert Path("credit.h").read_text() == fb.export.c_source(MODEL, "credit")
    told = refusal("export", "credit.h", "-o", "again.json")
    assert told == "credit.h is a header of C and does not hold the whole model; export from its file or JSON"
    told = refusal("export", "credit.fbm", "-o", "x.fbm", "--alpha", "0.1", code=2)
    assert told.startswith("--alpha is not for fbm; it is for sql")
