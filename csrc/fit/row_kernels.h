/*
 * row_kernels.h: passes over the rows of a fit that gain from wide registers. Integers: every build gives the same.
 *
 * A packed row is a score from 0 on and its label as one integer that orders like the score, label 1 first. groups.pxi packs
 * rows of other types, and those that go to segments; the usual ones take .13 ns a row here, and .46 there (AVX-512, 1e5 rows).
 *
 * Copyright The fastbin authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FASTBIN_ROW_KERNELS_H
#define FASTBIN_ROW_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Packs n rows; returns whether all scores are in [low, high], low from 0 on, and all labels 0 or 1. NaN is not in any range. */
int fastbin_pack_rows(const double *scores, const uint8_t *labels, size_t n, double low, double high, uint64_t *packed);

/*
 * Sorts n packed rows by counting each distinct one, where these are at most 512 and n / 64, and 10 at least among the first 64
 * rows. Returns whether it did; else the rows are left as they are. Continuous scores are told by the first 64 rows; O(n) at most.
 */
int fastbin_sort_few(uint64_t *packed, size_t n);

/* Sorts n rows, fewer than 2^32, by their digits. `scratch` has room for n. O(n). */
void fastbin_sort_radix(uint64_t *rows, size_t n, uint64_t *scratch);

/* How many of n packed rows have label 1. */
size_t fastbin_count_ones(const uint64_t *packed, size_t n);

#endif /* FASTBIN_ROW_KERNELS_H */
