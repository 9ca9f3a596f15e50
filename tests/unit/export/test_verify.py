"""`verify`: right exports pass, each kind of wrong one is found, in every target, and nothing runs that is not asked for."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from commands import run
from exported import model_of
from exported_curves import curve_model_of
from onnx import TensorProto, helper
from onnx_graphs import properties as properties_of

import fastbin as fb
from fastbin.export.form import OF_STEPS, digest_of
from fastbin.export.verify import digest_in, target_of

_verify = partial(fb.export.verify, run_code=True)
Model = Any  # a model or a set


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def sql_of(dialect: str, what: str, style: str = "auto") -> Callable[[Model], Any]:
    def write(model: Model) -> Any:
        key = "k" if any(each.needs_key for each in models_in(model)) else None
        if isinstance(model, fb.ModelSet):
            return fb.export.sql_set(model, "p", cell="c", tie_key=key, dialect=dialect, what=what)
        return fb.export.sql(model, "p", tie_key=key, dialect=dialect, what=what, style=style)

    return write


def models_in(model: Model) -> list[fb.BinnedModel]:
    return [each for _, each in model.numbered] if isinstance(model, fb.ModelSet) else [model]


ALL = OF_STEPS
# How each target is written, what `verify` must be told of it, and the program that it needs.
TARGETS: dict[str, tuple[Callable[[Model], Any], dict[str, Any], str | None]] = {
    "json": (fb.export.json, {}, None),
    "c": (lambda model: fb.export.c_source(model, "calibrated", outputs=ALL), {}, "cc"),
    "js": (lambda model: fb.export.javascript(model, outputs=ALL), {}, "node"),
    "java": (lambda model: fb.export.java(model, "Calibrated", package="org.example", outputs=ALL), {}, "javac"),
    "onnx": (lambda model: fb.export.onnx(model, outputs=ALL).SerializeToString(), {}, None),
    "duckdb": (sql_of("duckdb", "value"), {"dialect": "duckdb"}, None),
    "sqlite": (sql_of("sqlite", "bin"), {"dialect": "sqlite", "what": "bin"}, None),
    "polars": (sql_of("polars", "upper"), {"dialect": "polars", "what": "upper"}, None),
}
QUICK = ("json", "js", "onnx", "duckdb", "sqlite", "polars")
targets = pytest.mark.parametrize("name", TARGETS)
quick_targets = pytest.mark.parametrize("name", QUICK)


def verified(model: Model, name: str, export: Any = None, scores: Any = (), **more: Any) -> fb.export.Verification:
    """Verify what is written of a model in a target, or another text for it."""
    write, words, program = TARGETS[name]
    if program is not None:
        need(program)
    if "dialect" in words:
        more = {"tie_key": "k", **({"cell": "c"} if isinstance(model, fb.ModelSet) else {}), **more}
    return _verify(model, write(model) if export is None else export, scores, **{**words, **more})


SET = fb.ModelSet(
    {"north": model_of("10 bins, keys"), "süd": model_of("2 bins"), "it's; --": model_of("clips")},
    pool=model_of("10 bins"), pooled_cells=["far", "away"], unknown="pool",
)  # fmt: skip
INTEGERS = fb.ModelSet({3: model_of("10 bins"), -5: model_of("2 bins, keys"), 2**60: model_of("logits")})


# --------------------------------------------------------------------- what is right


@pytest.mark.sampled
@targets
def test_exports_are_the_same(name: str) -> None:
    model = model_of("10 bins, keys")
    result = verified(model, name, scores=[0.25, math.nan, 7.0])
    assert result.is_same
    assert not result.is_wrong
    assert result.n_given == 3
    assert result.n_rows > 1000
    assert (result.sha256, result.why_not, result.mismatches) == (digest_of(model), "", ())
    assert result.outputs == {"json": ("value",), "sqlite": ("bin",), "polars": ("upper",), "duckdb": ("value",)}.get(name, ALL)
    assert "0 differ." in str(result)


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in TARGETS if name != "polars"])
def test_exports_of_sets_are_the_same(name: str) -> None:
    result = verified(SET, name, scores=[0.1, 0.9, 0.3, 2.0], cells=["north", "far", "nowhere", "süd"])
    assert result.is_same, str(result)
    if name != "java":  # compiled once is enough
        assert verified(INTEGERS, name).is_same


@pytest.mark.parametrize("name", ["json", "js", "onnx", "duckdb"])
def test_cells_that_end_in_nul(name: str) -> None:
    own = {"a": model_of("2 bins"), "a\0": model_of("10 bins"), "\0": model_of("clips")}
    models = fb.ModelSet(own, pool=model_of("1 bins"), unknown="pool")
    assert verified(models, name).is_same


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize("model", ["100 bins", "10 bins, keys"])
def test_tables_and_their_query(model: str, dialect: str) -> None:
    tables = sql_of(dialect, "value", style="join")(model_of(model))
    for made in (tables, tables.script):
        assert _verify(model_of(model), made, [0.5], dialect=dialect, tie_key="k").is_same


def test_alpha_of_a_text_is_read() -> None:
    """Another alpha than the usual one, which the text of the export says."""
    model = model_of("10 bins")
    for what in ("lower", "upper"):
        text = fb.export.sql(model, dialect="sqlite", what=what, alpha=0.01)
        assert _verify(model, text, dialect="sqlite", what=what).is_same
        assert not _verify(model, text, dialect="sqlite", what=what, alpha=0.1).is_same


def test_alpha_of_a_graph_is_read() -> None:
    model = model_of("10 bins")
    graph = fb.export.onnx(model, outputs=("lower", "upper"), alpha=0.01)
    assert _verify(model, graph).is_same
    assert [each.output for each in _verify(model, graph, alpha=0.02).mismatches] == ["lower", "upper"]


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("shape", [("n",), ("n", 1), (1, 1), (), (7, 3), ("batch", "row", 2)])
@pytest.mark.parametrize("name", ["10 bins", "10 bins, keys"])
def test_graphs_of_other_shapes_and_types(name: str, shape: Any, dtype: str) -> None:
    model = model_of(name)
    result = _verify(model, fb.export.onnx(model, outputs=ALL, shape=shape, dtype=dtype), [0.1, 0.3, np.nan])
    assert result.is_same, str(result)
    assert (result.n_given, result.outputs) == (3, ALL)


def test_an_edge_that_is_one_number_of_32_bits_away() -> None:
    """The wrong graph has the digest of the model, and answers all others as it does."""
    model = model_of("10 bins")
    for end in (-1.0, 2.0):
        moved = model._replace(edges=np.nextafter(model.edges.astype(np.float32), np.float32(end)).astype(np.float64))
        graph = fb.export.onnx(moved, shape=("n", 1), dtype="float32")
        helper.set_model_props(graph, properties_of(fb.export.onnx(model)))
        (mismatch,) = _verify(model, graph).mismatches
        assert mismatch.score == np.float32(mismatch.score)
        assert 1 <= mismatch.n_rows <= 9 * 13


def test_a_graph_that_takes_no_rows() -> None:
    graph = fb.export.onnx(MODEL, shape=(1,))
    for each in (*graph.graph.input, *graph.graph.output):
        each.type.tensor_type.shape.dim[0].dim_value = 0
    assert broken(graph) == "the graph takes tensors without rows"


def test_columns_and_calibrators() -> None:
    rng = np.random.default_rng(3)
    calibrator = fb.UniformMassBinning(4).fit(scores := rng.random(500), rng.random(500) < scores)
    text = fb.export.sql(calibrator, '"my score"', dialect="sqlite")
    result = _verify(calibrator, text, scores.astype(np.float32), dialect="sqlite", score='"my score"')
    assert result.is_same
    assert result.n_given == 500


def test_files(tmp_path: Path) -> None:
    model = model_of("2 bins")
    for name, text in (("m.json", fb.export.json(model)), ("m.sql", fb.export.sql(model, dialect="sqlite"))):
        (tmp_path / name).write_text(text, encoding="utf8")
        assert _verify(model, tmp_path / name, dialect="sqlite").target == name[2:]
    (tmp_path / "m").write_bytes(fb.export.onnx(model).SerializeToString())
    assert _verify(model, tmp_path / "m").target == "onnx"


def write_curve(model: fb.BinnedModel, name: str) -> Any:
    return {
        "json": lambda: fb.export.json(model), "js": lambda: fb.export.javascript(model),
        "onnx": lambda: fb.export.onnx(model).SerializeToString(), "duckdb": lambda: fb.export.sql(model, dialect="duckdb"),
    }[name]()  # fmt: skip


def nearly(model: fb.BinnedModel) -> fb.BinnedModel:
    """A model of the same form that is wrong in the last bit, or, where exponentials are taken, in the ninth digit."""
    word, (first, *rest) = model.map
    if model.kind == "linear":
        return model._replace(values=np.nextafter(model.values, 0.0))
    if word == "spline":
        return model._replace(knots=np.array(model.knots) * (1.0 + 1e-9))
    return model._replace(map_parameters=(first + 1e-9, *rest))


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["json", "js", "onnx", "duckdb"])
@pytest.mark.parametrize("model", ["rise and fall", "fitted beta", "spline"])
def test_curves(model: str, name: str) -> None:
    """Equal where they are lines, and within a few units in the last place where they are not."""
    found = curve_model_of(model)
    export, words = write_curve(found, name), {"dialect": "duckdb"} if name == "duckdb" else {}
    if name == "js":
        need("node")
    result = _verify(found, export, [0.25], **words)
    if model == "spline" and result.engine.startswith("onnxruntime 1.18."):
        pytest.skip("this onnxruntime takes the logarithm of a subnormal number as that of the least normal one")
    assert (result.is_same, result.outputs) == (True, ("value",)), str(result)
    if name == "json":
        return
    other = nearly(found)
    assert _verify(found, under_digest_of(found, other, write_curve(other, name)), **words).mismatches


@pytest.mark.parametrize("name", ["js", "onnx"])
def test_maps_of_labels_that_scores_separate(name: str) -> None:
    """The least temperature multiplies log odds by 22,026, and the last bits of a logarithm with them."""
    if name == "js":
        need("node")
    with pytest.warns(fb.FastbinWarning, match="the temperature is the least that is allowed"):
        model = fb.TemperatureScaling().fit([0.2, 0.3, 0.8, 0.9], [0, 0, 1, 1]).model_
    scores = np.linspace(0.49, 0.51, 500)
    result = _verify(model, write_curve(model, name), scores)
    assert result.is_same, str(result)
    other = model._replace(map_parameters=(*np.array(model.map[1][:2]) * (1.0 + 1e-9), 0.0, 0.0))
    assert _verify(model, under_digest_of(model, other, write_curve(other, name)), scores).mismatches


# --------------------------------------------------------------------- what is wrong


def under_digest_of(model: Model, other: Model, export: Any) -> Any:
    """The export of another model, which says that it is of this one."""
    before, after = digest_of(other), digest_of(model)
    if isinstance(export, bytes):
        assert before.encode() in export
        return export.replace(before.encode(), after.encode())
    assert before in export
    return export.replace(before, after)


def disguised(model: Model, other: Model, name: str) -> Any:
    export = TARGETS[name][0](other)
    return under_digest_of(model, other, export.script if isinstance(export, fb.export.SqlTables) else export)


def wrong_models(model: fb.BinnedModel) -> dict[str, fb.BinnedModel]:
    """The least that can be wrong."""
    edges, keys, values = np.array(model.edges), np.array(model.edge_keys), np.array(model.values)
    higher, later, other = edges.copy(), keys.copy(), values.copy()
    last = int(np.flatnonzero(keys == np.uint64(2**64 - 1))[0])
    after, first = edges.copy(), keys.copy()
    after[last], first[last] = np.nextafter(edges[last], 1.0), 1
    higher[4] = np.nextafter(edges[4], 1.0)
    later[4] += np.uint64(1)
    other[2] = np.nextafter(values[2], 1.0)
    return {
        "an edge is the next double": model._replace(edges=higher),
        "a key is the next": model._replace(edge_keys=later),
        "an edge behind all keys is behind the first of the next double": model._replace(edges=after, edge_keys=first),
        "a value is the next double": model._replace(values=other),
        "the range ends one double later": model._replace(score_range=(0.0, np.nextafter(1.0, 2.0))),
        "the range ends one double earlier": model._replace(score_range=(0.0, np.nextafter(1.0, 0.0))),
        "it clips": model.with_out_of_range("clip"),
        "the range begins below 0": model._replace(score_range=(-5e-324, 1.0)),
    }


FAULTS = [
    (name, fault)
    for name in ("js", "onnx", "duckdb", "sqlite", "polars")
    for fault in wrong_models(model_of("10 bins, keys"))
    if name not in ("sqlite", "polars") or not fault.startswith("a value")  # those give bins, and ends of intervals
]


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_the_least_differences_are_found(name: str, fault: str) -> None:
    model = model_of("10 bins, keys")
    result = verified(model, name, disguised(model, wrong_models(model)[fault], name))
    assert result.sha256 == result.found_sha256
    assert result.is_wrong
    assert not result.is_same
    first = result.mismatches[0]
    assert (first.row, first.n_rows > 0) == (-1, True)
    told = "1 row differs" if first.n_rows == 1 else f"{first.n_rows:,} rows differ"
    assert f"{told}; the first is a hard score: score " in str(result)


def test_the_least_differences_are_found_in_compiled_programs() -> None:
    model = model_of("10 bins, keys")
    edge = wrong_models(model)["an edge is the next double"]
    result = verified(model, "c", disguised(model, edge, "c"))
    assert {each.output for each in result.mismatches} == set(ALL)
    assert result.mismatches[0].score == model.edges[4]


@pytest.mark.parametrize("name", [name for name in QUICK if name not in ("json", "polars")])
def test_cells_that_are_scored_wrongly_are_found(name: str) -> None:
    swapped = {"north": SET["süd"], "süd": SET["north"], "it's; --": SET["it's; --"]}
    other = fb.ModelSet(swapped, pool=SET.pool, pooled_cells=["far", "away"], unknown="pool")
    refuses = fb.ModelSet(SET.models, pool=SET.pool, pooled_cells=["far", "away"])
    unpooled = fb.ModelSet(SET.models, pool=SET.pool, pooled_cells=["far"], unknown="pool")
    # For a cell that is unknown to one of them, the values of the last and the bins of the second are still right.
    for each in {"duckdb": (other, refuses), "sqlite": (other, unpooled)}.get(name, (other, refuses, unpooled)):
        result = verified(SET, name, disguised(SET, each, name))
        assert result.mismatches, str(result)
        assert result.mismatches[0].cell in (*SET.cells, "no such cell")


@quick_targets
def test_another_model_is_found(name: str) -> None:
    model, other = model_of("10 bins, keys"), model_of("2 bins, keys")
    result = verified(model, name, TARGETS[name][0](other))
    assert result.is_wrong
    assert result.found_sha256 == digest_of(other)
    assert "It is of another model" in str(result)


@targets
def test_what_does_not_run_is_told(name: str) -> None:
    model = model_of("2 bins, keys")
    export = TARGETS[name][0](model)
    broken = export[: len(export) * 2 // 3]
    result = verified(model, name, broken, target="sql" if TARGETS[name][1] else name)
    assert result.is_broken
    assert result.is_wrong
    assert "It fails: " in str(result)
    assert result.engine == ""


def test_answers_may_not_be_zero_of_another_sign() -> None:
    model = fb.BinnedModel.from_parts(edges=[0.5], values=[0.0, 0.5])
    text = fb.export.sql(model, dialect="sqlite")
    assert _verify(model, text, dialect="sqlite").is_same
    assert text.endswith("ELSE (0.0) END ELSE NULL END")
    (mismatch,) = _verify(model, text.replace("ELSE (0.0) END", "ELSE (-1e-320 / 1e300) END"), dialect="sqlite").mismatches
    assert str(mismatch.found) == "-0.0"


def test_results_as_json() -> None:
    model = model_of("10 bins, keys")
    clips = wrong_models(model)["it clips"]
    wrong = verified(model, "sqlite", disguised(model, clips, "sqlite"), [0.25, 7.0], tie_keys=[1 << 60] * 2)
    told = json.loads(json.dumps(wrong.to_dict(), allow_nan=False))
    (mismatch,) = told.pop("mismatches")
    assert told["is_same"] is False
    assert (mismatch["row"], mismatch["score"], mismatch["key"]) == (1, 7.0, "1000000000000000")
    assert (mismatch["expected"], mismatch["found"]) == (-1, 9)
    value = verified(model, "duckdb", disguised(model, clips, "duckdb"), [7.0])
    assert value.to_dict()["mismatches"][0]["expected"] is None
    assert "gives" in str(value)
    low, high = (fb.BinnedModel.from_parts(edges=[], values=[each]) for each in (0.25, 0.75))
    numbered, swapped = fb.ModelSet({3: low, 7: high}), fb.ModelSet({3: high, 7: low})
    of_set = verified(numbered, "duckdb", disguised(numbered, swapped, "duckdb"), [0.5], cells=[7])
    assert json.loads(json.dumps(of_set.to_dict()))["mismatches"][0]["cell"] == 7
    assert "cell 7 gives" in str(of_set)


# --------------------------------------------------------------------- what cannot be run


@pytest.mark.parametrize(
    ("name", "words"), [("c", "no C compiler is found"), ("js", "node is not found"), ("java", "javac and java are not found")]
)
def test_missing_programs_are_told(name: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    model = model_of("2 bins")
    result = _verify(model, TARGETS[name][0](model))
    assert (result.is_same, result.is_wrong, result.is_broken) == (False, False, False)
    assert words in result.why_not
    assert f"Not run: {words}" in str(result)


@pytest.mark.parametrize("package", ["duckdb", "pyarrow", "onnxruntime", "polars"])
def test_missing_packages_are_told(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    name = {"pyarrow": "duckdb", "onnxruntime": "onnx"}.get(package, package)
    result = verified(model_of("2 bins, keys"), name)
    assert f" need {package}, which is not installed; " in result.why_not
    assert not result.is_wrong


def test_sql_that_cannot_be_run() -> None:
    model, keyed = model_of("2 bins"), model_of("2 bins, keys")
    text = fb.export.sql(model, dialect="spark")
    assert "no engine for spark runs here" in _verify(model, text, dialect="spark").why_not
    assert "does not say its dialect" in _verify(model, text.replace("dialect spark", "")).why_not
    text = fb.export.sql(keyed, tie_key="k", dialect="sqlite")
    assert "say by tie_key" in _verify(keyed, text, dialect="sqlite").why_not
    tables = fb.export.sql_set(SET, cell="c", tie_key="k", dialect="sqlite", source="(SELECT 1)")
    assert "only plain names" in _verify(SET, tables, source="(SELECT 1)", tie_key="k", cell="c").why_not
    script = tables.script.replace("dialect sqlite", "dialect polars")
    assert "Polars has no tables" in _verify(SET, script, tie_key="k", cell="c").why_not


# --------------------------------------------------------------------- words


@targets
def test_texts_tell_what_they_are(name: str) -> None:
    model = model_of("2 bins, keys")
    export = TARGETS[name][0](model)
    target = "sql" if "dialect" in TARGETS[name][1] else name
    assert target_of(export) == target
    assert digest_in(export, target) == digest_of(model)
    assert target_of(b"\x89FBM" if isinstance(export, bytes) else "SELECT 1") in ("onnx", None)


# --------------------------------------------------------------------- names of programs

# What a program that runs a header could call its own things, or includes; "whole" and the like stand for all local names.
C_NAMES = [
    "scores", "answer", "answers", "n", "i", "out", "whole", "keys", "cells", "ends", "size", "path", "file", "data", "FILE",
    "fopen", "fread", "fclose", "rand", "system", "program", "fastbin", "fastbin_value", "fastbin_n",
    "value", "step",
]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("name", C_NAMES)
def test_headers_of_every_legal_name(name: str) -> None:
    need("cc")
    result = _verify(model_of("2 bins, keys"), fb.export.c_source(model_of("2 bins, keys"), name, outputs=ALL))
    assert (result.is_same, result.outputs) == (True, ALL), str(result)


# A variable, a package and two classes that the program uses, with and without a package that is called as its variables are.
JAVA_NAMES = [("scores", None), ("java", None), ("Object", None), ("Files", "value.keys.ends"), ("text", "cells")]


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "package"), JAVA_NAMES)
def test_classes_of_every_legal_name(name: str, package: str | None) -> None:
    need("javac")
    model = SET if package == "cells" else model_of("2 bins")
    result = _verify(model, fb.export.java(model, name, package=package, outputs=ALL))
    assert (result.is_same, result.outputs) == (True, ALL), str(result)


def test_programs_of_sets_of_both_kinds() -> None:
    need("cc")
    for models in (SET, INTEGERS):
        assert _verify(models, fb.export.c_source(models, "cells", outputs=ALL)).is_same


# --------------------------------------------------------------------- names of columns


@pytest.mark.parametrize(
    ("dialect", "column"),
    [
        *((dialect, column) for dialect in ("duckdb", "sqlite", "polars") for column in ('"my score"', '"my ""p"""')),
        ("sqlite", "`tick`"),
        ("polars", "`tick`"),
    ],
)
def test_columns_in_quotes(dialect: str, column: str) -> None:
    model = model_of("2 bins")
    text = fb.export.sql(model, column, dialect=dialect)
    result = _verify(model, text, [0.5], dialect=dialect, score=column)
    assert result.is_same, str(result)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_tables_in_quotes(dialect: str) -> None:
    model, source = model_of("2 bins"), '"the ""rows"""'
    tables = fb.export.sql(model, dialect=dialect, style="join", source=source)
    assert _verify(model, tables, [0.5], dialect=dialect, source=source).is_same


# --------------------------------------------------------------------- what a text says of itself


def saying(text: str, line: str) -> str:
    """A text with one more line at the end of its comment."""
    about, _, rest = text.partition(" */")
    return f"{about}\n   {line} */{rest}"


def plain(text: str) -> str:
    """A text whose comment does not say what it gives."""
    about, _, rest = text.partition(" */")
    return "\n".join(line for line in about.split("\n") if not line.strip().startswith("dialect ")) + " */" + rest


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "polars"])
@pytest.mark.parametrize("what", ALL)
def test_expressions_that_say_what_they_are(what: str, dialect: str) -> None:
    model = model_of("10 bins")
    text = saying(plain(fb.export.sql(model, dialect=dialect, what=what)), f"dialect {dialect}, gives {what}")
    result = _verify(model, text, [0.5])
    assert (result.is_same, result.outputs) == (True, (what,)), str(result)
    assert _verify(model, text, dialect=dialect, what=what).is_same
    with pytest.raises(fb.InputError, match=f"dialect is 'spark', and the export says that its own is '{dialect}'; leave "):
        _verify(model, text, dialect="spark")
    other = "bin" if what == "value" else "value"
    with pytest.raises(fb.InputError, match=f"what is '{other}', and the export says that its own is '{what}'; leave what out"):
        _verify(model, text, what=other)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_queries_that_say_the_name_of_their_column(dialect: str) -> None:
    model = model_of("10 bins")
    script = fb.export.sql(model, dialect=dialect, what="bin", style="join").script
    said = script.count("AS fastbin_bin") or script.count("AS bin")
    assert said, script
    named = plain(script).replace("AS fastbin_bin", "AS evidence").replace("AS bin", "AS evidence")
    result = _verify(model, saying(named, f"dialect {dialect}, gives bin as evidence"), [0.5])
    assert (result.is_same, result.outputs) == (True, ("bin",)), str(result)
    wrong = _verify(model, saying(named, f"dialect {dialect}, gives bin as another"), [0.5])
    assert (wrong.is_same, wrong.is_broken) == (False, True)


@pytest.mark.parametrize("alpha", ["1e", "..", "-", "5.0", "0"])
def test_a_text_that_says_a_level_that_none_has(alpha: str) -> None:
    model = model_of("10 bins")
    text = fb.export.sql(model, dialect="duckdb", what="lower", alpha=0.1)
    assert _verify(model, text).is_same
    result = _verify(model, text.replace("intervals at alpha 0.1", f"intervals at alpha {alpha}"))
    assert result.is_broken
    assert f"It fails: it says that its intervals are at alpha '{alpha}'" in str(result)


def test_a_text_that_says_what_nothing_is() -> None:
    model = model_of("2 bins")
    text = plain(fb.export.sql(model, dialect="sqlite"))
    result = _verify(model, saying(text, "dialect sqlite, gives probability"))
    assert (
        "it says that it gives 'probability', which is none of value, bin, lower, upper, lower_if_rising, upper_if_rising"
        in result.why_not
    )
    assert (result.is_same, result.is_wrong) == (False, True)
    result = _verify(model, saying(text, "dialect access, gives value"))
    assert "no engine for access runs here" in result.why_not
    # Only the comment at the top counts.
    assert _verify(model, f"{text} /*\n   dialect duckdb, gives bin */", dialect="sqlite").is_same


# --------------------------------------------------------------------- exports that give nothing to compare

MODEL = model_of("10 bins")
PLAIN_SET = fb.ModelSet({"north": model_of("2 bins"), "south": MODEL})


def graph_with(properties: dict[str, str] | None = None, **changed: str) -> onnx.ModelProto:
    """The graph of the model with other properties: all of them, or some without the word that they begin with."""
    graph = fb.export.onnx(MODEL)
    kept = properties_of(graph) if properties is None else properties
    del graph.metadata_props[:]
    helper.set_model_props(graph, kept | {f"fastbin.{name}": value for name, value in changed.items()})
    return graph


def broken(export: Any, model: Any = MODEL, **words: Any) -> str:
    """Why an export does not run, which must not pass."""
    result = _verify(model, export, **words)
    assert (result.is_same, result.is_wrong, result.is_broken, result.engine) == (False, True, True, "")
    assert f"It fails: {result.why_not}." in str(result)
    return result.why_not


def test_digests_and_answers_must_both_be_right() -> None:
    """A constant under the digest of the model is wrong, and so are right answers without a digest."""
    text = fb.export.sql(MODEL, "p", dialect="sqlite").partition("CASE")[0] + "0.123"
    assert _verify(MODEL, text, dialect="sqlite").mismatches
    result = _verify(MODEL, SQL.partition("*/")[2], target="sql", dialect="sqlite")
    assert (result.mismatches, result.is_wrong) == ((), True)
    assert "it has no digest" in str(result)


def test_answers_that_are_no_numbers() -> None:
    about = fb.export.sql(MODEL, "p", dialect="sqlite").partition("CASE")[0]
    for dialect in ("sqlite", "duckdb", "polars"):
        about = re.sub("dialect \\w+", f"dialect {dialect}", about)
        assert broken(about + "'high'", dialect=dialect).startswith("it gives ")


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_answers_of_another_type_are_wrong_whatever_their_value(dialect: str) -> None:
    """A fraction became the bin below, a text the number in it, and -1 was taken for NULL."""
    model = model_of("10 bins")
    right = fb.export.sql(model, "p", dialect=dialect, what="bin", style="tree")
    assert _verify(model, right, dialect=dialect, what="bin").is_same
    for place, other in (("THEN 2", "THEN 2.75"), ("ELSE NULL", "ELSE -1")):
        text = right.replace(place, other)
        assert text != right
        result = _verify(model, text, dialect=dialect, what="bin")
        assert result.is_wrong, (place, str(result))
    value = fb.export.sql(model, "p", dialect=dialect)
    about, end, expression = value.partition("*/")
    for wrapped in (f"CAST(({expression}) AS VARCHAR)", f"CAST(({expression}) AS INTEGER)", f"COALESCE(({expression}), 'NaN')"):
        assert _verify(model, about + end + wrapped, dialect=dialect).is_wrong, wrapped


def test_texts_and_graphs_that_are_damaged() -> None:
    assert "holds a NUL" in broken(f"{fb.export.sql(MODEL, 'p', dialect='sqlite')} + '\0'", dialect="sqlite")
    damaged = fb.export.onnx(MODEL).SerializeToString().replace(b"probability", b"probabilit\xff")
    assert "not UTF-8" in broken(damaged)


def test_graphs_that_say_no_output_or_another() -> None:
    kept = {name: said for name, said in properties_of(fb.export.onnx(MODEL)).items() if "output" not in name}
    for few in ({}, kept):
        assert "no property fastbin.output.value" in broken(graph_with(few))
    told = broken(graph_with(kept | {"fastbin.output.values": "probability"}))
    assert told == f"it says that it gives 'values', which is none of {', '.join((*ALL, 'decision'))}"
    assert "onnxruntime says: " in broken(graph_with(**{"output.value": "nothing"}))


def graph_of(node: onnx.NodeProto, kind: int, size: Any, *constants: onnx.TensorProto) -> onnx.ModelProto:
    """A node that gives a probability of this type and size, under the properties of the model."""
    score = helper.make_tensor_value_info("score", TensorProto.DOUBLE, ["n"])
    probability = helper.make_tensor_value_info("probability", kind, [size])
    graph = helper.make_graph([node], "g", [score], [probability], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    helper.set_model_props(made, properties_of(fb.export.onnx(MODEL)))
    return made


def test_graphs_of_other_types_and_lengths() -> None:
    graph = graph_with()
    graph.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT
    assert "onnxruntime says: " in broken(graph)
    single = helper.make_node("Cast", ["score"], ["probability"], to=TensorProto.FLOAT)
    assert broken(graph_of(single, TensorProto.FLOAT, "n")) == "its value is float32, and float64 is expected"
    one = helper.make_tensor("one", TensorProto.DOUBLE, [1], [0.5])
    constant = helper.make_node("Identity", ["one"], ["probability"])
    assert broken(graph_of(constant, TensorProto.DOUBLE, 1, one)).startswith("it gives 1 times value for ")


@pytest.mark.parametrize("model", [MODEL, model_of("10 bins, keys"), PLAIN_SET], ids=["plain", "keys", "set"])
def test_json_of_another_kind_of_model(model: Any) -> None:
    for other in (MODEL, model_of("10 bins, keys"), PLAIN_SET):
        if other is not model:
            assert broken(fb.export.json(other), model) == "it is another model, for which a row is not what it is for this one"


SQL, JSON = fb.export.sql(MODEL, dialect="sqlite"), fb.export.json(MODEL)


@pytest.mark.parametrize(
    ("export", "scores", "words", "error", "message"),
    [
        (3, (), {}, fb.InputTypeError, "export is of type int; pass a text"),
        ("SELECT 1", (), {}, fb.InputError, "export is not a text of fastbin that is known; say target"),
        (JSON, (), {"target": "onnx"}, fb.InputTypeError, "export is a text; an ONNX graph is passed as bytes"),
        (JSON, (), {"target": "wasm"}, fb.InputError, "target is 'wasm'"),
        (JSON, [0.5], {"tie_keys": [2**63]}, fb.InputError, "tie_keys are given, and the model compares none"),
        (JSON, [0.5], {"cells": ["a"]}, fb.InputError, "cells are given, and the model is not a set"),
        (JSON, ["high"], {}, fb.InputTypeError, "scores"),
        (SQL, (), {"what": "prob"}, fb.InputError, "what is 'prob'; choose one of 'value', 'bin', 'lower', 'upper'"),
        (SQL, (), {"dialect": "oracle"}, fb.InputError, "dialect is 'oracle'; choose one of 'duckdb'"),
        (SQL, 0.5, {}, fb.InputTypeError, "scores is 0.5; pass a list or an array of numbers"),
        (SQL, np.float64(0.5), {}, fb.InputTypeError, r"scores is .*0.5\)?; pass a list or an array"),
        (SQL, None, {}, fb.InputTypeError, "scores is None; pass a list or an array of numbers"),
        (SQL, "0.5", {}, fb.InputTypeError, "scores is '0.5'; pass a list"),
        (SQL, (), {"score": 3}, fb.InputTypeError, "score is 3; pass the name as text, as the SQL has it"),
        (SQL, (), {"score": None}, fb.InputTypeError, "score is None; pass the name"),
        (SQL, (), {"score": " "}, fb.InputError, "score is ' '; pass the name"),
        (SQL, (), {"tie_key": 1}, fb.InputTypeError, "tie_key is 1; pass the name"),
        (SQL, (), {"cell": b"c"}, fb.InputTypeError, "cell is b'c'; pass the name"),
        (SQL, (), {"source": None}, fb.InputTypeError, "source is None; pass the name"),
        (SQL, (), {"alpha": 7}, fb.InputError, "alpha is 7"),
        (SQL, (), {"alpha": 0.1}, fb.InputError, "alpha is 0.1, but the export gives no end of an interval; leave it out"),
        ("", (), {"target": "sql"}, fb.InputError, "export is empty; pass what a function of fastbin.export gives"),
        ("\n ", (), {}, fb.InputError, "export is empty; pass"),
        (b"", (), {"target": "onnx"}, fb.InputError, "export is empty; pass"),
    ],
)
def test_arguments(export: Any, scores: Any, words: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        _verify(MODEL, export, scores, **{"dialect": "sqlite", **words})


@pytest.mark.parametrize(
    ("scores", "cells", "message"),
    [
        ([0.5], [3], r"cells\[0\] is 3, and the keys of the set are such as 'away'"),
        ([0.5, 0.6], ["far"], "cells has 1 rows for 2 scores"),
    ],
)
def test_cells_that_are_refused(scores: list[float], cells: list[Any], message: str) -> None:
    with pytest.raises(fb.InputError, match=message):
        _verify(SET, fb.export.json(SET), scores, cells=cells)


def test_no_scores_of_any_form() -> None:
    for nothing in ((), [], np.zeros(0), np.zeros(0, np.float32)):
        assert _verify(MODEL, SQL, nothing, dialect="sqlite").n_given == 0


SMALL = model_of("2 bins")
SMALL_PROGRAMS = {
    "m.h": fb.export.c_source(SMALL, "calibrated"), "M.java": fb.export.java(SMALL, "M"), "m.mjs": fb.export.javascript(SMALL),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_programs_are_run_only_if_that_is_asked_for(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr("subprocess.run", never)
    monkeypatch.setattr("subprocess.Popen", never)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fb.InputError, match=r"export is a program in \w+, which .* pass run_code=True if you trust it"):
        fb.export.verify(SMALL, SMALL_PROGRAMS[name])
    SMALL.save("m.fbm")
    Path(name).write_text(SMALL_PROGRAMS[name], "utf8")
    told = run("verify", "m.fbm", "--against", name, code=2)
    assert "give --run if you trust it" in told.stderr


HOSTILE = {
    "duckdb": [
        "COPY (SELECT 'owned') TO '{file}'", "ATTACH '{file}' AS other", "INSTALL httpfs", "LOAD httpfs",
        "SET lock_configuration = false",
        "SET enable_external_access = true", "CREATE TABLE t AS SELECT * FROM read_text('{secret}')",
        "EXPORT DATABASE '{file}'", "CREATE TABLE t AS SELECT * FROM '{secret}'",
    ],
    "sqlite": ["ATTACH '{file}' AS other", "VACUUM INTO '{file}'", "PRAGMA temp_store_directory = '{folder}'"],
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(("dialect", "statement"), [(dialect, each) for dialect, all_ in HOSTILE.items() for each in all_])
def test_sql_opens_nothing(dialect: str, statement: str, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    secret, file = tmp_path / "secret.csv", tmp_path / "written"
    secret.write_text("a\n1\n", "ascii")
    made = fb.export.sql(SMALL, dialect=dialect, style="join")
    hostile = statement.format(file=file, secret=secret, folder=tmp_path)
    assert fb.export.verify(SMALL, made.script).is_same
    result = fb.export.verify(SMALL, made.script.replace(";\n", f";\n{hostile};\n", 1))
    assert result.is_broken, result
    assert sorted(tmp_path.iterdir()) == [secret]
