"""The tables of a report."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fastbin import _html
from fastbin._model_table import bin_words
from fastbin._tables import as_html, number_format
from fastbin.assess import CertificateCheck
from fastbin.guarantees.words import sureness
from fastbin.intervals import clopper_pearson, sidak
from fastbin.report.assessment import Assessment

# A table of more bins is folded.
UNFOLDED = 40


def _range(ends: Iterable[float], form: str) -> str:
    low, high = ends
    return f"{low:{form}} to {high:{form}}"


def bins_table(assessment: Assessment) -> str:
    """What each bin promises and what the test set shows of it; empty for a model that is not a step function."""
    model = assessment.model
    if assessment.bin_counts is None:
        return ""
    intervals = model.interval(assessment.alpha) if assessment.certificates else None
    columns: dict[str, Iterable[str]] = {**bin_words(model, intervals, f"{sureness(assessment.alpha)} interval")}
    if model.counts is not None:
        columns["calibration samples"] = [f"{count:,}" for count in model.counts.tolist()]
    columns["test samples"] = [f"{count:,}" for count in assessment.bin_counts.tolist()]
    if assessment.check is not None:
        columns |= _tested(assessment.check, assessment.alpha, number_format(model.bin_values.tolist()))
    table = as_html({title: list(column) for title, column in columns.items()}, most=None)
    return table if model.n_bins <= UNFOLDED else _html.folded(f"{model.n_bins:,} bins", table)


def _tested(check: CertificateCheck, alpha: float, form: str) -> dict[str, Iterable[str]]:
    """The columns about the test of the certificate."""
    counts, label_sums = check.counts, check.label_sums
    level = sidak(alpha, max(1, int(np.count_nonzero(counts))))
    rates = zip(label_sums.tolist(), counts.tolist(), strict=True)
    intervals = zip(clopper_pearson(label_sums, counts, level).tolist(), counts.tolist(), strict=True)
    served = (
        {}
        if check.mean_served is None
        else {
            "test average served": [
                f"{mean:{form}}" if count else "" for mean, count in zip(check.mean_served, counts, strict=True)
            ]
        }
    )
    return {
        **served,
        "test rate": [f"{ones / count:{form}}" if count else "" for ones, count in rates],
        "test interval": [_range(interval, form) if count else "" for interval, count in intervals],
        "promise": check.verdicts,
    }
