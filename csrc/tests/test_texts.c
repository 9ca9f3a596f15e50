/*
 * test_texts.c: the name of the event, and the provenance, of models and sets.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "model_bytes.h"
#include "sets.h"

/* The longest that there may be. */
static void test_lengths_of_texts(void) {
  static char text[FASTBIN_MAX_PROVENANCE_SIZE], event[FASTBIN_MAX_EVENT_SIZE];
  fastbin_model_spec spec = half_spec(), seen;
  fastbin_model *model, *second;
  unsigned char *written;
  size_t size;
  memset(text, 'x', sizeof text);
  spec.provenance = text;
  spec.provenance_size = sizeof text;
  spec.event = event; /* NUL is a character */
  spec.event_size = sizeof event;
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  size = fastbin_model_size(model);
  CHECK(size == 248 + 16 + sizeof event + 16 + sizeof text);
  written = must_malloc(size);
  REQUIRE(fastbin_model_write(model, written, size) == FASTBIN_OK);
  REQUIRE(fastbin_model_read(written, size, &second) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_model_describe(second, &seen) == FASTBIN_OK);
  CHECK(seen.event_size == sizeof event && memcmp(seen.event, event, sizeof event) == 0);
  CHECK(seen.provenance_size == sizeof text && memcmp(seen.provenance, text, sizeof text) == 0);
  fastbin_model_free(model);
  fastbin_model_free(second);
  free(written);
}

static void test_texts_that_cannot_be(void) {
  static const struct {
    const char *event;
    size_t event_size;
    const char *provenance;
    size_t provenance_size;
    fastbin_status expected;
  } cases[] = {
      {"yes", 3, "{}", 2, FASTBIN_OK},
      {NULL, 3, NULL, 0, FASTBIN_ERROR_ARGUMENT},
      {NULL, 0, NULL, 2, FASTBIN_ERROR_ARGUMENT},
      {"d\xc3\xa9", 2, NULL, 0, FASTBIN_ERROR_ORIGIN}, /* ends within a character */
      {"\xed\xa0\x80", 3, NULL, 0, FASTBIN_ERROR_ORIGIN}, /* half of a surrogate pair */
      {"", FASTBIN_MAX_EVENT_SIZE + 1, NULL, 0, FASTBIN_ERROR_ORIGIN},
      {NULL, 0, "{\xff}", 3, FASTBIN_ERROR_ORIGIN},
      {NULL, 0, "", FASTBIN_MAX_PROVENANCE_SIZE + 1, FASTBIN_ERROR_ORIGIN},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fastbin_model_spec spec = half_spec();
    fastbin_model *model;
    spec.event = cases[i].event;
    spec.event_size = cases[i].event_size;
    spec.provenance = cases[i].provenance;
    spec.provenance_size = cases[i].provenance_size;
    CHECK(fastbin_model_create(&spec, &model) == cases[i].expected);
    fastbin_model_free(model);
  }
}

/* What is described lies in the model. */
static void test_describing(void) {
  fastbin_model_spec spec = full_spec(), seen;
  fastbin_model *model;
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_model_describe(model, &seen) == FASTBIN_OK);
  CHECK(seen.event_size == spec.event_size && memcmp(seen.event, spec.event, spec.event_size) == 0);
  CHECK(seen.provenance_size == spec.provenance_size && memcmp(seen.provenance, spec.provenance, spec.provenance_size) == 0);
  CHECK(seen.event != spec.event && seen.provenance != spec.provenance);
  fastbin_model_free(model);
  spec.event_size = spec.provenance_size = 0;
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  REQUIRE(fastbin_model_describe(model, &seen) == FASTBIN_OK);
  CHECK(!seen.event && !seen.provenance && seen.event_size == 0 && seen.provenance_size == 0);
  fastbin_model_free(model);
}

/* A stream goes on with the event of its bins; how these came about is not how the snapshot did. */
static void test_streams_keep_the_event(void) {
  fastbin_model_spec spec = countable_spec(), seen;
  fastbin_model *model, *snapshot;
  fastbin_stream *stream;
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK && fastbin_stream_create(model, &stream) == FASTBIN_OK);
  REQUIRE(fastbin_stream_snapshot(stream, &snapshot) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_model_describe(snapshot, &seen) == FASTBIN_OK);
  CHECK(seen.event_size == spec.event_size && memcmp(seen.event, spec.event, spec.event_size) == 0);
  CHECK(spec.provenance_size > 0 && seen.provenance_size == 0 && !seen.provenance);
  fastbin_model_free(snapshot);
  fastbin_stream_free(stream);
  fastbin_model_free(model);
}

static void test_sets(void) {
  fastbin_set_spec spec = text_set_spec(), seen;
  fastbin_model_spec first;
  fastbin_set *set = must_create_set(&spec), *again;
  unsigned char *written = must_malloc(fastbin_set_size(set));
  size_t size = fastbin_set_size(set);
  REQUIRE(fastbin_set_write(set, written, size) == FASTBIN_OK && fastbin_set_read(written, size, &again) == FASTBIN_OK);
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_set_describe(again, &seen) == FASTBIN_OK);
  CHECK(seen.provenance_size == spec.provenance_size && memcmp(seen.provenance, spec.provenance, spec.provenance_size) == 0);
  first.struct_size = sizeof first;
  REQUIRE(fastbin_model_describe(seen.models[0], &first) == FASTBIN_OK);
  CHECK(first.event_size == 8 && memcmp(first.event, "d\xc3\xa9" "faut\x1b", 8) == 0);
  fastbin_set_free(set);
  fastbin_set_free(again);
  spec.provenance = "\xff";
  spec.provenance_size = 1;
  CHECK(fastbin_set_create(&spec, &set) == FASTBIN_ERROR_ORIGIN && !set);
  spec.provenance = NULL;
  CHECK(fastbin_set_create(&spec, &set) == FASTBIN_ERROR_ORIGIN && !set);
  spec.provenance_size = 0;
  set = must_create_set(&spec);
  CHECK(fastbin_set_size(set) == size - 16 - 24);
  fastbin_set_free(set);
  free(written);
}

int main(void) {
  test_lengths_of_texts();
  test_texts_that_cannot_be();
  test_describing();
  test_streams_keep_the_event();
  test_sets();
  free_set_models();
  return finish();
}
