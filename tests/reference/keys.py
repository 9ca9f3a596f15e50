"""Tie keys: a 64-bit counter mix, for ever the same on every machine.

A tie must be broken by a number that is uniform and independent of the row (Gupta & Ramdas 2021, Algorithm 2, adds noise of
size 1e-20 to the scores; in doubles that noise vanishes, 0.5 + 1e-20 == 0.5, and coverage on tied scores falls to zero). So
samples are ordered by the pair (score, key) instead. Keys come from three separated streams: fitting, sample splitting and
prediction; a fourth one randomises values.

At the fit the seed alone will not do. The samples of a group are numbered with label 1 first, so under a fixed seed the
division of a group would be a function of its counts, and a constant score would always be divided in the same unlucky way. So
the keys of a fit are seeded by a digest of the seed and of what was seen.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable

MODULUS = 2**64
MAX_KEY = MODULUS - 2
KEY_ABOVE = 0  # as the key of an edge: every tied score lies above it
KEY_BELOW = MODULUS - 1  # as the key of an edge: every tied score lies below it

GOLDEN = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio, made odd: the step of the counter

# The first 64 bits of the fractional parts of the square roots of 2, 3, 5, 7, 11 and 13.
FIT = 0x6A09E667F3BCC908
PREDICT = 0xBB67AE8584CAA73B
SPLIT = 0x3C6EF372FE94F82B
VALUE = 0xA54FF53A5F1D36F1
ROWS = 0x510E527FADE682D1
DRAW = 0x9B05688C2B3E6C1F


def fmix(z: int) -> int:
    """The finaliser of SplitMix64: a bijection of 64-bit words, in which every input bit moves every output bit."""
    z %= MODULUS
    z ^= z >> 30
    z = z * 0xBF58476D1CE4E5B9 % MODULUS
    z ^= z >> 27
    z = z * 0x94D049BB133111EB % MODULUS
    z ^= z >> 31
    return z


def bits(score: float) -> int:
    """The 64 bits of the IEEE-754 double, with -0.0 taken as 0.0 because the two are equal as scores."""
    canonical = 0.0 if score == 0.0 else float(score)
    (word,) = struct.unpack("<Q", struct.pack("<d", canonical))
    return int(word)


def cap(key: int) -> int:
    """Keep 2**64 - 1 free: as the key of an edge it stands above every sample."""
    return min(key, MAX_KEY)


def row_key(seed: int, row: int) -> int:
    """Prediction: the key of row `row` (from 0) under a seed."""
    base = fmix(seed + PREDICT)
    return cap(fmix(base + (row + 1) * GOLDEN))


def digest(words: Iterable[int]) -> int:
    """The end of a chain of mixes of these 64-bit words: the checksum of the file format."""
    state = 0
    for word in words:
        state = fmix(state ^ word)
    return state


def group_digest(seed: int, groups: Iterable[tuple[float, int, int, int, int]]) -> int:
    """The seed of the keys of a fit whose boundaries are ranks of all samples.

    `groups` are the groups of equal scores that hold a boundary, once each and in ascending order: the score, how many samples
    lie below it and how many of these have label 1, how many samples have this score and how many of these have label 1.
    """
    listed = list(groups)
    return digest([seed, len(listed), *(word for score, *counts in listed for word in (bits(score), *counts))])


def rows_digest(seed: int, rows: Iterable[tuple[float, int, float]]) -> int:
    """The seed of split keys, and of the keys of a fit that splits its samples: rows are (score, label, weight), in any order.

    A row without a weight has the weight 1.0; one that is repeated comes again.
    """
    n_samples = n_positive = total = 0
    for score, label, weight in rows:
        n_samples, n_positive = n_samples + 1, n_positive + label
        total += fmix(fmix(fmix(bits(score) + ROWS) ^ label) ^ bits(weight))
    return digest([seed, n_samples, n_positive, total % MODULUS])


def fingerprint(edge_scores: Iterable[float], rows: Iterable[tuple[float, int]], *, fixed_edges: bool = False) -> int:
    """By which the rows of a fit are known again: a digest of what lies below each distinct edge, and at it; 0 without edges.

    Where the edges were fixed before, a fit does not know what lies at them, and 0 stands for it.
    """
    seen = list(rows)
    groups = []
    for edge in sorted(set(edge_scores)):
        below = [label for score, label in seen if score < edge]
        at = [] if fixed_edges else [label for score, label in seen if score == edge]
        groups.append((edge, len(below), sum(below), len(at), sum(at)))
    if not groups:
        return 0
    return group_digest(digest([len(seen), sum(label for _, label in seen)]), groups) or 1


def group_key(seed: int, score: float, j: int) -> int:
    """Fitting: the key of the j-th sample (from 0) in the group of samples with this score; `seed` is a digest there."""
    return _key_in_group(seed, FIT, score, j)


def split_key(seed: int, score: float, j: int) -> int:
    """Sample splitting: samples with the smallest of these keys form the first part; `seed` is a digest there."""
    return _key_in_group(seed, SPLIT, score, j)


def _key_in_group(seed: int, stream: int, score: float, j: int) -> int:
    base = fmix(seed + stream)
    group = fmix(base ^ bits(score))
    return cap(fmix(group + (j + 1) * GOLDEN))


def draw_labels(digest: int, score: float, count: int, ones: int, chosen: int) -> tuple[int, int]:
    """Whole ties: how many of `chosen` of `count` samples, `ones` with label 1, have label 1, and the label of one of these.

    The first is hypergeometric. Its values are taken in the order m, m + 1, m - 1, m + 2, ... from a value m near the mode,
    until the weights before and of a value exceed a uniform share of all weights. Every operation is one of doubles.
    """
    base = fmix(fmix(digest + DRAW) ^ bits(score))
    u, v = ((fmix(base + i * GOLDEN) >> 11) * 2.0**-53 for i in (1, 2))
    zeros = count - ones
    mode = (float(chosen) + 1.0) * (float(ones) + 1.0) / (float(count) + 2.0)
    first = min(max(int(mode), chosen - zeros, 0), chosen, ones)

    def ratio_up(f: int) -> float:
        return float(ones - f) * float(chosen - f) / (float(f + 1) * float(zeros - chosen + f + 1))

    def ratio_down(f: int) -> float:
        return float(f) * float(zeros - chosen + f) / (float(ones - f + 1) * float(chosen - f + 1))

    ups, downs = [], []
    value, weight = first, ratio_up(first)
    while weight >= 2.0**-64:
        value += 1
        ups.append((value, weight))
        weight *= ratio_up(value)
    value, weight = first, ratio_down(first)
    while weight >= 2.0**-64:
        value -= 1
        downs.append((value, weight))
        weight *= ratio_down(value)
    order = [(first, 1.0)]
    for i in range(max(len(ups), len(downs))):
        order += ups[i : i + 1] + downs[i : i + 1]

    total = 0.0
    for _, weight in order:
        total += weight
    target, f = u * total, first
    for value, weight in order:
        target -= weight
        if target < 0.0:
            f = value
            break
    return f, int(v * float(chosen) < float(f))


def value_randomiser(key: int) -> float:
    """V of Gupta & Ramdas 2021, Algorithm 2: a multiple of 2**-53 in [0, 1), made from the sample's key."""
    return (fmix(key + VALUE) >> 11) * 2.0**-53


def key_from_float(u: float) -> int:
    """A key given as a float in [0, 1): u * 2**64, rounded down. Exact for every u that is a multiple of 2**-64."""
    if not 0.0 <= u < 1.0:
        raise ValueError(f"key {u!r} is not in [0, 1)")
    return int(math.ldexp(u, 64))
