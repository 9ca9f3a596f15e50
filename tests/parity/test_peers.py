"""The same method in other packages gives the same answer, where both mean the same thing.

The packages are for tests alone; where one is absent its tests skip. Two of them change the state of the whole process when
they are imported or used (NumPy's error handling, warning filters), which is undone here.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

import fastbin as fb
import strategies
from fastbin.binning.venn import VennAbers


def peer(name: str) -> ModuleType:
    state = np.geterr()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    finally:
        np.seterr(**state)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def samples(n: int, seed: int, *, levels: int | None = None) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    scores = rng.beta(1.0, 2.0, n) if levels is None else rng.integers(1, levels, n) / levels
    return scores, (rng.random(n) < scores**1.4).astype(int), rng


@pytest.mark.parametrize("weighting", ["none", "integer", "float"])
@pytest.mark.parametrize("levels", [None, 50])
@pytest.mark.parametrize("n", [1, 2, 30, 5000])
def test_isotonic_is_that_of_scikit_learn(n: int, levels: int | None, weighting: str) -> None:
    sklearn = peer("sklearn.isotonic")
    scores, labels, rng = samples(n, n, levels=levels)
    weights = {"none": None, "integer": rng.integers(1, 5, n), "float": rng.exponential(1.0, n) + 0.01}[weighting]
    theirs = sklearn.IsotonicRegression(out_of_bounds="clip").fit(scores, labels, sample_weight=weights)
    queries = np.concatenate([scores, rng.random(1000), [0.0, 1.0]])
    ours = fb.IsotonicCalibration(interpolate=True).fit(scores, labels, sample_weight=weights)
    assert np.allclose(ours.predict(queries), theirs.predict(queries), rtol=0, atol=1e-12)
    # At the knots the step function has the same values.
    steps = fb.IsotonicCalibration().fit(scores, labels, sample_weight=weights)
    assert np.allclose(steps.predict(scores), theirs.predict(scores), rtol=0, atol=1e-12)
    assert steps.model_.n_bins == len(np.unique(theirs.predict(scores).round(12)))


@pytest.mark.parametrize("shape", ["uniform", "hundredths", "few levels", "atom", "tree", "click rates"])
def test_isotonic_on_hard_shapes_is_that_of_scikit_learn(shape: str) -> None:
    sklearn = peer("sklearn.isotonic")
    data = strategies.make(shape, "follow the rank", 400, 1)
    theirs = sklearn.IsotonicRegression(out_of_bounds="clip").fit(data.scores, data.labels)
    ours = fb.IsotonicCalibration(interpolate=True).fit(data.scores, data.labels)
    assert np.allclose(ours.predict(data.scores), theirs.predict(data.scores), rtol=0, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_platt_is_that_of_scikit_learn(weighted: bool) -> None:
    sklearn = peer("sklearn.calibration")
    margins = np.random.default_rng(1).normal(0, 2, 2000)
    rng = np.random.default_rng(2)
    labels = (rng.random(2000) < 1 / (1 + np.exp(-1.5 * margins + 0.5))).astype(int)
    weights = rng.exponential(1.0, 2000) if weighted else None
    slope, constant = sklearn._sigmoid_calibration(margins, labels, sample_weight=weights)
    ours = fb.PlattScaling(score_range=None).fit(margins, labels, sample_weight=weights)
    assert np.allclose([ours.a_, ours.c_], [slope, constant], rtol=2e-4)


@pytest.mark.parametrize("feature", ["score", "logit"])
def test_plain_platt_is_logistic_regression(feature: str) -> None:
    sklearn = peer("sklearn.linear_model")
    scores, labels, _ = samples(3000, 3)
    column = scores if feature == "score" else np.log(scores / (1 - scores))
    theirs = sklearn.LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(column[:, None], labels)
    ours = fb.PlattScaling(smooth_labels=False, feature=feature).fit(scores, labels)
    assert np.allclose(ours.predict(scores), theirs.predict_proba(column[:, None])[:, 1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
def test_beta_is_that_of_betacal(parameters: str) -> None:
    betacal = peer("betacal")
    rng = np.random.default_rng(4)
    scores = rng.beta(2.0, 2.0, 3000)
    # A truth with both slopes positive: where a slope would be negative, betacal's "ab" lets the map fall.
    labels = (rng.random(3000) < 1 / (1 + np.exp(-(0.8 * np.log(2 * scores) - 1.3 * np.log(2 - 2 * scores))))).astype(int)
    theirs = betacal.BetaCalibration(parameters).fit(scores, labels)
    ours = fb.BetaScaling(parameters=parameters).fit(scores, labels)
    assert min(ours.a_, ours.b_) > 0
    queries = np.linspace(0.01, 0.99, 99)
    assert np.allclose(ours.predict(queries), theirs.predict(queries), rtol=0, atol=2e-3)

    def log_loss(probabilities: np.ndarray) -> float:
        return -float(np.mean(np.where(labels == 1, np.log(probabilities), np.log1p(-probabilities))))

    assert log_loss(ours.predict(scores)) <= log_loss(theirs.predict(scores)) + 1e-13


@pytest.mark.parametrize("levels", [None, 40])
@pytest.mark.parametrize("n", [2, 10, 500])
def test_ivap_is_that_of_venn_abers(n: int, levels: int | None) -> None:
    venn_abers = peer("venn_abers")
    scores, labels, rng = samples(n, n, levels=levels)
    queries = np.concatenate([scores, rng.random(300)])
    theirs = venn_abers.VennAbers()
    theirs.fit(np.stack([1 - scores, scores], axis=1), labels)
    merged, pairs = theirs.predict_proba(np.stack([1 - queries, queries], axis=1))
    ours = VennAbers().fit(scores, labels)
    assert np.allclose(ours.predict_venn(queries), pairs, rtol=0, atol=1e-12)
    assert np.allclose(ours.predict(queries), merged[:, 1], rtol=0, atol=1e-12)
