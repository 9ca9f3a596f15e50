"""A set of models on a test set: the whole, and every cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from fastbin import assess
from fastbin._calibrator import Estimator, as_model_or_set
from fastbin._cells import Key
from fastbin._errors import GuaranteeError
from fastbin._frames import check_same_index
from fastbin._native.fit import row_keys
from fastbin._scalars import check_seed
from fastbin._typing import Array, Bools, Float64s, Int32s
from fastbin._validation import as_key_array, as_scores, check_labels, check_same_length, check_sample_weight
from fastbin.assess.chance import ChanceLevel
from fastbin.assess.reliability import table_of
from fastbin.assess.samples import Samples, rows_of_each
from fastbin.assess.verdict import CONTRADICTED, verdict_of
from fastbin.guarantees import SetCertificate
from fastbin.guarantees.words import name_cells
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.report.cautions import about_left_out, about_the_gain
from fastbin.report.findings import Findings
from fastbin.report.scorecard import ComparedBins, LeftOut, Scorecard, n_positive, predictions_given, rows_kept

# Of a cell, below which little can be said about it.
FEW = 30


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
    alpha : float
        Of the certificate and of all intervals.
    n_samples, n_positive : int
        Test samples assessed, frequencies counted, and those with label 1.
    is_weighted : bool
        Whether the test samples have importance weights.
    left_out : LeftOut
        Rows whose score is missing or outside the range of its model; no number here counts them.
    n_unknown : int
        Samples of cells that the set does not know. They are scored by the pool, counted here, and nothing is promised of them.
    after : Scorecard
        Of what the set serves.
    before : Scorecard or None
        Of the scores themselves; None where they are not probabilities.
    others : tuple of Scorecard
        Of the methods to compare with.
    cells : tuple of CellResult
        In the order of the models of the set, the pool last.
    certificates : tuple of SetCertificate
        Joint: conditional, marginal and for the ECE; none where a model supports none.
    why_no_certificate : str or None
    check : SetCheck or None
        The test of the conditional certificate; None where there is none, or the weights do not allow it.
    """

    models: ModelSet
    alpha: float
    n_samples: int
    n_positive: int
    is_weighted: bool
    left_out: LeftOut
    n_unknown: int
    after: Scorecard
    before: Scorecard | None
    others: tuple[Scorecard, ...]
    cells: tuple[CellResult, ...]
    certificates: tuple[SetCertificate, ...]
    why_no_certificate: str | None
    check: assess.SetCheck | None

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """What a reader should know before relying on the set, a sentence or two each; empty if all is well."""
        return tuple(_cautions_of(self))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            **{name: getattr(self, name) for name in ("event", "alpha", "n_samples", "n_positive", "is_weighted", "n_unknown")},
            "left_out": self.left_out._asdict(),
            "certificates": [{"sentence": str(promise), **promise.to_dict()} for promise in self.certificates],
            "why_no_certificate": self.why_no_certificate,
            "check": None if self.check is None else {"sentence": str(self.check), **self.check.to_dict()},
            "scorecards": [scorecard.to_dict() for scorecard in self.scorecards],
            "cells": [cell.to_dict() for cell in self.cells],
            "cautions": list(self.cautions),
        }


def assess_set(
    models: ModelSet, scores: Any, labels: Any, cells: Any, *, others: Mapping[str, Any], sample_weight: Any, positive: Any,
    alpha: float, level: float, n_bins: int | None, keys: Any, seed: int | None,
) -> SetAssessment:  # fmt: skip
    """As `assess_model` for a set; the arguments are explained there."""
    check_same_index(scores=scores, labels=labels, cells=cells, sample_weight=sample_weight, keys=keys)
    column, numbers = as_scores(scores), models.find(cells)
    ones, weights = check_labels(labels, positive=positive), check_sample_weight(sample_weight)
    check_same_length(scores=column, labels=ones, cells=numbers, sample_weight=weights)
    tie_keys = row_keys(check_seed(seed), len(column)) if keys is None else as_key_array(keys, len(column))
    ends = np.array([own.score_range or (-np.inf, np.inf) for _, own in models.numbered])
    policies = [own.out_of_range for _, own in models.numbered]
    ends[[policy == "clip" for policy in policies]] = -np.inf, np.inf  # the model moves such scores itself
    kept, left_out = rows_kept(column, *ends[numbers].T)  # unknown cells have number -1, and the pool is the last model
    numbers, tie_keys, given = numbers[kept], tie_keys[kept], np.asarray(cells, dtype=object)[kept]
    samples = Samples(column[kept], ones[kept], None if weights is None else weights[kept])
    served = models.predict(samples.predictions, given, keys=tie_keys)
    scored = partial(Scorecard.of, samples=samples, alpha=alpha, bins=ComparedBins.of(served, samples, n_bins))
    are_probabilities = bool(((samples.predictions >= 0.0) & (samples.predictions <= 1.0)).all())
    certificates, why = _certificates(models, alpha)
    check, known = None, numbers >= 0
    if certificates and not samples.is_weighted and known.any():
        check = assess.check_certificate(
            models, samples.predictions, samples.labels, cells=given, certificate=certificates[0], alpha=level,
            sample_weight=samples.weights, keys=tie_keys,
        )  # fmt: skip
    predicted = partial(_predictions_of, samples=samples, cells=given, keys=tie_keys, kept=kept)
    results = _cell_results(models, samples, numbers, served, n_bins, check, alpha=alpha, before=are_probabilities)
    return SetAssessment(
        models=models,
        alpha=alpha,
        n_samples=samples.n_samples,
        n_positive=n_positive(samples),
        is_weighted=samples.is_weighted,
        left_out=left_out,
        n_unknown=samples.take(~known).n_samples,
        after=scored("calibrated", served, own=True),
        before=scored("score itself", samples.predictions) if are_probabilities else None,
        others=tuple(scored(name, predicted(name, other)) for name, other in others.items()),
        cells=tuple(results),
        certificates=certificates,
        why_no_certificate=why,
        check=check,
    )


def _predictions_of(name: str, other: Any, *, samples: Samples, cells: Array, keys: Array, kept: Bools) -> Float64s:
    """What another set, one model for all cells, or given predictions say about the rows that were kept."""
    if not isinstance(other, (BinnedModel, Estimator, ModelSet)):
        return predictions_given(other, kept, name)
    fitted = as_model_or_set(other, f"others[{name!r}]")
    if isinstance(fitted, ModelSet):
        return fitted.predict(samples.predictions, cells, keys=keys)
    return fitted.predict(samples.predictions, keys=keys)


def _cell_results(
    models: ModelSet, samples: Samples, numbers: Int32s, served: Float64s, n_bins: int | None, check: assess.SetCheck | None,
    *, alpha: float, before: bool,
) -> Iterator[CellResult]:  # fmt: skip
    """What the test samples of each model show, in the order of the set; `before` if scores are probabilities."""
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


def _certificates(models: ModelSet, alpha: float) -> tuple[tuple[SetCertificate, ...], str | None]:
    try:
        found = (models.certificate(alpha=alpha, kind=kind) for kind in ("conditional", "marginal", "ece"))
        return tuple(promise for promise in found if isinstance(promise, SetCertificate)), None
    except GuaranteeError as error:
        return (), str(error)


def _cautions_of(assessment: SetAssessment) -> Iterator[str]:
    if assessment.check is not None and assessment.check.verdict == CONTRADICTED:
        yield f"The certificate is contradicted by the test set. {assessment.check}"
    if assessment.why_no_certificate is not None:
        yield f"There is no certificate: {assessment.why_no_certificate}."
    yield from about_left_out(assessment.left_out)
    if assessment.n_unknown:
        yield (
            f"{assessment.n_unknown:,} test samples are of cells that the set does not know. They got the value of the pool, "
            "and nothing is promised about them."
        )
    pooled = assessment.models.pooled_keys
    if pooled:
        share = f"{len(pooled):,} of {len(assessment.models):,} cells"
        yield f"{share} without a model of their own: the pool's promise is about all such cells together, not each."
    unseen = [cell.cell for cell in assessment.cells if cell.n_samples == 0]
    if unseen:
        yield f"No test sample is of {name_cells(unseen)}: the test says nothing about {_them(unseen)}."
    few = [cell.cell for cell in assessment.cells if 0 < cell.n_samples < FEW]
    if few:
        yield f"Fewer than {FEW} test samples are of {name_cells(few)}: the test says little about {_them(few)}."
    yield from about_the_gain(assessment.before, assessment.after)


def _them(cells: Sequence[Any]) -> str:
    return "it" if len(cells) == 1 else "them"
