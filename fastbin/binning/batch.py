"""Bins of a batch of known size, of which some rows, drawn at random, are labelled."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import ScoreRange, check_scores, refuse_first
from fastbin._base.errors import InputError
from fastbin._base.ranks import boundary_ranks
from fastbin._fit.edges import resolve_n_bins, tally_fingerprint
from fastbin._fit.rows import Rows, RowsSource
from fastbin._fit.tally import Partition, tally_source


def parts_of_batch(
    rows: Rows, population: Any, n_bins: int | str, score_range: ScoreRange, *, monotone: bool
) -> tuple[dict[str, Any], int]:
    """The parts of a model whose bins hold equal shares of the batch, and the number of bins before ties took some.

    Edges lie between whole groups of equal scores. No row is left out: the bins may be any that do not depend on which rows
    were drawn. O(M log M) for M rows in the batch.
    """
    batch = np.sort(check_scores(population, score_range, "population").astype(np.float64) + 0.0)
    _refuse_strangers(rows, batch)
    n_bins = resolve_n_bins(n_bins, len(rows))
    if len(batch) < n_bins:
        raise InputError(f"has {len(batch)} scores for {n_bins} bins", "take fewer bins", argument="population")
    edges = np.unique(batch[boundary_ranks(len(batch), n_bins, "ums") - 1])
    partition = Partition(edges[edges > batch[0]], score_range=score_range)
    _, tally = tally_source(RowsSource(rows), lambda _: partition)
    sizes = np.diff(np.concatenate([[0], np.searchsorted(batch, partition.edges), [len(batch)]]))
    origin = {"edges": partition.edges, "score_range": score_range, "fingerprint": tally_fingerprint(partition, tally)}
    return {**tally.parts(monotone=monotone), **origin, "population_counts": sizes}, n_bins


def _refuse_strangers(rows: Rows, batch: Float64s) -> None:
    """Refuse rows that cannot be some of the batch: whose score it has less often than they do."""
    scores = np.asarray(rows.scores, np.float64) + 0.0
    if np.isnan(scores).any():
        rows.refuse(bad_scores=True)
    order = np.argsort(scores, kind="stable")
    place = np.empty(len(scores), np.int64)  # among the rows of the same score
    place[order] = np.arange(len(scores)) - np.searchsorted(scores[order], scores[order])
    there = np.searchsorted(batch, scores, side="right") - np.searchsorted(batch, scores)
    remedy = "pass the scores of all rows of the batch, those with labels among them"

    def problem(row: int) -> str:
        times = {0: "not at all", 1: "only once"}.get(int(there[row]), f"only {there[row]} times")
        return f"is {scores[row]:g}, which population holds {times}"

    refuse_first(place >= there, "scores", scores, remedy, problem)
