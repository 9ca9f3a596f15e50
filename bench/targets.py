"""Everything that is asked, beside what was reached: ``python bench/targets.py bench/results/run-*.json``.

One line per figure of which something is asked in cases.py, in its order, with a column per saved run; figures that no run has
measured are listed too. ``--all`` adds the figures of which nothing is asked.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cases import TARGETS
from figures import Asked, Quantity, Results

HEADINGS = ("case", "figure", "asked")


def aligned(table: Sequence[Sequence[str]]) -> str:
    """A Markdown table that is also readable as text; the first line is its heading."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rule = ["-" * width for width in widths]
    lines = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in (table[0], rule, *table[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _verdict(asked: Asked | None, values: list[float]) -> str:
    if asked is None or not values:
        return ""
    met = sum(map(asked.is_met, values))
    return "yes" if met == len(values) else "no" if met == 0 else f"in {met} of {len(values)}"


def _line(case: str, quantity: Quantity, asked: Asked | None, runs: list[Results]) -> list[str]:
    values = [run.value(case, quantity) for run in runs]
    shown = ["not measured" if value is None else quantity.show(value) for value in values]
    verdict = _verdict(asked, [value for value in values if value is not None])
    return [case, quantity.name, "" if asked is None else asked.show(quantity), *shown, verdict]


def report(runs: dict[str, Results], with_all: bool = False) -> str:
    """The table of named runs, with a line above and a summary below."""
    asked_of = dict(TARGETS)
    keys: list[tuple[str, Quantity]] = list(asked_of)
    if with_all:
        keys += dict.fromkeys(key for run in runs.values() for key in run.figures if key not in asked_of)
    lines = [_line(*key, asked_of.get(key), list(runs.values())) for key in keys]
    verdicts = [line[-1] for line in lines[: len(asked_of)]]
    machines = dict.fromkeys(run.machine for run in runs.values())
    summary = (
        f"{len(verdicts)} asked: {verdicts.count('yes')} met in every run that measured them, {verdicts.count('no')} in none, "
        f"{sum(verdict.startswith('in') for verdict in verdicts)} in some; {verdicts.count('')} not measured."
    )
    return "\n".join([*machines, "", aligned([[*HEADINGS, *runs, "met"], *lines]), "", summary])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("saved", type=Path, nargs="+", metavar="FILE", help="written by pytest bench --save FILE, one per run")
    parser.add_argument("--all", action="store_true", help="also the figures of which nothing is asked")
    options = parser.parse_args()
    print(report({path.stem: Results.load(path) for path in options.saved}, options.all))


if __name__ == "__main__":
    main()
