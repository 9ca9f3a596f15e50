"""Wrong inputs are refused in words: the argument, the first bad position, its value, and what to do about it.

One table of bad inputs for every call that takes rows, and for short and long columns, which go through different code.
What is accepted is in test_inputs_accepted.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastbin as fb

SIZES = pytest.mark.parametrize("n", [60, 40_000], ids=["short", "long"])


def columns(n: int) -> tuple[np.ndarray, np.ndarray]:
    scores = (np.arange(n) * 7919 % n + 0.5) / n
    return scores, (np.arange(n) % 3 == 0).astype(np.uint8)


def model() -> fb.BinnedModel:
    return fb.UniformMassBinning(n_bins=5).fit(*columns(60)).model_


def with_value(column: Any, position: int, value: object, dtype: Any = None) -> np.ndarray:
    changed = np.array(column, dtype=dtype)
    changed[position] = value
    return changed


def refuses(error: type[Exception], message: str, call: Callable[..., object], *arguments: Any, **options: Any) -> None:
    """The call raises this error with exactly this message, in which ``*`` stands for anything."""
    pattern = ".*".join(re.escape(part) for part in message.split("*"))
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    assert type(caught.value) is error
    assert re.fullmatch(pattern, str(caught.value), re.DOTALL), str(caught.value)


# ------------------------------------------------------------------------------------------------- scores

# A bad score, what the message says of it, and what of the remedy.
BAD_SCORES = {
    "NaN": (float("nan"), "is NaN; remove such rows, or impute the score before calibrating"),
    "infinity": (float("inf"), "is inf; scores must be finite"),
    "minus infinity": (-float("inf"), "is -inf; scores must be finite"),
    "above one": (1.0000001, "is 1.0000001, outside [0, 1]; pass probabilities, or score_range=None at fit for scores*"),
    "below zero": (-1e-300, "is -1e-300, outside [0, 1]; pass probabilities, or score_range=None at fit for scores*"),
    "percent": (37.0, "is 37.0, outside [0, 1]; these look like percentages: divide by 100, or pass score_range=(0, 100)*"),
}
bad_scores = pytest.mark.parametrize(("value", "told"), list(BAD_SCORES.values()), ids=list(BAD_SCORES))


@SIZES
@pytest.mark.parametrize("scheme", ["umd", "ums"])
@bad_scores
def test_fit_refuses_bad_scores(scheme: str, value: float, told: str, n: int) -> None:
    scores, labels = columns(n)
    fit = fb.UniformMassBinning(n_bins=5, scheme=scheme).fit
    refuses(fb.InputError, f"scores[41] {told}", fit, with_value(scores, 41, value), labels)
    refuses(fb.InputError, f"scores[{n - 1}] {told}", fit, with_value(scores, -1, value), labels)
    first = with_value(with_value(scores, n - 1, float("nan")), 7, value)
    refuses(fb.InputError, f"scores[7] {told}", fit, first, labels)


@SIZES
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fit_with_threads_names_the_first_bad_row(n: int, dtype: type) -> None:
    scores, labels = columns(n)
    bad = with_value(with_value(scores, n - 2, np.nan), 11, np.nan).astype(dtype)
    refuses(fb.InputError, "scores[11] is NaN;*", fb.UniformMassBinning(5).fit, bad, labels, n_threads=2)


@SIZES
@pytest.mark.parametrize("name", ["predict", "assign", "predict_interval"])
@pytest.mark.parametrize("stride", [1, 2, -1])
@bad_scores
def test_scoring_refuses_bad_scores(name: str, value: float, told: str, n: int, stride: int) -> None:
    scores = with_value(with_value(columns(n)[0], n - 1, 2.0), 13, value)
    spread = np.zeros(n * abs(stride))[::stride]
    spread[:] = scores
    refuses(fb.InputError, f"scores[13] {told}", getattr(model(), name), spread)


@bad_scores
def test_one_bad_score(value: float, told: str) -> None:
    refuses(fb.InputError, f"score {told}", model().predict_one, value)
    refuses(fb.InputError, f"score {told}", model().assign_one, value)


def test_one_score_must_be_a_number() -> None:
    for score in ("0.3", None, [0.3], 1j):
        with pytest.raises(TypeError):
            model().predict_one(score)


@pytest.mark.parametrize("name", ["predict", "assign", "predict_interval", "fit"])
@pytest.mark.parametrize(
    ("scores", "error", "told"),
    [
        pytest.param(0.3, fb.InputTypeError, "scores must be one-d*got shape (); a single score goes to predict_one", id="0-d"),
        pytest.param([[0.3, 0.7]], fb.InputTypeError, "scores must be one-d*(1, 2); for class probabilities pass*", id="2-d"),
        pytest.param(["0.3"], fb.InputTypeError, "scores[0] is '0.3', a text; scores are numbers: convert*", id="text"),
        pytest.param([0.3, None], fb.InputError, "scores[1] is None, not a number; remove or fill missing*", id="None"),
        pytest.param(np.array([0.3, "x"], object), fb.InputError, "scores[1] is 'x', a text;*", id="object"),
        pytest.param(np.array([0.5j]), fb.InputTypeError, "scores must be numbers, got dtype complex128", id="complex"),
        pytest.param(np.array(["2020"], "M8[Y]"), fb.InputTypeError, "scores must be numbers, got dtype*[Y]", id="dates"),
        pytest.param([[0.1], [0.2, 0.3]], fb.InputTypeError, "scores is not an array of numbers:*", id="ragged"),
        pytest.param(np.ma.array([0.1, 0.2], mask=[0, 1]), fb.InputError, "scores[1] is masked; remove or fill*", id="masked"),
    ],
)  # fmt: skip
def test_scores_of_the_wrong_kind(name: str, scores: Any, error: type[Exception], told: str) -> None:
    if name == "fit":
        refuses(error, told, fb.UniformMassBinning(1).fit, scores, [0, 1])
    else:
        refuses(error, told, getattr(model(), name), scores)


def test_a_long_double_is_not_rounded_in_silence() -> None:
    exact = np.array([0.25, 0.5], np.longdouble)
    assert model().predict(exact).shape == (2,)
    if np.finfo(np.longdouble).nmant > 52:
        finer = exact + np.finfo(np.longdouble).eps
        refuses(fb.InputError, "scores has dtype *, whose digits float64 does not hold; convert with*", model().predict, finer)


def test_score_range_none_takes_any_finite_score() -> None:
    n = 40_000
    margins = np.log(columns(n)[0] / (1 - columns(n)[0]))
    cal = fb.UniformMassBinning(n_bins=5, score_range=None).fit(margins, columns(n)[1])
    assert cal.model_.score_range is None
    assert cal.predict([-1e308, 1e308]).tolist() == [cal.model_.values[0], cal.model_.values[-1]]
    for value, told in (list(BAD_SCORES.values()))[:3]:
        refuses(fb.InputError, f"scores[1] {told}", cal.predict, [0.0, value])
        refuses(fb.InputError, f"scores[9] {told}", cal.fit, with_value(margins, 9, value), columns(n)[1])


def test_a_score_range_of_ones_own_is_kept() -> None:
    cal = fb.UniformMassBinning(n_bins=2, score_range=(300, 850)).fit([300, 500, 640, 700, 850], [1, 1, 0, 0, 0])
    assert cal.model_.score_range == (300.0, 850.0)
    refuses(fb.InputError, "scores[1] is 299.0, outside [300, 850];*", cal.predict, [300, 299])
    refuses(fb.InputError, "score is 850.5, outside [300, 850];*", cal.predict_one, 850.5)


# ------------------------------------------------------------------------------------------------- labels


@SIZES
@pytest.mark.parametrize(
    ("value", "dtype", "told"),
    [
        (2, np.uint8, "is 2; labels are 0 and 1, or False and True"),
        (
            -1,
            np.int64,
            "is -1; labels are 0 and 1, or False and True",
        ),
        (0.5, np.float64, "is 0.5; labels are 0 and 1, or False and True, and come second, after the scores or predictions"),
        (np.nan, np.float64, "is nan; remove rows without a label"),
        (1 + 2**-23, np.float32, "is 1.0000001*; labels are 0 and 1, or False and True"),
        (257, np.int16, "is 257; labels are 0 and 1, or False and True"),  # which a cast to uint8 would take for 1
        (256, np.int64, "is 256; labels are 0 and 1, or False and True"),
    ],
)
def test_fit_refuses_bad_labels(value: float, dtype: type, told: str, n: int) -> None:
    scores, labels = columns(n)
    for scheme in ("umd", "ums"):
        fit = fb.UniformMassBinning(n_bins=5, scheme=scheme).fit
        refuses(fb.InputError, f"labels[17] {told}", fit, scores, with_value(labels, 17, value, dtype))
        refuses(fb.InputError, f"labels[{n - 1}] {told}", fit, scores, with_value(labels, -1, value, dtype))


@pytest.mark.parametrize(
    ("labels", "error", "told"),
    [
        (["no", "yes"], fb.InputTypeError, "labels[0] is 'no'; labels are 0 and 1, *; pass positive= with *"),
        ([0, None], fb.InputError, "labels[1] is None, not a number; remove or fill missing rows first"),
        ([[0, 1], [1, 0]], fb.InputTypeError, "labels must be one-dimensional (or n by 1), got shape (2, 2);*"),
        ([0, 1, 1], fb.InputError, "lengths differ: scores has 2, labels has 3; every row needs one of each"),
        ([], fb.InputError, "lengths differ: scores has 2, labels has 0; every row needs one of each"),
    ],
)  # fmt: skip
def test_labels_of_the_wrong_kind(labels: Any, error: type[Exception], told: str) -> None:
    refuses(error, told, fb.UniformMassBinning(1).fit, [0.2, 0.4], labels)


# ------------------------------------------------------------------------------------------------- how many samples


@pytest.mark.parametrize(("scheme", "least"), [("umd", 19), ("ze", 19), ("umb", 10)])
def test_too_few_samples(scheme: str, least: int) -> None:
    cal = fb.UniformMassBinning(n_bins=10, scheme=scheme)
    told = f"{least - 1} samples are too few for n_bins=10 under scheme '{scheme}', which needs at least {least} *"
    refuses(fb.InputError, told + "take fewer bins or more samples", cal.fit, *columns(least - 1))
    assert (cal.fit(*columns(least)).model_.counts > 0).all()


def test_no_samples_at_all() -> None:
    refuses(fb.InputError, "scores is empty; a calibrator needs samples", fb.UniformMassBinning(1).fit, [], [])


def test_frequencies_count_as_samples() -> None:
    """Nine rows of two are eighteen samples, and rows of none are no samples."""
    scores, labels = columns(9)
    told = "18 samples are too few for n_bins=10 *"
    refuses(fb.InputError, told, fb.UniformMassBinning(10).fit, scores, labels, sample_weight=[2] * 9)
    told = "sample_weight is 0 for every row; a calibrator needs samples"
    refuses(fb.InputError, told, fb.UniformMassBinning(1).fit, scores, labels, sample_weight=[0] * 9)


# ------------------------------------------------------------------------------------------------- weights and keys


@pytest.mark.parametrize(
    ("value", "dtype", "told"),
    [
        (-1, np.int64, "sample_weight[5] is -1; weights must be finite and not negative"),
        (-0.5, np.float64, "sample_weight[5] is -0.5; weights must be finite and not negative"),
        (np.nan, np.float64, "sample_weight[5] is nan; weights must be finite and not negative"),
        (np.inf, np.float32, "sample_weight[5] is inf; weights must be finite and not negative"),
        (2**63, np.uint64, "sample_weight[5] is 9223372036854775808; frequencies above 2**62 cannot be counted"),
    ],
)
def test_fit_refuses_bad_weights(value: float, dtype: type, told: str) -> None:
    weights = with_value(np.ones(60), 5, value, dtype)
    refuses(fb.InputError, told, fb.UniformMassBinning(5).fit, *columns(60), sample_weight=weights)


def test_weights_of_the_wrong_kind() -> None:
    fit = fb.UniformMassBinning(5).fit
    told = "sample_weight must be numbers, got dtype <U1"
    refuses(fb.InputTypeError, told, fit, *columns(60), sample_weight=["a"] * 60)
    told = "lengths differ: scores has 60, labels has 60, sample_weight has 59; every row needs one of each"
    refuses(fb.InputError, told, fit, *columns(60), sample_weight=np.ones(59))


KEY_ERRORS = [
    (np.array([0.0, 1.0]), fb.InputError, "{}[1] is 1.0; keys given as floats must be in [0, 1)"),
    (np.array([0.5, np.nan]), fb.InputError, "{}[1] is nan; keys given as floats must be in [0, 1)"),
    (np.array([1, -2]), fb.InputError, "{}[1] is -2; keys must not be negative: take hashes modulo 2**64 as uint64"),
    (np.array([1, 2**64 - 1], np.uint64), fb.InputError, "{}[1] is 2**64 - 1, which is reserved; use keys below it"),
    (
        np.array(["a", "b"]),
        fb.InputTypeError,
        "{} must be unsigned integers or floats in [0, 1), got dtype <U1; pass hash*",
    ),
    (np.array([1, 2, 3]), fb.InputError, "{} has 3 rows for 2 scores; every row needs one key"),
]


@pytest.mark.parametrize(("keys", "error", "told"), KEY_ERRORS)
def test_bad_keys(keys: np.ndarray, error: type[Exception], told: str) -> None:
    refuses(error, told.format("keys"), model().predict, [0.1, 0.2], keys=keys)
    refuses(error, told.format("keys"), model().assign, [0.1, 0.2], keys=keys)
    refuses(error, told.format("keys"), fb.UniformMassBinning(1, ties="random").fit, [0.1, 0.2], [0, 1], keys=keys)


@pytest.mark.parametrize("key", [-1, 2**64 - 1, 2**64, 0.5, 1.0, "a"])
def test_one_bad_key(key: Any) -> None:
    """A float is refused too, and not cut off: as a share of the key range, 0.5 would mean something else."""
    for call in (model().predict_one, model().assign_one):
        with pytest.raises((fb.InputError, fb.InputTypeError), match=re.escape(f"key is {key!r}; it must be an integer in")):
            call(0.3, key=key)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "a"])
@pytest.mark.parametrize("name", ["predict", "assign", "predict_interval"])
def test_bad_seed_for_scoring(name: str, seed: Any) -> None:
    with pytest.raises((fb.InputError, fb.InputTypeError), match=r"seed (is|must be)"):
        getattr(model(), name)([0.3], seed=seed)


def test_repeated_tie_keys_at_a_boundary() -> None:
    """Two samples with one score and one key cannot be told apart by an edge that stands on them."""
    fit = fb.UniformMassBinning(3, ties="random").fit
    told = "keys holds 9 more than once among rows with the score 0.5, *; keys must differ within one score"
    refuses(fb.InputError, told, fit, [0.5] * 11, [0, 1] * 5 + [1], keys=[9] * 11)


def test_tie_keys_and_frequencies_exclude_each_other() -> None:
    told = "keys gives one key per row, but sample_weight repeats rows; repeat the rows, each with its key"
    weights, keys = np.ones(60, int), np.arange(60)
    refuses(fb.InputError, told, fb.UniformMassBinning(5, ties="random").fit, *columns(60), sample_weight=weights, keys=keys)


def test_keys_where_nothing_is_ordered_by_them() -> None:
    told = "keys orders equal scores, which ties='whole' never divides; leave it out, or fit with ties='random'"
    for scheme in ("umd", "ze", "ums", "umb"):
        refuses(fb.InputError, told, fb.UniformMassBinning(5, scheme=scheme).fit, *columns(60), keys=np.arange(60))
    for scheme in ("double-dipped", "split"):
        cal = fb.ScalingBinning(5, scaler="none", scheme=scheme)
        refuses(fb.InputError, told, cal.fit, *columns(60), keys=np.arange(60))


# ------------------------------------------------------------------------------------------------- configuration


@pytest.mark.parametrize(
    ("configuration", "error", "told"),
    [
        ({"n_bins": 0}, fb.InputError, "n_bins is 0; it must be at least 1 and at most 16777216"),
        ({"n_bins": 2**24 + 1}, fb.InputError, "n_bins is 16777217; it must be at least 1 and at most 16777216"),
        ({"n_bins": 10.0}, fb.InputTypeError, "n_bins must be an integer, got 10.0"),
        ({"n_bins": True}, fb.InputTypeError, "n_bins must be an integer, got True"),
        ({"n_bins": "many"}, fb.InputError, "n_bins is 'many'; choose one of 'auto'"),
        ({"scheme": "quantile"}, fb.InputError, "scheme is 'quantile'; choose one of 'umd', 'ze', 'ums', 'umb'"),
        ({"ties": "lower"}, fb.InputError, "ties is 'lower'; choose one of 'whole', 'random', 'upper'"),
        ({"ties": "isolate"}, fb.InputError, "ties is 'isolate'; choose one of 'whole', 'random', 'upper'"),
        ({"ties": "first"}, fb.InputError, "ties is 'first'; choose one of 'whole', 'random', 'upper'"),
        ({"ties": "upper", "scheme": "umb"}, fb.InputError, "ties is 'upper', which scheme 'umb' does not have; choose*"),
        ({"edges_share": 0.0}, fb.InputError, "edges_share is 0.0; it must be in (0, 1]"),
        ({"edges_share": 1.5}, fb.InputError, "edges_share is 1.5; it must be in (0, 1]"),
        ({"edges_share": 0.25}, fb.InputError, "edges_share=0.25 leaves 15 of 60 samples *; n_bins=10 needs at least 19"),
        ({"edges_share": 0.5, "ties": "random"}, fb.InputError, "edges_share is 0.5, which *; ties is 'random'*"),
        ({"edges_share": 0.5, "scheme": "ums"}, fb.InputError, "edges_share is 0.5, *; ties is 'whole' and scheme 'ums'"),
        ({"delta": 1e-20}, fb.InputError, "delta is 1e-20, which changes no value in double precision; use 0*"),
        ({"delta": 1.0}, fb.InputError, "delta is 1.0; it must be in [0, 1)"),
        ({"delta": "a"}, fb.InputTypeError, "delta must be a number, got 'a'"),
        ({"seed": -1}, fb.InputError, "seed is -1; it must be at least 0 and at most 18446744073709551615"),
        ({"seed": 0.5}, fb.InputTypeError, "seed must be an integer, got 0.5"),
        ({"scheme": "ums", "split": 1.5}, fb.InputError, "split is 1.5; it must be in [0, 1]"),
        ({"score_range": (1.0, 0.0)}, fb.InputError, "score_range is (1.0, 0.0); it must be finite with low below high"),
        ({"score_range": (0.0, np.inf)}, fb.InputError, "score_range is (0.0, inf); it must be finite with low below high"),
        ({"score_range": 5}, fb.InputTypeError, "score_range must be None or a pair (low, high), got 5"),
    ],
)  # fmt: skip
def test_bad_configuration(configuration: dict[str, Any], error: type[Exception], told: str) -> None:
    refuses(error, told, fb.UniformMassBinning(**configuration).fit, *columns(60))


def test_bad_threads() -> None:
    refuses(fb.InputError, "n_threads is 0; it must be at least 1", fb.UniformMassBinning(5).fit, *columns(60), n_threads=0)


def test_an_unknown_parameter() -> None:
    told = "bins is not a parameter of UniformMassBinning; it has n_bins, *, scheme, ties, *"
    refuses(fb.InputError, told, fb.UniformMassBinning().set_params, bins=3)


@pytest.mark.parametrize("name", ["model_", "predict_one"])
def test_not_fitted_yet(name: str) -> None:
    told = "this UniformMassBinning is not fitted yet; call fit(scores, labels) first"
    refuses(fb.NotFittedError, told, getattr, fb.UniformMassBinning(), name)
    for method in ("predict", "predict_interval"):
        refuses(fb.NotFittedError, told, getattr(fb.UniformMassBinning(), method), [0.5])


# ------------------------------------------------------------------------------------------------- alpha and words


@pytest.mark.parametrize("name", ["certificate", "interval"])
@pytest.mark.parametrize(
    ("alpha", "error", "told"),
    [
        (0.0, fb.InputError, "alpha is 0.0; a failure probability lies strictly between 0 and 1"),
        (1.0, fb.InputError, "alpha is 1.0; alpha is the chance that the promise fails; did you mean 0.01?"),
        (5, fb.InputError, "alpha is 5.0; alpha is the chance that the promise fails; did you mean 0.05?"),
        (float("nan"), fb.InputError, "alpha is nan; a failure probability lies strictly between 0 and 1"),
        ("0.1", fb.InputTypeError, "alpha must be a number, got '0.1'"),
        (True, fb.InputTypeError, "alpha must be a number, got True"),
    ],
)
def test_bad_alpha(name: str, alpha: Any, error: type[Exception], told: str) -> None:
    refuses(error, told, getattr(model(), name), alpha=alpha)
    if name == "interval":
        refuses(error, told, model().predict_interval, [0.5], alpha=alpha)


def test_bad_words() -> None:
    kinds = "choose one of 'conditional', 'marginal', 'expected-ece', 'ece'"
    refuses(fb.InputError, f"kind is 'both'; {kinds}", model().certificate, kind="both")
    bounds = "for kind='conditional' choose one of 'clopper-pearson', 'hull', 'a-priori', 'hoeffding'"
    refuses(fb.InputError, f"bound is 'best'; {bounds}", model().certificate, bound="best")
    refuses(fb.InputError, "method is 'exact'; choose one of 'clopper-pearson', *", model().interval, method="exact")
    refuses(fb.InputError, "nan is 'drop'; choose one of 'error', 'propagate'", model().predict, [0.5], nan="drop")
