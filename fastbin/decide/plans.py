"""Which rows to label, bin by bin, until the rate of every bin is known well enough."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import (
    are_probabilities,
    check_alpha,
    check_count,
    check_labels,
    check_number,
    check_same_length,
    check_score_range,
    check_scores,
    check_seed,
    event_of,
)
from fastbin._base.errors import FormatError, InputError, InputTypeError, NotFittedError, Wording
from fastbin._base.files import as_bytes
from fastbin._base.shown import how_many, rounded_up
from fastbin._base.table import Columns, Table
from fastbin._base.tie_keys import hash_keys
from fastbin._core.score import library_version
from fastbin._fit.rows import limits_of
from fastbin._fit.tally import Tally
from fastbin.decide.pools import Pool, pool_of
from fastbin.guarantees.certificate import event_words, sureness
from fastbin.guarantees.stopping import Rule, labels_at_most, levels_after_stopping, looks_of, radius_of_counts, rule_for
from fastbin.intervals import sidak
from fastbin.intervals.binomial import beta_quantile, exact_ends
from fastbin.model import BinnedModel
from fastbin.online.streaming import State

N_BINS = 10  # where a plan is not told how many
# The tails of the range of a forecast.
TAIL = 0.1
LABEL_THESE_ALONE = (
    "label the rows that ", Wording("rows()", "--rows"),
    " names, and no others: which rows have labels must not depend on them",
)  # fmt: skip
INTEGERS_OR_TEXT = "ids are integers or text"
UNKNOWN = -1  # the label of a row that has none yet
FORMAT = "fastbin label plan 1"


class Forecast(NamedTuple):
    """The labels still needed, and a range of what is likely if the rates are as labels say; nothing is promised of it."""

    expected: int
    least: int
    most: int


def plan_labels(
    scores: Any, *, epsilon: float | None = None, n_bins: int | None = None, alpha: float = 0.1, budget: int | None = None,
    edges: Any = None, ids: Any = None, score_range: tuple[float, float] | None = (0.0, 1.0), seed: int | None = None,
) -> LabelPlan:  # fmt: skip
    """Which rows to label, before any has a label: fewer labels than of rows at random, for the same promise about every bin.

    Scores without labels place the bins. In each of them rows are labelled in a random order, and labelling ends there as soon
    as the rate is known within epsilon: soon where nearly all labels are alike. Stopping costs no part of the promise (fastbin,
    Theorem F24).

    Parameters
    ----------
    scores : array-like of shape (m,)
        Of rows without labels, drawn from the population that will be scored; the classifier was not trained on them. NaN and
        scores outside `score_range` are refused.
    epsilon : float in [0.005, 0.5]
        How near the true rate of its bin every value shall be, in all bins at once. Not with `budget`.
    n_bins : int, optional
        Bins of equal mass; by default 10. Not with `edges`.
    alpha : float, from 1e-100 to 1/2
        The chance that the promise fails.
    budget : int, optional
        In place of `epsilon`: so many labels, in equal parts for all bins, at least one a bin.
    edges : array-like of float, BinnedModel or fitted calibrator, optional
        Bins that were fixed before: their inner edges, or the bins of a model.
    ids : array-like of shape (m,), optional
        What identifies the rows: integers or text, all different. By default their numbers, from 0. With ids the plan does not
        depend on the order of rows; without, it decides the order among rows of equal scores, and nothing else.
    score_range : (low, high) or None
        Where scores must lie; None takes any finite score.
    seed : int or None
        Decides the random order. None draws one afresh; the plan keeps it. The promise holds over its draw: under one number
        files whose scores are alike are labelled at the same places, which may go with the labels.

    Returns
    -------
    LabelPlan
        Its `rows` are those to label first.

    Raises
    ------
    InputError, InputTypeError
        For a bad argument, named with its first bad position, its value and the remedy.
    GuaranteeError
        For an epsilon for which a bin may need more than 25,000 labels.

    Notes
    -----
    Where no two scores are equal at an edge, edges are order statistics of all rows (Gupta & Ramdas 2021, Algorithm 1), and
    their own rows are not labelled. Else a random tenth of the rows, 20 a bin at least, places the edges, and is not labelled.
    O(m log m); the rule takes a second or less from epsilon = .02 on, and half a minute at .01, once in a process.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 20000 for i in range(20000)]
    >>> plan = fb.decide.plan_labels(scores, epsilon=0.1, n_bins=5, seed=0)
    >>> while not plan.done:
    ...     rows = plan.rows()
    ...     plan.update(rows, [scores[row] > 0.5 for row in rows])
    >>> plan.counts, plan.model_.values.round(2)
    (array([ 48,  48, 152,  48,  48]), array([0.  , 0.  , 0.42, 1.  , 1.  ]))
    """
    score_range = check_score_range(score_range)
    array = check_scores(scores, score_range).astype(np.float64, copy=False) + 0.0
    if not len(array):
        raise InputError("is empty", "a plan chooses among rows without labels", argument="scores")
    names, keys = (None, None) if ids is None else _check_ids(ids, len(array))
    seed = check_seed(seed)
    if (epsilon is None) == (budget is None):
        raise InputError(
            (Wording("epsilon and budget", "--epsilon and --budget"), f" are both {'missing' if budget is None else 'given'}"),
            (
                "give ",
                Wording("epsilon", "--epsilon"),
                ", the distance that labels shall reach, or ",
                Wording("budget", "--budget"),
                ", the number of labels that there are",
            ),
        )
    if edges is not None and n_bins is not None:
        raise InputError("is given, and edges too, which say the bins", "leave one out", argument="n_bins", value=n_bins)
    n_bins = check_count(N_BINS if n_bins is None else n_bins, "n_bins")
    pool = pool_of(array, n_bins, edges, keys, seed, score_range)
    alpha, n_filled = check_alpha(alpha), int(np.count_nonzero(pool.counts))
    if epsilon is not None:
        rule = rule_for(_check_epsilon(epsilon), sidak(alpha, n_filled))
        sizes = np.minimum(pool.counts, labels_at_most(rule))
    else:
        rule, sizes = None, _shares(check_count(budget, "budget", n_filled), pool.counts)
    asked = len(pool.edges) + 1 if edges is not None else n_bins
    design = _Design(pool.edges, pool.scheme, asked, pool.counts, score_range, seed, alpha, rule, _guesses(pool, score_range))
    rows = [_named(own[:size], names) for own, size in zip(pool.rows, sizes.tolist(), strict=True)]
    return LabelPlan._of(design, rows, [np.full(len(own), UNKNOWN, np.int8) for own in rows], "")


def _check_epsilon(epsilon: Any) -> float:
    value = check_number(epsilon, "epsilon")
    if not 0.005 <= value <= 0.5:
        raise InputError(None, "it must be in [0.005, 0.5]", argument="epsilon", value=value)
    return value


def _check_ids(ids: Any, n: int) -> tuple[list[Any], Any]:
    """The ids as Python's integers and texts, and a key of each that breaks ties."""
    try:
        keys = hash_keys(ids, "fastbin label plan")
    except InputTypeError as error:
        if error.at is None:
            raise
        raise InputTypeError(None, INTEGERS_OR_TEXT, argument="ids", at=error.at, value=error.value) from None
    given, seen = _as_list(ids, "ids"), set[str]()
    check_same_length(scores=range(n), ids=given)
    for at, value in enumerate(given):
        if not isinstance(value, (int, str)):
            raise InputTypeError(None, INTEGERS_OR_TEXT, argument="ids", at=at, value=value)
        if isinstance(value, str) and value.endswith("\0"):
            raise InputError(None, "a text must not end with NUL, which NumPy leaves out", argument="ids", at=at, value=value)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise InputError(None, "an id that is an integer has 64 bits: give texts", argument="ids", at=at, value=value)
        if str(value) in seen:
            problem = f"is {value!r}, which an earlier row has, too"
            raise InputError(problem, "every row needs an id of its own", argument="ids", at=at, value=value)
        seen.add(str(value))
    return given, keys


def _as_list(column: Any, argument: str) -> list[Any]:
    """The entries of a column as Python's own."""
    if np.ndim(column) != 1 and not hasattr(column, "to_pylist"):
        raise InputTypeError("has no entries in a row", "give a list or a column", argument=argument)
    given = column.to_pylist() if hasattr(column, "to_pylist") else column.tolist() if hasattr(column, "tolist") else column
    return [entry.item() if isinstance(entry, np.generic) else entry for entry in given]


def _named(rows: Int64s, names: Sequence[Any] | None) -> list[Any]:
    return rows.tolist() if names is None else [names[row] for row in rows.tolist()]


def _shares(budget: int, counts: Int64s) -> Int64s:
    """So many labels in equal parts; what a bin has no rows for goes to the others, and what does not divide to the first."""
    shares = np.zeros_like(counts)
    while left := min(budget, int(counts.sum())) - int(shares.sum()):
        open_bins = np.flatnonzero(shares < counts)
        each = np.full(len(open_bins), left // len(open_bins))
        each[: left % len(open_bins)] += 1
        shares[open_bins] = np.minimum(counts[open_bins], shares[open_bins] + each)
    return shares


def _guesses(pool: Pool, score_range: Any) -> Float64s:
    """The rates of bins before there are labels: the mean score, if scores are probabilities, else one half."""
    return np.where(np.isfinite(pool.mean_scores) & are_probabilities(score_range), pool.mean_scores, 0.5)


class _Design(NamedTuple):
    """The parts of a plan that are there before any label, and never change."""

    edges: Float64s
    scheme: str
    n_bins_asked: int
    pool_counts: Int64s
    score_range: Any
    seed: int
    alpha: float
    rule: Rule | None
    guesses: Float64s

    @property
    def levels(self) -> Float64s:
        """The level of the interval of each bin, at which all hold together."""
        level = sidak(self.alpha, int(np.count_nonzero(self.pool_counts)))
        return levels_after_stopping(self.rule, level, self.pool_counts)

    def looks(self, b: int, n_rows: int) -> list[int]:
        """The numbers of labels after which bin `b` may be done; a bin of a fixed plan has one."""
        return [n_rows] if self.rule is None else looks_of(self.rule, int(self.pool_counts[b]))


class LabelPlan(State, Table):
    """Which rows to label next, bin by bin, and when that is enough; made by `plan_labels`.

    Label the rows of `rows`, hand the labels to `update`, and go on until `done`; then `model_` is the calibrated model. What
    takes a fitted calibrator takes the plan. `save` and `load` keep it between sessions, as JSON.

    Attributes
    ----------
    epsilon : float or None
        The distance that labels shall reach; None for a plan of a fixed number of labels.
    alpha : float
    n_bins : int
        With ties at edges fewer than were asked for.
    edges : float64 (n_bins - 1,)
    pool_counts : int64 (n_bins,)
        The rows of each bin that can be labelled.
    counts, label_sums : int64 (n_bins,)
        The labels known so far, and how many of them are 1.
    done : bool
        Whether every bin is.
    forecast : Forecast
        `expected`: the labels still needed, if rates are as labels say; before there are any, as scores say. `least` and
        `most`: what is likely, without a promise: fewer are needed where label 1 is rarer than scores say. 0 for a plan that
        is done.
    model_ : BinnedModel
        Means of the labels of every bin, 0.5 for a bin without rows; with `pool_counts`, so that certificates know that the
        sample was stratified. NotFittedError before the plan is done.
    event : str
        What label 1 stands for, if `update` was told.

    Notes
    -----
    A bin is looked at after 20 labels or a few more, and then whenever there are 8 % more of them. It is done when its
    Clopper-Pearson interval, at a level that allows for all looks, is within epsilon of its mean label; or when all its rows
    are labelled, and then the interval may be wider. Every row that is asked for needs its label: leaving out those that are
    hard to label voids the promise.

    A look takes a millisecond a bin. A plan of 10 bins at epsilon = .05 takes 100 kB.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [i / 20000 for i in range(20000)]
    >>> plan = fb.decide.plan_labels(scores, epsilon=0.1, n_bins=5, seed=0)
    >>> rows = plan.rows()
    >>> len(rows), plan.forecast.most
    (185, 726)
    >>> plan.update(rows, [scores[row] > 0.5 for row in rows])
    >>> len(plan.rows()), plan.done
    (15, False)
    """

    event: str
    _design: _Design
    _rows: list[list[Any]]
    _labels: list[Any]
    _places: dict[str, tuple[int, int]]
    _looks: list[list[int]]
    _asked: list[int]
    _is_done: list[bool]

    def __init__(self) -> None:
        raise InputTypeError("a LabelPlan is made by plan_labels, and LabelPlan.load reads one from a file")

    @classmethod
    def _of(cls, design: _Design, rows: list[list[Any]], labels: list[Any], event: str) -> LabelPlan:
        plan = cls.__new__(cls)
        plan._design, plan._rows, plan._labels, plan.event = design, rows, labels, event
        plan._places = {str(row): (b, place) for b, own in enumerate(rows) for place, row in enumerate(own)}
        plan._looks = [design.looks(b, len(own)) for b, own in enumerate(rows)]
        plan._asked = [looks[0] for looks in plan._looks]
        plan._is_done = [False] * len(rows)
        plan._go_on()
        return plan

    # ------------------------------------------------------------------ labels

    def rows(self) -> Any:
        """The rows to label next: all that are asked for and have no label yet, bin by bin, in the order of the plan.

        Returns
        -------
        ndarray of int64, or of the type of the ids
            Row numbers from 0, or ids. Empty when the plan is done.
        """
        return np.array([row for b in range(self.n_bins) for row in self._open_rows(b)], self._dtype)

    def update(self, rows: Any, labels: Any, *, positive: Any = None) -> None:
        """Take in the labels of rows that were asked for, of all of them or of some; bins that are done ask for no more.

        Parameters
        ----------
        rows : array-like of shape (n,)
            Rows of `rows`, in any order; those whose label is known may be among them, with the same label.
        labels : array-like of shape (n,)
            bool, or numbers that equal 0 or 1.
        positive : optional
            The label that counts as 1, where labels are two other values, such as "yes".

        Raises
        ------
        InputError, InputTypeError
            For a row that is neither integer nor text, or that the plan has not asked for, or whose label is another than
            before; then no label is taken in.
        """
        given = _as_list(rows, "rows")
        event = event_of(positive) or self.event
        if self.event and event != self.event:
            remedy = "the labels of one plan mean one event"
            raise InputError(f"is {event!r}, and was {self.event!r} before", remedy, argument="positive", value=positive)
        ones = check_labels(labels, positive=positive, is_part=True).tolist()
        check_same_length(rows=given, labels=ones)
        changes: dict[tuple[int, int], int] = {}
        for at, (row, label) in enumerate(zip(given, ones, strict=True)):
            if isinstance(row, bool) or not isinstance(row, (int, str)):
                remedy = "rows are integers, or the ids of the plan: pass them as rows() gives them"
                raise InputTypeError(None, remedy, argument="rows", at=at, value=row)
            place = self._places.get(str(row))
            if place is None or place[1] >= self._asked[place[0]]:
                problem = f"is {row!r}, which the plan has not asked for"
                raise InputError(problem, LABEL_THESE_ALONE, argument="rows", at=at, value=row)
            known = changes.get(place, int(self._labels[place[0]][place[1]]))
            if known not in (UNKNOWN, label):
                problem = f"is {label} for row {row!r}, whose label was {known} before"
                raise InputError(problem, "find out which is right; a new plan forgets labels", argument="labels", at=at)
            changes[place] = label
        for (b, at), label in changes.items():
            self._labels[b][at] = label
        self.event = event
        self._go_on()

    def _go_on(self) -> None:
        """Let every bin whose asked rows have labels stop, or ask for more."""
        for b, looks in enumerate(self._looks):
            while not self._is_done[b] and (self._labels[b][: self._asked[b]] != UNKNOWN).all():
                self._is_done[b] = self._stops(b)
                if not self._is_done[b]:
                    self._asked[b] = looks[looks.index(self._asked[b]) + 1]

    def _stops(self, b: int) -> bool:
        count, rule = self._asked[b], self._design.rule
        if rule is None or count == self._looks[b][-1]:
            return True
        ones = np.count_nonzero(self._labels[b][:count] == 1)
        return bool(radius_of_counts(np.array([ones]), count, rule.level)[0] <= rule.epsilon)

    def _open_rows(self, b: int) -> list[Any]:
        asked = self._rows[b][: self._asked[b]]
        return [row for row, label in zip(asked, self._labels[b].tolist(), strict=False) if label == UNKNOWN]

    # ------------------------------------------------------------------ what is known

    @property
    def _dtype(self) -> Any:
        """The type of `rows`: ids keep their own, and integers beside texts stay integers."""
        if not self._has_ids:
            return np.int64
        return object if any(isinstance(row, int) for own in self._rows for row in own) else None

    @property
    def _has_ids(self) -> bool:
        return any(not isinstance(row, int) for own in self._rows for row in own)

    @property
    def epsilon(self) -> float | None:
        """The distance that labels shall reach; None for a plan of a fixed number of labels."""
        return None if self._design.rule is None else self._design.rule.epsilon

    @property
    def alpha(self) -> float:
        """The chance that the promise fails."""
        return self._design.alpha

    @property
    def n_bins(self) -> int:
        """The number of bins."""
        return len(self._rows)

    @property
    def edges(self) -> Float64s:
        """float64 (n_bins - 1,): the inner edges, as a copy; a score that equals one lies above it."""
        return self._design.edges.copy()

    @property
    def pool_counts(self) -> Int64s:
        """int64 (n_bins,): the rows of each bin that can be labelled."""
        return self._design.pool_counts.copy()

    @property
    def counts(self) -> Int64s:
        """int64 (n_bins,): the labels known so far."""
        return np.array([np.count_nonzero(own != UNKNOWN) for own in self._labels], np.int64)

    @property
    def label_sums(self) -> Int64s:
        """int64 (n_bins,): how many of them are 1."""
        return np.array([np.count_nonzero(own == 1) for own in self._labels], np.int64)

    @property
    def done(self) -> bool:
        """Whether every bin is done."""
        return all(self._is_done)

    @property
    def forecast(self) -> Forecast:
        """The labels still needed, and a range of what is likely; nothing is promised of it."""
        of_bins = np.array([self._needed(b) for b in range(self.n_bins)], np.float64)
        expected, least, most = of_bins.T
        total = float(expected.sum())
        below, above = (math.sqrt(float(np.sum((end - expected) ** 2))) for end in (least, most))
        asked = len(self.rows())
        return Forecast(round(total), max(asked, math.floor(total - below)), min(int(most.sum()), math.ceil(total + above)))

    def _needed(self, b: int) -> Forecast:
        """The labels that bin `b` still needs; the range is from where its rate may be, by Jeffreys' prior."""
        known, ones = (int(np.count_nonzero(self._labels[b] >= least)) for least in (0, 1))
        rule, left = self._design.rule, len(self._rows[b]) - known
        if self._is_done[b] or rule is None:
            return Forecast(left, left, left) if not self._is_done[b] else Forecast(0, 0, 0)
        guess = (ones + float(self._design.guesses[b])) / (known + 1.0)
        of_ones, of_zeros = np.array([ones + 0.5]), np.array([known - ones + 0.5])
        low, high = (float(beta_quantile(of_ones, of_zeros, TAIL, upper=is_upper)[0]) for is_upper in (False, True))
        nearest = min(max(0.5, low), high)
        looks = np.array([look for look in self._looks[b] if look >= self._asked[b]])
        rates = np.array([guess, low, high, nearest])
        counts = np.rint(rates[:, None] * looks).astype(np.int64)
        passes = radius_of_counts(counts.ravel(), np.tile(looks, len(rates)), rule.level).reshape(counts.shape) <= rule.epsilon
        passes[:, -1] = True
        expected, *ends = (looks[np.argmax(passes, axis=1)] - known).tolist()
        return Forecast(expected, min(expected, *ends), max(expected, *ends))

    @property
    def model_(self) -> BinnedModel:
        """The model of a plan that is done: the mean label of every bin, and its evidence."""
        if not self.done:
            raise NotFittedError(
                f"{how_many(len(self.rows()), 'label', 'is', 'are')} still missing, of the rows that rows() names; hand them "
                "to update, and a certificate of fewer would not hold"
            )
        design, rule = self._design, self._design.rule
        configuration = {
            "alpha": design.alpha, "budget": int(self.counts.sum()) if rule is None else None, "n_bins": design.n_bins_asked,
            **({"epsilon": None, "level": None} if rule is None else rule._asdict()),
        }  # fmt: skip
        return BinnedModel.from_parts(
            edges=design.edges, **Tally(self.counts, self.label_sums).parts(), score_range=design.score_range,
            scheme=design.scheme, ties="none" if design.scheme == "explicit" else "upper", n_bins_asked=design.n_bins_asked,
            seed=design.seed, event=self.event, pool_counts=design.pool_counts,
            provenance={
                "made_by": [{"calibrator": "LabelPlan", "configuration": configuration}], "version": library_version(),
            },
        )  # fmt: skip

    # ------------------------------------------------------------------ how it is shown

    def _intervals(self) -> list[tuple[float, float] | None]:
        """That of each bin that is done and has rows."""
        counts, sums, levels = self.counts, self.label_sums, self._design.levels
        ends = exact_ends(sums, counts, levels).tolist()
        return [
            (low, high) if is_done and count else None
            for (low, high), is_done, count in zip(ends, self._is_done, counts.tolist(), strict=True)
        ]

    def _columns(self) -> Columns:
        needed = [self._needed(b) for b in range(self.n_bins)]
        ends = ["lowest", *(f"{edge:g}" for edge in self._design.edges), "highest"]
        has_rows = self._design.pool_counts > 0
        return {
            "bin": list(range(self.n_bins)),
            "scores": [f"{low} to {high}" for low, high in pairwise(ends)],
            "rows": self._design.pool_counts.tolist(),
            "labels": self.counts.tolist(),
            "ones": self.label_sums.tolist(),
            "next": [len(self._open_rows(b)) for b in range(self.n_bins)],
            "needed": [each.expected for each in needed],
            "likely": [(each.least, each.most) for each in needed],
            "interval": [ends if ends is not None else (math.nan, math.nan) for ends in self._intervals()],
            "state": [
                "done" if is_done and filled else "open" if filled else "no rows"
                for is_done, filled in zip(self._is_done, has_rows.tolist(), strict=True)
            ],
        }

    def _about(self) -> str:
        known, n_done = int(self.counts.sum()), sum(self._is_done)
        if self.done:
            bins = "The bin is" if self.n_bins == 1 else f"All {self.n_bins} bins are"
            return (
                f"{bins} done, with {how_many(known, 'label')}: with probability at least "
                f"{sureness(self.alpha)} the frequency of {event_words(self.event)} in each is within "
                f"{rounded_up(self._reached())} of its mean label"
            )
        likely, is_one = self.forecast, 1 in (n_done, self.n_bins)
        return (
            f"{how_many(known, 'label', 'is', 'are')} known, and {n_done} of {how_many(self.n_bins, 'bin')} "
            f"{'is' if is_one else 'are'} done; about {likely.expected:,} more {'is' if likely.expected == 1 else 'are'} "
            f"needed ({likely.least:,} to {likely.most:,} are likely), {len(self.rows()):,} of them now"
        )

    def _reached(self) -> float:
        """The largest distance from a mean label to an end of its interval."""
        counts, sums = self.counts, self.label_sums
        means = sums / np.maximum(counts, 1)
        return max(
            (max(ends[1] - mean, mean - ends[0]) for ends, mean in zip(self._intervals(), means.tolist(), strict=True) if ends),
            default=1.0,
        )

    def to_dict(self) -> dict[str, Any]:
        """The table, the forecast and the next rows as plain dicts, lists and numbers, for JSON; `to_bytes` has the state."""
        return {
            "epsilon": self.epsilon, "alpha": self.alpha, "event": self.event, "done": self.done, "says": self._about(),
            "n_labels": int(self.counts.sum()), "forecast": self.forecast._asdict(), "rows": self.rows().tolist(),
            "bins": [
                {name: value if value == value else None for name, value in record.items()} for record in self
            ],
        }  # fmt: skip

    # ------------------------------------------------------------------ its state

    def to_bytes(self) -> bytes:
        """The whole state as JSON: the bins, the rows that may be asked for in their order, and the labels."""
        design = self._design
        state = {
            "format": FORMAT, "edges": design.edges.tolist(), "scheme": design.scheme, "n_bins_asked": design.n_bins_asked,
            "pool_counts": design.pool_counts.tolist(), "score_range": design.score_range, "seed": design.seed,
            "alpha": design.alpha, "rule": design.rule, "guesses": design.guesses.tolist(), "event": self.event,
            "rows": self._rows, "labels": [own.tolist() for own in self._labels],
        }  # fmt: skip
        return _with_digest(state)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray) -> LabelPlan:
        """The plan that `to_bytes` wrote; FormatError for other bytes, and where it was changed by hand."""
        data = bytes(as_bytes(data))
        try:
            state = json.loads(data)
            is_whole = isinstance(state, dict) and _with_digest({**state}) == bytes(data)
        except (ValueError, RecursionError):
            is_whole = False
        if not is_whole:
            raise FormatError(
                "these bytes hold no plan of labels as plan_labels writes it, or were changed; go on from a copy, and hand "
                "labels to update (fastbin plan --labels), which checks them"
            )
        if (stated := state.get("format", FORMAT)) != FORMAT:
            raise FormatError(f"this plan is in the format {stated!r:.100} of a newer fastbin; this one reads {FORMAT!r}")
        try:
            design, rows, labels = _parts_of(state)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise FormatError(f"this plan contradicts itself: {type(error).__name__}: {error}") from error
        return cls._of(design, rows, labels, state["event"])


def _parts_of(state: dict[str, Any]) -> tuple[_Design, list[list[Any]], list[Any]]:
    """The parts of a plan in a text that anyone may have written; some error where `plan_labels` makes no such plan.

    The kinds of `fastbin._base.json_kinds` do not serve: plans have -0.0, and integers of 64 bits, as they are.
    """
    numbers, counts, rows, labels = state["edges"] + state["guesses"], state["pool_counts"], state["rows"], state["labels"]
    n_bins, ids = len(state["edges"]) + 1, [row for own in rows for row in own]
    _require("lengths", {*map(len, (counts, state["guesses"], rows, labels))} == {n_bins})
    _require("edges or guesses", all(type(number) in (int, float) for number in numbers))
    _require("pool_counts", all(type(count) is int and count >= 0 for count in counts))
    _require("labels", {type(label) for own in labels for label in own} <= {int})
    _require("event, scheme or seed", {*map(type, (state["event"], state["scheme"]))} == {str} and type(state["seed"]) is int)
    design = _Design(
        np.array(state["edges"], np.float64), state["scheme"], check_count(state["n_bins_asked"], "n_bins_asked"),
        np.array(counts, np.int64), check_score_range(state["score_range"]), check_seed(state["seed"]),
        check_alpha(state["alpha"]), None if state["rule"] is None else Rule(*state["rule"]),
        np.array(state["guesses"], np.float64),
    )  # fmt: skip
    (low, high), edges = limits_of(design.score_range), design.edges
    _require("scheme", design.scheme in ("explicit", "umd", "ums"))
    _require("edges", bool(((edges >= low) & (edges <= high)).all() and (np.diff(edges) >= 0.0).all()))
    _require("guesses", bool(((design.guesses >= 0.0) & (design.guesses <= 1.0)).all()))
    if design.rule is None:
        sizes = _shares(len(ids), design.pool_counts)
    else:
        _check_epsilon(design.rule.epsilon)
        _require("rule", 0.0 < design.rule.level <= sidak(design.alpha, int(np.count_nonzero(design.pool_counts))))
        sizes = np.minimum(design.pool_counts, labels_at_most(design.rule))
    _require("rows", all(type(row) in (int, str) for row in ids) and len({*map(str, ids)}) == len(ids))
    _require("rows", [len(own) for own in rows] == sizes.tolist() == [len(own) for own in labels])
    known = [np.array(own, np.int8) for own in labels]
    _require("labels", all(np.isin(own, (UNKNOWN, 0, 1)).all() for own in known))
    return design, rows, known


def _require(part: str, holds: bool) -> None:
    if not holds:
        raise ValueError(f"{part} cannot be so")


def _with_digest(state: dict[str, Any]) -> bytes:
    """A state as a line of JSON that ends with the SHA-256 of the rest."""
    state.pop("sha256", None)
    digest = hashlib.sha256(json.dumps(state).encode()).hexdigest()
    return json.dumps({**state, "sha256": digest}).encode() + b"\n"
