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

/* Sixteen doubles, looked up modulo 16. */
typedef struct table {
  __m512d low, high;
} table;

/* The first `n` of these, at most sixteen; the others are filled up. */
TARGET_AVX512 static inline table load_table(const double *from, uint32_t n, double filling) {
  uint32_t here = (1u << n) - 1u;
  table t;
  t.low = _mm512_mask_loadu_pd(_mm512_set1_pd(filling), (__mmask8)here, from);
  t.high = _mm512_mask_loadu_pd(_mm512_set1_pd(filling), (__mmask8)(here >> 8), from + 8);
  return t;
}

TARGET_AVX512 static inline __m512d look_up(table t, __m512i index) {
  return _mm512_permutex2var_pd(t.low, index, t.high);
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
  __m512d middle;        /* thresholds[7] */
  table four, two, one;  /* thresholds[rank + 3], [rank + 1], [rank] */
  table below;           /* thresholds[rank - 1] */
} steps;

/* Fewer than sixteen are filled up with INFINITY, which no score reaches; it is also what lies below rank 0. */
TARGET_AVX512 static inline steps load_steps(const score_index *ix) {
  steps s;
  s.one = load_table(ix->thresholds, ix->n_thresholds, infinity());
  s.middle = _mm512_set1_pd(ix->n_thresholds > 7 ? ix->thresholds[7] : infinity());
  s.four = turned(s.one, 3);
  s.two = turned(s.one, 1);
  s.below = turned(s.one, 15);
  return s;
}

TARGET_AVX512 static inline __m512i add_where_reached(__m512i rank, __m512d threshold, __m512d scores, int64_t step) {
  return _mm512_mask_add_epi64(rank, _mm512_cmp_pd_mask(threshold, scores, _CMP_LE_OQ), rank, _mm512_set1_epi64(step));
}

/* The ranks of eight scores. */
TARGET_AVX512 static inline __m512i ranks_of(const steps *s, __m512d scores) {
  __m512i rank = add_where_reached(_mm512_setzero_si512(), s->middle, scores, 8);
  rank = add_where_reached(rank, look_up(s->four, rank), scores, 4);
  rank = add_where_reached(rank, look_up(s->two, rank), scores, 2);
  return add_where_reached(rank, look_up(s->one, rank), scores, 1);
}

/* What a search keeps in registers, and what it has found so far. */
typedef struct small_search {
  steps steps;
  table values;
  __m512d least, most;
  __m512i changed; /* by clamping scores to the range: bad scores show as in index_cells.c */
  __mmask8 ties;
} small_search;

/* The values or bins (the other is NULL) of the up to eight scores whose lanes are set in `here`. */
TARGET_AVX512 static ALWAYS_INLINE void search_eight(small_search *f, __mmask8 here, const double *scores, double *values,
                                                     int32_t *bins) {
  __m512d score = _mm512_maskz_loadu_pd(here, scores);
  __m512d clamped = _mm512_min_pd(_mm512_max_pd(score, f->least), f->most);
  __m512i change = _mm512_xor_si512(_mm512_castpd_si512(score), _mm512_castpd_si512(clamped));
  __m512i rank = ranks_of(&f->steps, score);
  f->changed = _mm512_mask_or_epi64(f->changed, here, f->changed, change);
  f->ties |= _mm512_mask_cmp_pd_mask(here, look_up(f->steps.below, rank), score, _CMP_EQ_OQ);
  if (values) _mm512_mask_storeu_pd(values, here, look_up(f->values, rank));
  if (bins) _mm256_mask_storeu_epi32(bins, here, _mm512_cvtepi64_epi32(rank));
}

/*
 * Returns 0 if all scores are good and, where some edge splits ties, none equals a threshold; otherwise the output is
 * invalid. The mask is a constant in the loop, as masked stores are slow on some processors.
 */
TARGET_AVX512 static int search_small(const score_index *ix, const double *scores, size_t n, double *values, int32_t *bins) {
  __mmask8 rest = (__mmask8)((1u << n % 8) - 1u);
  size_t i = 0;
  small_search f;
  f.steps = load_steps(ix);
  f.values = load_table(ix->values, ix->values ? ix->n_thresholds + 1 : 0, 0.0);
  f.least = _mm512_set1_pd(ix->check_min);
  f.most = _mm512_set1_pd(ix->check_max);
  f.changed = _mm512_setzero_si512();
  f.ties = 0;
  if (values) {
    for (; i + 8 <= n; i += 8) search_eight(&f, 0xFF, scores + i, values + i, NULL);
    search_eight(&f, rest, scores + i, values + i, NULL);
  } else {
    for (; i + 8 <= n; i += 8) search_eight(&f, 0xFF, scores + i, NULL, bins + i);
    search_eight(&f, rest, scores + i, NULL, bins + i);
  }
  return _mm512_test_epi64_mask(f.changed, f.changed) != 0 || (ix->tie_keys && f.ties != 0);
}

wide_function *fastbin_small_function(const score_index *ix) {
  int fits = ix->n_thresholds < 16 && ix->run_window == 1;
  return fits && fastbin_best_cpu_level() >= AVX512 ? search_small : NULL;
}

#else

wide_function *fastbin_small_function(const score_index *ix) {
  (void)ix;
  return NULL;
}

#endif
