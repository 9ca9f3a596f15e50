"""Scores of exactly 0 and 1, where a map through logarithms has infinite exponents."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._errors import InputError
from fastbin.scaling.samples import Samples

__all__ = ["without_ends"]


def without_ends(samples: Samples, scores: Any, labels: Any) -> Samples:
    """The samples strictly inside (0, 1).

    An increasing map through logarithms sends 0 to 0 and 1 to 1, whatever its parameters. So a sample with score 0 and label 0,
    or score 1 and label 1, has likelihood 1 and drops out; one with the other label makes the likelihood 0 and is refused.
    """
    for end in (0.0, 1.0):
        if ((samples.scores == end) & (samples.labels != end)).any():
            label = int(1.0 - end)
            column, label_column = (np.asarray(values, np.float64).ravel() for values in (scores, labels))
            position = int(np.argmax((column == end) & (label_column == label)))
            raise InputError(
                f"scores[{position}] is {end!r} with label {label}: the map sends {end:g} to {end:g}, so no parameters "
                "make this sample possible; move scores inside (0, 1) before both fit and predict, or use "
                "PlattScaling(feature='score')"
            )
    return samples.take((samples.scores > 0.0) & (samples.scores < 1.0))
