"""Models whose values are finer than their evidence, and those of whole ties: parts, copies, bins and steps of scores."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._core.fields import PARTS
from fitting import bare
from reference.keys import row_key
from reference.step_model import bin_of

STEPPED: dict[str, Any] = {
    "edges": [0.125, 0.25, 0.375, 0.5, 0.75, 0.875],
    "edge_keys": [0, 2**64 - 1, 0, 0, 0, 2**64 - 1],
    "values": [0.0, 0.125, 0.25, 0.25, 0.5, 0.75, 1.0],
    "counts": [6, 7, 5],
    "label_sums": [1, 3, 4],
    "first_step": [0, 2, 5],
    "step_counts": [4, 2, 3, 3, 2, 1, 5],
    "unlabelled_counts": [40, 20, 30, 30, 0, 10, 50],
    "tie_counts": [[0, 0, 0], [3, 1, 0], [2, 2, 1]],
    "edges_share": 0.25,
    "scheme": "certified",
    "ties": "whole",
    "n_bins_asked": 3,
    "n_samples": 20,
    "n_positive": 9,
    "n_tied": 5,
    "seed": 42,
}
PLAIN = {**STEPPED, "tie_counts": None, "edges_share": 0.0, "ties": "upper"}


def stepped(**changes: Any) -> fb.BinnedModel:
    return fb.BinnedModel.from_parts(**{**STEPPED, **changes})


def random_model(rng: Random, n_steps: int, n_bins: int, *, keyed: bool) -> fb.BinnedModel:
    """Edges among sixty-fourths, so that several fall together and scores tie with them."""
    edges = sorted((rng.randrange(64) / 64, rng.randrange(1, 2**64 - 1) if keyed else 0) for _ in range(n_steps - 1))
    return fb.BinnedModel.from_parts(
        edges=[edge for edge, _ in edges], edge_keys=[key for _, key in edges], values=[rng.random() for _ in range(n_steps)],
        first_step=[0, *sorted(rng.sample(range(1, n_steps), n_bins - 1))],
        step_counts=[rng.choice([0, 1, 7]) for _ in range(n_steps)], ties="random" if keyed else "upper",
    )  # fmt: skip


def test_parts_come_back() -> None:
    made = stepped()
    for name, value in STEPPED.items():
        seen = getattr(made, name)
        assert (seen.tolist() if isinstance(seen, np.ndarray) else seen) == value, name
    assert (made.n_bins, made.n_steps, made.has_steps, made.needs_key, made.randomised_mass) == (3, 7, True, False, 0.0)
    assert made.first_step.dtype == made.step_counts.dtype == made.tie_counts.dtype == np.int64
    assert made.bin_edges.tolist() == [0.25, 0.75]
    assert made.bin_edge_keys.tolist() == [2**64 - 1, 0]
    assert repr(made) == "BinnedModel(scheme='certified', 3 bins, 7 steps, 20 samples)"
    for name in ("first_step", "step_counts", "unlabelled_counts", "tie_counts"):
        assert not getattr(made, name).flags.writeable
    assert (made.clip, made.knots) == (0.0, None)


def test_one_resolution_is_what_it_was() -> None:
    made = fb.BinnedModel.from_parts(edges=[0.5], values=[0.25, 0.75], counts=[4, 4], label_sums=[1, 3])
    assert (made.n_bins, made.n_steps, made.has_steps, made.edges_share) == (2, 2, False, 0.0)
    assert made.first_step.tolist() == [0, 1]
    assert made.step_counts is made.unlabelled_counts is made.tie_counts is None
    assert made.bin_edges.tolist() == made.edges.tolist()
    assert made.bin_edge_keys.tolist() == made.edge_keys.tolist()
    assert made.bin_values.tolist() == made.values.tolist()
    assert made.step([0.1, 0.9]).tolist() == made.assign([0.1, 0.9]).tolist() == [0, 1]
    told = fb.BinnedModel.from_parts(
        edges=[0.5], values=[0.25, 0.75], counts=[4, 4], label_sums=[1, 3], first_step=[0, 1], step_counts=[4, 4],
        unlabelled_counts=[3, 3],
    )  # fmt: skip
    assert told.to_bytes() == made.to_bytes()


@pytest.mark.parametrize("method", [fb.PlattScaling(), fb.IsotonicCalibration(interpolate=True)])
def test_models_without_bins(method: Any) -> None:
    made = method.fit([0.1, 0.2, 0.4, 0.6, 0.9], [0, 0, 1, 0, 1]).model_
    assert made.first_step.shape == (0,)
    assert not made.has_steps
    assert made.n_steps == made.n_bins
    assert bare(made.with_out_of_range("clip").with_out_of_range("refuse")) == bare(made)


def test_bin_values_are_averages_over_the_samples() -> None:
    for seed in range(30):
        rng = Random(seed)
        made = random_model(rng, 12, 4, keyed=False)
        ends = [*made.first_step.tolist(), 12]
        for b in range(4):
            counts, values = made.step_counts[ends[b] : ends[b + 1]].tolist(), made.values[ends[b] : ends[b + 1]].tolist()
            masses = counts if any(counts) else [1] * len(counts)
            exact = sum(Fraction(v) * n for v, n in zip(values, masses, strict=True)) / sum(masses)
            assert math.isclose(made.bin_values[b], exact, rel_tol=1e-14)
            assert min(values) <= made.bin_values[b] <= max(values)


def test_all_ways_to_copy(tmp_path: Path) -> None:
    for made in (stepped(), stepped(unlabelled_counts=None), fb.BinnedModel.from_parts(**PLAIN)):
        made.save(tmp_path / "model.fbm")
        word, parameters = made.map
        parts = {name: getattr(made, name) for name in PARTS} | {"map": word, "map_parameters": parameters}
        copies = [
            fb.BinnedModel.from_bytes(made.to_bytes()), fb.load(tmp_path / "model.fbm"), pickle.loads(pickle.dumps(made)),
            fb.BinnedModel.from_parts(**parts), made._replace(seed=7)._replace(seed=42),
        ]  # fmt: skip
        assert all(copy.to_bytes() == made.to_bytes() for copy in copies)
        assert made.with_out_of_range("clip").predict([-1.0, 2.0]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(("n_steps", "n_bins"), [(2, 1), (5, 2), (40, 10), (40, 39), (40, 1), (300, 20)])
def test_bins_and_steps(n_steps: int, n_bins: int, keyed: bool, dtype: type) -> None:
    rng = Random(f"{n_steps} {n_bins} {keyed}")
    made = random_model(rng, n_steps, n_bins, keyed=keyed)
    scores = np.array([rng.choice([rng.randrange(65) / 64, rng.random()]) for _ in range(1500)], dtype)
    edges = list(zip(made.edges.tolist(), made.edge_keys.tolist(), strict=True))
    bin_edges = list(zip(made.bin_edges.tolist(), made.bin_edge_keys.tolist(), strict=True))
    asked = [(float(score), row_key(3, row)) for row, score in enumerate(scores)]
    steps = [bin_of(edges, *sample) for sample in asked]
    bins = [bin_of(bin_edges, *sample) for sample in asked]
    assert made.step(scores, seed=3).tolist() == steps
    assert made.assign(scores, seed=3).tolist() == bins
    assert made.predict(scores, seed=3).tolist() == made.values[steps].tolist()
    table = np.arange(3.0 * n_bins).reshape(n_bins, 3)
    assert np.array_equal(made.lookup(scores, table, seed=3), table[bins])
    for (score, key), step, b in zip(asked[:200], steps, bins, strict=False):
        assert (made.step_one(score, key), made.assign_one(score, key)) == (step, b)
    out = np.empty(len(scores), np.int32)
    assert made.step(scores, seed=3, out=out) is out
    assert out.tolist() == steps


def test_missing_scores() -> None:
    made = stepped()
    assert made.step([0.3, math.nan, 0.9], nan="propagate").tolist() == [2, -1, 6]
    assert made.assign([0.3, math.nan, 0.9], nan="propagate").tolist() == [1, -1, 2]
    refuses("InputError scores[1]", made.step, [0.3, math.nan])
    refuses("InputError score", made.step_one, 1.5)


def test_tables_are_of_bins() -> None:
    refuses("InputError: table must have one row per", stepped().lookup, [0.5], np.zeros((7, 2)))


def test_whole_ties_need_no_key() -> None:
    made = stepped()
    scores = np.linspace(0.0, 1.0, 1001)
    assert not made.needs_key
    assert made.predict(scores, seed=1).tolist() == made.predict(scores, seed=2).tolist()
    assert made.predict(scores, tie_keys=np.zeros(1001, np.uint64)).tolist() == made.predict(scores).tolist()


def test_streams_count_in_bins() -> None:
    made = fb.BinnedModel.from_parts(**PLAIN)
    stream = fb.online.StreamingBinning(made)
    scores, labels = np.linspace(0.0, 1.0, 200), np.arange(200) % 2
    stream.update(scores, labels)
    bins = made.assign(scores)
    assert stream.n_bins == 3
    assert stream.counts.tolist() == np.bincount(bins).tolist()
    assert stream.label_sums.tolist() == np.bincount(bins, labels).astype(int).tolist()
    counted = stream.model()
    assert (counted.n_bins, counted.n_steps, counted.step_counts) == (3, 3, None)
    assert counted.edges.tolist() == made.bin_edges.tolist()
    assert counted.assign(scores).tolist() == bins.tolist()
    again = fb.online.StreamingBinning.from_bytes(stream.to_bytes())
    assert again.counts.tolist() == stream.counts.tolist()


# Fewer than r, or than f with label 1, or more than the bin has: 8 samples with label sum 3, and 6 with 5.
IMPOSSIBLE_AT_EDGES = (
    [[2, 1], [3, 2]], [[4, 0], [3, 2]], [[4, 4], [3, 2]], [[9, 3], [3, 2]], [[4, -1], [3, 2]], [[4, 2], [8, 5]],
    [[4, 2], [1, 1]],
)  # fmt: skip
BINS, TALLY = "InputError: the edges are not finite", "InputError: a count is negative"
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"first_step": None, "counts": None, "label_sums": None, "tie_counts": None},
     "InputError step_counts: is given without first_step"),
    ({"step_counts": None}, "InputError step_counts: is None; a model with 7 steps in 3 bins"),
    ({"first_step": None, "step_counts": None, "counts": None, "label_sums": None, "tie_counts": None},
     "InputError unlabelled_counts: is given without first_step"),
    ({"first_step": [0, 2]}, "InputError counts: has shape (3,); a step model with 7 values and 2 bins needs (2,)"),
    ({"step_counts": [4, 2]}, "InputError step_counts: has shape (2,); a step model with 7 values and 3 bins needs (7,)"),
    ({"tie_counts": [0, 0, 0]}, "InputError tie_counts: has shape (3,); a step model with 7 values and 3 bins needs (3, 3)"),
    ({"knots": [0.0, 1.0]}, "InputError knots: has shape (2,); a step model with 7 values and 3 bins needs (2, 3)"),
    ({"knots": 1.0}, "InputError knots: has shape (1,); a step model with 7 values and 3 bins needs (1, 3)"),
    ({"first_step": [0.0, 2.0, 5.0]}, "InputTypeError first_step[0]"),
    ({"edges_share": "all"}, "InputTypeError edges_share"),
    ({"first_step": [1, 2, 5]}, BINS),
    ({"step_counts": [4, 2, 3, 3, 2, 1, 4]}, TALLY),
    ({"tie_counts": [[0, 0, 0], [3, 4, 0], [2, 2, 1]]}, TALLY),
    *(({"atom_counts": [[0, 0], *at_edges]}, TALLY) for at_edges in IMPOSSIBLE_AT_EDGES),
    ({"atom_counts": [[1, 0], [4, 2], [3, 2]]}, TALLY),
    ({"atom_counts": [[0, 0], [4, 2]]}, "InputError atom_counts: has shape (2, 2); a step model with 7 values and 3 bins"),
    ({"ties": "upper"}, TALLY),
    ({"edges_share": 0.0}, "InputError: n_samples, n_positive, n_tied, n_bins_asked, delta, odds_ratio, edges_share,"),
    ({"clip": 0.1}, "InputError: the map parameters, clip or knots are not finite or out of bounds"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "told"), REFUSED)
def test_impossible_parts_are_refused(changes: dict[str, Any], told: str) -> None:
    refuses(told, stepped, **changes)


def test_totals_default_to_the_steps() -> None:
    parts = {name: value for name, value in PLAIN.items() if name not in ("n_samples", "n_positive")}
    made = fb.BinnedModel.from_parts(**parts)
    assert (made.n_samples, made.n_positive) == (20, 8)
