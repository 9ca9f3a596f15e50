"""`OnnxClassifier` scores as the runtime does, and sklearn-onnx converts the whole: 0 differences from Python."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from exported import bits

import fastbin as fb
from fastbin.export.form import digest_of
from fastbin.export.verify import digest_in

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, Y = make_classification(6000, flip_y=0.3, random_state=0)
SINGLE = X.astype(np.float32)
TEXTS = np.where(Y == 1, "default", "paid")
FIT, USE = slice(0, 4000), slice(4000, None)
FOREST = RandomForestClassifier(30, max_depth=6, random_state=0)
needs_skl2onnx = pytest.mark.filterwarnings("default")  # skl2onnx has its own


@pytest.fixture
def to_onnx() -> Callable[..., Any]:
    """The function of skl2onnx, which knows what is registered."""
    module = pytest.importorskip("skl2onnx")
    fb.sklearn.register_onnx()
    return module.to_onnx


def fitted(estimator: Any = None, labels: Any = Y, **options: Any) -> Any:
    inner = fb.sklearn.OnnxClassifier(LogisticRegression() if estimator is None else estimator)
    return fb.sklearn.CalibratedClassifier(inner, random_state=0, **options).fit(X[FIT], labels[FIT])


def session_of(graph: Any) -> Any:
    return onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])


def assert_same(graph: Any, clf: Any) -> None:
    """The labels and the probabilities of all rows, which lie in many bins."""
    onnx.checker.check_model(graph, full_check=True)
    labels, probabilities = session_of(graph).run(["label", "probabilities"], {"X": SINGLE})
    expected = clf.predict_proba(X)
    np.testing.assert_array_equal(bits(probabilities), bits(expected))
    assert labels.tolist() == clf.predict(X).tolist()
    assert len(np.unique(expected[:, 1])) >= 5


@needs_skl2onnx
@pytest.mark.parametrize("opset", [13, 18, None])
@pytest.mark.parametrize(
    ("labels", "options"),
    [(Y, {}), (TEXTS, {}), (TEXTS, {"positive": "default"}), (Y.astype(float), {}), (Y == 1, {})],
    ids=["integers", "texts", "positive", "floats", "booleans"],
)
@pytest.mark.parametrize("name", ["logistic", "forest", "pipeline"])
def test_the_whole_gives_the_bits_of_python(
    name: str, labels: Any, options: dict[str, Any], opset: int | None, to_onnx: Callable[..., Any]
) -> None:
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    estimator = {"logistic": LogisticRegression(), "forest": FOREST, "pipeline": scaled}[name]
    clf = fitted(estimator, labels, **options)
    assert_same(to_onnx(clf, SINGLE[:1], target_opset=opset), clf)


@needs_skl2onnx
@pytest.mark.parametrize(
    "calibrator", [fb.UniformMassBinning(10), fb.IsotonicCalibration(), fb.IsotonicCalibration(interpolate=True)]
)
def test_calibrators(calibrator: Any, to_onnx: Callable[..., Any]) -> None:
    clf = fitted(FOREST, calibrator=calibrator)
    assert_same(to_onnx(clf, SINGLE[:1], options={"zipmap": False}), clf)


X3, Y3 = make_classification(3000, n_classes=3, n_informative=5, random_state=0)


@needs_skl2onnx
@pytest.mark.parametrize("opset", [13, None])
@pytest.mark.parametrize("labels", [Y3, np.array(["bad", "fair", "good"])[Y3]], ids=["integers", "texts"])
def test_vectors_differ_in_the_last_bits(labels: Any, opset: int | None, to_onnx: Callable[..., Any]) -> None:
    clf = fb.sklearn.CalibratedClassifier(fb.sklearn.OnnxClassifier(FOREST), random_state=0).fit(X3, labels)
    rows = X3.astype(np.float32)
    graph = to_onnx(clf, rows[:1], target_opset=opset)
    names, given = session_of(graph).run(["label", "probabilities"], {"X": rows})
    np.testing.assert_allclose(given, clf.predict_proba(X3), rtol=1e-12, atol=0.0)
    assert names.tolist() == clf.predict(X3).tolist()
    (about,) = (each.doc_string for each in graph.graph.output if each.name == "probabilities")
    assert "3 classes" in about
    assert "of each of 3 classes, and of the class with the largest" in about


@needs_skl2onnx
def test_smooth_maps_differ_in_the_last_bits(to_onnx: Callable[..., Any]) -> None:
    clf = fitted(calibrator=fb.PlattScaling())
    (given,) = session_of(to_onnx(clf, SINGLE[:1])).run(["probabilities"], {"X": SINGLE})
    np.testing.assert_allclose(given, clf.predict_proba(X), rtol=1e-12, atol=0.0)


@needs_skl2onnx
def test_trained_classifiers(to_onnx: Callable[..., Any]) -> None:
    """Frozen ones calibrate on all rows, and the certificate counts them."""
    trained = FrozenEstimator(FOREST.fit(X[:2000], Y[:2000]))
    runtime = fb.sklearn.OnnxClassifier(trained).fit(X[:2000], Y[:2000])
    assert runtime.estimator_.estimator is FOREST
    clf = fb.sklearn.CalibratedClassifier(FrozenEstimator(runtime)).fit(X[2000:], Y[2000:])
    assert clf.certificate().n_samples == 4000
    assert_same(to_onnx(clf, SINGLE[:1]), clf)


@needs_skl2onnx
@pytest.mark.parametrize("n_classes", [2, 3])
def test_forests_whose_votes_add_up_to_more_than_one(n_classes: int, to_onnx: Callable[..., Any]) -> None:
    rows, classes = make_classification(3000, n_classes=n_classes, n_informative=5, class_sep=2.0, flip_y=0.02, random_state=1)
    rows = rows.astype(np.float32)
    forest = RandomForestClassifier(50, random_state=0).fit(rows[:1000], classes[:1000])
    runtime = fb.sklearn.OnnxClassifier(FrozenEstimator(forest)).fit(rows[:1000], classes[:1000])
    (raw,) = session_of(onnx.load_model_from_string(runtime.graph_)).run(["probabilities"], {"X": rows})
    assert raw.max() > 1.0
    clf = fb.sklearn.CalibratedClassifier(FrozenEstimator(runtime)).fit(rows[1000:], classes[1000:])
    labels, probabilities = session_of(to_onnx(clf, rows[:1])).run(["label", "probabilities"], {"X": rows})
    np.testing.assert_allclose(probabilities, clf.predict_proba(rows), rtol=0.0 if n_classes == 2 else 1e-12, atol=0.0)
    assert labels.tolist() == clf.predict(rows).tolist()


@needs_skl2onnx
@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_without_an_answer_have_no_label(n_classes: int, texts: bool, to_onnx: Callable[..., Any]) -> None:
    rows, classes = make_classification(1000, n_classes=n_classes, n_informative=5, random_state=0)
    named = np.array(["bad", "fair", "good"])[classes] if texts else classes
    clf = fb.sklearn.CalibratedClassifier(fb.sklearn.OnnxClassifier(LogisticRegression()), random_state=0).fit(rows, named)
    rows = rows[:4].astype(np.float32)
    session = session_of(to_onnx(clf, rows[:1]))
    (whole,) = session.run(["label"], {"X": rows})
    rows[2] = np.nan
    labels, probabilities = session.run(["label", "probabilities"], {"X": rows})
    assert np.isnan(probabilities).any(axis=1).tolist() == [False, False, True, False]
    assert labels.tolist() == [*whole[:2], "" if texts else -(2**63), whole[3]]


@needs_skl2onnx
def test_scores_are_those_of_the_runtime(to_onnx: Callable[..., Any]) -> None:
    """In float32, beside those of Python, and rows are converted as they are when served."""
    runtime = fb.sklearn.OnnxClassifier(LogisticRegression()).fit(X[FIT], Y[FIT])
    scores = runtime.predict_proba(X)
    (expected,) = session_of(onnx.load_model_from_string(runtime.graph_)).run(["probabilities"], {"X": SINGLE})
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_allclose(scores, runtime.estimator_.predict_proba(X), rtol=0.0, atol=1e-5)
    assert (scores[:, 1] != runtime.estimator_.predict_proba(X)[:, 1]).any()
    np.testing.assert_array_equal(runtime.predict(X), runtime.classes_[scores.argmax(axis=1)])
    weighted = fb.sklearn.OnnxClassifier(LogisticRegression()).fit(X[FIT], Y[FIT], sample_weight=1.0 + Y[FIT])
    assert (weighted.predict_proba(X)[:, 1] > scores[:, 1]).mean() > 0.9


@needs_skl2onnx
def test_saved_ones_score_and_are_converted(to_onnx: Callable[..., Any]) -> None:
    skops = pytest.importorskip("skops.io")  # which imports all of scikit-learn
    clf = fitted()  # skops has trees of scikit-learn named, as they are not checked
    expected = clf.predict_proba(X)
    data = skops.dumps(clf)
    for again in (pickle.loads(pickle.dumps(clf)), skops.loads(data, trusted=fb.sklearn.TRUSTED_TYPES)):
        np.testing.assert_array_equal(again.predict_proba(X), expected)
        assert_same(to_onnx(again, SINGLE[:1]), clf)


@needs_skl2onnx
def test_the_graph_says_which_model_it_has(to_onnx: Callable[..., Any]) -> None:
    clf = fitted(labels=TEXTS, positive="default")
    graph = to_onnx(clf, SINGLE[:1])
    assert digest_in(graph.SerializeToString(), "onnx") == digest_of(clf.model_)
    (about,) = (each.doc_string for each in graph.graph.output if each.name == "probabilities")
    assert "p is the probability of" in about
    assert "default" in about
    assert "With probability" in about


# ------------------------------------------------------------------------------------------------- what is refused


def three_classes() -> Any:
    runtime = fb.sklearn.OnnxClassifier()
    return fb.sklearn.CalibratedClassifier(runtime, multiclass="top-label", random_state=0).fit(X3, Y3)


@needs_skl2onnx
@pytest.mark.parametrize(
    ("made", "options", "message"),
    [
        (
            lambda: fb.sklearn.CalibratedClassifier(FOREST, random_state=0).fit(X[FIT], Y[FIT]), {},
            r"^model scores by RandomForestClassifier in Python, .*; fit CalibratedClassifier\(OnnxClassifier\(estimator\)\)",
        ),
        (three_classes, {}, r"^model has 3 classes and multiclass='top-label'; fit with multiclass='vector'"),
        (
            lambda: make_pipeline(StandardScaler(), clone(fitted())).fit(X[FIT], Y[FIT]), {},
            r"^model stands behind other steps; put the pipeline into the OnnxClassifier",
        ),
        (fitted, {"X": X[:1]}, r"^model takes DoubleTensorType.* as input; pass X\[:1\].astype\(numpy.float32\), which"),
        (fitted, {"target_opset": 12}, r"^target_opset is 12; pass 13 or newer$"),
        (
            lambda: fitted(RandomForestClassifier(3, max_depth=2), calibrator=fb.UniformMassBinning(10, ties="random")), {},
            r"^model compares a key for each row; fit a calibrator with ties='whole'$",
        ),
    ],
    ids=["Python", "three classes", "pipeline", "doubles", "old operators", "keys"],
)  # fmt: skip
def test_what_is_refused(made: Callable[[], Any], options: dict[str, Any], message: str, to_onnx: Callable[..., Any]) -> None:
    with pytest.raises(fb.InputError, match=message):
        to_onnx(made(), **{"X": SINGLE[:1], **options})


@needs_skl2onnx
def test_estimators_and_rows_that_are_refused() -> None:
    pytest.importorskip("skl2onnx")
    with pytest.raises(fb.InputTypeError, match=r"^estimator is a RidgeClassifier, which has no predict_proba; pass a"):
        fb.sklearn.OnnxClassifier(RidgeClassifier()).fit(X[FIT], Y[FIT])
    runtime = fb.sklearn.OnnxClassifier().fit(X[FIT], Y[FIT])
    with pytest.raises(ValueError, match="NaN"):
        runtime.predict_proba(np.full((1, X.shape[1]), np.nan))
    with pytest.raises(ValueError, match="infinity"):
        runtime.predict_proba(np.full((1, X.shape[1]), 1e300))


def test_without_skl2onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(fb.MissingDependencyError, match=r"^conversions by sklearn-onnx need .*; pip install skl2onnx$"):
        fb.sklearn.register_onnx()
    with pytest.raises(fb.MissingDependencyError, match=r"^classifiers in ONNX Runtime need .*; pip install skl2onnx$"):
        fb.sklearn.OnnxClassifier().fit(X[FIT], Y[FIT])
