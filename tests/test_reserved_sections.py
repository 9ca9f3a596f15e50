"""Sections of later versions, such as FORMAT.md reserves: a reader skips them or answers "newer format", and never "damaged".

Files are built here from bytes, by FORMAT.md alone, so that they are those of a version that does not exist yet.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

import fastbin as fb
from fastbin.vector_model import VectorModel
from reference.keys import digest

FORMAT = (Path(__file__).resolve().parent.parent / "csrc/FORMAT.md").read_text(encoding="utf8")
NEWER = "newer version of fastbin"

# Tag and bit 0, of models: two that no version has.
MODEL_SECTIONS = {"NEXT": 1, "MORE": 0}
SCHEME = 5

SCORES = np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])
MODEL = fb.UniformMassBinning(2).fit(SCORES, SCORES > 0.35).model_
SET = fb.ModelSet({"north": MODEL, "south": MODEL})


def sealed(data: bytes, n_sections: int) -> bytes:
    """These header and sections with their number, length and checksum made anew."""
    data = data[:12] + struct.pack("<IQ", n_sections, len(data) + 8) + data[24:]
    return data + struct.pack("<Q", digest(word for (word,) in struct.iter_unpack("<Q", data)))


def parts(data: bytes) -> list[tuple[str, bytes]]:
    """The sections of a container, each with its header."""
    at, found = 24, []
    while at < len(data) - 8:
        size = 16 + (struct.unpack_from("<Q", data, at + 8)[0] + 7) // 8 * 8
        found.append((data[at : at + 4].decode(), data[at : at + size]))
        at += size
    return found


def with_section(data: bytes, tag: str, flags: int, *, after: str, payload: bytes = bytes(24)) -> bytes:
    """A container with one more section behind that of this tag."""
    sections = parts(data)
    place = [name for name, _ in sections].index(after) + 1
    bodies = [body for _, body in sections]
    bodies.insert(place, tag.encode() + struct.pack("<IQ", flags, len(payload)) + payload)
    return sealed(data[:24] + b"".join(bodies), len(bodies))


def with_model_section(tag: str, flags: int) -> bytes:
    """The model with one more section, before PRNT."""
    names = [name for name, _ in parts(MODEL.to_bytes())]
    return with_section(MODEL.to_bytes(), tag, flags, after=names[names.index("PRNT") - 1])


def in_set(data: bytes) -> bytes:
    """The set, its first model being these bytes."""
    own, sections = SET.to_bytes(), dict(parts(SET.to_bytes()))
    second = MODEL.to_bytes()
    ends = np.cumsum([0, len(data), len(second)]).astype("<u8").tobytes()
    sections["OFFS"] = b"OFFS" + struct.pack("<IQ", 1, len(ends)) + ends
    sections["MODS"] = b"MODS" + struct.pack("<IQ", 1, len(data) + len(second)) + data + second
    return sealed(own[:24] + b"".join(sections.values()), len(sections))


def with_scheme(number: int) -> bytes:
    data = bytearray(MODEL.to_bytes()[:-8])
    data[44:48] = struct.pack("<i", number)
    return sealed(bytes(data), len(parts(MODEL.to_bytes())))


def test_the_tables_of_the_format_are_those_tested_here() -> None:
    def table(heading: str, end: str) -> dict[str, int]:
        rows = re.findall(r"^\| `(\w{4})` \| ([01]) \|", FORMAT.partition(heading)[2].partition(end)[0], re.MULTILINE)
        return {tag: int(flags) for tag, flags in rows}

    assert not set(MODEL_SECTIONS) & set(table("## Models", "### Examples"))
    assert re.findall(r"The number (\d+) \(.*?\) of `scheme` is reserved", FORMAT, re.DOTALL) == [str(SCHEME)]


def test_the_bytes_built_here_are_those_of_the_library() -> None:
    """Else every refusal below could be that of a mistake made here."""
    data = MODEL.to_bytes()
    assert sealed(data[:24] + b"".join(body for _, body in parts(data)), len(parts(data))) == data
    assert in_set(data) == SET.to_bytes()
    assert with_scheme(1) == data


@pytest.mark.parametrize("tag", MODEL_SECTIONS)
def test_later_sections_of_models(tag: str) -> None:
    flags = MODEL_SECTIONS[tag]
    for read, data in ((fb.BinnedModel.from_bytes, with_model_section(tag, flags)),
                       (fb.ModelSet.from_bytes, in_set(with_model_section(tag, flags)))):  # fmt: skip
        if flags:
            with pytest.raises(fb.FormatError, match=NEWER):
                read(data)
        else:
            assert read(data).to_bytes() == (MODEL if read == fb.BinnedModel.from_bytes else SET).to_bytes()  # it is lost


def test_the_reserved_scheme() -> None:
    for read, data in ((fb.BinnedModel.from_bytes, with_scheme(SCHEME)), (fb.ModelSet.from_bytes, in_set(with_scheme(SCHEME)))):
        with pytest.raises(fb.FormatError, match=NEWER):
            read(data)


def test_the_letter_of_vector_models() -> None:
    """It was reserved once; the sections of a model behind it are those of no vector model."""
    data = MODEL.to_bytes()
    data = sealed(data[:3] + b"V" + data[4:-8], len(parts(data)))
    for read, words in (
        (fb.BinnedModel.from_bytes, "a vector model, and not a single model"),
        (fb.ModelSet.from_bytes, "a vector model, and not a set"),
        (VectorModel.from_bytes, "damaged|contradict|newer"), (fb.online.CalibrationMonitor.from_bytes, "a vector model"),
    ):  # fmt: skip
        with pytest.raises(fb.FormatError, match=words):
            read(data)
