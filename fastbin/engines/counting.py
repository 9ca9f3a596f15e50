"""Samples by bin of a model, counted in a table: for monitors, label shift, and whatever is a function of counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Int64s
from fastbin._base.checks import (
    MOST_SAMPLES,
    SAY_POSITIVE,
    check_choice,
    check_function,
    check_positive,
    check_same_event,
    is_missing,
    too_many_samples,
)
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.shown import how_many
from fastbin._base.table import Columns, Table
from fastbin._fit.calibrator import as_model_or_set, changed
from fastbin._fit.rows import Progress
from fastbin.engines.predicting import (
    N_REASONS,
    NO_KEY,
    NO_SCORE,
    OUTSIDE,
    UNKNOWN,
    CheckedRows,
    Request,
    check_roles,
    check_rows,
    check_types,
    models_of,
    with_answer,
)
from fastbin.export.dialects import is_key
from fastbin.export.form import answered_range, needs_keys
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.tables.columns import coded, real_weights, sum_of, weights_of
from fastbin.tables.labels import MISSING, NEGATIVE, Fault, LabelColumn, refuse
from fastbin.tables.opening import ENGINES, Opened, open
from fastbin.tables.sql import BOOLEANS, NUMBERS, TEXTS, SqlTable, is_whole, sql_table
from fastbin.tables.table import check_columns, unwrapped

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
        return f"{how_many(self.n_samples, 'sample')} in {how_many(len(self.counts), 'bin')}{groups}"


def count(
    table: Any, model: Any, *, score: str, label: str | None = None, weight: str | None = None, cell: str | None = None,
    tie_key: str | None = None, by: str | None = None, positive: Any = None, engine: str = "auto",
    progress: Progress | None = None,
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
    score, label, weight, cell, tie_key : str
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
        key), labels other than 0 and 1, and weights other than counts, each with the number of such rows; and for tables that
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
    check_same_event(fitted.event, positive)
    asked = Asked(score, label, weight, cell, tie_key, by, positive)
    bins = fitted
    if any(own.delta > 0.0 for own in models_of(fitted)):  # keys draw its values, and need not decide about its bins
        bins = changed(fitted, lambda own: own._replace(delta=0.0))
        asked = asked if needs_keys(bins) else asked._replace(key=None)
    tally = count_rows(table, bins, asked, engine, progress)
    left_out = {reason: int(tally.left_out[reason]) for reason in WHY if tally.left_out[reason]}
    n_bins = fitted.n_bins
    unknown = sum(int(part[:, n_bins:].sum()) for part in tally.tables.values())
    if unknown:
        left_out[UNKNOWN] = unknown
    if left_out:
        refuse_left_out(left_out, tally.n_rows)
    groups: dict[Any, BinCounts] = {}
    if by is not None:
        seen = [value for value, counts in tally.tables.items() if counts.any()]  # not those whose rows all stand 0 times
        try:
            ordered = sorted(seen, key=lambda value: (value is None, 0 if value is None else value))
        except TypeError:
            raise InputTypeError(f"{by} holds values of several types; cast the column to text") from None
        groups = {value: _counts_of(tally.tables[value][:, :n_bins], label, {}) for value in ordered}
    in_all = sum((part[:, :n_bins] for part in tally.tables.values()), np.zeros((2, n_bins), np.int64))
    return _counts_of(in_all, label, groups)


def _counts_of(table: Int64s, label: str | None, groups: dict[Any, BinCounts]) -> BinCounts:
    return BinCounts(table.sum(axis=0), None if label is None else table[1].copy(), groups)


def refuse_left_out(left_out: dict[int, int], n_rows: int) -> None:
    """Raise for rows that no bin takes."""
    told = ", ".join(f"{count:,} {WHY[reason]}" for reason, count in left_out.items())
    raise InputError(f"of {n_rows:,} rows, {told}; leave such rows out of the table first")


def require_bins(partition: Partition) -> None:
    """Refuse models without steps."""
    for own in models_of(partition):
        if own.kind != "step":
            raise InputError(f"the model is of kind {own.kind!r}, which has no bins to count in; put a binning behind it")


def count_rows(table: Any, partition: Partition, asked: Asked, engine: str, progress: Progress | None) -> Counted:
    """The rows of a table by label and bin, and by the reason why they are in none."""
    engine = check_choice(engine, "engine", ENGINES)
    require_bins(partition)
    check_function(progress, "progress")
    check_roles(partition, asked.cell, asked.key)
    asked = asked._replace(positive=check_positive(asked.positive))
    if asked.score is None:
        raise InputTypeError("score is None; name the column of scores")
    opened = open(table)
    if engine == "group-by":
        opened.refuse_path()
    package = opened.package
    if package in ("pyspark", "duckdb") and (engine == "group-by" or (engine == "auto" and package == "pyspark")):
        count_all: Callable[[Any, Partition, Asked], Counted] = count_by_sql
    elif package in ("dask", "dask_expr") and engine != "group-by":
        count_all = _count_partitions
    elif engine == "group-by" or package in ("pyspark", "ibis"):
        raise InputTypeError(_no_way(opened, engine))
    else:
        return _count_stream(opened, partition, asked, progress)
    if not opened.is_frame:
        raise InputTypeError(f"table is a {opened.kind} of {package}; pass a DataFrame")
    check_columns(f"the {opened.kind}", opened.names, asked.columns.values(), ignores_case=opened.ignores_case)
    tally = count_all(opened.native, partition, asked)
    if progress is not None:
        progress(1, tally.n_rows)
    return tally


def _no_way(table: Opened, engine: str) -> str:
    if table.package == "pyspark":
        return "engine is 'stream', and the rows of Spark stay where they are; leave engine out"
    if table.package == "ibis":
        return "table is of Ibis, which has no expression for the bins; pass table.to_pyarrow_batches()"
    return f"engine is {engine!r}, and a {table.kind} of {table.package} is not asked by SQL; leave engine out"


def _count_stream(table: Opened, partition: Partition, asked: Asked, progress: Progress | None) -> Counted:
    # In a text file the type of the keys of a set is known; those of other columns stay text.
    has_numbers = partition.is_set and isinstance(partition.cells[0], int)
    keys = {"cell": "int64" if has_numbers else None, "key": "uint64", "by": None}
    rows, names, positive = table.read(asked.columns, asked.positive, keys=keys, propagate=("score",))
    asked = Asked(**names, positive=positive)
    counter = Counter(partition, asked)
    with closing(rows):
        for batch in rows.batches(rows.check_columns(*names.values())):
            counter.add(batch)
            if progress is not None:
                progress(1, counter.n_rows)
    return counter.tally()


def _count_partitions(frame: Any, partition: Partition, asked: Asked) -> Counted:
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
    for batch in open(frame).stream().batches():
        counter.add(batch)
    return counter


# ------------------------------------------------------------------------------------------------- rows that stream


Partition = BinnedModel | ModelSet


class Asked(NamedTuple):
    """The columns of a table that are counted by, and which label is 1."""

    score: str
    label: str | None = None
    weight: str | None = None
    cell: str | None = None
    key: str | None = None
    by: str | None = None
    positive: Any = None

    @property
    def columns(self) -> dict[str, str]:
        """The columns by their argument."""
        return {name: column for name, column in self._asdict().items() if name != "positive" and column is not None}


def n_counted(partition: Partition) -> int:
    """The bins that are counted in: of a set those of all models, and its pool's once more, for cells that it does not know."""
    pool = partition.pool if partition.is_set and partition.unknown == "pool" else None
    return partition.n_bins + (0 if pool is None else pool.n_bins)


def pool_of(partition: Partition) -> BinnedModel:
    """The pool that scores cells which a set does not know."""
    pool = partition.pool if partition.is_set else None
    assert pool is not None, "rows are of unknown cells, and the set lacks a pool"
    return pool


class Counted(NamedTuple):
    """The samples of a table by label and bin."""

    tables: dict[Any, Int64s]  # int64 (2, n_bins), samples by label, for each value of the column `by`; None without one
    left_out: Int64s  # rows without an answer, by the reasons of `fastbin.engines.predicting`
    n_rows: int


class Counter:
    """Counts batches of Arrow. What counters of different rows have counted adds."""

    def __init__(self, partition: Partition, asked: Asked) -> None:
        self._partition, self._asked = partition, asked
        self._n_bins = n_counted(partition)
        self._labels = None if asked.label is None else LabelColumn(asked.label, asked.positive)
        self.tables: dict[Any, Int64s] = {}
        self.left_out = np.zeros(N_REASONS, np.int64)
        self.n_rows = self._n_samples = 0
        self._bad_weights = {MISSING: 0, NEGATIVE: 0}

    def add(self, batch: Any) -> None:
        """Count one batch, which has the columns that are asked for."""
        places = {name: batch.schema.get_field_index(column) for name, column in self._asked.columns.items()}
        columns = {name: unwrapped(batch.column(place)) for name, place in places.items()}
        self.n_rows += len(batch)
        rows = check_rows(self._partition, columns["score"], columns.get("cell"), columns.get("key"))
        self.left_out += np.bincount(rows.reasons, minlength=N_REASONS)
        cells = self._bins(rows)
        if self._labels is not None:
            cells += self._n_bins * self._labels.read(columns["label"])
        weights = self._weights(columns["weight"]) if "weight" in columns else np.ones(len(batch), np.int64)
        weights = np.where(rows.answered, weights, 0)
        if self._asked.by is None:
            self._put(None, cells, weights)
            return
        values, codes = coded(columns["by"], str(self._asked.by))
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(values))).tolist()
        for value, start, end in zip(values, [0, *ends], ends, strict=False):
            if start < end:
                self._put(value, cells[order[start:end]], weights[order[start:end]])

    def _put(self, value: Any, cells: Int64s, weights: Int64s) -> None:
        seen = np.bincount(cells, weights, 2 * self._n_bins).astype(np.int64).reshape(2, -1)
        self.put(None if is_missing(value) else value, seen)

    def put(self, value: Any, table: Int64s) -> None:
        """Add samples by label and bin."""
        self.tables[value] = self.tables[value] + table if value in self.tables else table

    def add_groups(self, groups: Iterable[tuple[Any, int]]) -> None:
        """Count what an engine has counted: groups of `count_by_sql`, each with the first bin of its model."""
        tables: dict[Any, Int64s] = {}
        for group, first in groups:
            self.n_rows += group.n_rows
            self.left_out[group.reason] += group.n_rows
            self._bad_weights[MISSING] += int(group.weight_missing)
            self._bad_weights[NEGATIVE] += int(group.weight_negative)
            self._n_samples += int(group.samples)
            if self._n_samples > MOST_SAMPLES:
                raise too_many_samples(self._asked.weight)
            if self._labels is not None:
                self._labels.add_group(group)
            if group.reason == 0:
                value = None if self._asked.by is None or is_missing(group.by) else group.by
                table = tables.setdefault(value, np.zeros((2, self._n_bins), np.int64))
                table[int(group.label == 1), first + group.bin] += int(group.samples)
        for value, table in tables.items():
            self.put(value, table)

    def _bins(self, rows: CheckedRows) -> Int64s:
        """The bins of `n_counted`."""
        bins = rows.assign(self._partition)
        strange = np.flatnonzero(bins < 0)
        if len(strange):
            pool = pool_of(self._partition)
            keys = None if rows.keys is None else rows.keys[strange]
            bins[strange] = self._partition.n_bins + np.asarray(pool._assign_by(rows.scores[strange], keys))
        return bins

    def _weights(self, column: Any) -> Int64s:
        """How often rows stand; what cannot be is counted as 0, and refused at the end."""
        self._bad_weights[MISSING] += column.null_count
        weights = weights_of(column, str(self._asked.weight))
        self._bad_weights[NEGATIVE] += int(np.count_nonzero(weights < 0))
        weights = np.maximum(weights, 0)
        self._n_samples += sum_of(weights)
        if self._n_samples > MOST_SAMPLES:
            raise too_many_samples(self._asked.weight)
        return weights

    def merge(self, other: Counter) -> None:
        """Add what another has counted."""
        for value, table in other.tables.items():
            self.put(value, table)
        if self._labels is not None and other._labels is not None:
            self._labels.merge(other._labels)
        for what, count in other._bad_weights.items():
            self._bad_weights[what] += count
        self.left_out += other.left_out
        self.n_rows += other.n_rows
        self._n_samples += other._n_samples

    def tally(self) -> Counted:
        """The counts; rows with bad labels or weights are refused."""
        faults = [Fault(str(self._asked.weight), what, count) for what, count in self._bad_weights.items()]
        faults += [] if self._labels is None else self._labels.faults()
        if self._labels is not None:
            self._labels.check_positive()
        if any(fault.n_rows for fault in faults):
            refuse(faults, self.n_rows)
        if self._n_samples > MOST_SAMPLES:  # of counters that were merged
            raise too_many_samples(self._asked.weight)
        return Counted(self.tables, self.left_out, self.n_rows)


# ------------------------------------------------------------------------------------------------- GROUP BY

# The engine places a row by the SQL of its bin, and a row for each bin comes back.


# Values of these types, in full, are made of others, are times in nanoseconds, of which Python gets the microseconds alone,
# or intervals, of which DuckDB takes 30 days for a month, and Arrow does not.
_NOT_COMPARED = re.compile(r"\[\d*\]$|^(STRUCT|MAP|UNION|INTERVAL|array<|struct<|map<|variant)|^TIME(STAMP)?_NS")

# What a label is beside 0 and 1.
NO_LABEL, NAN_LABEL, STRANGE = -1, -2, 2


class _Group(NamedTuple):
    """One row of an answer; its fields are the columns, in this order."""

    by: Any
    cell: Any  # of a set, where there is a bin
    bin: int | None  # within its own model
    reason: int
    label: int
    n_rows: int
    samples: Any  # an integer, of the engine's own type
    weight_missing: int
    weight_negative: int
    least: Any  # label, where it is neither 0 nor 1
    greatest: Any


class _SqlRows(NamedTuple):
    """Rows in an engine, whose columns are called by what they hold."""

    table: SqlTable  # with the columns c_score, c_label, c_weight, c_cell, c_key, c_by, as far as there are any
    asked: Asked

    @classmethod
    def of(cls, table: SqlTable, partition: Partition, asked: Asked) -> _SqlRows:
        """The columns that are asked for, of types that no cast makes something else of."""
        full, kinds = table.full_types, table.types
        if asked.weight is not None and not is_whole(full[asked.weight]):
            raise real_weights(asked.weight, full[asked.weight])
        if asked.by is not None and _NOT_COMPARED.search(full[asked.by]):
            raise InputTypeError(f"{asked.by} holds {full[asked.by]}, whose values are not compared; cast the column to text")
        if asked.label is not None and asked.positive is None and kinds[asked.label] not in (*NUMBERS, *BOOLEANS):
            problem = f"is {asked.label!r}, a column of type {kinds[asked.label]}"
            raise InputTypeError(problem, SAY_POSITIVE, argument="label", value=asked.label)
        table = table.plain(dict.fromkeys(asked.columns.values()), weight=asked.weight)
        check_types(table, Request(partition, asked.score, asked.cell, asked.key))
        return cls(table.selected({f"c_{name}": table.quoted(column) for name, column in asked.columns.items()}), asked)

    def placed(self, partition: Partition) -> _SqlRows:
        """With the column c_bin of what `fastbin.export` gives as the bin."""
        cell, key = (f"c_{name}" if name in self.asked.columns else None for name in ("cell", "key"))
        request = Request(partition, "c_score", cell, key if needs_keys(partition) else None, "c_bin")
        return self._replace(table=with_answer(self.table, request, "bin"))

    def in_unknown_cells(self) -> _SqlRows:
        """The placed rows that a pool scores, and none of the cells; without their bins."""
        names = [name for name in self.table.types if name != "c_bin"]
        return self._replace(table=self.table.where("c_bin = -1").selected({name: name for name in names}))

    def groups(self, partition: Partition) -> list[_Group]:
        """Placed rows, counted."""
        asked = self.asked
        has_weight, has_label = asked.weight is not None, asked.label is not None
        weight = "CAST(c_weight AS DECIMAL(38, 0))" if has_weight else "1"
        expressions = {
            "g_by": "c_by" if asked.by is not None else "0",
            "g_cell": "CASE WHEN c_bin >= 0 THEN c_cell END" if asked.cell is not None else "0",
            "g_bin": "c_bin",
            "g_reason": self._reason(partition),
            "g_label": self._label() if has_label else "0",
            "weight": weight,
            "label": "c_label" if has_label else "0",
        }
        usual = f"g_label IN (1, {0 if asked.positive is None else STRANGE})"
        sums = {
            "n_rows": "count(*)",
            "samples": "sum(CASE WHEN weight > 0 THEN weight ELSE 0 END)" if has_weight else "count(*)",
            "weight_missing": "sum(CASE WHEN weight IS NULL THEN 1 ELSE 0 END)",
            "weight_negative": "sum(CASE WHEN weight < 0 THEN 1 ELSE 0 END)",
            "least": f"min(CASE WHEN NOT {usual} THEN label END)",
            "greatest": f"max(CASE WHEN NOT {usual} THEN label END)",
        }
        keys = [name for name in expressions if name.startswith("g_")]
        return [_Group(*row) for row in self.table.selected(expressions).grouped(keys, sums).fetched()]

    def _reason(self, partition: Partition) -> str:
        """Why a row has no bin; 0 where it has."""
        words = self.table.words
        score = words.cast("c_score")
        lows, highs, _ = zip(*map(answered_range, models_of(partition)), strict=True)
        inside = f"{score} >= {words.number(min(lows))} AND {score} <= {words.number(max(highs))}"
        cases = ["WHEN c_bin IS NOT NULL THEN 0", f"WHEN {score} IS NULL OR isnan({score}) THEN {NO_SCORE}"]
        if needs_keys(partition) and self.asked.key is not None:
            kind = self.table.types["c_key"]
            bad = f" OR NOT ({is_key('c_key', words)})" if kind in TEXTS else ""
            cases.append(f"WHEN {inside} AND (c_key IS NULL{bad}) THEN {NO_KEY}")
        if partition.is_set:
            cases.append(f"WHEN {inside} THEN {UNKNOWN}")
        return f"CASE {' '.join(cases)} ELSE {OUTSIDE} END"

    def _label(self) -> str:
        words, positive = self.table.words, self.asked.positive
        if positive is None:
            label = words.cast("c_label")
            return (
                f"CASE WHEN {label} = 1 THEN 1 WHEN {label} = 0 THEN 0 WHEN {label} IS NULL THEN {NO_LABEL} "
                f"WHEN isnan({label}) THEN {NAN_LABEL} ELSE {STRANGE} END"
            )
        one, kind = self.table.literal(positive), self.table.types["c_label"]
        # Engines would cast one of them, and fail where they cannot.
        if kind in ((*NUMBERS, *BOOLEANS) if isinstance(positive, str) else TEXTS):
            return f"CASE WHEN c_label IS NULL THEN {NO_LABEL} ELSE 0 END"
        return f"CASE WHEN c_label = {one} THEN 1 WHEN c_label IS NULL THEN {NO_LABEL} ELSE 0 END"


def count_by_sql(table: Any, partition: Partition, asked: Asked) -> Counted:
    """The counts of a relation of DuckDB or a frame of Spark: one query; two, where a set scores cells it does not know."""
    counter = Counter(partition, asked)
    rows = _SqlRows.of(sql_table(table), partition, asked).placed(partition)
    groups = rows.groups(partition)
    first = {} if isinstance(partition, BinnedModel) else _first_bins(partition, groups)
    known = [group for group in groups if group.bin != -1]
    counter.add_groups((group, first.get(group.cell, 0)) for group in known)
    if len(known) < len(groups):
        pool = pool_of(partition)
        strange = rows.in_unknown_cells().placed(pool).groups(pool)
        counter.add_groups((group, partition.n_bins) for group in strange)
    return counter.tally()


def _first_bins(models: ModelSet, groups: list[_Group]) -> dict[Any, int]:
    """The number of the first bin of each cell that holds rows."""
    found = dict.fromkeys(group.cell for group in groups if group.cell is not None)
    cells = [cell if isinstance(cell, str) else int(cell) for cell in found]  # which may come as decimals
    return dict(zip(cells, models.first_bin[models.find(cells)].tolist(), strict=True)) if cells else {}
