"""Keys of cells: what is one, and how a column of them is read."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from wordings import refuses

from fastbin._base.cells import TextCells, as_cells, check_cell, in_order, refuse_names_in_other_order, refuse_other_order
from fastbin._base.errors import InputError


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
    [["b", "a", "b"], ("b", "a", "b"), np.array(["b", "a", "b"]), np.array(["b", "a", "b"], object), [np.str_("b"), "a", "b"]],
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
    refuses("InputError cells[1]", as_cells, pd.Categorical(["b", None]))
    refuses("InputError cells[1]", as_cells, pd.Series([30, None], dtype="Int64"))


def test_dictionaries_of_arrow() -> None:
    pa = pytest.importorskip("pyarrow")
    plain = pa.array(["b", "a", "b"])
    assert read(plain) == read(plain.dictionary_encode()) == ["b", "a", "b"]
    assert read(pa.chunked_array([plain, plain]))[3:] == ["b", "a", "b"]
    assert read(pa.array([3, 1], pa.uint16())) == [3, 1]
    refuses("InputError cells[1]", as_cells, pa.array(["b", None]).dictionary_encode())


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1, True], "InputError cells[1]: is True;"),
        (np.array([True, False]), "InputError cells[0]: is True;"),
        (np.array([1.0, 2.0]), "InputError cells[0]: is 1.0;"),
        ([1, 2.5], "InputError cells[1]: is 2.5;"),
        (["a", None], "InputError cells[1]: is missing;"),
        (["a", np.nan], "InputError cells[1]: is missing;"),
        (["a", 3], "InputError cells[1]: is 3,"),
        ([3, "a"], "InputError cells[1]: is 'a',"),
        ([b"a"], "InputError cells[0]: is b'a';"),
        (["a", ""], "InputError cells[1]: is '',"),
        (["a", "\ud800"], "InputError cells[1]: is '\\ud800',"),
        (["a", "é" * 513], "InputError cells[1]: begins with 'éééé* and has 1026 bytes"),
        ([1, 2**63], "InputError cells[1]: is 9223372036854775808; an integer key lies"),
        (np.array([1, 2**63], np.uint64), "InputError cells[1]: is 9223372036854775808; an integer key is"),
        (np.array([[1, 2]]), "InputTypeError cells: must be one-dimensional, got shape (1, 2)"),
        ("north", "InputTypeError cells: is 'north';"),
        ({"north", "south"}, "InputTypeError cells: is {"),
        ({"north": 1}, "InputTypeError cells: is {"),
        (iter(["north"]), "InputTypeError cells: is <list_iterator"),
        (np.ma.array([1, 2], mask=[0, 1]), "InputError cells[1]: is masked;"),
        (np.array(["2026-01-01"], "datetime64[ns]"), "InputError cells[0]: is 1767225600000000000;"),
        (3, "InputTypeError cells: is 3;"),
        (np.array(["2026-01-01"], "datetime64[D]"), "InputError cells[0]: is datetime.date(2026,"),
    ],
)
def test_what_is_no_key_is_refused_by_position(cells: Any, message: str) -> None:
    refuses(message, as_cells, cells)


def test_the_longest_text() -> None:
    assert read(["é" * 512]) == ["é" * 512]


def test_one_key() -> None:
    assert check_cell(np.int8(3)) == 3
    assert check_cell(np.str_("a")) == "a"
    for key in (True, 1.0, None, b"a", np.bool_(True)):
        refuses("InputTypeError cell", check_cell, key)


def test_order_is_that_of_bytes() -> None:
    texts = ["ﬀ", "\U00010000", "z", "é", "Z", "a\0", "a"]
    assert in_order(texts, "cells") == sorted(texts, key=str.encode)
    assert in_order([3, -1, 2**63 - 1], "cells") == [-1, 3, 2**63 - 1]
    refuses("InputError cells", in_order, ["a", "b", "a"], "cells")
    refuses("InputError cells[1]", in_order, ["a", 1], "cells")


@pytest.mark.parametrize(
    ("names", "classes", "is_other"),
    [
        (["p_cow", "p_cat", "p_dog"], ["cat", "dog", "cow"], True),
        (["p_cat", "p_dog", "p_cow"], ["cat", "dog", "cow"], False),
        (["2", "0", "1"], [0, 1, 2], True),
        (["0", "1", "2"], [0, 1, 2], False),
        (["prob 10", "prob 0"], [0, 10], True),  # ends in 0 and in 10
        (["very low", "low"], ["low", "very low"], True),
        (["f1", "f2", "f3"], [0, 1, 2], False),  # not the names of these classes
        (["a_0", "b_0"], [0, 1], False),
        ([f"pc{k}" for k in range(1, 11)], list(range(10)), False),  # pc10 does not end in 0
        ([f"V{k}" for k in range(5, 15)], list(range(10)), False),
        ([str(k) for k in range(11, 21)], list(range(10)), False),
        (["p1", "p0", "p2"], [0, 1, 2], True),
        (["pcat", "pdog"], ["dog", "cat"], False),  # which may be other words
    ],
)
def test_columns_that_are_called_as_other_classes_are_refused(names: list[str], classes: list[Any], is_other: bool) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.full((1, len(names)), 1.0 / len(names)), columns=names)
    if is_other:
        told = re.escape(f"the columns of P are {', '.join(names)}, and the classes are {', '.join(map(str, classes))}; bring")
        with pytest.raises(InputError, match=told):
            refuse_other_order(frame, classes)
        with pytest.raises(InputError, match=re.escape(f"score is {', '.join(names)}, and the classes are")):
            refuse_names_in_other_order(names, classes, "score")
    else:
        refuse_other_order(frame, classes)
        refuse_names_in_other_order(names, classes, "score")
    refuse_other_order(frame.to_numpy(), classes)
