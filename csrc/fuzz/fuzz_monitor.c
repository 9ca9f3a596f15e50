/*
 * fuzz_monitor.c: hostile bytes for the state of a monitor. What is read must be refused, or be written to bytes that are read
 * again, over a stream that works.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "use.h"

/* Written to bytes that are read to the same bytes. */
static void rewrite(const fastbin_monitor_spec *spec) {
  size_t size = fastbin_monitor_size(spec);
  uint8_t *written = reserve(size), *again = reserve(size);
  fastbin_monitor *second;
  fastbin_monitor_spec seen;
  require(size > 0, "a state that was read cannot be written");
  require(fastbin_monitor_write(spec, written, size - 1) == FASTBIN_ERROR_BUFFER, "a buffer that is too small");
  require(fastbin_monitor_write(spec, written, size) == FASTBIN_OK, "writing a state failed");
  require(fastbin_monitor_read(written, size, &second) == FASTBIN_OK, "what was written cannot be read");
  seen.struct_size = sizeof seen;
  require(fastbin_monitor_describe(second, &seen) == FASTBIN_OK, "describe failed");
  require(fastbin_monitor_size(&seen) == size, "sizes differ");
  require(fastbin_monitor_write(&seen, again, size) == FASTBIN_OK, "second write failed");
  require(memcmp(written, again, size) == 0, "rewriting is not stable");
  fastbin_monitor_free(second);
  free(written);
  free(again);
}

/* A member changed at random: refused, or a state like any other. */
static void change(const fastbin_monitor_spec *spec, uint64_t number) {
  fastbin_monitor_spec changed = *spec;
  size_t size;
  switch (number % 8) {
    case 0:
      changed.alpha = ldexp((double)(number >> 11), -53);
      break;
    case 1:
      changed.interval_alpha = number & 64 ? -0.0 : ldexp((double)(number >> 11), -52);
      break;
    case 2:
      changed.alarm_at = (int64_t)(number >> 56) - 4;
      break;
    case 3:
      changed.max_log_mean = number & 64 ? INFINITY : ldexp((double)(number >> 11), -50);
      break;
    case 4:
      changed.n_starts = changed.n_starts > 0 ? changed.n_starts - 1 : 0;
      break;
    case 5:
      changed.n_pairs = changed.n_pairs > 0 ? changed.n_pairs - 1 : 0;
      break;
    case 6:
      changed.grid = NULL;
      break;
    default:
      changed.struct_size = (size_t)(number >> 58);
  }
  size = fastbin_monitor_size(&changed);
  if (size > 0) {
    uint8_t *bytes = reserve(size);
    fastbin_monitor *monitor;
    require(fastbin_monitor_write(&changed, bytes, size) == FASTBIN_OK, "a state with a size cannot be written");
    require(fastbin_monitor_read(bytes, size, &monitor) == FASTBIN_OK, "what was written cannot be read");
    fastbin_monitor_free(monitor);
    free(bytes);
  }
}

static void use_stream(const fastbin_stream *stream, uint64_t number) {
  fastbin_model *model;
  require(fastbin_stream_snapshot(stream, &model) == FASTBIN_OK, "a stream makes no model");
  use_model(model, NULL, 0, number);
  fastbin_model_free(model);
}

static int use(const uint8_t *bytes, size_t size) {
  uint64_t number = digest_of(bytes, size);
  fastbin_monitor *monitor;
  fastbin_monitor_spec spec;
  fastbin_model_spec watched;
  fastbin_status status;
  choose_build(number);
  status = fastbin_monitor_read(bytes, size, &monitor);
  require((status == FASTBIN_OK) == (monitor != NULL), "status and monitor contradict each other");
  if (status != FASTBIN_OK) return 0;
  spec.struct_size = sizeof spec;
  require(fastbin_monitor_describe(monitor, &spec) == FASTBIN_OK, "describe failed");
  spec.struct_size = 8;
  require(fastbin_monitor_describe(monitor, &spec) == FASTBIN_ERROR_STRUCT_SIZE, "described into too little");
  spec.struct_size = sizeof spec;
  require(fastbin_monitor_describe(monitor, &spec) == FASTBIN_OK, "describe failed");
  watched.struct_size = sizeof watched;
  require(fastbin_model_describe(fastbin_stream_partition(spec.stream), &watched) == FASTBIN_OK, "no model is watched");
  for (int32_t b = 0; b < watched.n_bins; b++) {
    require(spec.tolerated[2 * b] <= spec.tolerated[2 * b + 1], "what is tolerated is no interval");
    require(spec.max_log_e[b] >= 0.0 && spec.named_at[b] >= 0, "evidence that cannot be");
    require(spec.named_at[b] <= fastbin_stream_n_samples(spec.stream), "named by an outcome to come");
  }
  rewrite(&spec);
  change(&spec, mix_bits(number));
  use_stream(spec.stream, number);
  fastbin_monitor_free(monitor);
  return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return use_mended(data, size, use); }
