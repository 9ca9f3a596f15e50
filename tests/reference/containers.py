"""The files of fastbin from csrc/FORMAT.md alone: the container, and step models in it.

What a reader refuses is refused with ValueError, but for the content of a model, of which only what scoring needs is looked at.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction

from reference.keys import digest
from reference.step_model import StepModel

HEADER, SECTION_HEADER, CHECKSUM = 24, 16, 8

# Tags in their order, each with its flags.
MODEL_SECTIONS = {
    "CORE": 1, "EDGE": 1, "EKEY": 1, "VALU": 1, "EVID": 1, "TALY": 0, "WGHT": 0, "TIES": 1, "STEP": 1, "RATE": 1, "PAIR": 1,
    "CLIP": 1, "SPLN": 1, "RULE": 1, "PRNT": 0, "NOTE": 0,
}  # fmt: skip
CORE = "<iiii4dii4dQqqq"
STEP_MODEL = 0
TIES_CODES = {"none": 0, "random": 1, "upper": 2, "lower": 3, "isolate": 4, "whole": 5}


def _checksum(data: bytes) -> bytes:
    return struct.pack("<Q", digest(struct.unpack(f"<{len(data) // 8}Q", data)))


def sealed(letter: str, known: dict[str, int], payloads: dict[str, bytes]) -> bytes:
    """A container of version 1 with these payloads, those that are not empty."""
    body = b""
    for tag, flags in known.items():
        payload = payloads.get(tag, b"")
        if payload:
            body += tag.encode() + struct.pack("<IQ", flags, len(payload)) + payload + bytes(-len(payload) % 8)
    n_sections = sum(bool(payload) for payload in payloads.values())
    length = HEADER + len(body) + CHECKSUM
    data = b"\x89FB" + letter.encode() + b"\r\n\x1a\n" + struct.pack("<IIQ", 1, n_sections, length) + body
    return data + _checksum(data)


def sections_of(data: bytes, letter: str, known: dict[str, int]) -> dict[str, bytes]:
    """The payloads of a container, by their tags, after the checks 1 to 6 of "Refusals"."""
    if len(data) < HEADER + CHECKSUM or data[:8] != b"\x89FB" + letter.encode() + b"\r\n\x1a\n":
        raise ValueError("magic")
    version, n_sections, length = struct.unpack_from("<IIQ", data, 8)
    if length != len(data) or length % 8:
        raise ValueError("length")
    if data[-CHECKSUM:] != _checksum(data[:-CHECKSUM]):
        raise ValueError("checksum")
    if version != 1:
        raise ValueError("version")
    found: dict[str, bytes] = {}
    at, end = HEADER, length - CHECKSUM
    for _ in range(n_sections):
        if end - at < SECTION_HEADER:
            raise ValueError("a section begins behind the end")
        tag, flags, size = struct.unpack_from("<4sIQ", data, at)
        at += SECTION_HEADER
        if size == 0 or size > end - at:
            raise ValueError("a section is empty, or ends behind the end")
        payload, padding = data[at : at + size], data[at + size : at + size + -size % 8]
        at += size + len(padding)
        if any(padding):
            raise ValueError("padding")
        name = tag.decode("latin-1")
        if name in known:
            order = list(known)
            if flags != known[name] or any(order.index(other) >= order.index(name) for other in found):
                raise ValueError(f"{name} has other flags, or another place")
            found[name] = payload
        elif flags != 0:
            raise ValueError("a section of the future")
    first = next(iter(known))
    if at != end or first not in found or data[HEADER : HEADER + 4] != first.encode():
        raise ValueError("a gap, or another first section")
    return found


def model_bytes(
    model: StepModel, scheme: int, seed: int, first_step: Sequence[int] = (), step_counts: Sequence[int] = ()
) -> bytes:
    """A step model without weights, in its bytes; with first steps and counts, one of two resolutions."""
    n = len(model.values)
    core = struct.pack(
        CORE, STEP_MODEL, scheme, TIES_CODES[model.ties], 0, 0.0, 0.0, 0.0, 0.0, n, model.n_bins_asked, model.score_min,
        model.score_max, model.delta, 1.0, seed, model.n_samples, model.n_positive, model.n_tied,
    )  # fmt: skip
    ties = [number for counts in model.tie_counts or () for number in counts]
    payloads = {
        "CORE": core,
        "EDGE": struct.pack(f"<{n - 1}d", *(edge + 0.0 for edge in model.edges)),
        "EKEY": struct.pack(f"<{n - 1}Q", *model.edge_keys),
        "VALU": struct.pack(f"<{n}d", *model.values),
        "EVID": struct.pack(f"<{len(first_step)}q", *first_step),
        "TALY": struct.pack(f"<{2 * len(model.counts)}q", *model.counts, *model.label_sums),
        "TIES": struct.pack(f"<{len(ties)}qd", *ties, model.edges_share) if ties else b"",
        "STEP": struct.pack(f"<{len(step_counts)}q", *step_counts),
        "RULE": struct.pack("<ii", 1, 0) if model.out_of_range == "clip" else b"",
        "PRNT": struct.pack("<Q", model.fingerprint) if model.fingerprint else b"",
    }
    return sealed("M", MODEL_SECTIONS, payloads)


def _words(payload: bytes, kind: str) -> list[int]:
    return list(struct.unpack(f"<{len(payload) // 8}{kind}", payload))


def read_model(data: bytes) -> tuple[StepModel, list[int]]:
    """A step model, and the first step of each of its bins."""
    sections = sections_of(data, "M", MODEL_SECTIONS)
    kind, _, ties, _, *_, n, n_asked, low, high, delta, _, _, n_samples, n_positive, n_tied = struct.unpack(
        CORE, sections["CORE"]
    )
    if kind != STEP_MODEL:
        raise ValueError("not a step model")
    edges = [float(edge) for edge in struct.unpack(f"<{n - 1}d", sections.get("EDGE", b""))]
    values = [float(value) for value in struct.unpack(f"<{n}d", sections["VALU"])]
    tally = _words(sections.get("TALY", b""), "q")
    model = StepModel(
        edges=edges, edge_keys=_words(sections.get("EKEY", b""), "Q"), values=values, exact_values=list(map(Fraction, values)),
        counts=tally[: len(tally) // 2], label_sums=tally[len(tally) // 2 :], weight_sums=None, weighted_label_sums=None,
        weight_square_sums=None, n_samples=n_samples, n_positive=n_positive, n_tied=n_tied, n_bins_asked=n_asked, score_min=low,
        score_max=high, delta=delta, ties={code: word for word, code in TIES_CODES.items()}[ties],
        out_of_range="clip" if sections.get("RULE", b"\0")[0] else "refuse",
    )  # fmt: skip
    assert all(math.isfinite(edge) for edge in edges)
    return model, _words(sections["EVID"], "q") if "EVID" in sections else list(range(n))
