"""Where the parts of a model or a set in JSON contradict what they can be: the C library says what is wrong, and not where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fastbin._base.array_types import Array
from fastbin._base.errors import FormatError
from fastbin._core.fields import FIELDS, Field, Limit
from fastbin.export.json_values import refused


def fault_of_model(parts: Mapping[str, Any], place: str) -> FormatError | None:
    """The first entry that no model has there; None where only several entries together are wrong."""
    return next(_faults_of_model(parts, place), None)


def fault_of_set(members: Mapping[str, Any], place: str) -> FormatError | None:
    """The same of the members of a set."""
    keys, models = members["keys"], members["models"]
    if not models:
        return FormatError(f"{place}.models is empty; a set has one model or more")
    marks = [key.encode() if isinstance(key, str) else key for key in keys]
    for i in range(1, len(marks)):
        if marks[i] <= marks[i - 1]:
            return refused(f"{place}.keys[{i}]", str(keys[i]), f"a key that comes after {str(keys[i - 1])!r}")
    numbers = members.get("model_of_key", ())
    for i, number in enumerate(numbers):
        if not 0 <= number < len(models):
            return refused(f"{place}.model_of_key[{i}]", int(number), f"a number from 0 to {len(models) - 1}")
    return None


def _faults_of_model(parts: Mapping[str, Any], place: str) -> Iterator[FormatError]:
    edges, keys, first = parts["edges"], parts.get("edge_keys"), parts.get("first_step")
    is_less = edges[1:] < edges[:-1]
    if keys is not None:
        is_less |= (edges[1:] == edges[:-1]) & (keys[1:] < keys[:-1])
    for i in np.flatnonzero(is_less)[:1] + 1:
        yield refused(f"{place}.edges[{i}]", edges[i].item(), f"an edge that does not come before {edges[i - 1].item()!r}")
    if first is not None and len(first):
        is_wrong = np.append(first[0] != 0, np.diff(first) <= 0) | (first >= max(len(parts["values"]), 1))
        for i in np.flatnonzero(is_wrong)[:1]:
            expected = f"a step from {int(first[i - 1]) + 1} to {len(parts['values']) - 1}" if i else "0"
            yield refused(f"{place}.first_step[{i}]", first[i].item(), expected)
    for field in FIELDS:
        if parts.get(field.name) is not None and (field.low, field.high) != (None, None):
            yield from _beyond(field, parts, place)


def _beyond(field: Field, parts: Mapping[str, Any], place: str) -> Iterator[FormatError]:
    """The first entry beyond its limits."""
    own = np.asarray(parts[field.name])
    least, most = (_limits(limit, own, parts) for limit in (field.low, field.high))
    for at in zip(*np.nonzero(np.atleast_1d((own < least) | (own > most))), strict=True):
        here = tuple(map(int, at))[: own.ndim]
        start, end = least[here].item(), most[here].item()
        expected = f"a number from {start} " + ("on" if end == np.inf else f"to {end}")
        yield refused(f"{place}.{field.name}" + "".join(f"[{i}]" for i in here), own[here].item(), expected)
        return


def _limits(limit: Limit, own: Array, parts: Mapping[str, Any]) -> Array:
    """The limit of each entry."""
    of_all = parts.get(limit) if isinstance(limit, str) else limit
    return np.broadcast_to(np.inf if of_all is None else np.asarray(of_all), own.shape)
