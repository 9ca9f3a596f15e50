# Exact sums of doubles per bin: integers that add, so that no order, chunk or thread changes a weighted tally.
#
# The sum of a bin is a fixed-point number over the whole range of doubles, in limbs of 32 bits held in int64, so that 2**30
# terms could be added before a carry would be lost. A double is 53 bits at some exponent: it touches three limbs.


def add_exactly(values, bins, limbs, Py_ssize_t n_limbs):
    """Add finite doubles that are not negative to limbs[bin * n_limbs : (bin + 1) * n_limbs]; those of negative bins to none.

    `values` and `bins`, int64, have one length. O(n).
    """
    cdef Py_ssize_t i, n = len(values)
    cdef const double *value = doubles(values)
    cdef const int64_t *bin_of = integers(bins)
    cdef int64_t *total = <int64_t *>integers(limbs)
    cdef int64_t *limb
    cdef uint64_t bits, exponent, mantissa, low, high, low_half = 0xFFFFFFFF
    if len(bins) != n:
        raise InputError("values and bins must have one length")
    with nogil:
        for i in range(n):
            if bin_of[i] < 0:
                continue
            memcpy(&bits, &value[i], sizeof(bits))
            exponent, mantissa = (bits << 1) >> 53, bits & ((<uint64_t>1 << 52) - 1)  # without the sign of -0.0
            if exponent > 0:
                mantissa |= <uint64_t>1 << 52
                exponent -= 1
            limb = total + bin_of[i] * n_limbs + (exponent >> 5)
            low, high = (mantissa & low_half) << (exponent & 31), (mantissa >> 32) << (exponent & 31)
            limb[0] += low & low_half
            limb[1] += (low >> 32) + (high & low_half)
            limb[2] += high >> 32


def carry(limbs, Py_ssize_t n_limbs):
    """Bring every limb but the last of each bin below 2**32."""
    cdef Py_ssize_t b, i, n_bins = len(limbs) // n_limbs
    cdef int64_t *limb = <int64_t *>integers(limbs)
    cdef int64_t low_half = 0xFFFFFFFF
    with nogil:
        for b in range(n_bins):
            for i in range(n_limbs - 1):
                limb[i + 1] += limb[i] >> 32
                limb[i] &= low_half
            limb += n_limbs
