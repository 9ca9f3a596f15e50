"""Is what a certificate promises consistent with a test set, and is the test set large enough to tell?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._calibrator import Calibrator, as_model
from fastbin._docstrings import shared_docs
from fastbin._errors import GuaranteeError, InputError
from fastbin._fit.fingerprint import chance_of_same_counts, count_at_edges
from fastbin._fit.order import fingerprint_of
from fastbin._scalars import check_alpha, check_power, check_unit_interval
from fastbin._typing import Bools, Float64s, Int64s, UInt8s
from fastbin._validation import as_scores, check_labels, check_same_length, check_sample_weight, clip_scores
from fastbin.assess.binomial import chance_at_least, chance_at_most, count_to_confirm, count_to_contradict
from fastbin.assess.verdict import CANNOT_TELL, CONFIRMED, CONTRADICTED, NO_CLAIM, CertificateCheck
from fastbin.guarantees import Certificate
from fastbin.intervals import bonferroni, clopper_pearson
from fastbin.intervals._tally import around
from fastbin.model import BinnedModel

# Equal fingerprints mean equal counts. That says nothing where other rows would often have the same counts.
COINCIDENCE = 1e-4


class _Promise(NamedTuple):
    """A promise about each bin, and the levels at which it is tested."""

    model: BinnedModel
    claims: Float64s  # (n_bins, 2): where each true frequency lies; [0, 1] for a bin that the promise leaves out
    is_claimed: Bools  # whether the promise is about the bin
    alpha: float
    power: float

    @classmethod
    def of(
        cls, model: BinnedModel | Calibrator, certificate: Certificate | None, epsilon: float | None, alpha: float, power: float
    ) -> _Promise:
        """The promise of a certificate, by default the model's own, or of an epsilon."""
        model, alpha, power = as_model(model), check_alpha(alpha), check_power(power)
        if model.kind != "step":
            raise InputError(
                f"the model is of kind {model.kind!r}; a promise is checked bin by bin, so it needs a step function (assess "
                "its predictions with reliability_table)"
            )
        if certificate is not None and epsilon is not None:
            raise InputError("certificate and epsilon are both given; give the promise to check once")
        is_claimed = np.ones(model.n_bins, bool)
        if epsilon is not None:
            radii: Any = check_unit_interval(epsilon, "epsilon")
        else:
            promise = model.certificate() if certificate is None else certificate
            if promise.kind != "conditional":
                raise InputError(
                    f"the certificate is of kind {promise.kind!r}; only a conditional one makes a promise about each bin that "
                    "one test set can contradict: take certificate(kind='conditional')"
                )
            if promise.n_bins != model.n_bins:
                raise InputError(f"the certificate is about {promise.n_bins} bins, and the model has {model.n_bins}")
            radii = promise.epsilon if promise.radii is None else np.asarray(promise.radii)
            is_claimed[list(promise.uncovered_bins)] = False
        claims = around(model.values, radii)
        claims[~is_claimed] = 0.0, 1.0
        return cls(model, claims, is_claimed, alpha, power)

    def counts_to_confirm(self) -> Float64s:
        """Per bin the count that confirms its claim, if its value is true, so that all are confirmed with chance `power`."""
        per_bin = self.power ** (1.0 / max(1, int(self.is_claimed.sum())))
        bins = zip(self.model.values.tolist(), self.claims.tolist(), strict=True)
        counts = [count_to_confirm(value, lower, upper, self.alpha, per_bin) for value, (lower, upper) in bins]
        return np.where(self.is_claimed, counts, 0.0)

    def verdict_on(self, counts: Int64s, label_sums: Int64s, reused: bool) -> CertificateCheck:
        """The verdict of a test set with these counts; samples that the fit has used confirm nothing."""
        claims = self.claims.tolist()
        n_tested = max(1, int(np.count_nonzero(self.is_claimed & (counts > 0))))
        tests = [_p_values(*row) for row in zip(label_sums.tolist(), counts.tolist(), *zip(*claims, strict=True), strict=True)]
        p_inside, p_outside = (np.array(column) for column in zip(*tests, strict=True))
        is_contradicted, is_confirmed = p_inside * n_tested <= self.alpha, (p_outside <= self.alpha) & (not reused)
        verdicts = np.select(
            [~self.is_claimed, is_contradicted, is_confirmed], [NO_CLAIM, CONTRADICTED, CONFIRMED], CANNOT_TELL
        ).tolist()
        to_confirm, masses = self.counts_to_confirm(), _masses(counts)
        rates = label_sums / np.maximum(counts, 1)
        is_outside = (counts > 0) & ((rates < self.claims[:, 0]) | (rates > self.claims[:, 1]))
        to_contradict = [
            count_to_contradict(float(rates[b]), lower, upper, self.alpha / n_tested, self.power) / masses[b]
            for b, (lower, upper) in enumerate(claims)
            if is_outside[b]
        ]
        return CertificateCheck(
            verdict=next((verdict for verdict in (CONTRADICTED, CANNOT_TELL) if verdict in verdicts), CONFIRMED),
            alpha=self.alpha,
            power=self.power,
            p_value=min(1.0, n_tested * float(p_inside.min())),
            claims=self.claims,
            intervals=clopper_pearson(label_sums, counts, bonferroni(self.alpha, n_tested)),
            counts=counts,
            label_sums=label_sums,
            p_values=p_inside,
            verdicts=tuple(verdicts),
            n_samples=int(counts.sum()),
            counts_to_confirm=to_confirm,
            samples_to_confirm=float(np.ceil(to_confirm / masses).max()),
            samples_to_contradict=float(np.ceil(min(to_contradict, default=np.inf))),
            is_calibration_set=reused,
        )


def _p_values(label_sum: int, count: int, lower: float, upper: float) -> tuple[float, float]:
    """Exact p-values of "the frequency lies in [lower, upper]", whose tails share the level, and of "it lies outside"."""
    inside, outside = [], [0.0]
    if upper < 1.0:
        inside.append(chance_at_least(label_sum, count, upper))
        outside.append(chance_at_most(label_sum, count, upper))
    if lower > 0.0:
        inside.append(chance_at_most(label_sum, count, lower))
        outside.append(chance_at_least(label_sum, count, lower))
    return min([1.0, *(len(inside) * p_value for p_value in inside)]), max(outside)


def _masses(counts: Int64s) -> Float64s:
    """The share of samples to expect in each bin: as seen, had one sample more come to every bin."""
    return np.asarray((counts + 1.0) / (counts.sum() + len(counts)))


def check_certificate(
    model: BinnedModel | Calibrator,
    scores: Any,
    labels: Any,
    *,
    certificate: Certificate | None = None,
    epsilon: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    sample_weight: Any = None,
    keys: Any = None,
    seed: int | None = 0,
) -> CertificateCheck:
    """Compare a promise about every bin with a test set that was not used in the fit.

    The calibration set itself is recognised by the fingerprint that the fit leaves in the model, and never confirms. A part of
    it, or all of it among other rows, is not recognised.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
        A step function.
    scores : array-like of shape (n,)
        Uncalibrated test scores, in the model's range.
    labels : array-like of shape (n,)
        bool, or numbers that equal 0 or 1.
    certificate : Certificate, optional
        A conditional one. By default ``model.certificate(alpha=0.1)``.
    epsilon : float in [0, 1], optional
        A promise to check instead, for any model: every value is within epsilon of the truth. 0 tests perfect calibration.
    alpha : float
        The chance of a wrong "contradicted" and of a wrong "confirmed", from 1e-100 to 1/2.
    power : float
        The chance of a verdict that the sample sizes in the answer aim at, strictly between 0 and 1.
    sample_weight : array-like of int, shape (n,), optional
        Frequencies. Importance weights are refused: the test is binomial.
    keys, seed
        For scores that tie with an edge, as in `BinnedModel.assign`.

    Returns
    -------
    CertificateCheck

    Raises
    ------
    GuaranteeError
        When the model has no certificate and no `epsilon` is given, or for importance weights.
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy; also for another kind of certificate.

    Notes
    -----
    Given the bins, the label sums of the test samples are binomial and independent. "contradicted": some bin's exact test of
    its claim rejects at alpha shared by Bonferroni. "confirmed": in every bin both one-sided tests at level alpha reject
    that the frequency lies outside the claim; no sharing is needed, since all must reject (Berger 1982). Otherwise the test
    set cannot tell, which is the usual case: a certificate is as precise as the calibration set is large, and to confirm it
    takes a test set of that size or more (Gupta & Ramdas 2021, section 4, found 5,000 samples too few).

    A certificate itself fails with its own alpha, so a contradicted one need not be a mistake; the two chances add up.

    Power is not quite monotone in the count, so slightly smaller sizes than those given may do. O(n + n_bins) time.

    Examples
    --------
    >>> import fastbin as fb, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(3000)
    >>> labels = rng.random(3000) < scores
    >>> model = fb.UniformMassBinning(n_bins=5).fit(scores[:2000], labels[:2000]).model_
    >>> check = check_certificate(model, scores[2000:], labels[2000:])
    >>> check.verdict, check.samples_to_confirm > 1000
    ('cannot tell', True)
    >>> check_certificate(model, scores[2000:] ** 2, labels[2000:]).verdict
    'contradicted'
    """
    promise = _Promise.of(model, certificate, epsilon, alpha, power)
    model = promise.model
    ones, weights = check_labels(labels), check_sample_weight(sample_weight)
    if weights is not None and weights.dtype == np.float64:
        raise GuaranteeError(
            "samples with real weights are not draws from the bin, so no exact binomial test exists; assess them with "
            "reliability_table, or give integers if the weights are frequencies"
        )
    bins = model.assign(scores, keys=keys, seed=None if keys is not None else seed)
    if check_same_length(scores=bins, labels=ones, sample_weight=weights) == 0:
        raise InputError("scores is empty; a check needs test samples (samples_to_check says how many)")
    counts = np.bincount(bins, weights, model.n_bins).astype(np.int64)
    label_sums = np.bincount(bins, ones if weights is None else ones * weights, model.n_bins).astype(np.int64)
    return promise.verdict_on(counts, label_sums, _is_calibration_set(model, scores, ones, weights))


def _is_calibration_set(model: BinnedModel, scores: Any, labels: UInt8s, frequencies: Any) -> bool:
    """Whether these rows have the fingerprint of the model, where that tells them from other rows. O(n log n_bins)."""
    if model.fingerprint == 0:
        return False
    inside = clip_scores(as_scores(scores), model.score_range, model.out_of_range)
    counts = count_at_edges(model, inside.astype(np.float64), labels, frequencies)
    return fingerprint_of(counts) == model.fingerprint and chance_of_same_counts(counts) < COINCIDENCE


@shared_docs(check_certificate.__doc__)
def samples_to_check(
    model: BinnedModel | Calibrator,
    *,
    certificate: Certificate | None = None,
    epsilon: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """The number of test samples that confirm a true promise, computed before any is drawn.

    Parameters
    ----------
    {model}
    {certificate}
    {epsilon}
    {alpha}
    {power}

    Returns
    -------
    float
        A whole number of samples with which `check_certificate` says "confirmed" with chance `power`, if the values of the
        model are the truth and bins have the masses that they had in the fit. Infinity where none would do (epsilon 0).

    Raises
    ------
    GuaranteeError, InputError, InputTypeError
        As in `check_certificate`.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [(i + 0.5) / 1000 for i in range(1000)]
    >>> model = fb.UniformMassBinning(n_bins=2).fit(scores, [i % 3 == 0 for i in range(1000)]).model_
    >>> samples_to_check(model)
    2616.0
    """
    promise = _Promise.of(model, certificate, epsilon, alpha, power)
    counts = np.zeros(promise.model.n_bins, np.int64) if promise.model.counts is None else promise.model.counts
    return float(np.ceil(promise.counts_to_confirm() / _masses(counts)).max())
