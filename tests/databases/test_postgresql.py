"""SQL in PostgreSQL, on a server that is started here: `.ci/thorough databases` runs this."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from docs.shell import run
from exported import MODELS, model_of
from exported_curves import CURVES, LINES, curve_model_of
from sql_engines import (
    AWKWARD,
    INTEGERS,
    PostgreSQL,
    answers_of,
    check_columns_of_floats_and_integers,
    check_set,
    find_postgresql,
    mixed_set,
    n_differing,
    postgresql,
)

import fastbin as fb
from oracle import REPOSITORY

PROGRAMS = find_postgresql()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAMS is None or not shutil.which("setpriv"), reason="no PostgreSQL (Debian: postgresql)"),
]

named = pytest.mark.parametrize("name", MODELS)

N = 1_000_000


@pytest.fixture(scope="module")
def engine() -> Iterator[PostgreSQL]:
    assert PROGRAMS is not None
    # A path of a socket has at most 107 bytes, and the folders of pytest are closed to other users.
    with tempfile.TemporaryDirectory(prefix="fastbin-") as folder, postgresql(Path(folder), PROGRAMS) as server:
        yield server


@named
@pytest.mark.parametrize("style", ["auto", "tree", "join"])
def test_all_bits(engine: PostgreSQL, name: str, style: Any) -> None:
    assert n_differing(engine, model_of(name), N, style=style) == 0


# PostgreSQL stops where a product overflows or underflows, as it does at the hard scores of these.
CURVES_WITHIN_RANGE = sorted(set(CURVES) - {"lengths overflow", "half overflows", "steep logistic"})


@pytest.mark.parametrize("name", CURVES_WITHIN_RANGE)
def test_curves(engine: PostgreSQL, name: str) -> None:
    assert n_differing(engine, curve_model_of(name), 5000, tolerance=0.0 if name in LINES else 1e-12) == 0


@pytest.mark.parametrize("style", ["auto", "tree", "join"])
def test_columns_of_floats_and_integers(engine: PostgreSQL, style: Any) -> None:
    model = model_of("100 bins")
    check_columns_of_floats_and_integers(engine, model, fb.export.sql(model, dialect="postgresql", style=style))


def test_the_view_of_the_page(engine: PostgreSQL, tmp_path: Path) -> None:
    """docs/deploy.md, twice, as it replaces the view."""
    page = (REPOSITORY / "docs" / "deploy.md").read_text(encoding="utf8").partition("## A view in PostgreSQL")[2]
    (lines,) = re.findall(r"^```sh\n(.*?)^```", page.partition("\n## ")[0], re.MULTILINE | re.DOTALL)
    *made, asked = lines.splitlines()
    assert asked == "psql -v ON_ERROR_STOP=1 -f view.sql"
    scores = np.linspace(0.0, 1.0, 1001)
    engine.load({"i": np.arange(1001), "p": scores})
    for name in ("100 bins", "10 bins"):
        model = model_of(name)
        model.save(tmp_path / "credit.fbm")
        run("\n".join(made), tmp_path)
        engine.ask((tmp_path / "view.sql").read_text())
        assert engine.column("SELECT * FROM calibrated", "probability") == model.predict(scores).tolist()
    engine.ask("DROP VIEW calibrated;")


def test_decimals_are_cast(engine: PostgreSQL) -> None:
    model = model_of("10 bins")
    engine.ask(
        "SET client_min_messages = warning; DROP TABLE IF EXISTS scores; CREATE TABLE scores (i int, p numeric(20, 18));"
    )
    engine.ask("INSERT INTO scores VALUES (0, 0.123456789012345678), (1, 0.5), (2, NULL), (3, 1.000000000000000001);")
    expected = model.predict([0.123456789012345678, 0.5, 1.0]).tolist()
    assert answers_of(engine, fb.export.sql(model, dialect="postgresql")) == [*expected[:2], None, expected[2]]


def test_collations_change_nothing(engine: PostgreSQL) -> None:
    model = model_of("100 bins, keys")
    for collation in ("en-x-icu", "C", "POSIX"):
        engine.ask(f'DROP TABLE IF EXISTS scores; CREATE TABLE scores (i int, p float8, k text COLLATE "{collation}");')
        keys = [int(key) for key in model.edge_keys[:50]]
        rows = ", ".join(f"({i}, {float(model.edges[i])!r}, '{key:016x}')" for i, key in enumerate(keys))
        engine.ask(f"INSERT INTO scores VALUES {rows}, (50, 0.5, NULL), (51, 0.5, '00000000000000AB'), (52, 0.5, 'ab');")
        expected = model.predict(model.edges[:50], tie_keys=model.edge_keys[:50]).tolist()
        assert answers_of(engine, fb.export.sql(model, tie_key="k", dialect="postgresql")) == [*expected, None, None, None]


def test_backslashes_under_both_settings(engine: PostgreSQL) -> None:
    from fastbin.export.dialects import postgresql_text

    for text in ("a\\b", "\\", "\\'", "it's"):
        for setting in ("on", "off"):
            told = engine.ask(
                f"SET standard_conforming_strings = {setting}; SET escape_string_warning = off; "
                f"SELECT encode(convert_to({postgresql_text(text)}, 'UTF8'), 'hex');"
            )
            assert bytes.fromhex(told.strip()).decode() == text


@pytest.mark.parametrize("unknown", ["refuse", "pool"])
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("keys", [INTEGERS, AWKWARD], ids=["integers", "texts"])
def test_sets(engine: PostgreSQL, keys: Any, keyed: bool, unknown: str) -> None:
    check_set(engine, mixed_set(keys, keyed=keyed, unknown=unknown), 20_000)


def test_null_and_text_columns(engine: PostgreSQL) -> None:
    model = model_of("10 bins")
    engine.load({"p": pa.array(["0.5", None, "NaN", "1e-320", "Infinity"])})
    expected = model.predict([0.5, 1e-320]).tolist()
    answers = answers_of(engine, fb.export.sql(model, dialect="postgresql"))
    assert answers == [expected[0], None, None, expected[1], None]
