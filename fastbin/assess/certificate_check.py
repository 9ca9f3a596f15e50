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
from fastbin.assess.binomial import Frequency
from fastbin.assess.bounded_mean import BoundedMean
from fastbin.assess.served_averages import BinSums, claims_on_averages, tests_of_averages
from fastbin.assess.verdict import CANNOT_TELL, CONFIRMED, CONTRADICTED, NO_CLAIM, CertificateCheck
from fastbin.guarantees import Certificate
from fastbin.intervals import bonferroni
from fastbin.intervals._tally import around
from fastbin.model import BinnedModel

# Equal fingerprints mean equal counts. That says nothing where other rows would often have the same counts.
COINCIDENCE = 1e-4


class _Promise(NamedTuple):
    """A promise about each bin, and the levels at which it is tested.

    In a model of one value per bin a claim says where the frequency lies. In a model of two resolutions it says where the
    mean of label - served value lies, and is tested as such, but for bins whose values are all the same.
    """

    model: BinnedModel
    claims: Float64s  # (n_bins, 2): all that is possible, for a bin that the promise leaves out
    is_claimed: Bools  # whether the promise is about the bin
    tests: tuple[Frequency | BoundedMean, ...]
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
        radii = np.where(is_claimed, radii, 1.0)
        if model.has_steps:
            tests = tests_of_averages(model, radii)
            return cls(model, claims_on_averages(tests), is_claimed, tests, alpha, power)
        claims = around(model.values, radii)
        claims[~is_claimed] = 0.0, 1.0
        rows = zip(*claims.T.tolist(), model.values.tolist(), strict=True)
        return cls(model, claims, is_claimed, tuple(map(Frequency._make, rows)), alpha, power)

    def counts_to_confirm(self) -> Float64s:
        """Per bin the count that confirms its claim, if its values are true, so that all are confirmed with chance `power`."""
        per_bin = self.power ** (1.0 / max(1, int(self.is_claimed.sum())))
        counts = [test.count_to_confirm(self.alpha, per_bin) for test in self.tests]
        return np.where(self.is_claimed, counts, 0.0)

    def verdict_on(self, seen: BinSums, reused: bool) -> CertificateCheck:
        """The verdict of a test set with these sums; samples that the fit has used confirm nothing."""
        counts, label_sums, totals = seen.counts, seen.label_sums, seen.totals(self.tests)
        n_tested = max(1, int(np.count_nonzero(self.is_claimed & (counts > 0))))
        rows = zip(self.tests, totals.tolist(), counts.tolist(), strict=True)
        p_inside, p_outside = (np.array(column) for column in zip(*(test.p_values(*row) for test, *row in rows), strict=True))
        is_contradicted, is_confirmed = p_inside * n_tested <= self.alpha, (p_outside <= self.alpha) & (not reused)
        verdicts = np.select(
            [~self.is_claimed, is_contradicted, is_confirmed], [NO_CLAIM, CONTRADICTED, CONFIRMED], CANNOT_TELL
        ).tolist()
        to_confirm, masses = self.counts_to_confirm(), _masses(counts)
        return CertificateCheck(
            verdict=next((verdict for verdict in (CONTRADICTED, CANNOT_TELL) if verdict in verdicts), CONFIRMED),
            alpha=self.alpha,
            power=self.power,
            p_value=min(1.0, n_tested * float(p_inside.min())),
            claims=self.claims,
            intervals=seen.intervals(self.tests, self.model.has_steps, bonferroni(self.alpha, n_tested)),
            counts=counts,
            label_sums=label_sums,
            p_values=p_inside,
            verdicts=tuple(verdicts),
            n_samples=int(counts.sum()),
            counts_to_confirm=to_confirm,
            samples_to_confirm=float(np.ceil(to_confirm / masses).max()),
            samples_to_contradict=float(np.ceil(self._least_to_contradict(seen, n_tested))),
            is_calibration_set=reused,
            mean_served=seen.mean_served if self.model.has_steps else None,
        )

    def _least_to_contradict(self, seen: BinSums, n_tested: int) -> float:
        """The size of a test set with which the worst of the bins that now lie outside their claims would be contradicted."""
        totals, deviations, masses = seen.totals(self.tests), seen.deviations(), _masses(seen.counts)
        sizes = [np.inf]
        for b, test in enumerate(self.tests):
            mean = float(totals[b]) / max(1, int(seen.counts[b]))
            if seen.counts[b] > 0 and not test.lower <= mean <= test.upper:
                count = test.count_to_contradict(mean, float(deviations[b]), self.alpha / n_tested, self.power)
                sizes.append(count / float(masses[b]))
        return float(min(sizes))


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

    In a model of two resolutions the promise is about the average of what is served in a bin, so what is tested is the mean of
    label - served value over the bin's test samples, by Hoeffding's inequality (1963, Theorem 1, first form) with the range of
    the values there; valid for any mix of scores inside the bin, and exact binomial where all its values are the same. Its
    sample sizes use the normal law.

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
    steps = model.step(scores, keys=keys, seed=None if keys is not None else seed)
    if check_same_length(scores=steps, labels=ones, sample_weight=weights) == 0:
        raise InputError("scores is empty; a check needs test samples (samples_to_check says how many)")
    return promise.verdict_on(BinSums.of(model, steps, ones, weights), _is_calibration_set(model, scores, ones, weights))


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
