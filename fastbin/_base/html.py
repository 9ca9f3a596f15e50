"""Pieces of HTML that notebooks and the report share: escaped text, tables, badges, and colours for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape as escaped

from fastbin._base.shown import printable

LIGHT = "--good:#00664b;--bad:#a33d00;--open:#3d4a5c;--rule:#d5d5d5;--quiet:#5c5c5c"
DARK = "--good:#58cda5;--bad:#ff9c66;--open:#a9bad0;--rule:#474b52;--quiet:#a6a9ae"

# What a verdict looks like: the class of its colour, and a sign for those who see no colours.
VERDICTS = {
    "confirmed": ("good", "&#10003;"), "contradicted": ("bad", "&#10007;"), "not contradicted": ("open", "&#9675;"),
    "alarm": ("bad", "&#10007;"), "too low": ("bad", "&#8595;"), "too high": ("bad", "&#8593;"),
    "no claim": ("open", "&#8211;"), "no certificate": ("open", "&#8211;"), "not tested": ("open", "?"),
}  # fmt: skip


def escape(text: str) -> str:
    """Text as HTML that shows it: no markup, and control characters as escapes."""
    return escaped(printable(text, keep="\n\t"))


def themed(selector: str, light: str = LIGHT, dark: str = DARK) -> str:
    """Declarations for light pages, and for dark ones where the reader, or the theme of the notebook, wants these."""
    by_system = f"{selector}{{{light}}}@media(prefers-color-scheme:dark){{{selector}{{{dark}}}}}"
    by_notebook = f"[data-jp-theme-light=true] {selector}{{{light}}}[data-jp-theme-light=false] {selector}{{{dark}}}"
    return by_system + by_notebook


def table_style(scope: str) -> str:
    """The look of tables, verdicts and badges below a selector; their colours come from `themed`."""
    return (
        f"{scope} table{{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.4em 0}}"
        f"{scope} :is(th,td){{padding:.2em .7em;text-align:right;vertical-align:bottom;white-space:nowrap;"
        "border:0;border-bottom:1px solid var(--rule)}"
        f"{scope} thead th{{font-weight:600;white-space:normal;border-bottom:1.5px solid}}"
        f"{scope} :is(th,td).text{{text-align:left}}{scope} td.told{{white-space:normal;min-width:16em}}"
        f"{scope} .badge{{border:1.5px solid;border-radius:1em;padding:.05em .7em;font-weight:600;white-space:nowrap}}"
        f"{scope} .good{{color:var(--good)}}{scope} .bad{{color:var(--bad)}}{scope} .open{{color:var(--open)}}"
        f"{scope} small{{color:var(--quiet)}}"
    )


NOTEBOOK_STYLE = (
    themed(".fastbin") + ".fastbin{overflow-x:auto;max-width:60em}.fastbin summary{cursor:pointer}" + table_style(".fastbin")
)


def notebook(*parts: str) -> str:
    """The view of a thing in a notebook: these parts, which are HTML, in a box with its own style."""
    return f"<div class='fastbin'><style>{NOTEBOOK_STYLE}</style>{''.join(parts)}</div>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    attribute = f" class='{kind}'" if kind else ""
    return f"<p{attribute}>{escape(text)}</p>"


def bullets(texts: Iterable[str], kind: str = "") -> str:
    """A list; its entries are HTML."""
    attribute = f" class='{kind}'" if kind else ""
    return f"<ul{attribute}>{''.join(f'<li>{text}</li>' for text in texts)}</ul>"


def folded(summary: str, content: str) -> str:
    """HTML that is shown on a click on its summary, which is plain text."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def verdict(word: str) -> str:
    """A verdict with its sign and its colour."""
    kind, sign = VERDICTS[word]
    return f"<span class='{kind}'>{sign} {word}</span>"


def badge(word: str) -> str:
    """A verdict in a frame, to be seen first."""
    kind, sign = VERDICTS[word]
    return f"<span class='badge {kind}'>{sign} {word}</span>"


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, n_text: int = 0, kind: str = "", sentences: Sequence[int] = ()
) -> str:
    """A table of cells that are HTML already; the first `n_text` columns hold text, some sentences, the others numbers."""
    classes = [" class='text'"] * n_text + [""] * (len(head) - n_text)
    for at in sentences:
        classes[at] = " class='text told'"
    top = "".join(f"<th{each}>{cell}</th>" for each, cell in zip(classes, head, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{each}>{cell}</td>' for each, cell in zip(classes, row, strict=True))}</tr>" for row in rows
    )
    attribute = f" class='{kind}'" if kind else ""
    return f"<div class='wide'><table{attribute}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def facts_table(facts: Mapping[str, str]) -> str:
    """Names and values, side by side, without what is empty."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items() if value)
    return f"<table class='facts'><tbody>{rows}</tbody></table>"
