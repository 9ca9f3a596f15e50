"""Intervals for the true frequency of label 1 in the bins of a fitted model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastbin._errors import GuaranteeError
from fastbin._scalars import check_alpha, check_choice
from fastbin._typing import Float64s
from fastbin.guarantees.evidence import Evidence, Interior, as_evidence, is_moved, require_interior
from fastbin.guarantees.moved import moved_interval
from fastbin.intervals import bonferroni, clopper_pearson, empirical_bernstein, hoeffding, sidak, wilson

BinBound = Callable[[Any, Any, float], Float64s]

_METHODS: dict[str, BinBound] = {
    "clopper-pearson": clopper_pearson,
    "hoeffding": hoeffding,
    "empirical-bernstein": empirical_bernstein,
    "wilson": wilson,
}


def interval_of_interior(interior: Interior, bin_bound: BinBound, level: float) -> Float64s:
    """`bin_bound` at failure probability `level` for each bin, whatever an unknown boundary label was. Shape (n_bins, 2).

    The interval for the true label sum of the interior is inside the union of those for all it can be.
    """
    intervals = bin_bound(interior.least, interior.counts, level)
    if interior.has_boundary_label.any():
        others = bin_bound(interior.most, interior.counts, level)
        intervals = np.stack([np.minimum(intervals[:, 0], others[:, 0]), np.maximum(intervals[:, 1], others[:, 1])], axis=1)
    return intervals


def interval(evidence: Evidence, alpha: float = 0.1, method: str = "clopper-pearson", simultaneous: bool = True) -> Float64s:
    """An interval for the true frequency of label 1 in each bin of a fitted model.

    Parameters
    ----------
    evidence : Evidence
        A fitted model, such as `fastbin.BinnedModel`, or a fitted calibrator.
    alpha : float
        Failure probability: of all bins together where `simultaneous`, else of each bin. Strictly between 0 and 1.
    method : {"clopper-pearson", "hoeffding", "empirical-bernstein", "wilson"}
        "clopper-pearson" is exact, with Sidak's level across bins, which are independent given the edges. "hoeffding" and
        "empirical-bernstein" (Gupta, Podkopaev & Ramdas 2020, Theorem 4) are the papers' forms, with their union
        bound. "wilson" is approximate and guarantees nothing; it exists for any model that has a tally. Choose one before
        looking at the result: the best of several does not hold at the alpha of each.
    simultaneous : bool
        Whether alpha is shared among the bins that hold samples.

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        Lower and upper ends in [0, 1]. [0, 1] for a bin without samples. Where label shift moved the model, the intervals are
        those of the target: the error of class rates that were counted is in them (`fastbin.guarantees.moved`).

    Raises
    ------
    GuaranteeError
        Where the method is not "wilson" and the model has no guarantee: smooth or isotonic maps, real weights, tied scores
        sent to one side. Where the model was moved to class rates that were estimated without labels, or whose origin its
        file does not hold (fastbin 0.1.0).
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Notes
    -----
    The schemes "ze" and "umb" also average the label of a boundary sample, which is not a draw from the bin. Their intervals
    are computed from the other samples and are the union over both values that this label can have had. O(n_bins).

    Examples
    --------
    >>> import fastbin as fb
    >>> scores, labels = [i / 1000 for i in range(1000)], [int(i % 10 < 8) for i in range(1000)]
    >>> model = fb.UniformMassBinning(n_bins=2).fit(scores, labels).model_
    >>> interval(model, alpha=0.1).round(3)
    array([[0.762, 0.834],
           [0.762, 0.834]])
    """
    alpha, method = check_alpha(alpha), check_choice(method, "method", tuple(_METHODS))
    evidence = as_evidence(evidence)
    if is_moved(evidence):
        return moved_interval(evidence, alpha, lambda share: _of_tally(evidence, share, method, simultaneous))
    return _of_tally(evidence, alpha, method, simultaneous)


def _of_tally(evidence: Evidence, alpha: float, method: str, simultaneous: bool) -> Float64s:
    """The intervals in the population that the tally was drawn from."""
    interior = _whole_tally(evidence) if method == "wilson" else require_interior(evidence, moved=True)
    n_covered = int(np.count_nonzero(interior.is_covered))
    level = alpha
    if simultaneous and n_covered > 1:
        share = sidak if method in ("clopper-pearson", "wilson") else bonferroni
        level = share(alpha, n_covered)
    return interval_of_interior(interior, _METHODS[method], level)


def _whole_tally(evidence: Evidence) -> Interior:
    """All samples of each bin, for an approximation that is not exact for boundary labels either."""
    if evidence.counts is None or evidence.label_sums is None:
        raise GuaranteeError("the model carries no tally, so its bins have no intervals; fit a binning")
    if evidence.is_weighted:
        raise GuaranteeError("Wilson's interval is about unweighted samples; use fb.shift.weighted_interval")
    counts, label_sums = np.asarray(evidence.counts), np.asarray(evidence.label_sums)
    return Interior(counts, label_sums, label_sums, np.zeros(counts.shape, dtype=np.bool_))
