/*
 * model.c: make, show and free a model.
 *
 * A model is one allocation: the struct, then its arrays, widest types first so that each is aligned without padding.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include <stdlib.h>

/*
 * Structs only grow at their end, so a shorter struct than the first release's is a mistake, and a longer one comes from
 * a caller newer than this library: it may not have set anything that this library would ignore.
 */
int fastbin_struct_understood(const void *given, size_t struct_size, size_t known_size) {
  const unsigned char *bytes = given;
  if (struct_size < known_size) return 0;
  for (size_t i = known_size; i < struct_size; i++) {
    if (bytes[i] != 0) return 0;
  }
  return 1;
}

/* Takes `count` elements of `size` bytes off the free part of an allocation. */
static void *take(unsigned char **free_part, size_t count, size_t size) {
  void *taken = *free_part;
  *free_part += count * size;
  return taken;
}

/* -0.0 becomes 0.0, so that equal models have equal bytes and the search may compare bit patterns. */
static const double *copy_doubles(unsigned char **free_part, const double *from, size_t count) {
  double *to;
  if (!from || count == 0) return NULL;
  to = take(free_part, count, sizeof *to);
  for (size_t i = 0; i < count; i++) to[i] = from[i] + 0.0;
  return to;
}

static const int64_t *copy_counts(unsigned char **free_part, const int64_t *from, size_t count) {
  int64_t *to;
  if (!from || count == 0) return NULL;
  to = take(free_part, count, sizeof *to);
  memcpy(to, from, count * sizeof *to);
  return to;
}

static const uint64_t *copy_keys(unsigned char **free_part, const uint64_t *from, size_t count) {
  uint64_t *to;
  if (count == 0) return NULL;
  to = take(free_part, count, sizeof *to);
  if (from) {
    memcpy(to, from, count * sizeof *to);
  } else {
    for (size_t i = 0; i < count; i++) to[i] = FASTBIN_KEY_ABOVE;
  }
  return to;
}

static const char *copy_note(unsigned char **free_part, const char *from, size_t size) {
  if (size == 0) return NULL;
  return memcpy(take(free_part, size, 1), from, size);
}

/* Fills model->spec with a copy of `spec` whose arrays lie in the allocation behind the struct. */
static void copy_spec(fastbin_model *model, const fastbin_model_spec *spec, unsigned char *free_part) {
  size_t n_edges = (size_t)fastbin_n_edges(spec);
  size_t n_bins = (size_t)spec->n_bins;
  fastbin_model_spec *own = &model->spec;
  *own = *spec;
  own->struct_size = sizeof *own;
  own->edges = copy_doubles(&free_part, spec->edges, n_edges);
  own->edge_keys = copy_keys(&free_part, spec->edge_keys, n_edges);
  own->values = copy_doubles(&free_part, spec->values, n_bins);
  own->counts = copy_counts(&free_part, spec->counts, n_bins);
  own->label_sums = copy_counts(&free_part, spec->label_sums, n_bins);
  own->weight_sums = copy_doubles(&free_part, spec->weight_sums, n_bins);
  own->weighted_label_sums = copy_doubles(&free_part, spec->weighted_label_sums, n_bins);
  own->weight_square_sums = copy_doubles(&free_part, spec->weight_square_sums, n_bins);
  own->note = copy_note(&free_part, spec->note, spec->note_size);
  for (int i = 0; i < 4; i++) own->map_parameters[i] += 0.0;
  own->score_min += 0.0;
  own->score_max += 0.0;
  own->delta += 0.0;
}

static int model_bytes(const fastbin_model_spec *spec, size_t *bytes) {
  size_t n_edges = (size_t)fastbin_n_edges(spec);
  size_t n_bins = (size_t)spec->n_bins;
  size_t arrays_of_bins = (size_t)1 + (spec->counts ? 2u : 0u) + (spec->weight_sums ? 3u : 0u);
  *bytes = sizeof(fastbin_model);
  return add_size(bytes, n_edges, sizeof(double) + sizeof(uint64_t)) &&
         add_size(bytes, n_bins, arrays_of_bins * sizeof(double)) && add_size(bytes, spec->note_size, 1);
}

fastbin_status fastbin_model_create(const fastbin_model_spec *spec, fastbin_model **model) {
  fastbin_status status;
  fastbin_model *made;
  size_t bytes;
  if (!model) return FASTBIN_ERROR_ARGUMENT;
  *model = NULL;
  if (!spec) return FASTBIN_ERROR_ARGUMENT;
  if (!fastbin_struct_understood(spec, spec->struct_size, sizeof *spec)) return FASTBIN_ERROR_STRUCT_SIZE;
  status = fastbin_check_spec(spec);
  if (status != FASTBIN_OK) return status;
  if (!model_bytes(spec, &bytes)) return FASTBIN_ERROR_MEMORY;
  made = malloc(bytes);
  if (!made) return FASTBIN_ERROR_MEMORY;
  copy_spec(made, spec, (unsigned char *)(made + 1));
  made->check_min = spec->score_min < -DBL_MAX ? -DBL_MAX : made->spec.score_min;
  made->check_max = spec->score_max > DBL_MAX ? DBL_MAX : made->spec.score_max;
  *model = made;
  return FASTBIN_OK;
}

void fastbin_model_free(fastbin_model *model) { free(model); }

fastbin_status fastbin_model_describe(const fastbin_model *model, fastbin_model_spec *spec) {
  size_t struct_size;
  if (!model || !spec) return FASTBIN_ERROR_ARGUMENT;
  struct_size = spec->struct_size;
  if (struct_size < sizeof *spec) return FASTBIN_ERROR_STRUCT_SIZE;
  memset(spec, 0, struct_size);
  *spec = model->spec;
  spec->struct_size = struct_size;
  return FASTBIN_OK;
}
