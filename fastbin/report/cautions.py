"""Warnings to a reader of an assessment, a sentence or two each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._base.array_types import Bools, Int64s
from fastbin._base.shown import how_many, rounded_up
from fastbin._base.suspicions import fisher_p
from fastbin._model.view import caveats
from fastbin.assess.verdict import CONTRADICTED
from fastbin.guarantees.certificate import name_bins, name_cells
from fastbin.guarantees.evidence import is_moved, is_stratified
from fastbin.intervals.binomial import MOST_SAMPLES, special_functions
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from fastbin.report.assessment import Assessment

FEW = 30  # samples; with fewer, the 90 % interval of a rate of one half is wider than 0.3
SURPRISING = 0.001  # p-value; below it two data sets are said to differ
LEAST_EXPECTED = 5.0  # counts, below which Pearson's statistic does not follow the chi-square law nearly
MOST_TESTED = 16  # columns of a table of counts


def cautions_of(found: Assessment) -> Iterator[str]:
    """Warnings to a reader before relying on the model, a sentence or two each; none if all is well."""
    yield from about_the_certificate(found)
    if found.left_out.total:
        reasons = ((found.left_out.missing, "missing"), (found.left_out.outside, "outside the range of the model"))
        parts = [f"{how_many(count, 'score', 'is', 'are')} {reason}" for count, reason in reasons if count]
        rows = how_many(found.left_out.total, "test row", "is", "are")
        yield f"{rows} left out of every number here: {' and '.join(parts)}. The model refuses to score them."
    if found.is_set:
        yield from _about_the_cells(found)
    else:
        yield from caveats(found.model)
        yield from _about_the_promise(found)
        if found.bin_counts is not None:
            yield from _about_the_bins(found.model, found.bin_counts)
        if not found.is_weighted:
            yield from _about_the_populations(found)
    if found.certificates and found.check is None:
        why = "their weights are not frequencies" if found.is_weighted else "none is of a cell that the set knows"
        if found.certificates[0].about == "batch":
            why = "it is about the batch that the model was fitted to, of which new rows say nothing"
        yield f"The certificate is not tested: the test rows allow no exact test of it, as {why}."
    if math.isinf(found.after.log_loss):
        yield "The log loss is infinite: a bin of value 0 or 1 was wrong about a test sample. The Brier score is finite."
    yield from _about_the_scores(found)


def about_the_certificate(found: Any) -> Iterator[str]:
    """Whether the test set contradicts the certificate of a model, or of a vector model, and why there is none."""
    if found.check is not None and found.check.verdict == CONTRADICTED:
        yield f"The certificate is contradicted by the test set. {found.check}"
    if found.check is not None and found.check.is_calibration_set:
        yield "Test rows are rows of the fit, which the model has seen: the numbers here may be too good, and confirm nothing."
    if found.why_no_certificate is not None:
        yield f"A certificate is missing: {found.why_no_certificate}."


def about_few_samples(counts: Iterable[tuple[Any, int]]) -> Iterator[str]:
    """The cells, or classes, of which the test set has few samples or none; `counts` are pairs of a name and a number."""
    counts = list(counts)
    seldom = ("No test sample is", 0, 0, "nothing"), (f"Fewer than {FEW} test samples are", 1, FEW - 1, "little")
    for start, least, most, says in seldom:
        named = [name for name, count in counts if least <= count <= most]
        if named:
            yield f"{start} of {name_cells(named)}: the test says {says} about {'it' if len(named) == 1 else 'them'}."


def _about_the_scores(found: Assessment) -> Iterator[str]:
    """Whether these are the better predictions, and why if their parts say so."""
    before, after = (None if found.before is None else found.before.brier), found.after.brier
    if before is not None and (told := better_before("the scores themselves", before.score, after.score)):
        yield told + (": what the bins blur outweighs what they correct." if after.calibration < before.calibration else ".")


def better_before(what: str, before: float, after: float) -> str:
    """That what was calibrated has the smaller Brier score, as a sentence without its end; "" where it does not, as shown."""
    shown = f"{before:.4g}", f"{after:.4g}"
    if after <= before or shown[0] == shown[1]:
        return ""
    return f"On this test set {what} have the smaller Brier score ({shown[0]} against {shown[1]})"


def _about_the_cells(found: Assessment) -> Iterator[str]:
    if found.n_unknown:
        yield (
            f"{how_many(found.n_unknown, 'test sample', 'is', 'are')} of cells that the set does not know. Such rows got the "
            "value of the pool, and nothing is promised about them."
        )
    pooled = found.model.pooled_cells
    if pooled:
        share = f"{len(pooled):,} of {len(found.model):,} cells"
        yield f"{share} without a model of their own: the pool's promise is about all such cells together, not each."
    values: dict[str, Callable[[BinnedModel], Any]] = {
        "were moved to other class rates than those of their calibration samples": is_moved,
        "are weighted means, and guarantees for unweighted samples do not apply to them": attrgetter("is_weighted"),
        "are randomised, so that one score can be given different probabilities": attrgetter("delta"),
    }
    for how, is_so in values.items():
        names = [name for name, own in found.model.numbered if is_so(own)]
        if names:
            yield f"The values of {name_cells(names) if len(names) < found.model.n_models else 'all models'} {how}."
    yield from about_few_samples((cell.cell, cell.n_samples) for cell in found.cells)


def _about_the_promise(found: Assessment) -> Iterator[str]:
    """Whether it excludes neither 0 nor 1 as a frequency, in any bin that it is about."""
    promise = next((each for each in found.certificates if each.kind == "conditional"), None)
    if promise is None:
        return
    covered = np.delete(found.model.bin_values, list(promise.uncovered_bins))
    side, epsilon, ends = promise.side, promise.epsilon, []
    if side != "upper" and 0.0 < covered.max() <= epsilon:
        ends.append("0")
    if side != "lower" and 0.0 < 1.0 - covered.min() <= epsilon:
        ends.append("1")
    if ends:
        yield (
            f"The certificate excludes a frequency of {' or '.join(ends)} in no bin, as epsilon is {rounded_up(epsilon)}: "
            "more samples narrow it, and the intervals of the bins say more."
        )


def _about_the_bins(model: BinnedModel, bin_counts: Int64s) -> Iterator[str]:
    def bins_where(condition: Bools) -> str:
        return name_bins(np.flatnonzero(condition).tolist()).capitalize() if condition.any() else ""

    if model.counts is not None:
        if empty := bins_where(model.counts == 0):
            yield f"{empty} held no calibration sample: the value there is not an estimate."
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


def _about_the_populations(found: Assessment) -> Iterator[str]:
    """Whether the test set can be a sample of the population that the model was fitted to."""
    model = found.model
    if is_stratified(model) or is_moved(model) or model.is_weighted:  # whose rows are of another population, or in other shares
        return
    positives, sizes = np.array([model.n_positive, found.n_positive]), np.array([model.n_samples, found.n_samples])
    if model.n_samples and p_homogeneous(np.stack([positives, sizes - positives], axis=1)) < SURPRISING:
        then, now = 100.0 * positives / sizes
        yield (
            f"Label 1 was {then:.3g} % of the calibration samples and is {now:.3g} % of the test samples, more than chance "
            "explains: the populations differ."
        )
    # Keys divide tied scores, in shares that can differ from those of the fit.
    if found.bin_counts is None or model.counts is None or model.n_tied:
        return
    if p_homogeneous(np.stack([model.counts, found.bin_counts])) < SURPRISING:
        yield (
            "The test scores are spread over the bins otherwise than the calibration scores were, more than chance explains: "
            "the populations differ, and the certificate is about that of the calibration."
        )


def p_homogeneous(table: Int64s) -> float:
    """A p-value of the hypothesis that the two rows of a table of counts have one distribution.

    Pearson's chi-square test where every expected count is large enough for it. Else Fisher's exact test of a column against
    the others, two-sided by twice its tail, after Bonferroni over all columns; it is done for the columns that stand out most
    alone, which can only make the p-value larger.
    """
    table = table[:, table.sum(axis=0) > 0]
    n_columns, (n_first, n_second) = table.shape[1], table.sum(axis=1).tolist()
    if n_columns < 2 or n_first == 0 or n_second == 0 or n_first + n_second > MOST_SAMPLES:
        return 1.0
    expected = table.sum(axis=0) * (n_first / (n_first + n_second))
    terms = (table[0] - expected) ** 2 / expected
    if min(n_first, n_second) / n_first * expected.min() >= LEAST_EXPECTED:
        square = float(terms.sum()) * (n_first + n_second) / n_second  # with those of the other row
        return float(special_functions().chdtrc(n_columns - 1, square))
    order = np.argsort(-terms, kind="stable")
    n_tests, tails = 1 if n_columns == 2 else n_columns, []
    for first, second in table[:, order[: min(n_tests, MOST_TESTED)]].T.tolist():
        drawn = (n_first, first) if first * n_second > second * n_first else (n_second, second)  # the row that has more of it
        tails.append(fisher_p(*drawn, n_first + n_second, first + second))
    return min(1.0, 2.0 * n_tests * min(tails))
