"""Arguments of `BinnedModel.from_parts` are taken as they are, or refused by name: nothing is converted in silence."""

from __future__ import annotations

import decimal
import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from wordings import refuses

import fastbin as fb
from fastbin._core.fields import native_parts
from reference.keys import digest

PARTS: dict[str, Any] = {"edges": [0.5], "values": [0.1, 0.9], "counts": [10, 10], "label_sums": [1, 9]}


def made(**changes: Any) -> fb.BinnedModel:
    return fb.BinnedModel.from_parts(**{**PARTS, **changes})


@pytest.mark.parametrize("parameters", [(0.0,) * 5, (0.0,) * 4 + (1.1,) * 4, [1.0] * 1000, np.zeros(8)])
@pytest.mark.parametrize("word", ["none", "logistic", "beta"])
def test_a_map_has_at_most_four_parameters(parameters: Any, word: str) -> None:
    refuses(f"InputError map_parameters: has {len(parameters)} entries", made, map=word, map_parameters=parameters)


def test_the_compiled_code_looks_at_the_length_too() -> None:
    taken = native_parts(
        edges=[0.5], values=[0.1, 0.9], counts=None, label_sums=None, edge_keys=None, weight_sums=None,
        weighted_label_sums=None, weight_square_sums=None, pairs=None, kind="step", scheme="other", ties="none", map="none",
        map_parameters=(), score_range=None, n_bins_asked=0, n_samples=None, n_positive=None, n_tied=0, seed=0, note="",
        rates=None, out_of_range="refuse", weights="given", fingerprint=0, delta=0.0, odds_ratio=1.0,
        first_step=None, step_counts=None, unlabelled_counts=None, tie_counts=None, atom_counts=None, edges_share=0.0, clip=0.0,
        knots=None, slice_cuts=None, slice_label_sums=None, event="", provenance=None, sampling_rate=0.0, pool_counts=None,
        population_counts=None, decision=None,
    )  # fmt: skip
    assert fb.BinnedModel._create(**taken).n_bins == 2
    refuses("InputError: map_parameters has 8 entries;", fb.BinnedModel._create, **{**taken, "map_parameters": (1.1,) * 8})


# Columns of another type, and the entry that shows it; "" where the whole column does.
NOT_INTEGERS: list[tuple[Any, str]] = [
    *(([10.9, 10], "[0]"), ([10.0, 10], "[0]"), (["10", "10"], "[0]"), ([True, True], "[0]"), ([10 + 0j, 10], "[0]")),
    *(([10, True], "[1]"), ([10, None], "[1]"), ({10}, ""), ("10", ""), (np.array(["2020-01-01", "2020-01-02"], "M8[D]"), "")),
    *((np.array(column), "") for column in ([10.9, 10], [10.0, 10.0], ["10", "10"], [True, True], [10 + 1j, 10])),
    (np.array([10, None], object), ""),
]


@pytest.mark.parametrize(("given", "at"), NOT_INTEGERS)
@pytest.mark.parametrize("name", ["counts", "label_sums"])
def test_what_is_no_integer_is_no_count(name: str, given: Any, at: str) -> None:
    refuses(f"InputTypeError {name}{at}: must be {'an integer' if at else 'integers'}, got ", made, **{name: given})


@pytest.mark.parametrize("given", [[0.5], [True], ["7"], [None], np.array([True]), np.array([0.5]), np.array([1j])])
def test_what_is_no_integer_is_no_key(given: Any) -> None:
    told = "edge_keys[0]: must be an integer, got " if isinstance(given, list) else "edge_keys: must be integers, got "
    refuses(f"InputTypeError {told}", made, edge_keys=given)


@pytest.mark.parametrize("given", [[-1], np.array([-1]), np.array([-1], np.int8), [2**64]])
def test_keys_outside_their_range(given: Any) -> None:
    refuses(f"InputError edge_keys[0]: is {given[0]}", made, edge_keys=given)


@pytest.mark.parametrize("given", [[2**63, 1], np.array([2**63, 1], np.uint64)])
def test_counts_beyond_their_range(given: Any) -> None:
    refuses("InputError counts[0]", made, counts=given)


NOT_NUMBERS: list[tuple[str, Any, str]] = [
    *(("edges", [one], "[0]") for one in (0.5 + 0j, "0.5", True, np.True_, None, decimal.Decimal("0.5"))),
    *(("edges", np.array(one), "") for one in ([0.5 + 1j], ["0.5"], [True], [decimal.Decimal("0.5")])),
    *(("edges", one, "") for one in (np.array(["2020-01-01"], "M8[D]"), {0.5}, "0.5")),
    *(("values", [False, 0.9], "[0]"), ("values", [0.1, 1j], "[1]"), ("values", ["0.1", 0.9], "[0]")),
    ("values", np.array([False, True]), ""),
]


@pytest.mark.parametrize(("name", "given", "at"), NOT_NUMBERS)
def test_what_is_no_number_is_no_edge_and_no_value(name: str, given: Any, at: str) -> None:
    refuses(f"InputTypeError {name}{at}: must be {'a real number' if at else 'real numbers'}, got ", made, **{name: given})


@pytest.mark.parametrize(("name", "entries"), [("edges", [0.5]), ("values", [0.1, 0.9]), ("counts", [10, 10])])
def test_masked_entries(name: str, entries: list[Any]) -> None:
    mask = [False] * (len(entries) - 1) + [True]
    refuses(f"InputError {name}: has masked entries", made, **{name: np.ma.array(entries, mask=mask)})
    assert made(**{name: np.ma.array(entries, mask=False)}) == made()


WEIGHTS = {"weighted_label_sums": [0.0, 0.0], "weight_square_sums": [1.0, 1.0]}


@pytest.mark.parametrize("given", [[1, 2**53 + 1], (1.0, 2**53 + 1), np.array([1, 2**53 + 1]), [1, Fraction(1, 3)]])
def test_numbers_that_no_double_equals(given: Any) -> None:
    refuses("InputError weight_sums[1]", made, weight_sums=given, **WEIGHTS)


def test_integers_that_doubles_equal() -> None:
    squares = {**WEIGHTS, "weight_square_sums": [2.0**104, 2.0**118]}
    large = made(weight_sums=[2**53, 2**60], **squares)
    assert large.weight_sums is not None
    assert large.weight_sums.tolist() == [2.0**53, 2.0**60]
    assert large == made(weight_sums=np.array([2**53, 2**60]), **squares)


SCALARS = [
    ({"delta": True}, "InputTypeError delta: must be a real number, got True"),
    ({"delta": "0.1"}, "InputTypeError delta: must be a real number, got '0.1'"),
    ({"odds_ratio": None}, "InputTypeError odds_ratio: must be a real number, got None"),
    ({"odds_ratio": 1j}, "InputTypeError odds_ratio: must be a real number, got 1j"),
    ({"score_range": ("0", "1")}, "InputTypeError score_range[0]: must be a real number, got '0'"),
    ({"score_range": (0, True)}, "InputTypeError score_range[1]: must be a real number, got True"),
    ({"score_range": (0, 1, 2)}, "InputTypeError score_range: must be (low, high) or None, got (0, 1, 2)"),
    ({"score_range": 1}, "InputTypeError score_range: must be (low, high) or None, got 1"),
    ({"map": "logistic", "map_parameters": (True, 1.0)}, "InputTypeError map_parameters[0]: must be a real number, got True"),
    ({"map": "logistic", "map_parameters": (1.0, "2")}, "InputTypeError map_parameters[1]: must be a real number, got '2'"),
    ({"map_parameters": "12"}, "InputTypeError map_parameters: must be a tuple of numbers, got '12'"),
    ({"map_parameters": 3}, "InputTypeError map_parameters: must be a tuple of numbers, got 3"),
    ({"seed": True}, "InputTypeError seed: must be an integer, got True"),
    ({"seed": 1.0}, "InputTypeError seed: must be an integer, got 1.0"),
    ({"n_samples": 20.0}, "InputTypeError n_samples: must be an integer, got 20.0"),
    ({"n_tied": False}, "InputTypeError n_tied: must be an integer, got False"),
    ({"n_bins_asked": "2"}, "InputTypeError n_bins_asked: must be an integer, got '2'"),
    ({"fingerprint": 1.0}, "InputTypeError fingerprint: must be an integer, got 1.0"),
    ({"note": b"text"}, "InputTypeError note: must be text, got b'text'"),
    ({"rates": (0.1, 0.2)}, "InputTypeError rates: must be ClassRates or None, got (0.1, 0.2)"),
]


@pytest.mark.parametrize(("changes", "told"), SCALARS)
def test_single_arguments_of_another_type(changes: dict[str, Any], told: str) -> None:
    refuses(told, made, **changes)


def test_pairs_entry_by_entry() -> None:
    assert made(pairs=[[0.0, 0.25], [0.75, 1]]) == made(pairs=np.array([[0.0, 0.25], [0.75, 1.0]]))
    assert made(pairs=[np.array([0.0, 0.25]), (0.75, 1)]) == made(pairs=np.array([[0.0, 0.25], [0.75, 1.0]]))
    refuses("InputTypeError pairs[1][1]", made, pairs=[[0.0, 0.25], [0.75, True]])


def test_rows_of_different_lengths() -> None:
    refuses("InputError values", made, values=[[0.1], [0.9, 0.2]])


@pytest.mark.parametrize("method", ["predict", "assign", "lookup", "predict_interval", "predict_set"])
def test_keys_and_seed_exclude_each_other(method: str) -> None:
    scores = np.repeat([0.1, 0.4, 0.6, 0.9], 25)
    model = fb.UniformMassBinning(n_bins=3, ties="random").fit(scores, np.arange(100) % 2).model_
    assert model.needs_key
    table = (np.zeros((3, 1)),) if method == "lookup" else ()
    call = getattr(model, method)
    keys = np.arange(100, dtype=np.uint64) << np.uint64(50)
    refuses("InputError: tie_keys and seed are both given,", call, scores, *table, tie_keys=keys, seed=3)
    assert len(call(scores, *table, tie_keys=keys)) == len(call(scores, *table, seed=3)) == 100


# Ten samples in each bin: sum w = 6 and 9, of label 1 .75 and 8.25, sum w w = 4 and 8.5 (at least 36 / 10, at most 36).
SUMS = {"weight_sums": [6.0, 9.0], "weighted_label_sums": [0.75, 8.25], "weight_square_sums": [4.0, 8.5]}
CONTRADICTIONS = [
    ("weighted_label_sums", 0, 6.25),
    ("weighted_label_sums", 1, 9.001),
    ("weight_square_sums", 0, 3.5),
    ("weight_square_sums", 0, 36.5),
    ("weight_square_sums", 1, 0.0),
    ("weight_sums", 1, 8.0),
    ("weight_sums", 0, 7.0),
    ("weight_sums", 0, 0.0),
    ("weight_sums", 0, -6.0),
    ("weight_sums", 0, math.nan),
    ("weight_square_sums", 1, math.inf),
]


def forged(data: bytes, before: float, after: float) -> bytes:
    """The file with one number replaced, and a checksum that fits."""
    place = data.index(struct.pack("<d", before))
    assert data.count(struct.pack("<d", before)) == 1
    changed = data[:place] + struct.pack("<d", after) + data[place + 8 : -8]
    return changed + struct.pack("<Q", digest(word for (word,) in struct.iter_unpack("<Q", changed)))


@pytest.mark.parametrize(("name", "bin_number", "value"), CONTRADICTIONS)
def test_weights_that_contradict_themselves(name: str, bin_number: int, value: float) -> None:
    model = made(**SUMS)
    sums = list(SUMS[name])
    sums[bin_number] = value
    refuses("InputError: the weight sums are negative,", made, **{**SUMS, name: sums})
    before = SUMS[name][bin_number]
    assert forged(model.to_bytes(), before, before) == model.to_bytes()
    with pytest.raises(fb.FormatError, match="contradict"):
        fb.BinnedModel.from_bytes(forged(model.to_bytes(), before, value))


CALIBRATORS = [
    *(fb.UniformMassBinning(n_bins, scheme=scheme) for scheme in ("umd", "ze", "ums", "umb") for n_bins in (2, "auto")),
    fb.FixedWidthBinning(n_bins=4),
    fb.FixedWidthBinning(n_bins=4, monotone=True),
    fb.ExplicitBinning([0.5]),
    fb.ScalingBinning(n_bins=2),
    fb.ScalingBinning(n_bins=2, scaler="none"),
    fb.ScalingBinning(n_bins=2, scaler="none", scheme="split"),
    fb.IsotonicCalibration(),
    fb.IsotonicCalibration(interpolate=True),
    fb.PlattScaling(),
    fb.TemperatureScaling(),
    fb.BetaScaling(),
]


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_without_any_weight_are_refused(calibrator: Any, dtype: type) -> None:
    scores, labels = np.linspace(0.01, 0.99, 100), np.arange(100) % 2
    refuses("InputError sample_weight", calibrator.fit, scores, labels, sample_weight=np.zeros(100, dtype))


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)
def test_no_repetition_of_any_row_is_refused(calibrator: Any) -> None:
    scores, labels = np.linspace(0.01, 0.99, 100), np.arange(100) % 2
    divided = isinstance(calibrator, fb.ScalingBinning)
    told = "InputError: 0 samples" if divided else "InputError sample_weight: is 0 for every row"
    refuses(told, calibrator.fit, scores, labels, sample_weight=np.zeros(100, np.int64))


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_chunks_without_any_weight_are_refused(dtype: type) -> None:
    scores, labels = np.linspace(0.0, 1.0, 100), np.arange(100) % 2
    refuses("InputError sample_weight", fb.UniformMassBinning().fit_batches, [(scores, labels, np.zeros(100, dtype))] * 2)
    last = np.where(np.arange(100) < 98, 0, 1).astype(dtype)
    batches = [(scores, labels, np.zeros(100, dtype)), (scores, labels, last)]
    assert fb.UniformMassBinning(1).fit_batches(batches).model_.n_samples > 0
