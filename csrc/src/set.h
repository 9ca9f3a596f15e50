/*
 * set.h: what the source files of sets share.
 *
 * A set is a struct, one block with its arrays and the hash table of its keys, and a model for each cell. Keys are found by
 * set_keys.c, rows are scored by set_predict.c (small models as set_small.c writes them down), bytes are made and read by set_format.c.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_SET_H
#define FASTBIN_SET_H

#include "internal.h"

/* A place of the hash table: the key itself or, of a text, its hash; which key that is, and its model. One cache line holds four. */
typedef struct key_slot {
  uint64_t word;
  int32_t place; /* -1: empty */
  int32_t model;
} key_slot;

typedef struct key_table {
  key_slot *slots;
  uint64_t mask; /* slots - 1, and their number is a power of two */
  int is_hashed; /* 0: the hashes of these keys are too much alike, and they are found by bisection */
} key_table;

/*
 * All that scoring a row reads of a model with few steps, in three cache lines. The value of a score whose order is in the range is
 * that of its rank, the number of thresholds that are not above the order. A model that has to be asked itself has the range
 * INT64_MIN to INT64_MIN, in which no double lies.
 */
#define SMALL_RANKS 11u
#define CACHE_LINE 64u
typedef struct small_model {
  int64_t least; /* the order of the least score of the range */
  uint64_t span; /* of the greatest, above it */
  int64_t thresholds[SMALL_RANKS]; /* orders, filled up with INT64_MAX */
  double values[SMALL_RANKS];
} small_model;

struct fastbin_set {
  fastbin_set_spec spec; /* what describe() shows; its pointers point into this allocation */
  key_table table;
  int has_bins;          /* all models are step functions */
  int32_t *model_of_column; /* VECTOR: the number of the model of each column; else NULL */
  fastbin_model **models;
  const small_model *small_models; /* one for each model, at cache lines; NULL where most models are large */
};

/* set.c: whether the enumerators are known, which a newer version may have added to. */
int fastbin_known_set_enumerators(const fastbin_set_spec *spec);

/* set.c: a set of these arrays, all of which are copied and checked, around these models, which it takes over on success. */
fastbin_status fastbin_set_around(const fastbin_set_spec *spec, fastbin_model *const *models, fastbin_set **set);
void fastbin_free_models(fastbin_model **models, size_t n_models);

/* vector.c: whether a set of this spec can have its map, or its lack of one; the bytes of the arrays of the map; copies them. */
int fastbin_vector_can_be(const fastbin_set_spec *spec, fastbin_model *const *models);
int fastbin_vector_bytes(const fastbin_set_spec *spec, size_t *bytes);
void fastbin_copy_vector(fastbin_set *set, unsigned char **free_part);

/* The numbers of entries of the arrays of a map. */
typedef struct vector_sizes {
  size_t mixing, edges, bins, unlabelled; /* bins: of all groups */
} vector_sizes;

static inline vector_sizes fastbin_vector_sizes(const fastbin_vector_map *map, int32_t n_keys) {
  size_t n = (size_t)n_keys, bins = map->n_bins > 0 ? (size_t)map->n_bins : 0;
  vector_sizes sizes = {map->mixing ? n * n : 0, bins > 0 ? (n + 1) * (bins - 1) : 0, (n + 1) * bins, 0};
  sizes.unlabelled = map->unlabelled ? 3 * sizes.bins : 0;
  return sizes;
}

/* set_small.c: whether most models are small; writes down the small_model of one. */
int fastbin_mostly_small(const fastbin_set_spec *spec, fastbin_model *const *models);
void fastbin_fill_small(small_model *small, const fastbin_model *model);

/* set_keys.c: whether the keys of a spec are those of a set; the slots their table needs; fills it. */
int fastbin_keys_can_be(const fastbin_set_spec *spec);
size_t fastbin_key_slots(const fastbin_set_spec *spec);
void fastbin_fill_key_table(fastbin_set *set);

/* set_format.c: whether these first bytes of a set can be the start of one that is at least so long. */
fastbin_status fastbin_check_set_start(const unsigned char *bytes, size_t size);

#endif /* FASTBIN_SET_H */
