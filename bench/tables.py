"""Tables and plots from measured results: ``python bench/tables.py bench/results/latest.json``.

Writes the table of the README between its markers and the plots of bench/README.md. Nothing is typed by hand, so the tables
say what was measured, losses too.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
START, END = "<!-- bench:start -->", "<!-- bench:end -->"


def _rows(results: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """(what, ours, beside it) for the README."""
    rows = []
    for row in results:
        if "fit" in row and "ns_per_row" in row:
            beside = f"{row['to_sum']} times `np.sum`, `np.sort` takes {row['sort_over_fit']} times as long"
            rows.append((f"fit, {row['fit']}", f"{row['ns_per_row']} ns a row", beside))
        elif "predict" in row and "ns_per_score" in row:
            beside = f"{row['to_copy']} times a copy, `np.searchsorted` + take {row['searchsorted_over_predict']} times as long"
            rows.append((f"predict, {row['predict']}", f"{row['ns_per_score']} ns a score", beside))
        elif "predict_one" in row and "ns" in row:
            beside = f"{row['to_empty_call']} times an empty call, `bisect` takes {row['bisect_over_it']} times as long"
            rows.append((f"predict_one, {row['predict_one']}", f"{row['ns']} ns", beside))
        elif "times_slower" in row:
            task, rival = next(iter(row.items()))
            told = {"fit": "fit", "peer": "fit and score 1e5 rows", "predict_one": "one score"}[task]
            rows.append((told, "1", f"{rival} takes {row['times_slower']} times as long"))
    return rows


def table(saved: dict[str, Any]) -> str:
    lines = [
        f"Measured on {saved['machine']}; medians of interleaved rounds.",
        "",
        "| what | fastbin | beside it |",
        "|---|---|---|",
    ]
    lines += [f"| {what} | {ours} | {beside} |" for what, ours, beside in _rows(saved["results"])]
    return "\n".join(lines)


def write_readme(saved: dict[str, Any], readme: Path) -> None:
    text = readme.read_text(encoding="utf8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{readme} has no lines {START} and {END}")
    readme.write_text(f"{before}{START}\n{table(saved)}\n{END}{after}", encoding="utf8")


def plot_growth(target: Path) -> None:
    """How cost grows with n, B and m, measured now (about a minute)."""
    import matplotlib

    import fastbin as fb

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np
    from cases import rows
    from measure import paired

    figure, (fit_axes, bins_axes, score_axes) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    sizes = [10**k for k in range(3, 8)]
    for shape, style in (("uniform", "o-"), ("Beta(.5, 5)", "s--"), ("100 values", "^:")):
        costs = []
        for n in sizes:
            scores, labels = rows(shape, n)
            calibrator = fb.UniformMassBinning(100)
            costs.append(
                1e9
                * paired({"fit": lambda s=scores, y=labels, c=calibrator: c.fit(s, y)}, baseline="fit", seconds=0.5).seconds[
                    "fit"
                ]
                / n
            )
        fit_axes.loglog(sizes, costs, style, label=shape)
    fit_axes.set(xlabel="samples n (B = 100)", ylabel="ns per sample", title="fit")
    scores, labels = rows("uniform", 10**6)
    queries, out = np.random.default_rng(1).random(10**6), np.empty(10**6)
    numbers = [2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000]
    for what, style in (("fit", "o-"), ("predict", "s--")):
        costs = []
        for n_bins in numbers:
            calibrator = fb.UniformMassBinning(n_bins)
            model = calibrator.fit(scores, labels).model_
            call = (
                (lambda c=calibrator: c.fit(scores, labels)) if what == "fit" else (lambda m=model: m.predict(queries, out=out))
            )
            costs.append(1e3 * paired({"call": call}, baseline="call", seconds=0.5).seconds["call"])
        bins_axes.loglog(numbers, costs, style, label=what)
    bins_axes.set(xlabel="bins B (n = m = 1e6)", ylabel="ns per row", title="bins")
    model = fb.UniformMassBinning(100).fit(scores, labels).model_
    batches = [10**k for k in range(8)]
    costs = []
    for m in batches:
        batch, filled = np.random.default_rng(1).random(m), np.empty(m)
        costs.append(
            1e9
            * paired({"call": lambda b=batch, f=filled: model.predict(b, out=f)}, baseline="call", seconds=0.3).seconds["call"]
            / m
        )
    score_axes.loglog(batches, costs, "s--", color="C1", label="predict, B = 100")
    score_axes.set(xlabel="scores m in a call", ylabel="ns per score", title="predict")
    for axes in (fit_axes, bins_axes, score_axes):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    figure.savefig(target, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "saved", type=Path, nargs="?", default=HERE / "results" / "latest.json", help="written by pytest bench --save"
    )
    parser.add_argument("--growth", type=Path, help="also measure and plot how cost grows with n, B and m, into this PNG")
    options = parser.parse_args()
    write_readme(json.loads(options.saved.read_text()), HERE.parent / "README.md")
    if options.growth:
        plot_growth(options.growth)


if __name__ == "__main__":
    main()
