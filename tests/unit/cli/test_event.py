"""Which event p is about: named at the fit, and read from what is saved by Python, C, SQL, ONNX, JSON and people."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.csv
import pytest
from commands import run

import fastbin as fb
from fastbin._model.provenance import in_words
from fresh_python import run_python
from oracle import CREDIT

DESCRIBE = r"""
#include "fastbin.h"
#include <stdio.h>

int main(int argc, char **argv) {
  fastbin_model *model = NULL;
  fastbin_model_spec spec;
  if (argc != 2 || fastbin_model_load(argv[1], &model) != FASTBIN_OK) return 1;
  spec.struct_size = sizeof spec;
  if (fastbin_model_describe(model, &spec) != FASTBIN_OK) return 2;
  fwrite(spec.event, 1, spec.event_size, stdout);
  fastbin_model_free(model);
  return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The credit data with texts as labels, of which the event comes first in the alphabet, and a model of it."""
    place = tmp_path_factory.mktemp("event")
    table = np.loadtxt(CREDIT, delimiter=",", skiprows=2, max_rows=20_000)
    delays, limits, labels = table[:, 6], table[:, 1], table[:, -1]
    scores = 1.0 / (1.0 + np.exp(1.0 + limits / 4e5 - 0.6 * delays))
    words = np.where(labels == 1, "default", "paid")
    for name, rows in (("rows.csv", slice(0, 10_000)), ("test.csv", slice(10_000, None))):
        pa.csv.write_csv(pa.table({"p": scores[rows], "outcome": words[rows]}), place / name)
    columns = ["--score", "p", "--label", "outcome", "--positive", "default"]
    run("fit", str(place / "rows.csv"), *columns, "-o", str(place / "credit.fbm"))
    return place


def test_python_reads_it(folder: Path) -> None:
    model = fb.load(folder / "credit.fbm")
    assert model.event == "default"
    assert model.n_positive / model.n_samples < 0.3  # not the share of those who paid
    assert "the true frequency of 'default'" in str(model.certificate())
    assert model.certificate().to_dict()["event"] == "default"
    assert "have the label 'default'" in str(model)
    assert "true frequency of &#x27;default&#x27;" in model._repr_html_()
    assert model.to_dict()["event"] == "default"


def test_c_reads_it(folder: Path) -> None:
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("no C compiler on the path")
    (folder / "describe.c").write_text(DESCRIBE, "ascii")
    flags = shlex.split(run_python("-m", "fastbin", "--cflags", "--libs").stdout)
    program = str(folder / "describe")
    subprocess.run([compiler, "-std=c11", str(folder / "describe.c"), *flags, "-o", program], check=True)
    assert subprocess.run([program, str(folder / "credit.fbm")], capture_output=True, check=True).stdout == b"default"


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("credit.sql", r"(?s)/\*.*\n   p is the probability of default\n.*\*/"),
        ("credit.h", r"(?s)p is the probability of 'default'.*#define credit_EVENT \"default\""),
        ("Credit.java", r"(?s)p is the probability of 'default'.*String EVENT = \"default\";"),
        ("credit.mjs", r"(?s)p is the probability of 'default'.*export const EVENT = \"default\";"),
    ],
)
def test_exported_texts_say_it(folder: Path, file: str, said: str) -> None:
    options = ["--dialect", "duckdb"] if file.endswith("sql") else []
    run("export", str(folder / "credit.fbm"), "-o", str(folder / file), *options)
    text = (folder / file).read_text("utf8")
    assert re.search(said, text), text[:1000]
    assert re.search(r"the true frequency\s+(\* )?of '?default'?", text)


def test_onnx_and_json_say_it(folder: Path) -> None:
    model = str(folder / "credit.fbm")
    run("export", model, "-o", str(folder / "credit.onnx"))
    graph = onnx.load(folder / "credit.onnx")
    properties = {each.key: each.value for each in graph.metadata_props}
    assert properties["fastbin.event"] == "default"
    assert "'default'" in properties["fastbin.promise"]
    run("export", model, "-o", str(folder / "credit.json"))
    assert json.loads((folder / "credit.json").read_text("ascii"))["model"]["event"] == "default"
    assert "event: default" in run("inspect", str(folder / "credit.onnx")).output


def test_people_read_it(folder: Path) -> None:
    model, test = str(folder / "credit.fbm"), str(folder / "test.csv")
    shown = run("inspect", model).output
    assert "Values are the probability of 'default'." in shown
    assert "the true frequency of 'default'" in shown
    assert "label 1" not in shown
    told = json.loads(run("inspect", model, "--json").output)
    assert (told["event"], told["certificate"]["event"]) == ("default", "default")
    columns = ["--score", "p", "--label", "outcome", "--positive", "default"]
    assert "with the label 'default'" in run("assess", model, test, *columns).output
    run("report", model, test, *columns, "-o", str(folder / "report.html"))
    page = (folder / "report.html").read_text("utf8")
    assert "Values are the probability of</th><td>&#x27;default&#x27;" in page
    assert "true frequency of &#x27;default&#x27;" in page


def test_the_other_event_is_refused_and_scores_of_the_other_class_are_told(folder: Path) -> None:
    rows, columns = str(folder / "test.csv"), ["--score", "p", "--label", "outcome", "--positive", "paid"]
    refused = run("assess", str(folder / "credit.fbm"), rows, *columns, code=1)
    assert "positive is 'paid', and the model gives the probability of 'default'; pass --positive default" in refused.output
    assert "labels fall as scores rise" in run("fit", rows, *columns, "-o", str(folder / "paid.fbm")).output


def test_the_event_of_the_model_is_the_remedy_for_words(folder: Path) -> None:
    arguments = ["assess", str(folder / "credit.fbm"), str(folder / "test.csv"), "--score", "p", "--label", "outcome"]
    refused = run(*arguments, code=1)
    told = "; the model gives the probability of 'default': pass --positive default\n"
    assert refused.output.endswith(told), refused.output
    assert "with the label 'default'" in run(*arguments, "--positive", "default").output


def test_provenance_is_shown(folder: Path) -> None:
    model = fb.load(folder / "credit.fbm")
    shown = run("inspect", str(folder / "credit.fbm")).output
    made = re.search(r"^Made by (\w+)\(.*\), seed \d+, fingerprint ([0-9a-f]{16}), fastbin \d.*\.$", shown, re.MULTILINE)
    assert made is not None, shown
    assert int(made[2], 16) == model.fingerprint
    assert made[0].removeprefix("Made by ")[:-1] in fb.export.javascript(model)
    assert json.loads(run("inspect", str(folder / "credit.fbm"), "--json").output)["provenance"] == model.provenance


@pytest.mark.parametrize("suffix", ["sql", "h", "java", "mjs", "onnx", "json"])
def test_every_export_says_on_one_line_how_its_model_came_about(folder: Path, suffix: str) -> None:
    if suffix == "onnx":
        pytest.importorskip("onnx")
    path = folder / f"Credit.{suffix}"
    run("export", str(folder / "credit.fbm"), "-o", str(path))
    (line,) = [line for line in run("inspect", str(path)).output.splitlines() if "fingerprint" in line]
    made_by = in_words(fb.load(folder / "credit.fbm"))
    model = fb.load(folder / "credit.fbm")
    assert f" samples ({model.n_positive:,} positive), seed 0, fingerprint {model.fingerprint:016x}, " in made_by
    signs = re.compile(r"\W+")
    assert signs.sub(" ", made_by) in signs.sub(" ", line)
    if suffix in ("h", "java", "mjs", "sql"):
        assert any(signs.sub(" ", made_by) in signs.sub(" ", each) for each in path.read_text().splitlines())


def test_nothing_is_named_where_nobody_named_it() -> None:
    model = fb.UniformMassBinning(2).fit([0.1, 0.4, 0.5, 0.7, 0.9], [0, 0, 1, 1, 1]).model_
    assert "the true frequency of label 1" in str(model.certificate())
    assert "p is the probability of label 1" in fb.export.sql(model, dialect="sqlite")
    assert '_EVENT ""' in fb.export.c_source(model, "p")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "event", ["größe */ --", "\x1b]0;x\x07\n dialect duckdb, gives bin", '"\\u002a/', "??/</script>", "\u202e\u2028"]
)
def test_hostile_events_stay_in_comments(event: str) -> None:
    parts = {"edges": [0.5], "values": [0.25, 0.75], "event": event}
    model = fb.BinnedModel.from_parts(**parts)
    for dialect in ("duckdb", "sqlite", "polars"):
        text = fb.export.sql(model, dialect=dialect)
        assert text.count("*/") == 1
        assert text.isascii()
        assert fb.export.verify(model, text).is_same
    graph = fb.export.onnx(model)
    assert {each.key: each.value for each in graph.metadata_props}["fastbin.event"] == event
    for text in (fb.export.c_source(model, "p"), fb.export.java(model, "P"), fb.export.javascript(model)):
        about = text[: text.index("*/") + 2]
        assert about.isascii()
        assert "\\" not in about
        assert not any(ord(each) < 32 and each != "\n" for each in text)
    for program, text in (("cc", fb.export.c_source(model, "p")), ("node", fb.export.javascript(model))):
        if shutil.which(program):
            assert fb.export.verify(model, text, run_code=True).is_same
