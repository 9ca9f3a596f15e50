"""The base of all calibrators: configuration in ``__init__``, ``fit`` returns self, everything else asks the model.

scikit-learn's habits (parameters stored unchanged, `get_params`, fitted attributes that end in ``_``) without needing it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError, InputTypeError, NotFittedError
from fastbin.model import BinnedModel, IntervalMethod

if TYPE_CHECKING:
    from typing_extensions import Self

    from fastbin.guarantees import Certificate

__all__ = ["Calibrator", "as_model"]


@cache
def _parameter_names(calibrator: type) -> list[str]:
    """The configuration of a class; reading a signature takes longer than fitting a small sample."""
    return [name for name in inspect.signature(calibrator.__init__).parameters if name != "self"]  # type: ignore[misc]


def as_model(model: Any, name: str = "model") -> BinnedModel:
    """The model itself, or that of a fitted calibrator: whatever takes one takes the other.

    Raises
    ------
    InputTypeError
        For anything else, naming its type.
    NotFittedError
        For a calibrator that was not fitted.
    """
    found = model.model_ if isinstance(model, Calibrator) else model
    if not isinstance(found, BinnedModel):
        raise InputTypeError(
            f"{name} is {_described(model)}; pass a BinnedModel (fb.load reads one from a file) or a fitted calibrator"
        )
    return found


def _described(value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return f"the path {os.fspath(value)!r}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"of type {type(value).__name__}"


class Calibrator:
    """A method that turns scores and labels into a `BinnedModel`.

    A subclass is a dataclass: its fields are its configuration, stored unchanged. It has a ``fit(scores, labels, ...)`` that
    sets ``model_`` and returns self. What the parameters of several subclasses mean is said here.

    Parameters
    ----------
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
        Set by `fit`.
    """

    _model: BinnedModel | None = None
    # Bound to the model's own method by `fit`, so that the hot path goes through no Python function.
    predict_one: Callable[..., float]

    def fit(self, scores: Any, labels: Any) -> Self:
        """Fit to scores and labels. What the arguments of several calibrators mean is said here.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Of samples that the classifier was not trained on. float32 and float64 are read without a copy. NaN, infinity and
            scores outside `score_range` are refused.
        labels : array-like of shape (n,)
            bool, or numbers that equal 0 or 1.
        sample_weight : array-like of shape (n,), optional
            Integers are frequencies: the same as repeating the row. Floats are importance weights: boundaries ignore them,
            values are weighted means, and only bounds made for weights apply.
        keys : array-like of shape (n,), optional
            Keys to order equal scores by, in place of the model's own: unsigned integers or floats in [0, 1), different within
            a score, independent of the labels.
        n_threads : int
            Python threads over parts of the rows. Does not change the model.
        positive : optional
            The label that counts as 1, where labels are two values other than 0 and 1, such as "yes".

        Returns
        -------
        self

        Raises
        ------
        InputError
            Naming the argument, the first bad position, its value, and the remedy.
        """
        raise TypeError(f"{type(self).__name__} has no fit")

    @property
    def model_(self) -> BinnedModel:
        """The fitted model."""
        if self._model is None:
            return self.__getattr__("model_")
        return self._model

    @model_.setter
    def model_(self, model: BinnedModel) -> None:
        self._model = model
        self.predict_one = model.predict_one

    def __getattr__(self, name: str) -> Any:
        fitted = name.endswith("_") and not name.startswith("_")
        if self._model is None and (name == "predict_one" or fitted):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(scores, labels) first")
        there = ""
        if fitted:
            names = {*vars(self), *dir(type(self))}
            found = sorted(known for known in names if known.endswith("_") and not known.startswith("_"))
            there = f"; what fit has set is {', '.join(found)}"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{there}")

    def predict(
        self, scores: Any, *, keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> npt.NDArray[np.float64]:
        """Calibrated probabilities, float64 (n,); see `BinnedModel.predict`."""
        return self.model_.predict(scores, keys=keys, seed=seed, out=out, nan=nan)

    def predict_interval(
        self,
        scores: Any,
        *,
        alpha: float = 0.1,
        method: IntervalMethod = "clopper-pearson",
        simultaneous: bool = True,
        keys: Any = None,
        seed: int | None = None,
        nan: str = "error",
    ) -> npt.NDArray[np.float64]:
        """float64 (n, 2): for each score an interval for the true positive rate of its bin; see `BinnedModel.interval`."""
        return self.model_.predict_interval(
            scores, alpha=alpha, method=method, simultaneous=simultaneous, keys=keys, seed=seed, nan=nan
        )

    def predict_set(
        self, scores: Any, *, alpha: float = 0.1, keys: Any = None, seed: int | None = None
    ) -> npt.NDArray[np.bool_]:
        """bool (n, 2): whether 0, and whether 1, is in the prediction set of each score; see `BinnedModel.predict_set`."""
        return self.model_.predict_set(scores, alpha=alpha, keys=keys, seed=seed)

    def certificate(self, alpha: float = 0.1, kind: str = "conditional", bound: str | None = None) -> Certificate:
        """What is guaranteed about the values; see `BinnedModel.certificate`."""
        return self.model_.certificate(alpha=alpha, kind=kind, bound=bound)

    # ------------------------------------------------------------------ configuration

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return _parameter_names(cls)  # type: ignore[arg-type]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The configuration, by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Change the configuration; returns self."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise InputError(f"{name} is not a parameter of {type(self).__name__}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = (
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if not (value is defaults[name].default or value == defaults[name].default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "predict_one"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._model is not None:
            self.model_ = self._model
