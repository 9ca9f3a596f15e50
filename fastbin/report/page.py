"""The report as one HTML page that needs nothing else: no network, no fonts, no scripts."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.docstrings import shared_docs
from fastbin._base.files import SupportsWrite, write_bytes
from fastbin._base.html import DARK, LIGHT, badge, bullets, escape, facts_table, folded, paragraph, table_style, themed
from fastbin._base.table import as_html, number_format
from fastbin._core.score import library_version
from fastbin._model.provenance import in_words
from fastbin._model.view import bin_words, facts
from fastbin.assess import CertificateCheck
from fastbin.assess.verdict import NEW_ROWS
from fastbin.guarantees.certificate import event_words, label_words, name_cell, sureness
from fastbin.plots import reliability_diagram, small_multiples, step_plot, validity_plot
from fastbin.plots._style import DARK_LOOK, LIGHT_LOOK, css_of
from fastbin.report import vector_page
from fastbin.report.assessment import Assessment
from fastbin.report.drawing import svg_of
from fastbin.report.vectors import VectorAssessment

AnyAssessment = Assessment | VectorAssessment


def render_report(
    assessment: AnyAssessment,
    *,
    title: str = "Calibration report",
    model_source: str | None = None,
    test_source: str | None = None,
    date: datetime.date | None = None,
) -> str:
    """The page as text.

    Parameters
    ----------
    assessment : Assessment
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
    if isinstance(assessment, VectorAssessment):
        is_set, details, reading = False, {"Class by class": vector_page.detail_tables(assessment)}, vector_page.READING
        of_test, pictures = vector_page.test_facts(assessment, test_source), vector_page.pictures_of(assessment)
    else:
        is_set, reading = assessment.is_set, READING
        details = {"Cell by cell" if is_set else "Bin by bin": detail_table(assessment)}
        of_test, pictures = _test_facts(assessment, test_source), pictures_of(assessment)
    figures = (f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" for caption, svg in pictures)
    contents = {
        "In short": _summary(assessment),
        "Cautions": bullets(map(escape, assessment.cautions), "cautions") if assessment.cautions else "",
        f"The {'set' if is_set else 'model'}": facts_table(_facts(assessment, model_source)),
        "What is promised": _promises(assessment),
        "The test set": facts_table(of_test),
        **details,
        "Before and after": as_html(assessment.score_words(), n_text=1),
        "Pictures": f"<div class='pictures'>{''.join(figures)}</div>",
        "How to read this": reading,
    }
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><meta name="viewport" content="width=device-width">'
    made = f"Made with fastbin {escape(library_version())} on {(date or datetime.date.today()).isoformat()}."
    verdict = f"<p>The certificate on this test set: {badge(assessment.verdict)}</p>"
    body = f"<header><h1>{escape(title)}</h1>{verdict}<p class='made'>{made}</p></header>{_sections(contents)}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body><main>{body}</main></body></html>\n'
    )


@shared_docs(render_report.__doc__)
def write_report(path: str | os.PathLike[str] | SupportsWrite, assessment: AnyAssessment, **options: Any) -> None:
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


def _summary(assessment: AnyAssessment) -> str:
    promise, *others = assessment.in_short
    n = len(assessment.cautions)
    cautions = "There is nothing to caution against." if n == 0 else f"Cautions: {n}, below."
    return paragraph(promise, "promise") + "".join(map(paragraph, [*others, cautions]))


def _promises(assessment: AnyAssessment) -> str:
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


def _facts(assessment: AnyAssessment, source: str | None) -> dict[str, str]:
    fitted: Any = assessment.model
    is_vector = isinstance(assessment, VectorAssessment)
    file = "file" if not is_vector and fitted.is_set else "model file"
    digest = hashlib.sha256(fitted.to_bytes()).hexdigest()
    own = vector_page.model_facts(fitted) if is_vector else facts(fitted)
    return {"File": source or "", **own, "Made by": in_words(fitted), f"SHA-256 of the {file}": digest}


def _test_facts(assessment: Assessment, source: str | None) -> dict[str, str]:
    n_samples, n_positive, left_out = assessment.n_samples, assessment.n_positive, assessment.left_out
    return {
        "File": source or "",
        "Samples": f"{n_samples:,}",
        f"With {label_words(assessment.event)}": f"{n_positive:,} ({100.0 * n_positive / n_samples:.3g} %)",
        "Left out": f"{left_out.missing:,} without a score, {left_out.outside:,} out of range",
        "Weights": "importance weights" if assessment.is_weighted else "",
        "In unknown cells": f"{assessment.n_unknown:,}" if assessment.is_set else "",
    }


# ------------------------------------------------------------------------------------------------- tables

# A table of more bins is folded.
UNFOLDED = 40


def detail_table(assessment: Assessment) -> str:
    """The promise and the test results of every bin of a step function, or of every cell of a set; else empty."""
    model, cells = assessment.model, assessment.cells
    if assessment.is_set:
        columns = {"cell": [name_cell(cell.cell).strip("'") for cell in cells], **cell_columns(assessment)}
        table = as_html(columns, n_text=1, most=None)
        return table if len(cells) <= UNFOLDED else folded(f"{len(cells):,} cells", table)
    if assessment.bin_counts is None:
        return ""
    intervals = model.interval(assessment.alpha) if assessment.certificates else None
    columns = bin_words(model, intervals, f"{sureness(assessment.alpha)} interval")
    if model.counts is not None:
        columns["calibration samples"] = [f"{count:,}" for count in model.counts.tolist()]
    tested = {"bin": columns["bin"], "test samples": [f"{count:,}" for count in assessment.bin_counts.tolist()]}
    if assessment.check is not None:
        tested |= _tested(assessment.check, number_format(model.bin_values.tolist()))
    # Two tables: a page of usual width has no room for the columns of both.
    tables = "".join(as_html(each, most=None) for each in (columns, tested))
    return tables if model.n_bins <= UNFOLDED else folded(f"{model.n_bins:,} bins", tables)


def _tested(check: CertificateCheck, form: str) -> dict[str, list[str]]:
    """The columns about the test of the certificate: the interval that decides, and what it is compared with."""
    counts = check.counts.tolist()

    def shown(words: Iterable[str]) -> list[str]:
        return [word if count else "" for word, count in zip(words, counts, strict=True)]

    def ranges(ends: Float64s) -> list[str]:
        return [f"{low:{form}} to {high:{form}}" for low, high in ends.tolist()]

    served, of_rate = {}, ""
    if check.mean_served is not None:
        served = {"test average served": shown(f"{mean:{form}}" for mean in check.mean_served.tolist())}
        of_rate = "rate - served: "
    rates = (check.label_sums / np.maximum(check.counts, 1)).tolist()
    return {
        **served,
        "test rate": shown(f"{rate:{form}}" for rate in rates),
        f"{of_rate}promised": ranges(check.claims),
        f"{of_rate}test interval ({sureness(check.interval_alpha)} each)": shown(ranges(check.intervals)),
        "verdict": list(check.verdicts),
    }


def cell_columns(assessment: Assessment) -> dict[str, list[str]]:
    """The test results of each cell, as text by title; without the columns that are empty throughout."""
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


# ------------------------------------------------------------------------------------------------- pictures

VALIDITY = "Which share of the test samples (upwards) lies in bins whose prediction is within epsilon of the rate seen."
MOST_PANELS = 12


def pictures_of(assessment: Assessment) -> list[tuple[str, str]]:
    """Validity, and reliability before and after; before it the step function of a model, behind it every cell of a set."""
    curves = {scorecard.name: scorecard.curve for scorecard in assessment.scorecards}
    end = min(1.0, max(0.02, 1.1 * max(curve.epsilon_at(0.97) for curve in curves.values())))
    words, promise = VALIDITY, dict[str, Any]()
    if not assessment.is_set and assessment.model.scheme == "umd" and assessment.certificates:  # the scheme of Theorem 4
        model = assessment.model
        words += " The grey line is what the number of calibration samples promised before any was seen."
        if model.n_samples >= 2 * model.n_bins:
            promise = {"n_samples": model.n_samples, "n_bins": model.n_bins}
    validity = svg_of((5.2, 3.6), partial(validity_plot, curves, **promise, max_epsilon=end))
    shared = [(words, validity), *_reliability(assessment)]
    return [*shared, *_cells(assessment)] if assessment.is_set else [_function(assessment), *shared]


def _function(assessment: Assessment) -> tuple[str, str]:
    model = assessment.model
    words = (
        f"The calibrated probability as a function of the score. With {sureness(assessment.alpha)} probability the band holds "
        "the true frequencies of all bins at once."
    )
    if model.has_steps:
        words += " It is about the average of what is served within a bin (dashes), not about single values."
    return words, svg_of((5.2, 3.6), partial(step_plot, model, alpha=assessment.alpha))


def _cells(assessment: Assessment) -> list[tuple[str, str]]:
    tables = {name_cell(cell.cell).strip("'"): cell.after for cell in assessment.cells if cell.after is not None}
    if not tables:
        return []
    words = (
        "The calibrated probabilities against what happened in the test set, in each cell by itself (its number of test "
        "samples in brackets). The lines are exact intervals for the bins of one cell."
    )
    rows = -(-min(len(tables), MOST_PANELS) // 4)
    return [(words, svg_of((8.0, 1.9 * rows + 0.3), partial(small_multiples, tables, most=MOST_PANELS)))]


def _reliability(assessment: Assessment) -> list[tuple[str, str]]:
    pictures = []
    for scorecard, name in ((assessment.before, "The scores themselves"), (assessment.after, "The calibrated probabilities")):
        if scorecard is not None:
            caption = (
                f"{name} against what happened in the test set. Lines are exact intervals; where they miss the diagonal, "
                "chance does not explain the distance. The strip above shows the shares of the samples."
            )
            pictures.append((caption, svg_of((4.0, 4.3), partial(reliability_diagram, scorecard.table))))
    return pictures


# ------------------------------------------------------------------------------------------------- text and style

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


# One column, made for paper as much as for the screen, dark where the reader wants it dark.
PAGE = """
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1.5rem 4rem; }
header { border-bottom: 2px solid; margin-bottom: .8rem; }
h1 { font-size: 1.7rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
nav { font-size: .9rem; } nav a { color: var(--quiet); margin-right: 1rem; white-space: nowrap; }
p { margin: .5rem 0; max-width: 50rem; }
ul { margin: .5rem 0; padding-left: 1.3rem; max-width: 50rem; }
li { margin: .35rem 0; }
.made, figcaption { color: var(--quiet); }
.made { margin: .3rem 0 .6rem; font-size: .9rem; }
.promise { font-size: 1.05rem; font-weight: 600; }
.cautions { list-style: none; padding: 0; }
.cautions li { border-left: 4px solid var(--bad); padding: .1rem 0 .1rem .8rem; margin: .6rem 0; }
.wide { overflow-x: auto; }
table { font-size: .88rem; }
.facts :is(th,td) { text-align: left; vertical-align: top; }
.facts th { font-weight: 400; color: var(--quiet); } .facts td { overflow-wrap: anywhere; white-space: normal; }
.bad { font-weight: 600; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1.5rem; align-items: start; }
figure { margin: 0; break-inside: avoid; } figure svg { width: 100%; height: auto; max-height: 26rem; }
figcaption { font-size: .85rem; line-height: 1.4; }
summary { cursor: pointer; }
@media screen and (max-width: 40rem) {
  main { padding: 1rem .7rem 3rem; }
  main table { font-size: .72rem; }
  main :is(th,td) { white-space: normal; padding: .2em .3em; }
  .pictures { grid-template-columns: 1fr; }
}
@media print {
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  .wide { overflow: visible; }
  tr, li, p { break-inside: avoid; }
  h2 { break-after: avoid; } main table { font-size: 8.5pt; } main :is(th,td) { padding: .15rem .4rem; }
}
"""

STYLE = (
    themed(
        ":root",
        f"color-scheme:light;--ink:#1a1a1a;--paper:#fff;{LIGHT};{css_of(LIGHT_LOOK)}",
        f"color-scheme:dark;--ink:#e6e6e6;--paper:#17191c;{DARK};{css_of(DARK_LOOK)}",
    )
    + table_style("main")
    + PAGE
)
