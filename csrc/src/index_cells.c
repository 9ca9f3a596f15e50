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
 * checks a block with five cheap instructions per register; comparisons of orders would take ten. Where a subnormal may be flushed
 * to zero it changes, too: the caller looks closer.
 */
static ALWAYS_INLINE uint64_t change_by_range(const score_index *ix, double score) {
  return bits_of(smaller(larger(score, ix->check_min), ix->check_max) + 0.0) ^ bits_of(score);
}

/*
 * For ranges without a negative score, where orders are bits: the sign bit of this is set for all but the scores in the range. They
 * are at most `span` above the least, which is below 2^63. -0.0 is refused as well.
 */
static ALWAYS_INLINE uint64_t outside_range(const score_index *ix, double score) {
  uint64_t above = bits_of(score) - (uint64_t)ix->least;
  return above | (ix->span - above);
}

/* One pass, for the map that `cell_of` computes. The index is copied so that no store can seem to change it. */
#define DEFINE_PASSES(map, cell_of)                                                                                   \
  static ALWAYS_INLINE uint64_t map##_pass(const score_index *ix, const double *restrict scores, size_t n,            \
                                           uint32_t *restrict cells, uint64_t *restrict heights) {                    \
    const score_index copy = *ix;                                                                                     \
    uint64_t changed = 0;                                                                                             \
    for (size_t i = 0; i < n; i++) {                                                                                  \
      changed |= change_by_range(&copy, scores[i]);                                                                   \
      cells[i] = cell_of(&copy, scores[i]);                                                                           \
      heights[i] = height_of(&copy, order_of(scores[i]));                                                             \
    }                                                                                                                 \
    return changed;                                                                                                   \
  }                                                                                                                   \
  static ALWAYS_INLINE uint64_t positive_##map##_pass(const score_index *ix, const double *restrict scores, size_t n, \
                                                      uint32_t *restrict cells, uint64_t *restrict heights) {         \
    const score_index copy = *ix;                                                                                     \
    uint64_t outside = 0;                                                                                             \
    (void)heights;                                                                                                    \
    for (size_t i = 0; i < n; i++) {                                                                                  \
      outside |= outside_range(&copy, scores[i]);                                                                     \
      cells[i] = cell_of(&copy, scores[i]);                                                                           \
    }                                                                                                                 \
    return outside >> 63;                                                                                             \
  }

DEFINE_PASSES(linear, linear_cell)
DEFINE_PASSES(low, low_cell)
DEFINE_PASSES(both, both_cell)

#define DEFINE_BUILD(name, target, pass)                                                                              \
  target static uint64_t name(const score_index *ix, const double *restrict scores, size_t n, uint32_t *restrict cells, \
                              uint64_t *restrict heights) {                                                           \
    return pass(ix, scores, n, cells, heights);                                                                       \
  }

/* By the map, and whether the range has no negative score. */
#define DEFINE_BUILDS(level, target)                                                                                  \
  DEFINE_BUILD(linear_##level, target, linear_pass)                                                                   \
  DEFINE_BUILD(low_##level, target, low_pass)                                                                         \
  DEFINE_BUILD(both_##level, target, both_pass)                                                                       \
  DEFINE_BUILD(positive_linear_##level, target, positive_linear_pass)                                                 \
  DEFINE_BUILD(positive_low_##level, target, positive_low_pass)                                                       \
  DEFINE_BUILD(positive_both_##level, target, positive_both_pass)                                                     \
  static cells_function *const passes_##level[3][2] = {                                                               \
      [INDEX_LINEAR] = {linear_##level, positive_linear_##level},                                                     \
      [INDEX_LOW] = {low_##level, positive_low_##level},                                                              \
      [INDEX_BOTH] = {both_##level, positive_both_##level},                                                           \
  };

FOR_CPU_LEVELS(DEFINE_BUILDS)

cells_function *fastbin_cells_function(const score_index *ix) {
  enum cpu_level level = fastbin_best_cpu_level();
  return BUILD_FOR(level, passes)[ix->map][ix->least >= 0];
}
