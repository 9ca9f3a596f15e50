"""The same bits everywhere: models as SQL, ONNX, C source, Java, JavaScript and JSON."""

from __future__ import annotations

from fastbin.export.onnx import onnx
from fastbin.export.onnx_classifiers import append_onnx, onnx_scores

__all__ = ["append_onnx", "onnx", "onnx_scores"]
