"""The same bits everywhere: models as SQL, ONNX, C source, Java, JavaScript and JSON."""

from __future__ import annotations

from fastbin.export.c_source import c_source
from fastbin.export.java import java
from fastbin.export.javascript import javascript
from fastbin.export.json import from_json, json
from fastbin.export.lookup import SqlTables
from fastbin.export.onnx import onnx
from fastbin.export.onnx_classifiers import append_onnx, onnx_scores
from fastbin.export.sql import sql, sql_set
from fastbin.export.verify import Verification, verify

__all__ = [
    "SqlTables",
    "Verification",
    "append_onnx",
    "c_source",
    "from_json",
    "java",
    "javascript",
    "json",
    "onnx",
    "onnx_scores",
    "sql",
    "sql_set",
    "verify",
]
__dir__ = __all__.copy  # completion lists the public names
