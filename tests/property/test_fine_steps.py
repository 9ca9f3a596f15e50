"""Steps around every score of a small sample, and their certificate, are those of the reference; the rows alone decide."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from property.test_whole_ties import slow

import fastbin as fb
import strategies
from fastbin._base.ranks import FINE_PLACES, MOST_STEPS, has_fine_steps
from fastbin._core.fit import step_ranks
from fastbin._fit.edges import fine_edges
from fastbin.scaling.value_maps import MAPS
from fitting import assert_same_bits, quietly
from reference import fine_steps as reference
from reference.keys import draw_labels
from reference.two_resolutions import SHARE, bin_candidates, edge_bound, edges_between, n_tied, shifts_to_cap
from reference.value_maps import value_steps
from reference.whole_ties import WholeTies, whole_ties
from strategies import CalibrationData, examples

EXAMPLES = examples(30)
HARD = {
    "one row": CalibrationData([0.25], [1]),
    "one row, any score": CalibrationData([0.25], [1], score_range=None),
    "one score": CalibrationData([0.5] * 20, [0, 1] * 10),
    "one score, any": CalibrationData([-3.0] * 20, [0, 1] * 10, score_range=None),
    "one class": CalibrationData([0.1, 0.2, 0.5, 0.7, 0.9], [1] * 5),
    "subnormal": CalibrationData([0.0, 5e-324, 1e-323, 1.5e-323, 2e-323, 1.0] * 3, [0, 0, 1, 0, 1, 1] * 3),
    "subnormal, any": CalibrationData([0.0, 5e-324, 1e-323, 1.5e-323, -5e-324] * 3, [0, 1, 1] * 5, score_range=None),
    "doubles in a row": CalibrationData([0.5, math.nextafter(0.5, 1.0), math.nextafter(0.5, 0.0), 1.0], [0, 1, 0, 1]),
    "the double below zero": CalibrationData([-5e-324], [0], score_range=None),
    "ends of doubles": CalibrationData([-1.7976931348623157e308, 0.0, 1.7976931348623157e308], [0, 1, 1], score_range=None),
    "at places": CalibrationData([reference.logit_place(k) for k in range(0, 193, 8)], [0, 1] * 12 + [1]),
    "zero-inflated": CalibrationData([0.0] * 30 + [i / 10 for i in range(10)], [0] * 30 + [0, 1] * 5),
}


def fitted(calibrator: Any, data: CalibrationData, layout: str = "contiguous", **options: Any) -> fb.BinnedModel | None:
    """The model, or ``None`` where the data are refused."""
    done = quietly(calibrator.fit, **data.arrays(layout), **options)
    return None if done is None else done.model_


def auto_bins(n: int) -> int:
    return min(max(5, min(n // 200, 10)), (n + 1) // 2)


def assert_is_the_reference(data: CalibrationData, n_bins: int | str, options: dict[str, Any]) -> None:
    n_asked = auto_bins(data.n_samples) if isinstance(n_bins, str) else n_bins
    calibrator = fb.CertifiedCalibration(n_bins, score_range=data.score_range, **options)
    model, fit = fitted(calibrator, data), slow(data, n_asked)
    assert (model is None) == (fit is None)
    if model is None or fit is None:
        return
    scores, labels = data.repeated()
    edges = reference.step_edges(scores, fit.edges, data.score_range)
    counts, ones = reference.count_steps(scores, labels, edges)
    ranks = list(range(1, fit.n_samples + 1))
    assert model.scheme == "certified-fine"
    assert model.n_bins_asked == n_asked
    assert_same_bits(model.edges, edges)
    assert_same_bits(model.bin_edges, fit.edges)
    assert not model.edge_keys.any()
    first_step = [0, *(edges.index(edge) + 1 for edge in fit.edges)]
    assert model.first_step.tolist() == first_step
    assert model.counts.tolist() == fit.counts
    assert model.label_sums.tolist() == fit.label_sums
    assert model.n_tied == n_tied(fit, ranks)
    if model.n_tied:
        assert list(map(tuple, model.tie_counts.tolist())) == fit.tie_counts
    if model.has_steps:
        assert model.step_counts.tolist() == counts
    expected = value_steps(
        reference.standing_for([score + 0.0 for score in scores], edges), counts, ones, first_step, fit.counts,
        fit.label_sums, fit.n_samples, score_range=data.score_range, **{"recentre": "none", **options},
    )  # fmt: skip
    assert np.allclose(model.values, expected, rtol=0.0, atol=2e-6)
    assert_bound(model, fit, ranks, edges)


def assert_bound(model: fb.BinnedModel, fit: WholeTies, ranks: list[int], edges: list[float]) -> None:
    rng = Random(len(edges))
    share = SHARE if model.has_steps or model.ties == "whole" else 0.0
    for values in (model.values, np.array([rng.random() for _ in model.values])):
        served = [part.tolist() for part in np.split(values, model.first_step[1:])]
        bounds = edge_bound(fit, served, ranks, 0.1, share=share, steps=edges)
        found = model._replace(values=values).certificate(0.1)
        assert found.epsilon == pytest.approx(min(1.0, max(bound.epsilon for bound in bounds)), abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(draw=st.data())
def test_fits_and_certificates_are_the_reference(draw: st.DataObject) -> None:
    weighting = draw.draw(st.sampled_from(["none", "integer"]))
    data = draw.draw(strategies.calibration_data(max_size=20, weighting=weighting, margins=draw.draw(st.booleans())), "data")
    if not 0 < data.n_samples <= 60:
        return
    n_bins = draw.draw(st.sampled_from(["auto", 1, 2, 4]))
    values = draw.draw(st.sampled_from(["isotonic", "beta"]))
    assert_is_the_reference(data, n_bins, {"values": values, "monotone": draw.draw(st.booleans())})


@settings(max_examples=15, deadline=None)
@given(draw=st.data())
def test_the_cap_is_the_reference(draw: st.DataObject) -> None:
    """Before values that fall are pooled, epsilon keeps the cap where values need not be kept inside (0, 1)."""
    data = draw.draw(strategies.calibration_data(max_size=20, margins=draw.draw(st.booleans())), "data")
    n_bins = draw.draw(st.integers(1, 4))
    options = {"n_bins": n_bins, "values": "isotonic", "monotone": False, "score_range": data.score_range}
    before, model = (fitted(fb.CertifiedCalibration(recentre=r, **options), data) for r in ("james-stein", "cap"))
    fit = slow(data, n_bins)
    if before is None or model is None or fit is None:
        return
    share = SHARE if model.has_steps or model.ties == "whole" else 0.0
    served = [part.tolist() for part in np.split(before.values, before.first_step[1:])]
    ranks = list(range(1, fit.n_samples + 1))
    bounds = edge_bound(fit, served, ranks, 0.1, share=share, steps=before.edges.tolist())
    half, shifts = 0.5 / (fit.n_samples + 1), shifts_to_cap(bounds)
    moved = [min(max(v + shift, half), 1.0 - half) for part, shift in zip(served, shifts, strict=True) for v in part]
    np.testing.assert_allclose(model.values, moved, rtol=0.0, atol=1e-9)
    cap = 1.1 * max((b.interval[1] - b.interval[0] + b.served[1] - b.served[0]) / 2.0 for b in bounds)
    if all(half < v + s < 1.0 - half for part, s in zip(served, shifts, strict=True) for v in part):
        assert model.certificate().epsilon <= cap + 1e-9


@pytest.mark.sampled
@pytest.mark.parametrize("name", HARD)
def test_hard_samples_are_the_reference(name: str) -> None:
    assert_is_the_reference(HARD[name], "auto", {})


@settings(max_examples=EXAMPLES, deadline=None)
@given(draw=st.data())
def test_however_rows_come_the_bytes_are_the_same(draw: st.DataObject) -> None:
    weighting = draw.draw(st.sampled_from(["none", "integer", "float"]))
    data = draw.draw(strategies.calibration_data(max_size=80, weighting=weighting, margins=draw.draw(st.booleans())), "data")
    order = draw.draw(st.permutations(range(len(data.scores))), "order")
    columns = (data.scores, data.labels, data.weights)
    mixed = CalibrationData(
        *([column[i] for i in order] if column else None for column in columns), score_range=data.score_range
    )  # type: ignore[arg-type]
    calibrator = fb.CertifiedCalibration(score_range=data.score_range)
    model = fitted(calibrator, data)
    if model is None:
        assert fitted(calibrator, mixed) is None
        return
    assert has_fine_steps(data.n_samples, auto_bins(data.n_samples)) == (model.scheme == "certified-fine")
    assert ((model.values > 0.0) & (model.values < 1.0)).all()
    for layout in draw.draw(st.sampled_from([("reversed",), ("strided",), ("contiguous",)])):
        same = fitted(calibrator, mixed, layout, n_threads=2)
        assert same is not None
        assert same.to_bytes() == model.to_bytes()
    arrays = list(mixed.arrays().values())
    at = draw.draw(st.integers(0, len(data.scores)))
    batches = quietly(calibrator.fit_batches, [tuple(a[:at] for a in arrays), tuple(a[at:] for a in arrays)]).model_
    assert batches.to_bytes() == model.to_bytes()
    if weighting == "float":
        return
    table = pa.table(dict(zip(["s", "y", "w"][: len(arrays)], arrays, strict=True)))
    weight = "w" if weighting == "integer" else None
    streamed = quietly(fb.engines.fit, table, score="s", label="y", weight=weight, calibrator=calibrator)
    assert streamed.to_bytes() == model.to_bytes()
    if weighting == "none":
        cells = ["a"] * len(mixed.scores)
        segments = quietly(fb.multi.SegmentedBinning(calibrator, min_points=1).fit, *arrays, cells).model_
        assert segments["a"] == model._with_texts(segments["a"].event.encode(), b"")


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    scores=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40, unique=True),
    pick=st.integers(0, 2**32 - 1),
    score_range=st.sampled_from([(0.0, 1.0), (0.0, 2.0), (-1.0, 1.0), None]),
)
@example([0.0, 5e-324, 1e-323], 0, (0.0, 1.0))
@example([k * 5e-324 for k in range(8)], 0, (0.0, 1.0))
@example([0.25, math.nextafter(0.5, 1.0)], 0, (0.0, 1.0))  # one double, without a score, lies between an edge and a place
@example([0.0, 1.0], 0, None)
def test_steps_hold_one_score_each(scores: list[float], pick: int, score_range: Any) -> None:
    ascending = np.sort(np.array(scores) + 0.0)
    ascending = ascending[np.append(True, np.diff(ascending) > 0.0)]
    bin_edges = np.array(sorted(Random(pick).sample(ascending[1:].tolist(), min(2, len(ascending) - 1))))
    edges, standing = fine_edges(ascending, bin_edges, score_range)
    assert (np.diff(edges) > 0.0).all()
    assert (np.diff(standing) > 0.0).all()
    assert np.isin(bin_edges, edges).all()
    np.testing.assert_array_equal(np.searchsorted(edges, standing, side="right"), np.arange(len(standing)))
    assert np.isin(ascending, standing).all()
    assert len(standing) <= len(ascending) + FINE_PLACES + len(bin_edges)
    for low, high in pairwise(ascending.tolist()):
        assert ((edges > low) & (edges <= high)).any()


@settings(max_examples=EXAMPLES, deadline=None)
@given(exponents=st.lists(st.integers(-1000, -30), min_size=2, max_size=20, unique=True), seed=st.integers(0, 2**32 - 1))
def test_scores_next_to_0_and_1_keep_their_order(exponents: list[int], seed: int) -> None:
    """However little the rows tell of probabilities there, AUC loses nothing: as of naive Bayes, whose scores all lie there."""
    low = 2.0 ** np.sort(np.array(exponents, np.float64))
    high = np.sort(1.0 - 2.0 ** np.array([max(exponent, -53) for exponent in exponents], np.float64))
    rng = np.random.default_rng(seed)
    scores = np.concatenate([low, rng.random(30), high])
    model = fb.CertifiedCalibration(seed=0).fit(scores, rng.random(len(scores)) < 0.2 + 0.6 * scores).model_
    for ascending in (low, np.unique(high)):
        assert (np.diff(model.predict(ascending)) > 0.0).all()


def test_edges_of_steps_have_no_negative_zero() -> None:
    edges, _ = fine_edges(np.array([-1.0, 2.5]), np.array([-0.0]), None)
    assert not np.signbit(edges[edges == 0.0]).any()


def test_steps_need_a_score() -> None:
    with pytest.raises(fb.InputError):
        fine_edges(np.empty(0), np.empty(0), (0.0, 1.0))


@pytest.mark.parametrize("n_bins", [1, 2, 5, 10, 100, 340])
def test_sizes_alone_decide(n_bins: int) -> None:
    least = 2 * n_bins - 1
    largest = MOST_STEPS - FINE_PLACES - n_bins + 1
    rng = np.random.default_rng(n_bins)
    for n in {max(largest, least), max(largest + 1, least)}:
        scores = rng.random(n)
        model = fb.CertifiedCalibration(n_bins).fit(scores, rng.random(n) < scores).model_
        assert model.scheme == ("certified-fine" if n <= largest else "certified")
        assert model.n_steps <= MOST_STEPS
    for values in ("mean", "jeffreys"):
        model = fb.CertifiedCalibration(n_bins, values=values).fit(scores[:least], scores[:least] > 0.5).model_
        assert model.scheme == "certified"
    for values in MAPS:
        assert fb.CertifiedCalibration(1, values=values).fit([0.5], [1]).model_.n_steps == 1 + FINE_PLACES


def test_ranks_are_all_while_they_are_few() -> None:
    assert step_ranks(MOST_STEPS, 5, True).tolist() == list(range(1, MOST_STEPS + 1))
    assert step_ranks(5000, 10, True).tolist() == step_ranks(5000, 10).tolist()


@pytest.mark.parametrize("n_more", [150, 2000])
def test_scores_without_labels_place_cuts_and_no_steps(n_more: int) -> None:
    rng = np.random.default_rng(4)
    scores, more = rng.random(100), rng.random(n_more)
    labels = rng.random(100) < scores
    model = fb.CertifiedCalibration(3).fit(scores, labels, unlabelled=more).model_
    pool = whole_ties([*scores.tolist(), *more.tolist()], [0] * (100 + n_more), 3, draw=draw_labels)
    edges = reference.step_edges(scores.tolist(), pool.edges, (0.0, 1.0))
    assert_same_bits(model.edges, edges)
    assert model.scheme == "certified-fine"
    assert model.step_counts.sum() == 100
    np.testing.assert_array_equal(
        model.step_counts + model.unlabelled_counts, np.bincount(model.step(np.append(scores, more)), minlength=model.n_steps)
    )
    ranks = step_ranks(100 + n_more, 3, True).tolist()
    assert bin_candidates(pool, 1, ranks)
    tally = list(zip(model.label_sums.tolist(), model.counts.tolist(), strict=True))
    served = [part.tolist() for part in np.split(model.values, model.first_step[1:])]
    if n_more < 1000:  # the reference counts in fractions
        bounds = edge_bound(pool, served, ranks, 0.1, labelled=tally, steps=edges)
        assert model.certificate().epsilon == pytest.approx(max(bound.epsilon for bound in bounds), abs=1e-9)
    assert len(edges_between(pool, 1, ranks, edges)) == np.diff(model.first_step)[1] - 1
