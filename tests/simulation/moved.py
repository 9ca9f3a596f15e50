"""How often the intervals of a model that label shift moved miss, through its file: the table of docs/shift.md.

    cd tests; python -m simulation.moved            print the table
    cd tests; python -m simulation.moved --write    put it into docs/, too

Source scores are uniform on [0, 1] and P(Y = 1 | score) = score there, so the source rate is 1/2 and the rate of a bin is the
middle of its ends; at the target it is that, moved by equation (13) of Sun, Song & Hero (2023). Takes two minutes at
the default 3,000 repetitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from simulation.pages import DOCS, print_table

import fastbin as fb
from fastbin import shift, theory

Float64s = npt.NDArray[np.float64]

PAGE = DOCS / "shift.md"
ALPHA, N_BINS, SOURCE_RATE = 0.1, 10, 0.5
N_SOURCE = (1000, 10_000)
TARGETS = tuple((rate, n) for rate in (0.1, 0.01, 0.001) for n in (100, 300, 1000))


class Draw(NamedTuple):
    """One repetition: a source model, labels of the target, and the target's true rate in each bin."""

    source: fb.BinnedModel
    labels: npt.NDArray[np.int64]
    truth: Float64s

    def move(self) -> shift.LabelShift:
        return shift.LabelShift(self.source, smoothing="add-half").fit(labels=self.labels)


def draws(n_source: int, target: tuple[float, int], repetitions: int) -> Iterator[Draw]:
    """Independent repetitions; the same ones at every call."""
    rate, n_target = target
    for repetition in range(repetitions):
        rng = np.random.default_rng([40, n_source, round(1 / rate), n_target, repetition])
        scores = rng.random(n_source)
        model = fb.UniformMassBinning(N_BINS, seed=repetition).fit(scores, rng.random(n_source) < scores).model_
        ends = np.concatenate([[0.0], model.edges, [1.0]])
        truth = theory.shift_probabilities((ends[1:] + ends[:-1]) / 2.0, source_rate=SOURCE_RATE, target_rate=rate)
        yield Draw(model, (rng.random(n_target) < rate).astype(np.int64), truth)


def draw_outcomes(rate: float, n: int, rng: np.random.Generator) -> tuple[Float64s, npt.NDArray[np.bool_]]:
    """Scores and labels of the target: densities 2 s given label 1, and 2 (1 - s) given label 0."""
    labels = rng.random(n) < rate
    roots = np.sqrt(rng.random(n))
    return np.where(labels, roots, 1.0 - roots), labels


def as_exact(cal: shift.LabelShift) -> fb.BinnedModel:
    """The model as 0.1.0 took it: both rates given, without error."""
    given = {"target_rate": cal.target_rate_, "source_rate": cal.source_rate_}
    return shift.LabelShift(cal.source_model_, method="known", **given).fit().model_


def is_missed(ends: Float64s, truth: Float64s) -> bool:
    """Whether any bin's rate is outside its interval."""
    return bool(((ends[:, 0] > truth) | (ends[:, 1] < truth)).any())


def misses(n_source: int, target: tuple[float, int], repetitions: int) -> tuple[int, int, int]:
    """Repetitions in which any interval missed: of the file, and with rates taken as exact; and those without a label 1."""
    found, exact, without = 0, 0, 0
    for draw in draws(n_source, target, repetitions):
        cal = draw.move()
        loaded = fb.BinnedModel.from_bytes(cal.model_.to_bytes())
        found += is_missed(loaded.interval(ALPHA), draw.truth)
        exact += is_missed(as_exact(cal).interval(ALPHA), draw.truth)
        without += not draw.labels.any()
    return found, exact, without


def table(repetitions: int) -> str:
    titles = [f"{n:,} source samples | with rates as exact" for n in N_SOURCE]
    lines = [f"| target rate | target labels | {' | '.join(titles)} |", "| --- | --- | --- | --- | --- | --- |"]
    for rate, n_target in TARGETS:
        cells = []
        for n_source in N_SOURCE:
            found, exact, _ = misses(n_source, (rate, n_target), repetitions)
            cells += [f"{1 - found / repetitions:.3f}", f"{1 - exact / repetitions:.3f}"]
        lines.append(f"| {rate:g} | {n_target:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print_table(table, PAGE, "moved", __doc__, 3000)
