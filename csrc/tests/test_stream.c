/*
 * Count the samples of the shared streams, to the last bit: test_stream PATH-TO/streams.txt
 *
 * tests/vectors/make_stream_vectors.py describes the file. Every stream is counted one sample at a time, all at once, in
 * batches, and with a stop in between; then come merging, refusals, and bytes that are not what they say.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "fastbin.h"
#include "words.h"

enum { MAX_ROWS = 4096, MAX_BINS = 256, MAX_BYTES = 1 << 16 };

static struct {
  char name[128];
  fastbin_model_spec spec;
  double edges[MAX_BINS], values[MAX_BINS];
  uint64_t edge_keys[MAX_BINS];
  int64_t tally_counts[MAX_BINS], tally_sums[MAX_BINS];
  int from_tally;
  int n_edges, n_tally, n_rows, n_states;
  double scores[MAX_ROWS];
  uint8_t labels[MAX_ROWS];
  uint64_t keys[MAX_ROWS];
  int32_t bins[MAX_ROWS];
  int keyed;
  int64_t n_samples, n_positive, n_tied;
  int64_t counts[MAX_BINS], label_sums[MAX_BINS];
  double variances[MAX_BINS];
  fastbin_model *model;
} current;

/* ------------------------------------------------------------------------------------------------- counting */

static fastbin_stream *begun(void) {
  fastbin_stream *stream = NULL;
  if (current.from_tally) {
    REQUIRE(fastbin_stream_continue(current.model, &stream) == FASTBIN_OK);
  } else {
    REQUIRE(fastbin_stream_create(current.model, &stream) == FASTBIN_OK);
  }
  return stream;
}

static fastbin_rows rows_from(int first, int n, int64_t first_row) {
  fastbin_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = current.scores + first;
  rows.score_stride = (ptrdiff_t)sizeof(double);
  rows.n_rows = (size_t)n;
  rows.seed = current.spec.seed;
  rows.first_row = (uint64_t)first_row;
  if (current.keyed) rows.keys = current.keys + first;
  return rows;
}

static void count(fastbin_stream *stream, int first, int n) {
  static int32_t bins[MAX_ROWS];
  fastbin_rows rows = rows_from(first, n, fastbin_stream_n_samples(stream));
  CHECK(fastbin_stream_update(stream, &rows, current.labels + first, bins, NULL) == FASTBIN_OK);
  CHECK(memcmp(bins, current.bins + first, (size_t)n * sizeof *bins) == 0);
}

static void count_one(fastbin_stream *stream, int row) {
  uint64_t key = current.keys[row];
  int32_t bin = -2;
  if (!current.keyed) key = fastbin_row_key(current.spec.seed, (uint64_t)fastbin_stream_n_samples(stream));
  CHECK(fastbin_stream_update_one(stream, current.scores[row], key, current.labels[row], &bin) == FASTBIN_OK);
  CHECK(bin == current.bins[row]);
}

static void check_state(const fastbin_stream *stream) {
  static int64_t counts[MAX_BINS], label_sums[MAX_BINS];
  static double variances[MAX_BINS];
  size_t n_bins = (size_t)current.n_states;
  int has_variance = fastbin_stream_has_variance(stream);
  CHECK(fastbin_stream_n_samples(stream) == current.n_samples);
  CHECK(has_variance == !current.from_tally);
  CHECK(fastbin_stream_tally(stream, counts, label_sums, has_variance ? variances : NULL) == FASTBIN_OK);
  CHECK(memcmp(counts, current.counts, n_bins * sizeof *counts) == 0);
  CHECK(memcmp(label_sums, current.label_sums, n_bins * sizeof *label_sums) == 0);
  CHECK(!has_variance || memcmp(variances, current.variances, n_bins * sizeof *variances) == 0);
}

static size_t write_stream(const fastbin_stream *stream, unsigned char *bytes) {
  size_t size = fastbin_stream_size(stream);
  CHECK(size <= MAX_BYTES && fastbin_stream_write(stream, bytes, MAX_BYTES) == FASTBIN_OK);
  return size;
}

/* All ways of counting lead to the same bytes. */
static void check_batches(void) {
  static unsigned char expected[MAX_BYTES], bytes[MAX_BYTES];
  static const int sizes[] = {MAX_ROWS, 1, 2, 7, 64};
  fastbin_stream *stream = begun();
  size_t size;
  for (int row = 0; row < current.n_rows; ++row) count_one(stream, row);
  check_state(stream);
  size = write_stream(stream, expected);
  fastbin_stream_free(stream);
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
    stream = begun();
    for (int first = 0; first < current.n_rows; first += sizes[k]) {
      count(stream, first, current.n_rows - first < sizes[k] ? current.n_rows - first : sizes[k]);
    }
    check_state(stream);
    CHECK(write_stream(stream, bytes) == size && memcmp(bytes, expected, size) == 0);
    fastbin_stream_free(stream);
  }
}

static void check_resumed(void) {
  static unsigned char bytes[MAX_BYTES];
  int half = current.n_rows / 2;
  fastbin_stream *stream = begun(), *resumed = NULL;
  size_t size;
  count(stream, 0, half);
  size = write_stream(stream, bytes);
  fastbin_stream_free(stream);
  REQUIRE(fastbin_stream_read(bytes, size, &resumed) == FASTBIN_OK);
  count(resumed, half, current.n_rows - half);
  check_state(resumed);
  fastbin_stream_free(resumed);
}

/* A stream of each half, merged. Without keys the rows of the second half would be numbered from 0. */
static void check_merged(void) {
  static int64_t counts[MAX_BINS], label_sums[MAX_BINS];
  static double variances[MAX_BINS];
  size_t n_bins = (size_t)current.n_states;
  int half = current.n_rows / 2;
  fastbin_stream *left = begun(), *right = begun(), *empty = NULL;
  REQUIRE(fastbin_stream_create(current.model, &empty) == FASTBIN_OK);
  count(left, 0, half);
  CHECK(fastbin_stream_merge(left, empty) == FASTBIN_OK);
  CHECK(fastbin_stream_has_variance(left) == !current.from_tally);
  CHECK(fastbin_stream_merge(empty, left) == FASTBIN_OK);
  CHECK(fastbin_stream_has_variance(empty) == fastbin_stream_has_variance(left));
  if (current.from_tally) {
    CHECK(fastbin_stream_merge(left, right) == FASTBIN_ERROR_ARGUMENT);
  } else if (current.keyed) {
    count(right, half, current.n_rows - half);
    CHECK(fastbin_stream_merge(left, right) == FASTBIN_OK);
    CHECK(fastbin_stream_n_samples(left) == current.n_samples);
    CHECK(!fastbin_stream_has_variance(left));
    CHECK(fastbin_stream_tally(left, NULL, NULL, variances) == FASTBIN_ERROR_ARGUMENT);
    CHECK(fastbin_stream_tally(left, counts, label_sums, NULL) == FASTBIN_OK);
    CHECK(memcmp(counts, current.counts, n_bins * sizeof *counts) == 0);
    CHECK(memcmp(label_sums, current.label_sums, n_bins * sizeof *label_sums) == 0);
  }
  CHECK(fastbin_stream_merge(left, left) == FASTBIN_ERROR_ARGUMENT);
  fastbin_stream_free(left);
  fastbin_stream_free(right);
  fastbin_stream_free(empty);
}

static void check_snapshot(void) {
  fastbin_stream *stream = begun();
  fastbin_model *model = NULL;
  fastbin_model_spec spec;
  count(stream, 0, current.n_rows);
  REQUIRE(fastbin_stream_snapshot(stream, &model) == FASTBIN_OK);
  spec.struct_size = sizeof spec;
  fastbin_model_describe(model, &spec);
  CHECK(spec.n_samples == current.n_samples && spec.n_positive == current.n_positive && spec.n_tied == current.n_tied);
  CHECK(spec.scheme == FASTBIN_SCHEME_EXPLICIT && spec.seed == current.spec.seed);
  for (int b = 0; b < current.n_states; ++b) {
    double mean = current.counts[b] > 0 ? (double)current.label_sums[b] / (double)current.counts[b] : 0.5;
    CHECK(spec.counts[b] == current.counts[b] && spec.label_sums[b] == current.label_sums[b]);
    CHECK(spec.values[b] == mean);
  }
  fastbin_model_free(model);
  fastbin_stream_free(stream);
}

/* ------------------------------------------------------------------------------------------------- refusals */

static void check_refusals(void) {
  static unsigned char before[MAX_BYTES], after[MAX_BYTES];
  double nan = strtod("nan", NULL), bad_scores[2];
  uint8_t labels[2] = {1, 2};
  int32_t bins[2], bin = 5;
  size_t bad_row = 9, size;
  fastbin_stream *stream = begun();
  fastbin_rows rows = rows_from(0, 2, 0);
  count(stream, 0, current.n_rows);
  size = write_stream(stream, before);
  CHECK(fastbin_stream_update(stream, &rows, labels, bins, &bad_row) == FASTBIN_ERROR_ARGUMENT && bad_row == 1);
  bad_scores[0] = current.scores[0];
  bad_scores[1] = nan;
  rows.scores = bad_scores;
  labels[1] = 0;
  CHECK(fastbin_stream_update(stream, &rows, labels, bins, &bad_row) == FASTBIN_ERROR_SCORE_NAN && bad_row == 1);
  labels[0] = 2; /* the first bad row, whatever is bad in it */
  CHECK(fastbin_stream_update(stream, &rows, labels, bins, &bad_row) == FASTBIN_ERROR_ARGUMENT && bad_row == 0);
  labels[0] = 1;
  labels[1] = 2;
  CHECK(fastbin_stream_update(stream, &rows, labels, bins, &bad_row) == FASTBIN_ERROR_SCORE_NAN && bad_row == 1);
  labels[1] = 0;
  rows.nan_policy = FASTBIN_NAN_PROPAGATE;
  CHECK(fastbin_stream_update(stream, &rows, labels, bins, NULL) == FASTBIN_ERROR_ARGUMENT);
  rows.nan_policy = FASTBIN_NAN_ERROR;
  bad_scores[1] = strtod("inf", NULL);
  CHECK(fastbin_stream_update(stream, &rows, labels, bins, NULL) == FASTBIN_ERROR_SCORE_RANGE);
  CHECK(fastbin_stream_update(stream, NULL, labels, bins, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_stream_update(stream, &rows, labels, NULL, NULL) == FASTBIN_ERROR_ARGUMENT);
  rows.scores = current.scores;
  CHECK(fastbin_stream_update(stream, &rows, NULL, bins, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_stream_update_one(stream, nan, 0, 1, &bin) == FASTBIN_ERROR_SCORE_NAN && bin == -1);
  CHECK(fastbin_stream_update_one(stream, current.scores[0], 0, 2, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(write_stream(stream, after) == size && memcmp(before, after, size) == 0);
  fastbin_stream_free(stream);
}

/* A batch of one row, and a stream of one sample, for which alone there is room. */
static void check_one_more(const fastbin_model *model, fastbin_rows *rows, const uint8_t *labels) {
  fastbin_stream *streams[3];
  int32_t bin;
  rows->n_rows = 1;
  for (int i = 0; i < 3; i++) {
    REQUIRE((i < 2 ? fastbin_stream_continue : fastbin_stream_create)(model, &streams[i]) == FASTBIN_OK);
  }
  CHECK(fastbin_stream_update(streams[0], rows, labels, &bin, NULL) == FASTBIN_OK);
  CHECK(fastbin_stream_update(streams[2], rows, labels, &bin, NULL) == FASTBIN_OK);
  CHECK(fastbin_stream_merge(streams[1], streams[2]) == FASTBIN_OK);
  CHECK(fastbin_stream_n_samples(streams[0]) == fastbin_stream_n_samples(streams[1]));
  for (int i = 0; i < 3; i++) fastbin_stream_free(streams[i]);
}

/* A tally that says that it is of 2^61 - 2 samples leaves room for one more, which can be written and read again. */
static void check_full(void) {
  static unsigned char bytes[MAX_BYTES];
  fastbin_model_spec spec = current.spec;
  fastbin_model *model = NULL;
  fastbin_stream *stream = NULL, *other = NULL;
  int32_t bins[2], bin;
  uint8_t labels[2] = {0, 1};
  fastbin_rows rows = rows_from(0, 2, 0);
  size_t size;
  if (!current.from_tally) return;
  spec.n_samples = ((int64_t)1 << 61) - 2;
  spec.scheme = FASTBIN_SCHEME_EXPLICIT; /* of a split fit, whose bins may leave out most of its samples */
  REQUIRE(fastbin_model_create(&spec, &model) == FASTBIN_OK);
  REQUIRE(fastbin_stream_continue(model, &stream) == FASTBIN_OK);
  REQUIRE(fastbin_stream_create(model, &other) == FASTBIN_OK);
  CHECK(fastbin_stream_update(stream, &rows, labels, bins, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_stream_update(other, &rows, labels, bins, NULL) == FASTBIN_OK);
  CHECK(fastbin_stream_merge(stream, other) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_stream_merge(other, stream) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_stream_n_samples(stream) == spec.n_samples);
  fastbin_stream_free(other);
  check_one_more(model, &rows, labels);
  CHECK(fastbin_stream_update_one(stream, current.scores[0], 0, 1, &bin) == FASTBIN_OK && bin >= 0);
  CHECK(fastbin_stream_update_one(stream, current.scores[0], 0, 1, &bin) == FASTBIN_ERROR_ARGUMENT && bin == -1);
  size = write_stream(stream, bytes);
  CHECK(fastbin_stream_read(bytes, size, &other) == FASTBIN_OK);
  fastbin_stream_free(other);
  fastbin_stream_free(stream);
  fastbin_model_free(model);
}

/* Every byte that is changed, and every length, is noticed. */
static void check_damage(void) {
  static unsigned char bytes[MAX_BYTES];
  fastbin_stream *stream = begun(), *read = NULL;
  size_t size;
  count(stream, 0, current.n_rows);
  size = write_stream(stream, bytes);
  fastbin_stream_free(stream);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] ^= 0x40;
    CHECK(fastbin_stream_read(bytes, size, &read) != FASTBIN_OK && read == NULL);
    bytes[i] ^= 0x40;
    CHECK(fastbin_stream_read(bytes, i, &read) != FASTBIN_OK && read == NULL);
  }
  CHECK(fastbin_stream_read(bytes, size, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_stream_read(NULL, size, &read) == FASTBIN_ERROR_ARGUMENT);
}

static void check_making(void) {
  fastbin_stream *stream = NULL;
  fastbin_stream_free(NULL);
  CHECK(fastbin_stream_create(NULL, &stream) == FASTBIN_ERROR_ARGUMENT && !stream);
  CHECK(fastbin_stream_create(current.model, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(current.from_tally || fastbin_stream_continue(current.model, &stream) == FASTBIN_ERROR_TALLY);
  CHECK(!stream);
}

/* ------------------------------------------------------------------------------------------------- lines */

static void create_model(void) {
  for (int b = 0; b <= current.n_edges; ++b) current.values[b] = 0.5;
  current.spec.struct_size = sizeof current.spec;
  current.spec.scheme = FASTBIN_SCHEME_EXPLICIT;
  current.spec.odds_ratio = 1.0;
  current.spec.n_bins = current.n_edges + 1;
  current.spec.edges = current.edges;
  current.spec.edge_keys = current.edge_keys;
  current.spec.values = current.values;
  if (current.n_tally > 0) {
    current.spec.counts = current.tally_counts;
    current.spec.label_sums = current.tally_sums;
  }
  REQUIRE(fastbin_model_create(&current.spec, &current.model) == FASTBIN_OK);
}

static void read_begin(void) {
  current.from_tally = strcmp(next_word(), "tally") == 0;
  if (current.from_tally) {
    current.spec.n_samples = next_i64();
    current.spec.n_positive = next_i64();
    current.spec.n_tied = next_i64();
  }
}

static void read_sample(void) {
  int row = take(&current.n_rows, MAX_ROWS);
  const char *key;
  current.scores[row] = next_double();
  current.labels[row] = (uint8_t)next_i64();
  key = next_word();
  current.keyed = strcmp(key, "-") != 0;
  current.keys[row] = current.keyed ? strtoull(key, NULL, 16) : 0;
  current.bins[row] = (int32_t)next_i64();
}

static void read_state(void) {
  int b = take(&current.n_states, MAX_BINS);
  current.counts[b] = next_i64();
  current.label_sums[b] = next_i64();
  current.variances[b] = next_double();
}

static void finish_stream(void) {
  long n_failed_before = n_failed;
  CHECK(current.n_states == current.spec.n_bins);
  check_making();
  check_batches();
  check_resumed();
  check_merged();
  check_snapshot();
  check_refusals();
  check_full();
  check_damage();
  if (n_failed > n_failed_before) fprintf(stderr, "  in stream %s\n", current.name);
  fastbin_model_free(current.model);
}

static void read_line(const char *line) {
  const char *keyword = next_word();
  if (strcmp(keyword, "stream") == 0) {
    memset(&current, 0, sizeof current);
    snprintf(current.name, sizeof current.name, "%.127s", next_word());
  } else if (strcmp(keyword, "range") == 0) {
    current.spec.score_min = next_double();
    current.spec.score_max = next_double();
  } else if (strcmp(keyword, "seed") == 0) {
    current.spec.seed = next_u64();
  } else if (strcmp(keyword, "edge") == 0) {
    int i = take(&current.n_edges, MAX_BINS - 1);
    current.edges[i] = next_double();
    current.edge_keys[i] = next_u64();
  } else if (strcmp(keyword, "begin") == 0) {
    read_begin();
  } else if (strcmp(keyword, "bin") == 0) {
    int b = take(&current.n_tally, MAX_BINS);
    current.tally_counts[b] = next_i64();
    current.tally_sums[b] = next_i64();
  } else if (strcmp(keyword, "create") == 0) {
    create_model();
  } else if (strcmp(keyword, "sample") == 0) {
    read_sample();
  } else if (strcmp(keyword, "totals") == 0) {
    current.n_samples = next_i64();
    current.n_positive = next_i64();
    current.n_tied = next_i64();
  } else if (strcmp(keyword, "state") == 0) {
    read_state();
  } else if (strcmp(keyword, "end") == 0) {
    finish_stream();
  } else {
    fprintf(stderr, "unknown word: %s\n", line);
    exit(2);
  }
}

int main(int argc, char **argv) {
  FILE *file = open_vectors(argc, argv, "fastbin-stream-vectors 1\n");
  read_lines(file, read_line);
  fclose(file);
  return finish();
}
