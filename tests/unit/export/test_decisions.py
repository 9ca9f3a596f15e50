"""The decision that a model carries is the same everywhere: at, beside and between thresholds and edges."""

from __future__ import annotations

import math
import shutil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from exported import GREATEST, MODELS, TINY, hard_rows, model_of, rows_without_answer
from onnx_graphs import session_of

import fastbin as fb
from fastbin.export.form import Steps, form_of
from fastbin.model import BinnedModel

CURVES = {
    "logistic": {"kind": "smooth", "map": "logistic", "map_parameters": (2.0, -0.5)},
    "linear": {"kind": "linear", "edges": [0.25, 0.75], "values": [0.0, 1.0]},
    "randomised": {"edges": [0.5], "values": [0.25, 0.75], "delta": 0.125},
}


def curve(name: str) -> BinnedModel:
    return fb.BinnedModel.from_parts(**{"edges": [], "values": [], **CURVES[name]})


def decided(model: BinnedModel, above: float, below: float) -> BinnedModel:
    return model.with_decision(SimpleNamespace(accept_above=above, reject_below=below, to_json=lambda: "{}"))


def bands_of(model: BinnedModel) -> list[tuple[float, float]]:
    """Thresholds at edges, one double beside one, at the ends of the range, at zeros, and one, both or none alone."""
    low, high = model.score_range or (-GREATEST, GREATEST)
    places = sorted({*model.edges.tolist(), low, high})
    middle = places[len(places) // 2]
    return [
        (middle, places[len(places) // 3]), (middle, middle), (math.nextafter(middle, -math.inf), places[0]), (high, low),
        (0.0, -0.0), (TINY, -TINY), (math.inf, middle), (middle, -math.inf), (math.inf, -math.inf),
    ]  # fmt: skip


def by_definition(model: BinnedModel, scores: Any) -> list[int]:
    """One comparison after another, of the score as the model takes it."""
    above, below, _ = model._decision
    low, high = model.score_range or (-math.inf, math.inf)
    moved = [min(max(score, low), high) if model.out_of_range == "clip" else score for score in scores]
    return [1 if score > above else -1 if score < below else 0 for score in moved]


def looked_up(steps: Steps, scores: Any, keys: Any) -> list[int]:
    """By the definition of `Steps`, edge after edge."""
    found = []
    for score, key in zip(scores, [0] * len(scores) if keys is None else keys, strict=True):
        moved = score if steps.clip is None else min(max(score, steps.clip[0]), steps.clip[1])
        reached = sum(
            moved > edge or (moved == edge and int(key) >= int(own))
            for edge, own in zip(steps.edges.tolist(), steps.edge_keys.tolist(), strict=True)
        )
        found.append(reached)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_python_compares_scores(name: str) -> None:
    model = model_of(name)
    scores = hard_rows(model, 300).scores
    for above, below in bands_of(model):
        assert decided(model, above, below).decide(scores).tolist() == by_definition(
            decided(model, above, below), scores.tolist()
        )


@pytest.mark.parametrize("name", ["2 bins", "10 bins, keys", "clips at keys", "edges from above", "two resolutions", "logits"])
def test_steps_are_cut_where_the_decision_changes(name: str) -> None:
    model = model_of(name)
    rows = hard_rows(model, 120)
    for above, below in bands_of(model)[:4]:
        made = decided(model, above, below)
        both, alone = (form_of(made, outputs, None).models[0] for outputs in (("value", "bin", "decision"), ("decision",)))
        expected = by_definition(made, rows.scores.tolist())
        assert alone.columns["decision"][looked_up(alone, rows.scores, None)].tolist() == expected
        at = looked_up(both, rows.scores, rows.keys)
        assert both.columns["decision"][at].tolist() == expected
        assert both.columns["value"][at].tolist() == model.predict(rows.scores, tie_keys=rows.keys).tolist()
        assert both.columns["bin"][at].tolist() == model.assign(rows.scores, tie_keys=rows.keys).tolist()
        assert len(alone.edges) <= 2
        assert not alone.needs_key


def verified(model: BinnedModel, text: Any) -> None:
    result = fb.export.verify(model, text, run_code=True)
    assert result.is_same, str(result)
    assert "decision" in result.outputs


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["2 bins", "10 bins, keys", "clips at keys", "subnormal edges"])
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "polars"])
def test_sql(name: str, dialect: str) -> None:
    model = model_of(name)
    for above, below in bands_of(model)[:6]:
        made = decided(model, above, below)
        for style in ("auto", "tree") if dialect == "polars" else ("auto", "join"):
            verified(made, fb.export.sql(made, dialect=dialect, what="decision", style=style))


@pytest.mark.parametrize("name", ["2 bins", "10 bins, keys", "clips at keys", "subnormal edges", "two resolutions"])
def test_onnx(name: str) -> None:
    pytest.importorskip("onnxruntime")
    model = model_of(name)
    for above, below in bands_of(model)[:3]:
        made = decided(model, above, below)
        verified(made, fb.export.onnx(made, outputs=["decision"]))
        verified(made, fb.export.onnx(made, outputs=["value", "lower", "decision"]))


WRITERS = {
    "cc": lambda model, outputs: fb.export.c_source(model, "credit", outputs=outputs),
    "javac": lambda model, outputs: fb.export.java(model, "Credit", outputs=outputs),
    "node": lambda model, outputs: fb.export.javascript(model, outputs=outputs),
}  # fmt: skip


@pytest.mark.parametrize("program", WRITERS)
@pytest.mark.parametrize(("name", "outputs"), [("10 bins, keys", ["decision"]), ("clips", ["value", "bin", "decision"])])
def test_programs(program: str, name: str, outputs: list[str]) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not here")
    model = model_of(name)
    made = decided(model, float(model.edges[-2]), float(model.edges[1]))
    verified(made, WRITERS[program](made, outputs))


@pytest.mark.parametrize("name", CURVES)
def test_models_without_steps_export_it_by_itself(name: str) -> None:
    model = decided(curve(name), 0.625, 0.5)
    verified(model, fb.export.sql(model, dialect="sqlite", what="decision"))
    verified(model, fb.export.onnx(model, outputs=["decision"]))
    if name != "randomised":
        with pytest.raises(fb.InputError, match="whose value comes from a curve; export its decision by itself"):
            fb.export.c_source(model, "f", outputs=["value", "decision"])


def test_rows_without_an_answer_are_not_decided() -> None:
    """The runners of `verify` compare that: NULL, or the 0 that rejects nobody. Here the words say it."""
    model = decided(model_of("10 bins"), 0.6, 0.4)
    header = fb.export.c_source(model, "credit", outputs=["value", "decision"])
    assert "-1 (decision 0) without an answer" in header
    assert "return step < 0 ? 0 : credit_decisions[step];" in header
    assert "NaN (bin -1, decision 0) without an answer" in fb.export.java(model, "Credit", outputs=["value", "bin", "decision"])
    scores = rows_without_answer(model)
    graph = fb.export.onnx(model, outputs=["decision"])
    assert session_of(graph).run(["decision"], {"score": scores})[0].tolist() == [0] * len(scores)


def test_a_wrong_decision_shows() -> None:
    model, other = decided(model_of("10 bins"), 0.6, 0.4), decided(model_of("10 bins"), np.nextafter(0.6, 1.0), 0.4)
    result = fb.export.verify(model, fb.export.sql(other, dialect="sqlite", what="decision"))
    assert not result.is_same
    (mismatch,) = result.mismatches
    assert (mismatch.n_rows, mismatch.expected, mismatch.found) == (1, 1, 0)


def test_what_has_no_decision_is_told() -> None:
    model = model_of("10 bins")
    for call in (
        lambda: fb.export.sql(model, dialect="sqlite", what="decision"), lambda: fb.export.onnx(model, outputs=["decision"]),
        lambda: fb.export.javascript(curve("logistic"), outputs=["decision"]),
    ):  # fmt: skip
        with pytest.raises(fb.InputError, match="model carries no decision; give it one by with_decision"):
            call()
    models = fb.ModelSet({"north": decided(model, 0.6, 0.4)})
    with pytest.raises(fb.InputError, match="is a set, which decides nothing as a whole; the models of a set keep their own"):
        fb.export.sql_set(models, cell="region", dialect="sqlite", what="decision")
    with pytest.raises(fb.InputError, match=r"alpha is .* but no end of an interval is asked for"):
        fb.export.sql(model, dialect="sqlite", what="decision", alpha=0.1)
