"""Sets of models from csrc/FORMAT.md alone: which are sets, their bytes, which model a key has, and what a row gets.

A set is read, checked and written as the format says; rows are scored one by one by the models.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from reference.containers import read_model, sealed, sections_of
from reference.step_model import StepModel

SET_SECTIONS = {"HEAD": 1, "KEYS": 1, "CELL": 1, "COLS": 1, "OFFS": 1, "MODS": 1}
GIVEN, SEGMENTS, TOP_LABEL, CLASS_WISE = range(4)
INTEGERS, TEXT = range(2)
REFUSE, POOL = range(2)
MOST_BYTES = 1024

Key = int | str


def _words(payload: bytes, kind: str) -> list[int]:
    if len(payload) % 8:
        raise ValueError("not whole words")
    return list(struct.unpack(f"<{len(payload) // 8}{kind}", payload))


@dataclass
class ModelSet:
    """Keys, ascending, the number of the model of each, and the models, each in its bytes."""

    cells: list[Key]
    model_of_key: list[int]
    model_data: list[bytes]
    kind: int = GIVEN
    unknown: int = REFUSE
    pool: int = -1
    columns: list[int] | None = None

    def __post_init__(self) -> None:
        """Everything that makes a set; ValueError for what does not."""
        n_models, n_keys = len(self.model_data), len(self.cells)
        if not n_models or not n_keys or len(self.model_of_key) != n_keys:
            raise ValueError("no models, no keys, or not one number for each")
        if self.kind not in range(4) or self.unknown not in range(2):
            raise ValueError("an enumerator of the future")
        ordered = [_ordered(key) for key in self.cells]
        if any(later <= earlier for earlier, later in pairwise(ordered)):
            raise ValueError("keys do not ascend")
        if self.pool not in (-1, n_models - 1) or (self.pool == -1 and self.unknown == POOL):
            raise ValueError("no such pool")
        own = [number for number in self.model_of_key if number != self.pool]
        if own != list(range(n_models - (self.pool != -1))):
            raise ValueError("models are not numbered in the order of their keys")
        if self.pool != -1 and len(own) == n_keys and self.unknown == REFUSE:
            raise ValueError("a pool that no row gets")
        if self.columns is not None:
            if self.kind not in (TOP_LABEL, CLASS_WISE) or sorted(self.columns) != list(range(n_keys)):
                raise ValueError("columns of something else")
            if self.columns == sorted(self.columns):
                raise ValueError("columns that need not be said")
        self.models: list[tuple[StepModel, list[int]]] = [read_model(data) for data in self.model_data]

    @property
    def key_type(self) -> int:
        return TEXT if isinstance(self.cells[0], str) else INTEGERS

    # ------------------------------------------------------------------ bytes

    def to_bytes(self) -> bytes:
        n_models, n_keys = len(self.model_data), len(self.cells)
        head = struct.pack("<iiiiqq", self.kind, self.key_type, self.unknown, self.pool, n_models, n_keys)
        if self.key_type == INTEGERS:
            keys = struct.pack(f"<{n_keys}q", *self.cells)
        else:
            texts = [str(key).encode() for key in self.cells]
            keys = struct.pack(f"<{n_keys + 1}Q", *_starts(texts)) + b"".join(texts)
        payloads = {
            "HEAD": head,
            "KEYS": keys,
            "CELL": struct.pack(f"<{n_keys}q", *self.model_of_key) if self.pool >= 0 else b"",
            "COLS": struct.pack(f"<{n_keys}q", *self.columns) if self.columns else b"",
            "OFFS": struct.pack(f"<{n_models + 1}Q", *_starts(self.model_data)),
            "MODS": b"".join(self.model_data),
        }
        return sealed("T", SET_SECTIONS, payloads)

    @classmethod
    def from_bytes(cls, data: bytes) -> ModelSet:
        sections = sections_of(data, "T", SET_SECTIONS)
        kind, key_type, unknown, pool, n_models, n_keys = struct.unpack("<iiiiqq", _exactly(sections["HEAD"], 32))
        if key_type not in (INTEGERS, TEXT):
            raise ValueError("keys of the future")
        if "KEYS" not in sections or "OFFS" not in sections or "MODS" not in sections or n_models < 1 or n_keys < 1:
            raise ValueError("a section, a model or a key is missing")
        if ("CELL" in sections) != (pool >= 0):
            raise ValueError("models of keys without a pool, or a pool without these")
        keys = _integers(sections["KEYS"], n_keys) if key_type == INTEGERS else _texts(sections["KEYS"], n_keys)
        return cls(
            keys, _words(_exactly(sections["CELL"], 8 * n_keys), "q") if pool >= 0 else list(range(len(keys))),
            _cut(sections["MODS"], _words(_exactly(sections["OFFS"], 8 * (n_models + 1)), "Q")), kind, unknown, pool,
            _words(_exactly(sections["COLS"], 8 * n_keys), "q") if "COLS" in sections else None,
        )  # fmt: skip

    # ------------------------------------------------------------------ scoring

    def find(self, key: Key) -> int:
        """The number of the model of a key; -1 where it is unknown."""
        return self.model_of_key[self.cells.index(key)] if key in self.cells else -1

    def _model(self, number: int) -> tuple[StepModel, list[int]]:
        if number == -1 and self.unknown == POOL:
            number = self.pool
        if number == -1:
            raise KeyError("an unknown cell")
        return self.models[number]

    def predict_one(self, number: int, score: float, tie_key: int) -> float:
        """The value by the model of this number; by the pool for -1, where unknown keys are scored by it."""
        return self._model(number)[0].predict_one(score, tie_key)

    def assign_one(self, number: int, score: float, tie_key: int) -> int:
        """The bin within the model; -1 for -1."""
        model, first_step = self._model(number)
        step = model.assign_one(score, tie_key)
        return -1 if number == -1 else bisect_right(first_step, step) - 1


def _ordered(key: Key) -> int | bytes:
    """Keys are ordered by this; ValueError if `key` is not valid."""
    if isinstance(key, int):
        return key
    text = key.encode()
    if not 0 < len(text) <= MOST_BYTES:
        raise ValueError("a text that is empty or too long")
    return text


def _exactly(payload: bytes, size: int) -> bytes:
    if len(payload) != size:
        raise ValueError("a section has another length")
    return payload


def _starts(parts: list[bytes]) -> list[int]:
    """Where each begins, if they follow each other, and where the last one ends."""
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + len(part))
    return starts


def _cut(whole: bytes, starts: list[int]) -> list[bytes]:
    """The parts that begin there, none of them empty."""
    if starts[0] != 0 or starts[-1] != len(whole) or any(b <= a for a, b in pairwise(starts)):
        raise ValueError("offsets do not ascend from the start to the end")
    return [whole[a:b] for a, b in pairwise(starts)]


def _integers(payload: bytes, n_keys: int) -> list[Key]:
    return list(_words(_exactly(payload, 8 * n_keys), "q"))


def _texts(payload: bytes, n_keys: int) -> list[Key]:
    table = 8 * (n_keys + 1)
    if len(payload) < table:
        raise ValueError("no room for the offsets")
    return [text.decode() for text in _cut(payload[table:], _words(payload[:table], "Q"))]  # UnicodeDecodeError is a ValueError
