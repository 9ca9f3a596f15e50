"""The namespace of Polars expressions: the bits of `predict` in any query, in batches, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from exported import bits, hard_rows, model_of, rows_without_answer

import fastbin as fb

pl = pytest.importorskip("polars")
pytest.importorskip("pyarrow")
pytest.importorskip("fastbin.polars")


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("name", ["1 bins", "1000 bins", "logits", "subnormal edges", "two resolutions", "clips"])
def test_all_bits(name: str, engine: Any) -> None:
    model = model_of(name)
    scores = hard_rows(model, 20_000).scores
    refused = rows_without_answer(model)
    frame = pl.LazyFrame({"p": [*scores.tolist(), *refused.tolist(), None]})
    found = frame.select(pl.col("p").fastbin.predict(model)).collect(engine=engine)["p"]
    assert found.dtype == pl.Float64
    np.testing.assert_array_equal(bits(found[: len(scores)].to_numpy()), bits(model.predict(scores)))
    assert found[len(scores) :].to_list() == [None] * (len(refused) + 1)


@pytest.mark.parametrize("as_text", [True, False])
def test_keys_split_ties(as_text: bool) -> None:
    model = model_of("100 bins, keys")
    rows = hard_rows(model, 5000)
    assert rows.keys is not None
    keys = pl.Series([f"{key:016x}" for key in rows.keys.tolist()]) if as_text else pl.Series(rows.keys)
    frame = pl.DataFrame({"p": rows.scores, "k": keys})
    expected = model.predict(rows.scores, tie_keys=rows.keys)
    for key in ("k", pl.col("k")):
        found = frame.select(pl.col("p").fastbin.predict(model, tie_key=key))["p"].to_numpy()
        np.testing.assert_array_equal(bits(found), bits(expected))


def test_sets_find_the_model_of_a_cell() -> None:
    models = fb.ModelSet({"a": model_of("10 bins"), "b": model_of("100 bins")})
    scores = np.random.default_rng(0).random(300)
    cells = np.array(["a", "b", "nobody"])[np.arange(300) % 3]
    frame = pl.DataFrame({"p": scores, "cell": cells})
    found = frame.select(pl.col("p").fastbin.predict(models, cell="cell"))["p"]
    known = cells != "nobody"
    np.testing.assert_array_equal(bits(found.to_numpy()[known]), bits(models.predict(scores[known], cells[known])))
    assert found.filter(pl.Series(~known)).null_count() == 100
    # Any expression is a cell or a score, those of one column too.
    frame = pl.DataFrame({"p": [0.25, 0.75]})
    cell = pl.when(pl.col("p") < 0.5).then(pl.lit("a")).otherwise(pl.lit("b"))
    found = frame.select(q=(1.0 - pl.col("p")).fastbin.predict(models, cell=cell))["q"]
    assert found.to_list() == models.predict([0.75, 0.25], ["a", "b"]).tolist()


def test_it_stands_in_any_query() -> None:
    model = model_of("10 bins")
    cal = fb.UniformMassBinning(3).fit(np.linspace(0, 1, 99), np.arange(99) % 2)
    frame = pl.DataFrame({"g": ["x", "y", "x", "y"], "p": [0.1, 0.5, 0.9, 0.3]})
    values = model.predict(frame["p"].to_numpy())
    found = frame.group_by("g", maintain_order=True).agg(pl.col("p").fastbin.predict(model).sum())["p"].to_list()
    assert found == [values[0] + values[2], values[1] + values[3]]
    assert frame.filter(pl.col("p").fastbin.predict(cal) > 2.0).is_empty()
    over = frame.with_columns(q=pl.col("p").fastbin.predict(model).max().over("g"))["q"].to_list()
    assert over == [max(values[0], values[2]), max(values[1], values[3])] * 2
    floats = frame.select(pl.col("p").cast(pl.Float32))
    expected = model.predict(floats["p"].to_numpy()).tolist()
    assert floats.select(pl.col("p").fastbin.predict(model))["p"].to_list() == expected


def test_what_is_refused() -> None:
    score = pl.col("p").fastbin
    with pytest.raises(fb.InputError, match="cell is missing"):
        score.predict(fb.ModelSet({"a": model_of("10 bins")}))
    with pytest.raises(fb.InputError, match="tie_key is missing"):
        score.predict(model_of("10 bins, keys"))
    with pytest.raises(fb.InputError, match="leave tie_key out"):
        score.predict(model_of("10 bins"), tie_key="k")
    with pytest.raises(fb.InputTypeError, match="model"):
        score.predict("credit.fbm")
    frame = pl.DataFrame({"p": [0.5], "q": [0.25], "t": ["text"]})
    raised = (fb.InputError, fb.InputTypeError, pl.exceptions.ComputeError)  # by the version of Polars
    with pytest.raises(raised, match="an expression gives 2 columns of scores; give one for each column"):
        frame.select(pl.col("p", "q").fastbin.predict(model_of("10 bins")))
    with pytest.raises(raised, match=r"(?i)text|string"):
        frame.select(pl.col("t").fastbin.predict(model_of("10 bins")))
