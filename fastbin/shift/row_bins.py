"""Which bin of a partition counts each weighted row: bins of equal mass, or bins that were fixed before."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._calibrator import Calibrator, as_model
from fastbin._errors import InputError
from fastbin._fit.order import cut_rows
from fastbin._fit.partition import KEY_ABOVE, KEY_BELOW, Partition, n_tied
from fastbin._fit.rows import Rows, require_samples
from fastbin._fit.split import first_part, split_samples
from fastbin._fit.weigh import bins_of_rows
from fastbin._typing import Int64s
from fastbin._validation import check_edges
from fastbin.model import BinnedModel


class RowBins(NamedTuple):
    """A partition, the bin that counts each row (-1 for none), and what the model says of their origin."""

    partition: Partition
    bins: Int64s
    origin: dict[str, Any]


def uniform_mass_bins(rows: Rows, n_bins: int, seed: int, share: float | None) -> RowBins:
    """Bins of equal mass of the rows ("umd"), or of a random share of them, of which the others are counted ("ums")."""
    scheme = "umd" if share is None else "ums"
    if share is None:
        require_samples(len(rows), n_bins, scheme)
        cuts = cut_rows(rows, n_bins, scheme, seed)
        partition, groups = Partition(cuts.score, cuts.key, rows.score_range), cuts.group
        bins = bins_of_rows(rows, partition, cuts, scheme, "random")
    else:
        split = split_samples(rows, seed, first_part(share, len(rows), n_bins))
        partition, groups = split.place(0, n_bins, "random")
        counted = split.take(1)
        bins = np.full(len(rows), -1)
        bins[split.position[split.part == 1]] = partition.assign(counted.scores, keys=counted.keys)
    tied = n_tied(groups.score, groups.equal, "random")
    return RowBins(partition, bins, {"scheme": scheme, "ties": "random", "n_tied": tied, "n_bins_asked": n_bins})


def given_bins(rows: Rows, given: Any, seed: int) -> RowBins:
    """The bins of a model, or those between given edges."""
    if isinstance(given, (BinnedModel, Calibrator)):
        model = as_model(given, "partition")
        if model.kind != "step":
            raise InputError(f"partition is a {model.kind!r} model, which has no bins")
        partition, ties = Partition.of(model), model.ties
    else:
        partition, ties = Partition(check_edges(given, None, "partition")), "none"
    bins = partition.assign(rows.scores, keys=rows.keys, seed=None if rows.keys is not None else seed)
    by_key = partition.edges[(partition.edge_keys != KEY_ABOVE) & (partition.edge_keys != np.uint64(KEY_BELOW))]
    return RowBins(partition, bins, {"scheme": "explicit", "ties": ties, "n_tied": int(np.isin(rows.scores, by_key).sum())})
