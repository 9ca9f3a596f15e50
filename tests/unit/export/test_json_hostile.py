"""JSON that nobody should have sent: refused in few words, and with little more memory than a valid text takes."""

from __future__ import annotations

import contextlib
import re
import tracemalloc

import numpy as np
import pytest

import fastbin as fb


def _nested(depth: int) -> str:
    return "[" * depth + "]" * depth


HUGE = 300_000  # characters
BARE = fb.export.json(fb.BinnedModel.from_parts(edges=[], values=[0.5]))


def _with_values(values: str) -> str:
    return BARE.replace("[0.5]", values)


def _with_member(name: str, value: str) -> str:
    return BARE.replace('"values"', f'"{name}": {value}, "values"')


HOSTILE = {
    "a note of bytes that are none": _with_member("note_bytes", f'"{"f" * HUGE}g"'),
    "half a byte": _with_member("note_bytes", f'"{"f" * (HUGE + 1)}"'),
    "a word": BARE.replace('"step"', f'"{"a" * HUGE}"'),
    "a digest": re.sub(r'(?<="sha256": ")\w+', "a" * HUGE, BARE),
    "a name twice": f'{{"{"a" * HUGE}": 0, "{"a" * HUGE}": 0}}',
    "an unknown name": _with_member("a" * HUGE, "0"),
    "a key": _with_member("edge_keys", f'["{"a" * HUGE}"]'),
    "an integer": _with_values(f"[{'1' * 4_000}]"),
    "an integer of too many digits": _with_values(f"[{'1' * HUGE}]"),
    "what is called as a file": "a" * HUGE + ".json",
    "lists": "[" + "[]," * (HUGE // 3) + "0]",
    "lists for numbers": _with_values("[" + "[]," * (HUGE // 3) + "0]"),
    "objects": "[" + '{"":0},' * (HUGE // 7) + "0]",
    "members": "{" + ",".join(f'"{i}":0' for i in range(HUGE // 9)) + "}",
    "texts": "[" + '"aa",' * (HUGE // 5) + "0]",
    "pairs": _with_member("pairs", "[" + "[0,0]," * (HUGE // 6) + "[0,1]]"),
    "values": _with_values("[" + "0.5," * (HUGE // 4) + "0.5]"),
    "lists in lists": _with_values(_nested(HUGE // 2)),
    "lists in lists that a parser takes": _with_values(_nested(900)),
    "lists in lists instead of a text": _with_member("note", _nested(900)),
    "lists in lists instead of a model": f'{{"fastbin": "model", "version": 1, "sha256": "", "model": {_nested(900)}}}',
}


def _peak(text: str) -> int:
    """The most memory that reading takes, the text itself left out."""
    tracemalloc.start()
    try:
        with contextlib.suppress(fb.FormatError):
            fb.export.from_json(text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_texts_are_refused_in_few_words(what: str) -> None:
    with pytest.raises(fb.FormatError) as caught:
        fb.export.from_json(HOSTILE[what])
    assert len(str(caught.value)) < 300


def test_hostile_texts_take_little_more_memory_than_valid_ones() -> None:
    n = HUGE // 40
    pairs = np.tile([0.0, 1.0], (n, 1))
    valid = fb.export.json(fb.BinnedModel.from_parts(edges=np.arange(1, n) / 2**20, values=np.full(n, 0.5), pairs=pairs))
    assert 0.8 * HUGE < len(valid) < 1.2 * HUGE
    assert fb.export.json(fb.export.from_json(valid)) == valid
    limit = 3.0 * _peak(valid) / len(valid)
    for what, text in HOSTILE.items():
        if len(text) >= HUGE:
            assert _peak(text) / len(text) < limit, what
