"""The same bits everywhere: models as SQL, ONNX, C source, Java, JavaScript and JSON."""

from fastbin.export.c_source import c_source
from fastbin.export.java import java
from fastbin.export.javascript import javascript

__all__ = ["c_source", "java", "javascript"]
