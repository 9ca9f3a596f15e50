"""Is the deployed model still calibrated? A test that may be looked at after every outcome."""

from __future__ import annotations

import math
import sys
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._calibrator import as_model
from fastbin._errors import InputError
from fastbin._scalars import check_alpha
from fastbin._typing import Float64s
from fastbin._validation import check_labels, refuse_first
from fastbin.intervals import beta_binomial, sidak
from fastbin.model import BinnedModel
from fastbin.online.mixture import TwoSidedMixture
from fastbin.online.monitor_report import BinReport, MonitorReport
from fastbin.online.monitor_state import MonitorState, log_mean, state_bytes, state_from_bytes
from fastbin.online.state import State
from fastbin.online.streaming import StreamingBinning

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
    model : BinnedModel or fitted calibrator
        A step model, as it is served.
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
    model : BinnedModel
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

    Evidence is looked at after every outcome, however they are batched, and does not depend on the batches, to the last bit.
    Cost: a few microseconds and O(n_bins) per outcome; memory O(n_bins).

    Assumes that outcomes are independent given their bins and that which of them arrive does not depend on the outcome itself
    given the bin; late outcomes are fine. Scores that equal an edge which splits ties need the keys that they were served with:
    pass `keys`; without, outcome i gets the key of (seed, i).

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
        model = as_model(model)
        if model.kind != "step":
            raise InputError(f"model is a {model.kind!r} model, which has no bins to test; put a binning behind it")
        alpha = check_alpha(alpha)
        if interval_alpha is not None:
            interval_alpha = check_alpha(interval_alpha, "interval_alpha")
        mixture = TwoSidedMixture(_tolerated(model, tolerance, interval_alpha))
        self._set_up(MonitorState.over(StreamingBinning(model), mixture), mixture, alpha, interval_alpha)

    def _set_up(self, state: MonitorState, mixture: TwoSidedMixture, alpha: float, interval_alpha: float | None) -> None:
        self.alpha, self.interval_alpha = alpha, interval_alpha
        self.tolerated = mixture.tolerated
        self.tolerated.flags.writeable = False
        self._lock = Lock()
        self._mixture = mixture
        self._state = state

    # ------------------------------------------------------------------ watching

    def update(self, scores: Any, labels: Any, *, keys: Any = None, seed: int | None = None) -> bool:
        """Look at a batch of outcomes of any size, in order: all of it, or nothing if a row is refused.

        Parameters
        ----------
        scores : array-like of shape (n,)
            As they were served.
        labels : array-like of shape (n,)
            The outcomes: bool, or numbers that equal 0 or 1.
        keys, seed : optional
            Tie keys as in `StreamingBinning.update`.

        Returns
        -------
        bool
            Whether the alarm is on: raised by this batch, or before.

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value and the remedy.
        """
        with self._lock:
            state = self._state.copy()
            counts, ones, _ = state.stream.tally()
            first = state.stream.n_samples
            bins = state.stream._count(scores, labels, keys, seed)
            y = check_labels(labels).astype(np.int64)
            size = max(1, BLOCK_ENTRIES // state.stream.n_bins)
            for start in range(0, bins.size, size):
                rows = slice(start, start + size)
                state.look(self._mixture, bins[rows], y[rows], counts, ones, first + start, self.alpha)
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
    def model(self) -> BinnedModel:
        """The model that is watched."""
        return self._state.stream.partition

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
        return _exp(float(log_mean(self._state.log_e[np.newaxis])[0]))

    @property
    def max_e_value(self) -> float:
        """The largest evidence so far."""
        return _exp(self._state.max_log_mean)

    def report(self) -> MonitorReport:
        """What was found, for people (``str``) and programs (`MonitorReport.to_dict`). O(n_bins)."""
        with self._lock:
            state = self._state
            counts, ones, _ = state.stream.tally()
            columns = {
                "value": self.model.bin_values.tolist(),
                "tolerated": map(tuple, self.tolerated.tolist()),
                "count": counts.tolist(),
                "label_sum": ones.tolist(),
                "interval": map(tuple, beta_binomial(ones, counts, sidak(self.alpha, len(counts))).tolist()),
                "e_value": map(_exp, state.log_e.tolist()),
                "max_e_value": map(_exp, state.max_log_e.tolist()),
                "named_at": (number or None for number in state.named_at.tolist()),
            }
            rows = enumerate(zip(*columns.values(), strict=True))
            bins = tuple(BinReport(bin=b, **dict(zip(columns, row, strict=True))) for b, row in rows)
            summary = ("n_samples", "alpha", "interval_alpha", "alarm_at", "e_value", "max_e_value")
            n_steps = self.model.n_steps if self.model.has_steps else 0
            return MonitorReport(bins=bins, n_steps=n_steps, **{name: getattr(self, name) for name in summary})

    def __str__(self) -> str:
        return str(self.report())

    def __repr__(self) -> str:
        state = f"alarm at {self.alarm_at}" if self.alarm else "no alarm"
        return f"CalibrationMonitor(alpha={self.alpha:g}, {self.model.n_bins} bins, {self.n_samples} outcomes, {state})"

    # ------------------------------------------------------------------ bytes

    def to_bytes(self) -> bytes:
        """The whole state, to go on from, bit for bit: the container of csrc/FORMAT.md, "Monitors"."""
        return state_bytes(self._state, self.alpha, self.interval_alpha, self.tolerated)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """The monitor in these bytes, as `to_bytes` made them; the states of 0.1.0 are read, too.

        Raises
        ------
        FormatError
            If they are foreign, damaged, of a newer format, or a state that counting cannot lead to.
        """
        monitor = cls.__new__(cls)
        monitor._set_up(*state_from_bytes(bytes(data)))
        return monitor


def _tolerated(model: BinnedModel, tolerance: Any, interval_alpha: float | None) -> Float64s:
    """The tested interval of each bin, (n_bins, 2). Value randomisation moves what is served by less than delta."""
    widths = np.asarray(tolerance, dtype=np.float64)
    if widths.shape not in ((), (model.n_bins,)):
        raise InputError(f"tolerance has shape {widths.shape}; give one number, or one for each of the {model.n_bins} bins")
    refuse_first(
        ~((widths >= 0.0) & (widths <= 1.0)),
        lambda b: f"tolerance{f'[{b}]' if widths.ndim else ''} is {float(widths.flat[b])!r}; it must be in [0, 1]",
    )
    intervals = _served(model) if interval_alpha is None else model.interval(interval_alpha)
    widths = widths + model.delta
    return np.stack([np.maximum(intervals[:, 0] - widths, 0.0), np.minimum(intervals[:, 1] + widths, 1.0)], axis=1)


def _served(model: BinnedModel) -> Float64s:
    """What each bin serves on average, (n_bins, 2): one number, or all its values where the mix inside it is not known."""
    if model.has_steps and (model.rates is not None or model.odds_ratio != 1.0):
        return np.stack([extreme.reduceat(model.values, model.first_step) for extreme in (np.minimum, np.maximum)], axis=1)
    return np.stack([model.bin_values, model.bin_values], axis=1)


def _exp(log_e: float) -> float:
    """The e-value of a logarithm; one beyond the largest double is reported as that, which claims less."""
    return math.exp(log_e) if log_e < math.log(sys.float_info.max) else sys.float_info.max
