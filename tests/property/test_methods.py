"""Every method beside uniform mass is the reference on hard inputs, bit for bit where its numbers are exact."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
import reference
import strategies
from fastbin._fit.rows import check_rows
from fastbin._fit.tally import ExactSums, Tally, tally_rows
from fastbin.binning.isotonic import monotone_model
from fastbin.binning.venn import VennAbers, merge_venn, predict_venn
from fitting import FEWER_BINS, assert_same_model, bare, fit, some_map
from reference import isotonic
from reference.partitions import explicit_edges
from strategies import LAYOUTS, CalibrationData, examples

# Fits with empty bins are the business of some of these tests; test_manners.py is about their warning.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

WEIGHTINGS = ["none", "integer", "float"]


# ------------------------------------------------------------------------------------------------- fixed edges


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=examples(60), deadline=None)
@given(draw=st.data())
def test_fixed_width(weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    n_bins = draw.draw(st.sampled_from([1, 2, 3, 7, 10, 49, 100]), "n_bins")
    fitted = fit(fb.FixedWidthBinning(n_bins), data, draw.draw(st.sampled_from(list(LAYOUTS)), "layout"))
    if fitted is None:
        assert data.n_samples == 0 or not any(data.weights or [1])
        return
    expected = reference.fixed_width(data.scores, data.labels, n_bins, weights=data.weights)
    assert_same_model(fitted.model_, expected)
    assert fitted.empty_bins_.tolist() == [b for b, count in enumerate(expected.counts) if count == 0]
    queries = strategies.queries(data, expected.edges, draw.draw(st.randoms(use_true_random=False)))
    assert fitted.predict(np.array(queries)).tolist() == expected.predict(queries)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=examples(60), deadline=None)
@given(draw=st.data())
def test_explicit_edges(weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting, margins=draw.draw(st.booleans())), "data")
    low = -math.inf if data.score_range is None else 0.0
    held = sorted({score + 0.0 for score in data.scores if score > low})
    edges = sorted(draw.draw(st.lists(st.sampled_from(held), unique=True, max_size=8), "edges")) if held else []
    fitted = fit(fb.ExplicitBinning(edges, score_range=data.score_range), data)
    if fitted is None:
        assert data.n_samples == 0 or not any(data.weights or [1])
        return
    expected = explicit_edges(data.scores, data.labels, edges, weights=data.weights, score_range=data.score_range)
    assert_same_model(fitted.model_, expected)


@pytest.mark.parametrize(
    ("weighting", "shape", "n_bins"), [("none", "hundredths", 6), ("integer", "clusters", 4), ("float", "hundredths", 3)]
)
def test_many_samples_of_fixed_width(weighting: str, shape: str, n_bins: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than one block holds, which are smaller here, and more than are sorted."""
    monkeypatch.setattr("fastbin._fit.tally.BLOCK", 1500)
    monkeypatch.setattr("fastbin._fit.rows.SORT_UP_TO", 1500)
    data = strategies.make(shape, "follow the rank", 4000, 1, weighting)
    fitted = fb.FixedWidthBinning(n_bins).fit(**data.arrays("strided"))
    assert_same_model(fitted.model_, reference.fixed_width(data.scores, data.labels, n_bins, weights=data.weights))


@settings(max_examples=examples(60), deadline=None)
@given(low=st.floats(-1e308, 1e308), high=st.floats(-1e308, 1e308), n_bins=st.integers(2, 60))
def test_edges_of_any_range_are_the_nearest_doubles(low: float, high: float, n_bins: int) -> None:
    if not low < high:
        low, high = high, low
    if low == high:
        return
    exact = [Fraction(low) + (Fraction(high) - Fraction(low)) * i / n_bins for i in range(1, n_bins)]
    expected = sorted({float(edge) for edge in exact} - {low})
    model = fb.FixedWidthBinning(n_bins, score_range=(low, high)).fit([low, high], [0, 1]).model_
    assert model.edges.tolist() == expected


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=examples(30), deadline=None)
@given(draw=st.data())
def test_tallies_add(weighting: str, draw: st.DataObject) -> None:
    """Any division of the rows, added in any order, is the tally of all rows."""
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    partition = fb.FixedWidthBinning(7).fit([0.5], [1]).model_
    part = np.array(draw.draw(st.lists(st.integers(0, 2), min_size=len(data.scores), max_size=len(data.scores)), "part"))
    arrays = data.arrays()

    def tally_of(chosen: np.ndarray) -> Tally:
        if not chosen.any():
            return Tally(*np.zeros((2, 7), np.int64), ExactSums(21) if weighting == "float" else None)
        taken = {name: column[chosen] for name, column in arrays.items()}
        return tally_rows(partition, check_rows(taken["scores"], taken["labels"], taken.get("sample_weight"), (0.0, 1.0)))

    first, second, third = (tally_of(part == i) for i in range(3))
    whole = tally_of(part >= 0)
    assert (first + second) + third == whole
    assert third + (second + first) == whole


# ------------------------------------------------------------------------------------------------- isotonic and Venn


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=examples(60), deadline=None)
@given(draw=st.data())
def test_isotonic(weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting, margins=draw.draw(st.booleans())), "data")
    fitted = fit(
        fb.IsotonicCalibration(score_range=data.score_range), data, draw.draw(st.sampled_from(list(LAYOUTS)), "layout")
    )
    blocks = isotonic.isotonic_blocks(data.scores, data.labels, data.weights)
    if not blocks:
        assert fitted is None
        return
    model = fitted.model_
    knots, values = isotonic.isotonic(data.scores, data.labels, data.weights)
    queries = strategies.queries(data, knots, draw.draw(st.randoms(use_true_random=False)))
    expected = [float(isotonic.isotonic_predict(knots, values, query)) for query in queries]
    if weighting == "float":
        # Means that differ by rounding alone may be pooled or not.
        assert np.allclose(model.predict(np.array(queries)), expected, rtol=1e-13, atol=1e-13)
    else:
        assert model.edges.tolist() == [block[0][0] for block in blocks[1:]]
        assert model.counts.tolist() == [int(sum(weight for *_, weight in block)) for block in blocks]
        assert model.predict(np.array(queries)).tolist() == expected
    assert (np.diff(model.values) > 0).all()
    assert model.n_samples == int(model.counts.sum()) == data.n_samples


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=examples(60), deadline=None)
@given(draw=st.data())
def test_interpolated_isotonic(weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    fitted = fit(fb.IsotonicCalibration(interpolate=True), data)
    knots, values = isotonic.isotonic(data.scores, data.labels, data.weights)
    if not knots:
        assert fitted is None
        return

    def line(score: float) -> Fraction:
        if score <= knots[0] or score >= knots[-1]:
            return values[0] if score <= knots[0] else values[-1]
        right = next(i for i, knot in enumerate(knots) if knot > score)
        share = (Fraction(score) - Fraction(knots[right - 1])) / (Fraction(knots[right]) - Fraction(knots[right - 1]))
        return values[right - 1] + (values[right] - values[right - 1]) * share

    queries = strategies.queries(data, knots, draw.draw(st.randoms(use_true_random=False)))
    expected = np.array([float(line(query)) for query in queries])
    assert np.allclose(fitted.predict(np.array(queries)), expected, rtol=0, atol=1e-12)
    assert fitted.model_.n_samples == data.n_samples


@settings(max_examples=examples(80), deadline=None)
@given(draw=st.data())
def test_ivap(draw: st.DataObject) -> None:
    margins = draw.draw(st.booleans())
    data = draw.draw(strategies.calibration_data(max_size=40, margins=margins), "data")
    fitted = VennAbers(score_range=data.score_range).fit(**data.arrays())
    queries = strategies.queries(data, data.scores[:8], draw.draw(st.randoms(use_true_random=False)))[:12]
    expected = [isotonic.ivap(data.scores, data.labels, query) for query in queries]
    pairs = fitted.predict_venn(np.array(queries))
    assert pairs.tolist() == [[float(p0), float(p1)] for p0, p1 in expected]
    assert fitted.predict(np.array(queries)).tolist() == merge_venn(pairs).tolist()
    merged = [float(isotonic.ivap_merged(p0, p1)) for p0, p1 in expected]
    assert np.allclose(fitted.predict(np.array(queries)), merged, rtol=1e-15, atol=0)


@settings(max_examples=examples(40), deadline=None)
@pytest.mark.filterwarnings(FEWER_BINS)
@given(
    data=strategies.calibration_data(max_size=60),
    scheme=st.sampled_from(["umd", "ums", "fixed-width"]),
    ties=st.sampled_from(["whole", "random"]),
)
def test_venn_of_bins(data: CalibrationData, scheme: str, ties: str) -> None:
    binning: Any = fb.FixedWidthBinning(4) if scheme == "fixed-width" else fb.UniformMassBinning(2, scheme=scheme, ties=ties)
    fitted = fit(binning, data)
    if fitted is None:
        return
    model = fitted.model_
    if model.ties == "whole":
        with pytest.raises(fb.GuaranteeError, match="whole groups of equal scores"):
            predict_venn(model, data.scores)
        return
    bins = model.assign(data.scores, seed=3)
    tallies = list(zip(model.label_sums.tolist(), model.counts.tolist(), strict=True))
    expected = [[float(share) for share in isotonic.venn(*tallies[b])] for b in bins]
    assert predict_venn(model, data.scores, seed=3).tolist() == expected


# ------------------------------------------------------------------------------------------------- monotone values


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=examples(50), deadline=None)
@given(draw=st.data())
def test_monotone_values(weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    fitted = fit(fb.FixedWidthBinning(9), data)
    if fitted is None:
        return
    model, risen = fitted.model_, monotone_model(fitted.model_)
    seen = model.counts if weighting != "float" else model.weight_sums
    filled = np.flatnonzero(seen > 0)
    assert (np.diff(risen.values) >= 0).all()
    expected = isotonic.monotone_values([Fraction(value) for value in model.values[filled]])
    assert np.allclose(risen.values[filled], [float(value) for value in expected], rtol=0, atol=2e-16)
    for name in ("edges", "edge_keys", "counts", "label_sums"):
        assert np.array_equal(getattr(risen, name), getattr(model, name)), name
    assert bare(fb.FixedWidthBinning(9, monotone=True).fit(**data.arrays()).model_) == bare(risen)


# ------------------------------------------------------------------------------------------------- all of them

METHODS = {
    "fixed width": lambda: fb.FixedWidthBinning(7),
    "fixed width, monotone": lambda: fb.FixedWidthBinning(7, monotone=True),
    "fixed width, scaled": lambda: fb.FixedWidthBinning(7, scaler=some_map("beta")),
    "explicit": lambda: fb.ExplicitBinning([0.2, 0.6]),
    "isotonic": lambda: fb.IsotonicCalibration(),
    "interpolated isotonic": lambda: fb.IsotonicCalibration(interpolate=True),
    "scaling-binning": lambda: fb.ScalingBinning(3, scaler="none"),
    "scaling-binning, own map": lambda: fb.ScalingBinning(3),
    "scaling-binning in parts": lambda: fb.ScalingBinning(2, scheme="split"),
    "ivap": lambda: VennAbers(),
}


@pytest.mark.sampled
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("name", list(METHODS))
@settings(max_examples=examples(25), deadline=None)
@given(draw=st.data())
def test_row_order_and_repetition_change_no_byte(name: str, weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(max_size=60, weighting=weighting), "data")
    fitted = fit(METHODS[name](), data)
    order = draw.draw(st.permutations(range(len(data.scores))), "order")
    shuffled = {key: column[order] for key, column in data.arrays().items()}
    if fitted is None:
        with pytest.raises(fb.InputError):
            METHODS[name]().fit(**shuffled)
        return
    model = fitted.model_
    assert METHODS[name]().fit(**shuffled).model_.to_bytes() == model.to_bytes()
    if weighting == "integer":
        scores, labels = (np.repeat(column, data.weights) for column in (data.scores, data.labels))
        assert METHODS[name]().fit(scores, labels).model_.to_bytes() == model.to_bytes()
    assert fb.BinnedModel.from_bytes(model.to_bytes()) == model
    assert [fitted.predict_one(score, 5) for score in data.scores[:5]] == model.predict(
        data.scores[:5], tie_keys=np.full(len(data.scores[:5]), 5, np.uint64)
    ).tolist()


@pytest.mark.parametrize("word", ["platt", "temperature", "beta"])
@settings(max_examples=examples(40), deadline=None)
@given(data=strategies.calibration_data(max_size=60), n_bins=st.sampled_from([1, 2, 5, 10, 100]))
def test_pulled_back_bins_are_bins_of_the_scaled_score(word: str, data: CalibrationData, n_bins: int) -> None:
    scaler = some_map(word)
    model = fb.FixedWidthBinning(n_bins, scaler=scaler).fit(data.scores, data.labels).model_
    assert model.map == scaler.map
    # A bin between two edges is a run of scores whose scaled scores share a bin of equal width.
    queries = sorted({*data.scores, *model.edges, *(math.nextafter(edge, 0.0) for edge in model.edges), 0.0, 1.0})
    scaled = scaler.predict(np.array(queries))
    wanted = np.searchsorted(np.arange(1, n_bins) / n_bins, scaled, side="right")
    found = model.assign(np.array(queries))
    assert (np.diff(found) == (np.diff(wanted) > 0)).all()
