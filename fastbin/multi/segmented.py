"""Segments: a model for each campaign, product or region, and one promise for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fastbin._base.array_types import Bools, Float64s
from fastbin._base.checks import check_choice, check_same_length, event_of
from fastbin._base.docstrings import shared_docs
from fastbin._base.errors import ArgumentError, InputError, Wording, by_name, warn
from fastbin._base.frames import check_same_index
from fastbin._base.signatures import alpha_by_name
from fastbin._fit.calibrator import FIT_PARAMETERS, Estimator, asks_model
from fastbin._fit.segments import code_cells
from fastbin._model.parts import At
from fastbin.model import IntervalBound
from fastbin.model_set import UNKNOWN, ModelSet
from fastbin.multi.cells import BinaryMethod, CellKind, FittedSet, Given, binary_method, fit_set, provenance_of, warnings_of

if TYPE_CHECKING:
    from typing_extensions import Self


THIN = ("pool", "refuse")


@dataclass(eq=False, repr=False)
class SegmentedBinning(Estimator[ModelSet]):
    """A binary calibrator for each segment, with one certificate for all of them.

    Parameters
    ----------
    calibrator : calibrator, optional
        What each segment gets a copy of; any binary calibrator of the library. ``None``:
        ``CertifiedCalibration()``.
    thin : {"pool", "refuse"}
        What becomes of segments with fewer samples than `min_points`, or than the bins of the calibrator need. "pool": one
        model of all their rows, with fewer bins where even these have fewer samples. "refuse": an error that names the first.
    min_points : int
        The samples that a segment must have for a model of its own.
    unknown : {"refuse", "pool"}
        What a segment that the fit has not seen gets when it is scored: an error, or the value of the pool, with no interval
        and no certificate.

    Attributes
    ----------
    model_ : ModelSet
        Of kind "segments".

    See Also
    --------
    TopLabelBinning : the predicted class as the segment.

    Notes
    -----
    The model of a segment is that of ``calibrator.fit`` on its own rows: the same map and counts, byte for byte but for the
    provenance, which the set has. So the order of the rows does not matter. Which segments are pooled depends on their numbers
    of samples alone. Segments must not overlap: a row has one.

    Examples
    --------
    >>> import numpy as np
    >>> import fastbin as fb
    >>> rng = np.random.default_rng(0)
    >>> segments = rng.choice(["north", "south"], 2000)
    >>> scores = rng.random(2000)
    >>> labels = rng.random(2000) < np.where(segments == "north", scores, scores**2)
    >>> cal = fb.multi.SegmentedBinning(fb.UniformMassBinning(5)).fit(scores, labels, segments)
    >>> cal.predict([0.5, 0.5], ["north", "south"]).round(2)
    array([0.48, 0.23])
    """

    calibrator: Any = None
    _: KW_ONLY
    thin: str = "pool"
    min_points: int = 50
    unknown: str = "refuse"

    _fit_call: ClassVar[str] = "fit(scores, labels, segments)"

    @shared_docs(FIT_PARAMETERS)
    def fit(self, scores: Any, labels: Any, segments: Any, sample_weight: Any = None, *, positive: Any = None) -> Self:
        """Fit to calibration samples that the classifier was not trained on.

        Parameters
        ----------
        {scores}
        {labels}
        segments : array-like of shape (n,)
            The key of each row: integers, or texts; arrays, lists, categorical columns of pandas or Arrow.
        sample_weight : array-like of shape (n,), optional
            As for `calibrator`.
        {positive}

        {Returns}

        {Raises}

        Warns
        -----
        FastbinWarning
            Where fits of segments warn, once for all of a kind (the test for scores of the other class shares its level among
            all models); and where ``unknown="pool"`` finds no pool, because no segment is thin: the set refuses unknown
            segments then.
        """
        told: list[str] = []
        self._fit_columns(Given(scores, labels, sample_weight, positive), segments, told)
        for text in told:
            warn(text, stacklevel=2)
        return self

    def _fit_columns(self, given: Given, segments: Any, told: list[str], name: str = "segments") -> Self:
        """As `fit`; what is to be warned of goes to `told`, and messages call the segments so."""

        def fit_all(method: BinaryMethod, kind: CellKind) -> FittedSet:
            check_same_index(scores=given.scores, labels=given.labels, segments=segments, sample_weight=given.sample_weight)
            return fit_set(method, given, *code_cells(segments, name), kind)

        return self._fit_by(fit_all, told, event_of(given.positive))

    def _fit_by(self, fit_all: Callable[[BinaryMethod, CellKind], FittedSet], told: list[str], event: str = "") -> Self:
        """The same by any function that fits all models."""
        method = binary_method(self.calibrator, min_points=self.min_points)
        check_choice(self.thin, "thin", THIN)
        check_choice(self.unknown, "unknown", UNKNOWN)
        if self.unknown == "pool" and self.thin != "pool":
            problem = "is 'pool' and ", Wording("thin is", "--thin is"), " 'refuse', which makes no pool"
            raise InputError(problem, ("pass ", by_name("thin", "pool")), argument="unknown", value="pool")
        named = event if self._event is None else self._event
        kind = CellKind("segments", "segment", "segments", self.thin, self.unknown)
        self.model_, told_by = fit_all(method, kind._replace(event=named, provenance=provenance_of(self, method)))
        told += warnings_of(told_by, self.model_.n_models)
        if self.model_.unknown != self.unknown:
            told.append(f"no segment has fewer than {method.needed} samples, so no pool was made; unknown segments are refused")
        return self

    def predict(
        self, scores: Any, segments: Any, *, tie_keys: Any = None, seed: int | None = None, out: Any = None, nan: str = "error"
    ) -> Float64s:
        """float64 (n,): calibrated probabilities, each by the model of its segment; see `ModelSet.predict`."""
        with _about_segments(scores, segments):
            return self.model_.predict(scores, segments, tie_keys=tie_keys, seed=seed, out=out, nan=nan)

    @alpha_by_name
    def predict_interval(
        self, scores: Any, segments: Any, *, alpha: float = 0.1, bound: IntervalBound = "clopper-pearson",
        simultaneous: bool = True, at: At | None = None, tie_keys: Any = None, seed: int | None = None, nan: str = "error",
    ) -> Float64s:  # fmt: skip
        """float64 (n, 2): the interval of each row in the model of its segment; see `ModelSet.predict_interval`."""
        options: dict[str, Any] = {"alpha": alpha, "bound": bound, "simultaneous": simultaneous, "at": at}
        with _about_segments(scores, segments):
            return self.model_.predict_interval(scores, segments, **options, tie_keys=tie_keys, seed=seed, nan=nan)

    def predict_set(
        self, scores: Any, segments: Any, *, alpha: float = 0.1, tie_keys: Any = None, seed: int | None = None
    ) -> Bools:
        """bool (n, 2): whether 0, and whether 1, is in the prediction set of each row; see `ModelSet.predict_set`."""
        with _about_segments(scores, segments):
            return self.model_.predict_set(scores, segments, alpha=alpha, tie_keys=tie_keys, seed=seed)

    certificate = asks_model(ModelSet.certificate)
    certificates = ModelSet.certificates


@contextmanager
def _about_segments(scores: Any, segments: Any) -> Iterator[None]:
    """Errors about the cells of a set, raised inside, as errors about segments."""
    try:
        yield
        return
    except ArgumentError as error:
        told = error.about("segments") if error.argument == "cells" else error
    if told.argument is None and hasattr(scores, "__len__") and hasattr(segments, "__len__"):
        check_same_length(scores=scores, segments=segments)  # of which a set says "cells"
    raise told
