/*
 * index_spans.c: the cells that thresholds can get, whatever the floating-point environment (index.h), in several builds: most of
 * the time of planning an index goes here.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define VECTORISED_SOURCE
#include "internal.h"

#include "cpu.h"

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
#define FILL(span_of)                                      \
  for (size_t i = 0; i < n; i++) {                         \
    cell_span cells = span_of(&copy, thresholds[i]);       \
    low[i] = cells.low;                                    \
    high[i] = cells.high;                                  \
  }

static ALWAYS_INLINE void fill_spans_of(const score_index *ix, const double *restrict thresholds, size_t n,
                                        uint32_t *restrict low, uint32_t *restrict high) {
  const score_index copy = *ix;
  if (copy.map == INDEX_LINEAR) FILL(linear_span)
  if (copy.map == INDEX_LOW) FILL(low_span)
  if (copy.map == INDEX_BOTH) FILL(both_span)
}

typedef void fill_spans(const score_index *ix, const double *thresholds, size_t n, uint32_t *low, uint32_t *high);

#define BUILD(name, TARGET)                                                                                                   \
  TARGET static void fill_spans_##name(const score_index *ix, const double *thresholds, size_t n, uint32_t *low, uint32_t *high) { \
    fill_spans_of(ix, thresholds, n, low, high);                                                                              \
  }

FOR_CPU_LEVELS(BUILD)

void fastbin_cell_spans(const score_index *ix, const double *thresholds, size_t n, uint32_t *low, uint32_t *high) {
  fill_spans *fill = BUILD_FOR(fastbin_best_cpu_level(), fill_spans);
  fill(ix, thresholds, n, low, high);
}
