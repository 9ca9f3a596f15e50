"""The columns of a table as arrays, batch by batch: scores, labels of any two values, integer weights, keys of segments."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastbin._base.array_types import Array, Bools
from fastbin._base.checks import MOST_SAMPLES, ScoreRange, too_many_samples
from fastbin._base.errors import InputError
from fastbin._fit.quantiles import CHANGED
from fastbin._fit.rows import BatchesSource, Progress, Rows, limits_of
from fastbin.engines.arrow_columns import column_of, scores_of, sum_of, weights_of
from fastbin.engines.faults import INFINITE, MISSING, NAN, NEGATIVE, Fault, no_samples, outside, refuse
from fastbin.engines.labels import LabelColumn
from fastbin.engines.tables import pyarrow
from fastbin.io import Table
from fastbin.io.replay import Replay, default_limit


class Names(NamedTuple):
    """The columns that hold what a fit needs."""

    score: str
    label: str
    weight: str | None = None
    segment: str | None = None


class ArrayReader:
    """The columns of a table as the batches that a fit takes.

    Parameters
    ----------
    stream : Table
    names : Names
    score_range : (low, high) or None
    positive : optional
        The label that counts as 1.
    """

    def __init__(self, stream: Table, names: Names, score_range: ScoreRange, positive: Any = None) -> None:
        self.stream, self.names, self.score_range, self.positive = stream, names, score_range, positive
        self._wanted = stream.check_columns(*names)
        # A table of more rows than are kept is read anew for each pass.
        self._kept = Replay(self._rows, limit=self._room, spill=False, at_once=False)

    @property
    def _room(self) -> int:
        most = self.stream.most_kept
        return default_limit() if most is None else min(most, default_limit())

    def batches(self) -> Iterator[tuple[Array, ...]]:
        """One pass: (scores, labels) or (scores, labels, weights), of one length each. Their values are not looked at.

        What arrays have no place for, such as NULL, is refused with the numbers of all bad rows, at the cost of one more pass.
        """
        return iter(self._kept)

    def _rows(self) -> Generator[tuple[Array, ...], None, None]:
        reading = _Reading(self)
        # Where there is no second pass to count them in.
        faults = None if self.stream.can_be_read_again else FaultCounter(self)
        with closing(self._columns()) as parts:
            for columns in parts:
                if faults is not None:
                    self._refuse_any(faults, columns, parts)
                arrays = reading.read(columns)
                if arrays is None:
                    break
                yield arrays
                self._refuse_once()
            else:
                reading.check()
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
            raise InputError(f"{self.stream.path} has no rows; a calibrator needs samples")
        reading.check()
        keys = pyarrow().chunked_array(segments).combine_chunks() if segments else None
        return [np.concatenate(column) for column in zip(*batches, strict=True)], keys

    def refuse(self) -> NoReturn:
        """Raise for rows of which one is known to be bad: one more pass, which counts all that are."""
        faults = FaultCounter(self)
        for columns in self._columns():
            faults.add(columns)
        faults.refuse_any()
        raise InputError(CHANGED)

    @staticmethod
    def _refuse_any(faults: FaultCounter, columns: list[Any], parts: Iterable[list[Any]]) -> None:
        """Count the faults of some rows, and, if there are any, those of all that are left, and raise."""
        faults.add(columns)
        if faults.n_bad:
            for others in parts:
                faults.add(others)
            faults.refuse_any()

    def _refuse_once(self) -> None:
        """Refuse rows that are too many to be kept, and cannot be read again."""
        if self._kept.is_full and not self.stream.can_be_read_again:
            raise InputError(
                f"{self.stream.path} can be read once, and this fit passes over the rows several times, which are more than "
                f"are kept in memory ({self._room:,} bytes); pass the table behind it, or a function that returns it anew"
            )

    def _columns(self) -> Generator[list[Any], None, None]:
        """The columns of all rows as Arrow arrays, batch by batch, in the order of the names."""
        names = [name for name in self.names if name is not None]
        for batch in self.stream.batches(self._wanted):
            if len(batch):
                yield [column_of(batch, name) for name in names]


class StreamSource(BatchesSource):
    """The rows of a table, pass by pass; bad ones are refused with the number of each kind."""

    remedy = "nothing may change it meanwhile, and a query must not draw at random; a reader that is used up goes as a function"

    def __init__(self, reader: ArrayReader, progress: Progress | None = None) -> None:
        super().__init__(reader.batches, reader.score_range, progress)
        self._reader = reader
        self.called = reader.stream.path

    def refuse(self, rows: Rows, *, bad_scores: bool) -> NoReturn:
        self._reader.refuse()


class _Reading:
    """What one pass has seen so far."""

    def __init__(self, reader: ArrayReader) -> None:
        self._names, self._has_words = reader.names, reader.positive is not None
        self._n_rows = self._n_samples = 0
        self.labels = LabelColumn(reader.names.label, reader.positive)

    def check(self) -> None:
        """After the last row: refuse a positive value that no row has, and weights that are all 0."""
        self.labels.check_positive()
        if self._n_rows and self._names.weight is not None and self._n_samples == 0:
            raise no_samples(self._names.weight)

    def read(self, columns: list[Any]) -> tuple[Array, ...] | None:
        """The arrays of some rows; ``None`` where one of these is known to be bad."""
        names = self._names
        score, label, *others = columns
        self._n_rows += len(score)
        if any(column.null_count for column in columns):
            return None
        labels = self.labels.read(label) if self._has_words else self.labels.numbers(label)
        if self._has_words and self.labels.n_bad:
            return None
        arrays = scores_of(score, names.score), labels
        if names.weight is None:
            return arrays
        weights = weights_of(others[0], names.weight)
        if weights.min() < 0:
            return None
        self._n_samples += sum_of(weights)
        if self._n_samples > MOST_SAMPLES:
            raise too_many_samples(names.weight)
        return *arrays, weights


class FaultCounter:
    """Counts the bad rows of one pass, by kind."""

    def __init__(self, reader: ArrayReader) -> None:
        self._names, self._score_range = reader.names, reader.score_range
        self._labels = LabelColumn(reader.names.label, reader.positive)
        score, _, weight, segment = reader.names
        kinds: list[tuple[str | None, tuple[str, ...]]] = [
            (score, (MISSING, NAN, INFINITE, outside(self._score_range))),
            (weight, (MISSING, NEGATIVE)),
            (segment, (MISSING,)),
        ]
        # In the order in which they are told.
        self._found = {(name, what): Fault(name, what, 0) for name, whats in kinds if name is not None for what in whats}
        self.n_rows = 0

    @property
    def n_bad(self) -> int:
        """Faults so far; a row may have several."""
        return sum(fault.n_rows for fault in self._found.values()) + self._labels.n_bad

    def add(self, columns: list[Any]) -> None:
        """Some rows: the columns of `Names`, as far as there are any."""
        score, label, *others = columns
        self.n_rows += len(score)
        self._labels.read(label)
        names = [name for name in (self._names.score, self._names.weight, self._names.segment) if name is not None]
        for name, column in zip(names, [score, *others], strict=True):
            self._count(name, MISSING, column.null_count)
        self._add_scores(scores_of(score.drop_null(), self._names.score).astype(np.float64, copy=False))
        if self._names.weight is not None:
            weights = weights_of(others[0].drop_null(), self._names.weight)
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

    def _note(self, name: str, what: str, values: Array, bad: Bools, *, shown: bool = True) -> None:
        n_bad = int(np.count_nonzero(bad))
        self._count(name, what, n_bad, values[int(np.argmax(bad))].item() if n_bad and shown else None)

    def _count(self, name: str, what: str, n_rows: int, example: Any = None) -> None:
        before = self._found[name, what]
        example = example if before.example is None else before.example
        self._found[name, what] = before._replace(n_rows=before.n_rows + n_rows, example=example)

    def refuse_any(self) -> None:
        """Raise if there are any, or if no label is `positive`."""
        self._labels.check_positive()
        if self.n_bad:
            of_score = [fault for fault in self._found.values() if fault.column == self._names.score]
            others = [fault for fault in self._found.values() if fault.column != self._names.score]
            refuse([*of_score, *self._labels.faults(), *others], self.n_rows)
