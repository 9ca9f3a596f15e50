"""Uniform-mass binning is the reference, bit for bit, on hard inputs, in every scheme, tie rule, weighting and layout."""

from __future__ import annotations

import math
import warnings
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbin as fb
import reference
import strategies
from fitting import assert_same_bits, assert_same_model, promise_suffers
from strategies import LAYOUTS, MARGIN_SHAPES, SCORE_SHAPES, CalibrationData, examples

SCHEME_AND_TIES = [(scheme, ties) for scheme, rules in reference.TIES_OF_SCHEME.items() for ties in rules]

# 47 combinations of 60 inputs each, of which about one in eight is one to refuse. Whole ties take no keys.
WEIGHTING_AND_KEYS = [("none", False), ("integer", False), ("float", False), ("none", True), ("float", True)]
COMBINATIONS = [
    (*fit, *given)
    for fit, given in product(SCHEME_AND_TIES, WEIGHTING_AND_KEYS)
    if not (fit[1] == "whole" and given[1])
]  # fmt: skip
EQUAL_SUMS = [combination[1:] for combination in COMBINATIONS if combination[0] == "ums"]
SHARED = [(scheme, weighting) for scheme in ("umd", "ze", "umb") for weighting in ("none", "integer", "float")]
EXAMPLES = examples(60)


def most_bins(scheme: str, n_samples: int, split: float = 0.5) -> int:
    """The largest number of bins that a scheme allows."""
    return {"umb": n_samples, "ums": math.floor(split * n_samples)}.get(scheme, (n_samples + 1) // 2)


def assert_same(model: fb.BinnedModel, expected: reference.StepModel) -> None:
    assert_same_model(model, expected, "ties", "delta", "fingerprint", "edges_share")
    assert (None if model.tie_counts is None else list(map(tuple, model.tie_counts.tolist()))) == expected.tie_counts


def assert_same_predictions(model: fb.BinnedModel, expected: reference.StepModel, data: CalibrationData, seed: int) -> None:
    rng = Random(seed)
    scores = strategies.queries(data, expected.edges, rng)
    keys = [rng.choice([0, 2**64 - 2, rng.randrange(2**64 - 1)]) for _ in scores]
    column, key_column = np.array(scores), np.array(keys, np.uint64)
    assert model.assign(column, tie_keys=key_column).tolist() == expected.assign(scores, keys)
    assert_same_bits(model.predict(column, tie_keys=key_column), expected.predict(scores, keys), "values by keys")
    assert_same_bits(model.predict(column, seed=seed), expected.predict(scores, seed=seed), "values by seed")
    for score, key in zip(scores[:10], keys, strict=False):
        assert model.predict_one(score, key) == expected.predict_one(score, key)


def fit_or_refuse(calibrator: fb.UniformMassBinning, *columns: Any, **named: Any) -> fb.BinnedModel | None:
    """The fitted model, ``None`` for a refusal. Whole ties are warned of where they cost the promise something, alone."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = calibrator.fit(*columns, **named).model_
        except fb.InputError:
            return None
    fewer = calibrator.ties == "whole" and promise_suffers(model)
    expected = [f"ties='whole' left {model.n_bins} of the {calibrator.n_bins} bins"] if fewer else []
    of_rows = ("labels fall as scores rise", "all scores are exactly 0 or 1")  # hard inputs may look like mistakes
    of_ties = [message for message in (str(warning.message) for warning in told) if not any(map(message.__contains__, of_rows))]
    assert [message[: len(text)] for message, text in zip(of_ties, expected, strict=True)] == expected
    return model


def fit_both(
    data: CalibrationData, layout: str = "contiguous", **configuration: Any
) -> tuple[fb.BinnedModel | None, reference.StepModel | None]:
    """The two models; ``None`` for one that refused. An error that is not a refusal goes through."""
    calibrator = fb.UniformMassBinning(**configuration, score_range=data.score_range)
    fitted = fit_or_refuse(calibrator, **data.arrays(layout))
    try:
        expected = reference.uniform_mass(
            data.scores, data.labels, **configuration,
            weights=data.weights, keys=data.keys, score_range=data.score_range,
        )  # fmt: skip
    except ValueError:
        expected = None
    return fitted, expected


def check_both(data: CalibrationData, layout: str, **configuration: Any) -> None:
    fitted, expected = fit_both(data, layout, **configuration)
    assert (fitted is None) == (expected is None)
    if fitted is not None and expected is not None:
        assert_same(fitted, expected)
        assert_same_predictions(fitted, expected, data, configuration["seed"])


@pytest.mark.sampled
@pytest.mark.parametrize(("scheme", "ties", "weighting", "keyed"), COMBINATIONS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(draw=st.data())
def test_fit_and_predict_are_the_reference(scheme: str, ties: str, weighting: str, keyed: bool, draw: st.DataObject) -> None:
    data = draw.draw(strategies.calibration_data(weighting=weighting, keyed=keyed, margins=draw.draw(st.booleans())), "data")
    split = draw.draw(st.sampled_from([0.5, 0.3, 0.7, 0.1]), "split") if scheme == "ums" else 0.5
    configuration = {
        "scheme": scheme,
        "ties": ties,
        "n_bins": draw.draw(strategies.n_bins_for(data.n_samples, most_bins(scheme, data.n_samples, split)), "n_bins"),
        "seed": draw.draw(strategies.seeds, "seed"),
        "delta": draw.draw(st.sampled_from([0.0, 0.0, 1e-3, 0.5]), "delta"),
        "split": split,
    }
    check_both(data, draw.draw(st.sampled_from(list(LAYOUTS)), "layout"), **configuration)


@pytest.mark.sampled
@pytest.mark.parametrize(("ties", "weighting", "keyed"), EQUAL_SUMS)
@settings(max_examples=EXAMPLES, deadline=None)
@given(draw=st.data())
def test_equal_expected_positives_are_the_reference(ties: str, weighting: str, keyed: bool, draw: st.DataObject) -> None:
    """Margins are negative now and then, which both refuse."""
    margins = draw.draw(st.integers(0, 7)) == 0
    size = draw.draw(st.sampled_from([40, 400]))  # a tenth of few samples places few edges
    data = draw.draw(strategies.calibration_data(size, weighting=weighting, keyed=keyed, margins=margins), "data")
    split = draw.draw(st.sampled_from([None, 0.5, 0.3, 0.9]), "split")
    most = max(1, most_bins("ums", data.n_samples, split or 0.1))
    configuration = {
        "scheme": "ums",
        "ties": ties,
        "n_bins": draw.draw(strategies.n_bins_for(data.n_samples, most), "n_bins"),
        "seed": draw.draw(strategies.seeds, "seed"),
        "split": split,
        "cuts": "expected-positives",
    }
    check_both(data, draw.draw(st.sampled_from(list(LAYOUTS)), "layout"), **configuration)


@pytest.mark.sampled
@pytest.mark.parametrize(("scheme", "weighting"), SHARED)
@settings(max_examples=EXAMPLES, deadline=None)
@given(draw=st.data())
def test_edges_of_a_share_are_the_reference(scheme: str, weighting: str, draw: st.DataObject) -> None:
    """A random share of the samples places the edges between whole groups; all samples are averaged."""
    data = draw.draw(strategies.calibration_data(weighting=weighting, margins=draw.draw(st.booleans())), "data")
    share = draw.draw(st.sampled_from([0.25, 0.5, 0.9, 0.1, math.nextafter(1.0, 0.0)]), "edges_share")
    configuration = {
        "scheme": scheme,
        "ties": "whole",
        "n_bins": draw.draw(strategies.n_bins_for(math.floor(share * data.n_samples)), "n_bins"),
        "seed": draw.draw(strategies.seeds, "seed"),
        "edges_share": share,
    }
    check_both(data, draw.draw(st.sampled_from(list(LAYOUTS)), "layout"), **configuration)


@pytest.mark.parametrize("scheme", ["umd", "ze", "umb"])
def test_a_sample_beyond_all_that_placed_the_edges(scheme: str) -> None:
    """It lies beyond a heavy score, whose edge is not written, as all of the share lies on one side of it."""
    scores = [0.1, *[0.2] * 30, *(0.3 + i / 40 for i in range(20))]
    scores = [1.0 - score for score in scores] if scheme == "umb" else scores
    data = CalibrationData(scores, [int(i % 3 == 0) for i in range(51)])
    check_both(data, "contiguous", scheme=scheme, ties="whole", n_bins=3, seed=0, edges_share=0.5)


@pytest.mark.sampled
@pytest.mark.parametrize(("scheme", "ties"), SCHEME_AND_TIES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(draw=st.data())
def test_float32_scores_are_their_doubles(scheme: str, ties: str, draw: st.DataObject) -> None:
    """A float32 column fits and scores as the doubles that it holds, without rounding of edges."""
    data = draw.draw(strategies.calibration_data(), "data").float32()
    n_bins = draw.draw(strategies.n_bins_for(data.n_samples, most_bins(scheme, data.n_samples)), "n_bins")
    calibrator = fb.UniformMassBinning(n_bins, scheme=scheme, ties=ties, seed=1)
    column = LAYOUTS[draw.draw(st.sampled_from(list(LAYOUTS)), "layout")](np.array(data.scores, np.float32))
    model = fit_or_refuse(calibrator, column, data.labels)
    if model is None:
        with pytest.raises(ValueError):
            reference.uniform_mass(data.scores, data.labels, n_bins, scheme, ties, seed=1)
        return
    expected = reference.uniform_mass(data.scores, data.labels, n_bins, scheme, ties, seed=1)
    assert_same(model, expected)
    assert_same_bits(model.predict(column, seed=3), expected.predict(data.scores, seed=3), "values")


@pytest.mark.sampled
@pytest.mark.parametrize("weighting", ["none", "integer", "float"])
@pytest.mark.parametrize(("scheme", "ties"), SCHEME_AND_TIES)
@settings(max_examples=20, deadline=None)
@given(draw=st.data())
def test_row_order_does_not_change_a_byte(scheme: str, ties: str, weighting: str, draw: st.DataObject) -> None:
    keyed = weighting != "integer" and ties != "whole" and draw.draw(st.booleans())
    data = draw.draw(strategies.calibration_data(weighting=weighting, keyed=keyed))
    n_bins = draw.draw(strategies.n_bins_for(data.n_samples, most_bins(scheme, data.n_samples)), "n_bins")
    order = draw.draw(st.permutations(range(len(data.scores))), "order")
    arrays = data.arrays()
    calibrator = fb.UniformMassBinning(n_bins, scheme=scheme, ties=ties)
    expected = fit_or_refuse(calibrator, **arrays)
    again = fit_or_refuse(calibrator, **{name: column[order] for name, column in arrays.items()})
    assert (again is None) == (expected is None)
    if again is not None and expected is not None:
        assert again.to_bytes() == expected.to_bytes()


# So many are sorted in this test, which compares with slow code; LARGE are more.
FEW = 2**13
LARGE = FEW + 232


@pytest.mark.sampled
@pytest.mark.parametrize("shape", sorted({**SCORE_SHAPES, **MARGIN_SHAPES}))
def test_many_samples_are_the_reference(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes at which the fit counts in cells and gathers instead of sorting; any number of threads gives the same bytes."""
    monkeypatch.setattr("fastbin._fit.rows.SORT_UP_TO", FEW)
    at = sorted({**SCORE_SHAPES, **MARGIN_SHAPES}).index(shape)
    scheme, ties = SCHEME_AND_TIES[at % len(SCHEME_AND_TIES)]
    n_bins, layout = [10, 1, 100, 37][at % 4], "strided" if at % 3 == 1 else "contiguous"
    data = strategies.make(shape, "follow the rank", LARGE, at, ["none", "integer", "none", "float", "none"][at % 5])
    fitted, expected = fit_both(data, layout, n_bins=n_bins, scheme=scheme, ties=ties, seed=at)
    assert fitted is not None
    assert expected is not None
    assert_same(fitted, expected)
    assert_same_predictions(fitted, expected, data, seed=at)
    calibrator = fb.UniformMassBinning(n_bins, scheme=scheme, ties=ties, seed=at, score_range=data.score_range)
    for n_threads in (2, 3):
        assert fit_or_refuse(calibrator, **data.arrays(layout), n_threads=n_threads) == fitted


# Blocks of rows are counted before any scheme looks at them, so that each scheme and each rule is here once.
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("scheme", "ties"), [("umd", "whole"), ("umd", "random"), ("ze", "upper"), ("ums", "upper"), ("umb", "random")]
)
def test_many_tied_samples_are_the_reference(scheme: str, ties: str) -> None:
    """Groups of more rows than the keys that are made at a time."""
    data = strategies.make("tree", "follow the rank", 20_000, 1)
    assert np.unique(data.scores, return_counts=True)[1].max() > 4100
    fitted, expected = fit_both(data, n_bins=25, scheme=scheme, ties=ties, seed=5)
    assert fitted is not None
    assert expected is not None
    assert_same(fitted, expected)
    order = np.random.default_rng(1).permutation(len(data.scores))
    arrays = {name: column[order] for name, column in data.arrays().items()}
    again = fit_or_refuse(fb.UniformMassBinning(25, scheme=scheme, ties=ties, seed=5), **arrays, n_threads=2)
    assert again == fitted


def test_the_fit_writes_none_of_its_inputs() -> None:
    data = strategies.make("signed zeros", "coin", 200, 1, "float", keyed=True)
    for scheme, ties in SCHEME_AND_TIES:
        arrays = data.arrays()
        if ties == "whole":
            arrays.pop("tie_keys")
        before = {name: column.tobytes() for name, column in arrays.items()}
        assert fit_or_refuse(fb.UniformMassBinning(4, scheme=scheme, ties=ties), **arrays) is not None
        assert {name: column.tobytes() for name, column in arrays.items()} == before


def test_what_the_words_about_ties_say() -> None:
    """README and docstrings: "whole" divides no score and is certified; with "upper" only "ums" is."""
    scores = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], [100, 500, 100, 200, 100])
    labels = np.random.default_rng(0).random(1000) < scores
    for scheme in ("umd", "ze", "umb", "ums"):
        calibrator = fb.UniformMassBinning(5, scheme=scheme)
        with pytest.warns(fb.FastbinWarning, match="left 3 of the 5 bins"):
            whole = calibrator.fit(scores, labels).model_
        assert set(whole.edges) <= set(scores)
        assert not whole.needs_key
        assert whole.randomised_mass == 0.0
        assert whole.n_tied > 0
        assert whole.certificate().epsilon < 0.2
    divided = fb.UniformMassBinning(5, ties="random").fit(scores, labels).model_
    assert divided.needs_key
    assert divided.randomised_mass == 0.8
    fixed = fb.UniformMassBinning(5, scheme="ums", ties="upper").fit(scores, labels).model_
    assert not fixed.needs_key
    assert fixed.certificate().epsilon < 0.2
    with pytest.raises(fb.GuaranteeError):
        fb.UniformMassBinning(5, ties="upper").fit(scores, labels).model_.certificate()
