"""The promise of n samples in n_bins bins before any label is seen, and how many bins or samples a promise allows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import check_alpha, check_choice, check_count, check_n_samples, check_number, check_unit_interval
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin._base.ranks import CUTS
from fastbin.guarantees.certificate import check_prior, check_side_of
from fastbin.guarantees.law import (
    ece_bound,
    exact_radius,
    failures_above,
    largest_mean_errors,
    last_where,
    one_sided_radius,
    worst_failure,
)
from fastbin.intervals import sidak
from fastbin.intervals.binomial import special_functions

# The targets of auto_n_bins. Gupta & Ramdas 2021 work with (0.1, 0.1) throughout section 2.2.
_AUTO_ALPHA = 0.1
_AUTO_EPSILON = 0.1
# Sun, Song & Hero 2023, equation (10) leaves the constant of the n^(1/3) law open. Minimising their bound gives 0.8 for a
# frequency that changes by 1 per unit of score mass and 2.0 for 4; the risk of their Gaussian example is least at 5.
_AUTO_CUBE_ROOTS = 2
# auto_n_bins gives up its target rather than go below this number of bins, as long as a bin keeps that many samples: fewer
# bins say too little.
_AUTO_FEWEST, _AUTO_SAMPLES_PER_BIN = 5, 20
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
    side: str = "both",
) -> float:
    """The promise of uniform-mass binning of n samples into n_bins bins, before any label is seen.

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
        expected calibration error; "ece": that error itself. See `Certificate`.
    bound : {"a-priori", "hoeffding"}
        "hoeffding": the papers' closed formulas, Gupta & Ramdas 2021, (8) for "umd", (10) for "ze" and "umb", (11) where
        delta > 0 or the kind is "marginal", Theorem 4(b) for "expected-ece". "a-priori": the same promise with
        the exact binomial radius (`exact_radius`) in place of Hoeffding's inequality and Sidak's level in place of the union
        bound; for "expected-ece" the exact mean error of a binomial mean at its largest (de Moivre: fastbin, Theorem F15); for
        "ece" the smaller of that of `ece_bound` and the conditional one, which is smaller for two bins, and for three of few
        samples.
    scheme : {"umd", "ze", "umb"}
        "ze" and "umb" average a boundary label in every bin but the last, which costs 1 / count.
    delta : float
        Value randomisation of Gupta & Ramdas 2021, Algorithm 2, in [0, 1); added to the result.
    side : {"both", "upper", "lower"}
        For the kinds "conditional" and "marginal" by "a-priori": how far frequencies are above the values at most, or below
        them, which is the same distance (fastbin, Theorem F28).

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
    >>> round(epsilon(3000, 10, alpha=0.1), 4), round(epsilon(3000, 10, alpha=0.1, side="upper"), 4)
    (0.0753, 0.0684)
    """
    n, n_bins, alpha = check_n_samples(n, "n"), check_count(n_bins, "n_bins"), check_alpha(alpha)
    kind, bound = check_prior(kind, bound, KINDS)
    scheme = check_choice(scheme, "scheme", UNIFORM_MASS)
    delta = check_unit_interval(delta, "delta", open_right=True)
    return promised(n, n_bins, alpha, kind, bound, scheme, delta, check_side_of(side, kind, bound))


def promised(
    n: int,
    n_bins: int,
    alpha: float,
    kind: str = "conditional",
    bound: str = "a-priori",
    scheme: str = "umd",
    delta: float = 0.0,
    side: str = "both",
) -> float:
    """`epsilon` of checked arguments."""
    if bound == "hoeffding":
        return hoeffding_epsilon(n, n_bins, alpha, kind, scheme, delta)
    cells = interior_counts(n, n_bins, scheme)
    counts, repeats = [count for count, _ in cells], list(cells.values())
    if min(counts) < 1:
        raise GuaranteeError(
            f"n is {n} for {n_bins} bins, which leaves a bin without a sample of its own; take at most "
            f"{max(1, (n + 1) // 2)} bins"
        )
    shifts = [1.0 / (count + 1) if boundary else 0.0 for count, boundary in cells]
    if kind == "expected-ece":
        return min(1.0, float((largest_mean_errors(counts, delta) + shifts).max()))
    level = alpha if kind == "marginal" else sidak(alpha, n_bins)
    of_side = exact_radius if side == "both" else one_sided_radius
    radius = max(of_side(count, level) + shift for count, shift in zip(counts, shifts, strict=True))
    if kind == "ece":  # both are known before the data, so the smaller of the two costs no alpha
        radius = min(radius, ece_bound(np.repeat(counts, repeats), n, alpha, shifts=np.repeat(shifts, repeats)))
    return min(1.0, radius + delta)


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


# ------------------------------------------------------------------------------------------------- how many bins


@shared_docs(samples_needed.__doc__)
def choose_n_bins(
    n: int, alpha: float = 0.1, epsilon: float = 0.1, kind: str = "conditional", bound: str = "a-priori", *,
    ratio: float | None = None, rate: float | None = None,
) -> int:  # fmt: skip
    """The largest number of uniform-mass bins whose promise for n samples is at most `epsilon`, or a factor of `ratio`.

    Decided before any label is seen, so the certificate of the model keeps its alpha. If the number of bins is chosen by
    results on the same labels, the usual certificate is not valid: it can fail twice as often as promised.

    Parameters
    ----------
    n : int
        Number of calibration samples.
    {alpha}
    epsilon : float
        The largest distance allowed, in (0, 1).
    {kind}
    bound : {"a-priori", "hoeffding"}
        "a-priori": the exact binomial radius. "hoeffding": Gupta & Ramdas 2021, equation (8), the curve of their Figure 2,
        or (11) for "marginal".
    ratio : float, optional
        For rare events, in place of the three before: the largest factor allowed, above 1, of ``certificate(alpha, "ratio")``.
        The bins are those of equal expected positives, ``UniformMassBinning(n_bins, scheme="ums",
        cuts="expected-positives")``, of which a tenth of the n samples places the edges. In bins that each have 1 / n_bins of
        all positives, the factor of the certificate is at most `ratio` with probability at least 1 - alpha / 10, over samples
        (fastbin, Theorem F16). How far the bins are from that, the scores decide; the certificate holds in any case.
    rate : float, optional
        With `ratio`: the share of label 1 that is expected, in (0, 1): a guess, or the rate of older rows. A rate that is too
        high makes the factor larger than `ratio`, and no promise false.

    Returns
    -------
    int
        Number of bins, between 1 and (n + 1) // 2; with `ratio` at most n // 10.

    Raises
    ------
    GuaranteeError
        When not even one bin keeps the promise; the message says how many samples are enough.
    InputError, InputTypeError
        When an argument is outside its range or of the wrong type.

    Notes
    -----
    With the exact radius the promise is not monotone in the number of bins. The search goes through the number of samples
    per bin, (n + 1) // n_bins, from 2 upwards, so from many bins to few, and the answer is the largest n_bins whose own
    promise holds; a smaller number may fail where the answer holds, and so may a few larger n with as many bins:
    `samples_needed` says from which n on a number of bins keeps a promise. Between 1 and a few hundred worst cases are
    evaluated, and the failure at 1/2 for every number of samples before, O(1 / epsilon^2): seconds at epsilon = 0.001, a minute
    at 0.0003.

    Examples
    --------
    >>> choose_n_bins(3000), choose_n_bins(3000, bound="hoeffding")
    (15, 11)
    >>> choose_n_bins(1_000_000, ratio=1.5, rate=0.001)
    11
    """
    n, alpha = check_n_samples(n, "n"), check_alpha(alpha)
    if ratio is not None or rate is not None:
        factor, rate = _checked_ratio(ratio, rate, (epsilon, kind, bound))
        return _most_bins_of_positives(n, alpha, factor, rate)
    epsilon = check_unit_interval(epsilon, "epsilon", open_left=True, open_right=True)
    kind, bound = check_prior(kind, bound)
    largest = _largest_exact if bound == "a-priori" else _largest_hoeffding
    n_bins = largest(n, alpha, epsilon, kind)
    if n_bins is None:
        best = promised(n, 1, alpha, "conditional", bound) if bound == "a-priori" or n >= 2 else 1.0
        raise GuaranteeError(
            f"{n} samples in a single bin promise no more than {best:.3g} at alpha={alpha:g}, not "
            f"epsilon={epsilon:g} (Gupta & Ramdas 2021, Theorem 3); one bin keeps it from "
            f"{samples_needed(epsilon, 1, alpha, kind, bound)} samples on, or take a larger epsilon or alpha"
        )
    return n_bins


def _largest_hoeffding(n: int, alpha: float, epsilon: float, kind: str) -> int | None:
    """The closed formula grows with the number of bins, so bisection finds the largest that fits."""

    def fits(n_bins: int) -> bool:
        return promised(n, n_bins, alpha, kind, "hoeffding") <= epsilon

    return last_where(fits, 1, n // 2 + 1) if n >= 2 and fits(1) else None


def _largest_exact(n: int, alpha: float, epsilon: float, kind: str) -> int | None:
    """The largest n_bins with failure probability within its level, block by block of equal q = (n + 1) // n_bins.

    In a block bins hold q - 1 samples, and q as well unless n_bins divides n + 1, which only the block's largest can. The level
    falls as n_bins grows, so a block has one largest n_bins that fits.
    """
    for start in range(2, n + 2, 8192):
        blocks = np.arange(start, min(start + 8192, n + 2))
        smallest = (n + 1) // (blocks + 1) + 1
        levels = np.full(blocks.shape, alpha) if kind == "marginal" else -np.expm1(math.log1p(-alpha) / smallest)
        possible = (smallest <= (n + 1) // blocks) & (_failure_at_half(blocks.astype(np.float64) - 1.0, epsilon) <= levels)
        for block in np.flatnonzero(possible):
            n_bins = _largest_in_block(n, int(blocks[block]), int(smallest[block]), alpha, epsilon, kind)
            if n_bins is not None:
                return n_bins
    return None


def _largest_in_block(n: int, q: int, smallest: int, alpha: float, epsilon: float, kind: str) -> int | None:
    """The largest n_bins with (n + 1) // n_bins == q whose worst failure probability is within its level."""

    def fits(n_bins: int, failure: float) -> bool:
        return failure <= (alpha if kind == "marginal" else sidak(alpha, n_bins))

    largest = (n + 1) // q
    failure = worst_failure(q - 1, epsilon)
    if (n + 1) % q == 0:
        if fits(largest, failure):
            return largest
        largest -= 1
    if largest < smallest or not fits(smallest, failure):
        return None
    failure = max(failure, worst_failure(q, epsilon))
    if not fits(smallest, failure):
        return None
    return last_where(lambda n_bins: fits(n_bins, failure), smallest, largest + 1)


def _failure_at_half(counts: Float64s, epsilon: float) -> Float64s:
    """A lower bound on `worst_failure` for each count: the failure probability at one frequency near 1/2."""
    widths = np.floor(2.0 * counts * epsilon * (1.0 + 2.0**-52))
    lowest = np.maximum(np.floor(counts * (0.5 - epsilon)), 0.0)
    return failures_above(lowest, counts, widths, epsilon)


def _checked_ratio(ratio: Any, rate: Any, others: tuple[Any, ...]) -> tuple[float, float]:
    """Both numbers; `others` are the arguments of the other promise, which must be as they are by default."""
    if ratio is None:
        raise InputError(f"is {rate!r}, and ratio is None", "pass ratio=1.25, or leave rate out", argument="rate", value=rate)
    if rate is None:
        remedy = "pass the share of label 1 that is expected: a ratio depends on how many such samples there are"
        raise InputError("is None, and ratio is given", remedy, argument="rate")
    factor = check_number(ratio, "ratio")
    if not 1.0 < factor < math.inf:
        raise InputError(None, "it must be a factor above 1, such as 1.25", argument="ratio", value=factor)
    if others != (0.1, "conditional", "a-priori"):
        remedy = "leave epsilon, kind and bound out"
        raise InputError(f"is {factor!r}, a promise of its own about all bins", remedy, argument="ratio", value=factor)
    return factor, check_unit_interval(rate, "rate", open_left=True, open_right=True)


# Theorem F16 of docs/guarantees.md: the chance that some bin has too few samples of label 1, as a share of alpha.
_CHANCE = 0.1


def _most_bins_of_positives(n: int, alpha: float, ratio: float, rate: float) -> int:
    """The largest number of bins of equal expected positives that keep a factor. More bins need more and have fewer of them."""

    def fits(n_bins: int, n_samples: int = n) -> bool:
        tallied = n_samples - _first_of(n_samples)
        needed = positives_needed(ratio, sidak(alpha, n_bins))
        if needed > tallied:
            return False
        # P(X < needed) for X ~ Binomial(tallied, rate / n_bins)
        too_few = special_functions().betaincc(float(needed), tallied - needed + 1.0, rate / n_bins)
        return bool(n_bins * too_few <= _CHANCE * alpha)

    if n >= 10 and fits(1):
        return last_where(fits, 1, _first_of(n) + 1)
    enough = 16
    while not fits(1, enough):
        enough *= 2
        if enough > 2**53:
            raise _too_small(ratio)
    enough = max(10, last_where(lambda n_samples: not fits(1, n_samples), 1, enough) + 1)
    raise GuaranteeError(
        f"{n} samples, a share of {rate:g} of them with label 1, are too few for a factor of {ratio:g} at alpha={alpha:g} "
        f"(fastbin, Theorem F16); one bin keeps it from {enough} samples on, or take a larger ratio"
    )


def _first_of(n: int) -> int:
    """How many of n samples place the edges."""
    return math.floor(CUTS["expected-positives"] * n)


def positives_needed(ratio: float, level: float) -> int:
    """From how many samples of label 1 on a bin keeps a factor at this level, whatever its other samples: at least 2."""
    high = 2
    while _rare_factor(high, level) > ratio:
        high *= 2
        if high > 2**53:
            raise _too_small(ratio)
    return 2 if high == 2 else last_where(lambda positives: _rare_factor(positives, level) > ratio, high // 2, high) + 1


def _rare_factor(positives: int, level: float) -> float:
    """The factor between x / N and the ends of Clopper & Pearson for N without bound, which is the largest of all N."""
    special = special_functions()
    low, high = special.gammaincinv(positives, level / 2.0), special.gammainccinv(positives + 1.0, level / 2.0)
    return float(max(high / positives, positives / low))


def _too_small(ratio: float) -> InputError:
    return InputError(None, "that takes more than 2**53 samples; take a larger one", argument="ratio", value=ratio)


def auto_n_bins(n: int) -> int:
    """The number of bins that ``n_bins="auto"`` takes for n calibration samples.

    The smaller of two numbers: the largest number of bins that promises epsilon = 0.1 at alpha = 0.1 in all bins at
    once (`choose_n_bins`), and 2 n^(1/3), the growth that balances calibration and sharpness (Sun, Song & Hero 2023, equation
    (10); the constant is ours). The first decides up to about 10,000 samples; above, epsilon falls below 0.1 and
    keeps falling. For small n a target of 0.1 would leave one to four bins: then it is given up, and the number is 5 as long as
    that leaves 20 samples per bin, and n // 20, but at least 1, below 100 samples. Whatever the number, the model's
    certificate states what it is worth.

    Parameters
    ----------
    n : int
        Number of calibration samples, at least 1.

    Returns
    -------
    int
        Number of bins.

    Raises
    ------
    InputError, InputTypeError
        When n is not a positive integer.

    Notes
    -----
    Below 10 ms for any n; results are cached.

    Examples
    --------
    >>> [auto_n_bins(n) for n in (100, 1_000, 3_000, 10_000, 1_000_000)]
    [5, 6, 15, 42, 200]
    """
    return _auto_n_bins(check_n_samples(n, "n"))


@lru_cache(maxsize=256)
def _auto_n_bins(n: int) -> int:
    fewest = max(1, min(_AUTO_FEWEST, n // _AUTO_SAMPLES_PER_BIN))
    most = max(fewest, _AUTO_CUBE_ROOTS * integer_cube_root(n))
    if most > fewest and n >= 2 * most and promised(n, most, _AUTO_ALPHA, bound="hoeffding") <= _AUTO_EPSILON:
        return most  # the exact promise is better still, so no search is needed
    largest = _largest_exact(n, _AUTO_ALPHA, _AUTO_EPSILON, "conditional")
    return min(most, max(fewest, largest or 1))


def integer_cube_root(n: int) -> int:
    """The largest integer whose cube is at most n: in doubles ``int(1000 ** (1 / 3))`` is 9.

    >>> integer_cube_root(1000), integer_cube_root(999)
    (10, 9)
    """
    n = check_count(n, "n", minimum=0)
    root = 1 << -(-n.bit_length() // 3)  # at least the root; Newton's iteration falls to it
    while root**3 > n:
        root = (2 * root + n // root**2) // 3
    return root


class TradeOff(NamedTuple):
    """The promises of one number of bins; see `trade_off`.

    Attributes
    ----------
    n_bins : int
    samples_per_bin : int
        Of the smallest bin.
    conditional : float
        The exact radius for all bins at once.
    marginal : float
        The exact radius for the bin of the next sample.
    conditional_hoeffding : float
        Gupta & Ramdas 2021, equation (8).
    expected_ece : float
        The bound on the mean of the expected calibration error.
    """

    n_bins: int
    samples_per_bin: int
    conditional: float
    marginal: float
    conditional_hoeffding: float
    expected_ece: float


@shared_docs(choose_n_bins.__doc__)
def trade_off(n: int, alpha: float = 0.1, n_bins: list[int] | None = None, side: str = "both") -> list[TradeOff]:
    """The promises of n samples for several numbers of bins: the table behind ``fastbin bins``.

    Parameters
    ----------
    n : int
        Number of calibration samples, at least 2.
    {alpha}
    n_bins : list of int, optional
        The numbers of bins, each at most n // 2. By default 1, 2, 5, 10, 15, 20, 25, 50 and so on, with the choice of
        `auto_n_bins` among them, until the exact conditional promise is above 0.25 or the bins are ten times as many as
        `auto_n_bins` takes.
    side : {"both", "upper", "lower"}
        Of the exact conditional and marginal radius; the other two numbers are of both sides.

    Returns
    -------
    list of TradeOff
        One row per number of bins, in ascending order: the smallest count of a bin, the exact conditional and marginal radius,
        Gupta & Ramdas 2021, equation (8), and the bound on the mean of the ECE.

    Raises
    ------
    GuaranteeError
        When a number of bins is above n // 2.
    {InputError, InputTypeError}

    Examples
    --------
    >>> for row in trade_off(1000, n_bins=[5, 10]):
    ...     print(row.n_bins, row.samples_per_bin, round(row.conditional, 3), round(row.conditional_hoeffding, 3))
    5 199 0.083 0.108
    10 99 0.131 0.164
    """
    n, alpha = check_n_samples(n, "n", minimum=2), check_alpha(alpha)
    side = check_side_of(side, "conditional", None)
    if n_bins is not None and not isinstance(n_bins, Iterable):
        raise InputTypeError(f"is {n_bins!r}", "give a list of numbers of bins, such as [5, 10]", argument="n_bins")
    if n_bins is not None:
        return [_row(n, b, alpha, side) for b in sorted({check_count(b, "n_bins") for b in n_bins})]
    usual = [step * scale for scale in 10 ** np.arange(8) for step in (1, 2, 5)] + [15, 25]
    rows: list[TradeOff] = []
    chosen = min(auto_n_bins(n), n // 2)
    for b in sorted({int(b) for b in usual if b <= min(n // 2, 10 * chosen)} | {chosen}):
        rows.append(_row(n, b, alpha, side))
        if rows[-1].conditional > 0.25 and len(rows) > 1:
            break
    return rows


def _row(n: int, n_bins: int, alpha: float, side: str) -> TradeOff:
    return TradeOff(
        n_bins=n_bins,
        samples_per_bin=(n + 1) // n_bins - 1,
        conditional=promised(n, n_bins, alpha, side=side),
        marginal=promised(n, n_bins, alpha, "marginal", side=side),
        conditional_hoeffding=promised(n, n_bins, alpha, "conditional", "hoeffding"),
        expected_ece=promised(n, n_bins, alpha, "expected-ece"),
    )
