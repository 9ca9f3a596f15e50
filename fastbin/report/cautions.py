"""What a reader should know before relying on a model, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._base.array_types import Bools, Int64s
from fastbin.assess.verdict import CONTRADICTED
from fastbin.guarantees.certificate import moved_by, name_bins, name_cells
from fastbin.intervals.binomial import special_functions
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from fastbin.report.findings import Findings
    from fastbin.report.scorecard import LeftOut, Scorecard

FEW = 30  # samples; with fewer, the 90 % interval of a rate of one half is wider than 0.3
SURPRISING = 0.001  # p-value; below it two data sets are said to differ


def cautions_of(assessment: Findings) -> Iterator[str]:
    """A sentence or two for each; none if all is well."""
    if assessment.check is not None and assessment.check.verdict == CONTRADICTED:
        yield f"The certificate is contradicted by the test set. {assessment.check}"
    if assessment.why_no_certificate is not None:
        yield f"There is no certificate: {assessment.why_no_certificate}."
    yield from _about_left_out(assessment.left_out)
    yield from _about_the_cells(assessment) if assessment.fitted.is_set else _about_the_model(assessment)
    yield from _about_the_gain(assessment.before, assessment.after)


def _about_the_model(assessment: Any) -> Iterator[str]:
    """Cautions of an `Assessment` about the fit of its model, and about the bins."""
    yield from _about_the_fit(assessment.model)
    if assessment.bin_counts is not None:
        yield from _about_the_bins(assessment.model, assessment.bin_counts)
    if not assessment.is_weighted:
        yield from _about_the_populations(assessment)


def _about_the_cells(assessment: Any) -> Iterator[str]:
    """Cautions of a `SetAssessment` about the cells of its set."""
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


def _them(cells: Sequence[Any]) -> str:
    return "it" if len(cells) == 1 else "them"


def _about_left_out(left_out: LeftOut) -> Iterator[str]:
    """How many test rows were left out, and why."""
    if left_out.total:
        reasons = ((left_out.missing, "missing"), (left_out.outside, "outside the range of the model"))
        parts = [f"{count:,} {'score is' if count == 1 else 'scores are'} {reason}" for count, reason in reasons if count]
        rows = f"{left_out.total:,} test {'row is' if left_out.total == 1 else 'rows are'}"
        yield f"{rows} left out of every number here: {' and '.join(parts)}. The model refuses to score them."


def _about_the_fit(model: BinnedModel) -> Iterator[str]:
    if 0 < model.n_bins < model.n_bins_asked:
        yield f"{model.n_bins_asked} bins were asked for, and ties left {model.n_bins}."
    if model.n_tied:
        percentage = f"{100.0 * model.n_tied / max(1, model.n_samples):.3g} %"
        share = f"{percentage} of the calibration samples share the score of a boundary"
        if model.ties in ("random", "isolate"):
            yield f"{share} and go to one side of it by a random key: such a score can be given either of two probabilities."
        elif model.ties == "whole":
            yield (
                f"{share}. Each group of equal scores lies in one bin: a score is always given the same probability, and the "
                "bins are not of equal mass."
            )
        else:
            side = "above" if model.ties == "upper" else "below"
            yield f"{share} and were all put {side} it, so the bins are not of equal mass."
    if model.is_weighted:
        yield "The values are weighted means; guarantees for unweighted samples do not apply to them."
    if model.rates is not None or model.odds_ratio != 1.0:
        yield f"Label shift: {moved_by(model.odds_ratio, model.rates)}."
    if model.delta > 0.0:
        yield f"Predictions are randomised by up to delta = {model.delta:g}: one score can be given different probabilities."


def _about_the_bins(model: BinnedModel, bin_counts: Int64s) -> Iterator[str]:
    def bins_where(condition: Bools) -> str:
        return name_bins(np.flatnonzero(condition).tolist()).capitalize() if condition.any() else ""

    if model.counts is not None:
        if empty := bins_where(model.counts == 0):
            yield f"{empty} held no calibration sample: the value there is no estimate."
        if few := bins_where((model.counts > 0) & (model.counts < FEW)):
            yield f"{few} held fewer than {FEW} calibration samples: the value there is hardly known."
    if few := bins_where(bin_counts < FEW):
        verb, them = ("holds", "it") if np.count_nonzero(bin_counts < FEW) == 1 else ("hold", "them")
        yield f"{few} {verb} fewer than {FEW} test samples: the test says little about {them}."
    if falls := model.falls.tolist():
        places, times = name_bins(falls), "once" if len(falls) == 1 else f"{len(falls)} times"
        if model.has_steps:
            places = places.replace("bin", "step")
        yield (
            f"The probability falls from one {'step' if model.has_steps else 'bin'} to the next {times} (after {places}) "
            "although the score rises: the order of samples there is changed. Fitted with monotone=True, values do not fall."
        )


def _about_the_populations(assessment: Any) -> Iterator[str]:
    """Whether the test set can be a sample of the population that the model was fitted to."""
    model = assessment.model
    positives, sizes = np.array([model.n_positive, assessment.n_positive]), np.array([model.n_samples, assessment.n_samples])
    if model.n_samples and _p_homogeneous(np.stack([positives, sizes - positives], axis=1)) < SURPRISING:
        then, now = 100.0 * positives / sizes
        yield (
            f"Label 1 was {then:.3g} % of the calibration samples and is {now:.3g} % of the test samples, more than chance "
            "explains: the populations differ."
        )
    # Keys divide tied scores, in shares that can differ from those of the fit.
    if assessment.bin_counts is None or model.counts is None or model.n_tied:
        return
    if _p_homogeneous(np.stack([model.counts, assessment.bin_counts])) < SURPRISING:
        yield (
            "The test scores are spread over the bins otherwise than the calibration scores were, more than chance explains: "
            "the populations differ, and the certificate is about that of the calibration."
        )


def _p_homogeneous(table: Int64s) -> float:
    """Pearson's chi-square test that the rows of a table of counts have one distribution."""
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2 or (table.sum(axis=1) == 0).any():
        return 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    return float(special_functions().chdtrc(table.shape[1] - 1, ((table - expected) ** 2 / expected).sum()))


def _about_the_gain(before: Scorecard | None, after: Scorecard) -> Iterator[str]:
    """What the proper scores say against the calibrated probabilities."""
    if math.isinf(after.log_loss):
        yield "The log loss is infinite: a bin of value 0 or 1 was wrong about a test sample. The Brier score is finite."
    if before is not None and after.brier.score > before.brier.score:
        yield (
            f"On this test set the scores themselves have the smaller Brier score ({before.brier.score:.4f} against "
            f"{after.brier.score:.4f}): what the bins blur outweighs what they correct."
        )
