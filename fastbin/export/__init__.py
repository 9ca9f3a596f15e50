"""The same bits everywhere: models as SQL, ONNX, C source, Java, JavaScript and JSON."""

from __future__ import annotations

from fastbin.export.json import from_json, json

__all__ = ["from_json", "json"]
