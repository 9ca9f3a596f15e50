"""How good a model is on the rows of a table: from counts that are made where the rows are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastbin._base.checks import check_alpha
from fastbin._base.errors import InputError, InputTypeError
from fastbin._fit.batches import Progress
from fastbin._fit.calibrator import as_model_or_set
from fastbin.engines.bin_counts import count_rows, refuse_left_out
from fastbin.engines.counting import Asked, Tally
from fastbin.engines.pieces import pieces_of, rows_of
from fastbin.engines.scoring import NO_KEY, NO_SCORE, OUTSIDE, UNKNOWN
from fastbin.report.assessment import Assessment, LeftOut, assess_model


def assess(
    table: Any, model: Any, *, score: str, label: str, weight: str | None = None, cell: str | None = None,
    key: str | None = None, alpha: float = 0.1, level: float = 0.05, n_bins: int | None = None, positive: Any = None,
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
    score, label, weight, cell, key : str
        The columns, as for `fastbin.engines.count`. Rows with a missing score, or one outside the model's range, are left out
        and counted.
    alpha : float
        Of the certificate and of all intervals, strictly between 0 and 1.
    level : float
        Of the test of the certificate, strictly between 0 and 1.
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
    if label is None:
        raise InputTypeError("label is None; name the column of the labels")
    pieces = pieces_of(fitted)
    tally = count_rows(table, pieces, Asked(score, label, weight, cell, key, None, positive), engine, progress)
    left_out = _left_out(tally)
    if not any(table.any() for table in tally.tables.values()):
        raise InputError(
            f"no row is left to assess: of {tally.n_rows:,} rows, {left_out.missing:,} have no score, {left_out.outside:,} one "
            "outside the range of the model"
        )
    rows = rows_of(fitted, pieces, tally.tables[None])
    about = assess_model(
        fitted, rows.scores, rows.labels, sample_weight=rows.frequencies, alpha=alpha, level=level, n_bins=n_bins,
        keys=rows.keys, cells=rows.cells,
    )  # fmt: skip
    known = tuple(replace(each, before=None, brier_before=None) for each in about.cells)
    return replace(about, left_out=left_out, before=None, cells=known, is_counted=True)


def _left_out(tally: Tally) -> LeftOut:
    """Rows whose score no model takes; what is wrong otherwise is refused, as in memory."""
    strange = {reason: int(tally.left_out[reason]) for reason in (UNKNOWN, NO_KEY) if tally.left_out[reason]}
    if strange:
        refuse_left_out(strange, tally.n_rows)
    return LeftOut(int(tally.left_out[NO_SCORE]), int(tally.left_out[OUTSIDE]))
