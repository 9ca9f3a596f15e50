"""How much the labels of a bin speak against a tolerated interval of rates: one-sided mixtures of likelihood ratios.

For alternatives q above a limit u, and x ones and z zeros seen so far,

    E = integral over q > u of (q / u)^x ((1 - q) / (1 - u))^z dW(q),      W = Beta(1/2, 1/2) restricted to q > u.

Each label multiplies the integrand by a factor whose expectation is at most 1 under every rate p <= u < q, so E is a
non-negative supermartingale that starts at 1, and the chance that it ever reaches 1 / alpha is at most alpha (Ville's
inequality). The same holds below a lower limit by mirroring, and for the mean of the two. In closed form

    ln E = ln B(x + 1/2, z + 1/2) + ln P(Q > u) - x ln u - z ln(1 - u) - ln B(1/2, 1/2) - ln W(q > u),

where Q has the distribution Beta(x + 1/2, z + 1/2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.dependencies import needed_for

Int32s = npt.NDArray[np.int32]

PRIOR = 0.5

# Below this, the logarithm of a tail's probability comes from a continued fraction: the incomplete beta function loses digits
# there, and in the end underflows. The limit is more than ten standard deviations away then, so a few terms suffice.
SMALLEST_TAIL = 1e-30


class TwoSidedMixture:
    """The evidence against `tolerated`, for each bin: the mean of the mixtures above and below.

    Where one side has no alternatives (a limit of 0 or 1), the other has all the weight; where neither has, E is always 1.

    Parameters
    ----------
    tolerated : float64 (n_bins, 2)
        Lower and upper limits, 0 <= lower <= upper <= 1.
    """

    def __init__(self, tolerated: Float64s) -> None:
        self.tolerated = tolerated
        self._below = _Side(tolerated[:, 0], above=False)
        self._above = _Side(tolerated[:, 1], above=True)

    def log_e_values(self, bins: Int32s, ones: Int64s, zeros: Int64s) -> Float64s:
        """ln E of bin `bins[i]` after `ones[i]` labels 1 and `zeros[i]` labels 0.

        Each entry depends on its own three numbers alone, to the last bit, so it does not matter how entries are batched.
        Never -inf; inf when a label was seen that every tolerated rate excludes. O(n), a few microseconds each.
        """
        x, z = ones.astype(np.float64), zeros.astype(np.float64)
        below, above = self._below.log_mixture(bins, x, z), self._above.log_mixture(bins, x, z)
        has_below, has_above = self._below.exists[bins], self._above.exists[bins]
        mean = np.logaddexp(below, above) - np.log(2.0)
        one_side = np.where(has_above, above, np.where(has_below, below, 0.0))
        # Before the first label E is 1, and its logarithm 0 to the last bit also where a tail and its scale are computed in two
        # ways, for limits below 1e-60: the state of a monitor says so of bins without outcomes.
        return np.where(x + z > 0.0, np.where(has_below & has_above, mean, one_side), 0.0)


def _special() -> Any:
    with needed_for("monitors", extra="fit"):
        import scipy.special
    return scipy.special


class _Side:
    """Alternatives on one side of a limit, for each bin."""

    def __init__(self, limits: Float64s, *, above: bool) -> None:
        self.above = above
        self.exists = limits < 1.0 if above else limits > 0.0
        # Bins without alternatives are computed with any limit and never looked at.
        self.limits = np.where(self.exists, limits, 0.5)
        prior = np.full_like(limits, PRIOR)
        self.log_scale = _special().betaln(PRIOR, PRIOR) + np.log(self._tail(prior, prior, self.limits))

    def _tail(self, a: Float64s, b: Float64s, limits: Float64s) -> Float64s:
        """P(Q beyond the limit) for Q ~ Beta(a, b)."""
        tail: Float64s = (_special().betaincc if self.above else _special().betainc)(a, b, limits)
        return tail

    def log_mixture(self, bins: Int32s, x: Float64s, z: Float64s) -> Float64s:
        special = _special()
        limits, a, b = self.limits[bins], x + PRIOR, z + PRIOR
        tail = self._tail(a, b, limits)
        is_far = tail < SMALLEST_TAIL
        log_integral = special.betaln(a, b) + np.log(np.where(is_far, 1.0, tail))
        log_integral = log_integral - special.xlogy(x, limits) - special.xlog1py(z, -limits)
        if is_far.any():
            log_integral[is_far] = self._far(a[is_far], b[is_far], limits[is_far])
        return log_integral - self.log_scale[bins]

    def _far(self, a: Float64s, b: Float64s, limits: Float64s) -> Float64s:
        """The same where nearly all labels speak for the tolerated rates; the large terms cancel on paper."""
        end = b if self.above else a
        p, q, y = (b, a, 1.0 - limits) if self.above else (a, b, limits)
        log_weight = PRIOR * np.log(limits) + PRIOR * np.log1p(-limits)
        return log_weight - np.log(end) + np.log(_incomplete_beta_fraction(p, q, y))


def _incomplete_beta_fraction(p: Float64s, q: Float64s, y: Float64s) -> Float64s:
    """p B(p, q) I_y(p, q) / (y^p (1 - y)^q), for y below p / (p + q), by Lentz's method.

    The continued fraction 8.17.22 of the NIST Digital Library of Mathematical Functions. An entry stops changing when it
    has converged, so that its last bit does not depend on the other entries.
    """
    c, d = np.ones_like(y), 1.0 / (1.0 - (p + q) * y / (p + 1.0))
    value, running = d.copy(), np.ones(y.shape, dtype=np.bool_)
    m = 0
    while running.any():
        m += 1
        even = m * (q - m) * y / ((p + 2 * m - 1.0) * (p + 2 * m))
        odd = -(p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1.0))
        step = np.ones_like(y)
        for coefficient in (even, odd):
            d = 1.0 / (1.0 + coefficient * d)
            c = 1.0 + coefficient / c
            step = step * (c * d)
        value = np.where(running, value * step, value)
        running &= np.abs(step - 1.0) > 4e-16
    return value
