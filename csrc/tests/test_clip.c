/*
 * test_clip.c: models that clip scores to their range, in single and in batch calls.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"
#include "specs.h"

#define N_ROWS 1500 /* several blocks */

static const double hard[] = {-1e308, -2.0, -1e-300, -0.0, 0.0, 0.2, 0.25, 0.5, 0.75, 1.0, 1.0000000000000002, 3.0, 1e308};

static double clipped(double score) { return score < 0.0 ? 0.0 : score > 1.0 ? 1.0 : score; }

/* Models of every kind on [0, 1]: the first and the last value differ from those beside them, edges stand at both ends. */
static fastbin_model_spec spec_of(int kind, int n_bins) {
  static double edges[64], values[65];
  fastbin_model_spec spec = empty_spec((fastbin_kind)kind);
  for (int i = 0; i < n_bins; i++) values[i] = (double)(i * 7 % 64) / 64.0;
  for (int i = 0; i < n_bins; i++) edges[i] = (double)i / (n_bins - (kind == FASTBIN_STEP ? 2 : 1));
  spec.score_min = 0.0;
  spec.score_max = 1.0;
  spec.n_bins = kind == FASTBIN_SMOOTH ? 0 : n_bins;
  spec.edges = edges;
  spec.values = values;
  if (kind == FASTBIN_SMOOTH) {
    spec.map = FASTBIN_MAP_BETA;
    spec.map_parameters[0] = 0.5;
    spec.map_parameters[1] = 2.0;
  }
  return spec;
}

static void check_single(const fastbin_model *model, const fastbin_model *refusing, int kind) {
  for (size_t i = 0; i < sizeof hard / sizeof hard[0]; i++) {
    double value, expected;
    int32_t bin, expected_bin;
    fastbin_status inside = clipped(hard[i]) == hard[i] ? FASTBIN_OK : FASTBIN_ERROR_SCORE_RANGE;
    CHECK(fastbin_predict_one(refusing, clipped(hard[i]), 5, &expected) == FASTBIN_OK);
    CHECK(fastbin_predict_one(model, hard[i], 5, &value) == FASTBIN_OK && value == expected);
    CHECK(fastbin_predict_one(refusing, hard[i], 5, &value) == inside);
    CHECK(fastbin_needs_key(model, hard[i]) == fastbin_needs_key(refusing, clipped(hard[i])));
    if (kind != FASTBIN_STEP) continue;
    CHECK(fastbin_assign_one(refusing, clipped(hard[i]), 5, &expected_bin) == FASTBIN_OK);
    CHECK(fastbin_assign_one(model, hard[i], 5, &bin) == FASTBIN_OK && bin == expected_bin);
  }
}

static void check_refused(const fastbin_model *model) {
  double value;
  CHECK(fastbin_predict_one(model, INFINITY, 0, &value) == FASTBIN_ERROR_SCORE_RANGE && value != value);
  CHECK(fastbin_predict_one(model, -INFINITY, 0, &value) == FASTBIN_ERROR_SCORE_RANGE);
  CHECK(fastbin_predict_one(model, NAN, 0, &value) == FASTBIN_ERROR_SCORE_NAN);
}

/* Most rows inside, some far out, some missing; in place as well. */
static void check_batch(const fastbin_model *model, const fastbin_model *refusing) {
  static double scores[N_ROWS], values[N_ROWS];
  fastbin_rows rows;
  size_t bad_row = 0;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = scores;
  rows.score_stride = sizeof *scores;
  rows.n_rows = N_ROWS;
  rows.nan_policy = FASTBIN_NAN_PROPAGATE;
  for (int i = 0; i < N_ROWS; i++) {
    scores[i] = i % 5 == 0 ? hard[random_below(sizeof hard / sizeof hard[0])] : i % 97 == 3 ? NAN : random_unit();
  }
  REQUIRE(fastbin_predict(model, &rows, values, NULL) == FASTBIN_OK);
  for (size_t i = 0; i < N_ROWS; i++) {
    double expected;
    fastbin_status status = fastbin_predict_one(refusing, clipped(scores[i]), fastbin_row_key(0, i), &expected);
    CHECK(scores[i] != scores[i] ? values[i] != values[i] : status == FASTBIN_OK && values[i] == expected);
  }
  scores[1234] = INFINITY;
  CHECK(fastbin_predict(model, &rows, values, &bad_row) == FASTBIN_ERROR_SCORE_RANGE && bad_row == 1234);
}

int main(void) {
  static const int sizes[] = {2, 5, 17, 60};
  for (int kind = FASTBIN_STEP; kind <= FASTBIN_SMOOTH; kind++) {
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
      fastbin_model_spec spec = spec_of(kind, sizes[k] + 1);
      fastbin_model *model, *refusing;
      REQUIRE(fastbin_model_create(&spec, &refusing) == FASTBIN_OK);
      spec.out_of_range = FASTBIN_OUT_OF_RANGE_CLIP;
      REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
      check_single(model, refusing, kind);
      check_refused(model);
      check_batch(model, refusing);
      fastbin_model_free(model);
      fastbin_model_free(refusing);
    }
  }
  return finish();
}
