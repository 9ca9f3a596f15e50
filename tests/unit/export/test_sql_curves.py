"""Interpolated and smooth models as SQL."""

from __future__ import annotations

import re

import numpy as np
import pytest
from exported_curves import CURVES, LINES, curve_model_of
from sql_engines import EMBEDDED, Engine, n_differing

import fastbin as fb

MANY_KNOTS = "spline with a clip"  # more than the parser of SQLite takes

pairs = pytest.mark.parametrize(
    ("dialect", "name"),
    [(dialect, name) for dialect in EMBEDDED for name in CURVES if (dialect, name) != ("sqlite", MANY_KNOTS)],
)


@pairs
def test_curves_are_what_predict_gives(engine: Engine, name: str) -> None:
    """Interpolated ones to the bit; smooth ones but for the last bits of exp and ln."""
    assert n_differing(engine, curve_model_of(name), 3000, tolerance=0.0 if name in LINES else 1e-12) == 0


@pytest.mark.slow
@pytest.mark.parametrize("dialect", EMBEDDED)
@pytest.mark.parametrize("name", ["10 knots", "interpolated isotonic", "fitted Platt", "fitted beta"])
def test_curves_are_what_predict_gives_by_the_million(engine: Engine, name: str) -> None:
    assert n_differing(engine, curve_model_of(name), 1_000_000, tolerance=0.0 if name in LINES else 1e-12) == 0


def test_comment_says_how_close_the_value_is() -> None:
    for name, words in (
        ("10 knots", "Interpolated: the bits of the model"),
        ("fitted Platt", "Smooth: .* but for the last bits"),
    ):
        expression = fb.export.sql(curve_model_of(name), dialect="duckdb")
        assert re.search(words, expression.partition("*/")[0])


def test_what_is_refused() -> None:
    smooth = curve_model_of("logistic")
    for what in ("bin", "lower", "upper"):
        with pytest.raises(fb.InputError, match=r"model is of kind 'smooth', which has values alone and no bins"):
            fb.export.sql(smooth, dialect="duckdb", what=what)
    with pytest.raises(fb.InputError, match=r"alpha is 0.1, but no end of an interval is asked for"):
        fb.export.sql(smooth, dialect="duckdb", alpha=0.1)
    with pytest.raises(fb.InputError, match=r"style is 'join', and a model of kind 'smooth' has no steps for a table"):
        fb.export.sql(smooth, dialect="duckdb", style="join")
    with pytest.raises(fb.InputError, match=r"key is 'k', but the model compares no keys"):
        fb.export.sql(smooth, dialect="duckdb", key="k")
    with pytest.raises(fb.InputError, match=r"meet in 38 places, in one expression for sqlite at most 11; fit one"):
        fb.export.sql(curve_model_of(MANY_KNOTS), dialect="sqlite")
    knots = np.linspace(0.0, 1.0, 1001)
    long = fb.BinnedModel.from_parts(edges=knots, values=knots, kind="linear")
    with pytest.raises(fb.InputError, match=r"meet in 1001 places, in one expression for duckdb at most 1000; fit one"):
        fb.export.sql(long, dialect="duckdb")
