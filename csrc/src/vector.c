/*
 * vector.c: the map of a vector set. fastbin.h says which one; FORMAT.md gives its bytes.
 *
 * A row needs no memory but that of its values: they hold the exponents until their sum is known. Sums go from the first column to
 * the last, so that their bits depend on neither the processor nor the other rows.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define VECTORISED_SOURCE
#include "set.h"

#include "cpu.h"
#include "exponents.h"

/* ------------------------------------------------------------------------------------------------------------- */
/* Which maps can be, and their copies                                                                           */
/* ------------------------------------------------------------------------------------------------------------- */

static int are_between(const double *x, size_t n, double least, double most) {
  for (size_t i = 0; i < n; i++) {
    if (!(x[i] >= least && x[i] <= most)) return 0;
  }
  return 1;
}

static int edges_can_be(const fastbin_vector_map *map, size_t n_groups) {
  size_t width = (size_t)map->n_bins - 1;
  if (width == 0) return 1; /* edges may be NULL, from which not even 0 may be counted */
  for (size_t g = 0; g < n_groups; g++) {
    const double *edges = map->edges + g * width;
    if (!are_between(edges, width, 0.0, 1.0)) return 0;
    for (size_t b = 1; b < width; b++) {
      if (edges[b] < edges[b - 1]) return 0;
    }
  }
  return 1;
}

static int unlabelled_can_be(const double *unlabelled, size_t n) {
  for (size_t i = 0; i < n; i += 3) {
    const double *of_bin = unlabelled + i; /* a variance is at most n / (n - 1) times 1/4, so 1/2 */
    if (!(of_bin[0] >= 0.0 && of_bin[0] <= 0x1p53 && of_bin[1] >= 0.0 && of_bin[1] <= 1.0 && of_bin[2] >= 0.0 && of_bin[2] <= 0.5)) {
      return 0;
    }
  }
  return 1;
}

/*
 * Counts of so many groups: each has all rows, and each row has the label of one of the groups but the last, which is of top
 * labels. Subtracting from what is left cannot overflow.
 */
static int counts_can_be(const fastbin_vector_map *map, size_t n_groups) {
  size_t n_bins = (size_t)map->n_bins;
  int64_t n_rows = 0, ones_left;
  for (size_t b = 0; b < n_bins; b++) {
    if (map->counts[2 * b] < 0 || map->counts[2 * b] > INT64_MAX - n_rows) return 0;
    n_rows += map->counts[2 * b];
  }
  ones_left = n_rows;
  for (size_t g = 0; g < n_groups; g++) {
    int64_t rows_left = n_rows;
    for (size_t b = g * n_bins; b < (g + 1) * n_bins; b++) {
      int64_t count = map->counts[2 * b], ones = map->counts[2 * b + 1];
      if (ones < 0 || ones > count || count > rows_left || (g + 1 < n_groups && ones > ones_left)) return 0;
      rows_left -= count;
      if (g + 1 < n_groups) ones_left -= ones;
    }
    if (rows_left != 0) return 0;
  }
  return ones_left == 0;
}

static int evidence_can_be(const fastbin_vector_map *map, int32_t n_keys) {
  vector_sizes sizes = fastbin_vector_sizes(map, n_keys);
  if (map->n_bins == 0) return !map->edges && !map->counts && !map->means && !map->unlabelled;
  if (map->n_bins < 0 || map->n_bins > FASTBIN_MAX_BINS || !map->counts || !map->means || (sizes.edges > 0) != (map->edges != NULL)) {
    return 0;
  }
  return counts_can_be(map, (size_t)n_keys + 1) && edges_can_be(map, (size_t)n_keys + 1) &&
         are_between(map->means, sizes.bins, 0.0, 1.0) && unlabelled_can_be(map->unlabelled, sizes.unlabelled);
}

/* Positive, and with the sum 1 but for rounding, as that of the values is. */
static int priors_can_be(const double *priors, size_t n) {
  double sum = 0.0;
  if (!are_between(priors, n, DBL_MIN, 1.0)) return 0;
  for (size_t i = 0; i < n; i++) sum += priors[i];
  return sum >= 1.0 - 1e-9 && sum <= 1.0 + 1e-9;
}

/* Whether no key decides what a row gets, and no probability is refused. */
static int takes_every_probability(const fastbin_model *model) {
  const fastbin_model_spec *spec = &model->spec;
  if (model->index.tie_keys || spec->delta > 0.0) return 0;
  return spec->out_of_range == FASTBIN_OUT_OF_RANGE_CLIP || (!is_less(0.0, spec->score_min) && !is_less(spec->score_max, 1.0));
}

static int numbers_can_be(const fastbin_vector_map *map, size_t n) {
  const double most = 1e9; /* such a slope times the log of any least is still far from overflow */
  if (!map->slopes || !map->intercepts || !map->priors) return 0;
  if (map->mixing && (n > FASTBIN_MAX_MIXED || !are_between(map->mixing, n * n, -most, most))) return 0;
  if (!(map->of_models >= 0.0 && map->of_models <= 1.0) || !(map->of_priors > 0.0 && map->of_priors < 1.0)) return 0;
  if (!(map->least >= DBL_MIN && map->least <= 0.1) || map->keep_top < 0 || map->keep_top > 1) return 0;
  if (!are_between(map->slopes, n, -most, most) || !are_between(map->intercepts, n, -most, most)) return 0;
  return priors_can_be(map->priors, n);
}

int fastbin_vector_can_be(const fastbin_set_spec *spec, fastbin_model *const *models) {
  if (spec->kind != FASTBIN_SET_VECTOR) return !spec->vector;
  if (!spec->vector || spec->pool != -1 || spec->n_keys < 2 || !numbers_can_be(spec->vector, (size_t)spec->n_keys)) return 0;
  for (int32_t i = 0; i < spec->n_models; i++) {
    if (!takes_every_probability(models[i])) return 0;
  }
  return evidence_can_be(spec->vector, spec->n_keys);
}

int fastbin_vector_bytes(const fastbin_set_spec *spec, size_t *bytes) {
  const fastbin_vector_map *map = spec->vector;
  size_t n = (size_t)spec->n_keys;
  if (!map) return 1;
  if ((size_t)map->n_bins > SIZE_MAX / 8 / 8 / (n + 1)) return 0;
  vector_sizes sizes = fastbin_vector_sizes(map, spec->n_keys);
  return add_size(bytes, 1, sizeof *map) && add_size(bytes, 3 * n + sizes.mixing, sizeof(double)) &&
         add_size(bytes, sizes.edges + 3 * sizes.bins + sizes.unlabelled, sizeof(double)) && add_size(bytes, n, sizeof(int32_t));
}

void fastbin_copy_vector(fastbin_set *set, unsigned char **free_part) {
  const fastbin_vector_map *given = set->spec.vector;
  fastbin_vector_map *map = (fastbin_vector_map *)(void *)*free_part;
  size_t n = (size_t)set->spec.n_keys;
  set->model_of_column = NULL;
  if (!given) return;
  *free_part += sizeof *map;
  *map = *given;
  set->spec.vector = map;
  vector_sizes sizes = fastbin_vector_sizes(map, set->spec.n_keys);
  map->of_models = without_negative_zero(given->of_models);
  map->slopes = copy_doubles(free_part, given->slopes, n);
  map->intercepts = copy_doubles(free_part, given->intercepts, n);
  map->priors = copy_doubles(free_part, given->priors, n);
  map->mixing = copy_doubles(free_part, given->mixing, sizes.mixing);
  map->edges = copy_doubles(free_part, given->edges, sizes.edges);
  map->counts = copy_counts(free_part, given->counts, 2 * sizes.bins);
  map->means = copy_doubles(free_part, given->means, sizes.bins);
  map->unlabelled = copy_doubles(free_part, given->unlabelled, sizes.unlabelled);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Rows                                                                                                          */
/* ------------------------------------------------------------------------------------------------------------- */

#define AT_A_TIME 128u
#define ROWS_AT_A_TIME 16384u /* for each model: its tables come into the cache once for so many rows */
#define SCORES_AT_A_TIME 512u
#define LEAST_OF_MODELS 1e-12 /* part of the meaning of files */

/* The first entry outside [0, 1]; n if none is. */
static size_t first_bad(const double *p, size_t n) {
  size_t at = 0;
  while (at < n && p[at] >= 0.0 && p[at] <= 1.0) at++;
  return at;
}

/* The place of the largest entry, the lowest of equal ones. */
static size_t top_of(const double *p, size_t n) {
  size_t top = 0;
  for (size_t k = 1; k < n; k++) {
    if (p[k] > p[top]) top = k;
  }
  return top;
}

/*
 * Leaves the values that the models give to the entries of some rows: column by column, as the tables of one model stay in the cache
 * for as long as it scores. All entries are probabilities, so that no model refuses one, and no model has keys.
 */
static void of_models(const fastbin_set *set, const double *p, size_t n_rows, double *values) {
  size_t n = (size_t)set->spec.n_keys;
  double scores[SCORES_AT_A_TIME], q[SCORES_AT_A_TIME];
  fastbin_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.struct_size = sizeof rows;
  rows.scores = scores;
  rows.score_stride = sizeof *scores;
  for (size_t k = 0; k < n; k++) {
    for (size_t first = 0; first < n_rows; first += SCORES_AT_A_TIME) {
      size_t n_scores = n_rows - first < SCORES_AT_A_TIME ? n_rows - first : SCORES_AT_A_TIME;
      for (size_t row = 0; row < n_scores; row++) scores[row] = p[(first + row) * n + k];
      rows.n_rows = n_scores;
      (void)fastbin_predict(set->models[set->model_of_column[k]], &rows, q, NULL);
      for (size_t row = 0; row < n_scores; row++) values[(first + row) * n + k] = q[row];
    }
  }
}

/* z of some columns, and from the values of their models u without what other columns add to it. */
static ALWAYS_INLINE void exponents_of(const fastbin_vector_map *map, const double *restrict p, size_t first, size_t n, double *restrict z,
                         double *restrict u) {
  const double *slopes = map->slopes + first, *intercepts = map->intercepts + first;
  double share = map->of_models, least = map->least;
  for (size_t k = 0; k < n; k++) z[k] = log_of(larger(p[k], least));
  if (share > 0.0) {
    for (size_t k = 0; k < n; k++) {
      u[k] = (slopes[k] * z[k] + intercepts[k]) + share * log_of(larger(u[k], LEAST_OF_MODELS));
    }
  } else {
    for (size_t k = 0; k < n; k++) u[k] = slopes[k] * z[k] + intercepts[k];
  }
}

static void add_mixed(const double *mixing, size_t n, const double *z, double *u) {
  for (size_t k = 0; k < n; k++) {
    double sum = 0.0;
    for (size_t j = 0; j < n; j++) sum += mixing[k * n + j] * z[j];
    u[k] += sum;
  }
}

/* The values of a row from its exponents, in their place. */
static ALWAYS_INLINE void values_of(const fastbin_vector_map *map, size_t n, double *restrict u) {
  const double *restrict priors = map->priors;
  double of_priors = map->of_priors;
  double most = largest_of(u, n), sum = 0.0, share;
  for (size_t k = 0; k < n; k++) u[k] = small_of(most - u[k]);
  for (size_t k = 0; k < n; k++) sum += u[k];
  share = (1.0 - of_priors) / sum;
  for (size_t k = 0; k < n; k++) u[k] = share * u[k] + of_priors * priors[k];
}

/*
 * Takes from the entries above that of the top column, and gives it what they lose, until all of them are equal: with m such entries
 * at the end, their level is the mean of the m + 1. An entry that is below the level after all is none of them; so the level is
 * raised until it does not change, at most n times.
 */
static void keep_top(size_t n, size_t top, double *value) {
  double level = value[top], before, below;
  do {
    double sum = value[top];
    size_t m = 1;
    before = level;
    for (size_t k = 0; k < n; k++) {
      if (k == top || !(value[k] > before)) continue;
      sum += value[k];
      m++;
    }
    level = larger(sum / (double)m, before);
  } while (level > before);
  value[top] = level;
  below = double_of(bits_of(level) - 1); /* so that the lowest of equal entries is not another one */
  for (size_t k = 0; k < n; k++) value[k] = k == top ? level : smaller(value[k], below);
}

static ALWAYS_INLINE void vector_of(const fastbin_vector_map *map, size_t n, const double *p, double *value) {
  double z[AT_A_TIME];
  for (size_t first = 0; first < n; first += AT_A_TIME) {
    exponents_of(map, p + first, first, n - first < AT_A_TIME ? n - first : AT_A_TIME, z, value + first);
  }
  if (map->mixing) add_mixed(map->mixing, n, z, value);
  values_of(map, n, value);
  if (map->keep_top) keep_top(n, top_of(p, n), value);
}

/* The vectors of some rows, from the values of the models, in their place. */
typedef void vectors_of(const fastbin_vector_map *map, size_t n, const double *p, size_t n_rows, double *values);

#define BUILD(name, TARGET)                                                                                                    \
  TARGET static void vectors_of_##name(const fastbin_vector_map *map, size_t n, const double *p, size_t n_rows, double *values) { \
    for (size_t row = 0; row < n_rows; row++) vector_of(map, n, p + row * n, values + row * n);                                \
  }

FOR_AVX2(BUILD)

fastbin_status fastbin_vector_predict(const fastbin_set *set, const double *probabilities, size_t n_rows, double *values,
                                      size_t *bad_entry) {
  size_t n;
  vectors_of *finish = BUILD_OF_TWO(vectors_of);
  if (!set || !set->spec.vector || (n_rows > 0 && (!probabilities || !values))) return FASTBIN_ERROR_ARGUMENT;
  n = (size_t)set->spec.n_keys;
  for (size_t first = 0; first < n_rows; first += ROWS_AT_A_TIME) {
    const double *p = probabilities + first * n;
    double *value = values + first * n;
    size_t n_block = n_rows - first < ROWS_AT_A_TIME ? n_rows - first : ROWS_AT_A_TIME, bad = first_bad(p, n_block * n);
    int is_bad = bad < n_block * n;
    if (is_bad) n_block = bad / n; /* the rows before have their values all the same */
    if (set->spec.vector->of_models > 0.0) of_models(set, p, n_block, value);
    finish(set->spec.vector, n, p, n_block, value);
    if (!is_bad) continue;
    if (bad_entry) *bad_entry = first * n + bad;
    return is_nan(p[bad]) ? FASTBIN_ERROR_SCORE_NAN : FASTBIN_ERROR_SCORE_RANGE;
  }
  return FASTBIN_OK;
}
