/*
 * monitor.c: the state of a monitor as bytes. FORMAT.md, "Monitors", is the specification; change both together.
 *
 * The library writes and reads the state, and refuses an impossible one; the caller computes the evidence.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "bytes.h"
#include "stream.h"

#include <math.h>
#include <stdlib.h>

#define HEAD_SIZE 32

enum section { HEAD, STRM, TOLR, EVID, SEEN, N_SECTIONS };

static const section_kind sections[N_SECTIONS] = {
    [HEAD] = {TAG('H', 'E', 'A', 'D'), MUST_UNDERSTAND}, [STRM] = {TAG('S', 'T', 'R', 'M'), MUST_UNDERSTAND},
    [TOLR] = {TAG('T', 'O', 'L', 'R'), MUST_UNDERSTAND}, [EVID] = {TAG('E', 'V', 'I', 'D'), MUST_UNDERSTAND},
    [SEEN] = {TAG('S', 'E', 'E', 'N'), MUST_UNDERSTAND},
};

static const container_kind monitor_kind = {'W', 1, N_SECTIONS, sections};

struct fastbin_monitor {
  fastbin_monitor_spec spec; /* its pointers point to the stream and to the memory after this struct */
  fastbin_stream *stream;
};

/* ------------------------------------------------------------------------------------------------------------- */
/* Which states are possible                                                                                     */
/* ------------------------------------------------------------------------------------------------------------- */

/* Logarithms of thresholds may differ in their last bits between systems. */
#define ROUNDING 1e-9

/* The evidence e, as a logarithm, has passed the threshold exactly if it did so at some sample that was counted. */
static int passed_can_be(double log_e, double log_threshold, int64_t at, int64_t n_samples) {
  if (is_nan(log_e) || log_e < 0.0 || is_negative_zero(log_e) || at < 0 || at > n_samples) return 0;
  if (at > 0) return log_e >= log_threshold - ROUNDING;
  return log_e < log_threshold + ROUNDING;
}

static int is_level(double alpha) { return alpha > 0.0 && alpha < 1.0; }

static int bin_can_be(const fastbin_monitor_spec *spec, int32_t b, double log_threshold) {
  const struct tally *tally = &spec->stream->tallies[b];
  double low = spec->tolerated[2 * (size_t)b], high = spec->tolerated[2 * (size_t)b + 1];
  if (!(low >= 0.0 && low <= high && high <= 1.0) || is_negative_zero(low) || is_negative_zero(high)) return 0;
  if (!passed_can_be(spec->max_log_e[b], log_threshold, spec->named_at[b], spec->stream->n_samples)) return 0;
  return tally->count > 0 || (spec->max_log_e[b] == 0.0 && spec->named_at[b] == 0);
}

static fastbin_status check_monitor(const fastbin_monitor_spec *spec) {
  double log_threshold;
  int32_t n_bins;
  if (!spec->stream || !spec->tolerated || !spec->max_log_e || !spec->named_at) return FASTBIN_ERROR_ARGUMENT;
  if (spec->n_seen > 0 && !spec->seen) return FASTBIN_ERROR_ARGUMENT;
  if (spec->n_seen > SIZE_MAX / 2 / FASTBIN_DIGEST_SIZE) return FASTBIN_ERROR_MEMORY;
  if (!is_level(spec->alpha) || (spec->interval_alpha != 0.0 && !is_level(spec->interval_alpha))) return FASTBIN_ERROR_CONTENT;
  if (is_negative_zero(spec->interval_alpha) || spec->stream->has_fit) return FASTBIN_ERROR_CONTENT;
  log_threshold = -log(spec->alpha);
  if (!passed_can_be(spec->max_log_mean, log_threshold, spec->alarm_at, spec->stream->n_samples)) return FASTBIN_ERROR_CONTENT;
  n_bins = spec->stream->spec.n_bins;
  log_threshold += log((double)n_bins);
  for (int32_t b = 0; b < n_bins; b++) {
    if (!bin_can_be(spec, b, log_threshold)) return FASTBIN_ERROR_CONTENT;
  }
  return FASTBIN_OK;
}

static fastbin_status check_given(const fastbin_monitor_spec *spec) {
  if (!spec) return FASTBIN_ERROR_ARGUMENT;
  if (!fastbin_struct_understood(spec, spec->struct_size, sizeof *spec, sizeof *spec)) return FASTBIN_ERROR_STRUCT_SIZE;
  return check_monitor(spec);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Writing                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

static void section_sizes(const fastbin_monitor_spec *spec, size_t *sizes) {
  size_t n_bins = (size_t)spec->stream->spec.n_bins;
  sizes[HEAD] = HEAD_SIZE;
  sizes[STRM] = fastbin_stream_size(spec->stream);
  sizes[TOLR] = 16 * n_bins;
  sizes[EVID] = 16 * n_bins;
  sizes[SEEN] = FASTBIN_DIGEST_SIZE * spec->n_seen;
}

static unsigned char *put_section(unsigned char *at, const void *content, int section, size_t size) {
  const fastbin_monitor_spec *spec = content;
  size_t n_bins = (size_t)spec->stream->spec.n_bins;
  switch ((enum section)section) {
    case HEAD:
      at = put_double(at, spec->alpha);
      at = put_double(at, spec->interval_alpha);
      at = put_double(at, spec->max_log_mean);
      return put_u64(at, (uint64_t)spec->alarm_at);
    case STRM:
      fastbin_stream_write(spec->stream, at, size);
      return at + size;
    case TOLR:
      return put_doubles(at, spec->tolerated, 2 * n_bins);
    case EVID:
      return put_counts(put_doubles(at, spec->max_log_e, n_bins), spec->named_at, n_bins);
    case SEEN:
      return put_bytes(at, spec->seen, size);
    case N_SECTIONS:
      break;
  }
  return at;
}

size_t fastbin_monitor_size(const fastbin_monitor_spec *spec) {
  size_t sizes[N_SECTIONS];
  if (check_given(spec) != FASTBIN_OK) return 0;
  section_sizes(spec, sizes);
  return fastbin_container_size(&monitor_kind, sizes);
}

fastbin_status fastbin_monitor_write(const fastbin_monitor_spec *spec, void *buffer, size_t capacity) {
  size_t sizes[N_SECTIONS];
  fastbin_status status = check_given(spec);
  if (status != FASTBIN_OK) return status;
  if (!buffer) return FASTBIN_ERROR_ARGUMENT;
  section_sizes(spec, sizes);
  return fastbin_write_container(&monitor_kind, sizes, put_section, spec, buffer, capacity);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Reading                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

/* The arrays of the spec, in one block after the struct, filled from sections whose sizes are known to fit. */
static void take_arrays(fastbin_monitor *monitor, const payload *payloads, size_t n_bins) {
  double *doubles = (double *)(void *)(monitor + 1);
  int64_t *named_at = (int64_t *)(void *)(doubles + 3 * n_bins);
  unsigned char *seen = (unsigned char *)(named_at + n_bins);
  const unsigned char *at = payloads[TOLR].start;
  for (size_t i = 0; i < 2 * n_bins; i++) doubles[i] = take_double(&at);
  at = payloads[EVID].start;
  for (size_t i = 0; i < n_bins; i++) doubles[2 * n_bins + i] = take_double(&at);
  for (size_t i = 0; i < n_bins; i++) named_at[i] = take_i64(&at);
  monitor->spec.tolerated = doubles;
  monitor->spec.max_log_e = doubles + 2 * n_bins;
  monitor->spec.named_at = named_at;
  monitor->spec.n_seen = payloads[SEEN].size / FASTBIN_DIGEST_SIZE;
  if (monitor->spec.n_seen > 0) monitor->spec.seen = memcpy(seen, payloads[SEEN].start, payloads[SEEN].size);
}

/* The monitor around a stream, which it takes over, also on failure. */
static fastbin_status monitor_around(fastbin_stream *stream, const payload *payloads, fastbin_monitor **monitor) {
  size_t n_bins = (size_t)stream->spec.n_bins;
  size_t sizes[N_SECTIONS];
  fastbin_monitor *made;
  const unsigned char *at = payloads[HEAD].start;
  fastbin_monitor_spec shape = {0};
  shape.stream = stream;
  shape.n_seen = payloads[SEEN].size / FASTBIN_DIGEST_SIZE;
  section_sizes(&shape, sizes);
  sizes[STRM] = payloads[STRM].size; /* a stream of an older version has another size */
  if (!fastbin_sizes_are(payloads, sizes, N_SECTIONS)) {
    fastbin_stream_free(stream);
    return FASTBIN_ERROR_CONTENT;
  }
  made = calloc(1, sizeof *made + sizes[TOLR] + sizes[EVID] + sizes[SEEN]); /* each is part of the bytes at hand */
  if (!made) {
    fastbin_stream_free(stream);
    return FASTBIN_ERROR_MEMORY;
  }
  made->stream = stream;
  made->spec.struct_size = sizeof made->spec;
  made->spec.stream = stream;
  made->spec.alpha = take_double(&at);
  made->spec.interval_alpha = take_double(&at);
  made->spec.max_log_mean = take_double(&at);
  made->spec.alarm_at = take_i64(&at);
  take_arrays(made, payloads, n_bins);
  if (check_monitor(&made->spec) != FASTBIN_OK) {
    fastbin_monitor_free(made);
    return FASTBIN_ERROR_CONTENT;
  }
  *monitor = made;
  return FASTBIN_OK;
}

fastbin_status fastbin_monitor_read(const void *bytes, size_t size, fastbin_monitor **monitor) {
  payload payloads[N_SECTIONS];
  fastbin_stream *stream;
  fastbin_status status;
  if (!monitor) return FASTBIN_ERROR_ARGUMENT;
  *monitor = NULL;
  if (!bytes) return FASTBIN_ERROR_ARGUMENT;
  status = fastbin_read_container(&monitor_kind, bytes, size, NULL, payloads);
  if (status != FASTBIN_OK) return status;
  if (payloads[HEAD].size != HEAD_SIZE || !payloads[STRM].start) return FASTBIN_ERROR_CONTENT;
  if (payloads[HEAD].start != (const unsigned char *)bytes + HEADER_SIZE + SECTION_HEADER_SIZE) return FASTBIN_ERROR_CONTENT;
  status = fastbin_stream_read(payloads[STRM].start, payloads[STRM].size, &stream);
  if (status == FASTBIN_OK) return monitor_around(stream, payloads, monitor);
  return status == FASTBIN_ERROR_MEMORY || status == FASTBIN_ERROR_FORMAT_VERSION ? status : FASTBIN_ERROR_CONTENT;
}

fastbin_status fastbin_monitor_describe(const fastbin_monitor *monitor, fastbin_monitor_spec *spec) {
  size_t struct_size;
  if (!monitor || !spec) return FASTBIN_ERROR_ARGUMENT;
  struct_size = spec->struct_size;
  if (struct_size < sizeof *spec) return FASTBIN_ERROR_STRUCT_SIZE;
  memset(spec, 0, struct_size);
  *spec = monitor->spec;
  spec->struct_size = struct_size;
  return FASTBIN_OK;
}

void fastbin_monitor_free(fastbin_monitor *monitor) {
  if (!monitor) return;
  fastbin_stream_free(monitor->stream);
  free(monitor);
}
