"""Is what a certificate promises consistent with a test set, and is the test set large enough to tell?"""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np

from fastbin._base.array_types import Array, Bools, Float64s, Int64s, UInt8s
from fastbin._base.cells import Key
from fastbin._base.checks import (
    as_key_array,
    as_scores,
    check_alpha,
    check_labels,
    check_power,
    check_same_event,
    check_same_length,
    check_sample_weight,
    check_seed,
    check_unit_interval,
    clip_scores,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin._base.frames import check_same_index
from fastbin._base.shown import how_many
from fastbin._core.fit import row_keys
from fastbin._fit.calibrator import Calibrator, as_model_or_set
from fastbin._fit.edges import chance_of_same_counts, count_at_edges, fingerprint_of
from fastbin.assess.bin_tests import BinSums, BinTest, Frequency, Sizes, claims_on_averages, tests_of_averages
from fastbin.assess.verdict import CertificateCheck, SetCheck, joint_verdict, judged
from fastbin.guarantees import Certificate, SetCertificate
from fastbin.guarantees.certificate import name_cells
from fastbin.guarantees.evidence import is_moved, weighed
from fastbin.intervals import bonferroni
from fastbin.intervals.binomial import check_side, opened
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet, as_model


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
    side: str = "both",
    test_level: float = 0.05,
    power: float = 0.9,
    sample_weight: Any = None,
    positive: Any = None,
    tie_keys: Any = None,
    seed: int | None = 0,
) -> CertificateCheck | SetCheck:
    """Compare a promise about every bin with a test set that was not used in the fit.

    The calibration set itself is recognised by the fingerprint that the fit leaves in the model, and confirms nothing, unless
    other rows would often have the same counts: in a single bin, or few bins of few rows. A part of it, or all of it among
    other rows, is not recognised.

    Parameters
    ----------
    model : BinnedModel, fitted calibrator or ModelSet
        A step function, or a set of them.
    scores : array-like of shape (n,)
        Uncalibrated test scores, in the model's range.
    labels : array-like of shape (n,)
        bool, or numbers that equal 0 or 1.
    cells : array-like of shape (n,), optional
        Only for a set: the key of each row. For a set of predicted classes: the predicted class, and the label is
        whether it is right; class-wise: a row for each sample and class, whose label is whether the class is the true one.
    certificate : Certificate, optional
        A conditional one. By default ``model.certificate(alpha=0.1)``. For a set its joint one, a `SetCertificate`.
    epsilon : float in [0, 1], optional
        A promise to check instead, for any model: every value is within epsilon of the truth. 0 tests perfect calibration.
    side : {"both", "upper", "lower"}
        Of this promise, or of the certificate that is taken by default: "upper" for no truth above its value by more than
        epsilon, "lower" for none below it. A certificate that is given has its own.
    test_level : float
        The chance of any wrong "contradicted" or "confirmed", of the whole or of a bin, from 1e-100 to 1/2.
    power : float
        The chance with which detectable differences would have been seen, and of a verdict that sample sizes aim at; strictly
        between 0 and 1.
    sample_weight : array-like of int, shape (n,), optional
        Frequencies. Importance weights are refused: the test is binomial.
    positive : optional
        The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".
    tie_keys, seed
        For scores that tie with an edge, as in `BinnedModel.assign`.

    Returns
    -------
    CertificateCheck
        A `SetCheck` for a set.

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
    Clopper-Pearson interval (1934) for its frequency, at its share of the level, and that interval decides. "contradicted":
    in some bin it misses the claim. "confirmed": in every bin it lies within the claim. With probability 1 - test_level all
    intervals hold at once, and then no verdict on a bin is wrong. Otherwise the promise is "not contradicted", which is the
    usual case: a certificate is as precise as the calibration set is large, and to confirm it takes several test sets of that
    size (Gupta & Ramdas 2021, section 4, found 5,000 samples too few). `detectable` says which differences would have shown.

    In a model of two resolutions the promise is about the average of what is served in a bin, so the interval is that of the
    mean of label - served value over the bin's test samples, by Hoeffding's inequality (1963, Theorem 1, first form) with the
    range of the values there; valid for any mix of scores inside the bin, and exact binomial where all its values are the same.
    Its sample sizes use the normal law; detectable differences hold for any mix.

    Of a set with M models that promise something, each is checked at an M-th of the level: "contradicted" if one of them
    is, "confirmed" if all are. That holds whatever the dependence between them, that of a class-wise set included.

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
        model, scores, labels, cells, certificate=certificate, epsilon=epsilon, test_level=test_level, power=power,
        sample_weight=sample_weight, positive=positive, tie_keys=tie_keys, seed=seed, side=side,
    )  # fmt: skip
    checks = [(part.name, part.check()) for part in parts.parts]
    if parts.is_set:
        return SetCheck.of(
            checks, test_level=check_alpha(test_level, "test_level"), power=check_power(power), n_unknown=parts.n_unknown
        )
    return checks[0][1]


@shared_docs(check_certificate.__doc__)
def samples_to_check(
    model: BinnedModel | Calibrator,
    *,
    certificate: Certificate | None = None,
    epsilon: float | None = None,
    test_level: float = 0.05,
    power: float = 0.9,
) -> float:
    """The number of test samples that confirm a promise whose values are exact, computed before any is drawn.

    A promise that is true, and uses up a part of epsilon, takes more; one that uses up all of it is confirmed by none.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
    certificate : Certificate, optional
        A conditional one. By default ``model.certificate(alpha=0.1)``.
    {epsilon}
    {test_level}
    {power}

    Returns
    -------
    float
        A whole number of samples with which `check_certificate` says "confirmed" with chance `power`, if the values of the
        model are the truth and bins have the masses of the population that it is about: those of the fit, by its weights, the
        pool of a plan, or the class rates that the values were moved to. Infinity where none would do (epsilon 0).

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
    model = as_model(model)
    if epsilon is not None and (np.diff(served_ends(model)) > 2.0 * check_unit_interval(epsilon, "epsilon")).any():
        return np.inf  # draws alone move values by more
    promise = Promise.of(model, certificate, epsilon, test_level, power)
    counts = _counts_of_the_population(promise.model)
    nothing = np.zeros(len(counts))
    expected = BinSums(counts, np.zeros_like(counts), nothing, nothing)
    return promise.sizes(expected, max(1, int(promise.is_claimed.sum()))).samples_to_confirm()


# ------------------------------------------------------------------------------------------------- promises and test rows


# Equal fingerprints mean equal counts. That says nothing where other rows would often have the same counts.
COINCIDENCE = 1e-4


def served_ends(model: BinnedModel) -> Float64s:
    """The least and the greatest that each bin with one value serves, (n_bins, 2): draws move the value up and down."""
    values = np.asarray(model.values)
    return np.stack([values / (1.0 + model.delta), (values + model.delta) / (1.0 + model.delta)], axis=1)


def _counts_of_the_population(model: BinnedModel) -> Array:
    """The samples of the fit in each bin, shared out as rows of the population that the model is about are."""
    if model.counts is None:
        return np.zeros(model.n_bins, np.int64)
    if model.pool_counts is not None:
        return np.asarray(model.pool_counts)
    if not (model.is_weighted or is_moved(model)):
        return np.asarray(model.counts)
    totals, ones = weighed(model)
    masses = np.maximum(totals - ones, 0.0) + model.odds_ratio * ones  # a move multiplies the odds of every bin by the same
    return np.asarray(masses * (model.counts.sum() / (masses.sum() or 1.0)))


class Promise(NamedTuple):
    """A promise about each bin, and the levels at which it is tested.

    In a model of one value per bin a claim says where the frequency lies. In a model of two resolutions it says where the
    mean of label - served value lies, and is tested as such, but for bins whose values are all the same.
    """

    model: BinnedModel
    claims: Float64s  # (n_bins, 2): all that is possible, for a bin that the promise leaves out
    is_claimed: Bools  # whether the promise is about the bin
    tests: tuple[BinTest, ...]
    test_level: float
    power: float
    side: str = "both"

    @classmethod
    def of(
        cls,
        model: BinnedModel | Calibrator,
        certificate: Certificate | None,
        epsilon: float | None,
        test_level: float,
        power: float,
        side: str = "both",
    ) -> Promise:
        """The promise of a certificate, by default the model's own, or of an epsilon."""
        model, side = as_model(model), check_side(side)
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
            promise = model.certificate(side=side) if certificate is None else _one_of_a_model(certificate)
            if side not in ("both", promise.side):
                remedy = f"leave side out: the certificate is of side {promise.side!r}"
                raise InputError(None, remedy, argument="side", value=side)
            if promise.about != "population":
                raise InputError(
                    f"the certificate is about the {promise.about}; new rows say nothing of these: take certificate() without "
                    "about=, and for a batch fit without population="
                )
            if promise.kind != "conditional":
                raise InputError(
                    f"the certificate is of kind {promise.kind!r}; only a conditional one makes a promise about each bin that "
                    "one test set can contradict: take certificate(kind='conditional')"
                )
            if promise.n_bins != model.n_bins:
                raise InputError(f"the certificate is about {promise.n_bins} bins, and the model has {model.n_bins}")
            if model.counts is not None and promise.n_samples != model.n_samples:
                samples = f"{how_many(promise.n_samples, 'sample')}, and the model has {model.n_samples:,}"
                raise InputError(f"the certificate is about a fit to {samples}", "take that of the model")
            radii = promise.epsilon if promise.radii is None else np.asarray(promise.radii)
            is_claimed[list(promise.uncovered_bins)] = False
            side = promise.side
        share = check_alpha(test_level, "test_level"), check_power(power)
        return cls.within(model, np.where(is_claimed, radii, 1.0), is_claimed, *share, side)

    @classmethod
    def within(
        cls, model: BinnedModel, radii: Float64s, is_claimed: Bools, test_level: float, power: float, side: str = "both"
    ) -> Promise:
        """The promise that what is served in the claimed bins is within these radii of the truth, or that of one side.

        The radii of other bins are 1, so that their claims are all that is possible.
        """
        if model.has_steps:
            tests = tests_of_averages(model, radii, side)
            return cls(model, claims_on_averages(tests), is_claimed, tests, test_level, power, side)
        low, high = served_ends(model).T
        radii_of_bins = np.broadcast_to(radii, low.shape)
        claims = opened(np.stack([np.maximum(high - radii, 0.0), np.minimum(low + radii, 1.0)], axis=1), side)
        empty = claims[:, 0] > claims[:, 1]
        if empty.any():
            b = int(np.argmax(empty))
            served = f"draws serve values from {low[b]:g} to {high[b]:g} in bin {b}"
            problem = f"is {radii_of_bins[b]:g}, and {served}, so that no frequency is within it of both"
            raise InputError(problem, "take a larger one, or fit with delta=0", argument="epsilon")
        rows = zip(*claims.T.tolist(), model.values.tolist(), strict=True)
        return cls(model, claims, is_claimed, tuple(map(Frequency._make, rows)), test_level, power, side)

    def sizes(self, seen: BinSums, n_tested: int) -> Sizes:
        """The sizes of other test sets, where so many bins share the level."""
        return Sizes(self.tests, self.is_claimed, seen, bonferroni(self.test_level, n_tested), self.power)

    def verdict_on(self, seen: BinSums, reused: bool) -> CertificateCheck:
        """The verdict of a test set with these sums; samples that the fit has used confirm nothing."""
        n_tested = max(1, int(np.count_nonzero(self.is_claimed & (seen.counts > 0))))
        sizes, has_steps = self.sizes(seen, n_tested), self.model.has_steps
        rows = zip(self.tests, seen.totals(self.tests).tolist(), seen.counts.tolist(), strict=True)
        p_values = np.array([test.p_value(*row) for test, *row in rows])
        intervals = seen.intervals(self.tests, has_steps, sizes.alpha)
        verdicts = judged(self.claims, intervals, self.is_claimed, reused=reused)
        return CertificateCheck(
            verdict=joint_verdict(verdicts),
            test_level=self.test_level,
            power=self.power,
            p_value=min(1.0, n_tested * float(p_values.min())),
            claims=self.claims,
            intervals=intervals,
            interval_alpha=sizes.alpha,
            counts=seen.counts,
            label_sums=seen.label_sums,
            p_values=p_values,
            verdicts=verdicts,
            n_samples=int(seen.counts.sum()),
            sizes=sizes,
            is_calibration_set=reused,
            event=self.model.event,
            mean_served=seen.mean_served if has_steps else None,
            side=self.side,
        )


def _one_of_a_model(certificate: Any) -> Certificate:
    if isinstance(certificate, SetCertificate):
        raise InputError("the certificate is that of a set of models, and model is one model; take its own certificate()")
    if not isinstance(certificate, Certificate):
        raise _no_certificate(certificate)
    return certificate


def _no_certificate(value: Any) -> InputTypeError:
    remedy = "pass what certificate() of the model or the set gives"
    return InputTypeError(f"is of type {type(value).__name__}", remedy, argument="certificate")


class LabelledRows(NamedTuple):
    """Test samples in the steps of a model, checked."""

    scores: Array
    steps: Array | None  # None until it is known whose they are
    labels: UInt8s
    frequencies: Int64s | None

    def take(self, rows: Any) -> LabelledRows:
        """Some of the rows, by number or mask."""
        return LabelledRows(*(None if column is None else column[rows] for column in self))  # type: ignore[arg-type]

    @property
    def n_samples(self) -> int:
        """Samples, repetitions included."""
        return len(self.labels) if self.frequencies is None else int(self.frequencies.sum())

    def sums(self, model: BinnedModel) -> BinSums:
        """The sums over the rows of each bin."""
        return BinSums.of(model, self.steps, self.labels, self.frequencies)

    def are_calibration_set_of(self, model: BinnedModel) -> bool:
        """Whether these rows have the fingerprint of the model, where that tells them from other rows. O(n log n_bins)."""
        if model.fingerprint == 0:
            return False
        inside = clip_scores(self.scores, model)
        counts = count_at_edges(model, inside.astype(np.float64), self.labels, self.frequencies)
        return fingerprint_of(counts) == model.fingerprint and chance_of_same_counts(counts) < COINCIDENCE


class Part(NamedTuple):
    """A model, what it promises, and the test rows that it scores."""

    name: Key | None  # of its cell; None for the pool, and for a lone model
    promise: Promise
    rows: LabelledRows
    numbers: Int64s  # of these rows in the test set

    def check(self) -> CertificateCheck:
        """The verdict of these rows."""
        model = self.promise.model
        return self.promise.verdict_on(self.rows.sums(model), self.rows.are_calibration_set_of(model))


class TestedParts(NamedTuple):
    """A model, or those of a set, each with its own rows of a test set."""

    parts: list[Part]
    is_set: bool
    n_rows: int
    n_unknown: int  # samples of unknown cells, about which nothing is promised
    share_rows: bool  # whether the same samples are in several parts, so that these are not independent


def check_cells_given(fitted: BinnedModel | ModelSet, cells: Any) -> None:
    """Refuse a set without cells, and cells beside a lone model."""
    if fitted.is_set and cells is None:
        raise InputError("cells is missing; a set scores each row by the model of its cell, so give the key of every row")
    if not fitted.is_set and cells is not None:
        raise InputError("cells is given, and model is one model and no set; leave cells out, or pass the set")


def tested_parts(
    model: Any, scores: Any, labels: Any, cells: Any, *, certificate: Any, epsilon: float | None, test_level: float,
    power: float, sample_weight: Any, positive: Any, tie_keys: Any, seed: int | None, side: str,
) -> TestedParts:  # fmt: skip
    """The promise and the test rows of one model, or of every model of a set. O(n log n).

    `test_level` and `power` are those of all together; each of M models that promise something is tested at an M-th.
    """
    fitted, test_level, power = as_model_or_set(model), check_alpha(test_level, "test_level"), check_power(power)
    check_cells_given(fitted, cells)
    check_same_event(fitted.event, positive)
    promises = _promises_of(fitted, certificate, epsilon, test_level, power, side)
    check_same_index(scores=scores, labels=labels, cells=cells, sample_weight=sample_weight, tie_keys=tie_keys)
    ones, frequencies = check_labels(labels, positive=positive), check_sample_weight(sample_weight)
    if frequencies is not None and frequencies.dtype == np.float64:
        raise GuaranteeError(
            "samples with real weights are not draws from the bin, so no exact binomial test exists; assess them with "
            "reliability_table, or give integers if the weights are frequencies"
        )
    column, numbers = as_scores(scores), fitted.find(cells) if fitted.is_set else None
    if check_same_length(scores=column, labels=ones, cells=numbers, sample_weight=frequencies) == 0:
        raise InputError("scores is empty; a check needs test samples (samples_to_check says how many)")
    if frequencies is not None and not frequencies.any():
        raise InputError("sample_weight is 0 for every row; a check needs test samples (samples_to_check says how many)")
    if fitted.is_set:
        tie_keys = row_keys(check_seed(seed), len(column)) if tie_keys is None else as_key_array(tie_keys, len(column))
        fitted.assign(column, cells, tie_keys=tie_keys)  # names the first bad score by its row
    rows = LabelledRows(column, None, ones, frequencies)
    unknown, *places = _places(numbers, len(promises), len(column))
    parts = []
    for (name, own), promise, at in zip(fitted.numbered, promises, places, strict=True):
        taken = rows if numbers is None else rows.take(at)
        own_keys = tie_keys if numbers is None or tie_keys is None else tie_keys[at]
        steps = own.step(taken.scores, tie_keys=own_keys, seed=seed if tie_keys is None else None)
        parts.append(Part(name, promise, taken._replace(steps=steps), at))
    share_rows = fitted.kind == "class-wise"
    return TestedParts(parts, fitted.is_set, len(column), rows.take(unknown).n_samples, share_rows)


def _places(numbers: Any, n_models: int, n_rows: int) -> list[Int64s]:
    """The rows of no model, then those of each; all are of a lone model, whose rows have no number."""
    if numbers is None:
        return [np.empty(0, np.int64), np.arange(n_rows)]
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.searchsorted(numbers[order], np.arange(n_models)))


def _promises_of(
    fitted: BinnedModel | ModelSet, certificate: Any, epsilon: float | None, test_level: float, power: float, side: str
) -> list[Promise]:
    """The promise of each model, tested at its share of the level and of the power."""
    if epsilon is not None or not fitted.is_set:
        share = _share(test_level, power, len(fitted.numbered))
        return [Promise.of(model, certificate, epsilon, *share, side) for _, model in fitted.numbered]
    promise = fitted.certificate(side=check_side(side)) if certificate is None else certificate
    if isinstance(promise, Certificate):
        raise InputError("the certificate is that of one model; take certificate() of the set")
    if not isinstance(promise, SetCertificate):
        raise _no_certificate(promise)
    own, known = dict(promise.parts), {name for name, _ in fitted.numbered}
    strange = [name for name in own if name not in known]
    if strange:
        raise InputError(f"the certificate is about {name_cells(strange)}, which the set does not have")
    share = _share(test_level, power, len(own))
    promises = []
    for name, model in fitted.numbered:
        if name in own:
            promises.append(Promise.of(model, own[name], None, *share, side))
        else:  # without samples
            promises.append(Promise.within(model, np.ones(model.n_bins), np.zeros(model.n_bins, bool), *share))
    return promises


def _share(test_level: float, power: float, n_models: int) -> tuple[float, float]:
    """The level and the power of each of several models, so that all err and succeed together with these."""
    return test_level / max(1, n_models), power ** (1.0 / max(1, n_models))
