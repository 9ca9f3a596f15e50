"""Decide with a promise: accept, reject or abstain; labels still needed; performance before there are labels."""

from __future__ import annotations

from fastbin._model.decision import Decision
from fastbin.decide.performance import Performance, performance
from fastbin.decide.plans import LabelPlan, plan_labels
from fastbin.decide.thresholds import accept_threshold

__all__ = ["Decision", "LabelPlan", "Performance", "accept_threshold", "performance", "plan_labels"]
__dir__ = __all__.copy  # completion lists the public names
