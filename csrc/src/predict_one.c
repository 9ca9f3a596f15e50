/*
 * predict_one.c: one score.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include <math.h>

/* Whether a score is accepted; if the model clips, *score is moved to the nearest end of the range. */
fastbin_status fastbin_admit_score(const fastbin_model *model, double *score) {
  const score_index *ix = &model->index;
  if (in_range(ix, order_of(*score))) return FASTBIN_OK;
  if (is_nan(*score)) return FASTBIN_ERROR_SCORE_NAN;
  if (model->spec.out_of_range != FASTBIN_OUT_OF_RANGE_CLIP || !is_finite(*score)) return FASTBIN_ERROR_SCORE_RANGE;
  *score = is_less(*score, ix->check_min) ? ix->check_min : ix->check_max;
  return FASTBIN_OK;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Models that are not steps                                                                                     */
/* ------------------------------------------------------------------------------------------------------------- */

static double logistic(double x) {
  /* Where the exponential overflows (above the logarithm of DBL_MAX) or is lost beside 1; errno is not changed. NaN goes to 0: it
     comes of knots so near to each other that a processor which flushes to zero sees no distance. */
  if (!(x >= -709.78271289338397)) return 0.0;
  if (x > 40.0) return 1.0;
  return 1.0 / (1.0 + exp(-x));
}

/* slope * log(x), with 0 where the slope is 0, also at x = 0. */
static double sloped_log(double slope, double x) {
  uint64_t bits = bits_of(x);
  if (slope == 0.0) return 0.0;
  if (x != 0.0) return slope * log(x);
  /* A subnormal that the processor takes for zero is its bits times 2^-1074. */
  return slope * (bits == 0 || bits == SIGN_BIT ? -infinity() : log((double)bits) - 744.44007192138127);
}

/* p0 + z p1 + z^2 p2 for a z that may be infinite. */
static double quadratic(const double *p, double z) {
  double slope = p[2] == 0.0 ? p[1] : p[1] + z * p[2];
  return slope == 0.0 ? p[0] : p[0] + z * slope;
}

/* The line of this slope through (x, y), at a z other than x that may be infinite. */
static double line(double x, double y, double slope, double z) { return slope == 0.0 ? y : y + slope * (z - x); }

/*
 * The natural spline through knots of (position, value, second derivative), at any z but NaN. Positions, values and derivatives
 * are at most 1e100 in size, so no product below overflows; a slope may, but it is multiplied by what is not 0.
 */
static double spline(const double *knots, size_t n_knots, double z) {
  const double *left, *right;
  size_t low = 0, high = n_knots - 1;
  double width, a, b;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (z < knots[3 * middle]) {
      high = middle;
    } else {
      low = middle;
    }
  }
  left = knots + 3 * low;
  right = knots + 3 * high;
  width = right[0] - left[0];
  if (z < left[0]) return line(left[0], left[1], (right[1] - left[1]) / width - width * right[2] / 6.0, z);
  if (z > right[0]) return line(right[0], right[1], (right[1] - left[1]) / width + width * left[2] / 6.0, z);
  a = (right[0] - z) / width;
  b = (z - left[0]) / width;
  return a * left[1] + b * right[1] + ((a * a * a - a) * left[2] + (b * b * b - b) * right[2]) * (width * width) / 6.0;
}

static double clipped(double x, double clip) { return clip > 0.0 ? smaller(larger(x, clip), 1.0 - clip) : x; }

double fastbin_smooth_value(const fastbin_model *model, double score) {
  const fastbin_model_spec *spec = &model->spec;
  const double *p = spec->map_parameters;
  double chance, complement, z;
  if (spec->map == FASTBIN_MAP_LOGISTIC) return logistic(p[0] * score + p[1]);
  chance = clipped(score, spec->clip);
  complement = clipped(1.0 - score, spec->clip);
  if (spec->map == FASTBIN_MAP_BETA) return logistic(sloped_log(p[0], chance) - sloped_log(p[1], complement) + p[2]);
  z = sloped_log(1.0, chance) - sloped_log(1.0, complement);
  if (spec->map == FASTBIN_MAP_QUADRATIC) return logistic(quadratic(p, z));
  return logistic(spline(spec->knots, (size_t)spec->n_knots, z));
}

/* Between knots, clamped to their values: rounding may carry the straight line an ulp beyond them. */
double fastbin_linear_value(const fastbin_model *model, double score, uint32_t rank) {
  const double *knots = model->spec.edges;
  const double *values = model->spec.values;
  double left, right, width, unit, share, value;
  if (rank == 0) return values[0];
  if (rank == (uint32_t)model->spec.n_bins) return values[rank - 1];
  left = values[rank - 1];
  right = values[rank];
  /* In units in which no distance overflows, to infinity or in some directions to DBL_MAX, and none is subnormal, as those may be
     flushed to zero. */
  width = knots[rank] - knots[rank - 1];
  unit = width > 0x1p+1023 ? 0.5 : width < 0x1p-900 ? 0x1p+100 : 1.0;
  share = (unit * score - unit * knots[rank - 1]) / (unit * knots[rank] - unit * knots[rank - 1]);
  value = left + (right - left) * share;
  return left <= right ? smaller(value, right) : larger(value, right);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* The calls                                                                                                     */
/* ------------------------------------------------------------------------------------------------------------- */

static NEVER_INLINE double special_value(const fastbin_model *model, double score, uint64_t key) {
  const fastbin_model_spec *spec = &model->spec;
  const score_index *ix = &model->index;
  if (spec->kind == FASTBIN_SMOOTH) return fastbin_smooth_value(model, score);
  if (spec->kind == FASTBIN_LINEAR) return fastbin_linear_value(model, score, index_bin(ix, score, order_of(score), key));
  return randomised_value(spec->values[index_bin(ix, score, order_of(score), key)], spec->delta, key);
}

/* A score outside the range: refused, or scored as an end of it. */
static NEVER_INLINE fastbin_status value_outside(const fastbin_model *model, double score, uint64_t key, double *value) {
  fastbin_status status = fastbin_admit_score(model, &score);
  if (status == FASTBIN_OK) return fastbin_predict_one(model, score, key, value);
  *value = quiet_nan();
  return status;
}

fastbin_status fastbin_predict_one(const fastbin_model *model, double score, uint64_t key, double *value) {
  const score_index *ix = &model->index;
  int64_t order = order_of(score);
  if (!in_range(ix, order)) return value_outside(model, score, key, value);
  if (!model->index.is_plain) {
    *value = special_value(model, score, key);
    return FASTBIN_OK;
  }
  /* Copied as bits, which do not pass through a floating-point register. */
  memcpy(value, &ix->bin_values[index_bin(ix, score, order, key)], sizeof *value);
  return FASTBIN_OK;
}

fastbin_status fastbin_step_one(const fastbin_model *model, double score, uint64_t key, int32_t *step) {
  fastbin_status status = fastbin_admit_score(model, &score);
  if (model->spec.kind != FASTBIN_STEP) status = FASTBIN_ERROR_ARGUMENT;
  *step = status == FASTBIN_OK ? (int32_t)index_bin(&model->index, score, order_of(score), key) : -1;
  return status;
}

fastbin_status fastbin_assign_one(const fastbin_model *model, double score, uint64_t key, int32_t *bin) {
  fastbin_status status = fastbin_step_one(model, score, key, bin);
  if (status == FASTBIN_OK && model->bin_of_step) *bin = model->bin_of_step[*bin];
  return status;
}

int fastbin_needs_key(const fastbin_model *model, double score) {
  const score_index *ix = &model->index;
  uint64_t height;
  uint32_t rank;
  if (fastbin_admit_score(model, &score) != FASTBIN_OK) return 0;
  if (model->spec.delta > 0.0) return 1;
  if (!ix->tie_keys) return 0;
  height = height_of(ix, order_of(score));
  rank = rank_in_cell(ix, height, index_cell(ix, score), ix->window);
  return at_threshold(ix, height, rank) && bin_of_tie(ix, rank, 0) != bin_of_rank(ix, rank);
}

fastbin_status fastbin_decide_one(const fastbin_model *model, double score, int32_t *decision) {
  fastbin_status status = model->spec.decision_size ? fastbin_admit_score(model, &score) : FASTBIN_ERROR_ARGUMENT;
  *decision = status == FASTBIN_OK ? side_of(&model->spec, score) : 0;
  return status;
}
