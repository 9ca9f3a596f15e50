/*
 * test_modes.c: scoring in every floating-point environment, with models made in every other: no read outside (the sanitizers see to
 * that), the same bins and values of steps to the last bit, and of other maps a probability that is the same but for rounding.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200112L
#include "check.h"
#include "draws.h"
#include "modes.h"
#include "specs.h"

#define N_SCORES 530 /* more than a block of the batch code */

static const char *const builds[] = {"baseline", "avx2", "avx512", "gathers"};

/* All answers for some scores, in one environment. */
typedef struct answers {
  fastbin_status status;
  double values[N_SCORES], singles[N_SCORES];
  int32_t bins[N_SCORES], single_bins[N_SCORES];
} answers;

static fastbin_rows rows_of(const double *scores, const uint64_t *keys) {
  fastbin_rows rows = rows_over(scores, N_SCORES);
  rows.keys = keys;
  return rows;
}

static void answer(const fastbin_model *model, int is_step, const double *scores, const uint64_t *keys, int mode, answers *a) {
  fastbin_rows rows = rows_of(scores, keys);
  enter_mode(mode);
  a->status = fastbin_predict(model, &rows, a->values, NULL);
  if (is_step && a->status == FASTBIN_OK) a->status = fastbin_assign(model, &rows, a->bins, NULL);
  for (size_t i = 0; i < N_SCORES; i++) {
    fastbin_status status = fastbin_predict_one(model, scores[i], keys[i], &a->singles[i]);
    if (is_step && status == FASTBIN_OK) status = fastbin_assign_one(model, scores[i], keys[i], &a->single_bins[i]);
    if (status != FASTBIN_OK) a->status = status;
  }
  leave_mode();
}

static fastbin_model *make_in(int mode, const fastbin_model_spec *spec) {
  fastbin_model *model;
  fastbin_status status;
  enter_mode(mode);
  status = fastbin_model_create(spec, &model);
  leave_mode();
  REQUIRE(status == FASTBIN_OK);
  return model;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Step models                                                                                                   */
/* ------------------------------------------------------------------------------------------------------------- */

static void check_steps(const fastbin_model_spec *spec, const double *scores, const uint64_t *keys) {
  static answers a;
  static int32_t expected[N_SCORES];
  for (size_t i = 0; i < N_SCORES; i++) expected[i] = bin_by_definition(spec, scores[i], keys[i]);
  for (int mode = 0; mode < N_MODES; mode++) {
    /* In turn made here and scored elsewhere, made elsewhere and scored here, by the builds in turn. */
    int other = (int)random_below(N_MODES);
    for (int turn = 0; turn < 2; turn++) {
      fastbin_model *model;
      setenv("FASTBIN_CPU", builds[random_below(4)], 1);
      model = make_in(turn ? other : mode, spec);
      answer(model, 1, scores, keys, turn ? mode : other, &a);
      CHECK(a.status == FASTBIN_OK);
      for (size_t i = 0; i < N_SCORES; i++) {
        CHECK(a.bins[i] == expected[i] && a.single_bins[i] == expected[i]);
        CHECK(same_bits(a.values[i], spec->values[expected[i]]) && same_bits(a.singles[i], spec->values[expected[i]]));
      }
      fastbin_model_free(model);
    }
  }
}

static void check_drawn(double (*draw)(void), int style, int32_t n_bins, int is_positive) {
  static double scores[N_SCORES], edges[200], values[201];
  static uint64_t score_keys[N_SCORES], keys[200];
  fastbin_model_spec spec = empty_spec(FASTBIN_STEP);
  REQUIRE(n_bins <= 201);
  fill_edges(draw, style, (size_t)n_bins - 1, edges, keys);
  for (int32_t i = 0; i < n_bins; i++) values[i] = i % 3 == 0 ? from_bits((uint64_t)i) : (double)i / n_bins;
  spec.n_bins = n_bins;
  spec.edges = edges;
  spec.edge_keys = keys;
  spec.values = values;
  if (is_positive) spec.score_min = 0.0;
  for (size_t i = 0; i < N_SCORES; i++) {
    scores[i] = score_near(&spec, draw);
    if (is_positive && scores[i] < 0.0) scores[i] = -scores[i];
    score_keys[i] = key_near(&spec);
  }
  check_steps(&spec, scores, score_keys);
}

/* What is refused is refused in every environment, and clipped scores get the bins of the ends. */
static void check_refusals(void) {
  static const double edges[] = {0x1p-1030, 0x1p-1040}, not_probable = -0x1p-1070;
  static const double values[] = {0.0, 0.5, 1.0};
  fastbin_model_spec descending = empty_spec(FASTBIN_STEP), outside = half_spec(), half = half_spec();
  descending.n_bins = 3;
  descending.edges = edges;
  descending.values = values;
  outside.n_bins = 1;
  outside.values = &not_probable;
  for (int mode = 0; mode < N_MODES; mode++) {
    fastbin_model *model;
    fastbin_status status[5];
    double value;
    enter_mode(mode);
    status[0] = fastbin_model_create(&descending, &model);
    status[1] = fastbin_model_create(&outside, &model);
    status[2] = fastbin_model_create(&half, &model);
    status[3] = fastbin_predict_one(model, -0x1p-1074, 0, &value);
    status[4] = fastbin_predict_one(model, -0.0, 0, &value);
    leave_mode();
    CHECK(status[0] == FASTBIN_ERROR_EDGES && status[1] == FASTBIN_ERROR_VALUES && status[2] == FASTBIN_OK);
    CHECK(status[3] == FASTBIN_ERROR_SCORE_RANGE && status[4] == FASTBIN_OK && value == 0.25);
    fastbin_model_free(model);
  }
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Other maps                                                                                                    */
/* ------------------------------------------------------------------------------------------------------------- */

static int is_probability(double x) { return x >= 0.0 && x <= 1.0; }

/* With a tolerance of 1 only the range is compared. */
static void check_map(const fastbin_model_spec *spec, const double *scores, double tolerance) {
  static answers usual, a;
  static uint64_t keys[N_SCORES];
  fastbin_model *model = make_in(0, spec);
  for (size_t i = 0; i < N_SCORES; i++) keys[i] = random_bits();
  answer(model, 0, scores, keys, 0, &usual);
  fastbin_model_free(model);
  for (int mode = 0; mode < N_MODES; mode++) {
    model = make_in(mode, spec);
    answer(model, 0, scores, keys, mode, &a);
    CHECK(a.status == usual.status && a.status == FASTBIN_OK);
    for (size_t i = 0; i < N_SCORES; i++) {
      CHECK(is_probability(a.values[i]) && is_probability(a.singles[i]));
      CHECK(fabs(a.values[i] - usual.values[i]) <= tolerance && fabs(a.singles[i] - usual.values[i]) <= tolerance);
    }
    fastbin_model_free(model);
  }
}

/* Knots of a linear model, in ascending order and without repetition; the values go up and down. */
static void check_linear(double (*draw)(void), int32_t n_knots, double tolerance) {
  static double scores[N_SCORES], knots[100], values[100];
  static uint64_t keys[100];
  fastbin_model_spec spec = empty_spec(FASTBIN_LINEAR);
  int32_t n = 0;
  REQUIRE(n_knots <= 100);
  fill_edges(draw, 0, (size_t)n_knots, knots, keys);
  for (int32_t i = 0; i < n_knots; i++) {
    if (n == 0 || knots[i] > knots[n - 1]) knots[n++] = knots[i];
  }
  for (int32_t i = 0; i < n; i++) values[i] = i % 5 == 0 ? from_bits(random_below(9)) : i % 7 == 0 ? 1.0 : random_unit();
  spec.n_bins = n;
  spec.edges = knots;
  spec.values = values;
  for (size_t i = 0; i < N_SCORES; i++) {
    size_t k = random_below((size_t)n);
    scores[i] = random_below(2) ? draw() : nextafter(knots[k], random_below(2) ? 1.0 : -1.0);
    if (!isfinite(scores[i])) scores[i] = knots[k];
  }
  check_map(&spec, scores, tolerance);
}

/* In [0, 1], its ends, subnormals and their neighbours among them. */
static double probability(void) {
  static const double few[] = {0.0, 1.0, DBL_MIN, DBL_TRUE_MIN, 0x1p-1030, 0.5, 1.0 - 0x1p-53, 0x1p-53, 1e-300};
  return random_below(3) ? random_unit() : few[random_below(sizeof few / sizeof few[0])];
}

static double hostile(void) {
  static const double few[] = {0.0, -0.0, DBL_TRUE_MIN, -DBL_TRUE_MIN, DBL_MAX, -DBL_MAX, DBL_MIN, 1e-310, 1e300, -1e300, 1.0};
  return few[random_below(sizeof few / sizeof few[0])];
}

static double moderate(void) { return 20.0 * (random_unit() - 0.5); }

static void check_smooth(fastbin_map map, double (*parameter)(void), double clip, double tolerance) {
  static const int n_parameters[] = {[FASTBIN_MAP_LOGISTIC] = 2, [FASTBIN_MAP_BETA] = 3, [FASTBIN_MAP_QUADRATIC] = 3};
  static double scores[N_SCORES];
  fastbin_model_spec spec = empty_spec(FASTBIN_SMOOTH);
  spec.map = map;
  spec.score_min = 0.0;
  spec.score_max = 1.0;
  spec.clip = clip;
  for (int i = 0; i < n_parameters[map]; i++) spec.map_parameters[i] = parameter();
  for (size_t i = 0; i < N_SCORES; i++) scores[i] = probability();
  check_map(&spec, scores, tolerance);
}

/* Positions that are subnormally near to each other: flushed to zero, their distance divides 0 by 0. */
static void check_splines(void) {
  static const double hostile_knots[] = {0.0, -1.0, 0.0, 0x1p-1060, 0.5, 1e100, 0x1p-1050, 1.0, 0.0};
  static double scores[N_SCORES];
  fastbin_model_spec spec = spline_spec();
  for (size_t i = 0; i < N_SCORES; i++) scores[i] = probability();
  check_map(&spec, scores, 1e-12);
  spec.knots = hostile_knots;
  for (double clip = 0.0; clip < 0.1; clip += 0.01) {
    spec.clip = clip;
    check_map(&spec, scores, 1.0);
  }
}

static void check_maps(void) {
  for (int repetition = 0; repetition < 20; repetition++) {
    for (int map = FASTBIN_MAP_LOGISTIC; map <= FASTBIN_MAP_QUADRATIC; map++) {
      check_smooth((fastbin_map)map, moderate, 0.0, 1e-12);
      check_smooth((fastbin_map)map, hostile, 0.0, 1.0);
      if (map != FASTBIN_MAP_LOGISTIC) check_smooth((fastbin_map)map, moderate, 0x1p-10, 1e-12);
    }
  }
  check_splines();
  for (size_t d = 0; d < sizeof draws / sizeof draws[0]; d++) {
    int is_subnormal = draws[d] == subnormal || draws[d] == signed_subnormal || draws[d] == special;
    for (int32_t n = 1; n <= 100; n = 3 * n - n / 2) check_linear(draws[d], n, is_subnormal ? 1.0 : 1e-12);
  }
}

int main(void) {
  static const int32_t sizes[] = {1, 2, 4, 17, 100, 201};
  for (size_t d = 0; d < sizeof draws / sizeof draws[0]; d++) {
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      for (int style = 0; style < 4; style++) check_drawn(draws[d], style, sizes[s], (int)random_below(2));
    }
  }
  check_refusals();
  check_maps();
  return finish();
}
