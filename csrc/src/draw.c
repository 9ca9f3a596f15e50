/*
 * draw.c: the labels that whole ties leave out of a bin, drawn from a group of equal scores. FORMAT.md, "Drawn labels", is the
 * specification to the bit; none of it may ever change.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

/* Integers up to here are doubles. */
#define MOST_COUNT (INT64_C(1) << 53)

/* Weights below this are left out; that of the first value, near the mode, is 1. */
#define LEAST_WEIGHT 0x1p-64

/* `chosen` of `count` samples, `ones` of which have label 1. */
typedef struct urn {
  int64_t count, ones, chosen;
} urn;

/* One side of the values of f, from the first one outwards: the next value, and its weight beside that of the first. */
typedef struct side {
  int64_t value;
  double weight;
} side;

static void go_up(side *s, const urn *from) {
  int64_t f = s->value++;
  double numerator = (double)(from->ones - f) * (double)(from->chosen - f);
  double denominator = (double)(f + 1) * (double)(from->count - from->ones - from->chosen + f + 1);
  s->weight *= numerator / denominator;
}

static void go_down(side *s, const urn *from) {
  int64_t f = s->value--;
  double numerator = (double)f * (double)(from->count - from->ones - from->chosen + f);
  double denominator = (double)(from->ones - f + 1) * (double)(from->chosen - f + 1);
  s->weight *= numerator / denominator;
}

/* Near the mode; rounding may move it by a few, and only the work depends on how near it is. */
static int64_t first_value(const urn *from) {
  int64_t zeros = from->count - from->ones;
  int64_t low = from->chosen > zeros ? from->chosen - zeros : 0;
  int64_t high = from->chosen < from->ones ? from->chosen : from->ones;
  double mode = ((double)from->chosen + 1.0) * ((double)from->ones + 1.0) / ((double)from->count + 2.0);
  if (mode <= (double)low) return low;
  return mode >= (double)high ? high : (int64_t)mode;
}

/*
 * Goes over the values first, first + 1, first - 1, first + 2, ... and takes their weights off `target` until it is negative:
 * the value where that happens, or `first` where it does not. With *total not NULL the weights are added up instead.
 *
 * A weight of 0 ends a side, so no value outside the support is reached, and no divisor is 0.
 */
static int64_t walk(const urn *from, int64_t first, double target, double *total) {
  side up = {first, 1.0}, down = {first, 1.0};
  double sum = 1.0;
  target -= 1.0;
  if (!total && target < 0.0) return first;
  go_up(&up, from);
  go_down(&down, from);
  while (up.weight >= LEAST_WEIGHT || down.weight >= LEAST_WEIGHT) {
    if (up.weight >= LEAST_WEIGHT) {
      sum += up.weight;
      target -= up.weight;
      if (!total && target < 0.0) return up.value;
      go_up(&up, from);
    }
    if (down.weight >= LEAST_WEIGHT) {
      sum += down.weight;
      target -= down.weight;
      if (!total && target < 0.0) return down.value;
      go_down(&down, from);
    }
  }
  if (total) *total = sum;
  return first;
}

fastbin_status fastbin_draw_labels(uint64_t digest, double score, int64_t count, int64_t ones, int64_t chosen, int64_t *f,
                                   int64_t *y) {
  urn from = {count, ones, chosen};
  uint64_t base;
  int64_t first;
  double total;
  if (!f || !y) return FASTBIN_ERROR_ARGUMENT;
  *f = *y = 0;
  if (count > MOST_COUNT || ones < 0 || ones > count || chosen < 0 || chosen > count) return FASTBIN_ERROR_ARGUMENT;
  if (is_nan(score)) return FASTBIN_ERROR_SCORE_NAN;
  if (!is_finite(score)) return FASTBIN_ERROR_SCORE_RANGE;
  base = group_base(digest, STREAM_DRAW, score);
  first = first_value(&from);
  walk(&from, first, 0.0, &total);
  *f = walk(&from, first, uniform_of(mix(base + KEY_STEP)) * total, NULL);
  *y = uniform_of(mix(base + 2 * KEY_STEP)) * (double)chosen < (double)*f;
  return FASTBIN_OK;
}
