"""The ranks of boundary samples."""

from __future__ import annotations


def boundary_ranks(n: int, n_bins: int) -> list[int]:
    """k_1 ... k_(B-1) of Gupta & Ramdas 2021, Algorithm 1, line 8: k_b = ceil(b (n + 1) / B), counted from 1.

    In integers, so that no rank is off by one through rounding. (The proof of Theorem 3 prints ceil(b (n + 1/B)); the
    algorithm has the right formula.) Bin b averages the k_b - k_(b-1) - 1 samples strictly between two boundaries, which is at
    least floor((n + 1) / B) - 1: no bin is empty when n >= 2 B - 1.
    """
    return [-((-b * (n + 1)) // n_bins) for b in range(1, n_bins)]
