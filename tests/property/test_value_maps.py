"""Values of two-resolution models: the fast maps are those of the reference, and every map is defined for any cells."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from fastbin.scaling.value_maps import MAPS, RECENTRINGS, VALUES, value_steps
from reference import value_maps as reference
from strategies import examples

Given = dict[str, Any]


@st.composite
def cells(draw: st.DrawFn, max_size: int = 40, weighting: str = "integer") -> Given:
    """The arguments of `value_steps` for some rows, their distinct scores being cells that neighbours are drawn into."""
    data = draw(strategies.calibration_data(max_size=max_size, margins=draw(st.booleans())))
    rng = Random(draw(st.integers(0, 2**32 - 1)))
    kept = rng.choice([1.0, 0.5, 0.2])
    size = rng.choice([1, 1, 3, 1000, 10**6])
    scores: list[float] = []
    counts: list[float] = []
    ones: list[float] = []
    for score, label in sorted(zip(data.scores, data.labels, strict=True)):
        if not scores or (score > scores[-1] and rng.random() < kept):
            scores.append(score + 0.0)
            counts.append(0)
            ones.append(0)
        weight = rng.randrange(1, size + 1) if weighting == "integer" else rng.expovariate(1.0) * size
        counts[-1] += weight
        ones[-1] += weight * label
    if len(scores) > 2 and rng.random() < 0.2:
        empty = rng.randrange(len(scores))  # as the lowest step has no row when the lowest group holds a cut
        counts[empty] = ones[empty] = 0
    first = sorted({0, *rng.sample(range(len(scores)), rng.randrange(min(len(scores), 6)))})
    spans = list(zip(first, [*first[1:], len(scores)], strict=True))
    bin_counts = [sum(counts[a:b]) for a, b in spans]
    bin_sums = [sum(ones[a:b]) for a, b in spans]
    if weighting == "integer":
        for i in range(1, len(spans)):  # the cut sample does not count as evidence
            label = int(bin_sums[i] > 0 and (rng.random() < 0.5 or bin_sums[i] == bin_counts[i]))
            bin_counts[i], bin_sums[i] = max(bin_counts[i] - 1, 0), max(bin_sums[i] - label, 0)
    dtype = np.int64 if weighting == "integer" else np.float64
    return {
        "scores": np.array(scores),
        "counts": np.array(counts, dtype),
        "ones": np.array(ones, dtype),
        "first_step": np.array(first, np.int64),
        "bin_counts": np.array(bin_counts, dtype),
        "bin_label_sums": np.array(bin_sums, dtype),
        "n": int(sum(counts)) if weighting == "integer" else len(data.scores),
        "score_range": data.score_range,
    }


@pytest.mark.sampled
@pytest.mark.parametrize("values", VALUES)
@settings(max_examples=examples(25), deadline=None)
@given(draw=st.data())
def test_values_are_those_of_the_reference(values: str, draw: st.DataObject) -> None:
    given_cells = draw.draw(cells(max_size=25), "cells")
    options = {"values": values, "recentre": draw.draw(st.sampled_from(RECENTRINGS)), "monotone": draw.draw(st.booleans())}
    fast = value_steps(**given_cells, **options)
    lists = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in given_cells.items()}
    slow = reference.value_steps(**lists, **options)
    assert np.allclose(fast, slow, rtol=0.0, atol=2e-6)


@pytest.mark.parametrize("rows", [(249, 250), (250, 251)])
def test_few_rows_take_temperature_scaling_for_isotonic_regression(rows: tuple[int, int]) -> None:
    """The members of the mixture change between 249 and 250 rows, and nowhere near."""
    found = []
    for n in rows:
        scores = [(k + 0.5) / 25 for k in range(25)]
        counts = [10] * 24 + [n - 240]
        ones = [0 if score < 0.4 else count - 1 for score, count in zip(scores, counts, strict=True)]
        given_cells = (scores, counts, ones, [0], [n], [sum(ones)], n)
        arrays = [np.array(column) if isinstance(column, list) else column for column in given_cells]
        fast = value_steps(*arrays, recentre="none")
        assert np.allclose(fast, reference.value_steps(*given_cells, recentre="none"), rtol=0.0, atol=2e-6)
        found.append(fast)
    assert (np.abs(found[1] - found[0]).max() > 0.03) == (rows == (249, 250))


@pytest.mark.sampled
@pytest.mark.parametrize("weighting", ["integer", "float"])
@pytest.mark.parametrize("values", VALUES)
@settings(max_examples=examples(40), deadline=None)
@given(draw=st.data())
def test_every_map_is_defined_for_any_cells(values: str, weighting: str, draw: st.DataObject) -> None:
    """No warning either: warnings are errors here."""
    given_cells = draw.draw(cells(max_size=120, weighting=weighting), "cells")
    for recentre in RECENTRINGS:
        steps = value_steps(**given_cells, values=values, recentre=recentre)
        assert steps.shape == given_cells["scores"].shape
        assert (np.diff(steps) >= 0.0).all()
        inside = 0.0 if values == "mean" else 0.5 / (given_cells["n"] + 1) if values in MAPS else 1e-300
        if values == "mixture":
            inside *= 0.999 / 100.0  # the identity is one of its members
        assert inside <= steps.min()
        assert steps.max() <= 1.0 - (inside if values in MAPS else 0.0)
        assert value_steps(**given_cells, values=values, recentre=recentre).tobytes() == steps.tobytes()


@settings(max_examples=examples(40), deadline=None)
@given(draw=st.data())
def test_pooling_is_the_weighted_projection(draw: st.DataObject) -> None:
    """monotone=True serves the nearest non-decreasing steps, and changes none that do not fall."""
    given_cells = draw.draw(cells(max_size=20), "cells")
    loose, tight = (value_steps(**given_cells, values="quadratic", monotone=monotone) for monotone in (False, True))
    expected = reference.pooled_steps(loose.tolist(), given_cells["counts"].tolist())
    assert np.allclose(tight, expected, rtol=1e-12, atol=0.0)
    if (np.diff(loose) >= 0.0).all():
        assert tight.tobytes() == loose.tobytes()


@settings(max_examples=examples(40), deadline=None)
@given(draw=st.data(), factor=st.sampled_from([2.0**-30, 0.25, 2.0**40]))
def test_the_unit_of_weights_does_not_matter(draw: st.DataObject, factor: float) -> None:
    given_cells = draw.draw(cells(weighting="float"), "cells")
    scaled = given_cells | {name: given_cells[name] * factor for name in ("counts", "ones", "bin_counts", "bin_label_sums")}
    assert value_steps(**scaled).tobytes() == value_steps(**given_cells).tobytes()


@settings(max_examples=examples(40), deadline=None)
@given(draw=st.data())
def test_full_recentring_keeps_the_averages_of_bins(draw: st.DataObject) -> None:
    """Where nothing is pooled or clipped, the mean of the steps of a bin over its rows is its mean label."""
    given_cells = draw.draw(cells(), "cells")
    n, first, counts = given_cells["n"], given_cells["first_step"], given_cells["counts"]
    steps = value_steps(**given_cells, values="beta", recentre="full", monotone=False)
    rows = np.add.reduceat(counts, first)
    means = np.add.reduceat(steps * counts, first) / np.maximum(rows, 1)
    clipped = np.minimum.reduceat(steps, first) <= 0.5 / (n + 1), np.maximum.reduceat(steps, first) >= 1 - 0.5 / (n + 1)
    evidence = given_cells["bin_counts"] > 0
    free = ~clipped[0] & ~clipped[1] & evidence & (rows > 0)
    labels = given_cells["bin_label_sums"][free] / given_cells["bin_counts"][free]
    assert np.allclose(means[free], labels, rtol=0.0, atol=1e-9)


def test_a_score_far_beyond_two_neighbouring_doubles() -> None:
    """Its distance in gaps of the two overflows: it gets the value of the last block."""
    cells = (np.array([0.0, 5e-324, 0.25]), np.array([4.0, 3.0, 0.0]), np.array([0.0, 2.0, 0.0]))
    first_step, evidence = np.array([0]), (np.array([7]), np.array([2]))
    values = value_steps(*cells, first_step, *evidence, 7, values="isotonic", recentre="none")
    assert values[2] == values[1] > values[0]
