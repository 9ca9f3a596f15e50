/*
 * fuzz_stream.c: hostile bytes for a stream. What is read must be refused, or count on, merge, and make models.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "use.h"

#define N_SAMPLES 40

/* Written to bytes that are read to the same bytes. */
static void rewrite(const fastbin_stream *stream) {
  size_t size = fastbin_stream_size(stream);
  uint8_t *written = reserve(size), *again = reserve(size);
  fastbin_stream *second;
  require(fastbin_stream_write(stream, written, size - 1) == FASTBIN_ERROR_BUFFER, "a buffer that is too small");
  require(fastbin_stream_write(stream, written, size) == FASTBIN_OK, "writing a stream failed");
  require(fastbin_stream_read(written, size, &second) == FASTBIN_OK, "what was written cannot be read");
  require(fastbin_stream_size(second) == size, "sizes differ");
  require(fastbin_stream_write(second, again, size) == FASTBIN_OK, "second write failed");
  require(memcmp(written, again, size) == 0, "rewriting is not stable");
  fastbin_stream_free(second);
  free(written);
  free(again);
}

static void snapshot(const fastbin_stream *stream, uint64_t number) {
  fastbin_model *model;
  require(fastbin_stream_snapshot(stream, &model) == FASTBIN_OK, "a stream makes no model");
  use_model(model, NULL, 0, number);
  fastbin_model_free(model);
}

/* Some samples, all at once and one by one: the same bytes. */
static void count(const uint8_t *bytes, size_t size, fastbin_stream *stream, uint64_t number) {
  static double scores[N_SAMPLES];
  static uint8_t labels[N_SAMPLES];
  static int32_t bins[N_SAMPLES];
  const int64_t n_before = fastbin_stream_n_samples(stream);
  fastbin_model_spec spec;
  fastbin_stream *twin;
  fastbin_rows rows;
  size_t bad_row = 0;
  fastbin_status status, expected = FASTBIN_OK;
  spec.struct_size = sizeof spec;
  require(fastbin_model_describe(fastbin_stream_partition(stream), &spec) == FASTBIN_OK, "describe failed");
  require(fastbin_stream_read(bytes, size, &twin) == FASTBIN_OK, "read once, but not twice");
  for (int i = 0; i < N_SAMPLES; i++) {
    int32_t n_edges = spec.n_steps - 1;
    int at_edge = n_edges > 0 && i % 2;
    scores[i] = at_edge ? spec.edges[mix_bits(number + (uint64_t)i) % (uint64_t)n_edges]
                        : ldexp((double)(mix_bits(number ^ (uint64_t)i) >> 11), -53);
    labels[i] = (uint8_t)(mix_bits(number - (uint64_t)i) & 1);
  }
  if (number % 16 == 0) labels[N_SAMPLES / 2] = 2;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = scores;
  rows.score_stride = sizeof(double);
  rows.n_rows = N_SAMPLES;
  rows.seed = number;
  rows.first_row = (uint64_t)n_before;
  status = fastbin_stream_update(stream, &rows, labels, bins, &bad_row);
  for (int i = 0; i < N_SAMPLES && expected == FASTBIN_OK; i++) {
    int32_t bin;
    expected = fastbin_stream_update_one(twin, scores[i], fastbin_row_key(number, (uint64_t)(n_before + i)), labels[i], &bin);
    if (status == FASTBIN_OK) require(bin == bins[i], "one by one and at once differ");
  }
  require((status == FASTBIN_OK) == (expected == FASTBIN_OK), "one by one and at once differ in status");
  require(fastbin_stream_n_samples(stream) == n_before + (status == FASTBIN_OK ? N_SAMPLES : 0), "samples were lost");
  if (status == FASTBIN_OK) {
    size_t after = fastbin_stream_size(stream);
    uint8_t *one = reserve(after), *other = reserve(after);
    require(fastbin_stream_size(twin) == after, "one by one and at once differ in size");
    require(fastbin_stream_write(stream, one, after) == FASTBIN_OK, "writing failed");
    require(fastbin_stream_write(twin, other, after) == FASTBIN_OK, "writing failed");
    require(memcmp(one, other, after) == 0, "one by one and at once differ in bytes");
    free(one);
    free(other);
  }
  fastbin_stream_free(twin);
}

/* Into an empty stream over the same bins, into one that went on from a tally, and into itself. */
static void merge(const fastbin_stream *stream, uint64_t number) {
  const fastbin_model *partition = fastbin_stream_partition(stream);
  fastbin_model *model;
  fastbin_stream *other;
  require(fastbin_stream_create(partition, &other) == FASTBIN_OK, "no stream over these bins");
  require(fastbin_stream_merge(other, other) == FASTBIN_ERROR_ARGUMENT, "merged into itself");
  if (fastbin_stream_merge(other, stream) == FASTBIN_OK) {
    require(fastbin_stream_n_samples(other) == fastbin_stream_n_samples(stream), "samples were lost");
    require(fastbin_stream_has_variance(other) == fastbin_stream_has_variance(stream), "variances were lost");
    fastbin_stream_update_one(other, 0.5, number >> 1, 1, NULL);
    (void)fastbin_stream_merge(other, stream);
    rewrite(other);
  }
  fastbin_stream_free(other);
  require(fastbin_stream_snapshot(stream, &model) == FASTBIN_OK, "a stream makes no model");
  if (fastbin_stream_continue(model, &other) == FASTBIN_OK) {
    (void)fastbin_stream_merge(other, stream);
    rewrite(other);
  }
  fastbin_stream_free(other);
  fastbin_model_free(model);
  (void)fastbin_stream_continue(partition, &other);
  fastbin_stream_free(other);
}

static void show(const fastbin_stream *stream) {
  fastbin_model_spec spec;
  double *variances;
  int64_t *counts;
  spec.struct_size = sizeof spec;
  require(fastbin_model_describe(fastbin_stream_partition(stream), &spec) == FASTBIN_OK, "describe failed");
  variances = reserve((size_t)spec.n_bins * sizeof *variances);
  counts = reserve((size_t)spec.n_bins * sizeof *counts);
  require(fastbin_stream_tally(stream, counts, counts, NULL) == FASTBIN_OK, "no tally");
  require((fastbin_stream_tally(stream, NULL, NULL, variances) == FASTBIN_OK) == fastbin_stream_has_variance(stream),
          "known variances are not reported, or unknown ones are");
  free(variances);
  free(counts);
}

static int use(const uint8_t *bytes, size_t size) {
  uint64_t number = digest_of(bytes, size);
  fastbin_stream *stream;
  fastbin_status status;
  choose_build(number);
  status = fastbin_stream_read(bytes, size, &stream);
  require((status == FASTBIN_OK) == (stream != NULL), "status and stream contradict each other");
  if (status != FASTBIN_OK) return 0;
  /* Version 1 has no headers of sections. */
  require(fastbin_stream_size(stream) <= size + (bytes[8] == 1 ? 64 : 0), "rewriting makes the stream larger");
  show(stream);
  rewrite(stream);
  snapshot(stream, number);
  merge(stream, number);
  count(bytes, size, stream, number);
  rewrite(stream);
  snapshot(stream, number >> 13);
  fastbin_stream_free(stream);
  return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return use_mended(data, size, use); }
