/*
 * map_kernels.h: the arithmetic of fits of maps, which gives the same bits on every processor.
 *
 * exp, log and log(1 + x) are those of exponents.h. Sums go through LANES partial sums, entry j in lane j mod LANES, folded
 * ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)): one register of 512 bits, two of 256, four of 128, and the same bits.
 * Arrays have a multiple of LANES entries, the last ones padding with which a sum does not change.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_MAP_KERNELS_H
#define FASTBIN_MAP_KERNELS_H

#include <stddef.h>

#define LANES 8u
#define MOST_PARAMETERS 5
#define MOST_BENDS (MOST_PARAMETERS * (MOST_PARAMETERS + 1) / 2)

static inline size_t padded(size_t n) { return (n + LANES - 1) / LANES * LANES; }

/* The loss sum (zeros log(1 + e^z) + ones log(1 + e^-z)) + sum ridge (p - centre)^2 / 2, with z = p_0 + sum p_i column_i. */
typedef struct ridge_problem {
  size_t n;                                   /* entries, with padding */
  const double *zeros, *ones;                 /* >= 0 */
  int k;                                      /* parameters */
  const double *columns[MOST_PARAMETERS];     /* columns[0], of ones, is not read */
  double ridge[MOST_PARAMETERS], centre[MOST_PARAMETERS]; /* ridge > 0 */
  unsigned fixed;                                         /* bits of parameters that are 0 and stay so */
} ridge_problem;

/* The loss at some parameters, and its derivatives: the second ones row by row of the upper triangle. */
typedef struct ridge_place {
  double parameters[MOST_PARAMETERS], loss, gradient[MOST_PARAMETERS], bends[MOST_BENDS];
} ridge_place;

typedef struct map_kernels {
  /* Adds to the sums of a place, which have LANES lanes each (the loss, the gradient, the bends), entries first to end - 1. */
  void (*add_derivatives)(const ridge_problem *problem, const double *parameters, size_t first, size_t end,
                          double (*sums)[LANES]);
  /* The loss without the ridge, and of each entry, of any number, the first and the second derivative of its term by z. */
  double (*terms)(const ridge_problem *problem, const double *parameters, double *slopes, double *bends);
  /* z = p_0 + sum p_i column_i, of n entries from `first` on */
  void (*exponents)(const ridge_problem *problem, const double *parameters, size_t first, size_t n, double *z);
  void (*logits)(const double *x, double least, size_t n, double *z); /* log x - log(1 - x) of x moved into [least, 1 - least] */
  void (*softplus)(const double *x, size_t n, double *y);             /* log(1 + e^x) */
  void (*sigmoid)(const double *x, size_t n, double *y);              /* 1 / (1 + e^-x) */
  void (*divide)(double *x, double by, size_t n);
  /* Adds counts / total x, or counts / total x^2, to LANES lanes, entry j to lane j mod LANES; without padding. */
  void (*add_moment)(const double *counts, double total, const double *x, int power, size_t n, double *lanes);
  /* Column j of a natural cubic spline with k knots beside 1 and x. */
  void (*natural_column)(const double *x, size_t n, const double *knots, int k, int j, double *column);
} map_kernels;

/* map_kernels.c: those of the processor; all give the same bits. */
const map_kernels *fastbin_map_kernels(void);

#endif /* FASTBIN_MAP_KERNELS_H */
