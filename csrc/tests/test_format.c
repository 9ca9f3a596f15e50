/*
 * test_format.c: a model as bytes. Damaged ones of every kind are refused.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"
#include "model_bytes.h"
#include "specs.h"

#include <float.h>

/* ------------------------------------------------------------------------------------------------------------- */
/* Good bytes                                                                                                    */
/* ------------------------------------------------------------------------------------------------------------- */

/* The example of FORMAT.md. Version 1 is frozen: if this fails, the library is wrong, not the test. */
static void test_the_example(void) {
  static const char *const words[] = {
      "8946424d0d0a1a0a", "0100000004000000", "f800000000000000", "434f524501000000", "7800000000000000", "0000000000000000",
      "0000000000000000", "0000000000000000", "0000000000000000", "0000000000000000", "0000000000000000", "0200000000000000",
      "0000000000000000", "000000000000f03f", "0000000000000000", "000000000000f03f", "0000000000000000", "0000000000000000",
      "0000000000000000", "0000000000000000", "4544474501000000", "0800000000000000", "000000000000e03f", "454b455901000000",
      "0800000000000000", "0000000000000000", "56414c5501000000", "1000000000000000", "000000000000d03f", "000000000000e83f",
      "4903db2e77458b0b",
  };
  fastbin_model_spec spec = half_spec();
  bytes b = bytes_of(&spec);
  REQUIRE(b.size == 8 * sizeof words / sizeof words[0]);
  for (size_t i = 0; i < b.size; i++) {
    char hexadecimal[3];
    snprintf(hexadecimal, sizeof hexadecimal, "%02x", b.at[i]);
    CHECK(memcmp(words[i / 8] + 2 * (i % 8), hexadecimal, 2) == 0);
  }
}

static void check_round_trip(const fastbin_model_spec *spec) {
  bytes written = bytes_of(spec);
  unsigned char unaligned[MOST_BYTES + 1];
  fastbin_model *model;
  fastbin_model_spec seen;
  bytes again;
  memcpy(unaligned + 1, written.at, written.size);
  REQUIRE(fastbin_model_read(unaligned + 1, written.size, &model) == FASTBIN_OK);
  memset(unaligned, 0xAB, sizeof unaligned); /* the model has kept nothing of it */
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_model_describe(model, &seen) == FASTBIN_OK);
  again = bytes_of(&seen);
  CHECK(again.size == written.size && memcmp(again.at, written.at, again.size) == 0);
  fastbin_model_free(model);
}

static void test_round_trips(void) {
  static const double knots[] = {-DBL_MAX, 0.25, 1e300}, values[] = {0.0, 0.5, 1.0};
  fastbin_model_spec spec = full_spec();
  check_round_trip(&spec);
  spec.weight_sums = spec.weighted_label_sums = spec.weight_square_sums = NULL;
  spec.weights = FASTBIN_WEIGHTS_GIVEN;
  spec.out_of_range = FASTBIN_OUT_OF_RANGE_CLIP;
  spec.delta = 0.125;
  check_round_trip(&spec);
  spec.counts = spec.label_sums = NULL;
  spec.note = NULL;
  spec.note_size = 0;
  check_round_trip(&spec);
  spec = half_spec();
  spec.n_bins = 1;
  spec.score_min = -INFINITY;
  spec.score_max = INFINITY;
  check_round_trip(&spec);
  spec = empty_spec(FASTBIN_LINEAR);
  spec.n_bins = 3;
  spec.edges = knots;
  spec.values = values;
  check_round_trip(&spec);
  spec = empty_spec(FASTBIN_SMOOTH);
  spec.map = FASTBIN_MAP_LOGISTIC;
  spec.map_parameters[0] = -1e-300;
  check_round_trip(&spec);
  spec = stepped_spec();
  check_round_trip(&spec);
  spec.unlabelled_counts = NULL;
  check_round_trip(&spec);
  spec = spline_spec();
  check_round_trip(&spec);
  spec = decided_spec();
  check_round_trip(&spec);
  spec.accept_above = INFINITY;
  spec.reject_below = -INFINITY;
  check_round_trip(&spec);
}

static void test_buffers(void) {
  fastbin_model_spec spec = full_spec();
  bytes b = bytes_of(&spec);
  unsigned char buffer[MOST_BYTES];
  fastbin_model *model;
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  memset(buffer, 0x55, sizeof buffer);
  CHECK(fastbin_model_write(model, buffer, b.size - 1) == FASTBIN_ERROR_BUFFER && buffer[0] == 0x55);
  CHECK(fastbin_model_write(model, buffer, b.size) == FASTBIN_OK && buffer[b.size] == 0x55);
  CHECK(fastbin_model_write(model, NULL, b.size) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_model_write(NULL, buffer, b.size) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_model_size(NULL) == 0);
  fastbin_model_free(model);
  CHECK(fastbin_model_read(NULL, b.size, &model) == FASTBIN_ERROR_ARGUMENT && model == NULL);
  CHECK(fastbin_model_read(buffer, b.size, NULL) == FASTBIN_ERROR_ARGUMENT);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Accidents                                                                                                     */
/* ------------------------------------------------------------------------------------------------------------- */

static void test_every_truncation(const fastbin_model_spec *spec) {
  bytes b = bytes_of(spec);
  for (size_t size = 0; size < b.size; size++) CHECK(read_status(b.at, size) == FASTBIN_ERROR_LENGTH);
  for (size_t extra = 1; extra < 20; extra++) {
    memset(b.at + b.size, 0, extra);
    CHECK(read_status(b.at, b.size + extra) == FASTBIN_ERROR_LENGTH);
  }
}

static void test_every_change_of_one_byte(const fastbin_model_spec *spec) {
  bytes b = bytes_of(spec);
  for (size_t i = 0; i < b.size; i++) {
    unsigned char good = b.at[i];
    for (int value = 0; value < 256; value++) {
      b.at[i] = (unsigned char)value;
      CHECK((read_status(b.at, b.size) == FASTBIN_OK) == (value == good));
    }
    b.at[i] = good;
  }
}

static void test_foreign_and_mangled_files(void) {
  fastbin_model_spec spec = full_spec();
  bytes b = bytes_of(&spec);
  CHECK(read_status("not a model at all, but long enough to be one", 45) == FASTBIN_ERROR_MAGIC);
  CHECK(read_status("\x89PNG\r\n\x1a\n0000000000000000", 24) == FASTBIN_ERROR_MAGIC);
  memmove(b.at + 4, b.at + 5, b.size - 5); /* a transfer in text mode: \r\n becomes \n */
  CHECK(read_status(b.at, b.size - 1) == FASTBIN_ERROR_MAGIC);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Contradictions behind a valid checksum                                                                        */
/* ------------------------------------------------------------------------------------------------------------- */

static fastbin_status status_with(size_t offset, uint64_t number, int width) {
  fastbin_model_spec spec = full_spec();
  bytes b = bytes_of(&spec);
  put(&b, offset, number, width);
  seal(&b);
  return read_status(b.at, b.size);
}

/* Payloads, after FORMAT.md: CORE begins at 40, EDGE at 176, EKEY at 216, VALU at 256, TALY at 304, WGHT at 384,
   RATE at 496, PAIR at 568, RULE at 648, PRNT at 672, NOTE at 696, EVNT at 728, PROV at 752. */
static void test_contradictions(void) {
  CHECK(status_with(8, 1, 4) == FASTBIN_OK); /* shows that seal() is right */
  CHECK(status_with(8, 2, 4) == FASTBIN_ERROR_FORMAT_VERSION);
  CHECK(status_with(8, 0, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(12, 12, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(12, 14, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(12, UINT32_MAX, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(32, UINT64_MAX, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(32, 0, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(28, 0, 4) == FASTBIN_ERROR_CONTENT);        /* a flag that the section must have */
  CHECK(status_with(40, 3, 4) == FASTBIN_ERROR_FORMAT_VERSION); /* kind, scheme, ties, map of the future */
  CHECK(status_with(44, 99, 4) == FASTBIN_ERROR_FORMAT_VERSION);
  CHECK(status_with(48, 9, 4) == FASTBIN_ERROR_FORMAT_VERSION);
  CHECK(status_with(52, UINT32_MAX, 4) == FASTBIN_ERROR_FORMAT_VERSION);
  CHECK(status_with(40, 1, 4) == FASTBIN_ERROR_CONTENT); /* linear: four edges wanted, three there */
  CHECK(status_with(88, 3, 4) == FASTBIN_ERROR_CONTENT); /* n_bins */
  CHECK(status_with(88, 0, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(88, UINT32_MAX, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(88, 1u << 31, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(96, 0x8000000000000000u, 8) == FASTBIN_ERROR_CONTENT);  /* score_min -0.0 */
  CHECK(status_with(112, 0x8000000000000000u, 8) == FASTBIN_ERROR_CONTENT); /* delta -0.0 */
  CHECK(status_with(176, 0x7FF8000000000000u, 8) == FASTBIN_ERROR_CONTENT); /* an edge NaN */
  CHECK(status_with(184, 0, 8) == FASTBIN_ERROR_CONTENT);                   /* edges out of order */
  CHECK(status_with(256, 0x8000000000000000u, 8) == FASTBIN_ERROR_CONTENT); /* a value -0.0 */
  CHECK(status_with(256, 0x4000000000000000u, 8) == FASTBIN_ERROR_CONTENT); /* a value of 2 */
  CHECK(status_with(304, UINT64_MAX, 8) == FASTBIN_ERROR_CONTENT);          /* a count of -1 */
  CHECK(status_with(392, 0, 8) == FASTBIN_ERROR_CONTENT);                   /* a sum of weights below that of label 1 */
  CHECK(status_with(496, 4, 4) == FASTBIN_ERROR_FORMAT_VERSION);            /* a rate known in a way of the future */
  CHECK(status_with(496, 0, 4) == FASTBIN_ERROR_CONTENT);                   /* one rate known, the other not */
  CHECK(status_with(504, 0x3FE0000000000000u, 8) == FASTBIN_ERROR_CONTENT); /* a source rate that gives other odds */
  CHECK(status_with(520, 5, 8) == FASTBIN_ERROR_CONTENT);                   /* more ones than labels */
  CHECK(status_with(536, 1, 8) == FASTBIN_ERROR_CONTENT);                   /* labels counted for a rate that was given */
  CHECK(status_with(568, 0x3FE0000000000000u, 8) == FASTBIN_ERROR_CONTENT); /* a pair that falls */
  CHECK(status_with(648, 2, 4) == FASTBIN_ERROR_FORMAT_VERSION);            /* a policy of the future */
  CHECK(status_with(652, 0, 4) == FASTBIN_ERROR_CONTENT);                   /* a section that says nothing */
  CHECK(status_with(672, 0, 8) == FASTBIN_ERROR_CONTENT);                   /* no fingerprint */
  CHECK(status_with(710, 1, 1) == FASTBIN_ERROR_CONTENT);                   /* filling behind the note */
  CHECK(status_with(728, 0xFF, 1) == FASTBIN_ERROR_CONTENT);                /* an event and a provenance that are not UTF-8 */
  CHECK(status_with(752, 0x80, 1) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(720, 257, 8) == FASTBIN_ERROR_CONTENT);                 /* an event longer than the file */
  CHECK(status_with(3, 'V', 1) == FASTBIN_ERROR_MAGIC);                     /* a vector model */
}

/* Inserts a section of one word in front of the checksum. */
static fastbin_status status_with_section(const char *tag, uint32_t flags) {
  fastbin_model_spec spec = half_spec();
  bytes b = bytes_of(&spec);
  size_t at = b.size - 8;
  memcpy(b.at + at, tag, 4);
  put(&b, at + 4, flags, 4);
  put(&b, at + 8, 3, 8);
  put(&b, at + 16, 0x030201, 8);
  b.size += 24;
  put(&b, 12, get(&b, 12, 4) + 1, 4);
  seal(&b);
  return read_status(b.at, b.size);
}

static void test_sections_of_later_versions(void) {
  CHECK(status_with_section("ABCD", 0) == FASTBIN_OK);
  CHECK(status_with_section("ABCD", 1) == FASTBIN_ERROR_FORMAT_VERSION);
  CHECK(status_with_section("ABCD", 2) == FASTBIN_ERROR_FORMAT_VERSION);
  CHECK(status_with_section("NOTE", 0) == FASTBIN_OK);
  CHECK(status_with_section("NOTE", 1) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with_section("VALU", 1) == FASTBIN_ERROR_CONTENT); /* twice */
  CHECK(status_with_section("CORE", 1) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with_section("EVNT", 0) == FASTBIN_OK); /* three control characters are an event */
  CHECK(status_with_section("EVNT", 1) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with_section("PROV", 1) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with_section("TALY", 0) == FASTBIN_ERROR_CONTENT); /* not the size of two bins */
}

/* The same as status_with(), at an offset in a section. */
static fastbin_status status_in(const fastbin_model_spec *spec, const char *tag, size_t offset, uint64_t number, int width) {
  bytes b = bytes_of(spec);
  put(&b, payload_of(&b, tag) + offset, number, width);
  seal(&b);
  return read_status(b.at, b.size);
}

/* Without one of its sections. */
static fastbin_status status_without(const fastbin_model_spec *spec, const char *tag) {
  bytes b = bytes_of(spec);
  size_t payload = payload_of(&b, tag), start = payload - 16, size = 16 + ((size_t)get(&b, start + 8, 8) + 7) / 8 * 8;
  memmove(b.at + start, b.at + start + size, b.size - start - size);
  b.size -= size;
  put(&b, 12, get(&b, 12, 4) - 1, 4);
  seal(&b);
  return read_status(b.at, b.size);
}

static void test_sections_of_two_resolutions(void) {
  fastbin_model_spec spec = stepped_spec();
  bytes b = bytes_of(&spec);
  CHECK(get(&b, payload_of(&b, "CORE") + 48, 4) == 7 && get(&b, payload_of(&b, "EVID") - 8, 8) == 24);
  CHECK(status_in(&spec, "CORE", 48, 7, 4) == FASTBIN_OK);
  CHECK(status_in(&spec, "CORE", 48, 3, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&spec, "CORE", 0, 1, 4) == FASTBIN_ERROR_CONTENT);  /* linear */
  CHECK(status_in(&spec, "CORE", 8, 2, 4) == FASTBIN_ERROR_CONTENT);  /* ties that are not whole */
  CHECK(status_in(&spec, "EVID", 8, 0, 8) == FASTBIN_ERROR_CONTENT);  /* two bins from step 0 on */
  CHECK(status_in(&spec, "EVID", 16, 7, 8) == FASTBIN_ERROR_CONTENT); /* a bin after the last step */
  CHECK(status_in(&spec, "STEP", 0, 5, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&spec, "STEP", 56, UINT64_MAX, 8) == FASTBIN_ERROR_CONTENT); /* -1 unlabelled samples */
  CHECK(status_in(&spec, "STEP", 56, 41, 8) == FASTBIN_OK);
  CHECK(status_in(&spec, "TIES", 24, 1, 8) == FASTBIN_ERROR_CONTENT);                    /* one sample with two labels */
  CHECK(status_in(&spec, "TIES", 72, 0, 8) == FASTBIN_ERROR_CONTENT);                    /* edges from no samples */
  CHECK(status_in(&spec, "TIES", 72, 0x8000000000000000u, 8) == FASTBIN_ERROR_CONTENT);  /* from -0.0 of them */
  CHECK(status_in(&spec, "EVID", (size_t)0 - 8, 32, 8) == FASTBIN_ERROR_CONTENT);        /* a length that runs on */
  CHECK(status_without(&spec, "EVID") == FASTBIN_ERROR_CONTENT);
  CHECK(status_without(&spec, "STEP") == FASTBIN_ERROR_CONTENT);
  CHECK(status_without(&spec, "TIES") == FASTBIN_ERROR_CONTENT);
  CHECK(status_without(&spec, "TALY") == FASTBIN_ERROR_CONTENT); /* ties of no tally */
  for (size_t i = 56; i < 112; i += 8) put(&b, payload_of(&b, "STEP") + i, 0, 8); /* unlabelled samples, but none */
  seal(&b);
  CHECK(read_status(b.at, b.size) == FASTBIN_ERROR_CONTENT);
}

/* One step for each bin needs no section that says so. */
static void test_needless_sections(void) {
  static const int64_t first_step[] = {0, 2, 4}, step_counts[] = {1, 1, 1, 1, 1};
  static const double edges[] = {0.1, 0.2, 0.3, 0.4}, values[] = {0, 0.25, 0.5, 0.75, 1};
  fastbin_model_spec spec = half_spec();
  bytes b;
  size_t payload;
  spec.n_bins = 3;
  spec.n_steps = 5;
  spec.edges = edges;
  spec.values = values;
  spec.first_step = first_step;
  spec.step_counts = step_counts;
  spec.n_samples = 5;
  b = bytes_of(&spec);
  CHECK(read_status(b.at, b.size) == FASTBIN_OK);
  CHECK(status_without(&spec, "STEP") == FASTBIN_ERROR_CONTENT);
  payload = payload_of(&b, "EVID"); /* room for five bins is made */
  memmove(b.at + payload + 40, b.at + payload + 24, b.size - payload - 24);
  for (size_t i = 0; i < 5; i++) put(&b, payload + 8 * i, i, 8);
  put(&b, payload - 8, 40, 8);
  b.size += 16;
  seal(&b);
  CHECK(read_status(b.at, b.size) == FASTBIN_ERROR_CONTENT);
}

static void test_sections_of_maps(void) {
  fastbin_model_spec spec = spline_spec();
  CHECK(status_in(&spec, "CLIP", 0, 0x3FB0000000000000u, 8) == FASTBIN_OK);
  CHECK(status_in(&spec, "CLIP", 0, 0, 8) == FASTBIN_ERROR_CONTENT); /* says nothing */
  CHECK(status_in(&spec, "CLIP", 0, 0x8000000000000000u, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&spec, "CLIP", 0, 0x3FE0000000000000u, 8) == FASTBIN_ERROR_CONTENT); /* 1/2 */
  CHECK(status_in(&spec, "CLIP", 0, 0x7FF8000000000000u, 8) == FASTBIN_ERROR_CONTENT); /* NaN */
  CHECK(status_in(&spec, "SPLN", 16, 0x8000000000000000u, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&spec, "SPLN", 24, 0xC010000000000000u, 8) == FASTBIN_ERROR_CONTENT); /* a position of -4 after -2 */
  CHECK(status_in(&spec, "SPLN", (size_t)0 - 8, 64, 8) == FASTBIN_ERROR_CONTENT);       /* not whole knots */
  CHECK(status_in(&spec, "CORE", 12, FASTBIN_MAP_QUADRATIC, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&spec, "CORE", 12, 5, 4) == FASTBIN_ERROR_FORMAT_VERSION);
  CHECK(status_without(&spec, "SPLN") == FASTBIN_ERROR_CONTENT);
  CHECK(status_without(&spec, "CLIP") == FASTBIN_OK);
}

static void test_accidents(void) {
  const fastbin_model_spec specs[] = {full_spec(), stepped_spec(), spline_spec()};
  for (int i = 0; i < 3; i++) {
    test_every_truncation(&specs[i]);
    test_every_change_of_one_byte(&specs[i]);
  }
}

int main(void) {
  test_the_example();
  test_round_trips();
  test_buffers();
  test_accidents();
  test_foreign_and_mangled_files();
  test_contradictions();
  test_sections_of_later_versions();
  test_sections_of_two_resolutions();
  test_needless_sections();
  test_sections_of_maps();
  return finish();
}
