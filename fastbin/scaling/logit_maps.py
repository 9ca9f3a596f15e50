"""Maps of the logit that every fit has: a quadratic, and a natural spline, both with a ridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin.scaling.maps import FittedMap, SmoothMap
from fastbin.scaling.samples import PooledSamples
from fastbin.scaling.value_maps import MapCells, beta_parameters, quadratic_parameters, spline_knots


@dataclass(eq=False, repr=False)
class QuadraticScaling(SmoothMap):
    """Quadratic scaling: ``1 / (1 + exp(-(p0 + p1 z + p2 z^2)))`` of the logit z of the score, with a ridge.

    Attributes
    ----------
    model_ : BinnedModel
        Of kind "smooth", with map "quadratic".

    Notes
    -----
    Takes probabilities in [0, 1], which are moved into [h, 1 - h] first, with half a step h = 0.5 / (n + 1); h is part of the
    model. No certificate: no one-to-one map of the score has a distribution-free guarantee (Gupta, Podkopaev & Ramdas 2020,
    Theorem 3).

    Every fit succeeds: what is minimised is the logistic loss plus 2 (p0^2 + (p1 - 1)^2 + p2^2), a pull of four rows' weight
    towards the map that changes nothing, so that labels of one class, or separated by the score, have a map too. It is the same
    map as ``values="quadratic"`` of a model with fine values, fitted to the rows themselves. The parabola may turn, and the map
    then falls on one side. Float weights are scaled to add up to the number of rows.

    Time O(n log n), memory about ten arrays of n doubles.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.QuadraticScaling().fit([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0, 0, 1, 0, 1, 1])
    >>> cal.predict([0.0, 0.5, 1.0]).round(3)
    array([0.059, 0.5  , 0.941])
    """

    _scheme = "quadratic"

    def _fitted(self, samples: PooledSamples, scores: Any, labels: Any) -> FittedMap:
        parameters = quadratic_parameters(_cells(samples))
        return FittedMap("quadratic", tuple(parameters.tolist()), samples.half_step)


@dataclass(eq=False, repr=False)
class SplineScaling(SmoothMap):
    """Spline scaling: ``1 / (1 + exp(-g(z)))`` of the logit z of the score, g a natural cubic spline, with a ridge.

    Attributes
    ----------
    model_ : BinnedModel
        Of kind "smooth", with map "spline" and its ``knots``: position, logit and second derivative at each.

    Notes
    -----
    Takes probabilities in [0, 1], which are moved into [h, 1 - h] first, with half a step h = 0.5 / (n + 1); h is part of the
    model. No certificate: no one-to-one map of the score has a distribution-free guarantee (Gupta, Podkopaev & Ramdas 2020,
    Theorem 3).

    The knots are the .05, .275, .5, .725 and .95 quantiles of the logits; where fewer than three of them are apart, the map is
    a beta map. Every fit succeeds: a ridge draws the line of the spline towards the map that changes nothing with four rows'
    weight, less where it lies far from there, and what is not linear towards 0 with one row's. It is the same map as
    ``values="spline"`` of a model with fine values, fitted to the rows themselves. It may fall where the labels do. Float
    weights are scaled to add up to the number of rows.

    Time O(n log n), memory about fifteen arrays of n doubles.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.SplineScaling().fit([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0, 0, 1, 0, 1, 1])
    >>> cal.predict([0.0, 0.5, 1.0]).round(3)
    array([0.063, 0.51 , 0.977])
    >>> cal.model_.knots.shape
    (5, 3)
    """

    _scheme = "spline"

    def _fitted(self, samples: PooledSamples, scores: Any, labels: Any) -> FittedMap:
        cells = _cells(samples)
        knots = spline_knots(cells)
        if knots is not None:
            return FittedMap("spline", (), samples.half_step, knots)
        c, a, b = beta_parameters(cells).tolist()
        return FittedMap("beta", (a, b, c), samples.half_step)


def _cells(samples: PooledSamples) -> MapCells:
    """A cell for each distinct score; those that the clip makes equal are one."""
    moved = samples.with_ends(samples.half_step)
    scores, places = np.unique(moved.scores, return_inverse=True)
    of_labels: list[Float64s] = []
    for label in (0, 1):
        chosen = moved.labels == label
        of_labels.append(np.zeros(len(scores)))
        of_labels[label][places[chosen]] = moved.weights[chosen]  # a score stands once under each label
    scale = samples.n_samples / float(moved.weights.sum())
    zeros, ones = of_labels[0] * scale, of_labels[1] * scale
    return MapCells.of(scores, zeros + ones, ones, samples.n_samples, (0.0, 1.0))
