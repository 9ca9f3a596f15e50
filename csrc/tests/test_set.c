/*
 * test_set.c: sets of models: which specs are sets, finding models by keys, scoring by models.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "sets.h"

/* ------------------------------------------------------------------------------------------------------------- */
/* Making and showing                                                                                            */
/* ------------------------------------------------------------------------------------------------------------- */

static int same_models(const fastbin_model *one, const fastbin_model *other) {
  unsigned char bytes[4096], others[4096];
  size_t size = fastbin_model_size(one);
  if (size != fastbin_model_size(other) || size > sizeof bytes) return 0;
  fastbin_model_write(one, bytes, size);
  fastbin_model_write(other, others, size);
  return memcmp(bytes, others, size) == 0;
}

static void test_describe(void) {
  fastbin_set_spec given = text_set_spec(), seen;
  fastbin_set *set = must_create_set(&given);
  memset(&seen, 0xAB, sizeof seen);
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_set_describe(set, &seen) == FASTBIN_OK);
  CHECK(seen.kind == given.kind && seen.key_type == given.key_type && seen.unknown == given.unknown && seen.pool == 2);
  CHECK(seen.n_models == 3 && seen.n_keys == 5 && seen.int_keys == NULL && seen.struct_size == sizeof seen);
  CHECK(memcmp(seen.text, given.text, 7) == 0 && seen.text != given.text);
  CHECK(memcmp(seen.text_offsets, given.text_offsets, 6 * sizeof(uint64_t)) == 0);
  CHECK(memcmp(seen.model_of_key, given.model_of_key, 5 * sizeof(int32_t)) == 0);
  CHECK(memcmp(seen.columns, given.columns, 5 * sizeof(int32_t)) == 0);
  for (int i = 0; i < 3; i++) CHECK(seen.models[i] != given.models[i] && same_models(seen.models[i], given.models[i]));
  seen.struct_size = sizeof seen - 8;
  CHECK(fastbin_set_describe(set, &seen) == FASTBIN_ERROR_STRUCT_SIZE);
  CHECK(fastbin_set_describe(set, NULL) == FASTBIN_ERROR_ARGUMENT && fastbin_set_describe(NULL, &seen) == FASTBIN_ERROR_ARGUMENT);
  fastbin_set_free(set);
  fastbin_set_free(NULL);
}

/* What need not be said is not kept: two specs of one set have the same bytes. */
static void test_the_same_set_said_otherwise(void) {
  static const int32_t places[] = {0, 1, 2};
  fastbin_set_spec spec = int_set_spec(), seen;
  fastbin_set *set;
  spec.kind = FASTBIN_SET_CLASS_WISE;
  spec.model_of_key = spec.columns = places;
  set = must_create_set(&spec);
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_set_describe(set, &seen) == FASTBIN_OK);
  CHECK(seen.columns == NULL && memcmp(seen.model_of_key, places, sizeof places) == 0);
  fastbin_set_free(set);
}

static void test_impossible_arguments(void) {
  fastbin_set_spec spec = int_set_spec();
  const fastbin_model *missing[] = {spec.models[0], NULL, spec.models[2]};
  struct {
    fastbin_set_spec spec;
    uint64_t more;
  } longer = {spec, 0};
  CHECK(status_of(&spec) == FASTBIN_OK);
  CHECK(fastbin_set_create(&spec, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(status_of(NULL) == FASTBIN_ERROR_ARGUMENT);
#define REFUSED(change, expected)                  \
  do {                                             \
    spec = int_set_spec();                         \
    change;                                        \
    CHECK(status_of(&spec) == FASTBIN_##expected); \
  } while (0)
  REFUSED(spec.kind = 5, ERROR_ARGUMENT);
  REFUSED(spec.kind = -1, ERROR_ARGUMENT);
  REFUSED(spec.key_type = 2, ERROR_ARGUMENT);
  REFUSED(spec.unknown = 2, ERROR_ARGUMENT);
  REFUSED(spec.n_models = 0, ERROR_ARGUMENT);
  REFUSED(spec.n_models = -1, ERROR_ARGUMENT);
  REFUSED(spec.n_keys = 0, ERROR_ARGUMENT);
  REFUSED(spec.models = NULL, ERROR_ARGUMENT);
  REFUSED(spec.models = missing, ERROR_ARGUMENT);
  REFUSED(spec.int_keys = NULL, ERROR_ARGUMENT);
  REFUSED(spec.text = "abc", ERROR_ARGUMENT);
  REFUSED(spec.struct_size = 0, ERROR_STRUCT_SIZE);
  REFUSED(spec.struct_size = sizeof spec - 8, ERROR_STRUCT_SIZE);
  longer.spec.struct_size = sizeof longer;
  CHECK(status_of(&longer.spec) == FASTBIN_OK);
  longer.more = 1;
  CHECK(status_of(&longer.spec) == FASTBIN_ERROR_STRUCT_SIZE);
  spec = text_set_spec();
  spec.text_offsets = NULL;
  CHECK(status_of(&spec) == FASTBIN_ERROR_ARGUMENT);
  spec = text_set_spec();
  spec.text = NULL;
  CHECK(status_of(&spec) == FASTBIN_ERROR_ARGUMENT);
}

static void test_impossible_sets(void) {
  static const int64_t falling[] = {-5, 8, 7}, twice[] = {7, 7, 8};
  static const int32_t swapped[] = {1, 0, 2}, shared[] = {0, 0, 1}, beyond[] = {0, 1, 3}, all_pooled[] = {2, 2, 2};
  static const int32_t negative[] = {0, 1, -1}, to_pool[] = {0, 2, 1};
  static const int32_t column_twice[] = {0, 2, 2}, column_beyond[] = {0, 1, 3}, column_negative[] = {0, -1, 2};
  fastbin_set_spec spec;
  REFUSED(spec.int_keys = falling, ERROR_SET);
  REFUSED(spec.int_keys = twice, ERROR_SET);
  REFUSED(spec.n_models = 2, ERROR_SET);
  REFUSED(spec.n_keys = 2, ERROR_SET);
  REFUSED(spec.pool = 1, ERROR_SET);
  REFUSED(spec.pool = 3, ERROR_SET);
  REFUSED(spec.pool = -2, ERROR_SET);
  REFUSED(spec.unknown = FASTBIN_UNKNOWN_POOL, ERROR_SET); /* there is none */
  REFUSED(spec.model_of_key = swapped, ERROR_SET);
  REFUSED(spec.model_of_key = shared, ERROR_SET);
  REFUSED(spec.model_of_key = beyond, ERROR_SET);
  REFUSED(spec.model_of_key = negative, ERROR_SET);
  REFUSED((spec.pool = 2, spec.model_of_key = to_pool), OK);
  REFUSED((spec.pool = 2, spec.model_of_key = all_pooled), ERROR_SET); /* and two models without a key */
  REFUSED((spec.pool = 2, spec.model_of_key = NULL), ERROR_SET);
  REFUSED((spec.pool = 2, spec.n_keys = 2, spec.model_of_key = swapped + 1), ERROR_SET);
  spec = int_set_spec();
  spec.pool = 2; /* a pool that no row could reach, and one for unknown keys alone */
  spec.n_keys = 2;
  spec.model_of_key = beyond;
  CHECK(status_of(&spec) == FASTBIN_ERROR_SET);
  spec.unknown = FASTBIN_UNKNOWN_POOL;
  CHECK(status_of(&spec) == FASTBIN_OK);
  REFUSED(spec.columns = swapped, ERROR_SET); /* of segments */
  REFUSED((spec.kind = FASTBIN_SET_TOP_LABEL, spec.columns = swapped), OK);
  REFUSED((spec.kind = FASTBIN_SET_TOP_LABEL, spec.columns = column_twice), ERROR_SET);
  REFUSED((spec.kind = FASTBIN_SET_TOP_LABEL, spec.columns = column_beyond), ERROR_SET);
  REFUSED((spec.kind = FASTBIN_SET_TOP_LABEL, spec.columns = column_negative), ERROR_SET);
}

/* One key of these bytes. */
static fastbin_status status_of_key(const char *text, size_t size) {
  const uint64_t offsets[] = {0, size};
  fastbin_set_spec spec = int_set_spec();
  spec.key_type = FASTBIN_KEYS_TEXT;
  spec.n_models = spec.n_keys = 1;
  spec.int_keys = NULL;
  spec.text = text;
  spec.text_offsets = offsets;
  return status_of(&spec);
}

static void test_texts(void) {
  static const char *const good[] = {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                     "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z"};
  static const char *const bad[] = {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "a\xc3", "\xc3z", "\xe0\x9f\xbf", "\xed\xa0\x80",
                                    "\xe2\x82", "\xe2\x82z", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
                                    "\xf0\x9f\x98"};
  static const uint64_t wild[] = {0, 1, 1000000, 4, 5, 7}, late[] = {1, 2, 3, 4, 5, 7}, level[] = {0, 1, 1, 4, 5, 7};
  static const uint64_t behind[] = {1, 2, 3, 5, 6, 8};
  char longest[FASTBIN_MAX_KEY_SIZE + 1];
  fastbin_set_spec spec = text_set_spec();
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) CHECK(status_of_key(good[i], strlen(good[i])) == FASTBIN_OK);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(status_of_key(bad[i], strlen(bad[i])) == FASTBIN_ERROR_SET);
  memset(longest, 'a', sizeof longest);
  CHECK(status_of_key(longest, FASTBIN_MAX_KEY_SIZE) == FASTBIN_OK);
  CHECK(status_of_key(longest, sizeof longest) == FASTBIN_ERROR_SET);
  CHECK(status_of_key("", 0) == FASTBIN_ERROR_SET);
  spec.text = "xZaabz\xc3\xa9"; /* the same keys, behind a byte of none */
  spec.text_offsets = behind;
  CHECK(status_of(&spec) == FASTBIN_ERROR_SET);
  spec = text_set_spec();
  CHECK(status_of_key("\0", 1) == FASTBIN_OK); /* a text is not ended by a zero */
  spec.text_offsets = wild;
  CHECK(status_of(&spec) == FASTBIN_ERROR_SET);
  spec.text_offsets = late;
  CHECK(status_of(&spec) == FASTBIN_ERROR_SET);
  spec.text_offsets = level;
  CHECK(status_of(&spec) == FASTBIN_ERROR_SET);
  spec = text_set_spec();
  spec.text = "aZabz\xc3\xa9"; /* out of order */
  CHECK(status_of(&spec) == FASTBIN_ERROR_SET);
  spec.text = "Zbabz\xc3\xa9"; /* and where the shorter one comes later */
  CHECK(status_of(&spec) == FASTBIN_ERROR_SET);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Finding                                                                                                       */
/* ------------------------------------------------------------------------------------------------------------- */

/* A set of these keys that all have the pool, which is the only model, and of others that have none. */
static void check_ints(int64_t *keys, size_t n) {
  fastbin_set_spec spec = int_set_spec();
  int32_t *model_of_key = must_malloc(n * sizeof *model_of_key);
  fastbin_set *set;
  for (size_t i = 0; i < n; i++) model_of_key[i] = 0;
  spec.n_models = 1;
  spec.pool = 0;
  spec.n_keys = (int32_t)n;
  spec.int_keys = keys;
  spec.model_of_key = model_of_key;
  set = must_create_set(&spec);
  for (size_t i = 0; i < n; i++) {
    CHECK(fastbin_set_find_int(set, keys[i]) == 0);
    if (i + 1 < n && keys[i + 1] > keys[i] + 1) CHECK(fastbin_set_find_int(set, keys[i] + 1) == -1);
  }
  CHECK(fastbin_set_find_int(set, 123456789) == -1 || n > 1000000);
  CHECK(fastbin_set_find_text(set, "a", 1) == -1);
  fastbin_set_free(set);
  free(model_of_key);
}

static int by_value(const void *one, const void *other) {
  int64_t x = *(const int64_t *)one, y = *(const int64_t *)other;
  return (x > y) - (x < y);
}

static void test_finding_ints(void) {
  static int64_t keys[30000];
  const size_t sizes[] = {1, 2, 3, 64, 1000, 30000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    for (size_t i = 0; i < sizes[s]; i++) keys[i] = 2 * (int64_t)i - 999;
    check_ints(keys, sizes[s]);
    keys[0] = INT64_MIN;
    keys[sizes[s] - 1] = INT64_MAX;
    check_ints(keys, sizes[s]);
    for (size_t i = 0; i < sizes[s]; i++) keys[i] = (int64_t)((random_bits() >> 20 << 20) + i);
    qsort(keys, sizes[s], sizeof *keys, by_value);
    check_ints(keys, sizes[s]);
  }
}

/* Keys of one place in any table: found all the same, and as fast. */
static void test_chosen_collisions(void) {
  static int64_t keys[30000];
  for (size_t n = 200; n <= 30000; n += n / 2) {
    for (size_t i = 0; i < n; i++) keys[i] = key_of_hash((uint64_t)i << 40 | 17);
    qsort(keys, n, sizeof *keys, by_value);
    check_ints(keys, n);
  }
}

static void test_finding_texts(void) {
  fastbin_set_spec spec = text_set_spec();
  fastbin_set *set = must_create_set(&spec);
  CHECK(fastbin_set_find_text(set, "Z", 1) == 2 && fastbin_set_find_text(set, "a", 1) == 0);
  CHECK(fastbin_set_find_text(set, "ab", 2) == 1 && fastbin_set_find_text(set, "\xc3\xa9", 2) == 2);
  CHECK(fastbin_set_find_text(set, "abc", 2) == 1 && fastbin_set_find_text(set, "abc", 3) == -1);
  CHECK(fastbin_set_find_text(set, "b", 1) == -1 && fastbin_set_find_text(set, NULL, 0) == -1);
  CHECK(fastbin_set_find_text(set, "a\0", 2) == -1 && fastbin_set_find_text(set, "\xff", 1) == -1);
  CHECK(fastbin_set_find_int(set, 0) == -1);
  fastbin_set_free(set);
}

/* Many texts of all lengths, all of them found, none with one byte more or less. */
static void test_finding_many_texts(void) {
  enum { N = 5000 };
  static char text[N * 16];
  static uint64_t offsets[N + 1];
  static int32_t model_of_key[N];
  fastbin_set_spec spec = text_set_spec();
  fastbin_set *set;
  for (int i = 0; i < N; i++) offsets[i + 1] = offsets[i] + (uint64_t)snprintf(text + offsets[i], 17, "%05d%.*s", i, i % 11, "+++++++++++");
  spec.kind = FASTBIN_SET_SEGMENTS;
  spec.n_models = 1;
  spec.pool = 0;
  spec.n_keys = N;
  spec.text = text;
  spec.text_offsets = offsets;
  spec.model_of_key = model_of_key;
  spec.columns = NULL;
  set = must_create_set(&spec);
  for (int i = 0; i < N; i++) {
    size_t size = (size_t)(offsets[i + 1] - offsets[i]);
    CHECK(fastbin_set_find_text(set, text + offsets[i], size) == 0);
    CHECK(fastbin_set_find_text(set, text + offsets[i], size - 1) == -1);
    if (i + 1 < N) CHECK(fastbin_set_find_text(set, text + offsets[i], size + 1) == -1);
  }
  fastbin_set_free(set);
}

int main(void) {
  test_describe();
  test_the_same_set_said_otherwise();
  test_impossible_arguments();
  test_impossible_sets();
  test_texts();
  test_finding_ints();
  test_chosen_collisions();
  test_finding_texts();
  test_finding_many_texts();
  free_set_models();
  return finish();
}
