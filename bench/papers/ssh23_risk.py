"""Sun, Song & Hero 2023, Figures 1, 2 and 4: the recalibration risk of uniform-mass binning, ours beside the paper's.

    python bench/papers/ssh23_risk.py --figures /tmp > bench/papers/results/ssh23_risk.txt

Samples of D(0.5), n from 100 to 10,000,000, are binned by "umb", and the risks of the fitted function are computed by
quadrature (`gaussians.py`), so the only noise is that of the samples. Minutes, most of them for the largest n.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from recalibration import ALPHA, FIGURE_1_BINS, SIZES, SMOOTHNESS, Risks, bins_around_the_best, draws_for, risks_at
from ssh23_observations import observe
from ssh23_table1 import SOURCE, TARGET, Realisation, realise

import fastbin as fb
from fastbin.theory import risk_bound, risk_n_bins, shift_probabilities

# ------------------------------------------------------------------------------------------------- as text


def print_figure_1(risks: Sequence[Risks]) -> None:
    print("Figure 1: mean risks, and the bounds of Theorem 1 at delta = 0.1 (2 / B; and 8 K^2 / B^2 with K = 18.52)\n")
    print(f"{'n':>9} {'B':>4} {'R_cal':>10} {'bound':>9} {'R_sha':>10} {'2 / B':>8} {'8K^2/B^2':>9} {'R':>10}")
    for at in risks:
        for place, b in enumerate(at.n_bins.tolist()):
            if b not in (6, 10, 31, 100):
                continue
            bound = risk_bound(at.n, b, ALPHA, SMOOTHNESS)
            cal, sha = at.calibration[:, place].mean(), at.sharpness[:, place].mean()
            numbers = (
                f"{cal:10.3e} {bound.calibration:9.3g} {sha:10.3e} {2.0 / b:8.3f} {bound.sharpness:9.3g} {cal + sha:10.3e}"
            )
            print(f"{at.n:9} {b:4} {numbers}")
    print()


def print_figure_2(risks: Sequence[Risks]) -> None:
    print("Figure 2: the number of bins of the least mean risk, and of the least bound\n")
    print(f"{'n':>9} {'B*':>8} {'B*/n^(1/3)':>11} {'R(B*)':>10} {'of the bound':>13} {'R(n^(1/3))':>11}")
    for at in risks:
        best, least = at.best()
        root = at.n ** (1.0 / 3.0)
        nearest = int(np.argmin(np.abs(np.log(at.n_bins / root))))
        bound = risk_n_bins(at.n, ALPHA, SMOOTHNESS)
        numbers = f"{best:8.1f} {best / root:11.2f} {least:10.3e} {bound:13} {at.mean[nearest]:11.3e}"
        print(f"{at.n:9} {numbers}  (B = {at.n_bins[nearest]})")
    print()


# ------------------------------------------------------------------------------------------------- as figures

# Colours that the colour-blind tell apart (Okabe & Ito), with dashes for print.
LOOKS = (("#000000", "-"), ("#56B4E9", (0, (3, 1))), ("#D55E00", "-"), ("#0072B2", (0, (5, 1.5))), ("#009E73", (0, (1.2, 1.2))))


def draw_figure_1(risks: Sequence[Risks], path: Path) -> None:
    import matplotlib.pyplot as plt

    from fastbin.plots import risk_plot

    fig, axes = plt.subplots(1, 3, figsize=(11.5, 3.5), layout="constrained", sharey=True)
    for ax, n in zip(axes, (1000, 100_000, 10_000_000), strict=True):
        at = next(at for at in risks if at.n == n)
        bounds = [risk_bound(n, b, ALPHA).total for b in at.n_bins.tolist()]
        risk_plot(at.n_bins, at.calibration.mean(axis=0), at.sharpness.mean(axis=0), bounds=bounds, ax=ax)
        ax.set_title(f"n = {n:,}", fontsize="medium")
        ax.set_ylim(1e-8, 20.0)
        if n > 1000:
            ax.get_legend().remove()
    fig.savefig(path, dpi=110, metadata={"Software": f"fastbin {fb.__version__}"})
    plt.close(fig)


def draw_figure_2(risks: Sequence[Risks], path: Path) -> None:
    import matplotlib.pyplot as plt

    sizes = np.array([at.n for at in risks])
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
    left.loglog(sizes, [at.best()[0] for at in risks], "o-", color="#0072B2", label="least risk")
    left.loglog(
        sizes, [risk_n_bins(n, ALPHA, SMOOTHNESS) for n in sizes], "s--", color="#D55E00", label="least bound, K = 18.5"
    )
    left.loglog(sizes, sizes ** (1.0 / 3.0), ":", color="#6E6E6E", label="n^(1/3)")
    left.set(xlabel="n", ylabel="number of bins")
    left.legend(frameon=False, fontsize="small")
    for index, at in enumerate(risks):
        shade = f"{0.75 - 0.7 * index / len(risks):.2f}"
        right.loglog(at.n_bins, at.mean, color=shade, linewidth=1.3)
        right.plot(*at.best(), "o", color="#0072B2", markersize=5)
        right.annotate(
            f"n = {at.n:,}", (at.n_bins[-1], at.mean[-1]), xytext=(4, -3), textcoords="offset points", fontsize="x-small"
        )
    right.set(xlabel="number of bins", ylabel="risk")
    right.margins(x=0.22)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#E3E3E3", linewidth=0.6)
    fig.savefig(path, dpi=110, metadata={"Software": f"fastbin {fb.__version__}"})
    plt.close(fig)


def draw_figure_4(run: Realisation, path: Path) -> None:
    import matplotlib.pyplot as plt

    z = np.linspace(1e-4, 1.0 - 1e-4, 4001)
    x = np.log(z / (1.0 - z))
    source, target = run.rates
    curves = {"h*": TARGET.eta(z), "LABEL-SHIFT": shift_probabilities(z, source_rate=source, target_rate=target)}
    curves |= {
        name: np.append(values, values[-1])[np.searchsorted(edges, z, side="left")]
        for name, (edges, values) in (("COMPOSITE", run.composite), ("SOURCE", run.source), ("TARGET", run.target))
    }
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.5), layout="constrained")
    for (name, curve), (colour, dashes) in zip(curves.items(), LOOKS, strict=True):
        left.plot(z, curve, color=colour, linestyle=dashes, linewidth=2.2 if name == "h*" else 1.4, label=name)
    left.set(xlabel="score", ylabel="probability on D(0.1)")
    left.legend(frameon=False, fontsize="small")
    for name, family, (colour, dashes) in (("D(0.5)", SOURCE, LOOKS[3]), ("D(0.1)", TARGET, LOOKS[2])):
        normal = [np.exp(-0.5 * (x - mean) ** 2) / np.sqrt(2.0 * np.pi) for mean in (2.0, -2.0)]
        density = (family.rate * normal[0] + (1.0 - family.rate) * normal[1]) / (z * (1.0 - z))
        right.plot(z, density, color=colour, linestyle=dashes, label=name)
    right.set(xlabel="score", ylabel="density", yscale="log", ylim=(1e-2, 30.0))
    right.legend(frameon=False, fontsize="small")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#E3E3E3", linewidth=0.6)
    fig.savefig(path, dpi=110, metadata={"Software": f"fastbin {fb.__version__}"})
    plt.close(fig)


def run(n_rows: int, sizes: Sequence[int] = SIZES) -> tuple[list[Risks], list[Risks]]:
    """The risks on the grid of Figure 1 (where n >= 2 B), and around the best number of bins for Figure 2."""
    grid, around = [], []
    for n in sizes:
        fixed = [b for b in FIGURE_1_BINS if 2 * b <= n]
        # Few bins make a noisy calibration risk, and Figure 1 looks at few.
        grid.append(risks_at(n, fixed, draws_for(n, n_rows, least=10), seed=1))
        around.append(risks_at(n, bins_around_the_best(n), draws_for(n, n_rows, least=2), seed=2))
    return grid, around


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000, help="samples for each n and figure (default: %(default)s)")
    parser.add_argument("--figures", type=Path, help="a folder for the figures, as PNG")
    arguments = parser.parse_args()

    started = time.perf_counter()
    grid, around = run(arguments.rows)
    print(f"Sun, Song & Hero 2023, Figures 1, 2 and 4 (fastbin {fb.__version__}, NumPy {np.__version__})\n")
    print_figure_1(grid)
    print_figure_2(around)
    print("What the paper observes\n")
    for observation in observe(grid, around, [realise(seed, 9, 4) for seed in range(100)]):
        print(f"{observation}\n")
    print(f"{time.perf_counter() - started:.0f} seconds", file=sys.stderr)
    if arguments.figures is not None:
        draw_figure_1(grid, arguments.figures / "ssh23_figure1.png")
        draw_figure_2(around, arguments.figures / "ssh23_figure2.png")
        draw_figure_4(realise(0, 9, 4), arguments.figures / "ssh23_figure4.png")


if __name__ == "__main__":
    main()
