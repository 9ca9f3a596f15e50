"""What a binning of n samples into n_bins bins promises before any label is seen, and how many samples a promise needs."""

from __future__ import annotations

import math

import numpy as np

from fastbin._base.checks import check_alpha, check_choice, check_count, check_unit_interval
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError
from fastbin.guarantees.bound_names import check_prior
from fastbin.guarantees.ece import ece_bound
from fastbin.guarantees.radius import exact_radius, last_where, worst_failure
from fastbin.intervals import sidak

KINDS = ("conditional", "marginal", "expected-ece", "ece")
UNIFORM_MASS = ("umd", "ze", "umb")

# In `samples_needed`, counts up to here are all checked; above, only those where failures are likeliest.
_EVERY = 4000
# How many runs of counts above the last failing one that bisection finds are checked as well, since failures are not monotone.
_MARGIN = 64


def interior_counts(n: int, n_bins: int, scheme: str) -> dict[tuple[int, bool], int]:
    """How many bins of a scheme have which (samples strictly between boundaries, is a boundary label averaged too).

    At most three keys, whatever n_bins is: uniform mass means that counts differ by one at most.
    """
    if scheme == "umb":  # boundaries at ranks floor(n b / B): the last bin has no boundary sample at its upper end
        small, extra = divmod(n, n_bins)
        last = small + (extra > 0)
        gaps = {small: n_bins - max(extra, 1), small + 1: extra - 1}
    else:  # boundaries at ranks ceil(b (n + 1) / B): the last gap is a small one
        small, extra = divmod(n + 1, n_bins)
        last = small - 1
        gaps = {small: n_bins - extra - (scheme == "ze"), small + 1: extra}
    counts = {(gap - 1, scheme != "umd"): bins for gap, bins in gaps.items() if bins > 0}
    return counts if scheme == "umd" else {(last, False): 1, **counts}


def epsilon(
    n: int,
    n_bins: int,
    alpha: float = 0.1,
    kind: str = "conditional",
    bound: str = "a-priori",
    *,
    scheme: str = "umd",
    delta: float = 0.0,
) -> float:
    """What uniform-mass binning of n samples into n_bins bins promises, before any label is seen.

    Parameters
    ----------
    n : int
        Number of calibration samples. "hoeffding" needs n >= 2 n_bins, as the theorems do; "a-priori" a sample in every bin.
    n_bins : int
        Number of bins, at least 1.
    alpha : float
        Failure probability, from 1e-100 to 1/2 (not used by "expected-ece").
    kind : {"conditional", "marginal", "expected-ece", "ece"}
        "conditional": all bins at once; "marginal": the bin of the next sample; "expected-ece": the mean of the
        l_p-ECE for p in [1, 2]; "ece": the expected calibration error. See `Certificate`.
    bound : {"a-priori", "hoeffding"}
        "hoeffding": the papers' closed formulas, Gupta & Ramdas 2021, (8) for "umd", (10) for "ze" and "umb", (11) where
        delta > 0 or the kind is "marginal", Theorem 4(b) for "expected-ece". "a-priori": the same promise with
        the exact binomial radius (`exact_radius`) in place of Hoeffding's inequality and Sidak's level in place of the union
        bound; for "expected-ece" the bound that the proof of Theorem 4(b) gives, up to sqrt(2) below the one stated; for
        "ece" the smaller of that of `ece_bound` and the conditional one, which is smaller for up to four bins.
    scheme : {"umd", "ze", "umb"}
        "ze" and "umb" average a boundary label in every bin but the last, which costs 1 / count.
    delta : float
        Value randomisation of Gupta & Ramdas 2021, Algorithm 2, in [0, 1); added to the result.

    Returns
    -------
    float
        The guaranteed distance. "hoeffding" may exceed 1, and then says nothing.

    Raises
    ------
    GuaranteeError
        When n is too small for the theorem.
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Notes
    -----
    Not monotone in n_bins, since exact radii are not monotone in the count and (n + 1) / n_bins is rounded. At most three
    calls of `exact_radius`, which are cached.

    Gupta & Ramdas 2021 say that (n, alpha, n_bins) = (1500, 0.1, 10) gives a marginal epsilon below 0.1; it gives
    0.10026, and 1510 is the smallest such n. The exact radius needs 709, fails again with some n up to 758, and keeps the
    promise from 759 on: it is not monotone in n either. `samples_needed` gives the n from which on a promise holds.

    Examples
    --------
    >>> round(epsilon(3000, 10, alpha=0.1, bound="hoeffding"), 4)
    0.0941
    >>> round(epsilon(3000, 10, alpha=0.1), 4)
    0.0753
    """
    n, n_bins, alpha = check_count(n, "n"), check_count(n_bins, "n_bins"), check_alpha(alpha)
    kind, bound = check_prior(kind, bound, KINDS)
    scheme = check_choice(scheme, "scheme", UNIFORM_MASS)
    delta = check_unit_interval(delta, "delta", open_right=True)
    if bound == "hoeffding":
        return hoeffding_epsilon(n, n_bins, alpha, kind, scheme, delta)
    cells = interior_counts(n, n_bins, scheme)
    counts, repeats = [count for count, _ in cells], list(cells.values())
    if min(counts) < 1:
        raise GuaranteeError(
            f"n is {n} for {n_bins} bins, which leaves a bin without a sample of its own (Gupta & Ramdas 2021, Theorem 3 needs "
            f"n >= 2 n_bins); take at most {max(1, n // 2)} bins"
        )
    shifts = [1.0 / (count + 1) if boundary else 0.0 for count, boundary in cells]
    if kind == "expected-ece":
        return max(math.sqrt(0.25 / count + delta * delta) + shift for count, shift in zip(counts, shifts, strict=True))
    level = alpha if kind == "marginal" else sidak(alpha, n_bins)
    radius = max(exact_radius(count, level) + shift for count, shift in zip(counts, shifts, strict=True))
    if kind == "ece":  # both are known before the data, so the smaller of the two costs no alpha
        radius = min(radius, ece_bound(np.repeat(counts, repeats), n, alpha, shifts=np.repeat(shifts, repeats)))
    return radius + delta


def hoeffding_epsilon(n: int, n_bins: int, alpha: float, kind: str, scheme: str, delta: float) -> float:
    """The closed formulas of Gupta & Ramdas 2021; arguments are checked by the caller."""
    if n < 2 * n_bins:
        raise GuaranteeError(
            f"n is {n} for {n_bins} bins, and Gupta & Ramdas 2021, Theorems 3 and 4 and Corollary 1 need n >= 2 n_bins; "
            f"take at most {max(1, n // 2)} bins" + ("" if n >= 2 else ", and at least 2 samples")
        )
    if kind == "expected-ece":
        if scheme != "umd":
            raise InputError(
                f"Gupta & Ramdas 2021, Theorem 4(b) is about scheme 'umd', not {scheme!r}; bound='a-priori' covers it"
            )
        return math.sqrt(n_bins / (2.0 * n)) + delta
    sharing = 1 if kind == "marginal" else n_bins
    radius = math.sqrt(math.log(2.0 * sharing / alpha) / (2.0 * (n // n_bins - 1)))
    return radius + (0.0 if scheme == "umd" else 1.0 / (n // n_bins)) + delta


@shared_docs(epsilon.__doc__)
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
    (kind, bound), scheme = check_prior(kind, bound), check_choice(scheme, "scheme", UNIFORM_MASS)
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
        return hoeffding_epsilon(per_bin * n_bins, n_bins, alpha, kind, scheme, 0.0) <= epsilon

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
