/*
 * validate.c: what a model must satisfy. Every fastbin_model passes here, from callers and from files.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include <math.h>

static int is_scheme(int32_t scheme) {
  switch ((fastbin_scheme)scheme) {
    case FASTBIN_SCHEME_OTHER:
    case FASTBIN_SCHEME_UMD:
    case FASTBIN_SCHEME_ZE:
    case FASTBIN_SCHEME_UMS:
    case FASTBIN_SCHEME_UMB:
    case FASTBIN_SCHEME_FIXED_WIDTH:
    case FASTBIN_SCHEME_EXPLICIT:
    case FASTBIN_SCHEME_SCALING_BINNING:
    case FASTBIN_SCHEME_CERTIFIED:
    case FASTBIN_SCHEME_CERTIFIED_FINE:
    case FASTBIN_SCHEME_ISOTONIC:
    case FASTBIN_SCHEME_PLATT:
    case FASTBIN_SCHEME_TEMPERATURE:
    case FASTBIN_SCHEME_BETA:
    case FASTBIN_SCHEME_QUADRATIC:
    case FASTBIN_SCHEME_SPLINE:
      return 1;
  }
  return 0;
}

static int is_rate_origin(int32_t origin) { return origin >= FASTBIN_RATE_NONE && origin <= FASTBIN_RATE_ESTIMATED; }

int fastbin_known_enumerators(const fastbin_model_spec *spec) {
  return spec->kind >= FASTBIN_STEP && spec->kind <= FASTBIN_SMOOTH && is_scheme(spec->scheme) &&
         spec->ties >= FASTBIN_TIES_NONE && spec->ties <= FASTBIN_TIES_WHOLE && spec->map >= FASTBIN_MAP_NONE &&
         spec->map <= FASTBIN_MAP_SPLINE && is_rate_origin(spec->source_rate_origin) &&
         is_rate_origin(spec->target_rate_origin) && spec->out_of_range >= FASTBIN_OUT_OF_RANGE_REFUSE &&
         spec->out_of_range <= FASTBIN_OUT_OF_RANGE_CLIP && spec->weights >= FASTBIN_WEIGHTS_GIVEN &&
         spec->weights <= FASTBIN_WEIGHTS_ESTIMATED;
}

/* Sizes and pointers, which the other checks rely on. */
static fastbin_status validate_shape(const fastbin_model_spec *spec) {
  int32_t least = spec->kind == FASTBIN_SMOOTH ? 0 : 1;
  int32_t most = spec->kind == FASTBIN_SMOOTH ? 0 : FASTBIN_MAX_BINS;
  if (spec->n_bins < least || spec->n_bins > most) return FASTBIN_ERROR_ARGUMENT;
  if (spec->kind != FASTBIN_STEP && spec->n_steps != 0) return FASTBIN_ERROR_ARGUMENT;
  if (spec->kind == FASTBIN_STEP && (spec->n_steps < spec->n_bins || spec->n_steps > most)) return FASTBIN_ERROR_ARGUMENT;
  if (spec->n_knots < 0 || spec->n_knots > FASTBIN_MAX_KNOTS || (spec->n_knots > 0 && !spec->knots)) {
    return FASTBIN_ERROR_ARGUMENT;
  }
  if (spec->n_bins > 0 && !spec->values) return FASTBIN_ERROR_ARGUMENT;
  if (fastbin_n_edges(spec) > 0 && !spec->edges) return FASTBIN_ERROR_ARGUMENT;
  if (spec->note_size > 0 && !spec->note) return FASTBIN_ERROR_ARGUMENT;
  return FASTBIN_OK;
}

static fastbin_status validate_edges(const fastbin_model_spec *spec) {
  int32_t n_edges = fastbin_n_edges(spec);
  for (int32_t i = 0; i < n_edges; i++) {
    uint64_t key = spec->edge_keys ? spec->edge_keys[i] : FASTBIN_KEY_ABOVE;
    if (!is_finite(spec->edges[i])) return FASTBIN_ERROR_EDGES;
    if (spec->kind == FASTBIN_LINEAR && key != FASTBIN_KEY_ABOVE) return FASTBIN_ERROR_EDGES;
    if (i == 0) continue;
    if (is_less(spec->edges[i], spec->edges[i - 1])) return FASTBIN_ERROR_EDGES;
    if (!is_less(spec->edges[i - 1], spec->edges[i])) {
      /* A step model may have equal pairs: the bin between them is always empty, which does no harm. */
      if (spec->kind == FASTBIN_LINEAR) return FASTBIN_ERROR_EDGES;
      if (spec->edge_keys && key < spec->edge_keys[i - 1]) return FASTBIN_ERROR_EDGES;
    }
  }
  return FASTBIN_OK;
}

static int is_probability(double x) { return is_between(0.0, x, 1.0); }

static fastbin_status validate_values(const fastbin_model_spec *spec) {
  for (int32_t i = 0; i < fastbin_n_values(spec); i++) {
    if (!is_probability(spec->values[i])) return FASTBIN_ERROR_VALUES;
  }
  if (!spec->pairs) return FASTBIN_OK;
  if (spec->kind != FASTBIN_STEP) return FASTBIN_ERROR_VALUES;
  for (int32_t i = 0; i < spec->n_steps; i++) {
    const double *pair = spec->pairs + 2 * (size_t)i;
    if (!is_probability(pair[0]) || !is_probability(pair[1]) || is_less(pair[1], pair[0])) return FASTBIN_ERROR_VALUES;
  }
  return FASTBIN_OK;
}

/*
 * The most samples that the bins of a fit can leave out: one for each edge that one has placed. In a split fit, and a stream that
 * went on from one, whose scheme is EXPLICIT, a part of all samples placed the edges, and nothing tells how many.
 */
static int64_t most_left_out(const fastbin_model_spec *spec) {
  switch ((fastbin_scheme)spec->scheme) {
    case FASTBIN_SCHEME_UMS:
    case FASTBIN_SCHEME_SCALING_BINNING:
    case FASTBIN_SCHEME_EXPLICIT:
    case FASTBIN_SCHEME_OTHER:
      return spec->n_samples;
    default:
      return spec->n_bins > spec->n_bins_asked ? spec->n_bins : spec->n_bins_asked;
  }
}

/*
 * The tally against itself and against the origin. A bin averages only samples that the fit has seen, so the totals of
 * either label cannot exceed it; subtracting from what is left cannot overflow, as adding up could.
 */
static fastbin_status validate_tally(const fastbin_model_spec *spec) {
  int64_t positives_left = spec->n_positive;
  int64_t negatives_left = spec->n_samples - spec->n_positive;
  if (!spec->counts && !spec->label_sums) return FASTBIN_OK;
  if (!spec->counts || !spec->label_sums || spec->kind != FASTBIN_STEP) return FASTBIN_ERROR_TALLY;
  for (int32_t i = 0; i < spec->n_bins; i++) {
    int64_t count = spec->counts[i];
    int64_t label_sum = spec->label_sums[i];
    if (count < 0 || label_sum < 0 || label_sum > count) return FASTBIN_ERROR_TALLY;
    if (label_sum > positives_left || count - label_sum > negatives_left) return FASTBIN_ERROR_ORIGIN;
    positives_left -= label_sum;
    negatives_left -= count - label_sum;
  }
  return positives_left + negatives_left <= most_left_out(spec) ? FASTBIN_OK : FASTBIN_ERROR_ORIGIN;
}

/* Whole ties left a sample out of every bin whose edge a rank placed; the real weights of a fit are averaged without that. */
static int leaves_samples_out(const fastbin_model_spec *spec) {
  int is_certified = spec->scheme == FASTBIN_SCHEME_CERTIFIED || spec->scheme == FASTBIN_SCHEME_CERTIFIED_FINE;
  return (spec->scheme == FASTBIN_SCHEME_UMD || is_certified) && !spec->weight_sums;
}

/* Whether r, f and y can be those of bin b, whose totals they come from. */
static int tie_counts_can_be(const fastbin_model_spec *spec, int32_t b) {
  int64_t r = spec->tie_counts[3 * (size_t)b], f = spec->tie_counts[3 * (size_t)b + 1], y = spec->tie_counts[3 * (size_t)b + 2];
  int64_t ones = spec->label_sums[b], zeros = spec->counts[b] - ones;
  if (y < 0 || y > 1 || f < y || f > r || r < 0) return 0;
  if (r == 0) return 1;
  if (r - f < 1 - y) return 0;
  /* Compared without additions that could overflow: what is left out is among the r. */
  if (leaves_samples_out(spec)) return f - y <= ones && (r - f) - (1 - y) <= zeros;
  return f <= ones && r - f <= zeros;
}

/* Whether the samples at the edge of bin b can be those of which r were sure to be there, f with label 1, among all of the bin. */
static int atom_counts_can_be(const fastbin_model_spec *spec, int32_t b) {
  const int64_t *ties = spec->tie_counts + 3 * (size_t)b;
  int64_t count = spec->atom_counts[2 * (size_t)b], ones = spec->atom_counts[2 * (size_t)b + 1];
  int64_t left_out = leaves_samples_out(spec), left_out_ones = left_out ? ties[2] : 0;
  if (ties[0] == 0) return count == 0 && ones == 0;
  if (ones < ties[1] || count < ones || count - ones < ties[0] - ties[1]) return 0;
  return ones - left_out_ones <= spec->label_sums[b] &&
         (count - ones) - (left_out - left_out_ones) <= spec->counts[b] - spec->label_sums[b];
}

static fastbin_status validate_ties(const fastbin_model_spec *spec) {
  int is_whole = spec->ties == FASTBIN_TIES_WHOLE;
  if (is_whole != (spec->tie_counts != NULL) || (spec->atom_counts && !is_whole)) return FASTBIN_ERROR_TALLY;
  if (!is_whole) return spec->edges_share == 0.0 ? FASTBIN_OK : FASTBIN_ERROR_ORIGIN;
  if (!spec->counts) return FASTBIN_ERROR_TALLY;
  if (spec->n_tied == 0 || !(spec->edges_share > 0.0 && spec->edges_share <= 1.0)) return FASTBIN_ERROR_ORIGIN;
  for (int32_t i = 0; spec->edge_keys && i < fastbin_n_edges(spec); i++) {
    if (spec->edge_keys[i] != FASTBIN_KEY_ABOVE && spec->edge_keys[i] != FASTBIN_KEY_BELOW) return FASTBIN_ERROR_EDGES;
  }
  for (int32_t b = 0; b < spec->n_bins; b++) {
    if (!tie_counts_can_be(spec, b)) return FASTBIN_ERROR_TALLY;
    if (spec->atom_counts && !atom_counts_can_be(spec, b)) return FASTBIN_ERROR_TALLY;
  }
  return FASTBIN_OK;
}

static fastbin_status validate_first_steps(const fastbin_model_spec *spec) {
  if (!spec->first_step) {
    if (fastbin_has_steps(spec) || spec->step_counts || spec->unlabelled_counts) return FASTBIN_ERROR_ARGUMENT;
    return FASTBIN_OK;
  }
  if (spec->kind != FASTBIN_STEP || (fastbin_has_steps(spec) && !spec->step_counts)) return FASTBIN_ERROR_ARGUMENT;
  for (int32_t b = 0; b < spec->n_bins; b++) {
    int64_t least = b > 0 ? spec->first_step[b - 1] + 1 : 0;
    if (spec->first_step[b] < least || (b == 0 && spec->first_step[b] > 0)) return FASTBIN_ERROR_EDGES;
    if (spec->first_step[b] >= spec->n_steps) return FASTBIN_ERROR_EDGES;
  }
  return FASTBIN_OK;
}

/* The samples of the fit in bin b, as its steps count them, or -1 if they cannot be counts of n_samples. */
static int64_t samples_of_steps(const fastbin_model_spec *spec, int32_t b) {
  int64_t sum = 0;
  for (int32_t i = fastbin_first_step(spec, b); i < fastbin_first_step(spec, b + 1); i++) {
    if (spec->step_counts[i] < 0 || spec->step_counts[i] > spec->n_samples - sum) return -1;
    sum += spec->step_counts[i];
  }
  return sum;
}

/*
 * The counts of steps against those of bins. Without tie counts it is not known whether a bin left out a sample: the lowest
 * never does, and which others do depends on the method.
 */
static fastbin_status validate_steps(const fastbin_model_spec *spec) {
  int64_t left = spec->n_samples;
  if (!spec->step_counts) return FASTBIN_OK;
  for (int32_t b = 0; b < spec->n_bins; b++) {
    int64_t of_steps = samples_of_steps(spec, b), left_out;
    if (of_steps < 0 || of_steps > left) return FASTBIN_ERROR_TALLY;
    left -= of_steps;
    if (!spec->counts) continue;
    left_out = of_steps - spec->counts[b];
    if (left_out < 0 || left_out > 1) return FASTBIN_ERROR_TALLY;
    if (spec->tie_counts && left_out != (leaves_samples_out(spec) && spec->tie_counts[3 * (size_t)b] > 0)) {
      return FASTBIN_ERROR_TALLY;
    }
  }
  for (int32_t i = 0; spec->unlabelled_counts && i < spec->n_steps; i++) {
    if (spec->unlabelled_counts[i] < 0) return FASTBIN_ERROR_TALLY;
  }
  return left == 0 ? FASTBIN_OK : FASTBIN_ERROR_TALLY;
}

/*
 * Whether some weights of `count` samples can have these sums: the label-1 weights are some of them, and sum w^2 lies between
 * (sum w)^2 / count (Cauchy and Schwarz) and (sum w)^2. Square roots, as squares overflow; with room for the rounding of sums,
 * and for the squares of weights below 1e-150, which lose their digits.
 */
static int weights_can_be(int64_t count, double sum, double label_sum, double square_sum) {
  const double rounding = 1.0 + 1e-9, lost = 1e-150;
  double root_count = sqrt((double)count), root_squares = sqrt(square_sum);
  return label_sum <= sum * rounding && root_squares <= sum * rounding + lost * root_count &&
         sum <= root_count * (root_squares + lost * root_count) * rounding;
}

static fastbin_status validate_weights(const fastbin_model_spec *spec) {
  const double *sums[3] = {spec->weight_sums, spec->weighted_label_sums, spec->weight_square_sums};
  if (!sums[0] && !sums[1] && !sums[2]) return spec->weights ? FASTBIN_ERROR_WEIGHTS : FASTBIN_OK;
  if (!sums[0] || !sums[1] || !sums[2] || !spec->counts) return FASTBIN_ERROR_WEIGHTS;
  for (int k = 0; k < 3; k++) {
    for (int32_t i = 0; i < spec->n_bins; i++) {
      if (!is_between(0.0, sums[k][i], DBL_MAX)) return FASTBIN_ERROR_WEIGHTS;
    }
  }
  for (int32_t i = 0; i < spec->n_bins; i++) {
    if (!weights_can_be(spec->counts[i], sums[0][i], sums[1][i], sums[2][i])) return FASTBIN_ERROR_WEIGHTS;
  }
  return FASTBIN_OK;
}

/* Whether a map takes logarithms of the score and its complement, which need a probability. */
static int takes_logarithms(int32_t map) {
  return map == FASTBIN_MAP_BETA || map == FASTBIN_MAP_QUADRATIC || map == FASTBIN_MAP_SPLINE;
}

/* The bound keeps the arithmetic of the spline finite, see fastbin_spline(). */
static int knots_can_be(const fastbin_model_spec *spec) {
  const double *knots = spec->knots;
  size_t n_knots = (size_t)spec->n_knots;
  if (spec->map != FASTBIN_MAP_SPLINE) return n_knots == 0;
  if (n_knots < 2) return 0;
  for (size_t i = 0; i < 3 * n_knots; i++) {
    if (!(fabs(knots[i]) <= 1e100)) return 0;
  }
  for (size_t i = 1; i < n_knots; i++) {
    if (!is_less(knots[3 * (i - 1)], knots[3 * i])) return 0;
  }
  return knots[2] == 0.0 && knots[3 * n_knots - 1] == 0.0;
}

static fastbin_status validate_map(const fastbin_model_spec *spec) {
  static const int n_parameters[] = {0, 2, 3, 3, 0};
  for (int i = 0; i < 4; i++) {
    if (!is_finite(spec->map_parameters[i])) return FASTBIN_ERROR_MAP;
    if (i >= n_parameters[spec->map] && spec->map_parameters[i] != 0.0) return FASTBIN_ERROR_MAP;
  }
  if (!knots_can_be(spec)) return FASTBIN_ERROR_MAP;
  if (!is_between(0.0, spec->clip, 0.5) || spec->clip == 0.5 || (spec->clip > 0.0 && !takes_logarithms(spec->map))) return FASTBIN_ERROR_MAP;
  if (spec->kind == FASTBIN_LINEAR && spec->map != FASTBIN_MAP_NONE) return FASTBIN_ERROR_MAP;
  if (spec->kind != FASTBIN_SMOOTH) return FASTBIN_OK;
  if (spec->map == FASTBIN_MAP_NONE) return FASTBIN_ERROR_MAP;
  if (takes_logarithms(spec->map) && (is_less(spec->score_min, 0.0) || is_less(1.0, spec->score_max))) return FASTBIN_ERROR_MAP;
  return FASTBIN_OK;
}

static fastbin_status validate_range(const fastbin_model_spec *spec) {
  if (is_nan(spec->score_min) || is_nan(spec->score_max)) return FASTBIN_ERROR_RANGE;
  /* At least one finite score must be in the range. */
  if (is_less(spec->score_max, spec->score_min) || is_less(DBL_MAX, spec->score_min) || is_less(spec->score_max, -DBL_MAX)) {
    return FASTBIN_ERROR_RANGE;
  }
  return FASTBIN_OK;
}

static fastbin_status validate_origin(const fastbin_model_spec *spec) {
  if (spec->n_samples < 0 || spec->n_positive < 0 || spec->n_positive > spec->n_samples) return FASTBIN_ERROR_ORIGIN;
  if (spec->n_tied < 0 || spec->n_tied > spec->n_samples) return FASTBIN_ERROR_ORIGIN;
  if (spec->n_bins_asked < 0) return FASTBIN_ERROR_ORIGIN;
  if (!is_between(0.0, spec->delta, 1.0) || spec->delta == 1.0) return FASTBIN_ERROR_ORIGIN;
  if (spec->delta > 0.0 && spec->kind != FASTBIN_STEP) return FASTBIN_ERROR_ORIGIN;
  if (!is_finite(spec->odds_ratio) || !is_less(0.0, spec->odds_ratio)) return FASTBIN_ERROR_ORIGIN;
  return FASTBIN_OK;
}

/* Whether a class rate agrees with its origin. */
static int rate_can_be(int32_t origin, double rate, int64_t count, int64_t ones) {
  switch ((fastbin_rate)origin) {
    case FASTBIN_RATE_NONE:
      return rate == 0.0 && count == 0 && ones == 0;
    case FASTBIN_RATE_GIVEN:
      return rate > 0.0 && rate < 1.0 && count == 0 && ones == 0;
    case FASTBIN_RATE_COUNTED:
      return rate > 0.0 && rate < 1.0 && count > 0 && ones >= 0 && ones <= count;
    case FASTBIN_RATE_ESTIMATED:
      return rate > 0.0 && rate < 1.0 && count > 0 && ones == 0;
  }
  return 0;
}

static fastbin_status validate_rates(const fastbin_model_spec *spec) {
  double p = spec->source_rate, q = spec->target_rate, odds_ratio;
  if (!rate_can_be(spec->source_rate_origin, p, spec->source_count, spec->source_ones)) return FASTBIN_ERROR_ORIGIN;
  if (!rate_can_be(spec->target_rate_origin, q, spec->target_count, spec->target_ones)) return FASTBIN_ERROR_ORIGIN;
  if ((spec->source_rate_origin == FASTBIN_RATE_NONE) != (spec->target_rate_origin == FASTBIN_RATE_NONE)) {
    return FASTBIN_ERROR_ORIGIN;
  }
  if (spec->source_rate_origin == FASTBIN_RATE_NONE) return FASTBIN_OK;
  if (spec->kind != FASTBIN_STEP) return FASTBIN_ERROR_ORIGIN;
  odds_ratio = q * (1.0 - p) / ((1.0 - q) * p);
  return fabs(spec->odds_ratio - odds_ratio) <= 1e-9 * odds_ratio ? FASTBIN_OK : FASTBIN_ERROR_ORIGIN;
}

/* The rank of the cut above slice b, from 1: ceil(b (n + 1) / n_slices), without a product that could overflow. */
static int64_t slice_rank(const fastbin_model_spec *spec, int32_t b) {
  int64_t whole = spec->n_samples / spec->n_slices, rest = spec->n_samples % spec->n_slices + 1;
  return b * whole + (b * rest + spec->n_slices - 1) / spec->n_slices;
}

static int slices_can_be(const fastbin_model_spec *spec) {
  int64_t positives_left = spec->n_positive, negatives_left = spec->n_samples - spec->n_positive, below = 0;
  for (int32_t b = 0; b < spec->n_slices; b++) {
    int is_last = b + 1 == spec->n_slices;
    int64_t rank = is_last ? spec->n_samples : slice_rank(spec, b + 1);
    int64_t ones = spec->slice_label_sums[b], count = rank - below - !is_last;
    if (ones < 0 || ones > count || ones > positives_left || count - ones > negatives_left) return 0;
    positives_left -= ones;
    negatives_left -= count - ones;
    below = rank;
  }
  return 1;
}

static fastbin_status validate_slices(const fastbin_model_spec *spec) {
  if (spec->n_slices == 0) return spec->slice_cuts || spec->slice_label_sums ? FASTBIN_ERROR_ARGUMENT : FASTBIN_OK;
  if (spec->kind != FASTBIN_STEP || !spec->slice_cuts || !spec->slice_label_sums) return FASTBIN_ERROR_ARGUMENT;
  if (spec->n_slices < 2 || spec->n_slices > FASTBIN_MAX_BINS) return FASTBIN_ERROR_ARGUMENT;
  if (spec->n_samples / 2 < spec->n_slices || !slices_can_be(spec)) return FASTBIN_ERROR_TALLY;
  for (int32_t b = 0; b < spec->n_slices - 1; b++) {
    if (!is_finite(spec->slice_cuts[b])) return FASTBIN_ERROR_EDGES;
    if (is_less(spec->slice_cuts[b], spec->score_min) || is_less(spec->score_max, spec->slice_cuts[b])) return FASTBIN_ERROR_EDGES;
    if (b > 0 && is_less(spec->slice_cuts[b], spec->slice_cuts[b - 1])) return FASTBIN_ERROR_EDGES;
  }
  return FASTBIN_OK;
}

/* The label-0 samples that were left out multiply the odds of the population by a known number, which has moved the values. */
static fastbin_status validate_sampling(const fastbin_model_spec *spec) {
  if (order_of(spec->sampling_rate) == 0) return FASTBIN_OK;
  if (!is_between(0.0, spec->sampling_rate, 1.0) || spec->kind != FASTBIN_STEP) return FASTBIN_ERROR_ORIGIN;
  if (spec->source_rate_origin != FASTBIN_RATE_NONE) return FASTBIN_ERROR_ORIGIN;
  return spec->odds_ratio == spec->sampling_rate ? FASTBIN_OK : FASTBIN_ERROR_ORIGIN;
}

/* Whether rows of which the tally counts some can be so many in each bin. Sums of them are exact in doubles. */
static int rows_can_be(const fastbin_model_spec *spec, const int64_t *rows) {
  int64_t left = INT64_C(1) << 53;
  if (!rows) return 1;
  if (!spec->counts) return 0;
  for (int32_t b = 0; b < spec->n_bins; b++) {
    if (rows[b] < spec->counts[b] || rows[b] > left) return 0;
    left -= rows[b];
  }
  return 1;
}

static fastbin_status validate_design(const fastbin_model_spec *spec) {
  return rows_can_be(spec, spec->pool_counts) && rows_can_be(spec, spec->population_counts) ? FASTBIN_OK : FASTBIN_ERROR_TALLY;
}

/* A score is above accept_above, or below reject_below, or neither; never both, and some finite score is not accepted. */
static fastbin_status validate_decision(const fastbin_model_spec *spec) {
  double above = spec->accept_above, below = spec->reject_below;
  if (spec->decision_size == 0) return order_of(above) == 0 && order_of(below) == 0 ? FASTBIN_OK : FASTBIN_ERROR_ARGUMENT;
  if (!spec->decision) return FASTBIN_ERROR_ARGUMENT;
  if (is_nan(above) || is_nan(below) || is_less(above, below)) return FASTBIN_ERROR_ORIGIN;
  if (is_less(above, -DBL_MAX) || is_less(DBL_MAX, below)) return FASTBIN_ERROR_ORIGIN;
  if (spec->decision_size > FASTBIN_MAX_DECISION_SIZE) return FASTBIN_ERROR_ORIGIN;
  return fastbin_is_utf8(spec->decision, spec->decision_size) ? FASTBIN_OK : FASTBIN_ERROR_ORIGIN;
}

static fastbin_status validate_texts(const fastbin_model_spec *spec) {
  if (spec->event_size > 0 && !spec->event) return FASTBIN_ERROR_ARGUMENT;
  if (spec->provenance_size > 0 && !spec->provenance) return FASTBIN_ERROR_ARGUMENT;
  if (spec->event_size > FASTBIN_MAX_EVENT_SIZE || !fastbin_is_utf8(spec->event, spec->event_size)) return FASTBIN_ERROR_ORIGIN;
  return fastbin_provenance_can_be(spec->provenance, spec->provenance_size) ? FASTBIN_OK : FASTBIN_ERROR_ORIGIN;
}

fastbin_status fastbin_validate_spec(const fastbin_model_spec *spec) {
  /* validate_shape() first, as the others read through its pointers; validate_origin() before validate_tally() subtracts. */
  static fastbin_status (*const checks[])(const fastbin_model_spec *) = {
      validate_shape, validate_range, validate_first_steps, validate_edges, validate_values, validate_origin,
      validate_rates, validate_tally, validate_weights,     validate_ties,  validate_steps,  validate_map,
      validate_slices, validate_texts, validate_sampling,   validate_design, validate_decision,
  };
  if (!fastbin_known_enumerators(spec)) return FASTBIN_ERROR_ARGUMENT;
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    fastbin_status status = checks[i](spec);
    if (status != FASTBIN_OK) return status;
  }
  return FASTBIN_OK;
}
