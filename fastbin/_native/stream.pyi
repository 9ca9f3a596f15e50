from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from fastbin._native.owner import ModelOwner
from fastbin._typing import Float64s, Int64s, UInt8s, UInt64s

_Owner = TypeVar("_Owner", bound=ModelOwner)

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
    def update_one(self, score: float, label: int | bool, key: int | None = None) -> int: ...
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
) -> bytes: ...
def read_monitor(data: bytes | bytearray | memoryview) -> dict[str, Any]: ...
