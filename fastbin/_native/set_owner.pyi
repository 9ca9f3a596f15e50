from typing import Any, Final

from typing_extensions import Self, disjoint_base

from fastbin._typing import Float64s, Int32s, Int64s, UInt64s

def check_flat(
    n_bins_each: Any, ties: Any, edges: Any, edge_keys: Any, values: Any, counts: Any, label_sums: Any, tie_counts: Any
) -> None: ...

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
        unknown: int = 0, pool: int = -1, columns: Int32s | None = None, provenance: bytes = b"",
    ) -> None: ...  # fmt: skip
    @classmethod
    def _create_flat(
        cls, keys: Int64s | list[str], model_of_key: Int32s | None, n_bins_each: Int64s, *, edges: Float64s, edge_keys: UInt64s,
        values: Float64s, counts: Int64s, label_sums: Int64s, tie_counts: Int64s | None, ties: Int32s, n_bins_asked: Int64s,
        n_samples: Int64s, n_positive: Int64s, n_tied: Int64s, fingerprints: UInt64s, scheme: int, seed: int, score_min: float,
        score_max: float, out_of_range: int, edges_share: float, kind: int = 0, unknown: int = 0, pool: int = -1,
        columns: Int32s | None = None, event: bytes = b"", provenance: bytes = b"",
    ) -> Self: ...  # fmt: skip
    def _read_into(self, data: bytes | memoryview) -> None: ...
    def to_bytes(self) -> bytes: ...
    def _model(self, number: int, model_class: Any) -> Any: ...
