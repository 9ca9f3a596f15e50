"""Refusals of `UniformMassBinning.fit_batches`, and its reports on the way."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastbin as fb

N = 1000
RNG = np.random.default_rng(0)
SCORES = RNG.random(N)
LABELS = RNG.random(N) < SCORES


def fit(rows: Any, progress: Callable[[int, int], object] | None = None, **configuration: Any) -> fb.BinnedModel:
    return fb.UniformMassBinning(**configuration).fit_batches(rows, progress=progress).model_


def in_batches(*columns: Any, size: int = 100) -> Callable[[], Iterator[Any]]:
    return lambda: (tuple(column[start : start + size] for column in columns) for start in range(0, len(columns[0]), size))


def changed(column: np.ndarray, position: int, value: Any) -> np.ndarray:
    copy = column.astype(np.result_type(column, type(value)))
    copy[position] = value
    return copy


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((changed(SCORES, 321, float("nan")), LABELS), r"scores\[321\] is NaN"),
        ((changed(SCORES, 999, 1.5), LABELS), r"scores\[999\] is 1.5, outside \[0, 1\]"),
        ((changed(SCORES, 100, float("inf")), LABELS), r"scores\[100\] is inf"),
        ((SCORES, changed(LABELS, 765, 2)), r"labels\[765\] is 2; labels are 0 and 1"),
        ((changed(SCORES, 321, float("nan")), LABELS, np.ones(N, np.int64)), r"scores\[321\] is NaN"),
        ((SCORES, LABELS, changed(np.ones(N), 432, -1.0)), r"sample_weight\[432\] is -1.0"),
        ((SCORES, LABELS, changed(np.ones(N), 987, 1e200)), r"sample_weight\[987\] is 1e\+200, whose square overflows"),
        ((SCORES, [*LABELS[:555].tolist(), None, *LABELS[556:].tolist()]), r"labels\[555\] is None"),
        ((SCORES, LABELS[:-1]), "lengths differ: scores has 100, labels has 99"),
        ((SCORES, np.full(N, "x")), r"labels\[0\] is 'x'; labels are 0 and 1"),
    ],
)
def test_positions_count_from_the_first_row_of_all(columns: tuple[Any, ...], message: str) -> None:
    with pytest.raises(fb.FastbinError, match=message):
        fit(in_batches(*columns))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ((SCORES,), "1 parts"),
        ((SCORES, LABELS, None, None), "4 parts"),
        ({"p": SCORES, "y": LABELS}, "a dict"),
        (SCORES, "a ndarray"),
    ],
)
def test_a_batch_has_two_or_three_parts(batch: Any, message: str) -> None:
    with pytest.raises(fb.InputTypeError, match=message):
        fit(lambda: [batch])


def test_weights_are_of_one_kind() -> None:
    kinds = [np.ones(500), np.ones(500, np.int64), None]
    for first in kinds:
        for second in kinds:
            if first is not second:
                parts = [(SCORES[:500], LABELS[:500], first), (SCORES[500:], LABELS[500:], second)]
                with pytest.raises(fb.InputError, match="from row 500 on"):
                    fit(lambda parts=parts: iter(parts))


def test_no_rows() -> None:
    for factory in (list, lambda: [([], []), ([], [])]):
        with pytest.raises(fb.InputError, match="no rows"):
            fit(factory)


def test_empty_batches_are_passed_over() -> None:
    parts = [([], []), (SCORES[:1], LABELS[:1]), ([], []), (SCORES[1:], LABELS[1:]), ([], [])]
    assert fit(lambda: iter(parts)) == fb.UniformMassBinning().fit(SCORES, LABELS).model_


def test_too_few_samples() -> None:
    with pytest.raises(fb.InputError, match="1,000 samples are too few for n_bins=501"):
        fit(in_batches(SCORES, LABELS), n_bins=501)


def test_sample_splitting_is_refused_with_the_remedy() -> None:
    with pytest.raises(fb.InputError, match="needs them all at once; use fit, or take scheme"):
        fit(in_batches(SCORES, LABELS), scheme="ums")


def test_configuration_is_checked_before_anything_is_read() -> None:
    def factory() -> Iterator[Any]:
        raise AssertionError("read")

    for wrong in ({"n_bins": 0}, {"scheme": "umx"}, {"ties": "lower"}, {"delta": 1.0}, {"seed": -1}, {"score_range": (1, 0)}):
        with pytest.raises(fb.FastbinError):
            fit(factory, **wrong)


def test_batches_may_be_a_list() -> None:
    parts = [(SCORES[:300], LABELS[:300]), (SCORES[300:], LABELS[300:])]
    assert fit(parts) == fit(in_batches(SCORES, LABELS)) == fb.UniformMassBinning().fit(SCORES, LABELS).model_


@pytest.mark.parametrize("one_shot", [iter([(SCORES, LABELS)]), (part for part in [(SCORES, LABELS)]), 7, None])
def test_what_can_be_read_once_is_refused(one_shot: Any) -> None:
    with pytest.raises(fb.InputTypeError, match="pass a function that returns a new iterator at each call, or a list"):
        fit(one_shot)


@pytest.mark.parametrize("given", [None, 7, lambda: [(SCORES, LABELS)]])
def test_a_function_that_gives_no_batches_is_told(given: Any) -> None:
    with pytest.raises(fb.InputTypeError, match=r"^batches returned .*; return an iterator of batches, or a list of them$"):
        fit(lambda: given)


# ---------------------------------------------------------------------- sources that change


def test_an_iterator_instead_of_a_factory_of_iterators() -> None:
    source = in_batches(SCORES, LABELS)()
    with pytest.raises(fb.InputError, match="return a new iterator at each call"):
        fit(lambda: source)
    single = iter([(SCORES, LABELS)])
    with pytest.raises(fb.InputError, match="return a new iterator at each call"):
        fit(lambda: single)


def test_a_pass_with_fewer_rows_is_refused() -> None:
    calls = []

    def factory() -> Iterator[Any]:
        calls.append(None)
        size = N if len(calls) < 2 else N - 1
        return in_batches(SCORES[:size], LABELS[:size])()

    with pytest.raises(fb.InputError, match="pass 2 saw 999 rows, the one before it 1000"):
        fit(factory)


@pytest.mark.parametrize("weights", [None, np.ones(30_000, np.int64)])
@pytest.mark.parametrize("what", ["scores", "labels", "scores of zeros"])
def test_rows_that_change_between_passes_are_refused(
    what: str, weights: np.ndarray | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of the second pass is as long as the counts of the first say, so other rows must not be let in."""
    monkeypatch.setattr("fastbin._fit.rows.ROWS_TO_PLAN_FOR", 512)
    monkeypatch.setattr("fastbin._fit.rows.MOST_LISTED", 64)
    rng = np.random.default_rng(2)
    scores, labels = rng.random(30_000), rng.integers(0, 2, 30_000)
    others = {"scores": np.full(30_000, scores[0]), "labels": np.ones(30_000, np.int64)}
    others["scores of zeros"] = np.where(labels == 0, 0.0, scores)
    calls = []

    def factory() -> Iterator[Any]:
        calls.append(None)
        rows = {"scores": scores, "labels": labels}
        if len(calls) > 1:
            rows[what.partition(" ")[0]] = others[what]
        columns = [*rows.values(), *([] if weights is None else [weights])]
        return in_batches(*columns, size=1000)()

    with pytest.raises(fb.InputError, match="the rows changed between two passes"):
        fit(factory)


@pytest.mark.parametrize("later", [(SCORES, 1 - LABELS), (np.where(LABELS == 0, 0.0, SCORES), LABELS)])
def test_listed_rows_that_change_are_refused(later: tuple[np.ndarray, np.ndarray]) -> None:
    calls = []

    def factory() -> Iterator[Any]:
        calls.append(None)
        return in_batches(*((SCORES, LABELS) if len(calls) < 2 else later))()

    with pytest.raises(fb.InputError, match="the rows changed between two passes"):
        fit(factory)


def test_weights_that_change_between_passes_are_refused() -> None:
    calls = []

    def factory() -> Iterator[Any]:
        calls.append(None)
        return in_batches(SCORES, LABELS, np.full(N, 1 if len(calls) < 2 else 2))()

    with pytest.raises(fb.InputError, match="the rows changed between two passes"):
        fit(factory)


# ---------------------------------------------------------------------- on the way


def test_progress_is_told_after_every_batch() -> None:
    told: list[tuple[int, int]] = []
    fit(in_batches(SCORES, LABELS, size=400), progress=lambda n_passes, rows: told.append((n_passes, rows)))
    assert told == [(1, 400), (1, 800), (1, 1000), (2, 400), (2, 800), (2, 1000)]


def test_importance_weights_take_one_pass_more() -> None:
    told: list[int] = []
    fit(in_batches(SCORES, LABELS, RNG.random(N)), progress=lambda n_passes, rows: told.append(n_passes))
    assert max(told) == 3


def test_memory_does_not_grow_with_the_rows() -> None:
    """Ten times the rows, and hardly more memory: batches, tables and a share of rows that is bounded."""

    def peak(n: int) -> int:
        def factory() -> Iterator[Any]:
            rng = np.random.default_rng(3)
            return ((rng.random(20_000), rng.integers(0, 2, 20_000)) for _ in range(n // 20_000))

        tracemalloc.start()
        fit(factory)
        _, used = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return used

    peak(20_000)  # compiles
    assert peak(2_000_000) < 2 * peak(200_000)
