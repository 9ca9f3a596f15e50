/*
 * set_predict.c: rows scored by the models of a set.
 *
 * Where the models of rows change often, the memory serves many rows together: values of small models (set_small.c) are looked up
 * while those of later rows are on their way; other rows are scored in blocks and stages, five to ten times as fast as one row
 * after the other, where the models do not fit into the caches. Else, rows that follow each other and have one model are a run,
 * and are scored by one call for this model, or one by one if they are few.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define VECTORISED_SOURCE
#include "set.h"

/* Runs of more rows than this are scored by one call. */
#define FEW_ROWS 5

/* So many rows of models in any order are scored together. */
#define BLOCK 64

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

/* One call: its rows, and where its results go. */
typedef struct batch {
  const fastbin_set *set;
  const int32_t *numbers;
  const fastbin_rows *rows;
  double *values; /* or NULL for bins */
  int32_t *bins;
  uint64_t key_base;
} batch;

/* Sixteen rows at a time, as long as they are alike. */
static size_t end_of_run(const batch *b, size_t first) {
  const int32_t *numbers = b->numbers;
  size_t n_rows = b->rows->n_rows, end = first;
  while (n_rows - end >= 16) {
    int32_t unlike = 0;
    for (size_t k = 0; k < 16; k++) unlike |= numbers[end + k] ^ numbers[first];
    if (unlike) break;
    end += 16;
  }
  while (end < n_rows && numbers[end] == numbers[first]) end++;
  return end;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Rows of one run                                                                                               */
/* ------------------------------------------------------------------------------------------------------------- */

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

/* A row that is scored by its model alone. */
static fastbin_status score_alone(const batch *b, size_t row, size_t *bad_row) {
  fastbin_status status;
  const fastbin_model *model = model_of(b->set, b->numbers[row], &status);
  *bad_row = row;
  if (model) status = score_row(b, model, row);
  if (status == FASTBIN_OK && b->bins && b->numbers[row] == -1) b->bins[row] = -1;
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

/* Scores the rows from `first` to `end`, which have one model; *bad_row is counted from the first row of all. */
static fastbin_status score_run(const batch *b, size_t first, size_t end, size_t *bad_row) {
  fastbin_status status;
  const fastbin_model *model = model_of(b->set, b->numbers[first], &status);
  *bad_row = first;
  if (!model) return status;
  if (end - first > FEW_ROWS) {
    fastbin_rows run = part_of(b->rows, first, end);
    size_t bad = 0;
    status = b->values ? fastbin_predict(model, &run, b->values + first, &bad) : fastbin_assign(model, &run, b->bins + first, &bad);
    *bad_row = first + bad;
  } else {
    for (size_t row = first; row < end && status == FASTBIN_OK; row++) {
      *bad_row = row;
      status = score_row(b, model, row);
    }
  }
  for (size_t i = first; status == FASTBIN_OK && b->bins && b->numbers[first] == -1 && i < end; i++) b->bins[i] = -1;
  return status;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Rows of models in any order                                                                                   */
/* ------------------------------------------------------------------------------------------------------------- */

/* How many rows ahead of its turn a row asks the memory for its small model. From 8 to 32 are alike. */
#define ROWS_AHEAD 16

static void fetch_small(const small_model *small) {
  const char *start = (const char *)small;
  PREFETCH(start);
  PREFETCH(start + CACHE_LINE);
  PREFETCH(start + 2 * CACHE_LINE);
}

/* The rank of an order among eleven thresholds: 4 + 4 + 2 + 1, without branches. */
static uint32_t rank_among(const int64_t *thresholds, int64_t order) {
  uint32_t rank = 4 * (uint32_t)(thresholds[3] <= order);
  rank += 4 * (uint32_t)(thresholds[rank + 3] <= order);
  rank += 2 * (uint32_t)(thresholds[rank + 1] <= order);
  return rank + (uint32_t)(thresholds[rank] <= order);
}

/* The values of rows whose models change often, and are mostly small. */
static fastbin_status score_small(const batch *b, size_t first, size_t end, size_t *bad_row) {
  const small_model *models = b->set->small_models;
  const int32_t *numbers = b->numbers;
  const fastbin_rows rows = *b->rows;
  double *values = b->values;
  uint32_t n_models = (uint32_t)b->set->spec.n_models;
  for (size_t row = first; row < end; row++) {
    uint32_t number = (uint32_t)numbers[row];
    uint32_t next = (uint32_t)numbers[row + ROWS_AHEAD < rows.n_rows ? row + ROWS_AHEAD : row];
    fetch_small(&models[next < n_models ? next : 0]);
    if (number < n_models) {
      const small_model *small = &models[number];
      int64_t order = order_of(score_at(&rows, row));
      if ((uint64_t)order - (uint64_t)small->least <= small->span) {
        values[row] = small->values[rank_among(small->thresholds, order)];
        continue;
      }
    }
    fastbin_status status = score_alone(b, row, bad_row);
    if (status != FASTBIN_OK) return status;
  }
  return FASTBIN_OK;
}

/* What scoring one row reads of a model: two cache lines (index.h), which may lie across three. */
static void fetch_struct(const fastbin_model *model) {
  const char *start = (const char *)model;
  if (!model) return;
  PREFETCH(start);
  PREFETCH(start + 64);
  PREFETCH(start + 127);
}

/*
 * At most BLOCK rows whose models change often. Each row reads four places that lie far apart: the struct of its model, a cell, a
 * threshold, a value. Each place is known only once the one before has arrived. So all rows ask for the first place, then all for
 * the second, and so on: the memory serves them together.
 */
static fastbin_status score_block(const batch *b, size_t first, size_t end, size_t *bad_row) {
  const fastbin_model *models[BLOCK]; /* NULL for rows that are scored by themselves */
  uint32_t ranks[BLOCK];              /* at first the cells */
  uint64_t heights[BLOCK];
  size_t n = end - first;
  fastbin_status status = FASTBIN_OK;
  for (size_t i = 0; i < n; i++) {
    models[i] = model_of(b->set, b->numbers[first + i], &status);
    fetch_struct(models[i]);
  }
  for (size_t i = 0; i < n; i++) {
    const fastbin_model *model = models[i];
    double score = score_at(b->rows, first + i);
    int64_t order = order_of(score);
    if (!model || !model->index.is_plain || !in_range(&model->index, order)) {
      models[i] = NULL;
      continue;
    }
    heights[i] = height_of(&model->index, order);
    ranks[i] = index_cell(&model->index, score);
    PREFETCH(model->index.first + ranks[i]);
  }
  for (size_t i = 0; i < n; i++) {
    if (models[i]) PREFETCH(models[i]->index.heights + models[i]->index.first[ranks[i]]);
  }
  for (size_t i = 0; i < n; i++) {
    const score_index *ix;
    if (!models[i]) continue;
    ix = &models[i]->index;
    ranks[i] = rank_in_cell(ix, heights[i], ranks[i], ix->window);
    if (ix->tie_keys && at_threshold(ix, heights[i], ranks[i])) {
      models[i] = NULL;
      continue;
    }
    ranks[i] = bin_of_rank(ix, ranks[i]);
    if (b->values) PREFETCH(ix->bin_values + ranks[i]);
  }
  for (size_t i = 0; i < n; i++) {
    const fastbin_model *model = models[i];
    size_t row = first + i;
    if (model && b->values) {
      memcpy(&b->values[row], &model->index.bin_values[ranks[i]], sizeof *b->values);
    } else {
      status = score_alone(b, row, bad_row);
      if (status != FASTBIN_OK) return status;
    }
  }
  return FASTBIN_OK;
}

/* Whether the models of these rows change so often that runs are not worth their while. */
static int is_mixed(const int32_t *numbers, size_t first, size_t end) {
  size_t changes = 0;
  for (size_t i = first + 1; i < end; i++) changes += numbers[i] != numbers[i - 1];
  return changes > (end - first) / 16;
}

static fastbin_status score_batch(const batch *b, size_t *bad_row) {
  size_t n_rows = b->rows->n_rows, bad = 0;
  fastbin_status status = FASTBIN_OK;
  for (size_t first = 0, end; first < n_rows && status == FASTBIN_OK; first = end) {
    end = n_rows - first < BLOCK ? n_rows : first + BLOCK;
    if (is_mixed(b->numbers, first, end)) {
      status = b->values && b->set->small_models ? score_small(b, first, end, &bad) : score_block(b, first, end, &bad);
    } else {
      end = end_of_run(b, first);
      status = score_run(b, first, end, &bad);
    }
  }
  if (status != FASTBIN_OK && bad_row) *bad_row = bad;
  return status;
}

fastbin_status fastbin_set_predict_batch(const fastbin_set *set, const int32_t *models, const fastbin_rows *rows, double *values,
                                         size_t *bad_row) {
  fastbin_status status = check_batch(set, models, rows, values);
  batch b = {set, models, rows, values, NULL, 0};
  if (status != FASTBIN_OK) return status;
  b.key_base = stream_base(rows->seed, STREAM_PREDICT);
  return score_batch(&b, bad_row);
}

fastbin_status fastbin_set_assign_batch(const fastbin_set *set, const int32_t *models, const fastbin_rows *rows, int32_t *bins,
                                        size_t *bad_row) {
  fastbin_status status = check_batch(set, models, rows, bins);
  batch b = {set, models, rows, NULL, bins, 0};
  if (status != FASTBIN_OK) return status;
  if (!set->has_bins) return FASTBIN_ERROR_ARGUMENT;
  b.key_base = stream_base(rows->seed, STREAM_PREDICT);
  return score_batch(&b, bad_row);
}
