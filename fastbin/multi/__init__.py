"""Many models behind one key: classes and segments, with one certificate for all cells.

The key of a row (its predicted class, or its segment) chooses a binary calibrator, and the models together are a `ModelSet`.
Cells with few samples share one model, the pool, which is fitted to their rows alone: so the cells stay disjoint, and one
promise holds for all of them at once.
"""

from __future__ import annotations

from fastbin.multi.classes import ClassWiseBinning, TopLabelBinning
from fastbin.multi.segmented import SegmentedBinning
from fastbin.multi.vectors import VectorCalibration
from fastbin.vector_model import VectorModel

__all__ = ["ClassWiseBinning", "SegmentedBinning", "TopLabelBinning", "VectorCalibration", "VectorModel"]
__dir__ = __all__.copy  # completion lists the public names
