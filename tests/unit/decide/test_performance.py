"""`fastbin.decide.performance`: the twin, the notes of the result, and what is refused."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import fastbin as fb
from fastbin.decide import performance
from fastbin.intervals.sums import bernstein_slack, divergence, divergence_ends
from reference import performance as twin

METRICS = ["prevalence", "accuracy", "precision", "recall", "f1", "cost"]


def fitted(calibrator: object, n: int = 900, seed: int = 0, decimals: int | None = None) -> fb.BinnedModel:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    labels = rng.random(n) < 0.1 + 0.8 * scores**2
    return calibrator.fit(scores if decimals is None else scores.round(decimals), labels).model_  # type: ignore[attr-defined, no-any-return]


def batch(n: int = 500, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).random(n) ** 0.5


def cells_of(model: fb.BinnedModel, scores: np.ndarray, threshold: float) -> tuple[list[int], ...]:
    """Rows below and above the threshold, by bin."""
    bins, above = model.assign(scores), model.predict(scores) >= threshold
    return tuple(np.bincount(bins[side], minlength=model.n_bins).tolist() for side in (~above, above))


def assert_intervals_are(found: fb.decide.Performance, expected: dict[str, tuple[float, float]]) -> None:
    for name, ends in found.intervals.items():
        assert ends == pytest.approx(expected[name], abs=1e-9, nan_ok=True), name


# ------------------------------------------------------------------------------------------------- bounds


def test_the_published_ends() -> None:
    lower, upper = divergence_ends(0.3, 0.3, 200, math.log(2 / 0.05))
    assert (round(lower, 6), round(upper, 6)) == (0.217585, 0.392141)


@pytest.mark.parametrize("mean", [0.0, 1e-4, 0.3, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("size", [0.7, 12.5, 4000.0])
def test_ends_are_roots_of_the_divergence(mean: float, size: float) -> None:
    found = divergence_ends(mean, mean, size, 3.5)
    assert found == pytest.approx(twin.chernoff(mean, size, 3.5), abs=1e-12)
    for end, edge in zip(found, (0.0, 1.0), strict=True):
        assert end == edge or size * divergence(mean, end) >= 3.5  # rounded outwards


def test_two_means_give_the_lower_end_of_one_and_the_upper_end_of_the_other() -> None:
    assert divergence_ends(0.2, 0.4, 50, 2.0) == (divergence_ends(0.2, 0.2, 50, 2.0)[0], divergence_ends(0.4, 0.4, 50, 2.0)[1])


def test_bernstein_is_above_the_binomial_tail() -> None:
    from scipy.stats import binom

    for n, p, level in ((50, 0.5, 0.05), (400, 0.01, 0.01), (20, 0.9, 0.2)):
        assert bernstein_slack(p, 0.3, 2.0) == pytest.approx(2.0 * math.sqrt(p) + 0.2)
        slack = bernstein_slack(p * (1 - p) / n, 1 / n, math.log(1 / level))
        assert binom.sf(math.floor(n * (p + slack)), n, p) <= level


# ------------------------------------------------------------------------------------------------- the twin


@pytest.mark.parametrize("about", ["rates", "labels"])
@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5, 0.85, 1.0])
@pytest.mark.parametrize("alpha", [0.1, 1e-6])
def test_a_model_with_a_value_a_bin(about: str, threshold: float, alpha: float) -> None:
    model, scores = fitted(fb.UniformMassBinning(8, monotone=True)), batch()
    below, above = cells_of(model, scores, threshold)
    means = (model.label_sums / model.counts).tolist()
    expected = twin.performance(below, above, model.counts.tolist(), means, means, alpha, about, (1.0, 5.0))
    found = performance(model, scores, threshold, alpha=alpha, about=about, cost=(1, 5))
    assert found.evidence == "bins"
    assert found.n_divided == 0
    assert_intervals_are(found, expected)


def test_steps_inside_a_bin() -> None:
    model = fitted(fb.CertifiedCalibration(n_bins=6))
    scores = batch()
    counts = np.bincount(model.step(scores), minlength=model.n_steps)
    below, above = cells_of(model, scores, 0.4)
    means = (model.label_sums / model.counts).tolist()
    expected = twin.performance(below, above, model.counts.tolist(), means, means, 0.1, "rates", (1.0, 5.0))
    found = performance(model, counts=counts, threshold=0.4, cost=(1, 5))
    divided = [low + high for low, high in zip(below, above, strict=True) if low and high]
    assert (found.evidence, found.n_divided) == ("bins", sum(divided))
    assert len(divided) == 1
    assert_intervals_are(found, expected)


@pytest.mark.parametrize("about", ["rates", "labels"])
def test_slices_where_scores_do_not_repeat(about: str) -> None:
    model = fitted(fb.CertifiedCalibration(n_bins=6))
    cuts, ones = model.slice_cuts, model.slice_label_sums
    scores = np.append(batch(), cuts[3])  # nothing is known of a row at a cut
    ranks = np.array([-(-b * 901 // len(ones)) for b in range(len(ones) + 1)])  # ceil(b (n + 1) / C)
    above = model.predict(scores) >= 0.4
    samples, means = [], []
    counted: list[list[int]] = [[], []]
    for number in range(len(ones)):
        low, high = np.append(-1.0, cuts)[number], np.append(cuts, 2.0)[number]
        inside, at_cut = (scores > low) & (scores < high), scores == high
        n = int(ranks[number + 1] - ranks[number] - 1)
        for rows, count, mean in ((inside, n, ones[number] / n), (at_cut, 0, 0.0)):
            samples.append(count)
            means.append(float(mean))
            for side, own in enumerate((~above, above)):
                counted[side].append(int((rows & own).sum()))
    expected = twin.performance(*counted, samples, means, means, 0.1, about, (1.0, 5.0))
    found = performance(model, scores, 0.4, about=about, cost=(1, 5))
    assert (found.evidence, found.n_unknown) == ("slices", 1)
    assert 0 < found.n_divided < 60
    assert_intervals_are(found, expected)


def test_slices_serve_only_where_hardly_any_row_is_at_a_cut() -> None:
    model = fitted(fb.CertifiedCalibration(n_bins=6))
    scores = batch(500)
    at_cuts = np.append(scores, np.repeat(model.slice_cuts[:3], 3))
    assert performance(model, scores, 0.4).evidence == "slices"
    assert performance(model, at_cuts, 0.4).evidence == "bins"
    tied = fitted(fb.CertifiedCalibration(n_bins=6), decimals=2)
    assert performance(tied, batch().round(2), 0.4).evidence == "bins"


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
@pytest.mark.parametrize("about", ["rates", "labels"])
def test_label_sums_that_are_known_up_to_labels_at_edges(scheme: str, about: str) -> None:
    model = fitted(fb.UniformMassBinning(6, scheme=scheme, monotone=True), decimals=2)
    scores = batch().round(2)
    from fastbin.guarantees.evidence import require_interior

    interior = require_interior(model)
    readings = [(reading.counts, reading.label_sums / reading.counts) for reading in interior.readings]
    samples = np.min([counts for counts, _ in readings], axis=0).tolist()
    least, most = (extreme([means for _, means in readings], axis=0).tolist() for extreme in (np.min, np.max))
    assert len(readings) == 2
    assert least != most
    below, above = cells_of(model, scores, 0.5)
    expected = twin.performance(below, above, samples, least, most, 0.1, about, (1.0, 5.0))
    found = performance(model, scores, 0.5, about=about, cost=(1, 5))
    assert_intervals_are(found, expected)


@pytest.mark.parametrize(("calibrator", "part"), [(fb.CertifiedCalibration(), "slice"), (fb.UniformMassBinning(5), "bin")])
def test_what_must_stay_is_said_of_the_parts_that_are_the_evidence(calibrator: object, part: str) -> None:
    found = performance(fitted(calibrator), batch(), 0.4, about="labels")
    assert str(found).split("\n")[0].endswith(f"; if the frequency in each {part} is that of the calibration")
    said = [each for each in found.assumptions if "slice" in each or "bin" in each or "serves" in each]
    assert said[:3] == [
        f"the frequency of label 1 in each {part} is that of the calibration samples, however the scores of the rows are "
        "distributed",
        "which rows there are depends neither on the calibration labels nor on what the model serves",
        f"given their {part}s the labels of the rows are independent",
    ]


def test_bins_without_samples_say_nothing() -> None:
    parts = {
        "edges": [0.25, 0.5, 0.75],
        "values": [0.25, 0.5, 0.5, 1.0],
        "counts": [40, 0, 0, 40],
        "label_sums": [10, 0, 0, 40],
    }
    model = fb.BinnedModel.from_parts(**parts, scheme="explicit")
    found = performance(model, [0.1] * 50 + [0.3] * 10 + [0.9] * 40, 0.9)
    samples, means = [40, 0, 0, 40], [0.25, 0.0, 0.0, 1.0]
    expected = twin.performance([50, 10, 0, 0], [0, 0, 0, 40], samples, means, means, 0.1, "rates", (1.0, 1.0))
    assert found.n_unknown == 10
    assert_intervals_are(found, expected)


def test_rows_and_counts_of_rows_are_the_same() -> None:
    model, scores = fitted(fb.UniformMassBinning(8, monotone=True)), batch()
    counts = np.bincount(model.assign(scores), minlength=8)
    rows, counted = performance(model, scores, 0.5), performance(model, counts=counts)
    assert rows.to_dict() == counted.to_dict()


def test_counts_of_bins_are_not_counts_of_steps() -> None:
    model = fitted(fb.CertifiedCalibration(n_bins=6))
    counts = np.bincount(model.assign(batch()), minlength=6)
    with pytest.raises(fb.InputError) as caught:
        performance(model, counts=counts)
    told = f"counts has shape (6,); give one number for each of the {model.n_steps} steps, as model.step(scores) tells them"
    assert str(caught.value) == told


def test_keys_decide_as_in_predict() -> None:
    model = fitted(fb.UniformMassBinning(5, ties="random", monotone=True), decimals=1)
    scores, keys = batch().round(1), np.random.default_rng(3).integers(0, 2**64 - 1, 500, np.uint64)
    threshold = float(model.values[-1])
    found = performance(model, scores, threshold, tie_keys=keys)
    assert found.n_positive == int((model.predict(scores, tie_keys=keys) >= threshold).sum())
    assert found.n_positive != performance(model, scores, threshold, tie_keys=keys[::-1].copy()).n_positive
    again = [performance(model, scores, threshold, seed=4).to_dict() for _ in range(2)]
    assert again[0] == again[1] != found.to_dict()


# ------------------------------------------------------------------------------------------------- the result


def test_all_rows_on_one_side() -> None:
    model = fitted(fb.UniformMassBinning(5, monotone=True))
    none, every = (performance(model, batch(), threshold) for threshold in (1.0, 0.0))
    assert none.n_positive == 0
    assert np.isnan(none.intervals["precision"]).all()
    assert none.intervals["recall"] == (0.0, 0.0)
    assert every.n_positive == 500
    assert every.intervals["recall"] == (1.0, 1.0)
    assert every.intervals["precision"] == every.intervals["prevalence"] == every.intervals["accuracy"]
    assert "not defined" in str(none)
    assert "precision 0" not in none.to_dict()["sentence"]
    assert none.to_dict()["metrics"]["precision"] == {"estimate": None, "lower": None, "upper": None}
    json.dumps(none.to_dict(), allow_nan=False)


def test_bounds_of_rare_events_are_not_printed_as_certain() -> None:
    rng = np.random.default_rng(0)
    rare = fb.UniformMassBinning(4, monotone=True).fit(rng.random(100_000), rng.random(100_000) < 3e-5)
    found = performance(rare.model_, rng.random(1000), 1e-5)
    assert 0.0 < found.intervals["prevalence"][1] < 0.0005
    low, high = re.search(r"prevalence ([\d.]+) to ([\d.]+),", str(found)).groups()  # type: ignore[union-attr]
    assert float(low) <= found.intervals["prevalence"][0] <= found.intervals["prevalence"][1] <= float(high) < 0.0005


def test_what_it_says() -> None:
    model = fitted(fb.UniformMassBinning(5, monotone=True))
    found = performance(model, batch(), 0.5, cost=(1, 2))
    low, high = found.intervals["recall"]
    assert f"recall {math.floor(1e3 * low) / 1e3:.3f} to {math.ceil(1e3 * high) / 1e3:.3f}" in str(found)
    assert "at every threshold" in str(found)
    assert "<table" in found._repr_html_()
    assert [row["metric"] for row in found] == METRICS
    pytest.importorskip("pandas")
    assert found.to_pandas().columns.tolist() == ["metric", "estimate", "interval_lower", "interval_upper"]
    labels = performance(model, batch(), 0.5, about="labels")
    assert "the labels that they will show" in str(labels)
    assert len(labels.assumptions) == len(found.assumptions) + 1
    for name, estimate in found.estimates.items():
        assert found.intervals[name][0] <= estimate <= found.intervals[name][1]


def test_the_event_is_named() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(200)
    words = np.where(rng.random(200) < scores, "default", "paid")
    model = fb.UniformMassBinning(2).fit(scores, words, positive="default").model_
    assert "probability of the label 'default'" in str(performance(model, scores, 0.5))


# ------------------------------------------------------------------------------------------------- what is refused

FALLING = fb.ExplicitBinning([0.5]).fit([0.1] * 50 + [0.9] * 50, [1] * 30 + [0] * 20 + [1] * 10 + [0] * 40).model_


REFUSED = ["isotonic", "platt", "weighted", "moved", "random values", "set", "rest", "falling"]


def refused_models() -> dict[str, tuple[object, str]]:
    rng = np.random.default_rng(0)
    scores = rng.random(300)
    labels = rng.random(300) < scores
    fit = fb.UniformMassBinning(3).fit(scores, labels)
    zeros = np.where(rng.random(300) < 0.4, 0.0, scores)
    return {
        "isotonic": (fb.IsotonicCalibration().fit(scores, labels), "isotonic regression has no certificate"),
        "platt": (fb.PlattScaling().fit(scores, labels), "platt scaling has no"),
        "weighted": (fb.UniformMassBinning(3).fit(scores, labels, sample_weight=scores + 0.5), "real weights"),
        "moved": (fb.shift.LabelShift(fit, method="known", target_rate=0.2).fit(), "moved to other class rates"),
        "random values": (fb.UniformMassBinning(3, delta=1e-6).fit(scores, labels), "randomised"),
        "set": (fb.ModelSet({"a": fit, "b": fit}), "take each of set.models"),
        "rest": (fb.CertifiedCalibration(n_bins=4).fit(zeros, labels), "ties='random'"),
        "falling": (FALLING, "fb.monotone_model"),
    }


@pytest.mark.parametrize("name", REFUSED)
def test_models_without_the_theorem(name: str) -> None:
    model, words = refused_models()[name]
    with pytest.raises(fb.GuaranteeError, match=words.replace("(", r"\(")):
        performance(model, [0.2, 0.8], 0.5)


def test_falling_values_elsewhere_are_fine() -> None:
    assert performance(FALLING, [0.2, 0.8], 0.1).n_positive == 2
    assert performance(fb.monotone_model(FALLING), [0.2, 0.8], 0.4).n_positive == 2


BAD = {
    "scores is None": {},
    "scores is empty": {"scores": []},
    r"scores\[1\] is NaN": {"scores": [0.1, math.nan]},
    r"scores\[0\] is 2.5": {"scores": [2.5]},
    "threshold is 50": {"scores": [0.2], "threshold": 50},
    "about is 'rows'": {"scores": [0.2], "about": "rows"},
    "alpha is 0.95": {"scores": [0.2], "alpha": 0.95},
    r"cost\[1\] is -1": {"scores": [0.2], "cost": (1, -1)},
    r"cost\[0\] is inf": {"scores": [0.2], "cost": (math.inf, 1)},
    "cost is 3": {"scores": [0.2], "cost": 3},
    "counts is given, and scores too": {"scores": [0.2], "counts": [1, 2]},
    "counts is given, and tie_keys too": {"counts": [1, 2], "tie_keys": [4]},
    "counts is given, and seed too": {"counts": [1, 2], "seed": 3},
    "the sum of both is more than a double holds": {"scores": [0.2], "cost": (1e308, 1e308)},
    "counts are all 0": {"counts": [0, 0]},
    "counts": {"counts": [1, 2, 3]},
}


@pytest.mark.parametrize("words", BAD)
def test_bad_arguments(words: str) -> None:
    model = fitted(fb.UniformMassBinning(2))
    with pytest.raises((fb.InputError, fb.InputTypeError), match=words):
        performance(model, **BAD[words])  # type: ignore[arg-type]
