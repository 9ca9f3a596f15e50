"""Streams are their reference, bit for bit: on hard inputs, in every division into batches, layout, and interruption."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vectors.texts import doubles, read

import fastbin as fb
import strategies
from fastbin.online import StreamingBinning
from reference.keys import KEY_ABOVE
from reference.step_model import Edge
from reference.stream import Stream, running_variance, uniform_mass_edges
from strategies import LAYOUTS, CalibrationData, examples

STREAMS = Path(__file__).resolve().parent.parent / "vectors" / "streams.txt"


def assert_same_state(stream: StreamingBinning, expected: Stream) -> None:
    assert stream.counts.tolist() == expected.counts
    assert stream.label_sums.tolist() == expected.label_sums
    assert stream.n_samples == expected.n_samples
    if expected.running_variances is None:
        assert stream.running_variances is None
    else:
        assert [value.hex() for value in stream.running_variances.tolist()] == [v.hex() for v in expected.running_variances]
    model = stream.model()
    assert model.values.tolist() == expected.values()
    assert (model.n_samples, model.n_positive, model.n_tied) == (expected.n_samples, expected.n_positive, expected.n_tied)


def random_cuts(rng: Random, n: int) -> list[int]:
    """Ends of batches of random sizes, empty ones among them."""
    return [*sorted(rng.randrange(n + 1) for _ in range(rng.randrange(8))), n]


def batches(rng: Random, n: int, how: str) -> Iterator[slice]:
    ends = {"at once": [n], "one by one": list(range(1, n + 1)), "random": random_cuts(rng, n)}[how]
    yield from (slice(start, end) for start, end in zip([0, *ends], ends, strict=False))


def over(edges: list[Edge], score_range: tuple[float, float] | None, seed: int) -> StreamingBinning:
    return StreamingBinning(
        fb.BinnedModel.from_parts(
            edges=[edge for edge, _ in edges], edge_keys=np.array([key for _, key in edges], np.uint64),
            values=[0.5] * (len(edges) + 1), scheme="other", score_range=score_range, seed=seed,
        )
    )  # fmt: skip


def twins(first: CalibrationData, n_bins: int, seed: int, ties: str) -> tuple[StreamingBinning, Stream]:
    """A stream over bins of equal mass in a first block, and its reference."""
    low, high = first.score_range or (-math.inf, math.inf)
    stream = StreamingBinning.from_scores(first.scores, n_bins, ties=ties, seed=seed, score_range=first.score_range)
    edges = uniform_mass_edges(first.scores, n_bins, seed, ties, first.score_range)
    assert stream.partition.edges.tolist() == [edge for edge, _ in edges]
    assert stream.partition.edge_keys.tolist() == [key for _, key in edges]
    return stream, Stream(edges, low, high)


data_sets = st.booleans().flatmap(lambda margins: strategies.calibration_data(max_size=60, margins=margins))


@settings(max_examples=examples(150))
@given(data=st.data(), first=data_sets, seed=strategies.seeds, ties=st.sampled_from(["random", "upper"]))
def test_any_batches_in_any_layout(data: st.DataObject, first: CalibrationData, seed: int, ties: str) -> None:
    # Samples of the first block come again: ties at the edges are what is hard.
    rng = Random(data.draw(st.integers(0, 2**32 - 1)))
    n_bins = data.draw(st.integers(1, len(first.scores)))
    stream, expected = twins(first, n_bins, seed, ties)
    rows = [rng.randrange(len(first.scores)) for _ in range(data.draw(st.integers(0, 50)))]
    scores, labels = [first.scores[i] for i in rows], [rng.randrange(2) for _ in rows]
    keys = [rng.choice([0, 2**64 - 2, rng.randrange(2**64 - 1)]) for _ in rows] if data.draw(st.booleans()) else None
    place = LAYOUTS[data.draw(st.sampled_from(list(LAYOUTS)))]
    columns = place(np.array(scores, np.float64)), place(np.array(labels, np.uint8))
    for part in batches(rng, len(rows), data.draw(st.sampled_from(["at once", "one by one", "random"]))):
        chosen = None if keys is None else np.array(keys[part], np.uint64)
        stream.update(*(column[part] for column in columns), tie_keys=chosen)
        if rng.random() < 0.2:
            stream = StreamingBinning.from_bytes(stream.to_bytes())
    expected.update(scores, labels, keys, seed)
    assert_same_state(stream, expected)


@settings(max_examples=examples(60))
@given(first=data_sets, seed=strategies.seeds, keyed=st.booleans())
def test_update_one_is_update(first: CalibrationData, seed: int, keyed: bool) -> None:
    n_bins = min(5, len(first.scores))
    stream, expected = twins(first, n_bins, seed, "random")
    at_once = StreamingBinning.from_bytes(stream.to_bytes())
    rng = Random(seed)
    keys = [rng.randrange(2**64 - 1) for _ in first.scores] if keyed else None
    for i, (score, label) in enumerate(zip(first.scores, first.labels, strict=True)):
        key = None if keys is None else keys[i]
        assert stream.update_one(score, label, key) == expected.update_one(score, label, key, seed)
    at_once.update(first.scores, first.labels, tie_keys=None if keys is None else np.array(keys, np.uint64))
    assert stream == at_once
    assert_same_state(stream, expected)


@settings(max_examples=examples(60))
@given(first=data_sets, seed=strategies.seeds, cut=st.integers(0, 60))
def test_merging_is_counting_on_without_the_order(first: CalibrationData, seed: int, cut: int) -> None:
    n_bins = min(4, len(first.scores))
    left, expected_left = twins(first, n_bins, seed, "random")
    right, expected_right = twins(first, n_bins, seed, "random")
    for stream, expected, part in ((left, expected_left, slice(cut)), (right, expected_right, slice(cut, None))):
        stream.update(first.scores[part], first.labels[part])
        expected.update(first.scores[part], first.labels[part], seed=seed)
    swapped = StreamingBinning.from_bytes(right.to_bytes()).merge(left)
    assert left.merge(right) is left
    expected_left.merge(expected_right)
    assert_same_state(left, expected_left)
    assert (left.counts.tolist(), left.label_sums.tolist()) == (swapped.counts.tolist(), swapped.label_sums.tolist())


@settings(max_examples=examples(40))
@given(data=strategies.calibration_data(max_size=60), seed=strategies.seeds)
def test_going_on_from_a_fit_is_adding_to_its_tally(data: CalibrationData, seed: int) -> None:
    if len(data.scores) < 3:
        return
    model = fb.UniformMassBinning(n_bins=2, ties="random", seed=seed).fit(data.scores, data.labels).model_
    stream = StreamingBinning(model, continue_fit=True)
    expected = Stream(
        list(zip(model.edges.tolist(), model.edge_keys.tolist(), strict=True)), counts=model.counts.tolist(),
        label_sums=model.label_sums.tolist(), running_variances=None, n_samples=model.n_samples,
        n_positive=model.n_positive, n_tied=model.n_tied,
    )  # fmt: skip
    stream.update(data.scores, data.labels)
    expected.update(data.scores, data.labels, seed=seed)
    assert_same_state(stream, expected)
    assert_same_state(StreamingBinning.from_bytes(stream.to_bytes()), expected)


def test_float32_scores_are_counted_as_the_doubles_that_they_equal() -> None:
    data = strategies.make("float32 ties", "coin", 400, 7).float32()
    streams = [StreamingBinning.from_scores(data.scores, 9) for _ in range(2)]
    for stream, dtype in zip(streams, (np.float32, np.float64), strict=True):
        stream.update(np.array(data.scores, dtype), data.labels)
    assert streams[0] == streams[1]


@given(st.lists(st.integers(0, 1), max_size=60))
def test_the_running_variance_is_that_of_the_paper(labels: list[int]) -> None:
    stream = StreamingBinning([])
    stream.update([0.5] * len(labels), labels)
    assert stream.running_variances[0] == pytest.approx(float(running_variance(labels)), rel=1e-12, abs=1e-12)
    assert stream.running_variances[0] == pytest.approx(fb.theory.running_variance(labels), rel=1e-12, abs=1e-12)


# ------------------------------------------------------------------------------------------------- the shared streams


class SharedStream:
    """One stream of the file that C counts, too."""

    def __init__(self, name: str, lines: dict[str, list[list[str]]]) -> None:
        self.name, self.samples, self.states = name, lines["sample"], lines["state"]
        self.range, self.seed = doubles(lines["range"][0]), int(lines["seed"][0][0], 16)
        self.edges: list[Edge] = [(float.fromhex(edge), int(key, 16)) for edge, key in lines.get("edge", [])]
        how, *tally = lines["begin"][0]
        self.tally = list(map(int, tally)) if how == "tally" else None
        self.bins = [(int(count), int(total)) for count, total in lines.get("bin", [])]
        self.totals = tuple(map(int, lines["totals"][0]))

    def begun(self) -> StreamingBinning:
        limits = None if math.isinf(self.range[0]) else tuple(self.range)
        if self.tally is None:
            return over(self.edges, limits, self.seed)
        model = fb.BinnedModel.from_parts(
            edges=[edge for edge, _ in self.edges], edge_keys=np.array([key for _, key in self.edges], np.uint64),
            values=[0.5] * (len(self.edges) + 1), scheme="explicit", score_range=limits, seed=self.seed,
            counts=[count for count, _ in self.bins], label_sums=[total for _, total in self.bins],
            n_samples=self.tally[0], n_positive=self.tally[1], n_tied=self.tally[2],
        )  # fmt: skip
        return StreamingBinning(model, continue_fit=True)


SHARED = read(STREAMS, "fastbin-stream-vectors 1", "stream")
assert not SHARED.pop("")


@pytest.mark.parametrize("shared", [SharedStream(*item) for item in SHARED.items()], ids=lambda shared: shared.name)
@pytest.mark.parametrize("how", ["at once", "one by one", "random"])
def test_the_streams_that_c_counts(shared: SharedStream, how: str) -> None:
    stream = shared.begun()
    scores = np.array([float.fromhex(words[0]) for words in shared.samples])
    labels = np.array([int(words[1]) for words in shared.samples])
    keys: Any = None
    if shared.samples[0][2] != "-":
        keys = np.array([int(words[2], 16) for words in shared.samples], np.uint64)
    bins: list[int] = []
    for part in batches(Random(shared.name), len(scores), how):
        if how == "one by one":
            key = None if keys is None else int(keys[part][0])
            bins.append(stream.update_one(scores[part][0], labels[part][0], key))
        else:
            bins += stream._count(scores[part], labels[part], None if keys is None else keys[part], None).tolist()
    assert bins == [int(words[3]) for words in shared.samples]
    model = stream.model()
    assert (stream.n_samples, model.n_positive, model.n_tied) == shared.totals
    assert stream.counts.tolist() == [int(words[0]) for words in shared.states]
    assert stream.label_sums.tolist() == [int(words[1]) for words in shared.states]
    if shared.tally is not None:
        assert stream.running_variances is None
    else:
        expected = [float.fromhex(words[2]) for words in shared.states]
        assert stream.running_variances.tolist() == expected


def test_edges_given_as_numbers_send_ties_up() -> None:
    expected = Stream([(0.25, KEY_ABOVE), (0.5, KEY_ABOVE)])
    stream = StreamingBinning([0.25, 0.5])
    scores, labels = [0.25, 0.5, 0.0, -0.0, 1.0, 0.25], [1, 0, 1, 0, 1, 1]
    stream.update(scores, labels)
    expected.update(scores, labels)
    assert_same_state(stream, expected)
    assert stream.counts.tolist() == [2, 2, 2]
