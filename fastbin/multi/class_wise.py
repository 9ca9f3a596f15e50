"""Class-wise calibration: a calibrated probability for each class, one against the rest."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fastbin._base.array_types import Array, Float64s
from fastbin._base.cells import (
    Key,
    check_classes,
    check_matrix,
    default_classes,
    divided_by_sums,
    find_columns,
    refuse_other_order,
)
from fastbin._base.checks import MOST_EVENT_BYTES, alpha_by_name, check_same_length
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import FastbinWarning, GuaranteeError
from fastbin._base.frames import check_same_index, columns_of, like
from fastbin._base.suspicions import LEVEL
from fastbin._fit.calibrator import Estimator
from fastbin.model import IntervalMethod
from fastbin.model_set import ModelSet
from fastbin.multi.binary import Given, Told, binary_method, check_values, count_samples, fit_named, provenance_of
from fastbin.multi.cells import FittedSet
from fastbin.multi.top_label import TopLabelBinning

if TYPE_CHECKING:
    from typing_extensions import Self

    from fastbin.guarantees import Certificate, SetCertificate


@shared_docs(TopLabelBinning.__doc__)
@dataclass(eq=False, repr=False)
class ClassWiseBinning(Estimator[ModelSet]):
    """Calibrated probabilities of every class, each by a binary calibrator of this class against the rest.

    Parameters
    ----------
    points_per_bin : int
        Of n samples, each class gets n // points_per_bin uniform-mass bins, at least one.
    {n_bins}
    {calibrator}
    {classes}
    {inputs}
    normalize : bool
        Whether the probabilities of a row are divided by their sum (equal shares where all are 0). They are no longer those
        that are certified.

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
    (by Bonferroni). A class that no label has is no error. The probabilities of a row sum to 1 with `normalize` alone.

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

    points_per_bin: int = 50
    n_bins: int | str | None = None
    calibrator: Any = None
    classes: Any = None
    inputs: str = "probabilities"
    normalize: bool = False

    _fit_call: ClassVar[str] = "fit(P, labels)"

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
        method = binary_method(self.calibrator, n_bins=self.n_bins, points_per_bin=self.points_per_bin)
        check_same_index(P=P, labels=labels, sample_weight=sample_weight)
        matrix = check_matrix(P, self.inputs)
        n_columns = matrix.shape[1]
        classes = default_classes(labels, n_columns) if self.classes is None else check_classes(self.classes, n_columns)
        refuse_other_order(P, classes)
        truth = find_columns(labels, classes, "labels")
        check_same_length(P=matrix, labels=truth)
        told: Told = []
        models = {}
        for column, key in enumerate(classes):
            rows = check_values(Given(matrix[:, column], truth == column, sample_weight), method.calibrator)
            calibrator = method.of(int(count_samples(rows, np.zeros(len(truth), np.int64), 1)[0]))
            models[key] = fit_named(calibrator, rows, f"class {key!r}", told, LEVEL / len(classes), _event_of_class(key))
        self.model_ = ModelSet._of(models, kind="class-wise", columns=classes, provenance=provenance_of(self, method))
        for text in FittedSet(self.model_, told).warnings:
            warnings.warn(text, FastbinWarning, stacklevel=2)
        return self

    @property
    def classes_(self) -> Array:
        """The classes, in the order of the columns."""
        return np.array(self.model_.columns)

    def predict(self, P: Any, *, keys: Any = None, seed: int | None = None) -> Float64s:
        """The calibrated probability of each class.

        Parameters
        ----------
        P : array-like of shape (n, k)
        keys, seed
            As for `BinnedModel.predict`; a row has one key for all classes.

        Returns
        -------
        float64 (n, k)
            Of a data frame or an Arrow table, one with the names of its columns.
        """
        models = self.model_
        check_same_index(P=P, keys=keys)
        refuse_other_order(P, models.columns or ())
        matrix = check_matrix(P, self.inputs, len(models))
        values = np.empty_like(matrix)
        for column, key in enumerate(models.columns or ()):
            values[:, column] = models[key].predict(matrix[:, column], keys=keys, seed=seed)
        return like(P, divided_by_sums(values) if self.normalize else values, columns_of(P))

    @alpha_by_name
    def predict_interval(
        self, P: Any, *, alpha: float = 0.1, method: IntervalMethod = "clopper-pearson", simultaneous: bool = True,
        keys: Any = None, seed: int | None = None,
    ) -> Float64s:  # fmt: skip
        """float64 (n, k, 2): for each class the interval of the bin of its column; see `ModelSet.interval`.

        Raises
        ------
        GuaranteeError
            With ``normalize=True``; ``model_.interval`` is about the values before.
        """
        self._require_own_values("interval")
        check_same_index(P=P, keys=keys)
        models = self.model_
        refuse_other_order(P, models.columns or ())
        matrix = check_matrix(P, self.inputs, len(models))
        tables = dict(zip(models.keys, models.interval(alpha, method, simultaneous), strict=True))
        columns = [
            models[key].lookup(matrix[:, column], tables[key], keys=keys, seed=seed)
            for column, key in enumerate(models.columns or ())
        ]
        return np.stack(columns, axis=1)

    def certificate(
        self, alpha: float = 0.1, kind: str = "conditional", bound: str | None = None, which: Literal["joint"] | Key = "joint"
    ) -> SetCertificate | Certificate:
        """What is guaranteed about the values of all classes at once, or of one; see `ModelSet.certificate`.

        Raises
        ------
        GuaranteeError
            With ``normalize=True``; ``model_.certificate`` is about the values before.
        """
        self._require_own_values("certificate")
        return self.model_.certificate(alpha, kind, bound, which)

    def _require_own_values(self, what: str) -> None:
        if self.normalize:
            raise GuaranteeError(
                "normalize=True divides the values of a row by their sum, and nothing is known of the quotients; what is "
                f"certified are the values before, those of model_: ask model_.{what}(...), or pass normalize=False"
            )


def _event_of_class(key: Key) -> str:
    """The event of a class's model: the class, where its name is not longer than that of an event."""
    event = str(key)
    return event if len(event.encode()) <= MOST_EVENT_BYTES else ""
