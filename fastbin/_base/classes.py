"""Classes: probability matrices with a column for each of them, checked, and columns of class labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NoReturn

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.cells import Cells, Key, TextCells, as_cells, in_order
from fastbin._base.checks import check_choice, refuse_first
from fastbin._base.errors import InputError, InputTypeError, Wording, Words, by_name
from fastbin._base.frames import columns_of, refuse_lazy

INPUTS = ("probabilities", "logits")
GIVE_CLASSES = Wording("classes=[...]", "--class-labels")

# How far the sum of a row may be from 1: rounding of a softmax in the precision of the matrix.
TOLERANCE, TOLERANCE_FLOAT32 = 1e-6, 1e-4


def check_matrix(
    P: Any, inputs: str | None = None, n_columns: int | None = None, *, name: str = "P", sum_to_one: bool = True
) -> Float64s:
    """float64 (n, k): a matrix of probabilities, checked; logits become probabilities by a softmax.

    Parameters
    ----------
    P : array-like of shape (n, k)
        Of two classes or more.
    inputs : {"probabilities", "logits"} or None
        None: probabilities, where the caller cannot say otherwise.
    n_columns : int, optional
        The number of classes that are known.
    name : str
        Of the argument, for messages.
    sum_to_one : bool
        Whether rows of probabilities must.

    Raises
    ------
    InputError, InputTypeError
        Naming the first bad position; for rows of probabilities whose sum is not 1.
    """
    if inputs is not None:
        check_choice(inputs, "inputs", INPUTS)
    array = _as_matrix(P, name)
    if n_columns is not None and array.shape[1] != n_columns:
        problem = f"has {array.shape[1]} columns, and there are {n_columns} classes"
        raise InputError(problem, "give one column for each class", argument=name)
    matrix = np.asarray(array, np.float64)
    remedy: Words = "remove such rows, or impute them first"
    refuse_first(~np.isfinite(matrix), name, matrix, remedy, lambda i: _is_value(matrix.flat[i]))
    if inputs == "logits":
        powers = np.exp(matrix - matrix.max(axis=1, keepdims=True, initial=-np.inf))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))
    or_logits: tuple[str | Wording, ...] = ("their softmax, if they are logits",)
    if inputs is not None:
        or_logits = "logits with ", by_name("inputs", "logits")
    bad, remedy = (matrix < 0.0) | (matrix > 1.0), ("pass probabilities, or ", *or_logits)
    refuse_first(bad, name, matrix, remedy, lambda i: f"{_is_value(matrix.flat[i])}, outside [0, 1]")
    sums, tolerance = matrix.sum(axis=1), TOLERANCE_FLOAT32 if array.dtype == np.float32 else TOLERANCE
    bad = sum_to_one & (np.abs(sums - 1.0) > tolerance)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"sums to {float(sums[row])!r}, not to 1",
            (
                "pass the probabilities of all classes (P / P.sum(axis=1, keepdims=True) scales a matrix P of them), or ",
                *or_logits,
            ),
            argument=name,
            at=(row, None),
            value=float(sums[row]),
        )
    return matrix


def _as_matrix(P: Any, name: str) -> Array:
    refuse_lazy(P, name)
    if np.ma.isMaskedArray(P) and np.ma.getmaskarray(P).any():
        i, j = np.argwhere(np.ma.getmaskarray(P))[0].tolist()
        raise InputError("is masked", "remove or fill masked rows first", argument=name, at=(i, j))
    try:
        array = np.asarray(P)
    except (ValueError, TypeError) as error:
        raise InputTypeError(f"is not a matrix of numbers: {error}", argument=name) from error
    if array.ndim != 2:
        problem = f"must have a row for each sample and a column for each class, got shape {array.shape}"
        raise InputTypeError(problem, argument=name)
    if array.shape[1] < 2:
        raise InputError(
            f"has {array.shape[1]} column{'s' * (array.shape[1] != 1)}, and there are two classes at the least",
            "scores of one class go to a binary calibrator, such as UniformMassBinning",
            argument=name,
        )
    if array.dtype.kind not in "biufO":
        raise InputTypeError(f"must hold numbers, got dtype {array.dtype}", argument=name)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputTypeError(f"must hold numbers, got dtype {array.dtype}: {error}", argument=name) from error
    return array


def _is_value(value: np.float64) -> str:
    return f"is {'NaN' if np.isnan(value) else value}"


def check_classes(classes: Any, n_columns: int | None = None) -> list[Key]:
    """The classes in the order of the columns: different integers, or different texts."""
    if isinstance(classes, (str, bytes, Set, Mapping)) or not hasattr(classes, "__len__"):
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
    names = columns_of(P)
    if set(names) == set(classes) and names != list(classes):
        raise InputError(
            f"the columns of P are {', '.join(map(str, names))}, and the classes are {', '.join(map(str, classes))}",
            "bring the columns into the order of the classes",
        )


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
    """Refuse floats, for which the words about keys would be of no help."""
    kind = getattr(getattr(labels, "dtype", None), "kind", "")
    if kind == "f" and len(labels):
        first = np.asarray(labels).item(0)
        remedy = f"classes are integers or texts: pass {name}.astype(int)"
        raise InputTypeError(f"is {first!r}, a float", remedy, argument=name, at=0, value=first)


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
