"""How often intervals for class rates without labels miss, and those of adapted values: a table of docs/shift.md.

    cd tests; python -m simulation.class_rates            print the table
    cd tests; python -m simulation.class_rates --write    put it into docs/, too

Scores are logits, normal around -d / 2 and d / 2 by label, through the logistic function of d times them: so they are the
probabilities of label 1 at a source rate of 1/2. Cuts are the nine defaults. The true rate of a bin is known in closed form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from simulation.pages import DOCS, print_table

import fastbin as fb
from fastbin import shift

Array = npt.NDArray[np.float64]

PAGE = DOCS / "shift.md"
ALPHA, N_BINS = 0.1, 10


class Pair(NamedTuple):
    """Source and target samples, their class rates, and how far the two classes lie apart."""

    n_source: int
    n_target: int
    source: float
    target: float
    distance: float = 2.0


PAIRS = [
    Pair(2000, 2000, 0.5, 0.1),
    Pair(2000, 20_000, 0.5, 0.1),
    Pair(2000, 2000, 0.1, 0.3),
    Pair(10_000, 10_000, 0.5, 0.1),
    Pair(10_000, 10_000, 0.3, 0.5),
    Pair(10_000, 10_000, 0.5, 0.1, 1.0),
    Pair(10_000, 100_000, 0.3, 0.02),
    Pair(10_000, 1000, 0.5, 0.1),
    Pair(1000, 100_000, 0.5, 0.05),
    Pair(50_000, 100_000, 0.5, 0.02),
]


def draw(
    rng: np.random.Generator, n: int, rate: float, distance: float, spread: float = 1.0
) -> tuple[Array, npt.NDArray[np.int64]]:
    labels = rng.random(n) < rate
    places = rng.normal(distance * (labels - 0.5), spread)
    return 1.0 / (1.0 + np.exp(-distance * places)), labels.astype(np.int64)


def truth(model: fb.BinnedModel, pair: Pair) -> Array:
    """The target's rate of label 1 in each bin."""
    ends = np.concatenate([[0.0], model.bin_edges, [1.0]])
    with np.errstate(divide="ignore"):
        places = np.log(ends / (1.0 - ends)) / pair.distance
    ones, zeros = (np.diff(norm.cdf(places, middle * pair.distance)) for middle in (0.5, -0.5))
    return np.asarray(pair.target * ones / (pair.target * ones + (1.0 - pair.target) * zeros))


class Found(NamedTuple):
    missed_rates: int
    missed_bins: int  # repetitions in which an interval of any bin misses
    refuted: int
    width: float  # of the interval of the rate
    widest: float  # of a bin
    error: float  # root mean square of the estimate


def simulate(pair: Pair, repetitions: int, *, spread: float = 1.0) -> Found:
    """`spread`: of the target's scores within a class; label shift holds where it is 1."""
    missed_rates, missed_bins, refuted, widths, widest, errors = 0, 0, 0, [], [], []
    for repetition in range(repetitions):
        rng = np.random.default_rng([60, *pair[:2], round(1000 * pair.target), repetition])
        scores, labels = draw(rng, pair.n_source, pair.source, pair.distance)
        target, _ = draw(rng, pair.n_target, pair.target, pair.distance, spread)
        model = fb.UniformMassBinning(N_BINS).fit(scores, labels).model_
        mover = shift.LabelShift(model, method="likelihood", smoothing="add-half", alpha=ALPHA, n_bootstrap=1)
        try:
            cal = mover.fit(target, source_scores=scores, source_labels=labels)
            ends = fb.BinnedModel.from_bytes(cal.model_.to_bytes()).interval(ALPHA)
        except fb.GuaranteeError:
            refuted += 1
            continue
        true = truth(model, pair)
        missed_rates += not cal.rate_.lower <= pair.target <= cal.rate_.upper
        missed_bins += bool(((true < ends[:, 0]) | (true > ends[:, 1])).any())
        widths.append(cal.rate_.upper - cal.rate_.lower)
        widest.append(float(np.diff(ends).max()))
        errors.append((cal.rate_.rate - pair.target) ** 2)
    means = [float(np.mean(each)) if each else np.nan for each in (widths, widest, errors)]
    return Found(missed_rates, missed_bins, refuted, means[0], means[1], means[2] ** 0.5)


def table(repetitions: int) -> str:
    lines = [
        "| source samples | target scores | rates | distance | rate missed | width | error of the estimate | bins missed "
        "| widest |",
        f"|{' --- |' * 9}",
    ]
    for pair in PAIRS:
        found = simulate(pair, repetitions)
        missed = [(each + found.refuted) / repetitions for each in (found.missed_rates, found.missed_bins)]
        lines.append(
            f"| {pair.n_source:,} | {pair.n_target:,} | {pair.source:g} to {pair.target:g} | {pair.distance:g} "
            f"| {missed[0]:.3f} | {found.width:.4f} | {found.error:.4f} | {missed[1]:.3f} | {found.widest:.3f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print_table(table, PAGE, "class rates", __doc__, 500)
