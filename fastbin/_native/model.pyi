from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._native.owner import ModelOwner
from fastbin._typing import Float64s

class NativeModel(ModelOwner):
    def predict_one(self, score: float, key: int | None = None) -> float: ...
    def assign_one(self, score: float, key: int | None = None) -> int: ...
    def predict(
        self, scores: Any, *, keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> Float64s: ...
    def assign(
        self, scores: Any, *, keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> npt.NDArray[np.int32]: ...
    def lookup(
        self, scores: Any, table: Float64s, *, keys: Any = None, seed: int | None = None, nan: str = "error"
    ) -> Float64s: ...

class EmptyCall:
    def predict_one(self, score: float, key: int | None = None) -> float: ...
