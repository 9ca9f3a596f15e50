"""Scaling-binning is the reference on hard inputs, and shares its bins with uniform mass."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
import reference
import strategies
from fitting import FEWER_BINS, fit, some_map
from reference.samples import in_fit_order
from reference.step_model import bin_of
from reference.uniform_mass import boundary_ranks
from strategies import CalibrationData, examples

WEIGHTINGS = ["none", "integer", "float"]


@pytest.mark.sampled
@pytest.mark.filterwarnings(FEWER_BINS)
@pytest.mark.parametrize("word", ["none", "platt", "temperature", "beta"])
@pytest.mark.parametrize(
    ("ties", "weighting", "keyed"),
    [
        ("random", "none", False),
        ("random", "none", True),
        ("random", "integer", False),
        *(("whole", w, False) for w in WEIGHTINGS),
    ],
)
@settings(max_examples=examples(40), deadline=None)
@given(draw=st.data())
def test_double_dipped_scaling_binning(ties: str, weighting: str, keyed: bool, word: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting, keyed=keyed), "data")
    n_bins = draw.draw(strategies.n_bins_for(data.n_samples), "n_bins")
    seed = draw.draw(strategies.seeds, "seed")
    scaler = some_map(word)
    fitted = fit(fb.ScalingBinning(n_bins, scaler="none" if scaler is None else scaler, ties=ties, seed=seed), data)
    uniform_mass = fit(fb.UniformMassBinning(n_bins, ties=ties, seed=seed), data)
    assert (fitted is None) == (uniform_mass is None)
    if fitted is None:
        return
    for name in ("edges", "edge_keys", "n_samples", "n_positive", "n_tied", "n_bins", "fingerprint"):
        assert np.array_equal(getattr(fitted.model_, name), getattr(uniform_mass.model_, name)), name
    # Between whole groups all samples are averaged, and so counted.
    r, _, y = (0, 0, 0) if uniform_mass.model_.tie_counts is None else uniform_mass.model_.tie_counts.T
    assert np.array_equal(fitted.model_.counts, uniform_mass.model_.counts + (np.asarray(r) > 0))
    assert np.array_equal(fitted.model_.label_sums, uniform_mass.model_.label_sums + y)
    for name in ("ties", "tie_counts", "edges_share", "weight_sums", "weighted_label_sums", "weight_square_sums"):
        assert str(getattr(fitted.model_, name)) == str(getattr(uniform_mass.model_, name)), name
    scaled = float if scaler is None else scaler.predict_one
    if ties == "whole" and (weighting == "float" or uniform_mass.model_.n_tied):
        assert fitted.model_.values.tolist() == whole_means(data, n_bins, seed, scaled)
        return
    scores, labels = data.repeated()
    edges, counts, means = reference.scaling_binning(scores, n_bins, scaled, seed, data.keys, labels)
    pairs = list(zip(fitted.model_.edges, fitted.model_.edge_keys, strict=True))
    assert pairs == [(edge, 0 if ties == "whole" else key) for edge, key in edges]
    assert fitted.model_.counts.tolist() == counts
    assert fitted.model_.values.tolist() == [float(mean) for mean in means]


def whole_means(data: CalibrationData, n_bins: int, seed: int, scaled: Callable[[float], float]) -> list[float]:
    """Means of scaled scores over all samples of each bin; without ties the boundaries of a weighted fit are left out."""
    given = {"seed": seed, "weights": data.weights}
    bins = reference.uniform_mass(data.scores, data.labels, n_bins, "umd", "whole", **given)
    kept = [i for i, score in enumerate(data.scores) if bins.n_tied or score not in bins.edges]
    rows = [(bins.assign_one(data.scores[i], 0), scaled(data.scores[i]), (data.weights or [1] * (i + 1))[i]) for i in kept]
    values = []
    for b in range(bins.n_bins):
        inside = [(value, weight) for bin_number, value, weight in rows if bin_number == b]
        if bins.weight_sums is None:
            total = sum(weight for _, weight in inside)
            values.append(float(sum(Fraction(value) * weight for value, weight in inside) / total))
        else:
            total = math.fsum(weight for _, weight in inside)
            values.append(math.fsum(value * weight for value, weight in inside) / total if total > 0 else 0.5)
    return values


@pytest.mark.sampled
@pytest.mark.parametrize(("ties", "keyed"), [("random", False), ("random", True), ("upper", False), ("upper", True)])
@settings(max_examples=examples(40), deadline=None)
@given(draw=st.data())
def test_weights_of_one_change_no_mean(ties: str, keyed: bool, draw: st.DataObject) -> None:
    """Without weights samples are located by rank, with weights by key: two ways to the same means."""
    data = draw.draw(strategies.calibration_data(keyed=keyed), "data")
    n_bins = draw.draw(strategies.n_bins_for(data.n_samples), "n_bins")
    scaling = fb.ScalingBinning(n_bins, scaler=some_map("beta"), ties=ties, seed=4)
    fitted = fit(scaling, data)
    if fitted is None:
        return
    weighted = fb.ScalingBinning(n_bins, scaler=some_map("beta"), ties=ties, seed=4)
    weighted.fit(**data.arrays(), sample_weight=np.ones(len(data.scores)))
    assert weighted.model_.counts.tolist() == fitted.model_.counts.tolist()
    assert np.allclose(weighted.model_.values, fitted.model_.values, rtol=3e-16, atol=0)


@pytest.mark.sampled
@pytest.mark.filterwarnings(FEWER_BINS)
@pytest.mark.parametrize(
    ("ties", "weighting", "keyed"),
    [*((ties, weighting, False) for ties in ("whole", "random", "upper") for weighting in WEIGHTINGS),
     ("random", "none", True), ("upper", "none", True)],
)  # fmt: skip
@settings(max_examples=examples(40), deadline=None)
@given(draw=st.data())
def test_scaling_binning_in_parts(ties: str, weighting: str, keyed: bool, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting, keyed=keyed), "data")
    n_bins, seed = draw.draw(st.integers(1, 6), "n_bins"), draw.draw(strategies.seeds, "seed")
    scaler = some_map("platt")
    scaling = fb.ScalingBinning(n_bins, scheme="split", scaler=scaler, split=(5, 2, 3), ties=ties, seed=seed)
    fitted = fit(scaling, data)
    samples = in_fit_order(data.scores, data.labels, seed, data.weights, data.keys)
    n_edges = math.floor(Fraction(2, 5) * len(samples))  # the map came fitted, so the first part is empty
    if n_edges < n_bins:
        assert fitted is None
        return
    chosen = sorted(range(len(samples)), key=lambda i: (samples[i].split_key, samples[i].score, samples[i].j))
    second = [samples[i] for i in sorted(chosen[:n_edges])]
    third = [samples[i] for i in sorted(chosen[n_edges:])]
    ranks = [-(-j * n_edges // n_bins) for j in range(1, n_bins)]
    edges = [(second[k - 1].score, second[k - 1].key if ties == "random" else 0) for k in ranks]
    edges = sorted({edge for edge in edges if edge > (0.0, 0)})
    if ties == "whole":  # an edge that leaves a bin empty is not one
        filled = sorted({bin_of(edges, sample.score, sample.key) for sample in third})
        edges = [edges[b - 1] for b in filled[1:]]
    model = fitted.model_
    assert model.ties == ("random" if ties == "random" else "upper")
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
    scaler = some_map("beta")
    model = fb.ScalingBinning(8, scheme="split", scaler=scaler, seed=9).fit(data.scores, data.labels).model_
    samples = in_fit_order(data.scores, data.labels, 9)
    chosen = [sample.score for sample in sorted(samples, key=lambda sample: (sample.split_key, sample.score, sample.j))]
    scaled = [scaler.predict_one(score) for score in chosen]
    edges, counts, means = reference.scaling_binning_split(scaled[:200], scaled[200:], 8)
    assert [scaler.predict_one(edge) for edge in model.edges] == edges
    assert model.counts.tolist() == counts
    assert model.values.tolist() == [float(mean) for mean in means]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_many_samples_of_scaling_binning(weighting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that counts in cells, more rows than one block holds, which are smaller here, and heavy ties."""
    monkeypatch.setattr("fastbin._fit.tally.BLOCK", 5000)
    monkeypatch.setattr("fastbin._fit.rows.SORT_UP_TO", 5000)
    data = strategies.make("tree", "follow the rank", 20_000, 2, weighting)
    scaler = some_map("platt")
    model = fb.ScalingBinning(25, scaler=scaler, ties="random").fit(**data.arrays("strided")).model_
    assert model == fb.ScalingBinning(25, scaler=scaler, ties="random").fit(**data.arrays(), n_threads=3).model_
    expected = fb.UniformMassBinning(25, ties="random").fit(**data.arrays()).model_
    assert model.counts.tolist() == expected.counts.tolist()
    if weighting == "none":
        edges, counts, means = reference.scaling_binning(data.scores, 25, scaler.predict_one, 0, labels=data.labels)
        assert model.counts.tolist() == counts
        assert model.values.tolist() == [float(mean) for mean in means]
        assert len(edges) == 24
        assert boundary_ranks(20_000, 25)[0] == 801
    if weighting != "float":
        assert (np.diff(model.values) >= 0).all()


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_many_samples_between_whole_groups(weighting: str) -> None:
    """The leaves of a tree, of which some hold several boundaries: fewer bins than asked, which is said."""
    data = strategies.make("tree", "follow the rank", 12_000, 2, weighting)
    scaler = some_map("platt")
    with pytest.warns(
        fb.FastbinWarning, match=r"ties='whole' left \d+ of the 25 bins that were asked for: one prob.* no more$"
    ):
        model = fb.ScalingBinning(25, scaler=scaler).fit(**data.arrays("strided")).model_
    with pytest.warns(fb.FastbinWarning, match="of the 25 bins"):
        assert model == fb.ScalingBinning(25, scaler=scaler).fit(**data.arrays(), n_threads=3).model_
    assert model.ties == "whole"
    assert 5 < model.n_bins < 13
    assert np.allclose(model.values, whole_means(data, 25, 0, scaler.predict_one), rtol=0, atol=0)
