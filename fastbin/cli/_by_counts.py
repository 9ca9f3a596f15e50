"""A table of test samples that do not fit into memory, assessed from their counts by bin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fastbin.cli._cells import CLASS_KINDS, CellOptions, as_keys, read_text
from fastbin.cli._console import reading
from fastbin.cli._files import TableOptions, errors_in
from fastbin.io import Table
from fastbin.tables.files import ColumnReader
from fastbin.tables.table import arrow

if TYPE_CHECKING:
    from fastbin.model import BinnedModel
    from fastbin.model_set import ModelSet
    from fastbin.report import Assessment


def can_be_counted(model: BinnedModel | ModelSet, table: Table, rows: TableOptions) -> bool:
    """Whether counts say enough: of a step model or a set of them, whose bins need no key, and of rows without weights."""
    if not table.can_be_read_again or rows.weights is not None:
        return False
    if model.kind in CLASS_KINDS:
        return False
    return all(own.kind == "step" and not own.needs_key for _, own in model.numbered)


def assess_by_counts(
    model: BinnedModel | ModelSet, table: Table, rows: TableOptions, cells: CellOptions, *, alpha: float, level: float
) -> Assessment:
    """What the counts of rows by bin and label say; one pass."""
    from fastbin.engines import assess

    pa = arrow()
    columns = rows.columns(table)
    schema = pa.schema({"scores": pa.float64(), "labels": pa.float64()})
    segment = None
    if model.is_set:
        segment = table.check_column(str(cells.segment))
        schema = schema.append(pa.field("cells", pa.string() if isinstance(model.keys[0], str) else pa.int64()))
    with errors_in(table, columns), reading(table, "assessing") as watched:
        stream = pa.RecordBatchReader.from_batches(schema, _batches(table, watched, columns, segment, schema, rows.positive))
        cell = None if segment is None else "cells"
        return assess(stream, model, score="scores", label="labels", cell=cell, alpha=alpha, level=level)


def _batches(
    table: Table, watched: Any, columns: dict[str, str], segment: str | None, schema: Any, positive: str | None
) -> Iterator[Any]:
    """Batches of this schema, which hold scores, labels, and keys of cells where there is a column of them."""
    pa = arrow()
    reader = ColumnReader(table, columns, label="labels", positive=positive, propagate=("scores",))
    for batch in watched(table.batches(list(dict.fromkeys([*reader.names, *([] if segment is None else [segment])])))):
        keys = []
        if segment is not None:
            text = read_text(table, segment, batch, reader.first_row)
            with errors_in(table, {"cells": segment}, reader.first_row):
                keys = [pa.array(as_keys(text, are_text=pa.types.is_string(schema.field("cells").type)))]
        arrays = [pa.array(array) for array in reader.read(batch).values()]
        converted = [column.cast(field.type) for column, field in zip([*arrays, *keys], schema, strict=True)]
        yield pa.RecordBatch.from_arrays(converted, schema=schema)
    reader.finish()
