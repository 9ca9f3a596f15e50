"""Spark data frames, classic and Connect, asked in their own expressions: nothing has to be installed on the executors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastbin._base.array_types import Array
from fastbin._base.errors import InputTypeError
from fastbin.engines.arrays import Names
from fastbin.engines.frames import BOOLEAN, FLOAT, INTEGER, TEXT
from fastbin.engines.queries import SparkTable
from fastbin.engines.tables import ignores_case, is_frame, pyarrow
from fastbin.io.base import check_columns

KINDS = {
    "double": FLOAT, "float": FLOAT, "decimal": FLOAT, "tinyint": INTEGER, "smallint": INTEGER, "int": INTEGER,
    "bigint": INTEGER, "boolean": BOOLEAN, "string": TEXT,
}  # fmt: skip

# A partition sends no more than 1 MB to others: as they are compressed, a cell takes 31 bytes, and a score that is listed 14,
# or 17 among many intervals. The scores that a query lists come from all partitions together.
CELLS_OF_A_PARTITION, VALUES_OF_A_PARTITION, MOST_VALUES = 3 * 2**13, 13 * 2**12, 2**19


@dataclass
class _Known:
    """What answers tell of a table, for all frames made of it."""

    n_partitions: int = 1


class SparkFrame(SparkTable):
    """A data frame that is never collected: what comes back are groups."""

    # More cells at first cost little and often save a query.
    least_cells = most_cells = CELLS_OF_A_PARTITION

    def __init__(self, frame: Any, known: _Known | None = None) -> None:
        super().__init__(frame)
        self._known = _Known() if known is None else known

    @classmethod
    def of(cls, table: Any, names: Names) -> SparkFrame:
        """These columns of a data frame."""
        if not is_frame(table):
            raise InputTypeError(f"table is a {type(table).__name__} of pyspark; pass a DataFrame, or (session, query)")
        wanted = check_columns("the Spark frame", list(table.columns), names, ignores_case=ignores_case(table))
        return cls(table).plain(wanted, weight=names.weight)

    @property
    def value_limit(self) -> int:
        return min(MOST_VALUES, VALUES_OF_A_PARTITION * self._known.n_partitions)

    def kinds(self) -> dict[str, str]:
        types = self.full_types
        return {
            name: INTEGER if kind.endswith(",0)") else KINDS.get(kind.partition("(")[0], kind) for name, kind in types.items()
        }

    def column(self, name: str) -> Any:
        return self.functions.col(self.quoted(name))

    def as_float(self, expression: Any) -> Any:
        return expression.cast("double")

    def floor(self, expression: Any) -> Any:
        return self.as_float(self.functions.floor(expression))

    def as_key(self, expression: Any) -> Any:
        return self.functions.floor(expression)  # a bigint, also of NaN, which a cast refuses

    def log(self, expression: Any) -> Any:
        return self.functions.log(expression)

    def clip(self, expression: Any, low: float, high: float) -> Any:
        functions = self.functions
        return functions.least(functions.greatest(expression, functions.lit(low)), functions.lit(high))

    def is_null(self, expression: Any) -> Any:
        return expression.isNull()

    def is_nan(self, expression: Any) -> Any:
        return self.functions.isnan(expression)

    def select(self, **columns: Any) -> SparkFrame:
        return self._with(self.native.select(*(column.alias(name) for name, column in columns.items())))

    def where(self, condition: Any) -> SparkFrame:
        return self._with(self.native.where(condition))

    def join(self, table: Mapping[str, Array], on: str) -> SparkFrame:
        session, table = self.native.sparkSession, {**table, on: table[on].astype(np.int64)}
        if hasattr(self.native, "toArrow"):  # from Spark 4 on
            small = session.createDataFrame(pyarrow().table(dict(table)))
        else:
            rows = list(zip(*(column.tolist() for column in table.values()), strict=True))
            types = {name: "bigint" if column.dtype.kind == "i" else "double" for name, column in table.items()}
            small = session.createDataFrame(rows, ", ".join(f"`{name}` {kind}" for name, kind in types.items()))
        # Without being told, Spark may shuffle all rows.
        return self._with(self.native.join(self.functions.broadcast(small), on))

    def groups(
        self, keys: Sequence[str], *, sums: Sequence[str] = (), ends: str | None = None, most: int | None = None
    ) -> dict[str, Array]:
        functions, frame = self.functions, self.native
        columns = {"rows": functions.count(functions.lit(1)), **{name: functions.sum(name) for name in sums}}
        if ends is not None:
            frame = frame.withColumn("partition", functions.spark_partition_id())
            columns |= {"low": functions.min(ends), "high": functions.max(ends), "partition": functions.max("partition")}
        grouped = frame.groupBy(*keys).agg(*(column.alias(name) for name, column in columns.items()))
        answer = _collected(grouped if most is None else grouped.limit(most))
        self._known.n_partitions = max(self._known.n_partitions, 1 + int(answer.get("partition", np.empty(0)).max(initial=0)))
        return answer

    def _with(self, frame: Any) -> SparkFrame:
        return type(self)(frame, self._known)


def _collected(groups: Any) -> dict[str, Array]:
    """All rows of a small frame."""
    if hasattr(groups, "toArrow"):
        table = groups.toArrow()
        return {name: table.column(name).to_numpy() for name in table.column_names}
    rows = groups.collect()
    return {name: np.array([row[name] for row in rows]) for name in groups.columns}
