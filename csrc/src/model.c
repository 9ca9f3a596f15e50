/*
 * model.c: make, show and free a model.
 *
 * A model is one allocation: the struct, then its arrays, widest types first so that each is aligned without padding.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include <stdlib.h>

/*
 * Structs only grow at their end, from release to release. A smaller size than the known one is that of the first release or
 * a mistake, which may end within a pointer. A larger one comes from a caller newer than this library, which must not have set
 * a member that this library would ignore.
 */
int fastbin_struct_understood(const void *given, size_t struct_size, size_t first_size, size_t known_size) {
  const unsigned char *bytes = given;
  if (struct_size < known_size) return struct_size == first_size;
  for (size_t i = known_size; i < struct_size; i++) {
    if (bytes[i] != 0) return 0;
  }
  return 1;
}

/* Without keys, ties go above all edges. */
static const uint64_t *copy_keys(unsigned char **free_part, const uint64_t *from, size_t count) {
  uint64_t *taken = (uint64_t *)(void *)*free_part;
  if (from || count == 0) return take_copy(free_part, from, count * sizeof *from);
  for (size_t i = 0; i < count; i++) taken[i] = FASTBIN_KEY_ABOVE;
  *free_part += count * sizeof *taken;
  return taken;
}

static size_t n_slice_cuts(const fastbin_model_spec *spec) { return spec->n_slices > 0 ? (size_t)spec->n_slices - 1 : 0; }

/* Fills model->spec with a copy of `spec` whose arrays (all but the texts) lie at free_part. Returns the rest of that. */
static unsigned char *copy_spec(fastbin_model *model, const fastbin_model_spec *spec, unsigned char *free_part) {
  size_t n_edges = (size_t)fastbin_n_edges(spec);
  size_t n_bins = (size_t)spec->n_bins;
  size_t n_values = (size_t)fastbin_n_values(spec);
  fastbin_model_spec *own = &model->spec;
  *own = *spec;
  own->struct_size = sizeof *own;
  own->edges = copy_doubles(&free_part, spec->edges, n_edges);
  own->edge_keys = copy_keys(&free_part, spec->edge_keys, n_edges);
  own->values = copy_doubles(&free_part, spec->values, n_values);
  own->counts = copy_counts(&free_part, spec->counts, n_bins);
  own->label_sums = copy_counts(&free_part, spec->label_sums, n_bins);
  own->weight_sums = copy_doubles(&free_part, spec->weight_sums, n_bins);
  own->weighted_label_sums = copy_doubles(&free_part, spec->weighted_label_sums, n_bins);
  own->weight_square_sums = copy_doubles(&free_part, spec->weight_square_sums, n_bins);
  own->pairs = copy_doubles(&free_part, spec->pairs, 2 * n_values);
  own->first_step = copy_counts(&free_part, spec->first_step, n_bins);
  own->step_counts = copy_counts(&free_part, spec->step_counts, n_values);
  own->unlabelled_counts = copy_counts(&free_part, spec->unlabelled_counts, n_values);
  own->tie_counts = copy_counts(&free_part, spec->tie_counts, 3 * n_bins);
  own->knots = copy_doubles(&free_part, spec->knots, 3 * (size_t)spec->n_knots);
  own->slice_label_sums = copy_counts(&free_part, spec->slice_label_sums, (size_t)spec->n_slices);
  own->atom_counts = copy_counts(&free_part, spec->atom_counts, 2 * n_bins);
  own->pool_counts = copy_counts(&free_part, spec->pool_counts, n_bins);
  own->population_counts = copy_counts(&free_part, spec->population_counts, n_bins);
  own->slice_cuts = copy_doubles(&free_part, spec->slice_cuts, n_slice_cuts(spec));
  for (int i = 0; i < 4; i++) own->map_parameters[i] = without_negative_zero(own->map_parameters[i]);
  own->score_min = without_negative_zero(own->score_min);
  own->score_max = without_negative_zero(own->score_max);
  own->delta = without_negative_zero(own->delta);
  own->source_rate = without_negative_zero(own->source_rate);
  own->target_rate = without_negative_zero(own->target_rate);
  own->edges_share = without_negative_zero(own->edges_share);
  own->clip = without_negative_zero(own->clip);
  own->sampling_rate = without_negative_zero(own->sampling_rate);
  own->accept_above = without_negative_zero(own->accept_above);
  own->reject_below = without_negative_zero(own->reject_below);
  return free_part;
}

/* The table from steps to bins, in words of 8 bytes, so that those of the index after it are aligned. */
static size_t bin_of_step_words(const fastbin_model_spec *spec) {
  return spec->first_step ? ((size_t)spec->n_steps + 1) / 2 : 0;
}

/* Numbers of 8 bytes, then the tables of the index, which end with narrower ones, then the texts. */
static int model_bytes(const fastbin_model_spec *spec, const score_index *ix, size_t *bytes) {
  size_t n_edges = (size_t)fastbin_n_edges(spec);
  size_t n_bins = (size_t)spec->n_bins;
  size_t n_values = (size_t)fastbin_n_values(spec);
  size_t of_bins = (spec->counts ? 2u : 0u) + (spec->weight_sums ? 3u : 0u) + (spec->first_step ? 1u : 0u) +
                   (spec->tie_counts ? 3u : 0u) + (spec->atom_counts ? 2u : 0u) + (spec->pool_counts ? 1u : 0u) +
                   (spec->population_counts ? 1u : 0u);
  size_t of_values = (size_t)1 + (spec->pairs ? 2u : 0u) + (spec->step_counts ? 1u : 0u) + (spec->unlabelled_counts ? 1u : 0u);
  *bytes = sizeof(fastbin_model);
  return add_size(bytes, n_edges, sizeof(double) + sizeof(uint64_t)) && add_size(bytes, n_bins, of_bins * sizeof(double)) &&
         add_size(bytes, n_values, of_values * sizeof(double)) &&
         add_size(bytes, (size_t)spec->n_knots, 3 * sizeof(double)) &&
         add_size(bytes, (size_t)spec->n_slices + n_slice_cuts(spec), sizeof(double)) && fastbin_add_index_size(bytes, ix, spec) &&
         add_size(bytes, bin_of_step_words(spec), sizeof(int64_t)) && add_size(bytes, spec->note_size, 1) &&
         add_size(bytes, spec->event_size, 1) && add_size(bytes, spec->provenance_size, 1) && add_size(bytes, spec->decision_size, 1);
}

/* The bin of each step, at free_part. */
static unsigned char *fill_bin_of_step(fastbin_model *model, unsigned char *free_part) {
  const fastbin_model_spec *spec = &model->spec;
  int32_t *bins = (int32_t *)(void *)free_part;
  model->bin_of_step = NULL;
  if (!spec->first_step) return free_part;
  for (int32_t b = 0; b < spec->n_bins; b++) {
    for (int32_t step = fastbin_first_step(spec, b); step < fastbin_first_step(spec, b + 1); step++) bins[step] = b;
  }
  model->bin_of_step = bins;
  return free_part + bin_of_step_words(spec) * sizeof(int64_t);
}

/* One way to say the same, so that equal models have equal bytes. */
static void normalise_steps(fastbin_model_spec *spec) {
  int64_t unlabelled = 0;
  if (!fastbin_has_steps(spec)) {
    spec->first_step = spec->step_counts = spec->unlabelled_counts = NULL;
    return;
  }
  for (int32_t i = 0; spec->unlabelled_counts && i < spec->n_steps; i++) unlabelled |= spec->unlabelled_counts[i];
  if (unlabelled == 0) spec->unlabelled_counts = NULL;
}

/* A spec of any known size, as one of this version: members that the caller does not know are 0. */
static fastbin_status take_spec(const fastbin_model_spec *given, fastbin_model_spec *spec) {
  size_t size = given->struct_size;
  if (!fastbin_struct_understood(given, size, FIRST_SPEC_SIZE, sizeof *spec)) return FASTBIN_ERROR_STRUCT_SIZE;
  memset(spec, 0, sizeof *spec);
  memcpy(spec, given, size < sizeof *spec ? size : sizeof *spec);
  if (spec->kind == FASTBIN_STEP && spec->n_steps == 0) spec->n_steps = spec->n_bins;
  return FASTBIN_OK;
}

fastbin_status fastbin_make_model(const fastbin_model_spec *given, int is_one_of_many, fastbin_model **model) {
  fastbin_model_spec whole;
  fastbin_model_spec *const spec = &whole;
  fastbin_status status;
  fastbin_model *made;
  unsigned char *free_part;
  score_index plan;
  size_t bytes;
  status = take_spec(given, &whole);
  if (status == FASTBIN_OK) status = fastbin_validate_spec(spec);
  if (status != FASTBIN_OK) return status;
  normalise_steps(spec);
  fastbin_plan_index(&plan, spec, is_one_of_many);
  if (!model_bytes(spec, &plan, &bytes)) return FASTBIN_ERROR_MEMORY;
  made = malloc(bytes);
  if (!made) return FASTBIN_ERROR_MEMORY;
  made->index = plan;
  free_part = copy_spec(made, spec, (unsigned char *)(made + 1));
  free_part = fill_bin_of_step(made, free_part);
  free_part = fastbin_fill_index(&made->index, &made->spec, free_part);
  made->spec.note = take_copy(&free_part, spec->note, spec->note_size);
  made->spec.event = take_copy(&free_part, spec->event, spec->event_size);
  made->spec.provenance = take_copy(&free_part, spec->provenance, spec->provenance_size);
  made->spec.decision = take_copy(&free_part, spec->decision, spec->decision_size);
  *model = made;
  return FASTBIN_OK;
}

fastbin_status fastbin_model_create(const fastbin_model_spec *spec, fastbin_model **model) {
  if (!model) return FASTBIN_ERROR_ARGUMENT;
  *model = NULL;
  return spec ? fastbin_make_model(spec, 0, model) : FASTBIN_ERROR_ARGUMENT;
}

void fastbin_model_free(fastbin_model *model) { free(model); }

fastbin_status fastbin_model_describe(const fastbin_model *model, fastbin_model_spec *spec) {
  size_t struct_size;
  if (!model || !spec) return FASTBIN_ERROR_ARGUMENT;
  struct_size = spec->struct_size;
  if (struct_size < sizeof *spec && struct_size != FIRST_SPEC_SIZE) return FASTBIN_ERROR_STRUCT_SIZE;
  /* A caller that does not know n_steps would take n_bins for the length of the values. */
  if (struct_size < sizeof *spec && fastbin_has_steps(&model->spec)) return FASTBIN_ERROR_STRUCT_SIZE;
  memset(spec, 0, struct_size);
  memcpy(spec, &model->spec, struct_size < sizeof *spec ? struct_size : sizeof *spec);
  spec->struct_size = struct_size;
  return FASTBIN_OK;
}
