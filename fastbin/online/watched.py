"""What a monitor watches: the bins of one model, or those of all models of a set as running numbers.

Evidence, states and their bytes know bins by number alone. A set is counted in a step model whose bins are those of all its
models one after the other (`ModelSet.first_bin`): bin b holds the "scores" from b to b + 1. Its note names the set by a digest,
so that a state is never continued with another.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from fastbin._cells import Key
from fastbin._errors import InputError
from fastbin._native.fit import row_keys
from fastbin._scalars import check_seed
from fastbin._typing import Float64s
from fastbin.guarantees.words import name_cell
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet

SET_NOTE = "bins of the set of models with SHA-256 "


class Watched(Protocol):
    """What a monitor asks of what it watches. Bins are numbered through."""

    @property
    def model(self) -> BinnedModel | ModelSet:
        """As it was given."""

    @property
    def partition(self) -> BinnedModel:
        """The step model whose bins are counted in."""

    @property
    def n_steps(self) -> int:
        """The number of values, where they are finer than the bins; else 0."""

    @property
    def places(self) -> list[tuple[Key | None, int]]:
        """Of each bin, the key of its model (None for a lone model and for a pool) and its number there."""

    def values(self) -> Float64s:
        """What each bin serves on average."""

    def served(self) -> Float64s:
        """The same as (n_bins, 2): one number, or all values of the bin where the mix inside it is not known."""

    def delta(self) -> Float64s:
        """How far value randomisation moves what each bin serves, at most."""

    def interval(self, alpha: float) -> Float64s:
        """The models' own intervals, for all bins at once."""

    def rows(self, scores: Any, cells: Any, keys: Any, seed: int | None, first_row: int) -> tuple[Any, Any]:
        """Scores and tie keys of rows, as the stream in `partition` takes them."""


def watch(model: BinnedModel | ModelSet) -> Watched:
    """What the monitor of a model or of a set watches; models without bins are refused."""
    return WatchedSet(model) if isinstance(model, ModelSet) else WatchedModel(model)


class WatchedModel:
    """One model."""

    def __init__(self, model: BinnedModel) -> None:
        if model.kind != "step":
            remedy = "put a binning behind it"
            raise InputError(f"is a {model.kind!r} model, which has no bins to test", remedy, argument="model")
        self.model = self.partition = model

    @property
    def n_steps(self) -> int:
        return self.model.n_steps if self.model.has_steps else 0

    @property
    def places(self) -> list[tuple[Key | None, int]]:
        return [(None, b) for b in range(self.model.n_bins)]

    def values(self) -> Float64s:
        return self.model.bin_values

    def served(self) -> Float64s:
        model = self.model
        if model.has_steps and (model.rates is not None or model.odds_ratio != 1.0):
            return np.stack([extreme.reduceat(model.values, model.first_step) for extreme in (np.minimum, np.maximum)], axis=1)
        return np.stack([model.bin_values, model.bin_values], axis=1)

    def delta(self) -> Float64s:
        return np.full(self.model.n_bins, self.model.delta)

    def interval(self, alpha: float) -> Float64s:
        return self.model.interval(alpha)

    def rows(self, scores: Any, cells: Any, keys: Any, seed: int | None, first_row: int) -> tuple[Any, Any]:
        if cells is not None:
            raise InputError("is given, and the monitor watches one model and no set", "leave cells out", argument="cells")
        return scores, keys


class WatchedSet:
    """All models of a set."""

    def __init__(self, model: ModelSet) -> None:
        if model.kind == "class-wise":
            raise InputError(
                "the set is class-wise: one outcome tells of all its classes at once, so that their evidence does not arrive "
                "outcome by outcome",
                "watch the model of each class by itself, with a share of alpha",
            )
        for name, own in model.numbered:
            if own.kind != "step":
                whose = f"the model of {name_cell(name)} is a {own.kind!r} model"
                raise InputError(f"{whose}, which has no bins to test", "put a binning behind it")
        self.model = model
        self._parts = [WatchedModel(own) for _, own in model.numbered]

    @cached_property
    def partition(self) -> BinnedModel:
        n_bins = self.model.n_bins
        return BinnedModel.from_parts(
            edges=np.arange(1.0, n_bins), values=self.values(), score_range=(0.0, float(n_bins)), scheme="explicit",
            note=note_of(self.model),
        )  # fmt: skip

    @property
    def n_steps(self) -> int:
        has_steps = any(part.n_steps for part in self._parts)
        return sum(own.n_steps for _, own in self.model.numbered) if has_steps else 0

    @property
    def places(self) -> list[tuple[Key | None, int]]:
        return [(name, b) for name, own in self.model.numbered for b in range(own.n_bins)]

    def values(self) -> Float64s:
        return np.concatenate([part.values() for part in self._parts])

    def served(self) -> Float64s:
        return np.concatenate([part.served() for part in self._parts])

    def delta(self) -> Float64s:
        return np.concatenate([part.delta() for part in self._parts])

    def interval(self, alpha: float) -> Float64s:
        return np.concatenate(self.model.interval(alpha))

    def rows(self, scores: Any, cells: Any, keys: Any, seed: int | None, first_row: int) -> tuple[Any, Any]:
        if cells is None:
            raise InputError("is missing", "the monitor watches a set, so give the key of every row", argument="cells")
        if keys is None:
            keys = row_keys(0 if seed is None else check_seed(seed), len(scores), first_row)
        bins = self.model.assign_all(scores, cells, keys=keys)
        if (bins < 0).any():
            at = int(np.argmax(bins < 0))
            cell = np.asarray(cells, dtype=object)[at]
            known = f"which is none of the {len(self.model)} keys of the set, and nothing is promised about such rows"
            raise InputError(f"is {cell!r}, {known}", "leave them out", argument="cells", at=at, value=cell)
        return bins + 0.5, None


def note_of(models: ModelSet) -> str:
    """The note of the step model in which a set is counted."""
    return SET_NOTE + hashlib.sha256(models.to_bytes()).hexdigest()
