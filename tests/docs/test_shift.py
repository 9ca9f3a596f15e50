"""docs/shift.md: its table is what comes out."""

from __future__ import annotations

import re

import numpy as np

from fastbin.shift import ImportanceWeightedBinning
from oracle import REPOSITORY

PAGE = REPOSITORY / "docs" / "shift.md"


def test_the_table_of_widths() -> None:
    documented = {
        method: float(width) for method, width in re.findall(r"^\| `([\w-]+)`.* \| (0\.\d+)", PAGE.read_text(), re.MULTILINE)
    }
    assert len(documented) == 5
    widths: dict[str, list[float]] = {method: [] for method in documented}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scores, weights = rng.random(3000), 0.5 + rng.random(3000)
        labels = rng.random(3000) < 0.2 + 0.6 * scores
        cal = ImportanceWeightedBinning(10, seed=seed).fit(scores, labels, weights)
        for method, half_widths in widths.items():
            ends = cal.interval(0.1, method, weight_bound=1.5, weight_min=0.5)
            half_widths.append(float(np.diff(ends).max()) / 2)
    for method, half_widths in widths.items():
        assert abs(np.mean(half_widths) - documented[method]) < 0.003, (method, np.mean(half_widths))
