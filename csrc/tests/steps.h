/*
 * steps.h: models of two resolutions, and the bins and steps of a score by the header's definition.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_TESTS_STEPS_H
#define FASTBIN_TESTS_STEPS_H

#include "models.h"
#include "specs.h"

#define MOST_STEPS 80

/* Random steps in random bins, with edges that repeat, and random keys if wished. The arrays are static. */
static inline fastbin_model_spec random_spec(int n_steps, int n_bins, int with_keys) {
  static double edges[MOST_STEPS], values[MOST_STEPS];
  static uint64_t keys[MOST_STEPS];
  static int64_t first_step[MOST_STEPS], step_counts[MOST_STEPS];
  fastbin_model_spec spec = empty_spec(FASTBIN_STEP);
  double at = 0.0;
  for (int i = 0; i < n_steps - 1; i++) {
    int repeats = i > 0 && random_below(4) == 0;
    if (!repeats) at += (double)(1 + random_below(3)) / 512.0;
    edges[i] = at;
    keys[i] = with_keys ? (repeats && keys[i - 1] > UINT64_MAX - 5 ? keys[i - 1] : random_bits() / 2) : 0;
    if (repeats && keys[i] < keys[i - 1]) keys[i] = keys[i - 1];
  }
  for (int i = 0; i < n_steps; i++) values[i] = random_unit();
  for (int b = 0; b < n_bins; b++) first_step[b] = b + (int64_t)b * (n_steps - n_bins) / n_bins;
  spec.n_bins = n_bins;
  spec.n_steps = n_steps;
  spec.edges = edges;
  spec.edge_keys = keys;
  spec.values = values;
  spec.first_step = first_step;
  spec.step_counts = step_counts;
  return spec;
}

static inline int32_t step_by_definition(const fastbin_model_spec *spec, double score, uint64_t key) {
  int32_t step = 0;
  for (int i = 0; i < spec->n_steps - 1; i++) {
    step += score > spec->edges[i] || (score == spec->edges[i] && key >= spec->edge_keys[i]);
  }
  return step;
}

static inline int32_t bin_by_definition(const fastbin_model_spec *spec, int32_t step) {
  int32_t bin = 0;
  while (bin + 1 < spec->n_bins && spec->first_step[bin + 1] <= step) bin++;
  return bin;
}

#endif /* FASTBIN_TESTS_STEPS_H */
