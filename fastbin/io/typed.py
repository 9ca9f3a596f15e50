"""Files that know the types of their columns: Parquet and Arrow IPC (Feather)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fastbin._errors import InputError
from fastbin.io.base import Table, arrow, open_for_arrow, uses_threads

__all__ = ["IpcTable", "ParquetTable"]


class ParquetTable(Table):
    """Columns of the types that the file says."""

    is_text = False

    def __init__(self, path: str) -> None:
        self.path = path
        with self._open() as file:
            self.schema = file.schema_arrow
            self.total = file.metadata.num_rows
        self.names = self.schema.names

    def _open(self) -> Any:
        pa = arrow()
        try:
            return pa.parquet.ParquetFile(open_for_arrow(self.path))
        except pa.ArrowInvalid as error:
            raise InputError(f"{self.path} is no Parquet file, or a damaged one: {_first_sentence(error)}") from None

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        pa = arrow()
        self.done = 0
        wanted = None if columns is None else list(columns)
        try:
            with self._open() as file:
                for batch in file.iter_batches(chunk_rows, columns=wanted, use_threads=uses_threads()):
                    self.done += len(batch)
                    yield batch
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"{self.path} is damaged: {_first_sentence(error)}") from None


class IpcTable(Table):
    """An Arrow IPC file, which is also Feather, version 2."""

    is_text = False

    def __init__(self, path: str) -> None:
        self.path = path
        with open_for_arrow(path) as file:
            self.schema = self._open(file).schema
        self.names = self.schema.names

    def _open(self, file: Any) -> Any:
        pa = arrow()
        try:
            return pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(use_threads=uses_threads()))
        except pa.ArrowInvalid as error:
            raise InputError(f"{self.path} is no Arrow IPC file, or a damaged one: {_first_sentence(error)}") from None

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        pa = arrow()
        self.done = 0
        try:
            with open_for_arrow(self.path) as file:
                reader = self._open(file)
                for number in range(reader.num_record_batches):
                    batch = reader.get_batch(number)
                    batch = batch if columns is None else batch.select(list(columns))
                    self.done += len(batch)
                    yield from (batch.slice(start, chunk_rows) for start in range(0, len(batch), chunk_rows))
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"{self.path} is damaged: {_first_sentence(error)}") from None


def _first_sentence(error: Exception) -> str:
    return " ".join(str(error).split()).split(". ")[0][:200]
