"""The findings of a monitor at one moment: in sentences, as a table of its bins, and as plain numbers."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import SMALLEST_LEVEL
from fastbin._base.shown import how_many, outwards, rounded, rounded_up
from fastbin._base.table import Columns, Table
from fastbin._model.view import title_of_cell
from fastbin.guarantees.certificate import name_cell, sureness
from fastbin.intervals import beta_binomial, sidak
from fastbin.online.evidence import MonitorState

if TYPE_CHECKING:
    from fastbin.online.monitor import Watched

MOST_BINS_NAMED = 8


@dataclass(frozen=True)
class BinReport:
    """One bin of a watched model.

    Attributes
    ----------
    bin : int
        From 0; of a set, within its model.
    value : float
        What the model serves in this bin; of a model of two resolutions the average over its calibration samples.
    tolerated : (float, float)
        The interval in which the true rate is tested to be.
    count, label_sum : int
        Outcomes seen in the bin, and of these, outcomes 1.
    interval : (float, float)
        For the rate of the bin on average since the monitor began, which is not its rate now where that has changed. At every
        number of outcomes and in all bins at once with probability 1 - alpha, by theorem if the rate was the same throughout;
        in simulation the average of changing rates was missed no oftener. `value` minus its ends is how large the gap was.
    e_value, max_e_value : float
        Evidence of the bin's own outcomes against the tolerated interval, now and at most so far; at most the largest double.
    count_since, label_sum_since, interval_since
        The same as `count`, `label_sum` and `interval` since the start of the evidence that shows most (`best_start` of the
        report). The intervals since all later starts hold at once with probability 1 - alpha of their own.
    named_at : int or None
        The outcome of the stream (from 1) at which this bin's own evidence reached n_bins / alpha: when it was
        established that this bin has drifted; the drift itself began earlier. The chance that any bin is ever wrongly named
        is at most alpha.
    cell : int, str or None
        Of a set, the key of the bin's model, None for the pool. None for one model.
    """

    bin: int
    value: float
    tolerated: tuple[float, float]
    count: int
    label_sum: int
    interval: tuple[float, float]
    count_since: int
    label_sum_since: int
    interval_since: tuple[float, float]
    e_value: float
    max_e_value: float
    named_at: int | None
    cell: int | str | None = None

    @property
    def rate(self) -> float | None:
        """The share of outcomes 1; None without outcomes."""
        return self.label_sum / self.count if self.count else None

    def in_words(self, *, of_set: bool = False, best_start: int = 0) -> str:
        """The bin, what it serves, and what was seen; `of_set`: with the cell; from `best_start` on, if that is not 0."""
        place = f"bin {self.bin} of {name_cell(self.cell)}" if of_set else f"bin {self.bin}"
        since = f", and since outcome {best_start:,} between {outwards(*self.interval_since, 3, 'and')}"
        return (
            f"{place} serves {rounded(self.value, 3)}, and since the monitor began its true rate was on average between "
            f"{outwards(*self.interval, 3, 'and')}{since if best_start else ''}"
        )

    def __str__(self) -> str:
        return self.in_words(of_set=self.cell is not None)


@dataclass(frozen=True)
class MonitorReport(Table):
    """The state of a `CalibrationMonitor` at one moment; ``str()`` says it in a few sentences.

    It is a table of the bins, too: shown in notebooks, iterated over, and turned into data frames.

    Attributes
    ----------
    n_samples : int
        Outcomes seen.
    alpha : float
        The chance of ever raising a false alarm (on top of `interval_alpha`, if that was given).
    interval_alpha : float or None
        The level of the model's own intervals, where these are tolerated.
    alarm_at : int or None
        The outcome (from 1) at which the alarm was raised.
    e_value, max_e_value : float
        The evidence of all bins and starts, now and at most so far; the alarm is raised at 1 / alpha.
    best_start : int
        The evidence also begins again every 1,000 outcomes. This many outcomes came before the start that has most of it now;
        0: since the monitor began.
    best_e_value : float
        The evidence since that start alone.
    bins : tuple of BinReport
    n_steps : int
        Of a model of two resolutions the number of its values, which are more than its bins; else 0.
    is_set : bool
        Whether the bins are those of all models of a set.
    """

    n_samples: int
    alpha: float
    interval_alpha: float | None
    alarm_at: int | None
    e_value: float
    max_e_value: float
    best_start: int
    best_e_value: float
    bins: tuple[BinReport, ...]
    n_steps: int = 0
    is_set: bool = False

    @property
    def alarm(self) -> bool:
        """Whether the alarm was raised."""
        return self.alarm_at is not None

    @property
    def named(self) -> tuple[BinReport, ...]:
        """The bins that are established to have drifted, in the order in which they were."""
        return tuple(sorted((b for b in self.bins if b.named_at is not None), key=lambda b: (b.named_at, b.bin)))

    @property
    def false_alarm_probability(self) -> float:
        """The chance of ever raising a false alarm: alpha, and that of the model's intervals where these are tolerated."""
        return min(1.0, self.alpha + (self.interval_alpha or 0.0))

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists and numbers, ready for JSON."""
        content = asdict(self)
        content["alarm"] = self.alarm
        content["false_alarm_probability"] = self.false_alarm_probability
        if self.is_set:
            content["named"] = [{"cell": b.cell, "bin": b.bin} for b in self.named]
        else:
            content["named"] = [b.bin for b in self.named]
            for entry in content["bins"]:
                del entry["cell"]
        content["bins"] = [{name: list(v) if isinstance(v, tuple) else v for name, v in b.items()} for b in content["bins"]]
        return content

    def __str__(self) -> str:
        unseen = (
            f" Watched are the rates of {how_many(len(self.bins), 'evidence bin')}, not the {self.n_steps:,} values inside "
            "them: a mix of scores that moves inside a bin, and with it the average of what is served there, is not seen."
        )
        unseen = unseen if self.n_steps else ""
        needed = f"the {1.0 / self.alpha:.3g} that an alarm needs"
        most = float(rounded_up(100.0 * self.false_alarm_probability, 2))
        chance = f"the chance of ever raising a false alarm is at most {most:g} %"
        if not self.alarm:
            return (
                f"No alarm after {how_many(self.n_samples, 'outcome')}: evidence {self.e_value:.3g}, at most "
                f"{self.max_e_value:.3g} so far, of {needed}; {chance}.{unseen}"
            )
        since = f" Most of the evidence has come since outcome {self.best_start:,}." if self.best_start else ""
        return (
            f"Alarm at outcome {self.alarm_at:,} of {self.n_samples:,}: some true rate has been outside its tolerated interval "
            f"(evidence {self.max_e_value:.3g} of {needed}; {chance}).{since} {self._drifted_bins()} What a rate is now may "
            f"differ from its average.{unseen}"
        )

    def words(self) -> dict[str, list[str]]:
        """The bins as they are shown, as text by title."""
        of_set = {"cell": [title_of_cell(b.cell) for b in self.bins]} if self.is_set else {}
        since = f"since outcome {self.best_start:,}"
        return {
            **of_set,
            "bin": [str(b.bin) for b in self.bins],
            "served on average" if self.n_steps else "served": [rounded(b.value) for b in self.bins],
            "tolerated": [outwards(*b.tolerated) for b in self.bins],
            "outcomes": [f"{b.count:,}" for b in self.bins],
            "rate": ["" if b.rate is None else rounded(b.rate) for b in self.bins],
            f"{sureness(self.alpha)} interval": [outwards(*b.interval) for b in self.bins],
            **({since: [outwards(*b.interval_since) for b in self.bins]} if self.best_start else {}),
            "evidence": [f"{b.max_e_value:.3g}" for b in self.bins],
            "found at": ["" if b.named_at is None else f"{b.named_at:,}" for b in self.bins],
        }

    def _words(self) -> tuple[dict[str, list[str]], int]:
        return self.words(), int(self.is_set)

    def _columns(self) -> Columns:
        names = [name for name in (*BinReport.__dataclass_fields__, "rate") if self.is_set or name != "cell"]
        return {name: [getattr(b, name) for b in self.bins] for name in names}

    def _about(self) -> str:
        return str(self).removesuffix(".")

    def _drifted_bins(self) -> str:
        named = self.named
        told: dict[str, Any] = {"of_set": self.is_set, "best_start": self.best_start}
        if not named:
            strongest = max(self.bins, key=lambda b: b.max_e_value)
            return f"No bin is established on its own; the most evidence is against one: {strongest.in_words(**told)}."
        words = [b.in_words(**told) for b in named[:MOST_BINS_NAMED]]
        shown = [f"{text} (established at outcome {b.named_at:,})" for text, b in zip(words, named, strict=False)]
        left = len(named) - len(shown)
        return f"Drifted: {'; '.join(shown)}{f'; and {left} more' if left else ''}."


def report_of(watched: Watched, state: MonitorState, tolerated: Float64s, numbers: dict[str, Any]) -> MonitorReport:
    """The report of a monitor on what it watches, in this state; `numbers` are those that the monitor has, too. O(n_bins)."""
    counts, ones, _ = state.stream.tally()
    cells, places = zip(*watched.places, strict=True)
    start, share, log_best, before, ones_before = state.best_start()
    since, ones_since = counts - before, ones - ones_before
    columns = {
        "bin": places,
        "cell": cells,
        "value": watched.values().tolist(),
        "tolerated": map(tuple, tolerated.tolist()),
        "count": counts.tolist(),
        "label_sum": ones.tolist(),
        "interval": _intervals(counts, ones, numbers["alpha"], state.n_classes),
        "count_since": since.tolist(),
        "label_sum_since": ones_since.tolist(),
        "interval_since": _intervals(since, ones_since, share * numbers["alpha"], state.n_classes),
        "e_value": map(as_e_value, state.log_e.tolist()),
        "max_e_value": map(as_e_value, state.max_log_e.tolist()),
        "named_at": (number or None for number in state.named_at.tolist()),
    }
    bins = tuple(BinReport(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))
    numbers = {**numbers, "best_start": start, "best_e_value": as_e_value(log_best)}
    return MonitorReport(bins=bins, n_steps=watched.n_steps, is_set=watched.model.is_set, **numbers)


def _intervals(counts: Int64s, ones: Int64s, alpha: float, n_classes: int) -> list[tuple[float, ...]]:
    """Intervals of all bins at once, at all times. Rows of an outcome depend on one another: Bonferroni for classes."""
    own = alpha / len(counts)
    if n_classes == 1 and own >= SMALLEST_LEVEL:
        own = sidak(alpha, len(counts))
    if own < SMALLEST_LEVEL:  # the share of a very late start
        return [(0.0, 1.0)] * len(counts)
    return [tuple(ends) for ends in beta_binomial(ones, counts, own).tolist()]


def as_e_value(log_e: float) -> float:
    """The e-value of a logarithm; one beyond the largest double is reported as that, which claims less."""
    return math.exp(log_e) if log_e < math.log(sys.float_info.max) else sys.float_info.max
