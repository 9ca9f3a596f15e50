"""The passes answer what sorting answers, whatever the data, the source, the batches and the threads.

Inputs are small and the thresholds are lowered, so that every branch runs: cells within cells, cells of a single score, listed
values, all root maps. Other sources answer the same plans by GROUP BY, or in parts that are added.
"""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import pytest
from wordings import refuses

from fastbin._base.errors import InputError
from fastbin._fit import histogram
from fastbin._fit import rows as fit_rows
from fastbin._fit.histogram import Layout, RootMap, choose_nodes, choose_root, codes_of, least_reaching, mirrored, scores_of
from fastbin._fit.quantiles import Answer, Boundaries, Cells, Plan, Values, search
from fastbin._fit.rows import Rows, RowsSource, groups_by_sorting

SIZES = (200, 3000, 20_000)


def _shapes(n: int, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    yield "uniform", rng.random(n)
    yield "skewed", rng.beta(0.5, 5, n)
    yield "near both ends", 1 / (1 + np.exp(-rng.normal(0, 16, n)))
    yield "near both ends, with them", np.where(rng.random(n) < 0.1, rng.integers(0, 2, n), rng.beta(0.2, 0.2, n))
    yield "click rates", rng.lognormal(-13, 1, n).clip(0, 1)
    yield "13 values", rng.integers(0, 13, n) / 12
    yield "100 values", rng.integers(0, 100, n) / 100
    yield "constant", np.full(n, 0.3)
    yield "signed zeros", np.where(rng.random(n) < 0.5, -0.0, 0.0)
    yield "subnormal", rng.integers(0, 1_000_000, n) * 5e-324
    yield "clusters at all scales", np.clip(0.5 + np.exp(-rng.random(n) * 40) * rng.choice([-1, 1], n) * 0.5, 0, 1)
    yield "all bit patterns", rng.integers(0, 0x3FF0000000000000, n).view(np.float64)
    yield "neighbours one ulp apart", 0.5 + rng.integers(0, 50, n) * 2.0**-53
    yield "one heavy value", np.where(rng.random(n) < 0.6, 0.25, rng.random(n))
    yield "float32", rng.random(n).astype(np.float32)
    yield "sorted", np.sort(rng.random(n))
    yield "margins", rng.normal(0, 10, n)
    yield "margins of all magnitudes", rng.choice([-1, 1], n) * rng.integers(0, 0x7FE0000000000000, n).view(np.float64)


def _by_argsort(rows: Rows, ranks: np.ndarray) -> tuple[np.ndarray, ...]:
    """A third way: argsort and cumulative sums."""
    order = np.argsort(rows.scores, kind="stable")
    scores = rows.scores[order].astype(np.float64)
    weights = np.ones(len(rows), np.int64) if rows.frequencies is None else rows.frequencies[order]
    samples = np.concatenate(([0], np.cumsum(weights)))
    ones = np.concatenate(([0], np.cumsum(weights * rows.labels[order])))
    score = scores[np.searchsorted(samples[1:], ranks)]
    first, end = np.searchsorted(scores, score), np.searchsorted(scores, score, side="right")
    equal, equal_ones = samples[end] - samples[first], ones[end] - ones[first]
    return score, samples[first], ones[first], equal, equal_ones, samples[-1], ones[-1], ranks


def _agree(got: Boundaries, expected: tuple[np.ndarray, ...]) -> None:
    for name, column, wanted in zip(Boundaries._fields, got, expected, strict=True):
        assert np.array_equal(column, wanted), name
    assert not np.signbit(got.score[got.score == 0]).any()


def _force_passes(monkeypatch: pytest.MonkeyPatch, listed_share: float) -> None:
    """Passes also over few rows, with few of them listed."""
    monkeypatch.setattr(fit_rows, "SORT_UP_TO", 64)
    monkeypatch.setattr(fit_rows, "SORT_FROM_RANKS", 0)
    monkeypatch.setattr(histogram, "CHOICE_COST", 0)
    monkeypatch.setattr(fit_rows, "ALWAYS_LISTED", 16)
    monkeypatch.setattr(fit_rows, "LISTED_SHARE", listed_share)


@pytest.mark.sampled
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_boundary_groups_agree_with_argsort(n: int, weighted: bool, n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _force_passes(monkeypatch, listed_share=1 / 64)
    rng = np.random.default_rng([n, weighted])
    for _, scores in _shapes(n, rng):
        labels = (rng.random(n) < 0.4).astype(np.uint8)
        frequencies = rng.integers(0, 4, n) if weighted else None
        rows = Rows(scores, labels, frequencies, None)
        n_samples = rows.n_samples()
        for n_ranks in (1, 9, 99, min(n // 2, 400)):
            ranks = np.unique(np.linspace(1, n_samples, n_ranks).astype(np.int64))
            got = RowsSource(rows, n_threads).find(lambda _, ranks=ranks: ranks, len(ranks))
            _agree(got, _by_argsort(rows, ranks))


@pytest.mark.parametrize("position", [1, 500, 998])
def test_a_bad_row_is_refused_whichever_thread_sees_it(position: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _force_passes(monkeypatch, listed_share=1 / 24)
    scores = np.linspace(0.0, 1.0, 1000)
    scores[position] = np.nan
    source = RowsSource(Rows(scores, np.zeros(1000, np.uint8), None, (0.0, 1.0)), 3)
    with pytest.raises(InputError, match=rf"scores\[{position}\] is NaN"):
        source.find(lambda _: np.array([500]), 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_sorting_agrees_with_argsort(weighted: bool) -> None:
    rng = np.random.default_rng(5)
    for _, scores in _shapes(500, rng):
        labels = (rng.random(500) < 0.4).astype(np.uint8)
        rows = Rows(scores, labels, rng.integers(0, 4, 500) if weighted else None, None)
        ranks = np.arange(1, rows.n_samples() + 1, 7)
        _agree(groups_by_sorting(rows, lambda _, ranks=ranks: ranks), _by_argsort(rows, ranks))


def test_the_sample_never_changes_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misleading sample costs passes, not exactness."""
    _force_passes(monkeypatch, listed_share=1 / 1000)
    rng = np.random.default_rng(6)
    scores, labels = rng.beta(0.5, 5, 30_000), rng.integers(0, 2, 30_000).astype(np.uint8)
    rows = Rows(scores, labels, None, (0.0, 1.0))
    ranks = np.arange(1, 30_001, 997)
    for sample in (
        np.empty(0),
        np.full(100, 0.9),
        np.array([0.0, 1.0]),
        np.array([5e-324, 1e-300]),
        np.array([0.3] * 50 + [0.30001]),
    ):
        counted = Counting(RowsSource(rows))
        counted.source._layout = Layout(lambda _, sample=sample: sample, len(rows), rows.limits, 128 * len(ranks))
        _agree(search(counted, lambda _: ranks, len(ranks)), _by_argsort(rows, ranks))
        assert counted.n_plans < 30


@pytest.mark.parametrize("n_values", [101, 1001])
def test_rounded_scores_are_settled_by_one_pass(n_values: int) -> None:
    """Each of the values has a cell of its own, though most ranks have theirs."""
    rng = np.random.default_rng(9)
    rows = Rows(
        rng.integers(0, n_values, 200_000) / (n_values - 1), rng.integers(0, 2, 200_000).astype(np.uint8), None, (0.0, 1.0)
    )
    ranks = np.arange(1, 200_001, 667)
    counted = Counting(RowsSource(rows))
    _agree(search(counted, lambda _: ranks, len(ranks)), _by_argsort(rows, ranks))
    assert counted.n_plans == 1


@pytest.mark.parametrize("shape", ["confident", "overconfident", "some zeros"])
def test_scores_that_crowd_at_an_end_take_two_passes(shape: str) -> None:
    """Three to five if cells had equal widths or equal shares of codes, those between 0 and the next score among them."""
    rng = np.random.default_rng(10)
    n = 200_000
    if shape == "some zeros":
        scores = np.where(rng.random(n) < 0.01, 0.0, rng.lognormal(-7, 1.5, n).clip(0, 1))
    else:
        scores = 1 / (1 + np.exp(-rng.normal(0, 4 if shape == "confident" else 16, n)))
    rows = Rows(scores, rng.integers(0, 2, n).astype(np.uint8), None, (0.0, 1.0))
    ranks = np.arange(1, n + 1, 667)
    counted = Counting(RowsSource(rows))
    _agree(search(counted, lambda _: ranks, len(ranks)), _by_argsort(rows, ranks))
    assert counted.n_plans == 2


class Counting:
    """A source that counts its plans, and has them pickled on the way, as a cluster would."""

    lists_in_part = True

    def __init__(self, answering: RowsSource) -> None:
        self.source, self.n_plans = answering, 0
        self.limits, self.value_limit = answering.limits, answering.value_limit

    def answer(self, plan: Plan) -> Answer:
        self.n_plans += 1
        return self.source.answer(pickle.loads(pickle.dumps(plan)))


class Parts:
    """A source made of several, each with cells of its own, whose answers are added in any order."""

    lists_in_part = True

    def __init__(self, parts: list[Rows], value_limit: int, rng: np.random.Generator) -> None:
        self._sources, self._rng = [RowsSource(part) for part in parts], rng
        self.limits, self.value_limit = parts[0].limits, value_limit

    def answer(self, plan: Plan) -> Answer:
        answers = [self._sources[i].answer(plan) for i in self._rng.permutation(len(self._sources))]
        return reduce(add, answers)


class GroupBy:
    """A source in SQL: cells by an expression that rounds as it likes, with the least and the greatest score in each."""

    lists_in_part = True

    def __init__(self, scores: np.ndarray, labels: np.ndarray, limits: tuple[float, float]) -> None:
        self.limits, self.value_limit = limits, 50
        self._database = sqlite3.connect(":memory:")
        self._database.execute("CREATE TABLE rows (s REAL, y INTEGER)")
        self._database.executemany("INSERT INTO rows VALUES (?, ?)", zip(scores.tolist(), labels.tolist(), strict=True))

    def close(self) -> None:
        self._database.close()

    def answer(self, plan: Plan) -> Answer:
        cells, values = [], []
        for i, (low, high, n_cells) in enumerate(
            zip(plan.low.tolist(), plan.high.tolist(), plan.n_cells.tolist(), strict=True)
        ):
            inside = "FROM rows WHERE s >= ? AND s <= ? GROUP BY"
            if n_cells == 0:
                found = self._database.execute(f"SELECT s, COUNT(*), SUM(y) {inside} s", (low, high)).fetchall()
                values += [(i, *row) for row in found]
                continue
            cell = "CAST((s - ?) / ? * ? AS INTEGER)"
            of_all = f"SELECT MIN(s), MAX(s), COUNT(*), SUM(y) {inside} {cell} ORDER BY 1"
            found = self._database.execute(of_all, (low, high, low, (high - low) / 4 or 1.0, n_cells / 4)).fetchall()
            cells += [(i, *row) for row in found]
        return Answer(Cells.of(*_columns(cells, 5)), Values.of_groups(*_columns(values, 4)))


def _columns(table: list[tuple[Any, ...]], width: int) -> list[np.ndarray]:
    """The columns of an answer: the interval, scores, and the two counts."""
    types = [np.int64, *[np.float64] * (width - 3), np.int64, np.int64]
    return [np.array([row[i] for row in table], types[i]) for i in range(width)]


@pytest.mark.parametrize("weighted", [False, True])
def test_answers_of_parts_add(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of parts that overlap become one: the groups are those of all rows."""
    _force_passes(monkeypatch, listed_share=1 / 64)
    rng = np.random.default_rng([11, weighted])
    for _, scores in _shapes(3000, rng):
        labels = (rng.random(3000) < 0.4).astype(np.uint8)
        rows = Rows(scores, labels, rng.integers(0, 4, 3000) if weighted else None, None)
        ranks = np.unique(np.linspace(1, rows.n_samples(), 30).astype(np.int64))
        cuts = np.sort(rng.integers(1, 2999, 2))
        parts = [rows.take(slice(*ends)) for ends in pairwise([0, *cuts, 3000])]
        got = search(Parts(parts, int(rng.integers(0, 200)), rng), lambda _, ranks=ranks: ranks, len(ranks))
        _agree(got, _by_argsort(rows, ranks))


def test_group_by_answers_a_plan() -> None:
    """Counts, label sums, least and greatest scores are all that a source needs to give."""
    rng = np.random.default_rng(12)
    for name, scores in _shapes(2000, rng):
        if name.startswith(("margins of all", "subnormal")):  # which this expression does not divide
            continue
        scores, labels = scores.astype(np.float64), (rng.random(2000) < 0.4).astype(np.uint8)
        ranks = np.unique(np.linspace(1, 2000, 25).astype(np.int64))
        limits = (float(scores.min()) - 1.0, float(scores.max()) + 1.0)
        with closing(GroupBy(scores, labels, limits)) as source:
            got = search(source, lambda _, ranks=ranks: ranks, len(ranks))
        _agree(got, _by_argsort(Rows(scores, labels, None, None), ranks))


def test_an_answer_that_differs_from_the_one_before_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _force_passes(monkeypatch, listed_share=1 / 64)
    rng = np.random.default_rng(13)
    scores, labels = rng.random(3000), rng.integers(0, 2, 3000).astype(np.uint8)
    rows = Rows(scores, labels, None, None)
    for changed in (rows.take(slice(0, 1500)), Rows(scores, 1 - labels, None, None)):
        answering, later = RowsSource(rows), RowsSource(changed)

        class Changing:
            limits, value_limit, lists_in_part = answering.limits, 200, True

            def answer(self, plan: Plan, first: RowsSource = answering, second: RowsSource = later) -> Answer:
                second._layout = first._layout
                return (first if plan.is_first else second).answer(plan)

        refuses("InputError: the rows changed between", search, Changing(), lambda _: np.arange(1, 3001, 10), 300)


def test_codes_order_like_scores_and_come_back() -> None:
    scores = np.array([-1e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 2.0**-1022, 0.3, np.nextafter(0.3, 1), 1.0, 1e308])
    codes = codes_of(scores)
    assert (np.diff(codes) >= 0).all()
    assert codes[3] == codes[4] == 0
    assert (np.diff(codes)[[0, 1, 2, 4, 5, 6, 7, 8, 9]] > 0).all()
    assert np.array_equal(scores_of(codes), scores)


def test_mirrored_codes_order_like_scores_and_tell_the_least_that_reaches() -> None:
    rng = np.random.default_rng(17)
    near = np.array([0.0, 5e-324, 2.0**-54, 0.5, 1.0])
    drawn = np.concatenate(
        [rng.random(500), rng.random(500) * 1e-9, 1 - rng.random(500) * 1e-12, 1 - rng.integers(0, 50, 200) * 2.0**-53]
    )
    scores = np.unique(np.concatenate([near, np.nextafter(near, 2), np.nextafter(near, -1), drawn]).clip(0, 1))
    codes, mirror = codes_of(scores), mirrored(codes_of(scores))
    assert (np.diff(mirror) > 0).all()
    assert np.array_equal(mirror[scores <= 0.5], codes[scores <= 0.5])
    assert np.array_equal(least_reaching(mirror), codes)
    between = mirror[:-1] + rng.integers(1, np.diff(mirror) + 1)
    reaching = least_reaching(between)
    assert (mirrored(reaching) >= between).all()
    assert (mirrored(reaching - 1) < between).all()
    assert least_reaching(mirror[-1:] + 1).item() == codes[-1] + 1


def test_a_root_map_states_the_ends_of_its_cells() -> None:
    """Every kind of map, with and without points: a row lies between the ends of its cell, and cells do not overlap."""
    from fastbin._core.kernels.quantiles import locate

    rng = np.random.default_rng(7)
    seen = set()
    for name, scores in _shapes(5000, rng):
        codes = np.sort(codes_of(scores))
        scores = scores_of(codes)
        cells = np.empty(len(scores), np.int32)
        for n_ranks in (3, 300):
            root: RootMap = choose_root(codes[::10], 10**9, 256, n_ranks, (scores[0], scores[-1]))
            splitters = np.append(np.unique(scores)[:: max(1, len(np.unique(scores)) // 6)][:6], scores[-1])
            for candidate in (root, RootMap.by_splitters(np.append(splitters, [scores[-1]] * (7 - len(splitters))))):
                seen.add((candidate.kind, bool(candidate.points.size)))
                locate(scores, scores.view(np.int64), *candidate[:-1], cells)
                assert (np.diff(cells) >= 0).all(), name
                assert cells.min() >= 0
                assert cells.max() < candidate.n_cells
                occupied = np.unique(cells).astype(np.int64)
                low, high = candidate.ends(occupied, (scores[0], scores[-1]))
                assert (low[1:] > high[:-1]).all(), name
                at = np.searchsorted(occupied, cells)
                assert (low[at] <= scores).all(), name
                assert (scores <= high[at]).all(), name
    assert seen == {(0, False), (0, True), (1, False), (1, True), (2, False), (2, True), (3, True)}
    assert RootMap.by_code(10, 1, 4).steps_of(np.array([-5, 9, 10, 11, 12, 17, 40])).tolist() == [0, 0, 0, 0, 1, 3, 3]


def test_a_node_always_makes_progress() -> None:
    """Whatever the sample says, the cell that a rank falls into is narrower than the one divided, and in the end one code."""
    rng = np.random.default_rng(8)
    for trial in range(200):
        sample = np.sort(rng.integers(-(2**62), 2**62, rng.integers(0, 50)))
        if trial % 3 == 0:
            sample = np.sort(rng.choice(sample, 60)) if sample.size else sample
        low, high = codes_of(np.array([-1.0, 1.0]) * np.finfo(np.float64).max).tolist()  # nearly 2**64 apart
        if trial % 5:
            low, high = -(2**62), 2**62
        target = int(rng.integers(low, high)) if trial % 2 else int(sample[0]) if sample.size else 17
        for _ in range(200):
            node = choose_nodes(sample, np.array([low]), np.array([high]), np.array([64]))
            base, shift, cells = (int(column[0]) for column in node)
            assert cells <= 67
            step = min(max((target - base) >> shift, 0), cells - 1)
            next_low = low if step == 0 else max(low, base + (step << shift))
            next_high = high if step == cells - 1 else min(high, base + ((step + 1) << shift) - 1)
            assert next_low <= target <= next_high
            assert next_high - next_low < high - low
            low, high = next_low, next_high
            if low == high:
                break
        assert low == high == target


def test_nodes_are_chosen_each_by_itself() -> None:
    rng = np.random.default_rng(9)
    sample = np.sort(np.append(rng.integers(-(2**60), 2**60, 500), np.full(300, 12345)))
    ends = np.sort(rng.choice(np.append(sample, rng.integers(-(2**62), 2**62, 200)), 80, replace=False)).reshape(-1, 2)
    ends[0] = 12345 - 10**6, 12345 + 10**9
    low, high, n_cells = ends[:, 0].copy(), ends[:, 1].copy(), rng.integers(4, 1024, 40)
    together = choose_nodes(sample, low, high, n_cells)
    assert [int(column[0]) for column in together] == [12344, 0, 3]  # below, at and above the value that dominates
    for at in range(40):
        alone = choose_nodes(sample, low[at : at + 1], high[at : at + 1], n_cells[at : at + 1])
        assert [int(column[0]) for column in alone] == [int(column[at]) for column in together]
        span = int(high[at]) - int(low[at])
        inside = sample[(sample >= low[at]) & (sample <= high[at])]
        if span < n_cells[at] or inside.size < 3:
            shift = (span // int(n_cells[at])).bit_length()
            assert [int(column[0]) for column in alone] == [low[at], shift, (span >> shift) + 1]


def test_a_node_may_have_one_cell() -> None:
    node = choose_nodes(np.arange(0, 10**6, 1000), np.array([-(10**9)]), np.array([10**9]), np.array([1]))
    assert [int(column[0]) for column in node] == [0, 20, 2]  # what the sample fills, and what lies beyond


def test_counters_are_emptied_on_the_way() -> None:
    """More rows than the packed counters take at one go, all of them in two cells."""
    from fastbin._core.kernels.quantiles import MAX_PACKED

    n = MAX_PACKED + 70_001
    scores = np.where(np.arange(n) % 3 == 0, 0.25, 0.75)
    labels = (np.arange(n) % 2).astype(np.uint8)
    rows = Rows(scores, labels, None, None)
    ranks = np.array([1, n // 2, n], np.int64)
    _agree(RowsSource(rows).find(lambda _: ranks, len(ranks)), _by_argsort(rows, ranks))
