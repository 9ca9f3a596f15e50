"""Classes: how often the predicted class is the true one, for each predicted class by itself; and each against the rest."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s
from fastbin._base.cells import (
    Key,
    check_classes,
    check_matrix,
    default_classes,
    divided_by_sums,
    find_columns,
    refuse_other_order,
    require_classes,
)
from fastbin._base.checks import (
    MOST_EVENT_BYTES,
    check_choice,
    check_flag,
    check_same_length,
    check_sample_weight,
    check_scores,
)
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import GuaranteeError, InputError, warn
from fastbin._base.frames import check_same_index, columns_of, like
from fastbin._base.signatures import alpha_by_name
from fastbin._base.suspicions import LEVEL
from fastbin._fit.calibrator import Estimator, asks_model
from fastbin._fit.segments import CellRows, code_cells
from fastbin._model.parts import NAMES_OF_ENDS, At
from fastbin.model import BinnedModel, IntervalBound
from fastbin.model_set import ModelSet
from fastbin.multi.cells import (
    BinaryMethod,
    CellKind,
    Given,
    Told,
    binary_method,
    check_values,
    count_samples,
    fit_named,
    fit_set,
    provenance_of,
    warnings_of,
)
from fastbin.multi.segmented import THIN, SegmentedBinning

if TYPE_CHECKING:
    from typing_extensions import Self

    from fastbin.guarantees import Certificate, SetCertificate


@dataclass(eq=False, repr=False)
class ClassBinning(Estimator[ModelSet]):
    """A calibrator of matrices with a column for each class."""

    points_per_bin: int = 50
    n_bins: int | str | None = None
    calibrator: Any = None
    classes: Any = None
    inputs: str = "probabilities"

    _fit_call: ClassVar[str] = "fit(P, labels)"

    @property
    def classes_(self) -> Array:
        """The classes, in the order of the columns."""
        return np.array(self.model_.columns)

    certificate = asks_model(ModelSet.certificate)
    certificates = ModelSet.certificates

    def _check(self, P: Any, labels: Any, sample_weight: Any) -> tuple[Float64s, list[Key], Int64s]:
        """The matrix, the classes, and the column of each label."""
        check_same_index(P=P, labels=labels, sample_weight=sample_weight)
        matrix = check_matrix(P, self.inputs)
        n_columns = matrix.shape[1]
        classes = default_classes(labels, n_columns) if self.classes is None else check_classes(self.classes, n_columns)
        refuse_other_order(P, classes)
        truth = find_columns(labels, classes, "labels")
        check_same_length(P=matrix, labels=truth)
        return matrix, classes, truth

    def _check_scored(self, P: Any, keys: Any) -> Float64s:
        """The matrix of rows to be scored."""
        check_same_index(P=P, tie_keys=keys)
        classes = self.classes_
        refuse_other_order(P, classes.tolist())
        return check_matrix(P, self.inputs, len(classes))


@shared_docs(SegmentedBinning.__doc__)
@dataclass(eq=False, repr=False)
class TopLabelBinning(ClassBinning):
    """Calibrated probabilities that the predicted class is the true one, given which class is predicted.

    Each class has a binary calibrator of its own, fitted to the samples for which it is predicted: their scores are the largest
    probabilities, and their labels whether the prediction is right (Gupta & Ramdas 2022, Algorithm 2).

    Parameters
    ----------
    points_per_bin : int
        A class that is predicted n times gets n // points_per_bin uniform-mass bins, at least one; with ``per_class="auto"`` at
        most so many.
    n_bins : int or "auto", optional
        In place of it: the bins of each class; with ``per_class="auto"`` at most.
    calibrator : calibrator, optional
        In place of both: what each class gets a copy of; any binary calibrator of the library.
    classes : array-like of shape (k,), optional
        The class of each column, integers or texts; 0 to k - 1 by default, where labels are such numbers.
    inputs : {"probabilities", "logits"}
        The entries of matrices. Rows of probabilities sum to 1, within 1e-6 (float32: 1e-4). Logits become probabilities by a
        softmax in float64.
    thin : {"pool", "refuse"}
        What becomes of classes that are predicted fewer than `min_points` times, or never. "pool": one model for all of them.
        "refuse": an error that names the first.
    min_points : int
        How often a class must be predicted to have a model of its own; with ``per_class="auto"`` at least.
    per_class : bool or "auto"
        Whether classes have models of their own. "auto": with fewer bins, and only classes that are predicted so often that all
        bins of all models together have an epsilon of about 0.15 or less at alpha = 0.1 (from some 300 rows on; see Notes).
        ``True``: all classes that are predicted `min_points` times, with all bins that were asked for. ``False`` is confidence
        calibration: one model for all predictions, whose promise says nothing about one class.

    Attributes
    ----------
    model_ : ModelSet
        Of kind "top-label"; its keys are the classes. ``model_.pooled_cells`` names those that are pooled, and
        ``model_.provenance`` has the `min_points` that decided.

    See Also
    --------
    ClassWiseBinning : a probability for each class.

    Notes
    -----
    The predicted class is the one of the largest probability, of equal ones that in the lowest column. Given the scores and the
    predicted classes, the bins of all classes are independent, so they share one alpha exactly.

    With ``per_class="auto"`` the number n of rows says how many samples a bin must have: n / ``choose_n_bins(n, 0.1, 0.145)``
    of `UniformMassBinning`, and n / ``choose_n_bins(n, 0.1, 0.07)`` of `CertifiedCalibration`, whose certificate also has to
    know the average of what a bin serves. A class has a model of its own if it has 2 or 1.5 times as many, and so has the pool:
    where it would have fewer, though some, the class that is predicted least among the others joins it. No label has a part in
    this, nor has the order of rows, so the certificate keeps its alpha; epsilon is what it says, and can be above 0.15 where
    many scores are equal. For any other calibrator (also scheme "ums"), and with ``thin="refuse"``, "auto" is ``True``.

    References
    ----------
    .. [1] C. Gupta and A. Ramdas, "Top-label calibration and multiclass-to-binary reductions", ICLR 2022.

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> P = rng.dirichlet([1, 1, 1], 2000)
    >>> y = np.array([rng.choice(3, p=(row + 1) / 4) for row in P])
    >>> cal = fb.multi.TopLabelBinning(n_bins=5).fit(P, y)
    >>> classes, probabilities = cal.predict([[0.1, 0.7, 0.2], [0.4, 0.3, 0.3]])
    >>> classes, probabilities.round(2)
    (array([1, 0]), array([0.33, 0.38]))
    """

    thin: str = "pool"
    min_points: int = 50
    _: KW_ONLY
    per_class: bool | str = "auto"

    def fit(self, P: Any, labels: Any, sample_weight: Any = None) -> Self:
        """Fit to samples that the classifier was not trained on.

        Parameters
        ----------
        P : array-like of shape (n, k)
            A column for each class; probabilities, or logits (see `inputs`).
        labels : array-like of shape (n,)
            The true classes.
        sample_weight : array-like of shape (n,), optional
            Integers are frequencies, floats importance weights, as for the binary calibrators.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value, and the remedy: for rows that do not sum to 1, NaN, labels
            outside the classes, ...

        Warns
        -----
        FastbinWarning
            Where fits of classes warn, once for all.
        """
        matrix, classes, truth = self._check(P, labels, sample_weight)
        predicted, scores = top_of(matrix)
        return self._fit(scores, predicted, predicted == truth, sample_weight, classes)

    def fit_top(self, scores: Any, predicted: Any, labels: Any, sample_weight: Any = None) -> Self:
        """Fit where only the largest probabilities are known.

        Parameters
        ----------
        scores : array-like of shape (n,)
            The probability of the predicted class.
        predicted, labels : array-like of shape (n,)
            The predicted and the true classes. Without `classes`, the classes are those that occur in either, ascending.
        sample_weight : array-like of shape (n,), optional
            As for `fit`.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value, and the remedy.
        """
        check_same_index(scores=scores, predicted=predicted, labels=labels, sample_weight=sample_weight)
        if self.classes is None:
            require_classes(predicted, "predicted")
            require_classes(labels, "labels")
            seen = [code_cells(predicted, "predicted")[0], code_cells(labels, "labels")[0]]
            classes = check_classes(sorted({*seen[0], *seen[1]}, key=lambda key: (isinstance(key, str), key)))
        else:
            classes = check_classes(self.classes)
        columns, truth = find_columns(predicted, classes, "predicted"), find_columns(labels, classes, "labels")
        tops = check_scores(scores)
        check_same_length(scores=tops, predicted=columns, labels=truth)
        return self._fit(tops, columns, columns == truth, sample_weight, classes)

    def _fit(self, scores: Array, predicted: Int64s, is_right: Array, sample_weight: Any, classes: list[Key]) -> Self:
        """The models of predicted columns; `fit` and `fit_top` differ in where these come from."""
        method = binary_method(
            self.calibrator,
            n_bins=self.n_bins,
            points_per_bin=self.points_per_bin,
            min_points=self.min_points,
            of_classes=True,
        )
        per_class, least_pool = _check_per_class(self.per_class), 1
        policy = check_choice(self.thin, "thin", THIN) if per_class else "pool"
        if per_class == "auto":
            if policy == "pool":
                weights = check_sample_weight(sample_weight)
                frequencies = None if weights is None or weights.dtype.kind == "f" else weights
                method, least_pool = method.within_epsilon(len(scores) if frequencies is None else int(frequencies.sum()))
            per_class = "auto" if least_pool > 1 else True
        made = provenance_of(self, method, per_class=per_class, min_points=method.min_points)
        kind = CellKind(
            "top-label", "class", "predicted", policy, pool_all=not per_class, least_pool=least_pool, provenance=made
        )
        columns = np.array(sorted(range(len(classes)), key=lambda column: classes[column]), np.int64)
        keys, cells = [classes[column] for column in columns.tolist()], CellRows.of_codes(predicted, columns)
        self.model_, told = fit_set(method, Given(scores, is_right, sample_weight), keys, cells, kind, columns)
        for text in warnings_of(told, self.model_.n_models):
            warn(text, stacklevel=3)
        return self

    def predict(self, P: Any, *, tie_keys: Any = None, seed: int | None = None) -> tuple[Array, Float64s]:
        """The predicted class of each row, and the calibrated probability that it is the true one.

        Parameters
        ----------
        P : array-like of shape (n, k)
        tie_keys, seed
            As for `BinnedModel.predict`.

        Returns
        -------
        classes : (n,)
        probabilities : float64 (n,)
            Both as series, or arrays, of what P is a table of, with its index.
        """
        predicted, scores = self._tops(P, tie_keys)
        values = self.model_.predict(scores, predicted, tie_keys=tie_keys, seed=seed)
        return like(P, predicted), like(P, values)

    def predict_top(self, scores: Any, predicted: Any, *, tie_keys: Any = None, seed: int | None = None) -> Float64s:
        """float64 (n,): the calibrated probabilities of predicted classes, whose scores are given; see `fit_top`, `predict`."""
        check_same_index(scores=scores, predicted=predicted, tie_keys=tie_keys)
        classes = self.classes_
        columns = find_columns(predicted, classes.tolist(), "predicted")
        return self.model_.predict(scores, classes[columns], tie_keys=tie_keys, seed=seed)

    @alpha_by_name
    def predict_interval(
        self, P: Any, *, alpha: float = 0.1, bound: IntervalBound = "clopper-pearson", simultaneous: bool = True,
        at: At | None = None, tie_keys: Any = None, seed: int | None = None,
    ) -> Float64s:  # fmt: skip
        """float64 (n, 2): the interval of each row in the model of its predicted class; see `ModelSet.predict_interval`."""
        predicted, scores = self._tops(P, tie_keys)
        ends = self.model_.predict_interval(
            scores, predicted, alpha=alpha, bound=bound, simultaneous=simultaneous, at=at, tie_keys=tie_keys, seed=seed
        )
        return like(P, ends, NAMES_OF_ENDS[self.model_._interval_at(at)])

    def _tops(self, P: Any, keys: Any) -> tuple[Array, Float64s]:
        predicted, scores = top_of(self._check_scored(P, keys))
        return self.classes_[predicted], scores


def _check_per_class(value: Any) -> bool | str:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str) and value == "auto":
        return value
    raise InputError(None, "choose one of True, False, 'auto'", argument="per_class", value=value)


def top_of(matrix: Float64s) -> tuple[Int64s, Float64s]:
    """The column of the largest entry of each row, the lowest of equal ones, and that entry."""
    predicted = matrix.argmax(axis=1)
    return predicted, np.take_along_axis(matrix, predicted[:, np.newaxis], axis=1)[:, 0]


# ------------------------------------------------------------------ one class against the rest


@shared_docs(TopLabelBinning.__doc__)
@dataclass(eq=False, repr=False)
class ClassWiseBinning(ClassBinning):
    """Calibrated probabilities of every class, each by a binary calibrator of this class against the rest.

    Parameters
    ----------
    points_per_bin : int
        Of n samples, each class gets n // points_per_bin uniform-mass bins, at least one.
    n_bins : int or "auto", optional
        In place of it: the bins of each class.
    {calibrator}
    {classes}
    {inputs}
    normalize : bool
        Whether the probabilities of a row are divided by their sum (equal shares where all are 0). The certificate
        is about the probabilities before.

    Attributes
    ----------
    model_ : ModelSet
        Of kind "class-wise"; its keys are the classes.

    See Also
    --------
    TopLabelBinning : the probability of the predicted class alone, with more samples in each bin that matters.

    Notes
    -----
    All samples serve every class, so the models of the classes are not independent, and each class gets an equal share of alpha
    (by Bonferroni). A class that no label has raises no error. The probabilities of a row sum to 1 with `normalize` alone.

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> P = rng.dirichlet([1, 1, 1], 2000)
    >>> y = np.array([rng.choice(3, p=(row + 1) / 4) for row in P])
    >>> cal = fb.multi.ClassWiseBinning(n_bins=5).fit(P, y)
    >>> cal.predict([[0.1, 0.7, 0.2]]).round(2)
    array([[0.31, 0.4 , 0.33]])
    """

    normalize: bool = False

    @shared_docs(TopLabelBinning.fit.__doc__)
    def fit(self, P: Any, labels: Any, sample_weight: Any = None) -> Self:
        """Fit to samples that the classifier was not trained on.

        Parameters
        ----------
        {P}
        {labels}
        {sample_weight}

        {Returns}

        {Raises}

        {Warns}
        """
        check_flag(self.normalize, "normalize")
        method = binary_method(self.calibrator, n_bins=self.n_bins, points_per_bin=self.points_per_bin, of_classes=True)
        matrix, classes, truth = self._check(P, labels, sample_weight)
        models, told = fit_each(method, matrix, classes, truth, sample_weight)
        self.model_ = ModelSet._of(models, kind="class-wise", columns=classes, provenance=provenance_of(self, method))
        for text in warnings_of(told, self.model_.n_models):
            warn(text, stacklevel=2)
        return self

    def predict(self, P: Any, *, tie_keys: Any = None, seed: int | None = None) -> Float64s:
        """The calibrated probability of each class.

        Parameters
        ----------
        P : array-like of shape (n, k)
        tie_keys, seed
            As for `BinnedModel.predict`; a row has one key for all classes.

        Returns
        -------
        float64 (n, k)
            Of a data frame or an Arrow table, one with the names of its columns.
        """
        models, matrix = self.model_, self._check_scored(P, tie_keys)
        values = np.empty_like(matrix)
        for column, key in enumerate(models.columns or ()):
            values[:, column] = models[key].predict(matrix[:, column], tie_keys=tie_keys, seed=seed)
        return like(P, divided_by_sums(values) if self.normalize else values, columns_of(P))

    @alpha_by_name
    def predict_interval(
        self, P: Any, *, alpha: float = 0.1, bound: IntervalBound = "clopper-pearson", simultaneous: bool = True,
        at: At | None = None, tie_keys: Any = None, seed: int | None = None,
    ) -> Float64s:  # fmt: skip
        """float64 (n, k, 2): for each class the interval of each row in its model; see `ModelSet.predict_interval`.

        Raises
        ------
        GuaranteeError
            With ``normalize=True``; ``model_.interval`` is about the values before.
        """
        self._require_own_values("interval")
        models, matrix = self.model_, self._check_scored(P, tie_keys)
        at = models._interval_at(at)
        tables = dict(zip(models.cells, models.interval(alpha, bound, simultaneous, at=at), strict=True))
        columns = [
            (models[key] if at == "bin" else models[key]._as_steps()).lookup(
                matrix[:, column], tables[key], tie_keys=tie_keys, seed=seed
            )
            for column, key in enumerate(models.columns or ())
        ]
        return np.stack(columns, axis=1)

    def certificate(
        self, alpha: float = 0.1, kind: str = "conditional", bound: str | None = None, which: Literal["joint"] | Key = "joint",
        *, about: str = "population", side: str = "both",
    ) -> SetCertificate | Certificate:  # fmt: skip
        """The guarantee about the values of all classes at once, or of one; see `ModelSet.certificate`.

        Raises
        ------
        GuaranteeError
            With ``normalize=True``; ``model_.certificate`` is about the values before.
        """
        self._require_own_values("certificate")
        return self.model_.certificate(alpha, kind, bound, which, about=about, side=side)

    def _require_own_values(self, what: str) -> None:
        if self.normalize:
            raise GuaranteeError(
                "normalize=True divides the values of a row by their sum, and nothing is known of the quotients; what is "
                f"certified are the values before, those of model_: ask model_.{what}(...), or pass normalize=False"
            )


def fit_each(
    method: BinaryMethod, matrix: Float64s, classes: list[Key], truth: Int64s, sample_weight: Any
) -> tuple[dict[Key, BinnedModel], Told]:
    """The model of each class against the rest, in the order of the columns, and what the fits had to say."""
    told: Told = []
    models = {}
    columns = np.ascontiguousarray(matrix.T)  # each is read several times
    for column, key in enumerate(classes):
        rows = check_values(Given(columns[column], truth == column, sample_weight), method.calibrator)
        calibrator = method.of(int(count_samples(rows, np.zeros(len(truth), np.int64), 1)[0]))
        models[key] = fit_named(calibrator, rows, f"class {key!r}", told, LEVEL / len(classes), _event_of_class(key))
    return models, told


def _event_of_class(key: Key) -> str:
    """The event of a class's model: the class, where its name is not longer than that of an event."""
    event = str(key)
    return event if len(event.encode()) <= MOST_EVENT_BYTES else ""
