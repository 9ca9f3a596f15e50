"""The base of all estimators: configuration in ``__init__``, ``fit`` returns self, everything else asks the model.

scikit-learn's habits (parameters stored unchanged, `get_params`, fitted attributes that end in ``_``) without needing it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar, overload

import numpy as np

from fastbin._base.array_types import Array, Float64s, SeriesT
from fastbin._base.checks import UNIT, ScoreRange, check_score_range
from fastbin._base.dependencies import needed_for
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import InputError, InputTypeError, NotFittedError, warn
from fastbin._base.suspicions import HARD_LABELS, LEVEL, on_falling
from fastbin._core.fit import lower_half
from fastbin._fit.quantiles import Source
from fastbin._fit.rows import BatchesSource, Progress, Rows, RowsSource, as_batches, check_rows
from fastbin._model.parts import Parts
from fastbin._model.provenance import of_estimator
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet, as_model
from fastbin.vector_model import VectorModel

if TYPE_CHECKING:
    from typing_extensions import Self


P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", BinnedModel, ModelSet, VectorModel)


@cache
def _parameter_names(calibrator: type) -> list[str]:
    """The configuration of a class; reading a signature takes longer than fitting a small sample."""
    return [name for name in inspect.signature(calibrator.__init__).parameters if name != "self"]  # type: ignore[misc]


def as_model_set(models: Any) -> ModelSet:
    """The set itself, or that of a fitted estimator of `fastbin.multi`; InputTypeError for anything else."""
    fitted = models.model_ if hasattr(type(models), "model_") else models
    if not isinstance(fitted, ModelSet):
        remedy = "pass a ModelSet, or an estimator of fastbin.multi"
        raise InputTypeError(f"is of type {type(models).__name__}", remedy, argument="models")
    return fitted


def as_model_or_set(model: Any, name: str = "model") -> BinnedModel | ModelSet:
    """A model or a set of models, or what a fitted calibrator or estimator holds; errors as in `as_model`."""
    fitted = model.model_ if hasattr(type(model), "model_") else model
    return fitted if isinstance(fitted, ModelSet) else as_model(model, name)


def _are_equal(value: Any, default: Any) -> bool:
    """Whether a parameter is its default; an array, which compares entry by entry, is not."""
    return isinstance(value, type(default)) and bool(value == default)


class Estimator(Generic[M]):
    """Configuration that is stored unchanged, and what `fit` made of it: a model, or a set of models.

    A subclass is a dataclass: its fields are its configuration. Its ``fit`` sets ``model_`` and returns self.
    """

    _fit_call: ClassVar[str] = "fit(scores, labels)"
    _model: M | None = None
    # The name of the event, where whoever calls `fit` has compared the labels with a positive one before.
    _event: str | None = None
    # Bound to the model's own method by `fit`, so that the hot path goes through no Python function.
    predict_one: Callable[..., Any]

    @property
    def model_(self) -> M:
        """The model, or the set of models, that was fitted."""
        if self._model is None:
            return self.__getattr__("model_")
        return self._model

    @model_.setter
    def model_(self, model: M) -> None:
        self._model = model
        self.predict_one = model.predict_one

    def __getattr__(self, name: str) -> Any:
        fitted = name.endswith("_") and not name.startswith("_")
        if self._model is None and (name == "predict_one" or fitted):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call {self._fit_call} first")
        there = ""
        if fitted:
            names = {*vars(self), *dir(type(self))}
            found = sorted(known for known in names if known.endswith("_") and not known.startswith("_"))
            there = f"; what fit has set is {', '.join(found)}"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{there}")

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
                raise InputError(f"is not a parameter of {type(self).__name__}", f"it has {', '.join(known)}", argument=name)
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = (
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if not (value is defaults[name].default or _are_equal(value, defaults[name].default))
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        """The configuration, and the model once it is fitted."""
        from fastbin._base import html

        own = html.paragraph(repr(self))
        return html.notebook(own) if self._model is None else html.notebook(own, self._model._repr_html_())

    def __sklearn_is_fitted__(self) -> bool:
        """Asked by scikit-learn."""
        return self._model is not None

    def __sklearn_tags__(self) -> Any:
        """Asked by scikit-learn, from 1.6 on: scores are (n,) or a matrix, and its own checks would send features."""
        with needed_for("tags of scikit-learn", extra="sklearn"):
            from sklearn.utils import InputTags, Tags, TargetTags
        return Tags(
            estimator_type=None, target_tags=TargetTags(required=True), _skip_test=True,
            input_tags=InputTags(one_d_array=True, two_d_array=True),
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "predict_one"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._model is not None:
            self.model_ = self._model


def asks_model(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Estimator[Any], P], R]:
    """The method of a model as one of an estimator, with its signature and its docstring."""

    @wraps(method)
    def ask(self: Estimator[Any], /, *arguments: P.args, **options: P.kwargs) -> R:
        return method(self.model_, *arguments, **options)

    return ask


class Calibrator(Estimator[BinnedModel]):
    """A method that turns scores and labels into a `BinnedModel`.

    A subclass has a ``fit(scores, labels, ...)``. What the parameters of several subclasses mean is said here.

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

    sampling_rate : float in (0, 1]
        The known rate at which rows with label 0 were kept, at random; those with label 1 were all kept. Values, intervals and
        certificates are those of the population before (docs/shift.md, "Negatives kept with a known rate"). 1: all are there.

    Attributes
    ----------
    model_ : BinnedModel
        Set by `fit`.
    """

    # Where several are fitted at once: what each would have warned of, and whether they become a set, which has the provenance.
    _told: list[str] | None = None
    _in_set = False
    # The level of the test for scores of the other class, which fits of one set share; ``None``: labels may fall.
    _fall_level: float | None = LEVEL
    # Whether values never fall as scores rise, whatever the configuration.
    _never_falls: ClassVar[bool] = False
    # Whether a fit moves another model, and makes none of its rows.
    _moves_a_model: ClassVar[bool] = False
    # Why counts of the rows do not decide the model, for the messages of fits that see nothing else.
    _looks_at: ClassVar[str] = "its map is fitted to single scores"

    def fit(self, scores: Any, labels: Any) -> Self:
        """Fit to scores and labels. What the arguments of several calibrators mean is said here.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Of samples that the classifier was not trained on. float32 and float64 are read without a copy. NaN, infinity and
            scores outside `score_range` are refused.
        labels : array-like of shape (n,)
            bool, or numbers that equal 0 or 1. Matched with the scores by position: of two columns of pandas with different
            indices an error tells, unless one has the default index.
        sample_weight : array-like of shape (n,), optional
            Integers, and decimals without places, are frequencies: the same as repeating the row. Floats are importance
            weights: boundaries ignore them, values are weighted means, and only bounds made for weights apply.
        tie_keys : array-like of shape (n,), optional
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

        Warns
        -----
        FastbinWarning
            Where labels fall as scores rise, as those of the other class do (Fisher's exact test, upper half against lower half
            of the scores, one-sided at .01; for calibrators whose values never fall, and for scores that are probabilities);
            where scores are labels: 50 or more, all exactly 0 or 1.
        """
        raise TypeError(f"{type(self).__name__} has no fit")

    def _keep(self, model: BinnedModel, event: str = "") -> None:
        """Set ``model_``: what was fitted, with its event and its provenance."""
        self.model_ = model._with_texts(**self._texts(event, model.seed))

    def _to_population(self, model: BinnedModel, rate: float) -> BinnedModel:
        """The model of rows of which those with label 0 were kept at this rate, as that of the population (Theorem F27)."""
        if model.is_weighted:
            problem = f"is {rate:g}, and the rows have importance weights"
            remedy = "leave one of the two out; the weight 1 / rate of rows with label 0 says the same, without a certificate"
            raise InputError(problem, remedy, argument="sampling_rate", value=rate)
        from fastbin.guarantees.intervals import scale_odds

        rate = float(rate)  # a Fraction is a real number, too
        return model._replace(values=scale_odds(np.asarray(model.values), rate), odds_ratio=rate, sampling_rate=rate)

    def _texts(self, event: str, seed: int) -> dict[str, Any]:
        """The event and the provenance of a model, and whether a set will have it: parts for `BinnedModel._of`."""
        named, provenance = event if self._event is None else self._event, b"" if self._in_set else of_estimator(self, seed)
        return {"event": named.encode(), "provenance": provenance, "for_set": self._in_set}

    def _warn(self, message: str, stacklevel: int) -> None:
        """Warn as if the function that calls this did, or one further up."""
        if self._told is None:
            warn(message, stacklevel=stacklevel + 1)
        else:
            self._told.append(message)

    def _checked_range(self) -> ScoreRange:
        """The range of scores, checked, as a pair of floats; that of probabilities, where it cannot be chosen."""
        return check_score_range(getattr(self, "score_range", UNIT))

    def _expects_rise(self) -> bool:
        """Whether labels that fall as scores rise are hardly meant: values never fall, or scores are probabilities."""
        if self._fall_level is None:
            return False
        if self._never_falls or getattr(self, "monotone", False):
            return True
        return self._checked_range() == UNIT

    def _warn_of_rows(self, counts: Array, ones: Array, has_hard_labels: bool, stacklevel: int) -> None:
        """Tell of rows that are probably not what was meant. Warns as `_warn`.

        `counts` and `ones` are samples and those with label 1 in bins of ascending scores.
        """
        if has_hard_labels:
            self._warn(HARD_LABELS, stacklevel + 1)
        elif self._expects_rise():
            text = on_falling(*lower_half(counts, ones), self._fall_level or LEVEL)
            if text is not None:
                self._warn(text, stacklevel + 1)

    def __sklearn_tags__(self) -> Any:
        with needed_for("tags of scikit-learn", extra="sklearn"):
            from sklearn.utils import RegressorTags
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    def _least_samples(self) -> int:
        """How many samples this configuration needs."""
        return 1

    def _why_all_rows(self, remedy: str = "use fit") -> str | None:
        """Why this configuration needs all rows at once, and what to do; ``None`` where `_fit_source` can fit it to counts."""
        return (
            f"{type(self).__name__} needs all rows at once, as {self._looks_at}; {remedy}, or take a calibrator that counts "
            "decide, such as CertifiedCalibration or UniformMassBinning"
        )

    def _fit_source(self, source: Source) -> Self:
        """Fit from a source, whose rows may never be loaded: as `fit` with its arrays, with the same model, byte for byte."""
        raise InputError(self._why_all_rows() or f"{type(self).__name__} is fitted by its own function")

    def _rows_of(self, source: Source) -> Rows:
        """All rows of a source that has them in memory."""
        if source.in_memory is None:
            raise InputError(self._why_all_rows())
        return source.in_memory

    if TYPE_CHECKING:

        @overload
        def predict(
            self, scores: SeriesT, *, tie_keys: Any = None, seed: int | None = None, out: None = None, nan: str = "error"
        ) -> SeriesT: ...
        @overload
        def predict(
            self, scores: Any, *, tie_keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
        ) -> Float64s: ...
        def predict(self, scores: Any, **options: Any) -> Any: ...

    else:
        predict = asks_model(BinnedModel.predict)
    predict_interval = asks_model(BinnedModel.predict_interval)
    predict_set = asks_model(BinnedModel.predict_set)
    certificate = asks_model(BinnedModel.certificate)
    certificates = Parts.certificates


# What the parameters of calibrators, and of their `fit`, mean: for `shared_docs`.
PARAMETERS, FIT_PARAMETERS = Calibrator.__doc__, Calibrator.fit.__doc__


def changed(models: Any, change: Callable[[BinnedModel], BinnedModel]) -> Any:
    """The model changed; of a set, or of a vector model, each model, under the same keys."""
    if isinstance(models, BinnedModel):
        return change(models)
    if isinstance(models, VectorModel):
        each = {key: change(model) for key, model in models.models.items()}
        return VectorModel._of(each, models.vector, provenance=models._provenance)
    return ModelSet._of(
        {key: change(model) for key, model in models.models.items()}, kind=models.kind, unknown=models.unknown,
        pool=None if models.pool is None else change(models.pool), pooled_cells=models.pooled_cells, columns=models.columns,
        provenance=models._provenance,
    )  # fmt: skip


def check_binary(calibrator: Any) -> None:
    """Refuse as `calibrator` of something what is not one of scores and labels, or cannot be fitted as it is."""
    remedy = "pass a binary calibrator such as UniformMassBinning(10)"
    if not isinstance(calibrator, Calibrator):
        is_class = isinstance(calibrator, type)
        what = f"the class {calibrator.__name__}" if is_class else f"of type {type(calibrator).__name__}"
        raise InputTypeError(f"is {what}", remedy, argument="calibrator")
    if calibrator._moves_a_model:
        raise InputTypeError(f"is a {type(calibrator).__name__}, which fits no scores", remedy, argument="calibrator")
    calibrator._least_samples()


@dataclass(eq=False, repr=False, kw_only=True)
class Binning(Calibrator):
    """A calibrator whose model is a step function."""

    score_range: tuple[float, float] | None = (0.0, 1.0)
    out_of_range: str = "refuse"

    @shared_docs(FIT_PARAMETERS)
    def fit(self, scores: Any, labels: Any, sample_weight: Any = None, *, positive: Any = None) -> Self:
        """Fit to samples that the classifier was not trained on, nor edges or a scaler that were fixed before.

        Parameters
        ----------
        {scores}
        {labels}
        {sample_weight}
        {positive}

        {Returns}

        {Raises}

        {Warns}
        """
        rows = check_rows(scores, labels, sample_weight, check_score_range(self.score_range), positive=positive)
        return self._fit_source(RowsSource(rows))


class CountedBinning(Binning):
    """A binning whose edges and values follow from counts, so that rows may come in batches, or stay where they are."""

    def _check(self) -> Any:
        """The configuration, checked, with its `score_range`."""
        raise NotImplementedError

    def _fit(self, checked: Any, source: Source) -> Self:
        """As `_fit_source`, for a configuration that is checked."""
        raise NotImplementedError

    def _fit_source(self, source: Source) -> Self:
        return self._fit(self._check(), source)

    def _why_all_rows(self, remedy: str = "use fit") -> str | None:
        return None

    @shared_docs(FIT_PARAMETERS)
    def fit_batches(self, batches: Any, *, progress: Progress | None = None) -> Self:
        """Fit to rows that come in batches, over and over: to more than fits into memory.

        The model is that of `fit` on all rows at once, byte for byte, however they are divided.

        Parameters
        ----------
        batches : callable, or iterable that can be iterated more than once
            Called without arguments before each pass, or iterated, it gives batches ``(scores, labels)`` or ``(scores, labels,
            sample_weight)``: array-likes of one length, as `fit` takes them. The rows must be the same each time; their order
            and division need not.
        progress : callable, optional
            Called after each batch with the number of the pass, from 1, and the rows seen in it.

        {Returns}

        Raises
        ------
        InputError
            For whatever `fit` refuses, with positions that count from the first row of the first batch; where a pass sees other
            rows than the one before; and for scheme "ums" and for `edges_share`, which need all samples at once to split them.

        Notes
        -----
        Two passes on scores that are neither bunched nor tied, a few more on any others, one more for importance weights.
        Memory: a batch, the counters (a few MB), at most 2**21 listed rows, and with importance weights the rows whose score is
        that of a boundary.

        Examples
        --------
        >>> import numpy as np
        >>> import fastbin as fb
        >>> rng = np.random.default_rng(0)
        >>> scores = rng.random(1000)
        >>> labels = rng.random(1000) < scores
        >>> batches = [(scores[i : i + 100], labels[i : i + 100]) for i in range(0, 1000, 100)]
        >>> fb.UniformMassBinning().fit_batches(batches).model_ == fb.UniformMassBinning().fit(scores, labels).model_
        True
        """
        checked = self._check()
        return self._fit(checked, BatchesSource(as_batches(batches), checked.score_range, progress))
