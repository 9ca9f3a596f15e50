"""The verdict of a test set on what a set of models promises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fastbin._cells import Key
from fastbin._tables import Columns, Table
from fastbin.assess.verdict import CANNOT_TELL, CONFIRMED, CONTRADICTED, NO_CLAIM, CertificateCheck, finite, verdict_as_html
from fastbin.guarantees.words import name_bins, name_cell, name_cells

MOST_NAMED = 4


@dataclass(frozen=True, eq=False)
class SetCheck(Table):
    """The verdict of a test set on the promises of all models of a set; made by `check_certificate`. ``str()`` states it.

    Attributes
    ----------
    verdict : {"contradicted", "confirmed", "cannot tell"}
        "contradicted" if the promise of one model is, "confirmed" if those of all models are.
    alpha : float
        The chance of a wrong "contradicted", and of a wrong "confirmed"; each of M models is checked at alpha / M.
    power : float
        The chance of a verdict for which the sample sizes are computed.
    p_value : float
        Of all promises together: Bonferroni over the models.
    n_samples : int
        Test samples, without those of unknown cells.
    n_unknown : int
        Samples of cells that the set does not know, about which nothing is promised.
    samples_to_confirm, samples_to_contradict : float
        Sizes of the test set that would lead to a verdict, if cells and bins keep their shares of this one; as for
        `CertificateCheck`.
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
    samples_to_confirm: float
    samples_to_contradict: float
    is_calibration_set: bool
    parts: tuple[tuple[Key | None, CertificateCheck], ...]

    @classmethod
    def of(cls, checks: list[tuple[Key | None, CertificateCheck]], *, alpha: float, power: float, n_unknown: int) -> SetCheck:
        """The joint verdict of checks at their shares of alpha."""
        claiming = [check for _, check in checks if verdict_of(check) != NO_CLAIM]
        verdicts = [check.verdict for check in claiming]
        n_samples = sum(check.n_samples for _, check in checks)
        # The share of each cell: as seen, had one sample more come to every one.
        shares = [(check.n_samples + 1.0) / (n_samples + len(checks)) for check in claiming]
        confirm, contradict = (
            [_ceil(getattr(check, size) / share) for check, share in zip(claiming, shares, strict=True)]
            for size in ("samples_to_confirm", "samples_to_contradict")
        )
        return cls(
            verdict=next((verdict for verdict in (CONTRADICTED, CANNOT_TELL) if verdict in verdicts), CONFIRMED),
            alpha=alpha,
            power=power,
            p_value=min(1.0, len(claiming) * min(check.p_value for check in claiming)),
            n_samples=n_samples,
            n_unknown=n_unknown,
            samples_to_confirm=max(confirm),
            samples_to_contradict=min(contradict),
            is_calibration_set=any(check.is_calibration_set for check in claiming),
            parts=tuple(checks),
        )

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
            "samples_to_confirm": [finite(check.samples_to_confirm) for check in checks],
        }

    def _repr_html_(self) -> str:
        return verdict_as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """The check as plain dicts, lists, strings and numbers, ready for JSON; an infinite number is None."""
        names = ("verdict", "alpha", "power", "p_value", "n_samples", "n_unknown", "is_calibration_set")
        head = {name: getattr(self, name) for name in names}
        sizes = {name: finite(getattr(self, name)) for name in ("samples_to_confirm", "samples_to_contradict")}
        return {**head, **sizes, "parts": [{"cell": name, **check.to_dict()} for name, check in self.parts]}

    def __str__(self) -> str:
        samples = f"{self.n_samples:,} test samples"
        p_value = f"{self.p_value:.2g}" if self.p_value >= 1e-4 else "below 0.0001"
        models = f"{sum(verdict_of(check) != NO_CLAIM for _, check in self.parts):,} models"
        if self.verdict == CONTRADICTED:
            broken = self.names_with(CONTRADICTED)
            where = (f"{name_cell(name)} ({name_bins(self[name].bins_with(CONTRADICTED))})" for name in broken[:MOST_NAMED])
            more = f" and {len(broken) - MOST_NAMED:,} more" if len(broken) > MOST_NAMED else ""
            return (
                f"Contradicted: of {models}, the {samples} show frequencies outside the promised range for {', '.join(where)}"
                f"{more} (p = {p_value} after Bonferroni, level {self.alpha:g})."
            )
        if self.verdict == CONFIRMED:
            return f"Confirmed: in every bin of {models} the {samples} exclude what was not promised (level {self.alpha:g})."
        left = name_cells(self.names_with(CANNOT_TELL), MOST_NAMED)
        reason = f"do not contradict the promise (p = {p_value} after Bonferroni), and do not confirm it for {left}"
        if self.is_calibration_set:
            reason = "are those that a model was fitted to, and a promise is not confirmed by what it was made from"
        return f"Cannot tell: the {samples} {reason}; {self._remedy()}."

    def _remedy(self) -> str:
        """How many test samples would lead to a verdict."""
        chance = f"{100.0 * self.power:g} % chance"
        if self.samples_to_contradict <= self.samples_to_confirm and math.isfinite(self.samples_to_contradict):
            sizes = f"about {int(self.samples_to_contradict):,} would contradict it with {chance}"
            return f"{sizes}, if the rates seen are the true frequencies"
        if math.isinf(self.samples_to_confirm):
            return "no number of test samples would confirm it"
        return (
            f"about {int(self.samples_to_confirm):,} that had no part in the fits, spread over the cells as these, would "
            f"confirm it with {chance}, if the values are the true frequencies"
        )


def verdict_of(check: CertificateCheck) -> str:
    """The verdict on one model of a set; "no claim" for a model that promises nothing."""
    return NO_CLAIM if set(check.verdicts) == {NO_CLAIM} else check.verdict


def _ceil(size: float) -> float:
    return math.ceil(size) if math.isfinite(size) else size
