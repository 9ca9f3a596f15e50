"""A file scored batch by batch."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._native.ties import row_keys
from fastbin.cli._console import reading
from fastbin.cli._files import in_words_of
from fastbin.scale.columns import MISSING, read_numbers
from fastbin.scale.tables import PARQUET_SUFFIXES, arrow
from fastbin.scale.writing import format_of, open_writer, schema_of

if TYPE_CHECKING:
    from fastbin.model import BinnedModel
    from fastbin.scale import Table

__all__ = ["KeySource", "Scorer", "hashed_key"]

UInt64s = npt.NDArray[np.uint64]
GREATEST_KEY = 2**64 - 2

# Keys are uniform up to 2**64: a chunk of them that are all below this is one of ids, as surely as matters.
LEAST_KEY_SPREAD = 2**32


def hashed_key(salt: bytes, text: bytes) -> int:
    """The key of an entity: the first eight bytes, little-endian, of SHA-256 of the salt followed by the text of its id."""
    return min(int.from_bytes(hashlib.sha256(salt + text).digest()[:8], "little"), GREATEST_KEY)


class KeySource:
    """Where the tie keys of a file's rows come from: a column of keys, of ids to be hashed, or row numbers and a seed."""

    def __init__(self, table: Table, column: str | None, salt: str | None, seed: int | None) -> None:
        self._table = table
        self._column = column
        self._salt = None if salt is None else salt.encode()
        self._seed = secrets.randbits(64) if seed is None else seed

    def keys(self, batch: Any, first_row: int, needed: npt.NDArray[np.bool_]) -> UInt64s:
        """A key for each row of a batch; where it is not needed, it may be anything."""
        if self._column is None:
            return row_keys(self._seed, len(batch), first_row)
        column = self._text(batch.column(self._table.names.index(self._column)), first_row)
        if self._salt is None:
            return self._parse(column, first_row)
        keys = np.zeros(len(batch), np.uint64)
        for row in np.flatnonzero(needed).tolist():
            keys[row] = hashed_key(self._salt, column[row].as_py())
        return keys

    def _text(self, column: Any, first_row: int) -> Any:
        """The column as text, which must be there in every row."""
        pa = arrow()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if not (pa.types.is_integer(column.type) or pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
            self._refuse(0, f"holds {column.type}; keys are integers, ids are integers or text")
        if pa.types.is_integer(column.type):
            column = column.cast(pa.string())
        column = column.cast(pa.binary())
        missing = pa.compute.is_in(column.fill_null(b""), value_set=pa.array(MISSING, pa.binary()))
        if pa.compute.any(missing).as_py():
            self._refuse(first_row + int(np.argmax(missing.to_numpy(zero_copy_only=False))), "the value is missing")
        return column

    def _parse(self, column: Any, first_row: int) -> UInt64s:
        pa = arrow()
        try:
            keys: UInt64s = column.cast(pa.string()).cast(pa.uint64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            values = [value.as_py() for value in column]
            row = next(row for row, value in enumerate(values) if not (value.isdigit() and int(value) < 2**64))
            text = values[row].decode("utf8", errors="replace")[:60]
            self._refuse(first_row + row, f"{text!r} is not an integer from 0 to 2**64 - 2; give --salt TEXT to hash ids")
        if first_row == 0 and keys.size and int(keys.max()) < LEAST_KEY_SPREAD:
            self._refuse(
                int(keys.argmax()),
                f"{int(keys.max())} and all before are below 2**32, so these are ids; keys are uniform from 0 to 2**64 - 2; "
                "give --salt TEXT to hash ids",
            )
        if keys.size and int(keys.max()) > GREATEST_KEY:
            self._refuse(first_row + int(keys.argmax()), "2**64 - 1 is reserved")
        return keys

    def _refuse(self, row: int, complaint: str) -> None:
        raise InputError(f"{self._table.place(row)}, column {self._column}: {complaint}")


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

    def _results(self, batch: Any, scores: npt.NDArray[Any], first_row: int) -> list[npt.NDArray[np.float64]]:
        """The new columns for the rows of a batch; a missing score gives NaN."""
        keys = None
        if self._model.needs_key:
            needed = np.full(len(scores), True) if self._model.delta > 0.0 else np.isin(scores, self._split_edges)
            keys = self._keys.keys(batch, first_row, needed)
            self.n_by_key += int(needed.sum())
        with in_words_of(self._table, {"scores": self._score}, first_row):
            results = [self._model.predict(scores, keys=keys, nan=self._nan)]
            if self._ends is not None:
                ends = self._model.lookup(scores, self._ends, keys=keys, nan=self._nan)
                results += [np.ascontiguousarray(ends[:, side]) for side in (0, 1)]
        return results
