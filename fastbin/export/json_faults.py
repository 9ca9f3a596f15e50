"""Where the parts of a model or a set in JSON contradict what they can be: the C library says what is wrong, and not where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fastbin._errors import FormatError
from fastbin._typing import Array
from fastbin.export.json_values import refused

# What a member and all its entries are. None: no limit; a name: the member that is the limit, entry by entry if it is a list.
Limit = float | str | None
LIMITS: dict[str, tuple[Limit, Limit]] = {
    "score_max": ("score_min", None), "values": (0.0, 1.0), "pairs": (0.0, 1.0), "n_samples": (0, None),
    "n_positive": (0, "n_samples"), "n_tied": (0, "n_samples"), "n_bins_asked": (0, None), "delta": (0.0, 1.0),
    "odds_ratio": (5e-324, None), "counts": (0, "n_samples"), "label_sums": (0, "counts"), "weight_sums": (0.0, None),
    "weighted_label_sums": (0.0, None), "weight_square_sums": (0.0, None), "edges_share": (0.0, 1.0), "tie_counts": (0, None),
    "step_counts": (0, "n_samples"), "unlabelled_counts": (0, None), "clip": (0.0, 0.5),
}  # fmt: skip


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
    for name, (low, high) in LIMITS.items():
        if parts.get(name) is not None:
            yield from _beyond(name, low, high, parts, place)


def _beyond(name: str, low: Limit, high: Limit, parts: Mapping[str, Any], place: str) -> Iterator[FormatError]:
    """The first entry beyond its limits."""
    own = np.asarray(parts[name])
    least, most = (_limits(limit, own, parts) for limit in (low, high))
    for at in zip(*np.nonzero(np.atleast_1d((own < least) | (own > most))), strict=True):
        here = tuple(map(int, at))[: own.ndim]
        start, end = least[here].item(), most[here].item()
        expected = f"a number from {start} " + ("on" if end == np.inf else f"to {end}")
        yield refused(f"{place}.{name}" + "".join(f"[{i}]" for i in here), own[here].item(), expected)
        return


def _limits(limit: Limit, own: Array, parts: Mapping[str, Any]) -> Array:
    """The limit of each entry."""
    of_all = parts.get(limit) if isinstance(limit, str) else limit
    return np.broadcast_to(np.inf if of_all is None else np.asarray(of_all), own.shape)
