/*
 * vector_maps.c: see vector_maps.h.
 *
 * The loss is convex and has hundreds of parameters, so that its second derivatives would cost more than they save: the descent is that
 * of Broyden, Fletcher, Goldfarb and Shanno with the last MEMORY steps in place of the matrix (Nocedal 1980), in parameters that are
 * scaled by the diagonal of the second derivatives at the start. A step is halved until the loss falls by a share of what the slope
 * promises. Rows are summed from the first to the last; entries of a row in LANES partial sums, entry c in lane c mod LANES, as one sum
 * would wait for itself at each entry.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define VECTORISED_SOURCE
#include "internal.h"

#include "cpu.h"
#include "exponents.h"
#include "map_kernels.h"
#include "vector_maps.h"

#include <math.h>
#include <string.h>

#define MEMORY 10u
#define MOST_HALVINGS 40
#define SHARE_OF_SLOPE 1e-4
/* What a step promises to gain where it is the last one, as a share of the loss: rounding, and more where a pass takes long. */
#define GAIN_ENOUGH 1e-14
#define FEW_ENTRIES 1e5
#define ROUNDING 1e-15 /* a gain of less is none */
#define LOOK_EVERY 4096u
#define MOST_FACTOR 1e3
#define TRACE_OF_ROWS 1e-6 /* of doubt, shared by all rows */
#define LEAST_VARIANCE 1e-6

static double gain_enough(const affine_problem *p) {
  double entries = (double)p->n * (double)p->k / FEW_ENTRIES;
  return GAIN_ENOUGH * (1.0 + entries * entries);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* The rows                                                                                                      */
/* ------------------------------------------------------------------------------------------------------------- */

/* Parameters as rows need them: D by columns of z, and the constants with what the centres take off. */
typedef struct affine_map {
  const double *by_column; /* the transpose of a matrix, or the diagonal */
  const double *constants;
} affine_map;

/* Where the derivatives go: by columns of z, too. `bends` are of the diagonal of the second ones, in the centred z. */
typedef struct row_sums {
  double loss;
  double *slopes, *of_constants; /* k x k or k; k */
  double *bends;                 /* the same for each D, and then for each constant; NULL: not asked for */
  double *e;                     /* k, of one row */
} row_sums;

static ALWAYS_INLINE double folded(const double *lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

static ALWAYS_INLINE double sum_of(const double *restrict x, size_t n) {
  double lanes[LANES] = {0.0};
  size_t whole = n - n % LANES;
  for (size_t i = 0; i < whole; i += LANES) {
    for (size_t lane = 0; lane < LANES; lane++) lanes[lane] += x[i + lane];
  }
  for (size_t i = whole; i < n; i++) lanes[i - whole] += x[i];
  return folded(lanes);
}

/* The powers e^(u - max u) of a row, in `e`, and their sum; *gap is how far the u of the class is below the largest. */
static ALWAYS_INLINE double powers_of(const affine_problem *p, const affine_map *map, size_t row, double *restrict e, double *gap) {
  size_t k = p->k;
  const double *restrict z = p->z + row * k;
  double top;
  for (size_t c = 0; c < k; c++) e[c] = p->base * z[c] + map->constants[c];
  if (p->offsets) {
    const double *restrict offsets = p->offsets + row * k;
    for (size_t c = 0; c < k; c++) e[c] += offsets[c];
  }
  if (p->is_matrix) {
    for (size_t j = 0; j < k; j++) {
      const double *restrict column = map->by_column + j * k;
      double x = z[j];
      for (size_t c = 0; c < k; c++) e[c] += column[c] * x;
    }
  } else {
    for (size_t c = 0; c < k; c++) e[c] += map->by_column[c] * z[c];
  }
  top = largest_of(e, k);
  *gap = top - e[p->truth[row]];
  for (size_t c = 0; c < k; c++) e[c] = small_of(top - e[c]);
  return sum_of(e, k);
}

/* q (1 - q) of a row, with its square of the centred z, added to the bends. */
static ALWAYS_INLINE void add_bends(const affine_problem *p, const double *restrict z, const double *restrict q, double w,
                                    double *restrict bends) {
  size_t k = p->k, n_slopes = p->is_matrix ? k * k : k;
  for (size_t c = 0; c < k; c++) {
    double doubt = w * (q[c] * (1.0 - q[c]));
    bends[n_slopes + c] += doubt;
    if (!p->is_matrix) {
      double x = z[c] - p->centres[c];
      bends[c] += doubt * (x * x);
      continue;
    }
    for (size_t j = 0; j < k; j++) {
      double x = z[j] - p->centres[c * k + j];
      bends[c * k + j] += doubt * (x * x);
    }
  }
}

/* Adds the rows from `first` to `end`; without slopes the loss alone. */
static ALWAYS_INLINE void add_rows_of(const affine_problem *p, const affine_map *map, size_t first, size_t end, row_sums *sums) {
  size_t k = p->k;
  double *restrict e = sums->e;
  for (size_t row = first; row < end; row++) {
    const double *restrict z = p->z + row * k;
    double gap, w = p->weights ? p->weights[row] : 1.0, sum = powers_of(p, map, row, e, &gap);
    size_t truth = (size_t)p->truth[row];
    double share = 1.0 / sum;
    sums->loss += w * (log_of(sum) + gap);
    if (!sums->slopes) continue;
    for (size_t c = 0; c < k; c++) e[c] *= share;
    if (sums->bends) add_bends(p, z, e, w, sums->bends);
    for (size_t c = 0; c < k; c++) e[c] *= w;
    e[truth] -= w;
    for (size_t c = 0; c < k; c++) sums->of_constants[c] += e[c];
    if (!p->is_matrix) {
      for (size_t c = 0; c < k; c++) sums->slopes[c] += e[c] * z[c];
      continue;
    }
    for (size_t j = 0; j < k; j++) {
      double *restrict column = sums->slopes + j * k, x = z[j];
      for (size_t c = 0; c < k; c++) column[c] += e[c] * x;
    }
  }
}

typedef void add_rows(const affine_problem *p, const affine_map *map, size_t first, size_t end, row_sums *sums);

#define BUILD(name, TARGET)                                                                                                   \
  TARGET static void add_rows_##name(const affine_problem *p, const affine_map *map, size_t first, size_t end, row_sums *sums) { \
    add_rows_of(p, map, first, end, sums);                                                                                    \
  }

FOR_AVX2(BUILD)

/* All rows. Returns 0 if `look` ended it. */
static int add_all(const affine_problem *p, const affine_map *map, row_sums *sums) {
  add_rows *add = BUILD_OF_TWO(add_rows);
  for (size_t first = 0; first < p->n; first += LOOK_EVERY) {
    if (p->look && p->look() != 0) return 0;
    add(p, map, first, p->n - first < LOOK_EVERY ? p->n : first + LOOK_EVERY, sums);
  }
  return 1;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* The loss                                                                                                      */
/* ------------------------------------------------------------------------------------------------------------- */

typedef struct workplace {
  const affine_problem *problem;
  size_t n_slopes, n_parameters;
  double *by_column, *constants, *of_columns, *e; /* for rows */
  double *scale;                                  /* of each parameter: 1 / sqrt(its second derivative at the start) */
} workplace;

/* The loss at these parameters; with `gradient` its slopes, and with `bends` the diagonal of the second ones. NaN: interrupted. */
static double loss_at(workplace *at, const double *parameters, double *gradient, double *bends) {
  const affine_problem *p = at->problem;
  size_t k = p->k, n_slopes = at->n_slopes;
  const double *constants = parameters + n_slopes;
  affine_map map = {p->is_matrix ? at->by_column : parameters, at->constants};
  row_sums sums = {0.0, gradient ? at->of_columns : NULL, gradient ? gradient + n_slopes : NULL, bends, at->e};
  double penalty = 0.0;
  for (size_t c = 0; c < k; c++) at->constants[c] = constants[c];
  for (size_t c = 0; p->is_matrix && c < k; c++) {
    for (size_t j = 0; j < k; j++) {
      at->by_column[j * k + c] = parameters[c * k + j];
      at->constants[c] -= parameters[c * k + j] * p->centres[c * k + j];
    }
  }
  for (size_t c = 0; !p->is_matrix && c < k; c++) at->constants[c] -= parameters[c] * p->centres[c];
  if (gradient) {
    memset(at->of_columns, 0, n_slopes * sizeof(double));
    memset(gradient, 0, at->n_parameters * sizeof(double));
  }
  if (bends) memset(bends, 0, at->n_parameters * sizeof(double));
  if (!add_all(p, &map, &sums)) return quiet_nan();
  for (size_t i = 0; i < n_slopes; i++) penalty += p->ridge[i] * (parameters[i] * parameters[i]);
  for (size_t c = 0; c < k; c++) penalty += p->ridge_intercept * (constants[c] * constants[c]);
  if (gradient) {
    for (size_t i = 0; i < n_slopes; i++) {
      size_t c = p->is_matrix ? i / k : i, of = p->is_matrix ? i % k * k + c : i;
      gradient[i] = (at->of_columns[of] - p->centres[i] * gradient[n_slopes + c]) + p->ridge[i] * parameters[i];
    }
    for (size_t c = 0; c < k; c++) gradient[n_slopes + c] += p->ridge_intercept * constants[c];
  }
  return sums.loss + 0.5 * penalty;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* The descent                                                                                                   */
/* ------------------------------------------------------------------------------------------------------------- */

/* The last steps and the changes of the gradient that came with them, in scaled parameters; a ring. */
typedef struct memory {
  size_t n, n_kept, next;
  double *steps, *changes;
  double products[MEMORY]; /* of each step with its change */
} memory;

static double product_of(const double *left, const double *right, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += left[i] * right[i];
  return sum;
}

static void add_times(double *to, double times, const double *what, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] += times * what[i];
}

/* The direction of descent for a scaled gradient: two loops over what is remembered. */
static void direction_of(const memory *kept, const double *gradient, double *direction) {
  double shares[MEMORY], of_last = 1.0;
  size_t n = kept->n;
  for (size_t i = 0; i < n; i++) direction[i] = -gradient[i];
  for (size_t back = 1; back <= kept->n_kept; back++) {
    size_t at = (kept->next + MEMORY - back) % MEMORY;
    shares[at] = product_of(kept->steps + at * n, direction, n) / kept->products[at];
    add_times(direction, -shares[at], kept->changes + at * n, n);
    if (back == 1) of_last = kept->products[at] / product_of(kept->changes + at * n, kept->changes + at * n, n);
  }
  for (size_t i = 0; i < n; i++) direction[i] *= of_last;
  for (size_t back = kept->n_kept; back >= 1; back--) {
    size_t at = (kept->next + MEMORY - back) % MEMORY;
    double share = product_of(kept->changes + at * n, direction, n) / kept->products[at];
    add_times(direction, shares[at] - share, kept->steps + at * n, n);
  }
}

static void remember(memory *kept, double length, const double *direction, const double *before, const double *after) {
  double *step = kept->steps + kept->next * kept->n, *change = kept->changes + kept->next * kept->n, product;
  for (size_t i = 0; i < kept->n; i++) {
    step[i] = length * direction[i];
    change[i] = after[i] - before[i];
  }
  product = product_of(step, change, kept->n);
  if (!(product > 0.0)) return; /* rounding: the loss is convex */
  kept->products[kept->next] = product;
  kept->next = (kept->next + 1) % MEMORY;
  if (kept->n_kept < MEMORY) kept->n_kept++;
}

/* Doubles: by_column, constants, of_columns, e, and of the parameters: scale, two gradients, direction, trial, the memory. */
size_t fastbin_affine_scratch(size_t k, int is_matrix) {
  size_t n_slopes, n_parameters;
  if (k > SIZE_MAX / 4 || (is_matrix && k >> (4 * sizeof k) != 0)) return 0;
  n_slopes = is_matrix ? k * k : k;
  n_parameters = n_slopes + k;
  if (n_parameters > SIZE_MAX / sizeof(double) / (2 * MEMORY + 16)) return 0;
  return 2 * n_slopes + 2 * k + (5 + 2 * MEMORY) * n_parameters;
}

uint32_t fastbin_fit_affine(const affine_problem *p, double *parameters, double *scratch) {
  size_t k = p->k, n_slopes = p->is_matrix ? k * k : k, n = n_slopes + k;
  workplace at = {p, n_slopes, n, scratch, scratch + n_slopes, scratch + n_slopes + k, scratch + 2 * n_slopes + k, NULL};
  double *gradient = at.e + k, *trial_gradient = gradient + n, *direction = trial_gradient + n, *trial = direction + n;
  double enough = gain_enough(p), loss;
  memory kept = {n, 0, 0, trial + n, trial + n + MEMORY * n, {0.0}};
  uint32_t step = 0;
  at.scale = kept.changes + MEMORY * n;
  loss = loss_at(&at, parameters, gradient, at.scale);
  for (size_t i = 0; i < n; i++) {
    double ridge = i < n_slopes ? p->ridge[i] : p->ridge_intercept;
    at.scale[i] = 1.0 / sqrt(at.scale[i] + ridge);
    gradient[i] *= at.scale[i];
  }
  for (; step < p->most_steps && !is_nan(loss); step++) {
    double length = 1.0, slope, gain = 0.0, lower = loss;
    direction_of(&kept, gradient, direction);
    slope = product_of(gradient, direction, n);
    if (!(-slope > enough * loss)) break;
    for (int halvings = 0; halvings <= MOST_HALVINGS; halvings++, length *= 0.5) {
      for (size_t i = 0; i < n; i++) trial[i] = parameters[i] + length * (at.scale[i] * direction[i]);
      lower = loss_at(&at, trial, trial_gradient, NULL);
      gain = loss - lower;
      if (is_nan(lower) || gain >= -SHARE_OF_SLOPE * (length * slope)) break;
    }
    if (is_nan(lower)) return VECTOR_INTERRUPTED;
    if (!(gain > ROUNDING * loss)) break;
    for (size_t i = 0; i < n; i++) trial_gradient[i] *= at.scale[i];
    remember(&kept, length, direction, gradient, trial_gradient);
    memcpy(parameters, trial, n * sizeof *trial);
    memcpy(gradient, trial_gradient, n * sizeof *gradient);
    loss = lower;
  }
  return is_nan(loss) ? VECTOR_INTERRUPTED : step;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* One factor                                                                                                    */
/* ------------------------------------------------------------------------------------------------------------- */

typedef struct factor_place {
  double factor, loss, slope, bend, doubt; /* doubt: the sum of 1 - sum q^2 over the rows */
} factor_place;

/* Adds the rows from `first` to `end`; e has 2 k entries, the second half of which are 0. */
static ALWAYS_INLINE void add_factor_rows_of(const affine_problem *p, size_t first, size_t end, double *restrict e, factor_place *at) {
  size_t k = p->k, whole = k - k % LANES;
  affine_map map = {e + k, e + k};
  for (size_t row = first; row < end; row++) {
    const double *restrict z = p->z + row * k;
    double gap, sum = powers_of(p, &map, row, e, &gap), w = p->weights ? p->weights[row] : 1.0, of_truth = z[p->truth[row]];
    double means[LANES] = {0.0}, squares[LANES] = {0.0}, of_e[LANES] = {0.0}, mean;
    for (size_t c = 0; c < k; c += LANES) {
      size_t here = c < whole ? LANES : k - whole;
      for (size_t lane = 0; lane < here; lane++) {
        double power = e[c + lane], x = z[c + lane] - of_truth, term = power * x;
        means[lane] += term;
        squares[lane] += term * x;
        of_e[lane] += power * power;
      }
    }
    mean = folded(means) / sum;
    at->loss += w * (log_of(sum) + gap);
    at->slope += w * mean;
    at->bend += w * larger(folded(squares) / sum - mean * mean, 0.0);
    at->doubt += w * larger(1.0 - folded(of_e) / (sum * sum), 0.0);
  }
}

typedef void add_factor_rows(const affine_problem *p, size_t first, size_t end, double *e, factor_place *at);

#define BUILD_FACTOR(name, TARGET)                                                                                             \
  TARGET static void add_factor_rows_##name(const affine_problem *p, size_t first, size_t end, double *e, factor_place *at) { \
    add_factor_rows_of(p, first, end, e, at);                                                                                 \
  }

FOR_AVX2(BUILD_FACTOR)

/* The loss at a factor, without the ridge; e has 2 k entries. Returns 0 if `look` ended it. */
static int look_at_factor(const affine_problem *p, double factor, double *e, factor_place *at) {
  add_factor_rows *add = BUILD_OF_TWO(add_factor_rows);
  affine_problem scaled = *p;
  scaled.base = factor;
  scaled.is_matrix = 0;
  memset(e + p->k, 0, p->k * sizeof *e);
  *at = (factor_place){factor, 0.0, 0.0, 0.0, 0.0};
  for (size_t first = 0; first < p->n; first += LOOK_EVERY) {
    if (p->look && p->look() != 0) return 0;
    add(&scaled, first, p->n - first < LOOK_EVERY ? p->n : first + LOOK_EVERY, e, at);
  }
  return 1;
}

/* Adds a ridge towards 1. */
static void add_ridge(double ridge, factor_place *at) {
  double off = at->factor - 1.0;
  at->loss += 0.5 * ridge * (off * off);
  at->slope += ridge * off;
  at->bend += ridge;
}

double fastbin_fit_factor(const affine_problem *p, double rows, double *least, double *scratch) {
  factor_place at, trial;
  double ridge, enough = gain_enough(p);
  if (!look_at_factor(p, 1.0, scratch, &at)) return quiet_nan();
  ridge = rows * larger(at.bend / larger(at.doubt, TRACE_OF_ROWS), LEAST_VARIANCE);
  add_ridge(ridge, &at);
  for (uint32_t step = 0; step < p->most_steps; step++) {
    double change = -at.slope / at.bend;
    if (!(-change * at.slope > enough * at.loss)) break;
    for (int halvings = 0; halvings <= MOST_HALVINGS; halvings++, change *= 0.5) {
      double factor = smaller(larger(at.factor + change, 0.0), MOST_FACTOR);
      if (!look_at_factor(p, factor, scratch, &trial)) return quiet_nan();
      add_ridge(ridge, &trial);
      if (trial.loss < at.loss) break;
    }
    if (!(trial.loss < at.loss)) break; /* rounding */
    at = trial;
  }
  *least = at.loss;
  return at.factor;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Moments and logarithms                                                                                        */
/* ------------------------------------------------------------------------------------------------------------- */

static void add_moments(const affine_problem *p, const double *z, const double *doubt, double *sums, double *squares) {
  size_t k = p->k;
  if (!p->is_matrix) {
    for (size_t c = 0; c < k; c++) sums[c] += doubt[c] * z[c];
    for (size_t c = 0; c < k; c++) squares[c] += doubt[c] * (z[c] * z[c]);
    return;
  }
  for (size_t c = 0; c < k; c++) {
    double *restrict sums_of = sums + c * k, *restrict squares_of = squares + c * k;
    for (size_t j = 0; j < k; j++) {
      double term = doubt[c] * z[j];
      sums_of[j] += term;
      squares_of[j] += term * z[j];
    }
  }
}

int fastbin_doubtful_moments(const affine_problem *p, double *means, double *variances, double *scratch) {
  size_t k = p->k, n_slopes = p->is_matrix ? k * k : k;
  double *e = scratch, *zeros = e + k, *doubts = zeros + k, trace, rows = 0.0;
  affine_problem without = *p;
  affine_map map = {zeros, zeros};
  without.is_matrix = 0;
  for (size_t row = 0; row < p->n; row++) rows += p->weights ? p->weights[row] : 1.0;
  trace = TRACE_OF_ROWS / rows;
  memset(zeros, 0, 2 * k * sizeof *zeros);
  memset(means, 0, n_slopes * sizeof *means);
  memset(variances, 0, n_slopes * sizeof *variances);
  for (size_t row = 0; row < p->n; row++) {
    double gap, sum = powers_of(&without, &map, row, e, &gap), w = p->weights ? p->weights[row] : 1.0;
    for (size_t c = 0; c < k; c++) {
      double q = e[c] / sum;
      e[c] = w * (q * (1.0 - q) + trace);
      doubts[c] += e[c];
    }
    add_moments(p, p->z + row * k, e, means, variances);
    if (row % LOOK_EVERY == 0 && p->look && p->look() != 0) return 0;
  }
  for (size_t i = 0; i < n_slopes; i++) {
    double doubt = doubts[p->is_matrix ? i / k : i];
    means[i] /= doubt;
    variances[i] = larger(variances[i] / doubt - means[i] * means[i], LEAST_VARIANCE);
  }
  return 1;
}

void fastbin_logs(const double *p, size_t n, double least, double *z) {
  for (size_t i = 0; i < n; i++) z[i] = log_of(larger(p[i], least));
}
