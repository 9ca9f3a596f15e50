"""Models, sets of models and vector models as JSON: everything that their files hold, for programs that read no other format.

csrc/FORMAT.md ("Models as JSON") is the schema. The text is canonical, as the file is: the same model always gives the same
text, and the text gives the same bytes back. Reading trusts nothing: what is of another type, loses a digit or is out of its
range is refused with its place.
"""

from __future__ import annotations

import json as standard_json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from fastbin._base.array_types import Array
from fastbin._base.errors import FormatError, InputError, InputTypeError
from fastbin._base.json_kinds import (
    BYTES,
    DECIMAL_TEXT,
    EXACT,
    FLAG,
    INTEGER,
    KEY_TEXT,
    NUMBER,
    TEXT,
    WORD,
    JsonKind,
    list_of,
    read_object,
    record_of,
    refused,
    shown,
    unbounded,
)
from fastbin._core.fields import ALWAYS, FIELDS, OTHERWISE, DecisionParts, Field, Limit, native_parts
from fastbin._core.schemes import RATE_ORIGINS, ClassRate, ClassRates
from fastbin._fit.calibrator import as_model_or_set
from fastbin.export.form import digest_of
from fastbin.model import BinnedModel
from fastbin.model_set import SET_KINDS, UNKNOWN, ModelSet
from fastbin.vector_model import VECTOR_KIND, VectorMap, VectorModel, as_vector_model

Whole = BinnedModel | ModelSet | VectorModel

VERSION = 1


# ------------------------------------------------------------------------------------------------- members

RATE = record_of(ClassRate, {"origin": WORD, "rate": NUMBER, "count": INTEGER, "ones": INTEGER})
RATES = record_of(ClassRates, {"source": RATE, "target": RATE})

# The members of a model, in their order. Those of `ABSENT` are there where they are not this.
SINGLE = {
    "word": WORD, "integer": INTEGER, "number": NUMBER, "text": TEXT, "key": KEY_TEXT, "integers": INTEGER, "numbers": NUMBER,
    "keys": KEY_TEXT,
}  # fmt: skip
OTHER = {
    "map_parameters": list_of(NUMBER), "score_min": unbounded(-math.inf), "score_max": unbounded(math.inf), "rates": RATES,
    "note_bytes": BYTES, "accept_above": NUMBER, "reject_below": NUMBER,
}  # fmt: skip


def _kind_of(field: Field) -> JsonKind:
    if field.kind == "other":
        return OTHER[field.name]
    single = SINGLE[field.kind]
    return list_of(single, field.dtype, field.width) if field.axis else single


MODEL_MEMBERS = {field.name: _kind_of(field) for field in FIELDS}
ABSENT = {field.name: field.absent for field in FIELDS if field.absent is not ALWAYS}


# ------------------------------------------------------------------------------------------------- models


def json(model: Any) -> str:
    """A model, a set of models, or a vector model, as JSON.

    Parameters
    ----------
    model : BinnedModel, ModelSet, VectorModel, or fitted calibrator

    Returns
    -------
    str
        ASCII. Everything that the file of the model holds, in words where the file has codes; the schema is in
        csrc/FORMAT.md, "Models as JSON". The same model gives the same text, `from_json` the same model, and `to_bytes` of
        that the same bytes. Doubles are the shortest decimal numbers that are read back as these doubles, tie keys and
        fingerprints are 16 hexadecimal digits, and integers beyond 2**53 are texts. "sha256" is the digest of the model's
        file.

    Raises
    ------
    InputTypeError
        For anything else.

    Notes
    -----
    O(n_steps) time and memory; about 60 characters a step.

    Examples
    --------
    >>> import fastbin as fb
    >>> model = fb.ExplicitBinning(edges=[0.5]).fit([0.2, 0.7, 0.9], [0, 1, 1]).model_
    >>> text = fb.export.json(model)
    >>> text.splitlines()[:3]
    ['{', '"fastbin": "model",', '"version": 1,']
    >>> fb.export.from_json(text) == model
    True
    """
    vector = as_vector_model(model)
    fitted: Whole = as_model_or_set(model) if vector is None else vector
    word = next(word for word, made in WORDS.items() if isinstance(fitted, made))
    head = {"fastbin": word, "version": VERSION, "sha256": digest_of(fitted)}
    lines = [
        *(f'"{name}": {_text(value)}' for name, value in head.items()),
        f'"{word}": {_laid_out(KINDS[word].write(fitted))}',
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def from_json(text: str | bytes) -> BinnedModel | ModelSet | VectorModel:
    """The model, the set of models, or the vector model in a text of `json`.

    Parameters
    ----------
    text : str, or bytes in UTF-8
        Blanks and the order of members do not matter; names and values do.

    Returns
    -------
    BinnedModel, ModelSet or VectorModel

    Raises
    ------
    FormatError
        For text that is not JSON, NaN and Infinity included; members that are unknown, missing or there twice, or that the
        text of this model leaves out; values of another type, infinite, -0.0 or out of range; parts that make no model; a
        digest that is not that of the model; a newer version. The message names the place, as in ``model.edges[3]``, if known.
    InputTypeError
        If `text` is neither str nor bytes.

    Notes
    -----
    O(length of the text) time and memory. The digest guards against damage, not against forgery.

    Examples
    --------
    >>> import fastbin as fb
    >>> model = fb.ExplicitBinning(edges=[0.5]).fit([0.2, 0.7, 0.9], [0, 1, 1]).model_
    >>> text = fb.export.json(model)
    >>> fb.export.from_json(text).to_bytes() == model.to_bytes()
    True
    >>> fb.export.from_json(text.replace('"edges": [0.5]', '"edges": [0.25]'))
    Traceback (most recent call last):
      ...
    fastbin.FormatError: sha256 is ..., but the model that stands there has ...; the text was changed
    """
    document = _parse(text)
    word = document.get("fastbin") if isinstance(document, dict) else None
    if not isinstance(word, str) or word not in KINDS:
        raise FormatError("not a model of fastbin: it has no member 'fastbin' that says 'model', 'set' or 'vector'")
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= EXACT:
        raise refused("version", version, "the number of a version")
    if version > VERSION:
        raise FormatError(f"version is {version}, and this fastbin reads versions up to {VERSION}; update it")
    for other in KINDS:
        if other in document and word not in document:
            raise FormatError(f"fastbin is {word!r}, but what stands there is called {other!r}; the two must be the same word")
    members = read_object(document, "", {"fastbin": WORD, "version": INTEGER, "sha256": WORD, word: KINDS[word]})
    made: Whole = members[word]
    if digest_of(made) != members["sha256"]:
        raise FormatError(
            f"sha256 is {shown(members['sha256'])}, but the {word} that stands there has {digest_of(made)!r}; "
            "the text was changed"
        )
    _check_canonical(document[word], KINDS[word].write(made), word)
    return made


# --------------------------------------------------------------------- writing


def _text(value: Any) -> str:
    return standard_json.dumps(value, allow_nan=False)


def _written(parts: dict[str, Any], members: dict[str, JsonKind]) -> dict[str, Any]:
    return {name: kind.write(parts[name]) for name, kind in members.items() if name in parts}


def _laid_out(members: dict[str, Any]) -> str:
    """A line for each member, and for each model of a set."""
    lines = []
    for name, value in members.items():
        if name == "models":
            lines.append('  "models": [\n' + ",\n".join("    " + _text(model) for model in value) + "\n  ]")
        else:
            lines.append(f'  "{name}": {_text(value)}')
    return "{\n" + ",\n".join(lines) + "\n}"


def _model_members(model: BinnedModel) -> dict[str, Any]:
    low, high = (-math.inf, math.inf) if model.score_range is None else model.score_range
    word, parameters = model.map
    parts: dict[str, Any] = {name: getattr(model, name) for name in MODEL_MEMBERS if name not in (*OTHERWISE, "note")}
    parts |= {"map": word, "map_parameters": parameters, "score_min": low, "score_max": high}
    parts["provenance"] = model._provenance.decode()
    parts |= _decision_members(model)
    try:
        parts["note"] = model._note.decode("utf8")
    except UnicodeDecodeError:
        parts["note_bytes"] = model._note
    if model.n_steps == model.n_bins:
        parts["first_step"] = None
    for name in ("edges", "edge_keys", "values"):
        if not parts[name].any() and (name == "edge_keys" or not len(parts[name])):
            parts[name] = None
    return _written({name: value for name, value in parts.items() if not _is_absent(name, value)}, MODEL_MEMBERS)


def _decision_members(model: BinnedModel) -> dict[str, Any]:
    above, below, record = model._decision
    return {"accept_above": above, "reject_below": below, "decision": record.decode()} if record else {}


def _read_decision(members: dict[str, Any], place: str) -> DecisionParts | None:
    """The parts of a decision; infinite thresholds are left out of the text."""
    names = ("accept_above", "reject_below")
    above, below = (members.pop(name, ABSENT[name]) for name in names)
    record = members.pop("decision", "").encode()
    if not record and (above, below) != (math.inf, -math.inf):
        raise FormatError(f"{place} has {' or '.join(names)} and no decision, of which they are part")
    if not below <= above:
        raise refused(f"{place}.reject_below", below, f"a number of at most accept_above, {above!r},")
    return DecisionParts(above, below, record) if record else None


def _is_absent(name: str, value: Any) -> bool:
    if value is None or isinstance(value, np.ndarray):
        return value is None
    return name in ABSENT and bool(value == ABSENT[name])


def _key_members(models: ModelSet | VectorModel) -> dict[str, Any]:
    """The members that a set and a vector model have in common."""
    parts: dict[str, Any] = {"key_type": "text" if models._int_keys is None else "integer"}
    if models._columns is not None:
        parts["columns"] = models._columns
    if models._provenance:
        parts["provenance"] = models._provenance.decode()
    return parts


def _set_members(models: ModelSet) -> dict[str, Any]:
    parts: dict[str, Any] = {"kind": models.kind, "unknown": models.unknown, **_key_members(models)}
    parts["keys"] = [str(key) for key in models.cells]
    if models._pool >= 0:
        parts["model_of_key"] = models._model_of_key
    parts["models"] = [model for _, model in models.numbered]
    return _written(parts, SET_MEMBERS)


def _vector_members(model: VectorModel) -> dict[str, Any]:
    of_class, keys = model.models, model._keys
    of_map = {name: value.ravel() if isinstance(value, np.ndarray) else value for name, value in model.vector._asdict().items()}
    parts = {**_key_members(model), **{name: value for name, value in of_map.items() if value is not None}}
    parts |= {"keys": [str(key) for key in keys], "models": [of_class[key] for key in keys]}
    return _written(parts, VECTOR_MEMBERS)


# --------------------------------------------------------------------- reading


def _parse(text: Any) -> Any:
    if isinstance(text, os.PathLike):
        raise InputTypeError("text is a path", f"pass what the file holds: pathlib.Path({os.fspath(text)!r}).read_text()")
    if not isinstance(text, (str, bytes)):
        raise InputTypeError(f"text is of type {type(text).__name__}", "pass the text of a model in JSON")
    if isinstance(text, str) and text[-5:].lower() == ".json":
        raise FormatError(f"not JSON: text is the name of a file; pass what it holds: pathlib.Path({shown(text)}).read_text()")
    try:
        decoded = text.decode("utf8") if isinstance(text, bytes) else text
        return standard_json.loads(decoded, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except FormatError:
        raise
    except RecursionError:
        raise FormatError("not a model in JSON: it is nested too deeply") from None
    except ValueError as error:  # neither UTF-8 nor JSON, with its place; integers of thousands of digits
        raise FormatError(f"not JSON: {error}") from None


def _check_canonical(given: Any, own: Any, place: str) -> None:
    """Refuse what makes the same model, and is not how a text says it: one model, one text."""
    if given == own:
        return
    if isinstance(given, dict) and isinstance(own, dict):
        for name in given:
            if name not in own:
                raise FormatError(f"{place} has a member {shown(name)}, which the text of this model leaves out; leave it out")
            _check_canonical(given[name], own[name], f"{place}.{name}")
    elif isinstance(given, list) and isinstance(own, list) and len(given) == len(own):
        for i, (each, expected) in enumerate(zip(given, own, strict=True)):
            _check_canonical(each, expected, f"{place}[{i}]")
    raise FormatError(f"{place} is not how the text of this model says it; write it by fastbin.export.json")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise FormatError(f"member {shown(next(name for name, n in counts.items() if n > 1))} stands twice in one object")
    return members


def _refuse_constant(word: str) -> NoReturn:
    raise FormatError(f"JSON has no number {word}")


def _read_model(value: Any, place: str) -> BinnedModel:
    members = read_object(value, place, MODEL_MEMBERS, frozenset(ABSENT))
    if "note" in members and "note_bytes" in members:
        raise FormatError(f"{place} has both note and note_bytes; a model has one note")
    note = members.pop("note", "").encode() or members.pop("note_bytes", b"")
    members.pop("note_bytes", None)
    if len(members["map_parameters"]) != 4:
        raise FormatError(f"{place}.map_parameters has {len(members['map_parameters'])} entries; 4 are expected")
    rates = members.get("rates")
    for side in () if rates is None else ("source", "target"):
        if getattr(rates, side).origin not in tuple(RATE_ORIGINS.values())[1:]:
            raise refused(f"{place}.rates.{side}.origin", getattr(rates, side).origin, "given, counted or estimated")
    score_range = members.pop("score_min"), members.pop("score_max")
    provenance = members.pop("provenance", "").encode()
    decision = _read_decision(members, place)
    parts = {**{name: absent for name, absent in ABSENT.items() if name != "note_bytes"}, **members, "decision": decision}
    for name in ("edges", "values"):
        parts[name] = np.zeros(0) if parts[name] is None else parts[name]
    try:
        native = {**native_parts(**parts, score_range=score_range), "note": note, "provenance": provenance}
    except (InputError, InputTypeError) as error:
        raise FormatError(f"{place}: {error}") from None
    try:
        return BinnedModel._create(**native)
    except (InputError, InputTypeError) as error:
        ends = {"score_min": score_range[0], "score_max": score_range[1]}
        raise next(_faults_of_model({**parts, **ends}, place), FormatError(f"{place}: {error}")) from None


def _read_keys(members: dict[str, Any], place: str) -> Any:
    """The keys, a list of texts or int64."""
    if members["key_type"] not in ("integer", "text"):
        raise refused(f"{place}.key_type", members["key_type"], "integer or text")
    if members["key_type"] == "text":
        return members["keys"]
    return np.array([DECIMAL_TEXT.read(key, f"{place}.keys[{i}]") for i, key in enumerate(members["keys"])], np.int64)


def _read_set(value: Any, place: str) -> ModelSet:
    members = read_object(value, place, SET_MEMBERS, frozenset({"model_of_key", "columns", "provenance"}))
    for name, words in (("kind", tuple(SET_KINDS)), ("unknown", UNKNOWN)):
        if members[name] not in words:
            raise refused(f"{place}.{name}", members[name], " or ".join(words))
    keys = _read_keys(members, place)
    models, numbers = members["models"], members.get("model_of_key")
    made = ModelSet.__new__(ModelSet)
    try:
        made._fill(
            models, keys, numbers, kind=list(SET_KINDS).index(members["kind"]), unknown=UNKNOWN.index(members["unknown"]),
            pool=-1 if numbers is None else len(models) - 1, columns=members.get("columns"),
            provenance=members.get("provenance", "").encode(),
        )  # fmt: skip
    except (InputError, InputTypeError) as error:
        raise next(_faults_of_set({**members, "keys": keys}, place), FormatError(f"{place}: {error}")) from None
    return made


def _read_vector(value: Any, place: str) -> VectorModel:
    members = read_object(value, place, VECTOR_MEMBERS, VECTOR_ABSENT)
    keys = _read_keys(members, place)
    parts = {**members, "keys": keys}
    for fault in _faults_of_shapes(parts, place):
        raise fault
    shapes = _vector_shapes(len(keys), parts)
    of_map: dict[str, Any] = {name: members.get(name) for name in VectorMap._fields}
    of_map |= {name: parts[name].reshape(shape) for name, shape in shapes.items() if name in parts}
    made = VectorModel.__new__(VectorModel)
    try:
        made._fill(
            members["models"], keys, kind=VECTOR_KIND, columns=members.get("columns"),
            provenance=members.get("provenance", "").encode(),
            vector=VectorMap(**of_map),
        )  # fmt: skip
    except (InputError, InputTypeError) as error:
        raise next(_faults_of_vector(parts, place), FormatError(f"{place}: {error}")) from None
    return made


def _vector_shapes(n: int, parts: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of a map of n classes; the number of bins follows from the counts."""
    n_bins = len(parts.get("counts", ())) // (2 * (n + 1))
    return {
        "slopes": (n,), "intercepts": (n,), "priors": (n,), "mixing": (n, n), "edges": (n + 1, max(n_bins - 1, 0)),
        "counts": (n + 1, n_bins, 2), "means": (n + 1, n_bins), "unlabelled": (n + 1, n_bins, 3),
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------- faults

# The first entry that no model, or set, has there; none where only several entries together are wrong. The C library says what
# is wrong, and not where.


def _faults_of_set(members: Mapping[str, Any], place: str) -> Iterator[FormatError]:
    keys, models = members["keys"], members["models"]
    if not models:
        yield FormatError(f"{place}.models is empty; a set has one model or more")
    marks = [key.encode() if isinstance(key, str) else key for key in keys]
    for i in range(1, len(marks)):
        if marks[i] <= marks[i - 1]:
            yield refused(f"{place}.keys[{i}]", str(keys[i]), f"a key that comes after {str(keys[i - 1])!r}")
    for i, number in enumerate(members.get("model_of_key", ())):
        if not 0 <= number < len(models):
            yield refused(f"{place}.model_of_key[{i}]", int(number), f"a number from 0 to {len(models) - 1}")


def _faults_of_shapes(parts: Mapping[str, Any], place: str) -> Iterator[FormatError]:
    """The first array of a vector model that has too many entries, or too few."""
    shapes = _vector_shapes(len(parts["keys"]), parts)
    lengths = {name: math.prod(shape) for name, shape in shapes.items()} | {"models": len(parts["keys"])}
    for name, length in lengths.items():
        if name in parts and len(parts[name]) != length:
            yield FormatError(f"{place}.{name} has {len(parts[name])} entries; {length} are expected")
    for name in ("counts", "means") if parts.keys() & {"edges", "counts", "means", "unlabelled"} else ():
        if name not in parts:
            yield FormatError(f"{place} has no member {name!r}")


def _faults_of_vector(parts: Mapping[str, Any], place: str) -> Iterator[FormatError]:
    yield from _faults_of_set(parts, place)
    shapes = _vector_shapes(len(parts["keys"]), parts)
    for name, (low, high) in VECTOR_LIMITS.items():
        if name not in parts:
            continue
        own = np.atleast_1d(parts[name]).reshape(-1, len(low) if isinstance(low, tuple) else 1)
        for i in np.flatnonzero((own < low) | (own > high))[:1]:
            least, most = (np.broadcast_to(limit, own.shape).flat[i].item() for limit in (low, high))
            index = f"[{i}]" if name in shapes else ""
            yield refused(f"{place}.{name}{index}", own.flat[i].item(), f"a number from {least} to {most}")
    if "counts" in parts:
        yield from _faults_of_counts(parts["counts"].reshape(shapes["counts"]), f"{place}.counts")
    if "edges" in parts:
        edges = parts["edges"].reshape(shapes["edges"])
        for g, b in np.argwhere(edges[:, 1:] < edges[:, :-1])[:1]:
            at = g * edges.shape[1] + b + 1
            expected = f"an edge that does not come before {edges[g, b].item()!r}"
            yield refused(f"{place}.edges[{at}]", edges[g, b + 1].item(), expected)
    if abs(parts["priors"].sum() - 1.0) > 1e-9:
        yield FormatError(f"{place}.priors add up to {parts['priors'].sum().item()!r}; 1.0 is expected")
    for i, model in enumerate(parts["models"]):
        low, high = (-math.inf, math.inf) if model.score_range is None else model.score_range
        is_narrow = model.out_of_range != "clip" and not (low <= 0.0 and high >= 1.0)
        if model.needs_key or is_narrow:
            yield FormatError(f"{place}.models[{i}] refuses scores or uses random keys; those of a vector model do neither")


def _faults_of_counts(counts: Array, place: str) -> Iterator[FormatError]:
    """Rows, and those with the label, of each bin of each group: the classes, which share the rows, and the top label."""
    for i, (rows, ones) in enumerate(counts.reshape(-1, 2).tolist()):
        if ones > rows:
            yield refused(f"{place}[{2 * i + 1}]", ones, f"a number from 0 to {rows}")
    n_first, *others = (sum(group) for group in counts[..., 0].tolist())
    for g, n_rows in enumerate(others, 1):
        if n_rows != n_first:
            yield FormatError(f"{place}: group {g} has {n_rows} rows, and group 0 has {n_first}")
    n_ones = sum(counts[:-1, :, 1].ravel().tolist())
    if n_ones != n_first:
        yield FormatError(f"{place}: the classes have {n_ones} rows in all, and group 0 has {n_first}")


def _faults_of_model(parts: Mapping[str, Any], place: str) -> Iterator[FormatError]:
    edges, keys, first = parts["edges"], parts.get("edge_keys"), parts.get("first_step")
    is_less = edges[1:] < edges[:-1]
    if keys is not None:
        is_less |= (edges[1:] == edges[:-1]) & (keys[1:] < keys[:-1])
    for i in np.flatnonzero(is_less)[:1] + 1:
        yield refused(f"{place}.edges[{i}]", edges[i].item(), f"an edge that does not come before {edges[i - 1].item()!r}")
    if first is not None and len(first):
        is_wrong = np.append(first[0] != 0, np.diff(first) <= 0) | (first >= max(len(parts["values"]), 1))
        for i in np.flatnonzero(is_wrong)[:1]:
            expected = f"a step from {int(first[i - 1]) + 1} to {len(parts['values']) - 1}" if i else "0"
            yield refused(f"{place}.first_step[{i}]", first[i].item(), expected)
    for field in FIELDS:
        if parts.get(field.name) is not None and (field.low, field.high) != (None, None):
            yield from _beyond(field, parts, place)


def _beyond(field: Field, parts: Mapping[str, Any], place: str) -> Iterator[FormatError]:
    """The first entry beyond its limits."""
    own = np.asarray(parts[field.name])
    least, most = _limits(field.low, own, parts, -math.inf), _limits(field.high, own, parts, math.inf)
    for at in zip(*np.nonzero(np.atleast_1d((own < least) | (own > most))), strict=True):
        here = tuple(map(int, at))[: own.ndim]
        start, end = least[here].item(), most[here].item()
        expected = f"a number from {start} " + ("on" if end == np.inf else f"to {end}")
        yield refused(f"{place}.{field.name}" + "".join(f"[{i}]" for i in here), own[here].item(), expected)
        return


def _limits(limit: Limit, own: Array, parts: Mapping[str, Any], unlimited: float) -> Array:
    """The limit of each entry."""
    of_all = parts.get(limit) if isinstance(limit, str) else limit
    return np.broadcast_to(unlimited if of_all is None else np.asarray(of_all), own.shape)


MODEL = JsonKind(_model_members, _read_model)
SET_MEMBERS = {
    "kind": WORD, "unknown": WORD, "key_type": WORD, "keys": list_of(TEXT), "model_of_key": list_of(INTEGER, np.int32),
    "columns": list_of(INTEGER, np.int32), "provenance": TEXT, "models": list_of(MODEL),
}  # fmt: skip
NUMBERS = list_of(NUMBER, np.float64)
VECTOR_MEMBERS = {
    "key_type": WORD, "keys": list_of(TEXT), "columns": list_of(INTEGER, np.int32), "provenance": TEXT, "of_models": NUMBER,
    "of_priors": NUMBER, "least": NUMBER, "keep_top": FLAG, "slopes": NUMBERS, "intercepts": NUMBERS, "priors": NUMBERS,
    "mixing": NUMBERS, "edges": NUMBERS, "counts": list_of(INTEGER, np.int64), "means": NUMBERS, "unlabelled": NUMBERS,
    "models": list_of(MODEL),
}  # fmt: skip
VECTOR_ABSENT = frozenset({"columns", "provenance", "mixing", "edges", "counts", "means", "unlabelled"})
# Those of the C library; of triples, one for each place.
TINY, STEEPEST = float(np.finfo(np.float64).tiny), 1e9
VECTOR_LIMITS: dict[str, tuple[Any, Any]] = {
    "of_models": (0.0, 1.0), "of_priors": (5e-324, math.nextafter(1.0, 0.0)), "least": (TINY, 0.1),
    "slopes": (-STEEPEST, STEEPEST), "intercepts": (-STEEPEST, STEEPEST), "mixing": (-STEEPEST, STEEPEST),
    "priors": (TINY, 1.0), "edges": (0.0, 1.0), "counts": (0, 2**63 - 1), "means": (0.0, 1.0),
    "unlabelled": ((0.0, 0.0, 0.0), (float(EXACT), 1.0, 0.5)),
}  # fmt: skip
SET, VECTOR = JsonKind(_set_members, _read_set), JsonKind(_vector_members, _read_vector)
KINDS = {"model": MODEL, "set": SET, "vector": VECTOR}
WORDS = {"model": BinnedModel, "set": ModelSet, "vector": VectorModel}
