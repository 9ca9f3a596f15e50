"""What a reader should know before relying on a model, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fastbin._dependencies import needed_for
from fastbin.guarantees.words import moved_by
from fastbin.model import BinnedModel
from fastbin.report.scorecard import Scorecard

if TYPE_CHECKING:
    from fastbin.report.assessment import Assessment

__all__ = ["cautions_of"]

Int64s = npt.NDArray[np.int64]

FEW = 30  # samples in a bin below which a rate is hardly known: its 90 % interval is 0.3 wide at a frequency of one half
SURPRISING = 0.001  # p-value below which two data sets are said to differ


def cautions_of(found: Assessment) -> Iterator[str]:
    """A sentence or two for each; none if all is well."""
    if found.check is not None and found.check.verdict == "contradicted":
        yield f"The certificate is contradicted by the test set. {found.check}"
    if found.why_no_certificate is not None:
        yield f"There is no certificate: {found.why_no_certificate}."
    yield from _left_out(found)
    yield from _about_the_fit(found.model)
    if found.bin_counts is not None:
        yield from _about_the_bins(found.model, found.bin_counts)
    if not found.is_weighted:
        yield from _about_the_populations(found)
    yield from _about_the_gain(found.before, found.after)


def _left_out(found: Assessment) -> Iterator[str]:
    if found.left_out.total:
        reasons = ((found.left_out.missing, "missing"), (found.left_out.outside, "outside the range of the model"))
        parts = [f"{count:,} {'score is' if count == 1 else 'scores are'} {what}" for count, what in reasons if count]
        rows = f"{found.left_out.total:,} test {'row is' if found.left_out.total == 1 else 'rows are'}"
        yield f"{rows} left out of every number here: {' and '.join(parts)}. The model refuses to score them."


def _about_the_fit(model: BinnedModel) -> Iterator[str]:
    if 0 < model.n_bins < model.n_bins_asked:
        yield f"{model.n_bins_asked} bins were asked for, and ties left {model.n_bins}."
    if model.n_tied:
        share = 100.0 * model.n_tied / max(1, model.n_samples)
        told = f"{share:.3g} % of the calibration samples share the score of a boundary"
        if model.ties in ("random", "isolate"):
            yield f"{told} and go to one side of it by a random key: such a score can be given either of two probabilities."
        else:
            side = "above" if model.ties == "upper" else "below"
            yield f"{told} and were all put {side} it, so the bins are not of equal mass."
    if model.is_weighted:
        yield "The values are weighted means; guarantees for unweighted samples do not apply to them."
    if model.rates is not None or model.odds_ratio != 1.0:
        yield f"Label shift: {moved_by(model.odds_ratio, model.rates)}."
    if model.delta > 0.0:
        yield f"Predictions are randomised by up to delta = {model.delta:g}: one score can be given different probabilities."


def _about_the_bins(model: BinnedModel, bin_counts: Int64s) -> Iterator[str]:
    if model.counts is not None:
        empty = np.flatnonzero(model.counts == 0).tolist()
        if empty:
            yield f"{_bins(empty)} held no calibration sample: the value there is no estimate."
        few = np.flatnonzero((model.counts > 0) & (model.counts < FEW)).tolist()
        if few:
            yield f"{_bins(few)} held fewer than {FEW} calibration samples: the value there is hardly known."
    few = np.flatnonzero(bin_counts < FEW).tolist()
    if few:
        verb, them = ("holds", "it") if len(few) == 1 else ("hold", "them")
        yield f"{_bins(few)} {verb} fewer than {FEW} test samples: the test says little about {them}."
    falls = model.falls.tolist()
    if falls:
        yield (
            f"The probability falls from one bin to the next {'once' if len(falls) == 1 else f'{len(falls)} times'} (after "
            f"{_bins(falls, capital=False)}) although the score rises: the order of samples there is changed. "
            "Fitted with monotone=True, values do not fall."
        )


def _about_the_populations(found: Assessment) -> Iterator[str]:
    """Whether the test set can be a sample of the population that the model was fitted to."""
    model = found.model
    labels = [[model.n_positive, model.n_samples - model.n_positive], [found.n_positive, found.n_samples - found.n_positive]]
    if model.n_samples and _p_homogeneous(np.array(labels)) < SURPRISING:
        then, now = (100.0 * ones / (ones + zeros) for ones, zeros in labels)
        yield (
            f"Label 1 was {then:.3g} % of the calibration samples and is {now:.3g} % of the test samples, more than chance "
            "explains: the populations differ."
        )
    # Tied scores are spread by keys, in shares that need not be those of the fit.
    if found.bin_counts is None or model.counts is None or model.n_tied:
        return
    if _p_homogeneous(np.stack([model.counts, found.bin_counts])) < SURPRISING:
        yield (
            "The test scores are spread over the bins otherwise than the calibration scores were, more than chance explains: "
            "the populations differ, and the certificate is about that of the calibration."
        )


def _p_homogeneous(table: Int64s) -> float:
    """Pearson's chi-square test that the rows of a table of counts have one distribution."""
    with needed_for("reports", extra="fit"):
        from scipy.special import chdtrc

    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2 or (table.sum(axis=1) == 0).any():
        return 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    return float(chdtrc(table.shape[1] - 1, ((table - expected) ** 2 / expected).sum()))


def _about_the_gain(before: Scorecard | None, after: Scorecard) -> Iterator[str]:
    if math.isinf(after.log_loss):
        yield "The log loss is infinite: a bin of value 0 or 1 was wrong about a test sample. The Brier score is finite."
    if before is not None and after.brier.score > before.brier.score:
        yield (
            f"On this test set the scores themselves have the smaller Brier score ({before.brier.score:.4f} against "
            f"{after.brier.score:.4f}): what the bins blur outweighs what they correct."
        )


def _bins(bins: list[int], limit: int = 8, capital: bool = True) -> str:
    shown = ", ".join(map(str, bins[:limit])) + (f" and {len(bins) - limit} more" if len(bins) > limit else "")
    noun = "bin" if len(bins) == 1 else "bins"
    return f"{noun.capitalize() if capital else noun} {shown}"
