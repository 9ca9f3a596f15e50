"""The page of a report as a reader meets it: the verdict first, ways to every section, light and dark, bins told apart."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin.plots._style import DARK_LOOK, LIGHT_LOOK, css_of
from fastbin.report import Assessment, assess_model, render_report

pytest.importorskip("matplotlib")

RNG = np.random.default_rng(11)
SCORES = RNG.random(3000)
LABELS = RNG.random(3000) < SCORES**2


def assessed(ties: str = "whole", decimals: int | None = None, moved: float = 0.0) -> Assessment:
    scores = SCORES if decimals is None else SCORES.round(decimals)
    model = fb.UniformMassBinning(n_bins=4, ties=ties).fit(scores[:1500], LABELS[:1500]).model_
    return assess_model(model, np.clip(scores[1500:] + moved, 0.0, 1.0), LABELS[1500:])


@pytest.fixture(scope="module")
def page() -> str:
    return render_report(assessed())


@pytest.mark.parametrize(("moved", "verdict", "kind"), [(0.0, "not contradicted", "open"), (0.3, "contradicted", "bad")])
def test_the_verdict_stands_before_everything_else(moved: float, verdict: str, kind: str) -> None:
    page = render_report(assessed(moved=moved))
    badge = re.search(r"<span class='badge (\w+)'>\S+ ([\w ]+)</span>", page)
    assert badge is not None
    assert badge.groups() == (kind, verdict)
    assert page.index("</h1>") < badge.start() < page.index("<nav>") < page.index("<section")


def test_without_a_check_the_badge_says_why() -> None:
    platt = fb.PlattScaling().fit(SCORES[:1500], LABELS[:1500])
    assert "no certificate</span>" in render_report(assess_model(platt, SCORES[1500:], LABELS[1500:]))
    weighted = assess_model(assessed().model, SCORES[1500:], LABELS[1500:], sample_weight=np.full(1500, 0.5))
    assert "not tested</span>" in render_report(weighted)


def test_the_contents_lead_to_every_section(page: str) -> None:
    links = re.findall(r"<a href='#([\w-]+)'>([^<]+)</a>", page)
    sections = re.findall(r"<section id='([\w-]+)'><h2>([^<]+)</h2>", page)
    assert links == sections
    titles = [title for _, title in links]
    assert titles[0] == "In short"
    assert {"The model", "What is promised", "The test set", "Bin by bin", "Before and after", "Pictures"} <= set(titles)


def test_dark_pages_have_colours_of_their_own(page: str) -> None:
    style = page.partition("<style>")[2].partition("</style>")[0]
    light, _, dark = style.partition("@media(prefers-color-scheme:dark)")
    assert css_of(LIGHT_LOOK) in light
    assert css_of(DARK_LOOK) in dark
    for name in re.findall(r"var\((--[\w-]+)\)", page):
        assert f"{name}:" in light, f"{name} has no colour on light pages"
        assert f"{name}:" in dark.partition("}}")[0], f"{name} has no colour on dark pages"
    assert not re.search(r"(?<!-)(?:color|background|border\S*): #", style.partition("body")[2])


def test_the_page_needs_nothing_else(page: str) -> None:
    assert not re.findall(r"<(?:script|link|img|iframe)|@import|src=", page)
    assert not [address for address in re.findall(r"https?://[^\s\"'<]+", page) if "www.w3.org" not in address]


def rows_of(page: str) -> list[list[str]]:
    table = page.partition("<h2>Bin by bin</h2>")[2].partition("</section>")[0]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table.split("</table>")[0])[1:]]


def test_no_two_bins_are_called_the_same() -> None:
    rows = rows_of(render_report(assessed(ties="random", decimals=0)))
    assert len(rows) == 4
    assert len({(row[1], row[2]) for row in rows}) == 4
    assert any("%" in row[1] for row in rows)


def test_bins_of_whole_ties_show_scores_alone() -> None:
    rows = rows_of(render_report(assessed(decimals=2)))
    assert not [row for row in rows if "%" in row[1] + row[2]]
    assert [row[2] for row in rows[:-1]] == [row[1] for row in rows[1:]]


def test_a_page_on_a_set_has_the_same_order() -> None:
    cells = np.where(np.arange(3000) % 3 == 0, "north", "south")
    fits = {}
    for key in ("north", "south"):
        rows = np.flatnonzero(cells[:1500] == key)
        fits[key] = fb.UniformMassBinning(n_bins=3).fit(SCORES[rows], LABELS[rows])
    found: Any = assess_model(fb.ModelSet(fits), SCORES[1500:], LABELS[1500:], cells=cells[1500:])
    page = render_report(found)
    titles = re.findall(r"<section id='[\w-]+'><h2>([^<]+)</h2>", page)
    assert "Cell by cell" in titles
    assert page.index("class='badge") < page.index("<nav>")
    assert str(found).startswith(str(found.certificates[0]))
    assert "class='badge" in found._repr_html_()
