/*
 * keys.c: the public tie keys. The arithmetic is in keys.h and is written down in FORMAT.md.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define VECTORISED_SOURCE
#include "internal.h"

#include "cpu.h"

/* Many keys in a row, in several builds: AVX-512 multiplies eight 64-bit words at a time and takes a fifth of the time. */
static ALWAYS_INLINE void keys_pass(uint64_t base, uint64_t first, size_t n, uint64_t *restrict keys) {
  for (size_t i = 0; i < n; i++) keys[i] = row_key(base, first + i);
}

static void keys_baseline(uint64_t base, uint64_t first, size_t n, uint64_t *restrict keys) {
  keys_pass(base, first, n, keys);
}

#ifdef HAVE_CPU_LEVELS
TARGET_AVX512 static void keys_avx512(uint64_t base, uint64_t first, size_t n, uint64_t *restrict keys) {
  keys_pass(base, first, n, keys);
}
#endif

keys_function *fastbin_keys_function(void) {
#ifdef HAVE_CPU_LEVELS
  if (fastbin_best_cpu_level() >= AVX512) return keys_avx512;
#endif
  return keys_baseline;
}

uint64_t fastbin_row_key(uint64_t seed, uint64_t row) { return row_key(stream_base(seed, STREAM_PREDICT), row); }

static uint64_t key_in_group(uint64_t seed, uint64_t stream, double score, uint64_t j) {
  return cap_key(mix(group_base(seed, stream, score) + (j + 1) * KEY_STEP));
}

uint64_t fastbin_group_key(uint64_t seed, double score, uint64_t j) {
  return key_in_group(seed, STREAM_FIT, score, j);
}

void fastbin_group_keys(uint64_t seed, double score, uint64_t first, size_t n, uint64_t *keys) {
  fastbin_keys_function()(group_base(seed, STREAM_FIT, score), first, n, keys);
}

uint64_t fastbin_split_key(uint64_t seed, double score, uint64_t j) {
  return key_in_group(seed, STREAM_SPLIT, score, j);
}
