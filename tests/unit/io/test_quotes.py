"""Quotation marks in text files: one that is left open is refused, as the rows after it would be part of its value."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastbin as fb
from fastbin._core.fit import Quotes


def left_open_at(text: str) -> int:
    """By a regular expression for one value and its end, from the start of each value."""
    at = 0
    while at < len(text):
        if text[at] == '"':
            value = re.compile(r'"(?:[^"]|"")*"(?!")').match(text, at)
            if value is None:
                return at
            if re.search(r"[\r\n]", value[0]) and text[value.end() :].lstrip(" ")[:1] not in ("", ",", "\r", "\n"):
                return at
            at = value.end()
        while at < len(text) and text[at] not in ",\r\n":
            at += 1
        at += 1
    return -1


@given(st.text('",\n\r ab', max_size=30), st.lists(st.integers(1, 4), max_size=20))
def test_every_text_in_every_block(text: str, sizes: list[int]) -> None:
    quotes, rest = Quotes(b","), text.encode()
    for size in sizes:
        quotes.follow(rest[:size])
        rest = rest[size:]
    quotes.follow(rest)
    quotes.finish()
    assert quotes.left_open_at == left_open_at(text)


ROWS = [f"{p},{y},note" for p, y in zip(np.linspace(0.0, 1.0, 2000).tolist(), [0, 1] * 1000, strict=True)]


def text_with(rows: dict[int, str], mark: str = ",") -> bytes:
    changed = [rows.get(number, row) for number, row in enumerate(ROWS)]
    return ("p,y,seg\n" + "\n".join(changed) + "\n").replace(",", mark).encode()


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ({1000: '0.5,1,"note'}, 1002),  # up to the end
        ({0: '0.5,1,"note'}, 2),
        ({1999: '0.5,1,"note'}, 2001),
        ({1000: '0.5,1,"note', 1500: '0.5,1,"other'}, 1002),  # up to the next mark
        ({5: '0.5,1,"two\nlines"', 1000: '0.5,1,"note'}, 1003),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
def test_a_mark_that_is_left_open_is_refused(rows: dict[int, str], line: int, name: str, tmp_path: Path) -> None:
    data, path = text_with(rows, "\t" if ".tsv" in name else ","), tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    message = f"{re.escape(str(path))}, line {line}: a quotation mark is left open, and the rows after it are lost"
    for columns in ({"score": "p", "label": "y"}, {"score": "p", "label": "y", "segment": "seg"}):
        calibrator = fb.multi.SegmentedBinning(fb.UniformMassBinning(2)) if "segment" in columns else fb.UniformMassBinning(2)
        with pytest.raises(fb.InputError, match=message):
            fb.engines.fit(str(path), calibrator=calibrator, **columns)


def test_marks_that_belong_there_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    inside = {3: '0.5,1,"two\nlines, and a comma" ', 4: '0.5,1,"a ""word"""', 5: '0.5,1,12" pipe', 6: "0.5,1,", 7: '0.5,1,"x"y'}
    path.write_bytes(text_with(inside))
    assert fb.engines.fit(str(path), score="p", label="y", calibrator=fb.UniformMassBinning(2)).n_samples == 2000


def test_standard_input_and_predictions(tmp_path: Path) -> None:
    """A pipe has no lines to go back to. Nothing is left of an output that was begun."""
    model, output, data = tmp_path / "m.fbm", tmp_path / "out.csv", text_with({1000: '0.5,1,"note'})
    fb.ExplicitBinning([0.5]).fit([0.2, 0.7], [0, 1]).model_.save(model)
    command = [sys.executable, "-m", "fastbin", "predict", str(model), "-", "--score", "p", "-o", str(output)]
    done = subprocess.run(command, input=data, capture_output=True, check=False, cwd=tmp_path)
    at = data.index(b'"') + 1
    assert done.returncode == 1
    assert f"standard input, byte {at:,}: a quotation mark is left open".encode() in done.stderr
    assert not output.exists()
