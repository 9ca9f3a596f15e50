"""Rows drawn from simple laws, and bins of a model under a law that is known."""

from __future__ import annotations

from typing import Any

import numpy as np


def calibrated(n: int = 2000, decimals: int = 9, seed: int = 11) -> tuple[Any, Any]:
    """Scores that are uniform, and labels that have them as chances."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random(n), decimals)
    return scores, (rng.random(n) < scores).astype(np.uint8)


def for_target(n: int = 600, decimals: int | None = None, seed: int = 0) -> tuple[Any, Any, Any]:
    """Scores that are uniform, labels, and the weights 2 s of a target whose scores have density 2 s."""
    rng = np.random.default_rng(seed)
    scores = rng.random(n) if decimals is None else np.round(rng.random(n), decimals)
    return scores, (rng.random(n) < scores**2).astype(int), 2 * scores


def two_normals(n: int, rate: float = 0.5, seed: int = 0, width: float = 1.0) -> tuple[Any, Any]:
    """Logits of one normal law for each label, as probabilities: with another rate, label shift; with another width, none."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < rate).astype(int)
    return 1 / (1 + np.exp(-rng.normal(2.0 * labels - 1.0, width))), labels


def averages_of_bins(model: Any, law: Any) -> tuple[Any, Any, Any]:
    """For each evidence bin, its mass, the mean of what is served there, and its rate; the law is one of simulation.laws."""
    starts, ends = np.append(0.0, model.edges), np.append(model.edges, 1.0)
    masses = np.add.reduceat(ends - starts, model.first_step)
    served = np.add.reduceat(model.values * (ends - starts), model.first_step) / masses
    return masses, served, np.add.reduceat(law.ones_below(ends) - law.ones_below(starts), model.first_step) / masses
