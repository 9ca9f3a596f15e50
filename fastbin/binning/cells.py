"""Where the fold puts its cells: maps from score to cell, chosen from a sorted sample.

The choice sets the speed of a fit, never its result. Scores are handled as *codes*: the int64 that order like the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["RootMap", "choose_node", "choose_root", "codes_of", "scores_of"]

Int64s = npt.NDArray[np.int64]


def codes_of(scores: npt.NDArray[Any]) -> Int64s:
    """The codes of float64 scores; 0.0 and -0.0 have the same one."""
    bits = np.ascontiguousarray(scores, np.float64).view(np.int64)
    sign = bits >> 63
    return (bits ^ (sign & np.int64(0x7FFFFFFFFFFFFFFF))) - sign


def scores_of(codes: Int64s) -> npt.NDArray[np.float64]:
    """The scores of codes."""
    sign = codes >> 63
    return ((codes + sign) ^ (sign & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.float64)


@dataclass(frozen=True)
class RootMap:
    """From any score to one of `n_cells` cells: linear, or 2**shift codes each. The end cells take everything beyond."""

    linear: bool
    origin: float
    scale: float
    base: int
    shift: int
    n_cells: int

    @property
    def arguments(self) -> tuple[bool, float, float, int, int, int]:
        """As the kernels take them."""
        return self.linear, self.origin, self.scale, self.base, self.shift, self.n_cells

    def code_ranges(self, cells: Int64s, lowest: int, highest: int) -> tuple[Int64s, Int64s]:
        """Codes between which all scores of each cell lie, given those of all scores."""
        if self.linear:
            # One cell of slack on either side is far more than the rounding of the map can be.
            low, high = (codes_of(self.origin + (cells + slack) / self.scale) for slack in (-1, 2))
        else:
            low = np.array([self.base + (cell << self.shift) for cell in cells.tolist()], np.int64)
            high = np.array([min(self.base + ((cell + 1) << self.shift) - 1, highest) for cell in cells.tolist()], np.int64)
        low = np.where(cells == 0, lowest, np.maximum(low, lowest))
        high = np.where(cells == self.n_cells - 1, highest, np.minimum(high, highest))
        return low, high


def choose_root(sample_codes: Int64s, n_cells: int) -> RootMap:
    """The map that spreads a sorted sample best."""
    if sample_codes.size == 0:
        return RootMap(True, 0.0, float(n_cells), 0, 0, n_cells)
    first, last = int(sample_codes[0]), int(sample_codes[-1])
    if first == last:
        return RootMap(False, 0.0, 0.0, first - 1, 0, 3)
    by_code = RootMap(False, 0.0, 0.0, first, _shift_for(first, last, n_cells), n_cells)
    low, high = scores_of(sample_codes[[0, -1]]).tolist()
    scale = n_cells / (high - low) if np.isfinite(high - low) else 0.0
    if not (scale > 0.0 and np.isfinite(scale)):
        return by_code
    # How many pairs of the sample share a cell. The linear map costs less per row, so it wins near-ties.
    steps = np.minimum((scores_of(sample_codes) - low) * scale, n_cells - 1).astype(np.int64)
    code_steps = (sample_codes.astype(np.uint64) - np.uint64(first % 2**64)) >> np.uint64(by_code.shift)
    if _pairs(steps) <= 2 * _pairs(code_steps.astype(np.int64)) + sample_codes.size:
        return RootMap(True, low, scale, 0, 0, n_cells)
    return by_code


def _pairs(steps: Int64s) -> int:
    counts = np.bincount(steps)
    return int((counts * (counts - 1)).sum())


def _shift_for(low: int, high: int, n_cells: int) -> int:
    """The least shift at which the codes low ... high need at most n_cells cells."""
    return max(0, ((high - low) // n_cells).bit_length())


def choose_node(sample_codes: Int64s, low: int, high: int, n_cells: int) -> tuple[int, int, int]:
    """(base, shift, cells) for the codes low ... high of a cell that holds too many rows.

    Where one value dominates the sample, three cells: below it, the value, above it. Else the span of the sample, if it is
    narrower than the cell; else the whole cell, which always makes progress.
    """
    inside = sample_codes[np.searchsorted(sample_codes, low) : np.searchsorted(sample_codes, high, side="right")]
    if high - low < n_cells:
        return low, 0, high - low + 1
    if inside.size >= 3:
        middle = int(inside[inside.size // 2])
        if 2 * int(np.count_nonzero(inside == middle)) >= inside.size:
            return middle - 1, 0, 3
        first, last = int(inside[0]), int(inside[-1])
        if (last - first) < (high - low) // 8:
            # One cell more than the sample fills, so that the last one holds only what lies beyond.
            shift = _shift_for(first, last, n_cells - 2)
            return first, shift, ((last - first) >> shift) + 2
    shift = _shift_for(low, high, n_cells)
    return low, shift, ((high - low) >> shift) + 1
