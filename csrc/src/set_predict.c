/*
 * set_predict.c: rows scored by the models of a set.
 *
 * Rows that follow each other and have one model are a run, and are scored by one call for this model, or one by one if they are
 * few. Models lie scattered in memory: those of the next runs are fetched while a run is scored, first the struct, then, where that
 * has arrived, the tables to which it points. For 10,000 models of 10 bins, in random order or in runs of eight rows, this saves a
 * third of the time.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define VECTORISED_SOURCE
#include "set.h"

/* Runs of more rows than this are scored by one call. */
#define FEW_ROWS 5

/* How many runs ahead the tables of a model are fetched; its struct, twice as many. A power of two. */
#define AHEAD 8

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(place) __builtin_prefetch(place)
#else
#define PREFETCH(place) ((void)(place))
#endif

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

static fastbin_status check_batch(const fastbin_set *set, const int32_t *numbers, const fastbin_rows *rows, const void *out) {
  fastbin_status status;
  if (!set) return FASTBIN_ERROR_ARGUMENT;
  status = fastbin_check_rows(rows, out);
  return status == FASTBIN_OK && rows->n_rows > 0 && !numbers ? FASTBIN_ERROR_ARGUMENT : status;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Runs                                                                                                          */
/* ------------------------------------------------------------------------------------------------------------- */

/* One call: its rows, where its results go, and the runs that begin next. */
typedef struct batch {
  const fastbin_set *set;
  const int32_t *numbers;
  const fastbin_rows *rows;
  double *values; /* or NULL for bins */
  int32_t *bins;
  uint64_t key_base;
  size_t starts[2 * AHEAD]; /* of the run k at k % (2 * AHEAD), for those that come next; none begin at the number of rows */
} batch;

/* Sixteen rows at a time, as long as they are alike. */
static size_t end_of_run(const batch *b, size_t first) {
  const int32_t *numbers = b->numbers;
  size_t n_rows = b->rows->n_rows, end = first;
  if (first == n_rows) return n_rows;
  while (n_rows - end >= 16) {
    int32_t unlike = 0;
    for (size_t k = 0; k < 16; k++) unlike |= numbers[end + k] ^ numbers[first];
    if (unlike) break;
    end += 16;
  }
  while (end < n_rows && numbers[end] == numbers[first]) end++;
  return end;
}

/* The model of the run that begins here, if there is one. */
static const fastbin_model *model_at(const batch *b, size_t start) {
  fastbin_status status;
  return start < b->rows->n_rows ? model_of(b->set, b->numbers[start], &status) : NULL;
}

/* What scoring reads of it, of one row a little less. */
static void fetch_struct(const fastbin_model *model) {
  const char *start = (const char *)model;
  if (!model) return;
  PREFETCH(start);
  PREFETCH(start + 64);
  PREFETCH(start + 128);
}

/* The beginning of long tables: where the rows will look, nobody knows. */
static void fetch_tables(const fastbin_model *model, int is_few) {
  if (!model) return;
  for (int at = 0; at < 16; at += 8) {
    /* Null for a smooth map. */
    if (model->index.bin_values) PREFETCH(model->index.bin_values + at);
    if (is_few || !model->index.search_wide) PREFETCH(model->index.first + 4 * at);
    PREFETCH(model->index.heights + at);
  }
}

/* Finds where the run begins that is 2 * AHEAD after run k, whose start is forgotten, and fetches for runs on the way to it. */
static void look_ahead(batch *b, size_t k) {
  size_t last = b->starts[(k + 2 * AHEAD - 1) % (2 * AHEAD)];
  size_t halfway = b->starts[(k + AHEAD) % (2 * AHEAD)], after = b->starts[(k + AHEAD + 1) % (2 * AHEAD)];
  fetch_struct(model_at(b, b->starts[k % (2 * AHEAD)] = end_of_run(b, last)));
  fetch_tables(model_at(b, halfway), after - halfway <= FEW_ROWS);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Rows of one run                                                                                               */
/* ------------------------------------------------------------------------------------------------------------- */

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

static fastbin_status score_row(const batch *b, const fastbin_model *model, size_t row) {
  const fastbin_rows *rows = b->rows;
  double score = score_at(rows, row);
  uint64_t key = 0;
  fastbin_status status;
  if (rows->keys) {
    key = rows->keys[row];
  } else if (model->index.tie_keys || !model->index.is_plain) {
    key = row_key(b->key_base, rows->first_row + row);
  }
  status = b->values ? fastbin_predict_one(model, score, key, &b->values[row]) : fastbin_assign_one(model, score, key, &b->bins[row]);
  /* What a refused score leaves is what a missing one shall have. */
  return status == FASTBIN_ERROR_SCORE_NAN && rows->nan_policy == FASTBIN_NAN_PROPAGATE ? FASTBIN_OK : status;
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

/* Scores the rows from `first` to `end`; *bad_row is counted from the first row of all. */
static fastbin_status score_run(const batch *b, const fastbin_model *model, size_t first, size_t end, size_t *bad_row) {
  fastbin_status status = FASTBIN_OK;
  if (end - first > FEW_ROWS) {
    fastbin_rows run = part_of(b->rows, first, end);
    size_t bad = 0;
    status = b->values ? fastbin_predict(model, &run, b->values + first, &bad) : fastbin_assign(model, &run, b->bins + first, &bad);
    *bad_row = first + bad;
    return status;
  }
  for (*bad_row = first; *bad_row < end; (*bad_row)++) {
    status = score_row(b, model, *bad_row);
    if (status != FASTBIN_OK) break;
  }
  return status;
}

static fastbin_status score_runs(batch *b, size_t *bad_row) {
  size_t first = 0;
  for (size_t k = 0; k < 2 * AHEAD; k++) b->starts[k] = 0;
  for (size_t k = 1; k < 2 * AHEAD; k++) look_ahead(b, k);
  for (size_t k = 0; first < b->rows->n_rows; k++) {
    size_t end = b->starts[(k + 1) % (2 * AHEAD)], bad = first;
    fastbin_status status;
    const fastbin_model *model = model_of(b->set, b->numbers[first], &status);
    look_ahead(b, k);
    if (model) status = score_run(b, model, first, end, &bad);
    if (status != FASTBIN_OK) {
      if (bad_row) *bad_row = bad;
      return status;
    }
    for (size_t i = first; b->bins && b->numbers[first] == -1 && i < end; i++) b->bins[i] = -1;
    first = end;
  }
  return FASTBIN_OK;
}

fastbin_status fastbin_set_predict_batch(const fastbin_set *set, const int32_t *models, const fastbin_rows *rows, double *values,
                                         size_t *bad_row) {
  fastbin_status status = check_batch(set, models, rows, values);
  batch b = {set, models, rows, values, NULL, 0, {0}};
  if (status != FASTBIN_OK) return status;
  b.key_base = stream_base(rows->seed, STREAM_PREDICT);
  return score_runs(&b, bad_row);
}

fastbin_status fastbin_set_assign_batch(const fastbin_set *set, const int32_t *models, const fastbin_rows *rows, int32_t *bins,
                                        size_t *bad_row) {
  fastbin_status status = check_batch(set, models, rows, bins);
  batch b = {set, models, rows, NULL, bins, 0, {0}};
  if (status != FASTBIN_OK) return status;
  if (!set->has_bins) return FASTBIN_ERROR_ARGUMENT;
  b.key_base = stream_base(rows->seed, STREAM_PREDICT);
  return score_runs(&b, bad_row);
}
