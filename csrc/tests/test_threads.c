/*
 * test_threads.c: many threads score with one model at once, and get what one thread gets.
 *
 * Run under the thread sanitizer by run.sh.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "specs.h"

#if defined(_WIN32)

int main(void) {
  printf("skipped, no POSIX threads: ");
  return finish();
}

#else

#include <pthread.h>

#define N_THREADS 8
#define N_ROWS 2000
#define N_ROUNDS 50

typedef struct work {
  const fastbin_model *model;
  const double *scores;
  const double *expected;
  long n_wrong;
} work;

static fastbin_status predict_all(const fastbin_model *model, const double *scores, double *values) {
  fastbin_rows rows = rows_over(scores, N_ROWS);
  rows.seed = 11;
  return fastbin_predict(model, &rows, values, NULL);
}

/* Single and batch calls, describing and writing, on the model that the other threads use, too. */
static void *score_and_compare(void *argument) {
  work *w = argument;
  double values[N_ROWS];
  unsigned char bytes[1024];
  for (int round = 0; round < N_ROUNDS; round++) {
    fastbin_model_spec spec;
    spec.struct_size = sizeof spec;
    w->n_wrong += predict_all(w->model, w->scores, values) != FASTBIN_OK;
    w->n_wrong += memcmp(values, w->expected, sizeof values) != 0;
    w->n_wrong += fastbin_model_describe(w->model, &spec) != FASTBIN_OK;
    w->n_wrong += fastbin_model_write(w->model, bytes, sizeof bytes) != FASTBIN_OK;
    for (size_t i = 0; i < N_ROWS; i += 10) {
      double value;
      w->n_wrong += fastbin_predict_one(w->model, w->scores[i], fastbin_row_key(11, i), &value) != FASTBIN_OK;
      w->n_wrong += value != w->expected[i];
    }
  }
  return NULL;
}

int main(void) {
  static double scores[N_ROWS], expected[N_ROWS];
  fastbin_model_spec spec = full_spec();
  pthread_t threads[N_THREADS];
  work works[N_THREADS];
  fastbin_model *model;
  spec.delta = 0.25; /* so that every key shows */
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  for (size_t i = 0; i < N_ROWS; i++) scores[i] = (double)random_below(9) / 8.0;
  REQUIRE(predict_all(model, scores, expected) == FASTBIN_OK);
  for (int t = 0; t < N_THREADS; t++) {
    work w = {model, scores, expected, 0};
    works[t] = w;
    REQUIRE(pthread_create(&threads[t], NULL, score_and_compare, &works[t]) == 0);
  }
  for (int t = 0; t < N_THREADS; t++) {
    CHECK(pthread_join(threads[t], NULL) == 0);
    CHECK(works[t].n_wrong == 0);
  }
  fastbin_model_free(model);
  return finish();
}

#endif
