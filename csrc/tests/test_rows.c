/*
 * test_rows.c: how rows come in (types, strides, blocks, missing and bad scores) and what the other kinds of model answer.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "models.h"
#include "specs.h"

#include <errno.h>
#include <float.h>

#define N 1300 /* two blocks of the batch code and a bit */

/* Not `const`, so that compilers do not warn of scores that are filled in later. */
static fastbin_rows rows_of(void *scores, size_t n) {
  fastbin_rows rows = rows_over(NULL, n);
  rows.scores = scores;
  return rows;
}

/* Eight bins on [0, 1] whose edges, eighths, split ties in the middle. Its arrays are static. */
static fastbin_model_spec eighths_spec(void) {
  static double edges[7], values[8];
  static uint64_t keys[7];
  fastbin_model_spec spec = empty_spec(FASTBIN_STEP);
  for (int i = 0; i < 8; i++) values[i] = 0.1 * (i + 1);
  for (int i = 0; i < 7; i++) {
    edges[i] = 0.125 * (i + 1);
    keys[i] = UINT64_MAX / 2;
  }
  spec.n_bins = 8;
  spec.edges = edges;
  spec.edge_keys = keys;
  spec.values = values;
  spec.score_min = 0.0;
  spec.score_max = 1.0;
  return spec;
}

/* Sixteenths, so that half of them are edges, and every float is exact. */
static double sixteenth(void) { return (double)random_below(17) / 16.0; }

/* What the batch must give: one score at a time, with the key of its row. */
static void check_against_singles(const fastbin_model *model, const double *scores, const fastbin_rows *rows,
                                  const double *values) {
  for (size_t i = 0; i < rows->n_rows; i++) {
    double value;
    uint64_t key = rows->keys ? rows->keys[i] : fastbin_row_key(rows->seed, rows->first_row + i);
    CHECK(fastbin_predict_one(model, scores[i], key, &value) == FASTBIN_OK);
    CHECK(same_bits(value, values[i]));
  }
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Types and strides                                                                                             */
/* ------------------------------------------------------------------------------------------------------------- */

/* Lays scores out with this stride from the start or, if it is negative, the end of a buffer, and predicts from there. */
static void check_layout(const fastbin_model *model, int as_float32, ptrdiff_t stride, size_t misalignment) {
  size_t width = as_float32 ? sizeof(float) : sizeof(double);
  size_t step = (size_t)(stride < 0 ? -stride : stride);
  unsigned char *buffer = must_malloc(step * N + width + misalignment);
  unsigned char *first = buffer + misalignment + (stride < 0 ? step * (N - 1) : 0);
  double scores[N], values[N];
  fastbin_rows rows = rows_of(first, N);
  rows.score_stride = stride;
  rows.score_type = as_float32 ? FASTBIN_FLOAT32 : FASTBIN_FLOAT64;
  rows.seed = 5;
  for (size_t i = 0; i < N; i++) {
    float narrow;
    scores[i] = stride == 0 && i > 0 ? scores[0] : sixteenth();
    narrow = (float)scores[i];
    memcpy(first + (ptrdiff_t)i * stride, as_float32 ? (void *)&narrow : (void *)&scores[i], width);
  }
  CHECK(fastbin_predict(model, &rows, values, NULL) == FASTBIN_OK);
  check_against_singles(model, scores, &rows, values);
  free(buffer);
}

static void test_layouts(void) {
  static const ptrdiff_t strides[] = {8, 16, 24, 9, 0, -8, -16, -11};
  fastbin_model_spec spec = eighths_spec();
  fastbin_model *model = must_create(&spec);
  for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
    for (size_t misalignment = 0; misalignment < 2; misalignment++) {
      check_layout(model, 0, strides[i], misalignment);
      check_layout(model, 1, strides[i], misalignment);
      check_layout(model, 1, strides[i] / 2, misalignment);
    }
  }
  fastbin_model_free(model);
}

/* (float)0.1 is above 0.1, and (float)0.3 above 0.3, but (float)0.7 is below 0.7. */
static void test_float32_is_compared_exactly(void) {
  static const double edges[] = {0.1, 0.3, 0.7}, values[] = {0.0, 0.25, 0.5, 0.75};
  static const float scores[] = {0.1f, 0.3f, 0.7f};
  int32_t bins[3];
  fastbin_model_spec spec = empty_spec(FASTBIN_STEP);
  fastbin_rows rows = rows_of((void *)scores, 3);
  fastbin_model *model;
  spec.n_bins = 4;
  spec.edges = edges;
  spec.values = values;
  model = must_create(&spec);
  rows.score_type = FASTBIN_FLOAT32;
  rows.score_stride = sizeof(float);
  CHECK(fastbin_assign(model, &rows, bins, NULL) == FASTBIN_OK);
  CHECK(bins[0] == 1 && bins[1] == 2 && bins[2] == 2);
  fastbin_model_free(model);
}

static void test_blocks_equal_the_whole(void) {
  double scores[N], whole[N], parts[N];
  fastbin_model_spec spec = eighths_spec();
  fastbin_model *model;
  fastbin_rows rows = rows_of(scores, N);
  spec.delta = 0.25; /* so that every row's key shows in its value */
  model = must_create(&spec);
  for (size_t i = 0; i < N; i++) scores[i] = sixteenth();
  rows.seed = 99;
  rows.first_row = UINT64_MAX - 600; /* row numbers wrap */
  CHECK(fastbin_predict(model, &rows, whole, NULL) == FASTBIN_OK);
  check_against_singles(model, scores, &rows, whole);
  for (size_t start = 0; start < N;) {
    fastbin_rows part = rows;
    size_t n = 1 + random_below(N - start);
    part.scores = scores + start;
    part.n_rows = n;
    part.first_row = rows.first_row + start;
    CHECK(fastbin_predict(model, &part, parts + start, NULL) == FASTBIN_OK);
    start += n;
  }
  CHECK(memcmp(parts, whole, sizeof whole) == 0);
  fastbin_model_free(model);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Missing and bad scores                                                                                        */
/* ------------------------------------------------------------------------------------------------------------- */

static void check_bad(const fastbin_model *model, double bad, size_t at, fastbin_status expected) {
  double scores[N], values[N], table[8] = {0};
  int32_t bins[N];
  fastbin_rows rows = rows_of(scores, N);
  for (size_t i = 0; i < N; i++) scores[i] = i > at && i % 7 == 0 ? bad : sixteenth();
  scores[at] = bad;
  for (int call = 0; call < 3; call++) {
    size_t bad_row = SIZE_MAX;
    fastbin_status status = call == 0   ? fastbin_predict(model, &rows, values, &bad_row)
                            : call == 1 ? fastbin_assign(model, &rows, bins, &bad_row)
                                        : fastbin_lookup(model, &rows, table, 1, values, &bad_row);
    CHECK(status == expected && bad_row == at);
  }
  CHECK(fastbin_predict(model, &rows, values, NULL) == expected);
  CHECK(fastbin_predict_one(model, bad, 0, &values[0]) == expected && values[0] != values[0]);
  CHECK(fastbin_assign_one(model, bad, 0, &bins[0]) == expected && bins[0] == -1);
  CHECK(fastbin_needs_key(model, bad) == 0);
}

static void test_bad_scores(void) {
  static const size_t places[] = {0, 1, 511, 512, 1023, 1024, N - 1};
  fastbin_model_spec spec = eighths_spec();
  fastbin_model *bounded = must_create(&spec), *unbounded;
  spec.score_min = -INFINITY;
  spec.score_max = INFINITY;
  unbounded = must_create(&spec);
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    check_bad(bounded, NAN, places[i], FASTBIN_ERROR_SCORE_NAN);
    check_bad(bounded, from_bits(0xFFF0000000000001u), places[i], FASTBIN_ERROR_SCORE_NAN);
    check_bad(bounded, 1.0000000000000002, places[i], FASTBIN_ERROR_SCORE_RANGE);
    check_bad(bounded, -DBL_TRUE_MIN, places[i], FASTBIN_ERROR_SCORE_RANGE);
    check_bad(bounded, INFINITY, places[i], FASTBIN_ERROR_SCORE_RANGE);
    check_bad(unbounded, INFINITY, places[i], FASTBIN_ERROR_SCORE_RANGE);
    check_bad(unbounded, -INFINITY, places[i], FASTBIN_ERROR_SCORE_RANGE);
    check_bad(unbounded, NAN, places[i], FASTBIN_ERROR_SCORE_NAN);
  }
  fastbin_model_free(bounded);
  fastbin_model_free(unbounded);
}

static void test_missing_scores_propagate(void) {
  double scores[N], values[N], triples[3 * N], table[24], in_place[N];
  int32_t bins[N];
  fastbin_model_spec spec = eighths_spec();
  fastbin_model *model = must_create(&spec);
  fastbin_rows rows = rows_of(scores, N);
  size_t bad_row = SIZE_MAX;
  for (size_t i = 0; i < 24; i++) table[i] = (double)i;
  for (size_t i = 0; i < N; i++) scores[i] = random_below(3) ? (random_below(5) ? sixteenth() : -0.0) : NAN;
  rows.nan_policy = FASTBIN_NAN_PROPAGATE;
  rows.seed = 3;
  memcpy(in_place, scores, sizeof scores);
  CHECK(fastbin_predict(model, &rows, values, &bad_row) == FASTBIN_OK);
  CHECK(fastbin_assign(model, &rows, bins, NULL) == FASTBIN_OK);
  CHECK(fastbin_lookup(model, &rows, table, 3, triples, NULL) == FASTBIN_OK);
  rows.scores = in_place;
  CHECK(fastbin_predict(model, &rows, in_place, NULL) == FASTBIN_OK);
  CHECK(memcmp(in_place, values, sizeof values) == 0 && bad_row == SIZE_MAX);
  for (size_t i = 0; i < N; i++) {
    int32_t bin = -1;
    if (scores[i] == scores[i]) CHECK(fastbin_assign_one(model, scores[i], fastbin_row_key(3, i), &bin) == FASTBIN_OK);
    CHECK(bins[i] == bin);
    CHECK(bin < 0 ? values[i] != values[i] : values[i] == spec.values[bin]);
    for (size_t c = 0; c < 3; c++) {
      CHECK(bin < 0 ? triples[3 * i + c] != triples[3 * i + c] : triples[3 * i + c] == 3.0 * bin + (double)c);
    }
  }
  scores[900] = 7.0; /* NaN may pass, this may not */
  rows.scores = scores;
  CHECK(fastbin_predict(model, &rows, values, &bad_row) == FASTBIN_ERROR_SCORE_RANGE && bad_row == 900);
  fastbin_model_free(model);
}

static void test_bad_arguments(void) {
  static const double score = 0.5, table[2] = {0};
  double value;
  int32_t bin;
  fastbin_model_spec spec = half_spec();
  fastbin_model *model = must_create(&spec);
  fastbin_rows rows = rows_of((void *)&score, 1), bad;
  CHECK(fastbin_predict(model, &rows, &value, NULL) == FASTBIN_OK && value == 0.75);
  CHECK(fastbin_predict(model, NULL, &value, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_predict(model, &rows, NULL, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_assign(model, &rows, NULL, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_lookup(model, &rows, NULL, 1, &value, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_lookup(model, &rows, table, 0, &value, NULL) == FASTBIN_ERROR_ARGUMENT);
  bad = rows_of(NULL, 1);
  CHECK(fastbin_predict(model, &bad, &value, NULL) == FASTBIN_ERROR_ARGUMENT);
  bad = rows_of(NULL, 0);
  CHECK(fastbin_predict(model, &bad, NULL, NULL) == FASTBIN_OK);
  CHECK(fastbin_assign(model, &bad, &bin, NULL) == FASTBIN_OK);
  bad = rows;
  bad.score_type = 2;
  CHECK(fastbin_predict(model, &bad, &value, NULL) == FASTBIN_ERROR_ARGUMENT);
  bad = rows;
  bad.nan_policy = -1;
  CHECK(fastbin_predict(model, &bad, &value, NULL) == FASTBIN_ERROR_ARGUMENT);
  bad = rows;
  bad.struct_size = 0;
  CHECK(fastbin_predict(model, &bad, &value, NULL) == FASTBIN_ERROR_STRUCT_SIZE);
  fastbin_model_free(model);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Randomised values, and models that are not steps                                                              */
/* ------------------------------------------------------------------------------------------------------------- */

static void test_randomised_values(void) {
  fastbin_model_spec spec = half_spec();
  fastbin_model *model;
  double value;
  spec.delta = 0.5;
  model = must_create(&spec);
  CHECK(fastbin_predict_one(model, 0.25, 0, &value) == FASTBIN_OK);
  CHECK(value == (0.25 + 0.5 * (6694264840804545.0 * 0x1p-53)) / 1.5); /* V(0) of FORMAT.md */
  CHECK(fastbin_predict_one(model, 0.5, 0x0123456789ABCDEFu, &value) == FASTBIN_OK);
  CHECK(value == (0.75 + 0.5 * (291101070129209.0 * 0x1p-53)) / 1.5);
  CHECK(fastbin_needs_key(model, 0.3) == 1);
  fastbin_model_free(model);
}

static void test_needs_key(void) {
  fastbin_model_spec spec = full_spec(); /* edges 0.25 (up), 0.5 with key 1000, 0.5 (down) */
  fastbin_model *model = must_create(&spec);
  CHECK(fastbin_needs_key(model, 0.25) == 0);
  CHECK(fastbin_needs_key(model, 0.5) == 1);
  CHECK(fastbin_needs_key(model, 0.5000000000000001) == 0);
  CHECK(fastbin_needs_key(model, 0.0) == 0);
  fastbin_model_free(model);
}

static void check_batch_of(const fastbin_model *model, double low, double high) {
  double scores[N], values[N], value;
  fastbin_rows rows = rows_of(scores, N);
  int32_t bin;
  for (size_t i = 0; i < N; i++) scores[i] = i == 0 ? low : i == 1 ? high : low + (high - low) * random_unit();
  scores[5] = NAN;
  rows.nan_policy = FASTBIN_NAN_PROPAGATE;
  errno = 0;
  CHECK(fastbin_predict(model, &rows, values, NULL) == FASTBIN_OK && errno == 0);
  CHECK(values[5] != values[5]);
  for (size_t i = 0; i < N; i++) {
    if (i == 5) continue;
    CHECK(fastbin_predict_one(model, scores[i], 0, &value) == FASTBIN_OK && same_bits(value, values[i]));
    CHECK(value >= 0.0 && value <= 1.0);
  }
  CHECK(fastbin_assign_one(model, low, 0, &bin) == FASTBIN_ERROR_ARGUMENT && bin == -1);
  CHECK(fastbin_assign(model, &rows, &bin, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_needs_key(model, low) == 0);
}

static void check_value(const fastbin_model *model, double score, double expected) {
  double value;
  CHECK(fastbin_predict_one(model, score, 0, &value) == FASTBIN_OK && value == expected);
}

static void test_linear(void) {
  static const double knots[] = {-DBL_MAX, 0.0, 1.0, 3.0}, values[] = {1.0, 0.0, 0.5, 0.25};
  fastbin_model_spec spec = empty_spec(FASTBIN_LINEAR);
  fastbin_model *model;
  spec.n_bins = 4;
  spec.edges = knots;
  spec.values = values;
  model = must_create(&spec);
  check_value(model, -DBL_MAX, 1.0);
  check_value(model, -DBL_MAX / 2, 0.5);
  check_value(model, -0.0, 0.0);
  check_value(model, 0.5, 0.25);
  check_value(model, 1.0, 0.5);
  check_value(model, 2.0, 0.375);
  check_value(model, 3.0, 0.25);
  check_value(model, DBL_MAX, 0.25);
  check_batch_of(model, -2.0, 4.0);
  fastbin_model_free(model);
  spec.n_bins = 2;
  spec.edges = knots + 2;
  spec.values = values + 2;
  spec.score_max = 1e5;
  model = must_create(&spec);
  check_value(model, -1e5, 0.5);
  check_value(model, 1e5, 0.25);
  fastbin_model_free(model);
}

static void test_smooth(void) {
  fastbin_model_spec spec = empty_spec(FASTBIN_SMOOTH);
  fastbin_model *model;
  spec.map = FASTBIN_MAP_LOGISTIC;
  spec.map_parameters[0] = 2.0;
  spec.map_parameters[1] = -1.0;
  model = must_create(&spec);
  check_value(model, 0.5, 0.5);
  check_value(model, 1.0, 1.0 / (1.0 + exp(-1.0)));
  check_value(model, DBL_MAX, 1.0);
  check_value(model, -DBL_MAX, 0.0);
  check_value(model, -354.0, 1.0 / (1.0 + exp(709.0)));
  check_batch_of(model, -400.0, 400.0);
  fastbin_model_free(model);
  spec.map = FASTBIN_MAP_BETA;
  spec.map_parameters[1] = 0.5;
  spec.map_parameters[2] = 0.25;
  spec.score_min = 0.0;
  spec.score_max = 1.0;
  model = must_create(&spec);
  check_value(model, 0.0, 0.0);
  check_value(model, 1.0, 1.0);
  check_value(model, 0.5, 1.0 / (1.0 + exp(-(2.0 * log(0.5) - 0.5 * log(0.5) + 0.25))));
  check_batch_of(model, 0.0, 1.0);
  fastbin_model_free(model);
  spec.map_parameters[0] = spec.map_parameters[1] = 0.0;
  model = must_create(&spec);
  check_value(model, 0.0, 1.0 / (1.0 + exp(-0.25)));
  check_value(model, 1.0, 1.0 / (1.0 + exp(-0.25)));
  check_batch_of(model, 0.0, 1.0);
  fastbin_model_free(model);
}

int main(void) {
  test_layouts();
  test_float32_is_compared_exactly();
  test_blocks_equal_the_whole();
  test_bad_scores();
  test_missing_scores_propagate();
  test_bad_arguments();
  test_randomised_values();
  test_needs_key();
  test_linear();
  test_smooth();
  return finish();
}
