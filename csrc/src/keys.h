/*
 * keys.h: the arithmetic of the tie keys. FORMAT.md, "Keys", is its specification; none of it may ever change.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_KEYS_H
#define FASTBIN_KEYS_H

#include "numbers.h"

/* The first 64 bits of the fractional parts of sqrt(2), sqrt(3), sqrt(5), sqrt(7), sqrt(11), sqrt(13): separate streams of one
   seed. */
#define STREAM_FIT UINT64_C(0x6A09E667F3BCC908)
#define STREAM_PREDICT UINT64_C(0xBB67AE8584CAA73B)
#define STREAM_SPLIT UINT64_C(0x3C6EF372FE94F82B)
#define STREAM_VALUE UINT64_C(0xA54FF53A5F1D36F1)
#define STREAM_ROWS UINT64_C(0x510E527FADE682D1)
#define STREAM_DRAW UINT64_C(0x9B05688C2B3E6C1F)

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

/* Adds a word to a digest, which begins at 0; the checksum is such a chain, too. */
static inline uint64_t chain(uint64_t state, uint64_t word) { return mix(state ^ word); }

/* What a sample adds to the digest of all rows, in any order. */
static inline uint64_t row_word(double score, uint64_t label, double weight) {
  uint64_t state = mix(bits_of(without_negative_zero(score)) + STREAM_ROWS);
  return chain(chain(state, label), bits_of(without_negative_zero(weight)));
}

static inline uint64_t stream_base(uint64_t seed, uint64_t stream) { return mix(seed + stream); }

/* Both levels are mixed, so that neither nearby scores nor nearby ranks within a group give related keys. */
static inline uint64_t group_base(uint64_t seed, uint64_t stream, double score) {
  return mix(stream_base(seed, stream) ^ bits_of(without_negative_zero(score)));
}

/* A word as a multiple of 2^-53 in [0, 1). */
static inline double uniform_of(uint64_t word) { return (double)(word >> 11) * 0x1p-53; }

/* 2^64 - 1 is not a key: as an edge key it means "above every key". */
static inline uint64_t cap_key(uint64_t key) { return key - (key == UINT64_MAX); }

static inline uint64_t row_key(uint64_t base, uint64_t row) { return cap_key(mix(base + (row + 1) * KEY_STEP)); }

/* keys.c: row_key() of n rows from `first` on, in the build that suits this processor. */
typedef void keys_function(uint64_t base, uint64_t first, size_t n, uint64_t *restrict keys);
keys_function *fastbin_keys_function(void);

/* Value randomisation (Gupta and Ramdas 2021, Algorithm 2): V(key) uniform on [0, 1), value = (v + delta V) / (1 + delta). */
static inline double randomised_value(double value, double delta, uint64_t key) {
  return (value + delta * uniform_of(mix(cap_key(key) + STREAM_VALUE))) / (1.0 + delta);
}

#endif /* FASTBIN_KEYS_H */
