"""What a monitor watches: the bins of one model, or those of all models of a set as running numbers.

Evidence, states and their bytes know bins by number alone. A set is counted in a step model whose bins are those of all its
models one after the other (`ModelSet.first_bin`): bin b holds the "scores" from b to b + 1. Its note names the set by a digest,
so that a state is never continued with another.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np

from fastbin._base.array_types import Float64s
from fastbin._base.cells import Key
from fastbin._base.checks import check_seed
from fastbin._base.errors import InputError
from fastbin._core.fit import row_keys
from fastbin.guarantees.certificate import name_cell
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

SET_NOTE = "bins of the set of models with SHA-256 "


class Watched:
    """The model or the set that a monitor watches. Bins are numbered through."""

    def __init__(self, model: BinnedModel | ModelSet) -> None:
        if model.kind == "class-wise":
            raise InputError(
                "the set is class-wise: one outcome tells of all its classes at once, so that their evidence does not arrive "
                "outcome by outcome",
                "watch the model of each class by itself, with a share of alpha",
            )
        for name, own in model.numbered:
            if own.kind != "step":
                problem, is_set = f"is a {own.kind!r} model, which has no bins to test", model.is_set
                problem = f"the model of {name_cell(name)} {problem}" if is_set else problem
                raise InputError(problem, "put a binning behind it", argument=None if is_set else "model")
        self.model = model
        self._models = [own for _, own in model.numbered]

    @cached_property
    def partition(self) -> BinnedModel:
        """The step model whose bins are counted in."""
        model = self.model
        if not model.is_set:
            return model
        return BinnedModel.from_parts(
            edges=np.arange(1.0, model.n_bins), values=self.values(), score_range=(0.0, float(model.n_bins)), scheme="explicit",
            note=note_of(model),
        )  # fmt: skip

    @property
    def n_steps(self) -> int:
        """The number of values, where they are finer than the bins; else 0."""
        return sum(own.n_steps for own in self._models) if any(own.has_steps for own in self._models) else 0

    @property
    def places(self) -> list[tuple[Key | None, int]]:
        """For each bin the key of its model (None for a lone model and for a pool), and its number there."""
        return [(name, b) for name, own in self.model.numbered for b in range(own.n_bins)]

    def values(self) -> Float64s:
        """What each bin serves on average."""
        return np.concatenate([own.bin_values for own in self._models])

    def served(self) -> Float64s:
        """The same as (n_bins, 2): one number, or all values of the bin where the mix inside it is not known."""
        return np.concatenate([_served(own) for own in self._models])

    def delta(self) -> Float64s:
        """How far value randomisation moves what each bin serves, at most."""
        return np.concatenate([np.full(own.n_bins, own.delta) for own in self._models])

    def interval(self, alpha: float) -> Float64s:
        """The models' own intervals, for all bins at once."""
        return np.concatenate(self.model.interval(alpha)) if self.model.is_set else self.model.interval(alpha)

    def rows(self, scores: Any, cells: Any, keys: Any, seed: int | None, first_row: int) -> tuple[Any, Any]:
        """Scores and tie keys of rows, as the stream in `partition` takes them."""
        models = self.model
        if not models.is_set:
            if cells is not None:
                raise InputError("is given, and the monitor watches one model and no set", "leave cells out", argument="cells")
            return scores, keys
        if cells is None:
            raise InputError("is missing", "the monitor watches a set, so give the key of every row", argument="cells")
        if keys is None:
            keys = row_keys(0 if seed is None else check_seed(seed), len(scores), first_row)
        bins = models.assign_all(scores, cells, keys=keys)
        if (bins < 0).any():
            at = int(np.argmax(bins < 0))
            cell = np.asarray(cells, dtype=object)[at]
            known = f"which is none of the {len(models)} keys of the set, and nothing is promised about such rows"
            raise InputError(f"is {cell!r}, {known}", "leave them out", argument="cells", at=at, value=cell)
        return bins + 0.5, None


def _served(model: BinnedModel) -> Float64s:
    if model.has_steps and (model.rates is not None or model.odds_ratio != 1.0):
        return np.stack([extreme.reduceat(model.values, model.first_step) for extreme in (np.minimum, np.maximum)], axis=1)
    return np.stack([model.bin_values, model.bin_values], axis=1)


def note_of(models: ModelSet) -> str:
    """The note of the step model in which a set is counted."""
    return SET_NOTE + hashlib.sha256(models.to_bytes()).hexdigest()
