/*
 * index_thresholds.h: the thresholds of a model, and the cells that they can get.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_INDEX_THRESHOLDS_H
#define FASTBIN_INDEX_THRESHOLDS_H

#include "internal.h"

/* The order of an edge's threshold; edges in ascending order of (edge, key) have thresholds in ascending order. */
static inline int64_t threshold_order(const fastbin_model_spec *spec, int32_t edge) {
  int ties_go_below = spec->edge_keys && spec->edge_keys[edge] == FASTBIN_KEY_BELOW;
  return order_of(spec->edges[edge]) + ties_go_below;
}

static inline double threshold_of(const fastbin_model_spec *spec, int32_t edge) {
  return double_of_order(threshold_order(spec, edge));
}

/* Whether it is another one than that of the edge before. */
static inline int is_new_threshold(const fastbin_model_spec *spec, int32_t edge) {
  return edge == 0 || threshold_order(spec, edge) > threshold_order(spec, edge - 1);
}

/* The same once thresholds are counted: in most models each edge has its own. */
static inline int has_new_threshold(const score_index *ix, const fastbin_model_spec *spec, int32_t edge) {
  return ix->n_thresholds == (uint32_t)fastbin_n_edges(spec) || is_new_threshold(spec, edge);
}

/* Thresholds are taken so many at a time; that many before them remember their cells while a window is sought. A power of two. */
#define THRESHOLDS_AT_A_TIME 64u

/*
 * Some thresholds in ascending order, each once, with its first edge, and the lowest and the highest cell that it can get in any
 * floating-point environment.
 */
typedef struct threshold_block {
  int32_t edges[THRESHOLDS_AT_A_TIME];
  double thresholds[THRESHOLDS_AT_A_TIME];
  uint32_t low[THRESHOLDS_AT_A_TIME], high[THRESHOLDS_AT_A_TIME];
} threshold_block;

/* Fills a block from edge *next on, which moves behind it. Returns the number of its thresholds; 0 after the last one. */
typedef size_t block_function(const score_index *ix, const fastbin_model_spec *spec, int32_t *next, threshold_block *block);

/* index_thresholds.c: the build that suits this processor; the highest cell of one threshold. */
block_function *fastbin_block_function(void);
uint32_t fastbin_highest_cell(const score_index *ix, double threshold);

#endif /* FASTBIN_INDEX_THRESHOLDS_H */
