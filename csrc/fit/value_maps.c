/*
 * value_maps.c: see value_maps.h.
 *
 * A ridge is minimised by Newton's method, each step halved until the loss falls; the derivatives at the trial of one step serve
 * the next. All sums that a map depends on are those of map_kernels.h, or run over cells in their order.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include "value_maps.h"

#include <math.h>

/* In rows: how strongly maps of probabilities are drawn towards the map that changes nothing. */
#define TOWARDS_IDENTITY 4.0
/* Other scores have no such map: slopes are drawn towards 0, and the constant is nearly free. */
#define SLOPE_TOWARDS_ZERO 0.1
#define CONSTANT_TOWARDS_ZERO 1e-3
/*
 * The spline: the ridge on what is not linear, and how far (in the logit) its line may be from the identity before the ridge on it
 * gives way. At 500 rows a line without ridge costs about 2 % of log loss on average over 21 score sets, more where scores pile up
 * at 0 and 1; a ridge that never gives way costs about 3 % over 14 sets, two of them far from calibrated.
 */
#define BENDS_TOWARDS_ZERO 1.0
#define GIVES_WAY 0.5
/* Its knots, .05 to .95 of the rows, in whole numbers so that rounding moves none; how far they must be apart, in standard
   deviations and in positions. */
#define MOST_KNOTS 5
static const double KNOT_FORTIETHS[MOST_KNOTS] = {2.0, 11.0, 20.0, 29.0, 38.0};
#define LEAST_SPACING 1e-3
#define LEAST_LOGITS 1e-6
/* The weights of beta, isotonic and spline; the logits that are mixed are those of probabilities at least so far from 0 and 1. */
static const double MIXTURE_WEIGHTS[3] = {0.25, 0.25, 0.5};
#define LEAST_PROBABILITY 1e-6
/* Below so many rows, a map of one slope stands in the place of isotonic regression, whose blocks then are too small. */
#define FEWEST_FOR_ISOTONIC 250.0
static const double MIXTURE_WEIGHTS_OF_FEW[3] = {0.2, 0.4, 0.4};
/*
 * The identity beside them: it weighs as much as the map at so many rows, and less by what the map gains beyond this much. It is
 * followed beyond what the rows can tell, down to a hundredth of half a row: else scores next to 0 and 1 lose a fifth of their log
 * loss at 60 rows. These numbers, and the members of few rows, were chosen on the sets of bench/calarena that `chooses_constants`
 * names, by win rates at 60, 100 and 200 rows; 480 rows rather than 240, which are alike there, by the log loss of all sets.
 * Isotonic regression there, a shift instead of a slope, and maps inside [h / 4, 1 - h / 4] gained less.
 */
#define IDENTITY_ROWS 480.0
#define IDENTITY_FREE 2.0
#define NEARER 100.0
/* The share at which its logit goes on beyond: too little to move a probability, enough that scores keep their order
   where they are normal doubles and have steps of their own. */
#define FAINT 0x1p-20

/* Shares of the loss: what a step may gain where it is the last one: it leaves about the square of that. And what is let pass
   where rounding ends the descent before. */
#define GAP_ENOUGH 1e-9
#define GAP_OF_ROUNDING 1e-6
#define MOST_HALVINGS 60
/* A share of a parameter's own curvature: with less beside the parameters before it, it has none that doubles tell, and stays. */
#define LEAST_PIVOT 1e-14

/* The weight of steps without rows: enough for a mean to exist, too little to move one. */
#define WEIGHT_OF_NO_ROW 0x1p-40
/* Entries of a pass between two looks at signals: some tens of milliseconds. A multiple of LANES. */
#define ENTRIES_AT_A_TIME ((size_t)1 << 20)

/* ------------------------------------------------------------------------------------------------- signals */

/* Once somebody wants the work to end, no span follows and no descent goes on, and what was computed means nothing. */
typedef struct watch {
  int (*look)(void);
  int has_stopped;
} watch;

static int has_stopped(watch *signals) {
  if (!signals->has_stopped && signals->look) signals->has_stopped = signals->look();
  return signals->has_stopped;
}

/* Whether there is a span of entries from `first` on, of n; it ends before *end. Looks before each but the first. */
static int next_span(watch *signals, size_t first, size_t *end, size_t n) {
  if (first >= n || signals->has_stopped || (first > 0 && has_stopped(signals))) return 0;
  *end = n - first > ENTRIES_AT_A_TIME ? first + ENTRIES_AT_A_TIME : n;
  return 1;
}

/* Every pass over cells is made of these. */
#define FOR_SPANS(signals, n) for (size_t first = 0, end; next_span(signals, first, &end, n); first = end)

/* ------------------------------------------------------------------------------------------------- sums */

static double folded(const double *lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

static double sum_of(const double *terms, size_t n) {
  double lanes[LANES] = {0.0};
  for (size_t j = 0; j < n; j++) lanes[j % LANES] += terms[j];
  return folded(lanes);
}

static double sum_of_products(const double *left, const double *right, size_t n) {
  double lanes[LANES] = {0.0};
  for (size_t j = 0; j < n; j++) lanes[j % LANES] += left[j] * right[j];
  return folded(lanes);
}

static double within(double x, double least, double most) { return smaller(larger(x, least), most); }

/* ------------------------------------------------------------------------------------------------- cells */

/* What the maps of the same cells share; each array with padding. */
typedef struct workplace {
  const map_cells *cells;
  const map_kernels *kernels;
  size_t n, n_padded;
  double *zeros, *ones;
  double *positions; /* logits of the scores moved inside (0, 1), or standardised scores */
  double *standard;  /* standardised positions */
  double *columns[MOST_PARAMETERS];
  double *member, *second_member; /* the logits of one map of several, and what else needs room */
  watch signals;
} workplace;

#define N_ARRAYS (4 + MOST_PARAMETERS - 1 + 2)

size_t fastbin_map_scratch(size_t n) { return (1 + N_ARRAYS) * padded(n); }

/* The values with mean 0 and variance 1 over the rows; all 0 where they do not differ. May be in place. */
static void standardise(workplace *at, const double *values, double *away) {
  const double *counts = at->cells->counts;
  double of_counts[LANES] = {0.0}, of_values[LANES] = {0.0}, of_squares[LANES] = {0.0}, greatest = 0.0;
  FOR_SPANS(&at->signals, at->n) {
    for (size_t j = first; j < end; j++) of_counts[j % LANES] += counts[j];
  }
  double total = folded(of_counts);
  FOR_SPANS(&at->signals, at->n) {
    at->kernels->add_moment(counts + first, total, values + first, 1, end - first, of_values);
  }
  double mean = folded(of_values);
  FOR_SPANS(&at->signals, at->n) {
    for (size_t j = first; j < end; j++) {
      away[j] = values[j] - mean;
      greatest = larger(fabs(away[j]), greatest);
    }
  }
  if (greatest == 0.0) return;
  FOR_SPANS(&at->signals, at->n) {
    at->kernels->divide(away + first, greatest, end - first);
    at->kernels->add_moment(counts + first, total, away + first, 2, end - first, of_squares);
  }
  /* It may vanish beside a cell without rows that is far away. */
  double spread = larger(sqrt(folded(of_squares)), LEAST_PROBABILITY);
  FOR_SPANS(&at->signals, at->n) at->kernels->divide(away + first, spread, end - first);
}

/* The scores times a power of two by which the greatest is nearly 2^exponent, so that no sum overflows. */
static void scale(workplace *at, int exponent, double *scaled) {
  const double *scores = at->cells->scores;
  double greatest = 0.0;
  int own;
  FOR_SPANS(&at->signals, at->n) {
    for (size_t j = first; j < end; j++) greatest = larger(fabs(scores[j]), greatest);
  }
  frexp(greatest, &own);
  /* In two factors, as a double may not hold their product. */
  int half = (exponent - own) / 2;
  double one = ldexp(1.0, half), other = ldexp(1.0, exponent - own - half);
  FOR_SPANS(&at->signals, at->n) {
    for (size_t j = first; j < end; j++) scaled[j] = scores[j] * one * other;
  }
}

static void pad(double *values, size_t n) {
  for (size_t j = n; j < padded(n); j++) values[j] = 0.0;
}

static double half_step(const map_cells *cells) { return 0.5 / (cells->rows + 1.0); }

static workplace workplace_of(const map_cells *cells, double *scratch) {
  workplace at = {.cells = cells, .kernels = fastbin_map_kernels(), .n = cells->n, .n_padded = padded(cells->n)};
  double **arrays[N_ARRAYS] = {&at.zeros,      &at.ones,       &at.positions,  &at.standard, &at.member,
                               &at.second_member, &at.columns[1], &at.columns[2], &at.columns[3], &at.columns[4]};
  at.signals.look = cells->look;
  for (size_t i = 0; i < N_ARRAYS; i++, scratch += at.n_padded) {
    *arrays[i] = scratch;
    pad(scratch, at.n);
  }
  FOR_SPANS(&at.signals, at.n) {
    for (size_t j = first; j < end; j++) {
      at.zeros[j] = cells->counts[j] - cells->ones[j];
      at.ones[j] = cells->ones[j];
    }
  }
  if (cells->are_probabilities) {
    FOR_SPANS(&at.signals, at.n) {
      at.kernels->logits(cells->scores + first, half_step(cells), end - first, at.positions + first);
    }
  } else {
    scale(&at, 0, at.positions);
    standardise(&at, at.positions, at.positions);
  }
  return at;
}

/* ------------------------------------------------------------------------------------------------- ridges */

/* Puts the loss at place->parameters and its derivatives there. */
static void evaluate(workplace *at, const ridge_problem *problem, ridge_place *place) {
  double sums[1 + MOST_PARAMETERS + MOST_BENDS][LANES];
  int k = problem->k, n_bends = k * (k + 1) / 2;
  memset(sums, 0, sizeof sums);
  FOR_SPANS(&at->signals, problem->n) at->kernels->add_derivatives(problem, place->parameters, first, end, sums);
  place->loss = folded(sums[0]);
  for (int i = 0; i < n_bends; i++) place->bends[i] = folded(sums[1 + k + i]);
  for (int i = 0, diagonal = 0; i < k; diagonal += k - i, i++) {
    double away = place->parameters[i] - problem->centre[i];
    place->loss += 0.5 * problem->ridge[i] * away * away;
    place->gradient[i] = folded(sums[1 + i]) + problem->ridge[i] * away;
    place->bends[diagonal] += problem->ridge[i];
  }
}

/*
 * Newton's step at a place, and about twice what the loss would gain by it: the solution of the symmetric system by Cholesky's
 * decomposition of the matrix scaled to a diagonal of ones, so that a column which hardly bends the loss (log(1 - s) where nearly all
 * scores are tiny) is not taken for rounding beside the others.
 */
static double newton_step(const ridge_place *place, int k, unsigned fixed, double *step) {
  double lower[MOST_PARAMETERS][MOST_PARAMETERS], scales[MOST_PARAMETERS], right[MOST_PARAMETERS], gap = 0.0;
  int kept[MOST_PARAMETERS];
  for (int i = 0, entry = 0; i < k; i++) {
    for (int j = i; j < k; j++) lower[j][i] = place->bends[entry++];
    scales[i] = sqrt(lower[i][i]);
  }
  for (int i = 0; i < k; i++) {
    for (int j = 0; j <= i; j++) {
      double entry = lower[i][j] / (scales[i] * scales[j]);
      for (int m = 0; m < j; m++) entry -= lower[i][m] * lower[j][m];
      if (j < i) {
        lower[i][j] = kept[j] ? entry / lower[j][j] : 0.0;
      } else {
        kept[i] = entry > LEAST_PIVOT && !(fixed >> i & 1u);
        lower[i][i] = kept[i] ? sqrt(entry) : 1.0;
      }
    }
    right[i] = -place->gradient[i] / scales[i];
    for (int m = 0; m < i; m++) right[i] -= lower[i][m] * right[m];
    right[i] = kept[i] ? right[i] / lower[i][i] : 0.0;
  }
  for (int i = k; i-- > 0;) {
    for (int m = i + 1; m < k; m++) right[i] -= lower[m][i] * right[m];
    right[i] = kept[i] ? right[i] / lower[i][i] : 0.0;
    step[i] = right[i] / scales[i];
    gap -= place->gradient[i] * step[i];
  }
  return gap;
}

/* Where a descent starts. */
static void set_to_centre(const ridge_problem *problem, double *parameters) {
  for (int i = 0; i < problem->k; i++) parameters[i] = problem->fixed >> i & 1u ? 0.0 : problem->centre[i];
}

/* From `parameters` to the parameters of least loss. Returns whether they were reached. */
static int minimise(workplace *at, const ridge_problem *problem, double *parameters) {
  ridge_place place, moved;
  double step[MOST_PARAMETERS];
  int k = problem->k;
  memcpy(place.parameters, parameters, (size_t)k * sizeof *parameters);
  evaluate(at, problem, &place);
  for (uint32_t n_steps = 0; n_steps < at->cells->most_steps && !has_stopped(&at->signals); n_steps++) {
    double gap = newton_step(&place, k, problem->fixed, step);
    int is_last = gap <= GAP_ENOUGH * place.loss, halvings = 0;
    for (; halvings < MOST_HALVINGS; halvings++) {
      for (int i = 0; i < k; i++) moved.parameters[i] = place.parameters[i] + step[i];
      if (is_last) break;
      evaluate(at, problem, &moved);
      if (moved.loss < place.loss) break;
      for (int i = 0; i < k; i++) step[i] *= 0.5;
    }
    int is_stuck = halvings == MOST_HALVINGS;
    memcpy(parameters, is_stuck ? place.parameters : moved.parameters, (size_t)k * sizeof *parameters);
    if (is_last) return 1;
    if (is_stuck) return gap <= GAP_OF_ROUNDING * place.loss;
    place = moved;
  }
  return 0;
}

/* A problem in a constant and columns of the workplace, which are at->columns[1] and those that follow. */
static ridge_problem problem_of(const workplace *at, int k) {
  ridge_problem problem = {.n = at->n_padded, .zeros = at->zeros, .ones = at->ones, .k = k};
  for (int i = 1; i < k; i++) problem.columns[i] = at->columns[i];
  return problem;
}

/* The ridge on constant and slope of a line in the positions, and the slope that it is drawn towards. */
static void set_line_ridge(const workplace *at, ridge_problem *problem) {
  int are_probabilities = at->cells->are_probabilities;
  problem->ridge[0] = are_probabilities ? TOWARDS_IDENTITY : CONSTANT_TOWARDS_ZERO;
  problem->ridge[1] = are_probabilities ? TOWARDS_IDENTITY : SLOPE_TOWARDS_ZERO;
  problem->centre[1] = are_probabilities ? 1.0 : 0.0;
}

/* z = p_0 + sum p_i column_i */
static void set_exponents(workplace *at, const ridge_problem *problem, const double *parameters, double *z) {
  FOR_SPANS(&at->signals, problem->n) at->kernels->exponents(problem, parameters, first, end - first, z + first);
}

static uint32_t told(value_map map, int is_minimum) { return is_minimum ? 0 : MAP_DID_NOT_CONVERGE(map); }

/* ------------------------------------------------------------------------------------------------- maps */

/* Temperature scaling: one slope, and no constant. */
static uint32_t fit_temperature(workplace *at, double *logits) {
  ridge_problem problem = problem_of(at, 2);
  double found[MOST_PARAMETERS];
  set_line_ridge(at, &problem);
  problem.columns[1] = at->positions;
  problem.fixed = 1u << 0;
  set_to_centre(&problem, found);
  int is_minimum = minimise(at, &problem, found);
  set_exponents(at, &problem, found, logits);
  return told(MAP_MIXTURE, is_minimum);
}

static uint32_t fit_polynomial(workplace *at, int degree, double *logits, map_parameters *parameters) {
  ridge_problem problem = problem_of(at, 1 + degree);
  double found[MOST_PARAMETERS] = {0.0};
  set_line_ridge(at, &problem);
  problem.columns[1] = at->positions;
  if (degree == 2) {
    FOR_SPANS(&at->signals, at->n) {
      for (size_t j = first; j < end; j++) at->columns[2][j] = at->positions[j] * at->positions[j];
    }
    problem.ridge[2] = problem.ridge[1];
  }
  set_to_centre(&problem, found);
  int is_minimum = minimise(at, &problem, found);
  set_exponents(at, &problem, found, logits);
  memcpy(parameters->of_powers, found, sizeof parameters->of_powers);
  return told(degree == 2 ? MAP_QUADRATIC : MAP_LOGISTIC, is_minimum);
}

/*
 * The minimum with slopes of at least 0. Where the minimum has a negative one, the one that is sought has a slope of 0: for a convex
 * loss, it is the least of those minima without one or both that keep the bounds.
 */
static int minimise_with_bounds(workplace *at, const ridge_problem *problem, double *best) {
  static const unsigned WITHOUT[3] = {1u << 1, 1u << 2, 1u << 1 | 1u << 2};
  int is_minimum = minimise(at, problem, best);
  if (best[1] >= 0.0 && best[2] >= 0.0) return is_minimum;
  double least = infinity();
  for (int i = 0; i < 3; i++) {
    ridge_problem part = *problem;
    ridge_place found;
    part.fixed = WITHOUT[i];
    set_to_centre(&part, found.parameters);
    int is_minimum_of_part = minimise(at, &part, found.parameters);
    evaluate(at, &part, &found);
    if (found.parameters[1] < 0.0 || found.parameters[2] < 0.0 || !(found.loss < least)) continue;
    least = found.loss;
    is_minimum = is_minimum_of_part;
    memcpy(best, found.parameters, 3 * sizeof *best);
  }
  return is_minimum;
}

/* The logits c + a log s - b log(1 - s), with a, b >= 0; a line where scores are not probabilities. */
static uint32_t fit_beta(workplace *at, double *logits, map_parameters *parameters) {
  if (!at->cells->are_probabilities) {
    return fit_polynomial(at, 1, logits, parameters);
  }
  ridge_problem problem = problem_of(at, 3);
  FOR_SPANS(&at->signals, at->n) {
    for (size_t j = first; j < end; j++) logits[j] = -at->positions[j];
    at->kernels->softplus(logits + first, end - first, at->columns[1] + first);
    for (size_t j = first; j < end; j++) at->columns[1][j] = -at->columns[1][j];
    at->kernels->softplus(at->positions + first, end - first, at->columns[2] + first);
  }
  for (int i = 0; i < 3; i++) problem.ridge[i] = TOWARDS_IDENTITY;
  problem.centre[1] = problem.centre[2] = 1.0;
  double found[MOST_PARAMETERS];
  set_to_centre(&problem, found);
  int is_minimum = minimise_with_bounds(at, &problem, found);
  set_exponents(at, &problem, found, logits);
  memcpy(parameters->of_powers, found, sizeof parameters->of_powers);
  return told(MAP_BETA, is_minimum);
}

/*
 * The cells of the knots: quantiles of the rows that are apart, each the least cell up to which lies at least its share. Between
 * knots that are nearly equal the spline would be steeper than doubles can follow.
 */
static int find_knots(workplace *at, size_t *places) {
  const double *counts = at->cells->counts, *z = at->positions;
  double total = 0.0, cumulative = 0.0;
  int n_knots = 0, next = 0;
  FOR_SPANS(&at->signals, at->n) {
    for (size_t j = first; j < end; j++) total += counts[j];
  }
  FOR_SPANS(&at->signals, at->n) {
    for (size_t j = first; j < end && next < MOST_KNOTS; j++) {
      cumulative += counts[j];
      if (cumulative * 40.0 < KNOT_FORTIETHS[next] * total) continue;
      while (next < MOST_KNOTS && cumulative * 40.0 >= KNOT_FORTIETHS[next] * total) next++;
      size_t last = n_knots ? places[n_knots - 1] : 0;
      int is_apart = at->standard[j] - at->standard[last] > LEAST_SPACING && z[j] - z[last] > LEAST_LOGITS;
      if (n_knots == 0 || is_apart) places[n_knots++] = j;
    }
  }
  return n_knots;
}

/* What C scores with: position, logit and second derivative at each knot. */
static void show_knots(const workplace *at, const size_t *places, const double *knots, int k, const double *found,
                       const double *logits, map_parameters *parameters) {
  const double *z = at->positions;
  double range = knots[k - 1] - knots[0], per_position = range / (z[places[k - 1]] - z[places[0]]);
  parameters->n_knots = (uint32_t)k;
  for (int i = 0; i < k; i++) {
    double second = 0.0, of_inner = larger(knots[i] - knots[k - 2], 0.0) / (knots[k - 1] - knots[k - 2]);
    for (int j = 0; j < k - 2; j++) {
      second += 6.0 * found[2 + j] * (larger(knots[i] - knots[j], 0.0) / (knots[k - 1] - knots[j]) - of_inner);
    }
    parameters->knots[i][0] = z[places[i]];
    parameters->knots[i][1] = logits[places[i]];
    parameters->knots[i][2] = second * (per_position * per_position);
  }
}

/*
 * A natural cubic spline in the positions; beta where fewer than three knots are apart. Its line is drawn towards the identity as
 * beta is, but gives way once it is far from there: the ridge on a parameter that lies d away at first is divided by
 * 1 + (d / GIVES_WAY)^2, and the spline fitted again.
 */
static uint32_t fit_spline(workplace *at, double *logits, map_parameters *parameters) {
  size_t places[MOST_KNOTS];
  double knots[MOST_KNOTS], found[MOST_PARAMETERS];
  standardise(at, at->positions, at->standard);
  int k = find_knots(at, places);
  if (k < 3) return fit_beta(at, logits, parameters);
  for (int i = 0; i < k; i++) knots[i] = at->standard[places[i]];
  ridge_problem problem = problem_of(at, k);
  set_line_ridge(at, &problem);
  problem.columns[1] = at->positions;
  for (int i = 2; i < k; i++) {
    FOR_SPANS(&at->signals, at->n) {
      at->kernels->natural_column(at->standard + first, end - first, knots, k, i - 2, at->columns[i] + first);
    }
    problem.ridge[i] = BENDS_TOWARDS_ZERO;
  }
  set_to_centre(&problem, found);
  int is_minimum = minimise(at, &problem, found);
  if (at->cells->are_probabilities && is_minimum) {
    for (int i = 0; i < 2; i++) {
      double away = (found[i] - problem.centre[i]) / GIVES_WAY;
      problem.ridge[i] /= 1.0 + away * away;
    }
    is_minimum = minimise(at, &problem, found);
  }
  set_exponents(at, &problem, found, logits);
  show_knots(at, places, knots, k, found, logits, parameters);
  return told(MAP_SPLINE, is_minimum);
}

/*
 * Entries without weight start no block and change none. A block takes up those before it while their mean is not below its own;
 * means are kept, so that each is one division.
 */
size_t fastbin_pool(const double *weights, const double *sums, size_t n, const pooled_blocks *into, int (*look)(void)) {
  watch signals = {look, 0};
  size_t n_blocks = 0;
  FOR_SPANS(&signals, n) {
    for (size_t j = first; j < end; j++) {
      double weight = weights[j], sum = sums[j];
      int64_t start = (int64_t)j;
      if (!(weight > 0.0)) continue;
      double mean = sum / weight;
      for (; n_blocks > 0 && into->means[n_blocks - 1] >= mean; mean = sum / weight) {
        n_blocks--;
        weight += into->weights[n_blocks];
        sum += into->sums[n_blocks];
        start = into->starts[n_blocks];
      }
      into->weights[n_blocks] = weight;
      into->sums[n_blocks] = sum;
      into->means[n_blocks] = mean;
      into->starts[n_blocks++] = start;
    }
  }
  return signals.has_stopped ? POOLING_INTERRUPTED : n_blocks;
}

static size_t block_end(const pooled_blocks *blocks, size_t b, size_t n_blocks, size_t n) {
  return b + 1 < n_blocks ? (size_t)blocks->starts[b + 1] : n;
}

/*
 * Centred isotonic regression: blocks of pooled violators, moved inside (0, 1); lines between their mean scores. These are kept as
 * distances from the first score of their block, as a double may not tell two of them apart by themselves.
 */
static void fit_isotonic(workplace *at, double *logits) {
  const double *counts = at->cells->counts;
  double *x = at->columns[4];
  pooled_blocks blocks = {(int64_t *)(void *)at->second_member, at->columns[1], at->columns[2], at->columns[3]};
  double *values = blocks.sums, *firsts = at->standard, *offsets = blocks.means;
  scale(at, 1000, x); /* as large as sums allow, so that subnormal scores keep their differences */
  size_t n_blocks = fastbin_pool(counts, at->ones, at->n, &blocks, at->signals.look);
  if (n_blocks == POOLING_INTERRUPTED) {
    at->signals.has_stopped = 1;
    return;
  }
  for (size_t b = 0; b < n_blocks; b++) {
    size_t start = (size_t)blocks.starts[b], stop = block_end(&blocks, b, n_blocks, at->n);
    double value = (blocks.sums[b] + 0.5) / (blocks.weights[b] + 1.0), offset = 0.0;
    values[b] = b ? larger(value, values[b - 1]) : value;
    firsts[b] = x[start];
    for (size_t j = start; j < stop; j++) offset += counts[j] / blocks.weights[b] * (x[j] - firsts[b]);
    offsets[b] = offset;
  }
  size_t below = 0;
  FOR_SPANS(&at->signals, at->n) {
    for (size_t j = first; j < end; j++) {
      while (below + 2 < n_blocks && x[j] - firsts[below + 1] >= offsets[below + 1]) below++;
      size_t above = below + 1 < n_blocks ? below + 1 : below;
      double gap = firsts[above] - firsts[below] + (offsets[above] - offsets[below]);
      /* A share of the gap, and not a slope, which would overflow between scores next to each other. */
      double along = gap > 0.0 ? within((x[j] - firsts[below] - offsets[below]) / gap, 0.0, 1.0) : 0.0;
      logits[j] = values[below] + along * (values[above] - values[below]);
    }
    /* Inside (0, 1) by half a row in the rows of a block. */
    at->kernels->logits(logits + first, 0x1p-1022, end - first, logits + first);
  }
}

static double bound_of(const workplace *at, double least) {
  double ends[1] = {least}, logit[1];
  at->kernels->logits(ends, least, 1, logit);
  return -logit[0];
}

/* The loss of some logits, padded, without a ridge. */
static double loss_of(workplace *at, const double *logits) {
  static const double AS_THEY_ARE[2] = {0.0, 1.0};
  ridge_problem problem = problem_of(at, 2);
  double sums[1 + 2 + 3][LANES];
  problem.columns[1] = logits;
  memset(sums, 0, sizeof sums);
  FOR_SPANS(&at->signals, problem.n) at->kernels->add_derivatives(&problem, AS_THEY_ARE, first, end, sums);
  return folded(sums[0]);
}

/*
 * The mean of beta, isotonic (temperature for few rows) and spline in the logit; and where scores are probabilities, mixed with the
 * identity as far as the rows do not contradict it: its weight is n0 / (n0 + n) min(1, c / D), with D twice the log-likelihood that
 * the map gains on it. The map is moved inside [h, 1 - h], h half a row of all, beyond which rows tell no rates apart; the identity
 * inside [h / 100, 1 - h / 100], but for what keeps the order of scores.
 */
static uint32_t fit_mixture(workplace *at, double *logits) {
  map_parameters unused;
  double bound = bound_of(at, LEAST_PROBABILITY), rows = at->cells->rows;
  int are_few = at->cells->are_probabilities && rows < FEWEST_FOR_ISOTONIC;
  const double *weights = are_few ? MIXTURE_WEIGHTS_OF_FEW : MIXTURE_WEIGHTS;
  uint32_t wrong = 0;
  for (size_t j = 0; j < at->n_padded; j++) logits[j] = 0.0;
  for (int i = 0; i < 3; i++) {
    if (i == 0) wrong |= fit_beta(at, at->member, &unused);
    if (i == 1 && are_few) wrong |= fit_temperature(at, at->member);
    if (i == 1 && !are_few) fit_isotonic(at, at->member);
    if (i == 2) wrong |= fit_spline(at, at->member, &unused);
    FOR_SPANS(&at->signals, at->n) {
      for (size_t j = first; j < end; j++) logits[j] += weights[i] * within(at->member[j], -bound, bound);
    }
  }
  if (!at->cells->are_probabilities) return wrong;
  bound = bound_of(at, half_step(at->cells));
  double *identity = at->columns[1], nearer = bound_of(at, half_step(at->cells) / NEARER);
  FOR_SPANS(&at->signals, at->n) {
    for (size_t j = first; j < end; j++) logits[j] = within(logits[j], -bound, bound);
    at->kernels->logits(at->cells->scores + first, DBL_MIN, end - first, identity + first);
    for (size_t j = first; j < end; j++) {
      double inside = within(identity[j], -nearer, nearer);
      identity[j] = inside + FAINT * (identity[j] - inside);
    }
  }
  double gained = 2.0 * (loss_of(at, identity) - loss_of(at, logits));
  double weight = IDENTITY_ROWS / (IDENTITY_ROWS + rows) * (IDENTITY_FREE / larger(gained, IDENTITY_FREE));
  FOR_SPANS(&at->signals, at->n) {
    for (size_t j = first; j < end; j++) logits[j] = (1.0 - weight) * logits[j] + weight * identity[j];
  }
  return wrong;
}

/* `logits` has room for the padding. */
static uint32_t fit_in(workplace *at, value_map map, double *logits, map_parameters *parameters) {
  uint32_t wrong = 0;
  memset(parameters, 0, sizeof *parameters);
  if (map == MAP_MIXTURE) wrong = fit_mixture(at, logits);
  if (map == MAP_BETA) wrong = fit_beta(at, logits, parameters);
  if (map == MAP_ISOTONIC) fit_isotonic(at, logits);
  if (map == MAP_LOGISTIC) wrong = fit_polynomial(at, 1, logits, parameters);
  if (map == MAP_QUADRATIC) wrong = fit_polynomial(at, 2, logits, parameters);
  if (map == MAP_SPLINE) wrong = fit_spline(at, logits, parameters);
  return at->signals.has_stopped ? MAP_INTERRUPTED : wrong;
}

uint32_t fastbin_fit_map(value_map map, const map_cells *cells, double *logits, map_parameters *parameters, double *scratch) {
  workplace at = workplace_of(cells, scratch + padded(cells->n));
  uint32_t wrong = fit_in(&at, map, scratch, parameters);
  memcpy(logits, scratch, cells->n * sizeof *logits);
  return wrong;
}

/* ------------------------------------------------------------------------------------------------- steps */

static size_t bin_end(const step_bins *bins, size_t b, size_t n_steps) {
  return b + 1 < bins->n ? (size_t)bins->first_step[b + 1] : n_steps;
}

static double bin_mean(const step_bins *bins, size_t b, double half) {
  double total = bins->counts[b] + 2.0 * half;
  return total > 0.0 ? (bins->ones[b] + half) / total : 0.5;
}

/* The mean over the rows of a bin; over its steps, where it has no rows. */
static double mean_value(const double *steps, const double *counts, size_t n) {
  double total = sum_of(counts, n);
  if (total > 0.0) return sum_of_products(counts, steps, n) / total;
  return sum_of(steps, n) / (double)n;
}

/*
 * Moves each bin by a share kappa of the distance from its mean value to its mean label: the positive part of James and Stein's
 * estimator, kappa = 1 - (B - 2) / chi2, chi2 the sum of squared distances in their standard errors, so that distances that chance
 * explains are left as they are. In the order of the bins; `away` has room for them.
 */
static void shift(recentring recentre, const double *counts, size_t n, const step_bins *bins, double *steps, double *away) {
  double chi2 = 0.0, kappa = 1.0;
  for (size_t b = 0; b < bins->n; b++) {
    size_t first = (size_t)bins->first_step[b], size = bin_end(bins, b, n) - first;
    double mean = mean_value(steps + first, counts + first, size), evidence = bins->counts[b];
    away[b] = 0.0;
    if (!(evidence > 0.0)) continue;
    double least = 1.0 / (evidence + 1.0), q = within(mean, least, 1.0 - least);
    away[b] = bin_mean(bins, b, 0.0) - mean;
    chi2 += away[b] * away[b] * evidence / (q * (1.0 - q));
  }
  if (recentre == RECENTRE_JAMES_STEIN && bins->n > 2) {
    kappa = chi2 > 0.0 ? larger(1.0 - (double)(bins->n - 2) / chi2, 0.0) : 0.0;
  }
  for (size_t b = 0; b < bins->n; b++) {
    for (size_t j = (size_t)bins->first_step[b]; j < bin_end(bins, b, n); j++) steps[j] += kappa * away[b];
  }
}

void fastbin_pool_steps(double *steps, const double *counts, size_t n, double *scratch) {
  pooled_blocks blocks = {(int64_t *)(void *)scratch, scratch + n, scratch + 2 * n, scratch + 3 * n};
  double *weights = scratch + 4 * n, *sums = scratch + 5 * n, least = steps[0], greatest = steps[0], before = -infinity();
  int falls = 0;
  for (size_t j = 1; j < n; j++) falls |= steps[j] < steps[j - 1];
  if (!falls) return;
  for (size_t j = 0; j < n; j++) {
    weights[j] = larger(counts[j], WEIGHT_OF_NO_ROW);
    sums[j] = weights[j] * steps[j];
    least = smaller(steps[j], least);
    greatest = larger(steps[j], greatest);
  }
  size_t n_blocks = fastbin_pool(weights, sums, n, &blocks, NULL);
  for (size_t b = 0; b < n_blocks; b++) {
    size_t start = (size_t)blocks.starts[b], stop = block_end(&blocks, b, n_blocks, n);
    int is_even = 1;
    for (size_t j = start + 1; j < stop; j++) is_even &= steps[j] == steps[start];
    /* Rounding may bring a mean outside the values that it is of, or below the block before it. */
    before = larger(is_even ? steps[start] : blocks.means[b], before);
    for (size_t j = start; j < stop; j++) steps[j] = within(before, least, greatest);
  }
}

uint32_t fastbin_fit_steps(value_map map, recentring recentre, int monotone, const map_cells *cells, const step_bins *bins,
                           double *steps, double *scratch) {
  double half = half_step(cells), *own = scratch + padded(cells->n);
  size_t n = cells->n;
  uint32_t wrong = 0;
  if (map == BIN_MEAN || map == BIN_JEFFREYS) {
    for (size_t b = 0; b < bins->n; b++) {
      double mean = bin_mean(bins, b, map == BIN_MEAN ? 0.0 : 0.5);
      for (size_t j = (size_t)bins->first_step[b]; j < bin_end(bins, b, n); j++) steps[j] = mean;
    }
  } else {
    map_parameters unused;
    workplace at = workplace_of(cells, own);
    wrong = fit_in(&at, map, scratch, &unused);
    at.kernels->sigmoid(scratch, n, steps);
    /* Where the identity is mixed in, values lie as near to 0 and 1 as scores do; re-centring brings none nearer. */
    double *least = at.columns[1], *most = at.columns[2];
    for (size_t j = 0; j < n; j++) {
      least[j] = half;
      most[j] = 1.0 - half;
    }
    if (map == MAP_MIXTURE && cells->are_probabilities) {
      for (size_t j = 0; j < n; j++) {
        least[j] = smaller(half, steps[j]);
        most[j] = larger(1.0 - half, steps[j]);
      }
    }
    if (recentre != RECENTRE_NONE) shift(recentre, cells->counts, n, bins, steps, own);
    for (size_t j = 0; j < n; j++) steps[j] = within(steps[j], least[j], most[j]);
  }
  if (monotone) fastbin_pool_steps(steps, cells->counts, n, own);
  return wrong;
}
