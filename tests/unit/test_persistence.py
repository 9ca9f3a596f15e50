"""Whatever saves Python objects gives back what it was given: models, sets, calibrators and classifiers, fitted or not."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest

import fastbin as fb

RNG = np.random.default_rng(7)
SCORES = RNG.random(400)
LABELS = (RNG.random(400) < SCORES).astype(int)
CELLS = np.where(RNG.random(400) < 0.5, "north", "south")
MATRIX = RNG.dirichlet(np.ones(3), 400)
CLASSES = np.array([RNG.choice(3, p=row) for row in MATRIX])

CALIBRATORS = [
    fb.CertifiedCalibration(), fb.UniformMassBinning(5), fb.ScalingBinning(5), fb.FixedWidthBinning(5),
    fb.ExplicitBinning([0.5]), fb.IsotonicCalibration(), fb.VennAbers(), fb.PlattScaling(), fb.TemperatureScaling(),
    fb.BetaScaling(), fb.QuadraticScaling(), fb.SplineScaling(),
]  # fmt: skip
MADE: dict[str, Any] = {type(calibrator).__name__: calibrator.fit(SCORES, LABELS) for calibrator in CALIBRATORS}
MADE["BinnedModel"] = MADE["CertifiedCalibration"].model_
MADE["ModelSet"] = fb.ModelSet({"a": MADE["UniformMassBinning"], "b": MADE["FixedWidthBinning"]})
MADE["ImportanceWeightedBinning"] = fb.shift.ImportanceWeightedBinning(5).fit(SCORES, LABELS, 0.5 + SCORES)
MADE["LabelShift"] = fb.shift.LabelShift(MADE["UniformMassBinning"], method="likelihood").fit(SCORES)
MADE["SegmentedBinning"] = fb.multi.SegmentedBinning(fb.UniformMassBinning(3)).fit(SCORES, LABELS, CELLS)
MADE["TopLabelBinning"] = fb.multi.TopLabelBinning(n_bins=2, min_points=1).fit(MATRIX, CLASSES)
MADE["ClassWiseBinning"] = fb.multi.ClassWiseBinning(n_bins=2).fit(MATRIX, CLASSES)


def through_skops(made: Any) -> Any:
    import skops.io as skops  # which imports all of scikit-learn, in seconds

    data = skops.dumps(made)
    return skops.loads(data, trusted=fb.sklearn.TRUSTED_TYPES)


def through_joblib(made: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(made, file)
    file.seek(0)
    return joblib.load(file)


WAYS: dict[str, Callable[[Any], Any]] = {
    "skops": through_skops,
    "joblib": through_joblib,
    "cloudpickle": lambda made: cloudpickle.loads(cloudpickle.dumps(made)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda made, protocol=protocol: pickle.loads(pickle.dumps(made, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def model_of(made: Any) -> Any:
    return getattr(made, "model_", made)


@ways
@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_the_model_comes_back(made: Any, way: Callable[[Any], Any]) -> None:
    back = way(made)
    assert type(back) is type(made)
    assert model_of(back).to_bytes() == model_of(made).to_bytes()
    assert repr(back) == repr(made)
    if model_of(made) is not made:
        assert repr(back.get_params()) == repr(made.get_params())
    if isinstance(model_of(made), fb.BinnedModel):
        np.testing.assert_array_equal(back.predict(SCORES), made.predict(SCORES))
        assert back.predict_one(0.3) == made.predict_one(0.3)


@ways
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_comes_back(way: Callable[[Any], Any], n_classes: int) -> None:
    pytest.importorskip("sklearn", minversion="1.6")
    y = CLASSES if n_classes == 3 else LABELS
    X = np.column_stack([SCORES, MATRIX])
    made = fb.sklearn.CalibratedClassifier(random_state=0).fit(X, y)
    back = way(made)
    assert model_of(back).to_bytes() == model_of(made).to_bytes()
    np.testing.assert_array_equal(back.predict_proba(X), made.predict_proba(X))
    assert back.certificate() == made.certificate()


@ways
def test_what_is_not_fitted_stays_so(way: Callable[[Any], Any]) -> None:
    back = way(fb.CertifiedCalibration(monotone=True))
    assert repr(back) == repr(fb.CertifiedCalibration(monotone=True))
    with pytest.raises(fb.NotFittedError):
        back.predict(SCORES)


def test_skops_is_to_trust_every_estimator_and_nothing_of_others() -> None:
    """Whatever has a ``fit`` and is public; the others are what these keep."""
    modules = (fb, fb.multi, fb.shift, fb.sklearn)
    public = [getattr(module, name) for module in modules for name in getattr(module, "__all__", dir(module))]
    classes = {each for each in public if isinstance(each, type) and hasattr(each, "fit")} - {fb.shift.ImportanceEstimator}
    names = {f"{each.__module__}.{each.__qualname__}" for each in classes}
    assert len(names) == 21
    models = {"fastbin.model.BinnedModel", "fastbin.model_set.ModelSet", "fastbin.vector_model.VectorModel"}
    kept = {"fastbin.shift.weighted.WeightedRows", "fastbin.shift.rates.RateEstimate"}
    assert set(fb.sklearn.TRUSTED_TYPES) == names | models | kept


def test_a_model_of_a_set_comes_back_without_the_set() -> None:
    made = MADE["ModelSet"]["a"]
    for way in WAYS.values():
        assert way(made) == MADE["UniformMassBinning"].model_


@pytest.mark.parametrize("kind", ["BinnedModel", "ModelSet"])
def test_the_state_fills_an_empty_object_alone(kind: str) -> None:
    made = MADE[kind]
    state = made.__getstate__()
    assert state == {"bytes": made.to_bytes()}
    with pytest.raises(TypeError, match="is filled once"):
        made.__setstate__(state)
    empty = type(made).__new__(type(made))
    with pytest.raises(TypeError, match=r"^an empty "):
        empty.__getstate__()
    with pytest.raises(fb.FormatError):
        empty.__setstate__({"bytes": state["bytes"][:-1]})
    empty.__setstate__(state)
    assert empty == made


@pytest.mark.parametrize(("kind", "other"), [("BinnedModel", "ModelSet"), ("ModelSet", "BinnedModel")])
def test_each_class_loads_its_own_files(kind: str, other: str, tmp_path: Path) -> None:
    path = tmp_path / "saved"
    MADE[kind].save(path)
    loaded = type(MADE[kind]).load(path)
    assert loaded == fb.load(path) == MADE[kind]
    assert type(loaded) is type(MADE[kind])
    with path.open("rb") as file:
        assert type(MADE[kind]).load(file) == MADE[kind]
    with pytest.raises(fb.FormatError, match=rf"saved: a (single model|set of models), and not .*: {kind}\.from_bytes"):
        type(MADE[other]).load(path)
    with pytest.raises(FileNotFoundError):
        type(MADE[kind]).load(tmp_path / "nothing")
