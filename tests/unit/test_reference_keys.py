"""The reference of tie keys: pinned numbers, uniformity, separated streams."""

from __future__ import annotations

import itertools
import math

import pytest

import reference
from reference import keys
from reference.keys import MAX_KEY, bits, fmix, key_from_float


def test_the_mix_is_the_finaliser_of_splitmix64() -> None:
    # The published first outputs of SplitMix64 from the state 1234567.
    outputs = [fmix(1234567 + (i + 1) * 0x9E3779B97F4A7C15) for i in range(3)]
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_keys_are_pinned() -> None:
    """Written down once from a C program: a change of these numbers changes every model that was ever fitted."""
    assert reference.row_key(0, 0) == 0xFAA2702D3A581CDC
    assert reference.row_key(2**64 - 1, 12345) == 0x9A71874B14B17B96
    assert reference.group_key(0, 0.5, 0) == 0x8192E57C903FCCDF
    assert reference.group_key(42, 0.5, 7) == 0x10C8AE74C8D9D09B
    assert reference.split_key(0, 0.5, 0) == 0x7D9366347F4775FB
    assert reference.value_randomiser(0xFAA2702D3A581CDC) == float.fromhex("0x1.43bf9d51316p-1")


def test_digests_are_pinned() -> None:
    """The example of csrc/FORMAT.md, "What seeds the keys of a fit"."""
    assert keys.digest([1, 2, 3]) == 0xA55BDF37C08724B5
    groups = [(0.25, 0, 0, 600, 30), (0.5, 600, 30, 400, 200)]
    assert reference.group_digest(42, groups) == 0xA340E26CA33DD6D4
    assert reference.group_key(0xA340E26CA33DD6D4, 0.5, 1) == 0x0D90D6C888844640
    rows = [(0.5, 1, 1.0), (0.5, 0, 1.0), (-0.0, 0, 2.5)]
    for order in itertools.permutations(rows):
        assert reference.rows_digest(42, order) == 0x5E5EB823F7977DF7
    assert reference.split_key(0x5E5EB823F7977DF7, 0.5, 1) == 0xAC4E6BF04A99ED2D


def test_digests_change_with_every_word() -> None:
    group, row = (0.5, 600, 30, 400, 200), (0.5, 1, 1.0)
    digests = {reference.group_digest(seed, [group]) for seed in (0, 1)} | {reference.group_digest(0, [])}
    digests |= {reference.group_digest(0, [(*group[:i], group[i] + 1, *group[i + 1 :])]) for i in range(5)}
    digests |= {reference.group_digest(0, [group, (0.75, 1000, 230, 5, 1)]), reference.group_digest(0, [group, group])}
    digests |= {reference.rows_digest(seed, [row]) for seed in (0, 1)} | {reference.rows_digest(0, [row, row])}
    digests |= {reference.rows_digest(0, [other]) for other in ((0.25, 1, 1.0), (0.5, 0, 1.0), (0.5, 1, 2.0))}
    assert len(digests) == 16


def test_stream_constants_are_square_roots() -> None:
    constants = {2: keys.FIT, 3: keys.PREDICT, 5: keys.SPLIT, 7: keys.VALUE, 11: keys.ROWS}
    for prime, constant in constants.items():
        assert constant == math.isqrt(prime << 128) % 2**64


def test_negative_zero_is_zero() -> None:
    assert bits(-0.0) == bits(0.0) == 0
    assert reference.group_key(7, -0.0, 3) == reference.group_key(7, 0.0, 3)


def test_streams_are_separated() -> None:
    drawn = {
        stream(seed, 0.5, j) for stream in (reference.group_key, reference.split_key) for seed in range(20) for j in range(50)
    }
    drawn |= {reference.row_key(seed, row) for seed in range(20) for row in range(50)}
    assert len(drawn) == 3 * 20 * 50
    assert max(drawn) <= MAX_KEY


def test_keys_and_value_randomisers_are_uniform() -> None:
    drawn = [reference.group_key(3, 0.25, j) for j in range(4000)]
    for draws in ([key / 2**64 for key in drawn], [reference.value_randomiser(key) for key in drawn]):
        assert all(0.0 <= draw < 1.0 for draw in draws)
        distance = max(abs((i + 1) / len(draws) - draw) for i, draw in enumerate(sorted(draws)))
        assert distance < 1.63 / math.sqrt(len(draws))  # Kolmogorov and Smirnov at 1 %


def test_key_from_float_scales_exactly() -> None:
    assert key_from_float(0.0) == 0
    assert key_from_float(0.5) == 2**63
    assert key_from_float(math.nextafter(1.0, 0.0)) == 2**64 - 2**11
    assert key_from_float(1e-30) == 0
    for u in (1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="not in"):
            key_from_float(u)
