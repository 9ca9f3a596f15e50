"""Outcomes that arrive one after the other: keep counting, and watch whether what is served is still true.

`StreamingBinning` counts labelled samples in fixed bins, with intervals that hold at every number of samples at once.
`CalibrationMonitor` tests, as often as one likes, whether a deployed model is still calibrated; the chance that it ever
raises a false alarm is at most alpha.
"""

from __future__ import annotations

from fastbin.online.monitor import CalibrationMonitor
from fastbin.online.monitor_report import BinReport, MonitorReport
from fastbin.online.streaming import StreamingBinning

__all__ = ["BinReport", "CalibrationMonitor", "MonitorReport", "StreamingBinning"]
__dir__ = __all__.copy  # completion lists the public names
