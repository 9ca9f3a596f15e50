"""The page on given predictions: are they calibrated in each grade and segment, with which tests, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from fastbin._base.errors import InputTypeError
from fastbin._base.html import badge, bullets, escape, paragraph
from fastbin._base.html import table as html_table
from fastbin._base.html import verdict as shown_verdict
from fastbin._base.shown import first_few, how_many, outwards_as, rounded_up
from fastbin._base.table import as_html, in_words
from fastbin.assess.catalogue import CATALOGUE, title_of
from fastbin.assess.reliability import reliability_table
from fastbin.assess.validation import MOST_TESTED, P_VALUES, TABLES, Validation, name_of, percent
from fastbin.assess.verdict import NEW_ROWS, NOT_CONTRADICTED, p_is, shown_p
from fastbin.guarantees.certificate import sureness
from fastbin.plots._style import Axes, look_of
from fastbin.plots.grades import grades_plot
from fastbin.plots.reliability import reliability_diagram
from fastbin.report.drawing import svg_of, with_captions
from fastbin.report.filing import Filing, document, unless_long
from fastbin.report.recheck import Looks, as_one, changes, since

MOST_DRAWN = 40  # rows of a table in the picture
TITLES = {"cells": "Grade by grade in each segment", "grades": "Grade by grade", "segments": "Segments", "days": "Days"}
# The options that verdicts depend on, as they are called.
DECIDES = {"side": "side", "test_level": "level"}
TESTED = {*P_VALUES.values(), "detectable, %"}

ASSUMED = (
    "The rows are new: neither the classifier nor its calibration has seen them. No test can find that out.",
    "Labels are independent, given the predictions: one row for each obligor, and no common shock. Where defaults are "
    "correlated, the exact tests contradict too often; Vasicek's test allows for a correlation that is given.",
    "The grades, segments, the side and the level were chosen before the labels were seen.",
)
MEANS = (
    "Only mean predictions are known. The verdict is that of a bound (Hoeffding 1956) which holds whatever the predictions are "
    "that have these means; figures that single predictions decide are left out."
)


def render(
    found: Validation, *, title: str, filing: Filing, source: str | None, before: Mapping[str, Any] | None
) -> str:  # fmt: skip
    """The page as text."""
    main = found.main_table
    others = {table: rows for table, rows in found.tables.items() if table != main}
    if before is not None:
        found = since(before, found)
    contents = {
        "In short": _summary(found),
        TITLES.get(str(main), "All rows"): _detail(found, main),
        "Picture": _picture(found),
        **{TITLES[table]: _detail(found, table) for table in others},
        "Since the last report": "" if before is None else _changes(before, found),
        "Tests of all rows": _tests(found),
        "What was assumed": bullets(map(escape, _assumed(found))),
        "How to check this": _recheck(found),
        "How to read this": READING,
    }
    lead = f"<p>The predictions on these rows: {badge(found.verdict)}</p>"
    word = found.portfolio[found.deciding("verdict")]
    if found.tables and word != NOT_CONTRADICTED:
        lead += f"<p>All rows together, a test by itself: {badge(word)}</p>"
    return document(title, lead, contents, filing, checked_facts(found, source))


def checked_facts(found: Validation, source: str | None) -> dict[str, str]:
    """The rows that were checked, the question, the verdict, and which difference would have been seen, by name."""
    sides = {
        "both": "too low or too high",
        "upper": "too low (that they are too high is not asked)",
        "lower": "too high (that they are too low is not asked)",
    }
    rows_share = how_many(len(found.deciding_rows), "row", "of tables shares", "of tables share")
    looks = f"{rows_share} it by Holm's adjustment" if found.tables else "one test"
    event = found.source.get("positive")
    return {
        "Rows of": source or "",
        "Rows": f"{found.n_samples:,}",
        "Event": "label 1" if event is None else f"label {event!r}",
        "With the event": f"{found.n_positive:,} ({100.0 * found.portfolio['rate']:.3g} %)",
        "Expected": f"{found.portfolio['expected']:,.1f} ({100.0 * found.portfolio['mean_prediction']:.3g} %)",
        "Question": f"are predictions {sides[found.side]}?",
        "Level": f"{found.test_level:g}; {looks}",
        "Looks": _looks_words(found),
        "Verdict": _verdict_words(found),
        "Would have been seen": found.seen,
        "Clusters": "" if found.counts.clusters is None else f"{found.counts.clusters}.",
        "Asset correlation": "" if found.asset_correlation is None else f"{found.asset_correlation:g}",
        "SHA-256 of the counts": found.counts.digest,
        "SHA-256 of the figures": found.figures_digest,
    }


def _assumed(found: Validation) -> Iterator[str]:
    yield from ASSUMED
    if found.asset_correlation is not None:
        yield f"Vasicek's test: defaults share one factor, with an asset correlation of {found.asset_correlation:g}."
    if found.counts.clusters is not None:
        yield "One row of each cluster stands for it: the verdict is about a random row of a random cluster."
    if found.counts.are_means:
        yield MEANS


def _looks_words(found: Validation) -> str:
    """How often the question was asked, as far as reports say it, and what that makes of the level."""
    looks = Looks.at({"source": found.source, "options": found.options._asdict()})
    if looks.n == 1:
        return "this page names no earlier look; each one would be a look of its own, at its own level"
    most = float(rounded_up(min(1.0, looks.level)))
    return (
        f"{looks.n:,}, with the earlier reports that are named one after the other; if predictions are calibrated throughout, "
        f"the chance that the verdict of any of {looks.n:,} looks contradicts them is at most {most:g}, the "
        "sum of their levels"
    )


def _verdict_words(found: Validation) -> str:
    word = found.deciding("verdict")
    wrong = [row for row in found.deciding_rows if row[word] != NOT_CONTRADICTED]
    if not found.tables:
        return f"Predictions are {found.verdict}." if wrong else "Not contradicted: chance explains the difference."
    of_all = f" {found.on_all_rows}".rstrip()
    if not wrong:
        what = "no row of any table" if not of_all else "no grade, segment or day"
        return f"Not contradicted: {what} differs from its predictions by more than chance explains.{of_all}"
    where = first_few(wrong, say=lambda row: f"{name_of(row)} ({row[word]}, {_difference(row)})")
    return f"Contradicted in {where}.{of_all}"


def _difference(row: Mapping[str, Any]) -> str:
    return f"{percent(row['mean_prediction'])} % predicted, {percent(row['rate'])} % seen"


def _summary(found: Validation) -> str:
    all_rows = found.portfolio
    p_value = all_rows[found.deciding("p_value")]
    of_all = (
        f"All rows together: {found.n_positive:,} with label 1, where {all_rows['expected']:,.1f} were expected "
        f"({_difference(all_rows)}; p {p_is(p_value)}, {'by a bound' if found.counts.are_means else 'a test'} by itself)."
    )
    sentence, _, rest = found.sentence.partition(". ")
    return paragraph(f"{sentence}.", "promise") + paragraph(rest) + paragraph(of_all)


# ------------------------------------------------------------------------------------------------- tables


def _detail(found: Validation, table: str | None) -> str:
    """Two tables, as a narrow page has no room for the columns of both: what was seen, and the tests."""
    words, n_text = found.words_of(table)
    by = TABLES[table] if table is not None else ()
    verdict, n_keys = words["verdict"], n_text - 1
    names = [*map(name_of, found.ordered(table)), "all"]
    keys = {" / ".join(by): names} if by else {}
    rest = {name: column for name, column in list(words.items())[n_keys:] if name != "verdict"}
    tested = {name: column for name, column in rest.items() if name in TESTED}
    seen = {name: column for name, column in rest.items() if name not in TESTED}
    shown = as_html({**keys, **seen}, n_text=len(keys), most=None)
    shown += as_html({**keys, "verdict": verdict, **tested}, n_text=len(keys), most=None)
    return unless_long(len(verdict) - 1, str(table), shown)


def _tests(found: Validation) -> str:
    if not found.tests:
        return paragraph(f"Left out, as there are more than {MOST_TESTED:,} different predictions; "
                         "fastbin.assess.calibration_tests computes them.")  # fmt: skip
    notes, rows = dict[str, int](), []
    for name, test in found.tests.items():
        if test is None:
            continue
        entry = CATALOGUE[name]
        note = test["undefined"] or test["warning"]
        number = f" <small>({notes.setdefault(note, len(notes) + 1)})</small>" if note else ""
        value = "" if test["statistic"] is None else f"{test['statistic']:.4g}"
        if test.get("low") is not None and test.get("high") is not None:
            value += f"<br><small>{outwards_as('.4g', test['low'], test['high'])}</small>"
        p_value = "" if test["p_value"] is None else shown_p(test["p_value"])
        asks = f"<small>{escape(entry.asks)} <em>{escape(test['reference'])}</em></small>"
        rows.append([f"{escape(title_of(name))}<br>{asks}", escape(test["kind"]) + number, value, p_value])
    warnings = bullets(f"<small>({number}) {escape(note)}</small>" for note, number in notes.items())
    rests = "the verdict rests on none" if found.tables else "the verdict is that of the exact test of the number of ones"
    told = paragraph(f"Each by itself: their p-values are not adjusted for the number of tests, and {rests}.")
    absent = sum(test is None for test in found.tests.values())
    left_out = paragraph(f"{absent} tests need the prediction of every row, and only means are known.") if absent else ""
    return told + left_out + html_table(["test", "kind", "statistic", "p"], rows, n_text=1) + (warnings if notes else "")


def _changes(before: Mapping[str, Any], found: Validation) -> str:
    figures = before["figures"]
    told = [
        f"The earlier report was about {how_many(figures['n'], 'row')} with {figures['ones']:,} of label 1 (counts "
        f"{before['counts']['sha256'][:12]}...)."
    ]
    told += _other_questions(before, found)
    there: list[str | None] = [table for table in TITLES if table in found.tables or table in figures["tables"]]
    return paragraph(" ".join(told)) + "".join(_changes_of(before, found, table) for table in there or [None])


def _other_questions(before: Mapping[str, Any], found: Validation) -> Iterator[str]:
    """How an earlier report asked, as far as it did so in another way, and what it said of the ranks."""
    earlier, asked, figures = before["options"], found.options._asdict(), before["figures"]
    if before["counts"]["sha256"] == found.counts.digest:
        yield "These are the same rows."
    others = [f"{said} {earlier[name]}, now {asked[name]}" for name, said in DECIDES.items() if earlier[name] != asked[name]]
    if others:
        yield f"Its question was another one ({'; '.join(others)}): its verdicts are not comparable with these."
    shared, now = sum(map(len, figures["tables"].values())) or 1, len(found.deciding_rows)
    if shared != now:
        yield f"There {shared:,} {'test' if shared == 1 else 'rows of tables'} shared the level, and here {now:,}."
    then, columns = before.get("source", {}).get("columns"), found.source.get("columns")
    for name in dict.fromkeys([*(columns or {}), *(then or {})]):
        if then and columns and then.get(name) != columns.get(name):
            yield f"The column of the {name} was {then.get(name, 'not given')}, and is {columns.get(name, 'not given')}."
    auc, auc_now = ((tests.get("auc") or {}).get("statistic") for tests in (figures["tests"], found.tests))
    if auc is not None and auc_now is not None:
        yield f"AUC was {auc:.4g}, and is {auc_now:.4g}."


def _changes_of(before: Mapping[str, Any], found: Validation, table: str | None) -> str:
    columns, words = changes(before, found, table), dict[str, list[str]]()
    for title, column in columns.items():
        if title.startswith(("predicted", "rate")):
            words[f"{title}, %"] = [percent(each) for each in column]
        else:
            words[title] = in_words(column)
    pairs = list(zip(columns["verdict before"], columns["verdict now"], strict=True))
    pairs = pairs[:-1] or pairs  # all rows together stand below each table
    counted = {
        "changed": sum(one != other for one, other in pairs if one and other),
        "new": sum(not one for one, _ in pairs),
        "gone": sum(not other for _, other in pairs),
    }
    heading = TITLES.get(str(table), "All rows")
    told = f"{heading}: the verdict of {counted['changed']:,} changed"
    told += "".join(f", {n:,} {'is' if n == 1 else 'are'} {word}" for word, n in counted.items() if n and word != "changed")
    verdicts = {title: words.pop(title) for title in ("verdict before", "verdict now")}
    rows = [[escape(name), *map(_shown, pair)] for name, *pair in zip(words[""], *verdicts.values(), strict=True)]
    return paragraph(f"{told}.") + as_html(words, n_text=1, most=None) + html_table(["", *verdicts], rows, n_text=3)


def _shown(word: str) -> str:
    return shown_verdict(word) if word else ""


def _recheck(found: Validation) -> str:
    n = len(found.counts.counts)
    told = (
        f"Every figure here is computed from {how_many(n, 'row')} of counts: how many rows have each prediction in each grade "
        "and segment, and how many of them label 1. The JSON of this report (fastbin report -o report.json) has all "
        "figures with both digests."
    )
    command = "<pre>fastbin report --check report.json</pre>"
    again = (
        "It computes every figure of that JSON again, and names the first that differs; with the file of rows behind it, from "
        "these too."
    )
    return paragraph(told) + command + paragraph(again)


# ------------------------------------------------------------------------------------------------- pictures


def _picture(found: Validation) -> str:
    rows = found.ordered(found.main_table)
    if 0 < len(rows) <= MOST_DRAWN:
        caption = (
            "Each row of the table: the exact interval of its frequency (line), the frequency seen (dot), and the mean "
            "prediction (bar). A bar outside of the line is more than chance explains in that row by itself; the verdict "
            "shares the level. Squares are rows that contradict their predictions. On a logarithmic scale a frequency of 0 "
            "stands at the left edge."
        )
        level = f"{sureness(found.test_level)} interval"
        means, rates, intervals = (np.array([row[name] for row in rows]) for name in ("mean_prediction", "rate", "interval"))
        wrong = [row[found.deciding("verdict")] != NOT_CONTRADICTED for row in rows]
        draw = partial(grades_plot, [name_of(row) for row in rows], means, rates, intervals, wrong, level=level)
        svg = svg_of((6.4, 1.3 + 0.3 * len(rows)), draw)
    elif found.counts.are_means:
        return ""
    else:
        caption = (
            "Predictions in bins against what happened, with exact intervals. Where they miss the diagonal, chance does not "
            "explain the distance."
        )
        caption += " The line is the isotonic (CORP) curve." if found.curve else ""
        svg = svg_of((4.2, 4.5), partial(_draw_reliability, found))
    return with_captions([(caption, svg)])


def _draw_reliability(found: Validation, *, ax: Axes) -> None:
    cells = found.counts.cells()
    p, y = np.tile(cells.predictions, 2), np.repeat([0, 1], len(cells.predictions))
    times = np.concatenate([cells.counts - cells.ones, cells.ones])
    reliability_diagram(reliability_table(p, y, sample_weight=times, alpha=found.test_level), ax=ax)
    if found.curve:
        x, isotonic, *_ = np.array(found.curve).T
        ax.plot(x, isotonic, color=look_of(ax).guide, linewidth=1.2, zorder=2)


def check_before(before: Any) -> Mapping[str, Any] | None:
    """An earlier report as `to_dict` gives it, or a validation, or a list of such in the order of time; as the last of them."""
    if before is None:
        return None
    given = list(before) if isinstance(before, (list, tuple)) else [before]
    for at, each in enumerate(given):
        if not isinstance(each, Validation) and not (isinstance(each, Mapping) and "figures" in each):
            place = at if isinstance(before, (list, tuple)) else None
            remedy = "pass an earlier Validation, its to_dict(), or a list of these in the order of time"
            raise InputTypeError(f"is of type {type(each).__name__}", remedy, argument="before", at=place)
    return as_one(given) if given else None


READING = f"""
<p>A <em>prediction</em> is a probability of label 1, such as a probability of default. Predictions are <em>calibrated</em> if
each row has label 1 with its prediction as chance. The <em>p value</em> is the chance, if they are, of so many ones or more, or
of so many or fewer: that of the side that is asked, and twice the smaller for both. It is exact, from the law of a sum of
independent labels. <em>Holm</em> is the p value adjusted for the
number of rows in all tables together: where it is at most the level, the verdict is <em>too low</em> (more happened than was
predicted) or <em>too high</em>. With mean predictions alone it is a bound (Hoeffding 1956). <em>Jeffreys</em> is of the side
that is asked, and doubled for both; the European Central Bank asks one-sided whether predictions are too low, as
<em>Jeffreys</em> among the tests of all rows does. It is not exact. <em>Vasicek</em> asks whether predictions are too low,
whichever side is asked, with the asset correlation that is stated above. Intervals are of both sides, whichever side is asked.
<em>Detectable</em> is the least difference of mean prediction and frequency that these rows would have shown with the stated
power. <em>Not contradicted</em> does not say that predictions are right. {NEW_ROWS}</p>
"""
