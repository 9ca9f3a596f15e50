"""Texts are compared and grouped by their bytes, whatever the collation of their column, or of the session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import fastbin as fb

N = 4000
RNG = np.random.default_rng(3)
SCORES = RNG.random(N)
LABELS = RNG.random(N) < SCORES
WORDS = np.where(LABELS, "a", "A")
CELLS = np.where(RNG.random(N) < 0.4, "é", "É")
TABLE = pa.table({"p": SCORES, "l": WORDS, "c": CELLS})
CALIBRATOR = fb.UniformMassBinning(8)
MODEL = CALIBRATOR.fit(SCORES, LABELS).model_
SET = fb.multi.SegmentedBinning(CALIBRATOR).fit(SCORES, WORDS, CELLS.tolist(), positive="a").model_


@pytest.fixture(scope="module", params=["a collation of the columns", "a collation of the session", "an ENUM"])
def relation(request: pytest.FixtureRequest) -> Iterator[Any]:
    with duckdb.connect() as connection:
        connection.register("given", TABLE)
        kinds = {"l": "VARCHAR", "c": "VARCHAR"}
        if request.param == "a collation of the columns":
            kinds = {"l": "VARCHAR COLLATE NOCASE", "c": "VARCHAR COLLATE NOACCENT.NOCASE"}
        elif request.param == "an ENUM":
            kinds = {"l": "ENUM('a', 'A')", "c": "ENUM('é', 'É')"}
        else:
            connection.execute("SET default_collation = 'NOCASE'")
        connection.execute(f"CREATE TABLE kept(p DOUBLE, l {kinds['l']}, c {kinds['c']})")
        connection.execute("INSERT INTO kept FROM given")
        yield connection.table("kept")


EVERY_ENGINE = pytest.mark.parametrize("engine", ["stream", "group-by"])


@EVERY_ENGINE
@pytest.mark.parametrize("positive", ["a", "A"])
def test_labels_of_a_fit(relation: Any, engine: str, positive: str) -> None:
    model = fb.engines.fit(relation, score="p", label="l", positive=positive, calibrator=CALIBRATOR, engine=engine)
    assert model == CALIBRATOR.fit(SCORES, WORDS, positive=positive).model_


@EVERY_ENGINE
def test_labels_and_segments(relation: Any, engine: str) -> None:
    models = fb.engines.fit(
        relation, score="p", label="l", positive="a", segment="c", calibrator=CALIBRATOR, engine=engine
    )  # fmt: skip
    assert models.to_bytes() == SET.to_bytes()


@EVERY_ENGINE
def test_labels_and_values_of_a_column(relation: Any, engine: str) -> None:
    counts = fb.engines.count(relation, MODEL, score="p", label="l", positive="a", by="c", engine=engine)
    bins = MODEL.assign(SCORES)
    assert counts.label_sums.tolist() == np.bincount(bins[LABELS], minlength=8).tolist()
    assert set(counts.groups) == {"é", "É"}
    for cell, part in counts.groups.items():
        assert part.counts.tolist() == np.bincount(bins[cell == CELLS], minlength=8).tolist()


@EVERY_ENGINE
def test_cells_of_a_set(relation: Any, engine: str) -> None:
    counts = fb.engines.count(relation, SET, score="p", label="l", positive="a", cell="c", engine=engine)
    bins = SET.assign_all(SCORES, CELLS.tolist())
    assert counts.counts.tolist() == np.bincount(bins, minlength=SET.n_bins).tolist()
    assert counts.label_sums.tolist() == np.bincount(bins[LABELS], minlength=SET.n_bins).tolist()


@pytest.mark.sampled
@EVERY_ENGINE
def test_assessments(relation: Any, engine: str) -> None:
    about = fb.engines.assess(relation, SET, score="p", label="l", positive="a", cell="c", engine=engine)
    here = fb.report.assess_model(SET, SCORES, LABELS, cells=CELLS.tolist())
    assert [cell.after.to_dict() for cell in about.cells] == [cell.after.to_dict() for cell in here.cells]
    assert (about.n_positive, about.n_unknown) == (here.n_positive, 0)


def test_unknown_cells_that_a_collation_takes_for_known_ones() -> None:
    """Those of the pool, too, whose rows are counted by a second query."""
    models = fb.ModelSet({"É": SET["É"]}, unknown="pool", pool=MODEL, pooled_cells=["other"])
    with duckdb.connect() as connection:
        connection.execute("SET default_collation = 'NOCASE'")
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE kept AS FROM given")
        for engine in ("stream", "group-by"):
            about = fb.engines.assess(
                connection.table("kept"), models, score="p", label="l", positive="a", cell="c", engine=engine
            )  # fmt: skip
            assert about.n_unknown == int((CELLS == "é").sum())


def test_keys_of_upper_case_are_no_keys_in_any_session() -> None:
    keyed = fb.UniformMassBinning(4, ties="random").fit([0.0] * 40 + [0.5] * 40, [0, 1] * 40).model_
    with duckdb.connect() as connection:
        connection.execute("SET default_collation = 'NOCASE'")
        relation = connection.sql("SELECT 0.5::DOUBLE AS p, upper(format('{:016x}', 171)) AS k")
        for engine in ("stream", "group-by"):
            with pytest.raises(fb.InputError, match=r"1 have no tie key .*16 lower-case hexadecimal digits"):
                fb.engines.count(relation, keyed, score="p", tie_key="k", engine=engine)


def test_predictions_of_a_set(relation: Any) -> None:
    scored = fb.engines.predict(relation, SET, score="p", cell="c").order("p ASC").fetchnumpy()
    order = np.argsort(SCORES)
    assert np.array_equal(scored["probability"], SET.predict(SCORES[order], CELLS[order].tolist()))
