"""Where the fold puts its cells: maps from score to cell, chosen from a sorted sample.

The choice sets the speed of a fit, never its result. Scores are handled as *codes*: the int64 that order like the scores.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["BY_CODE", "BY_SPLITTERS", "LINEAR", "RootMap", "choose_node", "choose_root", "codes_of", "scores_of"]

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]

# The kinds of root maps, as in `fastbin._kernels.fold`, which scoring and small fits must not import.
LINEAR, BY_CODE, BY_SPLITTERS = 0, 1, 2
NO_POINTS = np.empty(0)
MAX_SPLITTERS = 2**11

# From this share of repeated scores in the sample on, ties are worth cells of their own.
TIED_SHARE = 0.05

# Nanoseconds per row, as measured: of one pass by each map (with points; a step of the search for splitters), and of looking
# into a row again. Only their ratios matter, and only for speed.
LINEAR_COST, BY_CODE_COST, POINT_COST, SPLITTER_STEP_COST, LOOK_COST = 2.0, 2.2, 1.0, 1.0, 25.0


def codes_of(scores: npt.NDArray[Any]) -> Int64s:
    """The codes of float64 scores; 0.0 and -0.0 have the same one."""
    bits = np.ascontiguousarray(scores, np.float64).view(np.int64)
    sign = bits >> 63
    return (bits ^ (sign & np.int64(0x7FFFFFFFFFFFFFFF))) - sign


def scores_of(codes: Int64s) -> Float64s:
    """The scores of codes."""
    sign = codes >> 63
    return ((codes + sign) ^ (sign & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.float64)


class RootMap(NamedTuple):
    """From any score to one of `n_cells` cells, monotonically: `fastbin._kernels.fold.locate`, which takes these in turn."""

    kind: int
    origin: float
    scale: float
    base: int
    shift: int
    n_steps: int
    points: Float64s
    n_cells: int

    @classmethod
    def linear(cls, low: float, scale: float, n_steps: int, points: Float64s = NO_POINTS) -> RootMap:
        """n_steps cells of equal width 1 / scale from `low` on."""
        return cls(LINEAR, low, scale, 0, 0, n_steps, points, n_steps * (3 if points.size else 1))

    @classmethod
    def by_code(cls, base: int, shift: int, n_steps: int, points: Float64s = NO_POINTS) -> RootMap:
        """n_steps cells of 2**shift codes each from `base` on."""
        return cls(BY_CODE, 0.0, 0.0, base, shift, n_steps, points, n_steps * (3 if points.size else 1))

    @classmethod
    def by_splitters(cls, points: Float64s) -> RootMap:
        """Cells between these scores, and one for each of them."""
        return cls(BY_SPLITTERS, 0.0, 0.0, 0, 0, 0, points, 2 * len(points) + 1)

    def steps_of(self, codes: Int64s) -> Int64s:
        """The cells of the linear map or the map by code, before points divide them."""
        if self.kind == LINEAR:
            return np.clip((scores_of(codes) - self.origin) * self.scale, 0, self.n_steps - 1).astype(np.int64)
        steps = (codes.astype(np.uint64) - np.uint64(self.base % 2**64)) >> np.uint64(self.shift)
        return np.where(codes > self.base, np.minimum(steps, np.uint64(self.n_steps - 1)), np.uint64(0)).astype(np.int64)

    def code_ranges(self, cells: Int64s, lowest: int, highest: int) -> tuple[Int64s, Int64s]:
        """Codes between which all scores of each cell lie, given those of all scores."""
        codes = codes_of(self.points)
        if self.kind == BY_SPLITTERS:
            at = np.minimum(cells // 2, len(codes) - 1)
            low = np.where(cells % 2, codes[at], np.concatenate(([lowest - 1], codes))[cells // 2] + 1)
            high = np.where(cells == self.n_cells - 1, highest, codes[at] - 1 + cells % 2)
            return low, high
        steps = cells // 3 if self.points.size else cells
        if self.kind == LINEAR:
            # One cell of slack on either side is far more than the rounding of the map can be.
            with np.errstate(over="ignore"):  # beyond the greatest double there are no scores
                low, high = (codes_of(self.origin + (steps + slack) / self.scale) for slack in (-1, 2))
        else:
            low = np.array([self.base + (step << self.shift) for step in steps.tolist()], np.int64)
            high = np.array([min(self.base + ((step + 1) << self.shift) - 1, highest) for step in steps.tolist()], np.int64)
        low = np.where(steps == 0, lowest, np.maximum(low, lowest))
        high = np.where(steps == self.n_steps - 1, highest, np.minimum(high, highest))
        if self.points.size:
            side, point = cells % 3, codes[steps]
            has_point = ~np.isnan(self.points[steps])
            low = np.where(has_point & (side > 0), point + (side == 2), low)
            high = np.where(has_point & (side < 2), point - (side == 0), high)
        return low, high


def choose_root(sample_codes: Int64s, n_cells: int, n_ranks: int) -> RootMap:
    """The cheapest map for data like this sorted sample.

    A map costs its two passes over the rows, and the looking into cells that hold a rank. Ranks fall into a cell in proportion
    to its mass p, so the share of rows that has to be looked into is about n_ranks * sum(p**2).
    """
    if sample_codes.size == 0:
        return RootMap.linear(0.0, float(n_cells), n_cells)
    first, last = int(sample_codes[0]), int(sample_codes[-1])
    low, high = scores_of(sample_codes[[0, -1]]).tolist()
    tied = 1.0 - (1 + np.count_nonzero(np.diff(sample_codes))) / sample_codes.size
    options: list[tuple[float, RootMap]] = []

    def consider(root: RootMap, pass_cost: float) -> None:
        steps = root.steps_of(sample_codes)
        if tied > TIED_SHARE:
            # Three cells for one, so a quarter of the cells; where one score is tied, it becomes a cell of its own.
            points = _points(sample_codes, steps, root.n_steps)
            root = root._replace(points=points, n_cells=3 * root.n_steps)
            pass_cost += POINT_COST
            steps = np.where(scores_of(sample_codes) == points[steps], -1, steps)
        share = min(1.0, n_ranks * _sum_of_squares(steps))
        options.append((2 * pass_cost + LOOK_COST * share, root))

    n_steps = n_cells // 4 if tied > TIED_SHARE else n_cells
    scale = n_steps / (high - low) if high > low and np.isfinite(high - low) else 0.0
    if scale > 0.0 and np.isfinite(scale):
        consider(RootMap.linear(low, scale, n_steps), LINEAR_COST)
    consider(RootMap.by_code(first, _shift_for(first, last, n_steps), n_steps), BY_CODE_COST)
    splitters = _splitters(scores_of(sample_codes))
    # A tied score is likely a splitter, and then settled by the first pass. The masses between k quantiles of a sample are
    # those between k uniform points: their squares add up to 2 / k.
    share = min(1.0, n_ranks * (1.0 - tied) * 2 / len(splitters))
    options.append((2 * SPLITTER_STEP_COST * len(splitters).bit_length() + LOOK_COST * share, RootMap.by_splitters(splitters)))
    return min(options, key=lambda option: option[0])[1]


def _sum_of_squares(cells: Int64s) -> float:
    """The unbiased estimate of the sum of squared masses of cells, from those of a sample; -1 is no cell."""
    counts = np.bincount(cells[cells >= 0]).astype(np.float64)
    return float((counts * (counts - 1.0)).sum()) / max(1, len(cells) * (len(cells) - 1))


def _points(sample_codes: Int64s, steps: Int64s, n_steps: int) -> Float64s:
    """For each cell the score that occurs most often in the sample, if more than once; else NaN."""
    values, repeats = np.unique(sample_codes, return_counts=True)
    step = steps[np.searchsorted(sample_codes, values)]
    points = np.full(n_steps, np.nan)
    order = np.argsort(repeats, kind="stable")
    order = order[repeats[order] > 1]
    points[step[order]] = scores_of(values[order])  # the last assignment, of the most frequent, stays
    return points


def _splitters(sample: Float64s) -> Float64s:
    """Quantiles of the sample without repetition, one less than a power of two of them (the last one repeated)."""
    chosen = np.unique(sample[:: max(1, sample.size // MAX_SPLITTERS)])
    size = 1 << len(chosen).bit_length()
    return np.concatenate([chosen, np.full(size - 1 - len(chosen), chosen[-1])])


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
