/*
 * score_csv.c: calibrate one column of a CSV file.
 *
 *     score_csv MODEL.fbm SCORES.csv COLUMN [SEED] > probabilities.csv
 *
 * Reads the scores in the column of this name and writes their calibrated probabilities, one a line under the heading
 * "probability", with 17 significant digits, which is what a double needs to come back unchanged. Row i uses the tie key
 * fastbin_row_key(SEED, i), so the output is that of `predict(scores, seed=SEED)` in Python, to the last bit. SEED is 0 if
 * it is not given: the same file always gives the same answers.
 *
 * The file is read in blocks of rows, so its size does not matter. Fields may be quoted ("a ""quoted"" word"); lines may
 * end in \n or \r\n; a byte order mark may come first. A field that is not a number, a NaN, a score that the model refuses,
 * or a row of more or fewer fields than the heading ends the program with a message and status 1.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "fastbin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_PER_BLOCK 4096
#define MOST_FIELD 4096

/* A CSV file in reading. */
typedef struct csv {
  FILE *file;
  const char *path;
  size_t line;            /* of the record read last, from 1 */
  size_t next_line;
  size_t n_columns;       /* of the heading */
  char field[MOST_FIELD]; /* the field read last, without its quotes */
} csv;

static void fail(const char *path, size_t line, const char *message) {
  fflush(stdout);
  if (line > 0) {
    fprintf(stderr, "score_csv: %s, line %zu: %s\n", path, line, message);
  } else {
    fprintf(stderr, "score_csv: %s: %s\n", path, message);
  }
  exit(1);
}

/* Reads one field. Returns the character that ended it: ',', '\n', or EOF. */
static int read_field(csv *input) {
  size_t length = 0;
  int quoted = 0;
  for (;;) {
    int c = getc(input->file);
    if (c == '"' && !quoted) {
      quoted = 1;
      continue;
    }
    if (c == '"') {
      c = getc(input->file);
      if (c != '"') quoted = 0; /* that was the closing quote; two of them stand for one */
    }
    if (c == '\r' && !quoted) { /* left out before \n alone: 0.2\r1 is not 0.21 */
      int next = getc(input->file);
      if (next == '\n' || next == EOF) c = next;
      else ungetc(next, input->file);
    }
    if (c == '\n') input->next_line++;
    if (c == '\0') fail(input->path, input->line, "a zero byte");
    if (c == EOF && ferror(input->file)) fail(input->path, input->line, "cannot be read");
    if (c == EOF && quoted) fail(input->path, input->line, "a quote is not closed");
    if (c == EOF || (!quoted && (c == ',' || c == '\n'))) {
      input->field[length] = '\0';
      return c;
    }
    if (length + 1 == sizeof input->field) fail(input->path, input->line, "a field is too long");
    input->field[length++] = (char)c;
  }
}

/* Reads the heading. Returns the number of the column, from 0. */
static size_t find_column(csv *input, const char *name) {
  size_t found = 0, n_found = 0;
  int end;
  do {
    const char *field;
    end = read_field(input);
    field = input->field;
    if (input->n_columns == 0 && strncmp(field, "\xef\xbb\xbf", 3) == 0) field += 3; /* the byte order mark of UTF-8 */
    if (strcmp(field, name) == 0) {
      found = input->n_columns;
      n_found++;
    }
    input->n_columns++;
  } while (end == ',');
  if (n_found == 0) fail(input->path, 1, "no column of this name");
  if (n_found > 1) fail(input->path, 1, "more than one column of this name");
  return found;
}

static double parse_score(const csv *input) {
  char *end;
  double score = strtod(input->field, &end);
  while (*end == ' ' || *end == '\t') end++;
  if (end == input->field || *end != '\0') fail(input->path, input->line, "the score is not a number");
  return score;
}

/* Reads the score of the next record. Returns 0 at the end of the file. */
static int read_score(csv *input, size_t column, double *score) {
  int end;
  size_t at = 0;
  input->line = input->next_line;
  do {
    end = read_field(input);
    if (end == EOF && at == 0 && input->field[0] == '\0') return 0;
    if (at == column) *score = parse_score(input);
    at++;
  } while (end == ',');
  if (at < input->n_columns) fail(input->path, input->line, "the record is too short");
  if (at > input->n_columns) fail(input->path, input->line, "the record has more fields than the heading");
  return 1;
}

/* Scores all records, a block at a time. */
static void score_file(const fastbin_model *model, csv *input, size_t column, uint64_t seed) {
  static double scores[ROWS_PER_BLOCK], values[ROWS_PER_BLOCK];
  static size_t lines[ROWS_PER_BLOCK];
  fastbin_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = scores;
  rows.score_stride = sizeof scores[0];
  rows.seed = seed;
  do {
    fastbin_status status;
    size_t bad_row = 0;
    rows.n_rows = 0;
    while (rows.n_rows < ROWS_PER_BLOCK && read_score(input, column, &scores[rows.n_rows])) {
      lines[rows.n_rows++] = input->line;
    }
    status = fastbin_predict(model, &rows, values, &bad_row);
    if (status != FASTBIN_OK) fail(input->path, lines[bad_row], fastbin_status_string(status));
    for (size_t i = 0; i < rows.n_rows; i++) printf("%.17g\n", values[i]);
    rows.first_row += rows.n_rows;
  } while (rows.n_rows == ROWS_PER_BLOCK);
}

static uint64_t parse_seed(const char *text) {
  unsigned long long seed;
  errno = 0;
  seed = strtoull(text, NULL, 10); /* which takes spaces and signs */
  if (errno != 0 || *text == '\0' || text[strspn(text, "0123456789")] != '\0') {
    fail(text, 0, "the seed is not a number from 0 to 2^64 - 1");
  }
  return seed;
}

int main(int argc, char **argv) {
  static csv input;
  fastbin_model *model;
  fastbin_status status;
  size_t column;
  if (argc != 4 && argc != 5) {
    fprintf(stderr, "usage: score_csv MODEL.fbm SCORES.csv COLUMN [SEED]\n");
    return 2;
  }
  status = fastbin_model_load(argv[1], &model);
  if (status != FASTBIN_OK) fail(argv[1], 0, fastbin_status_string(status));
  input.path = argv[2];
  input.line = input.next_line = 1;
  input.file = fopen(argv[2], "rb");
  if (!input.file) fail(argv[2], 0, "cannot be opened");
  column = find_column(&input, argv[3]);
  puts("probability");
  score_file(model, &input, column, argc == 5 ? parse_seed(argv[4]) : 0);
  fclose(input.file);
  fastbin_model_free(model);
  if (fflush(stdout) != 0 || ferror(stdout)) fail("standard output", 0, "cannot be written");
  return 0;
}
