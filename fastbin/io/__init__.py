"""Files of rows: tables that are opened by their names, and their columns as arrays, chunk by chunk."""

from __future__ import annotations

from fastbin.io.base import Table
from fastbin.io.columns import read_columns
from fastbin.io.tables import open_table

__all__ = ["Table", "open_table", "read_columns"]
