/*
 * status.c: the texts of the status codes, and the version.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

const char *fastbin_version(void) { return FASTBIN_VERSION_STRING; }

/* A switch without `default`, so that the compiler warns when a new code has no text. */
const char *fastbin_status_string(fastbin_status status) {
  switch (status) {
    case FASTBIN_OK:
      return "success";
    case FASTBIN_ERROR_ARGUMENT:
      return "an argument is NULL, zero or not one of its enumerators";
    case FASTBIN_ERROR_STRUCT_SIZE:
      return "struct_size is not set, or the struct asks for something this version of the library does not know";
    case FASTBIN_ERROR_MEMORY:
      return "out of memory";
    case FASTBIN_ERROR_BUFFER:
      return "the buffer is smaller than the result";
    case FASTBIN_ERROR_SCORE_NAN:
      return "a score is NaN";
    case FASTBIN_ERROR_SCORE_RANGE:
      return "a score is outside the model's range, or infinite";
    case FASTBIN_ERROR_CELL:
      return "a key is not in the set, which refuses unknown keys";
    case FASTBIN_ERROR_EDGES:
      return "the edges are not finite or not in ascending order of (edge, key), or the bins have no such first steps";
    case FASTBIN_ERROR_VALUES:
      return "a value is not in [0, 1]";
    case FASTBIN_ERROR_TALLY:
      return "a count is negative, a label sum is not between 0 and its count, or counts of ties or steps contradict the tally";
    case FASTBIN_ERROR_WEIGHTS:
      return "the weight sums are negative, not finite, only partly given, or such as no weights have";
    case FASTBIN_ERROR_RANGE:
      return "the score range is empty or NaN";
    case FASTBIN_ERROR_MAP:
      return "the map parameters, clip or knots are not finite or out of bounds, or the model cannot have this map";
    case FASTBIN_ERROR_ORIGIN:
      return "n_samples, n_positive, n_tied, n_bins_asked, delta, odds_ratio, edges_share, sampling_rate, a class rate or a threshold is "
             "impossible, or an event, a provenance or a decision is too long or not UTF-8";
    case FASTBIN_ERROR_SET:
      return "the keys of a set do not ascend, or its model numbers, pool or columns are not those of a set";
    case FASTBIN_ERROR_MAGIC:
      return "not a fastbin model, or damaged by a text-mode transfer";
    case FASTBIN_ERROR_FORMAT_VERSION:
      return "the model was written by a newer version of fastbin than this one can read";
    case FASTBIN_ERROR_LENGTH:
      return "the model is truncated, or has bytes behind its end";
    case FASTBIN_ERROR_CHECKSUM:
      return "the checksum of the model does not match: it is damaged";
    case FASTBIN_ERROR_CONTENT:
      return "the content of the model contradicts itself";
    case FASTBIN_ERROR_OPEN:
      return "the file cannot be opened";
    case FASTBIN_ERROR_READ:
      return "the file cannot be read";
    case FASTBIN_ERROR_WRITE:
      return "the file cannot be written";
  }
  return "an unknown status code";
}
