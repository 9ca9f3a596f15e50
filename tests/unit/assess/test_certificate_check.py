"""The test of a certificate: its verdicts, its error rates, and the sample sizes that it asks for."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from checked import cells_of, model_of, samples_of
from commands import run
from wordings import refused

import fastbin as fb
from fastbin import assess
from fastbin._base.shown import outwards
from fastbin.assess.bin_tests import (
    BoundedMean,
    Frequency,
    _count_from,
    chance_at_least,
    chance_at_most,
    intervals_of_means,
    relative_entropies,
    relative_entropy,
    smallest_count,
)
from fastbin.assess.bin_tests import tests_of_averages as averages_of
from fastbin.assess.verdict import NEW_ROWS
from fastbin.guarantees import Certificate
from fastbin.report import assess_model, render_report


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
        drawn = (
            assess.check_certificate(model, scores, rng.random(900) < rates, epsilon=0.1, test_level=0.2) for _ in range(400)
        )
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

    count = int(smallest_count(Frequency(lower, upper, frequency).confirming(alpha), power))
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
        refused(fb.InputError, f"kind '{kind}'", assess.check_certificate, model, scores, labels, certificate=certificate)
    with pytest.raises(fb.InputError, match="give the promise to check once"):
        assess.check_certificate(model, scores, labels, certificate=model.certificate(), epsilon=0.1)
    refused(fb.GuaranteeError, "real weights", assess.check_certificate, model, scores, labels, sample_weight=np.ones(20))
    refused(fb.InputError, "scores is empty", assess.check_certificate, model, [], [])
    without = np.zeros(20, int)
    refused(fb.InputError, "0 for every row", assess.check_certificate, model, scores, labels, sample_weight=without)
    refused(fb.InputError, "0 for every row", assess.audit_groups, model, scores, labels, ["a"] * 20, sample_weight=without)
    refused(fb.InputError, "scores has 20, labels has 19", assess.check_certificate, model, scores, labels[:-1])
    refused(fb.InputTypeError, "model is of type dict", assess.check_certificate, {}, scores, labels)
    other: Certificate = model_of([0.1, 0.2, 0.3]).certificate()
    with pytest.raises(fb.InputError, match="about 3 bins, and the model has 2"):
        assess.check_certificate(model, scores, labels, certificate=other)
    platt = fb.BinnedModel.from_parts(
        edges=[], values=[], scheme="platt", kind="smooth", map="logistic", map_parameters=(1.0, 0.0)
    )
    refused(fb.InputError, "kind 'smooth'", assess.check_certificate, platt, scores, labels, epsilon=0.1)
    uncertified = fb.BinnedModel.from_parts(
        edges=[0.5], values=[0.2, 0.6], scheme="isotonic", counts=[10, 10], label_sums=[2, 6]
    )
    refused(fb.GuaranteeError, "isotonic", assess.check_certificate, uncertified, scores, labels)
    assert assess.check_certificate(uncertified, scores, labels, epsilon=0.3).verdict == "not contradicted"


def test_sentences_for_every_verdict_are_distinct() -> None:
    model = model_of([0.2, 0.5, 0.8])
    sizes_and_rates = itertools.product((30, 5000), ([0.2, 0.5, 0.8], [0.24, 0.5, 0.8], [0.4, 0.5, 0.8]))
    sentences = {str(assess.check_certificate(model, *samples_of(rates, size))) for size, rates in sizes_and_rates}
    assert any(sentence.startswith("Confirmed") for sentence in sentences)
    assert any("; confirmed in " in sentence for sentence in sentences)
    assert any(sentence.startswith("Not contradicted") for sentence in sentences)
    assert any(sentence.startswith("Contradicted") for sentence in sentences)


# ------------------------------------------------------------------------------------------------- the check of a set


SET = fb.ModelSet(
    {"north": model_of([0.2, 0.5]), "south": model_of([0.1, 0.4, 0.7], 2000)}, pool=model_of([0.5], 500), pooled_cells=["isle"]
)
VALUES: dict[str, list[float]] = {"north": [0.2, 0.5], "south": [0.1, 0.4, 0.7], "isle": [0.5]}


def test_every_model_is_checked_at_its_share() -> None:
    scores, labels, cells = cells_of(VALUES | {"south": [0.1, 0.48, 0.7]}, 3000)
    check = assess.check_certificate(SET, scores, labels, cells=cells, test_level=0.06)
    joint = SET.certificate()
    assert [name for name, _ in check.parts] == ["north", "south", None]
    for (name, part), (named, promise) in zip(check.parts, joint.parts, strict=True):
        assert name == named
        own = cells == (name or "isle")
        model = SET.pool if name is None else SET[name]
        alone = assess.check_certificate(
            model, scores[own], labels[own], certificate=promise, test_level=0.02, power=0.9 ** (1 / 3)
        )
        assert part.to_dict() == alone.to_dict()
    assert check.verdict == "contradicted"
    assert check.names_with("contradicted") == ["south"]
    assert math.isclose(check.p_value, min(1.0, 3 * min(part.p_value for _, part in check.parts)))
    assert str(check).startswith(
        "Contradicted by 18,000 new rows: of 3 models, the frequencies lie outside the promised range for "
    )
    assert "'south' (bin 1)" in str(check)


def test_joint_verdicts() -> None:
    def verdict(rates: dict[str, list[float]], count: int) -> assess.SetCheck:
        scores, labels, cells = cells_of(rates, count)
        return assess.check_certificate(SET, scores, labels, cells=cells)

    assert verdict(VALUES, 30000).verdict == "confirmed"
    few = verdict(VALUES, 100)
    assert few.verdict == "not contradicted"
    assert few.samples_to_confirm > few.n_samples
    assert str(few).startswith("Not contradicted by 600 new rows (a difference of ")
    enough = verdict(VALUES, math.ceil(few.samples_to_confirm / 6))
    assert enough.verdict == "confirmed"
    some = verdict(VALUES | {"north": [0.29, 0.5]}, 100)
    assert (some.verdict, math.isfinite(some.samples_to_contradict)) == ("not contradicted", True)
    missing = verdict({"north": [0.2, 0.5], "south": [0.1, 0.4, 0.7]}, 30000)
    assert missing.verdict == "not contradicted"
    assert missing.names_with("not contradicted") == [None]
    assert json.loads(json.dumps(few.to_dict()))["parts"][2]["cell"] is None


def test_models_without_samples_and_unknown_cells_have_no_claim() -> None:
    models = fb.ModelSet(
        {"a": model_of([0.2, 0.6]), "b": model_of([0.5], 0)}, pool=model_of([0.5]), pooled_cells=["c"], unknown="pool"
    )
    scores, labels, cells = cells_of({"a": [0.2, 0.6], "b": [0.9], "c": [0.5], "z": [0.0]}, 20000)
    check = assess.check_certificate(models, scores, labels, cells=cells)
    assert (check.verdict, check.n_samples, check.n_unknown) == ("confirmed", 80000, 20000)
    assert check["b"].verdicts == ("no claim",)
    few = np.arange(0, len(cells), 400)
    off = assess.check_certificate(models, scores[few], 1 - labels[few], cells=cells[few])
    assert off.p_value == 2.0 * min(off["a"].p_value, off[None].p_value) > 0.0
    shares = [(off[key].n_samples + 1) / (off.n_samples + 3) for key in ("a", None)]
    sizes = [np.ceil(off[key].samples_to_contradict / share) for key, share in zip(("a", None), shares, strict=True)]
    assert off.samples_to_contradict == min(sizes) < 1000
    audit = assess.audit_groups(models, scores, labels, np.arange(len(cells)) % 2, cells=cells)
    assert (audit.verdict, audit.n_unknown) == ("confirmed", 20000)
    assert audit["0"].cells == ("a", "a", "b", None)
    assert audit["0"].verdicts == ("confirmed", "confirmed", "no claim", "confirmed")


def test_tied_scores_follow_the_keys_of_their_rows() -> None:
    """Row i gets the key of (seed, i), whatever the other rows are: as the set itself scores them."""
    rng = np.random.default_rng(5)

    def fit() -> fb.BinnedModel:
        tied = rng.integers(0, 4, 1000) / 4
        return fb.UniformMassBinning(n_bins=5, ties="random").fit(tied, rng.random(1000) < tied).model_

    models = fb.ModelSet({0: fit(), 1: fit()})
    scores, cells = rng.integers(0, 4, 2000) / 4, rng.integers(0, 2, 2000)
    labels = rng.random(2000) < scores
    for keys, seed in ((None, 7), (rng.random(2000), 0)):
        check = assess.check_certificate(models, scores, labels, cells=cells, tie_keys=keys, seed=seed)
        bins = models.assign_all(scores, cells, tie_keys=keys, seed=None if keys is not None else seed)
        expected = np.bincount(bins, minlength=models.n_bins)
        assert np.concatenate([part.counts for _, part in check.parts]).tolist() == expected.tolist()


def test_the_calibration_set_confirms_nothing() -> None:
    rng = np.random.default_rng(0)
    scores, cells = rng.random(4000), rng.integers(0, 2, 4000)
    labels = rng.random(4000) < scores
    models = fb.ModelSet(
        {key: fb.UniformMassBinning(n_bins=3).fit(scores[cells == key], labels[cells == key]) for key in (0, 1)}
    )
    check = assess.check_certificate(models, scores, labels, cells=cells, epsilon=0.3)
    assert (check.verdict, check.is_calibration_set) == ("not contradicted", True)
    assert "are those that a model was fitted to" in str(check)
    new = np.where(cells == 1, rng.random(4000), scores)
    again = assess.check_certificate(
        models, new, np.where(cells == 1, rng.random(4000) < new, labels), cells=cells, epsilon=0.3
    )
    assert again.is_calibration_set, "one model was fitted to its rows"
    refused(fb.GuaranteeError, "calibration set", assess.audit_groups, models, scores, labels, cells, cells=cells)


def test_joint_errors_are_as_rare_as_stated() -> None:
    """400 test sets at the ends of what is promised, alpha .2: the joint verdict is seldom wrong."""
    rng, runs, contradicted = np.random.default_rng(1), 400, 0
    scores, _, cells = cells_of({name: [0.0] * len(own) for name, own in VALUES.items()}, 200)
    ends = {"north": [0.3, 0.4], "south": [0.0, 0.5, 0.6], "isle": [0.6]}
    truth = np.repeat([rate for own in ends.values() for rate in own], 200)
    for _ in range(runs):
        check = assess.check_certificate(SET, scores, rng.random(len(truth)) < truth, cells=cells, epsilon=0.1, test_level=0.2)
        contradicted += check.verdict == "contradicted"
    assert 0.02 * runs < contradicted <= runs * 0.2 + 3 * math.sqrt(runs * 0.2 * 0.8)


SCORES, LABELS, CELLS = cells_of(VALUES, 10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({}, "cells is missing; a set scores each row"),
        ({"cells": CELLS[1:]}, "cells has 59"),
        ({"cells": ["nowhere", *CELLS[1:]]}, r"cells\[0\] is 'nowhere'"),
        ({"cells": CELLS, "certificate": model_of([0.5]).certificate()}, "is that of one model"),
        ({"cells": CELLS, "epsilon": 0.1, "certificate": SET.certificate()}, "give the promise to check once"),
        ({"cells": CELLS, "certificate": SET.certificate(kind="ece")}, "kind 'ece'"),
        ({"cells": CELLS, "test_level": 0.9}, "test_level"),
    ],
)
def test_what_cannot_be_checked_of_a_set_is_refused(call: dict[str, Any], message: str) -> None:
    refused(fb.InputError, message, assess.check_certificate, SET, SCORES, LABELS, **call)


def test_scores_and_labels_are_refused_by_their_row() -> None:
    scores = SCORES.copy()
    scores[37] = 1.5
    refused(fb.InputError, r"scores\[37\] is 1.5", assess.check_certificate, SET, scores, LABELS, cells=CELLS)
    with pytest.raises(fb.GuaranteeError, match="real weights"):
        assess.check_certificate(SET, SCORES, LABELS, cells=CELLS, sample_weight=np.ones(60))
    refused(fb.InputError, "model is one model and no set", assess.check_certificate, SET["north"], SCORES, LABELS, cells=CELLS)
    with pytest.raises(fb.InputError, match="that of a set of models, and model is one model"):
        assess.check_certificate(SET["north"], SCORES, LABELS, certificate=SET.certificate())
    smooth = fb.ModelSet({"east": fb.PlattScaling().fit(SCORES, LABELS)})
    with pytest.raises(fb.InputError, match="the model is of kind 'smooth'"):
        assess.check_certificate(smooth, SCORES, LABELS, cells=np.full(60, "east"), epsilon=0.1)
    with pytest.raises(fb.GuaranteeError, match="cell 'east': platt scaling has no"):
        assess.check_certificate(smooth, SCORES, LABELS, cells=np.full(60, "east"))
    other = fb.ModelSet({"east": model_of([0.2, 0.5])})
    with pytest.raises(fb.InputError, match="the certificate is about 'north', 'south', the pool, which"):
        assess.check_certificate(other, SCORES, LABELS, cells=np.full(60, "east"), certificate=SET.certificate())


# ------------------------------------------------------------------------------------------------- verdicts in words


DOCS = Path(__file__).parents[3] / "docs" / "assessment.md"


def test_the_interval_that_is_shown_decides() -> None:
    rng, seen = np.random.default_rng(0), set()
    models = [model_of([0.02, 0.3, 0.5, 0.97]), fb.CertifiedCalibration(4).fit(*_drawn(2000, 1)).model_]
    for model in models:
        for _ in range(60):
            scores = rng.random(3000)
            labels = rng.random(3000) < np.clip(model.predict(scores) + rng.normal(0.0, 0.05), 0.0, 1.0)
            check = assess.check_certificate(model, scores, labels, epsilon=0.1)
            frame = check.to_pandas()
            misses = (frame.interval_lower > frame.claim_upper) | (frame.interval_upper < frame.claim_lower)
            inside = (frame.interval_lower >= frame.claim_lower) & (frame.interval_upper <= frame.claim_upper)
            expected = np.select([misses, inside], ["contradicted", "confirmed"], "not contradicted")
            assert frame.verdict.tolist() == expected.tolist()
            assert (check.verdict == "confirmed") == bool(inside.all())
            assert (check.verdict == "contradicted") == bool(misses.any())
            assert (check.p_value <= check.test_level) == bool(misses.any())
            seen |= set(expected)
    assert seen == {"contradicted", "confirmed", "not contradicted"}


def _drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, rng.random(n) < scores


def test_a_group_is_judged_by_its_interval_too() -> None:
    scores, labels = _drawn(20_000, 3)
    model = fb.UniformMassBinning(4).fit(*_drawn(2000, 2)).model_
    audit = assess.audit_groups(model, scores, labels, np.arange(20_000) % 3)
    assert {verdict for group in audit.groups for verdict in group.verdicts} >= {"confirmed", "not contradicted"}
    for group in audit.groups:
        inside = (group.intervals[:, 0] >= group.claims[:, 0]) & (group.intervals[:, 1] <= group.claims[:, 1])
        assert [verdict == "confirmed" for verdict in group.verdicts] == inside.tolist()


def seen_with(check: assess.CertificateCheck, bin_: int, frequency: float) -> float:
    """The chance that the bin is contradicted on this side of its value, by adding up the binomial law."""
    n, tail = int(check.counts[bin_]), check.interval_alpha / 2.0
    value, (low, high) = float(check.claims[bin_].mean()), check.claims[bin_].tolist()
    law = [math.comb(n, x) * frequency**x * (1.0 - frequency) ** (n - x) for x in range(n + 1)]
    if frequency > value:
        return sum(chance for x, chance in enumerate(law) if chance_at_least(x, n, high) <= tail)
    return sum(chance for x, chance in enumerate(law) if chance_at_most(x, n, low) <= tail)


@pytest.mark.parametrize("power", [0.5, 0.9, 0.99])
def test_what_would_have_been_seen_is_exact(power: float) -> None:
    values, counts = [0.2, 0.5, 0.8], [40, 150, 300]
    check = assess.check_certificate(model_of(values), *samples_of(values, counts), epsilon=0.1, power=power)
    for b, (value, difference) in enumerate(zip(values, check.detectable.tolist(), strict=True)):
        sides = [side for side in (value - difference, value + difference) if 0.0 <= side <= 1.0]
        assert sides
        chances = [seen_with(check, b, side) for side in sides]
        assert min(chances) >= power - 1e-9
        if len(sides) == 2:  # a little less is not always seen
            less = [seen_with(check, b, value + sign * (difference - 1e-3)) for sign in (-1.0, 1.0)]
            assert min(less) < power
    largest = f"{math.ceil(check.detectable.max() * 1e4) / 1e4:.4f}"
    assert f"a difference of {largest} in one bin would have been seen with probability {power:g}" in str(check)


def test_a_difference_of_averages_is_seen_at_least_so_often() -> None:
    """Whatever the mix: the rates of the steps differ by more or less, and by the difference on average."""
    model = fb.CertifiedCalibration(3).fit(*_drawn(3000, 4)).model_
    rng = np.random.default_rng(5)
    scores = rng.random(1500)
    check = assess.check_certificate(model, scores, rng.random(1500) < scores)
    bins, served = model.assign(scores), model.predict(scores)
    for b in range(3):
        own, difference = bins == b, float(check.detectable[b])
        sign = 1.0 if served[own].mean() < 0.5 else -1.0
        shifted = served + np.where(own, sign * difference, 0.0)
        assert ((shifted >= 0.0) & (shifted <= 1.0)).all()
        seen = [
            assess.check_certificate(model, scores, rng.random(1500) < shifted).verdicts[b] == "contradicted" for _ in range(80)
        ]
        assert np.mean(seen) >= 0.9 - 3 * math.sqrt(0.09 / 80)


def test_bins_that_show_nothing_are_named() -> None:
    model = model_of([0.2, 0.5, 0.8])
    check = assess.check_certificate(model, *samples_of([0.2, 0.5, 0.8], [500, 2, 0]), epsilon=0.1)
    assert np.isinf(check.detectable).tolist() == [False, True, True]
    assert "in bins 1, 2 no difference would have been seen; a difference of" in str(check)
    assert json.loads(json.dumps(check.to_dict(), allow_nan=False))["bins"][1]["detectable"] is None


def test_the_level_stands_in_the_header() -> None:
    model, (scores, labels) = model_of([0.2, 0.5, 0.6, 0.8]), samples_of([0.2, 0.5, 0.6, 0.8], [500] * 4)
    check = assess.check_certificate(model, scores, labels)
    assert check.interval_alpha == float(Fraction(5, 100) / 4)
    assert "<th>interval (98.75 % each)</th>" in check._repr_html_()
    page = render_report(assess_model(model, scores, labels))
    assert "test interval (98.75 % each)" in page
    assert "<th>promised</th>" in page
    assert outwards(*check.intervals[0]) in page


def test_sample_sizes_are_computed_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    for name in ("samples_to_confirm", "samples_to_contradict", "counts_to_confirm"):
        own = getattr(assess.bin_tests.Sizes, name)
        monkeypatch.setattr(assess.bin_tests.Sizes, name, lambda self, own=own, name=name: asked.append(name) or own(self))
    check = assess.check_certificate(model_of([0.2, 0.5]), *samples_of([0.2, 0.5], [300, 300]))
    assert str(check)
    assert check._repr_html_()
    assert asked == []
    assert check.samples_to_confirm > 600
    assert asked


def test_every_verdict_says_that_rows_must_be_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scores, labels = _drawn(2000, 6)
    model = fb.UniformMassBinning(4).fit(scores[:1000], labels[:1000]).model_
    # A part of the calibration rows is not recognised.
    for rows in (slice(1000, None), slice(0, 900), slice(0, 1000)):
        check = assess.check_certificate(model, scores[rows], labels[rows])
        assert str(check).endswith(NEW_ROWS)
        assert NEW_ROWS in check._repr_html_()
        assert check.to_dict()["requires"] == NEW_ROWS
    assert str(assess.check_certificate(model, 1.0 - scores, labels)).endswith(NEW_ROWS)
    audit = assess.audit_groups(model, scores[1000:], labels[1000:], np.arange(1000) % 2)
    assert str(audit).endswith(NEW_ROWS)
    assert audit.to_dict()["requires"] == NEW_ROWS
    models = fb.ModelSet({"a": model})
    of_set = assess.check_certificate(models, scores[1000:], labels[1000:], cells=np.full(1000, "a"))
    assert str(of_set).endswith(NEW_ROWS)
    assert of_set.to_dict()["requires"] == NEW_ROWS
    found = assess_model(model, scores[1000:], labels[1000:])
    assert NEW_ROWS in str(found)
    assert NEW_ROWS in found._repr_html_()
    assert render_report(found).count(NEW_ROWS) >= 2
    model.save("m.fbm")
    rows = [f"{score!r},{int(label)}" for score, label in zip(scores[1000:].tolist(), labels[1000:], strict=True)]
    Path("t.csv").write_text("\n".join(["score,label", *rows]) + "\n")
    shown = run("assess", "m.fbm", "t.csv")
    assert NEW_ROWS in " ".join(shown.output.split())
    assert NEW_ROWS in run("assess", "m.fbm", "t.csv", "--json").output
    assert NEW_ROWS in " ".join(DOCS.read_text(encoding="utf8").split())
    assert NEW_ROWS in str(assess.check_certificate.__doc__)


# ------------------------------------------------------------------------------------------------- averages


RNG = np.random.default_rng(5)


def fine_model_of(values: list[list[float]], count: int = 1200) -> fb.BinnedModel:
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
    pairs = np.array([(0.5, 0.25), (0.3, 0.3), (0.0, 0.25), (1.0, 0.25), (0.1, 0.0), (0.9, 1.0), (0.0, 0.0), (1.0, 1.0)])
    one_by_one = [relative_entropy(t, mu) for t, mu in pairs.tolist()]
    np.testing.assert_allclose(relative_entropies(*pairs.T), one_by_one, rtol=1e-14)
    for t in (0.1, 0.4):  # Pinsker: Hoeffding's exponent is never larger
        assert relative_entropy(t, 0.3) >= 2.0 * (t - 0.3) ** 2


def test_intervals_and_tests_are_dual() -> None:
    for total, count in [(3.0, 40), (-11.0, 60), (0.0, 10)]:
        test = BoundedMean(-0.1, 0.2, -0.6, 0.8, 0.4)
        ((low, high),) = intervals_of_means([test], np.array([total]), np.array([count]), 0.1).tolist()
        assert test.least <= low <= total / count <= high <= test.most
        for end, is_upper in ((low, False), (high, True)):
            if test.least < end < test.most:
                moved = test._replace(upper=end) if not is_upper else test._replace(lower=end)
                bound = moved._tail(total / count, count, end, above=not is_upper)
                assert bound == pytest.approx(0.05, rel=1e-6)
    unseen = BoundedMean(-0.1, 0.1, -0.6, 0.8, 0.4)
    assert intervals_of_means([unseen], np.array([0.0]), np.array([0]), 0.1).tolist() == [[-0.6, 0.8]]


@pytest.mark.parametrize(("lower", "upper"), [(-0.1, 0.2), (-0.6, 0.1), (-0.11, 0.8)])
def test_the_chance_to_confirm_a_mean_is_that_of_intervals_within_the_claim(lower: float, upper: float) -> None:
    test, count, means = BoundedMean(lower, upper, -0.6, 0.8, 0.4), 400, np.linspace(-0.6, 0.8, 7001)
    low, high = intervals_of_means([test] * len(means), means * count, np.full(len(means), count), 0.1).T
    within = means[(low >= lower) & (high <= upper)]
    ends = (within.max() if upper < 0.8 else 9.0, within.min() if lower > -0.6 else -9.0)
    chance = float(np.subtract(*scipy.stats.norm.cdf(np.array(ends) / 0.4 * math.sqrt(count))))
    assert test.confirming(0.05)(count) == pytest.approx(chance, abs=0.01)  # type: ignore[misc]
    assert 0.1 < chance < 0.95


def test_label_sums_are_whole() -> None:
    assert [_count_from(total, 5) for total in (-0.5, 4.2, 5.0, 5.1)] == [0, 5, 5, 6]


def test_what_is_tested_is_label_less_served_value() -> None:
    model = fine_model_of([[0.1, 0.2, 0.4], [0.5, 0.5], [0.6, 0.9]])
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
    model = fine_model_of([[0.1, 0.2], [0.5, 0.7]])
    scores, labels, times = [0.1, 0.3, 0.3], [0, 1, 0], [4, 1, 2]
    check = assess.check_certificate(model, scores, labels, epsilon=0.2, sample_weight=times)
    repeated = assess.check_certificate(model, np.repeat(scores, times), np.repeat(labels, times), epsilon=0.2)
    assert check.to_dict() == repeated.to_dict()
    assert check.to_dict()["bins"][1]["mean_served"] is None
    assert check.verdicts[1] == "not contradicted"


@pytest.mark.parametrize("mix", ["even", "lowest step", "ends"])
def test_error_rates_for_any_mix_inside_a_bin(mix: str) -> None:
    """At the ends of the promise, where both errors are most likely; 120 draws each, alpha 0.2."""
    model = fine_model_of([[0.1, 0.3, 0.5], [0.4, 0.6, 0.8]])
    shares = {"even": [1, 1, 1], "lowest step": [1, 0, 0], "ends": [1, 0, 1]}[mix]
    rng = np.random.default_rng(1)

    def verdicts(shift: list[float]) -> list[str]:
        found = []
        for _ in range(120):
            step = rng.choice(3, 800, p=np.array(shares) / np.sum(shares))
            bins = np.repeat([0, 1], 400)
            scores = (bins + (step + 0.5) / 3) / 2
            rates = np.clip(model.predict(scores) + np.array(shift)[bins], 0.0, 1.0)
            labels = rng.random(800) < rates
            found.append(assess.check_certificate(model, scores, labels, epsilon=0.1, test_level=0.2).verdict)
        return found

    most = 120 * 0.2 + 3 * math.sqrt(120 * 0.2 * 0.8)
    assert verdicts([0.1, -0.1]).count("contradicted") <= most
    assert verdicts([0.1001, 0.0]).count("confirmed") <= most
    assert verdicts([0.0, 0.3]).count("contradicted") > 100


def test_sample_sizes_are_enough() -> None:
    model = fine_model_of([[0.05, 0.1], [0.4, 0.5, 0.6], [0.8, 0.9]])
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


def test_what_draws_add_to_a_value_counts() -> None:
    """Values of up to (v + delta) / (1 + delta) are served: confirmed is that all of them are within epsilon of the truth."""
    rng = np.random.default_rng(8)
    model = fb.UniformMassBinning(n_bins=1, delta=0.05).fit(rng.random(4000), np.arange(4000) < 1760)
    epsilon, value = model.certificate().epsilon, float(model.model_.values[0])
    low, high = value / 1.05, (value + 0.05) / 1.05
    scores = rng.random(400_000)

    def verdict(rate: float) -> str:
        return assess.check_certificate(model, scores, np.arange(400_000) < 400_000 * rate).verdict

    assert verdict(low + epsilon - 0.01) == verdict(high - epsilon + 0.01) == "confirmed"
    assert verdict(low + epsilon + 0.01) == verdict(high - epsilon - 0.01) == "contradicted"
    audit = assess.audit_groups(model, scores, np.arange(400_000) < 400_000 * value, groups=np.zeros(400_000, int))
    assert audit.groups[0].epsilon >= high - value
    with pytest.raises(fb.InputError, match=r"epsilon is 0\.01, and draws serve values from 0\.41"):
        assess.check_certificate(model, scores[:10], np.ones(10, int), epsilon=0.01)


@pytest.mark.parametrize("value", [0.0, 0.001, 0.125, 1.0])
@pytest.mark.parametrize("power", [0.5, 0.9])
def test_sample_sizes_are_enough_though_the_counts_of_bins_vary(power: float, value: float) -> None:
    """Some of 37 bins alike gets fewer samples than its share. At values of 0 and 1 the count alone decides."""
    rng, model = np.random.default_rng(4), model_of([value] * 37)
    needed, found = int(assess.samples_to_check(model, epsilon=0.1, power=power)), 0
    for _ in range(300):
        scores = rng.random(needed)
        labels = rng.random(needed) < value
        found += assess.check_certificate(model, scores, labels, epsilon=0.1).verdict == "confirmed"
    assert abs(found / 300 - power) <= 3 * math.sqrt(power * (1 - power) / 300)


@pytest.fixture(scope="module")
def populations() -> dict[str, Any]:
    """Models whose fits had other shares of rows in their bins than the population, of uniform scores, that they are about."""
    rng = np.random.default_rng(6)
    scores = rng.random(60000)
    labels = rng.random(60000) < 0.3 * scores**3
    kept = labels | (rng.random(60000) < 0.05)
    seen = rng.random(60000) < 0.02 + 0.98 * scores
    plan = fb.decide.plan_labels(scores, epsilon=0.2, edges=[0.9])
    while len(rows := plan.rows()):
        plan.update(rows, labels[np.asarray(rows)])
    plain = fb.FixedWidthBinning(4)
    return {
        "sampled": fb.FixedWidthBinning(4, sampling_rate=0.05).fit(scores[kept], labels[kept]),
        "weighted": plain.fit(scores[seen], labels[seen], 1.0 / (0.02 + 0.98 * scores[seen])),
        "planned": plan.model_,
    }


@pytest.mark.parametrize("name", ["sampled", "weighted", "planned"])
def test_sample_sizes_are_those_of_the_population_that_a_model_is_about(name: str, populations: dict[str, Any]) -> None:
    rng, model = np.random.default_rng(7), populations[name]
    needed, found = int(assess.samples_to_check(model, epsilon=0.05)), 0
    for _ in range(60):
        scores = rng.random(needed)
        labels = rng.random(needed) < model.predict(scores)
        found += assess.check_certificate(model, scores, labels, epsilon=0.05).verdict == "confirmed"
    assert found / 60 >= 0.9 - 3 * math.sqrt(0.9 * 0.1 / 60)


def test_sample_sizes_of_a_set_allow_for_the_counts_of_cells() -> None:
    rng = np.random.default_rng(5)
    models = fb.ModelSet({cell: model_of([0.125] * 3) for cell in "abcdef"})

    def checked(size: int) -> assess.SetCheck:
        scores, labels, cells = rng.random(size), rng.random(size) < 0.125, rng.choice(list("abcdef"), size)
        return assess.check_certificate(models, scores, labels, cells=cells, epsilon=0.1)

    sizes = np.repeat([int(checked(60000).samples_to_confirm) for _ in range(5)], 40)
    found = [checked(size).verdict == "confirmed" for size in sizes]
    assert abs(np.mean(found) - 0.9) <= 3 * math.sqrt(0.9 * 0.1 / 200)


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
    model = fine_model_of([[0.1, 0.2], [0.5, 0.7]])._replace(
        step_counts=[0, 0, 600, 600], counts=[0, 1200], label_sums=[0, 720], n_samples=1200, n_positive=720
    )
    tests = averages_of(model, np.array([0.1, 0.1]), "both")
    assert isinstance(tests[0], BoundedMean)
    assert tests[0].deviation == pytest.approx(math.sqrt((0.1 * 0.9 + 0.2 * 0.8) / 2))
    assert not isinstance(tests[0], Frequency)
