"""``fastbin demo``: from scores to a model in one command, on made-up data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import numpy as np

from fastbin._base.array_types import Bools, Float64s
from fastbin._model import view
from fastbin.cli import _options as options
from fastbin.cli import _show
from fastbin.cli._console import working
from fastbin.cli._files import Output

if TYPE_CHECKING:
    from fastbin.model import BinnedModel

N_CALIBRATION, N_FRESH = 10_000, 100_000


@click.command(epilog=options.examples("fastbin demo", "fastbin demo --seed 7 -o demo7.fbm"))
@options.option("-o --output MODEL", "The model file to write; - prints it. Default: none.")
@options.option("--seed N", "Draws another sample.", options.SEED, 1)
@options.alpha
def command(output: str | None, seed: int, alpha: float) -> None:
    """Recalibrate an overconfident classifier on made-up data.

    Draws 10,000 scores with outcomes, fits CertifiedCalibration, prints its bins and its certificate, and measures the
    calibration error before and after on 100,000 fresh samples. Nothing is written but where -o says.
    """
    from fastbin.binning.certified import CertifiedCalibration

    target = Output(output)
    out = target.messages()
    rng = np.random.default_rng(seed)
    with working("fitting"):
        scores, labels = _draw(rng, N_CALIBRATION)
        model = CertifiedCalibration(seed=seed).fit(scores, labels).model_
        fresh_scores, fresh_labels = _draw(rng, N_FRESH)
        before, after = _errors(model, fresh_scores, fresh_labels, seed)
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
    out.print(f"Expected calibration error on {N_FRESH:,} fresh samples: {before:.4f} before, {after:.4f} after.")
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


def _errors(model: BinnedModel, scores: Float64s, labels: Bools, seed: int) -> tuple[float, float]:
    """The expected calibration error of the scores and of the model's values, both over the model's bins."""
    bins = model.assign(scores, seed=seed)

    def error(probabilities: Float64s) -> float:
        gaps = np.bincount(bins, weights=probabilities - labels)
        return float(np.abs(gaps).sum() / len(labels))

    return error(scores), error(model.predict(scores, seed=seed))
