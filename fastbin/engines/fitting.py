"""Fit where the data are: streams into the counters, or GROUP BY in the engine that holds the rows."""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from typing import Any, NoReturn

import numpy as np

from fastbin._base.array_types import Array, Bools
from fastbin._base.checks import (
    MOST_SAMPLES,
    ScoreRange,
    check_choice,
    check_function,
    check_positive,
    check_score_range,
    event_of,
    too_many_samples,
)
from fastbin._base.errors import InputError, InputTypeError, warn
from fastbin._fit.calibrator import Calibrator, Estimator, check_binary
from fastbin._fit.quantiles import CHANGED
from fastbin._fit.rows import BatchesSource, Progress, Rows, limits_of
from fastbin.binning.certified import CertifiedCalibration
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.multi.cells import Given
from fastbin.multi.segmented import SegmentedBinning
from fastbin.tables.columns import check_segments, column_of, scores_of, sum_of, weights_of, with_integers
from fastbin.tables.frames import Names
from fastbin.tables.labels import (
    INFINITE,
    MISSING,
    NAN,
    NEGATIVE,
    Fault,
    LabelColumn,
    needs_rows,
    no_samples,
    outside,
    refuse,
)
from fastbin.tables.opening import ENGINES, Opened, open
from fastbin.tables.replay import Replay, default_limit
from fastbin.tables.table import Table, check_roles, pyarrow


def fit(
    table: Any, *, score: str, label: str, weight: str | None = None, segment: str | None = None, calibrator: Any = None,
    positive: Any = None, engine: str = "auto", progress: Progress | None = None,
) -> BinnedModel | ModelSet:  # fmt: skip
    """Fit a calibrator to the columns of a table, where the table is.

    The model is that of ``calibrator.fit`` on the same rows in memory, byte for byte, whatever holds them, in whatever order.

    Parameters
    ----------
    table : object
        A DuckDB relation, or (connection, query); a Polars DataFrame or LazyFrame; a pandas DataFrame; a table, record batch,
        reader or data set of PyArrow; whatever else exports an Arrow stream; a Dask, PySpark (classic or Connect) or Ibis
        frame; what Narwhals wraps; the path of a Parquet, CSV or Feather file, a folder or a pattern of them, or what
        `fastbin.io.open_table` makes of it, such as CSV with decimal commas; or a function without arguments that returns a
        table anew at each call.
    score, label : str
        The columns of scores and labels. Labels are 0 and 1, or true and false, or two other values (`positive`).
    weight : str, optional
        A column of whole numbers, or of booleans: how often each row counts. At most 2**53 in all. Real weights are refused.
    segment : str, optional
        A column of integers or texts: each of its values gets a model, as by `fastbin.multi.SegmentedBinning`. In CSV every
        value is text.
    calibrator : calibrator, optional
        As it is configured; it is not changed. With `segment` a binary one, or a `SegmentedBinning`. ``None``:
        ``CertifiedCalibration()``.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".
    engine : {"auto", "stream", "group-by"}
        "stream": rows come as Arrow batches into the counters of this process, which is the fastest on one machine.
        "group-by": rows of a frame or a table stay where they are, and the engine is asked for counts. "auto": "group-by" for
        Dask, Spark and Ibis, else "stream". The rows of Dask stream where that is asked for, one partition after the other;
        those of Spark and Ibis do not.
    progress : callable, optional
        Called with the number of the pass, from 1, and the rows seen in it, as they are read. CSV is parsed as a whole before
        the first pass, which is over what was parsed.

    Returns
    -------
    BinnedModel; with `segment`, ModelSet

    Raises
    ------
    InputError
        For rows that are NULL, NaN, infinite, out of range or of another label, with the number of each kind; for a column that
        is absent or there twice; for an empty table; where a pass sees other rows than the one before, as in a query that draws
        at random; for a reader that can be read once, where a second pass is needed and the rows are more than are kept.
    InputTypeError
        If `table` is not a table, or a column has a type that scores, labels, whole weights or keys of segments cannot have.
    MissingDependencyError
        Where PyArrow, or what the engine needs, is not installed.

    Warns
    -----
    FastbinWarning
        As ``calibrator.fit``.

    Notes
    -----
    Only the columns that are named are read. Calibrators that counts decide are fitted in a few passes, in memory that does not
    grow with the rows (at most 256 MB of them, which later passes need not read again, the counters, and 2**21 rows that are
    listed): `UniformMassBinning` but for scheme "ums" and `edges_share`, `CertifiedCalibration`, `FixedWidthBinning`,
    `ExplicitBinning`. Any other calibrator needs all rows at once: a stream is read into memory once, and GROUP BY refuses it
    by name. Time O(n) a pass.

    Errors of the engine come through as they are. A call that is interrupted leaves nothing behind.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(2000)
    >>> table = pa.table({"p": scores, "paid": np.where(rng.random(2000) < scores, "yes", "no")})
    >>> model = fb.engines.fit(table, score="p", label="paid", positive="yes")
    >>> model.predict([0.1, 0.9]).round(2)
    array([0.11, 0.92])
    """
    method = _method_for(calibrator, segment)
    method._event = event_of(check_positive(positive))
    return fit_columns(table, Names(score, label, weight, segment), method, positive, engine, progress)


def fit_columns(
    table: Any, names: Names, method: Calibrator | SegmentedBinning, positive: Any, engine: str, progress: Progress | None
) -> BinnedModel | ModelSet:
    """The same by a calibrator that may be changed, and has the name of its event."""
    check_choice(engine, "engine", ENGINES)
    check_function(progress, "progress")
    positive = check_positive(positive)
    for argument, name in (("score", names.score), ("label", names.label)):
        if name is None:
            raise InputTypeError(f"{argument} is None; name the column of {argument}s")
    check_roles(*names)
    segment, opened = names.segment, open(table)
    told: list[str] = []
    if engine == "group-by" or (engine == "auto" and opened.stays):
        model = _fit_by_groups(method, opened, names, positive, progress, told)
    else:
        columns = {argument: name for argument, name in names._asdict().items() if name is not None}
        # With segments, whose keys stay text, rows are read once.
        rows, called, positive = opened.read(columns, positive, keys={"segment": None}, kept=segment is None)
        with closing(rows):
            source = StreamSource(rows, Names(**called), _score_range(method), positive, progress)
            model = _fit_stream(method, source, told)
    for text in told:
        warn(text, stacklevel=3)
    return model


def _method_for(calibrator: Any, segment: str | None) -> Calibrator | SegmentedBinning:
    """A copy of the calibrator that was given, or of the default."""
    given = CertifiedCalibration() if calibrator is None else calibrator
    if isinstance(given, SegmentedBinning):
        if segment is None:
            raise InputError("calibrator is a SegmentedBinning, and segment is None; name the column of segments")
        return copy.copy(given)
    if isinstance(given, Estimator) and not isinstance(given, Calibrator):
        problem = f"calibrator is of type {type(given).__name__}, which takes all rows in memory"
        raise InputTypeError(f"{problem}; read the columns as a matrix P, and call its fit(P, labels)")
    check_binary(given)
    return copy.copy(given) if segment is None else SegmentedBinning(given)


def _score_range(method: Calibrator | SegmentedBinning) -> ScoreRange:
    """Where scores must lie, as far as that is known before the fit."""
    binary = method.calibrator or CertifiedCalibration() if isinstance(method, SegmentedBinning) else method
    return check_score_range(getattr(binary, "score_range", None))


def _fit_stream(method: Calibrator | SegmentedBinning, source: StreamSource, told: list[str]) -> BinnedModel | ModelSet:
    """Rows counted as they pass by, where counts decide the model; else all at once."""
    if isinstance(method, Calibrator):
        method._told = told
        if method._why_all_rows() is None:
            return method._fit_source(source).model_
    (scores, labels, *weights), segments = source.all_rows()
    weight = {"sample_weight": weights[0]} if weights else {}
    if isinstance(method, SegmentedBinning):
        segment = str(source.names.segment)
        segments = with_integers(segments)
        check_segments(segments, segment)
        return method._fit_columns(Given(scores, labels, *weights), segments, told, segment).model_
    return method.fit(scores, labels, **weight).model_


def _fit_by_groups(
    method: Calibrator | SegmentedBinning,
    table: Opened,
    names: Names,
    positive: Any,
    progress: Progress | None,
    told: list[str],
) -> BinnedModel | ModelSet:
    """The engine counts; what needs rows is refused by name."""
    table.refuse_path()
    if isinstance(method, SegmentedBinning):
        from fastbin.engines.segments import fit_segments

        return fit_segments(table, names, positive, method, told, progress)
    why = method._why_all_rows(table.how_to_bring)
    if why is not None:
        raise needs_rows(f"a {table.kind} of {table.package} is", why)
    from fastbin.engines.group_by import FitColumns, GroupBySource

    method._told = told
    frame = table.frame(names)
    columns = FitColumns.of(frame, names, _score_range(method), positive)
    return method._fit_source(GroupBySource(frame, columns, progress)).model_


# ------------------------------------------------------------------------------------------------- rows that stream


class StreamSource(BatchesSource):
    """The rows of a table, pass by pass; bad ones are refused with the number of each kind."""

    remedy = "nothing may change it meanwhile, and a query must not draw at random; a reader that is used up goes as a function"

    def __init__(self, stream: Table, names: Names, score_range: ScoreRange, positive: Any, progress: Progress | None) -> None:
        super().__init__(self._pass, score_range, progress)
        self.stream, self.names, self.score_range, self.positive = stream, names, score_range, positive
        self.called, self._wanted = stream.path, stream.check_columns(*names)
        # A table of more rows than are kept is read anew for each pass.
        self._kept = Replay(self._arrays, limit=self._room, spill=False, at_once=False)

    @property
    def _room(self) -> int:
        most = self.stream.most_kept
        return default_limit() if most is None else min(most, default_limit())

    def _pass(self) -> Iterator[tuple[Array, ...]]:
        """One pass: (scores, labels) or (scores, labels, weights), of one length each. Their values are not looked at.

        What arrays have no place for, such as NULL, is refused with the numbers of all bad rows, at the cost of one more pass.
        """
        return iter(self._kept)

    def _arrays(self) -> Generator[tuple[Array, ...], None, None]:
        reading = _Reading(self)
        # If the rows can be read once, faults are counted as they come.
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

    def all_rows(self) -> tuple[list[Array], Any]:
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
                if self._progress is not None:
                    self._progress(1, faults.n_rows)
        faults.refuse_any()
        if not batches:
            raise InputError(f"{self.stream.path} has no rows; a calibrator needs samples")
        reading.check()
        types = dict.fromkeys(str(part.type) for part in segments)
        if len(types) > 1:
            raise InputTypeError(f"{self.names.segment} holds values of several types, {', '.join(types)}; cast it to one")
        keys = pyarrow().chunked_array(segments).combine_chunks() if segments else None
        return [np.concatenate(column) for column in zip(*batches, strict=True)], keys

    def refuse(self, rows: Rows | None = None, *, bad_scores: bool = False) -> NoReturn:
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


class _Reading:
    """One pass, so far."""

    def __init__(self, source: StreamSource) -> None:
        self._names, self._has_words = source.names, source.positive is not None
        self._n_rows = self._n_samples = 0
        self.labels = LabelColumn(source.names.label, source.positive)

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

    def __init__(self, source: StreamSource) -> None:
        self._names, self._score_range = source.names, source.score_range
        self._labels = LabelColumn(source.names.label, source.positive)
        score, _, weight, segment = source.names
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
