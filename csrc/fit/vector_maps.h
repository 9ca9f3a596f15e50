/*
 * vector_maps.h: affine maps of the logarithms of a row, fitted to classes by a penalised likelihood.
 *
 * The same bits on every processor, as map_kernels.h has it; another order of the rows or of the columns changes rounding alone.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_VECTOR_MAPS_H
#define FASTBIN_VECTOR_MAPS_H

#include <stddef.h>
#include <stdint.h>

/* A callback of value_maps.h's kind, which is not 0 where the fit shall stop. */
typedef int look_out(void);

/*
 * The loss sum_i w_i (log sum_k e^u_ik - u_i,truth) + sum ridge D^2 / 2 + ridge_intercept sum c^2 / 2 of the exponents
 *
 *     u_ik = base z_ik + offset_ik + sum_j D_kj (z_ij - centre_kj) + c_k
 *
 * with D a matrix, or without `is_matrix` its diagonal, in which case arrays of D have k entries.
 */
typedef struct affine_problem {
  size_t n, k;             /* rows, columns */
  const double *z;         /* n x k */
  const double *offsets;   /* n x k, or NULL: zeros */
  const int64_t *truth;    /* n: the column of each row's class */
  const double *weights;   /* n, >= 0, or NULL: ones */
  double base;
  int is_matrix;
  const double *centres, *ridge; /* k x k or k; ridge > 0 */
  double ridge_intercept;        /* > 0 */
  uint32_t most_steps;
  look_out *look;
} affine_problem;

#define VECTOR_INTERRUPTED UINT32_MAX

/* The doubles of scratch that a fit needs; 0 if a size_t does not hold them. */
size_t fastbin_affine_scratch(size_t k, int is_matrix);

/* The minimum, D and then c in `parameters`, which begin where they are. Returns the steps taken: most_steps if it was not reached;
   VECTOR_INTERRUPTED if `look` said so. */
uint32_t fastbin_fit_affine(const affine_problem *problem, double *parameters, double *scratch);

/*
 * The factor t of z alone, in [0, 1e3], that minimises the loss of the exponents t z_ik + offset_ik plus rows v (t - 1)^2 / 2, where v
 * is the mean variance of z within a row at t = 1, over rows by how much they are in doubt. *least is that minimum.
 */
double fastbin_fit_factor(const affine_problem *problem, double rows, double *least, double *scratch);

/*
 * Where it is in doubt which class a row has, by the exponents base z + offset: for each D the mean of its z over the rows, each with
 * the weight w q (1 - q) of the class and a trace, and the variance, at least LEAST_VARIANCE. So a ridge that is a number of rows
 * times this variance draws alike on columns of any scale. Returns 0 if `look` ended it.
 */
int fastbin_doubtful_moments(const affine_problem *problem, double *means, double *variances, double *scratch);

/* z = log(max(p, least)), as vector.c takes it. */
void fastbin_logs(const double *p, size_t n, double least, double *z);

#endif /* FASTBIN_VECTOR_MAPS_H */
