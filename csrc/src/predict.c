/*
 * predict.c: the scoring calls.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

static double missing(void) { return double_of(UINT64_C(0x7FF8000000000000)); }

static fastbin_status check_score(const fastbin_model *model, double score) {
  if (score >= model->check_min && score <= model->check_max) return FASTBIN_OK;
  return is_nan(score) ? FASTBIN_ERROR_SCORE_NAN : FASTBIN_ERROR_SCORE_RANGE;
}

static double logistic(double exponent) {
  /* Beyond these the exponential overflows or vanishes beside 1; leaving it out keeps errno untouched. */
  if (exponent > 709.0) return 0.0;
  if (exponent < -745.0) return 1.0;
  return 1.0 / (1.0 + exp(exponent));
}

static double smooth_value(const fastbin_model_spec *spec, double score) {
  const double *p = spec->map_parameters;
  double rising, falling;
  if (spec->map == FASTBIN_MAP_LOGISTIC) return logistic(-(p[0] * score + p[1]));
  rising = p[0] == 0.0 ? 0.0 : p[0] * (score == 0.0 ? -INFINITY : log(score));
  falling = p[1] == 0.0 ? 0.0 : p[1] * (score == 1.0 ? -INFINITY : log(1.0 - score));
  return logistic(-(rising - falling + p[2]));
}

static double linear_value(const fastbin_model_spec *spec, double score, int32_t rank) {
  double x0, x1, v0, v1, share, value;
  if (rank == 0) return spec->values[0];
  if (rank == spec->n_bins) return spec->values[rank - 1];
  x0 = spec->edges[rank - 1];
  x1 = spec->edges[rank];
  v0 = spec->values[rank - 1];
  v1 = spec->values[rank];
  share = is_finite(x1 - x0) ? (score - x0) / (x1 - x0) : (0.5 * score - 0.5 * x0) / (0.5 * x1 - 0.5 * x0);
  value = v0 + (v1 - v0) * share;
  if (v0 <= v1) return value > v1 ? v1 : value;
  return value < v1 ? v1 : value;
}

static double value_of(const fastbin_model *model, double score, uint64_t key) {
  const fastbin_model_spec *spec = &model->spec;
  double value;
  if (spec->kind == FASTBIN_SMOOTH) return smooth_value(spec, score);
  if (spec->kind == FASTBIN_LINEAR) return linear_value(spec, score, fastbin_bin_of(model, score, key));
  value = spec->values[fastbin_bin_of(model, score, key)];
  return spec->delta > 0.0 ? randomised_value(value, spec->delta, key) : value;
}

fastbin_status fastbin_predict_one(const fastbin_model *model, double score, uint64_t key, double *value) {
  fastbin_status status = check_score(model, score);
  *value = status == FASTBIN_OK ? value_of(model, score, key) : missing();
  return status;
}

fastbin_status fastbin_assign_one(const fastbin_model *model, double score, uint64_t key, int32_t *bin) {
  fastbin_status status = model->spec.kind == FASTBIN_STEP ? check_score(model, score) : FASTBIN_ERROR_ARGUMENT;
  *bin = status == FASTBIN_OK ? fastbin_bin_of(model, score, key) : -1;
  return status;
}

int fastbin_needs_key(const fastbin_model *model, double score) {
  if (check_score(model, score) != FASTBIN_OK) return 0;
  if (model->spec.delta > 0.0) return 1;
  return model->spec.kind == FASTBIN_STEP &&
         fastbin_bin_of(model, score, 0) != fastbin_bin_of(model, score, UINT64_MAX - 1);
}

static fastbin_status check_rows(const fastbin_rows *rows) {
  if (!rows) return FASTBIN_ERROR_ARGUMENT;
  if (!fastbin_struct_understood(rows, rows->struct_size, sizeof *rows)) return FASTBIN_ERROR_STRUCT_SIZE;
  if (rows->score_type != FASTBIN_FLOAT64 && rows->score_type != FASTBIN_FLOAT32) return FASTBIN_ERROR_ARGUMENT;
  if (rows->nan_policy != FASTBIN_NAN_ERROR && rows->nan_policy != FASTBIN_NAN_PROPAGATE) return FASTBIN_ERROR_ARGUMENT;
  if (rows->n_rows > 0 && !rows->scores) return FASTBIN_ERROR_ARGUMENT;
  return FASTBIN_OK;
}

static double score_at(const fastbin_rows *rows, size_t row) {
  const unsigned char *at = (const unsigned char *)rows->scores + (ptrdiff_t)row * rows->score_stride;
  if (rows->score_type == FASTBIN_FLOAT32) {
    float score;
    memcpy(&score, at, sizeof score);
    return (double)score;
  } else {
    double score;
    memcpy(&score, at, sizeof score);
    return score;
  }
}

/* What a row comes to: its score and key, whether it is a NaN to be passed on, or a status. */
static fastbin_status row_at(const fastbin_model *model, const fastbin_rows *rows, uint64_t base, size_t row, double *score,
                             uint64_t *key, int *is_missing) {
  *score = score_at(rows, row);
  *key = rows->keys ? rows->keys[row] : row_key(base, rows->first_row + row);
  *is_missing = rows->nan_policy == FASTBIN_NAN_PROPAGATE && is_nan(*score);
  return *is_missing ? FASTBIN_OK : check_score(model, *score);
}

fastbin_status fastbin_predict(const fastbin_model *model, const fastbin_rows *rows, double *values, size_t *bad_row) {
  fastbin_status status = check_rows(rows);
  uint64_t base, key;
  double score;
  int is_missing;
  if (status != FASTBIN_OK) return status;
  if (rows->n_rows > 0 && !values) return FASTBIN_ERROR_ARGUMENT;
  base = stream_base(rows->seed, STREAM_PREDICT);
  for (size_t row = 0; row < rows->n_rows; row++) {
    status = row_at(model, rows, base, row, &score, &key, &is_missing);
    if (status != FASTBIN_OK) {
      if (bad_row) *bad_row = row;
      return status;
    }
    values[row] = is_missing ? missing() : value_of(model, score, key);
  }
  return FASTBIN_OK;
}

fastbin_status fastbin_assign(const fastbin_model *model, const fastbin_rows *rows, int32_t *bins, size_t *bad_row) {
  fastbin_status status = check_rows(rows);
  uint64_t base, key;
  double score;
  int is_missing;
  if (status != FASTBIN_OK) return status;
  if (model->spec.kind != FASTBIN_STEP) return FASTBIN_ERROR_ARGUMENT;
  if (rows->n_rows > 0 && !bins) return FASTBIN_ERROR_ARGUMENT;
  base = stream_base(rows->seed, STREAM_PREDICT);
  for (size_t row = 0; row < rows->n_rows; row++) {
    status = row_at(model, rows, base, row, &score, &key, &is_missing);
    if (status != FASTBIN_OK) {
      if (bad_row) *bad_row = row;
      return status;
    }
    bins[row] = is_missing ? -1 : fastbin_bin_of(model, score, key);
  }
  return FASTBIN_OK;
}

fastbin_status fastbin_lookup(const fastbin_model *model, const fastbin_rows *rows, const double *table, size_t width,
                              double *out, size_t *bad_row) {
  fastbin_status status = check_rows(rows);
  uint64_t base, key;
  double score;
  int is_missing;
  if (status != FASTBIN_OK) return status;
  if (model->spec.kind != FASTBIN_STEP || !table || width == 0) return FASTBIN_ERROR_ARGUMENT;
  if (rows->n_rows > 0 && !out) return FASTBIN_ERROR_ARGUMENT;
  base = stream_base(rows->seed, STREAM_PREDICT);
  for (size_t row = 0; row < rows->n_rows; row++) {
    status = row_at(model, rows, base, row, &score, &key, &is_missing);
    if (status != FASTBIN_OK) {
      if (bad_row) *bad_row = row;
      return status;
    }
    for (size_t c = 0; c < width; c++) {
      out[row * width + c] =
          is_missing ? missing() : table[(size_t)fastbin_bin_of(model, score, key) * width + c];
    }
  }
  return FASTBIN_OK;
}
