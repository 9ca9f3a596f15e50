from typing import Any, Final, TypeVar, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from fastbin._base.array_types import Array, Float64s, Int32s, Int64s, SeriesT, UInt8s, UInt64s

_Rate = tuple[int, float, int, int]
_Decision = tuple[float, float, bytes]

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
    atom_counts: Final[Int64s | None]
    pool_counts: Final[Int64s | None]
    population_counts: Final[Int64s | None]
    sampling_rate: Final[float]
    _decision: Final[_Decision]
    edges_share: Final[float]
    clip: Final[float]
    knots: Final[Float64s | None]
    slice_cuts: Final[Float64s | None]
    slice_label_sums: Final[Int64s | None]
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
        edges_share: float = 0.0, clip: float = 0.0, knots: Array | None = None, slice_cuts: Array | None = None,
        slice_label_sums: Array | None = None, atom_counts: Array | None = None, event: bytes = b"", provenance: bytes = b"",
        sampling_rate: float = 0.0, pool_counts: Array | None = None, population_counts: Array | None = None,
        decision: _Decision = ..., for_set: bool = False,
    ) -> Self: ...  # fmt: skip
    def _read_into(self, data: bytes | memoryview) -> None: ...
    def to_bytes(self) -> bytes: ...

_Owner = TypeVar("_Owner", bound=ModelOwner)

@disjoint_base
class NativeModel(ModelOwner):
    def predict_one(self, score: float, tie_key: int | None = None) -> float: ...
    def assign_one(self, score: float, tie_key: int | None = None) -> int: ...
    def decide_one(self, score: float) -> int: ...
    @overload
    def decide(self, scores: SeriesT, *, nan: str = "error") -> SeriesT: ...
    @overload
    def decide(self, scores: Any, *, nan: str = "error") -> npt.NDArray[np.int8]: ...
    @overload
    def predict(
        self, scores: SeriesT, *, tie_keys: Any = None, seed: int | None = None, out: None = None, nan: str = "error"
    ) -> SeriesT: ...
    @overload
    def predict(
        self, scores: Any, *, tie_keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> Float64s: ...
    def assign(
        self, scores: Any, *, tie_keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> npt.NDArray[np.int32]: ...
    def lookup(
        self, scores: Any, table: Float64s, *, tie_keys: Any = None, seed: int | None = None, nan: str = "error"
    ) -> Float64s: ...
    def _predict_by(self, scores: Any, keys: UInt64s | None) -> Float64s: ...
    def _assign_by(self, scores: Any, keys: UInt64s | None) -> npt.NDArray[np.int32]: ...
    def step_one(self, score: float, tie_key: int | None = None) -> int: ...
    def step(
        self, scores: Any, *, tie_keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> npt.NDArray[np.int32]: ...
    event: Final[str]
    _provenance: Final[bytes]
    def _with_texts(self, event: bytes, provenance: bytes, for_set: bool = False) -> Self: ...
    has_steps: Final[bool]
    first_step: Final[Int64s]
    bin_edges: Final[Float64s]
    bin_edge_keys: Final[UInt64s]
    bin_values: Final[Float64s]

@disjoint_base
class SetOwner:
    n_models: Final[int]
    event: Final[str]
    _provenance: Final[bytes]
    _codes: Final[tuple[int, int, int]]
    _pool: Final[int]
    _int_keys: Final[Int64s | None]
    _text_keys: Final[list[str] | None]
    _model_of_key: Final[Int32s]
    _columns: Final[Int32s | None]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def _fill(
        self, models: list[Any], keys: Int64s | list[str], model_of_key: Int32s | None = None, *, kind: int = 0,
        unknown: int = 0, pool: int = -1, columns: Int32s | None = None, provenance: bytes = b"", vector: Any = None,
    ) -> None: ...  # fmt: skip
    @classmethod
    def _create_flat(
        cls, keys: Int64s | list[str], model_of_key: Int32s | None, n_bins_each: Int64s, *, edges: Float64s, edge_keys: UInt64s,
        values: Float64s, counts: Int64s, label_sums: Int64s, tie_counts: Int64s | None, atom_counts: Int64s | None,
        ties: Int32s, n_bins_asked: Int64s, n_samples: Int64s, n_positive: Int64s, n_tied: Int64s, fingerprints: UInt64s,
        n_slices_each: Int64s, slice_cuts: Float64s, slice_label_sums: Int64s, scheme: int, seed: int, score_min: float,
        score_max: float, out_of_range: int, edges_share: float, kind: int = 0, unknown: int = 0, pool: int = -1,
        columns: Int32s | None = None, event: bytes = b"", provenance: bytes = b"",
    ) -> Self: ...  # fmt: skip
    def _read_into(self, data: bytes | memoryview) -> None: ...
    def to_bytes(self) -> bytes: ...
    def _model(self, number: int, model_class: Any) -> Any: ...

@disjoint_base
class NativeModelSet(SetOwner):
    def _find_one(self, cell: Any) -> int: ...
    def _find(self, cells: Any) -> Int32s: ...
    def predict_one(self, score: float, cell: int | str, tie_key: int | None = None) -> float: ...
    def _predict(self, numbers: Int32s, scores: Any, keys: Any, seed: int | None, out: Any, nan: str) -> Float64s: ...
    def _assign(self, numbers: Int32s, scores: Any, keys: Any, seed: int | None, nan: str) -> Int32s: ...
    def _predict_by(self, numbers: Int32s, scores: Any, keys: UInt64s | None) -> Float64s: ...
    def _assign_by(self, numbers: Int32s, scores: Any, keys: UInt64s | None) -> Int32s: ...

class NativeVectorModel(SetOwner):
    _vector: Final[dict[str, Any]]
    def _predict(self, matrix: Float64s, out: Float64s) -> None: ...

@disjoint_base
class NativeStream:
    counts: Final[Int64s]
    label_sums: Final[Int64s]
    running_variances: Final[Float64s | None]
    n_bins: Final[int]
    n_samples: Final[int]
    seed: Final[int]
    def _begin(self, model: ModelOwner, with_tally: bool) -> None: ...
    def _resume(self, data: bytes | memoryview) -> None: ...
    def to_bytes(self) -> bytes: ...
    def _partition(self, cls: type[_Owner]) -> _Owner: ...
    def _snapshot(self, cls: type[_Owner]) -> _Owner: ...
    def update_one(self, score: float, label: int | bool, tie_key: int | None = None) -> int: ...
    def _update(
        self, scores: npt.NDArray[np.floating[Any]], labels: UInt8s, keys: UInt64s | None, seed: int | None
    ) -> npt.NDArray[np.int32]: ...
    def _merge(self, data: bytes) -> None: ...
    def tally(self) -> tuple[Int64s, Int64s, Float64s | None]: ...

def write_monitor(
    stream: NativeStream,
    *,
    alpha: float,
    interval_alpha: float,
    tolerated: Float64s,
    max_log_mean: float,
    alarm_at: int,
    max_log_e: Float64s,
    named_at: Int64s,
    seen: bytes,
    grid: Float64s | None = None,
    class_bins: Int64s | None = None,
    start_at: Int64s | None = None,
    start_weights: Float64s | None = None,
    start_counts: Int64s | None = None,
    start_ones: Int64s | None = None,
) -> bytes: ...
def evidence_in_counts(factors: Float64s, counts: Int64s, ones: Int64s) -> Float64s: ...
def evidence_of_starts(own: Float64s, log_pooled: Float64s) -> Float64s: ...
def follow_starts(
    bins: Int32s,
    labels: Int64s,
    own_factors: Float64s,
    pooled_factors: Float64s,
    class_of_bin: Int32s,
    n_classes: int,
    counts: Int64s,
    ones: Int64s,
    own: Float64s,
    log_pooled: Float64s,
    shares: Float64s,
) -> Float64s: ...
def read_monitor(data: bytes | bytearray | memoryview) -> dict[str, Any]: ...
