"""Canonical counts from tables of any library, from files, and from tables of counts; imported when a table is given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from fastbin._base.array_types import Int64s
from fastbin._base.cells import TextCells
from fastbin._base.checks import check_labels, check_same_length, check_sample_weight, refuse_first
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin.assess.counted import (
    KEYS,
    ZONE_REMEDY,
    CanonicalCounts,
    NamedColumns,
    RowsOfClusters,
    Tallying,
    add_rows,
    as_texts,
    refuse_times,
)
from fastbin.assess.samples import COUNTS_ONLY, check_samples
from fastbin.tables.columns import column_of, read_numbers, read_text
from fastbin.tables.files import ColumnReader
from fastbin.tables.frames import BOOLEAN, FLOAT, INTEGER
from fastbin.tables.opening import Opened, open
from fastbin.tables.table import Table

CHUNK_ROWS = 2**18


def count_table(table: Any, columns: NamedColumns, *, positive: Any = None, seed: int = 0) -> CanonicalCounts:
    """The counts of the rows of a table of any library, or of a file: by one GROUP BY where they should stay, else streamed.

    One pass; memory is that of the different rows, or of all rows where one of each cluster is chosen, by the seed.
    """
    columns.refuse_labels()
    opened = open(table)
    if opened.stays and opened.is_frame:
        if columns.cluster is not None:
            remedy = "choose one row of each cluster there, or pass a file, a pandas frame or arrays"
            raise InputError("is given, and rows of an engine have no order to choose by", remedy, argument="cluster")
        return _count_groups(opened, columns, positive)
    rows = opened.rows()
    numbers = {"predictions": columns.prediction, "labels": columns.label}
    if columns.weight is not None:
        numbers["sample_weight"] = columns.weight
    texts = columns.keys if columns.cluster is None else {**columns.keys, "cluster": columns.cluster}
    wanted = rows.check_columns(*numbers.values(), *texts.values())
    reader = ColumnReader(rows, numbers, label="labels", positive=positive, whole=("sample_weight",))
    names = tuple(columns.keys)
    made = Tallying(names) if columns.cluster is None else RowsOfClusters(names, seed)
    for batch in rows.batches(wanted, CHUNK_ROWS):
        first_row = reader.first_row
        arrays: dict[str, Any] = reader.read(batch)
        if len(batch):
            keys = {name: _texts_of(rows, column, batch, first_row, name) for name, column in texts.items()}
            with _placed(rows, {**numbers, **texts}, first_row):
                add_rows(made, keys, arrays["predictions"], arrays["labels"], arrays.get("sample_weight"))
    reader.finish()
    try:
        return made.counts()
    except InputError as error:
        raise error if error.argument is not None else error.at_place(f"{rows.path}: ") from error


def _texts_of(rows: Table, column: str, batch: Any, first_row: int, name: str) -> TextCells:
    coded = read_text(rows, column, batch, first_row, are_days=name == "day").dictionary_encode()
    return TextCells(coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False))


@contextmanager
def _placed(rows: Table, columns: Mapping[str, str], first_row: int) -> Iterator[None]:
    """Errors about an array of a batch as errors about the table."""
    try:
        yield
    except InputError as error:
        column = columns.get(str(error.argument))
        if column is None or not isinstance(error.at, int):
            raise
        raise error.at_place(f"{rows.place(first_row + error.at)}, column {column}: ") from error


def _count_groups(opened: Opened, columns: NamedColumns, positive: Any) -> CanonicalCounts:
    """The same by one query, whose groups are rows with frequencies."""
    frame = opened.frame(columns)
    kind = frame.kinds()[columns.prediction]
    if kind not in (FLOAT, INTEGER, BOOLEAN):
        raise InputTypeError(f"column {columns.prediction} holds {kind}, not numbers")
    if columns.day is not None and re.search(r"zone(?!=None)", frame.kinds()[columns.day], re.IGNORECASE):
        problem = f"column {columns.day} holds {frame.kinds()[columns.day]}, whose day depends on the zone"
        raise InputTypeError(problem, ZONE_REMEDY)
    named = {name: column for name in (*KEYS, "label", "weight") if (column := getattr(columns, name)) is not None}
    chosen = {"prediction": frame.as_float(frame.column(columns.prediction))}
    chosen |= {name: frame.column(column) for name, column in named.items()}
    groups = frame.select(**chosen).groups(list(chosen))
    made = Tallying(tuple(columns.keys))
    try:
        labels = check_labels(groups["label"], positive=positive)
        weights = check_sample_weight(groups.get("weight"))
        if weights is not None and weights.dtype == np.float64:
            raise GuaranteeError(COUNTS_ONLY)
        times = groups["rows"].astype(np.int64) * (1 if weights is None else weights)
        add_rows(made, {name: as_texts(groups[name], name) for name in made.names}, groups["prediction"], labels, times)
    except InputError as error:
        called = {"predictions": columns.prediction, "labels": columns.label, "sample_weight": columns.weight, **columns.keys}
        column = called.get(str(error.argument))
        if column is None:
            raise
        raise error.at_place(f"column {column}: in some row the value ") from error
    return made.counts()


# ------------------------------------------------------------------------------------------------- from counts

OF_COUNTS = (*KEYS, "prediction", "mean_prediction", "n", "ones")


def read_counts(table: Any) -> CanonicalCounts:
    """A table of counts as canonical counts: a mapping of columns, a frame, a table of an engine, or a file."""
    columns = dict(table) if isinstance(table, Mapping) else _columns_of(table)
    what = [name for name in ("prediction", "mean_prediction") if name in columns]
    if len(what) != 1:
        raise InputError(
            f"the table of counts has {'both' if what else 'neither of'} prediction and mean_prediction",
            "give prediction where all samples of a row have it, mean_prediction where it is their mean",
        )
    for name in ("n", "ones"):
        if name not in columns:
            raise InputError(
                f"the table of counts has no column {name!r}", "it needs n, the samples, and ones, those with label 1"
            )
    n, ones = (_whole(columns[name], name) for name in ("n", "ones"))
    texts = {name: as_texts(columns[name], name) for name in KEYS if name in columns}
    if "day" in texts:
        refuse_times(texts["day"])
    check_same_length(n=n, ones=ones, **{what[0]: columns[what[0]]}, **{name: own.codes for name, own in texts.items()})
    refuse_first(n < 0, "n", n, "a count is 0 or more")
    bad = (ones < 0) | (ones > n)
    refuse_first(bad, "ones", ones, "samples with label 1 are at most n", lambda i: f"is {ones[i]} and n[{i}] is {n[i]}")
    if len(n) == 0 or not n.any():
        raise InputError("no sample to assess was given")
    kept = n > 0
    predictions = check_samples(np.asarray(columns[what[0]]), np.zeros(len(n), bool), name=what[0]).predictions
    made = Tallying(tuple(texts), are_means=what[0] == "mean_prediction")
    kept_texts = {name: TextCells(own.texts, own.codes[kept]) for name, own in texts.items()}
    made.add(kept_texts, predictions[kept], ones[kept], n[kept])
    return made.counts()


def _whole(column: Any, name: str) -> Int64s:
    numbers = check_sample_weight(column, name)
    assert numbers is not None
    if numbers.dtype == np.float64:
        refuse_first(numbers != np.floor(numbers), name, numbers, "a count is a whole number")
    return np.asarray(numbers.astype(np.int64))


def _columns_of(table: Any) -> dict[str, Any]:
    """The columns of a table of counts, which are few rows, by name."""
    rows = open(table).rows()
    wanted = rows.check_columns(*(name for name in OF_COUNTS if name in rows.names))
    if not wanted:
        raise InputError(f"{rows.path} has none of the columns of a table of counts; it has {rows.list_names()}")
    found: dict[str, list[Any]] = {name: [] for name in wanted}
    first_row = 0
    for batch in rows.batches(wanted, CHUNK_ROWS):
        for name in wanted:
            if name in KEYS:
                found[name] += read_text(rows, name, batch, first_row, are_days=name == "day").to_pylist()
            else:
                found[name].append(read_numbers(rows, name, column_of(batch, name), first_row))
        first_row += len(batch)
    return {name: each if name in KEYS else np.concatenate(each or [np.empty(0)]) for name, each in found.items()}
