"""The look of a report: one column, made for paper as much as for the screen, dark where the reader wants it dark."""

from __future__ import annotations

from fastbin._base.html import DARK, LIGHT, table_style, themed
from fastbin.plots._looks import DARK_LOOK, LIGHT_LOOK, css_of

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
