"""Every method beside uniform mass is the reference on hard inputs, bit for bit where its numbers are exact."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
import reference
import strategies
from fastbin.binning.explicit import ExplicitBinning
from fastbin.binning.fixed_width import FixedWidthBinning
from fastbin.binning.isotonic import IsotonicCalibration
from fastbin.binning.monotone import monotone_model
from fastbin.binning.rows import check_rows
from fastbin.binning.scaling_binning import ScalingBinning
from fastbin.binning.tally import BinTally, tally
from fastbin.binning.venn import IVAP, merge_venn, predict_venn
from fastbin.scaling import BetaScaling, PlattScaling, TemperatureScaling
from reference import isotonic
from reference.partitions import explicit_edges
from reference.samples import in_fit_order
from reference.step_model import bin_of
from reference.uniform_mass import boundary_ranks
from strategies import LAYOUTS, CalibrationData

WEIGHTINGS = ["none", "integer", "float"]


def columns_of(data: CalibrationData, layout: str = "contiguous") -> dict[str, Any]:
    arrays = data.arrays(layout)
    arrays.pop("tie_keys", None)
    return arrays


def fit(calibrator: Any, data: CalibrationData, layout: str = "contiguous") -> Any:
    """The fitted calibrator; ``None`` where it refused."""
    try:
        return calibrator.fit(**columns_of(data, layout))
    except fb.InputError:
        return None


def assert_same_model(model: fb.BinnedModel, expected: reference.StepModel) -> None:
    for name in ("edges", "values", "weight_sums", "weighted_label_sums", "weight_square_sums"):
        actual, wanted = getattr(model, name), getattr(expected, name)
        assert (actual is None) == (wanted is None), name
        if wanted is not None:
            assert np.array_equal(actual.view(np.uint64), np.array(wanted, np.float64).view(np.uint64)), name
    for name in ("edge_keys", "counts", "label_sums"):
        assert getattr(model, name).tolist() == getattr(expected, name), name
    for name in ("n_samples", "n_positive", "n_tied", "n_bins", "n_bins_asked"):
        assert getattr(model, name) == getattr(expected, name), name


# ------------------------------------------------------------------------------------------------- fixed edges


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=60, deadline=None)
@given(draw=st.data())
def test_fixed_width(weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    n_bins = draw.draw(st.sampled_from([1, 2, 3, 7, 10, 49, 100]), "n_bins")
    fitted = fit(FixedWidthBinning(n_bins), data, draw.draw(st.sampled_from(list(LAYOUTS)), "layout"))
    if fitted is None:
        assert data.n_samples == 0
        return
    expected = reference.fixed_width(data.scores, data.labels, n_bins, weights=data.weights)
    assert_same_model(fitted.model_, expected)
    assert fitted.empty_bins_.tolist() == [b for b, count in enumerate(expected.counts) if count == 0]
    queries = strategies.queries(data, expected.edges, draw.draw(st.randoms(use_true_random=False)))
    assert fitted.predict(np.array(queries)).tolist() == expected.predict(queries)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=60, deadline=None)
@given(draw=st.data())
def test_explicit_edges(weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting, margins=draw.draw(st.booleans())), "data")
    low = -math.inf if data.score_range is None else 0.0
    held = sorted({score + 0.0 for score in data.scores if score > low})
    edges = sorted(draw.draw(st.lists(st.sampled_from(held), unique=True, max_size=8), "edges")) if held else []
    fitted = fit(ExplicitBinning(edges, score_range=data.score_range), data)
    if fitted is None:
        assert data.n_samples == 0
        return
    expected = explicit_edges(data.scores, data.labels, edges, weights=data.weights, score_range=data.score_range)
    assert_same_model(fitted.model_, expected)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_many_samples_of_fixed_width(weighting: str) -> None:
    """More rows than one block holds."""
    for shape in ("hundredths", "clusters"):
        data = strategies.make(shape, "follow the rank", 150_000, 1, weighting)
        fitted = FixedWidthBinning(100).fit(**columns_of(data, "strided"))
        assert_same_model(fitted.model_, reference.fixed_width(data.scores, data.labels, 100, weights=data.weights))


@settings(max_examples=60, deadline=None)
@given(low=st.floats(-1e308, 1e308), high=st.floats(-1e308, 1e308), n_bins=st.integers(2, 60))
def test_edges_of_any_range_are_the_nearest_doubles(low: float, high: float, n_bins: int) -> None:
    if not low < high:
        low, high = high, low
    if low == high:
        return
    exact = [Fraction(low) + (Fraction(high) - Fraction(low)) * i / n_bins for i in range(1, n_bins)]
    expected = sorted({float(edge) for edge in exact} - {low})
    model = FixedWidthBinning(n_bins, score_range=(low, high)).fit([low, high], [0, 1]).model_
    assert model.edges.tolist() == expected


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=30, deadline=None)
@given(draw=st.data())
def test_tallies_add(weighting: str, draw: st.DataObject) -> None:
    """Any division of the rows, added in any order, is the tally of all rows."""
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    partition = FixedWidthBinning(7).fit([0.5], [1]).model_
    part = np.array(draw.draw(st.lists(st.integers(0, 2), min_size=len(data.scores), max_size=len(data.scores)), "part"))
    arrays = columns_of(data)

    def tally_of(chosen: np.ndarray) -> BinTally:
        if not chosen.any():
            return BinTally.zero(7, weighted=weighting == "float")
        taken = {name: column[chosen] for name, column in arrays.items()}
        return tally(partition, *check_rows(taken["scores"], taken["labels"], taken.get("sample_weight"), (0.0, 1.0)))

    first, second, third = (tally_of(part == i) for i in range(3))
    whole = tally_of(part >= 0)
    assert (first + second) + third == whole
    assert third + (second + first) == whole


# ------------------------------------------------------------------------------------------------- isotonic and Venn


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=100, deadline=None)
@given(draw=st.data())
def test_isotonic(weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting, margins=draw.draw(st.booleans())), "data")
    fitted = fit(IsotonicCalibration(score_range=data.score_range), data, draw.draw(st.sampled_from(list(LAYOUTS)), "layout"))
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
@settings(max_examples=60, deadline=None)
@given(draw=st.data())
def test_interpolated_isotonic(weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    fitted = fit(IsotonicCalibration(interpolate=True), data)
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


@settings(max_examples=150, deadline=None)
@given(draw=st.data())
def test_ivap(draw: st.DataObject) -> None:
    margins = draw.draw(st.booleans())
    data = draw.draw(strategies.calibration_data(max_size=40, margins=margins), "data")
    fitted = IVAP(score_range=data.score_range).fit(**columns_of(data))
    queries = strategies.queries(data, data.scores[:8], draw.draw(st.randoms(use_true_random=False)))[:30]
    expected = [isotonic.ivap(data.scores, data.labels, query) for query in queries]
    pairs = fitted.predict_venn(np.array(queries))
    assert pairs.tolist() == [[float(p0), float(p1)] for p0, p1 in expected]
    assert fitted.predict(np.array(queries)).tolist() == merge_venn(pairs).tolist()
    merged = [float(isotonic.ivap_merged(p0, p1)) for p0, p1 in expected]
    assert np.allclose(fitted.predict(np.array(queries)), merged, rtol=1e-15, atol=0)


@settings(max_examples=40, deadline=None)
@given(data=strategies.calibration_data(max_size=60), scheme=st.sampled_from(["umd", "ums", "fixed-width"]))
def test_venn_of_bins(data: CalibrationData, scheme: str) -> None:
    binning: Any = FixedWidthBinning(4) if scheme == "fixed-width" else fb.UniformMassBinning(2, scheme=scheme)
    fitted = fit(binning, data)
    if fitted is None:
        return
    model = fitted.model_
    bins = model.assign(data.scores, seed=3)
    tallies = list(zip(model.label_sums.tolist(), model.counts.tolist(), strict=True))
    expected = [[float(share) for share in isotonic.venn(*tallies[b])] for b in bins]
    assert predict_venn(model, data.scores, seed=3).tolist() == expected


# ------------------------------------------------------------------------------------------------- monotone values


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=50, deadline=None)
@given(draw=st.data())
def test_monotone_values(weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    fitted = fit(FixedWidthBinning(9), data)
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
    assert FixedWidthBinning(9, monotone=True).fit(**columns_of(data)).model_ == risen


# ------------------------------------------------------------------------------------------------- scaling-binning


def some_scaler(word: str) -> fb.BinnedModel | None:
    """A map that came from other samples."""
    scores, labels = [0.1, 0.3, 0.35, 0.6, 0.8, 0.85, 0.9], [0, 1, 0, 0, 1, 1, 1]
    scalers = {"platt": PlattScaling(), "temperature": TemperatureScaling(), "beta": BetaScaling()}
    return None if word == "none" else scalers[word].fit(scores, labels).model_


@pytest.mark.parametrize("word", ["none", "platt", "temperature", "beta"])
@pytest.mark.parametrize("weighting", ["none", "integer"])
@settings(max_examples=40, deadline=None)
@given(draw=st.data())
def test_double_dipped_scaling_binning(weighting: str, word: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    n_bins = draw.draw(strategies.n_bins_for(data.n_samples), "n_bins")
    seed = draw.draw(strategies.seeds, "seed")
    scaler = some_scaler(word)
    fitted = fit(ScalingBinning(n_bins, scaler="none" if scaler is None else scaler, seed=seed), data)
    uniform_mass = fit(fb.UniformMassBinning(n_bins, seed=seed), data)
    assert (fitted is None) == (uniform_mass is None)
    if fitted is None:
        return
    for name in ("edges", "edge_keys", "counts", "label_sums", "n_samples", "n_positive", "n_tied", "n_bins"):
        assert np.array_equal(getattr(fitted.model_, name), getattr(uniform_mass.model_, name)), name
    scaled = float if scaler is None else scaler.predict_one
    repeats = data.weights or [1] * len(data.scores)
    scores = [score for score, repeat in zip(data.scores, repeats, strict=True) for _ in range(int(repeat))]
    edges, counts, means = reference.scaling_binning(scores, n_bins, scaled, seed)
    assert [(edge, key) for edge, key in zip(fitted.model_.edges, fitted.model_.edge_keys, strict=True)] == edges
    assert fitted.model_.counts.tolist() == counts
    assert fitted.model_.values.tolist() == [float(mean) for mean in means]


@pytest.mark.parametrize("ties", ["random", "upper", "isolate"])
@settings(max_examples=40, deadline=None)
@given(draw=st.data())
def test_weights_of_one_change_no_mean(ties: str, draw: st.DataObject) -> None:
    """Without weights samples are located by rank, with weights by key: two ways to the same means."""
    data = draw.draw(strategies.calibration_data(), "data")
    n_bins = draw.draw(strategies.n_bins_for(data.n_samples), "n_bins")
    scaling = ScalingBinning(n_bins, scaler=some_scaler("beta"), ties=ties, seed=4)
    fitted = fit(scaling, data)
    if fitted is None:
        return
    weighted = ScalingBinning(n_bins, scaler=some_scaler("beta"), ties=ties, seed=4)
    weighted.fit(data.scores, data.labels, sample_weight=np.ones(len(data.scores)))
    assert weighted.model_.counts.tolist() == fitted.model_.counts.tolist()
    assert np.allclose(weighted.model_.values, fitted.model_.values, rtol=3e-16, atol=0)


@pytest.mark.parametrize("ties", ["random", "upper"])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@settings(max_examples=40, deadline=None)
@given(draw=st.data())
def test_scaling_binning_in_parts(weighting: str, ties: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    n_bins, seed = draw.draw(st.integers(1, 6), "n_bins"), draw.draw(strategies.seeds, "seed")
    scaler = some_scaler("platt")
    scaling = ScalingBinning(n_bins, scheme="split", scaler=scaler, split=(5, 2, 3), ties=ties, seed=seed)
    fitted = fit(scaling, data)
    samples = in_fit_order(data.scores, data.labels, seed, data.weights)
    n_edges = math.floor(Fraction(2, 5) * len(samples))  # the map came fitted, so there is no first part
    if n_edges < n_bins:
        assert fitted is None
        return
    chosen = sorted(range(len(samples)), key=lambda i: (samples[i].split_key, samples[i].score, samples[i].j))
    second = [samples[i] for i in sorted(chosen[:n_edges])]
    third = [samples[i] for i in sorted(chosen[n_edges:])]
    ranks = [-(-j * n_edges // n_bins) for j in range(1, n_bins)]
    edges = [(second[k - 1].score, 0 if ties == "upper" else second[k - 1].key) for k in ranks]
    edges = sorted({edge for edge in edges if edge > (0.0, 0)})
    model = fitted.model_
    assert list(zip(model.edges.tolist(), model.edge_keys.tolist(), strict=True)) == edges
    values = []
    for b in range(len(edges) + 1):
        inside = [sample for sample in third if bin_of(edges, sample.score, sample.key) == b]
        assert model.counts[b] == len(inside)
        assert model.label_sums[b] == sum(sample.label for sample in inside)
        scaled = [scaler.predict_one(sample.score) for sample in inside]
        if weighting == "float":
            terms = [sample.weight * one for sample, one in zip(inside, scaled, strict=True)]
            total = math.fsum(sample.weight for sample in inside)
            values.append(math.fsum(terms) / total if total > 0 else 0.5)
        else:
            values.append(float(sum(map(Fraction, scaled)) / len(inside)) if inside else 0.5)
    assert model.values.tolist() == values
    assert model.n_samples == len(samples)


def test_scaling_binning_in_parts_is_that_of_the_scaled_line() -> None:
    """Bins on the line of the scores are the bins on the scaled line: Kumar, Liang & Ma as they put it."""
    data = strategies.make("uniform", "follow the rank", 400, 1)
    scaler = some_scaler("beta")
    model = ScalingBinning(8, scheme="split", scaler=scaler, seed=9).fit(data.scores, data.labels).model_
    samples = in_fit_order(data.scores, data.labels, 9)
    chosen = [sample.score for sample in sorted(samples, key=lambda sample: (sample.split_key, sample.score, sample.j))]
    scaled = [scaler.predict_one(score) for score in chosen]
    edges, counts, means = reference.scaling_binning_split(scaled[:200], scaled[200:], 8)
    assert [scaler.predict_one(edge) for edge in model.edges] == edges
    assert model.counts.tolist() == counts
    assert model.values.tolist() == [float(mean) for mean in means]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_many_samples_of_scaling_binning(weighting: str) -> None:
    """Sizes at which the fit counts in cells, more rows than one block holds, and heavy ties."""
    data = strategies.make("tree", "follow the rank", 150_000, 2, weighting)
    scaler = some_scaler("platt")
    model = ScalingBinning(25, scaler=scaler).fit(**columns_of(data, "strided")).model_
    expected = fb.UniformMassBinning(25).fit(**columns_of(data)).model_
    assert model.counts.tolist() == expected.counts.tolist()
    if weighting == "none":
        edges, counts, means = reference.scaling_binning(data.scores, 25, scaler.predict_one, 0)
        assert model.counts.tolist() == counts
        assert model.values.tolist() == [float(mean) for mean in means]
        assert len(edges) == 24
        assert boundary_ranks(150_000, 25)[0] == 6001
    if weighting != "float":
        assert (np.diff(model.values) >= 0).all()


# ------------------------------------------------------------------------------------------------- smooth maps

SMOOTH = {
    "platt": lambda: PlattScaling(),
    "platt, plain": lambda: PlattScaling(smooth_labels=False),
    "platt on logits": lambda: PlattScaling(feature="logit"),
    "temperature": lambda: TemperatureScaling(),
    "beta abm": lambda: BetaScaling(),
    "beta am": lambda: BetaScaling(parameters="am"),
    "beta ab": lambda: BetaScaling(parameters="ab"),
}


def exponent(model: fb.BinnedModel, score: float, parameters: list[float]) -> float:
    if model.map[0] == "logistic":
        return parameters[0] * score + parameters[1]
    return parameters[0] * math.log(score) - parameters[1] * math.log(1.0 - score) + parameters[2]


def loss(name: str, model: fb.BinnedModel, data: CalibrationData, parameters: list[float]) -> float:
    """The loss that the map should have made least, written out; scores of 0 and 1 do not count."""
    weights = data.weights or [1.0] * len(data.scores)
    n_ones = sum(w for w, label in zip(weights, data.labels, strict=True) if label)
    n_zeros = sum(w for w, label in zip(weights, data.labels, strict=True) if not label)
    smooth = name in ("platt", "platt on logits")
    targets = {1: (n_ones + 1) / (n_ones + 2), 0: 1 / (n_zeros + 2)} if smooth else {1: 1.0, 0: 0.0}
    terms = []
    for score, label, weight in zip(data.scores, data.labels, weights, strict=True):
        if model.map[0] == "beta" and score in (0.0, 1.0):
            continue
        z = exponent(model, score, parameters)
        softplus = max(z, 0.0) + math.log1p(math.exp(-abs(z)))
        terms.append(weight * (softplus - targets[label] * z))
    return math.fsum(terms)


# The directions in which the parameters of a family may move.
DIRECTIONS = {
    "platt": [(1, 0), (0, 1)],
    "platt, plain": [(1, 0), (0, 1)],
    "platt on logits": [(1, 1, 0), (0, 0, 1)],
    "temperature": [(1, 1, 0)],
    "beta abm": [(1, 0, 0), (0, 1, 0), (0, 0, 1)],
    "beta am": [(1, 1, 0), (0, 0, 1)],
    "beta ab": [(1, 0, math.log(2)), (0, 1, -math.log(2))],
}


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("name", list(SMOOTH))
@settings(max_examples=40, deadline=None)
@given(draw=st.data())
def test_no_other_smooth_map_is_more_likely(name: str, weighting: str, draw: st.DataObject) -> None:
    """The loss is convex: where no small step along a free direction lowers it, it is least."""
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    if weighting == "float":
        # Beside a weight of 1e16 the others lie below the last digit of the likelihood.
        data = replace(data, weights=[min(weight, 100.0) for weight in data.weights or []])
    fitted = fit(SMOOTH[name](), data)
    if fitted is None:
        return
    model = fitted.model_
    parameters = list(model.map[1][: 2 if model.map[0] == "logistic" else 3])
    least = loss(name, model, data, parameters)
    for direction in DIRECTIONS[name]:
        for step in (1e-4, -1e-4, 1e-2, -1e-2):
            size = max(1.0, max(abs(p) for p in parameters))
            moved = [p + step * size * d for p, d in zip(parameters, direction, strict=True)]
            if name.startswith(("beta", "temperature")) and min(moved[:2]) < 0:
                continue
            assert loss(name, model, data, moved) >= least * (1 - 1e-9) - 1e-12


@pytest.mark.parametrize("name", list(SMOOTH))
@settings(max_examples=30, deadline=None)
@given(draw=st.data())
def test_smooth_maps_depend_on_the_samples_alone(name: str, draw: st.DataObject) -> None:
    """Row order changes no byte; frequencies are repetition, and the same as real weights but for what the model counts."""
    data = draw.draw(strategies.calibration_data(max_size=60, weighting="integer"), "data")
    fitted = fit(SMOOTH[name](), data)
    if fitted is None:
        return
    order = draw.draw(st.permutations(range(len(data.scores))), "order")
    shuffled = {key: column[order] for key, column in columns_of(data).items()}
    assert SMOOTH[name]().fit(**shuffled).model_ == fitted.model_
    scores, labels = (np.repeat(column, data.weights) for column in (data.scores, data.labels))
    assert SMOOTH[name]().fit(scores, labels).model_ == fitted.model_
    real = SMOOTH[name]().fit(data.scores, data.labels, sample_weight=np.array(data.weights, np.float64))
    assert real.model_.map == fitted.model_.map


@settings(max_examples=50, deadline=None)
@given(
    slopes=st.tuples(st.floats(0, 50), st.floats(0, 50)),
    constant=st.floats(-20, 20),
    scores=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30),
)
def test_c_evaluates_the_maps_as_numpy_does(slopes: tuple[float, float], constant: float, scores: list[float]) -> None:
    column = np.array(scores)
    logistic = fb.BinnedModel.from_parts(
        edges=None, values=None, kind="smooth", scheme="platt", map="logistic", map_parameters=(slopes[0], constant)
    )
    assert np.allclose(logistic.predict(column), 1 / (1 + np.exp(-(slopes[0] * column + constant))), rtol=1e-13, atol=0)
    beta = fb.BinnedModel.from_parts(
        edges=None, values=None, kind="smooth", scheme="beta", map="beta", map_parameters=(*slopes, constant)
    )
    inside = column[(column > 0) & (column < 1)]
    with np.errstate(over="ignore"):
        expected = 1 / (1 + np.exp(-(slopes[0] * np.log(inside) - slopes[1] * np.log(1 - inside) + constant)))
    assert np.allclose(beta.predict(inside), expected, rtol=1e-10, atol=1e-300)
    if min(slopes) > 0:
        assert beta.predict([0.0, 1.0]).tolist() == [0.0, 1.0]


# ------------------------------------------------------------------------------------------------- all of them

METHODS = {
    "fixed width": lambda: FixedWidthBinning(7),
    "fixed width, monotone": lambda: FixedWidthBinning(7, monotone=True),
    "fixed width, scaled": lambda: FixedWidthBinning(7, scaler=some_scaler("beta")),
    "explicit": lambda: ExplicitBinning([0.2, 0.6]),
    "isotonic": lambda: IsotonicCalibration(),
    "interpolated isotonic": lambda: IsotonicCalibration(interpolate=True),
    "scaling-binning": lambda: ScalingBinning(3, scaler="none"),
    "scaling-binning, own map": lambda: ScalingBinning(3),
    "scaling-binning in parts": lambda: ScalingBinning(2, scheme="split"),
    "ivap": lambda: IVAP(),
}


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("name", list(METHODS))
@settings(max_examples=25, deadline=None)
@given(draw=st.data())
def test_row_order_and_repetition_change_no_byte(name: str, weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(max_size=60, weighting=weighting), "data")
    fitted = fit(METHODS[name](), data)
    order = draw.draw(st.permutations(range(len(data.scores))), "order")
    shuffled = {key: column[order] for key, column in columns_of(data).items()}
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
        data.scores[:5], keys=np.full(len(data.scores[:5]), 5, np.uint64)
    ).tolist()


@pytest.mark.parametrize("word", ["platt", "temperature", "beta"])
@settings(max_examples=40, deadline=None)
@given(data=strategies.calibration_data(max_size=60), n_bins=st.sampled_from([1, 2, 5, 10, 100]))
def test_pulled_back_bins_are_bins_of_the_scaled_score(word: str, data: CalibrationData, n_bins: int) -> None:
    scaler = some_scaler(word)
    model = FixedWidthBinning(n_bins, scaler=scaler).fit(data.scores, data.labels).model_
    assert model.map == scaler.map
    # A bin between two edges is a run of scores whose scaled scores share a bin of equal width.
    queries = sorted({*data.scores, *model.edges, *(math.nextafter(edge, 0.0) for edge in model.edges), 0.0, 1.0})
    scaled = scaler.predict(np.array(queries))
    wanted = np.searchsorted(np.arange(1, n_bins) / n_bins, scaled, side="right")
    found = model.assign(np.array(queries))
    assert (np.diff(found) == (np.diff(wanted) > 0)).all()
