"""Gupta & Ramdas 2021 on the CREDIT data: Figures 1(b) and 3 to 6, and what the text says of them, ours beside the paper's.

    python bench/papers/gr21_credit.py --figures /tmp > bench/papers/results/gr21_credit.txt

The paper shows one random split of the rows; its curves move by several hundredths between splits, so this takes ten, with 100
draws of calibration and test rows each. Under two minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from credit import METHODS, N_BINS, Found, Plan, Results, check_umd, default_path, read_credit, score_credit, study
from gr21_observations import observe

import fastbin as fb
from fastbin.assess import CertificateCheck, promised_validity

PLAN: Plan = {
    **dict.fromkeys((500, 2000, 4000, 10_000), ("UMD", "UMS")),
    **dict.fromkeys((1000, 3000, 5000, 7000), METHODS),
}
N_CHECKS = 10  # certificates a split and n that are tested
USUAL, FEWER = (10_000, 5000), (14_000, 1000)  # rows for logistic regression and for Platt scaling; the others are split C

# V(0.05) and V(0.1) that the text of the paper gives; "nearly" and "achieves" are not numbers and stand in the observations.
PAPER = {("UMS", 1000): "0.63", ("UMD", 1000): "0.79"}


Checks = list[tuple[int, CertificateCheck]]


def one_split(seed: int, path: Path, n_draws: int, plan: Plan) -> tuple[Found, Found, Checks]:
    """One random split of the rows: the curves of Figures 1 and 3 to 5, those of Figure 6, and tests of certificates."""
    features, labels = read_credit(path)
    scored = score_credit(features, labels, seed, USUAL)
    usual = study(scored, plan, n_draws, seed)
    fewer = study(score_credit(features, labels, seed, FEWER), {1000: METHODS}, n_draws, seed)
    sizes = [n for n, methods in plan.items() if methods == METHODS]
    return usual, fewer, check_umd(scored, sizes, min(n_draws, N_CHECKS), seed)


def run(path: Path, n_splits: int, n_draws: int, n_workers: int, plan: Plan = PLAN) -> tuple[Results, Results, Checks]:
    """Both studies and the tests over all base splits."""
    job = partial(one_split, path=path, n_draws=n_draws, plan=plan)
    if n_workers == 1:
        found = [job(seed) for seed in range(n_splits)]
    else:
        with ProcessPoolExecutor(n_workers) as pool:
            found = list(pool.map(job, range(n_splits)))
    usual, fewer, checks = zip(*found, strict=True)
    return Results(usual), Results(fewer), [check for own in checks for check in own]


# ------------------------------------------------------------------------------------------------- as text


def cell(results: Results, method: str, n: int, epsilon: float, *, conditional: bool = False) -> str:
    """The mean over all base splits and the range of their means."""
    low, high = results.span(method, n, epsilon, conditional=conditional)
    return f"{results.validity(method, n, epsilon, conditional=conditional):.3f} [{low:.3f}, {high:.3f}]"


def print_figure_1(results: Results) -> None:
    print("Figure 1(b): validity, mean over all draws [smallest, largest mean of a base split]\n")
    print(f"{'n':>6}  {'method':6}  {'V(0.05)':>22}  {'paper':>5}  {'V(0.1)':>22}")
    for n in results.sizes:
        for method in ("UMS", "UMD"):
            paper = PAPER.get((method, n), "")
            print(f"{n:6}  {method:6}  {cell(results, method, n, 0.05):>22}  {paper:>5}  {cell(results, method, n, 0.1):>22}")
    print()


def print_comparison(title: str, results: Results, sizes: Sequence[int]) -> None:
    print(f"{title}\n")
    head = ("V(0.02)", "V(0.05)", "V(0.1)", "conditional V(0.05)", "conditional V(0.1)")
    print(f"{'n':>6}  {'method':16}" + "".join(f"{name:>22}" for name in head))
    for n in sizes:
        for method in METHODS:
            cells = [cell(results, method, n, epsilon) for epsilon in (0.02, 0.05, 0.1)]
            cells += [cell(results, method, n, epsilon, conditional=True) for epsilon in (0.05, 0.1)]
            print(f"{n:6}  {method:16}" + "".join(f"{text:>22}" for text in cells))
        for name, bound in (("Theorem 4", "hoeffding"), ("exact promise", "a-priori")):
            promised = promised_validity((0.02, 0.05, 0.1), n, N_BINS, bound=bound)
            together = promised_validity((0.05, 0.1), n, N_BINS, kind="conditional", bound=bound)
            print(f"{n:6}  {name:16}" + "".join(f"{value:22.3f}" for value in (*promised, *together)))
    print()


def print_checks(checks: Checks) -> None:
    print("The test of UMD's own certificates (conditional, alpha 0.1) by 5,000 test rows, at level 0.05\n")
    head = ("certificates", "confirmed", "not contradicted", "contradicted", "rows that would do (median)")
    print(f"{'n':>6}" + "".join(f"{name:>{max(14, len(name) + 2)}}" for name in head))
    for n in sorted({n for n, _ in checks}):
        own = [check for size, check in checks if size == n]
        verdicts = Counter(check.verdict for check in own)
        counts = (len(own), verdicts["confirmed"], verdicts["not contradicted"], verdicts["contradicted"])
        needed = float(np.median([check.samples_to_confirm for check in own]))
        print(f"{n:6}" + "".join(f"{count:14}" for count in counts) + f"{needed:29,.0f}")
    print()


# ------------------------------------------------------------------------------------------------- as figures


def draw_figure_1(results: Results, path: Path) -> None:
    import matplotlib.pyplot as plt

    from fastbin.plots import validity_plot

    fig, axes = plt.subplots(1, 2, figsize=(9.2, 3.4), layout="constrained", sharey=True)
    for ax, method in zip(axes, ("UMS", "UMD"), strict=True):
        curves = {f"n = {n:,}": results.curve(method, n) for n in results.sizes if n in (500, 1000, 2000, 4000, 10_000)}
        validity_plot(curves, max_epsilon=0.15, ax=ax)
        ax.set_title(f"{method}, 10 bins, CREDIT", fontsize="medium")
    fig.savefig(path, dpi=110, metadata={"Software": f"fastbin {fb.__version__}"})
    plt.close(fig)


def draw_comparison(results: Results, sizes: Sequence[int], path: Path) -> None:
    import matplotlib.pyplot as plt

    from fastbin.plots import validity_plot

    fig, axes = plt.subplots(2, len(sizes), figsize=(3.7 * len(sizes), 6.2), layout="constrained", squeeze=False)
    for column, n in enumerate(sizes):
        for row, conditional in enumerate((False, True)):
            ax = axes[row, column]
            curves = {method: results.curve(method, n, conditional=conditional) for method in METHODS}
            validity_plot(
                curves, n_samples=n, n_bins=N_BINS, kind="conditional" if conditional else "marginal",
                bound="hoeffding", max_epsilon=0.3 if conditional else 0.15, ax=ax,
            )  # fmt: skip
            ax.set_title(f"n = {n:,}", fontsize="medium")
            if (row, column) != (0, len(sizes) - 1):  # the legend stands where the curves leave room
                ax.get_legend().remove()
    fig.savefig(path, dpi=110, metadata={"Software": f"fastbin {fb.__version__}"})
    plt.close(fig)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=default_path(), help="the CREDIT data (default: %(default)s)")
    parser.add_argument("--splits", type=int, default=10, help="random splits of the rows (default: %(default)s)")
    parser.add_argument("--draws", type=int, default=100, help="draws of rows a split (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes (default: %(default)s)")
    parser.add_argument("--figures", type=Path, help="a folder for the figures, as PNG")
    arguments = parser.parse_args()

    started = time.perf_counter()
    usual, fewer, checks = run(arguments.data, arguments.splits, arguments.draws, arguments.workers)
    seconds = time.perf_counter() - started
    print(f"Gupta & Ramdas 2021 on CREDIT (fastbin {fb.__version__}, NumPy {np.__version__})")
    print(f"{arguments.splits} base splits, {arguments.draws} draws each, {N_BINS} bins\n")
    print_figure_1(usual)
    print_comparison("Figures 3 to 5", usual, (1000, 3000, 5000, 7000))
    print_comparison("Figure 6: 14,000 rows for logistic regression, 1,000 for Platt scaling", fewer, (1000,))
    print_checks(checks)
    print("What the paper observes\n")
    for observation in observe(usual, fewer):
        print(f"{observation}\n")
    print(f"{seconds:.0f} seconds with {arguments.workers} processes", file=sys.stderr)
    if arguments.figures is not None:
        draw_figure_1(usual, arguments.figures / "gr21_figure1.png")
        draw_comparison(usual, (3000, 7000), arguments.figures / "gr21_figure3.png")
        draw_comparison(usual, (1000, 3000, 5000, 7000), arguments.figures / "gr21_figures45.png")
        draw_comparison(fewer, (1000,), arguments.figures / "gr21_figure6.png")


if __name__ == "__main__":
    main()
