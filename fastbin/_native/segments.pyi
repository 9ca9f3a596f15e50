from typing import Any

from fastbin._typing import Float64s, Int32s, Int64s, UInt8s, UInt64s

def count_codes(codes: Int32s | Int64s, low: int, n_codes: int) -> Int64s: ...
def number_keys(keys: Int64s) -> tuple[Int64s, Int32s]: ...
def scatter_rows(
    codes: Int32s | Int64s, low: int, next_place: Int64s, scores: Float64s, labels: UInt8s, least: float, greatest: float,
    packed: UInt64s,
) -> int: ...  # fmt: skip
def fit_runs(
    packed: UInt64s, starts: Int64s, ranks: Int64s, first_rank: Int64s, leaves_out: bool, seed: int
) -> dict[str, Any]: ...
