"""The tables of a report."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from fastbin._schemes import SCHEMES
from fastbin.assess import CertificateCheck
from fastbin.guarantees.words import name_cell, number_format, sureness
from fastbin.intervals import clopper_pearson, sidak
from fastbin.model_set import ModelSet
from fastbin.report.assessment import Assessment
from fastbin.report.scorecard import Scorecard
from fastbin.report.set_assessment import CellResult, SetAssessment

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
        "promise": [_verdict(each) for each in check.verdicts],
    }


def _verdict(word: str) -> str:
    return f'<span class="{word.replace(" ", "-")}">{SIGNS[word]} {word}</span>'


def scores_table(scorecards: Sequence[Scorecard]) -> str:
    """The predictors in columns, the numbers in rows."""
    cards = [card.numbers() for card in scorecards]
    rows = [[escape(name), *(escape(card[name]) for card in cards)] for name in cards[0]]
    return _table(["", *(escape(card.name) for card in scorecards)], rows, "numbers scores")


def cell_columns(cells: Sequence[CellResult]) -> dict[str, list[str]]:
    """What the test set shows of each cell, as text by title; without the columns that are empty throughout."""

    def text(numbers: Iterable[float | None]) -> list[str]:
        return ["" if number is None else f"{number:.4f}" for number in numbers]

    columns = {
        "bins": [f"{cell.n_bins:,}" for cell in cells],
        "calibration samples": [f"{cell.n_fitted:,}" for cell in cells],
        "test samples": [f"{cell.n_samples:,}" for cell in cells],
        "label 1": [f"{cell.n_positive:,}" for cell in cells],
        "error before": text(None if cell.before is None else cell.before.ece() for cell in cells),
        "error after": text(None if cell.after is None else cell.after.ece() for cell in cells),
        "Brier before": text(cell.brier_before for cell in cells),
        "Brier after": text(cell.brier for cell in cells),
        "promise": [cell.verdict or "" for cell in cells],
    }
    return {title: column for title, column in columns.items() if any(column)}


def cells_table(assessment: SetAssessment) -> str:
    """What the test set shows of each cell of a set."""
    cells = assessment.cells
    columns = {"cell": [escape(name_cell(cell.cell).strip("'")) for cell in cells], **cell_columns(cells)}
    if "promise" in columns:
        columns["promise"] = [_verdict(cell.verdict) if cell.verdict else "" for cell in cells]
    table = _table(list(columns), zip(*columns.values(), strict=True), "numbers")
    return table if len(cells) <= UNFOLDED else f"<details><summary>{len(cells):,} cells</summary>{table}</details>"


def set_facts(models: ModelSet, source: str | None) -> dict[str, str]:
    """What a set is, by name."""
    methods = Counter(SCHEMES[model.scheme].title for _, model in models.numbered)
    pooled = f"{len(models.pooled_keys):,} of the cells share one model, the pool" if models.pool is not None else ""
    return {
        "File": source or "",
        "Cells": f"{len(models):,} ({models.kind})",
        "Models": f"{models.n_models:,}, {models.n_bins:,} bins in all",
        "Methods": "; ".join(f"{title} ({count:,})" if len(methods) > 1 else title for title, count in methods.items()),
        "Calibration samples": f"{models.n_samples:,}",
        "The pool": pooled,
        "Unknown cells": "are refused" if models.unknown == "refuse" else "get the value of the pool, without a promise",
        "SHA-256 of the file": hashlib.sha256(models.to_bytes()).hexdigest(),
    }
