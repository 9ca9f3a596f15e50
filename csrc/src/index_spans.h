/*
 * index_spans.h: the cells that a threshold can get, whatever the floating-point environment. See index.h.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_INDEX_SPANS_H
#define FASTBIN_INDEX_SPANS_H

#include "index.h"

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

static inline double error_of(double distance, double from) {
  return order_of(from) == 0 ? 0.0 : distance * ROUNDING + FLUSHED;
}

static inline cell_span cells_above(const score_index *ix, double threshold) {
  double distance = threshold - ix->origin, error = error_of(distance, ix->origin);
  cell_span cells = {cell_above(ix, distance - error), cell_above(ix, distance + error)};
  return cells;
}

static inline cell_span cells_below(const score_index *ix, double threshold) {
  double distance = ix->end - threshold, error = error_of(distance, ix->end);
  cell_span cells = {cell_below(ix, distance + error), cell_below(ix, distance - error)};
  return cells;
}

static inline cell_span cells_of(const score_index *ix, double threshold) {
  double place, error;
  cell_span cells;
  if (ix->map == INDEX_LINEAR) {
    place = (threshold - ix->origin) * ix->scale;
    error = place * ROUNDING + (ix->scale + 1.0) * FLUSHED;
    cells.low = cell_of_place(ix, place - error);
    cells.high = cell_of_place(ix, place + error);
    return cells;
  }
  if (ix->map == INDEX_LOW) return cells_above(ix, threshold);
  if (is_subnormal_or_zero(threshold) && is_subnormal_or_zero(ix->middle)) {
    /* On which side it lies depends on whether subnormals are zero. */
    cells.low = cells_above(ix, threshold).low;
    cells.high = cells_below(ix, threshold).high;
    return cells;
  }
  return threshold < ix->middle ? cells_above(ix, threshold) : cells_below(ix, threshold);
}

#endif /* FASTBIN_INDEX_SPANS_H */
