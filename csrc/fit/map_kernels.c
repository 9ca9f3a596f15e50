/*
 * map_kernels.c: the loops of fits of maps, in three builds. See map_kernels.h for what they promise.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define VECTORISED_SOURCE
#include "internal.h"

#include "cpu.h"
#include "exponents.h"
#include "map_kernels.h"

#include <math.h>

/* What a pass keeps at hand: 4 KB in the first-level cache. */
#define AT_A_TIME 128u

static ALWAYS_INLINE void exponents_of(const ridge_problem *problem, const double *parameters, size_t first, size_t n,
                                       double *restrict z) {
  for (size_t j = 0; j < n; j++) z[j] = parameters[0];
  for (int i = 1; i < problem->k; i++) {
    const double *column = problem->columns[i] + first;
    double parameter = parameters[i];
    for (size_t j = 0; j < n; j++) z[j] += parameter * column[j];
  }
}

static ALWAYS_INLINE void add_terms(const double *restrict terms, size_t n, double *restrict lanes) {
  for (size_t j = 0; j < n; j += LANES) {
    for (size_t lane = 0; lane < LANES; lane++) lanes[lane] += terms[j + lane];
  }
}

static ALWAYS_INLINE void add_products(const double *restrict left, const double *restrict right, size_t n,
                                       double *restrict lanes) {
  for (size_t j = 0; j < n; j += LANES) {
    for (size_t lane = 0; lane < LANES; lane++) lanes[lane] += left[j + lane] * right[j + lane];
  }
}

/* n is at most AT_A_TIME. */
static ALWAYS_INLINE void some_terms(const ridge_problem *problem, const double *parameters, size_t first, size_t n,
                                     double *restrict loss, double *restrict slopes, double *restrict bends) {
  double z[AT_A_TIME];
  const double *restrict zeros = problem->zeros + first, *restrict ones = problem->ones + first;
  exponents_of(problem, parameters, first, n, z);
  for (size_t j = 0; j < n; j++) {
    /* Not counts log(1 + e^z) - ones z: where the map is nearly certain, the difference of the two would be rounding. */
    double size = fabs(z[j]), small = small_of(size), great = 1.0 / (1.0 + small), little = small * great;
    uint64_t is_down = all_if_negative(z[j]);
    double contradicting = chosen(is_down, ones[j], zeros[j]), agreeing = chosen(is_down, zeros[j], ones[j]);
    double slope = contradicting * great - agreeing * little, all = zeros[j] + ones[j];
    loss[j] = contradicting * size + all * log1p_of(small);
    slopes[j] = double_of(bits_of(slope) ^ (is_down & SIGN_BIT));
    bends[j] = all * (little * great);
  }
}

static ALWAYS_INLINE double terms_of(const ridge_problem *problem, const double *parameters, double *restrict slopes,
                                     double *restrict bends) {
  double loss[AT_A_TIME], total = 0.0;
  for (size_t first = 0, n = AT_A_TIME; first < problem->n; first += AT_A_TIME) {
    double of_some = 0.0;
    if (n > problem->n - first) n = problem->n - first;
    some_terms(problem, parameters, first, n, loss, slopes + first, bends + first);
    for (size_t j = 0; j < n; j++) of_some += loss[j];
    total += of_some;
  }
  return total;
}

static ALWAYS_INLINE void add_some(const ridge_problem *problem, const double *parameters, size_t first, size_t n,
                                   double (*sums)[LANES]) {
  double loss[AT_A_TIME], slopes[AT_A_TIME], bends[AT_A_TIME], scaled[AT_A_TIME];
  some_terms(problem, parameters, first, n, loss, slopes, bends);
  add_terms(loss, n, sums[0]);
  add_terms(slopes, n, sums[1]);
  double(*of_bends)[LANES] = sums + 1 + problem->k;
  add_terms(bends, n, *of_bends++);
  for (int i = 1; i < problem->k; i++) {
    add_products(slopes, problem->columns[i] + first, n, sums[1 + i]);
    add_products(bends, problem->columns[i] + first, n, *of_bends++);
  }
  for (int i = 1; i < problem->k; i++) {
    const double *column = problem->columns[i] + first;
    for (size_t j = 0; j < n; j++) scaled[j] = bends[j] * column[j];
    for (int other = i; other < problem->k; other++) {
      add_products(scaled, problem->columns[other] + first, n, *of_bends++);
    }
  }
}

static ALWAYS_INLINE void add_derivatives_of(const ridge_problem *problem, const double *parameters, size_t first, size_t end,
                                             double (*sums)[LANES]) {
  for (; first + AT_A_TIME <= end; first += AT_A_TIME) add_some(problem, parameters, first, AT_A_TIME, sums);
  if (first < end) add_some(problem, parameters, first, end - first, sums);
}

static ALWAYS_INLINE void logits_of(const double *restrict x, double least, size_t n, double *restrict z) {
  double most = 1.0 - least;
  for (size_t j = 0; j < n; j++) {
    z[j] = log_of(smaller(larger(x[j], least), most)) - log_of(smaller(larger(1.0 - x[j], least), most));
  }
}

static ALWAYS_INLINE void softplus_of(const double *restrict x, size_t n, double *restrict y) {
  for (size_t j = 0; j < n; j++) y[j] = chosen(all_if_negative(x[j]), 0.0, x[j]) + log1p_of(small_of(fabs(x[j])));
}

static ALWAYS_INLINE void sigmoid_of(const double *restrict x, size_t n, double *restrict y) {
  for (size_t j = 0; j < n; j++) {
    double small = small_of(fabs(x[j])), great = 1.0 / (1.0 + small);
    y[j] = chosen(all_if_negative(x[j]), small * great, great);
  }
}

static ALWAYS_INLINE void divide_by(double *x, double by, size_t n) {
  for (size_t j = 0; j < n; j++) x[j] /= by;
}

static ALWAYS_INLINE double moment_term(double count, double total, double x, int power) {
  double once = count / total * x;
  return power == 1 ? once : once * x;
}

static ALWAYS_INLINE void add_moment_of(const double *restrict counts, double total, const double *restrict x, int power,
                                        size_t n, double *restrict lanes) {
  size_t whole = n - n % LANES;
  for (size_t j = 0; j < whole; j += LANES) {
    for (size_t lane = 0; lane < LANES; lane++) lanes[lane] += moment_term(counts[j + lane], total, x[j + lane], power);
  }
  for (size_t j = whole; j < n; j++) lanes[j - whole] += moment_term(counts[j], total, x[j], power);
}

static ALWAYS_INLINE double cube(double x) { return x * x * x; }

/*
 * Column j of a natural cubic spline beside 1 and x: cubic between k knots, linear beyond them. It is d_j - d_(k-2),
 * d_j(x) = (max(x - t_j, 0)^3 - max(x - t_(k-1), 0)^3) / (t_(k-1) - t_j), the natural basis of truncated powers. Beyond the last
 * knot, where cubes would cancel, its line is written out.
 */
static ALWAYS_INLINE void natural_column_of(const double *restrict x, size_t n, const double *knots, int k, int j,
                                            double *restrict column) {
  double knot = knots[j], inner = knots[k - 2], last = knots[k - 1];
  for (size_t i = 0; i < n; i++) {
    double inside = smaller(x[i], last), beyond = larger(x[i] - last, 0.0);
    column[i] = cube(larger(inside - knot, 0.0)) / (last - knot) - cube(larger(inside - inner, 0.0)) / (last - inner) +
                3.0 * (inner - knot) * beyond;
  }
}

#define BUILD(name, TARGET)                                                                                              \
  TARGET static void add_derivatives_##name(const ridge_problem *problem, const double *parameters, size_t first,        \
                                            size_t end, double(*sums)[LANES]) {                                          \
    add_derivatives_of(problem, parameters, first, end, sums);                                                           \
  }                                                                                                                      \
  TARGET static double terms_##name(const ridge_problem *problem, const double *parameters, double *slopes,              \
                                    double *bends) {                                                                     \
    return terms_of(problem, parameters, slopes, bends);                                                                 \
  }                                                                                                                      \
  TARGET static void exponents_##name(const ridge_problem *problem, const double *parameters, size_t first, size_t n,    \
                                      double *z) {                                                                       \
    exponents_of(problem, parameters, first, n, z);                                                                      \
  }                                                                                                                      \
  TARGET static void logits_##name(const double *x, double least, size_t n, double *z) { logits_of(x, least, n, z); }    \
  TARGET static void softplus_##name(const double *x, size_t n, double *y) { softplus_of(x, n, y); }                     \
  TARGET static void sigmoid_##name(const double *x, size_t n, double *y) { sigmoid_of(x, n, y); }                       \
  TARGET static void divide_##name(double *x, double by, size_t n) { divide_by(x, by, n); }                              \
  TARGET static void add_moment_##name(const double *counts, double total, const double *x, int power, size_t n,         \
                                       double *lanes) {                                                                  \
    if (power == 1) add_moment_of(counts, total, x, 1, n, lanes);                                                        \
    else add_moment_of(counts, total, x, 2, n, lanes);                                                                   \
  }                                                                                                                      \
  TARGET static void natural_column_##name(const double *x, size_t n, const double *knots, int k, int j,                 \
                                           double *column) {                                                             \
    natural_column_of(x, n, knots, k, j, column);                                                                        \
  }                                                                                                                      \
  static const map_kernels kernels_##name = {add_derivatives_##name, terms_##name,  exponents_##name,  logits_##name,    \
                                             softplus_##name,        sigmoid_##name, divide_##name,                      \
                                             add_moment_##name,      natural_column_##name};

FOR_CPU_LEVELS(BUILD)

const map_kernels *fastbin_map_kernels(void) {
  enum cpu_level level = fastbin_best_cpu_level();
  return BUILD_FOR(level, &kernels);
}
