/*
 * cpu.c: which build of the loops to run.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include "cpu.h"

#include <stdlib.h>

#ifdef HAVE_CPU_LEVELS
#include <cpuid.h>

/* By its bit, as older compilers do not know its name; that of the manufacturer, as others may have it without the gathers. */
static int has_fast_gathers(void) {
  unsigned int a, b, c, d;
  if (!__builtin_cpu_is("intel") || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  return (d >> 23 & 1) != 0;
}
#endif

static enum cpu_level possible_level(void) {
#ifdef HAVE_CPU_LEVELS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw")) {
    return has_fast_gathers() ? FAST_GATHERS : AVX512;
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
  if (name && strcmp(name, "avx512") == 0) return AVX512;
  return FAST_GATHERS;
}

enum cpu_level fastbin_best_cpu_level(void) {
  enum cpu_level possible = possible_level();
  enum cpu_level allowed = allowed_level();
  return possible < allowed ? possible : allowed;
}
