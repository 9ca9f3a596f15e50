"""docs/exports.md: its commands and programs run and agree with `predict`, and its table says what the targets do.

Its Python is run by tests/test_public_api.py.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_lines
from docs.shell import need, run

import fastbin as fb
from oracle import REPOSITORY

PAGE = (REPOSITORY / "docs" / "exports.md").read_text(encoding="utf8")


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def fitted() -> fb.BinnedModel:
    """As the page does it."""
    rng = np.random.default_rng(0)
    scores = rng.random(10_000)
    return fb.UniformMassBinning(n_bins=10).fit(scores, rng.random(10_000) < 0.2 + 0.5 * scores).model_


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    fitted().save(tmp_path / "credit.fbm")
    (tmp_path / "new.csv").write_text("p\n" + "".join(f"{score!r}\n" for score in np.linspace(0.0, 1.0, 101).tolist()))
    return tmp_path


def export(name: str) -> None:
    """The command of the page that writes this file."""
    (line,) = (line for line in block("sh").splitlines() if f"-o {name}" in line)
    run_lines(line)


def test_the_commands_run(folder: Path) -> None:
    need("cc")
    printed = run_lines(block("sh"))
    assert printed.count(": 0 differ.") == 2
    assert "credit.onnx: a graph of ONNX, exported from the model" in printed
    made = {shlex.split(line)[4] for line in block("sh").splitlines() if " export " in line}
    assert len(made) == 6
    assert all((folder / name).stat().st_size > 500 for name in made)


def test_the_c_program(folder: Path) -> None:
    need("cc")
    (folder / "main.c").write_text(block("c"))
    export("credit.h")
    assert float(run("cc -Wall -Wextra -Werror -o main main.c && ./main", folder)) == fitted().predict_one(0.98)


def test_the_java_program(folder: Path) -> None:
    need("javac", "java")
    (folder / "Main.java").write_text(block("java"))
    export("Credit.java")
    assert float(run("javac Main.java Credit.java && java Main", folder)) == fitted().predict_one(0.98)


def test_the_javascript_program(folder: Path) -> None:
    need("node")
    (folder / "main.mjs").write_text(block("js"))
    export("credit.mjs")
    assert float(run("node main.mjs", folder)) == fitted().predict_one(0.98)


@pytest.mark.filterwarnings("default")  # the converter has its own
def test_the_recipe_behind_a_classifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("sklearn", "skl2onnx", "onnxruntime"):
        pytest.importorskip(package)
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression

    monkeypatch.chdir(tmp_path)
    X, y = make_classification(4000, flip_y=0.2, random_state=0)
    classifier = LogisticRegression().fit(X[:1500], y[:1500])
    session: dict[str, Any] = {"fb": fb, "np": np, "classifier": classifier, "X_train": X[:1500], "X_new": X[2500:]}
    session |= {"X_calibration": X[1500:2500], "y_calibration": y[1500:2500]}
    exec(block("py"), session)
    scores = fb.export.onnx_scores(session["served"], X[2500:])
    assert np.array_equal(session["probabilities"], session["cal"].predict(scores))


def table() -> dict[str, dict[str, str]]:
    section = PAGE.partition("## What a row gets\n")[2].partition("\n## ")[0]
    heads, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"
    )
    return {row[0]: dict(zip((head.strip("`") for head in heads[1:]), row[1:], strict=True)) for row in rows}


MODEL = fitted()
SETS = {word: fb.ModelSet({"a": MODEL}, pool=MODEL if word == "pool" else None, unknown=word) for word in ("refuse", "pool")}
# The row of the table: the model or set, the score, the cell, and the value that "that of ..." means.
CASES: dict[str, tuple[Any, list[float | None], str | None, float]] = {
    "NULL, or missing": (MODEL, [None], None, 0.0),
    "NaN": (MODEL, [float("nan")], None, 0.0),
    "infinite": (MODEL, [float("inf"), float("-inf")], None, 0.0),
    "out of range": (MODEL, [1.5, -5e-324], None, 0.0),
    'out of range, `out_of_range="clip"`': (MODEL.with_out_of_range("clip"), [1.5, 1e300], None, MODEL.predict_one(1.0)),
    "-0.0": (MODEL, [-0.0], None, MODEL.predict_one(0.0)),
    "of an unknown cell": (SETS["refuse"], [0.5], "b", 0.0),
    'of an unknown cell, `unknown="pool"`': (SETS["pool"], [0.5], "b", MODEL.predict_one(0.5)),
}


def by_predict(model: Any, score: float | None, cell: str | None, folder: Path) -> Any:
    try:
        return model.predict([score], *([] if cell is None else [[cell]]))[0]
    except fb.InputError:
        return "error"


def by_sql(model: Any, score: float | None, cell: str | None, folder: Path) -> Any:
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE scores (p, c)")
        database.execute("INSERT INTO scores VALUES (?, ?)", (score, cell))
        if cell is None:
            query = f"SELECT {fb.export.sql(model, dialect='sqlite')} FROM scores"
        else:
            tables = fb.export.sql_set(model, cell="c", dialect="sqlite")
            for statement in tables.table:
                database.execute(statement)
            query = tables.query
        value = database.execute(query).fetchone()[-1]
    return "NULL" if value is None else value


def by_onnx(model: Any, score: float | None, cell: str | None, folder: Path) -> Any:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(fb.export.onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    cells = {} if cell is None else {"cell": np.array([cell], object)}
    return session.run(["probability"], {"score": np.array([score]), **cells})[0][0]


def by_c(model: Any, score: float | None, cell: str | None, folder: Path) -> Any:
    need("cc")
    (folder / "scored.h").write_text(fb.export.c_source(model, "scored"))
    number = {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}.get(repr(score), repr(score))
    call = f"scored({number})" if cell is None else f'scored("{cell}", 1, {number})'
    start = '#include "scored.h"\n#include <math.h>\n#include <stdio.h>\nint main(void) '
    (folder / "main.c").write_text(start + f'{{ printf("%.17g\\n", {call}); return 0; }}\n')
    return float(run("cc -o main main.c && ./main", folder))


def by_javascript(model: Any, score: float | None, cell: str | None, folder: Path) -> Any:
    need("node")
    (folder / "scored.mjs").write_text(fb.export.javascript(model))
    number = {"None": "null", "nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(score), repr(score))
    call = f"predict({number})" if cell is None else f'predict("{cell}", {number})'
    (folder / "main.mjs").write_text(f'import {{ predict }} from "./scored.mjs";\nconsole.log({call});\n')
    return float(run("node main.mjs", folder))


WAYS: dict[str, Callable[[Any, float | None, str | None, Path], Any]] = {
    "predict": by_predict, "SQL": by_sql, "ONNX": by_onnx, "C": by_c, "JavaScript": by_javascript,
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_the_table_says_what_a_row_gets(way: str, tmp_path: Path) -> None:
    stated = table()
    assert list(stated) == list(CASES)
    for name, (model, scores, cell, value) in CASES.items():
        expected: Any = stated[name][way]
        for score in scores if expected else ():
            given = WAYS[way](model, score, cell, tmp_path)
            if expected in ("NULL", "error"):
                assert given == expected, name
            elif expected == "NaN":
                assert np.isnan(given), name
            elif expected == "-1":
                assert given == -1.0, name
            else:
                assert expected.startswith("that of "), name
                assert given == value, name
    assert all(row["Java"] in (row["JavaScript"], "") for row in stated.values())  # which tests/unit/export/test_java.py runs


def test_what_is_decided_about_a_row_without_an_answer() -> None:
    assert "Rows without an answer get 0, in SQL NULL: nothing is decided about them." in " ".join(PAGE.split())
    rng = np.random.default_rng(1)
    scores = rng.random(10_000)
    deciding = fitted().with_decision(fb.decide.accept_threshold(scores, rng.random(10_000) < scores, precision=0.8))
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        expression = fb.export.sql(deciding, dialect="sqlite", what="decision")
        rows = "SELECT NULL AS p UNION ALL SELECT 1.5 UNION ALL SELECT 0.99"
        assert database.execute(f"SELECT {expression} FROM ({rows})").fetchall() == [(None,), (None,), (1,)]
