"""Assessments and counts from tables: what is said of the rows in memory, as far as it is a function of counts."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported import MODELS, hard_rows, model_of, rows_without_answer

import fastbin as fb
from fastbin.assess.bin_tests import Sizes
from fastbin.report import assess_model
from fastbin.report.assessment import NOT_COUNTED

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")


def _to_dask(table: Any) -> Any:
    dask = pytest.importorskip("dask.dataframe")
    return dask.from_pandas(table.to_pandas(), npartitions=3)


TABLES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "duckdb": (lambda table: duckdb.cursor().from_arrow(table), "auto"),
    "duckdb, group by": (lambda table: duckdb.cursor().from_arrow(table), "group-by"),
    "polars": (lambda table: pl.from_arrow(table).lazy(), "auto"),
    "pandas": (lambda table: table.to_pandas(), "auto"),
    "dask": (_to_dask, "auto"),
    "arrow": (lambda table: table, "stream"),
}
EVERY_TABLE = pytest.mark.parametrize("kind", list(TABLES))

# Sums of doubles over rows, which are those over counts but for the last bits.
SUMMED = ("brier", "debiased", "log_loss", "ece_by_bin")

# Where there are few rows for each value, values are grouped, and what follows from their means is a sum over rows, too.
GROUPED = (*SUMMED, "ece", "gap", "mean_prediction")

# The checks of so many bins take seconds.
NAMES = [pytest.param(name, marks=[pytest.mark.slow] if "1000 bins" in name else []) for name in MODELS]


def count(kind: str, columns: dict[str, Any], model: Any, **names: Any) -> fb.engines.BinCounts:
    make, engine = TABLES[kind]
    return fb.engines.count(make(pa.table(columns)), model, score="p", engine=engine, **names)


def assess(kind: str, columns: dict[str, Any], model: Any, **names: Any) -> Any:
    make, engine = TABLES[kind]
    return fb.engines.assess(make(pa.table(columns)), model, score="p", label="y", engine=engine, **names)


def labelled(model: Any, n: int = 5000, seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of hard scores with labels, and the names of those beside scores and labels."""
    rows, rng = hard_rows(model, n, seed), np.random.default_rng(seed)
    columns = {"p": rows.scores, "y": rng.random(n) < 0.4}
    if rows.keys is None:
        return columns, {}
    return {**columns, "k": np.minimum(rows.keys, np.uint64(2**64 - 2))}, {"tie_key": "k"}


def same(found: Any, expected: Any, place: str = "", summed: tuple[str, ...] = SUMMED) -> None:
    """Equal, to the last bit but for sums over rows."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        grouping = (expected.get("reliability") or expected).get("grouping")
        for name in expected:
            same(found[name], expected[name], f"{place}.{name}", GROUPED if grouping == "uniform-mass" else summed)
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for number, (each, other) in enumerate(zip(found, expected, strict=True)):
            same(each, other, f"{place}[{number}]", summed)
    elif isinstance(expected, float) and any(name in place.rpartition(".")[2] for name in summed):
        # The oldest SciPy inverts the noncentral chi-square law to 1e-8 only, so that a last bit of a sum shows.
        close = 1e-8 if "squared_ece_interval" in place else 1e-10
        assert found == pytest.approx(expected, rel=close, abs=1e-15), place
    else:
        assert found == expected, place


@pytest.fixture(autouse=True, scope="module")
def sizes_of_equal_sums_are_found_once() -> Iterator[None]:
    """The search for them takes most of the time of an assessment, and depends on the sums alone, here and there."""
    found, search = {}, Sizes.samples_to_confirm

    def known(*given: Any) -> float:
        key = pickle.dumps(given)
        if key not in found:
            found[key] = search(*given)
        return found[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sizes, "samples_to_confirm", known)
        yield


def only_counted(said: dict[str, Any]) -> dict[str, Any]:
    """An assessment of rows, without the parts that counts do not tell."""
    cards = [card for card in said["scorecards"] if card["name"] == "calibrated"]
    cautions = [text for text in said["cautions"] if "the scores themselves" not in text]
    cells = [{name: value for name, value in cell.items() if "before" not in name} for cell in said.get("cells", [])]
    return {**said, "scorecards": cards, "cautions": cautions, **({"cells": cells} if "cells" in said else {})}


@pytest.mark.sampled
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["duckdb, group by", "arrow"])
def test_an_assessment_is_that_of_the_rows(kind: str, name: str) -> None:
    model = model_of(name)
    columns, names = labelled(model)
    said = assess(kind, columns, model, **names).to_dict()
    same(only_counted(said), only_counted(assess_model(model, columns["p"], columns["y"], tie_keys=columns.get("k")).to_dict()))


@EVERY_TABLE
def test_rows_without_a_score_are_left_out_and_counted(kind: str) -> None:
    model = model_of("10 bins")
    columns, _ = labelled(model)
    bad = rows_without_answer(model)
    scores = pa.array([*columns["p"].tolist(), *bad.tolist(), None])
    labels = pa.array([*columns["y"].tolist(), *[True] * (len(bad) + 1)])
    about = assess(kind, {"p": scores, "y": labels}, model)
    assert (about.left_out.missing, about.left_out.outside) == (3, 6)
    here = assess_model(model, scores.to_numpy(zero_copy_only=False), np.asarray(labels))
    same(only_counted(about.to_dict()), only_counted(here.to_dict()))


@EVERY_TABLE
def test_weights_repeat_rows(kind: str) -> None:
    model = model_of("10 bins")
    columns, _ = labelled(model)
    weights = np.random.default_rng(1).integers(0, 4, 5000)
    about = assess(kind, {**columns, "w": weights}, model, weight="w")
    here = assess_model(model, columns["p"], columns["y"], sample_weight=weights)
    same(only_counted(about.to_dict()), only_counted(here.to_dict()))


@pytest.mark.sampled
@EVERY_TABLE
def test_the_calibration_set_is_recognised(kind: str) -> None:
    rng = np.random.default_rng(2)
    for scores in (rng.random(3000), rng.integers(0, 50, 3000) / 50.0):
        labels = rng.random(3000) < scores
        for calibrator in (fb.UniformMassBinning(8), fb.CertifiedCalibration(), fb.FixedWidthBinning(8)):
            model = calibrator.fit(scores, labels).model_
            check = assess(kind, {"p": scores, "y": labels}, model).check
            assert check.is_calibration_set
            labels[0] = not labels[0]
            assert not assess(kind, {"p": scores, "y": labels}, model).check.is_calibration_set


def a_set(unknown: str) -> tuple[fb.ModelSet, dict[str, Any]]:
    """A set, and rows of its cells, of its pool, and of a cell that it does not know."""
    models = fb.ModelSet(
        {"a": model_of("10 bins"), "b": model_of("whole ties"), "c": model_of("two resolutions")},
        pool=model_of("2 bins"), pooled_cells=["d", "e"], unknown=unknown,
    )  # fmt: skip
    cells = [*"abcde", *(["strange"] if unknown == "pool" else [])]
    rng = np.random.default_rng(3)
    scores = np.concatenate([hard_rows(models.get(cell, models.pool), 600, 4).scores for cell in cells])
    kept = (scores >= 0.0) & (scores <= 1.0)
    column = np.repeat(cells, 600)[kept]
    return models, {"p": scores[kept], "y": rng.random(len(column)) < 0.4, "c": column.tolist()}


@pytest.mark.sampled
@EVERY_TABLE
@pytest.mark.parametrize("unknown", ["refuse", "pool"])
def test_an_assessment_of_a_set_is_that_of_the_rows(kind: str, unknown: str) -> None:
    models, columns = a_set(unknown)
    about = assess(kind, columns, models, cell="c")
    here = assess_model(models, columns["p"], columns["y"], cells=columns["c"])
    assert about.n_unknown == (600 if unknown == "pool" else 0) == here.n_unknown
    found = only_counted(about.to_dict())
    same(found, only_counted(here.to_dict()))
    assert [cell.brier_before for cell in about.cells] == [None] * 4


def test_what_counts_do_not_tell_is_absent_and_said() -> None:
    model = model_of("10 bins")
    columns, _ = labelled(model)
    about = assess("arrow", columns, model)
    assert about.before is None
    assert [card.name for card in about.scorecards] == ["calibrated"]
    assert NOT_COUNTED in about.in_short
    assert NOT_COUNTED in str(about)


# ------------------------------------------------------------------------------------------------- counts


@pytest.mark.sampled
@EVERY_TABLE
@pytest.mark.parametrize("name", NAMES)
def test_counts_are_those_of_assign(kind: str, name: str) -> None:
    model = model_of(name)
    columns, names = labelled(model)
    counts = count(kind, columns, model, label="y", **names)
    bins = model.assign(columns["p"], tie_keys=columns.get("k"))
    assert np.array_equal(counts.counts, np.bincount(bins, minlength=model.n_bins))
    assert np.array_equal(counts.label_sums, np.bincount(bins[columns["y"]], minlength=model.n_bins))


@EVERY_TABLE
def test_counts_by_the_values_of_a_column(kind: str) -> None:
    model = model_of("10 bins")
    columns, _ = labelled(model)
    days = np.random.default_rng(5).integers(0, 3, 5000)
    words = [None if day == 2 else f"day {day}" for day in days.tolist()]
    counts = count(kind, {**columns, "d": pa.array(words)}, model, by="d")
    assert list(counts.groups) == ["day 0", "day 1", None]
    assert counts.label_sums is None
    for number, part in enumerate(counts.groups.values()):
        own = model.assign(columns["p"][days == number])
        assert np.array_equal(part.counts, np.bincount(own, minlength=10))
    assert np.array_equal(sum(part.counts for part in counts.groups.values()), counts.counts)
    assert counts.n_samples == 5000
    assert len(counts.to_pandas()) == 30
    assert list(count(kind, {**columns, "d": days}, model, by="d").groups) == [0, 1, 2]


@EVERY_TABLE
def test_counts_of_a_set_are_in_the_order_of_its_bins(kind: str) -> None:
    models, columns = a_set("refuse")
    counts = count(kind, columns, models, label="y", cell="c")
    bins = models.assign_all(columns["p"], columns["c"])
    assert np.array_equal(counts.counts, np.bincount(bins, minlength=models.n_bins))


@EVERY_TABLE
@pytest.mark.parametrize("n_bins", [1, 2])
def test_counts_of_a_set_whose_pool_scores_unknown_cells(kind: str, n_bins: int) -> None:
    """Rows of the cells that share the pool count, and none is of an unknown cell, which has no bin."""
    own = fb.ExplicitBinning([0.5] * (n_bins - 1)).fit([0.2, 0.3, 0.7], [0, 1, 1]).model_
    models = fb.ModelSet({"a": own}, unknown="pool", pool=own, pooled_cells=["b"])
    columns = {"p": [0.1, 0.9, 0.3], "c": ["a", "b", "a"], "y": [1, 0, 1]}
    counts = count(kind, columns, models, label="y", cell="c", by="c")
    expected = [[2, 0, 0, 1], [2, 0, 0, 0]] if n_bins == 2 else [[2, 1], [2, 0]]
    assert [counts.counts.tolist(), counts.label_sums.tolist()] == expected
    assert np.array_equal(sum(part.counts for part in counts.groups.values()), counts.counts)
    with pytest.raises(fb.InputError, match="of 3 rows, 1 have a cell that the set does not know"):
        count(kind, {**columns, "c": ["a", "b", "z"]}, models, cell="c")


@EVERY_TABLE
@pytest.mark.parametrize("positive", ["yes", 7, True])
def test_labels_of_two_other_values(kind: str, positive: Any) -> None:
    other = {"yes": "no", 7: -7, True: False}[positive]
    labels = [positive, other, other, positive, positive]
    columns = {"p": [0.1, 0.2, 0.3, 0.8, 0.9], "y": labels}
    assert count(kind, columns, model_of("1 bins"), label="y", positive=positive).label_sums.tolist() == [3]


@pytest.mark.parametrize(
    ("kind", "kind_of_weight"),
    [
        (kind, weight) for kind in TABLES for weight in ("int8", "uint8", "int32", "uint64", "decimal")
        if weight != "decimal" or kind != "dask"  # which refuses decimals, by their type
    ],
)  # fmt: skip
def test_whole_weights_of_any_type(kind: str, kind_of_weight: str) -> None:
    weights = pa.array([3, 0, 100])
    columns = {"p": [0.1, 0.2, 0.9], "w": weights.cast(pa.decimal128(38, 0) if kind_of_weight == "decimal" else kind_of_weight)}
    assert count(kind, columns, model_of("1 bins"), weight="w").counts.tolist() == [103]


@EVERY_TABLE
def test_the_bins_of_randomised_values_need_no_key(kind: str) -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(400)
    plain, drawn = (fb.UniformMassBinning(4, delta=delta).fit(scores, rng.random(400) < scores) for delta in (0.0, 0.1))
    expected = count(kind, {"p": scores}, plain).counts.tolist()
    assert count(kind, {"p": scores}, drawn).counts.tolist() == expected
    keyed = {"p": scores, "k": np.arange(400, dtype=np.uint64) << np.uint64(50)}
    assert count(kind, keyed, drawn, tie_key="k").counts.tolist() == expected


@EVERY_TABLE
def test_booleans_are_weights_of_0_and_1(kind: str) -> None:
    columns = {"p": [0.1, 0.2, 0.9], "w": [True, False, True]}
    assert count(kind, columns, model_of("1 bins"), weight="w").counts.tolist() == [2]


def test_sums_of_integers_in_duckdb_are_weights() -> None:
    relation = duckdb.sql("SELECT 0.5 AS p, sum(n) AS w FROM (VALUES (3), (4)) AS t(n)")
    for engine in ("stream", "group-by"):
        assert fb.engines.count(relation, model_of("1 bins"), score="p", weight="w", engine=engine).n_samples == 7


@EVERY_TABLE
def test_labels_that_are_nan_are_no_nulls(kind: str) -> None:
    columns = {"p": [0.1, 0.2, 0.3], "y": pa.array([0.0, float("nan"), 1.0])}
    told = "NULL" if kind in ("pandas", "dask") else "NaN"  # which are one there
    with pytest.raises(fb.InputError, match=f"y is {told} in 1"):
        count(kind, columns, model_of("1 bins"), label="y")


@EVERY_TABLE
def test_messages_name_the_columns_of_the_table(kind: str) -> None:
    columns = {"p": ["a", "b"], "y": ["yes", "no"]}
    with pytest.raises(fb.InputTypeError, match=r"score is 'p', a column of type VARCHAR|score holds .*string, not numbers"):
        count(kind, columns, model_of("1 bins"))
    with pytest.raises(fb.InputTypeError, match="positive="):
        count(kind, columns | {"p": [0.1, 0.2]}, model_of("1 bins"), label="y")


def test_what_sql_does_not_compare_is_refused_in_words() -> None:
    relation = duckdb.sql("SELECT 0.5 AS p, DATE '2026-01-02' AS y, 'a'::ENUM('a', 'b') AS e")
    with pytest.raises(fb.InputTypeError, match=r"datetime.date\(2026, 1, 2\) is of type date; in SQL texts, numbers"):
        fb.engines.count(relation, model_of("1 bins"), score="p", label="y", positive=date(2026, 1, 2), engine="group-by")
    with pytest.raises(fb.InputTypeError, match="label is 'e', a column of type ENUM; pass positive= with"):
        fb.engines.count(relation, model_of("1 bins"), score="p", label="e", engine="group-by")


def test_a_column_whose_values_are_not_compared() -> None:
    table = pa.table({"p": [0.5], "day": [[1, 2]]})
    with pytest.raises(fb.InputTypeError, match=r"day holds list<.*>, whose values are not compared"):
        fb.engines.count(table, model_of("1 bins"), score="p", by="day")


def test_an_assessment_needs_labels() -> None:
    with pytest.raises(fb.InputTypeError, match="label is None; name the column"):
        fb.engines.assess(pa.table({"p": [0.5]}), model_of("1 bins"), score="p", label=None)  # type: ignore[arg-type]


BAD = {
    "missing labels": ({"y": [0.0, None, 1.0]}, {}, r"of 3 rows, y is NULL in 1"),
    "strange labels": ({"y": [0, 3, 1]}, {}, r"y is neither 0 nor 1 in 1 \(such as 3"),
    "a third label": ({"y": ["a", "b", "c"]}, {"positive": "a"}, r"y is neither 'a' nor '[bc]' in 1"),
    "no positive label": ({"y": ["a", "b", "b"]}, {"positive": "z"}, "positive is 'z', which is none of the labels in y"),
    "negative weights": ({"w": [1, -1, 1]}, {"weight": "w"}, "w is negative in 1"),
    "missing weights": ({"w": [1, None, 1]}, {"weight": "w"}, "w is NULL in 1|w holds double, real weights"),
    "real weights": ({"w": [1.0, 2.0, 1.5]}, {"weight": "w"}, "w holds .*, real weights, and here weights are counts"),
    "weights of 64 bits": ({"w": pa.array([2**64 - 1, 1, 1], pa.uint64())}, {"weight": "w"}, r"w adds up to more than 2\*\*53"),
    "too much weight": ({"w": [2**53, 1, 1]}, {"weight": "w"}, r"w adds up to more than 2\*\*53 samples"),
    "scores outside": ({"p": [0.5, 1.5, None]}, {}, "of 3 rows, 1 have no score, 1 have a score outside the range"),
    "no such column": ({}, {"weight": "v"}, "has no column 'v'"),
    "an engine": ({}, {"engine": "sql"}, "engine is 'sql'"),
}  # fmt: skip


@pytest.mark.sampled
@EVERY_TABLE
@pytest.mark.parametrize("case", list(BAD))
def test_what_cannot_be_counted_is_refused(kind: str, case: str) -> None:
    given, names, message = BAD[case]
    make, engine = TABLES[kind]
    table = make(pa.table({"p": [0.1, 0.5, 0.9], "y": [0, 1, 1], **given}))
    with pytest.raises(fb.FastbinError, match=message):
        fb.engines.count(table, model_of("2 bins"), **{"score": "p", "label": "y", "engine": engine, **names})


@EVERY_TABLE
def test_cells_and_keys_that_no_bin_takes_are_refused(kind: str) -> None:
    models, columns = a_set("refuse")
    with pytest.raises(fb.InputError, match=r"rows, 2 have a cell that the set does not know; leave"):
        count(kind, {"p": [0.1, 0.2, 0.3], "c": ["a", "nowhere", None]}, models, cell="c")
    with pytest.raises(fb.InputError, match=r"of 3 rows, 2 have no tie key \(.*or 16 lower-case hexadecimal digits\); leave"):
        count(kind, {"p": [0.0] * 3, "k": ["8000000000000000", None, "X"]}, model_of("keys at zero"), tie_key="k")
    with pytest.raises(fb.InputError, match=r"of 2 rows, 1 have no tie key \("):
        count(kind, {"p": [0.0] * 2, "k": ["8000000000000000", "800000000000000g"]}, model_of("keys at zero"), tie_key="k")
    models, columns = a_set("pool")
    with pytest.raises(fb.InputError, match=r"rows, 600 have a cell that the set does not know; leave"):
        count(kind, columns, models, cell="c")


def test_models_without_bins_and_tables_without_rows_are_refused() -> None:
    scores = np.linspace(0.01, 0.99, 200)
    smooth = fb.PlattScaling().fit(scores, scores > 0.5)
    with pytest.raises(fb.InputError, match="which has no bins to count in"):
        count("arrow", {"p": scores}, smooth)
    with pytest.raises(fb.InputError, match="no row is left to assess: of 0 rows, 0 have no score"):
        assess("arrow", {"p": np.empty(0), "y": np.empty(0, bool)}, model_of("2 bins"))
    with pytest.raises(fb.InputError, match=r"of 200 rows, 0 have no score, 0 one .* and the others have weight 0"):
        assess("arrow", {"p": scores, "y": scores > 0.5, "w": np.zeros(200, int)}, model_of("2 bins"), weight="w")
    assert count("arrow", {"p": np.empty(0)}, model_of("2 bins")).counts.tolist() == [0, 0]


def test_files_are_counted_by_their_path(tmp_path: Path) -> None:
    model = model_of("10 bins")
    columns, _ = labelled(model)
    table = pa.table(columns)
    path = tmp_path / "rows.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(table, path)
    expected = count("arrow", columns, model, label="y")
    assert np.array_equal(fb.engines.count(path, model, score="p", label="y").label_sums, expected.label_sums)
    assert np.array_equal(fb.engines.count(lambda: table, model, score="p").counts, expected.counts)


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    columns, _ = labelled(model_of("2 bins"))
    fb.engines.count(pa.table(columns), model_of("2 bins"), score="p", progress=lambda *told: seen.append(told))
    assert seen == [(1, 5000)]
