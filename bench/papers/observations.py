"""A sentence of a paper beside what was found."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Observation", "listed"]


@dataclass(frozen=True)
class Observation:
    """What the paper says and where, what was found, whether it holds, why not, and in how much of the study."""

    place: str
    claim: str
    finding: str
    holds: bool
    reason: str = ""
    extent: str = ""

    def __str__(self) -> str:
        extent = f" ({self.extent})" if self.extent else ""
        told = [f"{self.place}: {'holds' if self.holds else 'does not hold'}{extent}"]
        parts = ("paper", self.claim), ("ours", self.finding), ("note" if self.holds else "why", self.reason)
        for name, text in parts:
            if text:
                told.append(textwrap.fill(text, 124, initial_indent=f"  {name:7}", subsequent_indent=" " * 9))
        return "\n".join(told)


def listed(numbers: Iterable[float], digits: int = 3, sign: bool = False) -> str:
    """Numbers with commas between."""
    return ", ".join(f"{number:{'+' if sign else ''}.{digits}f}" for number in numbers)
