"""A fitted model or a set of models on a test set: what a report shows, and ``fastbin assess`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, overload

import numpy as np

from fastbin import assess
from fastbin._base.array_types import Array, Bools, Float64s, Int64s
from fastbin._base.cells import Key
from fastbin._base.checks import (
    as_key_array,
    as_scores,
    check_alpha,
    check_labels,
    check_same_length,
    check_sample_weight,
    check_seed,
    clip_scores,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError
from fastbin._base.frames import check_same_index
from fastbin._core.fit import row_keys
from fastbin._fit.calibrator import Calibrator, Estimator, as_model_or_set
from fastbin.assess.certificate_check import check_cells_given
from fastbin.assess.reliability import table_of
from fastbin.assess.samples import ChanceLevel, Samples, check_samples, rows_of_each
from fastbin.assess.verdict import verdict_of
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.report.findings import Findings
from fastbin.report.scorecard import ComparedBins, LeftOut, Scorecard, n_positive, predictions_given, rows_kept

Predictor = BinnedModel | Calibrator | ModelSet | Any


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

    is_set: ClassVar[Literal[False]] = False
    model: BinnedModel
    bin_counts: Int64s | None

    @property
    def fitted(self) -> BinnedModel:
        """The model."""
        return self.model


@dataclass(frozen=True, eq=False)
class CellResult:
    """How good the model of one cell is; part of a `SetAssessment`.

    Attributes
    ----------
    cell : int, str or None
        The key; None for the pool.
    n_bins, n_fitted : int
        Bins of the model, and samples of its fit.
    after, before : ReliabilityTable or None
        Of the calibrated probabilities, and of the scores where they are probabilities; None without test samples.
    n_samples, n_positive : int
        Test samples of the cell.
    brier, brier_before : float or None
    verdict : str or None
        Of the check of the certificate.
    """

    cell: Key | None
    n_bins: int
    n_fitted: int
    n_samples: int
    n_positive: int
    after: assess.ReliabilityTable | None
    before: assess.ReliabilityTable | None
    brier: float | None
    brier_before: float | None
    verdict: str | None

    @property
    def chance_level(self) -> ChanceLevel | None:
        """What calibration error a calibrated predictor would show in the bins of this cell."""
        return None if self.after is None else self.after.chance_level

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain dicts, lists, strings and numbers, ready for JSON."""
        names = ("cell", "n_bins", "n_fitted", "n_samples", "n_positive", "verdict")
        return {
            **{name: getattr(self, name) for name in names},
            "ece": None if self.after is None else self.after.ece(),
            "ece_by_chance": None if self.chance_level is None else self.chance_level.ece,
            "ece_by_chance_95": None if self.chance_level is None else self.chance_level.ece_95,
            "ece_before": None if self.before is None else self.before.ece(),
            "brier_score": self.brier,
            "brier_score_before": self.brier_before,
            "reliability": None if self.after is None else self.after.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class SetAssessment(Findings):
    """How good a set of models is on a test set; made by `assess_model`.

    Attributes
    ----------
    models : ModelSet
    n_unknown : int
        Samples of cells that the set does not know. They are scored by the pool, counted here, and nothing is promised of them.
    cells : tuple of CellResult
        In the order of the models of the set, the pool last.
    alpha, n_samples, n_positive, is_weighted, left_out, after, before, others, why_no_certificate
        As in `Assessment`, of what the set serves.
    certificates : tuple of SetCertificate
        Joint: conditional, marginal and for the ECE; none where a model supports none.
    check : SetCheck or None
        The test of the conditional certificate; None where there is none, or the weights do not allow it.
    """

    is_set: ClassVar[Literal[True]] = True
    models: ModelSet
    n_unknown: int
    cells: tuple[CellResult, ...]

    @property
    def fitted(self) -> ModelSet:
        """The set."""
        return self.models

    def _of_cells(self) -> dict[str, Any]:
        return {"cells": [cell.to_dict() for cell in self.cells]}


class _TestSet(NamedTuple):
    """The test rows that the model or the set can score, checked."""

    samples: Samples  # with scores in place of predictions
    cells: Array | None  # of a set alone, like the next
    numbers: Array | None  # of the models, -1 for unknown cells
    keys: Array | None
    seed: int | None  # where there are no keys
    kept: Bools  # of the rows given
    left_out: LeftOut

    @classmethod
    def of(
        cls, fitted: BinnedModel | ModelSet, scores: Any, labels: Any, cells: Any, sample_weight: Any, positive: Any, keys: Any,
        seed: int | None,
    ) -> _TestSet:  # fmt: skip
        check_same_index(scores=scores, labels=labels, cells=cells, sample_weight=sample_weight, keys=keys)
        column, numbers = as_scores(scores), None
        if fitted.is_set:
            numbers = fitted.find(cells)
        else:
            column = clip_scores(column, fitted.score_range, fitted.out_of_range)
        ones, weights = check_labels(labels, positive=positive), check_sample_weight(sample_weight)
        check_same_length(scores=column, labels=ones, cells=numbers, sample_weight=weights)
        if keys is not None:
            keys = as_key_array(keys, len(column))
        elif fitted.is_set:
            keys = row_keys(check_seed(seed), len(column))
        # Models that clip move scores outside their range themselves. Unknown cells have number -1: the pool is the last model.
        limits = [None if own.out_of_range == "clip" else own.score_range for _, own in fitted.numbered]
        ends = np.array([each or (-np.inf, np.inf) for each in limits])
        kept, left_out = rows_kept(column, *(ends[0] if numbers is None else ends[numbers].T))
        return cls(
            samples=Samples(column[kept], ones[kept], None if weights is None else weights[kept]),
            cells=np.asarray(cells, dtype=object)[kept] if fitted.is_set else None,
            numbers=None if numbers is None else numbers[kept],
            keys=None if keys is None else keys[kept],
            seed=seed if keys is None else None,
            kept=kept,
            left_out=left_out,
        )

    def bins_of(self, fitted: BinnedModel | ModelSet) -> Int64s | None:
        """The bin of each sample; None for a model without bins, and for a set."""
        if fitted.is_set or fitted.kind != "step":
            return None
        return fitted.assign(self.samples.predictions, keys=self.keys, seed=self.seed).astype(np.int64)

    def predictions_of(self, other: Predictor, name: str) -> Float64s:
        """The predictions of a method for the rows that were kept: of a model or a set, or as given for all rows."""
        if not isinstance(other, (BinnedModel, Estimator, ModelSet)):
            return predictions_given(other, self.kept, name)
        fitted = as_model_or_set(other, f"others[{name!r}]")
        if not fitted.is_set:
            return fitted.predict(self.samples.predictions, keys=self.keys, seed=self.seed)
        check_cells_given(fitted, self.cells)
        return fitted.predict(self.samples.predictions, self.cells, keys=self.keys, seed=self.seed)


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
    test = _TestSet.of(fitted, scores, labels, cells, sample_weight, positive, keys, seed)
    samples, bins, served = test.samples, test.bins_of(fitted), test.predictions_of(fitted, "calibrated")
    compared = ComparedBins.of(served, samples, n_bins, bins if not fitted.is_set and fitted.has_steps else None)
    scored = partial(Scorecard.of, samples=samples, alpha=alpha, bins=compared)
    are_probabilities = bool(((samples.predictions >= 0.0) & (samples.predictions <= 1.0)).all())
    certificates, why = _certificates(fitted, alpha)
    check, known = None, np.ones(len(samples.labels), np.bool_) if test.numbers is None else test.numbers >= 0
    if certificates and not samples.is_weighted and known.any():
        check = assess.check_certificate(
            fitted, samples.predictions, samples.labels, cells=test.cells, certificate=certificates[0], alpha=level,
            sample_weight=samples.weights, keys=test.keys, seed=test.seed,
        )  # fmt: skip
    shared: dict[str, Any] = {
        "alpha": alpha,
        "n_samples": samples.n_samples,
        "n_positive": n_positive(samples),
        "is_weighted": samples.is_weighted,
        "left_out": test.left_out,
        "after": scored("calibrated", served, own=True),
        "before": scored("score itself", samples.predictions) if are_probabilities else None,
        "others": tuple(scored(name, test.predictions_of(other, name)) for name, other in (others or {}).items()),
        "certificates": certificates,
        "why_no_certificate": why,
        "check": check,
    }
    if not fitted.is_set:
        counts = None if bins is None else np.bincount(bins, samples.frequencies, fitted.n_bins).astype(np.int64)
        return Assessment(model=fitted, bin_counts=counts, **shared)
    cells = tuple(_cell_results(fitted, test, served, n_bins, check, alpha=alpha, before=are_probabilities))
    return SetAssessment(models=fitted, n_unknown=samples.take(~known).n_samples, cells=cells, **shared)


def _certificates(fitted: BinnedModel | ModelSet, alpha: float) -> tuple[tuple[Any, ...], str | None]:
    try:
        return tuple(fitted.certificate(alpha=alpha, kind=kind) for kind in ("conditional", "marginal", "ece")), None
    except GuaranteeError as error:
        return (), str(error)


def _cell_results(
    models: ModelSet, test: _TestSet, served: Float64s, n_bins: int | None, check: Any, *, alpha: float, before: bool
) -> Iterator[CellResult]:  # fmt: skip
    """What the test samples of each model show, in the order of the set; `before` if scores are probabilities."""
    samples, numbers = test.samples, np.asarray(test.numbers)
    rows_of = {int(numbers[rows[0]]): rows for rows in rows_of_each(numbers)}
    nothing = np.empty(0, np.int64)
    for number, (cell, own) in enumerate(models.numbered):
        rows = rows_of.get(number, nothing)
        seen = samples.take(rows)
        predictions, has_rows = served[rows], seen.n_samples > 0
        options: dict[str, Any] = {"sample_weight": seen.weights}
        has_before = has_rows and before
        bins = ComparedBins.of(predictions, seen, n_bins) if has_rows else None
        calibrated = Samples(predictions, seen.labels, seen.weights)
        yield CellResult(
            cell=cell,
            n_bins=own.n_bins,
            n_fitted=own.n_samples,
            n_samples=seen.n_samples,
            n_positive=n_positive(seen),
            after=None if bins is None else table_of(calibrated, bins.groups, bins.n_bins, alpha=alpha),
            before=table_of(seen, bins.groups.shared(), bins.n_bins, alpha=alpha) if bins is not None and before else None,
            brier=assess.brier_score(predictions, seen.labels, **options) if has_rows else None,
            brier_before=assess.brier_score(seen.predictions, seen.labels, **options) if has_before else None,
            verdict=None if check is None else verdict_of(check[cell]),
        )
