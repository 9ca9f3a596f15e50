"""Decide with a promise: accept, reject or abstain; labels still needed; performance before there are labels."""

from __future__ import annotations

from fastbin._model.decision import Decision
from fastbin.decide.plans import LabelPlan, plan_labels
from fastbin.decide.thresholds import accept_threshold

__all__ = ["Decision", "LabelPlan", "accept_threshold", "plan_labels"]
