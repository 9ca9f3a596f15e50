"""Rows in memory, and in batches that come over and over: checked, in the chunks that kernels take, and as sources of a fit.

A chunk is contiguous float64 scores, uint8 labels and int64 frequencies. Arrays that are so already are passed through
without a copy; anything else (float32, strides, bool or int64 labels, ...) is converted block by block, so that a fit never
holds a second copy of its data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s, UInt8s, UInt64s
from fastbin._base.checks import (
    MOST_SAMPLES,
    ScoreRange,
    as_key_array,
    as_labels,
    as_scores,
    check_function,
    check_labels,
    check_same_length,
    check_sample_weight,
    check_scores,
    compare_labels,
    event_of,
    refuse_labels,
    refuse_scores,
    too_many_samples,
)
from fastbin._base.errors import InputError, InputTypeError, Wording
from fastbin._base.frames import check_same_index
from fastbin._base.suspicions import MANY, are_hard_labels, are_zeros_and_ones
from fastbin._core.fit import are_plain, sorted_rows
from fastbin._fit.histogram import Chunk, Histogram, Layout
from fastbin._fit.quantiles import (
    CELLS_A_RANK,
    Answer,
    Boundaries,
    Plan,
    RanksOf,
    Source,
    groups_of_packed,
    groups_of_rows,
    search,
)

BLOCK = 65536

# One sort beats the passes on few rows, and where there are so many ranks that their cells hold most rows.
SORT_UP_TO = 2**17
SORT_FROM_RANKS = 64

# A fit needs little memory whatever the data: rows that are listed get this share of all (but so many may always be listed).
LISTED_SHARE, ALWAYS_LISTED = 1 / 24, 16384
NO_WEIGHTS = np.empty(0, np.int64)


GREATEST = float(np.finfo(np.float64).max)


def limits_of(score_range: ScoreRange) -> tuple[float, float]:
    """The least and the greatest score of a range; all finite ones for None."""
    return (-GREATEST, GREATEST) if score_range is None else score_range


@dataclass(slots=True)
class Rows:
    """The arrays given to `fit`, with their types and lengths checked and their values not yet."""

    scores: Array  # float32 or float64, of any stride
    labels: Array  # bool, integer or float, of any stride
    frequencies: Int64s | None  # how often each row stands
    score_range: ScoreRange
    weights: Float64s | None = None  # importance weights
    keys: UInt64s | None = None  # that the caller brought to order equal scores
    first_row: int = 0  # where these rows start in the data that error messages count
    event: str = ""  # the name of the label that counted as 1, where that was said

    def __len__(self) -> int:
        return int(self.scores.shape[0])

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest score allowed."""
        return limits_of(self.score_range)

    def take(self, chosen: Any) -> Rows:
        """Some of the rows: a slice gives views."""
        columns = (None if column is None else column[chosen] for column in (self.frequencies, self.weights, self.keys))
        frequencies, weights, keys = columns
        return Rows(self.scores[chosen], self.labels[chosen], frequencies, self.score_range, weights, keys)

    def part(self, fork: int, n_forks: int) -> Rows:
        """One of `n_forks` contiguous parts, as views."""
        n = len(self)
        return self.take(slice(n * fork // n_forks, n * (fork + 1) // n_forks))

    def chunks(self) -> Iterator[Chunk]:
        """All rows in order."""
        scores, labels = self.scores, self.labels
        if labels.dtype.itemsize == 1:
            labels = labels.view(np.uint8)  # negative ones are above 127, and neither 0 nor 1
        frequencies = NO_WEIGHTS if self.frequencies is None else self.frequencies
        ready = (
            scores.dtype == np.float64 and scores.flags.c_contiguous and scores.flags.aligned
            and labels.dtype == np.uint8 and labels.flags.c_contiguous
            and (frequencies.size == 0 or (frequencies.dtype == np.int64 and frequencies.flags.c_contiguous))
        )  # fmt: skip
        if ready:
            yield Chunk(scores, labels, frequencies)
            return
        for start in range(0, len(self), BLOCK):
            span = slice(start, start + BLOCK)
            yield Chunk(
                np.ascontiguousarray(scores[span], np.float64),
                self._label_block(labels[span]),
                frequencies if frequencies.size == 0 else np.ascontiguousarray(frequencies[span], np.int64),
            )

    @staticmethod
    def _label_block(labels: Array) -> UInt8s:
        """uint8 labels; what is neither 0 nor 1 becomes 2, which the kernels report."""
        if labels.dtype == np.uint8:
            return np.ascontiguousarray(labels)
        is_one = labels == 1
        is_zero = labels == 0
        if np.count_nonzero(is_one) + np.count_nonzero(is_zero) == len(labels):
            return is_one.view(np.uint8)
        return np.where(is_one | is_zero, is_one, 2).astype(np.uint8)

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[int, Chunk]]:
        """All rows in order, a block at a time, each with the position of its first row. Refuses bad labels."""
        start = 0
        for chunk in self.chunks():
            for first in range(0, len(chunk.scores), size):
                span = slice(first, first + size)
                block = Chunk(chunk.scores[span], chunk.labels[span], chunk.weights[span])
                if block.labels.max(initial=0) > 1:
                    self.refuse(bad_scores=False)
                yield start, block
                start += len(block.scores)

    def checked(self) -> tuple[Float64s, UInt8s]:
        """All scores (-0.0 as 0.0) and labels, their values checked. O(n)."""
        scores = check_scores(self.scores, self.score_range).astype(np.float64, copy=False) + 0.0
        return scores, check_labels(self.labels)

    def sample(self, size: int) -> Float64s:
        """About `size` scores, evenly spaced by position."""
        step = max(1, len(self) // size)
        return np.ascontiguousarray(self.scores[::step], np.float64)

    def refuse(self, bad_scores: bool) -> NoReturn:
        """Raise for the first bad score or label: a kernel saw one."""
        if bad_scores:
            refuse_scores(self.scores, self.score_range, first_row=self.first_row)
        refuse_labels(self.labels, first_row=self.first_row)

    def n_samples(self) -> int:
        """The number of rows, or the sum of their frequencies."""
        if self.frequencies is None:
            return len(self)
        return int(self.frequencies.sum())


def check_rows(
    scores: Any,
    labels: Any,
    sample_weight: Any,
    score_range: ScoreRange,
    keys: Any = None,
    *,
    positive: Any = None,
    first_row: int = 0,
) -> Rows:
    """The rows given to `fit`: integer weights are frequencies, others importance weights.

    Checks types, lengths, weights and keys; the values of scores and labels are left to the passes over them.
    """
    if sample_weight is None and keys is None and positive is None and are_plain(scores, labels):
        return Rows(scores, labels, None, score_range, first_row=first_row)
    event = event_of(positive)
    check_same_index(scores=scores, labels=labels, sample_weight=sample_weight, tie_keys=keys)
    score_array = as_scores(scores, first_row=first_row)
    label_array = as_labels(compare_labels(labels, positive), first_row=first_row)
    weights = check_sample_weight(sample_weight, first_row=first_row)
    if check_same_length(scores=score_array, labels=label_array, sample_weight=weights) == 0:
        raise InputError("is empty", "a calibrator needs samples", argument="scores")
    key_array = None if keys is None else as_key_array(keys, len(score_array), to_order=True)
    if weights is None or weights.dtype != np.int64:
        return Rows(score_array, label_array, None, score_range, weights, key_array, first_row, event)
    if keys is not None:
        problem = "gives one key per row, but ", Wording("sample_weight", "--weights"), " repeats rows"
        raise InputError(problem, "repeat the rows, each with its key", argument="tie_keys")
    return Rows(score_array, label_array, weights, score_range, first_row=first_row, event=event)


def refuse_idle_keys(keys: Any, ties: str) -> None:
    """Refuse keys where nothing is ever ordered by them."""
    if keys is not None and ties == "whole":
        raise InputError(
            "tie_keys orders equal scores, which ties='whole' never divides; leave it out, or fit with ties='random'"
        )


def packed_scores(packed: UInt64s) -> Float64s:
    """float64 (n,): the scores of packed rows."""
    return (packed >> np.uint64(1)).view(np.float64)


def groups_by_sorting(rows: Rows, ranks_of: RanksOf) -> Boundaries:
    """As `Source.find`. Checks the values of scores and labels. Time O(n log n), memory O(n)."""
    low, high = rows.limits
    packed = sorted_rows(rows.scores, rows.labels, low, high) if rows.frequencies is None else None
    if packed is not None:
        return groups_of_packed(packed, ranks_of)
    parts = list(rows.chunks())
    scores, labels, weights = parts[0] if len(parts) == 1 else Chunk(*map(np.concatenate, zip(*parts, strict=True)))
    # A NaN comes through min and max, and fails the comparison.
    if not (scores.min() >= low and scores.max() <= high and labels.max() <= 1):
        rows.refuse(bad_scores=not bool(((scores >= low) & (scores <= high)).all()))
    return groups_of_rows(scores, labels, weights, ranks_of)


class RowsSource(Source):
    """Arrays, counted in contiguous parts by Python threads. Checks the values of scores and labels at the first plan."""

    in_memory: Rows

    def __init__(self, rows: Rows, n_threads: int = 1) -> None:
        self.in_memory, self.limits = rows, rows.limits
        self._n_forks = max(1, min(n_threads, len(rows) // ALWAYS_LISTED))
        self._layout: Layout | None = None

    def is_sorted_for(self, n_ranks: int) -> bool:
        """Whether these rows are sorted to find so many ranks."""
        return len(self.in_memory) <= max(SORT_UP_TO, SORT_FROM_RANKS * n_ranks)

    def sorted_rows(self) -> UInt64s | None:
        """These rows, packed and sorted; ``None`` where they have weights, may be negative, or one is to be refused."""
        rows = self.in_memory
        if rows.frequencies is not None or rows.weights is not None:
            return None
        return sorted_rows(rows.scores, rows.labels, *self.limits)

    @property
    def has_hard_labels(self) -> bool:
        return are_hard_labels(self.in_memory.scores)

    @property
    def value_limit(self) -> int:
        return max(ALWAYS_LISTED, int(len(self.in_memory) * LISTED_SHARE))

    def find(self, ranks_of: RanksOf, n_ranks: int) -> Boundaries:
        """The groups at the ranks `ranks_of(n_samples)`: about `n_ranks` of them, ascending, from 1.

        Checks the values of scores and labels on the way. Time O(n) for n rows: two passes on scores that are neither bunched
        nor tied, a few more on any others. Extra memory: the counters and n / 24 listed rows at most. (For fewer than 64 rows
        a rank it sorts: time O(n log n), memory O(n).)
        """
        if self.is_sorted_for(n_ranks):
            return groups_by_sorting(self.in_memory, ranks_of)
        return search(self, ranks_of, n_ranks)

    def weighted(self) -> list[Rows] | None:
        return None if self.in_memory.weights is None else [self.in_memory]

    def answer(self, plan: Plan) -> Answer:
        rows = self.in_memory
        if self._layout is None:
            self._layout = Layout(rows.sample, len(rows), rows.limits, int(plan.n_cells[0]))
        histogram = Histogram(plan, self._layout, self._n_forks, weighted=rows.frequencies is not None)
        self._count(histogram)
        if histogram.bad_rows:
            rows.refuse(bad_scores=bool(histogram.bad_rows & 1))
        return histogram.answer()

    def _count(self, histogram: Histogram) -> None:
        """Every row, by as many threads as there are forks; the first error is raised."""

        def work(fork: int) -> None:
            for chunk in self.in_memory.part(fork, self._n_forks).chunks():
                histogram.add(chunk, fork)

        if self._n_forks == 1:
            work(0)
            return
        with ThreadPoolExecutor(self._n_forks) as pool:
            try:
                for finished in [pool.submit(work, fork) for fork in range(self._n_forks)]:
                    finished.result()
            except BaseException:
                histogram.abandon()  # the pool waits for its threads
                raise


# ------------------------------------------------------------------ batches


Batches = Callable[[], Iterable[tuple[Any, ...]]]
Progress = Callable[[int, int], object]

# Nobody knows the number of rows before the first pass, so the cells are laid out for so many, and 2**21 may be listed: 40 MB.
ROWS_TO_PLAN_FOR = 2**26
MOST_LISTED = 2**21

# Without a number of bins from the caller, cells are made for so many.
RANKS_TO_PLAN_FOR = 255

IMPORTANCE = "importance weights (floats)"


def as_batches(batches: Any) -> Batches:
    """A function that gives all batches anew: the caller's own, or one that iterates again."""
    if callable(batches):
        return partial(_called, batches)
    if isinstance(batches, (str, bytes, os.PathLike)):
        remedy = "pass a function that gives batches of arrays, or a list of them; engines.fit takes the path of a file"
        raise InputTypeError(f"is {batches!r:.100}", remedy, argument="batches")
    if isinstance(batches, Iterator) or not np.iterable(batches):
        raise InputTypeError(
            f"batches is of type {type(batches).__name__}, and a fit reads all rows at least twice; pass a function that "
            "returns a new iterator at each call, or a list"
        )
    return lambda: batches


def _called(function: Batches) -> Iterable[tuple[Any, ...]]:
    """The batches that a function gives."""
    given = function()
    try:
        return iter(given)
    except TypeError:
        remedy = "return an iterator of batches, or a list of them"
        raise InputTypeError(f"returned {given!r:.100}", remedy, argument="batches") from None


class BatchesSource(Source):
    """One fit's rows. Refuses passes that differ in the number of rows or in the kind of weights."""

    # For messages: what gives the batches, and what is to be done that it gives the same rows each time.
    called = "batches"
    remedy = "return a new iterator at each call, and do not change the data meanwhile"

    def __init__(self, batches: Batches, score_range: ScoreRange, progress: Progress | None = None) -> None:
        check_function(progress, "progress")
        self._batches, self._score_range, self._progress = batches, score_range, progress
        self._n_passes = 0
        self._n_rows: int | None = None
        self._weight_kind: str | None = None
        self._layout: Layout | None = None
        self._zeros_and_ones = True  # so far
        self.limits = limits_of(score_range)

    @property
    def has_hard_labels(self) -> bool:
        return self._zeros_and_ones and (self._n_rows or 0) >= MANY

    @property
    def value_limit(self) -> int:
        return MOST_LISTED

    def weighted(self) -> Iterator[Rows] | None:
        return self.rows() if self._weight_kind == IMPORTANCE else None

    def answer(self, plan: Plan) -> Answer:
        histogram: Histogram | None = None
        with closing(self.rows()) as one_pass:
            for rows in one_pass:
                if histogram is None:
                    if self._layout is None:  # a look at the first batch decides about the speed alone
                        n_cells = CELLS_A_RANK * (int(plan.n_cells[0]) // CELLS_A_RANK)
                        self._layout = Layout(rows.sample, ROWS_TO_PLAN_FOR, rows.limits, n_cells)
                    histogram = Histogram(plan, self._layout, weighted=rows.frequencies is not None)
                for chunk in rows.chunks():
                    histogram.add(chunk)
                if histogram.bad_rows:
                    break
        assert histogram is not None  # a pass without rows is refused
        if histogram.bad_rows:  # told when the pass is over: what gives the batches may allow no second one beside it
            self.refuse(rows, bad_scores=bool(histogram.bad_rows & 1))
        return histogram.answer()

    def rows(self) -> Generator[Rows, None, None]:
        """One pass: all rows, batch by batch."""
        self._n_passes += 1
        n_rows = n_samples = 0
        for batch in self._batches():
            rows = self._check(batch, n_rows)
            if rows is None:
                continue
            n_rows += len(rows)
            self._zeros_and_ones = self._zeros_and_ones and are_zeros_and_ones(rows.scores)
            n_samples += rows.n_samples()
            if n_samples > MOST_SAMPLES:
                raise too_many_samples("sample_weight")
            yield rows
            if self._progress is not None:
                self._progress(self._n_passes, n_rows)
        if self._n_rows is None and n_rows == 0:
            raise InputError(f"{self.called} has no rows; a calibrator needs samples")
        if n_rows != (self._n_rows or n_rows):
            raise InputError(
                f"pass {self._n_passes} saw {n_rows} rows, the one before it {self._n_rows}; {self.called} must give the same "
                f"rows each time: {self.remedy}"
            )
        self._n_rows = n_rows

    def refuse(self, rows: Rows, *, bad_scores: bool) -> NoReturn:
        """Raise for a batch that has a bad score or label."""
        rows.refuse(bad_scores)

    def _check(self, batch: Any, first_row: int) -> Rows | None:
        """The rows of a batch; None for an empty one."""
        if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
            found = f"{len(batch)} parts" if isinstance(batch, (tuple, list)) else f"a {type(batch).__name__}"
            raise InputTypeError(f"batches gave {found}; a batch is (scores, labels) or (scores, labels, sample_weight)")
        if not hasattr(batch[0], "__len__"):
            problem = f"batches gave {type(batch).__name__}s such as {batch!r}, which are rows"
            raise InputTypeError(f"{problem}; a batch is (scores, labels) or (scores, labels, sample_weight), of many rows")
        if len(batch[0]) == 0:
            return None
        scores, labels, *weights = batch
        rows = check_rows(scores, labels, weights[0] if weights else None, self._score_range, first_row=first_row)
        kind = "nothing" if rows.frequencies is None else "frequencies (integers)"
        kind = kind if rows.weights is None else IMPORTANCE
        if self._weight_kind is None:
            self._weight_kind = kind
        if kind != self._weight_kind:
            raise InputError(
                f"holds {kind} from row {first_row} on and {self._weight_kind} before",
                "give every batch weights of one dtype, or none",
                argument="sample_weight",
            )
        return rows
