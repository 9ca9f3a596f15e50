"""The promise of a calibrated classifier, with the rows held out and the estimator trained anew each time.

The population is a few thousand points with a known chance of each class, so that the true frequency and the average of what is
served are sums over the points of a bin. Rows are drawn from it with replacement.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from simulation.failures import ALPHA, assert_at_most, sizes

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import fastbin as fb

Array = npt.NDArray[np.float64]


class Population(NamedTuple):
    points: Array  # (m, d)
    chances: Array  # (m, k), of the classes

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Array, npt.NDArray[np.int64]]:
        at = rng.integers(len(self.points), size=n)
        below = self.chances[at].cumsum(axis=1)[:, :-1]
        return self.points[at], (rng.random((n, 1)) > below).sum(axis=1)


def population(n_classes: int) -> Population:
    """Four features; the chances bend in a way that no classifier here knows."""
    rng = np.random.default_rng(n_classes)
    points = rng.normal(size=(3000, 4))
    logits = 0.7 * points @ rng.normal(size=(4, n_classes)) + np.sin(3.0 * points[:, :1]) * np.arange(n_classes)
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    return Population(points, chances / chances.sum(axis=1, keepdims=True))


POPULATIONS = {2: population(2), 3: population(3)}


class Truth(NamedTuple):
    """For each bin that has points of the population."""

    bins: npt.NDArray[np.int64]
    rates: Array
    served: Array


def truth_of(clf: Any, of: Population) -> Truth:
    """The truth about the answers of a classifier with its calibrator; of three classes, about its top label."""
    scores = clf.estimator_.predict_proba(of.points)
    if len(clf.classes_) == 2:
        bins, values, rates = clf.model_.assign(scores[:, 1]), clf.predict_proba(of.points)[:, 1], of.chances[:, 1]
    else:
        top = scores.argmax(axis=1)
        bins, values = clf.model_.assign_all(scores.max(axis=1), top), clf.predict_top(of.points)[1]
        rates = np.take_along_axis(of.chances, top[:, np.newaxis], axis=1)[:, 0]
    seen, number, counts = np.unique(bins, return_inverse=True, return_counts=True)
    return Truth(seen, np.bincount(number, rates) / counts, np.bincount(number, values) / counts)


def fails(clf: Any, of: Population) -> tuple[bool, bool]:
    """Whether the certificate is broken in any bin, and whether any interval misses."""
    truth, model = truth_of(clf, of), clf.model_
    tables = [model.interval(ALPHA)] if isinstance(model, fb.BinnedModel) else model.interval(ALPHA)
    ends = np.concatenate(tables)[truth.bins]
    is_wrong = np.abs(truth.rates - truth.served) > clf.certificate(ALPHA).epsilon
    # A bin without a sample of its own is named in the certificate, and its interval is [0, 1].
    is_covered = ends[:, 1] - ends[:, 0] < 1.0
    return bool((is_wrong & is_covered).any()), bool(((truth.rates < ends[:, 0]) | (truth.rates > ends[:, 1])).any())


ESTIMATORS = {
    "bayes": GaussianNB(),
    "logistic": LogisticRegression(C=0.1),
    "tree": DecisionTreeClassifier(min_samples_leaf=20),  # a dozen scores: whole ties at every edge
}
CALIBRATORS = {"certified": None, "uniform-mass": fb.UniformMassBinning(4)}
REPETITIONS = sizes(40, 3000)


@pytest.mark.sampled
@pytest.mark.parametrize("repetitions", REPETITIONS)
@pytest.mark.parametrize("calibrator", CALIBRATORS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_held_out_default_keeps_its_promise(n_classes: int, estimator: str, calibrator: str, repetitions: int) -> None:
    of, rng = POPULATIONS[n_classes], np.random.default_rng([n_classes, len(estimator), len(calibrator)])
    broken = np.zeros(2, int)
    for repetition in range(repetitions):
        X, y = of.draw(rng, 600)
        clf = fb.sklearn.CalibratedClassifier(
            ESTIMATORS[estimator], calibrator=CALIBRATORS[calibrator], multiclass="top-label", random_state=repetition
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fb.FastbinWarning)  # of the fewer bins that ties leave
            broken += fails(clf.fit(X, y), of)
    assert_at_most(broken[0], repetitions)
    assert_at_most(broken[1], repetitions)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_that_trained_the_estimator_break_it(n_classes: int) -> None:
    """The simulation would see this if the rows that calibrate had been among those that train."""
    of, rng, broken = POPULATIONS[n_classes], np.random.default_rng(5), 0
    for repetition in range(10):
        X, y = of.draw(rng, 600)
        trained = DecisionTreeClassifier(random_state=repetition).fit(X, y)
        clf = fb.sklearn.CalibratedClassifier(
            FrozenEstimator(trained), calibrator=fb.UniformMassBinning(4), multiclass="top-label"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fb.FastbinWarning)
            broken += fails(clf.fit(X, y), of)[0]
    assert broken >= 8  # of 10, where one is promised
