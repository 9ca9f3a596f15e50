"""Keys of cells: what is one, and how a column of them is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastbin import InputError, InputTypeError
from fastbin._base.cells import TextCells, as_cells, check_key, in_order


def read(cells: Any) -> list[Any]:
    """The keys of a column, one by one."""
    known = as_cells(cells)
    return [known.texts[code] for code in known.codes] if isinstance(known, TextCells) else known.tolist()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">i4"])
def test_integers_of_any_dtype(dtype: str) -> None:
    assert read(np.array([3, 0, 7], dtype)) == [3, 0, 7]
    assert as_cells(np.array([3, 0, 7], dtype)).dtype == np.int64  # type: ignore[union-attr]


def test_integers_in_lists_keep_all_bits() -> None:
    keys = [2**63 - 1, -(2**63), 2**53 + 1, np.int8(-5)]
    assert read(keys) == keys
    assert read(tuple(keys)) == keys


@pytest.mark.parametrize(
    "cells",
    [
        ["b", "a", "b"],
        ("b", "a", "b"),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], object),
        [np.str_("b"), "a", "b"],
    ],
)
def test_texts(cells: Any) -> None:
    known = as_cells(cells)
    assert isinstance(known, TextCells)
    assert sorted(known.texts) == ["a", "b"]
    assert all(type(text) is str for text in known.texts)
    assert read(cells) == ["b", "a", "b"]


def test_categories_of_pandas() -> None:
    pd = pytest.importorskip("pandas")
    texts = pd.Categorical(["b", "a", "b"], categories=["a", "never", "b"])
    assert read(texts) == read(pd.Series(texts)) == read(pd.Series(["b", "a", "b"])) == ["b", "a", "b"]
    assert read(pd.Categorical([30, 10, 30])) == [30, 10, 30]
    assert read(pd.Series([30, 10], dtype="Int64")) == [30, 10]
    with pytest.raises(InputError, match=r"cells\[1\] is missing"):
        as_cells(pd.Categorical(["b", None]))
    with pytest.raises(InputError, match=r"cells\[1\] is missing"):
        as_cells(pd.Series([30, None], dtype="Int64"))


def test_dictionaries_of_arrow() -> None:
    pa = pytest.importorskip("pyarrow")
    plain = pa.array(["b", "a", "b"])
    assert read(plain) == read(plain.dictionary_encode()) == ["b", "a", "b"]
    assert read(pa.chunked_array([plain, plain]))[3:] == ["b", "a", "b"]
    assert read(pa.array([3, 1], pa.uint16())) == [3, 1]
    with pytest.raises(InputError, match=r"cells\[1\] is missing"):
        as_cells(pa.array(["b", None]).dictionary_encode())


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1, True], r"cells\[1\] is True; a key is an integer or a text"),
        (np.array([True, False]), r"cells\[0\] is True"),
        (np.array([1.0, 2.0]), r"cells\[0\] is 1\.0"),
        ([1, 2.5], r"cells\[1\] is 2\.5"),
        (["a", None], r"cells\[1\] is missing; give every row a key"),
        (["a", np.nan], r"cells\[1\] is missing"),
        (["a", 3], r"cells\[1\] is 3, and cells\[0\] is 'a'; pass keys of one type"),
        ([3, "a"], r"cells\[1\] is 'a', and cells\[0\] is 3"),
        ([b"a"], r"cells\[0\] is b'a'"),
        (["a", ""], r"cells\[1\] is '', which is empty"),
        (["a", "\ud800"], r"cells\[1\] is '\\ud800', which is not valid Unicode"),
        (["a", "é" * 513], r"cells\[1\] begins with 'éééé.* and has 1026 bytes; a key has at most 1024"),
        ([1, 2**63], r"cells\[1\] is 9223372036854775808; an integer key lies in"),
        (np.array([1, 2**63], np.uint64), r"cells\[1\] is 9223372036854775808; an integer key is at most"),
        (np.array([[1, 2]]), r"one-dimensional, got shape \(1, 2\)"),
        ("north", "cells is 'north'; pass one key for each row"),
        ({"north", "south"}, "cells is .*; pass one key for each row, as a list"),
        ({"north": 1}, "cells is .*; pass one key for each row, as a list"),
        (iter(["north"]), "cells is .*; pass one key for each row, as a list"),
        (np.ma.array([1, 2], mask=[0, 1]), r"cells\[1\] is masked"),
        (np.array(["2026-01-01"], "datetime64[ns]"), r"cells\[0\] is "),
        (3, "cells is 3; pass one key for each row"),
        (np.array(["2026-01-01"], "datetime64[D]"), r"cells\[0\] is datetime"),
    ],
)
def test_what_is_no_key_is_refused_by_position(cells: Any, message: str) -> None:
    with pytest.raises((InputError, InputTypeError), match=message):
        as_cells(cells)


def test_the_longest_text() -> None:
    assert read(["é" * 512]) == ["é" * 512]


def test_one_key() -> None:
    assert check_key(np.int8(3)) == 3
    assert check_key(np.str_("a")) == "a"
    for key in (True, 1.0, None, b"a", np.bool_(True)):
        with pytest.raises(InputTypeError, match="cell is"):
            check_key(key)


def test_order_is_that_of_bytes() -> None:
    texts = ["ﬀ", "\U00010000", "z", "é", "Z", "a\0", "a"]
    assert in_order(texts, "keys") == sorted(texts, key=str.encode)
    assert in_order([3, -1, 2**63 - 1], "keys") == [-1, 3, 2**63 - 1]
    with pytest.raises(InputError, match="keys holds 'a' twice"):
        in_order(["a", "b", "a"], "keys")
    with pytest.raises(InputError, match=r"keys\[1\] is 1, and keys\[0\] is 'a'"):
        in_order(["a", 1], "keys")
