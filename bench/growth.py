"""How cost grows with n, B and m, measured and plotted: ``python bench/growth.py bench/results/growth.png``, half a minute.

Per row, so that a straight level line is a cost that grows with the rows and no faster.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cases import rows
from machine import machine
from measure import Contestant, paired

import fastbin as fb

N = 10**6
N_BINS = 100
SIZES = [10**k for k in range(3, 8)]
BINS = [2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
BATCHES = [10**k for k in range(8)]

MARKERS, COLOURS = "os^", ("#0072B2", "#D55E00", "#009E73")  # Okabe and Ito's

# By contestant: nanoseconds per row, at each size.
Costs = dict[str, list[float]]


def _costs(
    sizes: Sequence[int], contestants_of: Callable[[int], dict[str, Contestant]], rows_of: Callable[[int], int]
) -> Costs:
    """All contestants of one size run in turn."""
    costs: Costs = {}
    for size in sizes:
        contestants = contestants_of(size)
        timed = paired(contestants, seconds=0.5, min_rounds=5)
        for name in contestants:
            costs.setdefault(name, []).append(1e9 * timed.seconds(name) / rows_of(size))
    return costs


def _fits(n: int) -> dict[str, Contestant]:
    """Fits of n samples of several shapes, and what NumPy does with the scores alone."""
    fit = fb.UniformMassBinning(N_BINS).fit
    scores, _ = uniform = rows("uniform", n)
    return {
        "fit, uniform scores": partial(fit, *uniform),
        "fit, Beta(.5, 5)": partial(fit, *rows("Beta(.5, 5)", n)),
        "fit, 100 values": partial(fit, *rows("100 values", n)),
        "np.sort": partial(np.sort, scores),
        "np.sum": partial(np.sum, scores),
    }


def _bins(n_bins: int) -> dict[str, Contestant]:
    """A fit into these bins, and scoring with it."""
    samples = rows("uniform", N)
    calibrator = fb.UniformMassBinning(n_bins)
    model = calibrator.fit(*samples).model_
    queries = np.random.default_rng(1).random(N)
    return {
        "fit": partial(calibrator.fit, *samples),
        "predict": partial(model.predict, queries, out=np.empty(N)),
        "np.searchsorted": partial(np.searchsorted, model.edges, queries),
    }


def _batches(m: int) -> dict[str, Contestant]:
    """Scoring this many at a time."""
    model = fb.UniformMassBinning(N_BINS).fit(*rows("uniform", N)).model_
    queries, out = np.random.default_rng(1).random(m), np.empty(m)
    return {
        "predict": partial(model.predict, queries, out=out),
        "np.searchsorted": partial(np.searchsorted, model.edges, queries),
        "np.copyto": partial(np.copyto, out, queries),
    }


def _draw(axes: Any, sizes: Sequence[int], costs: Costs, title: str, label: str) -> None:
    """What fastbin does in solid lines, what it is compared with in grey dashes."""
    ours, theirs = iter(zip(MARKERS, COLOURS, strict=True)), iter(("--", ":"))
    for name, cost in costs.items():
        if name.startswith("np."):
            axes.loglog(sizes, cost, next(theirs), color="0.45", label=name)
        else:
            marker, colour = next(ours)
            axes.loglog(sizes, cost, f"{marker}-", color=colour, markersize=5, label=name)
    axes.set(title=title, xlabel=label, ylabel="ns per row")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, frameon=False, fontsize="small")


def plot_growth(target: Path) -> None:
    """Measure now, and write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (by_n, by_bins, by_m) = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
    _draw(by_n, SIZES, _costs(SIZES, _fits, lambda n: n), f"fit, B = {N_BINS}", "samples n")
    _draw(by_bins, BINS, _costs(BINS, _bins, lambda _: N), "fit and predict, n = m = 1e6", "bins B")
    _draw(by_m, BATCHES, _costs(BATCHES, _batches, lambda m: m), f"predict, B = {N_BINS}", "scores m in a call")
    figure.supxlabel(machine(), fontsize="x-small", color="0.45")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path, metavar="FILE", help="the picture to write, .png or .svg")
    plot_growth(parser.parse_args().target)


if __name__ == "__main__":
    main()
