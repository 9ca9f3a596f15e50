/*
 * test_format.c: a model as bytes. Damaged ones of every kind are refused.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"
#include "specs.h"

#include <float.h>

#define MOST_BYTES 1024

typedef struct bytes {
  unsigned char at[MOST_BYTES];
  size_t size;
} bytes;

static bytes bytes_of(const fastbin_model_spec *spec) {
  fastbin_model *model;
  bytes b;
  REQUIRE(fastbin_model_create(spec, &model) == FASTBIN_OK);
  b.size = fastbin_model_size(model);
  REQUIRE(b.size <= MOST_BYTES);
  REQUIRE(fastbin_model_write(model, b.at, sizeof b.at) == FASTBIN_OK);
  fastbin_model_free(model);
  return b;
}

/* Reads from a copy of exactly this size on the heap, so that a sanitizer sees any byte read too many. */
static fastbin_status read_status(const void *from, size_t size) {
  unsigned char *copy = must_malloc(size);
  fastbin_model *model = (fastbin_model *)(void *)&n_passed;
  fastbin_status status;
  memcpy(copy, from, size);
  status = fastbin_model_read(copy, size, &model);
  CHECK((status == FASTBIN_OK) == (model != NULL));
  fastbin_model_free(model);
  free(copy);
  return status;
}

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

static void test_every_truncation(void) {
  fastbin_model_spec spec = full_spec();
  bytes b = bytes_of(&spec);
  for (size_t size = 0; size < b.size; size++) CHECK(read_status(b.at, size) == FASTBIN_ERROR_LENGTH);
  for (size_t extra = 1; extra < 20; extra++) {
    memset(b.at + b.size, 0, extra);
    CHECK(read_status(b.at, b.size + extra) == FASTBIN_ERROR_LENGTH);
  }
}

static void test_every_change_of_one_byte(void) {
  fastbin_model_spec spec = full_spec();
  bytes b = bytes_of(&spec);
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

static void put(bytes *b, size_t offset, uint64_t number, int width) {
  for (int i = 0; i < width; i++) b->at[offset + (size_t)i] = (unsigned char)(number >> (8 * i));
}

static uint64_t get(const bytes *b, size_t offset, int width) {
  uint64_t number = 0;
  for (int i = 0; i < width; i++) number |= (uint64_t)b->at[offset + (size_t)i] << (8 * i);
  return number;
}

/* FORMAT.md, "Checksum", written a second time. */
static void seal(bytes *b) {
  uint64_t state = 0;
  put(b, 16, b->size, 8);
  for (size_t i = 0; i + 8 < b->size; i += 8) {
    state ^= get(b, i, 8);
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
    state ^= state >> 31;
  }
  put(b, b->size - 8, state, 8);
}

static fastbin_status status_with(size_t offset, uint64_t number, int width) {
  fastbin_model_spec spec = full_spec();
  bytes b = bytes_of(&spec);
  put(&b, offset, number, width);
  seal(&b);
  return read_status(b.at, b.size);
}

/* Payloads, after FORMAT.md: CORE begins at 40, EDGE at 176, EKEY at 216, VALU at 256, TALY at 304, WGHT at 384,
   RATE at 496, PAIR at 568, RULE at 648, PRNT at 672, NOTE at 696. */
static void test_contradictions(void) {
  CHECK(status_with(8, 1, 4) == FASTBIN_OK); /* shows that seal() is right */
  CHECK(status_with(8, 2, 4) == FASTBIN_ERROR_FORMAT_VERSION);
  CHECK(status_with(8, 0, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(12, 10, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_with(12, 12, 4) == FASTBIN_ERROR_CONTENT);
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
  CHECK(status_with_section("TALY", 0) == FASTBIN_ERROR_CONTENT); /* not the size of two bins */
}

int main(void) {
  test_the_example();
  test_round_trips();
  test_buffers();
  test_every_truncation();
  test_every_change_of_one_byte();
  test_foreign_and_mangled_files();
  test_contradictions();
  test_sections_of_later_versions();
  return finish();
}
