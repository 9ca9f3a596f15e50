"""How good are predictions of several classes on test data, and in groups of it? Exact, in fractions of the given doubles."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction

Group = list[tuple[Fraction, int]]
"""Predictions and labels of a bin."""


def groups_of(predictions: Sequence[float], labels: Sequence[int], n_bins: int = 15) -> list[Group]:
    """The rows in the bins of grouping "auto", ascending.

    Each distinct value is a bin where there are at most 100 of them and each has at least 50 samples. Else the edges are the
    sorted predictions number ceil(b n / n_bins), counted from 0, and a prediction equal to an edge lies above it.
    """
    n, ordered, rows = len(labels), sorted(predictions), Counter(predictions)
    if len(rows) <= 100 and min(rows.values()) >= 50:
        edges = set(rows)
    else:
        asked = min(n_bins, n)
        edges = {ordered[-(-b * n // asked)] for b in range(1, asked)}
    bins: dict[int, Group] = defaultdict(list)
    for prediction, label in zip(predictions, labels, strict=True):
        bins[sum(edge <= prediction for edge in edges)].append((Fraction(prediction), label))
    # The lowest sample as an edge cuts nothing off.
    return [bins[number] for number in sorted(bins)]


def binned_ece(predictions: Sequence[float], labels: Sequence[int], n_bins: int = 15) -> Fraction:
    """The l_1 calibration error in the bins of grouping "auto"."""
    bins = groups_of(predictions, labels, n_bins)
    gaps = (abs(sum((prediction - label for prediction, label in group), Fraction(0))) for group in bins)
    return sum(gaps, Fraction(0)) / len(labels)


def class_wise_groups(rows: Sequence[Sequence[float]], labels: Sequence[int], n_bins: int = 15) -> dict[int, list[Group]]:
    """The column of each class in bins."""
    columns = range(len(rows[0]))
    return {j: groups_of([row[j] for row in rows], [int(label == j) for label in labels], n_bins) for j in columns}


def top_label_groups(rows: Sequence[Sequence[float]], labels: Sequence[int], n_bins: int = 15) -> dict[int, list[Group]]:
    """The largest probabilities in bins, by predicted class (the first of equal ones)."""
    found = {}
    for j in range(len(rows[0])):
        own = [(max(row), int(label == j)) for row, label in zip(rows, labels, strict=True) if row.index(max(row)) == j]
        if own:
            found[j] = groups_of([prediction for prediction, _ in own], [right for _, right in own], n_bins)
    return found


def confusion_groups(rows: Sequence[Sequence[float]], labels: Sequence[int]) -> dict[int, dict[int, Group]]:
    """By class and by predicted class, the predictions of the class among the rows for which that one is predicted."""
    found: dict[int, dict[int, Group]] = {j: defaultdict(list) for j in range(len(rows[0]))}
    for row, label in zip(rows, labels, strict=True):
        for j, prediction in enumerate(row):
            found[j][row.index(max(row))].append((Fraction(prediction), int(label == j)))
    return {j: dict(sorted(own.items())) for j, own in found.items()}


def error_by_chance(groups: Sequence[Group]) -> Fraction:
    """The mean error in these bins, by the law of each label sum, if the predictions are the frequencies of the labels."""
    off = Fraction(0)
    for group in groups:
        law, expected = [Fraction(1)], sum((prediction for prediction, _ in group), Fraction(0))
        for p, _ in group:
            law = [(1 - p) * stay + p * rise for stay, rise in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
        off += sum((chance * abs(ones - expected) for ones, chance in enumerate(law)), Fraction(0))
    return off / sum(map(len, groups))


def top_label_ece(
    probabilities: Sequence[float], predicted: Sequence[Hashable], labels: Sequence[Hashable], n_bins: int = 15
) -> Fraction:
    """The mean over the predicted classes, by their shares, of the error of "the prediction is right"."""
    total, rows = Fraction(0), list(zip(probabilities, predicted, labels, strict=True))
    for named in set(predicted):
        own = [(probability, int(label == named)) for probability, guess, label in rows if guess == named]
        total += len(own) * binned_ece([probability for probability, _ in own], [right for _, right in own], n_bins)
    return total / len(rows)


def class_wise_ece(rows: Sequence[Sequence[float]], labels: Sequence[int], n_bins: int = 15) -> Fraction:
    """The mean over the columns of the error of "the class is that of the column"."""
    errors = [binned_ece([row[j] for row in rows], [int(label == j) for label in labels], n_bins) for j in range(len(rows[0]))]
    return sum(errors, Fraction(0)) / len(errors)


def brier(rows: Sequence[Sequence[float]], labels: Sequence[int]) -> Fraction:
    """The mean of the squared distances from the corner of the true class."""
    total = Fraction(0)
    for row, label in zip(rows, labels, strict=True):
        total += sum(((Fraction(entry) - (j == label)) ** 2 for j, entry in enumerate(row)), Fraction(0))
    return total / len(rows)


def log_loss(rows: Sequence[Sequence[float]], labels: Sequence[int]) -> float:
    """The mean of minus the logarithm of the true class's probability; infinite where one is 0."""
    own = [row[label] for row, label in zip(rows, labels, strict=True)]
    return math.inf if 0.0 in own else -math.fsum(map(math.log, own)) / len(own)


def group_rows(
    predictions: Sequence[float], labels: Sequence[int], groups: Sequence[Hashable]
) -> dict[Hashable, tuple[int, Fraction, Fraction, Fraction]]:
    """For each group: samples, mean prediction, positive rate, and the mean squared error."""
    found = {}
    for name in set(groups):
        own = [(Fraction(p), label) for p, label, group in zip(predictions, labels, groups, strict=True) if group == name]
        n = len(own)
        squares = sum(((p - label) ** 2 for p, label in own), Fraction(0)) / n
        found[name] = (n, sum((p for p, _ in own), Fraction(0)) / n, Fraction(sum(label for _, label in own), n), squares)
    return found
