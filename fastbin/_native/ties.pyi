import numpy as np
import numpy.typing as npt

__all__ = ["cut_groups", "digest", "group_digest", "group_keys", "hash_key", "row_keys", "rows_digest", "split_keys"]

def digest(words: npt.NDArray[np.uint64]) -> int: ...
def group_digest(
    seed: int,
    scores: npt.NDArray[np.float64],
    below: npt.NDArray[np.int64],
    below_ones: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    ones: npt.NDArray[np.int64],
) -> int: ...
def rows_digest(
    seed: int, scores: npt.NDArray[np.float64], labels: npt.NDArray[np.uint8], weights: npt.NDArray[np.float64] | None = None
) -> int: ...
def group_keys(seed: int, scores: npt.NDArray[np.float64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]: ...
def split_keys(seed: int, scores: npt.NDArray[np.float64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]: ...
def hash_key(salt: bytes, message: bytes) -> int: ...
def row_keys(seed: int, n: int, first_row: int = 0) -> npt.NDArray[np.uint64]: ...
def cut_groups(
    seed: int,
    scores: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
    ones: npt.NDArray[np.int64],
    first_rank: npt.NDArray[np.int64],
    ranks: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
