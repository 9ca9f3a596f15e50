"""How much the labels of a bin speak against a tolerated interval of rates: one-sided mixtures of likelihood ratios.

For alternatives q above a limit u, and x ones and z zeros seen so far,

    E = integral over q > u of (q / u)^x ((1 - q) / (1 - u))^z dW(q),      W = Beta(1/2, 1/2) restricted to q > u.

Each label multiplies the integrand by a factor whose expectation is at most 1 under every rate p <= u < q, so E is a
non-negative supermartingale that starts at 1, and the chance that it ever reaches 1 / alpha is at most alpha (Ville's
inequality). The same holds below a lower limit by mirroring, and for the mean of the two. In closed form

    ln E = ln B(x + 1/2, z + 1/2) + ln P(Q > u) - x ln u - z ln(1 - u) - ln B(1/2, 1/2) - ln W(q > u),

where Q has the distribution Beta(x + 1/2, z + 1/2).
"""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s, Int32s, Int64s
from fastbin._base.checks import check_alpha
from fastbin._base.dependencies import needed_for
from fastbin._base.errors import FormatError, InputError
from fastbin._core.score import read_monitor, write_monitor
from fastbin.online.pooled import Factors, Starts, until_next
from fastbin.online.streaming import StreamingBinning, is_json

PRIOR = 0.5

# Below this, the logarithm of a tail's probability comes from a continued fraction: the incomplete beta function loses digits
# there, and in the end underflows. The limit is more than ten standard deviations away then, so a few terms suffice.
SMALLEST_TAIL = 1e-30


class TwoSidedMixture:
    """The evidence against `tolerated`, for each bin: the mean of the mixtures above and below.

    Where one side has no alternatives (a limit of 0 or 1), the other has all the weight; where neither has, E is always 1.

    Parameters
    ----------
    tolerated : float64 (n_bins, 2)
        Lower and upper limits, 0 <= lower <= upper <= 1.
    """

    def __init__(self, tolerated: Float64s) -> None:
        self.tolerated = tolerated
        self._below = _Side(tolerated[:, 0], above=False)
        self._above = _Side(tolerated[:, 1], above=True)

    def log_e_values(self, bins: Int32s, ones: Int64s, zeros: Int64s) -> Float64s:
        """ln E of bin `bins[i]` after `ones[i]` labels 1 and `zeros[i]` labels 0.

        Each entry depends on its own three numbers alone, to the last bit, so it does not matter how entries are batched.
        Never -inf; inf when a label was seen that every tolerated rate excludes. O(n), a few microseconds each.
        """
        x, z = ones.astype(np.float64), zeros.astype(np.float64)
        below, above = self._below.log_mixture(bins, x, z), self._above.log_mixture(bins, x, z)
        has_below, has_above = self._below.exists[bins], self._above.exists[bins]
        mean = np.logaddexp(below, above) - np.log(2.0)
        one_side = np.where(has_above, above, np.where(has_below, below, 0.0))
        # Before the first label E is 1, and its logarithm 0 to the last bit also where a tail and its scale are computed in two
        # ways, for limits below 1e-60: the state of a monitor says so of bins without outcomes.
        return np.where(x + z > 0.0, np.where(has_below & has_above, mean, one_side), 0.0)


def _special() -> Any:
    with needed_for("monitors", extra="fit"):
        import scipy.special
    return scipy.special


class _Side:
    """Alternatives on one side of a limit, for each bin."""

    def __init__(self, limits: Float64s, *, above: bool) -> None:
        self.above = above
        self.exists = limits < 1.0 if above else limits > 0.0
        # Bins without alternatives are computed with any limit and never looked at.
        self.limits = np.where(self.exists, limits, 0.5)
        prior = np.full_like(limits, PRIOR)
        self.log_scale = _special().betaln(PRIOR, PRIOR) + np.log(self._tail(prior, prior, self.limits))

    def _tail(self, a: Float64s, b: Float64s, limits: Float64s) -> Float64s:
        """P(Q beyond the limit) for Q ~ Beta(a, b)."""
        tail: Float64s = (_special().betaincc if self.above else _special().betainc)(a, b, limits)
        return tail

    def log_mixture(self, bins: Int32s, x: Float64s, z: Float64s) -> Float64s:
        special = _special()
        limits, a, b = self.limits[bins], x + PRIOR, z + PRIOR
        tail = self._tail(a, b, limits)
        is_far = tail < SMALLEST_TAIL
        log_integral = special.betaln(a, b) + np.log(np.where(is_far, 1.0, tail))
        log_integral = log_integral - special.xlogy(x, limits) - special.xlog1py(z, -limits)
        if is_far.any():
            log_integral[is_far] = self._far(a[is_far], b[is_far], limits[is_far])
        return log_integral - self.log_scale[bins]

    def _far(self, a: Float64s, b: Float64s, limits: Float64s) -> Float64s:
        """The same where nearly all labels speak for the tolerated rates; the large terms cancel on paper."""
        end = b if self.above else a
        p, q, y = (b, a, 1.0 - limits) if self.above else (a, b, limits)
        log_weight = PRIOR * np.log(limits) + PRIOR * np.log1p(-limits)
        return log_weight - np.log(end) + np.log(_incomplete_beta_fraction(p, q, y))


def _incomplete_beta_fraction(p: Float64s, q: Float64s, y: Float64s) -> Float64s:
    """p B(p, q) I_y(p, q) / (y^p (1 - y)^q), for y below p / (p + q), by Lentz's method.

    The continued fraction 8.17.22 of the NIST Digital Library of Mathematical Functions. An entry stops changing when it
    has converged, so that its last bit does not depend on the other entries.
    """
    c, d = np.ones_like(y), 1.0 / (1.0 - (p + q) * y / (p + 1.0))
    value, running = d.copy(), np.ones(y.shape, dtype=np.bool_)
    m = 0
    while running.any():
        m += 1
        even = m * (q - m) * y / ((p + 2 * m - 1.0) * (p + 2 * m))
        odd = -(p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1.0))
        step = np.ones_like(y)
        for coefficient in (even, odd):
            d = 1.0 / (1.0 + coefficient * d)
            c = 1.0 + coefficient / c
            step = step * (c * d)
        value = np.where(running, value * step, value)
        running &= np.abs(step - 1.0) > 4e-16
    return value


# ------------------------------------------------------------------------------------------------- the state of a monitor

# An update works on a copy and puts it in place of the state at its end, so that an interrupted one leaves what was there.

DIGEST_BYTES = 32

# Entries of the table "evidence of every bin after every row" that are made at a time.
BLOCK_ENTRIES = 2**20

# Evidence is computed anew from the counts that were read; its last bits may differ between systems. It is the difference of
# terms that grow with the outcomes, and so does its rounding: to 0.01 at the most that a monitor counts.
ROUNDING, ROUNDING_OF_AN_OUTCOME = 1e-9, 1e-14


@dataclass
class MonitorState:
    """Evidence is in logarithms of e-values. An outcome is known by its number, from 1; 0 stands for none."""

    stream: StreamingBinning
    log_e: Float64s  # of each bin, now
    max_log_e: Float64s
    named_at: Int64s
    max_log_mean: float = 0.0
    alarm_at: int = 0
    seen: tuple[bytes, ...] = field(default=())
    starts: Starts | None = None  # of a state that an earlier version began there are none: its evidence goes on as it was

    @classmethod
    def over(cls, stream: StreamingBinning, mixture: TwoSidedMixture, factors: Factors | None = None) -> MonitorState:
        """The state after what the stream has counted, before any evidence was passed on."""
        counts, ones, _ = stream.tally()
        log_e = mixture.log_e_values(np.arange(stream.n_bins, dtype=np.int32), ones, counts - ones)
        starts = None if factors is None else Starts.first(factors)
        return cls(stream, log_e, np.maximum(log_e, 0.0), np.zeros(stream.n_bins, np.int64), starts=starts)

    def copy(self) -> MonitorState:
        """The same state, none of whose parts is shared."""
        arrays = {name: getattr(self, name).copy() for name in ("log_e", "max_log_e", "named_at")}
        starts = None if self.starts is None else replace(self.starts)  # whose arrays are replaced and never changed
        return replace(self, stream=StreamingBinning.from_bytes(self.stream.to_bytes()), starts=starts, **arrays)

    @property
    def n_classes(self) -> int:
        """In how many classes each outcome is counted: more than one in class-wise sets alone."""
        return 1 if self.starts is None else self.starts.factors.n_classes

    @property
    def n_outcomes(self) -> int:
        return self.stream.n_samples // self.n_classes

    def log_evidence(self) -> float:
        """ln of all evidence now."""
        now = log_mean(self.log_e[np.newaxis])
        return float((now if self.starts is None else self.starts.log_total(now))[0])

    def best_start(self) -> tuple[int, float, float, Any, Any]:
        """The start that has most of the evidence: its outcome, its share of alpha, ln of its evidence, and counts and label
        sums before it."""
        log_now = float(log_mean(self.log_e[np.newaxis])[0])
        if self.starts is None:
            return 0, 1.0, log_now, 0, 0
        best, share, log_best = self.starts.best(log_now, self.n_outcomes)
        if best == 0:
            return 0, share, log_best, 0, 0
        at, counts, ones = (column[best - 1] for column in (self.starts.at, self.starts.counts, self.starts.ones))
        return int(at), share, log_best, counts, ones

    def follow(
        self, mixture: TwoSidedMixture, bins: Int32s, labels: Int64s, counts: Int64s, ones: Int64s, first: int, alpha: float
    ) -> None:
        """Follow the evidence through rows in blocks; `counts` and `ones` are moved on. `first` outcomes came before."""
        k = self.n_classes
        at = 0
        while at < len(bins):
            number = first + at // k
            size = k * max(1, BLOCK_ENTRIES // len(counts) // k)
            if self.starts is not None:  # no start may lie within a block
                size = min(size, k * until_next(number))
            rows = slice(at, at + size)
            self.look(mixture, bins[rows], labels[rows], counts, ones, number, alpha)
            at += size
            if self.starts is not None:
                self.starts.begin_again(counts, ones, first + min(at, len(bins)) // k)

    def look(
        self, mixture: TwoSidedMixture, bins: Int32s, labels: Int64s, counts: Int64s, ones: Int64s, first: int, alpha: float
    ) -> None:
        """Follow the evidence through a block of rows; `counts` and `ones` are moved on."""
        k = self.n_classes
        others = None if self.starts is None else self.starts.follow(bins, labels, counts, ones)
        own_counts, own_ones = running_tally(bins, labels, counts, ones)
        log_e = mixture.log_e_values(bins, own_ones, own_counts - own_ones)
        latest = latest_rows(bins, len(counts))[k - 1 :: k]
        evidence = np.where(latest >= 0, log_e[latest], self.log_e)
        self.log_e = evidence[-1].copy()
        log_means = log_mean(evidence)
        if self.starts is not None:
            log_means = self.starts.log_total(log_means, others)
        self.max_log_mean = max(self.max_log_mean, float(log_means.max()))
        if not self.alarm_at:
            self.alarm_at = first_at_least(log_means, -math.log(alpha), first)
        np.maximum.at(self.max_log_e, bins, log_e)
        needed = math.log(len(counts)) - math.log(alpha)
        for b in np.flatnonzero((self.named_at == 0) & (self.max_log_e >= needed)):
            self.named_at[b] = first_at_least(np.where(bins == b, log_e, -np.inf), needed, first, k)

    def look_at_counts(self, mixture: TwoSidedMixture, counts: Int64s, ones: Int64s, alpha: float) -> None:
        """Look once at all that was counted so far."""
        self.log_e = mixture.log_e_values(np.arange(len(counts), dtype=np.int32), ones, counts - ones)
        self.max_log_e = np.maximum(self.max_log_e, self.log_e)
        if self.starts is not None:
            self.starts.look_at_counts(counts, ones)
        now, number = self.log_evidence(), self.n_outcomes
        self.max_log_mean = max(self.max_log_mean, now)
        if not self.alarm_at and now >= -math.log(alpha):
            self.alarm_at = number
        self.named_at[(self.named_at == 0) & (self.log_e >= math.log(len(counts)) - math.log(alpha))] = number
        if self.starts is not None:
            self.starts.begin_again(counts, ones, number)

    def mark_seen(self, digest: bytes) -> MonitorState:
        """This state with the digest of one more file among those that were counted."""
        if not isinstance(digest, bytes) or len(digest) != DIGEST_BYTES:
            remedy = f"the {DIGEST_BYTES} bytes of a SHA-256 are needed, as digest() gives them"
            raise InputError(None, remedy, argument="digest", value=digest)
        return self if digest in self.seen else replace(self, seen=(*self.seen, digest))


def running_tally(bins: Int32s, labels: Int64s, counts: Int64s, ones: Int64s) -> tuple[Int64s, Int64s]:
    """Count and label sum of its own bin after each row. `counts` and `ones` come from before the first and are moved on."""
    order = np.argsort(bins, kind="stable")
    grouped = bins[order]
    starts = np.searchsorted(grouped, grouped)  # of the row's group
    sums = np.concatenate([[0], np.cumsum(labels[order])])
    own_counts, own_ones = np.empty_like(labels), np.empty_like(labels)
    own_counts[order] = counts[grouped] + np.arange(1, bins.size + 1) - starts
    own_ones[order] = ones[grouped] + sums[1:] - sums[starts]
    counts += np.bincount(bins, minlength=counts.size)
    ones += np.bincount(bins[labels == 1], minlength=ones.size)
    return own_counts, own_ones


def latest_rows(bins: Int32s, n_bins: int) -> Int64s:
    """(rows, n_bins): after each row the latest row of every bin, or -1 where a bin has none yet."""
    rows = np.arange(bins.size)
    latest = np.full((bins.size, n_bins), -1)
    latest[rows, bins] = rows
    np.maximum.accumulate(latest, axis=0, out=latest)
    return latest


def log_mean(log_e: Float64s) -> Float64s:
    """ln of the mean e-value of each row of a table of logarithms. Depends on the row alone, to the last bit."""
    top = log_e.max(axis=1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(over="ignore"):
        total = np.exp(log_e - top).sum(axis=1)
    return np.log(total) + top[:, 0] - math.log(log_e.shape[1])


def first_at_least(values: Float64s, limit: float, first: int, k: int = 1) -> int:
    """The number of the first outcome whose value reaches the limit, 0 if none does.

    Outcomes have k rows each, and are numbered from first + 1.
    """
    reached = values >= limit
    return first + int(np.argmax(reached)) // k + 1 if reached.any() else 0


def state_bytes(state: MonitorState, alpha: float, interval_alpha: float | None, tolerated: Float64s) -> bytes:
    """The container of csrc/FORMAT.md, "Monitors"."""
    starts = state.starts
    pooled: dict[str, Any] = {} if starts is None else {
        "grid": starts.factors.grid, "class_bins": starts.factors.class_bins, "start_at": starts.at,
        "start_weights": starts.weights, "start_counts": starts.counts, "start_ones": starts.ones,
    }  # fmt: skip
    return write_monitor(
        state.stream,
        alpha=alpha,
        interval_alpha=0.0 if interval_alpha is None else interval_alpha,
        tolerated=np.ascontiguousarray(tolerated) + 0.0,
        max_log_mean=state.max_log_mean,
        alarm_at=state.alarm_at,
        max_log_e=state.max_log_e + 0.0,
        named_at=state.named_at,
        seen=b"".join(state.seen),
        **pooled,
    )


def state_from_bytes(data: bytes | bytearray) -> tuple[MonitorState, TwoSidedMixture, float, float | None]:
    """The state in these bytes, the mixture of its tolerated intervals, alpha and interval_alpha."""
    if not data:
        raise FormatError("no bytes: an empty file is not a monitor")
    parts = _from_json(data) if is_json(data) else read_monitor(data)
    stream = StreamingBinning.from_bytes(parts["stream"])
    mixture = TwoSidedMixture(parts["tolerated"])
    state = MonitorState.over(stream, mixture)
    if parts["grid"] is not None:
        factors = Factors(mixture.tolerated, stream.partition.bin_values, parts["grid"], parts["class_bins"])
        counts, ones, _ = stream.tally()
        own = (parts[name] for name in ("start_at", "start_weights", "start_counts", "start_ones"))
        state.starts = Starts.over(factors, counts, ones, *own)
    rounding = ROUNDING + ROUNDING_OF_AN_OUTCOME * stream.n_samples
    if (state.log_e > parts["max_log_e"] + rounding).any() or state.log_evidence() > parts["max_log_mean"] + rounding:
        raise FormatError("the monitor contradicts itself: the largest evidence is below that of the outcomes counted")
    joined = parts["seen"]
    seen = tuple(joined[at : at + DIGEST_BYTES] for at in range(0, len(joined), DIGEST_BYTES))
    state = replace(state, seen=seen, **{name: parts[name] for name in ("max_log_e", "named_at", "max_log_mean", "alarm_at")})
    return state, mixture, parts["alpha"], parts["interval_alpha"] or None


# What fastbin 0.1.0 wrote: JSON with doubles in hexadecimal, and the stream in base 64. It had no checksum.
VERSION_0 = {"format": "fastbin-monitor", "version": 1}


def _from_json(data: bytes | bytearray) -> dict[str, Any]:
    """The parts in a state of 0.1.0. Writing them in the present format checks that they can be a state."""
    try:
        state = json.loads(data)
        if not (isinstance(state, dict) and state.items() >= VERSION_0.items()):
            raise FormatError("not a fastbin monitor: in JSON only those of version 1 are read, which fastbin 0.1.0 wrote")
        interval_alpha = state["interval_alpha"]
        parts: dict[str, Any] = {
            "alpha": check_alpha(float.fromhex(state["alpha"])),
            "interval_alpha": 0.0 if interval_alpha is None else check_alpha(float.fromhex(interval_alpha), "interval_alpha"),
            "tolerated": np.array([[float.fromhex(end) for end in pair] for pair in state["tolerated"]]) + 0.0,
            "max_log_mean": float.fromhex(state["max_log_mean"]),
            "alarm_at": int(state["alarm_at"]),
            "max_log_e": np.array([float.fromhex(log_e) for log_e in state["max_log_e"]]) + 0.0,
            "named_at": np.array(state["named_at"], np.int64),
            "seen": b"",
        }
        stream = base64.b64decode(state["stream"], validate=True)
        return read_monitor(write_monitor(StreamingBinning.from_bytes(stream), **parts))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"not a fastbin monitor, or damaged: {error}") from error
