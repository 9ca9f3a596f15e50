/*
 * index_cells.c: the first pass over a block of scores, in several builds.
 *
 * This part of batch scoring gains from wide registers: arithmetic, minimum, maximum and shift, without table lookups. It is
 * written once, in plain C that compilers vectorise; functions with a `target` attribute inline it and so compile it for wider
 * registers. All builds round alike (there is nothing here to fuse), so they agree bit for bit.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define VECTORISED_SOURCE
#include "internal.h"

#include "cpu.h"

/*
 * The bits that change when a score is clamped to the range and -0.0 becomes 0.0; NaN changes as well. Collected with OR, this
 * checks a block with five cheap instructions per register; comparisons would take ten.
 */
static ALWAYS_INLINE uint64_t change_by_range(const score_index *ix, double score) {
  return bits_of(without_negative_zero(smaller(larger(score, ix->check_min), ix->check_max))) ^ bits_of(score);
}

/*
 * The same in two instructions, for registers whose largest unsigned integer is one of them, and ranges without a negative
 * score: there the bits of doubles are in their order, and those of every other double, -0.0 included, lie above the range.
 */
static ALWAYS_INLINE uint64_t bits_above_least(const score_index *ix, double score) {
  return bits_of(score) - bits_of(ix->check_min);
}

#define DEFINE_POSITIVE_PASS(name, cell_of)                                                                           \
  static ALWAYS_INLINE uint64_t name(const score_index *ix, const double *restrict scores, size_t n,                  \
                                     uint32_t *restrict cells) {                                                      \
    const score_index copy = *ix;                                                                                     \
    uint64_t most = 0;                                                                                                \
    for (size_t i = 0; i < n; i++) {                                                                                  \
      uint64_t above = bits_above_least(&copy, scores[i]);                                                            \
      most = above > most ? above : most;                                                                             \
      cells[i] = cell_of(&copy, scores[i]);                                                                           \
    }                                                                                                                 \
    return most > bits_above_least(&copy, copy.check_max);                                                            \
  }

/* One pass, for the map that `cell_of` computes. The index is copied so that no store can seem to change it. */
#define DEFINE_PASS(name, cell_of)                                                                                    \
  static ALWAYS_INLINE uint64_t name(const score_index *ix, const double *restrict scores, size_t n,                  \
                                     uint32_t *restrict cells) {                                                      \
    const score_index copy = *ix;                                                                                     \
    uint64_t changed = 0;                                                                                             \
    for (size_t i = 0; i < n; i++) {                                                                                  \
      changed |= change_by_range(&copy, scores[i]);                                                                   \
      cells[i] = cell_of(&copy, scores[i]);                                                                           \
    }                                                                                                                 \
    return changed;                                                                                                   \
  }

DEFINE_PASS(linear_pass, linear_cell)
DEFINE_PASS(low_pass, low_cell)
DEFINE_PASS(both_pass, both_cell)
DEFINE_POSITIVE_PASS(positive_linear_pass, linear_cell)
DEFINE_POSITIVE_PASS(positive_low_pass, low_cell)
DEFINE_POSITIVE_PASS(positive_both_pass, both_cell)

#define DEFINE_BUILD(name, target, pass)                                                                              \
  target static uint64_t name(const score_index *ix, const double *restrict scores, size_t n, uint32_t *restrict cells) {    \
    return pass(ix, scores, n, cells);                                                                                \
  }

DEFINE_BUILD(linear_baseline, , linear_pass)
DEFINE_BUILD(low_baseline, , low_pass)
DEFINE_BUILD(both_baseline, , both_pass)

#ifdef HAVE_CPU_LEVELS
DEFINE_BUILD(linear_avx2, TARGET_AVX2, linear_pass)
DEFINE_BUILD(low_avx2, TARGET_AVX2, low_pass)
DEFINE_BUILD(both_avx2, TARGET_AVX2, both_pass)
DEFINE_BUILD(linear_avx512, TARGET_AVX512, linear_pass)
DEFINE_BUILD(low_avx512, TARGET_AVX512, low_pass)
DEFINE_BUILD(both_avx512, TARGET_AVX512, both_pass)
DEFINE_BUILD(positive_linear_avx512, TARGET_AVX512, positive_linear_pass)
DEFINE_BUILD(positive_low_avx512, TARGET_AVX512, positive_low_pass)
DEFINE_BUILD(positive_both_avx512, TARGET_AVX512, positive_both_pass)
#endif

static cells_function *const passes[][3] = {
    [BASELINE] = {[INDEX_LINEAR] = linear_baseline, [INDEX_LOW] = low_baseline, [INDEX_BOTH] = both_baseline},
#ifdef HAVE_CPU_LEVELS
    [AVX2] = {[INDEX_LINEAR] = linear_avx2, [INDEX_LOW] = low_avx2, [INDEX_BOTH] = both_avx2},
    [AVX512] = {[INDEX_LINEAR] = linear_avx512, [INDEX_LOW] = low_avx512, [INDEX_BOTH] = both_avx512},
#endif
};

#ifdef HAVE_CPU_LEVELS
static cells_function *const positive_passes[3] = {
    [INDEX_LINEAR] = positive_linear_avx512, [INDEX_LOW] = positive_low_avx512, [INDEX_BOTH] = positive_both_avx512,
};
#endif

cells_function *fastbin_cells_function(const score_index *ix) {
  enum cpu_level level = fastbin_best_cpu_level();
#ifdef HAVE_CPU_LEVELS
  if (level > AVX512) level = AVX512;
  if (level == AVX512 && ix->check_min >= 0.0) return positive_passes[ix->map];
#endif
  return passes[level][ix->map];
}
