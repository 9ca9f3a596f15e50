/*
 * set.c: make, show and free a set of models.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "set.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------------------- */
/* Which specs are sets                                                                                          */
/* ------------------------------------------------------------------------------------------------------------- */

int fastbin_known_set_enumerators(const fastbin_set_spec *spec) {
  return spec->kind >= FASTBIN_SET_GIVEN && spec->kind <= FASTBIN_SET_VECTOR && spec->key_type >= FASTBIN_KEYS_INT &&
         spec->key_type <= FASTBIN_KEYS_TEXT && spec->unknown >= FASTBIN_UNKNOWN_REFUSE && spec->unknown <= FASTBIN_UNKNOWN_POOL;
}

/* Sizes and pointers, which the other checks rely on. */
static fastbin_status check_shape(const fastbin_set_spec *spec) {
  if (!fastbin_known_set_enumerators(spec) || spec->n_models < 1 || spec->n_keys < 1) return FASTBIN_ERROR_ARGUMENT;
  if (spec->key_type == FASTBIN_KEYS_INT && (!spec->int_keys || spec->text || spec->text_offsets)) return FASTBIN_ERROR_ARGUMENT;
  if (spec->key_type == FASTBIN_KEYS_TEXT && (spec->int_keys || !spec->text || !spec->text_offsets)) return FASTBIN_ERROR_ARGUMENT;
  return FASTBIN_OK;
}

/* The models are numbered in the order of their keys, and the pool comes last: one way to say the same. */
static int models_can_be(const fastbin_set_spec *spec) {
  int32_t next = 0;
  if (spec->pool != -1 && spec->pool != spec->n_models - 1) return 0;
  if (spec->pool == -1 && spec->unknown == FASTBIN_UNKNOWN_POOL) return 0;
  if (!spec->model_of_key) return spec->pool == -1 && spec->n_keys == spec->n_models;
  for (int32_t i = 0; i < spec->n_keys; i++) {
    if (spec->pool != -1 && spec->model_of_key[i] == spec->pool) continue;
    if (spec->model_of_key[i] != next++) return 0;
  }
  /* A pool that no row could ever reach is a mistake. */
  if (spec->pool != -1 && next == spec->n_keys && spec->unknown == FASTBIN_UNKNOWN_REFUSE) return 0;
  return next == spec->n_models - (spec->pool != -1);
}

/* Whether the columns are 0 ... n_keys - 1 in some order; `seen` has room for a mark for each. */
static int columns_can_be(const fastbin_set_spec *spec, unsigned char *seen) {
  if (spec->kind < FASTBIN_SET_TOP_LABEL) return 0;
  memset(seen, 0, (size_t)spec->n_keys);
  for (int32_t i = 0; i < spec->n_keys; i++) {
    int32_t column = spec->columns[i];
    if (column < 0 || column >= spec->n_keys || seen[column]) return 0;
    seen[column] = 1;
  }
  return 1;
}

/* Whether key i has column i, which is written as no columns at all. */
static int columns_are_places(const fastbin_set_spec *spec) {
  for (int32_t i = 0; spec->columns && i < spec->n_keys; i++) {
    if (spec->columns[i] != i) return 0;
  }
  return 1;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Making                                                                                                        */
/* ------------------------------------------------------------------------------------------------------------- */

/* The arrays of a set behind its struct, widest first. */
static int set_bytes(const fastbin_set_spec *spec, int has_small, size_t *bytes) {
  size_t n_keys = (size_t)spec->n_keys;
  *bytes = sizeof(fastbin_set);
  if (has_small && !add_size(bytes, (size_t)spec->n_models + 1, sizeof(small_model))) return 0;
  if (!add_size(bytes, fastbin_key_slots(spec), sizeof(key_slot)) ||
      !add_size(bytes, (size_t)spec->n_models, sizeof(fastbin_model *)) || !add_size(bytes, n_keys, 2 * sizeof(int32_t))) {
    return 0;
  }
  if (!add_size(bytes, spec->provenance_size, 1) || !fastbin_vector_bytes(spec, bytes)) return 0;
  if (spec->key_type == FASTBIN_KEYS_INT) return add_size(bytes, n_keys, sizeof(int64_t));
  return add_size(bytes, n_keys + 1, sizeof(uint64_t)) && spec->text_offsets[n_keys] <= SIZE_MAX &&
         add_size(bytes, (size_t)spec->text_offsets[n_keys], 1);
}

/* The model of each column of a set without a pool, whose model i belongs to key i. */
static void number_columns(fastbin_set *set, unsigned char **free_part) {
  const int32_t *columns = set->spec.columns;
  set->model_of_column = (int32_t *)(void *)*free_part;
  for (int32_t i = 0; i < set->spec.n_keys; i++) set->model_of_column[columns ? columns[i] : i] = i;
  *free_part += (size_t)set->spec.n_keys * sizeof *set->model_of_column;
}

/* The small models at the next cache line. */
static void take_small_models(fastbin_set *set, fastbin_model *const *models, size_t n_models, unsigned char **free_part) {
  small_model *small = (small_model *)(void *)(*free_part + (CACHE_LINE - (uintptr_t)*free_part % CACHE_LINE) % CACHE_LINE);
  for (size_t i = 0; i < n_models; i++) fastbin_fill_small(&small[i], models[i]);
  set->small_models = small;
  *free_part += (n_models + 1) * sizeof *small;
}

static void copy_arrays(fastbin_set *set, const fastbin_set_spec *spec, fastbin_model *const *models, int has_small) {
  unsigned char *free_part = (unsigned char *)(set + 1);
  fastbin_set_spec *own = &set->spec;
  size_t n_keys = (size_t)spec->n_keys;
  int32_t *model_of_key;
  *own = *spec;
  own->struct_size = sizeof *own;
  set->small_models = NULL;
  if (has_small) take_small_models(set, models, (size_t)spec->n_models, &free_part);
  set->table.slots = (key_slot *)(void *)free_part;
  free_part += fastbin_key_slots(spec) * sizeof(key_slot);
  fastbin_copy_vector(set, &free_part);
  own->int_keys = take_copy(&free_part, spec->int_keys, n_keys * sizeof *spec->int_keys);
  own->text_offsets = take_copy(&free_part, spec->text_offsets, (n_keys + 1) * sizeof *spec->text_offsets);
  set->models = take_copy(&free_part, models, (size_t)spec->n_models * sizeof *models);
  own->models = (const fastbin_model *const *)set->models;
  model_of_key = (int32_t *)(void *)free_part;
  for (size_t i = 0; i < n_keys; i++) model_of_key[i] = spec->model_of_key ? spec->model_of_key[i] : (int32_t)i;
  own->model_of_key = model_of_key;
  free_part += n_keys * sizeof *model_of_key;
  own->columns = take_copy(&free_part, spec->columns, n_keys * sizeof *spec->columns);
  if (spec->vector) number_columns(set, &free_part);
  if (spec->text) own->text = take_copy(&free_part, spec->text, (size_t)spec->text_offsets[n_keys]);
  own->provenance = take_copy(&free_part, spec->provenance, spec->provenance_size);
}

fastbin_status fastbin_set_around(const fastbin_set_spec *given, fastbin_model *const *models, fastbin_set **set) {
  fastbin_set_spec spec = *given;
  fastbin_status status = check_shape(&spec);
  fastbin_set *made;
  size_t bytes;
  int has_small;
  if (status != FASTBIN_OK) return status;
  if (!fastbin_keys_can_be(&spec) || !models_can_be(&spec) || !fastbin_vector_can_be(&spec, models)) return FASTBIN_ERROR_SET;
  if (!fastbin_provenance_can_be(spec.provenance, spec.provenance_size)) return FASTBIN_ERROR_ORIGIN;
  has_small = fastbin_mostly_small(&spec, models);
  if (!set_bytes(&spec, has_small, &bytes)) return FASTBIN_ERROR_MEMORY;
  made = malloc(bytes);
  if (!made) return FASTBIN_ERROR_MEMORY;
  /* The marks lie where the arrays will. */
  if (spec.columns && !columns_can_be(&spec, (unsigned char *)(made + 1))) {
    free(made);
    return FASTBIN_ERROR_SET;
  }
  if (columns_are_places(&spec)) spec.columns = NULL;
  copy_arrays(made, &spec, models, has_small);
  fastbin_fill_key_table(made);
  made->has_bins = 1;
  for (int32_t i = 0; i < spec.n_models; i++) made->has_bins &= models[i]->spec.kind == FASTBIN_STEP;
  *set = made;
  return FASTBIN_OK;
}

void fastbin_free_models(fastbin_model **models, size_t n_models) {
  for (size_t i = 0; i < n_models; i++) fastbin_model_free(models[i]);
  free(models);
}

fastbin_status fastbin_set_create(const fastbin_set_spec *spec, fastbin_set **set) {
  fastbin_status status = FASTBIN_OK;
  fastbin_model **copies;
  size_t n_models = 0;
  if (!set) return FASTBIN_ERROR_ARGUMENT;
  *set = NULL;
  if (!spec) return FASTBIN_ERROR_ARGUMENT;
  if (!fastbin_struct_understood(spec, spec->struct_size, sizeof *spec, sizeof *spec)) return FASTBIN_ERROR_STRUCT_SIZE;
  if (!spec->models || spec->n_models < 1) return FASTBIN_ERROR_ARGUMENT;
  if ((size_t)spec->n_models > SIZE_MAX / sizeof *copies) return FASTBIN_ERROR_MEMORY;
  copies = malloc((size_t)spec->n_models * sizeof *copies);
  if (!copies) return FASTBIN_ERROR_MEMORY;
  for (; status == FASTBIN_OK && n_models < (size_t)spec->n_models; n_models++) {
    status = spec->models[n_models] ? fastbin_make_model(&spec->models[n_models]->spec, 1, &copies[n_models])
                                    : FASTBIN_ERROR_ARGUMENT;
    if (status != FASTBIN_OK) break;
  }
  if (status == FASTBIN_OK) status = fastbin_set_around(spec, copies, set);
  fastbin_free_models(copies, status == FASTBIN_OK ? 0 : n_models);
  return status;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Showing and freeing                                                                                           */
/* ------------------------------------------------------------------------------------------------------------- */

void fastbin_set_free(fastbin_set *set) {
  if (!set) return;
  for (int32_t i = 0; i < set->spec.n_models; i++) fastbin_model_free(set->models[i]);
  free(set);
}

fastbin_status fastbin_set_describe(const fastbin_set *set, fastbin_set_spec *spec) {
  size_t struct_size;
  if (!set || !spec) return FASTBIN_ERROR_ARGUMENT;
  struct_size = spec->struct_size;
  if (struct_size < sizeof *spec) return FASTBIN_ERROR_STRUCT_SIZE;
  memset(spec, 0, struct_size);
  *spec = set->spec;
  spec->struct_size = struct_size;
  return FASTBIN_OK;
}
