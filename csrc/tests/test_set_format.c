/*
 * test_set_format.c: sets as bytes and in files. Damaged ones of every kind are refused. Works in the folder named by its argument.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "model_bytes.h"
#include "sets.h"

static bytes set_bytes_of(const fastbin_set_spec *spec) {
  fastbin_set *set = must_create_set(spec);
  bytes b;
  b.size = fastbin_set_size(set);
  REQUIRE(b.size <= MOST_BYTES);
  REQUIRE(fastbin_set_write(set, b.at, sizeof b.at) == FASTBIN_OK);
  fastbin_set_free(set);
  return b;
}

/* As read_status() of models. */
static fastbin_status set_status(const void *from, size_t size) {
  unsigned char *copy = must_malloc(size);
  fastbin_set *set = (fastbin_set *)(void *)&n_passed;
  fastbin_status status;
  memcpy(copy, from, size);
  status = fastbin_set_read(copy, size, &set);
  CHECK((status == FASTBIN_OK) == (set != NULL));
  fastbin_set_free(set);
  free(copy);
  return status;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Good bytes                                                                                                    */
/* ------------------------------------------------------------------------------------------------------------- */

static fastbin_set_spec pooled_alone_spec(void) {
  static const int32_t pooled[] = {0, 0, 0};
  fastbin_set_spec spec = int_set_spec();
  spec.kind = FASTBIN_SET_SEGMENTS;
  spec.n_models = 1;
  spec.pool = 0;
  spec.model_of_key = pooled;
  return spec;
}

/* The small map without its matrix and its evidence, of the columns as they stand. */
static fastbin_set_spec plain_vector_spec(void) {
  static fastbin_vector_map map;
  fastbin_set_spec spec = vector_set_spec();
  map = *spec.vector;
  map.n_bins = 0;
  map.mixing = map.edges = map.means = map.unlabelled = NULL;
  map.counts = NULL;
  map.keep_top = 1;
  spec.vector = &map;
  spec.columns = NULL;
  return spec;
}

/* One bin of each group, which has no edge. */
static fastbin_set_spec one_bin_spec(void) {
  static fastbin_vector_map map;
  fastbin_set_spec spec = vector_set_spec();
  map = *spec.vector;
  map.n_bins = 1;
  map.edges = map.unlabelled = NULL;
  map.counts = counts_of_one_bin();
  spec.vector = &map;
  return spec;
}

static void test_round_trips(void) {
  const fastbin_set_spec specs[] = {int_set_spec(),    text_set_spec(),     pooled_alone_spec(),
                                    vector_set_spec(), plain_vector_spec(), one_bin_spec()};
  for (size_t i = 0; i < 6; i++) {
    bytes b = set_bytes_of(&specs[i]), again;
    unsigned char unaligned[MOST_BYTES + 1];
    fastbin_set *set;
    fastbin_set_spec seen;
    memcpy(unaligned + 1, b.at, b.size);
    REQUIRE(fastbin_set_read(unaligned + 1, b.size, &set) == FASTBIN_OK);
    memset(unaligned, 0xAB, sizeof unaligned); /* the set has kept nothing of it */
    seen.struct_size = sizeof seen;
    REQUIRE(fastbin_set_describe(set, &seen) == FASTBIN_OK);
    again = set_bytes_of(&seen);
    CHECK(again.size == b.size && memcmp(again.at, b.at, b.size) == 0);
    CHECK(memcmp(b.at, i < 3 ? "\x89" "FBT\r\n\x1a\n" : "\x89" "FBV\r\n\x1a\n", 8) == 0 && b.size % 8 == 0);
    fastbin_set_free(set);
  }
}

static void test_buffers(void) {
  fastbin_set_spec spec = text_set_spec();
  fastbin_set *set = must_create_set(&spec);
  unsigned char buffer[MOST_BYTES];
  size_t size = fastbin_set_size(set);
  memset(buffer, 0x55, sizeof buffer);
  CHECK(fastbin_set_write(set, buffer, size - 1) == FASTBIN_ERROR_BUFFER && buffer[0] == 0x55);
  CHECK(fastbin_set_write(set, buffer, size) == FASTBIN_OK && buffer[size] == 0x55);
  CHECK(fastbin_set_write(set, NULL, size) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_set_write(NULL, buffer, size) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_set_size(NULL) == 0);
  fastbin_set_free(set);
  CHECK(fastbin_set_read(NULL, size, &set) == FASTBIN_ERROR_ARGUMENT && set == NULL);
  CHECK(fastbin_set_read(buffer, size, NULL) == FASTBIN_ERROR_ARGUMENT);
}

static void test_files(const char *folder) {
  fastbin_set_spec spec = text_set_spec();
  fastbin_set *set = must_create_set(&spec), *loaded;
  fastbin_model *model;
  char path[4096];
  snprintf(path, sizeof path, "%s/set.fbm", folder);
  CHECK(fastbin_set_save(set, path) == FASTBIN_OK);
  REQUIRE(fastbin_set_load(path, &loaded) == FASTBIN_OK);
  CHECK(fastbin_set_find_text(loaded, "ab", 2) == 1);
  fastbin_set_free(loaded);
  CHECK(fastbin_model_load(path, &model) == FASTBIN_ERROR_MAGIC && model == NULL);
  CHECK(fastbin_model_save(set_models()[0], path) == FASTBIN_OK);
  CHECK(fastbin_set_load(path, &loaded) == FASTBIN_ERROR_MAGIC && loaded == NULL);
  fastbin_set_free(set);
  spec = vector_set_spec();
  set = must_create_set(&spec);
  CHECK(fastbin_set_save(set, path) == FASTBIN_OK);
  REQUIRE(fastbin_set_load(path, &loaded) == FASTBIN_OK);
  CHECK(fastbin_set_size(loaded) == fastbin_set_size(set) && fastbin_set_find_text(loaded, "bc", 2) == 1);
  fastbin_set_free(loaded);
  CHECK(fastbin_model_load(path, &model) == FASTBIN_ERROR_MAGIC && model == NULL);
  remove(path);
  CHECK(fastbin_set_load(path, &loaded) == FASTBIN_ERROR_OPEN && loaded == NULL);
  CHECK(fastbin_set_load(NULL, &loaded) == FASTBIN_ERROR_ARGUMENT && fastbin_set_load(path, NULL) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_set_save(set, NULL) == FASTBIN_ERROR_ARGUMENT && fastbin_set_save(set, "") == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_set_save(NULL, path) == FASTBIN_ERROR_ARGUMENT);
  fastbin_set_free(set);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Accidents                                                                                                     */
/* ------------------------------------------------------------------------------------------------------------- */

static void test_accidents(void) {
  const fastbin_set_spec specs[] = {int_set_spec(), text_set_spec(), vector_set_spec()};
  for (int s = 0; s < 3; s++) {
    bytes b = set_bytes_of(&specs[s]);
    for (size_t size = 0; size < b.size; size++) CHECK(set_status(b.at, size) == FASTBIN_ERROR_LENGTH);
    for (size_t extra = 1; extra < 20; extra++) CHECK(set_status(b.at, b.size + extra) == FASTBIN_ERROR_LENGTH);
    for (size_t bit = 0; bit < 8 * b.size; bit++) {
      b.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
      CHECK(set_status(b.at, b.size) != FASTBIN_OK);
      b.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
  }
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Contradictions behind valid checksums                                                                         */
/* ------------------------------------------------------------------------------------------------------------- */

/* With the number at an offset in a section. */
static fastbin_status status_in(const fastbin_set_spec *spec, const char *tag, size_t offset, uint64_t number, int width) {
  bytes b = set_bytes_of(spec);
  put(&b, payload_of(&b, tag) + offset, number, width);
  seal(&b);
  return set_status(b.at, b.size);
}

static fastbin_status status_without(const fastbin_set_spec *spec, const char *tag) {
  bytes b = set_bytes_of(spec);
  size_t payload = payload_of(&b, tag), start = payload - 16, size = 16 + ((size_t)get(&b, start + 8, 8) + 7) / 8 * 8;
  memmove(b.at + start, b.at + start + size, b.size - start - size);
  b.size -= size;
  put(&b, 12, get(&b, 12, 4) - 1, 4);
  seal(&b);
  return set_status(b.at, b.size);
}

/* The models behind eight bytes that are part of none. */
static fastbin_status status_behind(const fastbin_set_spec *spec) {
  bytes b = set_bytes_of(spec);
  size_t offsets = payload_of(&b, "OFFS"), models = payload_of(&b, "MODS");
  for (size_t i = 0; i <= (size_t)spec->n_models; i++) put(&b, offsets + 8 * i, get(&b, offsets + 8 * i, 8) + 8, 8);
  memmove(b.at + models + 8, b.at + models, b.size - models);
  put(&b, models - 8, get(&b, models - 8, 8) + 8, 8);
  b.size += 8;
  seal(&b);
  return set_status(b.at, b.size);
}

static void test_contradictions(void) {
  const fastbin_set_spec ints = int_set_spec(), texts = text_set_spec();
  static const char *const tags[] = {"HEAD", "KEYS", "CELL", "OFFS", "MODS"};
  CHECK(status_in(&ints, "HEAD", 0, 0, 4) == FASTBIN_OK);
  CHECK(status_in(&ints, "HEAD", 0, 1, 4) == FASTBIN_OK);
  CHECK(status_in(&ints, "HEAD", 0, 4, 4) == FASTBIN_ERROR_CONTENT);        /* a vector set has a letter of its own */
  CHECK(status_in(&ints, "HEAD", 0, 5, 4) == FASTBIN_ERROR_FORMAT_VERSION); /* kind, keys, unknown keys of the future */
  CHECK(status_in(&ints, "HEAD", 4, 2, 4) == FASTBIN_ERROR_FORMAT_VERSION);
  CHECK(status_in(&ints, "HEAD", 8, 2, 4) == FASTBIN_ERROR_FORMAT_VERSION);
  CHECK(status_in(&ints, "HEAD", 4, 1, 4) == FASTBIN_ERROR_CONTENT); /* text */
  CHECK(status_in(&texts, "HEAD", 4, 0, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&ints, "HEAD", 8, 1, 4) == FASTBIN_ERROR_CONTENT); /* a pool that is not there */
  CHECK(status_in(&ints, "HEAD", 12, 2, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&texts, "HEAD", 12, 1, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&texts, "HEAD", 12, UINT32_MAX, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&ints, "HEAD", 12, 0x80000000u, 4) == FASTBIN_ERROR_CONTENT);
  for (size_t at = 16; at <= 24; at += 8) { /* M and K */
    CHECK(status_in(&ints, "HEAD", at, 0, 8) == FASTBIN_ERROR_CONTENT);
    CHECK(status_in(&ints, "HEAD", at, 2, 8) == FASTBIN_ERROR_CONTENT);
    CHECK(status_in(&ints, "HEAD", at, 4, 8) == FASTBIN_ERROR_CONTENT);
    CHECK(status_in(&ints, "HEAD", at, UINT64_MAX, 8) == FASTBIN_ERROR_CONTENT);
    CHECK(status_in(&ints, "HEAD", at, UINT64_C(1) << 31, 8) == FASTBIN_ERROR_CONTENT);
    CHECK(status_in(&ints, "HEAD", at, UINT64_C(1) << 61 | 3, 8) == FASTBIN_ERROR_CONTENT); /* times 8 it is 24 again */
    CHECK(status_in(&texts, "HEAD", at, UINT64_C(1) << 61 | 5, 8) == FASTBIN_ERROR_CONTENT);
  }
  CHECK(status_in(&ints, "KEYS", 8, (uint64_t)-6, 8) == FASTBIN_ERROR_CONTENT); /* not ascending */
  CHECK(status_in(&ints, "KEYS", 8, 6, 8) == FASTBIN_OK);
  CHECK(status_in(&texts, "KEYS", 0, 1, 8) == FASTBIN_ERROR_CONTENT);           /* offsets */
  CHECK(status_in(&texts, "KEYS", 16, UINT64_MAX, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&texts, "KEYS", 40, 6, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&texts, "KEYS", 40, UINT64_MAX, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&texts, "KEYS", 48, 'b', 1) == FASTBIN_ERROR_CONTENT);        /* "b" before "a" */
  CHECK(status_in(&texts, "KEYS", 54, 'x', 1) == FASTBIN_ERROR_CONTENT);        /* no UTF-8 */
  CHECK(status_in(&texts, "KEYS", 55, 1, 1) == FASTBIN_ERROR_CONTENT);          /* filling */
  CHECK(status_in(&texts, "CELL", 8, 1, 8) == FASTBIN_ERROR_CONTENT);           /* models out of order */
  CHECK(status_in(&texts, "CELL", 8, UINT64_MAX, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&texts, "CELL", 8, UINT64_C(1) << 32, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&texts, "COLS", 8, 1, 8) == FASTBIN_ERROR_CONTENT);           /* a column twice */
  CHECK(status_in(&texts, "COLS", 8, UINT64_C(1) << 32, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&texts, "HEAD", 0, 1, 4) == FASTBIN_ERROR_CONTENT);           /* segments with columns */
  CHECK(status_in(&ints, "OFFS", 0, 8, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_behind(&ints) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&ints, "OFFS", 8, 8, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&ints, "OFFS", 8, 0, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&ints, "OFFS", 8, UINT64_MAX - 7, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&ints, "OFFS", 24, 8, 8) == FASTBIN_ERROR_CONTENT);
  for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) CHECK(status_without(&texts, tags[i]) == FASTBIN_ERROR_CONTENT);
  CHECK(status_without(&texts, "COLS") == FASTBIN_OK); /* another set */
}

/* Columns that are places, written by hand: there is another way to say so. */
static void test_needless_columns(void) {
  fastbin_set_spec spec = text_set_spec();
  bytes b = set_bytes_of(&spec);
  size_t at = payload_of(&b, "COLS");
  for (size_t i = 0; i < 5; i++) put(&b, at + 8 * i, i, 8);
  seal(&b);
  CHECK(set_status(b.at, b.size) == FASTBIN_ERROR_CONTENT);
}

/* What is wrong with a model is wrong with the set: a bad content, a false checksum, a section of the future. */
static void test_models_inside(void) {
  fastbin_set_spec spec = int_set_spec();
  const bytes good = set_bytes_of(&spec);
  size_t offset = payload_of(&good, "MODS"), size = (size_t)get(&good, offset + 16, 8);
  for (int change = 0; change < 4; change++) {
    static const struct {
      size_t at;
      uint64_t number;
      int width, is_sealed;
      fastbin_status expected;
    } changes[] = {{88, 4, 4, 1, FASTBIN_OK},                    /* as it was */
                   {88, 3, 4, 1, FASTBIN_ERROR_CONTENT},         /* n_bins */
                   {88, 3, 4, 0, FASTBIN_ERROR_CONTENT},
                   {40, 3, 4, 1, FASTBIN_ERROR_FORMAT_VERSION}}; /* a kind of the future */
    bytes b = good, inside;
    inside.size = size;
    memcpy(inside.at, b.at + offset, size);
    put(&inside, changes[change].at, changes[change].number, changes[change].width);
    if (changes[change].is_sealed) seal(&inside);
    memcpy(b.at + offset, inside.at, size);
    seal(&b);
    CHECK(set_status(b.at, b.size) == changes[change].expected);
  }
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Vector sets                                                                                                   */
/* ------------------------------------------------------------------------------------------------------------- */

static uint64_t bits_of_double(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static fastbin_status status_with_letter(const fastbin_set_spec *spec, char letter) {
  bytes b = set_bytes_of(spec);
  b.at[3] = (unsigned char)letter;
  seal(&b);
  return set_status(b.at, b.size);
}

/* With the payload of a section longer or shorter by this many zeros. */
static fastbin_status status_resized(const fastbin_set_spec *spec, const char *tag, int by) {
  bytes b = set_bytes_of(spec);
  size_t payload = payload_of(&b, tag), size = (size_t)get(&b, payload - 8, 8), end = payload + size;
  memmove(b.at + end + by, b.at + end, b.size - end);
  if (by > 0) memset(b.at + end, 0, (size_t)by);
  b.size = (size_t)((int64_t)b.size + by);
  put(&b, payload - 8, (uint64_t)((int64_t)size + by), 8);
  seal(&b);
  return set_status(b.at, b.size);
}

/* With a section twice, one copy behind the other. */
static fastbin_status status_twice(const fastbin_set_spec *spec, const char *tag) {
  bytes b = set_bytes_of(spec);
  size_t start = payload_of(&b, tag) - 16, size = 16 + ((size_t)get(&b, start + 8, 8) + 7) / 8 * 8;
  memmove(b.at + start + size, b.at + start, b.size - start);
  b.size += size;
  put(&b, 12, get(&b, 12, 4) + 1, 4);
  seal(&b);
  return set_status(b.at, b.size);
}

static void test_sections_of_maps(void) {
  const fastbin_set_spec full = vector_set_spec(), plain = plain_vector_spec(), one = one_bin_spec(), texts = text_set_spec();
  CHECK(status_with_letter(&full, 'V') == FASTBIN_OK);
  CHECK(status_with_letter(&full, 'T') == FASTBIN_ERROR_CONTENT);
  CHECK(status_with_letter(&texts, 'V') == FASTBIN_ERROR_CONTENT);
  CHECK(status_with_letter(&full, 'M') == FASTBIN_ERROR_MAGIC);
  CHECK(status_in(&full, "HEAD", 0, 3, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_without(&full, "VECT") == FASTBIN_ERROR_CONTENT);
  CHECK(status_without(&plain, "VECT") == FASTBIN_ERROR_CONTENT);
  CHECK(status_without(&full, "SEEN") == FASTBIN_ERROR_CONTENT); /* other rows in bins that are not there */
  CHECK(status_without(&one, "SEEN") == FASTBIN_OK);
  CHECK(status_without(&full, "UNLB") == FASTBIN_OK);
  CHECK(status_without(&full, "COLS") == FASTBIN_OK);
  CHECK(status_without(&full, "PROV") == FASTBIN_OK);
  for (int i = 0; i < 3; i++) {
    static const char *const tags[] = {"VECT", "SEEN", "UNLB"};
    CHECK(status_twice(&full, tags[i]) == FASTBIN_ERROR_CONTENT);
    for (int words = -4; words <= 4; words++) {
      CHECK(status_resized(&full, tags[i], 8 * words) == (words == 0 ? FASTBIN_OK : FASTBIN_ERROR_CONTENT));
    }
  }
  CHECK(status_resized(&plain, "VECT", -96) == FASTBIN_ERROR_CONTENT); /* shorter than its first numbers */
  CHECK(status_resized(&one, "SEEN", -96) == FASTBIN_ERROR_CONTENT);
  CHECK(status_resized(&full, "UNLB", -184) == FASTBIN_ERROR_CONTENT); /* one number of all */
}

static void test_numbers_in_maps(void) {
  const fastbin_set_spec full = vector_set_spec(), plain = plain_vector_spec();
  const uint64_t negative_zero = UINT64_C(1) << 63, nan = bits_of_double(NAN);
  static const uint64_t lengths[] = {0, 1, 3, 4, UINT64_C(1) << 32 | 2, UINT64_C(1) << 61 | 2, UINT64_C(1) << 62, UINT64_MAX};
  bytes b = set_bytes_of(&full);
  CHECK(status_in(&full, "VECT", 0, bits_of_double(1.0), 8) == FASTBIN_OK);
  CHECK(status_in(&full, "VECT", 0, bits_of_double(1.5), 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&full, "VECT", 8, 0, 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&full, "VECT", 16, bits_of_double(0.5), 8) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&full, "VECT", 24, 1, 4) == FASTBIN_OK); /* keep_top */
  CHECK(status_in(&full, "VECT", 24, 2, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&full, "VECT", 28, 0, 4) == FASTBIN_ERROR_CONTENT); /* whether there is a matrix */
  CHECK(status_in(&full, "VECT", 28, 2, 4) == FASTBIN_ERROR_CONTENT);
  CHECK(status_in(&plain, "VECT", 28, 1, 4) == FASTBIN_ERROR_CONTENT);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    CHECK(status_in(&full, "SEEN", 0, lengths[i], 8) == FASTBIN_ERROR_CONTENT);
  }
  for (int i = 0; i < 3; i++) {
    static const char *const tags[] = {"VECT", "SEEN", "UNLB"};
    size_t size = (size_t)get(&b, payload_of(&b, tags[i]) - 8, 8);
    for (size_t at = 0; at < size; at += 8) {
      CHECK(status_in(&full, tags[i], at, negative_zero, 8) == FASTBIN_ERROR_CONTENT);
      CHECK(status_in(&full, tags[i], at, nan | negative_zero, 8) == FASTBIN_ERROR_CONTENT);
    }
  }
}

/* -0.0 is taken and not kept. */
static void test_negative_zeros_of_maps(void) {
  static const double negative[24] = {-0.0, -0.0, -0.0}, zeros[24] = {0.0};
  fastbin_set_spec spec = vector_set_spec();
  fastbin_vector_map map = *spec.vector;
  bytes one, other;
  spec.vector = &map;
  map.of_models = -0.0;
  map.slopes = map.intercepts = map.mixing = map.means = map.unlabelled = map.edges = negative;
  one = set_bytes_of(&spec);
  map.of_models = 0.0;
  map.slopes = map.intercepts = map.mixing = map.means = map.unlabelled = map.edges = zeros;
  other = set_bytes_of(&spec);
  CHECK(one.size == other.size && memcmp(one.at, other.at, one.size) == 0);
  CHECK(set_status(one.at, one.size) == FASTBIN_OK);
}

/* Models with keys, behind a valid checksum: the second model's edge gets a key of its own. */
static void test_models_in_maps(void) {
  fastbin_set_spec spec = vector_set_spec();
  bytes b = set_bytes_of(&spec), inside;
  size_t mods = payload_of(&b, "MODS"), offs = payload_of(&b, "OFFS"), first = (size_t)get(&b, offs, 8);
  inside.size = (size_t)get(&b, offs + 8, 8) - first;
  memcpy(inside.at, b.at + mods + first, inside.size);
  put(&inside, payload_of(&inside, "EKEY"), 12345, 8);
  seal(&inside);
  CHECK(read_status(inside.at, inside.size) == FASTBIN_OK);
  memcpy(b.at + mods + first, inside.at, inside.size);
  seal(&b);
  CHECK(set_status(b.at, b.size) == FASTBIN_ERROR_CONTENT);
}

int main(int argc, char **argv) {
  test_round_trips();
  test_buffers();
  test_files(argc > 1 ? argv[1] : ".");
  test_accidents();
  test_contradictions();
  test_needless_columns();
  test_models_inside();
  test_sections_of_maps();
  test_numbers_in_maps();
  test_negative_zeros_of_maps();
  test_models_in_maps();
  free_set_models();
  return finish();
}
