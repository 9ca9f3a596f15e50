/*
 * bench.h: what the programs of this folder share: a clock, random scores, models fitted to them, and lines of figures.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_BENCH_H
#define FASTBIN_BENCH_H

#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 199309L
#endif
#include "fastbin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One figure in one line, to be read by people and by bench/bench_c.py alike: case | figure | value | unit. */
static inline void record(const char *name, const char *figure, double value, const char *unit) {
  printf("%-54s | %-27s | %10.3f | %s\n", name, figure, value, unit);
  fflush(stdout);
}

static inline double nanoseconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Random scores                                                                                                 */
/* ------------------------------------------------------------------------------------------------------------- */

typedef double draw_score(void);

static inline double draw_uniform(void) {
  static uint64_t row = 1;
  return (double)(fastbin_row_key(7, row++) >> 11) * 0x1p-53;
}

static inline double draw_normal(void) {
  return sqrt(-2.0 * log(1.0 - draw_uniform())) * cos(6.283185307179586 * draw_uniform());
}

/* X / (X + Y) with gamma variables of shapes 1/2 and 5. */
static inline double draw_beta(void) {
  double z = draw_normal(), x = 0.5 * z * z, y = 0.0;
  for (int i = 0; i < 5; i++) y -= log(1.0 - draw_uniform());
  return x / (x + y);
}

static inline double draw_clicks(void) { return fmin(1e-4 * exp(draw_normal()), 1.0); }

/* An overconfident classifier: scores crowd at both ends. */
static inline double draw_both_ends(void) { return 1.0 / (1.0 + exp(-6.0 * draw_normal())); }

static inline double draw_coarse(void) { return floor(100.0 * draw_uniform()) / 100.0; }

/* ------------------------------------------------------------------------------------------------------------- */
/* Memory, order statistics, models                                                                              */
/* ------------------------------------------------------------------------------------------------------------- */

static inline void *array_of(size_t n, size_t size) {
  void *made = calloc(n, size);
  if (made == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  return made;
}

static inline int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The share `p` of these numbers is at or below the result; sorts them. */
static inline double percentile(double *numbers, size_t n, double p) {
  size_t rank = (size_t)ceil(p * (double)n);
  qsort(numbers, n, sizeof *numbers, ascending);
  return numbers[rank > 0 ? rank - 1 : 0];
}

/* A model with edges at the quantiles of these scores; with keys, each edge has one, as uniform-mass binning gives it. */
static inline fastbin_model *fit(const double *scores, size_t n, int n_bins, int with_keys) {
  double *sorted = array_of(n, sizeof *sorted), *edges = array_of((size_t)n_bins, sizeof *edges);
  double *values = array_of((size_t)n_bins, sizeof *values);
  uint64_t *keys = array_of((size_t)n_bins, sizeof *keys);
  fastbin_model *model = NULL;
  fastbin_model_spec spec;
  memcpy(sorted, scores, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, ascending);
  for (int i = 0; i < n_bins; i++) {
    edges[i] = sorted[(size_t)(i + 1) * n / (size_t)n_bins - 1];
    values[i] = (i + 0.5) / n_bins;
    keys[i] = i > 0 && edges[i] == edges[i - 1] ? keys[i - 1] + UINT64_MAX / 256 : UINT64_MAX / 3;
  }
  memset(&spec, 0, sizeof spec);
  spec.struct_size = sizeof spec;
  spec.n_bins = n_bins;
  spec.edges = edges;
  spec.edge_keys = with_keys ? keys : NULL;
  spec.values = values;
  spec.score_max = 1.0;
  spec.odds_ratio = 1.0;
  if (fastbin_model_create(&spec, &model) != FASTBIN_OK) exit(1);
  free(sorted);
  free(edges);
  free(values);
  free(keys);
  return model;
}

/* The bin by its definition: a plain loop over the edges. */
static inline double value_by_definition(const fastbin_model *model, double score, uint64_t key) {
  fastbin_model_spec spec;
  int bin = 0;
  spec.struct_size = sizeof spec;
  fastbin_model_describe(model, &spec);
  for (int i = 0; i < spec.n_bins - 1; i++) {
    bin += score > spec.edges[i] || (score == spec.edges[i] && key >= spec.edge_keys[i]);
  }
  return spec.values[bin];
}

static inline void check_answer(const fastbin_model *model, double score, uint64_t key, double value) {
  if (value == value_by_definition(model, score, key)) return;
  fprintf(stderr, "wrong answer for score %.17g\n", score);
  exit(1);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* One score                                                                                                     */
/* ------------------------------------------------------------------------------------------------------------- */

/* fastbin_predict_one, or an empty call of the same shape; called through a volatile pointer, so that none is inlined. */
typedef fastbin_status one_call(const fastbin_model *model, double score, uint64_t key, double *value);

static inline fastbin_status empty_call(const fastbin_model *model, double score, uint64_t key, double *value) {
  (void)model;
  (void)key;
  *value = score;
  return FASTBIN_OK;
}

#endif
