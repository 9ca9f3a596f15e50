"""What a bench has to say: figures, each a number with its unit and, where something is asked of it, a bound.

Figures are kept as numbers and formatted only when they are printed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Quantity:
    """What is measured. A ratio has no unit."""

    name: str
    unit: str = ""

    def show(self, value: float) -> str:
        """Three digits, and the unit."""
        digits = f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        return f"{digits} {self.unit}".rstrip()


@dataclass(frozen=True)
class Asked:
    """What is asked of a figure: a bound that it should keep."""

    at_most: float | None = None
    at_least: float | None = None

    def is_met(self, value: float) -> bool:
        return (self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least)

    def show(self, quantity: Quantity) -> str:
        words = (("at most", self.at_most), ("at least", self.at_least))
        return " and ".join(f"{word} {quantity.show(bound)}" for word, bound in words if bound is not None)


@dataclass(frozen=True)
class Figure:
    """One quantity of one case, measured."""

    case: str
    quantity: Quantity
    value: float
    asked: Asked | None = None

    @property
    def key(self) -> tuple[str, Quantity]:
        return self.case, self.quantity

    def show(self) -> str:
        shown = f"{self.case}: {self.quantity.name}: {self.quantity.show(self.value)}"
        if self.asked is None:
            return shown
        verdict = "met" if self.asked.is_met(self.value) else "NOT MET"
        return f"{shown} ({self.asked.show(self.quantity)}: {verdict})"

    def as_record(self) -> dict[str, object]:
        asked = {} if self.asked is None else {name: bound for name, bound in asdict(self.asked).items() if bound is not None}
        return {"case": self.case, "figure": self.quantity.name, "value": self.value, "unit": self.quantity.unit, **asked}

    @classmethod
    def of_record(cls, record: dict[str, object]) -> Figure:
        bounds = {name: float(record[name]) for name in ("at_most", "at_least") if name in record}
        quantity = Quantity(str(record["figure"]), str(record["unit"]))
        return cls(str(record["case"]), quantity, float(record["value"]), Asked(**bounds) if bounds else None)


@dataclass
class Results:
    """The figures of one run, or of several that make up one, in the order in which they came."""

    machine: str
    figures: dict[tuple[str, Quantity], Figure] = field(default_factory=dict)

    def add(self, figures: Iterable[Figure]) -> None:
        """A figure measured again replaces the one that was there."""
        self.figures.update((figure.key, figure) for figure in figures)

    def value(self, case: str, quantity: Quantity) -> float | None:
        """Of this figure, where it was measured."""
        figure = self.figures.get((case, quantity))
        return None if figure is None else figure.value

    @classmethod
    def load(cls, path: Path) -> Results:
        saved = json.loads(path.read_text(encoding="utf8"))
        results = cls(saved["machine"])
        results.add(map(Figure.of_record, saved["figures"]))
        return results

    def save(self, path: Path) -> None:
        """One figure a line, so that two runs can be compared as text."""
        lines = ",\n".join("  " + json.dumps(figure.as_record()) for figure in self.figures.values())
        path.write_text(f'{{\n "machine": {json.dumps(self.machine)},\n "figures": [\n{lines}\n ]\n}}\n', encoding="utf8")
