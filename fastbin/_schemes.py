"""The table of schemes, the words for the other enumerators, class rates, and checks of the parts of a model."""

from __future__ import annotations

import numbers
import operator
from typing import Any, NamedTuple

import numpy as np

from fastbin._errors import InputError, InputTypeError
from fastbin._scalars import check_event
from fastbin._typing import Array


class Scheme(NamedTuple):
    """What there is to know of one way to a model."""

    code: int  # its enumerator in fastbin.h
    title: str
    ties: tuple[str, ...] = ("none",)  # the rules for ties that its fit has
    label_free: bool = False  # its edges never looked at a label: given them, label sums of bins are binomial
    averages_boundary: bool = False  # a boundary sample, which is not a draw from its bin, is averaged there
    continuable: bool = False  # its tally holds independent draws from its bins, and nothing else


# Rules for equal scores at a boundary among the samples.
DIVIDING = ("whole", "random", "upper")

SCHEMES = {
    "other": Scheme(0, "step function of unknown origin"),
    "umd": Scheme(1, "uniform-mass binning without sample splitting (umd)", DIVIDING, True, continuable=True),
    "ze": Scheme(2, "uniform-mass binning, boundary labels averaged (ze)", DIVIDING, True, averages_boundary=True),
    "ums": Scheme(3, "uniform-mass binning with sample splitting (ums)", DIVIDING, True, continuable=True),
    "umb": Scheme(4, "uniform-mass binning, bins closed on the right (umb)", ("whole", "random"), True, averages_boundary=True),
    "fixed-width": Scheme(10, "fixed-width binning", label_free=True, continuable=True),
    "explicit": Scheme(11, "binning at edges given in advance", label_free=True, continuable=True),
    "scaling-binning": Scheme(20, "scaling-binning", DIVIDING, label_free=True),
    "certified": Scheme(
        21, "evidence bins of uniform mass with finer values inside (certified)", ("whole",), True, continuable=True
    ),
    "isotonic": Scheme(30, "isotonic regression"),
    "platt": Scheme(40, "Platt scaling"),
    "temperature": Scheme(41, "temperature scaling"),
    "beta": Scheme(42, "beta calibration"),
    "quadratic": Scheme(43, "quadratic map of the logit"),
    "spline": Scheme(44, "natural spline of the logit"),
}

# Words for the enumerators of fastbin.h; tests/test_header.py compares the two.
SCHEME_WORDS = {scheme.code: word for word, scheme in SCHEMES.items()}
KINDS = {0: "step", 1: "linear", 2: "smooth"}
MAPS = {0: "none", 1: "logistic", 2: "beta", 3: "quadratic", 4: "spline"}
TIES = {0: "none", 1: "random", 2: "upper", 3: "lower", 4: "isolate", 5: "whole"}
TIES_CODES = {word: code for code, word in TIES.items()}
RATE_ORIGINS = {0: "none", 1: "given", 2: "counted", 3: "estimated"}
OUT_OF_RANGE = {0: "refuse", 1: "clip"}
OUT_OF_RANGE_CODES = {word: code for code, word in OUT_OF_RANGE.items()}
WEIGHTS = {0: "given", 1: "estimated"}
# What `from_parts` takes and a model shows by the same name.
PARTS = (
    "edges", "edge_keys", "values", "counts", "label_sums", "weight_sums", "weighted_label_sums", "weight_square_sums", "kind",
    "scheme", "ties", "n_bins_asked", "n_samples", "n_positive", "n_tied", "score_range", "delta", "odds_ratio", "seed", "note",
    "event", "pairs", "rates", "out_of_range", "weights", "fingerprint", "first_step", "step_counts", "unlabelled_counts",
    "tie_counts", "edges_share", "clip", "knots",
)  # fmt: skip

WORDS = {
    "kind": KINDS, "map": MAPS, "ties": TIES, "scheme": SCHEME_WORDS, "origin": RATE_ORIGINS, "out_of_range": OUT_OF_RANGE,
    "weights": WEIGHTS,
}  # fmt: skip

DTYPES = {"edge_keys": np.uint64} | dict.fromkeys(
    ("counts", "label_sums", "first_step", "step_counts", "unlabelled_counts", "tie_counts"), np.int64
)


class ClassRate(NamedTuple):
    """P(Y = 1) in one population, and how it is known.

    Attributes
    ----------
    origin : {"given", "counted", "estimated"}
        Taken as exact; the share of label 1 among labels that were counted; or estimated from scores without labels.
    rate : float in (0, 1)
        The rate that the values were moved by.
    n_samples, n_positive : int
        "counted": the labels counted, and how many of them are 1. "estimated": the scores looked at, and 0. "given": 0 and 0.
    """

    origin: str
    rate: float
    n_samples: int = 0
    n_positive: int = 0


class ClassRates(NamedTuple):
    """The class rates by which label shift moved the values of a model."""

    source: ClassRate
    target: ClassRate


NO_RATE = (0, 0.0, 0, 0)


def rate_part(rate: ClassRate | None) -> tuple[int, float, int, int]:
    """A class rate as C takes it."""
    if rate is None:
        return NO_RATE
    return (
        code_of("origin", rate.origin),
        check_number(rate.rate, "rate of a class rate"),
        check_integer(rate.n_samples, "n_samples of a class rate"),
        check_integer(rate.n_positive, "n_positive of a class rate"),
    )


def rates_of_parts(parts: tuple[tuple[int, float, int, int], ...]) -> ClassRates | None:
    """The class rates as C has them; ``None`` for a model that was not moved."""
    if parts[0][0] == 0:
        return None
    return ClassRates(*(ClassRate(RATE_ORIGINS[origin], *rest) for origin, *rest in parts))  # type: ignore[arg-type]


def code_of(name: str, word: str) -> int:
    """The number of a word: code_of("ties", "upper") is 2."""
    for code, known in WORDS[name].items():
        if known == word:
            return code
    raise InputError(None, f"choose one of {', '.join(map(repr, WORDS[name].values()))}", argument=name, value=word)


def check_integer(value: Any, name: str, low: int = -(2**63), high: int = 2**63 - 1) -> int:
    """An integer that C can hold; nothing is rounded."""
    integer: Any = None if isinstance(value, bool) else value
    try:
        number = operator.index(integer)
    except TypeError as error:
        raise InputTypeError(f"must be an integer, got {value!r}", argument=name, value=value) from error
    if not low <= number <= high:
        raise InputError(None, f"it must lie between {low} and {high}", argument=name, value=number)
    return number


def check_number(value: Any, name: str) -> float:
    """A real number as the double that equals it; bool, text and complex numbers are none."""
    if isinstance(value, (bool, np.bool_, np.complexfloating)) or not isinstance(value, (numbers.Real, np.number)):
        raise InputTypeError(f"must be a real number, got {value!r}", argument=name, value=value)
    exact = value.item() if isinstance(value, np.integer) else value  # as Python's integer it compares exactly
    try:
        number = float(exact)
    except OverflowError:
        number = np.inf
    if number == number and number != exact:
        raise InputError(f"is {value}, which float64 does not hold", argument=name, value=value)
    return number


def check_range(score_range: Any) -> tuple[float, float]:
    """The ends of a range of scores, infinite ones for None."""
    if score_range is None:
        return -np.inf, np.inf
    if not isinstance(score_range, (tuple, list, np.ndarray)) or len(score_range) != 2:
        raise InputTypeError(f"must be (low, high) or None, got {score_range!r}", argument="score_range", value=score_range)
    return check_number(score_range[0], "score_range[0]"), check_number(score_range[1], "score_range[1]")


def check_parameters(parameters: Any) -> tuple[float, ...]:
    """The parameters of a map; C has room for four."""
    if not isinstance(parameters, (tuple, list, np.ndarray)):
        raise InputTypeError(f"must be a tuple of numbers, got {parameters!r}", argument="map_parameters", value=parameters)
    if len(parameters) > 4:
        raise InputError(f"has {len(parameters)} entries", "a map has at most 4", argument="map_parameters")
    return tuple(check_number(parameter, f"map_parameters[{i}]") for i, parameter in enumerate(parameters))


COLUMNS = (
    "edges", "edge_keys", "values", "counts", "label_sums", "weight_sums", "weighted_label_sums", "weight_square_sums", "pairs",
    "first_step", "step_counts", "unlabelled_counts", "tie_counts", "knots",
)  # fmt: skip
INTEGERS = {
    "n_bins_asked": (-(2**63), 2**31 - 1), "n_samples": (-(2**63), 2**63 - 1), "n_positive": (-(2**63), 2**63 - 1),
    "n_tied": (-(2**63), 2**63 - 1), "seed": (0, 2**64 - 1), "fingerprint": (0, 2**64 - 1),
}  # fmt: skip


def native_parts(**parts: Any) -> dict[str, Any]:
    """The parts of a model as `ModelOwner._create` takes them: words as numbers, arrays and integers checked."""
    columns = check_columns(parts["kind"], **{name: parts[name] for name in COLUMNS})
    low, high = check_range(parts["score_range"])
    note, rates = parts["note"], parts["rates"]
    if not isinstance(note, str):
        raise InputTypeError(f"must be text, got {note!r}", argument="note", value=note)
    if rates is not None and not isinstance(rates, ClassRates):
        raise InputTypeError(f"must be ClassRates or None, got {rates!r}", argument="rates", value=rates)
    seen = columns["counts"] if columns["step_counts"] is None else columns["step_counts"]
    for name, column in (("n_samples", seen), ("n_positive", columns["label_sums"])):
        if parts[name] is None:
            parts[name] = 0 if column is None else int(column.sum())
    return {
        **columns,
        **{name: code_of(name, parts[name]) for name in ("kind", "scheme", "ties", "map", "out_of_range", "weights")},
        **{name: check_integer(parts[name], name, *limits) for name, limits in INTEGERS.items()},
        **{name: check_number(parts[name], name) for name in ("delta", "odds_ratio", "edges_share", "clip")},
        "map_parameters": check_parameters(parts["map_parameters"]),
        "score_min": low,
        "score_max": high,
        "note": note.encode(),
        "event": check_event(parts["event"]),
        "source_rate": rate_part(None if rates is None else rates.source),
        "target_rate": rate_part(None if rates is None else rates.target),
    }


def check_columns(kind: str, **values: Any) -> dict[str, Array | None]:
    """The arrays of a model as C takes them. It takes their lengths and types on trust, so they are checked here."""
    columns = {name: None if given is None else _column(given, name) for name, given in values.items()}
    n_values = 0 if columns["values"] is None else len(columns["values"])
    first_step, knots = columns["first_step"], columns["knots"]
    n_bins = n_values if first_step is None or kind != "step" else first_step.size
    n_edges = n_values if kind == "linear" else max(0, n_values - 1)
    of_values = dict.fromkeys(("values", "step_counts", "unlabelled_counts"), (n_values,))
    shapes = {"edges": (n_edges,), "edge_keys": (n_edges,), "pairs": (n_values, 2), **of_values, "tie_counts": (n_bins, 3)}
    shapes["first_step"] = (n_bins,) if kind == "step" else (0,)
    shapes["knots"] = (0 if knots is None else len(knots) if knots.ndim else 1, 3)
    for name, column in columns.items():
        shape = shapes.get(name, (n_bins,))
        if column is not None and column.shape != shape:
            bins = "" if n_bins == n_values else f" and {n_bins} bins"
            remedy = f"a {kind} model with {n_values} values{bins} needs {shape}"
            raise InputError(f"has shape {column.shape}", remedy, argument=name)
    if columns["edges"] is None and n_edges:
        raise InputError("is None", f"a {kind} model with {n_values} values needs {n_edges}", argument="edges")
    if columns["step_counts"] is None and n_bins < n_values:
        remedy = f"a model with {n_values} steps in {n_bins} bins needs the samples in each step"
        raise InputError("is None", remedy, argument="step_counts")
    for name in ("step_counts", "unlabelled_counts"):
        if first_step is None and columns[name] is not None:
            raise InputError("is given without first_step", "only bins of several steps have one", argument=name)
    for names in (("counts", "label_sums"), ("weight_sums", "weighted_label_sums", "weight_square_sums")):
        if len({columns[name] is None for name in names}) > 1:
            raise InputError(f"{', '.join(names[:-1])} and {names[-1]} come together or not at all")
    return columns


def _column(given: Any, name: str) -> Array:
    """One array in the type that C takes, where that loses nothing."""
    if np.ma.isMaskedArray(given) and np.ma.getmaskarray(given).any():
        raise InputError("has masked entries", "a model needs all of them", argument=name)
    dtype: type[Any] = DTYPES.get(name, np.float64)
    # Lists entry by entry: NumPy makes doubles of small and large integers, and numbers of bool among numbers.
    entries = _entries(given, name, dtype) if isinstance(given, (list, tuple)) else given
    try:
        array = np.asarray(entries, None if entries is given else dtype)
    except ValueError as error:
        raise InputError("has rows of different lengths", argument=name) from error
    if array.size == 0:
        return np.zeros(array.shape, dtype)
    if array.dtype.kind not in ("iu" if name in DTYPES else "iuf"):
        kind = "integers" if name in DTYPES else "real numbers"
        remedy = "convert it, so that nothing is lost unseen"
        raise InputTypeError(f"must be {kind}, got dtype {array.dtype}", remedy, argument=name)
    column = np.ascontiguousarray(array, dtype=dtype)
    if array.dtype != dtype and (array.dtype.kind in "iu" or array.dtype.itemsize > 8):
        # As Python's numbers, which compare exactly: a common type of the two could round them to the same.
        for at, (before, after) in enumerate(zip(array.flat, column.flat, strict=True)):
            if before.item() != after.item():
                raise InputError(f"is {before.item()!r}, which {np.dtype(dtype).name} does not hold", argument=name, at=at)
    return column


def _entries(given: Any, name: str, dtype: type[Any]) -> list[Any]:
    """The entries of a list, and of lists in it, each checked by itself."""

    def checked(entry: Any, place: str) -> Any:
        if isinstance(entry, (list, tuple)) or (isinstance(entry, np.ndarray) and entry.ndim):
            return _entries(entry, place, dtype)
        if dtype is np.float64:
            return check_number(entry, place)
        return check_integer(entry, place, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))

    return [checked(entry, f"{name}[{i}]") for i, entry in enumerate(given)]
