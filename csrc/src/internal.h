/*
 * internal.h: what the source files share. Not installed; every .c file includes it first.
 *
 * House rules of this library:
 *   - no writable global data, no locks, no allocation while scoring;
 *   - every symbol that leaves an object file starts with fastbin_ (tests/check_symbols.sh);
 *   - results must not depend on the build: no fast-math, no fused multiply-add (see below), no -march in what ships.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_INTERNAL_H
#define FASTBIN_INTERNAL_H

#ifndef FASTBIN_BUILD
#define FASTBIN_BUILD
#endif
#include "fastbin.h"

#include <float.h>
#include <math.h>
#include <string.h>

/*
 * A fused multiply-add rounds once where two operations round twice, so a build that fuses would give other bits. The
 * build files pass -ffp-contract=off; these pragmas protect whoever compiles the sources with flags of their own.
 */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* ------------------------------------------------------------------------------------------------------------- */
/* The model                                                                                                     */
/* ------------------------------------------------------------------------------------------------------------- */

struct fastbin_model {
  fastbin_model_spec spec;    /* what describe() shows; its pointers point into this allocation */
  double check_min;           /* spec.score_min and score_max, with the infinities replaced by the largest doubles, */
  double check_max;           /*   so that two comparisons refuse NaN, infinity and scores out of range alike */
};

/* The number of edges (knots, for a LINEAR model) of a spec whose kind is known. */
static inline int32_t fastbin_n_edges(const fastbin_model_spec *spec) {
  return spec->kind == FASTBIN_STEP ? spec->n_bins - 1 : spec->n_bins;
}

/* check.c: everything fastbin_model_create() promises to refuse, and the part of it that a newer version may have made. */
fastbin_status fastbin_check_spec(const fastbin_model_spec *spec);
int fastbin_known_enumerators(const fastbin_model_spec *spec);

/* model.c: whether a struct of the API has a size, and only members, that this version of the library knows. */
int fastbin_struct_understood(const void *given, size_t struct_size, size_t known_size);

/* format.c: whether these first bytes of a model can be the start of one that is at least so long. */
fastbin_status fastbin_check_prefix(const unsigned char *bytes, size_t size);

/* search.c */
int32_t fastbin_bin_of(const fastbin_model *model, double score, uint64_t key);

/* A size_t product or sum that cannot overflow unnoticed: false, and *total untouched, when it would. */
static inline int add_size(size_t *total, size_t count, size_t size) {
  if (size != 0 && count > (SIZE_MAX - *total) / size) return 0;
  *total += count * size;
  return 1;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Keys (FORMAT.md, section "Keys"): none of this may ever change                                                */
/* ------------------------------------------------------------------------------------------------------------- */

/* The first 64 bits of the fractional parts of sqrt(2), sqrt(3), sqrt(5), sqrt(7): separate streams of one seed. */
#define STREAM_FIT UINT64_C(0x6A09E667F3BCC908)
#define STREAM_PREDICT UINT64_C(0xBB67AE8584CAA73B)
#define STREAM_SPLIT UINT64_C(0x3C6EF372FE94F82B)
#define STREAM_VALUE UINT64_C(0xA54FF53A5F1D36F1)

/* 2^64 divided by the golden ratio, odd: the step of the counter, as in SplitMix64. */
#define KEY_STEP UINT64_C(0x9E3779B97F4A7C15)

/* The finaliser of SplitMix64 (Steele, Lea and Flood 2014, with Stafford's constants): a bijection of 64-bit words. */
static inline uint64_t mix(uint64_t z) {
  z ^= z >> 30;
  z *= UINT64_C(0xBF58476D1CE4E5B9);
  z ^= z >> 27;
  z *= UINT64_C(0x94D049BB133111EB);
  z ^= z >> 31;
  return z;
}

static inline uint64_t stream_base(uint64_t seed, uint64_t stream) { return mix(seed + stream); }

/* 2^64 - 1 is no key: as an edge key it means "above every key". */
static inline uint64_t cap_key(uint64_t key) { return key - (key == UINT64_MAX); }

static inline uint64_t row_key(uint64_t base, uint64_t row) { return cap_key(mix(base + (row + 1) * KEY_STEP)); }

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

/* Adding 0.0 turns -0.0 into 0.0 and leaves every other double alone. */
static inline uint64_t score_bits(double score) { return bits_of(score + 0.0); }

/* Value randomisation (Gupta and Ramdas 2021, Algorithm 2): V(key) uniform on [0, 1), value = (v + delta V) / (1 + delta). */
static inline double randomised_value(double value, double delta, uint64_t key) {
  double uniform = (double)(mix(cap_key(key) + STREAM_VALUE) >> 11) * 0x1p-53;
  return (value + delta * uniform) / (1.0 + delta);
}

/* NaN by its bits: `x != x` disappears when somebody builds with -ffast-math. */
static inline int is_nan(double x) {
  return (bits_of(x) & UINT64_C(0x7FFFFFFFFFFFFFFF)) > UINT64_C(0x7FF0000000000000);
}

static inline int is_finite(double x) {
  return (bits_of(x) & UINT64_C(0x7FF0000000000000)) != UINT64_C(0x7FF0000000000000);
}

#endif /* FASTBIN_INTERNAL_H */
