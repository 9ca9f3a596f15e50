/*
 * fuzz.h: what the fuzz targets share. A target is one file, fuzz_NAME.c, with the function that libFuzzer and AFL call, and
 * a folder of seeds, corpus/NAME; the Makefile and the scripts find both by their names.
 *
 *     make fuzz && build/fuzz_model -max_len=4096 NEW fuzz/corpus/model      # libFuzzer, needs clang; findings go to NEW
 *     make replay                                                            # every seed once, with any compiler
 *     fuzz/coverage.sh                                                       # which lines of src the seeds reach
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_FUZZ_H
#define FASTBIN_FUZZ_H

#include "fastbin.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "fuzz: %s\n", what);
  abort();
}

static inline void *reserve(size_t size) {
  void *memory = malloc(size > 0 ? size : 1);
  require(memory != NULL, "memory");
  return memory;
}

static inline uint64_t mix_bits(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static inline uint64_t get_word(const uint8_t *at) {
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) word |= (uint64_t)at[i] << (8 * i);
  return word;
}

static inline void put_word(uint8_t *at, uint64_t word) {
  for (int i = 0; i < 8; i++) at[i] = (uint8_t)(word >> (8 * i));
}

/*
 * Few mutations survive the checksum, so it is mended: the length at 16 and the checksum at the end, as FORMAT.md has them.
 * `size` is a multiple of 8, at least 32.
 */
static inline void mend(uint8_t *bytes, size_t size) {
  uint64_t state = 0;
  put_word(bytes + 16, size);
  for (size_t at = 0; at + 8 < size; at += 8) state = mix_bits(state ^ get_word(bytes + at));
  put_word(bytes + size - 8, state);
}

/*
 * The same for the containers inside first: what lies in the sections MODL and STRM, the models that follow each other in MODS,
 * and, in a stream of version 1, the model at 56, whose size is at 48. Lengths that lead out of the bytes are left alone.
 */
static inline void mend_models(uint8_t *bytes, size_t size) {
  size_t at = 0;
  while (size - at >= 32) {
    uint64_t length = get_word(bytes + at + 16);
    if (length < 32 || length % 8 != 0 || length > size - at) return;
    mend(bytes + at, (size_t)length);
    at += (size_t)length;
  }
}

static inline void mend_all(uint8_t *bytes, size_t size) {
  int is_version_1 = bytes[3] == 'S' && bytes[8] == 1;
  uint64_t inside = is_version_1 && size > 64 + 32 ? get_word(bytes + 48) : 0;
  if (inside >= 32 && inside <= size - 64 && inside % 8 == 0) mend_all(bytes + 56, (size_t)inside);
  for (size_t at = 24; !is_version_1 && at + 16 < size - 8;) {
    uint64_t length = get_word(bytes + at + 8);
    if (length == 0 || length > size - 8 - at - 16) break;
    if ((memcmp(bytes + at, "MODL", 4) == 0 || memcmp(bytes + at, "STRM", 4) == 0) && length >= 32 && length % 8 == 0) {
      mend_all(bytes + at + 16, (size_t)length);
    }
    if (memcmp(bytes + at, "MODS", 4) == 0) mend_models(bytes + at + 16, (size_t)length);
    at += 16 + (size_t)((length + 7) & ~(uint64_t)7);
  }
  mend(bytes, size);
}

/*
 * Uses an input as it is; where that is refused, with its outside mended, as what lies inside may be meant to be damaged; and
 * then with all of it mended. `use` returns whether it was read. For the function that libFuzzer calls.
 */
static inline int use_mended(const uint8_t *data, size_t size, int (*use)(const uint8_t *bytes, size_t size)) {
  size_t whole = size - size % 8;
  uint8_t *copy;
  if (use(data, size) || whole < 32) return 0;
  copy = reserve(whole);
  memcpy(copy, data, whole);
  mend(copy, whole);
  if (!use(copy, whole)) {
    mend_all(copy, whole);
    use(copy, whole);
  }
  free(copy);
  return 0;
}

/* A number that depends on all bytes, by which a target chooses what else to do with an input. */
static inline uint64_t digest_of(const uint8_t *bytes, size_t size) {
  uint64_t state = size;
  for (size_t i = 0; i < size; i++) state = mix_bits(state + bytes[i]);
  return state;
}

/* Which build of the loops models use from now on: one that depends on the input, so that all are tried. */
static inline void choose_build(uint64_t number) {
  static const char *const builds[] = {"baseline", "avx2", "avx512", "gathers"};
  setenv("FASTBIN_CPU", builds[number % 4], 1);
}

#endif /* FASTBIN_FUZZ_H */
