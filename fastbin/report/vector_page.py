"""The parts of a page on a vector model: its facts, tables of classes, pictures, and how to read them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from fastbin._base.html import folded, paragraph
from fastbin._base.shown import first_few, how_many, outwards, rounded, rounded_up
from fastbin._base.table import as_html
from fastbin.assess import ReliabilityTable
from fastbin.assess.verdict import NEW_ROWS
from fastbin.guarantees.certificate import sureness
from fastbin.plots import reliability_diagram, small_multiples
from fastbin.report.drawing import svg_of
from fastbin.report.filing import unless_long
from fastbin.report.vectors import VectorAssessment
from fastbin.vector_model import VectorModel

# A confusion of more classes is a table of pairs.
MOST_IN_MATRIX = 8
MOST_PANELS = 12
SHARES = 5  # of the columns about classes, the first are about how often a class is


def model_facts(model: VectorModel) -> dict[str, str]:
    """The facts about the model, by name."""
    vector, classes = model.vector, model.classes
    return {
        "Kind": f"a map of the whole row, of {len(classes):,} classes",
        "Classes": first_few(classes, 12),
        "Calibration samples": f"{model.n_samples:,}",
        "Bins of evidence": "" if vector.counts is None else f"{vector.counts.shape[1]:,} of each class and of the top label",
        "Largest entry of a row": "stays the largest" if vector.keep_top else "may become another",
        "Parts of the map": ", ".join(_parts(model)),
    }


def _parts(model: VectorModel) -> Iterable[str]:
    yield "one slope and one intercept for each class"
    if model.vector.mixing is not None:
        yield "a matrix"
    if model.vector.of_models > 0.0:
        yield f"{100.0 * model.vector.of_models:.3g} % of each class against the rest"


def test_facts(assessment: VectorAssessment) -> dict[str, str]:
    """Those about the test set."""
    return {
        "Samples": f"{assessment.n_samples:,}",
        "Left out": f"{assessment.n_left_out:,} with a missing probability",
        "Weights": "importance weights" if assessment.is_weighted else "",
    }


# ------------------------------------------------------------------------------------------------- tables


def detail_tables(assessment: VectorAssessment) -> str:
    """Class by class; the bins of the promise and their test; predicted against true rates; reliability bin by bin."""
    after = assessment.after
    words = assessment.class_words()
    shares = dict(list(words.items())[: 1 + SHARES])
    # Two tables: a page of usual width has no room for the columns of both.
    others = {title: column for title, column in words.items() if title == "class" or title not in shares}
    tables = [_table("classes", each) for each in (shares, others)]
    if assessment.check is not None:
        tables += [paragraph("The promise on the test set, in each bin of the raw scores:"), _of_check(assessment)]
    elif assessment.certificates:
        tables += [paragraph("The promise, in each bin of the raw scores:"), _of_promise(assessment)]
    if after.confusion is not None:
        text = "How often each class is the true one, and in brackets what is served on average, by predicted class:"
        tables += [paragraph(text), _of_confusion(after.confusion)]
    tables += [_bins("Class-wise reliability", after.class_wise), _bins("Top-label reliability", after.top_label)]
    return "".join(tables)


def _table(rows: str, words: dict[str, list[str]]) -> str:
    return unless_long(len(next(iter(words.values()))), rows, as_html(words, n_text=1, most=None))


def _of_check(assessment: VectorAssessment) -> str:
    check = assessment.check
    assert check is not None
    rows = list(check.bins)
    bins = {"class": [str(row[0]) for row in rows], "raw score": [_range(row[1], row[2]) for row in rows]}
    seen = {
        "test samples": [f"{row[3]:,}" for row in rows],
        "test rate": [rounded(row[4]) for row in rows],
        "served": [rounded(row[5]) for row in rows],
    }
    told = {
        "promised within": [rounded_up(row[6]) for row in rows],
        f"rate - served: test interval ({sureness(check.test_level)}, all at once)": [outwards(*row[7]) for row in rows],
        "verdict": [row[8] for row in rows],
    }
    return "".join(_table("bins", {**bins, **each}) for each in (seen, told))


def _of_promise(assessment: VectorAssessment) -> str:
    promise = assessment.certificates[0]
    rows = list(promise.bins)
    words = {
        "class": [str(row[0]) for row in rows],
        "raw score": [_range(row[1], row[2]) for row in rows],
        "calibration samples": [f"{row[3]:,}" for row in rows],
        "with the class": [f"{row[4]:,}" for row in rows],
        "served": [rounded(row[5]) for row in rows],
        f"truth ({sureness(assessment.alpha)}, all at once)": [outwards(row[6], row[7]) for row in rows],
        "distance at most": [rounded_up(row[8]) for row in rows],
    }
    return _table("bins", words)


def _range(low: float, high: float) -> str:
    return f"{low:.4g} to {high:.4g}"


def _of_confusion(table: ReliabilityTable) -> str:
    """A row for each predicted class; of many classes one for each pair."""
    parts = dict(table.parts or {})
    if len(parts) > MOST_IN_MATRIX:
        return folded(f"{len(table.counts):,} pairs of classes", as_html(table._words()[0], n_text=2, most=None))
    first = next(iter(parts.values()))
    columns = {
        f"true: {key}": [
            f"{rounded(rate)} ({rounded(mean)})"
            for rate, mean in zip(part.positive_rates.tolist(), part.mean_predictions.tolist(), strict=True)
        ]
        for key, part in parts.items()
    }
    rows = {"predicted": [str(key) for key in first.predicted or ()], "test samples": [f"{n:,}" for n in first.counts.tolist()]}
    return as_html({**rows, **columns}, n_text=1, most=None)


def _bins(title: str, table: ReliabilityTable) -> str:
    words, n_text = table._words()
    # A narrow page has no room for long titles, nor for masses, which the counts say.
    short = {"mean prediction": "served", "positive rate": "rate"}
    shown = {short.get(name, name): column for name, column in words.items() if name != "mass"}
    return folded(f"{title}, bin by bin ({how_many(len(table.counts), 'bin')})", as_html(shown, n_text=n_text, most=200))


# ------------------------------------------------------------------------------------------------- pictures

LINES = "The lines are exact intervals for all bins at once."
CAPTIONS = {
    "class_wise": (
        "{} of each class against how often the class occurred. The gap is the class-wise error of the class. " + LINES
    ),
    "top_label": (
        "{} of the predicted class against how often it was right, for each predicted class by itself (its number of test "
        "samples in brackets). " + LINES
    ),
    "confusion": "{}: how often each true class occurred, less what was predicted for it, among the rows for which a class is "
    "predicted.",
}
WHOSE = {"before": "The raw probabilities", "after": "The calibrated probabilities"}


def pictures_of(assessment: VectorAssessment) -> list[tuple[str, str]]:
    """Class-wise, top-label and confusion, before and after."""
    pictures = []
    for name, caption in CAPTIONS.items():
        for when, whose in WHOSE.items():
            table = getattr(assessment, when).tables.get(name)
            if table is not None:
                pictures.append((caption.format(whose), _picture(table)))
    return pictures


def _picture(table: ReliabilityTable) -> str:
    n = min(len(table.parts or {}), MOST_PANELS)
    if table.multiclass == "confusion":
        side = max(4.2, 0.5 * n + 1.6)
        return svg_of((side, side), partial(reliability_diagram, table))
    columns = min(n, 2 if n <= 4 else 3)
    rows = -(-n // columns)
    return svg_of((1.9 * columns + 0.5, 1.9 * rows + 0.4), partial(small_multiples, table, columns=columns, most=MOST_PANELS))


# ------------------------------------------------------------------------------------------------- text

READING = f"""
<p>For each class the rows are put in <em>bins</em> of its raw score, and for the <em>top label</em>, the class of the largest
raw score, in bins of that. In each bin the average that is served to the class is compared with how often the class occurs. The
<em>promise</em> is about these averages, and not about single values; it holds for any map, as the bins look at no label. A
promise about the <em>population</em> is tested: <em>confirmed</em> where the test interval of rate - served lies within it,
<em>contradicted</em> where it misses it, <em>not contradicted</em> where neither, the usual case. A promise about the
calibration rows is not tested. {NEW_ROWS}</p>
<p>The <em>class-wise calibration error</em> is the mean over the classes of the mean distance of prediction and rate in bins of
the class's own values. The <em>top-label calibration error</em> looks at the predicted class alone, that of the largest value
which a column serves, for each predicted class by itself. The <em>confusion error</em> compares, among the rows for which a
class is predicted, the rates of all classes with what was predicted for them: where it is 0, whoever acts on the predicted
class can take the values for frequencies. None is ever zero on finitely many samples: beside each stands what a perfectly
calibrated predictor would show by chance, on average and, of the top label, (in brackets) at most in 95 % of test sets. Each
column is measured in bins of its own values.</p>
"""
