/*
 * stream_format.c: a stream as bytes. FORMAT-stream.md is the specification; change both together.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "stream.h"

#define FORMAT_VERSION 1
#define HEADER_SIZE 56
#define CHECKSUM_SIZE 8
#define HAS_VARIANCE 1u
#define HAS_FIT 2u

/* As a model's, but for the fourth byte. */
static const unsigned char magic[8] = {0x89, 'F', 'B', 'S', '\r', '\n', 0x1A, '\n'};

static unsigned char *put_word(unsigned char *at, uint64_t word) {
  for (int i = 0; i < 8; i++) at[i] = (unsigned char)(word >> (8 * i));
  return at + 8;
}

static uint64_t take_word(const unsigned char **at) {
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) word |= (uint64_t)(*at)[i] << (8 * i);
  *at += 8;
  return word;
}

static int64_t take_count(const unsigned char **at) {
  uint64_t word = take_word(at);
  int64_t count;
  memcpy(&count, &word, sizeof count);
  return count;
}

/* The checksum of a model (FORMAT.md). */
static uint64_t checksum_of(const unsigned char *bytes, size_t size) {
  uint64_t state = 0;
  for (const unsigned char *at = bytes; at < bytes + size;) state = mix(state ^ take_word(&at));
  return state;
}

static size_t size_around(size_t partition_size, size_t n_bins, int has_variance) {
  return HEADER_SIZE + partition_size + (has_variance ? 24u : 16u) * n_bins + CHECKSUM_SIZE;
}

size_t fastbin_stream_size(const fastbin_stream *stream) {
  return size_around(fastbin_model_size(stream->partition), (size_t)stream->spec.n_bins, stream->has_variance);
}

fastbin_status fastbin_stream_write(const fastbin_stream *stream, void *buffer, size_t capacity) {
  unsigned char *start = buffer;
  unsigned char *at = start;
  size_t size, partition_size;
  uint64_t flags;
  if (!stream || !buffer) return FASTBIN_ERROR_ARGUMENT;
  size = fastbin_stream_size(stream);
  if (capacity < size) return FASTBIN_ERROR_BUFFER;
  partition_size = fastbin_model_size(stream->partition);
  flags = (stream->has_variance ? HAS_VARIANCE : 0u) | (stream->has_fit ? HAS_FIT : 0u);
  memcpy(at, magic, sizeof magic);
  at = put_word(at + sizeof magic, FORMAT_VERSION | flags << 32);
  at = put_word(at, size);
  at = put_word(at, (uint64_t)stream->n_samples);
  at = put_word(at, (uint64_t)stream->n_positive);
  at = put_word(at, (uint64_t)stream->n_tied);
  at = put_word(at, partition_size);
  fastbin_model_write(stream->partition, at, partition_size);
  at += partition_size;
  for (int32_t b = 0; b < stream->spec.n_bins; b++) at = put_word(at, (uint64_t)stream->tallies[b].count);
  for (int32_t b = 0; b < stream->spec.n_bins; b++) at = put_word(at, (uint64_t)stream->tallies[b].label_sum);
  for (int32_t b = 0; stream->has_variance && b < stream->spec.n_bins; b++) {
    at = put_word(at, bits_of(stream->tallies[b].running_variance));
  }
  put_word(at, checksum_of(start, (size_t)(at - start)));
  return FASTBIN_OK;
}

/* What it takes to trust the length and to know the version. */
static fastbin_status check_header(const unsigned char *bytes, size_t size, uint64_t *flags) {
  size_t compared = size < sizeof magic ? size : sizeof magic;
  const unsigned char *at = bytes + compared;
  const unsigned char *checksum;
  uint64_t version;
  if (memcmp(bytes, magic, compared) != 0) return FASTBIN_ERROR_MAGIC;
  if (size < HEADER_SIZE + CHECKSUM_SIZE) return FASTBIN_ERROR_LENGTH;
  version = take_word(&at);
  *flags = version >> 32;
  version &= UINT32_MAX;
  if (version > FORMAT_VERSION) return FASTBIN_ERROR_FORMAT_VERSION;
  if (take_word(&at) != size || size % 8 != 0) return FASTBIN_ERROR_LENGTH;
  checksum = bytes + size - CHECKSUM_SIZE;
  if (checksum_of(bytes, size - CHECKSUM_SIZE) != take_word(&checksum)) return FASTBIN_ERROR_CHECKSUM;
  if (version != FORMAT_VERSION) return FASTBIN_ERROR_CONTENT; /* version 0 was never written */
  return *flags & ~(uint64_t)(HAS_VARIANCE | HAS_FIT) ? FASTBIN_ERROR_FORMAT_VERSION : FASTBIN_OK;
}

static void take_tallies(fastbin_stream *stream, const unsigned char *at) {
  int32_t n_bins = stream->spec.n_bins;
  for (int32_t b = 0; b < n_bins; b++) stream->tallies[b].count = take_count(&at);
  for (int32_t b = 0; b < n_bins; b++) stream->tallies[b].label_sum = take_count(&at);
  for (int32_t b = 0; stream->has_variance && b < n_bins; b++) {
    stream->tallies[b].running_variance = double_of(take_word(&at));
  }
}

/* Whether counting can have led here. fastbin_model_create() holds the tally against the totals. */
static fastbin_status check_stream(const fastbin_stream *stream) {
  fastbin_model *snapshot;
  fastbin_status status;
  int64_t n_counted = 0, n_positive = 0;
  if (stream->n_samples > MOST_SAMPLES) return FASTBIN_ERROR_CONTENT;
  for (int32_t b = 0; b < stream->spec.n_bins; b++) {
    double variance = stream->tallies[b].running_variance;
    /* Each sample adds the square of a difference within [0, 1]; that is never -0.0. */
    if (!is_finite(variance) || bits_of(variance) >> 63) return FASTBIN_ERROR_CONTENT;
    if (variance > (double)stream->tallies[b].count) return FASTBIN_ERROR_CONTENT;
  }
  status = fastbin_stream_snapshot(stream, &snapshot);
  if (status != FASTBIN_OK) return status == FASTBIN_ERROR_MEMORY ? status : FASTBIN_ERROR_CONTENT;
  fastbin_model_free(snapshot);
  if (stream->has_fit) return FASTBIN_OK; /* which may have seen samples that no bin counts */
  for (int32_t b = 0; b < stream->spec.n_bins; b++) {
    n_counted += stream->tallies[b].count;
    n_positive += stream->tallies[b].label_sum;
  }
  return n_counted == stream->n_samples && n_positive == stream->n_positive ? FASTBIN_OK : FASTBIN_ERROR_CONTENT;
}

/* The stream in bytes whose header is good; on failure *stream is to be freed if it is not NULL. */
static fastbin_status decode_stream(const unsigned char *bytes, size_t size, uint64_t flags, fastbin_stream **stream) {
  const unsigned char *at = bytes + 24;
  fastbin_model *partition;
  fastbin_model_spec spec;
  fastbin_status status;
  int64_t n_samples = take_count(&at);
  int64_t n_positive = take_count(&at);
  int64_t n_tied = take_count(&at);
  uint64_t partition_size = take_word(&at);
  if (partition_size > size - HEADER_SIZE - CHECKSUM_SIZE) return FASTBIN_ERROR_CONTENT;
  status = fastbin_model_read(at, (size_t)partition_size, &partition);
  if (status != FASTBIN_OK) {
    return status == FASTBIN_ERROR_MEMORY || status == FASTBIN_ERROR_FORMAT_VERSION ? status : FASTBIN_ERROR_CONTENT;
  }
  spec.struct_size = sizeof spec;
  fastbin_model_describe(partition, &spec);
  if (spec.kind != FASTBIN_STEP || size != size_around((size_t)partition_size, (size_t)spec.n_bins, flags & HAS_VARIANCE)) {
    fastbin_model_free(partition);
    return FASTBIN_ERROR_CONTENT;
  }
  status = fastbin_stream_over(partition, stream);
  if (status != FASTBIN_OK) return status;
  (*stream)->n_samples = n_samples;
  (*stream)->n_positive = n_positive;
  (*stream)->n_tied = n_tied;
  (*stream)->has_variance = (flags & HAS_VARIANCE) != 0;
  (*stream)->has_fit = (flags & HAS_FIT) != 0;
  take_tallies(*stream, at + partition_size);
  return check_stream(*stream);
}

fastbin_status fastbin_stream_read(const void *bytes, size_t size, fastbin_stream **stream) {
  uint64_t flags;
  fastbin_status status;
  if (!stream) return FASTBIN_ERROR_ARGUMENT;
  *stream = NULL;
  if (!bytes) return FASTBIN_ERROR_ARGUMENT;
  status = check_header(bytes, size, &flags);
  if (status == FASTBIN_OK) status = decode_stream(bytes, size, flags, stream);
  if (status == FASTBIN_OK) return status;
  fastbin_stream_free(*stream);
  *stream = NULL;
  return status;
}
