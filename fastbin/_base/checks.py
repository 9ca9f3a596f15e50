"""The only place where user input is checked and converted.

Functions named ``as_*`` check type and shape alone and cost O(1): the hot loops behind them look at the values, and
on finding a bad one call the matching ``refuse_*`` function, which finds the first offender and raises. Functions named
``check_*`` look at the values too. Where an argument is `first_row`, the array is a chunk of a longer column, and messages
count from that row.
"""

from __future__ import annotations

import math
import numbers
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set, Sized
from typing import Any, NoReturn

import numpy as np

from fastbin._base.array_types import Array, Bools, Float64s, Int64s, UInt8s, UInt64s
from fastbin._base.doubles import BEYOND_DOUBLES, doubles_of, refuse_rounded_in
from fastbin._base.errors import InputError, InputTypeError, Wording, Words, by_name, joined
from fastbin._base.frames import column_of, read_column, refuse_masked, with_numbers_kept
from fastbin._base.tie_keys import GREATEST_KEY, look_like_ids

ScoreRange = tuple[float, float] | None
UNIT = (0.0, 1.0)
ANY_SCORE = Wording("score_range=None", "--score-range any")
PERCENTAGES = Wording("score_range=(0, 100)", "--score-range 0,100")
CONVERT_TEXT = "scores are numbers: convert the column, with pandas.to_numeric or astype(float)"


def refuse_first(
    bad: Bools, argument: str | None, values: Array, remedy: Words = "", problem: Callable[[int], str] | None = None,
    first_row: int = 0,
) -> None:  # fmt: skip
    """Raise InputError about the first bad position, if there is one; the problem gets it, in a matrix as flat index."""
    if not bad.any():
        return
    i = int(np.argmax(bad))
    value = values.flat[i]
    raise InputError(
        None if problem is None else problem(i),
        remedy,
        argument=argument,
        at=divmod(i, bad.shape[1]) if bad.ndim == 2 else first_row + i,
        value=value.item() if isinstance(value, np.generic) else value,
    )


def _one_dimensional(values: Any, name: str, first_row: int = 0) -> Array:
    """The array behind anything array-like, without a copy where there is one."""
    column = read_column(values, name, first_row)
    if column is not None:
        return column
    try:
        array = _as_array(values)
    except (ValueError, TypeError, BufferError, RuntimeError) as error:
        raise InputTypeError(f"is not an array of numbers: {error}", argument=name) from error
    if array.ndim == 0 and array.dtype.kind in "OUS":
        raise InputTypeError(f"is {_kind_of(values)}", f"pass {_instead_of(values)}", argument=name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        to_one = "; one score alone goes to predict_one, or to decide_one" * (name == "scores")
        remedy = "for class probabilities pass the column of class 1" if array.ndim else f"pass a list or an array{to_one}"
        raise InputTypeError(f"must be one-dimensional (or n by 1), got shape {array.shape}", remedy, argument=name)
    refuse_masked(values, name)
    return with_numbers_kept(array, values)


def _as_array(values: Any) -> Array:
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    array = np.asarray(values)
    return array if array.flags.aligned else array.copy()  # fields of packed records: compiled loops read whole words


def _is_none(item: Any) -> bool:
    return item is None or type(item).__name__ in ("NAType", "NaTType")  # of pandas


def is_missing(item: Any) -> bool:
    """Whether this stands for no value: None, NaN, and what pandas has for them."""
    return _is_none(item) or (not isinstance(item, np.ndarray) and bool(item != item))


def _kind_of(value: Any) -> str:
    """The kind of what was given, in a few words."""
    if value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"of type {type(value).__name__}"


def _instead_of(values: Any) -> str:
    """The remedy for something that is not an array, but may hold the rows."""
    if isinstance(values, (Set, Mapping)):
        return "a list or an array, whose order tells which rows belong together"
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes)):
        return "a list or an array, such as list(...) of it"
    return "a list or an array of numbers"


def refuse_kind(score: Any, name: str = "score") -> NoReturn:
    """Raise for a single score that is not a number."""
    several = isinstance(score, Iterable) and not isinstance(score, (str, bytes))
    remedy = "pass one number, or several scores to predict" if several else "pass one number"
    raise InputTypeError(f"is {_kind_of(score)}", remedy, argument=name)


def as_scores(scores: Any, name: str = "scores", first_row: int = 0) -> Array:
    """Scores as a one-dimensional float32 or float64 array; other numbers become float64. Values are not looked at."""
    array = _one_dimensional(scores, name, first_row)
    if array.dtype == np.float64 and isinstance(scores, (list, tuple)):  # NumPy rounds the integers beside a double
        refuse_rounded_in(scores, array, name, first_row)
    return _to_floats(array, name, first_row)


def as_score_pieces(scores: Any, *, keep_nulls: bool = False) -> tuple[int, Iterable[tuple[Array, int]]]:
    """How many scores there are, and pieces as `as_scores` makes them, each with the number of its first row.

    A column of a frame is converted piece by piece, as they are asked for; anything else is one piece. Nulls that are kept are
    NaN.
    """
    column = column_of(scores, "scores")
    if column is None:
        array = as_scores(scores)
        return array.shape[0], [(array, 0)]
    pieces = column.arrays("scores", keep_nulls=keep_nulls)
    return sum(map(len, column.pieces)), ((_to_floats(piece, "scores", first), first) for piece, first in pieces)


def _to_floats(array: Array, name: str, first_row: int) -> Array:
    if array.dtype in (np.float64, np.float32):
        return array
    converted = _converted(array, name, first_row)
    if array.dtype.kind in "iuO":
        refuse_rounded_in(array, converted, name, first_row)
    return converted


def _converted(array: Array, name: str, first_row: int) -> Float64s:
    if array.dtype.kind in "biuf":
        converted = doubles_of(array)
        # Long double must not lose digits silently.
        if array.dtype.kind == "f" and not np.array_equal(converted.astype(array.dtype), array, equal_nan=True):
            raise InputError(
                f"has dtype {array.dtype}, whose digits float64 does not hold",
                f"convert with {name}.astype('float64')",
                argument=name,
            )
        return converted
    if array.dtype.kind == "O":
        return _from_objects(array, name, first_row)
    if array.dtype.kind in "SU" and len(array):
        text = array[0].item()
        raise InputTypeError(f"is {text!r}, a text", CONVERT_TEXT, argument=name, at=first_row, value=text)
    raise InputTypeError(f"must be numbers, got dtype {array.dtype}", argument=name)


def _from_objects(array: Array, name: str, first_row: int = 0) -> Float64s:
    """Python objects one by one, so that the message can name the first that is not a number (``None``, a string)."""
    converted = np.empty(array.shape[0])
    for position, item in enumerate(array):
        if isinstance(item, str) or _is_none(item):
            kind, remedy = ("not a number", "remove or fill missing rows first") if _is_none(item) else ("a text", CONVERT_TEXT)
            raise InputError(f"is {item!r}, {kind}", remedy, argument=name, at=first_row + position, value=item)
        try:
            converted[position] = item
        except (TypeError, ValueError) as error:
            problem = f"is {item!r}, not a number"
            raise InputTypeError(problem, argument=name, at=first_row + position, value=item) from error
        except OverflowError as error:
            raise InputError(BEYOND_DOUBLES, argument=name, at=first_row + position) from error
    return converted


# The remedies for scores that a model is asked for; those of a fit come too late.
IMPUTE = Wording(
    'impute such scores, leave them out, or pass nan="propagate" to predict, which then answers NaN',
    "impute such scores, leave their rows out, or give --nan propagate to fastbin predict, which then answers nothing for them",
)
_CLIP = {
    "model": Wording('take model.with_out_of_range("clip")', "fit with --out-of-range clip"),
    "set": Wording('fit with out_of_range="clip"', "fit with --out-of-range clip"),
}


def refuse_scores(
    scores: Array, score_range: ScoreRange = UNIT, name: str = "scores", first: int | None = None, first_row: int = 0,
    *, served_by: str = "",
) -> NoReturn:  # fmt: skip
    """Raise for the first score that is NaN, infinite, or outside the range; `first`, if its position is known already.

    `served_by` says whether the scores were given to a fit (""), a "model", or a "set".
    """
    position = _first_bad_score(scores, score_range) if first is None else first
    assert position is not None, "a kernel reported a bad score where there is none"
    value = float(scores[position])
    is_one = scores.shape[0] == 1 and name == "score"
    place: dict[str, Any] = {"argument": name, "at": None if is_one else first_row + position, "value": value}
    if math.isnan(value):
        raise InputError("is NaN", IMPUTE if served_by else "remove such rows, or impute their scores", **place)
    if math.isinf(value):
        raise InputError(None, "scores must be finite", **place)
    assert score_range is not None
    low, high = score_range
    are_percentages = score_range == UNIT and _are_percentages(scores)
    remedy: Words = "pass probabilities, or ", ANY_SCORE, " at fit for scores that are not probabilities"
    if are_percentages:
        remedy = "these look like percentages: divide by 100", *(() if served_by else (", or pass ", PERCENTAGES, " at fit"))
    elif served_by:
        remedy = "pass scores of the kind that was fitted; where others should get the nearest end's answer, ", _CLIP[served_by]
    raise InputError(f"is {value!r}, outside [{low:g}, {high:g}]", remedy, **place)


def _are_percentages(scores: Array) -> bool:
    """Whether these scores lie between 0 and 100, and one at 10 or above: margins of a classifier are hardly so large."""
    finite = scores[np.isfinite(scores)]
    return bool(finite.min() >= 0.0 and 10.0 <= finite.max() <= 100.0)


def _first_bad_score(scores: Array, score_range: ScoreRange) -> int | None:
    low, high = score_range if score_range is not None else (-math.inf, math.inf)
    for start in range(0, scores.shape[0], 65536):
        block = scores[start : start + 65536]
        bad = ~((block >= low) & (block <= high) & np.isfinite(block))
        if bad.any():
            return start + int(np.argmax(bad))
    return None


def check_scores(scores: Any, score_range: ScoreRange = UNIT, name: str = "scores") -> Array:
    """`as_scores`, and every value finite and inside the range. O(n), in blocks."""
    array = as_scores(scores, name)
    if _first_bad_score(array, score_range) is not None:
        refuse_scores(array, score_range, name)
    return array


def clip_scores(scores: Any, model: Any, name: str = "scores") -> Array:
    """`as_scores`, with finite ones moved into the range of a model that clips; others are left for a check."""
    array = as_scores(scores, name)
    if model.out_of_range != "clip" or model.score_range is None:
        return array
    doubles = array.astype(np.float64)  # an end need not be a float32
    return np.where(np.isfinite(doubles), np.clip(doubles, *model.score_range), doubles)


def check_edges(edges: Any, score_range: ScoreRange, name: str = "edges") -> Float64s:
    """Inner edges: finite, rising strictly, within the range and above its low end."""
    given = as_scores(edges, name)
    refuse_first(np.isnan(given), name, given, "edges are finite numbers", lambda _: "is NaN")
    array = check_scores(given, score_range, name).astype(np.float64)
    refuse_first(
        array[1:] <= array[:-1],
        name,
        array[1:],
        "edges must rise strictly",
        lambda i: f"is {float(array[i + 1])!r}, not above {name}[{i}], which is {float(array[i])!r}",
        first_row=1,
    )
    if score_range is not None and array.size and array[0] == score_range[0]:
        low = float(array[0])
        problem = f"is {low!r}, the low end of score_range, and no score lies below it"
        raise InputError(problem, "give inner edges alone", argument=name, at=0, value=low)
    return array


def as_labels(labels: Any, name: str = "labels", first_row: int = 0) -> Array:
    """Labels as a one-dimensional bool, integer or float array. Values are not looked at."""
    array = _one_dimensional(labels, name, first_row)
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O" and not any(isinstance(item, (str, bytes)) for item in array):
        return _from_objects(array, name, first_row)
    if array.dtype.kind in "OSU":
        refuse_words(array.tolist(), name, first_row)
    raise InputTypeError(f"must be 0 and 1 (or False and True), got dtype {array.dtype}", SAY_POSITIVE, argument=name)


# The remedy for labels of two other values. It proposes none of them: the wrong one would turn every probability around.
SAY_POSITIVE = Wording(
    "pass positive= with the value whose probability you want", "give --positive with the value whose probability you want"
)
LABELS_ARE = "labels are 0 and 1, or False and True"
LABELS_COME_SECOND = Wording(
    f"{LABELS_ARE}, and come second, after the scores or predictions",
    "labels are 0 and 1, or true and false; name their column by --label, or the label that counts as 1 by --positive",
)


def refuse_words(labels: list[Any], name: str = "labels", first_row: int = 0) -> NoReturn:
    """Raise for labels of which some are text, showing what they are and what to do."""
    position = next(position for position, item in enumerate(labels) if isinstance(item, (str, bytes)))
    seen = list(dict.fromkeys(plain_value(item) for item in labels if not is_missing(item)))
    remedy: Words = SAY_POSITIVE if len(seen) <= 2 else f"pass ({name} == one of them), one class against others"
    values = ", ".join([*map(repr, seen[:3]), "..."]) if len(seen) > 2 else " and ".join(map(repr, seen))
    remedy = joined(f"{LABELS_ARE}, and these are {values}", remedy)
    if len(seen) > 2 and not all(isinstance(item, (str, bytes)) for item in seen):  # a slip in one row, and no classes
        remedy = LABELS_ARE
    raise InputTypeError(None, remedy, argument=name, at=first_row + position, value=plain_value(labels[position]))


def plain_value(item: Any) -> Any:
    """A text or number of NumPy as that of Python, which is shown without its type."""
    return item.item() if isinstance(item, (np.character, np.number, np.bool_)) else item


class Labels:
    """Which of some labels are 1, and how many rows have each value, in the order in which they come.

    Without `positive` labels are 0 and 1. With it, that value is 1 and one other, the first that is seen, is 0. Values that are
    neither count as 0, and whoever reads labels looks for them: in memory and in a file at once, to name the row; in an engine
    at the end, to tell how many they are.

    Attributes
    ----------
    n_null, n_nan : int
        Rows without a label.
    """

    # Different values that are kept; of rows with further ones, which cannot be labels, only the number is.
    MOST_VALUES = 100

    def __init__(self, positive: Any = None) -> None:
        self.positive = check_positive(positive)
        self._one = 1 if positive is None else self.positive
        self._counts: dict[Any, int] = {}
        self.n_null = self.n_nan = self._n_further = 0

    def read(self, values: Sequence[Any], codes: Int64s) -> Bools:
        """Which rows are 1: each has the value of its code."""
        self.add(values, np.bincount(codes, minlength=len(values)).tolist())
        return np.array([self.is_one(value) for value in values], np.bool_)[codes]

    def add(self, values: Iterable[Any], counts: Iterable[int]) -> None:
        """So many rows more have these values; None is NULL."""
        for value, count in zip(values, counts, strict=True):
            if not count:
                continue
            if _is_none(value):
                self.n_null += count
            elif value != value:
                self.n_nan += count
            elif value in self._counts or len(self._counts) < self.MOST_VALUES or self.is_one(value):
                self._counts[value] = self._counts.get(value, 0) + count
            else:
                self._n_further += count

    def merge(self, other: Labels) -> None:
        """Add those of other rows."""
        self.add(other._counts.keys(), other._counts.values())
        self.n_null += other.n_null
        self.n_nan += other.n_nan
        self._n_further += other._n_further

    def is_one(self, value: Any) -> bool:
        """Whether this value is 1."""
        return not is_missing(value) and bool(value == self._one)

    @property
    def ones(self) -> list[Any]:
        """The values that are 1, of which there may be several spellings, such as 1 and True."""
        return [value for value in self._counts if self.is_one(value)]

    @property
    def zeros(self) -> list[Any]:
        """The values that are not 1, of which the first is 0, and others should not be there."""
        others = [value for value in self._counts if not self.is_one(value)]
        return others if self.positive is not None else [0, *(value for value in others if value != 0)]

    @property
    def n_strange(self) -> int:
        """Rows with a value that is neither 1 nor 0."""
        return sum(self._counts[value] for value in self.zeros[1:]) + self._n_further

    @property
    def lacks_positive(self) -> bool:
        """Whether there are rows, and none has the positive value."""
        return self.positive is not None and bool(self._counts) and not self.ones

    @property
    def shown_zeros(self) -> str:
        """The values that are not 1, for a message."""
        zeros = self.zeros
        return " and ".join(map(repr, zeros[:2])) + (", ..." if len(zeros) > 2 else "")

    @property
    def say_positive(self) -> Words:
        """The remedy where no label is `positive`.

        A value that differs in case and blanks alone is proposed. One that only looks alike is not, as "inactive" for "active":
        it would turn every probability around.
        """
        meant = str(self.positive).strip().casefold()
        same = [value for value in self.zeros if str(value).strip().casefold() == meant]
        return f"did you mean {same[0]!r}?" if same else SAY_POSITIVE if len(self.zeros) > 1 else ""

    def check_positive(self, where: str) -> None:
        """After the last row: refuse a positive value that no row has; it is a mistake."""
        if self.lacks_positive:
            problem = f"is {self.positive!r}, which is none of the {where}: they are {self.shown_zeros}"
            raise InputError(problem, self.say_positive, argument="positive", value=self.positive)


def check_positive(positive: Any) -> Any:
    """The positive label as a Python value; anything but one value is refused."""
    if isinstance(positive, np.generic):
        value = positive.item()  # of nanoseconds an integer
        return positive if positive.dtype.kind in "mM" and isinstance(value, int) else value
    if hasattr(positive, "__iter__") and not isinstance(positive, (str, bytes)):
        remedy = "pass the one label that counts as 1"
        raise InputTypeError(f"is of type {type(positive).__name__}", remedy, argument="positive")
    return positive


def compare_labels(labels: Any, positive: Any, name: str = "labels", *, is_part: bool = False) -> Any:
    """The labels as bool, True where they equal `positive`; as they are where that is ``None``. O(n).

    Besides it the labels must have one other value, and, unless they are part of a longer column, `positive` must be among
    them: a word that is not is a mistake.
    """
    if positive is None:
        return labels
    # NumPy would turn a list with text in it into text altogether, a NaN included.
    array = _one_dimensional(np.array(labels, dtype=object) if isinstance(labels, (list, tuple)) else labels, name)
    numbers: dict[Any, int] = {}
    codes = np.fromiter((numbers.setdefault(item, len(numbers)) for item in array.tolist()), np.int64, len(array))
    values, seen = list(map(plain_value, numbers)), Labels(positive)
    is_positive = seen.read(values, codes)
    if seen.n_null or seen.n_nan:
        missing = next(number for number, value in enumerate(values) if is_missing(value))
        position, value = int(np.argmax(codes == missing)), values[missing]
        raise InputError(f"is {value!r}", "remove rows without a label", argument=name, at=position, value=value)
    if not is_part:
        seen.check_positive(name if name == "labels" else f"labels in {name}")
    if seen.n_strange:
        zero, third = seen.zeros[:2]
        position = int(np.argmax(codes == values.index(third)))
        problem = f"is {third!r}, neither {positive!r} nor {zero!r}"
        remedy = joined("labels have two values", "" if seen.ones else seen.say_positive)
        raise InputError(problem, remedy, argument=name, at=position, value=third)
    return is_positive


def refuse_labels(labels: Array, name: str = "labels", first_row: int = 0) -> NoReturn:
    """Raise for the first label that is neither 0 nor 1."""
    position = int(np.argmax((labels != 0) & (labels != 1)))
    value = labels[position].item()
    assert value not in (0, 1), "a kernel reported a bad label where there is none"
    remedy: Words = LABELS_ARE
    if isinstance(value, float) and 0.0 < value < 1.0:
        remedy = LABELS_COME_SECOND
    seen = np.unique(labels[: 2**16]).tolist()
    if len(seen) == 2 and 0 not in seen and all(each == each for each in seen):
        remedy = joined(f"labels are 0 and 1, and these are {seen[0]} and {seen[1]}", SAY_POSITIVE)
    if isinstance(value, float) and math.isnan(value):
        remedy = "remove rows without a label"
    raise InputError(None, remedy, argument=name, at=first_row + position, value=value)


def check_labels(labels: Any, name: str = "labels", *, positive: Any = None, is_part: bool = False) -> UInt8s:
    """Labels as a uint8 array of 0 and 1, without a copy where they are bool or uint8 already. O(n).

    `positive` and `is_part` as in `compare_labels`.
    """
    array = as_labels(compare_labels(labels, positive, name, is_part=is_part), name)
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    if not ((array == 0) | (array == 1)).all():
        refuse_labels(array, name)
    return array if array.dtype == np.uint8 else array.astype(np.uint8)


def check_same_length(**arrays: Sized | None) -> int:
    """The common length of the arrays given by name."""
    lengths = {name: len(array) for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"lengths differ: {shown}", "every row needs one of each")
    return next(iter(lengths.values()))


def check_sample_weight(weights: Any, name: str = "sample_weight", first_row: int = 0) -> Array | None:
    """Weights as int64 (frequencies: integers, whole decimals) or float64 (importance weights); ``None`` stays ``None``.

    No copy of what has one of these dtypes.
    """
    if weights is None:
        return None
    array = _one_dimensional(weights, name, first_row)
    if array.dtype.kind == "f" and isinstance(weights, (list, tuple)) and array.max(initial=0.0) >= 2.0**63:
        array = np.asarray(weights, object)  # whole numbers beyond 64 bits, perhaps, which NumPy makes doubles of
    if array.dtype.kind == "O":
        array = _whole_or_real(array, name, first_row)
    if array.dtype.kind not in "biuf":
        raise InputTypeError(f"must be numbers, got dtype {array.dtype}", argument=name)
    # Two passes that need no memory; NaN is neither.
    if array.size and not (array.min() >= 0 and array.max() < np.inf):
        bad = ~(np.isfinite(array) & (array >= 0))
        refuse_first(bad, name, array, "weights must be finite and not negative", first_row=first_row)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        bad = array > np.uint64(2**62)
        refuse_first(bad, name, array, "frequencies above 2**62 cannot be counted", first_row=first_row)
    if array.dtype.kind == "f":
        return check_squares(doubles_of(array), name, first_row)
    check_total(array, name)
    return array.astype(np.int64, copy=False)


def _whole_or_real(weights: Array, name: str, first_row: int) -> Array:
    """Weights that came as Python objects: whole numbers stay so, as they are frequencies, also beyond 64 bits."""
    if not all(map(_is_whole, weights)):
        return _from_objects(weights, name, first_row)
    refuse_first(weights > 2**62, name, weights, "frequencies above 2**62 cannot be counted", first_row=first_row)
    refuse_first(weights < 0, name, weights, "weights must be finite and not negative", first_row=first_row)
    return weights.astype(np.int64)


def _is_whole(weight: Any) -> bool:
    """Whether this is an integer, or a Decimal that is written without places, as in a column of decimals of scale 0."""
    is_whole_decimal = type(weight).__name__ == "Decimal" and weight.is_finite() and weight.as_tuple().exponent >= 0
    return is_whole_decimal or isinstance(weight, (int, np.integer))


def as_key_array(keys: Any, n: int, name: str = "tie_keys", *, to_order: bool = False) -> UInt64s:
    """Keys as contiguous uint64: integers in [0, 2**64 - 2], or floats in [0, 1), which scale exactly. O(n).

    Keys that only order samples, as at a fit, may be any integers; others have to be uniform, and ids are refused.
    """
    array = _one_dimensional(keys, name)
    if array.shape[0] != n:
        raise InputError(f"has {array.shape[0]} rows for {n} scores", "every row needs one key", argument=name)
    if array.dtype.kind == "f":
        bad = ~((array >= 0) & (array < 1))
        refuse_first(bad, name, array, "keys given as floats must be in [0, 1)")
        return np.ascontiguousarray(np.ldexp(array.astype(np.float64), 64).astype(np.uint64))
    if array.dtype.kind not in "iu":
        problem = f"must be unsigned integers or floats in [0, 1), got dtype {array.dtype}"
        raise InputTypeError(problem, "pass hash_keys(ids, salt)", argument=name)
    if array.dtype.kind == "i":
        refuse_first(array < 0, name, array, "keys must not be negative: take hashes modulo 2**64 as uint64")
    converted = np.ascontiguousarray(array, dtype=np.uint64)
    reserved = converted > np.uint64(GREATEST_KEY)
    refuse_first(reserved, name, converted, "use keys below it", lambda i: "is 2**64 - 1, which is reserved")
    if not to_order and look_like_ids(converted):
        at = int(converted.argmax())
        raise InputError(
            f"is {converted[at]}, and no other is larger: these are ids and not keys, which are uniform from 0 to 2**64 - 2",
            "all would fall into the lower bin; pass hash_keys(ids, salt)",
            argument=name,
            at=at,
            value=int(converted[at]),
        )
    return converted


# ------------------------------------------------------------------------------------------------- single arguments


# Tails of the beta law are computed as doubles, which end at 1e-308. A level shared among the most bins that a model can have
# (2**24), with parts for the two tails and for masses, stays above the second number.
SMALLEST_ALPHA, SMALLEST_LEVEL = 1e-100, 1e-110


def check_alpha(alpha: Any, name: str = "alpha", *, smallest: float = SMALLEST_ALPHA, large: bool = False) -> float:
    """A failure probability: from `smallest` to 1/2; with `large`, where only ranks depend on it, to any number below 1."""
    value = check_number(alpha, name)
    if not 0.0 < value < 100.0:
        raise InputError(None, "a failure probability lies strictly between 0 and 1", argument=name, value=value)
    if value >= 1.0 or (value > 0.5 and not large):  # a confidence level, or a percentage
        share = value / 100.0 if value >= 1.0 else value
        event = "a verdict is wrong" if name == "test_level" else "the promise fails"
        remedy = f"{name} is the chance that {event}; did you mean {min(share, 1.0 - share):.6g}?"
        raise InputError(None, remedy, argument=name, value=value)
    if value < smallest:
        remedy = f"the smallest accepted is {smallest:g}, below which doubles cannot tell tails apart"
        raise InputError(None, remedy, argument=name, value=value)
    return value


def check_level(alpha: Any) -> float:
    """The failure probability of one bin, which may be a small part of that of all."""
    return check_alpha(alpha, smallest=SMALLEST_LEVEL)


def check_power(power: Any) -> float:
    """The chance of finding what is there: strictly between 0 and 1."""
    value = check_number(power, "power")
    if not 0.0 < value < 1.0:
        raise InputError(None, "a chance of success lies strictly between 0 and 1", argument="power", value=value)
    return value


def check_unit_interval(value: Any, name: str, *, open_left: bool = False, open_right: bool = False) -> float:
    """A number in [0, 1], with either end left out on request."""
    number = check_number(value, name)
    low, high = "(" if open_left else "[", ")" if open_right else "]"
    if not (0.0 <= number <= 1.0) or (open_left and number == 0.0) or (open_right and number == 1.0):
        raise InputError(None, f"it must be in {low}0, 1{high}", argument=name, value=number)
    return number


def check_number(value: Any, name: str, *, exact: bool = False) -> float:
    """A real number as a double, which equals it if `exact`; bool, text and complex numbers are refused."""
    if isinstance(value, (bool, np.bool_, np.complexfloating)) or not isinstance(value, (numbers.Real, np.number)):
        raise InputTypeError(f"must be a real number, got {value!r}", argument=name, value=value)
    given = value.item() if isinstance(value, np.integer) else value  # as Python's integer it compares exactly
    try:
        number = float(given)
    except OverflowError as error:
        if not exact:
            raise InputError(BEYOND_DOUBLES, argument=name) from error
        number = math.inf
    if exact and number == number and number != given:
        raise InputError(f"is {value}, which float64 does not hold", argument=name, value=value)
    return number


def check_integer(value: Any, name: str, low: int = -(2**63), high: int = 2**63 - 1) -> int:
    """An integer that C can hold; nothing is rounded."""
    number = _as_integer(value, name)
    if not low <= number <= high:
        raise InputError(None, f"it must lie between {low} and {high}", argument=name, value=number)
    return number


def _as_integer(value: Any, name: str) -> int:
    integer: Any = None if isinstance(value, bool) else value
    try:
        return operator.index(integer)
    except TypeError as error:
        raise InputTypeError(f"must be an integer, got {value!r}", argument=name, value=value) from error


def check_count(value: Any, name: str, minimum: int = 1, maximum: int | None = None) -> int:
    """An integer of at least `minimum`."""
    number = _as_integer(value, name)
    if number < minimum or (maximum is not None and number > maximum):
        upper = "" if maximum is None else f" and at most {maximum}"
        raise InputError(None, f"it must be at least {minimum}{upper}", argument=name, value=number)
    return number


def check_n_samples(value: Any, name: str, minimum: int = 1) -> int:
    """A number of samples, of which doubles can tell every one."""
    return check_count(value, name, minimum, MOST_SAMPLES)


# More bins than samples are of no use to anybody, and ranks times bins must fit into 64 bits.
MOST_BINS = 2**24


def check_n_bins(n_bins: Any) -> int | str:
    """A number of bins, or "auto"."""
    if not isinstance(n_bins, str):
        return check_count(n_bins, "n_bins", 1, MOST_BINS)
    if n_bins != "auto":
        raise InputError(None, "pass an integer, or 'auto'", argument="n_bins", value=n_bins)
    return n_bins


def check_seed(seed: Any) -> int:
    """A seed in [0, 2**64); ``None`` draws one from the operating system."""
    if seed is None:
        return int.from_bytes(os.urandom(8), "little")
    return check_count(seed, "seed", minimum=0, maximum=2**64 - 1)


def check_key(key: Any, name: str = "tie_key") -> int:
    """One tie key, an integer in [0, 2**64 - 2]."""
    if isinstance(key, (bool, np.bool_)) or not isinstance(key, (int, np.integer)) or not 0 <= key <= GREATEST_KEY:
        raise InputError(None, "it must be an integer in [0, 2**64 - 2]", argument=name, value=key)
    return int(key)


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(None, f"choose one of {', '.join(map(repr, choices))}", argument=name, value=value)
    return value


def check_flag(value: Any, name: str) -> bool:
    """True or False: a text such as "no" would count as true."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(f"must be True or False, got {value!r}", argument=name, value=value)
    return bool(value)


def check_function(value: Any, name: str) -> None:
    """A function that is called, or ``None``: True would be a flag."""
    if value is not None and not callable(value):
        raise InputTypeError(f"must be a function, got {value!r:.100}", argument=name, value=value)


# What a file holds of the name of an event.
MOST_EVENT_BYTES = 256


def check_event(event: Any, name: str = "event") -> bytes:
    """The name of an event in UTF-8; empty where it is not known."""
    if not isinstance(event, str):
        raise InputTypeError(f"must be text, got {event!r}", argument=name, value=event)
    try:
        text = event.encode()
    except UnicodeEncodeError:
        raise InputError(f"is {event[:40]!r}, which holds half of a surrogate pair, no character", argument=name) from None
    if len(text) > MOST_EVENT_BYTES:
        remedy = f"a model names its event in at most {MOST_EVENT_BYTES}: give that label a shorter name"
        raise InputError(f"is {event[:40]!r}..., {len(text)} bytes in UTF-8", remedy, argument=name)
    return text


def event_of(positive: Any) -> str:
    """The name of the event that a positive label stands for; empty where none is said."""
    if positive is None:
        return ""
    event = str(check_positive(positive))
    check_event(event, "positive")
    return event


def check_same_event(event: str, positive: Any) -> None:
    """Refuse a positive label that is another event than the model's own; where either is not known, nothing is compared."""
    if event and positive is not None and event_of(positive) != event:
        problem = f"is {event_of(positive)!r}, and the model gives the probability of {event!r}"
        remedy = ("pass ", by_name("positive", event), ", or labels 0 and 1 where 1 means that")
        raise InputError(problem, remedy, argument="positive", value=positive)


def check_score_range(score_range: Any) -> ScoreRange:
    """``None`` for any finite score, else a pair (low, high)."""
    if score_range is None:
        return None
    try:
        low, high = map(float, score_range)
    except (TypeError, ValueError) as error:
        problem = f"must be None or a pair (low, high), got {score_range!r}"
        raise InputTypeError(problem, argument="score_range", value=score_range) from error
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"is ({low!r}, {high!r})", "it must be finite with low below high", argument="score_range")
    return low, high


# ------------------------------------------------------------------------------------------------- what weights add up to


# Samples, counted by integer weights, in all: up to here doubles add integers without an error.
MOST_SAMPLES = 2**53


def are_probabilities(score_range: ScoreRange) -> bool:
    """Whether all scores of a range are probabilities, which there is a map that leaves as they are."""
    return score_range is not None and score_range[0] >= 0.0 and score_range[1] <= 1.0


def check_total(frequencies: Array, name: str) -> None:
    """Refuse integers that add up to more than 2**53; none of them is negative. O(n)."""
    # Doubles add them exactly up to 2**53, and cannot wrap around; what they round to 2**53 may be more.
    total = float(frequencies.sum(dtype=np.float64))
    if total > MOST_SAMPLES or (total == MOST_SAMPLES and int(frequencies.sum(dtype=np.int64)) > MOST_SAMPLES):
        raise too_many_samples(name)


def check_squares(weights: Float64s, name: str, first_row: int) -> Float64s:
    """These weights, none negative. Refused where squares overflow when they are added, or are too small for doubles. O(n)."""
    greatest = float(weights.max(initial=0.0))
    most = math.sqrt(sys.float_info.max / max(1, len(weights)))
    if greatest > most:
        at = int(np.argmax(weights > most))
        raise overflowing_square(float(weights[at]), name, first_row + at)
    if 0.0 < greatest < math.sqrt(sys.float_info.min):
        problem = f"is at most {greatest!r}, whose square underflows"
        raise InputError(problem, "multiply all weights by a constant", argument=name, value=greatest)
    return weights


def overflowing_square(weight: float, name: str, at: int) -> InputError:
    """The error of a weight whose square doubles do not hold."""
    problem = f"is {weight!r}, whose square overflows"
    return InputError(problem, "divide all weights by a constant", argument=name, at=at, value=weight)


def too_many_samples(name: str | None) -> InputError:
    """The error of frequencies that add up to more than doubles count."""
    problem = "adds up to more than 2**53 samples, beyond which counts are not exact"
    return InputError(problem, "divide the weights", argument=str(name))


def no_samples(name: str = "sample_weight") -> InputError:
    """The error of weights that are all 0."""
    return InputError("is 0 for every row", "a calibrator needs samples", argument=name)
