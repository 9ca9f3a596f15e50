"""ONNX graphs: run by onnxruntime, and what their properties say."""

from __future__ import annotations

from typing import Any

import pytest


def session_of(graph: Any, level: str = "ORT_ENABLE_ALL") -> Any:
    """A session of one thread that optimises so far; the test is skipped without onnxruntime."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, level)
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # converters declare shapes of labels that are not so
    return runtime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])


def properties(graph: Any) -> dict[str, str]:
    return {each.key: each.value for each in graph.metadata_props}
