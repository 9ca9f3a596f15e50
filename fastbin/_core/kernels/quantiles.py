"""The passes over the rows of a fit: count all in cells, count or list those in some intervals.

A *code* is the int64 that orders like the score (see `code_of`). A *cell* is a run of neighbouring scores. The root map sends
every score to a cell, monotonically: linearly, by the top bits of its code or of its distance from the nearer end of [0, 1], or
between splitters. An interval of scores that is looked into again has cells of 2**shift codes each; its first and its last cell
take everything beyond.

Rows are located a block at a time, so that each root map is written once and its loop can be vectorised, and what becomes of
a row after that is another loop. The counts are integers: tables filled by different threads or chunks add up to the same
table, and the result does not depend on how the rows were divided. All arrays are one-dimensional and contiguous; `scores` and
`bits` are two views of one array, `labels` holds 0 and 1, an empty `weights` stands for a frequency of 1 each.
"""

from __future__ import annotations

import numpy as np

from fastbin._core.kernels._jit import (
    f64,
    f64_in,
    f64_out,
    i32_in,
    i32_out,
    i64,
    i64_in,
    i64_out,
    kernel,
    u8_in,
    u32_out,
    u64_out,
)  # fmt: skip

# Root maps.
LINEAR, BY_CODE, BY_ENDS, BY_SPLITTERS = 0, 1, 2, 3

# The code of 0.5; a distance below that of any score from 1, but for 1 itself.
MIDDLE, LEAST_DISTANCE = 0x3FE0000000000000, 2.0**-54

# Rows after which packed counters are emptied, long before either half overflows: a power of two and a multiple of BLOCK.
MAX_PACKED = 2**20

# Rows located at a time: few enough for the caches, many enough that loops seldom end.
BLOCK = 4096

# Rows searched at a time between splitters: each step goes over all of them, so they share that cache with the splitters.
SEARCH_BLOCK = 512

BAD_SCORE, BAD_LABEL = 1, 2


@kernel(i64(i64))
def code_of(bits):
    """The int64 that orders like the float64 with these bits; 0.0 and -0.0 both give 0."""
    sign = bits >> 63
    return (bits ^ (sign & 0x7FFFFFFFFFFFFFFF)) - sign


@kernel(i64(i64, i64, i64, i64))
def step_of(code, base, shift, n_cells):
    """The cell of a code: 2**shift codes each from `base` on; the first and last take everything beyond."""
    # Unsigned: between a negative and a positive score there can be more than 2**63 codes.
    step = (np.uint64(code) - np.uint64(base)) >> np.uint64(shift)
    step = min(step, np.uint64(n_cells - 1))
    return np.int64(step) if code > base else 0


@kernel(i64(f64_in, f64_in, u32_out))
def search_splitters(scores, points, cells):
    """Fill the cells of `locate` BY_SPLITTERS. Returns 0."""
    for i in range(scores.size):
        cells[i] = 0
    # One step of the binary search for all rows, then the next: no branch depends on a score.
    half = np.uint32((points.size + 1) >> 1)
    while half > 0:
        probes = points[half - 1 :]
        for i in range(scores.size):
            cells[i] += half * np.uint32(probes[cells[i]] < scores[i])
        half >>= np.uint32(1)
    last = np.uint32(points.size - 1)
    for i in range(scores.size):
        cells[i] = 2 * cells[i] + np.uint32(points[min(cells[i], last)] == scores[i])
    return 0


@kernel(i64(f64_in, i64_in, i64, f64, f64, i64, i64, i64, f64_in, i32_out))
def locate(scores, bits, kind, origin, scale, base, shift, n_steps, points, cells):
    """Fill the root cell of each row of a block. NaN goes to some cell. Returns 0.

    LINEAR: (score - origin) * scale, cut off at both ends. BY_CODE: `step_of` the code. BY_ENDS: `step_of` the code up to .5,
    and of its mirror image above, 2 MIDDLE less the code of 1 - score: steps are relative to the distance from 0 or 1.
    If there are `points`, one for each of these n_steps cells (NaN for none), each is divided into the scores below its point,
    those that equal it, and those above. BY_SPLITTERS: cell 2 i below point i and above the one before, cell 2 i + 1 for scores
    that equal it; the number of points is one less than a power of two, ascending, the last ones may repeat.
    """
    n = scores.size
    at = cells.view(np.uint32)
    if kind == LINEAR:
        top = float(n_steps - 1)
        for i in range(n):
            x = (scores[i] - origin) * scale
            # Written so that NaN falls to cell 0 and an infinite product to the last.
            x = x if x > 0.0 else 0.0
            x = x if x < top else top
            cells[i] = np.int32(x)
    elif kind == BY_CODE:
        for i in range(n):
            cells[i] = step_of(code_of(bits[i]), base, shift, n_steps)
    elif kind == BY_ENDS:
        distances = np.empty(n)
        for i in range(n):
            distances[i] = min(scores[i], max(1.0 - scores[i], LEAST_DISTANCE))
        codes = distances.view(np.int64)
        for i in range(n):
            code = code_of(codes[i])
            cells[i] = step_of(code if scores[i] <= 0.5 else 2 * MIDDLE - code, base, shift, n_steps)
    else:
        for start in range(0, n, SEARCH_BLOCK):
            search_splitters(scores[start : start + SEARCH_BLOCK], points, at[start : start + SEARCH_BLOCK])
        return 0
    if points.size:
        for i in range(n):
            point, s = points[at[i]], scores[i]
            at[i] = 3 * at[i] + np.uint32(s >= point) + np.uint32(s > point)
    return 0


@kernel(i64(f64_in, u8_in, f64, f64))
def check(scores, labels, score_min, score_max):
    """A bit set: BAD_SCORE if a score is NaN or outside [score_min, score_max], BAD_LABEL if a label exceeds 1."""
    n_good = 0
    for i in range(scores.size):
        n_good += (scores[i] >= score_min) & (scores[i] <= score_max)
    seen = np.uint8(0)
    for i in range(labels.size):
        seen |= labels[i]
    return BAD_SCORE * (n_good < scores.size) + BAD_LABEL * (seen > 1)


@kernel(i64(u64_out, i64_out))
def unpack(packed, table):
    """Add the counters of `count_rows` to a table of two entries a cell. Returns 0."""
    for cell in range(packed.size):
        ones = np.int64(packed[cell] >> np.uint64(32))
        table[2 * cell] += np.int64(packed[cell] & np.uint64(0xFFFFFFFF)) - ones
        table[2 * cell + 1] += ones
        packed[cell] = 0
    return 0


@kernel(
    i64(
        f64_in, i64_in, u8_in, i64_in, i64, f64, f64, i64, i64, i64, f64_in, i64,
        f64, f64, i64_out,
    )
)  # fmt: skip
def count_rows(
    scores, bits, labels, weights, kind, origin, scale, base, shift, n_steps, points, n_cells,
    score_min, score_max, table,
):  # fmt: skip
    """Add each row to table[cell, label] of the root map, and check it on the way.

    Returns the bit set of `check`; rows that fail it are counted in some cell. The caller zeroes `table`, of 2 * n_cells
    entries.
    """
    cells = np.empty(BLOCK, np.int32)
    # Rows in the lower half of a counter, those with label 1 in the upper: one place in memory to touch for each row.
    packed = np.zeros(n_cells if weights.size == 0 else 0, np.uint64)
    bad = 0
    for start in range(0, scores.size, BLOCK):
        end = min(start + BLOCK, scores.size)
        locate(scores[start:end], bits[start:end], kind, origin, scale, base, shift, n_steps, points, cells)
        bad |= check(scores[start:end], labels[start:end], score_min, score_max)
        # Unsigned: an index that may be negative costs as much as the counting.
        at, ones = cells[: end - start].view(np.uint32), labels[start:end]
        if weights.size == 0:
            for i in range(at.size):
                packed[at[i]] += np.uint64(1) + (np.uint64(ones[i] & 1) << np.uint64(32))
            if end & (MAX_PACKED - 1) == 0:
                unpack(packed, table)
        else:
            for i in range(at.size):
                table[2 * np.uint64(at[i]) + np.uint64(ones[i] & 1)] += weights[start + i]
    unpack(packed, table)
    return bad


@kernel(
    i64(
        f64_in, i64_in, u8_in, i64_in, i64, f64, f64, i64, i64, i64, f64_in, i64,
        i32_in, i32_in, f64_in, f64_in, i64_in, i64_in, i64_in, i64_in, i64_out, i64_out, i64_out,
        i64, i64_out, u32_out, f64_out, i64_out,
    )
)  # fmt: skip
def count_within(
    scores, bits, labels, weights, kind, origin, scale, base, shift, n_steps, points, n_cells,
    first, last, low, high, node_base, node_shift, node_cells, node_offset, table, least, greatest,
    row, n_listed, slot, listed, listed_weights,
):  # fmt: skip
    """Count or list the rows from `row` on that lie in one of the intervals [low[t], high[t]].

    Those in root cell c can be in the intervals first[c] ... last[c] alone; first[c] is negative where there is none. Interval
    t counts its rows in node_cells[t] cells, two entries of `table` each (by label) from 2 * node_offset[t] on, and keeps
    least[t] and greatest[t] of their codes; with 0 cells they are listed: slot 2 t + label, the score, and its weight, from
    place n_listed[0] on.

    Returns where it stopped: after the last row, or at the first row for which the list has no room.
    """
    cells = np.empty(BLOCK, np.int32)
    inside = np.empty(BLOCK, np.uint32)
    # A byte per cell stays in the first-level cache where `first` would not.
    is_open = np.empty(n_cells, np.uint8)
    for cell in range(n_cells):
        is_open[cell] = first[cell] >= 0
    place = n_listed[0]
    for start in range(row, scores.size, BLOCK):
        end = min(start + BLOCK, scores.size)
        locate(scores[start:end], bits[start:end], kind, origin, scale, base, shift, n_steps, points, cells)
        # First which rows matter, without a branch that few of them would take.
        at = cells[: end - start].view(np.uint32)
        n_inside = np.uint64(0)
        for i in range(at.size):
            inside[n_inside] = i
            n_inside += np.uint64(is_open[at[i]])
        for h in range(np.int64(n_inside)):
            i = start + np.int64(inside[h])
            cell = np.int64(at[inside[h]])
            s = scores[i]
            t, t_last = np.int64(first[cell]), np.int64(last[cell])
            while t < t_last:
                middle = (t + t_last) >> 1
                if s > high[middle]:
                    t = middle + 1
                else:
                    t_last = middle
            if s < low[t] or s > high[t]:
                continue
            label = labels[i]
            weight = 1 if weights.size == 0 else weights[i]
            if node_cells[t] > 0:
                code = code_of(bits[i])
                cell = node_offset[t] + step_of(code, node_base[t], node_shift[t], node_cells[t])
                table[2 * cell + label] += weight
                least[t], greatest[t] = min(code, least[t]), max(code, greatest[t])
            elif weight > 0:
                if place == listed.size:
                    n_listed[0] = place
                    return i
                slot[place] = 2 * t + label
                listed[place] = s
                if weights.size:
                    listed_weights[place] = weight
                place += 1
    n_listed[0] = place
    return scores.size


@kernel(i64(f64, f64, i64, i64_in, i64_in, i64, i64, i64_out))
def linear_starts(origin, scale, n_steps, steps, guesses, lowest, highest, starts):
    """The least code in lowest ... highest that the linear map sends to each of these steps or a later one. Returns 0.

    The guesses are right but for rounding: four codes to either side are tried first, and what is left is bisected.
    """
    code = np.empty(1, np.int64)
    score = code.view(np.float64)
    for i in range(steps.size):
        below, reaching = lowest - 1, highest + 1
        if steps[i] <= 0:
            reaching = lowest
        n_tries = 0
        while steps[i] < n_steps and below + 1 < reaching:
            middle = (below & reaching) + ((below ^ reaching) >> 1)
            if n_tries < 2:
                middle = min(max(guesses[i] - 4 + 8 * n_tries, below + 1), reaching - 1)
                n_tries += 1
            sign = middle >> 63
            code[0] = (middle + sign) ^ (sign & 0x7FFFFFFFFFFFFFFF)
            if (score[0] - origin) * scale >= steps[i]:  # as in `locate`
                reaching = middle
            else:
                below = middle
        starts[i] = reaching
    return 0
