"""Streams as bytes: written as written down, read again, and refused when forged or damaged."""

from __future__ import annotations

import pickle
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastbin as fb
from fastbin.online import StreamingBinning
from reference.keys import fmix


def counted() -> StreamingBinning:
    rng = np.random.default_rng(0)
    scores = rng.random(500)
    stream = StreamingBinning([0.2, 0.5, 0.8])
    stream.update(scores, rng.random(500) < scores)
    return stream


def refuses(error: type[Exception], message: str, call: Callable[..., object], *arguments: Any) -> None:
    """The call raises this error, with this in its message."""
    with pytest.raises(error, match=re.escape(message)) as caught:
        call(*arguments)
    assert type(caught.value) is error


def test_streams_are_saved_loaded_pickled_and_compared(tmp_path: Path) -> None:
    stream = counted()
    stream.save(tmp_path / "s.fbs")
    loaded = StreamingBinning.load(tmp_path / "s.fbs")
    assert loaded == stream == pickle.loads(pickle.dumps(stream))
    assert loaded.partition == stream.partition
    loaded.update_one(0.5, 1)
    assert loaded != stream
    assert stream != "stream"
    assert repr(stream) == "StreamingBinning('explicit' partition, 4 bins, 500 samples)"
    with pytest.raises(TypeError):
        hash(stream)


def test_the_bytes_are_as_written_down() -> None:
    """csrc/FORMAT.md, "Streams", read by hand."""
    stream = counted()
    data = stream.to_bytes()
    assert data[:8] == b"\x89FBS\r\n\x1a\n"
    version, n_sections, length = struct.unpack_from("<IIQ", data, 8)
    assert (version, n_sections, length) == (2, 4, len(data))
    sections, at = {}, 24
    while at < len(data) - 8:
        tag, must_understand, size = struct.unpack_from("<4sIQ", data, at)
        assert must_understand == 1
        sections[tag] = data[at + 16 : at + 16 + size]
        at += 16 + size
    assert list(sections) == [b"HEAD", b"MODL", b"TALY", b"VARI"]
    assert struct.unpack("<IIqqq", sections[b"HEAD"]) == (1, 0, 500, int(stream.label_sums.sum()), 0)
    assert sections[b"MODL"] == stream.partition.to_bytes()
    assert struct.unpack("<8q", sections[b"TALY"]) == (*stream.counts.tolist(), *stream.label_sums.tolist())
    assert list(struct.unpack("<4d", sections[b"VARI"])) == stream.running_variances.tolist()
    assert struct.unpack("<Q", data[-8:]) == (checksum(data[:-8]),)


def version_1(stream: StreamingBinning, flags: int) -> bytes:
    """The bytes that fastbin 0.1.0 wrote."""
    model = stream.partition.to_bytes()
    counts, label_sums, variances = stream.tally()
    arrays = counts.tobytes() + label_sums.tobytes() + (b"" if variances is None else variances.tobytes())
    head = struct.pack("<qqqQ", stream.n_samples, int(label_sums.sum()), 0, len(model))
    length = 24 + len(head) + len(model) + len(arrays) + 8
    data = b"\x89FBS\r\n\x1a\n" + struct.pack("<IIQ", 1, flags, length) + head + model + arrays
    return data + struct.pack("<Q", checksum(data))


def test_streams_of_version_1_are_read() -> None:
    stream = counted()
    read = StreamingBinning.from_bytes(version_1(stream, 1))
    assert read.to_bytes() == stream.to_bytes()
    read.update([0.3, 0.9], [0, 1])
    stream.update([0.3, 0.9], [0, 1])
    assert read == stream
    continued = StreamingBinning(counted().model(), continue_fit=True)
    assert StreamingBinning.from_bytes(version_1(continued, 2)) == continued
    for wrong in (version_1(stream, 0), version_1(stream, 4), version_1(continued, 1)):
        with pytest.raises(fb.FormatError):
            StreamingBinning.from_bytes(wrong)


def test_a_merge_keeps_the_tally_of_the_fit_that_was_gone_on_from() -> None:
    """In 0.1.0 the flag was kept and the tally was not, so that a file could say that a fit was counted which it had not."""
    fit = counted().model()
    merged = StreamingBinning([0.2, 0.5, 0.8])
    merged.merge(StreamingBinning(fit, continue_fit=True))
    assert merged.partition == fit
    assert StreamingBinning.from_bytes(merged.to_bytes()) == merged


def checksum(data: bytes) -> int:
    state = 0
    for (word,) in struct.iter_unpack("<Q", data):
        state = fmix(state ^ word)
    return state


def forged(offset: int, pattern: str, value: float) -> bytes:
    """A stream with one number replaced and the checksum made to fit."""
    data = bytearray(counted().to_bytes())
    struct.pack_into(pattern, data, offset % (len(data) - 8) if offset < 0 else offset, value)
    data[-8:] = struct.pack("<Q", checksum(bytes(data[:-8])))
    return bytes(data)


MODEL_SIZE = len(StreamingBinning([0.2, 0.5, 0.8]).partition.to_bytes())
COUNTS = 88 + MODEL_SIZE + 16
VARIANCES = COUNTS + 64 + 16


@pytest.mark.parametrize(
    ("offset", "pattern", "value", "message"),
    [
        pytest.param(8, "<I", 3, "newer version", id="version 3"),
        pytest.param(8, "<I", 0, "contradicts itself", id="version 0"),
        pytest.param(8, "<I", 1, "contradicts itself", id="version 1, laid out otherwise"),
        pytest.param(12, "<I", 3, "contradicts itself", id="fewer sections"),
        pytest.param(40, "<I", 4 | 1, "newer version", id="unknown flag"),
        pytest.param(40, "<I", 0, "contradicts itself", id="no variance, though it is there"),
        pytest.param(40, "<I", 2 | 1, "contradicts itself", id="a fit without a tally"),
        pytest.param(44, "<I", 1, "contradicts itself", id="filling"),
        pytest.param(16, "<Q", 8, "truncated", id="length"),
        pytest.param(48, "<q", 499, "contradicts itself", id="fewer samples than counts"),
        pytest.param(48, "<q", 501, "contradicts itself", id="more samples than counts"),
        pytest.param(56, "<q", 0, "contradicts itself", id="label 1 never seen"),
        pytest.param(64, "<q", -1, "contradicts itself", id="negative ties"),
        pytest.param(64, "<q", 3, "contradicts itself", id="ties where no edge splits any"),
        pytest.param(80, "<Q", 2**63, "contradicts itself", id="model longer than all"),
        pytest.param(80, "<Q", MODEL_SIZE - 8, "contradicts itself", id="model cut short"),
        pytest.param(88 + 8, "<I", 9, "newer version", id="newer model"),
        pytest.param(COUNTS, "<q", -5, "contradicts itself", id="negative count"),
        pytest.param(COUNTS + 32, "<q", 10**6, "contradicts itself", id="label sum above count"),
        pytest.param(VARIANCES, "<d", -1.0, "contradicts itself", id="negative variance"),
        pytest.param(VARIANCES, "<d", -0.0, "contradicts itself", id="negative zero"),
        pytest.param(VARIANCES, "<d", 0.0, "contradicts itself", id="no variance with samples"),
        pytest.param(VARIANCES, "<d", 1e9, "contradicts itself", id="variance above count"),
        pytest.param(VARIANCES, "<d", float("nan"), "contradicts itself", id="variance NaN"),
    ],
)
def test_forged_bytes_are_refused(offset: int, pattern: str, value: float, message: str) -> None:
    refuses(fb.FormatError, message, StreamingBinning.from_bytes, forged(offset, pattern, value))


def test_the_forger_forges_well() -> None:
    assert forged(48, "<q", 500) == counted().to_bytes()


def test_foreign_and_damaged_bytes_are_refused(tmp_path: Path) -> None:
    data = counted().to_bytes()
    path = tmp_path / "s.fbs"
    for wrong, message in (
        (b"", "no bytes"),
        (b"score,label\n", "not a fastbin stream"),
        (counted().model().to_bytes(), "not a fastbin stream"),
        (data[:-1], "truncated"),
        (data + b"\0" * 8, "bytes behind its end"),
        (data[:60] + bytes([data[60] ^ 1]) + data[61:], "the checksum of the stream does not match"),
    ):
        refuses(fb.FormatError, message, StreamingBinning.from_bytes, wrong)
        path.write_bytes(wrong)
        refuses(fb.FormatError, f"{path}: ", StreamingBinning.load, path)
    with pytest.raises(FileNotFoundError):
        StreamingBinning.load(tmp_path / "nowhere.fbs")
