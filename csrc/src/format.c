/*
 * format.c: a model as bytes. FORMAT.md is the specification; change both together.
 *
 * Writing is canonical: a model has one representation, down to the order of the sections. Reading accepts what writing
 * makes, plus sections of later versions that are marked as optional. It trusts no byte; fastbin_model_create() checks the
 * decoded content.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "bytes.h"

#include <stdlib.h>

#define CORE_SIZE 120
#define RATE_SIZE 56
#define RULE_SIZE 8
#define PRNT_SIZE 8
#define CLIP_SIZE 8
#define SAMP_SIZE 8
#define DCSN_SIZE 16 /* and the record */

/* In the order in which they are written. Evidence without which an interval would come out wrong must be understood. */
enum section { CORE, EDGE, EKEY, VALU, EVID, TALY, WGHT, TIES, STEP, RATE, PAIR, CLIP, SPLN, RULE, RISE, ATOM, SAMP, PLAN,
               POPN, DCSN, PRNT, NOTE, EVNT, PROV, N_SECTIONS };

static const section_kind sections[N_SECTIONS] = {
    [CORE] = {TAG('C', 'O', 'R', 'E'), MUST_UNDERSTAND}, [EDGE] = {TAG('E', 'D', 'G', 'E'), MUST_UNDERSTAND},
    [EKEY] = {TAG('E', 'K', 'E', 'Y'), MUST_UNDERSTAND}, [VALU] = {TAG('V', 'A', 'L', 'U'), MUST_UNDERSTAND},
    [EVID] = {TAG('E', 'V', 'I', 'D'), MUST_UNDERSTAND}, [TALY] = {TAG('T', 'A', 'L', 'Y'), 0},
    [WGHT] = {TAG('W', 'G', 'H', 'T'), 0},               [TIES] = {TAG('T', 'I', 'E', 'S'), MUST_UNDERSTAND},
    [STEP] = {TAG('S', 'T', 'E', 'P'), MUST_UNDERSTAND}, [RATE] = {TAG('R', 'A', 'T', 'E'), MUST_UNDERSTAND},
    [PAIR] = {TAG('P', 'A', 'I', 'R'), MUST_UNDERSTAND}, [CLIP] = {TAG('C', 'L', 'I', 'P'), MUST_UNDERSTAND},
    [SPLN] = {TAG('S', 'P', 'L', 'N'), MUST_UNDERSTAND}, [RULE] = {TAG('R', 'U', 'L', 'E'), MUST_UNDERSTAND},
    [RISE] = {TAG('R', 'I', 'S', 'E'), 0},               [ATOM] = {TAG('A', 'T', 'O', 'M'), 0},
    [SAMP] = {TAG('S', 'A', 'M', 'P'), MUST_UNDERSTAND}, [PLAN] = {TAG('P', 'L', 'A', 'N'), MUST_UNDERSTAND},
    [POPN] = {TAG('P', 'O', 'P', 'N'), MUST_UNDERSTAND}, [DCSN] = {TAG('D', 'C', 'S', 'N'), 0},
    [PRNT] = {TAG('P', 'R', 'N', 'T'), 0},               [NOTE] = {TAG('N', 'O', 'T', 'E'), 0},
    [EVNT] = {TAG('E', 'V', 'N', 'T'), 0},               [PROV] = {TAG('P', 'R', 'O', 'V'), 0},
};

static const container_kind model_kind = {'M', 1, N_SECTIONS, sections};

/* The numbers of CORE and of RATE, in their order. */
#define CORE_MEMBERS(MEMBER)                                                                                          \
  MEMBER(i32, kind) MEMBER(i32, scheme) MEMBER(i32, ties) MEMBER(i32, map)                                            \
  MEMBER(double, map_parameters[0]) MEMBER(double, map_parameters[1])                                                 \
  MEMBER(double, map_parameters[2]) MEMBER(double, map_parameters[3])                                                 \
  MEMBER(i32, n_bins) MEMBER(i32, n_bins_asked) MEMBER(double, score_min) MEMBER(double, score_max)                   \
  MEMBER(double, delta) MEMBER(double, odds_ratio) MEMBER(u64, seed)                                                  \
  MEMBER(i64, n_samples) MEMBER(i64, n_positive) MEMBER(i64, n_tied)

#define RATE_MEMBERS(MEMBER)                                                                                          \
  MEMBER(i32, source_rate_origin) MEMBER(i32, target_rate_origin)                                                     \
  MEMBER(double, source_rate) MEMBER(double, target_rate)                                                             \
  MEMBER(i64, source_count) MEMBER(i64, source_ones) MEMBER(i64, target_count) MEMBER(i64, target_ones)

/* The payloads of the sections of this model; 0: left out. They fit in size_t, as the model itself did. */
static void section_sizes(const fastbin_model_spec *spec, size_t *sizes) {
  size_t n_bins = (size_t)spec->n_bins;
  size_t n_edges = (size_t)fastbin_n_edges(spec);
  size_t n_values = (size_t)fastbin_n_values(spec);
  sizes[CORE] = CORE_SIZE;
  sizes[EDGE] = sizes[EKEY] = 8 * n_edges;
  sizes[VALU] = 8 * n_values;
  sizes[EVID] = spec->first_step ? 8 * n_bins : 0;
  sizes[TALY] = spec->counts ? 16 * n_bins : 0;
  sizes[WGHT] = spec->weight_sums ? 24 * n_bins : 0;
  sizes[TIES] = spec->tie_counts ? 24 * n_bins + 8 : 0;
  sizes[STEP] = spec->step_counts ? (spec->unlabelled_counts ? 16 : 8) * n_values : 0;
  sizes[RATE] = spec->source_rate_origin != FASTBIN_RATE_NONE ? RATE_SIZE : 0;
  sizes[PAIR] = spec->pairs ? 16 * n_values : 0;
  sizes[CLIP] = spec->clip > 0.0 ? CLIP_SIZE : 0;
  sizes[SPLN] = 24 * (size_t)spec->n_knots;
  sizes[RULE] = spec->out_of_range || spec->weights ? RULE_SIZE : 0;
  sizes[RISE] = spec->n_slices > 0 ? 16 * (size_t)spec->n_slices - 8 : 0;
  sizes[ATOM] = spec->atom_counts ? 16 * n_bins : 0;
  sizes[SAMP] = spec->sampling_rate > 0.0 ? SAMP_SIZE : 0;
  sizes[PLAN] = spec->pool_counts ? 8 * n_bins : 0;
  sizes[POPN] = spec->population_counts ? 8 * n_bins : 0;
  sizes[DCSN] = spec->decision_size ? DCSN_SIZE + spec->decision_size : 0;
  sizes[PRNT] = spec->fingerprint ? PRNT_SIZE : 0;
  sizes[NOTE] = spec->note_size;
  sizes[EVNT] = spec->event_size;
  sizes[PROV] = spec->provenance_size;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Writing                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

#define PUT(type, member) at = put_##type(at, spec->member);

static unsigned char *put_core(unsigned char *at, const fastbin_model_spec *spec) {
  unsigned char *n_bins = at + 48;
  CORE_MEMBERS(PUT)
  put_i32(n_bins, fastbin_n_values(spec)); /* see take_lengths() */
  return at;
}

static unsigned char *put_rates(unsigned char *at, const fastbin_model_spec *spec) {
  RATE_MEMBERS(PUT)
  return at;
}

static unsigned char *put_keys(unsigned char *at, const uint64_t *keys, size_t n) {
  for (size_t i = 0; i < n; i++) at = put_u64(at, keys[i]);
  return at;
}

static unsigned char *put_weights(unsigned char *at, const fastbin_model_spec *spec) {
  at = put_doubles(at, spec->weight_sums, (size_t)spec->n_bins);
  at = put_doubles(at, spec->weighted_label_sums, (size_t)spec->n_bins);
  return put_doubles(at, spec->weight_square_sums, (size_t)spec->n_bins);
}

static unsigned char *put_slices(unsigned char *at, const fastbin_model_spec *spec) {
  at = put_counts(at, spec->slice_label_sums, (size_t)spec->n_slices);
  return put_doubles(at, spec->slice_cuts, (size_t)spec->n_slices - 1);
}

static unsigned char *put_decision(unsigned char *at, const fastbin_model_spec *spec) {
  at = put_double(put_double(at, spec->accept_above), spec->reject_below);
  return put_bytes(at, spec->decision, spec->decision_size);
}

static unsigned char *put_section(unsigned char *at, const void *content, int section, size_t size) {
  const fastbin_model_spec *spec = content;
  size_t n_bins = (size_t)spec->n_bins;
  size_t n_edges = (size_t)fastbin_n_edges(spec);
  size_t n_values = (size_t)fastbin_n_values(spec);
  switch ((enum section)section) {
    case CORE:
      return put_core(at, spec);
    case EDGE:
      return put_doubles(at, spec->edges, n_edges);
    case EKEY:
      return put_keys(at, spec->edge_keys, n_edges);
    case VALU:
      return put_doubles(at, spec->values, n_values);
    case EVID:
      return put_counts(at, spec->first_step, n_bins);
    case TALY:
      return put_counts(put_counts(at, spec->counts, n_bins), spec->label_sums, n_bins);
    case WGHT:
      return put_weights(at, spec);
    case TIES:
      return put_double(put_counts(at, spec->tie_counts, 3 * n_bins), spec->edges_share);
    case STEP:
      at = put_counts(at, spec->step_counts, n_values);
      return spec->unlabelled_counts ? put_counts(at, spec->unlabelled_counts, n_values) : at;
    case RATE:
      return put_rates(at, spec);
    case PAIR:
      return put_doubles(at, spec->pairs, 2 * n_values);
    case CLIP:
      return put_double(at, spec->clip);
    case SPLN:
      return put_doubles(at, spec->knots, 3 * (size_t)spec->n_knots);
    case RULE:
      return put_i32(put_i32(at, spec->out_of_range), spec->weights);
    case RISE:
      return put_slices(at, spec);
    case ATOM:
      return put_counts(at, spec->atom_counts, 2 * n_bins);
    case SAMP:
      return put_double(at, spec->sampling_rate);
    case PLAN:
      return put_counts(at, spec->pool_counts, n_bins);
    case POPN:
      return put_counts(at, spec->population_counts, n_bins);
    case DCSN:
      return put_decision(at, spec);
    case PRNT:
      return put_u64(at, spec->fingerprint);
    case NOTE:
      return put_bytes(at, spec->note, size);
    case EVNT:
      return put_bytes(at, spec->event, size);
    case PROV:
      return put_bytes(at, spec->provenance, size);
    case N_SECTIONS:
      break;
  }
  return at;
}

size_t fastbin_model_size(const fastbin_model *model) {
  size_t sizes[N_SECTIONS];
  if (!model) return 0;
  section_sizes(&model->spec, sizes);
  return fastbin_container_size(&model_kind, sizes);
}

fastbin_status fastbin_model_write(const fastbin_model *model, void *buffer, size_t capacity) {
  size_t sizes[N_SECTIONS];
  if (!model || !buffer) return FASTBIN_ERROR_ARGUMENT;
  section_sizes(&model->spec, sizes);
  return fastbin_write_container(&model_kind, sizes, put_section, &model->spec, buffer, capacity);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Reading                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

fastbin_status fastbin_check_model_start(const unsigned char *bytes, size_t size) {
  return fastbin_check_start(&model_kind, bytes, size);
}

#define TAKE(type, member) spec->member = take_##type(&at);

static void take_core(const unsigned char *at, fastbin_model_spec *spec) { CORE_MEMBERS(TAKE) }

static void take_rates(const unsigned char *at, fastbin_model_spec *spec) { RATE_MEMBERS(TAKE) }

static void take_rule(const unsigned char *at, fastbin_model_spec *spec) {
  spec->out_of_range = take_i32(&at);
  spec->weights = take_i32(&at);
}

static void take_clip(const unsigned char *at, fastbin_model_spec *spec) { spec->clip = take_double(&at); }

static void take_sampling(const unsigned char *at, fastbin_model_spec *spec) { spec->sampling_rate = take_double(&at); }

static void take_fingerprint(const unsigned char *at, fastbin_model_spec *spec) { spec->fingerprint = take_u64(&at); }

/* The sections of a fixed size, which determine the sizes of the others. Members of absent sections stay 0. */
static fastbin_status take_fixed(const payload *payloads, fastbin_model_spec *spec) {
  static const struct {
    enum section section;
    size_t size;
    void (*take)(const unsigned char *at, fastbin_model_spec *spec);
  } fixed[] = {
      {CORE, CORE_SIZE, take_core}, {RATE, RATE_SIZE, take_rates},       {RULE, RULE_SIZE, take_rule},
      {CLIP, CLIP_SIZE, take_clip}, {PRNT, PRNT_SIZE, take_fingerprint},
      {SAMP, SAMP_SIZE, take_sampling},
  };
  memset(spec, 0, sizeof *spec);
  spec->struct_size = sizeof *spec;
  for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
    const payload *found = &payloads[fixed[i].section];
    if (!found->start) continue;
    if (found->size != fixed[i].size) return FASTBIN_ERROR_CONTENT;
    fixed[i].take(found->start, spec);
  }
  return FASTBIN_OK;
}

/*
 * CORE counts steps, of which a bin is one unless EVID says otherwise. Nothing else tells how many bins or knots there are; the
 * sizes of all sections are compared with these numbers next.
 */
static int take_lengths(const payload *payloads, fastbin_model_spec *spec) {
  if (spec->n_bins < 0 || spec->n_bins > FASTBIN_MAX_BINS) return 0;
  if (spec->kind == FASTBIN_STEP) spec->n_steps = spec->n_bins;
  if (payloads[EVID].start) {
    size_t n_bins = payloads[EVID].size / 8;
    if (spec->kind != FASTBIN_STEP || n_bins == 0 || n_bins >= (size_t)spec->n_steps) return 0;
    spec->n_bins = (int32_t)n_bins;
  }
  if (payloads[SPLN].size / 24 > FASTBIN_MAX_KNOTS) return 0;
  spec->n_knots = (int32_t)(payloads[SPLN].size / 24);
  if (payloads[RISE].size / 16 >= FASTBIN_MAX_BINS) return 0;
  spec->n_slices = payloads[RISE].start ? (int32_t)(payloads[RISE].size / 16) + 1 : 0;
  return 1;
}

/* The sizes that writing gives to the sections of this spec; optional sections count where they are present. */
static int sections_fit(const payload *payloads, const fastbin_model_spec *spec) {
  static const int64_t some_counts[1];
  static const double some_doubles[1];
  fastbin_model_spec shape = *spec;
  size_t sizes[N_SECTIONS];
  shape.first_step = payloads[EVID].start ? some_counts : NULL;
  shape.tie_counts = payloads[TIES].start ? some_counts : NULL;
  shape.atom_counts = payloads[ATOM].start ? some_counts : NULL;
  shape.step_counts = payloads[STEP].start ? some_counts : NULL;
  shape.unlabelled_counts = payloads[STEP].size > 8 * (size_t)fastbin_n_values(spec) ? some_counts : NULL;
  shape.counts = payloads[TALY].start ? some_counts : NULL;
  shape.weight_sums = payloads[WGHT].start ? some_doubles : NULL;
  shape.pairs = payloads[PAIR].start ? some_doubles : NULL;
  shape.pool_counts = payloads[PLAN].start ? some_counts : NULL;
  shape.population_counts = payloads[POPN].start ? some_counts : NULL;
  shape.decision_size = payloads[DCSN].size > DCSN_SIZE ? payloads[DCSN].size - DCSN_SIZE : 0;
  shape.note_size = payloads[NOTE].size;
  shape.event_size = payloads[EVNT].size;
  shape.provenance_size = payloads[PROV].size;
  section_sizes(&shape, sizes);
  return fastbin_sizes_are(payloads, sizes, N_SECTIONS);
}

static int fixed_are_canonical(const fastbin_model_spec *spec) {
  const double doubles[] = {spec->map_parameters[0], spec->map_parameters[1], spec->map_parameters[2],
                            spec->map_parameters[3], spec->score_min,         spec->score_max,
                            spec->delta,             spec->source_rate,       spec->target_rate,
                            spec->edges_share,       spec->clip,          spec->accept_above,
                            spec->reject_below};
  for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++) {
    if (is_negative_zero(doubles[i])) return 0;
  }
  return 1;
}

/* These three take the words of a section to *free_part, and return where they start there, or NULL without the section. */
static const double *decode_doubles(const payload *from, unsigned char **free_part, int *canonical) {
  double *to = (double *)(void *)*free_part;
  if (!from->start) return NULL;
  for (size_t i = 0; i < from->size / 8; i++) {
    to[i] = double_of(get_u64(from->start + 8 * i));
    if (is_negative_zero(to[i])) *canonical = 0;
  }
  *free_part += from->size;
  return to;
}

static const uint64_t *decode_keys(const payload *from, unsigned char **free_part) {
  uint64_t *to = (uint64_t *)(void *)*free_part;
  if (!from->start) return NULL;
  for (size_t i = 0; i < from->size / 8; i++) to[i] = get_u64(from->start + 8 * i);
  *free_part += from->size;
  return to;
}

static const int64_t *decode_counts(const payload *from, unsigned char **free_part) {
  int64_t *to = (int64_t *)(void *)*free_part;
  const unsigned char *at = from->start;
  if (!at) return NULL;
  for (size_t i = 0; i < from->size / 8; i++) to[i] = take_i64(&at);
  *free_part += from->size;
  return to;
}

static void decode_steps(const payload *payloads, fastbin_model_spec *spec, unsigned char **free_part, int *canonical) {
  int64_t unlabelled = 0;
  spec->first_step = decode_counts(&payloads[EVID], free_part);
  spec->step_counts = decode_counts(&payloads[STEP], free_part);
  if (payloads[STEP].size == 8 * (size_t)fastbin_n_values(spec)) return;
  if (spec->step_counts) spec->unlabelled_counts = spec->step_counts + spec->n_steps;
  for (int32_t i = 0; spec->unlabelled_counts && i < spec->n_steps; i++) unlabelled |= spec->unlabelled_counts[i];
  if (spec->unlabelled_counts && unlabelled == 0) *canonical = 0;
}

static void decode_ties(const payload *from, fastbin_model_spec *spec, unsigned char **free_part) {
  payload counts = *from;
  if (!from->start) return;
  counts.size -= 8;
  spec->tie_counts = decode_counts(&counts, free_part);
  spec->edges_share = double_of(get_u64(from->start + counts.size));
}

static void decode_slices(const payload *from, fastbin_model_spec *spec, unsigned char **free_part, int *canonical) {
  payload label_sums = *from, cuts = *from;
  if (!from->start) return;
  label_sums.size = 8 * (size_t)spec->n_slices;
  cuts.start += label_sums.size;
  cuts.size -= label_sums.size;
  spec->slice_label_sums = decode_counts(&label_sums, free_part);
  spec->slice_cuts = decode_doubles(&cuts, free_part, canonical);
}

static void decode_decision(const payload *from, fastbin_model_spec *spec) {
  const unsigned char *at = from->start;
  if (!at) return;
  spec->accept_above = take_double(&at);
  spec->reject_below = take_double(&at);
  spec->decision = (const char *)at;
  spec->decision_size = from->size - DCSN_SIZE;
}

/* The model of sections whose sizes have been checked. `scratch` has room for all of them. */
static fastbin_status decode(const payload *payloads, fastbin_model_spec *spec, unsigned char *scratch, int is_one_of_many,
                             fastbin_model **model) {
  fastbin_status status;
  int canonical;
  decode_ties(&payloads[TIES], spec, &scratch);
  decode_decision(&payloads[DCSN], spec);
  canonical = fixed_are_canonical(spec);
  decode_steps(payloads, spec, &scratch, &canonical);
  spec->edges = decode_doubles(&payloads[EDGE], &scratch, &canonical);
  spec->edge_keys = decode_keys(&payloads[EKEY], &scratch);
  spec->values = decode_doubles(&payloads[VALU], &scratch, &canonical);
  spec->counts = decode_counts(&payloads[TALY], &scratch);
  if (spec->counts) spec->label_sums = spec->counts + spec->n_bins;
  spec->weight_sums = decode_doubles(&payloads[WGHT], &scratch, &canonical);
  if (spec->weight_sums) {
    spec->weighted_label_sums = spec->weight_sums + spec->n_bins;
    spec->weight_square_sums = spec->weighted_label_sums + spec->n_bins;
  }
  spec->pairs = decode_doubles(&payloads[PAIR], &scratch, &canonical);
  spec->knots = decode_doubles(&payloads[SPLN], &scratch, &canonical);
  decode_slices(&payloads[RISE], spec, &scratch, &canonical);
  spec->atom_counts = decode_counts(&payloads[ATOM], &scratch);
  spec->pool_counts = decode_counts(&payloads[PLAN], &scratch);
  spec->population_counts = decode_counts(&payloads[POPN], &scratch);
  spec->note = (const char *)payloads[NOTE].start;
  spec->note_size = payloads[NOTE].size;
  spec->event = (const char *)payloads[EVNT].start;
  spec->event_size = payloads[EVNT].size;
  spec->provenance = (const char *)payloads[PROV].start;
  spec->provenance_size = payloads[PROV].size;
  if (!canonical) return FASTBIN_ERROR_CONTENT;
  status = fastbin_make_model(spec, is_one_of_many, model);
  return status == FASTBIN_OK || status == FASTBIN_ERROR_MEMORY ? status : FASTBIN_ERROR_CONTENT;
}

/* The sections of a model, and what those of a fixed size say. */
static fastbin_status read_sections(const unsigned char *bytes, size_t size, const uint64_t *checksum, payload *payloads,
                                    fastbin_model_spec *spec) {
  fastbin_status status = fastbin_read_container(&model_kind, bytes, size, checksum, payloads);
  if (status == FASTBIN_OK) status = take_fixed(payloads, spec);
  if (status != FASTBIN_OK) return status;
  if (!fastbin_known_enumerators(spec)) return FASTBIN_ERROR_FORMAT_VERSION;
  return take_lengths(payloads, spec) && sections_fit(payloads, spec) ? FASTBIN_OK : FASTBIN_ERROR_CONTENT;
}

fastbin_status fastbin_read_one_of_many(const unsigned char *bytes, size_t size, const read_aids *aids, fastbin_model **model) {
  payload payloads[N_SECTIONS];
  fastbin_model_spec spec;
  fastbin_status status = read_sections(bytes, size, &aids->checksum, payloads, &spec);
  return status == FASTBIN_OK ? decode(payloads, &spec, aids->scratch, 1, model) : status;
}

fastbin_status fastbin_model_read(const void *bytes, size_t size, fastbin_model **model) {
  payload payloads[N_SECTIONS];
  fastbin_model_spec spec;
  fastbin_status status;
  unsigned char *scratch;
  if (!model) return FASTBIN_ERROR_ARGUMENT;
  *model = NULL;
  if (!bytes) return FASTBIN_ERROR_ARGUMENT;
  status = read_sections(bytes, size, NULL, payloads, &spec);
  if (status != FASTBIN_OK) return status;
  scratch = malloc(size); /* the sections are part of these bytes, so they fit in as many */
  if (!scratch) return FASTBIN_ERROR_MEMORY;
  status = decode(payloads, &spec, scratch, 0, model);
  free(scratch);
  return status;
}
