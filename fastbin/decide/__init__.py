"""Decide with a promise: accept, reject or abstain; labels still needed; performance before there are labels."""

from __future__ import annotations

__all__: list[str] = []
