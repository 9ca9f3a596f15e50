"""fastbin in pipelines of pyspark.ml: an Estimator that fits where the rows are, and its Transformer, kept as the model's file.

    from spark_ml import Calibration, CalibratedScores
    classifier = LogisticRegression().fit(training)
    calibration = Calibration(fb.CertifiedCalibration()).fit(classifier.transform(held_out))
    PipelineModel([classifier, calibration]).write().overwrite().save("credit-pipeline")

Fit them one after the other, as here, to different rows: a Pipeline of both would calibrate on the rows of the classifier's
training. Executors need nothing of Python: rows are counted and scored by SQL. To save takes a classic session, no Connect.
"""

from __future__ import annotations

from typing import Any

from pyspark.ml import Estimator, Model
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param.shared import HasInputCol, HasLabelCol, HasOutputCol
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLWritable
from pyspark.sql import DataFrame

import fastbin as fb

SCORE, FILE = "fastbin_score", "model.fbm"


class _Columns(HasInputCol, HasLabelCol, HasOutputCol):
    """The score is a number, or the vector that classifiers of Spark give, whose second entry is the probability of label 1."""

    def __init__(self, columns: dict[str, str]) -> None:
        super().__init__()
        self._setDefault(inputCol="probability", labelCol="label", outputCol="calibrated")
        self._set(**columns)

    def _with_score(self, frame: DataFrame) -> DataFrame:
        name = self.getInputCol()
        is_vector = isinstance(frame.schema[name].dataType, VectorUDT)
        return frame.withColumn(SCORE, vector_to_array(frame[name])[1] if is_vector else frame[name])


class Calibration(_Columns, Estimator):
    """An Estimator around a calibrator of fastbin; `columns` are inputCol, labelCol and outputCol."""

    def __init__(self, calibrator: Any = None, **columns: str) -> None:
        super().__init__(columns)
        self.calibrator = calibrator

    def _fit(self, dataset: DataFrame) -> CalibratedScores:
        rows = self._with_score(dataset).select(SCORE, self.getLabelCol())
        model = fb.engines.fit(rows, score=SCORE, label=self.getLabelCol(), calibrator=self.calibrator)
        return self._copyValues(CalibratedScores(model))


class CalibratedScores(_Columns, Model, MLWritable, MLReadable):
    """The Transformer of a model of fastbin, which is its member `model`; also for one that was fitted elsewhere."""

    def __init__(self, model: fb.BinnedModel, **columns: str) -> None:
        super().__init__(columns)
        self.model = model

    def _transform(self, dataset: DataFrame) -> DataFrame:
        scored = fb.engines.predict(self._with_score(dataset), self.model, score=SCORE, output=self.getOutputCol())
        return scored.drop(SCORE)

    def write(self) -> DefaultParamsWriter:
        return _Writer(self)

    @classmethod
    def read(cls) -> DefaultParamsReader:
        return _Reader(cls)


class _Writer(DefaultParamsWriter):
    def saveImpl(self, path: str) -> None:
        """The parameters as Spark keeps them, and beside them the file, on whatever file system the path names."""
        super().saveImpl(path)
        spark = self.sparkSession
        target = spark._jvm.org.apache.hadoop.fs.Path(f"{path}/{FILE}")
        stream = target.getFileSystem(spark._jsc.hadoopConfiguration()).create(target)
        stream.write(bytearray(self.instance.model.to_bytes()))
        stream.close()


class _Reader(DefaultParamsReader):
    def load(self, path: str) -> CalibratedScores:
        (row,) = self.sparkSession.read.format("binaryFile").load(f"{path}/{FILE}").select("content").collect()
        loaded = CalibratedScores(fb.BinnedModel.from_bytes(bytes(row["content"])))
        metadata = self.loadMetadata(path, self.sparkSession)
        loaded._resetUid(metadata["uid"])
        self.getAndSetParams(loaded, metadata)
        return loaded
