/*
 * test_monitor.c: the state of a monitor as bytes, and states that counting cannot lead to.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"
#include "specs.h"

#include <math.h>
#include <stddef.h>

#define MOST_BYTES 2048

static fastbin_stream *stream_of_20(void) {
  fastbin_model_spec spec = half_spec();
  fastbin_model *model;
  fastbin_stream *stream;
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  REQUIRE(fastbin_stream_create(model, &stream) == FASTBIN_OK);
  for (int i = 0; i < 20; i++) REQUIRE(fastbin_stream_update_one(stream, i / 50.0, 0, i % 3 == 0, NULL) == FASTBIN_OK);
  fastbin_model_free(model);
  return stream;
}

/* A state of two bins, all of whose outcomes fell into the first one, which was named; the alarm is on. */
static fastbin_monitor_spec state_over(const fastbin_stream *stream) {
  static const double tolerated[] = {0.25, 0.25, 0.5, 1.0};
  static const double max_log_e[] = {4.0, 0.0};
  static const int64_t named_at[] = {19, 0};
  static const unsigned char seen[2 * FASTBIN_DIGEST_SIZE] = {1, 2, 3};
  fastbin_monitor_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.struct_size = sizeof spec;
  spec.stream = stream;
  spec.alpha = 0.05;
  spec.interval_alpha = 0.1;
  spec.tolerated = tolerated;
  spec.max_log_mean = 3.5;
  spec.alarm_at = 12;
  spec.max_log_e = max_log_e;
  spec.named_at = named_at;
  spec.seen = seen;
  spec.n_seen = 2;
  return spec;
}

/* The same with a pooled half, and two later starts. */
static fastbin_monitor_spec pooled_over(const fastbin_stream *stream) {
  static const double grid[] = {0.5, 0.0, 1.0, 0.25, 1.0, -0.25}, weights[] = {0.125, 0.0625};
  static const int64_t class_bins[] = {2}, start_at[] = {6, 15};
  static const int64_t counts[] = {6, 0, 15, 0}, ones[] = {2, 0, 5, 0};
  fastbin_monitor_spec spec = state_over(stream);
  spec.grid = grid;
  spec.n_pairs = 3;
  spec.class_bins = class_bins;
  spec.n_classes = 1;
  spec.start_at = start_at;
  spec.start_weights = weights;
  spec.start_counts = counts;
  spec.start_ones = ones;
  spec.n_starts = 2;
  return spec;
}

static void test_pooled_round_trip(void) {
  unsigned char bytes[MOST_BYTES], again[MOST_BYTES];
  fastbin_stream *stream = stream_of_20();
  fastbin_monitor_spec spec = pooled_over(stream), seen;
  fastbin_monitor *monitor;
  size_t size = fastbin_monitor_size(&spec);
  REQUIRE(size > 0 && size <= MOST_BYTES);
  REQUIRE(fastbin_monitor_write(&spec, bytes, size) == FASTBIN_OK);
  REQUIRE(fastbin_monitor_read(bytes, size, &monitor) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_monitor_describe(monitor, &seen) == FASTBIN_OK);
  CHECK(seen.n_pairs == 3 && memcmp(seen.grid, spec.grid, 6 * sizeof(double)) == 0);
  CHECK(seen.n_classes == 1 && seen.class_bins[0] == 2 && seen.n_starts == 2 && seen.n_seen == 2);
  CHECK(seen.start_at[1] == 15 && seen.start_weights[1] == 0.0625 && seen.start_counts[2] == 15 && seen.start_ones[2] == 5);
  CHECK(fastbin_monitor_write(&seen, again, size) == FASTBIN_OK && memcmp(again, bytes, size) == 0);
  seen.struct_size = offsetof(fastbin_monitor_spec, grid); /* would go on with other evidence */
  CHECK(fastbin_monitor_describe(monitor, &seen) == FASTBIN_ERROR_STRUCT_SIZE);
  fastbin_monitor_free(monitor);
  fastbin_stream_free(stream);
}

/* The struct as it was before it had a pooled half. */
static void test_spec_of_an_earlier_version(void) {
  unsigned char bytes[MOST_BYTES], again[MOST_BYTES];
  fastbin_stream *stream = stream_of_20();
  fastbin_monitor_spec spec = state_over(stream), seen;
  fastbin_monitor *monitor;
  size_t size = fastbin_monitor_size(&spec);
  REQUIRE(fastbin_monitor_write(&spec, bytes, MOST_BYTES) == FASTBIN_OK);
  spec.struct_size = offsetof(fastbin_monitor_spec, grid);
  spec.n_starts = 7; /* beyond its end */
  CHECK(fastbin_monitor_write(&spec, again, MOST_BYTES) == FASTBIN_OK && memcmp(again, bytes, size) == 0);
  REQUIRE(fastbin_monitor_read(bytes, size, &monitor) == FASTBIN_OK);
  seen.struct_size = offsetof(fastbin_monitor_spec, grid);
  CHECK(fastbin_monitor_describe(monitor, &seen) == FASTBIN_OK && seen.n_seen == 2);
  fastbin_monitor_free(monitor);
  fastbin_stream_free(stream);
}

static void test_round_trip(void) {
  unsigned char bytes[MOST_BYTES], again[MOST_BYTES];
  fastbin_stream *stream = stream_of_20();
  fastbin_monitor_spec spec = state_over(stream), seen;
  fastbin_monitor *monitor;
  size_t size = fastbin_monitor_size(&spec);
  REQUIRE(size > 0 && size <= MOST_BYTES);
  CHECK(fastbin_monitor_write(&spec, bytes, size - 1) == FASTBIN_ERROR_BUFFER);
  CHECK(fastbin_monitor_write(&spec, NULL, size) == FASTBIN_ERROR_ARGUMENT);
  REQUIRE(fastbin_monitor_write(&spec, bytes, size) == FASTBIN_OK);
  REQUIRE(fastbin_monitor_read(bytes, size, &monitor) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_monitor_describe(monitor, &seen) == FASTBIN_OK);
  CHECK(fastbin_stream_n_samples(seen.stream) == 20);
  CHECK(seen.alpha == 0.05 && seen.interval_alpha == 0.1 && seen.max_log_mean == 3.5 && seen.alarm_at == 12);
  CHECK(memcmp(seen.tolerated, spec.tolerated, 4 * sizeof(double)) == 0);
  CHECK(seen.max_log_e[0] == 4.0 && seen.max_log_e[1] == 0.0 && seen.named_at[0] == 19 && seen.named_at[1] == 0);
  CHECK(seen.n_seen == 2 && memcmp(seen.seen, spec.seen, 2 * FASTBIN_DIGEST_SIZE) == 0);
  CHECK(fastbin_monitor_write(&seen, again, size) == FASTBIN_OK && memcmp(again, bytes, size) == 0);
  seen.struct_size = 8;
  CHECK(fastbin_monitor_describe(monitor, &seen) == FASTBIN_ERROR_STRUCT_SIZE);
  fastbin_monitor_free(monitor);
  fastbin_monitor_free(NULL);
  fastbin_stream_free(stream);
}

/* Every single bit, and every length. */
static void test_damage_of(fastbin_monitor_spec (*make)(const fastbin_stream *)) {
  unsigned char bytes[MOST_BYTES];
  fastbin_stream *stream = stream_of_20();
  fastbin_monitor_spec spec = make(stream);
  size_t size = fastbin_monitor_size(&spec);
  fastbin_monitor *monitor;
  REQUIRE(fastbin_monitor_write(&spec, bytes, MOST_BYTES) == FASTBIN_OK);
  for (size_t bit = 0; bit < 8 * size; bit++) {
    bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    CHECK(fastbin_monitor_read(bytes, size, &monitor) != FASTBIN_OK && monitor == NULL);
    bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  for (size_t length = 0; length < size; length++) CHECK(fastbin_monitor_read(bytes, length, &monitor) != FASTBIN_OK);
  CHECK(fastbin_monitor_read(NULL, size, &monitor) == FASTBIN_ERROR_ARGUMENT && monitor == NULL);
  CHECK(fastbin_monitor_read(bytes, size, NULL) == FASTBIN_ERROR_ARGUMENT);
  fastbin_stream_free(stream);
}

#define REFUSES(assignment)                                                              \
  do {                                                                                   \
    fastbin_monitor_spec spec = pooled_over(stream);                                     \
    CHECK(fastbin_monitor_write(&spec, bytes, MOST_BYTES) == FASTBIN_OK);                \
    spec.assignment;                                                                     \
    CHECK(fastbin_monitor_write(&spec, bytes, MOST_BYTES) == FASTBIN_ERROR_CONTENT);     \
    CHECK(fastbin_monitor_size(&spec) == 0);                                             \
  } while (0)

static void test_states_that_cannot_be(void) {
  static const double upside_down[] = {0.25, 0.25, 0.75, 0.5}, negative_zero[] = {-0.0, 0.25, 0.5, 1.0};
  static const double negative_above[] = {0.0, -0.0, 0.5, 1.0};
  static const double too_wide[] = {0.25, 0.25, 0.5, 1.5}, below_threshold[] = {3.0, 0.0}, negative[] = {-1.0, 0.0};
  static const double not_a_number[] = {NAN, 0.0}, without_samples[] = {4.0, 1.0};
  static const int64_t not_named[] = {0, 0}, too_late[] = {21, 0}, before[] = {-5, 0}, empty_named[] = {19, 3};
  static const double empty_evidence[] = {4.0, 4.0};
  static const double infinite[] = {0.5, 0.0, 1.0, INFINITY, 1.0, 0.25}, too_much[] = {0.4, 0.2}, no_weight[] = {0.1, 0.0};
  static const int64_t one_bin[] = {1}, descending[] = {15, 6}, from_zero[] = {0, 15}, too_late_starts[] = {6, 21};
  static const int64_t fewer_later[] = {6, 0, 5, 10}, other_total[] = {6, 0, 14, 0}, more_than_counts[] = {7, 0, 8, 0};
  static const int64_t more_later_than_counted[] = {2, 0, 1, 0};
  unsigned char bytes[MOST_BYTES];
  fastbin_stream *stream = stream_of_20();
  fastbin_monitor_spec none = state_over(stream);
  REFUSES(alpha = 0.0);
  REFUSES(alpha = NAN);
  REFUSES(interval_alpha = 1.0);
  REFUSES(interval_alpha = -0.0);
  REFUSES(tolerated = upside_down);
  REFUSES(tolerated = negative_zero);
  REFUSES(tolerated = negative_above);
  REFUSES(tolerated = too_wide);
  REFUSES(alarm_at = -5); /* would switch the alarm off permanently */
  REFUSES(alarm_at = 0);  /* the evidence has reached the threshold */
  REFUSES(alarm_at = 21);
  REFUSES(max_log_mean = 2.9); /* it has not, and yet there is an alarm */
  REFUSES(max_log_mean = NAN);
  REFUSES(max_log_e = below_threshold);
  REFUSES(max_log_e = negative);
  REFUSES(max_log_e = not_a_number);
  REFUSES(max_log_e = without_samples);
  REFUSES(named_at = not_named);
  REFUSES(named_at = too_late);
  REFUSES(named_at = before);
  REFUSES(named_at = empty_named);
  REFUSES(grid = infinite);
  REFUSES(n_pairs = 0);
  REFUSES(grid = NULL);
  REFUSES(n_classes = 0);
  REFUSES(class_bins = one_bin);
  REFUSES(start_at = descending);
  REFUSES(start_at = from_zero);
  REFUSES(start_at = too_late_starts);
  REFUSES(start_weights = too_much);
  REFUSES(start_weights = no_weight);
  REFUSES(start_counts = fewer_later);
  REFUSES(start_counts = other_total);
  REFUSES(start_ones = more_than_counts);
  REFUSES(start_ones = more_later_than_counted);
  none.n_starts = 1; /* without a pooled half */
  CHECK(fastbin_monitor_write(&none, bytes, MOST_BYTES) == FASTBIN_ERROR_CONTENT);
  none = state_over(stream);
  none.max_log_e = empty_evidence;
  none.named_at = empty_named;
  CHECK(fastbin_monitor_write(&none, bytes, MOST_BYTES) == FASTBIN_ERROR_CONTENT);
  none.struct_size = 8;
  CHECK(fastbin_monitor_write(&none, bytes, MOST_BYTES) == FASTBIN_ERROR_STRUCT_SIZE);
  CHECK(fastbin_monitor_write(NULL, bytes, MOST_BYTES) == FASTBIN_ERROR_ARGUMENT);
  fastbin_stream_free(stream);
}

/* Whether a state is taken with an alarm at this outcome, 0 for none, and with this largest evidence, as a logarithm. */
static int takes_evidence(const fastbin_stream *stream, double log_e, int64_t alarm_at) {
  fastbin_monitor_spec spec = pooled_over(stream);
  spec.max_log_mean = log_e;
  spec.alarm_at = alarm_at;
  return fastbin_monitor_size(&spec) > 0;
}

/* The threshold may be missed by its last bits, on either side. */
static void test_evidence_at_the_threshold(void) {
  fastbin_stream *stream = stream_of_20();
  double threshold = -log(0.05);
  CHECK(takes_evidence(stream, threshold - 1e-12, 20) && takes_evidence(stream, threshold + 1e-12, 0));
  CHECK(!takes_evidence(stream, threshold - 1e-6, 20) && !takes_evidence(stream, threshold + 1e-6, 0));
  CHECK(takes_evidence(stream, 3.5, 1) && !takes_evidence(stream, 3.5, 0));
  fastbin_stream_free(stream);
}

/* Whether two later starts are taken, of which each saw all outcomes before it in the first bin, so many of them ones. */
static int takes_starts(const fastbin_stream *stream, int64_t first, int64_t first_ones, int64_t second, int64_t second_ones) {
  int64_t start_at[] = {first, second}, counts[] = {first, 0, second, 0}, ones[] = {first_ones, 0, second_ones, 0};
  fastbin_monitor_spec spec = pooled_over(stream);
  spec.start_at = start_at;
  spec.start_counts = counts;
  spec.start_ones = ones;
  return fastbin_monitor_size(&spec) > 0;
}

/* 7 of the 20 outcomes are ones. */
static void test_starts_that_can_be(void) {
  fastbin_stream *stream = stream_of_20();
  CHECK(takes_starts(stream, 6, 2, 15, 5));
  CHECK(takes_starts(stream, 6, 2, 20, 7));   /* the second begins now */
  CHECK(!takes_starts(stream, 6, 2, 6, 2));   /* both begin at once */
  CHECK(!takes_starts(stream, 6, 7, 15, 7));  /* more ones than outcomes, before the first, */
  CHECK(!takes_starts(stream, 2, 0, 5, 4));   /* between the two, */
  CHECK(!takes_starts(stream, 6, 1, 15, 1));  /* and after the second */
  CHECK(!takes_starts(stream, 6, 5, 15, 2));  /* fewer at the second */
  CHECK(!takes_starts(stream, 6, 5, 15, 8));  /* more than there are by now */
  fastbin_stream_free(stream);
}

/* Shares that add up to a half but for rounding. */
static void test_shares_of_starts(void) {
  const double weights[] = {0.25, 0.25 + 1e-12};
  fastbin_stream *stream = stream_of_20();
  fastbin_monitor_spec spec = pooled_over(stream);
  spec.start_weights = weights;
  CHECK(fastbin_monitor_size(&spec) > 0);
  fastbin_stream_free(stream);
}

/* Before any outcome a class without bins has as many as the other; a stream that goes on from a fit is not watched. */
static void test_streams_that_cannot_be_watched(void) {
  static const int64_t class_bins[] = {0, 2}, counts[] = {20, 0}, label_sums[] = {7, 0}, none[2];
  static const double nothing[2];
  fastbin_model_spec model_spec = half_spec();
  fastbin_monitor_spec spec;
  fastbin_model *model;
  fastbin_stream *empty, *fitted;
  model_spec.counts = counts;
  model_spec.label_sums = label_sums;
  model_spec.n_samples = 20;
  model_spec.n_positive = 7;
  REQUIRE(fastbin_model_create(&model_spec, &model) == FASTBIN_OK);
  REQUIRE(fastbin_stream_create(model, &empty) == FASTBIN_OK && fastbin_stream_continue(model, &fitted) == FASTBIN_OK);
  spec = pooled_over(fitted);
  CHECK(fastbin_monitor_size(&spec) == 0);
  spec = pooled_over(empty);
  spec.n_starts = 0;
  spec.max_log_mean = 0.0;
  spec.alarm_at = 0;
  spec.max_log_e = nothing;
  spec.named_at = none;
  CHECK(fastbin_monitor_size(&spec) > 0);
  spec.class_bins = class_bins;
  spec.n_classes = 2;
  CHECK(fastbin_monitor_size(&spec) == 0);
  fastbin_stream_free(empty);
  fastbin_stream_free(fitted);
  fastbin_model_free(model);
}

int main(void) {
  test_round_trip();
  test_pooled_round_trip();
  test_spec_of_an_earlier_version();
  test_damage_of(state_over);
  test_damage_of(pooled_over);
  test_states_that_cannot_be();
  test_evidence_at_the_threshold();
  test_starts_that_can_be();
  test_shares_of_starts();
  test_streams_that_cannot_be_watched();
  return finish();
}
