"""Fit where the data are: streams into the counters, or GROUP BY in the engine that holds the rows."""

from __future__ import annotations

import copy
import warnings
from contextlib import closing
from typing import Any

from fastbin._base.checks import ScoreRange, check_choice, check_score_range, event_of
from fastbin._base.errors import FastbinWarning, InputError, InputTypeError
from fastbin._fit.calibrator import Calibrator
from fastbin._fit.rows import Progress
from fastbin.binning.certified import CertifiedCalibration
from fastbin.engines.arrays import ArrayReader, Names, StreamSource
from fastbin.engines.faults import needs_rows
from fastbin.engines.files import stream_file
from fastbin.engines.labels import check_positive
from fastbin.engines.tables import ENGINES, how_to_bring, is_path, must_not_move, package_of, stream_of, unwrapped
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.multi.cells import Given
from fastbin.multi.segmented import SegmentedBinning


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
        For what is no table, and for columns of types that are no scores, labels, whole weights or keys of segments.
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
    array([0.11, 0.93])
    """
    check_choice(engine, "engine", ENGINES)
    positive = check_positive(positive)
    for argument, name in (("score", score), ("label", label)):
        if name is None:
            raise InputTypeError(f"{argument} is None; name the column of {argument}s")
    method = _method_for(calibrator, segment)
    method._event = event_of(positive)
    names = Names(score, label, weight, segment)
    table = table if is_path(table) else unwrapped(table)
    told: list[str] = []
    if engine == "group-by" or (engine == "auto" and must_not_move(table)):
        model = _fit_by_groups(method, table, names, positive, progress, told)
    else:
        rows, names, positive = stream_file(table, names, positive) if is_path(table) else (stream_of(table), names, positive)
        with closing(rows):
            model = _fit_stream(method, ArrayReader(rows, names, _score_range(method), positive), progress, told)
    for text in told:
        warnings.warn(text, FastbinWarning, stacklevel=2)
    return model


def _method_for(calibrator: Any, segment: str | None) -> Calibrator | SegmentedBinning:
    """What is fitted: a copy of what was given."""
    given = CertifiedCalibration() if calibrator is None else calibrator
    if isinstance(given, SegmentedBinning):
        if segment is None:
            raise InputError("calibrator is a SegmentedBinning, and segment is None; name the column of segments")
        return copy.copy(given)
    if not isinstance(given, Calibrator):
        kind = f"the class {given.__name__}" if isinstance(given, type) else f"of type {type(given).__name__}"
        raise InputTypeError(f"calibrator is {kind}; pass a binary calibrator such as UniformMassBinning(10)")
    given._least_samples()  # refuses what cannot be used
    return copy.copy(given) if segment is None else SegmentedBinning(given)


def _score_range(method: Calibrator | SegmentedBinning) -> ScoreRange:
    """Where scores must lie, as far as that is known before the fit."""
    binary = method.calibrator or CertifiedCalibration() if isinstance(method, SegmentedBinning) else method
    return check_score_range(getattr(binary, "score_range", None))


def _fit_stream(
    method: Calibrator | SegmentedBinning, reader: ArrayReader, progress: Progress | None, told: list[str]
) -> BinnedModel | ModelSet:
    """Rows counted as they pass by, where counts decide the model; else all at once."""
    if isinstance(method, Calibrator):
        method._told = told
        if method._why_all_rows() is None:
            return method._fit_source(StreamSource(reader, progress)).model_
    (scores, labels, *weights), segments = reader.all_rows(progress)
    weight = {"sample_weight": weights[0]} if weights else {}
    if isinstance(method, SegmentedBinning):
        return method._fit_columns(Given(scores, labels, *weights), segments, told, str(reader.names.segment)).model_
    return method.fit(scores, labels, **weight).model_


def _fit_by_groups(
    method: Calibrator | SegmentedBinning, table: Any, names: Names, positive: Any, progress: Progress | None, told: list[str]
) -> BinnedModel | ModelSet:
    """The engine counts; what needs rows is refused by name."""
    if is_path(table):
        raise InputError(f"table is the path {str(table)!r}, and engine is 'group-by'; pass a relation, or leave engine out")
    if isinstance(method, SegmentedBinning):
        from fastbin.engines.segments import fit_segments

        return fit_segments(table, names, positive, method, told, progress)
    why = method._why_all_rows(how_to_bring(table))
    if why is not None:
        raise needs_rows(f"a {type(table).__name__} of {package_of(table)} is", why)
    from fastbin.engines.group_by import group_by_source

    method._told = told
    source = group_by_source(
        table, score=names.score, label=names.label, weight=names.weight, score_range=_score_range(method), positive=positive,
        progress=progress,
    )  # fmt: skip
    return method._fit_source(source).model_
