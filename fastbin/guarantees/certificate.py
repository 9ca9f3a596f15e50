"""A promise about a fitted model, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fastbin import _html
from fastbin._errors import GuaranteeError
from fastbin._typing import Bools, Float64s
from fastbin.guarantees.evidence import Evidence, unwritten_end
from fastbin.guarantees.words import event_words, name_bins, rounded_up, sureness


@dataclass(frozen=True)
class Certificate:
    """What a fitted model promises, with which probability, and on which assumptions.

    ``str()`` gives the promise in one sentence, `explain` the theorem and the assumptions as text, and `to_dict` everything as
    plain values for programs.

    Attributes
    ----------
    epsilon : float
        The guaranteed distance. `kind` says between what.
    alpha : float or None
        Failure probability of the promise over the draw of the calibration samples (for "marginal": of these and of the
        next sample). None for "expected-ece", which is a statement about a mean.
    kind : {"conditional", "marginal", "expected-ece", "ece"}
        conditional: in all bins at once, |true frequency of label 1 - value| <= epsilon (Gupta & Ramdas 2021,
        Definition 2). marginal: the same for the bin of the next sample (Definition 1). ece: the expected calibration
        error is at most epsilon (Definition 3). expected-ece: its mean over calibration sets is.
    bound : str
        Which computation gave epsilon: "clopper-pearson", "hull", "data", "a-priori" or "hoeffding" as `certify` explains them;
        for a stream, where the promise holds at every number of samples at once, the method of its intervals: "beta-binomial",
        "stitched" or "theorem6" (`fastbin.online.StreamingBinning.certificate`); under covariate shift the method of the
        weighted intervals, such as "betting" (`fastbin.shift.ImportanceWeightedBinning.certificate`).
    theorem : str
        The result that the promise rests on.
    assumptions : tuple of str
        What must be true, one sentence each.
    scheme : str
        How the bins were chosen.
    n_samples, n_bins : int
        Of the fit.
    radii : tuple of float or None
        The distance guaranteed for each bin where it depends on the labels; 1.0 for uncovered bins. Else None.
    uncovered_bins : tuple of int
        Bins (from 0) that hold no sample. The promise leaves them out.
    n_steps : int
        Of a model of two resolutions the number of its values, which are more than its bins: the promise is about the average
        of what is served in a bin. Else 0.
    terms : tuple of (str, float)
        Of a model of two resolutions the terms that add up to epsilon, in the bin where it is largest: from the mean label to
        the end of its interval, from the mean served to the mean label (below 0 where they offset the first), and from what
        is served on average in the population to that mean. Else empty.
    silent : str
        Scores of the outermost bin about which nothing is promised, as it has no edge there: "below the lowest calibration
        score" (whole ties). Mostly empty.

    event : str
        What the values are the probability of; "" where it is not known: label 1.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.FixedWidthBinning(n_bins=2).fit([0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 0, 1, 0, 1, 1])
    >>> certificate = cal.certificate(kind="marginal")
    >>> print(certificate)
    With probability at least 90 % over the 6 calibration samples and the next sample, the predicted probability of ...
    >>> print(certificate.explain())
    Theorem: Clopper & Pearson 1934 at level alpha for each bin; label sums are binomial given the scores: ...
    Assumptions:
    - the calibration samples are independent draws from the population that will be scored: one row an obligor, no ...
    - the scores were trained on other data
    - frequencies are taken given the bin where several bins share one value
    """

    epsilon: float
    alpha: float | None
    kind: str
    bound: str
    theorem: str
    assumptions: tuple[str, ...]
    scheme: str
    n_samples: int
    n_bins: int
    radii: tuple[float, ...] | None = None
    uncovered_bins: tuple[int, ...] = ()
    n_steps: int = 0
    terms: tuple[tuple[str, float], ...] = ()
    silent: str = ""
    event: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain dicts, lists, strings and numbers, ready for JSON."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return plain | {"terms": [list(term) for term in self.terms]}

    def explain(self) -> str:
        """The theorem, what epsilon consists of where that is known, and the assumptions: a line for each."""
        return "\n- ".join([f"Theorem: {self.theorem}.\n{self._sum_of_terms()}Assumptions:", *self.assumptions])

    def _sum_of_terms(self) -> str:
        if not self.terms:
            return ""
        terms = " ".join(f"{'-' if size < 0 else '+'} {abs(size):.5f} ({name})" for name, size in self.terms)
        return f"Epsilon: {self.epsilon:.5f} = {terms.removeprefix('+ ')}.\n"

    def _repr_html_(self) -> str:
        return _html.notebook(*promise_as_html(self))

    def __str__(self) -> str:
        samples = f"{self.n_samples:,} calibration samples"
        distance = rounded_up(self.epsilon)
        left_out = ""
        if self.uncovered_bins:
            holds = "holds no sample of its own" if len(self.uncovered_bins) == 1 else "hold no samples of their own"
            left_out = f", leaving out {name_bins(self.uncovered_bins)}, which {holds}"
        if self.silent:
            left_out += f" (nothing is promised {self.silent})"
        if self.kind == "expected-ece":
            return f"Averaged over sets of {samples}, the expected calibration error is at most {distance}{left_out}."
        assert self.alpha is not None
        if self.n_steps:
            return self._about_averages(samples, distance, left_out)
        sure, event = f"With probability at least {sureness(self.alpha)}", event_words(self.event)
        if self.kind == "ece":
            return f"{sure} over the {samples}, the expected calibration error is at most {distance}{left_out}."
        if self.kind == "marginal":
            return (
                f"{sure} over the {samples} and the next sample, the predicted probability of that sample is within {distance} "
                f"of the true frequency of {event} in its bin ({self.n_bins} bins{left_out})."
            )
        bins = "the only bin" if self.n_bins == 1 else f"each of the {self.n_bins} bins at once"
        return (
            f"{sure} over the {samples}, in {bins}{left_out}, the predicted probability is within {distance} of the true "
            f"frequency of {event}."
        )

    def _about_averages(self, samples: str, distance: str, left_out: str) -> str:
        """The sentence for values that are finer than the bins."""
        sure, bins = f"With probability at least {sureness(self.alpha or 1.0)}", f"{self.n_bins} evidence bins"
        event = event_words(self.event)
        if self.kind == "ece":
            return f"{sure} over the {samples}, the binned calibration error on the {bins} is at most {distance}{left_out}."
        if self.kind == "marginal":
            return (
                f"{sure} over the {samples} and the next sample, the average of what is served in the bin of that sample is "
                f"within {distance} of the true frequency of {event} there ({bins}{left_out})."
            )
        each = "the only bin" if self.n_bins == 1 else f"each of the {bins} at once"
        return (
            f"{sure} over the {samples}, in {each}{left_out}, the average of what is served is within {distance} of the true "
            f"frequency of {event}."
        )


def promise_as_html(certificate: Any) -> tuple[str, str]:
    """The sentence of a certificate, and what it rests on, folded."""
    reasons = _html.paragraph(f"{certificate.theorem}.") + _html.bullets(map(_html.escape, certificate.assumptions))
    return f"<p><strong>{_html.escape(str(certificate))}</strong></p>", _html.folded("theorem and assumptions", reasons)


def certificate_of(
    evidence: Evidence, epsilon: float, covered: Bools, *, assumptions: Sequence[str], **statement: Any
) -> Certificate:
    """A certificate with the scheme and the sizes of the evidence; `statement` holds the other fields."""
    return Certificate(
        epsilon=epsilon,
        scheme=evidence.scheme,
        event=getattr(evidence, "event", ""),
        n_samples=int(evidence.n_samples),
        n_bins=int(evidence.n_bins),
        silent=unwritten_end(evidence),
        uncovered_bins=tuple(np.flatnonzero(~covered).tolist()),
        assumptions=tuple(assumptions),
        **statement,
    )


def require_samples(covered: Bools) -> None:
    """Raise where no bin holds a sample."""
    if not covered.any():
        raise GuaranteeError("no bin holds a sample of its own, so there is nothing to certify; calibrate on more samples")


def certificate_from_intervals(
    evidence: Evidence, intervals: Float64s, covered: Bools | None = None, *, alpha: float, **statement: Any
) -> Certificate:
    """The largest distance from a value to an end of its bin's interval, plus that of value randomisation.

    Bins that are not `covered`, by default those without samples, are left out and named. O(n_bins).
    """
    values = np.asarray(evidence.values, dtype=np.float64)
    if covered is None:
        covered = np.asarray(evidence.counts) > 0
    require_samples(covered)
    radii = np.maximum(intervals[:, 1] - values, values - intervals[:, 0]) + evidence.delta
    radii = np.where(covered, np.minimum(radii, 1.0), 1.0)
    epsilon, alpha = float(radii[covered].max()), float(alpha)
    return certificate_of(evidence, epsilon, covered, radii=tuple(radii.tolist()), alpha=alpha, **statement)
