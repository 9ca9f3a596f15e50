/*
 * test_set_small.c: rows of models of few bins, in any order of models, against the definition of a bin.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "draws.h"
#include "sets.h"

enum { N_MODELS = 24, MOST_BINS = 14, N_ROWS = 2000, N_DRAWS = sizeof draws / sizeof draws[0] };

/* What a model is made of; all of one set are drawn alike. */
typedef struct made_model {
  fastbin_model_spec spec;
  double edges[MOST_BINS], values[MOST_BINS];
  uint64_t keys[MOST_BINS];
  fastbin_model *model;
} made_model;

static made_model made[N_MODELS];
static double scores[N_ROWS], values[N_ROWS];
static int32_t numbers[N_ROWS];

/* One to `most` bins; keys decide at the edges of one model in eight. */
static void make(made_model *m, double (*draw)(void), uint64_t most) {
  m->spec = empty_spec(FASTBIN_STEP);
  m->spec.n_bins = 1 + (int32_t)random_below(most);
  fill_edges(draw, random_below(8) ? (int)random_below(2) : 2, (size_t)m->spec.n_bins - 1, m->edges, m->keys);
  for (int32_t i = 0; i < m->spec.n_bins; i++) m->values[i] = random_unit();
  m->spec.edges = m->edges;
  m->spec.edge_keys = m->keys;
  m->spec.values = m->values;
  REQUIRE(fastbin_model_create(&m->spec, &m->model) == FASTBIN_OK);
}

static fastbin_set *make_set(double (*draw)(void), uint64_t most) {
  static const fastbin_model *models[N_MODELS];
  static int64_t keys[N_MODELS];
  fastbin_set_spec spec = int_set_spec();
  for (int32_t i = 0; i < N_MODELS; i++) {
    make(&made[i], draw, most);
    models[i] = made[i].model;
    keys[i] = i;
  }
  spec.n_models = spec.n_keys = N_MODELS;
  spec.models = models;
  spec.int_keys = keys;
  return must_create_set(&spec);
}

/* Sets of small models, and of some that are larger, with scores of every kind; many of them are edges. */
static void test_every_draw(void) {
  fastbin_rows rows = {.struct_size = sizeof rows, .scores = scores, .score_stride = sizeof(double), .n_rows = N_ROWS, .seed = 5};
  for (size_t trial = 0; trial < 6 * N_DRAWS; trial++) {
    double (*draw)(void) = draws[trial % N_DRAWS];
    fastbin_set *set = make_set(draw, trial < 3 * N_DRAWS ? 11 : MOST_BINS);
    for (size_t i = 0; i < N_ROWS; i++) {
      numbers[i] = (int32_t)random_below(N_MODELS);
      scores[i] = score_near(&made[numbers[i]].spec, draw);
    }
    CHECK(fastbin_set_predict_batch(set, numbers, &rows, values, NULL) == FASTBIN_OK);
    for (size_t i = 0; i < N_ROWS; i++) {
      const made_model *m = &made[numbers[i]];
      CHECK(same_bits(values[i], m->values[bin_by_definition(&m->spec, scores[i], fastbin_row_key(5, i))]));
    }
    fastbin_set_free(set);
    for (int32_t i = 0; i < N_MODELS; i++) fastbin_model_free(made[i].model);
  }
}

/* Whatever bits a score has: that of no finite number is refused, at its row, also by models of which something else is asked. */
static void test_every_bad_score(void) {
  static const uint64_t wrong[] = {0x7FF0000000000000u, 0x7FF0000000000001u, 0x7FFFFFFFFFFFFFFFu,
                                   0xFFF0000000000000u, 0xFFF8000000000000u, 0xFFFFFFFFFFFFFFFFu};
  fastbin_rows rows = {.struct_size = sizeof rows, .scores = scores, .score_stride = sizeof(double), .n_rows = N_ROWS};
  fastbin_set *set = make_set(draws[0], MOST_BINS);
  for (size_t trial = 0; trial < 600; trial++) {
    size_t at = random_below(N_ROWS), bad_row = 0;
    uint64_t bits = wrong[trial % 6];
    fastbin_status expected = (bits << 1) > 0xFFE0000000000000u ? FASTBIN_ERROR_SCORE_NAN : FASTBIN_ERROR_SCORE_RANGE;
    for (size_t i = 0; i < N_ROWS; i++) {
      numbers[i] = (int32_t)random_below(N_MODELS);
      scores[i] = random_unit();
    }
    scores[at] = from_bits(bits);
    CHECK(fastbin_set_predict_batch(set, numbers, &rows, values, &bad_row) == expected && bad_row == at);
  }
  fastbin_set_free(set);
  for (int32_t i = 0; i < N_MODELS; i++) fastbin_model_free(made[i].model);
}

int main(void) {
  test_every_draw();
  test_every_bad_score();
  free_set_models();
  return finish();
}
