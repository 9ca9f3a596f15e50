/*
 * test_steps.c: models of two resolutions and of whole ties: what they are made of, bins and steps of scores.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "model_bytes.h"
#include "steps.h"

#define N 1300
#define FIRST_SIZE offsetof(fastbin_model_spec, pairs)

/* ------------------------------------------------------------------------------------------------------------- */
/* Parts                                                                                                         */
/* ------------------------------------------------------------------------------------------------------------- */

static void test_parts_come_back(void) {
  fastbin_model_spec spec = stepped_spec(), seen;
  fastbin_model *model = must_create(&spec);
  seen = describe(model);
  CHECK(seen.n_bins == 3 && seen.n_steps == 7 && seen.n_knots == 0 && seen.edges_share == 0.25 && seen.clip == 0.0);
  CHECK(memcmp(seen.edges, spec.edges, 6 * sizeof(double)) == 0);
  CHECK(memcmp(seen.edge_keys, spec.edge_keys, 6 * sizeof(uint64_t)) == 0);
  CHECK(memcmp(seen.values, spec.values, 7 * sizeof(double)) == 0);
  CHECK(memcmp(seen.counts, spec.counts, 3 * sizeof(int64_t)) == 0);
  CHECK(memcmp(seen.label_sums, spec.label_sums, 3 * sizeof(int64_t)) == 0);
  CHECK(memcmp(seen.first_step, spec.first_step, 3 * sizeof(int64_t)) == 0 && seen.first_step != spec.first_step);
  CHECK(memcmp(seen.step_counts, spec.step_counts, 7 * sizeof(int64_t)) == 0 && seen.step_counts != spec.step_counts);
  CHECK(memcmp(seen.unlabelled_counts, spec.unlabelled_counts, 7 * sizeof(int64_t)) == 0);
  CHECK(memcmp(seen.tie_counts, spec.tie_counts, 9 * sizeof(int64_t)) == 0 && seen.tie_counts != spec.tie_counts);
  for (int i = 0; i < 100; i++) CHECK(!fastbin_needs_key(model, i / 100.0));
  fastbin_model_free(model);
}

/* A caller of 0.1.0 reads n_bins values: fewer than there are. It may look at every other model. */
static void test_an_old_struct(void) {
  fastbin_model_spec spec = stepped_spec(), seen;
  fastbin_model *model = must_create(&spec);
  memset(&seen, 0xA5, sizeof seen);
  seen.struct_size = FIRST_SIZE;
  CHECK(fastbin_model_describe(model, &seen) == FASTBIN_ERROR_STRUCT_SIZE);
  CHECK(seen.n_bins != 3);
  fastbin_model_free(model);
  spec = half_spec();
  spec.struct_size = FIRST_SIZE;
  model = must_create(&spec);
  seen = describe(model);
  CHECK(seen.n_steps == 2 && !seen.first_step && !seen.step_counts && !seen.tie_counts && !seen.knots);
  fastbin_model_free(model);
}

/* One way to say each thing: bins of one step, and no unlabelled samples. */
static void test_equal_models_have_equal_bytes(void) {
  static const int64_t first_step[] = {0, 1}, counts[] = {3, 4}, none[7];
  fastbin_model_spec spec = half_spec();
  bytes expected = bytes_of(&spec), seen;
  spec.n_samples = 7;
  expected = bytes_of(&spec);
  spec.n_steps = 2;
  spec.first_step = first_step;
  seen = bytes_of(&spec);
  CHECK(seen.size == expected.size && memcmp(seen.at, expected.at, seen.size) == 0);
  spec.step_counts = spec.unlabelled_counts = counts;
  seen = bytes_of(&spec);
  CHECK(seen.size == expected.size && memcmp(seen.at, expected.at, seen.size) == 0);
  spec = stepped_spec();
  spec.unlabelled_counts = NULL;
  expected = bytes_of(&spec);
  spec.unlabelled_counts = none;
  seen = bytes_of(&spec);
  CHECK(seen.size == expected.size && memcmp(seen.at, expected.at, seen.size) == 0);
  spec.edges_share = 1.0;
  spec.clip = -0.0;
  CHECK(bytes_of(&spec).size == expected.size);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Refusals                                                                                                      */
/* ------------------------------------------------------------------------------------------------------------- */

static void test_refused_steps(void) {
  static const int64_t late[] = {1, 2, 5}, repeated[] = {0, 2, 2}, falling[] = {0, 5, 2}, beyond[] = {0, 2, 7};
  static const int64_t negative_first[] = {-1, 2, 5}, huge[] = {0, 2, INT64_MAX};
  static const int64_t one_less[] = {4, 1, 3, 3, 2, 1, 5}, one_more[] = {4, 2, 3, 3, 3, 1, 5};
  static const int64_t negative[] = {7, -1, 3, 3, 2, 1, 5}, overflowing[] = {INT64_MAX, 2, 3, 3, 2, 1, 5};
  static const int64_t negative_unlabelled[] = {0, 0, 0, 0, 0, 0, -1};
  static const double beyond_one[] = {0, 0, 0, 0, 0, 0, 1.5};
  REFUSES(stepped_spec(), n_steps = 2, FASTBIN_ERROR_ARGUMENT);
  REFUSES(stepped_spec(), n_steps = -1, FASTBIN_ERROR_ARGUMENT);
  REFUSES(stepped_spec(), n_steps = FASTBIN_MAX_BINS + 1, FASTBIN_ERROR_ARGUMENT);
  REFUSES(stepped_spec(), first_step = NULL, FASTBIN_ERROR_ARGUMENT);
  REFUSES(stepped_spec(), step_counts = NULL, FASTBIN_ERROR_ARGUMENT);
  REFUSES(half_spec(), step_counts = one_less, FASTBIN_ERROR_ARGUMENT); /* of no steps */
  REFUSES(half_spec(), unlabelled_counts = one_less, FASTBIN_ERROR_ARGUMENT);
  REFUSES(half_spec(), n_steps = 3, FASTBIN_ERROR_ARGUMENT);
  REFUSES(stepped_spec(), first_step = late, FASTBIN_ERROR_EDGES);
  REFUSES(stepped_spec(), first_step = repeated, FASTBIN_ERROR_EDGES);
  REFUSES(stepped_spec(), first_step = falling, FASTBIN_ERROR_EDGES);
  REFUSES(stepped_spec(), first_step = beyond, FASTBIN_ERROR_EDGES);
  REFUSES(stepped_spec(), first_step = negative_first, FASTBIN_ERROR_EDGES);
  REFUSES(stepped_spec(), first_step = huge, FASTBIN_ERROR_EDGES);
  REFUSES(stepped_spec(), step_counts = one_less, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), step_counts = one_more, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), step_counts = negative, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), step_counts = overflowing, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), n_samples = 19, FASTBIN_ERROR_TALLY); /* the steps hold 20 */
  REFUSES(stepped_spec(), unlabelled_counts = negative_unlabelled, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), values = beyond_one, FASTBIN_ERROR_VALUES);
}

static void test_refused_ties(void) {
  static const int64_t negative_r[] = {0, 0, 0, 3, 1, 0, -1, 0, 0}, no_r[] = {0, 0, 0, 3, 1, 0, 0, 0, 1};
  static const int64_t too_many[] = {0, 0, 0, 3, 4, 0, 2, 2, 1}, two_labels[] = {0, 0, 0, 3, 2, 2, 2, 2, 1};
  static const int64_t no_one[] = {0, 0, 0, 3, 0, 1, 2, 2, 1}, no_zero[] = {0, 0, 0, 3, 3, 0, 2, 2, 1};
  static const int64_t many_ones[] = {0, 0, 0, 5, 5, 1, 2, 2, 1}, many_zeros[] = {0, 0, 0, 7, 1, 0, 2, 2, 1};
  static const int64_t not_left_out[] = {0, 0, 0, 0, 0, 0, 2, 2, 1}, left_out[] = {1, 1, 1, 3, 1, 0, 2, 2, 1};
  static const uint64_t splitting[] = {0, 0, 1000, 0, 0, 0};
  REFUSES(stepped_spec(), tie_counts = NULL, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), ties = FASTBIN_TIES_UPPER, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), n_tied = 0, FASTBIN_ERROR_ORIGIN);
  REFUSES(stepped_spec(), edges_share = 0.0, FASTBIN_ERROR_ORIGIN);
  REFUSES(stepped_spec(), edges_share = 1.5, FASTBIN_ERROR_ORIGIN);
  REFUSES(stepped_spec(), edges_share = NAN, FASTBIN_ERROR_ORIGIN);
  REFUSES(half_spec(), edges_share = 1.0, FASTBIN_ERROR_ORIGIN); /* without ties */
  REFUSES(stepped_spec(), edge_keys = splitting, FASTBIN_ERROR_EDGES);
  REFUSES(stepped_spec(), tie_counts = negative_r, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), tie_counts = no_r, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), tie_counts = too_many, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), tie_counts = two_labels, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), tie_counts = no_one, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), tie_counts = no_zero, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), tie_counts = many_ones, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), tie_counts = many_zeros, FASTBIN_ERROR_TALLY);
  REFUSES(stepped_spec(), tie_counts = not_left_out, FASTBIN_ERROR_TALLY); /* and yet the steps hold one sample more */
  REFUSES(stepped_spec(), tie_counts = left_out, FASTBIN_ERROR_TALLY);
}

/* Where all samples are averaged, r of them at most, and f of those with label 1: one less than where one is left out. */
static void test_schemes_that_leave_nothing_out(void) {
  static const int64_t counts[] = {6, 8, 6}, label_sums[] = {1, 3, 5}, most[] = {0, 0, 0, 4, 3, 1, 1, 0, 0};
  static const int64_t too_many[] = {0, 0, 0, 4, 4, 1, 1, 0, 0}, too_few[] = {0, 0, 0, 6, 0, 0, 1, 0, 0};
  static const fastbin_scheme schemes[] = {FASTBIN_SCHEME_ZE, FASTBIN_SCHEME_UMB, FASTBIN_SCHEME_UMS};
  for (int i = 0; i < 3; i++) {
    fastbin_model_spec spec = stepped_spec();
    spec.counts = counts;
    spec.label_sums = label_sums;
    spec.tie_counts = most;
    CHECK(create(&spec) == FASTBIN_ERROR_ORIGIN || create(&spec) == FASTBIN_ERROR_TALLY);
    spec.scheme = schemes[i];
    CHECK(create(&spec) == FASTBIN_OK);
    spec.tie_counts = too_many;
    CHECK(create(&spec) == FASTBIN_ERROR_TALLY);
    spec.tie_counts = too_few;
    CHECK(create(&spec) == FASTBIN_ERROR_TALLY);
  }
}

/* Without tie counts a bin may have left a sample out or not. */
static void test_counts_of_steps_without_ties(void) {
  static const int64_t all[] = {6, 8, 6}, some[] = {6, 7, 6}, too_few[] = {6, 6, 6}, too_many[] = {6, 9, 5};
  static const int64_t *const good[] = {all, some}, *const bad[] = {too_few, too_many};
  fastbin_model_spec spec = stepped_spec();
  spec.ties = FASTBIN_TIES_UPPER;
  spec.tie_counts = NULL;
  spec.edges_share = 0.0;
  spec.n_positive = 8;
  for (int i = 0; i < 2; i++) {
    spec.counts = good[i];
    CHECK(create(&spec) == FASTBIN_OK);
    spec.counts = bad[i];
    CHECK(create(&spec) == FASTBIN_ERROR_TALLY);
  }
  spec.counts = spec.label_sums = NULL;
  CHECK(create(&spec) == FASTBIN_OK);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Scores                                                                                                        */
/* ------------------------------------------------------------------------------------------------------------- */

static void check_scores(const fastbin_model_spec *spec, int as_float32, int with_missing) {
  static double scores[N], values[N], out[2 * N], table[2 * MOST_STEPS];
  static float floats[N];
  static int32_t bins[N], steps[N];
  fastbin_model *model = must_create(spec);
  fastbin_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.n_rows = N;
  rows.seed = 7;
  rows.nan_policy = with_missing ? FASTBIN_NAN_PROPAGATE : FASTBIN_NAN_ERROR;
  for (int i = 0; i < 2 * spec->n_bins; i++) table[i] = i;
  for (int i = 0; i < N; i++) {
    scores[i] = (double)random_below(160) / 1024.0 - 0.01;
    if (with_missing && i % 5 == 0) scores[i] = NAN;
    floats[i] = (float)scores[i];
    if (as_float32) scores[i] = (double)floats[i];
  }
  rows.scores = as_float32 ? (const void *)floats : scores;
  rows.score_type = as_float32 ? FASTBIN_FLOAT32 : FASTBIN_FLOAT64;
  rows.score_stride = as_float32 ? (ptrdiff_t)sizeof(float) : (ptrdiff_t)sizeof(double);
  CHECK(fastbin_predict(model, &rows, values, NULL) == FASTBIN_OK);
  CHECK(fastbin_assign(model, &rows, bins, NULL) == FASTBIN_OK);
  CHECK(fastbin_step(model, &rows, steps, NULL) == FASTBIN_OK);
  CHECK(fastbin_lookup(model, &rows, table, 2, out, NULL) == FASTBIN_OK);
  for (int i = 0; i < N; i++) {
    uint64_t key = fastbin_row_key(rows.seed, (uint64_t)i);
    int32_t step, bin, one;
    if (with_missing && i % 5 == 0) {
      CHECK(steps[i] == -1 && bins[i] == -1 && out[2 * i] != out[2 * i]);
      continue;
    }
    step = step_by_definition(spec, scores[i], key);
    bin = bin_by_definition(spec, step);
    CHECK(steps[i] == step && bins[i] == bin);
    CHECK(same_bits(values[i], spec->values[step]));
    CHECK(out[2 * i] == 2.0 * bin && out[2 * i + 1] == 2.0 * bin + 1.0);
    CHECK(fastbin_step_one(model, scores[i], key, &one) == FASTBIN_OK && one == step);
    CHECK(fastbin_assign_one(model, scores[i], key, &one) == FASTBIN_OK && one == bin);
  }
  fastbin_model_free(model);
}

static void test_bins_and_steps(void) {
  static const int shapes[][2] = {{2, 1}, {3, 2}, {7, 3}, {16, 4}, {33, 10}, {80, 1}, {80, 79}, {80, 20}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    for (int variant = 0; variant < 8; variant++) {
      fastbin_model_spec spec = random_spec(shapes[i][0], shapes[i][1], variant & 1);
      check_scores(&spec, variant >> 1 & 1, variant >> 2 & 1);
    }
  }
}

static void test_refused_scores(void) {
  fastbin_model_spec spec = stepped_spec();
  fastbin_model *model = must_create(&spec);
  static const double scores[] = {0.5, 2.0};
  int32_t step = 5, steps[2];
  size_t bad_row = 7;
  fastbin_rows rows = rows_over(scores, 2);
  CHECK(fastbin_step(model, &rows, steps, &bad_row) == FASTBIN_ERROR_SCORE_RANGE && bad_row == 1);
  CHECK(fastbin_step(model, &rows, NULL, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_step_one(model, NAN, 0, &step) == FASTBIN_ERROR_SCORE_NAN && step == -1);
  fastbin_model_free(model);
  spec = spline_spec();
  model = must_create(&spec);
  CHECK(fastbin_step(model, &rows, steps, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_step_one(model, 0.5, 0, &step) == FASTBIN_ERROR_ARGUMENT && step == -1);
  fastbin_model_free(model);
}

int main(void) {
  test_parts_come_back();
  test_an_old_struct();
  test_equal_models_have_equal_bytes();
  test_refused_steps();
  test_refused_ties();
  test_schemes_that_leave_nothing_out();
  test_counts_of_steps_without_ties();
  test_bins_and_steps();
  test_refused_scores();
  return finish();
}
