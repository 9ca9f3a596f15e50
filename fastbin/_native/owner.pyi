from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

__all__ = ["ModelOwner", "library_version", "status_text"]

_Array = npt.NDArray[Any]
_Float64s = npt.NDArray[np.float64]
_Int64s = npt.NDArray[np.int64]

def library_version() -> str: ...
def status_text(status: int) -> str: ...

@disjoint_base
class ModelOwner:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @classmethod
    def _create(
        cls,
        *,
        kind: int,
        scheme: int,
        ties: int,
        n_bins_asked: int,
        edges: _Array | None,
        edge_keys: _Array | None,
        values: _Array | None,
        counts: _Array | None,
        label_sums: _Array | None,
        weight_sums: _Array | None,
        weighted_label_sums: _Array | None,
        weight_square_sums: _Array | None,
        score_min: float,
        score_max: float,
        delta: float,
        odds_ratio: float,
        seed: int,
        n_samples: int,
        n_positive: int,
        n_tied: int,
        map: int,
        map_parameters: tuple[float, ...],
        note: bytes,
        pairs: _Float64s | None,
        source_rate: tuple[int, float, int, int],
        target_rate: tuple[int, float, int, int],
        out_of_range: int,
        weights: int,
        fingerprint: int,
    ) -> Self: ...
    @classmethod
    def _read(cls, data: bytes | memoryview) -> Self: ...
    def to_bytes(self) -> bytes: ...
    @property
    def pairs(self) -> _Float64s | None: ...
    @property
    def fingerprint(self) -> int: ...
    @property
    def _rate_parts(self) -> tuple[tuple[int, float, int, int], tuple[int, float, int, int]]: ...
    @property
    def _policies(self) -> tuple[int, int]: ...
    @property
    def edges(self) -> _Float64s: ...
    @property
    def edge_keys(self) -> npt.NDArray[np.uint64]: ...
    @property
    def values(self) -> _Float64s: ...
    @property
    def counts(self) -> _Int64s: ...
    @property
    def label_sums(self) -> _Int64s: ...
    @property
    def weight_sums(self) -> _Float64s: ...
    @property
    def weighted_label_sums(self) -> _Float64s: ...
    @property
    def weight_square_sums(self) -> _Float64s: ...
    @property
    def n_bins(self) -> int: ...
    @property
    def n_bins_asked(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_positive(self) -> int: ...
    @property
    def n_tied(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def delta(self) -> float: ...
    @property
    def odds_ratio(self) -> float: ...
    @property
    def needs_key(self) -> bool: ...
    @property
    def _codes(self) -> tuple[int, int, int, int]: ...
    @property
    def _map_parameters(self) -> tuple[float, ...]: ...
    @property
    def _score_limits(self) -> tuple[float, float]: ...
    @property
    def _note(self) -> bytes: ...
