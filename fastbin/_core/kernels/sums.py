"""Exact sums of doubles per bin: integers that add, so that no order, chunk or thread changes a weighted tally.

The sum of a bin is a fixed-point number over the whole range of doubles, in `N_LIMBS` limbs of 32 bits held in int64, so that
2**30 terms could be added before a carry would be lost. A double is 53 bits at some exponent: it touches three limbs.
"""

from __future__ import annotations

import numpy as np

from fastbin._core.kernels._jit import i64, i64_in, i64_out, kernel

# The last bit of the least subnormal is 2**-1074; the greatest double is below 2**1024, sums of 2**62 of them below 2**1086.
LOWEST_EXPONENT = -1074
N_LIMBS = (1086 + 1074) // 32 + 2
# Far fewer, so that Python looks at signals in between.
TERMS_BEFORE_CARRY = 2**21


@kernel(i64(i64_in, i64_in, i64_out))
def add_exactly(bits, bins, limbs):
    """Add finite doubles that are not negative, given by their bits, to limbs[bin * N_LIMBS : (bin + 1) * N_LIMBS].

    Rows whose bin is negative are left out. Between two calls of `carry`, at most TERMS_BEFORE_CARRY rows. Returns 0.
    """
    for i in range(bits.size):
        if bins[i] < 0:
            continue
        exponent = bits[i] >> 52
        mantissa = bits[i] & 0xFFFFFFFFFFFFF
        if exponent > 0:
            mantissa |= 1 << 52
            exponent -= 1
        limb = bins[i] * N_LIMBS + (exponent >> 5)
        shift = exponent & 31
        low = (mantissa & 0xFFFFFFFF) << shift
        high = (mantissa >> 32) << shift
        limbs[limb] += low & 0xFFFFFFFF
        middle = (np.uint64(low) >> np.uint64(32)) + (high & 0xFFFFFFFF)
        limbs[limb + 1] += np.int64(middle)
        limbs[limb + 2] += high >> 32
    return 0


@kernel(i64(i64_out))
def carry(limbs):
    """Bring every limb but the last of each bin below 2**32. Returns 0."""
    for start in range(0, limbs.size, N_LIMBS):
        for limb in range(start, start + N_LIMBS - 1):
            limbs[limb + 1] += limbs[limb] >> 32
            limbs[limb] &= 0xFFFFFFFF
    return 0
