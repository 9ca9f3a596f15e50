/*
 * fuzz_read.c: hostile bytes. Whatever is read must be refused or be a model, or a stream, that works.
 *
 *     make fuzz && build/fuzz_read -max_len=4096 build/corpus         # libFuzzer, needs clang
 *     cc -DSTANDALONE ... fuzz/fuzz_read.c SOURCES -lm             # replays files; the form that AFL takes
 *
 * Few mutations survive the checksum, so the target also mends it: the input as it is, then the same with the length and
 * checksum that its content should have (and those of the model inside, if it is a stream), which lets the fuzzer reach
 * everything behind them.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "fastbin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "fuzz_read: %s\n", what);
  abort();
}

/* A model that was read is written to the same bytes, unless sections were skipped; those bytes can be read in any case. */
static void rewrite(const fastbin_model *model, const uint8_t *bytes, size_t size) {
  size_t new_size = fastbin_model_size(model);
  uint8_t *written = malloc(new_size), *again = malloc(new_size);
  fastbin_model *second;
  require(written && again, "memory");
  require(new_size <= size, "rewriting made the model larger");
  require(fastbin_model_write(model, written, new_size) == FASTBIN_OK, "write failed");
  require(new_size != size || memcmp(written, bytes, size) == 0, "rewriting changed the bytes");
  require(fastbin_model_read(written, new_size, &second) == FASTBIN_OK, "what was written cannot be read");
  require(fastbin_model_size(second) == new_size, "sizes differ");
  require(fastbin_model_write(second, again, new_size) == FASTBIN_OK, "second write failed");
  require(memcmp(written, again, new_size) == 0, "rewriting is not stable");
  fastbin_model_free(second);
  free(written);
  free(again);
}

/* The bin as the header defines it. */
static int32_t bin_by_definition(const fastbin_model_spec *spec, double score, uint64_t key) {
  int32_t bin = 0;
  for (int32_t i = 0; i < spec->n_bins - 1; i++) {
    bin += score > spec->edges[i] || (score == spec->edges[i] && key >= spec->edge_keys[i]);
  }
  return bin;
}

static void score_one(const fastbin_model *model, const fastbin_model_spec *spec, double score, uint64_t key) {
  fastbin_rows rows;
  double value, same;
  int32_t bin;
  fastbin_status status = fastbin_predict_one(model, score, key, &value);
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = &score;
  rows.n_rows = 1;
  rows.keys = &key;
  require(fastbin_predict(model, &rows, &same, NULL) == status, "single and batch calls differ in status");
  if (status != FASTBIN_OK) {
    require(value != value, "a refused score has a value");
    return;
  }
  require(value >= 0.0 && value <= 1.0 && value == same, "a value is wrong");
  if (spec->kind != FASTBIN_STEP) return;
  require(fastbin_assign_one(model, score, key, &bin) == FASTBIN_OK, "a score with a value has no bin");
  require(bin == bin_by_definition(spec, score, key), "a bin is wrong");
}

static void score(const fastbin_model *model, const fastbin_model_spec *spec) {
  static const double scores[] = {0.0, -0.0, 0.3, 1.0, -1.0, 1e-310, -1e308, 1e308, INFINITY, -INFINITY, NAN};
  int32_t n_edges = spec->kind == FASTBIN_STEP ? spec->n_bins - 1 : spec->n_bins;
  for (size_t i = 0; i < sizeof scores / sizeof scores[0]; i++) score_one(model, spec, scores[i], i);
  for (int32_t i = 0; i < n_edges && i < 64; i++) {
    score_one(model, spec, spec->edges[i], spec->edge_keys[i] == UINT64_MAX ? 0 : spec->edge_keys[i]);
    score_one(model, spec, nextafter(spec->edges[i], INFINITY), 0);
    score_one(model, spec, nextafter(spec->edges[i], -INFINITY), 0);
  }
}

/* A stream gives back its bytes, counts on, and makes a model. */
static void use_stream(fastbin_stream *stream, const uint8_t *bytes, size_t size) {
  const int64_t n_before = fastbin_stream_n_samples(stream);
  uint8_t *written = malloc(size);
  fastbin_model *snapshot;
  int32_t bin;
  require(written != NULL, "memory");
  require(fastbin_stream_size(stream) <= size, "rewriting made the stream larger");
  require(fastbin_stream_write(stream, written, size) == FASTBIN_OK, "writing a stream failed");
  require(fastbin_stream_size(stream) < size || memcmp(written, bytes, size) == 0, "rewriting changed the stream");
  free(written);
  require(fastbin_stream_snapshot(stream, &snapshot) == FASTBIN_OK, "a stream makes no model");
  fastbin_model_free(snapshot);
  if (fastbin_stream_update_one(stream, 0.5, 1, 1, &bin) == FASTBIN_OK) {
    require(bin >= 0 && fastbin_stream_n_samples(stream) == n_before + 1, "a sample was not counted");
  }
}

static int use(const uint8_t *bytes, size_t size) {
  fastbin_stream *stream;
  fastbin_model *model;
  fastbin_model_spec spec;
  fastbin_status status = fastbin_model_read(bytes, size, &model);
  require((status == FASTBIN_OK) == (model != NULL), "status and model contradict each other");
  if (status == FASTBIN_ERROR_MAGIC && fastbin_stream_read(bytes, size, &stream) == FASTBIN_OK) {
    use_stream(stream, bytes, size);
    fastbin_stream_free(stream);
    return 1;
  }
  if (status != FASTBIN_OK) return 0;
  spec.struct_size = sizeof spec;
  require(fastbin_model_describe(model, &spec) == FASTBIN_OK, "describe failed");
  rewrite(model, bytes, size);
  score(model, &spec);
  fastbin_model_free(model);
  return 1;
}

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static uint64_t get_word(const uint8_t *at) {
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) word |= (uint64_t)at[i] << (8 * i);
  return word;
}

static void put_word(uint8_t *at, uint64_t word) {
  for (int i = 0; i < 8; i++) at[i] = (uint8_t)(word >> (8 * i));
}

/* FORMAT.md and FORMAT-stream.md: the length at 16, the checksum at the end. */
static void mend(uint8_t *bytes, size_t size) {
  uint64_t state = 0;
  put_word(bytes + 16, size);
  for (size_t at = 0; at + 8 < size; at += 8) state = mix(state ^ get_word(bytes + at));
  put_word(bytes + size - 8, state);
}

/* FORMAT-stream.md: the size of the model inside at 48, the model at 56. */
static void mend_inside(uint8_t *bytes, size_t size) {
  uint64_t inside = size > 64 + 32 && bytes[3] == 'S' ? get_word(bytes + 48) : 0;
  if (inside >= 32 && inside <= size - 64 && inside % 8 == 0) mend(bytes + 56, (size_t)inside);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t whole = size - size % 8;
  uint8_t *copy;
  if (use(data, size) || whole < 32) return 0;
  copy = malloc(whole);
  require(copy != NULL, "memory");
  memcpy(copy, data, whole);
  mend_inside(copy, whole);
  mend(copy, whole);
  use(copy, whole);
  free(copy);
  return 0;
}

#ifdef STANDALONE

/* Replays the files it is given, or standard input. */
static void replay(FILE *file, const char *name) {
  static uint8_t bytes[1 << 20];
  size_t size;
  if (!file) {
    perror(name);
    exit(2);
  }
  size = fread(bytes, 1, sizeof bytes, file);
  LLVMFuzzerTestOneInput(bytes, size);
}

int main(int argc, char **argv) {
  if (argc == 1) replay(stdin, "standard input");
  for (int i = 1; i < argc; i++) {
    FILE *file = fopen(argv[i], "rb");
    replay(file, argv[i]);
    fclose(file);
  }
  printf("%d inputs, no finding\n", argc > 1 ? argc - 1 : 1);
  return 0;
}

#endif
