"""The steps of all models of an export as flat tables, for targets that are source code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Array, Float64s, Int64s, UInt64s
from fastbin.export.steps import OF_UNKNOWN, SetSteps, Steps


class SetCells(NamedTuple):
    """The keys of a set."""

    keys: tuple[int | str, ...]  # ascending
    models: Int64s  # the number of the model of each
    unknown: int  # the number of what scores the rows of all other keys; -1: nothing does

    @property
    def are_texts(self) -> bool:
        return isinstance(self.keys[0], str)


class Tables(NamedTuple):
    """The steps of M models, one after another, with E edges in all.

    A model owns the edges from ``first[model]`` up to ``first[model + 1]``, and as many entries of each column and one more,
    the first of which is at ``first[model] + model``.
    """

    edges: Float64s  # (E,)
    edge_keys: UInt64s | None  # (E,); without keys, a score lies at or above an edge where score >= edge
    columns: dict[str, Array]  # (E + M,)
    first: Int64s  # (M + 1,)
    # (M,) each: the scores that have an answer, and the range that they are moved into first.
    lows: Float64s
    highs: Float64s
    clip_lows: Float64s
    clip_highs: Float64s
    cells: SetCells | None

    @property
    def n_edges(self) -> int:
        return len(self.edges)

    @property
    def clips(self) -> bool:
        return bool((self.clip_lows > self.lows).any() or (self.clip_highs < self.highs).any())


def tables_of(steps: Steps | SetSteps) -> Tables:
    """The tables of a model or of a set."""
    if isinstance(steps, Steps):
        return _tables([steps], None)
    models, unknown = list(steps.models), -1
    if steps.unknown is not None:
        # Rows of other keys: one more model, which has the values of the pool's, and neither its bins nor its intervals.
        pool, unknown = models[steps.unknown], len(models)
        columns = {
            name: column if name == "value" else np.full_like(column, OF_UNKNOWN[name]) for name, column in pool.columns.items()
        }
        models.append(pool._replace(columns=columns))
    return _tables(models, SetCells(steps.keys, steps.model_of_key, unknown))


def _tables(models: Sequence[Steps], cells: SetCells | None) -> Tables:
    needs_key = any(model.needs_key for model in models)
    clips = [model.clip or (model.low, model.high) for model in models]
    return Tables(
        edges=np.concatenate([model.edges for model in models]),
        edge_keys=np.concatenate([model.edge_keys for model in models]) if needs_key else None,
        columns={name: np.concatenate([model.columns[name] for model in models]) for name in models[0].columns},
        first=np.cumsum([0, *(len(model.edges) for model in models)]),
        lows=np.array([model.low for model in models]),
        highs=np.array([model.high for model in models]),
        clip_lows=np.array([low for low, _ in clips]),
        clip_highs=np.array([high for _, high in clips]),
        cells=cells,
    )
