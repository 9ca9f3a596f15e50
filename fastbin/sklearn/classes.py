"""The classes of a classifier: which there are, and what they are called in a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._cells import Key
from fastbin._errors import InputError
from fastbin._typing import Array, Int64s


def columns_of(labels: Array, classes: Array) -> Int64s:
    """The position of each label in `classes`, all of which are different; the first that is none of them is refused."""
    order = np.argsort(classes, kind="stable")
    at = order[np.minimum(np.searchsorted(classes[order], labels), len(classes) - 1)]
    strange = classes[at] != labels
    if strange.any():
        row = int(np.argmax(strange))
        raise InputError(
            f"y[{row}] is {labels[[row]].tolist()[0]!r}, and the frozen estimator knows the classes {classes.tolist()}; remove "
            "such rows"
        )
    return np.asarray(at)


def keys_of(classes: Array) -> list[Key]:
    """What a set of models calls its classes: as they are called, or their numbers where this is neither integer nor text."""
    names = classes.tolist()
    if all(isinstance(name, str) and name for name in names) or classes.dtype.kind in "iu":
        return names
    return list(range(len(names)))


def classes_of(labels: Array, known: Any = None) -> Array:
    """The classes of labels, ascending, or those that a trained estimator knows; fewer than two are refused."""
    classes = np.unique(labels) if known is None else np.asarray(known)
    if len(classes) < 2:
        raise InputError(f"y has 1 class, {classes.tolist()[0]!r} in every row; a classifier needs two classes or more")
    return classes
