"""A model carries how its samples were drawn, and the decision that it serves."""

from __future__ import annotations

import json
import math
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb


def bands(above: float = 0.75, below: float = 0.25, record: str = '{"delta":0.1}') -> Any:
    return SimpleNamespace(accept_above=above, reject_below=below, to_json=lambda: record)


def made(**changes: Any) -> fb.BinnedModel:
    parts: dict[str, Any] = {"edges": [0.5], "values": [0.2, 0.8], "counts": [4, 6], "label_sums": [1, 5]}
    return fb.BinnedModel.from_parts(**{**parts, **changes})


FULL = made(
    sampling_rate=0.125, odds_ratio=0.125, pool_counts=[4, 60], population_counts=[10, 2**52], decision=bands(),
)  # fmt: skip
DESIGNS = {
    "sampling": made(sampling_rate=0.125, odds_ratio=0.125), "kept-all": made(sampling_rate=1.0),
    "pool": made(pool_counts=[9, 9]), "population": made(population_counts=[4, 6]), "decision": made(decision=bands()),
    "accepts": made(decision=bands(0.5, -math.inf)),
    "rejects": made(decision=bands(math.inf, -0.0)), "neither": made(decision=bands(math.inf, -math.inf)), "all": FULL,
}  # fmt: skip


@pytest.mark.parametrize("name", DESIGNS)
def test_bytes_json_and_pickles_bring_all_of_it_back(name: str) -> None:
    model = DESIGNS[name]
    copies = (
        fb.BinnedModel.from_bytes(model.to_bytes()), fb.export.from_json(fb.export.json(model)),
        pickle.loads(pickle.dumps(model)),
    )  # fmt: skip
    for copy in (*copies, model._replace(seed=0)):
        assert copy == model
        assert copy.to_bytes() == model.to_bytes()
        assert (copy.sampling_rate, copy._decision) == (model.sampling_rate, model._decision)
        for column in ("pool_counts", "population_counts"):
            assert np.array_equal(getattr(copy, column), getattr(model, column))
    assert model != made()
    assert model._replace(seed=1) != model


def test_parts_are_shown() -> None:
    assert FULL.pool_counts.tolist() == [4, 60]
    assert FULL.population_counts.tolist() == [10, 2**52]
    assert FULL.pool_counts.dtype == np.int64
    assert not FULL.pool_counts.flags.writeable
    assert (FULL.sampling_rate, FULL._decision) == (0.125, (0.75, 0.25, b'{"delta":0.1}'))
    assert made().pool_counts is made().population_counts is None
    assert (made().sampling_rate, made()._decision) == (0.0, (0.0, 0.0, b""))
    assert made(pool_counts=np.array([4, 6], np.uint8)).pool_counts.tolist() == [4, 6]


def test_members_of_json() -> None:
    written = json.loads(fb.export.json(FULL))["model"]
    assert (written["sampling_rate"], written["pool_counts"], written["population_counts"]) == (0.125, [4, 60], [10, 2**52])
    assert (written["accept_above"], written["reject_below"], written["decision"]) == (0.75, 0.25, '{"delta":0.1}')
    members = {"sampling_rate", "pool_counts", "population_counts", "accept_above", "reject_below", "decision"}
    assert not members & set(json.loads(fb.export.json(made()))["model"])
    assert members & set(json.loads(fb.export.json(DESIGNS["neither"]))["model"]) == {"decision"}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"sampling_rate": 2.0, "odds_ratio": 2.0}, "InputError: n_samples, n_positive"),
    ({"sampling_rate": -0.5}, "InputError: n_samples, n_positive"),
    ({"sampling_rate": 0.5}, "InputError: n_samples, n_positive"),  # the values were not moved
    ({"sampling_rate": "half"}, "InputTypeError sampling_rate"),
    ({"pool_counts": [4, 5]}, "InputError: a count is negative"),
    ({"pool_counts": [2**53, 6]}, "InputError: a count is negative"),
    ({"pool_counts": [10]}, "InputError pool_counts: has shape (1,)"),
    ({"pool_counts": [4.0, 6.0]}, "InputTypeError pool_counts[0]"),
    ({"population_counts": [-4, 6]}, "InputError: a count is negative"),
    ({"population_counts": [4, 6], "counts": None, "label_sums": None}, "InputError: a count is negative"),
    ({"decision": 0.5}, "InputTypeError decision: is of type float"),
    ({"decision": {"accept_above": 0.5}}, "InputTypeError decision: is of type dict"),
    ({"decision": bands(0.25, 0.75)}, "InputError decision: rejects below 0.75 and accepts above 0.25"),
    ({"decision": bands(math.nan)}, "InputError decision: rejects below 0.25 and accepts above nan"),
    ({"decision": bands(record="x" * 4_194_305)}, "InputError decision: is 4194305 bytes of JSON"),
    ({"decision": bands(math.inf, math.inf)}, "InputError: n_samples, n_positive"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "told"), REFUSED)
def test_impossible_designs_and_decisions_are_refused(changes: dict[str, Any], told: str) -> None:
    refuses(told, made, **changes)


REFUSED_JSON = [
    ({"decision": None}, "model.decision is null"),
    ({"accept_above": None}, "model.accept_above is null; a finite number is expected"),
    ({"accept_above": 0.125}, "model.reject_below is 0.25; a number of at most accept_above, 0.125, is expected"),
    ({"decision": ""}, "model has accept_above or reject_below and no decision"),
    ({"sampling_rate": 1.5}, "model.sampling_rate is 1.5; a number from 0.0 to 1.0 is expected"),
    ({"pool_counts": [4, 5]}, r"model.pool_counts\[1\] is 5; a number from 6 on is expected"),
    ({"population_counts": [3, 6]}, r"model.population_counts\[0\] is 3; a number from 4 on is expected"),
    ({"pool_counts": ["4", 6]}, r"model.pool_counts\[0\] is '4'; an integer"),
    ({"counts": None, "label_sums": None}, "model.counts is null"),
]


@pytest.mark.parametrize(("changes", "told"), REFUSED_JSON)
def test_json_that_contradicts_itself_is_refused(changes: dict[str, Any], told: str) -> None:
    document = json.loads(fb.export.json(FULL))
    document["model"].update(changes)
    with pytest.raises(fb.FormatError, match=told):
        fb.export.from_json(json.dumps(document))


def test_json_of_a_pool_without_a_tally_is_refused() -> None:
    document = json.loads(fb.export.json(DESIGNS["pool"]))
    document["model"] = {name: each for name, each in document["model"].items() if name not in ("counts", "label_sums")}
    with pytest.raises(fb.FormatError, match="a count is negative"):
        fb.export.from_json(json.dumps(document))


# ----------------------------------------------------------------------------------------------------------- deciding


def test_scores_are_compared_with_both_thresholds() -> None:
    scores = np.array([0.0, np.nextafter(0.25, 0), 0.25, 0.5, 0.75, np.nextafter(0.75, 1), 1.0])
    expected = [-1, -1, 0, 0, 0, 1, 1]
    decided = FULL.decide(scores)
    assert decided.dtype == np.int8
    assert decided.tolist() == expected
    assert [FULL.decide_one(score) for score in scores] == expected
    assert FULL.decide(scores.tolist()).tolist() == expected
    many = np.tile(scores, 1000)
    assert FULL.decide(many).tolist() == 1000 * expected
    assert FULL.decide(many[::-1]).tolist() == 1000 * expected[::-1]
    assert FULL.decide(np.zeros(0)).shape == (0,)
    single = np.array([0.75, 0.1], np.float32)
    assert FULL.decide(single).tolist() == [0, -1]


def test_columns_come_back_as_columns() -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    series = FULL.decide(pd.Series([0.9, 0.1], index=[7, 8], name="s"))
    assert series.tolist() == [1, -1]
    assert series.index.tolist() == [7, 8]
    assert series.dtype == np.int8
    assert FULL.decide(pl.Series("s", [0.9, 0.5])).to_list() == [1, 0]
    assert FULL.decide(pa.chunked_array([[0.9], [0.1, 0.5]])).to_pylist() == [1, -1, 0]
    assert FULL.decide(pl.Series("s", [0.9, None]), nan="propagate").to_list() == [1, 0]


def test_scores_that_predict_refuses_are_refused() -> None:
    for scores, told in (([0.5, np.nan], "InputError scores[1]"), ([0.5, 0.5, 1.5], "InputError scores[2]"),
                         ([np.inf], "InputError scores[0]")):  # fmt: skip
        refuses(told, FULL.decide, scores)
        refuses("InputError score", FULL.decide_one, scores[-1])
    assert FULL.decide([0.9, np.nan], nan="propagate").tolist() == [1, 0]
    clipping = FULL.with_out_of_range("clip")
    assert clipping.decide([-5.0, 5.0]).tolist() == [-1, 1]
    other = made(score_range=(0.0, 1.0)).with_out_of_range("clip").with_decision(bands(1.0, 0.0))
    assert other.decide([-5.0, 5.0]).tolist() == [0, 0]
    refuses("InputError: this model carries no decision", made().decide, [0.5])
    refuses("InputError: this model carries no decision", made().decide_one, 0.5)


def test_a_model_is_given_a_decision_and_loses_it() -> None:
    model = made().with_decision(bands(0.6, 0.4))
    assert model._decision[:2] == (0.6, 0.4)
    assert model.same_map(made())
    assert model != made()
    assert model.with_decision(None)._decision == (0.0, 0.0, b"")
    assert model.with_out_of_range("clip")._decision == model._decision
    fitted = fb.UniformMassBinning(2).fit(np.linspace(0, 1, 50), np.arange(50) % 2).model_.with_decision(bands())
    assert fitted.provenance["made_by"][-1] == {"function": "with_decision"}


def test_models_of_a_set_keep_their_own() -> None:
    models = fb.ModelSet({"north": made(decision=bands(0.6)), "south": made()})
    read = fb.ModelSet.from_bytes(models.to_bytes())
    assert read == models
    assert read.models["north"].decide([0.7]).tolist() == [1]
    refuses("InputError: this model carries no decision", read.models["south"].decide, [0.7])


@pytest.mark.parametrize("design", [{"pool_counts": [9, 9]}, {"population_counts": [4, 6]}])
def test_streams_begin_without_any_of_it(design: dict[str, Any]) -> None:
    model = made(scheme="umd", n_samples=11, n_positive=6, **design, decision=bands())
    with pytest.raises(fb.GuaranteeError, match="drawn bin by bin from a pool, or are part of a batch"):
        fb.online.StreamingBinning(model, continue_fit=True)
    stream = fb.online.StreamingBinning(model)
    stream.update([0.1, 0.9], [0, 1])
    counted = stream.model()
    assert counted.pool_counts is counted.population_counts is None
    assert counted._decision == (0.0, 0.0, b"")
