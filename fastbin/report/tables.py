"""The tables of a report."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from fastbin._base import html
from fastbin._base.table import as_html, number_format
from fastbin._core.schemes import SCHEMES
from fastbin._model.provenance import in_words
from fastbin._model.view import bin_words
from fastbin.assess import CertificateCheck
from fastbin.guarantees.certificate import event_words, label_words, name_cell, sureness
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.report.assessment import Assessment, SetAssessment

# A table of more bins is folded.
UNFOLDED = 40


def _range(ends: Iterable[float], form: str) -> str:
    low, high = ends
    return f"{low:{form}} to {high:{form}}"


def detail_table(assessment: Assessment | SetAssessment) -> str:
    """The results of the test set for every bin of a model, or for every cell of a set."""
    return _cells_table(assessment) if assessment.is_set else bins_table(assessment)


def bins_table(assessment: Assessment) -> str:
    """What each bin promises and what the test set shows of it; empty for a model that is not a step function."""
    model = assessment.model
    if assessment.bin_counts is None:
        return ""
    intervals = model.interval(assessment.alpha) if assessment.certificates else None
    columns: dict[str, Iterable[str]] = {**bin_words(model, intervals, f"{sureness(assessment.alpha)} interval")}
    if model.counts is not None:
        columns["calibration samples"] = [f"{count:,}" for count in model.counts.tolist()]
    tested = {"bin": list(columns["bin"]), "test samples": [f"{count:,}" for count in assessment.bin_counts.tolist()]}
    if assessment.check is not None:
        tested |= {title: list(c) for title, c in _tested(assessment.check, number_format(model.bin_values.tolist())).items()}
    # Two tables: a page of usual width has no room for the columns of both.
    tables = "".join(as_html({title: list(column) for title, column in each.items()}, most=None) for each in (columns, tested))
    return tables if model.n_bins <= UNFOLDED else html.folded(f"{model.n_bins:,} bins", tables)


def _tested(check: CertificateCheck, form: str) -> dict[str, Iterable[str]]:
    """The columns about the test of the certificate: the interval that decides, and what it is compared with."""
    rates = zip(check.label_sums.tolist(), check.counts.tolist(), strict=True)
    level = f"({sureness(check.interval_alpha)} each)"
    served, interval, promised = {}, f"test interval {level}", "promised"
    if check.mean_served is not None:
        means = zip(check.mean_served.tolist(), check.counts.tolist(), strict=True)
        served = {"test average served": [f"{mean:{form}}" if count else "" for mean, count in means]}
        interval, promised = f"rate - served: test interval {level}", "rate - served: promised"
    return {
        **served,
        "test rate": [f"{ones / count:{form}}" if count else "" for ones, count in rates],
        promised: [_range(claim, form) for claim in check.claims.tolist()],
        interval: [_range(ends, form) if n else "" for ends, n in zip(check.intervals.tolist(), check.counts, strict=True)],
        "verdict": check.verdicts,
    }


def cell_columns(assessment: SetAssessment) -> dict[str, list[str]]:
    """What the test set shows of each cell, as text by title; without the columns that are empty throughout."""
    cells = assessment.cells

    def text(numbers: Iterable[float | None]) -> list[str]:
        return ["" if number is None else f"{number:.4f}" for number in numbers]

    columns = {
        "bins": [f"{cell.n_bins:,}" for cell in cells],
        "calibration samples": [f"{cell.n_fitted:,}" for cell in cells],
        "test samples": [f"{cell.n_samples:,}" for cell in cells],
        event_words(assessment.event): [f"{cell.n_positive:,}" for cell in cells],
        "error before": text(None if cell.before is None else cell.before.ece() for cell in cells),
        "error after": text(None if cell.after is None else cell.after.ece() for cell in cells),
        "by chance": text(None if cell.chance_level is None else cell.chance_level.ece for cell in cells),
        "Brier before": text(cell.brier_before for cell in cells),
        "Brier after": text(cell.brier for cell in cells),
        "promise": [cell.verdict or "" for cell in cells],
    }
    return {title: column for title, column in columns.items() if any(column)}


def _cells_table(assessment: SetAssessment) -> str:
    cells = assessment.cells
    columns = {"cell": [name_cell(cell.cell).strip("'") for cell in cells], **cell_columns(assessment)}
    table = as_html(columns, n_text=1, most=None)
    return table if len(cells) <= UNFOLDED else html.folded(f"{len(cells):,} cells", table)


def facts_of(fitted: BinnedModel | ModelSet, source: str | None) -> dict[str, str]:
    """Facts about a model or a set, by name."""
    return {
        "File": source or "",
        **(_about_set(fitted) if fitted.is_set else _about_model(fitted)),
        "Made by": in_words(fitted),
        f"SHA-256 of the {'' if fitted.is_set else 'model '}file": hashlib.sha256(fitted.to_bytes()).hexdigest(),
    }


def _about_model(model: BinnedModel) -> dict[str, str]:
    size = {"step": f", {model.n_bins:,} bins", "linear": f", {model.n_bins:,} knots", "smooth": ""}[model.kind]
    if model.has_steps:
        size = f", {model.n_bins:,} evidence bins, {model.n_steps:,} steps"
    accepted = "any finite number" if model.score_range is None else "{:g} to {:g}".format(*model.score_range)
    if model.out_of_range == "clip":
        accepted += "; others are clipped to its ends"
    return {
        "Method": SCHEMES[model.scheme].title + size,
        "Values are the probability of": event_words(model.event),
        "Calibration samples": f"{model.n_samples:,}, {model.n_positive:,} of them with {label_words(model.event)}"
        if model.n_samples
        else "",
        "Scores accepted": accepted,
        "Ties at boundaries": _ties(model),
        "Seed": str(model.seed),
        "Note": model.note,
    }


def _ties(model: BinnedModel) -> str:
    """Which rule decided about equal scores, and for how many samples."""
    if model.ties == "none":
        return ""
    return f"{model.ties}; {model.n_tied:,} calibration samples tied"


def _about_set(models: ModelSet) -> dict[str, str]:
    methods = Counter(SCHEMES[model.scheme].title for _, model in models.numbered)
    pooled = f"{len(models.pooled_keys):,} of the cells share one model, the pool" if models.pool is not None else ""
    return {
        "Cells": f"{len(models):,} ({models.kind})",
        "Models": f"{models.n_models:,}, {models.n_bins:,} bins in all",
        "Methods": "; ".join(f"{title} ({count:,})" if len(methods) > 1 else title for title, count in methods.items()),
        "Values are the probability of": event_words(models.event) if models.event else "",
        "Calibration samples": f"{models.n_samples:,}",
        "The pool": pooled,
        "Unknown cells": "are refused" if models.unknown == "refuse" else "get the value of the pool, without a promise",
    }
