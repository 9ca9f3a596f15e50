/*
 * index.h: from a score to its bin in a few nanoseconds.
 *
 * THRESHOLDS AND RANKS
 *
 *   A threshold is the score from which on every sample lies above an edge, whatever its key: the edge itself or, for an
 *   edge whose key is FASTBIN_KEY_BELOW, the next double. Equal thresholds count as one. The rank of a score is the number
 *   of thresholds at or below it. Rank gives bin, except for a score that equals the threshold just below it if an
 *   edge there has a key of its own: then the sample's key is compared with that of the edge (or of the
 *   edges: a score value that many samples share may have several).
 *
 * THE INDEX
 *
 *   A map sends scores to cells, and a table gives the rank at which a cell begins. The map never decreases, also in floating
 *   point, where subtraction, multiplication, minimum, maximum and truncation are all monotone. Hence a threshold in
 *   a lower cell than the score's is below the score, and one in a higher cell is above it, exactly, whatever the rounding
 *   of the map. Only the thresholds of the score's own cell remain to be compared, and the map is chosen so that this is a
 *   single comparison wherever possible.
 *
 *   The search in a cell is a binary search of a fixed number of steps without a branch; `window` is its first step. It
 *   may look beyond the cell, where every threshold is above the score anyway.
 *
 *   Tried and slower, at 100 bins: the value itself in cells that no threshold cuts (8 bytes a cell drive the scores out of
 *   the first-level cache), gather instructions (on most processors no faster than the loads they replace; index_packed.c is
 *   for the others), and smaller
 *   tables with several comparisons a cell (each costs more than the cells it saves).
 *
 * THE FLOATING-POINT ENVIRONMENT
 *
 *   A search assumes nothing of it but that it does not change during a call: rounding in any of the four directions, results that
 *   are flushed to zero (FTZ), operands that are taken for zero where they are subnormal (DAZ). The model may have been made under
 *   another one. Bins, and the values of step models, are the same to the bit. This rests on three things:
 *
 *   - scores are compared with the range and with thresholds by integers, their orders (numbers.h). The height of a score is its
 *     order as an unsigned integer above that of `base`: above 0.0, if the range has no negative score, or else above its least.
 *     In the first case, which is the usual one, the bits of a score are its height;
 *   - the bounds to which a map clamps are normal doubles or integers, so the number of a cell is below n_cells, always;
 *   - in each environment the map never decreases, but the same score may get another cell: a threshold is listed in every cell
 *     that it can get in any of them (index_thresholds.c).
 *
 *   The values of other models pass through arithmetic. They are in [0, 1] in every environment, for hostile models, too, and
 *   differ by rounding: by less than 1e-12 where the terms of the map are at most 1,000 in size. tests/test_modes.c holds all this.
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_INDEX_H
#define FASTBIN_INDEX_H

#include "keys.h"
#include "numbers.h"

/* Ranks in cells are 16 bits wide, so the table of 100 bins takes from a few hundred bytes to a few kilobytes. */
#define MAX_CELLS 65536u
#define MAX_INDEXED_THRESHOLDS 65535u

typedef enum index_map {
  INDEX_LINEAR, /* thresholds spread evenly: cell = (s - origin) * scale */
  INDEX_LOW,    /* they crowd towards `origin`: the leading bits of the double s - origin, a piecewise linear logarithm */
  INDEX_BOTH    /* towards both ends: below `middle` as INDEX_LOW; from there on its mirror image, seen from `end` */
} index_map;

typedef struct score_index score_index;

/*
 * One pass over n scores: writes the cell of each and, if the range has negative scores, its height. Returns 0 only if all are in
 * the range, and none is -0.0 in a range without negative scores. Otherwise the caller has to check each score. Any score, also
 * NaN, gets a valid cell.
 */
typedef uint64_t cells_function(const score_index *ix, const double *restrict scores, size_t n, uint32_t *restrict cells,
                                uint64_t *restrict heights);

/*
 * A whole block in wide registers: values or bins (the other is NULL) of n scores. Returns 0 when it is done; otherwise
 * the block is left to the general search, as a score is bad or may tie with an edge that splits ties.
 */
typedef int wide_function(const score_index *ix, const double *scores, size_t n, double *values, int32_t *bins);

/* In the order in which searches read it: those for one score need the first two cache lines. */
struct score_index {
  index_map map;
  uint32_t n_cells;          /* 1 ... MAX_CELLS */
  uint32_t n_thresholds;
  uint32_t window;           /* a power of two; 0 without thresholds */
  uint32_t run_window;       /* the same for the search among the edges of one threshold; 1 when each has a single one */
  uint32_t run_width;        /* 1, 2 or 4: no threshold has more edges than this; 0: one does */
  int shift;                 /* LOW, BOTH */
  int is_plain;              /* a step function without randomised values: what scoring is tuned for */
  int64_t least;             /* the order of the least score of the range, -DBL_MAX for -INFINITY */
  uint64_t span;             /* of the greatest, above it: one comparison refuses NaN, infinity and scores out of range alike */
  int64_t base;              /* min(least, 0): where heights begin */
  double origin;
  double scale;              /* LINEAR */
  double low_min, low_max;   /* (s - origin) * scale or, without a scale, s - origin is clamped to these ... */
  uint64_t low_offset;       /* LOW, BOTH: ... and its cell is (its bits >> shift) - low_offset */
  const uint16_t *first;     /* n_cells: the rank at which each begins */
  const uint64_t *heights;   /* of the thresholds, ascending; 0 for those below the range; 2 * window UINT64_MAX follow, as [-1] is */
  const uint64_t *tie_keys;  /* NULL if no key decides anywhere. With a run_width: for each rank the keys of the edges at the
                                threshold below it, filled up with 0 to that many. Without: the key of each edge, and
                                2 * run_window zeros. 0 stands for an edge where no key decides */
  const double *bin_values;  /* the value of each bin; NULL for models that are not steps */

  const uint32_t *bins;      /* n_thresholds + 1: the bin of each rank. NULL when run_window is 1: they are the same */
  const double *values;      /* n_thresholds + 1: the value of each rank; NULL for models that are not steps */
  wide_function *search_wide; /* NULL where none suits this index and this processor */
  cells_function *find_cells; /* for this map, in the build that suits this processor */
  keys_function *make_keys;   /* in that build */
  const uint64_t *packed;    /* n_cells: see index_packed.c; NULL unless is_packed */
  double check_min, check_max; /* the range as doubles */
  double end, middle;        /* BOTH */
  double high_min, high_max; /* BOTH: end - s is clamped to these ... */
  uint64_t high_offset;      /*   ... and its cell is high_offset - (its bits >> shift) */
  int is_packed;             /* search_wide is that of index_packed.c */
  int is_one_of_many;        /* the model belongs to a set, and its tables are small */
};

/* index.c: chooses the index of a checked spec, a small one if it is one of many models; adds up the bytes its tables take; fills them, and returns their end. */
struct fastbin_model_spec;
void fastbin_plan_index(score_index *ix, const struct fastbin_model_spec *spec, int is_one_of_many);
int fastbin_add_index_size(size_t *bytes, const score_index *ix, const struct fastbin_model_spec *spec);
unsigned char *fastbin_fill_index(score_index *ix, const struct fastbin_model_spec *spec, unsigned char *tables);

/* index_cells.c, index_small.c, index_packed.c: the functions of these types that suit an index and this processor. */
cells_function *fastbin_cells_function(const score_index *ix);
wide_function *fastbin_small_function(const score_index *ix);
wide_function *fastbin_packed_function(const score_index *ix);
void fastbin_fill_packed(uint64_t *packed, const score_index *ix);

/* ------------------------------------------------------------------------------------------------------------- */
/* The maps. Every build of the passes in index_cells.c goes through these, so that all agree.                          */
/* ------------------------------------------------------------------------------------------------------------- */

static inline uint32_t cell_of_place(const score_index *ix, double place) {
  return (uint32_t)(int32_t)smaller(larger(place, ix->low_min), ix->low_max);
}

static inline uint32_t cell_above(const score_index *ix, double distance) {
  return (uint32_t)((bits_of(smaller(larger(distance, ix->low_min), ix->low_max)) >> ix->shift) - ix->low_offset);
}

static inline uint32_t cell_below(const score_index *ix, double distance) {
  return (uint32_t)(ix->high_offset - (bits_of(smaller(larger(distance, ix->high_min), ix->high_max)) >> ix->shift));
}

static inline uint32_t linear_cell(const score_index *ix, double score) {
  return cell_of_place(ix, (score - ix->origin) * ix->scale);
}

static inline uint32_t low_cell(const score_index *ix, double score) { return cell_above(ix, score - ix->origin); }

static inline uint32_t both_cell(const score_index *ix, double score) {
  uint32_t high = cell_below(ix, ix->end - score);
  uint32_t low = low_cell(ix, score);
  return score < ix->middle ? low : high;
}

static inline uint32_t index_cell(const score_index *ix, double score) {
  if (ix->map == INDEX_LINEAR) return linear_cell(ix, score);
  return ix->map == INDEX_LOW ? low_cell(ix, score) : both_cell(ix, score);
}

/* ------------------------------------------------------------------------------------------------------------- */
/* From cell to bin                                                                                              */
/* ------------------------------------------------------------------------------------------------------------- */

static inline uint64_t height_of(const score_index *ix, int64_t order) { return (uint64_t)order - (uint64_t)ix->base; }

/* Whether a score of this order is in the range. As an unsigned integer, all others are further above its least. */
static inline int in_range(const score_index *ix, int64_t order) { return (uint64_t)order - (uint64_t)ix->least <= ix->span; }

/* The rank of a score in this cell. `window` is ix->window; where it is a constant, the loop unrolls. */
static inline uint32_t rank_in_cell(const score_index *ix, uint64_t height, uint32_t cell, uint32_t window) {
  const uint64_t *heights = ix->heights;
  uint32_t rank = ix->first[cell];
  if (window == 1) return rank + (heights[rank] <= height);
  for (uint32_t step = window; step > 0; step >>= 1) {
    rank += heights[rank + step - 1] <= height ? step : 0;
  }
  return rank;
}

/* Whether a score equals the threshold just below its rank, so that its key may decide. */
static inline int at_threshold(const score_index *ix, uint64_t height, uint32_t rank) {
  return ix->heights[(ptrdiff_t)rank - 1] == height;
}

/* The bin of a score of this rank that equals no threshold, or whose key is above all. */
static inline uint32_t bin_of_rank(const score_index *ix, uint32_t rank) { return ix->run_window > 1 ? ix->bins[rank] : rank; }

/*
 * The bin of a score that equals the threshold below its rank: one less for each edge there whose key is above the sample's.
 * If it does not equal it, this is still right for the key UINT64_MAX. `width` is ix->run_width.
 */
static inline uint32_t bin_among_few(const score_index *ix, uint32_t rank, uint64_t key, uint32_t width) {
  uint32_t bin = bin_of_rank(ix, rank);
  const uint64_t *tie_keys = ix->tie_keys + (size_t)rank * width;
  for (uint32_t i = 0; i < width; i++) bin -= key < tie_keys[i];
  return bin;
}

/* The same with any number of edges, by bisection: the keys of one threshold ascend. */
static inline uint32_t bin_among_many(const score_index *ix, uint32_t rank, uint64_t key) {
  uint32_t low = bin_of_rank(ix, rank - 1);
  uint32_t high = bin_of_rank(ix, rank);
  for (uint32_t step = ix->run_window; step > 0; step >>= 1) {
    uint32_t probe = low + step - 1;
    low += (uint32_t)((probe < high) & (ix->tie_keys[probe] <= key)) * step;
  }
  return low;
}

static inline uint32_t bin_of_tie(const score_index *ix, uint32_t rank, uint64_t key) {
  return ix->run_width > 0 ? bin_among_few(ix, rank, key, ix->run_width) : bin_among_many(ix, rank, key);
}

/* The bin of one score in the range, of this order. */
static inline uint32_t index_bin(const score_index *ix, double score, int64_t order, uint64_t key) {
  uint64_t height = height_of(ix, order);
  uint32_t rank = rank_in_cell(ix, height, index_cell(ix, score), ix->window);
  if (ix->tie_keys && at_threshold(ix, height, rank)) return bin_of_tie(ix, rank, key);
  return bin_of_rank(ix, rank);
}

#endif /* FASTBIN_INDEX_H */
