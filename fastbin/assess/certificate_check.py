"""Is what a certificate promises consistent with a test set, and is the test set large enough to tell?"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastbin._calibrator import Calibrator
from fastbin._docstrings import shared_docs
from fastbin.assess.promise import LabelledRows, Promise, expected_shares
from fastbin.assess.verdict import CertificateCheck
from fastbin.guarantees import Certificate
from fastbin.model import BinnedModel


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
    promise = Promise.of(model, certificate, epsilon, alpha, power)
    rows = LabelledRows.of(promise.model, scores, labels, sample_weight, keys, seed)
    return promise.verdict_on(rows.sums(promise.model), rows.are_calibration_set_of(promise.model))


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
    promise = Promise.of(model, certificate, epsilon, alpha, power)
    counts = np.zeros(promise.model.n_bins, np.int64) if promise.model.counts is None else promise.model.counts
    return float(np.ceil(promise.counts_to_confirm() / expected_shares(counts)).max())
