/*
 * test_design.c: known sampling, pools and batches, and decisions: what a model keeps of them, and what is decided.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "model_bytes.h"
#include "models.h"
#include "specs.h"

#define N 1300

static void test_parts_come_back(void) {
  fastbin_model_spec spec = decided_spec(), seen;
  fastbin_model *model = must_create(&spec);
  seen = describe(model);
  CHECK(seen.sampling_rate == 0.125 && seen.accept_above == 0.75 && seen.reject_below == 0.25);
  CHECK(memcmp(seen.pool_counts, spec.pool_counts, 16) == 0 && seen.pool_counts != spec.pool_counts);
  CHECK(memcmp(seen.population_counts, spec.population_counts, 16) == 0 && seen.population_counts != spec.population_counts);
  CHECK(seen.decision_size == 13 && memcmp(seen.decision, spec.decision, 13) == 0 && seen.decision != spec.decision);
  fastbin_model_free(model);
  spec = half_spec();
  model = must_create(&spec);
  seen = describe(model);
  CHECK(seen.sampling_rate == 0.0 && !seen.pool_counts && !seen.population_counts);
  CHECK(seen.accept_above == 0.0 && seen.reject_below == 0.0 && !seen.decision && seen.decision_size == 0);
  fastbin_model_free(model);
}

static void test_equal_models_have_equal_bytes(void) {
  fastbin_model_spec spec = half_spec();
  bytes expected = bytes_of(&spec), seen;
  spec.sampling_rate = spec.accept_above = spec.reject_below = -0.0;
  seen = bytes_of(&spec);
  CHECK(seen.size == expected.size && memcmp(seen.at, expected.at, seen.size) == 0);
  spec = decided_spec();
  spec.accept_above = spec.reject_below = 0.0;
  expected = bytes_of(&spec);
  spec.accept_above = -0.0;
  seen = bytes_of(&spec);
  CHECK(seen.size == expected.size && memcmp(seen.at, expected.at, seen.size) == 0);
}

static void test_refused_sampling(void) {
  REFUSES(decided_spec(), sampling_rate = -0.125, FASTBIN_ERROR_ORIGIN);
  REFUSES(decided_spec(), sampling_rate = 1.5, FASTBIN_ERROR_ORIGIN);
  REFUSES(decided_spec(), sampling_rate = NAN, FASTBIN_ERROR_ORIGIN);
  REFUSES(decided_spec(), sampling_rate = INFINITY, FASTBIN_ERROR_ORIGIN);
  REFUSES(decided_spec(), odds_ratio = 1.0, FASTBIN_ERROR_ORIGIN); /* values that were not moved by it */
  REFUSES(decided_spec(), sampling_rate = 1.0, FASTBIN_ERROR_ORIGIN);
  REFUSES(decided_spec(), sampling_rate = 0.0, FASTBIN_OK);
  fastbin_model_spec spec = full_spec(); /* moved to class rates */
  spec.sampling_rate = spec.odds_ratio;
  CHECK(create(&spec) == FASTBIN_ERROR_ORIGIN);
  spec = empty_spec(FASTBIN_SMOOTH);
  spec.map = FASTBIN_MAP_LOGISTIC;
  CHECK(create(&spec) == FASTBIN_OK);
  spec.sampling_rate = 1.0;
  CHECK(create(&spec) == FASTBIN_ERROR_ORIGIN);
}

static void test_refused_designs(void) {
  static const int64_t few[] = {4, 5}, negative[] = {-1, 60}, many[] = {4, (INT64_C(1) << 53) - 4};
  static const int64_t more[] = {4, (INT64_C(1) << 53) - 3};
  static const int64_t overflowing[] = {INT64_MAX, INT64_MAX};
  REFUSES(decided_spec(), pool_counts = few, FASTBIN_ERROR_TALLY);
  REFUSES(decided_spec(), pool_counts = negative, FASTBIN_ERROR_TALLY);
  REFUSES(decided_spec(), pool_counts = many, FASTBIN_OK);
  REFUSES(decided_spec(), pool_counts = more, FASTBIN_ERROR_TALLY);
  REFUSES(decided_spec(), pool_counts = overflowing, FASTBIN_ERROR_TALLY);
  REFUSES(decided_spec(), pool_counts = NULL, FASTBIN_OK);
  REFUSES(decided_spec(), population_counts = few, FASTBIN_ERROR_TALLY);
  REFUSES(decided_spec(), population_counts = more, FASTBIN_ERROR_TALLY);
  REFUSES(decided_spec(), population_counts = NULL, FASTBIN_OK);
  REFUSES(decided_spec(), counts = spec.label_sums = NULL, FASTBIN_ERROR_TALLY); /* of no tally */
}

static void test_refused_decisions(void) {
  static const char text[FASTBIN_MAX_DECISION_SIZE + 1] = "x";
  REFUSES(decided_spec(), accept_above = NAN, FASTBIN_ERROR_ORIGIN);
  REFUSES(decided_spec(), reject_below = NAN, FASTBIN_ERROR_ORIGIN);
  REFUSES(decided_spec(), reject_below = nextafter(0.75, 1.0), FASTBIN_ERROR_ORIGIN); /* bands that overlap */
  REFUSES(decided_spec(), reject_below = 0.75, FASTBIN_OK);
  REFUSES(decided_spec(), accept_above = INFINITY, FASTBIN_OK);
  REFUSES(decided_spec(), reject_below = -INFINITY, FASTBIN_OK);
  REFUSES(decided_spec(), accept_above = spec.reject_below = INFINITY, FASTBIN_ERROR_ORIGIN);
  REFUSES(decided_spec(), accept_above = spec.reject_below = -INFINITY, FASTBIN_ERROR_ORIGIN);
  REFUSES(decided_spec(), decision = NULL, FASTBIN_ERROR_ARGUMENT);
  REFUSES(decided_spec(), decision_size = 0, FASTBIN_ERROR_ARGUMENT); /* thresholds of no decision */
  REFUSES(decided_spec(), decision = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", FASTBIN_ERROR_ORIGIN);
  fastbin_model_spec spec = decided_spec();
  spec.decision = text;
  spec.decision_size = sizeof text - 1;
  CHECK(create(&spec) == FASTBIN_OK);
  spec.decision_size = sizeof text;
  CHECK(create(&spec) == FASTBIN_ERROR_ORIGIN);
}

static fastbin_status status_in(const char *tag, size_t offset, uint64_t number, int width) {
  fastbin_model_spec spec = decided_spec();
  bytes b = bytes_of(&spec);
  put(&b, payload_of(&b, tag) + offset, number, width);
  seal(&b);
  return read_status(b.at, b.size);
}

static void test_contents_of_sections(void) {
  static const uint64_t minus_zero = UINT64_C(0x8000000000000000);
  static const char *const tags[] = {"SAMP", "PLAN", "POPN", "DCSN"};
  for (int i = 0; i < 4; i++) {
    CHECK(status_in(tags[i], (size_t)0 - 12, i < 3, 4) == FASTBIN_OK);
    CHECK(status_in(tags[i], (size_t)0 - 12, i == 3, 4) == FASTBIN_ERROR_CONTENT); /* the other flag */
  }
  CHECK(status_in("SAMP", 0, 0, 8) == FASTBIN_ERROR_CONTENT); /* says nothing */
  CHECK(status_in("SAMP", 0, minus_zero, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in("PLAN", 0, 5, 8) == FASTBIN_OK);
  CHECK(status_in("PLAN", 0, 3, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in("POPN", 8, UINT64_MAX, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in("PLAN", (size_t)0 - 8, 8, 8) == FASTBIN_ERROR_CONTENT); /* of one bin */
  CHECK(status_in("DCSN", (size_t)0 - 8, 28, 8) == FASTBIN_ERROR_CONTENT); /* filling that is text */
  CHECK(status_in("DCSN", (size_t)0 - 8, 16, 8) == FASTBIN_ERROR_CONTENT); /* no record */
  CHECK(status_in("DCSN", 0, minus_zero, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in("DCSN", 8, minus_zero, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in("DCSN", 8, UINT64_C(0x3FF0000000000000), 8) == FASTBIN_ERROR_CONTENT); /* rejects below 1, accepts above 3/4 */
  CHECK(status_in("DCSN", 16, 0xFF, 1) == FASTBIN_ERROR_CONTENT);
}

static void test_accidents(void) {
  fastbin_model_spec spec = decided_spec();
  bytes b = bytes_of(&spec);
  for (size_t size = 0; size < b.size; size++) CHECK(read_status(b.at, size) == FASTBIN_ERROR_LENGTH);
  for (size_t i = 0; i < b.size; i++) {
    b.at[i] ^= 0x10;
    CHECK(read_status(b.at, b.size) != FASTBIN_OK);
    b.at[i] ^= 0x10;
  }
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Streams                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

/* The bins of a stream are counted anew: nothing that was known of the sample, or decided by it, is said of the snapshot. */
static void test_streams(void) {
  fastbin_model_spec spec = decided_spec(), seen;
  fastbin_model *model = must_create(&spec), *snapshot;
  fastbin_stream *stream, *second;
  REQUIRE(fastbin_stream_create(model, &stream) == FASTBIN_OK);
  REQUIRE(fastbin_stream_snapshot(stream, &snapshot) == FASTBIN_OK);
  seen = describe(snapshot);
  CHECK(seen.sampling_rate == 0.0 && seen.odds_ratio == 1.0 && !seen.pool_counts && !seen.population_counts);
  CHECK(seen.decision_size == 0 && seen.accept_above == 0.0 && seen.reject_below == 0.0);
  CHECK(fastbin_stream_continue(model, &second) == FASTBIN_ERROR_TALLY && !second);
  fastbin_model_free(snapshot);
  fastbin_stream_free(stream);
  fastbin_model_free(model);
  spec.sampling_rate = 0.0;
  spec.odds_ratio = 1.0;
  for (int i = 0; i < 3; i++) { /* a pool, a batch, and neither */
    spec.pool_counts = i == 0 ? decided_spec().pool_counts : NULL;
    spec.population_counts = i == 1 ? decided_spec().population_counts : NULL;
    model = must_create(&spec);
    CHECK(fastbin_stream_continue(model, &stream) == (i < 2 ? FASTBIN_ERROR_TALLY : FASTBIN_OK));
    fastbin_stream_free(stream);
    fastbin_model_free(model);
  }
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Deciding                                                                                                      */
/* ------------------------------------------------------------------------------------------------------------- */

static int decision_of(const fastbin_model *model, double score) {
  int32_t decision = 7;
  CHECK(fastbin_decide_one(model, score, &decision) == FASTBIN_OK);
  return decision;
}

static void test_one_decision(void) {
  fastbin_model_spec spec = decided_spec();
  fastbin_model *model = must_create(&spec);
  int32_t decision = 7;
  CHECK(decision_of(model, 0.0) == -1 && decision_of(model, nextafter(0.25, 0.0)) == -1 && decision_of(model, 0.25) == 0);
  CHECK(decision_of(model, 0.75) == 0 && decision_of(model, nextafter(0.75, 1.0)) == 1 && decision_of(model, 1.0) == 1);
  CHECK(fastbin_decide_one(model, NAN, &decision) == FASTBIN_ERROR_SCORE_NAN && decision == 0);
  CHECK(fastbin_decide_one(model, 1.5, &decision) == FASTBIN_ERROR_SCORE_RANGE && decision == 0);
  fastbin_model_free(model);
  spec.out_of_range = FASTBIN_OUT_OF_RANGE_CLIP;
  spec.accept_above = 1.0; /* the end of the range: what is clipped to it is not above */
  model = must_create(&spec);
  CHECK(decision_of(model, 1.5) == 0 && decision_of(model, -3.0) == -1);
  CHECK(fastbin_decide_one(model, INFINITY, &decision) == FASTBIN_ERROR_SCORE_RANGE && decision == 0);
  fastbin_model_free(model);
  spec.accept_above = spec.reject_below = 0.0;
  model = must_create(&spec);
  CHECK(decision_of(model, -0.0) == 0 && decision_of(model, 0.0) == 0 && decision_of(model, 5e-324) == 1);
  fastbin_model_free(model);
  spec = half_spec();
  model = must_create(&spec);
  decision = 7;
  CHECK(fastbin_decide_one(model, 0.5, &decision) == FASTBIN_ERROR_ARGUMENT && decision == 0);
  fastbin_model_free(model);
}

/* Models of every kind, in more than one block, in both types. */
static void test_many_decisions(const fastbin_model_spec *undecided) {
  static double scores[N];
  static float floats[N];
  static int8_t decisions[N], of_floats[N];
  fastbin_model_spec spec = *undecided;
  fastbin_rows rows = {sizeof rows, scores, sizeof scores[0], N, FASTBIN_FLOAT64, FASTBIN_NAN_ERROR, NULL, 0, 0};
  fastbin_model *model;
  size_t bad_row = 7;
  spec.accept_above = 0.625;
  spec.reject_below = 0.5;
  spec.decision = "{}";
  spec.decision_size = 2;
  model = must_create(&spec);
  for (int i = 0; i < N; i++) floats[i] = (float)(scores[i] = i / (N - 1.0));
  CHECK(fastbin_decide(model, &rows, decisions, NULL) == FASTBIN_OK);
  rows.scores = floats;
  rows.score_stride = sizeof floats[0];
  rows.score_type = FASTBIN_FLOAT32;
  CHECK(fastbin_decide(model, &rows, of_floats, NULL) == FASTBIN_OK);
  for (int i = 0; i < N; i++) {
    CHECK(decisions[i] == decision_of(model, scores[i]) && of_floats[i] == decision_of(model, (double)floats[i]));
    CHECK(decisions[i] == (scores[i] > 0.625) - (scores[i] < 0.5));
  }
  rows.scores = scores;
  rows.score_stride = sizeof scores[0];
  rows.score_type = FASTBIN_FLOAT64;
  scores[600] = NAN;
  CHECK(fastbin_decide(model, &rows, decisions, &bad_row) == FASTBIN_ERROR_SCORE_NAN && bad_row == 600);
  rows.nan_policy = FASTBIN_NAN_PROPAGATE;
  CHECK(fastbin_decide(model, &rows, decisions, &bad_row) == FASTBIN_OK && decisions[600] == 0 && decisions[599] == -1);
  CHECK(decisions[N - 1] == 1);
  scores[1200] = INFINITY;
  CHECK(fastbin_decide(model, &rows, decisions, &bad_row) == FASTBIN_ERROR_SCORE_RANGE && bad_row == 1200);
  CHECK(fastbin_decide(model, &rows, NULL, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_decide(model, NULL, decisions, NULL) == FASTBIN_ERROR_ARGUMENT);
  fastbin_model_free(model);
  model = must_create(undecided);
  CHECK(fastbin_decide(model, &rows, decisions, NULL) == FASTBIN_ERROR_ARGUMENT);
  fastbin_model_free(model);
}

int main(void) {
  static const double knots[] = {0.25, 0.75}, values[] = {0.0, 1.0};
  fastbin_model_spec half = half_spec(), full = full_spec(), stepped = stepped_spec(), spline = spline_spec(), linear;
  linear = empty_spec(FASTBIN_LINEAR);
  linear.n_bins = 2;
  linear.edges = knots;
  linear.values = values;
  test_parts_come_back();
  test_equal_models_have_equal_bytes();
  test_refused_sampling();
  test_refused_designs();
  test_refused_decisions();
  test_contents_of_sections();
  test_accidents();
  test_streams();
  test_one_decision();
  test_many_decisions(&half);
  test_many_decisions(&full);
  test_many_decisions(&stepped);
  test_many_decisions(&spline);
  test_many_decisions(&linear);
  return finish();
}
