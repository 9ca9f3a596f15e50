"""Names for the types of arrays."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Int8s = npt.NDArray[np.int8]
UInt8s = npt.NDArray[np.uint8]
Int32s = npt.NDArray[np.int32]
UInt32s = npt.NDArray[np.uint32]
Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Float64s = npt.NDArray[np.float64]


class Series(Protocol):
    """A column of pandas or Polars: results about it are of its type. Tables and arrays have no name."""

    @property
    def name(self) -> Any: ...
    def to_numpy(self, *args: Any, **kwargs: Any) -> Any: ...


SeriesT = TypeVar("SeriesT", bound=Series)
