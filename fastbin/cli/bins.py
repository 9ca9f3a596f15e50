"""``fastbin bins``: how many bins to take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fastbin._base.shown import how_many, rounded_up
from fastbin.cli import _options as options
from fastbin.cli._console import console, say, say_json, text_table

if TYPE_CHECKING:
    from fastbin.guarantees.n_bins import TradeOff


@click.command(epilog=options.examples("fastbin bins --n 5000 --alpha 0.1", "fastbin bins --n 5000 --epsilon 0.05"))
@options.option("--n n_samples N", "The number of calibration samples.", options.SAMPLES, required=True)
@options.alpha
@options.option("--n-bins B", "Show this number of bins (repeatable).", options.COUNT, multiple=True)
@options.option("--epsilon E", "Also say how many bins keep within this distance.", float)
@options.side
@options.as_json
def command(n_samples: int, alpha: float, n_bins: tuple[int, ...], epsilon: float | None, side: str, as_json: bool) -> None:
    """Show what N samples can promise, by the number of bins.

    This is the distance from the truth that is guaranteed before any label is seen, if scores do not tie at the boundaries, for
    values that are the means of their bins. With ties, and for --method certified, the fit says what it guarantees.

    More bins distinguish scores better; the value of each of fewer bins is known more exactly. The number of bins must not be
    chosen by the results on the calibration samples themselves: that would void the guarantee.
    """
    from fastbin import guarantees
    from fastbin.guarantees.n_bins import trade_off

    if epsilon is not None and side != "both":
        raise click.UsageError("--epsilon is about both sides; leave out --side")
    rows = trade_off(n_samples, alpha, list(n_bins) or None, side)
    auto = guarantees.auto_n_bins(n_samples)
    within = None if epsilon is None else guarantees.choose_n_bins(n_samples, alpha, epsilon)
    if as_json:
        content = {"n": n_samples, "alpha": alpha, "auto": auto, "epsilon": epsilon, "n_bins_within_epsilon": within}
        of_side = {} if side == "both" else {"side": side}
        of_both = set() if side == "both" else {"conditional_hoeffding", "expected_ece"}
        found = [{name: number for name, number in row._asdict().items() if name not in of_both} for row in rows]
        say_json(content | of_side | {"rows": found})
        return
    _show(rows, n_samples, alpha, auto, side)
    if within is not None:
        say(f"\nWithin {epsilon:g} at alpha = {alpha:g}, in all bins at once: up to {within} bins.")


DISTANCES = {
    "both": "the promised distance from the truth",
    "upper": "how far the truth is above the value at most",
    "lower": "how far the truth is below the value at most",
}


def _show(rows: list[TradeOff], n_samples: int, alpha: float, auto: int, side: str) -> None:
    out, is_both = console(), side == "both"
    out.print(f"{how_many(n_samples, 'sample')}, alpha = {alpha:g}: {DISTANCES[side]}", style="bold")
    out.print()
    cells = []
    for row in rows:
        distances = (row.conditional, row.marginal, *((row.conditional_hoeffding, row.expected_ece) if is_both else ()))
        mark = "auto" if row.n_bins == auto else ""
        cells.append([f"{row.n_bins:,}", f"{row.samples_per_bin:,}", *(rounded_up(each) for each in distances), mark])
    titles = ["all bins", "one sample", *(["formula (8)", "mean ECE"] if is_both else [])]
    out.print(text_table(["bins", "samples each", *titles, ""], cells))
    out.print()
    out.print("all bins     in all bins at once: exact binomial radius")
    out.print("one sample   in the bin of the next sample: exact binomial radius")
    if is_both:
        out.print("formula (8)  in all bins at once: Gupta & Ramdas 2021, equation (8)")
        out.print("mean ECE     the expected calibration error, averaged over calibration sets")
    out.print(f"auto         what --method umd --n-bins auto takes for {how_many(n_samples, 'sample')}")
