"""What streams take, refuse and say; that they count right is in tests/property."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin import intervals, theory
from fastbin.online import StreamingBinning
from fitting import bare
from fresh_python import run_python

# Fits with empty bins are the business of some of these tests; test_manners.py is about their warning.
pytestmark = pytest.mark.filterwarnings("ignore::fastbin.FastbinWarning")


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, (rng.random(n) < scores).astype(np.uint8)


def counted(n: int = 500) -> StreamingBinning:
    stream = StreamingBinning([0.2, 0.5, 0.8])
    stream.update(*rows(n))
    return stream


def refuses(error: type[Exception], message: str, call: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """The call raises this error, with this in its message."""
    with pytest.raises(error, match=re.escape(message)) as caught:
        call(*arguments, **options)
    assert type(caught.value) is error


# ------------------------------------------------------------------------------------------------- partitions


def test_a_partition_is_a_model_a_fitted_calibrator_or_edges() -> None:
    cal = fb.UniformMassBinning(n_bins=4).fit(*rows(200))
    for partition in (cal, cal.model_):
        stream = StreamingBinning(partition)
        assert stream.partition is cal.model_
        assert stream.n_samples == 0
        assert stream.seed == cal.model_.seed
    assert StreamingBinning([]).n_bins == 1
    assert StreamingBinning([-3.0, 4.5], score_range=None).partition.score_range is None
    assert StreamingBinning(np.array([0.5], np.float32)).partition.scheme == "explicit"


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([0.5, 0.5], "partition[1] is 0.5, not above partition[0], which is 0.5; edges must rise strictly"),
        ([0.5, 0.4], "partition[1] is 0.4, not above partition[0], which is 0.5"),
        ([0.5, float("nan")], "partition[1] is NaN"),
        ([0.5, 1.5], "partition[1] is 1.5, outside [0, 1]"),
        ([0.0, 0.5], "partition[0] is 0.0, the low end of score_range"),
    ],
)
def test_bad_edges_are_refused(edges: list[float], message: str) -> None:
    refuses(fb.InputError, message, StreamingBinning, edges)


def test_partitions_without_bins_are_refused() -> None:
    smooth = fb.PlattScaling().fit(*rows(100))
    refuses(fb.InputError, "partition is a 'smooth' model, which has no bins to count in", StreamingBinning, smooth)
    path = "credit.fbm"
    refuses(fb.InputTypeError, f"partition is the path {path!r}; pass a BinnedModel (fb.load reads one", StreamingBinning, path)
    refuses(fb.NotFittedError, "is not fitted yet", StreamingBinning, fb.UniformMassBinning())


def test_a_first_block_gives_bins_of_equal_mass() -> None:
    scores = np.repeat([0.1, 0.3, 0.5, 0.9], 250)
    stream = StreamingBinning.from_scores(scores, n_bins=10, ties="random", seed=3)
    stream.update(scores, np.zeros(1000))
    # By keys, tied scores are cut like others: ten bins of a hundred, up to the luck of the new keys.
    assert stream.n_bins == 10
    assert abs(stream.counts - 100).max() < 50
    assert stream.partition.scheme == "ums"
    assert stream.model().randomised_mass == 1.0
    for options in ({}, {"ties": "whole"}, {"ties": "upper"}):
        upper = StreamingBinning.from_scores(scores, n_bins=10, **options)
        assert upper.partition.edges.tolist() == [0.1, 0.3, 0.5, 0.9]
        assert not upper.model().needs_key
    assert StreamingBinning.from_scores([0.0, 0.0, 0.4], 3, ties="upper").partition.edges.tolist() == []


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.1, 0.2], 3), {}, "2 scores are too few for n_bins=3; give at least one per bin"),
        (([0.1, float("nan")], 1), {}, "scores[1] is NaN"),
        (([0.1], 0), {}, "n_bins is 0; it must be at least 1"),
        (([0.1], 1), {"ties": "lower"}, "ties is 'lower'; choose one of 'whole', 'random', 'upper'"),
        (([2.0], 1), {}, "scores[0] is 2.0, outside [0, 1]"),
    ],
)
def test_bad_first_blocks_are_refused(arguments: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    refuses(fb.InputError, message, StreamingBinning.from_scores, *arguments, **options)


# ------------------------------------------------------------------------------------------------- samples


@pytest.mark.parametrize(
    ("scores", "labels", "options", "message"),
    [
        ([0.1, float("nan")], [0, 1], {}, "scores[1] is NaN; remove such rows"),
        ([0.1, 0.2, -0.5], [0, 1, 1], {}, "scores[2] is -0.5, outside [0, 1]"),
        ([0.1, None], [0, 1], {}, "scores[1] is None, not a number"),
        ([0.1, 0.2], [0, 2], {}, "labels[1] is 2; labels are 0 and 1"),
        ([0.1, 0.2], [0.5, 1], {}, "labels[0] is 0.5; labels are 0 and 1"),
        (
            [0.1, 0.2],
            [-1, 1],
            {},
            "labels[0] is -1; labels are 0 and 1, and these are -1 and 1; pass positive= with the value",
        ),
        ([0.1, 0.2], [1], {}, "lengths differ: scores has 2, labels has 1"),
        ([0.1, 0.2], [1, 1], {"keys": [1]}, "keys has 1 rows for 2 scores"),
        ([0.1, 0.2], [1, 1], {"keys": [1, -1]}, "keys[1] is -1; keys must not be negative"),
        ([0.1], [1], {"seed": -1}, "seed is -1; it must be at least 0"),
    ],
)
def test_bad_batches_are_refused_whole(scores: list[Any], labels: list[Any], options: dict[str, Any], message: str) -> None:
    stream = counted()
    before = stream.to_bytes()
    refuses(fb.InputError, message, stream.update, scores, labels, **options)
    assert stream.to_bytes() == before


def test_a_bad_row_of_a_long_batch_is_refused_whole() -> None:
    stream = counted()
    before = stream.to_bytes()
    scores, labels = rows(50_000)
    scores[49_999] = np.nan
    refuses(fb.InputError, "scores[49999] is NaN", stream.update, scores, labels)
    assert stream.to_bytes() == before


@pytest.mark.parametrize(
    ("score", "label", "key", "message"),
    [
        (float("nan"), 1, None, "score is NaN; remove such rows"),
        (1.5, 1, None, "score is 1.5, outside [0, 1]"),
        (0.5, 2, None, "label is 2; labels are 0 and 1, or False and True"),
        (0.5, float("nan"), None, "label is nan; labels are 0 and 1, or False and True"),
        (0.5, "1", None, "label is '1'; labels are 0 and 1, or False and True"),
        (0.5, 1, 2**64 - 1, "key is 18446744073709551615; it must be an integer in [0, 2**64 - 2]"),
    ],
)
def test_bad_single_samples_are_refused(score: float, label: Any, key: int | None, message: str) -> None:
    stream = counted()
    before = stream.to_bytes()
    refuses(fb.InputError, message, stream.update_one, score, label, key)
    assert stream.to_bytes() == before


@pytest.mark.parametrize("label", [True, np.True_, 1, 1.0, np.int8(1), np.float32(1)])
def test_labels_of_any_type_are_counted(label: Any) -> None:
    stream = StreamingBinning([0.5])
    assert stream.update_one(0.7, label) == 1
    stream.update([0.7], [label])
    assert stream.label_sums.tolist() == [0, 2]


def test_nothing_writes_its_input_and_nothing_is_a_batch() -> None:
    stream = StreamingBinning([0.5])
    scores, labels = rows(100)
    for column in (scores, labels):
        column.flags.writeable = False
    stream.update(scores, labels)
    stream.update([], [])
    assert stream.n_samples == 100
    stream.counts[:] = 7  # a copy
    assert stream.counts.sum() == 100


def test_keys_and_seeds_decide_ties() -> None:
    cal = fb.UniformMassBinning(n_bins=4, ties="random").fit(np.repeat([0.2, 0.7], 200), np.zeros(400))
    scores, labels = np.repeat([0.2, 0.7], 300), np.arange(600) % 2
    keys = np.random.default_rng(1).integers(0, 2**63, 600).astype(np.uint64)
    keyed, seeded, plain = (StreamingBinning(cal) for _ in range(3))
    keyed.update(scores, labels, keys=keys)
    assert keyed.counts.tolist() == np.bincount(cal.model_.assign(scores, keys=keys), minlength=4).tolist()
    seeded.update(scores, labels, seed=5)
    assert seeded.counts.tolist() == np.bincount(cal.model_.assign(scores, seed=5), minlength=4).tolist()
    plain.update(scores, labels)
    assert plain.counts.tolist() == np.bincount(cal.model_.assign(scores, seed=cal.model_.seed), minlength=4).tolist()


# ------------------------------------------------------------------------------------------------- models and intervals


def test_a_snapshot_is_a_model_of_what_was_counted() -> None:
    stream = StreamingBinning([0.2, 0.5, 0.99999])
    empty = stream.model()
    assert empty.values.tolist() == [0.5] * 4
    scores, labels = rows(300)
    stream.update(scores, labels)
    model = stream.model()
    fitted = fb.ExplicitBinning([0.2, 0.5, 0.99999]).fit(scores, labels).model_
    assert model == bare(fitted)._replace(fingerprint=0)
    assert model.certificate().epsilon == fitted.certificate().epsilon
    assert empty.n_samples == 0  # a snapshot stays what it was


def test_a_snapshot_forgets_what_only_the_fit_had() -> None:
    cal = fb.UniformMassBinning(n_bins=3, ties="random", delta=0.01).fit(*rows(200), sample_weight=np.full(200, 0.5))
    stream = StreamingBinning(cal)
    stream.update(*rows(90))
    model = stream.model()
    assert (model.scheme, model.ties, model.delta, model.is_weighted) == ("explicit", "random", 0.0, False)
    assert stream.partition == cal.model_


@pytest.mark.parametrize("method", ["beta-binomial", "stitched", "theorem6"])
@pytest.mark.parametrize("simultaneous", [True, False])
def test_intervals_are_the_bounds(method: Any, simultaneous: bool) -> None:
    stream = counted()
    counts, sums, variances = stream.tally()
    share = intervals.bonferroni if method == "theorem6" else intervals.sidak
    level = share(0.05, 4) if simultaneous else 0.05
    expected = {
        "beta-binomial": lambda: intervals.beta_binomial(sums, counts, level),
        "stitched": lambda: intervals.stitched(sums, counts, variances, level),
        "theorem6": lambda: theory.theorem6(sums, counts, variances, level),
    }[method]()
    assert np.array_equal(stream.interval(0.05, method, simultaneous), expected)
    assert np.array_equal(StreamingBinning([0.5]).interval(0.05, method, simultaneous), [[0.0, 1.0]] * 2)


def test_intervals_of_looks_are_intersected() -> None:
    stream = StreamingBinning([0.5])
    kept = None
    for start in range(0, 2000, 100):
        scores, labels = rows(2000)
        stream.update(scores[start : start + 100], labels[start : start + 100])
        now = stream.interval(0.1)
        kept = stream.interval(0.1, within=kept)
        assert (kept[:, 0] >= now[:, 0]).all()
        assert (kept[:, 1] <= now[:, 1]).all()
    assert np.diff(kept).max() < np.diff(now).max()
    refuses(fb.InputError, "within has shape (3, 2)", stream.interval, within=np.zeros((3, 2)))
    refuses(fb.GuaranteeError, "the interval of bin 1 was [0.0, 0.1]", stream.interval, within=[[0.0, 1.0], [0.0, 0.1]])


def test_methods_and_levels_are_checked() -> None:
    refuses(fb.InputError, "method is 'wilson'; choose one of 'beta-binomial'", counted().interval, 0.1, "wilson")
    refuses(
        fb.InputError, "alpha is 5.0; alpha is the chance that the promise fails; did you mean 0.05?", counted().interval, 5.0
    )


def test_a_certificate_says_what_holds_at_every_time() -> None:
    stream = counted()
    certificate = stream.certificate(alpha=0.1)
    intervals, values = stream.interval(0.1), stream.model().values
    assert certificate.epsilon == np.maximum(intervals[:, 1] - values, values - intervals[:, 0]).max()
    assert (certificate.kind, certificate.bound, certificate.n_samples) == ("conditional", "beta-binomial", 500)
    assert "at every number of samples at once" in certificate.explain()
    assert certificate.epsilon < stream.certificate(0.1, "stitched").epsilon < stream.certificate(0.1, "theorem6").epsilon
    narrow = StreamingBinning([0.2, 0.99999])
    narrow.update(*rows(100))
    assert narrow.certificate().uncovered_bins == (2,)
    refuses(fb.GuaranteeError, "no bin holds a sample of its own", StreamingBinning([0.5]).certificate)


def test_the_certificate_is_wider_than_one_for_a_fixed_number_of_samples() -> None:
    stream = counted(2000)
    assert stream.certificate().epsilon > stream.model().certificate().epsilon


# ------------------------------------------------------------------------------------------------- merging, going on


def test_the_running_variance_does_not_survive_a_merge() -> None:
    stream = counted().merge(counted())
    assert stream.running_variances is None
    assert stream.interval().shape == (4, 2)
    for method in ("stitched", "theorem6"):
        refuses(fb.GuaranteeError, f"method='{method}' needs the running variance", stream.interval, method=method)


def test_merging_with_nothing_changes_nothing() -> None:
    stream, before = counted(), counted()
    assert stream.merge(StreamingBinning([0.2, 0.5, 0.8])) == before
    assert StreamingBinning([0.2, 0.5, 0.8]).merge(before) == before


def test_what_cannot_be_merged_is_refused() -> None:
    stream = counted()
    before = stream.to_bytes()
    refuses(fb.InputError, "other counts in other bins", stream.merge, StreamingBinning([0.2, 0.5, 0.9]))
    refuses(fb.InputError, "other counts in other bins", stream.merge, StreamingBinning([0.2, 0.5, 0.8], score_range=(0, 2)))
    refuses(fb.InputError, "other is the stream itself", stream.merge, stream)
    refuses(fb.InputError, "other is dict; only streams can be merged", stream.merge, {})
    assert stream.to_bytes() == before
    cal = fb.UniformMassBinning(n_bins=3).fit(*rows(100))
    one, two = (StreamingBinning(cal, continue_fit=True) for _ in range(2))
    refuses(fb.InputError, "both streams go on from a fit", one.merge, two)
    assert one.merge(StreamingBinning(cal)).n_samples == 100


def test_going_on_from_a_fit() -> None:
    scores, labels = rows(1000)
    cal = fb.UniformMassBinning(n_bins=5).fit(scores, labels)
    stream = StreamingBinning(cal, continue_fit=True)
    assert stream.model().values.tolist() == cal.model_.values.tolist()
    assert np.array_equal(stream.interval(), intervals.beta_binomial(stream.label_sums, stream.counts, intervals.sidak(0.1, 5)))
    assert stream.running_variances is None
    stream.update(*rows(500, seed=1))
    assert stream.n_samples == 1500
    assert stream.counts.sum() == 1500 - 4  # the fit left four boundary samples out


def test_fits_that_cannot_be_gone_on_from_are_refused() -> None:
    scores, labels = rows(200)
    tied = np.round(scores, 1)
    refused = {
        "carries no tally": fb.online.StreamingBinning([0.5]).partition,
        "the fit has real weights": fb.UniformMassBinning(4).fit(scores, labels, sample_weight=np.full(200, 0.5)),
        "the tally of scheme 'ze'": fb.UniformMassBinning(4, scheme="ze").fit(scores, labels),
        "the tally of scheme 'umb'": fb.UniformMassBinning(4, scheme="umb").fit(scores, labels),
        "share a score with an edge and ties='upper'": fb.UniformMassBinning(4, ties="upper").fit(tied, labels),
        "moved to other class rates": fb.shift.LabelShift(fb.UniformMassBinning(4).fit(scores, labels)).fit(
            labels=np.arange(50) < 5
        ),
    }
    for message, partition in refused.items():
        StreamingBinning(partition)
        refuses(fb.GuaranteeError, message, StreamingBinning, partition, continue_fit=True)


# ------------------------------------------------------------------------------------------------- threads, imports


def test_threads_share_a_stream() -> None:
    stream = StreamingBinning([0.2, 0.5, 0.8])
    scores, labels = rows(20_000)

    def count(number: int) -> None:
        if number % 2:
            for start in range(0, 20_000, 4000):
                stream.update(scores[start : start + 4000], labels[start : start + 4000])
        else:
            for score, label in zip(scores[:4000].tolist(), labels[:4000].tolist(), strict=True):
                stream.update_one(score, label)
            stream.model(), stream.to_bytes()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(8)))
    once, first = StreamingBinning([0.2, 0.5, 0.8]), StreamingBinning([0.2, 0.5, 0.8])
    once.update(scores, labels)
    first.update(scores[:4000], labels[:4000])
    assert stream.counts.tolist() == (4 * once.counts + 4 * first.counts).tolist()
    assert stream.n_samples == 4 * 24_000


def test_counting_needs_numpy_alone() -> None:
    program = """
import sys
for blocked in ("scipy", "numba", "sklearn", "matplotlib", "click"):
    sys.modules[blocked] = None
from fastbin.online import CalibrationMonitor, StreamingBinning
stream = StreamingBinning.from_scores([0.1, 0.2, 0.2, 0.8], 2)
stream.update([0.1, 0.9], [0, 1])
stream.update_one(0.5, 1)
print(StreamingBinning.from_bytes(stream.to_bytes()).model().counts.sum())
"""
    result = run_python("-c", program)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "3"


def test_a_stream_that_was_never_begun_says_so() -> None:
    stream = StreamingBinning.__new__(StreamingBinning)
    for use in (lambda: stream.counts, lambda: stream.update_one(0.5, 1), stream.to_bytes, lambda: stream.n_samples):
        refuses(fb.FastbinError, "this stream was never begun", use)
