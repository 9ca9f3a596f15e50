"""`verify` of what is no export, or gives nothing that could be compared: told in words, and never taken for the same."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import onnx
import pytest
from exported import model_of
from onnx import TensorProto, helper

import fastbin as fb

_verify = partial(fb.export.verify, run_code=True)
MODEL = model_of("10 bins")
SET = fb.ModelSet({"north": model_of("2 bins"), "south": MODEL})


def graph_with(properties: dict[str, str] | None = None, **changed: str) -> onnx.ModelProto:
    """The graph of the model with other properties: all of them, or some without the word that they begin with."""
    graph = fb.export.onnx(MODEL)
    kept = {each.key: each.value for each in graph.metadata_props} if properties is None else properties
    del graph.metadata_props[:]
    helper.set_model_props(graph, kept | {f"fastbin.{name}": value for name, value in changed.items()})
    return graph


def broken(export: Any, model: Any = MODEL, **words: Any) -> str:
    """Why an export does not run, which must not pass."""
    result = _verify(model, export, **words)
    assert (result.is_same, result.is_wrong, result.is_broken, result.engine) == (False, True, True, "")
    assert f"It does not run: {result.why_not}." in str(result)
    return result.why_not


def test_constants_are_not_the_same() -> None:
    """The comment says the digest of the model, and what follows is a number."""
    text = fb.export.sql(MODEL, "p", dialect="sqlite").partition("CASE")[0] + "0.123"
    with pytest.raises(fb.InputError, match="what is 'prob'; choose one of"):
        _verify(MODEL, text, dialect="sqlite", what="prob")
    assert _verify(MODEL, text, dialect="sqlite").mismatches


def test_answers_that_are_no_numbers() -> None:
    about = fb.export.sql(MODEL, "p", dialect="sqlite").partition("CASE")[0]
    for dialect in ("sqlite", "duckdb", "polars"):
        about = re.sub("dialect \\w+", f"dialect {dialect}", about)
        assert broken(about + "'high'", dialect=dialect).startswith("it gives ")


def test_graphs_that_say_no_output() -> None:
    assert "no property fastbin.output.value" in broken(graph_with({}))
    kept = {each.key: each.value for each in fb.export.onnx(MODEL).metadata_props if "output" not in each.key}
    assert "no property fastbin.output.value" in broken(graph_with(kept))


def test_graphs_that_say_another_output() -> None:
    kept = {each.key: each.value for each in fb.export.onnx(MODEL).metadata_props if "output" not in each.key}
    told = broken(graph_with(kept | {"fastbin.output.values": "probability"}))
    assert told == "it says that it gives 'values', which is none of value, bin, lower, upper"
    assert "onnxruntime says: " in broken(graph_with(**{"output.value": "nothing"}))


def test_graphs_of_other_types() -> None:
    graph = graph_with()
    graph.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT
    assert "onnxruntime says: " in broken(graph)
    # One that runs, and gives single precision.
    cast = helper.make_node("Cast", ["score"], ["probability"], to=TensorProto.FLOAT)
    ends = [
        helper.make_tensor_value_info(name, kind, ["n"])
        for name, kind in (("score", TensorProto.DOUBLE), ("probability", TensorProto.FLOAT))
    ]
    made = helper.make_model(
        helper.make_graph([cast], "g", ends[:1], ends[1:]), opset_imports=[helper.make_opsetid("", 18)], ir_version=8
    )
    helper.set_model_props(made, {each.key: each.value for each in graph.metadata_props})
    assert broken(made) == "its value is float32, and float64 is expected"


def test_graphs_of_other_lengths() -> None:
    one = helper.make_tensor("one", TensorProto.DOUBLE, [1], [0.5])
    ends = [
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, [size]) for name, size in (("score", "n"), ("probability", 1))
    ]
    nodes = [helper.make_node("Identity", ["one"], ["probability"])]
    made = helper.make_model(
        helper.make_graph(nodes, "g", ends[:1], ends[1:], [one]), opset_imports=[helper.make_opsetid("", 18)], ir_version=8
    )
    helper.set_model_props(made, {each.key: each.value for each in fb.export.onnx(MODEL).metadata_props})
    assert broken(made).startswith("it gives 1 times value for ")


@pytest.mark.parametrize("model", [MODEL, model_of("10 bins, keys"), SET], ids=["plain", "keys", "set"])
def test_json_of_another_kind_of_model(model: Any) -> None:
    for other in (MODEL, model_of("10 bins, keys"), SET):
        if other is not model:
            assert broken(fb.export.json(other), model) == "it is another model, for which a row is not what it is for this one"


SQL = fb.export.sql(MODEL, dialect="sqlite")


@pytest.mark.parametrize(
    ("export", "scores", "words", "error", "message"),
    [
        (SQL, 0.5, {}, fb.InputTypeError, "scores is 0.5; pass a list or an array of numbers"),
        (SQL, np.float64(0.5), {}, fb.InputTypeError, r"scores is .*0.5\)?; pass a list or an array"),
        (SQL, None, {}, fb.InputTypeError, "scores is None; pass a list or an array of numbers"),
        (SQL, "0.5", {}, fb.InputTypeError, "scores is '0.5'; pass a list"),
        (SQL, (), {"score": 3}, fb.InputTypeError, "score is 3; pass the name as text, as the SQL has it"),
        (SQL, (), {"score": None}, fb.InputTypeError, "score is None; pass the name"),
        (SQL, (), {"score": " "}, fb.InputError, "score is ' '; pass the name"),
        (SQL, (), {"key": 1}, fb.InputTypeError, "key is 1; pass the name"),
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
        _verify(MODEL, export, scores, dialect="sqlite", **words)


def test_no_scores_of_any_form() -> None:
    for nothing in ((), [], np.zeros(0), np.zeros(0, np.float32)):
        assert _verify(MODEL, SQL, nothing, dialect="sqlite").n_given == 0
