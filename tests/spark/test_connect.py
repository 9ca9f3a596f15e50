"""Fits through Spark Connect and the server that ``pyspark[connect]`` brings: `.ci/thorough spark` runs this, on its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fastbin as fb
from hard_sets import CALIBRATORS, NAMES, hard_set, local_model
from spark_sessions import SETTINGS, needs_spark

pytestmark = needs_spark


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of a client, and the server that it starts for itself."""
    pytest.importorskip("pyspark.sql.connect.client", reason="no PySpark with its extra connect", exc_type=ImportError)
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = SparkSession.builder.remote("local[2]").config("spark.local.dir", str(tmp_path_factory.mktemp("connect")))
        for name, value in {**SETTINGS, "spark.connect.grpc.binding.address": "127.0.0.1"}.items():
            builder = builder.config(name, value)
        found = builder.getOrCreate()
    yield found
    found.stop()


@pytest.mark.parametrize("calibrator", ["umd, random", "ze, whole", "umb, whole", "certified"])
@pytest.mark.parametrize("name", NAMES)
def test_the_model_has_the_bytes_of_the_fit_in_memory(spark: Any, name: str, calibrator: str) -> None:
    rows = hard_set(name)
    assert ".connect." in type(spark).__module__
    table = spark.createDataFrame(pa.table({"p": rows.scores, "y": rows.labels, "w": rows.repeats}))
    method = CALIBRATORS[calibrator](rows.score_range)
    model = fb.engines.fit(table, score="p", label="y", weight="w", calibrator=method)
    assert model.to_bytes() == local_model(calibrator, name, weighted=True).to_bytes()


def test_bad_rows_are_refused_with_their_number(spark: Any) -> None:
    scores = np.append(np.linspace(0, 1, 10), [np.nan, np.inf, 2.0, -1.0])
    table = spark.createDataFrame(pa.table({"p": scores, "y": np.where(np.arange(14) % 2, "yes", "no")}))
    told = r"of 14 rows, p is NaN in 1, p is infinite in 1 \(such as inf\), p is outside \[0, 1\] in 2 \(such as -1.0\);"
    with pytest.raises(fb.InputError, match=told):
        fb.engines.fit(table, score="p", label="y", positive="yes", calibrator=fb.UniformMassBinning(2))


def test_predictions_counts_and_segments(spark: Any) -> None:
    rng = np.random.default_rng(0)
    scores, segments = rng.random(6000), rng.integers(0, 6, 6000)
    labels = rng.random(6000) < scores
    table = spark.createDataFrame(pa.table({"p": scores, "y": labels, "s": segments}))
    method = fb.multi.SegmentedBinning(fb.UniformMassBinning(8))
    models = fb.engines.fit(table, score="p", label="y", segment="s", calibrator=method)
    assert models.to_bytes() == method.fit(scores, labels, segments).model_.to_bytes()
    scored = fb.engines.predict(table, models, score="p", cell="s").select("p", "s", "probability").collect()
    expected = models.predict([row[0] for row in scored], [row[1] for row in scored])
    assert np.array_equal([row[2] for row in scored], expected)
    values = [row[0] for row in fb.engines.predict(table, models[0], score="p").select("probability").collect()]
    assert sorted(values) == sorted(models[0].predict(scores).tolist())
    counts = fb.engines.count(table, models, score="p", label="y", cell="s")
    bins = models.assign_all(scores, segments)
    assert np.array_equal(counts.label_sums, np.bincount(bins[labels], minlength=models.n_bins))
