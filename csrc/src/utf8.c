/*
 * utf8.c: which bytes are text.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

/* How many bytes after this first one belong to its character; -1: none begins with it. */
static int n_following(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xC2 && first < 0xE0) return 1;
  if (first >= 0xE0 && first < 0xF0) return 2;
  return first >= 0xF0 && first < 0xF5 ? 3 : -1;
}

/* UTF-8 in its only form: no overlong characters, no surrogates, nothing above U+10FFFF. */
int fastbin_is_utf8(const char *text, size_t size) {
  size_t at = 0;
  while (at < size) {
    unsigned char first = (unsigned char)text[at], second;
    int following = n_following(first);
    if (following < 0 || (size_t)following >= size - at) return 0;
    second = following > 0 ? (unsigned char)text[at + 1] : 0;
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0)) return 0;
    if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90)) return 0;
    for (int k = 1; k <= following; k++) {
      if (((unsigned char)text[at + (size_t)k] & 0xC0) != 0x80) return 0;
    }
    at += 1 + (size_t)following;
  }
  return 1;
}

int fastbin_provenance_can_be(const char *text, size_t size) {
  if (size == 0) return 1;
  return text && size <= FASTBIN_MAX_PROVENANCE_SIZE && fastbin_is_utf8(text, size);
}
