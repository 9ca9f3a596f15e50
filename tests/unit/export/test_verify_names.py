"""`verify` with every name that an export may have, and with what the text of SQL says of itself."""

from __future__ import annotations

import shutil
from functools import partial
from typing import Any

import pytest
from exported import model_of

import fastbin as fb

_verify = partial(fb.export.verify, run_code=True)
ALL = ("value", "bin", "lower", "upper")
SET = fb.ModelSet({"north": model_of("10 bins, keys"), "south": model_of("2 bins")})
INTEGERS = fb.ModelSet({3: model_of("2 bins, keys"), -5: model_of("2 bins")})


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


# --------------------------------------------------------------------- names of programs

# What a program that runs a header could call its own things, or includes; "whole" and the like stand for all local names.
C_NAMES = [
    "scores", "answer", "answers", "n", "i", "out", "whole", "keys", "cells", "ends", "size", "path", "file", "data", "FILE",
    "fopen", "fread", "fclose", "rand", "system", "program", "fastbin", "fastbin_value", "fastbin_n",
    "value", "step",
]  # fmt: skip


@pytest.mark.parametrize("name", C_NAMES)
def test_headers_of_every_legal_name(name: str) -> None:
    need("cc")
    result = _verify(model_of("2 bins, keys"), fb.export.c_source(model_of("2 bins, keys"), name, outputs=ALL))
    assert (result.is_same, result.outputs) == (True, ALL), str(result)


JAVA_NAMES = [
    ("scores", None), ("i", None), ("FastbinProgram", None), ("Files", None), ("java", None), ("Object", None),
    ("value", "scores"), ("keys", "value.keys.ends"), ("text", "cells"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "package"), JAVA_NAMES)
def test_classes_of_every_legal_name(name: str, package: str | None) -> None:
    need("javac")
    model = SET if package == "cells" else model_of("2 bins")
    result = _verify(model, fb.export.java(model, name, package=package, outputs=ALL))
    assert (result.is_same, result.outputs) == (True, ALL), str(result)


def test_programs_of_sets_of_both_kinds() -> None:
    need("cc")
    for models in (SET, INTEGERS):
        assert _verify(models, fb.export.c_source(models, "cells", outputs=ALL)).is_same


# --------------------------------------------------------------------- names of columns


@pytest.mark.parametrize(
    ("dialect", "column"),
    [
        *((dialect, column) for dialect in ("duckdb", "sqlite", "polars") for column in ('"my score"', '"my ""p"""')),
        ("sqlite", "`tick`"),
        ("polars", "`tick`"),
    ],
)
def test_columns_in_quotes(dialect: str, column: str) -> None:
    model = model_of("2 bins")
    text = fb.export.sql(model, column, dialect=dialect)
    result = _verify(model, text, [0.5], dialect=dialect, score=column)
    assert result.is_same, str(result)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_tables_in_quotes(dialect: str) -> None:
    model, source = model_of("2 bins"), '"the ""rows"""'
    tables = fb.export.sql(model, dialect=dialect, style="join", source=source)
    assert _verify(model, tables, [0.5], dialect=dialect, source=source).is_same


# --------------------------------------------------------------------- what a text says of itself


def saying(text: str, line: str) -> str:
    """A text with one more line at the end of its comment."""
    about, _, rest = text.partition(" */")
    return f"{about}\n   {line} */{rest}"


def plain(text: str) -> str:
    """A text whose comment does not say what it gives."""
    about, _, rest = text.partition(" */")
    return "\n".join(line for line in about.split("\n") if not line.strip().startswith("dialect ")) + " */" + rest


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "polars"])
@pytest.mark.parametrize("what", ALL)
def test_expressions_that_say_what_they_are(what: str, dialect: str) -> None:
    model = model_of("10 bins")
    text = saying(plain(fb.export.sql(model, dialect=dialect, what=what)), f"dialect {dialect}, gives {what}")
    result = _verify(model, text, [0.5])
    assert (result.is_same, result.outputs) == (True, (what,)), str(result)
    assert _verify(model, text, dialect=dialect, what=what).is_same
    with pytest.raises(fb.InputError, match=f"dialect is 'spark', and the export says that its own is '{dialect}'; leave "):
        _verify(model, text, dialect="spark")
    other = "bin" if what == "value" else "value"
    with pytest.raises(fb.InputError, match=f"what is '{other}', and the export says that its own is '{what}'; leave what out"):
        _verify(model, text, what=other)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_queries_that_say_the_name_of_their_column(dialect: str) -> None:
    model = model_of("10 bins")
    script = fb.export.sql(model, dialect=dialect, what="bin", style="join").script
    said = script.count("AS fastbin_bin") or script.count("AS bin")
    assert said, script
    named = plain(script).replace("AS fastbin_bin", "AS evidence").replace("AS bin", "AS evidence")
    result = _verify(model, saying(named, f"dialect {dialect}, gives bin as evidence"), [0.5])
    assert (result.is_same, result.outputs) == (True, ("bin",)), str(result)
    wrong = _verify(model, saying(named, f"dialect {dialect}, gives bin as another"), [0.5])
    assert (wrong.is_same, wrong.is_broken) == (False, True)


def test_a_text_that_says_what_nothing_is() -> None:
    model = model_of("2 bins")
    text = plain(fb.export.sql(model, dialect="sqlite"))
    result = _verify(model, saying(text, "dialect sqlite, gives probability"))
    assert "it says that it gives 'probability', which is none of value, bin, lower, upper" in result.why_not
    assert (result.is_same, result.is_wrong) == (False, True)
    result = _verify(model, saying(text, "dialect access, gives value"))
    assert "no engine for access runs here" in result.why_not
    # Only the comment at the top counts.
    assert _verify(model, f"{text} /*\n   dialect duckdb, gives bin */", dialect="sqlite").is_same


def test_words_that_are_no_choices() -> None:
    model = model_of("2 bins")
    text: Any = fb.export.sql(model, dialect="sqlite")
    for words, message in (
        ({"what": "prob"}, "what is 'prob'; choose one of 'value', 'bin', 'lower', 'upper'"),
        ({"dialect": "mysql"}, "dialect is 'mysql'; choose one of 'duckdb'"),
    ):
        with pytest.raises(fb.InputError, match=message):
            _verify(model, text, **{"dialect": "sqlite", **words})  # type: ignore[arg-type]
