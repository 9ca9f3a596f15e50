"""The lowest threshold whose precision is certain: fixed-sequence tests on rows that had no part in choosing them.

docs/guarantees.md, Theorem F21. A random tenth of the rows, the pilot, places the cuts and says where the tests start; the
other rows are tested, from there downwards, until a test fails.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s, UInt8s
from fastbin._base.checks import (
    as_scores,
    check_alpha,
    check_labels,
    check_number,
    check_same_length,
    check_scores,
    check_seed,
    event_of,
)
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError, Wording
from fastbin._base.frames import check_same_index
from fastbin._base.shown import how_many
from fastbin._fit.edges import split_samples
from fastbin._fit.rows import Rows
from fastbin._model.decision import ACCEPT, REJECT, CutTest, Decision
from fastbin.intervals.binomial import beta_quantile, special_functions

# One row in PILOT_EVERY is in the pilot: of a fifth or a third the tests would miss the rows more than they gain by the start.
PILOT_EVERY, LEAST_PILOT, MOST_PILOT = 10, 20, 10_000
# Cuts are steps of equal mass. The tests of neighbours agree mostly, so that more of them cost nothing and end nearer the goal.
LEAST_CUTS, MOST_CUTS, ROWS_PER_CUT = 50, 500, 100
MOST_THRESHOLDS = 10_000
# Pilot rows that the smooth estimate of a precision counts for, beside the rows above the cut.
PRIOR_ROWS = 10.0


def accept_threshold(
    scores: Any,
    labels: Any,
    *,
    precision: float | None = None,
    npv: float | None = None,
    cost: tuple[float, float] | None = None,
    delta: float = 0.1,
    thresholds: Any = None,
    positive: Any = None,
    seed: int = 0,
) -> Decision:
    """Accept, reject or abstain by thresholds on a score whose precision is certain up to a chance of `delta`.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Finite numbers of which larger ones speak for label 1, raw or calibrated, by a classifier and a calibrator that have
        not seen these labels. NaN is refused. Scores may repeat.
    labels : array-like of shape (n,)
        What happened: bool, or numbers that equal 0 or 1.
    precision : float in (0, 1), optional
        The least frequency of label 1 among accepted scores.
    npv : float in (0, 1), optional
        The least frequency of label 0 among rejected scores.
    cost : (float, float), optional
        The costs of a false positive and of a false negative, in place of both: scores are accepted, slice by slice from above,
        while that costs no more than to reject them, and rejected from below by the same rule.
    delta : float
        The probability that the promise fails, from 1e-100 to 1/2; two bands have half of it each.
    thresholds : array-like of float, optional
        The only thresholds to choose from, at most 10,000, in which these rows must have had no part, neither their labels
        nor their scores. By default places of equal mass in a random tenth of the rows,
        so that the lowest score is never accepted.
    positive : label, optional
        The label that counts as 1, if labels are not 0 and 1.
    seed : int
        Of the choice of the tenth, which depends on the rows and this alone, not on their order.

    Returns
    -------
    Decision
        Thresholds, the sequence of tests, recall and coverage with intervals. Where no threshold is certain it accepts nothing.

    Raises
    ------
    GuaranteeError
        Where there are too few rows for any threshold to pass, even with labels that are all right; the message says how many
        are needed.
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy.

    See Also
    --------
    fastbin.assess.check_predictions : whether given probabilities are calibrated.

    Notes
    -----
    docs/guarantees.md, Theorem F21: rows are independent draws from the population; the scores have not seen their labels;
    nothing is assumed of how the truth depends on them. A random tenth of the rows, labels included, but at least 20 and at
    most 10,000, says where the tests stand and start. The label sum of the other rows above a cut is binomial, so that Clopper
    and Pearson's lower end is exact. Tests go down from the start until one fails, and the last that passed gives the
    threshold. A promise that fails needs the first false test to pass, which the pilot alone determines.

    One threshold needs no pilot, and counts all rows. Weighted rows have no exact test, so weights are not taken.

    O(n log n) time for n rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(4000)
    >>> decision = accept_threshold(scores, rng.random(4000) < scores, precision=0.8, npv=0.8)
    >>> 0.55 < decision.accept_above < 0.75, 0.25 < decision.reject_below < 0.45
    (True, True)
    """
    goal = _check_goal(precision, npv, cost, check_alpha(delta, "delta"))
    seed = check_seed(seed)
    check_same_index(scores=scores, labels=labels)
    values = check_scores(scores, None).astype(np.float64, copy=False)
    ones = check_labels(labels, positive=positive)
    if check_same_length(scores=values, labels=ones) == 0:
        raise InputError("is empty", "a threshold needs samples", argument="scores")
    cuts = None if thresholds is None else _check_thresholds(thresholds)
    pilot, rest = _divide(values, ones, seed, needs_pilot=cuts is None or len(cuts) > 1)
    goal.refuse_few(len(rest))
    if cuts is None:
        cuts = _places(np.sort(pilot.scores), goal.n_cuts(len(rest)))
    tests = [test for band in goal.bands for test in _sequence(band, pilot, rest, cuts, in_slices=goal.cost is not None)]
    above, below = _thresholds_of(tests, rest.scores)
    positives = values[ones == 1]
    shares = [float((values > above).mean()), float((values < below).mean())]
    accepted = float((positives > above).mean()) if len(positives) else 0.0
    return Decision(
        above, below, goal.precision, goal.npv, goal.cost, goal.delta, tuple(tests),
        recall=_share(accepted, len(positives), delta, int(above < math.inf)),
        coverage=_share(sum(shares), len(values), delta, int(above < math.inf) + int(below > -math.inf)),
        n_samples=len(values), n_positive=len(positives), n_pilot=len(values) - len(rest), event=event_of(positive),
    )  # fmt: skip


# ---------------------------------------------------------------------- what is asked for


class _Band(NamedTuple):
    """The promise of one band: a least frequency of right decisions in it, at a level."""

    name: str
    target: float
    level: float

    @property
    def sign(self) -> float:
        """By which scores are multiplied, so that larger ones belong to the band."""
        return 1.0 if self.name == ACCEPT else -1.0

    @property
    def least_rows(self) -> int:
        """Below so many rows no test passes, as all of them right is too likely at the target."""
        return max(1, math.ceil(math.log(self.level) / math.log(self.target) - 1e-9))


class _Goal(NamedTuple):
    """The targets as they were given, and the bands that they ask for."""

    precision: float | None
    npv: float | None
    cost: tuple[float, float] | None
    delta: float
    bands: tuple[_Band, ...]

    def n_cuts(self, n: int) -> int:
        """Slices are fewer: each is tested by its own rows, and n^(2/3) of them balance its width and its noise."""
        if self.cost is not None:
            return max(2, round(n ** (1.0 / 3.0)))
        return min(MOST_CUTS, max(LEAST_CUTS, n // ROWS_PER_CUT))

    def refuse_few(self, n: int) -> None:
        """Refuse goals that no labels of so many rows could bear out."""
        for band in self.bands:
            if n < band.least_rows:
                raise GuaranteeError(
                    f"a frequency of {band.target!r} at level {band.level:g} takes {how_many(band.least_rows, 'row')} beyond a "
                    f"threshold, all decided rightly, and {n:,} are tested; give more rows, a lower target or a larger delta"
                )


def _check_goal(precision: Any, npv: Any, cost: Any, delta: float) -> _Goal:
    if cost is not None:
        if precision is not None or npv is not None:
            remedy = "give either that, or targets"
            raise InputError("stands for targets of precision and npv", remedy, argument="cost")
        pair = _check_weighed_cost(cost)
        target = pair[0] / (pair[0] + pair[1])
        accept, reject = _Band(ACCEPT, target, delta / 2.0), _Band(REJECT, pair[1] / (pair[0] + pair[1]), delta / 2.0)
        return _Goal(None, None, pair, delta, (accept, reject))
    targets = {
        name: _check_target(value, argument)
        for name, argument, value in ((ACCEPT, "precision", precision), (REJECT, "npv", npv))
        if value is not None
    }
    if not targets:
        raise InputError(
            "no target is given",
            Wording("pass precision=, npv= or both, or cost=", "say --precision, --npv or both, or --cost"),
        )
    bands = tuple(_Band(name, target, delta / len(targets)) for name, target in targets.items())
    return _Goal(targets.get(ACCEPT), targets.get(REJECT), None, delta, bands)


def _check_target(value: Any, argument: str) -> float:
    target = check_number(value, argument)
    if not 0.0 < target < 1.0:
        remedy = f"it is a frequency strictly between 0 and 1{', such as 0.95 for 95 %' if target > 1.0 else ''}"
        raise InputError(None, remedy, argument=argument, value=target)
    return target


def check_cost(cost: Any) -> tuple[float, float]:
    """The costs of a false positive and of a false negative: finite, and not negative."""
    if not isinstance(cost, (tuple, list, np.ndarray)) or not np.iterable(cost) or len(cost) != 2:
        remedy = "it must be two numbers, (false positive, false negative)"
        raise InputTypeError(None, remedy, argument="cost", value=cost)
    pair = check_number(cost[0], "cost"), check_number(cost[1], "cost")
    for at, value in enumerate(pair):
        if not 0.0 <= value < math.inf:
            raise InputError(None, "costs are finite, and not negative", argument="cost", at=at, value=value)
    if math.isinf(sum(pair)):
        raise InputError(f"is {cost!r}", "the sum of both is more than a double holds; divide them", argument="cost")
    return pair


def _check_weighed_cost(cost: Any) -> tuple[float, float]:
    """Costs of which each has a share that a double can tell from all and from nothing."""
    pair = check_cost(cost)
    for at, value in enumerate(pair):
        if value == 0.0:
            raise InputError(None, "a threshold weighs two costs above 0", argument="cost", at=at, value=value)
    if not all(0.0 < value / sum(pair) < 1.0 for value in pair):
        raise InputError(f"is {cost!r}", "one cost is so much larger that doubles lose the other", argument="cost")
    return pair


def _check_thresholds(thresholds: Any) -> Float64s:
    """The distinct thresholds, ascending."""
    given = as_scores(thresholds, "thresholds").astype(np.float64, copy=False)
    if not np.isfinite(given).all():
        at = int(np.argmin(np.isfinite(given)))
        raise InputError(None, "thresholds are finite numbers", argument="thresholds", at=at, value=float(given[at]))
    if not 1 <= len(given) <= MOST_THRESHOLDS:
        raise InputError(f"has {len(given):,} entries", f"give 1 to {MOST_THRESHOLDS:,}", argument="thresholds")
    return np.unique(given) + 0.0  # JSON has one zero


# ---------------------------------------------------------------------- where tests stand and start


def _divide(scores: Float64s, ones: UInt8s, seed: int, *, needs_pilot: bool) -> tuple[Rows, Rows]:
    """The pilot and the rows that are tested. One test has no start to choose, and needs no pilot."""
    n = len(scores)
    n_pilot = min(MOST_PILOT, max(n // PILOT_EVERY, min(LEAST_PILOT, n // 2))) if needs_pilot else 0
    split = split_samples(Rows(scores, ones, None, None), seed, (n_pilot,))
    return split.take(0), split.take(1)


def _places(scores: Float64s, n_cuts: int) -> Float64s:
    """Cuts between different scores of the pilot, which ascend, in steps of equal mass; ascending."""
    n = len(scores)
    if n == 0:
        return np.empty(0)
    ranks = np.unique(np.arange(1, n_cuts) * n // n_cuts)
    upper = np.unique(scores[ranks])
    lower_at = np.searchsorted(scores, upper) - 1
    pairs = zip(scores[lower_at[lower_at >= 0]].tolist(), upper[lower_at >= 0].tolist(), strict=True)
    return np.array([_between(low, high) for low, high in pairs]) + 0.0


def _between(low: float, high: float) -> float:
    """The number with the fewest digits near the middle of two scores; the lower one where no double lies between.

    >>> _between(0.8123, 0.8171), _between(0.0, 5e-324)
    (0.815, 0.0)
    """
    middle = low / 2.0 + high / 2.0
    for digits in range(1, 18):
        rounded = float(f"{middle:.{digits}g}")
        if low < rounded < high:
            return rounded
    return low


def _start(band: _Band, pilot: Rows, cuts: Float64s, n: int) -> int:
    """The cut at which the pilot says that a test of n rows passes most likely. Cuts descend, in the mirror of the band.

    The precision above a cut is that of the pilot's rows there together with PRIOR_ROWS of a logistic map of their ranks, which
    is smooth where they are few. Its law is taken as normal; nothing of this touches the promise.
    """
    scores, right = _seen(band, pilot)
    n_pilot = len(scores)
    middle = (np.searchsorted(scores, scores, "left") + np.searchsorted(scores, scores, "right")) / (2.0 * n_pilot)
    smooth = _logistic(special_functions().ndtri(np.clip(middle, 0.5 / n_pilot, 1.0 - 0.5 / n_pilot)), right)
    first = np.searchsorted(scores, cuts, "right")
    above = n_pilot - first
    counts = np.maximum(above, 1)
    sums, smooth_sums = (np.append(np.cumsum(each[::-1])[::-1], 0.0)[first] for each in (right, smooth))
    rate = (sums + PRIOR_ROWS * np.where(above > 0, smooth_sums / counts, smooth[-1])) / (above + PRIOR_ROWS)
    expected = np.maximum(above * (n / n_pilot), 1e-9)
    target = band.target
    needed = -special_functions().ndtri(band.level) * np.sqrt(target * (1.0 - target) / expected) + 0.5 / expected
    spread = np.sqrt(rate * (1.0 - rate) * (1.0 / expected + 1.0 / counts)) + 1e-9
    chance = np.where(expected < 1.3 * band.least_rows, -np.inf, (rate - target - needed) / spread)
    return int(np.argmax(chance)) if np.isfinite(chance).any() else len(cuts) - 1


def _logistic(feature: Float64s, right: Int64s) -> Float64s:
    """The fitted values of a logistic map, drawn a little to 1/2 and to a slope of 0, so that it exists for any labels."""
    expit, constant, slope = special_functions().expit, 0.0, 0.0
    for _ in range(12):
        values = expit(constant + slope * feature)
        rests, weights = right - values, values * (1.0 - values)
        first, second = rests.sum() - 0.05 * constant, rests @ feature - 0.2 * slope
        a, b, c = weights.sum() + 0.05, weights @ feature, weights @ (feature * feature) + 0.2
        determinant = a * c - b * b
        constant += (c * first - b * second) / determinant
        slope += (a * second - b * first) / determinant
    return np.asarray(expit(constant + slope * feature))


# ---------------------------------------------------------------------- tests


def _seen(band: _Band, rows: Rows) -> tuple[Float64s, Int64s]:
    """Scores of which larger ones belong to the band, ascending, and 1 for each row that it decides rightly."""
    scores = band.sign * rows.scores
    order = np.argsort(scores, kind="stable")
    return scores[order], (rows.labels == (1 if band.name == ACCEPT else 0))[order].astype(np.int64)


def _sequence(band: _Band, pilot: Rows, rest: Rows, cuts: Float64s, *, in_slices: bool) -> list[CutTest]:
    """The tests from the start down to the first that fails, or to the last cut."""
    if len(cuts) == 0:
        return []
    places = np.sort(band.sign * cuts)[::-1]
    start = _start(band, pilot, places, len(rest)) if len(pilot) else 0
    places = places[start:]
    scores, right = _seen(band, rest)
    first = np.searchsorted(scores, places, "right")
    counts = len(scores) - first
    sums = np.append(np.cumsum(right[::-1])[::-1], 0)[first]
    if in_slices:
        counts, sums = np.diff(counts, prepend=0), np.diff(sums, prepend=0)
    bounds = lower_ends(sums, counts, band.level)
    passed = bounds >= band.target
    n_tests = len(places) if passed.all() else int(np.argmin(passed)) + 1
    columns = (band.sign * places, counts, sums, bounds, passed)
    return [CutTest(band.name, *row) for row in zip(*(column[:n_tests].tolist() for column in columns), strict=True)]


def lower_ends(sums: Int64s, counts: Int64s, level: float) -> Float64s:
    """Clopper and Pearson's lower ends at tail `level`; 0 without a success."""
    some = sums > 0
    ends = np.zeros(len(sums))
    if some.any():
        ends[some] = beta_quantile(
            sums[some].astype(np.float64), (counts - sums + 1)[some].astype(np.float64), level, upper=False
        )
    return ends


def _thresholds_of(tests: list[CutTest], scores: Float64s) -> tuple[float, float]:
    """The pair of passed cuts that decides the most rows, and no score twice; of equal ones the middle.

    All passed cuts hold at once with the chance of the sequence, so that any of them may be chosen.
    """
    accepts = sorted((test.threshold for test in tests if test.passed and test.band == ACCEPT), reverse=True)
    rejects = sorted(test.threshold for test in tests if test.passed and test.band == REJECT)
    ascending = np.sort(scores)
    pairs = []
    for above in accepts or [math.inf]:
        below = max((cut for cut in rejects if cut <= above), default=-math.inf)
        n = len(ascending) - int(np.searchsorted(ascending, above, "right")) + int(np.searchsorted(ascending, below, "left"))
        pairs.append((n, above, below))
    most = max(n for n, _, _ in pairs)
    best = [pair for pair in pairs if pair[0] == most]
    _, above, below = best[len(best) // 2]
    return above, below


def _share(share: float, n: int, delta: float, n_bands: int) -> tuple[float, float]:
    """The interval of a share beyond thresholds that the same rows chose: Massart's inequality holds for all at once."""
    if n_bands == 0:
        return 0.0, 0.0
    if n == 0:
        return 0.0, 1.0
    radius = n_bands * math.sqrt(math.log(2.0 / delta) / (2.0 * n))
    return max(0.0, share - radius), min(1.0, share + radius)
