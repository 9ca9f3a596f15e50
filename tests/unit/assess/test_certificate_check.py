"""The test of a certificate: its verdicts, its error rates, and the sample sizes that it asks for."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin import assess
from fastbin.assess.bin_tests import Frequency, chance_at_least, chance_at_most
from fastbin.guarantees import Certificate


def model_of(values: list[float], count: int = 1000, **parts: Any) -> fb.BinnedModel:
    edges = [b / len(values) for b in range(1, len(values))]
    counts = [count] * len(values)
    sums = [round(count * value) for value in values]
    return fb.BinnedModel.from_parts(edges=edges, values=values, counts=counts, label_sums=sums, scheme="fixed-width", **parts)


def samples_of(rates: list[float], count: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` samples in each of the equal bins, with exactly these rates."""
    scores = np.concatenate([np.full(count, (b + 0.5) / len(rates)) for b in range(len(rates))])
    labels = np.concatenate([np.arange(count) < round(count * rate) for rate in rates])
    return scores, labels


def test_tails_by_hand() -> None:
    assert math.isclose(chance_at_most(1, 3, 0.25), 0.75**3 + 3 * 0.25 * 0.75**2)
    assert math.isclose(chance_at_least(2, 3, 0.25), 3 * 0.25**2 * 0.75 + 0.25**3)
    assert [chance_at_most(x, 3, 0.5) for x in (-1, 3, 4)] == [0.0, 1.0, 1.0]
    assert [chance_at_least(x, 3, 0.5) for x in (0, 4)] == [1.0, 0.0]
    assert math.isclose(chance_at_most(0, 10, 1e-9), (1 - 1e-9) ** 10, rel_tol=1e-15)


def test_verdicts() -> None:
    model = model_of([0.2, 0.5, 0.8])
    assert assess.check_certificate(model, *samples_of([0.2, 0.5, 0.8], 20000)).verdict == "confirmed"
    assert assess.check_certificate(model, *samples_of([0.2, 0.5, 0.8], 100)).verdict == "not contradicted"
    check = assess.check_certificate(model, *samples_of([0.2, 0.7, 0.8], 1000))
    assert check.verdict == "contradicted"
    assert check.verdicts[1] == "contradicted"
    assert check.bins_with("contradicted") == [1]
    assert check.p_value <= 0.05
    assert str(check).startswith("Contradicted by 3,000 new rows: in bin 1 the frequency lies outside")


def test_the_p_value_is_the_exact_binomial_one() -> None:
    stats = pytest.importorskip("scipy.stats")
    model = model_of([0.3, 0.6])
    check = assess.check_certificate(model, *samples_of([0.5, 0.6], 40), epsilon=0.1)
    # 20 of 40 against a frequency of at most 0.3 + 0.1.
    upper = float(check.claims[0, 1])
    assert math.isclose(check.p_values[0], 2 * stats.binom.sf(19, 40, upper))
    assert math.isclose(check.p_value, min(1.0, 2 * check.p_values.min()))
    # A claim that reaches 0 can only be broken from above; its interval has two tails all the same.
    low = assess.check_certificate(model_of([0.05, 0.6]), *samples_of([0.5, 0.6], 40), epsilon=0.1)
    assert math.isclose(low.p_values[0], 2 * stats.binom.sf(19, 40, float(low.claims[0, 1])))


def test_contradicted_means_that_the_interval_misses_the_claim() -> None:
    """By the duality of tests and Clopper-Pearson intervals, where both tails exist."""
    rng = np.random.default_rng(4)
    model = model_of([0.3, 0.5, 0.6])
    seen = set()
    for _ in range(100):
        check = assess.check_certificate(model, *samples_of(rng.uniform(0.2, 0.7, 3).tolist(), 60), epsilon=0.05)
        misses = (check.intervals[:, 0] > check.claims[:, 1]) | (check.intervals[:, 1] < check.claims[:, 0])
        assert [verdict == "contradicted" for verdict in check.verdicts] == misses.tolist()
        seen.add(check.verdict)
    assert seen == {"contradicted", "not contradicted"}


def test_a_true_promise_is_seldom_contradicted_and_a_broken_one_seldom_confirmed() -> None:
    """At the ends of the promised range, where both errors are most likely; 400 draws each, alpha 0.2."""
    rng = np.random.default_rng(6)
    model = model_of([0.2, 0.5, 0.7])
    scores, _ = samples_of([0.0] * 3, 300)
    inside = np.repeat([0.3, 0.5, 0.6], 300)  # within 0.1: at the upper end, in the middle, at the lower end
    outside = np.repeat([0.2, 0.6001, 0.7], 300)

    def verdicts(rates: np.ndarray) -> Counter[str]:
        drawn = (assess.check_certificate(model, scores, rng.random(900) < rates, epsilon=0.1, alpha=0.2) for _ in range(400))
        return Counter(check.verdict for check in drawn)

    most = 400 * 0.2 + 3 * math.sqrt(400 * 0.2 * 0.8)
    assert verdicts(inside)["contradicted"] <= most
    # One tail of the interval of one of three bins.
    tail = 0.2 / 6
    assert 0 < verdicts(outside)["confirmed"] <= 400 * tail + 3 * math.sqrt(400 * tail)


def test_sample_sizes_are_enough_and_little_more() -> None:
    """The size asked for confirms a true promise with the power asked for; three fifths of it do not."""
    rng = np.random.default_rng(7)
    model = model_of([0.1, 0.5, 0.9])
    needed = assess.samples_to_check(model, epsilon=0.1, power=0.8)
    confirmed = {}
    for size in (int(needed), int(0.6 * needed)):
        scores, _ = samples_of([0.0] * 3, math.ceil(size / 3))
        rates = np.repeat(model.values, math.ceil(size / 3))
        checks = [assess.check_certificate(model, scores, rng.random(len(rates)) < rates, epsilon=0.1) for _ in range(200)]
        confirmed[size] = np.mean([check.verdict == "confirmed" for check in checks])
    assert confirmed[int(needed)] >= 0.8 - 3 * 0.03
    assert confirmed[int(0.6 * needed)] < 0.7


@pytest.mark.parametrize(
    ("frequency", "lower", "upper"), [(0.2, 0.1, 0.3), (0.03, 0.0, 0.1), (0.95, 0.8, 1.0), (0.5, 0.35, 0.8)]
)
def test_counts_to_confirm_have_the_power(frequency: float, lower: float, upper: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    alpha, power = 0.05, 0.9

    def power_at(count: int) -> float:
        x = np.arange(count + 1)
        below = np.ones(count + 1, bool) if upper >= 1.0 else stats.binom.cdf(x, count, upper) <= alpha
        above = np.ones(count + 1, bool) if lower <= 0.0 else stats.binom.sf(x - 1, count, lower) <= alpha
        return float(stats.binom.pmf(x, count, frequency)[below & above].sum())

    count = int(Frequency(lower, upper, frequency).count_to_confirm(alpha, power))
    assert power_at(count) >= power > power_at(count - 1)


@pytest.mark.parametrize(("frequency", "lower", "upper"), [(0.5, 0.1, 0.3), (0.05, 0.2, 0.4), (0.3, 0.0, 0.2), (0.6, 0.7, 1.0)])
def test_counts_to_contradict_have_the_power(frequency: float, lower: float, upper: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    alpha, power = 0.05, 0.9

    def power_at(count: int) -> float:
        x = np.arange(count + 1)
        tail = stats.binom.sf(x - 1, count, upper) if frequency > upper else stats.binom.cdf(x, count, lower)
        return float(stats.binom.pmf(x, count, frequency)[tail <= alpha].sum())

    count = int(Frequency(lower, upper, upper).count_to_contradict(frequency, 0.5, alpha, power))
    assert power_at(count) >= power > power_at(count - 1)


def test_no_number_of_samples_confirms_perfection() -> None:
    check = assess.check_certificate(model_of([0.2, 0.6]), *samples_of([0.25, 0.6], 20), epsilon=0.0)
    assert check.verdict == "not contradicted"
    assert math.isinf(check.samples_to_confirm)
    assert math.isfinite(check.samples_to_contradict)
    assert check.to_dict()["samples_to_confirm"] is None
    exact = assess.check_certificate(model_of([0.25, 0.5]), *samples_of([0.25, 0.5], 20), epsilon=0.0)
    assert math.isinf(exact.samples_to_contradict)
    assert assess.samples_to_check(model_of([0.25, 0.5]), epsilon=0.0) == math.inf


def test_a_bin_without_a_claim_is_left_out() -> None:
    values, edges = [0.2, 0.5, 0.8], [1 / 3, 2 / 3]
    model = fb.BinnedModel.from_parts(
        edges=edges, values=values, counts=[1000, 0, 1000], label_sums=[200, 0, 800], scheme="fixed-width"
    )
    check = assess.check_certificate(model, *samples_of([0.2, 0.9, 0.8], 3000))
    assert check.verdicts == ("confirmed", "no claim", "confirmed")
    assert check.verdict == "confirmed"
    assert check.claims[1].tolist() == [0.0, 1.0]
    assert check.counts_to_confirm[1] == 0.0


def test_frequencies_are_repetitions() -> None:
    model, (scores, labels) = model_of([0.2, 0.6]), samples_of([0.3, 0.6], 50)
    weights = np.tile([0, 1, 2, 3, 4], 20)
    weighted = assess.check_certificate(model, scores, labels, sample_weight=weights)
    plain = assess.check_certificate(model, np.repeat(scores, weights), np.repeat(labels, weights))
    assert weighted.to_dict() == plain.to_dict()


def test_calibrators_certificates_and_models() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    labels = rng.random(3000) < scores
    calibrator = fb.UniformMassBinning(n_bins=5).fit(scores[:1000], labels[:1000])
    certificate = calibrator.certificate(alpha=0.2, bound="a-priori")
    by_calibrator = assess.check_certificate(calibrator, scores[1000:], labels[1000:], certificate=certificate)
    by_model = assess.check_certificate(calibrator.model_, scores[1000:], labels[1000:], certificate=certificate)
    assert by_calibrator.to_dict() == by_model.to_dict()
    assert assess.samples_to_check(calibrator) == assess.samples_to_check(calibrator.model_)
    reach = np.abs(by_model.claims - calibrator.model_.values[:, None])
    assert np.allclose(reach, certificate.epsilon) or reach.max() <= certificate.epsilon + 1e-12
    assert json.loads(json.dumps(by_model.to_dict()))["n_samples"] == 2000


def test_what_cannot_be_checked_is_refused() -> None:
    model, (scores, labels) = model_of([0.2, 0.6]), samples_of([0.2, 0.6], 10)
    certificates = {kind: model.certificate(kind=kind) for kind in ("marginal", "ece")}
    for kind, certificate in certificates.items():
        with pytest.raises(fb.InputError, match=f"kind '{kind}'"):
            assess.check_certificate(model, scores, labels, certificate=certificate)
    with pytest.raises(fb.InputError, match="give the promise to check once"):
        assess.check_certificate(model, scores, labels, certificate=model.certificate(), epsilon=0.1)
    with pytest.raises(fb.GuaranteeError, match="real weights"):
        assess.check_certificate(model, scores, labels, sample_weight=np.ones(20))
    with pytest.raises(fb.InputError, match="scores is empty"):
        assess.check_certificate(model, [], [])
    with pytest.raises(fb.InputError, match="scores has 20, labels has 19"):
        assess.check_certificate(model, scores, labels[:-1])
    with pytest.raises(fb.InputTypeError, match="model is of type dict"):
        assess.check_certificate({}, scores, labels)  # type: ignore[arg-type]
    other: Certificate = model_of([0.1, 0.2, 0.3]).certificate()
    with pytest.raises(fb.InputError, match="about 3 bins, and the model has 2"):
        assess.check_certificate(model, scores, labels, certificate=other)
    platt = fb.BinnedModel.from_parts(
        edges=[], values=[], scheme="platt", kind="smooth", map="logistic", map_parameters=(1.0, 0.0)
    )
    with pytest.raises(fb.InputError, match="kind 'smooth'"):
        assess.check_certificate(platt, scores, labels, epsilon=0.1)
    uncertified = fb.BinnedModel.from_parts(
        edges=[0.5], values=[0.2, 0.6], scheme="isotonic", counts=[10, 10], label_sums=[2, 6]
    )
    with pytest.raises(fb.GuaranteeError, match="isotonic"):
        assess.check_certificate(uncertified, scores, labels)
    assert assess.check_certificate(uncertified, scores, labels, epsilon=0.3).verdict == "not contradicted"


def test_sentences_for_every_verdict_are_distinct() -> None:
    model = model_of([0.2, 0.5, 0.8])
    sizes_and_rates = itertools.product((30, 5000), ([0.2, 0.5, 0.8], [0.24, 0.5, 0.8], [0.4, 0.5, 0.8]))
    sentences = {str(assess.check_certificate(model, *samples_of(rates, size))) for size, rates in sizes_and_rates}
    assert any(sentence.startswith("Confirmed") for sentence in sentences)
    assert any("; confirmed in " in sentence for sentence in sentences)
    assert any(sentence.startswith("Not contradicted") for sentence in sentences)
    assert any(sentence.startswith("Contradicted") for sentence in sentences)
