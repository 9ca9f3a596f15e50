/*
 * row_kernels.c: see row_kernels.h. Each loop is compiled for several levels of processors (cpu.h).
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#define VECTORISED_SOURCE
#include "internal.h"

#include "cpu.h"
#include "keys.h"
#include "numbers.h"
#include "row_kernels.h"

#include <stdlib.h>

/* How many distinct rows are counted (fewer sort as fast); the slots of their table; how far a row may lie behind its own. */
#define FEWEST_DISTINCT 10u
#define MOST_DISTINCT 512u
#define ROWS_A_DISTINCT 64u
#define SLOT_BITS 11
#define N_SLOTS ((size_t)1 << SLOT_BITS)
#define MOST_STEPS 16u
#define BITS_OF_FIRST 8
/* The radix sort: the most bits of a digit, and digits; bits beyond those that would number the rows, so that few share all
   digits; and how far a row is moved one by one before the rows that share its digits are sorted by their own. */
#define DIGIT_BITS 11u
#define MOST_DIGITS 3u
#define BITS_BEYOND 10u
#define FAR ((size_t)24)

static ALWAYS_INLINE int pack(const double *restrict scores, const uint8_t *restrict labels, size_t n, double low, double high,
                              uint64_t *restrict packed) {
  uint64_t n_good = 0, excess = 0;
  for (size_t i = 0; i < n; i++) {
    n_good += (scores[i] >= low) & (scores[i] <= high);
    excess |= labels[i];
    /* The sign is shifted out: -0.0 and 0.0 are one score. */
    packed[i] = bits_of(scores[i]) << 1 | (labels[i] ^ UINT64_C(1));
  }
  return n_good == n && excess <= 1;
}

static ALWAYS_INLINE size_t count(const uint64_t *packed, size_t n) {
  uint64_t n_zeros = 0;
  for (size_t i = 0; i < n; i++) n_zeros += packed[i] & 1;
  return n - (size_t)n_zeros;
}

/* Each fourth row has a counter of its own: of equal rows that follow each other, none waits for the count of the one before. */
typedef struct counted_row {
  uint64_t row;
  uint32_t counts[4];
} counted_row;

/* No row: none is that high. */
#define FREE UINT64_MAX

static int by_row(const void *left, const void *right) {
  uint64_t one = ((const counted_row *)left)->row, other = ((const counted_row *)right)->row;
  return (one > other) - (one < other);
}

static size_t own_slot(uint64_t row, int bits) { return (size_t)(row * KEY_STEP >> (64 - bits)); }

/* Whether some of the first rows are equal. Else there are hardly few, and the table is not worth its making. */
static int have_equal(const uint64_t *packed) {
  uint64_t seen[1u << BITS_OF_FIRST];
  memset(seen, 0xFF, sizeof seen);
  for (size_t i = 0; i < ROWS_A_DISTINCT; i++) {
    size_t at = own_slot(packed[i], BITS_OF_FIRST);
    for (; seen[at] != FREE; at = (at + 1) & ((1u << BITS_OF_FIRST) - 1)) {
      if (seen[at] == packed[i]) return 1;
    }
    seen[at] = packed[i];
  }
  return 0;
}

/* Its own slot or one of the next, which it takes if it is free; NULL where all are others', or `n_free` allows no more. */
static counted_row *slot_of(counted_row *slots, uint64_t row, size_t *n_free) {
  size_t at = own_slot(row, SLOT_BITS);
  for (unsigned steps = 0; steps < MOST_STEPS; steps++, at = (at + 1) & (N_SLOTS - 1)) {
    if (slots[at].row == row) return &slots[at];
    if (slots[at].row != FREE) continue;
    if (*n_free == 0) return NULL;
    (*n_free)--;
    slots[at].row = row;
    return &slots[at];
  }
  return NULL;
}

/* Counts rows; returns whether each has a slot. */
static int count_each(counted_row *slots, const uint64_t *packed, size_t n, size_t *n_free) {
  for (size_t i = 0; i < n; i++) {
    counted_row *slot = slot_of(slots, packed[i], n_free);
    if (!slot) return 0;
    slot->counts[i & 3]++;
  }
  return 1;
}

int fastbin_sort_few(uint64_t *packed, size_t n) {
  counted_row slots[N_SLOTS];
  size_t most = n / ROWS_A_DISTINCT < MOST_DISTINCT ? n / ROWS_A_DISTINCT : MOST_DISTINCT, n_free = most, n_distinct = 0;
  if (most < FEWEST_DISTINCT || n > UINT32_MAX || !have_equal(packed)) return 0;
  for (size_t at = 0; at < N_SLOTS; at++) slots[at] = (counted_row){FREE, {0}};
  if (!count_each(slots, packed, ROWS_A_DISTINCT, &n_free) || most - n_free < FEWEST_DISTINCT) return 0;
  if (!count_each(slots, packed + ROWS_A_DISTINCT, n - ROWS_A_DISTINCT, &n_free)) return 0;
  for (size_t at = 0; at < N_SLOTS; at++) {
    if (slots[at].row != FREE) slots[n_distinct++] = slots[at];
  }
  qsort(slots, n_distinct, sizeof *slots, by_row);
  for (size_t k = 0; k < n_distinct; k++) {
    size_t count = (size_t)slots[k].counts[0] + slots[k].counts[1] + slots[k].counts[2] + slots[k].counts[3];
    for (size_t i = 0; i < count; i++) packed[i] = slots[k].row;
    packed += count;
  }
  return 1;
}

typedef struct radix_work {
  uint64_t *scratch;
  uint32_t places[MOST_DIGITS][(size_t)1 << DIGIT_BITS];
} radix_work;

static unsigned bit_length(uint64_t x) {
  unsigned length = 0;
  for (; x; x >>= 1) length++;
  return length;
}

/* By `n_digits` digits from bit `shift` of their distance to `least` on, the lowest first; each pass keeps the order of the last. */
static void sort_by_digits(uint64_t *rows, size_t n, uint64_t least, unsigned shift, unsigned n_digits, unsigned bits,
                           radix_work *work) {
  size_t n_values = (size_t)1 << bits;
  uint64_t *from = rows, *to = work->scratch, mask = n_values - 1;
  for (unsigned digit = 0; digit < n_digits; digit++) memset(work->places[digit], 0, n_values * sizeof(uint32_t));
  for (size_t i = 0; i < n; i++) {
    uint64_t digits = (rows[i] - least) >> shift;
    for (unsigned digit = 0; digit < n_digits; digit++) work->places[digit][digits >> digit * bits & mask]++;
  }
  for (unsigned digit = 0; digit < n_digits; digit++) {
    uint32_t *place = work->places[digit], before = 0;
    unsigned at = shift + digit * bits;
    for (size_t value = 0; value < n_values; value++) {
      uint32_t count = place[value];
      place[value] = before;
      before += count;
    }
    for (size_t i = 0; i < n; i++) to[place[(from[i] - least) >> at & mask]++] = from[i];
    uint64_t *filled = to;
    to = from;
    from = filled;
  }
  if (from != rows) memcpy(rows, from, n * sizeof *rows);
}

/*
 * The highest digits order rows but for those that share all of them. These lie side by side, mostly one or two, and are put in
 * order one by one; where a row would go far, those that share its digits are sorted as rows of their own, by digits that are
 * lower, so that there are at most five levels.
 */
static void sort_radix(uint64_t *rows, size_t n, radix_work *work) {
  uint64_t least = rows[0], greatest = rows[0];
  for (size_t i = 1; i < n; i++) {
    least = rows[i] < least ? rows[i] : least;
    greatest = rows[i] > greatest ? rows[i] : greatest;
  }
  unsigned all = bit_length(greatest - least), wanted = bit_length(n) + BITS_BEYOND;
  if (all == 0) return;
  if (wanted > MOST_DIGITS * DIGIT_BITS) wanted = MOST_DIGITS * DIGIT_BITS;
  if (wanted > all) wanted = all;
  unsigned shift = all - wanted, n_digits = (wanted + DIGIT_BITS - 1) / DIGIT_BITS;
  sort_by_digits(rows, n, least, shift, n_digits, (wanted + n_digits - 1) / n_digits, work);
  for (size_t i = 1; i < n && shift > 0; i++) {
    uint64_t row = rows[i], shared = (row - least) >> shift;
    size_t at = i, nearest = i > FAR ? i - FAR : 0;
    for (; at > nearest && rows[at - 1] > row; at--) rows[at] = rows[at - 1];
    rows[at] = row;
    if (at > nearest || at == 0) continue;
    size_t first = at, end = i + 1;
    while (first > 0 && (rows[first - 1] - least) >> shift == shared) first--;
    while (end < n && (rows[end] - least) >> shift == shared) end++;
    sort_radix(rows + first, end - first, work);
    i = end - 1;
  }
}

void fastbin_sort_radix(uint64_t *rows, size_t n, uint64_t *scratch) {
  radix_work work;
  work.scratch = scratch;
  if (n > 1) sort_radix(rows, n, &work);
}

#define BUILD(name, TARGET)                                                                                        \
  TARGET static int pack_##name(const double *scores, const uint8_t *labels, size_t n, double low, double high,    \
                                uint64_t *packed) {                                                                \
    return pack(scores, labels, n, low, high, packed);                                                             \
  }                                                                                                                \
  TARGET static size_t count_##name(const uint64_t *packed, size_t n) { return count(packed, n); }

FOR_CPU_LEVELS(BUILD)

int fastbin_pack_rows(const double *scores, const uint8_t *labels, size_t n, double low, double high, uint64_t *packed) {
  enum cpu_level level = fastbin_best_cpu_level();
  return BUILD_FOR(level, pack)(scores, labels, n, low, high, packed);
}

size_t fastbin_count_ones(const uint64_t *packed, size_t n) {
  enum cpu_level level = fastbin_best_cpu_level();
  return BUILD_FOR(level, count)(packed, n);
}
