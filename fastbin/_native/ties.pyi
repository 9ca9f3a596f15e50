import numpy as np
import numpy.typing as npt

__all__ = ["cut_groups", "group_keys", "row_keys", "split_keys"]

def group_keys(seed: int, scores: npt.NDArray[np.float64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]: ...
def split_keys(seed: int, scores: npt.NDArray[np.float64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]: ...
def row_keys(seed: int, n: int, first_row: int = 0) -> npt.NDArray[np.uint64]: ...
def cut_groups(
    seed: int,
    scores: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
    ones: npt.NDArray[np.int64],
    first_rank: npt.NDArray[np.int64],
    ranks: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...
