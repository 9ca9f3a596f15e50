"""The report as one HTML page that needs nothing else: no network, no fonts, no scripts."""

from __future__ import annotations

import datetime
import hashlib
import os
from html import escape
from typing import Any

from fastbin._files import replace_file
from fastbin._native.owner import library_version
from fastbin._schemes import SCHEMES
from fastbin.guarantees import Certificate
from fastbin.model import BinnedModel
from fastbin.report.assessment import Assessment
from fastbin.report.figures import Picture, pictures_of
from fastbin.report.style import STYLE
from fastbin.report.tables import bins_table, facts_table, scores_table

__all__ = ["render_report", "write_report"]

VERDICT_CLASS = {"confirmed": "good", "contradicted": "bad", "cannot tell": "open"}


def render_report(
    assessment: Assessment,
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
    when = datetime.date.today() if date is None else date
    sections = [
        _section("In short", _summary(assessment)),
        _section("Cautions", _cautions(assessment)),
        _section("The model", facts_table(_model_facts(assessment.model, model_source))),
        _section("What is promised", _promises(assessment)),
        _section("The test set", facts_table(_test_facts(assessment, test_source))),
        _section("Bin by bin", bins_table(assessment)),
        _section("Before and after", scores_table(assessment)),
        _section("Pictures", _pictures(pictures_of(assessment))),
        _section("How to read this", READING),
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><meta name="viewport" content="width=device-width">'
    made = f"Made with fastbin {escape(library_version())} on {when.isoformat()}."
    body = f"<header><h1>{escape(title)}</h1><p class='made'>{made}</p></header>{''.join(sections)}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body><main>{body}</main></body></html>\n'
    )


def write_report(path: str | os.PathLike[str], assessment: Assessment, **options: Any) -> None:
    """Write the page to a file, under a temporary name that is renamed when all is written.

    Parameters
    ----------
    path : str or path-like
    assessment : Assessment
        As `assess_model` makes it.
    **options
        As in `render_report`.

    Raises
    ------
    OSError
        If the file cannot be written.
    MissingDependencyError
        Without matplotlib.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 100 for i in range(100)]
    >>> labels = [int(i % 10 < 6) for i in range(100)]
    >>> model = fb.FixedWidthBinning(n_bins=2).fit(scores[::2], labels[::2]).model_
    >>> assessment = fb.report.assess_model(model, scores[1::2], labels[1::2])
    >>> write_report("report.html", assessment, title="Scorecard 7", model_source="credit.fbm")
    """
    page = render_report(assessment, **options).encode()
    replace_file(path, lambda file: file.write(page))


def _section(title: str, content: str) -> str:
    return f"\n<section><h2>{title}</h2>{content}</section>" if content else ""


def _paragraph(text: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<p{attribute}>{escape(text)}</p>"


def _summary(found: Assessment) -> str:
    told = []
    if found.certificates:
        told.append(_paragraph(_promise_of(found.certificates[0]), "promise"))
    else:
        told.append(_paragraph("This model carries no finite-sample guarantee.", "promise"))
    if found.check is not None:
        told.append(_paragraph(str(found.check), f"verdict {VERDICT_CLASS[found.check.verdict]}"))
    ece = f"On {found.n_samples:,} test samples the expected calibration error is {found.after.ece:.4f}"
    if found.before is not None:
        ece += f", and that of the scores themselves {found.before.ece:.4f}"
    told.append(_paragraph(f"{ece} (plug-in estimates, which noise makes too large)."))
    n = len(found.cautions)
    told.append(_paragraph("There is nothing to caution against." if n == 0 else f"Cautions: {n}, below."))
    return "".join(told)


def _promise_of(certificate: Certificate) -> str:
    """The promise without what it rests on, which has a section of its own."""
    return str(certificate).partition(f" ({certificate.theorem}")[0] + "."


def _cautions(found: Assessment) -> str:
    if not found.cautions:
        return ""
    return f"<ul class='cautions'>{''.join(f'<li>{escape(caution)}</li>' for caution in found.cautions)}</ul>"


def _promises(found: Assessment) -> str:
    if not found.certificates:
        return _paragraph(f"Nothing: {found.why_no_certificate}.")
    told = [
        f"<li>{escape(_promise_of(promise))}<br><small>{escape(promise.theorem)}.</small></li>"
        for promise in found.certificates
    ]
    assumed = [f"<li>{escape(text)}</li>" for text in dict.fromkeys(t for c in found.certificates for t in c.assumptions)]
    return (
        f"<p>Each by itself, at alpha = {found.alpha:g}:</p><ul>{''.join(told)}</ul>"
        f"<p>Assumed, and not checked by these promises:</p><ul>{''.join(assumed)}</ul>"
        "<p>Not covered: other populations, later times, and single cases; the promises are about frequencies within a bin.</p>"
    )


def _model_facts(model: BinnedModel, source: str | None) -> dict[str, str]:
    size = {"step": f", {model.n_bins:,} bins", "linear": f", {model.n_bins:,} knots", "smooth": ""}[model.kind]
    accepted = "any finite number" if model.score_range is None else "{:g} to {:g}".format(*model.score_range)
    if model.out_of_range == "clip":
        accepted += "; others are clipped to its ends"
    facts = {
        "File": source or "",
        "Method": SCHEMES[model.scheme].title + size,
        "Calibration samples": f"{model.n_samples:,}, {model.n_positive:,} of them with label 1" if model.n_samples else "",
        "Scores accepted": accepted,
        "Ties at boundaries": "" if model.ties == "none" else f"{model.ties}; {model.n_tied:,} calibration samples tied",
        "Seed": str(model.seed),
        "Note": model.note,
        "SHA-256 of the model file": hashlib.sha256(model.to_bytes()).hexdigest(),
    }
    return {name: value for name, value in facts.items() if value}


def _test_facts(found: Assessment, source: str | None) -> dict[str, str]:
    facts = {
        "File": source or "",
        "Samples": f"{found.n_samples:,}",
        "With label 1": f"{found.n_positive:,} ({100.0 * found.n_positive / found.n_samples:.3g} %)",
        "Left out": f"{found.left_out.missing:,} without a score, {found.left_out.outside:,} out of range",
        "Weights": "importance weights" if found.is_weighted else "",
    }
    return {name: value for name, value in facts.items() if value}


def _pictures(pictures: list[Picture]) -> str:
    figures = [f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" for caption, svg in pictures]
    return f"<div class='pictures'>{''.join(figures)}</div>"


READING = """
<p>A <em>bin</em> is a range of scores that are given one probability, the <em>value</em>. The model is calibrated if, among all
samples of a bin, the share with label 1 is the value. The <em>interval</em> is where that share lies, in all bins at once, as
far as the calibration samples tell; the <em>test interval</em> is the same for the test samples. <em>Confirmed</em>: the test
samples show that the share is where it was promised. <em>Contradicted</em>: they show that it is not. <em>Cannot tell</em>:
they are too few for either.</p>
<p>The <em>expected calibration error</em> is the mean distance of prediction and rate over the samples. It is never zero on
finitely many samples; the <em>debiased</em> squared error has the noise taken out, and may be below zero. The Brier score is
the mean squared error: calibration - sharpness + uncertainty. AUC is about the order alone, which calibration hardly
changes.</p>
"""
