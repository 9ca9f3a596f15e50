"""Models and hard scores for everything that scores elsewhere: all tests of exports and engines use these.

A score is hard where an answer changes: every edge, one to four doubles beside it, zeros of both signs, the smallest
subnormal and normal doubles, the ends of the range. Keys are those of the edges, and one beside them, in 30 % of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import fastbin as fb
from fastbin._base.ranks import slice_ranks
from fastbin.model import BinnedModel

Float64s = npt.NDArray[np.float64]
UInt64s = npt.NDArray[np.uint64]

TINY = 5e-324
LEAST_NORMAL = float(np.finfo(np.float64).tiny)
GREATEST = float(np.finfo(np.float64).max)


def _binned(
    n_bins: int, *, keyed: bool, score_range: tuple[float, float] | None = (0.0, 1.0), scale: float = 1.0
) -> BinnedModel:
    """Random edges, some of them equal, and values with all their bits."""
    rng = np.random.default_rng([n_bins, keyed])
    edges = np.sort(rng.random(n_bins - 1)) * scale
    keys = np.zeros(n_bins - 1, np.uint64)
    if keyed:
        edges[1::3] = edges[: len(edges) - 1 : 3]  # an edge score twice, told apart by the key
        keys = rng.integers(1, 2**64 - 1, n_bins - 1, dtype=np.uint64)
        keys[: 2 * (len(keys) // 2)] = np.sort(keys[: 2 * (len(keys) // 2)])
        keys[2:][-1:] = 2**64 - 1  # which no row has
        order = np.lexsort((keys, edges))
        edges, keys = edges[order], keys[order]
    counts = rng.integers(50, 90, n_bins)
    label_sums = rng.binomial(counts, np.linspace(0.1, 0.9, n_bins))
    n_samples = int(counts.sum()) + n_bins - 1
    ranks = slice_ranks(n_samples)
    ones = np.split(rng.permutation(np.arange(n_samples) < label_sums.sum()), ranks)
    slices = [int(each.sum() - each[-1]) for each in ones[:-1]] + [int(ones[-1].sum())]  # without the samples at cuts
    return BinnedModel.from_parts(
        edges=edges, edge_keys=keys, values=label_sums / counts, counts=counts, label_sums=label_sums, scheme="umd",
        ties="random" if keyed else "upper", n_samples=n_samples, n_tied=3 * keyed,
        slice_cuts=np.sort(rng.random(len(ranks))) * scale, slice_label_sums=slices,
    )  # fmt: skip


def _fitted(calibrator: fb.UniformMassBinning | fb.CertifiedCalibration, shape: str = "uniform") -> BinnedModel:
    rng = np.random.default_rng(7)
    scores = {
        "uniform": lambda: rng.random(4000),
        "tied": lambda: rng.integers(0, 40, 4000) / 40.0,
        "zeros": lambda: np.where(rng.random(4000) < 0.4, 0.0, rng.random(4000)),
        "logits": lambda: rng.normal(0.0, 3.0, 4000),
    }[shape]()
    rates = scores if shape != "logits" else 1.0 / (1.0 + np.exp(-scores))
    return calibrator.fit(scores, rng.random(4000) < rates).model_


MODELS: dict[str, Callable[[], BinnedModel]] = {
    **{f"{n_bins} bins": lambda n_bins=n_bins: _binned(n_bins, keyed=False) for n_bins in (1, 2, 10, 100, 1000)},
    **{f"{n_bins} bins, keys": lambda n_bins=n_bins: _binned(n_bins, keyed=True) for n_bins in (2, 10, 100, 1000)},
    "logits": lambda: _fitted(fb.UniformMassBinning(20, score_range=None), "logits"),
    "subnormal edges": lambda: _binned(50, keyed=False, scale=2.0**-1030),
    "subnormal edges, keys": lambda: _binned(50, keyed=True, scale=2.0**-1030),
    "whole ties": lambda: _fitted(fb.UniformMassBinning(8), "tied"),
    "keys at zero": lambda: _fitted(fb.UniformMassBinning(8, ties="random"), "zeros"),
    "edges from above": lambda: _fitted(fb.UniformMassBinning(8, scheme="umb"), "tied"),
    "two resolutions": lambda: _fitted(fb.CertifiedCalibration()),
    "clips": lambda: _fitted(fb.UniformMassBinning(10, out_of_range="clip")),
    "clips at keys": lambda: _fitted(fb.UniformMassBinning(8, ties="random", out_of_range="clip"), "zeros"),
}
NEED_KEYS = tuple(name for name in MODELS if "keys" in name)


@cache
def model_of(name: str) -> BinnedModel:
    """The model of this name."""
    return MODELS[name]()


def model_with_edges_of_all_sizes() -> BinnedModel:
    """Edges from the least to the greatest double; what equals one lies below it, so nothing lies above the last."""
    return BinnedModel.from_parts(
        edges=[-GREATEST, 0.0, GREATEST], edge_keys=np.full(3, 2**64 - 1, np.uint64), values=[0.125, 0.25, 0.5, 0.75],
        score_range=None,
    )  # fmt: skip


class HardRows(NamedTuple):
    scores: Float64s
    keys: UInt64s | None  # of models that need them


def hard_rows(model: BinnedModel, n: int, seed: int = 0) -> HardRows:
    """`n` rows that the model has an answer for, most of them next to where it changes."""
    rng = np.random.default_rng(seed)
    low, high = (-GREATEST, GREATEST) if model.score_range is None or model.out_of_range == "clip" else model.score_range
    zeros = np.array(
        [0.0, -0.0, TINY, -TINY, LEAST_NORMAL, -LEAST_NORMAL, LEAST_NORMAL - TINY, low, high, *(model.score_range or ())]
    )
    centres = np.concatenate([np.unique(model.edges), zeros])
    hard = [centres]
    below = above = centres
    with np.errstate(over="ignore"):
        for _ in range(4):
            below, above = np.nextafter(below, -np.inf), np.nextafter(above, np.inf)
            hard += [below, above]
    candidates = np.concatenate(hard)
    candidates = candidates[(candidates >= low) & (candidates <= high)]
    scores = np.concatenate([candidates, rng.choice(candidates, n)])[:n]
    spread = rng.random(n) < 0.25
    spread[: len(candidates)] = False
    reach = float(np.abs(model.edges).max(initial=1.0)) * 1.25 or 1.0
    scores[spread] = np.clip(rng.uniform(-reach, reach, int(spread.sum())), low, high)
    if not model.needs_key:
        return HardRows(scores, None)
    keys = rng.integers(0, 2**64 - 1, n, dtype=np.uint64)
    at = rng.random(n) < 0.3
    one = np.uint64(1)
    near = np.concatenate([model.edge_keys, model.edge_keys - one, model.edge_keys + one, np.array([0, 2**64 - 1], np.uint64)])
    keys[at] = np.minimum(rng.choice(near, int(at.sum())), np.uint64(2**64 - 2))
    return HardRows(scores, keys)


def rows_without_answer(model: BinnedModel) -> Float64s:
    """Scores that the model refuses: not a number, infinite, and, where it does not clip, outside its range."""
    beyond = [] if model.out_of_range == "clip" or model.score_range is None else [
        np.nextafter(model.score_range[0], -np.inf), np.nextafter(model.score_range[1], np.inf), -GREATEST, GREATEST,
    ]  # fmt: skip
    return np.array([np.nan, -np.nan, np.inf, -np.inf, *beyond])


def bits(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Values as integers: doubles by all their 64 bits."""
    return np.ascontiguousarray(values, np.float64).view(np.uint64) if values.dtype.kind == "f" else values
