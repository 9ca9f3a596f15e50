"""The name of the event in a model, and how the model came about: parts, bytes, JSON, sets, and what compares them."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from wordings import refuses

import fastbin as fb

ROWS: tuple[list[float], list[int]] = ([0.1, 0.2, 0.6, 0.7, 0.9], [0, 1, 0, 1, 1])
PROVENANCE = {"made_by": [{"calibrator": "Other", "configuration": {"n_bins": 2}}], "version": "7.8.9"}

# A word, beyond ASCII, control characters and NUL, blanks at the ends, the longest.
EVENTS = ["default", "d\xe9faut \u2713", "\x1b[31mred\x00\u202e", " x ", "\U0001f4a5" * 64]


def made(**parts: Any) -> fb.BinnedModel:
    return fb.BinnedModel.from_parts(**{"edges": [0.5], "values": [0.25, 0.75], **parts})


def test_labels_of_another_event_are_refused() -> None:
    scores, words = [0.1, 0.2, 0.6, 0.7], ["good", "bad", "bad", "good"]
    model = fb.ExplicitBinning([0.5]).fit(scores, words, positive="bad").model_
    monitor, stream, moved = fb.online.CalibrationMonitor(model), fb.online.StreamingBinning(model), fb.shift.LabelShift(model)
    for call in (fb.assess.check_certificate, fb.report.assess_model, monitor.update, stream.update, moved.fit):
        given = (scores, words) if call.__name__ in ("update", "fit") else (model, scores, words)
        refuses("InputError positive: is 'good', and the model gives the probability of 'bad'", call, *given, positive="good")
        call(*given, positive="bad")
    likelihood = fb.shift.LabelShift(model, method="likelihood", cuts=[0.3])
    of_source = {"source_scores": scores, "source_labels": words}
    refuses("InputError positive: is 'good'", likelihood.fit, scores, **of_source, positive="good")
    other = fb.online.StreamingBinning(fb.ExplicitBinning([0.5]).fit(scores, words, positive="good"))
    refuses("InputError other: counts the labels of 'good', and this stream those of 'bad'", stream.merge, other)
    stream.merge(fb.online.StreamingBinning([0.5]))  # labels 0 and 1, of which no event is known
    total = fb.online.StreamingBinning([0.5]).merge(stream)
    assert total.partition.event == stream.partition.event == "bad"
    refuses("InputError other: counts the labels of 'good', and this stream those of 'bad'", total.merge, other)
    table = {"p": scores, "y": words}
    refuses("InputError positive", fb.engines.count, table, model, score="p", label="y", positive="good")


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_goes_everywhere_that_the_model_goes(event: str) -> None:
    model = made(event=event, provenance=PROVENANCE)
    assert model.event == event
    for again in (
        fb.BinnedModel.from_bytes(model.to_bytes()),
        fb.export.from_json(fb.export.json(model)),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        model._replace(seed=0),
    ):
        assert again == model
        assert again.event == event
        assert again.provenance == model.provenance


def test_an_unknown_event_has_no_bytes() -> None:
    assert made().event == ""
    assert made().provenance is None
    assert b"EVNT" not in made().to_bytes()
    assert b"PROV" not in made().to_bytes()


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("x" * 257, "InputError event: is *, 257 bytes"),
        ("\xe9" * 129, "InputError event: is *, 258 bytes"),
        ("\ud800", "InputError event: is '\\ud800',"),
        (1, "InputTypeError event"),
        (None, "InputTypeError event"),
    ],
)
def test_events_that_cannot_be(event: Any, message: str) -> None:
    refuses(message, made, event=event)


def test_equality_is_of_all_bytes_and_same_map_of_scoring() -> None:
    model = made(event="default")
    assert model != made()
    assert model != made(event="paid")
    assert model != made(event="default", provenance=PROVENANCE)
    assert model.same_map(made())
    assert model.same_map(made(note="a note", n_samples=7, seed=3))
    for other in (
        made(edges=[0.25]), made(edge_keys=[7]), made(values=[0.25, 0.5]), made(score_range=None), made(delta=0.5),
        made(out_of_range="clip"), made(pairs=[[0.0, 0.5], [0.5, 1.0]]),
    ):  # fmt: skip
        assert not model.same_map(other)
        assert not other.same_map(model)


def test_same_map_of_maps() -> None:
    def platt(slope: float, **parts: Any) -> fb.BinnedModel:
        return made(edges=None, values=None, kind="smooth", map="logistic", map_parameters=(slope, 0.0), **parts)

    assert platt(1.0).same_map(platt(1.0, event="x"))
    assert not platt(1.0).same_map(platt(2.0))
    # The map behind the bins of a step model is evidence of where its edges came from.
    assert made().same_map(made(map="logistic", map_parameters=(1.0, 0.0)))


def test_provenance_is_shown_with_what_the_model_says_itself() -> None:
    model = made(event="default", provenance=PROVENANCE, seed=5, n_samples=9, n_positive=4, fingerprint=77)
    own = {"event": "default", "seed": 5, "n_samples": 9, "n_positive": 4, "fingerprint": 77}
    assert model.provenance == {**PROVENANCE, **own}
    again = made(event="default", provenance=model.provenance, seed=5, n_samples=9, n_positive=4, fingerprint=77)
    assert again == model
    assert b"77" not in model._provenance  # one fact, one place


@pytest.mark.parametrize(
    ("provenance", "message"),
    [
        ({"seed": 1}, "InputError provenance: says seed=1, and the model has 0"),
        ({"event": "x"}, "InputError provenance: says event='x', and the model has ''"),
        ({"a": float("nan")}, "InputError provenance: is not what JSON can hold: Out of range"),
        ({"a": object()}, "InputError provenance: is not what JSON can hold: Object"),
        ({"a": "x" * 70000}, "InputError provenance: is 70008"),
        ("{}", "InputTypeError provenance"),
    ],
)
def test_provenances_that_cannot_be(provenance: Any, message: str) -> None:
    refuses(message, made, provenance=provenance)


@pytest.mark.parametrize(
    "text", [b"no JSON", b"[1, 2]", b"[" * 30000, b"1" * 5000, b'{"a": NaN}', b'{"a": [1e999]}', rb'{"a": "\ud800"}']
)
def test_a_provenance_from_elsewhere_is_shown_as_it_is(text: bytes) -> None:
    model = fb.BinnedModel.from_bytes(made(provenance=text).to_bytes())
    shown = model.provenance
    assert shown is not None
    assert shown["text"] == text.decode()
    json.dumps(shown, allow_nan=False)
    changed = model.with_out_of_range("clip").provenance
    assert changed is not None
    assert changed["made_by"] == [{"text": text.decode()}, {"function": "with_out_of_range"}]


def test_a_change_of_a_model_is_a_step_and_loses_none() -> None:
    scores = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7]
    model = fb.ExplicitBinning(edges=[0.25, 0.5]).fit(scores, [0, 1, 1, 1, 0, 1]).model_
    model = model._replace(event="default", provenance=PROVENANCE)
    changed = fb.monotone_model(model.with_out_of_range("clip"))
    assert changed.event == "default"
    assert changed.provenance is not None
    steps = [{"function": "with_out_of_range"}, {"function": "monotone_model"}]
    assert changed.provenance["made_by"] == PROVENANCE["made_by"] + steps  # type: ignore[operator]
    assert model.with_out_of_range("refuse") == model
    assert made().with_out_of_range("clip").provenance is None  # nothing is known of how it began


def test_sets_have_the_event_that_all_models_have() -> None:
    default, paid, unknown = made(event="default"), made(event="paid"), made()
    assert fb.ModelSet({"a": default, "b": default}).event == "default"
    assert fb.ModelSet({"a": default, "b": paid}).event == ""
    assert fb.ModelSet({"a": default, "b": unknown}).event == ""
    assert fb.ModelSet({"a": unknown, "b": unknown}).event == ""
    assert fb.ModelSet({"a": default}, pool=paid, unknown="pool").event == ""
    assert fb.ModelSet({"a": default, "b": paid})["b"].event == "paid"


def test_a_set_has_a_provenance_of_its_own() -> None:
    model = made(provenance=PROVENANCE, n_samples=3)
    plain = fb.ModelSet({"a": model, "b": made()})
    assert plain.provenance is None
    text = model._provenance
    given = fb.ModelSet._of({"a": model, "b": made()}, kind="given", provenance=text)
    assert given != plain
    assert given.same_map(plain)
    assert plain.same_map(given)
    assert given.provenance == {**PROVENANCE, "event": "", "n_samples": 3}
    assert given["a"].provenance is not None
    for again in (fb.ModelSet.from_bytes(given.to_bytes()), fb.export.from_json(fb.export.json(given))):
        assert again == given
        assert again.provenance == given.provenance


def test_same_map_of_sets() -> None:
    one, other = made(), made(values=[0.25, 0.5])
    models = fb.ModelSet({"a": one, "b": other})
    assert models.same_map(fb.ModelSet({"b": other, "a": one._replace(event="x")}))
    for different in (
        fb.ModelSet({"a": one, "b": one}), fb.ModelSet({"a": one, "c": other}), fb.ModelSet({"a": one}),
        fb.ModelSet({"a": one}, pool=other, pooled_cells=["b"]), fb.ModelSet({"a": one, "b": other}, pool=one, unknown="pool"),
    ):  # fmt: skip
        assert not models.same_map(different)
