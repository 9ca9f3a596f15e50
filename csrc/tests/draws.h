/*
 * draws.h: edges that break careless searches, scores near them, and what the search must answer.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_TESTS_DRAWS_H
#define FASTBIN_TESTS_DRAWS_H

#include "check.h"
#include "fastbin.h"

#include <float.h>
#include <math.h>

/* The header's definition, word for word. */
static inline int32_t bin_by_definition(const fastbin_model_spec *spec, double score, uint64_t key) {
  int32_t bin = 0;
  if (key == UINT64_MAX) key--;
  for (int32_t i = 0; i < spec->n_bins - 1; i++) {
    bin += score > spec->edges[i] || (score == spec->edges[i] && key >= spec->edge_keys[i]);
  }
  return bin;
}

static inline double unit(void) { return random_unit(); }
static inline double crowded_low(void) { return pow(random_unit(), 20.0); }
static inline double crowded_high(void) { return 1.0 - pow(random_unit(), 9.0); }
static inline double crowded_at_both_ends(void) { return 1.0 / (1.0 + exp(20.0 * (random_unit() - 0.5))); }
static inline double coarse(void) { return (double)random_below(11) / 10.0; }
static inline double constant(void) { return 0.3; }
static inline double one_ulp_apart(void) { return from_bits(0x3FD3333333333333u + random_below(40)); }
static inline double subnormal(void) { return from_bits(random_below(2000)); }
static inline double signed_subnormal(void) { return (random_below(2) ? 1.0 : -1.0) * from_bits(random_below(50)); }
static inline double margins(void) { return 40.0 * (random_unit() - 0.5); }
static inline double negative(void) { return -1e-3 * pow(random_unit(), 8.0); }
static inline double any_magnitude(void) { return ldexp(random_unit() - 0.5, (int)random_below(2000) - 1000); }
static inline double huge(void) { return (random_unit() - 0.5) * 1.9 * DBL_MAX; }
static inline double special(void) {
  static const double numbers[] = {0.0,      -0.0,     1.0,  DBL_MIN,        -DBL_MIN,      DBL_MAX, -DBL_MAX,
                                   DBL_TRUE_MIN, -DBL_TRUE_MIN, 0.5,  0.49999999999999994, 0.5000000000000001, 2.0, -1.0};
  return numbers[random_below(sizeof numbers / sizeof numbers[0])];
}
static inline double near_one(void) { return 1.0 - 1e-12 * random_unit(); }
static inline double two_clusters(void) { return (random_below(2) ? 0.2 : 0.7) + 1e-9 * random_unit(); }

static double (*const draws[])(void) = {
    unit,     crowded_low,   crowded_high, crowded_at_both_ends, coarse, constant, one_ulp_apart, subnormal,
    signed_subnormal, margins, negative, any_magnitude, huge, special, near_one, two_clusters,
};

static inline int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline int ascending_keys(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* 0: all ties go up; 1: down; 2: keys of their own; 3: all of these together, repetitions too. */
static inline uint64_t draw_key(int style) {
  static const uint64_t few[] = {FASTBIN_KEY_ABOVE, FASTBIN_KEY_BELOW, 1, UINT64_MAX - 1, 77};
  if (style == 0) return FASTBIN_KEY_ABOVE;
  if (style == 1) return FASTBIN_KEY_BELOW;
  if (style == 3 && random_below(2)) return few[random_below(5)];
  return random_bits();
}

/* Sorts by (edge, key), -0.0 and 0.0 being one edge. */
static inline void fill_edges(double (*draw)(void), int style, size_t n, double *edges, uint64_t *keys) {
  size_t run = 0;
  for (size_t i = 0; i < n; i++) {
    edges[i] = draw();
    keys[i] = draw_key(style);
  }
  qsort(edges, n, sizeof *edges, ascending);
  for (size_t i = 1; i <= n; i++) {
    if (i == n || edges[i] != edges[run]) {
      qsort(keys + run, i - run, sizeof *keys, ascending_keys);
      run = i;
    }
  }
}

static inline double score_near(const fastbin_model_spec *spec, double (*draw)(void)) {
  double edge = spec->n_bins > 1 ? spec->edges[random_below((size_t)spec->n_bins - 1)] : draw();
  double score = draw();
  switch (random_below(6)) {
    case 0:
      score = edge;
      break;
    case 1:
      score = nextafter(edge, INFINITY);
      break;
    case 2:
      score = nextafter(edge, -INFINITY);
      break;
    case 3:
      score = special();
      break;
    default:
      break;
  }
  return isfinite(score) ? score : edge;
}

static inline uint64_t key_near(const fastbin_model_spec *spec) {
  uint64_t key = spec->n_bins > 1 ? spec->edge_keys[random_below((size_t)spec->n_bins - 1)] : 0;
  switch (random_below(4)) {
    case 0:
      return key;
    case 1:
      return key - 1;
    case 2:
      return key + 1;
    default:
      return random_bits();
  }
}

#endif /* FASTBIN_TESTS_DRAWS_H */
