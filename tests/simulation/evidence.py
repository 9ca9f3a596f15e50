"""Evidence by hand: what a fitted model shows of itself to `fastbin.guarantees`, without fitting one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Fitted:
    """The attributes that a guarantee reads, with harmless defaults."""

    counts: Any
    label_sums: Any
    values: Any = None
    scheme: str = "umd"
    ties: str = "random"
    n_samples: int = 0
    n_tied: int = 0
    delta: float = 0.0
    odds_ratio: float = 1.0
    rates: Any = None
    is_weighted: bool = False
    n_bins: int = 0
    n_bins_asked: int = 0


def fitted(label_sums: Any, counts: Any, **options: Any) -> Fitted:
    """A model with these tallies, whose values are the means."""
    sums, sizes = np.asarray(label_sums, dtype=np.int64), np.asarray(counts, dtype=np.int64)
    means = np.where(sizes > 0, sums / np.maximum(sizes, 1), 0.5)
    defaults = {
        "values": means, "n_bins": len(sizes), "n_bins_asked": len(sizes), "n_samples": int(sizes.sum()) + len(sizes) - 1,
    }  # fmt: skip
    return Fitted(sizes, sums, **(defaults | options))


def uniform_mass(n: int = 1000, n_bins: int = 10, scheme: str = "umd", **options: Any) -> Fitted:
    """A model of `scheme` with counts as its ranks say, and frequencies that rise from bin to bin."""
    if scheme == "umb":
        ranks = np.array([n * b // n_bins for b in range(n_bins)] + [n + 1])
    else:
        ranks = np.array([math.ceil(Fraction(b * (n + 1), n_bins)) for b in range(n_bins + 1)])
    counts = np.diff(ranks) - 1
    if scheme != "umd":
        counts[:-1] += 1
    sums = (counts * np.linspace(0.05, 0.95, n_bins)).astype(np.int64)
    return fitted(sums, counts, scheme=scheme, n_samples=n, **options)
