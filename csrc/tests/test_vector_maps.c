/*
 * test_vector_maps.c: fits of maps of rows: their losses against a plain one, their minima against slow descents, and one digest for
 * the bits of many fits, which every compiler and processor must give.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200112L
#include "internal.h"

#include "check.h"
#include "vector_maps.h"

#include <math.h>

enum { MOST_ROWS = 5000, MOST_CLASSES = 8, MOST_PARAMETERS = MOST_CLASSES * MOST_CLASSES + MOST_CLASSES };
#define N_FITS 60
/* For the bits of all fits of digest_of_fits(). It changes only where the rule of a fit does, which CHANGELOG.md then says. */
#define DIGEST UINT64_C(0x8515EAEAD16361DA)

typedef struct rows {
  double z[MOST_ROWS * MOST_CLASSES], offsets[MOST_ROWS * MOST_CLASSES], weights[MOST_ROWS];
  int64_t truth[MOST_ROWS];
  double centres[MOST_CLASSES * MOST_CLASSES], ridge[MOST_CLASSES * MOST_CLASSES];
} rows;

/* By integers and exact operations alone, so that every system draws the same. A class in three rows is the largest entry. */
static affine_problem draw(rows *r, size_t n, size_t k, int is_matrix, int has_more) {
  affine_problem p = {n, k, r->z, NULL, r->truth, NULL, 0.5, is_matrix, r->centres, r->ridge, 0.5, 2000, NULL};
  for (size_t i = 0; i < n * k; i++) {
    r->z[i] = -8.0 * random_unit();
    r->offsets[i] = -0.5 * random_unit();
  }
  for (size_t row = 0; row < n; row++) {
    size_t top = 0;
    for (size_t c = 1; c < k; c++) top = r->z[row * k + c] > r->z[row * k + top] ? c : top;
    r->truth[row] = (int64_t)(random_below(3) ? top : random_below(k));
    r->weights[row] = (double)random_below(4) / 2.0;
  }
  for (size_t i = 0; i < k * k; i++) {
    r->centres[i] = -2.0 * random_unit();
    r->ridge[i] = 0.25 + 4.0 * random_unit();
  }
  if (has_more) {
    p.offsets = r->offsets;
    p.weights = r->weights;
  }
  return p;
}

static size_t n_slopes_of(const affine_problem *p) { return p->is_matrix ? p->k * p->k : p->k; }

static uint32_t fit_from_here(const affine_problem *p, double *parameters) {
  double *scratch = must_malloc(fastbin_affine_scratch(p->k, p->is_matrix) * sizeof *scratch);
  uint32_t steps = fastbin_fit_affine(p, parameters, scratch);
  free(scratch);
  return steps;
}

static uint32_t fit(const affine_problem *p, double *parameters) {
  memset(parameters, 0, (n_slopes_of(p) + p->k) * sizeof *parameters);
  return fit_from_here(p, parameters);
}

static double least_loss; /* of the last factor */

static double fit_factor(const affine_problem *p, double rows) {
  double *scratch = must_malloc(fastbin_affine_scratch(p->k, 0) * sizeof *scratch);
  double factor = fastbin_fit_factor(p, rows, &least_loss, scratch);
  free(scratch);
  return factor;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* The loss, a second time                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

/* The header's definition, with its gradient and the diagonal of the second derivatives. */
static double plain_loss(const affine_problem *p, const double *d, double *gradient, double *bends) {
  size_t k = p->k, n_slopes = n_slopes_of(p);
  const double *c = d + n_slopes;
  double loss = 0.0;
  for (size_t i = 0; i < n_slopes + k; i++) {
    double ridge = i < n_slopes ? p->ridge[i] : p->ridge_intercept;
    loss += 0.5 * ridge * d[i] * d[i];
    gradient[i] = ridge * d[i];
    bends[i] = ridge;
  }
  for (size_t row = 0; row < p->n; row++) {
    const double *z = p->z + row * k;
    double u[MOST_CLASSES] = {0.0}, most = -INFINITY, sum = 0.0, w = p->weights ? p->weights[row] : 1.0;
    for (size_t i = 0; i < k; i++) {
      u[i] = p->base * z[i] + (p->offsets ? p->offsets[row * k + i] : 0.0) + c[i];
      if (!p->is_matrix) u[i] += d[i] * (z[i] - p->centres[i]);
      for (size_t j = 0; p->is_matrix && j < k; j++) u[i] += d[i * k + j] * (z[j] - p->centres[i * k + j]);
      most = fmax(most, u[i]);
    }
    for (size_t i = 0; i < k; i++) sum += exp(u[i] - most);
    loss += w * (log(sum) + most - u[p->truth[row]]);
    for (size_t i = 0; i < k; i++) {
      double q = exp(u[i] - most) / sum, slope = w * (q - (p->truth[row] == (int64_t)i)), bend = w * q * (1.0 - q);
      gradient[n_slopes + i] += slope;
      bends[n_slopes + i] += bend;
      for (size_t j = 0; j < k; j++) {
        size_t at = p->is_matrix ? i * k + j : i;
        double x = z[j] - p->centres[at];
        if (!p->is_matrix && j != i) continue;
        gradient[at] += slope * x;
        bends[at] += bend * x * x;
      }
    }
  }
  return loss;
}

/* By how much, at most, the loss could fall along single parameters, as a share of it. */
static double gain_left(const affine_problem *p, const double *parameters) {
  double gradient[MOST_PARAMETERS], bends[MOST_PARAMETERS], gain = 0.0, loss = plain_loss(p, parameters, gradient, bends);
  for (size_t i = 0; i < n_slopes_of(p) + p->k; i++) gain += 0.5 * gradient[i] * gradient[i] / bends[i];
  return gain / loss;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Affine maps                                                                                                   */
/* ------------------------------------------------------------------------------------------------------------- */

static void test_the_gradient_vanishes(void) {
  static rows r;
  for (int i = 0; i < 80; i++) {
    double found[MOST_PARAMETERS];
    size_t n_rows = 20 + random_below(400), k = 2 + random_below(7); /* in this order, as the draws below depend on it */
    affine_problem p = draw(&r, n_rows, k, i % 2, i / 2 % 2);
    uint32_t steps = fit(&p, found);
    CHECK(steps > 0 && steps < p.most_steps);
    CHECK(gain_left(&p, found) < 1e-8);
  }
}

/* A slow descent, along the gradient in the units of each parameter, ends where the fast one does. */
static void test_a_slow_descent(void) {
  static rows r;
  for (int is_matrix = 0; is_matrix < 2; is_matrix++) {
    affine_problem p = draw(&r, 60, 3, is_matrix, 1);
    double found[MOST_PARAMETERS], slow[MOST_PARAMETERS] = {0.0}, gradient[MOST_PARAMETERS], bends[MOST_PARAMETERS];
    size_t n = n_slopes_of(&p) + 3;
    for (int step = 0; step < 60000; step++) {
      plain_loss(&p, slow, gradient, bends);
      for (size_t i = 0; i < n; i++) slow[i] -= 0.15 * gradient[i] / bends[i];
    }
    CHECK(gain_left(&p, slow) < 1e-20);
    fit(&p, found);
    for (size_t i = 0; i < n; i++) CHECK(fabs(found[i] - slow[i]) < 2e-3);
    CHECK(plain_loss(&p, found, gradient, bends) <= plain_loss(&p, slow, gradient, bends) * (1.0 + 1e-8));
  }
}

/* The copies, or weights, of 300 rows, and the same in another order. */
static void test_weights_and_order(void) {
  static rows r, copies, turned;
  for (int is_matrix = 0; is_matrix < 2; is_matrix++) {
    double weighted[MOST_PARAMETERS], repeated[MOST_PARAMETERS], reversed[MOST_PARAMETERS];
    affine_problem p = draw(&r, 300, 4, is_matrix, 1), q = p, t = p;
    size_t n = 0;
    for (size_t row = 0; row < 300; row++) {
      r.weights[row] = (double)random_below(4);
      for (int copy = 0; copy < (int)r.weights[row]; copy++, n++) {
        memcpy(copies.z + 4 * n, r.z + 4 * row, 4 * sizeof(double));
        memcpy(copies.offsets + 4 * n, r.offsets + 4 * row, 4 * sizeof(double));
        copies.truth[n] = r.truth[row];
      }
    }
    for (size_t row = 0; row < 300; row++) {
      memcpy(turned.z + 4 * row, r.z + 4 * (299 - row), 4 * sizeof(double));
      memcpy(turned.offsets + 4 * row, r.offsets + 4 * (299 - row), 4 * sizeof(double));
      turned.truth[row] = r.truth[299 - row];
      turned.weights[row] = r.weights[299 - row];
    }
    q.n = n;
    q.z = copies.z;
    q.offsets = copies.offsets;
    q.truth = copies.truth;
    q.weights = NULL;
    t.z = turned.z;
    t.offsets = turned.offsets;
    t.truth = turned.truth;
    t.weights = turned.weights;
    fit(&p, weighted);
    fit(&q, repeated);
    fit(&t, reversed);
    for (size_t i = 0; i < n_slopes_of(&p) + 4; i++) {
      CHECK(fabs(weighted[i] - repeated[i]) < 1e-5 && fabs(weighted[i] - reversed[i]) < 1e-5);
    }
    CHECK(fabs(fit_factor(&p, 1.0) - fit_factor(&q, 1.0)) < 1e-9);
    CHECK(fabs(fit_factor(&p, 1.0) - fit_factor(&t, 1.0)) < 1e-9);
  }
}

/* Rows that lines separate have a minimum all the same, as has a class without rows; further fits from there gain nothing. */
static void test_hard_rows(void) {
  static rows r;
  for (int is_matrix = 0; is_matrix < 2; is_matrix++) {
    for (int is_empty = 0; is_empty < 2; is_empty++) {
      double found[MOST_PARAMETERS], gradient[MOST_PARAMETERS], bends[MOST_PARAMETERS], before;
      affine_problem p = draw(&r, 500, 5, is_matrix, 0);
      for (size_t row = 0; row < p.n; row++) {
        size_t top = 0;
        for (size_t c = 1; c < 5; c++) top = r.z[row * 5 + c] > r.z[row * 5 + top] ? c : top;
        r.truth[row] = is_empty ? (int64_t)random_below(4) : (int64_t)top;
      }
      for (size_t i = 0; i < 25; i++) r.ridge[i] = 1e-3;
      p.ridge_intercept = 1e-3;
      p.most_steps = 10000;
      CHECK(fit(&p, found) < p.most_steps);
      before = plain_loss(&p, found, gradient, bends);
      for (int again = 0; again < 20; again++) fit_from_here(&p, found);
      CHECK(before <= plain_loss(&p, found, gradient, bends) * (1.0 + 1e-4));
      for (size_t i = 0; i < n_slopes_of(&p) + 5; i++) CHECK(fabs(found[i]) < 1e3);
    }
  }
}

/* Without rows, and with rows whose entries are all equal, nothing pulls at the map. */
static void test_rows_without_news(void) {
  static rows r;
  double found[MOST_PARAMETERS], before;
  affine_problem p = draw(&r, 300, 3, 1, 0);
  p.n = 0;
  CHECK(fit(&p, found) == 0);
  for (size_t i = 0; i < 12; i++) CHECK(found[i] == 0.0);
  CHECK(fit_factor(&p, 1.0) == 1.0);
  p.n = 300;
  for (size_t i = 0; i < 900; i++) r.z[i] = -1.0;
  before = fit_factor(&p, 1.0);
  CHECK(before == 1.0);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* One factor                                                                                                    */
/* ------------------------------------------------------------------------------------------------------------- */

static double loss_of_factor(const affine_problem *p, double factor, double ridge) {
  double loss = 0.5 * ridge * (factor - 1.0) * (factor - 1.0);
  for (size_t row = 0; row < p->n; row++) {
    double u[MOST_CLASSES] = {0.0}, most = -INFINITY, sum = 0.0;
    for (size_t c = 0; c < p->k; c++) {
      u[c] = factor * p->z[row * p->k + c] + (p->offsets ? p->offsets[row * p->k + c] : 0.0);
      most = fmax(most, u[c]);
    }
    for (size_t c = 0; c < p->k; c++) sum += exp(u[c] - most);
    loss += (p->weights ? p->weights[row] : 1.0) * (log(sum) + most - u[p->truth[row]]);
  }
  return loss;
}

/* The ridge of so many rows: times the variance of z within a row at the factor 1, over rows by how much they are in doubt. */
static double ridge_of(const affine_problem *p, double rows) {
  double bend = 0.0, doubt = 0.0;
  for (size_t row = 0; row < p->n; row++) {
    const double *z = p->z + row * p->k;
    double u[MOST_CLASSES] = {0.0}, most = -INFINITY, sum = 0.0, mean = 0.0, square = 0.0, of_squares = 0.0;
    double w = p->weights ? p->weights[row] : 1.0;
    for (size_t c = 0; c < p->k; c++) {
      u[c] = z[c] + (p->offsets ? p->offsets[row * p->k + c] : 0.0);
      most = fmax(most, u[c]);
    }
    for (size_t c = 0; c < p->k; c++) sum += exp(u[c] - most);
    for (size_t c = 0; c < p->k; c++) {
      double q = exp(u[c] - most) / sum;
      mean += q * z[c];
      square += q * z[c] * z[c];
      of_squares += q * q;
    }
    bend += w * (square - mean * mean);
    doubt += w * (1.0 - of_squares);
  }
  return rows * fmax(bend / fmax(doubt, 1e-6), 1e-6);
}

/* Against thirds of an interval, which a convex loss allows. */
static void test_factors(void) {
  static rows r;
  for (int i = 0; i < 60; i++) {
    static const double ridges[] = {1e-6, 0.5, 100.0};
    size_t n_rows = 5 + random_below(300), k = 2 + random_below(7);
    affine_problem p = draw(&r, n_rows, k, 0, i % 2);
    double rows_of_ridge = ridges[i % 3], ridge, low = 0.0, high = 1000.0, found;
    for (size_t row = 0; i % 5 == 0 && row < p.n; row++) r.truth[row] = (int64_t)random_below(p.k); /* the factor is near 0 */
    ridge = ridge_of(&p, rows_of_ridge);
    found = fit_factor(&p, rows_of_ridge);
    CHECK(fabs(least_loss - loss_of_factor(&p, found, ridge)) <= 1e-11 * (1.0 + least_loss));
    for (int step = 0; step < 200; step++) {
      double one = low + (high - low) / 3.0, other = high - (high - low) / 3.0;
      if (loss_of_factor(&p, one, ridge) < loss_of_factor(&p, other, ridge)) high = other;
      else low = one;
    }
    CHECK(0.0 <= found && found <= 1000.0);
    CHECK(loss_of_factor(&p, found, ridge) <= loss_of_factor(&p, low, ridge) * (1.0 + 2e-9));
  }
}

/* Labels that go against the scores pull the factor to 0, and no further; those of the largest entries upwards without an end. */
static void test_factors_at_their_ends(void) {
  static rows r;
  affine_problem p = draw(&r, 200, 3, 0, 0);
  for (size_t row = 0; row < p.n; row++) {
    size_t least = 0;
    for (size_t c = 1; c < 3; c++) least = r.z[3 * row + c] < r.z[3 * row + least] ? c : least;
    r.truth[row] = (int64_t)least;
  }
  CHECK(fit_factor(&p, 1e-9) == 0.0);
  for (size_t row = 0; row < p.n; row++) {
    for (size_t c = 0; c < 3; c++) r.z[3 * row + c] = c == (size_t)r.truth[row] ? 0.0 : -1e-5;
  }
  CHECK(fit_factor(&p, 1e-12) == 1000.0);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Limits                                                                                                        */
/* ------------------------------------------------------------------------------------------------------------- */

static int n_looks, looks_left;
static int stop_later(void) {
  n_looks++;
  return looks_left-- <= 0;
}

static void test_it_can_be_stopped(void) {
  static rows r;
  double found[MOST_PARAMETERS];
  affine_problem p = draw(&r, 5000, 3, 1, 0);
  p.look = stop_later;
  for (int looks = 0; looks < 8; looks++) {
    looks_left = looks;
    CHECK(fit(&p, found) == VECTOR_INTERRUPTED);
    looks_left = looks;
    CHECK(is_nan(fit_factor(&p, 1.0)));
  }
  looks_left = 1000000;
  n_looks = 0;
  CHECK(fit(&p, found) < p.most_steps && n_looks > 2);
  p.most_steps = 2;
  CHECK(fit(&p, found) == 2);
  p.most_steps = 0;
  CHECK(fit(&p, found) == 0 && found[0] == 0.0);
  CHECK(fit_factor(&p, 1.0) == 1.0);
}

static void test_scratch(void) {
  CHECK(fastbin_affine_scratch(2, 0) > 0 && fastbin_affine_scratch(100, 1) > fastbin_affine_scratch(100, 0));
  for (int bit = 33; bit < (int)(8 * sizeof(size_t)); bit++) {
    CHECK(fastbin_affine_scratch((size_t)1 << bit, 1) == 0);
    CHECK(bit < 59 || fastbin_affine_scratch(((size_t)1 << bit) + 1, 0) == 0);
  }
  CHECK(fastbin_affine_scratch(UINT32_MAX, 1) == 0 && fastbin_affine_scratch(SIZE_MAX, 0) == 0);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Bits                                                                                                          */
/* ------------------------------------------------------------------------------------------------------------- */

static uint64_t digest_of(uint64_t digest, const double *values, size_t n) {
  for (size_t i = 0; i < n; i++) digest = mix(digest ^ bits_of(values[i]));
  return digest;
}

/* The builds give the same bits, here; and on all systems those of the digest. */
static uint64_t digest_of_fits(void) {
  static rows r;
  uint64_t digest = 1;
  for (int i = 0; i < N_FITS; i++) {
    double found[MOST_PARAMETERS], baseline[MOST_PARAMETERS], factor;
    size_t n_rows = 1 + random_below(600), k = 2 + random_below(7); /* in this order */
    affine_problem p = draw(&r, n_rows, k, i % 2, i / 2 % 2);
    size_t n = n_slopes_of(&p) + p.k;
    setenv("FASTBIN_CPU", "baseline", 1);
    fit(&p, baseline);
    setenv("FASTBIN_CPU", "all", 1);
    fit(&p, found);
    CHECK(memcmp(found, baseline, n * sizeof *found) == 0);
    factor = fit_factor(&p, 1.0);
    digest = digest_of(digest_of(digest, found, n), &factor, 1);
  }
  return digest;
}

int main(void) {
  test_the_gradient_vanishes();
  test_a_slow_descent();
  test_weights_and_order();
  test_hard_rows();
  test_rows_without_news();
  test_factors();
  test_factors_at_their_ends();
  test_it_can_be_stopped();
  test_scratch();
  uint64_t digest = digest_of_fits();
  if (!CHECK(digest == DIGEST)) fprintf(stderr, "the digest of the fits is 0x%016llX\n", (unsigned long long)digest);
  return finish();
}
