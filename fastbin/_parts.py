"""The parts that a model is made of: the words for its enumerators, and its arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError

__all__ = ["KINDS", "MAPS", "SCHEMES", "SCHEME_NAMES", "TIES", "check_columns", "code_of", "total"]

Array = npt.NDArray[Any]

# Words for the enumerators of fastbin.h; tests/test_header.py compares the two.
KINDS = {0: "step", 1: "linear", 2: "smooth"}
MAPS = {0: "none", 1: "logistic", 2: "beta"}
TIES = {0: "none", 1: "random", 2: "upper", 3: "lower", 4: "isolate"}
SCHEMES = {
    0: "other",
    1: "umd",
    2: "ze",
    3: "ums",
    4: "umb",
    10: "fixed-width",
    11: "explicit",
    20: "scaling-binning",
    30: "isotonic",
    40: "platt",
    41: "temperature",
    42: "beta",
}
# What people are told that these are, in the command line and in reports.
SCHEME_NAMES = {
    "umd": "uniform-mass binning without sample splitting (umd)",
    "ze": "uniform-mass binning, boundary labels averaged (ze)",
    "ums": "uniform-mass binning with sample splitting (ums)",
    "umb": "uniform-mass binning, bins closed on the right (umb)",
    "fixed-width": "fixed-width binning",
    "explicit": "binning at edges given in advance",
    "scaling-binning": "scaling-binning",
    "isotonic": "isotonic regression",
    "platt": "Platt scaling",
    "temperature": "temperature scaling",
    "beta": "beta calibration",
    "other": "step function of unknown origin",
}
WORDS = {"kind": KINDS, "map": MAPS, "ties": TIES, "scheme": SCHEMES}

DTYPES = {"edge_keys": np.uint64, "counts": np.int64, "label_sums": np.int64}


def code_of(name: str, word: str) -> int:
    """The number of a word: code_of("ties", "upper") is 2."""
    words = WORDS[name]
    for code, known in words.items():
        if known == word:
            return code
    raise InputError(f"{name} is {word!r}; choose one of {', '.join(map(repr, words.values()))}")


def total(column: Array | None) -> int:
    """The sum of a column, 0 for none."""
    return 0 if column is None else int(column.sum())


def check_columns(kind: str, **values: Any) -> dict[str, Array | None]:
    """The arrays of a model as C takes them. It takes their lengths on trust, so they are checked here."""
    columns = {
        name: None if given is None else np.ascontiguousarray(given, dtype=DTYPES.get(name, np.float64))
        for name, given in values.items()
    }
    n_bins = 0 if columns["values"] is None else len(columns["values"])
    n_edges = n_bins if kind == "linear" else max(0, n_bins - 1)
    for name, column in columns.items():
        wanted = n_edges if name in ("edges", "edge_keys") else n_bins
        if column is not None and column.shape != (wanted,):
            raise InputError(f"{name} has shape {column.shape}; a {kind} model with {n_bins} values needs ({wanted},)")
    if columns["edges"] is None and n_edges:
        raise InputError(f"edges is None; a {kind} model with {n_bins} values needs {n_edges}")
    if (columns["counts"] is None) != (columns["label_sums"] is None):
        raise InputError("counts and label_sums come together or not at all")
    given = [columns[name] is not None for name in ("weight_sums", "weighted_label_sums", "weight_square_sums")]
    if any(given) and not all(given):
        raise InputError("weight_sums, weighted_label_sums and weight_square_sums come together or not at all")
    return columns
