"""Histogram binning over fixed bins while samples keep arriving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastbin._base.array_types import Float64s
from fastbin._base.checks import as_key_array, as_scores, check_alpha, check_labels, check_same_length, check_seed
from fastbin._base.errors import InputError
from fastbin._base.frames import check_same_index
from fastbin._core.score import NativeStream
from fastbin._fit.tally import check_counts
from fastbin.model import BinnedModel
from fastbin.online.counted import add_counts
from fastbin.online.intervals import Method, intersect, time_uniform_certificate, time_uniform_interval
from fastbin.online.partitions import as_partition, require_continuable, uniform_mass_partition
from fastbin.online.state import State

if TYPE_CHECKING:
    from typing_extensions import Self

    from fastbin.guarantees import Certificate


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
        Go on from the tally of the fitted model, instead of from zero. For the schemes "umd", "certified", "ums", "fixed-width"
        and "explicit" without weights, whose tallied labels are independent draws from their bins given the edges, as the new
        ones are (not where whole groups of equal scores lie at edges, but for "ums"). The order of the fit's labels is not
        known: there is no running variance, and `method="beta-binomial"` alone.
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

    Safe to share between threads: each call takes a lock, and large batches are counted without the GIL.

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
        if continue_fit:
            require_continuable(self._counted_in)
        self._begin(self._counted_in, bool(continue_fit))

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

    def update(self, scores: Any, labels: Any, *, keys: Any = None, seed: int | None = None, positive: Any = None) -> None:
        """Count a batch of any size, in order: all of it, or nothing if a row is refused.

        Parameters
        ----------
        scores : array-like of shape (n,)
            float32 and float64 are read without a copy. NaN, infinity and scores outside the range are refused.
        labels : array-like of shape (n,)
            bool, or numbers that equal 0 or 1.
        keys : array-like of shape (n,), optional
            Tie keys: unsigned integers below 2**64 - 1, or floats in [0, 1).
        seed : int, optional
            Without keys, the i-th sample of the stream gets the key of (seed, i); the partition's seed by default.
        positive : optional
            The label that counts as 1, where labels are two values other than 0 and 1, such as "yes". A batch may hold one of
            the two alone.

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value and the remedy.

        Notes
        -----
        The same state, bit for bit, as by `update_one` for each row. O(n) expected.
        """
        self._count(scores, labels, keys, seed, positive)

    def _count(self, scores: Any, labels: Any, keys: Any, seed: int | None, positive: Any = None) -> npt.NDArray[np.int32]:
        """`update`, and the bins in which the rows were counted."""
        check_same_index(scores=scores, labels=labels, keys=keys)
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

        Counts and label sums do not depend on the order, and neither does the beta-binomial interval: after a merge it covers
        at all looks together as long as each look contains the samples of the looks before. The running variance does depend
        on it: it is lost, unless one of the streams was empty, and with it "stitched" and "theorem6".

        Raises
        ------
        InputError
            When the bins differ, or both streams go on from the same fit, whose samples would be counted twice.
        """
        if not isinstance(other, StreamingBinning):
            remedy = "only streams can be merged"
            raise InputError(f"is {type(other).__name__}", remedy, argument="other")
        if other is self:
            raise InputError("is the stream itself", "its samples would be counted twice", argument="other")
        mine, theirs = self.partition, other.partition
        if mine.score_range != theirs.score_range or not (
            np.array_equal(mine.bin_edges, theirs.bin_edges) and np.array_equal(mine.bin_edge_keys, theirs.bin_edge_keys)
        ):
            remedy = "merge streams over one partition"
            raise InputError("other counts in other bins (edges, edge keys or score range differ)", remedy)
        try:
            self._merge(other.to_bytes())
        except InputError:  # the bins are the same, so only this is left
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
        labels. For any moment, use `interval` and `certificate` of the stream. O(n_bins).
        """
        return self._snapshot(BinnedModel)

    def interval(
        self, alpha: float = 0.1, method: Method = "beta-binomial", simultaneous: bool = True, within: Any = None
    ) -> Float64s:
        """An interval for the true positive rate of each bin that holds at every number of samples at once.

        Parameters
        ----------
        alpha : float in (0, 1)
            The chance that an interval ever misses.
        method : {"beta-binomial", "stitched", "theorem6"}
            "beta-binomial" is the narrowest and needs counts alone. "stitched" is the boundary that Theorem 6 simplifies,
            "theorem6" equation (21) as printed; both need the running variance. Choose before looking at the results.
        simultaneous : bool
            Whether alpha bounds the chance that *any* bin's interval ever misses, or each one's. Given the bins of the
            samples, labels of different bins are independent: Sidak's level; the paper's union bound for "theorem6".
        within : array-like of shape (n_bins, 2), optional
            Intervals of an earlier look, with the same alpha, method and simultaneous, to be intersected with: sound, as all
            looks are covered together.

        Returns
        -------
        float64 (n_bins, 2)
            Lower and upper ends in [0, 1]; [0, 1] for a bin without samples.

        Raises
        ------
        GuaranteeError
            When the method needs a running variance that was lost, or when an intersection with `within` is empty: then one
            of the intervals missed, or the rate of the bin has changed.

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
        intervals = time_uniform_interval(*self.tally(), check_alpha(alpha), method, simultaneous)
        return intervals if within is None else intersect(intervals, within)

    def certificate(self, alpha: float = 0.1, method: Method = "beta-binomial") -> Certificate:
        """What is guaranteed about the values of `model`, at whatever moment one looks.

        Parameters
        ----------
        alpha : float in (0, 1)
            The chance that the promise ever fails.
        method : {"beta-binomial", "stitched", "theorem6"}
            As in `interval`.

        Returns
        -------
        Certificate
            Of kind "conditional" and bound `method`: epsilon is the largest distance from the mean of a bin to an end of
            its interval, over the bins that hold samples; the others are named in `uncovered_bins`.

        Raises
        ------
        GuaranteeError
            As in `interval`, and when no bin holds a sample.
        """
        return time_uniform_certificate(self.model(), self.partition.scheme, self.interval(alpha, method), alpha, method)

    # ------------------------------------------------------------------ bytes

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """The stream in these bytes, as `to_bytes` made them, to go on from, bit for bit.

        Raises
        ------
        FormatError
            If they are foreign, damaged, truncated or of a newer format.
        """
        stream = cls.__new__(cls)
        stream._resume(memoryview(data).cast("B") if len(data) else b"")
        stream._counted_in = stream._partition(BinnedModel)
        return stream

    def __repr__(self) -> str:
        return f"StreamingBinning({self.partition.scheme!r} partition, {self.n_bins} bins, {self.n_samples} samples)"
