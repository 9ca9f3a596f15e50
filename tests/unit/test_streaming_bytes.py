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
    """csrc/FORMAT-stream.md, read by hand."""
    stream = counted()
    data = stream.to_bytes()
    assert data[:8] == b"\x89FBS\r\n\x1a\n"
    version, flags, length, n, positive, tied, model_size = struct.unpack_from("<IIQqqqQ", data, 8)
    assert (version, flags, length, n, tied) == (1, 1, len(data), 500, 0)
    assert positive == stream.label_sums.sum()
    assert data[56 : 56 + model_size] == stream.partition.to_bytes()
    numbers = struct.unpack_from("<4q4q4dQ", data, 56 + model_size)
    assert list(numbers[:4]) == stream.counts.tolist()
    assert list(numbers[4:8]) == stream.label_sums.tolist()
    assert list(numbers[8:12]) == stream.running_variances.tolist()
    assert numbers[12] == checksum(data[:-8])


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
COUNTS = 56 + MODEL_SIZE


@pytest.mark.parametrize(
    ("offset", "pattern", "value", "message"),
    [
        pytest.param(8, "<I", 2, "newer version", id="version 2"),
        pytest.param(8, "<I", 0, "contradicts itself", id="version 0"),
        pytest.param(12, "<I", 4, "newer version", id="unknown flag"),
        pytest.param(12, "<I", 0, "contradicts itself", id="no variance, though it is there"),
        pytest.param(16, "<Q", 8, "truncated", id="length"),
        pytest.param(24, "<q", 499, "contradicts itself", id="fewer samples than counts"),
        pytest.param(24, "<q", 501, "contradicts itself", id="more samples than counts"),
        pytest.param(32, "<q", 0, "contradicts itself", id="label 1 never seen"),
        pytest.param(40, "<q", -1, "contradicts itself", id="negative ties"),
        pytest.param(48, "<Q", 2**63, "contradicts itself", id="model longer than all"),
        pytest.param(48, "<Q", MODEL_SIZE - 8, "contradicts itself", id="model cut short"),
        pytest.param(56 + 8, "<I", 9, "newer version", id="newer model"),
        pytest.param(COUNTS, "<q", -5, "contradicts itself", id="negative count"),
        pytest.param(COUNTS + 32, "<q", 10**6, "contradicts itself", id="label sum above count"),
        pytest.param(COUNTS + 64, "<d", -1.0, "contradicts itself", id="negative variance"),
        pytest.param(COUNTS + 64, "<d", -0.0, "contradicts itself", id="negative zero"),
        pytest.param(COUNTS + 64, "<d", 1e9, "contradicts itself", id="variance above count"),
        pytest.param(COUNTS + 64, "<d", float("nan"), "contradicts itself", id="variance NaN"),
    ],
)
def test_forged_bytes_are_refused(offset: int, pattern: str, value: float, message: str) -> None:
    refuses(fb.FormatError, message, StreamingBinning.from_bytes, forged(offset, pattern, value))


def test_the_forger_forges_well() -> None:
    assert forged(24, "<q", 500) == counted().to_bytes()


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
