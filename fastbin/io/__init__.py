"""Fitting and scoring what does not fit into memory: files and other sources that come in chunks."""

from __future__ import annotations

from fastbin.io.columns import read_columns
from fastbin.io.tables import Table, open_table

__all__ = ["Table", "open_table", "read_columns"]
