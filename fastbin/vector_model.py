"""A fitted map from vectors of probabilities to vectors of probabilities, with what is certain about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s
from fastbin._base.cells import Key, check_matrix, in_order, refuse_other_order
from fastbin._base.frames import columns_of, like
from fastbin._base.shown import how_many
from fastbin._core.score import NativeVectorModel
from fastbin._model.parts import Saved
from fastbin.model import BinnedModel

if TYPE_CHECKING:
    from fastbin.guarantees.vectors import VectorCertificate

# How its file begins; and the number of its kind among those of sets.
VECTOR_MAGIC = b"\x89FBV"
VECTOR_KIND = 4
# The values of models count as this at least, as csrc/src/vector.c has it.
LEAST_OF_MODELS = 1e-12


class VectorMap(NamedTuple):
    """The map of k classes, and its evidence, as `fastbin_vector_map` in csrc/include/fastbin.h explains them."""

    of_models: float
    of_priors: float
    least: float
    keep_top: bool
    slopes: Float64s  # (k,)
    intercepts: Float64s  # (k,)
    priors: Float64s  # (k,)
    mixing: Float64s | None  # (k, k)
    edges: Float64s | None = None  # (k + 1, n_bins - 1)
    counts: Int64s | None = None  # (k + 1, n_bins, 2): rows, and those with the label
    means: Float64s | None = None  # (k + 1, n_bins)
    unlabelled: Float64s | None = None  # (k + 1, n_bins, 3): rows, mean and variance of what is served


class VectorModel(Saved, NativeVectorModel):
    """A map of the whole row: probabilities of all classes in, calibrated ones out.

    `fastbin.multi.VectorCalibration` makes it. It is immutable, safe to share between threads, and scores with NumPy alone; C
    serves its file by ``fastbin_vector_predict``.

    Attributes
    ----------
    classes : tuple of int or str
        In the order of the columns.
    models : dict
        The binary model of each class against the rest, which takes part in the map with the weight ``vector.of_models``.
    vector : VectorMap
        The parameters of the map, and its evidence bins.
    n_samples : int
        The rows of the fit.
    keep_top : bool
        Whether the largest entry of a row stays the largest.
    provenance : dict, or None
    """

    @classmethod
    def _of(cls, models: Mapping[Key, BinnedModel], vector: VectorMap, *, provenance: bytes = b"") -> VectorModel:
        """The model of these classes, in the order of their columns."""
        made = cls.__new__(cls)
        keys = in_order(list(models), "classes")
        place = {key: at for at, key in enumerate(models)}
        texts = [key for key in keys if isinstance(key, str)]
        made._fill(
            [models[key] for key in keys], texts or np.array(keys, np.int64), kind=VECTOR_KIND,
            columns=np.array([place[key] for key in keys], np.int32), provenance=provenance, vector=vector,
        )  # fmt: skip
        return made

    @cached_property
    def _keys(self) -> Sequence[Key]:
        return self._text_keys or self._int_keys.tolist()  # type: ignore[union-attr]

    @cached_property
    def classes(self) -> tuple[Key, ...]:
        """The classes, in the order of the columns."""
        keys = self._keys
        return tuple(keys if self._columns is None else (keys[at] for at in np.argsort(self._columns)))

    @property
    def models(self) -> dict[Key, BinnedModel]:
        """The binary model of each class against the rest, in the order of the columns."""
        of_key = {key: self._model(number, BinnedModel) for number, key in enumerate(self._keys)}
        return {key: of_key[key] for key in self.classes}

    @property  # views that an object kept of its own memory would keep it for ever
    def vector(self) -> VectorMap:
        """The parameters of the map, and its evidence bins; arrays are read-only views of the model's own memory."""
        return VectorMap(**self._vector)

    @property
    def keep_top(self) -> bool:
        """Whether the largest entry of a row stays the largest."""
        return self.vector.keep_top

    @cached_property
    def n_samples(self) -> int:
        """The rows of the fit."""
        return max(model.n_samples for model in self.models.values())

    def predict(self, P: Any) -> Any:
        """The calibrated vector of each row.

        Parameters
        ----------
        P : array-like of shape (n, k)
            Probabilities, a column for each of `classes`; rows sum to 1, within 1e-6 (float32: 1e-4). The columns of a data
            frame are taken as they stand; names that end in those of `classes`, in another order, are refused.

        Returns
        -------
        float64 (n, k)
            Rows sum to 1, but for rounding; no entry is 0. A data frame or an Arrow table gives one with the same
            columns.

        Raises
        ------
        InputError
            For NaN, entries outside [0, 1] and rows that do not sum to 1, naming the first.

        Notes
        -----
        O(n k), with a matrix O(n k**2). A row's vector does not depend on other rows; equal entries of two columns may differ
        afterwards, as each column has its own map.
        """
        refuse_other_order(P, list(self.classes))
        return like(P, self._vectors(check_matrix(P, n_columns=len(self.classes))), columns_of(P))

    def predict_one(self, p: Any) -> Float64s:
        """float64 (k,): the calibrated vector of one row, an array-like of k probabilities; errors as `predict`."""
        return self._vectors(check_matrix(np.asarray(p)[np.newaxis], n_columns=len(self.classes), name="p"))[0]

    def _vectors(self, matrix: Float64s) -> Float64s:
        """Those of a matrix that has been checked."""
        given = np.ascontiguousarray(matrix)
        out = np.empty_like(given)
        self._predict(given, out)
        return out

    def certificate(self, alpha: float = 0.1, *, about: str = "calibration rows") -> VectorCertificate:
        """The guarantee about the vectors, for all classes and the top label at once.

        Parameters
        ----------
        alpha : float, from 1e-100 to 1/2
            The chance that the promise fails.
        about : {"calibration rows", "population"}
            Whose truth the averages are compared with: that of the rows of the fit, or that of the population, which needs a
            fit with ``unlabelled=``.

        Returns
        -------
        VectorCertificate
            ``print`` shows one sentence; ``.to_pandas()`` a row for each class and bin.

        Raises
        ------
        GuaranteeError
            For the population, after a fit without ``unlabelled=``; after one with weights that are not frequencies.
        """
        from fastbin.guarantees.vectors import certify_vector

        note = next(iter(self.models.values())).note
        return certify_vector(self.vector, self.classes, self.n_samples, alpha, about, note)

    def _repr_html_(self) -> str:
        from fastbin._base import html

        promise = html.paragraph(f"{self.certificate()}") if self.vector.counts is not None else ""
        return html.notebook(html.paragraph(f"{self!r}"), promise)

    def __repr__(self) -> str:
        return f"VectorModel({len(self.classes)} classes, {how_many(self.n_samples, 'sample')})"


def as_vector_model(model: Any) -> VectorModel | None:
    """The vector model, or that of a fitted calibrator; None for anything else."""
    fitted = model.model_ if hasattr(type(model), "model_") else model
    return fitted if isinstance(fitted, VectorModel) else None
