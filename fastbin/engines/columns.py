"""Which columns of a table a fit reads, which two values its labels have, and which of its rows are bad."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._errors import InputError, InputTypeError
from fastbin._fit.rows import GREATEST, limits_of
from fastbin._validation import ScoreRange, is_missing
from fastbin.engines.faults import INFINITE, MISSING, NAN, NEGATIVE, Fault, outside, refuse, strange_label
from fastbin.engines.frames import BOOLEAN, FLOAT, INTEGER, Frame
from fastbin.engines.tables import check_column

NUMBERS = (FLOAT, INTEGER, BOOLEAN)

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
        for name in (score, label) if weight is None else (score, label, weight):
            check_column("the table", list(kinds), name)
        if kinds[score] not in NUMBERS:
            raise InputTypeError(f"score is {score!r}, a column of {kinds[score]}; scores are numbers")
        if weight is not None and kinds[weight] != INTEGER:
            raise InputTypeError(
                f"weight is {weight!r}, a column of {kinds[weight]}; where rows are counted in the engine, weights are integers, "
                "as sums of other numbers depend on their order; fit to rows that stream, or round the weights"
            )
        if positive is not None:
            zero, one = _two_values(frame, label, positive)
        elif kinds[label] in NUMBERS:
            zero, one = (False, True) if kinds[label] == BOOLEAN else (0, 1)
        else:
            seen = _labels(frame.select(label=frame.column(label)))
            raise InputTypeError(
                f"label is {label!r}, a column of {kinds[label]} such as {' and '.join(map(repr, seen[:2]))}; say which value is "
                f"1: positive={seen[-1] if seen else 'yes'!r}"
            )
        return cls(score, label, weight, zero, one, score_range, positive)

    def rows(self, frame: Frame) -> Frame:
        """The rows as every query sees them: "score", "one" (1 for label 1), "weight" where there is one, and "good"."""
        score, label = frame.as_float(frame.column(self.score)), frame.column(self.label)
        low, high = limits_of(self.score_range)
        columns = {"score": score, "one": frame.as_float(label == self.one)}
        good = (score >= low) & (score <= high) & ((label == self.zero) | (label == self.one))
        if self.weight is not None:
            weight = frame.column(self.weight)
            columns |= {"weight": frame.as_float(weight), "one": columns["one"] * frame.as_float(weight)}
            good = good & (weight >= 0)
        return frame.select(**columns, good=good)

    def refuse_bad_rows(self, frame: Frame) -> None:
        """Raise for the rows that are bad, with their number of each kind. One query; one more for an example of a label."""
        score, label = frame.as_float(frame.column(self.score)), frame.column(self.label)
        low, high = limits_of(self.score_range)
        is_strange = ~((label == self.zero) | (label == self.one))
        flags = {
            "null": frame.is_null(score), "nan": frame.is_nan(score), "infinite": (score > GREATEST) | (score < -GREATEST),
            "outside": (score < low) | (score > high), "label_null": frame.is_null(label), "strange": is_strange,
        }  # fmt: skip
        if self.weight is not None:
            weight = frame.column(self.weight)
            flags |= {"weight_null": frame.is_null(weight), "negative": weight < 0}
        groups = frame.select(**flags).groups(list(flags))
        rows = groups.pop("rows").astype(np.int64)
        # NULL, as a condition about NULL, holds for none. Of several about one column the first is told.
        holds = {name: np.array([value is not None and value == 1 for value in column]) for name, column in groups.items()}
        told = {
            "null": (self.score, MISSING), "nan": (self.score, NAN), "infinite": (self.score, INFINITE),
            "outside": (self.score, outside(self.score_range)), "label_null": (self.label, MISSING),
            "strange": (self.label, strange_label() if self.positive is None else strange_label(self.one, self.zero)),
            "weight_null": (str(self.weight), MISSING), "negative": (str(self.weight), NEGATIVE),
        }  # fmt: skip
        faults, seen = [], {name: np.zeros(len(rows), np.bool_) for name in (self.score, self.label, str(self.weight))}
        for flag, is_so in holds.items():
            column, what = told[flag]
            n_rows = int(rows[is_so & ~seen[column]].sum())
            seen[column] |= is_so
            examples = _labels(frame.where(is_strange).select(label=label)) if flag == "strange" and n_rows else []
            faults.append(Fault(column, what, n_rows, next(iter(examples), None)))
        refuse(faults, int(rows.sum()))


def _labels(frame: Frame) -> list[Any]:
    """Some of the values of labels, in order where they have one."""
    values = [value for value in frame.groups(["label"], most=MOST_LABELS)["label"].tolist() if not is_missing(value)]
    return sorted(values, key=repr)


def _two_values(frame: Frame, name: str, positive: Any) -> tuple[Any, Any]:
    """The other value and this one, as the column has them."""
    found = _labels(frame.select(label=frame.column(name)))
    seen = ", ".join(map(repr, found[:3]))
    if len(found) > 2:
        raise InputError(f"label is {name!r}, which holds {seen} and perhaps others; labels have two values")
    one = [value for value in found if value == positive]
    if found and not one:
        raise InputError(f"positive is {positive!r}, which is no value of {name!r}; it holds {seen}")
    other = [value for value in found if value != positive]
    return (other or one or [positive])[0], (one or [positive])[0]
