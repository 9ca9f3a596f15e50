"""What ``fastbin predict`` writes: the columns of a table, and calibrated probabilities beside them, batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._base.array_types import Array, Bools, Float64s, UInt64s
from fastbin._base.checks import clip_scores
from fastbin._base.errors import InputError
from fastbin._base.tie_keys import GREATEST_KEY
from fastbin.cli._cells import CellOptions, as_keys, checked_matrix, in_order_of, matrix_columns, read_text
from fastbin.cli._console import reading
from fastbin.cli._files import errors_in
from fastbin.cli._key_column import KeySource
from fastbin.io import Table
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.tables.columns import read_numbers
from fastbin.tables.table import PARQUET_SUFFIXES, arrow
from fastbin.tables.writing import format_of, open_writer, schema_of


class Scorer:
    """Writes a table with further columns.

    Attributes
    ----------
    n_by_key : int
        Rows so far whose probability was decided by their key.
    """

    def __init__(self, table: Table, numbers: list[str], new: dict[str, Any], keys: KeySource, nan: str) -> None:
        self.table, self.keys, self.nan = table, keys, nan
        self._numbers, self._new = numbers, new  # the columns that are read as numbers; the types of new ones by name
        for name in new:
            if name in table.names:
                raise InputError(f"{table.path} has a column {name!r} already; name the new one by --column NAME")
        self.n_by_key = 0

    def results(self, batch: Any, numbers: list[Array], first_row: int) -> list[Any]:
        """The new columns for the rows of a batch; a missing score gives NaN."""
        raise NotImplementedError

    def write(self, file: Any, path: str) -> None:
        """Score all rows into a binary file, in the format of its path."""
        pa = arrow()
        positions = [self.table.names.index(name) for name in self._numbers]
        to_parquet = format_of(path, self.table) in PARQUET_SUFFIXES
        schema = schema_of(self.table, self._numbers if to_parquet else [])
        for name, kind in self._new.items():
            schema = schema.append(pa.field(name, kind))
        first_row = 0
        with open_writer(file, path, self.table, schema) as writer, reading(self.table, "scoring") as watched:
            for batch in watched(self.table.batches()):
                columns = list(batch.columns)
                numbers = [
                    read_numbers(self.table, name, columns[position], first_row, propagate=self.nan == "propagate")
                    for name, position in zip(self._numbers, positions, strict=True)
                ]
                if to_parquet and self.table.is_text:
                    for position, column in zip(positions, numbers, strict=True):
                        columns[position] = pa.array(column, from_pandas=True)
                columns += [pa.array(column, from_pandas=True) for column in self.results(batch, numbers, first_row)]
                writer.write(pa.record_batch(columns, schema=schema))
                first_row += len(batch)


def _names(column: str, alpha: float | None) -> dict[str, Any]:
    """The new columns for one probability."""
    names = [column] if alpha is None else [column, f"{column}_lower", f"{column}_upper"]
    return dict.fromkeys(names, arrow().float64())


class _Ties:
    """Which scores of a model need a key."""

    def __init__(self, model: BinnedModel) -> None:
        self._model = model
        self._split_edges = model.edges[(model.edge_keys > 0) & (model.edge_keys <= GREATEST_KEY)] if model.needs_key else None

    def need_keys(self, scores: Array) -> Bools:
        if self._split_edges is None:
            return np.full(len(scores), False)
        if self._model.delta > 0.0:
            return np.full(len(scores), True)
        # A score that the model clips may come to lie on an edge.
        return np.isin(clip_scores(scores, self._model.score_range, self._model.out_of_range), self._split_edges)


class ModelScorer(Scorer):
    """Scores by one model."""

    def __init__(
        self, model: BinnedModel, table: Table, score: str, keys: KeySource, *, column: str, alpha: float | None, nan: str
    ) -> None:
        super().__init__(table, [score], _names(column, alpha), keys, nan)
        self._model, self._ties = model, _Ties(model)
        self._ends = None if alpha is None else np.ascontiguousarray(model.interval(alpha))

    def results(self, batch: Any, numbers: list[Array], first_row: int) -> list[Any]:
        scores, keys = numbers[0], None
        if self._model.needs_key:
            needed = self._ties.need_keys(scores)
            keys = self.keys.keys(batch, first_row, needed)
            self.n_by_key += int(needed.sum())
        with errors_in(self.table, {"scores": self._numbers[0]}, first_row):
            results = [self._model.predict(scores, keys=keys, nan=self.nan)]
            if self._ends is not None:
                ends = self._model.lookup(scores, self._ends, keys=keys, nan=self.nan)
                results += [np.ascontiguousarray(ends[:, side]) for side in (0, 1)]
        return results


class _SetScorer(Scorer):
    """Scores rows of known cells by a set."""

    def __init__(
        self,
        models: ModelSet,
        table: Table,
        numbers: list[str],
        new: dict[str, Any],
        keys: KeySource,
        alpha: float | None,
        nan: str,
    ) -> None:
        super().__init__(table, numbers, new, keys, nan)
        self._models, self._alpha = models, alpha
        self._ties = [_Ties(model) for _, model in models.numbered]
        self._needs_key = any(model.needs_key for _, model in models.numbered)

    def values(self, batch: Any, scores: Array, cells: Any, first_row: int) -> list[Float64s]:
        """The probability of each row, and the ends of its interval where they are wanted."""
        keys = self._tie_keys(batch, scores, cells, first_row)
        results = [self._models.predict(scores, cells, keys=keys, nan=self.nan)]
        if self._alpha is not None:
            ends = self._models.predict_interval(scores, cells, alpha=self._alpha, keys=keys, nan=self.nan)
            results += [np.ascontiguousarray(ends[:, side]) for side in (0, 1)]
        return results

    def _tie_keys(self, batch: Any, scores: Array, cells: Any, first_row: int) -> UInt64s | None:
        if not self._needs_key:
            return None
        numbers = self._models.find(cells)  # the pool, which scores unknown cells, is the last model
        needed = np.full(len(scores), False)
        for number in np.unique(numbers).tolist():
            rows = numbers == number
            needed[rows] = self._ties[number].need_keys(scores[rows])
        self.n_by_key += int(needed.sum())
        return self.keys.keys(batch, first_row, needed)


class SegmentScorer(_SetScorer):
    """Scores each row by the model of its segment."""

    def __init__(
        self, models: ModelSet, table: Table, score: str, segment: str, keys: KeySource, *, column: str, alpha: float | None,
        nan: str,
    ) -> None:  # fmt: skip
        super().__init__(models, table, [score], _names(column, alpha), keys, alpha, nan)
        self._segment = table.check_column(segment)

    def results(self, batch: Any, numbers: list[Array], first_row: int) -> list[Any]:
        text = read_text(self.table, self._segment, batch, first_row)
        with errors_in(self.table, {"scores": self._numbers[0], "cells": self._segment}, first_row):
            cells = as_keys(text, are_text=isinstance(self._models.keys[0], str))
            return list(self.values(batch, numbers[0], cells, first_row))


class ClassScorer(_SetScorer):
    """Scores the predicted class of each row, or every class."""

    def __init__(
        self, models: ModelSet, table: Table, cells: CellOptions, keys: KeySource, *, column: str, alpha: float | None, nan: str
    ) -> None:
        if nan != "error":
            raise InputError("--nan propagate does not go with classes; remove rows without a probability")
        self._columns = matrix_columns(table, in_order_of(models, cells.class_columns))
        self._inputs, self._classes, pa = cells.inputs, np.array(models.columns), arrow()
        if models.kind == "top-label":
            kind = pa.string() if isinstance(models.keys[0], str) else pa.int64()
            new = {f"{column}_class": kind, **_names(column, alpha)}
        else:
            new = {name: kind for each in self._classes for name, kind in _names(f"{column}_{each}", alpha).items()}
        super().__init__(models, table, list(self._columns.values()), new, keys, alpha, nan)

    def results(self, batch: Any, numbers: list[Array], first_row: int) -> list[Any]:
        from fastbin.multi.classes import top_of

        with errors_in(self.table, self._columns, first_row):
            matrix = checked_matrix(self._models, dict(zip(self._columns, numbers, strict=True)), self._inputs)
            if self._models.kind == "top-label":
                predicted, scores = top_of(matrix)
                cells = self._classes[predicted]
                return [cells, *self.values(batch, scores, cells, first_row)]
            columns = zip(self._classes, matrix.T, strict=True)
            return [
                result
                for each, column in columns
                for result in self.values(batch, np.ascontiguousarray(column), np.full(len(column), each), first_row)
            ]
