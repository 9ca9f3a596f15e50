"""Keys of cells: which model of a set belongs to a row. Classes: matrices with a column for each, and columns of labels.

A key is an integer of 64 bits or a text. The keys of a set are of one type; a column of keys is, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int32s, Int64s
from fastbin._base.checks import check_choice, is_missing, refuse_first
from fastbin._base.doubles import BEYOND_DOUBLES, doubles_of
from fastbin._base.errors import InputError, InputTypeError, Wording, Words, by_name
from fastbin._base.frames import columns_of, read_column, refuse_lazy, refuse_masked
from fastbin._base.shown import how_many

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
    """A column of keys, checked: integers of any dtype, or texts, in arrays, lists, columns of data frames and of Arrow.

    The first position that is not a key is refused (bool, float, missing or empty), and so are keys of two types. O(n); a text
    of a categorical column is looked at once.
    """
    coded = _categories(cells)
    if coded is not None:
        return _from_categories(*coded, name)
    array = read_column(cells, name, said_of_null=ABOUT_MISSING)
    if array is None:
        if isinstance(cells, (str, bytes, Set, Mapping, Iterator)) or not isinstance(cells, Iterable):
            remedy = "pass one key for each row, as a list or an array"
            raise InputTypeError(None, remedy, argument=name, value=cells)
        refuse_masked(cells, name)
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
    return np.fromiter(items, object, len(items))


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
        first, other = (str(item) if isinstance(item, str) else int(item) for item in (items[0], items[at]))
        problem = f"is {other!r}, and {name}[0] is {first!r}"
        raise InputError(problem, "pass keys of one type", argument=name, at=at, value=other)
    numbers: dict[str, int] = {}
    codes = np.fromiter((numbers.setdefault(item, len(numbers)) for item in items), np.int32, len(items))
    texts = list(map(str, numbers))
    for number, text in enumerate(texts):
        if not 0 < _size(text) <= MOST_BYTES:
            check_cell(text, name, int(np.argmax(codes == number)))
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


def check_cell(key: Any, name: str = "cell", at: int | None = None) -> Key:
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


def in_order(keys: Iterable[Any], name: str, *, are_rows: bool = True) -> list[Key]:
    """Different keys of one type, checked and ascending: integers by size, texts by their bytes (which is by code points).

    Messages tell positions unless the keys are not `are_rows`.
    """
    checked = [check_cell(key, name, i if are_rows else None) for i, key in enumerate(keys)]
    for i, key in enumerate(checked):
        if isinstance(key, str) != isinstance(checked[0], str):
            problem = f"is {key!r}, and {name}[0] is {checked[0]!r}"
            raise InputError(problem, "give keys of one type", argument=name, at=i, value=key)
    ascending = sorted(checked)
    for key, other in pairwise(ascending):
        if key == other:
            raise InputError(f"holds {key!r} twice", "give each cell one model", argument=name, value=key)
    return ascending


# ------------------------------------------------------------------------------------------------- classes

INPUTS = ("probabilities", "logits")
GIVE_CLASSES = Wording("classes=[...]", "--class-labels")

# How far the sum of a row may be from 1: rounding of a softmax in the precision of the matrix.
TOLERANCE, TOLERANCE_FLOAT32 = 1e-6, 1e-4


def check_matrix(
    P: Any, inputs: str | None = None, n_columns: int | None = None, *, name: str = "P", sum_to_one: bool = True
) -> Float64s:
    """float64 (n, k): a matrix of probabilities of two classes or more, checked; logits become such by a softmax.

    `inputs` is "probabilities", "logits", or None for probabilities where the caller cannot say otherwise.
    """
    if inputs is not None:
        check_choice(inputs, "inputs", INPUTS)
    array = _as_matrix(P, name)
    if n_columns is not None and array.shape[1] != n_columns:
        problem = f"has {array.shape[1]} columns, and there are {n_columns} classes"
        raise InputError(problem, "give one column for each class", argument=name)
    matrix = doubles_of(array)
    remedy: Words = "remove such rows, or impute them first"
    refuse_first(~np.isfinite(matrix), name, matrix, remedy, lambda i: _is_value(matrix.flat[i]))
    if inputs == "logits":
        return softmax(matrix)
    or_logits: tuple[str | Wording, ...] = ("their softmax, if they are logits",)
    if inputs is not None:
        or_logits = "logits with ", by_name("inputs", "logits")
    bad, remedy = (matrix < 0.0) | (matrix > 1.0), ("pass probabilities, or ", *or_logits)
    refuse_first(bad, name, matrix, remedy, lambda i: f"{_is_value(matrix.flat[i])}, outside [0, 1]")
    sums, tolerance = matrix.sum(axis=1), TOLERANCE_FLOAT32 if array.dtype == np.float32 else TOLERANCE
    bad = sum_to_one & (np.abs(sums - 1.0) > tolerance)
    if bad.any():
        row = int(np.argmax(bad))
        wide = "P.astype(float)" if array.dtype == np.float16 else "P"  # whose quotients are as coarse again
        scaled = Wording(f" ({wide} / {wide}.sum(axis=1, keepdims=True) scales a matrix P of them)", ", unrounded")
        raise InputError(
            f"sums to {float(sums[row])!r}, not to 1",
            ("pass the probabilities of all classes", scaled, ", or ", *or_logits),
            argument=name,
            at=(row, None),
            value=float(sums[row]),
        )
    return matrix


def softmax(logits: Array) -> Float64s:
    """Probabilities of all classes, NaN in rows that have one."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _as_matrix(P: Any, name: str) -> Array:
    refuse_lazy(P, name)
    refuse_masked(P, name)
    try:
        array = np.asarray(P)
    except (ValueError, TypeError) as error:
        raise InputTypeError(f"is not a matrix of numbers: {error}", argument=name) from error
    if array.ndim != 2:
        problem = f"must have a row for each sample and a column for each class, got shape {array.shape}"
        raise InputTypeError(problem, argument=name)
    if array.shape[1] < 2:
        raise InputError(
            f"has {how_many(array.shape[1], 'column')}, and there are two classes at the least",
            "scores of one class go to a binary calibrator, such as UniformMassBinning",
            argument=name,
        )
    if array.dtype.kind not in "biufO":
        raise InputTypeError(f"must hold numbers, got dtype {array.dtype}", argument=name)
    if array.dtype.kind == "O":
        try:
            return np.asarray(array, np.float64)
        except (TypeError, ValueError, OverflowError):
            return _numbers_of(array, name)
    return array


def _numbers_of(array: Array, name: str) -> Float64s:
    """A matrix of Python objects as doubles, NaN where one is missing; the first that is not a number is refused."""
    numbers = np.empty(array.shape)
    for i, item in enumerate(array.flat):
        try:
            numbers.flat[i] = np.nan if is_missing(item) else float(item)
        except (TypeError, ValueError) as error:
            place = divmod(i, array.shape[1])
            raise InputTypeError(f"is {item!r}, not a number", argument=name, at=place, value=item) from error
        except OverflowError as error:
            raise InputError(BEYOND_DOUBLES, argument=name, at=divmod(i, array.shape[1])) from error
    return numbers


def _is_value(value: np.float64) -> str:
    return f"is {'NaN' if np.isnan(value) else value}"


def check_classes(classes: Any, n_columns: int | None = None) -> list[Key]:
    """The classes in the order of the columns: different integers, or different texts."""
    if isinstance(classes, (str, bytes, Set, Mapping)) or not hasattr(classes, "__len__") or not np.iterable(classes):
        remedy = "pass the class of each column of P, as a list"
        raise InputTypeError(f"is {classes!r}", remedy, argument="classes", value=classes)
    given = classes.tolist() if hasattr(classes, "tolist") else list(classes)
    in_order(given, "classes")
    if len(given) < 2:
        remedy = "give the class of each column of P, of which there are two or more"
        raise InputError(f"has {len(given)} entries", remedy, argument="classes")
    if n_columns is not None and len(given) != n_columns:
        problem = f"has {len(given)} entries, and P has {n_columns} columns"
        raise InputError(problem, "give the class of each column", argument="classes")
    return given


def refuse_other_order(P: Any, classes: Sequence[Key]) -> None:
    """Refuse a frame whose columns are called as the classes are, and stand in another order."""
    names = list(map(str, columns_of(P)))
    if names and are_in_other_order(names, classes):
        raise InputError(
            f"the columns of P are {', '.join(names)}, and the classes are {', '.join(map(str, classes))}",
            "bring the columns into the order of the classes, or pass an array if only their names are wrong",
        )


def refuse_names_in_other_order(names: Sequence[str], classes: Sequence[Key], argument: str) -> None:
    """The same of the names of columns, one for each class, which are given in an argument."""
    if are_in_other_order(names, classes):
        problem = f"is {', '.join(names)}, and the classes are {', '.join(map(str, classes))}"
        raise InputError(problem, "bring the names into the order of the classes", argument=argument)


def are_in_other_order(names: Sequence[str], classes: Sequence[Key]) -> bool:
    """Whether each name ends in that of another class, such as p_cat in cat, and all classes are among these ends.

    The name of a class begins where a name does, or behind what is neither a letter nor a digit; a number also behind a letter.
    """
    texts = list(map(str, classes))
    if len(names) != len(texts) or list(names) == texts:
        return False
    known, longest, ends = set(texts), max(map(len, texts)), []
    for name in names:
        starts = range(max(0, len(name) - longest), len(name))
        end = next((name[at:] for at in starts if name[at:] in known and _begins_word(name, at)), None)
        if end is None:
            return False
        ends.append(end)
    return ends != texts and set(ends) == known


def _begins_word(name: str, at: int) -> bool:
    return at == 0 or not name[at - 1].isalnum() or (name[at].isdigit() and not name[at - 1].isdigit())


def default_classes(labels: Any, n_columns: int) -> list[Key]:
    """0, 1, ... for each column, where labels are such numbers."""
    cells = _label_cells(labels, "labels")
    if isinstance(cells, TextCells):
        if len(cells.codes) == 0:
            return list(range(n_columns))
        raise InputError(
            f"are texts, such as {cells.texts[int(cells.codes[0])]!r}, and classes is not given",
            ("pass ", GIVE_CLASSES, ", the class of each column of P"),
            argument="labels",
        )
    named = f"without classes the {n_columns} columns of P are the classes 0 to {n_columns - 1}"
    remedy = "pass ", GIVE_CLASSES, ", the class of each column"
    refuse_first((cells < 0) | (cells >= n_columns), "labels", cells, remedy, lambda i: f"is {cells[i]}, and {named}")
    return list(range(n_columns))


def require_classes(labels: Any, name: str) -> None:
    """Refuse arrays of floats and of booleans, for which the words about keys would be of no help."""
    kind = getattr(getattr(labels, "dtype", None), "kind", "")
    if kind not in ("f", "b"):
        return
    array = np.asarray(labels)
    if array.ndim == 0 or not len(array):
        return
    if array.ndim > 1:
        remedy = f"give the class of each row: pass {name}.argmax(axis=1) of columns of 0 and 1"
        raise InputTypeError(f"has shape {array.shape}", remedy, argument=name)
    at = int(np.argmax(array != array))  # the first NaN, or the first of all
    remedy = "classes are integers or texts: " + ("remove such rows" if array[at] != array[at] else f"pass {name}.astype(int)")
    said = f"is {array.item(at)!r}, a {'float' if kind == 'f' else 'boolean'}"
    raise InputTypeError(said, remedy, argument=name, at=at, value=array.item(at))


def _label_cells(labels: Any, name: str) -> Int64s | TextCells:
    """A column of classes, as integers or texts."""
    require_classes(labels, name)
    return as_cells(labels, name)


def find_columns(labels: Any, classes: Sequence[Key], name: str) -> Int64s:
    """int64 (n,): the column of each label; the first that is none of the classes is refused. O(n log k)."""
    cells, at_class = _label_cells(labels, name), {key: column for column, key in enumerate(classes)}
    if isinstance(cells, TextCells):
        columns = np.array([at_class.get(text, -1) for text in cells.texts] + [-1], np.int64)[cells.codes]
    elif isinstance(classes[0], str):
        columns = np.full(len(cells), -1)
    else:
        order = np.argsort(classes)
        ascending = np.array(classes, np.int64)[order]
        place = np.minimum(np.searchsorted(ascending, cells), len(classes) - 1)
        columns = np.where(ascending[place] == cells, order[place], -1)
    if len(columns) and columns.min() < 0:
        _refuse_class(cells, int(np.argmax(columns < 0)), classes, name)
    return columns


def _refuse_class(cells: Int64s | TextCells, at: int, classes: Sequence[Key], name: str) -> NoReturn:
    value = cells.texts[cells.codes[at]] if isinstance(cells, TextCells) else int(cells[at])
    shown = ", ".join(map(repr, classes[:5])) + (", ..." if len(classes) > 5 else "")
    problem = f"is {value!r}, which is none of the {len(classes)} classes: {shown}"
    raise InputError(problem, "remove such rows", argument=name, at=at, value=value)


def in_one_code(**columns: Cells) -> tuple[list[Key], list[Int64s]]:
    """Columns of classes as codes of all their classes, ascending. Texts and integers are never equal: refused. O(n log n)."""
    kinds = {name: "text" if isinstance(column, TextCells) else "integers" for name, column in columns.items()}
    if len(set(kinds.values())) > 1:
        said = " and ".join(f"{name} holds {kind}" for name, kind in kinds.items())
        raise InputTypeError(said, "name the classes in one way")
    texts = [column for column in columns.values() if isinstance(column, TextCells)]
    if texts:
        keys = sorted({text for column in texts for text in column.texts})
        code_of = {text: code for code, text in enumerate(keys)}
        codes = (np.array([code_of[text] for text in column.texts] or [0], np.int64)[column.codes] for column in texts)
        return list(keys), list(codes)
    numbers = [np.asarray(column) for column in columns.values()]
    values, joined = np.unique(np.concatenate(numbers), return_inverse=True)
    return values.tolist(), np.split(joined.ravel(), np.cumsum([len(column) for column in numbers])[:-1])


def divided_by_sums(values: Float64s) -> Float64s:
    """Rows that sum to 1; equal shares where all are 0."""
    sums = values.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(values, sums, out=np.full_like(values, 1.0 / values.shape[1]), where=sums > 0.0))
