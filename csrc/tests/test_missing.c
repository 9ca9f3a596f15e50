/*
 * test_missing.c: every pointer that fastbin.h says is required and checked, missing.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "sets.h"

#define REFUSED(call) CHECK((call) == FASTBIN_ERROR_ARGUMENT)

static fastbin_rows two_rows(void) {
  static const double scores[] = {0.25, 0.75};
  fastbin_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = scores;
  rows.score_stride = sizeof(double);
  rows.n_rows = 2;
  return rows;
}

static void of_models(void) {
  fastbin_model_spec spec = full_spec();
  const fastbin_model *model = set_models()[0];
  fastbin_model *made;
  unsigned char bytes[1];
  CHECK(fastbin_model_size(NULL) == 0);
  CHECK(fastbin_model_create(NULL, &made) == FASTBIN_ERROR_ARGUMENT && !made);
  REFUSED(fastbin_model_create(&spec, NULL));
  REFUSED(fastbin_model_describe(NULL, &spec));
  REFUSED(fastbin_model_describe(model, NULL));
  REFUSED(fastbin_model_write(NULL, bytes, sizeof bytes));
  REFUSED(fastbin_model_write(model, NULL, fastbin_model_size(model)));
  REFUSED(fastbin_model_read(NULL, sizeof bytes, &made));
  REFUSED(fastbin_model_read(bytes, sizeof bytes, NULL));
  REFUSED(fastbin_model_save(NULL, "model.fbm"));
  REFUSED(fastbin_model_save(model, NULL));
  REFUSED(fastbin_model_load(NULL, &made));
  REFUSED(fastbin_model_load("model.fbm", NULL));
  fastbin_model_free(NULL);
}

static void of_batches(void) {
  const fastbin_model *model = set_models()[0];
  fastbin_rows rows = two_rows(), without = two_rows();
  double values[2], table[64] = {0.0};
  int32_t bins[2];
  int8_t decisions[2];
  without.scores = NULL;
  const fastbin_model *models[] = {NULL, model, model, model};
  const fastbin_rows *given[] = {&rows, NULL, &without, &rows};
  for (int i = 0; i < 4; i++) {
    REFUSED(fastbin_predict(models[i], given[i], i < 3 ? values : NULL, NULL));
    REFUSED(fastbin_assign(models[i], given[i], i < 3 ? bins : NULL, NULL));
    REFUSED(fastbin_step(models[i], given[i], i < 3 ? bins : NULL, NULL));
    REFUSED(fastbin_lookup(models[i], given[i], table, 1, i < 3 ? values : NULL, NULL));
    REFUSED(fastbin_decide(models[i], given[i], i < 3 ? decisions : NULL, NULL));
  }
  REFUSED(fastbin_lookup(model, &rows, NULL, 1, values, NULL));
}

static void of_sets(void) {
  fastbin_set_spec spec = text_set_spec(), vectors = vector_set_spec();
  fastbin_set *set = must_create_set(&spec), *vector = must_create_set(&vectors), *made;
  fastbin_rows rows = two_rows();
  int32_t numbers[2] = {0, 0}, bins[2];
  double values[16], probabilities[16] = {0.0};
  unsigned char bytes[1];
  CHECK(fastbin_set_size(NULL) == 0);
  CHECK(fastbin_set_create(NULL, &made) == FASTBIN_ERROR_ARGUMENT && !made);
  REFUSED(fastbin_set_create(&spec, NULL));
  REFUSED(fastbin_set_describe(NULL, &spec));
  REFUSED(fastbin_set_describe(set, NULL));
  REFUSED(fastbin_set_write(NULL, bytes, sizeof bytes));
  REFUSED(fastbin_set_write(set, NULL, fastbin_set_size(set)));
  REFUSED(fastbin_set_read(NULL, sizeof bytes, &made));
  REFUSED(fastbin_set_read(bytes, sizeof bytes, NULL));
  REFUSED(fastbin_set_save(NULL, "set.fbm"));
  REFUSED(fastbin_set_save(set, NULL));
  REFUSED(fastbin_set_load(NULL, &made));
  REFUSED(fastbin_set_load("set.fbm", NULL));
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
  fastbin_set_free(NULL);
}

static void of_streams(void) {
  const fastbin_model *model = set_models()[0];
  fastbin_stream *stream, *made;
  fastbin_model *snapshot;
  fastbin_rows rows = two_rows();
  const uint8_t labels[2] = {0, 1};
  int32_t bins[2];
  unsigned char bytes[1];
  REQUIRE(fastbin_stream_create(model, &stream) == FASTBIN_OK);
  CHECK(fastbin_stream_size(NULL) == 0);
  CHECK(fastbin_stream_create(NULL, &made) == FASTBIN_ERROR_ARGUMENT && !made);
  REFUSED(fastbin_stream_create(model, NULL));
  CHECK(fastbin_stream_continue(NULL, &made) == FASTBIN_ERROR_ARGUMENT && !made);
  REFUSED(fastbin_stream_continue(model, NULL));
  REFUSED(fastbin_stream_update(NULL, &rows, labels, bins, NULL));
  REFUSED(fastbin_stream_update(stream, NULL, labels, bins, NULL));
  REFUSED(fastbin_stream_update(stream, &rows, NULL, bins, NULL));
  REFUSED(fastbin_stream_update(stream, &rows, labels, NULL, NULL));
  REFUSED(fastbin_stream_tally(NULL, NULL, NULL, NULL));
  REFUSED(fastbin_stream_snapshot(stream, NULL));
  CHECK(fastbin_stream_snapshot(NULL, &snapshot) == FASTBIN_ERROR_ARGUMENT && !snapshot);
  REFUSED(fastbin_stream_merge(NULL, stream));
  REFUSED(fastbin_stream_merge(stream, NULL));
  REFUSED(fastbin_stream_write(NULL, bytes, sizeof bytes));
  REFUSED(fastbin_stream_write(stream, NULL, fastbin_stream_size(stream)));
  REFUSED(fastbin_stream_read(NULL, sizeof bytes, &made));
  REFUSED(fastbin_stream_read(bytes, sizeof bytes, NULL));
  CHECK(fastbin_stream_n_samples(stream) == 0);
  fastbin_stream_free(stream);
  fastbin_stream_free(NULL);
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
