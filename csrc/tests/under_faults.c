/*
 * under_faults.c: every operation that takes memory or touches files, with the n-th malloc, open, write, close, fsync, rename or
 * read failing, for n = 1, 2, ... until none fails. Afterwards: the status says so, nothing is leaked, a file is the old one or
 * the new one and never neither, and nothing lies beside it.
 *
 *     LD_PRELOAD=faults.so under_faults FOLDER        # the folder is empty
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "sets.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef void arm_function(const char *kind, long at);
typedef int disarm_function(long *not_given_back);

#define MOST_BYTES 4096

/* A stored thing as bytes. */
typedef struct image {
  unsigned char bytes[MOST_BYTES];
  size_t size;
} image;

static arm_function *arm;
static disarm_function *disarm;
static char path[4096];
static const char *folder;
static fastbin_model *old_model, *new_model;
static fastbin_stream *stream, *other_stream;
static fastbin_set *set;
static image old_image, new_image, stream_image, monitor_image, set_image, vector_image;
static char set_path[4096];
static long n_faults;

static void require(int holds, const char *what, const char *operation, const char *kind, long at) {
  if (holds) return;
  fprintf(stderr, "under_faults: %s: %s, call %ld of %s failing\n", what, operation, at, kind);
  exit(1);
}

/* Resolves one of the functions of faults.c. */
static void find(const char *name, void *function, size_t size) {
  void *found = dlsym(RTLD_DEFAULT, name);
  require(found != NULL, "faults.so is not preloaded", name, "none", 0);
  memcpy(function, &found, size);
}

static image image_of_file(void) {
  image file = {{0}, 0};
  FILE *opened = fopen(path, "rb");
  if (opened) {
    file.size = fread(file.bytes, 1, sizeof file.bytes, opened);
    fclose(opened);
  }
  return file;
}

static int equal(const image *one, const image *other) {
  return one->size == other->size && memcmp(one->bytes, other->bytes, one->size) == 0;
}

static int n_files(void) {
  DIR *listing = opendir(folder);
  int n = 0;
  while (readdir(listing)) n++;
  closedir(listing);
  return n - 2;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* The operations: each frees what it made                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

static fastbin_status save(void) { return fastbin_model_save(new_model, path); }

static fastbin_status done_with_model(fastbin_status status, fastbin_model *model) {
  if (status != FASTBIN_OK && model) abort();
  fastbin_model_free(model);
  return status;
}

static fastbin_status done_with_stream(fastbin_status status, fastbin_stream *made) {
  if (status != FASTBIN_OK && made) abort();
  fastbin_stream_free(made);
  return status;
}

static fastbin_status load(void) {
  fastbin_model *model;
  fastbin_status status = fastbin_model_load(path, &model);
  return done_with_model(status, model);
}

static fastbin_status create(void) {
  fastbin_model_spec spec = full_spec();
  fastbin_model *model;
  fastbin_status status = fastbin_model_create(&spec, &model);
  return done_with_model(status, model);
}

static fastbin_status read_model(void) {
  fastbin_model *model;
  fastbin_status status = fastbin_model_read(new_image.bytes, new_image.size, &model);
  return done_with_model(status, model);
}

static fastbin_status read_stream(void) {
  fastbin_stream *made;
  fastbin_status status = fastbin_stream_read(stream_image.bytes, stream_image.size, &made);
  return done_with_stream(status, made);
}

static fastbin_status create_stream(void) {
  fastbin_stream *made;
  fastbin_status status = fastbin_stream_create(old_model, &made);
  return done_with_stream(status, made);
}

static fastbin_status continue_fit(void) {
  fastbin_stream *made;
  fastbin_status status = fastbin_stream_continue(new_model, &made);
  return done_with_stream(status, made);
}

static fastbin_status snapshot(void) {
  fastbin_model *model;
  fastbin_status status = fastbin_stream_snapshot(stream, &model);
  return done_with_model(status, model);
}

static fastbin_status read_monitor(void) {
  fastbin_monitor *monitor;
  fastbin_status status = fastbin_monitor_read(monitor_image.bytes, monitor_image.size, &monitor);
  if (status != FASTBIN_OK && monitor) abort();
  fastbin_monitor_free(monitor);
  return status;
}

static fastbin_status done_with_set(fastbin_status status, fastbin_set *made) {
  if (status != FASTBIN_OK && made) abort();
  fastbin_set_free(made);
  return status;
}

static fastbin_status create_set(void) {
  fastbin_set_spec spec = text_set_spec();
  fastbin_set *made;
  fastbin_status status = fastbin_set_create(&spec, &made);
  return done_with_set(status, made);
}

static fastbin_status read_set(void) {
  fastbin_set *made;
  fastbin_status status = fastbin_set_read(set_image.bytes, set_image.size, &made);
  return done_with_set(status, made);
}

static fastbin_status create_vector_set(void) {
  fastbin_set_spec spec = vector_set_spec();
  fastbin_set *made;
  fastbin_status status = fastbin_set_create(&spec, &made);
  return done_with_set(status, made);
}

static fastbin_status read_vector_set(void) {
  fastbin_set *made;
  fastbin_status status = fastbin_set_read(vector_image.bytes, vector_image.size, &made);
  return done_with_set(status, made);
}

/* Beside the model, where nothing else may lie. */
static fastbin_status save_and_load_set(void) {
  fastbin_set *made = NULL;
  fastbin_status status = fastbin_set_save(set, set_path);
  if (status == FASTBIN_OK) status = fastbin_set_load(set_path, &made);
  remove(set_path);
  return done_with_set(status, made);
}

static fastbin_status merge(void) { return fastbin_stream_merge(other_stream, stream); }

static const struct operation {
  const char *name;
  fastbin_status (*run)(void);
} operations[] = {
    {"save", save},
    {"load", load},
    {"create", create},
    {"read a model", read_model},
    {"read a stream", read_stream},
    {"read a monitor", read_monitor},
    {"create a stream", create_stream},
    {"continue a fit", continue_fit},
    {"snapshot", snapshot},
    {"merge", merge},
    {"create a set", create_set},
    {"read a set", read_set},
    {"create a vector set", create_vector_set},
    {"read a vector set", read_vector_set},
    {"save and load a set", save_and_load_set},
};

static const char *const kinds[] = {"malloc", "open", "read", "write", "close", "fsync", "rename"};

/* Each way for it to end, proper statuses alone. Returns 0 when no call was left to fail. */
static int fail_once(const struct operation *operation, const char *kind, long at) {
  image after;
  long n_leaked;
  fastbin_status status;
  int fired;
  require(fastbin_model_save(old_model, path) == FASTBIN_OK, "the old file cannot be made", operation->name, kind, at);
  arm(kind, at);
  status = operation->run();
  fired = disarm(&n_leaked);
  require(fired || status == FASTBIN_OK, "failed without a cause", operation->name, kind, at);
  require(n_leaked == 0, "leaked", operation->name, kind, at);
  require(status == FASTBIN_OK || status == FASTBIN_ERROR_MEMORY || status == FASTBIN_ERROR_OPEN ||
              status == FASTBIN_ERROR_READ || status == FASTBIN_ERROR_WRITE,
          "another status", operation->name, kind, at);
  after = image_of_file();
  require(equal(&after, status == FASTBIN_OK && operation->run == save ? &new_image : &old_image), "another file",
          operation->name, kind, at);
  require(n_files() == 1, "something lies beside the file", operation->name, kind, at);
  n_faults += fired;
  return fired;
}

/* A monitor over the stream, two bins, without evidence. */
static void prepare_monitor(void) {
  static const double tolerated[] = {0.0, 1.0, 0.0, 1.0}, max_log_e[] = {0.0, 0.0};
  static const int64_t named_at[] = {0, 0};
  fastbin_monitor_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.struct_size = sizeof spec;
  spec.stream = stream;
  spec.alpha = 0.05;
  spec.tolerated = tolerated;
  spec.max_log_e = max_log_e;
  spec.named_at = named_at;
  monitor_image.size = fastbin_monitor_size(&spec);
  if (fastbin_monitor_write(&spec, monitor_image.bytes, MOST_BYTES) != FASTBIN_OK) exit(1);
}

static image image_of_set(const fastbin_set *of) {
  image made = {{0}, fastbin_set_size(of)};
  if (fastbin_set_write(of, made.bytes, MOST_BYTES) != FASTBIN_OK) exit(1);
  return made;
}

static void prepare_sets(void) {
  fastbin_set_spec spec = vector_set_spec();
  fastbin_set *vector = must_create_set(&spec);
  vector_image = image_of_set(vector);
  fastbin_set_free(vector);
  spec = text_set_spec();
  set = must_create_set(&spec);
  set_image = image_of_set(set);
}

static void prepare(void) {
  fastbin_model_spec spec = half_spec();
  if (fastbin_model_create(&spec, &old_model) != FASTBIN_OK) exit(1);
  spec = countable_spec();
  if (fastbin_model_create(&spec, &new_model) != FASTBIN_OK) exit(1);
  if (fastbin_stream_create(old_model, &stream) != FASTBIN_OK) exit(1);
  if (fastbin_stream_create(old_model, &other_stream) != FASTBIN_OK) exit(1);
  for (int i = 0; i < 10; i++) fastbin_stream_update_one(stream, i / 10.0, 7, i % 2, NULL);
  old_image.size = fastbin_model_size(old_model);
  new_image.size = fastbin_model_size(new_model);
  stream_image.size = fastbin_stream_size(stream);
  if (fastbin_model_write(old_model, old_image.bytes, MOST_BYTES) != FASTBIN_OK) exit(1);
  if (fastbin_model_write(new_model, new_image.bytes, MOST_BYTES) != FASTBIN_OK) exit(1);
  if (fastbin_stream_write(stream, stream_image.bytes, MOST_BYTES) != FASTBIN_OK) exit(1);
  prepare_monitor();
  prepare_sets();
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  folder = argv[1];
  snprintf(path, sizeof path, "%s/model.fbm", folder);
  snprintf(set_path, sizeof set_path, "%s/set.fbm", folder);
  find("faults_arm", &arm, sizeof arm);
  find("faults_disarm", &disarm, sizeof disarm);
  prepare();
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
      long at = 1;
      while (fail_once(&operations[i], kinds[k], at)) at++;
    }
  }
  remove(path);
  fastbin_model_free(old_model);
  fastbin_model_free(new_model);
  fastbin_stream_free(stream);
  fastbin_stream_free(other_stream);
  fastbin_set_free(set);
  free_set_models();
  printf("under_faults: %ld failing calls, all borne\n", n_faults);
  return n_faults > 20 ? 0 : 1;
}
