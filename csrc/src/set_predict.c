/*
 * set_predict.c: rows scored by the models of a set.
 *
 * Rows that follow each other and have one model are scored by one call for this model.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "set.h"

/* The model that this number means, or NULL with the reason. */
static const fastbin_model *model_of(const fastbin_set *set, int32_t number, fastbin_status *status) {
  *status = FASTBIN_OK;
  if (number == -1 && set->spec.unknown == FASTBIN_UNKNOWN_POOL) number = set->spec.pool;
  if (number >= 0 && number < set->spec.n_models) return set->models[number];
  *status = number == -1 ? FASTBIN_ERROR_CELL : FASTBIN_ERROR_ARGUMENT;
  return NULL;
}

fastbin_status fastbin_set_predict_one(const fastbin_set *set, int32_t number, double score, uint64_t key, double *value) {
  fastbin_status status;
  const fastbin_model *model = model_of(set, number, &status);
  if (model) return fastbin_predict_one(model, score, key, value);
  *value = quiet_nan();
  return status;
}

/* The rows from `first` to `end`, as the caller describes rows. */
static fastbin_rows part_of(const fastbin_rows *rows, size_t first, size_t end) {
  fastbin_rows part = *rows;
  part.struct_size = sizeof part;
  part.scores = (const unsigned char *)rows->scores + (ptrdiff_t)first * rows->score_stride;
  part.n_rows = end - first;
  if (rows->keys) part.keys = rows->keys + first;
  part.first_row = rows->first_row + first;
  return part;
}

static fastbin_status check_batch(const fastbin_set *set, const int32_t *numbers, const fastbin_rows *rows, const void *out) {
  fastbin_status status;
  if (!set) return FASTBIN_ERROR_ARGUMENT;
  status = fastbin_check_rows(rows, out);
  return status == FASTBIN_OK && rows->n_rows > 0 && !numbers ? FASTBIN_ERROR_ARGUMENT : status;
}

/* Values or bins of all rows; the other is NULL. */
static fastbin_status score_runs(const fastbin_set *set, const int32_t *numbers, const fastbin_rows *rows, double *values,
                                 int32_t *bins, size_t *bad_row) {
  size_t end;
  for (size_t first = 0; first < rows->n_rows; first = end) {
    fastbin_status status;
    const fastbin_model *model = model_of(set, numbers[first], &status);
    size_t bad = 0;
    end = first + 1;
    if (model) {
      fastbin_rows run;
      while (end < rows->n_rows && numbers[end] == numbers[first]) end++;
      run = part_of(rows, first, end);
      status = values ? fastbin_predict(model, &run, values + first, &bad) : fastbin_assign(model, &run, bins + first, &bad);
    }
    if (status != FASTBIN_OK) {
      if (bad_row) *bad_row = first + bad;
      return status;
    }
    for (size_t i = first; bins && numbers[first] == -1 && i < end; i++) bins[i] = -1;
  }
  return FASTBIN_OK;
}

fastbin_status fastbin_set_predict_batch(const fastbin_set *set, const int32_t *models, const fastbin_rows *rows, double *values,
                                         size_t *bad_row) {
  fastbin_status status = check_batch(set, models, rows, values);
  return status == FASTBIN_OK ? score_runs(set, models, rows, values, NULL, bad_row) : status;
}

fastbin_status fastbin_set_assign_batch(const fastbin_set *set, const int32_t *models, const fastbin_rows *rows, int32_t *bins,
                                        size_t *bad_row) {
  fastbin_status status = check_batch(set, models, rows, bins);
  if (status != FASTBIN_OK) return status;
  return set->has_bins ? score_runs(set, models, rows, NULL, bins, bad_row) : FASTBIN_ERROR_ARGUMENT;
}
