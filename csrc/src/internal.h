/*
 * internal.h: what the source files share. Not installed; every .c file includes it first.
 *
 * Rules:
 *   - no writable global data, no locks, no allocation while scoring;
 *   - every symbol that leaves an object file starts with fastbin_ (tests/check_symbols.sh);
 *   - results do not depend on the build: no fast-math, no fused multiply-add, no -march in what ships.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_INTERNAL_H
#define FASTBIN_INTERNAL_H

#ifndef FASTBIN_BUILD
#define FASTBIN_BUILD
#endif
#include "fastbin.h"

#include <float.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "fastbin cannot be compiled with -ffast-math or -ffinite-math-only: it must see NaN, and results must be exact"
#endif
/* It is 16 on processors with _Float16 arithmetic (AVX512-FP16): that type is evaluated as itself, doubles as doubles. */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1 && FLT_EVAL_METHOD != 16
#error "fastbin needs doubles that are evaluated as doubles; on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif

/*
 * A fused multiply-add rounds once where two operations round twice, so a build that fuses would give other bits. The
 * build files pass -ffp-contract=off; these pragmas are for builds with other flags.
 */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
/* gcc -O2 vectorises few loops. Placed before the inline functions, which must have the same options to be inlined. */
#ifdef VECTORISED_SOURCE
#pragma GCC optimize("O3")
#endif
#endif

#include "index.h"
#include "keys.h"
#include "numbers.h"

struct fastbin_model {
  score_index index;          /* first, so that what a search reads lies in few cache lines */
  const int32_t *bin_of_step; /* n_steps; NULL where each bin is one step */
  fastbin_model_spec spec;    /* what describe() shows; its pointers point into this allocation */
};

/* Keeps rare code out of hot functions; turns the arguments of small loops into constants. */
#if defined(__GNUC__) || defined(__clang__)
#define NEVER_INLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define NEVER_INLINE
#define ALWAYS_INLINE inline
#endif

/* The number of values, and of edges (knots, for a LINEAR model), of a spec whose kind is known and whose n_steps is not 0 for
   "n_bins" any more. */
static inline int32_t fastbin_n_values(const fastbin_model_spec *spec) {
  return spec->kind == FASTBIN_STEP ? spec->n_steps : spec->n_bins;
}

static inline int32_t fastbin_n_edges(const fastbin_model_spec *spec) {
  return spec->kind == FASTBIN_STEP ? spec->n_steps - 1 : spec->n_bins;
}

/* Whether bins are runs of several steps; then first_step and step_counts are given. */
static inline int fastbin_has_steps(const fastbin_model_spec *spec) { return spec->n_steps > spec->n_bins; }

/* Where a bin begins among the steps; the end of the last bin for b = n_bins. Edge i lies between the steps i and i + 1. */
static inline int32_t fastbin_first_step(const fastbin_model_spec *spec, int32_t b) {
  if (!spec->first_step) return b;
  return b < spec->n_bins ? (int32_t)spec->first_step[b] : spec->n_steps;
}

/* validate.c: all checks of fastbin_model_create(); and those of the enumerators, which a newer version may have added to. */
fastbin_status fastbin_validate_spec(const fastbin_model_spec *spec);
int fastbin_known_enumerators(const fastbin_model_spec *spec);

/* utf8.c: whether bytes are UTF-8; whether they can be the provenance of a model or a set. */
int fastbin_is_utf8(const char *text, size_t size);
int fastbin_provenance_can_be(const char *text, size_t size);

/* A score that is in the range, or NaN, against the thresholds of a decision. Without floating-point comparisons, which a processor
   that takes subnormals for zero would answer otherwise. */
static inline int side_of(const fastbin_model_spec *spec, double score) {
  if (is_nan(score)) return 0;
  return is_less(spec->accept_above, score) - is_less(score, spec->reject_below);
}

/* The size of fastbin_model_spec in 0.1.0, which callers compiled against that header pass. */
#define FIRST_SPEC_SIZE offsetof(fastbin_model_spec, pairs)

/* model.c: whether a struct of the API has a size, and only members, that this version of the library knows. */
int fastbin_struct_understood(const void *given, size_t struct_size, size_t first_size, size_t known_size);

/* model.c: fastbin_model_create(), with small tables if it is one of the many models of a set. */
fastbin_status fastbin_make_model(const fastbin_model_spec *spec, int is_one_of_many, fastbin_model **model);

/* Copies at the free part of an allocation, which moves on; NULL for none. */
static inline void *take_copy(unsigned char **free_part, const void *from, size_t size) {
  void *taken = *free_part;
  if (!from || size == 0) return NULL;
  *free_part += size;
  return memcpy(taken, from, size);
}

static inline const int64_t *copy_counts(unsigned char **free_part, const int64_t *from, size_t count) {
  return take_copy(free_part, from, count * sizeof *from);
}

/* -0.0 becomes 0.0, so that equal contents have equal bytes. */
static inline const double *copy_doubles(unsigned char **free_part, const double *from, size_t count) {
  double *taken = (double *)(void *)*free_part;
  if (!from || count == 0) return NULL;
  for (size_t i = 0; i < count; i++) taken[i] = without_negative_zero(from[i]);
  *free_part += count * sizeof *taken;
  return taken;
}

/* What is at hand where many models are read: the checksum of the bytes of this one, and memory to decode it, as many bytes. */
typedef struct read_aids {
  uint64_t checksum;
  unsigned char *scratch;
} read_aids;

/* format.c: fastbin_model_read(), for one of the many models of a set. */
fastbin_status fastbin_read_one_of_many(const unsigned char *bytes, size_t size, const read_aids *aids, fastbin_model **model);

/* format.c: whether these first bytes of a model can be the start of one that is at least so long. */
fastbin_status fastbin_check_model_start(const unsigned char *bytes, size_t size);

/* predict_batch.c: whether rows, and the place for their results, are such as all calls for many rows take. */
fastbin_status fastbin_check_rows(const fastbin_rows *rows, const void *out);

static inline double score_at(const fastbin_rows *rows, size_t row) {
  const unsigned char *at = (const unsigned char *)rows->scores + (ptrdiff_t)row * rows->score_stride;
  if (rows->score_type == FASTBIN_FLOAT32) {
    float score;
    memcpy(&score, at, sizeof score);
    return (double)score;
  } else {
    double score;
    memcpy(&score, at, sizeof score);
    return score;
  }
}

/* predict_one.c: the parts of a prediction that both the single and the batch calls need. */
fastbin_status fastbin_admit_score(const fastbin_model *model, double *score);
double fastbin_linear_value(const fastbin_model *model, double score, uint32_t rank);
double fastbin_smooth_value(const fastbin_model *model, double score);

#endif /* FASTBIN_INTERNAL_H */
