"""Fixed-width and explicit binning: exact cases, edges of all sorts, empty bins, refusals."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import fastbin as fb
import oracle
from fastbin._fit.rows import check_rows
from fastbin._fit.tally import ExactSums, Partition, Tally, tally_rows
from oracle import Case, close

# Fits with empty bins are the business of some of these tests; test_manners.py is about their warning.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")


@oracle.cases("fixed_width")
def test_exact_cases(case: Case) -> None:
    given, expected = case.inputs, case.expected
    cal = fb.FixedWidthBinning(given["B"]).fit(given["scores"], given["labels"])
    model = cal.model_
    assert (model.assign(given["scores"]) + 1).tolist() == expected["bins"]
    assert model.counts.tolist() == expected["counts"]
    means = [value if count else None for value, count in zip(model.values.tolist(), model.counts, strict=True)]
    assert close(means, expected["means"], case.tolerance)
    empty = [b for b, mean in enumerate(expected["means"]) if mean is None]
    assert cal.empty_bins_.tolist() == empty
    assert (model.values[empty] == 0.5).all()


@oracle.cases("fixed_width_error")
def test_scores_above_one_are_refused(case: Case) -> None:
    score = case.inputs["score"]
    with pytest.raises(fb.InputError, match=re.escape(f"scores[0] is {score}")):
        fb.FixedWidthBinning(case.inputs["B"]).fit([score], [1])
    cal = fb.FixedWidthBinning(case.inputs["B"]).fit([0.5], [1])
    with pytest.raises(fb.InputError, match=re.escape(f"scores[1] is {score}")):
        cal.predict([0.5, score])
    with pytest.raises(fb.InputError, match=re.escape(f"score is {score}")):
        cal.predict_one(score)


def test_edges_are_quotients() -> None:
    assert fb.FixedWidthBinning(10).fit([0.5], [1]).model_.edges.tolist() == [i / 10 for i in range(1, 10)]
    assert fb.FixedWidthBinning(100).fit([0.5], [1]).model_.assign([0.29, 0.57, 0.58]).tolist() == [29, 57, 58]
    assert fb.FixedWidthBinning(10).fit([0.5], [1]).model_.assign([0.1 + 0.2, 1.0]).tolist() == [3, 9]
    assert fb.FixedWidthBinning(4, score_range=(-1, 1)).fit([0.5], [1]).model_.edges.tolist() == [-0.5, 0.0, 0.5]


def test_a_range_of_few_doubles_has_fewer_bins_and_says_so() -> None:
    low = 1.0
    high = math.nextafter(math.nextafter(low, 2.0), 2.0)
    model = fb.FixedWidthBinning(10, score_range=(low, high)).fit([low, high], [0, 1]).model_
    assert model.n_bins_asked == 10
    assert model.edges.tolist() == [math.nextafter(low, 2.0), high]
    assert model.counts.tolist() == [1, 0, 1]


def test_many_bins_and_few_rows() -> None:
    model = fb.FixedWidthBinning(1_000_000).fit([0.25, 0.75, 0.75], [0, 1, 0]).model_
    assert model.counts.sum() == 3
    assert model.predict([0.75, 0.1]).tolist() == [0.5, 0.5]


def test_auto_depends_on_the_number_of_samples_alone() -> None:
    scores = np.linspace(0.0, 1.0, 1000)
    model = fb.FixedWidthBinning("auto").fit(scores, scores > 0.5).model_
    assert model.n_bins == fb.guarantees.auto_n_bins(1000)
    assert fb.FixedWidthBinning("auto").fit(scores**3, scores > 0.9).model_.n_bins == model.n_bins


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_bins": 0}, "n_bins is 0; it must be at least 1"),
        ({"n_bins": "many"}, "n_bins is 'many'; pass an integer, or 'auto'"),
        ({"n_bins": 2**24 + 1}, "n_bins is 16777217"),
        ({"score_range": None}, "score_range is None; bins of equal width need a finite range"),
        ({"score_range": (1, 0)}, "score_range is (1.0, 0.0)"),
        ({"scaler": fb.PlattScaling()}, "scaler is a PlattScaling that is not fitted; fit it to other samples"),
    ],
)
def test_configurations_refused(parameters: dict, message: str) -> None:
    with pytest.raises(fb.InputError, match=re.escape(message)):
        fb.FixedWidthBinning(**parameters).fit([0.1, 0.9], [0, 1])


@pytest.mark.parametrize("n", [10, 200_000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bad_rows_are_told_by_their_position(n: int, dtype: type) -> None:
    scores, labels = np.full(n, 0.5, dtype), np.zeros(n, np.int64)
    scores[n - 2] = np.nan
    with pytest.raises(fb.InputError, match=re.escape(f"scores[{n - 2}] is NaN")):
        fb.FixedWidthBinning().fit(scores, labels)
    labels[n - 1] = 7
    with pytest.raises(fb.InputError, match=re.escape(f"labels[{n - 1}] is 7")):
        fb.FixedWidthBinning().fit(np.full(n, 0.5, dtype), labels)


def test_rows_without_weight_are_no_samples() -> None:
    with pytest.raises(fb.InputError, match="sample_weight is 0 for every row"):
        fb.FixedWidthBinning().fit([0.1, 0.2], [0, 1], sample_weight=[0, 0])
    with pytest.raises(fb.InputError, match="scores is empty"):
        fb.FixedWidthBinning().fit([], [])


def test_the_certificate_leaves_empty_bins_out() -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(4000) * 0.8
    cal = fb.FixedWidthBinning(10).fit(scores, rng.random(4000) < scores)
    certificate = cal.certificate()
    assert certificate.uncovered_bins == (8, 9) == tuple(cal.empty_bins_)
    assert 0.0 < certificate.epsilon < 0.12
    assert cal.predict_interval([0.95]).tolist() == [[0.0, 1.0]]


def test_real_weights_have_no_binomial_certificate() -> None:
    cal = fb.FixedWidthBinning(2).fit([0.1, 0.2, 0.8], [0, 1, 1], sample_weight=[1.0, 3.0, 0.5])
    assert cal.predict([0.0, 1.0]).tolist() == [0.75, 1.0]
    with pytest.raises(fb.GuaranteeError, match="real weights"):
        cal.certificate()


# ------------------------------------------------------------------------------------------------- behind a scaler


@pytest.fixture
def samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    scores = rng.random(3000)
    return scores, rng.random(3000) < scores**2


@pytest.mark.parametrize(
    "scaler", [fb.PlattScaling(), fb.PlattScaling(feature="logit"), fb.TemperatureScaling(), fb.BetaScaling()]
)
def test_a_scaler_and_bins_are_one_file(scaler, samples, tmp_path) -> None:
    scores, labels = samples
    scaler.fit(scores[:1000], labels[:1000])
    cal = fb.FixedWidthBinning(8, scaler=scaler).fit(scores[1000:], labels[1000:])
    cal.model_.save(tmp_path / "both.fbm")
    loaded = fb.load(tmp_path / "both.fbm")
    assert loaded == cal.model_
    assert loaded.map == scaler.model_.map
    queries = np.linspace(0.0, 1.0, 2001)
    scaled_bins = np.searchsorted(np.arange(1, 8) / 8, scaler.predict(queries), side="right")
    _, renumbered = np.unique(scaled_bins, return_inverse=True)
    assert loaded.assign(queries).tolist() == renumbered.tolist()
    assert cal.certificate().epsilon < 0.3


def test_bins_keep_how_far_the_scaler_stays_from_0_and_1(samples) -> None:
    scaler = fb.BetaScaling().fit(*samples)
    assert fb.FixedWidthBinning(4, scaler=scaler).fit(*samples).model_.clip == scaler.model_.clip > 0.0


def test_edges_that_no_scaled_score_reaches_are_left_out() -> None:
    scaler = fb.PlattScaling().fit([0.1, 0.4, 0.5, 0.6, 0.9], [0, 1, 0, 0, 1])
    low, high = scaler.predict([0.0, 1.0])
    scores = np.linspace(0, 1, 20)
    model = fb.FixedWidthBinning(100, scaler=scaler).fit(scores, scores > 0.5).model_
    assert model.n_bins_asked == 100
    assert model.n_bins == 1 + sum(low < i / 100 <= high for i in range(1, 100)) < 100
    assert (model.assign([0.0, 1.0]) == [0, model.n_bins - 1]).all()


def test_a_map_that_falls_is_refused() -> None:
    scaler = fb.PlattScaling().fit([0.1, 0.4, 0.6, 0.9], [1, 1, 0, 0])
    with pytest.raises(fb.InputError, match=r"the map of scheme 'platt' does not increase \(slope -3.34\).*scores reversed"):
        fb.FixedWidthBinning(scaler=scaler).fit([0.1, 0.9], [0, 1])
    flat = fb.BetaScaling().fit([0.1, 0.4, 0.6, 0.9], [1, 1, 0, 0])
    with pytest.raises(fb.InputError, match=r"the map of scheme 'beta' does not increase \(slope 0, 0\)"):
        fb.FixedWidthBinning(scaler=flat).fit([0.1, 0.9], [0, 1])


def test_a_scaler_of_margins() -> None:
    rng = np.random.default_rng(3)
    margins = rng.normal(0, 3, 2000)
    labels = rng.random(2000) < 1 / (1 + np.exp(-margins))
    scaler = fb.PlattScaling(score_range=None).fit(margins[:500], labels[:500])
    with pytest.raises(fb.InputError, match=re.escape("score_range is (0.0, 1.0), but the scaler takes scores in None")):
        fb.FixedWidthBinning(5, scaler=scaler).fit(margins[500:], labels[500:])
    model = fb.FixedWidthBinning(5, scaler=scaler, score_range=None).fit(margins[500:], labels[500:]).model_
    assert (scaler.predict(model.edges) >= np.arange(1, 5) / 5).all()
    assert (scaler.predict(np.nextafter(model.edges, -np.inf)) < np.arange(1, 5) / 5).all()
    assert np.allclose(model.values, [0.1, 0.3, 0.5, 0.7, 0.9], atol=0.1)


def test_a_scaler_must_be_a_smooth_map(samples) -> None:
    scores, labels = samples
    for wrong in (fb.UniformMassBinning(5).fit(scores, labels), 3, "platt"):
        with pytest.raises(fb.InputTypeError, match="scaler must be a fitted PlattScaling"):
            fb.FixedWidthBinning(5, scaler=wrong).fit(scores, labels)


# ------------------------------------------------------------------------------------------------- explicit edges


def test_explicit_edges() -> None:
    cal = fb.ExplicitBinning([0.1, 0.5, 1.0]).fit([0.05, 0.1, 0.3, 0.7, 1.0], [0, 1, 0, 1, 1])
    assert cal.model_.scheme == "explicit"
    assert cal.model_.counts.tolist() == [1, 2, 1, 1]
    assert cal.predict([0.0, 0.2, 0.99, 1.0]).tolist() == [0.0, 0.5, 1.0, 1.0]
    assert fb.ExplicitBinning([]).fit([0.1, 0.2, 0.3], [0, 0, 1]).predict_one(0.9) == 1 / 3


@pytest.mark.parametrize(
    ("edges", "score_range", "message"),
    [
        ([0.2, 0.2], (0, 1), "edges[1] is 0.2, not above edges[0], which is 0.2; edges must rise strictly"),
        ([0.2, 0.5, 0.4], (0, 1), "edges[2] is 0.4, not above edges[1], which is 0.5"),
        ([0.2, 1.5], (0, 1), "edges[1] is 1.5, outside [0, 1]"),
        ([0.2, math.nan], None, "edges[1] is NaN; edges are finite numbers"),
        (np.linspace(0, 1, 5), (0, 1), "edges[0] is 0.0, the low end of score_range, and no score lies below it"),
    ],
)
def test_edges_refused(edges, score_range, message: str) -> None:
    with pytest.raises(fb.InputError, match=re.escape(message)):
        fb.ExplicitBinning(edges, score_range=score_range).fit([0.1, 0.9], [0, 1])


def test_configuration_is_kept_as_it_was_given() -> None:
    edges = np.array([0.25, 0.5])
    cal = fb.ExplicitBinning(edges, score_range=(0.0, 2.0))
    assert cal.edges is edges
    assert list(cal.get_params()) == ["edges", "score_range", "out_of_range", "monotone", "sampling_rate"]
    assert repr(cal) == f"ExplicitBinning(edges={edges!r}, score_range=(0.0, 2.0))"
    assert repr(fb.ExplicitBinning([0.5], monotone=True)) == "ExplicitBinning(edges=[0.5], monotone=True)"
    assert repr(fb.FixedWidthBinning(7, monotone=True)) == "FixedWidthBinning(n_bins=7, monotone=True)"
    assert fb.FixedWidthBinning().set_params(n_bins=3).n_bins == 3


# ------------------------------------------------------------------------------------------------- tallies


def test_tallies_of_other_partitions_do_not_add() -> None:
    empty = Tally(np.zeros(2, int), np.zeros(2, int))
    with pytest.raises(fb.InputError, match="tallies of 2 and 3 bins do not add"):
        empty + Tally(np.zeros(3, int), np.zeros(3, int))
    with pytest.raises(fb.InputError, match="a weighted and an unweighted tally do not add"):
        empty + Tally(np.zeros(2, int), np.zeros(2, int), ExactSums(6))


def test_a_tally_knows_split_ties_by_their_keys() -> None:
    partition = Partition(np.array([0.5]), np.array([2**63], np.uint64), (0.0, 1.0))
    rows = check_rows([0.5, 0.5, 0.4], [1, 0, 1], None, (0.0, 1.0), np.array([0, 2**64 - 2, 5], np.uint64))
    counted = tally_rows(partition, rows)
    assert counted.counts.tolist() == [2, 1]
    assert counted.label_sums.tolist() == [2, 0]


def test_the_greatest_frequencies_are_counted_exactly() -> None:
    frequencies = np.array([2**52 + 1, 2**51 + 3, 1])
    model = fb.FixedWidthBinning(2).fit([0.1, 0.2, 0.9], [1, 0, 1], sample_weight=frequencies).model_
    assert model.counts.tolist() == [2**52 + 2**51 + 4, 1]
    assert model.label_sums.tolist() == [2**52 + 1, 1]
