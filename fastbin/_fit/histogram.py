"""Counting the rows of arrays: maps from score to cell, chosen from a sorted sample, and the counters behind them.

The choice of the map sets the speed of a fit, never its result. Scores are handled as *codes*: the int64 that order like them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s, UInt8s, UInt32s, UInt64s
from fastbin._base.errors import InputError
from fastbin._fit.quantiles import CELLS_A_RANK, CHANGED, Answer, Cells, Plan, Values, run_starts

# The kinds of root maps, and the mirror of one, as in `fastbin._core.kernels.quantiles`, which small fits must not import.
LINEAR, BY_CODE, BY_ENDS, BY_SPLITTERS = 0, 1, 2, 3
MIDDLE, LEAST_DISTANCE = 0x3FE0000000000000, 2.0**-54
LAST_CODE = 2**63 - 1
NO_POINTS = np.empty(0)
MAX_SPLITTERS = 2**11 - 1

# The root table stays in the second-level cache up to 2**14 cells; more than that only for very many bins.
MIN_ROOT_CELLS, ROOT_CELLS, MAX_ROOT_CELLS = 2**8, 2**14, 2**17

# Rows after which Python looks at signals: a pass over so many takes .1 s at most.
ROWS_AT_A_TIME = 2**21

# From this share of repeated scores in the sample on, ties are worth cells of their own, and more of them are looked for.
TIED_SHARE = 0.05

# How many scores a map is chosen by.
LEAST_SAMPLE, MOST_SAMPLE = 2**10, 2**13

# Shares of the sample that a map may leave to its first and its last cell.
TRIMMED_SHARES = 0.0, 1 / 1024, 1 / 128

# Nanoseconds per row, as measured: of one pass by each map; of the points; of the counting alone and of a step of the search
# for splitters; of looking into a row again, in all passes that this takes. Only their ratios matter, and only for speed.
LINEAR_COST, BY_CODE_COST, BY_ENDS_COST = 1.3, 1.35, 1.65
POINT_COST, COUNT_COST, SPLITTER_STEP_COST, LOOK_COST = 0.7, 0.8, 0.55, 30.0

# A map that has rows looked into at no more than this cost, or than the nanoseconds that it takes to try the other maps, is
# taken at once.
GOOD_ENOUGH, CHOICE_COST = 0.75, 2e5


def codes_of(scores: Array) -> Int64s:
    """The codes of float64 scores; 0.0 and -0.0 have the same one."""
    bits = np.ascontiguousarray(scores, np.float64).view(np.int64)
    sign = bits >> 63
    return (bits ^ (sign & np.int64(0x7FFFFFFFFFFFFFFF))) - sign


def scores_of(codes: Int64s) -> Float64s:
    """The scores of codes."""
    sign = codes >> 63
    return ((codes + sign) ^ (sign & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.float64)


def mirrored(codes: Int64s) -> Int64s:
    """The codes of scores up to .5, and 2 MIDDLE less those of 1 - score above: these order like the scores of [0, 1], too."""
    scores = scores_of(codes)
    nearer = codes_of(np.minimum(scores, np.maximum(1.0 - scores, LEAST_DISTANCE)))
    return np.where(scores <= 0.5, nearer, 2 * MIDDLE - nearer)


def least_reaching(mirrored_codes: Int64s) -> Int64s:
    """The least codes of scores in [0, 1] whose mirrored codes reach these; more than that of 1 where there is none."""
    distances = scores_of(np.maximum(2 * MIDDLE - mirrored_codes, 0))
    scores = 1.0 - distances  # rounded, at times downwards; 1 - scores is exact
    scores = np.where((1.0 - scores > distances) | (distances < LEAST_DISTANCE), np.nextafter(scores, 2.0), scores)
    return np.where(mirrored_codes <= MIDDLE, mirrored_codes, codes_of(scores))


class Chunk(NamedTuple):
    """Some rows, in the layout of the kernels."""

    scores: Float64s
    labels: UInt8s
    weights: Int64s  # empty: a frequency of 1 each


class RootMap(NamedTuple):
    """From any score to one of `n_cells` cells, monotonically: what `_kernels.quantiles.locate` takes, in turn."""

    kind: int
    origin: float
    scale: float
    base: int
    shift: int
    n_steps: int
    points: Float64s
    n_cells: int

    @classmethod
    def linear(cls, low: float, scale: float, n_steps: int) -> RootMap:
        """n_steps cells of equal width 1 / scale from `low` on."""
        return cls(LINEAR, low, scale, 0, 0, n_steps, NO_POINTS, n_steps)

    @classmethod
    def by_code(cls, base: int, shift: int, n_steps: int) -> RootMap:
        """n_steps cells of 2**shift codes each from `base` on."""
        return cls(BY_CODE, 0.0, 0.0, base, shift, n_steps, NO_POINTS, n_steps)

    @classmethod
    def by_ends(cls, base: int, shift: int, n_steps: int) -> RootMap:
        """n_steps cells of 2**shift mirrored codes each from `base` on, for scores in [0, 1]."""
        return cls(BY_ENDS, 0.0, 0.0, base, shift, n_steps, NO_POINTS, n_steps)

    @classmethod
    def by_splitters(cls, points: Float64s) -> RootMap:
        """Cells between these scores, and one for each of them."""
        return cls(BY_SPLITTERS, 0.0, 0.0, 0, 0, 0, points, 2 * len(points) + 1)

    def steps_of(self, codes: Int64s) -> Int64s:
        """The cells of any map but by splitters, before points divide them."""
        if self.kind == LINEAR:
            with np.errstate(over="ignore"):  # scores far outside what a trimmed map covers
                places = (scores_of(codes) - self.origin) * self.scale
            return np.minimum(np.maximum(places, 0.0), self.n_steps - 1.0).astype(np.int64)
        codes = mirrored(codes) if self.kind == BY_ENDS else codes
        steps = (codes.astype(np.uint64) - np.uint64(self.base % 2**64)) >> np.uint64(self.shift)
        return np.where(codes > self.base, np.minimum(steps, np.uint64(self.n_steps - 1)), np.uint64(0)).astype(np.int64)

    def ends(self, cells: Int64s, limits: tuple[float, float]) -> tuple[Float64s, Float64s]:
        """The least and the greatest score within the limits that each of these cells takes."""
        lowest, highest = codes_of(np.array(limits)).tolist()
        codes = codes_of(self.points)
        if self.kind == BY_SPLITTERS:
            at = np.minimum(cells // 2, len(codes) - 1)
            low = np.where(cells % 2, codes[at], np.concatenate(([lowest - 1], codes))[cells // 2] + 1)
            high = np.where(cells == self.n_cells - 1, highest, codes[at] - 1 + cells % 2)
            return scores_of(low), scores_of(high)
        steps = cells // 3 if self.points.size else cells
        low, after = self._starts(np.concatenate([steps, steps + 1]), lowest, highest).reshape(2, -1)
        high = after - 1
        if self.points.size:
            side, point = cells % 3, codes[steps]
            has_point = ~np.isnan(self.points[steps])
            low = np.where(has_point & (side > 0), point + (side == 2), low)
            high = np.where(has_point & (side < 2), point - (side == 0), high)
        return scores_of(low), scores_of(high)

    def _starts(self, steps: Int64s, lowest: int, highest: int) -> Int64s:
        """The least code that each step of any map but by splitters takes; highest + 1 after the last step."""
        if self.kind == LINEAR:
            from fastbin._core.kernels.quantiles import linear_starts

            starts = np.empty(len(steps), np.int64)
            with np.errstate(over="ignore"):
                guesses = codes_of(self.origin + steps / self.scale)
            linear_starts(self.origin, self.scale, self.n_steps, steps, guesses, lowest, highest, starts)
            return starts
        # In Python's integers: a step beyond the last code of all may not fit into 64 bits.
        starts = np.array([min(self.base + (step << self.shift), LAST_CODE) for step in steps.tolist()], np.int64)
        starts = np.minimum(least_reaching(starts) if self.kind == BY_ENDS else starts, highest + 1)
        return np.where(steps == 0, lowest, np.where(steps == self.n_steps, highest + 1, starts))


class Sample(NamedTuple):
    """Some of the scores, in ascending order and each once, and how often it was seen."""

    codes: Int64s
    scores: Float64s
    repeats: Int64s

    @classmethod
    def of(cls, sorted_codes: Int64s) -> Sample:
        starts = run_starts(sorted_codes)
        codes = sorted_codes[starts]
        return cls(codes, scores_of(codes), np.append(starts[1:], len(sorted_codes)) - starts)

    def share_to_look_into(self, steps: Int64s, points: Float64s, n_ranks: int) -> float:
        """The share of rows that is looked into again: the sum of p min(2, n_ranks p) over the cells, not those of points.

        In proportion to its mass p a cell holds ranks; a heavy one holds some, and is divided more than once. Squares of
        masses are estimated without bias, by pairs. A point that was seen once may be that of a single row, and is looked into.
        """
        size = int(self.repeats.sum())
        repeats = self.repeats
        if points.size:
            inside = (self.scores != points[steps]) | (repeats == 1)
            steps, repeats = steps[inside], repeats[inside]
        if steps.size == 0:
            return 0.0
        counts = np.add.reduceat(repeats, run_starts(steps))
        return float(np.minimum(n_ranks * counts * (counts - 1) / max(1, size - 1), 2 * counts).sum()) / size

    def points(self, steps: Int64s, n_steps: int) -> Float64s:
        """For each cell the score that was seen most often; NaN for none."""
        points = np.full(n_steps, np.nan)
        order = np.argsort(self.repeats, kind="stable")
        points[steps[order]] = self.scores[order]  # the last assignment, of the most frequent, stays
        return points

    def splitters(self) -> Float64s:
        """Quantiles without repetition, one less than a power of two of them (the last one repeated)."""
        ends = np.cumsum(self.repeats)
        quantiles = np.searchsorted(ends, np.arange(0, ends[-1], -(-int(ends[-1]) // MAX_SPLITTERS)), side="right")
        chosen = self.scores[quantiles[run_starts(quantiles)]]
        n_points = (1 << len(chosen).bit_length()) - 1
        return np.concatenate([chosen, np.full(n_points - len(chosen), chosen[-1])])


def tied_share(sorted_codes: Int64s) -> float:
    """The share of a sample that repeats a score."""
    return np.count_nonzero(sorted_codes[1:] == sorted_codes[:-1]) / max(1, len(sorted_codes))


def choose_root(sample_codes: Int64s, n_rows: int, n_cells: int, n_ranks: int, limits: tuple[float, float]) -> RootMap:
    """A cheap map for n_rows rows like this sorted sample, of scores within the limits.

    A map costs its two passes over the rows, and the looking into cells that hold a rank. Ranks fall into a cell in proportion
    to its mass (`Sample.share_to_look_into`).
    """
    if sample_codes.size == 0:
        return RootMap.linear(0.0, float(n_cells), n_cells)
    sample = Sample.of(sample_codes)
    tied = tied_share(sample_codes)
    best: tuple[float, RootMap] = (np.inf, RootMap.linear(0.0, 0.0, 1))
    for pass_cost, root in _simple_maps(sample_codes, n_cells, limits, with_points=tied > TIED_SHARE):
        steps = root.steps_of(sample.codes)
        if tied > TIED_SHARE:
            root = root._replace(points=sample.points(steps, root.n_steps), n_cells=3 * root.n_steps)
        look_cost = LOOK_COST * sample.share_to_look_into(steps, root.points, n_ranks)
        best = min(best, (2 * pass_cost + look_cost, root), key=lambda option: option[0])
        if look_cost * n_rows < max(GOOD_ENOUGH * n_rows, CHOICE_COST):
            return best[1]
    splitters = sample.splitters()
    # A tied score is likely a splitter, and then settled by the first pass. The masses between k quantiles of a sample are
    # those between k uniform points: their squares add up to 2 / k.
    share = min(1.0, n_ranks * (1.0 - tied) * 2 / len(splitters))
    pass_cost = COUNT_COST + SPLITTER_STEP_COST * len(splitters).bit_length()
    return min(best, (2 * pass_cost + LOOK_COST * share, RootMap.by_splitters(splitters)), key=lambda option: option[0])[1]


def _simple_maps(
    sample_codes: Int64s, n_cells: int, limits: tuple[float, float], with_points: bool
) -> Iterator[tuple[float, RootMap]]:
    """Linear maps, by code and by ends, and what a pass by each costs: those that leave none of the sample outside first."""
    # With points a step is three cells, and the points are read for every row: a quarter of the steps.
    n_steps = n_cells // 4 if with_points else n_cells
    point_cost = POINT_COST if with_points else 0.0
    for trimmed in TRIMMED_SHARES:
        # The first and the last cell take what lies outside, so that few far scores do not coarsen all cells.
        cut = int(trimmed * sample_codes.size)
        first, last = int(sample_codes[cut]), int(sample_codes[-1 - cut])
        low, high = scores_of(sample_codes[[cut, -1 - cut]]).tolist()
        scale = n_steps / (high - low) if high > low and np.isfinite(high - low) else 0.0
        if scale > 0.0 and np.isfinite(scale):
            yield LINEAR_COST + point_cost, RootMap.linear(low, scale, n_steps)
        if first == 0 < last:  # many codes lie between 0 and the next score, and few scores do
            first = int(sample_codes[np.searchsorted(sample_codes, 0, side="right")])
        yield BY_CODE_COST + point_cost, RootMap.by_code(first, _shift_for(first, last, n_steps), n_steps)
        if limits[0] >= 0.0 and limits[1] <= 1.0:
            first, last = mirrored(np.array([first, last])).tolist()
            yield BY_ENDS_COST + point_cost, RootMap.by_ends(first, _shift_for(first, last, n_steps), n_steps)


def _shift_for(low: int, high: int, n_cells: int) -> int:
    """The least shift at which the codes low ... high need at most n_cells cells."""
    return max(0, ((high - low) // n_cells).bit_length())


def _sorted_codes(sample: Float64s) -> Int64s:
    return np.sort(codes_of(sample[np.isfinite(sample)]))


def _bit_lengths(n: UInt64s) -> Int64s:
    """How many bits each of these integers has, 0 for 0; by halves, which doubles hold exactly."""
    upper, lower = (np.frexp(half.astype(np.float64))[1] for half in (n >> np.uint64(32), n & np.uint64(2**32 - 1)))
    return np.where(upper > 0, upper + 32, lower).astype(np.int64)


def choose_nodes(sample_codes: Int64s, low: Int64s, high: Int64s, n_cells: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """(base, shift, cells) for the codes low ... high of each of some cells that hold too many rows.

    Where one value dominates the sample, three cells: below it, the value, above it. Else the span of the sample, if it is
    narrower than the cell; else the whole cell, which always makes progress. A `shift` is the least with at most n_cells cells.
    """
    span, most = (high - low).view(np.uint64), n_cells.astype(np.uint64)  # modulo 2**64: no difference of codes is that large
    base, shift = low.copy(), _bit_lengths(span // most)
    cells = (span >> shift.astype(np.uint64)).astype(np.int64) + 1
    starts, stops = np.searchsorted(sample_codes, low), np.searchsorted(sample_codes, high, side="right")
    seen = np.flatnonzero((stops - starts >= 3) & (span >= most))
    starts, stops, span, most = starts[seen], stops[seen], span[seen], most[seen]
    middle, first, last = sample_codes[(starts + stops) // 2], sample_codes[starts], sample_codes[stops - 1]
    repeats = np.searchsorted(sample_codes, middle, side="right") - np.searchsorted(sample_codes, middle)
    width = (last - first).view(np.uint64)
    dominated = 2 * repeats >= stops - starts
    narrow = (width < span // np.uint64(8)) & ~dominated
    # One cell more than the sample fills, so that the last one holds only what lies beyond.
    fits = _bit_lengths(width // (np.maximum(most, np.uint64(3)) - np.uint64(2)))
    base[seen] = np.where(dominated, middle - 1, np.where(narrow, first, base[seen]))
    shift[seen] = np.where(dominated, 0, np.where(narrow, fits, shift[seen]))
    of_span = (width >> fits.astype(np.uint64)).astype(np.int64) + 2
    cells[seen] = np.where(dominated, 3, np.where(narrow, of_span, cells[seen]))
    return base, shift, cells


class Layout:
    """Where the cells of one source lie: a root map for all its plans, chosen at the first.

    `sample_of(size)` gives about so many of its scores. A tied score that the sample holds is settled by the first pass; the
    rows of another one are looked into again, which costs more than the largest sample does.
    """

    def __init__(self, sample_of: Callable[[int], Float64s], n_rows: int, limits: tuple[float, float], n_cells: int) -> None:
        self.limits = limits
        size = min(max(LEAST_SAMPLE, n_rows // 1024), MOST_SAMPLE)
        self.codes = _sorted_codes(sample_of(size))
        if size < MOST_SAMPLE and tied_share(self.codes) > TIED_SHARE:
            self.codes = _sorted_codes(sample_of(MOST_SAMPLE))
        # More cells leave fewer rows to be looked into again, but cost memory, and time where they leave the caches.
        useful = max(min(n_rows // 64, ROOT_CELLS), min(n_rows // 16, n_cells // 4), min(n_rows // 256, n_cells))
        n_cells_made = min(max(MIN_ROOT_CELLS, 1 << (useful - 1).bit_length()), MAX_ROOT_CELLS)
        self.root = choose_root(self.codes, n_rows, n_cells_made, n_cells // CELLS_A_RANK, limits)

    def locate(self, scores: Float64s) -> Int64s:
        """The root cells of some scores."""
        from fastbin._core.kernels.quantiles import locate

        cells = np.empty(len(scores), np.int32)
        bits = np.ascontiguousarray(scores).view(np.int64)
        locate(scores, bits, *self.root[:-1], cells)
        return cells.astype(np.int64)


class Histogram:
    """Counters for one plan: take chunks of rows, in any number of forks at the same time, and read the answer.

    The first plan counts every row in the cells of the root map. A later one takes the rows in root cells that meet one of its
    intervals, finds their interval, and counts them in cells of its own or lists them.
    """

    def __init__(self, plan: Plan, layout: Layout, n_forks: int = 1, *, weighted: bool = False) -> None:
        from fastbin._core.kernels import quantiles

        self._kernels, self._plan, self._layout = quantiles, plan, layout
        self._abandoned = False
        self._bad_rows = [0] * n_forks  # one each: forks that run at the same time would overwrite each other
        if plan.is_first:
            self._n_cells = np.array([layout.root.n_cells])
        else:
            divided = plan.n_cells > 0
            nodes = np.zeros((3, len(divided)), np.int64)
            if divided.any():
                low, high = codes_of(plan.low[divided]), codes_of(plan.high[divided])
                nodes[:, divided] = choose_nodes(layout.codes, low, high, plan.n_cells[divided])
            self._base, self._shift, self._n_cells = nodes
            self._first, self._last = self._overlaps()
        self._offset = np.cumsum(self._n_cells) - self._n_cells
        # The least and the greatest code in each interval, by which one that holds a single score is known at once.
        limits = np.iinfo(np.int64)
        self._seen = [np.repeat([[limits.max], [limits.min]], len(self._n_cells), axis=1) for _ in range(n_forks)]
        self._tables = [np.zeros(2 * int(self._n_cells.sum()), np.int64) for _ in range(n_forks)]
        self._most = int(plan.n_samples[plan.n_cells == 0].sum())
        self._lists = [_List.empty(-(-self._most // n_forks), weighted) for _ in range(n_forks)]

    def _overlaps(self) -> tuple[Array, Array]:
        """For each root cell the first and the last interval that it meets; -1 where it meets none."""
        low, high = self._layout.locate(self._plan.low), self._layout.locate(self._plan.high)
        spans = high - low + 1
        interval = np.repeat(np.arange(len(low), dtype=np.int32), spans)
        cells = np.arange(len(interval)) + (low - np.cumsum(spans) + spans)[interval]
        first = np.full(self._layout.root.n_cells, -1, np.int32)
        last = first.copy()
        first[cells[::-1]] = interval[::-1]  # of several, the one that is assigned last stays
        last[cells] = interval
        return first, last

    def add(self, chunk: Chunk, fork: int = 0) -> None:
        """Count some rows, in parts between which Ctrl-C and `abandon` end it."""
        for first in range(0, len(chunk.scores), ROWS_AT_A_TIME):
            if self._abandoned:
                return
            span = slice(first, first + ROWS_AT_A_TIME)
            self._add(Chunk(chunk.scores[span], chunk.labels[span], chunk.weights[span]), fork)

    def abandon(self) -> None:
        """Count no more, in any fork: nobody will ask for the answer."""
        self._abandoned = True

    def _add(self, chunk: Chunk, fork: int) -> None:
        root = self._layout.root
        rows = (chunk.scores, chunk.scores.view(np.int64), chunk.labels, chunk.weights, *root)
        if self._plan.is_first:
            self._bad_rows[fork] |= self._kernels.count_rows(*rows, *self._layout.limits, self._tables[fork])
            return
        intervals = self._first, self._last, self._plan.low, self._plan.high
        cells = self._base, self._shift, self._n_cells, self._offset, self._tables[fork], *self._seen[fork]
        row = 0
        while (row := self._kernels.count_within(*rows, *intervals, *cells, row, *self._lists[fork])) < len(chunk.scores):
            self._lists[fork] = self._lists[fork].doubled(self._most)

    @property
    def bad_rows(self) -> int:
        """The bit set of `fastbin._core.kernels.quantiles.check` over all rows; not 0 if one of them has to be refused."""
        bits = 0
        for seen in self._bad_rows:
            bits |= seen
        return bits

    def answer(self) -> Answer:
        """The counts and the values of all rows taken."""
        table = self._tables[0] if len(self._tables) == 1 else np.sum(self._tables, axis=0)
        zeros, ones = table[::2], table[1::2]
        interval = np.repeat(np.arange(len(self._n_cells)), self._n_cells)
        cells = Cells(interval, zeros + ones, ones, self._ends)
        values = [Values(rows.slot[: rows.n[0]], rows.score[: rows.n[0]], rows.weight[: rows.n[0]]) for rows in self._lists]
        return Answer(cells, reduce(add, values))

    def _ends(self, chosen: Int64s) -> tuple[Float64s, Float64s]:
        """The least and the greatest score that some of the cells take."""
        if self._plan.is_first:
            return self._layout.root.ends(chosen, self._layout.limits)
        at = np.searchsorted(self._offset + self._n_cells, chosen, side="right")
        step, base, shift = chosen - self._offset[at], self._base[at], self._shift[at]
        seen = np.array(self._seen)[:, :, at]
        low, high = seen[:, 0].min(axis=0), seen[:, 1].max(axis=0)
        start = base + (step << shift)
        # What lies behind the start and in the cell: the next one may begin beyond the last code of all.
        behind = np.minimum((high - start).view(np.uint64), (np.uint64(1) << shift.astype(np.uint64)) - np.uint64(1))
        end = start + behind.view(np.int64)
        return (
            scores_of(np.where(step == 0, low, np.maximum(low, start))),
            scores_of(np.where(step == self._n_cells[at] - 1, high, end)),
        )


class _List(NamedTuple):
    """Room for rows that are listed, and how many there are: what the kernel `count_within` takes last."""

    n: Int64s  # one number
    slot: UInt32s
    score: Float64s
    weight: Int64s

    @classmethod
    def empty(cls, size: int, weighted: bool) -> _List:
        weight = np.empty(size if weighted else 0, np.int64)
        return cls(np.zeros(1, np.int64), np.empty(size, np.uint32), np.empty(size), weight)

    def doubled(self, most: int) -> _List:
        """The same with more room, if so many rows were ever counted."""
        size = min(most, 2 * len(self.slot) + 1024)
        if size == len(self.slot):
            raise InputError(CHANGED)
        larger = _List.empty(size, len(self.weight) > 0)
        larger.n[:], size = self.n, len(self.slot)
        larger.slot[:size], larger.score[:size], larger.weight[: len(self.weight)] = self.slot, self.score, self.weight
        return larger
