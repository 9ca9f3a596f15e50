"""Columns of a table as NumPy arrays, batch by batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Any

from fastbin._base.array_types import Array
from fastbin.io.base import Table
from fastbin.io.labels import LabelReader
from fastbin.io.parsing import read_numbers
from fastbin.io.tables import open_table


class ColumnReader:
    """One reading of some columns of a table, from the first row on.

    Parameters
    ----------
    table : Table
    columns : mapping of str to str
        The name of the column behind each argument, such as ``{"scores": "p"}``.
    label : str, optional
        The argument that holds labels.
    positive : optional
        The label that counts as 1; see `LabelReader`.
    whole, propagate : collection of str
        The arguments to which these rules of `read_numbers` apply.

    Attributes
    ----------
    names : list of str
        The columns that are needed, each once.
    first_row : int
        The row of the table at which the next batch starts.
    """

    def __init__(
        self,
        table: Table,
        columns: Mapping[str, str],
        *,
        label: str | None = None,
        positive: Any = None,
        whole: Collection[str] = (),
        propagate: Collection[str] = (),
    ) -> None:
        self.names = [table.check_column(name) for name in dict.fromkeys(columns.values())]
        self.first_row = 0
        self._table, self._columns, self._label = table, columns, label
        self._labels = None if label is None else LabelReader(table, columns[label], positive)
        self._whole, self._propagate = whole, propagate

    def read(self, batch: Any) -> dict[str, Array]:
        """An array for each argument, from the next record batch of the table."""
        arrays = {argument: self._read(argument, name, batch) for argument, name in self._columns.items()}
        self.first_row += len(batch)
        return arrays

    def _read(self, argument: str, name: str, batch: Any) -> Array:
        column = batch.column(batch.schema.get_field_index(name))
        if argument == self._label and self._labels is not None:
            return self._labels.read(column, self.first_row)
        whole, propagate = argument in self._whole, argument in self._propagate
        return read_numbers(self._table, name, column, self.first_row, whole=whole, propagate=propagate)

    def finish(self) -> None:
        """After the last batch: refuse a positive label that no row has."""
        if self._labels is not None:
            self._labels.check_positive()


def read_columns(
    path: str | os.PathLike[str] | Table,
    columns: Sequence[str],
    *,
    chunk_rows: int = 65536,
    delimiter: str | None = None,
    whole: Sequence[str] = (),
    label: str | None = None,
    positive: Any = None,
    progress: Callable[[Table], object] | None = None,
) -> Generator[tuple[Array, ...], None, None]:
    """Columns of a CSV or Parquet file as numbers, chunk by chunk.

    Parameters
    ----------
    path : str, path-like or Table
        What `open_table` opens.
    columns : sequence of str
    chunk_rows : int
        The most rows in a chunk.
    delimiter : str, optional
        Of a CSV file; by default what its name or its header says.
    whole : sequence of str
        Those of the columns of a CSV file that are read as int64 in chunks that hold whole numbers alone. All others become
        float64, or bool where they hold true and false. Columns of a Parquet file keep their type.
    label : str, optional
        The one of the columns that holds labels; it becomes bool.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1.
    progress : callable, optional
        Called with the `Table`, whose `done` and `total` say how far it is, after each chunk.

    Yields
    ------
    tuple of ndarray
        One array per column, of one length. float32 columns stay float32.

    Raises
    ------
    OSError, InputError
        If the file cannot be read, a column is absent, or a value is missing or not a number; the message names file, row and
        column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import fastbin as fb
    >>> from fastbin.io import read_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "scores.csv")
    ...     _ = path.write_text("p,y\\n" + "0.25,0\\n0.75,1\\n" * 50)
    ...     model = fb.UniformMassBinning(2).fit_batches(lambda: read_columns(path, ["p", "y"])).model_
    >>> model.n_samples, model.values
    (100, array([0., 1.]))
    """
    table = path if isinstance(path, Table) else open_table(path, delimiter)
    named = dict(zip(columns, columns, strict=True))
    reader = ColumnReader(table, named, label=label, positive=positive, whole=whole)
    for batch in table.batches(reader.names, chunk_rows):
        arrays = reader.read(batch)
        yield tuple(arrays[name] for name in columns)
        if progress is not None:
            progress(table)
    reader.finish()
