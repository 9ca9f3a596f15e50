"""Values that do not fall from one bin to the next."""

from __future__ import annotations

import numpy as np

from fastbin._base.errors import InputError
from fastbin._fit.calibrator import Calibrator, as_model
from fastbin._fit.tally import rising
from fastbin.model import BinnedModel


def monotone_model(model: BinnedModel | Calibrator) -> BinnedModel:
    """The same bins and tally with non-decreasing values, moved as little as possible in the worst bin.

    Each value becomes the mean of the running maximum from the left and the running minimum from the right. The tally stays,
    and the certificate with bound="clopper-pearson" is about whatever values the model gives, so it holds for these and spends
    no alpha on the change (any values that the labels may choose are covered by the simultaneous intervals). Where the true
    frequencies rise, epsilon grows by little; where they do not, it grows by as much as the values had to move,
    and says so. Bounds about means ("a-priori", "hoeffding") are refused for values that were moved.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
        Of kind "step", without value randomisation.

    Returns
    -------
    BinnedModel
        A bin without samples (or without weight) takes the mean of its nearest neighbours with samples, or the value of the one
        that it has; if no bin has samples the values stay. In a model of two resolutions the same is done to its steps.

    Raises
    ------
    InputError
        For a smooth or interpolated model, or one with delta > 0, whose randomised predictions could not rise.

    Notes
    -----
    O(n_steps).

    Examples
    --------
    >>> import fastbin as fb
    >>> scores, labels = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9], [0, 1, 1, 1, 0, 1, 1, 1]
    >>> model = fb.ExplicitBinning(edges=[0.25, 0.5]).fit(scores, labels).model_
    >>> model.values, monotone_model(model).values
    (array([0.5 , 1.  , 0.75]), array([0.5  , 0.875, 0.875]))
    """
    model = as_model(model)
    if model.kind != "step":
        raise InputError(f"the model is of kind {model.kind!r}, without bins whose values could be made monotone")
    if model.delta > 0.0:
        raise InputError(f"delta is {model.delta!r}: randomised values do not rise from bin to bin; fit with delta=0")
    seen = model.step_counts if model.has_steps else model.counts if model.weight_sums is None else model.weight_sums
    return model._derived("monotone_model", values=rising(model.values, np.ones(model.n_steps) if seen is None else seen))
