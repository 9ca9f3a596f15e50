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

from fastbin._base.array_types import Array, Bools, Float64s, Int64s
from fastbin._base.checks import MOST_SAMPLES, SAY_POSITIVE, Labels, ScoreRange, is_missing, too_many_samples
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.suspicions import MANY
from fastbin._fit.quantiles import Answer, Cells, Plan, Source, Values
from fastbin._fit.rows import GREATEST, Progress, limits_of
from fastbin.tables.columns import CAST_SCORES, real_weights
from fastbin.tables.frames import BOOLEAN, FLOAT, INTEGER, Frame, Names
from fastbin.tables.labels import INFINITE, MISSING, NAN, NEGATIVE, Fault, no_samples, outside, refuse, strange_label

# A row may be compared with so many intervals; one more query to join with costs about as much.
FEW_INTERVALS = 4


class GroupBySource(Source):
    """The rows of one fit, in their engine."""

    lists_in_part = False

    def __init__(self, frame: Frame, columns: FitColumns, progress: Progress | None = None) -> None:
        self._frame, self._columns, self._progress = frame, columns, progress
        self._sums = ["one"] if columns.weight is None else ["one", "weight"]
        self._n_passes = self._n_rows = 0
        self._zeros_and_ones = False
        self._levels: list[_Level] = []
        self.limits = limits_of(columns.score_range)

    @property
    def has_hard_labels(self) -> bool:
        return self._zeros_and_ones and self._n_rows >= MANY

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
        if not holds(groups["good"]).all():
            self._columns.refuse_bad_rows(self._frame)
        self._n_rows = int(groups["rows"].sum())
        if self._n_rows == 0:
            raise InputError("table has no rows; a calibrator needs samples")
        if self._columns.weight is not None and not groups["weight"].any():
            raise no_samples(self._columns.weight)
        self._zeros_and_ones = bool(((groups["low"] == groups["high"]) & np.isin(groups["low"], (0.0, 1.0))).all())
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
        """The level of the first query."""
        low, high = (np.array([limit]) for limit in limits)
        return cls(low, high, float(n_cells), cuts.by_ratio, cuts._asdict())

    @classmethod
    def inside(cls, plan: Plan, before: _Level) -> _Level:
        """The level of a later query. Its table has a row for each interval and each cell before that may hold its scores."""
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
        # One of the two terms is 0. A choice between cases is not needed, which some engines lack. A score goes out once.
        listed = score * rows.column("is_listed")
        return rows.select(**{**columns, "score": score - listed}, cell=listed + cell)

    def cut_only(self) -> _Level:
        """Without the listed intervals, whose scores are not numbers of cells."""
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


# ------------------------------------------------------------------------------------------------- the columns of a fit


NUMERIC = (FLOAT, INTEGER, BOOLEAN)

# NULL, NaN, the two that labels should be, and one too many.
MOST_LABELS = 5


class FitColumns(NamedTuple):
    """Columns of a frame, and the values of its labels that stand for 0 and 1."""

    score: str
    label: str
    weight: str | None
    zero: Any
    one: Any
    score_range: ScoreRange
    positive: Any = None

    @classmethod
    def of(cls, frame: Frame, names: Names, score_range: ScoreRange, positive: Any = None) -> FitColumns:
        """Refuses columns of the wrong kind. With `positive`, one query for the values of the labels."""
        kinds, (score, label, weight, _) = frame.kinds(), names
        if kinds[score] not in NUMERIC:
            raise InputTypeError(f"is {score!r}, a column of {kinds[score]}", CAST_SCORES, argument="score", value=score)
        if weight is not None and kinds[weight] == FLOAT:
            raise real_weights(weight, kinds[weight])
        if weight is not None and kinds[weight] not in NUMERIC:
            raise InputTypeError(f"{weight} holds {kinds[weight]}, not whole numbers")
        if positive is not None:
            zero, one = _two_values(frame, label, positive)
        elif kinds[label] in NUMERIC:
            zero, one = (False, True) if kinds[label] == BOOLEAN else (0, 1)
        else:
            seen = _labels(frame.select(label=frame.column(label)))
            if not seen:
                raise InputError(f"label is {label!r}, a column of {kinds[label]} without a value; a calibrator needs labels")
            problem = f"is {label!r}, a column of {kinds[label]} such as {' and '.join(map(repr, seen[:2]))}"
            raise InputTypeError(problem, SAY_POSITIVE, argument="label", value=label)
        return cls(score, label, weight, zero, one, score_range, positive)

    def rows(self, frame: Frame) -> Frame:
        """The rows as every query sees them: "score", "one" (1 for label 1), "weight" where there is one, and "good"."""
        score, label = frame.as_float(frame.column(self.score)), frame.column(self.label)
        low, high = limits_of(self.score_range)
        columns = {"score": score, "one": frame.as_float(label == self.one)}
        good = (score >= low) & (score <= high) & ((label == self.zero) | (label == self.one))
        if self.weight is not None:
            weight = frame.as_float(frame.column(self.weight))
            columns |= {"weight": weight, "one": columns["one"] * weight}
            good = good & (weight >= 0)
        return frame.select(**columns, good=good)

    def count(self, frame: Frame) -> int:
        """The samples by weights, exact up to 2**53, and beyond that more than 2**53. One query."""
        assert self.weight is not None
        column = frame.column(self.weight)
        weight = frame.as_float(column)
        half = frame.floor(weight * 0.5)
        groups = frame.select(half=half, rest=weight - half, is_huge=column > MOST_SAMPLES).groups(
            ["is_huge"], sums=["half", "rest"]
        )
        if groups["is_huge"].any():
            return MOST_SAMPLES + 1
        return int(groups["half"].sum()) + int(groups["rest"].sum())

    def refuse_bad_rows(self, frame: Frame) -> None:
        """Raise for the rows that are bad, with their number of each kind. One query; one more for an example of each kind."""
        kinds = self._faults(frame)
        conditions = {f"is_{i}": condition for i, (_, _, condition) in enumerate(kinds)}
        groups = frame.select(**conditions).groups(list(conditions))
        rows, faults = groups["rows"].astype(np.int64), []
        told = {column: np.zeros(len(rows), np.bool_) for column, _, _ in kinds}
        for (column, what, condition), name in zip(kinds, conditions, strict=True):
            is_so = holds(groups[name]) & ~told[column]  # the first of several faults of one value is told
            told[column] |= is_so
            n_rows = int(rows[is_so].sum())
            has_example = n_rows > 0 and what not in (MISSING, NAN)
            examples = _labels(frame.where(condition).select(label=frame.column(column))) if has_example else []
            faults.append(Fault(column, what, n_rows, next(iter(examples), None)))
        refuse(faults, int(rows.sum()))

    @property
    def _strange(self) -> str:
        return strange_label() if self.positive is None else strange_label(self.one, self.zero)

    def _faults(self, frame: Frame) -> list[tuple[str, str, Any]]:
        """The possible faults: the column, the words, and the condition."""
        score, label = frame.as_float(frame.column(self.score)), frame.column(self.label)
        low, high = limits_of(self.score_range)
        is_finite = (score <= GREATEST) & (score >= -GREATEST)
        faults = [
            (self.score, MISSING, frame.is_null(score)),
            (self.score, NAN, frame.is_nan(score)),
            (self.score, INFINITE, ~is_finite),
            (self.score, outside(self.score_range), is_finite & ((score < low) | (score > high))),
            (self.label, MISSING, frame.is_null(label)),
            *([(self.label, NAN, frame.is_nan(frame.as_float(label)))] if frame.kinds()[self.label] == FLOAT else []),
            (self.label, self._strange, ~((label == self.zero) | (label == self.one))),
        ]
        if self.weight is not None:
            weight = frame.as_float(frame.column(self.weight))
            faults += [(self.weight, MISSING, frame.is_null(weight)), (self.weight, NEGATIVE, weight < 0)]
        return faults


def holds(answers: Array) -> Bools:
    """Where a condition holds, of answers that are booleans or 0 and 1; not where it is NULL, as one about NULL is."""
    return np.array([answer is not None and answer == 1 for answer in answers.tolist()], np.bool_)


def _labels(frame: Frame) -> list[Any]:
    """Some of the values of labels, in order where they have one."""
    values = [value for value in frame.groups(["label"], most=MOST_LABELS)["label"].tolist() if not is_missing(value)]
    return sorted(values, key=repr)


def _two_values(frame: Frame, name: str, positive: Any) -> tuple[Any, Any]:
    """The other value and this one, as the column has them."""
    label, seen = frame.column(name), Labels(positive)
    found = _labels(frame.select(label=label))
    seen.add(found, [1] * len(found))
    if len(found) > 2 and not seen.ones and isinstance(positive, str) == isinstance(found[0], str):  # there may be more
        ones = _labels(frame.where(label == positive).select(label=label))
        seen.add(ones, [1] * len(ones))
    seen.check_positive(f"labels in {name}")
    return (seen.zeros or seen.ones or [positive])[0], (seen.ones or [positive])[0]


# ------------------------------------------------------------------------------------------------- cells of the score line

# Cells are arithmetic that every engine has. A cell is the sum of two rounded-down numbers, both monotone in the score: one
# counts steps of equal width, the other steps of equal ratio. So the cells are cut finely both where scores lie evenly and
# where they crowd towards zero, and a step needs no choice between cases. How exactly an engine computes does not matter: cells
# are known by the scores that they hold.


LEAST_NORMAL = float(np.finfo(np.float64).tiny)

# Between the cells of two intervals there is room for what rounding may add below and above.
ROOM = 2

# Without a score range, logits lie here, and half of all cells.
USUAL = 32.0

# An interval with so many steps of the ratio e between its ends is cut by ratio, too.
WIDE = 3.0


class Cuts(NamedTuple):
    """How intervals are cut: columns of one entry each."""

    first: Float64s  # the number of the first cell; 0 for intervals that are not cut into cells
    origin: Float64s
    scale: Float64s  # steps for each unit of the score, in two factors: for subnormal widths one would overflow
    more_scale: Float64s
    log_origin: Float64s
    log_scale: Float64s

    @classmethod
    def of(cls, low: Float64s, high: Float64s, n_even: Int64s, n_ratio: Int64s, *, is_cut: Bools | None = None) -> Cuts:
        """So many steps of equal width and of equal ratio."""
        fraction, exponent = np.frexp(np.subtract(high, low, out=np.ones(len(low)), where=n_even > 0))
        half = exponent // 2
        room = n_even + n_ratio + 1 + 2 * ROOM
        first = np.cumsum(room) - room + ROOM + 1.0  # from 1: -0.0 would be a group beside 0.0
        width = np.where(n_ratio > 0, size(high) - size(low), 1.0)
        return cls(
            first if is_cut is None else np.where(is_cut, first, 0.0),
            np.where(n_even > 0, low, 0.0),
            np.where(n_even > 0, np.ldexp(1.0, -half), 0.0),
            np.ldexp(n_even / fraction, half - exponent),
            np.where(n_ratio > 0, size(low), 0.0),
            n_ratio / width,
        )

    @classmethod
    def whole(cls, score_range: ScoreRange, n_cells: int) -> Cuts:
        """All scores: evenly in a range, and without one half by ratio, half where logits lie."""
        low, high = (np.array([end]) for end in limits_of(score_range))
        n, zero = np.array([n_cells]), np.zeros(1, np.int64)
        if has_width(low, high)[0]:
            return cls.of(low, high, n, zero)
        by_ratio = cls.of(low, high, zero, n - n // 2)
        evenly = cls.of(np.array([-USUAL]), np.array([USUAL]), n // 2, zero)
        return evenly._replace(log_origin=by_ratio.log_origin, log_scale=by_ratio.log_scale)

    @classmethod
    def inside(cls, low: Float64s, high: Float64s, n_cells: Int64s) -> Cuts:
        """About so many cells of each interval; 0 for those whose scores are asked for."""
        n = np.where((n_cells > 1) & (low < high), n_cells, 0)
        is_finite, is_wide = has_width(low, high), size(high) - size(low) > WIDE
        n_even = np.where(is_finite, np.where(is_wide, n - n // 2, n), 0)
        return cls.of(low, high, n_even, np.where(is_finite & ~is_wide, 0, n - n_even), is_cut=n_cells > 0)

    @property
    def by_ratio(self) -> bool:
        """Whether any interval has steps of equal ratio."""
        return bool(self.log_scale.any())


def has_width(low: Float64s, high: Float64s) -> Bools:
    """Whether the difference of two ends is a double."""
    with np.errstate(over="ignore"):
        return np.isfinite(high - low)


def size(scores: Float64s) -> Float64s:
    """A monotone function of scores that rises by one where their magnitude grows by the factor e."""
    return np.sign(scores) * (np.log(np.maximum(np.abs(scores), LEAST_NORMAL)) + 709.0)


def size_of(frame: Frame, score: Any) -> Any:
    """The same as an expression."""
    sign = frame.as_float(score > 0.0) - frame.as_float(score < 0.0)
    return sign * (frame.log(frame.clip(score * sign, LEAST_NORMAL, GREATEST)) + 709.0)


def cell_of(frame: Frame, score: Any, *, by_ratio: bool, clip: float | None = None, **cuts: Any) -> Any:
    """The number of the cell of a score: an expression of it and of the columns of `Cuts`, or of single numbers.

    With `clip`, at most so many steps of equal width, whatever the score.
    """
    steps = (score - cuts["origin"]) * cuts["scale"] * cuts["more_scale"]
    cell = frame.floor(steps if clip is None else frame.clip(steps, 0.0, clip)) + cuts["first"]
    return cell + frame.floor((size_of(frame, score) - cuts["log_origin"]) * cuts["log_scale"]) if by_ratio else cell
