/*
 * words.h: files of shared vectors, line by line and word by word.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_TESTS_WORDS_H
#define FASTBIN_TESTS_WORDS_H

#include "check.h"

enum { MAX_LINE = 4096 };

/* The rest of the line that is read. */
static char *cursor;

static inline const char *next_word(void) {
  char *start = cursor;
  while (*cursor != '\0' && *cursor != ' ') ++cursor;
  if (*cursor == ' ') *cursor++ = '\0';
  return start;
}

static inline double next_double(void) { return strtod(next_word(), NULL); }
static inline uint64_t next_u64(void) { return strtoull(next_word(), NULL, 16); }
static inline int64_t next_i64(void) { return strtoll(next_word(), NULL, 10); }

/* The place of one more item, of at most so many. */
static inline int take(int *n, int limit) {
  if (*n == limit) {
    fprintf(stderr, "more than %d items of a kind\n", limit);
    exit(2);
  }
  return (*n)++;
}

/* The file that is the only argument of a program, behind its first line, which says what it holds. */
static inline FILE *open_vectors(int argc, char **argv, const char *first_line) {
  char line[64];
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!file || !fgets(line, sizeof line, file) || strcmp(line, first_line) != 0) {
    fprintf(stderr, "usage: %s FILE, which begins with %s", argv[0], first_line);
    exit(2);
  }
  return file;
}

/* Every line of the file from here on, but empty ones and comments, as it is and at the cursor; then back to the start. */
static inline void read_lines(FILE *file, void (*read_line)(const char *line)) {
  static char line[MAX_LINE], words[MAX_LINE];
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#') continue;
    memcpy(words, line, strlen(line) + 1);
    cursor = words;
    read_line(line);
  }
  rewind(file);
}

#endif /* FASTBIN_TESTS_WORDS_H */
