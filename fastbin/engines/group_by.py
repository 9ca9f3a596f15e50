"""A fit's plans answered by GROUP BY: a source whose rows stay in the engine that holds them.

Each plan is one query. The first counts all rows in cells of the score line: how many, how many with label 1, the least and the
greatest score. A later one counts those in some intervals, again in cells, or score by score where values are asked for. What
goes to the engine is a small table of intervals; what comes back is a row for each cell or value.

Nothing rests on the engine's arithmetic. A cell is what its least and its greatest score say, whatever put its rows there;
cells that a rounding logarithm lets overlap become one. A later query finds rows through the cells of the query before, by an
equal join on their numbers, and compares the score itself with the ends of the interval. `search` compares all counts with
those before, so rows that are lost, or that changed meanwhile, are an error and never another model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.checks import MOST_SAMPLES, ScoreRange, too_many_samples
from fastbin._base.errors import InputError
from fastbin._fit.quantiles import Answer, Cells, Plan, Source, Values
from fastbin._fit.rows import Progress, limits_of
from fastbin.engines.arrays import Names
from fastbin.engines.columns import Columns
from fastbin.engines.faults import no_samples
from fastbin.engines.frames import Frame
from fastbin.engines.score_cells import Cuts, cell_of
from fastbin.engines.tables import package_of

# A row may be compared with so many intervals; one more query to join with costs about as much.
FEW_INTERVALS = 4


def group_by_source(
    table: Any, *, score: str, label: str, weight: str | None = None, score_range: ScoreRange, positive: Any = None,
    progress: Progress | None = None,
) -> Source:  # fmt: skip
    """The rows of a table as a source of a fit: a Spark data frame, or whatever Narwhals knows.

    Parameters
    ----------
    table : Spark data frame (classic or Connect), or a table that Narwhals reads
    score, label, weight : str
        Columns: numbers; labels; integers, how often a row counts.
    score_range : (low, high) or None
    positive : optional
        The value of the label that is 1, where labels are two other values than 0 and 1.
    progress : callable, optional
        Called after each query with its number, from 1, and the number of rows of the table.
    """
    frame = frame_of(table, Names(score, label, weight))
    return GroupBySource(frame, Columns.of(frame, score, label, weight, score_range, positive), progress)


def frame_of(table: Any, names: Names) -> Frame:
    """The columns of these names of a Spark data frame, or of a table that Narwhals reads, as what queries are made of."""
    if package_of(table) == "pyspark":
        from fastbin.engines.frames_spark import SparkFrame

        return SparkFrame.of(table, names)
    from fastbin.engines.frames_narwhals import NarwhalsFrame

    return NarwhalsFrame.of(table, names)


class GroupBySource(Source):
    """The rows of one fit, in their engine."""

    lists_in_part = False

    def __init__(self, frame: Frame, columns: Columns, progress: Progress | None = None) -> None:
        self._frame, self._columns, self._progress = frame, columns, progress
        self._sums = ["one"] if columns.weight is None else ["one", "weight"]
        self._n_passes = self._n_rows = 0
        self._levels: list[_Level] = []
        self.limits = limits_of(columns.score_range)

    @property
    def value_limit(self) -> int:
        return self._frame.value_limit

    def answer(self, plan: Plan) -> Answer:
        if plan.is_first:
            answer = self._count_all(int(plan.n_cells[0]))
        else:
            answer = self._count_within(plan)
        self._n_passes += 1
        if self._progress is not None:
            self._progress(self._n_passes, self._n_rows)
        return answer

    def _count_all(self, n_cells: int) -> Answer:
        """The first plan, at which bad rows are refused."""
        n_cells = min(max(n_cells, self._frame.least_cells), self._frame.most_cells)
        root = _Level.root(self.limits, Cuts.whole(self._columns.score_range, n_cells), n_cells)
        rows = root.number(self._columns.rows(self._frame), ["good", *self._sums])
        groups = rows.groups(["good", "cell"], sums=self._sums, ends="score")
        # A condition about NULL is NULL.
        if not all(good is not None and good == 1 for good in groups["good"].tolist()):
            self._columns.refuse_bad_rows(self._frame)
        self._n_rows = int(groups["rows"].sum())
        if self._n_rows == 0:
            raise InputError("table has no rows; a calibrator needs samples")
        if self._columns.weight is not None and not groups["weight"].any():
            raise no_samples(self._columns.weight)
        self._levels = [root.answered(groups["cell"], groups)]
        return Answer(self._cells(np.zeros(len(groups["cell"]), np.int64), groups), Values.none())

    def _count_within(self, plan: Plan) -> Answer:
        """A later plan: the rows are led through the cells of those before."""
        levels = self._way_to(plan)
        plan = self._with_room(plan)
        level = _Level.inside(plan, levels[-1])
        rows = self._columns.rows(self._frame)
        for before in levels:
            rows = before.number(rows, self._sums)
        rows = level.number(rows, ["interval", *self._sums])
        is_cut = plan.n_cells > 0
        groups = rows.groups(["interval", "cell"], sums=self._sums, ends="score")
        interval = groups["interval"].astype(np.int64)
        is_cell = is_cut[interval]
        listed, cut = ({name: column[chosen] for name, column in groups.items()} for chosen in (~is_cell, is_cell))
        values = Values.of_groups(interval[~is_cell], listed["cell"], *self._counts(listed))
        self._levels = [*levels, level.cut_only().answered(cut["cell"], cut)]
        return Answer(self._cells(interval[is_cell], cut), values)

    def _with_room(self, plan: Plan) -> Plan:
        """The plan with no more cells than there is room for in the answer, less beside values."""
        total, is_mixed = int(plan.n_cells.sum()), bool((plan.n_cells == 0).any())
        room = self._frame.most_cells // (8 if is_mixed else 1)
        if total <= room:
            return plan
        return plan._replace(n_cells=np.maximum(np.minimum(plan.n_cells, 2), plan.n_cells * room // total))

    def _way_to(self, plan: Plan) -> list[_Level]:
        """The fewest levels whose last one tells the intervals of a plan apart, or all that lead there."""
        covering = [depth for depth, level in enumerate(self._levels, 1) if level.covers(plan)]
        apart = [depth for depth in covering if self._levels[depth - 1].crowding(plan) <= FEW_INTERVALS]
        return self._levels[: (apart or covering[-1:])[0]]

    def _cells(self, interval: Int64s, groups: dict[str, Array]) -> Cells:
        return Cells.merged(interval, groups["low"] + 0.0, groups["high"] + 0.0, *self._counts(groups))

    def _counts(self, groups: dict[str, Array]) -> tuple[Int64s, Int64s]:
        """Samples, and those with label 1."""
        samples = groups["rows" if self._columns.weight is None else "weight"]
        # Sums of weights are doubles, which cannot wrap around; what they round to 2**53 may be more.
        if samples.sum() >= MOST_SAMPLES and self._columns.count(self._frame) > MOST_SAMPLES:
            raise too_many_samples(self._columns.weight)
        return samples.astype(np.int64), groups["one"].astype(np.int64)


class _Level(NamedTuple):
    """How a query numbers the cells of its rows, and, once it is answered, which of them hold rows."""

    low: Float64s  # the intervals that it cuts
    high: Float64s
    most_steps: float | None  # of the first query, which alone has rows beyond its interval
    by_ratio: bool
    # The columns of `Cuts`, and how the intervals are found by the number that the query before gave to a cell.
    table: dict[str, Array]
    cell: Array = np.empty(0)  # by their least scores
    cell_low: Float64s = np.empty(0)
    reached: Float64s = np.empty(0)  # the greatest score of this cell and of those before

    @classmethod
    def root(cls, limits: tuple[float, float], cuts: Cuts, n_cells: int) -> _Level:
        """Of the first query."""
        low, high = (np.array([limit]) for limit in limits)
        return cls(low, high, float(n_cells), cuts.by_ratio, cuts._asdict())

    @classmethod
    def inside(cls, plan: Plan, before: _Level) -> _Level:
        """Of a later one. Its table has a row for each interval and each cell of the query before that may hold its scores."""
        cuts = Cuts.inside(plan.low, plan.high, plan.n_cells)
        interval, cell = before.meeting(plan)
        is_cut, number = plan.n_cells > 0, np.arange(len(plan.low))
        ends: dict[str, Array] = {"low": plan.low, "high": plan.high, "is_listed": np.where(is_cut, 0.0, 1.0)}
        columns = {"interval": number, **ends, **cuts._asdict()}
        table = {"cell": cell, **{name: column[interval] for name, column in columns.items()}}
        return cls(plan.low[is_cut], plan.high[is_cut], None, cuts.by_ratio, table)

    def number(self, rows: Frame, kept: list[str]) -> Frame:
        """The rows of these intervals with the number of their cell; in listed ones, which have no cells, with their score."""
        columns = {name: rows.column(name) for name in ("score", *kept)}
        score = columns["score"]
        if self.most_steps is not None:
            numbers = {name: float(column[0]) for name, column in self.table.items()}
            cell = cell_of(rows, score, by_ratio=self.by_ratio, clip=self.most_steps, **numbers)
            return rows.select(**columns, cell=rows.as_key(cell))
        rows = rows.join(self.table, on="cell")
        rows = rows.where((score >= rows.column("low")) & (score <= rows.column("high")))
        cuts = {name: rows.column(name) for name in Cuts._fields}
        cell = cell_of(rows, score, by_ratio=self.by_ratio, **cuts)
        if not self.table["is_listed"].any():
            return rows.select(**columns, cell=rows.as_key(cell))
        # One of the two terms is 0. So there is no choice between cases, which some engines lack. A score goes out once.
        listed = score * rows.column("is_listed")
        return rows.select(**{**columns, "score": score - listed}, cell=listed + cell)

    def cut_only(self) -> _Level:
        """Without the listed intervals, whose scores are no numbers of cells."""
        is_cut = self.table["is_listed"] == 0.0
        return self._replace(table={name: column[is_cut] for name, column in self.table.items()})

    def answered(self, cell: Array, groups: dict[str, Array]) -> _Level:
        """With the cells that hold rows."""
        order = np.argsort(groups["low"], kind="stable")
        return self._replace(
            cell=cell[order], cell_low=groups["low"][order], reached=np.maximum.accumulate(groups["high"][order])
        )

    def covers(self, plan: Plan) -> bool:
        """Whether each interval of a plan lies in one of these."""
        at = np.searchsorted(self.low, plan.low, side="right") - 1
        return bool(((at >= 0) & (plan.high <= self.high[at])).all()) if len(self.low) else False

    def crowding(self, plan: Plan) -> int:
        """The most intervals of a plan that meet one cell: a row of it is compared with each of them."""
        cell = self.meeting(plan)[1]
        return int(np.unique(cell, return_counts=True)[1].max(initial=0))

    def meeting(self, plan: Plan) -> tuple[Int64s, Array]:
        """All pairs of an interval of a plan and a cell that may hold scores of it."""
        first = np.searchsorted(self.reached, plan.low, side="left")
        n_cells = np.maximum(0, np.searchsorted(self.cell_low, plan.high, side="right") - first)
        interval = np.repeat(np.arange(len(n_cells)), n_cells)
        nth = np.arange(len(interval)) - (np.cumsum(n_cells) - n_cells)[interval]
        return interval, self.cell[first[interval] + nth]
