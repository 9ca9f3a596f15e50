"""The digest of the boundary groups and the draw of labels, for many fits at once, to the bit those of a fit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reference.keys import DRAW, GOLDEN

Words = npt.NDArray[np.uint64]
Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LEAST_WEIGHT = 2.0**-64


def _mix(z: Words) -> Words:
    """`reference.keys.fmix`."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _bits(scores: Array) -> Words:
    return np.ascontiguousarray(scores + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0


def digest_of(seeds: Words, scores: Array, *counts: Integers) -> Words:
    """`reference.keys.group_digest` of the groups of each row: scores ascending, those of one group repeated."""
    is_new = np.ones(scores.shape, np.bool_)
    is_new[:, 1:] = scores[:, 1:] != scores[:, :-1]
    state = _mix(_mix(seeds) ^ is_new.sum(axis=1).astype(np.uint64))
    words = [_bits(scores), *(np.ascontiguousarray(column).astype(np.uint64) for column in counts)]
    for b in range(scores.shape[1]):
        after = state
        for word in words:
            after = _mix(after ^ word[:, b])
        state = np.where(is_new[:, b], after, state)
    return state


def draw_labels(digests: Words, scores: Array, counts: Integers, ones: Integers, taken: Integers) -> tuple[Integers, Integers]:
    """(f, y) for groups of `counts` samples, `ones` of them of label 1, of which `taken` are chosen.

    f by inversion: the values in the order first, first + 1, first - 1, first + 2, ... from one near the mode, each with its
    weight beside that of the first, until a uniform share of all weights is used up.
    """
    base = _mix(_mix(digests + np.uint64(DRAW)) ^ _bits(scores))
    uniforms = [(_mix(base + np.uint64(i * GOLDEN % 2**64)) >> np.uint64(11)) * 2.0**-53 for i in (1, 2)]
    urn = np.array([counts, ones, taken], np.float64)
    low, high = np.maximum(0, taken - (counts - ones)), np.minimum(taken, ones)
    mode = (urn[2] + 1.0) * (urn[1] + 1.0) / (urn[0] + 2.0)
    first = np.where(mode <= low, low, np.where(mode >= high, high, mode.astype(np.int64)))
    f = first.copy()
    open_ = np.flatnonzero(high > low)  # where there is more than one value
    if open_.size:
        of_open = urn[:, open_], first[open_]
        total, _ = _walk(*of_open, None)
        f[open_] = _walk(*of_open, uniforms[0][open_] * total)[1]
    return f, (uniforms[1] * taken < f).astype(np.int64)


def draw_one(digest: int, score: float, count: int, ones: int, taken: int) -> tuple[int, int]:
    """As `reference.whole_ties.Draw`."""
    numbers = (np.array([number]) for number in (count, ones, taken))
    f, y = draw_labels(np.array([digest], np.uint64), np.array([score]), *numbers)
    return int(f[0]), int(y[0])


def _walk(urn: Array, first: Integers, target: Array | None) -> tuple[Array, Integers]:
    count, ones, taken = urn
    zeros_left = count - ones - taken
    up, down = first.astype(np.float64), first.astype(np.float64)
    up_weight, down_weight, total = np.ones(len(first)), np.ones(len(first)), np.ones(len(first))
    found = first.copy()
    left = np.full(len(first), np.inf) if target is None else target - 1.0
    searching = left >= 0.0
    up_weight, up = up_weight * ((ones - up) * (taken - up) / ((up + 1.0) * (zeros_left + up + 1.0))), up + 1.0
    down_weight, down = down_weight * (down * (zeros_left + down) / ((ones - down + 1.0) * (taken - down + 1.0))), down - 1.0
    while True:
        going = searching & ((up_weight >= LEAST_WEIGHT) | (down_weight >= LEAST_WEIGHT))
        if not going.any():
            return total, found
        step = going & (up_weight >= LEAST_WEIGHT)
        weight = np.where(step, up_weight, 0.0)
        total, left = total + weight, left - weight
        hit = step & (left < 0.0)
        found[hit], searching = up[hit].astype(np.int64), searching & ~hit
        ratio = (ones - up) * (taken - up) / np.where(step, (up + 1.0) * (zeros_left + up + 1.0), 1.0)
        up_weight, up = np.where(step, up_weight * ratio, up_weight), np.where(step, up + 1.0, up)
        step = going & searching & (down_weight >= LEAST_WEIGHT)
        weight = np.where(step, down_weight, 0.0)
        total, left = total + weight, left - weight
        hit = step & (left < 0.0)
        found[hit], searching = down[hit].astype(np.int64), searching & ~hit
        ratio = down * (zeros_left + down) / np.where(step, (ones - down + 1.0) * (taken - down + 1.0), 1.0)
        down_weight, down = np.where(step, down_weight * ratio, down_weight), np.where(step, down - 1.0, down)
