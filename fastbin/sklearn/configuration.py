"""What a calibrated classifier is configured with, checked, and what that says about its promise."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import wraps
from numbers import Integral
from typing import Any, ParamSpec

import numpy as np
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from fastbin._base.errors import InputError, InputTypeError
from fastbin.sklearn.splits import Subset

P = ParamSpec("P")
WEIGHT_KINDS = ("importance", "frequency")


# What other libraries call the calibrator, and how it is said here.
METHODS = {
    "isotonic": "fastbin.IsotonicCalibration(interpolate=True)",
    "sigmoid": "fastbin.PlattScaling()",
    "temperature": "fastbin.TemperatureScaling()",
}


def names_the_calibrator(init: Callable[P, None]) -> Callable[P, None]:
    """An ``__init__`` that says in words what `CalibratedClassifierCV` calls ``method``."""

    @wraps(init)
    def ask(*arguments: P.args, **options: P.kwargs) -> None:
        if "method" in options:
            said = METHODS.get(str(options["method"]), "fastbin.PlattScaling()")
            remedy = f"a calibrator is an object here: pass calibrator={said}, or leave it out"
            raise InputTypeError(None, remedy, argument="method", value=options["method"])
        init(*arguments, **options)

    return ask


def estimator_of(estimator: Any) -> Any:
    """The classifier to train, or the frozen one; by default a logistic regression, which takes weights."""
    if estimator is None:
        estimator = LogisticRegression()
        if get_config()["enable_metadata_routing"]:
            estimator.set_fit_request(sample_weight=True)
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        kind = f"the class {estimator.__name__}" if isinstance(estimator, type) else f"of type {type(estimator).__name__}"
        raise InputTypeError(f"is {kind}", "pass a classifier, such as LogisticRegression()", argument="estimator")
    return estimator


def seed_of(random_state: Any) -> int:
    """The seed of a fit: the one that is given, or one that a RandomState, or nobody, draws."""
    if random_state is None:
        return secrets.randbits(31)
    if isinstance(random_state, Integral):
        check_random_state(random_state)  # refuses what is no seed
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_ensemble(ensemble: Any) -> None:
    """Refuse what `CalibratedClassifierCV` does by default."""
    if ensemble not in (False,):
        raise InputError(
            None,
            "an average of several calibrated classifiers has no model to save and no certificate: leave it out, and give cv "
            "where all rows shall train and calibrate",
            argument="ensemble",
            value=ensemble,
        )


def check_parts(estimator: Any, holdout: Any, cv: Any) -> None:
    """Refuse more than one answer to the question which rows train and which calibrate."""
    if holdout is not None and cv is not None:
        remedy = "give one of the two: with holdout there is a certificate, with cv all rows train and calibrate"
        raise InputError(f"is {holdout!r} and cv is {cv!r}", remedy, argument="holdout", value=holdout)
    if isinstance(estimator, FrozenEstimator) and (holdout is not None or cv is not None):
        name = "cv" if holdout is None else "holdout"
        raise InputError("is frozen, and all rows calibrate it", f"leave out {name}", argument="estimator")


def reason_to_void(whole: Subset, cv: Any, sample_weight_kind: str) -> str | None:
    """Why nothing can be certified of a fit to these rows; ``None`` where it can."""
    if cv is not None:
        return (
            "cv was given, so the calibrator has seen scores of other fits of the estimator than the one that serves; pass "
            "holdout, or FrozenEstimator(classifier) and rows that it was not trained on"
        )
    if whole.weights is None:
        return None
    if sample_weight_kind == "importance":
        return (
            "sample_weight has weights other than 0 and 1, so the rows are no draws from the population; if they count equal "
            "rows, pass them as integers, with sample_weight_kind='frequency'"
        )
    if whole.weights.dtype.kind == "f":
        problem = f"is {whole.weights[0]}, a float, and sample_weight_kind is 'frequency'"
        remedy = "frequencies are integers: pass sample_weight.astype(int)"
        raise InputTypeError(problem, remedy, argument="sample_weight", at=whole.at[0])
    return None
