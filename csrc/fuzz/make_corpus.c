/*
 * make_corpus.c: writes the first seeds of the fuzz targets, a small model of each shape, sets, streams and a monitor: make_corpus
 * FOLDER. They go to FOLDER/model, FOLDER/set, FOLDER/stream and FOLDER/monitor, which exist.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "sets.h"

#include <stdio.h>
#include <stdlib.h>

static const char *folder;
static int failed;

static void save(const char *name, const fastbin_model_spec *spec) {
  char path[4096];
  fastbin_model *model;
  fastbin_status status = fastbin_model_create(spec, &model);
  snprintf(path, sizeof path, "%s/model/%s.fbm", folder, name);
  if (status == FASTBIN_OK) status = fastbin_model_save(model, path);
  if (status != FASTBIN_OK) {
    fprintf(stderr, "make_corpus: %s: %s\n", path, fastbin_status_string(status));
    failed = 1;
  }
  fastbin_model_free(model);
}

static void save_steps(void) {
  static double edges[40], values[41];
  static uint64_t keys[40];
  fastbin_model_spec spec = full_spec();
  save("full", &spec);
  spec.delta = 0.25;
  spec.weight_sums = spec.weighted_label_sums = spec.weight_square_sums = NULL;
  spec.weights = FASTBIN_WEIGHTS_GIVEN;
  save("randomised", &spec);
  spec = half_spec();
  save("half", &spec);
  spec = decided_spec();
  save("decided", &spec);
  spec = half_spec();
  spec.out_of_range = FASTBIN_OUT_OF_RANGE_CLIP;
  save("clipped", &spec);
  spec.n_bins = 1;
  save("constant", &spec);
  for (int i = 0; i < 41; i++) values[i] = i / 40.0;
  for (int i = 0; i < 40; i++) {
    edges[i] = ldexp(1.0, 3 * i - 100);
    keys[i] = (uint64_t)i << 58;
  }
  spec = empty_spec(FASTBIN_STEP);
  spec.n_bins = 41;
  spec.edges = edges;
  spec.values = values;
  save("crowded", &spec);
  for (int i = 0; i < 40; i++) edges[i] = i / 8 - 2.0;
  spec.edge_keys = keys;
  save("tied", &spec);
}

/* Forty probabilities, evenly, towards 0 and towards both ends: one map of index.h each. By its seed an input chooses its build;
   these choose the widest. */
static void save_many(void) {
  static const struct {
    const char *name;
    uint64_t seed;
  } shapes[] = {{"even", 0}, {"low", 10}, {"both", 0}};
  static double edges[40], values[41];
  for (int shape = 0; shape < 3; shape++) {
    fastbin_model_spec spec = empty_spec(FASTBIN_STEP);
    for (int i = 0; i < 40; i++) {
      double even = (i + 1) / 41.0, low = ldexp(1.0, 2 * i - 80);
      edges[i] = shape == 0 ? even : shape == 1 || i < 20 ? low : 1.0 - ldexp(1.0, 30 - 2 * i);
    }
    for (int i = 0; i < 41; i++) values[i] = i / 40.0;
    spec.n_bins = 41;
    spec.edges = edges;
    spec.values = values;
    spec.score_min = 0.0;
    spec.score_max = 1.0;
    spec.seed = shapes[shape].seed;
    save(shapes[shape].name, &spec);
  }
}

static void save_resolutions(void) {
  fastbin_model_spec spec = stepped_spec();
  save("stepped", &spec);
  spec.ties = FASTBIN_TIES_UPPER;
  spec.tie_counts = spec.unlabelled_counts = NULL;
  spec.edges_share = 0.0;
  save("stepped-plainly", &spec);
  spec = stepped_spec();
  spec.n_bins = 7;
  spec.first_step = NULL;
  spec.step_counts = spec.unlabelled_counts = NULL;
  spec.counts = stepped_spec().step_counts;
  spec.label_sums = spec.counts;
  spec.n_positive = 20;
  spec.scheme = FASTBIN_SCHEME_UMB;
  spec.tie_counts = (const int64_t[21]){0, 0, 0, 1, 1, 1};
  save("whole", &spec);
}

static void save_others(void) {
  static const double knots[] = {-1.0, 0.0, 2.0}, values[] = {0.0, 0.25, 1.0};
  fastbin_model_spec spec = empty_spec(FASTBIN_LINEAR);
  spec.n_bins = 3;
  spec.edges = knots;
  spec.values = values;
  save("linear", &spec);
  spec = empty_spec(FASTBIN_SMOOTH);
  spec.map = FASTBIN_MAP_LOGISTIC;
  spec.map_parameters[0] = 2.0;
  save("logistic", &spec);
  spec.map = FASTBIN_MAP_BETA;
  spec.map_parameters[1] = 0.5;
  spec.score_min = 0.0;
  spec.score_max = 1.0;
  save("beta", &spec);
  spec.map = FASTBIN_MAP_QUADRATIC;
  spec.map_parameters[2] = -0.25;
  spec.clip = 1e-6;
  save("quadratic", &spec);
  spec = spline_spec();
  save("spline", &spec);
}

static void save_set(const char *name, const fastbin_set_spec *spec) {
  char path[4096];
  fastbin_set *set = must_create_set(spec);
  snprintf(path, sizeof path, "%s/set/%s.fbm", folder, name);
  if (fastbin_set_save(set, path) != FASTBIN_OK) {
    fprintf(stderr, "make_corpus: %s\n", path);
    failed = 1;
  }
  fastbin_set_free(set);
}

/* Five models under texts of all lengths of characters; three hundred keys of one hash, which share a model. */
static void save_many_keys(void) {
  static const char text[] = "a long name of a segment" "b" "\xc3\xa9" "\xe2\x82\xac" "\xf0\x9f\x98\x80";
  static const uint64_t offsets[] = {0, 24, 25, 27, 30, 34};
  static int32_t pooled[300];
  static int64_t keys[300];
  fastbin_set_spec spec = int_set_spec();
  const fastbin_model *half = spec.models[2];
  spec.n_models = spec.n_keys = 5;
  spec.key_type = FASTBIN_KEYS_TEXT;
  spec.models = (const fastbin_model *const[]){half, half, spec.models[0], half, half};
  spec.int_keys = NULL;
  spec.text = text;
  spec.text_offsets = offsets;
  save_set("five", &spec);
  for (int i = 0; i < 300; i++) keys[i] = key_of_hash((uint64_t)i << 40);
  for (int i = 1; i < 300; i++) { /* ascending */
    for (int k = i; k > 0 && keys[k] < keys[k - 1]; k--) {
      int64_t key = keys[k];
      keys[k] = keys[k - 1];
      keys[k - 1] = key;
    }
  }
  spec = int_set_spec();
  spec.n_models = 1;
  spec.pool = 0;
  spec.models = &half;
  spec.n_keys = 300;
  spec.int_keys = keys;
  spec.model_of_key = pooled;
  save_set("one-hash", &spec);
}

/* Small vector sets with and without a matrix, evidence and the largest entry kept, and one of more columns than a block of them. */
static void save_vector_sets(void) {
  enum { N = 130 };
  static int64_t keys[N];
  static double ones[N], zeros[N], priors[N];
  static const fastbin_model *models[N];
  fastbin_set_spec spec = vector_set_spec();
  fastbin_vector_map map = *spec.vector;
  save_set("vector", &spec);
  spec.vector = &map;
  map.keep_top = 1;
  map.unlabelled = NULL;
  save_set("vector-top", &spec);
  map.n_bins = 0;
  map.of_models = 0.0;
  map.mixing = map.edges = map.means = NULL;
  map.counts = NULL;
  spec.columns = NULL;
  save_set("vector-plain", &spec);
  for (int i = 0; i < N; i++) {
    keys[i] = i;
    ones[i] = 1.0;
    priors[i] = 1.0 / N;
    models[i] = vector_models()[0];
  }
  spec = int_set_spec();
  spec.kind = FASTBIN_SET_VECTOR;
  spec.n_models = spec.n_keys = N;
  spec.models = models;
  spec.int_keys = keys;
  map.slopes = ones;
  map.intercepts = zeros;
  map.priors = priors;
  spec.vector = &map;
  save_set("vector-many", &spec);
}

static void save_sets(void) {
  static const int32_t pooled[] = {0, 0, 0};
  fastbin_model_spec smooth = spline_spec();
  fastbin_model *model;
  fastbin_set_spec spec = int_set_spec();
  save_set("ints", &spec);
  spec = text_set_spec();
  save_set("texts", &spec);
  spec.unknown = FASTBIN_UNKNOWN_REFUSE;
  spec.columns = NULL;
  save_set("pooled", &spec);
  if (fastbin_model_create(&smooth, &model) != FASTBIN_OK) exit(1);
  spec = int_set_spec();
  spec.n_models = 1;
  spec.pool = 0;
  spec.models = (const fastbin_model *const[]){model};
  spec.model_of_key = pooled;
  save_set("one", &spec);
  fastbin_model_free(model);
  save_many_keys();
  save_vector_sets();
  free_set_models();
}

static void save_stream(const char *name, fastbin_stream *stream) {
  char path[4096];
  size_t size = fastbin_stream_size(stream);
  void *bytes = malloc(size);
  FILE *file;
  snprintf(path, sizeof path, "%s/stream/%s.fbs", folder, name);
  file = fopen(path, "wb");
  if (!bytes || !file || fastbin_stream_write(stream, bytes, size) != FASTBIN_OK || fwrite(bytes, 1, size, file) != size ||
      fclose(file) != 0) {
    fprintf(stderr, "make_corpus: %s\n", path);
    exit(1);
  }
  free(bytes);
  fastbin_stream_free(stream);
}

/* A monitor over what the stream has counted: all in the first bin, which was named. */
static void save_monitor(const fastbin_stream *stream) {
  static const double tolerated[8] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0};
  static const double max_log_e[4] = {6.0, 0.0, 0.0, 0.0};
  static const int64_t named_at[4] = {5, 0, 0, 0};
  static const unsigned char seen[2 * FASTBIN_DIGEST_SIZE] = {1, 2, 3};
  fastbin_monitor_spec spec;
  char path[4096];
  size_t size;
  void *bytes;
  FILE *file;
  memset(&spec, 0, sizeof spec);
  spec.struct_size = sizeof spec;
  spec.stream = stream;
  spec.alpha = 0.05;
  spec.tolerated = tolerated;
  spec.max_log_mean = 4.0;
  spec.alarm_at = 5;
  spec.max_log_e = max_log_e;
  spec.named_at = named_at;
  spec.seen = seen;
  spec.n_seen = 2;
  size = fastbin_monitor_size(&spec);
  bytes = malloc(size);
  snprintf(path, sizeof path, "%s/monitor/monitor.mon", folder);
  file = fopen(path, "wb");
  if (!bytes || !file || fastbin_monitor_write(&spec, bytes, size) != FASTBIN_OK || fwrite(bytes, 1, size, file) != size ||
      fclose(file) != 0) {
    fprintf(stderr, "make_corpus: %s\n", path);
    exit(1);
  }
  free(bytes);
}

static void save_streams(void) {
  fastbin_model_spec spec = full_spec();
  fastbin_model *model;
  fastbin_stream *stream;
  spec.weight_sums = spec.weighted_label_sums = spec.weight_square_sums = NULL;
  spec.weights = FASTBIN_WEIGHTS_GIVEN;
  if (fastbin_model_create(&spec, &model) != FASTBIN_OK || fastbin_stream_create(model, &stream) != FASTBIN_OK) exit(1);
  for (int i = 0; i < 20; i++) fastbin_stream_update_one(stream, i / 20.0, (uint64_t)i * 100, i % 3 == 0, NULL);
  save_monitor(stream);
  save_stream("stream", stream);
  fastbin_model_free(model);
  spec = countable_spec();
  if (fastbin_model_create(&spec, &model) != FASTBIN_OK) exit(1);
  if (fastbin_stream_continue(model, &stream) != FASTBIN_OK) exit(1);
  save_stream("continued", stream);
  fastbin_model_free(model);
  spec = stepped_spec();
  if (fastbin_model_create(&spec, &model) != FASTBIN_OK || fastbin_stream_create(model, &stream) != FASTBIN_OK) exit(1);
  for (int i = 0; i < 20; i++) fastbin_stream_update_one(stream, i / 20.0, 0, i % 3 == 0, NULL);
  save_stream("stepped", stream);
  fastbin_model_free(model);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  folder = argv[1];
  save_steps();
  save_many();
  save_resolutions();
  save_others();
  save_sets();
  save_streams();
  return failed;
}
