"""Rows counted by bin with GROUP BY: the engine places a row by the SQL of the bin, and a row for each bin comes back."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from fastbin._base.checks import SAY_POSITIVE
from fastbin._base.errors import InputTypeError
from fastbin.engines.counting import Asked, Counter, Partition, Tally, pool_of
from fastbin.engines.faults import real_weights
from fastbin.engines.queries import (
    BOOLEANS,
    NUMBERS,
    TEXTS,
    Columns,
    SqlTable,
    check_types,
    is_whole,
    sql_table,
    with_answer,
)
from fastbin.engines.scoring import KEY_DIGITS, NO_KEY, NO_SCORE, OUTSIDE, UNKNOWN, models_of
from fastbin.export.form import limits_of
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

# Values of these types, in full, are made of others.
_NESTED = re.compile(r"\[\d*\]$|^(STRUCT|MAP|UNION|array<|struct<|map<|variant)")

# What a label is beside 0 and 1.
NO_LABEL, NAN_LABEL, STRANGE = -1, -2, 2


class _Group(NamedTuple):
    """One row of an answer; its fields are the columns, in this order."""

    by: Any
    cell: Any  # of a set, where there is a bin
    bin: int | None  # within its own model
    reason: int
    label: int
    n_rows: int
    samples: Any  # an integer, of the engine's own type
    weight_missing: int
    weight_negative: int
    least: Any  # label, where it is no 0 or 1
    greatest: Any


class _Rows(NamedTuple):
    """Rows in an engine, whose columns are called by what they hold."""

    table: SqlTable  # with the columns c_score, c_label, c_weight, c_cell, c_key, c_by, as far as there are any
    asked: Asked

    @classmethod
    def of(cls, table: SqlTable, partition: Partition, asked: Asked) -> _Rows:
        """The columns that are asked for, of types that no cast makes something else of."""
        full, kinds = table.full_types, table.types
        if asked.weight is not None and not is_whole(full[asked.weight]):
            raise real_weights(asked.weight, full[asked.weight])
        if asked.by is not None and _NESTED.search(full[asked.by]):
            raise InputTypeError(f"{asked.by} holds {full[asked.by]}, whose values are not compared; cast the column to text")
        if asked.label is not None and asked.positive is None and kinds[asked.label] not in (*NUMBERS, *BOOLEANS):
            problem = f"is {asked.label!r}, a column of type {kinds[asked.label]}"
            raise InputTypeError(problem, SAY_POSITIVE, argument="label", value=asked.label)
        table = table.plain(dict.fromkeys(asked.columns.values()), weight=asked.weight)
        check_types(table, partition, Columns(asked.score, asked.cell, asked.key))
        return cls(table.selected({f"c_{name}": table.quoted(column) for name, column in asked.columns.items()}), asked)

    def placed(self, partition: Partition) -> _Rows:
        """With the column c_bin of what `fastbin.export` gives as the bin."""
        cell, key = (f"c_{name}" if name in self.asked.columns else None for name in ("cell", "key"))
        columns = Columns("c_score", cell, key if _compares_keys(partition) else None)
        return self._replace(table=with_answer(self.table, partition, columns, "bin", "c_bin"))

    def in_unknown_cells(self) -> _Rows:
        """Of placed rows those that a pool scores and no cell; without their bins."""
        names = [name for name in self.table.types if name != "c_bin"]
        return self._replace(table=self.table.filtered("c_bin = -1").selected({name: name for name in names}))

    def groups(self, partition: Partition) -> list[_Group]:
        """Placed rows, counted."""
        asked = self.asked
        has_weight, has_label = asked.weight is not None, asked.label is not None
        weight = "CAST(c_weight AS DECIMAL(38, 0))" if has_weight else "1"
        expressions = {
            "g_by": "c_by" if asked.by is not None else "0",
            "g_cell": "CASE WHEN c_bin >= 0 THEN c_cell END" if asked.cell is not None else "0",
            "g_bin": "c_bin",
            "g_reason": self._reason(partition),
            "g_label": self._label() if has_label else "0",
            "weight": weight,
            "label": "c_label" if has_label else "0",
        }
        usual = f"g_label IN (1, {0 if asked.positive is None else STRANGE})"
        sums = {
            "n_rows": "count(*)",
            "samples": "sum(CASE WHEN weight > 0 THEN weight ELSE 0 END)" if has_weight else "count(*)",
            "weight_missing": "sum(CASE WHEN weight IS NULL THEN 1 ELSE 0 END)",
            "weight_negative": "sum(CASE WHEN weight < 0 THEN 1 ELSE 0 END)",
            "least": f"min(CASE WHEN NOT {usual} THEN label END)",
            "greatest": f"max(CASE WHEN NOT {usual} THEN label END)",
        }
        keys = [name for name in expressions if name.startswith("g_")]
        return [_Group(*row) for row in self.table.selected(expressions).groups_of(keys, sums)]

    def _reason(self, partition: Partition) -> str:
        """Why a row has no bin; 0 where it has."""
        words = self.table.words
        score = words.cast("c_score")
        lows, highs, _ = zip(*map(limits_of, models_of(partition)), strict=True)
        inside = f"{score} >= {words.number(min(lows))} AND {score} <= {words.number(max(highs))}"
        cases = ["WHEN c_bin IS NOT NULL THEN 0", f"WHEN {score} IS NULL OR isnan({score}) THEN {NO_SCORE}"]
        if _compares_keys(partition) and self.asked.key is not None:
            kind = self.table.types["c_key"]
            bad = f" OR length(c_key) <> {KEY_DIGITS} OR c_key <> lower(c_key)" if kind in TEXTS else ""
            cases.append(f"WHEN {inside} AND (c_key IS NULL{bad}) THEN {NO_KEY}")
        if isinstance(partition, ModelSet):
            cases.append(f"WHEN {inside} THEN {UNKNOWN}")
        return f"CASE {' '.join(cases)} ELSE {OUTSIDE} END"

    def _label(self) -> str:
        words, positive = self.table.words, self.asked.positive
        if positive is None:
            label = words.cast("c_label")
            return (
                f"CASE WHEN {label} = 1 THEN 1 WHEN {label} = 0 THEN 0 WHEN {label} IS NULL THEN {NO_LABEL} "
                f"WHEN isnan({label}) THEN {NAN_LABEL} ELSE {STRANGE} END"
            )
        one, kind = self.table.literal(positive), self.table.types["c_label"]
        # Engines would cast one of them, and fail where they cannot.
        if kind in ((*NUMBERS, *BOOLEANS) if isinstance(positive, str) else TEXTS):
            return f"CASE WHEN c_label IS NULL THEN {NO_LABEL} ELSE 0 END"
        return f"CASE WHEN c_label = {one} THEN 1 WHEN c_label IS NULL THEN {NO_LABEL} ELSE 0 END"


def count_by_sql(table: Any, partition: Partition, asked: Asked) -> Tally:
    """The counts of a relation of DuckDB or a frame of Spark: one query; two, where a set scores cells it does not know."""
    counter = Counter(partition, asked)
    rows = _Rows.of(sql_table(table), partition, asked).placed(partition)
    groups = rows.groups(partition)
    first = {} if isinstance(partition, BinnedModel) else _first_bins(partition, groups)
    known = [group for group in groups if group.bin != -1]
    counter.add_groups((group, first.get(group.cell, 0)) for group in known)
    if len(known) < len(groups):
        pool = pool_of(partition)
        strange = rows.in_unknown_cells().placed(pool).groups(pool)
        counter.add_groups((group, partition.n_bins) for group in strange)
    return counter.tally()


def _first_bins(models: ModelSet, groups: list[_Group]) -> dict[Any, int]:
    """The number of the first bin of each cell that holds rows."""
    cells = list(dict.fromkeys(group.cell for group in groups if group.cell is not None))
    return dict(zip(cells, models.first_bin[models.find(cells)].tolist(), strict=True)) if cells else {}


def _compares_keys(partition: Partition) -> bool:
    return any(own.needs_key for own in models_of(partition))
