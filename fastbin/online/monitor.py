"""Is the deployed model still calibrated? A test that may be looked at after every outcome."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.checks import (
    as_labels,
    as_scores,
    check_alpha,
    check_labels,
    check_same_length,
    compare_labels,
    refuse_first,
)
from fastbin._base.errors import InputError
from fastbin._base.frames import check_same_index
from fastbin._fit.calibrator import as_model_or_set, as_model_set
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.online.mixture import TwoSidedMixture
from fastbin.online.monitor_report import MonitorReport, as_e_value, report_of
from fastbin.online.monitor_state import MonitorState, log_mean, state_bytes, state_from_bytes
from fastbin.online.state import State
from fastbin.online.streaming import StreamingBinning
from fastbin.online.watched import SET_NOTE, Watched, note_of

if TYPE_CHECKING:
    from typing_extensions import Self


# Entries of the table "evidence of every bin after every row" that are made at a time.
BLOCK_ENTRIES = 2**20


class CalibrationMonitor(State):
    """Watch a deployed model, outcome by outcome; the chance of ever raising a false alarm is at most alpha.

    What is tested: the true rate of every bin lies within `tolerance` of the value that is served. Each bin gathers evidence
    against it, an e-value that grows under drift and stays near or below 1 without; the monitor raises its alarm when the mean
    over the bins reaches 1 / alpha. The e-values are non-negative supermartingales, so by Ville's inequality looking after
    every outcome costs nothing: no number of looks, and no stopping rule, makes false alarms likelier than alpha.

    Parameters
    ----------
    model : BinnedModel, fitted calibrator or ModelSet
        A step model, as it is served, or a set of them; then all their bins are watched together, and `n_bins` is the number of
        the bins of all models, in the order of the set (`ModelSet.first_bin`).
    alpha : float in (0, 1)
        The chance of ever raising a false alarm.
    tolerance : float or array-like of shape (n_bins,)
        How far from the served value a bin's true rate may be before it counts as drift; in a model of two resolutions, from
        the average over its calibration samples of what it serves in the bin (`BinnedModel.bin_values`). With 0, any difference
        is found in the end, that between an estimated value and its true rate included: give what would matter to you, or
        `interval_alpha`.
    interval_alpha : float in (0, 1), optional
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
    For a bin with tolerated interval [l, u], the e-value is the mean of two mixtures of likelihood ratios, over rates above u
    against u and below l against l, with Jeffreys' prior (`fastbin.online.mixture`). Averaging over the bins keeps the
    supermartingale and is never worse than a union bound. A bin is *named* when its own e-value reaches n_bins / alpha: the
    chance that a bin is ever wrongly named is at most alpha, too.

    Evidence is looked at after every outcome, however they are batched, and does not depend on the batches, to the last bit;
    with `update_counts` once after every batch. Cost: a few microseconds and O(n_bins) per outcome; memory O(n_bins).

    Assumes that outcomes are independent given their bins and that which of them arrive does not depend on the outcome itself
    given the bin; late outcomes are fine. Scores that equal an edge which splits ties need the keys that they were served with:
    pass `keys`; without, outcome i gets the key of (seed, i).

    A state that was read from bytes goes on with one model by itself. That of a set holds a digest of the set and not the set:
    give it to `attach` first. Of sets for predicted classes the cell is the predicted class and the outcome whether it was
    right; class-wise sets are refused, as one outcome tells of all classes: watch each class's model by itself.

    Of a model of two resolutions the evidence bins are watched, whose rates are known, and not its steps. Where the mix of
    scores inside a bin moves, the average of what is served there moves too; the monitor does not see that, and compares the
    outcomes with the average at calibration. After label shift that average is not known at the target: `tolerance` is then
    added to all values that the bin serves.

    A long time without drift makes later drift slower to find: evidence must first make up for what was lost. For a fresh look
    begin a new monitor, with a share of alpha of its own.

    Safe to share between threads.

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
    3070
    """

    def __init__(self, model: Any, alpha: float = 0.05, tolerance: Any = 0.0, *, interval_alpha: float | None = None) -> None:
        watched = Watched(as_model_or_set(model))
        alpha = check_alpha(alpha)
        if interval_alpha is not None:
            interval_alpha = check_alpha(interval_alpha, "interval_alpha")
        mixture = TwoSidedMixture(_tolerated(watched, tolerance, interval_alpha))
        state = MonitorState.over(StreamingBinning(watched.partition), mixture)
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

    def belongs_to(self, model: BinnedModel | ModelSet) -> bool:
        """Whether this is the monitor of this model or set; one of a set that was read from bytes goes on with it then."""
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
        self, scores: Any, labels: Any, *, cells: Any = None, keys: Any = None, seed: int | None = None, positive: Any = None
    ) -> bool:
        """Look at a batch of outcomes of any size, in order: all of it, or nothing if a row is refused.

        Parameters
        ----------
        scores : array-like of shape (n,)
            As they were served.
        labels : array-like of shape (n,)
            The outcomes: bool, or numbers that equal 0 or 1.
        cells : array-like of shape (n,), optional
            Of a set, and of a set alone: the key of each row. Keys that the set does not know are refused, also where it scores
            them by its pool: nothing is promised about them.
        keys, seed, positive : optional
            As in `StreamingBinning.update`.

        Returns
        -------
        bool
            Whether the alarm is on: raised by this batch, or before.

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value and the remedy.
        """
        check_same_index(scores=scores, labels=labels, cells=cells, keys=keys)
        labels = compare_labels(labels, positive, is_part=True)
        with self._lock:
            state = self._state.copy()
            counts, ones, _ = state.stream.tally()
            first = state.stream.n_samples
            column = as_scores(scores)
            check_same_length(scores=column, labels=as_labels(labels))
            column, keys = self._require_watched().rows(column, cells, keys, seed, first)
            bins = state.stream._count(column, labels, keys, seed)
            y = check_labels(labels).astype(np.int64)
            size = max(1, BLOCK_ENTRIES // state.stream.n_bins)
            for start in range(0, bins.size, size):
                rows = slice(start, start + size)
                state.look(self._mixture, bins[rows], y[rows], counts, ones, first + start, self.alpha)
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
            Naming the argument, the first bad bin, its value and the remedy. Nothing is counted then.

        Notes
        -----
        The evidence after a batch is a function of the counts alone, and has the bits that `update` gives it after the last of
        the same outcomes. Evidence within the batch is not seen: an alarm that `update` would raise there is raised at the end
        of the batch (`alarm_at` is its last outcome) if the evidence is still as large, else later or never. False alarms
        are no likelier: by Ville's inequality (1939) the evidence ever reaches 1 / alpha with probability at most alpha, so
        the more at the ends of batches alone, if where a batch ends does not depend on outcomes that are yet to come. Both ways
        to update can be mixed. O(n_bins).

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
            now, ones, _ = state.stream.tally()
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
        return self._state.stream.n_samples

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
        return as_e_value(float(log_mean(self._state.log_e[np.newaxis])[0]))

    @property
    def max_e_value(self) -> float:
        """The largest evidence so far."""
        return as_e_value(self._state.max_log_mean)

    def report(self) -> MonitorReport:
        """What was found, for people (``str``) and programs (`MonitorReport.to_dict`). O(n_bins)."""
        watched = self._require_watched()
        with self._lock:
            summary = ("n_samples", "alpha", "interval_alpha", "alarm_at", "e_value", "max_e_value")
            return report_of(watched, self._state, self.tolerated, {name: getattr(self, name) for name in summary})

    def __str__(self) -> str:
        return str(self.report())

    def __repr__(self) -> str:
        state = f"alarm at {self.alarm_at}" if self.alarm else "no alarm"
        return f"CalibrationMonitor(alpha={self.alpha:g}, {self._state.stream.n_bins} bins, {self.n_samples} outcomes, {state})"

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
        """
        monitor = cls.__new__(cls)
        state, mixture, alpha, interval_alpha = state_from_bytes(bytes(data) if isinstance(data, memoryview) else data)
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


def _tolerated(watched: Watched, tolerance: Any, interval_alpha: float | None) -> Float64s:
    """The tested interval of each bin, (n_bins, 2). Value randomisation moves what is served by less than delta."""
    widths, n_bins = np.asarray(tolerance, dtype=np.float64), watched.partition.n_bins
    if widths.shape not in ((), (n_bins,)):
        remedy = f"give one number, or one for each of the {n_bins} bins"
        raise InputError(f"has shape {widths.shape}", remedy, argument="tolerance")
    bad = ~((widths >= 0.0) & (widths <= 1.0))
    if not widths.ndim and bad:
        raise InputError(None, "it must be in [0, 1]", argument="tolerance", value=float(widths))
    refuse_first(bad, "tolerance", widths, "it must be in [0, 1]")
    intervals = watched.served() if interval_alpha is None else watched.interval(interval_alpha)
    widths = widths + watched.delta()
    return np.stack([np.maximum(intervals[:, 0] - widths, 0.0), np.minimum(intervals[:, 1] + widths, 1.0)], axis=1)
