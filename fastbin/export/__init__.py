"""The same bits everywhere: models as SQL, ONNX, C source, Java, JavaScript and JSON."""

from __future__ import annotations

from fastbin.export.lookup import SqlTables
from fastbin.export.sql import sql
from fastbin.export.sql_set import sql_set

__all__ = ["SqlTables", "sql", "sql_set"]
