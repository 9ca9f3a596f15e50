/*
 * modes.h: the floating-point environments in which the same answers are expected.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_TESTS_MODES_H
#define FASTBIN_TESTS_MODES_H

#include <fenv.h>
#include <stdint.h>
#include <stdio.h>

/* Rounding in four directions; and where the processor can: subnormal results, or operands, or both, are zero. */
#if defined(__SSE2__)
#include <xmmintrin.h>
#define FLUSH_MODES 4
static const unsigned flush_bits[FLUSH_MODES] = {0x0000u, 0x8000u, 0x0040u, 0x8040u}; /* FTZ is bit 15 of MXCSR, DAZ is bit 6 */
static inline void set_flush(int flush) { _mm_setcsr((_mm_getcsr() & ~0x8040u) | flush_bits[flush]); }
#elif defined(__aarch64__) && defined(__GNUC__)
#define FLUSH_MODES 2
static inline void set_flush(int flush) { /* FZ is bit 24 of FPCR, for operands and results */
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  fpcr = (fpcr & ~(UINT64_C(1) << 24)) | ((uint64_t)flush << 24);
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}
#else
#define FLUSH_MODES 1
static inline void set_flush(int flush) { (void)flush; }
#endif

static const int roundings[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/* Mode 0 is the usual one. */
#define N_MODES (4 * FLUSH_MODES)

static inline void enter_mode(int mode) {
  if (fesetround(roundings[mode % 4]) != 0) fprintf(stderr, "this processor cannot round in direction %d\n", mode % 4);
  set_flush(mode / 4);
}

static inline void leave_mode(void) { enter_mode(0); }

#endif /* FASTBIN_TESTS_MODES_H */
