"""How well decisions do on rows without labels: precision, recall and others, with intervals that hold at once.

A model knows how frequent label 1 is in its bins, and a batch of scores says how many rows lie in each. Sums of these
frequencies are the true and the false positives (docs/guarantees.md, Theorem F22).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s
from fastbin._base.checks import as_scores, check_alpha, check_choice, check_unit_interval, clip_scores
from fastbin._base.errors import GuaranteeError, InputError
from fastbin._base.frames import check_same_index
from fastbin._base.shown import how_many, outwards
from fastbin._base.table import Columns, Table
from fastbin._fit.tally import check_per_bin
from fastbin.decide.thresholds import check_cost
from fastbin.guarantees.certificate import about_ties, label_words, sentences, sureness
from fastbin.guarantees.evidence import has_steps, has_whole_ties, require_interior
from fastbin.guarantees.rising import ranks_of_cuts
from fastbin.intervals.sums import bernstein_slack, divergence_ends
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet, as_model

ABOUT = ("rates", "labels")
# The share of alpha of the rates, where labels are spoken of: they bound the variance of these.
OF_RATES = 0.1
# The share of rows at cuts of slices up to which slices serve: nothing is known of such rows.
MOST_AT_CUTS = 0.01
# Halves of a row: the ends of sums in doubles are moved by so little that nobody sees it.
ROUNDING = 1e-12

STAYS = "the frequency of label 1 in each {} is that of the calibration samples, however the scores of the rows are distributed"
CHOSEN = "which rows there are depends neither on the calibration labels nor on what the model serves"
INDEPENDENT = "given their {} the labels of the rows are independent"


@dataclass(frozen=True, eq=False)
class Performance(Table):
    """How decisions by a threshold do on rows without labels; made by `performance`. ``str()`` says it in a sentence.

    Attributes
    ----------
    threshold : float
        A row counts as positive if it is served at least this probability.
    about : {"rates", "labels"}
        Whether the intervals are for rates in the long run, or for the labels that the rows will show.
    alpha : float
        The chance that any interval misses, of any metric at any threshold.
    n_rows, n_positive : int
        Rows, and those of them that are served at least the threshold.
    n_divided : int
        Rows in the bin, or slice, that the threshold divides: how its label 1 are shared out is not known, only bounded.
    n_unknown : int
        Rows that no calibration sample tells anything of; any labels are allowed for.
    evidence : {"bins", "slices"}
        The parts of the score line by which label 1 was counted.
    estimates : dict of str to float
        By metric: "prevalence", "accuracy", "precision", "recall", "f1" and, with costs, "cost" a row. NaN where it is not
        defined: the precision without a positive row.
    intervals : dict of str to (float, float)
        Their lower and upper ends.
    assumptions : tuple of str
    event : str
    """

    threshold: float
    about: str
    alpha: float
    n_rows: int
    n_positive: int
    n_divided: int
    n_unknown: int
    evidence: str
    estimates: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    assumptions: tuple[str, ...]
    event: str = ""

    def _columns(self) -> Columns:
        return {
            "metric": list(self.estimates),
            "estimate": list(self.estimates.values()),
            "interval": [*self.intervals.values()],
        }

    def _words(self) -> tuple[dict[str, list[str]], int]:
        words, n_text = super()._words()
        return {**words, "interval": [word or "not defined" for word in words["interval"]]}, n_text

    def _about(self) -> str:
        kind = "the labels that they will show" if self.about == "labels" else "rates in the long run"
        told = [
            f"{name} {outwards(low, high, 3)}" for name, (low, high) in self.intervals.items() if low == low and name != "cost"
        ]
        return (
            f"{self.n_positive:,} of {how_many(self.n_rows, 'row')} {'is' if self.n_positive == 1 else 'are'} served at least "
            f"{self.threshold:g} as the probability of {label_words(self.event)}. With probability {sureness(self.alpha)}, for "
            f"{kind}, at once and at every threshold: {', '.join(told)}; if the frequency in each "
            f"{self.evidence.removesuffix('s')} is that of the calibration"
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dicts, lists, strings and numbers, ready for JSON; what is not defined is None."""
        names = ("threshold", "about", "alpha", "n_rows", "n_positive", "n_divided", "n_unknown", "evidence", "event")
        metrics = {
            name: {"estimate": _or_none(self.estimates[name]), "lower": _or_none(low), "upper": _or_none(high)}
            for name, (low, high) in self.intervals.items()
        }
        head = {name: getattr(self, name) for name in names}
        return {**head, "sentence": f"{self._about()}.", "metrics": metrics, "requires": list(self.assumptions)}


def _or_none(number: float) -> float | None:
    return number if number == number else None


def performance(
    model: Any, scores: Any = None, threshold: float = 0.5, *, alpha: float = 0.1, about: str = "rates",
    cost: tuple[float, float] | None = None, counts: Any = None, tie_keys: Any = None, seed: int | None = None,
) -> Performance:  # fmt: skip
    """Prevalence, accuracy, precision, recall, F1 and cost of decisions on rows without labels, with intervals.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
        Fitted to samples with labels, with bins that no label decided.
    scores : array-like of shape (n,)
        Of the rows that are decided about, as in `BinnedModel.predict`; NaN is refused.
    threshold : float in [0, 1]
        A row counts as positive if the model serves it at least this probability.
    alpha : float, from 1e-100 to 1/2
        The chance that any of the intervals misses, of any metric at any threshold: you may look at several.
    about : {"rates", "labels"}
        "rates": precision and the others in the long run, of many such batches. "labels": those that the labels of these very
        rows will show, whose own chance is in the intervals.
    cost : (float, float), optional
        What a false positive and what a false negative costs; the metric "cost" is that of a row, on average.
    counts : array-like of int, shape (n_steps,), optional
        Instead of scores: how many of them lie in each step of the model.
    tie_keys, seed
        As in `BinnedModel.predict`.

    Returns
    -------
    Performance

    Raises
    ------
    GuaranteeError
        Where label sums of bins are not binomial (isotonic and smooth maps, importance weights), for values moved by label
        shift, randomised values, values that fall across the threshold, sets of models, and where the lowest bin is a rest.
    InputError, InputTypeError
        For bad scores, counts, costs, and arguments outside of their range.

    Notes
    -----
    Theorem F22. Scores of the rows may be distributed otherwise than those of the calibration; P(label 1 | bin) must be the
    same, which cannot be seen without labels: watch it by `fastbin.online.CalibrationMonitor` when they come. A model whose
    steps are finer than its bins is judged by its slices where scores are given and hardly any is that of a cut, and then
    P(label 1 | slice) must be the same, which says more; else by its bins. Give all rows that are decided about: rows that were
    chosen by what the model serves, such as those accepted, were chosen by the calibration labels. The part that the threshold
    divides may have its label 1 on either side. O(n + n_bins).

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(3000)
    >>> model = fb.UniformMassBinning(n_bins=10).fit(scores, rng.random(3000) < scores).model_
    >>> found = performance(model, rng.random(2000), 0.5)
    >>> found.n_positive, round(found.estimates["precision"], 2)
    (822, 0.78)
    >>> low, high = found.intervals["precision"]
    >>> round(low, 2), round(high, 2)
    (0.74, 0.82)
    """
    alpha, about = check_alpha(alpha), check_choice(about, "about", ABOUT)
    threshold, cost = check_unit_interval(threshold, "threshold"), None if cost is None else check_cost(cost)
    if isinstance(model, ModelSet):
        raise GuaranteeError(
            f"model is a set of {how_many(len(model), 'model')}, and Theorem F22 is about the bins of one; take each of "
            "set.models with its own rows, at alpha divided by their number"
        )
    fitted = as_model(model)
    is_positive = _positive_steps(fitted, threshold)
    rows = _by_counts(fitted, counts, is_positive, scores=scores, tie_keys=tie_keys, seed=seed) if counts is not None else None
    rows = rows or _by_scores(fitted, scores, is_positive, tie_keys, seed)
    among = _Sums(rows, about, alpha)
    hits, misses, ones = among.of_decisions()
    assumed = STAYS.format(rows.evidence.removesuffix("s")), CHOSEN, *[INDEPENDENT.format(rows.evidence)] * (about == "labels")
    return Performance(
        threshold, about, alpha, rows.n_rows, int(rows.above.sum()), rows.n_divided, rows.n_unknown, rows.evidence,
        _metrics(rows, *rows.estimates(), cost), _ends_of_metrics(rows, hits, misses, ones, cost),
        (*sentences("training"), *assumed, *about_ties(fitted)), fitted.event,
    )  # fmt: skip


def _positive_steps(model: BinnedModel, threshold: float) -> Bools:
    """Which steps are served at least the threshold: the upper ones, or Theorem F22 says nothing."""
    require_interior(model)
    if model.delta > 0.0:
        raise GuaranteeError("values are randomised (delta > 0), so a threshold divides each bin by chance; fit with delta=0")
    is_positive = np.asarray(model.values) >= threshold
    falls = np.flatnonzero(is_positive[:-1] & ~is_positive[1:])
    if len(falls):
        at, values = int(falls[0]), model.values
        raise GuaranteeError(
            f"values fall across the threshold {threshold:g}, from {values[at]:.6g} in step {at} to {values[at + 1]:.6g} in "
            f"step {at + 1}, and Theorem F22 is about decisions that rise with the score; take fb.monotone_model(model), "
            "or fit with monotone=True"
        )
    return is_positive


# ------------------------------------------------------------------------------------------------- rows by cell


class _Decided(NamedTuple):
    """Rows below and above the threshold in each cell of the score line, and what calibration samples tell of the cells."""

    below: Int64s
    above: Int64s
    samples: Int64s  # 0 for a cell of which nothing is known
    least: Float64s  # mean labels; two where a label sum is known up to labels at edges
    most: Float64s
    evidence: str

    @property
    def n_rows(self) -> int:
        """Rows in all."""
        return int(self.below.sum() + self.above.sum())

    @property
    def n_unknown(self) -> int:
        """Rows in cells without a calibration sample."""
        return int((self.below + self.above)[self.samples == 0].sum())

    @property
    def n_divided(self) -> int:
        """Rows in cells that the threshold divides."""
        return int((self.below + self.above)[(self.below > 0) & (self.above > 0)].sum())

    def estimates(self) -> tuple[float, float]:
        """Estimated numbers of label 1 among positive rows, and among the others."""
        known, means = self.samples > 0, (self.least + self.most) / 2.0
        means = np.where(known, means, float(np.average(means, weights=self.samples)) if known.any() else 0.5)
        return float(self.above @ means), float(self.below @ means)


def _by_counts(model: BinnedModel, counts: Any, is_positive: Bools, **of_rows: Any) -> _Decided:
    """From rows that were counted in the steps of the model."""
    for name, value in of_rows.items():
        if value is not None:
            raise InputError(f"is given, and {name} too", "give one of the two", argument="counts")
    called = "steps, as model.step(scores) tells them" if has_steps(model) else "bins"
    by_step = check_per_bin(counts, "counts", model.n_steps, called)
    if not by_step.any():
        raise InputError("are all 0", "count the rows that are decided about", argument="counts")
    starts = np.asarray(model.first_step)
    below, above = (np.add.reduceat(np.where(side, by_step, 0), starts) for side in (~is_positive, is_positive))
    return _Decided(below, above, *_of_bins(model))


def _by_scores(model: BinnedModel, scores: Any, is_positive: Bools, keys: Any, seed: int | None) -> _Decided:
    if scores is None:
        raise InputError("is None", "give the scores of the rows that are decided about, or counts", argument="scores")
    check_same_index(scores=scores, tie_keys=keys)
    steps = model.step(as_scores(scores), tie_keys=keys, seed=seed)
    if len(steps) == 0:
        raise InputError("is empty", "give the scores of the rows that are decided about", argument="scores")
    above = is_positive[steps]
    places = _places_in_slices(model, scores)
    if places is None:
        cells, evidence = np.searchsorted(model.first_step, steps, "right") - 1, _of_bins(model)
    else:
        cells, evidence = places, _of_slices(model)
    size = len(evidence[0])
    by_cell = np.bincount(cells + size * above, minlength=2 * size).reshape(2, size)
    return _Decided(by_cell[0], by_cell[1], *evidence)


def _of_bins(model: BinnedModel) -> tuple[Int64s, Float64s, Float64s, str]:
    interior = require_interior(model)
    if interior.rest is not None and interior.rest.any():
        raise GuaranteeError(
            "the lowest bin is a rest, whose edge is not written as its heaviest score is the lowest of all, and its frequency "
            "has a level of its own (fastbin, Theorem F14), which sums over bins lack; fit UniformMassBinning with "
            "ties='random', or with scheme='ums'"
        )
    means = [reading.label_sums / np.maximum(1, reading.counts) for reading in interior.readings]
    samples = np.min([reading.counts for reading in interior.readings], axis=0)
    return samples, np.min(means, axis=0), np.max(means, axis=0), "bins"


def _of_slices(model: BinnedModel) -> tuple[Int64s, Float64s, Float64s, str]:
    """Slices, and between any two the score of their cut, of which nothing is known."""
    ones: Any = model.slice_label_sums
    samples, means = np.zeros(2 * len(ones) - 1, np.int64), np.zeros(2 * len(ones) - 1)
    samples[::2] = np.diff(ranks_of_cuts(model.n_samples, len(ones))) - 1
    means[::2] = ones / samples[::2]
    return samples, means, means, "slices"


def _places_in_slices(model: BinnedModel, scores: Any) -> Int64s | None:
    """Twice the number of the slice of each row, one more at its upper cut; None where bins serve.

    Labels have no part in that. Where steps are bins no threshold divides a bin, and bins hold more samples. Scores that
    repeat might lie at cuts in the calibration as well, where keys that the model does not keep divided them.
    """
    cuts: Any = model.slice_cuts
    if cuts is None or not has_steps(model) or has_whole_ties(model) or model.n_tied > 0 or (np.diff(cuts) <= 0.0).any():
        return None
    checked = clip_scores(scores, model).astype(np.float64, copy=False)
    left, right = (np.searchsorted(cuts, checked, side) for side in ("left", "right"))
    is_at_cut = left < right
    return left + right if is_at_cut.mean() <= MOST_AT_CUTS else None


# ------------------------------------------------------------------------------------------------- sums of label 1

Ends = tuple[float, float]


class _Sums:
    """Bounds for the number of label 1 in runs of cells, from the lowest one or from the highest one, all at once.

    The threshold is one of served values, which labels have shaped. So all runs that it may choose share alpha.
    """

    def __init__(self, rows: _Decided, about: str, alpha: float) -> None:
        self._rows, self._all, self._about = rows, rows.below + rows.above, about
        self._known = rows.samples > 0
        n_cells = int(np.count_nonzero(self._known & (self._all > 0)))
        n_tails = 2 * max(1, 2 * n_cells - 1)
        share = alpha if about == "rates" else OF_RATES * alpha
        self._of_rates = math.log(n_tails / share)
        self._of_labels = math.log(n_tails / ((1.0 - OF_RATES) * alpha))

    def of_decisions(self) -> tuple[Ends, Ends, Ends]:
        """Label 1 among positive rows, among the others, and among all.

        A cell that the threshold divides belongs to either side as a whole, or, but for its rows on the other side, to this.
        """
        rows, places = self._rows, np.arange(len(self._all))
        is_high, is_low = (places > max(_last(rows.below), -1)), (places < _first(rows.above))
        divided = ~(is_high | is_low)
        n_below, n_above = int(rows.below[divided].sum()), int(rows.above[divided].sum())
        high, low = self._among(is_high), self._among(is_low)
        not_low, not_high = self._among(~is_low), self._among(~is_high)
        hits = max(high[0], not_low[0] - n_below), min(not_low[1], high[1] + n_above)
        misses = max(low[0], not_high[0] - n_above), min(not_high[1], low[1] + n_below)
        return hits, misses, self._among(places >= 0)

    def _among(self, chosen: Bools) -> Ends:
        """Label 1 among the rows of these cells. Those in cells without samples may have any label."""
        taken = chosen & self._known & (self._all > 0)
        n_known, n_all = int(self._all[taken].sum()), int(self._all[chosen].sum())
        if n_known == 0:
            return 0.0, float(n_all)
        weights = self._all[taken] / n_known
        loads = weights / self._rows.samples[taken]
        heaviest, spread = float(loads.max()), float(weights @ loads)
        least, most = (min(1.0, float(weights @ means[taken])) for means in (self._rows.least, self._rows.most))
        lower, upper = divergence_ends(least, most, 1.0 / heaviest, self._of_rates)
        slack = math.sqrt(spread * self._of_rates / 2.0)
        lower, upper = max(lower, least - slack), min(upper, most + slack)
        if self._about == "labels":
            widest, each = min(max(lower, 0.5), upper), 1.0 / n_known
            by_variance = bernstein_slack(widest * (1.0 - widest) * (heaviest + each), max(heaviest, each), self._of_labels)
            slack = min(by_variance, math.sqrt((spread + each) * self._of_labels / 2.0))
            lower, upper = max(0.0, least - slack), min(1.0, most + slack)
        return n_known * lower * (1.0 - ROUNDING), n_known * min(1.0, upper * (1.0 + ROUNDING)) + n_all - n_known


def _last(counts: Int64s) -> int:
    """The last cell with rows; -1 without any."""
    return int(np.flatnonzero(counts)[-1]) if counts.any() else -1


def _first(counts: Int64s) -> int:
    """The first cell with rows; the number of cells without any."""
    return int(np.flatnonzero(counts)[0]) if counts.any() else len(counts)


# ------------------------------------------------------------------------------------------------- metrics


def _metrics(rows: _Decided, hits: float, misses: float, cost: tuple[float, float] | None) -> dict[str, float]:
    """The metrics for these numbers of true positives and of false negatives."""
    n, n_positive = rows.n_rows, int(rows.above.sum())
    n_negative, ones = n - n_positive, hits + misses
    found = {
        "prevalence": ones / n,
        "accuracy": (hits + n_negative - misses) / n,
        "precision": hits / n_positive if n_positive else math.nan,
        "recall": hits / ones if ones > 0.0 else math.nan,
        "f1": 2.0 * hits / (n_positive + ones) if n_positive else math.nan,
    }
    if cost is not None:
        found["cost"] = (cost[0] * (n_positive - hits) + cost[1] * misses) / n
    return found


def _ends_of_metrics(
    rows: _Decided, hits: Ends, misses: Ends, ones: Ends, cost: tuple[float, float] | None
) -> dict[str, tuple[float, float]]:
    """Each metric rises or falls in both numbers, so that its ends are at theirs."""
    worst, best = _metrics(rows, hits[0], misses[1], cost), _metrics(rows, hits[1], misses[0], cost)
    ends = {name: (worst[name], best[name]) for name in worst}
    ends["prevalence"] = max(ones[0], hits[0] + misses[0]) / rows.n_rows, min(ones[1], hits[1] + misses[1]) / rows.n_rows
    if cost is not None:
        ends["cost"] = ends["cost"][::-1]
    least, greatest = ends["recall"]
    if hits[1] + misses[1] > 0.0:  # where one end has no label 1 at all, it is the other numbers that decide
        ends["recall"] = (
            (1.0 if misses[1] == 0.0 else 0.0) if least != least else least,
            0.0 if greatest != greatest else greatest,
        )
    return ends
