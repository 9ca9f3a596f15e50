"""How a model came about: what of that no other part of its file says, as canonical JSON.

`made_by` lists the steps in their order, the calibrator that was fitted first, each with its whole configuration. Clock time,
names of columns and files, threads and batches do not belong here: the same rows give the same bytes wherever they are counted.
csrc/FORMAT.md ("Provenance") is the specification.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from numbers import Real
from operator import attrgetter, is_
from typing import Any, Generic, TypeVar

import numpy as np

from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.shown import how_many, printable
from fastbin._core.score import library_version

# What the file may hold, and from how many entries on an array is told by its digest.
MOST_BYTES, MOST_ENTRIES = 2**16, 64

# Characters of the steps, as a line shows them.
MOST_SHOWN = 1_000

# Members that the model says itself, each in one place.
OF_MODEL = ("event", "fingerprint", "n_positive", "n_samples", "seed")

T = TypeVar("T")


class LastMade(Generic[T]):
    """A function of a configuration that keeps its last answer for each class, and answers anew for other objects.

    Writing or checking a configuration takes as long as half the fit of a small sample. Nothing is kept of objects that can
    change, nor where a seed is to be drawn.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._kept: dict[type, tuple[tuple[Any, ...], T]] = {}

    def __call__(self, estimator: Any) -> T:
        kind: Any = type(estimator)
        values = _values_of(kind)(estimator)
        kept = self._kept.get(kind)
        if kept is not None and all(map(is_, kept[0], values)):
            return kept[1]
        made = self._make(estimator)
        if all(map(_is_plain, values)) and getattr(estimator, "seed", 0) is not None:
            self._kept[kind] = values, made
        return made


def of_estimator(estimator: Any, seed: int | None = None, **said: Any) -> bytes:
    """The provenance of what an estimator has fitted, with the seed of the fit; `said` are parameters as they were used."""
    if not said and getattr(estimator, "seed", 0) is not None:
        return _text_of_last(estimator)
    given = {**estimator.get_params(), **said}
    drawn = given.get("seed", 0) is None
    return _text([_step(type(estimator).__name__, {**given, "seed": seed} if drawn else given)])


@cache
def _values_of(kind: Any) -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives all parameters of an estimator at once."""
    names = kind._parameter_names()
    return attrgetter(*names) if len(names) > 1 else lambda estimator: tuple(getattr(estimator, name) for name in names)


_text_of_last = LastMade(lambda estimator: _text([_step(type(estimator).__name__, estimator.get_params())]))


def of_fit(name: str, **configuration: Any) -> bytes:
    """The provenance of what was fitted without an estimator's configuration, by the name of the class."""
    return _text([_step(name, configuration)])


def with_step(text: bytes, function: str, **said: Any) -> bytes:
    """A provenance with one more step, a function and what of its arguments is kept; what nothing is known of stays so."""
    stated = stated_by(text)
    if stated is None:
        return b""
    return _text([*_steps_of(stated), {"function": function, **said}])


def with_estimator(text: bytes, estimator: Any, **said: Any) -> bytes:
    """A provenance with the step of an estimator that was given a model."""
    stated, own = stated_by(text), stated_by(of_estimator(estimator, **said))
    return b"" if stated is None or own is None else _text([*_steps_of(stated), *_steps_of(own)])


def with_shares(text: bytes, shares: dict[str, Any]) -> bytes:
    """A provenance with the counts at cuts in its last step, on which the interval of a class rate rests."""
    stated = stated_by(text)
    steps = [{}] if stated is None else _steps_of(stated)
    return _text([*steps[:-1], {**steps[-1], "shares": shares}])


def stated_by(text: bytes) -> dict[str, Any] | None:
    """A provenance as a dict; ``None`` for none. Text of a file from elsewhere that is not a JSON object is shown as it is."""
    import json

    if not text:
        return None
    try:
        stated = json.loads(text)
        json.dumps(stated, allow_nan=False, ensure_ascii=False).encode()  # no NaN, 1e999 or half of a surrogate pair
    except (ValueError, RecursionError):
        stated = None
    return stated if isinstance(stated, dict) else {"text": text.decode("utf8", errors="replace")}


def in_words(model: Any) -> str:
    """How a model or a set came about, in one line; "" where that is not known."""
    stated = model.provenance
    if stated is None:
        return ""
    steps = [_step_in_words(step) for step in _steps_of(stated)]
    told = [how_many(model.n_samples, "sample") + (f" ({model.n_positive:,} positive)" if hasattr(model, "n_positive") else "")]
    told += [f"seed {model.seed}", f"fingerprint {model.fingerprint:016x}"] if hasattr(model, "fingerprint") else []
    version = [f"fastbin {stated['version']}"] if "version" in stated else []
    return printable(", ".join([_short(" > ".join(steps), MOST_SHOWN), *told, *version]))


def _step_in_words(step: Any) -> str:
    if not isinstance(step, dict) or not isinstance(step.get("configuration", {}), dict):
        return repr(step)
    if "calibrator" in step:
        return f"{step['calibrator']}({_arguments(step.get('configuration', {}))})"
    said = {name: value for name, value in step.items() if name != "function"}
    return str(step.get("function", step)) + (f"({_arguments(said)})" if "function" in step and said else "")


def _arguments(said: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in said.items())


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def text_of(provenance: Any, **of_model: Any) -> bytes:
    """The text of what `from_parts` is given; members that the model says itself must agree with it, and are left out."""
    if provenance is None or isinstance(provenance, bytes):
        return provenance or b""
    if not isinstance(provenance, Mapping):
        remedy = "pass a dict, as model.provenance shows it"
        raise InputTypeError(f"is of type {type(provenance).__name__}", remedy, argument="provenance")
    for name in OF_MODEL:
        if name in provenance and provenance[name] != of_model[name]:
            raise InputError(f"says {name}={provenance[name]!r}, and the model has {of_model[name]!r}", argument="provenance")
    return canonical({name: value for name, value in provenance.items() if name not in OF_MODEL})


def canonical(value: Mapping[str, Any]) -> bytes:
    """A JSON object in the one way to write it: members in order, no blanks, UTF-8, finite numbers."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"is not what JSON can hold: {error}", argument="provenance") from None
    if len(text) > MOST_BYTES:
        raise InputError(f"is {len(text)} bytes of JSON", f"a model holds at most {MOST_BYTES}", argument="provenance")
    return text


def _text(steps: list[dict[str, Any]]) -> bytes:
    return canonical({"made_by": steps, "version": library_version()})


def _steps_of(stated: dict[str, Any]) -> list[Any]:
    """The steps so far; of a text from elsewhere all of it is one."""
    steps = stated.get("made_by")
    return steps if isinstance(steps, list) else [stated]


def _step(name: str, configuration: dict[str, Any]) -> dict[str, Any]:
    # A parameter that came later is left out where it does nothing, so that the bytes of other fits stay what they were.
    said = {name: _plain(value) for name, value in configuration.items() if (name, value) != ("sampling_rate", 1.0)}
    return {"calibrator": name, "configuration": said}


def _is_plain(value: Any) -> bool:
    """Whether this value cannot change, so that the same object is the same value."""
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def _plain(value: Any) -> Any:
    """A parameter as JSON: objects by their configuration, models by their digest, long arrays by length and digest."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, np.generic):
        return _plain_number(value.item())
    if isinstance(value, Real):
        return _plain_number(float(value))
    if hasattr(value, "to_bytes"):
        return {"sha256": _sha256(value.to_bytes())}
    if hasattr(type(value), "_parameter_names"):
        said = _step(type(value).__name__, value.get_params())
        fitted = value.__dict__.get("_model")
        return said if fitted is None else {**said, "sha256": _sha256(fitted.to_bytes())}
    if isinstance(value, (tuple, list, np.ndarray)) or hasattr(value, "__array__"):
        return _plain_entries(value)
    return {"type": type(value).__qualname__}


def _plain_number(number: Any) -> Any:
    """A number as JSON: whole ones without a fraction, as (0, 1) and (0.0, 1.0) are the same range."""
    if not isinstance(number, float):
        return number
    if not math.isfinite(number):
        return repr(number)
    return int(number) if number.is_integer() and abs(number) < 2.0**53 else number


def _plain_entries(values: Any) -> Any:
    array = np.asarray(values)
    if array.ndim == 0:
        return _plain(array.item())
    if array.size <= MOST_ENTRIES:
        return [_plain(each) for each in array.tolist()]
    numbers = np.ascontiguousarray(array, "<f8") if array.dtype.kind in "iuf" else None
    data = repr(array.tolist()).encode("utf8", "surrogatepass") if numbers is None else numbers.tobytes()
    return {"length": len(array), "sha256": _sha256(data)}


def _sha256(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()
