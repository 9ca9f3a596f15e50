"""Is the promise of a model kept in every group of a population?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastbin._typing import Float64s, Int64s
from fastbin.assess.reliability import as_records

MOST_GROUPS_NAMED = 8


@dataclass(frozen=True, eq=False)
class AuditedGroup:
    """One group of an audit, bin by bin; the bins in which it has no test sample are left out.

    Attributes
    ----------
    name : str
    verdict : {"contradicted", "confirmed", "cannot tell", "no claim"}
        Whether the promise about the model holds in this group. "no claim" where it leaves out all bins of the group.
    p_value : float
        Of the promise in this group, adjusted for all cells of the audit.
    epsilon : float
        The distance that these samples certify by themselves: in every bin, what is served and the group's true frequency
        differ by this at most (in a model of two resolutions the average of what is served). Of all groups of the audit at
        once with probability 1 - alpha.
    n_samples : int
        Test samples of the group.
    bins : int64 (n_cells,)
        The bins that hold samples of the group, ascending.
    counts, label_sums : int64 (n_cells,)
    mean_served : float64 (n_cells,)
        What was served there on average: the value of the bin, unless the model has two resolutions.
    claims : float64 (n_cells, 2)
        Where the promise puts the true frequency; of a model of two resolutions the mean of label - served value.
    intervals : float64 (n_cells, 2)
        Where these samples put it, all cells of the audit at once with probability 1 - alpha.
    p_values : float64 (n_cells,)
        Not adjusted.
    radii : float64 (n_cells,)
        The largest distance of what is served from an end of the interval.
    verdicts : tuple of str
    """

    name: str
    verdict: str
    p_value: float
    epsilon: float
    n_samples: int
    bins: Int64s
    counts: Int64s
    label_sums: Int64s
    mean_served: Float64s
    claims: Float64s
    intervals: Float64s
    p_values: Float64s
    radii: Float64s
    verdicts: tuple[str, ...]

    def bins_with(self, verdict: str) -> list[int]:
        """The bins with this verdict."""
        return [b for b, own in zip(self.bins.tolist(), self.verdicts, strict=True) if own == verdict]

    def to_dict(self) -> dict[str, Any]:
        """The group as plain dicts, lists, strings and numbers, ready for JSON."""
        columns = {"bins": "bin", "counts": "count", "label_sums": "label_sum", "mean_served": "mean_served",
                   "claims": "claim", "intervals": "interval", "p_values": "p_value", "radii": "radius"}  # fmt: skip
        entries: dict[str, Any] = {word: getattr(self, name).tolist() for name, word in columns.items()}
        head = {name: getattr(self, name) for name in ("name", "verdict", "p_value", "epsilon", "n_samples")}
        return {**head, "bins": as_records({"verdict": self.verdicts, **entries})}
