"""Scores whose last digits do not matter: a moved edge is the rounding of what is compared with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import fastbin as fb
from fastbin.sklearn.calibrating import BITS, CalibrationRows, half_a_step_down, rounded

FINITE = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False, min_value=-1e200, max_value=1e200)


@settings(deadline=None)
@given(st.lists(FINITE.filter(lambda x: abs(x) > 1e-200 or x == 0), min_size=1, max_size=30), st.integers(-3, 3))
def test_a_moved_edge_is_the_rounding_of_a_score(scores: list[float], ulps: int) -> None:
    edges = np.unique(rounded(np.array(scores)))
    moved = half_a_step_down(edges)
    assert (np.diff(moved) > 0).all()
    near = np.concatenate([moved, edges, scores, moved[:-1] + np.diff(moved) / 2 if len(moved) > 1 else moved])
    for _ in range(abs(ulps)):
        near = np.nextafter(near, np.copysign(np.inf, ulps))
    near = near[(np.abs(near) > 1e-200) | (near == 0)]
    np.testing.assert_array_equal(
        np.searchsorted(moved, near, side="right"), np.searchsorted(edges, rounded(near), side="right")
    )


def test_rounding_leaves_the_predicted_class() -> None:
    scores = np.repeat([[0.2, 0.4, 0.4 + 1e-15], [0.5, 0.3, 0.2]], 60, axis=0)
    rows = CalibrationRows(scores, np.repeat([2, 0], 60), np.arange(3), None, "top-label")
    model = rows.fit(fb.FixedWidthBinning(1), rounded(scores)).model_
    assert [model[key].n_samples for key in range(3)] == [60, 0, 60]


@pytest.mark.parametrize("near", [0.5, 1.0, -0.5, 0.3, -0.3, 2.0**-20, 5.0])
def test_a_moved_edge_between_two_scores(near: float) -> None:
    """The middle of two numbers of the grid may lie between two others, and keeps its place among the edges."""
    rng = np.random.default_rng(0)
    edges = near * (1.0 + rng.integers(-40, 41, 100) * 2.0 ** -rng.integers(34, 45, 100))
    edges = np.unique(np.append(edges, near))
    moved = half_a_step_down(edges)
    assert (np.diff(moved) >= 0).all()
    asked = np.concatenate([edges, np.nextafter(edges, 9.0), moved, np.nextafter(moved, -9.0)])
    np.testing.assert_array_equal(
        np.searchsorted(moved, asked, side="right"), np.searchsorted(edges, rounded(asked), side="right")
    )


@pytest.mark.filterwarnings("ignore:ties left:fastbin.FastbinWarning")
@pytest.mark.parametrize("n_ones", [4, 5, 6, 20])
def test_a_stump_of_two_scores_whose_middle_is_beside_one_half(n_ones: int) -> None:
    X = np.repeat([0.0, 1.0], 400)[:, np.newaxis]
    y = np.concatenate([np.arange(400) < n_ones, np.arange(400) >= n_ones]).astype(int)
    stump = FrozenEstimator(DecisionTreeClassifier(max_depth=1).fit(X, y))
    clf = fb.sklearn.CalibratedClassifier(stump).fit(X[::4], y[::4])
    low, high = clf.predict_proba([[0.0], [1.0]])[:, 1]
    assert 0.0 < low < 0.1 < 0.9 < high < 1.0


def test_rounding_keeps_bits() -> None:
    scores = np.random.default_rng(0).random(1000)
    np.testing.assert_allclose(rounded(scores), scores, rtol=2.0**-BITS)
    np.testing.assert_array_equal(rounded(rounded(scores)), rounded(scores))
    single = scores.astype(np.float32)
    assert rounded(single) is single
    np.testing.assert_array_equal(rounded(single.astype(float)), single.astype(float))
    assert rounded(np.array([1.0 - 1e-16, 0.0, 1.0])).tolist() == [1.0, 0.0, 1.0]
    assert np.isnan(rounded(np.array([np.nan]))).all()


@pytest.mark.parametrize(
    "calibrator",
    [
        fb.CertifiedCalibration(), fb.UniformMassBinning(50), fb.IsotonicCalibration(), fb.VennAbers(),
        fb.UniformMassBinning(50, scheme="umb"),
    ],
    ids=repr,
)  # fmt: skip
def test_the_last_bits_of_a_score_change_nothing(calibrator: Any) -> None:
    """Also of the rows that calibrate, at which the edges stood."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 3))
    y = (rng.random(1500) < 1.0 / (1.0 + np.exp(-X[:, 0]))).astype(int)
    trained = LogisticRegression().fit(X[:500], y[:500])
    clf = fb.sklearn.CalibratedClassifier(FrozenEstimator(trained), calibrator=calibrator).fit(X[500:], y[500:])
    scores = trained.predict_proba(X)[:, 1]
    values = clf.model_.predict(scores)
    for noise in (1e-15, -1e-15):
        np.testing.assert_array_equal(clf.model_.predict(scores * (1.0 + noise)), values)
    alone = type(calibrator)(**calibrator.get_params()).fit(scores[500:], y[500:]).model_
    assert any((alone.predict(scores[500:] * by) != alone.predict(scores[500:])).any() for by in (1.0 - 1e-15, 1.0 + 1e-15))
    np.testing.assert_array_equal(clf.model_.predict(rounded(scores)), values)


def test_venn_abers_of_neighbours_of_the_grid() -> None:
    """Its steps at a score and between two are those of the rounded scores; between neighbours of the grid lies no score."""
    from fastbin.sklearn.calibrating import with_moved_edges

    scores = rounded(
        np.array([0.3, 0.3 + 2.0**-37, 0.5 - 2.0**-37, 0.5, 0.5 + 2.0**-36, 0.0, 1.0, 1.0 - 2.0**-36, 1e-310, 0.2])
    )
    labels = np.array([0, 1, 1, 0, 1, 0, 1, 0, 1, 0])
    model = fb.VennAbers().fit(scores, labels).model_
    moved = with_moved_edges(model, scores, labels, None)
    asked = np.concatenate([scores, scores * (1.0 - 1e-15), np.minimum(scores * (1.0 + 1e-15), 1.0), np.linspace(0.0, 1.0, 99)])
    np.testing.assert_array_equal(fb.predict_venn(moved, asked), fb.predict_venn(model, rounded(asked)))
    np.testing.assert_array_equal(moved.predict(asked), model.predict(rounded(asked)))


def test_the_last_bits_do_not_move_what_a_top_label_leaves() -> None:
    """Nor the vectors that share it out among the other classes."""
    X, y = make_classification(3000, n_classes=3, n_informative=5, flip_y=0.2, random_state=1)
    clf = fb.sklearn.CalibratedClassifier(LogisticRegression(), multiclass="top-label", random_state=0).fit(X, y)
    together = clf.predict_proba(X)
    alone = np.concatenate([clf.predict_proba(X[i : i + 1]) for i in range(len(X))])
    np.testing.assert_allclose(alone, together, rtol=1e-12, atol=0.0)
