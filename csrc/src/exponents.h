/*
 * exponents.h: exp, log and log(1 + x) that give the same bits on every processor.
 *
 * They are polynomials of + - * / and moves of bits, as those of the mathematical library differ between systems, and within two
 * units in the last place. Without branches, so that compilers vectorise the loops around them.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_EXPONENTS_H
#define FASTBIN_EXPONENTS_H

#include "internal.h"

/* In two parts, of which the first times any exponent is exact. */
#define LN2_HIGH 0x1.62e42fee00000p-1
#define LN2_LOW 0x1.a39ef35793c76p-33
#define INVERSE_LN2 0x1.71547652b82fep+0
/* Added to a double below 2^51, it leaves the nearest integer in the last bits. */
#define ROUNDER 0x1.8p52
/* e^-x of what lies beyond is taken for that of this: a normal double, as a processor may take others for zero. */
#define GREATEST_SIZE 708.0

/*
 * c[0] + c[1] x + ... + c[9] x^9, pairs first, so that no long chain of operations waits for itself. The coefficients below are those
 * of Chebyshev's expansions on the intervals named, in 60 digits and then rounded; the functions are off by less than 2e-17 of their
 * values before rounding.
 */
static ALWAYS_INLINE double polynomial_of(double x, const double *c) {
  double x2 = x * x, x4 = x2 * x2;
  double low = (c[0] + c[1] * x) + (c[2] + c[3] * x) * x2, high = (c[4] + c[5] * x) + (c[6] + c[7] * x) * x2;
  return (low + high * x4) + (c[8] + c[9] * x) * (x4 * x4);
}

/* (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2 */
static const double OF_EXP[10] = {0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553d37p-5,  0x1.11111111109a6p-7,
                                  0x1.6c16c1789d1d7p-10, 0x1.a01a01a7cebcdp-13, 0x1.a019b8ca26fcfp-16, 0x1.71de0d85293b8p-19,
                                  0x1.2891d4ffbb0f9p-22, 0x1.af390ba7e6f47p-26};

/* 2 (atanh(s) - s) / s^3 by the square of s: for s <= 1/3, and for s <= (sqrt(2) - 1) / (sqrt(2) + 1) */
static const double OF_LOG1P[10] = {0x1.5555555555555p-1, 0x1.999999999a3ddp-2, 0x1.24924923d44c6p-2, 0x1.c71c727143318p-3,
                                    0x1.745cf0b0e03bdp-3, 0x1.3b18b294bebf9p-3, 0x1.10ac75dc602b1p-3, 0x1.eb905e8575054p-4,
                                    0x1.687a6e7c95176p-4, 0x1.4b0a26c5f2aefp-3};
static const double OF_LOG[10] = {0x1.5555555555558p-1, 0x1.9999999995273p-2, 0x1.2492492dfd86cp-2, 0x1.c71c62d5e53e0p-3,
                                  0x1.7462b91b8df65p-3, 0x1.39fdcceb4bb45p-3, 0x1.2b5f68a50d903p-3, 0.0, 0.0, 0.0};

/* e^x for x in [-708, 0]: 2^k e^r with |r| <= ln(2) / 2. */
static ALWAYS_INLINE double exp_of(double x) {
  double k = x * INVERSE_LN2 + ROUNDER;
  uint64_t power = bits_of(k) << 52;
  k -= ROUNDER;
  double r = (x - k * LN2_HIGH) - k * LN2_LOW;
  return double_of(bits_of(1.0 + (r + r * r * polynomial_of(r, OF_EXP))) + power);
}

/* log x for a normal x > 0: k ln 2 + log m with m in [.7071, 1.4142], log m = 2 atanh(f / (2 + f)) with f = m - 1. */
static ALWAYS_INLINE double log_of(double x) {
  const uint64_t root_of_half = UINT64_C(0x3FE6A09E00000000), one = UINT64_C(0x3FF0000000000000);
  uint64_t moved = bits_of(x) + (one - root_of_half);
  double k = double_of(UINT64_C(0x4330000000000000) | (moved >> 52)) - (0x1p52 + 1023.0);
  double f = double_of((moved & UINT64_C(0x000FFFFFFFFFFFFF)) + root_of_half) - 1.0;
  double s = f / (2.0 + f), square = s * s, half = 0.5 * f * f;
  return k * LN2_HIGH - ((half - (s * (half + square * polynomial_of(square, OF_LOG)) + k * LN2_LOW)) - f);
}

/* log(1 + x) for x in [0, 1]: 2 atanh(x / (2 + x)). */
static ALWAYS_INLINE double log1p_of(double x) {
  double s = x / (2.0 + x), square = s * s;
  return 2.0 * s + s * (square * polynomial_of(square, OF_LOG1P));
}

/* One of two doubles, or the negative of one, by bits that are all set or none: with branches, compilers vectorise no loop. */
static ALWAYS_INLINE uint64_t all_if_negative(double x) { return 0 - (bits_of(x) >> 63); }

static ALWAYS_INLINE double chosen(uint64_t bits, double if_set, double if_not) {
  return double_of((bits & bits_of(if_set)) | (~bits & bits_of(if_not)));
}

/* e^-size, for a size of at least 0. */
static ALWAYS_INLINE double small_of(double size) {
  return exp_of(-chosen(all_if_negative(GREATEST_SIZE - size), GREATEST_SIZE, size));
}

/* The largest of n >= 1 doubles, none of them NaN: of MAXIMA kept beside one another, as one would wait for itself at each entry. */
#define MAXIMA 8u
static ALWAYS_INLINE double largest_of(const double *restrict x, size_t n) {
  double lanes[MAXIMA], top;
  size_t whole = n - n % MAXIMA;
  for (size_t lane = 0; lane < MAXIMA; lane++) lanes[lane] = x[0];
  for (size_t i = 0; i < whole; i += MAXIMA) {
    for (size_t lane = 0; lane < MAXIMA; lane++) lanes[lane] = larger(x[i + lane], lanes[lane]);
  }
  for (size_t i = whole; i < n; i++) lanes[i - whole] = larger(x[i], lanes[i - whole]);
  top = lanes[0];
  for (size_t lane = 1; lane < MAXIMA; lane++) top = larger(lanes[lane], top);
  return top;
}

#endif /* FASTBIN_EXPONENTS_H */
