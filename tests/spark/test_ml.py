"""examples/spark_ml.py: the stages of a pipeline of pyspark.ml have the model and the bits of fastbin, and are read again.

`.ci/thorough spark` runs this.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fastbin as fb
from spark_sessions import needs_spark, session

pytestmark = needs_spark

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with session(tmp_path_factory.mktemp("spark")) as found:
        yield found


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("pyspark")
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import spark_ml

    yield spark_ml
    del sys.modules["spark_ml"]


def rows(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pa.table({"x": x, "label": (rng.random(n) < 1.0 / (1.0 + np.exp(-x))).astype(float)})


def test_a_pipeline_is_calibrated_and_read_again(spark: Any, stages: Any, tmp_path: Path) -> None:
    from pyspark.ml import PipelineModel
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler

    training, held_out, new = (
        VectorAssembler(inputCols=["x"], outputCol="features").transform(spark.createDataFrame(rows(3000, seed)))
        for seed in range(3)
    )
    classifier = LogisticRegression().fit(training)
    calibrator = fb.CertifiedCalibration(n_bins=5)
    calibration = stages.Calibration(calibrator).fit(classifier.transform(held_out))

    def scores_and_labels(frame: Any) -> tuple[np.ndarray, np.ndarray]:
        collected = classifier.transform(frame).select("probability", "label").collect()
        return np.array([row["probability"][1] for row in collected]), np.array([row["label"] for row in collected])

    assert calibration.model.to_bytes() == calibrator.fit(*scores_and_labels(held_out)).model_.to_bytes()

    scores, _ = scores_and_labels(new)
    expected = calibration.model.predict(scores).tolist()
    pipeline = PipelineModel([classifier, calibration])
    scored = pipeline.transform(new)
    assert scored.columns == [*classifier.transform(new).columns, "calibrated"]
    assert [row["calibrated"] for row in scored.select("calibrated").collect()] == expected

    pipeline.write().overwrite().save(str(tmp_path / "pipeline"))
    (file,) = (tmp_path / "pipeline").rglob("model.fbm")
    assert fb.load(file) == calibration.model
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert again.stages[1].uid == calibration.uid
    assert again.stages[1].model == calibration.model
    assert [row["calibrated"] for row in again.transform(new).select("calibrated").collect()] == expected


def test_columns_of_numbers_have_names_of_their_own(spark: Any, stages: Any, tmp_path: Path) -> None:
    columns = {"inputCol": "p", "labelCol": "y", "outputCol": "q"}
    table = pa.table({"p": [0.1, 0.2, 0.3, 0.6, 0.7, 0.9], "y": [0, 0, 0, 1, 0, 1]})
    fitted = stages.Calibration(fb.UniformMassBinning(2), **columns).fit(spark.createDataFrame(table))
    assert fitted.model == fb.UniformMassBinning(2).fit(table["p"], table["y"]).model_
    elsewhere = stages.CalibratedScores(fb.BinnedModel.from_parts(edges=[0.5], values=[0.2, 0.7]), **columns)
    new = spark.createDataFrame([(0.25,), (0.5,), (None,)], "p double")
    assert [tuple(row) for row in elsewhere.transform(new).collect()] == [(0.25, 0.2), (0.5, 0.7), (None, None)]
    elsewhere.save(str(tmp_path / "stage"))
    with pytest.raises(Exception, match="already exists"):
        elsewhere.save(str(tmp_path / "stage"))
    again = stages.CalibratedScores.load(str(tmp_path / "stage"))
    assert (again.model, again.getInputCol(), again.getOutputCol()) == (elsewhere.model, "p", "q")
    assert again.copy().transform(new).collect() == elsewhere.transform(new).collect()
