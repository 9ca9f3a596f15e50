/*
 * bench_score.c: what a score costs, beside what copying it costs.
 *
 *     make bench              # or: build/bench_score [n_rows]
 *
 * Every line is the median of interleaved runs in one process, in nanoseconds per score, and the ratio to a memcpy of the
 * same scores. Each answer is checked against a plain loop over the edges before the clock starts. Set FASTBIN_CPU to
 * baseline or avx2 to measure the other builds.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 199309L
#endif
#include "fastbin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPEATS 31
#define N_SINGLE 20000

/* Processor time, so that other programs on the machine disturb little; nanoseconds. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t state = 1;

static double uniform(void) { return (double)(fastbin_row_key(7, state++) >> 11) * 0x1p-53; }

static double normal(void) { return sqrt(-2.0 * log(1.0 - uniform())) * cos(6.283185307179586 * uniform()); }

static double draw_uniform(void) { return uniform(); }

/* X / (X + Y) with gamma variables of shapes 1/2 and 5. */
static double draw_beta(void) {
  double z = normal(), x = 0.5 * z * z, y = 0.0;
  for (int i = 0; i < 5; i++) y -= log(1.0 - uniform());
  return x / (x + y);
}

static double draw_clicks(void) { return fmin(1e-4 * exp(normal()), 1.0); }

/* An overconfident classifier: scores crowd at both ends. */
static double draw_both_ends(void) { return 1.0 / (1.0 + exp(-6.0 * normal())); }

static double draw_coarse(void) { return floor(100.0 * uniform()) / 100.0; }

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* A model with edges at the quantiles of these scores, every edge with a key of its own as uniform-mass binning gives it. */
static fastbin_model *fit(const double *scores, size_t n, int n_bins, int with_keys) {
  double *sorted = malloc(n * sizeof *sorted), *edges = malloc((size_t)n_bins * sizeof *edges);
  double *values = malloc((size_t)n_bins * sizeof *values);
  uint64_t *keys = malloc((size_t)n_bins * sizeof *keys);
  fastbin_model *model = NULL;
  fastbin_model_spec spec;
  if (!sorted || !edges || !values || !keys) exit(1);
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

static void check_answers(const fastbin_model *model, const fastbin_rows *rows, const double *values) {
  fastbin_model_spec spec;
  spec.struct_size = sizeof spec;
  fastbin_model_describe(model, &spec);
  for (size_t i = 0; i < rows->n_rows; i += 1 + rows->n_rows / 20000) {
    int narrow = rows->score_type == FASTBIN_FLOAT32;
    double score = narrow ? (double)((const float *)rows->scores)[i] : ((const double *)rows->scores)[i];
    uint64_t key = rows->keys ? rows->keys[i] : fastbin_row_key(rows->seed, i);
    int bin = 0;
    for (int k = 0; k < spec.n_bins - 1; k++) {
      bin += score > spec.edges[k] || (score == spec.edges[k] && key >= spec.edge_keys[k]);
    }
    if (values[i] != spec.values[bin]) {
      fprintf(stderr, "wrong answer for row %zu, score %.17g\n", i, score);
      exit(1);
    }
  }
}

static double median(double *times) {
  qsort(times, REPEATS, sizeof *times, ascending);
  return times[REPEATS / 2];
}

static void bench_batch(const char *name, double (*draw)(void), int n_bins, size_t n, int with_keys, int as_float32) {
  double *scores = calloc(n, sizeof *scores), *values = malloc(n * sizeof *values);
  float *narrow = malloc(n * sizeof *narrow);
  uint64_t *keys = malloc(n * sizeof *keys);
  double batch_times[REPEATS], copy_times[REPEATS];
  size_t inner = n < 100000 ? 200000 / n + 1 : 1;
  fastbin_model *model;
  fastbin_rows rows;
  if (!scores || !values || !narrow || !keys) exit(1);
  for (size_t i = 0; i < n; i++) {
    scores[i] = draw();
    narrow[i] = (float)scores[i];
    if (as_float32) scores[i] = (double)narrow[i];
    keys[i] = fastbin_row_key(3, i);
  }
  model = fit(scores, n, n_bins, with_keys);
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = as_float32 ? (const void *)narrow : scores;
  rows.score_type = as_float32 ? FASTBIN_FLOAT32 : FASTBIN_FLOAT64;
  rows.score_stride = as_float32 ? sizeof(float) : sizeof(double);
  rows.n_rows = n;
  rows.keys = keys;
  if (fastbin_predict(model, &rows, values, NULL) != FASTBIN_OK) exit(1);
  check_answers(model, &rows, values);
  for (int r = 0; r < REPEATS; r++) {
    double start = now();
    for (size_t k = 0; k < inner; k++) fastbin_predict(model, &rows, values, NULL);
    batch_times[r] = (now() - start) / (double)(n * inner);
    start = now();
    for (size_t k = 0; k < inner; k++) memcpy(values, scores, n * sizeof *values);
    copy_times[r] = (now() - start) / (double)(n * inner);
  }
  printf("%-34s %8zu %6d  %6.2f  %6.2f  %5.2f\n", name, n, n_bins, median(batch_times), median(copy_times),
         median(batch_times) / median(copy_times));
  fastbin_model_free(model);
  free(scores);
  free(values);
  free(narrow);
  free(keys);
}

typedef fastbin_status one_call(const fastbin_model *model, double score, uint64_t key, double *value);

static fastbin_status empty_call(const fastbin_model *model, double score, uint64_t key, double *value) {
  (void)model;
  (void)key;
  *value = score;
  return FASTBIN_OK;
}

/* `depend`: each score is made from the previous value, so that nothing overlaps. */
static double time_singles(one_call *volatile call, const fastbin_model *model, const double *scores, int depend) {
  double start = now(), sum = 0.0, value = 0.0;
  for (size_t i = 0; i < N_SINGLE; i++) {
    call(model, depend ? scores[i] + value * 0.0 : scores[i], i, &value);
    sum += value;
  }
  start = (now() - start) / N_SINGLE;
  return sum == -1.0 ? 0.0 : start;
}

static void bench_one(const char *name, double (*draw)(void), int n_bins) {
  double scores[N_SINGLE], times[2][REPEATS], empty[2][REPEATS];
  fastbin_model *model;
  for (size_t i = 0; i < N_SINGLE; i++) scores[i] = draw();
  model = fit(scores, N_SINGLE, n_bins, 1);
  for (size_t i = 0; i < N_SINGLE; i++) scores[i] = draw();
  for (int r = 0; r < REPEATS; r++) {
    for (int depend = 0; depend < 2; depend++) {
      times[depend][r] = time_singles(fastbin_predict_one, model, scores, depend);
      empty[depend][r] = time_singles(empty_call, model, scores, depend);
    }
  }
  printf("%-34s %6d   throughput %5.2f (empty %4.2f)   latency %5.2f (empty %4.2f)\n", name, n_bins, median(times[0]),
         median(empty[0]), median(times[1]), median(empty[1]));
  fastbin_model_free(model);
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
  printf("fastbin %s\n\nfastbin_predict, float64 scores, ns a score\n", fastbin_version());
  printf("%-34s %8s %6s  %6s  %6s  %5s\n", "scores", "rows", "bins", "ns", "copy", "ratio");
  for (int n_bins = 10; n_bins <= 1000; n_bins *= 10) {
    bench_batch("uniform", draw_uniform, n_bins, n, 1, 0);
    bench_batch("uniform, no key decides", draw_uniform, n_bins, n, 0, 0);
    bench_batch("Beta(0.5, 5)", draw_beta, n_bins, n, 1, 0);
    bench_batch("click rates near 1e-4", draw_clicks, n_bins, n, 1, 0);
    bench_batch("crowded at both ends", draw_both_ends, n_bins, n, 1, 0);
  }
  bench_batch("100 distinct scores, keys", draw_coarse, 100, n, 1, 0);
  bench_batch("100 distinct scores, no key decides", draw_coarse, 100, n, 0, 0);
  bench_batch("uniform float32", draw_uniform, 100, n, 1, 1);
  bench_batch("uniform, in cache", draw_uniform, 100, 4096, 1, 0);
  printf("\nfastbin_predict_one, random scores, ns a call\n");
  for (int n_bins = 10; n_bins <= 1000; n_bins *= 10) {
    bench_one("uniform", draw_uniform, n_bins);
    bench_one("Beta(0.5, 5)", draw_beta, n_bins);
    bench_one("click rates near 1e-4", draw_clicks, n_bins);
  }
  return 0;
}
