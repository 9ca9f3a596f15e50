"""Fingerprints: fit and rows give the same one, other rows another, and a test set that is the calibration set is noticed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
import reference
import strategies
from fastbin import assess
from fastbin._fit.edges import chance_of_same_counts, count_at_edges, edge_scores, rows_fingerprint
from fastbin._fit.quantiles import Boundaries
from fitting import FEWER_BINS, as_loaded
from reference.keys import fingerprint as reference_fingerprint

SCHEMES_AND_TIES = [
    (scheme, ties) for rules in (reference.TIES_OF_SCHEME, reference.EARLIER_TIES) for scheme in rules for ties in rules[scheme]
]


@pytest.mark.sampled
@pytest.mark.filterwarnings(FEWER_BINS)
@pytest.mark.parametrize("weighting", ["none", "integer"])
@pytest.mark.parametrize(("scheme", "ties"), SCHEMES_AND_TIES)
@settings(max_examples=25, deadline=None)
@given(draw=st.data())
def test_the_fit_and_the_rows_agree(scheme: str, ties: str, weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting), "data")
    n_bins, seed = draw.draw(strategies.n_bins_for(data.n_samples), "n_bins"), draw.draw(strategies.seeds, "seed")
    given = {"scheme": scheme, "ties": ties, "seed": seed, "score_range": data.score_range}
    try:
        if ties in reference.EARLIER_TIES.get(scheme, ()):
            made = reference.uniform_mass(data.scores, data.labels, n_bins, weights=data.weights, **given)
            model = as_loaded(made, scheme, seed)
        else:
            model = fb.UniformMassBinning(n_bins, **given).fit(**data.arrays()).model_
    except ValueError:  # as both refuse
        return
    scores, labels = np.array(data.scores), np.array(data.labels, np.uint8)
    frequencies = None if data.weights is None else np.array(data.weights, np.int64)
    found = rows_fingerprint(model, scores, labels, frequencies)
    assert model.fingerprint == found
    mixed = np.random.default_rng(0).permutation(len(scores))
    assert rows_fingerprint(model, scores[mixed], labels[mixed], None if frequencies is None else frequencies[mixed]) == found
    held = edge_scores(model.edges, ties, data.score_range)
    repeats = [1] * len(scores) if frequencies is None else frequencies.tolist()
    rows = [row for row, times in zip(zip(data.scores, data.labels, strict=True), repeats, strict=True) for _ in range(times)]
    assert found == reference_fingerprint(held.tolist(), rows)
    assert (found == 0) == (len(held) == 0)


def test_the_example_of_the_format() -> None:
    scores, labels = np.repeat([0.25, 0.5], [600, 400]), np.concatenate([np.arange(600) < 30, np.arange(400) < 200])
    parts = {"edges": [0.25, 0.5], "values": [0.5] * 3, "scheme": "umd", "ties": "random"}
    model = fb.BinnedModel.from_parts(**parts)
    assert rows_fingerprint(model, scores, labels.astype(np.uint8)) == 0x4489B798D15A0AC0


@pytest.mark.parametrize("edges", [[0.3, 0.5], [0.5], []])
def test_fixed_edges_agree(edges: list[float]) -> None:
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 11, 500) / 10
    labels = (rng.random(500) < scores).astype(np.uint8)
    model = fb.ExplicitBinning(edges).fit(scores, labels).model_
    found = model.fingerprint
    assert found == rows_fingerprint(model, scores, labels)
    assert found == reference_fingerprint(edges, zip(scores, labels.tolist(), strict=True), fixed_edges=True)
    assert (found == 0) == (not edges)


@pytest.mark.parametrize("ties", ["whole", "random", "upper"])
def test_three_parts_agree(ties: str) -> None:
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 31, 600) / 30
    labels = (rng.random(600) < scores).astype(np.uint8)
    model = fb.ScalingBinning(6, scheme="split", ties=ties, seed=8).fit(scores, labels).model_
    assert model.fingerprint == rows_fingerprint(model, scores, labels) != 0
    weighted = fb.ScalingBinning(6, scheme="split", ties=ties, seed=8).fit(scores, labels, 1.0 + scores).model_
    assert weighted.fingerprint == rows_fingerprint(weighted, scores, labels)  # other parts, other edges


@pytest.mark.parametrize("calibrator", [
    fb.ScalingBinning(6), fb.ScalingBinning(6, ties="random"), fb.FixedWidthBinning(7), fb.IsotonicCalibration(),
    fb.UniformMassBinning("auto"), fb.UniformMassBinning(6, edges_share=0.5),
])  # fmt: skip
@pytest.mark.parametrize("weighted", [False, True])
def test_every_step_calibrator_leaves_one(calibrator: Any, weighted: bool) -> None:
    rng = np.random.default_rng(9)
    scores = rng.integers(0, 31, 600) / 30
    labels = (rng.random(600) < scores).astype(np.uint8)
    model = calibrator.fit(scores, labels, 1.0 + scores if weighted else None).model_
    assert model.fingerprint == rows_fingerprint(model, scores, labels) != 0


def test_it_is_the_fingerprint_of_the_rows_and_not_of_the_seed() -> None:
    rng = np.random.default_rng(3)
    scores = rng.random(300)
    labels = (rng.random(300) < scores).astype(np.uint8)
    weights = 1.0 + rng.random(300)
    found = {fb.UniformMassBinning(10, seed=seed).fit(scores, labels).model_.fingerprint for seed in range(5)}
    found.add(fb.UniformMassBinning(10).fit(scores, labels, weights).model_.fingerprint)
    found.add(fb.UniformMassBinning(10, monotone=True).fit(scores, labels).model_.fingerprint)
    assert len(found) == 1
    model = fb.UniformMassBinning(10).fit(scores, labels).model_
    assert fb.BinnedModel.from_bytes(model.to_bytes()).fingerprint in found
    assert rows_fingerprint(model, scores, labels) in found
    others = [(scores[1:], labels[1:]), (scores, 1 - labels), (np.append(scores, 0.5), np.append(labels, 1).astype(np.uint8))]
    swapped = labels.copy()
    ascending = np.argsort(scores)
    low, high = ascending[:40][labels[ascending[:40]] == 0][0], ascending[-40:][labels[ascending[-40:]] == 1][0]
    swapped[[low, high]] = 1, 0
    others.append((scores, swapped))
    assert found.isdisjoint(rows_fingerprint(model, *other) for other in others)


def test_the_chance_of_the_same_counts_by_hand() -> None:
    # Below the edge 1 of 3 with label 1, at it 1 with label 1, above it 2 with label 0.
    counts = Boundaries(np.array([0.5]), np.array([3]), np.array([1]), np.array([1]), np.array([1]), 6, 2)
    cells = [2, 1, 1, 2]
    expected = math.factorial(6) * math.prod((cell / 6) ** cell / math.factorial(cell) for cell in cells)
    assert math.isclose(chance_of_same_counts(counts), expected)


def test_the_chance_of_the_same_counts_is_that_of_other_rows() -> None:
    """On three scores, how often fresh rows have the counts of the first ones."""
    rng = np.random.default_rng(4)
    model = fb.ExplicitBinning([0.4, 0.8]).fit([0.1, 0.5, 0.9], [0, 1, 1]).model_
    scores = np.repeat([0.1, 0.5, 0.9], [20, 5, 5])
    labels = (np.arange(30) % 5 == 0).astype(np.uint8)
    chance = chance_of_same_counts(count_at_edges(model, scores, labels))
    own = np.bincount(np.searchsorted([0.4, 0.8], scores) * 2 + labels, minlength=6)
    table = rng.multinomial(30, own / 30, 40_000)
    same = (table == own).all(axis=1).mean()
    assert abs(same - chance) < 5 * math.sqrt(chance / 40_000)


# ------------------------------------------------------------------------------------------------- a test set that was fitted


def drawn(n: int, seed: int, score: Callable[[Any], Any] = lambda uniform: uniform) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    scores = score(rng.random(n))
    return scores, rng.random(n) < 0.02 + 0.05 * scores


def test_the_calibration_set_does_not_confirm() -> None:
    scores, labels = drawn(40_000, 5)
    model = fb.UniformMassBinning(5).fit(scores, labels).model_
    assert assess.check_certificate(model._replace(fingerprint=0), scores, labels, test_level=0.5).verdict == "confirmed"
    mixed = np.random.default_rng(0).permutation(40_000)
    check = assess.check_certificate(model, scores[mixed], labels[mixed])
    assert check.is_calibration_set
    assert check.verdict == "not contradicted"
    assert set(check.verdicts) == {"not contradicted"}
    assert check.to_dict()["is_calibration_set"] is True
    assert str(check).startswith("Not contradicted, and not confirmed: the 40,000 rows are the calibration set (they have its ")
    # Some of these rows, these with others, and others.
    fresh = drawn(100, 6)
    for rows in ((scores[:-1], labels[:-1]), (np.append(scores, fresh[0]), np.append(labels, fresh[1]))):
        check = assess.check_certificate(model, *rows, test_level=0.5)
        assert (check.verdict, check.is_calibration_set) == ("confirmed", False)
    assert not assess.check_certificate(model, *drawn(40_000, 6)).is_calibration_set
    frequencies = np.ones(40_000, np.int64)
    assert assess.check_certificate(model, scores, labels, sample_weight=frequencies).is_calibration_set
    assert not assess.check_certificate(model, scores, labels, sample_weight=2 * frequencies).is_calibration_set


def test_the_command_line_notices_the_file_of_the_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scores, labels = drawn(4000, 6)
    rows = [f"{score!r},{label}" for score, label in zip(scores.tolist(), labels.astype(int).tolist(), strict=True)]
    Path("s.csv").write_text("\n".join(["score,label", *rows]) + "\n")
    Path("turned.csv").write_text("\n".join(["score,label", *rows[::-1]]) + "\n")
    Path("less.csv").write_text("\n".join(["score,label", *rows[:2000]]) + "\n")
    told = "rows are the calibration set (they have its fingerprint"
    for method in ("umd", "ums", "fixed-width"):
        run("fit", "s.csv", "--method", method, "--n-bins", "5", "-o", "m.fbm")
        for file, is_told in (("s.csv", True), ("turned.csv", True), ("less.csv", False)):
            shown = run("assess", "m.fbm", file)
            assert (told in " ".join(shown.output.split())) == is_told, (method, file)
            found = json.loads(run("assess", "m.fbm", file, "--json").output)
            assert found["check"]["is_calibration_set"] == is_told


def test_a_promise_that_the_calibration_set_breaks_is_contradicted() -> None:
    scores, labels = drawn(2_000, 7)
    model = fb.UniformMassBinning(5).fit(scores, labels).model_
    check = assess.check_certificate(model._replace(values=model.values + 0.2), scores, labels, epsilon=0.01)
    assert (check.verdict, check.is_calibration_set) == ("contradicted", True)


def test_counts_that_other_rows_would_often_have_are_no_sign() -> None:
    """On a single score the fingerprint knows the number of ones alone, which one test set in forty shares."""
    scores, labels = np.full(1000, 0.5), np.arange(1000) < 500
    model = fb.UniformMassBinning(10, ties="random").fit(scores, labels).model_
    assert model.fingerprint == rows_fingerprint(model, scores, labels.astype(np.uint8)) != 0
    assert not assess.check_certificate(model, scores, labels).is_calibration_set
    few = drawn(1000, 8, lambda uniform: np.floor(5 * uniform) / 5)
    model = fb.UniformMassBinning(10, ties="random").fit(*few).model_
    assert assess.check_certificate(model, *few).is_calibration_set
    with pytest.warns(fb.FastbinWarning, match="left 5 of the 10 bins"):
        whole = fb.UniformMassBinning(10).fit(*few).model_
    assert assess.check_certificate(whole, *few).is_calibration_set
