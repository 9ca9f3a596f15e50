"""From cells to one line for each method: every loss beside the raw score's in the same cell, then means over cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench.calarena.cells import Cell
from bench.calarena.coverage import Coverage
from bench.calarena.measures import TEST_LEVEL
from bench.calarena.methods import ALPHA, BASELINE, DEFAULT, OURS, RAW
from bench.calarena.score_sets import ALL, SIZES, chooses_constants

__all__ = [
    "APART",
    "FROM",
    "Line",
    "claims",
    "few_table",
    "losses_table",
    "matrices_table",
    "promises_table",
    "summarise",
    "winrates",
    "winrates_table",
]

FROM = 1000  # means are over cells with at least so many rows for calibration
# Its scores pile up at 0 and 1 so far that bins multiply its losses by several: no mean should hang on one set.
APART = "cifar10 animal"
EPSILON_SIZES = (500, 1000, 2000, 8000)


@dataclass(frozen=True)
class Line:
    """One method over all cells. Ratios are to the raw score's; None where there is no such cell."""

    method: str
    library: str
    n_cells: int  # with n >= FROM, the set apart left out: those of the means
    n_missing: int  # of these, cells that the method could not do
    log_loss: float | None
    brier: float | None
    ece: float | None  # a mean, no ratio
    binned_ece: float | None  # a mean, no ratio
    worst_log_loss: float | None
    worst_brier: float | None
    family_log_loss: float | None  # the mean of the families' means: no family counts for more because it has more sets
    family_brier: float | None
    few_log_loss: float | None  # cells with n < FROM
    few_brier: float | None
    apart_log_loss: float | None  # the set apart, n >= FROM
    apart_brier: float | None
    n_duels: int  # all cells that both could do
    wins_log_loss: int  # of these, better than UMD 10
    wins_brier: int
    fit_ms: float | None  # median at n = 2000
    predict_ns: float | None  # median a score
    epsilons: dict[int, float]  # by n, means over sets
    n_promises: int
    n_contradicted: int
    coverage: float | None  # simulated: the share over all populations
    worst_coverage: float | None  # the population and n where it is lowest
    n_repetitions: int
    n_raised: int  # simulated fits that raised

    @property
    def failures(self) -> str:
        """How much of the main cells it did."""
        return f"{self.n_cells - self.n_missing}/{self.n_cells}"


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _family_mean(cells: Sequence[Cell], values: Sequence[float]) -> float | None:
    """The mean over families of the mean over the cells of each."""
    by_family: dict[str, list[float]] = {}
    for cell, value in zip(cells, values, strict=True):
        by_family.setdefault(cell.family, []).append(value)
    return _mean([float(np.mean(own)) for own in by_family.values()])


def _largest(values: Sequence[float]) -> float | None:
    return max(values, default=None)


class _Cells:
    """Cells by set, size and method."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.by_key = {cell.key: cell for cell in cells}

    def ratios(self, cells: Sequence[Cell], loss: str) -> list[float]:
        """The loss of each cell over the raw score's in the same place."""
        raw = [getattr(self.by_key[cell.set, cell.n, RAW], loss) for cell in cells]
        return [getattr(cell, loss) / own for cell, own in zip(cells, raw, strict=True)]

    def wins(self, cells: Sequence[Cell], loss: str) -> int:
        """In how many it is smaller than that of UMD 10."""
        return sum(getattr(cell, loss) < getattr(self.by_key[cell.set, cell.n, BASELINE], loss) for cell in cells)

    def has_baseline(self, cell: Cell) -> bool:
        return (cell.set, cell.n, BASELINE) in self.by_key and not self.by_key[cell.set, cell.n, BASELINE].failure


def _line(cells: _Cells, own: Sequence[Cell], coverages: Sequence[Coverage]) -> Line:
    done = [cell for cell in own if not cell.failure]
    main, few, apart = (
        [cell for cell in done if belongs(cell)]
        for belongs in (_is_main, lambda cell: cell.n < FROM, lambda cell: cell.n >= FROM and cell.set == APART)
    )
    duels = [cell for cell in done if cells.has_baseline(cell)]
    log_losses, briers = cells.ratios(main, "log_loss"), cells.ratios(main, "brier")
    promised = [cell for cell in done if cell.epsilon is not None]
    repetitions = sum(coverage.repetitions for coverage in coverages)
    return Line(
        method=own[0].method,
        library=own[0].library,
        n_cells=sum(_is_main(cell) for cell in own),
        n_missing=sum(_is_main(cell) and bool(cell.failure) for cell in own),
        log_loss=_mean(log_losses),
        brier=_mean(briers),
        ece=_mean([cell.ece for cell in main if cell.ece is not None]),
        binned_ece=_mean([cell.binned_ece for cell in main if cell.binned_ece is not None]),
        worst_log_loss=_largest(log_losses),
        worst_brier=_largest(briers),
        family_log_loss=_family_mean(main, log_losses),
        family_brier=_family_mean(main, briers),
        few_log_loss=_mean(cells.ratios(few, "log_loss")),
        few_brier=_mean(cells.ratios(few, "brier")),
        apart_log_loss=_mean(cells.ratios(apart, "log_loss")),
        apart_brier=_mean(cells.ratios(apart, "brier")),
        n_duels=len(duels),
        wins_log_loss=cells.wins(duels, "log_loss"),
        wins_brier=cells.wins(duels, "brier"),
        fit_ms=_median([cell.fit_ms for cell in done if cell.n == 2000]),
        predict_ns=_median([cell.predict_ns for cell in done]),
        epsilons={
            n: float(np.mean(found))
            for n in EPSILON_SIZES
            if (found := [cell.epsilon for cell in promised if cell.n == n and cell.epsilon is not None])
        },
        n_promises=sum(cell.n_promises for cell in done),
        n_contradicted=sum(cell.n_contradicted for cell in done),
        coverage=sum(coverage.kept for coverage in coverages) / repetitions if repetitions else None,
        worst_coverage=min((coverage.share for coverage in coverages), default=None),
        n_repetitions=repetitions,
        n_raised=sum(coverage.raised for coverage in coverages),
    )


def _is_main(cell: Cell) -> bool:
    return cell.n >= FROM and cell.set != APART


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def summarise(cells: Sequence[Cell], coverages: Sequence[Coverage] = ()) -> list[Line]:
    """One line for each method: those that did every cell by their log loss, then the others, whose means are over fewer."""
    indexed = _Cells(cells)
    methods = dict.fromkeys(cell.method for cell in cells)
    lines = [
        _line(
            indexed,
            [cell for cell in cells if cell.method == method],
            [coverage for coverage in coverages if coverage.method == method],
        )
        for method in methods
    ]
    return sorted(lines, key=lambda line: (line.n_missing > 0, np.inf if line.log_loss is None else line.log_loss))


# ------------------------------------------------------------------------------------------------- win rates


def winrates(cells: Sequence[Cell], loss: str, default: str = DEFAULT) -> dict[int, dict[str, float]]:
    """The board's own statistic, by n and method: in each cell the share of the other methods that are beaten, then means.

    Each of fastbin's methods meets those of other libraries alone, and these meet its `default`. Ties are losses. A method that
    could not do a cell is beaten by all that could and beats none. The mean is over the cells of a family, and then over
    families, which are the boards. "All" rows, whose number differs, come under `ALL`.
    """
    places: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        places.setdefault((cell.set, cell.n), []).append(cell)
    found: dict[int, dict[str, dict[str, list[float]]]] = {}
    for (_, n), rivals in places.items():
        values = {cell.method: np.inf if cell.failure else getattr(cell, loss) for cell in rivals}
        of_size = found.setdefault(_size(n), {})
        for cell in rivals:
            met = [values[rival.method] for rival in rivals if _meets(cell, rival, default)]
            share = sum(values[cell.method] < value for value in met) / max(1, len(met))
            of_size.setdefault(cell.method, {}).setdefault(cell.family, []).append(share)
    return {
        n: {method: float(np.mean([np.mean(own) for own in families.values()])) for method, families in methods.items()}
        for n, methods in found.items()
    }


def _meets(cell: Cell, rival: Cell, default: str) -> bool:
    return rival.method != cell.method and (rival.library != OURS or (cell.library != OURS and rival.method == default))


def _size(n: int) -> int:
    return n if n in SIZES else ALL


GROUPS: dict[str, Callable[[str], bool]] = {
    "chosen on": chooses_constants,
    "others": lambda name: not chooses_constants(name),
    "all": lambda name: True,
}


def few_table(cells: Sequence[Cell], method: str) -> str:
    """Means over sets of the losses of a method beside the raw score's below 1,000 rows, on both halves of the sets."""
    indexed = _Cells(cells)
    own = [cell for cell in cells if cell.method == method and cell.n in SIZES and cell.n < FROM and not cell.failure]
    sizes = sorted({cell.n for cell in own})
    rows = []
    for name, belongs in GROUPS.items():
        chosen = {n: [cell for cell in own if cell.n == n and belongs(cell.set)] for n in sizes}
        means = [_shown(_mean(indexed.ratios(chosen[n], loss)), 3) for loss in ("brier", "log_loss") for n in sizes]
        rows.append([name, str(len({cell.set for cell in own if belongs(cell.set)})), *means])
    heads = [f"{short} n={n}" for short in ("B", "ll") for n in sizes]
    return _aligned([[f"{method}, over raw", "sets", *heads], *rows], n_left=1)


def winrates_table(cells: Sequence[Cell]) -> str:
    """Win rates by Brier score and log loss at each n, the best at the least n first."""
    rates = [winrates(cells, loss) for loss in ("brier", "log_loss")]
    sizes = sorted(rates[0], key=lambda n: (n == ALL, n))
    methods = sorted(rates[0][sizes[0]], key=lambda method: -rates[0][sizes[0]][method])
    methods += sorted({cell.method for cell in cells} - set(methods))
    heads = [f"{short} n={'all' if n == ALL else n}" for short in ("B", "ll") for n in sizes]
    rows = [[method, *(_shown(of_loss[n].get(method), 3) for of_loss in rates for n in sizes)] for method in methods]
    return _aligned([["win rate", *heads], *rows], n_left=1)


# ------------------------------------------------------------------------------------------------- tables


def _shown(value: float | None, places: int = 4) -> str:
    return "-" if value is None else f"{value:.{places}f}"


def _aligned(rows: Sequence[Sequence[str]], n_left: int = 2) -> str:
    """Columns of equal width, the first ones to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column < n_left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def matrices_table(cells: Sequence[Cell], size: int, default: str) -> str:
    """Every method on the cells of one group of sizes: means of ratios to the raw score, by log loss.

    Below stand the methods that could not do every cell.
    """
    indexed = _Cells(cells)
    as_one = [replace(cell, set=f"{cell.set} {cell.n}", n=size) for cell in cells]
    rates = [winrates(as_one, loss, default)[_size(size)] for loss in ("log_loss", "brier")]
    rows = []
    for method in dict.fromkeys(cell.method for cell in cells):
        own = [cell for cell in cells if cell.method == method]
        done = [cell for cell in own if not cell.failure]
        log_losses, briers = indexed.ratios(done, "log_loss"), indexed.ratios(done, "brier")
        rows.append((len(done) < len(own), _mean(log_losses) or np.inf, [
            method, own[0].library, f"{len(done)}/{len(own)}",
            *(_shown(value) for value in (_mean(log_losses), _mean(briers))),
            *(_shown(value, 2) for value in (_largest(log_losses), _largest(briers))),
            _shown(_mean([cell.ece for cell in done if cell.ece is not None])),
            *(_shown(of_loss[method], 3) for of_loss in rates),
            _shown(_median([cell.fit_ms for cell in done]), 1),
        ]))  # fmt: skip
    heads = [
        f"n = {size:,}",
        "library",
        "cells",
        "log loss",
        "Brier",
        "worst ll",
        "worst B",
        "ECE top",
        "wins ll",
        "wins B",
        "fit ms",
    ]
    return _aligned([heads, *(row for *_, row in sorted(rows))])


LOSSES: dict[str, Callable[[Line], str]] = {
    "method": lambda line: line.method,
    "library": lambda line: line.library,
    "cells": lambda line: line.failures,
    "log loss": lambda line: _shown(line.log_loss),
    "Brier": lambda line: _shown(line.brier),
    "ll family": lambda line: _shown(line.family_log_loss),
    "B family": lambda line: _shown(line.family_brier),
    "worst ll": lambda line: _shown(line.worst_log_loss, 3),
    "worst B": lambda line: _shown(line.worst_brier, 3),
    "ECE": lambda line: _shown(line.ece),
    "binned": lambda line: _shown(line.binned_ece),
    "ll n<1000": lambda line: _shown(line.few_log_loss, 3),
    "B n<1000": lambda line: _shown(line.few_brier, 3),
    "ll animal": lambda line: _shown(line.apart_log_loss, 3),
    "B animal": lambda line: _shown(line.apart_brier, 3),
    "wins ll": lambda line: f"{line.wins_log_loss}/{line.n_duels}",
    "wins B": lambda line: f"{line.wins_brier}/{line.n_duels}",
    "fit ms": lambda line: _shown(line.fit_ms, 2),
    "ns/score": lambda line: _shown(line.predict_ns, 1),
}


def losses_table(lines: Sequence[Line]) -> str:
    """Every method; a rule stands above those that could not do every cell, whose means are over fewer cells."""
    rows = _aligned([list(LOSSES), *([show(line) for show in LOSSES.values()] for line in lines)]).splitlines()
    n_complete = sum(line.n_missing == 0 for line in lines)
    if n_complete < len(lines):
        rows.insert(1 + n_complete, "-" * len(rows[0]) + " not in every cell: means over fewer")
    return "\n".join(rows)


def limit(n_promises: int) -> float:
    """How often a promise kept at `ALPHA` may be contradicted: alpha, the test's own level, and 3 standard errors."""
    return ALPHA + TEST_LEVEL + 3.0 * float(np.sqrt(ALPHA * (1.0 - ALPHA) / n_promises))


def promises_table(lines: Sequence[Line]) -> str:
    """The methods that prove something; all others prove nothing."""
    head = [
        "method",
        "library",
        *(f"eps n={n}" for n in EPSILON_SIZES),
        "coverage",
        "worst",
        "fits",
        "raised",
        "contradicted",
        "of",
        "at most",
    ]
    rows = [
        [
            line.method,
            line.library,
            *(_shown(line.epsilons.get(n)) for n in EPSILON_SIZES),
            _shown(line.coverage, 3),
            _shown(line.worst_coverage, 3),
            str(line.n_repetitions),
            str(line.n_raised),
            _shown(line.n_contradicted / line.n_promises),
            str(line.n_promises),
            _shown(limit(line.n_promises)),
        ]
        for line in lines
        if line.n_promises
    ]
    return _aligned([head, *rows])


def claims(lines: Sequence[Line], method: str) -> list[tuple[str, bool]]:
    """What is asked of a method, each as a sentence with its numbers, and whether it is so."""
    by_name = {line.method: line for line in lines}
    if method not in by_name:
        return []
    own: Any = by_name[method]
    if own.log_loss is None or own.n_missing:
        return [(f"{method} did {own.failures} cells", False)]
    complete = [line for line in lines if not line.n_missing and line.log_loss is not None]
    best_log, best_brier = (min((getattr(line, loss), line.method) for line in complete) for loss in ("log_loss", "brier"))
    shares = [own.wins_log_loss / max(own.n_duels, 1), own.wins_brier / max(own.n_duels, 1)]
    contradicted = own.n_contradicted / max(own.n_promises, 1)
    return [
        (
            f"log loss {own.log_loss:.4f} is the smallest; the smallest is {best_log[0]:.4f} ({best_log[1]})",
            own.method == best_log[1],
        ),
        (
            f"Brier {own.brier:.4f} is at most 1.002 times the smallest, {best_brier[0]:.4f} ({best_brier[1]})",
            own.brier <= 1.002 * best_brier[0],
        ),
        (f"beats {BASELINE} in 95 % of cells: log loss {shares[0]:.1%}, Brier {shares[1]:.1%}", min(shares) >= 0.95),
        (
            f"held-out rows contradict {contradicted:.4f} of its promises, at most {limit(max(own.n_promises, 1)):.4f}",
            own.n_promises > 0 and contradicted <= limit(own.n_promises),
        ),
    ]
