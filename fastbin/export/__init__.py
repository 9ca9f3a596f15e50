"""The same bits everywhere: models as SQL, ONNX, C source, Java, JavaScript and JSON."""

from __future__ import annotations

from fastbin.export.json import from_json, json
from fastbin.export.sql import sql

__all__ = ["from_json", "json", "sql"]
