"""``fastbin demo``: from scores to a model in one command, on made-up data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
import numpy as np

from fastbin._base.array_types import Bools, Float64s
from fastbin._base.shown import rounded
from fastbin._model import view
from fastbin.cli import _options as options
from fastbin.cli import _show
from fastbin.cli._console import working
from fastbin.cli._files import Output

if TYPE_CHECKING:
    from fastbin.model import BinnedModel

N_CALIBRATION, N_FRESH = 10_000, 100_000
WIDTH = 71  # of the diagram, whose lines fit into 80 columns


@click.command(epilog=options.examples("fastbin demo", "fastbin demo --seed 7 -o demo7.fbm"))
@options.option("-o --output MODEL", "The model file to write; - prints it. Default: none.")
@options.option("--seed N", "Draws another sample.", options.SEED, 1)
@options.alpha
def command(output: str | None, seed: int, alpha: float) -> None:
    """Recalibrate an overconfident classifier on made-up data.

    Draws 10,000 scores with outcomes, fits CertifiedCalibration, prints its bins and its certificate, and compares them with
    100,000 fresh samples: as a diagram, and by the calibration error before and after. Nothing is written but where -o says.
    """
    from fastbin.binning.certified import CertifiedCalibration

    target = Output(output)
    out = target.messages()
    rng = np.random.default_rng(seed)
    with working("fitting"):
        scores, labels = _draw(rng, N_CALIBRATION)
        model = CertifiedCalibration(seed=seed).fit(scores, labels).model_
        fresh_scores, fresh_labels = _draw(rng, N_FRESH)
        fresh = _Fresh(model, fresh_scores, fresh_labels, seed)
        target.write(model.to_bytes())
    out.print("A classifier that is too sure of itself: where it says 90 %, the outcome is 1 in about 75 % of cases.")
    out.print(f"Recalibrated by {view.summary(model)}:")
    _show.show(out, model, alpha)
    out.print()
    out.print(
        "The distance in that promise is epsilon: in no bin is the average of what is served further from the truth, unless "
        f"the sample is among the unluckiest {100.0 * alpha:.3g} %. More samples make it smaller."
    )
    out.print()
    out.print(f"{N_FRESH:,} fresh samples, bin by bin: x what the classifier says, o how often the outcome is 1, and between")
    out.print("[ and ] the interval of the model.")
    for line in _diagram(fresh, model.interval(alpha)):
        out.print(line)
    out.print()
    before, after = fresh.error(fresh.says), fresh.error(fresh.served)
    out.print(f"Expected calibration error on these: {rounded(before)} before, {rounded(after)} after.")
    out.print()
    if output is None:
        out.print("Next, with scores and outcomes of your own:")
        commands = ["fastbin fit scores.csv --score COLUMN --label COLUMN -o model.fbm"]
    else:
        out.print(f"The model is in {target.name}. Next:")
        named = "demo.fbm" if output == "-" else output
        commands = [f"fastbin inspect {named}", f"fastbin predict {named} new.csv --score COLUMN -o out.csv"]
    for line in commands:
        out.print(f"  {line}", style="cyan")


def _draw(rng: np.random.Generator, n: int) -> tuple[Float64s, Bools]:
    """Scores whose log-odds are twice what they should be, and outcomes."""
    log_odds = rng.normal(-0.5, 1.0, n)
    labels = rng.random(n) < 1.0 / (1.0 + np.exp(-log_odds))
    return 1.0 / (1.0 + np.exp(-2.0 * log_odds)), labels


class _Fresh:
    """Fresh samples by the model's bins: the averages of the scores, of the labels, and of what is served."""

    def __init__(self, model: BinnedModel, scores: Float64s, labels: Bools, seed: int) -> None:
        bins = model.assign(scores, seed=seed)
        counts = np.bincount(bins, minlength=model.n_bins)
        averages = (
            np.bincount(bins, weights=column, minlength=model.n_bins) / counts
            for column in (scores, labels, model.predict(scores, seed=seed))
        )
        self.masses = counts / len(scores)
        self.says, self.happens, self.served = averages

    def error(self, probabilities: Float64s) -> float:
        """The expected calibration error of these averages."""
        return float(self.masses @ np.abs(probabilities - self.happens))


def _diagram(fresh: _Fresh, intervals: Float64s) -> Iterator[str]:
    """A line of characters for each bin, from 0 to 1."""

    yield f"bin  0{'0.5':^{WIDTH - 2}}1"
    for row, (low, high) in enumerate(intervals):
        line = [" "] * WIDTH
        marks = {"[": low, "]": high, "x": fresh.says[row], "o": fresh.happens[row]}
        places = {mark: round(probability * (WIDTH - 1)) for mark, probability in marks.items()}
        line[places["["] : places["]"]] = "-" * (places["]"] - places["["])
        for mark, place in places.items():
            line[place] = mark
        yield f"{row:3}  {''.join(line).rstrip()}"
