"""The check of a certificate on averages: label - served value in each evidence bin."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import fastbin as fb
from fastbin import assess
from fastbin.assess.bin_tests import BoundedMean, Frequency, chance_at_least, chance_at_most, relative_entropy
from fastbin.assess.bin_tests import tests_of_averages as averages_of

RNG = np.random.default_rng(5)


def model_of(values: list[list[float]], count: int = 1200) -> fb.BinnedModel:
    """Bins of equal width, each cut into equal steps of these values, with a tally that agrees with them."""
    first_step = np.cumsum([0, *map(len, values)])[:-1]
    edges = [(b + j / len(bin_)) / len(values) for b, bin_ in enumerate(values) for j in range(len(bin_))][1:]
    return fb.BinnedModel.from_parts(
        edges=edges, values=[value for bin_ in values for value in bin_], first_step=first_step,
        step_counts=[count // len(bin_) for bin_ in values for _ in bin_], counts=[count] * len(values),
        label_sums=[round(count * float(np.mean(bin_))) for bin_ in values], scheme="certified", ties="upper",
        n_bins_asked=len(values),
    )  # fmt: skip


def test_the_bound_is_one_for_every_binomial() -> None:
    for count, mu in [(5, 0.2), (40, 0.5), (40, 0.03), (200, 0.9)]:
        claim = BoundedMean(0.0, mu, 0.0, 1.0, 0.1)
        other = BoundedMean(mu, 1.0, 0.0, 1.0, 0.1)
        for x in range(count + 1):
            above, below = chance_at_least(x, count, mu), chance_at_most(x, count, mu)
            assert claim.p_value(x, count) >= min(1.0, 2.0 * above) * (1 - 1e-12) or x <= mu * count
            assert other.p_value(x, count) >= min(1.0, 2.0 * below) * (1 - 1e-12) or x >= mu * count


def test_relative_entropy_by_hand() -> None:
    assert relative_entropy(0.5, 0.25) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    assert relative_entropy(0.3, 0.3) == 0.0
    assert relative_entropy(0.0, 0.25) == pytest.approx(-math.log(0.75))
    assert relative_entropy(1.0, 0.25) == pytest.approx(math.log(4.0))
    assert relative_entropy(0.1, 0.0) == relative_entropy(0.9, 1.0) == math.inf
    for t in (0.1, 0.4):  # Pinsker: Hoeffding's exponent is never larger
        assert relative_entropy(t, 0.3) >= 2.0 * (t - 0.3) ** 2


def test_intervals_and_tests_are_dual() -> None:
    for total, count in [(3.0, 40), (-11.0, 60), (0.0, 10)]:
        test = BoundedMean(-0.1, 0.2, -0.6, 0.8, 0.4)
        low, high = test.interval(total, count, 0.1)
        assert test.least <= low <= total / count <= high <= test.most
        for end, is_upper in ((low, False), (high, True)):
            if test.least < end < test.most:
                moved = test._replace(upper=end) if not is_upper else test._replace(lower=end)
                bound = moved._tail(total / count, count, end, above=not is_upper)
                assert bound == pytest.approx(0.05, rel=1e-6)
    assert BoundedMean(-0.1, 0.1, -0.6, 0.8, 0.4).interval(0.0, 0, 0.1) == (-0.6, 0.8)


def test_what_is_tested_is_label_less_served_value() -> None:
    model = model_of([[0.1, 0.2, 0.4], [0.5, 0.5], [0.6, 0.9]])
    scores = RNG.random(900)
    labels = (RNG.random(900) < 0.5).astype(int)
    check = assess.check_certificate(model, scores, labels, epsilon=0.1)
    bins, served = model.assign(scores), model.predict(scores)
    for b in range(3):
        z = (labels - served)[bins == b]
        low, high = served[bins == b].min(), served[bins == b].max()
        assert check.counts[b] == len(z)
        assert check.label_sums[b] == labels[bins == b].sum()
        assert np.isclose(check.mean_served[b], served[bins == b].mean())
        assert np.allclose(check.claims[b], [-0.1, 0.1])
        if low < high:
            mean, width = z.mean(), 1.0 + high - low
            worst = math.copysign(0.1, mean)
            bound = math.exp(-len(z) * relative_entropy((mean + high) / width, (worst + high) / width))
            assert np.isclose(check.p_values[b], min(1.0, 2.0 * bound) if abs(mean) > 0.1 else 1.0)
        else:  # exactly the binomial test around the one value
            exact = assess.check_certificate(
                fb.BinnedModel.from_parts(edges=[], values=[low], counts=[9], label_sums=[4], scheme="explicit"),
                scores[bins == b], labels[bins == b], epsilon=0.1,
            )  # fmt: skip
            assert check.p_values[b] == exact.p_values[0]
            assert check.counts_to_confirm[b] > 0
    assert "Hoeffding's inequality for label - served value" in str(
        assess.check_certificate(model, scores, 1 - labels, epsilon=0.0)
    )
    assert json.loads(json.dumps(check.to_dict(), allow_nan=False))["bins"][0]["mean_served"] == check.mean_served[0]


def test_a_bin_without_test_samples_and_frequencies() -> None:
    model = model_of([[0.1, 0.2], [0.5, 0.7]])
    scores, labels, times = [0.1, 0.3, 0.3], [0, 1, 0], [4, 1, 2]
    check = assess.check_certificate(model, scores, labels, epsilon=0.2, sample_weight=times)
    repeated = assess.check_certificate(model, np.repeat(scores, times), np.repeat(labels, times), epsilon=0.2)
    assert check.to_dict() == repeated.to_dict()
    assert check.to_dict()["bins"][1]["mean_served"] is None
    assert check.verdicts[1] == "not contradicted"


@pytest.mark.parametrize("mix", ["even", "lowest step", "ends"])
def test_error_rates_for_any_mix_inside_a_bin(mix: str) -> None:
    """At the ends of the promise, where both errors are most likely; 300 draws each, alpha 0.2."""
    model = model_of([[0.1, 0.3, 0.5], [0.4, 0.6, 0.8]])
    shares = {"even": [1, 1, 1], "lowest step": [1, 0, 0], "ends": [1, 0, 1]}[mix]
    rng = np.random.default_rng(1)

    def verdicts(shift: list[float]) -> list[str]:
        found = []
        for _ in range(300):
            step = rng.choice(3, 800, p=np.array(shares) / np.sum(shares))
            bins = np.repeat([0, 1], 400)
            scores = (bins + (step + 0.5) / 3) / 2
            rates = np.clip(model.predict(scores) + np.array(shift)[bins], 0.0, 1.0)
            labels = rng.random(800) < rates
            found.append(assess.check_certificate(model, scores, labels, epsilon=0.1, alpha=0.2).verdict)
        return found

    most = 300 * 0.2 + 3 * math.sqrt(300 * 0.2 * 0.8)
    assert verdicts([0.1, -0.1]).count("contradicted") <= most
    assert verdicts([0.1001, 0.0]).count("confirmed") <= most
    assert verdicts([0.0, 0.3]).count("contradicted") > 250


def test_sample_sizes_are_enough() -> None:
    model = model_of([[0.05, 0.1], [0.4, 0.5, 0.6], [0.8, 0.9]])
    needed = int(assess.samples_to_check(model, epsilon=0.1, power=0.8))
    rng = np.random.default_rng(2)

    def confirmed(size: int) -> float:
        scores = (rng.permuted(np.tile(np.arange(3), math.ceil(size / 3))) + rng.random(3 * math.ceil(size / 3))) / 3
        served = model.predict(scores)
        checks = [assess.check_certificate(model, scores, rng.random(len(scores)) < served, epsilon=0.1) for _ in range(150)]
        return float(np.mean([check.verdict == "confirmed" for check in checks]))

    assert confirmed(needed) >= 0.8 - 3 * 0.033
    assert confirmed(int(0.6 * needed)) < 0.7
    assert assess.samples_to_check(model, epsilon=0.0) == math.inf


@pytest.mark.filterwarnings("ignore:ties left")
def test_a_true_certificate_is_borne_out_and_a_false_one_contradicted() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(2000)
    for decimals in (None, 1):
        seen = scores if decimals is None else scores.round(decimals)
        cal = fb.CertifiedCalibration(5, seed=1)
        cal.fit(seen, rng.random(2000) < scores**2)
        new = rng.random(20000)
        test = new if decimals is None else new.round(decimals)
        check = assess.check_certificate(cal, test, rng.random(20000) < new**2)
        assert check.verdict != "contradicted"
        assert check.samples_to_confirm < 40000
        broken = assess.check_certificate(cal, test, rng.random(20000) < new**4)
        assert broken.verdict == "contradicted"
        assert "the average of what is served is farther from the frequency than was promised" in str(broken)
        assert broken.samples_to_contradict < 20000


def test_tests_of_a_bin_that_held_no_sample() -> None:
    model = model_of([[0.1, 0.2], [0.5, 0.7]])._replace(
        step_counts=[0, 0, 600, 600], counts=[0, 1200], label_sums=[0, 720], n_samples=1200, n_positive=720
    )
    tests = averages_of(model, np.array([0.1, 0.1]))
    assert isinstance(tests[0], BoundedMean)
    assert tests[0].deviation == pytest.approx(math.sqrt((0.1 * 0.9 + 0.2 * 0.8) / 2))
    assert not isinstance(tests[0], Frequency)
