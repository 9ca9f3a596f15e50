/*
 * fuzz_set.c: hostile bytes for a set of models. What is read must be refused, or be a set whose keys are found and whose models
 * work, and, of a vector set, whose rows are distributions.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "use.h"

#define MOST_MODELS 8
#define MOST_ENTRIES 70000

/* A set gives back its bytes, which can be read to the same bytes. */
static void rewrite(const fastbin_set *set, const uint8_t *bytes, size_t size) {
  size_t new_size = fastbin_set_size(set);
  uint8_t *written = reserve(new_size), *again = reserve(new_size);
  fastbin_set *second;
  require(fastbin_set_write(set, written, new_size - 1) == FASTBIN_ERROR_BUFFER, "a buffer that is too small");
  require(fastbin_set_write(set, written, new_size) == FASTBIN_OK, "write failed");
  require(new_size <= size && (new_size != size || memcmp(written, bytes, size) == 0), "rewriting changed the bytes");
  require(fastbin_set_read(written, new_size, &second) == FASTBIN_OK, "what was written cannot be read");
  require(fastbin_set_size(second) == new_size, "sizes differ");
  require(fastbin_set_write(second, again, new_size) == FASTBIN_OK, "second write failed");
  require(memcmp(written, again, new_size) == 0, "rewriting is not stable");
  fastbin_set_free(second);
  free(written);
  free(again);
}

/* Every key is found, and none between two keys. */
static void find_keys(const fastbin_set *set, const fastbin_set_spec *spec) {
  for (int32_t i = 0; i < spec->n_keys; i++) {
    int32_t number = spec->model_of_key[i];
    require(number >= 0 && number < spec->n_models, "a key without a model");
    if (spec->key_type == FASTBIN_KEYS_INT) {
      int64_t key = spec->int_keys[i];
      int is_alone = key < INT64_MAX && (i + 1 == spec->n_keys || spec->int_keys[i + 1] > key + 1);
      require(fastbin_set_find_int(set, key) == number, "a key is not found");
      require(!is_alone || fastbin_set_find_int(set, key + 1) == -1, "a key is found that is not there");
    } else {
      const char *text = spec->text + spec->text_offsets[i];
      size_t key_size = (size_t)(spec->text_offsets[i + 1] - spec->text_offsets[i]);
      char longer[FASTBIN_MAX_KEY_SIZE + 1];
      require(key_size <= FASTBIN_MAX_KEY_SIZE, "a text is too long");
      require(fastbin_set_find_text(set, text, key_size) == number, "a text is not found");
      memcpy(longer, text, key_size);
      longer[key_size] = '\xff';
      require(fastbin_set_find_text(set, longer, key_size + 1) == -1, "a text is found that is not there");
    }
  }
}

/* Rows in runs, some of them of unknown cells or with bad scores: all as one by one. */
static void score_rows(const fastbin_set *set, const fastbin_set_spec *spec, uint64_t number) {
  static double scores[MOST_ROWS], values[MOST_ROWS];
  static int32_t models[MOST_ROWS], bins[MOST_ROWS];
  fastbin_model_spec first;
  fastbin_rows rows;
  fastbin_status status, expected = FASTBIN_OK;
  size_t bad_row = SIZE_MAX, n = 0;
  int has_bins = 1;
  first.struct_size = sizeof first;
  require(fastbin_model_describe(spec->models[0], &first) == FASTBIN_OK, "describe failed");
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = scores;
  rows.score_stride = sizeof(double);
  rows.nan_policy = number & 1 ? FASTBIN_NAN_PROPAGATE : FASTBIN_NAN_ERROR;
  rows.n_rows = make_scores(&first, scores, 200, number);
  rows.seed = number;
  for (size_t i = 0; i < rows.n_rows; i++) {
    models[i] = (int32_t)(mix_bits(number + i / (1 + number % 7)) % (uint64_t)(spec->n_models + (number >> 8 & 1))) - (number >> 8 & 1);
    if (number >> 9 & 3 && !(fabs(scores[i]) <= 1.0)) scores[i] = 0.5;
  }
  for (int32_t m = 0; m < spec->n_models; m++) {
    fastbin_model_spec model;
    model.struct_size = sizeof model;
    require(fastbin_model_describe(spec->models[m], &model) == FASTBIN_OK, "describe failed");
    has_bins &= model.kind == FASTBIN_STEP;
  }
  status = fastbin_set_predict_batch(set, models, &rows, values, &bad_row);
  require(fastbin_set_assign_batch(set, models, &rows, bins, NULL) == (has_bins ? status : FASTBIN_ERROR_ARGUMENT), "bins");
  for (; n < rows.n_rows; n++) {
    double value;
    expected = fastbin_set_predict_one(set, models[n], scores[n], fastbin_row_key(number, n), &value);
    if (expected == FASTBIN_ERROR_SCORE_NAN && rows.nan_policy == FASTBIN_NAN_PROPAGATE) expected = FASTBIN_OK;
    if (expected != FASTBIN_OK) break;
    if (status != FASTBIN_OK) continue; /* what was written is not specified */
    same_bits(value, values[n], "single and batch calls differ");
    if (has_bins && models[n] >= 0 && value == value) {
      int32_t bin;
      require(fastbin_assign_one(spec->models[models[n]], scores[n], fastbin_row_key(number, n), &bin) == FASTBIN_OK, "no bin");
      require(bin == bins[n], "single and batch bins differ");
    }
  }
  require(status == expected && bad_row == (expected == FASTBIN_OK ? SIZE_MAX : n), "the first bad row is another");
}

/* Rows of a vector set: positive, of the sum 1, and as one by one; or the first bad entry. Other sets refuse the call. */
static void predict_vectors(const fastbin_set *set, const fastbin_set_spec *spec, uint64_t number) {
  static double p[MOST_ENTRIES], values[MOST_ENTRIES], alone[MOST_ENTRIES];
  size_t k = (size_t)spec->n_keys, n_rows = 1 + number % 70, bad = SIZE_MAX, place = mix_bits(number) % (n_rows * k);
  if (spec->kind != FASTBIN_SET_VECTOR || k > MOST_ENTRIES / 70) {
    require(spec->vector || fastbin_vector_predict(set, p, 1, values, &bad) == FASTBIN_ERROR_ARGUMENT, "vectors of another set");
    return;
  }
  for (size_t i = 0; i < n_rows * k; i++) p[i] = (double)(mix_bits(number + i) >> 11) * 0x1p-53;
  require(fastbin_vector_predict(set, p, n_rows, values, &bad) == FASTBIN_OK && bad == SIZE_MAX, "vectors are refused");
  for (size_t row = 0; row < n_rows; row++) {
    double sum = 0.0;
    require(fastbin_vector_predict(set, p + row * k, 1, alone, NULL) == FASTBIN_OK, "a vector is refused");
    require(memcmp(alone, values + row * k, k * sizeof *alone) == 0, "single and batch vectors differ");
    for (size_t c = 0; c < k; c++) {
      require(alone[c] > 0.0 && alone[c] <= 1.0 + 1e-9, "an entry is not in (0, 1]");
      sum += alone[c];
    }
    require(fabs(sum - 1.0) < 1e-8, "a vector does not sum to 1");
  }
  p[place] = number & 1 ? NAN : 1.5;
  require(fastbin_vector_predict(set, p, n_rows, values, &bad) ==
              (number & 1 ? FASTBIN_ERROR_SCORE_NAN : FASTBIN_ERROR_SCORE_RANGE) && bad == place, "a bad entry");
}

static fastbin_vector_map changed_map(const fastbin_vector_map *map, int32_t value, uint64_t number) {
  fastbin_vector_map changed = *map;
  switch (number % 6) {
    case 0:
      changed.of_models = value / 8.0;
      break;
    case 1:
      changed.of_priors = value / 8.0;
      break;
    case 2:
      changed.least = value * 1e-7;
      break;
    case 3:
      changed.keep_top = value;
      break;
    case 4:
      changed.mixing = NULL;
      break;
    default:
      changed.n_bins = 0;
      changed.counts = NULL;
      changed.edges = changed.means = changed.unlabelled = NULL;
  }
  return changed;
}

/* A spec with a number changed: refused, or a set like any other. */
static void change(const fastbin_set_spec *spec, uint64_t number) {
  fastbin_set_spec changed = *spec;
  fastbin_vector_map map;
  fastbin_set *set;
  int32_t value = (int32_t)(number >> 60) - 1;
  int32_t *const members[] = {&changed.kind, &changed.key_type, &changed.unknown, &changed.pool, &changed.n_models};
  if (spec->vector && number >> 16 & 1) {
    map = changed_map(spec->vector, value, number >> 8);
    changed.vector = &map;
  } else if (number % 6 < 5) {
    *members[number % 6] = number % 6 == 4 && value > spec->n_models ? spec->n_models : value;
  } else {
    changed.columns = changed.model_of_key;
  }
  if (fastbin_set_create(&changed, &set) == FASTBIN_OK) {
    uint8_t *bytes = reserve(fastbin_set_size(set));
    require(fastbin_set_write(set, bytes, fastbin_set_size(set)) == FASTBIN_OK, "write failed");
    rewrite(set, bytes, fastbin_set_size(set));
    free(bytes);
  }
  fastbin_set_free(set);
}

static int use(const uint8_t *bytes, size_t size) {
  fastbin_set *set;
  fastbin_set_spec spec;
  uint64_t number = digest_of(bytes, size);
  fastbin_status status;
  choose_build(number);
  status = fastbin_set_read(bytes, size, &set);
  require((status == FASTBIN_OK) == (set != NULL), "status and set contradict each other");
  require(fastbin_status_string(status)[0] != '\0', "a status has no text");
  if (status != FASTBIN_OK) return 0;
  spec.struct_size = 8;
  require(fastbin_set_describe(set, &spec) == FASTBIN_ERROR_STRUCT_SIZE, "described into too little");
  spec.struct_size = sizeof spec;
  require(fastbin_set_describe(set, &spec) == FASTBIN_OK, "describe failed");
  require(spec.n_models > 0 && spec.n_keys > 0, "an empty set");
  rewrite(set, bytes, size);
  find_keys(set, &spec);
  score_rows(set, &spec, mix_bits(number));
  predict_vectors(set, &spec, mix_bits(number + 2));
  change(&spec, mix_bits(number + 1));
  for (int32_t i = 0; i < spec.n_models && i < MOST_MODELS; i++) use_model(spec.models[i], NULL, 0, number + (uint64_t)i);
  fastbin_set_free(set);
  return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return use_mended(data, size, use); }
