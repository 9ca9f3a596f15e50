/*
 * bench_score.c: what a score costs, beside what copying it costs.
 *
 *     make bench              # or: build/bench_score [n_rows]
 *
 * Medians of interleaved runs in one process, in nanoseconds of processor time per score. A batch stands beside a memcpy of
 * the same scores, a single score beside an empty call. Answers are checked against a plain loop over the edges before the
 * clock starts. Set FASTBIN_CPU to baseline or avx2 to measure the other builds.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "bench.h"

#define N_SINGLE 20000

/* Runs of which the median is taken; more of the short ones, to outlast a slow spell of the machine. */
#define BATCH_RUNS 31
#define SINGLE_RUNS 301

/* Processor time, so that other programs on the machine disturb little. */
static double now(void) { return nanoseconds(CLOCK_PROCESS_CPUTIME_ID); }

static double median(double *times, size_t runs) { return percentile(times, runs, 0.5); }

/* ------------------------------------------------------------------------------------------------------------- */
/* Batches                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

typedef struct batch {
  size_t n;
  double *scores, *values; /* float64, whatever the rows hold */
  float *narrow;
  uint64_t *keys;
  fastbin_rows rows;
} batch;

static batch draw_batch(draw_score *draw, size_t n, int as_float32) {
  batch b;
  b.n = n;
  b.scores = array_of(n, sizeof *b.scores);
  b.values = array_of(n, sizeof *b.values);
  b.narrow = array_of(n, sizeof *b.narrow);
  b.keys = array_of(n, sizeof *b.keys);
  for (size_t i = 0; i < n; i++) {
    b.scores[i] = draw();
    b.narrow[i] = (float)b.scores[i];
    if (as_float32) b.scores[i] = (double)b.narrow[i];
    b.keys[i] = fastbin_row_key(3, i);
  }
  memset(&b.rows, 0, sizeof b.rows);
  b.rows.struct_size = sizeof b.rows;
  b.rows.scores = as_float32 ? (const void *)b.narrow : (const void *)b.scores;
  b.rows.score_type = as_float32 ? FASTBIN_FLOAT32 : FASTBIN_FLOAT64;
  b.rows.score_stride = as_float32 ? (ptrdiff_t)sizeof(float) : (ptrdiff_t)sizeof(double);
  b.rows.n_rows = n;
  b.rows.keys = b.keys;
  return b;
}

static void free_batch(batch *b) {
  free(b->scores);
  free(b->values);
  free(b->narrow);
  free(b->keys);
}

static void bench_batch(const char *shape, draw_score *draw, int n_bins, size_t n, int with_keys, int as_float32) {
  batch b = draw_batch(draw, n, as_float32);
  fastbin_model *model = fit(b.scores, n, n_bins, with_keys);
  double batch_times[BATCH_RUNS], copy_times[BATCH_RUNS], batch_time, copy_time;
  size_t inner = n < 100000 ? 200000 / n + 1 : 1;
  char name[80];
  if (fastbin_predict(model, &b.rows, b.values, NULL) != FASTBIN_OK) exit(1);
  for (size_t i = 0; i < n; i += 1 + n / 20000) check_answer(model, b.scores[i], b.keys[i], b.values[i]);
  for (int r = 0; r < BATCH_RUNS; r++) {
    double start = now();
    for (size_t k = 0; k < inner; k++) fastbin_predict(model, &b.rows, b.values, NULL);
    batch_times[r] = (now() - start) / (double)(n * inner);
    start = now();
    for (size_t k = 0; k < inner; k++) memcpy(b.values, b.scores, n * sizeof *b.values);
    copy_times[r] = (now() - start) / (double)(n * inner);
  }
  batch_time = median(batch_times, BATCH_RUNS);
  copy_time = median(copy_times, BATCH_RUNS);
  snprintf(name, sizeof name, "C predict %s, m = %zu, B = %d", shape, n, n_bins);
  record(name, "time a score", batch_time, "ns");
  record(name, "predict / memcpy", batch_time / copy_time, "");
  fastbin_model_free(model);
  free_batch(&b);
}

static void bench_batches(size_t n) {
  for (int n_bins = 10; n_bins <= 1000; n_bins *= 10) {
    bench_batch("uniform", draw_uniform, n_bins, n, 1, 0);
    bench_batch("uniform, no tie keys", draw_uniform, n_bins, n, 0, 0);
    bench_batch("Beta(.5, 5)", draw_beta, n_bins, n, 1, 0);
    bench_batch("click rates 1e-4", draw_clicks, n_bins, n, 1, 0);
    bench_batch("both ends", draw_both_ends, n_bins, n, 1, 0);
  }
  bench_batch("100 values", draw_coarse, 100, n, 1, 0);
  bench_batch("100 values, no tie keys", draw_coarse, 100, n, 0, 0);
  bench_batch("uniform float32", draw_uniform, 100, n, 1, 1);
  bench_batch("uniform", draw_uniform, 100, 4096, 1, 0);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Single scores                                                                                                 */
/* ------------------------------------------------------------------------------------------------------------- */

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

static void bench_one(const char *shape, draw_score *draw, int n_bins) {
  double scores[N_SINGLE], times[2][SINGLE_RUNS], empty[2][SINGLE_RUNS];
  fastbin_model *model;
  char name[80];
  for (size_t i = 0; i < N_SINGLE; i++) scores[i] = draw();
  model = fit(scores, N_SINGLE, n_bins, 1);
  for (size_t i = 0; i < N_SINGLE; i++) scores[i] = draw();
  for (size_t i = 0; i < N_SINGLE; i++) {
    double value;
    if (fastbin_predict_one(model, scores[i], i, &value) != FASTBIN_OK) exit(1);
    check_answer(model, scores[i], i, value);
  }
  for (int r = 0; r < SINGLE_RUNS; r++) {
    for (int depend = 0; depend < 2; depend++) {
      times[depend][r] = time_singles(fastbin_predict_one, model, scores, depend);
      empty[depend][r] = time_singles(empty_call, model, scores, depend);
    }
  }
  snprintf(name, sizeof name, "C predict_one %s, B = %d", shape, n_bins);
  record(name, "throughput", median(times[0], SINGLE_RUNS), "ns");
  record(name, "throughput of an empty call", median(empty[0], SINGLE_RUNS), "ns");
  record(name, "latency", median(times[1], SINGLE_RUNS), "ns");
  record(name, "latency of an empty call", median(empty[1], SINGLE_RUNS), "ns");
  fastbin_model_free(model);
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
  if (n < 1000) {
    fprintf(stderr, "usage: bench_score [n_rows], at least 1000\n");
    return 2;
  }
  for (int n_bins = 10; n_bins <= 1000; n_bins *= 10) {
    bench_one("uniform", draw_uniform, n_bins);
    bench_one("Beta(.5, 5)", draw_beta, n_bins);
    bench_one("click rates 1e-4", draw_clicks, n_bins);
  }
  bench_batches(n);
  return 0;
}
