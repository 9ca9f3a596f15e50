"""Fitting and scoring what does not fit into memory: files and other sources that come in chunks."""

from __future__ import annotations

from fastbin.scale.chunks import fit_chunks
from fastbin.scale.columns import read_columns
from fastbin.scale.tables import Table, open_table

__all__ = ["Table", "fit_chunks", "open_table", "read_columns"]
