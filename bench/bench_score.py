"""Scoring: one score against an empty call and `bisect`, batches against a copy and against NumPy's search."""

from __future__ import annotations

import bisect

import numpy as np
import pytest
from cases import LONG_SCORES, SHORT_SCORES, ScoreCase, rows
from measure import paired

import fastbin as fb
from fastbin._native.model import EmptyCall

N_FIT = 200_000


def _model(shape: str, n_bins: int) -> fb.BinnedModel:
    scores, labels = rows(shape, N_FIT)
    return fb.UniformMassBinning(n_bins).fit(scores, labels).model_


def _searched(model: fb.BinnedModel, scores: np.ndarray) -> np.ndarray:
    return model.values[np.searchsorted(model.edges, scores, side="right")]


@pytest.mark.parametrize("case", LONG_SCORES, ids=lambda case: case.name)
def bench_predict(case: ScoreCase, is_long: bool, benchmark, report) -> None:
    if not is_long and case not in SHORT_SCORES:
        pytest.skip("only with --long")
    model = _model(case.shape, case.n_bins)
    scores = np.array(np.random.default_rng(4).permutation(rows(case.shape, max(case.m, N_FIT))[0])[: case.m])
    out, copy = np.empty(case.m), np.empty(case.m)
    keys = np.random.default_rng(5).integers(0, 2**63, case.m, dtype=np.uint64)
    expected = _searched(model, scores)
    untied = ~np.isin(scores, model.edges)
    assert np.array_equal(model.predict(scores, keys=keys)[untied], expected[untied])
    contestants = {
        "np.copyto": lambda: np.copyto(copy, scores),
        "predict": lambda: model.predict(scores, keys=keys if case.ties else None, seed=1, out=out),
        "searchsorted": lambda: _searched(model, scores),
    }
    result = paired(contestants, baseline="np.copyto", seconds=6 if is_long else 2)
    benchmark.pedantic(model.predict, args=(scores,), kwargs={"out": out, "seed": 1}, rounds=20)
    figures = {
        "ns_per_score": 1e9 * result.seconds["predict"] / case.m,
        "to_copy": result.ratio["predict"],
        "target_to_copy": case.at_most,
        "searchsorted_over_predict": result.seconds["searchsorted"] / result.seconds["predict"],
    }
    benchmark.extra_info.update(figures)
    report(
        predict=case.name + (", keys" if case.ties else ""), **{k: v if v is None else f"{v:.3g}" for k, v in figures.items()}
    )


def bench_predict_ties_against_no_ties(benchmark, report) -> None:
    """What tie keys cost: a model all of whose edges are tied scores, with keys, against the same edges without."""
    model = _model("100 values", 50)
    plain = fb.BinnedModel.from_parts(edges=np.unique(model.edges), values=np.linspace(0, 1, len(np.unique(model.edges)) + 1))
    scores = np.array(rows("100 values", 10**6)[0])
    keys = np.random.default_rng(5).integers(0, 2**63, len(scores), dtype=np.uint64)
    out = np.empty(len(scores))
    result = paired(
        {
            "plain": lambda: plain.predict(scores, keys=keys, out=out),
            "keys": lambda: model.predict(scores, keys=keys, out=out),
        },
        baseline="plain",
    )
    benchmark.pedantic(model.predict, args=(scores,), kwargs={"out": out, "keys": keys}, rounds=20)
    report(predict="heavy ties with keys against none, m = 1e6", ratio=f"{result.ratio['keys']:.3g}", target=1.3)
    benchmark.extra_info["ratio"] = result.ratio["keys"]


def _loop(call, scores: list[float]) -> None:
    for score in scores:
        call(score)


def _bisect_call(model: fb.BinnedModel):
    edges, values, search = model.edges.tolist(), model.values.tolist(), bisect.bisect_right
    return lambda score: values[search(edges, score)]


def bench_predict_one(benchmark, report) -> None:
    """One score from Python, net of the loop that all contestants share."""
    model = _model("uniform", 100)
    scores = rows("uniform", N_FIT)[0][:1000].tolist()
    by_bisect = _bisect_call(model)
    assert [model.predict_one(score) for score in scores] == [by_bisect(score) for score in scores]
    empty = EmptyCall().predict_one

    def nothing() -> None:
        for _score in scores:
            pass

    result = paired(
        {
            "loop": nothing,
            "empty call": lambda: _loop(empty, scores),
            "predict_one": lambda: _loop(model.predict_one, scores),
            "bisect": lambda: _loop(by_bisect, scores),
        },
        baseline="loop",
    )
    net = {name: result.seconds[name] - result.seconds["loop"] for name in result.seconds if name != "loop"}
    benchmark(lambda: _loop(model.predict_one, scores))
    figures = {
        "ns": 1e9 * net["predict_one"] / len(scores),
        "to_empty_call": net["predict_one"] / net["empty call"],
        "bisect_over_it": net["bisect"] / net["predict_one"],
    }
    benchmark.extra_info.update(figures)
    report(predict_one="B = 100", **{name: f"{value:.3g}" for name, value in figures.items()}, targets="1.6, 4")


def bench_predict_one_against_isotonic(benchmark, report) -> None:
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is not installed")
    scores, labels = rows("uniform", N_FIT)
    peer = isotonic.IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
    model = _model("uniform", 100)
    result = paired({"ours": lambda: model.predict_one(0.37), "peer": lambda: peer.predict([0.37])}, baseline="ours")
    benchmark(lambda: peer.predict([0.37]))
    report(predict_one="scikit-learn IsotonicRegression", times_slower=f"{result.ratio['peer']:.4g}", target=1000)
    benchmark.extra_info["times_slower"] = result.ratio["peer"]


@pytest.mark.parametrize(("m", "at_most"), [(1, 250), (16, 400)])
def bench_predict_small(m: int, at_most: int, benchmark, report) -> None:
    """Small batches, beside the cheapest NumPy call of the same size."""
    model = _model("uniform", 100)
    scores, out, other = np.array(rows("uniform", N_FIT)[0][:m]), np.empty(m), np.ones(m)
    assert np.array_equal(model.predict(scores, out=out), _searched(model, scores))
    result = paired(
        {"np.add": lambda: np.add(scores, other, out=out), "predict": lambda: model.predict(scores, out=out)}, baseline="np.add"
    )
    benchmark(lambda: model.predict(scores, out=out))
    figures = {"ns": 1e9 * result.seconds["predict"], "to_np_add": result.ratio["predict"]}
    benchmark.extra_info.update(figures)
    report(predict=f"m = {m}", **{name: f"{value:.3g}" for name, value in figures.items()}, target_ns=at_most)
