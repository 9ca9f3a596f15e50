from typing import Any, Final

from typing_extensions import Self, disjoint_base

from fastbin._typing import Array, Float64s, Int64s, UInt64s

_Rate = tuple[int, float, int, int]

def library_version() -> str: ...
def status_text(status: int) -> str: ...

@disjoint_base
class ModelOwner:
    edges: Final[Float64s]
    edge_keys: Final[UInt64s]
    values: Final[Float64s]
    counts: Final[Int64s]
    label_sums: Final[Int64s]
    weight_sums: Final[Float64s]
    weighted_label_sums: Final[Float64s]
    weight_square_sums: Final[Float64s]
    n_bins: Final[int]
    n_bins_asked: Final[int]
    n_samples: Final[int]
    n_positive: Final[int]
    n_tied: Final[int]
    seed: Final[int]
    delta: Final[float]
    odds_ratio: Final[float]
    _codes: Final[tuple[int, int, int, int]]
    _map_parameters: Final[tuple[float, ...]]
    score_range: Final[tuple[float, float] | None]
    _note: Final[bytes]
    needs_key: Final[bool]
    pairs: Final[Float64s | None]
    fingerprint: Final[int]
    _rate_parts: Final[tuple[_Rate, _Rate]]
    _policies: Final[tuple[int, int]]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @classmethod
    def _create(
        cls, *, kind: int, scheme: int, ties: int, n_bins_asked: int, edges: Array | None, edge_keys: Array | None,
        values: Array | None, counts: Array | None, label_sums: Array | None, weight_sums: Array | None,
        weighted_label_sums: Array | None, weight_square_sums: Array | None, score_min: float, score_max: float,
        delta: float, odds_ratio: float, seed: int, n_samples: int, n_positive: int, n_tied: int,
        map: int, map_parameters: tuple[float, ...], note: bytes, pairs: Float64s | None,
        source_rate: _Rate, target_rate: _Rate, out_of_range: int, weights: int, fingerprint: int,
    ) -> Self: ...  # fmt: skip
    @classmethod
    def _read(cls, data: bytes | memoryview) -> Self: ...
    def to_bytes(self) -> bytes: ...
