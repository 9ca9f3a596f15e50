/*
 * format.c: a model as bytes. FORMAT.md is the specification; change both together.
 *
 * Writing is canonical: a model has one representation, down to the order of the sections. Reading accepts what writing
 * makes, plus sections of later versions that are marked as harmless to skip; it trusts no byte, and hands what it has
 * decoded to fastbin_model_create(), whose checks are the last word.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include <stdlib.h>

#define FORMAT_VERSION 1
#define HEADER_SIZE 24
#define SECTION_HEADER_SIZE 16
#define CHECKSUM_SIZE 8
#define CORE_SIZE 120

/* The magic of PNG, for the same reasons: a byte above 127, both kinds of line end, and the end-of-file of DOS. */
static const unsigned char magic[8] = {0x89, 'F', 'B', 'M', '\r', '\n', 0x1A, '\n'};

/* A reader that does not know the section must refuse the file. Without the flag it skips the section. */
#define MUST_UNDERSTAND 1u

/* Tags are four ASCII letters, read as a little-endian number. */
#define TAG(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/* In the order in which they are written, which is the order in which they must be read. */
enum section { CORE, EDGE, EKEY, VALU, TALY, WGHT, NOTE, N_SECTIONS };

static const struct {
  uint32_t tag;
  uint32_t flags;
} sections[N_SECTIONS] = {
    [CORE] = {TAG('C', 'O', 'R', 'E'), MUST_UNDERSTAND}, [EDGE] = {TAG('E', 'D', 'G', 'E'), MUST_UNDERSTAND},
    [EKEY] = {TAG('E', 'K', 'E', 'Y'), MUST_UNDERSTAND}, [VALU] = {TAG('V', 'A', 'L', 'U'), MUST_UNDERSTAND},
    [TALY] = {TAG('T', 'A', 'L', 'Y'), 0},               [WGHT] = {TAG('W', 'G', 'H', 'T'), 0},
    [NOTE] = {TAG('N', 'O', 'T', 'E'), 0},
};

static size_t padded(size_t size) { return (size + 7) & ~(size_t)7; }

/* The payload of a section of this model; 0: the section is left out. Fits in size_t, as the model itself did. */
static size_t section_size(const fastbin_model_spec *spec, enum section section) {
  size_t n_bins = (size_t)spec->n_bins;
  switch (section) {
    case CORE:
      return CORE_SIZE;
    case EDGE:
    case EKEY:
      return 8 * (size_t)fastbin_n_edges(spec);
    case VALU:
      return 8 * n_bins;
    case TALY:
      return spec->counts ? 16 * n_bins : 0;
    case WGHT:
      return spec->weight_sums ? 24 * n_bins : 0;
    case NOTE:
      return spec->note_size;
    case N_SECTIONS:
      break;
  }
  return 0;
}

/*
 * The checksum: every little-endian 64-bit word is XORed in and mixed by a bijection. So the state after any word is a
 * bijection of the state before it, and a change confined to one aligned word, a single byte for instance, always changes
 * the result. Any other change is missed with chance 2^-64.
 */
static uint64_t get_word(const unsigned char *at) {
  uint64_t word = 0;
  for (int i = 0; i < 8; i++) word |= (uint64_t)at[i] << (8 * i);
  return word;
}

static uint64_t checksum_of(const unsigned char *bytes, size_t size) {
  uint64_t state = 0;
  for (size_t i = 0; i < size; i += 8) state = mix(state ^ get_word(bytes + i));
  return state;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Writing                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

static unsigned char *put_number(unsigned char *at, uint64_t number, int width) {
  for (int i = 0; i < width; i++) at[i] = (unsigned char)(number >> (8 * i));
  return at + width;
}

static unsigned char *put_double(unsigned char *at, double x) { return put_number(at, bits_of(x), 8); }

static unsigned char *put_doubles(unsigned char *at, const double *x, size_t count) {
  for (size_t i = 0; i < count; i++) at = put_double(at, x[i]);
  return at;
}

static unsigned char *put_counts(unsigned char *at, const int64_t *x, size_t count) {
  for (size_t i = 0; i < count; i++) at = put_number(at, (uint64_t)x[i], 8);
  return at;
}

static unsigned char *put_core(unsigned char *at, const fastbin_model_spec *spec) {
  at = put_number(at, (uint32_t)spec->kind, 4);
  at = put_number(at, (uint32_t)spec->scheme, 4);
  at = put_number(at, (uint32_t)spec->ties, 4);
  at = put_number(at, (uint32_t)spec->map, 4);
  at = put_doubles(at, spec->map_parameters, 4);
  at = put_number(at, (uint32_t)spec->n_bins, 4);
  at = put_number(at, (uint32_t)spec->n_bins_asked, 4);
  at = put_double(at, spec->score_min);
  at = put_double(at, spec->score_max);
  at = put_double(at, spec->delta);
  at = put_double(at, spec->odds_ratio);
  at = put_number(at, spec->seed, 8);
  at = put_number(at, (uint64_t)spec->n_samples, 8);
  at = put_number(at, (uint64_t)spec->n_positive, 8);
  return put_number(at, (uint64_t)spec->n_tied, 8);
}

static unsigned char *put_payload(unsigned char *at, const fastbin_model_spec *spec, enum section section) {
  size_t n_bins = (size_t)spec->n_bins;
  size_t n_edges = (size_t)fastbin_n_edges(spec);
  switch (section) {
    case CORE:
      return put_core(at, spec);
    case EDGE:
      return put_doubles(at, spec->edges, n_edges);
    case EKEY:
      for (size_t i = 0; i < n_edges; i++) at = put_number(at, spec->edge_keys[i], 8);
      return at;
    case VALU:
      return put_doubles(at, spec->values, n_bins);
    case TALY:
      return put_counts(put_counts(at, spec->counts, n_bins), spec->label_sums, n_bins);
    case WGHT:
      at = put_doubles(at, spec->weight_sums, n_bins);
      at = put_doubles(at, spec->weighted_label_sums, n_bins);
      return put_doubles(at, spec->weight_square_sums, n_bins);
    case NOTE:
      memcpy(at, spec->note, spec->note_size);
      memset(at + spec->note_size, 0, padded(spec->note_size) - spec->note_size);
      return at + padded(spec->note_size);
    case N_SECTIONS:
      break;
  }
  return at;
}

size_t fastbin_model_size(const fastbin_model *model) {
  size_t size = HEADER_SIZE + CHECKSUM_SIZE;
  if (!model) return 0;
  for (int k = 0; k < N_SECTIONS; k++) {
    size_t payload = section_size(&model->spec, (enum section)k);
    if (payload > 0) size += SECTION_HEADER_SIZE + padded(payload);
  }
  return size;
}

fastbin_status fastbin_model_write(const fastbin_model *model, void *buffer, size_t capacity) {
  size_t size;
  unsigned char *start = buffer;
  unsigned char *at = start;
  uint32_t n_written = 0;
  if (!model || !buffer) return FASTBIN_ERROR_ARGUMENT;
  size = fastbin_model_size(model);
  if (capacity < size) return FASTBIN_ERROR_BUFFER;
  for (int k = 0; k < N_SECTIONS; k++) n_written += section_size(&model->spec, (enum section)k) > 0;
  memcpy(at, magic, sizeof magic);
  at = put_number(at + sizeof magic, FORMAT_VERSION, 4);
  at = put_number(at, n_written, 4);
  at = put_number(at, size, 8);
  for (int k = 0; k < N_SECTIONS; k++) {
    size_t payload = section_size(&model->spec, (enum section)k);
    if (payload == 0) continue;
    at = put_number(at, sections[k].tag, 4);
    at = put_number(at, sections[k].flags, 4);
    at = put_number(at, payload, 8);
    at = put_payload(at, &model->spec, (enum section)k);
  }
  put_number(at, checksum_of(start, (size_t)(at - start)), 8);
  return FASTBIN_OK;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Reading                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

/* A section as it lies in the bytes; NULL when it is not there. */
struct payload {
  const unsigned char *start;
  size_t size;
};

static uint32_t get_half(const unsigned char *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

fastbin_status fastbin_check_prefix(const unsigned char *bytes, size_t size) {
  size_t compared = size < sizeof magic ? size : sizeof magic;
  uint64_t total;
  if (memcmp(bytes, magic, compared) != 0) return FASTBIN_ERROR_MAGIC;
  if (size < HEADER_SIZE) return FASTBIN_ERROR_LENGTH;
  if (get_half(bytes + 8) > FORMAT_VERSION) return FASTBIN_ERROR_FORMAT_VERSION;
  total = get_word(bytes + 16);
  return total < size || total % 8 != 0 ? FASTBIN_ERROR_LENGTH : FASTBIN_OK;
}

static enum section section_of(uint32_t tag) {
  int k = 0;
  while (k < N_SECTIONS && sections[k].tag != tag) k++;
  return (enum section)k;
}

/*
 * Finds the sections between the header and the checksum. Known ones may not repeat or change their order, which is what
 * keeps a model's bytes unique.
 */
static fastbin_status find_sections(const unsigned char *bytes, size_t end, struct payload *payloads) {
  uint32_t n_sections = get_half(bytes + 12);
  size_t at = HEADER_SIZE;
  int next = CORE;
  for (uint32_t i = 0; i < n_sections; i++) {
    enum section section;
    uint32_t flags;
    uint64_t size;
    if (end - at < SECTION_HEADER_SIZE) return FASTBIN_ERROR_CONTENT;
    section = section_of(get_half(bytes + at));
    flags = get_half(bytes + at + 4);
    size = get_word(bytes + at + 8);
    at += SECTION_HEADER_SIZE;
    if (size == 0 || size > end - at) return FASTBIN_ERROR_CONTENT; /* end - at is a multiple of 8: padding fits, too */
    for (size_t k = (size_t)size; k < padded((size_t)size); k++) {
      if (bytes[at + k] != 0) return FASTBIN_ERROR_CONTENT;
    }
    if (section == N_SECTIONS) {
      if (flags != 0) return FASTBIN_ERROR_FORMAT_VERSION;
    } else {
      if ((int)section < next || flags != sections[section].flags) return FASTBIN_ERROR_CONTENT;
      payloads[section].start = bytes + at;
      payloads[section].size = (size_t)size;
      next = (int)section + 1;
    }
    at += padded((size_t)size);
  }
  return at == end ? FASTBIN_OK : FASTBIN_ERROR_CONTENT;
}

static int32_t get_int32(const unsigned char **at) {
  uint32_t number = get_half(*at);
  int32_t result;
  memcpy(&result, &number, sizeof result);
  *at += 4;
  return result;
}

static uint64_t get_uint64(const unsigned char **at) {
  uint64_t number = get_word(*at);
  *at += 8;
  return number;
}

static int64_t get_int64(const unsigned char **at) {
  uint64_t number = get_uint64(at);
  int64_t result;
  memcpy(&result, &number, sizeof result);
  return result;
}

static double get_double(const unsigned char **at) { return double_of(get_uint64(at)); }

static void get_core(const unsigned char *at, fastbin_model_spec *spec) {
  memset(spec, 0, sizeof *spec);
  spec->struct_size = sizeof *spec;
  spec->kind = get_int32(&at);
  spec->scheme = get_int32(&at);
  spec->ties = get_int32(&at);
  spec->map = get_int32(&at);
  for (int i = 0; i < 4; i++) spec->map_parameters[i] = get_double(&at);
  spec->n_bins = get_int32(&at);
  spec->n_bins_asked = get_int32(&at);
  spec->score_min = get_double(&at);
  spec->score_max = get_double(&at);
  spec->delta = get_double(&at);
  spec->odds_ratio = get_double(&at);
  spec->seed = get_uint64(&at);
  spec->n_samples = get_int64(&at);
  spec->n_positive = get_int64(&at);
  spec->n_tied = get_int64(&at);
}

/* Whether every section that was found, and no other, has the size that the core gives it. */
static int sizes_fit(const struct payload *payloads, const fastbin_model_spec *spec) {
  size_t n_bins = (size_t)spec->n_bins;
  size_t n_edges = (size_t)fastbin_n_edges(spec);
  if (payloads[EDGE].size != 8 * n_edges || payloads[EKEY].size != 8 * n_edges) return 0;
  if (payloads[VALU].size != 8 * n_bins) return 0;
  if (payloads[TALY].start && payloads[TALY].size != 16 * n_bins) return 0;
  if (payloads[WGHT].start && payloads[WGHT].size != 24 * n_bins) return 0;
  return 1;
}

/* -0.0 is never written, so that equal models have equal bytes. */
static int is_negative_zero(double x) { return bits_of(x) == UINT64_C(0x8000000000000000); }

static int core_is_canonical(const fastbin_model_spec *spec) {
  int found = is_negative_zero(spec->score_min) || is_negative_zero(spec->score_max) || is_negative_zero(spec->delta);
  for (int i = 0; i < 4; i++) found |= is_negative_zero(spec->map_parameters[i]);
  return !found;
}

/* These three take the words of a section to *free_part, and return where they start there, or NULL without the section. */
static const double *decode_doubles(const struct payload *payload, unsigned char **free_part, int *canonical) {
  double *to = (double *)(void *)*free_part;
  if (!payload->start) return NULL;
  for (size_t i = 0; i < payload->size / 8; i++) {
    to[i] = double_of(get_word(payload->start + 8 * i));
    if (is_negative_zero(to[i])) *canonical = 0;
  }
  *free_part += payload->size;
  return to;
}

static const uint64_t *decode_keys(const struct payload *payload, unsigned char **free_part) {
  uint64_t *to = (uint64_t *)(void *)*free_part;
  if (!payload->start) return NULL;
  for (size_t i = 0; i < payload->size / 8; i++) to[i] = get_word(payload->start + 8 * i);
  *free_part += payload->size;
  return to;
}

static const int64_t *decode_counts(const struct payload *payload, unsigned char **free_part) {
  int64_t *to = (int64_t *)(void *)*free_part;
  const unsigned char *at = payload->start;
  if (!at) return NULL;
  for (size_t i = 0; i < payload->size / 8; i++) to[i] = get_int64(&at);
  *free_part += payload->size;
  return to;
}

/* From sections whose sizes are known to fit to a model. `scratch` has room for all of them. */
static fastbin_status decode(const struct payload *payloads, fastbin_model_spec *spec, unsigned char *scratch,
                             fastbin_model **model) {
  int canonical = core_is_canonical(spec);
  fastbin_status status;
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
  spec->note = (const char *)payloads[NOTE].start;
  spec->note_size = payloads[NOTE].size;
  if (!canonical) return FASTBIN_ERROR_CONTENT;
  status = fastbin_model_create(spec, model);
  return status == FASTBIN_OK || status == FASTBIN_ERROR_MEMORY ? status : FASTBIN_ERROR_CONTENT;
}

fastbin_status fastbin_model_read(const void *bytes, size_t size, fastbin_model **model) {
  struct payload payloads[N_SECTIONS] = {{NULL, 0}};
  const unsigned char *start = bytes;
  fastbin_model_spec spec;
  fastbin_status status;
  unsigned char *scratch;
  if (!model) return FASTBIN_ERROR_ARGUMENT;
  *model = NULL;
  if (!bytes) return FASTBIN_ERROR_ARGUMENT;
  status = fastbin_check_prefix(start, size);
  if (status != FASTBIN_OK) return status;
  if (get_word(start + 16) != size || size < HEADER_SIZE + CHECKSUM_SIZE) return FASTBIN_ERROR_LENGTH;
  if (get_word(start + size - CHECKSUM_SIZE) != checksum_of(start, size - CHECKSUM_SIZE)) return FASTBIN_ERROR_CHECKSUM;
  if (get_half(start + 8) != FORMAT_VERSION) return FASTBIN_ERROR_CONTENT; /* version 0 was never written */
  status = find_sections(start, size - CHECKSUM_SIZE, payloads);
  if (status != FASTBIN_OK) return status;
  if (payloads[CORE].start != start + HEADER_SIZE + SECTION_HEADER_SIZE || payloads[CORE].size != CORE_SIZE) {
    return FASTBIN_ERROR_CONTENT;
  }
  get_core(payloads[CORE].start, &spec);
  if (!fastbin_known_enumerators(&spec)) return FASTBIN_ERROR_FORMAT_VERSION;
  if (spec.n_bins < 0 || spec.n_bins > FASTBIN_MAX_BINS || !sizes_fit(payloads, &spec)) return FASTBIN_ERROR_CONTENT;
  scratch = malloc(size); /* the sections are part of these bytes, so they fit in as many */
  if (!scratch) return FASTBIN_ERROR_MEMORY;
  status = decode(payloads, &spec, scratch, model);
  free(scratch);
  return status;
}
