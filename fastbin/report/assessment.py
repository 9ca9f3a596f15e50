"""A fitted model on a test set: what a report shows, and ``fastbin assess`` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from typing import Any, NamedTuple

import numpy as np

from fastbin import _html, assess
from fastbin._calibrator import Calibrator, as_model
from fastbin._docstrings import shared_docs
from fastbin._errors import GuaranteeError, InputError
from fastbin._scalars import check_alpha
from fastbin._tables import Columns, Table, as_html, as_text
from fastbin._typing import Array, Bools, Float64s, Int64s
from fastbin._validation import as_key_array, as_scores, check_labels, check_same_length, check_sample_weight, clip_scores
from fastbin.assess.samples import Samples, check_samples
from fastbin.guarantees import Certificate
from fastbin.model import BinnedModel
from fastbin.report.cautions import cautions_of

BRIER_PARTS = ("calibration", "sharpness", "uncertainty")
Predictor = BinnedModel | Calibrator | Any


@dataclass(frozen=True, eq=False)
class Scorecard:
    """How good predictions are on test samples; part of an `Assessment`.

    Attributes
    ----------
    name : str
    n_values : int
        Distinct predictions.
    table : ReliabilityTable
    curve : ValidityCurve
    ece : float
        Plug-in l_1 calibration error of the table.
    max_gap : float
        The largest distance of a bin's prediction and rate.
    gap_90 : float
        90 % of the samples lie in bins with a gap of at most this.
    squared_ece : SquaredEce or None
        Debiased; None where every bin holds a single sample.
    brier : BrierDecomposition
    log_loss, roc_auc : float
    ece_by_bin : float or None
        Where the model has two resolutions: the plug-in calibration error on its evidence bins, the mean distance of the
        average prediction and the rate in a bin. It is what the certificate of kind "ece" bounds; `ece`, on bins of the
        values, is not certified.
    """

    name: str
    n_values: int
    table: assess.ReliabilityTable
    curve: assess.ValidityCurve
    ece: float
    max_gap: float
    gap_90: float
    squared_ece: assess.SquaredEce | None
    brier: assess.BrierDecomposition
    log_loss: float
    roc_auc: float
    ece_by_bin: float | None = None

    def numbers(self) -> dict[str, str]:
        """What to print: the numbers that matter, by name, rounded."""
        squared = interval = "unknown"
        if self.squared_ece is not None:
            squared = f"{self.squared_ece.estimate:.5f}"
            interval = "{:.5f} to {:.5f}".format(*self.squared_ece.interval)
        errors = {"expected calibration error": f"{self.ece:.4f}"}
        if self.ece_by_bin is not None:
            errors = {
                "expected calibration error by evidence bin (certified)": f"{self.ece_by_bin:.4f}",
                "expected calibration error in bins of the values (not certified)": f"{self.ece:.4f}",
            }
        return {
            **errors,
            "90 % of the samples have a gap up to": f"{self.gap_90:.4f}",
            "largest gap of a bin": f"{self.max_gap:.4f}",
            "debiased squared error": squared,
            "- approximate interval": interval,
            "Brier score": f"{self.brier.score:.4f}",
            **{f"- {part}": f"{getattr(self.brier, part):.4f}" for part in BRIER_PARTS},
            "log loss": "infinite" if math.isinf(self.log_loss) else f"{self.log_loss:.4f}",
            "AUC": "unknown" if math.isnan(self.roc_auc) else f"{self.roc_auc:.4f}",
            "distinct values": f"{self.n_values:,}",
        }

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain dicts, lists, strings and numbers, ready for JSON; what is not finite is None."""
        squared = self.squared_ece
        numbers = {
            "ece": self.ece,
            **({} if self.ece_by_bin is None else {"ece_by_bin": self.ece_by_bin}),
            "max_gap": self.max_gap,
            "gap_90": self.gap_90,
            "debiased_squared_ece": None if squared is None else squared.estimate,
            "debiased_squared_ece_interval": None if squared is None else list(squared.interval),
            "brier_score": self.brier.score,
            **{f"brier_{part}": getattr(self.brier, part) for part in BRIER_PARTS},
            "log_loss": self.log_loss if math.isfinite(self.log_loss) else None,
            "roc_auc": self.roc_auc if math.isfinite(self.roc_auc) else None,
        }
        return {"name": self.name, "n_values": self.n_values, **numbers, "reliability": self.table.to_dict()}


class LeftOut(NamedTuple):
    """Test rows that cannot be assessed, by reason."""

    missing: int
    """Rows without a score."""
    outside: int
    """Rows whose score is infinite or outside the range that the model accepts."""

    @property
    def total(self) -> int:
        """How many rows were left out, for either reason."""
        return self.missing + self.outside


@dataclass(frozen=True, eq=False)
class Assessment(Table):
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

    @property
    def scorecards(self) -> tuple[Scorecard, ...]:
        """Before, after, and the others."""
        return (*(() if self.before is None else (self.before,)), self.after, *self.others)

    def _columns(self) -> Columns:
        entries = [scorecard.to_dict() for scorecard in self.scorecards]
        names = [name for name in entries[0] if name != "reliability"]
        return {name: [entry.get(name) for entry in entries] for name in names}

    @property
    def in_short(self) -> tuple[str, ...]:
        """What is promised, what the test set says of it, and the calibration error; a sentence or two each."""
        promise = str(next(iter(self.certificates), "This model carries no finite-sample guarantee."))
        by_bin = self.after.ece_by_bin is not None
        errors = [(card.ece_by_bin if by_bin else card.ece) for card in (self.after, self.before) if card is not None]
        what = "expected calibration error by evidence bin" if by_bin else "expected calibration error"
        ece = f"On {self.n_samples:,} test samples the {what} is {errors[0]:.4f}"
        if self.before is not None:
            ece += f", and that of the scores themselves {errors[1]:.4f}"
        ece += " (plug-in estimates, which noise makes too large)."
        return (promise, *(() if self.check is None else (str(self.check),)), ece)

    def score_words(self) -> dict[str, list[str]]:
        """The numbers to show, rounded: their names under the empty title, and a column for each predictor."""
        return {"": list(self.after.numbers()), **{card.name: list(card.numbers().values()) for card in self.scorecards}}

    def __str__(self) -> str:
        return "\n\n".join([*self.in_short, as_text(self.score_words(), n_text=1), *self.cautions])

    def _repr_html_(self) -> str:
        badge = "" if self.check is None else f"<p>{_html.badge(self.check.verdict)}</p>"
        cautions = _html.bullets(map(escape, self.cautions)) if self.cautions else ""
        return _html.notebook(badge, *map(_html.paragraph, self.in_short), as_html(self.score_words(), n_text=1), cautions)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            **{name: getattr(self, name) for name in ("alpha", "n_samples", "n_positive", "is_weighted")},
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
    def of(cls, model: BinnedModel, scores: Any, labels: Any, sample_weight: Any, keys: Any) -> _TestSet:
        column = clip_scores(as_scores(scores), model.score_range, model.out_of_range)
        ones, weights = check_labels(labels), check_sample_weight(sample_weight)
        check_same_length(scores=column, labels=ones, sample_weight=weights)
        missing = np.isnan(column)
        low, high = model.score_range if model.score_range is not None else (-np.inf, np.inf)
        kept = (column >= low) & (column <= high) & np.isfinite(column)
        left_out = LeftOut(int(missing.sum()), int((~kept & ~missing).sum()))
        if not kept.any():
            reasons = f"{left_out.missing} scores are missing, {left_out.outside} outside the range"
            raise InputError(f"no row is left to assess: {reasons}")
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
        predictions, n_rows = np.asarray(other, dtype=np.float64), len(self.kept)
        if predictions.shape != (n_rows,):
            shape = predictions.shape
            raise InputError(f"others[{name!r}] has shape {shape}; it must hold one prediction for each of {n_rows} rows")
        return predictions[self.kept]


def _score(name: str, predictions: Any, samples: Samples, alpha: float, n_bins: int, evidence_bins: Int64s | None) -> Scorecard:
    """The numbers on one predictor's probabilities; `evidence_bins` are those of the samples in a model of two resolutions."""
    labels, weights = samples.labels, {"sample_weight": samples.weights}
    options: dict[str, Any] = {"n_bins": n_bins, **weights}
    table = assess.reliability_table(predictions, labels, alpha=alpha, **options)
    curve = assess.validity_curve(predictions, labels, **options)
    try:
        squared = assess.squared_ece(predictions, labels, alpha=alpha, **options)
    except InputError:  # the input is valid, as the table shows, so every bin holds a single sample
        squared = None
    return Scorecard(
        name=name,
        n_values=len(np.unique(np.asarray(predictions))),
        table=table,
        curve=curve,
        ece=table.ece(),
        max_gap=table.ece(math.inf),
        gap_90=curve.epsilon_at(0.9),
        squared_ece=squared,
        brier=assess.brier_decomposition(predictions, labels, **options),
        log_loss=assess.log_loss(predictions, labels, **weights),
        roc_auc=assess.roc_auc(predictions, labels, **weights),
        ece_by_bin=None if evidence_bins is None else _error_by_bin(evidence_bins, predictions, samples),
    )


def _error_by_bin(bins: Int64s, predictions: Float64s, samples: Samples) -> float:
    """The share of each bin times the distance of its average prediction and its rate, summed."""
    weights = samples.row_weights
    gaps = np.bincount(bins, weights * (predictions - samples.labels))
    return float(np.abs(gaps).sum() / weights.sum())


@shared_docs(check_samples.__doc__)
def assess_model(
    model: BinnedModel | Calibrator,
    scores: Any,
    labels: Any,
    *,
    others: Mapping[str, Predictor] | None = None,
    sample_weight: Any = None,
    alpha: float = 0.1,
    level: float = 0.05,
    n_bins: int | None = None,
    keys: Any = None,
    seed: int | None = 0,
) -> Assessment:
    """Assess a fitted model on test samples that were not used in its fit.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
    scores : array-like of shape (n,)
        Uncalibrated test scores. Rows with a missing score, or one outside the model's range, are left out and counted.
    {labels}
    others : mapping from name to a model, a fitted calibrator, or predictions of shape (n,), optional
        Methods to compare with, on the same rows.
    sample_weight : array-like of shape (n,), optional
        Integers are frequencies, floats importance weights; these allow no test of the certificate.
    alpha : float
        Of the certificate and of all intervals, strictly between 0 and 1.
    level : float
        Of the test of the certificate, strictly between 0 and 1.
    n_bins : int, optional
        Into how many bins predictions with many values are divided; by default as many as the model has, from 5 to 50.
    keys, seed
        For scores that tie with an edge, as in `BinnedModel.predict`.

    Returns
    -------
    Assessment

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
    (True, 'cannot tell')
    """
    model, alpha = as_model(model), check_alpha(alpha)
    test = _TestSet.of(model, scores, labels, sample_weight, keys)
    samples = test.samples
    groups = n_bins if n_bins is not None else int(np.clip(model.n_bins, 5, 50))
    bins = test.bins_of(model, seed)
    scored = partial(_score, samples=samples, alpha=alpha, n_bins=groups, evidence_bins=bins if model.has_steps else None)
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
        n_positive=int(np.bincount(samples.labels, samples.frequencies, 2)[1]),
        is_weighted=samples.is_weighted,
        left_out=test.left_out,
        bin_counts=None if bins is None else np.bincount(bins, samples.frequencies, model.n_bins).astype(np.int64),
        after=scored("calibrated", test.predictions_of(model, seed, "calibrated")),
        before=scored("score itself", samples.predictions) if are_probabilities else None,
        others=tuple(scored(name, test.predictions_of(other, seed, name)) for name, other in (others or {}).items()),
        certificates=certificates,
        why_no_certificate=why,
        check=check,
    )


def _certificates(model: BinnedModel, alpha: float) -> tuple[tuple[Certificate, ...], str | None]:
    try:
        return tuple(model.certificate(alpha=alpha, kind=kind) for kind in ("conditional", "marginal", "ece")), None
    except GuaranteeError as error:
        return (), str(error)
