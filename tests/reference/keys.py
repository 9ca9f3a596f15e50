"""Tie keys: a 64-bit counter mix, for ever the same on every machine.

A tie must be broken by a number that is uniform and independent of the row (Gupta & Ramdas 2021, Algorithm 2, adds noise of
size 1e-20 to the scores; in doubles that noise vanishes, 0.5 + 1e-20 == 0.5, and coverage on tied scores falls to zero). So
samples are ordered by the pair (score, key) instead. Keys come from three separated streams: fitting, sample splitting and
prediction; a fourth one randomises values.
"""

from __future__ import annotations

import math
import struct

__all__ = [
    "KEY_ABOVE",
    "KEY_BELOW",
    "MAX_KEY",
    "bits",
    "cap",
    "fmix",
    "group_key",
    "key_from_float",
    "row_key",
    "split_key",
    "value_randomiser",
]

MODULUS = 2**64
MAX_KEY = MODULUS - 2
KEY_ABOVE = 0  # as the key of an edge: every tied score lies above it
KEY_BELOW = MODULUS - 1  # as the key of an edge: every tied score lies below it

GOLDEN = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio, made odd: the step of the counter

# The first 64 bits of the fractional parts of the square roots of 2, 3, 5 and 7.
FIT = 0x6A09E667F3BCC908
PREDICT = 0xBB67AE8584CAA73B
SPLIT = 0x3C6EF372FE94F82B
VALUE = 0xA54FF53A5F1D36F1


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


def group_key(seed: int, score: float, j: int) -> int:
    """Fitting: the key of the j-th sample (from 0) in the group of samples with this score."""
    return _key_in_group(seed, FIT, score, j)


def split_key(seed: int, score: float, j: int) -> int:
    """Sample splitting: samples with the smallest of these keys form the first part."""
    return _key_in_group(seed, SPLIT, score, j)


def _key_in_group(seed: int, stream: int, score: float, j: int) -> int:
    base = fmix(seed + stream)
    group = fmix(base ^ bits(score))
    return cap(fmix(group + (j + 1) * GOLDEN))


def value_randomiser(key: int) -> float:
    """V of Gupta & Ramdas 2021, Algorithm 2: a multiple of 2**-53 in [0, 1), made from the sample's key."""
    return (fmix(key + VALUE) >> 11) * 2.0**-53


def key_from_float(u: float) -> int:
    """A key given as a float in [0, 1): u * 2**64, rounded down. Exact for every u that is a multiple of 2**-64."""
    if not 0.0 <= u < 1.0:
        raise ValueError(f"key {u!r} is not in [0, 1)")
    return int(math.ldexp(u, 64))
