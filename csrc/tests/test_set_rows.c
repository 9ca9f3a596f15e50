/*
 * test_set_rows.c: rows scored by the models of a set: each as its own model scores it alone.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "sets.h"

#define N_ROWS 3000
#define SEED 11

static fastbin_set *set;             /* three models, the last of them a pool that scores unknown keys, too */
static double scores[N_ROWS];        /* many of them at edges */
static int32_t numbers[N_ROWS];      /* in runs of all lengths */
static uint64_t keys[N_ROWS];

static void prepare(void) {
  fastbin_set_spec spec = text_set_spec();
  size_t run = 0;
  set = must_create_set(&spec);
  for (size_t i = 0; i < N_ROWS; i++) {
    scores[i] = random_below(3) == 0 ? random_unit() : (double)random_below(9) / 8.0;
    keys[i] = random_below(2) == 0 ? random_below(2000) : random_bits() >> 1;
    if (run == 0) {
      run = random_below(8) == 0 ? 1 + random_below(300) : 1 + random_below(6);
      numbers[i] = (int32_t)random_below(4) - 1;
    } else {
      numbers[i] = numbers[i - 1];
    }
    run--;
  }
}

static fastbin_rows rows_of(const double *first) {
  fastbin_rows rows = rows_over(first, N_ROWS);
  rows.seed = SEED;
  return rows;
}

static const fastbin_model *model_of(int32_t number) { return set_models()[number < 0 ? 2 : number]; }

static double value_of(int32_t number, double score, uint64_t key) {
  double value = -1.0, by_set = -1.0;
  CHECK(fastbin_predict_one(model_of(number), score, key, &value) == FASTBIN_OK);
  CHECK(fastbin_set_predict_one(set, number, score, key, &by_set) == FASTBIN_OK && same_bits(value, by_set));
  return value;
}

static int32_t bin_of(int32_t number, double score, uint64_t key) {
  int32_t bin = -2;
  CHECK(fastbin_assign_one(model_of(number), score, key, &bin) == FASTBIN_OK);
  return number < 0 ? -1 : bin;
}

/* The values and the bins of these rows, whose keys are `own` or, without, those of the seed. */
static void check_rows(const fastbin_rows *rows, const double *read_as, const uint64_t *own) {
  static double values[N_ROWS];
  static int32_t bins[N_ROWS];
  size_t bad_row = 77;
  CHECK(fastbin_set_predict_batch(set, numbers, rows, values, &bad_row) == FASTBIN_OK);
  CHECK(fastbin_set_assign_batch(set, numbers, rows, bins, &bad_row) == FASTBIN_OK && bad_row == 77);
  for (size_t i = 0; i < rows->n_rows; i++) {
    uint64_t key = own ? own[i] : fastbin_row_key(rows->seed, rows->first_row + i);
    CHECK(same_bits(values[i], value_of(numbers[i], read_as[i], key)));
    CHECK(bins[i] == bin_of(numbers[i], read_as[i], key));
  }
}

static void test_rows(void) {
  static float narrow[N_ROWS];
  static double widened[N_ROWS], apart[2 * N_ROWS], backwards[N_ROWS];
  fastbin_rows rows = rows_of(scores);
  check_rows(&rows, scores, NULL);
  rows.first_row = UINT64_C(1) << 40;
  check_rows(&rows, scores, NULL);
  rows.keys = keys;
  check_rows(&rows, scores, keys);
  for (size_t i = 0; i < N_ROWS; i++) {
    narrow[i] = (float)scores[i];
    widened[i] = (double)narrow[i];
    apart[2 * i] = scores[i];
    backwards[N_ROWS - 1 - i] = scores[i];
  }
  rows.scores = narrow;
  rows.score_type = FASTBIN_FLOAT32;
  rows.score_stride = sizeof(float);
  check_rows(&rows, widened, keys);
  rows = rows_of(apart);
  rows.score_stride = 2 * sizeof(double);
  check_rows(&rows, scores, NULL);
  rows = rows_of(backwards + N_ROWS - 1);
  rows.score_stride = -(ptrdiff_t)sizeof(double);
  check_rows(&rows, scores, NULL);
  rows.n_rows = 0;
  rows.scores = NULL;
  CHECK(fastbin_set_predict_batch(set, NULL, &rows, NULL, NULL) == FASTBIN_OK);
}

/* One block after the other gives what one call gives, also into the memory of the scores. */
static void test_blocks_and_places(void) {
  static double whole[N_ROWS], in_place[N_ROWS];
  fastbin_rows rows = rows_of(scores);
  CHECK(fastbin_set_predict_batch(set, numbers, &rows, whole, NULL) == FASTBIN_OK);
  memcpy(in_place, scores, sizeof scores);
  for (size_t start = 0; start < N_ROWS; start += 7) {
    rows.scores = in_place + start;
    rows.n_rows = N_ROWS - start < 7 ? N_ROWS - start : 7;
    rows.first_row = start;
    CHECK(fastbin_set_predict_batch(set, numbers + start, &rows, in_place + start, NULL) == FASTBIN_OK);
  }
  CHECK(memcmp(whole, in_place, sizeof whole) == 0);
  memcpy(in_place, scores, sizeof scores);
  rows = rows_of(in_place);
  CHECK(fastbin_set_predict_batch(set, numbers, &rows, in_place, NULL) == FASTBIN_OK);
  CHECK(memcmp(whole, in_place, sizeof whole) == 0);
}

/* The first bad row, whatever is wrong with it and with those after it. */
static void test_bad_rows(void) {
  static double bad[N_ROWS], values[N_ROWS];
  static int32_t bins[N_ROWS];
  static const double wrong[] = {NAN, INFINITY, -INFINITY, 1.5, -5e-324};
  for (size_t trial = 0; trial < 300; trial++) {
    size_t at = random_below(N_ROWS), kind = trial % 5, bad_row = 0;
    fastbin_status expected = kind == 0 ? FASTBIN_ERROR_SCORE_NAN : FASTBIN_ERROR_SCORE_RANGE;
    fastbin_rows rows = rows_of(bad);
    memcpy(bad, scores, sizeof bad);
    bad[at] = wrong[kind];
    for (size_t i = at + 1 + random_below(5); i < N_ROWS; i += 100) bad[i] = wrong[random_below(5)];
    CHECK(fastbin_set_predict_batch(set, numbers, &rows, values, &bad_row) == expected && bad_row == at);
    bad_row = 0;
    CHECK(fastbin_set_assign_batch(set, numbers, &rows, bins, &bad_row) == expected && bad_row == at);
    CHECK(fastbin_set_predict_batch(set, numbers, &rows, values, NULL) == expected);
  }
}

static void test_missing_scores(void) {
  static double missing[N_ROWS], values[N_ROWS];
  static int32_t bins[N_ROWS];
  fastbin_rows rows = rows_of(missing);
  rows.nan_policy = FASTBIN_NAN_PROPAGATE;
  for (size_t i = 0; i < N_ROWS; i++) missing[i] = random_below(5) == 0 ? NAN : scores[i];
  CHECK(fastbin_set_predict_batch(set, numbers, &rows, values, NULL) == FASTBIN_OK);
  CHECK(fastbin_set_assign_batch(set, numbers, &rows, bins, NULL) == FASTBIN_OK);
  for (size_t i = 0; i < N_ROWS; i++) {
    if (missing[i] != missing[i]) {
      CHECK(values[i] != values[i] && bins[i] == -1);
    } else {
      CHECK(same_bits(values[i], value_of(numbers[i], scores[i], fastbin_row_key(SEED, i))));
    }
  }
}

static void test_bad_numbers(void) {
  static int32_t changed[N_ROWS];
  static double values[N_ROWS];
  static const int32_t wrong[] = {3, -2, INT32_MAX, INT32_MIN};
  fastbin_set_spec spec = text_set_spec();
  fastbin_set *refusing;
  fastbin_rows rows = rows_of(scores);
  size_t bad_row = 0, first = 0;
  double value = 0.0;
  for (size_t i = 0; i < 4; i++) {
    memcpy(changed, numbers, sizeof changed);
    changed[500 + i] = wrong[i];
    CHECK(fastbin_set_predict_batch(set, changed, &rows, values, &bad_row) == FASTBIN_ERROR_ARGUMENT && bad_row == 500 + i);
    CHECK(fastbin_set_predict_one(set, wrong[i], 0.5, 0, &value) == FASTBIN_ERROR_ARGUMENT && value != value);
  }
  spec.unknown = FASTBIN_UNKNOWN_REFUSE;
  refusing = must_create_set(&spec);
  while (numbers[first] != -1) first++;
  CHECK(fastbin_set_predict_batch(refusing, numbers, &rows, values, &bad_row) == FASTBIN_ERROR_CELL && bad_row == first);
  CHECK(fastbin_set_predict_one(refusing, -1, 0.5, 0, &value) == FASTBIN_ERROR_CELL && value != value);
  fastbin_set_free(refusing);
}

static void test_bad_calls(void) {
  static double values[N_ROWS];
  static int32_t bins[N_ROWS];
  fastbin_rows rows = rows_of(scores);
  CHECK(fastbin_set_predict_batch(NULL, numbers, &rows, values, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_set_predict_batch(set, NULL, &rows, values, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_set_predict_batch(set, numbers, NULL, values, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_set_predict_batch(set, numbers, &rows, NULL, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_set_assign_batch(set, numbers, &rows, NULL, NULL) == FASTBIN_ERROR_ARGUMENT);
  rows.struct_size = 8;
  CHECK(fastbin_set_predict_batch(set, numbers, &rows, values, NULL) == FASTBIN_ERROR_STRUCT_SIZE);
  rows = rows_of(scores);
  rows.score_type = 2;
  CHECK(fastbin_set_assign_batch(set, numbers, &rows, bins, NULL) == FASTBIN_ERROR_ARGUMENT);
  rows = rows_of(scores);
  rows.nan_policy = 2;
  rows.n_rows = 0;
  CHECK(fastbin_set_assign_batch(set, numbers, &rows, bins, NULL) == FASTBIN_ERROR_ARGUMENT);
}

/* Models that are not steps have values and no bins; each model has its own range and its own rule for scores beyond it. */
static void test_models_of_all_kinds(void) {
  static double values[N_ROWS];
  static int32_t bins[N_ROWS];
  fastbin_model_spec specs[] = {spline_spec(), half_spec(), empty_spec(FASTBIN_STEP)};
  static const double value = 0.375;
  fastbin_model *models[3];
  fastbin_set_spec spec = int_set_spec();
  fastbin_set *mixed;
  fastbin_rows rows = rows_of(scores);
  size_t bad_row = 0;
  specs[1].out_of_range = FASTBIN_OUT_OF_RANGE_CLIP;
  specs[1].delta = 0.25;
  specs[2].n_bins = 1;
  specs[2].values = &value;
  for (int i = 0; i < 3; i++) REQUIRE(fastbin_model_create(&specs[i], &models[i]) == FASTBIN_OK);
  spec.models = (const fastbin_model *const *)models;
  mixed = must_create_set(&spec);
  for (size_t i = 0; i < N_ROWS; i++) bins[i] = (int32_t)(i % 7 % 3);
  CHECK(fastbin_set_predict_batch(mixed, bins, &rows, values, NULL) == FASTBIN_OK);
  for (size_t i = 0; i < N_ROWS; i++) {
    double expected;
    CHECK(fastbin_predict_one(models[bins[i]], scores[i], fastbin_row_key(SEED, i), &expected) == FASTBIN_OK);
    CHECK(same_bits(values[i], expected));
  }
  rows.scores = (const double[]){9.0, 9.0, -7.0, 9.0};
  rows.n_rows = 4;
  CHECK(fastbin_set_predict_batch(mixed, (const int32_t[]){1, 2, 1, 0}, &rows, values, &bad_row) == FASTBIN_ERROR_SCORE_RANGE);
  CHECK(bad_row == 3 && values[1] == 0.375);
  CHECK(fastbin_set_assign_batch(mixed, (const int32_t[]){1, 2, 1, 1}, &rows, bins, NULL) == FASTBIN_ERROR_ARGUMENT);
  fastbin_set_free(mixed);
  for (int i = 0; i < 3; i++) fastbin_model_free(models[i]);
}

int main(void) {
  prepare();
  test_rows();
  test_blocks_and_places();
  test_bad_rows();
  test_missing_scores();
  test_bad_numbers();
  test_bad_calls();
  test_models_of_all_kinds();
  fastbin_set_free(set);
  free_set_models();
  return finish();
}
