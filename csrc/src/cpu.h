/*
 * cpu.h: one source, several builds. A loop is compiled for the processors where that is faster, with function attributes
 * instead of compiler flags, so that the sources need no build system. The build is chosen when a model is made.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_CPU_H
#define FASTBIN_CPU_H

/* Other compilers and processors have only the baseline. */
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define HAVE_CPU_LEVELS 1
#define TARGET_AVX2 __attribute__((target("avx2")))
#define TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw")))
#endif

/* In ascending order: a processor that can run one can run those before it. */
enum cpu_level { BASELINE, AVX2, AVX512, FAST_GATHERS, N_CPU_LEVELS };

/*
 * FAST_GATHERS is AVX512 on processors that gather as fast as they load. Those before gather slowly since their microcode
 * was mended, others always did. None of these has AVX512-FP16, by which the level is known; it uses nothing of that.
 */

/* A source in three builds: BUILD(level, attribute) for each, and the one of some name for a level of the processor. Or in two,
   where the registers of AVX-512 do not pay, and the one for this processor. */
#ifdef HAVE_CPU_LEVELS
#define FOR_CPU_LEVELS(BUILD) BUILD(baseline, ) BUILD(avx2, TARGET_AVX2) BUILD(avx512, TARGET_AVX512)
#define BUILD_FOR(level, name) ((level) >= AVX512 ? name##_avx512 : (level) >= AVX2 ? name##_avx2 : name##_baseline)
#define FOR_AVX2(BUILD) BUILD(baseline, ) BUILD(avx2, TARGET_AVX2)
#define BUILD_OF_TWO(name) (fastbin_best_cpu_level() >= AVX2 ? name##_avx2 : name##_baseline)
#else
#define FOR_CPU_LEVELS(BUILD) BUILD(baseline, )
#define BUILD_FOR(level, name) ((void)(level), name##_baseline)
#define FOR_AVX2(BUILD) BUILD(baseline, )
#define BUILD_OF_TWO(name) name##_baseline
#endif

/* cpu.c: the best build that the processor can run and the environment variable FASTBIN_CPU allows. */
enum cpu_level fastbin_best_cpu_level(void);

#endif /* FASTBIN_CPU_H */
