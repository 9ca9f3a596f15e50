"""Fits of Spark tables in a local session of two threads: `.ci/thorough spark` runs this."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fastbin as fb
from fastbin.engines.group_by import FitColumns, GroupBySource
from fastbin.tables.frames import Names
from fastbin.tables.sql import SparkTable
from hard_sets import CALIBRATORS, NAMES, hard_set, local_model
from oracle import REPOSITORY
from spark_sessions import Meter, needs_spark, session

pytestmark = needs_spark


class SmallFrame(SparkTable):
    """Allows so few cells and values that plans have to be refined."""

    least_cells, most_cells = 256, 1024
    value_limit = 200  # type: ignore[assignment]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with session(tmp_path_factory.mktemp("spark")) as found:
        yield found


@pytest.fixture(scope="module")
def table(spark: Any) -> Any:
    """The hard sets as data frames, each of three partitions, which stay in memory."""
    frames: dict[str, Any] = {}

    def of(name: str) -> Any:
        if name not in frames:
            rows = hard_set(name)
            columns = {"p": rows.scores, "y": rows.labels, "w": rows.repeats}
            frames[name] = spark.createDataFrame(pa.table(columns)).repartition(3).cache()
        return frames[name]

    return of


@pytest.mark.parametrize("calibrator", CALIBRATORS)
@pytest.mark.parametrize("name", NAMES)
def test_the_model_has_the_bytes_of_the_fit_in_memory(table: Any, name: str, calibrator: str) -> None:
    method = CALIBRATORS[calibrator](hard_set(name).score_range)
    model = fb.engines.fit(table(name), score="p", label="y", calibrator=method)
    assert model.to_bytes() == local_model(calibrator, name).to_bytes()


@pytest.mark.parametrize("calibrator", ["umd, random", "umb, whole", "certified"])
@pytest.mark.parametrize("name", NAMES)
def test_so_it_has_where_plans_have_to_be_refined(table: Any, name: str, calibrator: str) -> None:
    score_range = hard_set(name).score_range
    source = GroupBySource(SmallFrame(table(name)), FitColumns.of(SmallFrame(table(name)), Names("p", "y", "w"), score_range))
    model = CALIBRATORS[calibrator](score_range)._fit_source(source).model_
    assert model.to_bytes() == local_model(calibrator, name, weighted=True).to_bytes()


def test_the_page_on_warehouses(spark: Any) -> None:
    """docs/warehouse.md, "The same in Spark": the model of the rows in memory, its values, and its counts."""
    page = (REPOSITORY / "docs" / "warehouse.md").read_text(encoding="utf8")
    (recipe,) = re.findall(r"^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    rng = np.random.default_rng(0)
    scores, month = rng.random(20_000), np.arange(20_000) % 3
    repaid = rng.random(20_000) < 0.3 + 0.5 * scores
    rows = spark.createDataFrame(pa.table({"score": scores, "repaid": repaid, "month": month}))
    rows.createOrReplaceTempView("applications")
    session = {"spark": spark, "fb": fb}
    exec(recipe, session)
    model = fb.UniformMassBinning(n_bins=10).fit(scores, repaid).model_
    assert session["model"] == model
    assert session["counts"].groups[1].counts.tolist() == np.bincount(model.assign(scores[month == 1]), minlength=10).tolist()
    served = spark.table("calibrated").select("score", "probability").toArrow().to_pydict()
    assert served["probability"] == model.predict(served["score"]).tolist()
    spark.sql("DROP TABLE calibrated")


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"p": [None, None]}, "of 12 rows, p is NULL in 2;"),
        ({"p": [float("nan")]}, "of 11 rows, p is NaN in 1;"),
        ({"p": [float("inf"), -float("inf")]}, r"of 12 rows, p is infinite in 2 \(such as -inf\);"),
        ({"p": [1.5, -0.5, 2.0]}, r"of 13 rows, p is outside \[0, 1\] in 3 \(such as -0.5\);"),
        ({"y": [None]}, "of 11 rows, y is NULL in 1;"),
        ({"y": [2, 2]}, r"of 12 rows, y is neither 0 nor 1 in 2 \(such as 2\);"),
    ],
)
def test_bad_rows_are_refused_with_their_number(spark: Any, columns: dict[str, list[Any]], told: str) -> None:
    good = {"p": np.linspace(0, 1, 10).tolist(), "y": [0, 1] * 5}
    n_bad = len(next(iter(columns.values())))
    rows = {name: good[name] + columns.get(name, good[name][:n_bad]) for name in good}
    frame = spark.createDataFrame(pa.table(rows, pa.schema([("p", pa.float64()), ("y", pa.int32())])))
    with pytest.raises(fb.InputError, match=told):
        fb.engines.fit(frame, score="p", label="y", calibrator=fb.UniformMassBinning(2))


def test_rows_that_change_between_passes_are_refused(spark: Any) -> None:
    counter = iter(range(1000))
    rows = spark.range(100_000).selectExpr("rand(1) AS p", "id % 2 AS y")
    source = GroupBySource(SparkTable(rows), FitColumns("p", "y", None, 0, 1, (0.0, 1.0)))

    def change(n_pass: int, n_rows: int) -> None:
        source._frame = SparkTable(spark.range(100_000).selectExpr(f"rand({next(counter) + 2}) AS p", "id % 2 AS y"))

    source._progress = change
    with pytest.raises(fb.InputError, match="the rows changed between two passes"):
        fb.UniformMassBinning(20)._fit_source(source)
    assert next(counter) > 0  # the rows did change


def test_text_labels_and_empty_tables(spark: Any) -> None:
    rows = hard_set("uniform")
    words = pa.table({"odd `name`": rows.scores, "y": np.where(rows.labels, "yes", "no")})
    frame = spark.createDataFrame(words)
    local = fb.CertifiedCalibration().fit(rows.scores, rows.labels).model_
    assert fb.engines.fit(frame, score="odd `name`", label="y", positive="yes") == local._replace(event="yes")
    with pytest.raises(fb.InputError, match="table has no rows"):
        fb.engines.fit(frame.where("y = 'none'"), score="odd `name`", label="y", positive="yes")


def test_texts_are_compared_by_their_bytes(spark: Any) -> None:
    """Whatever the collation of their column."""
    rows = hard_set("uniform")
    cells = ["a" if number % 3 else "A" for number in range(len(rows.scores))]
    words = pa.table({"p": rows.scores, "y": np.where(rows.labels, "yes", "YES"), "c": cells})
    frame = spark.createDataFrame(words).selectExpr("p", "y COLLATE UTF8_LCASE AS y", "c COLLATE UNICODE_CI AS c")
    calibrator = fb.UniformMassBinning(8)
    model = calibrator.fit(rows.scores, words["y"], positive="yes").model_
    assert fb.engines.fit(frame, score="p", label="y", positive="yes", calibrator=calibrator) == model
    models = fb.multi.SegmentedBinning(calibrator).fit(rows.scores, words["y"], cells, positive="yes").model_
    found = fb.engines.fit(frame, score="p", label="y", positive="yes", segment="c", calibrator=calibrator)
    assert found.to_bytes() == models.to_bytes()
    counts = fb.engines.count(frame, model, score="p", label="y", positive="yes", by="c")
    bins = model.assign(rows.scores)
    assert set(counts.groups) == {"a", "A"}
    assert counts.label_sums.tolist() == np.bincount(bins[rows.labels], minlength=8).tolist()
    counts = fb.engines.count(frame, models, score="p", cell="c")
    assert counts.counts.tolist() == np.bincount(models.assign_all(rows.scores, cells), minlength=16).tolist()
    scored = fb.engines.predict(frame.withColumn("i", frame.p), models, score="p", cell="c")
    found = scored.select("i", "probability").toArrow().sort_by("i")
    order = np.argsort(rows.scores)
    expected = models.predict(rows.scores, cells)
    assert found["probability"].to_pylist() == expected[order].tolist()


def test_columns_that_are_there_twice(spark: Any) -> None:
    rows = spark.range(10).selectExpr("id / 9 AS p", "id % 2 AS y")
    model = fb.UniformMassBinning(1).fit([0.5], [1]).model_
    for names in (["p", "p P", "y"], ["p", "p", "y"]):
        frame = rows.selectExpr(*names)
        calls = (
            lambda frame: fb.engines.fit(frame, score="p", label="y"),
            lambda frame: fb.engines.count(frame, model, score="p"),
            lambda frame: fb.engines.predict(frame, model, score="p"),
        )
        for call in calls:
            with pytest.raises(fb.InputError, match=r"has 2 columns named 'p'.*rename them"):
                call(frame)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert fb.engines.count(rows.selectExpr("p", "p P", "y"), model, score="P").n_samples == 10
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize("kind", ["DECIMAL(20, 0)", "DECIMAL(38, 0)", "BOOLEAN", "TINYINT"])
def test_whole_weights_of_any_type(spark: Any, kind: str) -> None:
    rows = hard_set("uniform")
    weights = np.arange(len(rows.scores)) % 2
    frame = spark.createDataFrame(pa.table({"p": rows.scores, "y": rows.labels, "w": weights}))
    frame = frame.selectExpr("p", "y", f"CAST(w AS {kind}) AS w")
    calibrator = fb.UniformMassBinning(8)
    model = calibrator.fit(rows.scores, rows.labels, weights).model_
    assert fb.engines.fit(frame, score="p", label="y", weight="w", calibrator=calibrator) == model
    assert fb.engines.count(frame, model, score="p", weight="w").n_samples == weights.sum()
    if kind.startswith("DECIMAL"):
        huge = frame.selectExpr("p", "y", f"CAST(9007199254740993 AS {kind}) AS w")
        with pytest.raises(fb.InputError, match=r"w adds up to more than 2\*\*53 samples"):
            fb.engines.fit(huge, score="p", label="y", weight="w")


def test_what_is_no_table_of_spark(spark: Any) -> None:
    frame = spark.range(10).selectExpr("id / 9 AS p", "id % 2 AS y", "array(id) AS days", "map(id, id) AS m")
    for table in (spark, frame.p, frame.groupBy("p")):
        with pytest.raises(fb.InputTypeError, match=r"table is a .* of pyspark; pass a DataFrame"):
            fb.engines.fit(table, score="p", label="y")
    model = fb.UniformMassBinning(1).fit([0.5], [1]).model_
    with pytest.raises(fb.InputTypeError, match=r"table is a SparkSession of pyspark; pass a DataFrame"):
        fb.engines.count(spark, model, score="p")
    for by in ("days", "m"):
        with pytest.raises(fb.InputTypeError, match=rf"{by} holds .*, whose values are not compared"):
            fb.engines.count(frame, model, score="p", by=by)
    with pytest.raises(fb.InputTypeError, match=r"a function that returned a DataFrame of pyspark.*pass the frame"):
        fb.engines.fit(lambda: frame, score="p", label="y")


@pytest.mark.parametrize("n_bins", [10, 100, "certified"])
def test_a_partition_shuffles_little(spark: Any, tmp_path: Any, n_bins: Any) -> None:
    path = str(tmp_path / "rows.parquet")
    spark.range(0, 4_000_000, 1, 4).selectExpr("rand(7) AS p", "rand(8) < 0.3 AS y").write.parquet(path)
    meter = Meter(spark)
    method = fb.CertifiedCalibration() if n_bins == "certified" else fb.UniformMassBinning(n_bins)
    fb.engines.fit(spark.read.parquet(path), score="p", label="y", calibrator=method, progress=meter)
    assert len(meter.passes) >= 2
    for one in meter.passes:
        print(one)
        assert one.n_rows >= 4_000_000  # the rows were read
        assert one.most_shuffled <= 2**20
        assert one.collected < one.scanned // 4  # and never collected
