"""The report as one HTML page that needs nothing else: no network, no fonts, no scripts."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin._base.files import SupportsWrite, write_bytes
from fastbin._base.html import badge, bullets, escape, facts_table, paragraph
from fastbin._base.shown import outwards_as, rounded
from fastbin._base.table import as_html, number_format
from fastbin._model.provenance import in_words
from fastbin._model.view import bin_words, facts, title_of_cell
from fastbin.assess.validation import Validation
from fastbin.assess.verdict import NEW_ROWS, SetCheck, difference_seen
from fastbin.export.form import digest_of
from fastbin.guarantees import epsilon
from fastbin.guarantees.certificate import event_words, label_words, name_cell, sureness
from fastbin.guarantees.evidence import is_of_batch
from fastbin.plots import reliability_diagram, small_multiples, step_plot, validity_plot
from fastbin.plots._style import by_text
from fastbin.report import monitor_page, predictions_page, vector_page
from fastbin.report.assessment import Assessment
from fastbin.report.drawing import svg_of, with_captions
from fastbin.report.filing import Filing, check_text, digest_of_counts, document, unless_long
from fastbin.report.vectors import VectorAssessment, VectorCheck, VectorScorecard

AnyAssessment = Assessment | VectorAssessment


def render_report(
    assessment: AnyAssessment | Validation,
    *,
    title: str = "Calibration report",
    model_source: str | None = None,
    test_source: str | None = None,
    date: datetime.date | None = None,
    files: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    n_rows: int | None = None,
    prepared_by: str | None = None,
    role: str | None = None,
    before: Any = None,
    monitor: Any = None,
) -> str:
    """The page as text.

    Its first section says what was checked, its last one has lines to sign. Printed, it is on sheets of A4 in light colours,
    with their numbers where the browser supports them; what is folded on the screen is unfolded.

    Parameters
    ----------
    assessment : Assessment or Validation
        As `assess_model` makes it, or, of given predictions, `fastbin.assess.assess`.
    title : str
        The heading.
    model_source, test_source : str, optional
        Where the model and the test set came from, such as file names.
    date : date, optional
        Of the report. By default the page has no date: the clock is not read.
    files : mapping from str to str, optional
        The SHA-256 of each file of test rows, by its name.
    columns : mapping from str to str, optional
        The columns that were read, by the argument that each became, such as ``{"scores": "p", "labels": "y"}``.
    n_rows : int, optional
        Rows that were read, those that are left out among them.
    prepared_by, role : str, optional
        Who files the page, for its lines to sign.
    before : Validation or dict, optional
        Of given predictions: an earlier validation, or its ``to_dict()``; the page has a table of what changed.
    monitor : CalibrationMonitor or list of CalibrationMonitor, optional
        Of a model or a set: its monitor, or states of it in the order of time; the page has a section on what they have seen.

    Returns
    -------
    str
        HTML; the same for the same arguments.

    Raises
    ------
    InputTypeError
        If an argument has another type.
    InputError
        If `before` is given for a model, or `monitor` for anything but the model that it watches.
    MissingDependencyError
        Without matplotlib.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 100 for i in range(100)]
    >>> labels = [int(i % 10 < 6) for i in range(100)]
    >>> model = fb.FixedWidthBinning(n_bins=2).fit(scores[::2], labels[::2]).model_
    >>> assessment = fb.report.assess_model(model, scores[1::2], labels[1::2])
    >>> page = render_report(assessment, title="Scorecard 7", prepared_by="J. Doe", role="Validation")
    >>> "<h1>Scorecard 7</h1>" in page
    True
    """
    check_text(title, "title", is_needed=True)
    check_text(model_source, "model_source")
    check_text(test_source, "test_source")
    filing = Filing.of(files=files, columns=columns, n_rows=n_rows, prepared_by=prepared_by, role=role, date=date)
    if isinstance(assessment, Validation):
        if monitor is not None:
            raise InputError("is given, and the page is about predictions without a model", "leave it out", argument="monitor")
        earlier = predictions_page.check_before(before)
        return predictions_page.render(assessment, title=title, filing=filing, source=test_source, before=earlier)
    if not isinstance(assessment, AnyAssessment):
        remedy = "pass what fastbin.report.assess_model or fastbin.assess.assess gives"
        raise InputTypeError(f"is of type {type(assessment).__name__}", remedy, argument="assessment")
    if before is not None:
        raise InputError("is given, and the page is about a model", "leave it out", argument="before")
    if isinstance(assessment, VectorAssessment):
        is_set, details, reading = False, {"Class by class": vector_page.detail_tables(assessment)}, vector_page.READING
        of_test, pictures = vector_page.test_facts(assessment), vector_page.pictures_of(assessment)
        of_model = vector_page.model_facts(assessment.model)
    else:
        is_set, reading = assessment.is_set, READING
        details = {"Cell by cell" if is_set else "Bin by bin": detail_table(assessment)}
        of_test, pictures, of_model = _test_facts(assessment), pictures_of(assessment), facts(assessment.model)
    reports = monitor_page.reports_of(monitor, assessment.model)
    contents = {
        "In short": _summary(assessment) + monitor_page.in_short(reports),
        "Cautions": bullets(map(escape, assessment.cautions), "cautions") if assessment.cautions else "",
        f"The {'set' if is_set else 'model'}": facts_table(of_model),
        "What is promised": _promises(assessment),
        "The test set": facts_table(of_test),
        **details,
        "Before and after": as_html(assessment.score_words(), n_text=1),
        "Pictures": with_captions(pictures),
        "Since it is served": monitor_page.section_of(reports),
        "How to read this": reading,
    }
    verdict = f"<p>The certificate on this test set: {badge(assessment.verdict)}</p>"
    checked = {**checked_facts(assessment, model_source, test_source), "Monitor": monitor_page.fact(reports)}
    return document(title, verdict + monitor_page.lead(reports), contents, filing, checked)


@shared_docs(render_report.__doc__)
def write_report(path: str | os.PathLike[str] | SupportsWrite, assessment: AnyAssessment | Validation, **options: Any) -> None:
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
    if isinstance(path, (str, os.PathLike)) and os.fspath(path).lower().endswith(".json"):
        problem = f"is {os.fspath(path)!r}, and a page is written"
        raise InputError(problem, "name an .html file, or write to_dict() of the assessment as JSON", argument="path")
    write_bytes(path, render_report(assessment, **options).encode())


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


def checked_facts(assessment: AnyAssessment, model_source: str | None, test_source: str | None) -> dict[str, str]:
    """The model, the rows, the verdict, and the difference that would have been seen, as text by name."""
    fitted: Any = assessment.model
    is_vector = isinstance(assessment, VectorAssessment)
    return {
        "Model": model_source or "",
        f"SHA-256 of the {'file' if not is_vector and fitted.is_set else 'model file'}": digest_of(fitted),
        "Made by": in_words(fitted),
        "Event": "the class of each column" if isinstance(assessment, VectorAssessment) else event_words(assessment.event),
        "Verdict": _verdict_words(assessment),
        "Would have been seen": _seen_words(assessment.check),
        "Test set": test_source or "",
        "Test samples": f"{assessment.n_samples:,}{getattr(assessment, 'repeat_words', '')}",
        "SHA-256 of their counts": counts_digest(assessment),
    }


def counts_digest(assessment: AnyAssessment) -> str:
    """The digest of the counts in the bins of the calibrated probabilities, of several classes by class."""
    after = assessment.after
    table = after.class_wise if isinstance(after, VectorScorecard) else after.table
    return digest_of_counts(table.counts.tolist(), table.label_sums.tolist())


def report_dict(
    assessment: AnyAssessment, filing: Filing, model_source: str | None, test_source: str | None, monitor: Any = None
) -> dict[str, Any]:  # fmt: skip
    """Every figure of the page, and what was checked, as plain dicts, lists, strings and numbers, ready for JSON."""
    checked = {
        "model": model_source, "model_sha256": digest_of(assessment.model), "provenance": assessment.model.provenance,
        "test_set": test_source, "counts_sha256": counts_digest(assessment), "verdict": assessment.verdict,
    }  # fmt: skip
    watched = [each.to_dict() for each in monitor_page.reports_of(monitor, assessment.model)]
    return {"checked": {**checked, **filing.to_dict()}, **assessment.to_dict(), **({"monitor": watched} if watched else {})}


VERDICTS = {
    "confirmed": "Confirmed: in every bin the test interval lies within what was promised.",
    "contradicted": "Contradicted: in a bin or more the test interval misses what was promised.",
    "not contradicted": "Not contradicted: no test interval misses what was promised, and not all of them lie within it.",
    "not tested": "Not tested: these rows allow no exact test of the promise.",
    "no certificate": "None: the model promises nothing that could be tested.",
}


def side_of(assessment: AnyAssessment) -> str:
    """The side of the promises; that of vectors is of both."""
    return getattr(assessment.certificates[0], "side", "both") if assessment.certificates else "both"


OF_SIDES = {"upper": "higher", "lower": "lower"}


def _verdict_words(assessment: AnyAssessment) -> str:
    """The verdict, and the level of its test."""
    check, words = assessment.check, VERDICTS[assessment.verdict]
    if check is None:
        return words
    reused = " These are the rows of the fit, which confirm nothing." if check.is_calibration_set else ""
    asked = {"both": "", **{side: f" Only whether frequencies are {word} was asked." for side, word in OF_SIDES.items()}}
    return f"{words}{asked[side_of(assessment)]}{reused} The chance of a wrong verdict is at most {check.test_level:g}."


def _seen_words(check: Any) -> str:
    """The least difference that these rows would have shown, whichever bin it is in."""
    if check is None or isinstance(check, VectorCheck):
        return ""
    detectable = np.atleast_1d(check.detectable)
    seen = difference_seen(detectable, check.power, "one bin" if not np.isinf(detectable).any() else "one of the other bins")
    in_some = "in some bins " if seen or isinstance(check, SetCheck) else ""
    unseen = f"{in_some}no difference" if np.isinf(detectable).any() else ""
    return "; ".join(filter(None, [unseen, seen]))


def _test_facts(assessment: Assessment) -> dict[str, str]:
    n_samples, n_positive, left_out = assessment.n_samples, assessment.n_positive, assessment.left_out
    table = assessment.after.table
    expected = float(np.dot(table.masses, table.mean_predictions)) * n_samples
    return {
        "Samples": f"{n_samples:,}{assessment.repeat_words}",
        f"With {label_words(assessment.event)}": f"{n_positive:,} ({100.0 * n_positive / n_samples:.3g} %)",
        "Expected": "" if assessment.is_weighted else f"{expected:,.1f}, by the calibrated probabilities",
        "Left out": f"{left_out.missing:,} without a score, {left_out.outside:,} out of range",
        "Weights": "importance weights" if assessment.is_weighted else "",
        "In unknown cells": f"{assessment.n_unknown:,}" if assessment.is_set else "",
    }


# ------------------------------------------------------------------------------------------------- tables


def detail_table(assessment: Assessment) -> str:
    """The promise and the test results of every bin of a step function, or of every cell of a set; else empty."""
    model, cells = assessment.model, assessment.cells
    if assessment.is_set:
        names, columns = {"cell": [title_of_cell(cell.cell) for cell in cells]}, cell_columns(assessment)
        errors = {title: column for title, column in columns.items() if title.endswith(("before", "after", "chance"))}
        counts = {title: column for title, column in columns.items() if title not in errors}
        shown = "".join(as_html({**names, **each}, n_text=1, most=None) for each in (counts, errors))
        return unless_long(len(cells), "cells", shown)
    if assessment.bin_counts is None:
        return ""
    intervals = model.interval(assessment.alpha, side=side_of(assessment)) if assessment.certificates else None
    columns = bin_words(model, intervals, f"{sureness(assessment.alpha)} interval")
    if model.counts is not None:
        columns["samples of the fit"] = [f"{count:,}" for count in model.counts.tolist()]
    tables = [columns, *_tested(assessment, columns["bin"])]
    # A narrow page and a sheet of paper have no room for the columns of all.
    shown = "".join(as_html(each, most=None) for each in tables)
    return unless_long(model.n_bins, "bins", shown)


def _tested(assessment: Assessment, bins: list[str]) -> Iterator[dict[str, list[str]]]:
    """The test of the certificate: what was seen in each bin, and the interval that decides beside what was promised."""
    check = assessment.check
    counts = (np.asarray(assessment.bin_counts) if check is None else check.counts).tolist()
    seen = {"bin": bins, "test samples": [f"{count:,}" for count in counts]}
    if check is None:
        yield seen
        return
    form = number_format(assessment.model.bin_values.tolist())

    def shown(words: Iterable[str]) -> list[str]:
        return [word if count else "" for word, count in zip(words, counts, strict=True)]

    def ranges(ends: Float64s) -> list[str]:
        return [outwards_as(form, low, high) for low, high in ends.tolist()]

    served = assessment.model.bin_values if check.mean_served is None else check.mean_served
    averages = {} if check.mean_served is None else {"test average served": shown(f"{mean:{form}}" for mean in served.tolist())}
    rates = (check.label_sums / np.maximum(check.counts, 1)).tolist()
    yield {
        **seen,
        "expected": shown(f"{expected:,.1f}" for expected in (check.counts * served).tolist()),
        event_words(check.event): shown(f"{count:,}" for count in check.label_sums.tolist()),
        **averages,
        "test rate": shown(f"{rate:{form}}" for rate in rates),
    }
    of_rate = "rate - served: " if averages else ""
    yield {
        "bin": bins,
        f"{of_rate}promised": ranges(check.claims),
        f"{of_rate}test interval ({sureness(check.interval_alpha)} each)": shown(ranges(check.intervals)),
        "verdict": list(check.verdicts),
    }


def cell_columns(assessment: Assessment) -> dict[str, list[str]]:
    """The test results of each cell, as text by title; without the columns that are empty throughout."""
    cells = assessment.cells

    def text(numbers: Iterable[float | None]) -> list[str]:
        return ["" if number is None else rounded(number) for number in numbers]

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
    if not assessment.is_set and _is_promised_before(assessment):
        words += " The grey line is what the number of calibration samples promised before any was seen."
        promise = {"n_samples": assessment.model.n_samples, "n_bins": assessment.model.n_bins}
    validity = svg_of((5.2, 3.6), partial(validity_plot, curves, **promise, max_epsilon=end))
    shared = [(words, validity), _reliability(assessment)]
    return [*shared, *_cells(assessment)] if assessment.is_set else [_function(assessment), *shared]


def _is_promised_before(assessment: Assessment) -> bool:
    """Whether Theorem 4 is about the model: it serves the means of its bins, and no move, draw or tie adds to the distance."""
    model, alpha = assessment.model, assessment.alpha
    if model.scheme != "umd" or model.n_samples < 2 * model.n_bins or not assessment.certificates:
        return False
    try:
        own = model.certificate(alpha, kind="marginal", bound="a-priori")
    except GuaranteeError:
        return False
    return own.epsilon < 1.0 and own.epsilon <= epsilon(model.n_samples, model.n_bins, alpha, "marginal")


def _function(assessment: Assessment) -> tuple[str, str]:
    model = assessment.model
    held = "frequencies among all rows of the batch that the model was fitted to" if is_of_batch(model) else "true frequencies"
    words = (
        f"The calibrated probability as a function of the score. With {sureness(assessment.alpha)} probability the band holds "
        f"the {held}, of all bins at once."
    )
    if model.has_steps:
        words += " It is about the average of what is served within a bin (dashes), not about single values."
    return words, svg_of((5.2, 3.6), partial(step_plot, model, alpha=assessment.alpha))


def _cells(assessment: Assessment) -> list[tuple[str, str]]:
    tables = by_text(((cell.cell, cell.after) for cell in assessment.cells if cell.after is not None), title_of_cell, name_cell)
    if not tables:
        return []
    words = (
        "The calibrated probabilities against what happened in the test set, in each cell by itself (its number of test "
        "samples in brackets). The lines are exact intervals for the bins of one cell."
    )
    rows = -(-min(len(tables), MOST_PANELS) // 4)
    return [(words, svg_of((8.0, 1.9 * rows + 0.3), partial(small_multiples, tables, most=MOST_PANELS)))]


def _reliability(assessment: Assessment) -> tuple[str, str]:
    """One picture: the scores before calibration, where these are probabilities, and what is served."""
    cards = [card for card in (assessment.before, assessment.after) if card is not None]
    tables = {card.name: card.table for card in cards}
    what = "Scores and calibrated probabilities" if len(cards) > 1 else "The calibrated probabilities"
    caption = f"{what} against what happened in the test set."
    if tables[assessment.after.name].intervals is not None:
        caption += " Lines are exact intervals; where they miss the diagonal, chance does not explain the distance."
    return caption, svg_of((5.2, 3.9), partial(reliability_diagram, tables if len(cards) > 1 else cards[0].table))


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
same for all columns: those of the calibrated probabilities. Chance alone makes it larger than 0: beside it stands what a
perfectly calibrated predictor would show by chance, on average and (in brackets) at most in 95 % of test sets; where each
sample counts once for each class, rows depend on each other, and it is told of each class alone. The <em>debiased</em> squared
error has the noise taken out, and may be below zero. The Brier score is the mean squared error: calibration - sharpness +
uncertainty + what predictions differ within bins. AUC is about the order alone, which calibration hardly changes.</p>
"""
