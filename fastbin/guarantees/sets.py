"""Prediction sets for binary labels: for each bin of a model, from its tally."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from fastbin._base.array_types import Bools, Int64s
from fastbin._base.checks import check_alpha
from fastbin.guarantees.evidence import Evidence, Interior, as_evidence, has_whole_ties, require_interior


def rational(alpha: Any, *, large: bool = False) -> Fraction:
    """alpha as it was written: the decimal 0.7, not the double just below it, whose rank can be one too large."""
    exact = Fraction(alpha) if isinstance(alpha, str) else alpha
    check_alpha(exact, large=large)
    return exact if isinstance(exact, Fraction) else Fraction(repr(float(exact)))


def bin_sets(evidence: Evidence, alpha: Any = 0.1) -> Bools:
    """For each bin of a fitted model, which labels belong in the prediction set of a sample that falls in it.

    Conformal prediction within the bin. Given the edges, the samples of a bin and the next sample that falls there are
    exchangeable, so the label of that sample is in its bin's set with probability at least 1 - alpha, in each bin. The
    more frequent label is always in the set; the rarer one is if (its count + 1) / (count + 1) exceeds alpha.

    Parameters
    ----------
    evidence : Evidence
        A fitted model, such as `fastbin.BinnedModel`, or a fitted calibrator.
    alpha : float, Fraction or str
        Failure probability in each bin, from 1e-100 to 1/2. A float stands for the decimal it prints as.

    Returns
    -------
    ndarray of bool, shape (n_bins, 2)
        Is 0 in the set, is 1 in the set. Both for a bin without samples.

    Raises
    ------
    GuaranteeError
        Where the labels of a bin are not exchangeable with the next one: smooth or isotonic maps, real weights, tied scores
        sent to one side, values moved to other class rates.
    InputError, InputTypeError
        When alpha is out of range or no number.

    Notes
    -----
    For the schemes "ze" and "umb" a label is in if it would be for either value of the boundary sample's label. Where whole
    groups of equal scores lie at edges, a label is in if it would be at alpha / 2 with the samples that the rank of the edge
    placed there, or without them (docs/guarantees.md, Theorem F8). Exact integer arithmetic, O(n_bins).

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 100 for i in range(100)]
    >>> labels = [int(score > 0.45) for score in scores]
    >>> model = fb.UniformMassBinning(n_bins=4).fit(scores, labels).model_
    >>> bin_sets(model, alpha=0.1)
    array([[ True, False],
           [ True,  True],
           [False,  True],
           [False,  True]])
    """
    level, evidence = rational(alpha), as_evidence(evidence)
    interior = require_interior(evidence)
    if has_whole_ties(evidence):
        level /= 2  # not exchangeable, but each label is at most as rare as in one of the readings
    result = np.zeros((interior.counts.shape[0], 2), dtype=np.bool_)
    for label, counts, rarer, alike in rarities(interior):
        allowed = np.array([level.numerator * (int(n) + 1) // level.denominator for n in counts], dtype=np.int64)
        result[:, label] |= rarer + alike + 1 > allowed
    return result


def rarities(interior: Interior) -> Iterator[tuple[int, Int64s, Int64s, Int64s]]:
    """For a sample with either label that joins a bin: how many samples there have a rarer label, and one as rare as its own.

    Yields (label, counts, rarer, alike) for each reading of the tally.
    """
    for counts, ones in interior.readings:
        for label in (0, 1):
            own = ones if label == 1 else counts - ones
            other = counts - own
            yield label, counts, np.where(other < own + 1, other, 0), np.where(other == own + 1, own + other, own)
