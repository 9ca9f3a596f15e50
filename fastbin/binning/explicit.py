"""Binning between edges that were fixed before the calibration samples were seen."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastbin._calibrator import Calibrator
from fastbin._errors import FastbinWarning
from fastbin._fit.exact_sums import require_weight
from fastbin._fit.fingerprint import tally_fingerprint
from fastbin._fit.monotone import monotone_model
from fastbin._fit.rows import Rows, check_rows
from fastbin._fit.tally import bins_between, tally
from fastbin._scalars import check_score_range
from fastbin._validation import check_edges, compare_labels
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ExplicitBinning", "FixedEdges"]


class FixedEdges(Calibrator):
    """What binnings between fixed edges share: they tally, report their empty bins, and may raise their values."""

    monotone: bool
    score_range: tuple[float, float] | None
    out_of_range: str

    @property
    def empty_bins_(self) -> npt.NDArray[np.int64]:
        """int64: the numbers of the bins without samples, whose value is 0.5 (or that of a neighbour, with monotone values)."""
        return np.flatnonzero(self.model_.counts == 0)

    def fit(self, scores: Any, labels: Any, sample_weight: Any = None, *, positive: Any = None) -> Self:
        """Fit to calibration samples that neither the classifier nor the edges, nor a scaler, have seen.

        Parameters
        ----------
        scores : array-like of shape (n,)
            float32 and float64 are read without a copy. NaN, infinity and scores outside `score_range` are refused.
        labels : array-like of shape (n,)
            bool, or numbers that equal 0 or 1.
        sample_weight : array-like of shape (n,), optional
            Integers are frequencies: the same as repeating the row. Floats are importance weights: values are weighted means,
            and only bounds made for weights apply.
        positive : optional
            The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".

        Returns
        -------
        self

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value, and the remedy.

        Warns
        -----
        FastbinWarning
            Where bins hold no sample; the message names them and what they serve: 0.5, or with `monotone` the mean of the
            nearest bins with samples.
        """
        score_range = check_score_range(self.score_range)
        labels = compare_labels(labels, positive)
        rows, weights = check_rows(scores, labels, sample_weight, score_range)
        edges, origin = self._edges(rows)
        counted = tally(bins_between(edges, None, score_range), rows, weights)
        parts = counted.parts()
        require_weight(parts.get("weight_sums", counted.counts))
        fingerprint = tally_fingerprint(edges, counted.counts, counted.label_sums)
        model = BinnedModel.from_parts(
            edges=edges, score_range=score_range, out_of_range=self.out_of_range, fingerprint=fingerprint, **parts, **origin
        )
        self.model_ = monotone_model(model) if self.monotone else model
        if len(self.empty_bins_):
            warnings.warn(_told(self.empty_bins_, self.model_.values, self.monotone), FastbinWarning, stacklevel=2)
        return self

    def _edges(self, rows: Rows) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
        """The edges, and what the model says of their origin. Of the rows only their number may matter."""
        raise NotImplementedError


def _told(empty: npt.NDArray[np.int64], values: npt.NDArray[np.float64], monotone: bool, limit: int = 8) -> str:
    shown = ", ".join(map(str, empty[:limit])) + (f" and {len(empty) - limit} more" if len(empty) > limit else "")
    served = f"{values[empty[0]]:g}" if len(set(values[empty])) == 1 else f"{values[empty].min():g} to {values[empty].max():g}"
    why = "a value between those of their neighbours" if monotone else "a value that stands for not knowing"
    one = len(empty) == 1
    return (
        f"{'bin' if one else 'bins'} {shown} of {len(values)} (from 0) {'holds' if one else 'hold'} no sample and "
        f"{'serves' if one else 'serve'} {served}, {why}: no interval, and no part in any promise (empty_bins_ names them); "
        "take fewer bins, or UniformMassBinning, which leaves none empty"
    )


class ExplicitBinning(FixedEdges):
    """Histogram binning between edges of the user's own.

    Parameters
    ----------
    edges : array-like of float
        The inner edges, rising strictly, within `score_range` and above its low end. A score equal to an edge lies above it.
        They must have been fixed before the calibration samples were seen: no guarantee survives edges that looked at labels.
    monotone : bool
        Whether values are made non-decreasing at the least cost to the certificate; see `monotone_model`.
    score_range : (low, high) or None
        Where scores must lie; ``None`` takes any finite score.
    out_of_range : {"refuse", "clip"}
        What a finite score outside `score_range` does when it is scored: an error, or the value of the end of the range next
        to it. It is part of the model. In a fit such scores are refused in any case.

    Attributes
    ----------
    model_ : BinnedModel
    empty_bins_ : ndarray of int64
        Bins without samples: value 0.5, interval [0, 1], and no part in any guarantee. `fit` warns and names them.

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

    def __init__(
        self,
        edges: Any,
        *,
        monotone: bool = False,
        score_range: tuple[float, float] | None = (0.0, 1.0),
        out_of_range: str = "refuse",
    ) -> None:
        self.edges = edges
        self.monotone = monotone
        self.score_range = score_range
        self.out_of_range = out_of_range

    def __repr__(self) -> str:
        return f"ExplicitBinning(edges={np.asarray(self.edges).tolist()!r})"

    def _edges(self, rows: Rows) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
        edges = check_edges(self.edges, rows.score_range)
        return edges, {"scheme": "explicit", "n_bins_asked": len(edges) + 1}
