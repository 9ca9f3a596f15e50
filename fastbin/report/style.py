"""The look of a report: one column, black on white, made for paper as much as for the screen."""

from __future__ import annotations

STYLE = """
:root { --ink: #1a1a1a; --quiet: #5c5c5c; --rule: #d5d5d5; --good: #00664b; --bad: #a33d00; --open: #3d4a5c; }
body { margin: 0; background: #fff; color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1.5rem 4rem; }
header { border-bottom: 2px solid var(--ink); margin-bottom: 1.5rem; }
h1 { font-size: 1.7rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .5rem 0; max-width: 50rem; }
ul { margin: .5rem 0; padding-left: 1.3rem; max-width: 50rem; }
li { margin: .35rem 0; }
small, .made, figcaption { color: var(--quiet); }
.made { margin: .3rem 0 .6rem; font-size: .9rem; }
.promise { font-size: 1.05rem; font-weight: 600; }
.verdict { border-left: 4px solid; padding: .1rem 0 .1rem .8rem; }
.verdict.good { border-color: var(--good); }
.verdict.bad { border-color: var(--bad); }
.verdict.open { border-color: var(--open); }
.cautions { list-style: none; padding: 0; }
.cautions li { border-left: 4px solid var(--bad); padding: .1rem 0 .1rem .8rem; margin: .6rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
thead th { border-bottom: 1.5px solid var(--ink); font-weight: 600; }
.numbers td, .numbers th { text-align: right; white-space: nowrap; }
.numbers thead th { white-space: normal; vertical-align: bottom; }
.scores td:first-child { text-align: left; }
.facts th { font-weight: 400; color: var(--quiet); white-space: nowrap; } .facts td { overflow-wrap: anywhere; }
.confirmed { color: var(--good); } .contradicted { color: var(--bad); font-weight: 600; } .cannot-tell { color: var(--open); }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1.5rem; align-items: start; }
figure { margin: 0; break-inside: avoid; } figure svg { width: 100%; height: auto; max-height: 26rem; }
figcaption { font-size: .85rem; line-height: 1.4; }
summary { cursor: pointer; }
@media print {
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  .wide { overflow: visible; }
  tr, li, p { break-inside: avoid; }
  h2 { break-after: avoid; } .numbers { font-size: 8.5pt; } th, td { padding: .15rem .4rem; }
}
"""
