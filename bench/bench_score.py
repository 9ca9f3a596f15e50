"""Scoring: one score against an empty call and `bisect`, batches against a copy and against NumPy's search."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from functools import partial

import cases
import numpy as np
import pytest
from cases import SCORES, SMALL_BATCHES, TWO_RESOLUTIONS, ScoreCase, one_score, rows
from machine import empty_call, has_avx512
from measure import paired

import fastbin as fb

N_FIT = 200_000


def _model(shape: str, n_bins: int) -> fb.BinnedModel:
    """Bins whose edges divide ties by key, which is the slower way to score."""
    return fb.UniformMassBinning(n_bins, ties="random").fit(*rows(shape, N_FIT)).model_


def _in_baseline_build(model: fb.BinnedModel, monkeypatch: pytest.MonkeyPatch) -> fb.BinnedModel:
    """The same model, scoring by the loops that every processor has: the choice is made when a model is made."""
    with monkeypatch.context() as patch:
        patch.setenv("FASTBIN_CPU", "baseline")
        return fb.BinnedModel.from_bytes(model.to_bytes())


def _searched(model: fb.BinnedModel, scores: np.ndarray) -> np.ndarray:
    return model.values[np.searchsorted(model.edges, scores, side="right")]


def _check(models: list[fb.BinnedModel], scores: np.ndarray, keys: np.ndarray) -> None:
    """The answer before the clock: NumPy's search where no key decides, and every build the same."""
    first, *others = (model.predict(scores, tie_keys=keys) for model in models)
    untied = ~np.isin(scores, models[0].edges)
    assert np.array_equal(first[untied], _searched(models[0], scores)[untied])
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.parametrize("case", SCORES, ids=lambda case: case.name)
def bench_predict(case: ScoreCase, is_long: bool, monkeypatch: pytest.MonkeyPatch, benchmark, report) -> None:
    if not is_long and not case.is_short:
        pytest.skip("only with --long")
    model = _model(case.shape, case.n_bins)
    plain = _in_baseline_build(model, monkeypatch)
    drawn = np.random.default_rng(4).permutation(rows(case.shape, max(case.m, N_FIT))[0])
    scores = drawn[: case.m].astype(case.scores)
    out, copy = np.empty(case.m), np.empty_like(scores)
    keys = np.random.default_rng(5).integers(0, 2**63, case.m, dtype=np.uint64)
    _check([model, plain], scores, keys)
    given = {"tie_keys": keys} if case.has_keys else {"seed": 1}
    contestants = {
        "np.copyto": partial(np.copyto, copy, scores),
        "best": partial(model.predict, scores, out=out, **given),
        "baseline": partial(plain.predict, scores, out=out, **given),
        "searchsorted": partial(_searched, model, scores),
    }
    timed = paired(contestants, seconds=5 if is_long else 1.5)
    report(case.name, cases.SCORE_NS, 1e9 * timed.seconds("best") / case.m)
    for build in ("best", "baseline"):
        report(case.name, cases.PREDICT_TO_COPY[build], timed.ratio(build, to="np.copyto"))
    if has_avx512() and cases.PREDICT_TO_COPY["AVX-512"] in case.targets:
        report(case.name, cases.PREDICT_TO_COPY["AVX-512"], timed.ratio("best", to="np.copyto"))
    report(case.name, cases.SEARCH_TO_PREDICT, timed.ratio("searchsorted", to="best"))
    benchmark.pedantic(contestants["best"], rounds=20)


def bench_predict_heavy_ties(benchmark, report) -> None:
    """What tie keys cost: a model all of whose edges are tied scores, with keys, against the same edges without."""
    model = _model("100 values", 50)
    edges = np.unique(model.edges)
    plain = fb.BinnedModel.from_parts(edges=edges, values=np.linspace(0, 1, len(edges) + 1))
    scores = np.array(rows("100 values", 10**6)[0])
    keys = np.random.default_rng(5).integers(0, 2**63, len(scores), dtype=np.uint64)
    _check([model], scores, keys)
    out = np.empty(len(scores))
    with_keys = partial(model.predict, scores, tie_keys=keys, out=out)
    timed = paired({"none": partial(plain.predict, scores, tie_keys=keys, out=out), "keys": with_keys})
    report(cases.HEAVY_TIES, cases.KEYS_TO_NONE, timed.ratio("keys", to="none"))
    benchmark.pedantic(with_keys, rounds=20)


def _stepped(n_steps: int) -> fb.BinnedModel:
    """Steps of equal mass in ten bins, as a certified model has them."""
    scores = np.sort(rows("uniform", N_FIT)[0])
    return fb.BinnedModel.from_parts(
        edges=scores[np.arange(1, n_steps) * N_FIT // n_steps], values=np.linspace(0, 1, n_steps),
        first_step=np.arange(10) * n_steps // 10, step_counts=np.full(n_steps, N_FIT // n_steps),
    )  # fmt: skip


@pytest.mark.parametrize(("m", "dtype"), TWO_RESOLUTIONS)
def bench_predict_two_resolutions(m: int, dtype: str, benchmark, report) -> None:
    """What finer values cost: 1,000 steps beside 10 of the same scores; and bins, which are the same search and one table."""
    coarse, fine = _stepped(10), _stepped(1000)
    scores = np.random.default_rng(4).permutation(rows("uniform", max(m, N_FIT))[0])[:m].astype(dtype)
    out, bins = np.empty(m), np.empty(m, np.int32)
    for model in (coarse, fine):
        assert np.array_equal(model.predict(scores, out=out), _searched(model, scores))
        assert np.array_equal(model.assign(scores, out=bins), np.searchsorted(model.bin_edges, scores, side="right"))
    contestants = {
        "10 steps": partial(coarse.predict, scores, out=out),
        "1,000 steps": partial(fine.predict, scores, out=out),
        "assign": partial(fine.assign, scores, out=bins),
    }
    timed, case = paired(contestants), TWO_RESOLUTIONS[m, dtype]
    report(case, cases.SCORE_NS, 1e9 * timed.seconds("1,000 steps") / m)
    report(case, cases.STEPS_TO_BINS, timed.ratio("1,000 steps", to="10 steps"))
    report(case, cases.ASSIGN_TO_PREDICT, timed.ratio("assign", to="1,000 steps"))
    benchmark.pedantic(contestants["1,000 steps"], rounds=20)


@pytest.mark.parametrize("m", SMALL_BATCHES)
def bench_predict_small(m: int, benchmark, report) -> None:
    """Small batches, beside the cheapest NumPy call of the same size."""
    model = _model("uniform", 100)
    scores, out, other = np.array(rows("uniform", N_FIT)[0][:m]), np.empty(m), np.ones(m)
    assert np.array_equal(model.predict(scores, out=out), _searched(model, scores))
    predict = partial(model.predict, scores, out=out)
    timed = paired({"np.add": partial(np.add, scores, other, out=out), "predict": predict})
    report(SMALL_BATCHES[m], cases.CALL_NS, 1e9 * timed.seconds("predict"))
    report(SMALL_BATCHES[m], cases.PREDICT_TO_ADD, timed.ratio("predict", to="np.add"))
    benchmark.pedantic(predict, rounds=100, iterations=1000)


def bench_predict_chunks(is_long: bool, benchmark, report) -> None:
    """A column in ten chunks, beside the same scores in one array; the results are made in the type of the scores.

    Chunks lie where their library allocates them, as those of a file do.
    """
    pa, pl = (pytest.importorskip(name, reason=f"{name} is not installed") for name in ("pyarrow", "polars"))
    model, scores = _model("uniform", 100), np.array(rows("uniform", 10**6)[0])
    chunks = [chunk.tolist() for chunk in np.split(scores, 10)]
    columns = {
        "Arrow": pa.chunked_array(chunks, pa.float64()),
        "Polars": pl.concat([pl.Series(chunk) for chunk in chunks], rechunk=False),
    }
    for column in columns.values():
        assert np.array_equal(np.asarray(model.predict(column, seed=1)), model.predict(scores, seed=1))
    contestants = {name: partial(model.predict, column, seed=1) for name, column in {"NumPy": scores, **columns}.items()}
    timed = paired(contestants, seconds=5 if is_long else 2)
    for name, quantity in cases.CHUNKS_TO_ARRAY.items():
        report(cases.IN_CHUNKS, quantity, timed.ratio(name, to="NumPy"))
    benchmark.pedantic(contestants["Arrow"], rounds=20)


def _loop(call: Callable[[float], object], scores: list[float]) -> None:
    for score in scores:
        call(score)


def _nothing(scores: list[float]) -> None:
    for _score in scores:
        pass


def _bisect_call(model: fb.BinnedModel) -> Callable[[float], float]:
    edges, values, search = model.edges.tolist(), model.values.tolist(), bisect.bisect_right
    return lambda score: values[search(edges, score)]


@pytest.mark.parametrize("n_bins", [10, 100, 1000])
def bench_predict_one(n_bins: int, benchmark, report) -> None:
    """One score from Python, net of the loop that all contestants share."""
    model = _model("uniform", n_bins)
    scores = np.setdiff1d(rows("uniform", N_FIT)[0][:1000], model.edges).tolist()
    np.random.default_rng(6).shuffle(scores)
    by_bisect = _bisect_call(model)
    assert [model.predict_one(score) for score in scores] == [by_bisect(score) for score in scores]
    calls = {"empty call": empty_call(), "predict_one": model.predict_one, "bisect": by_bisect}
    loops = {name: partial(_loop, call, scores) for name, call in calls.items()}
    timed = paired({"loop": partial(_nothing, scores), **loops})
    report(one_score(n_bins), cases.SCORE_NS, 1e9 * timed.seconds("predict_one", less="loop") / len(scores))
    report(one_score(n_bins), cases.ONE_TO_EMPTY, timed.ratio("predict_one", to="empty call", less="loop"))
    report(one_score(n_bins), cases.BISECT_TO_ONE, timed.ratio("bisect", to="predict_one", less="loop"))
    benchmark.pedantic(loops["predict_one"], rounds=20)


def bench_predict_one_with_a_key(benchmark, report) -> None:
    """What the key of one score costs, for a model and for a set; keys are Python's integers of 64 bits."""
    model = _model("uniform", 100)
    models = fb.ModelSet(dict.fromkeys(range(1000), model))
    drawn = np.random.default_rng(6)
    scores, cells = drawn.random(1000).tolist(), drawn.integers(0, 1000, 1000).tolist()
    keys = [int(key) for key in drawn.integers(0, 2**64 - 1, 1000, dtype=np.uint64)]
    calls = {
        "plain": (model.predict_one, (scores,)),
        "key": (model.predict_one, (scores, keys)),
        "set": (models.predict_one, (scores, cells)),
        "set and key": (models.predict_one, (scores, cells, keys)),
    }
    loops = {name: partial(_loop_over, call, list(zip(*columns, strict=True))) for name, (call, columns) in calls.items()}
    timed = paired(loops)
    report(cases.one_score(100), cases.KEY_TO_NO_KEY, timed.ratio("key", to="plain"))
    report(cases.one_score(100), cases.KEY_OF_SET_TO_NO_KEY, timed.ratio("set and key", to="set"))
    benchmark.pedantic(loops["key"], rounds=20)


def _loop_over(call: Callable[..., object], rows_of_arguments: list[tuple[object, ...]]) -> None:
    for arguments in rows_of_arguments:
        call(*arguments)


def bench_predict_one_against_isotonic(benchmark, report) -> None:
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is not installed")
    peer = isotonic.IsotonicRegression(out_of_bounds="clip").fit(*rows("uniform", N_FIT))
    model = _model("uniform", 100)
    timed = paired({"ours": partial(model.predict_one, 0.37), "peer": partial(peer.predict, [0.37])})
    report(one_score(100), cases.ISOTONIC_TO_ONE, timed.ratio("peer", to="ours"))
    benchmark.pedantic(peer.predict, args=([0.37],), rounds=100)
