/*
 * index_thresholds.c: the cells that thresholds can get, whatever the floating-point environment (index.h), in several builds, as
 * most of the time of planning an index goes here.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define VECTORISED_SOURCE
#include "internal.h"

#include "cpu.h"
#include "index_thresholds.h"

/* The lowest and the highest cell of a threshold in any floating-point environment. */
typedef struct cell_span {
  uint32_t low, high;
} cell_span;

/*
 * Two environments round each operation to neighbours at most, and flush at most 2^-1022 to zero. These bounds are wider, as they
 * are themselves rounded. Where 0 is subtracted, or something from 0, that is exact but for subnormals, and those all lie in one cell.
 */
#define ROUNDING 0x1p-48
#define FLUSHED 0x1p-1018

static ALWAYS_INLINE double error_of(double distance, double from) {
  return order_of(from) == 0 ? 0.0 : distance * ROUNDING + FLUSHED;
}

static ALWAYS_INLINE cell_span linear_span(const score_index *ix, double threshold) {
  double place = (threshold - ix->origin) * ix->scale, error = place * ROUNDING + (ix->scale + 1.0) * FLUSHED;
  cell_span cells = {cell_of_place(ix, place - error), cell_of_place(ix, place + error)};
  return cells;
}

static ALWAYS_INLINE cell_span low_span(const score_index *ix, double threshold) {
  double distance = threshold - ix->origin, error = error_of(distance, ix->origin);
  cell_span cells = {cell_above(ix, distance - error), cell_above(ix, distance + error)};
  return cells;
}

static ALWAYS_INLINE cell_span high_span(const score_index *ix, double threshold) {
  double distance = ix->end - threshold, error = error_of(distance, ix->end);
  cell_span cells = {cell_below(ix, distance + error), cell_below(ix, distance - error)};
  return cells;
}

static ALWAYS_INLINE cell_span both_span(const score_index *ix, double threshold) {
  if (is_subnormal_or_zero(threshold) && is_subnormal_or_zero(ix->middle)) {
    /* On which side it lies depends on whether subnormals are zero. */
    cell_span cells = {low_span(ix, threshold).low, high_span(ix, threshold).high};
    return cells;
  }
  return threshold < ix->middle ? low_span(ix, threshold) : high_span(ix, threshold);
}

/* The index is copied so that no store can seem to change it. */
#define FILL(span_of)                                          \
  for (size_t i = 0; i < n; i++) {                             \
    cell_span cells = span_of(&copy, block->thresholds[i]);    \
    block->low[i] = cells.low;                                 \
    block->high[i] = cells.high;                               \
  }

static ALWAYS_INLINE void fill_spans(const score_index *ix, size_t n, threshold_block *block) {
  const score_index copy = *ix;
  if (copy.map == INDEX_LINEAR) FILL(linear_span)
  if (copy.map == INDEX_LOW) FILL(low_span)
  if (copy.map == INDEX_BOTH) FILL(both_span)
}

static ALWAYS_INLINE size_t next_block_of(const score_index *ix, const fastbin_model_spec *spec, int32_t *next,
                                          threshold_block *block) {
  int32_t n_edges = fastbin_n_edges(spec), first = *next, edge = first, left = n_edges - first;
  size_t n = 0;
  if (ix->n_thresholds == (uint32_t)n_edges && !spec->edge_keys) { /* the usual case, without a branch */
    n = left < (int32_t)THRESHOLDS_AT_A_TIME ? (size_t)left : THRESHOLDS_AT_A_TIME;
    for (size_t i = 0; i < n; i++) block->thresholds[i] = double_of_order(order_of(spec->edges[(size_t)first + i]));
    for (size_t i = 0; i < n; i++) block->edges[i] = first + (int32_t)i;
    edge = first + (int32_t)n;
  }
  for (; edge < n_edges && n < THRESHOLDS_AT_A_TIME; edge++) {
    if (!has_new_threshold(ix, spec, edge)) continue;
    block->edges[n] = edge;
    block->thresholds[n++] = threshold_of(spec, edge);
  }
  *next = edge;
  fill_spans(ix, n, block);
  return n;
}

#define BUILD(name, TARGET)                                                                                          \
  TARGET static size_t next_block_##name(const score_index *ix, const fastbin_model_spec *spec, int32_t *next,       \
                                         threshold_block *block) {                                                   \
    return next_block_of(ix, spec, next, block);                                                                     \
  }

FOR_CPU_LEVELS(BUILD)

block_function *fastbin_block_function(void) {
  enum cpu_level level = fastbin_best_cpu_level();
  return BUILD_FOR(level, next_block);
}

uint32_t fastbin_highest_cell(const score_index *ix, double threshold) {
  threshold_block block = {.thresholds = {threshold}};
  fill_spans(ix, 1, &block);
  return block.high[0];
}
