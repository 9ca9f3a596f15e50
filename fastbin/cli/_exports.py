"""Exports on the command line: what each target takes, which one a file name means, and what a file says of itself."""

from __future__ import annotations

from pathlib import Path

import click

# The options of each target.
TARGETS = {
    "sql": ("dialect", "score", "key", "cell", "style", "table", "source", "outputs", "alpha"),
    "onnx": ("outputs", "alpha", "opset"),
    "c": ("outputs", "alpha", "name"),
    "java": ("outputs", "alpha", "name", "package"),
    "js": ("outputs", "alpha"),
    "json": (),
}
DIGESTED = {"sql": "SQL", "onnx": "graph", "c": "C function", "java": "Java class", "js": "JavaScript module", "json": "JSON"}
DIALECTS = ("duckdb", "postgresql", "sqlite", "spark", "polars", "bigquery", "snowflake")


def choose_target(target: str | None, path: str) -> str:
    """The target that is named, or that the suffix of a file means."""
    from fastbin.export.verify import SUFFIXES

    suffix = Path(path).suffix.lower()
    if target is None and suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if target is None:
        where = "standard output" if path == "-" else path
        raise click.UsageError(f"say --to; the name of {where} does not tell ({', '.join(SUFFIXES)} do)")
    return target
