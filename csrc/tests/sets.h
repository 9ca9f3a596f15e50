/*
 * sets.h: specs to make sets from.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_TESTS_SETS_H
#define FASTBIN_TESTS_SETS_H

#include "check.h"
#include "specs.h"

enum { N_SET_MODELS = 3 };

/* A step model with keys, one of two resolutions and one of two bins, each made once. */
static inline const fastbin_model *const *set_models(void) {
  static const fastbin_model *models[N_SET_MODELS];
  if (!models[0]) {
    const fastbin_model_spec specs[N_SET_MODELS] = {countable_spec(), stepped_spec(), half_spec()};
    for (int i = 0; i < N_SET_MODELS; i++) {
      fastbin_model *model;
      REQUIRE(fastbin_model_create(&specs[i], &model) == FASTBIN_OK);
      models[i] = model;
    }
  }
  return models;
}

static inline void free_set_models(void) {
  for (int i = 0; i < N_SET_MODELS; i++) fastbin_model_free((fastbin_model *)(uintptr_t)set_models()[i]);
}

/* Key -5 has model 0, key 7 model 1, key 8 model 2. */
static inline fastbin_set_spec int_set_spec(void) {
  static const int64_t keys[] = {-5, 7, 8};
  fastbin_set_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.struct_size = sizeof spec;
  spec.pool = -1;
  spec.n_models = spec.n_keys = N_SET_MODELS;
  spec.models = set_models();
  spec.int_keys = keys;
  return spec;
}

/* The classes "Z", "a", "ab", "z" and e with an acute accent, three of which are pooled; unknown ones, too. */
static inline fastbin_set_spec text_set_spec(void) {
  static const char text[] = "Zaabz\xc3\xa9";
  static const uint64_t offsets[] = {0, 1, 2, 4, 5, 7};
  static const int32_t model_of_key[] = {2, 0, 1, 2, 2}, columns[] = {4, 0, 1, 3, 2};
  fastbin_set_spec spec = int_set_spec();
  spec.kind = FASTBIN_SET_TOP_LABEL;
  spec.key_type = FASTBIN_KEYS_TEXT;
  spec.unknown = FASTBIN_UNKNOWN_POOL;
  spec.pool = 2;
  spec.n_keys = 5;
  spec.int_keys = NULL;
  spec.text = text;
  spec.text_offsets = offsets;
  spec.model_of_key = model_of_key;
  spec.columns = columns;
  spec.provenance = "{\"version\":\"0.2.0\"}";
  spec.provenance_size = 19;
  return spec;
}

/* Models that can be those of a vector set. */
static inline const fastbin_model *const *vector_models(void) {
  static const fastbin_model *models[N_SET_MODELS];
  models[0] = models[2] = set_models()[2];
  models[1] = set_models()[1];
  return models;
}

/* The counts of the small map in one bin of each group. */
static inline const int64_t *counts_of_one_bin(void) {
  static const int64_t counts[] = {20, 8, 20, 6, 20, 6, 20, 13};
  return counts;
}

/* Two bins of each group, with other rows; the matrix draws the first two classes together. */
static inline const fastbin_vector_map *small_vector_map(void) {
  static const double slopes[] = {0.75, 1.0, 1.25}, intercepts[] = {0.25, 0.0, -0.5}, priors[] = {0.5, 0.25, 0.25};
  static const double mixing[] = {0.125, 0.25, 0.0, 0.25, -0.125, 0.0, 0.0, 0.0, 0.5}, edges[] = {0.25, 0.5, 0.125, 0.75};
  static const int64_t counts[] = {12, 1, 8, 7, 15, 2, 5, 4, 4, 0, 16, 6, 0, 0, 20, 13};
  static const double means[] = {0.125, 0.75, 0.25, 0.5, 0.0, 0.375, 0.0, 0.625};
  static const double unlabelled[] = {3.0, 0.25, 0.5, 2.0, 0.75, 0.0, 1.0, 0.5,   0.0, 4.0, 0.5,   0.25,
                                      0.0, 0.0,  0.0, 5.0, 0.25, 0.1, 2.0, 0.125, 0.0, 3.0, 0.625, 0.125};
  static fastbin_vector_map map;
  memset(&map, 0, sizeof map);
  map.of_models = 0.375;
  map.of_priors = 0.0078125;
  map.least = 1e-9;
  map.n_bins = 2;
  map.slopes = slopes;
  map.intercepts = intercepts;
  map.priors = priors;
  map.mixing = mixing;
  map.edges = edges;
  map.counts = counts;
  map.means = means;
  map.unlabelled = unlabelled;
  return &map;
}

/* The classes "a", "bc" and "d" in the columns 2, 0 and 1. */
static inline fastbin_set_spec vector_set_spec(void) {
  static const uint64_t offsets[] = {0, 1, 3, 4};
  static const int32_t columns[] = {2, 0, 1};
  fastbin_set_spec spec = int_set_spec();
  spec.kind = FASTBIN_SET_VECTOR;
  spec.key_type = FASTBIN_KEYS_TEXT;
  spec.models = vector_models();
  spec.int_keys = NULL;
  spec.text = "abcd";
  spec.text_offsets = offsets;
  spec.columns = columns;
  spec.provenance = "{\"version\":\"0.2.0\"}";
  spec.provenance_size = 19;
  spec.vector = small_vector_map();
  return spec;
}

/* What creating answers. */
static inline fastbin_status status_of(const fastbin_set_spec *spec) {
  fastbin_set *set = (fastbin_set *)(void *)&n_passed;
  fastbin_status status = fastbin_set_create(spec, &set);
  CHECK((status == FASTBIN_OK) == (set != NULL));
  fastbin_set_free(set);
  return status;
}

static inline fastbin_set *must_create_set(const fastbin_set_spec *spec) {
  fastbin_set *set;
  REQUIRE(fastbin_set_create(spec, &set) == FASTBIN_OK);
  return set;
}

/* The inverse of the mixing of the hash: the key of this hash. */
static inline int64_t key_of_hash(uint64_t z) {
  z ^= z >> 31 ^ z >> 62;
  z *= UINT64_C(0x319642B2D24D8EC3);
  z ^= z >> 27 ^ z >> 54;
  z *= UINT64_C(0x96DE1B173F119089);
  z ^= z >> 30 ^ z >> 60;
  return (int64_t)(z - UINT64_C(0x9E3779B97F4A7C15));
}

#endif /* FASTBIN_TESTS_SETS_H */
