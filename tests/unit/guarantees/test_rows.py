"""Promises about the calibration rows alone: fastbin, Theorem F11."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from drawn import calibrated
from simulation.evidence import fitted
from simulation.failures import ALPHA, assert_at_most, sizes
from wordings import refused

import fastbin as fb
from fastbin import GuaranteeError, InputError, guarantees
from fastbin.intervals import clopper_pearson, sidak
from fastbin.intervals.binomial import ends_of_rows
from reference.bounds import binomial_cdf

ABOUT = "calibration rows"


def test_the_certificate_is_that_of_intervals_around_what_rows_are_served() -> None:
    counts, ones = np.array([99, 120, 0, 50, 60]), np.array([20, 60, 0, 1, 59])
    values = np.array([0.3, 0.5, 0.5, 0.04, 0.95])
    certificate = guarantees.certify(fitted(ones, counts, values=values, delta=0.01), 0.2, about=ABOUT)
    level = sidak(0.2, 4)
    low, high = clopper_pearson(ones, counts, level).T
    low[3], high[4] = level / 100, 1.0 - level / 120
    expected = np.maximum(high - values, values - low) + 0.01
    expected[2] = 1.0
    assert certificate.radii == pytest.approx(expected, abs=1e-15)
    assert (certificate.about, certificate.bound, certificate.uncovered_bins) == (ABOUT, "clopper-pearson", (2,))


def law_of_sums(probabilities: tuple[float, ...]) -> list[float]:
    """P(sum = k) of independent labels."""
    law = [1.0]
    for p in probabilities:
        law = [(law[k] if k < len(law) else 0.0) * (1 - p) + (law[k - 1] if k else 0.0) * p for k in range(len(law) + 1)]
    return law


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_each_tail_is_missed_by_half_of_the_level_at_most_whatever_the_probabilities(n: int) -> None:
    """Over all rows of three probabilities each; the intervals of Clopper and Pearson alone would miss more often."""
    grid = (0.0, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.8, 1.0)
    worst, worst_plain = 0.0, 0.0
    for level in (0.5, 0.1, 0.01):
        sums = np.arange(n + 1)
        lower = ends_of_rows(sums, np.full(n + 1, n), level)[:, 0]
        plain = clopper_pearson(sums, np.full(n + 1, n), level)[:, 0]
        for few in combinations_with_replacement(grid, 3):
            for parts in {(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)}:
                of_rows = tuple(p for p, times in zip(few, parts, strict=True) for _ in range(times))
                law, mean = np.array(law_of_sums(of_rows)), sum(of_rows) / n
                worst = max(worst, law[lower > mean + 1e-12].sum() / (level / 2))
                worst_plain = max(worst_plain, law[plain > mean + 1e-12].sum() / (level / 2))
    assert worst <= 1.0 + 1e-9
    assert n < 3 or worst_plain > 1.0


def test_the_ends_are_those_of_the_reference() -> None:
    for n in (1, 2, 7, 30):
        for x in range(n + 1):
            (low, high), level = ends_of_rows(np.array([x]), np.array([n]), 0.1)[0], Fraction(1, 10)
            if x == 1:
                assert low == pytest.approx(float(level / 2 / n), rel=1e-15)
            elif x:
                assert 1 - binomial_cdf(x - 1, n, Fraction(float(low))) == pytest.approx(0.05, rel=1e-6)
            if x == n - 1:
                assert high == pytest.approx(float(1 - level / 2 / n), rel=1e-15)
            elif x < n:
                assert binomial_cdf(x, n, Fraction(float(high))) == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize("n", [60, 2000])
@pytest.mark.parametrize("method", [fb.UniformMassBinning, fb.CertifiedCalibration])
def test_without_ties_the_rows_between_those_at_edges_count(method: Any, n: int) -> None:
    """Counted here from the rows; those at the edges, whose labels are not averaged, are left out."""
    scores, labels = calibrated(n)
    cal = method(5).fit(scores, labels)
    bins = np.searchsorted(cal.model_.bin_edges, scores, side="right")
    own = ~np.isin(scores, cal.model_.bin_edges)
    counts, sums = np.bincount(bins[own]), np.bincount(bins[own], labels[own]).astype(int)
    served = np.bincount(bins[own], cal.predict(scores[own])) / counts
    low, high = ends_of_rows(sums, counts, sidak(0.1, 5)).T
    assert cal.certificate(0.1, about=ABOUT).radii == pytest.approx(np.maximum(high - served, served - low), abs=1e-12)


def test_whole_groups_of_ties_count_all_their_rows() -> None:
    scores, labels = calibrated(2000, 2)
    for cal in (fb.UniformMassBinning(10).fit(scores, labels), fb.CertifiedCalibration().fit(scores, labels)):
        model = cal.model_
        bins = np.searchsorted(model.bin_edges, scores, side="right")
        counts, sums = np.bincount(bins), np.bincount(bins, labels).astype(int)
        served = np.bincount(bins, cal.predict(scores)) / counts
        low, high = ends_of_rows(sums, counts, sidak(0.1, model.n_bins)).T
        radii = np.maximum(high - served, served - low)
        assert cal.certificate(0.1, about=ABOUT).radii == pytest.approx(radii, abs=1e-12)
        assert cal.certificate(0.1, about=ABOUT).epsilon < cal.certificate(0.1).epsilon  # no hull, no masses


def test_it_says_about_which_rows_it_is() -> None:
    scores, labels = calibrated()
    sentence = str(fb.UniformMassBinning(10).fit(scores, labels).certificate(about=ABOUT))
    assert sentence.startswith(
        "With probability at least 90 % over the labels of the 2,000 calibration samples, in each of the 10"
    )
    assert "at once, the probability that its samples are served is within" in sentence
    assert sentence.endswith("of the average of their true probabilities of label 1.")
    fine = fb.CertifiedCalibration().fit(scores, labels).certificate(about=ABOUT)
    assert "the average of what is served to its samples is within" in str(fine)
    assert not any("independent draws" in sentence for sentence in fine.assumptions)
    assert fine.to_dict()["about"] == ABOUT


def test_sets_promise_it_about_the_rows_of_all_cells() -> None:
    scores, labels = calibrated()
    segments = np.arange(len(scores)) % 2
    model = fb.multi.SegmentedBinning(fb.CertifiedCalibration()).fit(scores, labels, segments).model_
    joint = model.certificate(about=ABOUT)
    assert joint.about == ABOUT
    for key, part in joint.parts:
        assert part == model[key].certificate(part.alpha, about=ABOUT)
    assert math.prod(1 - part.alpha for _, part in joint.parts) == pytest.approx(0.9, abs=1e-12)
    assert "true probabilities" in str(joint)
    assert model.certificate(which=1, about=ABOUT) == model[1].certificate(about=ABOUT)


def test_what_it_is_not_known_for_is_refused() -> None:
    scores, labels = calibrated()
    cal = fb.UniformMassBinning(10).fit(scores, labels)
    refused(InputError, "kind is 'marginal'", cal.certificate, kind="marginal", about=ABOUT)
    refused(InputError, "bound is 'hull'", cal.certificate, bound="hull", about=ABOUT)
    refused(InputError, "about is 'rows'", cal.certificate, about="rows")
    refused(GuaranteeError, "isotonic", fb.IsotonicCalibration().fit(scores, labels).certificate, about=ABOUT)
    averaged = fb.UniformMassBinning(10, scheme="ze").fit(scores, labels)
    refused(GuaranteeError, "averages the row at each edge", averaged.certificate, about=ABOUT)
    whole = fb.UniformMassBinning(10, scheme="ze").fit(scores.round(2), labels)
    assert whole.certificate(about=ABOUT).about == ABOUT, "whole groups of equal scores lie above their edge"
    moved = fb.shift.LabelShift(cal, method="known", target_rate=0.2).fit()
    refused(GuaranteeError, "moved to other class rates", moved.certificate, about=ABOUT)


def dependent_rows(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Scores and true probabilities of rows that nobody drew from a population: repeated customers, drift, one rate a day."""
    customers = rng.integers(0, n // 8, n)
    scores = np.round(rng.random(n // 8)[customers], 3)
    day = np.sort(rng.random(n))
    return scores, np.clip(0.6 * scores + 0.3 * np.sin(6.0 * day) + 0.1 * (customers % 3), 0.0, 1.0)


@pytest.mark.parametrize("repetitions", sizes(300, 20_000))
@pytest.mark.parametrize(
    "calibrator", [fb.UniformMassBinning(10), fb.CertifiedCalibration(), fb.CertifiedCalibration(values="isotonic")]
)
def test_rows_that_are_no_draws_keep_the_promise(calibrator: Any, repetitions: int) -> None:
    rng = np.random.default_rng([5, repetitions])
    scores, truth = dependent_rows(rng, 600)
    misses = 0
    for _ in range(repetitions):
        labels = (rng.random(len(scores)) < truth).astype(np.uint8)
        cal = calibrator.fit(scores, labels)
        model, certificate = cal.model_, cal.certificate(ALPHA, about=ABOUT)
        bins = np.searchsorted(model.bin_edges, scores, side="right")
        counts = np.bincount(bins)
        served, true = (np.bincount(bins, column) / counts for column in (cal.predict(scores), truth))
        misses += bool((np.abs(served - true) > np.array(certificate.radii) + 1e-12).any())
    assert_at_most(misses, repetitions)


# ---------------------------------------------------------------------------------------------- all that a model supports


def test_all_promises_of_a_model_in_one_table() -> None:
    scores, labels = calibrated()
    bins, fine = fb.UniformMassBinning(10).fit(scores, labels), fb.CertifiedCalibration().fit(scores, labels)
    promises = bins.certificates(0.2)
    ways = [(kind, "population") for kind in ("conditional", "marginal", "ece", "expected-ece", "ratio")]
    means = [(f"mean-{kind}", "population") for kind in ("error", "overestimate", "underestimate")]
    every = [*ways, *means, ("conditional", ABOUT), ("mean-error", ABOUT)]
    assert [(each.kind, each.about) for each in promises.certificates] == every
    assert list(promises.certificates) == [bins.certificate(0.2, kind, about=about) for kind, about in every]
    assert [row["epsilon"] for row in promises] == [each.epsilon for each in promises.certificates]
    assert all(str(each) in str(promises) for each in promises.certificates)
    assert "<table" in promises._repr_html_()
    assert [(each.kind, each.about) for each in fine.model_.certificates().certificates] == [
        *ways[:3], *every[4:],
    ]  # fmt: skip
    of_set = fb.multi.SegmentedBinning(fb.CertifiedCalibration()).fit(scores, labels, np.arange(2000) % 2).certificates()
    assert len(of_set) == 9
    refused(GuaranteeError, "isotonic", fb.IsotonicCalibration().fit(scores, labels).certificates)
    refused(GuaranteeError, "Venn-Abers guarantees", fb.VennAbers().fit(scores, labels).certificates)
    refused(InputError, "did you mean 0.1", bins.certificates, 0.9)


def test_promises_of_values_that_are_changed_afterwards_are_refused() -> None:
    rng = np.random.default_rng(2)
    matrix = rng.dirichlet([1.0, 1.0, 1.0], 600)
    labels = np.array([rng.choice(3, p=row) for row in matrix])
    changed = fb.multi.ClassWiseBinning(n_bins=5, normalize=True).fit(matrix, labels)
    refused(GuaranteeError, "normalize", changed.certificates)
    assert len(changed.model_.certificates()) > 0
    top = fb.multi.TopLabelBinning(n_bins=4).fit(matrix, labels)
    assert str(top.certificate(about=ABOUT)).endswith("of their true probabilities that the predicted class is the true one.")


def test_a_classifier_and_weights_for_another_population_have_all_of_theirs() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 2))
    y = (rng.random(2000) < 1.0 / (1.0 + np.exp(-X[:, 0]))).astype(int)
    clf = fb.sklearn.CalibratedClassifier(LogisticRegression()).fit(X, y)
    assert clf.certificates().certificates[0] == clf.certificate()
    scores, labels = calibrated()
    weighted = fb.shift.ImportanceWeightedBinning(5).fit(scores, labels, 1.0 + 0.5 * scores)
    assert [each.kind for each in weighted.certificates(weight_bound=1.5).certificates] == ["conditional", "marginal"]
    refused(InputError, "weight_bound is None", weighted.certificates)
