"""Isotonic calibration, Venn predictors, Venn-Abers, and values made monotone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Knot = tuple[float, Fraction, Fraction]  # score, mean label, weight


def _pooled_ties(scores: Sequence[float], labels: Sequence[int], weights: Sequence[float] | None) -> list[Knot]:
    """One knot per distinct score: the weighted mean label of the samples that share it. Knots without weight are left out."""
    by_score: dict[float, tuple[Fraction, Fraction]] = {}
    for i, score in enumerate(scores):
        weight = Fraction(1) if weights is None else Fraction(weights[i])
        label_sum, weight_sum = by_score.get(score, (Fraction(0), Fraction(0)))  # -0.0 and 0.0 are one key of a dict
        by_score[score] = (label_sum + weight * labels[i], weight_sum + weight)
    return [
        (0.0 if score == 0.0 else score, label_sum / weight_sum, weight_sum)
        for score, (label_sum, weight_sum) in sorted(by_score.items())
        if weight_sum > 0
    ]


def isotonic_blocks(scores: Sequence[float], labels: Sequence[int], weights: Sequence[float] | None = None) -> list[list[Knot]]:
    """The blocks of the least-squares non-decreasing fit, by pooling adjacent violators.

    Blocks of equal mean are pooled too, so that the values of successive blocks strictly increase and the answer is unique.
    """
    blocks: list[list[Knot]] = []
    for knot in _pooled_ties(scores, labels, weights):
        blocks.append([knot])
        while len(blocks) > 1 and _block_mean(blocks[-2]) >= _block_mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] = blocks[-1] + last
    return blocks


def _block_mean(block: list[Knot]) -> Fraction:
    return sum((mean * weight for _, mean, weight in block), Fraction(0)) / sum((weight for _, _, weight in block), Fraction(0))


def isotonic(
    scores: Sequence[float], labels: Sequence[int], weights: Sequence[float] | None = None
) -> tuple[list[float], list[Fraction]]:
    """(knots, values): the distinct scores, ascending, and the fitted value at each."""
    fitted = [(score, _block_mean(block)) for block in isotonic_blocks(scores, labels, weights) for score, _, _ in block]
    return [score for score, _ in fitted], [value for _, value in fitted]


def isotonic_predict(knots: Sequence[float], values: Sequence[Fraction], score: float) -> Fraction:
    """The fit as a right-continuous step function: the value at the largest knot at or below the score, the first value below.

    Interpolation between knots would make the output continuous, and a binning has finitely many values.
    """
    below = [value for knot, value in zip(knots, values, strict=True) if knot <= score]
    return below[-1] if below else values[0]


def venn(label_sum: int, count: int) -> tuple[Fraction, Fraction]:
    """(p0, p1) of the Venn predictor of a bin (Gupta, Podkopaev & Ramdas 2020, Appendix E).

    The share of label 1 in the bin when the test sample joins it with label 0, and with label 1. Valid for bins fixed before
    the sample, and for Algorithm 1 of Gupta & Ramdas 2021, where the samples strictly inside a bin and a test sample that
    falls in it are exchangeable given the boundaries.
    """
    return Fraction(label_sum, count + 1), Fraction(label_sum + 1, count + 1)


def ivap(scores: Sequence[float], labels: Sequence[int], score: float) -> tuple[Fraction, Fraction]:
    """(p0, p1) of the inductive Venn-Abers predictor (Vovk & Petej 2014), by its definition.

    Isotonic regression on the calibration samples and the test sample, which is given label 0, then label 1; each time the
    fitted value at the test score.
    """
    p0, p1 = (
        isotonic_predict(*isotonic([*scores, score], [*labels, label]), score)
        for label in (0, 1)
    )  # fmt: skip
    return p0, p1


def ivap_merged(p0: Fraction, p1: Fraction) -> Fraction:
    """One probability for a pair: p1 / (1 - p0 + p1), the minimax choice under log loss (Vovk & Petej 2014)."""
    return p1 / (1 - p0 + p1)


def monotone_values(values: Sequence[Fraction]) -> list[Fraction]:
    """The non-decreasing values with the smallest worst change: the mean of the running maximum and the running minimum from
    the right."""
    n = len(values)
    return [(max(values[: i + 1]) + min(values[i:])) / 2 for i in range(n)]
