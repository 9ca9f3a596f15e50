"""Files as tables of `fastbin.engines`: paths, and tables that `fastbin.io.open_table` has opened; text as well as types."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import fastbin as fb
from fastbin.tables.parquet import IpcTable
from fastbin.tables.replay import Replay

N = 3000
RNG = np.random.default_rng(11)
SCORES = RNG.random(N).round(6)
LABELS = (RNG.random(N) < SCORES).astype(int)
WEIGHTS = RNG.integers(0, 4, N)
REGIONS = RNG.choice(["nord", "süd"], N)
DAYS = RNG.integers(0, 3, N)
COLUMNS = {"p": SCORES, "y": LABELS, "n": WEIGHTS, "region": REGIONS, "day": DAYS}
BINNING = fb.UniformMassBinning(n_bins=6)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    pq.write_table(pa.table(COLUMNS), folder / "rows.parquet")
    write_csv(folder / "rows.csv")
    write_csv(folder / "german.csv", delimiter=";", decimal=",", encoding="latin-1")
    return folder


@pytest.fixture(autouse=True)
def files(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def write_csv(path: str | Path, delimiter: str = ",", decimal: str = ".", encoding: str = "utf8", **changed: Any) -> None:
    columns = COLUMNS | changed
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    lines = [delimiter.join(columns), *(delimiter.join(str(value).replace(".", decimal) for value in row) for row in rows)]
    Path(path).write_text("\n".join(lines) + "\n", encoding=encoding)


def opened(path: str) -> Any:
    return fb.io.open_table(path, decimal=",", encoding="latin-1") if path == "german.csv" else fb.io.open_table(path)


def fit(table: Any, **options: Any) -> Any:
    return fb.engines.fit(table, **{"score": "p", "label": "y", "calibrator": BINNING} | options)


SOURCES = ["rows.parquet", "rows.csv", "german.csv"]


# ------------------------------------------------------------------------------------------------- tables of fastbin.io


@pytest.mark.parametrize("path", SOURCES)
def test_an_opened_table_is_fitted(path: str) -> None:
    assert fit(opened(path)) == BINNING.fit(SCORES, LABELS).model_
    assert fit(opened(path), weight="n") == BINNING.fit(SCORES, LABELS, sample_weight=WEIGHTS).model_
    of_regions = fb.multi.SegmentedBinning(BINNING).fit(SCORES, LABELS, segments=REGIONS.astype(object)).model_
    assert fit(opened(path), segment="region") == of_regions
    assert fit(opened(path), calibrator=fb.IsotonicCalibration()) == fb.IsotonicCalibration().fit(SCORES, LABELS).model_


def test_what_is_parsed_is_kept_within_the_limit_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    stored, store = [], Replay._store
    monkeypatch.setattr(Replay, "_store", lambda replay, batch: stored.append(len(batch[0])) or store(replay, batch))
    assert fit(fb.io.open_table("rows.csv", memory_limit=N * 40)) == BINNING.fit(SCORES, LABELS).model_
    assert not stored
    assert fit(fb.io.open_table("rows.csv", memory_limit=N)) == BINNING.fit(SCORES, LABELS).model_
    assert sum(stored) == N


def test_rows_with_types_are_kept_within_the_limit_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the limit is for rows, of 9 bytes each here; there are enough of them for several passes."""
    monkeypatch.setattr("fastbin._fit.rows.ROWS_TO_PLAN_FOR", 512)
    monkeypatch.setattr("fastbin._fit.rows.MOST_LISTED", 20)
    read, batches_of = [], IpcTable.batches
    monkeypatch.setattr(IpcTable, "batches", lambda table, *given: read.append(table.path) or batches_of(table, *given))
    feather.write_feather(pa.table(COLUMNS | {"y": LABELS.astype(bool)}), "rows.feather")
    for limit, reads_again in ((None, False), (2 * N * 9, False), (2 * N * 9 - 2, True)):
        read.clear()
        assert fit(fb.io.open_table("rows.feather", memory_limit=limit)) == BINNING.fit(SCORES, LABELS).model_
        assert (len(read) > 1) is reads_again


def test_a_table_does_not_group() -> None:
    with pytest.raises(fb.InputError, match=r"table is the path 'rows.csv', and engine is 'group-by'; pass a relation"):
        fit(opened("rows.csv"), engine="group-by")
    with pytest.raises(fb.InputError, match=r"table is the path 'rows.csv'; open it first"):
        fb.engines.predict(opened("rows.csv"), fit("rows.csv"), score="p")


@pytest.mark.parametrize("path", SOURCES)
@pytest.mark.parametrize("as_path", [True, False])
def test_rows_of_files_are_counted(path: str, as_path: bool) -> None:
    if as_path and path == "german.csv":
        with pytest.raises(fb.InputError, match=r"if it has a decimal comma, open it by fb.io.open_table\(path, decimal=','\)"):
            fb.engines.count(path, fit("rows.csv"), score="p")
        return
    table, model = (path if as_path else opened(path)), fit("rows.parquet")
    expected = fb.engines.count(pa.table(COLUMNS), model, score="p", label="y", weight="n", by="region")
    counts = fb.engines.count(table, model, score="p", label="y", weight="n", by="region")
    assert counts.groups.keys() == expected.groups.keys()
    for region, group in expected.groups.items():
        assert np.array_equal(counts.groups[region].counts, group.counts)
        assert np.array_equal(counts.groups[region].label_sums, group.label_sums)
    assert np.array_equal(fb.engines.count(table, model, score="p").counts, np.bincount(model.assign(SCORES), minlength=6))
    told = fb.engines.assess(table, model, score="p", label="y")
    assert told.to_dict() == fb.engines.assess(pa.table(COLUMNS), model, score="p", label="y").to_dict()


@pytest.mark.parametrize("path", SOURCES)
@pytest.mark.parametrize("segment", ["region", "day"])
def test_rows_of_sets_are_counted(path: str, segment: str) -> None:
    models = fit("rows.parquet", segment=segment)
    expected = fb.engines.count(pa.table(COLUMNS), models, score="p", label="y", cell=segment, by=segment)
    counts = fb.engines.count(opened(path), models, score="p", label="y", cell=segment, by=segment)
    assert np.array_equal(counts.counts, expected.counts)
    assert np.array_equal(counts.label_sums, expected.label_sums)
    assert list(map(str, counts.groups)) == list(map(str, expected.groups))


def test_rows_with_keys_are_counted() -> None:
    scores = SCORES.round(1)
    keys = RNG.integers(0, 2**63, N, dtype=np.uint64) * np.uint64(2)
    model = fb.UniformMassBinning(n_bins=6, ties="random").fit(scores, LABELS).model_
    write_csv("keys.csv", p=scores, n=keys)
    counts = fb.engines.count("keys.csv", model, score="p", tie_key="n")
    assert np.array_equal(counts.counts, np.bincount(model.assign(scores, tie_keys=keys), minlength=model.n_bins))
    write_csv("keys.csv", p=scores, n=keys.astype(object) - int(keys[0]) - 1)
    with pytest.raises(fb.InputError, match=r"keys.csv, line 2, column n: '-1' is not an integer, as is needed here"):
        fb.engines.count("keys.csv", model, score="p", tie_key="n")


def test_text_that_cannot_be_counted() -> None:
    models = fit("rows.parquet", segment="day")
    with pytest.raises(fb.InputError, match=r"rows.csv, line 2, column region: '\w+' is not an integer"):
        fb.engines.count("rows.csv", models, score="p", cell="region")
    write_csv("gaps.csv", p=["", *SCORES[1:].tolist()])
    model = fit("rows.csv")
    with pytest.raises(fb.InputError, match="of 3,000 rows, 1 have no score"):
        fb.engines.count("gaps.csv", model, score="p")
    assert fb.engines.assess("gaps.csv", model, score="p", label="y").left_out.missing == 1
    with pytest.raises(fb.InputError, match=r"rows.csv has no column 'q'"):
        fb.engines.count("rows.csv", model, score="q")


# ------------------------------------------------------------------------------------------------- columns and labels


@pytest.mark.parametrize("column", ["n", "day"])
def test_a_column_may_have_two_roles(column: str) -> None:
    """In text the segment is text; what is fitted is the same as under another name."""
    write_csv("twice.csv", again=COLUMNS[column])
    weight = "n" if column == "n" else None
    binning = fb.multi.SegmentedBinning(fb.UniformMassBinning(2))
    assert fit("twice.csv", segment=column, weight=weight, calibrator=binning) == fit(
        "twice.csv", segment="again", weight=weight, calibrator=binning
    )


@pytest.mark.parametrize("engine", ["stream", "group-by"])
def test_labels_are_nothing_else_and_scores_are_no_weights(engine: str) -> None:
    table = pa.table({"p": SCORES, "y": LABELS})
    for options, told in (
        ({"label": "p"}, "'p' is both score and label; name another column for one of them"),
        ({"weight": "p"}, "'p' is both score and weight"), ({"weight": "y"}, "'y' is both label and weight"),
        ({"segment": "y"}, "'y' is both label and segment"),
    ):  # fmt: skip
        with pytest.raises(fb.InputError, match=f"the column {told}"):
            fb.engines.fit(table, engine=engine, **{"score": "p", "label": "y", **options})


@pytest.mark.parametrize(
    ("words", "positive"),
    [
        (("1", "2"), 2.0), (("1", "2"), 2), (("1", "2"), "2"), (("1.0", "2.0"), 2), (("1.0", "2.0"), np.float32(2)),
        (("-1", "1"), 1), (("false", "true"), True), (("true", "false"), False), (("False", "True"), np.True_),
        (("false", "true"), 1), (("0", "1"), True), (("no", "yes"), "yes"),
    ],
)  # fmt: skip
def test_positive_numbers_and_booleans_are_compared_as_such(words: tuple[str, str], positive: Any) -> None:
    write_csv("words.csv", y=[words[label] for label in LABELS.tolist()])
    assert fit("words.csv", positive=positive) == BINNING.fit(SCORES, LABELS).model_._replace(event=str(positive))
    model = fit("rows.csv")
    counts = fb.engines.count("words.csv", model, score="p", label="y", positive=positive)
    assert counts.label_sums.sum() == LABELS.sum()


def test_numbers_that_labels_are_not() -> None:
    write_csv("words.csv", y=["ja" if label else "nein" for label in LABELS.tolist()])
    with pytest.raises(fb.InputError, match=r"words.csv, line 2, column y: '\w+' is neither a number nor true or false"):
        fit("words.csv", positive=1)
    with pytest.raises(fb.InputError, match=r"rows.csv, line \d+, column y: no label up to here is 2.0: they are"):
        fit("rows.csv", positive=2)
