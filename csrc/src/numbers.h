/*
 * numbers.h: doubles as bit patterns, and sizes that may not overflow.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_NUMBERS_H
#define FASTBIN_NUMBERS_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline double infinity(void) { return double_of(UINT64_C(0x7FF0000000000000)); }

/* The result for a missing score. */
static inline double quiet_nan(void) { return double_of(UINT64_C(0x7FF8000000000000)); }

/* By its bits: -ffast-math would remove `x != x`. */
static inline int is_nan(double x) {
  return (bits_of(x) & UINT64_C(0x7FFFFFFFFFFFFFFF)) > UINT64_C(0x7FF0000000000000);
}

static inline int is_finite(double x) {
  return (bits_of(x) & UINT64_C(0x7FF0000000000000)) != UINT64_C(0x7FF0000000000000);
}

/* Turns -0.0 into 0.0 and leaves every other double unchanged. */
static inline double without_negative_zero(double x) { return x + 0.0; }

/* The next double above a finite one, neither of them -0.0; INFINITY above DBL_MAX. Unlike nextafter() it touches no errno. */
static inline double next_up(double x) {
  return without_negative_zero(double_of(x < 0.0 ? bits_of(x) - 1 : bits_of(x) + 1));
}

/* An integer for every double except NaN, in the order of the doubles; the same for 0.0 and -0.0. */
static inline uint64_t order_of(double x) {
  uint64_t bits = bits_of(without_negative_zero(x));
  return bits ^ ((0 - (bits >> 63)) | UINT64_C(0x8000000000000000));
}

/* In the form that compiles to one instruction; a NaN on the left gives the right. */
static inline double larger(double x, double bound) { return x > bound ? x : bound; }
static inline double smaller(double x, double bound) { return x < bound ? x : bound; }

/*
 * Whether any of many pairs of doubles are equal, none of them NaN. On x86 two instructions a pair, which leave the flags and
 * the integer registers alone; `ties |= x == y` takes five.
 */
#if defined(__SSE2__)
#include <emmintrin.h>
typedef __m128d equals;
static inline equals no_equals(void) { return _mm_setzero_pd(); }
static inline void watch_equal(equals *seen, double x, double y) {
  *seen = _mm_or_pd(*seen, _mm_cmpeq_sd(_mm_set_sd(x), _mm_set_sd(y)));
}
static inline int any_equal(equals seen) { return _mm_movemask_pd(seen) & 1; }
#else
typedef int equals;
static inline equals no_equals(void) { return 0; }
static inline void watch_equal(equals *seen, double x, double y) { *seen |= bits_of(x) == bits_of(y); }
static inline int any_equal(equals seen) { return seen; }
#endif

/* Adds count * size to *total. Returns 0, with *total untouched, when that overflows. */
static inline int add_size(size_t *total, size_t count, size_t size) {
  if (size != 0 && count > (SIZE_MAX - *total) / size) return 0;
  *total += count * size;
  return 1;
}

#endif /* FASTBIN_NUMBERS_H */
