/*
 * bench_latency.c: how long one call of fastbin_predict_one takes, call by call: p50, p99 and p99.9.
 *
 *     make bench              # or: build/bench_latency [n_cold]
 *
 * 1, 16 and 256 models of 100 bins are asked in turn, each about a score drawn at random, warm and cold. Cold means that a
 * buffer larger than the last-level cache was walked before each turn through the models, so that no line of any of them is
 * in a cache; with one model the code is not, either. `n_cold` is the number of walks with one model.
 *
 * Times are of the wall, by the processor's time-stamp counter where there is one, and include what interrupts and other
 * programs took: read the high percentiles on a quiet machine. The counter is calibrated against the system's clock, and what
 * reading it twice takes is measured, printed and subtracted. On some processors it advances in steps (of 10 ns, say), and then
 * no single call is known better; bench_score averages over many. An empty call timed alike stands beside.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "bench.h"

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#include <x86intrin.h>
#define HAVE_COUNTER
#endif

#define N_BINS 100
#define N_FIT 2000
#define MAX_MODELS 256
#define N_WARM 200000
#define N_TURNS 20
#define LINE 64

/* ------------------------------------------------------------------------------------------------------------- */
/* The timer                                                                                                     */
/* ------------------------------------------------------------------------------------------------------------- */

/* The fences keep what is timed between the two readings. */
static inline double ticks(void) {
#ifdef HAVE_COUNTER
  uint64_t count;
  _mm_lfence();
  count = __rdtsc();
  _mm_lfence();
  return (double)count;
#else
  return nanoseconds(CLOCK_MONOTONIC);
#endif
}

typedef struct timer {
  double ns_per_tick;
  double overhead; /* ticks between two readings with nothing between them */
  double step;     /* the least difference between such times: no time is known better */
} timer;

static double ns_per_tick(void) {
  double start = nanoseconds(CLOCK_MONOTONIC), first = ticks(), now;
  do {
    now = nanoseconds(CLOCK_MONOTONIC);
  } while (now - start < 5e7);
  return (now - start) / (ticks() - first);
}

static timer calibrate(double *times) {
  timer t = {ns_per_tick(), 0.0, INFINITY};
  for (size_t i = 0; i < N_WARM; i++) {
    double start = ticks();
    times[i] = ticks() - start;
  }
  t.overhead = percentile(times, N_WARM, 0.5); /* and now they are sorted */
  for (size_t i = 1; i < N_WARM; i++) {
    double differs = times[i] - times[i - 1];
    if (differs > 0.0) t.step = fmin(t.step, differs);
  }
  return t;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* The caches                                                                                                    */
/* ------------------------------------------------------------------------------------------------------------- */

typedef struct buffer {
  size_t size;
  volatile unsigned char *bytes;
} buffer;

/* In bytes, as Linux tells it; elsewhere a guess. (sysconf() multiplies it by the number of cores on some machines.) */
static size_t last_level_cache(void) {
  FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
  unsigned long kilobytes = 0;
  if (file != NULL) {
    if (fscanf(file, "%luK", &kilobytes) != 1) kilobytes = 0;
    fclose(file);
  }
  return (size_t)(kilobytes > 0 ? kilobytes : 32768) * 1024;
}

/* Twice that cache, as lines may leave it in another order than they came. */
static buffer beyond_the_caches(void) {
  buffer b;
  b.size = 2 * last_level_cache();
  b.bytes = array_of(b.size, 1);
  return b;
}

/* Writes, so that no line of the buffer is a shared page of zeros. */
static void evict(buffer b) {
  for (size_t i = 0; i < b.size; i += LINE) b.bytes[i]++;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Calls                                                                                                         */
/* ------------------------------------------------------------------------------------------------------------- */

/* What is between the readings is the call alone: its arguments are in registers before the first. */
static inline double time_call(one_call *volatile call, const fastbin_model *model, double score, uint64_t key, double *value) {
  volatile double given = score;
  double start, in_register = given;
  start = ticks();
  call(model, in_register, key, value);
  return ticks() - start;
}

static void report(const char *name, double *times, size_t n, timer t) {
  const double shares[] = {0.5, 0.99, 0.999};
  const char *figures[] = {"p50", "p99", "p99.9"};
  for (int i = 0; i < 3; i++) {
    double ns = (percentile(times, n, shares[i]) - t.overhead) * t.ns_per_tick;
    if ((double)n * (1.0 - shares[i]) > 0.99) record(name, figures[i], ns > 0.0 ? ns : 0.0, "ns");
  }
}

/* `order` is a random one, so that the models are not where a prefetcher expects the next. */
static void bench_turns(one_call *call, fastbin_model *const *models, const int *order, int n_models, draw_score *draw,
                        size_t n_turns, const buffer *cold, double *times) {
  double scores[MAX_MODELS], values[MAX_MODELS];
  size_t n = 0;
  for (size_t turn = 0; turn < n_turns; turn++) {
    for (int i = 0; i < n_models; i++) scores[i] = draw();
    if (cold) evict(*cold);
    /* Scores, stack and timer are not what is measured: they are warm always. */
    for (int i = 0; i < n_models; i++) time_call(empty_call, models[order[i]], scores[i], turn, &values[i]);
    for (int i = 0; i < n_models; i++) times[n++] = time_call(call, models[order[i]], scores[i], turn, &values[i]);
    if (call == empty_call || turn >= N_TURNS) continue;
    for (int i = 0; i < n_models; i++) check_answer(models[order[i]], scores[i], turn, values[i]);
  }
}

static void bench_shape(const char *shape, draw_score *draw, size_t n_cold, buffer cold, timer t, double *times) {
  double *sample = array_of(N_FIT, sizeof *sample);
  fastbin_model *models[MAX_MODELS];
  int order[MAX_MODELS];
  char name[80];
  for (int m = 0; m < MAX_MODELS; m++) {
    for (int i = 0; i < N_FIT; i++) sample[i] = draw();
    models[m] = fit(sample, N_FIT, N_BINS, 1);
    int other = (int)(draw_uniform() * (m + 1));
    order[m] = order[other];
    order[other] = m;
  }
  for (int n_models = 1; n_models <= MAX_MODELS; n_models *= 16) {
    size_t n_turns = N_WARM / (size_t)n_models, n_walks = n_cold / (size_t)n_models;
    int used[MAX_MODELS], n_used = 0;
    for (int m = 0; m < MAX_MODELS; m++) {
      if (order[m] < n_models) used[n_used++] = order[m];
    }
    if (n_walks < N_TURNS) n_walks = N_TURNS;
    bench_turns(fastbin_predict_one, models, used, n_models, draw, n_turns, NULL, times);
    snprintf(name, sizeof name, "C latency %s, models: %d, warm", shape, n_models);
    report(name, times, n_turns * (size_t)n_models, t);
    bench_turns(fastbin_predict_one, models, used, n_models, draw, n_walks, &cold, times);
    snprintf(name, sizeof name, "C latency %s, models: %d, cold", shape, n_models);
    report(name, times, n_walks * (size_t)n_models, t);
  }
  for (int m = 0; m < MAX_MODELS; m++) fastbin_model_free(models[m]);
  free(sample);
}

int main(int argc, char **argv) {
  size_t n_cold = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 2000;
  double *times;
  const int first = 0;
  timer t;
  buffer cold;
  if (n_cold < 1 || n_cold > N_WARM) {
    fprintf(stderr, "usage: bench_latency [n_cold], 1 to %d\n", N_WARM);
    return 2;
  }
  times = array_of(N_WARM, sizeof *times);
  t = calibrate(times);
  cold = beyond_the_caches();
  record("C latency, timer", "overhead, subtracted", t.overhead * t.ns_per_tick, "ns");
  record("C latency, timer", "step", t.step * t.ns_per_tick, "ns");
  record("C latency, buffer walked when cold", "size", (double)cold.size / 0x1p20, "MiB");
  bench_turns(empty_call, (fastbin_model *[]){NULL}, &first, 1, draw_uniform, N_WARM, NULL, times);
  report("C latency, empty call, warm", times, N_WARM, t);
  bench_shape("uniform", draw_uniform, n_cold, cold, t, times);
  bench_shape("Beta(.5, 5)", draw_beta, n_cold, cold, t, times);
  free((void *)cold.bytes);
  free(times);
  return 0;
}
