"""How good a model is on the rows of a table: from counts that are made where the rows are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s, UInt8s, UInt64s
from fastbin._base.cells import Key
from fastbin._base.checks import check_alpha, check_same_event
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.tie_keys import ABOVE_EVERY_KEY
from fastbin._fit.calibrator import as_model_or_set
from fastbin._fit.edges import edge_scores
from fastbin._fit.rows import Progress
from fastbin.engines.counting import Asked, Counted, count_rows, refuse_left_out, require_bins
from fastbin.engines.predicting import NO_KEY, NO_SCORE, OUTSIDE, UNKNOWN
from fastbin.export.form import needs_keys
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.online.streaming import row_of_each_bin
from fastbin.report.assessment import Assessment, LeftOut, assess_model


def assess(
    table: Any, model: Any, *, score: str, label: str, weight: str | None = None, cell: str | None = None,
    tie_key: str | None = None, alpha: float = 0.1, test_level: float = 0.05, n_bins: int | None = None, positive: Any = None,
    engine: str = "auto", progress: Progress | None = None,
) -> Assessment:  # fmt: skip
    """Assess a fitted model, or a set of models, on the rows of a table that were not used in its fit; one pass.

    What `fastbin.report.assess_model` says of the same rows in memory, as far as it is a function of the counts of rows in each
    step of the model: the reliability table and all that follows from it, Brier score, log loss and AUC of the calibrated
    probabilities, and the test of the certificate, calibration rows recognised.

    Parameters
    ----------
    table : table
        As for `fastbin.engines.count`.
    model : BinnedModel, fitted calibrator or ModelSet
        A step model, or a set of them.
    score, label, weight, cell, tie_key : str
        The columns, as for `fastbin.engines.count`. Rows with a missing score, or one outside the model's range, are left out
        and counted.
    alpha : float
        Of the certificate and of all intervals, from 1e-100 to 1/2.
    test_level : float
        Of the test of the certificate, from 1e-100 to 1/2.
    n_bins : int, optional
        Into how many bins of equal mass the calibrated probabilities are divided where they are not few values with many
        samples; 15 by default. All predictors are compared in the same bins.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".
    engine, progress : optional
        As for `fastbin.engines.count`.

    Returns
    -------
    fastbin.report.Assessment
        Its `before` is None and its `others` are empty, as are `before` and `brier_before` of `cells`: counts do not tell how
        good the scores themselves are.

    Raises
    ------
    InputError, InputTypeError
        As `fastbin.engines.count`; also for a model without steps, and where no row is left.

    Notes
    -----
    Counts, values, positive rates, their intervals, plug-in errors and the check of the certificate are those of `assess_model`
    on the rows, to the bit. What sums doubles over rows there is summed over counts here, and may differ in the last bits: the
    Brier score, log loss, debiased error, chance levels, and the mean predictions of bins in which several values are grouped.
    Rows of a model that splits ties need the keys that they were served with.

    O(n log n_bins) time for the counts, and O(n_bins) for the rest; what is collected are at most 3 counts for each step and
    label.

    Examples
    --------
    >>> import fastbin as fb, numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(4000)
    >>> labels = rng.random(4000) < scores**2
    >>> model = fb.UniformMassBinning(n_bins=5).fit(scores[:2000], labels[:2000]).model_
    >>> later = pd.DataFrame({"p": scores[2000:], "y": labels[2000:]})
    >>> assessment = fb.engines.assess(later, model, score="p", label="y")
    >>> assessment.check.verdict, assessment.n_samples, assessment.before
    ('not contradicted', 2000, None)
    """
    fitted, alpha = as_model_or_set(model), check_alpha(alpha)
    check_same_event(fitted.event, positive)
    if label is None:
        raise InputTypeError("label is None; name the column of the labels")
    pieces = pieces_of(fitted)
    tally = count_rows(table, pieces, Asked(score, label, weight, cell, tie_key, None, positive), engine, progress)
    left_out = _left_out(tally)
    if not any(table.any() for table in tally.tables.values()):
        others = ", and the others have weight 0" if left_out.missing + left_out.outside < tally.n_rows else ""
        raise InputError(
            f"no row is left to assess: of {tally.n_rows:,} rows, {left_out.missing:,} have no score, {left_out.outside:,} one "
            f"outside the range of the model{others}"
        )
    rows = rows_of(fitted, pieces, tally.tables[None])
    about = assess_model(
        fitted, rows.scores, rows.labels, sample_weight=rows.frequencies, alpha=alpha, test_level=test_level, n_bins=n_bins,
        tie_keys=rows.keys, cells=rows.cells,
    )  # fmt: skip
    known = tuple(replace(each, before=None, brier_before=None) for each in about.cells)
    return replace(about, left_out=left_out, before=None, cells=known, is_counted=True)


def _left_out(tally: Counted) -> LeftOut:
    """Rows whose score no model takes; what is wrong otherwise is refused, as in memory."""
    strange = {reason: int(tally.left_out[reason]) for reason in (UNKNOWN, NO_KEY) if tally.left_out[reason]}
    if strange:
        refuse_left_out(strange, tally.n_rows)
    return LeftOut(int(tally.left_out[NO_SCORE]), int(tally.left_out[OUTSIDE]))


# ------------------------------------------------------------------------------------------------- pieces of the score line

# A piece lies between two edges of the model, or is the score of an edge of its bins, of which a fit makes its fingerprint. So
# rows that are counted by piece and label are known, as far as the model can tell, by one row for each with a frequency; any
# function of the counts is computed from these rows by the functions that take rows.


class CountedRows(NamedTuple):
    """Rows that have the counts of all rows: arrays of one length."""

    scores: Float64s
    labels: UInt8s
    frequencies: Int64s
    keys: UInt64s | None  # of models that compare keys
    cells: list[Key] | None  # of a set


def pieces_of(model: BinnedModel | ModelSet) -> BinnedModel | ModelSet:
    """A step model whose bins are the pieces, or a set of such models with the keys and the order of the set."""
    if isinstance(model, BinnedModel):
        return _pieces(model)
    own = {key: _pieces(each) for key, each in model.models.items()}
    pool = None if model.pool is None else _pieces(model.pool)
    return ModelSet._of(own, kind="given", unknown=model.unknown, pool=pool, pooled_cells=model.pooled_cells)


def _pieces(model: BinnedModel) -> BinnedModel:
    require_bins(model)
    alone = edge_scores(model.bin_edges, model.ties, model.score_range)
    edges = np.concatenate([model.edges + 0.0, alone, alone])
    keys = np.concatenate([model.edge_keys, np.zeros(len(alone), np.uint64), np.full(len(alone), ABOVE_EVERY_KEY, np.uint64)])
    order = np.lexsort((keys, edges))
    edges, keys = edges[order], keys[order]
    differs = np.append(True, (edges[1:] != edges[:-1]) | (keys[1:] != keys[:-1]))[: len(edges)]
    edges, keys = edges[differs], keys[differs]
    return BinnedModel.from_parts(
        edges=edges, edge_keys=keys, values=np.full(len(edges) + 1, 0.5), scheme="explicit",
        ties="random" if model.needs_key else "none", score_range=model.score_range, out_of_range=model.out_of_range,
    )  # fmt: skip


def rows_of(model: BinnedModel | ModelSet, pieces: BinnedModel | ModelSet, table: Int64s) -> CountedRows:
    """Rows of `model` for int64 (2, n_pieces) samples by label and piece, as `fastbin.engines.counting` counts them."""
    numbered: list[tuple[Key, BinnedModel]] = _numbered(pieces) if pieces.is_set else [(0, pieces)]
    examples = [row_of_each_bin(own) for _, own in numbered]
    scores, keys = (np.concatenate(column) for column in zip(*examples, strict=True))
    cells = [key for (key, _), example in zip(numbered, examples, strict=True) for _ in example[0]]
    label, piece = np.nonzero(table)
    return CountedRows(
        scores[piece], label.astype(np.uint8), table[label, piece], keys[piece] if needs_keys(model) else None,
        [cells[at] for at in piece.tolist()] if pieces.is_set else None,
    )  # fmt: skip


def _numbered(pieces: ModelSet) -> list[tuple[Key, BinnedModel]]:
    """A key for each model in the order of the counts; then one that the set does not know, if its pool scores such cells."""
    pooled = next(iter(pieces.pooled_cells), None)
    unknown = _unknown_key(pieces)
    parts = [(unknown if pooled is None else pooled) if key is None else key for key, _ in pieces.numbered]
    found = list(zip(parts, (own for _, own in pieces.numbered), strict=True))
    if pieces.unknown == "pool":
        assert pieces.pool is not None
        found.append((unknown, pieces.pool))
    return found


def _unknown_key(pieces: ModelSet) -> Key:
    """A key that the set does not have."""
    keys = pieces.cells
    if isinstance(keys[0], str):
        return next(text for text in (f"unknown {i}" for i in range(len(keys) + 1)) if text not in pieces)
    return next(number for number in range(len(keys) + 1) if number not in pieces)
