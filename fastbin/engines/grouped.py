"""Rows counted by bin with GROUP BY: the engine places a row by the SQL of the bin, and a row for each bin comes back."""

from __future__ import annotations

from typing import Any

from fastbin.engines.counting import Asked, Partition, Tally


def count_by_sql(table: Any, partition: Partition, asked: Asked) -> Tally:
    """The counts of a relation of DuckDB or a frame of Spark."""
    raise NotImplementedError
