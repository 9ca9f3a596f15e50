"""Rows in memory as a source, counted by threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from fastbin._fit.histogram import Histogram, Layout
from fastbin._fit.plan import Answer, Plan
from fastbin._fit.rows import Rows

# A fit needs little memory whatever the data: rows that are listed get this share of all (but so many may always be listed).
LISTED_SHARE, ALWAYS_LISTED = 1 / 24, 16384


class RowsSource:
    """Arrays, counted in contiguous parts by Python threads. Checks the values of scores and labels at the first plan."""

    def __init__(self, rows: Rows, n_threads: int = 1) -> None:
        self._rows = rows
        self._n_forks = max(1, min(n_threads, len(rows) // ALWAYS_LISTED))
        self._layout: Layout | None = None
        self.limits = rows.limits
        self.value_limit = max(ALWAYS_LISTED, int(len(rows) * LISTED_SHARE))

    def answer(self, plan: Plan) -> Answer:
        rows = self._rows
        if self._layout is None:
            sample = rows.sample(min(max(1024, len(rows) // 1024), 8192))
            self._layout = Layout(sample, len(rows), rows.limits, int(plan.n_cells[0]))
        histogram = Histogram(plan, self._layout, self._n_forks, weighted=rows.frequencies is not None)
        self._count(histogram)
        if histogram.bad_rows:
            rows.refuse(bad_scores=bool(histogram.bad_rows & 1))
        return histogram.answer()

    def _count(self, histogram: Histogram) -> None:
        """Every row, by as many threads as there are forks; the first error is raised."""

        def work(fork: int) -> None:
            for chunk in self._rows.part(fork, self._n_forks).chunks():
                histogram.add(chunk, fork)

        if self._n_forks == 1:
            work(0)
            return
        with ThreadPoolExecutor(self._n_forks) as pool:
            for finished in [pool.submit(work, fork) for fork in range(self._n_forks)]:
                finished.result()
