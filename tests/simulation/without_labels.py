"""How often the intervals of `fb.decide.performance` miss, of any metric at any of several thresholds: the table of
docs/performance.md.

    cd tests; python -m simulation.without_labels            print the table
    cd tests; python -m simulation.without_labels --write    put it into docs/, too

Calibration scores are uniform; the scores of a batch are uniform, or the roots of uniform numbers ("shifted"), of which more
lie high. P(label 1 | bin) must be the same in both. So the rate of a batch row is that of its bin, or slice, in the calibration
population: a profile of "laws" averaged over the cell. A threshold is missed if any of the metrics is; all thresholds together
count once. Takes six minutes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from simulation.laws import PROFILES
from simulation.pages import DOCS, print_table

import fastbin as fb
from fastbin.decide import performance

Array = npt.NDArray[np.float64]

PAGE = DOCS / "performance.md"
ALPHA, N_ROWS, COST = 0.1, 2000, (1.0, 5.0)
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)  # thresholds are quantiles of the values served, so that labels choose each cut
NAMES = ("flat", "linear", "rare", "sharp", "credit")
CALIBRATORS: dict[str, Callable[[], object]] = {
    "umd": lambda: fb.UniformMassBinning(10, monotone=True),
    "certified": lambda: fb.CertifiedCalibration(n_bins=10),
}
CELLS = [
    (name, n, shifted, scheme)
    for name in NAMES
    for n, shifted in ((1000, False), (3000, False), (3000, True))
    for scheme in CALIBRATORS
]


class Found(NamedTuple):
    missed: int  # repetitions in which any interval misses
    width: float  # mean half-width of the precision at the middle threshold
    accuracy: float


def truth_of(model: fb.BinnedModel, name: str, scores: Array, by_slice: bool) -> Array:
    """The true rate of each row: that of its cell among uniform scores."""
    cuts = model.slice_cuts if by_slice else model.bin_edges
    ends = np.concatenate([[0.0], cuts, [1.0]])
    _, integral = PROFILES[name]
    rates = np.diff(integral(ends)) / np.diff(ends)
    return np.asarray(rates[np.searchsorted(cuts, scores, "right")])


def is_missed(found: fb.decide.Performance, is_positive: npt.NDArray[np.bool_], ones: Array) -> bool:
    """Whether an interval misses the metric of these labels, or rates."""
    n, hits, misses = len(ones), float(ones[is_positive].sum()), float(ones[~is_positive].sum())
    n_positive = int(is_positive.sum())
    true = {
        "prevalence": (hits + misses) / n, "accuracy": (hits + n - n_positive - misses) / n,
        "cost": (COST[0] * (n_positive - hits) + COST[1] * misses) / n,
    }  # fmt: skip
    if n_positive:
        true |= {"precision": hits / n_positive, "f1": 2 * hits / (n_positive + hits + misses)}
    if hits + misses > 0:
        true["recall"] = hits / (hits + misses)
    return any(not found.intervals[name][0] - 1e-9 <= value <= found.intervals[name][1] + 1e-9 for name, value in true.items())


def simulate(scheme: str, name: str, n: int, about: str, *, shifted: bool, repetitions: int) -> Found:
    missed, widths = 0, []
    rate, _ = PROFILES[name]
    for repetition in range(repetitions):
        rng = np.random.default_rng([50, n, len(name), int(shifted), repetition])
        scores = rng.random(n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fb.FastbinWarning)  # flat labels may seem to fall
            model = CALIBRATORS[scheme]().fit(scores, rng.random(n) < rate(scores)).model_  # type: ignore[attr-defined]
        rows = rng.random(N_ROWS) ** (0.5 if shifted else 1.0)
        served, wrong = model.predict(rows), False
        uniform = rng.random(N_ROWS)
        for share in SHARES:
            threshold = float(np.quantile(served, share, method="higher"))
            found = performance(model, rows, threshold, alpha=ALPHA, about=about, cost=COST)
            truth = truth_of(model, name, rows, found.evidence == "slices")
            ones = truth if about == "rates" else (uniform < (truth if shifted else rate(rows))).astype(np.float64)
            wrong |= is_missed(found, served >= threshold, ones)
            if share == 0.5:
                widths.append([np.diff(found.intervals[metric])[0] / 2 for metric in ("precision", "accuracy")])
        missed += wrong
    precision, accuracy = np.nanmean(widths, axis=0)
    return Found(missed, float(precision), float(accuracy))


def table(repetitions: int) -> str:
    titles = [f"{about}: missed | precision | accuracy" for about in ("rates", "labels")]
    lines = [f"| truth | n | batch | method | {' | '.join(titles)} |", f"|{' --- |' * 10}"]
    for name, n, shifted, scheme in CELLS:
        each = [simulate(scheme, name, n, about, shifted=shifted, repetitions=repetitions) for about in ("rates", "labels")]
        told = [f"{one.missed / repetitions:.3f} | {one.width:.3f} | {one.accuracy:.3f}" for one in each]
        lines.append(f"| {name} | {n:,} | {'shifted' if shifted else 'same'} | {scheme} | {' | '.join(told)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print_table(table, PAGE, "performance", __doc__, 200)
