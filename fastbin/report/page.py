"""The report as one HTML page that needs nothing else: no network, no fonts, no scripts."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from typing import Any

from fastbin._base.docstrings import shared_docs
from fastbin._base.files import SupportsWrite, write_bytes
from fastbin._base.html import badge, bullets, escape, facts_table, paragraph
from fastbin._base.table import as_html
from fastbin._core.score import library_version
from fastbin.assess.verdict import NEW_ROWS
from fastbin.guarantees.certificate import label_words
from fastbin.report.assessment import Assessment, SetAssessment
from fastbin.report.figures import pictures_of
from fastbin.report.style import STYLE
from fastbin.report.tables import detail_table, facts_of


def render_report(
    assessment: Assessment | SetAssessment,
    *,
    title: str = "Calibration report",
    model_source: str | None = None,
    test_source: str | None = None,
    date: datetime.date | None = None,
) -> str:
    """The page as text.

    Parameters
    ----------
    assessment : Assessment or SetAssessment
        As `assess_model` makes it.
    title : str
        The heading.
    model_source, test_source : str, optional
        Where the model and the test set came from, such as file names.
    date : date, optional
        Of the report; by default today.

    Returns
    -------
    str
        HTML; the same for the same arguments.

    Raises
    ------
    MissingDependencyError
        Without matplotlib.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 100 for i in range(100)]
    >>> labels = [int(i % 10 < 6) for i in range(100)]
    >>> model = fb.FixedWidthBinning(n_bins=2).fit(scores[::2], labels[::2]).model_
    >>> assessment = fb.report.assess_model(model, scores[1::2], labels[1::2])
    >>> page = render_report(assessment, title="Scorecard 7")
    >>> "<h1>Scorecard 7</h1>" in page
    True
    """
    contents = {
        "In short": _summary(assessment),
        "Cautions": bullets(map(escape, assessment.cautions), "cautions") if assessment.cautions else "",
        "The set" if assessment.is_set else "The model": facts_table(facts_of(assessment.fitted, model_source)),
        "What is promised": _promises(assessment),
        "The test set": facts_table(_test_facts(assessment, test_source)),
        "Cell by cell" if assessment.is_set else "Bin by bin": detail_table(assessment),
        "Before and after": as_html(assessment.score_words(), n_text=1),
        "Pictures": _figures(pictures_of(assessment)),
        "How to read this": READING,
    }
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><meta name="viewport" content="width=device-width">'
    made = f"Made with fastbin {escape(library_version())} on {(date or datetime.date.today()).isoformat()}."
    verdict = f"<p>The certificate on this test set: {badge(assessment.verdict)}</p>"
    body = f"<header><h1>{escape(title)}</h1>{verdict}<p class='made'>{made}</p></header>{_sections(contents)}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body><main>{body}</main></body></html>\n'
    )


@shared_docs(render_report.__doc__)
def write_report(path: str | os.PathLike[str] | SupportsWrite, assessment: Assessment | SetAssessment, **options: Any) -> None:
    """Write the page to a file, under a temporary name that is renamed when all is written.

    Parameters
    ----------
    path : str, path-like, or binary file object
    {assessment}
    **options
        As in `render_report`.

    Raises
    ------
    OSError
        If the file cannot be written.
    {MissingDependencyError}

    Examples
    --------
    >>> import fastbin as fb
    >>> model = fb.ExplicitBinning(edges=[0.5]).fit([0.2, 0.7, 0.9], [0, 1, 1]).model_
    >>> assessment = fb.report.assess_model(model, [0.1, 0.8], [0, 1])
    >>> write_report("report.html", assessment, title="Scorecard 7", model_source="credit.fbm")
    """
    write_bytes(path, render_report(assessment, **options).encode())


def _sections(contents: dict[str, str]) -> str:
    """The sections that have content, below links to them."""
    shown = {title: (title.lower().replace(" ", "-"), content) for title, content in contents.items() if content}
    links = (f"<a href='#{name}'>{title}</a>" for title, (name, _) in shown.items())
    sections = (f"\n<section id='{name}'><h2>{title}</h2>{content}</section>" for title, (name, content) in shown.items())
    return f"<nav>{' '.join(links)}</nav>{''.join(sections)}"


def _summary(assessment: Assessment | SetAssessment) -> str:
    promise, *others = assessment.in_short
    n = len(assessment.cautions)
    cautions = "There is nothing to caution against." if n == 0 else f"Cautions: {n}, below."
    return paragraph(promise, "promise") + "".join(map(paragraph, [*others, cautions]))


def _promises(assessment: Assessment | SetAssessment) -> str:
    certificates = assessment.certificates
    if not certificates:
        return paragraph(f"Nothing: {assessment.why_no_certificate}.")
    promises = (f"{escape(str(each))}<br><small>{escape(each.theorem)}.</small>" for each in certificates)
    assumptions = dict.fromkeys(escape(text) for each in certificates for text in each.assumptions)
    return (
        f"<p>Each by itself, at alpha = {assessment.alpha:g}:</p>{bullets(promises)}"
        f"<p>Assumed, and not checked by these promises:</p>{bullets(assumptions)}"
        "<p>Not covered: other populations, later times, and single cases; the promises are about frequencies within a bin.</p>"
    )


def _test_facts(assessment: Assessment | SetAssessment, source: str | None) -> dict[str, str]:
    n_samples, n_positive, left_out = assessment.n_samples, assessment.n_positive, assessment.left_out
    return {
        "File": source or "",
        "Samples": f"{n_samples:,}",
        f"With {label_words(assessment.event)}": f"{n_positive:,} ({100.0 * n_positive / n_samples:.3g} %)",
        "Left out": f"{left_out.missing:,} without a score, {left_out.outside:,} out of range",
        "Weights": "importance weights" if assessment.is_weighted else "",
        "Of unknown cells": f"{assessment.n_unknown:,}" if assessment.is_set else "",
    }


def _figures(pictures: Iterable[tuple[str, str]]) -> str:
    figures = (f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" for caption, svg in pictures)
    return f"<div class='pictures'>{''.join(figures)}</div>"


READING = f"""
<p>A <em>bin</em> is a range of scores that are given one probability, the <em>value</em>. The model is calibrated if, among all
samples of a bin, the share with label 1 is the value. The <em>interval</em> is where that share lies, in all bins at once, as
far as the calibration samples tell. The <em>test interval</em> is where the test samples put it, and it decides.
<em>Confirmed</em>: it lies within what was promised. <em>Contradicted</em>: it misses that. <em>Not contradicted</em>: neither,
the usual case, as a promise is about as precise as its samples are many. {NEW_ROWS} A model with <em>steps</em> serves finer
values inside a bin: each is the value of a step, and what is promised and tested is their average in the bin. A <em>set</em>
has a model for each cell, such as a segment or a predicted class; the promises of all its models share one alpha.</p>
<p>The <em>expected calibration error</em> is the mean distance of prediction and rate over the samples, in bins that are the
same for all columns: those of the calibrated probabilities. It is never zero on finitely many samples: beside it stands what a
perfectly calibrated predictor would show by chance, on average and (in brackets) at most in 95 % of test sets. The
<em>debiased</em> squared error has the noise taken out, and may be below zero. The Brier score is the mean squared error:
calibration - sharpness + uncertainty. AUC is about the order alone, which calibration hardly changes.</p>
"""
