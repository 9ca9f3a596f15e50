"""Uniform-mass binning: bins that hold equal shares of the calibration samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastbin._calibrator import Calibrator
from fastbin._fit.boundaries import cut_rows
from fastbin._fit.exact_sums import tally_weights
from fastbin._fit.order import FitOrder, fit_split, weigh_rows
from fastbin._fit.recipe import Recipe
from fastbin._fit.rows import check_rows, check_tie_keys
from fastbin._scalars import check_count
from fastbin._validation import compare_labels
from fastbin.binning.venn import predict_venn

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["UniformMassBinning"]


class UniformMassBinning(Calibrator):
    """Uniform-mass (histogram) binning with a distribution-free, finite-sample guarantee.

    Parameters
    ----------
    n_bins : int or "auto"
        "auto" takes the largest number of bins whose exact radius stays within a fixed target, which is decided by the number
        of samples alone and so costs no guarantee; see `fastbin.guarantees.auto_n_bins`.
    scheme : {"umd", "ze", "ums", "umb"}
        "umd": boundaries and means from the same samples, boundary labels left out of the means (Gupta & Ramdas 2021,
        Algorithm 1). "ze": boundary labels averaged in the bin below (ibid., Corollary 1; Zadrozny & Elkan 2001). "ums":
        boundaries from one random part of the samples, means from the other (Gupta, Podkopaev & Ramdas 2020, section 4.2;
        their closed bins overlap, here a boundary belongs to the bin above). "umb": boundaries at rank floor(b n / B), bins
        closed on the right, all samples averaged (Sun, Song & Hero 2023, Definition 6).
    ties : {"random", "upper", "lower", "isolate"}
        "random": equal scores are ordered by keys, exactly, at fit and at prediction. "upper" ("lower" for "umb"): a score
        equal to an edge goes to the bin above (below); with tied boundaries this leaves fewer bins and, but for "ums", no
        certificate. "isolate" ("umd" alone): a score that holds two or more boundaries becomes a bin of its own and needs no
        key; one that holds exactly one boundary is still divided by key. The guarantee is kept. For one answer per score
        and a certificate, take "ums" with "upper": its boundaries come from other samples than its means, so that ties may
        go where a rule sends them.
    delta : float in [0, 1)
        Size of the value randomisation of Gupta & Ramdas 2021, Algorithm 2: predictions become (value + delta V) / (1 + delta)
        with V uniform. 0 for none; the paper's 1e-20 does nothing in double precision and is refused.
    split : float in (0, 1)
        "ums" alone: the share of the samples that places the boundaries.
    seed : int or None
        Of the keys, and of the split of "ums". ``None`` draws one afresh; it is kept in the model.
    score_range : (low, high) or None
        Where scores must lie; ``None`` takes any finite score, such as margins or logits.
    monotone : bool
        Whether to change the values as little as possible, in the worst bin, so that they do not fall from one bin to the
        next. The exact certificate is about the changed values; where the true frequencies do not rise, it grows and says so.
    out_of_range : {"refuse", "clip"}
        What a finite score outside `score_range` does when it is scored: an error, or the value of the end of the range next
        to it. It is part of the model. In a fit such scores are refused in any case.

    Attributes
    ----------
    model_ : BinnedModel

    Notes
    -----
    Values need not rise with the score: where neighbouring bins have nearly the same frequency, noise decides. ``model_.falls``
    names the bins after which the value falls (of 10 bins about one on real score sets, of 20 about five); ``monotone=True``
    removes the falls at the least cost to the certificate, and keeps the order of the samples.

    A model is a function of the multiset of rows and the seed: row order, chunks and threads do not matter. Keys are seeded by
    a digest of the seed and of the tied groups that hold a boundary ("ums": of all rows, importance weights included), so that
    one fixed seed serves for every sample; with one to three distinct scores there are too few such digests, and the promise is
    one over samples and seeds (docs/guarantees.md). Time O(n) for n rows ("ums": O(n log n)), extra memory a small fraction of
    the data.

    References
    ----------
    .. [1] C. Gupta and A. Ramdas, "Distribution-free calibration guarantees for histogram binning without sample splitting",
       ICML 2021.
    .. [2] C. Gupta, A. Podkopaev and A. Ramdas, "Distribution-free binary classification: prediction sets, confidence
       intervals and calibration", NeurIPS 2020.
    .. [3] Z. Sun, D. Song and A. Hero, "Minimum-risk recalibration of classifiers", NeurIPS 2023.

    Examples
    --------
    >>> import fastbin as fb
    >>> scores = [0.05, 0.12, 0.2, 0.33, 0.41, 0.58, 0.66, 0.74, 0.89, 0.97]
    >>> labels = [0, 0, 1, 0, 1, 0, 1, 1, 1, 1]
    >>> cal = fb.UniformMassBinning(n_bins=3).fit(scores, labels)
    >>> cal.model_.edges, cal.model_.counts
    (array([0.33, 0.74]), array([3, 3, 2]))
    >>> cal.predict([0.1, 0.5, 1.0]).round(4)
    array([0.3333, 0.6667, 1.    ])
    """

    def __init__(
        self,
        n_bins: int | str = 10,
        *,
        scheme: str = "umd",
        ties: str = "random",
        delta: float = 0.0,
        split: float = 0.5,
        seed: int | None = 0,
        score_range: tuple[float, float] | None = (0.0, 1.0),
        monotone: bool = False,
        out_of_range: str = "refuse",
    ) -> None:
        self.n_bins = n_bins
        self.scheme = scheme
        self.ties = ties
        self.delta = delta
        self.split = split
        self.seed = seed
        self.score_range = score_range
        self.monotone = monotone
        self.out_of_range = out_of_range

    def fit(
        self,
        scores: Any,
        labels: Any,
        sample_weight: Any = None,
        tie_keys: Any = None,
        n_threads: int = 1,
        *,
        positive: Any = None,
    ) -> Self:
        """Fit to calibration samples that the classifier was not trained on.

        Parameters
        ----------
        scores : array-like of shape (n,)
            float32 and float64 are read without a copy. NaN, infinity and scores outside `score_range` are refused.
        labels : array-like of shape (n,)
            bool, or numbers that equal 0 or 1.
        sample_weight : array-like of shape (n,), optional
            Integers are frequencies: the same as repeating the row. Floats are importance weights: boundaries ignore them,
            values are weighted means, and only bounds made for weights apply.
        tie_keys : array-like of shape (n,), optional
            Keys to order equal scores by, in place of the model's own: unsigned integers or floats in [0, 1), different within
            a score, independent of the labels.
        n_threads : int
            Python threads over chunks of the rows. Does not change the model.
        positive : optional
            The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".

        Returns
        -------
        self

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value, and the remedy; also for fewer samples than the scheme
            needs (2 n_bins - 1 for "umd" and "ze").
        """
        recipe = Recipe.check(**self.get_params())
        labels = compare_labels(labels, positive)
        rows, weights = check_rows(scores, labels, sample_weight, recipe.score_range)
        order = FitOrder(recipe.seed, weights, check_tie_keys(tie_keys, rows))
        n_bins = recipe.n_bins_for(rows.expanded_size())
        n_threads = check_count(n_threads, "n_threads")
        if recipe.scheme == "ums":
            partition, cuts, bins = fit_split(rows, n_bins, recipe.ties, recipe.split, order)
        else:
            cuts = cut_rows(rows, n_bins, recipe.scheme, order, n_threads)
            partition = recipe.divide(cuts, rows.limits)
            bins = None
        weighted = None
        if weights is not None and bins is not None:
            weighted = tally_weights(bins, rows.labels, weights, len(partition.counts))
        elif weights is not None:
            weighted = weigh_rows([(rows, order)], partition, cuts, recipe.scheme, recipe.ties)
        self.model_ = recipe.model(partition, cuts, n_bins, weighted)
        return self

    def predict_venn(self, scores: Any, *, keys: Any = None, seed: int | None = None) -> npt.NDArray[np.float64]:
        """float64 (n, 2): the Venn pair (p0, p1) of each score; see `fastbin.predict_venn`."""
        return predict_venn(self.model_, scores, keys=keys, seed=seed)
