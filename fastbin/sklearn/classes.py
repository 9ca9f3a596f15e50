"""The classes of a classifier: which there are, and what they are called in a model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Int64s
from fastbin._base.cells import Key
from fastbin._base.checks import MOST_EVENT_BYTES, check_event, event_of
from fastbin._base.errors import InputError


class Side(NamedTuple):
    """Which of two classes a calibrated probability is about, its column, and the name of the event; of more classes, none."""

    positive: Any = None
    column: int = 1
    event: bytes = b""

    @classmethod
    def of(cls, classes: Array, positive: Any) -> Side:
        """By default the second. Refuses what is none of two classes."""
        names = classes.tolist()
        if len(names) != 2:
            if positive is not None:
                problem = f"is {positive!r}, and each of the {len(names)} classes has a probability"
                raise InputError(problem, "leave it out", argument="positive", value=positive)
            return cls()
        if positive is None:
            # Of 0 and 1, "label 1" says it; and a name that is too long for a file is no mistake of the user's.
            is_said = names[1] not in (0, 1) and len(str(names[1]).encode("utf8", "replace")) <= MOST_EVENT_BYTES
            return cls(names[1], 1, check_event(str(names[1])) if is_said else b"")
        if positive not in names:
            raise InputError(f"is {positive!r}, which is none of the classes {names}", argument="positive", value=positive)
        return cls(positive, names.index(positive), check_event(event_of(positive)))


def columns_of(labels: Array, classes: Array) -> Int64s:
    """The position of each label in `classes`, all of which are different; the first that is none of them is refused."""
    order = np.argsort(classes, kind="stable")
    at = order[np.minimum(np.searchsorted(classes[order], labels), len(classes) - 1)]
    strange = classes[at] != labels
    if strange.any():
        row = int(np.argmax(strange))
        problem = f"is {labels[[row]].tolist()[0]!r}, and the frozen estimator knows the classes {classes.tolist()}"
        raise InputError(problem, "remove such rows", argument="y", at=row)
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
        remedy = "a classifier needs two classes or more"
        raise InputError(f"has 1 class, {classes.tolist()[0]!r} in every row", remedy, argument="y")
    return classes
