"""JavaScript modules: the bits of `predict`, and arguments that are not numbers, keys or cells."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import compiled
import numpy as np
import pytest
from compiled import CASES, CURVE_CASES, Case, case_of
from exported import GREATEST, model_of, model_with_edges_of_all_sizes

import fastbin as fb
from fastbin.export.form import digest_of
from fastbin.export.runners import RowsToScore, SqlNames, run_javascript

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

EVERY = [*CASES, *CURVE_CASES]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the modules of all cases."""
    folder = tmp_path_factory.mktemp("javascript")
    for case in EVERY:
        text = fb.export.javascript(case.model, outputs=case.outputs, alpha=case.alpha)
        (folder / f"{case.name}.mjs").write_text(text, "ascii")
    yield folder
    shutil.rmtree(folder)


def _run(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(["node", *arguments], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.sampled
@pytest.mark.parametrize("n", [8_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.about)
def test_answers_have_the_bits_of_predict(modules: Path, tmp_path: Path, case: Case, n: int) -> None:
    rows = compiled.few_rows_of(case) if n == 8_000 else compiled.rows_of(case, n)
    cells = None if rows.cells is None else np.array(rows.cells, object if case.has_texts else np.int64)
    text = (modules / f"{case.name}.mjs").read_text("ascii")
    found = run_javascript(text, RowsToScore(rows.scores, rows.keys, cells), SqlNames()).columns
    assert set(found) == set(case.outputs)
    for output, column in found.items():
        column.tofile(tmp_path / f"{case.name}.{output}")
    compiled.check_answers(tmp_path, case, rows, nothing=float("nan"))


def _answers(folder: Path, about: str, *calls: str) -> list[object]:
    """The values of expressions in which the module of a case is called m; errors as their texts."""
    program = f"import * as m from './{case_of(about).name}.mjs';\nconst out = [];\n"
    for call in calls:
        program += f"try {{ out.push({call}); }} catch (error) {{ out.push(String(error)); }}\n"
    program += "console.log(JSON.stringify(out.map((one) => Number.isNaN(one) ? 'NaN' : one)));\n"
    path = folder / "calls.mjs"
    path.write_text(program)
    return json.loads(_run(folder, path.name))


def test_what_is_no_number_has_no_answer(modules: Path) -> None:
    values = ("null", "undefined", "'0.5'", "0n", "true", "[0.5]", "new Date()", "NaN")
    assert _answers(modules, "10 bins", *(f"m.predict({value})" for value in values)) == ["NaN"] * len(values)
    assert _answers(modules, "10 bins", *(f"m.predictBin({value})" for value in values)) == [-1] * len(values)


def test_edges_that_no_score_lies_above(tmp_path: Path) -> None:
    model = model_with_edges_of_all_sizes()
    (tmp_path / "m.mjs").write_text(fb.export.javascript(model), "ascii")
    scores = [-GREATEST, 0.0, GREATEST]
    program = f"import {{ predict }} from './m.mjs';\nconsole.log(JSON.stringify({scores}.map((score) => predict(score))));"
    (tmp_path / "calls.mjs").write_text(program)
    assert json.loads(_run(tmp_path, "calls.mjs")) == model.predict(scores).tolist()


def test_what_is_no_key_is_refused_in_words(modules: Path) -> None:
    keys = ("", "null", "5", "'5'", "-1n", "2n ** 64n")
    for key, answer in zip(keys, _answers(modules, "10 bins, keys", *(f"m.predict(0.5, {key})" for key in keys)), strict=True):
        shown = {"": "undefined", "'5'": "5", "-1n": "-1", "2n ** 64n": str(2**64)}.get(key, key)
        assert answer == f"TypeError: key is {shown}; pass a BigInt from 0n to 2n ** 64n - 1n"
    model = model_of("10 bins, keys")
    last = float(model.edges[-2])  # no key reaches the last one
    ends = model.predict([last, last], tie_keys=np.array([0, 2**64 - 2], np.uint64)).tolist()
    assert ends[0] != ends[1]
    assert _answers(modules, "10 bins, keys", f"m.predict({last!r}, 0n)", f"m.predict({last!r}, 2n ** 64n - 2n)") == ends


def test_what_is_no_cell_has_no_answer(modules: Path) -> None:
    numbers = ("null", "undefined", "'5'", "0.5", "2 ** 53", "NaN", "true")
    calls = [f"m.predict({cell}, 0.5, 7n)" for cell in numbers]
    assert _answers(modules, "integers, keys, pool", *calls) == ["NaN"] * len(numbers)
    texts = ("null", "undefined", "''", "5", "['a']")
    assert _answers(modules, "texts, keys, pool", *(f"m.predict({cell}, 0.5, 7n)" for cell in texts)) == ["NaN"] * len(texts)


def test_numbers_and_bigints_name_the_same_cells(modules: Path) -> None:
    about, cells = "integers, keys, pool", (0, -3, 2**53 - 1, 17)
    expected = [case_of(about).model.predict_one(0.3, cell, 7) for cell in cells]
    of_numbers = _answers(modules, about, *(f"m.predict({cell}, 0.3, 7n)" for cell in (*cells, "-0")))
    assert of_numbers == [*expected, expected[0]]
    assert _answers(modules, about, *(f"m.predict({cell}n, 0.3, 7n)" for cell in cells)) == expected


def test_arrays_are_scored_by_map(modules: Path) -> None:
    model = model_of("10 bins")
    scores = [0.1, 0.5, 0.9]
    assert _answers(modules, "10 bins", f"{scores}.map(m.predict)", "m.SHA256") == [
        model.predict(scores).tolist(), digest_of(model),
    ]  # fmt: skip


def test_a_module_can_stand_in_a_page() -> None:
    models = case_of("texts").model
    assert "</script>" in models
    assert "</script" not in fb.export.javascript(models)
