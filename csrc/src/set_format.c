/*
 * set_format.c: a set as bytes. FORMAT.md, "Sets of models", is the specification; change both together.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "set.h"

#include "bytes.h"

#include <stdlib.h>

#define HEAD_SIZE 32

enum section { HEAD, KEYS, CELL, COLS, OFFS, MODS, VECT, SEEN, UNLB, PROV, N_SECTIONS };

static const section_kind sections[N_SECTIONS] = {
    [HEAD] = {TAG('H', 'E', 'A', 'D'), MUST_UNDERSTAND}, [KEYS] = {TAG('K', 'E', 'Y', 'S'), MUST_UNDERSTAND},
    [CELL] = {TAG('C', 'E', 'L', 'L'), MUST_UNDERSTAND}, [COLS] = {TAG('C', 'O', 'L', 'S'), MUST_UNDERSTAND},
    [OFFS] = {TAG('O', 'F', 'F', 'S'), MUST_UNDERSTAND}, [MODS] = {TAG('M', 'O', 'D', 'S'), MUST_UNDERSTAND},
    [VECT] = {TAG('V', 'E', 'C', 'T'), MUST_UNDERSTAND}, [SEEN] = {TAG('S', 'E', 'E', 'N'), 0},
    [UNLB] = {TAG('U', 'N', 'L', 'B'), 0},               [PROV] = {TAG('P', 'R', 'O', 'V'), 0},
};

/* Before the arrays of VECT: the three numbers, and the two flags of which one says that there is a matrix. */
#define VECTOR_HEAD 4

static const container_kind set_kind = {'T', 1, N_SECTIONS, sections}, vector_kind = {'V', 1, N_SECTIONS, sections};

/* Vector models have a letter of their own, as nothing that asks a set for the value of one cell may take them for one. */
static const container_kind *kind_of(const fastbin_set_spec *spec) {
  return spec->kind == FASTBIN_SET_VECTOR ? &vector_kind : &set_kind;
}

static const container_kind *kind_of_bytes(const unsigned char *bytes, size_t size) {
  return size > 3 && bytes[3] == vector_kind.letter ? &vector_kind : &set_kind;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Writing                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

static void section_sizes(const fastbin_set_spec *spec, size_t *sizes) {
  size_t n_keys = (size_t)spec->n_keys;
  sizes[HEAD] = HEAD_SIZE;
  sizes[KEYS] = spec->int_keys ? 8 * n_keys : 8 * (n_keys + 1) + (size_t)spec->text_offsets[n_keys];
  sizes[CELL] = spec->pool >= 0 ? 8 * n_keys : 0;
  sizes[COLS] = spec->columns ? 8 * n_keys : 0;
  sizes[OFFS] = 8 * ((size_t)spec->n_models + 1);
  sizes[MODS] = 0;
  for (int32_t i = 0; i < spec->n_models; i++) sizes[MODS] += fastbin_model_size(spec->models[i]);
  sizes[VECT] = sizes[SEEN] = sizes[UNLB] = 0;
  if (spec->vector) {
    vector_sizes of_map = fastbin_vector_sizes(spec->vector, spec->n_keys);
    sizes[VECT] = 8 * (VECTOR_HEAD + 3 * n_keys + of_map.mixing);
    sizes[SEEN] = of_map.bins > 0 ? 8 * (1 + of_map.edges + 3 * of_map.bins) : 0;
    sizes[UNLB] = 8 * of_map.unlabelled;
  }
  sizes[PROV] = spec->provenance_size;
}

static unsigned char *put_head(unsigned char *at, const fastbin_set_spec *spec) {
  at = put_i32(at, spec->kind);
  at = put_i32(at, spec->key_type);
  at = put_i32(at, spec->unknown);
  at = put_i32(at, spec->pool);
  at = put_i64(at, spec->n_models);
  return put_i64(at, spec->n_keys);
}

static unsigned char *put_keys(unsigned char *at, const fastbin_set_spec *spec) {
  size_t n_keys = (size_t)spec->n_keys;
  if (spec->int_keys) return put_counts(at, spec->int_keys, n_keys);
  for (size_t i = 0; i <= n_keys; i++) at = put_u64(at, spec->text_offsets[i]);
  return put_bytes(at, spec->text, (size_t)spec->text_offsets[n_keys]);
}

static unsigned char *put_offsets(unsigned char *at, const fastbin_set_spec *spec) {
  uint64_t offset = 0;
  for (int32_t i = 0; i < spec->n_models; i++) {
    at = put_u64(at, offset);
    offset += fastbin_model_size(spec->models[i]);
  }
  return put_u64(at, offset);
}

static unsigned char *put_models(unsigned char *at, const fastbin_set_spec *spec) {
  for (int32_t i = 0; i < spec->n_models; i++) {
    size_t size = fastbin_model_size(spec->models[i]);
    fastbin_model_write(spec->models[i], at, size);
    at += size;
  }
  return at;
}

static unsigned char *put_vector(unsigned char *at, const fastbin_vector_map *map, size_t n_keys) {
  at = put_double(at, map->of_models);
  at = put_double(at, map->of_priors);
  at = put_double(at, map->least);
  at = put_i32(at, map->keep_top);
  at = put_u32(at, map->mixing ? 1u : 0u);
  at = put_doubles(at, map->slopes, n_keys);
  at = put_doubles(at, map->intercepts, n_keys);
  at = put_doubles(at, map->priors, n_keys);
  return put_doubles(at, map->mixing, map->mixing ? n_keys * n_keys : 0);
}

static unsigned char *put_seen(unsigned char *at, const fastbin_vector_map *map, vector_sizes sizes) {
  at = put_i64(at, map->n_bins);
  at = put_doubles(at, map->edges, sizes.edges);
  at = put_counts(at, map->counts, 2 * sizes.bins);
  return put_doubles(at, map->means, sizes.bins);
}

static unsigned char *put_section(unsigned char *at, const void *content, int section, size_t size) {
  const fastbin_set_spec *spec = content;
  switch ((enum section)section) {
    case HEAD:
      return put_head(at, spec);
    case KEYS:
      return put_keys(at, spec);
    case CELL:
      for (int32_t i = 0; i < spec->n_keys; i++) at = put_i64(at, spec->model_of_key[i]);
      return at;
    case COLS:
      for (int32_t i = 0; i < spec->n_keys; i++) at = put_i64(at, spec->columns[i]);
      return at;
    case OFFS:
      return put_offsets(at, spec);
    case MODS:
      return put_models(at, spec);
    case VECT:
      return put_vector(at, spec->vector, (size_t)spec->n_keys);
    case SEEN:
      return put_seen(at, spec->vector, fastbin_vector_sizes(spec->vector, spec->n_keys));
    case UNLB:
      return put_doubles(at, spec->vector->unlabelled, size / 8);
    case PROV:
      return put_bytes(at, spec->provenance, size);
    case N_SECTIONS:
      break;
  }
  return at;
}

size_t fastbin_set_size(const fastbin_set *set) {
  size_t sizes[N_SECTIONS];
  if (!set) return 0;
  section_sizes(&set->spec, sizes);
  return fastbin_container_size(kind_of(&set->spec), sizes);
}

fastbin_status fastbin_set_write(const fastbin_set *set, void *buffer, size_t capacity) {
  size_t sizes[N_SECTIONS];
  if (!set || !buffer) return FASTBIN_ERROR_ARGUMENT;
  section_sizes(&set->spec, sizes);
  return fastbin_write_container(kind_of(&set->spec), sizes, put_section, &set->spec, buffer, capacity);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Reading                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

fastbin_status fastbin_check_set_start(const unsigned char *bytes, size_t size) {
  return fastbin_check_start(kind_of_bytes(bytes, size), bytes, size);
}

/* The numbers of models and keys, as the sections that hold one entry for each can confirm them. */
static fastbin_status take_head(const payload *payloads, fastbin_set_spec *spec) {
  const unsigned char *at = payloads[HEAD].start;
  uint64_t n_models, n_keys;
  memset(spec, 0, sizeof *spec);
  spec->struct_size = sizeof *spec;
  spec->kind = take_i32(&at);
  spec->key_type = take_i32(&at);
  spec->unknown = take_i32(&at);
  spec->pool = take_i32(&at);
  n_models = take_u64(&at);
  n_keys = take_u64(&at);
  if (!fastbin_known_set_enumerators(spec)) return FASTBIN_ERROR_FORMAT_VERSION;
  if (n_models < 1 || n_models > INT32_MAX || payloads[OFFS].size != 8 * (n_models + 1)) return FASTBIN_ERROR_CONTENT;
  if (n_keys < 1 || n_keys > INT32_MAX || payloads[KEYS].size < 8 * n_keys) return FASTBIN_ERROR_CONTENT;
  if (payloads[CELL].size != (spec->pool >= 0 ? 8 * n_keys : 0)) return FASTBIN_ERROR_CONTENT;
  if (payloads[COLS].start && payloads[COLS].size != 8 * n_keys) return FASTBIN_ERROR_CONTENT;
  spec->n_models = (int32_t)n_models;
  spec->n_keys = (int32_t)n_keys;
  spec->provenance = (const char *)payloads[PROV].start;
  spec->provenance_size = payloads[PROV].size;
  return FASTBIN_OK;
}

/* The keys at *free_part, which is moved on. Returns 0 if the section is not as long as they are. */
static int take_keys(const payload *from, fastbin_set_spec *spec, unsigned char **free_part) {
  size_t n_keys = (size_t)spec->n_keys;
  const unsigned char *at = from->start;
  if (spec->key_type == FASTBIN_KEYS_INT) {
    spec->int_keys = take_counts(&at, n_keys, free_part);
    return from->size == 8 * n_keys;
  } else {
    uint64_t *offsets = (uint64_t *)(void *)*free_part;
    if (from->size < 8 * (n_keys + 1)) return 0;
    for (size_t i = 0; i <= n_keys; i++) offsets[i] = take_u64(&at);
    spec->text_offsets = offsets;
    spec->text = (const char *)at;
    *free_part += (n_keys + 1) * sizeof *offsets;
    return from->size - 8 * (n_keys + 1) == offsets[n_keys];
  }
}

/* Numbers of models or columns, one for each key; NULL without the section. Returns 0 if one is none. */
static int take_numbers(const payload *from, const int32_t **numbers, unsigned char **free_part) {
  int32_t *taken = (int32_t *)(void *)*free_part;
  const unsigned char *at = from->start;
  size_t count = from->size / 8;
  *numbers = NULL;
  if (!at) return 1;
  for (size_t i = 0; i < count; i++) {
    uint64_t number = take_u64(&at);
    if (number > INT32_MAX) return 0;
    taken[i] = (int32_t)number;
  }
  *numbers = taken;
  *free_part += count * sizeof *taken;
  return 1;
}

/* The evidence of a map whose other numbers have been read. Returns 0 if sections are not as long as they say. */
static int take_evidence(const payload *payloads, size_t n_keys, fastbin_vector_map *map, unsigned char **free_part) {
  const unsigned char *at = payloads[SEEN].start;
  uint64_t n_bins;
  vector_sizes sizes;
  if (!at) return !payloads[UNLB].start;
  if (payloads[SEEN].size < 8) return 0;
  n_bins = take_u64(&at);
  if (n_bins < 1 || n_bins > FASTBIN_MAX_BINS || n_bins > payloads[SEEN].size / 8 / n_keys) return 0;
  map->n_bins = (int32_t)n_bins;
  sizes = fastbin_vector_sizes(map, (int32_t)n_keys);
  if (payloads[SEEN].size != 8 * (1 + sizes.edges + 3 * sizes.bins)) return 0;
  if (payloads[UNLB].start && payloads[UNLB].size != 24 * sizes.bins) return 0;
  map->edges = take_doubles(&at, sizes.edges, free_part);
  map->counts = take_counts(&at, 2 * sizes.bins, free_part);
  map->means = take_doubles(&at, sizes.bins, free_part);
  at = payloads[UNLB].start;
  if (at) map->unlabelled = take_doubles(&at, 3 * sizes.bins, free_part);
  return 1;
}

/* Whether a word of a section has the bits of -0.0, which are those of no count and of no flag either. */
static int has_negative_zero(const payload *from) {
  for (size_t at = 0; at + 8 <= from->size; at += 8) {
    if (is_negative_zero(double_of(get_u64(from->start + at)))) return 1;
  }
  return 0;
}

/* The map of a vector set, if there is one. Returns 0 if its sections cannot be those of so many columns. */
static int take_vector(const payload *payloads, fastbin_set_spec *spec, fastbin_vector_map *map, unsigned char **free_part) {
  const unsigned char *at = payloads[VECT].start;
  size_t n = (size_t)spec->n_keys, size = payloads[VECT].size, has_mixing;
  memset(map, 0, sizeof *map);
  if (!at) return !payloads[SEEN].start && !payloads[UNLB].start;
  if (size < 8 * VECTOR_HEAD) return 0;
  if (has_negative_zero(&payloads[VECT]) || has_negative_zero(&payloads[SEEN]) || has_negative_zero(&payloads[UNLB])) return 0;
  map->of_models = take_double(&at);
  map->of_priors = take_double(&at);
  map->least = take_double(&at);
  map->keep_top = take_i32(&at);
  has_mixing = (uint32_t)take_i32(&at);
  if (has_mixing > 1 || (has_mixing && n > FASTBIN_MAX_MIXED) || size != 8 * (VECTOR_HEAD + 3 * n + has_mixing * n * n)) return 0;
  map->slopes = take_doubles(&at, n, free_part);
  map->intercepts = take_doubles(&at, n, free_part);
  map->priors = take_doubles(&at, n, free_part);
  map->mixing = take_doubles(&at, has_mixing * n * n, free_part);
  spec->vector = map;
  return take_evidence(payloads, n, map, free_part);
}

/* Finds the models in MODS. Returns the size of the largest, or 0 if the offsets cannot be theirs. */
static size_t find_models(const payload *payloads, size_t n_models, payload *found) {
  const unsigned char *at = payloads[OFFS].start;
  uint64_t end = take_u64(&at);
  size_t largest = 0;
  if (end != 0 || get_u64(payloads[OFFS].start + 8 * n_models) != payloads[MODS].size) return 0;
  for (size_t i = 0; i < n_models; i++) {
    uint64_t start = end;
    end = take_u64(&at);
    if (end <= start || end > payloads[MODS].size || end - start <= CHECKSUM_SIZE || (end - start) % 8 != 0) return 0;
    found[i] = (payload){payloads[MODS].start + start, (size_t)(end - start)};
    if (found[i].size > largest) largest = found[i].size;
  }
  return largest;
}

/* Reads models until one cannot be read, several checksums at a time; *n_read are for the caller to free. */
static fastbin_status read_models(const payload *found, size_t n_models, unsigned char *scratch, fastbin_model **models,
                                  size_t *n_read) {
  uint64_t checksums[CHECKSUM_LANES];
  for (size_t i = 0; i < n_models; i++) {
    size_t lane = i % CHECKSUM_LANES, n = n_models - i < CHECKSUM_LANES ? n_models - i : CHECKSUM_LANES;
    read_aids aids = {0, scratch};
    fastbin_status status;
    if (lane == 0) fastbin_checksums(found + i, n, checksums);
    aids.checksum = checksums[lane];
    status = fastbin_read_one_of_many(found[i].start, found[i].size, &aids, &models[i]);
    if (status != FASTBIN_OK) return status;
    *n_read = i + 1;
  }
  return FASTBIN_OK;
}

/* All models; on failure none is left. */
static fastbin_status take_models(const payload *payloads, size_t n_models, fastbin_model ***models) {
  payload *found = malloc(n_models * sizeof *found); /* OFFS is half as long, at least */
  fastbin_model **read = malloc(n_models * sizeof *read);
  size_t largest = found && read ? find_models(payloads, n_models, found) : 0, n_read = 0;
  unsigned char *scratch = largest > 0 ? malloc(largest) : NULL;
  fastbin_status status = FASTBIN_ERROR_MEMORY;
  if (found && read && largest == 0) status = FASTBIN_ERROR_CONTENT;
  if (scratch) status = read_models(found, n_models, scratch, read, &n_read);
  free(scratch);
  free(found);
  if (status == FASTBIN_OK) {
    *models = read;
    return status;
  }
  fastbin_free_models(read, n_read);
  return status_of_part(status);
}

/* The set of sections whose sizes have been checked. `scratch` has room for all but the models. */
static fastbin_status decode_set(const payload *payloads, fastbin_set_spec *spec, unsigned char *scratch, fastbin_set **set) {
  fastbin_model **models;
  fastbin_status status;
  fastbin_vector_map map;
  if (!take_vector(payloads, spec, &map, &scratch) || !take_keys(&payloads[KEYS], spec, &scratch)) return FASTBIN_ERROR_CONTENT;
  if (!take_numbers(&payloads[CELL], &spec->model_of_key, &scratch) || !take_numbers(&payloads[COLS], &spec->columns, &scratch)) {
    return FASTBIN_ERROR_CONTENT;
  }
  status = take_models(payloads, (size_t)spec->n_models, &models);
  if (status != FASTBIN_OK) return status;
  status = fastbin_set_around(spec, models, set);
  /* Columns that a set does not keep were not written by this library. */
  if (status == FASTBIN_OK && spec->columns && !(*set)->spec.columns) status = FASTBIN_ERROR_CONTENT;
  fastbin_free_models(models, status == FASTBIN_OK || *set ? 0 : (size_t)spec->n_models);
  return status == FASTBIN_OK || status == FASTBIN_ERROR_MEMORY ? status : FASTBIN_ERROR_CONTENT;
}

fastbin_status fastbin_set_read(const void *bytes, size_t size, fastbin_set **set) {
  payload payloads[N_SECTIONS];
  fastbin_set_spec spec;
  fastbin_status status;
  unsigned char *scratch;
  if (!set) return FASTBIN_ERROR_ARGUMENT;
  *set = NULL;
  if (!bytes) return FASTBIN_ERROR_ARGUMENT;
  status = fastbin_read_container(kind_of_bytes(bytes, size), bytes, size, NULL, payloads);
  if (status != FASTBIN_OK) return status;
  if (payloads[HEAD].size != HEAD_SIZE || !payloads[KEYS].start || !payloads[OFFS].start || !payloads[MODS].start) {
    return FASTBIN_ERROR_CONTENT;
  }
  status = take_head(payloads, &spec);
  if (status == FASTBIN_OK && kind_of(&spec) != kind_of_bytes(bytes, size)) status = FASTBIN_ERROR_CONTENT;
  if (status != FASTBIN_OK) return status;
  scratch = malloc(payloads[KEYS].size + payloads[CELL].size + payloads[COLS].size + payloads[VECT].size + payloads[SEEN].size +
                   payloads[UNLB].size); /* each is part of the bytes at hand */
  if (!scratch) return FASTBIN_ERROR_MEMORY;
  status = decode_set(payloads, &spec, scratch, set);
  free(scratch);
  if (status == FASTBIN_OK) return status;
  fastbin_set_free(*set);
  *set = NULL;
  return status;
}
