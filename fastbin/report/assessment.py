"""A fitted model on a test set: what a report shows, and ``fastbin assess`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, overload

import numpy as np

from fastbin import assess
from fastbin._calibrator import Calibrator, as_model, as_model_or_set
from fastbin._docstrings import shared_docs
from fastbin._errors import GuaranteeError
from fastbin._frames import check_same_index
from fastbin._scalars import check_alpha
from fastbin._typing import Array, Bools, Float64s, Int64s
from fastbin._validation import as_key_array, as_scores, check_labels, check_same_length, check_sample_weight, clip_scores
from fastbin.assess.promise import check_cells_given
from fastbin.assess.samples import Samples, check_samples
from fastbin.guarantees import Certificate
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.report.cautions import cautions_of
from fastbin.report.findings import Findings
from fastbin.report.scorecard import ComparedBins, LeftOut, Scorecard, n_positive, predictions_given, rows_kept
from fastbin.report.set_assessment import SetAssessment, assess_set

Predictor = BinnedModel | Calibrator | Any


@dataclass(frozen=True, eq=False)
class Assessment(Findings):
    """How good a model is on a test set; made by `assess_model`. ``str()`` is the short of it; as a frame, a row per predictor.

    Attributes
    ----------
    model : BinnedModel
    alpha : float
        Of the certificate and of all intervals.
    n_samples, n_positive : int
        Test samples assessed, frequencies counted, and those with label 1.
    is_weighted : bool
        Whether the test samples have importance weights.
    left_out : LeftOut
        Rows whose score is missing or outside the model's range; no number here counts them.
    bin_counts : int64 (n_bins,) or None
        Test samples in each bin of a step function.
    after : Scorecard
        Of the model.
    before : Scorecard or None
        Of the scores themselves; None where they are not probabilities.
    others : tuple of Scorecard
        Of the methods to compare with.
    certificates : tuple of Certificate
        Conditional, marginal and for the ECE; none where the model supports none.
    why_no_certificate : str or None
    check : CertificateCheck or None
        The test of the conditional certificate; None where there is none, or the weights do not allow it.
    """

    model: BinnedModel
    alpha: float
    n_samples: int
    n_positive: int
    is_weighted: bool
    left_out: LeftOut
    bin_counts: Int64s | None
    after: Scorecard
    before: Scorecard | None
    others: tuple[Scorecard, ...]
    certificates: tuple[Certificate, ...]
    why_no_certificate: str | None
    check: assess.CertificateCheck | None

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """What a reader should know before relying on the model, a sentence or two each; empty if all is well."""
        return tuple(cautions_of(self))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            **{name: getattr(self, name) for name in ("event", "alpha", "n_samples", "n_positive", "is_weighted")},
            "left_out": self.left_out._asdict(),
            "certificates": [{"sentence": str(promise), **promise.to_dict()} for promise in self.certificates],
            "why_no_certificate": self.why_no_certificate,
            "check": None if self.check is None else {"sentence": str(self.check), **self.check.to_dict()},
            "scorecards": [scorecard.to_dict() for scorecard in self.scorecards],
            "cautions": list(self.cautions),
        }


class _TestSet(NamedTuple):
    """The test rows that the model can score, checked."""

    samples: Samples  # with scores in place of predictions
    keys: Array | None
    kept: Bools  # of the rows given
    left_out: LeftOut

    @classmethod
    def of(cls, model: BinnedModel, scores: Any, labels: Any, sample_weight: Any, positive: Any, keys: Any) -> _TestSet:
        check_same_index(scores=scores, labels=labels, sample_weight=sample_weight, keys=keys)
        column = clip_scores(as_scores(scores), model.score_range, model.out_of_range)
        ones, weights = check_labels(labels, positive=positive), check_sample_weight(sample_weight)
        check_same_length(scores=column, labels=ones, sample_weight=weights)
        kept, left_out = rows_kept(column, *(model.score_range or (-np.inf, np.inf)))
        samples = Samples(column[kept], ones[kept], None if weights is None else weights[kept])
        return cls(samples, None if keys is None else as_key_array(keys, len(column))[kept], kept, left_out)

    def bins_of(self, model: BinnedModel, seed: int | None) -> Int64s | None:
        """The bin of each sample; None for a model without bins."""
        if model.kind != "step":
            return None
        return model.assign(self.samples.predictions, keys=self.keys, seed=seed).astype(np.int64)

    def predictions_of(self, other: Predictor, seed: int | None, name: str) -> Float64s:
        """The predictions of another method for the rows that were kept: of a model, or as given for all rows."""
        if isinstance(other, (BinnedModel, Calibrator)):
            return as_model(other).predict(self.samples.predictions, keys=self.keys, seed=seed)
        return predictions_given(other, self.kept, name)


@overload
def assess_model(model: ModelSet, scores: Any, labels: Any, *, cells: Any, **options: Any) -> SetAssessment: ...


@overload
def assess_model(model: BinnedModel | Calibrator, scores: Any, labels: Any, **options: Any) -> Assessment: ...


@shared_docs(check_samples.__doc__)  # type: ignore[misc]  # the options are those below, stated once
def assess_model(
    model: BinnedModel | Calibrator | ModelSet,
    scores: Any,
    labels: Any,
    *,
    cells: Any = None,
    others: Mapping[str, Predictor] | None = None,
    sample_weight: Any = None,
    positive: Any = None,
    alpha: float = 0.1,
    level: float = 0.05,
    n_bins: int | None = None,
    keys: Any = None,
    seed: int | None = 0,
) -> Assessment | SetAssessment:
    """Assess a fitted model, or a set of models, on test samples that were not used in its fit.

    Parameters
    ----------
    model : BinnedModel, fitted calibrator or ModelSet
    scores : array-like of shape (n,)
        Uncalibrated test scores. Rows with a missing score, or one outside the model's range, are left out and counted.
    {labels}
    cells : array-like of shape (n,), optional
        Of a set, and of a set alone: the key of each row; see `fastbin.assess.check_certificate`.
    others : mapping from name to a model, a set, a fitted calibrator, or predictions of shape (n,), optional
        Methods to compare with, on the same rows.
    sample_weight : array-like of shape (n,), optional
        Integers are frequencies, floats importance weights; these allow no test of the certificate.
    {positive}
    alpha : float
        Of the certificate and of all intervals, strictly between 0 and 1.
    level : float
        Of the test of the certificate, strictly between 0 and 1.
    n_bins : int, optional
        Into how many bins of equal mass the calibrated probabilities are divided where they are not few values with many
        samples; 15 by default. All predictors are compared in the same bins.
    keys, seed
        For scores that tie with an edge, as in `BinnedModel.predict`.

    Returns
    -------
    Assessment
        Of a set a `SetAssessment`.

    Raises
    ------
    InputError, InputTypeError
        Naming the argument, the first bad position, its value and the remedy; also where no row is left.

    Examples
    --------
    >>> import fastbin as fb, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(4000)
    >>> labels = rng.random(4000) < scores**2
    >>> model = fb.UniformMassBinning(n_bins=5).fit(scores[:2000], labels[:2000]).model_
    >>> assessment = assess_model(model, scores[2000:], labels[2000:])
    >>> assessment.after.ece < assessment.before.ece, assessment.check.verdict
    (True, 'not contradicted')
    """
    fitted, alpha = as_model_or_set(model), check_alpha(alpha)
    check_cells_given(fitted, cells)
    if isinstance(fitted, ModelSet):
        return assess_set(
            fitted, scores, labels, cells, others=others or {}, sample_weight=sample_weight, positive=positive, alpha=alpha,
            level=level, n_bins=n_bins, keys=keys, seed=seed,
        )  # fmt: skip
    return _assess_one(
        fitted, scores, labels, others=others or {}, sample_weight=sample_weight, positive=positive, alpha=alpha, level=level,
        n_bins=n_bins, keys=keys, seed=seed,
    )  # fmt: skip


def _assess_one(
    model: BinnedModel, scores: Any, labels: Any, *, others: Mapping[str, Predictor], sample_weight: Any, positive: Any,
    alpha: float, level: float, n_bins: int | None, keys: Any, seed: int | None,
) -> Assessment:  # fmt: skip
    """`assess_model` for one model."""
    seed = None if keys is not None else seed
    test = _TestSet.of(model, scores, labels, sample_weight, positive, keys)
    samples = test.samples
    bins, calibrated = test.bins_of(model, seed), test.predictions_of(model, seed, "calibrated")
    compared = ComparedBins.of(calibrated, samples, n_bins, bins if model.has_steps else None)
    scored = partial(Scorecard.of, samples=samples, alpha=alpha, bins=compared)
    are_probabilities = bool(((samples.predictions >= 0.0) & (samples.predictions <= 1.0)).all())
    certificates, why = _certificates(model, alpha)
    check = None
    if certificates and not samples.is_weighted:
        check = assess.check_certificate(
            model, samples.predictions, samples.labels, certificate=certificates[0], alpha=level,
            sample_weight=samples.weights, keys=test.keys, seed=seed,
        )  # fmt: skip
    return Assessment(
        model=model,
        alpha=alpha,
        n_samples=samples.n_samples,
        n_positive=n_positive(samples),
        is_weighted=samples.is_weighted,
        left_out=test.left_out,
        bin_counts=None if bins is None else np.bincount(bins, samples.frequencies, model.n_bins).astype(np.int64),
        after=scored("calibrated", calibrated, own=True),
        before=scored("score itself", samples.predictions) if are_probabilities else None,
        others=tuple(scored(name, test.predictions_of(other, seed, name)) for name, other in others.items()),
        certificates=certificates,
        why_no_certificate=why,
        check=check,
    )


def _certificates(model: BinnedModel, alpha: float) -> tuple[tuple[Certificate, ...], str | None]:
    try:
        return tuple(model.certificate(alpha=alpha, kind=kind) for kind in ("conditional", "marginal", "ece")), None
    except GuaranteeError as error:
        return (), str(error)
