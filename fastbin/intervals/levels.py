"""Sharing one failure probability among several bins."""

from __future__ import annotations

import math

from fastbin._docstrings import shared_docs
from fastbin._scalars import check_count, check_level


def sidak(alpha: float, n_bins: int) -> float:
    """The failure probability per bin that gives `alpha` over `n_bins` independent bins: 1 - (1 - alpha)^(1/n_bins).

    Given where the samples fell, the label sums of different bins are independent (Gupta & Ramdas 2021, Lemma 2 and the
    Markov property in its proof), so the product form holds with equality and nothing is lost to a union bound.

    Parameters
    ----------
    alpha : float
        Failure probability over all bins, from 1e-110 to 1/2.
    n_bins : int
        At least 1.

    Returns
    -------
    float
        Failure probability of one bin.

    Raises
    ------
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Examples
    --------
    >>> round(sidak(0.1, 10), 6)
    0.010481
    """
    alpha, n_bins = check_level(alpha), check_count(n_bins, "n_bins")
    if n_bins == 1:
        return alpha
    return -math.expm1(math.log1p(-alpha) / n_bins)


@shared_docs(sidak.__doc__)
def bonferroni(alpha: float, n_bins: int) -> float:
    """The failure probability per bin that gives `alpha` over `n_bins` bins that may depend on each other: alpha / n_bins.

    {Parameters}

    {Returns}

    {Raises}

    Examples
    --------
    >>> bonferroni(0.1, 10)
    0.01
    """
    return check_level(alpha) / check_count(n_bins, "n_bins")
