/*
 * test_missing.c: every pointer that fastbin.h says is required and checked, missing.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "sets.h"

#define REFUSED(call) CHECK((call) == FASTBIN_ERROR_ARGUMENT)

static const double SCORES[] = {0.25, 0.75};

/* What models, sets and streams have alike. */
#define CHECK_BYTES(type, object)                                                 \
  do {                                                                            \
    unsigned char bytes[1];                                                       \
    fastbin_##type *made;                                                         \
    CHECK(fastbin_##type##_size(NULL) == 0);                                      \
    REFUSED(fastbin_##type##_write(NULL, bytes, sizeof bytes));                   \
    REFUSED(fastbin_##type##_write(object, NULL, fastbin_##type##_size(object))); \
    REFUSED(fastbin_##type##_read(NULL, sizeof bytes, &made));                    \
    REFUSED(fastbin_##type##_read(bytes, sizeof bytes, NULL));                    \
    fastbin_##type##_free(NULL);                                                  \
  } while (0)

#define CHECK_MAKING(function, type, from)                           \
  do {                                                               \
    fastbin_##type *made;                                            \
    CHECK(function(NULL, &made) == FASTBIN_ERROR_ARGUMENT && !made); \
    REFUSED(function(from, NULL));                                   \
  } while (0)

#define CHECK_FILES(type, object, spec)                 \
  do {                                                  \
    fastbin_##type *made;                               \
    CHECK_MAKING(fastbin_##type##_create, type, spec);  \
    CHECK_BYTES(type, object);                          \
    REFUSED(fastbin_##type##_describe(NULL, spec));     \
    REFUSED(fastbin_##type##_describe(object, NULL));   \
    REFUSED(fastbin_##type##_save(NULL, "absent.fbm")); \
    REFUSED(fastbin_##type##_save(object, NULL));       \
    REFUSED(fastbin_##type##_load(NULL, &made));        \
    REFUSED(fastbin_##type##_load("absent.fbm", NULL)); \
  } while (0)

static void of_models(void) {
  fastbin_model_spec spec = full_spec();
  CHECK_FILES(model, set_models()[0], &spec);
}

/* Batches of a model that decides, too; the last ones lack nothing. */
static void of_batches(void) {
  fastbin_model_spec spec = decided_spec();
  fastbin_rows rows = rows_over(SCORES, 2), without = rows_over(NULL, 2);
  double values[2], table[2] = {0.0};
  int32_t bins[2];
  int8_t decisions[2];
  fastbin_model *model;
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  const fastbin_model *models[] = {NULL, model, model, model, model};
  const fastbin_rows *given[] = {&rows, NULL, &without, &rows, &rows};
  for (int i = 0; i < 5; i++) {
    fastbin_status expected = i < 4 ? FASTBIN_ERROR_ARGUMENT : FASTBIN_OK;
    CHECK(fastbin_predict(models[i], given[i], i != 3 ? values : NULL, NULL) == expected);
    CHECK(fastbin_assign(models[i], given[i], i != 3 ? bins : NULL, NULL) == expected);
    CHECK(fastbin_step(models[i], given[i], i != 3 ? bins : NULL, NULL) == expected);
    CHECK(fastbin_lookup(models[i], given[i], table, 1, i != 3 ? values : NULL, NULL) == expected);
    CHECK(fastbin_decide(models[i], given[i], i != 3 ? decisions : NULL, NULL) == expected);
  }
  REFUSED(fastbin_lookup(model, &rows, NULL, 1, values, NULL));
  fastbin_model_free(model);
}

static void of_sets(void) {
  fastbin_set_spec spec = text_set_spec(), vectors = vector_set_spec();
  fastbin_set *set = must_create_set(&spec), *vector = must_create_set(&vectors);
  fastbin_rows rows = rows_over(SCORES, 2);
  int32_t numbers[2] = {0, 0}, bins[2];
  double values[16], probabilities[16] = {0.0};
  CHECK_FILES(set, set, &spec);
  REFUSED(fastbin_set_predict_batch(NULL, numbers, &rows, values, NULL));
  REFUSED(fastbin_set_predict_batch(set, NULL, &rows, values, NULL));
  REFUSED(fastbin_set_predict_batch(set, numbers, NULL, values, NULL));
  REFUSED(fastbin_set_predict_batch(set, numbers, &rows, NULL, NULL));
  REFUSED(fastbin_set_assign_batch(NULL, numbers, &rows, bins, NULL));
  REFUSED(fastbin_set_assign_batch(set, NULL, &rows, bins, NULL));
  REFUSED(fastbin_set_assign_batch(set, numbers, NULL, bins, NULL));
  REFUSED(fastbin_set_assign_batch(set, numbers, &rows, NULL, NULL));
  REFUSED(fastbin_vector_predict(NULL, probabilities, 1, values, NULL));
  REFUSED(fastbin_vector_predict(vector, NULL, 1, values, NULL));
  REFUSED(fastbin_vector_predict(vector, probabilities, 1, NULL, NULL));
  fastbin_set_free(vector);
  fastbin_set_free(set);
}

static void of_streams(void) {
  const fastbin_model *model = set_models()[0];
  fastbin_stream *stream;
  fastbin_model *snapshot;
  fastbin_rows rows = rows_over(SCORES, 2);
  const uint8_t labels[2] = {0, 1};
  int32_t bins[2];
  REQUIRE(fastbin_stream_create(model, &stream) == FASTBIN_OK);
  CHECK_MAKING(fastbin_stream_create, stream, model);
  CHECK_MAKING(fastbin_stream_continue, stream, model);
  CHECK_BYTES(stream, stream);
  REFUSED(fastbin_stream_update(NULL, &rows, labels, bins, NULL));
  REFUSED(fastbin_stream_update(stream, NULL, labels, bins, NULL));
  REFUSED(fastbin_stream_update(stream, &rows, NULL, bins, NULL));
  REFUSED(fastbin_stream_update(stream, &rows, labels, NULL, NULL));
  REFUSED(fastbin_stream_tally(NULL, NULL, NULL, NULL));
  REFUSED(fastbin_stream_snapshot(stream, NULL));
  CHECK(fastbin_stream_snapshot(NULL, &snapshot) == FASTBIN_ERROR_ARGUMENT && !snapshot);
  REFUSED(fastbin_stream_merge(NULL, stream));
  REFUSED(fastbin_stream_merge(stream, NULL));
  CHECK(fastbin_stream_n_samples(stream) == 0);
  fastbin_stream_free(stream);
}

static void of_monitors(void) {
  fastbin_monitor_spec spec;
  fastbin_monitor *monitor = NULL;
  unsigned char bytes[1];
  memset(&spec, 0, sizeof spec);
  spec.struct_size = sizeof spec;
  CHECK(fastbin_monitor_size(NULL) == 0);
  REFUSED(fastbin_monitor_write(NULL, bytes, sizeof bytes));
  REFUSED(fastbin_monitor_read(NULL, sizeof bytes, &monitor));
  REFUSED(fastbin_monitor_read(bytes, sizeof bytes, NULL));
  REFUSED(fastbin_monitor_describe(NULL, &spec));
  fastbin_monitor_free(NULL);
}

int main(void) {
  of_models();
  of_batches();
  of_sets();
  of_streams();
  of_monitors();
  free_set_models();
  return finish();
}
