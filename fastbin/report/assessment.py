"""A fitted model or a set of models on a test set: what a report shows, and ``fastbin assess`` prints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from fastbin import assess
from fastbin._base import html
from fastbin._base.array_types import Array, Bools, Float64s, Int64s
from fastbin._base.cells import Key
from fastbin._base.checks import (
    as_key_array,
    as_scores,
    check_alpha,
    check_labels,
    check_same_event,
    check_same_length,
    check_sample_weight,
    check_seed,
    clip_scores,
    event_of,
    refuse_first,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError, Wording
from fastbin._base.frames import check_same_index
from fastbin._base.shown import how_many, outwards, printable, rounded, rounded_up
from fastbin._base.table import Columns, Table, as_html, as_text
from fastbin._core.fit import row_keys
from fastbin._fit.calibrator import Calibrator, Estimator, as_model_or_set
from fastbin._model.parts import Parts
from fastbin.assess.certificate_check import check_cells_given
from fastbin.assess.metrics import brier_parts_of, squared_ece_of
from fastbin.assess.reliability import by_chance, table_of
from fastbin.assess.samples import N_BINS, ChanceLevel, Groups, Samples, check_samples, group_samples, rows_of_each
from fastbin.assess.validity import curve_of
from fastbin.assess.verdict import verdict_of
from fastbin.intervals.binomial import as_doubles
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.report.cautions import cautions_of
from fastbin.vector_model import as_vector_model

if TYPE_CHECKING:
    from fastbin.multi import VectorCalibration, VectorModel
    from fastbin.report.vectors import VectorAssessment

Predictor = BinnedModel | Calibrator | ModelSet | Any

# The scorecard of the model among all columns.
CALIBRATED = "calibrated"
CHANCE = "by chance, if calibrated (95 % point)"
BRIER_PARTS = ("calibration", "sharpness", "uncertainty")
DEBIASED, ITS_INTERVAL = "debiased squared error", "- approximate interval"
NOT_COUNTED = (
    "From counts by bin: what depends on the scores within a bin, such as the calibration error, Brier score and AUC of the "
    "scores themselves, is not known."
)


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
class Scorecard:
    """How good predictions are on test samples; part of an `Assessment`.

    All predictors of an assessment are compared in the same bins of samples: those of the calibrated probabilities, divided as
    `reliability_table` does with grouping "auto".

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
    chance_level : ChanceLevel or None
        Both for a perfectly calibrated predictor with these predictions, by chance; None of a class-wise set, in which each
        sample is a row of every class.
    gap_90 : float
        90 % of the samples lie in bins with a gap of at most this.
    squared_ece : SquaredEce or None
        Debiased; None where every bin holds a single sample, and of a class-wise set.
    brier : BrierDecomposition
    log_loss, roc_auc : float
    ece_by_bin : float or None
        Where the model has two resolutions: the plug-in calibration error on its evidence bins, the mean distance of the
        average prediction and the rate in a bin. It is what the certificate of kind "ece" bounds; `ece`, on bins of the
        values, is not certified.
    chance_by_bin : ChanceLevel or None
        Beside `ece_by_bin`.
    """

    name: str
    n_values: int
    table: assess.ReliabilityTable
    curve: assess.ValidityCurve
    ece: float
    max_gap: float
    chance_level: ChanceLevel | None
    gap_90: float
    squared_ece: assess.SquaredEce | None
    brier: assess.BrierDecomposition
    log_loss: float
    roc_auc: float
    ece_by_bin: float | None = None
    chance_by_bin: ChanceLevel | None = None

    @classmethod
    def of(
        cls, name: str, predictions: Float64s, samples: Samples, alpha: float | None, bins: ComparedBins, own: bool = False
    ) -> Scorecard:
        """The numbers on one predictor, in the bins of all; `own` for the predictor that these bins are made of.

        Where rows depend on each other `alpha` is None: intervals and chance levels are left out.
        """
        scored = Samples(predictions, samples.labels, samples.weights)
        groups, weights = bins.groups if own else bins.groups.shared(), {"sample_weight": samples.weights}
        table, by_bin = table_of(scored, groups, bins.n_bins, alpha=alpha), None
        if bins.evidence is not None:
            evidence = Groups("shared", bins.evidence.astype(np.int32), np.empty(int(bins.evidence.max())), None)
            by_bin = table_of(scored, evidence, bins.n_bins)
        try:
            squared = None if alpha is None else squared_ece_of(scored, groups, alpha)
        except InputError:  # the input is valid, as the table shows, so every bin holds a single sample
            squared = None
        if alpha is None:
            table = replace(table, noise=None)
        curve = curve_of(table)
        return cls(
            name=name,
            n_values=len(np.unique(predictions if samples.weights is None else predictions[samples.weights > 0])),
            table=table,
            curve=curve,
            ece=table.ece(),
            max_gap=table.ece(math.inf),
            chance_level=table.chance_level,
            gap_90=curve.epsilon_at(0.9),
            squared_ece=squared,
            brier=brier_parts_of(scored, groups),
            log_loss=assess.log_loss(predictions, samples.labels, **weights),
            roc_auc=assess.roc_auc(predictions, samples.labels, **weights),
            ece_by_bin=None if by_bin is None else by_bin.ece(),
            chance_by_bin=None if by_bin is None else by_bin.chance_level,
        )

    def numbers(self) -> dict[str, str]:
        """The numbers that matter, by name, rounded, to be printed."""
        level, by_bin, squared = self.chance_level, self.chance_by_bin, self.squared_ece
        errors = {"expected calibration error": rounded(self.ece)}
        if self.ece_by_bin is not None:
            errors = {
                "expected calibration error by evidence bin (certified)": rounded(self.ece_by_bin),
                f"- by evidence bin, {CHANCE}": both_of(by_bin and (by_bin.ece, by_bin.ece_95)),
                "expected calibration error in bins of the values (not certified)": rounded(self.ece),
            }
        told = {
            **errors,
            f"- {CHANCE}": both_of(level and (level.ece, level.ece_95)),
            "90 % of the samples have a gap up to": rounded(self.gap_90),
            "largest gap of a bin": rounded(self.max_gap),
            f"- largest gap, {CHANCE}": both_of(level and (level.max_gap, level.max_gap_95)),
            DEBIASED: "unknown" if squared is None else rounded(squared.estimate, 5),
            ITS_INTERVAL: "unknown" if squared is None else outwards(*squared.interval, 5),
            "Brier score": rounded(self.brier.score),
            **{f"- {part}": rounded(getattr(self.brier, part)) for part in BRIER_PARTS},
            "log loss": "infinite" if math.isinf(self.log_loss) else rounded(self.log_loss),
            "AUC": "unknown" if math.isnan(self.roc_auc) else rounded(self.roc_auc),
            "distinct values": f"{self.n_values:,}",
        }
        if self.table.alpha is None:  # of rows that depend on each other
            for name in (f"- {CHANCE}", f"- largest gap, {CHANCE}", DEBIASED, ITS_INTERVAL):
                del told[name]
        return told

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain dicts, lists, strings and numbers, ready for JSON; what is not finite is None."""
        squared = self.squared_ece
        numbers = {
            "ece": self.ece,
            **_of_chance("ece", self.chance_level and self.chance_level[:2]),
            **({} if self.ece_by_bin is None else {"ece_by_bin": self.ece_by_bin}),
            **({} if self.ece_by_bin is None else _of_chance("ece_by_bin", self.chance_by_bin and self.chance_by_bin[:2])),
            "max_gap": self.max_gap,
            **_of_chance("max_gap", self.chance_level and self.chance_level[2:]),
            "gap_90": self.gap_90,
            "debiased_squared_ece": None if squared is None else squared.estimate,
            "debiased_squared_ece_interval": None if squared is None else list(squared.interval),
            "brier_score": self.brier.score,
            **{f"brier_{part}": getattr(self.brier, part) for part in BRIER_PARTS},
            "log_loss": self.log_loss if math.isfinite(self.log_loss) else None,
            "roc_auc": self.roc_auc if math.isfinite(self.roc_auc) else None,
        }
        return {"name": self.name, "n_values": self.n_values, **numbers, "reliability": self.table.to_dict()}


def both_of(level: tuple[float, float] | None) -> str:
    """The expectation and the 95 % point of an error, in words."""
    if level is None:
        return "unknown"
    return rounded(level[0]) if math.isnan(level[1]) else f"{rounded(level[0])} ({rounded_up(level[1])})"


def _of_chance(name: str, level: tuple[float, float] | None) -> dict[str, float | None]:
    """The two numbers as members of JSON."""
    mean, point = (None, None) if level is None else level
    return {f"{name}_by_chance": mean, f"{name}_by_chance_95": point}


class ComparedBins(NamedTuple):
    """The bins in which all predictors of an assessment are compared."""

    groups: Groups  # of the calibrated probabilities
    n_bins: int  # asked for, where values are too many to be bins
    evidence: Int64s | None  # of a model of two resolutions: the evidence bin of each sample

    @classmethod
    def of(cls, calibrated: Float64s, samples: Samples, n_bins: int | None, evidence: Int64s | None = None) -> ComparedBins:
        """Bins of the calibrated probabilities. O(n log n)."""
        asked = N_BINS if n_bins is None else n_bins
        return cls(group_samples(Samples(calibrated, samples.labels, samples.weights), "auto", asked), asked, evidence)


@dataclass(frozen=True, eq=False)
class CellResult:
    """How good the model of one cell is; part of the `Assessment` of a set.

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
        """The calibration error that a calibrated predictor would show in the bins of this cell."""
        return None if self.after is None else self.after.chance_level

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain dicts, lists, strings and numbers, ready for JSON."""
        names = ("cell", "n_bins", "n_fitted", "n_samples", "n_positive", "verdict")
        return {
            **{name: getattr(self, name) for name in names},
            "ece": None if self.after is None else self.after.ece(),
            **_of_chance("ece", self.chance_level and self.chance_level[:2]),
            "ece_before": None if self.before is None else self.before.ece(),
            "brier_score": self.brier,
            "brier_score_before": self.brier_before,
            "reliability": None if self.after is None else self.after.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class Assessment(Table):
    """How good a model or a set is on a test set; made by `assess_model`, and of counts by `fastbin.engines.assess`.

    ``str()`` is the short of it; as a data frame, there is a row for each predictor.

    Attributes
    ----------
    model : BinnedModel or ModelSet
    alpha : float
        Of the certificate and of all intervals.
    n_samples, n_positive : int
        Test samples assessed, frequencies counted, and those with label 1.
    is_weighted : bool
        Whether the test samples have importance weights.
    left_out : LeftOut
        Rows whose score is missing or outside the model's range; no number here counts them.
    after : Scorecard
        Of the model.
    before : Scorecard or None
        Of the scores themselves; None where they are not probabilities, or not known, as only counts are.
    others : tuple of Scorecard
        Of the methods to compare with.
    certificates : tuple of Certificate or SetCertificate
        Conditional, marginal and for the ECE, of a set joint; none where a model supports none.
    why_no_certificate : str or None
    check : CertificateCheck, SetCheck or None
        The test of the conditional certificate; None where there is none, or the weights do not allow it.
    bin_counts : int64 (n_bins,) or None
        Test samples in each bin of a step function; None of a set.
    n_unknown : int
        Samples of cells that the set does not know. They are scored by the pool, counted here, and nothing is promised of them.
    cells : tuple of CellResult
        In the order of the models of the set, the pool last; empty for a model.
    is_counted : bool
        Whether it was made of counts by bin, which do not tell what depends on the scores within a bin.
    """

    model: Any
    alpha: float
    n_samples: int
    n_positive: int
    is_weighted: bool
    left_out: LeftOut
    after: Scorecard
    before: Scorecard | None
    others: tuple[Scorecard, ...]
    certificates: tuple[Any, ...]
    why_no_certificate: str | None
    check: Any
    bin_counts: Int64s | None = None
    n_unknown: int = 0
    cells: tuple[CellResult, ...] = ()
    is_counted: bool = False

    @property
    def is_set(self) -> bool:
        """Whether it is that of a set of models."""
        return self.model.is_set

    @property
    def event(self) -> str:
        """The event that the values are the probability of; "" where it is not known."""
        return str(self.model.event)

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """Warnings to a reader before relying on the model, a sentence or two each; empty if all is well."""
        return tuple(cautions_of(self))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dicts, lists, strings and numbers, ready for JSON."""
        names = ("event", "alpha", "n_samples", "n_positive", "is_weighted", *(["n_unknown"] if self.is_set else []))
        return {
            **{name: getattr(self, name) for name in names},
            "left_out": self.left_out._asdict(),
            "certificates": [{"sentence": str(promise), **promise.to_dict()} for promise in self.certificates],
            "why_no_certificate": self.why_no_certificate,
            "check": None if self.check is None else {"sentence": str(self.check), **self.check.to_dict()},
            "scorecards": [scorecard.to_dict() for scorecard in self.scorecards],
            **({"cells": [cell.to_dict() for cell in self.cells]} if self.is_set else {}),
            "cautions": list(self.cautions),
        }

    @property
    def scorecards(self) -> tuple[Scorecard, ...]:
        """Before, after, and the others."""
        return (*(() if self.before is None else (self.before,)), self.after, *self.others)

    @property
    def verdict(self) -> str:
        """The outcome of the test of the certificate; "no certificate" or "not tested" where there is nothing to say."""
        if self.check is None:
            return "not tested" if self.certificates else "no certificate"
        return str(self.check.verdict)

    @property
    def in_short(self) -> tuple[str, ...]:
        """The promise, its test, and the calibration error; a sentence or two each."""
        promise = str(next(iter(self.certificates), "This model carries no finite-sample guarantee."))
        by_bin = self.after.ece_by_bin is not None
        cards = [self.after] if self.before is None else [self.after, self.before]
        errors: list[Any] = [card.ece_by_bin if by_bin else card.ece for card in cards]
        what = "expected calibration error by evidence bin" if by_bin else "expected calibration error"
        ece = f"On {self.sample_words} the {what} is {rounded(errors[0])}"
        if self.before is not None:
            ece += f", and that of the scores themselves {rounded(errors[1])}"
        level = self.after.chance_by_bin if by_bin else self.after.chance_level
        ece += "" if level is None else f"; {by_chance(level.ece, level.ece_95)}"
        ece += "."
        return (promise, *(() if self.check is None else (str(self.check),)), ece, *([NOT_COUNTED] if self.is_counted else []))

    @property
    def sample_words(self) -> str:
        """How many test samples there are, in words."""
        return how_many(self.n_samples, "test sample") + self.repeat_words

    @property
    def repeat_words(self) -> str:
        """In a class-wise set, that a sample counts more than once; else empty."""
        return f" (each counts once for each of {len(self.model):,} classes)" if _shares_rows(self.model) else ""

    def score_words(self) -> dict[str, list[str]]:
        """The numbers to show, rounded: their names under the empty title, and a column for each predictor."""
        names = list(self.scorecards[0].numbers())
        return {"": names, **{card.name: [card.numbers().get(name, "") for name in names] for card in self.scorecards}}

    def _columns(self) -> Columns:
        entries = [scorecard.to_dict() for scorecard in self.scorecards]
        names = [name for name in entries[0] if name != "reliability"]
        return {name: [entry.get(name) for entry in entries] for name in names}

    def __str__(self) -> str:
        return printable("\n\n".join([*self.in_short, as_text(self.score_words(), n_text=1), *self.cautions]), keep="\n")

    def _repr_html_(self) -> str:
        badge = f"<p>{html.badge(self.verdict)}</p>"
        cautions = html.bullets(map(html.escape, self.cautions)) if self.cautions else ""
        return html.notebook(badge, *map(html.paragraph, self.in_short), as_html(self.score_words(), n_text=1), cautions)


@overload
def assess_model(model: VectorModel | VectorCalibration, scores: Any, labels: Any, **options: Any) -> VectorAssessment: ...


@overload
def assess_model(model: BinnedModel | Calibrator | ModelSet, scores: Any, labels: Any, **options: Any) -> Assessment: ...


@shared_docs(check_samples.__doc__)  # type: ignore[misc]  # the options are those below, stated once
def assess_model(
    model: BinnedModel | Calibrator | ModelSet | VectorModel,
    scores: Any,
    labels: Any,
    *,
    cells: Any = None,
    others: Mapping[str, Predictor] | None = None,
    sample_weight: Any = None,
    positive: Any = None,
    alpha: float = 0.1,
    test_level: float = 0.05,
    n_bins: int | None = None,
    tie_keys: Any = None,
    seed: int | None = 0,
    side: str = "both",
) -> Assessment | VectorAssessment:
    """Assess a fitted model, a set of models, or a vector model, on test samples that were not used in its fit.

    Parameters
    ----------
    model : BinnedModel, fitted calibrator, ModelSet or VectorModel
    scores : array-like of shape (n,), for a VectorModel of shape (n, k)
        Uncalibrated test scores. Rows with a missing score, or one outside the model's range, are left out and counted. For a
        VectorModel the probabilities of all classes, in rows that sum to 1; labels are classes then.
    {labels}
    cells : array-like of shape (n,), optional
        Only for a set: the key of each row; see `fastbin.assess.check_certificate`.
    others : mapping from name to a model, a set, a fitted calibrator, or predictions of shape (n,), optional
        Methods to compare with, on the same rows; with a VectorModel others of the same classes, or vectors of shape (n, k).
        One that is called as a scorecard of the model, such as "calibrated", has " (other)" behind its name.
    sample_weight : array-like of shape (n,), optional
        Integers are frequencies, floats importance weights; these allow no test of the certificate.
    {positive}
    alpha : float
        Of the certificate and of all intervals, from 1e-100 to 1/2.
    test_level : float
        Of the test of the certificate, from 1e-100 to 1/2.
    n_bins : int, optional
        Into how many bins of equal mass the calibrated probabilities are divided where they are not few values with many
        samples; 15 by default. All predictors are compared in the same bins.
    tie_keys, seed
        For scores that tie with an edge, as in `BinnedModel.predict`.
    side : {"both", "upper", "lower"}
        Of the certificates, and so of the test, as in `BinnedModel.certificate`; not for a VectorModel.

    Returns
    -------
    Assessment
        For a VectorModel one like it, whose numbers are class by class and of the top label: `to_dict` says all, and
        `render_report` makes a page of it. Rows with a missing probability are left out and counted.

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
    vector = as_vector_model(model)
    if vector is not None:
        from fastbin.report.vectors import assess_vectors

        _refuse_of_vectors(cells=cells, positive=positive, tie_keys=tie_keys, side=None if side == "both" else side)
        return assess_vectors(
            vector, scores, labels, others=others, weights=sample_weight, alpha=alpha, test_level=test_level, n_bins=n_bins
        )
    fitted, alpha = as_model_or_set(model), check_alpha(alpha)
    check_same_event(fitted.event, positive)
    check_cells_given(fitted, cells)
    test = _TestSet.of(fitted, scores, labels, cells, sample_weight, positive, tie_keys, seed)
    samples, served, bins = test.samples, test.predictions_of(fitted, "calibrated"), None
    if not fitted.is_set and fitted.kind == "step":
        bins = fitted.assign(samples.predictions, tie_keys=test.keys, seed=test.seed).astype(np.int64)
    compared = ComparedBins.of(served, samples, n_bins, bins if not fitted.is_set and fitted.has_steps else None)
    scored = partial(Scorecard.of, samples=samples, alpha=None if _shares_rows(fitted) else alpha, bins=compared)
    are_probabilities = bool(((samples.predictions >= 0.0) & (samples.predictions <= 1.0)).all())
    certificates, why = _certificates_of(fitted, alpha, side)
    check, known = None, np.ones(len(samples.labels), np.bool_) if test.numbers is None else test.numbers >= 0
    is_testable = bool(certificates) and certificates[0].about == "population"  # one of a batch says nothing of other rows
    if is_testable and not samples.is_weighted and known.any():
        check = assess.check_certificate(
            fitted, samples.predictions, samples.labels, cells=test.cells, certificate=certificates[0], test_level=test_level,
            sample_weight=samples.weights, tie_keys=test.keys, seed=test.seed,
        )  # fmt: skip
    own = (CALIBRATED, "score itself")[: 1 + are_probabilities]
    return Assessment(
        model=fitted,
        alpha=alpha,
        n_samples=samples.n_samples,
        n_positive=_n_positive(samples),
        is_weighted=samples.is_weighted,
        left_out=test.left_out,
        after=scored(own[0], served, own=True),
        before=scored(own[1], samples.predictions) if are_probabilities else None,
        others=tuple(scored(title, test.predictions_of(other, name)) for title, name, other in titled(others, own)),
        certificates=certificates,
        why_no_certificate=why,
        check=check,
        bin_counts=None if bins is None else np.bincount(bins, samples.frequencies, fitted.n_bins).astype(np.int64),
        n_unknown=samples.take(~known).n_samples,
        cells=tuple(_cell_results(fitted, test, served, n_bins, check, alpha, are_probabilities)) if fitted.is_set else (),
    )


def titled(others: Mapping[str, Any] | None, own: Sequence[str]) -> Iterator[tuple[str, str, Any]]:
    """The title of each method to compare with, its name, and the method. Titles are told from the model's own ones."""
    if not isinstance(others, Mapping | None):
        raise InputTypeError(f"is of type {type(others).__name__}", "pass a dict of predictions by name", argument="others")
    others = {} if others is None else others
    for name, other in others.items():
        title, taken = name, {"", *own, *(each for each in others if each != name)}  # "" is over the names of the numbers
        while title in taken:
            title += " (other)"
        yield title, name, other


def _shares_rows(fitted: BinnedModel | ModelSet) -> bool:
    """Whether each sample is a row of every class, so that rows depend on each other."""
    return fitted.is_set and fitted.kind == "class-wise"


def _certificates_of(fitted: BinnedModel | ModelSet, alpha: float, side: str) -> tuple[tuple[Any, ...], str | None]:
    """The certificates of the kinds that there are; if there are none, why the first is not."""
    found, refusals = [], []
    for kind in ("conditional", "marginal", "ece"):
        try:
            found.append(fitted.certificate(alpha=alpha, kind=kind, side=side))
        except GuaranteeError as error:
            refusals.append(str(error))
    return tuple(found), None if found else refusals[0]


def _refuse_of_vectors(**given: Any) -> None:
    """Refuse what is of no use with a vector model."""
    for name, value in given.items():
        if value is not None:
            problem = "is given, and model maps whole rows of probabilities of all classes"
            raise InputError(problem, "leave it out", argument=name)


def _cell_results(
    models: ModelSet, test: _TestSet, served: Float64s, n_bins: int | None, check: Any, alpha: float, before: bool
) -> Iterator[CellResult]:  # fmt: skip
    """The results of each model in the order of the set; `before` if scores are probabilities."""
    numbers = np.asarray(test.numbers)
    rows_of = {int(numbers[rows[0]]): rows for rows in rows_of_each(numbers)}
    for number, (cell, own) in enumerate(models.numbered):
        rows = rows_of.get(number, np.empty(0, np.int64))
        seen = test.samples.take(rows)
        tables: dict[str, Any] = dict.fromkeys(("after", "before", "brier", "brier_before"))
        if seen.n_samples:
            calibrated, bins = Samples(served[rows], seen.labels, seen.weights), ComparedBins.of(served[rows], seen, n_bins)
            for name, samples, groups in (("", calibrated, bins.groups), ("_before", seen, bins.groups.shared()))[: 1 + before]:
                tables[name[1:] or "after"] = table_of(samples, groups, bins.n_bins, alpha=alpha)
                tables[f"brier{name}"] = assess.brier_score(samples.predictions, seen.labels, sample_weight=seen.weights)
        yield CellResult(
            cell=cell, n_bins=own.n_bins, n_fitted=own.n_samples, n_samples=seen.n_samples, n_positive=_n_positive(seen),
            verdict=None if check is None else verdict_of(check[cell]), **tables,
        )  # fmt: skip


def rows_taken(fitted: BinnedModel | ModelSet, scores: Array, numbers: Array | None) -> Bools:
    """Which rows have a score that their model takes; `numbers` are those of the models of a set."""
    # Models that clip move scores outside their range themselves. Unknown cells have number -1: the pool is the last model.
    limits = [None if own.out_of_range == "clip" else own.score_range for _, own in fitted.numbered]
    ends = np.array([each or (-np.inf, np.inf) for each in limits])
    low, high = ends[0] if numbers is None else ends[numbers].T
    return (scores >= low) & (scores <= high) & np.isfinite(scores)


def _n_positive(samples: Samples) -> int:
    """Samples with label 1, repetitions included."""
    return int(np.bincount(samples.labels, samples.frequencies, 2)[1])


class _TestSet(NamedTuple):
    """The test rows that the model or the set can score, checked."""

    samples: Samples  # with scores in place of predictions
    cells: Array | None  # of a set alone, like the next
    numbers: Array | None  # of the models, -1 for unknown cells
    keys: Array | None
    seed: int | None  # without keys
    kept: Bools  # of the rows given
    left_out: LeftOut
    event: str  # that label 1 stands for; "" where it is not known

    @classmethod
    def of(
        cls, fitted: BinnedModel | ModelSet, scores: Any, labels: Any, cells: Any, sample_weight: Any, positive: Any, keys: Any,
        seed: int | None,
    ) -> _TestSet:  # fmt: skip
        check_same_index(scores=scores, labels=labels, cells=cells, sample_weight=sample_weight, tie_keys=keys)
        column, numbers = as_scores(scores), None
        if fitted.is_set:
            numbers = fitted.find(cells)
        else:
            column = clip_scores(column, fitted)
        ones, weights = check_labels(labels, positive=positive), check_sample_weight(sample_weight)
        check_same_length(scores=column, labels=ones, cells=numbers, sample_weight=weights)
        if keys is not None:
            keys = as_key_array(keys, len(column))
        elif fitted.is_set:
            keys = row_keys(check_seed(seed), len(column))
        missing, inside = np.isnan(column), rows_taken(fitted, column, numbers)
        is_counted = np.ones(len(column), np.bool_) if weights is None else weights > 0
        kept = inside & is_counted
        left_out = LeftOut(int((missing & is_counted).sum()), int((~inside & ~missing & is_counted).sum()))
        if not kept.any():
            reasons = f"{left_out.missing} scores are missing, {left_out.outside} outside the range"
            reasons += "" if is_counted.all() else ", and the others have weight 0"
            raise InputError(f"no row is left to assess: {reasons}")
        return cls(
            samples=Samples(column[kept], ones[kept], None if weights is None else weights[kept]),
            cells=np.asarray(cells, dtype=object)[kept] if fitted.is_set else None,
            numbers=None if numbers is None else numbers[kept],
            keys=None if keys is None else keys[kept],
            seed=seed if keys is None else None,
            kept=kept,
            left_out=left_out,
            event=fitted.event or ("" if positive is None else event_of(positive)),
        )

    def predictions_of(self, other: Predictor, name: str) -> Float64s:
        """The predictions of a method for the rows that were kept: of a model or a set, or as given for all rows."""
        place = f"others[{name!r}]"
        if isinstance(other, (Parts, Estimator)):
            fitted = as_model_or_set(other, place)
            if fitted.event and self.event and fitted.event != self.event:
                problem = f"is about {fitted.event!r}, and label 1 is {self.event!r}"
                raise InputError(problem, "compare with a model of the same event", argument=place)
            if fitted.is_set:
                check_cells_given(fitted, self.cells)
            columns = (self.samples.predictions, self.cells)[: 1 + fitted.is_set]
            try:
                return fitted.predict(*columns, tie_keys=self.keys, seed=self.seed)
            except InputError as error:  # about the rows that were kept
                if not isinstance(error.at, int):
                    raise
                row, whose = int(np.flatnonzero(self.kept)[error.at]), Wording(f", for {place}", f", for {name}")
                raise error.at_row(row, whose) from None
        array = as_doubles(other, place, "a model, or one probability for each row")
        if array.shape != self.kept.shape:
            remedy = f"it must hold one prediction for each of {len(self.kept)} rows"
            raise InputError(f"has shape {array.shape}", remedy, argument=place)
        bad = self.kept & ~((array >= 0.0) & (array <= 1.0))
        refuse_first(bad, place, array, "probabilities are in [0, 1]: calibrate scores, or leave them out")
        return array[self.kept]
