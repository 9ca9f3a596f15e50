"""Files that store the types of their columns: Parquet and Arrow IPC (Feather)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fastbin._errors import InputError
from fastbin.io.base import Table, arrow, open_for_arrow, uses_threads


class _TypedTable(Table):
    """Columns of the types that the file stores; a subclass says how its format is read."""

    is_text = False
    format: str  # with its article, for messages

    def __init__(self, path: str) -> None:
        self.path, self.files = path, [path]
        with open_for_arrow(path) as file:
            self.schema, self.total = self._describe(self._open(file))
        self.names = self.schema.names

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        self.done = 0
        try:
            with open_for_arrow(self.path) as file:
                for batch in self._read(self._open(file), None if columns is None else list(columns), chunk_rows):
                    self.done += len(batch)
                    yield from (batch.slice(start, chunk_rows) for start in range(0, len(batch), chunk_rows))
        except (arrow().ArrowInvalid, OSError) as error:
            raise InputError(f"{self.path} is damaged: {_first_sentence(error)}") from None

    def _open(self, file: Any) -> Any:
        """A reader of the format."""
        try:
            return self._reader(file)
        except arrow().ArrowInvalid as error:
            raise InputError(f"{self.path} is not {self.format} file, or it is damaged: {_first_sentence(error)}") from None

    def _reader(self, file: Any) -> Any:
        raise NotImplementedError

    def _describe(self, reader: Any) -> tuple[Any, int | None]:
        """The schema, and the number of rows if the file stores it."""
        raise NotImplementedError

    def _read(self, reader: Any, columns: list[str] | None, chunk_rows: int) -> Iterable[Any]:
        """Record batches of any size."""
        raise NotImplementedError


class ParquetTable(_TypedTable):
    format = "a Parquet"

    def _reader(self, file: Any) -> Any:
        return arrow().parquet.ParquetFile(file)

    def _describe(self, reader: Any) -> tuple[Any, int | None]:
        return reader.schema_arrow, reader.metadata.num_rows

    def _read(self, reader: Any, columns: list[str] | None, chunk_rows: int) -> Iterable[Any]:
        return reader.iter_batches(chunk_rows, columns=columns, use_threads=uses_threads())


class IpcTable(_TypedTable):
    """An Arrow IPC file; version 2 of Feather is the same format."""

    format = "an Arrow IPC"

    def _reader(self, file: Any) -> Any:
        pa = arrow()
        return pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(use_threads=uses_threads()))

    def _describe(self, reader: Any) -> tuple[Any, int | None]:
        return reader.schema, None

    def _read(self, reader: Any, columns: list[str] | None, chunk_rows: int) -> Iterable[Any]:
        batches = map(reader.get_batch, range(reader.num_record_batches))
        return batches if columns is None else (batch.select(columns) for batch in batches)


def _first_sentence(error: Exception) -> str:
    return " ".join(str(error).split()).split(". ")[0][:200]
