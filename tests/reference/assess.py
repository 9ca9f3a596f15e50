"""How calibrated is a predictor on test data, or in a population? Exact, in fractions of the given doubles."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass
class ValueRow:
    """Test samples that were given one value."""

    value: Fraction
    count: int
    mean_label: Fraction


def value_table(predictions: Sequence[float | Fraction], labels: Sequence[int]) -> list[ValueRow]:
    """Distinct predicted values, ascending. Calibration conditions on the value, so equal values are one row."""
    groups: dict[Fraction, list[int]] = defaultdict(list)
    for prediction, label in zip(predictions, labels, strict=True):
        groups[Fraction(prediction)].append(label)
    return [ValueRow(value, len(group), Fraction(sum(group), len(group))) for value, group in sorted(groups.items())]


def ece(table: Sequence[ValueRow], p: int = 1) -> float:
    """Plug-in l_p ECE, Gupta & Ramdas 2021, Definition 3, equation (4): the p-th root of the mean of |mean label - value|^p."""
    n = sum(row.count for row in table)
    power = sum((row.count * abs(row.mean_label - row.value) ** p for row in table), Fraction(0)) / n
    return float(power) ** (1.0 / p)


def validity(table: Sequence[ValueRow], epsilon: float | Fraction) -> Fraction:
    """Equation (6): the share of samples whose value is within epsilon of its mean label. Compared as rationals: in doubles
    |1/3 - 0.2| <= epsilon is a coin toss at the steps."""
    n = sum(row.count for row in table)
    return Fraction(sum(row.count for row in table if abs(row.mean_label - row.value) <= Fraction(epsilon)), n)


def conditionally_valid(table: Sequence[ValueRow], epsilon: float | Fraction) -> bool:
    """Is every value within epsilon of its mean label? (Definition 2 on the test sample.)"""
    return all(abs(row.mean_label - row.value) <= Fraction(epsilon) for row in table)


def auc_of_validity(table: Sequence[ValueRow]) -> Fraction:
    """The area under the validity curve on [0, 1], step by step. It equals 1 - l1-ECE exactly."""
    steps = sorted({Fraction(0), Fraction(1), *(abs(row.mean_label - row.value) for row in table)})
    return sum(((right - left) * validity(table, left) for left, right in itertools.pairwise(steps)), Fraction(0))


@dataclass
class ReliabilityBin:
    index: int
    count: int
    mean_label: Fraction
    mean_prediction: Fraction


def reliability_diagram(
    predictions: Sequence[float], labels: Sequence[int], n_bins: int
) -> tuple[list[ReliabilityBin], Fraction]:
    """(bins that are not empty, ECE) on bins of fixed width, Gupta, Podkopaev & Ramdas 2020, Appendix D.4.

    Edges are the IEEE quotients i / B, a prediction equal to one lies above it, and 1.0 lies in the last bin. A bin stands for
    the mean of its predictions, not for its midpoint.
    """
    edges = [i / n_bins for i in range(1, n_bins)]
    groups: dict[int, list[tuple[Fraction, int]]] = defaultdict(list)
    for prediction, label in zip(predictions, labels, strict=True):
        groups[sum(prediction >= edge for edge in edges)].append((Fraction(prediction), label))
    bins = []
    for index, group in sorted(groups.items()):
        mean_label = Fraction(sum(label for _, label in group), len(group))
        mean_prediction = sum((prediction for prediction, _ in group), Fraction(0)) / len(group)
        bins.append(ReliabilityBin(index, len(group), mean_label, mean_prediction))
    gaps = (Fraction(row.count, len(labels)) * abs(row.mean_label - row.mean_prediction) for row in bins)
    return bins, sum(gaps, Fraction(0))


def sharpness(table: Sequence[ValueRow]) -> Fraction:
    """The variance of E[Y | value] over the sample (Sun, Song & Hero 2023): how much the values tell apart."""
    n = sum(row.count for row in table)
    mean = sum((row.count * row.mean_label for row in table), Fraction(0)) / n
    return sum((row.count * (row.mean_label - mean) ** 2 for row in table), Fraction(0)) / n


@dataclass
class RiskDecomposition:
    risk: Fraction
    calibration_risk: Fraction
    sharpness_risk: Fraction
    label_variance: Fraction
    sharpness: Fraction
    mean_squared_error: Fraction


def risk_decomposition(masses: Sequence[Fraction], eta: Sequence[Fraction], values: Sequence[Fraction]) -> RiskDecomposition:
    """Sun, Song & Hero 2023, equations (2) to (6), for a population of atoms: mass, E[Y | atom] and h(atom).

    R = R_cal + R_sha (Proposition 1), and MSE = Var Y - Var E[Y | h] + R_cal. Conditioning is on the value of h: atoms that
    share a value are one event.
    """
    mass_of: dict[Fraction, Fraction] = defaultdict(Fraction)
    label_mass_of: dict[Fraction, Fraction] = defaultdict(Fraction)
    for mass, probability, value in zip(masses, eta, values, strict=True):
        mass_of[value] += mass
        label_mass_of[value] += mass * probability
    given_h = [label_mass_of[value] / mass_of[value] for value in values]
    atoms = list(zip(masses, eta, values, given_h, strict=True))
    mean = sum((mass * probability for mass, probability, _, _ in atoms), Fraction(0))

    def expectation(terms: list[Fraction]) -> Fraction:
        return sum((mass * term for mass, term in zip(masses, terms, strict=True)), Fraction(0))

    return RiskDecomposition(
        risk=expectation([(value - probability) ** 2 for _, probability, value, _ in atoms]),
        calibration_risk=expectation([(value - given) ** 2 for _, _, value, given in atoms]),
        sharpness_risk=expectation([(given - probability) ** 2 for _, probability, _, given in atoms]),
        label_variance=mean * (1 - mean),
        sharpness=expectation([(given - mean) ** 2 for _, _, _, given in atoms]),
        mean_squared_error=expectation(
            [probability * (1 - value) ** 2 + (1 - probability) * value**2 for _, probability, value, _ in atoms]
        ),
    )


def law_of_sum(frequencies: Sequence[Fraction]) -> list[Fraction]:
    """The chances of 0, 1, ... ones among independent labels with these frequencies, one label after the other."""
    law = [Fraction(1)]
    for p in frequencies:
        law = [(1 - p) * stay + p * rise for stay, rise in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return law


def errors_by_chance(bins: Sequence[Sequence[Fraction]]) -> list[tuple[Fraction, Fraction, Fraction]]:
    """(l_1 calibration error, largest gap, chance) of every outcome, if the predictions in these bins are the frequencies."""
    n, found = sum(map(len, bins)), []
    laws = [law_of_sum(own) for own in bins]
    for sums in itertools.product(*(range(len(law)) for law in laws)):
        chance = math.prod((law[x] for law, x in zip(laws, sums, strict=True)), start=Fraction(1))
        off = [abs(x - sum(own, Fraction(0))) for own, x in zip(bins, sums, strict=True)]
        largest = max(distance / len(own) for distance, own in zip(off, bins, strict=True))
        found.append((sum(off, Fraction(0)) / n, largest, chance))
    return found


def check_of_grades(p: Sequence[float], y: Sequence[int], by: Sequence[str], side: str) -> dict[str, tuple[Fraction, Fraction]]:
    """For each grade, and "all": the exact p-value of "labels have these frequencies", and the one adjusted by Holm."""

    def p_value(rows: list[int]) -> Fraction:
        law, ones = law_of_sum([Fraction(p[i]) for i in rows]), sum(y[i] for i in rows)
        above, below = sum(law[ones:], Fraction(0)), sum(law[: ones + 1], Fraction(0))
        return {"upper": above, "lower": below, "both": min(Fraction(1), 2 * min(above, below))}[side]

    own = {name: p_value([i for i, grade in enumerate(by) if grade == name]) for name in set(by)}
    found, largest = {}, Fraction(0)
    for rank, name in enumerate(sorted(own, key=lambda name: own[name])):
        largest = max(largest, min(Fraction(1), (len(own) - rank) * own[name]))
        found[name] = (own[name], largest)
    of_all = p_value(list(range(len(p))))
    return {**found, "all": (of_all, of_all)}
