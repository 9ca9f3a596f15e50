"""Code as users write it: `mypy --strict` and pyright must accept it as it stands. It is not run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import fastbin as fb

Floats = npt.NDArray[np.float64]


class Column:
    """As the series of pandas and Polars are, whose own types a checker need not know."""

    name: str = "score"

    def to_numpy(self, copy: bool = False) -> Floats:
        return np.zeros(3)


def calibrate(scores: Floats, labels: npt.NDArray[np.int64], path: Path) -> Floats:
    calibrator = fb.CertifiedCalibration(n_bins=5).fit(scores, labels, positive=1)
    assert_type(calibrator, fb.CertifiedCalibration)
    assert_type(calibrator.model_, fb.BinnedModel)
    calibrator.model_.save(path)
    certificate = calibrator.certificate(alpha=0.1)
    assert_type(certificate.epsilon, float)
    one: float = calibrator.predict_one(0.3)
    assert_type(calibrator.predict([0.1, one]), Floats)
    return calibrator.predict(scores)


def serve(path: str, scores: Floats, cells: list[str]) -> list[Floats]:
    either = fb.load(path).predict(scores)
    model = fb.BinnedModel.load(path)
    assert_type(model, fb.BinnedModel)
    assert_type(model.predict(scores), Floats)
    assert_type(model.predict_interval(scores, alpha=0.1), Floats)
    models = fb.ModelSet.load(path)
    assert_type(models, fb.ModelSet)
    assert_type(models["north"], fb.BinnedModel)
    loaded = fb.load(path)
    if isinstance(loaded, fb.ModelSet):
        return [loaded.predict(scores, cells)]
    return [either, loaded.predict(scores), models.predict(scores, cells)]


def of_a_series(column: Column, labels: Any) -> Column:
    calibrator = fb.UniformMassBinning(10, ties="random").fit(column, labels)
    assert_type(calibrator.model_.predict(column, nan="propagate"), Column)
    return calibrator.predict(column)


def of_anything(frame: Any) -> Any:
    segmented = fb.multi.SegmentedBinning(fb.UniformMassBinning(5)).fit(frame["score"], frame["label"], frame["region"])
    assert_type(segmented.model_, fb.ModelSet)
    return segmented.predict(frame["score"], frame["region"])


def of_mistakes(model: fb.BinnedModel) -> None:
    """Mypy says so where an ignored mistake is none, so these are mistakes."""
    model.predict([0.1], "north")  # type: ignore[call-overload]
    number: int = model.predict([0.1])  # type: ignore[assignment]
    print(number)
