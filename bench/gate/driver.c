/*
 * driver.c: the scoring kernels, each alone in a function whose instructions callgrind counts.
 *
 *     driver CASE          # run under: valgrind --tool=callgrind --toggle-collect=run_case
 *
 * Instruction counts do not depend on what else the machine does, so 3 % is already a change of the code.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "fastbin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_EDGES 99
#define N_ROWS 20000

static double scores[N_ROWS], values[N_ROWS];
static float narrow[N_ROWS];
static uint64_t keys[N_ROWS];
static int32_t bins[N_ROWS];

static double uniform(uint64_t i) { return (double)(fastbin_row_key(1, i) >> 11) * 0x1p-53; }

/* Evenly spread edges, edges that crowd near zero, and edges that are tied scores with keys. */
static fastbin_model *make(const char *shape) {
  double edges[N_EDGES], bin_values[N_EDGES + 1];
  uint64_t edge_keys[N_EDGES];
  fastbin_model_spec spec;
  fastbin_model *model;
  int tied = strcmp(shape, "ties") == 0, skewed = strcmp(shape, "skewed") == 0;
  memset(&spec, 0, sizeof spec);
  for (int i = 0; i < N_EDGES; i++) {
    double u = (i + 1.0) / (N_EDGES + 1.0);
    edges[i] = skewed ? u * u * u * u : u;
    edge_keys[i] = tied ? UINT64_C(1) << 63 : 0;
  }
  for (int i = 0; i <= N_EDGES; i++) bin_values[i] = i / (double)N_EDGES;
  for (int i = 0; i < N_ROWS; i++) {
    double u = uniform((uint64_t)i);
    scores[i] = skewed ? u * u * u * u : tied ? floor(100.0 * u) / 100.0 : u;
    narrow[i] = (float)scores[i];
    keys[i] = fastbin_row_key(2, (uint64_t)i);
  }
  spec.struct_size = sizeof spec;
  spec.n_bins = N_EDGES + 1;
  spec.edges = edges;
  spec.edge_keys = edge_keys;
  spec.values = bin_values;
  spec.score_max = 1.0;
  spec.odds_ratio = 1.0;
  return fastbin_model_create(&spec, &model) == FASTBIN_OK ? model : NULL;
}

__attribute__((noinline)) int run_case(const char *name, const fastbin_model *model, const fastbin_rows *rows) {
  if (strcmp(name, "one") == 0) {
    for (int i = 0; i < N_ROWS; i++) {
      if (fastbin_predict_one(model, scores[i], keys[i], &values[i]) != FASTBIN_OK) return 1;
    }
    return 0;
  }
  if (strcmp(name, "assign") == 0) return fastbin_assign(model, rows, bins, NULL) != FASTBIN_OK;
  return fastbin_predict(model, rows, values, NULL) != FASTBIN_OK;
}

int main(int argc, char **argv) {
  /* CASE is WHAT-SHAPE: one, assign, batch or float32; even, skewed or ties. */
  char name[32];
  const char *shape;
  fastbin_model *model;
  fastbin_rows rows;
  int failed;
  if (argc != 2 || strlen(argv[1]) >= sizeof name || strchr(argv[1], '-') == NULL) return 2;
  strcpy(name, argv[1]);
  *strchr(name, '-') = '\0';
  shape = strchr(argv[1], '-') + 1;
  model = make(shape);
  if (model == NULL) return 3;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.n_rows = N_ROWS;
  rows.keys = keys;
  rows.scores = strcmp(name, "float32") == 0 ? (const void *)narrow : (const void *)scores;
  rows.score_type = strcmp(name, "float32") == 0 ? FASTBIN_FLOAT32 : FASTBIN_FLOAT64;
  rows.score_stride = strcmp(name, "float32") == 0 ? (ptrdiff_t)sizeof(float) : (ptrdiff_t)sizeof(double);
  failed = run_case(name, model, &rows);
  fastbin_model_free(model);
  return failed;
}
