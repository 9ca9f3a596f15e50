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
    n_steps: Final[int]
    step_counts: Final[Int64s | None]
    unlabelled_counts: Final[Int64s | None]
    tie_counts: Final[Int64s | None]
    edges_share: Final[float]
    clip: Final[float]
    knots: Final[Float64s | None]
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
        cls, *, edges: Array | None, values: Array | None, edge_keys: Array | None = None, counts: Array | None = None,
        label_sums: Array | None = None, weight_sums: Array | None = None, weighted_label_sums: Array | None = None,
        weight_square_sums: Array | None = None, pairs: Float64s | None = None, kind: int = 0, scheme: int = 0, ties: int = 0,
        n_bins_asked: int = 0, score_min: float = ..., score_max: float = ..., delta: float = 0.0, odds_ratio: float = 1.0,
        seed: int = 0, n_samples: int = 0, n_positive: int = 0, n_tied: int = 0, map: int = 0,
        map_parameters: tuple[float, ...] = (), note: bytes = b"", source_rate: _Rate = ..., target_rate: _Rate = ...,
        out_of_range: int = 0, weights: int = 0, fingerprint: int = 0, first_step: Array | None = None,
        step_counts: Array | None = None, unlabelled_counts: Array | None = None, tie_counts: Array | None = None,
        edges_share: float = 0.0, clip: float = 0.0, knots: Array | None = None,
        event: bytes = b"", provenance: bytes = b"",
    ) -> Self: ...  # fmt: skip
    def _read_into(self, data: bytes | memoryview) -> None: ...
    def to_bytes(self) -> bytes: ...
