"""The columns of a table as arrays, batch by batch: scores, labels of any two values, integer weights, keys of segments."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastbin._errors import InputError
from fastbin._fit.quantiles import CHANGED
from fastbin._fit.rows import limits_of
from fastbin._typing import Array, Bools
from fastbin._validation import ScoreRange, is_missing, refuse_words
from fastbin.engines.faults import INFINITE, MISSING, NAN, NEGATIVE, Fault, outside, refuse, strange_label
from fastbin.engines.tables import Stream, pyarrow
from fastbin.io.parsing import doubles_of_decimals

# Bytes of arrays that are kept for the passes after the first: 14 million rows without weights. A table that has more is read
# anew for each pass.
KEPT_BYTES = 2**27

# The samples of a table, counted by integer weights: what an engine may add up in doubles without an error.
MOST_SAMPLES = 2**53


class Names(NamedTuple):
    """The columns that hold what a fit needs."""

    score: str
    label: str
    weight: str | None = None
    segment: str | None = None


class Labels:
    """Labels in one pass over a table: 0 and 1, or, with `positive`, that value and one other."""

    def __init__(self, name: str, positive: Any) -> None:
        self._name, self.positive = name, positive
        self.others: dict[Any, int] = {}  # values other than `positive`, and how many rows have each
        self.n_positive = self.n_missing = 0

    def read(self, column: Any) -> Array:
        """Labels of an Arrow array without nulls: bool, or numbers of which some may be neither 0 nor 1."""
        if self.positive is not None:
            return self._compare(column)
        if _is_text(column.type):
            refuse_words(column.slice(0, 2**16).to_pylist(), self._name)
        return np.asarray(_as_numbers(column, self._name).to_numpy(zero_copy_only=False))

    def _compare(self, column: Any) -> Bools:
        coded = column.dictionary_encode()
        values, codes = coded.dictionary.to_pylist(), coded.indices.to_numpy()
        is_positive = np.array([bool(value == self.positive) for value in values], np.bool_)
        for value, found, count in zip(values, is_positive, np.bincount(codes, minlength=len(values)).tolist(), strict=True):
            if is_missing(value):  # NaN, which is no NULL
                self.n_missing += count
            elif found:
                self.n_positive += count
            else:
                self.others[value] = self.others.get(value, 0) + count
        return is_positive[codes] if len(values) else np.empty(0, np.bool_)

    @property
    def n_strange(self) -> int:
        """The rows whose label is a third value, or a fourth, ..."""
        return sum(list(self.others.values())[1:])

    @property
    def n_bad(self) -> int:
        """These, and those that are NaN; without `positive`, whoever counts the labels sees them."""
        return self.n_strange + self.n_missing

    def check_all(self) -> None:
        """After the last row: refuse a positive value that no row has."""
        if self.positive is not None and self.n_positive == 0 and self.others:
            seen = " and ".join(map(repr, list(self.others)[:2])) + (", ..." if len(self.others) > 2 else "")
            raise InputError(f"positive is {self.positive!r}, which is none of the labels in {self._name}: they are {seen}")


class ArrayReader:
    """The columns of a table as the batches that a fit takes.

    Parameters
    ----------
    stream : Stream
    names : Names
    score_range : (low, high) or None
    positive : optional
        The label that counts as 1.
    """

    def __init__(self, stream: Stream, names: Names, score_range: ScoreRange, positive: Any = None) -> None:
        self.stream, self.names, self.score_range, self.positive = stream, names, score_range, positive
        self._wanted = stream.check_columns(*names)
        self._kept: list[tuple[Array, ...]] | None = None  # all batches, if they were read and are few enough

    def batches(self) -> Generator[tuple[Array, ...], None, None]:
        """One pass: (scores, labels) or (scores, labels, weights), of one length each. Their values are not looked at.

        What arrays have no place for, such as NULL, is refused with the numbers of all bad rows, at the cost of one more pass.
        """
        if self._kept is not None:
            yield from self._kept
            return
        reading, room, kept = _Reading(self), KEPT_BYTES, list[tuple[Array, ...]]()
        with closing(self._columns()) as parts:
            for columns in parts:
                arrays = reading.read(columns)
                if arrays is None:
                    break
                room -= sum(array.nbytes for array in arrays)
                if room >= 0:
                    kept.append(arrays)
                else:
                    kept.clear()
                yield arrays
            else:
                reading.labels.check_all()
                self._kept = kept if room >= 0 else None
                return
        self.refuse()

    def all_rows(self, progress: Any = None) -> tuple[list[Array], Any]:
        """The same of all rows at once, and the segment of each as an Arrow array. One pass, at which values are checked."""
        reading, faults = _Reading(self), FaultCounter(self)
        batches: list[tuple[Array, ...]] = []
        segments = []
        with closing(self._columns()) as parts:
            for columns in parts:
                faults.add(columns)
                arrays = None if faults.n_bad else reading.read(columns)
                if arrays is not None:
                    batches.append(arrays)
                    segments += columns[-1:] if self.names.segment is not None else []
                if progress is not None:
                    progress(1, faults.n_rows)
        faults.refuse_any()
        if not batches:
            raise InputError(f"{self.stream.called} has no rows; a calibrator needs samples")
        keys = pyarrow().chunked_array(segments).combine_chunks() if segments else None
        return [np.concatenate(column) for column in zip(*batches, strict=True)], keys

    def refuse(self) -> NoReturn:
        """Raise for rows of which one is known to be bad: one more pass, which counts all that are."""
        faults = FaultCounter(self)
        for columns in self._columns():
            faults.add(columns)
        faults.refuse_any()
        raise InputError(CHANGED)

    def _columns(self) -> Generator[list[Any], None, None]:
        """The columns of all rows as Arrow arrays, batch by batch, in the order of the names."""
        names = [name for name in self.names if name is not None]
        for batch in self.stream.read(self._wanted):
            if len(batch):
                yield [_column(batch, name) for name in names]


class _Reading:
    """What one pass has seen so far."""

    def __init__(self, reader: ArrayReader) -> None:
        self._names, self._n_samples = reader.names, 0
        self.labels = Labels(reader.names.label, reader.positive)

    def read(self, columns: list[Any]) -> tuple[Array, ...] | None:
        """The arrays of some rows; ``None`` where one of these is known to be bad."""
        names = self._names
        score, label, *others = columns
        if any(column.null_count for column in columns):
            return None
        arrays = (_scores_of(score, names.score), self.labels.read(label))
        if names.weight is None:
            return None if self.labels.n_bad else arrays
        weights = _weights_of(others[0], names.weight)
        if self.labels.n_bad or weights.min() < 0:
            return None
        # The greatest tells first, as the sum of a batch may not fit into 64 bits.
        fits = int(weights.max()) <= MOST_SAMPLES // len(weights)
        self._n_samples += int(weights.sum()) if fits else sum(weights.tolist())
        if self._n_samples > MOST_SAMPLES:
            raise InputError(
                f"{names.weight} adds up to more than 2**53 samples, which engines cannot count exactly; divide the weights"
            )
        return *arrays, weights


class FaultCounter:
    """Counts the bad rows of one pass, by kind."""

    def __init__(self, reader: ArrayReader) -> None:
        self._names, self._score_range = reader.names, reader.score_range
        self._labels = Labels(reader.names.label, reader.positive)
        score, label, weight, segment = reader.names
        kinds: list[tuple[str | None, tuple[str, ...]]] = [
            (score, (MISSING, NAN, INFINITE, outside(self._score_range))), (label, (MISSING, NAN, strange_label())),
            (weight, (MISSING, NEGATIVE)), (segment, (MISSING,)),
        ]  # fmt: skip
        # In the order in which they are told.
        self._found = {(name, what): Fault(name, what, 0) for name, whats in kinds if name is not None for what in whats}
        self.n_rows = 0

    @property
    def n_bad(self) -> int:
        """Faults so far; a row may have several."""
        return sum(fault.n_rows for fault in self._found.values()) + self._labels.n_bad

    def add(self, columns: list[Any]) -> None:
        """Some rows: the columns of `Names`, as far as there are any."""
        names = [name for name in self._names if name is not None]
        self.n_rows += len(columns[0])
        for name, column in zip(names, columns, strict=True):
            self._count(name, MISSING, column.null_count)
        score, label, *others = columns
        self._add_scores(_scores_of(score.drop_null(), self._names.score).astype(np.float64, copy=False))
        self._add_labels(label.drop_null())
        if self._names.weight is not None:
            weights = _weights_of(others[0].drop_null(), self._names.weight)
            self._note(self._names.weight, NEGATIVE, weights, weights < 0)

    def _add_scores(self, scores: Array) -> None:
        low, high = limits_of(self._score_range)
        if scores.size == 0 or (scores.min() >= low and scores.max() <= high):  # which a NaN fails
            return
        is_nan, is_infinite = np.isnan(scores), np.isinf(scores)
        self._note(self._names.score, NAN, scores, is_nan, shown=False)
        self._note(self._names.score, INFINITE, scores, is_infinite)
        beyond = ~(is_nan | is_infinite) & ((scores < low) | (scores > high))
        self._note(self._names.score, outside(self._score_range), scores, beyond)

    def _add_labels(self, column: Any) -> None:
        labels = self._labels.read(column)
        if labels.dtype.kind == "b":
            return
        is_nan = labels != labels
        self._note(self._names.label, NAN, labels, is_nan, shown=False)
        self._note(self._names.label, strange_label(), labels, (labels != 0) & (labels != 1) & ~is_nan)

    def _note(self, name: str, what: str, values: Array, bad: Bools, *, shown: bool = True) -> None:
        n_bad = int(np.count_nonzero(bad))
        self._count(name, what, n_bad, values[int(np.argmax(bad))].item() if n_bad and shown else None)

    def _count(self, name: str, what: str, n_rows: int, example: Any = None) -> None:
        before = self._found[name, what]
        example = example if before.example is None else before.example
        self._found[name, what] = before._replace(n_rows=before.n_rows + n_rows, example=example)

    def refuse_any(self) -> None:
        """Raise if there are any, or if no label is `positive`."""
        labels, name = self._labels, self._names.label
        faults = [*self._found.values(), Fault(name, NAN, labels.n_missing)]
        if labels.n_strange:
            other, third = list(labels.others)[:2]
            faults.append(Fault(name, strange_label(labels.positive, other), labels.n_strange, third))
        labels.check_all()
        if self.n_bad:
            refuse(faults, self.n_rows)


# ------------------------------------------------------------------------------------------------- one column of a batch


def _column(batch: Any, name: str) -> Any:
    """A column of a record batch, by its name; categories of it as the values that they stand for."""
    column = batch.column(batch.schema.get_field_index(name))
    return column.dictionary_decode() if pyarrow().types.is_dictionary(column.type) else column


def _is_text(kind: Any) -> bool:
    types = pyarrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _as_numbers(column: Any, name: str) -> Any:
    """An Arrow array of numbers that NumPy has; decimals become doubles."""
    pa = pyarrow()
    kind = column.type
    if pa.types.is_decimal(kind):
        return doubles_of_decimals(column)
    if pa.types.is_null(kind):
        return column.cast(pa.float64())
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise InputError(f"{name} holds {kind}, not numbers")
    return column


def _scores_of(column: Any, name: str) -> Array:
    """float32 or float64, from an array without nulls."""
    numbers = np.asarray(_as_numbers(column, name).to_numpy(zero_copy_only=False))
    return numbers if numbers.dtype in (np.float32, np.float64) else numbers.astype(np.float64)


def _weights_of(column: Any, name: str) -> Array:
    """int64, from an array without nulls; real weights are refused, as counts do not add up to their sums."""
    pa = pyarrow()
    kind = column.type
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)
    if pa.types.is_floating(kind) or (pa.types.is_decimal(kind) and not whole):
        raise InputError(
            f"{name} holds {kind}, real weights, and here weights are counts of equal rows: cast whole numbers to BIGINT; for "
            "importance weights read the columns, and fit with sample_weight="
        )
    if not whole and not pa.types.is_null(kind):
        raise InputError(f"{name} holds {kind}, not whole numbers")
    try:
        return np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        raise InputError(f"{name} holds a weight beyond 2**63; at most 2**53 samples can be counted") from None
