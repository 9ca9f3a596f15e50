"""The parts of a page that is filed: the facts on its rows, lines to sign, and rules for paper. Every report takes them here.

Nothing is read from a clock: a page has the date that it is given, or none, so that the same arguments give the same bytes.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from fastbin._base.checks import check_count
from fastbin._base.errors import InputTypeError
from fastbin._base.html import DARK, LIGHT, escape, facts_table, folded, table, table_style, themed
from fastbin._core.score import library_version
from fastbin.plots._style import DARK_LOOK, LIGHT_LOOK, css_of

# Lines to sign, of which the first has the name that is given.
SIGNERS = ("Prepared by", "Reviewed by", "Approved by")

# Files of which each digest is shown; of more, the digest of all.
MOST_FILES = 12

# A table of more rows is folded.
UNFOLDED = 40

# Arguments as readers call them.
CALLED = {"sample_weight": "weights", "cells": "segments"}


def check_text(value: Any, name: str, *, is_needed: bool = False) -> None:
    """Refuse what is neither text nor, where none is needed, ``None``."""
    if not isinstance(value, str) and (is_needed or value is not None):
        raise InputTypeError(f"is of type {type(value).__name__}", "pass a text", argument=name)


class Filing(NamedTuple):
    """Which rows a page is about, who files it, and when, as far as that was said."""

    files: Mapping[str, str] = MappingProxyType({})  # the SHA-256 of each, by name
    columns: Mapping[str, str] = MappingProxyType({})  # by the argument that each became
    n_rows: int | None = None
    prepared_by: str | None = None
    role: str | None = None
    date: datetime.date | None = None

    @classmethod
    def of(cls, **given: Any) -> Filing:
        """The same, checked."""
        for name in ("prepared_by", "role"):
            check_text(given.get(name), name)
        if not isinstance(given.get("date"), datetime.date | None):
            problem = f"is of type {type(given['date']).__name__}"
            raise InputTypeError(problem, "pass a datetime.date", argument="date", value=given["date"])
        if given.get("n_rows") is not None:
            check_count(given["n_rows"], "n_rows", minimum=0)
        for name in ("files", "columns"):
            entries = given.get(name) or {}
            if not isinstance(entries, Mapping) or not all(isinstance(each, str) for pair in entries.items() for each in pair):
                raise InputTypeError("is not a mapping from texts to texts", "pass a dict", argument=name)
        return cls(**{name: value for name, value in given.items() if value is not None})

    def facts(self) -> dict[str, str]:
        """The facts on the rows, as text by name."""
        facts = {"Rows read": "" if self.n_rows is None else f"{self.n_rows:,}"}
        if len(self.files) > MOST_FILES:
            digest = f"{digest_of_files(self.files)} (of their lines as sha256sum prints)"
            facts[f"SHA-256 of {len(self.files):,} files"] = digest
        else:
            facts |= {f"SHA-256 of {name}": digest for name, digest in self.files.items()}
        return {**facts, "Columns": "; ".join(f"{said}: {', '.join(names)}" for said, names in self._columns().items())}

    def _columns(self) -> dict[str, list[str]]:
        """The columns by what they hold: those of all classes together."""
        found: dict[str, list[str]] = {}
        for argument, name in self.columns.items():
            if argument == "cells" and name == self.columns.get("labels"):  # of classes
                continue
            said = "probabilities" if argument.startswith("P[") else CALLED.get(argument, argument)
            found.setdefault(said, []).append(name)
        return found

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            "version": library_version(),
            "date": None if self.date is None else self.date.isoformat(),
            "prepared_by": self.prepared_by,
            "role": self.role,
            "n_rows": self.n_rows,
            "files": [{"name": name, "sha256": digest} for name, digest in self.files.items()],
            "columns": dict(self.columns),
        }


def digest_of_files(files: Mapping[str, str]) -> str:
    """One SHA-256 of many files: of the lines that ``sha256sum`` prints about them, in their order."""
    return hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in files.items()).encode()).hexdigest()


def digest_of_counts(counts: Sequence[int], label_sums: Sequence[int]) -> str:
    """The SHA-256 of counts by bin as JSON without blanks: ``{"counts":[...],"label_sums":[...]}``."""
    text = json.dumps({"counts": list(counts), "label_sums": list(label_sums)}, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# ------------------------------------------------------------------------------------------------- pieces of a page


def document(title: str, lead: str, contents: Mapping[str, str], filing: Filing, checked: Mapping[str, str]) -> str:
    """A whole page: its heading with a lead (HTML), what was checked, the sections that have content, and lines to sign.

    Parameters
    ----------
    title : str
    lead : str
        HTML: the verdict.
    contents : mapping
        HTML of each section, by its title.
    filing : Filing
    checked : mapping
        Facts for the first section, as text by name; those of `filing` come behind them.
    """
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><meta name="viewport" content="width=device-width">'
    of_day = "" if filing.date is None else f" on {filing.date.isoformat()}"
    made = f"<p class='made'>Made with fastbin {escape(library_version())}{of_day}.</p>"
    sections = {
        "What was checked": facts_table({**checked, **filing.facts()}), **contents, "Signatures": signatures(filing),
    }  # fmt: skip
    body = f"<header><h1>{escape(title)}</h1>{lead}{made}</header>{_sections(sections)}"
    style = f"<style>{STYLE}{_paper(title)}</style>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}{style}</head>\n<body><main>{body}</main></body></html>\n'


def unless_long(n: int, rows: str, shown: str) -> str:
    """A table of n such rows, folded where they are many."""
    return shown if n <= UNFOLDED else folded(f"{n:,} {rows}", shown)


def signatures(filing: Filing) -> str:
    """A table of lines to sign; the first has the name, the role and the date that were given."""
    own = [escape(text or "") for text in (filing.prepared_by, filing.role, filing.date and filing.date.isoformat())]
    rows = [[signer, *(own if signer == SIGNERS[0] else [""] * len(own)), ""] for signer in SIGNERS]
    return table(["", "Name", "Role", "Date", "Signature"], rows, n_text=5, kind="signatures")


def _sections(contents: Mapping[str, str]) -> str:
    """The sections that have content, below links to them."""
    shown = {title: (title.lower().replace(" ", "-"), content) for title, content in contents.items() if content}
    links = (f"<a href='#{name}'>{title}</a>" for title, (name, _) in shown.items())
    sections = (f"\n<section id='{name}'><h2>{title}</h2>{content}</section>" for title, (name, content) in shown.items())
    return f"<nav>{' '.join(links)}</nav>{''.join(sections)}"


def _paper(title: str) -> str:
    """The sheets of paper: their size, and at the foot of each the title and the number of the sheet."""
    text = re.sub(r"[^A-Za-z0-9]", lambda found: f"\\{ord(found[0]):x} ", title)
    foot = "font:8pt system-ui,Helvetica,Arial,sans-serif;color:#5c5c5c"
    return (
        f'@page{{size:A4;margin:17mm 15mm 19mm;@bottom-left{{content:"{text}";{foot}}}'
        f'@bottom-right{{content:counter(page) " / " counter(pages);{foot}}}}}\n'
    )


# ------------------------------------------------------------------------------------------------- style

ON_LIGHT = f"color-scheme:light;--ink:#1a1a1a;--paper:#fff;{LIGHT};{css_of(LIGHT_LOOK)}"
ON_DARK = f"color-scheme:dark;--ink:#e6e6e6;--paper:#17191c;{DARK};{css_of(DARK_LOOK)}"

# One column, made for paper as much as for the screen, dark where the reader wants it dark.
PAGE = """
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1.5rem 4rem; }
header { border-bottom: 2px solid; margin-bottom: .8rem; }
h1 { font-size: 1.7rem; margin: 0; overflow-wrap: anywhere; }
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
.facts :is(th,td) { text-align: left; vertical-align: top; overflow-wrap: anywhere; white-space: normal; }
.facts th { font-weight: 400; color: var(--quiet); min-width: 6rem; max-width: 16rem; }
.wide th.text { overflow-wrap: break-word; }
.wide .text { white-space: normal; overflow-wrap: anywhere; min-width: 4rem; }
.signatures { width: 100%; } .signatures td { height: 2.6rem; }
.bad { font-weight: 600; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1.5rem; align-items: start; }
figure { margin: 0; break-inside: avoid; } figure svg { width: 100%; height: auto; max-height: 26rem; }
figcaption { font-size: .85rem; line-height: 1.4; }
summary { cursor: pointer; }
@media screen and (max-width: 40rem) {
  main { padding: 1rem .7rem 3rem; }
  main table { font-size: .68rem; }
  main :is(th,td) { white-space: normal; padding: .2em .2em; }
  .wide :is(.text,.signatures td) { min-width: 2.8rem; }
  .pictures { grid-template-columns: 1fr; }
}
"""

# On paper: light colours, no links to sections, what is folded on the screen, and nothing cut at an edge or torn by a break.
PRINT = f"""
@media print {{
  :root {{ {ON_LIGHT} }}
  body {{ font-size: 10pt; background: none; }}
  main {{ max-width: none; padding: 0; }}
  nav {{ display: none; }}
  summary {{ list-style: none; font-weight: 600; break-after: avoid; }}
  details::details-content {{ content-visibility: visible; height: auto; }}
  h1 {{ font-size: 16pt; }} .promise {{ font-size: 10.5pt; }} figcaption {{ font-size: 8pt; }}
  p:has(+ .wide) {{ break-after: avoid; }}
  h2 {{ font-size: 12pt; break-after: avoid; margin-top: 1.4rem; }}
  .wide {{ overflow: visible; }}
  main table {{ font-size: 8pt; }}
  main :is(th,td) {{ padding: .12rem .3rem; }}
  thead {{ display: table-header-group; }}
  tr, li, p, figure, .facts, .wide {{ break-inside: avoid; }}
  details .wide, .wide:has(tr:nth-child(16)) {{ break-inside: auto; }}
  .pictures {{ grid-template-columns: 1fr 1fr; gap: 1rem; }} figure svg {{ max-height: 68mm; }}
  .signatures td {{ height: 13mm; }}
}}
"""

STYLE = themed(":root", ON_LIGHT, ON_DARK) + table_style("main") + PAGE + PRINT
