"""Samples by bin of a model, counted in a table: for monitors, label shift, and whatever is a function of counts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastbin import io
from fastbin._base.array_types import Int64s
from fastbin._base.checks import check_choice
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.table import Columns, Table
from fastbin._fit.calibrator import as_model_or_set
from fastbin._fit.rows import Progress
from fastbin.engines.counting import Asked, Counter, Partition, Tally
from fastbin.engines.counting_by_sql import count_by_sql
from fastbin.engines.files import stream_to_count
from fastbin.engines.labels import check_positive
from fastbin.engines.predicting import check_roles
from fastbin.engines.scoring import NO_KEY, NO_SCORE, OUTSIDE, UNKNOWN, models_of
from fastbin.engines.tables import (
    ENGINES,
    ignores_case,
    is_frame,
    is_path,
    package_of,
    stream_of,
    unwrapped,
)
from fastbin.io.base import check_columns

WHY = {
    NO_SCORE: "have no score",
    OUTSIDE: "have a score outside the range of the model",
    UNKNOWN: "have a cell that the set does not know",
    NO_KEY: "have no tie key (a key is an unsigned integer, or 16 lower-case hexadecimal digits)",
}


@dataclass(frozen=True, eq=False)
class BinCounts(Table):
    """Samples in each bin; made by `count`. As a data frame, a row for each bin (and each value of the column `by`).

    Attributes
    ----------
    counts : int64 (n_bins,)
        Samples; of a set those of all models, in the order of the set (`ModelSet.first_bin`).
    label_sums : int64 (n_bins,) or None
        Of these, samples with label 1; None where no label was counted.
    groups : dict
        The same for each value of the column `by`, ascending, None for rows without one; empty without `by`.
    """

    counts: Int64s
    label_sums: Int64s | None
    groups: dict[Any, BinCounts] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        """All samples."""
        return int(self.counts.sum())

    def _columns(self) -> Columns:
        n_bins = len(self.counts)
        parts = self.groups or {None: self}
        columns: dict[str, list[Any]] = {"by": [value for value in parts for _ in range(n_bins)]} if self.groups else {}
        columns["bin"] = list(range(n_bins)) * len(parts)
        columns["count"] = [count for part in parts.values() for count in part.counts.tolist()]
        if self.label_sums is not None:
            sums = (part.label_sums for part in parts.values())
            columns["label_sum"] = [total for column in sums if column is not None for total in column.tolist()]
        return columns

    def _about(self) -> str:
        groups = f", {len(self.groups):,} groups" if self.groups else ""
        return f"{self.n_samples:,} samples in {len(self.counts):,} bins{groups}"


def count(
    table: Any, model: Any, *, score: str, label: str | None = None, weight: str | None = None, cell: str | None = None,
    key: str | None = None, by: str | None = None, positive: Any = None, engine: str = "auto", progress: Progress | None = None,
) -> BinCounts:  # fmt: skip
    """Count the rows of a table in the bins of a model, where the table is. One pass.

    What depends on rows through these counts alone needs no row: the evidence of a monitor
    (`fastbin.online.CalibrationMonitor.update_counts`), the class rate after label shift (`fastbin.shift.LabelShift`), a stream
    (`fastbin.online.StreamingBinning.update_counts`).

    Parameters
    ----------
    table : table
        A DuckDB relation, or (connection, query); a frame of Polars, pandas, Dask or Spark; a table, record batch, reader or
        data set of PyArrow, or whatever else exports an Arrow stream; what Narwhals wraps; the path of a Parquet, CSV or
        Feather file, a folder or a pattern of them, or what `fastbin.io.open_table` makes of it; or a function without
        arguments that returns a table.
    model : BinnedModel, fitted calibrator or ModelSet
        A step model, or a set of them; of two resolutions its evidence bins are counted in.
    score, label, weight, cell, key : str
        The columns: scores; labels, if they are to be counted; integers that say how often a row stands; of a set, the cells;
        of a model that splits ties by key, the keys, as in `fastbin.engines.predict`.
    by : str, optional
        A column, such as that of the day, by whose values the counts are kept apart.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".
    engine : {"auto", "stream", "group-by"}
        "stream": rows come as batches of Arrow and are counted by the compiled model. "group-by": the engine counts by an SQL
        expression (DuckDB and Spark), and a row for each bin comes back. "auto": "group-by" for Spark, else "stream"; the
        partitions of Dask are counted where they are.
    progress : callable, optional
        Called as ``progress(1, rows)`` after each batch; where the engine counts, once at the end.

    Returns
    -------
    BinCounts

    Raises
    ------
    InputError, InputTypeError
        For rows that no bin takes (a score that is missing, NaN, infinite or outside the range, an unknown cell, a missing
        key), labels other than 0 and 1, and weights that are no counts, each with the number of such rows; and for tables that
        cannot be counted.

    Notes
    -----
    The counts are those of ``model.assign``, whichever engine counts. O(n log n_bins) time; what is collected are the counts.

    Examples
    --------
    >>> import fastbin as fb
    >>> import pandas as pd
    >>> model = fb.BinnedModel.from_parts(edges=[0.5], values=[0.2, 0.7])
    >>> table = pd.DataFrame({"p": [0.1, 0.2, 0.9], "y": [0, 1, 1], "day": [1, 1, 2]})
    >>> counts = fb.engines.count(table, model, score="p", label="y", by="day")
    >>> counts.counts, counts.label_sums, counts.groups[2].counts
    (array([2, 1]), array([1, 1]), array([0, 1]))
    """
    fitted = as_model_or_set(model)
    asked = Asked(score, label, weight, cell, key, by, positive)
    tally = count_rows(table, fitted, asked, engine, progress)
    left_out = {reason: int(tally.left_out[reason]) for reason in WHY if tally.left_out[reason]}
    n_bins = fitted.n_bins
    unknown = sum(int(part[:, n_bins:].sum()) for part in tally.tables.values())
    if unknown:
        left_out[UNKNOWN] = unknown
    if left_out:
        refuse_left_out(left_out, tally.n_rows)
    parts = {value: _counts_of(part[:, :n_bins], label is not None) for value, part in tally.tables.items()}
    everything = sum(tally.tables.values(), np.zeros((2, n_bins), np.int64))
    if by is None:
        return _counts_of(everything, label is not None)
    ordered = sorted(parts, key=lambda value: (value is None, 0 if value is None else value))
    return BinCounts(*_pair(everything, label is not None), {value: parts[value] for value in ordered})


def _pair(table: Int64s, has_labels: bool) -> tuple[Int64s, Int64s | None]:
    return table.sum(axis=0), table[1].copy() if has_labels else None


def _counts_of(table: Int64s, has_labels: bool) -> BinCounts:
    return BinCounts(*_pair(table, has_labels))


def refuse_left_out(left_out: dict[int, int], n_rows: int) -> None:
    """Raise for rows that no bin takes."""
    told = ", ".join(f"{count:,} {WHY[reason]}" for reason, count in left_out.items())
    raise InputError(f"of {n_rows:,} rows, {told}; leave such rows out of the table first")


def count_rows(table: Any, partition: Partition, asked: Asked, engine: str, progress: Progress | None) -> Tally:
    """The rows of a table by label and bin, and by the reason why they are in none."""
    engine = check_choice(engine, "engine", ENGINES)
    for own in models_of(partition):
        if own.kind != "step":
            raise InputError(f"the model is of kind {own.kind!r}, which has no bins to count in; put a binning behind it")
    check_roles(partition, asked.cell, asked.key)
    asked = asked._replace(positive=check_positive(asked.positive))
    if asked.score is None:
        raise InputTypeError("score is None; name the column of scores")
    if is_path(table):
        if engine == "group-by":
            raise InputError(
                f"table is the path {str(table)!r}, and engine is 'group-by'; pass a relation, or leave engine out"
            )
        stream, named, _ = stream_to_count(table, asked, partition)
        return _count_stream(stream, partition, named, progress)
    table = unwrapped(table)
    package = package_of(table)
    if package in ("pyspark", "duckdb") and (engine == "group-by" or (engine == "auto" and package == "pyspark")):
        count_all: Callable[[Any, Partition, Asked], Tally] = count_by_sql
    elif package in ("dask", "dask_expr") and engine != "group-by":
        count_all = _count_partitions
    elif engine == "group-by" or package in ("pyspark", "ibis"):
        raise InputTypeError(_no_way(table, package, engine))
    else:
        return _count_stream(stream_of(table), partition, asked, progress)
    if not is_frame(table):
        raise InputTypeError(f"table is a {type(table).__name__} of {package}; pass a DataFrame")
    check_columns(f"the {type(table).__name__}", list(table.columns), asked.columns.values(), ignores_case=ignores_case(table))
    tally = count_all(table, partition, asked)
    if progress is not None:
        progress(1, tally.n_rows)
    return tally


def _no_way(table: Any, package: str, engine: str) -> str:
    if package == "pyspark":
        return "engine is 'stream', and the rows of Spark stay where they are; leave engine out"
    if package == "ibis":
        return "table is of Ibis, which has no expression for the bins; pass table.to_pyarrow_batches()"
    return f"engine is {engine!r}, and a {type(table).__name__} of {package} is not asked by SQL; leave engine out"


def _count_stream(stream: io.Table, partition: Partition, asked: Asked, progress: Progress | None) -> Tally:
    counter = Counter(partition, asked)
    with closing(stream):
        for batch in stream.batches(stream.check_columns(*asked.columns.values())):
            counter.add(batch)
            if progress is not None:
                progress(1, counter.n_rows)
    return counter.tally()


def _count_partitions(frame: Any, partition: Partition, asked: Asked) -> Tally:
    """Each partition of a Dask frame by the worker that has it; what comes back are counts."""
    import dask

    columns = list(dict.fromkeys(asked.columns.values()))
    parts = [dask.delayed(_count_part)(part, partition, asked) for part in frame[columns].to_delayed()]
    counter = Counter(partition, asked)
    for counted in dask.compute(*parts):
        counter.merge(counted)
    return counter.tally()


def _count_part(frame: Any, partition: Partition, asked: Asked) -> Counter:
    counter = Counter(partition, asked)
    for batch in stream_of(frame).batches():
        counter.add(batch)
    return counter
