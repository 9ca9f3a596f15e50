"""Rows counted by bin, where they are: what assessments, label shift and monitors need of a table.

Whatever is asked, it is counted in the bins of one step model or of the models of a set. Tables that stream do so batch by
batch through the compiled model, the partitions of Dask each for itself; Spark, and DuckDB where that is asked for, group by
the SQL of the bin. No row is collected.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Int64s
from fastbin._base.checks import MOST_SAMPLES, is_missing, too_many_samples
from fastbin.engines.arrow_columns import coded, sum_of, weights_of
from fastbin.engines.faults import MISSING, NEGATIVE, Fault, refuse
from fastbin.engines.labels import LabelColumn
from fastbin.engines.scoring import N_REASONS, CheckedRows, check_rows
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

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
    pool = partition.pool if isinstance(partition, ModelSet) and partition.unknown == "pool" else None
    return partition.n_bins + (0 if pool is None else pool.n_bins)


def pool_of(partition: Partition) -> BinnedModel:
    """The pool that scores cells which a set does not know."""
    pool = partition.pool if isinstance(partition, ModelSet) else None
    assert pool is not None, "rows are of unknown cells, and there is no pool"
    return pool


class Tally(NamedTuple):
    """What was counted."""

    tables: dict[Any, Int64s]  # int64 (2, n_bins), samples by label, for each value of the column `by`; None without one
    left_out: Int64s  # rows without an answer, by the reasons of `fastbin.engines.scoring`
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
        columns = {name: batch.column(batch.schema.get_field_index(column)) for name, column in self._asked.columns.items()}
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
        """Count what an engine has counted: groups of `counting_by_sql`, each with the first bin of its model."""
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
            bins[strange] = self._partition.n_bins + np.asarray(pool.assign(rows.scores[strange], keys=keys))
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

    def tally(self) -> Tally:
        """What was counted; rows with bad labels or weights are refused."""
        faults = [Fault(str(self._asked.weight), what, count) for what, count in self._bad_weights.items()]
        faults += [] if self._labels is None else self._labels.faults()
        if self._labels is not None:
            self._labels.check_positive()
        if any(fault.n_rows for fault in faults):
            refuse(faults, self.n_rows)
        if self._n_samples > MOST_SAMPLES:  # of counters that were merged
            raise too_many_samples(self._asked.weight)
        return Tally(self.tables, self.left_out, self.n_rows)
