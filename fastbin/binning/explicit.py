"""Binning between edges that were fixed before the calibration samples were seen."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.checks import ScoreRange, check_edges, check_score_range
from fastbin._base.docstrings import shared_docs
from fastbin._base.shown import first_few
from fastbin._fit.calibrator import FIT_PARAMETERS, PARAMETERS, Binning
from fastbin._fit.edges import Partition
from fastbin._fit.fingerprint import tally_fingerprint
from fastbin._fit.quantiles import Source
from fastbin._fit.rows import RowsSource, check_rows
from fastbin._fit.tally import require_weight, tally_source
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from typing_extensions import Self


class FixedEdges(Binning):
    """What binnings between fixed edges share: they tally, report their empty bins, and may raise their values.

    Attributes
    ----------
    model_ : BinnedModel
    empty_bins_ : ndarray of int64
        Bins without samples: value 0.5, interval [0, 1], and no part in any guarantee. `fit` warns and names them.
    """

    monotone: bool

    @property
    def empty_bins_(self) -> Int64s:
        """int64: the numbers of the bins without samples, whose value is 0.5 (or that of a neighbour, with monotone values)."""
        return np.flatnonzero(self.model_.counts == 0)

    @shared_docs(FIT_PARAMETERS)
    def fit(self, scores: Any, labels: Any, sample_weight: Any = None, *, positive: Any = None) -> Self:
        """Fit to calibration samples that neither the classifier nor the edges, nor a scaler, have seen.

        Parameters
        ----------
        {scores}
        {labels}
        {sample_weight}
        {positive}

        {Returns}

        {Raises}

        Warns
        -----
        FastbinWarning
            Where bins hold no sample; the message names them and what they serve: 0.5, or with `monotone` the mean of the
            nearest bins with samples. And as `IsotonicCalibration.fit`.
        """
        rows = check_rows(scores, labels, sample_weight, check_score_range(self.score_range), positive=positive)
        return self._fit_source(RowsSource(rows))

    def _fit_source(self, source: Source) -> Self:
        score_range, origin, rows = check_score_range(self.score_range), dict[str, Any](), source.in_memory

        def bins_of(n_samples: int) -> Partition:
            edges, said = self._edges(n_samples, score_range)
            origin.update(said)
            return Partition(edges, score_range=score_range)

        partition, tally = tally_source(source, bins_of)
        parts = tally.parts(monotone=self.monotone)
        require_weight(parts)
        model = BinnedModel.from_parts(
            edges=partition.edges, score_range=score_range, out_of_range=self.out_of_range,
            fingerprint=tally_fingerprint(partition, tally), **parts, **origin,
        )  # fmt: skip
        self._keep(model, "" if rows is None else rows.event)
        if len(self.empty_bins_):
            self._warn(_on_empty_bins(self.empty_bins_, self.model_.values, self.monotone), stacklevel=3)
        self._warn_of_rows(tally.counts, tally.label_sums, None if rows is None else rows.scores, 3)
        return self

    def _why_all_rows(self, remedy: str = "use fit") -> None:
        return None

    def _edges(self, n_samples: int, score_range: ScoreRange) -> tuple[Float64s, dict[str, Any]]:
        """The edges, and what the model says of their origin."""
        raise NotImplementedError


def _on_empty_bins(empty: Int64s, values: Float64s, monotone: bool, limit: int = 8) -> str:
    """The text of the warning."""
    shown = first_few(empty.tolist(), limit)
    served = f"{values[empty[0]]:g}" if len(set(values[empty])) == 1 else f"{values[empty].min():g} to {values[empty].max():g}"
    why = "a value between those of their neighbours" if monotone else "a value that stands for not knowing"
    one = len(empty) == 1
    return (
        f"{'bin' if one else 'bins'} {shown} of {len(values)} (from 0) {'holds' if one else 'hold'} no sample and "
        f"{'serves' if one else 'serve'} {served}, {why}: no interval, and no part in any promise (empty_bins_ names them); "
        "take fewer bins, or UniformMassBinning, which leaves none empty"
    )


@shared_docs(PARAMETERS, FixedEdges.__doc__)
@dataclass(eq=False, repr=False)
class ExplicitBinning(FixedEdges):
    """Histogram binning between edges of the user's own.

    Parameters
    ----------
    edges : array-like of float
        The inner edges, rising strictly, within `score_range` and above its low end. A score equal to an edge lies above it.
        They must have been fixed before the calibration samples were seen: no guarantee survives edges that looked at labels.
    {monotone}
    {score_range}
    {out_of_range}

    {Attributes}

    See Also
    --------
    UniformMassBinning : leaves no bin empty.

    Notes
    -----
    Guarantee: given the scores, the label sum of a bin is binomial (Gupta, Podkopaev & Ramdas 2020, section 4.1), so every
    interval and certificate of the model applies. Equal scores share a bin, so that ties need no keys. One pass over the
    rows, in one thread: time O(n), extra memory O(n_bins).

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.ExplicitBinning(edges=[0.1, 0.5]).fit([0.05, 0.1, 0.3, 0.6, 0.7], [0, 0, 1, 1, 1])
    >>> cal.model_.counts, cal.predict([0.0, 0.1, 0.9])
    (array([1, 2, 2]), array([0. , 0.5, 1. ]))
    """

    edges: Any
    _: KW_ONLY
    monotone: bool = False

    def __repr__(self) -> str:
        return f"ExplicitBinning(edges={np.asarray(self.edges).tolist()!r})"

    def _edges(self, n_samples: int, score_range: ScoreRange) -> tuple[Float64s, dict[str, Any]]:
        edges = check_edges(self.edges, score_range)
        return edges, {"scheme": "explicit", "n_bins_asked": len(edges) + 1}
