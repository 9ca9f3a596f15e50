/*
 * model_bytes.h: the bytes of a model, changed and sealed again.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_TESTS_MODEL_BYTES_H
#define FASTBIN_TESTS_MODEL_BYTES_H

#include "check.h"
#include "fastbin.h"

#define MOST_BYTES 4096

typedef struct bytes {
  unsigned char at[MOST_BYTES];
  size_t size;
} bytes;

static inline bytes bytes_of(const fastbin_model_spec *spec) {
  fastbin_model *model;
  bytes b;
  REQUIRE(fastbin_model_create(spec, &model) == FASTBIN_OK);
  b.size = fastbin_model_size(model);
  REQUIRE(b.size <= MOST_BYTES);
  REQUIRE(fastbin_model_write(model, b.at, sizeof b.at) == FASTBIN_OK);
  fastbin_model_free(model);
  return b;
}

/* Reads from a copy of exactly this size on the heap, so that a sanitizer sees any byte read too many. */
static inline fastbin_status read_status(const void *from, size_t size) {
  unsigned char *copy = must_malloc(size);
  fastbin_model *model = (fastbin_model *)(void *)&n_passed;
  fastbin_status status;
  memcpy(copy, from, size);
  status = fastbin_model_read(copy, size, &model);
  CHECK((status == FASTBIN_OK) == (model != NULL));
  fastbin_model_free(model);
  free(copy);
  return status;
}

static inline void put(bytes *b, size_t offset, uint64_t number, int width) {
  for (int i = 0; i < width; i++) b->at[offset + (size_t)i] = (unsigned char)(number >> (8 * i));
}

static inline uint64_t get(const bytes *b, size_t offset, int width) {
  uint64_t number = 0;
  for (int i = 0; i < width; i++) number |= (uint64_t)b->at[offset + (size_t)i] << (8 * i);
  return number;
}

/* FORMAT.md, "Checksum", written a second time. */
static inline void seal(bytes *b) {
  uint64_t state = 0;
  put(b, 16, b->size, 8);
  for (size_t i = 0; i + 8 < b->size; i += 8) {
    state ^= get(b, i, 8);
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
    state ^= state >> 31;
  }
  put(b, b->size - 8, state, 8);
}

/* The offset of the payload of a section. */
static inline size_t payload_of(const bytes *b, const char *tag) {
  size_t at = 24;
  while (memcmp(b->at + at, tag, 4) != 0) {
    at += 16 + ((size_t)get(b, at + 8, 8) + 7) / 8 * 8;
    REQUIRE(at < b->size - 8);
  }
  return at + 16;
}

#endif /* FASTBIN_TESTS_MODEL_BYTES_H */
