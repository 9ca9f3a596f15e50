"""A table scored batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._validation import clip_scores
from fastbin.cli._console import reading
from fastbin.cli._files import in_words_of
from fastbin.io.columns import read_numbers
from fastbin.io.tables import PARQUET_SUFFIXES, arrow
from fastbin.io.writing import format_of, open_writer, schema_of

if TYPE_CHECKING:
    from fastbin.cli._key_column import KeySource
    from fastbin.io import Table
    from fastbin.model import BinnedModel

__all__ = ["Scorer"]


class Scorer:
    """Writes a table with calibrated probabilities as further columns.

    Attributes
    ----------
    n_by_key : int
        Rows so far whose probability was decided by their key.
    """

    def __init__(
        self,
        model: BinnedModel,
        table: Table,
        score: str,
        keys: KeySource,
        *,
        column: str = "calibrated",
        alpha: float | None = None,
        nan: str = "error",
    ) -> None:
        self._model = model
        self._table = table
        self._score = score
        self._keys = keys
        self._nan = nan
        self._ends = None if alpha is None else np.ascontiguousarray(model.interval(alpha))
        self._new = [column] if alpha is None else [column, f"{column}_lower", f"{column}_upper"]
        for name in self._new:
            if name in table.names:
                raise InputError(f"{table.path} has a column {name!r} already; name the new one by --column NAME")
        self._split_edges = np.empty(0)
        if model.needs_key:
            self._split_edges = model.edges[(model.edge_keys > 0) & (model.edge_keys < 2**64 - 1)]
        self.n_by_key = 0

    def write(self, file: Any, path: str) -> None:
        """Score all rows into a binary file, in the format that its path tells."""
        pa = arrow()
        to_parquet = format_of(path, self._table) in PARQUET_SUFFIXES
        schema = schema_of(self._table, [self._score] if to_parquet else [])
        for name in self._new:
            schema = schema.append(pa.field(name, pa.float64()))
        writer = open_writer(file, path, self._table, schema)
        first_row = 0
        with reading(self._table, "scoring") as update:
            for batch in self._table.batches():
                scores = read_numbers(
                    self._table, self._score, self._column(batch), first_row, propagate=self._nan == "propagate"
                )
                columns = list(batch.columns)
                if to_parquet and self._table.is_text:
                    columns[self._table.names.index(self._score)] = pa.array(scores, from_pandas=True)
                columns += [pa.array(column, from_pandas=True) for column in self._results(batch, scores, first_row)]
                writer.write(pa.record_batch(columns, schema=schema))
                first_row += len(batch)
                update()
        writer.close()

    def _column(self, batch: Any) -> Any:
        return batch.column(self._table.names.index(self._score))

    def _inside(self, scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The scores as the model takes them: one that it clips may come to lie on an edge."""
        return clip_scores(scores, self._model.score_range, self._model.out_of_range)

    def _results(self, batch: Any, scores: npt.NDArray[Any], first_row: int) -> list[npt.NDArray[np.float64]]:
        """The new columns for the rows of a batch; a missing score gives NaN."""
        keys = None
        if self._model.needs_key:
            needed = np.full(len(scores), True) if self._model.delta > 0.0 else np.isin(self._inside(scores), self._split_edges)
            keys = self._keys.keys(batch, first_row, needed)
            self.n_by_key += int(needed.sum())
        with in_words_of(self._table, {"scores": self._score}, first_row):
            results = [self._model.predict(scores, keys=keys, nan=self._nan)]
            if self._ends is not None:
                ends = self._model.lookup(scores, self._ends, keys=keys, nan=self._nan)
                results += [np.ascontiguousarray(ends[:, side]) for side in (0, 1)]
        return results
