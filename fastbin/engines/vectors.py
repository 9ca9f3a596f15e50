"""Vectors of all classes as more columns of a table, wherever the table is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.cells import TOLERANCE, TOLERANCE_FLOAT32, refuse_names_in_other_order
from fastbin._base.errors import InputError, InputTypeError
from fastbin.export.sql import sql
from fastbin.export.vectors import MOST_CLASSES
from fastbin.tables.columns import CAST_SCORES, scores_of
from fastbin.tables.sql import BOOLEANS, NUMBERS, SOURCE, SqlTable
from fastbin.tables.table import as_plain, polars, with_plain_names
from fastbin.vector_model import VectorModel

# Floats of 32 bits in the words of both engines.
SINGLE = ("FLOAT", "REAL", "float")


class VectorRequest(NamedTuple):
    """A request to a table: a vector model, and the columns that it reads and writes, one for each class."""

    model: VectorModel
    read: list[str]
    outputs: list[str]

    @classmethod
    def of(cls, model: VectorModel, score: Any, output: Any) -> VectorRequest:
        """The request of these arguments of `predict`."""
        read = check_columns(model, score)
        if not isinstance(output, str) or not output:
            raise InputTypeError(f"output is {output!r}; pass what the names of the new columns begin with")
        return cls(model, read, [f"{output}_{key}" for key in model.classes])

    def answers(self, arrays: dict[str, Any]) -> dict[str, Float64s]:
        """float64 (n,) by the name of each new column, NaN for rows without an answer; `arrays` are of Arrow. O(n k)."""
        columns = [scores_of(as_plain(arrays[name]), name) for name in self.read]
        tolerance = tolerance_of(all(column.dtype == np.float32 for column in columns))
        matrix = np.stack(columns, axis=1).astype(np.float64, copy=False)
        with np.errstate(invalid="ignore"):
            answered = ((matrix >= 0.0) & (matrix <= 1.0)).all(axis=1)
            answered &= np.abs(matrix.sum(axis=1) - 1.0) <= tolerance
        values = self.model._vectors(np.where(answered[:, np.newaxis], matrix, 1.0 / len(self.read)))
        values[~answered] = np.nan
        return dict(zip(self.outputs, np.ascontiguousarray(values.T), strict=True))

    def in_polars(self, frame: Any) -> Any:
        """The frame with the new columns, which Polars computes batch by batch."""
        pl = polars()

        def values(rows: Any) -> Any:
            columns = rows.struct.unnest().get_columns()
            found = self.answers({name: column.to_arrow() for name, column in zip(self.read, columns, strict=True)})
            return pl.DataFrame([pl.Series(name, column, nan_to_null=True) for name, column in found.items()]).to_struct()

        kind, own = pl.Struct(dict.fromkeys(self.outputs, pl.Float64)), f"fastbin_{uuid4().hex}"
        frame, plain, copies = with_plain_names(frame, self.read)
        vectors = pl.struct(plain).map_batches(values, return_dtype=kind, is_elementwise=True)
        return frame.with_columns(vectors.alias(own)).unnest(own).drop(copies)

    def in_sql(self, table: SqlTable) -> SqlTable:
        """The table with the new columns, NULL in rows without an answer."""
        if len(self.read) > MOST_CLASSES:
            remedy = "pass batches of Arrow, such as relation.to_arrow_reader(), or score in Python by mapInArrow of Spark"
            raise InputError(f"has {len(self.read)} classes, and SQL has at most {MOST_CLASSES}", remedy, argument="model")
        kinds, safe = table.types, table.safe_names
        for name in self.read:
            if kinds[name] not in (*NUMBERS, *BOOLEANS):
                raise InputTypeError(f"score has {name!r}, a column of type {kinds[name]}", CAST_SCORES)
        tolerance = tolerance_of(all(kinds[name] in SINGLE for name in self.read))
        sums = " + ".join(table.words.cast(table.quoted(name)) for name in self.read)
        condition = f"abs(fastbin_sum - 1) <= {table.words.number(tolerance)}"
        scores = [f"CASE WHEN {condition} THEN {safe[name]} ELSE NULL END" for name in self.read]
        query = sql(self.model, scores, dialect=table.engine, source=SOURCE)
        assert isinstance(query, str)
        return table.with_answers(query, self.outputs, fastbin_sum=sums)


def tolerance_of(is_single: bool) -> float:
    """How far the sum of a row may be from 1, as `fastbin.multi.VectorModel.predict` has it."""
    return TOLERANCE_FLOAT32 if is_single else TOLERANCE


def check_columns(model: VectorModel, score: Any) -> list[str]:
    """The names of the columns of all classes."""
    k = len(model.classes)
    remedy = f"pass a list of {k} names of columns, one for each class in the order of model.classes"
    names = score.tolist() if hasattr(score, "tolist") else score  # the columns of a frame of pandas
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InputTypeError("is not a list, and the model has a column for each class", remedy, argument="score")
    if len(names) != k:
        raise InputError(f"has {len(names)} names, and the model {k} classes", remedy, argument="score")
    for at, name in enumerate(names):
        if not isinstance(name, str):
            raise InputTypeError(None, "pass the name of a column", argument="score", at=at, value=name)
        if name in names[:at]:
            raise InputError(f"is {name!r}, as an entry before it", remedy, argument="score", at=at, value=name)
    refuse_names_in_other_order(names, model.classes, "score")
    return list(names)
