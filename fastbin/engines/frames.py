"""Rows in an engine, and the few things that queries are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from fastbin._base.array_types import Array

# What a column holds, where a fit can use it.
FLOAT, INTEGER, BOOLEAN, TEXT = "real numbers", "integers", "booleans", "text"


class Frame(Protocol):
    """A table that is never read here. Expressions are the engine's own, and know + - * == > >= <= & | between themselves.

    There is no conditional expression and no cast but to float: not all engines have the others for columns of any kind.
    """

    least_cells: int  # of the first query, whatever a fit wishes for
    most_cells: int  # of one query

    @property
    def value_limit(self) -> int:
        """The most rows whose scores one query may ask for."""

    def kinds(self) -> dict[str, str]:
        """What each column holds: one of the four words above, or the engine's own for anything else."""

    def column(self, name: str) -> Any: ...
    def as_float(self, expression: Any) -> Any: ...
    def floor(self, expression: Any) -> Any: ...

    def as_key(self, expression: Any) -> Any:
        """A whole number, as the type that the engine groups and joins by fastest; anything where it is NaN."""

    def log(self, expression: Any) -> Any: ...
    def clip(self, expression: Any, low: float, high: float) -> Any: ...
    def is_null(self, expression: Any) -> Any: ...
    def is_nan(self, expression: Any) -> Any: ...

    def select(self, **columns: Any) -> Frame: ...
    def where(self, condition: Any) -> Frame: ...

    def join(self, table: Mapping[str, Array], on: str) -> Frame:
        """All columns of the rows that have the same key as a row of a small table, beside all columns of that."""

    def groups(
        self, keys: Sequence[str], *, sums: Sequence[str] = (), ends: str | None = None, most: int | None = None
    ) -> dict[str, Array]:
        """GROUP BY: the keys (NULL is one), "rows", the sums, and the "low" and "high" end of a column, in any order.

        Not more than `most` groups, any of them, where that is given.
        """
