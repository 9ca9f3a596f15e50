"""Predictions, counts, assessments and segments of Spark tables, in expressions alone: `.ci/thorough spark` runs this."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from exported import MODELS, bits, hard_rows, model_of, rows_without_answer

import fastbin as fb
from fastbin.report import assess_model
from spark_sessions import needs_spark, session

pytestmark = needs_spark

SCORE, KEY = "the `score`.x", "select"
REPLACED = "${spark.master}"  # wherever Spark reads it in SQL


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with session(tmp_path_factory.mktemp("spark")) as found:
        yield found


def table_of(spark: Any, **columns: Any) -> Any:
    return spark.createDataFrame(pa.table(columns)).repartition(3)


def collected(frame: Any, *names: str) -> list[np.ndarray]:
    rows = frame.select(*(f"`{name.replace('`', '``')}`" for name in names)).collect()
    return [np.array([np.nan if row[at] is None else row[at] for row in rows], np.float64) for at in range(len(names))]


def digits(keys: np.ndarray) -> list[str]:
    return [format(key, "016x") for key in keys.tolist()]


@pytest.mark.parametrize("name", list(MODELS))
def test_hard_scores_have_the_bits_of_predict(spark: Any, name: str) -> None:
    model = model_of(name)
    rows = hard_rows(model, 20_000)
    bad = rows_without_answer(model)
    columns = {SCORE: [*rows.scores.tolist(), *bad.tolist(), None], "row": np.arange(20_001.0 + len(bad))}
    keyed = {} if rows.keys is None else {KEY: digits(np.append(rows.keys, np.zeros(len(bad) + 1, np.uint64)))}
    scored = fb.engines.predict(
        table_of(spark, **columns, **keyed), model, score=SCORE, tie_key=KEY if keyed else None, output="a.b"
    )
    assert scored.columns == [*columns, *keyed, "a.b"]
    numbers, values = collected(scored, "row", "a.b")
    values = values[np.argsort(numbers)]
    assert np.array_equal(bits(values[:20_000]), bits(model.predict(rows.scores, tie_keys=rows.keys)))
    assert np.isnan(values[20_000:]).all()


def a_set(unknown: str) -> tuple[fb.ModelSet, dict[str, Any]]:
    names = [REPLACED, 'b "c"', "o'hara", "\N{SNOWMAN}", "\\"]
    models = fb.ModelSet(
        dict(zip(names, map(model_of, ("10 bins", "whole ties", "two resolutions", "edges from above")), strict=False)),
        pool=model_of("2 bins"), pooled_cells=["\\"], unknown=unknown,
    )  # fmt: skip
    cells = [*names, *(["strange"] if unknown == "pool" else [])]
    scores = np.concatenate([hard_rows(models.get(cell, models.pool), 2000, 4).scores for cell in cells])
    kept = (scores >= 0.0) & (scores <= 1.0)
    column = np.repeat(cells, 2000)[kept].tolist()
    return models, {"p": scores[kept], "y": np.random.default_rng(3).random(len(column)) < 0.4, "c": column}


@pytest.mark.parametrize("unknown", ["refuse", "pool"])
def test_sets_score_and_are_assessed(spark: Any, unknown: str) -> None:
    models, columns = a_set(unknown)
    n_rows = len(columns["c"])
    table = table_of(spark, **columns, row=np.arange(float(n_rows)))
    numbers, values = collected(fb.engines.predict(table, models, score="p", cell="c"), "row", "probability")
    assert np.array_equal(bits(values[np.argsort(numbers)]), bits(models.predict(columns["p"], columns["c"])))
    about = fb.engines.assess(table, models, score="p", label="y", cell="c")
    here = assess_model(models, columns["p"], columns["y"], cells=columns["c"])
    assert (about.n_unknown, about.n_positive) == (here.n_unknown, here.n_positive)
    assert [cell.after.to_dict() for cell in about.cells[:2]] == [cell.after.to_dict() for cell in here.cells[:2]]


@pytest.mark.parametrize("keep_top", [False, True])
def test_vectors_are_those_of_predict_but_for_the_last_bits(spark: Any, keep_top: bool) -> None:
    rng, names = np.random.default_rng(0), ["a.b", "the `c`", "d"]
    P = rng.dirichlet([0.5, 0.5, 0.5], 1000)
    truth = (P.cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1)
    vectors = fb.multi.VectorCalibration(keep_top=keep_top, calibrator=fb.UniformMassBinning(10)).fit(P, truth)
    P[0], P[1], P[2, 0] = [0.5, 0.5, 0.5], [-0.25, 0.75, 0.5], np.nan
    table = table_of(spark, row=np.arange(1000.0), **dict(zip(names, P.T, strict=True)))
    scored = fb.engines.predict(table, vectors, score=names)
    assert scored.columns == ["row", *names, "probability_0", "probability_1", "probability_2"]
    row, *values = collected(scored, *scored.columns[:1], *scored.columns[-3:])
    found = np.stack(values, axis=1)[np.argsort(row)]
    assert np.isnan(found[:3]).all()
    np.testing.assert_allclose(found[3:], vectors.predict(P[3:]), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("name", ["10 bins", "whole ties", "keys at zero", "two resolutions", "clips"])
def test_counts_and_assessments_are_those_of_the_rows(spark: Any, name: str) -> None:
    model, rng = model_of(name), np.random.default_rng(0)
    rows = hard_rows(model, 5000)
    keys = None if rows.keys is None else np.minimum(rows.keys, np.uint64(2**64 - 2))
    labels, days, weights = rng.random(5000) < 0.4, rng.integers(0, 3, 5000), rng.integers(0, 4, 5000)
    keyed = {} if keys is None else {"k": digits(keys)}
    table = table_of(spark, p=rows.scores, y=labels, d=days, w=weights, **keyed)
    names = {"score": "p", "label": "y", "tie_key": "k" if keyed else None}
    counts = fb.engines.count(table, model, **names, weight="w", by="d")
    bins = model.assign(rows.scores, tie_keys=keys)
    for day, part in counts.groups.items():
        own = days == day
        assert np.array_equal(part.counts, np.bincount(bins[own], weights[own], model.n_bins))
        assert np.array_equal(part.label_sums, np.bincount(bins[own], weights[own] * labels[own], model.n_bins))
    about = fb.engines.assess(table, model, **names)
    here = assess_model(model, rows.scores, labels, tie_keys=keys)
    assert about.n_positive == here.n_positive
    assert (about.check is None) == (here.check is None)
    if here.check is not None:
        assert about.check.to_dict() == here.check.to_dict()


def test_bad_rows_are_counted_by_kind(spark: Any) -> None:
    table = table_of(spark, p=[0.1, None, float("nan"), 1.5], y=[0, 1, 1, 0])
    with pytest.raises(fb.InputError, match="of 4 rows, 2 have no score, 1 have a score outside the range"):
        fb.engines.count(table, model_of("2 bins"), score="p")
    about = fb.engines.assess(table, model_of("2 bins"), score="p", label="y")
    assert (about.left_out.missing, about.left_out.outside, about.n_samples) == (2, 1, 1)
    with pytest.raises(fb.InputTypeError, match="engine is 'stream', and the rows of Spark stay where they are"):
        fb.engines.count(table, model_of("2 bins"), score="p", engine="stream")


def test_nothing_is_replaced_in_values(spark: Any) -> None:
    """Labels of which one would become the other; names of columns, in which nothing can be escaped, are refused."""
    rng = np.random.default_rng(2)
    scores = rng.random(2000)
    is_first = rng.random(2000) < scores
    labels = np.where(is_first, REPLACED, spark.sparkContext.master)
    model = fb.UniformMassBinning(4).fit(scores, labels, positive=REPLACED).model_
    table = table_of(spark, p=scores, y=labels.tolist())
    names = {"score": "p", "label": "y", "positive": REPLACED}
    assert fb.engines.fit(table, **names, calibrator=fb.UniformMassBinning(4)) == model
    assert np.array_equal(
        fb.engines.count(table, model, **names).label_sums, np.bincount(model.assign(scores), is_first, model.n_bins)
    )
    renamed = table.withColumnRenamed("p", "${p}")
    for call in (
        lambda: fb.engines.fit(renamed, **{**names, "score": "${p}"}),
        lambda: fb.engines.predict(renamed, model, score="${p}"),
        lambda: fb.engines.predict(table, model, score="p", output="${out}"),
        lambda: fb.engines.count(renamed, model, score="${p}"),
    ):
        with pytest.raises(fb.InputError, match=r"the column '\$\{.*' has \$\{ in its name, which Spark replaces"):
            call()


@pytest.mark.parametrize("ties", ["whole", "random"])
@pytest.mark.parametrize("text", [False, True])
def test_segments_are_those_of_the_fit_in_memory(spark: Any, ties: str, text: bool) -> None:
    rng = np.random.default_rng(1)
    numbers = np.floor(50 * rng.random(20_000) ** 2).astype(np.int64)
    scores = np.where(numbers % 3 == 0, rng.integers(0, 40, 20_000) / 40.0, rng.random(20_000))
    scores[numbers % 5 == 1] *= -0.0 if text else 0.5
    labels, weights = rng.random(20_000) < scores, rng.integers(0, 3, 20_000)
    segments = [f"${{segment}} '{number}'" for number in numbers.tolist()] if text else numbers
    method = fb.multi.SegmentedBinning(fb.UniformMassBinning(10, ties=ties), min_points=200, unknown="pool")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fb.FastbinWarning)
        here = method.fit(scores, labels, segments, weights).model_
        table = table_of(spark, p=scores, y=labels, s=segments, w=weights)
        there = fb.engines.fit(table, score="p", label="y", weight="w", segment="s", calibrator=method)
    assert len(here.pooled_cells) > 2
    assert there.to_bytes() == here.to_bytes()
