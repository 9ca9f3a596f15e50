"""SQL in MariaDB, on a server that is started here, and in ClickHouse and DataFusion, which run in the process.

`.ci/thorough databases` runs this.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from exported import MODELS, model_of
from exported_curves import CURVES, LINES, curve_model_of
from sql_engines import (
    AWKWARD,
    INTEGERS,
    WITH_NUL,
    ClickHouse,
    DataFusion,
    Engine,
    answers_of,
    check_columns_of_floats_and_integers,
    check_numbers,
    check_set,
    find_mariadb,
    mariadb,
    mixed_set,
    n_differing,
)

import fastbin as fb

pytestmark = pytest.mark.slow

N = 100_000

named = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module", params=["mysql", "clickhouse", "datafusion"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    # A path of a socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="fastbin-") as folder:
        if request.param == "mysql":
            programs = find_mariadb()
            if programs is None:
                pytest.skip("no MariaDB (Debian: mariadb-server)")
            with mariadb(Path(folder), programs) as server:
                yield server
        elif request.param == "clickhouse":
            pytest.importorskip("chdb", reason="no ClickHouse (chdb)")
            made = ClickHouse(Path(folder))
            yield made
            made.session.close()
        else:
            pytest.importorskip("datafusion", reason="no DataFusion")
            yield DataFusion()


@named
def test_all_bits(engine: Engine, name: str) -> None:
    assert n_differing(engine, model_of(name), N) == 0


@named
def test_all_bits_by_table(engine: Engine, name: str) -> None:
    assert n_differing(engine, model_of(name), 20_000, style="join") == 0


@pytest.mark.parametrize("name", CURVES)
def test_curves(engine: Engine, name: str) -> None:
    if engine.dialect == "clickhouse":  # 262,144 bytes and 50,000 words by default, fewer than the longest curves have
        engine.run(["SET max_query_size = 10000000, max_ast_elements = 1000000"])
    if engine.dialect == "mysql" and name == "steep logistic":  # at the hard scores of this one a product overflows
        with pytest.raises(AssertionError, match="out of range"):
            n_differing(engine, curve_model_of(name), 5000)
        return
    assert n_differing(engine, curve_model_of(name), 5000, tolerance=0.0 if name in LINES else 1e-12) == 0


@pytest.mark.parametrize("style", ["tree", "join"])
def test_columns_of_floats_integers_and_missing_scores(engine: Engine, style: Any) -> None:
    model = model_of("100 bins")
    made = fb.export.sql(model, dialect=engine.dialect, style=style)
    check_columns_of_floats_and_integers(engine, model, made)
    engine.load({"p": pa.array([0.5, None, -0.0])})
    assert answers_of(engine, made) == [model.predict([0.5])[0], None, model.predict([0.0])[0]]


def test_keys_of_another_form_have_no_answer(engine: Engine) -> None:
    model = model_of("100 bins, keys")
    keys = [None, "", "0", "00000000000000AB", "0000000000000 ab", "z" * 16, "é" * 8, " " * 16, "00000000000000ab "]
    engine.load({"p": [float(model.edges[0])] * 10, "k": pa.array([*keys, "00000000000000ab"])})
    expected = model.predict([model.edges[0]], tie_keys=np.array([0xAB], np.uint64))[0]
    for style in ("tree", "join"):
        made = fb.export.sql(model, tie_key="k", dialect=engine.dialect, style=style)
        assert answers_of(engine, made) == [None] * 9 + [expected]


@pytest.mark.parametrize("unknown", ["refuse", "pool"])
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("keys", [INTEGERS, AWKWARD + WITH_NUL], ids=["integers", "texts"])
def test_sets(engine: Engine, keys: Any, keyed: bool, unknown: str) -> None:
    if engine.dialect == "mysql":  # a file that is loaded has no NUL
        keys = tuple(key for key in keys if key not in WITH_NUL)
    check_set(engine, mixed_set(keys, keyed=keyed, unknown=unknown), 10_000)


def test_numbers_are_read_back(engine: Engine) -> None:
    check_numbers(engine)
