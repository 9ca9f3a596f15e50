/*
 * search.c: from a score to its bin.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

int32_t fastbin_bin_of(const fastbin_model *model, double score, uint64_t key) {
  const double *edges = model->spec.edges;
  const uint64_t *edge_keys = model->spec.edge_keys;
  int32_t low = 0;
  int32_t high = fastbin_n_edges(&model->spec);
  key = cap_key(key);
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (score > edges[middle] || (score == edges[middle] && key >= edge_keys[middle])) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
