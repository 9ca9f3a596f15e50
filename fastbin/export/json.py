"""Models and sets of models as JSON: everything that their files hold, for programs that read no other format.

csrc/FORMAT.md ("Models as JSON") is the schema. The text is canonical, as the file is: the same model always gives the same
text, and the text gives the same bytes back.
"""

from __future__ import annotations

import json as standard_json
import math
import os
from collections import Counter
from typing import Any, NoReturn

import numpy as np

from fastbin._base.errors import FormatError, InputError, InputTypeError
from fastbin._core.fields import ALWAYS, FIELDS, Field, native_parts
from fastbin._core.schemes import RATE_ORIGINS, ClassRate, ClassRates
from fastbin._fit.calibrator import as_model_or_set
from fastbin.export.json_faults import fault_of_model, fault_of_set
from fastbin.export.json_values import (
    BYTES,
    DECIMAL_TEXT,
    EXACT,
    INTEGER,
    KEY_TEXT,
    NUMBER,
    TEXT,
    WORD,
    JsonKind,
    list_of,
    read_object,
    refused,
    rows_of,
    shown,
    unbounded,
)
from fastbin.export.steps import digest_of
from fastbin.model import BinnedModel
from fastbin.model_set import SET_KINDS, UNKNOWN, ModelSet

VERSION = 1

RATE_MEMBERS = {"origin": WORD, "rate": NUMBER, "count": INTEGER, "ones": INTEGER}
RATE = JsonKind(
    lambda rate: _written(dict(zip(RATE_MEMBERS, rate, strict=True)), RATE_MEMBERS),
    lambda value, place: ClassRate(*read_object(value, place, RATE_MEMBERS).values()),
)
RATES_MEMBERS = {"source": RATE, "target": RATE}
RATES = JsonKind(
    lambda rates: _written(rates._asdict(), RATES_MEMBERS),
    lambda value, place: ClassRates(*read_object(value, place, RATES_MEMBERS).values()),
)

# The members of a model, in their order. Those of `ABSENT` are there where they are not this.
SINGLE = {
    "word": WORD, "integer": INTEGER, "number": NUMBER, "text": TEXT, "key": KEY_TEXT, "integers": INTEGER, "numbers": NUMBER,
    "keys": KEY_TEXT,
}  # fmt: skip
OTHER = {
    "map_parameters": list_of(NUMBER), "score_min": unbounded(-math.inf), "score_max": unbounded(math.inf), "rates": RATES,
    "note_bytes": BYTES,
}  # fmt: skip


def _kind_of(field: Field) -> JsonKind:
    if field.kind == "other":
        return OTHER[field.name]
    single = SINGLE[field.kind]
    if not field.axis:
        return single
    return rows_of(single, field.width, field.dtype) if field.width else list_of(single, field.dtype)


MODEL_MEMBERS = {field.name: _kind_of(field) for field in FIELDS}
ABSENT = {field.name: field.absent for field in FIELDS if field.absent is not ALWAYS}


def json(model: Any) -> str:
    """A model, or a set of models, as JSON.

    Parameters
    ----------
    model : BinnedModel, ModelSet, or fitted calibrator

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
        For what is no model.

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
    fitted = as_model_or_set(model)
    word = "set" if fitted.is_set else "model"
    head = {"fastbin": word, "version": VERSION, "sha256": digest_of(fitted)}
    lines = [
        *(f'"{name}": {_text(value)}' for name, value in head.items()),
        f'"{word}": {_laid_out(KINDS[word].write(fitted))}',
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def from_json(text: str | bytes) -> BinnedModel | ModelSet:
    """The model, or the set of models, in a text of `json`.

    Parameters
    ----------
    text : str, or bytes in UTF-8
        Blanks and the order of members do not matter; names and values do.

    Returns
    -------
    BinnedModel or ModelSet

    Raises
    ------
    FormatError
        For what is no JSON, NaN and Infinity included; members that are unknown, missing or there twice, or that the text of
        this model leaves out; values of another type, infinite, -0.0 or out of range; parts that make no model; a digest
        that is not that of the model; a newer version. The message names the place, as in ``model.edges[3]``, if it has one.
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
        raise FormatError("no model of fastbin: there is no member 'fastbin' that says 'model' or 'set'")
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= EXACT:
        raise refused("version", version, "the number of a version")
    if version > VERSION:
        raise FormatError(f"version is {version}, and this fastbin reads versions up to {VERSION}; update it")
    for other in KINDS:
        if other in document and word not in document:
            raise FormatError(f"fastbin is {word!r}, but what stands there is called {other!r}; the two must be the same word")
    members = read_object(document, "", {"fastbin": WORD, "version": INTEGER, "sha256": WORD, word: KINDS[word]})
    made: BinnedModel | ModelSet = members[word]
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
    parts: dict[str, Any] = {
        name: getattr(model, name)
        for name in MODEL_MEMBERS
        if name not in ("map", "map_parameters", "score_min", "score_max", "note", "note_bytes", "provenance")
    }
    parts |= {"map": word, "map_parameters": parameters, "score_min": low, "score_max": high}
    parts["provenance"] = model._provenance.decode()
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


def _is_absent(name: str, value: Any) -> bool:
    if value is None or isinstance(value, np.ndarray):
        return value is None
    return name in ABSENT and bool(value == ABSENT[name])


def _set_members(models: ModelSet) -> dict[str, Any]:
    key_type = "text" if models._int_keys is None else "integer"
    parts: dict[str, Any] = {"kind": models.kind, "unknown": models.unknown, "key_type": key_type}
    parts["keys"] = [str(key) for key in models.keys]
    if models._pool >= 0:
        parts["model_of_key"] = models._model_of_key
    if models._columns is not None:
        parts["columns"] = models._columns
    if models._provenance:
        parts["provenance"] = models._provenance.decode()
    parts["models"] = [model for _, model in models.numbered]
    return _written(parts, SET_MEMBERS)


# --------------------------------------------------------------------- reading


def _parse(text: Any) -> Any:
    if isinstance(text, os.PathLike):
        raise InputTypeError("text is a path", f"pass what the file holds: pathlib.Path({os.fspath(text)!r}).read_text()")
    if not isinstance(text, (str, bytes)):
        raise InputTypeError(f"text is of type {type(text).__name__}", "pass the text of a model in JSON")
    if isinstance(text, str) and text[-5:].lower() == ".json":
        raise FormatError(f"no JSON: text is the name of a file; pass what it holds: pathlib.Path({shown(text)}).read_text()")
    try:
        decoded = text.decode("utf8") if isinstance(text, bytes) else text
        return standard_json.loads(decoded, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except FormatError:
        raise
    except RecursionError:
        raise FormatError("no model in JSON: it is nested too deeply") from None
    except ValueError as error:  # what is no UTF-8 or no JSON, with its place; integers of thousands of digits
        raise FormatError(f"no JSON: {error}") from None


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
    raise FormatError(f"{word} is no number of JSON")


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
    parts = {**{name: absent for name, absent in ABSENT.items() if name != "note_bytes"}, **members}
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
        raise fault_of_model({**parts, **ends}, place) or FormatError(f"{place}: {error}") from None


def _read_set(value: Any, place: str) -> ModelSet:
    members = read_object(value, place, SET_MEMBERS, frozenset({"model_of_key", "columns", "provenance"}))
    for name, words in (("kind", tuple(SET_KINDS)), ("unknown", UNKNOWN), ("key_type", ("integer", "text"))):
        if members[name] not in words:
            raise refused(f"{place}.{name}", members[name], " or ".join(words))
    keys = members["keys"]
    if members["key_type"] == "integer":
        keys = np.array([DECIMAL_TEXT.read(key, f"{place}.keys[{i}]") for i, key in enumerate(keys)], np.int64)
    models, numbers = members["models"], members.get("model_of_key")
    made = ModelSet.__new__(ModelSet)
    try:
        made._fill(
            models, keys, numbers, kind=list(SET_KINDS).index(members["kind"]), unknown=UNKNOWN.index(members["unknown"]),
            pool=-1 if numbers is None else len(models) - 1, columns=members.get("columns"),
            provenance=members.get("provenance", "").encode(),
        )  # fmt: skip
    except (InputError, InputTypeError) as error:
        raise fault_of_set({**members, "keys": keys}, place) or FormatError(f"{place}: {error}") from None
    return made


MODEL = JsonKind(_model_members, _read_model)
SET_MEMBERS = {
    "kind": WORD, "unknown": WORD, "key_type": WORD, "keys": list_of(TEXT), "model_of_key": list_of(INTEGER, np.int32),
    "columns": list_of(INTEGER, np.int32), "provenance": TEXT, "models": list_of(MODEL),
}  # fmt: skip
KINDS = {"model": MODEL, "set": JsonKind(_set_members, _read_set)}
