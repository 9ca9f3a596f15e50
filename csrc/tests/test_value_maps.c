/*
 * test_value_maps.c: fits of maps: the elementary functions against those of the mathematical library, the fits against the
 * equations that they solve, and one digest for the bits of many fits, which every compiler and processor must give.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include "internal.h"

#include "check.h"
#include "value_maps.h"

#include <math.h>

#define MOST_CELLS 300
#define N_FITS 400
/* For the bits of all fits below. It changes only where the rule of a map does, which CHANGELOG.md then says. */
#define DIGEST UINT64_C(0x3CC689C600690849)

typedef struct rows {
  double scores[MOST_CELLS], counts[MOST_CELLS], ones[MOST_CELLS], bin_counts[MOST_CELLS], bin_ones[MOST_CELLS];
  int64_t first_step[MOST_CELLS];
  map_cells cells;
  step_bins bins;
} rows;

/* By integers and exact operations alone, so that every system draws the same. */
static void draw(rows *drawn) {
  size_t n = 1 + random_below(random_below(4) ? 40 : MOST_CELLS);
  uint64_t most = UINT64_C(1) << (1 + random_below(30)), unit = UINT64_C(1) << 40, step = unit / n;
  int are_probabilities = random_below(3) > 0, tilt = (int)random_below(4);
  double total = 0.0;
  size_t n_bins = 0;
  for (size_t j = 0; j < n; j++) {
    uint64_t place = step * j + random_below(step), one_in = 1 + random_below(8);
    double share = ldexp((double)place, -40);
    drawn->scores[j] = are_probabilities ? share : (share - 0.25) * ldexp(1.0, tilt * 300 - 400);
    drawn->counts[j] = random_below(one_in) ? (double)random_below(most) : 0.0;
    if (j == 0) drawn->counts[j] += 1.0;
    drawn->ones[j] = floor(drawn->counts[j] * (tilt == 0 ? share : tilt == 1 ? share * share : tilt == 2 ? 0.125 : 1.0));
    total += drawn->counts[j];
    if (j == 0 || random_below(10) == 0) {
      drawn->first_step[n_bins] = (int64_t)j;
      drawn->bin_counts[n_bins] = drawn->bin_ones[n_bins] = 0.0;
      n_bins++;
    }
    drawn->bin_counts[n_bins - 1] += drawn->counts[j];
    drawn->bin_ones[n_bins - 1] += drawn->ones[j];
  }
  drawn->cells = (map_cells){n, drawn->scores, drawn->counts, drawn->ones, total, are_probabilities, 200, NULL};
  drawn->bins = (step_bins){n_bins, drawn->first_step, drawn->bin_counts, drawn->bin_ones};
}

static uint64_t digest_of(uint64_t digest, const double *values, size_t n) {
  for (size_t j = 0; j < n; j++) digest = mix(digest ^ bits_of(values[j]));
  return digest;
}

static void test_elementary_functions(void) {
  const map_kernels *kernels = fastbin_map_kernels();
  enum { N = 5000 };
  static double x[N], small[N], y[N], z[N];
  for (int j = 0; j < N; j++) {
    x[j] = (random_unit() - 0.5) * (random_below(2) ? 1500.0 : 3.0);
    small[j] = random_below(2) ? random_unit() : ldexp(random_unit(), -(int)random_below(200));
  }
  kernels->softplus(x, N, y);
  kernels->sigmoid(x, N, z);
  for (int j = 0; j < N; j++) {
    double size = fmin(fabs(x[j]), 708.0), expected = fmax(x[j], 0.0) + log1p(exp(-size));
    CHECK(fabs(y[j] - expected) <= 4.0 * DBL_EPSILON * expected);
    expected = x[j] > 0.0 ? 1.0 / (1.0 + exp(-size)) : exp(-size) / (1.0 + exp(-size));
    CHECK(fabs(z[j] - expected) <= 4.0 * DBL_EPSILON * expected);
  }
  kernels->logits(small, 0x1p-300, N, y);
  for (int j = 0; j < N; j++) {
    double least = 0x1p-300, low = fmin(fmax(small[j], least), 1.0), high = fmin(fmax(1.0 - small[j], least), 1.0);
    CHECK(fabs(y[j] - (log(low) - log(high))) <= 2.0 * DBL_EPSILON * (fabs(log(low)) + fabs(log(high))));
  }
}

/* The terms of a loss, of more entries than are taken at a time: those of its formula, and the same bits by every build. */
static void test_terms(void) {
  static const char *const builds[] = {"baseline", "avx2", "avx512", "gathers"};
  enum { N = 300 };
  static double x[N], zeros[N], ones[N], slopes[N], bends[N], first_slopes[N], first_bends[N];
  double parameters[2] = {0.5, -1.25}, expected = 0.0, first_loss = 0.0;
  for (int j = 0; j < N; j++) {
    x[j] = (random_unit() - 0.5) * (random_below(2) ? 60.0 : 3.0);
    zeros[j] = random_below(4) ? random_unit() : 0.0;
    ones[j] = random_below(4) ? random_unit() : 0.0;
    double z = parameters[0] + parameters[1] * x[j], rest = log1p(exp(-fabs(z)));
    expected += zeros[j] * (fmax(z, 0.0) + rest) + ones[j] * (fmax(-z, 0.0) + rest);
  }
  ridge_problem problem = {.n = N, .zeros = zeros, .ones = ones, .k = 2, .columns = {NULL, x}};
  for (size_t b = 0; b < sizeof builds / sizeof *builds; b++) {
    setenv("FASTBIN_CPU", builds[b], 1);
    double loss = fastbin_map_kernels()->terms(&problem, parameters, slopes, bends);
    if (b == 0) {
      first_loss = loss;
      memcpy(first_slopes, slopes, sizeof slopes);
      memcpy(first_bends, bends, sizeof bends);
    }
    CHECK(loss == first_loss && memcmp(slopes, first_slopes, sizeof slopes) == 0);
    CHECK(memcmp(bends, first_bends, sizeof bends) == 0);
  }
  CHECK(fabs(first_loss - expected) <= 1e-14 * expected);
  for (int j = 0; j < N; j++) {
    double z = parameters[0] + parameters[1] * x[j], p = 1.0 / (1.0 + exp(-z)), q = 1.0 / (1.0 + exp(z));
    CHECK(fabs(slopes[j] - (zeros[j] * p - ones[j] * q)) <= 1e-15 * (zeros[j] + ones[j]));
    CHECK(fabs(bends[j] - (zeros[j] + ones[j]) * p * q) <= 1e-14 * bends[j]);
  }
}

/* The loss of a parabola in the logits of the scores, with the ridge that draws it towards the identity. */
static double loss_of_parabola(const map_cells *cells, const double *positions, const double *p) {
  double loss = 2.0 * (p[0] * p[0] + (p[1] - 1.0) * (p[1] - 1.0) + p[2] * p[2]);
  for (size_t j = 0; j < cells->n; j++) {
    double z = p[0] + (p[1] + p[2] * positions[j]) * positions[j], rest = log1p(exp(-fabs(z)));
    loss += (cells->counts[j] - cells->ones[j]) * (fmax(z, 0.0) + rest) + cells->ones[j] * (fmax(-z, 0.0) + rest);
  }
  return loss;
}

static void test_no_parabola_near_by_is_better(void) {
  static rows drawn;
  static double logits[MOST_CELLS], positions[MOST_CELLS];
  double *scratch = must_malloc(fastbin_map_scratch(MOST_CELLS) * sizeof *scratch);
  for (int i = 0; i < 200; i++) {
    map_parameters found;
    do draw(&drawn);
    while (!drawn.cells.are_probabilities);
    const map_cells *cells = &drawn.cells;
    CHECK(fastbin_fit_map(MAP_QUADRATIC, cells, logits, &found, scratch) == 0);
    fastbin_map_kernels()->logits(drawn.scores, 0.5 / (cells->rows + 1.0), cells->n, positions);
    double least = loss_of_parabola(cells, positions, found.of_powers);
    for (int power = 0; power < 3; power++) {
      for (int sign = -1; sign <= 1; sign += 2) {
        double moved[3];
        memcpy(moved, found.of_powers, sizeof moved);
        moved[power] += sign * 1e-3 * (1.0 + fabs(moved[power]));
        CHECK(least <= loss_of_parabola(cells, positions, moved) * (1.0 + 1e-9));
      }
    }
  }
  free(scratch);
}

/* By the builds of the loops that this processor can run; one that it cannot run is the best that it can. */
static uint64_t digest_of_fits(void) {
  static const char *const builds[] = {"avx2", "avx512", "gathers"};
  static rows drawn;
  static double steps[MOST_CELLS], others[MOST_CELLS];
  double *scratch = must_malloc(fastbin_map_scratch(MOST_CELLS) * sizeof *scratch);
  uint64_t digest = 1;
  for (int i = 0; i < N_FITS; i++) {
    draw(&drawn);
    for (int map = MAP_MIXTURE; map <= BIN_JEFFREYS; map++) {
      recentring recentre = (recentring)random_below(3);
      int monotone = random_below(4) > 0;
      double half = 0.5 / (drawn.cells.rows + 1.0) / (map == MAP_MIXTURE ? 101.0 : 1.0);
      setenv("FASTBIN_CPU", "baseline", 1);
      CHECK(fastbin_fit_steps((value_map)map, recentre, monotone, &drawn.cells, &drawn.bins, steps, scratch) == 0);
      for (size_t b = 0; b < sizeof builds / sizeof *builds; b++) {
        setenv("FASTBIN_CPU", builds[b], 1);
        CHECK(fastbin_fit_steps((value_map)map, recentre, monotone, &drawn.cells, &drawn.bins, others, scratch) == 0);
        CHECK(memcmp(steps, others, drawn.cells.n * sizeof *steps) == 0);
      }
      for (size_t j = 0; j < drawn.cells.n; j++) {
        CHECK(map == BIN_MEAN ? 0.0 <= steps[j] && steps[j] <= 1.0 : half <= steps[j] && steps[j] <= 1.0 - half);
        CHECK(!monotone || j == 0 || steps[j - 1] <= steps[j]);
      }
      digest = digest_of(digest, steps, drawn.cells.n);
    }
  }
  free(scratch);
  return digest;
}

static int stop_at_once(void) { return 1; }

static void test_it_can_be_stopped(void) {
  static rows drawn;
  static double logits[MOST_CELLS];
  map_parameters unused;
  double *scratch = must_malloc(fastbin_map_scratch(MOST_CELLS) * sizeof *scratch);
  do draw(&drawn);
  while (drawn.cells.n < 10);
  drawn.cells.look = stop_at_once;
  CHECK(fastbin_fit_map(MAP_MIXTURE, &drawn.cells, logits, &unused, scratch) & MAP_INTERRUPTED);
  drawn.cells.look = NULL;
  drawn.cells.most_steps = 1;
  CHECK(fastbin_fit_map(MAP_QUADRATIC, &drawn.cells, logits, &unused, scratch) == MAP_DID_NOT_CONVERGE(MAP_QUADRATIC));
  free(scratch);
}

int main(void) {
  test_elementary_functions();
  test_no_parabola_near_by_is_better();
  test_it_can_be_stopped();
  uint64_t digest = digest_of_fits();
  test_terms();
  if (!CHECK(digest == DIGEST)) fprintf(stderr, "the digest of the fits is 0x%016llX\n", (unsigned long long)digest);
  return finish();
}
