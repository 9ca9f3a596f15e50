"""How many samples a promise needs: the number from which on it holds."""

from __future__ import annotations

import math

from fastbin._docstrings import shared_docs
from fastbin._errors import InputError
from fastbin._scalars import check_alpha, check_choice, check_count, check_unit_interval
from fastbin.guarantees.apriori import UNIFORM_MASS
from fastbin.guarantees.apriori import epsilon as epsilon_of
from fastbin.guarantees.bound_names import check_prior_bound
from fastbin.guarantees.radius import last_where, worst_failure
from fastbin.intervals import sidak

# Counts up to here are all checked; above, only those where failures are likeliest.
_EVERY = 4000
# How many runs of counts above the last failing one that bisection finds are checked as well, since failures are not monotone.
_MARGIN = 64


@shared_docs(epsilon_of.__doc__)
def samples_needed(
    epsilon: float, n_bins: int, alpha: float = 0.1, kind: str = "conditional", bound: str = "a-priori", *, scheme: str = "umd"
) -> int:
    """From how many samples on uniform-mass binning into n_bins bins promises `epsilon`.

    With this number of samples *and every larger one* ``fastbin.epsilon(n, n_bins, ...) <= epsilon``. By "a-priori" some
    smaller numbers are enough too: exact binomial radii are not monotone in the count, so one more sample can break a promise.

    Parameters
    ----------
    epsilon : float
        The largest distance allowed, in (0, 1).
    {n_bins}
    alpha : float
        Failure probability, from 1e-100 to 1/2.
    kind : {"conditional", "marginal"}
        All bins at once, or the bin of the next sample.
    bound : {"a-priori", "hoeffding"}
        As in `fastbin.epsilon`.
    scheme : {"umd", "ze", "umb"}
        As in `fastbin.epsilon`.

    Returns
    -------
    int
        At least 2 n_bins.

    Raises
    ------
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type; when the number would exceed 2**53.

    Notes
    -----
    Hoeffding's inequality gives a number from which on the promise holds in any case. Below, a mean of N samples accepts the
    same number of label sums, floor(2 N epsilon), over a run of counts, and fails most at the run's last count (all counts are
    checked up to 4,000, where runs are short). The last run that fails is found by bisection, and 64 runs above it are
    checked one by one. Takes seconds for epsilon = 0.001.

    Examples
    --------
    >>> samples_needed(0.1, 10), samples_needed(0.1, 10, kind="marginal"), samples_needed(0.1, 10, bound="hoeffding")
    (1709, 759, 2660)
    >>> import fastbin as fb
    >>> [n for n in range(1655, 1712, 3) if fb.epsilon(n, 10) <= 0.1][:4]
    [1661, 1664, 1667, 1709]
    """
    epsilon = check_unit_interval(epsilon, "epsilon", open_left=True, open_right=True)
    n_bins, alpha = check_count(n_bins, "n_bins"), check_alpha(alpha)
    kind = check_choice(kind, "kind", ("conditional", "marginal"))
    bound, scheme = check_prior_bound(bound, kind), check_choice(scheme, "scheme", UNIFORM_MASS)
    enough = _by_hoeffding(epsilon, n_bins, alpha, kind, scheme)
    if bound == "hoeffding":
        return enough
    level = alpha if kind == "marginal" else sidak(alpha, n_bins)
    needed, with_boundary = 2 * n_bins, (False,) if scheme == "umd" or n_bins == 1 else (False, True)
    for boundary in with_boundary:
        # A bin averages at most all samples; from `enough` on every bin's count is larger than any that fails.
        count = _last_failing(enough // n_bins + 1, epsilon, level, boundary)
        if count > 0:
            needed = max(needed, _last_with(count, n_bins, scheme, boundary) + 1)
    return needed


def _by_hoeffding(epsilon: float, n_bins: int, alpha: float, kind: str, scheme: str) -> int:
    """The smallest number of samples for which the closed formula is small enough; it falls as they grow."""

    def holds(per_bin: int) -> bool:
        return epsilon_of(per_bin * n_bins, n_bins, alpha, kind, "hoeffding", scheme=scheme) <= epsilon

    high = 2
    while not holds(high):
        high *= 2
        if high * n_bins > 2**53:
            raise InputError(f"epsilon is {epsilon!r}; with {n_bins} bins that takes more than 2**53 samples")
    low = max(1, high // 2)  # fails, or is too few for the theorem
    return (last_where(lambda per_bin: not holds(per_bin), low, high) + 1) * n_bins


def _last_failing(most: int, epsilon: float, level: float, boundary: bool) -> int:
    """The largest count below `most` whose mean misses by more than epsilon too often, or 0.

    `boundary`: whether a boundary label is averaged too.
    """

    def radius(count: int) -> float:
        return epsilon - 1.0 / (count + 1) if boundary else epsilon

    def fails(count: int) -> bool:
        return radius(count) <= 0.0 or worst_failure(count, radius(count)) > level

    if most <= _EVERY:
        return next((count for count in range(most, 0, -1) if fails(count)), 0)

    def end_of_run(width: int) -> int:
        """The largest count that accepts `width` label sums at most; the width of a count rises with it."""
        return last_where(lambda count: 2.0 * count * radius(count) < width + 1, 0, most + 1)

    failing = last_where(lambda width: fails(end_of_run(width)), 0, math.floor(2.0 * most * radius(most)))
    return next(end for width in range(failing + _MARGIN, -1, -1) if (end := end_of_run(width)) == 0 or fails(end))


def _last_with(count: int, n_bins: int, scheme: str, boundary: bool) -> int:
    """The largest number of samples with a bin of `count` samples of its own, with a boundary label or without.

    The inverse of `interior_counts`.
    """
    if scheme == "umb":
        return n_bins * (count + 2) - 1 if boundary else n_bins * count
    return n_bins * (count + 2) - (3 if boundary else 2)
