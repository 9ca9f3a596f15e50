from typing import Any

from fastbin._typing import Int64s

def bins_of_groups(
    placing: tuple[Any, ...], ranks: Int64s, everyone: tuple[Any, ...], n_tied: int, leaves_out: bool, digest: int
) -> tuple[Int64s, Int64s, Int64s, Int64s]: ...
