"""A model, and test sets of exactly known rates: for the tests of checks and audits."""

from __future__ import annotations

from typing import Any

import numpy as np

import fastbin as fb

__all__ = ["cells_of", "model_of", "samples_of"]


def model_of(values: list[float], count: int = 1000, **parts: Any) -> fb.BinnedModel:
    edges = [b / len(values) for b in range(1, len(values))]
    counts = [count] * len(values)
    sums = [round(count * value) for value in values]
    return fb.BinnedModel.from_parts(edges=edges, values=values, counts=counts, label_sums=sums, scheme="fixed-width", **parts)


def samples_of(rates: list[float], counts: int | list[int]) -> tuple[np.ndarray, np.ndarray]:
    """So many samples in each of the equal bins, with exactly these rates."""
    each = np.broadcast_to(counts, len(rates)).tolist()
    scores = np.repeat([(b + 0.5) / len(rates) for b in range(len(rates))], each)
    return scores, np.concatenate([np.arange(n) < round(n * rate) for rate, n in zip(rates, each, strict=True)])


def cells_of(rates: dict[str, list[float]], count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labels and cells: `count` samples in each bin, with exactly these rates."""
    parts = [(name, (b + 0.5) / len(own), rate) for name, own in rates.items() for b, rate in enumerate(own)]
    scores = np.concatenate([np.full(count, score) for _, score, _ in parts])
    labels = np.concatenate([np.arange(count) < round(count * rate) for *_, rate in parts])
    return scores, labels, np.repeat([name for name, *_ in parts], count)
