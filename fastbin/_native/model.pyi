from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from fastbin._native.owner import ModelOwner

__all__ = ["EmptyCall", "NativeModel"]

_Array = npt.NDArray[Any]
_Float64s = npt.NDArray[np.float64]

@disjoint_base
class NativeModel(ModelOwner):
    def predict_one(self, score: float, key: int | None = None) -> float: ...
    def assign_one(self, score: float, key: int | None = None) -> int: ...
    def predict(
        self, scores: Any, *, keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> _Float64s: ...
    def assign(
        self, scores: Any, *, keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> npt.NDArray[np.int32]: ...
    def lookup(
        self, scores: Any, table: _Float64s, *, keys: Any = None, seed: int | None = None, nan: str = "error"
    ) -> _Float64s: ...
    def _coerce_rows(self, scores: Any, keys: Any) -> tuple[_Array, npt.NDArray[np.uint64] | None]: ...
    def _refuse_row(self, scores: _Array, position: int) -> None: ...
    def _refuse_score(self, score: float) -> None: ...

@disjoint_base
class EmptyCall:
    def predict_one(self, score: float, key: int | None = None) -> float: ...
