/*
 * use.h: whatever was read, or made, must work: scored one by one and in batches, described, written, read again.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_FUZZ_USE_H
#define FASTBIN_FUZZ_USE_H

#include "fuzz.h"

#include <math.h>

#define MOST_ROWS 600
#define MOST_WIDTH 5

/* The step and the bin as the header defines them. */
static inline int32_t step_by_definition(const fastbin_model_spec *spec, double score, uint64_t key) {
  int32_t step = 0;
  if (score < spec->score_min || score > spec->score_max) {
    require(spec->out_of_range == FASTBIN_OUT_OF_RANGE_CLIP, "a score outside the range has a bin");
    score = score < spec->score_min ? spec->score_min : spec->score_max;
  }
  for (int32_t i = 0; i < spec->n_steps - 1; i++) {
    step += score > spec->edges[i] || (score == spec->edges[i] && key >= spec->edge_keys[i]);
  }
  return step;
}

static inline int32_t bin_by_definition(const fastbin_model_spec *spec, int32_t step) {
  int32_t bin = 0;
  if (!spec->first_step) return step;
  while (bin + 1 < spec->n_bins && spec->first_step[bin + 1] <= step) bin++;
  return bin;
}

/* One score by itself: the value, NaN where it is refused, and the bin, -1 where there is none. */
typedef struct answer {
  fastbin_status status;
  double value;
  int32_t bin, step;
} answer;

static inline answer answer_one(const fastbin_model *model, const fastbin_model_spec *spec, double score, uint64_t key) {
  answer a;
  fastbin_status status;
  a.status = fastbin_predict_one(model, score, key, &a.value);
  status = fastbin_assign_one(model, score, key, &a.bin);
  require(fastbin_step_one(model, score, key, &a.step) == status, "bin and step differ in status");
  require(fastbin_status_string(a.status)[0] != '\0', "a status has no text");
  if (spec->kind == FASTBIN_STEP) {
    require(status == a.status, "value and bin differ in status");
  } else {
    require(status == FASTBIN_ERROR_ARGUMENT, "a model without bins assigns");
  }
  if (a.status != FASTBIN_OK) {
    require(a.value != a.value, "a refused score has a value");
    return a;
  }
  require(a.value >= 0.0 && a.value <= 1.0, "a value is not in [0, 1]");
  if (spec->kind == FASTBIN_STEP) {
    require(a.step == step_by_definition(spec, score, key), "a step is wrong");
    require(a.bin == bin_by_definition(spec, a.step), "a bin is wrong");
    require(spec->delta > 0.0 || a.value == spec->values[a.step], "a value is not that of its step");
    if (!fastbin_needs_key(model, score)) {
      double same;
      fastbin_predict_one(model, score, ~key, &same);
      require(same == a.value, "a key matters where none is needed");
    }
  }
  return a;
}

/* What is decided about a score, by the thresholds of the spec. */
static inline int check_decision(const fastbin_model *model, const fastbin_model_spec *spec, double score, fastbin_status expected) {
  double low = spec->score_min, high = spec->score_max;
  int32_t decision = 5;
  fastbin_status status = fastbin_decide_one(model, score, &decision);
  if (spec->decision_size == 0) expected = FASTBIN_ERROR_ARGUMENT;
  require(status == expected, "value and decision differ in status");
  if (status == FASTBIN_OK) {
    double inside = score < low ? low : score > high ? high : score;
    require(decision == (inside > spec->accept_above) - (inside < spec->reject_below), "a decision is wrong");
  } else {
    require(decision == 0, "something is decided about a refused score");
  }
  return decision;
}

/* Scores at, beside and between the edges, and anywhere. Returns how many. */
static inline size_t make_scores(const fastbin_model_spec *spec, double *scores, size_t most, uint64_t number) {
  static const double usual[] = {0.0, -0.0, 0.3, 1.0, 0.999, -1.0, 1e-310, -1e308, 1e308, INFINITY, -INFINITY, NAN};
  int32_t n_edges = spec->kind == FASTBIN_STEP ? spec->n_steps - 1 : spec->n_bins;
  size_t n = 0;
  for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) scores[n++] = usual[i];
  for (int32_t i = 0; i < n_edges && i < 64 && n + 4 < most; i++) {
    double edge = spec->edges[i];
    scores[n++] = edge;
    scores[n++] = nextafter(edge, INFINITY);
    scores[n++] = nextafter(edge, -INFINITY);
    scores[n++] = (double)(float)edge;
  }
  for (uint64_t i = 0; n < most; i++) scores[n++] = ldexp((double)(mix_bits(number + i) >> 11), -53);
  return n;
}

static inline void same_bits(double one, double other, const char *what) {
  require(memcmp(&one, &other, sizeof one) == 0 || (one != one && other != other), what);
}

/* A batch, laid out as `rows` says, gives what its rows give one by one. `scores` are the same as doubles side by side. */
static inline void check_batch(const fastbin_model *model, const fastbin_model_spec *spec, const fastbin_rows *rows,
                               const double *scores, const double *table, size_t width) {
  static double values[MOST_ROWS], out[MOST_ROWS * MOST_WIDTH];
  static int32_t bins[MOST_ROWS], steps[MOST_ROWS];
  static answer ones[MOST_ROWS];
  static int8_t decisions[MOST_ROWS];
  size_t bad_row = SIZE_MAX, n = 0;
  fastbin_status status = fastbin_predict(model, rows, values, &bad_row), expected = FASTBIN_OK;
  for (; n < rows->n_rows; n++) {
    ones[n] = answer_one(model, spec, scores[n], rows->keys ? rows->keys[n] : fastbin_row_key(rows->seed, rows->first_row + n));
    if (ones[n].status == FASTBIN_ERROR_SCORE_NAN && rows->nan_policy == FASTBIN_NAN_PROPAGATE) continue;
    expected = ones[n].status;
    if (expected != FASTBIN_OK) break;
  }
  require(status == expected, "single and batch calls differ in status");
  require(bad_row == (expected == FASTBIN_OK ? SIZE_MAX : n), "the first bad row is another");
  for (size_t i = 0; status == FASTBIN_OK && i < n; i++) same_bits(ones[i].value, values[i], "single and batch calls differ");
  status = fastbin_decide(model, rows, decisions, NULL);
  require(status == (spec->decision_size ? expected : FASTBIN_ERROR_ARGUMENT), "values and decisions differ in status");
  for (size_t i = 0; status == FASTBIN_OK && i < n; i++) {
    require(decisions[i] == check_decision(model, spec, scores[i], ones[i].status), "single and batch decisions differ");
  }
  if (spec->kind != FASTBIN_STEP) {
    require(fastbin_assign(model, rows, bins, NULL) == FASTBIN_ERROR_ARGUMENT, "a model without bins assigns");
    require(fastbin_step(model, rows, steps, NULL) == FASTBIN_ERROR_ARGUMENT, "a model without steps has some");
    return;
  }
  require(fastbin_assign(model, rows, bins, NULL) == expected, "values and bins differ in status");
  require(fastbin_step(model, rows, steps, NULL) == expected, "values and steps differ in status");
  require(fastbin_lookup(model, rows, table, width, out, NULL) == expected, "values and rows of a table differ in status");
  for (size_t i = 0; expected == FASTBIN_OK && i < n; i++) {
    require(bins[i] == ones[i].bin && steps[i] == ones[i].step, "single and batch bins differ");
    for (size_t c = 0; c < width; c++) {
      double cell = bins[i] < 0 ? NAN : table[(size_t)bins[i] * width + c];
      same_bits(out[i * width + c], cell, "a row of the table is wrong");
    }
  }
}

/* The scores in one of four layouts: side by side, backwards, as float32, and as float32 that are not aligned. */
static inline void check_layout(const fastbin_model *model, const fastbin_model_spec *spec, const double *scores, size_t n,
                                 const uint64_t *keys, const double *table, uint64_t number) {
  static double turned[MOST_ROWS], rounded[MOST_ROWS];
  static float floats[MOST_ROWS];
  static unsigned char shifted[MOST_ROWS * 5 + 1];
  fastbin_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.n_rows = n;
  rows.nan_policy = number & 1 ? FASTBIN_NAN_PROPAGATE : FASTBIN_NAN_ERROR;
  rows.keys = number & 2 ? keys : NULL;
  rows.seed = mix_bits(number);
  rows.first_row = number >> 40;
  for (size_t i = 0; i < n; i++) {
    turned[n - 1 - i] = scores[i];
    floats[i] = fabs(scores[i]) <= 3e38 || scores[i] != scores[i] ? (float)scores[i] : 0.5f;
    rounded[i] = (double)floats[i];
    memcpy(shifted + 1 + 5 * i, &floats[i], sizeof floats[i]);
  }
  rows.score_type = number >> 9 & 1 ? FASTBIN_FLOAT32 : FASTBIN_FLOAT64;
  if (rows.score_type == FASTBIN_FLOAT32) {
    rows.scores = number >> 10 & 1 ? (const void *)floats : shifted + 1;
    rows.score_stride = number >> 10 & 1 ? (ptrdiff_t)sizeof(float) : 5;
  } else {
    rows.scores = number >> 10 & 1 ? scores : turned + (n - 1);
    rows.score_stride = number >> 10 & 1 ? (ptrdiff_t)sizeof(double) : -(ptrdiff_t)sizeof(double);
  }
  check_batch(model, spec, &rows, rows.score_type == FASTBIN_FLOAT32 ? rounded : scores, table, 1 + (number >> 3) % MOST_WIDTH);
}

/* What a caller may get wrong about a batch is refused. */
static inline void check_refusals(const fastbin_model *model, double *out, int32_t *bins) {
  static const double score = 0.5;
  fastbin_rows rows;
  memset(&rows, 0, sizeof rows);
  require(fastbin_predict(model, NULL, out, NULL) == FASTBIN_ERROR_ARGUMENT, "no rows");
  require(fastbin_predict(model, &rows, out, NULL) == FASTBIN_ERROR_STRUCT_SIZE, "no size");
  rows.struct_size = sizeof rows;
  require(fastbin_predict(model, &rows, NULL, NULL) == FASTBIN_OK, "no rows need no room");
  rows.n_rows = 1;
  require(fastbin_predict(model, &rows, out, NULL) == FASTBIN_ERROR_ARGUMENT, "no scores");
  rows.scores = &score;
  require(fastbin_lookup(model, &rows, NULL, 1, out, NULL) == FASTBIN_ERROR_ARGUMENT, "no table");
  rows.score_type = 2;
  require(fastbin_assign(model, &rows, bins, NULL) == FASTBIN_ERROR_ARGUMENT, "an unknown type");
  rows.score_type = 0;
  rows.nan_policy = 2;
  require(fastbin_lookup(model, &rows, &score, 1, out, NULL) == FASTBIN_ERROR_ARGUMENT, "an unknown policy");
}

/* Scores without a bad one among them, so that batches run to their end, and then all of them. */
static inline void score_model(const fastbin_model *model, const fastbin_model_spec *spec, uint64_t number) {
  static double scores[MOST_ROWS], good[MOST_ROWS];
  static uint64_t keys[MOST_ROWS];
  size_t n = make_scores(spec, scores, number % 32 == 0 ? MOST_ROWS : 100, number), n_good = 0;
  size_t n_bins = spec->n_bins > 0 ? (size_t)spec->n_bins : 1;
  double *table = reserve(n_bins * MOST_WIDTH * sizeof *table);
  int32_t n_edges = spec->kind == FASTBIN_STEP ? spec->n_steps - 1 : 0;
  for (size_t i = 0; i < n_bins * MOST_WIDTH; i++) table[i] = (double)i;
  for (size_t i = 0; i < n; i++) {
    keys[i] = n_edges > 0 && i % 2 ? spec->edge_keys[i % (size_t)n_edges] - (i % 3 == 0) : mix_bits(i);
    if (keys[i] == UINT64_MAX) keys[i] = 0;
    if (answer_one(model, spec, scores[i], keys[i]).status == FASTBIN_OK) good[n_good++] = scores[i];
  }
  if (n_good > 0) check_layout(model, spec, good, n_good, keys, table, number);
  check_layout(model, spec, scores, n, keys, table, number >> 7);
  check_refusals(model, good, (int32_t *)(void *)keys);
  free(table);
}

/* A model gives back its bytes, which can be read to the same bytes; `bytes` are those it was read from, or NULL. */
static inline void rewrite_model(const fastbin_model *model, const uint8_t *bytes, size_t size) {
  size_t new_size = fastbin_model_size(model);
  uint8_t *written = reserve(new_size), *again = reserve(new_size);
  fastbin_model *second;
  require(fastbin_model_write(model, written, new_size - 1) == FASTBIN_ERROR_BUFFER, "a buffer that is too small");
  require(fastbin_model_write(model, written, new_size) == FASTBIN_OK, "write failed");
  if (bytes) {
    require(new_size <= size, "rewriting made the model larger");
    require(new_size != size || memcmp(written, bytes, size) == 0, "rewriting changed the bytes");
  }
  require(fastbin_model_read(written, new_size, &second) == FASTBIN_OK, "what was written cannot be read");
  require(fastbin_model_size(second) == new_size, "sizes differ");
  require(fastbin_model_write(second, again, new_size) == FASTBIN_OK, "second write failed");
  require(memcmp(written, again, new_size) == 0, "rewriting is not stable");
  fastbin_model_free(second);
  free(written);
  free(again);
}

static inline void use_model(const fastbin_model *model, const uint8_t *bytes, size_t size, uint64_t number) {
  fastbin_model_spec spec;
  fastbin_status status;
  memset(&spec, 0, sizeof spec);
  require(fastbin_model_describe(model, &spec) == FASTBIN_ERROR_STRUCT_SIZE, "describe without a size");
  spec.struct_size = offsetof(fastbin_model_spec, pairs); /* that of 0.1.0 */
  spec.n_steps = -1;
  status = fastbin_model_describe(model, &spec);
  require(spec.n_steps == -1, "more than the struct of 0.1.0 was written");
  spec.struct_size = sizeof spec;
  require(fastbin_model_describe(model, &spec) == FASTBIN_OK, "describe failed");
  require(status == (spec.n_steps > spec.n_bins ? FASTBIN_ERROR_STRUCT_SIZE : FASTBIN_OK), "steps and an old struct");
  rewrite_model(model, bytes, size);
  score_model(model, &spec, number);
}

#endif /* FASTBIN_FUZZ_USE_H */
