/*
 * Meet the shared vectors, to the last bit: test_vectors PATH-TO/vectors.txt
 *
 * tests/vectors/README.md describes the file. Every answer is asked for twice, one score at a time and all at once, and in every
 * floating-point environment.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "fastbin.h"
#include "modes.h"
#include "words.h"

#include <math.h>

enum { MAX_ROWS = 4096, MAX_EDGES = 4096 };

/* A block of answers that share one call of the batch functions. */
struct block {
  int n;
  double scores[MAX_ROWS];
  float scores32[MAX_ROWS];
  uint64_t keys[MAX_ROWS];
  int32_t bins[MAX_ROWS];
  double values[MAX_ROWS];
};

static struct {
  char name[128];
  fastbin_model_spec spec;
  double edges[MAX_EDGES], values[MAX_EDGES];
  uint64_t edge_keys[MAX_EDGES];
  int64_t counts[MAX_EDGES], label_sums[MAX_EDGES];
  double weight_sums[MAX_EDGES], weighted_label_sums[MAX_EDGES], weight_square_sums[MAX_EDGES];
  int64_t tie_counts[3 * MAX_EDGES];
  int n_edges, n_bins, n_tie_counts;
  fastbin_model *model;
  struct block queries, queries32, seeded;
  uint64_t seed, first_row;
} current;

static void check(int holds, const char *what, const char *line) {
  if (holds) {
    ++n_passed;
  } else {
    ++n_failed;
    if (n_failed <= MOST_PRINTED) fprintf(stderr, "%s: %s: %s\n", current.name, what, line);
  }
}

/* Randomised values pass through arithmetic, so they depend on the direction of rounding. */
static int same_value(double a, double b) {
  return same_bits(a, b) || (current.spec.delta > 0.0 && fegetround() != FE_TONEAREST && fabs(a - b) <= 1e-12);
}

static int32_t code_of(const char *word) {
  static const struct {
    const char *word;
    int32_t code;
  } words[] = {
      {"umd", FASTBIN_SCHEME_UMD},       {"ze", FASTBIN_SCHEME_ZE},
      {"ums", FASTBIN_SCHEME_UMS},       {"umb", FASTBIN_SCHEME_UMB},
      {"explicit", FASTBIN_SCHEME_EXPLICIT}, {"fixed-width", FASTBIN_SCHEME_FIXED_WIDTH},
      {"none", FASTBIN_TIES_NONE},       {"random", FASTBIN_TIES_RANDOM},
      {"upper", FASTBIN_TIES_UPPER},     {"lower", FASTBIN_TIES_LOWER},
      {"isolate", FASTBIN_TIES_ISOLATE}, {"whole", FASTBIN_TIES_WHOLE},
  };
  size_t i;
  for (i = 0; i < sizeof words / sizeof words[0]; ++i)
    if (strcmp(words[i].word, word) == 0) return words[i].code;
  fprintf(stderr, "unknown word: %s\n", word);
  exit(2);
}

/* ------------------------------------------------------------------------------------------------- batch calls */

static fastbin_rows rows_of(const struct block *block, int32_t type) {
  fastbin_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = type == FASTBIN_FLOAT32 ? (const void *)block->scores32 : (const void *)block->scores;
  rows.score_stride = type == FASTBIN_FLOAT32 ? (ptrdiff_t)sizeof(float) : (ptrdiff_t)sizeof(double);
  rows.score_type = type;
  rows.n_rows = (size_t)block->n;
  rows.keys = block->keys;
  return rows;
}

static void check_rows(const struct block *block, const fastbin_rows *rows, const char *what) {
  static double values[MAX_ROWS], looked_up[MAX_ROWS];
  static int32_t bins[MAX_ROWS];
  size_t bad_row = 0;
  int i;
  check(fastbin_predict(current.model, rows, values, &bad_row) == FASTBIN_OK, "fastbin_predict failed", what);
  check(fastbin_assign(current.model, rows, bins, &bad_row) == FASTBIN_OK, "fastbin_assign failed", what);
  check(fastbin_lookup(current.model, rows, current.values, 1, looked_up, &bad_row) == FASTBIN_OK, "fastbin_lookup failed",
        what);
  for (i = 0; i < block->n; ++i) {
    check(same_value(values[i], block->values[i]), "value in a batch", what);
    check(bins[i] == block->bins[i], "bin in a batch", what);
    check(same_bits(looked_up[i], current.values[block->bins[i]]), "table row in a batch", what);
  }
}

/* The same rows backwards, through a negative stride. */
static void check_reversed(const struct block *block) {
  static struct block reversed;
  fastbin_rows rows;
  int i;
  if (block->n == 0) return;
  reversed.n = block->n;
  for (i = 0; i < block->n; ++i) {
    reversed.keys[i] = block->keys[block->n - 1 - i];
    reversed.bins[i] = block->bins[block->n - 1 - i];
    reversed.values[i] = block->values[block->n - 1 - i];
  }
  rows = rows_of(&reversed, FASTBIN_FLOAT64);
  rows.scores = block->scores + (block->n - 1);
  rows.score_stride = -(ptrdiff_t)sizeof(double);
  check_rows(&reversed, &rows, "queries backwards");
}

static void finish_model(void) {
  fastbin_rows rows;
  if (current.model == NULL) return;
  rows = rows_of(&current.queries, FASTBIN_FLOAT64);
  check_rows(&current.queries, &rows, "queries");
  check_reversed(&current.queries);
  rows = rows_of(&current.queries32, FASTBIN_FLOAT32);
  check_rows(&current.queries32, &rows, "queries32");
  rows = rows_of(&current.seeded, FASTBIN_FLOAT64);
  rows.keys = NULL;
  rows.seed = current.seed;
  rows.first_row = current.first_row;
  check_rows(&current.seeded, &rows, "seeded rows");
  fastbin_model_free(current.model);
  current.model = NULL;
}

/* ------------------------------------------------------------------------------------------------- lines */

static void read_bin(void) {
  int b = take(&current.n_bins, MAX_EDGES);
  current.values[b] = next_double();
  current.counts[b] = next_i64();
  current.label_sums[b] = next_i64();
  if (*cursor != '\0') {
    current.spec.weight_sums = current.weight_sums;
    current.spec.weighted_label_sums = current.weighted_label_sums;
    current.spec.weight_square_sums = current.weight_square_sums;
    current.weight_sums[b] = next_double();
    current.weighted_label_sums[b] = next_double();
    current.weight_square_sums[b] = next_double();
  }
}

static void read_tie_counts(void) {
  int i;
  current.spec.tie_counts = current.tie_counts;
  for (i = 0; i < 3; ++i) current.tie_counts[take(&current.n_tie_counts, 3 * MAX_EDGES)] = next_i64();
}

static void read_origin(void) {
  current.spec.seed = next_u64();
  current.spec.n_bins_asked = (int32_t)next_i64();
  current.spec.n_samples = next_i64();
  current.spec.n_positive = next_i64();
  current.spec.n_tied = next_i64();
}

static void create_model(const char *line) {
  fastbin_status status;
  current.spec.struct_size = sizeof current.spec;
  current.spec.kind = FASTBIN_STEP;
  current.spec.odds_ratio = 1.0;
  current.spec.n_bins = current.n_bins;
  current.spec.edges = current.edges;
  current.spec.edge_keys = current.edge_keys;
  current.spec.values = current.values;
  current.spec.counts = current.counts;
  current.spec.label_sums = current.label_sums;
  status = fastbin_model_create(&current.spec, &current.model);
  check(status == FASTBIN_OK && current.model != NULL && current.n_edges == current.n_bins - 1, fastbin_status_string(status),
        line);
  check(current.n_tie_counts == (current.spec.ties == FASTBIN_TIES_WHOLE ? 3 * current.n_bins : 0), "tie counts", line);
  if (current.model == NULL) exit(1);
}

static void read_query(struct block *block, const char *line) {
  int i = take(&block->n, MAX_ROWS);
  double value = 0.0;
  int32_t bin = -2;
  block->scores[i] = next_double();
  block->scores32[i] = (float)block->scores[i];
  block->keys[i] = next_u64();
  block->bins[i] = (int32_t)next_i64();
  block->values[i] = next_double();
  check(fastbin_predict_one(current.model, block->scores[i], block->keys[i], &value) == FASTBIN_OK, "predict_one failed", line);
  check(same_value(value, block->values[i]), "value", line);
  check(fastbin_assign_one(current.model, block->scores[i], block->keys[i], &bin) == FASTBIN_OK, "assign_one failed", line);
  check(bin == block->bins[i], "bin", line);
  check(fastbin_needs_key(current.model, block->scores[i]) == (int)next_i64(), "needs_key", line);
}

static void read_row(void) {
  struct block *block = &current.seeded;
  int i = take(&block->n, MAX_ROWS);
  block->scores[i] = next_double();
  block->bins[i] = (int32_t)next_i64();
  block->values[i] = next_double();
}

static void read_refusal(const char *line) {
  double score = next_double(), value = 0.0;
  fastbin_status expected = (fastbin_status)next_i64();
  int32_t bin = -2;
  check(fastbin_predict_one(current.model, score, 0, &value) == expected && value != value, "value of a refused score", line);
  check(fastbin_assign_one(current.model, score, 0, &bin) == expected && bin == -1, "bin of a refused score", line);
}

static void read_key(const char *keyword, const char *line) {
  uint64_t seed = next_u64();
  if (strcmp(keyword, "row_key") == 0) {
    uint64_t row = next_u64();
    check(fastbin_row_key(seed, row) == next_u64(), "row key", line);
  } else {
    double score = next_double();
    uint64_t j = next_u64();
    uint64_t key = strcmp(keyword, "group_key") == 0 ? fastbin_group_key(seed, score, j) : fastbin_split_key(seed, score, j);
    check(key == next_u64(), "key", line);
  }
}

static void read_draw(const char *line) {
  uint64_t digest = next_u64();
  double score = next_double();
  int64_t count = next_i64(), ones = next_i64(), chosen = next_i64(), f = -1, y = -1;
  check(fastbin_draw_labels(digest, score, count, ones, chosen, &f, &y) == FASTBIN_OK, "draw", line);
  check(f == next_i64(), "drawn label sum", line);
  check(y == next_i64(), "drawn label", line);
}

static void read_line(const char *line) {
  const char *keyword = next_word();
  if (strcmp(keyword, "model") == 0) {
    finish_model();
    memset(&current, 0, sizeof current);
    snprintf(current.name, sizeof current.name, "%s", next_word());
  } else if (strcmp(keyword, "scheme") == 0) {
    current.spec.scheme = code_of(next_word());
  } else if (strcmp(keyword, "ties") == 0) {
    current.spec.ties = code_of(next_word());
  } else if (strcmp(keyword, "range") == 0) {
    current.spec.score_min = next_double();
    current.spec.score_max = next_double();
  } else if (strcmp(keyword, "delta") == 0) {
    current.spec.delta = next_double();
  } else if (strcmp(keyword, "origin") == 0) {
    read_origin();
  } else if (strcmp(keyword, "fingerprint") == 0) {
    current.spec.fingerprint = next_u64();
  } else if (strcmp(keyword, "edge") == 0) {
    int i = take(&current.n_edges, MAX_EDGES);
    current.edges[i] = next_double();
    current.edge_keys[i] = next_u64();
  } else if (strcmp(keyword, "bin") == 0) {
    read_bin();
  } else if (strcmp(keyword, "tie") == 0) {
    read_tie_counts();
  } else if (strcmp(keyword, "edges_share") == 0) {
    current.spec.edges_share = next_double();
  } else if (strcmp(keyword, "create") == 0) {
    create_model(line);
  } else if (strcmp(keyword, "query") == 0) {
    read_query(&current.queries, line);
  } else if (strcmp(keyword, "query32") == 0) {
    read_query(&current.queries32, line);
  } else if (strcmp(keyword, "seeded") == 0) {
    current.seed = next_u64();
    current.first_row = next_u64();
  } else if (strcmp(keyword, "row") == 0) {
    read_row();
  } else if (strcmp(keyword, "refuse") == 0) {
    read_refusal(line);
  } else if (strcmp(keyword, "row_key") == 0 || strcmp(keyword, "group_key") == 0 || strcmp(keyword, "split_key") == 0) {
    read_key(keyword, line);
  } else if (strcmp(keyword, "draw_labels") == 0) {
    read_draw(line);
  } /* "fit" and "sample" are for implementations that fit */
}

int main(int argc, char **argv) {
  FILE *file = open_vectors(argc, argv, "fastbin-vectors 1\n");
  for (int mode = 0; mode < N_MODES; ++mode) {
    enter_mode(mode);
    read_lines(file, read_line);
    finish_model();
    leave_mode();
  }
  fclose(file);
  CHECK(n_passed > 0);
  return finish();
}
