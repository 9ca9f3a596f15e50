"""The methods that ``fastbin fit`` knows, and the options each of them takes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from fastbin._base.errors import InputError
from fastbin.cli._console import option_of

if TYPE_CHECKING:
    from fastbin._fit.calibrator import Calibrator


class Method(NamedTuple):
    """Where a method's class is, and which of its parameters the name of the method determines."""

    module: str
    class_name: str
    about: str
    settled: Mapping[str, Any] = {}
    ignores: tuple[str, ...] = ()  # parameters of the class that have no effect here


def _uniform_mass(scheme: str, about: str) -> Method:
    ignores = ("edges_share",) if scheme == "ums" else ("split", "cuts")
    return Method("fastbin.binning.uniform_mass", "UniformMassBinning", about, {"scheme": scheme}, ignores)


METHODS = {
    "certified": Method(
        "fastbin.binning.certified", "CertifiedCalibration", "smooth values, certified on average in evidence bins"
    ),
    "umd": _uniform_mass("umd", "uniform mass, no sample splitting (Gupta & Ramdas 2021)"),
    "ze": _uniform_mass("ze", "uniform mass, boundary labels kept (Zadrozny & Elkan 2001)"),
    "ums": _uniform_mass("ums", "uniform mass, sample splitting (Gupta et al. 2020)"),
    "umb": _uniform_mass("umb", "uniform mass, bins closed on the right (Sun et al. 2023)"),
    "fixed-width": Method(
        "fastbin.binning.fixed", "FixedWidthBinning", "bins of one width (Gupta et al. 2020)", ignores=("scaler",)
    ),
    "scaling-binning": Method(
        "fastbin.binning.scaling_binning", "ScalingBinning", "uniform mass, means of scaled scores (Kumar et al. 2019)"
    ),
    "isotonic": Method("fastbin.binning.isotonic", "IsotonicCalibration", "values that rise with the score; no guarantee"),
    "platt": Method("fastbin.scaling", "PlattScaling", "logistic map of the score; no guarantee"),
    "temperature": Method("fastbin.scaling", "TemperatureScaling", "log-odds divided by one number; no guarantee"),
    "beta": Method("fastbin.scaling", "BetaScaling", "beta map (Kull et al. 2017); no guarantee"),
    "quadratic": Method("fastbin.scaling", "QuadraticScaling", "quadratic map of the log-odds; no guarantee"),
    "spline": Method("fastbin.scaling", "SplineScaling", "natural spline of the log-odds; no guarantee"),
}
DEFAULT = "certified"
SCALERS = ("platt", "temperature", "beta", "none")


def make_calibrator(method: str, given: Mapping[str, Any]) -> Calibrator:
    """An estimator of this method.

    Parameters
    ----------
    method
        A name of `METHODS`.
    given
        Parameters that the user has given; one that the method does not have is a usage error.
    """
    entry = METHODS[method]
    calibrator = _class_of(method)
    known = set(inspect.signature(calibrator).parameters) - set(entry.settled) - set(entry.ignores)
    for name in given:
        if name not in known:
            _refuse(name, method, [other for other in METHODS if name in _parameters(other)])
    return calibrator(**entry.settled, **given)


def check_fit(method: str, option: str, argument: str) -> None:
    """Refuse an option for a method whose fit does not take this argument."""
    supporting = [name for name in METHODS if argument in inspect.signature(_class_of(name).fit).parameters]
    if method not in supporting:
        _refuse(option, method, supporting)


def _refuse(option: str, method: str, supporting: list[str]) -> NoReturn:
    others = f"; supported by {', '.join(supporting)}" if supporting else ""
    raise click.UsageError(f"--method {method} does not support {option_of(option)}{others}")


def _class_of(method: str) -> Any:
    entry = METHODS[method]
    try:
        return getattr(import_module(entry.module), entry.class_name)
    except (ModuleNotFoundError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("fastbin"):
            raise
        raise InputError(f"method {method!r} is not in this version of fastbin") from error


def _parameters(method: str) -> set[str]:
    try:
        return set(inspect.signature(_class_of(method)).parameters) - set(METHODS[method].ignores)
    except InputError:
        return set()
