"""Sets of models: Python meets the shared vectors, which C meets too, and refuses the bytes that the reference refuses."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vectors.texts import read

import fastbin as fb
from reference.keys import digest
from reference.model_set import ModelSet

VECTORS = Path(__file__).resolve().parent.parent / "vectors"


SETS = read(VECTORS / "sets.txt", "fastbin-set-vectors 1", "set")
assert not SETS.pop("")
DATA = {name: bytes.fromhex("".join(words[0] for words in lines["bytes"])) for name, lines in SETS.items()}
by_name = pytest.mark.parametrize("name", list(SETS))


def value_bits(values: Any) -> list[int]:
    return np.asarray(values, np.float64).view(np.uint64).tolist()


@by_name
def test_bytes(name: str) -> None:
    models = fb.ModelSet.from_bytes(DATA[name])
    assert models.to_bytes() == DATA[name]
    twin = ModelSet.from_bytes(DATA[name])
    assert twin.to_bytes() == DATA[name]
    assert list(models.cells) == twin.cells
    assert models._model_of_key.tolist() == twin.model_of_key
    assert [model.to_bytes() for _, model in models.numbered] == twin.model_data
    columns = models._columns
    assert (None if columns is None else columns.tolist()) == twin.columns
    assert (*models._codes, models._pool) == (twin.kind, twin.key_type, twin.unknown, twin.pool)


@by_name
def test_the_same_set_from_its_models(name: str) -> None:
    """Put together from mappings, in any order."""
    twin = ModelSet.from_bytes(DATA[name])
    models = [fb.BinnedModel.from_bytes(data) for data in twin.model_data]
    own = {key: models[number] for key, number in zip(twin.cells, twin.model_of_key, strict=True) if number != twin.pool}
    pooled = [key for key, number in zip(twin.cells, twin.model_of_key, strict=True) if number == twin.pool]
    order = None
    if twin.columns is not None:
        order = [key for _, key in sorted(zip(twin.columns, twin.cells, strict=True))]
    made = fb.ModelSet._of(
        dict(sorted(own.items(), reverse=True)), kind=("given", "segments", "top-label", "class-wise")[twin.kind],
        unknown=("refuse", "pool")[twin.unknown], pool=None if twin.pool == -1 else models[-1], pooled_cells=pooled[::-1],
        columns=order,
    )  # fmt: skip
    assert made.to_bytes() == DATA[name]


@by_name
def test_keys_are_found(name: str) -> None:
    models, lines = fb.ModelSet.from_bytes(DATA[name]), SETS[name]
    cells: list[Any] = [int(key) for key, _ in lines.get("find", [])]
    cells += [bytes.fromhex(key).decode() for key, _ in lines.get("find_text", []) if key != "-"]
    expected = [int(words[1]) for words in lines.get("find", []) + lines.get("find_text", []) if words[0] != "-"]
    assert len(cells) > 1
    short = [(cell, number) for cell, number in zip(cells, expected, strict=True) if len(str(cell)) <= 1024]
    assert models._find([cell for cell, _ in short]).tolist() == [number for _, number in short]
    assert [models._find_one(cell) for cell, _ in short] == [number for _, number in short]


@by_name
def test_rows(name: str) -> None:
    models, lines = fb.ModelSet.from_bytes(DATA[name]), SETS[name]
    queries = [
        (int(number), float.fromhex(s), int(key, 16), int(b), float.fromhex(v)) for number, s, key, b, v in lines["query"]
    ]
    numbers, scores, keys, bins, values = zip(*queries, strict=True)
    numbers_, keys_ = np.array(numbers, np.int32), np.minimum(np.array(keys, np.uint64), np.uint64(2**64 - 2))
    assert value_bits(models._predict(numbers_, scores, keys_, None, None, "error")) == value_bits(values)
    assert models._assign(numbers_, scores, keys_, None, "error").tolist() == list(bins)
    (seed, first_row), rows = lines["seeded"][0], lines["row"]
    numbers_ = np.array([int(words[0]) for words in rows], np.int32)
    scores_ = np.array([float.fromhex(words[1]) for words in rows])
    if int(first_row, 16) == 0:  # of the others, C alone can say where they begin
        seeded = models._predict(numbers_, scores_, None, int(seed, 16), None, "error")
        assert value_bits(seeded) == value_bits([float.fromhex(words[3]) for words in rows])
        assert models._assign(numbers_, scores_, None, int(seed, 16), "error").tolist() == [int(words[2]) for words in rows]


@by_name
def test_refusals(name: str) -> None:
    models = fb.ModelSet.from_bytes(DATA[name])
    for number, score, _ in SETS[name]["refuse"]:
        with pytest.raises((fb.InputError, fb.FastbinError)):
            models._predict(np.array([int(number)], np.int32), [float.fromhex(score)], None, 0, None, "error")


def sealed(data: bytearray) -> bytes:
    """With the length and the checksum that belong to these bytes."""
    data[16:24] = struct.pack("<Q", len(data))
    data[-8:] = struct.pack("<Q", digest(struct.unpack(f"<{len(data) // 8 - 1}Q", bytes(data[:-8]))))
    return bytes(data)


def changed(data: bytes, rng: random.Random) -> bytes:
    """Something else in the sections of the set itself: a byte, a word, a word of another place, words left out or repeated."""
    copy = bytearray(data)
    end = data.index(b"MODS") + 16
    at = rng.randrange(8, end)
    word = at - at % 8
    match rng.randrange(5):
        case 0:
            copy[at] = rng.randrange(256)
        case 1:
            copy[word : word + 8] = struct.pack("<q", rng.choice([-1, 0, 1, 2, 3, 2**31, 2**32, 2**61 + 3, 2**63 - 1]))
        case 2:
            other = rng.randrange(3, end // 8) * 8
            copy[word : word + 8] = copy[other : other + 8]
        case 3:
            del copy[word : word + 8 * rng.randrange(1, 6)]
        case _:
            copy[word:word] = copy[word : word + 8 * rng.randrange(1, 3)]
    return sealed(copy)


def accepted(read: Any, data: bytes) -> bool:
    try:
        read(data)
    except ValueError:  # FormatError is one
        return False
    return True


@pytest.mark.sampled
@by_name
def test_changed_bytes_are_refused_by_both_or_read_by_both(name: str) -> None:
    rng, n_read, n_tried = random.Random(name), 0, 60 + 600_000 // len(DATA[name])  # the reference takes its time
    for _ in range(n_tried):
        data = changed(DATA[name], rng)
        expected = accepted(ModelSet.from_bytes, data)
        assert accepted(fb.ModelSet.from_bytes, data) == expected, data.hex()
        if expected:
            n_read += 1
            # Sections that need not be understood are left out.
            assert fb.ModelSet.from_bytes(data).to_bytes() == ModelSet.from_bytes(data).to_bytes()
    assert n_read < n_tried / 2
