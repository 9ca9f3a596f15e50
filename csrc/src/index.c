/*
 * index.c: chooses and builds the index of a model, which index.h explains.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#include "internal.h"

#include "index_thresholds.h"

/* Cells that every model may have: a table of 16 KB, half a first-level cache. Smaller where that does not slow the search. */
#define FREE_CELLS 8192u

/* Cells per threshold allowed beyond that. Edges at random quantiles need about that many to be alone in their cells. */
#define CELLS_PER_THRESHOLD 16u

/*
 * For one of the many models of a set: their tables do not fit into a first-level cache together, and reading thousands of models
 * must not take its time for planning and filling. So the first map is taken by which a cell has few thresholds, and its table is
 * not made smaller.
 */
#define FREE_CELLS_OF_MANY 64u
#define CELLS_PER_THRESHOLD_OF_MANY 4u
#define WINDOW_OF_MANY 4u

/* Up to this size, other maps are not tried for the sake of a smaller table; below the next, fewer cells save nothing. */
#define SMALL_TABLE 2048u
#define MIN_CELLS 64u

static int splits_ties(const fastbin_model_spec *spec, int32_t edge) {
  uint64_t key = spec->edge_keys ? spec->edge_keys[edge] : FASTBIN_KEY_ABOVE;
  return key != FASTBIN_KEY_ABOVE && key != FASTBIN_KEY_BELOW;
}

static int any_splits_ties(const fastbin_model_spec *spec) {
  int32_t n_edges = fastbin_n_edges(spec);
  for (int32_t i = 0; i < n_edges; i++) {
    if (splits_ties(spec, i)) return 1;
  }
  return 0;
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Planning                                                                                                      */
/* ------------------------------------------------------------------------------------------------------------- */

/* The first step of a search that reaches 2 * window - 1 entries, at least `n`, which is positive. */
static uint32_t window_for(uint32_t n) {
  uint32_t window = 1;
  while (2 * window - 1 < n) window *= 2;
  return window;
}

static void count_thresholds(score_index *ix, const fastbin_model_spec *spec) {
  int32_t n_edges = fastbin_n_edges(spec);
  uint32_t run = 1, longest = 1;
  ix->n_thresholds = n_edges > 0;
  for (int32_t i = 1; i < n_edges; i++) {
    int is_new = is_new_threshold(spec, i);
    ix->n_thresholds += (uint32_t)is_new;
    run = is_new ? 1 : run + 1;
    if (run > longest) longest = run;
  }
  ix->run_window = window_for(longest);
  ix->run_width = longest == 1 ? 1 : longest == 2 ? 2 : longest <= 4 ? 4 : 0;
}

/* The first edge of the threshold that lies so many places before that of `edge`, which is the first of its own. */
static int32_t edge_before(const score_index *ix, const fastbin_model_spec *spec, int32_t edge, uint32_t places) {
  while (places > 0) places -= (uint32_t)has_new_threshold(ix, spec, --edge);
  return edge;
}

static int32_t edge_after(const score_index *ix, const fastbin_model_spec *spec, int32_t edge) {
  do edge++;
  while (!has_new_threshold(ix, spec, edge));
  return edge;
}

/* Whether the span of an entry begins no higher than that of another one ends. A loop without a way out, for wide registers. */
static int any_may_share(const uint32_t *ends, const uint32_t *starts, size_t n) {
  int may_share = 0;
  for (size_t i = 0; i < n; i++) may_share |= ends[i] >= starts[i];
  return may_share;
}

/*
 * The window that the fullest cell of this map needs, or a larger one than `limit`. A window w is enough where no cell has 2 w
 * thresholds: where the threshold 2 w - 1 places before each ends in a lower cell than its first, as both ends of the spans ascend. A
 * window that is too small is doubled, and holds for the thresholds before. Ends of the block before are kept at hand; those further
 * away are computed again.
 */
static uint32_t window_of(const score_index *ix, const fastbin_model_spec *spec, uint32_t limit) {
  enum { AT_ONCE = THRESHOLDS_AT_A_TIME };
  block_function *next_block = fastbin_block_function();
  threshold_block block;
  uint32_t ends[2 * AT_ONCE], starts[AT_ONCE], *own_ends = ends + AT_ONCE;
  uint32_t window = 1, reach = 1, before = 0, start = 0;
  uint32_t reach_of_back = 0; /* `back` is the edge of the threshold so many places before; 0: of none */
  int32_t next = 0, back = 0;
  for (size_t n; (n = next_block(ix, spec, &next, &block)) > 0; before += (uint32_t)n) {
    for (size_t i = 0; i < n; i++) {
      /* Infinity, the threshold of the greatest double with ties below, may get the lowest cell; no score reaches it. */
      starts[i] = start = block.low[i] > start ? block.low[i] : start;
    }
    memcpy(own_ends, block.high, n * sizeof *ends);
    for (; reach < AT_ONCE; reach = 2 * window - 1) {
      size_t first = before < reach ? reach - before : 0; /* with a threshold so many places before */
      if (first >= n || !any_may_share(own_ends + first - reach, starts + first, n - first)) break;
      window *= 2;
      if (window > limit) return window;
    }
    for (size_t i = 0; reach > AT_ONCE && i < n; i++) {
      if (reach_of_back) back = edge_after(ix, spec, back);
      for (; before + i >= reach; reach = 2 * window - 1) {
        if (reach_of_back != reach) back = edge_before(ix, spec, block.edges[i], reach);
        reach_of_back = reach;
        if (fastbin_highest_cell(ix, threshold_of(spec, back)) < starts[i]) break;
        window *= 2;
        if (window > limit) return window;
      }
    }
    memcpy(ends, own_ends, n * sizeof *ends);
  }
  return window;
}

/* The least positive distance of a threshold to `origin` from above, or to `end` from below; 0: there is none. */
static double least_distance_above(const fastbin_model_spec *spec, double origin) {
  int32_t n_edges = fastbin_n_edges(spec);
  for (int32_t i = 0; i < n_edges; i++) {
    if (threshold_of(spec, i) - origin > 0.0) return threshold_of(spec, i) - origin;
  }
  return 0.0;
}

static double least_distance_below(const fastbin_model_spec *spec, double end) {
  for (int32_t i = fastbin_n_edges(spec) - 1; i >= 0; i--) {
    if (end - threshold_of(spec, i) > 0.0) return end - threshold_of(spec, i);
  }
  return 0.0;
}

static uint64_t cells_between(double low, double high, int shift) {
  return (bits_of(high) >> shift) - (bits_of(low) >> shift) + 1;
}

/* One way to map; plan_map() gives it as many cells as it may have. */
typedef struct candidate {
  index_map map;
  double origin, end, middle;
} candidate;

static void plan_linear(score_index *ix, double first, double last, uint32_t n_cells) {
  double scale = (double)(n_cells - 1) / (last - first);
  ix->origin = first;
  /* A subnormal scale may be 0 in another environment. */
  ix->n_cells = scale >= DBL_MIN && is_finite(scale) ? n_cells : 1;
  ix->low_min = 0.0;
  ix->low_max = (double)(ix->n_cells - 1);
  ix->scale = ix->n_cells > 1 ? scale : 0.0;
}

/* Both logarithmic maps for a given shift. Returns the number of cells. */
static uint64_t plan_bits(score_index *ix, int shift) {
  uint64_t n_low = 0, n_high = 0;
  ix->shift = shift;
  ix->low_offset = bits_of(ix->low_min) >> shift;
  if (ix->map == INDEX_LOW || ix->middle > -DBL_MAX) n_low = cells_between(ix->low_min, ix->low_max, shift);
  if (ix->map == INDEX_BOTH) {
    n_high = cells_between(ix->high_min, ix->high_max, shift);
    ix->high_offset = n_low + (bits_of(ix->high_max) >> shift);
  }
  return n_low + n_high;
}

/* Fills in the map of a candidate with at most `max_cells` cells. Returns 0 when it cannot be used here. */
static int plan_map(score_index *ix, const fastbin_model_spec *spec, const candidate *c, uint32_t max_cells) {
  int32_t n_edges = fastbin_n_edges(spec);
  double first = threshold_of(spec, 0);
  double last = smaller(threshold_of(spec, n_edges - 1), DBL_MAX);
  ix->map = c->map;
  if (c->map == INDEX_LINEAR) {
    plan_linear(ix, first, last, max_cells);
    return 1;
  }
  ix->origin = c->origin;
  ix->middle = c->middle;
  ix->end = c->end;
  ix->low_max = (c->map == INDEX_LOW ? last : c->middle) - c->origin;
  ix->low_min = smaller(least_distance_above(spec, c->origin), ix->low_max);
  if (c->map == INDEX_BOTH) {
    ix->high_max = c->end - (c->middle > first ? c->middle : first);
    ix->high_min = smaller(least_distance_below(spec, c->end), ix->high_max);
    if (!(ix->high_min > 0.0) || !is_finite(ix->high_max)) return 0;
    ix->high_min = larger(ix->high_min, DBL_MIN);
    ix->high_max = larger(ix->high_max, DBL_MIN);
    /* Without a lower half, any valid lower map will do. */
    if (!(c->middle > first)) ix->low_min = ix->low_max = 1.0;
  }
  if (!(ix->low_min > 0.0) || !is_finite(ix->low_max)) return 0;
  ix->low_min = larger(ix->low_min, DBL_MIN);
  ix->low_max = larger(ix->low_max, DBL_MIN);
  for (int shift = 0; shift <= 52; shift++) {
    uint64_t n_cells = plan_bits(ix, shift);
    if (n_cells <= max_cells) {
      ix->n_cells = (uint32_t)n_cells;
      return 1;
    }
  }
  return 0;
}

/* The same map with about half the cells. */
static void halve_cells(score_index *ix, const fastbin_model_spec *spec) {
  if (ix->map == INDEX_LINEAR) {
    candidate linear = {INDEX_LINEAR, 0.0, 0.0, 0.0};
    plan_map(ix, spec, &linear, ix->n_cells / 2);
  } else {
    ix->n_cells = (uint32_t)plan_bits(ix, ix->shift + 1);
  }
}

static uint32_t most_cells(const score_index *ix) {
  uint32_t cells = ix->is_one_of_many ? FREE_CELLS_OF_MANY : FREE_CELLS;
  uint32_t wanted = (ix->is_one_of_many ? CELLS_PER_THRESHOLD_OF_MANY : CELLS_PER_THRESHOLD) * ix->n_thresholds;
  while (cells < wanted && cells < MAX_CELLS) cells *= 2;
  return cells;
}

/* As few cells as the same window allows: a smaller table leaves more of the cache to the scores. */
static void shrink(score_index *ix, const fastbin_model_spec *spec) {
  while (ix->n_cells > MIN_CELLS) {
    score_index next = *ix;
    halve_cells(&next, spec);
    next.window = window_of(&next, spec, ix->window);
    if (next.window > ix->window) return;
    *ix = next;
  }
}

/* The map with the fewest steps per search; of those, unless the first is small, the one with the fewest cells. */
static void choose_map(score_index *ix, const fastbin_model_spec *spec) {
  double first = threshold_of(spec, 0);
  double last = smaller(threshold_of(spec, fastbin_n_edges(spec) - 1), DBL_MAX);
  double low = first >= 0.0 ? 0.0 : first;
  double high = ix->check_max < DBL_MAX && ix->check_max > last ? ix->check_max : last;
  double all_high = -infinity();
  const candidate candidates[] = {
      {INDEX_LINEAR, 0.0, 0.0, 0.0},
      {INDEX_LOW, low, 0.0, 0.0},
      {INDEX_LOW, first, 0.0, 0.0},
      {INDEX_BOTH, low, high, 0.5 * low + 0.5 * high},
      {INDEX_BOTH, low, high, all_high},
      {INDEX_BOTH, low, last, all_high},
  };
  score_index best = *ix;
  for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
    score_index next = *ix;
    if (!plan_map(&next, spec, &candidates[i], most_cells(ix))) continue;
    next.window = window_of(&next, spec, i > 0 ? best.window : MAX_CELLS);
    if (i > 0 && next.window > best.window) continue;
    if (!ix->is_one_of_many) shrink(&next, spec);
    if (i == 0 || next.window < best.window || next.n_cells < best.n_cells) best = next;
    if (ix->is_one_of_many ? best.window <= WINDOW_OF_MANY : best.window == 1 && best.n_cells <= SMALL_TABLE) break;
  }
  *ix = best;
}

void fastbin_plan_index(score_index *ix, const fastbin_model_spec *spec, int is_one_of_many) {
  memset(ix, 0, sizeof *ix);
  ix->is_one_of_many = is_one_of_many;
  ix->is_plain = spec->kind == FASTBIN_STEP && !(spec->delta > 0.0);
  ix->check_min = is_less(spec->score_min, -DBL_MAX) ? -DBL_MAX : without_negative_zero(spec->score_min);
  ix->check_max = is_less(DBL_MAX, spec->score_max) ? DBL_MAX : without_negative_zero(spec->score_max);
  ix->least = order_of(ix->check_min);
  ix->span = (uint64_t)order_of(ix->check_max) - (uint64_t)ix->least;
  ix->base = ix->least < 0 ? ix->least : 0;
  ix->map = INDEX_LINEAR;
  ix->n_cells = 1;
  ix->run_window = 1;
  ix->run_width = 1;
  if (fastbin_n_edges(spec) > 0) {
    count_thresholds(ix, spec);
    if (ix->n_thresholds <= MAX_INDEXED_THRESHOLDS) {
      choose_map(ix, spec);
    } else {
      ix->window = window_of(ix, spec, UINT32_MAX / 2);
    }
  }
  ix->find_cells = fastbin_cells_function(ix);
  ix->make_keys = fastbin_keys_function();
  ix->search_wide = fastbin_small_function(ix);
  if (!ix->search_wide && spec->kind == FASTBIN_STEP && !is_one_of_many) {
    ix->search_wide = fastbin_packed_function(ix);
    ix->is_packed = ix->search_wide != NULL;
  }
}

/* ------------------------------------------------------------------------------------------------------------- */
/* Building                                                                                                      */
/* ------------------------------------------------------------------------------------------------------------- */

/* UINT64_MAX before the thresholds, which no height is; after them as many times as the widest search may read. */
static size_t threshold_slots(const score_index *ix) { return 1 + (size_t)ix->n_thresholds + 2 * (size_t)ix->window; }

/* Without a width, the search among ties reads entries before it checks that they belong to the ties. */
static size_t tie_key_slots(const score_index *ix, const fastbin_model_spec *spec) {
  if (ix->run_width > 0) return ((size_t)ix->n_thresholds + 1) * ix->run_width;
  return (size_t)fastbin_n_edges(spec) + 2 * (size_t)ix->run_window;
}

int fastbin_add_index_size(size_t *bytes, const score_index *ix, const fastbin_model_spec *spec) {
  size_t n_ranks = (size_t)ix->n_thresholds + 1;
  return add_size(bytes, threshold_slots(ix), sizeof(uint64_t)) &&
         (!any_splits_ties(spec) || add_size(bytes, tie_key_slots(ix, spec), sizeof(uint64_t))) &&
         (ix->run_window == 1 || add_size(bytes, n_ranks, sizeof(double) + sizeof(uint32_t))) &&
         (!ix->is_packed || add_size(bytes, ix->n_cells, sizeof(uint64_t))) && add_size(bytes, ix->n_cells, sizeof(uint16_t));
}

static void fill_heights(uint64_t *heights, const score_index *ix, const fastbin_model_spec *spec) {
  int32_t n_edges = fastbin_n_edges(spec);
  size_t filled = 0;
  heights[filled++] = UINT64_MAX;
  for (int32_t i = 0; i < n_edges; i++) {
    int64_t order = threshold_order(spec, i);
    if (has_new_threshold(ix, spec, i)) heights[filled++] = order < ix->base ? 0 : height_of(ix, order);
  }
  while (filled < threshold_slots(ix)) heights[filled++] = UINT64_MAX;
}

static void fill_tie_keys(uint64_t *tie_keys, const score_index *ix, const fastbin_model_spec *spec) {
  int32_t n_edges = fastbin_n_edges(spec);
  size_t rank = 0;
  uint32_t place = 0;
  memset(tie_keys, 0, tie_key_slots(ix, spec) * sizeof *tie_keys);
  for (int32_t i = 0; i < n_edges; i++) {
    /* A score at the base has the height of a threshold below it, but does not tie with it. */
    uint64_t key = splits_ties(spec, i) && threshold_order(spec, i) >= ix->base ? spec->edge_keys[i] : 0;
    int is_new = is_new_threshold(spec, i);
    rank += (size_t)is_new;
    place = is_new ? 0 : place + 1;
    tie_keys[ix->run_width > 0 ? rank * ix->run_width + place : (size_t)i] = key;
  }
}

/* The bin of a rank is the number of edges whose thresholds are among those it counts. */
static void fill_ranks(uint32_t *bins, double *values, const fastbin_model_spec *spec) {
  int32_t n_edges = fastbin_n_edges(spec);
  uint32_t rank = 0;
  for (int32_t i = 0; i < n_edges; i++) {
    if (is_new_threshold(spec, i)) bins[rank++] = (uint32_t)i;
  }
  bins[rank] = (uint32_t)n_edges;
  for (uint32_t r = 0; r <= rank; r++) values[r] = spec->values[bins[r]];
}

/*
 * The rank at which a cell begins: how many thresholds lie in lower ones, in every environment. Thresholds are counted where they end,
 * and counts added up: a loop over the cells between two thresholds would end where no processor foresees it.
 */
static void fill_first(uint16_t *first, const score_index *ix, const fastbin_model_spec *spec) {
  block_function *next_block = fastbin_block_function();
  threshold_block block;
  uint32_t end = 0, rank = 0;
  int32_t next = 0;
  memset(first, 0, ix->n_cells * sizeof *first);
  if (ix->n_cells == 1) return;
  for (size_t n; (n = next_block(ix, spec, &next, &block)) > 0;) {
    for (size_t i = 0; i < n; i++) {
      end = block.high[i] > end ? block.high[i] : end; /* it may fall at infinity, as in `window_of` */
      if (end + 1 < ix->n_cells) first[end + 1]++;
    }
  }
  for (uint32_t cell = 0; cell < ix->n_cells; cell++) {
    rank += first[cell];
    first[cell] = (uint16_t)rank;
  }
}

unsigned char *fastbin_fill_index(score_index *ix, const fastbin_model_spec *spec, unsigned char *tables) {
  uint64_t *heights = (uint64_t *)(void *)tables;
  uint64_t *packed = NULL;
  tables = (unsigned char *)(heights + threshold_slots(ix));
  fill_heights(heights, ix, spec);
  ix->heights = heights + 1;
  if (any_splits_ties(spec)) {
    uint64_t *tie_keys = (uint64_t *)(void *)tables;
    tables += tie_key_slots(ix, spec) * sizeof(uint64_t);
    fill_tie_keys(tie_keys, ix, spec);
    ix->tie_keys = tie_keys;
  }
  if (ix->is_packed) {
    packed = (uint64_t *)(void *)tables;
    tables += ix->n_cells * sizeof(uint64_t);
  }
  ix->values = ix->bin_values = spec->kind == FASTBIN_STEP ? spec->values : NULL;
  if (ix->run_window > 1) {
    double *values = (double *)(void *)tables;
    uint32_t *bins = (uint32_t *)(void *)(values + ix->n_thresholds + 1);
    tables = (unsigned char *)(bins + ix->n_thresholds + 1);
    fill_ranks(bins, values, spec);
    ix->bins = bins;
    ix->values = values;
  }
  fill_first((uint16_t *)(void *)tables, ix, spec);
  ix->first = (const uint16_t *)(void *)tables;
  if (packed) fastbin_fill_packed(packed, ix);
  ix->packed = packed;
  return tables + ix->n_cells * sizeof(uint16_t);
}
