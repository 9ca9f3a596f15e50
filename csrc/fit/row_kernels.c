/*
 * row_kernels.c: see row_kernels.h. Each loop is compiled for several levels of processors (cpu.h).
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define VECTORISED_SOURCE
#include "internal.h"

#include "cpu.h"
#include "numbers.h"
#include "row_kernels.h"

static ALWAYS_INLINE int pack(const double *restrict scores, const uint8_t *restrict labels, size_t n, double low, double high,
                              uint64_t *restrict packed) {
  uint64_t n_good = 0, excess = 0;
  for (size_t i = 0; i < n; i++) {
    n_good += (scores[i] >= low) & (scores[i] <= high);
    excess |= labels[i];
    /* The sign is shifted out: -0.0 and 0.0 are one score. */
    packed[i] = bits_of(scores[i]) << 1 | (labels[i] ^ UINT64_C(1));
  }
  return n_good == n && excess <= 1;
}

static ALWAYS_INLINE size_t count(const uint64_t *packed, size_t n) {
  uint64_t n_zeros = 0;
  for (size_t i = 0; i < n; i++) n_zeros += packed[i] & 1;
  return n - (size_t)n_zeros;
}

#define BUILD(name, TARGET)                                                                                        \
  TARGET static int pack_##name(const double *scores, const uint8_t *labels, size_t n, double low, double high,    \
                                uint64_t *packed) {                                                                \
    return pack(scores, labels, n, low, high, packed);                                                             \
  }                                                                                                                \
  TARGET static size_t count_##name(const uint64_t *packed, size_t n) { return count(packed, n); }

FOR_CPU_LEVELS(BUILD)

int fastbin_pack_rows(const double *scores, const uint8_t *labels, size_t n, double low, double high, uint64_t *packed) {
  enum cpu_level level = fastbin_best_cpu_level();
  return BUILD_FOR(level, pack)(scores, labels, n, low, high, packed);
}

size_t fastbin_count_ones(const uint64_t *packed, size_t n) {
  enum cpu_level level = fastbin_best_cpu_level();
  return BUILD_FOR(level, count)(packed, n);
}
