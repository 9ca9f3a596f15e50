"""docs/deploy.md: its recipes for sklearn-onnx and MLflow run, where these are installed, and give what the models give.

Its other Python is run by tests/test_public_api.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from oracle import REPOSITORY

PAGE = (REPOSITORY / "docs" / "deploy.md").read_text(encoding="utf8")
SERVED, CLASSIFIER, MODEL_CODE, MODEL = re.findall(r"^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.filterwarnings("default")  # the packages have their own


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """MLflow with a store of its own in an empty folder."""
    module = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    module.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    yield module
    module.set_tracking_uri(None)


def test_a_classifier_as_onnx() -> None:
    pytest.importorskip("skl2onnx")
    from sklearn.datasets import make_classification

    X, y = make_classification(4000, flip_y=0.3, random_state=0)
    session: dict[str, Any] = {"X_train": X[:3000], "y_train": y[:3000], "X_new": X[3000:]}
    exec(SERVED, session)
    np.testing.assert_array_equal(session["probabilities"], session["clf"].predict_proba(X[3000:]))
    np.testing.assert_array_equal(session["label"], session["clf"].predict(X[3000:]))


def test_a_classifier(mlflow: Any) -> None:
    from sklearn.datasets import make_classification

    X, y = make_classification(3000, flip_y=0.3, random_state=0)
    clf = fb.sklearn.CalibratedClassifier(random_state=0).fit(X, y)
    session: dict[str, Any] = {"clf": clf}
    exec(CLASSIFIER, session)
    assert session["again"].model_ == clf.model_
    assert session["again"].certificate() == clf.certificate()
    np.testing.assert_array_equal(session["served"].predict(X[:500]), clf.predict_proba(X[:500]))
    (flavor,) = (each for name, each in session["info"].flavors.items() if name == "sklearn")
    assert flavor["serialization_format"] == "skops", "the default of MLflow"


def test_a_model_with_values_and_intervals(mlflow: Any) -> None:
    scores = np.random.default_rng(0).random(5000)
    model = fb.UniformMassBinning(10).fit(scores, np.random.default_rng(1).random(5000) < scores).model_
    Path("calibrated.py").write_text(MODEL_CODE, encoding="utf8")
    session: dict[str, Any] = {"mlflow": mlflow, "model": model}
    exec(MODEL, session)
    answers, rows = session["answers"], session["rows"]["score"].to_numpy()
    np.testing.assert_array_equal(answers["value"], model.predict(rows))
    np.testing.assert_array_equal(answers[["lower", "upper"]], model.predict_interval(rows, alpha=0.05))
    served = mlflow.pyfunc.load_model(session["info"].model_uri)
    by_default = served.predict(session["rows"])[["lower", "upper"]]
    np.testing.assert_array_equal(by_default, model.predict_interval(rows, alpha=0.1))
    (metric,) = mlflow.search_runs()["metrics.epsilon"]
    assert metric == model.certificate(alpha=0.1).epsilon
