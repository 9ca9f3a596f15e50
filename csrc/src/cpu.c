/*
 * cpu.c: which build of the loops to run.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include "cpu.h"

#include <stdlib.h>

static enum cpu_level possible_level(void) {
#ifdef HAVE_CPU_LEVELS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw")) {
    return AVX512;
  }
  if (__builtin_cpu_supports("avx2")) return AVX2;
#endif
  return BASELINE;
}

/* For tests, and to exclude a build. Unset, or any other value, allows all builds. */
static enum cpu_level allowed_level(void) {
  const char *name = getenv("FASTBIN_CPU");
  if (name && strcmp(name, "baseline") == 0) return BASELINE;
  if (name && strcmp(name, "avx2") == 0) return AVX2;
  return AVX512;
}

enum cpu_level fastbin_best_cpu_level(void) {
  enum cpu_level possible = possible_level();
  enum cpu_level allowed = allowed_level();
  return possible < allowed ? possible : allowed;
}
