/*
 * fuzz_spec.c: a program that makes models from whatever it has, and saves and loads them. What is made must work; nothing
 * else may be made.
 *
 * The input is read as the members of a spec, in the order of the header; bytes that are missing are 0.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "use.h"

#include <unistd.h>

#define MOST_BINS 64

typedef struct input {
  const uint8_t *at, *end;
} input;

static uint8_t take_byte(input *in) { return in->at < in->end ? *in->at++ : 0; }

static uint64_t take_word(input *in) {
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) word |= (uint64_t)take_byte(in) << (8 * i);
  return word;
}

/* Mostly numbers that mean something, sometimes any bits. */
static double take_double(input *in) {
  static const double usual[] = {0.0, 1.0, -0.0, 0.5, -INFINITY, INFINITY, NAN, 1e-320, -3.0, 2.0, 1e308, -1e308};
  uint8_t choice = take_byte(in);
  double any;
  uint64_t bits;
  if (choice < 12) return usual[choice];
  if (choice < 128) return choice / 128.0;
  bits = take_word(in);
  memcpy(&any, &bits, sizeof any);
  return any;
}

static int ascending(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}

typedef struct arrays {
  double edges[MOST_BINS], values[MOST_BINS];
  uint64_t keys[MOST_BINS];
  int64_t counts[MOST_BINS], label_sums[MOST_BINS];
  double weights[MOST_BINS], label_weights[MOST_BINS], squares[MOST_BINS], pairs[2 * MOST_BINS];
  int64_t first_step[MOST_BINS], step_counts[MOST_BINS], unlabelled[MOST_BINS], tie_counts[3 * MOST_BINS];
  double knots[3 * MOST_BINS], slice_cuts[MOST_BINS];
  int64_t slice_label_sums[MOST_BINS], atom_counts[2 * MOST_BINS], pool_counts[MOST_BINS], population_counts[MOST_BINS];
} arrays;

static void take_columns(input *in, fastbin_model_spec *spec, arrays *a, uint8_t which) {
  size_t n = (size_t)(spec->n_bins > 0 ? spec->n_bins : 0);
  for (size_t i = 0; i < n; i++) a->edges[i] = take_double(in);
  if (which & 1) qsort(a->edges, n > 0 ? n - 1 : 0, sizeof a->edges[0], ascending);
  for (size_t i = 0; i < n; i++) a->values[i] = take_double(in);
  for (size_t i = 0; i < n && which & 2; i++) a->keys[i] = take_word(in);
  for (size_t i = 0; i < n; i++) {
    a->counts[i] = (int8_t)take_byte(in);
    a->label_sums[i] = which & 4 ? a->counts[i] / 2 : (int8_t)take_byte(in);
    a->weights[i] = (double)a->counts[i];
    a->label_weights[i] = (double)a->label_sums[i];
    a->squares[i] = which & 16 ? a->weights[i] : take_double(in);
  }
  spec->edges = which & 32 ? NULL : a->edges;
  spec->edge_keys = which & 2 ? a->keys : NULL;
  spec->values = a->values;
  spec->counts = which & 8 ? a->counts : NULL;
  spec->label_sums = spec->counts || which & 64 ? a->label_sums : NULL;
  if ((which & 16) == 0) return;
  spec->weight_sums = a->weights;
  spec->weighted_label_sums = a->label_weights;
  spec->weight_square_sums = which & 128 ? NULL : a->squares;
}

/* The members since 0.2.0: class rates that fit together more often than bits would, policies, pairs. */
static void take_evidence(input *in, fastbin_model_spec *spec, arrays *a) {
  uint8_t which = take_byte(in);
  for (int i = 0; i < 2 * MOST_BINS && which & 1; i++) a->pairs[i] = i % 2 ? 1.0 : take_double(in);
  if (which & 1) spec->pairs = a->pairs;
  spec->out_of_range = which & 2 ? (int8_t)take_byte(in) : (which & 4) != 0;
  spec->weights = which & 8 ? (int8_t)take_byte(in) : 0;
  spec->fingerprint = take_word(in);
  if (!(which & 16)) return;
  spec->source_rate_origin = (int8_t)take_byte(in);
  spec->target_rate_origin = (int8_t)take_byte(in);
  spec->source_rate = take_double(in);
  spec->target_rate = take_double(in);
  spec->source_count = (int8_t)take_byte(in);
  spec->source_ones = (int8_t)take_byte(in);
  spec->target_count = (int8_t)take_byte(in);
  spec->target_ones = (int8_t)take_byte(in);
  if (which & 32) {
    spec->odds_ratio = spec->target_rate * (1.0 - spec->source_rate) / ((1.0 - spec->target_rate) * spec->source_rate);
  }
}

/* The steps become those of fewer bins: runs that ascend more often than bytes would, with as many samples as their bins. */
static void take_steps(input *in, fastbin_model_spec *spec, arrays *a, uint8_t which) {
  int32_t n_steps = spec->n_bins, n_bins = n_steps > 0 ? 1 + take_byte(in) % n_steps : 0;
  for (int32_t b = 0; b < n_bins; b++) {
    int64_t first = b + (int64_t)b * (n_steps - n_bins) / n_bins;
    a->first_step[b] = which & 4 ? (int8_t)take_byte(in) : first;
    a->step_counts[first] = a->counts[b] + (which & 8 ? (int8_t)take_byte(in) : 0);
  }
  for (int32_t i = 0; i < n_steps && which & 16; i++) a->unlabelled[i] = (int8_t)take_byte(in);
  spec->n_steps = which & 32 ? (int8_t)take_byte(in) % (MOST_BINS + 1) : n_steps;
  spec->n_bins = n_bins;
  spec->first_step = a->first_step;
  spec->step_counts = which & 64 ? NULL : a->step_counts;
  spec->unlabelled_counts = which & 16 ? a->unlabelled : NULL;
}

static void take_resolution(input *in, fastbin_model_spec *spec, arrays *a) {
  uint8_t which = take_byte(in);
  if (which & 1) take_steps(in, spec, a, which);
  if (which & 2) {
    for (int32_t i = 0; i < 3 * MOST_BINS && i < 3 * spec->n_bins; i++) a->tie_counts[i] = (int8_t)take_byte(in);
    spec->tie_counts = a->tie_counts;
    spec->edges_share = take_double(in);
    for (int32_t i = 0; i < 2 * MOST_BINS && i < 2 * spec->n_bins && which & 8; i++) a->atom_counts[i] = (int8_t)take_byte(in);
    spec->atom_counts = which & 8 ? a->atom_counts : NULL;
  }
  if (which & 64) {
    spec->n_slices = (int8_t)take_byte(in) % (MOST_BINS + 1);
    for (int32_t i = 0; i < spec->n_slices; i++) {
      a->slice_cuts[i] = take_double(in);
      a->slice_label_sums[i] = (int8_t)take_byte(in);
    }
    if (which & 4) qsort(a->slice_cuts, spec->n_slices > 0 ? (size_t)spec->n_slices : 0, sizeof(double), ascending);
    spec->slice_cuts = spec->n_slices ? a->slice_cuts : NULL;
    spec->slice_label_sums = spec->n_slices ? a->slice_label_sums : NULL;
  }
  if (!(which & 128)) return;
  spec->clip = take_double(in);
  spec->n_knots = (int8_t)take_byte(in) % (MOST_BINS + 1);
  for (int32_t i = 0; i < 3 * spec->n_knots; i++) a->knots[i] = take_double(in);
  spec->knots = spec->n_knots > 0 ? a->knots : NULL;
}

/* How samples were drawn, and what is decided; rows that can be so many more often than bytes would. */
static void take_design(input *in, fastbin_model_spec *spec, arrays *a) {
  static const char record[FASTBIN_MAX_DECISION_SIZE + 1] = "{}";
  uint8_t which = take_byte(in);
  if (which & 1) spec->sampling_rate = take_double(in);
  if (which & 2) spec->odds_ratio = spec->sampling_rate;
  for (int32_t b = 0; b < spec->n_bins && which & 12; b++) {
    a->pool_counts[b] = a->counts[b] + (int8_t)take_byte(in);
    a->population_counts[b] = which & 16 ? (int64_t)take_word(in) : a->counts[b] + take_byte(in);
  }
  spec->pool_counts = which & 4 ? a->pool_counts : NULL;
  spec->population_counts = which & 8 ? a->population_counts : NULL;
  if (which & 32) spec->decision = record;
  if (which & 64) spec->decision_size = which & 128 ? sizeof record : take_byte(in);
  if (!(which & 96)) return;
  spec->accept_above = take_double(in);
  spec->reject_below = take_double(in);
}

static void take_spec(input *in, fastbin_model_spec *spec, arrays *a) {
  static const char note[] = "a note", event[] = "d\xc3\xa9" "faut", text[FASTBIN_MAX_PROVENANCE_SIZE + 1] = "{}";
  uint8_t rest;
  memset(spec, 0, sizeof *spec);
  spec->struct_size = sizeof *spec;
  spec->kind = (int8_t)take_byte(in);
  spec->scheme = (int8_t)take_byte(in);
  spec->ties = (int8_t)take_byte(in);
  spec->map = (int8_t)take_byte(in);
  for (int i = 0; i < 4; i++) spec->map_parameters[i] = take_double(in);
  spec->n_bins = (int8_t)take_byte(in) % (MOST_BINS + 1);
  spec->n_bins_asked = (int8_t)take_byte(in);
  take_columns(in, spec, a, take_byte(in));
  spec->score_min = take_double(in);
  spec->score_max = take_double(in);
  spec->delta = take_double(in);
  spec->odds_ratio = take_double(in);
  spec->seed = take_word(in);
  spec->n_samples = (int64_t)take_word(in);
  spec->n_positive = (int64_t)take_word(in);
  spec->n_tied = (int64_t)take_word(in);
  rest = take_byte(in);
  if (rest & 1) spec->note_size = sizeof note - 1;
  if (rest & 2) spec->note = note;
  if (rest & 4) spec->struct_size = take_byte(in);
  if (rest & 8) spec->event_size = take_byte(in) % sizeof event; /* every other length ends within a character */
  if (rest & 16) spec->event = event;
  if (rest & 32) spec->provenance_size = rest & 128 ? sizeof text : take_byte(in);
  if (rest & 64) spec->provenance = text;
  take_evidence(in, spec, a);
  take_resolution(in, spec, a);
  take_design(in, spec, a);
}

static const char *path_of_file(void) {
  static char path[256];
  const char *folder = getenv("TMPDIR");
  if (!path[0]) snprintf(path, sizeof path, "%s/fastbin-fuzz-%ld", folder ? folder : "/tmp", (long)getpid());
  return path;
}

/* Saved over a file that is there, loaded again; and nothing else is loaded. */
static void use_files(const fastbin_model *model, uint64_t number) {
  size_t size = fastbin_model_size(model);
  uint8_t *bytes = reserve(size), *loaded = reserve(size);
  fastbin_model *second;
  FILE *file;
  require(fastbin_model_save(model, path_of_file()) == FASTBIN_OK, "saving failed");
  require(fastbin_model_save(model, "/nowhere/to/be/found") == FASTBIN_ERROR_OPEN, "saved nowhere");
  require(fastbin_model_load(path_of_file(), &second) == FASTBIN_OK, "loading failed");
  require(fastbin_model_write(model, bytes, size) == FASTBIN_OK, "writing failed");
  require(fastbin_model_write(second, loaded, size) == FASTBIN_OK, "writing what was loaded failed");
  require(memcmp(bytes, loaded, size) == 0, "another model was loaded");
  fastbin_model_free(second);
  bytes[number % size] ^= (uint8_t)(1u << (number >> 61));
  file = fopen(path_of_file(), "wb");
  require(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "a file cannot be written");
  require(fastbin_model_load(path_of_file(), &second) != FASTBIN_OK && !second, "a flipped bit was not seen");
  require(remove(path_of_file()) == 0, "a file is gone");
  require(fastbin_model_load(path_of_file(), &second) == FASTBIN_ERROR_OPEN && !second, "loaded what is not there");
  free(bytes);
  free(loaded);
}

/* Streams over the bins, and going on from the tally, where that is allowed. */
static void use_streams(const fastbin_model *model) {
  fastbin_stream *stream, *second;
  if (fastbin_stream_create(model, &stream) == FASTBIN_OK) {
    (void)fastbin_stream_update_one(stream, 0.5, 3, 1, NULL);
    require(fastbin_stream_update_one(stream, 0.5, 3, 2, NULL) != FASTBIN_OK, "a label of 2 was counted");
    if (fastbin_stream_continue(model, &second) == FASTBIN_OK) {
      int is_empty = fastbin_stream_n_samples(second) == 0 || fastbin_stream_n_samples(stream) == 0;
      require(fastbin_stream_merge(second, stream) == FASTBIN_OK, "a stream cannot be merged");
      require(is_empty || !fastbin_stream_has_variance(second), "a variance out of nothing");
    }
    fastbin_stream_free(second);
  }
  fastbin_stream_free(stream);
}

/* A number of ones that can be among so many, and a label that can be one of theirs. */
static void use_draws(uint64_t number) {
  int64_t count = (int64_t)(number >> (11 + number % 50)), ones = count > 0 ? (int64_t)(mix_bits(number) % (uint64_t)count) : 0;
  int64_t chosen = count > 0 && count < 1000000000 ? (int64_t)(mix_bits(~number) % (uint64_t)count) : (int64_t)(number % 2);
  int64_t f, y;
  if (chosen > count) chosen = count;
  require(fastbin_draw_labels(number, 0.5, count, ones, chosen, &f, &y) == FASTBIN_OK, "cannot be drawn");
  require(f >= 0 && f <= chosen && f <= ones && chosen - f <= count - ones, "drawn what is not there");
  require(y >= 0 && y <= 1 && y <= f && 1 - y <= chosen - f + (chosen == 0), "a label of none of them");
  require(fastbin_draw_labels(number, 0.5, count, count + 1, chosen, &f, &y) == FASTBIN_ERROR_ARGUMENT, "more than all");
  require(fastbin_draw_labels(number, NAN, count, ones, chosen, &f, &y) == FASTBIN_ERROR_SCORE_NAN, "no score");
  require(fastbin_draw_labels(number, INFINITY, count, ones, chosen, &f, &y) == FASTBIN_ERROR_SCORE_RANGE, "no score");
}

/* Keys come out the same one by one and many at a time. */
static void use_keys(uint64_t number) {
  uint64_t keys[20];
  double score = ldexp((double)(number >> 11), -53);
  fastbin_group_keys(number, score, 5, 20, keys);
  for (uint64_t j = 0; j < 20; j++) require(keys[j] == fastbin_group_key(number, score, 5 + j), "a key is another");
  require(fastbin_split_key(number, -0.0, 1) == fastbin_split_key(number, 0.0, 1), "zeros differ");
  require(strcmp(fastbin_version(), FASTBIN_VERSION_STRING) == 0, "another version");
  for (size_t n = 0; n < sizeof keys; n += 1 + (size_t)(number % 7)) {
    require(fastbin_hash_key(keys, n, keys, sizeof keys) == fastbin_hash_key(keys, n, keys, sizeof keys), "a hash is another");
    require(fastbin_hash_key(keys, sizeof keys - n, keys, n) != UINT64_MAX, "a hash is no key");
  }
}

/* What a caller may get wrong without a model. */
static void check_arguments(const uint8_t *data) {
  fastbin_model *model;
  fastbin_stream *stream;
  fastbin_monitor *monitor;
  require(fastbin_model_create(NULL, &model) == FASTBIN_ERROR_ARGUMENT, "made from nothing");
  require(fastbin_model_read(NULL, 8, &model) == FASTBIN_ERROR_ARGUMENT, "read from nothing");
  require(fastbin_model_read(data, 8, NULL) == FASTBIN_ERROR_ARGUMENT, "read into nothing");
  require(fastbin_model_load(NULL, &model) == FASTBIN_ERROR_ARGUMENT, "loaded from nothing");
  require(fastbin_stream_read(NULL, 8, &stream) == FASTBIN_ERROR_ARGUMENT, "read from nothing");
  require(fastbin_model_size(NULL) == 0, "nothing has a size");
  fastbin_model_free(NULL);
  require(fastbin_monitor_read(NULL, 8, &monitor) == FASTBIN_ERROR_ARGUMENT && !monitor, "read from nothing");
  require(fastbin_monitor_read(data, 8, NULL) == FASTBIN_ERROR_ARGUMENT, "read into nothing");
  require(fastbin_monitor_size(NULL) == 0 && fastbin_stream_size(NULL) == 0, "nothing has a size");
  fastbin_stream_free(NULL);
  fastbin_monitor_free(NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static arrays a;
  input in = {data, data + size};
  uint64_t number = digest_of(data, size);
  union { /* a struct of a later version may be larger */
    fastbin_model_spec known;
    uint8_t room[640];
  } spec;
  fastbin_model *model;
  fastbin_status status;
  choose_build(number);
  memset(&a, 0, sizeof a);
  memset(&spec, 0, sizeof spec);
  take_spec(&in, &spec.known, &a);
  if (number % 64 == 0) check_arguments(data);
  if (number % 8 == 0) use_keys(number);
  if (number % 4 == 0) use_draws(number);
  status = fastbin_model_create(&spec.known, &model);
  require((status == FASTBIN_OK) == (model != NULL), "status and model contradict each other");
  require(fastbin_status_string((fastbin_status)(number % 80))[0] != '\0', "a status has no text");
  if (status != FASTBIN_OK) return 0;
  use_model(model, NULL, 0, number);
  use_streams(model);
  if (number % 16 == 0) use_files(model, number);
  fastbin_model_free(model);
  return 0;
}
