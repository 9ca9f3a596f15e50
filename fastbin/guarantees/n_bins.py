"""How many bins to take, decided from the number of samples alone, so that the decision costs no guarantee."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import check_alpha, check_count, check_unit_interval
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError
from fastbin.guarantees.apriori import epsilon as epsilon_of
from fastbin.guarantees.apriori import samples_needed
from fastbin.guarantees.bound_names import check_prior
from fastbin.guarantees.radius import failures_above, last_where, worst_failure
from fastbin.intervals import sidak

# The targets of auto_n_bins. Gupta & Ramdas 2021 work with (0.1, 0.1) throughout section 2.2.
_AUTO_ALPHA = 0.1
_AUTO_EPSILON = 0.1
# Sun, Song & Hero 2023, equation (10) leaves the constant of the n^(1/3) law open. Minimising their bound gives 0.8 for a
# frequency that changes by 1 per unit of score mass and 2.0 for 4; the risk of their Gaussian example is least at 5.
_AUTO_CUBE_ROOTS = 2
# auto_n_bins gives up its target rather than go below this number of bins, as long as a bin keeps that many samples: fewer
# bins say too little.
_AUTO_FEWEST, _AUTO_SAMPLES_PER_BIN = 5, 20


@shared_docs(samples_needed.__doc__)
def choose_n_bins(n: int, alpha: float = 0.1, epsilon: float = 0.1, kind: str = "conditional", bound: str = "a-priori") -> int:
    """The largest number of uniform-mass bins whose promise for n samples is at most `epsilon`.

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

    Returns
    -------
    int
        Number of bins, between 1 and n // 2.

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
    evaluated.

    Examples
    --------
    >>> choose_n_bins(3000), choose_n_bins(3000, bound="hoeffding")
    (15, 11)
    """
    n, alpha = check_count(n, "n"), check_alpha(alpha)
    epsilon = check_unit_interval(epsilon, "epsilon", open_left=True, open_right=True)
    kind, bound = check_prior(kind, bound)
    largest = _largest_exact if bound == "a-priori" else _largest_hoeffding
    n_bins = largest(n, alpha, epsilon, kind)
    if n_bins is None:
        best = epsilon_of(n, 1, alpha, "conditional", bound) if bound == "a-priori" or n >= 2 else 1.0
        raise GuaranteeError(
            f"{n} samples in a single bin promise no more than {best:.3g} at alpha={alpha:g}, not "
            f"epsilon={epsilon:g} (Gupta & Ramdas 2021, Theorem 3); one bin keeps it from "
            f"{samples_needed(epsilon, 1, alpha, kind, bound)} samples on, or take a larger epsilon or alpha"
        )
    return n_bins


def _largest_hoeffding(n: int, alpha: float, epsilon: float, kind: str) -> int | None:
    """The closed formula grows with the number of bins, so bisection finds the largest that fits."""

    def fits(n_bins: int) -> bool:
        return epsilon_of(n, n_bins, alpha, kind, "hoeffding") <= epsilon

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


@lru_cache(maxsize=256)
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
    n = check_count(n, "n")
    fewest = max(1, min(_AUTO_FEWEST, n // _AUTO_SAMPLES_PER_BIN))
    most = max(fewest, _AUTO_CUBE_ROOTS * integer_cube_root(n))
    if most > fewest and n >= 2 * most and epsilon_of(n, most, _AUTO_ALPHA, bound="hoeffding") <= _AUTO_EPSILON:
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
    """What one number of bins promises; see `trade_off`.

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
def trade_off(n: int, alpha: float = 0.1, n_bins: list[int] | None = None) -> list[TradeOff]:
    """What n samples promise for several numbers of bins: the table behind ``fastbin bins``.

    Parameters
    ----------
    n : int
        Number of calibration samples, at least 2.
    {alpha}
    n_bins : list of int, optional
        The numbers of bins, each at most n // 2. By default 1, 2, 5, 10, 15, 20, 25, 50 and so on, with the choice of
        `auto_n_bins` among them, until the exact conditional promise is above 0.25 or the bins are ten times as many as
        `auto_n_bins` takes.

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
    n, alpha = check_count(n, "n", minimum=2), check_alpha(alpha)
    if n_bins is not None:
        return [_row(n, b, alpha) for b in sorted({check_count(b, "n_bins") for b in n_bins})]
    usual = [step * scale for scale in 10 ** np.arange(8) for step in (1, 2, 5)] + [15, 25]
    rows: list[TradeOff] = []
    chosen = min(auto_n_bins(n), n // 2)
    for b in sorted({int(b) for b in usual if b <= min(n // 2, 10 * chosen)} | {chosen}):
        rows.append(_row(n, b, alpha))
        if rows[-1].conditional > 0.25 and len(rows) > 1:
            break
    return rows


def _row(n: int, n_bins: int, alpha: float) -> TradeOff:
    return TradeOff(
        n_bins=n_bins,
        samples_per_bin=(n + 1) // n_bins - 1,
        conditional=epsilon_of(n, n_bins, alpha),
        marginal=epsilon_of(n, n_bins, alpha, "marginal"),
        conditional_hoeffding=epsilon_of(n, n_bins, alpha, "conditional", "hoeffding"),
        expected_ece=epsilon_of(n, n_bins, alpha, "expected-ece"),
    )
