"""The parts of a model: one table of them, and how they are checked before C takes them.

A part that is added to a model gets its row here, and with it its check in `from_parts`, its place in copies, and its member of
JSON with the limits that reading names. C, the membrane and FORMAT.md have their own lines for it: see CONTRIBUTING.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastbin._base.array_types import Array
from fastbin._base.checks import check_event, check_integer, check_number
from fastbin._base.errors import InputError, InputTypeError
from fastbin._base.frames import masked_entries
from fastbin._core.schemes import ClassRate, ClassRates, code_of

Limit = float | str | None


class Field(NamedTuple):
    """One part of a model, by the name that it has in `from_parts`, in JSON and as an attribute.

    Attributes
    ----------
    name : str
    kind : str
        Of a single value: "word" (an enumerator), "integer", "number", "text", "key" (64 bits in hexadecimal) or "other"; of
        arrays: "numbers", "integers" or "keys".
    axis : {"", "edges", "steps", "bins", "starts", "knots", "slices", "cuts"}
        What an array has an entry for; "starts" are bins of a model with steps, and nothing of any other; "cuts" lie between
        slices.
    width : int
        The columns of an array of two dimensions; 0 for one dimension.
    low, high : float, str or None
        What the value, or each entry, lies between: a number, or the part that is the limit, entry by entry.
    absent : Any
        The value that JSON leaves out; `ALWAYS` where it has the member in any case.
    """

    name: str
    kind: str
    axis: str = ""
    width: int = 0
    low: Limit = None
    high: Limit = None
    absent: Any = None

    @property
    def dtype(self) -> type[Any]:
        return {"integers": np.int64, "keys": np.uint64}.get(self.kind, np.float64)


ALWAYS = object()

# In the order of JSON. `score_range` is two members there, and a note that is not text is written as `note_bytes`.
FIELDS = (
    *(Field(name, "word", absent=ALWAYS) for name in ("kind", "scheme", "ties", "map")),
    Field("map_parameters", "other", absent=ALWAYS),
    Field("score_min", "other", absent=ALWAYS),
    Field("score_max", "other", low="score_min", absent=ALWAYS),
    Field("out_of_range", "word", absent=ALWAYS),
    Field("n_bins_asked", "integer", low=0, absent=ALWAYS),
    Field("n_samples", "integer", low=0, absent=ALWAYS),
    Field("n_positive", "integer", low=0, high="n_samples", absent=ALWAYS),
    Field("n_tied", "integer", low=0, high="n_samples", absent=ALWAYS),
    Field("seed", "integer", absent=ALWAYS),
    Field("delta", "number", low=0.0, high=1.0, absent=ALWAYS),
    Field("odds_ratio", "number", low=5e-324, absent=ALWAYS),
    Field("weights", "word", absent="given"),
    Field("sampling_rate", "number", low=0.0, high=1.0, absent=0.0),
    Field("edges_share", "number", low=0.0, high=1.0, absent=0.0),
    Field("clip", "number", low=0.0, high=0.5, absent=0.0),
    Field("fingerprint", "key", absent=0),
    Field("rates", "other"),
    Field("note", "text", absent=""),
    Field("note_bytes", "other", absent=b""),
    Field("event", "text", absent=""),
    Field("provenance", "text", absent=""),
    Field("accept_above", "other", absent=np.inf),
    Field("reject_below", "other", high="accept_above", absent=-np.inf),
    Field("decision", "text", absent=""),
    Field("edges", "numbers", "edges"),
    Field("edge_keys", "keys", "edges"),
    Field("values", "numbers", "steps", low=0.0, high=1.0),
    Field("first_step", "integers", "starts"),
    Field("counts", "integers", "bins", low=0, high="n_samples"),
    Field("label_sums", "integers", "bins", low=0, high="counts"),
    Field("weight_sums", "numbers", "bins", low=0.0),
    Field("weighted_label_sums", "numbers", "bins", low=0.0),
    Field("weight_square_sums", "numbers", "bins", low=0.0),
    Field("tie_counts", "integers", "bins", 3, low=0),
    Field("atom_counts", "integers", "bins", 2, low=0),
    Field("pool_counts", "integers", "bins", low="counts"),
    Field("population_counts", "integers", "bins", low="counts"),
    Field("step_counts", "integers", "steps", low=0, high="n_samples"),
    Field("unlabelled_counts", "integers", "steps", low=0),
    Field("pairs", "numbers", "steps", 2, low=0.0, high=1.0),
    Field("knots", "numbers", "knots", 3),
    Field("slice_cuts", "numbers", "cuts"),
    Field("slice_label_sums", "integers", "slices", low=0, high="n_samples"),
)
COLUMNS = {field.name: field for field in FIELDS if field.axis}
# What an integer may be; C checks the rest.
RANGES = {"n_bins_asked": (-(2**63), 2**31 - 1), "seed": (0, 2**64 - 1), "fingerprint": (0, 2**64 - 1)}
OF_KIND = {
    kind: tuple(field.name for field in FIELDS if field.kind == kind) for kind in ("word", "integer", "key", "number")
}  # fmt: skip
# What `from_parts` takes in another form than JSON has it, and what it takes and a model shows by the same name, as it is.
OTHERWISE = (
    "map", "map_parameters", "score_min", "score_max", "note_bytes", "provenance", "accept_above", "reject_below", "decision",
)  # fmt: skip
PARTS = (*(field.name for field in FIELDS if field.name not in OTHERWISE), "score_range")

NO_RATE = (0, 0.0, 0, 0)
MOST_BYTES_OF_A_DECISION = 4_194_304  # FASTBIN_MAX_DECISION_SIZE


class DecisionParts(NamedTuple):
    """A decision as C takes it."""

    accept_above: float = 0.0
    reject_below: float = 0.0
    record: bytes = b""  # empty for none


def rate_part(rate: ClassRate | None) -> tuple[int, float, int, int]:
    """A class rate as C takes it."""
    if rate is None:
        return NO_RATE
    if not isinstance(rate, ClassRate):
        raise InputTypeError(f"holds {rate!r:.100}, which is neither a ClassRate nor None", argument="rates", value=rate)
    return (
        code_of("origin", rate.origin),
        check_number(rate.rate, "rate of a class rate", exact=True),
        check_integer(rate.n_samples, "n_samples of a class rate"),
        check_integer(rate.n_positive, "n_positive of a class rate"),
    )


def decision_part(decision: Any) -> DecisionParts:
    """A decision as C takes it, of one, of the parts of one that a model carries already, or of ``None``."""
    if decision is None:
        return DecisionParts()
    if isinstance(decision, DecisionParts):
        return decision
    if not all(hasattr(decision, name) for name in ("accept_above", "reject_below", "to_json")):
        remedy = "pass a Decision of fastbin.decide, or None"
        raise InputTypeError(f"is of type {type(decision).__name__}", remedy, argument="decision")
    above, below = decision.accept_above, decision.reject_below
    if not below <= above:
        raise InputError(f"rejects below {below!r} and accepts above {above!r}", "bands must not overlap", argument="decision")
    record = decision.to_json().encode()
    if len(record) > MOST_BYTES_OF_A_DECISION:
        remedy = f"a model holds at most {MOST_BYTES_OF_A_DECISION}"
        raise InputError(f"is {len(record)} bytes of JSON", remedy, argument="decision")
    return DecisionParts(above, below, record)


def check_range(score_range: Any) -> tuple[float, float]:
    """The ends of a range of scores, infinite ones for None."""
    if score_range is None:
        return -np.inf, np.inf
    if not isinstance(score_range, (tuple, list, np.ndarray)) or len(score_range) != 2:
        raise InputTypeError(f"must be (low, high) or None, got {score_range!r}", argument="score_range", value=score_range)
    low, high = (check_number(end, f"score_range[{i}]", exact=True) for i, end in enumerate(score_range))
    return low, high


def check_parameters(parameters: Any) -> tuple[float, ...]:
    """The parameters of a map; C has room for four."""
    if not isinstance(parameters, (tuple, list, np.ndarray)):
        raise InputTypeError(f"must be a tuple of numbers, got {parameters!r}", argument="map_parameters", value=parameters)
    if len(parameters) > 4:
        raise InputError(f"has {len(parameters)} entries", "a map has at most 4", argument="map_parameters")
    return tuple(check_number(parameter, f"map_parameters[{i}]", exact=True) for i, parameter in enumerate(parameters))


def native_parts(**parts: Any) -> dict[str, Any]:
    """The parts of a model as `ModelOwner._create` takes them: words as numbers, arrays and integers checked."""
    words = {name: code_of(name, parts[name]) for name in OF_KIND["word"]}
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
        **words,
        **{name: check_integer(parts[name], name, *RANGES.get(name, ())) for name in (*OF_KIND["integer"], *OF_KIND["key"])},
        **{name: check_number(parts[name], name, exact=True) for name in OF_KIND["number"]},
        "map_parameters": check_parameters(parts["map_parameters"]),
        "score_min": low,
        "score_max": high,
        "note": note.encode(),
        "event": check_event(parts["event"]),
        "decision": tuple(decision_part(parts["decision"])),
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
    lengths = {"edges": n_edges, "steps": n_values, "bins": n_bins, "starts": n_bins if kind == "step" else 0}
    lengths["knots"] = 0 if knots is None else len(knots) if knots.ndim else 1
    lengths["slices"] = 0 if columns["slice_label_sums"] is None else columns["slice_label_sums"].size
    lengths["cuts"] = max(0, lengths["slices"] - 1)
    for name, column in columns.items():
        field = COLUMNS[name]
        shape = (lengths[field.axis], field.width) if field.width else (lengths[field.axis],)
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
    for names in (
        ("counts", "label_sums"), ("slice_cuts", "slice_label_sums"),
        ("weight_sums", "weighted_label_sums", "weight_square_sums"),
    ):  # fmt: skip
        if len({columns[name] is None for name in names}) > 1:
            raise InputError(f"{', '.join(names[:-1])} and {names[-1]} come together or not at all")
    return columns


def _column(given: Any, name: str) -> Array:
    """One array in the type that C takes, where that loses nothing."""
    if masked_entries(given) is not None:
        raise InputError("has masked entries", "a model needs all of them", argument=name)
    dtype = COLUMNS[name].dtype
    # Lists entry by entry: NumPy makes doubles of small and large integers, and numbers of bool among numbers.
    entries = _entries(given, name, dtype) if isinstance(given, (list, tuple)) else given
    try:
        array = np.asarray(entries, None if entries is given else dtype)
    except ValueError as error:
        raise InputError("has rows of different lengths", argument=name) from error
    if array.size == 0:
        return np.zeros(array.shape, dtype)
    if array.dtype.kind not in ("iuf" if dtype is np.float64 else "iu"):
        kind = "real numbers" if dtype is np.float64 else "integers"
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
            return check_number(entry, place, exact=True)
        return check_integer(entry, place, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))

    return [checked(entry, f"{name}[{i}]") for i, entry in enumerate(given)]
