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
#include <stddef.h>
#include <stdlib.h>

#define HEAD_SIZE 32

/* The size of the spec before it had a pooled half. */
#define FIRST_MONITOR_SPEC_SIZE offsetof(fastbin_monitor_spec, grid)

enum section { HEAD, STRM, TOLR, EVID, STRT, GRID, SEEN, N_SECTIONS };

static const section_kind sections[N_SECTIONS] = {
    [HEAD] = {TAG('H', 'E', 'A', 'D'), MUST_UNDERSTAND}, [STRM] = {TAG('S', 'T', 'R', 'M'), MUST_UNDERSTAND},
    [TOLR] = {TAG('T', 'O', 'L', 'R'), MUST_UNDERSTAND}, [EVID] = {TAG('E', 'V', 'I', 'D'), MUST_UNDERSTAND},
    [STRT] = {TAG('S', 'T', 'R', 'T'), MUST_UNDERSTAND}, [GRID] = {TAG('G', 'R', 'I', 'D'), MUST_UNDERSTAND},
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

/* A class-wise set counts every outcome once for each class. */
static int64_t n_outcomes(const fastbin_monitor_spec *spec) {
  return spec->n_classes > 1 ? spec->stream->n_samples / (int64_t)spec->n_classes : spec->stream->n_samples;
}

static int bin_can_be(const fastbin_monitor_spec *spec, int32_t b, double log_threshold) {
  const struct tally *tally = &spec->stream->tallies[b];
  double low = spec->tolerated[2 * (size_t)b], high = spec->tolerated[2 * (size_t)b + 1];
  if (!(low >= 0.0 && low <= high && high <= 1.0) || is_negative_zero(low) || is_negative_zero(high)) return 0;
  if (!passed_can_be(spec->max_log_e[b], log_threshold, spec->named_at[b], n_outcomes(spec))) return 0;
  return tally->count > 0 || (spec->max_log_e[b] == 0.0 && spec->named_at[b] == 0);
}

static int grid_can_be(const fastbin_monitor_spec *spec) {
  if (spec->n_pairs == 0) return 0;
  for (size_t i = 0; i < 2 * spec->n_pairs; i++) {
    if (!isfinite(spec->grid[i]) || is_negative_zero(spec->grid[i])) return 0;
  }
  return 1;
}

/* Whether the bins of each class have counted `total` outcomes, by the counts of a start or, for NULL, those of the stream. */
static int classes_have(const fastbin_monitor_spec *spec, const int64_t *counts, int64_t total) {
  int64_t b = 0;
  for (size_t k = 0; k < spec->n_classes; k++) {
    int64_t left = total;
    for (int64_t end = b + spec->class_bins[k]; b < end; b++) left -= counts ? counts[b] : spec->stream->tallies[b].count;
    if (left != 0) return 0;
  }
  return 1;
}

static int classes_can_be(const fastbin_monitor_spec *spec) {
  int64_t n_left = spec->stream->partition->spec.n_bins;
  for (size_t k = 0; k < spec->n_classes; k++) {
    if (spec->class_bins[k] < 1 || spec->class_bins[k] > n_left) return 0;
    n_left -= spec->class_bins[k];
  }
  if (n_left != 0 || spec->n_classes == 0) return 0;
  return spec->stream->n_samples % (int64_t)spec->n_classes == 0 && classes_have(spec, NULL, n_outcomes(spec));
}

/* Start k has counted no less than the one before it, in any bin, and no more than the stream. */
static int start_can_be(const fastbin_monitor_spec *spec, size_t k) {
  size_t n_bins = (size_t)spec->stream->partition->spec.n_bins;
  const int64_t *counts = spec->start_counts + k * n_bins, *ones = spec->start_ones + k * n_bins;
  int64_t earliest = k > 0 ? spec->start_at[k - 1] : 0;
  if (spec->start_at[k] <= earliest || spec->start_at[k] > n_outcomes(spec)) return 0;
  for (size_t b = 0; b < n_bins; b++) {
    const struct tally *now = &spec->stream->tallies[b];
    int64_t count_before = k > 0 ? (counts - n_bins)[b] : 0, ones_before = k > 0 ? (ones - n_bins)[b] : 0;
    if (counts[b] < count_before || counts[b] > now->count) return 0;
    if (ones[b] < ones_before || ones[b] > now->label_sum) return 0;
    if (ones[b] - ones_before > counts[b] - count_before || now->label_sum - ones[b] > now->count - counts[b]) return 0;
  }
  return classes_have(spec, counts, spec->start_at[k]);
}

static int starts_can_be(const fastbin_monitor_spec *spec) {
  double sum = 0.0;
  for (size_t k = 0; k < spec->n_starts; k++) {
    if (!(spec->start_weights[k] > 0.0)) return 0;
    sum += spec->start_weights[k];
    if (!(sum <= 0.5 + ROUNDING) || !start_can_be(spec, k)) return 0;
  }
  return 1;
}

static fastbin_status check_pooled(const fastbin_monitor_spec *spec) {
  if (!spec->grid) return spec->n_pairs > 0 || spec->n_starts > 0 || spec->n_classes > 0 ? FASTBIN_ERROR_CONTENT : FASTBIN_OK;
  if (!spec->class_bins) return FASTBIN_ERROR_ARGUMENT;
  if (spec->n_starts > 0 && !(spec->start_at && spec->start_weights && spec->start_counts && spec->start_ones)) {
    return FASTBIN_ERROR_ARGUMENT;
  }
  if (spec->n_pairs > SIZE_MAX / 64 || spec->n_starts > SIZE_MAX / 64 / ((size_t)spec->stream->partition->spec.n_bins + 1)) {
    return FASTBIN_ERROR_MEMORY;
  }
  return grid_can_be(spec) && classes_can_be(spec) && starts_can_be(spec) ? FASTBIN_OK : FASTBIN_ERROR_CONTENT;
}

static fastbin_status check_monitor(const fastbin_monitor_spec *spec) {
  fastbin_status status;
  double log_threshold;
  int32_t n_bins;
  if (!spec->stream || !spec->tolerated || !spec->max_log_e || !spec->named_at) return FASTBIN_ERROR_ARGUMENT;
  if (spec->n_seen > 0 && !spec->seen) return FASTBIN_ERROR_ARGUMENT;
  if (spec->n_seen > SIZE_MAX / 2 / FASTBIN_DIGEST_SIZE) return FASTBIN_ERROR_MEMORY;
  if (!is_level(spec->alpha) || (spec->interval_alpha != 0.0 && !is_level(spec->interval_alpha))) return FASTBIN_ERROR_CONTENT;
  if (is_negative_zero(spec->interval_alpha) || spec->stream->has_fit) return FASTBIN_ERROR_CONTENT;
  status = check_pooled(spec);
  if (status != FASTBIN_OK) return status;
  log_threshold = -log(spec->alpha);
  if (!passed_can_be(spec->max_log_mean, log_threshold, spec->alarm_at, n_outcomes(spec))) return FASTBIN_ERROR_CONTENT;
  n_bins = spec->stream->partition->spec.n_bins;
  log_threshold += log((double)n_bins);
  for (int32_t b = 0; b < n_bins; b++) {
    if (!bin_can_be(spec, b, log_threshold)) return FASTBIN_ERROR_CONTENT;
  }
  return FASTBIN_OK;
}

/* The whole of a spec that may be of an earlier version, checked. */
static fastbin_status take_given(const fastbin_monitor_spec *given, fastbin_monitor_spec *spec) {
  size_t size;
  if (!given) return FASTBIN_ERROR_ARGUMENT;
  size = given->struct_size;
  if (!fastbin_struct_understood(given, size, FIRST_MONITOR_SPEC_SIZE, sizeof *spec)) return FASTBIN_ERROR_STRUCT_SIZE;
  memset(spec, 0, sizeof *spec);
  memcpy(spec, given, size < sizeof *spec ? size : sizeof *spec);
  return check_monitor(spec);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Writing                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

static void section_sizes(const fastbin_monitor_spec *spec, size_t *sizes) {
  size_t n_bins = (size_t)spec->stream->partition->spec.n_bins;
  sizes[HEAD] = HEAD_SIZE;
  sizes[STRM] = fastbin_stream_size(spec->stream);
  sizes[TOLR] = 16 * n_bins;
  sizes[EVID] = 16 * n_bins;
  sizes[STRT] = spec->n_starts * (16 + 16 * n_bins);
  sizes[GRID] = spec->n_classes > 0 ? 8 + 8 * spec->n_classes + 16 * spec->n_pairs : 0;
  sizes[SEEN] = FASTBIN_DIGEST_SIZE * spec->n_seen;
}

static unsigned char *put_starts(unsigned char *at, const fastbin_monitor_spec *spec, size_t n_bins) {
  for (size_t k = 0; k < spec->n_starts; k++) {
    at = put_i64(at, spec->start_at[k]);
    at = put_double(at, spec->start_weights[k]);
    at = put_counts(at, spec->start_counts + k * n_bins, n_bins);
    at = put_counts(at, spec->start_ones + k * n_bins, n_bins);
  }
  return at;
}

static unsigned char *put_section(unsigned char *at, const void *content, int section, size_t size) {
  const fastbin_monitor_spec *spec = content;
  size_t n_bins = (size_t)spec->stream->partition->spec.n_bins;
  switch ((enum section)section) {
    case HEAD:
      at = put_double(at, spec->alpha);
      at = put_double(at, spec->interval_alpha);
      at = put_double(at, spec->max_log_mean);
      return put_i64(at, spec->alarm_at);
    case STRM:
      fastbin_stream_write(spec->stream, at, size);
      return at + size;
    case TOLR:
      return put_doubles(at, spec->tolerated, 2 * n_bins);
    case EVID:
      return put_counts(put_doubles(at, spec->max_log_e, n_bins), spec->named_at, n_bins);
    case STRT:
      return put_starts(at, spec, n_bins);
    case GRID:
      at = put_counts(put_u64(at, spec->n_classes), spec->class_bins, spec->n_classes);
      return put_doubles(at, spec->grid, 2 * spec->n_pairs);
    case SEEN:
      return put_bytes(at, spec->seen, size);
    case N_SECTIONS:
      break;
  }
  return at;
}

size_t fastbin_monitor_size(const fastbin_monitor_spec *given) {
  size_t sizes[N_SECTIONS];
  fastbin_monitor_spec spec;
  if (take_given(given, &spec) != FASTBIN_OK) return 0;
  section_sizes(&spec, sizes);
  return fastbin_container_size(&monitor_kind, sizes);
}

fastbin_status fastbin_monitor_write(const fastbin_monitor_spec *given, void *buffer, size_t capacity) {
  size_t sizes[N_SECTIONS];
  fastbin_monitor_spec spec;
  fastbin_status status = take_given(given, &spec);
  if (status != FASTBIN_OK) return status;
  if (!buffer) return FASTBIN_ERROR_ARGUMENT;
  section_sizes(&spec, sizes);
  return fastbin_write_container(&monitor_kind, sizes, put_section, &spec, buffer, capacity);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Reading                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

/* What is pooled, and the starts, of the shape that the spec has. The four numbers of a start become columns. */
static void take_pooled(fastbin_monitor_spec *spec, const payload *payloads, unsigned char **room, size_t n_bins) {
  const unsigned char *at = payloads[GRID].start + 8;
  size_t n = spec->n_starts;
  int64_t *start_at = (int64_t *)(void *)*room, *counts = start_at + n, *ones = counts + n * n_bins;
  double *weights = (double *)(void *)(ones + n * n_bins);
  *room = (unsigned char *)(weights + n);
  spec->class_bins = take_counts(&at, spec->n_classes, room);
  spec->grid = take_doubles(&at, 2 * spec->n_pairs, room);
  if (n == 0) return;
  at = payloads[STRT].start;
  for (size_t k = 0; k < n; k++) {
    start_at[k] = take_i64(&at);
    weights[k] = take_double(&at);
    for (size_t b = 0; b < n_bins; b++) counts[k * n_bins + b] = take_i64(&at);
    for (size_t b = 0; b < n_bins; b++) ones[k * n_bins + b] = take_i64(&at);
  }
  spec->start_at = start_at;
  spec->start_weights = weights;
  spec->start_counts = counts;
  spec->start_ones = ones;
}

/* The arrays of the spec, in one block after the struct, filled from sections whose sizes are known to fit. */
static void take_arrays(fastbin_monitor *monitor, const payload *payloads, size_t n_bins) {
  unsigned char *room = (unsigned char *)(monitor + 1);
  const unsigned char *at = payloads[TOLR].start;
  monitor->spec.tolerated = take_doubles(&at, 2 * n_bins, &room);
  at = payloads[EVID].start;
  monitor->spec.max_log_e = take_doubles(&at, n_bins, &room);
  monitor->spec.named_at = take_counts(&at, n_bins, &room);
  if (payloads[GRID].start) take_pooled(&monitor->spec, payloads, &room, n_bins);
  if (monitor->spec.n_seen > 0) monitor->spec.seen = memcpy(room, payloads[SEEN].start, payloads[SEEN].size);
}

/* How many there are of everything, by the sizes of the sections; whether these are possible, section_sizes() then tells. */
static int take_shape(const fastbin_stream *stream, const payload *payloads, fastbin_monitor_spec *shape) {
  size_t size = payloads[GRID].size;
  shape->struct_size = sizeof *shape;
  shape->stream = stream;
  shape->n_seen = payloads[SEEN].size / FASTBIN_DIGEST_SIZE;
  shape->n_starts = payloads[STRT].size / (16 + 16 * (size_t)stream->partition->spec.n_bins);
  if (size == 0) return shape->n_starts == 0;
  if (size < 8 || get_u64(payloads[GRID].start) > (size - 8) / 8) return 0;
  shape->n_classes = (size_t)get_u64(payloads[GRID].start);
  shape->n_pairs = (size - 8 - 8 * shape->n_classes) / 16;
  return shape->n_classes > 0;
}

/* The monitor around a stream, which it takes over, also on failure. */
static fastbin_status monitor_around(fastbin_stream *stream, const payload *payloads, fastbin_monitor **monitor) {
  size_t n_bins = (size_t)stream->partition->spec.n_bins;
  size_t sizes[N_SECTIONS];
  fastbin_monitor *made;
  const unsigned char *at = payloads[HEAD].start;
  fastbin_monitor_spec shape = {0};
  int can_be = take_shape(stream, payloads, &shape);
  section_sizes(&shape, sizes);
  sizes[STRM] = payloads[STRM].size; /* a stream of an older version has another size */
  if (!can_be || !fastbin_sizes_are(payloads, sizes, N_SECTIONS)) {
    fastbin_stream_free(stream);
    return FASTBIN_ERROR_CONTENT;
  }
  /* Each is part of the bytes at hand. */
  made = calloc(1, sizeof *made + sizes[TOLR] + sizes[EVID] + sizes[STRT] + sizes[GRID] + sizes[SEEN]);
  if (!made) {
    fastbin_stream_free(stream);
    return FASTBIN_ERROR_MEMORY;
  }
  made->stream = stream;
  made->spec = shape;
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
  status = fastbin_stream_read(payloads[STRM].start, payloads[STRM].size, &stream);
  if (status == FASTBIN_OK) return monitor_around(stream, payloads, monitor);
  return status_of_part(status);
}

fastbin_status fastbin_monitor_describe(const fastbin_monitor *monitor, fastbin_monitor_spec *spec) {
  size_t struct_size;
  if (!monitor || !spec) return FASTBIN_ERROR_ARGUMENT;
  struct_size = spec->struct_size;
  if (struct_size < sizeof *spec && struct_size != FIRST_MONITOR_SPEC_SIZE) return FASTBIN_ERROR_STRUCT_SIZE;
  /* A caller that does not know the pooled half would go on with other evidence. */
  if (struct_size < sizeof *spec && monitor->spec.grid) return FASTBIN_ERROR_STRUCT_SIZE;
  memset(spec, 0, struct_size);
  memcpy(spec, &monitor->spec, struct_size < sizeof *spec ? struct_size : sizeof *spec);
  spec->struct_size = struct_size;
  return FASTBIN_OK;
}

void fastbin_monitor_free(fastbin_monitor *monitor) {
  if (!monitor) return;
  fastbin_stream_free(monitor->stream);
  free(monitor);
}
