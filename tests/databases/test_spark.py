"""SQL in Spark, in a local session of two threads: `.ci/thorough databases` runs this."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from exported import MODELS, model_of
from exported_curves import LINES, curve_model_of
from sql_engines import (
    AWKWARD,
    INTEGERS,
    WITH_NUL,
    Spark,
    answers_of,
    check_columns_of_floats_and_integers,
    check_set,
    mixed_set,
    n_differing,
    spark,
)

import fastbin as fb

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="no java (Debian: openjdk-17-jre-headless)"),
    pytest.mark.filterwarnings("ignore"),  # of PySpark, about the versions of others
]

named = pytest.mark.parametrize("name", MODELS)

N = 1_000_000


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    pytest.importorskip("pyspark", reason="no PySpark")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with spark(tmp_path_factory.mktemp("spark")) as session:
            yield session


@named
def test_all_bits(engine: Spark, name: str) -> None:
    assert n_differing(engine, model_of(name), N) == 0


@pytest.mark.parametrize("name", ["10 bins", "1000 bins", "subnormal edges", "100 bins, keys", "clips", "clips at keys"])
def test_all_bits_by_table(engine: Spark, name: str) -> None:
    assert n_differing(engine, model_of(name), 20_000, style="join") == 0


@pytest.mark.parametrize("name", ["10 knots", "subnormal knots", "lengths overflow", "logistic", "beta", "fitted spline"])
def test_curves(engine: Spark, name: str) -> None:
    assert n_differing(engine, curve_model_of(name), 5000, tolerance=0.0 if name in LINES else 1e-12) == 0


@pytest.mark.parametrize("style", ["tree", "join"])
def test_columns_of_floats_integers_and_decimals(engine: Spark, style: Any) -> None:
    model = model_of("100 bins")
    made = fb.export.sql(model, dialect="spark", style=style)
    check_columns_of_floats_and_integers(engine, model, made)
    engine.load({"p": pa.array([0.5, 0.25, None]).cast(pa.decimal128(20, 18))})
    assert answers_of(engine, made) == [*model.predict([0.5, 0.25]).tolist(), None]


def test_keys_of_another_form_have_no_answer(engine: Spark) -> None:
    model = model_of("100 bins, keys")
    keys = [None, "", "0", "00000000000000AB", "00000000000000ab"]
    engine.load({"p": [float(model.edges[0])] * 5, "k": pa.array(keys)})
    expected = model.predict([model.edges[0]], tie_keys=np.array([0xAB], np.uint64))[0]
    assert answers_of(engine, fb.export.sql(model, tie_key="k", dialect="spark")) == [None] * 4 + [expected]


@pytest.mark.parametrize("escaped", ["false", "true"])
def test_texts_under_both_settings(engine: Spark, escaped: str) -> None:
    from fastbin.export.dialects import spark_text

    engine.session.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    for text in AWKWARD + WITH_NUL:
        assert engine.session.sql(f"SELECT {spark_text(text)} AS a").collect()[0][0] == text
    engine.session.conf.set("spark.sql.parser.escapedStringLiterals", "false")


@pytest.mark.parametrize("unknown", ["refuse", "pool"])
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("keys", [INTEGERS, AWKWARD + WITH_NUL], ids=["integers", "texts"])
def test_sets(engine: Spark, keys: Any, keyed: bool, unknown: str) -> None:
    check_set(engine, mixed_set(keys, keyed=keyed, unknown=unknown), 10_000)


def test_the_comment_is_no_hint(engine: Spark) -> None:
    model = model_of("10 bins")
    engine.load({"p": [0.5]})
    expression = fb.export.sql(model, dialect="spark")
    assert engine.session.sql(f"SELECT {expression} AS a FROM scores").collect()[0][0] == model.predict([0.5])[0]
    assert "/*+" not in expression
