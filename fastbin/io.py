"""Files of rows: tables that are opened by their names, and their columns as arrays, chunk by chunk."""

from __future__ import annotations

from fastbin.tables.files import open_table, read_columns
from fastbin.tables.table import Table

__all__ = ["Table", "open_table", "read_columns"]
__dir__ = __all__.copy  # completion lists the public names
