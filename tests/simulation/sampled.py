"""How often promises fail where rows with label 0 were left out at a known rate: the table of docs/shift.md.

    cd tests; python -m simulation.sampled            print the table
    cd tests; python -m simulation.sampled --write    put it into docs/, too

Scores of the population are uniform on [0, 1] and P(Y = 1 | score) = score^k, so the rate of a bin is the mean of score^k
between its ends. All rows with label 1 are kept, and those with label 0 at the rate r. Takes some minutes at the default
1,000 repetitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from simulation.pages import DOCS, print_table

import fastbin as fb

Float64s = npt.NDArray[np.float64]

PAGE = DOCS / "shift.md"
ALPHA, N_BINS = 0.1, 10
CASES = tuple((rate, power) for rate in (0.5, 0.1, 0.01) for power in (1, 4))
N_KEPT = 2000


class Draw(NamedTuple):
    """One repetition: the kept rows, and the true rate between two scores in the population."""

    scores: Float64s
    labels: npt.NDArray[np.bool_]
    power: int

    def truth(self, edges: Float64s) -> Float64s:
        """The mean of score^power between neighbouring ends."""
        ends = np.concatenate([[0.0], edges, [1.0]])
        return np.diff(ends ** (self.power + 1)) / ((self.power + 1) * np.diff(ends))


def draws(case: tuple[float, int], repetitions: int, n_kept: int = N_KEPT) -> Iterator[Draw]:
    """Independent repetitions; the same ones at every call."""
    rate, power = case
    for repetition in range(repetitions):
        rng = np.random.default_rng([60, round(1 / rate), power, n_kept, repetition])
        n = int(1.2 * n_kept / (rate * power / (power + 1) + 1 / (power + 1))) + 200
        scores = rng.random(n)
        labels = rng.random(n) < scores**power
        kept = np.flatnonzero(labels | (rng.random(n) < rate))[:n_kept]
        yield Draw(scores[kept], labels[kept], power)


def misses(case: tuple[float, int], repetitions: int) -> tuple[float, float, float]:
    """The share of repetitions in which an interval misses, in which a value is farther than epsilon, and the mean epsilon;
    for the default calibrator the average that is served in a bin stands for the value."""
    missed = np.zeros((repetitions, 2))
    radii = np.zeros(repetitions)
    for i, draw in enumerate(draws(case, repetitions)):
        model = fb.UniformMassBinning(N_BINS, seed=i, sampling_rate=case[0]).fit(draw.scores, draw.labels).model_
        truth, ends, radii[i] = draw.truth(model.edges), model.interval(ALPHA), model.certificate(ALPHA).epsilon
        missed[i] = (
            ((truth < ends[:, 0]) | (truth > ends[:, 1])).any(),
            (np.abs(model.values - truth) > radii[i]).any(),
        )
    return (*missed.mean(axis=0).tolist(), float(radii.mean()))


def misses_of_steps(case: tuple[float, int], repetitions: int) -> float:
    """The share in which the average that the default calibrator serves in a bin is beyond epsilon from the rate there."""
    missed = 0
    for i, draw in enumerate(draws(case, repetitions)):
        model = fb.CertifiedCalibration(seed=i, sampling_rate=case[0]).fit(draw.scores, draw.labels).model_
        ends = np.concatenate([[0.0], model.edges, [1.0]])
        widths = np.diff(ends)
        served = np.add.reduceat(model.values * widths, model.first_step) / np.add.reduceat(widths, model.first_step)
        missed += bool((np.abs(served - draw.truth(model.bin_edges)) > model.certificate(ALPHA).epsilon).any())
    return missed / repetitions


def table(repetitions: int) -> str:
    lines = [
        "| kept | P(Y = 1 at s) | an interval missed | a value beyond epsilon | mean epsilon | an average of steps beyond |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for case in CASES:
        interval, value, radius = misses(case, repetitions)
        shape = "s" if case[1] == 1 else f"s^{case[1]}"
        of_steps = misses_of_steps(case, repetitions)
        lines.append(f"| {case[0]:g} | {shape} | {interval:.3f} | {value:.3f} | {radius:.3f} | {of_steps:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print_table(table, PAGE, "sampled", __doc__, 1000)
