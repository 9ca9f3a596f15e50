"""Cases of exports: what they are compared with. Nothing is asked of them, and so none stands among the targets."""

from __future__ import annotations

from dataclasses import dataclass

from figures import Quantity

EXPORT_TO_PREDICT = Quantity("export / predict")
BY_HAND_TO_EXPORT = {search: Quantity(f"{search} search by hand / export") for search in ("binary", "linear")}

# In ONNX, what others write: a tree operator, whose answers are float32, and what skl2onnx makes of isotonic regression, which
# takes the value at the nearest of all knots.
ONNX_TO_EXPORT = {form: Quantity(f"{form} / export") for form in ("tree operator", "nearest knot")}
ONE_ROW_US = Quantity("one row", "us")
ONE_ROW_TO_EMPTY = Quantity("one row / the same of a graph that does nothing")
ISOTONIC_TO_ONE_ROW = Quantity("one row by IsotonicRegression in Python / one row")


@dataclass(frozen=True)
class ExportCase:
    """1e6 scores in random order, scored one by one where the export runs; with keys, every score equals an edge."""

    n_bins: int
    has_keys: bool = False
    is_short: bool = False

    def name(self, target: str) -> str:
        return f"{target}, B = {self.n_bins}{', keys' * self.has_keys}"


EXPORTS = [ExportCase(10), ExportCase(100, is_short=True), ExportCase(1000), ExportCase(50, has_keys=True, is_short=True)]
