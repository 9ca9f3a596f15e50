/*
 * check.h: the whole test harness. CHECK() counts, and prints the first failures; finish() is what main() returns.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_TESTS_CHECK_H
#define FASTBIN_TESTS_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define setenv(name, value, overwrite) _putenv_s(name, value)
#endif

#define MOST_PRINTED 20

static long n_passed, n_failed;

/* Counts one check, and returns its result. */
static inline int check_at(int holds, const char *file, int line, const char *function, const char *condition) {
  if (holds) {
    n_passed++;
  } else if (n_failed++ < MOST_PRINTED) {
    fprintf(stderr, "%s:%d: %s: failed: %s\n", file, line, function, condition);
  }
  return holds;
}

#define CHECK(condition) check_at((condition) != 0, __FILE__, __LINE__, __func__, #condition)

static inline int finish(void) {
  printf("%ld passed, %ld failed\n", n_passed, n_failed);
  return n_failed == 0 ? 0 : 1;
}

/* Ends the program when the test cannot go on. */
#define REQUIRE(condition)                 \
  do {                                     \
    if (!CHECK(condition)) exit(finish()); \
  } while (0)

/* Doubles that are the same bit for bit: NaN equals itself, -0.0 differs from 0.0. */
static inline int same_bits(double x, double y) { return memcmp(&x, &y, sizeof x) == 0; }

static inline double from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* A small generator, of another family than the library's. */
static inline uint64_t random_bits(void) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static inline double random_unit(void) { return (double)(random_bits() >> 11) * 0x1p-53; }

static inline uint64_t random_below(uint64_t n) { return random_bits() % n; }

static inline void *must_malloc(size_t size) {
  void *memory = malloc(size > 0 ? size : 1);
  if (!memory) {
    fprintf(stderr, "out of memory\n");
    exit(2);
  }
  return memory;
}

#endif /* FASTBIN_TESTS_CHECK_H */
