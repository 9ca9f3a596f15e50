/*
 * test_maps.c: the smooth maps that take logarithms: quadratic and spline against their formulas, the clip, what is refused.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "model_bytes.h"
#include "models.h"
#include "specs.h"

#include <float.h>

#define N 2000

static double predict(const fastbin_model *model, double score) {
  double value;
  CHECK(fastbin_predict_one(model, score, 0, &value) == FASTBIN_OK);
  return value;
}

/* Values differ by what the last bits of exp() and log() may, times the slope of the map. */
static int near(double one, double other) { return fabs(one - other) <= 1e-13; }

static double logistic(double x) { return 1.0 / (1.0 + exp(-x)); }

/* The logit with both of its terms kept from the logarithm of 0. */
static double logit(double score, double clip) {
  double low = fmin(fmax(score, clip), 1.0 - clip), high = fmin(fmax(1.0 - score, clip), 1.0 - clip);
  return log(low) - log(high);
}

static fastbin_model_spec quadratic_spec(double p0, double p1, double p2, double clip) {
  fastbin_model_spec spec = empty_spec(FASTBIN_SMOOTH);
  spec.scheme = FASTBIN_SCHEME_QUADRATIC;
  spec.map = FASTBIN_MAP_QUADRATIC;
  spec.map_parameters[0] = p0;
  spec.map_parameters[1] = p1;
  spec.map_parameters[2] = p2;
  spec.clip = clip;
  spec.score_min = 0.0;
  spec.score_max = 1.0;
  return spec;
}

static void test_quadratic(void) {
  static const double clips[] = {0.0, 1e-18, 1e-3, 0.25};
  for (int c = 0; c < 4; c++) {
    fastbin_model_spec spec = quadratic_spec(-0.25, 1.5, 0.125, clips[c]);
    fastbin_model *model = must_create(&spec);
    for (int i = 1; i < 100; i++) {
      double z = logit(i / 100.0, clips[c]);
      CHECK(near(predict(model, i / 100.0), logistic(-0.25 + 1.5 * z + 0.125 * z * z)));
    }
    fastbin_model_free(model);
  }
}

/* At 0 and 1, where the logit is infinite unless the scores are clipped. */
static void test_quadratic_at_the_ends(void) {
  static const struct {
    double p1, p2, at_zero, at_one;
  } limits[] = {{1.0, 0.0, 0.0, 1.0}, {-1.0, 0.0, 1.0, 0.0}, {5.0, 0.25, 1.0, 1.0}, {-5.0, -0.25, 0.0, 0.0}};
  fastbin_model_spec spec = quadratic_spec(0.5, 0.0, 0.0, 0.0);
  fastbin_model *model = must_create(&spec);
  CHECK(near(predict(model, 0.0), logistic(0.5)) && near(predict(model, 1.0), logistic(0.5)));
  fastbin_model_free(model);
  for (int i = 0; i < 4; i++) {
    spec = quadratic_spec(0.5, limits[i].p1, limits[i].p2, 0.0);
    model = must_create(&spec);
    CHECK(predict(model, 0.0) == limits[i].at_zero && predict(model, 1.0) == limits[i].at_one);
    fastbin_model_free(model);
    spec.clip = 0.01;
    model = must_create(&spec);
    CHECK(predict(model, 0.0) == predict(model, 0.01) && predict(model, 1.0) == predict(model, 0.99));
    CHECK(predict(model, 0.0) > 0.0 && predict(model, 0.0) < 1.0 && predict(model, 1.0) > 0.0 && predict(model, 1.0) < 1.0);
    fastbin_model_free(model);
  }
}

/* A piece of a cubic from the values and slopes at its ends, which is another form of it. */
static double hermite(double x0, double x1, double y0, double y1, double slope0, double slope1, double x) {
  double h = x1 - x0, t = (x - x0) / h;
  return (1 + 2 * t) * (1 - t) * (1 - t) * y0 + t * (1 - t) * (1 - t) * h * slope0 + t * t * (3 - 2 * t) * y1 +
         t * t * (t - 1) * h * slope1;
}

/* The spline of spline_spec(): slopes 7/8 at -2, 1/2 at 0 and 1/8 at 2. */
static double spline_by_hermite(double z) {
  if (z < -2.0) return -1.0 + 0.875 * (z + 2.0);
  if (z < 0.0) return hermite(-2.0, 0.0, -1.0, 0.5, 0.875, 0.5, z);
  if (z < 2.0) return hermite(0.0, 2.0, 0.5, 1.0, 0.5, 0.125, z);
  return 1.0 + 0.125 * (z - 2.0);
}

static void test_spline(void) {
  static const double clips[] = {0.0, 1e-300, 0.0078125, 0.4};
  for (int c = 0; c < 4; c++) {
    fastbin_model_spec spec = spline_spec();
    fastbin_model *model;
    spec.clip = clips[c];
    model = must_create(&spec);
    for (int i = 1; i < N; i++) {
      double score = (double)i / N;
      CHECK(near(predict(model, score), logistic(spline_by_hermite(logit(score, clips[c])))));
    }
    fastbin_model_free(model);
  }
}

static void test_spline_at_the_ends(void) {
  static const double level[] = {-1.0, 0.25, 0.0, 1.0, 0.25, 0.0};
  fastbin_model_spec spec = spline_spec();
  fastbin_model *model = must_create(&spec);
  CHECK(near(predict(model, 0.0), logistic(spline_by_hermite(logit(0.0078125, 0.0)))));
  CHECK(near(predict(model, 1.0), logistic(spline_by_hermite(logit(1.0 - 0.0078125, 0.0)))));
  CHECK(predict(model, 5e-324) == predict(model, 0.0) && predict(model, 1.0 - 0x1p-53) == predict(model, 1.0));
  fastbin_model_free(model);
  spec.clip = 0.0; /* the lines at both ends rise to infinity */
  model = must_create(&spec);
  CHECK(predict(model, 0.0) == 0.0 && predict(model, 1.0) == 1.0);
  fastbin_model_free(model);
  spec.n_knots = 2;
  spec.knots = level;
  model = must_create(&spec);
  for (int i = 0; i <= 100; i++) CHECK(near(predict(model, i / 100.0), logistic(0.25)));
  fastbin_model_free(model);
}

/* As large, and as close together, as knots may be: still numbers from 0 to 1. */
static void test_extreme_knots(void) {
  static const double huge[] = {-1e100, -1e100, 0.0, 0.0, 1e100, 1e100, 1e100, -1e100, 0.0};
  static const double close[] = {0.0, -1e100, 0.0, 5e-324, 1e100, -1e100, 1e-323, 0.0, 0.0};
  static const double *const extremes[] = {huge, close};
  for (int k = 0; k < 2; k++) {
    fastbin_model_spec spec = spline_spec();
    fastbin_model *model;
    spec.knots = extremes[k];
    for (int clipped = 0; clipped < 2; clipped++) {
      spec.clip = clipped ? 1e-9 : 0.0;
      model = must_create(&spec);
      for (int i = 0; i <= N; i++) {
        double value = predict(model, (double)i / N);
        CHECK(value >= 0.0 && value <= 1.0);
      }
      fastbin_model_free(model);
    }
  }
}

/* The beta map, too, may be clipped; without a clip its values are what they were. */
static void test_beta(void) {
  fastbin_model_spec spec = quadratic_spec(1.25, 0.75, -0.5, 0.01);
  fastbin_model *model;
  spec.map = FASTBIN_MAP_BETA;
  spec.scheme = FASTBIN_SCHEME_BETA;
  model = must_create(&spec);
  for (int i = 0; i <= 100; i++) {
    double low = fmin(fmax(i / 100.0, 0.01), 0.99), high = fmin(fmax(1.0 - i / 100.0, 0.01), 0.99);
    CHECK(near(predict(model, i / 100.0), logistic(1.25 * log(low) - 0.75 * log(high) - 0.5)));
  }
  fastbin_model_free(model);
  spec.clip = 0.0;
  model = must_create(&spec);
  CHECK(predict(model, 0.0) == 0.0 && predict(model, 1.0) == 1.0);
  fastbin_model_free(model);
}

/* Batches give what single scores do. */
static void test_batches(void) {
  static double scores[N], values[N];
  fastbin_model_spec specs[2];
  specs[0] = quadratic_spec(-0.25, 1.5, 0.125, 1e-3);
  specs[1] = spline_spec();
  for (int k = 0; k < 2; k++) {
    fastbin_model *model = must_create(&specs[k]);
    fastbin_rows rows = rows_over(scores, N);
    rows.nan_policy = FASTBIN_NAN_PROPAGATE;
    for (int i = 0; i < N; i++) scores[i] = i % 7 == 0 ? NAN : random_unit();
    scores[1] = -0.0;
    scores[2] = 1.0;
    CHECK(fastbin_predict(model, &rows, values, NULL) == FASTBIN_OK);
    for (int i = 0; i < N; i++) {
      CHECK(i % 7 == 0 ? values[i] != values[i] : same_bits(values[i], predict(model, scores[i])));
    }
    fastbin_model_free(model);
  }
}

static void test_refusals(void) {
  static const double falling[] = {-2, -1, 0, 2, 0.5, -0.375, 0, 1, 0}, repeated[] = {0, -1, 0, 0, 0.5, -0.375, 2, 1, 0};
  static const double curved[] = {-2, -1, 0.1, 0, 0.5, -0.375, 2, 1, 0}, curved_end[] = {-2, -1, 0, 0, 0.5, -0.375, 2, 1, 5e-324};
  static const double infinite[] = {-2, -1, 0, 0, 0.5, -0.375, INFINITY, 1, 0}, missing[] = {-2, NAN, 0, 0, 0.5, -0.375, 2, 1, 0};
  static const double large[] = {-2, -1, 0, 0, 1.1e100, -0.375, 2, 1, 0};
  static const double *const bad[] = {falling, repeated, curved, curved_end, infinite, missing, large};
  for (int i = 0; i < 7; i++) REFUSES(spline_spec(), knots = bad[i], FASTBIN_ERROR_MAP);
  REFUSES(spline_spec(), knots = NULL, FASTBIN_ERROR_ARGUMENT);
  REFUSES(spline_spec(), n_knots = -1, FASTBIN_ERROR_ARGUMENT);
  REFUSES(spline_spec(), n_knots = FASTBIN_MAX_KNOTS + 1, FASTBIN_ERROR_ARGUMENT);
  REFUSES(spline_spec(), n_knots = 1, FASTBIN_ERROR_MAP);
  REFUSES(spline_spec(), n_knots = 0, FASTBIN_ERROR_MAP);
  REFUSES(spline_spec(), n_knots = 2, FASTBIN_ERROR_MAP); /* the second bends, and must not as the last */
  REFUSES(spline_spec(), map = FASTBIN_MAP_QUADRATIC, FASTBIN_ERROR_MAP);
  REFUSES(spline_spec(), map_parameters[0] = 1.0, FASTBIN_ERROR_MAP);
  REFUSES(spline_spec(), n_steps = 1, FASTBIN_ERROR_ARGUMENT);
  REFUSES(spline_spec(), clip = 0.5, FASTBIN_ERROR_MAP);
  REFUSES(spline_spec(), clip = -1e-9, FASTBIN_ERROR_MAP);
  REFUSES(spline_spec(), clip = NAN, FASTBIN_ERROR_MAP);
  REFUSES(spline_spec(), score_max = 1.5, FASTBIN_ERROR_MAP);
  REFUSES(quadratic_spec(0, 1, 0, 0.1), score_min = -0.5, FASTBIN_ERROR_MAP);
  REFUSES(quadratic_spec(0, 1, 0, 0.1), map_parameters[3] = 1.0, FASTBIN_ERROR_MAP);
  REFUSES(quadratic_spec(0, 1, 0, 0.1), map_parameters[2] = INFINITY, FASTBIN_ERROR_MAP);
  REFUSES(quadratic_spec(0, 1, 0, 0.0), clip = 1.0, FASTBIN_ERROR_MAP);
  REFUSES(half_spec(), clip = 0.1, FASTBIN_ERROR_MAP); /* no map takes logarithms */
}

/* The map of a smooth model, before its bins were pulled back, stays with them. */
static void test_maps_as_evidence(void) {
  fastbin_model_spec spec = half_spec(), smooth = spline_spec(), seen;
  fastbin_model *model;
  spec.map = FASTBIN_MAP_SPLINE;
  spec.n_knots = smooth.n_knots;
  spec.knots = smooth.knots;
  spec.clip = 0.125;
  model = must_create(&spec);
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_model_describe(model, &seen) == FASTBIN_OK);
  CHECK(seen.clip == 0.125 && seen.n_knots == 3 && memcmp(seen.knots, smooth.knots, 9 * sizeof(double)) == 0);
  CHECK(predict(model, 0.1) == 0.25);
  fastbin_model_free(model);
}

int main(void) {
  test_quadratic();
  test_quadratic_at_the_ends();
  test_spline();
  test_spline_at_the_ends();
  test_extreme_knots();
  test_beta();
  test_batches();
  test_refusals();
  test_maps_as_evidence();
  return finish();
}
