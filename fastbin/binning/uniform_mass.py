"""Uniform-mass binning: bins that hold equal shares of the calibration samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastbin._calibrator import Calibrator
from fastbin._errors import InputError
from fastbin._validation import (
    as_key_array,
    as_labels,
    as_scores,
    check_choice,
    check_count,
    check_same_length,
    check_sample_weight,
    check_score_range,
    check_seed,
    check_unit_interval,
)
from fastbin.binning.cuts import Cuts, TieKeys, order_cuts
from fastbin.binning.fit_order import FitOrder, bins_of_rows, boundary_ranks, fit_split
from fastbin.binning.fold import boundary_groups
from fastbin.binning.partition import Partition, divide, make_seams, n_tied
from fastbin.binning.rows import Rows
from fastbin.binning.weighting import tally_weights
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["UniformMassBinning"]

Int64s = npt.NDArray[np.int64]

TIES_OF_SCHEME = {
    "umd": ("random", "upper", "isolate"),
    "ze": ("random", "upper"),
    "ums": ("random", "upper"),
    "umb": ("random", "lower"),
}


class UniformMassBinning(Calibrator):
    """Uniform-mass (histogram) binning with a distribution-free, finite-sample guarantee.

    Parameters
    ----------
    n_bins : int or "auto"
        "auto" takes the largest number of bins whose exact radius stays within a fixed target, which is decided by the number
        of samples alone and so costs no guarantee; see `fastbin.guarantees.auto_n_bins`.
    scheme : {"umd", "ze", "ums", "umb"}
        "umd": boundaries and means from the same samples, boundary labels left out of the means (Gupta & Ramdas 2021,
        Algorithm 1). "ze": boundary labels averaged in the bin below (ibid., Corollary 1; Zadrozny & Elkan 2001). "ums":
        boundaries from one random part of the samples, means from the other (Gupta, Podkopaev & Ramdas 2020, section 4.2;
        their closed bins overlap, here a boundary belongs to the bin above). "umb": boundaries at rank floor(b n / B), bins
        closed on the right, all samples averaged (Sun, Song & Hero 2023, Definition 6).
    ties : {"random", "upper", "lower", "isolate"}
        "random": equal scores are ordered by keys, exactly, at fit and at prediction. "upper" ("lower" for "umb"): a score
        equal to an edge goes to the bin above (below); with tied boundaries this leaves fewer bins and no certificate.
        "isolate" ("umd" alone): a score that holds two or more cuts becomes a bin of its own; the guarantee is kept and such
        scores need no key.
    delta : float in [0, 1)
        Size of the value randomisation of Gupta & Ramdas 2021, Algorithm 2: predictions become (value + delta V) / (1 + delta)
        with V uniform. 0 for none; the paper's 1e-20 does nothing in double precision and is refused.
    split : float in (0, 1)
        "ums" alone: the share of the samples that places the boundaries.
    seed : int or None
        Of the keys. ``None`` draws one afresh; it is kept in the model.
    score_range : (low, high) or None
        Where scores must lie; ``None`` takes any finite score, such as margins or logits.

    Attributes
    ----------
    model_ : BinnedModel

    Notes
    -----
    A model is a function of the multiset of rows and the seed: row order, chunks and threads do not matter. Time O(n) for n
    rows ("ums": O(n log n)), extra memory a small fraction of the data.

    References
    ----------
    .. [1] C. Gupta and A. Ramdas, "Distribution-free calibration guarantees for histogram binning without sample splitting",
       ICML 2021.
    .. [2] C. Gupta, A. Podkopaev and A. Ramdas, "Distribution-free binary classification: prediction sets, confidence
       intervals and calibration", NeurIPS 2020.
    .. [3] Z. Sun, D. Song and A. Hero, "Minimum-risk recalibration of classifiers", NeurIPS 2023.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97]
    >>> labels = [0, 0, 1, 0, 1, 0, 1, 1, 1, 1]
    >>> cal = fb.UniformMassBinning(n_bins=3).fit(scores, labels)
    >>> cal.model_.edges, cal.model_.counts
    (array([0.33, 0.74]), array([3, 3, 2]))
    >>> cal.predict([0.1, 0.5, 1.0]).round(4)
    array([0.3333, 0.6667, 1.    ])
    """

    def __init__(
        self,
        n_bins: int | str = 10,
        *,
        scheme: str = "umd",
        ties: str = "random",
        delta: float = 0.0,
        split: float = 0.5,
        seed: int | None = 0,
        score_range: tuple[float, float] | None = (0.0, 1.0),
    ) -> None:
        self.n_bins = n_bins
        self.scheme = scheme
        self.ties = ties
        self.delta = delta
        self.split = split
        self.seed = seed
        self.score_range = score_range

    def fit(self, scores: Any, labels: Any, sample_weight: Any = None, tie_keys: Any = None, n_threads: int = 1) -> Self:
        """Fit to calibration samples that the classifier was not trained on.

        Parameters
        ----------
        scores : array-like of shape (n,)
            float32 and float64 are read without a copy. NaN, infinity and scores outside `score_range` are refused.
        labels : array-like of shape (n,)
            bool, or numbers that equal 0 or 1.
        sample_weight : array-like of shape (n,), optional
            Integers are frequencies: the same as repeating the row. Floats are importance weights: boundaries ignore them,
            values are weighted means, and only bounds made for weights apply.
        tie_keys : array-like of shape (n,), optional
            Keys to order equal scores by, in place of the model's own: unsigned integers or floats in [0, 1), different within
            a score, independent of the labels.
        n_threads : int
            Python threads over chunks of the rows. Does not change the model.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value, and the remedy; also for fewer samples than the scheme
            needs (2 n_bins - 1 for "umd" and "ze").
        """
        scheme, ties = self._check_configuration()
        rows, weights, keys = self._check_rows(scores, labels, sample_weight, tie_keys)
        n_bins = self._check_n_bins(rows.expanded_size(), scheme)
        n_threads = check_count(n_threads, "n_threads")
        seed = check_seed(self.seed)
        order = FitOrder(seed, weights, keys)
        if scheme == "ums":
            partition, cuts, bins = fit_split(rows, n_bins, ties, check_unit_interval(self.split, "split"), order)
        else:
            partition, cuts = _fit_whole(rows, n_bins, scheme, ties, order, n_threads)
            bins = None
        tally: dict[str, Any] = {"values": means(partition.counts, partition.label_sums)}
        if weights is not None:
            if bins is None:
                bins = bins_of_rows(rows, partition, cuts, order, scheme, ties)
            weighted = tally_weights(bins, rows.labels, weights, len(partition.counts))
            tally = {"values": weighted.values(), **weighted._asdict()}
        self.model_ = BinnedModel.from_parts(
            edges=partition.edges, edge_keys=partition.edge_keys, counts=partition.counts, label_sums=partition.label_sums,
            n_bins_asked=n_bins, n_samples=cuts.group.n_samples, n_positive=cuts.group.n_positive, n_tied=n_tied(cuts, ties),
            scheme=scheme, ties=ties, seed=seed, delta=float(self.delta), score_range=rows.score_range, **tally,
        )  # fmt: skip
        return self

    def _check_configuration(self) -> tuple[str, str]:
        scheme = check_choice(self.scheme, "scheme", tuple(TIES_OF_SCHEME))
        ties = check_choice(self.ties, "ties", ("random", "upper", "lower", "isolate"))
        if ties not in TIES_OF_SCHEME[scheme]:
            allowed = " or ".join(map(repr, TIES_OF_SCHEME[scheme]))
            raise InputError(f"ties is {ties!r}, which scheme {scheme!r} does not have; choose {allowed}")
        delta = check_unit_interval(self.delta, "delta", open_right=True)
        if 0.0 < delta < 2.0**-52:
            raise InputError(
                f"delta is {delta!r}, which changes no value in double precision; use 0 (ties are broken exactly, by keys) or "
                "at least 2**-52"
            )
        return scheme, ties

    def _check_rows(
        self, scores: Any, labels: Any, sample_weight: Any, tie_keys: Any
    ) -> tuple[Rows, npt.NDArray[np.float64] | None, npt.NDArray[np.uint64] | None]:
        """The rows, their importance weights, and the caller's keys."""
        score_array, label_array = as_scores(scores), as_labels(labels)
        weights = check_sample_weight(sample_weight)
        n = check_same_length(scores=score_array, labels=label_array, sample_weight=weights)
        if n == 0:
            raise InputError("scores is empty; a calibrator needs samples")
        keys = None if tie_keys is None else as_key_array(tie_keys, n, "tie_keys")
        frequencies = weights if weights is not None and weights.dtype == np.int64 else None
        if frequencies is not None and keys is not None:
            raise InputError(
                "tie_keys gives one key per row, but sample_weight repeats rows; repeat the rows, each with its key"
            )
        rows = Rows(score_array, label_array, frequencies, check_score_range(self.score_range))
        return rows, weights if frequencies is None else None, keys

    def _check_n_bins(self, n_samples: int, scheme: str) -> int:
        if isinstance(self.n_bins, str):
            check_choice(self.n_bins, "n_bins", ("auto",))
            from fastbin.guarantees import auto_n_bins

            return auto_n_bins(math.floor((1 - self.split) * n_samples) if scheme == "ums" else n_samples)
        n_bins = check_count(self.n_bins, "n_bins", maximum=2**24)
        needed, reason = {
            "umb": (n_bins, "one per bin"),
            "ums": (n_bins + 1, "one per bin in the first part and one in the second"),
        }.get(scheme, (2 * n_bins - 1, "2 n_bins - 1, so that no bin is empty"))
        if n_samples < needed:
            raise InputError(
                f"{n_samples} samples are too few for n_bins={n_bins} under scheme {scheme!r}, which needs at least {needed} "
                f"({reason}); take fewer bins or more samples"
            )
        return n_bins


def means(counts: Int64s, label_sums: Int64s) -> npt.NDArray[np.float64]:
    """The mean label of each bin; 0.5 for a bin without samples."""
    return np.where(counts > 0, label_sums / np.maximum(counts, 1), 0.5)


def _fit_whole(rows: Rows, n_bins: int, scheme: str, ties: str, order: FitOrder, n_threads: int) -> tuple[Partition, Cuts]:
    """Boundaries and tally from the same samples: "umd", "ze" and "umb"."""
    wanted: list[Int64s] = []

    def ranks_of(n_samples: int) -> Int64s:
        wanted.append(boundary_ranks(n_samples, n_bins, scheme))
        return wanted[-1]

    groups = boundary_groups(rows, ranks_of, n_bins - 1, n_threads)
    tie_keys = None
    if order.keys is not None:
        tie_keys = TieKeys(rows.scores, rows.labels, order.keys).gather(groups.score)
    cuts = order_cuts(groups, wanted[-1], order.seed, tie_keys)
    seams = make_seams(cuts, ties, count_cuts=scheme != "umd", cut_below=scheme == "umb")
    return divide(seams, groups.n_samples, groups.n_positive, rows.limits), cuts
