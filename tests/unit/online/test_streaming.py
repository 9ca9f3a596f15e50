"""Streams: counts, refusals, intervals and bytes, also over two resolutions; that they count right is in tests/property."""

from __future__ import annotations

import pickle
import struct
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fastbin as fb
from fastbin import intervals, theory
from fastbin.online import CalibrationMonitor, StreamingBinning
from fitting import bare
from fresh_python import run_python
from monitored import refuses
from reference.keys import fmix

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
        ([0.5, float("nan")], "partition[1] is NaN; edges are finite numbers"),
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
        (([0.1], 3), {}, "1 score is too few for n_bins=3"),
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
        ([0.1, 0.2], [1, 1], {"tie_keys": [1]}, "tie_keys has 1 rows for 2 scores"),
        ([0.1, 0.2], [1, 1], {"tie_keys": [1, -1]}, "tie_keys[1] is -1; keys must not be negative"),
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
        (0.5, np.array([0, 1]), None, "label is array([0, 1]); labels are 0 and 1, or False and True"),
        (0.5, pd.NA, None, "label is <NA>; labels are 0 and 1, or False and True"),
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
    keyed.update(scores, labels, tie_keys=keys)
    assert keyed.counts.tolist() == np.bincount(cal.model_.assign(scores, tie_keys=keys), minlength=4).tolist()
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
    assert bare(model) == bare(fitted)._replace(fingerprint=0)
    assert model.certificate().epsilon == fitted.certificate().epsilon
    assert empty.n_samples == 0  # a snapshot stays what it was


def test_a_snapshot_forgets_what_only_the_fit_had() -> None:
    cal = fb.UniformMassBinning(n_bins=3, ties="random", delta=0.01).fit(*rows(200), sample_weight=np.full(200, 0.5))
    stream = StreamingBinning(cal)
    stream.update(*rows(90))
    model = stream.model()
    assert (model.scheme, model.ties, model.delta, model.is_weighted) == ("explicit", "random", 0.0, False)
    assert stream.partition == cal.model_


@pytest.mark.parametrize("continue_fit", [False, True])
def test_a_snapshot_says_whose_bins_were_counted_in_and_not_that_their_fit_made_it(continue_fit: bool) -> None:
    bins = fb.UniformMassBinning(n_bins=3).fit(*rows(200)).model_
    if not continue_fit:
        bins = bins._derived("one_per_cluster", {"seed": 1})
    stream = StreamingBinning(bins, continue_fit=continue_fit)
    stream.update(*rows(90, seed=1))
    model = StreamingBinning.from_bytes(stream.to_bytes()).model()
    assert model == stream.model()
    assert model.provenance is not None
    step = {"calibrator": "StreamingBinning", "configuration": {"partition": {"sha256": sha256(bins.to_bytes()).hexdigest()}}}
    assert model.provenance["made_by"] == [step]
    assert model.provenance["n_samples"] == model.n_samples
    assert "cluster" not in model.certificate().explain()
    refuses(
        fb.InputError, "model was made by StreamingBinning, whose fit takes more than rows", fb.engines.verify_data, model,
        score=rows(90, seed=1)[0], label=rows(90, seed=1)[1],
    )  # fmt: skip


def test_a_fit_to_one_row_of_each_cluster_is_not_counted_on() -> None:
    bins = fb.UniformMassBinning(n_bins=3).fit(*rows(200)).model_._derived("one_per_cluster", {"seed": 1})
    refuses(fb.GuaranteeError, "the fit took one row of each cluster", StreamingBinning, bins, continue_fit=True)


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


@pytest.mark.parametrize(
    ("within", "error", "message"),
    [
        ("x", fb.InputTypeError, "within has dtype <U1; give numbers, as an earlier look gave them"),
        ([[0.0, 1.0], [0.1]], fb.InputTypeError, "within is not an array of numbers: setting an array element"),
        ([0.0, 1.0], fb.InputError, "within has shape (2,); intervals of 2 bins have shape (2, 2)"),
        ([[0.0, 1.0], [0.0, float("nan")]], fb.InputError, "within[1, 1] is nan; ends of intervals lie in [0, 1]"),
        ([[0.0, 1.5], [0.0, 1.0]], fb.InputError, "within[0, 1] is 1.5; ends of intervals lie in [0, 1]"),
    ],
)
def test_what_is_no_earlier_look_is_refused(within: Any, error: type[Exception], message: str) -> None:
    refuses(error, message, StreamingBinning([0.5]).interval, within=within)


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
    refuses(fb.InputError, "bound is 'wilson'; choose one of 'beta-binomial'", counted().interval, 0.1, "wilson")
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
        refuses(fb.GuaranteeError, f"bound='{method}' needs the running variance", stream.interval, bound=method)


def test_merging_with_nothing_changes_nothing() -> None:
    stream, before = counted(), counted()
    assert stream.merge(StreamingBinning([0.2, 0.5, 0.8])) == before
    assert StreamingBinning([0.2, 0.5, 0.8]).merge(before) == before


def test_bins_are_merged_whatever_the_steps_inside_them() -> None:
    fitted = fb.CertifiedCalibration(n_bins=5).fit(*rows(2000))
    earlier = StreamingBinning(fitted)
    earlier.update(*rows(100))
    later = StreamingBinning(earlier.model())
    later.update(*rows(50))
    assert later.partition.n_steps < earlier.partition.n_steps
    expected = earlier.counts + later.counts
    for one, other in ((earlier, later), (later, earlier)):
        merged = StreamingBinning.from_bytes(one.to_bytes()).merge(other)
        assert merged.counts.tolist() == expected.tolist()
        assert merged.partition == one.partition


def test_what_cannot_be_merged_is_refused() -> None:
    stream = counted()
    before = stream.to_bytes()
    refuses(fb.InputError, "other counts in other bins", stream.merge, StreamingBinning([0.2, 0.5, 0.9]))
    refuses(fb.InputError, "other counts in other bins", stream.merge, StreamingBinning([0.2, 0.5, 0.8], score_range=(0, 2)))
    refuses(fb.InputError, "other is the stream itself", stream.merge, stream)
    refuses(fb.InputTypeError, "other is dict; only streams can be merged", stream.merge, {})
    assert stream.to_bytes() == before
    cal = fb.UniformMassBinning(n_bins=3).fit(*rows(100))
    one, two = (StreamingBinning(cal, continue_fit=True) for _ in range(2))
    refuses(fb.InputError, "both streams go on from a fit", one.merge, two)
    assert one.merge(StreamingBinning(cal)).n_samples == 100


def test_more_samples_than_a_stream_counts_are_told_as_such() -> None:
    stream, more = StreamingBinning([0.5]), StreamingBinning([0.5])
    more.update_counts([2**52, 0], [7, 0])
    for _ in range(8):
        more.merge(StreamingBinning.from_bytes(more.to_bytes()))
    stream.merge(more)
    stream.update_counts([2**53, 0], [0, 0])
    before = stream.to_bytes()
    told = f"there are {2**61 + 2**53:,} samples in both, and a stream counts up to 2**61 - 1; begin"
    refuses(fb.InputError, told, stream.merge, more)
    assert stream.to_bytes() == before


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


def test_edges_of_a_split_fit_are_fixed_also_in_the_model_of_a_stream_that_went_on_from_it() -> None:
    scores, labels = rows(400)
    fit = fb.UniformMassBinning(3, scheme="ums").fit(np.round(scores, 1), labels).model_
    assert fit.n_tied > 0
    stream = StreamingBinning(fit, continue_fit=True)
    new_scores, new_labels = rows(300, seed=1)
    stream.update(np.round(new_scores, 1), new_labels)
    model = stream.model()
    assert (model.ties, model.n_tied, model.n_samples) == ("none", 0, 700)
    assert model.certificate().epsilon < stream.certificate().epsilon
    assert StreamingBinning(model, continue_fit=True).interval().tolist() == stream.interval().tolist()


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


# ------------------------------------------------------------------------------------------------- bytes


def test_streams_are_saved_loaded_pickled_and_compared(tmp_path: Path) -> None:
    stream = counted()
    stream.save(tmp_path / "s.fbs")
    loaded = StreamingBinning.load(tmp_path / "s.fbs")
    assert loaded == stream == pickle.loads(pickle.dumps(stream))
    assert loaded.partition == stream.partition
    loaded.update_one(0.5, 1)
    assert loaded != stream
    assert stream != "stream"
    assert repr(stream) == "StreamingBinning('explicit' partition, 4 bins, 500 samples)"
    with pytest.raises(TypeError):
        hash(stream)


def test_the_bytes_are_as_written_down() -> None:
    """csrc/FORMAT.md, "Streams", read by hand."""
    stream = counted()
    data = stream.to_bytes()
    assert data[:8] == b"\x89FBS\r\n\x1a\n"
    version, n_sections, length = struct.unpack_from("<IIQ", data, 8)
    assert (version, n_sections, length) == (2, 4, len(data))
    sections, at = {}, 24
    while at < len(data) - 8:
        tag, must_understand, size = struct.unpack_from("<4sIQ", data, at)
        assert must_understand == 1
        sections[tag] = data[at + 16 : at + 16 + size]
        at += 16 + size
    assert list(sections) == [b"HEAD", b"MODL", b"TALY", b"VARI"]
    assert struct.unpack("<IIqqq", sections[b"HEAD"]) == (1, 0, 500, int(stream.label_sums.sum()), 0)
    assert sections[b"MODL"] == stream.partition.to_bytes()
    assert struct.unpack("<8q", sections[b"TALY"]) == (*stream.counts.tolist(), *stream.label_sums.tolist())
    assert list(struct.unpack("<4d", sections[b"VARI"])) == stream.running_variances.tolist()
    assert struct.unpack("<Q", data[-8:]) == (checksum(data[:-8]),)


def version_1(stream: StreamingBinning, flags: int) -> bytes:
    """The bytes that fastbin 0.1.0 wrote."""
    model = stream.partition.to_bytes()
    counts, label_sums, variances = stream.tally()
    arrays = counts.tobytes() + label_sums.tobytes() + (b"" if variances is None else variances.tobytes())
    head = struct.pack("<qqqQ", stream.n_samples, int(label_sums.sum()), 0, len(model))
    length = 24 + len(head) + len(model) + len(arrays) + 8
    data = b"\x89FBS\r\n\x1a\n" + struct.pack("<IIQ", 1, flags, length) + head + model + arrays
    return data + struct.pack("<Q", checksum(data))


def test_streams_of_version_1_are_read() -> None:
    stream = counted()
    read = StreamingBinning.from_bytes(version_1(stream, 1))
    assert read.to_bytes() == stream.to_bytes()
    read.update([0.3, 0.9], [0, 1])
    stream.update([0.3, 0.9], [0, 1])
    assert read == stream
    continued = StreamingBinning(counted().model(), continue_fit=True)
    assert StreamingBinning.from_bytes(version_1(continued, 2)) == continued
    for wrong in (version_1(stream, 0), version_1(stream, 4), version_1(continued, 1)):
        with pytest.raises(fb.FormatError):
            StreamingBinning.from_bytes(wrong)


def test_a_merge_keeps_the_tally_of_the_fit_that_was_gone_on_from() -> None:
    """In 0.1.0 the flag was kept and the tally was not, so that a file could say that a fit was counted which it had not."""
    fit = counted().model()
    merged = StreamingBinning([0.2, 0.5, 0.8])
    merged.merge(StreamingBinning(fit, continue_fit=True))
    assert merged.partition == fit
    assert StreamingBinning.from_bytes(merged.to_bytes()) == merged


def checksum(data: bytes) -> int:
    state = 0
    for (word,) in struct.iter_unpack("<Q", data):
        state = fmix(state ^ word)
    return state


def forged(offset: int, pattern: str, value: float) -> bytes:
    """A stream with one number replaced and the checksum made to fit."""
    data = bytearray(counted().to_bytes())
    struct.pack_into(pattern, data, offset % (len(data) - 8) if offset < 0 else offset, value)
    data[-8:] = struct.pack("<Q", checksum(bytes(data[:-8])))
    return bytes(data)


MODEL_SIZE = len(StreamingBinning([0.2, 0.5, 0.8]).partition.to_bytes())
COUNTS = 88 + MODEL_SIZE + 16
VARIANCES = COUNTS + 64 + 16


@pytest.mark.parametrize(
    ("offset", "pattern", "value", "message"),
    [
        pytest.param(8, "<I", 3, "newer version", id="version 3"),
        pytest.param(8, "<I", 0, "contradicts itself", id="version 0"),
        pytest.param(8, "<I", 1, "contradicts itself", id="version 1, laid out otherwise"),
        pytest.param(12, "<I", 3, "contradicts itself", id="fewer sections"),
        pytest.param(40, "<I", 4 | 1, "newer version", id="unknown flag"),
        pytest.param(40, "<I", 0, "contradicts itself", id="no variance, though it is there"),
        pytest.param(40, "<I", 2 | 1, "contradicts itself", id="a fit without a tally"),
        pytest.param(44, "<I", 1, "contradicts itself", id="filling"),
        pytest.param(16, "<Q", 8, "truncated", id="length"),
        pytest.param(48, "<q", 499, "contradicts itself", id="fewer samples than counts"),
        pytest.param(48, "<q", 501, "contradicts itself", id="more samples than counts"),
        pytest.param(56, "<q", 0, "contradicts itself", id="label 1 never seen"),
        pytest.param(64, "<q", -1, "contradicts itself", id="negative ties"),
        pytest.param(64, "<q", 3, "contradicts itself", id="ties where no edge splits any"),
        pytest.param(80, "<Q", 2**63, "contradicts itself", id="model longer than all"),
        pytest.param(80, "<Q", MODEL_SIZE - 8, "contradicts itself", id="model cut short"),
        pytest.param(88 + 8, "<I", 9, "newer version", id="newer model"),
        pytest.param(COUNTS, "<q", -5, "contradicts itself", id="negative count"),
        pytest.param(COUNTS + 32, "<q", 10**6, "contradicts itself", id="label sum above count"),
        pytest.param(VARIANCES, "<d", -1.0, "contradicts itself", id="negative variance"),
        pytest.param(VARIANCES, "<d", -0.0, "contradicts itself", id="negative zero"),
        pytest.param(VARIANCES, "<d", 0.0, "contradicts itself", id="no variance with samples"),
        pytest.param(VARIANCES, "<d", 1e9, "contradicts itself", id="variance above count"),
        pytest.param(VARIANCES, "<d", float("nan"), "contradicts itself", id="variance NaN"),
    ],
)
def test_forged_bytes_are_refused(offset: int, pattern: str, value: float, message: str) -> None:
    refuses(fb.FormatError, message, StreamingBinning.from_bytes, forged(offset, pattern, value))


def test_a_stream_has_no_fewer_ones_than_its_fit() -> None:
    split = fb.UniformMassBinning(3, scheme="ums").fit(np.repeat([0.2, 0.5, 0.7], 100), np.arange(300) % 2)
    data = bytearray(StreamingBinning(split, continue_fit=True).to_bytes())
    (seen,) = struct.unpack_from("<q", data, 56)
    struct.pack_into("<q", data, 56, seen - 1)
    data[-8:] = struct.pack("<Q", checksum(bytes(data[:-8])))
    refuses(fb.FormatError, "contradicts itself", StreamingBinning.from_bytes, bytes(data))


def test_the_forger_forges_well() -> None:
    assert forged(48, "<q", 500) == counted().to_bytes()


def test_foreign_and_damaged_bytes_are_refused(tmp_path: Path) -> None:
    data = counted().to_bytes()
    path = tmp_path / "s.fbs"
    for wrong, message in (
        (b"", "no bytes"),
        (b"score,label\n", "not a fastbin stream"),
        (counted().model().to_bytes(), "a single model, and not the state of a stream: BinnedModel.from_bytes"),
        (data[:-1], "truncated"),
        (data + b"\0" * 8, "bytes behind its end"),
        (data[:60] + bytes([data[60] ^ 1]) + data[61:], "the checksum of the stream does not match"),
    ):
        refuses(fb.FormatError, message, StreamingBinning.from_bytes, wrong)
        path.write_bytes(wrong)
        refuses(fb.FormatError, f"{path}: ", StreamingBinning.load, path)
    with pytest.raises(FileNotFoundError):
        StreamingBinning.load(tmp_path / "nowhere.fbs")


# ------------------------------------------------------------------------------------------------- two resolutions


def two_resolutions(decimals: int | None = None) -> fb.BinnedModel:
    rng = np.random.default_rng(2)
    scores = rng.random(2000)
    labels = rng.random(2000) < scores
    return fb.CertifiedCalibration(5).fit(scores if decimals is None else scores.round(decimals), labels).model_


@pytest.mark.parametrize("decimals", [None, 1])
def test_outcomes_of_two_resolutions_are_counted_in_evidence_bins(decimals: int | None) -> None:
    model = two_resolutions(decimals)
    stream, (scores, labels) = StreamingBinning(model), rows(500)
    stream.update(scores, labels)
    bins = model.assign(scores)
    np.testing.assert_array_equal(stream.counts, np.bincount(bins, minlength=model.n_bins))
    np.testing.assert_array_equal(stream.label_sums, np.bincount(bins, labels, model.n_bins))
    counted = stream.model()
    np.testing.assert_array_equal(counted.edges, model.bin_edges)
    np.testing.assert_array_equal(counted.values, stream.label_sums / stream.counts)
    assert not counted.has_steps
    assert stream.partition == model
    assert stream.interval().shape == (model.n_bins, 2)
    certificate = stream.certificate()
    assert certificate.n_steps == 0  # a promise about the means that the stream serves
    assert certificate.radii is not None
    again = StreamingBinning.from_bytes(stream.to_bytes())
    assert (again == stream, again.partition == model) == (True, True)
    other = StreamingBinning(model)
    other.update(scores[:7], labels[:7])
    assert other.merge(stream).counts.sum() == 507


def test_going_on_from_a_fit_of_two_resolutions() -> None:
    model, (scores, labels) = two_resolutions(), rows(300)
    stream = StreamingBinning(model, continue_fit=True)
    stream.update(scores, labels)
    bins = model.assign(scores)
    np.testing.assert_array_equal(stream.counts, model.counts + np.bincount(bins, minlength=model.n_bins))
    with pytest.raises(fb.GuaranteeError, match="share a score with an edge"):
        StreamingBinning(two_resolutions(1), continue_fit=True)
    scores = np.repeat([0.2, 0.5, 0.7], 100)
    split = fb.UniformMassBinning(3, scheme="ums").fit(scores, np.arange(300) % 2)
    assert StreamingBinning(split, continue_fit=True).counts.sum() == 150  # its edges saw the other samples alone


@pytest.mark.parametrize("decimals", [None, 1])
def test_the_evidence_bins_of_two_resolutions_are_watched(decimals: int | None) -> None:
    model = two_resolutions(decimals)
    monitor = CalibrationMonitor(model, tolerance=0.02)
    ends = np.clip(np.stack([model.bin_values - 0.02, model.bin_values + 0.02], axis=1), 0.0, 1.0)
    np.testing.assert_array_equal(monitor.tolerated, ends)
    np.testing.assert_array_equal(CalibrationMonitor(model, interval_alpha=0.1).tolerated, model.interval(0.1))
    rng = np.random.default_rng(1)
    scores = rng.random(3000)
    scores = scores if decimals is None else scores.round(decimals)
    assert not monitor.update(scores, rng.random(3000) < model.predict(scores))
    report = monitor.report()
    assert [b.value for b in report.bins] == model.bin_values.tolist()
    assert report.n_steps == model.n_steps
    assert f"not the {model.n_steps:,} values inside them" in str(report)
    assert "is not seen" in str(report)
    assert CalibrationMonitor.from_bytes(monitor.to_bytes()) == monitor
    assert monitor.update(scores, rng.random(3000) < 0.7 * model.predict(scores))
    assert "is not seen" in str(monitor)


def test_after_label_shift_all_that_a_bin_serves_is_tolerated() -> None:
    moved = fb.shift.LabelShift(two_resolutions()).fit(labels=[1] * 20 + [0] * 180).model_
    tolerated = CalibrationMonitor(moved, tolerance=0.0).tolerated
    for b, (low, high) in enumerate(tolerated.tolist()):
        own = moved.values[np.searchsorted(moved.first_step, np.arange(moved.n_steps), "right") - 1 == b]
        assert (low, high) == (own.min(), own.max())


def test_one_resolution_says_nothing_of_steps() -> None:
    report = CalibrationMonitor(fb.ExplicitBinning([0.5]).fit([0.2, 0.8], [0, 1])).report()
    assert report.n_steps == 0
    assert "steps" not in str(report)
    assert "is not seen" not in str(report)
