"""Several classes at once: a map of whole rows, whose values sum to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.cells import check_matrix, refuse_other_order
from fastbin._base.checks import check_count, check_flag, check_sample_weight
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, warn
from fastbin._base.frames import columns_of, like
from fastbin._fit.calibrator import Estimator, asks_model
from fastbin._fit.edges import FEWER_BINS
from fastbin._model.provenance import of_estimator
from fastbin.model import BinnedModel
from fastbin.multi.cells import binary_method, warnings_of
from fastbin.multi.classes import ClassBinning, TopLabelBinning, fit_each, top_of
from fastbin.scaling.vectors import fit_vector
from fastbin.vector_model import VectorModel

if TYPE_CHECKING:
    from typing_extensions import Self

# Bins of evidence with n rows: as many as keep an exact interval of a bin near .05 at 5,000 rows.
MOST_BINS, BINS_AT_1000 = 10, 2.3
# One in so many rows without labels chooses the edges; the others say what is served.
EDGES_BY_EVERY = 5
FEW_EDGES = 32


@shared_docs(TopLabelBinning.__doc__)
@dataclass(eq=False, repr=False)
class VectorCalibration(Estimator[VectorModel]):
    """Calibrated probabilities of all classes, in rows that sum to 1, by one map of the whole row.

    A softmax of one affine map of the logarithms of a row: temperature scaling, three quarters, mixed with each class against
    the rest by the binary calibrator, and corrected by a matrix (for more than 50 classes a diagonal one) under a ridge.
    The least probability that is told from smaller ones is chosen with the temperature. Each class then gets a trace of its
    share of the rows of the fit, so that none has probability 0.

    Parameters
    ----------
    keep_top : bool
        Whether the largest entry of a row stays the largest, so that decisions do not change.
    calibrator : calibrator, optional
        What each class against the rest gets a copy of: a binary calibrator of the library without random keys.
        ``None``: ``CertifiedCalibration()``.
    n_bins : int or "auto"
        The bins of evidence of each class and of the top label, by their raw scores. "auto": two to ten, by the number of rows.
    {classes}
    {inputs}

    Attributes
    ----------
    model_ : VectorModel

    See Also
    --------
    TopLabelBinning : the probability of the predicted class alone, for each predicted class by itself.
    ClassWiseBinning : one binary calibrator for each class, whose values need not sum to 1.

    Notes
    -----
    `certificate` is about averages of what is served in bins of the raw scores, whose edges never look at a label, so that it
    holds for any map.

    Fits are the same for any order of rows with labels and of classes, but for rounding. O(n k) for each of some fifty passes;
    with a matrix, for at most 50 classes, O(n k**2).

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On Calibration of Modern Neural Networks", ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> P = rng.dirichlet([1, 1, 1], 2000)
    >>> y = np.array([rng.choice(3, p=(row + 1) / 4) for row in P])
    >>> cal = fb.multi.VectorCalibration().fit(P, y)
    >>> cal.predict([[0.1, 0.7, 0.2], [0.0, 0.5, 0.5]]).round(2)
    array([[0.3 , 0.38, 0.32],
           [0.25, 0.35, 0.41]])
    """

    keep_top: bool = False
    calibrator: Any = None
    n_bins: int | str = "auto"
    classes: Any = None
    inputs: str = "probabilities"

    _fit_call: ClassVar[str] = "fit(P, labels)"

    certificate = asks_model(VectorModel.certificate)

    @property
    def classes_(self) -> Array:
        """The classes, in the order of the columns."""
        return np.array(self.model_.classes)

    @shared_docs(TopLabelBinning.fit.__doc__)
    def fit(self, P: Any, labels: Any, sample_weight: Any = None, *, unlabelled: Any = None) -> Self:
        """Fit to samples that the classifier was not trained on.

        Parameters
        ----------
        {P}
        {labels}
        sample_weight : array-like of shape (n,), optional
            Integers are frequencies, floats importance weights; after a fit with floats nothing is certified.
        unlabelled : array-like of shape (m, k), optional
            Rows of the same population, without labels, for a certificate about the population: every fifth chooses the edges
            of the bins, and the others say what is served in them.

        {Returns}

        {Raises}

        {Warns}
        """
        method = binary_method(self.calibrator, of_classes=True)
        matrix, classes, truth = ClassBinning._check(self, P, labels, sample_weight)  # type: ignore[arg-type]
        other = None if unlabelled is None else check_matrix(unlabelled, self.inputs, len(classes), name="unlabelled")
        if other is not None and not len(other):
            raise InputError("is empty", "leave it out, or give rows without labels", argument="unlabelled")
        weights = check_sample_weight(sample_weight)
        models, told = fit_each(method, matrix, classes, truth, sample_weight)
        refuse_keys(models)
        columns = np.ascontiguousarray(matrix.T)
        of_each = [model.predict(scores) for model, scores in zip(models.values(), columns, strict=True)]
        of_models = np.ascontiguousarray(np.stack(of_each).T)
        fitted = fit_vector(matrix, truth, weights, of_models, keep_top=check_flag(self.keep_top, "keep_top"))
        provenance = of_estimator(self, calibrator=method.calibrator)
        plain = VectorModel._of(models, fitted)
        evidence = self._evidence(plain, matrix, truth, weights, other)
        self.model_ = VectorModel._of(models, fitted._replace(**evidence), provenance=provenance)
        # Ties cost bins of the models, and not those of the certificate.
        for text in warnings_of([each for each in told if not each[1].startswith(FEWER_BINS)], len(models)):
            warn(text, stacklevel=2)
        return self

    def predict(self, P: Any) -> Any:
        """The calibrated vector of each row.

        Parameters
        ----------
        P : array-like of shape (n, k)
            Probabilities, or logits (see `inputs`), a column for each class.

        Returns
        -------
        float64 (n, k)
            Rows sum to 1, but for rounding; no entry is 0. A data frame or an Arrow table gives one with the same
            columns.
        """
        classes = self.model_.classes
        refuse_other_order(P, list(classes))
        return like(P, self.model_._vectors(check_matrix(P, self.inputs, len(classes))), columns_of(P))

    # ------------------------------------------------------------------ evidence

    def _evidence(
        self, model: VectorModel, matrix: Float64s, truth: Int64s, weights: Array | None, other: Float64s | None
    ) -> dict[str, Any]:
        """The arrays of the evidence of a `VectorMap`; none after a fit with importance weights."""
        if weights is not None and weights.dtype.kind == "f":
            return {}
        counted = ServedRows.of(matrix, model, weights)
        n_bins = self._n_bins(counted.n)
        by = counted if other is None else ServedRows.of(other[::EDGES_BY_EVERY], model, None)
        edges = edges_of(by, n_bins)
        counts = labels_in(edges, counted, truth)
        means = np.zeros((len(edges), n_bins))
        for group, scores in enumerate(counted.scores):
            at = bins_of(edges[group], scores)
            served = np.bincount(at, counted.weights * counted.served[group], minlength=n_bins)
            means[group] = np.minimum(served / np.maximum(counts[group, :, 0], 1), 1.0)
        unlabelled = None
        if other is not None:
            rest = np.arange(len(other)) % EDGES_BY_EVERY != 0
            unlabelled = served_in(edges, ServedRows.of(other[rest], model, None))
        return {"edges": edges, "counts": counts, "means": means, "unlabelled": unlabelled}

    def _n_bins(self, n: int) -> int:
        if isinstance(self.n_bins, str) and self.n_bins == "auto":
            return min(MOST_BINS, max(2, int(BINS_AT_1000 * math.sqrt(n / 1000.0))))
        return check_count(self.n_bins, "n_bins")


def refuse_keys(models: dict[Any, BinnedModel]) -> None:
    """Refuses values that depend on a random key: a vector would no longer be a function of its row."""
    for key, model in models.items():
        if model.delta > 0.0 or np.any(model.edge_keys):
            raise InputError(
                f"compares a key for each row of class {key!r}",
                "take one without keys (ties='whole' and delta=0, no Venn predictor), or TopLabelBinning or ClassWiseBinning",
                argument="calibrator",
            )  # fmt: skip


class ServedRows(NamedTuple):
    """Rows with what they are served, for each group of bins: the classes, and last the top label."""

    scores: list[Array]  # of each group
    served: list[Array]
    top: Int64s
    weights: Float64s
    n: int

    @classmethod
    def of(cls, matrix: Float64s, model: VectorModel, weights: Array | None) -> ServedRows:
        top, largest = top_of(matrix)
        values = model._vectors(matrix)
        of_top = values[np.arange(len(top)), top]
        counts = np.ones(len(top)) if weights is None else weights.astype(np.float64)
        scores, served = np.ascontiguousarray(matrix.T), np.ascontiguousarray(values.T)  # columns are read several times
        return cls([*scores, largest], [*served, of_top], top, counts, int(counts.sum()))


def labels_in(edges: Float64s, rows: ServedRows, truth: Int64s) -> Int64s:
    """int64 (groups, bins, 2): the rows of each bin, and those with the label; `truth` is the column of each row's class."""
    n_bins = edges.shape[1] + 1
    found = np.zeros((len(edges), n_bins, 2), np.int64)
    for group, scores in enumerate(rows.scores):
        is_true = truth == (rows.top if group == len(edges) - 1 else group)
        at = bins_of(edges[group], scores)
        found[group] = np.stack([np.bincount(at, each, minlength=n_bins) for each in (rows.weights, rows.weights * is_true)], 1)
    return found


def edges_of(rows: ServedRows, n_bins: int) -> Float64s:
    """float64 (groups, n_bins - 1): the lower edges of all bins but the first, between equal numbers of rows."""
    shares = np.arange(1, n_bins) / n_bins
    found = np.empty((len(rows.scores), n_bins - 1))
    is_plain = bool((rows.weights == 1.0).all())
    below = np.arange(1.0, rows.n + 1)
    for edges, scores in zip(found, rows.scores, strict=True):
        order = None if is_plain else np.argsort(scores, kind="stable")  # several times the cost of a sort
        ascending = np.sort(scores) if order is None else scores[order]
        if order is not None:
            below = np.cumsum(rows.weights[order])
        places = np.searchsorted(below, shares * below[-1], "right")
        edges[:] = ascending[np.minimum(places, len(ascending) - 1)]
    return found


def bins_of(edges: Float64s, scores: Array) -> Array:
    """The bin of each score: how many edges are not above it."""
    if len(edges) > FEW_EDGES:
        return np.searchsorted(edges, scores, "right")
    at = np.zeros(len(scores), np.uint8)
    for edge in edges:
        at += scores >= edge  # a search by rows is several times slower
    return at.astype(np.intp)


def served_in(edges: Float64s, rows: ServedRows) -> Float64s:
    """float64 (groups, bins, 3): the rows in each bin, what they are served on average, and the variance of that."""
    n_bins = edges.shape[1] + 1
    found = np.zeros((len(edges), n_bins, 3))
    for group, (scores, served) in enumerate(zip(rows.scores, rows.served, strict=True)):
        at = bins_of(edges[group], scores)
        n = np.bincount(at, minlength=n_bins).astype(np.float64)
        means = np.bincount(at, served, minlength=n_bins) / np.maximum(n, 1.0)
        squares = np.bincount(at, (served - means[at]) ** 2, minlength=n_bins)
        found[group] = np.stack([n, np.minimum(means, 1.0), squares / np.maximum(n - 1.0, 1.0)], axis=1)
    return found
