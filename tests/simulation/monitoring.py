"""How soon the monitor finds drift, and how seldom it finds none: the table and the figure of docs/online.md.

    cd tests; python -m simulation.monitoring            print the table
    cd tests; python -m simulation.monitoring --write    put it and the figure into docs/, too

fastbin must be installed (the figure needs Matplotlib). Takes some minutes at the default 200 runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from simulation.pages import DOCS, options, write

import fastbin as fb
from fastbin import theory
from fastbin.online import CalibrationMonitor

Float64s = npt.NDArray[np.float64]

PAGE, FIGURE = DOCS / "online.md", DOCS / "online-delay.svg"

# Ten bins of equal mass whose values are their midpoints.
EDGES: Float64s = np.arange(1, 10) / 10
VALUES: Float64s = np.arange(10) / 10 + 0.05
ALPHA, N = 0.05, 20_000


def one_bin(by: float) -> Callable[[Float64s], Float64s]:
    return lambda values: np.where(np.arange(10) == 4, values + by, values)


def all_bins(by: float) -> Callable[[Float64s], Float64s]:
    """Up, but for the last bins, whose rates cannot rise by so much: they fall."""
    return lambda values: np.where(values + by < 1.0, values + by, values - by)


def all_odds(slope: float, by: float) -> Callable[[Float64s], Float64s]:
    """The log odds of what is served, times `slope`, plus `by`."""
    return lambda values: 1.0 / (1.0 + np.exp(-(slope * np.log(values / (1.0 - values)) + by)))


DRIFTS: dict[str, Callable[[Float64s], Float64s]] = {
    "none": lambda values: values,
    "one bin by 0.05": one_bin(0.05),
    "one bin by 0.10": one_bin(0.10),
    "one bin by 0.20": one_bin(0.20),
    "all bins by 0.02": all_bins(0.02),
    "all bins by 0.05": all_bins(0.05),
    "all bins by 0.10": all_bins(0.10),
    "all log odds by 0.25": all_odds(1.0, 0.25),
    "all log odds times 0.7": all_odds(0.7, 0.0),
}
TOLERANCES = (0.0, 0.03)


def alarms(rates: Float64s, tolerance: float, runs: int, n: int, seed: int, before: int = 0) -> list[int | None]:
    """At which outcome each of `runs` monitors raised its alarm; `before` outcomes come without drift, and do not count."""
    model = fb.BinnedModel.from_parts(edges=EDGES, values=VALUES, scheme="explicit")
    rng, found = np.random.default_rng(seed), []
    for _ in range(runs):
        monitor = CalibrationMonitor(model, alpha=ALPHA, tolerance=tolerance)
        scores = rng.random(before + n)
        bins = np.searchsorted(EDGES, scores, side="right")
        truth = np.where(np.arange(before + n) < before, VALUES[bins], rates[bins])
        labels = rng.random(before + n) < truth
        for start in range(0, before + n, 250):  # where an alarm is raised does not depend on it
            if monitor.update(scores[start : start + 250], labels[start : start + 250]):
                break
        found.append(None if monitor.alarm_at is None else monitor.alarm_at - before)
    return found


def _quantile(found: list[int | None], share: float) -> str:
    """A quantile of the delays; those that did not end count as infinite."""
    delays = sorted(math.inf if at is None else at for at in found)
    value = delays[min(len(delays) - 1, math.ceil(share * len(delays)) - 1)]
    return "—" if math.isinf(value) else f"{value:,.0f}"


def delays(runs: int) -> tuple[str, dict[str, dict[float, list[int | None]]]]:
    """The table, and what it was made of: for each drift and tolerance the delays."""
    lines = ["| drift | tolerance | alarms | median delay | 9 of 10 within |", "| --- | --- | --- | --- | --- |"]
    found: dict[str, dict[float, list[int | None]]] = {}
    for index, (name, drift) in enumerate(DRIFTS.items()):
        for tolerance in TOLERANCES:
            # No drift, at its hardest: every rate at the end of what is tolerated.
            rates, n_runs = (drift(VALUES), runs) if name != "none" else (VALUES + tolerance, 5 * runs)
            delay = alarms(rates, tolerance, n_runs, N, seed=100 + index)
            found.setdefault(name, {})[tolerance] = delay
            share = sum(at is not None for at in delay) / n_runs
            lines.append(f"| {name} | {tolerance:g} | {share:.3f} | {_quantile(delay, 0.5)} | {_quantile(delay, 0.9)} |")
    return "\n".join(lines), found


def half_widths(every: int = 1) -> str:
    """Half-widths of time-uniform intervals in one of ten bins, over streams of labels: each cell a mean over 20 streams.

    Intersected are those after each label, and past 1,000 labels after every so many.
    """
    from fastbin import intervals

    times = (100, 500, 1000, 5000, 20_000)
    looks = np.r_[:1000, 999 + every : max(times) : every]
    at, at_looks = np.array(times) - 1, np.searchsorted(looks, np.array(times) - 1)
    product, union = intervals.sidak(0.1, 10), intervals.bonferroni(0.1, 10)
    lines = [
        "| labels in the bin | Theorem 6 | stitched | beta-binomial | intersected | (Clopper-Pearson, one look) |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    widths = np.zeros((2, len(times), 5))
    for i, rate in enumerate((0.5, 0.05)):
        for seed in range(20):
            labels = (np.random.default_rng([seed, i]).random(max(times)) < rate).astype(np.int64)
            sums, counts = np.cumsum(labels), np.arange(1, max(times) + 1)
            means = np.concatenate([[0.5], sums[:-1] / counts[:-1]])
            variances = np.cumsum((labels - means) ** 2)
            at_all_times = intervals.beta_binomial(sums[looks], counts[looks], product)
            running = np.minimum.accumulate(at_all_times[:, 1]) - np.maximum.accumulate(at_all_times[:, 0])
            x, n, v = sums[at], counts[at], variances[at]
            found = (
                np.diff(theory.theorem6(x, n, v, union))[:, 0], np.diff(intervals.stitched(x, n, v, product))[:, 0],
                np.diff(at_all_times)[at_looks, 0], running[at_looks], np.diff(intervals.clopper_pearson(x, n, product))[:, 0],
            )  # fmt: skip
            widths[i] += np.stack(found, axis=1) / 2.0 / 20
    for row, t in enumerate(times):
        cells = (f"{half:.3f} ({rare:.3f})" for half, rare in zip(widths[0, row], widths[1, row], strict=True))
        lines.append(f"| {t:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(found: dict[str, dict[float, list[int | None]]]) -> None:
    """The share of monitors that have raised their alarm, against the outcomes since the drift."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "fastbin"  # the same file for the same data
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot as plt

    styles = {"one bin by 0.10": "--", "one bin by 0.20": "-", "all bins by 0.05": "--", "all bins by 0.10": "-"}
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.4), sharey=True, layout="constrained")
    for ax, tolerance in zip(axes, TOLERANCES, strict=True):
        for name in ("none", *styles):
            delay = sorted(at for at in found[name][tolerance] if at is not None)
            share = np.arange(len(delay) + 1) / len(found[name][tolerance])
            colour = "0.5" if name == "none" else "#0072B2" if name.startswith("one") else "#D55E00"
            look = {"color": colour, "linestyle": styles.get(name, ":"), "label": "no drift" if name == "none" else name}
            ax.step([1, *delay, N], [*share, share[-1]], where="post", **look)
        ax.axhline(ALPHA, color="0.8", linewidth=0.8, zorder=0)
        ax.set(xscale="log", xlim=(30, N), ylim=(0, 1.02), xlabel="outcomes since the drift", title=f"tolerance {tolerance:g}")
    axes[0].set_ylabel("alarms raised")
    axes[1].legend(loc="upper left", fontsize=8, frameon=False)
    figure.savefig(FIGURE, metadata={"Date": None, "Creator": f"fastbin {fb.__version__}"})


def main() -> None:
    asked = options(__doc__, "runs", 200)
    widths = half_widths()
    table, found = delays(asked.runs)
    print(widths, table, sep="\n\n")
    if asked.write:
        write(PAGE, {"half-widths": widths, "delays": table})
        draw(found)


if __name__ == "__main__":
    main()
