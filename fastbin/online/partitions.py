"""Bins to count in: of a fitted model, between explicit edges, or of equal mass in a first block of scores."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._calibrator import Calibrator
from fastbin._errors import GuaranteeError, InputError, InputTypeError
from fastbin._native.ties import group_digest, group_keys
from fastbin._scalars import check_choice, check_count, check_score_range, check_seed
from fastbin._validation import ScoreRange, check_edges, check_scores
from fastbin.model import BinnedModel

__all__ = ["as_partition", "require_continuable", "uniform_mass_partition"]

KEY_ABOVE = 0

# Schemes of fits whose tallied labels are draws from their bins, and nothing else.
CONTINUABLE = ("umd", "ums", "fixed-width", "explicit")


def as_partition(partition: Any, score_range: Any) -> BinnedModel:
    """A step model whose bins are meant by `partition`: a model, a fitted calibrator, or explicit edges."""
    if isinstance(partition, Calibrator):
        partition = partition.model_
    if isinstance(partition, (str, os.PathLike)):
        raise InputTypeError(f"partition is the path {os.fspath(partition)!r}; read the model first, by fb.load(path)")
    if not isinstance(partition, BinnedModel):
        score_range = check_score_range(score_range)
        edges = check_edges(partition, score_range, "partition")
        return _without_tally(edges, None, score_range, scheme="explicit", n_bins_asked=edges.size + 1)
    if partition.kind != "step":
        raise InputError(
            f"partition is a {partition.kind!r} model, which has no bins to count in; take a binning, or explicit edges"
        )
    return partition


def uniform_mass_partition(scores: Any, n_bins: Any, ties: Any, seed: Any, score_range: Any) -> BinnedModel:
    """Bins of equal mass in these scores: edge j is the sample of rank ceil(j n / n_bins), by (score, key).

    As in the first part of a sample split (Gupta, Podkopaev & Ramdas 2020, section 4.2), here without labels.
    """
    score_range, n_bins = check_score_range(score_range), check_count(n_bins, "n_bins", maximum=2**24)
    ties, seed = check_choice(ties, "ties", ("random", "upper")), check_seed(seed)
    sample = np.sort(check_scores(scores, score_range).astype(np.float64)) + 0.0  # -0.0 and 0.0 are one score
    n = sample.size
    if n < n_bins:
        raise InputError(f"{n} scores are too few for n_bins={n_bins}; give at least one per bin")
    at = -(-np.arange(1, n_bins) * n // n_bins) - 1
    if ties == "random":
        edges, keys = _ordered(sample, _digest_of_groups(seed, sample, sample[at]))
        return _without_tally(edges[at], keys[at], score_range, scheme="ums", n_bins_asked=n_bins, ties=ties, seed=seed)
    least = -np.finfo(np.float64).max if score_range is None else score_range[0]
    edges = np.unique(sample[at])
    edges = edges[edges > least]  # no score lies below the least
    return _without_tally(edges, None, score_range, scheme="ums", n_bins_asked=n_bins, ties=ties, seed=seed)


def _digest_of_groups(seed: int, sample: npt.NDArray[np.float64], cut_scores: npt.NDArray[np.float64]) -> int:
    """What seeds the keys: the digest of the seed and the groups that hold a boundary, here without labels."""
    first, end = np.searchsorted(sample, cut_scores), np.searchsorted(sample, cut_scores, side="right")
    no_ones = np.zeros(cut_scores.size, np.int64)
    return group_digest(seed, cut_scores, first, no_ones, end - first, no_ones)


def _ordered(sample: npt.NDArray[np.float64], seed: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint64]]:
    """Sorted scores with their keys, each group of equal scores in the order of its keys."""
    is_first = np.concatenate([[True], sample[1:] != sample[:-1]])
    starts = np.flatnonzero(is_first)
    places = np.arange(sample.size) - starts[np.cumsum(is_first) - 1]
    keys = group_keys(seed, sample, places)
    order = np.lexsort((keys, sample))
    return sample[order], keys[order]


def _without_tally(edges: npt.NDArray[np.float64], keys: Any, score_range: ScoreRange, **origin: Any) -> BinnedModel:
    edge_keys = np.full(edges.size, KEY_ABOVE, np.uint64) if keys is None else keys
    values = np.full(edges.size + 1, 0.5)
    return BinnedModel.from_parts(edges=edges, edge_keys=edge_keys, values=values, score_range=score_range, **origin)


def require_continuable(partition: BinnedModel) -> None:
    """Refuse a fit whose tally and the samples to come are not draws of one kind."""
    if partition.counts is None:
        raise GuaranteeError("the partition carries no tally to go on from; begin at zero (continue_fit=False)")
    if partition.is_weighted:
        raise GuaranteeError(
            "the fit has real weights, and a weighted tally cannot be counted on (its labels are not draws from the bins); "
            "begin at zero (continue_fit=False)"
        )
    if partition.scheme not in CONTINUABLE:
        raise GuaranteeError(
            f"the tally of scheme {partition.scheme!r} is not one of independent draws from bins fixed before (Gupta & Ramdas "
            "2021, Lemma 2), so it cannot be counted on; begin at zero (continue_fit=False), or fit one of "
            + ", ".join(CONTINUABLE)
        )
    if partition.ties in ("upper", "lower") and partition.n_tied > 0:
        raise GuaranteeError(
            f"{partition.n_tied} samples of the fit share a score with an edge and ties={partition.ties!r} sends them all to "
            "one side; Gupta & Ramdas 2021, Theorem 3 assumes distinct scores; begin at zero, or fit with ties='random'"
        )
    if partition.rates is not None or partition.odds_ratio != 1.0:
        raise GuaranteeError(
            "the tally is that of the source population and the values were moved to other class rates (Sun, Song & Hero "
            "2023); begin at zero (continue_fit=False)"
        )
