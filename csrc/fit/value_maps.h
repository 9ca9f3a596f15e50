/*
 * value_maps.h: fits of maps from scores to probabilities, to counts in cells. For the Python package; not part of the API.
 *
 * A cell is a run of scores with a representative, the number of its rows, and how many of them have label 1. Every map is
 * defined for any cells: those with parameters carry a ridge, so that their loss has one minimum. All give the same bits on
 * every processor (map_kernels.h).
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_VALUE_MAPS_H
#define FASTBIN_VALUE_MAPS_H

#include "map_kernels.h"

#include <stdint.h>

/* The maps, and what stands in a bin without one: its mean label, or that with half a row more of either label. */
typedef enum value_map {
  MAP_MIXTURE,
  MAP_BETA,
  MAP_ISOTONIC,
  MAP_LOGISTIC,
  MAP_QUADRATIC,
  MAP_SPLINE,
  BIN_MEAN,
  BIN_JEFFREYS
} value_map;

/* How far values are moved, bin by bin, so that their mean agrees with the mean label. */
typedef enum recentring { RECENTRE_NONE, RECENTRE_JAMES_STEIN, RECENTRE_FULL } recentring;

/* What a fit ends with; of several maps that did not converge each has its bit. */
#define MAP_INTERRUPTED UINT32_C(0x80000000)
#define MAP_DID_NOT_CONVERGE(map) (UINT32_C(1) << (map))

typedef struct map_cells {
  size_t n;                            /* cells, one at least */
  const double *scores, *counts, *ones; /* scores ascend; counts >= 0, one of them positive; 0 <= ones <= counts */
  double rows;                         /* to which the counts add up; also with the rows that weights stand for */
  int are_probabilities;               /* scores lie in [0, 1], and maps are drawn towards leaving them as they are */
  uint32_t most_steps;                 /* of a descent */
  int (*look)(void);                   /* called now and then, unless it is NULL; not 0: end the work */
} map_cells;

/* What a map has beside its values at the cells. */
typedef struct map_parameters {
  double of_powers[3];  /* polynomials, from the lowest power on; of beta the constant and the slopes of log s, -log(1 - s) */
  uint32_t n_knots;     /* of a spline; 0 for another map, also for beta in the place of a spline */
  double knots[5][3];   /* position, logit and second derivative */
} map_parameters;

/* The doubles that a fit needs for itself. */
size_t fastbin_map_scratch(size_t n);

/* The logits of the cells, and the parameters of maps that have some. Returns the bits of what went wrong. */
uint32_t fastbin_fit_map(value_map map, const map_cells *cells, double *logits, map_parameters *parameters, double *scratch);

/* Adjacent violators, pooled: where each block starts among the entries, its weight, its sum, and the quotient of the two. */
typedef struct pooled_blocks {
  int64_t *starts;
  double *weights, *sums, *means;
} pooled_blocks;

/* What pooling returns where `look` wants the work to end. */
#define POOLING_INTERRUPTED ((size_t)-1)

/* Pools entries of weights from 0 on whose means fall, or are equal; each array of `into` has room for n. Returns the number of
   blocks. `look` may be NULL. O(n). */
size_t fastbin_pool(const double *weights, const double *sums, size_t n, const pooled_blocks *into, int (*look)(void));

/* The steps of a model of two resolutions: cells in bins, with the evidence of each bin. */
typedef struct step_bins {
  size_t n;
  const int64_t *first_step; /* ascending from 0 */
  const double *counts, *ones;
} step_bins;

/* The value of each step: a map, re-centred in its bins, inside [h, 1 - h], h = .5 / (rows + 1), and pooled where it falls, if asked
   for. A mixture with the identity goes beyond h where scores do, down to h / 100 and a trace. */
uint32_t fastbin_fit_steps(value_map map, recentring recentre, int monotone, const map_cells *cells, const step_bins *bins,
                           double *steps, double *scratch);

/* The non-decreasing steps nearest to these in squares over the rows; steps that do not fall keep every bit. */
void fastbin_pool_steps(double *steps, const double *counts, size_t n, double *scratch);

#endif /* FASTBIN_VALUE_MAPS_H */
