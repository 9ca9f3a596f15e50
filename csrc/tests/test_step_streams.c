/*
 * test_step_streams.c: streams over models of two resolutions count in bins; whole ties are not gone on from.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "model_bytes.h"
#include "steps.h"

/* The edges of the bins of `spec`, and bins of scores that are the same. */
static void check_bins_alone(const fastbin_model *made, const fastbin_model *model, const fastbin_model_spec *spec) {
  fastbin_model_spec seen = describe(made);
  CHECK(seen.n_bins == spec->n_bins && seen.n_steps == spec->n_bins && !seen.first_step && !seen.step_counts);
  for (int b = 1; b < spec->n_bins; b++) {
    CHECK(seen.edges[b - 1] == spec->edges[spec->first_step[b] - 1]);
    CHECK(seen.edge_keys[b - 1] == spec->edge_keys[spec->first_step[b] - 1]);
  }
  for (int i = 0; i < 1000; i++) {
    double score = (double)random_below(160) / 1024.0;
    uint64_t key = random_bits() / 2;
    int32_t one, other;
    CHECK(fastbin_assign_one(made, score, key, &one) == FASTBIN_OK);
    CHECK(fastbin_assign_one(model, score, key, &other) == FASTBIN_OK && one == other);
  }
}

/* Whether a score is that of an edge between two bins; all of those split ties. */
static int is_at_bin_edge(const fastbin_model_spec *spec, double score) {
  for (int b = 1; b < spec->n_bins; b++) {
    if (spec->edges[spec->first_step[b] - 1] == score) return 1;
  }
  return 0;
}

/* A stream that was written and read again, merged with itself: everything that was counted is there twice. */
static void check_bytes(fastbin_stream *stream, int64_t n_tied) {
  size_t size = fastbin_stream_size(stream);
  unsigned char *written = must_malloc(size);
  int64_t n_samples = fastbin_stream_n_samples(stream);
  fastbin_stream *copy;
  fastbin_model *made;
  REQUIRE(fastbin_stream_write(stream, written, size) == FASTBIN_OK);
  REQUIRE(fastbin_stream_read(written, size, &copy) == FASTBIN_OK);
  CHECK(fastbin_stream_merge(stream, copy) == FASTBIN_OK && fastbin_stream_n_samples(stream) == 2 * n_samples);
  REQUIRE(fastbin_stream_snapshot(stream, &made) == FASTBIN_OK);
  CHECK(describe(made).n_tied == 2 * n_tied);
  fastbin_model_free(made);
  free(written);
  fastbin_stream_free(copy);
}

/* Outcomes are counted in bins, one by one and in batches; the model made of them has these alone. */
static void test_streams_count_in_bins(int n_steps, int n_bins, int with_keys) {
  fastbin_model_spec spec = random_spec(n_steps, n_bins, with_keys);
  fastbin_model *model = must_create(&spec), *made;
  fastbin_stream *stream;
  int64_t counts[MOST_STEPS] = {0}, ones[MOST_STEPS] = {0}, found[MOST_STEPS], found_ones[MOST_STEPS], n_tied = 0;
  REQUIRE(fastbin_stream_create(model, &stream) == FASTBIN_OK);
  for (int i = 0; i < 2000; i++) {
    double score = (double)random_below(160) / 1024.0;
    uint64_t key = random_bits() / 2;
    int label = (int)random_below(2);
    int32_t bin, expected = bin_by_definition(&spec, step_by_definition(&spec, score, key));
    CHECK(fastbin_stream_update_one(stream, score, key, label, &bin) == FASTBIN_OK && bin == expected);
    counts[expected]++;
    ones[expected] += label;
    n_tied += with_keys && is_at_bin_edge(&spec, score);
  }
  REQUIRE(fastbin_stream_tally(stream, found, found_ones, NULL) == FASTBIN_OK);
  CHECK(memcmp(counts, found, (size_t)n_bins * sizeof *counts) == 0);
  CHECK(memcmp(ones, found_ones, (size_t)n_bins * sizeof *ones) == 0);
  REQUIRE(fastbin_stream_snapshot(stream, &made) == FASTBIN_OK);
  CHECK(describe(made).n_tied == n_tied && describe(made).n_samples == 2000);
  check_bins_alone(made, model, &spec);
  check_bytes(stream, n_tied);
  fastbin_stream_free(stream);
  fastbin_model_free(made);
  fastbin_model_free(model);
}

/* Streams count in bins, whatever the steps inside them. */
static void test_streams_over_other_bins_are_not_merged(void) {
  static const int64_t others[] = {0, 3, 5}, counts[] = {4, 2, 3, 3, 2, 1, 5};
  fastbin_model_spec spec = stepped_spec();
  fastbin_model *models[3];
  fastbin_stream *streams[3];
  spec.ties = FASTBIN_TIES_NONE;
  spec.tie_counts = spec.counts = spec.label_sums = NULL;
  spec.edges_share = 0.0;
  models[0] = must_create(&spec);
  spec.first_step = others;
  spec.step_counts = counts;
  models[1] = must_create(&spec);
  for (int i = 0; i < 3; i++) {
    REQUIRE(fastbin_stream_create(models[i], &streams[i]) == FASTBIN_OK);
    CHECK(fastbin_stream_update_one(streams[i], 0.5, 1, 1, NULL) == FASTBIN_OK);
    if (i == 0) REQUIRE(fastbin_stream_snapshot(streams[0], &models[2]) == FASTBIN_OK);
  }
  CHECK(fastbin_stream_merge(streams[0], streams[1]) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_stream_merge(streams[2], streams[1]) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_stream_merge(streams[0], streams[2]) == FASTBIN_OK && fastbin_stream_n_samples(streams[0]) == 2);
  CHECK(describe(fastbin_stream_partition(streams[0])).n_steps == 7);
  for (int i = 0; i < 3; i++) {
    fastbin_stream_free(streams[i]);
    fastbin_model_free(models[i]);
  }
}

static fastbin_stream *stream_of(const char *event, int goes_on) {
  static const int64_t counts[] = {3, 2}, label_sums[] = {1, 2};
  fastbin_model_spec spec = half_spec();
  fastbin_model *model;
  fastbin_stream *stream;
  spec.event = event;
  spec.event_size = strlen(event);
  if (goes_on) {
    spec.counts = counts;
    spec.label_sums = label_sums;
    spec.n_samples = 5;
    spec.n_positive = 3;
  }
  model = must_create(&spec);
  REQUIRE((goes_on ? fastbin_stream_continue : fastbin_stream_create)(model, &stream) == FASTBIN_OK);
  fastbin_model_free(model);
  return stream;
}

/* Labels of two events are not added up, whichever of the two goes on from a tally; an event is kept, and taken over. */
static void test_events_of_merged_streams(void) {
  static const struct {
    const char *event, *other, *merged;
  } cases[] = {
      {"yes", "yes", "yes"}, {"yes", "", "yes"}, {"", "yes", "yes"}, {"", "", ""},
      {"yes", "no", NULL},   {"yes", "yep", NULL}, {"ye", "yes", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (int goes_on = 0; goes_on < 3; goes_on++) {
      fastbin_stream *stream = stream_of(cases[i].event, goes_on == 1), *other = stream_of(cases[i].other, goes_on == 2);
      fastbin_status status = fastbin_stream_merge(stream, other);
      fastbin_model_spec seen = describe(fastbin_stream_partition(stream));
      const char *event = cases[i].merged ? cases[i].merged : cases[i].event;
      CHECK(status == (cases[i].merged ? FASTBIN_OK : FASTBIN_ERROR_ARGUMENT));
      CHECK(seen.event_size == strlen(event) && memcmp(seen.event ? seen.event : "", event, strlen(event)) == 0);
      CHECK(fastbin_stream_n_samples(stream) == (goes_on == 1 || (goes_on == 2 && cases[i].merged) ? 5 : 0));
      fastbin_stream_free(stream);
      fastbin_stream_free(other);
    }
  }
}

static fastbin_stream *stream_over(const fastbin_model_spec *spec) {
  fastbin_model *model = must_create(spec);
  fastbin_stream *stream;
  REQUIRE(fastbin_stream_create(model, &stream) == FASTBIN_OK);
  fastbin_model_free(model);
  return stream;
}

/* The range and the keys of edges are part of the bins, and the samples of two fits may be the same ones. */
static void test_streams_that_are_not_merged(void) {
  static const uint64_t keys[][1] = {{5}, {6}};
  fastbin_model_spec spec = half_spec(), wider = half_spec(), keyed = half_spec(), other_keys = half_spec();
  fastbin_stream *streams[] = {stream_over(&spec), NULL, NULL, NULL, stream_of("", 1), stream_of("", 1)};
  wider.score_max = 2.0;
  keyed.edge_keys = keys[0];
  other_keys.edge_keys = keys[1];
  streams[1] = stream_over(&wider);
  streams[2] = stream_over(&keyed);
  streams[3] = stream_over(&other_keys);
  CHECK(fastbin_stream_merge(streams[0], streams[1]) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_stream_merge(streams[0], streams[2]) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_stream_merge(streams[2], streams[3]) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_stream_merge(streams[0], streams[4]) == FASTBIN_OK && fastbin_stream_n_samples(streams[0]) == 5);
  CHECK(fastbin_stream_merge(streams[0], streams[5]) == FASTBIN_ERROR_ARGUMENT);
  for (int i = 0; i < 6; i++) fastbin_stream_free(streams[i]);
}

/* A stream takes neither samples with weights nor those of another population. */
static void test_fits_that_no_stream_goes_on_from(void) {
  fastbin_model_spec specs[] = {countable_spec(), countable_spec(), countable_spec()}, full = full_spec();
  specs[1].weight_sums = full.weight_sums;
  specs[1].weighted_label_sums = full.weighted_label_sums;
  specs[1].weight_square_sums = full.weight_square_sums;
  specs[2].odds_ratio = 2.0;
  for (int i = 0; i < 3; i++) {
    fastbin_model *model = must_create(&specs[i]);
    fastbin_stream *stream;
    CHECK(fastbin_stream_continue(model, &stream) == (i == 0 ? FASTBIN_OK : FASTBIN_ERROR_TALLY));
    fastbin_stream_free(stream);
    fastbin_model_free(model);
  }
}

/* The values of a snapshot are means of its own samples: neither drawn with keys, nor of weights, nor those of any fit. */
static void test_snapshots_say_nothing_of_the_fit(void) {
  fastbin_model_spec specs[] = {full_spec(), half_spec()};
  specs[1].delta = 0.25;
  for (int i = 0; i < 2; i++) {
    fastbin_stream *stream = stream_over(&specs[i]);
    fastbin_model *made;
    fastbin_model_spec seen;
    REQUIRE(fastbin_stream_snapshot(stream, &made) == FASTBIN_OK);
    seen = describe(made);
    CHECK(seen.delta == 0.0 && seen.weights == FASTBIN_WEIGHTS_GIVEN && seen.fingerprint == 0 && seen.odds_ratio == 1.0);
    CHECK(!seen.weight_sums && !seen.pairs && seen.source_rate_origin == FASTBIN_RATE_NONE);
    fastbin_model_free(made);
    fastbin_stream_free(stream);
  }
}

/* A tally is gone on from only where no sample of a bin placed its edge. */
static void test_continuing_whole_ties(void) {
  static const int64_t none[9], counts[] = {6, 8, 6}, label_sums[] = {1, 3, 5};
  fastbin_model_spec spec = stepped_spec(), seen;
  fastbin_model *model = must_create(&spec);
  fastbin_stream *stream;
  CHECK(fastbin_stream_continue(model, &stream) == FASTBIN_ERROR_TALLY && stream == NULL);
  REQUIRE(fastbin_stream_create(model, &stream) == FASTBIN_OK);
  CHECK(fastbin_stream_update_one(stream, 0.5, 0, 1, NULL) == FASTBIN_OK);
  fastbin_model_free(model);
  REQUIRE(fastbin_stream_snapshot(stream, &model) == FASTBIN_OK);
  seen = describe(model);
  CHECK(seen.ties == FASTBIN_TIES_NONE && !seen.tie_counts && seen.edges_share == 0.0 && seen.n_samples == 1);
  fastbin_model_free(model);
  fastbin_stream_free(stream);
  spec.scheme = FASTBIN_SCHEME_UMS;
  spec.counts = counts;
  spec.label_sums = label_sums;
  spec.tie_counts = none;
  model = must_create(&spec);
  REQUIRE(fastbin_stream_continue(model, &stream) == FASTBIN_OK);
  fastbin_model_free(model);
  REQUIRE(fastbin_stream_snapshot(stream, &model) == FASTBIN_OK);
  seen = describe(model);
  CHECK(seen.ties == FASTBIN_TIES_WHOLE && seen.tie_counts && seen.n_tied == 5 && seen.n_steps == 3);
  CHECK(memcmp(seen.counts, counts, sizeof counts) == 0);
  fastbin_model_free(model);
  fastbin_stream_free(stream);
}

/* No stream goes on from a tally that is conditioned on its edges: bytes that say so are refused. */
static void test_states_that_count_no_fit(void) {
  fastbin_model_spec spec = stepped_spec();
  fastbin_model *model = must_create(&spec);
  fastbin_stream *stream, *copy;
  bytes b;
  REQUIRE(fastbin_stream_create(model, &stream) == FASTBIN_OK);
  b.size = fastbin_stream_size(stream);
  REQUIRE(b.size <= MOST_BYTES && fastbin_stream_write(stream, b.at, MOST_BYTES) == FASTBIN_OK);
  seal(&b); /* changes nothing: shows that it is right */
  CHECK(fastbin_stream_read(b.at, b.size, &copy) == FASTBIN_OK);
  fastbin_stream_free(copy);
  put(&b, 40, 2, 4); /* no variance, and a fit; its samples, and those of the bins */
  put(&b, 48, 20, 8);
  put(&b, 56, 9, 8);
  put(&b, 64, 5, 8);
  seal(&b);
  CHECK(fastbin_stream_read(b.at, b.size, &copy) == FASTBIN_ERROR_CONTENT && copy == NULL);
  fastbin_stream_free(stream);
  fastbin_model_free(model);
}

/* A monitor has an interval and evidence for each bin, not for each step. */
static void test_monitors_have_bins(void) {
  static const double tolerated[] = {0.0, 0.25, 0.25, 0.75, 0.5, 1.0}, max_log_e[] = {0.0, 1.5, 0.0};
  static const int64_t named_at[3];
  fastbin_model_spec spec = stepped_spec();
  fastbin_model *model = must_create(&spec);
  fastbin_monitor_spec state, seen;
  fastbin_monitor *monitor;
  fastbin_stream *stream;
  bytes b;
  REQUIRE(fastbin_stream_create(model, &stream) == FASTBIN_OK);
  for (int i = 0; i < 10; i++) CHECK(fastbin_stream_update_one(stream, 0.3, 0, i % 2, NULL) == FASTBIN_OK);
  memset(&state, 0, sizeof state);
  state.struct_size = sizeof state;
  state.stream = stream;
  state.alpha = 0.05;
  state.tolerated = tolerated;
  state.max_log_e = max_log_e;
  state.named_at = named_at;
  b.size = fastbin_monitor_size(&state);
  REQUIRE(b.size > 0 && b.size <= MOST_BYTES && fastbin_monitor_write(&state, b.at, MOST_BYTES) == FASTBIN_OK);
  REQUIRE(fastbin_monitor_read(b.at, b.size, &monitor) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_monitor_describe(monitor, &seen) == FASTBIN_OK);
  CHECK(memcmp(seen.tolerated, tolerated, sizeof tolerated) == 0 && memcmp(seen.max_log_e, max_log_e, sizeof max_log_e) == 0);
  CHECK(describe(fastbin_stream_partition(seen.stream)).n_steps == 7);
  fastbin_monitor_free(monitor);
  fastbin_stream_free(stream);
  fastbin_model_free(model);
}

int main(void) {
  test_streams_count_in_bins(40, 7, 1);
  test_streams_count_in_bins(40, 7, 0);
  test_streams_count_in_bins(80, 79, 1);
  test_streams_count_in_bins(80, 1, 1);
  test_streams_over_other_bins_are_not_merged();
  test_events_of_merged_streams();
  test_streams_that_are_not_merged();
  test_fits_that_no_stream_goes_on_from();
  test_snapshots_say_nothing_of_the_fit();
  test_continuing_whole_ties();
  test_states_that_count_no_fit();
  test_monitors_have_bins();
  return finish();
}
