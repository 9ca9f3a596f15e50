/*
 * specs.h: specs to make models from.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_TESTS_SPECS_H
#define FASTBIN_TESTS_SPECS_H

#include "fastbin.h"

#include <math.h>
#include <string.h>

/* A spec with everything set that must not be zero: any finite score, no edges yet. */
static inline fastbin_model_spec empty_spec(fastbin_kind kind) {
  fastbin_model_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.struct_size = sizeof spec;
  spec.kind = kind;
  spec.score_min = -INFINITY;
  spec.score_max = INFINITY;
  spec.odds_ratio = 1.0;
  return spec;
}

/* Rows of doubles that follow each other, with nothing else set. */
static inline fastbin_rows rows_over(const double *scores, size_t n) {
  fastbin_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = scores;
  rows.score_stride = sizeof(double);
  rows.n_rows = n;
  return rows;
}

/* A small weighted step model with everything in it. The arrays are static: one of each exists. */
static inline fastbin_model_spec full_spec(void) {
  static const double edges[] = {0.25, 0.5, 0.5};
  static const uint64_t keys[] = {FASTBIN_KEY_ABOVE, 1000, FASTBIN_KEY_BELOW};
  static const double values[] = {0.125, 0.5, 0.25, 1.0};
  static const int64_t counts[] = {8, 2, 4, 1};
  static const int64_t label_sums[] = {1, 1, 1, 1};
  static const double weight_sums[] = {4.0, 1.5, 2.0, 0.5};
  static const double weighted_label_sums[] = {0.5, 0.75, 0.5, 0.5};
  static const double weight_square_sums[] = {2.0, 1.25, 1.0, 0.25};
  static const double pairs[] = {0.0, 0.25, 0.5, 0.5, 0.125, 0.75, 0.875, 1.0};
  fastbin_model_spec spec = empty_spec(FASTBIN_STEP);
  spec.scheme = FASTBIN_SCHEME_UMD;
  spec.ties = FASTBIN_TIES_RANDOM;
  spec.map = FASTBIN_MAP_BETA;
  spec.map_parameters[0] = 1.5;
  spec.map_parameters[1] = 0.75;
  spec.map_parameters[2] = -0.5;
  spec.n_bins = 4;
  spec.n_bins_asked = 5;
  spec.edges = edges;
  spec.edge_keys = keys;
  spec.values = values;
  spec.counts = counts;
  spec.label_sums = label_sums;
  spec.weight_sums = weight_sums;
  spec.weighted_label_sums = weighted_label_sums;
  spec.weight_square_sums = weight_square_sums;
  spec.score_min = 0.0;
  spec.score_max = 1.0;
  spec.delta = 0.0;
  spec.odds_ratio = 2.0;
  spec.seed = 42;
  spec.n_samples = 18;
  spec.n_positive = 6;
  spec.n_tied = 3;
  spec.note = "{\"by\": \"test\"}";
  spec.note_size = 14;
  spec.pairs = pairs;
  spec.source_rate_origin = FASTBIN_RATE_COUNTED;
  spec.target_rate_origin = FASTBIN_RATE_GIVEN;
  spec.source_rate = 0.25;
  spec.target_rate = 0.4;
  spec.source_count = 18;
  spec.source_ones = 6;
  spec.weights = FASTBIN_WEIGHTS_ESTIMATED;
  spec.fingerprint = UINT64_C(0x0123456789ABCDEF);
  spec.event = "d\xc3\xa9" "faut\x1b";
  spec.event_size = 8;
  spec.provenance = "{\"version\":\"0.2.0\"}";
  spec.provenance_size = 19;
  return spec;
}

/* The same without weights and as it was before its values were moved, so that a stream can go on from it. */
static inline fastbin_model_spec countable_spec(void) {
  fastbin_model_spec spec = full_spec();
  spec.weight_sums = spec.weighted_label_sums = spec.weight_square_sums = NULL;
  spec.weights = FASTBIN_WEIGHTS_GIVEN;
  spec.odds_ratio = 1.0;
  spec.source_rate_origin = spec.target_rate_origin = FASTBIN_RATE_NONE;
  spec.source_rate = spec.target_rate = 0.0;
  spec.source_count = spec.source_ones = 0;
  return spec;
}

/* A two-bin model on [0, 1] with its edge at 0.5: values 0.25 and 0.75. */
static inline fastbin_model_spec half_spec(void) {
  static const double edge = 0.5;
  static const double values[] = {0.25, 0.75};
  fastbin_model_spec spec = empty_spec(FASTBIN_STEP);
  spec.n_bins = 2;
  spec.edges = &edge;
  spec.values = values;
  spec.score_min = 0.0;
  spec.score_max = 1.0;
  return spec;
}

/* Three bins of seven steps in all, with whole ties and unlabelled samples: 20 samples, 2 of which the bins leave out. */
static inline fastbin_model_spec stepped_spec(void) {
  static const double edges[] = {0.125, 0.25, 0.375, 0.5, 0.75, 0.875};
  static const uint64_t keys[] = {0, FASTBIN_KEY_BELOW, 0, 0, 0, FASTBIN_KEY_BELOW};
  static const double values[] = {0.0, 0.125, 0.25, 0.25, 0.5, 0.75, 1.0};
  static const int64_t counts[] = {6, 7, 5}, label_sums[] = {1, 3, 4};
  static const int64_t first_step[] = {0, 2, 5}, step_counts[] = {4, 2, 3, 3, 2, 1, 5};
  static const int64_t unlabelled[] = {40, 20, 30, 30, 0, 10, 50};
  static const int64_t tie_counts[] = {0, 0, 0, 3, 1, 0, 2, 2, 1};
  fastbin_model_spec spec = empty_spec(FASTBIN_STEP);
  spec.scheme = FASTBIN_SCHEME_CERTIFIED;
  spec.ties = FASTBIN_TIES_WHOLE;
  spec.n_bins = 3;
  spec.n_bins_asked = 3;
  spec.n_steps = 7;
  spec.edges = edges;
  spec.edge_keys = keys;
  spec.values = values;
  spec.counts = counts;
  spec.label_sums = label_sums;
  spec.first_step = first_step;
  spec.step_counts = step_counts;
  spec.unlabelled_counts = unlabelled;
  spec.tie_counts = tie_counts;
  spec.edges_share = 0.25;
  spec.score_min = 0.0;
  spec.score_max = 1.0;
  spec.seed = 42;
  spec.n_samples = 20;
  spec.n_positive = 9;
  spec.n_tied = 5;
  return spec;
}

/* Two bins of a stratified sample of a batch, from which label-0 samples were left out, with thresholds beside the edge. */
static inline fastbin_model_spec decided_spec(void) {
  static const int64_t counts[] = {4, 6}, label_sums[] = {1, 5}, pool[] = {4, 60}, population[] = {10, INT64_C(1) << 52};
  fastbin_model_spec spec = half_spec();
  spec.counts = counts;
  spec.label_sums = label_sums;
  spec.n_samples = 10;
  spec.n_positive = 6;
  spec.sampling_rate = spec.odds_ratio = 0.125;
  spec.pool_counts = pool;
  spec.population_counts = population;
  spec.accept_above = 0.75;
  spec.reject_below = 0.25;
  spec.decision = "{\"delta\":0.1}";
  spec.decision_size = 13;
  return spec;
}

/* A natural spline in the logit through (-2, -1), (0, 1/2) and (2, 1). */
static inline fastbin_model_spec spline_spec(void) {
  static const double knots[] = {-2.0, -1.0, 0.0, 0.0, 0.5, -0.375, 2.0, 1.0, 0.0};
  fastbin_model_spec spec = empty_spec(FASTBIN_SMOOTH);
  spec.scheme = FASTBIN_SCHEME_SPLINE;
  spec.map = FASTBIN_MAP_SPLINE;
  spec.n_knots = 3;
  spec.knots = knots;
  spec.clip = 0.0078125;
  spec.score_min = 0.0;
  spec.score_max = 1.0;
  return spec;
}

#endif /* FASTBIN_TESTS_SPECS_H */
