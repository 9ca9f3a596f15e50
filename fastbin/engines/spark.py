"""Spark data frames, classic and Connect, asked in their own expressions: nothing has to be installed on the executors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastbin._typing import Array, Float64s
from fastbin.engines.frames import BOOLEAN, FLOAT, INTEGER, TEXT
from fastbin.engines.queries import spark_functions

KINDS = {
    "double": FLOAT, "float": FLOAT, "decimal": FLOAT, "tinyint": INTEGER, "smallint": INTEGER, "int": INTEGER,
    "bigint": INTEGER, "boolean": BOOLEAN, "string": TEXT,
}  # fmt: skip


class SparkFrame:
    """A data frame that is never collected: what comes back are groups."""

    # A partition sends no more than 1 MB to the others: 28 bytes for each cell and 20 for each score, as they are compressed.
    # More cells at first cost little and often save a query.
    least_cells = most_cells = 3 * 2**13
    value_limit = 3 * 2**14

    def __init__(self, frame: Any) -> None:
        self._frame, self._functions = frame, spark_functions(frame)

    def kinds(self) -> dict[str, str]:
        types = {field.name: field.dataType.simpleString() for field in self._frame.schema.fields}
        return {name: KINDS.get(kind.partition("(")[0], kind) for name, kind in types.items()}

    def column(self, name: str) -> Any:
        return self._functions.col("`" + name.replace("`", "``") + "`")

    def as_float(self, expression: Any) -> Any:
        return expression.cast("double")

    def floor(self, expression: Any) -> Any:
        return self.as_float(self._functions.floor(expression))  # a bigint, by itself

    def log(self, expression: Any) -> Any:
        return self._functions.log(expression)

    def clip(self, expression: Any, low: float, high: float) -> Any:
        functions = self._functions
        return functions.least(functions.greatest(expression, functions.lit(low)), functions.lit(high))

    def is_null(self, expression: Any) -> Any:
        return expression.isNull()

    def is_nan(self, expression: Any) -> Any:
        return self._functions.isnan(expression)

    def select(self, **columns: Any) -> SparkFrame:
        return SparkFrame(self._frame.select(*(column.alias(name) for name, column in columns.items())))

    def where(self, condition: Any) -> SparkFrame:
        return SparkFrame(self._frame.where(condition))

    def join(self, table: Mapping[str, Float64s], on: str) -> SparkFrame:
        session = self._frame.sparkSession
        if hasattr(self._frame, "toArrow"):  # from Spark 4 on
            import pyarrow

            small = session.createDataFrame(pyarrow.table(dict(table)))
        else:
            rows = list(zip(*(column.tolist() for column in table.values()), strict=True))
            small = session.createDataFrame(rows, ", ".join(f"`{name}` double" for name in table))
        # Without being told, Spark may shuffle all rows.
        return SparkFrame(self._frame.join(self._functions.broadcast(small), on))

    def groups(
        self, keys: Sequence[str], *, sums: Sequence[str] = (), ends: str | None = None, most: int | None = None
    ) -> dict[str, Array]:
        functions = self._functions
        columns = [functions.count(functions.lit(1)).alias("rows")]
        columns += [functions.sum(name).alias(name) for name in sums]
        if ends is not None:
            columns += [functions.min(ends).alias("low"), functions.max(ends).alias("high")]
        grouped = self._frame.groupBy(*keys).agg(*columns)
        if most is not None:
            grouped = grouped.limit(most)
        if hasattr(grouped, "toArrow"):
            answer = grouped.toArrow()
            return {name: answer.column(name).to_numpy() for name in answer.column_names}
        rows = grouped.collect()
        return {name: np.array([row[name] for row in rows]) for name in grouped.columns}
