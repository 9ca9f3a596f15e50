"""Is what a certificate promises consistent with a test set, and is the test set large enough to tell?"""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from fastbin._base.checks import check_alpha, check_power
from fastbin._base.docstrings import shared_docs
from fastbin._fit.calibrator import Calibrator
from fastbin.assess.promise import Promise, tested_parts
from fastbin.assess.served_averages import BinSums
from fastbin.assess.verdict import CertificateCheck, SetCheck
from fastbin.guarantees import Certificate, SetCertificate
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet


@overload
def check_certificate(model: ModelSet, scores: Any, labels: Any, *, cells: Any, **options: Any) -> SetCheck: ...


@overload
def check_certificate(model: BinnedModel | Calibrator, scores: Any, labels: Any, **options: Any) -> CertificateCheck: ...


def check_certificate(  # type: ignore[misc]  # the options are those below, stated once
    model: BinnedModel | Calibrator | ModelSet,
    scores: Any,
    labels: Any,
    *,
    cells: Any = None,
    certificate: Certificate | SetCertificate | None = None,
    epsilon: float | None = None,
    alpha: float = 0.05,
    power: float = 0.9,
    sample_weight: Any = None,
    positive: Any = None,
    keys: Any = None,
    seed: int | None = 0,
) -> CertificateCheck | SetCheck:
    """Compare a promise about every bin with a test set that was not used in the fit.

    The calibration set itself is recognised by the fingerprint that the fit leaves in the model, and never confirms. A part of
    it, or all of it among other rows, is not recognised.

    Parameters
    ----------
    model : BinnedModel, fitted calibrator or ModelSet
        A step function, or a set of them.
    scores : array-like of shape (n,)
        Uncalibrated test scores, in the model's range.
    labels : array-like of shape (n,)
        bool, or numbers that equal 0 or 1.
    cells : array-like of shape (n,), optional
        Of a set, and of a set alone: the key of each row. Of a set for predicted classes: the predicted class, and the label is
        whether it is right; class-wise: a row for each sample and class, whose label is whether the class is the true one.
    certificate : Certificate, optional
        A conditional one. By default ``model.certificate(alpha=0.1)``. Of a set its joint one, a `SetCertificate`.
    epsilon : float in [0, 1], optional
        A promise to check instead, for any model: every value is within epsilon of the truth. 0 tests perfect calibration.
    alpha : float
        The chance of any wrong "contradicted" or "confirmed", of the whole or of a bin, from 1e-100 to 1/2.
    power : float
        The chance with which detectable differences would have been seen, and of a verdict that sample sizes aim at; strictly
        between 0 and 1.
    sample_weight : array-like of int, shape (n,), optional
        Frequencies. Importance weights are refused: the test is binomial.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".
    keys, seed
        For scores that tie with an edge, as in `BinnedModel.assign`.

    Returns
    -------
    CertificateCheck
        Of a set a `SetCheck`.

    Raises
    ------
    GuaranteeError
        When the model has no certificate and no `epsilon` is given, or for importance weights.
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy; also for another kind of certificate.

    Notes
    -----
    The rows must be new: a verdict on rows that the classifier or its calibration has seen says nothing.

    Given the bins, the label sums of the test samples are binomial and independent. Each bin that holds test samples gets a
    Clopper-Pearson interval (1934) for its frequency, at alpha shared by Bonferroni, and that interval decides. "contradicted":
    in some bin it misses the claim. "confirmed": in every bin it lies within the claim. With probability at least 1 - alpha all
    intervals hold at once, and then no verdict on a bin is wrong. Otherwise the promise is "not contradicted", which is the
    usual case: a certificate is as precise as the calibration set is large, and to confirm it takes several test sets of that
    size (Gupta & Ramdas 2021, section 4, found 5,000 samples too few). `detectable` says which differences would have shown.

    In a model of two resolutions the promise is about the average of what is served in a bin, so the interval is that of the
    mean of label - served value over the bin's test samples, by Hoeffding's inequality (1963, Theorem 1, first form) with the
    range of the values there; valid for any mix of scores inside the bin, and exact binomial where all its values are the same.
    Its sample sizes use the normal law; detectable differences hold for any mix.

    Of a set with M models that promise something, each is checked at alpha / M: "contradicted" if one of them is, "confirmed"
    if all are. That holds whatever the dependence between them, that of a class-wise set included.

    A certificate itself fails with its own alpha, so a contradicted one need not be a mistake; the two chances add up.

    Sample sizes are computed when they are asked for. Power is not quite monotone in the count, so slightly smaller sizes than
    those given may do. O(n + n_bins) time.

    Examples
    --------
    >>> import fastbin as fb, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(3000)
    >>> labels = rng.random(3000) < scores
    >>> model = fb.UniformMassBinning(n_bins=5).fit(scores[:2000], labels[:2000]).model_
    >>> check = check_certificate(model, scores[2000:], labels[2000:])
    >>> check.verdict, check.samples_to_confirm > 1000
    ('not contradicted', True)
    >>> check_certificate(model, scores[2000:] ** 2, labels[2000:]).verdict
    'contradicted'
    """
    parts = tested_parts(
        model, scores, labels, cells, certificate=certificate, epsilon=epsilon, alpha=alpha, power=power,
        sample_weight=sample_weight, positive=positive, keys=keys, seed=seed,
    )  # fmt: skip
    checks = [(part.name, part.check()) for part in parts.parts]
    if parts.is_set:
        return SetCheck.of(checks, alpha=check_alpha(alpha), power=check_power(power), n_unknown=parts.n_unknown)
    return checks[0][1]


@shared_docs(check_certificate.__doc__)
def samples_to_check(
    model: BinnedModel | Calibrator,
    *,
    certificate: Certificate | None = None,
    epsilon: float | None = None,
    alpha: float = 0.05,
    power: float = 0.9,
) -> float:
    """The number of test samples that confirm a true promise, computed before any is drawn.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
    certificate : Certificate, optional
        A conditional one. By default ``model.certificate(alpha=0.1)``.
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
    4276.0
    """
    promise = Promise.of(model, certificate, epsilon, alpha, power)
    counts = np.zeros(promise.model.n_bins, np.int64) if promise.model.counts is None else promise.model.counts
    nothing = np.zeros(len(counts))
    expected = BinSums(counts, np.zeros_like(counts), nothing, nothing)
    return promise.sizes(expected, max(1, int(promise.is_claimed.sum()))).samples_to_confirm()
