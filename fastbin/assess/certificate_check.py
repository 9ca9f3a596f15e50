"""Is what a certificate promises consistent with a test set, and is the test set large enough to tell?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._calibrator import Calibrator, as_model
from fastbin._errors import GuaranteeError, InputError
from fastbin._fit.fingerprint import chance_of_same_counts, count_at_edges, fingerprint_of
from fastbin._scalars import check_alpha, check_power, check_unit_interval
from fastbin._validation import as_scores, check_labels, check_same_length, check_sample_weight, clip_scores
from fastbin.assess._binomial import (
    chance_at_least,
    chance_at_most,
    count_to_confirm,
    count_to_contradict,
)
from fastbin.assess.verdict import CANNOT_TELL, CONFIRMED, CONTRADICTED, NO_CLAIM, CertificateCheck
from fastbin.guarantees import Certificate
from fastbin.intervals import bonferroni, clopper_pearson
from fastbin.model import BinnedModel

__all__ = ["check_certificate", "samples_to_check"]

Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]

# Equal fingerprints mean equal counts. Where other rows would often have the same, as on a single score, they mean nothing.
COINCIDENCE = 1e-4


def _outside(claims: Float64s, counts: Int64s, label_sums: Int64s) -> npt.NDArray[np.bool_]:
    """Bins whose rate on the test set lies outside the claim."""
    rates = label_sums / np.maximum(counts, 1)
    return (counts > 0) & ((rates < claims[:, 0]) | (rates > claims[:, 1]))


def _claims_of(model: BinnedModel, certificate: Certificate | None, epsilon: float | None) -> tuple[Float64s, list[bool]]:
    """The promised range of each bin, and which bins have a promise."""
    if model.kind != "step":
        raise InputError(
            f"the model is of kind {model.kind!r}; a promise is checked bin by bin, so it needs a step function (assess its "
            "predictions with reliability_table)"
        )
    if certificate is not None and epsilon is not None:
        raise InputError("certificate and epsilon are both given; give the promise to check once")
    claimed = [True] * model.n_bins
    if epsilon is not None:
        radii: Any = check_unit_interval(epsilon, "epsilon")
    else:
        promise = model.certificate() if certificate is None else certificate
        if promise.kind != "conditional":
            raise InputError(
                f"the certificate is of kind {promise.kind!r}; only a conditional one makes a promise about each bin that one "
                "test set can contradict: take certificate(kind='conditional')"
            )
        if promise.n_bins != model.n_bins:
            raise InputError(f"the certificate is about {promise.n_bins} bins, and the model has {model.n_bins}")
        radii = promise.epsilon if promise.radii is None else np.asarray(promise.radii)
        for b in promise.uncovered_bins:
            claimed[b] = False
    claims = np.clip(np.stack([model.values - radii, model.values + radii], axis=1), 0.0, 1.0)
    claims[~np.array(claimed)] = 0.0, 1.0
    return claims, claimed


def _p_value(label_sum: int, count: int, lower: float, upper: float) -> float:
    """The exact p-value of "the frequency lies in [lower, upper]": the two tails share the level where both exist."""
    tails = []
    if upper < 1.0:
        tails.append(chance_at_least(label_sum, count, upper))
    if lower > 0.0:
        tails.append(chance_at_most(label_sum, count, lower))
    return min(1.0, len(tails) * min(tails)) if tails else 1.0


def _is_confirmed(label_sum: int, count: int, lower: float, upper: float, alpha: float) -> bool:
    """Whether both one-sided tests reject that the frequency lies outside [lower, upper]."""
    below = upper >= 1.0 or chance_at_most(label_sum, count, upper) <= alpha
    return below and (lower <= 0.0 or chance_at_least(label_sum, count, lower) <= alpha)


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
    """Compare a promise about every bin with a test set that had no part in the fit.

    The calibration set itself is noticed, by the fingerprint that the fit leaves in the model, and never confirms. A part of
    it, or the whole of it among other rows, is not noticed.

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
    alpha, power = check_alpha(alpha), check_power(power)
    model = as_model(model)
    claims, claimed = _claims_of(model, certificate, epsilon)
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
    sums = np.bincount(bins, ones if weights is None else ones * weights, model.n_bins).astype(np.int64)
    reused = _is_calibration_set(model, scores, ones, weights)
    return _verdict_of(model, claims, claimed, counts, sums, alpha, power, reused)


def _is_calibration_set(model: BinnedModel, scores: Any, labels: npt.NDArray[np.uint8], frequencies: Any) -> bool:
    """Whether these rows have the fingerprint of the model, where that tells them from other rows. O(n log n_bins)."""
    fingerprint = model.fingerprint
    if fingerprint == 0:
        return False
    inside = clip_scores(as_scores(scores), model.score_range, model.out_of_range)
    found = count_at_edges(model, inside.astype(np.float64), labels, frequencies)
    return fingerprint_of(found) == fingerprint and chance_of_same_counts(found) < COINCIDENCE


def _verdict_of(
    model: BinnedModel,
    claims: Float64s,
    claimed: list[bool],
    counts: Int64s,
    sums: Int64s,
    alpha: float,
    power: float,
    reused: bool,
) -> CertificateCheck:
    rows = [(int(x), int(count), float(low), float(high)) for x, count, (low, high) in zip(sums, counts, claims, strict=True)]
    n_tested = max(1, int(np.count_nonzero(np.array(claimed) & (counts > 0))))
    p_values = [_p_value(*row) if told else 1.0 for row, told in zip(rows, claimed, strict=True)]

    def verdict_of(row: tuple[int, int, float, float], told: bool, p_value: float) -> str:
        if not told:
            return NO_CLAIM
        if p_value * n_tested <= alpha:
            return CONTRADICTED
        return CONFIRMED if not reused and _is_confirmed(*row, alpha) else CANNOT_TELL

    verdicts = tuple(map(verdict_of, rows, claimed, p_values))
    verdict = CANNOT_TELL
    if CONTRADICTED in verdicts:
        verdict = CONTRADICTED
    elif CANNOT_TELL not in verdicts:
        verdict = CONFIRMED
    to_confirm = _counts_to_confirm(model, claims, claimed, alpha, power)
    outside = np.flatnonzero(_outside(claims, counts, sums))
    masses, level = _masses(counts), alpha / n_tested
    to_contradict = [count_to_contradict(sums[b] / counts[b], *rows[b][2:], level, power) / masses[b] for b in outside]
    return CertificateCheck(
        verdict=verdict,
        alpha=alpha,
        power=power,
        p_value=min(1.0, n_tested * min(p_values)),
        claims=claims,
        intervals=clopper_pearson(sums, counts, bonferroni(alpha, n_tested)),
        counts=counts,
        label_sums=sums,
        p_values=np.array(p_values),
        verdicts=verdicts,
        n_samples=int(counts.sum()),
        counts_to_confirm=to_confirm,
        samples_to_confirm=_whole(float((to_confirm / masses).max())),
        samples_to_contradict=_whole(min(to_contradict, default=math.inf)),
        is_calibration_set=reused,
    )


def _counts_to_confirm(model: BinnedModel, claims: Float64s, claimed: list[bool], alpha: float, power: float) -> Float64s:
    """For each bin the count that confirms its claim, if its value is true, so that all are confirmed with chance `power`."""
    per_bin = power ** (1.0 / max(1, sum(claimed)))
    return np.array(
        [
            count_to_confirm(float(value), float(low), float(high), alpha, per_bin) if told else 0.0
            for value, (low, high), told in zip(model.values, claims, claimed, strict=True)
        ]
    )


def _masses(counts: Int64s) -> Float64s:
    """The share of samples to expect in each bin: as seen, had one sample more come to every bin."""
    return np.asarray((counts + 1.0) / (counts.sum() + len(counts)))


def _whole(size: float) -> float:
    return float(math.ceil(size)) if math.isfinite(size) else size


def samples_to_check(
    model: BinnedModel | Calibrator,
    *,
    certificate: Certificate | None = None,
    epsilon: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """How many test samples it takes to confirm a promise that is true, before any is drawn.

    Parameters
    ----------
    model, certificate, epsilon, alpha, power
        As in `check_certificate`.

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
    alpha, power = check_alpha(alpha), check_power(power)
    model = as_model(model)
    claims, claimed = _claims_of(model, certificate, epsilon)
    counts = np.zeros(model.n_bins, np.int64) if model.counts is None else model.counts
    return _whole(float((_counts_to_confirm(model, claims, claimed, alpha, power) / _masses(counts)).max()))
