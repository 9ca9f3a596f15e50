/*
 * predict_batch.c: many scores.
 *
 * Rows are taken in blocks that stay in the first-level cache. Per block: convert the scores to contiguous doubles (usually
 * they are), find their cells and check them in one vectorised pass (index_cells.c), then search and look up in a second.
 *
 * The second pass detects ties and does not handle them: a score equal to an edge bit for bit is rare unless scores are
 * coarse. A chunk of rows with ties is searched again with keys; the following chunks are searched with keys at once, until
 * one has no ties.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#define BLOCK 512
#define CHUNK 64

/* Below this many rows, filling the registers of a wide search costs more than it saves. */
#define WORTH_LOADING 48

typedef struct batch {
  const fastbin_model *model;
  const fastbin_rows *rows;
  uint64_t key_base;
  int watch_ties;       /* some edge splits ties by key */
  int expect_ties;      /* the last chunk had some */
  /* The current block. */
  size_t start;         /* its first row */
  size_t n;
  const double *scores; /* the caller's memory, or the buffer */
  int has_missing;
  const void *heights;  /* of the scores: their own bits, or height_buffer */
  uint32_t cells[BLOCK];
  int32_t bins[BLOCK];
  double buffer[BLOCK];
  uint64_t height_buffer[BLOCK];
} batch;

/* ------------------------------------------------------------------------------------------------------------- */
/* Rows in                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

fastbin_status fastbin_check_rows(const fastbin_rows *rows, const void *out) {
  if (!rows) return FASTBIN_ERROR_ARGUMENT;
  if (!fastbin_struct_understood(rows, rows->struct_size, sizeof *rows, sizeof *rows)) return FASTBIN_ERROR_STRUCT_SIZE;
  if (rows->score_type != FASTBIN_FLOAT64 && rows->score_type != FASTBIN_FLOAT32) return FASTBIN_ERROR_ARGUMENT;
  if (rows->nan_policy != FASTBIN_NAN_ERROR && rows->nan_policy != FASTBIN_NAN_PROPAGATE) return FASTBIN_ERROR_ARGUMENT;
  return rows->n_rows > 0 && (!rows->scores || !out) ? FASTBIN_ERROR_ARGUMENT : FASTBIN_OK;
}

static fastbin_status begin(batch *b, const fastbin_model *model, const fastbin_rows *rows, const void *out) {
  fastbin_status status = model ? fastbin_check_rows(rows, out) : FASTBIN_ERROR_ARGUMENT;
  if (status != FASTBIN_OK) return status;
  b->model = model;
  b->rows = rows;
  b->key_base = stream_base(rows->seed, STREAM_PREDICT);
  b->watch_ties = model->index.tie_keys != NULL;
  b->expect_ties = 0;
  return FASTBIN_OK;
}

static void gather_float32(double *to, const unsigned char *from, ptrdiff_t stride, size_t n) {
  for (size_t i = 0; i < n; i++) {
    float score;
    memcpy(&score, from + (ptrdiff_t)i * stride, sizeof score);
    to[i] = (double)score;
  }
}

static void gather_float64(double *to, const unsigned char *from, ptrdiff_t stride, size_t n) {
  for (size_t i = 0; i < n; i++) memcpy(&to[i], from + (ptrdiff_t)i * stride, sizeof to[i]);
}

/* The stride is a constant in the contiguous cases, so that they vectorise. */
static void gather(double *to, const fastbin_rows *rows, size_t start, size_t n) {
  const unsigned char *from = (const unsigned char *)rows->scores + (ptrdiff_t)start * rows->score_stride;
  if (rows->score_type == FASTBIN_FLOAT32) {
    if (rows->score_stride == (ptrdiff_t)sizeof(float)) {
      gather_float32(to, from, (ptrdiff_t)sizeof(float), n);
    } else {
      gather_float32(to, from, rows->score_stride, n);
    }
  } else if (rows->score_stride == (ptrdiff_t)sizeof(double)) {
    memcpy(to, from, n * sizeof *to);
  } else {
    gather_float64(to, from, rows->score_stride, n);
  }
}

/* Row by row, what the pass has reported: a score that is refused, clipped or missing, or a -0.0, which becomes 0.0. A NaN becomes
   the one whose height no index has: UINT64_MAX would take the search beyond the last threshold. */
static fastbin_status look_closer(batch *b, size_t *bad_row) {
  for (size_t i = 0; i < b->n; i++) {
    double score = b->scores[i];
    fastbin_status status = fastbin_admit_score(b->model, &score);
    if (status == FASTBIN_ERROR_SCORE_NAN && b->rows->nan_policy == FASTBIN_NAN_PROPAGATE) {
      b->has_missing = 1;
    } else if (status != FASTBIN_OK) {
      if (bad_row) *bad_row = b->start + i;
      return status;
    }
    b->buffer[i] = status == FASTBIN_OK ? without_negative_zero(score) : quiet_nan();
  }
  b->scores = b->buffer;
  return FASTBIN_OK;
}

/* Takes the block that begins at this row. The caller's scores are read in place unless the output overwrites them. */
static void take_block(batch *b, size_t start, const void *out) {
  const fastbin_rows *rows = b->rows;
  int as_they_lie = rows->score_type == FASTBIN_FLOAT64 && rows->score_stride == (ptrdiff_t)sizeof(double) &&
                    (uintptr_t)rows->scores % sizeof(double) == 0 && rows->scores != out;
  b->start = start;
  b->n = rows->n_rows - start < BLOCK ? rows->n_rows - start : BLOCK;
  b->has_missing = 0;
  b->scores = b->buffer;
  if (as_they_lie) {
    b->scores = (const double *)rows->scores + start;
  } else {
    gather(b->buffer, rows, start, b->n);
  }
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Search and look up                                                                                            */
/* ------------------------------------------------------------------------------------------------------------- */

/* Rows first ... end - 1 of the block. So few that one tie costs little, and so many that the loop around them costs little. */
typedef struct chunk {
  size_t first, end;
} chunk;

static chunk chunk_at(const batch *b, size_t first) {
  chunk c = {first, first + CHUNK < b->n ? first + CHUNK : b->n};
  return c;
}

static ALWAYS_INLINE uint64_t height_at(const batch *b, size_t i) {
  uint64_t height;
  memcpy(&height, (const char *)b->heights + i * sizeof height, sizeof height);
  return height;
}

/*
 * Values or bins of a chunk whose scores equal no edge that splits ties. Returns whether some do after all; the
 * output for those is then wrong. `window` is the index's, and `watch` 0 where no edge splits ties; both are constants
 * where it matters. With a window of one, only the compared threshold can be equal, as any other lies in a lower
 * cell.
 */
static ALWAYS_INLINE int search_chunk(const batch *b, chunk rows, uint32_t window, int watch, double *values, int32_t *bins) {
  const score_index *ix = &b->model->index;
  const uint64_t *thresholds = ix->heights;
  int ties = 0;
  for (size_t i = rows.first; i < rows.end; i++) {
    uint64_t height = height_at(b, i);
    uint32_t rank;
    if (window == 1) {
      uint64_t threshold;
      rank = ix->first[b->cells[i]];
      threshold = thresholds[rank];
      if (watch) ties |= threshold == height;
      rank += threshold <= height;
    } else {
      rank = rank_in_cell(ix, height, b->cells[i], window);
      if (watch) ties |= at_threshold(ix, height, rank);
    }
    if (values) values[i] = ix->values[rank];
    if (bins) bins[i] = (int32_t)bin_of_rank(ix, rank);
  }
  return ties;
}

/* The rank of a score in its cell, and whether it equals the threshold below that rank: 1 or 0. */
static ALWAYS_INLINE uint32_t rank_and_tie(const score_index *ix, uint64_t height, uint32_t cell, uint32_t window, uint64_t *tie) {
  uint32_t rank;
  if (window == 1) {
    uint64_t threshold;
    rank = ix->first[cell];
    threshold = ix->heights[rank];
    *tie = threshold == height;
    return rank + (threshold <= height);
  }
  rank = rank_in_cell(ix, height, cell, window);
  *tie = (uint64_t)at_threshold(ix, height, rank);
  return rank;
}

/*
 * The same for scores that may equal edges, with their keys (of the chunk's first row on). Returns whether some did. `width`
 * is the index's run_width.
 */
static ALWAYS_INLINE int search_chunk_with_keys(const batch *b, chunk rows, uint32_t window, uint32_t width,
                                                const uint64_t *keys, double *values, int32_t *bins) {
  const score_index *ix = &b->model->index;
  uint64_t tie, ties = 0;
  for (size_t i = rows.first; i < rows.end; i++) {
    uint32_t rank = rank_and_tie(ix, height_at(b, i), b->cells[i], window, &tie);
    uint64_t key = keys[i - rows.first];
    uint32_t bin;
    if (width > 0) {
      bin = bin_among_few(ix, rank, key | (tie - 1), width);
    } else {
      bin = tie ? bin_among_many(ix, rank, key) : bin_of_rank(ix, rank);
    }
    ties |= tie;
    if (values) values[i] = b->model->spec.values[bin];
    if (bins) bins[i] = (int32_t)bin;
  }
  return ties != 0;
}

static int search_plainly(const batch *b, chunk rows, double *values, int32_t *bins) {
  uint32_t window = b->model->index.window;
  if (values && b->watch_ties) {
    return window == 1 ? search_chunk(b, rows, 1, 1, values, NULL) : search_chunk(b, rows, window, 1, values, NULL);
  }
  if (values) {
    return window == 1 ? search_chunk(b, rows, 1, 0, values, NULL) : search_chunk(b, rows, window, 0, values, NULL);
  }
  return window == 1 ? search_chunk(b, rows, 1, b->watch_ties, NULL, bins)
                     : search_chunk(b, rows, window, b->watch_ties, NULL, bins);
}

static const uint64_t *keys_of(const batch *b, chunk rows, uint64_t *own_keys) {
  if (b->rows->keys) return b->rows->keys + b->start + rows.first;
  b->model->index.make_keys(b->key_base, b->rows->first_row + b->start + rows.first, rows.end - rows.first, own_keys);
  return own_keys;
}

static int search_with_keys(const batch *b, chunk rows, double *values, int32_t *bins) {
  const score_index *ix = &b->model->index;
  uint64_t own_keys[CHUNK];
  const uint64_t *keys = keys_of(b, rows, own_keys);
  if (!values) return search_chunk_with_keys(b, rows, ix->window, ix->run_width, keys, NULL, bins);
  if (ix->window == 1 && ix->run_width == 1) return search_chunk_with_keys(b, rows, 1, 1, keys, values, NULL);
  if (ix->window == 1 && ix->run_width == 2) return search_chunk_with_keys(b, rows, 1, 2, keys, values, NULL);
  return search_chunk_with_keys(b, rows, ix->window, ix->run_width, keys, values, NULL);
}

/* Values or bins of the block; the other is NULL. A step model's values are those of its bins. */
static fastbin_status search_block(batch *b, double *values, int32_t *bins, size_t *bad_row) {
  const score_index *ix = &b->model->index;
  if (ix->search_wide && b->n >= WORTH_LOADING && !b->expect_ties &&
      ix->search_wide(ix, b->scores, b->n, values, bins) == 0) {
    return FASTBIN_OK;
  }
  if (ix->find_cells(ix, b->scores, b->n, b->cells, b->height_buffer) != 0) {
    fastbin_status status = look_closer(b, bad_row);
    if (status != FASTBIN_OK) return status;
    /* Scores that were clipped to the range have other cells now, and NaN another height. */
    ix->find_cells(ix, b->scores, b->n, b->cells, b->height_buffer);
  }
  b->heights = ix->least >= 0 ? (const void *)b->scores : (const void *)b->height_buffer;
  for (size_t first = 0; first < b->n; first += CHUNK) {
    chunk rows = chunk_at(b, first);
    if (!b->expect_ties) b->expect_ties = search_plainly(b, rows, values, bins);
    if (b->expect_ties) b->expect_ties = search_with_keys(b, rows, values, bins);
  }
  return FASTBIN_OK;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Results out                                                                                                   */
/* ------------------------------------------------------------------------------------------------------------- */

static fastbin_status randomised_values(batch *b, double *values, size_t *bad_row) {
  const fastbin_model_spec *spec = &b->model->spec;
  fastbin_status status = search_block(b, NULL, b->bins, bad_row);
  if (status != FASTBIN_OK) return status;
  for (size_t first = 0; first < b->n; first += CHUNK) {
    chunk rows = chunk_at(b, first);
    uint64_t own_keys[CHUNK];
    const uint64_t *keys = keys_of(b, rows, own_keys);
    for (size_t i = rows.first; i < rows.end; i++) {
      values[i] = randomised_value(spec->values[b->bins[i]], spec->delta, keys[i - first]);
    }
  }
  return FASTBIN_OK;
}

/* Knots repeat no threshold and split no ties, so that bins are ranks. */
static fastbin_status linear_values(batch *b, double *values, size_t *bad_row) {
  fastbin_status status = search_block(b, NULL, b->bins, bad_row);
  if (status != FASTBIN_OK) return status;
  for (size_t i = 0; i < b->n; i++) values[i] = fastbin_linear_value(b->model, b->scores[i], (uint32_t)b->bins[i]);
  return FASTBIN_OK;
}

/* Here the search only checks the scores. */
static fastbin_status smooth_values(batch *b, double *values, size_t *bad_row) {
  fastbin_status status = search_block(b, NULL, b->bins, bad_row);
  if (status != FASTBIN_OK) return status;
  for (size_t i = 0; i < b->n; i++) values[i] = fastbin_smooth_value(b->model, b->scores[i]);
  return FASTBIN_OK;
}

static fastbin_status values_of_block(batch *b, double *values, size_t *bad_row) {
  if (b->model->index.is_plain) return search_block(b, values, NULL, bad_row);
  if (b->model->spec.kind == FASTBIN_STEP) return randomised_values(b, values, bad_row);
  if (b->model->spec.kind == FASTBIN_LINEAR) return linear_values(b, values, bad_row);
  return smooth_values(b, values, bad_row);
}

static void mark_missing(const batch *b, double *out, size_t width) {
  if (!b->has_missing) return;
  for (size_t i = 0; i < b->n; i++) {
    if (!is_nan(b->scores[i])) continue;
    for (size_t c = 0; c < width; c++) out[i * width + c] = quiet_nan();
  }
}

fastbin_status fastbin_predict(const fastbin_model *model, const fastbin_rows *rows, double *values, size_t *bad_row) {
  batch b;
  fastbin_status status = begin(&b, model, rows, values);
  if (status != FASTBIN_OK) return status;
  for (size_t start = 0; start < rows->n_rows; start += BLOCK) {
    take_block(&b, start, values);
    status = values_of_block(&b, values + start, bad_row);
    if (status != FASTBIN_OK) return status;
    mark_missing(&b, values + start, 1);
  }
  return FASTBIN_OK;
}

/* The search finds steps; this makes bins of them. Also of those of missing scores, which are some steps. */
static void bins_of_steps(const int32_t *bin_of_step, int32_t *steps, size_t n) {
  if (!bin_of_step) return;
  for (size_t i = 0; i < n; i++) steps[i] = bin_of_step[steps[i]];
}

/* Steps, or with a table the bins that it gives for them. */
static fastbin_status assign_rows(const fastbin_model *model, const fastbin_rows *rows, const int32_t *bin_of_step,
                                  int32_t *assigned, size_t *bad_row) {
  batch b;
  fastbin_status status = begin(&b, model, rows, assigned);
  if (status != FASTBIN_OK) return status;
  if (model->spec.kind != FASTBIN_STEP) return FASTBIN_ERROR_ARGUMENT;
  for (size_t start = 0; start < rows->n_rows; start += BLOCK) {
    take_block(&b, start, assigned);
    status = search_block(&b, NULL, assigned + start, bad_row);
    if (status != FASTBIN_OK) return status;
    bins_of_steps(bin_of_step, assigned + start, b.n);
    if (!b.has_missing) continue;
    for (size_t i = 0; i < b.n; i++) {
      if (is_nan(b.scores[i])) assigned[start + i] = -1;
    }
  }
  return FASTBIN_OK;
}

fastbin_status fastbin_assign(const fastbin_model *model, const fastbin_rows *rows, int32_t *bins, size_t *bad_row) {
  return assign_rows(model, rows, model ? model->bin_of_step : NULL, bins, bad_row);
}

fastbin_status fastbin_step(const fastbin_model *model, const fastbin_rows *rows, int32_t *steps, size_t *bad_row) {
  return assign_rows(model, rows, NULL, steps, bad_row);
}

/* `width` is a constant in the common cases, so that the copy is a few moves. */
static ALWAYS_INLINE void copy_rows(const batch *b, const double *table, size_t width, double *out) {
  for (size_t i = 0; i < b->n; i++) {
    for (size_t c = 0; c < width; c++) out[i * width + c] = table[(size_t)b->bins[i] * width + c];
  }
}

fastbin_status fastbin_lookup(const fastbin_model *model, const fastbin_rows *rows, const double *table, size_t width,
                              double *out, size_t *bad_row) {
  batch b;
  fastbin_status status = begin(&b, model, rows, out);
  if (status != FASTBIN_OK) return status;
  if (model->spec.kind != FASTBIN_STEP || !table || width == 0) return FASTBIN_ERROR_ARGUMENT;
  for (size_t start = 0; start < rows->n_rows; start += BLOCK) {
    take_block(&b, start, out);
    status = search_block(&b, NULL, b.bins, bad_row);
    if (status != FASTBIN_OK) return status;
    bins_of_steps(model->bin_of_step, b.bins, b.n);
    switch (width) {
      case 1:
        copy_rows(&b, table, 1, out + start);
        break;
      case 2:
        copy_rows(&b, table, 2, out + 2 * start);
        break;
      case 3:
        copy_rows(&b, table, 3, out + 3 * start);
        break;
      default:
        copy_rows(&b, table, width, out + width * start);
    }
    mark_missing(&b, out + width * start, width);
  }
  return FASTBIN_OK;
}

/* The scores of the block, after one pass that finds those which are refused, clipped or missing. */
static fastbin_status check_block(batch *b, size_t *bad_row) {
  const score_index *ix = &b->model->index;
  if (ix->find_cells(ix, b->scores, b->n, b->cells, b->height_buffer) == 0) return FASTBIN_OK;
  return look_closer(b, bad_row);
}

fastbin_status fastbin_decide(const fastbin_model *model, const fastbin_rows *rows, int8_t *decisions, size_t *bad_row) {
  batch b;
  fastbin_status status = begin(&b, model, rows, decisions);
  if (status != FASTBIN_OK) return status;
  if (model->spec.decision_size == 0) return FASTBIN_ERROR_ARGUMENT;
  for (size_t start = 0; start < rows->n_rows; start += BLOCK) {
    take_block(&b, start, decisions);
    status = check_block(&b, bad_row);
    if (status != FASTBIN_OK) return status;
    for (size_t i = 0; i < b.n; i++) decisions[start + i] = (int8_t)side_of(&model->spec, b.scores[i]);
  }
  return FASTBIN_OK;
}
