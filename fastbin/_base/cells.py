"""Keys of cells: which model of a set belongs to a row.

A key is an integer of 64 bits or a text. The keys of a set are of one type; a column of keys is, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastbin._base.array_types import Array, Int32s, Int64s
from fastbin._base.checks import is_missing
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.frames import read_column

MOST_BYTES = 1024
LEAST, GREATEST = -(2**63), 2**63 - 1

ABOUT_MISSING = "is missing", "give every row a key"
A_KEY_IS = "a key is an integer or a text"

Key = int | str


class TextCells(NamedTuple):
    """A column of texts: the different ones, in no particular order, and the number of the text of each row."""

    texts: list[str]
    codes: Int32s


Cells = Int64s | TextCells


def as_cells(cells: Any, name: str = "cells") -> Cells:
    """A column of keys, checked.

    Parameters
    ----------
    cells : array-like of shape (n,)
        Integers of any dtype, or texts: arrays, lists, columns of data frames and of Arrow, also categorical ones.
    name : str
        Of the argument, for messages.

    Returns
    -------
    int64 (n,), or TextCells

    Raises
    ------
    InputError, InputTypeError
        Naming the first position that is no key: bool, float, missing or empty; keys of two types.

    Notes
    -----
    O(n); a text of a categorical column is looked at once.
    """
    coded = _categories(cells)
    if coded is not None:
        return _from_categories(*coded, name)
    array = read_column(cells, name, said_of_null=ABOUT_MISSING)
    if array is None:
        if isinstance(cells, (str, bytes, Set, Mapping, Iterator)) or not isinstance(cells, Iterable):
            remedy = "pass one key for each row, as a list or an array"
            raise InputTypeError(None, remedy, argument=name, value=cells)
        if np.ma.isMaskedArray(cells) and np.ma.getmaskarray(cells).any():
            at = int(np.argmax(np.ma.getmaskarray(cells)))
            raise InputError("is masked", "remove or fill masked rows first", argument=name, at=at)
        array = np.asarray(cells) if hasattr(cells, "__array__") else _from_sequence(cells)
    if array.ndim != 1:
        raise InputTypeError(f"must be one-dimensional, got shape {array.shape}", argument=name)
    if array.dtype.kind in "iu":
        return _as_int64(array, name)
    if array.dtype.kind in "bfcmM" and len(array):
        at = int(np.argmax(array != array))  # a missing integer makes a column of floats
        _refuse(name, at, array[at].item())
    return _from_objects(array.tolist(), name)


def _from_sequence(cells: Iterable[Any]) -> Array:
    """A list as an array of objects: NumPy would turn a list of 1 and "1" into texts, and one of 1 and True into integers."""
    items = list(cells)
    array = np.empty(len(items), object)
    array[:] = items
    return array


def _as_int64(array: Array, name: str) -> Int64s:
    if array.dtype.kind == "u" and len(array) and int(array.max()) > GREATEST:
        at = int(np.argmax(array > np.uint64(GREATEST)))
        remedy = "an integer key is at most 2**63 - 1: pass larger ones as text"
        raise InputError(None, remedy, argument=name, at=at, value=int(array[at]))
    return np.ascontiguousarray(array, np.int64)


def _categories(cells: Any) -> tuple[Any, Any] | None:
    """Codes and categories of a categorical column, of pandas or of Arrow, without importing either."""
    categorical = getattr(cells, "cat", cells)  # a Series of pandas
    if hasattr(categorical, "categories") and hasattr(categorical, "codes"):
        return np.asarray(categorical.codes), np.asarray(categorical.categories)
    if hasattr(cells, "indices") and hasattr(cells, "dictionary"):
        codes = cells.indices.fill_null(-1) if cells.null_count else cells.indices
        return codes.to_numpy(zero_copy_only=False), np.asarray(cells.dictionary.to_pylist(), dtype=object)
    return None


def _from_categories(codes: Array, categories: Array, name: str) -> Cells:
    missing = codes < 0
    if missing.any():
        _refuse(name, int(np.argmax(missing)), None)
    known = as_cells(categories, f"{name} (its categories)")
    if isinstance(known, TextCells):
        return TextCells(known.texts, known.codes[codes])
    return known[codes]


def _from_objects(items: list[Any], name: str) -> Cells:
    """Python objects, all of them texts or all of them integers."""
    kinds = set(map(type, items))
    if kinds and all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        return np.array([_check_integer(item, name, i) for i, item in enumerate(items)], np.int64)
    if not all(issubclass(kind, str) for kind in kinds):
        is_text = isinstance(items[0], str)
        at = next(i for i, item in enumerate(items) if not _is_key(item) or isinstance(item, str) != is_text)
        if not _is_key(items[at]):
            _refuse(name, at, items[at])
        problem = f"is {items[at]!r}, and {name}[0] is {items[0]!r}"
        raise InputError(problem, "pass keys of one type", argument=name, at=at, value=items[at])
    numbers: dict[str, int] = {}
    codes = np.fromiter((numbers.setdefault(item, len(numbers)) for item in items), np.int32, len(items))
    texts = list(map(str, numbers))
    for number, text in enumerate(texts):
        if not 0 < _size(text) <= MOST_BYTES:
            check_key(text, name, int(np.argmax(codes == number)))
    return TextCells(texts, codes)


def _is_key(item: Any) -> bool:
    return isinstance(item, (str, int, np.integer)) and not isinstance(item, (bool, np.bool_))


def _refuse(name: str, position: int, item: Any) -> NoReturn:
    problem, remedy = ABOUT_MISSING if is_missing(item) else (None, A_KEY_IS)
    raise InputError(problem, remedy, argument=name, at=position, value=item)


def _check_integer(key: Any, name: str, at: int | None) -> int:
    number = int(key)
    if not LEAST <= number <= GREATEST:
        remedy = "an integer key lies in [-2**63, 2**63 - 1]: pass larger ones as text"
        raise InputError(None, remedy, argument=name, at=at, value=number)
    return number


def _size(text: str) -> int:
    """The bytes of a text in UTF-8; 0 where it has none, because a surrogate stands alone."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return 0


def check_key(key: Any, name: str = "cell", at: int | None = None) -> Key:
    """One key, as a Python integer or text; messages call it by name and position."""
    if not _is_key(key):
        raise InputTypeError("is missing" if is_missing(key) else None, A_KEY_IS, argument=name, at=at, value=key)
    if not isinstance(key, str):
        return _check_integer(key, name, at)
    size = _size(key)
    if size == 0:
        problem = f"is {key!r}, which {'is empty' if not key else 'is not valid Unicode'}"
        raise InputError(problem, "give it a name", argument=name, at=at, value=key)
    if size > MOST_BYTES:
        problem = f"begins with {key[:20]!r} and has {size} bytes"
        raise InputError(problem, f"a key has at most {MOST_BYTES}", argument=name, at=at)
    return str(key)


def in_order(keys: Iterable[Any], name: str) -> list[Key]:
    """Different keys of one type, checked and ascending: integers by size, texts by their bytes (which is by code points)."""
    checked = [check_key(key, name, i) for i, key in enumerate(keys)]
    for i, key in enumerate(checked):
        if isinstance(key, str) != isinstance(checked[0], str):
            problem = f"is {key!r}, and {name}[0] is {checked[0]!r}"
            raise InputError(problem, "give keys of one type", argument=name, at=i, value=key)
    ascending = sorted(checked)
    for key, other in pairwise(ascending):
        if key == other:
            raise InputError(f"holds {key!r} twice", "give each cell one model", argument=name, value=key)
    return ascending
