"""The same bits everywhere: models as SQL, ONNX, C source, Java, JavaScript and JSON."""

from fastbin.export.c_source import c_source

__all__ = ["c_source"]
