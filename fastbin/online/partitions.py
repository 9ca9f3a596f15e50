"""Bins to count in: of a fitted model, between explicit edges, or of equal mass in a first block of scores."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from fastbin._base.checks import MOST_BINS, check_choice, check_count, check_edges, check_score_range, check_scores, check_seed
from fastbin._base.errors import GuaranteeError, InputError
from fastbin._core.schemes import SCHEMES
from fastbin._fit.calibrator import Calibrator, as_model
from fastbin._fit.edges import find_boundaries, order_cuts
from fastbin._fit.rows import Rows
from fastbin._fit.tally import Partition, without_empty_edges
from fastbin.model import BinnedModel


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
        raise InputError(f"{sample.size} scores are too few for n_bins={n_bins}", "give at least one per bin")
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
    if partition.counts is None:
        raise GuaranteeError("the partition carries no tally to go on from; begin at zero (continue_fit=False)")
    if partition.is_weighted:
        raise GuaranteeError(
            "the fit has real weights, and a weighted tally cannot be counted on (its labels are not draws from the bins); "
            "begin at zero (continue_fit=False)"
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
    if partition.rates is not None or partition.odds_ratio != 1.0:
        raise GuaranteeError(
            "the tally is that of the source population and the values were moved to other class rates (Sun, Song & Hero "
            "2023); begin at zero (continue_fit=False)"
        )
