"""Wrong inputs are refused: the error has the argument and the first bad position, and says what to do about it.

One table of bad inputs for every call that takes rows, and for short and long columns, which go through different code.
What is accepted is in test_inputs_accepted.py.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from wordings import refuses

import fastbin as fb

SIZES = pytest.mark.parametrize("n", [60, 140_000], ids=["short", "long"])


def columns(n: int) -> tuple[np.ndarray, np.ndarray]:
    scores = (np.arange(n) * 7919 % n + 0.5) / n
    return scores, (np.arange(n) % 3 == 0).astype(np.uint8)


def model() -> fb.BinnedModel:
    return fb.UniformMassBinning(n_bins=5).fit(*columns(60)).model_


def with_value(column: Any, position: int, value: object, dtype: Any = None) -> np.ndarray:
    changed = np.array(column, dtype=dtype)
    changed[position] = value
    return changed


# ------------------------------------------------------------------------------------------------- scores

bad_scores = pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.0000001, -1e-300, 37.0])


@SIZES
@pytest.mark.parametrize("scheme", ["umd", "ums"])
@bad_scores
def test_fit_refuses_bad_scores(scheme: str, value: float, n: int) -> None:
    scores, labels = columns(n)
    fit = fb.UniformMassBinning(n_bins=5, scheme=scheme).fit
    refuses("InputError scores[41]", fit, with_value(scores, 41, value), labels)
    refuses(f"InputError scores[{n - 1}]", fit, with_value(scores, -1, value), labels)
    first = with_value(with_value(scores, n - 1, float("nan")), 7, value)
    refuses("InputError scores[7]", fit, first, labels)


@SIZES
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fit_with_threads_names_the_first_bad_row(n: int, dtype: type) -> None:
    scores, labels = columns(n)
    bad = with_value(with_value(scores, n - 2, np.nan), 11, np.nan).astype(dtype)
    refuses("InputError scores[11]", fb.UniformMassBinning(5).fit, bad, labels, n_threads=2)


@SIZES
@pytest.mark.parametrize("name", ["predict", "assign", "predict_interval"])
@pytest.mark.parametrize("stride", [1, 2, -1])
@bad_scores
def test_scoring_refuses_bad_scores(name: str, value: float, n: int, stride: int) -> None:
    scores = with_value(with_value(columns(n)[0], n - 1, 2.0), 13, value)
    spread = np.zeros(n * abs(stride))[::stride]
    spread[:] = scores
    refuses("InputError scores[13]", getattr(model(), name), spread)


@bad_scores
def test_one_bad_score(value: float) -> None:
    refuses("InputError score", model().predict_one, value)
    refuses("InputError score", model().assign_one, value)


def test_one_score_must_be_a_number() -> None:
    for score in ("0.3", None, [0.3], 1j):
        with pytest.raises(TypeError):
            model().predict_one(score)


@pytest.mark.parametrize("name", ["predict", "assign", "predict_interval", "fit"])
@pytest.mark.parametrize(
    ("scores", "told"),
    [
        pytest.param(0.3, "InputTypeError scores", id="0-d"),
        pytest.param([[0.3, 0.7]], "InputTypeError scores", id="2-d"),
        pytest.param(["0.3"], "InputTypeError scores[0]", id="text"),
        pytest.param([0.3, None], "InputError scores[1]", id="None"),
        pytest.param(np.array([0.3, "x"], object), "InputError scores[1]", id="object"),
        pytest.param(np.array([0.5j]), "InputTypeError scores", id="complex"),
        pytest.param(np.array(["2020"], "M8[Y]"), "InputTypeError scores", id="dates"),
        pytest.param([[0.1], [0.2, 0.3]], "InputTypeError scores", id="ragged"),
        pytest.param(np.ma.array([0.1, 0.2], mask=[0, 1]), "InputError scores[1]", id="masked"),
    ],
)
def test_scores_of_the_wrong_kind(name: str, scores: Any, told: str) -> None:
    if name == "fit":
        refuses(told, fb.UniformMassBinning(1).fit, scores, [0, 1])
    else:
        refuses(told, getattr(model(), name), scores)


def test_a_long_double_is_not_rounded_in_silence() -> None:
    exact = np.array([0.25, 0.5], np.longdouble)
    assert model().predict(exact).shape == (2,)
    if np.finfo(np.longdouble).nmant > 52:
        finer = exact + np.finfo(np.longdouble).eps
        refuses("InputError scores", model().predict, finer)


TOO_FINE = 2**53 + 1


@pytest.mark.parametrize(
    "scores",
    [
        [0, TOO_FINE], [0.5, TOO_FINE], (0.5, -TOO_FINE), np.array([0, TOO_FINE]), np.array([0, -TOO_FINE]),
        np.array([0, 2**64 - 1], np.uint64), np.array([0.5, TOO_FINE], object), pd.Series([0, TOO_FINE]),
        pl.Series([0, TOO_FINE]), pa.chunked_array([[0], [TOO_FINE]]), [0.5, np.int64(TOO_FINE)],
    ],
)  # fmt: skip
def test_an_integer_is_not_rounded_in_silence(scores: Any) -> None:
    served = fb.ExplicitBinning([0.5], score_range=None)
    refuses("InputError scores[1]", served.fit, scores, [0, 1])
    refuses("InputError scores[1]", served.fit([0, 1], [0, 1]).predict, scores)


def test_one_integer_is_not_rounded_in_silence() -> None:
    refuses("InputError edges[0]", fb.ExplicitBinning([TOO_FINE], score_range=None).fit, [0, 1], [0, 1])
    served = fb.ExplicitBinning([2**53 + 4], score_range=None).fit([0, 2**60], [0, 1]).model_
    models = fb.ModelSet({"a": served})
    for value in (2**53 + 3, np.int64(2**53 + 3), np.uint64(2**64 - 1)):
        for call in (served.predict_one, served.assign_one, lambda score: models.predict_one(score, "a")):
            refuses("InputError score", call, value)
    for value in (2**53 + 4, np.int64(2**62), 2**64, Decimal(2**53 + 3), Fraction(2**53 + 3), 1e300):
        assert served.predict_one(value) == served.predict([value])[0] == 1.0
    assert served.predict_one(-(2**53)) == 0.0


def test_score_range_none_takes_any_finite_score() -> None:
    n = 140_000
    margins = np.log(columns(n)[0] / (1 - columns(n)[0]))
    cal = fb.UniformMassBinning(n_bins=5, score_range=None).fit(margins, columns(n)[1])
    assert cal.model_.score_range is None
    assert cal.predict([-1e308, 1e308]).tolist() == [cal.model_.values[0], cal.model_.values[-1]]
    for value in (np.nan, np.inf, -np.inf):
        refuses("InputError scores[1]", cal.predict, [0.0, value])
        refuses("InputError scores[9]", cal.fit, with_value(margins, 9, value), columns(n)[1])


def test_a_score_range_of_ones_own_is_kept() -> None:
    cal = fb.UniformMassBinning(n_bins=2, score_range=(300, 850)).fit([300, 500, 640, 700, 850], [1, 1, 0, 0, 0])
    assert cal.model_.score_range == (300.0, 850.0)
    refuses("InputError scores[1]", cal.predict, [300, 299])
    refuses("InputError score", cal.predict_one, 850.5)


# ------------------------------------------------------------------------------------------------- labels


@SIZES
@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (2, np.uint8),
        (-1, np.int8),
        (-1, np.int64),
        (0.5, np.float64),
        (np.nan, np.float64),
        (1 + 2**-23, np.float32),
        (257, np.int16),  # which a cast to uint8 would take for 1
        (256, np.int64),
    ],
)
def test_fit_refuses_bad_labels(value: float, dtype: type, n: int) -> None:
    scores, labels = columns(n)
    for scheme in ("umd", "ums"):
        fit = fb.UniformMassBinning(n_bins=5, scheme=scheme).fit
        refuses("InputError labels[17]", fit, scores, with_value(labels, 17, value, dtype))
        refuses(f"InputError labels[{n - 1}]", fit, scores, with_value(labels, -1, value, dtype))


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["no", "yes"], "InputTypeError labels[0]"),
        ([0, None], "InputError labels[1]"),
        ([[0, 1], [1, 0]], "InputTypeError labels"),
        ([0, 1, 1], "InputError"),
        ([], "InputError"),
    ],
)
def test_labels_of_the_wrong_kind(labels: Any, told: str) -> None:
    refuses(told, fb.UniformMassBinning(1).fit, [0.2, 0.4], labels)


# ------------------------------------------------------------------------------------------------- how many samples


@pytest.mark.parametrize(("scheme", "least"), [("umd", 19), ("ze", 19), ("umb", 10)])
def test_too_few_samples(scheme: str, least: int) -> None:
    cal = fb.UniformMassBinning(n_bins=10, scheme=scheme)
    refuses("InputError", cal.fit, *columns(least - 1))
    assert (cal.fit(*columns(least)).model_.counts > 0).all()


def test_no_samples_at_all() -> None:
    refuses("InputError scores", fb.UniformMassBinning(1).fit, [], [])


def test_frequencies_count_as_samples() -> None:
    """Nine rows of two are eighteen samples, and rows of weight 0 do not count."""
    scores, labels = columns(9)
    refuses("InputError", fb.UniformMassBinning(10).fit, scores, labels, sample_weight=[2] * 9)
    refuses("InputError sample_weight", fb.UniformMassBinning(1).fit, scores, labels, sample_weight=[0] * 9)


# ------------------------------------------------------------------------------------------------- weights and keys


@pytest.mark.parametrize(
    ("value", "dtype"), [(-1, np.int64), (-0.5, np.float64), (np.nan, np.float64), (np.inf, np.float32), (2**63, np.uint64)]
)
def test_fit_refuses_bad_weights(value: float, dtype: type) -> None:
    weights = with_value(np.ones(60), 5, value, dtype)
    refuses("InputError sample_weight[5]", fb.UniformMassBinning(5).fit, *columns(60), sample_weight=weights)


@pytest.mark.parametrize("value", [2**63, 2**64, -1])
def test_whole_numbers_of_python_are_frequencies_however_large(value: int) -> None:
    weights = [2] * 60
    weights[5] = value
    for given in (weights, np.array(weights, object)):
        refuses("InputError sample_weight[5]", fb.UniformMassBinning(5).fit, *columns(60), sample_weight=given)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_numbers_of_bins_of_numpy(dtype: type) -> None:
    """Which would overflow where they are computed with."""
    scores, labels = columns(150)
    refuses("InputError", fb.UniformMassBinning(dtype(100)).fit, scores, labels)
    segments = np.arange(150) % 5
    for n_bins in (20, 75):
        given, plain = fb.UniformMassBinning(dtype(n_bins)), fb.UniformMassBinning(n_bins)
        assert given.fit(scores, labels).model_ == plain.fit(scores, labels).model_
        sets = [fb.multi.SegmentedBinning(each).fit(scores, labels, segments).model_ for each in (given, plain)]
        assert sets[0].models == sets[1].models


def test_weights_of_the_wrong_kind() -> None:
    fit = fb.UniformMassBinning(5).fit
    refuses("InputTypeError sample_weight", fit, *columns(60), sample_weight=["a"] * 60)
    refuses("InputError", fit, *columns(60), sample_weight=np.ones(59))


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (np.array([0.0, 1.0]), "InputError tie_keys[1]"),
        (np.array([0.5, np.nan]), "InputError tie_keys[1]"),
        (np.array([1, -2]), "InputError tie_keys[1]"),
        (np.array([1, 2**64 - 1], np.uint64), "InputError tie_keys[1]"),
        (np.array(["a", "b"]), "InputTypeError tie_keys"),
        (np.array([1, 2, 3]), "InputError tie_keys"),
    ],
)
def test_bad_keys(keys: np.ndarray, told: str) -> None:
    refuses(told, model().predict, [0.1, 0.2], tie_keys=keys)
    refuses(told, model().assign, [0.1, 0.2], tie_keys=keys)
    refuses(told, fb.UniformMassBinning(1, ties="random").fit, [0.1, 0.2], [0, 1], tie_keys=keys)


@pytest.mark.parametrize("key", [-1, 2**64 - 1, 2**64, 0.5, 1.0, "a"])
def test_one_bad_key(key: Any) -> None:
    """A float is refused too, and not cut off: as a share of the key range, 0.5 would mean something else."""
    for call in (model().predict_one, model().assign_one):
        refuses("InputError tie_key", call, 0.3, tie_key=key)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "a"])
@pytest.mark.parametrize("name", ["predict", "assign", "predict_interval"])
def test_bad_seed_for_scoring(name: str, seed: Any) -> None:
    told = "InputError seed" if isinstance(seed, int) else "InputTypeError seed"
    refuses(told, getattr(model(), name), [0.3], seed=seed)


def test_repeated_tie_keys_at_a_boundary() -> None:
    """Two samples with one score and one key cannot be told apart by an edge that stands on them."""
    fit = fb.UniformMassBinning(3, ties="random").fit
    refuses("InputError", fit, [0.5] * 11, [0, 1] * 5 + [1], tie_keys=[9] * 11)


def test_tie_keys_and_frequencies_exclude_each_other() -> None:
    weights, keys = np.ones(60, int), np.arange(60)
    refuses(
        "InputError tie_keys", fb.UniformMassBinning(5, ties="random").fit, *columns(60), sample_weight=weights, tie_keys=keys
    )


def test_keys_where_nothing_is_ordered_by_them() -> None:
    for scheme in ("umd", "ze", "ums", "umb"):
        refuses("InputError", fb.UniformMassBinning(5, scheme=scheme).fit, *columns(60), tie_keys=np.arange(60))
    for scheme in ("double-dipped", "split"):
        cal = fb.ScalingBinning(5, scaler="none", scheme=scheme)
        refuses("InputError", cal.fit, *columns(60), tie_keys=np.arange(60))


# ------------------------------------------------------------------------------------------------- configuration


@pytest.mark.parametrize(
    ("configuration", "told"),
    [
        ({"n_bins": 0}, "InputError n_bins"),
        ({"n_bins": 2**24 + 1}, "InputError n_bins"),
        ({"n_bins": 10.0}, "InputTypeError n_bins"),
        ({"n_bins": True}, "InputTypeError n_bins"),
        ({"n_bins": "many"}, "InputError n_bins"),
        ({"scheme": "quantile"}, "InputError scheme"),
        ({"ties": "lower"}, "InputError ties"),
        ({"ties": "isolate"}, "InputError ties"),
        ({"ties": "first"}, "InputError ties"),
        ({"ties": "upper", "scheme": "umb"}, "InputError"),
        ({"edges_share": 0.0}, "InputError edges_share"),
        ({"edges_share": 1.5}, "InputError edges_share"),
        ({"edges_share": 0.25}, "InputError"),
        ({"edges_share": 0.5, "ties": "random"}, "InputError edges_share"),
        ({"edges_share": 0.5, "scheme": "ums"}, "InputError edges_share"),
        ({"cuts": "equal-sums", "scheme": "ums"}, "InputError cuts: is 'equal-sums'"),
        ({"cuts": "expected-positives"}, "InputError cuts: is 'expected-positives', and scheme 'umd'"),
        ({"cuts": "expected-positives", "scheme": "ums", "split": 0}, "InputError"),
        ({"delta": 1e-20}, "InputError"),
        ({"delta": 1.0}, "InputError delta"),
        ({"delta": "a"}, "InputTypeError delta"),
        ({"seed": -1}, "InputError seed"),
        ({"seed": 0.5}, "InputTypeError seed"),
        ({"scheme": "ums", "split": 1.5}, "InputError split"),
        ({"scheme": "ums", "split": 1.0}, "InputError: split=1.0 puts"),
        ({"score_range": (1.0, 0.0)}, "InputError score_range"),
        ({"score_range": (0.0, np.inf)}, "InputError score_range"),
        ({"score_range": 5}, "InputTypeError score_range"),
    ],
)
def test_bad_configuration(configuration: dict[str, Any], told: str) -> None:
    refuses(told, fb.UniformMassBinning(**configuration).fit, *columns(60))


def test_cuts_of_expected_positives_need_expected_rates() -> None:
    scores, labels = columns(600)
    fit = fb.UniformMassBinning(5, scheme="ums", cuts="expected-positives", score_range=None).fit
    refuses("InputError scores[41]", fit, with_value(with_value(scores, 500, -1.0), 41, -1e-300), labels)
    refuses("InputError scores[7]", fit, with_value(with_value(scores, 7, np.nan), 3, -1.0), labels)
    for constant in (0.0, 1e308):
        refuses("InputError cuts", fit, np.full(600, constant), labels)
    assert fit(np.where(scores < 0.2, -0.0, scores), labels).model_.n_bins == 5


def test_bad_threads() -> None:
    refuses("InputError n_threads", fb.UniformMassBinning(5).fit, *columns(60), n_threads=0)


def test_an_unknown_parameter() -> None:
    refuses("InputError bins", fb.UniformMassBinning().set_params, bins=3)


@pytest.mark.parametrize("name", ["model_", "predict_one"])
def test_not_fitted_yet(name: str) -> None:
    told = "this UniformMassBinning is not fitted yet; call fit(scores, labels) first"
    with pytest.raises(fb.NotFittedError, match=rf"^{re.escape(told)}$"):
        getattr(fb.UniformMassBinning(), name)
    for method in ("predict", "predict_interval"):
        with pytest.raises(fb.NotFittedError, match=rf"^{re.escape(told)}$"):
            getattr(fb.UniformMassBinning(), method)([0.5])


# ------------------------------------------------------------------------------------------------- alpha and words


@pytest.mark.parametrize("name", ["certificate", "interval"])
@pytest.mark.parametrize(
    ("alpha", "told"),
    [
        (0.0, "InputError alpha"),
        (1.0, "InputError alpha"),
        (5, "InputError alpha"),
        (float("nan"), "InputError alpha"),
        ("0.1", "InputTypeError alpha"),
        (True, "InputTypeError alpha"),
    ],
)
def test_bad_alpha(name: str, alpha: Any, told: str) -> None:
    refuses(told, getattr(model(), name), alpha=alpha)
    if name == "interval":
        refuses(told, model().predict_interval, [0.5], alpha=alpha)


def test_bad_words() -> None:
    refuses("InputError kind", model().certificate, kind="both")
    refuses("InputError", model().certificate, bound="best")
    refuses("InputError bound", model().interval, bound="exact")
    refuses("InputError", model().predict, [0.5], nan="drop")
