from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from fastbin._native.owner import ModelOwner
from fastbin._typing import Float64s, Int64s, SeriesT, UInt64s

@disjoint_base
class NativeModel(ModelOwner):
    def predict_one(self, score: float, key: int | None = None) -> float: ...
    def assign_one(self, score: float, key: int | None = None) -> int: ...
    @overload
    def predict(
        self, scores: SeriesT, *, keys: Any = None, seed: int | None = None, out: None = None, nan: str = "error"
    ) -> SeriesT: ...
    @overload
    def predict(
        self, scores: Any, *, keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> Float64s: ...
    def assign(
        self, scores: Any, *, keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> npt.NDArray[np.int32]: ...
    def lookup(
        self, scores: Any, table: Float64s, *, keys: Any = None, seed: int | None = None, nan: str = "error"
    ) -> Float64s: ...
    def step_one(self, score: float, key: int | None = None) -> int: ...
    def step(
        self, scores: Any, *, keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> npt.NDArray[np.int32]: ...
    event: Final[str]
    _provenance: Final[bytes]
    def _with_texts(self, event: bytes, provenance: bytes) -> Self: ...
    has_steps: Final[bool]
    first_step: Final[Int64s]
    bin_edges: Final[Float64s]
    bin_edge_keys: Final[UInt64s]
    bin_values: Final[Float64s]

def draw_labels(digest: int, scores: Any, counts: Any, ones: Any, chosen: Any) -> tuple[Int64s, Int64s]: ...

class EmptyCall:
    def predict_one(self, score: float, key: int | None = None) -> float: ...
