"""A table that streams as a source of counts."""

from __future__ import annotations

from typing import NoReturn

from fastbin._fit.batches import BatchesSource, Progress
from fastbin._fit.rows import Rows
from fastbin.engines.arrays import ArrayReader


class StreamSource(BatchesSource):
    """The rows of a table, pass by pass; bad ones are refused with the number of each kind."""

    remedy = "nothing may change it meanwhile, and a query must not draw at random; a reader that is used up goes as a function"

    def __init__(self, reader: ArrayReader, progress: Progress | None = None) -> None:
        super().__init__(reader.batches, reader.score_range, progress)
        self._reader = reader
        self.called = reader.stream.called

    def refuse(self, rows: Rows, *, bad_scores: bool) -> NoReturn:
        self._reader.refuse()
