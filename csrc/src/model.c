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
 * Structs only grow at their end, from release to release. A smaller size than the known one is that of the first release or
 * a mistake, which may end within a pointer. A larger one comes from a caller newer than this library, which must not have set
 * a member that this library would ignore.
 */
int fastbin_struct_understood(const void *given, size_t struct_size, size_t first_size, size_t known_size) {
  const unsigned char *bytes = given;
  if (struct_size < known_size) return struct_size == first_size;
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

/* -0.0 becomes 0.0, so that equal models have equal bytes. */
static const double *copy_doubles(unsigned char **free_part, const double *from, size_t count) {
  double *to;
  if (!from || count == 0) return NULL;
  to = take(free_part, count, sizeof *to);
  for (size_t i = 0; i < count; i++) to[i] = without_negative_zero(from[i]);
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

/* Fills model->spec with a copy of `spec` whose arrays (all but the note) lie at free_part. Returns the rest of that. */
static unsigned char *copy_spec(fastbin_model *model, const fastbin_model_spec *spec, unsigned char *free_part) {
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
  own->pairs = copy_doubles(&free_part, spec->pairs, 2 * n_bins);
  for (int i = 0; i < 4; i++) own->map_parameters[i] = without_negative_zero(own->map_parameters[i]);
  own->score_min = without_negative_zero(own->score_min);
  own->score_max = without_negative_zero(own->score_max);
  own->delta = without_negative_zero(own->delta);
  return free_part;
}

/* Numbers of 8 bytes, then the tables of the index, which end with narrower ones, then the note. */
static int model_bytes(const fastbin_model_spec *spec, const score_index *ix, size_t *bytes) {
  size_t n_edges = (size_t)fastbin_n_edges(spec);
  size_t n_bins = (size_t)spec->n_bins;
  size_t arrays_of_bins = (size_t)1 + (spec->counts ? 2u : 0u) + (spec->weight_sums ? 3u : 0u) + (spec->pairs ? 2u : 0u);
  *bytes = sizeof(fastbin_model);
  return add_size(bytes, n_edges, sizeof(double) + sizeof(uint64_t)) &&
         add_size(bytes, n_bins, arrays_of_bins * sizeof(double)) && fastbin_add_index_size(bytes, ix, spec) &&
         add_size(bytes, spec->note_size, 1);
}

/* A spec of any known size, as one of this version: members that the caller does not know are 0. */
static fastbin_status take_spec(const fastbin_model_spec *given, fastbin_model_spec *spec) {
  size_t size = given->struct_size;
  if (!fastbin_struct_understood(given, size, FIRST_SPEC_SIZE, sizeof *spec)) return FASTBIN_ERROR_STRUCT_SIZE;
  memset(spec, 0, sizeof *spec);
  memcpy(spec, given, size < sizeof *spec ? size : sizeof *spec);
  return FASTBIN_OK;
}

fastbin_status fastbin_model_create(const fastbin_model_spec *given, fastbin_model **model) {
  fastbin_model_spec whole;
  const fastbin_model_spec *spec = &whole;
  fastbin_status status;
  fastbin_model *made;
  unsigned char *free_part;
  score_index plan;
  size_t bytes;
  if (!model) return FASTBIN_ERROR_ARGUMENT;
  *model = NULL;
  if (!given) return FASTBIN_ERROR_ARGUMENT;
  status = take_spec(given, &whole);
  if (status == FASTBIN_OK) status = fastbin_validate_spec(spec);
  if (status != FASTBIN_OK) return status;
  fastbin_plan_index(&plan, spec);
  if (!model_bytes(spec, &plan, &bytes)) return FASTBIN_ERROR_MEMORY;
  made = malloc(bytes);
  if (!made) return FASTBIN_ERROR_MEMORY;
  made->index = plan;
  made->is_plain = spec->kind == FASTBIN_STEP && !(spec->delta > 0.0);
  free_part = copy_spec(made, spec, (unsigned char *)(made + 1));
  free_part = fastbin_fill_index(&made->index, &made->spec, free_part);
  made->spec.note = spec->note_size > 0 ? memcpy(free_part, spec->note, spec->note_size) : NULL;
  *model = made;
  return FASTBIN_OK;
}

void fastbin_model_free(fastbin_model *model) { free(model); }

fastbin_status fastbin_model_describe(const fastbin_model *model, fastbin_model_spec *spec) {
  size_t struct_size;
  if (!model || !spec) return FASTBIN_ERROR_ARGUMENT;
  struct_size = spec->struct_size;
  if (struct_size < sizeof *spec && struct_size != FIRST_SPEC_SIZE) return FASTBIN_ERROR_STRUCT_SIZE;
  memset(spec, 0, struct_size);
  memcpy(spec, &model->spec, struct_size < sizeof *spec ? struct_size : sizeof *spec);
  spec->struct_size = struct_size;
  return FASTBIN_OK;
}
