/*
 * cpu.c: which build of the loops to run.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include "cpu.h"

#include <stdlib.h>

#ifdef HAVE_CPU_LEVELS
/*
 * By its name, which GCC knows since version 12 and clang 14 does not, since the answer is remembered: the instruction CPUID costs
 * a virtual machine tens of microseconds, for each model. By the manufacturer, too, as others may have it without the gathers.
 */
static int has_fast_gathers(void) {
#if !defined(__clang__) && __GNUC__ >= 12
  return __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16");
#else
  return 0;
#endif
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
