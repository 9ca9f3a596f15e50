/*
 * index_small.c: models of few bins, with all thresholds and values in registers.
 *
 * With AVX-512, two registers hold 16 doubles, and one instruction looks eight of them up. The general search reads memory four
 * times per score. Scores and ties are checked as in the general search; a block with a bad score or a possible tie is left to
 * that search.
 *
 * Why this file is worth its lines: models of 2 to 16 bins are the usual ones, and this search takes half the time or less.
 * Nanoseconds per score on a Xeon with AVX512-FP16, medians of 41 interleaved pairs, edges with tie keys, 2 to 16 bins alike:
 *
 *     rows in the call    general    this    ratio of pairs
 *     100                 1.2        0.63    1.9
 *     1,000               1.1        0.42    2.7
 *     1,000,000           1.3        0.59    2.3
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include "cpu.h"

#ifdef HAVE_CPU_LEVELS

#include <immintrin.h>

/* Sixteen words of 8 bytes, looked up modulo 16. */
typedef struct table {
  __m512i low, high;
} table;

/* The first `n` of these, at most sixteen; the others are filled up. */
TARGET_AVX512 static inline table load_table(const void *from, uint32_t n, int64_t filling) {
  uint32_t here = (1u << n) - 1u;
  table t;
  t.low = _mm512_mask_loadu_epi64(_mm512_set1_epi64(filling), (__mmask8)here, from);
  t.high = _mm512_mask_loadu_epi64(_mm512_set1_epi64(filling), (__mmask8)(here >> 8), (const char *)from + 64);
  return t;
}

TARGET_AVX512 static inline __m512i look_up(table t, __m512i index) {
  return _mm512_permutex2var_epi64(t.low, index, t.high);
}

/* The table that has at i what this one has at i + by, modulo 16. */
TARGET_AVX512 static inline table turned(table t, int64_t by) {
  __m512i index = _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(by));
  table other;
  other.low = look_up(t, index);
  other.high = look_up(t, _mm512_add_epi64(index, _mm512_set1_epi64(8)));
  return other;
}

/* Four views of the thresholds: what each step of the bisection compares with, by the rank so far. */
typedef struct steps {
  __m512i middle;        /* heights[7] */
  table four, two, one;  /* heights[rank + 3], [rank + 1], [rank] */
  table below;           /* heights[rank - 1] */
} steps;

/* Fewer than sixteen are filled up with what no score reaches; it is also what lies below rank 0. */
TARGET_AVX512 static inline steps load_steps(const score_index *ix) {
  steps s;
  s.one = load_table(ix->heights, ix->n_thresholds, -1);
  s.middle = _mm512_set1_epi64(ix->n_thresholds > 7 ? (int64_t)ix->heights[7] : -1);
  s.four = turned(s.one, 3);
  s.two = turned(s.one, 1);
  s.below = turned(s.one, 15);
  return s;
}

TARGET_AVX512 static inline __m512i add_where_reached(__m512i rank, __m512i threshold, __m512i heights, int64_t step) {
  return _mm512_mask_add_epi64(rank, _mm512_cmple_epu64_mask(threshold, heights), rank, _mm512_set1_epi64(step));
}

/* The ranks of eight scores of these heights. */
TARGET_AVX512 static inline __m512i ranks_of(const steps *s, __m512i heights) {
  __m512i rank = add_where_reached(_mm512_setzero_si512(), s->middle, heights, 8);
  rank = add_where_reached(rank, look_up(s->four, rank), heights, 4);
  rank = add_where_reached(rank, look_up(s->two, rank), heights, 2);
  return add_where_reached(rank, look_up(s->one, rank), heights, 1);
}

/* As order_of(). */
TARGET_AVX512 static ALWAYS_INLINE __m512i orders_of(__m512i bits) {
  __m512i sign = _mm512_srai_epi64(bits, 63);
  return _mm512_sub_epi64(_mm512_xor_si512(bits, _mm512_srli_epi64(sign, 1)), sign);
}

/* What a search keeps in registers, and what it has found so far. */
typedef struct small_search {
  steps steps;
  table values;
  __m512i least, most; /* the least of the range, and how far the highest score that was seen is above it */
  __mmask8 ties;
} small_search;

/* The values or bins (the other is NULL) of the up to eight scores whose lanes are set in `here`. */
TARGET_AVX512 static ALWAYS_INLINE void search_eight(small_search *f, int is_positive, __mmask8 here, const double *scores,
                                                     double *values, int32_t *bins) {
  __m512i bits = _mm512_maskz_loadu_epi64(here, scores);
  __m512i above = _mm512_sub_epi64(is_positive ? bits : orders_of(bits), f->least), height = is_positive ? bits : above;
  __m512i rank = ranks_of(&f->steps, height);
  f->most = _mm512_mask_max_epu64(f->most, here, f->most, above);
  f->ties |= _mm512_mask_cmpeq_epi64_mask(here, look_up(f->steps.below, rank), height);
  if (values) _mm512_mask_storeu_epi64(values, here, look_up(f->values, rank));
  if (bins) _mm256_mask_storeu_epi32(bins, here, _mm512_cvtepi64_epi32(rank));
}

/*
 * Returns 0 if all scores are good and, where some edge splits ties, none equals a threshold; otherwise the output is
 * invalid. The mask is a constant in the loop, as masked stores are slow on some processors.
 */
TARGET_AVX512 static ALWAYS_INLINE int search_small(const score_index *ix, int is_positive, const double *scores, size_t n,
                                                    double *values, int32_t *bins) {
  __mmask8 rest = (__mmask8)((1u << n % 8) - 1u);
  size_t i = 0;
  small_search f;
  f.steps = load_steps(ix);
  /* Models without values are only asked for bins. */
  f.values = ix->values ? load_table(ix->values, ix->n_thresholds + 1, 0) : f.steps.one;
  f.least = _mm512_set1_epi64(ix->least);
  f.most = _mm512_setzero_si512();
  f.ties = 0;
  if (values) {
    for (; i + 8 <= n; i += 8) search_eight(&f, is_positive, 0xFF, scores + i, values + i, NULL);
    search_eight(&f, is_positive, rest, scores + i, values + i, NULL);
  } else {
    for (; i + 8 <= n; i += 8) search_eight(&f, is_positive, 0xFF, scores + i, NULL, bins + i);
    search_eight(&f, is_positive, rest, scores + i, NULL, bins + i);
  }
  if (_mm512_cmpgt_epu64_mask(f.most, _mm512_set1_epi64((int64_t)ix->span)) != 0) return 1;
  return ix->tie_keys && f.ties != 0;
}

TARGET_AVX512 static int small_of_any(const score_index *ix, const double *scores, size_t n, double *values, int32_t *bins) {
  return search_small(ix, 0, scores, n, values, bins);
}

TARGET_AVX512 static int small_of_positive(const score_index *ix, const double *scores, size_t n, double *values,
                                           int32_t *bins) {
  return search_small(ix, 1, scores, n, values, bins);
}

wide_function *fastbin_small_function(const score_index *ix) {
  int fits = ix->n_thresholds < 16 && ix->run_window == 1;
  if (!fits || fastbin_best_cpu_level() < AVX512) return NULL;
  return ix->least >= 0 ? small_of_positive : small_of_any;
}

#else

wide_function *fastbin_small_function(const score_index *ix) {
  (void)ix;
  return NULL;
}

#endif
