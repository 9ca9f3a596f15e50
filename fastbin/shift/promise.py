"""A certificate from intervals at the target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fastbin._errors import GuaranteeError
from fastbin.guarantees import Certificate
from fastbin.model import BinnedModel

__all__ = ["certificate_of_ends"]


def certificate_of_ends(
    model: BinnedModel,
    ends: npt.NDArray[np.float64],
    *,
    alpha: float,
    kind: str,
    bound: str,
    theorem: str,
    assumptions: Sequence[str],
) -> Certificate:
    """The largest distance from a value to an end of its bin's interval; bins without samples are left out and named."""
    values, empty = np.asarray(model.values), np.asarray(model.counts) == 0
    if empty.all():
        raise GuaranteeError("no bin holds a sample, so there is nothing to certify; calibrate on more samples")
    radii = np.maximum(ends[:, 1] - values, values - ends[:, 0]) + model.delta
    radii = np.where(empty, 1.0, np.minimum(radii, 1.0))
    return Certificate(
        epsilon=float(radii[~empty].max()),
        alpha=alpha,
        kind=kind,
        bound=bound,
        theorem=theorem,
        assumptions=tuple(assumptions),
        scheme=model.scheme,
        n_samples=model.n_samples,
        n_bins=model.n_bins,
        radii=tuple(float(radius) for radius in radii),
        uncovered_bins=tuple(int(b) for b in np.flatnonzero(empty)),
    )
