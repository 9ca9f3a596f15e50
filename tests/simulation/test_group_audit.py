"""The audit of groups by simulation with known truth: how often its intervals miss, and how often its verdicts are wrong.

`pytest tests/simulation/test_group_audit.py -m slow -rP` prints the table at full size.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import fastbin as fb
from fastbin import assess

VALUES = np.array([0.1, 0.35, 0.6, 0.9])
EPSILON = 0.08


class Population(NamedTuple):
    """Shares of the groups, and the true frequency of label 1 in each (group, bin)."""

    shares: list[float]
    rates: np.ndarray

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        groups, bins = rng.choice(len(self.shares), n, p=self.shares), rng.integers(0, len(VALUES), n)
        return (bins + 0.5) / len(VALUES), rng.random(n) < self.rates[groups, bins], groups

    @property
    def distances(self) -> np.ndarray:
        """For each group, the true distance in its worst bin."""
        return np.abs(self.rates - VALUES).max(axis=1)


SHARES = [0.5, 0.3, 0.15, 0.05]
POPULATIONS = {
    "as promised": Population(SHARES, np.tile(VALUES, (4, 1))),
    # In every group one bin is as far as the promise allows, on either side.
    "at the ends": Population(
        SHARES, VALUES + EPSILON * np.array([[1, -1, 1, -1], [-1, 1, -1, 1], [1, 1, 1, 1], [-1, 0, 0, 1]])
    ),
    # Beyond it by a hair: every "confirmed" of these groups is wrong.
    "just broken": Population(SHARES, VALUES + (EPSILON + 1e-9) * np.array([[1, 0, 0, 0]] * 4)),
}


class Failures(NamedTuple):
    missed: float  # some interval misses its frequency
    too_small: float  # some group's own distance is smaller than the true one
    contradicted: float
    confirmed: float  # of the first group


def failures(population: Population, n: int, runs: int, alpha: float, *, overlapping: bool = False) -> Failures:
    """The shares of runs in which something went wrong."""
    model = fb.BinnedModel.from_parts(edges=[0.25, 0.5, 0.75], values=VALUES, score_range=(0.0, 1.0))
    rng, found = np.random.default_rng(n), np.zeros(4)
    for _ in range(runs):
        scores, labels, groups = population.draw(rng, n)
        given = {f"{g}": groups == g for g in range(4)} if overlapping else groups
        audit = assess.audit_groups(model, scores, labels, given, epsilon=EPSILON, test_level=alpha)
        rates = [population.rates[int(group.name), group.bins] for group in audit.groups]
        ends = [group.intervals for group in audit.groups]
        missed = any(((own < end[:, 0]) | (own > end[:, 1])).any() for own, end in zip(rates, ends, strict=True))
        seen = [(group.epsilon, np.abs(VALUES[group.bins] - own).max()) for group, own in zip(audit.groups, rates, strict=True)]
        small = any(certified < true for certified, true in seen)
        found += [missed, small, audit.verdict == "contradicted", audit.groups[0].verdict == "confirmed"]
    return Failures(*(found / runs))


def check(runs: int, sizes: tuple[int, ...]) -> None:
    """All populations and sizes; at most alpha, and three standard errors of the simulation."""
    for name, population in POPULATIONS.items():
        for n in sizes:
            for overlapping in (False, True):
                alpha = 0.1
                seen = failures(population, n, runs, alpha, overlapping=overlapping)
                print(
                    f"{name:12} n {n:6,} {'masks' if overlapping else 'column':7}" + "".join(f" {share:.3f}" for share in seen)
                )
                most = alpha + 3.0 * math.sqrt(alpha * (1.0 - alpha) / runs)
                assert seen.missed <= most
                assert seen.too_small <= seen.missed
                if name == "just broken":
                    assert seen.confirmed <= most
                else:
                    assert seen.contradicted <= most


def test_intervals_cover_and_verdicts_are_seldom_wrong() -> None:
    check(60, (60, 1500))


@pytest.mark.slow
def test_intervals_cover_and_verdicts_are_seldom_wrong_at_full_size() -> None:
    check(2000, (60, 500, 5000))


def test_the_rates_of_error_are_nearly_reached() -> None:
    """At the ends of the promise, in large groups: so that a level that is shared too often would show."""
    population = Population([1.0, 0.0, 0.0, 0.0], VALUES + EPSILON * np.array([[1, 1, 1, -1]] * 4))
    seen = failures(population, 4000, 400, 0.2)
    assert 0.03 < seen.contradicted <= 0.26
    assert 0.08 < seen.missed <= 0.26


def test_reading_a_certificate_in_each_group_is_wrong() -> None:
    """As the docstring says: the promise of the whole is broken in groups, and the audit finds it."""
    rng, runs, broken, found = np.random.default_rng(2), 20, 0, 0
    for _ in range(runs):
        scores, groups = rng.random(12000), rng.integers(0, 2, 12000)
        truth = np.where(groups == 0, 0.6, 1.0) * scores
        labels = rng.random(12000) < truth
        model = fb.UniformMassBinning(n_bins=5).fit(scores[:6000], labels[:6000]).model_
        promised = model.certificate(alpha=0.1)
        assert promised.radii is not None
        bins = model.assign(scores)
        of_group = [truth[(bins == 4) & (groups == g)].mean() for g in (0, 1)]
        broken += max(abs(rate - model.values[4]) for rate in of_group) > promised.radii[4]
        found += assess.audit_groups(model, scores[6000:], labels[6000:], groups[6000:]).verdict == "contradicted"
    assert (broken, found) == (runs, runs)
