"""The cells of a column of keys, as NumPy's `unique` would number them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastbin._base.ranks import boundary_ranks, boundary_ranks_of_runs
from fastbin._fit.segments import CellRows, code_cells

RNG = np.random.default_rng(20)
N = 5000

COLUMNS: dict[str, Any] = {
    "near, int32": RNG.integers(-50, 900, N).astype(np.int32),
    "near, int64": RNG.integers(2**60, 2**60 + 900, N),
    "far, few": RNG.choice(RNG.integers(-(2**62), 2**62, 40), N),
    "far, all different": RNG.integers(-(2**62), 2**62, N),
    "far, int32": RNG.integers(-(2**31), 2**31 - 1, N).astype(np.int32),
    "ends": RNG.choice(np.array([-(2**63), 2**63 - 1, 0]), N),
    "multiples of the slots": RNG.integers(0, N, N) * 2**20,
    "one": np.full(N, -7),
    "small": RNG.integers(0, 5, N).astype(np.int8),
    "strided": RNG.integers(0, 90, 2 * N).astype(np.int32)[::2],
    "texts": RNG.choice(["a", "b", "z", "ä", "日"], N),
    "all texts different": np.array([f"{i:x}" for i in RNG.permutation(N)]),
    "empty": np.empty(0, np.int32),
}


@pytest.mark.parametrize("column", list(COLUMNS.values()), ids=list(COLUMNS))
def test_cells_are_numbered_in_the_order_of_their_keys(column: Any) -> None:
    keys, cells = code_cells(column, "segments")
    unique, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
    assert keys == unique.tolist()
    assert cells.row_counts.tolist() == counts.tolist()
    assert cells.numbers().tolist() == inverse.tolist()
    assert all(isinstance(key, (int, str)) for key in keys)


def test_codes_without_rows_are_cells_too() -> None:
    cells = CellRows.of_codes(np.array([2, 0, 2]), np.array([2, 1, 0]))
    assert cells.row_counts.tolist() == [2, 0, 1]
    assert cells.numbers().tolist() == [0, 2, 0]


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb", "ums"])
def test_ranks_of_many_runs_are_those_of_each(scheme: str) -> None:
    n = RNG.integers(60, 2**33, 50)
    n_bins = RNG.integers(1, 30, 50)
    ranks, first = boundary_ranks_of_runs(n, n_bins, scheme)
    for run in range(50):
        expected = boundary_ranks(int(n[run]), int(n_bins[run]), scheme)
        assert ranks[first[run] : first[run + 1]].tolist() == expected.tolist()
