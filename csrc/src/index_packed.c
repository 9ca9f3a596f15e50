/*
 * index_packed.c: models of many steps, on processors that gather as fast as they load.
 *
 * The general search loads five numbers per score, one by one. Here a word for each cell holds the first 48 bits of the
 * threshold's height at its rank, and the rank: one gather and one comparison of integers find the rank of eight scores, and a second
 * gather their values. Where the 48 bits are equal, the whole thresholds decide, so that the answer is that of the general
 * search, bit for bit.
 *
 * Bits of doubles are in the order of the doubles from 0.0 on, so the range must not have a negative score; and there must be
 * one comparison a cell, and one edge a threshold.
 *
 * Nanoseconds per score on a Xeon with AVX512-FP16, 1,000 steps, medians of interleaved pairs: 0.66 in a call of 4,096 rows,
 * where the general search takes 0.82 to 0.9, and 10 steps in registers (index_small.c) 0.42.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include "cpu.h"

/* A table of 64 KB; larger ones leave the first-level cache, and the general search is as fast. */
#define MOST_PACKED_CELLS 8192u

#define RANK_BITS UINT64_C(0xFFFF)

void fastbin_fill_packed(uint64_t *packed, const score_index *ix) {
  for (uint32_t cell = 0; cell < ix->n_cells; cell++) {
    uint32_t rank = ix->first[cell];
    packed[cell] = (ix->heights[rank] & ~RANK_BITS) | rank;
  }
}

#ifdef HAVE_CPU_LEVELS

#include <immintrin.h>

/* What a search keeps in registers, and what it has found so far. */
typedef struct packed_search {
  score_index ix; /* a copy, so that no store can seem to change it */
  __m512i least, most; /* the least of the range, and how far the highest score that was seen is above it */
  __mmask8 ties;
} packed_search;

/* The three maps of index.h, eight scores at a time. */
TARGET_AVX512 static inline __m512i linear_cells(const score_index *ix, __m512d scores) {
  __m512d place = _mm512_mul_pd(_mm512_sub_pd(scores, _mm512_set1_pd(ix->origin)), _mm512_set1_pd(ix->scale));
  place = _mm512_min_pd(_mm512_max_pd(place, _mm512_set1_pd(ix->low_min)), _mm512_set1_pd(ix->low_max));
  return _mm512_cvttpd_epi64(place);
}

TARGET_AVX512 static inline __m512i leading_bits(__m512d distance, double least, double most, int shift) {
  distance = _mm512_min_pd(_mm512_max_pd(distance, _mm512_set1_pd(least)), _mm512_set1_pd(most));
  return _mm512_srl_epi64(_mm512_castpd_si512(distance), _mm_cvtsi32_si128(shift));
}

TARGET_AVX512 static inline __m512i low_cells(const score_index *ix, __m512d scores) {
  __m512d distance = _mm512_sub_pd(scores, _mm512_set1_pd(ix->origin));
  return _mm512_sub_epi64(leading_bits(distance, ix->low_min, ix->low_max, ix->shift),
                          _mm512_set1_epi64((int64_t)ix->low_offset));
}

TARGET_AVX512 static inline __m512i both_cells(const score_index *ix, __m512d scores) {
  __m512d distance = _mm512_sub_pd(_mm512_set1_pd(ix->end), scores);
  __m512i high = _mm512_sub_epi64(_mm512_set1_epi64((int64_t)ix->high_offset),
                                  leading_bits(distance, ix->high_min, ix->high_max, ix->shift));
  __mmask8 is_low = _mm512_cmp_pd_mask(scores, _mm512_set1_pd(ix->middle), _CMP_LT_OQ);
  return _mm512_mask_blend_epi64(is_low, high, low_cells(ix, scores));
}

TARGET_AVX512 static inline __m512i cells_of(const score_index *ix, __m512d scores, index_map map) {
  if (map == INDEX_LINEAR) return linear_cells(ix, scores);
  return map == INDEX_LOW ? low_cells(ix, scores) : both_cells(ix, scores);
}

/* Which scores are at or above the threshold of their rank, where 48 bits do not tell. Inline, so that no register is saved. */
TARGET_AVX512 static ALWAYS_INLINE __mmask8 compare_wholly(packed_search *f, __m512i rank, __m512i height, __mmask8 here) {
  __m512i threshold = _mm512_i64gather_epi64(rank, f->ix.heights, 8);
  f->ties |= _mm512_mask_cmpeq_epi64_mask(here, threshold, height);
  return _mm512_cmp_epu64_mask(threshold, height, _MM_CMPINT_LE);
}

/* The values or bins (the other is NULL) of the up to eight scores whose lanes are set in `here`. Any score has a cell. */
TARGET_AVX512 static ALWAYS_INLINE void search_eight(packed_search *f, index_map map, __mmask8 here, const double *scores,
                                                     double *values, int32_t *bins) {
  const __m512i rank_bits = _mm512_set1_epi64((int64_t)RANK_BITS);
  __m512d score = _mm512_maskz_loadu_pd(here, scores);
  __m512i height = _mm512_castpd_si512(score);
  __m512i packed = _mm512_i64gather_epi64(cells_of(&f->ix, score, map), f->ix.packed, 8);
  __m512i difference = _mm512_andnot_si512(rank_bits, _mm512_xor_si512(packed, height));
  __m512i rank = _mm512_and_si512(packed, rank_bits);
  __mmask8 reached = _mm512_cmp_epu64_mask(packed, _mm512_or_si512(height, rank_bits), _MM_CMPINT_LE);
  if (_mm512_mask_testn_epi64_mask(here, difference, difference) != 0) reached = compare_wholly(f, rank, height, here);
  f->most = _mm512_mask_max_epu64(f->most, here, f->most, _mm512_sub_epi64(height, f->least));
  rank = _mm512_mask_add_epi64(rank, reached, rank, _mm512_set1_epi64(1));
  if (values) _mm512_mask_storeu_pd(values, here, _mm512_mask_i64gather_pd(_mm512_setzero_pd(), here, rank, f->ix.values, 8));
  if (bins) _mm256_mask_storeu_epi32(bins, here, _mm512_cvtepi64_epi32(rank));
}

/* As search_small() of index_small.c. */
TARGET_AVX512 static ALWAYS_INLINE int search_packed(const score_index *ix, index_map map, const double *scores, size_t n,
                                                     double *values, int32_t *bins) {
  __mmask8 rest = (__mmask8)((1u << n % 8) - 1u);
  size_t i = 0;
  packed_search f;
  f.ix = *ix;
  f.least = _mm512_set1_epi64(ix->least);
  f.most = _mm512_setzero_si512();
  f.ties = 0;
  if (values) {
    for (; i + 8 <= n; i += 8) search_eight(&f, map, 0xFF, scores + i, values + i, NULL);
    search_eight(&f, map, rest, scores + i, values + i, NULL);
  } else {
    for (; i + 8 <= n; i += 8) search_eight(&f, map, 0xFF, scores + i, NULL, bins + i);
    search_eight(&f, map, rest, scores + i, NULL, bins + i);
  }
  if (_mm512_cmp_epu64_mask(f.most, _mm512_set1_epi64((int64_t)ix->span), _MM_CMPINT_NLE) != 0) return 1;
  return ix->tie_keys && f.ties != 0;
}

TARGET_AVX512 static int packed_linear(const score_index *ix, const double *scores, size_t n, double *values, int32_t *bins) {
  return search_packed(ix, INDEX_LINEAR, scores, n, values, bins);
}

TARGET_AVX512 static int packed_low(const score_index *ix, const double *scores, size_t n, double *values, int32_t *bins) {
  return search_packed(ix, INDEX_LOW, scores, n, values, bins);
}

TARGET_AVX512 static int packed_both(const score_index *ix, const double *scores, size_t n, double *values, int32_t *bins) {
  return search_packed(ix, INDEX_BOTH, scores, n, values, bins);
}

wide_function *fastbin_packed_function(const score_index *ix) {
  static wide_function *const functions[] = {
      [INDEX_LINEAR] = packed_linear, [INDEX_LOW] = packed_low, [INDEX_BOTH] = packed_both};
  int fits = ix->least >= 0 && ix->window == 1 && ix->run_window == 1 && ix->n_cells <= MOST_PACKED_CELLS;
  return fits && fastbin_best_cpu_level() >= FAST_GATHERS ? functions[ix->map] : NULL;
}

#else

wide_function *fastbin_packed_function(const score_index *ix) {
  (void)ix;
  return NULL;
}

#endif
