"""A fit of batches is the fit of all rows, byte for byte, however they are divided and in whatever order they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
import strategies
from fitting import FEWER_BINS
from strategies import LAYOUTS, CalibrationData, examples

SCHEME_AND_TIES = [(scheme, ties) for scheme in ("umd", "ze") for ties in ("whole", "random", "upper")]
SCHEME_AND_TIES += [("umb", "whole"), ("umb", "random")]
COLUMNS = ("scores", "labels", "sample_weight")


def divided(data: CalibrationData, cuts: list[int], layout: str, order: Random | None = None) -> Callable[[], Iterator[Any]]:
    """A function that gives batches that end at these rows; with an order, each call brings the rows in another one."""
    arrays = data.arrays()
    columns = [arrays[name] for name in COLUMNS if name in arrays]
    bounds = [0, *cuts, len(data.scores)]

    def batches_of_rows() -> Iterator[Any]:
        rows = (
            np.arange(len(data.scores)) if order is None else np.array(order.sample(range(len(data.scores)), len(data.scores)))
        )
        for start, end in pairwise(bounds):
            yield tuple(LAYOUTS[layout](column[rows[start:end]]) for column in columns)

    return batches_of_rows


def model_or_refusal(fit: Callable[[], fb.BinnedModel]) -> bytes | None:
    try:
        return fit().to_bytes()
    except fb.InputError:
        return None


@pytest.fixture(scope="module", autouse=True)
def little_memory() -> Iterator[None]:
    """So little that small data go through all kinds of passes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastbin._fit.rows.ROWS_TO_PLAN_FOR", 512)
        patch.setattr("fastbin._fit.histogram.MOST_SAMPLE", 16)
        patch.setattr("fastbin._fit.rows.MOST_LISTED", 20)
        yield


@pytest.mark.sampled
@pytest.mark.filterwarnings(FEWER_BINS)
@pytest.mark.parametrize("weighting", ["none", "integer", "float"])
@pytest.mark.parametrize(("scheme", "ties"), SCHEME_AND_TIES)
@settings(max_examples=examples(30), deadline=None)
@given(draw=st.data())
def test_batches_are_all_rows_at_once(scheme: str, ties: str, weighting: str, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting, margins=draw.draw(st.booleans())), "data")
    n_bins: int | str = draw.draw(strategies.n_bins_for(data.n_samples, 1 if scheme == "umb" else 2), "n_bins")
    if draw.draw(st.integers(0, 9)) == 0:
        n_bins = "auto"
    configuration = {
        "n_bins": n_bins, "scheme": scheme, "ties": ties, "seed": draw.draw(strategies.seeds, "seed"),
        "delta": draw.draw(st.sampled_from([0.0, 0.25])), "score_range": data.score_range, "monotone": draw.draw(st.booleans()),
    }  # fmt: skip
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data.scores)), max_size=6), "cuts"))
    order = draw.draw(st.none() | st.randoms(use_true_random=False))
    factory = divided(data, cuts, draw.draw(st.sampled_from(list(LAYOUTS)), "layout"), order)
    expected = model_or_refusal(lambda: fb.UniformMassBinning(**configuration).fit(**data.arrays()).model_)
    assert model_or_refusal(lambda: fb.UniformMassBinning(**configuration).fit_batches(factory).model_) == expected


@pytest.mark.sampled
@pytest.mark.filterwarnings(FEWER_BINS)
@pytest.mark.parametrize("weighting", ["none", "integer", "float"])
@pytest.mark.parametrize("shape", ["tree", "constant", "clusters", "click rates", "signed zeros", "both signs", "sorted"])
def test_many_batches_of_hard_scores(shape: str, weighting: str) -> None:
    """Heavy ties and bunched scores, with a first batch that says nothing about the others."""
    data = strategies.make(shape, "follow the rank", 20_000, 3, weighting)
    arrays = data.arrays()
    by_score = np.argsort(arrays["scores"], kind="stable")
    columns = [arrays[name][by_score] for name in COLUMNS if name in arrays]

    def factory() -> Iterator[Any]:
        return (tuple(column[start : start + 777] for column in columns) for start in range(0, 20_000, 777))

    for scheme, ties in SCHEME_AND_TIES:
        calibrator = fb.UniformMassBinning(15, scheme=scheme, ties=ties, score_range=data.score_range)
        model = calibrator.fit_batches(factory).model_
        assert model == calibrator.fit(**arrays).model_


def test_float32_batches_keep_their_scores() -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(5000, dtype=np.float32).round(2)
    labels = rng.random(5000) < scores
    parts = [(scores[i : i + 100], labels[i : i + 100]) for i in range(0, 5000, 100)]
    model = fb.UniformMassBinning().fit_batches(parts).model_
    assert model == fb.UniformMassBinning().fit(scores, labels).model_
    assert set(model.edges) <= set(scores.astype(np.float64))


def test_batches_warn_of_fewer_bins_as_rows_do() -> None:
    scores, labels = np.repeat([0.2, 0.4, 0.9], 20), np.arange(60) % 2
    told = "ties='whole' left 3 of the 6 bins that were asked for: one probability for each score allows no more; on other data"
    for fit in (
        lambda: fb.UniformMassBinning(6).fit(scores, labels),
        lambda: fb.UniformMassBinning(6).fit_batches([(scores, labels)]),
    ):
        with pytest.warns(fb.FastbinWarning, match=told) as warned:
            fit()
        assert [one.filename for one in warned] == [__file__]
