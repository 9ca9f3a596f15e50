"""Split conformal prediction sets from scores, and the randomised form of the sets of bins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._base.array_types import Bools, Float64s
from fastbin._base.checks import check_labels, check_same_length, check_scores, refuse_first
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError
from fastbin._base.frames import check_same_index
from fastbin.guarantees.evidence import Evidence, as_evidence, refuse_whole_ties, require_interior
from fastbin.guarantees.sets import bin_sets, rarities, rational


def conformal_rank(n: int, alpha: Any) -> int:
    """The rank of the conformal threshold among n nonconformities: ceil((n + 1) (1 - alpha)), exactly.

    Parameters
    ----------
    n : int
        Number of calibration samples.
    alpha : float, Fraction or str
        Failure probability, strictly between 0 and 1. A float stands for the decimal it prints as; a str may be "1/20".

    Returns
    -------
    int
        From 1 to n + 1; n + 1 means that every label is in every set.

    Raises
    ------
    InputError, InputTypeError
        When alpha is out of range or no number.

    Examples
    --------
    >>> conformal_rank(9, 0.7), math.ceil((9 + 1) * (1 - 0.7))
    (3, 4)
    """
    return math.ceil((n + 1) * (1 - rational(alpha, large=True)))


def _nonconformity(scores: Float64s) -> tuple[npt.NDArray[np.complex128], npt.NDArray[np.complex128]]:
    """Of labels 0 and 1: score and 1 - score, exactly, as a rounded number and its error in the real and imaginary part.

    Complex numbers sort by real, then by imaginary part, so such a pair is one exact number to `sort` and `searchsorted`.
    """
    difference = 1.0 - scores
    error = -scores - (difference - 1.0)
    return scores.astype(np.complex128), difference + 1j * error


def conformal_sets(
    scores: Any,
    calibration_scores: Any,
    calibration_labels: Any,
    alpha: Any = 0.1,
    *,
    class_conditional: bool = False,
    uniforms: Any = None,
) -> Bools:
    """Split conformal prediction sets for binary labels, with exact finite-sample coverage.

    The nonconformity of a label is 1 minus its probability under the score: 1 - score for label 1, score for label 0. A label
    is in the set when its nonconformity is at most the `conformal_rank`-th smallest of the calibration samples. If the
    calibration samples and the next one are exchangeable, and the score was trained on other data, the set holds the next
    label with probability at least 1 - alpha (Vovk, Gammerman & Shafer 2005), for any score, calibrated or not.

    Parameters
    ----------
    scores : array-like of float in [0, 1], shape (n,)
        Scores to be given sets. May be empty.
    calibration_scores : array-like of float in [0, 1], shape (n_calibration,)
        May be empty: then every set is {0, 1}.
    calibration_labels : array-like of 0 and 1, shape (n_calibration,)
    alpha : float, Fraction or str
        Failure probability, from 1e-100 to 1/2. A float stands for the decimal it prints as.
    class_conditional : bool
        Compare each label with the calibration samples of that label alone: the set then holds the label with probability
        1 - alpha given that it is 0, and given that it is 1. Sets are larger, above all for a rare label.
    uniforms : array-like of float in [0, 1), shape (n,), optional
        One uniform number per row, independent of everything else: break ties at random, so that coverage is 1 - alpha
        exactly and sets are smaller. None: conservative.

    Returns
    -------
    ndarray of bool, shape (n, 2)
        Is 0 in the set, is 1 in the set. Rows may be (False, False) where alpha is large.

    Raises
    ------
    InputError, InputTypeError
        When a score is NaN or outside [0, 1], a label is not 0 or 1, lengths differ, or alpha is out of range.

    Notes
    -----
    Ranks in integers and rationals, nonconformities compared exactly. O((n + n_calibration) log n_calibration).

    Examples
    --------
    >>> scores, labels = [0.1, 0.4, 0.35, 0.8, 0.65, 0.9, 0.2, 0.55, 0.7], [0, 0, 1, 1, 1, 1, 0, 0, 0]
    >>> conformal_sets([0.05, 0.5, 0.95], scores, labels, alpha=0.2)
    array([[ True, False],
           [ True,  True],
           [False,  True]])
    """
    level = rational(alpha)
    new = check_scores(scores).astype(np.float64)
    check_same_index(calibration_scores=calibration_scores, calibration_labels=calibration_labels)
    seen = check_scores(calibration_scores, name="calibration_scores").astype(np.float64)
    labels = check_labels(calibration_labels, "calibration_labels")
    check_same_length(calibration_scores=seen, calibration_labels=labels)
    if uniforms is not None:
        draws = np.asarray(uniforms, dtype=np.float64)
        if draws.shape != new.shape:
            remedy = "every row needs one number"
            raise InputError(f"has shape {draws.shape} for {len(new)} scores", remedy, argument="uniforms")
        bad = ~((draws >= 0.0) & (draws < 1.0))
        refuse_first(bad, "uniforms", draws, "uniform numbers are in [0, 1)")
    of_seen = np.where(labels == 1, _nonconformity(seen)[1], _nonconformity(seen)[0])
    result = np.empty((new.shape[0], 2), dtype=np.bool_)
    for label, of_new in enumerate(_nonconformity(new)):
        reference = np.sort(of_seen[labels == label] if class_conditional else of_seen)
        below = np.searchsorted(reference, of_new, side="left")
        if uniforms is None:
            result[:, label] = below < conformal_rank(reference.shape[0], level)
        else:
            not_above = np.searchsorted(reference, of_new, side="right")
            mass = (reference.shape[0] - not_above) + draws * (not_above - below + 1)
            result[:, label] = mass > float(level * (reference.shape[0] + 1))
    return result


@shared_docs(bin_sets.__doc__)
def bin_set_chances(evidence: Evidence, alpha: Any = 0.1) -> Float64s:
    """The chance of each label to be in a bin's prediction set, for sets that cover with probability 1 - alpha exactly.

    The randomised form of `bin_sets`: draw one uniform number per sample, independent of everything else, and take the
    labels whose chance exceeds it. Sets are smaller; with bins that average a boundary label ("ze", "umb") coverage
    is at least 1 - alpha.

    Parameters
    ----------
    {evidence}
    {alpha}

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Chances in [0, 1] of labels 0 and 1.

    {Raises}

    Examples
    --------
    >>> import fastbin as fb
    >>> model = fb.ExplicitBinning(edges=[0.5]).fit([i / 100 for i in range(100)], [int(i > 45) for i in range(100)]).model_
    >>> bin_set_chances(model, alpha=0.05).round(3)
    array([[1.  , 0.49],
           [0.  , 0.95]])
    """
    evidence = as_evidence(evidence)
    level, interior = float(rational(alpha)), require_interior(evidence)
    refuse_whole_ties(evidence, "chances that are exact")
    chances = np.zeros((interior.counts.shape[0], 2))
    for label, counts, rarer, alike in rarities(interior):
        misses = np.clip((level * (counts + 1) - rarer) / (alike + 1), 0.0, 1.0)
        chances[:, label] = np.maximum(chances[:, label], 1.0 - misses)
    return chances
