"""The state of a monitor: saved and read again, refused when damaged or forged, whole after an interruption."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastbin as fb
from fastbin.online import CalibrationMonitor
from monitored import outcomes, refuses, run, served


def test_monitors_are_saved_loaded_and_pickled(tmp_path: Path) -> None:
    monitor = run(served(), *outcomes(500, [0.3, 0.4, 0.6, 0.9]), tolerance=[0.0, 0.01, 0.02, 0.03])
    monitor.save(tmp_path / "m.json")
    loaded = CalibrationMonitor.load(tmp_path / "m.json")
    assert loaded == monitor == pickle.loads(pickle.dumps(monitor))
    assert loaded.report() == monitor.report()
    assert loaded.model == monitor.model
    for one in (monitor, loaded):
        one.update(*outcomes(500, seed=3))
    assert loaded == monitor
    assert monitor != "monitor"
    with pytest.raises(TypeError):
        hash(monitor)


RATES = st.one_of(
    st.floats(0.0, 1.0),
    st.floats(-330.0, 0.0).map(lambda exponent: 10.0**exponent),
    st.floats(-17.0, 0.0).map(lambda exponent: 1.0 - 10.0**exponent),
)


@given(
    st.lists(RATES, min_size=2, max_size=2).map(sorted),
    st.one_of(st.just(0.0), RATES),
    st.sampled_from([0.5, 0.05, 1e-100]),
    st.lists(st.tuples(st.sampled_from([0, 1, 3, 50, 2000]), st.sampled_from([0.0, 0.01, 0.5, 1.0])), max_size=3),
)
def test_every_monitor_that_can_be_made_can_be_saved(
    values: list[float], tolerance: float, alpha: float, blocks: list[tuple[int, float]]
) -> None:
    """Tolerated rates far below 1e-50 among them, whose tails and scales are computed in different ways."""
    model = fb.BinnedModel.from_parts(edges=[0.5], values=values)
    monitor = CalibrationMonitor(model, alpha, tolerance)
    rng = np.random.default_rng(7)
    for n, rate in [(0, 0.0), *blocks]:
        if n:
            scores = rng.random(n) / rng.choice([1.0, 2.0])  # also the lower bin alone
            monitor.update(scores, (rng.random(n) < rate).astype(np.int64))
        data = monitor.to_bytes()
        assert CalibrationMonitor.from_bytes(data) == monitor
        assert CalibrationMonitor.from_bytes(data).to_bytes() == data


@pytest.mark.parametrize("low", [1e-43, 2e-121, 5e-324])
def test_tiny_tolerated_rates_are_saved(low: float) -> None:
    monitor = CalibrationMonitor(fb.BinnedModel.from_parts(edges=[0.5], values=[low, 7e-61]))
    for labels in ([], [0, 0, 1]):
        if labels:
            monitor.update([0.75] * 3, labels)
        assert CalibrationMonitor.from_bytes(monitor.to_bytes()) == monitor


def of_version_0(monitor: CalibrationMonitor, **changes: Any) -> bytes:
    """The state as fastbin 0.1.0 wrote it, with some entries changed."""
    report = monitor.report()
    state = {
        "format": "fastbin-monitor",
        "version": 1,
        "alpha": monitor.alpha.hex(),
        "interval_alpha": None if monitor.interval_alpha is None else monitor.interval_alpha.hex(),
        "tolerated": [[low.hex(), high.hex()] for low, high in monitor.tolerated.tolist()],
        "alarm_at": monitor.alarm_at or 0,
        "max_log_mean": monitor._state.max_log_mean.hex(),
        "named_at": [b.named_at or 0 for b in report.bins],
        "max_log_e": [log_e.hex() for log_e in monitor._state.max_log_e.tolist()],
        "stream": base64.b64encode(monitor._state.stream.to_bytes()).decode(),
    }
    return json.dumps({**state, **changes}).encode()


def changed(**entries: Any) -> bytes:
    return of_version_0(run(served(), *outcomes(50)), **entries)


def test_states_of_version_0_are_read() -> None:
    drifted = run(served(), *outcomes(4000, [0.3, 0.4, 0.6, 0.9]), tolerance=0.02)
    assert drifted.alarm
    for monitor in (drifted, run(served(), *outcomes(50)), CalibrationMonitor(served())):
        read = CalibrationMonitor.from_bytes(of_version_0(monitor))
        assert read == monitor
        assert read.report() == monitor.report()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no bytes: an empty file is not a monitor"),
        (b"score,label\n0.5,1\n", "not a fastbin monitor"),
        (b"[]", "not a fastbin monitor"),
        (b"{}", "not a fastbin monitor, or damaged"),
        (b"{", "not a fastbin monitor, or damaged"),
        (served().to_bytes(), "not a fastbin monitor"),
        (changed(version=2), "not a monitor that this version of fastbin can read: 'fastbin-monitor', version 2"),
        (changed(alpha="0x1p+1"), "not a fastbin monitor, or damaged: alpha is 2.0"),
        (changed(stream="AAAA"), "not a fastbin stream"),
        (changed(stream="&"), "not a fastbin monitor, or damaged"),
        (changed(named_at=[0]), "different numbers of bins"),
        (changed(tolerated=[["0x1p-1", "0x1p-2"]] * 4), "contradicts itself"),
        (changed(max_log_e=None), "not a fastbin monitor, or damaged"),
        (changed(alarm_at=-5), "contradicts itself"),  # switched the alarm of 0.1.0 off for ever
        (changed(alarm_at=7), "contradicts itself"),
        (
            of_version_0(run(served(), *outcomes(12, [0.5] * 4)), max_log_e=["0x0p+0"] * 4),
            "the largest evidence is below that of the outcomes counted",
        ),
    ],
)
def test_foreign_and_damaged_states_are_refused(data: bytes, message: str, tmp_path: Path) -> None:
    refuses(fb.FormatError, message, CalibrationMonitor.from_bytes, data)
    path = tmp_path / "m.mon"
    path.write_bytes(data)
    refuses(fb.FormatError, f"{path}: ", CalibrationMonitor.load, path)


def test_every_flipped_bit_of_a_state_is_refused() -> None:
    monitor = run(served(), *outcomes(300))
    monitor.mark_seen(bytes(range(32)))
    data = monitor.to_bytes()
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(fb.FormatError):
            CalibrationMonitor.from_bytes(flipped)


def test_digests_of_what_was_counted_are_kept() -> None:
    monitor = CalibrationMonitor(served())
    digests = [bytes([number]) * 32 for number in (3, 1, 2)]
    for digest in (*digests, digests[0]):
        monitor.mark_seen(digest)
    assert monitor.seen == tuple(digests)
    assert CalibrationMonitor.from_bytes(monitor.to_bytes()).seen == tuple(digests)
    for wrong in (b"", b"x" * 31, "x" * 32):
        refuses(fb.InputError, "the 32 bytes of a SHA-256 are needed", monitor.mark_seen, wrong)


def test_an_interrupted_update_leaves_the_state_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monitor = run(served(), *outcomes(100))
    before, calls = monitor.to_bytes(), []

    def interrupted(*arguments: Any) -> Any:
        calls.append(arguments)
        raise KeyboardInterrupt

    for name in ("after_each", "first_at_least", "running_tally"):
        with monkeypatch.context() as patch:
            patch.setattr(f"fastbin.online.evidence.{name}", interrupted)
            with pytest.raises(KeyboardInterrupt):
                monitor.update(*outcomes(5000, [0.9, 0.1, 0.1, 0.1]))
        assert monitor.to_bytes() == before
    assert len(calls) == 3
    assert monitor.update(*outcomes(5000, [0.9, 0.1, 0.1, 0.1]))
