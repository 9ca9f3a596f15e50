"""The compiled fit of few rows gives the bytes and the refusals of the general way, whatever the types of its columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest

import fastbin as fb
import strategies
from fastbin._core.fit import are_plain, choose_sort, groups_at_ranks, sort_runs, sorted_rows
from fastbin._fit.rows import RowsSource
from fastbin.binning import uniform_mass
from fastbin.scaling.value_maps import MAPS
from strategies import SCORE_SHAPES

LABEL_TYPES = ["bool", "uint8", "int8", "uint32", "int32", "uint64", "int64", "float32", "float64"]
ONLY_GENERAL = ["int16", "float16", "longdouble", ">i8"]
# What each method sorts few rows with, for its compiled fit: where that is called, and by which name.
FITS = {fb.UniformMassBinning: (uniform_mass, "fit_rows"), fb.CertifiedCalibration: (RowsSource, "sorted_rows")}
METHODS = pytest.mark.parametrize("method", FITS, ids=lambda method: method.__name__)


def outcome(scores: Any, labels: Any, method: Any = fb.UniformMassBinning, **options: Any) -> tuple[Any, ...]:
    """The bytes of the model and the warnings, or the kind, the fields and the text of the error."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = method(**options).fit(scores, labels).model_
        except fb.FastbinError as error:
            return type(error), str(error), *(getattr(error, name, None) for name in ("argument", "at"))
    return model.to_bytes(), [str(warning.message) for warning in told]


def general_outcome(scores: Any, labels: Any, method: Any = fb.UniformMassBinning, **options: Any) -> tuple[Any, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*FITS[method], lambda *_: None)
        return outcome(scores, labels, method, **options)


def n_compiled(scores: Any, labels: Any, method: Any, **options: Any) -> int:
    """How many fits of one call were compiled."""
    answers: list[Any] = []
    caller, name = FITS[method]
    compiled = getattr(caller, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(caller, name, lambda *given: answers.append(compiled(*given)) or answers[-1])
        outcome(scores, labels, method, **options)
    return sum(answer is not None for answer in answers)


@pytest.mark.parametrize("scheme", ["umd", "ze"])
@pytest.mark.parametrize("shape", SCORE_SHAPES)
def test_the_same_bytes(shape: str, scheme: str) -> None:
    rng = Random(shape)
    for n in (1, 2, 3, 7, 50, 211, 1500):
        data = strategies.make(shape, "follow the rank", n, n)
        scores, labels = np.array(data.scores), np.array(data.labels, np.uint8)
        assert n_compiled(scores, labels, fb.UniformMassBinning, n_bins=1, scheme=scheme) == 1
        for n_bins in {1, (n + 1) // 2, rng.randrange(1, (n + 1) // 2 + 1)}:
            options = {"n_bins": n_bins, "scheme": scheme, "seed": n, "monotone": n % 2 == 1}
            assert outcome(scores, labels, **options) == general_outcome(scores, labels, **options)


@pytest.mark.parametrize("recentre", ["auto", "full"])
@pytest.mark.parametrize("shape", SCORE_SHAPES)
def test_the_same_bytes_of_steps(shape: str, recentre: str) -> None:
    """Fine steps around every score, and steps at ranks: both, as 803 samples are the most for the first."""
    rng = Random(shape)
    for n in (1, 2, 3, 7, 50, 211, 803, 804, 2500):
        data = strategies.make(shape, rng.choice(list(strategies.LABEL_SHAPES)), n, n)
        scores, labels = np.array(data.scores), np.array(data.labels, np.uint8)
        most = min((n + 1) // 2, 1000)
        for n_bins in ("auto", 1, most, rng.randrange(1, most + 1)):
            options = {
                "method": fb.CertifiedCalibration, "n_bins": n_bins, "values": rng.choice(MAPS), "recentre": recentre,
                "seed": n, "monotone": n % 4 < 3,
            }  # fmt: skip
            assert n_compiled(scores, labels, **options) == 1
            assert outcome(scores, labels, **options) == general_outcome(scores, labels, **options)


@pytest.mark.parametrize("label_type", LABEL_TYPES + ONLY_GENERAL)
@pytest.mark.parametrize("score_type", ["float32", "float64"])
@METHODS
def test_types_do_not_change_the_bytes(method: Any, score_type: str, label_type: str) -> None:
    data = strategies.make("hundredths", "follow the rank", 500, 1)
    scores, labels = np.array(data.scores, score_type), np.array(data.labels)
    expected = general_outcome(scores.astype(np.float64), labels.astype(np.uint8), method, n_bins=7)
    typed = labels.astype(label_type)
    assert (sorted_rows(scores, typed, 0.0, 1.0) is not None) == (label_type not in ONLY_GENERAL)
    assert outcome(scores, typed, method, n_bins=7) == expected
    assert outcome(np.repeat(scores, 2)[::2], typed, method, n_bins=7) == expected
    assert outcome(scores, np.repeat(typed, 2)[::2], method, n_bins=7) == expected


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_rows_are_sorted_alike_on_every_processor(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As doubles on most of them, as integers where registers of 512 bits compare these, and above a score of 1.5."""
    monkeypatch.setenv("FASTBIN_CPU", level)
    for shape in SCORE_SHAPES:
        for scale in (1.0, 3.0):
            scores = scale * np.array(strategies.make(shape, "coin", 700, 5).scores) + 0.0
            labels = np.arange(700, dtype=np.uint8) % 2
            order = np.lexsort((1 - labels, scores))
            expected = scores[order].view(np.uint64) << np.uint64(1) | np.uint64(1) - labels[order]
            assert np.array_equal(sorted_rows(scores, labels, 0.0, scale), expected)
    rng = Random(level)
    for size in (1, 2, 7, 8, 9, 16, 31, 700):
        scores, labels = np.linspace(0.0, 1.0, size), np.arange(size) % 2 == 1
        assert np.array_equal(groups_at_ranks(sorted_rows(scores, labels, 0.0, 1.0), np.array([size]))[1][3], labels[-1:])
        for bad in (np.nan, np.inf, -np.inf, -5e-324, np.nextafter(1.0, 2.0)):
            wrong = scores.copy()
            wrong[rng.randrange(size)] = bad
            assert sorted_rows(wrong, labels, 0.0, 1.0) is None
        for bad in (2, 3, 128, 255):
            wrong = labels.astype(np.uint8)
            wrong[rng.randrange(size)] = bad
            assert sorted_rows(scores, wrong, 0.0, 1.0) is None
    assert groups_at_ranks(sorted_rows(scores, labels, 0.0, 1.0), np.array([1]))[2] == 350


def packed_rows(words: Any) -> tuple[Any, Any]:
    """The scores and labels that pack to these words."""
    words = np.array(words, np.uint64)
    return (words >> np.uint64(1)).view(np.float64), (words % np.uint64(2) == 0).astype(np.uint8)


@pytest.mark.parametrize("n_distinct", [1, 9, 10, 11, 200, 511, 512, 513, 600])
def test_few_distinct_rows_are_sorted_alike(n_distinct: int) -> None:
    """Where they are counted, and at each number that decides about that: distinct rows, rows of each, rows of all."""
    rng = np.random.default_rng(n_distinct)
    low, high = np.array([0.25, 0.75]).view(np.uint64) * np.uint64(2)
    distinct = rng.integers(low, high, n_distinct, np.uint64)
    for n in (64 * n_distinct - 1, 64 * n_distinct, 64 * n_distinct + 1, 60_000):
        late = np.concatenate([rng.choice(distinct[:-1], n - 1), distinct[-1:]]) if n_distinct > 1 else np.repeat(distinct, n)
        for words in (late, late[::-1], rng.choice(distinct, n)):
            assert np.array_equal(sorted_rows(*packed_rows(words), 0.0, 1.0), np.sort(words))


def test_rows_of_one_slot_are_sorted_alike() -> None:
    """Rows that all belong at one slot of the table in which few are counted: as many as find one near it, and more."""
    inverse = pow(0x9E3779B97F4A7C15, -1, 2**64)
    greatest = 2 * int(np.array(np.finfo(float).max).view(np.uint64))
    words = [word for at in range(200) if (word := ((7 << 53) + at) * inverse % 2**64) < greatest]
    assert len(words) > 100
    rng = np.random.default_rng(5)
    for n_distinct in (15, 16, 17, 100):
        rows = rng.choice(np.array(words[:n_distinct], np.uint64), 20_000)
        found = sorted_rows(*packed_rows(rows), 0.0, float(np.finfo(float).max))
        assert np.array_equal(found, np.sort(rows))


@pytest.fixture(params=[False, True], ids=["by NumPy", "by digits"])
def one_sort(request: pytest.FixtureRequest) -> Iterator[None]:
    choose_sort(request.param)
    yield
    choose_sort(None)


def distances(rng: np.random.Generator, n: int) -> Any:
    """Words at all distances from one in the middle: each level of digits leaves some that share all of its own."""
    away = np.exp2(61.0 * rng.random(n)).astype(np.uint64)
    return np.uint64(2**62) + away * rng.choice(np.array([1, 2**64 - 1], np.uint64), n)


# Words that order as rows do, up to the greatest that a score has.
GREATEST_WORD = 2 * int(np.array(np.finfo(float).max).view(np.uint64)) + 1
WORDS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "of all bits": lambda rng, n: rng.integers(0, GREATEST_WORD, n, np.uint64),
    "of few bits": lambda rng, n: rng.integers(0, 700, n, np.uint64),
    "one": lambda rng, n: np.full(n, 2**62 + 1, np.uint64),
    "two that are neighbours": lambda rng, n: rng.integers(2**62, 2**62 + 2, n, np.uint64),
    "ascending": lambda rng, n: np.sort(rng.integers(0, GREATEST_WORD, n, np.uint64)),
    "descending": lambda rng, n: np.sort(rng.integers(0, GREATEST_WORD, n, np.uint64))[::-1],
    "the least beside high ones": lambda rng, n: np.where(rng.random(n) < 0.1, 0, 2**62 + rng.integers(0, 2**44, n)),
    "a high one behind low ones": lambda rng, n: np.append(rng.integers(0, 2**20, n - 1, np.uint64), np.uint64(GREATEST_WORD)),
    "blocks of neighbours": lambda rng, n: (rng.integers(0, 40, n, np.uint64) << 55) + rng.integers(0, n, n, np.uint64),
    "at all distances": distances,
}


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.usefixtures("one_sort")
def test_rows_are_sorted_alike_by_either_way(kind: str) -> None:
    rng = np.random.default_rng(list(WORDS).index(kind))
    for n in (511, 512, 513, 1000, 4097, 30_000, 140_000):
        rows = WORDS[kind](rng, n).astype(np.uint64)
        found = sorted_rows(*packed_rows(rows), 0.0, float(np.finfo(float).max))
        assert np.array_equal(found, np.sort(rows))


@pytest.mark.usefixtures("one_sort")
def test_runs_are_sorted_each_by_itself() -> None:
    rng = np.random.default_rng(1)
    sizes = np.array([0, 1, 600, 2, 5000, 0, 511, 70_000])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = rng.integers(0, 2**62, starts[-1], np.uint64)
    expected = np.concatenate([np.sort(part) for part in np.split(rows, starts[1:-1])])
    sort_runs(rows, starts, 1.0)
    assert np.array_equal(rows, expected)


@pytest.mark.usefixtures("one_sort")
def test_threads_sort_at_once() -> None:
    """The memory that is kept between two sorts serves one of them."""
    rng = np.random.default_rng(2)
    parts = [rng.integers(0, 2**62, 50_000, np.uint64) for _ in range(16)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda part: sorted_rows(*packed_rows(part), 0.0, 2.0), parts))
    for part, rows in zip(parts, found, strict=True):
        assert np.array_equal(rows, np.sort(part))


def test_which_sort_is_faster_is_found_out_at_the_first_sort_of_many_rows() -> None:
    """Either may be, and it stays so; the fits are the same."""
    choose_sort(None)
    rng = np.random.default_rng(3)
    scores, labels = rng.random(3000), (rng.random(3000) < 0.5).astype(np.uint8)
    sorted_rows(scores[:511], labels[:511], 0.0, 1.0)
    assert choose_sort(None) is None
    models = [fb.UniformMassBinning().fit(scores, labels).model_.to_bytes()]
    assert choose_sort(False) in (False, True)
    for by_digits in (False, True):
        choose_sort(by_digits)
        models.append(fb.UniformMassBinning().fit(scores, labels).model_.to_bytes())
        assert choose_sort(by_digits) is by_digits
    choose_sort(None)
    assert len(set(models)) == 1


@pytest.mark.parametrize("at", [0, 17, 499])
@METHODS
def test_the_same_refusals(method: Any, at: int) -> None:
    data = strategies.make("uniform", "follow the rank", 500, 1)
    scores, labels = np.array(data.scores), np.array(data.labels, np.uint8)
    for value in (np.nan, np.inf, -np.inf, -0.5, -5e-324, 1.5, np.nextafter(1.0, 2.0), 77.0):
        bad = scores.copy()
        bad[at] = value
        told = outcome(bad, labels, method)
        assert told == general_outcome(bad, labels, method)
        assert told[2:] == ("scores", at)
    for label_type in LABEL_TYPES[1:]:
        values = [2, 255] + ([-1] if "u" not in label_type else []) + ([0.5, np.nan] if "float" in label_type else [])
        for value in values:
            wrong = labels.astype(label_type)
            wrong[at] = np.array(value).astype(label_type)
            told = outcome(scores, wrong, method)
            assert told == general_outcome(scores, wrong, method)
            assert told[2:] == ("labels", at)
    for columns in (
        (scores[:-1], labels),
        (scores[:0], labels[:0]),
        (scores[:18], labels[:18]),
        (scores, labels.reshape(1, -1)),
    ):
        assert not are_plain(*columns) or len(columns[0]) == 18
        told = outcome(*columns, method, n_bins=10)
        assert told == general_outcome(*columns, method, n_bins=10)
        assert isinstance(told[0], type)


@pytest.mark.parametrize("score_range", [(0.0, 100.0), (0.25, 0.75), (0.0, 1e308), (-1.0, 1.0), None])
@METHODS
def test_other_ranges(method: Any, score_range: tuple[float, float] | None) -> None:
    """Scores above 1.5 are not doubles once they are packed, and negative ones are not packed at all."""
    low, high = score_range or (-50.0, 50.0)
    scores = low + (high - low) * np.array(strategies.make("hundredths", "coin", 900, 3).scores)
    labels = (np.arange(900) * 7 % 5 < 2).astype(np.int64)
    options = {"method": method, "n_bins": 12, "score_range": score_range}
    assert outcome(scores, labels, **options) == general_outcome(scores, labels, **options)


def test_a_changed_configuration_is_checked_again() -> None:
    """A configuration counts as checked for the same objects alone."""
    scores, labels = np.arange(60) / 60, np.arange(60) % 2
    calibrator = fb.UniformMassBinning(5)
    first = calibrator.fit(scores, labels).model_
    assert calibrator.fit(scores, labels).model_ == first
    for name, value in (
        ("n_bins", 0),
        ("n_bins", True),
        ("scheme", "mdu"),
        ("seed", -1),
        ("delta", 2.0),
        ("score_range", (1, 0)),
    ):
        with pytest.raises((fb.InputError, fb.InputTypeError), match=name):
            fb.UniformMassBinning(5).set_params(**{name: value}).fit(scores, labels)
    widened = fb.UniformMassBinning(5, score_range=[0.0, 2.0])
    assert widened.fit(scores, labels).model_.score_range == (0.0, 2.0)
    widened.score_range[1] = 3.0
    assert widened.fit(scores, labels).model_.score_range == (0.0, 3.0)
    certified = fb.CertifiedCalibration(5)
    assert certified.fit(scores, labels).model_ == certified.fit(scores, labels).model_
    for name, value in (("n_bins", 2000), ("values", "means"), ("recentre", "never"), ("seed", -1), ("monotone", 1)):
        with pytest.raises((fb.InputError, fb.InputTypeError), match=name):
            fb.CertifiedCalibration(5).set_params(**{name: value}).fit(scores, labels)
    drawn = fb.UniformMassBinning(5, seed=None)
    assert drawn.fit(scores, labels).model_.seed != drawn.fit(scores, labels).model_.seed
