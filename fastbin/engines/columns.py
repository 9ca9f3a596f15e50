"""Which columns of a table a fit reads, which two values its labels have, and which of its rows are bad."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._base.checks import MOST_SAMPLES, SAY_POSITIVE, Labels, ScoreRange, is_missing
from fastbin._base.errors import InputTypeError
from fastbin._fit.rows import GREATEST, limits_of
from fastbin.engines.faults import INFINITE, MISSING, NAN, NEGATIVE, Fault, outside, real_weights, refuse, strange_label
from fastbin.engines.frames import BOOLEAN, FLOAT, INTEGER, Frame

NUMERIC = (FLOAT, INTEGER, BOOLEAN)

# NULL, NaN, the two that labels should be, and one too many.
MOST_LABELS = 5


class Columns(NamedTuple):
    """Columns of a frame, and the values of its labels that stand for 0 and 1."""

    score: str
    label: str
    weight: str | None
    zero: Any
    one: Any
    score_range: ScoreRange
    positive: Any = None

    @classmethod
    def of(cls, frame: Frame, score: str, label: str, weight: str | None, score_range: ScoreRange, positive: Any) -> Columns:
        """Refuses what is missing or of the wrong kind. With `positive`, one query for the values of the labels."""
        kinds = frame.kinds()
        if kinds[score] not in NUMERIC:
            raise InputTypeError(f"score is {score!r}, a column of {kinds[score]}; scores are numbers")
        if weight is not None and kinds[weight] == FLOAT:
            raise real_weights(weight, kinds[weight])
        if weight is not None and kinds[weight] not in NUMERIC:
            raise InputTypeError(f"{weight} holds {kinds[weight]}, not whole numbers")
        if positive is not None:
            zero, one = _two_values(frame, label, positive)
        elif kinds[label] in NUMERIC:
            zero, one = (False, True) if kinds[label] == BOOLEAN else (0, 1)
        else:
            seen = _labels(frame.select(label=frame.column(label)))
            problem = f"is {label!r}, a column of {kinds[label]} such as {' and '.join(map(repr, seen[:2]))}"
            raise InputTypeError(problem, SAY_POSITIVE, argument="label", value=label)
        return cls(score, label, weight, zero, one, score_range, positive)

    def rows(self, frame: Frame) -> Frame:
        """The rows as every query sees them: "score", "one" (1 for label 1), "weight" where there is one, and "good"."""
        score, label = frame.as_float(frame.column(self.score)), frame.column(self.label)
        low, high = limits_of(self.score_range)
        columns = {"score": score, "one": frame.as_float(label == self.one)}
        good = (score >= low) & (score <= high) & ((label == self.zero) | (label == self.one))
        if self.weight is not None:
            weight = frame.as_float(frame.column(self.weight))
            columns |= {"weight": weight, "one": columns["one"] * weight}
            good = good & (weight >= 0)
        return frame.select(**columns, good=good)

    def count(self, frame: Frame) -> int:
        """The samples by weights, exact up to 2**53, and beyond that more than 2**53. One query."""
        assert self.weight is not None
        column = frame.column(self.weight)
        weight = frame.as_float(column)
        half = frame.floor(weight * 0.5)
        groups = frame.select(half=half, rest=weight - half, is_huge=column > MOST_SAMPLES).groups(
            ["is_huge"], sums=["half", "rest"]
        )
        if groups["is_huge"].any():
            return MOST_SAMPLES + 1
        return int(groups["half"].sum()) + int(groups["rest"].sum())

    def refuse_bad_rows(self, frame: Frame) -> None:
        """Raise for the rows that are bad, with their number of each kind. One query; one more for an example of each kind."""
        kinds = self._faults(frame)
        groups = frame.select(**{f"is_{i}": condition for i, (_, _, condition) in enumerate(kinds)}).groups(
            [f"is_{i}" for i in range(len(kinds))]
        )
        rows, faults = groups["rows"].astype(np.int64), []
        told = {column: np.zeros(len(rows), np.bool_) for column, _, _ in kinds}
        for i, (column, what, condition) in enumerate(kinds):
            # NULL, as a condition about NULL, holds for none. Of several faults of one value the first is told.
            is_so = np.array([value is not None and value == 1 for value in groups[f"is_{i}"].tolist()], np.bool_)
            n_rows = int(rows[is_so & ~told[column]].sum())
            told[column] |= is_so
            example = None
            if n_rows and what not in (MISSING, NAN):
                example = next(iter(_labels(frame.where(condition).select(label=frame.column(column)))), None)
            faults.append(Fault(column, what, n_rows, example))
        refuse(faults, int(rows.sum()))

    @property
    def _strange(self) -> str:
        return strange_label() if self.positive is None else strange_label(self.one, self.zero)

    def _faults(self, frame: Frame) -> list[tuple[str, str, Any]]:
        """What may be wrong: the column, in words, and as a condition."""
        score, label = frame.as_float(frame.column(self.score)), frame.column(self.label)
        low, high = limits_of(self.score_range)
        is_finite = (score <= GREATEST) & (score >= -GREATEST)
        faults = [
            (self.score, MISSING, frame.is_null(score)),
            (self.score, NAN, frame.is_nan(score)),
            (self.score, INFINITE, ~is_finite),
            (self.score, outside(self.score_range), is_finite & ((score < low) | (score > high))),
            (self.label, MISSING, frame.is_null(label)),
            (self.label, self._strange, ~((label == self.zero) | (label == self.one))),
        ]
        if self.weight is not None:
            weight = frame.as_float(frame.column(self.weight))
            faults += [(self.weight, MISSING, frame.is_null(weight)), (self.weight, NEGATIVE, weight < 0)]
        return faults


def _labels(frame: Frame) -> list[Any]:
    """Some of the values of labels, in order where they have one."""
    values = [value for value in frame.groups(["label"], most=MOST_LABELS)["label"].tolist() if not is_missing(value)]
    return sorted(values, key=repr)


def _two_values(frame: Frame, name: str, positive: Any) -> tuple[Any, Any]:
    """The other value and this one, as the column has them."""
    label, seen = frame.column(name), Labels(positive)
    found = _labels(frame.select(label=label))
    seen.add(found, [1] * len(found))
    if len(found) > 2 and not seen.ones and isinstance(positive, str) == isinstance(found[0], str):  # there may be more
        ones = _labels(frame.where(label == positive).select(label=label))
        seen.add(ones, [1] * len(ones))
    seen.check_positive(f"labels in {name}")
    return (seen.zeros or seen.ones or [positive])[0], (seen.ones or [positive])[0]
