"""The tables of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fastbin.guarantees.words import sureness
from fastbin.intervals import clopper_pearson, sidak
from fastbin.report.assessment import Assessment

__all__ = ["bins_table", "facts_table", "scores_table"]

# Beyond this many bins the table is folded away, to be opened.
UNFOLDED = 40
SIGNS = {"confirmed": "&#10003;", "contradicted": "&#10007;", "cannot tell": "?", "no claim": "&#8211;"}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Cells are HTML already."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def facts_table(facts: dict[str, str]) -> str:
    """Names and values, side by side."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items())
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def _places(values: Iterable[float]) -> str:
    """A format of four places, or of four digits for tiny probabilities."""
    smallest = min((value for value in values if value > 0.0), default=1.0)
    return ".4f" if smallest >= 1e-3 else ".3e"


def _range(low: float, high: float, form: str) -> str:
    return f"{low:{form}} to {high:{form}}"


def bins_table(found: Assessment) -> str:
    """What each bin promises and what the test set shows of it; nothing for a model that is no step function."""
    model = found.model
    if model.kind != "step" or found.bin_counts is None:
        return ""
    form = _places(model.values.tolist())
    head = ["bin", "scores from", "to", "value"]
    columns: list[list[str]] = [
        [str(b) for b in range(model.n_bins)],
        *_ends(found),
        [f"{v:{form}}" for v in model.values.tolist()],
    ]
    if found.certificates:
        head.append(f"{sureness(found.alpha)} interval")
        columns.append([_range(low, high, form) for low, high in model.interval(found.alpha).tolist()])
    if model.counts is not None:
        head.append("calibration samples")
        columns.append([f"{count:,}" for count in model.counts.tolist()])
    head.append("test samples")
    columns.append([f"{count:,}" for count in found.bin_counts.tolist()])
    if found.check is not None:
        columns += _tested(found, form)
        head += ["test rate", "test interval", "promise"]
    table = _table(head, zip(*columns, strict=True), "numbers")
    if model.n_bins > UNFOLDED:
        table = f"<details><summary>{model.n_bins:,} bins</summary>{table}</details>"
    return table


def _ends(found: Assessment) -> list[list[str]]:
    model = found.model
    low, high = ("", "") if model.score_range is None else (f"{end:.6g}" for end in model.score_range)
    edges = [f"{edge:.6g}" for edge in model.edges.tolist()]
    return [[low, *edges], [*edges, high]]


def _tested(found: Assessment, form: str) -> list[list[str]]:
    check = found.check
    assert check is not None
    counts, label_sums = check.counts.tolist(), check.label_sums.tolist()
    rates = [f"{ones / count:{form}}" if count else "" for ones, count in zip(label_sums, counts, strict=True)]
    level = sidak(found.alpha, max(1, sum(count > 0 for count in counts)))
    ends = clopper_pearson(check.label_sums, check.counts, level).tolist()
    intervals = [_range(low, high, form) if count else "" for (low, high), count in zip(ends, counts, strict=True)]
    verdicts = [f'<span class="{verdict.replace(" ", "-")}">{SIGNS[verdict]} {verdict}</span>' for verdict in check.verdicts]
    return [rates, intervals, verdicts]


def scores_table(found: Assessment) -> str:
    """The predictors in columns, the numbers in rows."""
    cards = [card.numbers() for card in found.scorecards]
    rows = [[escape(name), *(escape(card[name]) for card in cards)] for name in cards[0]]
    return _table(["", *(escape(card.name) for card in found.scorecards)], rows, "numbers scores")
