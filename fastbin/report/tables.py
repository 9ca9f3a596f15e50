"""The tables of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from fastbin.assess import CertificateCheck
from fastbin.guarantees.words import number_format, sureness
from fastbin.intervals import clopper_pearson, sidak
from fastbin.report.assessment import Assessment

# A table of more bins is folded.
UNFOLDED = 40
SIGNS = {"confirmed": "&#10003;", "contradicted": "&#10007;", "cannot tell": "?", "no claim": "&#8211;"}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Cells are HTML already."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def facts_table(facts: dict[str, str]) -> str:
    """Names and values, side by side, without what is empty."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items() if value)
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def _range(ends: Iterable[float], form: str) -> str:
    low, high = ends
    return f"{low:{form}} to {high:{form}}"


def bins_table(assessment: Assessment) -> str:
    """What each bin promises and what the test set shows of it; empty for a model that is not a step function."""
    model = assessment.model
    if assessment.bin_counts is None:
        return ""
    form = number_format(model.bin_values.tolist())
    low, high = ("", "") if model.score_range is None else (f"{end:.6g}" for end in model.score_range)
    edges = [f"{edge:.6g}" for edge in model.bin_edges.tolist()]
    columns: dict[str, Iterable[str]] = {
        "bin": map(str, range(model.n_bins)),
        "scores from": [low, *edges],
        "to": [*edges, high],
    }
    if model.has_steps:
        columns["steps"] = [f"{steps:,}" for steps in np.diff(model.first_step, append=model.n_steps).tolist()]
    columns["average served" if model.has_steps else "value"] = [f"{value:{form}}" for value in model.bin_values.tolist()]
    if assessment.certificates:
        intervals = model.interval(assessment.alpha).tolist()
        columns[f"{sureness(assessment.alpha)} interval"] = [_range(interval, form) for interval in intervals]
    if model.counts is not None:
        columns["calibration samples"] = [f"{count:,}" for count in model.counts.tolist()]
    columns["test samples"] = [f"{count:,}" for count in assessment.bin_counts.tolist()]
    if assessment.check is not None:
        columns |= _tested(assessment.check, assessment.alpha, form)
    table = _table(list(columns), zip(*columns.values(), strict=True), "numbers")
    return table if model.n_bins <= UNFOLDED else f"<details><summary>{model.n_bins:,} bins</summary>{table}</details>"


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
        "promise": [f'<span class="{each.replace(" ", "-")}">{SIGNS[each]} {each}</span>' for each in check.verdicts],
    }


def scores_table(assessment: Assessment) -> str:
    """The predictors in columns, the numbers in rows."""
    cards = [card.numbers() for card in assessment.scorecards]
    rows = [[escape(name), *(escape(card[name]) for card in cards)] for name in cards[0]]
    return _table(["", *(escape(card.name) for card in assessment.scorecards)], rows, "numbers scores")
