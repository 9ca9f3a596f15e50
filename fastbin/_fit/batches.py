"""Rows that come in batches, over and over: a source for what does not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Any, NoReturn

from fastbin._base.checks import MOST_SAMPLES, ScoreRange, too_many_samples
from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.histogram import Histogram, Layout
from fastbin._fit.quantiles import CELLS_A_RANK, Answer, Plan, Source
from fastbin._fit.rows import Rows, check_rows, limits_of

Batches = Callable[[], Iterable[tuple[Any, ...]]]
Progress = Callable[[int, int], object]

# Nobody knows the number of rows before the first pass, so the cells are laid out for so many, and 2**21 may be listed: 40 MB.
ROWS_TO_PLAN_FOR = 2**26
MOST_LISTED = 2**21
SAMPLE_SIZE = 8192

# Without a number of bins from the caller, cells are made for so many.
RANKS_TO_PLAN_FOR = 255

IMPORTANCE = "importance weights (floats)"


def as_batches(batches: Any) -> Batches:
    """What gives all batches anew at each call: the caller's function, or the elements of what can be iterated again."""
    if callable(batches):
        return batches
    if isinstance(batches, Iterator) or not isinstance(batches, Iterable):
        raise InputTypeError(
            f"batches is of type {type(batches).__name__}, and a fit reads all rows at least twice; pass a function that "
            "returns a new iterator at each call, or a list"
        )
    return lambda: batches


class BatchesSource(Source):
    """One fit's rows. Refuses passes that differ in the number of rows or in the kind of weights."""

    # For messages: what gives the batches, and what is to be done that it gives the same rows each time.
    called = "batches"
    remedy = "return a new iterator at each call, and do not change the data meanwhile"

    def __init__(self, batches: Batches, score_range: ScoreRange, progress: Progress | None = None) -> None:
        self._batches, self._score_range, self._progress = batches, score_range, progress
        self._n_passes = 0
        self._n_rows: int | None = None
        self._weight_kind: str | None = None
        self._layout: Layout | None = None
        self.limits = limits_of(score_range)

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
                        self._layout = Layout(rows.sample(SAMPLE_SIZE), ROWS_TO_PLAN_FOR, rows.limits, n_cells)
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
