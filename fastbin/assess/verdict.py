"""The verdict of a test set on a certificate, and its evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fastbin import _html
from fastbin._tables import Columns, Table, as_html, as_records
from fastbin._typing import Float64s, Int64s
from fastbin.guarantees.words import name_bins

CONTRADICTED, CONFIRMED, CANNOT_TELL, NO_CLAIM = "contradicted", "confirmed", "cannot tell", "no claim"


@dataclass(frozen=True, eq=False)
class CertificateCheck(Table):
    """The verdict of a test set on a promise; made by `check_certificate`. ``str()`` states it in sentences.

    Attributes
    ----------
    verdict : {"contradicted", "confirmed", "cannot tell"}
    alpha : float
        The chance of a wrong "contradicted", and of a wrong "confirmed".
    power : float
        The chance of a verdict for which the sample sizes below are computed.
    p_value : float
        Of the promise: Bonferroni over the bins' exact p-values. The verdict is "contradicted" where it is at most alpha.
    claims : float64 (n_bins, 2)
        Where the promise says that the true frequency of each bin lies; [0, 1] for a bin it leaves out. Of a model of two
        resolutions: where the mean of label - served value lies; all that is possible for a bin it leaves out.
    intervals : float64 (n_bins, 2)
        Of the test set, at alpha shared by Bonferroni among the bins with a claim: Clopper-Pearson intervals of the frequency;
        of a model of two resolutions, intervals of the mean of label - served value.
    counts, label_sums : int64 (n_bins,)
        Test samples in each bin, and those with label 1.
    p_values : float64 (n_bins,)
        Of each bin's claim, not adjusted for the number of bins.
    verdicts : tuple of str
        For each bin: "contradicted", "confirmed", "cannot tell", or "no claim" for a bin that the promise leaves out.
    n_samples : int
        Test samples.
    counts_to_confirm : float64 (n_bins,)
        Test counts with which each bin would be confirmed with chance `power` in all together, if its value is the true
        frequency; 0 for a bin without a claim, infinity where none would do.
    samples_to_confirm : float
        A size of the test set that gives such counts, if bins keep their shares of this one.
    samples_to_contradict : float
        A size of the test set with which the promise would be contradicted with chance `power`, if the rates of the bins that
        now lie outside their claims are the true frequencies; infinity where none lies outside.
    is_calibration_set : bool
        Whether these are the samples that the model was fitted to, by its fingerprint. They confirm nothing: no verdict is
        "confirmed" then, though one may be "contradicted".
    mean_served : float64 (n_bins,) or None
        Of a model of two resolutions: the average of what is served to the test samples of each bin, NaN without any.
    """

    verdict: str
    alpha: float
    power: float
    p_value: float
    claims: Float64s
    intervals: Float64s
    counts: Int64s
    label_sums: Int64s
    p_values: Float64s
    verdicts: tuple[str, ...]
    n_samples: int
    counts_to_confirm: Float64s
    samples_to_confirm: float
    samples_to_contradict: float
    is_calibration_set: bool = False
    mean_served: Float64s | None = None

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
            "count_to_confirm": [finite(count) for count in self.counts_to_confirm.tolist()],
        }
        if self.mean_served is not None:
            columns["mean_served"] = [None if math.isnan(mean) else mean for mean in self.mean_served.tolist()]
        return columns

    def _repr_html_(self) -> str:
        return verdict_as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """The check as plain dicts, lists, strings and numbers, ready for JSON; an infinite number is None."""
        names = ("verdict", "alpha", "power", "p_value", "n_samples", "is_calibration_set")
        head = {name: getattr(self, name) for name in names}
        sizes = {name: finite(getattr(self, name)) for name in ("samples_to_confirm", "samples_to_contradict")}
        return {**head, **sizes, "bins": as_records(self._columns())}

    def __str__(self) -> str:
        samples, p_value = f"{self.n_samples:,} test samples", f"{self.p_value:.2g}" if self.p_value >= 1e-4 else "below 0.0001"
        what, tests = "a frequency outside the promised range", "exact binomial tests"
        if self.mean_served is not None:
            what = "a frequency farther from the average of what is served than was promised"
            tests = "Hoeffding's inequality for label - served value"
        if self.verdict == CONTRADICTED:
            return (
                f"Contradicted: in {name_bins(self.bins_with(CONTRADICTED))} the {samples} show {what} ({tests}, p = {p_value} "
                f"after Bonferroni, level {self.alpha:g})."
            )
        if self.verdict == CONFIRMED:
            return f"Confirmed: in every bin the {samples} exclude {what} ({tests}, level {self.alpha:g})."
        if self.is_calibration_set:
            reason = (
                f"the {samples} are the calibration set (they have its fingerprint, the same counts and label sums at every "
                "edge), and a promise is not confirmed by what it was made from"
            )
        else:
            reason = (
                f"the {samples} do not contradict the promise (p = {p_value} after Bonferroni), and do not confirm it in "
                f"{name_bins(self.bins_with(CANNOT_TELL))}"
            )
        return f"Cannot tell: {reason}; {self._remedy()}."

    def _remedy(self) -> str:
        """How many test samples would lead to a verdict."""
        confirm, contradict, chance = self.samples_to_confirm, self.samples_to_contradict, f"{100.0 * self.power:g} % chance"
        if contradict <= confirm and math.isfinite(contradict) and not self.is_calibration_set:
            return f"about {int(contradict):,} would contradict it with {chance}, if the rates seen are the true frequencies"
        if math.isinf(confirm):
            return f"no number of {'other' if self.is_calibration_set else 'test'} samples would confirm it"
        if self.is_calibration_set or self.n_samples < confirm:
            samples = " samples that had no part in the fit" if self.is_calibration_set else ""
            return f"about {int(confirm):,}{samples} would confirm it with {chance}, if the values are the true frequencies"
        return (
            f"{int(confirm):,} would be enough if the values were the true frequencies, so some frequencies lie near an end of "
            "the promised range"
        )


def verdict_as_html(check: Any) -> str:
    """What a notebook shows of a check: the verdict, the sentence and the rows."""
    words, _ = check._words()
    return _html.notebook(f"<p>{_html.badge(check.verdict)}</p>", _html.paragraph(str(check)), as_html(words, n_text=2))


def finite(number: float) -> int | None:
    return int(number) if math.isfinite(number) else None
