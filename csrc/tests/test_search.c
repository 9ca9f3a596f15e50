/*
 * test_search.c: every scoring call against a plain loop over the edges, on edges that break careless searches.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200112L
#include "check.h"
#include "specs.h"

#include <float.h>

#if defined(_WIN32)
#define setenv(name, value, overwrite) _putenv_s(name, value)
#endif

static const char *const builds[] = {"baseline", "avx2", "avx512", "all"};
#define N_BUILDS 4

/* The header's definition, word for word. */
static int32_t bin_by_definition(const fastbin_model_spec *spec, double score, uint64_t key) {
  int32_t bin = 0;
  if (key == UINT64_MAX) key--;
  for (int32_t i = 0; i < spec->n_bins - 1; i++) {
    bin += score > spec->edges[i] || (score == spec->edges[i] && key >= spec->edge_keys[i]);
  }
  return bin;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Edges                                                                                                         */
/* ------------------------------------------------------------------------------------------------------------- */

static double unit(void) { return random_unit(); }
static double crowded_low(void) { return pow(random_unit(), 20.0); }
static double crowded_high(void) { return 1.0 - pow(random_unit(), 9.0); }
static double crowded_at_both_ends(void) { return 1.0 / (1.0 + exp(20.0 * (random_unit() - 0.5))); }
static double coarse(void) { return (double)random_below(11) / 10.0; }
static double constant(void) { return 0.3; }
static double one_ulp_apart(void) { return from_bits(0x3FD3333333333333u + random_below(40)); }
static double subnormal(void) { return from_bits(random_below(2000)); }
static double signed_subnormal(void) { return (random_below(2) ? 1.0 : -1.0) * from_bits(random_below(50)); }
static double margins(void) { return 40.0 * (random_unit() - 0.5); }
static double negative(void) { return -1e-3 * pow(random_unit(), 8.0); }
static double any_magnitude(void) { return ldexp(random_unit() - 0.5, (int)random_below(2000) - 1000); }
static double huge(void) { return (random_unit() - 0.5) * 1.9 * DBL_MAX; }
static double special(void) {
  static const double numbers[] = {0.0,      -0.0,     1.0,  DBL_MIN,        -DBL_MIN,      DBL_MAX, -DBL_MAX,
                                   DBL_TRUE_MIN, -DBL_TRUE_MIN, 0.5,  0.49999999999999994, 0.5000000000000001, 2.0, -1.0};
  return numbers[random_below(sizeof numbers / sizeof numbers[0])];
}
static double near_one(void) { return 1.0 - 1e-12 * random_unit(); }
static double two_clusters(void) { return (random_below(2) ? 0.2 : 0.7) + 1e-9 * random_unit(); }

static double (*const draws[])(void) = {
    unit,     crowded_low,   crowded_high, crowded_at_both_ends, coarse, constant, one_ulp_apart, subnormal,
    signed_subnormal, margins, negative, any_magnitude, huge, special, near_one, two_clusters,
};

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int ascending_keys(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* 0: all ties go up; 1: down; 2: keys of their own; 3: all of these together, repetitions too. */
static uint64_t draw_key(int style) {
  static const uint64_t few[] = {FASTBIN_KEY_ABOVE, FASTBIN_KEY_BELOW, 1, UINT64_MAX - 1, 77};
  if (style == 0) return FASTBIN_KEY_ABOVE;
  if (style == 1) return FASTBIN_KEY_BELOW;
  if (style == 3 && random_below(2)) return few[random_below(5)];
  return random_bits();
}

/* Sorts by (edge, key), -0.0 and 0.0 being one edge. */
static void fill_edges(double (*draw)(void), int style, size_t n, double *edges, uint64_t *keys) {
  size_t run = 0;
  for (size_t i = 0; i < n; i++) {
    edges[i] = draw();
    keys[i] = draw_key(style);
  }
  qsort(edges, n, sizeof *edges, ascending);
  for (size_t i = 1; i <= n; i++) {
    if (i == n || edges[i] != edges[run]) {
      qsort(keys + run, i - run, sizeof *keys, ascending_keys);
      run = i;
    }
  }
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Scores                                                                                                        */
/* ------------------------------------------------------------------------------------------------------------- */

#define N_SCORES 700 /* more than a block of the batch code */

static double score_near(const fastbin_model_spec *spec, double (*draw)(void)) {
  double edge = spec->n_bins > 1 ? spec->edges[random_below((size_t)spec->n_bins - 1)] : draw();
  double score = draw();
  switch (random_below(6)) {
    case 0:
      score = edge;
      break;
    case 1:
      score = nextafter(edge, INFINITY);
      break;
    case 2:
      score = nextafter(edge, -INFINITY);
      break;
    case 3:
      score = special();
      break;
    default:
      break;
  }
  return isfinite(score) ? score : edge;
}

static uint64_t key_near(const fastbin_model_spec *spec) {
  uint64_t key = spec->n_bins > 1 ? spec->edge_keys[random_below((size_t)spec->n_bins - 1)] : 0;
  switch (random_below(4)) {
    case 0:
      return key;
    case 1:
      return key - 1;
    case 2:
      return key + 1;
    default:
      return random_bits();
  }
}

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
  fastbin_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = scores;
  rows.score_stride = sizeof(double);
  rows.n_rows = N_SCORES;
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
