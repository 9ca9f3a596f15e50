"""Which bin of a partition counts each weighted row: bins of equal mass, or bins that were fixed before."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Int64s
from fastbin._base.checks import check_edges
from fastbin._base.errors import InputError
from fastbin._fit.calibrator import Calibrator, as_model
from fastbin._fit.edges import (
    bins_between,
    bins_of_rows,
    find_boundaries,
    first_part,
    require_samples,
    split_samples,
    whole_bins,
)
from fastbin._fit.rows import Rows
from fastbin._fit.tally import KEY_ABOVE, KEY_BELOW, Partition
from fastbin.model import BinnedModel

# What a model of these bins says of their origin, as other fits do. The fingerprint is left out: it would not tell the weights.
ORIGIN = ("ties", "n_tied", "tie_counts", "edges_share")


class RowBins(NamedTuple):
    """A partition, the bin that counts each row (-1 for none), and what the model says of their origin."""

    partition: Partition
    bins: Int64s
    origin: dict[str, Any]


def uniform_mass_bins(rows: Rows, n_bins: int, seed: int, share: float | None, ties: str) -> RowBins:
    """Bins of equal mass of the rows ("umd"), or of a random share of them, of which the others are counted ("ums")."""
    scheme = "umd" if share is None else "ums"
    if share is None:
        require_samples(len(rows), n_bins, scheme)
        groups = find_boundaries(rows, n_bins, scheme)
        if ties == "whole":
            found = whole_bins(groups, scheme, seed, rows.score_range, [rows])
        else:
            found = bins_between(groups, ties, scheme, seed, rows.score_range)
        if found.tie_counts is None:
            bins = bins_of_rows(rows, found.partition, groups, scheme, found.ties, seed)
        else:  # all rows of a bin are averaged, none left out
            bins = found.partition.assign(rows.scores)
    else:
        split = split_samples(rows, seed, first_part(share, len(rows), n_bins))
        found, counted = split.fit_bins(n_bins, ties), split.take(1)
        bins = np.full(len(rows), -1)
        bins[split.position[split.part == 1]] = found.partition.assign(counted.scores, keys=counted.keys)
    origin = {name: part for name, part in found.origin().items() if name in ORIGIN}
    return RowBins(found.partition, bins, {**origin, "scheme": scheme, "n_bins_asked": n_bins})


def given_bins(rows: Rows, given: Any, seed: int) -> RowBins:
    """The bins of a model, or those between given edges."""
    if isinstance(given, (BinnedModel, Calibrator)):
        model = as_model(given, "partition")
        if model.kind != "step":
            raise InputError(f"is a {model.kind!r} model, which has no bins", argument="partition")
        partition, ties = Partition.of(model), model.ties if model.needs_key else "none"
    else:
        partition, ties = Partition(check_edges(given, None, "partition")), "none"
    bins = partition.assign(rows.scores, keys=rows.keys, seed=None if rows.keys is not None else seed)
    by_key = partition.edges[(partition.edge_keys != KEY_ABOVE) & (partition.edge_keys != np.uint64(KEY_BELOW))]
    return RowBins(partition, bins, {"scheme": "explicit", "ties": ties, "n_tied": int(np.isin(rows.scores, by_key).sum())})
