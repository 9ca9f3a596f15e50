"""Venn prediction: for each score two probabilities, one for each label that the sample might have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from fastbin._base.array_types import Bools, Float64s, Int64s, UInt64s
from fastbin._base.checks import refuse_first
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError, InputTypeError
from fastbin._base.suspicions import are_hard_labels
from fastbin._core.fit import venn_abers_slopes
from fastbin._core.schemes import SCHEMES
from fastbin._fit.calibrator import PARAMETERS, Binning, Calibrator
from fastbin._fit.quantiles import Source
from fastbin._fit.rows import Rows
from fastbin._fit.tally import KEY_ABOVE, KEY_BELOW
from fastbin.binning.isotonic import DistinctScores, count_scores
from fastbin.guarantees.evidence import is_moved, refuse_whole_ties, require_guarantee
from fastbin.model import OF_PAIRS, BinnedModel
from fastbin.model_set import as_model

if TYPE_CHECKING:
    from typing_extensions import Self

    from fastbin.guarantees import Certificate


def venn_pairs(model: BinnedModel | Calibrator) -> Float64s:
    """The Venn pair (p0, p1) of each bin: its share of label 1 once a sample with label 0, or 1, has joined it.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
        A Venn-Abers predictor, which carries its pairs. Else its bins must have been fixed without looking at labels, and its
        tally must hold exactly the samples that are exchangeable with one that falls in the bin: fixed edges, "ums", and
        "umd", whose tally leaves boundary samples out.

    Returns
    -------
    ndarray of float64, shape (n_bins, 2)
        (k / (N + 1), (k + 1) / (N + 1)) for k ones among N samples; (0, 1) for a bin without samples. In a model of two
        resolutions they are those of its evidence bins: a fitted value inside a bin may lie outside its pair.

    Raises
    ------
    GuaranteeError
        For models whose pairs would not be valid: isotonic and smooth ones, "ze" and "umb", which average a boundary label,
        real weights, whole groups of equal scores at edges (unless "ums" or keys placed them), values moved to other class
        rates.

    Notes
    -----
    One of the two is calibrated: E[Y | p_Y] = p_Y for a new sample with label Y (Gupta, Podkopaev & Ramdas 2020, Appendix
    E, after Vovk, Shafer & Nouretdinov 2003). Nobody knows which. p1 - p0 = 1 / (N + 1) is far narrower than any interval
    that holds the true frequency (`BinnedModel.interval`), so the pair cannot replace such an interval. O(n_bins).

    Examples
    --------
    >>> import fastbin as fb
    >>> model = fb.FixedWidthBinning(n_bins=2).fit([0.1, 0.2, 0.3, 0.9], [0, 0, 1, 1]).model_
    >>> venn_pairs(model)
    array([[0.25, 0.5 ],
           [0.5 , 1.  ]])
    """
    model = as_model(model)
    if is_moved(model):
        raise GuaranteeError(
            "the values were moved to other class rates, and a Venn pair is about those of the fit; take the model before"
        )
    if model.pairs is not None:
        return np.array(model.pairs)
    if model.scheme == "isotonic":
        raise GuaranteeError(
            "the blocks of isotonic regression look at labels, so adding a sample may move them and its bin's pair is not "
            "valid (Gupta, Podkopaev & Ramdas 2020, Appendix E, needs a fixed taxonomy); fit VennAbers, the isotonic Venn "
            "predictor"
        )
    require_guarantee(model)
    if SCHEMES[model.scheme].averages_boundary:
        raise GuaranteeError(
            f"scheme {model.scheme!r} averages the label of a boundary sample, which is not exchangeable with a new sample "
            "of the bin (Gupta, Podkopaev & Ramdas 2020, Appendix E; Gupta & Ramdas 2021, Lemma 2); fit with scheme='umd'"
        )
    refuse_whole_ties(model, "a Venn pair")
    joined = model.counts + 1.0
    return np.stack([model.label_sums / joined, (model.label_sums + 1.0) / joined], axis=1)


def predict_venn(
    model: BinnedModel | Calibrator, scores: Any, *, tie_keys: Any = None, seed: int | None = None, nan: str = "error"
) -> Float64s:
    """Venn pairs of a binned model: float64 (n, 2), (p0, p1) for each score.

    Parameters
    ----------
    model : BinnedModel or fitted calibrator
        See `venn_pairs`, which gives the pairs, their validity, and the errors.
    scores, tie_keys, seed, nan
        As in `BinnedModel.predict`.

    Returns
    -------
    float64 (n, 2)

    Examples
    --------
    >>> import fastbin as fb
    >>> model = fb.FixedWidthBinning(n_bins=2).fit([0.1, 0.2, 0.3, 0.9], [0, 0, 1, 1]).model_
    >>> predict_venn(model, [0.4])
    array([[0.25, 0.5 ]])
    """
    model = as_model(model)
    return model.lookup(scores, venn_pairs(model), tie_keys=tie_keys, seed=seed, nan=nan)


def merge_venn(pairs: Any) -> Float64s:
    """One probability for each pair: p1 / (1 - p0 + p1), the minimax choice under log loss (Vovk & Petej 2014).

    Parameters
    ----------
    pairs : array-like of float, shape (n, 2)
        As `predict_venn` gives them.

    Returns
    -------
    ndarray of float64, shape (n,)
        Between p0 and p1; NaN where one of them is. The point has no validity of its own.

    Raises
    ------
    InputError, InputTypeError
        For another shape, a value outside [0, 1], or a p0 above its p1.

    Examples
    --------
    >>> merge_venn([[0.0, 0.5], [0.25, 0.5]])
    array([0.33333333, 0.4       ])
    """
    remedy = "pass (p0, p1) of each row, as predict_venn gives them"
    try:
        given = np.asarray(pairs, np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"is not an array of numbers: {error}", remedy, argument="pairs") from error
    if given.ndim != 2 or given.shape[1] != 2:
        raise InputError(f"has shape {given.shape}, and not (n, 2)", remedy, argument="pairs")
    refuse_first((given < 0.0) | (given > 1.0), "pairs", given, "it must be in [0, 1]")
    p0, p1 = given.T
    refuse_first(p0 > p1, "pairs", p0, remedy, lambda i: f"has p0 {float(p0[i])!r} above p1 {float(p1[i])!r}")
    return _merged(given)


def _merged(pairs: Float64s) -> Float64s:
    p0, p1 = pairs.T
    return np.asarray(p1 / (1.0 - p0 + p1))


@shared_docs(PARAMETERS)
class VennAbers(Binning):
    """The inductive Venn-Abers predictor: isotonic regression with the test sample joined, once with each label.

    Parameters
    ----------
    {score_range}
    {out_of_range}

    Attributes
    ----------
    model_ : BinnedModel
        The merged probability p1 / (1 - p0 + p1) as a step function, which can be saved and scored like any other.
    pairs_ : ndarray of float64, shape (n_bins, 2)
        (p0, p1) of each of its bins: ``model_.pairs``, which its file carries, so that `fastbin.predict_venn` gives the same
        of a model that was loaded.

    Notes
    -----
    One of the two probabilities is calibrated: E[Y | p_Y] = p_Y for a new sample exchangeable with those of the fit (Vovk &
    Petej 2014, Theorem 1). Nobody knows which, and the merged probability has no guarantee, nor a certificate.
    Real weights are refused, as weighted samples are not exchangeable; integers are frequencies.

    As functions of the score, p0 and p1 are constant between the scores of the fit, so all their values are computed at the
    fit: time O(n log n) for the sort and O(n) for the rest (one walk along the cumulative sum diagram for each label),
    memory O(n). Comparisons are exact and each value is one correctly rounded division.

    References
    ----------
    .. [1] V. Vovk and I. Petej, "Venn-Abers predictors", UAI 2014.
    .. [2] V. Vovk, I. Petej and V. Fedorova, "Large-scale probabilistic predictors with and without guarantees of validity",
       NeurIPS 2015.

    Examples
    --------
    >>> import fastbin as fb
    >>> cal = fb.VennAbers().fit([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1])
    >>> cal.predict_venn([0.15, 0.35])
    array([[0. , 0.5],
           [0.5, 1. ]])
    >>> cal.predict([0.15, 0.35]).round(4)
    array([0.3333, 0.6667])
    """

    _looks_at = "it pools single scores"
    _never_falls = True

    def _fit_source(self, source: Source) -> Self:
        rows = self._rows_of(source)
        if rows.weights is not None:
            raise InputError(
                "sample_weight is real, and the validity of Venn-Abers rests on samples that are exchangeable; "
                "give frequencies as integers, or use IsotonicCalibration"
            )
        knots = count_scores(rows)
        edges, edge_keys, pairs = _steps(knots, *_knot_pairs(knots), rows)
        model = BinnedModel.from_parts(
            edges=edges, edge_keys=edge_keys, values=_merged(pairs), score_range=rows.score_range,
            n_samples=int(knots.counts.sum()), n_positive=int(knots.label_sums.sum()), pairs=pairs,
            out_of_range=self.out_of_range,
        )  # fmt: skip
        self._keep(model, rows.event)
        self._warn_of_rows(knots.counts, knots.label_sums, are_hard_labels(rows.scores), 3)
        return self

    @property
    def pairs_(self) -> Float64s:
        """(p0, p1) of each bin."""
        pairs = self.model_.pairs
        assert pairs is not None
        return pairs

    def predict_venn(self, scores: Any, *, nan: str = "error") -> Float64s:
        """(p0, p1) for each score, float64 (n, 2), with p0 <= p1; arguments as in `predict`. O(log n) a score at most."""
        return predict_venn(self.model_, scores, nan=nan)

    def certificate(
        self, alpha: float = 0.1, kind: str = "conditional", bound: str | None = None, *, about: str = "population",
        of: Any = None, unlabelled: Any = None, side: str = "both",
    ) -> Certificate:  # fmt: skip
        """Raises GuaranteeError: the pair is valid, its merged probability is not certified."""
        self._refuse_guarantee()

    def predict_interval(self, scores: Any, **options: Any) -> Float64s:
        """Raises GuaranteeError: (p0, p1) need not hold the true frequency."""
        self._refuse_guarantee()

    def predict_set(self, scores: Any, **options: Any) -> Bools:
        """Raises GuaranteeError: the sets of bins need bins that were fixed before the labels were seen."""
        self._refuse_guarantee()

    def _refuse_guarantee(self) -> NoReturn:
        raise GuaranteeError(OF_PAIRS)


def _knot_pairs(knots: DistinctScores) -> tuple[Float64s, Float64s]:
    """p0 and p1 of a sample whose score is that of each knot."""
    n_knots = len(knots.scores)

    def slopes(counts: Int64s, label_sums: Int64s) -> Int64s:
        ratio = np.empty((2, n_knots), np.int64)
        points = (np.concatenate(([0], np.cumsum(column))) for column in (counts, label_sums))
        venn_abers_slopes(*points, *ratio)
        return ratio

    ones, joined = slopes(knots.counts, knots.label_sums)
    # A label 0 at a score is a label 1 where scores are mirrored and labels exchanged.
    zeros, joined_zeros = slopes(knots.counts[::-1], (knots.counts - knots.label_sums)[::-1])[:, ::-1]
    return (joined_zeros - zeros) / joined_zeros, ones / joined


def _steps(knots: DistinctScores, p0: Float64s, p1: Float64s, rows: Rows) -> tuple[Float64s, UInt64s, Float64s]:
    """Edges, edge keys and pairs of the step function: below, at and between knots, runs of equal pairs taken together.

    A sample with label 1 is pooled with the next knot at or above its score, one with label 0 with the next at or below.
    """
    pairs = np.stack([np.concatenate(([0.0], np.repeat(p0, 2))), np.concatenate((np.repeat(p1, 2), [1.0]))], axis=1)
    edges = np.repeat(knots.scores, 2)
    keys = np.tile(np.array([KEY_ABOVE, KEY_BELOW], np.uint64), len(knots.scores))
    low, high = rows.limits
    if edges[0] == low:
        edges, keys, pairs = edges[1:], keys[1:], pairs[1:]
    if edges[-1] == high:
        edges, keys, pairs = edges[:-1], keys[:-1], pairs[:-1]
    changes = (pairs[1:] != pairs[:-1]).any(axis=1)
    return edges[changes], keys[changes], pairs[np.concatenate(([True], changes))]
