/*
 * stream.h: a stream, for the two files that access its members.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_STREAM_INTERNAL_H
#define FASTBIN_STREAM_INTERNAL_H

#include "internal.h"

/* The most samples that a stream counts, forged totals included: no total overflows, and what is written can be read. */
#define MOST_SAMPLES (INT64_MAX / 4)

/* One bin; together, because a sample touches all three. */
struct tally {
  int64_t count;
  int64_t label_sum;
  double running_variance; /* stays 0 where the order is not known */
};

struct fastbin_stream {
  fastbin_model *partition;
  int64_t n_samples;
  int64_t n_positive;
  int64_t n_tied;
  int has_variance;
  int has_fit;              /* whether the samples of the partition's fit are counted */
  int splits_ties;          /* whether some edge splits ties at random */
  struct tally tallies[];   /* one for each bin of the partition */
};

/* An empty stream over the bins of a STEP model, which it takes over, also on failure. */
fastbin_status fastbin_stream_over(fastbin_model *partition, fastbin_stream **stream);

/* Whether samples of the fit placed the edge of their own bin (whole ties), so that later ones are not drawn as they were. */
int fastbin_is_conditioned(const fastbin_model_spec *spec);

#endif /* FASTBIN_STREAM_INTERNAL_H */
