"""Segments where the rows are: all models of a set from two queries, whose answers are as small as the models.

The first query counts the rows of each segment; from these numbers alone it is decided which segments are thin, and how many
bins each model has. The second adds up counts over the scores of each model in ascending order, by window functions, and keeps
the groups of equal scores that hold a boundary, by an inequality in integers, and the last group. Each model is then fitted to
its own groups, by the same function as to any source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.cells import Key, in_order
from fastbin._base.checks import MOST_SAMPLES, ScoreRange, check_score_range, too_many_samples
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.ranks import n_slices
from fastbin._base.suspicions import MANY
from fastbin._fit.edges import choose_n_bins
from fastbin._fit.quantiles import CHANGED, Answer, Cells, Plan, Source, Values
from fastbin._fit.rows import Progress, limits_of
from fastbin.binning.uniform_mass import UniformMassBinning
from fastbin.engines.group_by import FitColumns
from fastbin.model_set import ModelSet
from fastbin.multi.cells import BinaryMethod, CellKind, CellPart, FittedSet, SetShape
from fastbin.multi.segmented import SegmentedBinning
from fastbin.tables.columns import bad_segments
from fastbin.tables.frames import Names
from fastbin.tables.labels import MISSING, Fault, needs_rows, no_samples, refuse
from fastbin.tables.opening import Opened
from fastbin.tables.sql import BOOLEANS, INTEGERS, SOURCE, TEXTS, SqlTable, is_whole

# What integers of 64 bits hold of a number of samples times a number of bins.
MOST_PRODUCT = 2**62


def fit_segments(
    table: Opened, names: Names, positive: Any, method: SegmentedBinning, told: list[str], progress: Progress | None = None
) -> ModelSet:
    """The set that `SegmentedBinning` fits to the same rows in memory, byte for byte; `told` takes the warnings.

    The engine, DuckDB or Spark, sorts the scores of each segment. It returns a row for each segment, and one for each of its
    bins.
    """
    query = _Query.of(table, names, positive, method)

    def fit_all(cells: BinaryMethod, kind: CellKind) -> FittedSet:
        keys, totals = query.totals()
        n_rows = int(totals.n_rows.sum())
        shape = SetShape.of(keys, totals.n_samples, cells.needed, kind)
        parts = shape.parts(cells, totals.n_samples)
        if progress is not None:
            progress(1, n_rows)
        sources = query.boundaries(keys, totals, parts)
        if progress is not None:
            progress(2, n_rows)
        return shape.fitted(parts, sources)

    return method._fit_by(fit_all, told).model_


class _Totals(NamedTuple):
    """The samples of each segment, in the order of the keys, its rows, and how many of these have a score of 0 or 1."""

    n_samples: Int64s
    n_positive: Int64s
    n_rows: Int64s
    n_hard: Int64s


class _Query(NamedTuple):
    """Rows in an engine, with the columns c_segment, c_score, c_one and c_weight."""

    rows: SqlTable
    columns: FitColumns
    plain: SqlTable  # the rows with their own names
    segment: str
    has_text: bool

    @classmethod
    def of(cls, table: Opened, names: Names, positive: Any, method: SegmentedBinning) -> _Query:
        """Refuses columns, calibrators and engines that cannot be."""
        if table.package not in ("duckdb", "pyspark"):
            raise InputTypeError(
                f"table is a {table.kind} of {table.package}, and segments are asked for by window functions, of DuckDB "
                f"and Spark alone; {table.how_to_bring}"
            )
        score_range = _score_range(method, table)
        rows = table.frame(names)
        assert isinstance(rows, SqlTable)
        columns = FitColumns.of(rows, names, score_range, positive)
        assert names.segment is not None
        kind = rows.types[names.segment]
        if kind not in TEXTS and (kind in BOOLEANS or not is_whole(rows.full_types[names.segment])):
            raise bad_segments(names.segment, rows.full_types[names.segment])
        words = rows.words
        score, label = words.cast(rows.quoted(names.score)), rows.quoted(names.label)
        low, high = map(words.number, limits_of(score_range))
        zero, one = rows.literal(columns.zero), rows.literal(columns.one)
        weight = "1" if names.weight is None else f"CAST({rows.quoted(names.weight)} AS BIGINT)"
        good = f"{score} >= {low} AND {score} <= {high} AND ({label} = {zero} OR {label} = {one}) AND {weight} >= 0"
        segment = rows.quoted(names.segment)
        chosen = {
            # What 64 bits do not hold is refused by its value.
            "c_segment": f"CAST({segment} AS BIGINT)" if kind in INTEGERS else segment,
            "c_score": f"{score} + {words.number(0.0)}",  # -0.0 is 0.0
            "c_one": f"CASE WHEN {label} = {one} THEN {weight} ELSE 0 END",
            "c_weight": weight,
            "c_good": f"CASE WHEN {good} THEN 1 ELSE 0 END",
        }
        return cls(rows.selected(chosen), columns, rows, names.segment, kind in TEXTS)

    def totals(self) -> tuple[list[Key], _Totals]:
        """The keys, ascending, and what they hold; bad rows are refused."""
        query = (
            "SELECT s.c_segment, count(*) AS n_rows, CAST(sum(s.c_good) AS BIGINT) AS n_good, "
            "CAST(sum(s.c_weight) AS DECIMAL(38, 0)) AS n_samples, CAST(sum(s.c_one) AS DECIMAL(38, 0)) AS n_positive, "
            "sum(CASE WHEN s.c_score IN (0, 1) THEN 1 ELSE 0 END) AS n_hard "
            f"FROM {SOURCE} AS s GROUP BY s.c_segment"
        )
        found = self.rows.run(query).fetched()
        n_rows = sum(row[1] for row in found)
        if sum(row[2] for row in found) < n_rows:
            self.columns.refuse_bad_rows(self.plain)
        missing = sum(row[1] for row in found if row[0] is None)
        if missing:
            refuse([Fault(self.segment, MISSING, missing)], n_rows)
        if not found:
            raise InputError("table has no rows; a calibrator needs samples")
        as_key: type[str] | type[int] = str if self.has_text else int  # which may come as decimals
        by_key = {as_key(row[0]): (int(row[3]), int(row[4]), int(row[1]), int(row[5])) for row in found}
        n_samples = sum(own[0] for own in by_key.values())
        if n_samples > MOST_SAMPLES:
            raise too_many_samples(self.columns.weight)
        if n_samples == 0:
            raise no_samples(self.columns.weight)
        keys = in_order(sorted(by_key), f"a key of {self.segment}", are_rows=False)  # groups come in any order
        return keys, _Totals(*np.array([by_key[key] for key in keys], np.int64).T)

    def boundaries(self, keys: list[Key], totals: _Totals, parts: list[CellPart]) -> list[_KnownGroups]:
        """For each part the groups at its boundaries, as a source that answers for all its rows."""
        n_bins = [_n_bins(part) for part in parts]
        asked = [number for number, bins in enumerate(n_bins) if bins > 1 or n_slices(parts[number].n_samples)]
        rows = np.empty((0, 6)) if not asked else self._ask(keys, parts, asked, n_bins)
        run = rows[:, 0].astype(np.int64)
        order = np.lexsort((rows[:, 1].astype(np.float64), run))
        score, counts = rows[order, 1].astype(np.float64) + 0.0, rows[order, 2:].astype(np.int64)
        bounds = np.searchsorted(run[order], np.arange(len(parts) + 1))
        found = []
        for number, part in enumerate(parts):
            below, below_ones, equal, equal_ones = counts[bounds[number] : bounds[number + 1]].T
            n_positive = int(totals.n_positive[part.numbers].sum())
            if number in asked and [*(below + equal)[-1:], *(below_ones + equal_ones)[-1:]] != [part.n_samples, n_positive]:
                raise InputError(CHANGED)
            samples, ones = _alternating(below, equal, part.n_samples), _alternating(below_ones, equal_ones, n_positive)
            own = score[bounds[number] : bounds[number + 1]]
            n_rows, n_hard = (int(column[part.numbers].sum()) for column in (totals.n_rows, totals.n_hard))
            found.append(_KnownGroups(limits_of(self.columns.score_range), own, samples, ones, n_rows, n_hard))
        return found

    def _ask(self, keys: list[Key], parts: list[CellPart], asked: list[int], n_bins: list[int]) -> Array:
        """Columns run, score, below, below_ones, equal, equal_ones: of groups at boundaries, and of the last of each run."""
        sizes = [(number, parts[number].n_samples) for number in asked]
        runs = ", ".join(f"({number}, {total}, {n_bins[number]}, {max(1, n_slices(total))})" for number, total in sizes)
        cells = ", ".join(f"({self.rows.literal(keys[cell])}, {number})" for number in asked for cell in parts[number].numbers)
        cell = self.rows.words.bytewise.format("p.cell") if self.has_text else "p.cell"
        ends = ("w.below", "w.below + w.equal")
        boundaries = [_boundaries_up_to(samples, parts[0].calibrator.scheme, "r.bins", self.rows) for samples in ends]
        cuts = [_boundaries_up_to(samples, "umd", "r.slices", self.rows) for samples in ends]
        hint = self.rows.words.broadcast
        # Sums of integers below 2**53, which doubles add exactly and fast. The last group of a run shows what it holds in all.
        query = (
            f"WITH p(cell, run) AS (SELECT * FROM (VALUES {cells})), "
            f"r(run, total, bins, slices) AS (SELECT * FROM (VALUES {runs})),\n"
            f"g AS (SELECT {hint.format('p')}p.run, s.c_score AS score, CAST(sum(s.c_weight) AS BIGINT) AS equal, "
            f"CAST(sum(s.c_one) AS BIGINT) AS equal_ones FROM {SOURCE} AS s JOIN p ON s.c_segment = {cell} "
            "GROUP BY p.run, s.c_score),\n"
            "w AS (SELECT g.*, CAST(sum(CAST(equal AS DOUBLE)) OVER up_to AS BIGINT) - equal AS below, "
            "CAST(sum(CAST(equal_ones AS DOUBLE)) OVER up_to AS BIGINT) - equal_ones AS below_ones, "
            "lead(1) OVER (PARTITION BY run ORDER BY score ASC) IS NULL AS is_last "
            "FROM g WINDOW up_to AS (PARTITION BY run ORDER BY score ASC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW))\n"
            f"SELECT {hint.format('r')}w.run, w.score, w.below, w.below_ones, w.equal, w.equal_ones "
            f"FROM w JOIN r ON w.run = r.run WHERE w.is_last OR {boundaries[1]} > {boundaries[0]} OR {cuts[1]} > {cuts[0]}"
        )
        found = self.rows.run(query).fetched()
        return np.array([tuple(row) for row in found], object).reshape(-1, 6)


def _score_range(method: SegmentedBinning, table: Opened) -> ScoreRange:
    """That of the calibrator, which must be one that such queries fit."""
    calibrator = method.calibrator
    if type(calibrator) is not UniformMassBinning:
        name = "CertifiedCalibration" if calibrator is None else type(calibrator).__name__
        raise InputError(
            f"calibrator is {name}, and segments are fitted by GROUP BY with UniformMassBinning alone; pass one, "
            f"or {table.how_to_bring}"
        )
    why = calibrator._why_all_rows(table.how_to_bring)
    if calibrator.sampling_rate != 1.0:
        why = f"sampling_rate={calibrator.sampling_rate!r} moves the values of each segment in memory; {table.how_to_bring}"
    if why is not None:
        raise needs_rows("segments are", why)
    return check_score_range(calibrator.score_range)


def _n_bins(part: CellPart) -> int:
    """How many bins a part has before ties."""
    calibrator = part.calibrator
    assert isinstance(calibrator, UniformMassBinning)
    n_bins = choose_n_bins(calibrator.n_bins, part.n_samples, calibrator.scheme, 1.0) if part.n_samples else 1
    if max(n_bins, n_slices(part.n_samples)) * (part.n_samples + 1) >= MOST_PRODUCT:
        raise InputError(f"{part.name} has {part.n_samples} samples, and n_bins is {n_bins}: too many for integers of 64 bits")
    return n_bins


def _boundaries_up_to(samples: str, scheme: str, bins: str, rows: SqlTable) -> str:
    """How many ranks of boundaries (`fastbin._base.ranks`) are at most so many samples, as an expression."""
    if scheme == "umb":
        ranks = rows.integer_division.format(f"({samples} + 1) * {bins} - 1", "r.total")
    else:
        ranks = rows.integer_division.format(f"({samples}) * {bins}", "r.total + 1")
    return f"least({ranks}, {bins} - 1)"


@dataclass(frozen=True)
class _KnownGroups(Source):
    """All rows of a model as a source, in cells: a gap, the group of equal scores at a boundary, a gap, ..., a gap.

    Of a gap nothing is known but the numbers of its rows, and a boundary never lies in one.
    """

    limits: tuple[float, float]
    score: Float64s  # of the groups
    n_samples: Int64s  # of the cells
    n_positive: Int64s
    n_rows: int
    n_hard: int  # rows with a score of 0 or 1
    value_limit: int = 0  # nothing is listed

    @property
    def has_hard_labels(self) -> bool:
        return MANY <= self.n_rows == self.n_hard

    def answer(self, plan: Plan) -> Answer:
        """The answer to the first and only plan."""
        if not plan.is_first or (self.n_samples < 0).any() or (self.n_positive < 0).any():
            raise InputError(CHANGED)
        return Answer(
            Cells(np.zeros(len(self.n_samples), np.int64), self.n_samples, self.n_positive, self._ends), Values.none()
        )

    def _ends(self, chosen: Int64s) -> tuple[Float64s, Float64s]:
        if (chosen % 2 == 0).any():
            raise InputError(CHANGED)
        return self.score[chosen // 2], self.score[chosen // 2]


def _alternating(below: Int64s, equal: Int64s, total: int) -> Int64s:
    """The counts of gaps and groups, of what lies below each group and in it."""
    counts = np.empty(2 * len(equal) + 1, np.int64)
    counts[1::2] = equal
    counts[::2] = np.append(below, total) - np.append(0, below + equal)
    return counts
