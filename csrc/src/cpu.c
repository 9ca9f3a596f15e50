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

/*
 * FASTBIN_CPU is for tests, and to exclude a build: "gathers" takes the last one wherever it can run, also where it is slow. Unset,
 * or any other value, allows all builds.
 */
enum cpu_level fastbin_best_cpu_level(void) {
  static const char *const names[] = {"baseline", "avx2", "avx512"};
  enum cpu_level possible = possible_level();
  const char *name = getenv("FASTBIN_CPU");
  if (!name) return possible;
  for (int level = BASELINE; level <= AVX512 && level < (int)possible; level++) {
    if (strcmp(name, names[level]) == 0) return (enum cpu_level)level;
  }
  return possible == AVX512 && strcmp(name, "gathers") == 0 ? FAST_GATHERS : possible;
}
