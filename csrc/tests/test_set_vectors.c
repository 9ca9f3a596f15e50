/*
 * Meet the shared vectors of sets, to the last bit: test_set_vectors PATH-TO/sets.txt
 *
 * tests/vectors/make_set_vectors.py describes the file. The bytes of each set are read, and written again; every answer is asked
 * for alone, and those of all models in one call.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "fastbin.h"
#include "modes.h"
#include "words.h"

#include <math.h>

enum { MAX_BYTES = 1 << 17, MAX_ROWS = 4096 };

/* Rows that share one call. */
typedef struct block {
  size_t n;
  int32_t numbers[MAX_ROWS], bins[MAX_ROWS];
  double scores[MAX_ROWS], values[MAX_ROWS];
  uint64_t keys[MAX_ROWS];
} block;

static struct {
  unsigned char bytes[MAX_BYTES];
  size_t size;
  int32_t n_models, n_keys;
  fastbin_set *set;
  block queries, rows;
  uint64_t seed, first_row;
} current;

/* Randomised values pass through arithmetic, so they depend on the direction of rounding. */
static int same_value(int32_t number, double a, double b) {
  fastbin_set_spec set;
  fastbin_model_spec spec;
  if (same_bits(a, b)) return 1;
  set.struct_size = sizeof set;
  spec.struct_size = sizeof spec;
  REQUIRE(fastbin_set_describe(current.set, &set) == FASTBIN_OK);
  REQUIRE(fastbin_model_describe(set.models[number == -1 ? set.pool : number], &spec) == FASTBIN_OK);
  return spec.delta > 0.0 && fegetround() != FE_TONEAREST && fabs(a - b) <= 1e-12;
}

/* Bytes in hexadecimal; "-" for none. */
static size_t next_bytes(unsigned char *to, size_t room) {
  const char *word = next_word();
  size_t size = strcmp(word, "-") == 0 ? 0 : strlen(word) / 2;
  REQUIRE(size <= room);
  for (size_t i = 0; i < size; i++) {
    const char digits[3] = {word[2 * i], word[2 * i + 1], '\0'};
    to[i] = (unsigned char)strtoul(digits, NULL, 16);
  }
  return size;
}

static void check_block(const block *b, const uint64_t *keys) {
  static double values[MAX_ROWS];
  static int32_t bins[MAX_ROWS];
  fastbin_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = b->scores;
  rows.score_stride = sizeof(double);
  rows.n_rows = b->n;
  rows.keys = keys;
  rows.seed = current.seed;
  rows.first_row = current.first_row;
  REQUIRE(fastbin_set_predict_batch(current.set, b->numbers, &rows, values, NULL) == FASTBIN_OK);
  REQUIRE(fastbin_set_assign_batch(current.set, b->numbers, &rows, bins, NULL) == FASTBIN_OK);
  for (size_t i = 0; i < b->n; i++) CHECK(same_value(b->numbers[i], values[i], b->values[i]) && bins[i] == b->bins[i]);
}

static void finish_set(void) {
  if (!current.set) return;
  CHECK(current.queries.n > 0 && current.rows.n > 0);
  check_block(&current.queries, current.queries.keys);
  check_block(&current.rows, NULL);
  fastbin_set_free(current.set);
}

static void create_set(void) {
  static unsigned char again[MAX_BYTES];
  fastbin_set_spec spec;
  fastbin_set *copy;
  REQUIRE(fastbin_set_read(current.bytes, current.size, &current.set) == FASTBIN_OK);
  spec.struct_size = sizeof spec;
  REQUIRE(fastbin_set_describe(current.set, &spec) == FASTBIN_OK);
  CHECK(spec.n_models == current.n_models && spec.n_keys == current.n_keys);
  REQUIRE(fastbin_set_create(&spec, &copy) == FASTBIN_OK);
  CHECK(fastbin_set_size(copy) == current.size && fastbin_set_write(copy, again, sizeof again) == FASTBIN_OK);
  CHECK(memcmp(again, current.bytes, current.size) == 0);
  fastbin_set_free(copy);
}

static void read_query(void) {
  block *b = &current.queries;
  double value;
  size_t i = b->n++;
  REQUIRE(b->n <= MAX_ROWS);
  b->numbers[i] = (int32_t)next_i64();
  b->scores[i] = next_double();
  b->keys[i] = next_u64();
  b->bins[i] = (int32_t)next_i64();
  b->values[i] = next_double();
  CHECK(fastbin_set_predict_one(current.set, b->numbers[i], b->scores[i], b->keys[i], &value) == FASTBIN_OK);
  CHECK(same_value(b->numbers[i], value, b->values[i]));
}

static void read_row(void) {
  block *b = &current.rows;
  size_t i = b->n++;
  REQUIRE(b->n <= MAX_ROWS);
  b->numbers[i] = (int32_t)next_i64();
  b->scores[i] = next_double();
  b->bins[i] = (int32_t)next_i64();
  b->values[i] = next_double();
}

static void read_refusal(void) {
  int32_t number = (int32_t)next_i64();
  double score = next_double(), value = 0.0;
  CHECK((int64_t)fastbin_set_predict_one(current.set, number, score, 0, &value) == next_i64() && value != value);
}

static void read_line(const char *line) {
  const char *keyword = next_word();
  (void)line;
  if (strcmp(keyword, "set") == 0) {
    finish_set();
    memset(&current, 0, sizeof current);
    next_word();
    current.n_models = (int32_t)next_i64();
    current.n_keys = (int32_t)next_i64();
  } else if (strcmp(keyword, "bytes") == 0) {
    current.size += next_bytes(current.bytes + current.size, MAX_BYTES - current.size);
  } else if (strcmp(keyword, "create") == 0) {
    create_set();
  } else if (strcmp(keyword, "find") == 0) {
    int64_t key = next_i64();
    CHECK(fastbin_set_find_int(current.set, key) == next_i64());
  } else if (strcmp(keyword, "find_text") == 0) {
    unsigned char text[MAX_LINE];
    size_t size = next_bytes(text, sizeof text);
    CHECK(fastbin_set_find_text(current.set, (const char *)text, size) == next_i64());
  } else if (strcmp(keyword, "query") == 0) {
    read_query();
  } else if (strcmp(keyword, "seeded") == 0) {
    current.seed = next_u64();
    current.first_row = next_u64();
  } else if (strcmp(keyword, "row") == 0) {
    read_row();
  } else if (strcmp(keyword, "refuse") == 0) {
    read_refusal();
  }
}

int main(int argc, char **argv) {
  FILE *file = open_vectors(argc, argv, "fastbin-set-vectors 1\n");
  /* In every floating-point environment. */
  for (int mode = 0; mode < N_MODES; mode++) {
    enter_mode(mode);
    read_lines(file, read_line);
    finish_set();
    current.set = NULL;
    leave_mode();
  }
  fclose(file);
  CHECK(n_passed > 1000);
  return finish();
}
