"""The verdict of a test set on what a model or a set of models promises, and its evidence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fastbin._base import html
from fastbin._base.array_types import Bools, Float64s, Int64s
from fastbin._base.cells import Key
from fastbin._base.shown import first_few, how_many, rounded_up
from fastbin._base.table import Columns, Table, as_html, as_records
from fastbin.assess.bin_tests import Sizes
from fastbin.guarantees.certificate import event_words, name_bins, name_cell, name_cells, sureness

CONTRADICTED, CONFIRMED, NOT_CONTRADICTED, NO_CLAIM = "contradicted", "confirmed", "not contradicted", "no claim"
MOST_NAMED = 4
# What every verdict says, wherever it is shown; nobody can check it for the reader.
NEW_ROWS = "The rows must be new: a verdict on rows that the classifier or its calibration has seen says nothing."


def judged(claims: Float64s, intervals: Float64s, is_claimed: Bools, *, reused: bool = False) -> tuple[str, ...]:
    """The verdict on each bin: where its interval misses the claim, lies within it, or neither."""
    (low, high), (least, most) = intervals.T, claims.T
    is_contradicted, is_confirmed = (low > most) | (high < least), (low >= least) & (high <= most) & (not reused)
    conditions = [~is_claimed, is_contradicted, is_confirmed]
    return tuple(np.select(conditions, [NO_CLAIM, CONTRADICTED, CONFIRMED], NOT_CONTRADICTED).tolist())


def joint_verdict(verdicts: Sequence[str], default: str = CONFIRMED) -> str:
    """The verdict on all that these are about; `default` where there is none, or no claim."""
    return next((word for word in (CONTRADICTED, NOT_CONTRADICTED, CONFIRMED) if word in verdicts), default)


class Judged(Table):
    """Shared by tables with a verdict: how they are shown."""

    verdict: str

    def _repr_html_(self) -> str:
        words, _ = self._words()
        badge, sentence = f"<p>{html.badge(self.verdict)}</p>", html.paragraph(self._sentence())
        return html.notebook(badge, sentence, as_html(words, n_text=2))

    def __str__(self) -> str:
        return f"{self._statement()} {NEW_ROWS}"

    def _sentence(self) -> str:
        return str(self)

    def _statement(self) -> str:
        """The verdict in a sentence."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class _Check(Judged):
    """Shared by the checks of a model and of a set."""

    verdict: str
    test_level: float
    power: float
    p_value: float

    def _sizes(self) -> dict[str, int | None]:
        sizes = {name: getattr(self, name) for name in ("samples_to_confirm", "samples_to_contradict")}
        return {name: int(size) if math.isfinite(size) else None for name, size in sizes.items()}


@dataclass(frozen=True, eq=False)
class CertificateCheck(_Check):
    """The verdict of a test set on a promise; made by `check_certificate`. ``str()`` states it in sentences.

    The verdict on a bin is what its interval says: "contradicted" where it misses the claim, "confirmed" where it lies within.

    Attributes
    ----------
    verdict : {"contradicted", "confirmed", "not contradicted"}
        "contradicted" if one bin is, "confirmed" if all are.
    test_level : float
        The chance that any verdict on a bin, or that on the whole, is wrong.
    power : float
        The chance with which `detectable` differences would have been seen, and of a verdict for which sample sizes are
        computed.
    p_value : float
        Of the promise: Bonferroni over the bins' exact p-values. The verdict is "contradicted" where it is at most test_level.
    claims : float64 (n_bins, 2)
        Where the promise says that the true frequency of each bin lies; [0, 1] for a bin it leaves out. For a model of two
        resolutions: where the mean of label - served value lies; all that is possible for a bin it leaves out.
    intervals : float64 (n_bins, 2)
        Of the test set, which hold all at once with probability 1 - test_level: Clopper-Pearson intervals of the frequency; of
        a model of two resolutions, intervals of the mean of label - served value.
    interval_alpha : float
        The failure probability of each interval: test_level shared by Bonferroni among the bins with a claim that hold samples.
    counts, label_sums : int64 (n_bins,)
        Test samples in each bin, and those with label 1.
    p_values : float64 (n_bins,)
        Of each bin's claim, not adjusted for the number of bins.
    verdicts : tuple of str
        For each bin: "contradicted", "confirmed", "not contradicted", or "no claim" for a bin that the promise leaves out.
    n_samples : int
        Test samples.
    sizes : object
        From which `detectable` and the sample sizes are computed when they are asked for.
    is_calibration_set : bool
        Whether these are the samples that the model was fitted to, by its fingerprint. They confirm nothing: no verdict is
        "confirmed" then, though one may be "contradicted".
    mean_served : float64 (n_bins,) or None
        Of a model of two resolutions: the average of what is served to the test samples of each bin, NaN without any.
    event : str
        What the frequencies are of; "" where it is not known: label 1.
    side : {"both", "upper", "lower"}
        Of the promise that was tested; nothing is said about the other side.
    """

    claims: Float64s
    intervals: Float64s
    interval_alpha: float
    counts: Int64s
    label_sums: Int64s
    p_values: Float64s
    verdicts: tuple[str, ...]
    n_samples: int
    sizes: Sizes
    is_calibration_set: bool = False
    mean_served: Float64s | None = None
    event: str = ""
    side: str = "both"

    @cached_property
    def detectable(self) -> Float64s:
        """float64 (n_bins,): the least difference of served and true that each bin would have shown with chance `power`.

        Every difference of this size or more, as far as the truth can differ by so much. Exact for binomial label sums, by
        search; where the values within a bin differ, of their average, and with at least that chance (Hoeffding 1956). Infinity
        where no difference would have been seen, NaN for a bin without a claim.
        """
        return self.sizes.detectable(self.power)

    @cached_property
    def counts_to_confirm(self) -> Float64s:
        """float64 (n_bins,): counts with which all bins would be confirmed with chance `power`, if the values are the truth.

        0 for a bin without a claim, infinity where none would do.
        """
        return self.sizes.counts_to_confirm()

    @cached_property
    def samples_to_confirm(self) -> float:
        """A size of the test set with which all bins would be confirmed with chance `power`, if they keep their shares of this
        one; its counts vary as those of any draw do."""
        return self.sizes.samples_to_confirm()

    @cached_property
    def samples_to_contradict(self) -> float:
        """A size of the test set with which the promise would be contradicted with chance `power`.

        If the rates of the bins that now lie outside their claims are the true frequencies; infinity where none lies outside.
        """
        return self.sizes.samples_to_contradict()

    def bins_with(self, verdict: str) -> list[int]:
        """The bins (from 0) with this verdict."""
        return [b for b, own in enumerate(self.verdicts) if own == verdict]

    def _columns(self) -> Columns:
        columns: dict[str, list[Any]] = {
            "bin": list(range(len(self.verdicts))),
            "verdict": list(self.verdicts),
            "claim": self.claims.tolist(),
            "interval": self.intervals.tolist(),
            "count": self.counts.tolist(),
            "label_sum": self.label_sums.tolist(),
            "p_value": self.p_values.tolist(),
            "detectable": [known(difference) for difference in self.detectable.tolist()],
        }
        if self.mean_served is not None:
            columns["mean_served"] = [known(mean) for mean in self.mean_served.tolist()]
        return columns

    def _words(self) -> tuple[dict[str, list[str]], int]:
        words, n_text = super()._words()
        return {interval_title(title, self.interval_alpha): column for title, column in words.items()}, n_text

    def to_dict(self) -> dict[str, Any]:
        """The check as plain dicts, lists, strings and numbers, ready for JSON; an infinite number is None."""
        names = (
            "event", "verdict", "test_level", "power", "p_value", "n_samples", "is_calibration_set", "interval_alpha", "side",
        )  # fmt: skip
        head = {name: getattr(self, name) for name in names if name != "side" or self.side != "both"}
        return {**head, **self._sizes(), "requires": NEW_ROWS, "bins": as_records(self._columns())}

    def _statement(self) -> str:
        rows, p_value = new_rows(self.n_samples), p_is(self.p_value)
        if self.side != "both":
            rows += f", looking only for frequencies {'above' if self.side == 'upper' else 'below'} what is served"
        frequency = f"the frequency{of_event(self.event)}"
        what, law = f"{frequency} lies outside the promised range", "exact binomial intervals"
        if self.mean_served is not None:
            what = f"the average of what is served is farther from {frequency} than was promised"
            law = "intervals by Hoeffding's inequality for label - served value"
        level = f"{law}, {sureness(self.test_level)} all at once"
        if self.verdict == CONTRADICTED:
            where = name_bins(self.bins_with(CONTRADICTED))
            return f"Contradicted by {rows}: in {where} {what} ({level}; p {p_value} after Bonferroni)."
        if self.verdict == CONFIRMED:
            return f"Confirmed by {rows}: in every bin the interval lies within what was promised ({level})."
        if self.is_calibration_set:
            return (
                f"Not contradicted, and not confirmed: the {self.n_samples:,} rows are the calibration set (they have its "
                "fingerprint, the same counts and label sums at every edge), from which the promise was made."
            )
        unseen = [b for b, difference in enumerate(self.detectable.tolist()) if math.isinf(difference)]
        seen = difference_seen(self.detectable, self.power, "one bin" if not unseen else "one of the other bins")
        if unseen:
            seen = f"in {name_bins(unseen)} no difference would have been seen" + (f"; {seen}" if seen else "")
        confirmed = self.bins_with(CONFIRMED)
        return f"Not contradicted by {rows} ({seen})" + (f"; confirmed in {name_bins(confirmed)}." if confirmed else ".")


@dataclass(frozen=True, eq=False)
class SetCheck(_Check):
    """The verdict of a test set on the promises of all models of a set; made by `check_certificate`. ``str()`` states it.

    Attributes
    ----------
    verdict : {"contradicted", "confirmed", "not contradicted"}
        "contradicted" if the promise of one model is, "confirmed" if those of all models are.
    test_level : float
        The chance of any wrong "contradicted" or "confirmed"; each of M models is checked at test_level / M.
    power : float
        The chance with which `detectable` would have been seen, and of a verdict for which the sample sizes are computed.
    p_value : float
        Of all promises together: Bonferroni over the models.
    n_samples : int
        Test samples, without those of unknown cells.
    n_unknown : int
        Samples of cells that the set does not know, about which nothing is promised.
    is_calibration_set : bool
        Whether a model was given the samples that it was fitted to. Nothing is confirmed then.
    parts : tuple of (key, CertificateCheck)
        The check of each model, None for the pool, in the order of the set. A model that promises nothing has "no claim"
        throughout.
    """

    n_samples: int
    n_unknown: int
    is_calibration_set: bool
    parts: tuple[tuple[Key | None, CertificateCheck], ...]

    @classmethod
    def of(
        cls, checks: list[tuple[Key | None, CertificateCheck]], *, test_level: float, power: float, n_unknown: int
    ) -> SetCheck:
        """The joint verdict of checks at their shares of test_level."""
        claiming = [check for _, check in checks if verdict_of(check) != NO_CLAIM]
        return cls(
            verdict=joint_verdict([check.verdict for check in claiming]),
            test_level=test_level,
            power=power,
            p_value=min(1.0, len(claiming) * min(check.p_value for check in claiming)),
            n_samples=sum(check.n_samples for _, check in checks),
            n_unknown=n_unknown,
            is_calibration_set=any(check.is_calibration_set for check in claiming),
            parts=tuple(checks),
        )

    @cached_property
    def detectable(self) -> float:
        """The least difference in one bin of one model that would have been seen with chance `power`, whichever bin it is.

        As `CertificateCheck.detectable`; infinity where none would have been seen in some bin.
        """
        return float(np.nanmax(np.concatenate([check.sizes.detectable(self.power) for check in self._claiming])))

    @cached_property
    def samples_to_confirm(self) -> float:
        """A size of the test set that would confirm, if cells and bins keep their shares of this one."""
        found = 1.0
        for check, share in self._shares():
            found = check.sizes.samples_to_confirm(share, found)
        return found

    @cached_property
    def samples_to_contradict(self) -> float:
        """A size of the test set that would contradict, as for `CertificateCheck`."""
        return min(float(np.ceil(check.samples_to_contradict / share)) for check, share in self._shares())

    @property
    def _claiming(self) -> list[CertificateCheck]:
        """The checks of models that promise something."""
        return [check for _, check in self.parts if verdict_of(check) != NO_CLAIM]

    def _shares(self) -> Iterator[tuple[CertificateCheck, float]]:
        """The checks of models that promise something, and their shares: as seen, had one sample more come to every cell."""
        for check in self._claiming:
            yield check, (check.n_samples + 1.0) / (self.n_samples + len(self.parts))

    def __getitem__(self, key: Key | None) -> CertificateCheck:
        """The check of a model, by its key; None for the pool."""
        return dict(self.parts)[key]

    def names_with(self, verdict: str) -> list[Key | None]:
        """The keys of the models with this verdict; "no claim" for models that promise nothing."""
        return [name for name, check in self.parts if verdict_of(check) == verdict]

    def _columns(self) -> Columns:
        checks = [check for _, check in self.parts]
        return {
            "cell": [name for name, _ in self.parts],
            "verdict": list(map(verdict_of, checks)),
            **{name: [getattr(check, name) for check in checks] for name in ("p_value", "n_samples")},
            "detectable": [
                known(float(np.nanmax(each))) if np.isfinite(each := check.sizes.detectable(self.power)).any() else None
                for check in checks
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """The check as plain dicts, lists, strings and numbers, ready for JSON; an infinite number is None."""
        names = ("event", "verdict", "test_level", "power", "p_value", "n_samples", "n_unknown", "is_calibration_set")
        head = {name: getattr(self, name) for name in names}
        head |= {"detectable": known(self.detectable), "requires": NEW_ROWS}
        return {**head, **self._sizes(), "parts": [{"cell": name, **check.to_dict()} for name, check in self.parts]}

    @property
    def event(self) -> str:
        """The event that all models are about; "" where it is not known, or models differ."""
        events = {check.event for _, check in self.parts}
        return events.pop() if len(events) == 1 else ""

    def _statement(self) -> str:
        rows, models = how_many(self.n_samples, "new row"), how_many(len(self._claiming), "model")
        level = f"{sureness(self.test_level)} for all at once"
        if self.verdict == CONTRADICTED:
            broken = self.names_with(CONTRADICTED)
            where = first_few(
                broken, MOST_NAMED, lambda name: f"{name_cell(name)} ({name_bins(self[name].bins_with(CONTRADICTED))})"
            )
            what = f"the frequencies{of_event(self.event)} lie outside the promised range"
            return (
                f"Contradicted by {rows}: of {models}, {what} for {where} ({level}; p {p_is(self.p_value)} after Bonferroni)."
            )
        if self.verdict == CONFIRMED:
            return f"Confirmed by {rows}: in every bin of {models} the interval lies within what was promised ({level})."
        if self.is_calibration_set:
            return (
                f"Not contradicted, and not confirmed: the {self.n_samples:,} rows are those that a model was fitted to, and a "
                "promise is not confirmed by what it was made from."
            )
        seen = difference_seen(np.array([self.detectable]), self.power, f"one bin of one of {models}")
        seen = seen or f"in some bins of {models} no difference would have been seen"
        confirmed = self.names_with(CONFIRMED)
        return f"Not contradicted by {rows} ({seen})" + (
            f"; confirmed for {name_cells(confirmed, MOST_NAMED)}." if confirmed else "."
        )


def verdict_of(check: CertificateCheck) -> str:
    """The verdict on one model of a set; "no claim" for a model that promises nothing."""
    return NO_CLAIM if set(check.verdicts) == {NO_CLAIM} else check.verdict


def of_event(event: str) -> str:
    """The event of a frequency, where it has a name."""
    return f" of {event_words(event)}" if event else ""


def difference_seen(detectable: Float64s, power: float, where: str) -> str:
    """The least difference that would have been seen wherever it is, in words; nothing where none would."""
    finite_ones = detectable[np.isfinite(detectable)]
    if not len(finite_ones):
        return ""
    return f"a difference of {rounded_up(float(finite_ones.max()))} in {where} would have been seen with probability {power:g}"


def interval_title(title: str, alpha: float) -> str:
    """The title of a column, which says the level of intervals."""
    return f"interval ({sureness(alpha)} each)" if title == "interval" else title


def new_rows(n: int) -> str:
    """So many new rows, in words."""
    return f"{n:,} new row{'' if n == 1 else 's'}"


def not_shown(side: str, rows: str) -> str:
    """That predictions were not contradicted by these rows, and on which side they could have been: the start of a sentence."""
    if side == "both":
        return f"Calibration is not contradicted by {rows}"
    asked, other = ("too low", "too high") if side == "upper" else ("too high", "too low")
    return f"That predictions are {asked} is not shown by {rows}, and whether they are {other} was not asked"


def shown_p(p_value: float) -> str:
    """A p-value in words."""
    return f"{p_value:.2g}" if p_value >= 1e-4 else "below 0.0001"


def p_is(p_value: float) -> str:
    """The same after "p": an equals sign, or what it is below."""
    return f"= {p_value:.2g}" if p_value >= 1e-4 else "below 0.0001"


def known(number: float) -> float | None:
    """The number; None where it is not finite."""
    return number if math.isfinite(number) else None
