"""`verify`: right exports pass, and each kind of wrong one is found, in every target."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported import model_of
from exported_curves import curve_model_of

import fastbin as fb
from fastbin.export.form import digest_of
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
            return fb.export.sql_set(model, "p", cell="c", key=key, dialect=dialect, what=what)
        return fb.export.sql(model, "p", key=key, dialect=dialect, what=what, style=style)

    return write


def models_in(model: Model) -> list[fb.BinnedModel]:
    return [each for _, each in model.numbered] if isinstance(model, fb.ModelSet) else [model]


ALL = ("value", "bin", "lower", "upper")
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
        more = {"key": "k", **({"cell": "c"} if isinstance(model, fb.ModelSet) else {}), **more}
    return _verify(model, write(model) if export is None else export, scores, **{**words, **more})


SET = fb.ModelSet(
    {"north": model_of("10 bins, keys"), "süd": model_of("2 bins"), "it's; --": model_of("clips")},
    pool=model_of("10 bins"), pooled_keys=["far", "away"], unknown="pool",
)  # fmt: skip
INTEGERS = fb.ModelSet({3: model_of("10 bins"), -5: model_of("2 bins, keys"), 2**60: model_of("logits")})


# --------------------------------------------------------------------- what is right


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


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "polars"])
def test_exports_of_sets_are_the_same(name: str) -> None:
    result = verified(SET, name, scores=[0.1, 0.9, 0.3, 2.0], cells=["north", "far", "nowhere", "süd"])
    assert result.is_same, str(result)
    if name != "java":  # compiled once is enough
        assert verified(INTEGERS, name).is_same


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
@pytest.mark.parametrize("model", ["100 bins", "10 bins, keys"])
def test_tables_and_their_query(model: str, dialect: str) -> None:
    tables = sql_of(dialect, "value", style="join")(model_of(model))
    for made in (tables, tables.script):
        assert _verify(model_of(model), made, [0.5], dialect=dialect, key="k").is_same


def test_alpha_as_a_number_of_numpy() -> None:
    model, alpha = model_of("10 bins"), np.float64(0.01)
    assert _verify(model, fb.export.onnx(model, outputs=("lower",), alpha=alpha)).is_same
    assert "intervals at alpha 0.01\n" in fb.export.javascript(model, outputs=("lower",), alpha=alpha)


def test_alpha_of_a_text_is_read() -> None:
    """Of an export at another alpha than the usual one, which its text says."""
    model = model_of("10 bins")
    for what in ("lower", "upper"):
        text = fb.export.sql(model, dialect="sqlite", what=what, alpha=0.01)
        assert _verify(model, text, dialect="sqlite", what=what).is_same
        assert not _verify(model, text, dialect="sqlite", what=what, alpha=0.1).is_same
    for text in (
        fb.export.c_source(model, "p", outputs=("lower",), alpha=0.01),
        fb.export.java(model, "P", outputs=("upper", "bin"), alpha=0.01),
        fb.export.javascript(model, outputs=("value", "upper"), alpha=0.01),
    ):
        assert "intervals at alpha 0.01\n" in text
    assert "intervals at alpha 0.1\n" in fb.export.javascript(model, outputs=("upper",))
    assert "alpha" not in fb.export.c_source(model, "p", outputs=("value", "bin"))


def test_alpha_of_a_graph_is_read() -> None:
    model = model_of("10 bins")
    graph = fb.export.onnx(model, outputs=("lower", "upper"), alpha=0.01)
    assert _verify(model, graph).is_same
    assert [each.output for each in _verify(model, graph, alpha=0.02).mismatches] == ["lower", "upper"]


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
    wrong, before, after = write_curve(other, name), digest_of(other), digest_of(found)
    wrong = wrong.replace(before.encode(), after.encode()) if isinstance(wrong, bytes) else wrong.replace(before, after)
    assert _verify(found, wrong, **words).mismatches


# --------------------------------------------------------------------- what is wrong


def disguised(model: Model, other: Model, name: str) -> Any:
    """The export of another model under the digest of this one."""
    export = TARGETS[name][0](other)
    if isinstance(export, fb.export.SqlTables):
        export = export.script
    before, after = digest_of(other), digest_of(model)
    if isinstance(export, bytes):
        assert before.encode() in export
        return export.replace(before.encode(), after.encode())
    assert before in export
    return export.replace(before, after)


def changed(model: fb.BinnedModel, **parts: Any) -> fb.BinnedModel:
    return model._replace(**parts)


def wrong_models(model: fb.BinnedModel) -> dict[str, fb.BinnedModel]:
    """The least that can be wrong."""
    edges, keys, values = np.array(model.edges), np.array(model.edge_keys), np.array(model.values)
    higher, later, other = edges.copy(), keys.copy(), values.copy()
    higher[4] = np.nextafter(edges[4], 1.0)
    later[4] += np.uint64(1)
    other[2] = np.nextafter(values[2], 1.0)
    return {
        "an edge is the next double": changed(model, edges=higher),
        "a key is the next": changed(model, edge_keys=later),
        "a value is the next double": changed(model, values=other),
        "the range ends one double later": changed(model, score_range=(0.0, np.nextafter(1.0, 2.0))),
        "the range ends one double earlier": changed(model, score_range=(0.0, np.nextafter(1.0, 0.0))),
        "it clips": model.with_out_of_range("clip"),
        "the range begins below 0": changed(model, score_range=(-5e-324, 1.0)),
    }


FAULTS = [
    (name, fault)
    for name in ("js", "onnx", "duckdb", "sqlite", "polars")
    for fault in wrong_models(model_of("10 bins, keys"))
    if name not in ("sqlite", "polars") or not fault.startswith("a value")  # those give bins, and ends of intervals
]


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_the_least_differences_are_found(name: str, fault: str) -> None:
    model = model_of("10 bins, keys")
    result = verified(model, name, disguised(model, wrong_models(model)[fault], name))
    assert result.sha256 == result.found_sha256
    assert result.is_wrong
    assert not result.is_same
    first = result.mismatches[0]
    assert (first.row, first.n_rows > 0) == (-1, True)
    assert "rows differ; the first is a hard score: score " in str(result)


def test_the_least_differences_are_found_in_compiled_programs() -> None:
    model = model_of("10 bins, keys")
    edge = wrong_models(model)["an edge is the next double"]
    result = verified(model, "c", disguised(model, edge, "c"))
    assert {each.output for each in result.mismatches} == set(ALL)
    assert result.mismatches[0].score == model.edges[4]


@pytest.mark.parametrize("name", [name for name in QUICK if name not in ("json", "polars")])
def test_cells_that_are_scored_wrongly_are_found(name: str) -> None:
    swapped = {"north": SET["süd"], "süd": SET["north"], "it's; --": SET["it's; --"]}
    other = fb.ModelSet(swapped, pool=SET.pool, pooled_keys=["far", "away"], unknown="pool")
    refuses = fb.ModelSet(SET.models, pool=SET.pool, pooled_keys=["far", "away"])
    unpooled = fb.ModelSet(SET.models, pool=SET.pool, pooled_keys=["far"], unknown="pool")
    # For a cell that is unknown to one of them, the values of the last and the bins of the second are still right.
    for each in {"duckdb": (other, refuses), "sqlite": (other, unpooled)}.get(name, (other, refuses, unpooled)):
        result = verified(SET, name, disguised(SET, each, name))
        assert result.mismatches, str(result)
        assert result.mismatches[0].cell in (*SET.keys, "no such cell")


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
    assert "It does not run: " in str(result)
    assert result.engine == ""


def test_no_digest_is_told() -> None:
    model = model_of("2 bins")
    text = fb.export.sql(model, dialect="sqlite").partition("*/")[2]
    result = _verify(model, text, target="sql", dialect="sqlite")
    assert result.mismatches == ()
    assert result.is_wrong
    assert "it has no digest" in str(result)


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
    wrong = verified(model, "sqlite", disguised(model, clips, "sqlite"), [0.25, 7.0], keys=[1 << 60] * 2)
    told = json.loads(json.dumps(wrong.to_dict(), allow_nan=False))
    (mismatch,) = told.pop("mismatches")
    assert told["is_same"] is False
    assert (mismatch["row"], mismatch["score"], mismatch["key"]) == (1, 7.0, "1000000000000000")
    assert (mismatch["expected"], mismatch["found"]) == (-1, 9)
    value = verified(model, "duckdb", disguised(model, clips, "duckdb"), [7.0])
    assert value.to_dict()["mismatches"][0]["expected"] is None
    assert "gives" in str(value)


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
    text = fb.export.sql(keyed, key="k", dialect="sqlite")
    assert "say by key" in _verify(keyed, text, dialect="sqlite").why_not
    tables = fb.export.sql_set(SET, cell="c", key="k", dialect="sqlite", source="(SELECT 1)")
    assert "only plain names" in _verify(SET, tables, source="(SELECT 1)", key="k", cell="c").why_not
    script = tables.script.replace("dialect sqlite", "dialect polars")
    assert "Polars has no tables" in _verify(SET, script, key="k", cell="c").why_not


# --------------------------------------------------------------------- words


@targets
def test_texts_tell_what_they_are(name: str) -> None:
    model = model_of("2 bins, keys")
    export = TARGETS[name][0](model)
    target = "sql" if "dialect" in TARGETS[name][1] else name
    assert target_of(export) == target
    assert digest_in(export, target) == digest_of(model)
    assert target_of(b"\x89FBM" if isinstance(export, bytes) else "SELECT 1") in ("onnx", None)


def test_arguments() -> None:
    model = model_of("2 bins")
    text = fb.export.json(model)
    for export, error, message in (
        (3, fb.InputTypeError, "export is of type int; pass a text"),
        ("SELECT 1", fb.InputError, "export is no text of fastbin that is known; say target"),
    ):
        with pytest.raises(error, match=message):
            _verify(model, export)
    with pytest.raises(fb.InputTypeError, match="export is a text; an ONNX graph is passed as bytes"):
        _verify(model, text, target="onnx")
    with pytest.raises(fb.InputError, match="target is 'wasm'"):
        _verify(model, text, target="wasm")
    with pytest.raises(fb.InputError, match="keys are given, and the model compares none"):
        _verify(model, text, [0.5], keys=[2**63])
    with pytest.raises(fb.InputError, match="cells are given, and the model is no set"):
        _verify(model, text, [0.5], cells=["a"])
    with pytest.raises(fb.InputError, match=r"cells\[0\] is 3, and the keys of the set are such as 'away'"):
        _verify(SET, fb.export.json(SET), [0.5], cells=[3])
    with pytest.raises(fb.InputError, match="cells has 1 rows for 2 scores"):
        _verify(SET, fb.export.json(SET), [0.5, 0.6], cells=["far"])
    with pytest.raises(fb.InputTypeError, match="scores"):
        _verify(model, text, ["high"])
