"""What a binning of n samples into n_bins bins promises, computed before any label is seen."""

from __future__ import annotations

import math

import numpy as np

from fastbin._errors import GuaranteeError, InputError
from fastbin._scalars import check_alpha, check_choice, check_count, check_unit_interval
from fastbin.guarantees.bound_names import check_prior_bound
from fastbin.guarantees.ece import ece_bound
from fastbin.guarantees.radius import exact_radius
from fastbin.intervals import sidak

KINDS = ("conditional", "marginal", "expected-ece", "ece")
UNIFORM_MASS = ("umd", "ze", "umb")


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
    kind = check_choice(kind, "kind", KINDS)
    bound = check_prior_bound(bound, kind)
    scheme = check_choice(scheme, "scheme", UNIFORM_MASS)
    delta = check_unit_interval(delta, "delta", open_right=True)
    if bound == "hoeffding":
        return hoeffding_epsilon(n, n_bins, alpha, kind, scheme, delta)
    if n < n_bins:
        raise GuaranteeError(f"n is {n} for {n_bins} bins; at least one bin would be empty: take fewer bins")
    cells = interior_counts(n, n_bins, scheme)
    if min(count for count, _ in cells) < 1:
        raise GuaranteeError(
            f"n is {n} for {n_bins} bins, which leaves a bin without a sample of its own (Gupta & Ramdas 2021, Theorem 3 needs "
            f"n >= 2 n_bins); take at most {max(1, n // 2)} bins"
        )
    if kind == "expected-ece":
        return max(
            math.sqrt(0.25 / count + delta * delta) + (1.0 / (count + 1) if boundary else 0.0) for count, boundary in cells
        )
    level = alpha if kind == "marginal" else sidak(alpha, n_bins)
    radius = max(exact_radius(count, level) + (1.0 / (count + 1) if boundary else 0.0) for count, boundary in cells)
    if kind == "ece":  # both are known before the data, so the smaller of the two costs no alpha
        radius = min(radius, _ece(cells, n, alpha))
    return radius + delta


def _ece(cells: dict[tuple[int, bool], int], n: int, alpha: float) -> float:
    counts = np.repeat([count for count, _ in cells], list(cells.values()))
    shifts = np.repeat([1.0 / (count + 1) if boundary else 0.0 for count, boundary in cells], list(cells.values()))
    return ece_bound(counts, n, alpha, shifts=shifts)


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
