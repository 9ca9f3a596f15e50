"""Histogram binning over fixed bins while samples keep arriving; intervals that hold at every number of samples at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fastbin._base.array_types import Float64s, Int64s, UInt64s
from fastbin._base.checks import (
    MOST_BINS,
    as_key_array,
    as_scores,
    check_alpha,
    check_choice,
    check_count,
    check_edges,
    check_flag,
    check_labels,
    check_same_event,
    check_same_length,
    check_score_range,
    check_scores,
    check_seed,
    refuse_first,
)
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin._base.files import as_bytes, replace_file
from fastbin._base.frames import check_same_index
from fastbin._base.shown import how_many
from fastbin._base.tie_keys import GREATEST_KEY
from fastbin._core.schemes import SCHEMES
from fastbin._core.score import NativeStream
from fastbin._fit.calibrator import Calibrator
from fastbin._fit.edges import find_boundaries, order_cuts
from fastbin._fit.rows import Rows, limits_of
from fastbin._fit.tally import Partition, check_counts, without_empty_edges
from fastbin._model.parts import read_file
from fastbin._model.provenance import of_fit
from fastbin.guarantees.evidence import is_moved
from fastbin.intervals import beta_binomial, bonferroni, sidak, stitched
from fastbin.intervals.anytime import theorem6
from fastbin.model import BinnedModel
from fastbin.model_set import as_model

if TYPE_CHECKING:
    from typing_extensions import Self

    from fastbin.guarantees import Certificate

StreamBound = Literal["beta-binomial", "stitched", "theorem6"]

ASSUMPTIONS = (
    "the labels of a bin are independent and have one frequency throughout",
    "which samples arrive does not depend on their labels given the bin",
)
THEOREMS = {
    "beta-binomial": "Ville's inequality for the beta-binomial mixture, at every number of samples at once, with Sidak's level",
    "stitched": "Howard, Ramdas, McAuliffe & Sekhon 2021, Theorem 1, at every number of samples at once, with Sidak's level",
    "theorem6": "Gupta, Podkopaev & Ramdas 2020, Theorem 6, at every number of samples at once",
}

MOST_SAMPLES_OF_STREAM = 2**61 - 1  # MOST_SAMPLES in stream.h


def is_json(start: bytes | bytearray) -> bool:
    """Whether a file that begins so may be the state of a monitor of 0.1.0."""
    return start.lstrip()[:1] == b"{"


class State:
    """A state that `to_bytes` writes completely and `from_bytes` reads. Not hashable, as it changes."""

    if TYPE_CHECKING:

        def to_bytes(self) -> bytes: ...

        @classmethod
        def from_bytes(cls, data: bytes | bytearray) -> Self: ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, under a temporary name that is renamed when all is written."""
        replace_file(path, lambda file: file.write(self.to_bytes()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Go on from a file that `save` wrote; errors as in `from_bytes`, and OSError if it cannot be read."""
        return read_file(path, cls.from_bytes, is_other=is_json)

    def __reduce__(self) -> tuple[Callable[[bytes], Self], tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]


class StreamingBinning(State, NativeStream):
    """Count labelled samples in fixed bins as they arrive (Gupta, Podkopaev & Ramdas 2020, section 4.3).

    The bins are fixed before; every sample costs O(1) in a compiled kernel; at any moment there are intervals that hold at
    every number of samples at once, so one may look as often as one likes and stop when one likes.

    Parameters
    ----------
    partition : BinnedModel, fitted calibrator, or array-like of float
        Whose bins to count in; in a model of two resolutions its evidence bins. Edges given as numbers must rise strictly; a
        score equal to one lies above it. The edges must not have looked at the labels that will be counted. See also
        `from_scores`.
    continue_fit : bool
        Go on from the tally of the fitted model, instead of from zero. For the schemes "umd", "certified", "certified-fine",
        "ums", "fixed-width" and "explicit" without weights, whose tallied labels are independent draws from their bins given
        the edges, as the new ones are (not where whole groups of equal scores lie at edges, but for "ums"). The order of the
        fit's labels is not known: the running variance is lost, and `bound="beta-binomial"` alone is left.
    score_range : (low, high) or None
        Where scores must lie, for explicit edges; a model brings its own.

    Attributes
    ----------
    partition : BinnedModel
        The model whose bins are counted in.
    counts, label_sums : int64 (n_bins,)
        What was counted so far, copied at every access.
    running_variances : float64 (n_bins,), or None where the order of the labels was lost
        The sum over the labels of (label - mean of those before it in the bin)^2, with a mean of 1/2 before the first: equation
        (20), before its clipping at 1. Depends on the order of arrival, not on the batches.
    n_samples, n_bins, seed : int

    Notes
    -----
    **Ties.** A score that equals an edge which splits ties at random is counted in the bin that its key decides, as in
    `BinnedModel.predict`. Keys are uniform and independent of the row: `keys=` pins an entity; without keys, the i-th sample of
    the stream (from 0) gets the key of (`seed`, i), so the state does not depend on how the samples were cut into batches.
    Explicit edges need no keys.

    Safe to share between threads: each call takes a lock, and large batches are counted without the GIL. Not over a fork: where
    a process forks while another of its threads counts, the child waits for ever for a lock that the thread held. Give the
    child the state, by `to_bytes` and `from_bytes`.

    References
    ----------
    .. [1] C. Gupta, A. Podkopaev and A. Ramdas, "Distribution-free binary classification: prediction sets, confidence
       intervals and calibration", NeurIPS 2020, Theorem 6.
    .. [2] S. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences",
       Annals of Statistics 49 (2021).

    Examples
    --------
    >>> import fastbin as fb
    >>> stream = fb.online.StreamingBinning([0.3, 0.7])
    >>> stream.update([0.1, 0.5, 0.9, 0.2], [0, 1, 1, 0])
    >>> stream.update_one(0.95, 1)
    2
    >>> stream.counts, stream.label_sums
    (array([2, 1, 2]), array([0, 1, 2]))
    >>> stream.model().values
    array([0., 1., 1.])
    """

    def __init__(
        self, partition: Any, *, continue_fit: bool = False, score_range: tuple[float, float] | None = (0.0, 1.0)
    ) -> None:
        self._counted_in = as_partition(partition, score_range)
        goes_on = check_flag(continue_fit, "continue_fit")
        if goes_on:
            require_continuable(self._counted_in)
        self._begin(self._counted_in, goes_on)

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        n_bins: int = 10,
        *,
        ties: str = "whole",
        seed: int | None = 0,
        score_range: tuple[float, float] | None = (0.0, 1.0),
    ) -> Self:
        """An empty stream over bins of equal mass in a first block of scores, whose labels are not needed.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Of the population to come; the samples counted later must be others.
        n_bins : int
            Edge j is the score of rank ceil(j n / n_bins).
        ties : {"whole", "random", "upper"}
            "whole" and "upper": a score equal to an edge lies above it; no keys are ever needed, and fewer bins are left where
            scores repeat. "random": tied scores are split by keys, so that the bins have equal mass. All keep every guarantee.
        seed : int or None
            Of the keys. ``None`` draws one afresh.
        score_range : (low, high) or None
            Where scores must lie; ``None`` takes any finite score.

        Returns
        -------
        StreamingBinning

        Raises
        ------
        InputError
            For fewer scores than bins, and as in `update`.

        Notes
        -----
        O(n log n) time, O(n) memory.

        Examples
        --------
        >>> import fastbin as fb
        >>> fb.online.StreamingBinning.from_scores([0.1, 0.2, 0.4, 0.8], n_bins=2).partition.edges
        array([0.2])
        """
        return cls(uniform_mass_partition(scores, n_bins, ties, seed, score_range))

    # ------------------------------------------------------------------ counting

    def update(self, scores: Any, labels: Any, *, tie_keys: Any = None, seed: int | None = None, positive: Any = None) -> None:
        """Count a batch of any size, in order: all of it, or nothing if a row is refused.

        Parameters
        ----------
        scores : array-like of shape (n,)
            float32 and float64 are read without a copy. NaN, infinity and scores outside the range are refused.
        labels : array-like of shape (n,)
            bool, or numbers that equal 0 or 1.
        tie_keys : array-like of shape (n,), optional
            Tie keys: unsigned integers below 2**64 - 1, or floats in [0, 1).
        seed : int, optional
            Without keys, the i-th sample of the stream gets the key of (seed, i); the partition's seed by default.
        positive : optional
            The label that counts as 1, where labels are two values other than 0 and 1, such as "yes". A batch may hold one of
            the two alone. Must be the event of the partition, where that has one.

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value and the remedy.

        Notes
        -----
        The same state, bit for bit, as by `update_one` for each row. O(n) expected.
        """
        self._count(scores, labels, tie_keys, seed, positive)

    def _count(self, scores: Any, labels: Any, keys: Any, seed: int | None, positive: Any = None) -> npt.NDArray[np.int32]:
        """`update`, and the bins in which the rows were counted."""
        check_same_index(scores=scores, labels=labels, tie_keys=keys)
        check_same_event(self.partition.event, positive)
        score_array = as_scores(scores).view(np.ndarray)
        label_array = check_labels(labels, positive=positive, is_part=True)
        n = check_same_length(scores=score_array, labels=label_array)
        key_array, own_seed = None if keys is None else as_key_array(keys, n), None if seed is None else check_seed(seed)
        return self._update(score_array, np.ascontiguousarray(label_array), key_array, own_seed)

    def update_counts(self, counts: Any, label_sums: Any) -> None:
        """Count samples of which only the counts of each bin are known, as `fastbin.engines.count` gives them.

        Parameters
        ----------
        counts, label_sums : array-like of int, shape (n_bins,)
            New samples in each bin, and those of them with label 1.

        Raises
        ------
        InputError, InputTypeError
            Naming the argument, the first bad bin, its value and the remedy. Nothing is counted then.

        Notes
        -----
        Counts and label sums are those of `update` for the samples. Their order is not known, so that the running variance is
        lost, as in `merge`; how many of them tied with an edge is not known either, and no interval asks. O(n_bins).

        Examples
        --------
        >>> import fastbin as fb
        >>> stream = fb.online.StreamingBinning([0.5])
        >>> stream.update_counts([1000, 2000], [100, 1400])
        >>> stream.model().values
        array([0.1, 0.7])
        """
        more = type(self)(self.partition)
        add_counts(more, *check_counts(counts, label_sums, self.n_bins))
        self.merge(more)

    def merge(self, other: StreamingBinning) -> Self:
        """Add what another stream has counted in the same bins; returns self.

        Where one of the two has an event, this stream has it from then on. Steps inside the bins may differ.

        Counts and label sums do not depend on the order, and neither does the beta-binomial interval: after a merge it covers
        at all looks together as long as each look contains the samples of the looks before. The running variance does depend
        on it: it is lost, unless one of the streams was empty, and with it "stitched" and "theorem6".

        Raises
        ------
        InputError
            When the bins or the events of their labels differ, both streams go on from the same fit, whose samples would be
            counted twice, or there are 2**61 samples or more in both.
        InputTypeError
            For what is not a stream.
        """
        if not isinstance(other, StreamingBinning):
            raise InputTypeError(f"is {type(other).__name__}", "only streams can be merged", argument="other")
        if other is self:
            raise InputError("is the stream itself", "its samples would be counted twice", argument="other")
        mine, theirs = self.partition, other.partition
        if mine.score_range != theirs.score_range or not (
            np.array_equal(mine.bin_edges, theirs.bin_edges) and np.array_equal(mine.bin_edge_keys, theirs.bin_edge_keys)
        ):
            remedy = "merge streams over one partition"
            raise InputError("other counts in other bins (edges, edge keys or score range differ)", remedy)
        if mine.event and theirs.event and mine.event != theirs.event:
            problem = f"counts the labels of {theirs.event!r}, and this stream those of {mine.event!r}"
            raise InputError(problem, "merge streams of one event", argument="other")
        try:
            self._merge(other.to_bytes())
        except InputError:  # the bins are the same, so only two faults are left
            n_samples = self.n_samples + other.n_samples
            if n_samples > MOST_SAMPLES_OF_STREAM:
                problem = f"there are {n_samples:,} samples in both, and a stream counts up to 2**61 - 1"
                raise InputError(problem, "begin a new stream") from None
            remedy = "let one of them begin at zero"
            raise InputError("both streams go on from a fit, whose samples would be counted twice", remedy) from None
        self._counted_in = self._partition(BinnedModel)  # that of the stream that goes on from a fit
        return self

    # ------------------------------------------------------------------ what is known so far

    @property
    def partition(self) -> BinnedModel:
        """The model whose bins are counted in, as it was given (without a tally for edges given as numbers)."""
        return self._counted_in

    def model(self) -> BinnedModel:
        """A model of what was counted so far: the mean label of each bin, 0.5 where nothing was counted, and the tally.

        Of a partition of two resolutions the evidence bins: outcomes are counted in bins, so steps inside them get no values.

        Its scheme is "explicit", since its edges were fixed before its samples were seen, and its own intervals and
        certificates are those of a data set of fixed size: valid if the moment of the snapshot was not chosen by looking at the
        labels. For any moment, use `interval` and `certificate` of the stream. Its provenance names the model whose bins were
        counted in by the SHA-256 of its file, as another fit made that. O(n_steps).
        """
        made: BinnedModel = self._snapshot(BinnedModel)
        return made._with_texts(made.event.encode(), of_fit("StreamingBinning", partition=self.partition))

    def interval(
        self, alpha: float = 0.1, bound: StreamBound = "beta-binomial", simultaneous: bool = True, within: Any = None
    ) -> Float64s:
        """An interval for the true positive rate of each bin that holds at every number of samples at once.

        Parameters
        ----------
        alpha : float in (0, 1/2]
            The chance that an interval ever misses.
        bound : {"beta-binomial", "stitched", "theorem6"}
            "beta-binomial" is the narrowest and needs counts alone. "stitched" is the boundary that Theorem 6 simplifies,
            "theorem6" equation (21) as printed; both need the running variance. Choose before looking at the results.
        simultaneous : bool
            Whether alpha bounds the chance that *any* bin's interval ever misses, or each one's. Given the bins of the
            samples, labels of different bins are independent: Sidak's level; the paper's union bound for "theorem6".
        within : array-like of shape (n_bins, 2), optional
            Intervals of an earlier look, with the same alpha, bound and simultaneous, to be intersected with: sound, as all
            looks are covered together.

        Returns
        -------
        float64 (n_bins, 2)
            Lower and upper ends in [0, 1]; [0, 1] for a bin without samples.

        Raises
        ------
        GuaranteeError
            When the bound needs a running variance that was lost, or when an intersection with `within` is empty: then one
            of the intervals missed, or the rate of the bin has changed.
        InputError, InputTypeError
            For arguments of a wrong value, shape or type; when a bin holds more than 2**53 samples.

        Notes
        -----
        Assumes that the labels of a bin are independent with one rate, and that which labels arrive does not depend on their
        values. All bins share alpha from the start, whether they hold samples yet or not.

        Examples
        --------
        >>> import fastbin as fb
        >>> stream = fb.online.StreamingBinning([0.5])
        >>> stream.update([0.2] * 100 + [0.8] * 100, [0, 1] * 100)
        >>> stream.interval(alpha=0.1).round(3)
        array([[0.339, 0.661],
               [0.339, 0.661]])
        """
        (counts, label_sums, variances), level = self.tally(), check_alpha(alpha)
        check_choice(bound, "bound", tuple(THEOREMS))
        # All bins share alpha, filled or not: which will fill is not known in advance.
        if check_flag(simultaneous, "simultaneous"):
            level = (bonferroni if bound == "theorem6" else sidak)(level, len(counts))
        if bound == "beta-binomial":
            intervals = beta_binomial(label_sums, counts, level)
        elif variances is None:
            raise GuaranteeError(
                f"bound={bound!r} needs the running variance (Gupta, Podkopaev & Ramdas 2020, equation 20), which depends on "
                "the order of the labels; a merge, or going on from a fit, has lost it; use bound='beta-binomial'"
            )
        else:
            intervals = (stitched if bound == "stitched" else theorem6)(label_sums, counts, variances, level)
        return intervals if within is None else intersect(intervals, within)

    def certificate(self, alpha: float = 0.1, bound: StreamBound = "beta-binomial") -> Certificate:
        """The guarantee about the values of `model`, at whatever moment one looks.

        Parameters
        ----------
        alpha : float in (0, 1/2]
            The chance that the promise ever fails.
        bound : {"beta-binomial", "stitched", "theorem6"}
            As in `interval`.

        Returns
        -------
        Certificate
            Of kind "conditional" and bound `bound`: epsilon is the largest distance from the mean of a bin to an end of
            its interval, over the bins that hold samples; the others are named in `uncovered_bins`.

        Raises
        ------
        GuaranteeError
            As in `interval`, and when no bin holds a sample.
        """
        from fastbin.guarantees.certificate import certificate_from_intervals, sentences

        model, assumptions = self.model(), list(ASSUMPTIONS)
        if model.ties in ("random", "isolate"):
            assumptions += sentences("keys")
        certificate = certificate_from_intervals(
            model, self.interval(alpha, bound), alpha=alpha, kind="conditional", bound=bound, theorem=THEOREMS[bound],
            assumptions=assumptions,
        )  # fmt: skip
        return replace(certificate, scheme=self.partition.scheme)

    # ------------------------------------------------------------------ bytes

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """The stream in these bytes, as `to_bytes` made them, to go on from, bit for bit.

        Raises
        ------
        FormatError
            If they are foreign, damaged, truncated or of a newer format.
        InputTypeError
            For what is not bytes.
        """
        stream = cls.__new__(cls)
        stream._resume(as_bytes(data))
        stream._counted_in = stream._partition(BinnedModel)
        return stream

    def __repr__(self) -> str:
        bins, samples = how_many(self.n_bins, "bin"), how_many(self.n_samples, "sample")
        return f"StreamingBinning({self.partition.scheme!r} partition, {bins}, {samples})"


def intersect(intervals: Float64s, within: Any) -> Float64s:
    """The part of each interval that lies within that of an earlier look."""
    remedy = f"intervals of {len(intervals)} bins have shape {intervals.shape}"
    try:
        given = np.asarray(within)
    except ValueError as error:
        raise InputTypeError(f"is not an array of numbers: {error}", remedy, argument="within") from error
    if given.dtype.kind not in "iuf":
        raise InputTypeError(f"has dtype {given.dtype}", "give numbers, as an earlier look gave them", argument="within")
    if given.shape != intervals.shape:
        raise InputError(f"has shape {given.shape}", remedy, argument="within")
    earlier = given.astype(np.float64)
    refuse_first(~((earlier >= 0.0) & (earlier <= 1.0)), "within", earlier, "ends of intervals lie in [0, 1]")
    met = np.stack([np.maximum(intervals[:, 0], earlier[:, 0]), np.minimum(intervals[:, 1], earlier[:, 1])], axis=1)
    empty = np.flatnonzero(~(met[:, 0] <= met[:, 1]))
    if empty.size:
        b = int(empty[0])
        raise GuaranteeError(
            f"the interval of bin {b} was {earlier[b].tolist()} and is {intervals[b].tolist()}: no rate lies in both, so one "
            "has missed, or the rate of the bin has changed; find out with CalibrationMonitor, and begin a new stream"
        )
    return met


# ------------------------------------------------------------------------------------------------- bins to count in


def as_partition(partition: Any, score_range: Any) -> BinnedModel:
    """A step model with the bins of `partition`: a model, a fitted calibrator, or explicit edges."""
    if not isinstance(partition, (BinnedModel, Calibrator, str, os.PathLike)):
        score_range = check_score_range(score_range)
        edges = check_edges(partition, score_range, "partition")
        return _without_tally(Partition(edges, score_range=score_range), scheme="explicit", n_bins_asked=edges.size + 1)
    model = as_model(partition, "partition")
    if model.kind != "step":
        remedy = "take a binning, or explicit edges"
        raise InputError(f"is a {model.kind!r} model, which has no bins to count in", remedy, argument="partition")
    return model


def uniform_mass_partition(scores: Any, n_bins: Any, ties: Any, seed: Any, score_range: Any) -> BinnedModel:
    """Bins of equal mass in these scores: edge j is the sample of rank ceil(j n / n_bins), by (score, key).

    As in the first part of a sample split (Gupta, Podkopaev & Ramdas 2020, section 4.2), here without labels.
    """
    score_range, n_bins = check_score_range(score_range), check_count(n_bins, "n_bins", maximum=MOST_BINS)
    ties, seed = check_choice(ties, "ties", ("whole", "random", "upper")), check_seed(seed)
    sample = np.asarray(check_scores(scores, score_range), np.float64)
    if sample.size < n_bins:
        found = how_many(sample.size, "score", "is", "are")
        raise InputError(f"{found} too few for n_bins={n_bins}", "give at least one per bin")
    rows = Rows(sample, np.zeros(sample.size, np.uint8), None, score_range)
    groups = find_boundaries(rows, n_bins, "ums")
    if ties == "random":
        partition = Partition(groups.score, order_cuts(groups, seed)[0], score_range)
    else:  # one rule for scores of another sample than those that are counted
        ties, partition = "upper", without_empty_edges(groups.score, np.zeros(n_bins - 1, np.uint64), score_range)
    return _without_tally(partition, scheme="ums", n_bins_asked=n_bins, ties=ties, seed=seed)


def _without_tally(partition: Partition, **origin: Any) -> BinnedModel:
    return BinnedModel.from_parts(
        edges=partition.edges, edge_keys=partition.edge_keys, values=np.full(partition.n_bins, 0.5),
        score_range=partition.score_range, **origin,
    )  # fmt: skip


def require_continuable(partition: BinnedModel) -> None:
    """Refuse a fit whose tally and the samples to come are not draws of one kind."""
    from fastbin.guarantees.certificate import is_of_clusters

    if partition.counts is None:
        raise GuaranteeError("the partition carries no tally to go on from; begin at zero (continue_fit=False)")
    if partition.is_weighted:
        raise GuaranteeError(
            "the fit has real weights, and a weighted tally cannot be counted on (its labels are not draws from the bins); "
            "begin at zero (continue_fit=False)"
        )
    if partition.pool_counts is not None or partition.population_counts is not None:
        raise GuaranteeError(
            "the samples of the fit were drawn bin by bin from a pool, or are part of a batch of known size, and those to come "
            "are not; begin at zero (continue_fit=False)"
        )
    if is_of_clusters(partition):
        raise GuaranteeError(
            "the fit took one row of each cluster, and those to come are not drawn so; begin at zero (continue_fit=False)"
        )
    if not SCHEMES[partition.scheme].continuable:
        raise GuaranteeError(
            f"the tally of scheme {partition.scheme!r} is not one of independent draws from bins fixed before (Gupta & Ramdas "
            "2021, Lemma 2), so it cannot be counted on; begin at zero (continue_fit=False), or fit one of "
            + ", ".join(word for word, scheme in SCHEMES.items() if scheme.continuable)
        )
    # Split samples are exempt: their edges come from the other part, so a rule for ties is part of a fixed partition.
    if partition.ties in ("upper", "lower", "whole") and partition.n_tied > 0 and partition.scheme != "ums":
        raise GuaranteeError(
            f"{partition.n_tied} samples of the fit share a score with an edge and ties={partition.ties!r} sends them all to "
            "one side, so that the tally is not one of independent draws from the bins; begin at zero (continue_fit=False), or "
            "fit with scheme='ums' or ties='random'"
        )
    if is_moved(partition):
        raise GuaranteeError(
            "the tally is that of the source population and the values were moved to other class rates (Sun, Song & Hero "
            "2023); begin at zero (continue_fit=False)"
        )


# ------------------------------------------------------------------------------------------------- counts by bin

# For a row that no key decides about; no id looks like it.
ANY_KEY = np.uint64(2**63)


def row_of_each_bin(partition: BinnedModel) -> tuple[Float64s, UInt64s]:
    """A score and a key in each bin, away from edges that split ties where there is room; any, in a bin that holds no score."""
    edges, own_keys = partition.bin_edges, np.minimum(partition.bin_edge_keys, np.uint64(GREATEST_KEY))
    least, greatest = limits_of(partition.score_range)
    with np.errstate(over="ignore"):
        low = np.maximum(np.nextafter(edges[:1], -np.inf), least) if len(edges) else np.array([min(max(0.0, least), greatest)])
        scores = np.append(low, np.minimum(np.nextafter(edges, np.inf), greatest))
    keys = np.full(len(scores), ANY_KEY)
    on_edge_below = np.append(low, edges), np.append(ANY_KEY, own_keys)
    on_edge_above = np.append(edges, scores[-1]), np.append(np.zeros_like(own_keys), ANY_KEY)
    for score, key in (on_edge_below, on_edge_above):
        tied = partition._assign_by(scores, keys) != np.arange(len(scores))
        scores[tied], keys[tied] = score[tied], key[tied]
    return scores, keys


def add_counts(stream: Any, counts: Int64s, label_sums: Int64s) -> None:
    """Count so many samples of each bin and label in a stream that is empty.

    A sum of powers of two: the stream is doubled, by merging it with itself, and the samples of the next binary digit are
    counted. O(n_bins) for each of at most 53 digits.
    """
    partition = stream.partition
    scores, keys = row_of_each_bin(partition)
    placed = partition._assign_by(scores, keys) == np.arange(len(scores))
    bad = ~placed & (counts > 0)
    refuse_first(bad, "counts", counts, problem=lambda b: f"is {counts[b]}, and no score lies in bin {b}")
    table = np.stack([counts - label_sums, label_sums])
    for digit in reversed(range(int(table.max(initial=0)).bit_length())):
        if stream.n_samples:
            stream.merge(type(stream).from_bytes(stream.to_bytes()))
        label, bins = np.nonzero((table >> digit) & 1)
        stream.update(scores[bins], label.astype(np.uint8), tie_keys=keys[bins] if partition.needs_key else None)
