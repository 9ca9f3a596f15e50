/*
 * stream.c: count outcomes as they arrive.
 *
 * fastbin_assign() finds the bin of a score; this file counts in it.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "stream.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------------------- */
/* Making                                                                                                        */
/* ------------------------------------------------------------------------------------------------------------- */

/* The edge between the bins b and b + 1; a stream does not look at steps inside a bin. */
static int32_t edge_above(const fastbin_model_spec *spec, int32_t b) { return fastbin_first_step(spec, b + 1) - 1; }

static int splits_ties(const fastbin_model_spec *spec, int32_t edge) {
  return spec->edge_keys[edge] != FASTBIN_KEY_ABOVE && spec->edge_keys[edge] != FASTBIN_KEY_BELOW;
}

fastbin_status fastbin_stream_over(fastbin_model *partition, fastbin_stream **stream) {
  const fastbin_model_spec *spec = &partition->spec;
  fastbin_stream *made = NULL;
  size_t bytes = sizeof *made;
  if (add_size(&bytes, (size_t)spec->n_bins, sizeof(struct tally))) made = calloc(1, bytes);
  if (!made) {
    fastbin_model_free(partition);
    return FASTBIN_ERROR_MEMORY;
  }
  made->partition = partition;
  made->has_variance = 1;
  for (int32_t b = 0; b < spec->n_bins - 1; b++) made->splits_ties |= splits_ties(spec, edge_above(spec, b));
  *stream = made;
  return FASTBIN_OK;
}

fastbin_status fastbin_stream_create(const fastbin_model *model, fastbin_stream **stream) {
  fastbin_model *partition;
  fastbin_status status;
  if (!stream) return FASTBIN_ERROR_ARGUMENT;
  *stream = NULL;
  if (!model || model->spec.kind != FASTBIN_STEP) return FASTBIN_ERROR_ARGUMENT;
  status = fastbin_model_create(&model->spec, &partition);
  return status == FASTBIN_OK ? fastbin_stream_over(partition, stream) : status;
}

int fastbin_is_conditioned(const fastbin_model_spec *spec) {
  for (int32_t b = 0; spec->tie_counts && b < spec->n_bins; b++) {
    if (spec->tie_counts[3 * (size_t)b] > 0) return 1;
  }
  return 0;
}

fastbin_status fastbin_stream_continue(const fastbin_model *model, fastbin_stream **stream) {
  const fastbin_model_spec *spec;
  fastbin_status status = fastbin_stream_create(model, stream);
  if (status != FASTBIN_OK) return status;
  spec = &(*stream)->partition->spec;
  /* The tally of a label-shifted model counts samples of another population, and one of whole ties is conditioned on them; samples
     that were drawn bin by bin or from one batch are not more of a stream. */
  if (!spec->counts || fastbin_is_conditioned(spec) || spec->weight_sums || spec->n_samples > MOST_SAMPLES ||
      spec->odds_ratio != 1.0 || spec->source_rate_origin != FASTBIN_RATE_NONE || spec->pool_counts || spec->population_counts) {
    fastbin_stream_free(*stream);
    *stream = NULL;
    return FASTBIN_ERROR_TALLY;
  }
  (*stream)->n_samples = spec->n_samples;
  (*stream)->n_positive = spec->n_positive;
  (*stream)->n_tied = spec->n_tied;
  (*stream)->has_variance = 0;
  (*stream)->has_fit = 1;
  for (int32_t b = 0; b < spec->n_bins; b++) {
    (*stream)->tallies[b].count = spec->counts[b];
    (*stream)->tallies[b].label_sum = spec->label_sums[b];
  }
  return FASTBIN_OK;
}

void fastbin_stream_free(fastbin_stream *stream) {
  if (!stream) return;
  fastbin_model_free(stream->partition);
  free(stream);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Counting                                                                                                      */
/* ------------------------------------------------------------------------------------------------------------- */

static int is_tied_at(const fastbin_model_spec *spec, int32_t edge, double score) {
  return score == spec->edges[edge] && splits_ties(spec, edge);
}

/* Whether an edge that splits ties has this score. The edge that splits ties is next to the sample among those of its score. */
static int is_tied(const fastbin_stream *stream, int32_t bin, double score) {
  const fastbin_model_spec *spec = &stream->partition->spec;
  return (bin > 0 && is_tied_at(spec, edge_above(spec, bin - 1), score)) ||
         (bin < spec->n_bins - 1 && is_tied_at(spec, edge_above(spec, bin), score));
}

static void count_sample(fastbin_stream *stream, int32_t bin, double score, int label) {
  struct tally *tally = &stream->tallies[bin];
  if (stream->has_variance) {
    double mean = tally->count > 0 ? (double)tally->label_sum / (double)tally->count : 0.5;
    double difference = (double)label - mean;
    tally->running_variance += difference * difference;
  }
  tally->count++;
  tally->label_sum += label;
  stream->n_samples++;
  stream->n_positive += label;
  if (stream->splits_ties) stream->n_tied += is_tied(stream, bin, score);
}

fastbin_status fastbin_stream_update_one(fastbin_stream *stream, double score, uint64_t key, int label, int32_t *bin) {
  int32_t counted_in = -1;
  fastbin_status status = FASTBIN_ERROR_ARGUMENT;
  if ((label == 0 || label == 1) && stream->n_samples < MOST_SAMPLES) {
    status = fastbin_assign_one(stream->partition, score, key, &counted_in);
  }
  if (status == FASTBIN_OK) count_sample(stream, counted_in, score, label);
  if (bin) *bin = counted_in;
  return status;
}

/* All rows are checked before any is counted. */
static fastbin_status check_labels(const uint8_t *labels, size_t n_rows, size_t *bad_row) {
  uint8_t seen = 0;
  for (size_t row = 0; row < n_rows; row++) seen |= labels[row];
  if (seen <= 1) return FASTBIN_OK;
  if (bad_row) {
    *bad_row = 0;
    while (labels[*bad_row] <= 1) ++*bad_row;
  }
  return FASTBIN_ERROR_ARGUMENT;
}

fastbin_status fastbin_stream_update(fastbin_stream *stream, const fastbin_rows *rows, const uint8_t *labels,
                                     int32_t *bins, size_t *bad_row) {
  size_t bad_score = 0;
  fastbin_status status = stream ? fastbin_assign(stream->partition, rows, bins, &bad_score) : FASTBIN_ERROR_ARGUMENT;
  if (status == FASTBIN_ERROR_SCORE_NAN || status == FASTBIN_ERROR_SCORE_RANGE) {
    if (labels && check_labels(labels, bad_score, bad_row) != FASTBIN_OK) return FASTBIN_ERROR_ARGUMENT; /* it comes first */
    if (bad_row) *bad_row = bad_score;
  }
  if (status != FASTBIN_OK) return status;
  if (rows->nan_policy != FASTBIN_NAN_ERROR || (rows->n_rows > 0 && !labels)) return FASTBIN_ERROR_ARGUMENT;
  status = check_labels(labels, rows->n_rows, bad_row);
  if (status != FASTBIN_OK) return status;
  if ((uint64_t)rows->n_rows > (uint64_t)(MOST_SAMPLES - stream->n_samples)) return FASTBIN_ERROR_ARGUMENT;
  for (size_t row = 0; row < rows->n_rows; row++) {
    count_sample(stream, bins[row], stream->splits_ties ? score_at(rows, row) : 0.0, labels[row]);
  }
  return FASTBIN_OK;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Reading                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

const fastbin_model *fastbin_stream_partition(const fastbin_stream *stream) { return stream->partition; }

int64_t fastbin_stream_n_samples(const fastbin_stream *stream) { return stream->n_samples; }

int fastbin_stream_has_variance(const fastbin_stream *stream) { return stream->has_variance; }

fastbin_status fastbin_stream_tally(const fastbin_stream *stream, int64_t *counts, int64_t *label_sums,
                                    double *running_variances) {
  if (!stream || (running_variances && !stream->has_variance)) return FASTBIN_ERROR_ARGUMENT;
  for (int32_t b = 0; b < stream->partition->spec.n_bins; b++) {
    if (counts) counts[b] = stream->tallies[b].count;
    if (label_sums) label_sums[b] = stream->tallies[b].label_sum;
    if (running_variances) running_variances[b] = stream->tallies[b].running_variance;
  }
  return FASTBIN_OK;
}

/* The arrays of a snapshot, in one allocation. */
struct columns {
  double *values;
  int64_t *counts;
  int64_t *label_sums;
  double *edges;
  uint64_t *edge_keys;
};

static int allocate_columns(struct columns *columns, size_t n_bins) {
  unsigned char *bytes = malloc(5 * 8 * n_bins); /* the stream and its model are as large */
  if (!bytes) return 0;
  columns->values = (double *)(void *)bytes;
  columns->counts = (int64_t *)(void *)(bytes + 8 * n_bins);
  columns->label_sums = (int64_t *)(void *)(bytes + 16 * n_bins);
  columns->edges = (double *)(void *)(bytes + 24 * n_bins);
  columns->edge_keys = (uint64_t *)(void *)(bytes + 32 * n_bins);
  return 1;
}

/* The edges between bins alone: outcomes are counted in bins, so there is nothing to give their steps values by. */
static void leave_steps(fastbin_model_spec *spec, const struct columns *columns) {
  for (int32_t b = 0; b < spec->n_bins - 1; b++) {
    columns->edges[b] = spec->edges[edge_above(spec, b)];
    columns->edge_keys[b] = spec->edge_keys[edge_above(spec, b)];
  }
  spec->edges = columns->edges;
  spec->edge_keys = columns->edge_keys;
  spec->n_steps = spec->n_bins;
  spec->first_step = spec->step_counts = spec->unlabelled_counts = NULL;
}

/* The values of a snapshot are the means of its own samples, without label shift; nobody decided about these, and no fit made it. */
static void leave_shift(fastbin_model_spec *spec) {
  spec->odds_ratio = 1.0;
  spec->sampling_rate = spec->accept_above = spec->reject_below = 0.0;
  spec->pool_counts = spec->population_counts = NULL;
  spec->decision = NULL;
  spec->decision_size = 0;
  spec->provenance = NULL;
  spec->provenance_size = 0;
  spec->source_rate_origin = spec->target_rate_origin = FASTBIN_RATE_NONE;
  spec->source_rate = spec->target_rate = 0.0;
  spec->source_count = spec->source_ones = spec->target_count = spec->target_ones = 0;
}

fastbin_status fastbin_stream_snapshot(const fastbin_stream *stream, fastbin_model **model) {
  fastbin_model_spec spec;
  struct columns columns;
  fastbin_status status;
  int is_fixed;
  if (!model) return FASTBIN_ERROR_ARGUMENT;
  *model = NULL;
  if (!stream) return FASTBIN_ERROR_ARGUMENT;
  spec = stream->partition->spec;
  if (!allocate_columns(&columns, (size_t)spec.n_bins)) return FASTBIN_ERROR_MEMORY;
  fastbin_stream_tally(stream, columns.counts, columns.label_sums, NULL);
  for (int32_t b = 0; b < spec.n_bins; b++) {
    int64_t count = columns.counts[b];
    columns.values[b] = count > 0 ? (double)columns.label_sums[b] / (double)count : 0.5;
  }
  /* The edges of a split fit come from its other part: they were fixed before its tally, too, with the side of ties. */
  is_fixed = !stream->has_fit ||
             (spec.scheme == FASTBIN_SCHEME_UMS && (spec.ties == FASTBIN_TIES_UPPER || spec.ties == FASTBIN_TIES_LOWER));
  spec.scheme = FASTBIN_SCHEME_EXPLICIT;
  leave_steps(&spec, &columns);
  if (is_fixed) {
    spec.ties = stream->splits_ties ? FASTBIN_TIES_RANDOM : FASTBIN_TIES_NONE;
    spec.tie_counts = NULL;
    spec.edges_share = 0.0;
  }
  spec.values = columns.values;
  spec.counts = columns.counts;
  spec.label_sums = columns.label_sums;
  spec.weight_sums = spec.weighted_label_sums = spec.weight_square_sums = NULL;
  spec.delta = 0.0;
  leave_shift(&spec);
  spec.pairs = NULL;
  spec.weights = FASTBIN_WEIGHTS_GIVEN;
  spec.fingerprint = 0;
  spec.n_slices = 0;
  spec.slice_cuts = NULL;
  spec.slice_label_sums = NULL;
  spec.atom_counts = NULL;
  spec.n_samples = stream->n_samples;
  spec.n_positive = stream->n_positive;
  spec.n_tied = is_fixed && !stream->splits_ties ? 0 : stream->n_tied;
  status = fastbin_model_create(&spec, model);
  free(columns.values);
  return status;
}

static int same_bins(const fastbin_model_spec *a, const fastbin_model_spec *b) {
  if (a->n_bins != b->n_bins || a->score_min != b->score_min || a->score_max != b->score_max) return 0;
  for (int32_t i = 0; i < a->n_bins - 1; i++) {
    int32_t j = edge_above(a, i), k = edge_above(b, i);
    if (a->edges[j] != b->edges[k] || a->edge_keys[j] != b->edge_keys[k]) return 0;
  }
  return 1;
}

/* Labels of one event: a stream over a model without an event can have counted those of any. */
static int same_event(const fastbin_model_spec *a, const fastbin_model_spec *b) {
  if (a->event_size == 0 || b->event_size == 0) return 1;
  return a->event_size == b->event_size && memcmp(a->event, b->event, a->event_size) == 0;
}

/* The same bins, with the tally that one of two streams started from, so that the samples of that fit can be recognised, and
   with the event that one of them knows. */
static fastbin_status take_partition(fastbin_stream *stream, const fastbin_stream *other) {
  const fastbin_model_spec *named = stream->partition->spec.event_size > 0 ? &stream->partition->spec : &other->partition->spec;
  fastbin_model_spec spec = other->has_fit ? other->partition->spec : stream->partition->spec;
  fastbin_model *partition;
  fastbin_status status;
  spec.event = named->event;
  spec.event_size = named->event_size;
  status = fastbin_model_create(&spec, &partition);
  if (status != FASTBIN_OK) return status;
  fastbin_model_free(stream->partition);
  stream->partition = partition;
  return FASTBIN_OK;
}

fastbin_status fastbin_stream_merge(fastbin_stream *stream, const fastbin_stream *other) {
  int is_first, is_empty;
  if (!stream || !other || stream == other) return FASTBIN_ERROR_ARGUMENT;
  if (!same_bins(&stream->partition->spec, &other->partition->spec)) return FASTBIN_ERROR_ARGUMENT;
  if (!same_event(&stream->partition->spec, &other->partition->spec)) return FASTBIN_ERROR_ARGUMENT;
  if (stream->has_fit && other->has_fit) return FASTBIN_ERROR_ARGUMENT;
  if (other->n_samples > MOST_SAMPLES - stream->n_samples) return FASTBIN_ERROR_ARGUMENT;
  if (other->has_fit || (stream->partition->spec.event_size == 0 && other->partition->spec.event_size > 0)) {
    fastbin_status status = take_partition(stream, other);
    if (status != FASTBIN_OK) return status;
  }
  is_first = stream->n_samples == 0;
  is_empty = other->n_samples == 0;
  if (is_first) stream->has_variance = other->has_variance;
  if (!is_first && !is_empty) stream->has_variance = 0;
  for (int32_t b = 0; b < stream->partition->spec.n_bins; b++) {
    struct tally *into = &stream->tallies[b];
    const struct tally *from = &other->tallies[b];
    into->count += from->count;
    into->label_sum += from->label_sum;
    into->running_variance = stream->has_variance ? into->running_variance + from->running_variance : 0.0;
  }
  stream->n_samples += other->n_samples;
  stream->n_positive += other->n_positive;
  stream->n_tied += other->n_tied;
  stream->has_fit |= other->has_fit;
  return FASTBIN_OK;
}
