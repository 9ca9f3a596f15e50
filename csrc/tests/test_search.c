/*
 * test_search.c: every scoring call against a plain loop over the edges, on edges that break careless searches.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200112L
#include "check.h"
#include "draws.h"
#include "specs.h"

static const char *const builds[] = {"baseline", "avx2", "avx512", "gathers"};
#define N_BUILDS 4

#define N_SCORES 700 /* more than a block of the batch code */

static void check_singles(const fastbin_model *model, const fastbin_model_spec *spec, const double *scores,
                          const uint64_t *keys) {
  for (size_t i = 0; i < N_SCORES; i++) {
    int32_t expected = bin_by_definition(spec, scores[i], keys[i]), bin = -7;
    int needs = bin_by_definition(spec, scores[i], 0) != bin_by_definition(spec, scores[i], UINT64_MAX - 1);
    double value = -7.0;
    CHECK(fastbin_assign_one(model, scores[i], keys[i], &bin) == FASTBIN_OK && bin == expected);
    CHECK(fastbin_predict_one(model, scores[i], keys[i], &value) == FASTBIN_OK && value == spec->values[expected]);
    CHECK(!needs || fastbin_needs_key(model, scores[i]));
  }
}

static void check_batches(const fastbin_model *model, const fastbin_model_spec *spec, const double *scores,
                          const uint64_t *keys) {
  static double values[N_SCORES], in_place[N_SCORES], pairs[2 * N_SCORES];
  static int32_t bins[N_SCORES];
  double *table = must_malloc(2 * (size_t)spec->n_bins * sizeof *table);
  fastbin_rows rows = rows_over(scores, N_SCORES);
  rows.keys = keys;
  for (int32_t i = 0; i < spec->n_bins; i++) {
    table[2 * i] = i;
    table[2 * i + 1] = -i;
  }
  CHECK(fastbin_predict(model, &rows, values, NULL) == FASTBIN_OK);
  CHECK(fastbin_assign(model, &rows, bins, NULL) == FASTBIN_OK);
  CHECK(fastbin_lookup(model, &rows, table, 2, pairs, NULL) == FASTBIN_OK);
  memcpy(in_place, scores, sizeof in_place);
  rows.scores = in_place;
  CHECK(fastbin_predict(model, &rows, in_place, NULL) == FASTBIN_OK);
  for (size_t i = 0; i < N_SCORES; i++) {
    int32_t expected = bin_by_definition(spec, scores[i], keys[i]);
    CHECK(bins[i] == expected);
    CHECK(values[i] == spec->values[expected]);
    CHECK(in_place[i] == values[i]);
    CHECK(pairs[2 * i] == expected && pairs[2 * i + 1] == -expected);
  }
  free(table);
}

/* In a range from 0 on, where some searches rely on the order of bits; edges may lie below it. -0.0 remains. */
static void make_positive(fastbin_model_spec *spec, double *scores) {
  spec->score_min = 0.0;
  for (size_t i = 0; i < N_SCORES; i++) scores[i] = scores[i] < 0.0 ? -scores[i] : scores[i];
}

static void check_model(double (*draw)(void), int style, int32_t n_bins, int is_positive) {
  static double scores[N_SCORES];
  static uint64_t score_keys[N_SCORES];
  size_t n_edges = (size_t)n_bins - 1;
  double *edges = must_malloc(n_edges * sizeof *edges);
  uint64_t *keys = must_malloc(n_edges * sizeof *keys);
  double *values = must_malloc((size_t)n_bins * sizeof *values);
  fastbin_model_spec spec = empty_spec(FASTBIN_STEP);
  fill_edges(draw, style, n_edges, edges, keys);
  for (int32_t i = 0; i < n_bins; i++) values[i] = (double)i / n_bins;
  spec.n_bins = n_bins;
  spec.edges = edges;
  spec.edge_keys = keys;
  spec.values = values;
  for (size_t i = 0; i < N_SCORES; i++) {
    scores[i] = score_near(&spec, draw);
    score_keys[i] = key_near(&spec);
  }
  if (is_positive) make_positive(&spec, scores);
  for (int b = 0; b < N_BUILDS; b++) {
    fastbin_model *model;
    setenv("FASTBIN_CPU", builds[b], 1);
    REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
    if (b == 0) check_singles(model, &spec, scores, score_keys);
    check_batches(model, &spec, scores, score_keys);
    fastbin_model_free(model);
  }
  free(edges);
  free(keys);
  free(values);
}

/* Many keys at once are the keys one by one, whatever the build and the number left over from whole registers. */
static void check_keys(void) {
  for (int b = 0; b < N_BUILDS; b++) {
    setenv("FASTBIN_CPU", builds[b], 1);
    for (size_t n = 0; n < 70; n++) {
      uint64_t keys[71], seed = random_bits(), first = random_below(3) ? random_below(1000) : UINT64_MAX - random_below(80);
      double score = random_unit();
      keys[n] = 17;
      fastbin_group_keys(seed, score, first, n, keys);
      for (size_t i = 0; i < n; i++) CHECK(keys[i] == fastbin_group_key(seed, score, first + i));
      CHECK(keys[n] == 17);
    }
  }
}

int main(void) {
  static const int32_t sizes[] = {1, 2, 3, 4, 10, 37, 100, 1000};
  for (size_t d = 0; d < sizeof draws / sizeof draws[0]; d++) {
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      for (int style = 0; style < 4; style++) {
        check_model(draws[d], style, sizes[s], 0);
        check_model(draws[d], style, sizes[s], 1);
      }
    }
  }
  /* More thresholds than the index's 16-bit ranks can count, and fewer thresholds than edges around that limit. */
  check_model(unit, 2, 70000, 1);
  check_model(crowded_low, 3, 65537, 1);
  check_model(coarse, 3, 70000, 0);
  check_keys();
  return finish();
}
