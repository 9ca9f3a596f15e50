/*
 * set_keys.c: the keys of a set, and the hash table that finds them.
 *
 * The table is at most half full and is searched from the place of the hash on. Keys that were chosen to have one hash cannot make
 * that slow, neither reading nor finding: where a search would be longer than LONGEST_SEARCH, all keys are found by bisection.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "set.h"

/* The longest search among two thousand million keys that were not chosen so is about 110 places. */
#define LONGEST_SEARCH 255

/* ------------------------------------------------------------------------------------------------------------- */
/* Which keys are those of a set                                                                                 */
/* ------------------------------------------------------------------------------------------------------------- */

static const char *text_of(const fastbin_set_spec *spec, int32_t i) { return spec->text + spec->text_offsets[i]; }

static size_t size_of(const fastbin_set_spec *spec, int32_t i) {
  return (size_t)(spec->text_offsets[i + 1] - spec->text_offsets[i]);
}

static int compare_texts(const char *one, size_t size, const char *other, size_t other_size) {
  int order = memcmp(one, other, size < other_size ? size : other_size);
  return order != 0 ? order : (size > other_size) - (size < other_size);
}

static int texts_can_be(const fastbin_set_spec *spec) {
  if (spec->text_offsets[0] != 0) return 0;
  /* All offsets before any text: the last one is its length. */
  for (int32_t i = 0; i < spec->n_keys; i++) {
    if (spec->text_offsets[i + 1] <= spec->text_offsets[i]) return 0;
    if (spec->text_offsets[i + 1] - spec->text_offsets[i] > FASTBIN_MAX_KEY_SIZE) return 0;
  }
  for (int32_t i = 0; i < spec->n_keys; i++) {
    size_t size = size_of(spec, i);
    if (!fastbin_is_utf8(text_of(spec, i), size)) return 0;
    if (i > 0 && compare_texts(text_of(spec, i - 1), size_of(spec, i - 1), text_of(spec, i), size) >= 0) return 0;
  }
  return 1;
}

int fastbin_keys_can_be(const fastbin_set_spec *spec) {
  if (spec->key_type == FASTBIN_KEYS_TEXT) return texts_can_be(spec);
  for (int32_t i = 1; i < spec->n_keys; i++) {
    if (spec->int_keys[i] <= spec->int_keys[i - 1]) return 0;
  }
  return 1;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* The table                                                                                                     */
/* ------------------------------------------------------------------------------------------------------------- */

/* The number of slots: a power of two, at least twice the number of keys. */
size_t fastbin_key_slots(const fastbin_set_spec *spec) {
  size_t slots = 2;
  while (slots < 2 * (size_t)spec->n_keys) slots *= 2;
  return slots;
}

static uint64_t hash_int(int64_t key) { return mix((uint64_t)key + KEY_STEP); }

/* The words of a text, the last one filled up with zeros, and its size. Never stored: any order of bytes will do. */
static uint64_t hash_text(const char *text, size_t size) {
  uint64_t state = size, word;
  for (; size >= sizeof word; size -= sizeof word, text += sizeof word) {
    memcpy(&word, text, sizeof word);
    state = chain(state, word);
  }
  word = 0;
  if (size > 0) memcpy(&word, text, size);
  return chain(state, word);
}

/* Enters all keys; the table is not used if one of them would be searched for too long. */
void fastbin_fill_key_table(fastbin_set *set) {
  const fastbin_set_spec *spec = &set->spec;
  key_table *table = &set->table;
  int is_text = spec->key_type == FASTBIN_KEYS_TEXT;
  table->mask = fastbin_key_slots(spec) - 1;
  table->is_hashed = 0;
  for (uint64_t k = 0; k <= table->mask; k++) table->slots[k].place = -1;
  for (int32_t i = 0; i < spec->n_keys; i++) {
    uint64_t hash = is_text ? hash_text(text_of(spec, i), size_of(spec, i)) : hash_int(spec->int_keys[i]);
    uint64_t at = hash & table->mask;
    int searched = 0;
    for (; table->slots[at].place >= 0; at = (at + 1) & table->mask) {
      if (++searched > LONGEST_SEARCH) return;
    }
    table->slots[at].word = is_text ? hash : (uint64_t)spec->int_keys[i];
    table->slots[at].place = i;
    table->slots[at].model = spec->model_of_key[i];
  }
  table->is_hashed = 1;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Finding                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

static NEVER_INLINE int32_t bisect_int(const fastbin_set_spec *spec, int64_t key) {
  int32_t low = 0, high = spec->n_keys;
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (spec->int_keys[middle] <= key) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return spec->int_keys[low] == key ? spec->model_of_key[low] : -1;
}

static NEVER_INLINE int32_t bisect_text(const fastbin_set_spec *spec, const char *key, size_t size) {
  int32_t low = 0, high = spec->n_keys;
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (compare_texts(text_of(spec, middle), size_of(spec, middle), key, size) <= 0) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return compare_texts(text_of(spec, low), size_of(spec, low), key, size) == 0 ? spec->model_of_key[low] : -1;
}

int32_t fastbin_set_find_int(const fastbin_set *set, int64_t key) {
  const key_table *table = &set->table;
  uint64_t at = hash_int(key) & table->mask;
  if (set->spec.key_type != FASTBIN_KEYS_INT) return -1;
  if (!table->is_hashed) return bisect_int(&set->spec, key);
  for (; table->slots[at].place >= 0; at = (at + 1) & table->mask) {
    if (table->slots[at].word == (uint64_t)key) return table->slots[at].model;
  }
  return -1;
}

int32_t fastbin_set_find_text(const fastbin_set *set, const char *key, size_t size) {
  const fastbin_set_spec *spec = &set->spec;
  const key_table *table = &set->table;
  uint64_t hash, at;
  if (spec->key_type != FASTBIN_KEYS_TEXT || size == 0 || size > FASTBIN_MAX_KEY_SIZE) return -1;
  if (!table->is_hashed) return bisect_text(spec, key, size);
  hash = hash_text(key, size);
  for (at = hash & table->mask; table->slots[at].place >= 0; at = (at + 1) & table->mask) {
    const key_slot *slot = &table->slots[at];
    if (slot->word != hash || size_of(spec, slot->place) != size) continue;
    if (memcmp(text_of(spec, slot->place), key, size) == 0) return slot->model;
  }
  return -1;
}
