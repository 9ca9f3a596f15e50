"""JavaScript modules: the bits of `predict`, what is no number, no key or no cell, and what is said."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import compiled
import numpy as np
import pytest
from compiled import CASES, CURVE_CASES, Case
from exported import GREATEST, model_of, model_with_edges_of_all_sizes

import fastbin as fb
from fastbin.export.form import digest_of

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

EVERY = [*CASES, *CURVE_CASES]

RUNNER = """
import { readFileSync, writeFileSync, existsSync } from "node:fs";

const OUTPUTS = { value: "predict", bin: "predictBin", lower: "predictLower", upper: "predictUpper" };

function column(path, kind) {
  const data = readFileSync(path);
  return new kind(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength));
}

function textsOf(name) {
  const data = readFileSync(`${name}.cells`);
  let start = 0;
  return Array.from(column(`${name}.ends`, BigInt64Array), (end) => data.toString("utf8", start, (start = Number(end))));
}

for (const name of process.argv.slice(2)) {
  const module = await import(`./${name}.mjs`);
  const parts = [column(`${name}.scores`, Float64Array)];
  if (existsSync(`${name}.cells`)) {
    parts.unshift(existsSync(`${name}.ends`) ? textsOf(name) : column(`${name}.cells`, BigInt64Array));
  }
  if (existsSync(`${name}.keys`)) parts.push(column(`${name}.keys`, BigUint64Array));
  for (const [output, method] of Object.entries(OUTPUTS).filter(([, method]) => method in module)) {
    const out = new (output === "bin" ? Int32Array : Float64Array)(parts[0].length);
    for (let i = 0; i < out.length; i++) out[i] = module[method](...parts.map((part) => part[i]));
    writeFileSync(`${name}.${output}`, out);
  }
}
"""


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the modules of all cases, and of a program that calls them."""
    folder = tmp_path_factory.mktemp("javascript")
    (folder / "runner.mjs").write_text(RUNNER, "ascii")
    for case in EVERY:
        text = fb.export.javascript(case.model, outputs=case.outputs, alpha=case.alpha)
        (folder / f"{case.name}.mjs").write_text(text, "ascii")
    yield folder
    shutil.rmtree(folder)


def _run(folder: Path, *arguments: str) -> str:
    ran = subprocess.run(["node", *arguments], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_answers_have_the_bits_of_predict(modules: Path) -> None:
    rows = {case.name: compiled.rows_of(case, 20_000) for case in EVERY}
    for case in EVERY:
        compiled.write_rows(modules, case, rows[case.name])
    _run(modules, "runner.mjs", *rows)
    for case in EVERY:
        compiled.check_answers(modules, case, rows[case.name], nothing=float("nan"))
        compiled.remove_files(modules, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.about)
def test_a_million_rows_of_each_model(modules: Path, case: Case) -> None:
    rows = compiled.rows_of(case, 1_000_000)
    compiled.write_rows(modules, case, rows)
    _run(modules, "runner.mjs", case.name)
    compiled.check_answers(modules, case, rows, nothing=float("nan"))
    compiled.remove_files(modules, case)


def _answers(folder: Path, about: str, *calls: str) -> list[object]:
    """What these expressions are of the module of a case, where it is called m; errors as their texts."""
    (case,) = (case for case in CASES if case.about == about)
    program = f"import * as m from './{case.name}.mjs';\nconst out = [];\n"
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
    ends = model.predict([last, last], keys=np.array([0, 2**64 - 2], np.uint64)).tolist()
    assert ends[0] != ends[1]
    assert _answers(modules, "10 bins, keys", f"m.predict({last!r}, 0n)", f"m.predict({last!r}, 2n ** 64n - 2n)") == ends


def test_what_is_no_cell_has_no_answer(modules: Path) -> None:
    numbers = ("null", "undefined", "'5'", "0.5", "2 ** 53", "NaN", "true")
    calls = [f"m.predict({cell}, 0.5, 7n)" for cell in numbers]
    assert _answers(modules, "integers, keys, pool", *calls) == ["NaN"] * len(numbers)
    texts = ("null", "undefined", "''", "5", "['a']")
    assert _answers(modules, "texts, keys, pool", *(f"m.predict({cell}, 0.5, 7n)" for cell in texts)) == ["NaN"] * len(texts)


def test_numbers_and_bigints_name_the_same_cells(modules: Path) -> None:
    (case,) = (case for case in CASES if case.about == "integers, keys, pool")
    cells = (0, -3, 2**53 - 1, 17)
    expected = [case.model.predict_one(0.3, cell, 7) for cell in cells]
    assert _answers(modules, case.about, *(f"m.predict({cell}, 0.3, 7n)" for cell in cells), "m.predict(-0, 0.3, 7n)") == [
        *expected, expected[0],
    ]  # fmt: skip
    assert _answers(modules, case.about, *(f"m.predict({cell}n, 0.3, 7n)" for cell in cells)) == expected


def test_arrays_are_scored_by_map(modules: Path) -> None:
    model = model_of("10 bins")
    scores = [0.1, 0.5, 0.9]
    assert _answers(modules, "10 bins", f"{scores}.map(m.predict)", "m.SHA256") == [
        model.predict(scores).tolist(), digest_of(model),
    ]  # fmt: skip


def test_what_the_module_says() -> None:
    model = model_of("two resolutions")
    text = fb.export.javascript(model, outputs=("upper", "value"))
    assert text.startswith("/*\n * fastbin ")
    assert f"model sha256 {digest_of(model)}" in text.splitlines()[1]
    assert "predictLower" not in text
    assert "predictBin" not in text
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 128


def test_a_module_can_stand_in_a_page() -> None:
    (case,) = (case for case in CASES if case.about == "texts")
    assert "</script>" in case.model
    assert "</script" not in fb.export.javascript(case.model)


def test_mistakes_are_refused() -> None:
    with pytest.raises(fb.InputTypeError, match="model is the path 'model'"):
        fb.export.javascript("model")
    with pytest.raises(fb.InputError, match=r"outputs\[0\] is 'p'"):
        fb.export.javascript(model_of("10 bins"), outputs=["p"])
    with pytest.raises(fb.InputError, match="no end of an interval is asked for"):
        fb.export.javascript(model_of("10 bins"), alpha=0.1)
