/*
 * test_model.c: status codes, keys, and what fastbin_model_create() takes and refuses.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "models.h"
#include "specs.h"

#include <float.h>

/* ------------------------------------------------------------------------------------------------------------- */
/* Pins: numbers that other programs have compiled in                                                            */
/* ------------------------------------------------------------------------------------------------------------- */

static void test_status_codes(void) {
  static const struct {
    fastbin_status status;
    int number;
  } pins[] = {
      {FASTBIN_OK, 0},
      {FASTBIN_ERROR_ARGUMENT, 10},
      {FASTBIN_ERROR_STRUCT_SIZE, 11},
      {FASTBIN_ERROR_MEMORY, 20},
      {FASTBIN_ERROR_BUFFER, 21},
      {FASTBIN_ERROR_SCORE_NAN, 30},
      {FASTBIN_ERROR_SCORE_RANGE, 31},
      {FASTBIN_ERROR_CELL, 32},
      {FASTBIN_ERROR_EDGES, 40},
      {FASTBIN_ERROR_VALUES, 41},
      {FASTBIN_ERROR_TALLY, 42},
      {FASTBIN_ERROR_WEIGHTS, 43},
      {FASTBIN_ERROR_RANGE, 44},
      {FASTBIN_ERROR_MAP, 45},
      {FASTBIN_ERROR_ORIGIN, 46},
      {FASTBIN_ERROR_SET, 47},
      {FASTBIN_ERROR_MAGIC, 60},
      {FASTBIN_ERROR_FORMAT_VERSION, 61},
      {FASTBIN_ERROR_LENGTH, 62},
      {FASTBIN_ERROR_CHECKSUM, 63},
      {FASTBIN_ERROR_CONTENT, 64},
      {FASTBIN_ERROR_OPEN, 80},
      {FASTBIN_ERROR_READ, 81},
      {FASTBIN_ERROR_WRITE, 82},
  };
  const char *unknown = fastbin_status_string((fastbin_status)12345);
  size_t n = sizeof pins / sizeof pins[0];
  for (size_t i = 0; i < n; i++) {
    const char *text = fastbin_status_string(pins[i].status);
    CHECK((int)pins[i].status == pins[i].number);
    CHECK(text && strlen(text) > 5 && strcmp(text, unknown) != 0);
    for (size_t k = 0; k < i; k++) CHECK(strcmp(text, fastbin_status_string(pins[k].status)) != 0);
  }
}

static void test_version(void) {
  char version[64];
  snprintf(version, sizeof version, "%d.%d.%d", FASTBIN_VERSION_MAJOR, FASTBIN_VERSION_MINOR, FASTBIN_VERSION_PATCH);
  CHECK(strcmp(version, FASTBIN_VERSION_STRING) == 0);
  CHECK(strcmp(version, fastbin_version()) == 0);
}

/* The table of FORMAT.md. */
static void test_keys(void) {
  CHECK(fastbin_row_key(0, 0) == 0xFAA2702D3A581CDCu);
  CHECK(fastbin_row_key(42, 1000000) == 0xF4907E14E1D84A86u);
  CHECK(fastbin_row_key(UINT64_MAX, UINT64_MAX) == 0x0A377D1E0EA7DD99u);
  CHECK(fastbin_group_key(42, 0.0, 0) == 0x0A0E0A4FDFEF78DAu);
  CHECK(fastbin_group_key(42, -0.0, 0) == 0x0A0E0A4FDFEF78DAu);
  CHECK(fastbin_group_key(42, 0.5, 1) == 0x1CC6B4EFCFADCAD6u);
  CHECK(fastbin_group_key(42, -2.5, 0) == 0x9DC56B645ABD4594u);
  CHECK(fastbin_split_key(42, 0.5, 1) == 0x61D09CC057E3FDCEu);
  CHECK(fastbin_split_key(42, 0.5, 1) != fastbin_group_key(42, 0.5, 1));
}

/* The table of FORMAT.md, "Drawn labels", and what is refused. */
static void test_drawn_labels(void) {
  static const struct {
    uint64_t digest;
    double score;
    int64_t count, ones, chosen, f, y;
  } draws[] = {
      {0, 0.5, 1, 1, 1, 1, 1},
      {0, 0.5, 2, 1, 1, 1, 1},
      {42, 0.25, 10, 4, 5, 3, 0},
      {UINT64_C(0x0123456789ABCDEF), -2.5, 1000, 10, 300, 2, 0},
      {UINT64_MAX, 0.0, 1000000000, 500000000, 250000000, 124998233, 0},
      {UINT64_MAX, -0.0, 1000000000, 500000000, 250000000, 124998233, 0},
      {7, 1.0, INT64_C(1) << 53, 3, INT64_C(1) << 52, 1, 0},
      {7, 1.0, 5, 2, 0, 0, 0},
      {7, 1.0, 0, 0, 0, 0, 0},
  };
  int64_t f, y;
  for (size_t i = 0; i < sizeof draws / sizeof draws[0]; i++) {
    CHECK(fastbin_draw_labels(draws[i].digest, draws[i].score, draws[i].count, draws[i].ones, draws[i].chosen, &f, &y) ==
          FASTBIN_OK);
    CHECK(f == draws[i].f && y == draws[i].y);
  }
  CHECK(fastbin_draw_labels(0, 0.5, 2, 1, 1, NULL, &y) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_draw_labels(0, 0.5, 2, 1, 1, &f, NULL) == FASTBIN_ERROR_ARGUMENT);
  f = y = 7;
  CHECK(fastbin_draw_labels(0, 0.5, 2, 3, 1, &f, &y) == FASTBIN_ERROR_ARGUMENT && f == 0 && y == 0);
  CHECK(fastbin_draw_labels(0, 0.5, 2, -1, 1, &f, &y) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_draw_labels(0, 0.5, 2, 1, 3, &f, &y) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_draw_labels(0, 0.5, 2, 1, -1, &f, &y) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_draw_labels(0, 0.5, -1, -1, -1, &f, &y) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_draw_labels(0, 0.5, (INT64_C(1) << 53) + 1, 1, 1, &f, &y) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_draw_labels(0, NAN, 2, 1, 1, &f, &y) == FASTBIN_ERROR_SCORE_NAN);
  CHECK(fastbin_draw_labels(0, INFINITY, 2, 1, 1, &f, &y) == FASTBIN_ERROR_SCORE_RANGE);
}

/* RFC 4231, test cases 1, 2, 3, 6 and 7: the first 64 bits; and an id that fills two blocks. */
static void test_hashed_keys(void) {
  unsigned char salt[131], id[200];
  static const char *jefe = "what do ya want for nothing?";
  static const char *large = "Test Using Larger Than Block-Size Key - Hash Key First";
  static const char *larger = "This is a test using a larger than block-size key and a larger than block-size data. The key needs "
                              "to be hashed before being used by the HMAC algorithm.";
  memset(salt, 0x0B, sizeof salt);
  CHECK(fastbin_hash_key(salt, 20, "Hi There", 8) == 0xB0344C61D8DB3853u);
  CHECK(fastbin_hash_key("Jefe", 4, jefe, strlen(jefe)) == 0x5BDCC146BF60754Eu);
  memset(salt, 0xAA, sizeof salt);
  memset(id, 0xDD, sizeof id);
  CHECK(fastbin_hash_key(salt, 20, id, 50) == 0x773EA91E36800E46u);
  CHECK(fastbin_hash_key(salt, 131, large, strlen(large)) == 0x60E431591EE0B67Fu);
  CHECK(fastbin_hash_key(salt, 131, larger, strlen(larger)) == 0x9B09FFA71B942FCBu);
  CHECK(fastbin_hash_key(NULL, 0, NULL, 0) == 0xB613679A0814D9ECu);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Create, describe                                                                                              */
/* ------------------------------------------------------------------------------------------------------------- */

static void test_describe_gives_back_what_create_took(void) {
  fastbin_model_spec spec = full_spec(), seen;
  fastbin_model *model;
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  CHECK(fastbin_model_describe(model, &seen) == FASTBIN_OK);
  CHECK(seen.kind == spec.kind && seen.scheme == spec.scheme && seen.ties == spec.ties && seen.map == spec.map);
  CHECK(memcmp(seen.map_parameters, spec.map_parameters, sizeof seen.map_parameters) == 0);
  CHECK(seen.n_bins == spec.n_bins && seen.n_bins_asked == spec.n_bins_asked);
  CHECK(memcmp(seen.edges, spec.edges, 3 * sizeof(double)) == 0 && seen.edges != spec.edges);
  CHECK(memcmp(seen.edge_keys, spec.edge_keys, 3 * sizeof(uint64_t)) == 0);
  CHECK(memcmp(seen.values, spec.values, 4 * sizeof(double)) == 0);
  CHECK(memcmp(seen.counts, spec.counts, 4 * sizeof(int64_t)) == 0);
  CHECK(memcmp(seen.label_sums, spec.label_sums, 4 * sizeof(int64_t)) == 0);
  CHECK(memcmp(seen.weight_sums, spec.weight_sums, 4 * sizeof(double)) == 0);
  CHECK(memcmp(seen.weighted_label_sums, spec.weighted_label_sums, 4 * sizeof(double)) == 0);
  CHECK(memcmp(seen.weight_square_sums, spec.weight_square_sums, 4 * sizeof(double)) == 0);
  CHECK(seen.score_min == spec.score_min && seen.score_max == spec.score_max);
  CHECK(seen.delta == spec.delta && seen.odds_ratio == spec.odds_ratio && seen.seed == spec.seed);
  CHECK(seen.n_samples == spec.n_samples && seen.n_positive == spec.n_positive && seen.n_tied == spec.n_tied);
  CHECK(seen.note_size == spec.note_size && memcmp(seen.note, spec.note, spec.note_size) == 0);
  CHECK(memcmp(seen.pairs, spec.pairs, 8 * sizeof(double)) == 0 && seen.pairs != spec.pairs);
  CHECK(seen.source_rate_origin == spec.source_rate_origin && seen.target_rate_origin == spec.target_rate_origin);
  CHECK(seen.source_rate == spec.source_rate && seen.target_rate == spec.target_rate);
  CHECK(seen.source_count == spec.source_count && seen.source_ones == spec.source_ones);
  CHECK(seen.target_count == spec.target_count && seen.target_ones == spec.target_ones);
  CHECK(seen.out_of_range == spec.out_of_range && seen.weights == spec.weights && seen.fingerprint == spec.fingerprint);
  fastbin_model_free(model);
}

static void test_what_is_not_there_is_null(void) {
  static const double value = 0.5;
  fastbin_model_spec spec = empty_spec(FASTBIN_STEP), seen;
  fastbin_model *model;
  spec.n_bins = 1;
  spec.values = &value;
  spec.note = "";
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  CHECK(fastbin_model_describe(model, &seen) == FASTBIN_OK);
  CHECK(!seen.edges && !seen.edge_keys && !seen.counts && !seen.label_sums && !seen.weight_sums);
  CHECK(!seen.weighted_label_sums && !seen.weight_square_sums && !seen.note && seen.note_size == 0);
  fastbin_model_free(model);
}

static void test_default_keys_and_negative_zeros(void) {
  static const double edges[] = {-0.0, 1.0};
  static const double values[] = {-0.0, 0.5, 1.0};
  fastbin_model_spec spec = empty_spec(FASTBIN_STEP), seen;
  fastbin_model *model;
  spec.n_bins = 3;
  spec.edges = edges;
  spec.values = values;
  spec.score_min = -0.0;
  spec.delta = -0.0;
  spec.source_rate = spec.target_rate = -0.0;
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  CHECK(fastbin_model_describe(model, &seen) == FASTBIN_OK);
  CHECK(seen.edge_keys[0] == FASTBIN_KEY_ABOVE && seen.edge_keys[1] == FASTBIN_KEY_ABOVE);
  CHECK(same_bits(seen.edges[0], 0.0) && same_bits(seen.values[0], 0.0));
  CHECK(same_bits(seen.score_min, 0.0) && same_bits(seen.delta, 0.0));
  CHECK(same_bits(seen.source_rate, 0.0) && same_bits(seen.target_rate, 0.0));
  fastbin_model_free(model);
}

#define FIRST_SIZE offsetof(fastbin_model_spec, pairs)

/* A caller compiled against the header of 0.1.0, whose spec ends before the pairs: what lies behind it is not looked at. */
static void test_struct_of_the_first_release(void) {
  fastbin_model_spec spec = half_spec(), seen;
  fastbin_model *model;
  memset((unsigned char *)&spec + FIRST_SIZE, 0xA5, sizeof spec - FIRST_SIZE);
  spec.struct_size = FIRST_SIZE;
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  CHECK(fastbin_model_describe(model, &seen) == FASTBIN_OK);
  CHECK(!seen.pairs && seen.source_rate_origin == 0 && seen.out_of_range == 0 && seen.fingerprint == 0);
  memset(&seen, 0xA5, sizeof seen);
  seen.struct_size = FIRST_SIZE;
  CHECK(fastbin_model_describe(model, &seen) == FASTBIN_OK);
  CHECK(seen.n_bins == 2 && seen.struct_size == FIRST_SIZE);
  CHECK(*((unsigned char *)&seen + FIRST_SIZE) == 0xA5);
  fastbin_model_free(model);
}

/* A caller compiled against a later header, whose spec has a member more. */
static void test_struct_sizes(void) {
  struct {
    fastbin_model_spec spec;
    int64_t new_member;
  } later;
  fastbin_model *model;
  memset(&later, 0, sizeof later);
  later.spec = half_spec();
  later.spec.struct_size = sizeof later;
  REQUIRE(fastbin_model_create(&later.spec, &model) == FASTBIN_OK);
  later.new_member = 7;
  CHECK(fastbin_model_describe(model, &later.spec) == FASTBIN_OK);
  CHECK(later.new_member == 0 && later.spec.struct_size == sizeof later);
  later.spec.struct_size = 0;
  CHECK(fastbin_model_describe(model, &later.spec) == FASTBIN_ERROR_STRUCT_SIZE);
  CHECK(fastbin_model_describe(model, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_model_describe(NULL, &later.spec) == FASTBIN_ERROR_ARGUMENT);
  fastbin_model_free(model);
  later.spec = half_spec();
  later.spec.struct_size = sizeof later;
  later.new_member = 7;
  CHECK(fastbin_model_create(&later.spec, &model) == FASTBIN_ERROR_STRUCT_SIZE && model == NULL);
  for (size_t size = 0; size < sizeof later.spec; size++) { /* those between two releases would end within a member */
    later.spec.struct_size = size;
    if (size == FIRST_SIZE) continue;
    CHECK(fastbin_model_create(&later.spec, &model) == FASTBIN_ERROR_STRUCT_SIZE && model == NULL);
  }
  CHECK(fastbin_model_create(NULL, &model) == FASTBIN_ERROR_ARGUMENT && model == NULL);
  CHECK(fastbin_model_create(&later.spec, NULL) == FASTBIN_ERROR_ARGUMENT);
  fastbin_model_free(NULL);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Refusals: a good spec with one thing wrong                                                                    */
/* ------------------------------------------------------------------------------------------------------------- */

static void test_refused_shapes(void) {
  REFUSES(full_spec(), kind = -1, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), kind = 3, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), scheme = 5, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), ties = 6, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), ties = -1, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), map = 5, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), n_bins = 0, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), n_bins = -4, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), n_bins = FASTBIN_MAX_BINS + 1, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), edges = NULL, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), values = NULL, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), note = NULL, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), note = NULL; spec.note_size = 1, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), note_size = SIZE_MAX, FASTBIN_ERROR_MEMORY);
}

static void test_refused_arrays(void) {
  static const double falling[] = {0.5, 0.25, 0.75}, infinite[] = {0.25, 0.5, INFINITY}, missing[] = {0.25, NAN, 0.5};
  static const uint64_t falling_keys[] = {0, 1000, 999};
  static const double above_one[] = {0, 0, 0, 1.0000000000000002}, below_zero[] = {-5e-324, 0, 0, 0};
  static const double nan_value[] = {0, NAN, 0, 0};
  static const int64_t negative[] = {8, 2, -1, 1}, negative_ones[] = {1, 1, -1, 1};
  static const int64_t too_many[] = {1, 3, 1, 1}, too_many_ones[] = {4, 1, 1, 1};
  static const double too_heavy[] = {4.5, 0.75, 0.5, 0.5}, too_small[] = {2.0, 1.25, 0.9, 0.25};
  static const double too_large[] = {2.0, 1.25, 1.0, 0.3};
  static const double falling_pairs[] = {0, 1, 0, 1, 0.5, 0.25, 0, 1}, wide_pairs[] = {0, 1, 0, 1, 0, 1.5, 0, 1};
  static const double infinite_sums[] = {1, 1, INFINITY, 1}, negative_sums[] = {1, -1, 1, 1};
  REFUSES(full_spec(), edges = falling, FASTBIN_ERROR_EDGES);
  REFUSES(full_spec(), edges = infinite, FASTBIN_ERROR_EDGES);
  REFUSES(full_spec(), edges = missing, FASTBIN_ERROR_EDGES);
  REFUSES(full_spec(), edge_keys = falling_keys, FASTBIN_ERROR_EDGES);
  REFUSES(full_spec(), values = above_one, FASTBIN_ERROR_VALUES);
  REFUSES(full_spec(), values = below_zero, FASTBIN_ERROR_VALUES);
  REFUSES(full_spec(), values = nan_value, FASTBIN_ERROR_VALUES);
  REFUSES(full_spec(), counts = NULL, FASTBIN_ERROR_TALLY);
  REFUSES(full_spec(), label_sums = NULL, FASTBIN_ERROR_TALLY);
  REFUSES(full_spec(), counts = negative, FASTBIN_ERROR_TALLY);
  REFUSES(full_spec(), label_sums = negative_ones, FASTBIN_ERROR_TALLY);
  REFUSES(full_spec(), label_sums = too_many, FASTBIN_ERROR_TALLY);
  REFUSES(full_spec(), label_sums = too_many_ones, FASTBIN_ERROR_ORIGIN); /* 7 of label 1, where 6 were seen */
  REFUSES(full_spec(), n_samples = 16, FASTBIN_ERROR_ORIGIN);             /* 11 of label 0, where 10 were seen */
  REFUSES(full_spec(), weight_sums = NULL, FASTBIN_ERROR_WEIGHTS);
  REFUSES(full_spec(), weighted_label_sums = NULL, FASTBIN_ERROR_WEIGHTS);
  REFUSES(full_spec(), weight_square_sums = infinite_sums, FASTBIN_ERROR_WEIGHTS);
  REFUSES(full_spec(), weight_sums = negative_sums, FASTBIN_ERROR_WEIGHTS);
  REFUSES(full_spec(), weighted_label_sums = too_heavy, FASTBIN_ERROR_WEIGHTS);
  REFUSES(full_spec(), weight_square_sums = too_small, FASTBIN_ERROR_WEIGHTS); /* 4 weights of mean 1/2, squares .9 */
  REFUSES(full_spec(), weight_square_sums = too_large, FASTBIN_ERROR_WEIGHTS); /* 1 weight of 1/2, square .3 */
  REFUSES(full_spec(), pairs = falling_pairs, FASTBIN_ERROR_VALUES);
  REFUSES(full_spec(), pairs = wide_pairs, FASTBIN_ERROR_VALUES);
}

static void test_refused_numbers(void) {
  REFUSES(full_spec(), score_min = NAN, FASTBIN_ERROR_RANGE);
  REFUSES(full_spec(), score_min = 1.5, FASTBIN_ERROR_RANGE);
  REFUSES(full_spec(), score_max = -INFINITY, FASTBIN_ERROR_RANGE);
  REFUSES(full_spec(), map_parameters[0] = INFINITY, FASTBIN_ERROR_MAP);
  REFUSES(full_spec(), map_parameters[3] = 1.0, FASTBIN_ERROR_MAP);
  REFUSES(full_spec(), map = FASTBIN_MAP_NONE, FASTBIN_ERROR_MAP); /* leaves parameters without a map */
  REFUSES(full_spec(), n_samples = -1, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), n_samples = 21, FASTBIN_ERROR_ORIGIN); /* 6 left out, where 5 bins were asked for */
  REFUSES(full_spec(), n_samples = INT64_MAX, FASTBIN_ERROR_ORIGIN);
  REFUSES(stepped_spec(), n_samples = 21, FASTBIN_ERROR_TALLY); /* steps count every sample */
  REFUSES(full_spec(), n_positive = 19, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), n_positive = -1, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), n_tied = 19, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), n_bins_asked = -1, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), delta = 1.0, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), delta = NAN, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), odds_ratio = 0.0, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), odds_ratio = INFINITY, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), odds_ratio = 1.0, FASTBIN_ERROR_ORIGIN); /* not what the rates give */
  REFUSES(full_spec(), source_rate = 0.0, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), target_rate = NAN, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), source_rate_origin = FASTBIN_RATE_NONE, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), source_rate_origin = FASTBIN_RATE_GIVEN, FASTBIN_ERROR_ORIGIN); /* and yet counted */
  REFUSES(full_spec(), source_rate_origin = FASTBIN_RATE_ESTIMATED, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), target_rate_origin = FASTBIN_RATE_COUNTED, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), target_rate_origin = 4, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), source_ones = 19, FASTBIN_ERROR_ORIGIN);
  REFUSES(full_spec(), out_of_range = 2, FASTBIN_ERROR_ARGUMENT);
  REFUSES(full_spec(), weights = 2, FASTBIN_ERROR_ARGUMENT);
  REFUSES(half_spec(), weights = FASTBIN_WEIGHTS_ESTIMATED, FASTBIN_ERROR_WEIGHTS); /* of no weights */
}

/* A part of the samples of a split fit places the edges; all of them may be in slices. */
static void test_numbers_of_samples(void) {
  static const int64_t counts[] = {3, 2}, label_sums[] = {1, 2}, none[] = {0, 0}, last[] = {0, 5};
  static const int32_t split[] = {FASTBIN_SCHEME_UMS, FASTBIN_SCHEME_SCALING_BINNING, FASTBIN_SCHEME_EXPLICIT, FASTBIN_SCHEME_OTHER};
  static const double cut = 0.5;
  fastbin_model_spec spec = half_spec();
  spec.counts = counts;
  spec.label_sums = label_sums;
  spec.n_positive = 3;
  spec.n_samples = 1000;
  for (size_t i = 0; i < sizeof split / sizeof split[0]; i++) {
    spec.scheme = split[i];
    CHECK(create(&spec) == FASTBIN_OK);
  }
  spec.scheme = FASTBIN_SCHEME_UMB;
  CHECK(create(&spec) == FASTBIN_ERROR_ORIGIN);
  spec.n_samples = 7;
  CHECK(create(&spec) == FASTBIN_OK);
  spec.counts = spec.label_sums = NULL;
  spec.n_slices = 2;
  spec.slice_cuts = &cut;
  spec.slice_label_sums = none;
  spec.n_samples = INT64_MAX;
  spec.n_positive = 0;
  CHECK(create(&spec) == FASTBIN_OK);
  spec.slice_label_sums = last;
  CHECK(create(&spec) == FASTBIN_ERROR_TALLY);
  spec.n_positive = 5;
  CHECK(create(&spec) == FASTBIN_OK);
}

static fastbin_model_spec linear_spec(void) {
  static const double knots[] = {0.1, 0.6}, values[] = {0.25, 0.75};
  fastbin_model_spec spec = empty_spec(FASTBIN_LINEAR);
  spec.n_bins = 2;
  spec.edges = knots;
  spec.values = values;
  return spec;
}

static fastbin_model_spec smooth_spec(void) {
  fastbin_model_spec spec = empty_spec(FASTBIN_SMOOTH);
  spec.map = FASTBIN_MAP_LOGISTIC;
  spec.map_parameters[0] = 2.0;
  return spec;
}

static void test_refused_on_other_kinds(void) {
  static const double repeated[] = {0.5, 0.5};
  static const uint64_t keys[] = {0, 7};
  static const int64_t counts[] = {1, 1};
  REFUSES(linear_spec(), edges = repeated, FASTBIN_ERROR_EDGES);
  REFUSES(linear_spec(), edge_keys = keys, FASTBIN_ERROR_EDGES);
  REFUSES(linear_spec(), delta = 0.1, FASTBIN_ERROR_ORIGIN);
  REFUSES(linear_spec(), map = FASTBIN_MAP_LOGISTIC, FASTBIN_ERROR_MAP);
  REFUSES(linear_spec(), counts = counts, FASTBIN_ERROR_TALLY);
  REFUSES(linear_spec(), pairs = repeated, FASTBIN_ERROR_VALUES);
  REFUSES(smooth_spec(), map = FASTBIN_MAP_BETA, FASTBIN_ERROR_MAP); /* its scores may be anything */
  REFUSES(smooth_spec(), n_bins = 1, FASTBIN_ERROR_ARGUMENT);
  REFUSES(smooth_spec(), delta = 0.1, FASTBIN_ERROR_ORIGIN);
}

int main(void) {
  test_status_codes();
  test_version();
  test_keys();
  test_hashed_keys();
  test_drawn_labels();
  test_describe_gives_back_what_create_took();
  test_what_is_not_there_is_null();
  test_default_keys_and_negative_zeros();
  test_struct_of_the_first_release();
  test_struct_sizes();
  test_refused_shapes();
  test_refused_arrays();
  test_refused_numbers();
  test_numbers_of_samples();
  test_refused_on_other_kinds();
  return finish();
}
