"""The checked configuration of a uniform-mass fit, and how its model is put together.

What the fit of arrays and the fit of chunks have in common, so that the two can only give the same model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastbin._errors import InputError
from fastbin._fit.cuts import Cuts
from fastbin._fit.exact_sums import WeightTally, require_weight
from fastbin._fit.fingerprint import fit_fingerprint
from fastbin._fit.monotone import monotone_model
from fastbin._fit.partition import Partition, divide, make_seams, n_tied
from fastbin._scalars import check_choice, check_count, check_score_range, check_seed, check_unit_interval
from fastbin._validation import ScoreRange
from fastbin.model import BinnedModel

__all__ = ["Recipe", "check_n_bins", "means"]

TIES_OF_SCHEME = {
    "umd": ("random", "upper", "isolate"),
    "ze": ("random", "upper"),
    "ums": ("random", "upper"),
    "umb": ("random", "lower"),
}
MOST_BINS = 2**24


@dataclass(frozen=True)
class Recipe:
    """The parameters of `UniformMassBinning`, checked; `check` makes one."""

    n_bins: int | str
    scheme: str
    ties: str
    delta: float
    split: float
    seed: int
    score_range: ScoreRange
    monotone: bool
    out_of_range: str

    @classmethod
    def check(
        cls,
        *,
        n_bins: Any,
        scheme: Any,
        ties: Any,
        delta: Any,
        split: Any,
        seed: Any,
        score_range: Any,
        monotone: Any,
        out_of_range: Any = "refuse",
    ) -> Recipe:
        """Refuse what cannot be used; a seed of ``None`` is drawn here."""
        scheme = check_choice(scheme, "scheme", tuple(TIES_OF_SCHEME))
        ties = check_choice(ties, "ties", ("random", "upper", "lower", "isolate"))
        if ties not in TIES_OF_SCHEME[scheme]:
            allowed = " or ".join(map(repr, TIES_OF_SCHEME[scheme]))
            raise InputError(f"ties is {ties!r}, which scheme {scheme!r} does not have; choose {allowed}")
        delta = check_unit_interval(delta, "delta", open_right=True)
        if 0.0 < delta < 2.0**-52:
            raise InputError(
                f"delta is {delta!r}, which changes no value in double precision; use 0 (ties are broken exactly, by keys) or "
                "at least 2**-52"
            )
        if isinstance(n_bins, str):
            n_bins = check_choice(n_bins, "n_bins", ("auto",))
        else:
            n_bins = check_count(n_bins, "n_bins", maximum=MOST_BINS)
        if scheme == "ums":
            split = check_unit_interval(split, "split")
        seed, score_range = check_seed(seed), check_score_range(score_range)
        out_of_range = check_choice(out_of_range, "out_of_range", ("refuse", "clip"))
        return cls(n_bins, scheme, ties, delta, split, seed, score_range, bool(monotone), out_of_range)

    def n_bins_for(self, n_samples: int) -> int:
        """The number of bins for so many samples, which must be enough for it."""
        if n_samples == 0:  # there are rows, or nobody would have come here
            raise InputError("sample_weight is 0 for every row; a calibrator needs samples")
        if isinstance(self.n_bins, str):
            return check_n_bins(self.n_bins, math.floor((1 - self.split) * n_samples) if self.scheme == "ums" else n_samples)
        needed, reason = {
            "umb": (self.n_bins, "one per bin"),
            "ums": (self.n_bins + 1, "one per bin in the first part and one in the second"),
        }.get(self.scheme, (2 * self.n_bins - 1, "2 n_bins - 1, so that no bin is empty"))
        if n_samples < needed:
            raise InputError(
                f"{n_samples} samples are too few for n_bins={self.n_bins} under scheme {self.scheme!r}, which needs at least "
                f"{needed} ({reason}); take fewer bins or more samples"
            )
        return self.n_bins

    def divide(self, cuts: Cuts, limits: tuple[float, float]) -> Partition:
        """The bins between cuts that come from the samples that are counted: "umd", "ze" and "umb"."""
        seams = make_seams(cuts, self.ties, count_cuts=self.scheme != "umd", cut_below=self.scheme == "umb")
        return divide(seams, cuts.group.n_samples, cuts.group.n_positive, limits)

    def model(self, partition: Partition, cuts: Cuts, n_bins_asked: int, weighted: WeightTally | None = None) -> BinnedModel:
        """The model with these bins, whose values are (weighted) means, moved where they must not fall."""
        tally: dict[str, Any] = {"values": means(partition.counts, partition.label_sums)}
        if weighted is not None:
            require_weight(weighted.weight_sums)
            tally = {"values": weighted.values(), **weighted._asdict()}
        model = BinnedModel.from_parts(
            edges=partition.edges, edge_keys=partition.edge_keys, counts=partition.counts, label_sums=partition.label_sums,
            n_bins_asked=n_bins_asked, n_samples=cuts.group.n_samples, n_positive=cuts.group.n_positive,
            n_tied=n_tied(cuts, self.ties), scheme=self.scheme, ties=self.ties, seed=self.seed, delta=self.delta,
            score_range=self.score_range, out_of_range=self.out_of_range, **tally,
            fingerprint=fit_fingerprint(partition.edges, self.ties, self.score_range, cuts.group),
        )  # fmt: skip
        return monotone_model(model) if self.monotone else model


def check_n_bins(n_bins: Any, n_samples: int) -> int:
    """The number of bins, where "auto" depends on the number of samples alone."""
    if not isinstance(n_bins, str):
        return check_count(n_bins, "n_bins", maximum=MOST_BINS)
    check_choice(n_bins, "n_bins", ("auto",))
    from fastbin.guarantees import auto_n_bins

    return auto_n_bins(max(1, n_samples))


def means(counts: npt.NDArray[np.int64], label_sums: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The mean label of each bin; 0.5 for a bin without samples."""
    return np.where(counts > 0, label_sums / np.maximum(counts, 1), 0.5)
