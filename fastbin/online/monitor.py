"""Is the deployed model still calibrated? A test that may be looked at after every outcome."""

from __future__ import annotations

import hashlib
import math
from functools import cached_property
from numbers import Real
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._base import html
from fastbin._base.array_types import Float64s, Int32s, Int64s, UInt8s
from fastbin._base.cells import Key
from fastbin._base.checks import (
    as_labels,
    as_scores,
    check_alpha,
    check_labels,
    check_number,
    check_same_event,
    check_same_length,
    check_seed,
    compare_labels,
    refuse_first,
)
from fastbin._base.errors import InputError, InputTypeError, Wording
from fastbin._base.files import as_bytes
from fastbin._base.frames import check_same_index
from fastbin._base.shown import how_many
from fastbin._base.suspicions import log_choices
from fastbin._core.fit import row_keys
from fastbin._fit.calibrator import as_model_or_set, as_model_set
from fastbin.guarantees.certificate import name_cell
from fastbin.guarantees.evidence import is_moved, is_of_batch, refuse_designs
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.online.evidence import MonitorState, TwoSidedMixture, state_bytes, state_from_bytes
from fastbin.online.monitor_report import MonitorReport, as_e_value, report_of
from fastbin.online.pooled import GRID, Factors
from fastbin.online.streaming import State, StreamingBinning

if TYPE_CHECKING:
    from typing_extensions import Self

# A set is counted in a step model whose bins are those of all its models one after the other (`ModelSet.first_bin`): bin b
# holds the "scores" from b to b + 1. Evidence, states and their bytes know bins by number alone. The note of the step model
# names the set by a digest, so that a state is never continued with another.
SET_NOTE = "bins of the set of models with SHA-256 "


class Watched:
    """The model or the set that a monitor watches. Bins are numbered through."""

    def __init__(self, model: BinnedModel | ModelSet) -> None:
        for name, own in model.numbered:
            if own.kind != "step":
                problem, is_set = f"is a {own.kind!r} model, which has no bins to test", model.is_set
                problem = f"the model of {name_cell(name)} {problem}" if is_set else problem
                raise InputError(problem, "put a binning behind it", argument=None if is_set else "model")
        self.model = model
        self._models = [own for _, own in model.numbered]

    @cached_property
    def partition(self) -> BinnedModel:
        """The step model whose bins are counted in."""
        model = self.model
        if not model.is_set:
            return model
        return BinnedModel.from_parts(
            edges=np.arange(1.0, model.n_bins), values=self.values(), score_range=(0.0, float(model.n_bins)), scheme="explicit",
            note=note_of(model),
        )  # fmt: skip

    @property
    def n_steps(self) -> int:
        """The number of values, where they are finer than the bins; else 0."""
        return sum(own.n_steps for own in self._models) if any(own.has_steps for own in self._models) else 0

    @property
    def places(self) -> list[tuple[Key | None, int]]:
        """For each bin the key of its model (None for a lone model and for a pool), and its number there."""
        return [(name, b) for name, own in self.model.numbered for b in range(own.n_bins)]

    @property
    def class_bins(self) -> Int64s:
        """The bins of each class, where an outcome is one of every class; else all bins as those of one."""
        own = [model.n_bins for model in self._models]
        return np.array(own if self.model.kind == "class-wise" else [sum(own)], np.int64)

    def values(self) -> Float64s:
        """The average of what each bin serves."""
        return np.concatenate([own.bin_values for own in self._models])

    def tolerated(self, tolerance: Any, interval_alpha: float | None) -> Float64s:
        """The tested interval of each bin, (n_bins, 2). Value randomisation moves what is served by less than delta."""
        widths, n_bins = _as_widths(tolerance), self.partition.n_bins
        if widths.shape not in ((), (n_bins,)):
            remedy = f"give one number, or one for each of the {n_bins} bins"
            raise InputError(f"has shape {widths.shape}", remedy, argument="tolerance")
        bad = ~((widths >= 0.0) & (widths <= 1.0))
        if not widths.ndim and bad:
            raise InputError(None, "it must be in [0, 1]", argument="tolerance", value=float(widths))
        refuse_first(bad, "tolerance", widths, "it must be in [0, 1]")
        if interval_alpha is None:  # one number, or all values of the bin where the mix inside it is not known
            intervals = np.concatenate([_served(own) for own in self._models])
        else:
            for own in self._models:
                if is_of_batch(own):
                    refuse_designs(own, "a monitor of new rows")
            intervals = self.model.interval(interval_alpha)
            intervals = np.concatenate(intervals) if self.model.is_set else intervals
        widths = widths + np.concatenate([np.full(own.n_bins, own.delta) for own in self._models])
        return np.stack([np.maximum(intervals[:, 0] - widths, 0.0), np.minimum(intervals[:, 1] + widths, 1.0)], axis=1)

    def rows(self, scores: Any, labels: Any, cells: Any, keys: Any, seed: int | None, first: int) -> tuple[Any, Any]:
        """Scores and tie keys of rows, as the stream in `partition` takes them; `first` outcomes came before."""
        models, k = self.model, len(self.class_bins)
        if not models.is_set:
            if cells is not None:
                raise InputError("is given, and the monitor watches one model and no set", "leave cells out", argument="cells")
            return scores, keys
        if cells is None:
            raise InputError("is missing", "the monitor watches a set, so give the key of every row", argument="cells")
        if keys is None:  # that of an outcome, in all its classes
            keys = np.repeat(row_keys(0 if seed is None else check_seed(seed), -(-len(scores) // k), first), k)
            keys = keys[: len(scores)]
        bins = models.assign_all(scores, cells, tie_keys=keys)
        if (bins < 0).any():
            at = int(np.argmax(bins < 0))
            cell = np.asarray(cells, dtype=object)[at]
            known = f"which is none of the {len(models)} keys of the set, and nothing is promised about such rows"
            raise InputError(f"is {cell!r}, {known}", "leave them out", argument="cells", at=at, value=cell)
        if k > 1:
            self._check_outcomes(models.cells, models.find(cells), check_labels(labels))
        return bins + 0.5, None

    def _check_outcomes(self, classes: tuple[Key, ...], numbers: Int32s, labels: UInt8s) -> None:
        """Refuse rows that are not one for each class of every outcome, of which one class is the true one."""
        k = len(self.class_bins)
        remedy = f"give the {k} rows of every outcome, one for each class, one after the other"
        if len(numbers) % k:
            raise InputError(f"has {len(numbers)} rows, and an outcome has {k}", remedy, argument="cells")
        wrong = (np.sort(numbers.reshape(-1, k), axis=1) != np.arange(k)).any(axis=1)
        if wrong.any():
            at = k * int(np.argmax(wrong))
            told = ", ".join(repr(classes[number]) for number in numbers[at : at + min(k, 5)])
            raise InputError(f"begins an outcome whose rows are of {told}", remedy, argument="cells", at=at)
        sums = labels.reshape(-1, k).sum(axis=1)
        if (sums != 1).any():
            at = k * int(np.argmax(sums != 1))
            problem = f"begins an outcome that is of {sums[at // k]} classes"
            remedy = "the label is 1 in the row of the true class and 0 in the others"
            raise InputError(problem, remedy, argument="labels", at=at)

    def check_totals(self, counts: Int64s) -> None:
        """Refuse counts of a class-wise set that are not of the same outcomes in every class."""
        classes, sizes = [name for name, _ in self.model.numbered], self.class_bins
        sums = np.add.reduceat(counts, np.cumsum(sizes) - sizes)
        if (sums != sums[0]).any():
            at = int(np.argmax(sums != sums[0]))
            problem = f"has {sums[at]} outcomes of {classes[at]!r}, and {sums[0]} of {classes[0]!r}"
            raise InputError(problem, "every outcome counts once in each class", argument="counts")


def _as_widths(tolerance: Any) -> Float64s:
    """Tolerances as numbers, none made of text, truth values or nothing."""
    try:
        given = np.asarray(tolerance)
    except ValueError as error:
        remedy = "give one number, or one for each bin"
        raise InputTypeError(f"is not an array of numbers: {error}", remedy, argument="tolerance") from error
    if not given.ndim:
        return np.array(check_number(given.item(), "tolerance"))
    if given.dtype.kind not in "iuf":
        for at, each in enumerate(given.ravel().tolist()):
            if isinstance(each, bool) or not isinstance(each, Real):
                remedy = "give numbers in [0, 1]"
                raise InputTypeError(f"is {each!r}, not a number", remedy, argument="tolerance", at=at, value=each)
    return given.astype(np.float64)


def _served(model: BinnedModel) -> Float64s:
    if model.has_steps and is_moved(model):
        return np.stack([extreme.reduceat(model.values, model.first_step) for extreme in (np.minimum, np.maximum)], axis=1)
    return np.stack([model.bin_values, model.bin_values], axis=1)


# A batch is taken for sorted by label where chance would leave it so less often than this.
CHANCE_OF_SORTED = 1e-12


def refuse_sorted(bins: Int32s, labels: Int64s) -> None:
    """Refuse rows of which those with one label stand together in every bin, so that their order shows what labels do not.

    So they do in rows that are sorted by label or by the true class. While a rate stays as it is, all orders of x ones among n
    labels of a bin are equally likely, and in n of them those of one label stand together.
    """
    if not 0 < int(labels.sum()) < len(labels):
        return
    order = np.argsort(bins, kind="stable")
    grouped, is_change = bins[order][1:], np.diff(labels[order]) != 0
    is_change &= grouped == bins[order][:-1]
    mixed, n_changes = np.unique(grouped[is_change], return_counts=True)
    if n_changes.max(initial=0) > 2:
        return
    tallies = np.stack([np.bincount(bins)[mixed], np.bincount(bins, labels)[mixed]], axis=1).tolist()
    if sum(math.log(n) - log_choices(n, x) for n, x in tallies) < math.log(CHANCE_OF_SORTED):
        problem = "are sorted: in every bin those with one of the labels stand together"
        remedy = "the order of rows counts as that in which the outcomes came: give it, or shuffle them"
        changed = "; if all rates did change at once, count the rows before that and those after it apart"
        raise InputError(problem, (remedy, Wording(", or use update_counts", ""), changed), argument="labels")


def note_of(models: ModelSet) -> str:
    """The note of the step model in which a set is counted."""
    return SET_NOTE + hashlib.sha256(models.to_bytes()).hexdigest()


# Up to so many outcomes rounding moves the logarithm of evidence by less than 0.01; at a thousand times as many, by 10.
MOST_OUTCOMES = 2**40


def require_exact(state: MonitorState) -> None:
    """Refuse a state with more outcomes than evidence can be computed from."""
    counted = state.stream.n_samples
    if counted > MOST_OUTCOMES:
        problem = f"there would be {counted:,} outcomes in the monitor, and rounding spoils evidence of more than 2**40"
        raise InputError(problem, "begin a new monitor")


class CalibrationMonitor(State):
    """Watch a deployed model, outcome by outcome; the chance of ever raising a false alarm is at most alpha.

    What is tested: the true rate of every bin lies within `tolerance` of the value that is served. Single bins, and all bins
    together, gather evidence against it: e-values that grow under drift and stay near or below 1 without. The monitor raises
    its alarm when their weighted mean reaches 1 / alpha. The e-values are non-negative supermartingales, so by Ville's
    inequality looking after every outcome costs nothing: no number of looks, and no stopping rule, makes false alarms likelier
    than alpha.

    Parameters
    ----------
    model : BinnedModel, fitted calibrator or ModelSet
        A step model, as it is served, or a set of them; then all their bins are watched together, and `n_bins` is the number of
        the bins of all models, in the order of the set (`ModelSet.first_bin`).
    alpha : float in (0, 1/2]
        The chance of ever raising a false alarm.
    tolerance : float or array-like of shape (n_bins,)
        How far from the served value a bin's true rate may be before it counts as drift; in a model of two resolutions, from
        the average over its calibration samples of what it serves in the bin (`BinnedModel.bin_values`). With 0, any difference
        is found in the end, that between an estimated value and its true rate included: give what would matter to you, or
        `interval_alpha`.
    interval_alpha : float in (0, 1/2], optional
        Tolerate the model's own intervals at this level (`BinnedModel.interval`) instead of its values, widened by
        `tolerance`: the test is then "every bin's rate is still in its interval", and the chance of a false alarm at most
        interval_alpha + alpha.

    Attributes
    ----------
    model : BinnedModel or ModelSet
    tolerated : float64 (n_bins, 2)
        The interval that is tested for each bin.
    n_samples : int
        Outcomes seen so far.
    alarm : bool
        Whether the alarm was raised. It stays on.
    alarm_at : int or None
        The outcome (from 1) at which it was raised.
    e_value, max_e_value : float
        The evidence now, and the largest so far; without drift the chance that it ever reaches x is at most 1 / x.

    See Also
    --------
    StreamingBinning : counts the same outcomes to learn new values.

    Notes
    -----
    By Theorem F26 (docs/guarantees.md). For a bin with tolerated interval [l, u], the own e-value is the mean of two mixtures
    of likelihood ratios, over rates above u against u and below l against l, with Jeffreys' prior (`fastbin.online.evidence`).
    Half of the evidence is their mean over the bins, half is pooled: the mean over 14 ways in which the log odds of all bins
    can move (`fastbin.online.pooled`). Evidence also begins again every 1,000 outcomes, with smaller shares, so that drift
    after a long time without is found as well; eight such starts are kept. A bin is *named* when its own e-value since the
    first outcome reaches n_bins / alpha: the chance that a bin is ever wrongly named is at most alpha, too.

    Evidence is looked at after every outcome, however they are batched, and does not depend on the batches, to the last bit;
    with `update_counts` once after every batch. Cost: about ten microseconds and O(n_bins) per outcome, up to three times that
    without later starts; memory O(n_bins).

    Assumes that outcomes are independent given their bins, and that which of them arrive, and in which order, does not depend
    on the outcome itself given the bin; late outcomes are fine. The rows of a batch are in the order in which the outcomes came
    or in any other that says nothing of the labels. A batch that is plainly sorted by label is refused; `update_counts` takes
    it. Scores that equal an edge which splits ties need the keys that they were served with: pass `tie_keys`; without, outcome
    i gets the key of (seed, i).

    A state that was read from bytes goes on with one model by itself. That of a set holds a digest of the set and not the set:
    give it to `attach` first. In sets for predicted classes the cell is the predicted class and the outcome whether it was
    right. In a class-wise set an outcome has a row for each class, one after the other: the cell is the class, and the label is
    1 for the true one. Evidence is then pooled within classes, and averaged over them.

    Of a model of two resolutions the evidence bins are watched, whose rates are known, and not its steps. Where the mix of
    scores inside a bin moves, the average of what is served there moves too; the monitor does not see that, and compares the
    outcomes with the average at calibration. After label shift that average is not known at the target: `tolerance` is then
    added to all values that the bin serves.

    A state that fastbin 0.1.0 wrote goes on with the mean of the bins' own evidence since its first outcome, as it was begun.

    Safe to share between threads, but not over a fork: where a process forks while another of its threads counts, the child
    waits for ever for a lock that the thread held. Give the child the state, by `to_bytes` and `from_bytes`.

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(3000)
    >>> cal = fb.UniformMassBinning(n_bins=5).fit(scores, rng.random(3000) < scores)
    >>> monitor = fb.online.CalibrationMonitor(cal, alpha=0.05, tolerance=0.05)
    >>> later = rng.random(2000)
    >>> monitor.update(later, rng.random(2000) < later)             # nothing has changed
    False
    >>> monitor.update(later, rng.random(2000) < 0.7 * later)       # outcomes have become rarer
    True
    >>> monitor.alarm_at
    2337
    """

    def __init__(self, model: Any, alpha: float = 0.05, tolerance: Any = 0.0, *, interval_alpha: float | None = None) -> None:
        watched = Watched(as_model_or_set(model))
        alpha = check_alpha(alpha)
        if interval_alpha is not None:
            interval_alpha = check_alpha(interval_alpha, "interval_alpha")
        mixture = TwoSidedMixture(watched.tolerated(tolerance, interval_alpha))
        factors = Factors(mixture.tolerated, watched.values(), GRID, watched.class_bins)
        state = MonitorState.over(StreamingBinning(watched.partition), mixture, factors)
        self._set_up(state, mixture, alpha, interval_alpha, watched)

    def _set_up(
        self, state: MonitorState, mixture: TwoSidedMixture, alpha: float, interval_alpha: float | None, watched: Watched | None
    ) -> None:
        self.alpha, self.interval_alpha = alpha, interval_alpha
        self.tolerated = mixture.tolerated
        self.tolerated.flags.writeable = False
        self._lock = Lock()
        self._mixture = mixture
        self._state = state
        self._watched = watched

    def attach(self, models: Any) -> Self:
        """Go on with the set that the monitor was begun with, after its state was read from bytes; returns self.

        Parameters
        ----------
        models : ModelSet, or fitted estimator of `fastbin.multi`

        Raises
        ------
        InputError
            If it is another set, or the monitor watches one model.
        """
        if not self.belongs_to(as_model_set(models)):
            remedy = "a state goes on with its own set alone"
            raise InputError("is not what this monitor was begun with", remedy, argument="models")
        return self

    def belongs_to(self, model: Any) -> bool:
        """Whether this is the monitor of this model or set; one of a set that was read from bytes goes on with it then.

        A fitted calibrator stands for its model. InputTypeError for anything else.
        """
        model = as_model_or_set(model)
        if self._watched is not None or not model.is_set:
            return self._watched is not None and self._watched.model == model
        if self._state.stream.partition.note != note_of(model):
            return False
        self._watched = Watched(model)
        return True

    def _require_watched(self) -> Watched:
        if self._watched is None:
            raise InputError("this state is that of a set of models, which it does not hold", "give the set to attach() first")
        return self._watched

    # ------------------------------------------------------------------ watching

    def update(
        self,
        scores: Any,
        labels: Any,
        *,
        cells: Any = None,
        tie_keys: Any = None,
        seed: int | None = None,
        positive: Any = None,
    ) -> bool:
        """Look at a batch of outcomes of any size, in their order: all of it, or nothing if a row is refused.

        Parameters
        ----------
        scores : array-like of shape (n,)
            As they were served.
        labels : array-like of shape (n,)
            The outcomes: bool, or numbers that equal 0 or 1.
        cells : array-like of shape (n,), optional
            Of a set, and of a set alone: the key of each row. Keys that the set does not know are refused, also where it scores
            them by its pool: nothing is promised about them.
        tie_keys, seed, positive : optional
            As in `StreamingBinning.update`.

        Returns
        -------
        bool
            Whether the alarm is on: raised by this batch, or before.

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value and the remedy; for a batch that is sorted by label; beyond
            2**40 outcomes in all, of which a class-wise set counts each once in every class.
        """
        check_same_index(scores=scores, labels=labels, cells=cells, tie_keys=tie_keys)
        check_same_event(self.model.event, positive)
        labels = compare_labels(labels, positive, is_part=True)
        with self._lock:
            state = self._state.copy()
            counts, ones, _ = state.stream.tally()
            first = state.n_outcomes
            column = as_scores(scores)
            check_same_length(scores=column, labels=as_labels(labels))
            column, tie_keys = self._require_watched().rows(column, labels, cells, tie_keys, seed, first)
            bins, outcomes = state.stream._count(column, labels, tie_keys, seed), check_labels(labels).astype(np.int64)
            require_exact(state)
            refuse_sorted(bins, outcomes)
            state.follow(self._mixture, bins, outcomes, counts, ones, first, self.alpha)
            self._state = state
            return self.alarm

    def update_counts(self, counts: Any, label_sums: Any) -> bool:
        """Look once at a batch of outcomes of which only the counts of each bin are known, such as those of a day.

        A batch can be counted where it is (`fastbin.engines.count`), and no outcome has to be brought here.

        Parameters
        ----------
        counts, label_sums : array-like of int, shape (n_bins,)
            New outcomes in each bin, and those of them that are 1; of a set in the bins of all its models, in its order
            (`ModelSet.first_bin`).

        Returns
        -------
        bool
            Whether the alarm is on: raised by this batch, or before.

        Raises
        ------
        InputError, InputTypeError
            Naming the argument, the first bad bin, its value and the remedy; beyond 2**40 outcomes in all, as in `update`.
            Nothing is counted then.

        Notes
        -----
        Each bin's evidence after a batch is a function of the counts alone, and has the bits that `update` gives it after the
        last of the same outcomes; so has all evidence, where it has begun again at the same outcomes (after a batch in which
        1,000 outcomes have become full). Evidence within the batch is not seen: an alarm that `update` would raise there is
        raised at the end of the batch (`alarm_at` is its last outcome) if the evidence is still as large, else later or never.
        False alarms do not become likelier: by Ville's inequality (1939) the evidence reaches 1 / alpha with probability at
        most alpha, so the more at the ends of batches alone, if where a batch ends does not depend on outcomes that are yet to
        come. Both ways to update can be mixed. O(n_bins).

        Examples
        --------
        >>> import fastbin as fb
        >>> model = fb.BinnedModel.from_parts(edges=[0.5], values=[0.2, 0.7], scheme="explicit")
        >>> monitor = fb.online.CalibrationMonitor(model, tolerance=0.05)
        >>> monitor.update_counts([1000, 1000], [210, 690])
        False
        >>> monitor.update_counts([1000, 1000], [200, 400])
        True
        >>> monitor.alarm_at
        4000
        """
        with self._lock:
            state = self._state.copy()
            state.stream.update_counts(counts, label_sums)
            require_exact(state)
            now, ones, _ = state.stream.tally()
            if state.n_classes > 1:
                self._require_watched().check_totals(now - self._state.stream.tally()[0])
            state.look_at_counts(self._mixture, now, ones, self.alpha)
            self._state = state
            return self.alarm

    @property
    def seen(self) -> tuple[bytes, ...]:
        """The digests given to `mark_seen`, in that order."""
        return self._state.seen

    def mark_seen(self, digest: bytes) -> None:
        """Keep the SHA-256 digest (32 bytes) of a file whose outcomes were counted, to recognise it if it comes again.

        The monitor itself looks at no digest: whoever reads files asks whether theirs is among `seen` (as ``fastbin monitor``
        does). One that is there already changes nothing.
        """
        with self._lock:
            self._state = self._state.mark_seen(digest)

    # ------------------------------------------------------------------ what is known so far

    @property
    def model(self) -> BinnedModel | ModelSet:
        """The model or the set that is watched."""
        return self._require_watched().model

    @property
    def n_samples(self) -> int:
        """The outcomes seen so far."""
        return self._state.n_outcomes

    @property
    def alarm(self) -> bool:
        """Whether the alarm was raised."""
        return self._state.alarm_at > 0

    @property
    def alarm_at(self) -> int | None:
        """The outcome, counted from 1, at which the alarm was raised."""
        return self._state.alarm_at or None

    @property
    def e_value(self) -> float:
        """The evidence against calibration now."""
        return as_e_value(self._state.log_evidence())

    @property
    def max_e_value(self) -> float:
        """The largest evidence so far."""
        return as_e_value(self._state.max_log_mean)

    def report(self) -> MonitorReport:
        """The findings, for people (``str``) and programs (`MonitorReport.to_dict`). O(n_bins)."""
        watched = self._require_watched()
        with self._lock:
            summary = ("n_samples", "alpha", "interval_alpha", "alarm_at", "e_value", "max_e_value")
            return report_of(watched, self._state, self.tolerated, {name: getattr(self, name) for name in summary})

    def __str__(self) -> str:
        return self._unattached or str(self.report())

    def _repr_html_(self) -> str:
        return html.notebook(html.paragraph(self._unattached)) if self._unattached else self.report()._repr_html_()

    @property
    def _unattached(self) -> str:
        """The sentence in place of a report on a set that is not here; "" where the bins are known."""
        told = "it does not hold the set of models that it is of; give this to attach() to see the bins"
        return f"{self!r}: {told}." if self._watched is None else ""

    def __repr__(self) -> str:
        state = f"alarm at {self.alarm_at}" if self.alarm else "no alarm"
        bins, outcomes = how_many(self._state.stream.n_bins, "bin"), how_many(self.n_samples, "outcome")
        return f"CalibrationMonitor(alpha={self.alpha:g}, {bins}, {outcomes}, {state})"

    # ------------------------------------------------------------------ bytes

    def to_bytes(self) -> bytes:
        """The whole state, to go on from, bit for bit: the container of csrc/FORMAT.md, "Monitors"."""
        return state_bytes(self._state, self.alpha, self.interval_alpha, self.tolerated)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """The monitor in these bytes, as `to_bytes` made them; the states of 0.1.0 are read, too. For a set, see `attach`.

        Raises
        ------
        FormatError
            If they are foreign, damaged, of a newer format, or a state that counting cannot lead to.
        InputTypeError
            For what is not bytes.
        """
        monitor = cls.__new__(cls)
        state, mixture, alpha, interval_alpha = state_from_bytes(bytes(as_bytes(data)))
        partition = state.stream.partition
        watched = None if partition.note.startswith(SET_NOTE) else Watched(partition)
        monitor._set_up(state, mixture, alpha, interval_alpha, watched)
        return monitor

    def __reduce__(self) -> tuple[Any, ...]:
        attached = self._watched.model if self._watched is not None else None
        if attached is not None and attached.is_set:
            return _restored, (type(self), self.to_bytes(), attached)
        return super().__reduce__()


def _restored(kind: type[CalibrationMonitor], data: bytes, models: ModelSet) -> CalibrationMonitor:
    """A pickled monitor of a set, which has its set with it."""
    return kind.from_bytes(data).attach(models)
