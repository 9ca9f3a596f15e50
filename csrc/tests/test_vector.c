/*
 * test_vector.c: vector sets: which maps can be, how they are described, and rows against a plain double loop of the header's
 * definition.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200112L
#include "modes.h"
#include "sets.h"

#include <float.h>
#include <math.h>

enum { MOST_CLASSES = 300, MOST_ROWS = 200 };
/* For the bits of all rows of test_rows(), which every compiler and processor must give. */
#define DIGEST UINT64_C(0x6FF03612A675BF97)

/* ------------------------------------------------------------------------------------------------------------- */
/* Making and showing                                                                                            */
/* ------------------------------------------------------------------------------------------------------------- */

static void test_describe(void) {
  fastbin_set_spec given = vector_set_spec(), seen;
  fastbin_set *set = must_create_set(&given);
  const fastbin_vector_map *map = given.vector, *own;
  seen.struct_size = sizeof seen;
  REQUIRE(fastbin_set_describe(set, &seen) == FASTBIN_OK);
  own = seen.vector;
  CHECK(seen.kind == FASTBIN_SET_VECTOR && own != NULL && own != map && seen.pool == -1);
  CHECK(own->of_models == 0.375 && own->of_priors == 0.0078125 && own->least == 1e-9 && !own->keep_top && own->n_bins == 2);
#define SAME(member, n) CHECK(own->member != map->member && memcmp(own->member, map->member, (n) * sizeof *own->member) == 0)
  SAME(slopes, 3);
  SAME(intercepts, 3);
  SAME(priors, 3);
  SAME(mixing, 9);
  SAME(edges, 4);
  SAME(counts, 16);
  SAME(means, 8);
  SAME(unlabelled, 24);
  CHECK(fastbin_set_find_text(set, "bc", 2) == 1 && fastbin_set_find_text(set, "b", 1) == -1);
  fastbin_set_free(set);
  given = int_set_spec();
  set = must_create_set(&given);
  REQUIRE(fastbin_set_describe(set, &seen) == FASTBIN_OK);
  CHECK(seen.vector == NULL);
  fastbin_set_free(set);
}

/* The small spec with a member of its map changed. */
static fastbin_status status_with(fastbin_vector_map map) {
  fastbin_set_spec spec = vector_set_spec();
  spec.vector = &map;
  return status_of(&spec);
}

#define EXPECT(expected, change)                     \
  do {                                               \
    fastbin_vector_map map = *small_vector_map();    \
    change;                                          \
    CHECK(status_with(map) == FASTBIN_##expected);   \
  } while (0)

static void test_numbers_of_maps(void) {
  static const double with_nan[] = {0.5, NAN, 0.5}, steep[] = {1e9, -1e9, 0.0}, too_steep[] = {1.0, 1.0, 1.1e9};
  static const double zero[] = {0.5, 0.0, 0.5}, less[] = {0.5, 0.25, 0.24}, more[] = {0.5, 0.25, 0.26};
  static const double rounded[] = {0.5, 0.25, 0.25000000001}, negative[] = {0.75, 0.5, -0.25};
  static const double mixing[9] = {0.0, 0.0, 0.0, 0.0, INFINITY}, far[9] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.1e9};
  const double outside[] = {-DBL_MIN, NAN, INFINITY};
  for (size_t i = 0; i < 3; i++) {
    EXPECT(ERROR_SET, map.of_models = outside[i]);
    EXPECT(ERROR_SET, map.of_priors = outside[i]);
    EXPECT(ERROR_SET, map.least = outside[i]);
  }
  EXPECT(OK, map.of_models = 0.0);
  EXPECT(OK, map.of_models = 1.0);
  EXPECT(ERROR_SET, map.of_models = 1.0 + DBL_EPSILON);
  EXPECT(ERROR_SET, map.of_priors = 0.0);
  EXPECT(ERROR_SET, map.of_priors = 1.0);
  EXPECT(OK, map.least = 0.1);
  EXPECT(OK, map.least = DBL_MIN);
  EXPECT(ERROR_SET, map.least = DBL_MIN / 2.0);
  EXPECT(ERROR_SET, map.least = 0.1000001);
  EXPECT(OK, map.keep_top = 1);
  EXPECT(ERROR_SET, map.keep_top = 2);
  EXPECT(ERROR_SET, map.keep_top = -1);
  EXPECT(ERROR_SET, map.slopes = NULL);
  EXPECT(ERROR_SET, map.intercepts = NULL);
  EXPECT(ERROR_SET, map.priors = NULL);
  EXPECT(OK, map.slopes = steep);
  EXPECT(ERROR_SET, map.slopes = too_steep);
  EXPECT(ERROR_SET, map.slopes = with_nan);
  EXPECT(OK, map.intercepts = steep);
  EXPECT(ERROR_SET, map.intercepts = too_steep);
  EXPECT(ERROR_SET, map.intercepts = with_nan);
  EXPECT(OK, map.priors = rounded);
  EXPECT(ERROR_SET, map.priors = zero);
  EXPECT(ERROR_SET, map.priors = less);
  EXPECT(ERROR_SET, map.priors = more);
  EXPECT(ERROR_SET, map.priors = negative);
  EXPECT(ERROR_SET, map.priors = with_nan);
  EXPECT(OK, map.mixing = NULL);
  EXPECT(ERROR_SET, map.mixing = mixing);
  EXPECT(ERROR_SET, map.mixing = far);
}

static void test_evidence_of_maps(void) {
  static const double falling[] = {0.25, 0.5, 0.125, 0.75, 0.75, 0.5, 0.0, 1.0}, equal[] = {0.25, 0.25, 0.0, 0.0, 1.0, 1.0, 0.5, 0.5};
  static const double beyond[] = {0.25, 0.5, 0.125, 1.5}, below[] = {-0.25, 0.5, 0.125, 0.5}, with_nan[] = {0.25, 0.5, NAN, 0.75};
  static const double mean[] = {0.125, 0.75, 0.25, 0.5, 0.0, 0.375, 0.0, 1.5};
  static const int64_t no_counts[24], more_ones[16] = {[14] = 3, [15] = 4}, negative[16] = {[2] = 5, [3] = -1};
  /* Groups of other sizes, a row without a label, and a sum that no integer holds. */
  static const int64_t fewer_rows[16] = {12, 1, 8, 7, 15, 2, 5, 4, 4, 0, 15, 6, 0, 0, 20, 13};
  static const int64_t more_rows[16] = {12, 1, 8, 7, 15, 2, 5, 4, 4, 0, 16, 6, 1, 0, 20, 13};
  static const int64_t without_label[16] = {12, 1, 8, 7, 15, 2, 5, 4, 4, 0, 16, 5, 0, 0, 20, 13};
  static const int64_t huge[16] = {INT64_MAX, 0, INT64_MAX, 0};
  static const double no_means[12];
  double other[24];
#define OTHER(place, number)                             \
  do {                                                   \
    memcpy(other, map.unlabelled, sizeof other);         \
    other[place] = number;                               \
    map.unlabelled = other;                              \
  } while (0)
  EXPECT(OK, map.unlabelled = NULL);
  EXPECT(ERROR_SET, map.edges = NULL);
  EXPECT(ERROR_SET, map.counts = NULL);
  EXPECT(ERROR_SET, map.means = NULL);
  EXPECT(ERROR_SET, map.n_bins = -1);
  EXPECT(ERROR_SET, map.n_bins = INT32_MIN);
  EXPECT(ERROR_SET, map.n_bins = FASTBIN_MAX_BINS + 1);
  EXPECT(ERROR_SET, map.n_bins = 0);
  EXPECT(ERROR_SET, (map.n_bins = 0, map.edges = NULL, map.counts = NULL, map.means = NULL));
  EXPECT(ERROR_SET, (map.n_bins = 0, map.edges = NULL, map.counts = NULL, map.unlabelled = NULL));
  EXPECT(ERROR_SET, (map.n_bins = 0, map.edges = NULL, map.means = map.unlabelled = NULL));
  EXPECT(ERROR_SET, (map.n_bins = 0, map.counts = NULL, map.means = map.unlabelled = NULL));
  EXPECT(OK, (map.n_bins = 0, map.counts = NULL, map.edges = map.means = map.unlabelled = NULL));
  EXPECT(ERROR_SET, map.n_bins = 1); /* with edges */
  EXPECT(OK, (map.n_bins = 1, map.edges = NULL, map.counts = counts_of_one_bin()));
  EXPECT(OK, (map.n_bins = 3, map.edges = equal, map.counts = no_counts, map.means = no_means, map.unlabelled = NULL));
  EXPECT(ERROR_SET, (map.n_bins = 3, map.edges = falling, map.counts = no_counts, map.means = no_means, map.unlabelled = NULL));
  EXPECT(ERROR_SET, map.edges = beyond);
  EXPECT(ERROR_SET, map.edges = below);
  EXPECT(ERROR_SET, map.edges = with_nan);
  EXPECT(ERROR_SET, map.counts = more_ones);
  EXPECT(ERROR_SET, map.counts = fewer_rows);
  EXPECT(ERROR_SET, map.counts = more_rows);
  EXPECT(ERROR_SET, map.counts = without_label);
  EXPECT(ERROR_SET, map.counts = huge);
  EXPECT(ERROR_SET, map.counts = negative);
  EXPECT(ERROR_SET, map.means = mean);
  EXPECT(OK, OTHER(21, 0x1p53));
  EXPECT(ERROR_SET, OTHER(21, 0x1p54));
  EXPECT(ERROR_SET, OTHER(21, -1.0));
  EXPECT(ERROR_SET, OTHER(21, NAN));
  EXPECT(ERROR_SET, OTHER(22, 1.5));
  EXPECT(ERROR_SET, OTHER(22, -0.5));
  EXPECT(ERROR_SET, OTHER(22, NAN));
  EXPECT(ERROR_SET, OTHER(23, 0.75));
  EXPECT(ERROR_SET, OTHER(23, -0.125));
  EXPECT(ERROR_SET, OTHER(23, NAN));
}

/* A set of the small map whose second model is another one. */
static fastbin_status status_beside(const fastbin_model_spec *other) {
  fastbin_model *model;
  fastbin_set_spec spec = vector_set_spec();
  const fastbin_model *models[] = {spec.models[0], NULL, spec.models[2]};
  fastbin_status status;
  REQUIRE(fastbin_model_create(other, &model) == FASTBIN_OK);
  models[1] = model;
  spec.models = models;
  status = status_of(&spec);
  fastbin_model_free(model);
  return status;
}

static void test_models_of_maps(void) {
  fastbin_model_spec model = half_spec();
  CHECK(status_beside(&model) == FASTBIN_OK);
  model.score_min = 0.125;
  CHECK(status_beside(&model) == FASTBIN_ERROR_SET); /* 0.1 would have no value */
  model.out_of_range = FASTBIN_OUT_OF_RANGE_CLIP;
  CHECK(status_beside(&model) == FASTBIN_OK);
  model = half_spec();
  model.score_max = 0.875;
  CHECK(status_beside(&model) == FASTBIN_ERROR_SET);
  model = half_spec();
  model.score_min = -INFINITY;
  model.score_max = INFINITY;
  CHECK(status_beside(&model) == FASTBIN_OK);
  model.delta = 0.25; /* values with keys */
  CHECK(status_beside(&model) == FASTBIN_ERROR_SET);
  model = countable_spec(); /* ties with keys */
  CHECK(status_beside(&model) == FASTBIN_ERROR_SET);
  model = spline_spec();
  CHECK(status_beside(&model) == FASTBIN_OK);
}

static void test_sets_of_maps(void) {
  static const int32_t model_of_key[] = {0, 1, 2}, swapped[] = {1, 0, 2};
  static const double one = 1.0;
  fastbin_vector_map alone = *small_vector_map();
  fastbin_set_spec spec;
  alone.priors = &one;
  alone.n_bins = 0;
  alone.counts = NULL;
  alone.edges = alone.means = alone.unlabelled = alone.mixing = NULL;
#define EXPECT_OF_SET(expected, change)                \
  do {                                                 \
    spec = vector_set_spec();                          \
    change;                                            \
    CHECK(status_of(&spec) == FASTBIN_##expected);     \
  } while (0)
  EXPECT_OF_SET(OK, spec.columns = NULL);
  EXPECT_OF_SET(OK, spec.model_of_key = model_of_key);
  EXPECT_OF_SET(ERROR_SET, spec.model_of_key = swapped);
  EXPECT_OF_SET(ERROR_SET, spec.vector = NULL);
  EXPECT_OF_SET(ERROR_SET, spec.kind = FASTBIN_SET_CLASS_WISE);
  EXPECT_OF_SET(ERROR_SET, (spec.pool = 2, spec.model_of_key = model_of_key));
  EXPECT_OF_SET(ERROR_SET, spec.unknown = FASTBIN_UNKNOWN_POOL);
  EXPECT_OF_SET(ERROR_SET, (spec.n_models = spec.n_keys = 1, spec.columns = NULL, spec.vector = &alone)); /* of one class */
  spec = int_set_spec();
  spec.kind = FASTBIN_SET_GIVEN;
  spec.vector = small_vector_map();
  CHECK(status_of(&spec) == FASTBIN_ERROR_SET);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Rows                                                                                                          */
/* ------------------------------------------------------------------------------------------------------------- */

/* A set of k classes whose map is drawn. */
typedef struct drawn {
  size_t k;
  fastbin_vector_map map;
  double slopes[MOST_CLASSES], intercepts[MOST_CLASSES], priors[MOST_CLASSES], mixing[FASTBIN_MAX_MIXED * FASTBIN_MAX_MIXED];
  int64_t keys[MOST_CLASSES];
  int32_t columns[MOST_CLASSES], key_of_column[MOST_CLASSES];
  const fastbin_model *models[MOST_CLASSES];
} drawn;

/* What is drawn is the same where a compiler fuses multiplication and addition: sizes are powers of two. */
static double around_zero(double size) { return (random_unit() - 0.5) * size; }

static fastbin_set *draw(drawn *d, size_t k, int keep_top, const char *build) {
  static const double leasts[] = {1e-2, 1e-12, DBL_MIN};
  fastbin_set_spec spec = int_set_spec();
  double size = random_below(4) ? 1.0 : 256.0;
  memset(d, 0, sizeof *d);
  d->k = k;
  for (size_t i = 0; i < k; i++) {
    size_t other = random_below(i + 1);
    d->slopes[i] = 1.0 + around_zero(size);
    d->intercepts[i] = around_zero(size);
    d->priors[i] = 1.0 / (double)k;
    d->keys[i] = (int64_t)i;
    d->columns[i] = d->columns[other];
    d->columns[other] = (int32_t)i;
    d->models[i] = vector_models()[random_below(3)];
  }
  for (size_t i = 0; i < k; i++) d->key_of_column[d->columns[i]] = (int32_t)i;
  for (size_t i = 0; k <= FASTBIN_MAX_MIXED && i < k * k; i++) d->mixing[i] = around_zero(size / (double)k);
  d->map.of_models = random_below(3) ? random_unit() : 0.0;
  d->map.of_priors = ldexp(0.25, -(int)random_below(40));
  d->map.least = leasts[random_below(3)];
  d->map.keep_top = keep_top;
  d->map.slopes = d->slopes;
  d->map.intercepts = d->intercepts;
  d->map.priors = d->priors;
  d->map.mixing = k <= FASTBIN_MAX_MIXED && random_below(2) ? d->mixing : NULL;
  spec.kind = FASTBIN_SET_VECTOR;
  spec.n_models = spec.n_keys = (int32_t)k;
  spec.models = d->models;
  spec.int_keys = d->keys;
  spec.columns = d->columns;
  spec.vector = &d->map;
  setenv("FASTBIN_CPU", build, 1);
  return must_create_set(&spec);
}

/* A row that sums to 1, with zeros, ties and entries near 1 among the rows. */
static void draw_row(size_t k, double *p) {
  double sum = 0.0;
  size_t style = random_below(4);
  for (size_t c = 0; c < k; c++) {
    double u = random_unit();
    p[c] = style == 0 ? u : style == 2 ? (double)random_below(3) : style == 3 && u < 0.5 ? 0.0 : ldexp(u, -(int)random_below(45));
    sum += p[c];
  }
  if (style == 3 || sum == 0.0) {
    p[random_below(k)] += 1.0;
    sum += 1.0;
  }
  for (size_t c = 0; c < k; c++) p[c] /= sum;
}

static int falling(const void *one, const void *other) {
  double x = *(const double *)one, y = *(const double *)other;
  return (x < y) - (x > y);
}

static size_t top_of(const double *p, size_t k) {
  size_t top = 0;
  for (size_t c = 1; c < k; c++) top = p[c] > p[top] ? c : top;
  return top;
}

/* The largest mean of the top entry and of some of those above it: what they have in common at the end. */
static void lower_to_top(double *v, size_t k, size_t top) {
  double sorted[MOST_CLASSES], sum = v[top], level = v[top];
  size_t n = 0;
  for (size_t c = 0; c < k; c++) {
    if (c != top) sorted[n++] = v[c];
  }
  qsort(sorted, n, sizeof *sorted, falling);
  for (size_t m = 0; m < n && sorted[m] > v[top]; m++) {
    sum += sorted[m];
    level = fmax(level, sum / (double)(m + 2));
  }
  for (size_t c = 0; c < k; c++) v[c] = c == top ? level : fmin(v[c], level);
}

/* The header's definition, word for word. */
static void values_by_definition(const drawn *d, const double *p, double *v) {
  size_t k = d->k;
  double z[MOST_CLASSES], u[MOST_CLASSES], most, sum = 0.0;
  for (size_t c = 0; c < k; c++) z[c] = log(fmax(p[c], d->map.least));
  for (size_t c = 0; c < k; c++) {
    double q;
    REQUIRE(fastbin_predict_one(d->models[d->key_of_column[c]], p[c], 0, &q) == FASTBIN_OK);
    u[c] = d->slopes[c] * z[c] + d->intercepts[c] + d->map.of_models * log(fmax(q, 1e-12));
    for (size_t j = 0; d->map.mixing && j < k; j++) u[c] += d->mixing[c * k + j] * z[j];
  }
  most = u[top_of(u, k)];
  for (size_t c = 0; c < k; c++) sum += exp(u[c] - most);
  for (size_t c = 0; c < k; c++) {
    v[c] = (1.0 - d->map.of_priors) * (exp(u[c] - most) / sum) + d->map.of_priors * d->priors[c];
  }
  if (d->map.keep_top) lower_to_top(v, k, top_of(p, k));
}

static double tolerance_of(const drawn *d) {
  double size = 1.0;
  for (size_t c = 0; c < d->k; c++) size = fmax(size, fabs(d->slopes[c]));
  return size < 2.0 ? 1e-13 : 1e-10; /* exponents of 10^5 are rounded by 10^-11 */
}

static uint64_t digest_of(uint64_t digest, const double *values, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint64_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    digest = (digest ^ bits) * UINT64_C(0x9E3779B97F4A7C15);
    digest ^= digest >> 32;
  }
  return digest;
}

/* The rows in one call, one by one, and in every environment that rounds to nearest. */
static void check_bits(const fastbin_set *set, const drawn *d, const double *p, size_t n, const double *values) {
  static double again[MOST_ROWS * MOST_CLASSES];
  for (size_t row = 0; row < n; row++) {
    REQUIRE(fastbin_vector_predict(set, p + row * d->k, 1, again + row * d->k, NULL) == FASTBIN_OK);
  }
  CHECK(memcmp(again, values, n * d->k * sizeof *again) == 0);
  for (int flush = 0; flush < FLUSH_MODES; flush++) {
    memset(again, 0, sizeof again);
    enter_mode(4 * flush);
    REQUIRE(fastbin_vector_predict(set, p, n, again, NULL) == FASTBIN_OK);
    leave_mode();
    CHECK(memcmp(again, values, n * d->k * sizeof *again) == 0);
  }
}

static void check_row(const drawn *d, const double *p, const double *values) {
  double expected[MOST_CLASSES], sum = 0.0, tolerance = tolerance_of(d);
  int is_near = 1, is_positive = 1;
  values_by_definition(d, p, expected);
  for (size_t c = 0; c < d->k; c++) {
    is_near &= fabs(values[c] - expected[c]) <= tolerance;
    is_positive &= values[c] > 0.0;
    sum += values[c];
  }
  CHECK(is_near);
  CHECK(is_positive && fabs(sum - 1.0) <= 1e-12);
  CHECK(!d->map.keep_top || top_of(values, d->k) == top_of(p, d->k));
}

static void test_rows(void) {
  static const size_t classes[] = {2, 3, 5, 17, 64, 65, 128, 129, 257, 300}, rows[] = {1, 2, 63, 64, 65, 200};
  static const char *const builds[] = {"baseline", "avx2", "avx512", "gathers"};
  static double p[MOST_ROWS * MOST_CLASSES], values[MOST_ROWS * MOST_CLASSES];
  static drawn d;
  uint64_t digest = 1;
  for (int i = 0; i < 120; i++) {
    size_t k = classes[i % 10], n = rows[i % 6], bad = SIZE_MAX;
    fastbin_set *set = draw(&d, k, (int)random_below(2), builds[i % 4]);
    for (size_t row = 0; row < n; row++) draw_row(k, p + row * k);
    REQUIRE(fastbin_vector_predict(set, p, n, values, &bad) == FASTBIN_OK && bad == SIZE_MAX);
    for (size_t row = 0; row < n; row++) check_row(&d, p + row * k, values + row * k);
    check_bits(set, &d, p, n, values);
    digest = digest_of(digest, values, n * k);
    fastbin_set_free(set);
  }
  if (!CHECK(digest == DIGEST)) fprintf(stderr, "the digest of the rows is 0x%016llX\n", (unsigned long long)digest);
}

/* Whatever the exponents are, as far as they can be from each other. */
static void test_extremes(void) {
  static const double steep[] = {1e9, -1e9, 1e9}, far[] = {1e9, -1e9, 0.0};
  static const double rows[] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.25, 0.5, 0.25, -0.0, 0.5, 0.5, 0.0, 0.0, 0.0};
  for (int keep_top = 0; keep_top < 2; keep_top++) {
    fastbin_vector_map map = *small_vector_map();
    fastbin_set_spec spec = vector_set_spec();
    fastbin_set *set;
    double values[18];
    map.slopes = steep;
    map.intercepts = far;
    map.least = DBL_MIN;
    map.keep_top = keep_top;
    spec.vector = &map;
    set = must_create_set(&spec);
    CHECK(fastbin_vector_predict(set, rows, 6, values, NULL) == FASTBIN_OK);
    for (int row = 0; row < 6; row++) {
      const double *v = values + 3 * row;
      CHECK(v[0] > 0.0 && v[1] > 0.0 && v[2] > 0.0 && fabs(v[0] + v[1] + v[2] - 1.0) < 1e-15);
      CHECK(!keep_top || top_of(v, 3) == top_of(rows + 3 * row, 3));
    }
    fastbin_set_free(set);
  }
}

static void test_bad_entries(void) {
  static const double bad_values[] = {NAN, INFINITY, -INFINITY, -DBL_TRUE_MIN, 1.0 + DBL_EPSILON};
  enum { N = 150 };
  static double p[3 * N], values[3 * N], good[3 * N];
  fastbin_set_spec spec = vector_set_spec();
  fastbin_set *set = must_create_set(&spec);
  for (size_t row = 0; row < N; row++) draw_row(3, p + 3 * row);
  REQUIRE(fastbin_vector_predict(set, p, N, good, NULL) == FASTBIN_OK);
  for (size_t i = 0; i < 5; i++) {
    for (size_t at = 0; at < 3 * N; at += 7) {
      double before = p[at], later = p[3 * N - 1];
      size_t bad = SIZE_MAX;
      fastbin_status expected = i == 0 ? FASTBIN_ERROR_SCORE_NAN : FASTBIN_ERROR_SCORE_RANGE;
      p[3 * N - 1] = 2.0;
      p[at] = bad_values[i];
      CHECK(fastbin_vector_predict(set, p, N, values, &bad) == expected && bad == at);
      CHECK(fastbin_vector_predict(set, p, N, values, NULL) == expected);
      CHECK(memcmp(values, good, at / 3 * 3 * sizeof *good) == 0); /* the rows before */
      p[3 * N - 1] = later;
      p[at] = before;
    }
  }
  fastbin_set_free(set);
}

/* Rows beyond the first 16,384, which are scored as if they were the first; a bad entry among them has its own place. */
static void test_many_rows(void) {
  enum { N = 16384 + 3 };
  static double p[3 * N], values[3 * N];
  fastbin_set_spec spec = vector_set_spec();
  fastbin_set *set = must_create_set(&spec);
  double last[9];
  size_t bad = SIZE_MAX;
  for (size_t row = 0; row < N; row++) draw_row(3, p + 3 * row);
  REQUIRE(fastbin_vector_predict(set, p, N, values, &bad) == FASTBIN_OK && bad == SIZE_MAX);
  REQUIRE(fastbin_vector_predict(set, p + 3 * (N - 3), 3, last, NULL) == FASTBIN_OK);
  CHECK(memcmp(values + 3 * (N - 3), last, sizeof last) == 0);
  p[3 * N - 2] = 2.0;
  CHECK(fastbin_vector_predict(set, p, N, values, &bad) == FASTBIN_ERROR_SCORE_RANGE && bad == 3 * N - 2);
  fastbin_set_free(set);
}

static void test_bad_calls(void) {
  fastbin_set_spec spec = vector_set_spec();
  fastbin_set *set = must_create_set(&spec), *other;
  double p[] = {0.5, 0.25, 0.25}, values[] = {7.0, 7.0, 7.0};
  size_t bad = 5;
  CHECK(fastbin_vector_predict(NULL, p, 1, values, &bad) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_vector_predict(set, NULL, 1, values, &bad) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_vector_predict(set, p, 1, NULL, &bad) == FASTBIN_ERROR_ARGUMENT);
  CHECK(fastbin_vector_predict(set, NULL, 0, NULL, &bad) == FASTBIN_OK);
  CHECK(fastbin_vector_predict(set, p, 0, values, &bad) == FASTBIN_OK && values[0] == 7.0 && bad == 5);
  spec = int_set_spec();
  spec.kind = FASTBIN_SET_CLASS_WISE;
  other = must_create_set(&spec);
  CHECK(fastbin_vector_predict(other, p, 1, values, &bad) == FASTBIN_ERROR_ARGUMENT);
  fastbin_set_free(other);
  fastbin_set_free(set);
}

/* The models of a vector set still score their classes one by one. */
static void test_single_classes(void) {
  fastbin_set_spec spec = vector_set_spec();
  fastbin_set *set = must_create_set(&spec);
  double value, expected;
  CHECK(fastbin_set_predict_one(set, fastbin_set_find_text(set, "bc", 2), 0.375, 0, &value) == FASTBIN_OK);
  CHECK(fastbin_predict_one(spec.models[1], 0.375, 0, &expected) == FASTBIN_OK && value == expected);
  fastbin_set_free(set);
}

int main(void) {
  test_describe();
  test_numbers_of_maps();
  test_evidence_of_maps();
  test_models_of_maps();
  test_sets_of_maps();
  test_rows();
  test_extremes();
  test_bad_entries();
  test_many_rows();
  test_bad_calls();
  test_single_classes();
  free_set_models();
  return finish();
}
