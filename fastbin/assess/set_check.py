"""The verdict of a test set on what a set of models promises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fastbin._cells import Key
from fastbin._tables import Columns, Table
from fastbin.assess.verdict import (
    CONFIRMED,
    CONTRADICTED,
    NEW_ROWS,
    NO_CLAIM,
    NOT_CONTRADICTED,
    CertificateCheck,
    difference_seen,
    finite,
    known,
    of_event,
    shown_p,
    verdict_as_html,
)
from fastbin.guarantees.words import name_bins, name_cell, name_cells, sureness

MOST_NAMED = 4


@dataclass(frozen=True, eq=False)
class SetCheck(Table):
    """The verdict of a test set on the promises of all models of a set; made by `check_certificate`. ``str()`` states it.

    Attributes
    ----------
    verdict : {"contradicted", "confirmed", "not contradicted"}
        "contradicted" if the promise of one model is, "confirmed" if those of all models are.
    alpha : float
        The chance of any wrong "contradicted" or "confirmed"; each of M models is checked at alpha / M.
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

    verdict: str
    alpha: float
    power: float
    p_value: float
    n_samples: int
    n_unknown: int
    is_calibration_set: bool
    parts: tuple[tuple[Key | None, CertificateCheck], ...]

    @classmethod
    def of(cls, checks: list[tuple[Key | None, CertificateCheck]], *, alpha: float, power: float, n_unknown: int) -> SetCheck:
        """The joint verdict of checks at their shares of alpha."""
        claiming = [check for _, check in checks if verdict_of(check) != NO_CLAIM]
        verdicts = [check.verdict for check in claiming]
        return cls(
            verdict=next((verdict for verdict in (CONTRADICTED, NOT_CONTRADICTED) if verdict in verdicts), CONFIRMED),
            alpha=alpha,
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
        return max(self._of_all("samples_to_confirm"))

    @cached_property
    def samples_to_contradict(self) -> float:
        """A size of the test set that would contradict, as for `CertificateCheck`."""
        return min(self._of_all("samples_to_contradict"))

    @property
    def _claiming(self) -> list[CertificateCheck]:
        """The checks of models that promise something."""
        return [check for _, check in self.parts if verdict_of(check) != NO_CLAIM]

    def _of_all(self, size: str) -> list[float]:
        """The size of the whole test set that gives each model its own size."""
        # The share of each cell: as seen, had one sample more come to every one.
        shares = [(check.n_samples + 1.0) / (self.n_samples + len(self.parts)) for check in self._claiming]
        return [_ceil(getattr(check, size) / share) for check, share in zip(self._claiming, shares, strict=True)]

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
            "verdict": [NO_CLAIM if set(check.verdicts) == {NO_CLAIM} else check.verdict for check in checks],
            **{name: [getattr(check, name) for check in checks] for name in ("p_value", "n_samples")},
            "detectable": [
                known(float(np.nanmax(each))) if np.isfinite(each := check.sizes.detectable(self.power)).any() else None
                for check in checks
            ],
        }

    def _repr_html_(self) -> str:
        return verdict_as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """The check as plain dicts, lists, strings and numbers, ready for JSON; an infinite number is None."""
        names = ("event", "verdict", "alpha", "power", "p_value", "n_samples", "n_unknown", "is_calibration_set")
        head = {name: getattr(self, name) for name in names}
        sizes = {name: finite(getattr(self, name)) for name in ("samples_to_confirm", "samples_to_contradict")}
        head |= {"detectable": known(self.detectable), "requires": NEW_ROWS}
        return {**head, **sizes, "parts": [{"cell": name, **check.to_dict()} for name, check in self.parts]}

    def __str__(self) -> str:
        return f"{self._statement()} {NEW_ROWS}"

    @property
    def event(self) -> str:
        """The event that all models are about; "" where it is not known, or models differ."""
        events = {check.event for _, check in self.parts}
        return events.pop() if len(events) == 1 else ""

    def _statement(self) -> str:
        rows, models = f"{self.n_samples:,} new rows", f"{len(self._claiming):,} models"
        level = f"{sureness(self.alpha)} for all at once"
        if self.verdict == CONTRADICTED:
            broken = self.names_with(CONTRADICTED)
            where = (f"{name_cell(name)} ({name_bins(self[name].bins_with(CONTRADICTED))})" for name in broken[:MOST_NAMED])
            more = f" and {len(broken) - MOST_NAMED:,} more" if len(broken) > MOST_NAMED else ""
            what = f"the frequencies{of_event(self.event)} lie outside the promised range"
            return (
                f"Contradicted by {rows}: of {models}, {what} for {', '.join(where)}{more} "
                f"({level}; p = {shown_p(self.p_value)} after Bonferroni)."
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


def _ceil(size: float) -> float:
    return math.ceil(size) if math.isfinite(size) else size
