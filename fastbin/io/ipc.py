"""Arrow IPC files; version 2 of Feather is the same format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fastbin._base.errors import InputError
from fastbin.io.base import Table, arrow, first_sentence, open_for_arrow, sliced, uses_threads


class IpcTable(Table):
    """Columns of the types that the file stores."""

    is_text = False

    def __init__(self, path: str) -> None:
        self.path, self.files = path, [path]
        with open_for_arrow(path) as file:
            self.schema = self._open(file).schema
        self.names = self.schema.names

    def batches(self, columns: Sequence[str] | None = None, chunk_rows: int = 65536) -> Iterator[Any]:
        self.done = 0
        try:
            with open_for_arrow(self.path) as file:
                reader = self._open(file)
                for number in range(reader.num_record_batches):
                    batch = reader.get_batch(number)
                    batch = batch if columns is None else batch.select(list(columns))
                    self.done += len(batch)
                    yield from sliced([batch], chunk_rows)
        except (arrow().ArrowInvalid, OSError) as error:
            raise InputError(f"{self.path} is damaged: {first_sentence(error)}") from None

    def _open(self, file: Any) -> Any:
        pa = arrow()
        try:
            return pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(use_threads=uses_threads()))
        except pa.ArrowInvalid as error:
            raise InputError(f"{self.path} is not an Arrow IPC file, or it is damaged: {first_sentence(error)}") from None
