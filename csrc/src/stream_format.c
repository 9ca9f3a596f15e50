/*
 * stream_format.c: a stream as bytes. FORMAT.md, "Streams", is the specification; change both together.
 *
 * Written as a container of version 2. Version 1, that of fastbin 0.1.0, has the same parts without sections; both are read
 * into `parts`, and the rest of the code is common.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "stream.h"

#include "bytes.h"

#define HEAD_SIZE 32
#define HAS_VARIANCE 1u
#define HAS_FIT 2u

enum section { HEAD, MODL, TALY, VARI, N_SECTIONS };

static const section_kind sections[N_SECTIONS] = {
    [HEAD] = {TAG('H', 'E', 'A', 'D'), MUST_UNDERSTAND}, [MODL] = {TAG('M', 'O', 'D', 'L'), MUST_UNDERSTAND},
    [TALY] = {TAG('T', 'A', 'L', 'Y'), MUST_UNDERSTAND}, [VARI] = {TAG('V', 'A', 'R', 'I'), MUST_UNDERSTAND},
};

static const container_kind stream_kind = {'S', 2, N_SECTIONS, sections};

static void section_sizes(const fastbin_stream *stream, size_t *sizes) {
  size_t n_bins = (size_t)stream->partition->spec.n_bins;
  sizes[HEAD] = HEAD_SIZE;
  sizes[MODL] = fastbin_model_size(stream->partition);
  sizes[TALY] = 16 * n_bins;
  sizes[VARI] = stream->has_variance ? 8 * n_bins : 0;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Writing                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

size_t fastbin_stream_size(const fastbin_stream *stream) {
  size_t sizes[N_SECTIONS];
  if (!stream) return 0;
  section_sizes(stream, sizes);
  return fastbin_container_size(&stream_kind, sizes);
}

static unsigned char *put_section(unsigned char *at, const void *content, int section, size_t size) {
  const fastbin_stream *stream = content;
  int32_t n_bins = stream->partition->spec.n_bins;
  switch ((enum section)section) {
    case HEAD:
      at = put_u32(at, (stream->has_variance ? HAS_VARIANCE : 0u) | (stream->has_fit ? HAS_FIT : 0u));
      at = put_i64(put_i64(put_u32(at, 0), stream->n_samples), stream->n_positive);
      return put_i64(at, stream->n_tied);
    case MODL:
      fastbin_model_write(stream->partition, at, size);
      return at + size;
    case TALY:
      for (int32_t b = 0; b < n_bins; b++) at = put_i64(at, stream->tallies[b].count);
      for (int32_t b = 0; b < n_bins; b++) at = put_i64(at, stream->tallies[b].label_sum);
      return at;
    case VARI:
      for (int32_t b = 0; b < n_bins; b++) at = put_double(at, stream->tallies[b].running_variance);
      return at;
    case N_SECTIONS:
      break;
  }
  return at;
}

fastbin_status fastbin_stream_write(const fastbin_stream *stream, void *buffer, size_t capacity) {
  size_t sizes[N_SECTIONS];
  if (!stream || !buffer) return FASTBIN_ERROR_ARGUMENT;
  section_sizes(stream, sizes);
  return fastbin_write_container(&stream_kind, sizes, put_section, stream, buffer, capacity);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Reading                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

/* Where the parts of a stream lie in its bytes, whatever the version. */
struct parts {
  int is_version_1;
  uint32_t flags;
  const unsigned char *totals; /* samples, of these with label 1, of these tied: 3 x i64 */
  payload model;
  payload tally;
  payload variances;           /* empty if they are not known */
};

static fastbin_status find_parts(const unsigned char *bytes, size_t size, struct parts *parts) {
  payload payloads[N_SECTIONS];
  fastbin_status status = fastbin_read_container(&stream_kind, bytes, size, NULL, payloads);
  if (status != FASTBIN_OK) return status;
  if (payloads[HEAD].size != HEAD_SIZE || get_u32(payloads[HEAD].start + 4) != 0) return FASTBIN_ERROR_CONTENT;
  parts->flags = get_u32(payloads[HEAD].start);
  parts->totals = payloads[HEAD].start + 8;
  parts->model = payloads[MODL];
  parts->tally = payloads[TALY];
  parts->variances = payloads[VARI];
  return FASTBIN_OK;
}

/* Version 1: flags at 12, totals at 24, the length of the model at 48, the model at 56, then the arrays. */
static fastbin_status find_parts_of_version_1(const unsigned char *bytes, size_t size, struct parts *parts) {
  size_t start = 56, rest, per_bin;
  uint64_t model_size;
  fastbin_status status = fastbin_check_container(&stream_kind, bytes, size);
  if (status != FASTBIN_OK) return status;
  if (size < start + CHECKSUM_SIZE) return FASTBIN_ERROR_LENGTH;
  model_size = get_u64(bytes + 48);
  if (model_size > size - start - CHECKSUM_SIZE || model_size % 8 != 0) return FASTBIN_ERROR_CONTENT;
  parts->flags = get_u32(bytes + 12);
  parts->totals = bytes + 24;
  parts->model = (payload){bytes + start, (size_t)model_size};
  start += (size_t)model_size;
  rest = size - CHECKSUM_SIZE - start;
  per_bin = parts->flags & HAS_VARIANCE ? 24 : 16;
  if (rest == 0 || rest % per_bin != 0) return FASTBIN_ERROR_CONTENT;
  parts->tally = (payload){bytes + start, rest / per_bin * 16};
  parts->variances = (payload){bytes + start + parts->tally.size, rest - parts->tally.size};
  return FASTBIN_OK;
}

static void take_tallies(fastbin_stream *stream, const struct parts *parts) {
  const unsigned char *at = parts->tally.start;
  int32_t n_bins = stream->partition->spec.n_bins;
  for (int32_t b = 0; b < n_bins; b++) stream->tallies[b].count = take_i64(&at);
  for (int32_t b = 0; b < n_bins; b++) stream->tallies[b].label_sum = take_i64(&at);
  at = parts->variances.start;
  for (int32_t b = 0; stream->has_variance && b < n_bins; b++) stream->tallies[b].running_variance = take_double(&at);
}

/*
 * Whether counting can lead to these tallies of one bin. The first label adds exactly 1/4 to the running variance, each
 * later one at most 1; nothing adds -0.0.
 */
static int tally_can_be(const struct tally *tally, int has_variance) {
  double variance = tally->running_variance;
  if (!is_finite(variance) || is_negative_zero(variance)) return 0;
  if (!has_variance || tally->count == 0) return variance == 0.0;
  return variance >= 0.25 && variance <= (double)tally->count;
}

/* Whether a stream that went on from the tally of its model still holds it. */
static int holds_fit(const fastbin_stream *stream) {
  const fastbin_model_spec *spec = &stream->partition->spec;
  if (!spec->counts || fastbin_is_conditioned(spec) || spec->weight_sums || (stream->has_variance && spec->n_samples > 0)) return 0;
  if (stream->n_samples < spec->n_samples || stream->n_positive < spec->n_positive || stream->n_tied < spec->n_tied) return 0;
  if (stream->n_samples - stream->n_positive < spec->n_samples - spec->n_positive) return 0;
  for (int32_t b = 0; b < spec->n_bins; b++) {
    int64_t ones = stream->tallies[b].label_sum, zeros = stream->tallies[b].count - ones;
    if (ones < spec->label_sums[b] || zeros < spec->counts[b] - spec->label_sums[b]) return 0;
  }
  return 1;
}

/*
 * In version 1 a stream from zero samples could be merged with one that continued a fit, and kept its own model, without the
 * tally. All samples counted so far are then taken as those of the fit: nothing more is known of it.
 */
static void keep_as_fit(fastbin_stream *stream, fastbin_model *snapshot) {
  fastbin_model_free(stream->partition);
  stream->partition = snapshot;
  stream->has_variance = 0;
  for (int32_t b = 0; b < stream->partition->spec.n_bins; b++) stream->tallies[b].running_variance = 0.0;
}

/* Whether counting can lead to these parts. fastbin_model_create() compares the tally with the totals. */
static fastbin_status check_stream(fastbin_stream *stream, int is_version_1) {
  fastbin_model *snapshot;
  fastbin_status status;
  int64_t n_counted = 0, n_positive = 0;
  if (stream->n_samples > MOST_SAMPLES) return FASTBIN_ERROR_CONTENT;
  for (int32_t b = 0; b < stream->partition->spec.n_bins; b++) {
    if (!tally_can_be(&stream->tallies[b], stream->has_variance)) return FASTBIN_ERROR_CONTENT;
  }
  status = fastbin_stream_snapshot(stream, &snapshot);
  if (status != FASTBIN_OK) return status == FASTBIN_ERROR_MEMORY ? status : FASTBIN_ERROR_CONTENT;
  if (is_version_1 && stream->has_fit && !stream->partition->spec.counts) {
    keep_as_fit(stream, snapshot);
  } else {
    fastbin_model_free(snapshot);
  }
  if (!stream->splits_ties && stream->n_tied != 0 && !stream->has_fit) return FASTBIN_ERROR_CONTENT;
  if (stream->has_fit) return holds_fit(stream) ? FASTBIN_OK : FASTBIN_ERROR_CONTENT;
  for (int32_t b = 0; b < stream->partition->spec.n_bins; b++) {
    n_counted += stream->tallies[b].count;
    n_positive += stream->tallies[b].label_sum;
  }
  return n_counted == stream->n_samples && n_positive == stream->n_positive ? FASTBIN_OK : FASTBIN_ERROR_CONTENT;
}

/* The stream of these parts; on failure the caller frees *stream if it is not NULL. */
static fastbin_status decode_stream(const struct parts *parts, fastbin_stream **stream) {
  const unsigned char *totals = parts->totals;
  fastbin_model *partition;
  fastbin_status status;
  size_t n_bins, variances;
  if (parts->flags & ~(HAS_VARIANCE | HAS_FIT)) return FASTBIN_ERROR_FORMAT_VERSION;
  if (!parts->model.start) return FASTBIN_ERROR_CONTENT;
  status = fastbin_model_read(parts->model.start, parts->model.size, &partition);
  if (status != FASTBIN_OK) return status_of_part(status);
  n_bins = (size_t)partition->spec.n_bins;
  variances = parts->flags & HAS_VARIANCE ? 8 * n_bins : 0;
  if (partition->spec.kind != FASTBIN_STEP || parts->tally.size != 16 * n_bins || parts->variances.size != variances) {
    fastbin_model_free(partition);
    return FASTBIN_ERROR_CONTENT;
  }
  status = fastbin_stream_over(partition, stream);
  if (status != FASTBIN_OK) return status;
  (*stream)->n_samples = take_i64(&totals);
  (*stream)->n_positive = take_i64(&totals);
  (*stream)->n_tied = take_i64(&totals);
  (*stream)->has_variance = (parts->flags & HAS_VARIANCE) != 0;
  (*stream)->has_fit = (parts->flags & HAS_FIT) != 0;
  take_tallies(*stream, parts);
  return check_stream(*stream, parts->is_version_1);
}

fastbin_status fastbin_stream_read(const void *bytes, size_t size, fastbin_stream **stream) {
  struct parts parts;
  fastbin_status status;
  if (!stream) return FASTBIN_ERROR_ARGUMENT;
  *stream = NULL;
  if (!bytes) return FASTBIN_ERROR_ARGUMENT;
  status = fastbin_check_start(&stream_kind, bytes, size);
  if (status == FASTBIN_OK) {
    parts.is_version_1 = get_u32((const unsigned char *)bytes + 8) == 1;
    status = parts.is_version_1 ? find_parts_of_version_1(bytes, size, &parts) : find_parts(bytes, size, &parts);
  }
  if (status == FASTBIN_OK) status = decode_stream(&parts, stream);
  if (status == FASTBIN_OK) return status;
  fastbin_stream_free(*stream);
  *stream = NULL;
  return status;
}
