"""The score line cut at the edges of a model, as fine as anything that is counted of its steps can ask.

A piece lies between two edges of the model, or is the score of an edge of its bins, which is what a fit leaves its fingerprint
of. So rows that are counted by piece and label are known, as far as the model can tell, by one row for each with a frequency;
whatever is a function of the counts is computed from these rows by the functions that take rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastbin._base.array_types import Float64s, Int64s, UInt8s, UInt64s
from fastbin._base.cells import Key
from fastbin._base.errors import InputError
from fastbin._fit.fingerprint import edge_scores
from fastbin.engines.scoring import models_of
from fastbin.model import BinnedModel
from fastbin.model_set import ModelSet
from fastbin.online.streaming import row_of_each_bin

BELOW = np.uint64(2**64 - 1)  # the key of an edge that tied scores lie below


class CountedRows(NamedTuple):
    """Rows that have the counts of all rows: arrays of one length."""

    scores: Float64s
    labels: UInt8s
    frequencies: Int64s
    keys: UInt64s | None  # of models that compare keys
    cells: list[Key] | None  # of a set


def pieces_of(model: BinnedModel | ModelSet) -> BinnedModel | ModelSet:
    """A step model whose bins are the pieces, or a set of such models with the keys and the order of the set."""
    if isinstance(model, BinnedModel):
        return _pieces(model)
    own = {key: _pieces(each) for key, each in model.models.items()}
    pool = None if model.pool is None else _pieces(model.pool)
    return ModelSet._of(own, kind="given", unknown=model.unknown, pool=pool, pooled_keys=model.pooled_keys)


def _pieces(model: BinnedModel) -> BinnedModel:
    if model.kind != "step":
        raise InputError(f"the model is of kind {model.kind!r}, which has no bins to count in; put a binning behind it")
    alone = edge_scores(model.bin_edges, model.ties, model.score_range)
    edges = np.concatenate([model.edges + 0.0, alone, alone])
    keys = np.concatenate([model.edge_keys, np.zeros(len(alone), np.uint64), np.full(len(alone), BELOW)])
    order = np.lexsort((keys, edges))
    edges, keys = edges[order], keys[order]
    differs = np.append(True, (edges[1:] != edges[:-1]) | (keys[1:] != keys[:-1]))[: len(edges)]
    edges, keys = edges[differs], keys[differs]
    return BinnedModel.from_parts(
        edges=edges, edge_keys=keys, values=np.full(len(edges) + 1, 0.5), scheme="explicit",
        ties="random" if model.needs_key else "none", score_range=model.score_range, out_of_range=model.out_of_range,
    )  # fmt: skip


def rows_of(model: BinnedModel | ModelSet, pieces: BinnedModel | ModelSet, table: Int64s) -> CountedRows:
    """Rows of `model` for int64 (2, n_pieces) samples by label and piece, as `fastbin.engines.counting` counts them."""
    if isinstance(pieces, BinnedModel):
        scores, keys = row_of_each_bin(pieces)
        cells: list[Key | None] = [None] * len(scores)
    else:
        parts = [(key, row_of_each_bin(own)) for key, own in _numbered(pieces)]
        scores, keys = (np.concatenate(column) for column in zip(*(example for _, example in parts), strict=True))
        cells = [key for key, example in parts for _ in example[0]]
    label, piece = np.nonzero(table)
    return CountedRows(
        scores[piece], label.astype(np.uint8), table[label, piece], keys[piece] if _needs_key(model) else None,
        None if isinstance(pieces, BinnedModel) else [cells[at] for at in piece.tolist()],
    )  # fmt: skip


def _needs_key(model: BinnedModel | ModelSet) -> bool:
    return any(own.needs_key for own in models_of(model))


def _numbered(pieces: ModelSet) -> list[tuple[Key, BinnedModel]]:
    """A key for each model in the order of the counts; then one that the set does not know, if its pool scores such cells."""
    pooled = next(iter(pieces.pooled_keys), None)
    unknown = _unknown_key(pieces)
    parts = [(unknown if pooled is None else pooled) if key is None else key for key, _ in pieces.numbered]
    found = list(zip(parts, (own for _, own in pieces.numbered), strict=True))
    if pieces.unknown == "pool":
        assert pieces.pool is not None
        found.append((unknown, pieces.pool))
    return found


def _unknown_key(pieces: ModelSet) -> Key:
    """A key that the set does not have."""
    keys = pieces.keys
    if isinstance(keys[0], str):
        return next(text for text in (f"unknown {i}" for i in range(len(keys) + 1)) if text not in pieces)
    return next(number for number in range(len(keys) + 1) if number not in pieces)
