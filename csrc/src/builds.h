/*
 * builds.h: one source, several builds. A loop is compiled for the processors that it is worth it for, with function
 * attributes instead of compiler flags, so that the sources need no build system; which build runs is decided when a model
 * is made.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_BUILDS_H
#define FASTBIN_BUILDS_H

/* Other compilers and processors have the baseline alone. */
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define HAVE_BUILDS 1
#define TARGET_AVX2 __attribute__((target("avx2")))
#define TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw")))
#endif

/* In ascending order: a processor that runs one runs those before it. */
enum build { BASELINE, AVX2, AVX512, N_BUILDS };

/* builds.c: the best build that the processor can run and the environment variable FASTBIN_CPU allows. */
enum build fastbin_best_build(void);

#endif /* FASTBIN_BUILDS_H */
