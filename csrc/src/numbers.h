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

/* Whether a processor may take it for zero. */
static inline int is_subnormal_or_zero(double x) { return (bits_of(x) & UINT64_C(0x7FF0000000000000)) == 0; }

static inline int is_finite(double x) {
  return (bits_of(x) & UINT64_C(0x7FF0000000000000)) != UINT64_C(0x7FF0000000000000);
}

#define SIGN_BIT UINT64_C(0x8000000000000000)

/* Turns -0.0 into 0.0 and leaves every other double unchanged. By its bits: x + 0.0 is -0.0 when rounding goes down, and 0.0 for
   a subnormal that the processor takes for zero. */
static inline double without_negative_zero(double x) { return bits_of(x) == SIGN_BIT ? 0.0 : x; }

/*
 * The order of a double: an integer that ascends as the doubles do, the same for 0.0 and -0.0; its own bits from 0.0 on. The next
 * double has the next order. NaN lies beyond the infinities, on the side of its sign.
 *
 * Comparisons go by it wherever a subnormal may be compared: to a processor that takes subnormals for zero, they are all equal.
 */
static inline int64_t order_of(double x) {
  uint64_t bits = bits_of(x), sign = 0 - (bits >> 63);
  return (int64_t)((bits ^ (sign >> 1)) - sign);
}

static inline double double_of_order(int64_t order) {
  return double_of(order < 0 ? SIGN_BIT - (uint64_t)order : (uint64_t)order);
}

static inline int is_less(double x, double y) { return order_of(x) < order_of(y); }

/* Whether it lies in [least, most]; NaN does not. */
static inline int is_between(double least, double x, double most) {
  return order_of(least) <= order_of(x) && order_of(x) <= order_of(most);
}

/* In the form that compiles to one instruction; a NaN on the left gives the right. */
static inline double larger(double x, double bound) { return x > bound ? x : bound; }
static inline double smaller(double x, double bound) { return x < bound ? x : bound; }

/* Adds count * size to *total. Returns 0, with *total untouched, when that overflows. */
static inline int add_size(size_t *total, size_t count, size_t size) {
  if (size != 0 && count > (SIZE_MAX - *total) / size) return 0;
  *total += count * size;
  return 1;
}

#endif /* FASTBIN_NUMBERS_H */
