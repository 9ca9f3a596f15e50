"""Segments by GROUP BY: every model is that of its own rows, byte for byte, and few rows come back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin.tables import sql
from fitting import bare

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

# Hard segments leave fewer bins than asked for; one test compares what is said of that.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")

SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "few values": lambda rng, n: rng.integers(0, 30, n) / 30.0,
    "zeros of both signs": lambda rng, n: np.where(
        rng.random(n) < 0.5, np.where(rng.random(n) < 0.5, 0.0, -0.0), rng.random(n)
    ),
    "one value": lambda rng, n: np.full(n, 0.25),
    "subnormal": lambda rng, n: rng.integers(0, 500, n) * 5e-324,
    "bunched": lambda rng, n: 0.5 + 1e-9 * rng.random(n),
}


def rows(n_segments: int, n: int, seed: int = 0, shape: str | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labels and segments of very different sizes, the scores of each of another shape."""
    rng = np.random.default_rng(seed)
    segments = np.floor(n_segments * rng.random(n) ** 2).astype(np.int64)
    scores = np.empty(n)
    for number, (name, make) in enumerate(SHAPES.items()):
        chosen = np.full(n, True) if shape == name else (segments % len(SHAPES) == number) & (shape is None)
        scores[chosen] = make(rng, int(chosen.sum()))
    return scores, rng.random(n) < 0.2 + 0.6 * scores, segments * 7 - 11


def fit_here(method: Any, scores: Any, labels: Any, segments: Any, weights: Any = None) -> fb.ModelSet:
    calibrator = fb.multi.SegmentedBinning(**{"calibrator": fb.UniformMassBinning(), **method})
    return calibrator.fit(scores, labels, segments, weights).model_


def fit_there(method: Any, columns: dict[str, Any], **names: Any) -> fb.ModelSet:
    relation = duckdb.cursor().from_arrow(pa.table(columns))
    calibrator = fb.multi.SegmentedBinning(**{"calibrator": fb.UniformMassBinning(), **method})
    made = fb.engines.fit(relation, score="p", label="y", segment="s", calibrator=calibrator, engine="group-by", **names)
    assert isinstance(made, fb.ModelSet)
    return made


CALIBRATORS = {
    "umd": fb.UniformMassBinning(10),
    "ze": fb.UniformMassBinning(7, scheme="ze"),
    "umb": fb.UniformMassBinning(10, scheme="umb"),
    "keys": fb.UniformMassBinning(10, ties="random", seed=3),
    "upper": fb.UniformMassBinning(10, ties="upper"),
    "auto": fb.UniformMassBinning("auto"),
    "one bin": fb.UniformMassBinning(1),
    "monotone": fb.UniformMassBinning(10, monotone=True),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", list(CALIBRATORS))
@pytest.mark.parametrize("min_points", [1, 300])
def test_a_set_is_that_of_the_fit_in_memory(name: str, min_points: int) -> None:
    scores, labels, segments = rows(40, 12_000)
    method = {"calibrator": CALIBRATORS[name], "min_points": min_points, "unknown": "pool" if min_points > 1 else "refuse"}
    there = fit_there(method, {"p": scores, "y": labels, "s": segments})
    here = fit_here(method, scores, labels, segments)
    assert (len(here.pooled_cells) > 5) == (min_points > 1) or name == "umb"
    assert there.to_bytes() == here.to_bytes()


@pytest.mark.parametrize("shape", list(SHAPES))
def test_each_model_is_that_of_its_own_rows(shape: str) -> None:
    scores, labels, segments = rows(12, 6000, shape=shape)
    there = fit_there({"calibrator": CALIBRATORS["umd"]}, {"p": scores, "y": labels, "s": segments})
    for key in there:
        own = segments == key
        assert there[key] == bare(fb.UniformMassBinning(10).fit(scores[own], labels[own]).model_)


def test_boundaries_of_umb_whose_ranks_are_whole() -> None:
    """The b-th of four boundaries among 40 samples is sample 10 b; the last bin of a segment ends with its rows."""
    rng = np.random.default_rng(6)
    columns = {"p": rng.random(80), "y": rng.random(80) < 0.5, "s": np.repeat([1, 2], 40)}
    method = {"calibrator": fb.UniformMassBinning(4, scheme="umb"), "min_points": 1}
    assert fit_there(method, columns).to_bytes() == fit_here(method, *columns.values()).to_bytes()


def test_two_to_the_53_samples_are_not_too_many() -> None:
    columns = {"p": [0.1, 0.3, 0.6, 0.9], "y": [0, 1, 0, 1], "s": [1, 1, 2, 2], "w": [2**52, 2**51, 2**51 - 1, 1]}
    method = {"calibrator": fb.UniformMassBinning(1), "min_points": 1}
    assert sum(model.n_samples for model in fit_there(method, columns, weight="w").models.values()) == 2**53
    with pytest.raises(fb.InputError, match=r"w adds up to more than 2\*\*53 samples"):
        fit_there(method, {**columns, "w": [2**52, 2**51, 2**51, 1]}, weight="w")


def test_weights_say_how_often_a_row_stands() -> None:
    scores, labels, segments = rows(30, 6000, seed=1)
    weights = np.random.default_rng(2).integers(0, 4, 6000)
    weights[segments == segments[0]] = 0  # a segment of nothing
    method = {"calibrator": CALIBRATORS["umd"], "min_points": 100}
    there = fit_there(method, {"p": scores, "y": labels, "s": segments, "w": weights}, weight="w")
    assert there.to_bytes() == fit_here(method, scores, labels, segments, weights).to_bytes()


def test_segments_of_text_and_labels_of_words() -> None:
    scores, labels, numbers = rows(9, 4000, seed=3)
    names = ["o'hara", 'b "c"', "{x}", "\N{SNOWMAN}", " ", "a", "A", "*/", "\\"]
    segments = [names[number // 7 % 9] for number in numbers.tolist()]
    words = np.where(labels, "yes", "no").tolist()
    method = {"calibrator": CALIBRATORS["umd"], "min_points": 200}
    there = fit_there(method, {"p": scores, "y": words, "s": segments}, positive="yes")
    here = fit_here(method, scores, labels, segments)
    assert there.cells == tuple(sorted(set(segments)))
    assert there.event == "yes"
    assert bare(there) == bare(here)


@pytest.mark.parametrize("kind", ["one value", "50 hard labels", "49 hard labels"])
def test_warnings_are_those_of_the_fit_in_memory(kind: str) -> None:
    scores, labels, segments = rows(6, 3000, shape="one value")
    if kind != "one value":
        labels = np.arange(int(kind[:2])) % 3 == 0
        scores, segments = (np.arange(len(labels)) % 2).astype(float), np.zeros(len(labels), np.int64)
    method = fb.multi.SegmentedBinning(fb.UniformMassBinning(5))
    with pytest.warns(fb.FastbinWarning) as here:
        method.fit(scores, labels, segments)
    relation = duckdb.cursor().from_arrow(pa.table({"p": scores, "y": labels, "s": segments}))
    with pytest.warns(fb.FastbinWarning) as there:
        fb.engines.fit(relation, score="p", label="y", segment="s", calibrator=method, engine="group-by")
    assert [str(told.message) for told in there] == [str(told.message) for told in here]
    assert any("predicted labels" in str(told.message) for told in there) == (kind == "50 hard labels")


def test_what_comes_back_is_a_row_for_each_segment_bin_and_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[int] = []
    fetched = sql.DuckDBTable.fetched

    def counted(table: Any) -> list[Any]:
        found = fetched(table)
        collected.append(len(found))
        return found

    monkeypatch.setattr(sql.DuckDBTable, "fetched", counted)
    scores, labels, segments = rows(20, 20_000, seed=4)
    there = fit_there({"calibrator": CALIBRATORS["umd"], "min_points": 1}, {"p": scores, "y": labels, "s": segments})
    assert collected[0] == len(there) == 20
    assert collected[1] <= sum(model.n_bins + len(model.slice_label_sums) for model in there.models.values())


def test_progress_is_told_after_each_query() -> None:
    scores, labels, segments = rows(5, 2000)
    seen: list[tuple[int, int]] = []
    fit_there({"min_points": 1}, {"p": scores, "y": labels, "s": segments}, progress=lambda *told: seen.append(told))
    assert seen == [(1, 2000), (2, 2000)]


BAD = {
    "a missing score": ({"p": [0.1, None, 0.3]}, {}, "of 3 rows, p is NULL in 1"),
    "a score that is not a number": ({"p": [0.1, float("nan"), float("inf")]}, {}, "p is NaN in 1, p is infinite in 1"),
    "a score outside": ({"p": [0.1, 1.5, -0.5]}, {}, r"p is outside \[0, 1\] in 2"),
    "a strange label": ({"y": [0, 2, 1]}, {}, r"y is neither 0 nor 1 in 1 \(such as 2\)"),
    "a missing label": ({"y": [0, None, 1]}, {}, "y is NULL in 1"),
    "a missing segment": ({"s": [1, None, 2]}, {}, "s is NULL in 1"),
    "a negative weight": ({"w": [1, -1, 1]}, {"weight": "w"}, "w is negative in 1"),
    "a segment of floats": ({"s": [1.0, 2.0, 2.0]}, {}, "segment is 's', a column of type DOUBLE; segments are"),
    "an empty text": ({"s": ["", "a", "b"]}, {}, r"a key of s is '', which is empty"),
    "no rows": ({"p": pa.array([], pa.float64()), "y": pa.array([], pa.int8()), "s": pa.array([], pa.int8())}, {}, "no rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(BAD))
def test_bad_rows_are_refused_with_their_number(case: str) -> None:
    given, names, message = BAD[case]
    with pytest.raises(fb.FastbinError, match=message):
        fit_there({"min_points": 1}, {"p": [0.1, 0.2, 0.3], "y": [0, 1, 1], "s": [1, 1, 2], **given}, **names)


def test_other_calibrators_and_engines_are_refused_by_name() -> None:
    columns = {"p": [0.1, 0.2], "y": [0, 1], "s": [1, 1]}
    with pytest.raises(
        fb.InputError,
        match="calibrator is IsotonicCalibration, and segments are fitted by GROUP BY with UniformMassBinning alone",
    ):
        fit_there({"calibrator": fb.IsotonicCalibration()}, columns)
    with pytest.raises(fb.InputError, match="scheme 'ums' splits the samples at random"):
        fit_there({"calibrator": fb.UniformMassBinning(2, scheme="ums")}, columns)
    with pytest.raises(fb.InputError, match=r"sampling_rate=0\.5 moves the values of each segment in memory"):
        fit_there({"calibrator": fb.UniformMassBinning(2, sampling_rate=0.5)}, columns)
    dask = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = dask.from_pandas(pd.DataFrame(columns), npartitions=1)
    with pytest.raises(fb.InputTypeError, match="window functions, of DuckDB and Spark alone; pass engine='stream'"):
        fb.engines.fit(frame, score="p", label="y", segment="s", calibrator=fb.UniformMassBinning())


@pytest.mark.parametrize("kind", [pa.float64(), pa.bool_(), pa.date32(), pa.decimal128(12, 2)])
@pytest.mark.parametrize("engine", ["auto", "stream", "group-by"])
def test_a_column_of_another_type_is_refused_alike(kind: Any, engine: str) -> None:
    segments = pa.array(np.arange(20, dtype=np.int32) % 2).cast(kind)
    table = pa.table({"p": np.arange(20) / 20, "y": np.arange(20) % 2, "s": segments})
    for given in (table, duckdb.cursor().from_arrow(table))[engine == "group-by" :]:
        with pytest.raises(fb.InputTypeError, match=r"segment is 's', a column of type \w+.*; segments are integers or texts"):
            fb.engines.fit(given, score="p", label="y", segment="s", calibrator=fb.UniformMassBinning(2), engine=engine)


def test_a_thin_segment_is_refused_by_name() -> None:
    columns = {"p": [0.1, 0.2, 0.3], "y": [0, 1, 1], "s": ["a", "b", "b"]}
    with pytest.raises(fb.InputError, match="segment 'a' has 1 sample, and a model of its own needs 3"):
        fit_there({"calibrator": fb.UniformMassBinning(2), "thin": "refuse", "min_points": 1}, columns)


def test_rows_that_change_between_the_queries_are_noticed() -> None:
    connection = duckdb.connect()
    relation = connection.sql("SELECT random() AS p, random() < 0.5 AS y, (5 * random())::INT AS s FROM range(3000)")
    with pytest.raises(fb.InputError, match="the rows changed between two passes"):
        fb.engines.fit(relation, score="p", label="y", segment="s", calibrator=fb.UniformMassBinning(), engine="group-by")


@pytest.mark.slow
def test_ten_thousand_models_are_those_of_their_own_rows() -> None:
    rng = np.random.default_rng(5)
    segments = rng.integers(0, 10_000, 10**7)
    scores = np.where(segments % 4 == 0, np.round(rng.random(10**7), 2), rng.random(10**7))
    labels = rng.random(10**7) < scores
    there = fit_there({"calibrator": CALIBRATORS["umd"]}, {"p": scores, "y": labels, "s": segments})
    assert len(there) == 10_000
    assert there.to_bytes() == fit_here({"calibrator": CALIBRATORS["umd"]}, scores, labels, segments).to_bytes()
    order = np.argsort(segments, kind="stable")
    ends = np.cumsum(np.bincount(segments))
    for key in range(10_000):
        own = order[ends[key - 1] if key else 0 : ends[key]]
        assert there[key] == bare(fb.UniformMassBinning(10).fit(scores[own], labels[own]).model_)
