"""Predictions and outcomes as canonical counts: one table, which rows, batches, engines and tables of counts all become.

A row for each different (segment, grade, day, prediction), ascending, with the number of rows and of those with label 1.
Whatever is computed from it is the same for the same rows, whoever holds them and in whichever order.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.cells import Key, TextCells, as_cells
from fastbin._base.checks import (
    MOST_SAMPLES,
    check_same_length,
    check_sample_weight,
    refuse_first,
    too_many_samples,
)
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin._base.frames import check_same_index
from fastbin.assess.clusters import Agreement, agreement_of, one_per_cluster
from fastbin.assess.prediction_cells import CellCounts
from fastbin.assess.samples import COUNTS_ONLY, check_samples

KEYS = ("segment", "grade", "day")
ZONE_REMEDY = "give dates, or times without a zone"
# A text that is a time, and not a day.
TIME = re.compile(r"\d{4}-\d\d?-\d\d?[T ]\d")
# Rows of batches that wait to be merged with those before.
MOST_WAITING = 2**21


class NamedColumns(NamedTuple):
    """The names of the columns of a table that hold what is assessed."""

    prediction: str
    label: str
    segment: str | None = None
    grade: str | None = None
    day: str | None = None
    weight: str | None = None
    cluster: str | None = None

    def refuse_labels(self) -> None:
        """Refuse the labels as predictions of themselves."""
        if self.prediction == self.label:
            problem = f"is the column {self.label!r}, and so are the predictions, which it would confirm"
            raise InputError(problem, "name two columns", argument="label")

    @property
    def score(self) -> str:
        """The column of predictions, as other tables of names call it."""
        return self.prediction

    @property
    def keys(self) -> dict[str, str]:
        """The columns of keys that there are, by their contents."""
        return {name: column for name in KEYS if (column := getattr(self, name)) is not None}


@dataclass(frozen=True, eq=False)
class CanonicalCounts:
    """Canonical counts.

    `keys` has the different keys of each column that is there, ascending, integers or texts, and `codes` the number of that of
    each row. `are_means`: predictions are only the mean of each row's samples, which may differ among themselves. `clusters`
    says how the rows were chosen, where they are one of each cluster.
    """

    keys: dict[str, tuple[Key, ...]]
    codes: dict[str, Int64s]
    predictions: Float64s
    counts: Int64s
    ones: Int64s
    are_means: bool = False
    clusters: Agreement | None = None

    @property
    def n_samples(self) -> int:
        """Samples, frequencies counted."""
        return int(self.counts.sum())

    @property
    def n_ones(self) -> int:
        """Samples with label 1."""
        return int(self.ones.sum())

    @property
    def prediction_column(self) -> str:
        """The name of the column of predictions, which says whether they are means."""
        return "mean_prediction" if self.are_means else "prediction"

    def columns(self) -> dict[str, list[Any]]:
        """The counts as plain values by column."""
        shown: dict[str, list[Any]] = {}
        for name, keys in self.keys.items():
            shown[name] = [keys[code] for code in self.codes[name].tolist()]
        shown[self.prediction_column] = self.predictions.tolist()
        return {**shown, "n": self.counts.tolist(), "ones": self.ones.tolist()}

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hexadecimal of the counts, as docs/assessment.md says; the same wherever they were made."""
        head = {"kind": self.prediction_column, "keys": {name: list(keys) for name, keys in self.keys.items()}}
        made = hashlib.sha256(json.dumps(head, separators=(",", ":")).encode() + b"\n")
        for column in (*self.codes.values(), self.predictions, self.counts, self.ones):
            kind = "<f8" if column is self.predictions else "<i8"
            made.update(np.ascontiguousarray(column.astype(kind, copy=False)).data)
        return made.hexdigest()

    def groups(self, *by: str) -> Iterator[tuple[tuple[Key, ...], CanonicalCounts]]:
        """The keys and the counts of each group of these columns, ascending; their rows keep the canonical order."""
        code = self._code(by)
        order = None if (code[1:] >= code[:-1]).all() else np.argsort(code, kind="stable")
        code = code if order is None else code[order]
        starts = np.append(0, 1 + np.flatnonzero(code[1:] != code[:-1]))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(code)], strict=True):
            rows: Any = slice(start, end) if order is None else order[start:end]
            first = start if order is None else int(order[start])
            own = CanonicalCounts({}, {}, self.predictions[rows], self.counts[rows], self.ones[rows], self.are_means)
            yield tuple(self.keys[name][int(self.codes[name][first])] for name in by), own

    def _code(self, by: Iterable[str]) -> Int64s:
        """One number for each row, which ascends with the keys of these columns."""
        return _joint(len(self.counts), [(self.codes[name], len(self.keys[name])) for name in by])

    def cells(self) -> CellCounts:
        """The different predictions, ascending, whatever the keys; where only means are known, one cell with that of all."""
        if self.are_means:
            return CellCounts(np.array([self.mean]), np.array([self.n_samples]), np.array([self.n_ones]))
        own = CellCounts(self.predictions, self.counts, self.ones)
        return own if (np.diff(self.predictions) > 0).all() else CellCounts.pooled([own])

    @property
    def mean(self) -> float:
        """The mean prediction, by sums in the canonical order; exactly the prediction where there is only one."""
        if self.predictions[0] == self.predictions.min() == self.predictions.max():
            return float(self.predictions[0])
        return float((self.predictions * self.counts).sum() / self.counts.sum())


def _joint(n: int, parts: Iterable[tuple[Int64s, int]]) -> Int64s:
    code, most = np.zeros(n, np.int64), 1
    for own, size in parts:
        if most * size > 2**62:
            raise InputError(f"there are more than 2**62 combinations of keys ({most:,} x {size:,})", "leave a column out")
        code, most = code * size + own, most * size
    return code


def _ascending_order(codes: Int64s, predictions: Float64s) -> Int64s:
    """Rows by code and prediction, equal ones in any order. Few codes are sorted one by one, by vector instructions."""
    most = int(codes.max(initial=0))
    if most == 0:
        return np.argsort(predictions)
    if most >= min(2**15, len(codes) // 64):
        return np.lexsort((predictions, codes))
    order = np.argsort(codes.astype(np.int16), kind="stable")
    ends = np.cumsum(np.bincount(codes))
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        rows = order[start:end]
        order[start:end] = rows[np.argsort(predictions[rows])]
    return order


class _CodedRows(NamedTuple):
    """Rows, or groups of equal rows: arrays of one length."""

    codes: dict[str, Int64s]  # the number of the key in each column of keys
    predictions: Float64s
    counts: Int64s
    ones: Int64s

    @classmethod
    def joined(cls, parts: Sequence[_CodedRows]) -> _CodedRows:
        """The rows of all parts, one part after the other."""
        codes = {name: np.concatenate([part.codes[name] for part in parts]) for name in parts[0].codes}
        return cls(codes, *(np.concatenate(column) for column in zip(*(part[1:] for part in parts), strict=True)))

    def take(self, chosen: Any) -> _CodedRows:
        """Some of the rows."""
        codes = {name: own[chosen] for name, own in self.codes.items()}
        return _CodedRows(codes, self.predictions[chosen], self.counts[chosen], self.ones[chosen])

    def merged(self) -> _CodedRows:
        """Equal rows as one, in ascending order. O(n log n)."""
        code = _joint(len(self.counts), ((own, 1 + int(own.max(initial=0))) for own in self.codes.values()))
        order = _ascending_order(code, self.predictions)
        code, predictions = code[order], self.predictions[order]
        differs = np.append(True, (code[1:] != code[:-1]) | (predictions[1:] != predictions[:-1]))[: len(order)]
        if differs.all():
            return self.take(order)
        starts = np.flatnonzero(differs)
        counts, ones = (np.add.reduceat(column[order], starts) for column in (self.counts, self.ones))
        return self.take(order[starts])._replace(counts=counts, ones=ones)


@dataclass
class Tallying:
    """Canonical counts that batches of rows are added to."""

    names: tuple[str, ...]  # of the columns of keys, in the order of `KEYS`
    are_means: bool = False
    _numbers: dict[str, dict[str, int]] = field(default_factory=dict)  # of each text, by column
    _parts: list[_CodedRows] = field(default_factory=list)  # each merged
    _n_waiting: int = 0  # rows that were added since all parts became one

    def add(self, keys: Mapping[str, TextCells], predictions: Float64s, ones: Int64s, counts: Int64s) -> None:
        """Add rows, or groups of rows."""
        codes = {}
        for name in self.names:
            numbers = self._numbers.setdefault(name, {})
            own = np.array([numbers.setdefault(text, len(numbers)) for text in keys[name].texts], np.int64)
            codes[name] = own[keys[name].codes] if len(own) else np.empty(0, np.int64)
        self._parts.append(_CodedRows(codes, predictions + 0.0, counts, ones).merged())
        self._n_waiting += len(self._parts[-1].counts)
        if self._n_waiting > max(MOST_WAITING, 2 * len(self._parts[0].counts)):
            self._parts = [_CodedRows.joined(self._parts).merged()]
            self._n_waiting = 0

    def counts(self) -> CanonicalCounts:
        """All that was added, as canonical counts; InputError where nothing was."""
        if not any(len(part.counts) for part in self._parts):
            raise InputError("no sample to assess was given")
        rows = _CodedRows.joined(self._parts)
        if not (rows.counts > 0).all():
            rows = rows.take(rows.counts > 0)
        if len(rows.counts) == 0:
            raise InputError("no sample of positive weight to assess was given")
        if float(rows.counts.sum(dtype=np.float64)) > MOST_SAMPLES:
            raise too_many_samples("n")
        keys, codes = {}, {}
        for name, own in rows.codes.items():
            keys[name], codes[name] = _ascending(list(self._numbers[name]), own)
        return CanonicalCounts(keys, *rows._replace(codes=codes).merged(), self.are_means)


def _ascending(texts: list[str], codes: Int64s) -> tuple[tuple[Key, ...], Int64s]:
    """The keys that occur, ascending, and the number of that of each row: integers if all are written as Python writes them.

    So a column has the same keys whether it comes as integers, as text, or from a CSV file.
    """
    from fastbin.tables.columns import is_integer

    seen = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    present = [texts[code] for code in seen.tolist()]
    found: list[Any] = list(map(int, present)) if all(map(is_integer, present)) else present
    order = sorted(range(len(found)), key=found.__getitem__)
    numbers = np.zeros(len(texts), np.int64)
    numbers[seen[order]] = np.arange(len(order))
    return tuple(found[at] for at in order), numbers[codes]


@dataclass
class RowsOfClusters:
    """Rows, of which one of each cluster becomes canonical counts: they are kept until all are there. O(rows) memory."""

    names: tuple[str, ...]
    seed: int
    _numbers: dict[str, int] = field(default_factory=dict)  # of each cluster
    _parts: list[tuple[Mapping[str, TextCells], Float64s, Int64s]] = field(default_factory=list)

    def add(self, keys: Mapping[str, TextCells], predictions: Float64s, ones: Int64s, counts: Int64s) -> None:
        """Add rows; `keys` have those of the clusters, too."""
        refuse_first(counts != 1, "sample_weight", counts, "repeat such rows in their cluster, and leave weights out")
        self._parts.append((keys, predictions, ones))

    def counts(self) -> CanonicalCounts:
        """The counts of one row of each cluster; a warning where rows of a cluster agree."""
        clusters, start, made = self._codes(), 0, Tallying(self.names)
        chosen = one_per_cluster(clusters, self.seed)
        gaps = np.concatenate([ones - predictions for _, predictions, ones in self._parts])
        agreement = agreement_of(gaps, clusters, self.seed)
        agreement.warn(stacklevel=4)
        for keys, predictions, ones in self._parts:
            rows = chosen[slice(*np.searchsorted(chosen, (start, start + len(ones))))] - start
            own = {name: TextCells(keys[name].texts, keys[name].codes[rows]) for name in self.names}
            made.add(own, predictions[rows], ones[rows].astype(np.int64), np.ones(len(rows), np.int64))
            start += len(ones)
        return replace(made.counts(), clusters=agreement)

    def _codes(self) -> Int64s:
        """The number of the cluster of each row."""
        if not self._parts:
            raise InputError("no sample to assess was given")
        found = []
        for keys, _, _ in self._parts:
            own = [self._numbers.setdefault(text, len(self._numbers)) for text in keys["cluster"].texts]
            found.append(np.array(own, np.int64)[keys["cluster"].codes])
        return np.concatenate(found)


# ------------------------------------------------------------------------------------------------- from arrays


def as_texts(column: Any, name: str) -> TextCells:
    """A column of keys, checked, as texts; dates as YYYY-MM-DD."""
    cells = as_cells(_as_days(column) if name == "day" else column, name)
    if isinstance(cells, TextCells):
        return cells
    different, codes = np.unique(cells, return_inverse=True)
    return TextCells(list(map(str, different.tolist())), codes.astype(np.int32))


def _as_days(column: Any) -> Any:
    """A column of dates, or of times without a zone, as texts; any other as it is."""
    dtype, entries = getattr(column, "dtype", None), list[Any]()
    if isinstance(column, (list, tuple)) or getattr(dtype, "kind", "") == "O":
        entries = list(column)
    zones = (time.tzinfo for time in entries if isinstance(time, datetime.datetime))
    zone = next((f"times in {each}" for each in zones if each is not None), None)
    zoned = zone if getattr(dtype, "tz", None) is None else str(dtype)
    if zoned is not None:
        raise InputTypeError(f"holds {zoned}, whose day depends on the zone", ZONE_REMEDY, argument="day")
    are_dates = bool(entries) and isinstance(entries[0], datetime.date)
    if getattr(dtype, "kind", "") != "M" and not are_dates:
        return column
    for at, entry in enumerate(entries):
        if not isinstance(entry, datetime.date):
            raise InputTypeError(f"is {entry!r}, and day[0] is a date", "give dates throughout", argument="day", at=at)
    days = np.asarray(entries or np.asarray(column), "M8[D]")
    refuse_first(np.isnat(days), "day", days, "give every row a day")
    return np.datetime_as_string(days).astype(object)


def refuse_times(days: TextCells) -> None:
    """Refuse texts that are times: each would be a day of its own."""
    bad = np.array([TIME.match(text) is not None for text in days.texts] or [False])[days.codes]
    refuse_first(
        bad, "day", days.codes, "write days, such as 2026-01-31", lambda row: f"is the time {days.texts[days.codes[row]]!r}"
    )


def count_arrays(
    predictions: Any, labels: Any, keys: Mapping[str, Any], *, sample_weight: Any = None, positive: Any = None, seed: int = 0
) -> CanonicalCounts:
    """The counts of rows in memory; `keys` are the columns of "segment", "grade", "day" and "cluster", None where none is."""
    given = {CALLED.get(name, name): column for name, column in keys.items() if column is not None}
    check_same_index(predictions=predictions, labels=labels, sample_weight=sample_weight, **given)
    texts = {name: as_texts(column, CALLED.get(name, name)) for name, column in keys.items() if column is not None}
    names = tuple(name for name in KEYS if name in texts)
    made = RowsOfClusters(names, seed) if "cluster" in texts else Tallying(names)
    add_rows(made, texts, predictions, labels, sample_weight, positive)
    return made.counts()


# What the arguments of `assess` are called that hold keys.
CALLED = {"grade": "by"}


def add_rows(
    made: Tallying | RowsOfClusters,
    texts: Mapping[str, TextCells],
    predictions: Any,
    labels: Any,
    sample_weight: Any,
    positive: Any = None,
) -> None:
    """Check rows of predictions and labels, and add them."""
    if "day" in texts:
        refuse_times(texts["day"])
    samples, weights = check_samples(predictions, labels, positive=positive), check_sample_weight(sample_weight)
    lengths = {CALLED.get(name, name): own.codes for name, own in texts.items()}
    check_same_length(labels=samples.labels, sample_weight=weights, **lengths)
    if weights is not None and weights.dtype == np.float64:
        raise GuaranteeError(COUNTS_ONLY)
    counts = np.ones(len(samples.labels), np.int64) if weights is None else weights.astype(np.int64, copy=False)
    made.add(texts, samples.predictions, samples.labels * counts, counts)
